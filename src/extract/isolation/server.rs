use std::io::{self, BufReader};
use std::process::ExitCode;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use super::frame::{self, HELLO, PageRequest, Read, Request};
use super::{caught, extract, read_page};
use crate::platform;

/// The first argument of a program that is started to read files; the memory it may use in bytes is
/// the second.
pub const READER_ARGUMENT: &str = "--read-files-for-lodestone";

/// Parsers recurse; the stack of a program's first thread differs from system to system.
const STACK_BYTES: usize = 16 << 20;

/// How much longer than the one who asked a reader waits before it ends itself. He kills it in time;
/// but he may be gone, and nobody is to find a process that runs forever.
const ORPHAN_GRACE: Duration = Duration::from_secs(10);

/// Reads files that are handed over on standard input until it closes. `memory_bytes_max` is what the
/// program was given as its second argument.
///
/// To be called before the program has done anything else: it limits its own memory.
#[must_use]
pub fn serve(memory_bytes_max: Option<&str>) -> ExitCode {
    let trouble = match memory_bytes_max.and_then(|bytes| bytes.parse().ok()) {
        Some(bytes) => platform::limit_memory(bytes).err().map(|error| error.to_string()),
        None => Some("it was not told how much memory it may use".to_owned()),
    };
    let is_limited = trouble.is_none();
    let hello = trouble.unwrap_or_else(|| HELLO.to_owned());
    let is_heard = frame::write(&mut io::stdout().lock(), &hello, &[]).is_ok();
    if !is_limited || !is_heard {
        return ExitCode::FAILURE;
    }
    let worker = thread::Builder::new().stack_size(STACK_BYTES).spawn(answer_all);
    match worker.map(thread::JoinHandle::join) {
        Ok(Ok(Ok(()))) => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}

fn answer_all() -> io::Result<()> {
    let mut from = BufReader::new(io::stdin().lock());
    while let Some((request, time_max_ms)) = Request::read(&mut from)? {
        let _watch = watch(Duration::from_millis(time_max_ms) + ORPHAN_GRACE)?;
        let read = || {
            #[cfg(debug_assertions)]
            misbehave(&request.name);
            Ok(match request.page {
                None => extract(&request.name, request.from_web, request.bytes).into(),
                Some(page) => {
                    let PageRequest { url, hints } = *page;
                    let (head, extracted) = read_page(&url, &request.name, request.bytes, &hints);
                    Read { head, extracted }
                }
            })
        };
        let read = caught(read).unwrap_or_else(|panicked| Err(panicked).into());
        frame::write_reply(&mut io::stdout().lock(), read)?;
    }
    Ok(())
}

/// Ends the process unless the result is dropped in time.
fn watch(limit: Duration) -> io::Result<mpsc::Sender<()>> {
    let (alive, watched) = mpsc::channel::<()>();
    thread::Builder::new().spawn(move || {
        if watched.recv_timeout(limit) == Err(RecvTimeoutError::Timeout) {
            std::process::abort();
        }
    })?;
    Ok(alive)
}

/// What a parser may do to its process, for tests: asked for by the name of the file, and in programs
/// built for tests alone.
#[cfg(debug_assertions)]
fn misbehave(name: &str) {
    match name {
        "hang.lodestone-test" => loop {
            thread::park();
        },
        "abort.lodestone-test" => std::process::abort(),
        "panic.lodestone-test" => panic!("the parser gave up"),
        "memory.lodestone-test" => {
            let mut held: Vec<Vec<u8>> = Vec::new();
            loop {
                held.push(vec![1; 1 << 20]);
            }
        }
        "stack.lodestone-test" => {
            #[expect(unconditional_recursion, reason = "the stack is to end")]
            fn deeper(level: u64) -> u64 {
                std::hint::black_box([level; 64]).iter().sum::<u64>() + deeper(level + 1)
            }
            std::hint::black_box(deeper(0));
        }
        _ => {}
    }
}
