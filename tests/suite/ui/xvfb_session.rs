use std::cell::RefCell;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::rc::Rc;
use std::thread;

use tempfile::TempDir;

use crate::process::Process;

const SCREEN: &str = "1600x1000x24";

/// A desktop of its own: display, window manager, message bus and home folder.
///
/// When a test fails, the picture of the screen and what the programs said are put into
/// `ui-failures/` in cargo's target folder.
#[derive(Debug)]
pub struct XvfbSession {
    display: String,
    bus: String,
    home: TempDir,
    /// Kept until the session ends, so that a failed test is pictured with its windows open.
    programs: RefCell<Vec<Rc<Process>>>,
    /// In the order in which they have to end.
    servers: Vec<Process>,
}

impl XvfbSession {
    pub fn start() -> Self {
        let home = TempDir::new().expect("a folder for the session");
        let mut session = Self {
            display: String::new(),
            bus: String::new(),
            home,
            programs: RefCell::default(),
            servers: Vec::new(),
        };

        let server = session.start_tool(
            "Xvfb",
            "xvfb",
            &["-displayfd", "1", "-screen", "0", SCREEN, "-nolisten", "tcp", "-noreset"],
        );
        session.display = format!(":{}", server.line());
        session.servers.push(server);

        let bus = session.start_tool(
            "dbus-daemon",
            "dbus-daemon",
            &["--session", "--nofork", "--print-address"],
        );
        session.bus = bus.line();
        session.servers.insert(0, bus);

        // The window manager says when it manages windows.
        let manager =
            session.start_tool("openbox", "openbox", &["--sm-disable", "--startup", "echo ready"]);
        manager.wait_for_line("ready");
        session.servers.insert(0, manager);
        session
    }

    /// Starts a program that runs until the session ends.
    pub fn open(&self, command: &mut Command) -> Rc<Process> {
        let program = Rc::new(Process::start(command));
        self.programs.borrow_mut().push(Rc::clone(&program));
        program
    }

    /// A command that runs inside the session and sees nothing of the person's own desktop.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let home = self.home.path();
        let mut command = Command::new(program);
        command
            .env_remove("WAYLAND_DISPLAY")
            .env_remove("NO_AT_BRIDGE")
            .env("DISPLAY", &self.display)
            .env("DBUS_SESSION_BUS_ADDRESS", &self.bus)
            .env("GDK_BACKEND", "x11")
            .env("HOME", home)
            .env("LANG", "C.UTF-8")
            // Without a graphics card the compositor draws nothing.
            .env("WEBKIT_DISABLE_COMPOSITING_MODE", "1")
            .env("XDG_CACHE_HOME", home.join("cache"))
            .env("XDG_CONFIG_HOME", home.join("config"))
            .env("XDG_DATA_HOME", home.join("data"))
            .env("XDG_RUNTIME_DIR", home)
            .stderr(self.log());
        command
    }

    /// Runs one of our Python scripts; `modules` are the bindings that it imports: name, version and
    /// Debian package.
    pub fn python(&self, script: &str, modules: &[(&str, &str, &str)]) -> Command {
        // Debian's modules belong to Debian's interpreter, not to another one earlier in PATH.
        let system = Path::new("/usr/bin/python3");
        let interpreter = if system.exists() { system } else { Path::new("python3") };
        for (module, version, package) in modules {
            let import = format!("import gi; gi.require_version({module:?}, {version:?})");
            let found = Command::new(interpreter).args(["-c", &import]).output();
            assert!(
                found.is_ok_and(|output| output.status.success()),
                "Python's {module} is missing: install the packages python3-gi and {package}, \
                 or run scripts/test, which does"
            );
        }
        let mut command = self.command(interpreter);
        command.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/support").join(script));
        command
    }

    /// Sends events to the display server; returns what xdotool printed.
    pub fn xdotool(&self, args: &[&str]) -> String {
        let output = self.tool("xdotool", "xdotool").args(args).output().expect("xdotool runs");
        assert!(output.status.success(), "xdotool {args:?}: {}", output.status);
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    /// The windows that a search finds; none is no fault.
    pub fn windows(&self, search: &[&str]) -> Vec<String> {
        let mut command = self.tool("xdotool", "xdotool");
        let output = command.arg("search").args(search).output().expect("xdotool runs");
        String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect()
    }

    pub fn screenshot(&self, path: &Path) {
        let mut command = self.tool("import", "imagemagick");
        let status = command.args(["-window", "root"]).arg(path).status().expect("import runs");
        assert!(status.success(), "import: {status}");
    }

    fn start_tool(&self, program: &str, package: &str, args: &[&str]) -> Process {
        Process::start(self.tool(program, package).args(args))
    }

    pub fn tool(&self, program: &str, package: &str) -> Command {
        let path = std::env::var_os("PATH").unwrap_or_default();
        assert!(
            std::env::split_paths(&path).any(|folder| folder.join(program).exists()),
            "{program} is missing: install the package {package}, or run scripts/test, which does"
        );
        self.command(program)
    }

    fn log_path(&self) -> PathBuf {
        self.home.path().join("session.log")
    }

    fn log(&self) -> File {
        let log = File::options().create(true).append(true).open(self.log_path());
        log.expect("the session's folder takes a file")
    }

    fn keep_evidence(&self) {
        let tmp = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let folder = tmp.parent().unwrap_or(tmp).join("ui-failures");
        fs::create_dir_all(&folder).expect("the target folder takes a folder");
        let test = thread::current().name().unwrap_or("unnamed").replace("::", "-");
        let (shot, log) = (folder.join(format!("{test}.png")), folder.join(format!("{test}.log")));
        let _ = fs::copy(self.log_path(), &log);
        eprintln!(
            "the screen when it failed: {}\nwhat was said: {}",
            shot.display(),
            log.display()
        );
        self.screenshot(&shot);
    }
}

impl Drop for XvfbSession {
    fn drop(&mut self) {
        // A session that failed to start has no screen to show.
        if thread::panicking() && self.servers.len() == 3 {
            self.keep_evidence();
        }
    }
}
