//! Laying out a document's text for reading, with every shown character traced to its bytes so that
//! marks stay exact.

mod excerpt;
mod layout;
mod lines;
mod markdown;
mod marks;
mod node;

pub use excerpt::{Excerpt, Piece};
pub use layout::{Layout, TextStyle};
pub use marks::{Marks, Segment};
pub use node::{Kind, Node};
