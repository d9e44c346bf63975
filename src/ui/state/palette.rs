use lodestone::config::Theme;
use lodestone::data::DocumentId;
use lodestone::engine::SiteId;

use super::{View, fuzzy};
use crate::ui::keys::{Command, Zoom, shown};

/// Rows that are shown: as many as are read at a glance, and a few to scroll to.
const ROWS_MAX: usize = 40;

/// Letters after which documents are looked through as well.
const DOCUMENTS_FROM: usize = 2;

/// Queries that are remembered while the window is open.
const RECENT_MAX: usize = 20;

/// What can be done without a key of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    AddFiles,
    AddFolder,
    AddSite,
    Pause,
    Resume,
    RetryAll,
    ShowSkipped,
    Theme(Theme),
    Export,
    Import,
    Measure,
    SelfTest,
    Diagnostics,
    About,
    Hints,
    ForgetHistory,
}

/// What a row of the palette leads to.
#[derive(Clone, Debug, PartialEq)]
pub enum Choice {
    Command(Command),
    Action(Action),
    Query(String),
    Site(SiteId),
    Document(DocumentId),
}

/// What kind of thing a row is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    View,
    Action,
    Recent,
    Site,
    Document,
}

impl Group {
    pub fn name(self) -> &'static str {
        match self {
            Self::View => "View",
            Self::Action => "Action",
            Self::Recent => "Asked before",
            Self::Site => "Site",
            Self::Document => "Document",
        }
    }
}

/// A row of the palette.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    pub text: String,
    /// Where it lies, for what has a place.
    pub place: Option<String>,
    pub group: Group,
    pub choice: Choice,
    /// Keys that do the same.
    pub keys: Vec<&'static str>,
}

/// A row that what was typed fits, with the letters that it fits.
#[derive(Clone, Debug, PartialEq)]
pub struct Shown {
    pub row: Row,
    /// Positions of characters.
    pub letters: Vec<usize>,
}

/// Everything that can be done or gone to, by a few letters of its name.
#[derive(Clone, Debug, Default)]
pub struct Palette {
    typed: String,
    rows: Vec<Row>,
    documents: Vec<Row>,
    recent: Vec<String>,
    shown: Vec<Shown>,
    selected: usize,
}

impl Palette {
    /// Begins anew; what is to be found comes with [`Palette::load`].
    pub fn open(&mut self, paused: bool) {
        self.typed.clear();
        self.rows = actions(paused);
        let asked = self.recent.iter().map(|query| Row {
            text: query.clone(),
            place: None,
            group: Group::Recent,
            choice: Choice::Query(query.clone()),
            keys: Vec::new(),
        });
        self.rows.extend(asked);
        self.find();
    }

    /// Takes in what the index holds.
    pub fn load(&mut self, sites: Vec<Row>, documents: Vec<Row>) {
        self.rows.retain(|row| row.group != Group::Site);
        self.rows.extend(sites);
        self.documents = documents;
        let kept = self.chosen().map(|shown| shown.row.choice.clone());
        self.find();
        let same =
            |choice: &Choice| self.shown.iter().position(|shown| shown.row.choice == *choice);
        self.selected = kept.as_ref().and_then(same).unwrap_or(0);
    }

    pub fn type_text(&mut self, text: &str) {
        text.trim().clone_into(&mut self.typed);
        self.find();
    }

    fn find(&mut self) {
        self.selected = 0;
        let documents: &[Row] =
            if self.typed.chars().count() < DOCUMENTS_FROM { &[] } else { &self.documents };
        let mut fitting: Vec<(i32, usize, &Row)> = self
            .rows
            .iter()
            .chain(documents)
            .enumerate()
            .filter_map(|(at, row)| Some((fuzzy::score(&self.typed, &row.text)?, at, row)))
            .collect();
        // Of equal ones the first: what can be done stands before what can be read.
        fitting.sort_by_key(|(score, at, _)| (std::cmp::Reverse(*score), *at));
        let shown = fitting.into_iter().take(ROWS_MAX).map(|(_, _, row)| Shown {
            row: row.clone(),
            letters: fuzzy::letters(&self.typed, &row.text),
        });
        self.shown = shown.collect();
    }

    pub fn shown(&self) -> &[Shown] {
        &self.shown
    }

    pub fn selected(&self) -> usize {
        self.selected
    }

    pub fn chosen(&self) -> Option<&Shown> {
        self.shown.get(self.selected)
    }

    /// Moves the selection; behind the last comes the first.
    pub fn step(&mut self, by: isize) {
        if !self.shown.is_empty() {
            let rows = self.shown.len().cast_signed();
            self.selected = (self.selected.cast_signed() + by).rem_euclid(rows) as usize;
        }
    }

    pub fn select(&mut self, at: usize) {
        self.selected = at.min(self.shown.len().saturating_sub(1));
    }

    /// Remembers what was asked, newest first, until the window closes.
    pub fn asked(&mut self, query: &str) {
        let query = query.trim();
        if query.is_empty() {
            return;
        }
        self.recent.retain(|known| known != query);
        self.recent.insert(0, query.to_owned());
        self.recent.truncate(RECENT_MAX);
    }
}

