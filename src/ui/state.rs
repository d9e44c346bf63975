//! What is on screen, as plain structs that know neither the window nor the engine's handle.

mod activity;
mod completion;
mod facets;
mod golden;
mod health;
mod library;
mod notices;
mod open_document;
mod page_rows;
mod pane;
mod reader;
mod removals;
mod rules_form;
mod search;
mod web;

pub use activity::Activity;
pub use completion::Completion;
pub use facets::{Chip, chips};
pub use golden::GoldenState;
pub use health::Health;
pub use library::{Column, LibraryState, LibraryTab, ROW_PX, files_of};
pub use notices::{Notice, NoticeAction, NoticeTone, Notices};
pub use open_document::{OpenDocument, Target};
pub use page_rows::{PageGroup, PageRows};
pub use pane::{Pane, View};
pub use reader::ReaderState;
pub use removals::{Removal, Removals};
pub use rules_form::{Field, FieldTrouble, ReachChoice, Recrawl, RulesForm};
pub use search::{Accepted, HITS_MAX, SearchState};
pub use web::{Backed, SiteForm, WebState};
