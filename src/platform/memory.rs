//! A limit on the memory of this process that holds on every system.

use std::alloc::{GlobalAlloc, Layout, System};
use std::io;
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};

/// Bytes that may be held; zero where nothing is limited and nothing counted.
static LIMIT: AtomicI64 = AtomicI64::new(0);

/// Bytes that were taken since the limit was set, less those given back.
static HELD: AtomicI64 = AtomicI64::new(0);

/// The system's allocator behind a limit, for `#[global_allocator]` of the programs that are started
/// as readers. Over the limit there is no memory, upon which Rust aborts the process and says so.
///
/// Systems limit the address space of a process (Linux), nothing at all (macOS) or groups of processes
/// (Windows); a count at the allocator is the same everywhere. Without a limit it costs one look at a
/// number that nobody writes.
#[derive(Clone, Copy, Debug)]
pub struct LimitedAllocator;

// Never part of what allocates: inlined everywhere, such a count made LLVM 22 crash.
#[inline(never)]
fn take(bytes: usize) -> bool {
    let limit = LIMIT.load(Relaxed);
    if limit == 0 {
        return true;
    }
    let bytes = bytes.cast_signed() as i64;
    if HELD.fetch_add(bytes, Relaxed) + bytes <= limit {
        return true;
    }
    HELD.fetch_sub(bytes, Relaxed);
    false
}

#[inline(never)]
fn give_back(bytes: usize) {
    if LIMIT.load(Relaxed) != 0 {
        HELD.fetch_sub(bytes.cast_signed() as i64, Relaxed);
    }
}

// SAFETY: every call goes to the system's allocator with the layout that it came with, or gives null,
// which every caller of an allocator has to expect.
unsafe impl GlobalAlloc for LimitedAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if !take(layout.size()) {
            return std::ptr::null_mut();
        }
        // SAFETY: the caller's promise about `layout` is passed on.
        let pointer = unsafe { System.alloc(layout) };
        if pointer.is_null() {
            give_back(layout.size());
        }
        pointer
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if !take(layout.size()) {
            return std::ptr::null_mut();
        }
        // SAFETY: the caller's promise about `layout` is passed on.
        let pointer = unsafe { System.alloc_zeroed(layout) };
        if pointer.is_null() {
            give_back(layout.size());
        }
        pointer
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        give_back(layout.size());
        // SAFETY: `pointer` came from the system's allocator with this layout.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        if !take(new_size) {
            return std::ptr::null_mut();
        }
        // SAFETY: `pointer` came from the system's allocator with this layout; the rest is the
        // caller's promise.
        let moved = unsafe { System.realloc(pointer, layout, new_size) };
        give_back(if moved.is_null() { new_size } else { layout.size() });
        moved
    }
}

/// From now on this process holds no more than `bytes` beyond what it holds; where it would, it aborts.
/// A process that dies of it leaves no image of its memory on the disk, which would be the text of
/// private files.
///
/// # Errors
/// When the program has not [`LimitedAllocator`] as its allocator.
pub fn limit_memory(bytes: u64) -> io::Result<()> {
    #[cfg(unix)]
    {
        let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        // SAFETY: the structure is valid for the length of the call, and nothing else is touched. That
        // a system refuses costs no more than an image of the process.
        unsafe { libc::setrlimit(libc::RLIMIT_CORE, &raw const none) };
    }
    LIMIT.store(i64::try_from(bytes).unwrap_or(i64::MAX), Relaxed);
    let before = HELD.load(Relaxed);
    let probe = std::hint::black_box(vec![0_u8; 4096]);
    let is_counted = HELD.load(Relaxed) > before;
    drop(probe);
    if is_counted {
        return Ok(());
    }
    LIMIT.store(0, Relaxed);
    Err(io::Error::other("its memory cannot be limited, since its allocator does not count"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_without_the_allocator_is_told() {
        assert!(limit_memory(1 << 30).is_err());
        assert_eq!(LIMIT.load(Relaxed), 0);
    }
}
