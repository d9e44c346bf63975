//! Which command opens a file at a place in it.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A place inside a file that other programs can be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FilePlace {
    /// One-based.
    Line(u32),
    /// One-based.
    Page(u32),
}

/// A program that can be told where to open a file.
struct Jumper {
    /// Names of the command, and of the entry under which desktops know the program.
    names: &'static [&'static str],
    arguments: Arguments,
}

/// How the place is said: `{}` is its number.
enum Arguments {
    /// An argument before the file.
    Line(&'static [&'static str]),
    /// What follows the name of the file.
    LineBehind(&'static [&'static str], &'static str),
    Page(&'static [&'static str]),
    /// An argument behind the file.
    PageLast,
    /// The fragment of the file's address.
    PageFragment,
}

use Arguments::{Line, LineBehind, Page, PageFragment, PageLast};

/// In the order in which they are tried where the desktop names no program.
const JUMPERS: [Jumper; 24] = [
    jumper(
        &["code", "codium", "vscodium", "code-insiders", "code-oss"],
        LineBehind(&["--goto"], ":{}"),
    ),
    jumper(&["zed", "zeditor"], LineBehind(&[], ":{}")),
    jumper(&["subl", "sublime_text", "sublime-text"], LineBehind(&[], ":{}")),
    jumper(&["kate"], Line(&["--line", "{}"])),
    jumper(&["kwrite"], Line(&["--line", "{}"])),
    jumper(&["gedit"], Line(&["+{}"])),
    jumper(&["xed"], Line(&["+{}"])),
    jumper(&["pluma"], Line(&["+{}"])),
    jumper(&["mousepad"], Line(&["--line={}"])),
    jumper(&["geany"], Line(&["--line={}"])),
    jumper(&["notepad++"], Line(&["-n{}"])),
    jumper(&["bbedit"], Line(&["+{}"])),
    jumper(&["mate"], Line(&["--line", "{}"])),
    jumper(&["gvim"], Line(&["+{}"])),
    jumper(&["emacs", "emacsclient"], Line(&["+{}"])),
    jumper(&["okular"], Page(&["--page", "{}"])),
    jumper(&["evince"], Page(&["--page-index={}"])),
    jumper(&["papers"], Page(&["--page-index={}"])),
    jumper(&["atril"], Page(&["--page-index={}"])),
    jumper(&["xreader"], Page(&["--page-index={}"])),
    jumper(&["zathura"], Page(&["--page={}"])),
    jumper(&["SumatraPDF", "sumatrapdf"], Page(&["-page", "{}"])),
    jumper(&["mupdf"], PageLast),
    jumper(
        &["firefox", "firefox-esr", "chromium", "google-chrome", "microsoft-edge", "brave-browser"],
        PageFragment,
    ),
];

const fn jumper(names: &'static [&'static str], arguments: Arguments) -> Jumper {
    Jumper { names, arguments }
}

/// The command that opens a file at a place: of the program that the desktop opens such files with, or of
/// one that is installed where the desktop does not say. `None` where that program cannot be told.
#[must_use]
pub fn open_command(path: &Path, place: FilePlace) -> Option<Command> {
    let handler = default_handler(path);
    let (program, arguments) = chosen(path, place, handler.as_deref(), &installed)?;
    let mut command = Command::new(program);
    command.args(arguments);
    super::without_window(&mut command);
    Some(command)
}

/// The program and its arguments; `find` gives where a program is, if it is installed.
fn chosen(
    path: &Path,
    place: FilePlace,
    handler: Option<&str>,
    find: &dyn Fn(&str) -> Option<PathBuf>,
) -> Option<(PathBuf, Vec<OsString>)> {
    let handler = handler.map(program_of);
    let is_meant = |jumper: &&Jumper| {
        // A person who chose a program wants that one, also when it cannot go to the place.
        handler
            .as_ref()
            .is_none_or(|name| jumper.names.iter().any(|n| n.eq_ignore_ascii_case(name)))
    };
    JUMPERS.iter().filter(is_meant).find_map(|jumper| {
        let arguments = jumper.arguments.to(path, place)?;
        Some((jumper.names.iter().find_map(|name| find(name))?, arguments))
    })
}

