use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Memory that a document takes for each byte of its file, from when it is read until it is stored: its
/// bytes and its text, twelve bytes for each token, and 1.5 kB of vector for each kilobyte.
pub(super) const BYTES_PER_BYTE: u64 = 8;

/// What any document takes.
const BYTES_MIN: u64 = 64 << 10;

/// A bound on the memory of the documents that are under way.
#[derive(Clone, Debug)]
pub(super) struct MemoryBudget {
    free: Arc<Semaphore>,
    kib: u32,
}

impl MemoryBudget {
    pub(super) fn new(bytes: u64) -> Self {
        let kib =
            u32::try_from(bytes >> 10).unwrap_or(u32::MAX).clamp(1, Semaphore::MAX_PERMITS as u32);
        Self { free: Arc::new(Semaphore::new(kib as usize)), kib }
    }

    /// Waits for the memory that a file of so many bytes takes, all there is at most: a file that takes
    /// more goes alone.
    pub(super) async fn reserve(&self, file_bytes: u64) -> OwnedSemaphorePermit {
        let bytes = file_bytes.saturating_mul(BYTES_PER_BYTE).max(BYTES_MIN);
        self.take(u32::try_from(bytes >> 10).unwrap_or(u32::MAX).min(self.kib)).await
    }

    /// Waits until nothing else is under way.
    pub(super) async fn reserve_all(&self) -> OwnedSemaphorePermit {
        self.take(self.kib).await
    }

    async fn take(&self, kib: u32) -> OwnedSemaphorePermit {
        match Arc::clone(&self.free).acquire_many_owned(kib).await {
            Ok(permit) => permit,
            Err(_) => unreachable!("nobody closes the semaphore"),
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    #[test]
    fn documents_wait_for_memory_and_a_huge_one_goes_alone() {
        let budget = MemoryBudget::new(1 << 20);
        let small = budget.reserve(10).now_or_never().unwrap();
        assert!(budget.reserve(1 << 30).now_or_never().is_none());
        drop(small);
        let huge = budget.reserve(1 << 30).now_or_never().unwrap();
        assert!(budget.reserve(10).now_or_never().is_none());
        drop(huge);
        let half = budget.reserve(60 << 10).now_or_never().unwrap();
        assert!(budget.reserve(60 << 10).now_or_never().is_some());
        drop(half);
    }
}
