//! Lexicographic breadth-first search, by refining an ordered partition.
//!
//! On a chordal graph the order has no new collider: edges from earlier to later
//! vertices make an acyclic orientation without v-structures. Directed
//! edges are not considered; the caller decides which vertices take part.

use super::{Node, NodeSet};

/// The vertices of `start` in LexBFS order.
///
/// `neighbours[v]` are the undirected neighbours of `v`; those outside `start` are ignored. Among vertices
/// that may come next, the one that is earliest in `start` does, so `start[0]` is always the first.
pub fn lexbfs(neighbours: &[NodeSet], start: &[Node]) -> Vec<Node> {
    let mut rank = vec![0; neighbours.len()];
    for (k, &node) in start.iter().enumerate() {
        rank[node] = k;
    }
    let mut partition = Partition::new(neighbours.len(), [start.iter().copied()]);
    while let Some(&node) = partition.front().iter().min_by_key(|&&node| rank[node]) {
        partition.visit(node, &neighbours[node]);
    }
    partition.order
}

/// The state of a search: the visited vertices, then the cells of those that are still tied.
pub(super) struct Partition {
    /// Visited vertices first, in order; then the cells, one after the other.
    order: Vec<Node>,
    /// `order[place[v]] == v`.
    place: Vec<usize>,
    /// `cells[cell_of[v]]` is the cell of a vertex that is not visited.
    cell_of: Vec<usize>,
    cells: Vec<Cell>,
    visited: usize,
    waiting: NodeSet,
}

/// A range of `order`, and the cell that the present step split off its front.
struct Cell {
    start: usize,
    end: usize,
    split_in_step: usize,
    split_into: usize,
}

impl Cell {
    fn new(start: usize, end: usize) -> Self {
        Self { start, end, split_in_step: 0, split_into: 0 }
    }
}

impl Partition {
    /// Nothing visited, and the given cells in that order. Vertices are below `universe`.
    pub(super) fn new<C: IntoIterator<Item = Node>>(
        universe: usize,
        cells: impl IntoIterator<Item = C>,
    ) -> Self {
        let mut partition = Self {
            order: Vec::new(),
            place: vec![usize::MAX; universe],
            cell_of: vec![usize::MAX; universe],
            cells: Vec::new(),
            visited: 0,
            waiting: NodeSet::empty(universe),
        };
        for cell in cells {
            let start = partition.order.len();
            for node in cell {
                partition.place[node] = partition.order.len();
                partition.cell_of[node] = partition.cells.len();
                partition.order.push(node);
                partition.waiting.insert(node);
            }
            partition.cells.push(Cell::new(start, partition.order.len()));
        }
        partition
    }

    /// The vertices of which any may be visited next; empty when all are visited.
    pub(super) fn front(&self) -> &[Node] {
        match self.order.get(self.visited) {
            Some(&node) => &self.order[self.visited..self.cells[self.cell_of[node]].end],
            None => &[],
        }
    }

    /// The vertices not yet visited.
    pub(super) fn waiting(&self) -> &NodeSet {
        &self.waiting
    }

    /// Visits a vertex of the front: in every cell, its neighbours move before the others.
    pub(super) fn visit(&mut self, node: Node, neighbours: &NodeSet) {
        debug_assert!(self.front().contains(&node));
        self.cells[self.cell_of[node]].start += 1;
        self.move_to(node, self.visited);
        self.waiting.remove(node);
        self.visited += 1;
        for next in &neighbours.intersection(&self.waiting) {
            let old = self.cell_of[next];
            let front = self.cells[old].start;
            if self.cells[old].split_in_step != self.visited {
                self.cells[old].split_in_step = self.visited;
                self.cells[old].split_into = self.cells.len();
                self.cells.push(Cell::new(front, front));
            }
            let new = self.cells[old].split_into;
            self.move_to(next, front);
            self.cell_of[next] = new;
            self.cells[old].start += 1;
            self.cells[new].end += 1;
        }
    }

    fn move_to(&mut self, node: Node, place: usize) {
        let (from, other) = (self.place[node], self.order[place]);
        self.order.swap(from, place);
        self.place[node] = place;
        self.place[other] = from;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::graph::tests::slow_twins::{chordal_graphs, relabel_sets};

    /// The definition: labels are lists of visit times, the largest label is next, ties by start order.
    fn lexbfs_by_labels(neighbours: &[NodeSet], start: &[Node]) -> Vec<Node> {
        let mut labels: Vec<(Vec<usize>, Node)> = start.iter().map(|&v| (Vec::new(), v)).collect();
        let mut order = Vec::new();
        while !labels.is_empty() {
            let best = labels.iter().map(|(label, _)| label).max().unwrap().clone();
            let at = labels.iter().position(|(label, _)| *label == best).unwrap();
            let (_, node) = labels.remove(at);
            for (label, other) in &mut labels {
                if neighbours[node].contains(*other) {
                    label.push(usize::MAX - order.len());
                }
            }
            order.push(node);
        }
        order
    }

    proptest! {
        #[test]
        fn the_order_is_the_one_defined_by_labels(
            graph in chordal_graphs(1..20),
            shuffle in Just((0..20).collect::<Vec<Node>>()).prop_shuffle(),
            keep in 0usize..20,
        ) {
            let start: Vec<Node> = shuffle.into_iter().filter(|&v| v < graph.len() && v != keep).collect();
            prop_assert_eq!(lexbfs(&graph, &start), lexbfs_by_labels(&graph, &start));
        }

        #[test]
        fn earlier_neighbours_of_a_chordal_graph_are_cliques(
            graph in chordal_graphs(1..20),
            shuffle in Just((0..20).collect::<Vec<Node>>()).prop_shuffle(),
        ) {
            let start: Vec<Node> = shuffle.into_iter().filter(|&v| v < graph.len()).collect();
            let order = lexbfs(&graph, &start);
            prop_assert_eq!(order[0], start[0]);
            let mut seen = NodeSet::empty(graph.len());
            for &v in &order {
                let earlier = graph[v].intersection(&seen);
                for a in &earlier {
                    prop_assert!(earlier.iter().all(|b| a == b || graph[a].contains(b)));
                }
                seen.insert(v);
            }
            prop_assert_eq!(seen.len(), graph.len());
        }

        #[test]
        fn a_relabelled_start_order_gives_the_relabelled_order(
            graph in chordal_graphs(12..13),
            to in Just((0..12).collect::<Vec<Node>>()).prop_shuffle(),
        ) {
            let order: Vec<Node> = lexbfs(&graph, &(0..12).collect::<Vec<_>>()).iter().map(|&v| to[v]).collect();
            prop_assert_eq!(lexbfs(&relabel_sets(&graph, &to), &to), order);
        }
    }
}
