//! Threads that work on one thing at a time together with the one that asks.
//!
//! A forward pass is thirty products of a few hundred microseconds each with a meeting after every one,
//! so a worker that has nothing to do watches for the next part for a moment before it sleeps. Parts are taken
//! by whoever is there: a round does not wait for a worker that the system gives no core, and where one is without
//! a core in the middle of a part, the next rounds do without it ([`Width`]).

mod width;

use std::any::Any;
use std::cell::UnsafeCell;
use std::fmt;
use std::hint::spin_loop;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Instant;

use self::width::Width;
use super::kernel::{Kernel, Queue, Task};

/// Looks of a worker at an empty table before it sleeps: some 50 µs. In tests it mostly sleeps.
const LOOKS: usize = if cfg!(test) { 10 } else { 1_000 };

/// Looks of the one who waits for the last worker before it lets others have the core, that worker perhaps.
const LOOKS_BEFORE_YIELD: usize = 1_000;

/// As many threads as were asked for, the caller's among them.
pub(super) struct Team {
    table: Arc<Table>,
    workers: Vec<JoinHandle<()>>,
    width: Width,
}

type Work<'a> = &'a (dyn Fn(usize) + Sync);

/// Where the caller lays the work of a round.
struct Table {
    /// Valid while the gate is open or a worker is inside.
    work: UnsafeCell<Option<Work<'static>>>,
    gate: Gate,
    /// Threads of this round: workers with this number or a higher one stay away.
    width: AtomicUsize,
    panic: Mutex<Option<Box<dyn Any + Send>>>,
}

// SAFETY: `work` is written by the caller alone, while the gate is closed and nobody inside, and read by workers
// inside; the gate orders the two.
unsafe impl Sync for Table {}

/// Who may work: in one number, so that a worker cannot come in while the caller closes.
///
/// From the lowest bit: workers inside (16 bits), whether it is open, whether the team is over, and the
/// number of the round.
struct Gate(AtomicU64);

/// What a [`Gate`] says at one moment.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Sign(u64);

impl Sign {
    const INSIDE: u64 = 0xffff;
    const OPEN: u64 = 1 << 16;
    const OVER: u64 = 1 << 17;
    const ROUND: u64 = 1 << 18;

    const fn round(self) -> u64 {
        self.0 / Self::ROUND
    }

    const fn inside(self) -> u64 {
        self.0 & Self::INSIDE
    }

    const fn is_open(self) -> bool {
        self.0 & Self::OPEN != 0
    }

    const fn is_over(self) -> bool {
        self.0 & Self::OVER != 0
    }
}

impl Gate {
    fn sign(&self) -> Sign {
        Sign(self.0.load(Ordering::Acquire))
    }

    /// Begins the next round. By the caller alone, while it is closed and nobody inside.
    fn open(&self) {
        self.0.fetch_add(Sign::ROUND | Sign::OPEN, Ordering::Release);
    }

    /// From now on, nobody comes in.
    fn close(&self) {
        self.0.fetch_and(!Sign::OPEN, Ordering::Relaxed);
    }

    /// Whether a worker that saw `sign` is inside now.
    fn enter(&self, sign: Sign) -> bool {
        self.0.compare_exchange(sign.0, sign.0 + 1, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    fn leave(&self) {
        self.0.fetch_sub(1, Ordering::Release);
    }

    fn end(&self) {
        self.0.fetch_or(Sign::OVER, Ordering::Release);
    }
}

impl Team {
    /// # Errors
    /// When the system refuses the threads.
    pub fn new(threads: usize) -> std::io::Result<Self> {
        let table = Arc::new(Table {
            work: UnsafeCell::new(None),
            gate: Gate(AtomicU64::new(0)),
            width: AtomicUsize::new(threads),
            panic: Mutex::new(None),
        });
        let mut team = Self { table, workers: Vec::new(), width: Width::new(threads.max(1)) };
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
        let width = self.width.at(Instant::now());
        if width == 1 {
            return work(0);
        }
        let table = &*self.table;
        // SAFETY: workers use it in this round alone, and the round ends before this function does,
        // whether `work` panics or not. `&mut self` keeps a second round away.
        unsafe { *table.work.get() = Some(std::mem::transmute::<Work<'_>, Work<'static>>(work)) };
        table.width.store(width, Ordering::Relaxed);
        table.gate.open();
        for worker in &self.workers[..width - 1] {
            worker.thread().unpark();
        }
        let mine = catch_unwind(AssertUnwindSafe(|| work(0)));
        // The parts are all taken, so a worker that is not here yet is not needed.
        table.gate.close();
        if table.gate.sign().inside() > 0 {
            let waits_since = Instant::now();
            let mut looks = 0;
            while table.gate.sign().inside() > 0 {
                looks += 1;
                if looks % LOOKS_BEFORE_YIELD == 0 { thread::yield_now() } else { spin_loop() }
            }
            let now = Instant::now();
            self.width.waited(now - waits_since, now);
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
        while let Some(next) = self.enter_after(round, worker) {
            round = next;
            // SAFETY: this worker is inside until it leaves.
            if let Some(work) = unsafe { *self.work.get() }
                && let Err(panic) = catch_unwind(AssertUnwindSafe(|| work(worker)))
            {
                *self.panic.lock().unwrap_or_else(PoisonError::into_inner) = Some(panic);
            }
            self.gate.leave();
        }
    }

    /// Waits for a round after `round` that wants this worker, and enters it; its number, or nothing when the
    /// team is over.
    fn enter_after(&self, round: u64, worker: usize) -> Option<u64> {
        let mut looks = 0;
        loop {
            let sign = self.gate.sign();
            if sign.is_over() {
                return None;
            }
            let is_wanted = worker < self.width.load(Ordering::Relaxed);
            if sign.is_open() && sign.round() != round && is_wanted {
                if self.gate.enter(sign) {
                    return Some(sign.round());
                }
            } else if looks < LOOKS {
                looks += 1;
                spin_loop();
            } else {
                thread::park();
                looks = 0;
            }
        }
    }
}

impl Drop for Team {
    fn drop(&mut self) {
        self.table.gate.end();
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
