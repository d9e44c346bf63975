//! Numbers, dates, places and reasons in words, as a person reads them on screen.

mod amount;
mod measured;
mod place;
mod time;
mod why;

pub use amount::{bytes, count, counted};
pub use measured::measured_lines;
pub use place::{also_in, breadcrumb, drop_label, type_name};
pub use time::{ago, date, now, time_left};
pub use why::why_lines;
