//! Models and the backends that run them.
