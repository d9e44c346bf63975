use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::runtime::{Builder, Runtime};

/// Threads that run futures; whatever computes goes to the blocking pool.
const WORKERS: usize = 2;

/// The engine's runtime, whose threads are named by what they do, so that a trace shows work that runs
/// where it should not.
pub(super) fn start() -> io::Result<Runtime> {
    let started = AtomicUsize::new(0);
    // The workers are the first threads that tokio starts.
    let name = move || match started.fetch_add(1, Ordering::Relaxed) {
        at if at < WORKERS => format!("lodestone-async-{at}"),
        at => format!("lodestone-blocking-{}", at - WORKERS),
    };
    Builder::new_multi_thread().worker_threads(WORKERS).thread_name_fn(name).enable_all().build()
}
