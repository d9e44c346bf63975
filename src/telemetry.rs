//! Tracing set-up and the `profile` feature.
