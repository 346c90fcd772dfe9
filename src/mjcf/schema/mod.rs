//! Which elements and attributes MJCF has, and where they may stand.
//!
//! [`table`] is the list; here are the rules' form and the check. It refuses what MuJoCo's own
//! schema refuses, and besides unknown attributes of `<frame>` and `<replicate>` and of all inside
//! them, bodies outside `<worldbody>`, and attributes of `<worldbody>`, most of which MuJoCo passes
//! over in silence.

pub mod table;

use super::error::{MjcfError, MjcfErrorKind};
use super::xml::{Attr, Element, Sources, Span};

/// What an element may have.
#[derive(Debug)]
pub struct Rule {
    /// Names of attributes, blank-separated, in any number of pieces.
    attrs: &'static [&'static str],
    /// What attributes demand of each other.
    presence: &'static [Presence],
    /// Names of children.
    children: &'static [Child],
}

/// A child's name, how often it may occur, and what it may have in turn.
type Child = (&'static str, Count, &'static Rule);

/// How often a child may occur.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Count {
    Once,
    Any,
}

/// A demand on which attributes are given. A bundle is one or several blank-separated attributes.
#[derive(Debug)]
enum Presence {
    /// Attributes of at most one bundle.
    Exclusive(&'static [&'static str]),
    /// All attributes of at least one bundle.
    OneOf(&'static [&'static str]),
    /// Both or neither.
    Together(&'static str, &'static str),
}

impl Rule {
    fn attributes(&self) -> impl Iterator<Item = &'static str> + Clone {
        self.attrs.iter().flat_map(|piece| piece.split_ascii_whitespace())
    }

    fn child(&self, name: &str) -> Option<&Child> {
        self.children.iter().find(|(child, ..)| *child == name)
    }
}

/// Checks the tree under `root`, a `<mujoco>` element, against the schema.
///
/// # Errors
/// The first element or attribute, in file order, that does not belong:
/// [`MjcfErrorKind::UnknownElement`], [`MjcfErrorKind::UnknownAttribute`],
/// [`MjcfErrorKind::Duplicate`] for a second element where one is allowed,
/// [`MjcfErrorKind::MissingAttribute`] and [`MjcfErrorKind::Invalid`] for attributes that must or
/// must not go together, [`MjcfErrorKind::Unsupported`] for elements of older versions.
pub fn check(root: &Element, sources: &Sources) -> Result<(), MjcfError> {
    Checker { sources }.element(root, &table::MUJOCO)
}

struct Checker<'a> {
    sources: &'a Sources,
}

