//! Which key does what, in one table: the window dispatches by it, and the cheat sheet and the palette
//! show it.

use dioxus::prelude::{Key, Modifiers};

use super::state::View;

/// What a key asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    FocusInput,
    /// Moves the selection in the results.
    Move(isize),
    /// Moves the selection to the first result, or to the last.
    Edge {
        first: bool,
    },
    /// Shows the selected result in the reader; one that is there already opens in the system's
    /// application.
    Open,
    /// Opens the selected result in the system's application at once.
    OpenExternally,
    /// Goes to another passage of the document in the reader.
    Step(isize),
    Back,
    Show(View),
    Palette,
    CheatSheet,
    Zoom(Zoom),
}

/// A change of the size of everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Zoom {
    In,
    Out,
    Reset,
}

/// Where in the cheat sheet a key stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Section {
    Results,
    Window,
}

impl Section {
    pub const ALL: [Self; 2] = [Self::Results, Self::Window];

    pub fn name(self) -> &'static str {
        match self {
            Self::Results => "Results and lists",
            Self::Window => "Everywhere",
        }
    }
}

/// A key with what is held beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Press {
    key: Name,
    /// Ctrl, or Command on a Mac.
    primary: bool,
    alt: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Name {
    Text(&'static str),
    Down,
    Up,
    PageDown,
    PageUp,
    Home,
    End,
    Enter,
    Escape,
}

/// Keys that ask for the same; the first of them is the one that is shown.
#[derive(Clone, Copy, Debug)]
pub struct Binding {
    pub presses: &'static [Press],
    pub command: Command,
    pub section: Section,
    pub what: &'static str,
}

const fn plain(key: Name) -> Press {
    Press { key, primary: false, alt: false }
}

const fn primary(key: Name) -> Press {
    Press { primary: true, ..plain(key) }
}

const fn alt(key: Name) -> Press {
    Press { alt: true, ..plain(key) }
}

/// Results that Page Up and Page Down move over.
const PAGE: isize = 5;

pub const BINDINGS: &[Binding] = {
    use Name::{Down, End, Enter, Escape, Home, PageDown, PageUp, Text, Up};
    use Section::{Results, Window};
    const fn row(
        presses: &'static [Press],
        command: Command,
        section: Section,
        what: &'static str,
    ) -> Binding {
        Binding { presses, command, section, what }
    }
    &[
        row(&[plain(Down)], Command::Move(1), Results, "Next row"),
        row(&[plain(Up)], Command::Move(-1), Results, "Row before"),
        row(&[plain(PageDown)], Command::Move(PAGE), Results, "Five rows down"),
        row(&[plain(PageUp)], Command::Move(-PAGE), Results, "Five rows up"),
        row(&[plain(Home)], Command::Edge { first: true }, Results, "First row"),
        row(&[plain(End)], Command::Edge { first: false }, Results, "Last row"),
        row(&[plain(Enter)], Command::Open, Results, "Read; once more to open the file"),
        row(&[primary(Enter)], Command::OpenExternally, Results, "Open the file at once"),
        row(&[alt(Down)], Command::Step(1), Results, "Next passage of the document"),
        row(&[alt(Up)], Command::Step(-1), Results, "Passage before"),
        row(&[primary(Text("k"))], Command::Palette, Window, "Find any action, view or document"),
        row(&[plain(Text("/")), primary(Text("f"))], Command::FocusInput, Window, "Go to the box"),
        row(&[primary(Text("1"))], Command::Show(View::Search), Window, "Search"),
        row(&[primary(Text("2"))], Command::Show(View::Library), Window, "Library"),
        row(&[primary(Text("3"))], Command::Show(View::Web), Window, "Web"),
        row(&[primary(Text("4"))], Command::Show(View::Activity), Window, "Activity"),
        row(&[primary(Text("5"))], Command::Show(View::Settings), Window, "Settings"),
        row(&[primary(Text("+")), primary(Text("="))], Command::Zoom(Zoom::In), Window, "Larger"),
        row(&[primary(Text("-"))], Command::Zoom(Zoom::Out), Window, "Smaller"),
        row(&[primary(Text("0"))], Command::Zoom(Zoom::Reset), Window, "Usual size"),
        row(&[plain(Text("?"))], Command::CheatSheet, Window, "These keys"),
        row(&[plain(Escape)], Command::Back, Window, "Back out of one thing"),
    ]
};

/// The command of a key that reached the window; text boxes keep the characters typed into them.
pub fn command(key: &Key, modifiers: Modifiers) -> Option<Command> {
    let is_asked = |binding: &&Binding| binding.presses.iter().any(|p| p.is(key, modifiers));
    BINDINGS.iter().find(is_asked).map(|binding| binding.command)
}

/// The keys of a command as they are shown, each by itself: `Ctrl`, `K`.
pub fn shown(command: Command) -> Option<Vec<&'static str>> {
    let binding = BINDINGS.iter().find(|binding| binding.command == command)?;
    binding.presses.first().map(|press| press.shown())
}

