//! A graph while it is made: what walks need, and nothing that could be written only once.

use std::io;

use super::codes::CodeTable;
use super::image::Numbers;
use super::shape::Shape;
use super::view::{NO_NODE, Web};

/// Links and codes.
#[derive(Debug)]
pub(super) struct Draft {
    pub shape: Shape,
    links: Numbers<u32>,
    upper_links: Numbers<u32>,
    pub codes: Numbers<i8>,
}

impl Draft {
    /// Nodes without neighbors, whose codes are 0.
    pub fn new(shape: Shape) -> io::Result<Self> {
        let mut links = Numbers::zeros(shape.nodes * shape.m0())?;
        let mut upper_links = Numbers::zeros(shape.upper.iter().sum::<usize>() * shape.m)?;
        links.fill(NO_NODE);
        upper_links.fill(NO_NODE);
        let codes = Numbers::zeros(shape.nodes * shape.stride())?;
        Ok(Self { shape, links, upper_links, codes })
    }

    pub fn web(&self) -> Web<'_> {
        Web {
            shape: &self.shape,
            links: &self.links,
            upper_links: &self.upper_links,
            codes: CodeTable::new(&self.codes, self.shape.stride()),
        }
    }

    /// Sets the neighbors of a node.
    pub fn set_neighbors(&mut self, level: usize, node: u32, neighbors: &[u32]) {
        let places = if level == 0 {
            &mut self.links[self.shape.links_at(node)]
        } else {
            &mut self.upper_links[self.shape.upper_links_at(level, node)]
        };
        let (used, empty) = places.split_at_mut(neighbors.len());
        used.copy_from_slice(neighbors);
        empty.fill(NO_NODE);
    }
}
