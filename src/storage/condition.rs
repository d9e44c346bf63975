use std::path::PathBuf;

use rusqlite::types::Value;

use super::catalog::under;
use super::record;
use super::{StorageError, Store};
use crate::data::DocumentId;

/// What a search may demand of a document, beside its words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Requirement {
    /// Name of a media type, or of an extension for people who think in those; lower case.
    Type(String),
    /// The end of the name after the last dot, in lower case.
    Extension(String),
    In(Place),
    /// Host of a page, or one of its parent domains, in lower case.
    Site(String),
    /// Last modified before this second since the Unix epoch. A document without a date matches
    /// neither this nor [`Requirement::Since`].
    Before(i64),
    /// Last modified at or after this second since the Unix epoch.
    Since(i64),
}

/// Where a document lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// The folder, however deep, or the file itself.
    Under(PathBuf),
    /// Anywhere in the path or URL, upper and lower case alike.
    Containing(String),
}

/// A requirement, or that it is not met.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    pub requirement: Requirement,
    pub negated: bool,
}

impl Store {
    /// The documents that meet the conditions, in the order of their ids.
    ///
    /// Of several kinds, sites, places or extensions one is enough, since no document has two;
    /// everything else has to hold together.
    ///
    /// # Errors
    /// [`StorageError`] when the store cannot be read.
    pub fn documents_matching(
        &self,
        conditions: &[Condition],
    ) -> Result<Vec<DocumentId>, StorageError> {
        self.select(conditions, "ORDER BY id", Vec::new())
    }

    /// The first `limit` of them with passages, last modified first; those without a date come
    /// last.
    ///
    /// # Errors
    /// [`StorageError`] when the store cannot be read.
    pub fn newest_matching(
        &self,
        conditions: &[Condition],
        limit: usize,
    ) -> Result<Vec<DocumentId>, StorageError> {
        let order = "AND EXISTS (SELECT 1 FROM embedded, state WHERE document = documents.id
                          AND embedded.model = state.model AND embedded.passages > 0)
                     ORDER BY modified DESC NULLS LAST, id LIMIT ?";
        self.select(conditions, order, vec![Value::Integer(limit as i64)])
    }

    fn select(
        &self,
        conditions: &[Condition],
        tail: &str,
        tail_values: Vec<Value>,
    ) -> Result<Vec<DocumentId>, StorageError> {
        let (condition, mut values) = conjunction(conditions);
        values.extend(tail_values);
        let sql = format!("SELECT id FROM documents WHERE {condition} {tail}");
        self.read(|connection| {
            connection
                .prepare_cached(&sql)?
                .query_map(rusqlite::params_from_iter(values), |row| record::document_id(row, 0))?
                .collect()
        })
    }
}

/// An SQL expression with its values, in order.
type Expression = (String, Vec<Value>);

fn conjunction(conditions: &[Condition]) -> Expression {
    let mut parts = vec!["TRUE".to_owned()];
    let mut values = Vec::new();
    for kind in [is_type, is_extension, is_place, is_site] {
        let alternatives = conditions.iter().filter(|c| !c.negated && kind(&c.requirement));
        let mut expressions = Vec::new();
        for condition in alternatives {
            let (sql, more) = expression(&condition.requirement);
            expressions.push(sql);
            values.extend(more);
        }
        if !expressions.is_empty() {
            parts.push(format!("({})", expressions.join(" OR ")));
        }
    }
    for condition in conditions {
        let is_date =
            matches!(condition.requirement, Requirement::Before(_) | Requirement::Since(_));
        if condition.negated || is_date {
            let (sql, more) = expression(&condition.requirement);
            let not = if condition.negated { "NOT " } else { "" };
            // A column that is empty neither meets nor breaks a comparison in SQL; here it does
            // not meet it.
            parts.push(format!("{not}coalesce({sql}, FALSE)"));
            values.extend(more);
        }
    }
    (parts.join(" AND "), values)
}

fn expression(requirement: &Requirement) -> Expression {
    let text = |value: &str| Value::Text(value.to_owned());
    match requirement {
        Requirement::Type(name) => {
            ("(media_type = ? OR extension = ?)".to_owned(), vec![text(name), text(name)])
        }
        Requirement::Extension(extension) => ("extension = ?".to_owned(), vec![text(extension)]),
        Requirement::In(Place::Under(path)) => {
            let (exact, range) = under(path);
            let values = [exact, range.start, range.end].map(Value::Text).to_vec();
            ("(source = ? OR (source >= ? AND source < ?))".to_owned(), values)
        }
        Requirement::In(Place::Containing(part)) => {
            ("instr(place, ?) > 0".to_owned(), vec![Value::Text(part.to_lowercase())])
        }
        Requirement::Site(host) => {
            let below = format!(".{host}");
            let values = vec![
                text(host),
                Value::Integer(-(below.chars().count() as i64)),
                Value::Text(below),
            ];
            ("(site = ? OR substr(site, ?) = ?)".to_owned(), values)
        }
        Requirement::Before(second) => ("modified < ?".to_owned(), vec![Value::Integer(*second)]),
        Requirement::Since(second) => ("modified >= ?".to_owned(), vec![Value::Integer(*second)]),
    }
}

fn is_type(requirement: &Requirement) -> bool {
    matches!(requirement, Requirement::Type(_))
}

fn is_extension(requirement: &Requirement) -> bool {
    matches!(requirement, Requirement::Extension(_))
}

fn is_place(requirement: &Requirement) -> bool {
    matches!(requirement, Requirement::In(_))
}

fn is_site(requirement: &Requirement) -> bool {
    matches!(requirement, Requirement::Site(_))
}
