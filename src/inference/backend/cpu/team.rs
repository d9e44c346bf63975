//! Threads that work on one thing at a time together with the one that asks.
//!
//! A forward pass is thirty products of a few hundred microseconds each with a meeting after every one,
//! so a worker that has nothing to do watches for the next part for a moment before it sleeps.

use std::any::Any;
use std::cell::UnsafeCell;
use std::fmt;
use std::hint::spin_loop;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use super::kernel::{Kernel, Queue, Task};

/// Looks of a worker at an empty table before it sleeps: some 50 µs. In tests it mostly sleeps.
const LOOKS: usize = if cfg!(test) { 10 } else { 1_000 };

/// Looks of the one who waits for the last worker before it lets others have the core.
const LOOKS_BEFORE_YIELD: usize = 10_000;

/// As many threads as were asked for, the caller's among them.
pub(super) struct Team {
    table: Arc<Table>,
    workers: Vec<JoinHandle<()>>,
}

type Work<'a> = &'a (dyn Fn(usize) + Sync);

/// Where the caller lays the work of a round.
struct Table {
    /// Valid while a round is on.
    work: UnsafeCell<Option<Work<'static>>>,
    round: AtomicUsize,
    /// Workers that have not finished the round.
    busy: AtomicUsize,
    over: AtomicBool,
    panic: Mutex<Option<Box<dyn Any + Send>>>,
}

// SAFETY: `work` is written by the caller alone, between rounds, and read by workers within one; `round`
// and `busy` order the two.
unsafe impl Sync for Table {}

impl Team {
    /// # Errors
    /// When the system refuses the threads.
    pub fn new(threads: usize) -> std::io::Result<Self> {
        let table = Arc::new(Table {
            work: UnsafeCell::new(None),
            round: AtomicUsize::new(0),
            busy: AtomicUsize::new(0),
            over: AtomicBool::new(false),
            panic: Mutex::new(None),
        });
        let mut team = Self { table, workers: Vec::new() };
        for worker in 1..threads.max(1) {
            let table = Arc::clone(&team.table);
            let named = thread::Builder::new().name(format!("cpu-{worker}"));
            team.workers.push(named.spawn(move || table.work_until_over(worker))?);
        }
        Ok(team)
    }

    pub fn threads(&self) -> usize {
        self.workers.len() + 1
    }

    /// Runs all parts of a task, and returns when they are done.
    ///
    /// # Safety
    /// The processor has [`Kernel::SIMD`], and the parts touch nothing of each other's.
    pub unsafe fn run<K: Kernel, T: Task<K>>(&mut self, task: &T, parts: usize) {
        let queue = Queue::new(parts);
        // SAFETY: said by the caller; every thread has a number of its own.
        let work = |worker| unsafe { K::enter(task, &queue, worker) };
        if parts <= 1 { work(0) } else { self.together(&work) }
    }

    fn together(&mut self, work: Work<'_>) {
        if self.workers.is_empty() {
            return work(0);
        }
        let table = &*self.table;
        // SAFETY: workers use it in this round alone, and the round ends before this function does,
        // whether `work` panics or not. `&mut self` keeps a second round away.
        unsafe { *table.work.get() = Some(std::mem::transmute::<Work<'_>, Work<'static>>(work)) };
        table.busy.store(self.workers.len(), Ordering::Relaxed);
        table.round.fetch_add(1, Ordering::Release);
        for worker in &self.workers {
            worker.thread().unpark();
        }
        let mine = catch_unwind(AssertUnwindSafe(|| work(0)));
        let mut looks = 0;
        while table.busy.load(Ordering::Acquire) > 0 {
            looks += 1;
            if looks % LOOKS_BEFORE_YIELD == 0 { thread::yield_now() } else { spin_loop() }
        }
        let theirs = table.panic.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(panic) = mine.err().or(theirs) {
            resume_unwind(panic);
        }
    }
}

impl Table {
    fn work_until_over(&self, worker: usize) {
        let mut round = 0;
        loop {
            self.wait_for_round_after(round);
            round = round.wrapping_add(1);
            if self.over.load(Ordering::Acquire) {
                return;
            }
            // SAFETY: a round is on until `busy` says that this worker is done.
            if let Some(work) = unsafe { *self.work.get() }
                && let Err(panic) = catch_unwind(AssertUnwindSafe(|| work(worker)))
            {
                *self.panic.lock().unwrap_or_else(PoisonError::into_inner) = Some(panic);
            }
            self.busy.fetch_sub(1, Ordering::Release);
        }
    }

    fn wait_for_round_after(&self, round: usize) {
        for _ in 0..LOOKS {
            if self.round.load(Ordering::Acquire) != round {
                return;
            }
            spin_loop();
        }
        while self.round.load(Ordering::Acquire) == round {
            thread::park();
        }
    }
}

impl Drop for Team {
    fn drop(&mut self) {
        self.table.over.store(true, Ordering::Release);
        self.table.round.fetch_add(1, Ordering::Release);
        for worker in self.workers.drain(..) {
            worker.thread().unpark();
            // What a worker panicked with was given to the caller.
            drop(worker.join());
        }
    }
}

impl fmt::Debug for Team {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Team").field(&self.threads()).finish()
    }
}

#[cfg(test)]
mod tests;
