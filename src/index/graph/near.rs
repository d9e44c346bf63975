//! A node and how near it is, in one number that sorts.

/// Orders by distance, then by node. The lowest bit tells whether the node's neighbors were looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Near(u64);

/// Nodes that the number has room for.
pub(super) const NODES_MAX: usize = 1 << 31;

/// More than any dot product of two codes of up to 66,000 components.
const DOT_BOUND: i32 = 1 << 30;

impl Near {
    pub fn new(dot: i32, node: u32) -> Self {
        let distance = (DOT_BOUND - dot) as u32;
        Self(u64::from(distance) << 32 | u64::from(node) << 1)
    }

    #[inline]
    pub fn node(self) -> u32 {
        (self.0 as u32) >> 1
    }

    /// Smaller is nearer.
    #[inline]
    pub fn distance(self) -> u32 {
        (self.0 >> 32) as u32
    }

    /// The distance that a dot product amounts to.
    pub fn distance_of(dot: i32) -> u32 {
        (DOT_BOUND - dot) as u32
    }

    #[inline]
    pub fn is_expanded(self) -> bool {
        self.0 & 1 == 1
    }

    #[inline]
    pub fn expanded(self) -> Self {
        Self(self.0 | 1)
    }
}
