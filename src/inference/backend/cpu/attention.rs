//! softmax(q · kᵀ / √d + bias) · v, a head of a sequence at a time.
//!
//! Keys are met in stretches with a running maximum and sum (Milakov & Gimelshein 2018), so that memory
//! does not grow with the square of a sequence's length. The exponentials are powers of two: the factor
//! 1 / ln 2 is part of the scale.

mod desk;
mod pack;
mod scores;
mod stretch;

use std::f32::consts::LOG2_E;
use std::ops::Range;
use std::sync::Arc;

use self::desk::{Desk, Laid};
use super::buffer::{Rows, Shelf};
use super::kernel::{Block, Kernel, Task};
use crate::inference::Alibi;
use crate::inference::backend::{Attention, BackendError};

/// Keys whose scores are held at once.
const STRETCH: usize = 512;

/// Queries of a part. Keys and values are packed once a part, which costs as much as one or two queries.
const QUERIES: usize = 256;

/// Some queries of a sequence.
#[derive(Clone, Debug)]
pub(super) struct Piece {
    /// Rows of the batch.
    sequence: Range<usize>,
    queries: Range<usize>,
}

/// Cuts sequences into pieces.
pub(super) fn pieces(sequences: impl Iterator<Item = Range<usize>>) -> Vec<Piece> {
    let piece = |sequence: &Range<usize>, first: usize| Piece {
        sequence: sequence.clone(),
        queries: first..(first + QUERIES).min(sequence.end),
    };
    sequences
        .flat_map(|sequence| {
            sequence.clone().step_by(QUERIES).map(move |first| piece(&sequence, first))
        })
        .collect()
}

/// Attention as a task whose parts are the heads of pieces.
#[derive(Debug)]
pub(super) struct Attend<'a, K: Kernel> {
    qkv: &'a Rows<K::Operand>,
    out: Block<*mut K::Operand>,
    pieces: &'a [Piece],
    heads: usize,
    slopes: &'a [f32],
    width: usize,
    scale: f32,
    desk: Desk,
    /// A desk for each worker.
    desks: Rows<f32>,
}

// SAFETY: parts write rows and columns of their own, and each worker has a desk.
unsafe impl<K: Kernel> Sync for Attend<'_, K> {}

impl<'a, K: Kernel> Attend<'a, K> {
    /// # Errors
    /// When the system has no memory.
    pub fn new(
        shelf: &Arc<Shelf>,
        threads: usize,
        qkv: &'a Rows<K::Operand>,
        out: &Rows<K::Operand>,
        pieces: &'a [Piece],
        attention: &'a Attention,
    ) -> Result<Self, BackendError> {
        let width = qkv.columns / 3 / attention.heads;
        let longest = pieces.iter().map(|piece| piece.sequence.len()).max().unwrap_or(0);
        let desk = Desk::new::<K>(width, longest);
        Ok(Self {
            qkv,
            out: out.block_mut(),
            pieces,
            heads: attention.heads,
            slopes: attention.alibi.as_ref().map_or(&[], Alibi::slopes),
            width,
            scale: LOG2_E / (width as f32).sqrt(),
            desk,
            desks: Rows::exactly(shelf, threads, desk.numbers)?,
        })
    }

    pub fn parts(&self) -> usize {
        self.pieces.len() * self.heads
    }

    /// # Safety
    /// Nobody else is `worker`.
    unsafe fn desk(&self, worker: usize) -> Laid<K> {
        let Block { start, stride } = self.desks.block_mut();
        // SAFETY: each worker has a row, which is as long as a desk.
        unsafe { self.desk.at(start.add(worker * stride)) }
    }

    /// Row `row` of the queries (0), keys (1) or values (2) of a head.
    fn row(&self, which: usize, head: usize, row: usize) -> *const K::Operand {
        let Block { start, stride } = self.qkv.block();
        let column = which * self.heads * self.width + head * self.width;
        // SAFETY: the row has three times all heads.
        unsafe { start.add(row * stride + column) }
    }
}

impl<K: Kernel> Task<K> for Attend<'_, K> {
    #[inline(always)]
    unsafe fn run(&self, at: usize, worker: usize) {
        let (piece, head) = (&self.pieces[at / self.heads], at % self.heads);
        // SAFETY: all below works on this worker's desk, and writes the head's part of the piece's rows.
        unsafe {
            let desk = self.desk(worker);
            self.lay_queries(&desk, piece, head);
            for first in piece.sequence.clone().step_by(STRETCH) {
                let keys = first..(first + STRETCH).min(piece.sequence.end);
                self.lay_keys(&desk, &keys, head);
                self.lay_values(&desk, &keys, head);
                for first_query in (0..piece.queries.len()).step_by(K::ROWS) {
                    let last = (first_query + K::ROWS).min(piece.queries.len());
                    self.meet(&desk, piece, first_query..last, &keys, head);
                }
            }
            self.write(&desk, piece, head);
        }
    }
}
