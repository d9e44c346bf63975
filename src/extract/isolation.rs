//! Parsers of binary formats and of web pages, in processes of their own.
//!
//! Such a parser may crash, hang or take all memory over one strange file. Here that costs the file and
//! nothing else: the program starts itself as a reader ([`serve`]), hands it the bytes, and kills it when
//! it takes too long. A reader that ends well is asked again; one that has nothing to do for a while
//! goes.
//!
//! Nothing is ever parsed in this process instead: where no reader can be started, each such file says
//! so ([`Unreadable::NoReader`]).

mod frame;
mod limits;
mod process;
mod server;

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use super::container::Container;
use super::{Extracted, Origin, Unreadable, caught, extract, format};
use crate::data::{Document, Source};
use crate::platform;
use frame::Request;
pub use limits::ReaderLimits;
use process::Reader;
pub use server::{READER_ARGUMENT, serve};

/// Reads files and pages, what is not plain text in a process of its own. Any number of threads may use it
/// at once; there are as many processes as files are read at the same time.
#[derive(Debug)]
pub struct Readers {
    program: PathBuf,
    limits: ReaderLimits,
    idle: Mutex<Vec<Reader>>,
}

impl Readers {
    /// `program` is one that calls [`serve`] when its first argument is [`READER_ARGUMENT`]; without
    /// it the running one is taken.
    #[must_use]
    pub fn new(program: Option<PathBuf>, limits: ReaderLimits) -> Self {
        let program = program.unwrap_or_else(platform::own_program);
        Self { program, limits, idle: Mutex::default() }
    }

    /// Reads a file or page; waits for it, at most as long as the limits say.
    ///
    /// `modified` is in seconds since the Unix epoch and is passed on.
    ///
    /// # Errors
    /// When there is no text to search, with the reason; also when the file breaks the parser or the
    /// limits, and when no process can be started.
    pub fn read_document(
        &self,
        source: Source,
        bytes: Vec<u8>,
        modified: Option<i64>,
    ) -> Result<Document, Unreadable> {
        let origin = Origin::of(&source, &bytes);
        let is_apart = Container::detect(&bytes, &origin.name).is_some()
            || format::may_be_page(&origin.name, origin.from_web, &bytes);
        let extracted = if is_apart {
            self.read_apart(Request {
                name: origin.name.clone(),
                from_web: origin.from_web,
                bytes,
            })?
        } else {
            extract(&origin.name, origin.from_web, bytes)?
        };
        Ok(origin.document(source, extracted, modified))
    }

    fn read_apart(&self, mut request: Request) -> Result<Extracted, Unreadable> {
        loop {
            let mut reader = self.reader()?;
            let read = reader.read(request, &self.limits);
            if reader.is_usable() {
                self.idle().push(reader);
            }
            match read {
                Ok(read) => return read,
                Err(not_taken) => request = not_taken,
            }
        }
    }

    /// One that waits for work, else a new one.
    fn reader(&self) -> Result<Reader, Unreadable> {
        loop {
            let idle = self.idle().pop();
            match idle {
                Some(mut reader) => {
                    if reader.is_alive() {
                        return Ok(reader);
                    }
                }
                None => return Reader::start(&self.program, &self.limits),
            }
        }
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<Reader>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
