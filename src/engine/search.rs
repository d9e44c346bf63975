use std::sync::Arc;
use std::time::Instant;

use super::{Engine, EngineError, SearchMode, SearchRequest, SearchResponse};
use crate::gpu::GpuError;
use crate::platform;
use crate::search::{IndexSnapshot, Query, QueryVector, Searcher, Words};
use crate::telemetry::Stage;

impl Engine {
    /// Answers a query. By words alone while the model is loading, or when it has failed.
    ///
    /// # Errors
    /// When the store or an index fails, or the model is needed and not there.
    pub async fn search(&self, request: SearchRequest) -> Result<SearchResponse, EngineError> {
        let engine = self.clone();
        self.run(async move { engine.search_here(request).await }).await
    }

    async fn search_here(&self, request: SearchRequest) -> Result<SearchResponse, EngineError> {
        let started = Instant::now();
        self.indexes_ready().await;
        let _hold = self.inner.scheduler.hold();
        let query = Query::parse(&request.query, platform::now_seconds());
        let asked = Arc::new((request, query));
        // Taken first: whatever comes into use meanwhile, this search asks these indexes with the model
        // that they were made with.
        let mut indexes = self.inner.indexes.snapshot();
        let (mut words, mut vector) = self.words_and_vector(&asked, &indexes).await;
        if matches!(vector, Err(EngineError::Gpu(GpuError::ModelNotLoaded(_)))) {
            // The model was let go since: another one answers now.
            indexes = self.inner.indexes.snapshot();
            (words, vector) = self.words_and_vector(&asked, &indexes).await;
        }
        let (words, vector) = (words?, vector?);
        let inner = Arc::clone(&self.inner);
        self.run_blocking(move || {
            let (request, query) = &*asked;
            let searcher = Searcher::new(&inner.store, indexes);
            let finishing = Instant::now();
            let mut response = searcher.finish(request, query, words, vector.as_ref())?;
            let (rest, took) = (finishing.elapsed(), started.elapsed());
            response.took_ms = took.as_secs_f64() * 1e3;
            let vectors = searcher.vectors_took();
            if vector.is_some() {
                inner.recorder.record(Stage::SearchVectors, vectors);
            }
            inner.recorder.record(Stage::SearchRest, rest.saturating_sub(vectors));
            inner.recorder.record(Stage::Search, took);
            Ok(response)
        })
        .await
    }

    /// Looks words up while the device computes the vector.
    async fn words_and_vector(
        &self,
        asked: &Arc<(SearchRequest, Query)>,
        indexes: &Arc<IndexSnapshot>,
    ) -> (Result<Words, EngineError>, Result<Option<QueryVector>, EngineError>) {
        let (inner, of, snapshot) =
            (Arc::clone(&self.inner), Arc::clone(asked), Arc::clone(indexes));
        let words = self.run_blocking(move || {
            let started = Instant::now();
            let words = Searcher::new(&inner.store, snapshot).words(&of.0, &of.1)?;
            inner.recorder.record(Stage::SearchWords, started.elapsed());
            Ok(words)
        });
        let (request, query) = &**asked;
        if let Some(like) = request.like {
            let (inner, snapshot) = (Arc::clone(&self.inner), Arc::clone(indexes));
            let vector = move || Ok(Searcher::new(&inner.store, snapshot).vector_of(like)?);
            return tokio::join!(words, self.run_blocking(vector));
        }
        tokio::join!(words, self.query_vector(request.mode, query, indexes))
    }

    /// Without a vector the searcher answers by words alone, and says so.
    pub(super) async fn query_vector(
        &self,
        mode: SearchMode,
        query: &Query,
        indexes: &IndexSnapshot,
    ) -> Result<Option<QueryVector>, EngineError> {
        let unavailable = |reason| Err(EngineError::ModelUnavailable { reason });
        match (mode, self.query_model(indexes.model())) {
            (SearchMode::Keyword, _) => Ok(None),
            (_, Some(Ok(model))) => {
                let started = Instant::now();
                let vector = self.embed_query(&model, query).await;
                if matches!(vector, Ok(Some(_))) {
                    self.inner.recorder.record(Stage::SearchEmbed, started.elapsed());
                }
                vector
            }
            (SearchMode::Semantic, Some(Err(reason))) => unavailable(reason),
            (SearchMode::Semantic, None) => unavailable("it is still loading".to_owned()),
            (SearchMode::Hybrid, _) => Ok(None),
        }
    }
}
