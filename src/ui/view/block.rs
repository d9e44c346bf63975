use std::ops::{Deref, Range};
use std::rc::Rc;

use dioxus::prelude::*;

use crate::ui::dom::CHOSEN_ID;
use crate::ui::state::OpenDocument;
use crate::ui::text::{Kind, Marks, Node, Segment};

/// Something shared that counts as equal only to itself, so that comparing it costs nothing.
pub struct Shared<T>(pub Rc<T>);

impl<T> Clone for Shared<T> {
    fn clone(&self) -> Self {
        Self(Rc::clone(&self.0))
    }
}

impl<T> PartialEq for Shared<T> {
    fn eq(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.0, &other.0)
    }
}

impl<T> Deref for Shared<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

/// Block `at` of the document; it renders again only when the marks change.
#[component]
pub fn Block(open: Shared<OpenDocument>, at: usize, marks: Shared<Marks>) -> Element {
    match open.layout.blocks.get(at) {
        Some(node) => Writer { text: &open.view.text, marks: &marks }.block(node, Cover::default()),
        None => VNode::empty(),
    }
}

/// Marks that a block around this one carries already.
#[derive(Clone, Copy, Default)]
struct Cover {
    chosen: bool,
    found: bool,
}

struct Writer<'a> {
    text: &'a str,
    marks: &'a Marks,
}

impl Writer<'_> {
    fn block(&self, node: &Node, outer: Cover) -> Element {
        let cover = Cover {
            chosen: outer.chosen || self.marks.chooses(&node.range),
            found: outer.found || self.marks.finds(&node.range),
        };
        let class = match cover {
            Cover { chosen: true, .. } if !outer.chosen => "block chosen",
            Cover { found: true, .. } if !outer.found && !outer.chosen => "block found",
            _ => "block",
        };
        let inner = self.children(node, cover);
        match &node.kind {
            Kind::Heading(1) => rsx! { h1 { class, dir: "auto", {inner} } },
            Kind::Heading(2) => rsx! { h2 { class, dir: "auto", {inner} } },
            Kind::Heading(3) => rsx! { h3 { class, dir: "auto", {inner} } },
            Kind::Heading(_) => rsx! { h4 { class, dir: "auto", {inner} } },
            Kind::Preformatted => rsx! { pre { class, {inner} } },
            Kind::List(None) => rsx! { ul { class, dir: "auto", {inner} } },
            Kind::List(Some(start)) => {
                rsx! { ol { class, dir: "auto", start: "{start}", {inner} } }
            }
            Kind::Item => {
                rsx! { li { class: (class != "block").then_some(class), dir: "auto", {inner} } }
            }
            Kind::Quote => rsx! { blockquote { class, dir: "auto", {inner} } },
            Kind::Table => rsx! { div { class: "{class} table", table { tbody { {inner} } } } },
            Kind::Row => rsx! { tr { class: (class != "block").then_some(class), {inner} } },
            Kind::HeaderCell => rsx! { th { dir: "auto", {inner} } },
            Kind::Cell => rsx! { td { dir: "auto", {inner} } },
            Kind::Rule => rsx! { hr { class } },
            Kind::Line(number) => {
                let number = number.map(|number| number.to_string()).unwrap_or_default();
                rsx! {
                    div { class: "{class} line",
                        span { class: "line-number", aria_hidden: "true", "{number}" }
                        span { class: "line-text", dir: "auto", {inner} }
                    }
                }
            }
            Kind::Strong => rsx! { strong { {inner} } },
            Kind::Emphasis => rsx! { em { {inner} } },
            Kind::Struck => rsx! { s { {inner} } },
            Kind::InlineCode => rsx! { code { class: "inline", {inner} } },
            Kind::Inline => inner,
            Kind::Break => rsx! { br {} },
            Kind::Text => self.leaf(&node.range, cover),
            Kind::Shown(shown) => marked(&self.marks.segment(node.range.clone()), shown, cover),
            Kind::Paragraph => rsx! { p { class, dir: "auto", {inner} } },
        }
    }

    fn children(&self, node: &Node, cover: Cover) -> Element {
        let children = node.children.iter().map(|child| self.block(child, cover));
        rsx! { {children} }
    }

    fn leaf(&self, range: &Range<usize>, cover: Cover) -> Element {
        let segments = self.marks.segments(range);
        let parts = segments.iter().map(|segment| {
            // Marks lie on character boundaries; should one not, its text is shown elsewhere whole.
            let text = self.text.get(segment.range.clone()).unwrap_or_default();
            marked(segment, text, cover)
        });
        rsx! { {parts} }
    }
}

fn marked(segment: &Segment, text: &str, cover: Cover) -> Element {
    if segment.is_plain_within(cover.chosen, cover.found) {
        return rsx! { "{text}" };
    }
    let mut class = "seg".to_owned();
    let mut flag = |on: bool, name: &str| {
        if on {
            class.push(' ');
            class.push_str(name);
        }
    };
    flag(segment.starts, "starts");
    flag(segment.chosen && !cover.chosen, "chosen");
    flag(segment.found && !cover.found && !segment.chosen, "found");
    flag(segment.sentence, "sentence");
    let id = segment.anchor.then_some(CHOSEN_ID);
    let best = segment.best.then_some("true");
    if segment.matched {
        rsx! { mark { id, class, "data-best": best, "{text}" } }
    } else {
        rsx! { span { id, class, "data-best": best, "{text}" } }
    }
}
