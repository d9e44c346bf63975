//! What a worker has before it while it attends: its own memory, and what lies where.

use super::{QUERIES, STRETCH};
use crate::inference::backend::cpu::kernel::Kernel;

/// Where on a worker's desk things lie, in f32 from its start; and their shapes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Desk {
    /// Components of a head, as inputs and as outputs.
    pub depth: usize,
    pub outputs: usize,
    /// Keys of a stretch, filled up.
    pub keys: usize,
    pub queries: usize,
    pub key_panels: usize,
    pub value_panels: usize,
    /// [`Kernel::ROWS`] rows of `keys` in f32, and as operands.
    pub scores: usize,
    pub weights: usize,
    /// `[queries, outputs]`.
    pub sums: usize,
    /// A number a query: the running maximum, and the running sum of weights.
    pub maxima: usize,
    pub totals: usize,
    pub numbers: usize,
}

impl Desk {
    pub fn new<K: Kernel>(d: usize, longest: usize) -> Self {
        let up = |count: usize| count.next_multiple_of(64);
        let whole = K::OUTPUTS.max(K::DEPTH);
        let keys = longest.min(STRETCH).next_multiple_of(whole);
        let rows = longest.min(QUERIES).next_multiple_of(K::ROWS);
        let (depth, outputs) = (d.next_multiple_of(K::DEPTH), d.next_multiple_of(K::OUTPUTS));
        let mut desk = Self { depth, outputs, keys, ..Self::default() };
        let mut end = 0;
        let mut lay = |count: usize| {
            let at = end;
            end += up(count);
            at
        };
        // Operands are no larger than f32.
        desk.queries = lay(rows * depth);
        desk.key_panels = lay(keys * depth);
        desk.value_panels = lay(outputs * keys);
        desk.scores = lay(K::ROWS * keys);
        desk.weights = lay(K::ROWS * keys);
        desk.sums = lay(rows * outputs);
        desk.maxima = lay(rows);
        desk.totals = lay(rows);
        desk.numbers = end;
        desk
    }

    /// The places on the desk that begins at `start`.
    ///
    /// # Safety
    /// There are `numbers` numbers from `start` on.
    pub unsafe fn at<K: Kernel>(&self, start: *mut f32) -> Laid<K> {
        // SAFETY: said by the caller.
        let place = |at: usize| unsafe { start.add(at) };
        Laid {
            queries: place(self.queries).cast(),
            keys: place(self.key_panels).cast(),
            values: place(self.value_panels).cast(),
            scores: place(self.scores),
            weights: place(self.weights).cast(),
            sums: place(self.sums),
            maxima: place(self.maxima),
            totals: place(self.totals),
        }
    }
}

/// A desk's places as addresses.
pub(super) struct Laid<K: Kernel> {
    pub queries: *mut K::Operand,
    pub keys: *mut K::Operand,
    pub values: *mut K::Operand,
    pub scores: *mut f32,
    pub weights: *mut K::Operand,
    pub sums: *mut f32,
    pub maxima: *mut f32,
    pub totals: *mut f32,
}
