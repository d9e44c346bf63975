//! Upkeep: checks the graph's file once, makes the next graph when it is due, writes it, and lets searches
//! see it.

use std::collections::HashSet;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use tracing::warn;

use super::home::Turn;
use super::{HnswIndex, Settled, State, Writer};
use crate::data::ChunkKey;
use crate::index::VectorUpdate;
use crate::index::exact::{RowPlaces, RowSet};
use crate::index::graph::{Graph, GraphError, Row, VectorFileError};

/// Passages that are scanned beside a graph before the next one is made, at least.
const RECENT_MIN: usize = 4_096;

/// The same as a share of the graph: the scan of so many takes less than the walk of a graph that has
/// 32 times as many.
const RECENT_SHARE: usize = 32;

/// A graph of whose nodes one in so many is dead is made anew.
const DEAD_SHARE: usize = 5;

/// What upkeep did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Upkeep {
    /// Nothing was due.
    Nothing,
    /// Another thread or process is at it.
    Busy,
    /// It was told to stop; searches go on with what they have.
    Cancelled,
    /// A graph of so many passages was made.
    Made { passages: usize },
    /// There are so few passages that a scan is faster; the graph is gone.
    Dropped,
}

/// Why upkeep failed. Searches go on with what they have, and scan what is not in it.
#[derive(Debug, thiserror::Error)]
pub enum UpkeepError {
    /// The graph on disk cannot be trusted: the index has to be read anew.
    #[error("the vector index {0}; it is made anew")]
    Damaged(#[source] VectorFileError),
    #[error("the folder of the vector index cannot be written: {0}")]
    Folder(#[from] io::Error),
    #[error("the vector index cannot be made: {reason}")]
    Make { reason: String },
}

impl From<GraphError> for UpkeepError {
    fn from(error: GraphError) -> Self {
        Self::Make { reason: error.to_string() }
    }
}

/// What is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Due {
    Nothing,
    Graph,
    Scan,
}

impl HnswIndex {
    /// Whether [`HnswIndex::upkeep`] has anything to do.
    #[must_use]
    pub fn needs_upkeep(&self) -> bool {
        !self.is_verified.load(Ordering::Acquire)
            || (self.due(&self.state.load()) != Due::Nothing && !self.is_outdated())
    }

    /// Whether the file that another process wrote would spare this one some upkeep: opening the index
    /// again is cheaper.
    #[must_use]
    pub fn is_outdated(&self) -> bool {
        let state = self.state.load();
        let reached = state.settled.as_ref().map(|settled| settled.reached);
        self.due(&state) == Due::Graph
            && self.home.as_ref().and_then(super::VectorHome::newest) > reached.max(self.refused)
    }

    fn due(&self, state: &State) -> Due {
        let recent = state.recent.live_rows();
        let min = self.options.graph_rows_min;
        match &state.settled {
            None if recent >= min => Due::Graph,
            None => Due::Nothing,
            // Half of it, lest a few passages more or less make a graph come and go.
            Some(settled) if settled.live() + recent < min / 2 => Due::Scan,
            Some(Settled { graph, dead, .. }) => {
                let has_grown = recent > RECENT_MIN.min(min).max(graph.len() / RECENT_SHARE);
                let has_died = dead.ones() > graph.len() / DEAD_SHARE;
                if has_grown || has_died { Due::Graph } else { Due::Nothing }
            }
        }
    }

    /// Does what is due; takes seconds to minutes. One thread of one process does it at a time.
    ///
    /// # Errors
    /// [`UpkeepError`]; then searches go on with what they have.
    pub fn upkeep(&self, is_cancelled: &(dyn Fn() -> bool + Sync)) -> Result<Upkeep, UpkeepError> {
        let Ok(_one) = self.upkeep.try_lock() else { return Ok(Upkeep::Busy) };
        if !self.verify(is_cancelled)? {
            return Ok(Upkeep::Cancelled);
        }
        let due = self.due(&self.state.load());
        if due == Due::Nothing {
            return Ok(Upkeep::Nothing);
        }
        let turn = match self.home.as_ref().map(super::VectorHome::turn).transpose()? {
            Some(None) => return Ok(Upkeep::Busy),
            Some(turn) => turn,
            None => None,
        };
        // Whoever had the turn before has made what is due here as well.
        if self.is_outdated() {
            return Ok(Upkeep::Nothing);
        }
        let state = {
            let mut writer = self.writer();
            writer.touched = Some(HashSet::new());
            self.state.load_full()
        };
        let next = match due {
            Due::Scan => Ok(Some(None)),
            _ => self.make(&state, turn.as_ref(), is_cancelled).map(|made| made.map(Some)),
        };
        let mut writer = self.writer();
        let touched = writer.touched.take();
        // Emptied meanwhile: what was made is of passages that are no more.
        let (Some(next), Some(touched)) = (next?, touched) else { return Ok(Upkeep::Cancelled) };
        let passages = next.as_ref().map(|settled| settled.graph.len());
        let shown = self.next_state(&mut writer, &state, next, &touched);
        self.state.store(Arc::new(shown));
        self.is_verified.store(true, Ordering::Release);
        drop(writer);
        if let (None, Some(home), Some(turn)) = (passages, &self.home, &turn) {
            home.clear(turn);
        }
        Ok(passages.map_or(Upkeep::Dropped, |passages| Upkeep::Made { passages }))
    }