impl Checker<'_> {
    fn element(&self, element: &Element, rule: &Rule) -> Result<(), MjcfError> {
        for attr in &element.attrs {
            if !rule.attributes().any(|name| name == attr.name) {
                return Err(self.unknown_attribute(element, attr, rule));
            }
        }
        for demand in rule.presence {
            self.presence(element, demand)?;
        }
        for (i, child) in element.children.iter().enumerate() {
            let Some((_, count, child_rule)) = rule.child(&child.name) else {
                return Err(self.unknown_element(element, child, rule));
            };
            if *count == Count::Once
                && let Some(first) = element.children[..i].iter().find(|c| c.name == child.name)
            {
                return Err(self.second_element(element, first, child));
            }
            self.element(child, child_rule)?;
        }
        Ok(())
    }

    fn presence(&self, element: &Element, demand: &Presence) -> Result<(), MjcfError> {
        let given = |name: &&str| element.attr(name).is_some();
        match demand {
            Presence::Exclusive(bundles) => {
                let mut found =
                    bundles.iter().filter_map(|b| b.split_ascii_whitespace().find(given));
                if let (Some(first), Some(second)) = (found.next(), found.next()) {
                    return Err(self.exclusive(element, first, second));
                }
            }
            Presence::OneOf(bundles) => {
                if !bundles.iter().any(|b| b.split_ascii_whitespace().all(|name| given(&name))) {
                    let choices: Vec<_> = bundles.iter().map(|b| bundle(b)).collect();
                    let message = format!("needs {}", choices.join(", or "));
                    return Err(self.missing(element, message));
                }
            }
            Presence::Together(a, b) => {
                let (has, lacks) = match (given(a), given(b)) {
                    (true, false) => (a, b),
                    (false, true) => (b, a),
                    _ => return Ok(()),
                };
                let message = format!("has `{has}` but not `{lacks}`, which goes with it");
                return Err(self.missing(element, message));
            }
        }
        Ok(())
    }

    fn exclusive(&self, element: &Element, first: &str, second: &str) -> MjcfError {
        let place = |name| element.attr(name).map_or(element.span, |a| a.name_span);
        let message = format!("has both `{first}` and `{second}`, expected at most one of them");
        self.error(place(second), MjcfErrorKind::Invalid, element, message)
            .with_label(place(first), "the other one")
            .with_help("remove one of the two")
    }

    fn missing(&self, element: &Element, message: String) -> MjcfError {
        self.error(element.span, MjcfErrorKind::MissingAttribute, element, message)
    }

    fn unknown_attribute(&self, element: &Element, attr: &Attr, rule: &Rule) -> MjcfError {
        let message = format!("has no attribute `{}`", attr.name);
        let help = match (element.name.as_str(), attr.name.as_str()) {
            ("worldbody", _) => "the world's frame is fixed, so <worldbody> has no attributes; \
                                 wrap its contents in a <frame>"
                .to_owned(),
            ("body" | "frame" | "replicate", "class") => {
                "`childclass` sets the default class of everything inside".to_owned()
            }
            _ => suggestion(&attr.name, rule.attributes(), "attributes", &quoted),
        };
        self.error(attr.name_span, MjcfErrorKind::UnknownAttribute, element, message)
            .with_help(help)
    }

    fn unknown_element(&self, parent: &Element, child: &Element, rule: &Rule) -> MjcfError {
        if child.name == "composite" {
            let message = "is not part of MJCF since MuJoCo 4.0";
            return self.error(child.span, MjcfErrorKind::Unsupported, child, message).with_help(
                "use <replicate> or <flexcomp>, or let an older MuJoCo load and save the model",
            );
        }
        let message = format!("is not an element of <{}>", parent.name);
        let names = rule.children.iter().map(|(name, ..)| *name);
        let help = match (parent.name.as_str(), child.name.as_str()) {
            ("mujoco", "body" | "frame" | "replicate" | "geom" | "site" | "camera" | "light") => {
                format!("put <{}> inside <worldbody>", child.name)
            }
            ("worldbody", "joint" | "freejoint" | "inertial") => {
                "the world does not move: put it inside a <body>".to_owned()
            }
            (_, "worldbody") => "<worldbody> stands directly inside <mujoco>".to_owned(),
            _ => suggestion(&child.name, names, "elements", &bracketed),
        };
        self.error(child.span, MjcfErrorKind::UnknownElement, child, message).with_help(help)
    }

    fn second_element(&self, parent: &Element, first: &Element, second: &Element) -> MjcfError {
        let message = format!("is given twice in <{}>, expected at most one", parent.name);
        self.error(second.span, MjcfErrorKind::Duplicate, second, message)
            .with_label(first.span, "first given here")
            .with_help("merge the two")
    }

    fn error(
        &self,
        span: Span,
        kind: MjcfErrorKind,
        element: &Element,
        message: impl Into<String>,
    ) -> MjcfError {
        MjcfError::new(self.sources, span, kind, &element.name, message)
    }
}

/// The known name nearest to a misspelt one, or all known names if none is near.
fn suggestion(
    name: &str,
    known: impl Iterator<Item = &'static str> + Clone,
    what: &str,
    mark: &dyn Fn(&str) -> String,
) -> String {
    let distance = |known: &str| strsim::damerau_levenshtein(&name.to_lowercase(), known);
    let nearest = known.clone().map(|k| (distance(k), k)).min();
    match nearest {
        None => format!("it has no {what}"),
        Some((d, near)) if 3 * d <= name.chars().count().max(3) => {
            format!("did you mean {}?", mark(near))
        }
        Some(_) => {
            let all: Vec<_> = known.map(mark).collect();
            format!("its {what} are {}", all.join(" "))
        }
    }
}

