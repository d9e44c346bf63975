use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Threads that can run at once here; 1 where the system does not say.
#[must_use]
pub fn cores() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

/// `work` of every item, in their order, on so many threads of which the caller's is one. The others have
/// the caller's priority, which those of a pool would not.
pub fn map_on<T: Sync, R: Send>(
    threads: usize,
    items: &[T],
    work: impl Fn(&T) -> R + Sync,
) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let run = || {
        let mut done = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(at) else { return done };
            done.push((at, work(item)));
        }
    };
    let mut done = thread::scope(|scope| {
        let others: Vec<_> = (1..threads.min(items.len())).map(|_| scope.spawn(run)).collect();
        let mut done = run();
        for other in others {
            done.extend(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        done
    });
    done.sort_unstable_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn any_number_of_threads_gives_what_one_gives(
            items in proptest::collection::vec(0..1_000_u32, 0..40), threads in 0..6_usize,
        ) {
            let alone: Vec<u32> = items.iter().map(|item| item * 3).collect();
            prop_assert_eq!(map_on(threads, &items, |item| item * 3), alone);
        }
    }

    #[test]
    #[should_panic(expected = "the third")]
    fn a_panic_of_a_thread_is_the_callers() {
        map_on(2, &[1, 2, 3], |item| assert_ne!(*item, 3, "the third"));
    }
}
