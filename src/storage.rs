//! SQLite: the truth.
