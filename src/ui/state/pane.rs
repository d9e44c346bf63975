/// The views of the rail, in the order of their keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum View {
    #[default]
    Search,
    Library,
    Web,
    Activity,
    Settings,
}

impl View {
    pub const ALL: [Self; 5] =
        [Self::Search, Self::Library, Self::Web, Self::Activity, Self::Settings];

    pub fn name(self) -> &'static str {
        match self {
            Self::Search => "Search",
            Self::Library => "Library",
            Self::Web => "Web",
            Self::Activity => "Activity",
            Self::Settings => "Settings",
        }
    }

    /// The box that takes typing in this view.
    pub fn input_id(self) -> &'static str {
        match self {
            Self::Search => "query",
            Self::Library => "library-filter",
            // One of the address to add and the filter of pages is on screen.
            Self::Web => "web-input",
            // No box: the page takes the focus, so that it scrolls by keys.
            Self::Activity => "activity-page",
            Self::Settings => "settings-page",
        }
    }
}

/// Below this the reader covers the results instead of standing beside them.
const WIDE_PX: f64 = 900.0;
/// Of a card with a short passage; what stands above the cards makes up for those that are shorter.
const CARD_PX: f64 = 140.0;
const SHARE_MIN: f64 = 0.3;
const SHARE_MAX: f64 = 0.7;

/// How the window is divided.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pane {
    width_px: f64,
    height_px: f64,
    /// Share of the content's width that the reader takes.
    share: f64,
    pub dragging: bool,
    /// Whether a wide window shows the selected result in the reader by itself.
    pub preview: bool,
}

impl Pane {
    pub fn new(share: Option<f64>) -> Self {
        let share = share.filter(|share| share.is_finite()).unwrap_or(0.52);
        let share = share.clamp(SHARE_MIN, SHARE_MAX);
        Self { width_px: 1280.0, height_px: 800.0, share, dragging: false, preview: true }
    }

    pub fn resize(&mut self, width_px: f64, height_px: f64) {
        self.width_px = width_px;
        self.height_px = height_px;
    }

    /// Cards of results that are in sight at once, at most.
    pub fn cards(&self) -> usize {
        (self.height_px / CARD_PX).ceil().max(1.0) as usize
    }

    pub fn is_wide(&self) -> bool {
        self.width_px >= WIDE_PX
    }

    pub fn share(&self) -> f64 {
        self.share
    }

    /// Puts the divider under the pointer; `content_left_px` is where the content area starts.
    pub fn drag_to(&mut self, x_px: f64, content_left_px: f64) {
        let content = (self.width_px - content_left_px).max(1.0);
        self.set_share((self.width_px - x_px) / content);
    }

    pub fn set_share(&mut self, share: f64) {
        self.share = share.clamp(SHARE_MIN, SHARE_MAX);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_divider_stays_within_bounds() {
        let mut pane = Pane::new(Some(f64::NAN));
        assert!((SHARE_MIN..=SHARE_MAX).contains(&pane.share()));
        pane.resize(1056.0, 800.0);
        pane.drag_to(556.0, 56.0);
        assert!((pane.share() - 0.5).abs() < 1e-9);
        pane.drag_to(0.0, 56.0);
        assert!((pane.share() - SHARE_MAX).abs() < 1e-9);
        pane.drag_to(5_000.0, 56.0);
        assert!((pane.share() - SHARE_MIN).abs() < 1e-9);
    }

    #[test]
    fn a_taller_window_shows_more_cards() {
        let mut pane = Pane::new(None);
        let cards = [0.0, 800.0, 1_400.0].map(|height| {
            pane.resize(1280.0, height);
            pane.cards()
        });
        assert_eq!(cards, [1, 6, 10]);
    }

    #[test]
    fn a_narrow_window_has_one_column() {
        let mut pane = Pane::new(None);
        pane.resize(899.0, 800.0);
        assert!(!pane.is_wide());
        pane.resize(900.0, 800.0);
        assert!(pane.is_wide());
    }
}