impl Arguments {
    fn to(&self, path: &Path, place: FilePlace) -> Option<Vec<OsString>> {
        let number = match (self, place) {
            (Line(_) | LineBehind(..), FilePlace::Line(number))
            | (Page(_) | PageLast | PageFragment, FilePlace::Page(number)) => number.to_string(),
            _ => return None,
        };
        let filled = |pattern: &&str| OsString::from(pattern.replace("{}", &number));
        let mut arguments: Vec<OsString> = Vec::new();
        match self {
            Line(before) | Page(before) => {
                arguments.extend(before.iter().map(filled));
                arguments.push(path.into());
            }
            LineBehind(before, behind) => {
                arguments.extend(before.iter().map(filled));
                let mut file = path.as_os_str().to_owned();
                file.push(filled(behind));
                arguments.push(file);
            }
            PageLast => arguments.extend([path.into(), number.into()]),
            PageFragment => {
                let mut url = url::Url::from_file_path(path).ok()?;
                url.set_fragment(Some(&format!("page={number}")));
                arguments.push(String::from(url).into());
            }
        }
        Some(arguments)
    }
}

/// The name of a program as the desktop's entries have it: `org.kde.okular.desktop` is `okular`, and
/// `firefox_firefox.desktop` of a snap `firefox`.
fn program_of(handler: &str) -> String {
    let entry = handler.strip_suffix(".desktop").unwrap_or(handler);
    let name =
        if entry.contains('.') { entry.rsplit('.').next() } else { entry.rsplit('_').next() };
    name.unwrap_or(entry).to_owned()
}

/// The entry of the program that the desktop opens this file with, where it can be asked.
fn default_handler(path: &Path) -> Option<String> {
    #[cfg(all(unix, not(target_os = "macos")))]
    {
        let ask = |arguments: &[&std::ffi::OsStr]| {
            let output = Command::new("xdg-mime").arg("query").args(arguments).output().ok()?;
            let said = String::from_utf8(output.stdout).ok()?.trim().to_owned();
            (!said.is_empty()).then_some(said)
        };
        let kind = ask(&["filetype".as_ref(), path.as_os_str()])?;
        ask(&["default".as_ref(), kind.as_ref()])
    }
    #[cfg(not(all(unix, not(target_os = "macos"))))]
    {
        let _ = path;
        None
    }
}

/// Where a program is, of those that are started by their names.
fn installed(name: &str) -> Option<PathBuf> {
    let folders = std::env::var_os("PATH")?;
    let endings: &[&str] = if cfg!(windows) { &[".exe", ".cmd"] } else { &[""] };
    std::env::split_paths(&folders)
        .flat_map(|folder| endings.iter().map(move |ending| folder.join(format!("{name}{ending}"))))
        .find(|program| program.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(file: &str, place: FilePlace, handler: Option<&str>, installed: &[&str]) -> String {
        let find = |name: &str| installed.contains(&name).then(|| PathBuf::from(name));
        let Some((program, arguments)) = chosen(Path::new(file), place, handler, &find) else {
            return String::new();
        };
        let words = std::iter::once(program.into_os_string()).chain(arguments);
        words.map(|word| word.into_string().unwrap()).collect::<Vec<_>>().join("|")
    }

    #[cfg(unix)]
    #[test]
    fn every_program_is_told_the_place_as_it_wants_it() {
        let (line, page) = (FilePlace::Line(12), FilePlace::Page(3));
        for (place, handler, program, expected) in [
            (line, "code.desktop", "code", "code|--goto|/a b:12"),
            (line, "dev.zed.Zed.desktop", "zeditor", "zeditor|/a b:12"),
            (line, "org.kde.kate.desktop", "kate", "kate|--line|12|/a b"),
            (line, "org.gnome.gedit.desktop", "gedit", "gedit|+12|/a b"),
            (page, "org.gnome.Evince.desktop", "evince", "evince|--page-index=3|/a b"),
            (page, "org.kde.okular.desktop", "okular", "okular|--page|3|/a b"),
            (page, "mupdf.desktop", "mupdf", "mupdf|/a b|3"),
            (page, "SumatraPDF", "SumatraPDF", "SumatraPDF|-page|3|/a b"),
            (page, "firefox_firefox.desktop", "firefox", "firefox|file:///a%20b#page=3"),
        ] {
            assert_eq!(told("/a b", place, Some(handler), &[program]), expected);
        }
    }

    #[test]
    fn the_program_of_the_desktop_is_taken_or_none() {
        let (line, page) = (FilePlace::Line(1), FilePlace::Page(1));
        let both = ["code", "okular"];
        assert_eq!(told("/a", line, Some("org.gnome.TextEditor.desktop"), &both), "");
        assert_eq!(told("/a", page, Some("code.desktop"), &both), "", "an editor knows no pages");
        assert_eq!(told("/a", line, Some("org.kde.kate.desktop"), &both), "", "not installed");
        assert!(told("/a", line, None, &both).starts_with("code|"));
        assert!(told("/a", page, None, &both).starts_with("okular|"));
        assert_eq!(told("/a", page, None, &[]), "");
    }
}
