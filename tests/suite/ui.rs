//! The application in a real window, driven by real key and mouse events.
//!
//! Ignored by a plain `cargo test`, because they need a display server and tools that not every
//! machine has; `scripts/test` installs these and runs them. Once asked for, a test whose tools
//! are missing fails and names the package.

mod drag_source;
mod keyboard;
mod screen;
mod xvfb_session;

use drag_source::DragSource;
use screen::{Part, Window};
use xvfb_session::XvfbSession;

use std::fs;
use std::path::Path;

use crate::lode::Lode;
use crate::process::wait_for;
use crate::web::{Web, html};

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

/// The application on a data directory of its own.
fn open<'a>(session: &'a XvfbSession, data: &Path) -> Window<'a> {
    let mut program = session.command(env!("CARGO_BIN_EXE_lodestone"));
    // A debug build of Dioxus keeps the place of its window there from one start to the next.
    program.env("DIOXUS_SESSION_CACHE_DIR", data);
    let application = session.open(program.env("LODESTONE_DATA_DIR", data));
    Window::wait(session, application.id(), "lodestone", "Lodestone")
}

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
    let window = open(&session, data.path());

    let source = DragSource::open(&session, &[&baking, &tides, &notes]);
    source.hold_over(window.middle());
    window.wait_for_part("what a drop would do", |part| part.says("Index 1 folder and 2 files"));
    source.let_go();
    // Asked from the command line while the application runs: both work on one data directory.
    let lode = Lode::new(data.path());
    wait_for("the dropped files to be indexed", || (lode.documents() == 4).then_some(()));

    let question = "how long does bread dough have to rest";
    let field = window.wait_for_part("the search field", |part| part.role == "combo box");
    window.click(&field);
    window.type_text(question);
    window.wait_for_part("the question", |part| part.role == "combo box" && part.says(question));
    wait_for("the passage on baking as the first result", || {
        let first = window.parts().into_iter().find(|part| part.role == "list item");
        first.is_some_and(|result| result.says("Leave the loaf")).then_some(())
    });
    window.wait_for_part("the passage in the reader", |part| {
        part.role == "paragraph" && part.says("Leave the loaf")
    });
}

#[test]
#[ignore = "needs a display: run scripts/test"]
fn a_typed_address_becomes_a_site_whose_pages_are_listed_and_open() {
    let page = |title: &str, text: &str| {
        html(&format!("<title>{title}</title><main><h1>{title}</h1><p>{text}</p></main>"))
    };
    let links = r#"See <a href="tides.html">tides</a> and <a href="lost.html">what was lost</a>."#;
    let tides = "High water comes about fifty minutes later each day, following the moon.";
    let web = Web::of_pages(&[
        ("/sea/", page("The sea", links)),
        ("/sea/tides.html", page("Tides", tides)),
    ]);
    let data = tempfile::tempdir().unwrap();
    let session = XvfbSession::start();
    let window = open(&session, data.path());

    window.wait_for_part("the search field", |part| part.role == "combo box");
    window.press("ctrl+3");
    window.wait_for_part("what a first site needs", |part| part.says("Make a web site searchable"));
    window.type_text("no address");
    window.press("Return");
    window.wait_for_part("what is wrong", |part| part.says("is no web address"));
    window.press("ctrl+a");
    window.type_text(&web.url("/sea/"));
    window.press("Return");
    window.wait_for_part("the site with its pages", |part| part.says("2 of 3 pages searchable"));

    // By keys alone: to the site, into it, and to what could not be had.
    window.press("Down");
    window.press("Return");
    window.wait_for_part("the filter of pages", |part| part.says("Filter the pages by address"));
    window.wait_for_part("why a page is missing", |part| part.says("404"));
    window.type_text("tides");
    wait_for("the other pages to go", || {
        (!window.parts().iter().any(|part| part.says("lost.html"))).then_some(())
    });
    window.press("Down");
    window.press("Return");
    window.wait_for_part("its text in the reader", |part| {
        part.role == "paragraph" && part.says("following the moon")
    });
}

/// No mouse and no sight: every view is reached by its key, Tab goes round in it, and whatever takes the
/// focus says what it is.
#[test]
#[ignore = "needs a display: run scripts/test"]
fn every_view_is_gone_through_by_keys_and_everything_has_a_name() {
    let files = tempfile::tempdir().unwrap();
    for (name, text) in FILES.iter().filter(|(name, _)| !name.contains('/')) {
        fs::write(files.path().join(name), text).unwrap();
    }
    let data = tempfile::tempdir().unwrap();
    Lode::new(data.path()).json(&["index".as_ref(), files.path().as_os_str()]);
    let session = XvfbSession::start();
    let window = open(&session, data.path());
    window.wait_for_part("the search field", |part| part.role == "combo box");

    for (key, shows, reached) in keyboard::VIEWS {
        window.press(key);
        window.wait_for_part(shows, |part| part.says(shows));
        let unnamed: Vec<Part> = window.parts().into_iter().filter(keyboard::is_nameless).collect();
        assert!(unnamed.is_empty(), "{key}: {unnamed:?}");
        let stops = keyboard::walk(&window);
        let without_name: Vec<&Part> =
            stops.iter().filter(|stop| keyboard::is_nameless(stop)).collect();
        assert!(without_name.is_empty(), "{key}: {without_name:?}");
        assert!(
            stops.iter().any(|stop| stop.says(reached)),
            "{key} never reaches {reached}: {stops:?}"
        );
    }

    // From the palette to what it leads to, and back out.
    window.press("ctrl+k");
    window.wait_for_part("the palette", |part| {
        part.role == "combo box" || part.says("What was found")
    });
    window.type_text("about lode");
    window.wait_for_part("what was found", |part| part.says("About Lodestone"));
    window.press("Return");
    window
        .wait_for_part("the dialog", |part| part.role == "dialog" && part.says("About Lodestone"));
    let inside = keyboard::walk(&window);
    assert!(inside.iter().all(|stop| !stop.says("Choose folders")), "Tab stays in: {inside:?}");
    window.press("Escape");
    wait_for("the dialog to go", || {
        (!window.parts().iter().any(|part| part.role == "dialog")).then_some(())
    });
}

