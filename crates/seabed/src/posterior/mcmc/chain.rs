//! One Markov chain over DAGs: its state, and a sweep.

use serde::{Deserialize, Serialize};

use super::moves::{redraw_pair, reverse_edge};
use super::partition::{Worths, draw_parents, layers_of, relocate};
use super::table::{Mask, ParentSets, bit, nodes_of, set_of};
use crate::graph::Dag;
use crate::num::random::{Draws, Stream};

/// A chain and the graphs it has passed.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(super) struct Chain {
    /// Sweeps ever made: the address of the next one's randomness.
    pub sweeps: u64,
    /// The graph after every sweep that is kept: the parents of every node, as two halves of a mask.
    pub path: Vec<Graph>,
    /// Log-weight of every graph of the path.
    pub scores: Vec<f64>,
    now: Graph,
}

/// The parents of every node.
pub(super) type Graph = Vec<Halves>;

/// A mask in two numbers, because files have no larger ones.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub(super) struct Halves(u64, u64);

impl From<Mask> for Halves {
    fn from(mask: Mask) -> Self {
        Self(mask as u64, (mask >> 64) as u64)
    }
}

impl From<Halves> for Mask {
    fn from(halves: Halves) -> Self {
        Mask::from(halves.0) | Mask::from(halves.1) << 64
    }
}

impl Chain {
    /// A chain that starts at a graph drawn for a random order of the nodes that agrees with the required edges.
    pub fn start(tables: &[ParentSets], required: &Dag, stream: Stream) -> Self {
        let mut draws = stream.named("start").draws();
        let mut placed = 0;
        let mut now: Graph = vec![0.into(); tables.len()];
        let mut left: Vec<usize> = (0..tables.len()).collect();
        while !left.is_empty() {
            let free = |node: &usize| required.parents(*node).iter().all(|parent| placed & bit(parent) != 0);
            let open: Vec<usize> = left.iter().copied().filter(free).collect();
            let node = open[draws.below(open.len())];
            now[node] = tables[node].draw(placed, 0, &mut draws).expect("the required parents").into();
            placed |= bit(node);
            left.retain(|other| *other != node);
        }
        Self { sweeps: 0, path: Vec::new(), scores: Vec::new(), now }
    }

    /// Makes this many sweeps and adds the graphs to the path.
    pub fn advance(&mut self, count: usize, tables: &[ParentSets], stream: Stream) {
        let mut parents: Vec<Mask> = self.now.iter().map(|&halves| halves.into()).collect();
        for _ in 0..count {
            let mut draws = stream.at(self.sweeps).draws();
            sweep(&mut parents, tables, &mut draws);
            self.sweeps += 1;
            let score = |(set, table): (&Mask, &ParentSets)| table.score(*set).expect("a set of the table");
            self.scores.push(parents.iter().zip(tables).map(score).sum());
            self.path.push(parents.iter().map(|&set| set.into()).collect());
        }
        self.now = parents.into_iter().map(Halves::from).collect();
    }

    /// The chain after this many sweeps that are not recorded.
    pub fn moved(&self, count: usize, tables: &[ParentSets], stream: Stream) -> Self {
        let mut parents: Vec<Mask> = self.now.iter().map(|&halves| halves.into()).collect();
        for k in 0..count {
            sweep(&mut parents, tables, &mut stream.at(k as u64).draws());
        }
        Self { now: parents.into_iter().map(Halves::from).collect(), ..self.clone() }
    }

    /// Is the chain complete, for this many nodes?
    pub fn is_complete(&self, nodes: usize) -> bool {
        let fits = |graph: &Graph| {
            graph.len() == nodes && graph.iter().all(|&set| nodes_of(set.into()).all(|node| node < nodes))
        };
        let sets = || self.now.iter().map(|&set| set_of(set.into(), nodes)).collect();
        self.path.len() as u64 == self.sweeps
            && self.path.len() == self.scores.len()
            && self.path.iter().chain([&self.now]).all(fits)
            && Dag::from_parents(sets()).is_ok()
    }

    /// Drops all but the last graphs.
    pub fn keep_last(&mut self, count: usize) {
        let gone = self.path.len().saturating_sub(count);
        self.path.drain(..gone);
        self.scores.drain(..gone);
    }
}

/// Moves every node once to a new place among the layers, draws a graph for the layers, then redraws some pairs and edges.
fn sweep(parents: &mut Vec<Mask>, tables: &[ParentSets], draws: &mut Draws) {
    let nodes = parents.len();
    let mut layers = layers_of(parents);
    // Recomputed for every sweep, so that rounding errors do not accumulate.
    let mut worths = Worths::new(&layers, tables);
    let mut order: Vec<usize> = (0..nodes).collect();
    draws.shuffle(&mut order);
    for node in order {
        relocate(&mut layers, node, tables, &mut worths, draws);
    }
    *parents = draw_parents(&layers, tables, draws);
    for _ in 0..nodes {
        redraw_pair(parents, tables, draws);
    }
    for _ in 0..nodes.div_ceil(2) {
        reverse_edge(parents, tables, draws);
    }
}
