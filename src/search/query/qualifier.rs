use std::path::PathBuf;

use time::{Date, Month};

use crate::storage::{Condition, Place, Requirement};

const DAY_SECONDS: i64 = 86_400;

/// A qualifier as it was typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Written<'a> {
    pub name: &'a str,
    /// Of values joined by commas one is enough; an empty one, as while it is typed, demands nothing.
    pub values: Vec<&'a str>,
}

/// Takes `name:value` from the front of `text`, where the name is a qualifier and the value means
/// something to it; gives it and what is left. A value in quotes may hold spaces.
pub(super) fn take(text: &str) -> Option<(Written<'_>, &str)> {
    let (name, after) = text.split_once(':')?;
    requirement(name)?;
    let (values, rest) = if let Some(quoted) = after.strip_prefix('"') {
        let (value, rest) = quoted.split_once('"').unwrap_or((quoted, ""));
        (vec![value], rest)
    } else {
        let end = after.find(char::is_whitespace).unwrap_or(after.len());
        let (values, rest) = after.split_at(end);
        (values.split(',').collect(), rest)
    };
    let values = values.into_iter().filter(|value| !value.is_empty()).collect();
    let written = Written { name, values };
    // Whether a value is a date does not depend on today.
    written.conditions(false, 0)?;
    Some((written, rest))
}

impl Written<'_> {
    /// What it demands; `None` when a value means nothing to it. `after:7d` counts from `now`.
    pub fn conditions(&self, negated: bool, now: i64) -> Option<Vec<Condition>> {
        let requirement = requirement(self.name)?;
        let condition =
            |value: &&str| Some(Condition { requirement: requirement(value, now)?, negated });
        self.values.iter().map(condition).collect()
    }
}

/// What a qualifier makes of a value.
fn requirement(name: &str) -> Option<fn(&str, i64) -> Option<Requirement>> {
    Some(match name {
        "type" => |value, _| Some(Requirement::Type(value.to_lowercase())),
        "ext" => {
            |value, _| Some(Requirement::Extension(value.trim_start_matches('.').to_lowercase()))
        }
        "in" => |value, _| Some(Requirement::In(place(value))),
        "site" => |value, _| Some(Requirement::Site(value.to_lowercase())),
        "before" => |value, now| seconds(value, now).map(Requirement::Before),
        "after" => |value, now| seconds(value, now).map(Requirement::Since),
        _ => return None,
    })
}

/// A path is a folder; anything else is a part of one.
fn place(value: &str) -> Place {
    if let Some(below_home) = value.strip_prefix('~')
        && let Some(home) = std::env::home_dir()
    {
        return Place::Under(home.join(below_home.trim_start_matches(['/', '\\'])));
    }
    let path = PathBuf::from(value);
    if path.is_absolute() { Place::Under(path) } else { Place::Containing(value.to_lowercase()) }
}

/// The start of a day, month or year in UTC, or so many days, weeks, months or years ago.
fn seconds(value: &str, now: i64) -> Option<i64> {
    absolute(value).or_else(|| relative(value, now))
}

fn absolute(value: &str) -> Option<i64> {
    let mut parts = value.split('-');
    let year = parts.next().filter(|year| year.len() == 4)?.parse().ok()?;
    let mut number = |or| parts.next().map_or(Some(or), |part| part.parse::<u8>().ok());
    let (month, day) = (number(1)?, number(1)?);
    let date = Date::from_calendar_date(year, Month::try_from(month).ok()?, day).ok()?;
    parts.next().is_none().then(|| date.midnight().assume_utc().unix_timestamp())
}

fn relative(value: &str, now: i64) -> Option<i64> {
    let unit_days = match value.chars().last()? {
        'd' => 1,
        'w' => 7,
        'm' => 30,
        'y' => 365,
        _ => return None,
    };
    let count: i64 = value[..value.len() - 1].parse().ok()?;
    now.checked_sub(count.checked_mul(unit_days * DAY_SECONDS)?)
}
