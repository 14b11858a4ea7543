//! One Markov chain over DAGs: its state, and a sweep.

use serde::{Deserialize, Serialize};

use super::ladder::{Ladder, log_weight};
use super::mask::{Mask, bit};
use super::moves::{redraw_pair, reverse_edge};
use super::partition::{Worths, draw_parents, layers_of, relocate};
use super::table::ParentSets;
use crate::graph::Dag;
use crate::num::random::{Draws, Stream};

/// A chain and the graphs it has passed.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(super) struct Chain {
    /// Sweeps ever made: the address of the next one's randomness.
    pub sweeps: u64,
    /// The graph after every sweep that is kept.
    pub path: Vec<Graph>,
    /// Log-weight of every graph of the path.
    pub scores: Vec<f64>,
    now: Graph,
    /// The graphs of the replicas at higher temperatures, the coldest first; none unless chains need them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    replicas: Vec<Graph>,
}

/// The parents of every node.
pub(super) type Graph = Vec<Mask>;

impl Chain {
    /// A chain that starts at a graph drawn for a random order of the nodes that agrees with the required edges.
    pub fn start(tables: &[ParentSets], required: &Dag, stream: Stream) -> Self {
        let mut draws = stream.named("start").draws();
        let mut placed = Mask::EMPTY;
        let mut now: Graph = vec![Mask::EMPTY; tables.len()];
        let mut left: Vec<usize> = (0..tables.len()).collect();
        while !left.is_empty() {
            let free = |node: &usize| required.parents(*node).iter().all(|parent| placed.contains(parent));
            let open: Vec<usize> = left.iter().copied().filter(free).collect();
            let node = open[draws.below(open.len())];
            now[node] = tables[node].draw(placed, Mask::EMPTY, &mut draws).expect("the required parents");
            placed |= bit(node);
            left.retain(|other| *other != node);
        }
        Self { sweeps: 0, path: Vec::new(), scores: Vec::new(), now, replicas: Vec::new() }
    }

    /// Gives the chain so many replicas at higher temperatures, which start where it is.
    pub fn replicate(&mut self, count: usize) {
        self.replicas = vec![self.now.clone(); count];
    }

    /// Number of replicas.
    pub fn replicas(&self) -> usize {
        self.replicas.len()
    }

    /// Makes this many sweeps and adds the graphs to the path; replicas move too, and swap with the chain. The ladder has a
    /// step for each of them.
    pub fn advance(&mut self, count: usize, tables: &[ParentSets], ladder: &Ladder, stream: Stream) {
        let mut graphs: Vec<Graph> = [&self.now].into_iter().chain(&self.replicas).cloned().collect();
        for _ in 0..count {
            let at = stream.at(self.sweeps);
            let mut draws = at.draws();
            sweep(&mut graphs[0], tables, &mut draws);
            for (replica, graph) in graphs[1..].iter_mut().enumerate() {
                let mut draws = at.named("replica").at(replica as u64).draws();
                sweep(graph, ladder.tables(replica), &mut draws);
            }
            if graphs.len() > 1 {
                ladder.swap(&mut graphs, tables, self.sweeps % 2 == 1, &mut draws);
            }
            self.sweeps += 1;
            self.scores.push(log_weight(&graphs[0], tables));
            self.path.push(graphs[0].clone());
        }
        self.replicas = graphs.split_off(1);
        self.now = graphs.swap_remove(0);
    }

    /// The chain after this many sweeps that are not recorded.
    pub fn moved(&self, count: usize, tables: &[ParentSets], stream: Stream) -> Self {
        let mut parents = self.now.clone();
        for k in 0..count {
            sweep(&mut parents, tables, &mut stream.at(k as u64).draws());
        }
        Self { now: parents, ..self.clone() }
    }

    /// Is the chain complete, for this many nodes?
    pub fn is_complete(&self, nodes: usize) -> bool {
        let fits =
            |graph: &Graph| graph.len() == nodes && graph.iter().all(|set| set.is_within(Mask::first(nodes)));
        self.path.len() as u64 == self.sweeps
            && self.path.len() == self.scores.len()
            && self.path.iter().chain(self.moving()).all(fits)
            && self.moving().all(is_acyclic)
    }

    /// Are all graphs of the path acyclic? Those of a complete chain that moved here are.
    pub fn passed_only_dags(&self) -> bool {
        let same_as_before = |place: usize| place > 0 && self.path[place] == self.path[place - 1];
        (0..self.path.len()).all(|place| same_as_before(place) || is_acyclic(&self.path[place]))
    }

    /// Are these tables, which only ever grow, those that the chain and its replicas moved by?
    pub fn is_within(&self, tables: &[ParentSets]) -> bool {
        let known = |(set, table): (&Mask, &ParentSets)| table.score(*set).is_some();
        self.path.iter().chain(self.moving()).all(|graph| graph.iter().zip(tables).all(known))
    }

    /// The graphs from which the chain and its replicas go on.
    fn moving(&self) -> impl Iterator<Item = &Graph> {
        self.replicas.iter().chain([&self.now])
    }

    /// Drops all but the last graphs.
    pub fn keep_last(&mut self, count: usize) {
        let gone = self.path.len().saturating_sub(count);
        self.path.drain(..gone);
        self.scores.drain(..gone);
    }
}

fn is_acyclic(graph: &Graph) -> bool {
    Dag::from_parents(graph.iter().map(|set| set.node_set(graph.len())).collect()).is_ok()
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