impl Press {
    fn is(self, key: &Key, modifiers: Modifiers) -> bool {
        let has_primary = modifiers.ctrl() || modifiers.meta();
        let is_key = match (self.key, key) {
            (Name::Text(text), Key::Character(typed)) => {
                text == typed || (self.primary && text.eq_ignore_ascii_case(typed))
            }
            (Name::Down, Key::ArrowDown)
            | (Name::Up, Key::ArrowUp)
            | (Name::PageDown, Key::PageDown)
            | (Name::PageUp, Key::PageUp)
            | (Name::Home, Key::Home)
            | (Name::End, Key::End)
            | (Name::Enter, Key::Enter)
            | (Name::Escape, Key::Escape) => true,
            _ => false,
        };
        is_key && self.primary == has_primary && self.alt == modifiers.alt()
    }

    /// Each key by itself, those that are held first.
    pub fn shown(self) -> Vec<&'static str> {
        let name = match self.key {
            Name::Text("k") => "K",
            Name::Text("f") => "F",
            Name::Text("-") => "−",
            Name::Text(text) => text,
            Name::Down => "↓",
            Name::Up => "↑",
            Name::PageDown => "Page Down",
            Name::PageUp => "Page Up",
            Name::Home => "Home",
            Name::End => "End",
            Name::Enter => "Enter",
            Name::Escape => "Esc",
        };
        let primary = self.primary.then(primary_name);
        primary.into_iter().chain(self.alt.then_some("Alt")).chain([name]).collect()
    }
}

/// The name of the key that goes with letters for commands on this system.
pub fn primary_name() -> &'static str {
    if std::env::consts::OS == "macos" { "⌘" } else { "Ctrl" }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn letter(text: &str) -> Key {
        Key::Character(text.to_owned())
    }

    #[test]
    fn keys_find_their_commands() {
        let none = Modifiers::empty();
        assert_eq!(command(&letter("/"), none), Some(Command::FocusInput));
        assert_eq!(command(&letter("f"), Modifiers::CONTROL), Some(Command::FocusInput));
        assert_eq!(command(&letter("K"), Modifiers::CONTROL), Some(Command::Palette));
        assert_eq!(command(&letter("2"), Modifiers::META), Some(Command::Show(View::Library)));
        assert_eq!(command(&letter("5"), Modifiers::CONTROL), Some(Command::Show(View::Settings)));
        assert_eq!(command(&letter("="), Modifiers::CONTROL), Some(Command::Zoom(Zoom::In)));
        assert_eq!(command(&letter("?"), Modifiers::SHIFT), Some(Command::CheatSheet));
        assert_eq!(command(&Key::ArrowUp, none), Some(Command::Move(-1)));
        assert_eq!(command(&Key::ArrowDown, Modifiers::ALT), Some(Command::Step(1)));
        assert_eq!(command(&Key::Enter, Modifiers::CONTROL), Some(Command::OpenExternally));
        assert_eq!(command(&letter("f"), none), None);
        assert_eq!(command(&letter("k"), none), None);
    }

    /// What the table shows is what is dispatched: no key stands in it twice, and each finds its row.
    #[test]
    fn every_key_of_the_table_does_what_it_says() {
        for binding in BINDINGS {
            for press in binding.presses {
                let key = match press.key {
                    Name::Text(text) => letter(text),
                    Name::Down => Key::ArrowDown,
                    Name::Up => Key::ArrowUp,
                    Name::PageDown => Key::PageDown,
                    Name::PageUp => Key::PageUp,
                    Name::Home => Key::Home,
                    Name::End => Key::End,
                    Name::Enter => Key::Enter,
                    Name::Escape => Key::Escape,
                };
                let mut modifiers = Modifiers::empty();
                modifiers.set(Modifiers::CONTROL, press.primary);
                modifiers.set(Modifiers::ALT, press.alt);
                assert_eq!(command(&key, modifiers), Some(binding.command), "{press:?}");
            }
        }
        let every = View::ALL.map(Command::Show).map(shown);
        assert!(every.iter().all(Option::is_some), "each view has a key");
        assert_eq!(shown(Command::Palette).unwrap(), [primary_name(), "K"]);
    }
}