#[test]
#[ignore = "needs a display: run scripts/test"]
fn a_query_is_completed_and_narrowed_by_keys_and_is_there_after_a_restart() {
    let files = tempfile::tempdir().unwrap();
    fs::create_dir(files.path().join("notes")).unwrap();
    for (name, text) in FILES {
        fs::write(files.path().join(name), text).unwrap();
    }
    let data = tempfile::tempdir().unwrap();
    Lode::new(data.path()).json(&[Path::new("index"), files.path()]);
    let session = XvfbSession::start();
    let window = open(&session, data.path());
    let in_box = |window: &Window<'_>, text: &str| {
        let is_it = |part: &Part| part.role == "combo box" && part.text == text;
        window.wait_for_part(text, is_it);
    };

    window.wait_for_part("the search field", |part| part.role == "combo box");
    window.type_text("moon ty");
    window.wait_for_part("the name of a qualifier", |part| part.says("kind of document"));
    window.press("Tab");
    window.wait_for_part("a kind with its number", |part| {
        part.role == "list item" && part.says("Markdown")
    });
    window.press("Down");
    window.press("Return");
    in_box(&window, "moon type:markdown ");
    let chip = window.wait_for_part("the kind as a chip", |part| {
        part.role == "toggle button" && part.name == "Markdown"
    });
    window.click(&chip);
    in_box(&window, "moon ");
    window.wait_for_part("the passage on tides", |part| {
        part.role == "list item" && part.says("High water")
    });

    window.press("alt+F4");
    wait_for("the window to close", || {
        session.windows(&["--name", "Lodestone"]).is_empty().then_some(())
    });
    let again = open(&session, data.path());
    in_box(&again, "moon");
    again.wait_for_part("its answer", |part| part.role == "list item" && part.says("High water"));
}

/// Whatever is done to the window, a question is answered in it.
#[test]
#[ignore = "needs a display: run scripts/test"]
fn a_second_start_hands_over_while_questions_are_answered_in_any_theme_and_size() {
    let files = tempfile::tempdir().unwrap();
    fs::create_dir(files.path().join("notes")).unwrap();
    for (name, text) in FILES {
        fs::write(files.path().join(name), text).unwrap();
    }
    let many = tempfile::tempdir().unwrap();
    for at in 0..60 {
        let text = format!("Letter {at} to the harbor master about ropes. ").repeat(60);
        fs::write(many.path().join(format!("{at}.txt")), text).unwrap();
    }
    let data = tempfile::tempdir().unwrap();
    let lode = Lode::new(data.path());
    lode.json(&[Path::new("index"), files.path()]);
    let session = XvfbSession::start();
    let window = open(&session, data.path());
    window.wait_for_part("the search field", |part| part.role == "combo box");

    let mut again = session.command(env!("CARGO_BIN_EXE_lodestone"));
    let status = again.arg(many.path()).env("LODESTONE_DATA_DIR", data.path()).status().unwrap();
    assert!(status.success(), "{status}");
    window.wait_for_part("the job in the window that is open", |part| part.says("Indexing"));
    window.type_text("how long does bread dough have to rest");
    window.wait_for_part("an answer while the job goes on", |part| {
        part.role == "list item" && part.says("Leave the loaf")
    });
    assert!(lode.documents() < 64, "it was over before the question: add files");
    assert_eq!(session.windows(&["--onlyvisible", "--name", "Lodestone"]).len(), 1);

    let brightness = || -> u32 {
        // Of the empty strip below the rail's buttons.
        window.color_at((30, 500)).into_iter().map(u32::from).sum()
    };
    for (theme, is_dark) in [("Dark", true), ("Light", false)] {
        window.press("ctrl+k");
        window.wait_for_part("the palette", |part| part.says("What was found"));
        window.type_text(theme);
        window.wait_for_part("the theme", |part| part.says(&format!("{theme} theme")));
        window.press("Return");
        wait_for(theme, || ((brightness() < 3 * 128) == is_dark).then_some(()));
    }

    for (width, height) in [(900, 700), (640, 480), (1280, 800)] {
        window.resize(width, height);
        let (left, ..) = window.place();
        wait_for("everything that takes keys inside the window", || {
            let outside = |part: &Part| {
                let (x, _, wide, high) = part.place();
                part.focusable && high > 0 && (x < left - 1 || x + wide > left + width + 1)
            };
            (!window.parts().iter().any(outside)).then_some(())
        });
        window.wait_for_part("the answer", |part| part.says("Leave the loaf"));
    }
}
