use std::cell::RefCell;

use dioxus::desktop::tao::event::Event;
use dioxus::desktop::use_wry_event_handler;
use tracing::debug_span;
use tracing::span::EnteredSpan;

/// Shows in a trace how long the window's thread is busy from one wait for events to the next: events,
/// state, and rendering. What is long there is felt.
pub fn use_turn_spans() {
    let turn = RefCell::new(None::<EnteredSpan>);
    use_wry_event_handler(move |event, _| match event {
        Event::NewEvents(_) => {
            // The one before ends first: a span may not end inside its successor.
            drop(turn.borrow_mut().take());
            turn.replace(Some(debug_span!("ui_turn").entered()));
        }
        Event::RedrawEventsCleared | Event::LoopDestroyed => drop(turn.borrow_mut().take()),
        _ => {}
    });
}
