//! XML tree → [`Spec`]: one file per section of MJCF, `attr.rs` for the attributes themselves.
//!
//! Sections are read in MuJoCo's order, so that default classes exist before they are used, no
//! matter where they stand in the file. What is valid MJCF but not handled ends in an error of
//! kind `Unsupported` that names the feature; what serves display only is skipped.

mod actuator;
mod asset;
mod attr;
mod body;
mod contact_equality;
mod default;
mod geom;
mod joint;
mod keyframe_custom;
mod option;
mod sensor;
mod tendon;

use super::error::MjcfError;
use super::spec::Spec;
use super::xml::Document;
use attr::Node;

type ReadSection = fn(Node, &mut Spec) -> Result<(), MjcfError>;

/// Reads a whole document, which has passed the schema check.
///
/// # Errors
///
/// An attribute that is missing, does not parse or contradicts another, an unknown default class,
/// or a feature that is not supported. Names of model elements are not checked here.
pub fn read(document: &Document) -> Result<Spec, MjcfError> {
    let root = Node { element: &document.root, sources: &document.sources };
    let mut spec = Spec::default();
    root.string("model", &mut spec.modelname);
    "world".clone_into(&mut spec.worldbody.name);

    let sections: [(&str, ReadSection); 15] = [
        ("compiler", |node, spec| option::read_compiler(node, &mut spec.compiler)),
        ("option", |node, spec| option::read_option(node, &mut spec.option)),
        ("size", |node, spec| option::read_size(node, &mut spec.size)),
        ("statistic", |node, spec| option::read_statistic(node, &mut spec.statistic)),
        ("default", |node, spec| default::read_section(node, &mut spec.defaults)),
        ("extension", |node, _| keyframe_custom::refuse_plugins(node)),
        ("custom", keyframe_custom::read_custom),
        ("asset", asset::read_section),
        ("contact", contact_equality::read_contact),
        ("deformable", |node, _| asset::refuse_flexes(node)),
        ("equality", contact_equality::read_equality_section),
        ("tendon", tendon::read_section),
        ("actuator", actuator::read_section),
        ("sensor", sensor::read_section),
        ("keyframe", keyframe_custom::read_keyframe),
    ];
    for (name, read_section) in sections {
        for section in document.root.children_named(name) {
            read_section(root.with(section), &mut spec)?;
        }
    }
    for section in document.root.children_named("worldbody") {
        body::read_world(root.with(section), &mut spec.worldbody, &spec.defaults)?;
    }
    Ok(spec)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::mjcf::error::MjcfErrorKind;
    use crate::mjcf::load_str;
    use crate::mjcf::spec::{BodyChild, GeomSpec, Limited, Orientation};

    pub(super) fn read_text(xml: &str) -> Result<Spec, MjcfError> {
        read(&load_str(xml, "model.xml", Path::new(""))?)
    }

    /// Message and help of the error that the text must end in.
    pub(super) fn refusal(xml: &str) -> (String, String) {
        let error = read_text(xml).expect_err("this text must be refused");
        (error.to_string(), error.help_text().unwrap_or_default().to_owned())
    }

    /// All geoms in the order of their ids.
    pub(super) fn geoms(spec: &Spec) -> Vec<&GeomSpec> {
        fn collect<'a>(children: &'a [BodyChild], out: &mut Vec<&'a GeomSpec>) {
            for child in children {
                match child {
                    BodyChild::Geom(geom) => out.push(geom),
                    BodyChild::Body(body) => collect(&body.children, out),
                    BodyChild::Frame(frame) => collect(&frame.children, out),
                    _ => {}
                }
            }
        }
        let mut out = Vec::new();
        collect(&spec.worldbody.children, &mut out);
        out
    }

    fn geom_with(attributes: &str) -> Result<GeomSpec, MjcfError> {
        let xml = format!("<mujoco><worldbody><geom {attributes}/></worldbody></mujoco>");
        read_text(&xml).map(|spec| geoms(&spec)[0].clone())
    }

    /// What MuJoCo 4.0.1 makes of each text, for the first two of three friction coefficients.
    #[test]
    fn numbers_as_tolerant_as_mujoco() {
        let accepted = [
            ("", [1.0, 0.005]),
            ("  ", [1.0, 0.005]),
            (".7", [0.7, 0.005]),
            ("1\t2 ", [1.0, 2.0]),
            ("5. +1e1", [5.0, 10.0]),
            ("0x10 0x1p3", [16.0, 8.0]),
            ("inf -Infinity", [f64::INFINITY, f64::NEG_INFINITY]),
            ("1e-400", [0.0, 0.005]),
        ];
        for (text, expected) in accepted {
            let geom = geom_with(&format!(r#"friction="{text}""#)).expect(text);
            assert_eq!(geom.friction[..2], expected, "{text}");
        }
        for text in ["1,2", "1e", "1.5.", "--1", "1_0", "1d3", "1e400", "nan", "1 a", "1 2 3 4"] {
            assert!(geom_with(&format!(r#"friction="{text}""#)).is_err(), "{text}");
        }
        for text in ["1.5", "1.0", "0x10", "1e1", "1 2", "99999999999", "a"] {
            assert!(geom_with(&format!(r#"group="{text}""#)).is_err(), "{text}");
        }
        assert_eq!(geom_with(r#"group=" +3 ""#).unwrap().group, 3);
    }

    #[test]
    fn refusals_point_at_the_value() {
        let refused = |attributes: &str| {
            let error = geom_with(attributes).expect_err(attributes);
            (error.to_string(), error.help_text().unwrap_or_default().to_owned())
        };
        let message = |attributes: &str| refused(attributes).0;
        assert_eq!(
            message(r#"pos="1 2""#),
            "model.xml:1:31: <geom> attribute `pos` needs 3 numbers, found 2"
        );
        assert_eq!(
            message(r#"pos="1 2 x""#),
            "model.xml:1:35: <geom> attribute `pos`: expected a number, found `x`"
        );
        assert_eq!(
            message(r#"size="1 2 3 4""#),
            "model.xml:1:32: <geom> attribute `size` needs 1 to 3 numbers, found 4"
        );
        assert_eq!(
            message(r#"mass="nan""#),
            "model.xml:1:32: <geom> attribute `mass`: expected a number, found `nan`"
        );
        assert_eq!(
            message(r#"condim="3.5""#),
            "model.xml:1:34: <geom> attribute `condim`: expected an integer, found `3.5`"
        );
        assert_eq!(
            message(r#"quat="0 0 0 0""#),
            "model.xml:1:32: <geom> attribute `quat` must not be zero"
        );
        let (message, help) = refused(r#"shellinertia="ture""#);
        assert_eq!(
            message,
            "model.xml:1:40: <geom> attribute `shellinertia` must be `false` or `true`, \
             found `ture`"
        );
        assert_eq!(help, "did you mean `true`?");
    }

    /// A frame applies to an inertial inside it, and only there.
    #[test]
    fn inertial_knows_its_frames() {
        let spec = read_text(
            r#"<mujoco><worldbody><body>
              <frame pos="9 9 9"/>
              <frame pos="1 0 0"><frame euler="90 0 0">
                <inertial pos="0 1 0" mass="2" diaginertia="1 2 3"/>
              </frame></frame>
            </body></worldbody></mujoco>"#,
        )
        .unwrap();
        let BodyChild::Body(body) = &spec.worldbody.children[0] else { panic!("no body") };
        let inertial = body.inertial.as_ref().unwrap();
        let frames = [
            ([1.0, 0.0, 0.0], Orientation::default()),
            ([0.0; 3], Orientation::Euler([90.0, 0.0, 0.0])),
        ];
        assert_eq!(inertial.frames, frames);
    }

    #[test]
    fn joint_as_written() {
        let spec = read_text(
            r#"<mujoco><worldbody><body>
              <joint name="j" range="-90 90" limited="false" stiffness="1 2" ref="5"/>
            </body></worldbody></mujoco>"#,
        )
        .unwrap();
        let BodyChild::Body(body) = &spec.worldbody.children[0] else { panic!("no body") };
        let BodyChild::Joint(joint) = &body.children[0] else { panic!("no joint") };
        assert_eq!((joint.range, joint.ref_), ([-90.0, 90.0], 5.0));
        assert_eq!((joint.limited, joint.stiffness), (Limited::False, [1.0, 2.0, 0.0]));
    }

    #[test]
    fn unsupported_features_are_named() {
        let features = [
            ("<tendon><spatial/></tendon>", "spatial tendons are"),
            ("<worldbody><replicate count=\"2\"/></worldbody>", "`replicate` is"),
            ("<option integrator=\"discrete\"/>", "the integrator `discrete` is"),
            ("<option><flag sleep=\"enable\"/></option>", "sleeping trees (flag `sleep`) are"),
            ("<extension><plugin plugin=\"p\"/></extension>", "plugins are"),
            ("<actuator><dcmotor joint=\"j\"/></actuator>", "DC motors (`dcmotor`) are"),
            ("<actuator><motor cranksite=\"s\"/></actuator>", "slider-crank transmissions are"),
            ("<actuator><motor joint=\"j\" delay=\"1\"/></actuator>", "delays and histories of"),
            ("<worldbody><frame scale=\"2\"/></worldbody>", "scaled frames (`scale`) are"),
        ];
        for (section, feature) in features {
            let error = read_text(&format!("<mujoco>{section}</mujoco>")).expect_err(section);
            assert_eq!(error.kind(), MjcfErrorKind::Unsupported, "{error}");
            assert!(error.message().starts_with(feature), "{error}");
            assert!(error.message().ends_with("not supported yet"), "{error}");
        }
    }

    /// Every attribute value of a rich model replaced by junk: an error or a model, never a panic.
    #[test]
    fn junk_never_panics() {
        const MODEL: &str = include_str!("rich.xml");
        assert!(read_text(MODEL).is_ok(), "{}", refusal(MODEL).0);
        let values: Vec<(usize, usize)> = MODEL
            .match_indices("=\"")
            .map(|(at, _)| (at + 2, at + 2 + MODEL[at + 2..].find('"').expect("closing quote")))
            .collect();
        let junk =
            ["", " ", "x", "-1", "nan", "1e999", "é é", "1 1 1 1 1 1 1 1 1 1 1 1", "0x", "&amp;"];
        for (start, end) in values {
            for value in junk {
                let xml = format!("{}{value}{}", &MODEL[..start], &MODEL[end..]);
                let _ = read_text(&xml);
            }
        }
    }

    /// The deepest nesting that the XML reader lets through fits the stack of a test thread.
    #[test]
    fn deep_trees_fit_the_stack() {
        for element in ["body", "frame"] {
            let open = format!("<{element}>").repeat(490);
            let close = format!("</{element}>").repeat(490);
            let xml = format!("<mujoco><worldbody>{open}<geom/>{close}</worldbody></mujoco>");
            assert_eq!(geoms(&read_text(&xml).unwrap()).len(), 1);
        }
    }
}
