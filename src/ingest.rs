//! The write path: scan, hash, extract, tokenize, chunk, embed, commit.
//!
//! Stages are joined as streams, so every stage is bounded by what the next one takes, and dropping a
//! run cancels all of it. Extraction, tokenizing and hashing run on the blocking pool, embedding on
//! the device thread. Trouble with one file is a line in the ledger and the run goes on.

mod context;
mod error;
mod pipeline;
mod progress;
mod read;
mod reembed;
mod report;
mod run;
mod scan;
mod tally;
mod vanished;

pub use error::IngestError;
pub use pipeline::{Pipeline, PipelineModel};
pub use progress::JobProgress;
pub use reembed::reembed;
pub use report::{IngestReport, Skipped};
pub use run::{FileRun, Outcome, index_documents, index_paths};
