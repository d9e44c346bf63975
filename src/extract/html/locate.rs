use std::collections::HashSet;

use ego_tree::iter::Edge;
use ego_tree::{NodeId, NodeRef};
use scraper::{Html, Node};

/// Shorter pieces of text stand in many places of a page and tell none from another.
const PIECE_BYTES_MIN: usize = 20;

/// The smallest element of `page` that holds nine tenths of the text of `article`, which was cut
/// from it: an article comes without ids and titles, the page still has them.
pub(super) fn locate(page: &Html, article: &Html) -> Option<NodeId> {
    let pieces: HashSet<&str> = article.tree.nodes().filter_map(piece).collect();
    let shared = |node| piece(node).filter(|piece| pieces.contains(piece)).map_or(0, str::len);
    let total: usize = page.tree.root().descendants().map(shared).sum();
    if total == 0 {
        return None;
    }
    let mut open = vec![0];
    for edge in page.tree.root().traverse() {
        match edge {
            Edge::Open(node) => open.push(shared(node)),
            Edge::Close(node) => {
                let held = open.pop().unwrap_or(0);
                if held * 10 >= total * 9 && node.value().is_element() {
                    return Some(node.id());
                }
                if let Some(parent) = open.last_mut() {
                    *parent += held;
                }
            }
        }
    }
    None
}

fn piece(node: NodeRef<'_, Node>) -> Option<&str> {
    match node.value() {
        Node::Text(text) => Some(text.trim()).filter(|text| text.len() >= PIECE_BYTES_MIN),
        _ => None,
    }
}
