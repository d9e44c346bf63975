use std::time::{Duration, Instant};

use crate::crawler::Fetched;

/// So many requests without an answer in a row are no chance.
const SILENT_MAX: u32 = 3;

/// Whether the hosts of a crawl can be reached at all.
#[derive(Debug)]
pub(super) struct Contact {
    patience: Duration,
    /// The last answer, of whichever host and kind.
    answered: Option<Instant>,
    /// Requests without an answer since.
    silent: u32,
    reason: String,
}

impl Contact {
    pub(super) fn new(patience: Duration) -> Self {
        Self { patience, answered: None, silent: 0, reason: String::new() }
    }

    pub(super) fn answered(&mut self, now: Instant) {
        self.answered = Some(now);
        self.silent = 0;
    }

    pub(super) fn note(&mut self, fetched: &Fetched, now: Instant) {
        match fetched {
            Fetched::Failed { reason, status: None, .. } => {
                self.silent += 1;
                self.reason.clone_from(reason);
            }
            // Nobody was asked.
            Fetched::Later { reason, .. } => {
                if self.silent == 0 {
                    self.reason.clone_from(reason);
                }
            }
            _ => self.answered(now),
        }
    }

    /// Whether with this it is in doubt that the hosts can be reached: that a page gives no answer may be
    /// its own fault, and one that never does must not keep a crawl from its end.
    pub(super) fn would_doubt(&self, fetched: &Fetched) -> bool {
        matches!(fetched, Fetched::Failed { status: None, .. })
            && (self.answered.is_none() || self.silent + 1 >= SILENT_MAX)
    }

    /// Whether what fails now says nothing about the page.
    pub(super) fn is_doubtful(&self) -> bool {
        self.answered.is_none() || self.silent >= SILENT_MAX
    }

    /// Whether to leave it for later: nobody has answered for long, or ever.
    pub(super) fn is_lost(&self, now: Instant) -> bool {
        match self.answered {
            None => self.silent > 0,
            Some(at) => self.silent >= SILENT_MAX && now.duration_since(at) >= self.patience,
        }
    }

    pub(super) fn reason(&self) -> String {
        self.reason.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn silence() -> Fetched {
        let reason = "no host".to_owned();
        Fetched::Failed { reason, status: None, retry_after: Duration::ZERO }
    }

    #[test]
    fn a_host_that_never_answered_is_given_up_at_once() {
        let now = Instant::now();
        let mut contact = Contact::new(Duration::from_secs(30));
        assert!(!contact.is_lost(now));
        assert!(contact.would_doubt(&silence()));
        assert!(!contact.would_doubt(&Fetched::Gone { status: 404 }));
        contact.note(&silence(), now);
        assert!(contact.is_lost(now));
        assert_eq!(contact.reason(), "no host");
    }

    #[test]
    fn a_host_that_answered_is_waited_for() {
        let start = Instant::now();
        let after = |seconds| start + Duration::from_secs(seconds);
        let mut contact = Contact::new(Duration::from_secs(30));
        contact.note(&Fetched::Gone { status: 404 }, start);
        for seconds in [40, 41] {
            contact.note(&silence(), after(seconds));
            assert!(!contact.is_lost(after(seconds)) && !contact.is_doubtful());
        }
        assert!(contact.would_doubt(&silence()));
        contact.note(&silence(), after(42));
        assert!(contact.is_lost(after(42)) && !contact.is_lost(after(20)));
        // A busy server is one that is there.
        let busy = Fetched::Failed {
            reason: String::new(),
            status: Some(503),
            retry_after: Duration::ZERO,
        };
        contact.note(&busy, after(43));
        assert!(!contact.is_lost(after(43)));
    }
}
