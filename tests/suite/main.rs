//! What is tested from outside: the real programs, on real files, under a real window.
//!
//! One crate, so that the library is linked once. `docs/testing.md` says how to run one test.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed, and says where")]

mod allocation;
mod chat;
mod corpus;
mod crash;
mod crawl;
mod engine;
#[cfg(target_os = "linux")]
mod figures;
#[cfg(unix)]
mod interrupt;
mod lode;
mod metrics;
mod placement;
mod process;
mod readers;
mod switch;
mod tiny_model;
mod transfer;
#[cfg(all(feature = "desktop", target_os = "linux"))]
mod ui;
mod watch;
#[path = "../support/web.rs"]
mod web;
