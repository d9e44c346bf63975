//! The thread that looks after a vector index while searches and updates go on.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use tracing::{info, warn};

use crate::index::{HnswIndex, Upkeep};

/// How often whoever waits for upkeep asks whether it is to stop.
const PATIENCE: Duration = Duration::from_millis(50);

/// A process that answers one query and ends leaves upkeep to those that live for longer than this.
const STAYING: Duration = Duration::from_secs(2);

/// Runs the upkeep of one index, at most once at a time, and stops it when it is dropped.
#[derive(Debug)]
pub(super) struct Keeper {
    cancel: Arc<AtomicBool>,
    /// Set when upkeep failed: it would fail again, and the next start tries anew.
    gave_up: Arc<AtomicBool>,
    opened: Instant,
    running: Mutex<Option<JoinHandle<()>>>,
}

impl Keeper {
    pub fn new() -> Self {
        Self {
            cancel: Arc::default(),
            gave_up: Arc::default(),
            opened: Instant::now(),
            running: Mutex::default(),
        }
    }

    /// Begins what is due, if it has not begun and this process stays.
    pub fn nudge(&self, index: &Arc<HnswIndex>) {
        if self.opened.elapsed() >= STAYING {
            self.begin(index);
        }
    }

    fn begin(&self, index: &Arc<HnswIndex>) {
        let mut running = self.running();
        let is_busy = running.as_ref().is_some_and(|thread| !thread.is_finished());
        if is_busy || self.gave_up.load(Ordering::Relaxed) || !index.needs_upkeep() {
            return;
        }
        self.cancel.store(false, Ordering::Relaxed);
        let (index, cancel) = (Arc::clone(index), Arc::clone(&self.cancel));
        let gave_up = Arc::clone(&self.gave_up);
        let body = move || {
            if !run(&index, &cancel) {
                gave_up.store(true, Ordering::Relaxed);
            }
        };
        match thread::Builder::new().name("vector-index".to_owned()).spawn(body) {
            Ok(thread) => *running = Some(thread),
            Err(error) => warn!(%error, "no thread for the vector index; it is scanned"),
        }
    }

    /// Waits until nothing is due any more, or until `is_cancelled`.
    pub fn settle(&self, index: &Arc<HnswIndex>, is_cancelled: &dyn Fn() -> bool) {
        loop {
            self.begin(index);
            let Some(thread) = self.running().take() else { return };
            while !thread.is_finished() {
                if is_cancelled() {
                    self.cancel.store(true, Ordering::Relaxed);
                }
                thread::park_timeout(PATIENCE);
            }
            // A panic was reported by the thread itself.
            if thread.join().is_err() || is_cancelled() {
                return;
            }
        }
    }

    fn running(&self) -> MutexGuard<'_, Option<JoinHandle<()>>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Keeper {
    /// Waits for what is in hand, so that nothing is written once the index is gone.
    fn drop(&mut self) {
        self.cancel.store(true, Ordering::Relaxed);
        let thread = self.running().take();
        if let Some(thread) = thread {
            // A panic was reported by the thread itself.
            let _ = thread.join();
        }
    }
}

/// Whether there may be more to do later.
fn run(index: &HnswIndex, cancel: &AtomicBool) -> bool {
    loop {
        match index.upkeep(&|| cancel.load(Ordering::Relaxed)) {
            Ok(Upkeep::Made { passages }) => info!(passages, "the vector index was made"),
            Ok(Upkeep::Dropped) => info!("the vector index is small enough to be scanned"),
            // Whoever is at it may fail, and then it begins here a second later.
            Ok(Upkeep::Nothing | Upkeep::Cancelled | Upkeep::Busy) => return true,
            Err(error) => {
                warn!("{error}");
                return false;
            }
        }
    }
}
