//! The read path: parse the query, ask both indexes, fuse, group by document, mark the words.

mod request;

pub use request::{Coverage, SearchMode, SearchRequest, SearchResponse};
