use std::fs::File;
use std::io::{self, Read as _};

use tracing::debug_span;

use super::scan::{self, FoundFile};
use super::{IngestError, Pipeline};
use crate::config::Limits;
use crate::data::{ChunkedDocument, ContentHash, Source};
use crate::extract;
use crate::storage::{FileStamp, SkippedSource};

/// What became of one file, before embedding.
#[derive(Debug)]
pub(super) enum ReadFile {
    /// The stored version was made from the same bytes.
    Unchanged {
        bytes: u64,
    },
    Skipped(SkippedFile),
    Chunked(Box<ChunkedDocument>),
}

#[derive(Debug)]
pub(super) struct SkippedFile {
    pub skipped: SkippedSource,
    pub bytes: u64,
    /// Whether an older version in the store is out of date and has to go: the file is readable and no
    /// longer holds text. A file that merely cannot be read now keeps its older version.
    pub replaces: bool,
}

/// Reads, hashes and, where the bytes are new, extracts, tokenizes and chunks one file. Heavy on the
/// CPU: for a blocking pool.
pub(super) fn read_file(
    pipeline: &Pipeline,
    file: &FoundFile,
    limits: &Limits,
) -> Result<ReadFile, IngestError> {
    let _span = debug_span!("read_file", bytes = file.bytes).entered();
    let source = Source::File(file.path.clone());
    let bytes = match read_bytes(file, limits.file_bytes_max) {
        Ok(bytes) => bytes,
        Err(error) => {
            let skipped = SkippedSource { source, reason: scan::reason(&error), stamp: None };
            return Ok(ReadFile::Skipped(SkippedFile {
                skipped,
                bytes: file.bytes,
                replaces: false,
            }));
        }
    };
    let content_hash = ContentHash::of(&bytes);
    if pipeline.store().fingerprint(&source)? == Some(content_hash) {
        return Ok(ReadFile::Unchanged { bytes: file.bytes });
    }
    match extract::read_document(source.clone(), bytes, file.modified) {
        Ok(document) => Ok(ReadFile::Chunked(Box::new(pipeline.chunk(document)?))),
        Err(unreadable) => {
            let stamp = FileStamp {
                bytes: file.bytes,
                modified: file.modified,
                content_hash: Some(content_hash),
            };
            let skipped =
                SkippedSource { source, reason: unreadable.to_string(), stamp: Some(stamp) };
            Ok(ReadFile::Skipped(SkippedFile { skipped, bytes: file.bytes, replaces: true }))
        }
    }
}

/// A file may grow between the scan and now; no more than the limit is read.
fn read_bytes(file: &FoundFile, bytes_max: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(file.bytes as usize);
    File::open(&file.path)?.take(bytes_max + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > bytes_max {
        return Err(io::Error::other(format!("it grew over the limit of {} MB", bytes_max >> 20)));
    }
    Ok(bytes)
}
