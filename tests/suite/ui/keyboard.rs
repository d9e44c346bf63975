use std::collections::BTreeSet;

use super::screen::{Part, Window};
use crate::process::wait_for;

/// Presses of Tab after which a view that never comes round is given up on.
const STOPS_MAX: usize = 80;

/// A view with the key that leads to it, what shows that it is there, and a place that Tab must reach.
pub const VIEWS: [(&str, &str, &str); 5] = [
    ("ctrl+1", "Search your files", "Choose folders to index"),
    ("ctrl+2", "Filter the library", "Indexed"),
    ("ctrl+3", "Make a web site searchable", "Choose folders to index"),
    ("ctrl+4", "The last 15 minutes", "Pause indexing and crawling"),
    ("ctrl+5", "Left out of every folder", "Clear the index"),
];

/// Goes through a view by Tab alone; gives back what had the focus, in its order.
pub fn walk(window: &Window<'_>) -> Vec<Part> {
    let mut stops: Vec<Part> = Vec::new();
    for _ in 0..STOPS_MAX {
        let before = stops.last().map(Part::place);
        window.press("Tab");
        let focused = wait_for("the focus to move", || {
            let focused = window.focused()?;
            (Some(focused.place()) != before).then_some(focused)
        });
        // It went round.
        if stops.iter().any(|stop| stop.place() == focused.place() && stop.name == focused.name) {
            return stops;
        }
        stops.push(focused);
    }
    let names: BTreeSet<_> = stops.iter().map(|stop| stop.name.clone()).collect();
    panic!("Tab never comes round: {names:?}");
}
