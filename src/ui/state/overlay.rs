use super::Offer;
use crate::ui::keys::{Command, Zoom};

/// What lies over the window and takes its keys.
#[derive(Clone, Debug, PartialEq)]
pub enum Overlay {
    Palette,
    CheatSheet,
    About,
    /// What would be copied, to be read first.
    Diagnostics(Option<String>),
    /// What a big drop costs, before it begins.
    Offer(Offer),
}

/// What is said once, to somebody who has just come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hint {
    /// Whose keys stand before it.
    pub command: Option<Command>,
    pub text: &'static str,
}

impl Hint {
    pub const ALL: [Self; 3] = [
        Self { command: None, text: "Drop files or folders anywhere in this window" },
        Self { command: Some(Command::Palette), text: "Find any action, view or document" },
        Self { command: Some(Command::CheatSheet), text: "All keys" },
    ];
}

/// Sizes of everything, in percent.
const ZOOMS: [u16; 9] = [75, 90, 100, 110, 125, 150, 175, 200, 250];

/// The size after this one.
pub fn zoomed(percent: u16, zoom: Zoom) -> u16 {
    match zoom {
        Zoom::Reset => 100,
        Zoom::In => ZOOMS.into_iter().find(|size| *size > percent).unwrap_or(percent),
        Zoom::Out => ZOOMS.into_iter().rev().find(|size| *size < percent).unwrap_or(percent),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_go_up_and_down_and_stop_at_both_ends() {
        let mut seen = vec![75];
        while zoomed(seen[seen.len() - 1], Zoom::In) != seen[seen.len() - 1] {
            seen.push(zoomed(seen[seen.len() - 1], Zoom::In));
        }
        assert_eq!(seen, ZOOMS);
        assert_eq!(zoomed(250, Zoom::Out), 200);
        assert_eq!(zoomed(75, Zoom::Out), 75);
        assert_eq!(zoomed(175, Zoom::Reset), 100);
        // A size that somebody wrote into the settings.
        assert_eq!((zoomed(130, Zoom::In), zoomed(130, Zoom::Out)), (150, 125));
    }
}
