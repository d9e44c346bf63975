//! Opens everything, owns it, and is what both faces talk to.
//!
//! An [`Engine`] is a cheap handle. Its futures may be awaited on any executor: work runs on the
//! engine's own runtime and blocking pools, never on the caller's thread.

mod event;
mod view;

pub use crate::ingest::{IngestReport, Skipped};
pub use crate::search::{Coverage, SearchMode, SearchRequest, SearchResponse};
pub use event::{EngineEvent, JobId, JobOutcome, JobProgress, ModelState};
pub use view::{DocumentView, LibraryEntry, Status};