fn actions(paused: bool) -> Vec<Row> {
    let mut rows: Vec<Row> = View::ALL
        .into_iter()
        .map(|view| Row {
            text: view.name().to_owned(),
            place: None,
            group: Group::View,
            choice: Choice::Command(Command::Show(view)),
            keys: shown(Command::Show(view)).unwrap_or_default(),
        })
        .collect();
    let pause = if paused {
        (Action::Resume, "Resume indexing and crawling")
    } else {
        (Action::Pause, "Pause indexing and crawling")
    };
    let actions = [
        (Action::AddFolder, "Index a folder"),
        (Action::AddFiles, "Index files"),
        (Action::AddSite, "Add a web site"),
        pause,
        (Action::RetryAll, "Try again what could not be indexed"),
        (Action::ShowSkipped, "Show what could not be indexed"),
        (Action::Theme(Theme::Light), "Light theme"),
        (Action::Theme(Theme::Dark), "Dark theme"),
        (Action::Theme(Theme::System), "Theme of the system"),
        (Action::Export, "Export the index"),
        (Action::Import, "Import an index"),
        (Action::Measure, "Measure recall and speed"),
        (Action::SelfTest, "Test the device"),
        (Action::ForgetHistory, "Clear the history of jobs"),
        (Action::Diagnostics, "Copy diagnostics"),
        (Action::Hints, "Show the hints again"),
        (Action::About, "About Lodestone"),
    ];
    rows.extend(actions.map(|(action, text)| Row {
        text: text.to_owned(),
        place: None,
        group: Group::Action,
        choice: Choice::Action(action),
        keys: Vec::new(),
    }));
    let commands = [
        (Command::CheatSheet, "Keyboard shortcuts"),
        (Command::Zoom(Zoom::In), "Larger"),
        (Command::Zoom(Zoom::Out), "Smaller"),
        (Command::Zoom(Zoom::Reset), "Usual size"),
    ];
    rows.extend(commands.map(|(command, text)| Row {
        text: text.to_owned(),
        place: None,
        group: Group::Action,
        choice: Choice::Command(command),
        keys: shown(command).unwrap_or_default(),
    }));
    rows
}

#[cfg(test)]
mod tests {
    use lodestone::data::Source;

    use super::*;

    fn document(title: &str) -> Row {
        let source = Source::File(format!("/docs/{title}").into());
        Row {
            text: title.to_owned(),
            place: Some(source.to_string()),
            group: Group::Document,
            choice: Choice::Document(DocumentId::of(&source)),
            keys: Vec::new(),
        }
    }

    fn first(palette: &mut Palette, typed: &str) -> String {
        palette.type_text(typed);
        palette.chosen().map_or("nothing".to_owned(), |shown| shown.row.text.clone())
    }

    #[test]
    fn a_few_letters_find_what_can_be_done() {
        let mut palette = Palette::default();
        palette.open(false);
        assert_eq!(palette.shown()[0].row.text, "Search", "views come first");
        assert_eq!(first(&mut palette, "dark"), "Dark theme");
        assert_eq!(first(&mut palette, "set"), "Settings");
        assert_eq!(first(&mut palette, "pau"), "Pause indexing and crawling");
        assert_eq!(first(&mut palette, "idx fold"), "Index a folder");
        assert_eq!(first(&mut palette, "zzz"), "nothing");
        palette.open(true);
        assert_eq!(first(&mut palette, "resume"), "Resume indexing and crawling");
    }

    #[test]
    fn documents_are_found_by_their_titles_and_the_selection_stays() {
        let mut palette = Palette::default();
        palette.open(false);
        palette.type_text("sour");
        palette.load(Vec::new(), vec![document("Sourdough.md"), document("Tides.txt")]);
        assert_eq!(palette.chosen().unwrap().row.text, "Sourdough.md");
        assert_eq!(palette.chosen().unwrap().letters, [0, 1, 2, 3]);
        palette.type_text("t");
        assert!(palette.shown().iter().all(|shown| shown.row.group != Group::Document));
        palette.type_text("");
        palette.step(2);
        let chosen = palette.chosen().cloned();
        palette.load(Vec::new(), vec![document("Tides.txt")]);
        assert_eq!(palette.chosen().cloned(), chosen);
    }

    #[test]
    fn the_selection_goes_round() {
        let mut palette = Palette::default();
        palette.open(false);
        palette.step(-1);
        assert_eq!(palette.selected(), palette.shown().len() - 1);
        palette.step(1);
        assert_eq!(palette.selected(), 0);
        palette.type_text("zzz");
        palette.step(1);
        assert_eq!(palette.chosen(), None);
    }

    #[test]
    fn what_was_asked_is_found_again_newest_first_and_once() {
        let mut palette = Palette::default();
        for query in ["tides", " sourdough ", "tides", "  "] {
            palette.asked(query);
        }
        palette.open(false);
        let asked: Vec<_> = palette
            .shown()
            .iter()
            .filter(|shown| shown.row.group == Group::Recent)
            .map(|shown| shown.row.text.as_str())
            .collect();
        assert_eq!(asked, ["tides", "sourdough"]);
    }
}
