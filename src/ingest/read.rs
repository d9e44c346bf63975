use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use tracing::debug_span;

use super::{IngestError, Pipeline, scan};
use crate::config::Limits;
use crate::data::{ChunkedDocument, ContentHash, Source};
use crate::platform;
use crate::storage::{FileStamp, QueuedFile, SkippedSource};

/// The generation of the readers. A higher one makes every start read once more what those of the one
/// before have read, or could not read.
pub(super) const READERS: i64 = 2;

/// What became of one file, before embedding.
#[derive(Debug)]
pub(super) enum ReadFile {
    /// The stored version was made from the same bytes.
    Unchanged,
    /// It went since it was found: deleted, or its disk was unplugged.
    Gone,
    Skipped(SkippedFile),
    Chunked(Box<ChunkedDocument>),
}

#[derive(Debug)]
pub(super) struct SkippedFile {
    pub skipped: SkippedSource,
    /// Whether an older version in the store is out of date and has to go: the file is readable and no
    /// longer holds text. A file that merely cannot be read now keeps its older version.
    pub replaces: bool,
}

/// A source with trouble that may pass by itself.
pub(super) fn passing(path: PathBuf, reason: String) -> SkippedSource {
    SkippedSource { source: Source::File(path), reason, stamp: None, attempts: 0 }
}

/// Reads, hashes and, where the bytes are new, extracts, tokenizes and chunks one file. Heavy on the
/// CPU: for a blocking pool.
pub(super) fn read_file(
    pipeline: &Pipeline,
    path: &Path,
    file: &QueuedFile,
    limits: &Limits,
) -> Result<ReadFile, IngestError> {
    let _span = debug_span!("read_file", path = %path.display(), bytes = file.bytes).entered();
    let _low = platform::BackgroundIo::begin();
    let source = file.source.clone();
    let bytes = match read_bytes(path, file.bytes, limits.file_bytes_max) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(ReadFile::Gone),
        Err(error) => {
            let skipped = passing(path.to_owned(), scan::reason(&error));
            return Ok(ReadFile::Skipped(SkippedFile { skipped, replaces: false }));
        }
    };
    let content_hash = {
        let _span = debug_span!("hash", bytes = bytes.len()).entered();
        ContentHash::of(&bytes)
    };
    if pipeline.store().holds(&source, content_hash, READERS)? {
        return Ok(ReadFile::Unchanged);
    }
    match pipeline.readers().read_document(source.clone(), bytes, file.modified) {
        Ok(document) => Ok(ReadFile::Chunked(Box::new(pipeline.chunk(document)?))),
        Err(trouble) if !trouble.is_of_the_file() => {
            let reason = trouble.to_string();
            let skipped = SkippedSource { source, reason, stamp: None, attempts: 0 };
            Ok(ReadFile::Skipped(SkippedFile { skipped, replaces: false }))
        }
        Err(unreadable) => {
            let (bytes, modified) = (file.bytes, file.modified);
            let stamp = Some(FileStamp { bytes, modified, content_hash: Some(content_hash) });
            let reason = unreadable.to_string();
            let skipped = SkippedSource { source, reason, stamp, attempts: 0 };
            Ok(ReadFile::Skipped(SkippedFile { skipped, replaces: true }))
        }
    }
}

/// A file may grow between the scan and now; no more than the limit is read.
fn read_bytes(path: &Path, bytes: u64, bytes_max: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::with_capacity(bytes.min(bytes_max) as usize);
    File::open(path)?.take(bytes_max + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > bytes_max {
        return Err(io::Error::other(format!("it grew over the limit of {} MB", bytes_max >> 20)));
    }
    Ok(bytes)
}

#[cfg(test)]
pub(super) mod tests {
    use std::fs;
    use std::sync::Arc;

    use super::*;
    use crate::chunking::ChunkSize;
    use crate::config::ModelFiles;
    use crate::gpu::{SchedulerOptions, SerialScheduler};
    use crate::inference::EmbeddingModel;
    use crate::ingest::PipelineModel;
    use crate::storage::{self, Store};

    pub fn pipeline(data_dir: &Path, limits: Limits) -> Pipeline {
        let model = EmbeddingModel::open(&ModelFiles::Bundled).unwrap();
        Pipeline::new(
            Arc::new(Store::open(data_dir).unwrap()),
            Arc::new(SerialScheduler::start(&SchedulerOptions::default()).unwrap()),
            PipelineModel {
                id: model.id(),
                tokenizer: Arc::clone(&model.tokenizer),
                chunk_size: ChunkSize { tokens_max: 254, overlap: 0 },
                context_tokens_max: 32,
                stored: storage::EmbeddingModel { name: "bundled".to_owned(), dim: 384 },
            },
            (data_dir.to_owned(), limits),
        )
    }

    /// Reads a file as the scan saw it, after `change` was done to it.
    fn read_after(change: impl FnOnce(&Path), limits: &Limits) -> ReadFile {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("note.txt");
        fs::write(&path, "a note").unwrap();
        change(&path);
        let file = QueuedFile {
            source: Source::File(path.clone()),
            bytes: 6,
            modified: None,
            stamp: None,
            place: 0,
            attempts: 0,
            generation: 0,
        };
        let pipeline = pipeline(&dir.path().join("data"), limits.clone());
        read_file(&pipeline, &path, &file, limits).unwrap()
    }

    fn check_skipped(read: ReadFile, reason: &str, replaces: bool) {
        let ReadFile::Skipped(file) = read else { panic!("{read:?}") };
        assert!(file.skipped.reason.contains(reason), "{}", file.skipped.reason);
        assert_eq!(file.replaces, replaces);
    }

    #[test]
    fn a_file_may_change_between_the_scan_and_now() {
        let read = read_after(|_| (), &Limits::default());
        assert!(matches!(&read, ReadFile::Chunked(chunked) if chunked.chunks.len() == 1));
        let read = read_after(|path| fs::remove_file(path).unwrap(), &Limits::default());
        assert!(matches!(read, ReadFile::Gone), "{read:?}");
        let small = Limits { file_bytes_max: 8, ..Limits::default() };
        let read = read_after(|path| fs::write(path, "it has grown").unwrap(), &small);
        check_skipped(read, "grew over the limit", false);
        let read = read_after(|path| fs::write(path, "\0\x01\x02\0").unwrap(), &Limits::default());
        check_skipped(read, "binary", true);
    }
}
