//! What became of the tiers of a GPU, kept between starts.
//!
//! A trial may end the process, or hang until somebody ends it. So what is being tried is written down before it is,
//! and a trial that did not come back has failed.

use std::collections::BTreeMap;
use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tracing::warn;

use super::tier::Tier;

/// In the data directory.
const FILE: &str = "gpu.json";

/// Held while tiers are tried.
const LOCK: &str = "gpu.lock";

/// The trials of one GPU; a record of another, or of another driver, is none.
#[derive(Debug, Default)]
pub(super) struct Ladder {
    /// Nothing is written down where there is no place for it, or another process tries at this moment.
    file: Option<(PathBuf, File)>,
    record: Record,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Record {
    /// Name, driver, and version of this program.
    gpu: String,
    trying: Option<String>,
    passed: Option<String>,
    /// With the reason.
    failed: BTreeMap<String, String>,
}

impl Ladder {
    /// Reads what is known of `gpu` in a data directory.
    pub fn open(data_dir: Option<&Path>, gpu: String) -> Self {
        let fresh = Record { gpu, ..Record::default() };
        let Some(path) = data_dir.map(|data_dir| data_dir.join(FILE)) else {
            return Self { file: None, record: fresh };
        };
        let kept = fs::read(&path).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
        let mut record = kept.filter(|kept: &Record| kept.gpu == fresh.gpu).unwrap_or(fresh);
        let file = lock(&path.with_file_name(LOCK)).map(|lock| (path, lock));
        // Whoever tried it is gone without a word.
        if file.is_some()
            && let Some(tier) = record.trying.take()
        {
            record.failed.insert(tier, "its trial did not come back; update its driver".to_owned());
        }
        Self { file, record }
    }

    /// Why a tier is not to be tried again.
    pub fn failure(&self, tier: Tier) -> Option<&str> {
        self.record.failed.get(&tier.to_string()).map(String::as_str)
    }

    pub fn has_passed(&self, tier: Tier) -> bool {
        self.record.passed == Some(tier.to_string())
    }

    pub fn tries(&mut self, tier: Tier) {
        self.record.trying = Some(tier.to_string());
        self.write();
    }

    pub fn passes(&mut self, tier: Tier) {
        self.record.passed = Some(tier.to_string());
        self.record.trying = None;
        self.write();
    }

    /// `reason` is what the tier itself did wrong, if it did.
    pub fn fails(&mut self, tier: Tier, reason: Option<String>) {
        self.record.failed.extend(reason.map(|reason| (tier.to_string(), reason)));
        self.record.trying = None;
        self.write();
    }

    fn write(&self) {
        let Some((path, _)) = &self.file else { return };
        let written = serde_json::to_vec_pretty(&self.record)
            .map_err(std::io::Error::from)
            .and_then(|bytes| fs::write(path, bytes));
        if let Err(error) = written {
            warn!(path = %path.display(), %error, "the GPU is tried again at the next start");
        }
    }
}

fn lock(path: &Path) -> Option<File> {
    let file = File::options().create(true).truncate(false).write(true).open(path).ok()?;
    match file.try_lock() {
        Ok(()) => Some(file),
        Err(TryLockError::WouldBlock | TryLockError::Error(_)) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inference::backend::wgpu::tier::MatrixSize;

    const BEST: Tier = Tier::Cooperative(MatrixSize::Sixteen);

    fn open(data_dir: &Path) -> Ladder {
        Ladder::open(Some(data_dir), "a GPU".to_owned())
    }

    #[test]
    fn what_passed_or_failed_is_known_at_the_next_start() {
        let data_dir = tempfile::tempdir().unwrap();
        let mut ladder = open(data_dir.path());
        ladder.tries(BEST);
        ladder.fails(BEST, Some("a product is off by 3".to_owned()));
        ladder.tries(Tier::Subgroup);
        ladder.passes(Tier::Subgroup);
        drop(ladder);
        let ladder = open(data_dir.path());
        assert_eq!(ladder.failure(BEST), Some("a product is off by 3"));
        assert_eq!(ladder.failure(Tier::Subgroup), None);
        assert!(ladder.has_passed(Tier::Subgroup) && !ladder.has_passed(BEST));
        drop(ladder);
        let other = Ladder::open(Some(data_dir.path()), "a GPU, driver 2".to_owned());
        assert_eq!(other.failure(BEST), None);
        assert!(!other.has_passed(Tier::Subgroup));
    }

    #[test]
    fn a_trial_that_did_not_come_back_has_failed() {
        let data_dir = tempfile::tempdir().unwrap();
        let mut hung = open(data_dir.path());
        hung.tries(BEST);
        // While it runs, another process knows nothing, and leaves the record alone.
        let mut meanwhile = open(data_dir.path());
        assert_eq!(meanwhile.failure(BEST), None);
        meanwhile.passes(BEST);
        drop((hung, meanwhile));
        let ladder = open(data_dir.path());
        assert!(ladder.failure(BEST).unwrap().contains("did not come back"));
        assert!(!ladder.has_passed(BEST));
    }

    #[test]
    fn no_room_is_no_fault_of_a_tier() {
        let data_dir = tempfile::tempdir().unwrap();
        let mut ladder = open(data_dir.path());
        ladder.tries(BEST);
        ladder.fails(BEST, None);
        drop(ladder);
        assert_eq!(open(data_dir.path()).failure(BEST), None);
    }

    #[test]
    fn without_a_place_nothing_is_kept() {
        let mut ladder = Ladder::open(None, "a GPU".to_owned());
        ladder.tries(BEST);
        ladder.passes(BEST);
        assert!(ladder.has_passed(BEST));
    }
}
