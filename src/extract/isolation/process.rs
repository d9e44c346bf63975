use std::io::{self, BufReader, Read as _};
use std::path::Path;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SendError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::frame::{self, HELLO, Read, Request};
use super::server::READER_ARGUMENT;
use super::{ReaderLimits, Unreadable};
use crate::platform;

/// The program is on its feet in a tenth of a second; on a machine that swaps it may take longer.
const START_MAX: Duration = Duration::from_secs(20);

/// What a dying reader says at last, as much as is kept of it.
const LAST_WORDS_BYTES: usize = 4 << 10;

/// What the standard library writes when memory runs out and the process aborts.
const OUT_OF_MEMORY: &str = "memory allocation of";

const STACK_OVERFLOW: &str = "has overflowed its stack";

type Reply = io::Result<Read>;

/// A reader process that runs; killed when dropped.
#[derive(Debug)]
pub(super) struct Reader {
    child: Arc<Mutex<Child>>,
    requests: SyncSender<(Request, u64)>,
    replies: Receiver<Reply>,
    last_words: Arc<Mutex<Vec<u8>>>,
    /// Ends when the process has said all that it will.
    listener: Option<JoinHandle<()>>,
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
        let child = Arc::new(Mutex::new(child));
        let last_words = Arc::default();
        let talks_to = Arc::clone(&child);
        let listener = None;
        let mut reader = Self { child, requests, replies, last_words, listener, is_usable: true };
        // From here on an early return kills the process.
        let idle_max = limits.idle_max;
        let talk = move || {
            let channels = Channels { greeting, to_do, done };
            channels.talk(stdin, BufReader::new(stdout), idle_max);
            // Who asks no more may never look at it again, and it would stay as a zombie.
            let _ = end(&talks_to);
        };
        spawn("reader-pipe", talk).map_err(|error| no_reader(error.to_string()))?;
        let heard = Arc::clone(&reader.last_words);
        let listener = spawn("reader-stderr", move || listen(stderr, &heard))
            .map_err(|error| no_reader(error.to_string()))?;
        reader.listener = Some(listener);
        match greeted.recv_timeout(START_MAX) {
            Ok(Ok(Some(hello))) if hello == HELLO => Ok(reader),
            Ok(Ok(Some(trouble))) => Err(no_reader(trouble)),
            Ok(_) => Err(no_reader(format!("{} does not read files", program.display()))),
            Err(_) => Err(no_reader(format!("{} does not answer", program.display()))),
        }
    }

    /// Whether its process runs.
    pub(super) fn is_alive(&mut self) -> bool {
        matches!(locked(&self.child).try_wait(), Ok(None))
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
    ) -> Result<Read, Request> {
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
        let status = end(&self.child);
        if let Some(listener) = self.listener.take() {
            // What it said last may still be in the pipe.
            let _ = listener.join();
        }
        let last_words = String::from_utf8_lossy(&locked(&self.last_words)).into_owned();
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
        Ok(Err(trouble).into())
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        let _ = end(&self.child);
    }
}

/// The ends of the channels that the thread holds which talks to the process.
struct Channels {
    greeting: SyncSender<io::Result<Option<String>>>,
    to_do: Receiver<(Request, u64)>,
    done: SyncSender<Reply>,
}

impl Channels {
    /// Hands over requests and replies until one goes wrong, or there is none for a while, or no one to
    /// give any.
    fn talk(self, mut to: ChildStdin, mut from: BufReader<ChildStdout>, idle_max: Duration) {
        let hello = frame::read(&mut from).map(|frame| frame.map(|(hello, _)| hello));
        if self.greeting.send(hello).is_err() {
            return;
        }
        while let Ok((request, time_max_ms)) = self.to_do.recv_timeout(idle_max) {
            let reply =
                request.write(&mut to, time_max_ms).and_then(|()| frame::read_reply(&mut from));
            let is_over = reply.is_err();
            if self.done.send(reply).is_err() || is_over {
                return;
            }
        }
    }
}

/// How a process ended, which it does here unless it has by itself.
fn end(child: &Mutex<Child>) -> io::Result<ExitStatus> {
    let mut child = locked(child);
    // An error means that it has ended by itself.
    let _ = child.kill();
    child.wait()
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<JoinHandle<()>> {
    thread::Builder::new().name(name.to_owned()).spawn(work)
}

/// Keeps the end of what a reader writes about its troubles.
fn listen(mut stderr: ChildStderr, heard: &Mutex<Vec<u8>>) {
    let mut buffer = [0; 1024];
    while let Ok(count @ 1..) = stderr.read(&mut buffer) {
        let mut heard = locked(heard);
        heard.extend_from_slice(&buffer[..count]);
        let surplus = heard.len().saturating_sub(LAST_WORDS_BYTES);
        heard.drain(..surplus);
    }
}