    /// Checks every byte of a graph that came from a file, once; false when it `is_cancelled` before.
    fn verify(&self, is_cancelled: &dyn Fn() -> bool) -> Result<bool, UpkeepError> {
        if self.is_verified.load(Ordering::Acquire) {
            return Ok(true);
        }
        if let Some(Settled { graph, .. }) = &self.state.load_full().settled {
            match graph.verify(is_cancelled) {
                Ok(true) => {}
                Ok(false) => return Ok(false),
                Err(damage) => {
                    self.is_damaged.store(true, Ordering::Release);
                    if let Some(home) = &self.home
                        && let Some(turn) = home.turn()?
                    {
                        home.clear(&turn);
                    }
                    return Err(UpkeepError::Damaged(damage));
                }
            }
        }
        self.is_verified.store(true, Ordering::Release);
        Ok(true)
    }

    /// The graph of everything in `state`, on disk if it has a home.
    fn make(
        &self,
        state: &State,
        turn: Option<&Turn>,
        is_cancelled: &(dyn Fn() -> bool + Sync),
    ) -> Result<Option<Settled>, UpkeepError> {
        let options = self.options.graph();
        let rows = rows_of(&state.recent, options.dim);
        let before = state.settled.as_ref().map(|settled| (&*settled.graph, &*settled.dead));
        let threads = rayon::ThreadPoolBuilder::new()
            .num_threads(self.options.threads.max(1))
            .thread_name(|number| format!("vector-index-{number}"))
            .build()
            .map_err(|error| UpkeepError::Make { reason: error.to_string() })?;
        let made = threads.install(|| Graph::merged(before, rows, &options, is_cancelled))?;
        let Some(graph) = made else { return Ok(None) };
        let reached = state.recent.reached;
        let graph = match (&self.home, turn) {
            (Some(home), Some(turn)) => {
                home.keep(&graph, reached, &options, turn).unwrap_or_else(|error| {
                    warn!("the vector index cannot be kept on disk: {error}");
                    graph
                })
            }
            _ => graph,
        };
        Ok(Some(Settled::new(graph, reached)))
    }

    /// What searches are to see: the new graph with what changed since `from`, which it was made of.
    fn next_state(
        &self,
        writer: &mut Writer,
        from: &State,
        mut settled: Option<Settled>,
        touched: &HashSet<crate::data::DocumentId>,
    ) -> State {
        let now = self.state.load();
        let mut update = VectorUpdate::reaching(now.recent.reached);
        if let Some(settled) = &mut settled {
            settled.kill(touched.iter());
        }
        if settled.is_none()
            && let Some(Settled { graph, .. }) = &from.settled
        {
            let dead = now.settled.as_ref().map(|settled| &settled.dead);
            let alive = |node: &u32| dead.is_none_or(|dead| !dead.has(*node));
            for nodes in graph.documents() {
                let rows: Vec<_> = nodes
                    .iter()
                    .filter(|n| alive(n))
                    .flat_map(|n| graph.row(*n))
                    .copied()
                    .collect();
                if !rows.is_empty() {
                    update.upsert(graph.key(nodes[0]).document, &rows);
                }
            }
        }
        for (document, rows) in now.recent.documents() {
            if settled.is_none() || touched.contains(&document) {
                update.upsert(document, rows);
            }
        }
        let mut recent = RowSet::default();
        writer.places = RowPlaces::default();
        writer.places.apply(&mut recent, update, self.options.dim);
        State { settled, recent }
    }
}

fn rows_of(recent: &RowSet, dim: usize) -> Vec<Row<'_>> {
    let mut rows = Vec::with_capacity(recent.live_rows());
    for (document, values) in recent.documents() {
        let of_document = values.chunks_exact(dim.max(1)).zip(0..);
        rows.extend(
            of_document
                .map(|(values, ordinal)| Row { key: ChunkKey { document, ordinal }, values }),
        );
    }
    rows
}
