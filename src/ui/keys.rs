//! Which key does what, in one place.

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
}

/// Results that Page Up and Page Down move over.
const PAGE: isize = 5;

/// The command of a key that reached the window; text boxes keep the characters typed into them.
pub fn command(key: &Key, modifiers: Modifiers) -> Option<Command> {
    let primary = modifiers.ctrl() || modifiers.meta();
    let command = match key {
        Key::Character(text) if primary => match text.as_str() {
            "f" | "F" => Command::FocusInput,
            "1" => Command::Show(View::Search),
            "2" => Command::Show(View::Library),
            "3" => Command::Show(View::Web),
            _ => return None,
        },
        Key::Character(text) if text == "/" => Command::FocusInput,
        Key::ArrowDown if modifiers.alt() => Command::Step(1),
        Key::ArrowUp if modifiers.alt() => Command::Step(-1),
        Key::ArrowDown => Command::Move(1),
        Key::ArrowUp => Command::Move(-1),
        Key::PageDown => Command::Move(PAGE),
        Key::PageUp => Command::Move(-PAGE),
        Key::Home => Command::Edge { first: true },
        Key::End => Command::Edge { first: false },
        Key::Enter if primary => Command::OpenExternally,
        Key::Enter => Command::Open,
        Key::Escape => Command::Back,
        _ => return None,
    };
    Some(command)
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
        assert_eq!(command(&letter("2"), Modifiers::META), Some(Command::Show(View::Library)));
        assert_eq!(command(&letter("3"), Modifiers::CONTROL), Some(Command::Show(View::Web)));
        assert_eq!(command(&Key::ArrowUp, none), Some(Command::Move(-1)));
        assert_eq!(command(&Key::ArrowDown, Modifiers::ALT), Some(Command::Step(1)));
        assert_eq!(command(&Key::Enter, Modifiers::CONTROL), Some(Command::OpenExternally));
        assert_eq!(command(&letter("f"), none), None);
    }
}
