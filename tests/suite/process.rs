//! Programs under test: started, listened to, and gone when the test ends.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

/// Longer than anything takes on two busy cores; a test that waits this long has failed.
pub const PATIENCE: Duration = Duration::from_mins(1);

/// Looks again and again until there is something to see, and panics when [`PATIENCE`] is over.
pub fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + PATIENCE;
    loop {
        if let Some(seen) = look() {
            return seen;
        }
        assert!(Instant::now() < end, "waited {PATIENCE:?} for {what}");
        thread::sleep(Duration::from_millis(50));
    }
}

/// A running program; killed when dropped.
#[derive(Debug)]
pub struct Process {
    name: String,
    child: Child,
    lines: Receiver<String>,
}

impl Process {
    /// Starts a program and reads its standard output line by line.
    pub fn start(command: &mut Command) -> Self {
        let name = command.get_program().to_string_lossy().into_owned();
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("{name} cannot be started: {error}"));
        let stdout = child.stdout.take().expect("standard output is piped");
        let (sender, lines) = mpsc::channel();
        thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        Self { name, child, lines }
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// The next line, or `None` when none comes in that time.
    pub fn line_within(&self, limit: Duration) -> Option<String> {
        self.lines.recv_timeout(limit).ok()
    }

    pub fn line(&self) -> String {
        self.line_within(PATIENCE).unwrap_or_else(|| panic!("{} said nothing", self.name))
    }

    /// Passes over whatever else it says.
    pub fn wait_for_line(&self, wanted: &str) {
        while self.line() != wanted {}
    }

    pub fn has_ended(&mut self) -> bool {
        self.child.try_wait().expect("a child can be asked").is_some()
    }

    /// SIGKILL: the program gets no chance to tidy up.
    pub fn kill(&mut self) {
        // An error means that it has ended by itself, which is as good here.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
    }
}
