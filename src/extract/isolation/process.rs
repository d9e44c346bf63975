use std::io::{self, BufReader, Read};
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SendError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use super::frame::{self, HELLO, Request};
use super::server::READER_ARGUMENT;
use super::{Extracted, ReaderLimits, Unreadable};
use crate::platform;

/// The program is on its feet in a tenth of a second; on a machine that swaps it may take longer.
const START_MAX: Duration = Duration::from_secs(20);

/// What a dying reader says at last, as much as is kept of it.
const LAST_WORDS_BYTES: usize = 4 << 10;

/// What the standard library writes when memory runs out and the process aborts.
const OUT_OF_MEMORY: &str = "memory allocation of";

const STACK_OVERFLOW: &str = "has overflowed its stack";

type Reply = io::Result<Result<Extracted, Unreadable>>;

/// A reader process that runs; killed when dropped.
#[derive(Debug)]
pub(super) struct Reader {
    child: Child,
    requests: SyncSender<(Request, u64)>,
    replies: Receiver<Reply>,
    last_words: Arc<Mutex<Vec<u8>>>,
    is_usable: bool,
}

impl Reader {
    /// # Errors
    /// When the program cannot be started or is none that reads.
    pub(super) fn start(program: &Path, limits: &ReaderLimits) -> Result<Self, Unreadable> {
        let no_reader = |why: String| Unreadable::NoReader { why };
        let mut command = Command::new(program);
        command
            .arg(READER_ARGUMENT)
            .arg(limits.memory_bytes_max.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        platform::without_window(&mut command);
        let mut child = command
            .spawn()
            .map_err(|error| no_reader(format!("{} does not start: {error}", program.display())))?;
        let (Some(stdin), Some(stdout), Some(stderr)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(no_reader("it has no standard streams".to_owned()));
        };
        // Without room to wait in: a request is either taken or comes back.
        let (requests, to_do) = sync_channel::<(Request, u64)>(0);
        let (done, replies) = sync_channel(1);
        let (greeting, greeted) = sync_channel(1);
        let idle_max = limits.idle_max;
        let talk = move || {
            let (mut to, mut from) = (stdin, BufReader::new(stdout));
            let hello = frame::read::<String>(&mut from);
            if greeting.send(hello).is_err() {
                return;
            }
            // Without work for a while, or without anyone to give it: its input closes, and it ends.
            while let Ok((request, time_max_ms)) = to_do.recv_timeout(idle_max) {
                let reply =
                    request.write(&mut to, time_max_ms).and_then(|()| frame::read_reply(&mut from));
                let is_over = reply.is_err();
                if done.send(reply).is_err() || is_over {
                    return;
                }
            }
        };
        let last_words = Arc::default();
        let reader = Self { child, requests, replies, last_words, is_usable: true };
        // From here on an early return kills the process.
        spawn("reader-pipe", talk).map_err(|error| no_reader(error.to_string()))?;
        let heard = Arc::clone(&reader.last_words);
        spawn("reader-stderr", move || listen(stderr, &heard))
            .map_err(|error| no_reader(error.to_string()))?;
        match greeted.recv_timeout(START_MAX) {
            Ok(Ok(Some((hello, _)))) if hello == HELLO => Ok(reader),
            Ok(Ok(Some((trouble, _)))) => Err(no_reader(trouble)),
            Ok(_) => Err(no_reader(format!("{} does not read files", program.display()))),
            Err(_) => Err(no_reader(format!("{} does not answer", program.display()))),
        }
    }

    /// Whether its process runs.
    pub(super) fn is_alive(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Whether it may be asked again: not after it has died or was too slow.
    pub(super) fn is_usable(&self) -> bool {
        self.is_usable
    }

    /// What it says of the file, or what became of it.
    ///
    /// # Errors
    /// With the request, when it has just given up waiting for one.
    pub(super) fn read(
        &mut self,
        request: Request,
        limits: &ReaderLimits,
    ) -> Result<Result<Extracted, Unreadable>, Request> {
        let name = request.name.clone();
        let time_max_ms = limits.time_max.as_millis() as u64;
        if let Err(SendError((request, _))) = self.requests.send((request, time_max_ms)) {
            self.is_usable = false;
            return Err(request);
        }
        let reply = self.replies.recv_timeout(limits.time_max);
        if let Ok(Ok(read)) = reply {
            return Ok(read);
        }
        self.is_usable = false;
        let is_late = matches!(reply, Err(RecvTimeoutError::Timeout));
        // An error means that it has ended by itself.
        let _ = self.child.kill();
        let status = self.child.wait();
        let last_words = self.last_words();
        tracing::warn!(name, ?status, is_late, last_words, "a reader process was lost");
        let trouble = if is_late {
            Unreadable::TooSlow { seconds_max: limits.time_max.as_secs() }
        } else if last_words.contains(OUT_OF_MEMORY) {
            Unreadable::TooMuchMemory { mb_max: limits.memory_bytes_max >> 20 }
        } else if last_words.contains(STACK_OVERFLOW) {
            Unreadable::ReaderCrashed { how: "it nests too deeply".to_owned() }
        } else {
            let how = status.map_or_else(|error| error.to_string(), |status| status.to_string());
            Unreadable::ReaderCrashed { how }
        };
        Ok(Err(trouble))
    }

    fn last_words(&self) -> String {
        let heard = self.last_words.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&heard).into_owned()
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    thread::Builder::new().name(name.to_owned()).spawn(work).map(drop)
}

/// Keeps the end of what a reader writes about its troubles.
fn listen(mut stderr: ChildStderr, heard: &Mutex<Vec<u8>>) {
    let mut buffer = [0; 1024];
    while let Ok(count @ 1..) = stderr.read(&mut buffer) {
        let mut heard = heard.lock().unwrap_or_else(PoisonError::into_inner);
        heard.extend_from_slice(&buffer[..count]);
        let surplus = heard.len().saturating_sub(LAST_WORDS_BYTES);
        heard.drain(..surplus);
    }
}
