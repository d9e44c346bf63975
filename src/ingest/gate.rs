use std::time::{Duration, Instant};

use serde::Serialize;
use tokio::sync::watch;

/// How fast indexing may go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Pace {
    #[default]
    Full,
    /// Half of the time is left to the machine, as on battery.
    Half,
    /// What is in hand is finished and nothing more is begun.
    Paused,
}

/// What a run passes before it begins the next files.
#[derive(Clone, Debug)]
pub struct Gate {
    pace: watch::Receiver<Pace>,
    passed: Instant,
}

/// Longest rest at half pace, so that one long document does not stop the rest for as long.
const REST_MAX: Duration = Duration::from_secs(5);

impl Gate {
    #[must_use]
    pub fn new(pace: watch::Receiver<Pace>) -> Self {
        Self { pace, passed: Instant::now() }
    }

    /// One that is always open.
    #[must_use]
    pub fn open() -> Self {
        Self::new(watch::channel(Pace::Full).1)
    }

    /// Waits while the pace is [`Pace::Paused`], and at half pace for as long as the work since the last
    /// time took.
    pub(super) async fn pass(&mut self) {
        let rest = self.passed.elapsed().min(REST_MAX);
        if *self.pace.borrow() == Pace::Half {
            // Ends early when the pace changes.
            let _ =
                tokio::time::timeout(rest, self.pace.wait_for(|pace| *pace != Pace::Half)).await;
        }
        // Nobody is left who could pause.
        let _ = self.pace.wait_for(|pace| *pace != Pace::Paused).await;
        self.passed = Instant::now();
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    #[test]
    fn a_paused_gate_opens_when_it_is_resumed() {
        let (pace, receiver) = watch::channel(Pace::Paused);
        let mut gate = Gate::new(receiver);
        assert!(gate.pass().now_or_never().is_none());
        pace.send_replace(Pace::Full);
        assert!(gate.pass().now_or_never().is_some());
        assert!(Gate::open().pass().now_or_never().is_some());
    }
}
