//! Numbers, dates, places and reasons in words, as a person reads them on screen.

mod amount;
mod diagnostics;
mod facet;
mod job;
mod measured;
mod model;
mod place;
mod site;
mod time;
mod why;

pub use amount::{bytes, count, counted};
pub use diagnostics::diagnostics;
pub use facet::{age_name, chip_label, folder_name, qualifier_note, type_label};
pub use job::{job_result, latency, milliseconds, took};
pub use measured::measured_lines;
pub use model::{model_facts, switch_cost};
pub use place::{also_in, breadcrumb, drop_label, is_address, kind_name, open_label, type_name};
pub use site::{
    coverage, findings_lines, group_name, page_standing, pages_per_second, pages_wanted,
    reach_name, recrawl_name, rules_line, site_name, site_standing,
};
pub use time::{ago, date, now, saved_copy, time_left, until};
pub use why::why_lines;
