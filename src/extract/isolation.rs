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

use tracing::debug_span;
use url::Url;

use super::container::Container;
use super::page::read as read_page;
use super::{Origin, PageHints, ReadPage, Unreadable, caught, extract, format};
use crate::data::{Document, Source};
use crate::platform;
use frame::{PageRequest, Read, Request};
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
        let _span = debug_span!("extract", bytes = bytes.len()).entered();
        let origin = Origin::of(&source, &bytes);
        let is_apart = Container::detect(&bytes, &origin.name).is_some()
            || format::may_be_page(&origin.name, origin.from_web, &bytes);
        let extracted = if is_apart {
            let (name, from_web) = (origin.name.clone(), origin.from_web);
            self.ask(Request { name, from_web, page: None, bytes }).extracted?
        } else {
            extract(&origin.name, origin.from_web, bytes)?
        };
        Ok(origin.document(source, extracted, modified))
    }

    /// Reads a page of the web, or another file that a server gave; waits for it as
    /// [`Self::read_document`] does. HTML is parsed in the reader process, its links with it.
    ///
    /// `modified` is in seconds since the Unix epoch and is passed on.
    pub fn read_page(
        &self,
        url: Url,
        body: Vec<u8>,
        hints: PageHints,
        modified: Option<i64>,
    ) -> ReadPage {
        let _span = debug_span!("extract", bytes = body.len()).entered();
        let source = Source::Web(url.clone());
        let origin = Origin::of(&source, &body);
        let is_apart = hints.is_html()
            || hints.container(&origin.name, &body).is_some()
            || format::may_be_page(&origin.name, true, &body);
        let Read { head, extracted } = if is_apart {
            let page = Some(Box::new(PageRequest { url, hints }));
            let name = origin.name.clone();
            self.ask(Request { name, from_web: true, page, bytes: body })
        } else {
            let (head, extracted) = read_page(&url, &origin.name, body, &hints);
            Read { head, extracted }
        };
        let document = extracted.map(|extracted| origin.document(source, extracted, modified));
        ReadPage { head, document }
    }

    fn ask(&self, mut request: Request) -> Read {
        loop {
            let mut reader = match self.reader() {
                Ok(reader) => reader,
                Err(no_reader) => return Err(no_reader).into(),
            };
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
