//! The vector index: a graph of what has settled, a scan of what has not.
//!
//! Passages that came since the graph was made are scanned, those that went are marked, and
//! [`HnswIndex::upkeep`] makes the next graph from both in the background. A search holds the state that
//! was there when it began; neither updates nor upkeep make it wait. Below the size at which a graph is
//! faster there is none, and the whole index is the scan.

mod home;
#[cfg(test)]
mod laws;
mod upkeep;

use std::collections::HashSet;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arc_swap::ArcSwap;

pub use self::home::{VectorHome, VectorOpening};
pub use self::upkeep::{Upkeep, UpkeepError};
use super::bits::Bits;
use super::exact::{RowPlaces, RowSet, Scan};
use super::graph::{Graph, GraphOptions, VectorFileError, Wanted};
use super::vector::check_query;
use super::{PassageFilter, VectorIndex, VectorIndexError, VectorUpdate};
use crate::data::{Candidate, ChangeNumber, DocumentId, Embedding};
use crate::platform;
use crate::platform::Simd;

/// Passages from which on a graph is faster than the scan, as `benches/vector_search.rs` measures it.
const GRAPH_ROWS_MIN: usize = 8_192;

/// What decides how an index is made.
#[derive(Clone, Debug, PartialEq)]
pub struct HnswOptions {
    /// Components of a vector.
    pub dim: usize,
    pub simd: Simd,
    /// Threads that upkeep uses.
    pub threads: usize,
    /// Neighbors of a node of the graph; twice as many on the lowest level.
    pub m: usize,
    /// Candidates that the neighbors of a node are chosen from.
    pub ef_construction: usize,
    /// Decides which nodes are on the upper levels.
    pub seed: u64,
    /// Passages below which there is no graph.
    pub graph_rows_min: usize,
    /// Nodes that a search keeps while walking; `None` for as many as recall needs.
    pub ef: Option<usize>,
}

impl HnswOptions {
    /// What the application uses: half of the processor's threads, so that embedding goes on.
    #[must_use]
    pub fn new(dim: usize) -> Self {
        Self {
            dim,
            simd: Simd::detect(),
            threads: platform::cores().div_ceil(2),
            m: 16,
            ef_construction: 200,
            seed: 0,
            graph_rows_min: GRAPH_ROWS_MIN,
            ef: None,
        }
    }

    fn graph(&self) -> GraphOptions {
        let Self { dim, simd, m, ef_construction, seed, .. } = *self;
        GraphOptions { dim, m, ef_construction, seed, simd }
    }
}

/// See the [module](self).
#[derive(Debug)]
pub struct HnswIndex {
    options: HnswOptions,
    home: Option<VectorHome>,
    scan: Scan,
    state: ArcSwap<State>,
    writer: Mutex<Writer>,
    /// The turn of upkeep.
    upkeep: Mutex<()>,
    /// Whether every byte of the graph is known to be what was written.
    is_verified: AtomicBool,
    is_damaged: AtomicBool,
    /// The change that a file reflects which could not be opened, so that nobody waits for it.
    refused: Option<ChangeNumber>,
}

/// The index as one search sees it.
#[derive(Clone, Debug, Default)]
struct State {
    settled: Option<Settled>,
    recent: RowSet,
}

/// A graph, and which of its nodes are no more.
#[derive(Clone, Debug)]
struct Settled {
    graph: Arc<Graph>,
    dead: Arc<Bits>,
    /// The change that the graph itself reflects.
    reached: ChangeNumber,
}

/// What only updates need.
#[derive(Debug, Default)]
struct Writer {
    places: RowPlaces,
    /// Documents that changed since upkeep began to make a graph.
    touched: Option<HashSet<DocumentId>>,
}

/// What an index consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VectorParts {
    /// Passages in the graph.
    pub settled: usize,
    /// Passages in the graph that are no more.
    pub dead: usize,
    /// Passages that are scanned.
    pub recent: usize,
    /// Bytes of the graph, in memory or mapped from its file.
    pub graph_bytes: usize,
}

impl fmt::Display for VectorParts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { settled, dead, recent, graph_bytes } = self;
        if *settled == 0 {
            return write!(f, "{recent} scanned");
        }
        let megabytes = *graph_bytes as f64 / 1e6;
        write!(f, "{} in a graph of {megabytes:.1} MB, {recent} scanned", settled - dead)
    }
}

impl HnswIndex {
    /// An empty index that is kept in memory alone.
    #[must_use]
    pub fn new(options: HnswOptions) -> Self {
        Self::with(options, None, State::default())
    }

