use std::cell::Cell;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};

use crate::platform;

/// Threads that run futures; whatever computes goes to the blocking pool.
const WORKERS: usize = 2;

/// How long the workers may take to begin before others get threads as well.
const BEGINNING: Duration = Duration::from_secs(1);

/// For whom a runtime works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Whoever waits for an answer.
    Answers,
    /// Jobs, whose computing threads give way to all others.
    Jobs,
}

/// A runtime whose threads are named by what they do, so that a trace shows work that runs where it
/// should not.
pub(super) fn start(purpose: Purpose) -> io::Result<Runtime> {
    let started = AtomicUsize::new(0);
    let (futures, blocking) = match purpose {
        Purpose::Answers => ("lodestone-async", "lodestone-blocking"),
        Purpose::Jobs => ("lodestone-async-job", "lodestone-blocking-job"),
    };
    // The workers are the first threads that tokio starts.
    let name = move || match started.fetch_add(1, Ordering::Relaxed) {
        at if at < WORKERS => format!("{futures}-{at}"),
        at => format!("{blocking}-{}", at - WORKERS),
    };
    let (begun, workers_begun) = mpsc::sync_channel(WORKERS);
    let runtime = Builder::new_multi_thread()
        .worker_threads(WORKERS)
        .thread_name_fn(name)
        .on_thread_start(move || {
            // What computes, and not what reports and cancels.
            let thread = std::thread::current();
            let computes = thread.name().is_some_and(|name| name.starts_with(blocking));
            if purpose == Purpose::Jobs && computes {
                platform::lower_thread_priority();
            }
        })
        .on_thread_park(move || {
            thread_local! {
                static HAS_BEGUN: Cell<bool> = const { Cell::new(false) };
            }
            if !HAS_BEGUN.replace(true) {
                // Full only when a worker was replaced, long after the beginning.
                let _ = begun.try_send(());
            }
        })
        .enable_all()
        .build()?;
    // A worker is a task of the blocking pool like any other: had the pool something else to do before
    // both run, a thread named for the one could be given the other.
    for _ in 0..WORKERS {
        if workers_begun.recv_timeout(BEGINNING).is_err() {
            break;
        }
    }
    Ok(runtime)
}
