//! The greedy walk of the paper's Algorithm 2: expand the nearest node whose neighbors were not looked at
//! yet, keep the `ef` nearest, stop when all of them have been expanded.

use super::kernel::{self, Dots};
use super::near::Near;
use super::view::{NO_NODE, Web};

/// What a walk needs besides the graph. It is used again for the next, so that a search allocates
/// nothing.
#[derive(Debug, Default)]
pub(super) struct Walk {
    seen: Seen,
    /// The nearest so far, nearest first.
    pub pool: Vec<Near>,
    fresh: Vec<u32>,
    dots: Vec<i32>,
}

/// One bit a node: a few of these fit the first cache where a stamp a node would not.
#[derive(Debug, Default)]
pub(super) struct Seen {
    words: Vec<u64>,
}

impl Seen {
    pub fn clear(&mut self, nodes: usize) {
        self.words.clear();
        self.words.resize(nodes.div_ceil(64), 0);
    }

    /// Whether the node is there and was not seen before.
    #[inline]
    pub fn is_fresh(&mut self, node: u32) -> bool {
        let Some(word) = self.words.get_mut(node as usize / 64) else { return false };
        let bit = 1 << (node % 64);
        let fresh = *word & bit == 0;
        *word |= bit;
        fresh
    }
}

impl Walk {
    /// Goes down from the entry to `level`, always to the nearest neighbor; returns where it came to.
    pub fn descend(
        &mut self,
        web: &Web<'_>,
        dots: Dots,
        query: &[i8],
        entry: u32,
        level: usize,
    ) -> u32 {
        let mut at = Near::new(self.dot(web, dots, query, entry), entry);
        for level in (level + 1..=web.shape.level_of(entry)).rev() {
            loop {
                let on_level = web.shape.upper[level - 1] as u32;
                self.fresh.clear();
                let neighbors = web.neighbors(level, at.node()).iter();
                self.fresh.extend(neighbors.filter(|neighbor| **neighbor < on_level));
                self.measure(web, dots, query);
                let nearest = self.fresh.iter().zip(&self.dots).map(|(n, d)| Near::new(*d, *n));
                match nearest.min() {
                    Some(nearer) if nearer < at => at = nearer,
                    _ => break,
                }
            }
        }
        at.node()
    }

    /// Leaves the `ef` nodes of `level` that it found nearest in [`Walk::pool`].
    pub fn search(
        &mut self,
        web: &Web<'_>,
        dots: Dots,
        query: &[i8],
        (level, entries): (usize, &[u32]),
        ef: usize,
    ) {
        let on_level = if level == 0 { web.shape.nodes } else { web.shape.upper[level - 1] };
        self.seen.clear(on_level);
        self.pool.clear();
        self.fresh.clear();
        for entry in entries {
            if self.seen.is_fresh(*entry) {
                self.fresh.push(*entry);
            }
        }
        self.measure(web, dots, query);
        let mut next = 0;
        self.take_in(ef, &mut next);
        while let Some(near) = self.pool.get_mut(next) {
            let node = near.node();
            *near = near.expanded();
            while self.pool.get(next).is_some_and(|near| near.is_expanded()) {
                next += 1;
            }
            self.fresh.clear();
            for neighbor in web.places(level, node) {
                if *neighbor == NO_NODE {
                    break;
                }
                if self.seen.is_fresh(*neighbor) {
                    self.fresh.push(*neighbor);
                }
            }
            if let Some(near) = self.pool.get(next) {
                kernel::prefetch(web.places(level, near.node()));
            }
            self.measure(web, dots, query);
            self.take_in(ef, &mut next);
        }
    }

    /// Puts what was measured in the pool where it is near enough; `next` is the first in the pool that
    /// was not expanded.
    #[inline]
    fn take_in(&mut self, ef: usize, next: &mut usize) {
        for (node, dot) in self.fresh.iter().zip(&self.dots) {
            let near = Near::new(*dot, *node);
            if self.pool.len() >= ef {
                match self.pool.last() {
                    Some(last) if near < *last => {
                        self.pool.pop();
                    }
                    _ => continue,
                }
            }
            let at = self.pool.partition_point(|other| *other < near);
            self.pool.insert(at, near);
            *next = at.min(*next);
        }
    }

    #[inline]
    fn measure(&mut self, web: &Web<'_>, dots: Dots, query: &[i8]) {
        self.dots.resize(self.fresh.len(), 0);
        dots(query, web.codes, &self.fresh, &mut self.dots);
    }

    fn dot(&mut self, web: &Web<'_>, dots: Dots, query: &[i8], node: u32) -> i32 {
        self.fresh.clear();
        self.fresh.push(node);
        self.measure(web, dots, query);
        self.dots[0]
    }
}
