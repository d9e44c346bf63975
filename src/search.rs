//! The read path: parse the query, ask both indexes, fuse, group by document, mark the words.

pub mod evaluation;
mod query;
mod request;

pub use query::Query;
pub use request::{Coverage, SearchMode, SearchRequest, SearchResponse};
// STUB
#[derive(Debug, thiserror::Error)]
pub enum SearchError {
    #[error("x")]
    X,
}
pub struct Searcher<'a>(std::marker::PhantomData<&'a ()>);
impl<'a> Searcher<'a> {
    pub fn new(
        _: &'a crate::storage::Store,
        _: &'a crate::index::KeywordIndex,
        _: Option<std::sync::Arc<crate::index::ExactIndex>>,
    ) -> Self {
        Self(std::marker::PhantomData)
    }
    pub fn search(
        &self,
        _: &SearchRequest,
        _: &Query,
        _: Option<&crate::data::Embedding>,
    ) -> Result<SearchResponse, SearchError> {
        Err(SearchError::X)
    }
}