    /// The index whose graph is at `home`, or an empty one where there is no graph that can be used.
    /// [`VectorIndex::reached`] tells where it stands.
    #[must_use]
    pub fn open(options: HnswOptions, home: VectorHome) -> (Self, VectorOpening) {
        let (opened, opening) = home.open(&options.graph());
        let state = opened.map_or_else(State::default, |(graph, reached)| State {
            settled: Some(Settled::new(graph, reached)),
            recent: RowSet::reaching(reached),
        });
        let is_unusable = matches!(opening, VectorOpening::Unusable { .. });
        let refused = if is_unusable { home.newest() } else { None };
        (Self { refused, ..Self::with(options, Some(home), state) }, opening)
    }

    fn with(options: HnswOptions, home: Option<VectorHome>, state: State) -> Self {
        Self {
            scan: Scan::new(options.dim, options.simd),
            is_verified: AtomicBool::new(state.settled.is_none()),
            options,
            home,
            state: ArcSwap::from_pointee(state),
            writer: Mutex::default(),
            upkeep: Mutex::default(),
            is_damaged: AtomicBool::new(false),
            refused: None,
        }
    }

    /// Keeps so many nodes while walking from now on, or as many as recall needs: what a bench varies.
    pub fn set_ef(&mut self, ef: Option<usize>) {
        self.options.ef = ef;
    }

    /// Whether the graph's file has turned out to be damaged: everything has to be read anew.
    #[must_use]
    pub fn is_damaged(&self) -> bool {
        self.is_damaged.load(Ordering::Acquire)
    }

    #[must_use]
    pub fn parts(&self) -> VectorParts {
        let state = self.state.load();
        let settled = state.settled.as_ref();
        VectorParts {
            settled: settled.map_or(0, |settled| settled.graph.len()),
            dead: settled.map_or(0, |settled| settled.dead.ones()),
            recent: state.recent.live_rows(),
            graph_bytes: settled.map_or(0, |settled| settled.graph.bytes()),
        }
    }

    /// Compares every byte of the graph with the checksums of its file, if it has one.
    ///
    /// # Errors
    /// What is damaged. Upkeep will find it as well.
    pub fn check(&self) -> Result<(), VectorFileError> {
        let state = self.state.load_full();
        let Some(Settled { graph, .. }) = &state.settled else { return Ok(()) };
        graph.verify(&|| false).map(drop).inspect_err(|_| {
            self.is_damaged.store(true, Ordering::Release);
        })
    }

    fn writer(&self) -> MutexGuard<'_, Writer> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Settled {
    fn new(graph: Graph, reached: ChangeNumber) -> Self {
        let dead = Arc::new(Bits::none(graph.len()));
        Self { graph: Arc::new(graph), dead, reached }
    }

    fn live(&self) -> usize {
        self.graph.len() - self.dead.ones()
    }

    /// Marks the passages of documents as gone.
    fn kill<'a>(&mut self, documents: impl Iterator<Item = &'a DocumentId>) {
        for document in documents {
            for node in self.graph.nodes_of(*document) {
                if !self.dead.has(*node) {
                    Arc::make_mut(&mut self.dead).add(*node);
                }
            }
        }
    }
}

impl VectorIndex for HnswIndex {
    fn dim(&self) -> usize {
        self.options.dim
    }

    fn len(&self) -> usize {
        let VectorParts { settled, dead, recent, .. } = self.parts();
        settled - dead + recent
    }

    fn reached(&self) -> ChangeNumber {
        self.state.load().recent.reached
    }

    fn apply(&self, update: VectorUpdate) -> Result<(), VectorIndexError> {
        update.check(self.options.dim)?;
        let mut writer = self.writer();
        let mut state = State::clone(&self.state.load());
        if update.from_scratch {
            state.settled = None;
            // What upkeep is making is of no use any more.
            writer.touched = None;
        }
        if let Some(settled) = &mut state.settled {
            settled.kill(update.changed());
        }
        if let Some(touched) = &mut writer.touched {
            touched.extend(update.changed());
        }
        writer.places.apply(&mut state.recent, update, self.options.dim);
        self.state.store(Arc::new(state));
        Ok(())
    }

    fn search(
        &self,
        query: &Embedding,
        filter: &PassageFilter,
        limit: usize,
    ) -> Result<Vec<Candidate>, VectorIndexError> {
        check_query(query, self.options.dim)?;
        if limit == 0 || filter.is_none() {
            return Ok(Vec::new());
        }
        let state = self.state.load_full();
        let query = query.as_slice();
        let mut top = self.scan.search(&state.recent, query, filter, limit);
        if let Some(Settled { graph, dead, .. }) = &state.settled {
            let wanted = Wanted { query, filter, dead, ef: self.options.ef };
            graph.search(&wanted, limit, &mut top);
        }
        Ok(top.into_candidates())
    }
}
