//! Numbers, dates, places and reasons in words, as a person reads them on screen.

mod amount;
mod place;
mod time;
mod why;

pub use amount::{bytes, count, counted};
pub use place::{breadcrumb, drop_label, type_name};
pub use time::{ago, date, now, time_left};
pub use why::why_lines;
