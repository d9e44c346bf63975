use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use super::xvfb_session::XvfbSession;
use crate::process::{PATIENCE, Process};

/// Between two moves, as a hand makes them; a toolkit may fold faster ones into one.
const BEAT: Duration = Duration::from_millis(100);

/// Another application's window from which files are dragged.
#[derive(Debug)]
pub struct DragSource<'a> {
    session: &'a XvfbSession,
    window: Rc<Process>,
    middle: (i32, i32),
}

impl<'a> DragSource<'a> {
    pub fn open(session: &'a XvfbSession, paths: &[&Path]) -> Self {
        let modules = [("Gtk", "3.0", "gir1.2-gtk-3.0")];
        let window = session.open(session.python("drag-source.py", &modules).args(paths));
        let ready = window.line();
        let mut words = ready.split(' ');
        assert_eq!(words.next(), Some("ready"), "{ready}");
        let mut number = || words.next().and_then(|word| word.parse().ok()).expect("a coordinate");
        let middle = (number(), number());
        Self { session, window, middle }
    }

    /// Drags the paths to a point of the screen and holds them there.
    pub fn hold_over(&self, (x, y): (i32, i32)) {
        let (start_x, start_y) = self.middle;
        self.move_to(start_x, start_y);
        self.session.xdotool(&["mousedown", "1"]);
        // A toolkit takes a press for a drag after a few pixels.
        self.wander("begin", |step| (start_x + 4 * step, start_y));
        // The window below has to see the pointer move before it can say that it takes the drop.
        self.wander("accepted YES", |step| (x + step % 8, y));
        // Entering the window is accepted before the page was asked; only a move over it asks.
        for step in 0..8 {
            self.move_to(x + step, y + step);
            self.window.line_within(BEAT);
        }
    }

    pub fn let_go(&self) {
        self.session.xdotool(&["mouseup", "1"]);
        assert_eq!(self.window.line(), "end YES", "nobody asked for what was dropped");
    }

    /// Moves on and on until the source says `event`.
    fn wander(&self, event: &str, place: impl Fn(i32) -> (i32, i32)) {
        let steps = i32::try_from(PATIENCE.as_millis() / BEAT.as_millis()).unwrap_or(i32::MAX);
        for step in 0..steps {
            let (x, y) = place(step);
            self.move_to(x, y);
            while let Some(said) = self.window.line_within(BEAT) {
                if said == event {
                    return;
                }
            }
        }
        panic!("waited {PATIENCE:?} for the drag source to say {event:?}");
    }

    fn move_to(&self, x: i32, y: i32) {
        self.session.xdotool(&["mousemove", &x.to_string(), &y.to_string()]);
    }
}
