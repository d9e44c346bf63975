//! What is on screen, as plain structs that know neither the window nor the engine's handle.

mod activity;
mod chart;
mod completion;
mod facets;
mod fuzzy;
mod golden;
mod health;
mod library;
mod monitor;
mod notices;
mod offer;
mod open_document;
mod options;
mod overlay;
mod page_rows;
mod palette;
mod pane;
mod reader;
mod removals;
mod rules_form;
mod search;
mod web;

pub use activity::{Activity, JobView};
#[cfg(test)]
pub use chart::{Line, Pooling};
pub use completion::Completion;
pub use facets::{Chip, chips};
pub use golden::GoldenState;
pub use health::Health;
pub use library::{Column, LibraryState, LibraryTab, ROW_PX, files_of};
pub use monitor::{Chart, Monitor, Reason};
pub use notices::{Notice, NoticeAction, NoticeTone, Notices, Undo};
pub use offer::Offer;
pub use open_document::{OpenDocument, Target};
pub use options::{Asking, Measured, Options};
pub use overlay::{Hint, Overlay, zoomed};
pub use page_rows::{PageGroup, PageRows};
pub use palette::{Action, Choice, Group, Palette, Row, Shown};
pub use pane::{Pane, View};
pub use reader::ReaderState;
pub use removals::{Removal, Removals};
pub use rules_form::{Field, FieldTrouble, ReachChoice, Recrawl, RulesForm};
pub use search::{Accepted, HITS_MAX, SearchState};
pub use web::{Backed, SiteForm, WebState};
