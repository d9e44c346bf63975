//! The few things that only the page itself can do: focus, scrolling, the text of an input.

use std::time::Duration;

use dioxus::document::eval;
use serde_json::json;

pub const QUERY_ID: &str = "query";
pub const CHOSEN_ID: &str = "chosen-passage";
pub const RESULTS_ID: &str = "results";
pub const READER_ID: &str = "reader";

pub fn focus(id: &str) {
    run(&format!("document.getElementById({})?.focus({{ preventScroll: true }});", json!(id)));
}

/// Focuses a text box with its text selected, so that typing replaces it.
pub fn focus_text(id: &str) {
    run(&format!(
        "const box = document.getElementById({}); box?.focus(); box?.select?.();",
        json!(id)
    ));
}

/// The text of an input lives in the page: writing it back on every key would lose characters that
/// were typed while the answer was on its way.
pub fn set_text(id: &str, text: &str) {
    run(&format!(
        "const box = document.getElementById({}); if (box) box.value = {};",
        json!(id),
        json!(text)
    ));
}

/// As [`set_text`], with the caret at byte `caret` of the text.
pub fn set_text_at(id: &str, text: &str, caret: usize) {
    let caret = text.get(..caret).unwrap_or(text).encode_utf16().count();
    run(&format!(
        "const box = document.getElementById({}); \
         if (box) {{ box.value = {}; box.focus(); box.setSelectionRange({caret}, {caret}); }}",
        json!(id),
        json!(text)
    ));
}

/// Scrolls a list to where it was.
pub fn scroll_to(id: &str, top_px: f64) {
    run(&format!("document.getElementById({})?.scrollTo({{ top: {top_px} }});", json!(id)));
}

/// Scrolls the reader to the chosen passage.
pub fn show_chosen() {
    run(&format!("window.lodestone.showInReader({});", json!(CHOSEN_ID)));
}

/// Moves the focus down or up in the list on screen; above its first row is the box of the view.
pub fn move_row(by: isize, box_id: &str) {
    run(&format!("window.lodestone.moveRow({by}, {});", json!(box_id)));
}

/// Focuses a row of the list on screen; one that is not in the page is scrolled to first.
pub fn focus_row(row: usize, row_px: f64) {
    run(&format!("window.lodestone.focusRow({row}, {row_px});"));
}

/// Has what is drawn put into the page when it comes, and not in the frame after.
pub fn draw_at_once() {
    run("window.lodestone.drawAtOnce();");
}

/// Loads every face at once, so that none is swapped in under a reader's eyes.
pub fn load_fonts() {
    run("window.lodestone.loadFonts();");
}

/// Makes everything in the page this much larger, as a browser does.
pub fn zoom(factor: f64) {
    // The engine of the page says whether it can; a window without one is a test.
    let _ = dioxus::desktop::window().webview.zoom(factor);
}

/// Scrolls as little as needed to bring an element into view.
pub fn bring_into_view(id: &str) {
    run(&format!(
        "document.getElementById({})?.scrollIntoView({{ block: 'nearest' }});",
        json!(id)
    ));
}

/// Tells, until the page goes, how long each key waited for its answer to be on screen.
pub async fn follow_answers(mut tell: impl FnMut(Duration)) {
    // A script that ended could send nothing more.
    let mut page =
        eval("window.lodestone.onShown = (ms) => dioxus.send(ms); await new Promise(() => {});");
    while let Ok(ms) = page.recv::<f64>().await {
        if let Ok(waited) = Duration::try_from_secs_f64(ms / 1e3) {
            tell(waited);
        }
    }
}

/// Returns when what is in the page now has been painted.
pub async fn painted() {
    let page = eval("await window.lodestone.painted();");
    // A page that cannot say so shows nothing either.
    let _ = page.await;
}

/// Keeps in mind what has the focus, before something is laid over it.
pub fn remember_focus() {
    run("window.lodestone.rememberFocus();");
}

/// Gives the focus back to what had it, or to the box of the view where that has gone.
pub fn return_focus(or_id: &str) {
    run(&format!("window.lodestone.returnFocus({});", json!(or_id)));
}

fn run(script: &str) {
    // The answer of a script is of no interest, and one that fails has nothing to show.
    let _ = eval(script);
}
