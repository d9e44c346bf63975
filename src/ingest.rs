//! The write path: scan, hash, extract, tokenize, chunk, embed, commit.
//!
//! Stages are joined as streams, so every stage is bounded by what the next one takes, and dropping a
//! run cancels all of it. Extraction, tokenizing and hashing run on the blocking pool, embedding on
//! the device thread. Trouble with one file is a line in the ledger and the run goes on.

mod context;
mod crawl;
#[cfg(test)]
mod edit_laws;
mod error;
mod exclusion;
mod gate;
mod listing;
mod memory;
mod order;
mod pipeline;
mod plan;
mod progress;
mod read;
mod reembed;
mod report;
mod run;
mod scan;
mod survey;
mod tally;
mod vanished;
mod watch;

pub use crawl::{CrawlEnd, CrawlFigures, CrawlRun, crawl_site};
pub use error::IngestError;
pub use exclusion::Exclusions;
pub use gate::{Gate, Pace};
pub use pipeline::{Pipeline, PipelineModel};
pub use plan::{EmbeddingCost, PlannedDocument};
pub use progress::JobProgress;
pub use reembed::reembed;
pub use report::{IngestReport, Skipped, StageSeconds};
pub use run::{FileRun, Outcome, index_documents, index_paths};
pub use survey::{Survey, SurveyedKind, survey};
pub use vanished::is_online;
pub use watch::{Changes, Watch, WatchError};
