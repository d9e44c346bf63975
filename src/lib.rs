//! Lodestone: search a person's own files and chosen web sites, by meaning and by words, wholly on
//! their machine.
//!
//! Both faces (the desktop application and `lode`) see only [`engine`], [`data`] and [`config`].
//! A module uses only modules of a lower layer; `docs/ARCHITECTURE.md` has the map.

// Layer 0: plain types, the platform, settings, tracing.
pub mod config;
pub mod data;
pub mod platform;
pub mod telemetry;

// Layer 1: bytes to text, text to tokens, the thread that owns the device.
pub mod extract;
pub mod gpu;
pub mod tokenization;

// Layer 2: models, chunks, indexes, the store, the web.
pub mod chunking;
pub mod crawler;
pub mod index;
pub mod inference;
pub mod storage;

// Layer 3: the write path and the read path.
pub mod ingest;
pub mod search;

// Layer 4: the one thing that both faces talk to.
pub mod engine;
