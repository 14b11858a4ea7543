//! Graphs over variables: sets of nodes, DAGs, equivalence classes, random graphs, distances.
//!
//! A node is its index in the order of the data's variables; names live in
//! [`data`](crate::data). Every matrix is row -> column: `a[i][j]` is the edge `i -> j`.

mod chordal;
mod class_size;
mod dag;
mod essential;
mod essential_check;
mod lexbfs;
mod node_set;
mod random;
mod random_layers;
mod random_member;
mod random_tree;
mod refine;
mod shd;
mod shortest_path;
mod sid;
mod sid_bounds;

#[cfg(test)]
mod tests;

pub use class_size::ClassSize;
pub use dag::{CycleError, Dag};
pub use essential::EssentialGraph;
pub use essential_check::EssentialGraphError;
pub use lexbfs::lexbfs;
pub use node_set::NodeSet;
pub use random::{RandomGraphError, erdos_renyi, scale_free};
pub use random_tree::{chain, random_tree};
pub use refine::RefinedClass;
pub use shd::{Adjacency, shd, shd_double};
pub use sid::{sid, wrong_effects};
pub use sid_bounds::{SidBounds, sid_bounds};

/// A variable, as its index in the order of the graph. Used for nothing else.
pub type Node = usize;
