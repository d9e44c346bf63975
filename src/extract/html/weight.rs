use std::collections::HashMap;

use ego_tree::iter::Edge;
use ego_tree::{NodeId, NodeRef};
use scraper::Node;

/// How much of what lies below an element, in characters that are not white space.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Weight {
    pub text: usize,
    /// Of `text`, what is inside links.
    pub linked: usize,
    /// Of `text`, what is inside code blocks.
    pub code: usize,
    pub elements: usize,
    /// Whether a first- or second-level heading is below.
    pub has_title: bool,
    /// Whether blocks are below that a table row cannot hold: headings, code, lists, tables.
    pub has_blocks: bool,
}

impl Weight {
    /// Text outside links: what a page says, as against where it leads.
    pub(super) fn prose(&self) -> usize {
        self.text - self.linked
    }

    fn add_child(&mut self, name: &str, child: &Self) {
        self.text += child.text;
        self.linked += child.linked;
        self.code += child.code;
        self.elements += child.elements + 1;
        self.has_title |= child.has_title || matches!(name, "h1" | "h2");
        self.has_blocks |= child.has_blocks
            || matches!(
                name,
                "h1" | "h2" | "h3" | "h4" | "h5" | "h6" | "pre" | "ul" | "ol" | "table"
            );
    }
}

/// Weights of every element below and including a node, measured in one pass.
#[derive(Debug)]
pub(super) struct Weights(HashMap<NodeId, Weight>);

impl Weights {
    pub(super) fn of(root: NodeRef<'_, Node>) -> Self {
        let mut weights = HashMap::new();
        let mut open = vec![Weight::default()];
        let (mut links, mut code) = (0_usize, 0_usize);
        for edge in root.traverse() {
            match edge {
                Edge::Open(node) => match node.value() {
                    Node::Element(element) => {
                        links += usize::from(element.name() == "a");
                        code += usize::from(element.name() == "pre");
                        open.push(Weight::default());
                    }
                    Node::Text(text) => {
                        let length = text.chars().filter(|c| !c.is_whitespace()).count();
                        if let Some(parent) = open.last_mut() {
                            parent.text += length;
                            parent.linked += if links > 0 { length } else { 0 };
                            parent.code += if code > 0 { length } else { 0 };
                        }
                    }
                    _ => {}
                },
                Edge::Close(node) => {
                    let Node::Element(element) = node.value() else { continue };
                    links -= usize::from(element.name() == "a");
                    code -= usize::from(element.name() == "pre");
                    let weight = open.pop().unwrap_or_default();
                    weights.insert(node.id(), weight);
                    if let Some(parent) = open.last_mut() {
                        parent.add_child(element.name(), &weight);
                    }
                }
            }
        }
        Self(weights)
    }

    /// Zero for what is no element or was not measured.
    pub(super) fn get(&self, node: NodeRef<'_, Node>) -> Weight {
        self.0.get(&node.id()).copied().unwrap_or_default()
    }
}
