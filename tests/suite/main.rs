//! What is tested from outside: the real programs, on real files, under a real window.
//!
//! One crate, so that the library is linked once. `docs/testing.md` says how to run one test.

mod corpus;
mod crash;
mod engine;
mod lode;
mod process;
#[cfg(all(feature = "desktop", target_os = "linux"))]
mod ui;
