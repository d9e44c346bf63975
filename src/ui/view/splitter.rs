use dioxus::prelude::*;

use super::use_session;

/// Width of the rail, where the content begins; the same number stands in `tokens.css`.
const RAIL_PX: f64 = 64.0;
/// What an arrow key moves.
const STEP: f64 = 0.03;

/// The line between results and reader, which a pointer or the arrow keys move.
#[component]
pub fn Splitter() -> Element {
    let mut session = use_session();
    let pane = session.pane.cloned();
    let percent = (pane.share() * 100.0).round();
    rsx! {
        div {
            id: "splitter",
            class: "splitter",
            role: "separator",
            tabindex: "0",
            aria_label: "Width of the reader",
            aria_orientation: "vertical",
            aria_valuemin: "30",
            aria_valuemax: "70",
            aria_valuenow: "{percent}",
            onpointerdown: move |event| {
                event.prevent_default();
                session.pane.write().dragging = true;
            },
            onkeydown: move |event| {
                let by = match event.key() {
                    Key::ArrowLeft => STEP,
                    Key::ArrowRight => -STEP,
                    _ => return,
                };
                event.prevent_default();
                session.pane.write().set_share(pane.share() + by);
                session.keep_splitter();
            },
        }
        // It is in the page only while the line is dragged, so that moving the pointer costs
        // nothing otherwise.
        if pane.dragging {
            div {
                class: "splitter-shield",
                onpointermove: move |event| {
                    // A button let go before this was in the page was not seen here.
                    if event.held_buttons().is_empty() {
                        session.drop_splitter();
                    } else {
                        session.pane.write().drag_to(event.client_coordinates().x, RAIL_PX);
                    }
                },
                onpointerup: move |_| session.drop_splitter(),
            }
        }
    }
}
