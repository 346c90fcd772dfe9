//! `keyframe`, `custom`, and the refusal of `extension`.

use super::attr::Node;
use super::sensor::OBJECT;
use crate::mjcf::error::{MjcfError, MjcfErrorKind};
use crate::mjcf::spec::{KeySpec, NumericSpec, Spec, TextSpec, TupleItem, TupleSpec};

/// Reads a `keyframe` section.
pub(super) fn read_keyframe(section: Node, spec: &mut Spec) -> Result<(), MjcfError> {
    for node in section.children() {
        let mut key = KeySpec { name: node.name(), span: node.span(), ..KeySpec::default() };
        node.scalar("time", &mut key.time)?;
        let fields = [
            ("qpos", &mut key.qpos),
            ("qvel", &mut key.qvel),
            ("act", &mut key.act),
            ("mpos", &mut key.mpos),
            ("mquat", &mut key.mquat),
            ("ctrl", &mut key.ctrl),
        ];
        for (name, field) in fields {
            *field = node.list(name)?.unwrap_or_default();
        }
        if node.list("plastic")?.is_some() {
            return Err(node.unsupported_at("plastic", "plastic deformation (`plastic`) is"));
        }
        spec.keys.push(key);
    }
    Ok(())
}

/// Reads a `custom` section.
pub(super) fn read_custom(section: Node, spec: &mut Spec) -> Result<(), MjcfError> {
    for node in section.children() {
        match node.tag() {
            "numeric" => spec.numerics.push(read_numeric(node)?),
            "text" => spec.texts.push(read_text(node)?),
            "tuple" => spec.tuples.push(read_tuple(node)?),
            _ => {}
        }
    }
    Ok(())
}

/// Largest array of a `numeric`; a guard, far above MuJoCo's documented 500.
const MAX_NUMERIC: usize = 1 << 24;

fn read_numeric(node: Node) -> Result<NumericSpec, MjcfError> {
    let name = node.required_text("name")?.to_owned();
    let mut data = node.list("data")?.unwrap_or_default();
    let mut size = i32::try_from(data.len()).unwrap_or(i32::MAX);
    node.integer("size", &mut size)?;
    let size = usize::try_from(size).unwrap_or(0);
    if size == 0 || size > MAX_NUMERIC {
        let message = format!("needs a positive size of at most {MAX_NUMERIC}, found {size}");
        return Err(node.error_at("size", MjcfErrorKind::BadValue, message));
    }
    if data.len() > size {
        let message =
            format!("attribute `data` needs at most `size` = {size} numbers, found {}", data.len());
        return Err(node.error_at("data", MjcfErrorKind::BadValue, message));
    }
    data.resize(size, 0.0);
    Ok(NumericSpec { name, span: node.span(), data })
}

fn read_text(node: Node) -> Result<TextSpec, MjcfError> {
    let name = node.required_text("name")?.to_owned();
    let data = node.required_text("data")?.to_owned();
    if data.is_empty() {
        let message = "attribute `data` must not be empty";
        return Err(node.error_at("data", MjcfErrorKind::BadValue, message));
    }
    Ok(TextSpec { name, span: node.span(), data })
}

fn read_tuple(node: Node) -> Result<TupleSpec, MjcfError> {
    let name = node.required_text("name")?.to_owned();
    let mut items = Vec::new();
    for element in node.children() {
        let mut item = TupleItem {
            span: element.span(),
            objname: element.required_text("objname")?.to_owned(),
            ..TupleItem::default()
        };
        element.required_text("objtype")?;
        element.keyword("objtype", OBJECT, &mut item.objtype)?;
        element.scalar("prm", &mut item.prm)?;
        items.push(item);
    }
    Ok(TupleSpec { name, span: node.span(), items })
}

/// `extension` holds plugins, none of which exist here.
pub(super) fn refuse_plugins(section: Node) -> Result<(), MjcfError> {
    match section.children().find(|node| node.tag() == "plugin") {
        Some(plugin) => Err(plugin.unsupported("plugins are")),
        None => Ok(()),
    }
}
