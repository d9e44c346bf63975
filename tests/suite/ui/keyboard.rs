use std::collections::BTreeSet;

use super::screen::{Part, Window};

/// Presses of Tab after which a view that never comes round is given up on.
const STOPS_MAX: usize = 80;

/// How often is looked where the focus is after a key; each look takes a fraction of a second.
const LOOKS: usize = 4;

/// A view with the key that leads to it, what shows that it is there, and a place that Tab must reach.
pub const VIEWS: [(&str, &str, &str); 5] = [
    ("ctrl+1", "Search your files", "Choose folders to index"),
    ("ctrl+2", "Filter the library", "Indexed"),
    ("ctrl+3", "Make a web site searchable", "Choose folders to index"),
    ("ctrl+4", "The last 15 minutes", "Pause all"),
    ("ctrl+5", "Left out of every folder", "Forget everything"),
];

/// Whether a screen reader would say nothing of what takes the focus. The window and the page in it are
/// named by their title, and a row of a list is what its cells say.
pub fn is_nameless(part: &Part) -> bool {
    let names_itself = ["frame", "document web", "section", "list item"];
    part.focusable && part.name.trim().is_empty() && !names_itself.contains(&part.role.as_str())
}

/// Goes through a view by Tab alone; gives back what had the focus, in its order.
pub fn walk(window: &Window<'_>) -> Vec<Part> {
    let mut stops: Vec<Part> = Vec::new();
    for _ in 0..STOPS_MAX {
        let before = stops.last().map(Part::place);
        window.press("Tab");
        // Behind the last part the focus leaves the page for a moment, and the next key is in it again.
        let Some(focused) = next_focus(window, before) else { continue };
        // Places change as the view scrolls; the first stop is known by what it says.
        if stops
            .first()
            .is_some_and(|first| (&first.role, &first.name) == (&focused.role, &focused.name))
        {
            return stops;
        }
        stops.push(focused);
    }
    let names: BTreeSet<_> = stops.iter().map(|stop| stop.name.clone()).collect();
    panic!("Tab never comes round: {names:?}");
}

/// What has the focus once that is something else than before.
fn next_focus(window: &Window<'_>, before: Option<(i32, i32, i32, i32)>) -> Option<Part> {
    (0..LOOKS).find_map(|_| window.focused().filter(|part| Some(part.place()) != before))
}
