//! The only place that knows which operating system this is.
//!
//! Callers ask in the words of the application ([`data_dir`], [`is_cloud_placeholder`]); the answer
//! for each system stands here, and no other module has a `cfg` on the target.

mod background;
mod clock;
mod cores;
mod directory;
mod file;
mod graphics;
mod memory;
mod open;
mod path;
mod power;
mod program;
mod resident;
mod simd;
mod tray;

pub use background::{BackgroundIo, lower_thread_priority};
pub use clock::now_seconds;
pub use cores::{cores, map_on};
pub use directory::{DATA_DIR_VARIABLE, DirectoryError, data_dir, prepare_data_dir};
pub use file::{
    directory_bytes, free_bytes, is_cloud_placeholder, is_mount_point, modified_seconds,
    settled_stamp,
};
pub use graphics::may_have_gpu;
pub use memory::{LimitedAllocator, limit_memory};
pub use open::{FilePlace, open_command};
pub use path::resolve;
pub use power::{Power, power};
pub use program::{own_program, without_window};
pub use resident::resident_bytes;
pub use simd::{SIMD_VARIABLE, Simd};
pub use tray::has_tray;
