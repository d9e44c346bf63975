//! The only place that knows which operating system this is.
