use serde::Deserialize;

use super::xvfb_session::XvfbSession;
use crate::process::wait_for;

/// Room for the window of another application to its left.
const LEFT: i32 = 240;
const TOP: i32 = 40;

/// A part of a window, as a screen reader is told of it.
#[derive(Clone, Debug, Deserialize)]
pub struct Part {
    pub role: String,
    pub name: String,
    pub text: String,
    pub focusable: bool,
    pub focused: bool,
    x: i32,
    y: i32,
    width: i32,
    height: i32,
}

impl Part {
    pub fn says(&self, words: &str) -> bool {
        self.name.contains(words) || self.text.contains(words)
    }

    pub fn place(&self) -> (i32, i32, i32, i32) {
        (self.x, self.y, self.width, self.height)
    }

    pub fn middle(&self) -> (i32, i32) {
        (self.x + self.width / 2, self.y + self.height / 2)
    }
}

/// A window on the screen of a session.
#[derive(Debug)]
pub struct Window<'a> {
    session: &'a XvfbSession,
    id: String,
    application: String,
}

impl<'a> Window<'a> {
    /// Waits for a window of that process and title, and puts it beside the drag source.
    pub fn wait(session: &'a XvfbSession, process: u32, application: &str, title: &str) -> Self {
        let process = process.to_string();
        let search = ["--all", "--onlyvisible", "--pid", &process, "--name", title];
        let id = wait_for("the window", || session.windows(&search).pop());
        let window = Self { session, id, application: application.to_owned() };
        // Asked again each time, because a program that is still opening its window places it too.
        wait_for("the window to move", || {
            session.xdotool(&["windowmove", &window.id, &LEFT.to_string(), &TOP.to_string()]);
            (window.place().0 >= LEFT).then_some(())
        });
        session.xdotool(&["windowactivate", &window.id]);
        window
    }

    pub fn middle(&self) -> (i32, i32) {
        let (x, y, width, height) = self.place();
        (x + width / 2, y + height / 2)
    }

    /// What the window shows now.
    pub fn parts(&self) -> Vec<Part> {
        let modules = [("Atspi", "2.0", "gir1.2-atspi-2.0")];
        let mut command = self.session.python("read-window.py", &modules);
        let output = command.arg(&self.application).output().expect("Python starts");
        assert!(output.status.success(), "read-window.py: {}", output.status);
        serde_json::from_slice(&output.stdout).expect("a list of parts")
    }

    /// What has the focus, innermost.
    pub fn focused(&self) -> Option<Part> {
        self.parts().into_iter().rfind(|part| part.focused)
    }

    /// Waits until the window shows a part for which this holds.
    pub fn wait_for_part(&self, what: &str, is_it: impl Fn(&Part) -> bool) -> Part {
        wait_for(what, || self.parts().into_iter().find(&is_it))
    }

    pub fn click(&self, part: &Part) {
        let (x, y) = part.middle();
        self.session.xdotool(&["mousemove", &x.to_string(), &y.to_string(), "click", "1"]);
    }

    /// Types into whatever has the focus, one key event after another.
    pub fn type_text(&self, text: &str) {
        self.session.xdotool(&["type", "--delay", "30", text]);
    }

    /// A key with those held beside it: `ctrl+3`.
    pub fn press(&self, keys: &str) {
        self.session.xdotool(&["key", keys]);
    }

    /// What is painted there, of the window: red, green and blue.
    pub fn color_at(&self, (x, y): (i32, i32)) -> [u8; 3] {
        let crop = format!("1x1+{x}+{y}");
        let mut import = self.session.tool("import", "imagemagick");
        let output = import.args(["-window", &self.id, "-crop", &crop, "-depth", "8", "rgb:-"]);
        let output = output.output().expect("import runs");
        assert!(output.status.success(), "import: {}", output.status);
        output.stdout.try_into().expect("one pixel")
    }

    pub fn resize(&self, width: i32, height: i32) {
        self.session.xdotool(&["windowsize", &self.id, &width.to_string(), &height.to_string()]);
        wait_for("the window's new size", || {
            let (_, _, now_wide, now_high) = self.place();
            ((now_wide, now_high) == (width, height)).then_some(())
        });
    }

    /// Left, top, width and height on the screen.
    pub fn place(&self) -> (i32, i32, i32, i32) {
        let said = self.session.xdotool(&["getwindowgeometry", "--shell", &self.id]);
        let value = |name: &str| {
            let line = said.lines().find_map(|line| line.strip_prefix(name));
            line.and_then(|number| number.parse().ok()).unwrap_or_else(|| panic!("{name} {said}"))
        };
        (value("X="), value("Y="), value("WIDTH="), value("HEIGHT="))
    }
}