fn quoted(name: &str) -> String {
    format!("`{name}`")
}

fn bracketed(name: &str) -> String {
    format!("<{name}>")
}

/// "`site1` and `site2`".
fn bundle(names: &str) -> String {
    let names: Vec<_> = names.split_ascii_whitespace().map(quoted).collect();
    names.join(" and ")
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::{MjcfErrorKind as Kind, load_str};

    /// Loads `xml` as arm.xml, expects a refusal, and returns its kind, text and help.
    fn refusal(xml: &str) -> (Kind, String, String) {
        let error = load_str(xml, "arm.xml", Path::new("")).expect_err(xml);
        (error.kind(), error.to_string(), error.help_text().unwrap_or_default().to_owned())
    }

    fn accept(xml: &str) {
        if let Err(error) = load_str(xml, "arm.xml", Path::new("")) {
            panic!("{error}");
        }
    }

    #[test]
    fn misspelt_attribute_names_the_nearest() {
        let (kind, text, help) =
            refusal("<mujoco>\n  <worldbody>\n    <geom siez=\"1\"/>\n  </worldbody>\n</mujoco>");
        assert_eq!(kind, Kind::UnknownAttribute);
        assert_eq!(text, "arm.xml:3:11: <geom> has no attribute `siez`");
        assert_eq!(help, "did you mean `size`?");
    }

    #[test]
    fn misspelt_element_names_the_nearest() {
        let (kind, text, help) = refusal("<mujoco><actuators/></mujoco>");
        assert_eq!(kind, Kind::UnknownElement);
        assert_eq!(text, "arm.xml:1:10: <actuators> is not an element of <mujoco>");
        assert_eq!(help, "did you mean <actuator>?");
    }

    #[test]
    fn foreign_names_list_what_is_known() {
        let (_, text, help) = refusal("<mujoco><option><wobble/></option></mujoco>");
        assert_eq!(text, "arm.xml:1:18: <wobble> is not an element of <option>");
        assert_eq!(help, "its elements are <flag>");
        let (_, _, help) = refusal("<mujoco><statistic colour=\"1\"/></mujoco>");
        assert_eq!(
            help,
            "its attributes are `meaninertia` `meanmass` `meansize` `extent` `center`"
        );
        let (_, _, help) = refusal("<mujoco><visual colour=\"1\"/></mujoco>");
        assert_eq!(help, "it has no attributes");
        let (_, _, help) = refusal("<mujoco><worldbody><site><geom/></site></worldbody></mujoco>");
        assert_eq!(help, "it has no elements");
    }

    #[test]
    fn upper_case_is_a_misspelling() {
        let (_, text, help) = refusal("<mujoco><worldbody><GEOM/></worldbody></mujoco>");
        assert_eq!(text, "arm.xml:1:21: <GEOM> is not an element of <worldbody>");
        assert_eq!(help, "did you mean <geom>?");
    }

    #[test]
    fn known_elements_in_the_wrong_place() {
        let (_, text, help) = refusal("<mujoco><body/></mujoco>");
        assert_eq!(text, "arm.xml:1:10: <body> is not an element of <mujoco>");
        assert_eq!(help, "put <body> inside <worldbody>");
        let (_, text, help) = refusal("<mujoco><worldbody><joint/></worldbody></mujoco>");
        assert_eq!(text, "arm.xml:1:21: <joint> is not an element of <worldbody>");
        assert_eq!(help, "the world does not move: put it inside a <body>");
        let (_, _, help) =
            refusal("<mujoco><worldbody><body><worldbody/></body></worldbody></mujoco>");
        assert_eq!(help, "<worldbody> stands directly inside <mujoco>");
    }

    #[test]
    fn world_has_no_attributes() {
        let (kind, text, _) = refusal("<mujoco><worldbody pos=\"0 0 1\"/></mujoco>");
        assert_eq!(kind, Kind::UnknownAttribute);
        assert_eq!(text, "arm.xml:1:20: <worldbody> has no attribute `pos`");
    }

    #[test]
    fn class_of_a_body_is_childclass() {
        let (_, text, help) =
            refusal("<mujoco><worldbody><body class=\"a\"/></worldbody></mujoco>");
        assert_eq!(text, "arm.xml:1:26: <body> has no attribute `class`");
        assert_eq!(help, "`childclass` sets the default class of everything inside");
    }

    /// MuJoCo's schema stops at `<frame>`; ours does not.
    #[test]
    fn frames_are_checked_inside() {
        let (_, text, _) =
            refusal("<mujoco><worldbody><frame><geom siez=\"1\"/></frame></worldbody></mujoco>");
        assert_eq!(text, "arm.xml:1:33: <geom> has no attribute `siez`");
        accept("<mujoco><worldbody><frame scale=\"2\"><geom/></frame></worldbody></mujoco>");
    }

    #[test]
    fn removed_elements_are_named() {
        let (kind, text, _) = refusal("<mujoco><worldbody><composite/></worldbody></mujoco>");
        assert_eq!(kind, Kind::Unsupported);
        assert_eq!(text, "arm.xml:1:21: <composite> is not part of MJCF since MuJoCo 4.0");
    }

    #[test]
    fn unique_elements_once_sections_any_number() {
        let (kind, text, help) = refusal("<mujoco><option><flag/>\n<flag/></option></mujoco>");
        assert_eq!(kind, Kind::Duplicate);
        assert_eq!(text, "arm.xml:2:2: <flag> is given twice in <option>, expected at most one");
        assert_eq!(help, "merge the two");
        accept(
            "<mujoco><option/><option/><worldbody/><worldbody/><default><geom/></default>\
             <default><geom/><default class=\"a\"><geom/></default></default></mujoco>",
        );
    }

    #[test]
    fn exclusive_attributes() {
        let (kind, text, _) = refusal("<mujoco><size memory=\"1M\" njmax=\"10\"/></mujoco>");
        assert_eq!(kind, Kind::Invalid);
        assert_eq!(
            text,
            "arm.xml:1:27: <size> has both `memory` and `njmax`, expected at most one of them"
        );
    }

    #[test]
    fn one_of_several_attributes_is_needed() {
        let (kind, text, _) = refusal("<mujoco><equality><connect/></equality></mujoco>");
        assert_eq!(kind, Kind::MissingAttribute);
        assert_eq!(
            text,
            "arm.xml:1:20: <connect> needs `site1` and `site2`, or `body1` and `anchor`"
        );
        accept("<mujoco><equality><connect body1=\"a\" anchor=\"0 0 0\"/></equality></mujoco>");
    }

    #[test]
    fn attributes_that_go_together() {
        let (kind, text, _) = refusal(
            "<mujoco><sensor><framepos objtype=\"body\" objname=\"a\" reftype=\"body\"/>\
             </sensor></mujoco>",
        );
        assert_eq!(kind, Kind::MissingAttribute);
        assert_eq!(
            text,
            "arm.xml:1:18: <framepos> has `reftype` but not `refname`, which goes with it"
        );
    }

    /// No name may be listed twice in one rule: the second would never be reached.
    #[test]
    fn table_is_consistent() {
        let mut rules = vec![("mujoco", &super::table::MUJOCO)];
        let mut seen: Vec<*const super::Rule> = Vec::new();
        while let Some((element, rule)) = rules.pop() {
            if seen.contains(&std::ptr::from_ref(rule)) {
                continue;
            }
            seen.push(rule);
            let mut attrs: Vec<_> = rule.attributes().collect();
            let count = attrs.len();
            attrs.sort_unstable();
            attrs.dedup();
            assert_eq!(attrs.len(), count, "an attribute of <{element}> is listed twice");
            let mut names: Vec<_> = rule.children.iter().map(|(name, ..)| *name).collect();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), rule.children.len(), "a child of <{element}> is listed twice");
            rules.extend(rule.children.iter().map(|(name, _, child)| (*name, *child)));
        }
        assert!(seen.len() > 100);
    }
}
