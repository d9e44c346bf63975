//! How often and how many at once a host is asked.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until, timeout_at};

/// Longest rest without being told.
const REST_MAX: Duration = Duration::from_mins(15);

/// Longest rest that a server is believed to need.
const RETRY_AFTER_MAX: Duration = Duration::from_hours(24);

/// What a site may ask of a host at most.
#[derive(Clone, Copy, Debug)]
pub(super) struct Terms {
    /// From the start of a request to that of the next.
    pub delay: Duration,
    pub connections_max: usize,
}

/// Every host that was asked, with what is known of its patience. A host is a name without port: what
/// listens there shares one machine.
#[derive(Clone, Debug)]
pub(super) struct Pace {
    /// First rest of a host that says it has too much to do, or that breaks off; doubled each time.
    rest_first: Duration,
    hosts: Arc<Mutex<HashMap<String, Arc<HostPace>>>>,
}

#[derive(Debug, Default)]
struct HostPace {
    state: Mutex<State>,
    freed: Notify,
}

#[derive(Debug, Default)]
struct State {
    asking: usize,
    next_start: Option<Instant>,
    rest: Option<Rest>,
    /// In a row.
    failures: u32,
}

#[derive(Clone, Copy, Debug)]
struct Rest {
    began: Instant,
    until: Instant,
}

/// It is not the turn of a host for longer than one waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NotNow {
    pub after: Duration,
}

/// Leave to ask a host once; given back when dropped.
#[derive(Debug)]
pub(super) struct Turn {
    host: Arc<HostPace>,
    began: Instant,
    rest_first: Duration,
}

impl Pace {
    pub(super) fn new(rest_first: Duration) -> Self {
        Self { rest_first, hosts: Arc::default() }
    }

    /// Waits until the host may be asked, for `wait_max` at most.
    pub(super) async fn turn(
        &self,
        host: &str,
        terms: Terms,
        wait_max: Duration,
    ) -> Result<Turn, NotNow> {
        let host = {
            let mut hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(hosts.entry(host.to_owned()).or_default())
        };
        let deadline = Instant::now() + wait_max;
        loop {
            // Enlisted before the look, or a connection that is freed in between would go unnoticed.
            let freed = host.freed.notified();
            match host.try_begin(terms) {
                Begin::Now(began) => {
                    return Ok(Turn {
                        host: Arc::clone(&host),
                        began,
                        rest_first: self.rest_first,
                    });
                }
                Begin::At(at) if at > deadline => {
                    return Err(NotNow { after: at.duration_since(Instant::now()) });
                }
                Begin::At(at) => sleep_until(at).await,
                Begin::WhenFreed => {
                    if timeout_at(deadline, freed).await.is_err() {
                        return Err(NotNow { after: terms.delay.max(Duration::from_secs(1)) });
                    }
                }
            }
        }
    }
}

enum Begin {
    Now(Instant),
    At(Instant),
    WhenFreed,
}

