//! The only place that knows which operating system this is.
//!
//! Callers ask in the words of the application ([`data_dir`], [`is_cloud_placeholder`]); the answer
//! for each system stands here, and no other module has a `cfg` on the target.

mod background;
mod clock;
mod directory;
mod file;
mod graphics;
mod memory;
mod path;
mod power;
mod program;
mod simd;

pub use background::{BackgroundIo, lower_thread_priority};
pub use clock::now_seconds;
pub use directory::{DATA_DIR_VARIABLE, DirectoryError, data_dir, restrict_to_owner};
pub use file::{
    directory_bytes, free_bytes, is_cloud_placeholder, is_mount_point, modified_seconds,
    settled_stamp,
};
pub use graphics::may_have_gpu;
pub use memory::{LimitedAllocator, limit_memory};
pub use path::resolve;
pub use power::{Power, power};
pub use program::{own_program, without_window};
pub use simd::{SIMD_VARIABLE, Simd};
