//! The thread that owns the device, and the trait that everyone asks.
