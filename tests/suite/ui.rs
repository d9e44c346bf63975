//! The application in a real window, driven by real key and mouse events.
//!
//! Ignored by a plain `cargo test`, because they need a display server and tools that not every
//! machine has; `scripts/test` installs these and runs them. Once asked for, a test whose tools
//! are missing fails and names the package.

mod drag_source;
mod screen;
mod xvfb_session;

use drag_source::DragSource;
use screen::Window;
use xvfb_session::XvfbSession;

use std::fs;

use crate::lode::Lode;
use crate::process::wait_for;

/// What each file says, in words that the query does not use.
const FILES: [(&str, &str); 4] = [
    (
        "baking.md",
        "# Sourdough\n\nLeave the loaf somewhere cool overnight so the yeast can work.\n",
    ),
    ("tides.txt", "High water comes about fifty minutes later each day, following the moon.\n"),
    ("notes/locks.md", "# Threads\n\nWrap the value in a mutex before two workers change it.\n"),
    ("notes/garden.txt", "Prune the roses in late winter, just above a bud that faces outward.\n"),
];

#[test]
#[ignore = "needs a display: run scripts/test"]
fn dropped_files_are_indexed_and_a_typed_query_shows_the_passage() {
    let files = tempfile::tempdir().unwrap();
    fs::create_dir(files.path().join("notes")).unwrap();
    for (name, text) in FILES {
        fs::write(files.path().join(name), text).unwrap();
    }
    let [baking, tides, notes] = ["baking.md", "tides.txt", "notes"].map(|f| files.path().join(f));
    let data = tempfile::tempdir().unwrap();

    let session = XvfbSession::start();
    let mut program = session.command(env!("CARGO_BIN_EXE_lodestone"));
    // A debug build of Dioxus keeps the place of its window there from one start to the next.
    program.env("DIOXUS_SESSION_CACHE_DIR", data.path());
    let application = session.open(program.env("LODESTONE_DATA_DIR", data.path()));
    let window = Window::wait(&session, application.id(), "lodestone", "Lodestone");

    let source = DragSource::open(&session, &[&baking, &tides, &notes]);
    source.hold_over(window.middle());
    window.wait_for_part("what a drop would do", |part| part.says("Index 1 folder and 2 files"));
    source.let_go();
    // Asked from the command line while the application runs: both work on one data directory.
    let lode = Lode::new(data.path());
    wait_for("the dropped files to be indexed", || (lode.documents() == 4).then_some(()));

    let question = "how long does bread dough have to rest";
    let field = window.wait_for_part("the search field", |part| part.role == "entry");
    window.click(&field);
    window.type_text(question);
    window.wait_for_part("the question", |part| part.role == "entry" && part.says(question));
    wait_for("the passage on baking as the first result", || {
        let first = window.parts().into_iter().find(|part| part.role == "list item");
        first.is_some_and(|result| result.says("Leave the loaf")).then_some(())
    });
    window.wait_for_part("the passage in the reader", |part| {
        part.role == "paragraph" && part.says("Leave the loaf")
    });
}
