//! For tests only: random graphs of every kind, and definitions spelled out by enumeration.

use std::ops::Range;

use proptest::prelude::*;

use super::super::{Dag, Node, NodeSet};

/// DAGs of any density over a random order.
pub(crate) fn dags(nodes: Range<usize>) -> impl Strategy<Value = Dag> {
    let order_and_edges = |n: usize| {
        let order = Just((0..n).collect::<Vec<Node>>()).prop_shuffle();
        (order, edge_lottery(n), 0u8..=100)
    };
    nodes.prop_flat_map(order_and_edges).prop_map(|(order, lots, density)| {
        let n = order.len();
        let drawn = pairs(n).zip(lots).filter(|&(_, lot)| lot < density);
        Dag::from_edges(n, drawn.map(|((a, b), _)| (order[a], order[b]))).unwrap()
    })
}

/// Two DAGs over the same nodes.
pub(crate) fn dag_pairs(nodes: Range<usize>) -> impl Strategy<Value = (Dag, Dag)> {
    nodes.prop_flat_map(|n| (dags(n..n + 1), dags(n..n + 1)))
}

/// A DAG, some targets of interventions, and new names for its nodes.
pub(crate) fn dags_with_targets(
    nodes: Range<usize>,
) -> impl Strategy<Value = (Dag, Vec<NodeSet>, Vec<Node>)> {
    nodes.prop_flat_map(|n| {
        let target = proptest::collection::vec(0..n, 0..3).prop_map(move |t| NodeSet::of(n, t));
        let names = Just((0..n).collect::<Vec<Node>>()).prop_shuffle();
        (dags(n..n + 1), proptest::collection::vec(target, 0..3), names)
    })
}

/// Undirected graphs, as the neighbours of each vertex.
pub(crate) fn undirected_graphs(nodes: Range<usize>) -> impl Strategy<Value = Vec<NodeSet>> {
    nodes.prop_flat_map(|n| (Just(n), edge_lottery(n), 0u8..=100)).prop_map(|(n, lots, density)| {
        let mut neighbours = vec![NodeSet::empty(n); n];
        for ((a, b), lot) in pairs(n).zip(lots) {
            if lot < density {
                neighbours[a].insert(b);
                neighbours[b].insert(a);
            }
        }
        neighbours
    })
}

/// Chordal graphs: undirected graphs whose vertices were eliminated one by one, their neighbours joined.
pub(crate) fn chordal_graphs(nodes: Range<usize>) -> impl Strategy<Value = Vec<NodeSet>> {
    let shuffled =
        |graph: Vec<NodeSet>| (Just((0..graph.len()).collect::<Vec<Node>>()).prop_shuffle(), Just(graph));
    undirected_graphs(nodes).prop_flat_map(shuffled).prop_map(|(order, mut graph)| {
        let mut left = NodeSet::full(graph.len());
        for v in order {
            left.remove(v);
            let around = graph[v].intersection(&left);
            for a in &around {
                graph[a].union_with(&around);
                graph[a].remove(a);
            }
        }
        graph
    })
}

fn edge_lottery(n: usize) -> impl Strategy<Value = Vec<u8>> {
    proptest::collection::vec(0u8..100, n * n.saturating_sub(1) / 2)
}

fn pairs(n: usize) -> impl Iterator<Item = (Node, Node)> {
    (0..n).flat_map(|b| (0..b).map(move |a| (a, b)))
}

/// Sets per vertex, after vertex `k` got the name `to[k]`.
pub(crate) fn relabel_sets(sets: &[NodeSet], to: &[Node]) -> Vec<NodeSet> {
    let mut renamed = vec![NodeSet::empty(sets.len()); sets.len()];
    for (k, set) in sets.iter().enumerate() {
        renamed[to[k]] = NodeSet::of(sets.len(), set.iter().map(|v| to[v]));
    }
    renamed
}

/// All DAGs with the same skeleton, the same v-structures, and the same edges across the border of each target.
pub(crate) fn members(dag: &Dag, targets: &[NodeSet]) -> Vec<Dag> {
    let edges: Vec<(Node, Node)> = dag.edges().collect();
    let cut: Vec<bool> = edges
        .iter()
        .map(|&(a, b)| targets.iter().any(|target| target.contains(a) != target.contains(b)))
        .collect();
    (0u64..1 << edges.len())
        .filter(|bits| (0..edges.len()).all(|k| !cut[k] || bits >> k & 1 == 0))
        .filter_map(|bits| {
            let turned =
                edges.iter().enumerate().map(|(k, &(a, b))| if bits >> k & 1 == 1 { (b, a) } else { (a, b) });
            Dag::from_edges(dag.len(), turned).ok()
        })
        .filter(|other| v_structures(other) == v_structures(dag))
        .collect()
}

/// All `(a, b, c)` with `a -> b <- c`, `a < c` not adjacent.
pub(crate) fn v_structures(dag: &Dag) -> Vec<(Node, Node, Node)> {
    let mut found = Vec::new();
    for b in 0..dag.len() {
        for a in dag.parents(b) {
            for c in dag.parents(b).iter().filter(|&c| a < c && !dag.has_edge(a, c) && !dag.has_edge(c, a)) {
                found.push((a, b, c));
            }
        }
    }
    found
}
