//! Where the window is on the desktop, from one start to the next.

use dioxus::desktop::tao::dpi::{PhysicalPosition, PhysicalSize};
use dioxus::desktop::tao::window::Window;
use dioxus::desktop::{LogicalSize, WindowBuilder};
use lodestone::config::WindowPlace;

/// The smallest window in which everything can be used, in logical pixels.
const LEAST: LogicalSize<f64> = LogicalSize::new(560.0, 420.0);

/// Of the bar that a window is dragged by: this much has to be on a screen, in physical pixels.
const GRIP_PX: i32 = 120;
const BAR_PX: i32 = 32;

/// A rectangle of the desktop, in physical pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Area {
    x: i32,
    y: i32,
    width: i32,
    height: i32,
}

/// The window as it was, or of its first size.
pub fn builder(place: Option<WindowPlace>) -> WindowBuilder {
    let builder = WindowBuilder::new().with_title("Lodestone").with_min_inner_size(LEAST);
    let Some(place) = place else {
        return builder.with_inner_size(LogicalSize::new(1280.0, 800.0));
    };
    builder
        .with_inner_size(PhysicalSize::new(place.width, place.height))
        .with_position(PhysicalPosition::new(place.x, place.y))
        .with_maximized(place.is_maximized)
}

/// Where it is now. Of one that fills the screen, what it goes back to is where it was `before`.
pub fn of(window: &Window, before: Option<WindowPlace>) -> Option<WindowPlace> {
    if window.is_maximized() {
        return before.map(|before| WindowPlace { is_maximized: true, ..before });
    }
    let PhysicalSize { width, height } = window.inner_size();
    // A desktop may keep to itself where its windows are.
    let PhysicalPosition { x, y } = window.outer_position().unwrap_or_default();
    Some(WindowPlace { x, y, width, height, is_maximized: false })
}

/// Brings a window back whose screen has gone since.
pub fn bring_back(window: &Window, place: Option<WindowPlace>) {
    let Some(place) = place else { return };
    let screens: Vec<Area> = window
        .available_monitors()
        .map(|screen| {
            let (PhysicalPosition { x, y }, size) = (screen.position(), screen.size());
            Area { x, y, width: size.width.cast_signed(), height: size.height.cast_signed() }
        })
        .collect();
    if let Some(first) = screens.first()
        && !can_be_dragged(place, &screens)
    {
        window.set_outer_position(PhysicalPosition::new(first.x, first.y));
    }
}

/// Whether enough of its bar is on one of the screens.
fn can_be_dragged(place: WindowPlace, screens: &[Area]) -> bool {
    let overlap = |from: i32, length: i32, other: i32, others: i32| {
        (from.saturating_add(length)).min(other.saturating_add(others)) - from.max(other)
    };
    screens.iter().any(|screen| {
        overlap(place.x, place.width.cast_signed(), screen.x, screen.width) >= GRIP_PX
            && overlap(place.y, BAR_PX, screen.y, screen.height) >= BAR_PX
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_is_within_reach_where_its_bar_is() {
        let place = |x, y| WindowPlace { x, y, width: 1280, height: 800, is_maximized: false };
        let screens = [
            Area { x: 0, y: 0, width: 1920, height: 1080 },
            Area { x: 1920, y: 0, width: 1920, height: 1080 },
        ];
        for (x, y) in [(0, 0), (3000, 900), (-1100, 10), (1900, 1040)] {
            assert!(can_be_dragged(place(x, y), &screens), "{x}, {y}");
        }
        for (x, y) in [(5000, 0), (-1200, 10), (10, -40), (10, 1070), (i32::MAX, i32::MAX)] {
            assert!(!can_be_dragged(place(x, y), &screens), "{x}, {y}");
        }
    }
}
