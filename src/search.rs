//! The read path: parse the query, ask both indexes, fuse, group by document, mark the words.
//!
//! Nothing here waits for anything but the disk: the caller runs it where blocking is allowed, and
//! brings the vector of the query along.

mod answer;
mod error;
pub mod evaluation;
mod facets;
mod indexes;
mod query;
mod ranking;
mod request;
mod resemblance;
mod searcher;
mod sentence;

#[cfg(test)]
mod laws;

pub use error::SearchError;
pub use facets::{FacetValue, Facets};
pub use indexes::{CaughtUp, IndexSnapshot, Indexes};
pub use query::{QUALIFIER_NAMES, Query, WrittenQualifier, qualifiers, toggled, with_qualifier};
pub use request::{Coverage, QueryVector, SearchMode, SearchRequest, SearchResponse, WeakerHits};
pub use searcher::{Searcher, Words};
