//! The read path: parse the query, ask both indexes, fuse, group by document, mark the words.

pub mod evaluation;
mod query;
mod request;

pub use query::Query;
pub use request::{Coverage, SearchMode, SearchRequest, SearchResponse};
