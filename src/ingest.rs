//! The write path: scan, hash, extract, tokenize, chunk, embed, commit.

mod report;

pub use report::{IngestReport, Skipped};