impl HostPace {
    fn try_begin(&self, terms: Terms) -> Begin {
        let mut state = self.state();
        let now = Instant::now();
        let rests_until = state.rest.map(|rest| rest.until);
        if let Some(at) = rests_until.into_iter().chain(state.next_start).max()
            && at > now
        {
            return Begin::At(at);
        }
        if state.asking >= terms.connections_max {
            return Begin::WhenFreed;
        }
        state.asking += 1;
        state.next_start = Some(now + terms.delay);
        Begin::Now(now)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Turn {
    /// The host answered as it should.
    pub(super) fn went_well(&self) {
        let mut state = self.host.state();
        state.failures = 0;
    }

    /// The host is overloaded or gone: it rests, for as long as it says, else the longer the more often
    /// this happens. What began before the last rest says nothing that was not known then.
    pub(super) fn went_wrong(&self, retry_after: Option<Duration>) -> Duration {
        let mut state = self.host.state();
        let now = Instant::now();
        let is_news = state.rest.is_none_or(|rest| self.began >= rest.began);
        if is_news {
            state.failures = state.failures.saturating_add(1);
        }
        let doublings = state.failures.saturating_sub(1).min(16);
        let own = (self.rest_first * 2_u32.pow(doublings)).min(REST_MAX);
        let rest = retry_after.map_or(own, |told| told.min(RETRY_AFTER_MAX));
        let until = now + rest;
        let known = state.rest.map_or(now, |rest| rest.until);
        if is_news || (retry_after.is_some() && until > known) {
            state.rest = Some(Rest { began: now, until: until.max(known) });
        }
        state.rest.map_or(rest, |rest| rest.until.saturating_duration_since(now))
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.host.state().asking -= 1;
        self.host.freed.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REST_FIRST: Duration = Duration::from_secs(5);
    const WAIT_MAX: Duration = Duration::from_secs(30);

    fn terms(delay_ms: u64, connections_max: usize) -> Terms {
        Terms { delay: Duration::from_millis(delay_ms), connections_max }
    }

    async fn turn(pace: &Pace, terms: Terms) -> Turn {
        pace.turn("a.test", terms, WAIT_MAX).await.unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn requests_begin_no_closer_than_the_delay() {
        let pace = Pace::new(REST_FIRST);
        let start = Instant::now();
        for count in 0..5_u64 {
            let turn = turn(&pace, terms(200, 4)).await;
            assert_eq!(start.elapsed(), Duration::from_millis(200 * count));
            turn.went_well();
        }
        pace.turn("b.test", terms(200, 4), Duration::ZERO).await.unwrap();
    }

    #[tokio::test(start_paused = true)]
    async fn no_more_requests_at_once_than_allowed() {
        let pace = Pace::new(REST_FIRST);
        let first = turn(&pace, terms(0, 2)).await;
        let second = turn(&pace, terms(0, 2)).await;
        let wait_max = Duration::from_secs(3);
        let started = Instant::now();
        let late = pace.turn("a.test", terms(0, 2), wait_max).await.unwrap_err();
        assert_eq!((started.elapsed(), late.after), (wait_max, Duration::from_secs(1)));
        let waiting = tokio::spawn({
            let pace = pace.clone();
            async move { turn(&pace, terms(0, 2)).await }
        });
        tokio::task::yield_now().await;
        assert!(!waiting.is_finished());
        drop(first);
        drop((waiting.await.unwrap(), second));
    }

    #[tokio::test(start_paused = true)]
    async fn a_host_in_trouble_rests_longer_each_time_and_is_forgiven() {
        let pace = Pace::new(REST_FIRST);
        for seconds in [5, 10, 20] {
            let asked = turn(&pace, terms(0, 1)).await;
            assert_eq!(asked.went_wrong(None), Duration::from_secs(seconds));
        }
        let mut rests = 20;
        for _ in 0..10 {
            tokio::time::advance(Duration::from_secs(rests)).await;
            let asked = turn(&pace, terms(0, 1)).await;
            rests = asked.went_wrong(None).as_secs();
        }
        assert_eq!(Duration::from_secs(rests), REST_MAX);
        tokio::time::advance(REST_MAX).await;
        turn(&pace, terms(0, 1)).await.went_well();
        let asked = turn(&pace, terms(0, 1)).await;
        assert_eq!(asked.went_wrong(None), REST_FIRST);
    }

    #[tokio::test(start_paused = true)]
    async fn requests_that_fail_together_count_as_one() {
        let pace = Pace::new(REST_FIRST);
        let mut asked = Vec::new();
        for _ in 0..4 {
            asked.push(turn(&pace, terms(0, 4)).await);
        }
        tokio::time::advance(Duration::from_secs(1)).await;
        for asked in &asked {
            assert_eq!(asked.went_wrong(None), REST_FIRST);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_host_says_how_long_it_rests() {
        let pace = Pace::new(REST_FIRST);
        let asked = turn(&pace, terms(0, 1)).await;
        let hour = Duration::from_hours(1);
        assert_eq!(asked.went_wrong(Some(hour)), hour);
        drop(asked);
        let started = Instant::now();
        let late = pace.turn("a.test", terms(0, 1), WAIT_MAX).await.unwrap_err();
        assert_eq!((late.after, started.elapsed()), (hour, Duration::ZERO));
        tokio::time::advance(hour).await;
        let asked = turn(&pace, terms(0, 1)).await;
        assert_eq!(asked.went_wrong(Some(Duration::from_hours(900))), RETRY_AFTER_MAX);
    }
}
