use std::sync::atomic::{AtomicBool, AtomicU32};

use super::super::Plain;
use super::*;

/// Counts how often each part was run, and panics at one of them.
struct Count {
    parts: Vec<AtomicU32>,
    panics_at: Option<usize>,
}

impl Count {
    fn new(parts: usize, panics_at: Option<usize>) -> Self {
        Self { parts: (0..parts).map(|_| AtomicU32::new(0)).collect(), panics_at }
    }

    fn run_on(&self, team: &mut Team) {
        // SAFETY: every processor has the plain set, and a count is atomic.
        unsafe { team.run::<Plain, _>(self, self.parts.len()) }
    }
}

impl Task<Plain> for Count {
    unsafe fn run(&self, at: usize, _worker: usize) {
        assert_ne!(self.panics_at, Some(at), "this part panics");
        self.parts[at].fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn every_part_is_run_once_before_the_round_is_over() {
    for threads in [1, 2, 3, 8] {
        let mut team = Team::new(threads).unwrap();
        assert_eq!(team.threads(), threads);
        for round in 0..500 {
            let count = Count::new(round % 40, None);
            count.run_on(&mut team);
            assert!(count.parts.iter().all(|part| part.load(Ordering::Relaxed) == 1));
        }
    }
}

#[test]
fn a_panic_reaches_the_caller_and_the_team_goes_on() {
    for threads in [1, 4] {
        let mut team = Team::new(threads).unwrap();
        for at in 0..50 {
            let broken = Count::new(50, Some(at));
            let run = catch_unwind(AssertUnwindSafe(|| broken.run_on(&mut team)));
            assert!(run.is_err(), "{threads} threads, part {at}");
            let count = Count::new(50, None);
            count.run_on(&mut team);
            assert!(count.parts.iter().all(|part| part.load(Ordering::Relaxed) == 1));
        }
    }
}

/// The workers of a round are numbered, and no number is used twice at a time.
#[test]
fn a_worker_has_its_number_for_itself() {
    struct Alone([AtomicBool; 4]);
    impl Task<Plain> for Alone {
        unsafe fn run(&self, _at: usize, worker: usize) {
            assert!(!self.0[worker].swap(true, Ordering::AcqRel), "worker {worker} is two");
            std::hint::black_box((0..100).sum::<u32>());
            self.0[worker].store(false, Ordering::Release);
        }
    }
    let mut team = Team::new(4).unwrap();
    let alone = Alone(Default::default());
    // SAFETY: every processor has the plain set, and the flags are atomic.
    unsafe { team.run::<Plain, _>(&alone, 10_000) }
}

/// A worker that has not come when the parts are done is not waited for, and does not touch what was there.
#[test]
fn a_round_ends_without_a_worker_that_is_elsewhere() {
    let gate = Gate(AtomicU64::new(0));
    gate.open();
    let (early, late) = (gate.sign(), gate.sign());
    assert!(gate.enter(early));
    assert!(!gate.enter(late), "somebody came in since");
    let late = gate.sign();
    gate.close();
    assert!(!gate.enter(late), "it is closed");
    assert_eq!(gate.sign().inside(), 1);
    gate.leave();
    assert_eq!(gate.sign().inside(), 0);
    gate.open();
    assert!(!gate.enter(late), "this is another round");
    assert_eq!(gate.sign().round(), 2);
    assert!(gate.enter(gate.sign()));
}
