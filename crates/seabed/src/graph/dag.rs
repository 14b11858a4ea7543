//! Directed graphs that cannot be cyclic.
//!
//! A [`Dag`] keeps parents and children as sets; every way to make or change one
//! refuses a cycle and names it.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::shortest_path::shortest_path;
use super::{Node, NodeSet};

/// A directed acyclic graph over the nodes `0..len()`.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(try_from = "EdgeList", into = "EdgeList")]
pub struct Dag {
    /// `parents[v]` holds every `u` with an edge `u -> v`.
    parents: Vec<NodeSet>,
    /// `children[u]` holds every `v` with an edge `u -> v`.
    children: Vec<NodeSet>,
}

/// A graph in a file: its edges `[from, to]`.
#[derive(Serialize, Deserialize)]
struct EdgeList {
    nodes: usize,
    edges: Vec<(Node, Node)>,
}

/// A file with more nodes is damaged.
const MOST_NODES: usize = 100_000;

impl From<Dag> for EdgeList {
    fn from(dag: Dag) -> Self {
        Self { nodes: dag.len(), edges: dag.edges().collect() }
    }
}

impl TryFrom<EdgeList> for Dag {
    type Error = String;

    fn try_from(list: EdgeList) -> Result<Self, String> {
        if list.nodes > MOST_NODES {
            return Err(format!("{} nodes; a graph has at most {MOST_NODES}", list.nodes));
        }
        if let Some((from, to)) = list.edges.iter().find(|(from, to)| (*from).max(*to) >= list.nodes) {
            return Err(format!("an edge {from} -> {to} in a graph of {} nodes", list.nodes));
        }
        Self::from_edges(list.nodes, list.edges).map_err(|error| error.to_string())
    }
}

/// The edges contain a cycle.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the graph has a cycle: {}", show_cycle(.cycle))]
pub struct CycleError {
    /// The nodes of one cycle, each with an edge to the next and the last with an edge to the first.
    pub cycle: Vec<Node>,
}

fn show_cycle(cycle: &[Node]) -> String {
    let around = cycle.iter().chain(cycle.first());
    around.map(ToString::to_string).collect::<Vec<_>>().join(" -> ")
}

impl Dag {
    /// The graph over `nodes` nodes without any edge.
    pub fn empty(nodes: usize) -> Self {
        Self { parents: vec![NodeSet::empty(nodes); nodes], children: vec![NodeSet::empty(nodes); nodes] }
    }

    /// The graph with the given edges `(from, to)`; repeated edges count once.
    pub fn from_edges(
        nodes: usize,
        edges: impl IntoIterator<Item = (Node, Node)>,
    ) -> Result<Self, CycleError> {
        let mut parents = vec![NodeSet::empty(nodes); nodes];
        for (from, to) in edges {
            parents[to].insert(from);
        }
        Self::from_parents(parents)
    }

    /// The graph with `parents[v]` = all `u` with an edge `u -> v`.
    pub fn from_parents(parents: Vec<NodeSet>) -> Result<Self, CycleError> {
        let mut children = vec![NodeSet::empty(parents.len()); parents.len()];
        for (to, set) in parents.iter().enumerate() {
            for from in set {
                children[from].insert(to);
            }
        }
        let dag = Self { parents, children };
        if dag.sources_first().len() == dag.len() {
            Ok(dag)
        } else {
            Err(CycleError { cycle: dag.find_cycle() })
        }
    }

    /// The graph of a square 0/1 matrix, `adjacency[i][j]` = edge `i -> j`.
    pub fn from_rows_to_columns(adjacency: &[Vec<bool>]) -> Result<Self, CycleError> {
        let edges = adjacency.iter().enumerate().flat_map(|(i, row)| {
            row.iter().enumerate().filter(|&(_, &there)| there).map(move |(j, _)| (i, j))
        });
        Self::from_edges(adjacency.len(), edges)
    }

    /// `[i][j]` = edge `i -> j`.
    pub fn to_rows_to_columns(&self) -> Vec<Vec<bool>> {
        self.children.iter().map(|c| (0..self.len()).map(|j| c.contains(j)).collect()).collect()
    }

    /// Number of nodes.
    pub fn len(&self) -> usize {
        self.parents.len()
    }

    /// Is the graph without nodes?
    pub fn is_empty(&self) -> bool {
        self.parents.is_empty()
    }

    /// Number of edges.
    pub fn edge_count(&self) -> usize {
        self.parents.iter().map(NodeSet::len).sum()
    }

    /// The edges `(from, to)`, by `from`, then `to`.
    pub fn edges(&self) -> impl Iterator<Item = (Node, Node)> + '_ {
        self.children.iter().enumerate().flat_map(|(from, set)| set.iter().map(move |to| (from, to)))
    }

    /// Is there an edge `from -> to`?
    #[inline]
    pub fn has_edge(&self, from: Node, to: Node) -> bool {
        self.parents[to].contains(from)
    }

    /// All `u` with an edge `u -> node`.
    #[inline]
    pub fn parents(&self, node: Node) -> &NodeSet {
        &self.parents[node]
    }

    /// All `v` with an edge `node -> v`.
    #[inline]
    pub fn children(&self, node: Node) -> &NodeSet {
        &self.children[node]
    }

    /// Parents and children of a node.
    pub fn adjacent(&self, node: Node) -> NodeSet {
        self.parents[node].union(&self.children[node])
    }

    /// Adds the edge `from -> to`, unless it would close a cycle.
    pub fn add_edge(&mut self, from: Node, to: Node) -> Result<(), CycleError> {
        if let Some(cycle) = shortest_path(&self.children, &NodeSet::full(self.len()), to, from) {
            return Err(CycleError { cycle });
        }
        self.parents[to].insert(from);
        self.children[from].insert(to);
        Ok(())
    }

    /// Removes the edge `from -> to`; true if it was there.
    pub fn remove_edge(&mut self, from: Node, to: Node) -> bool {
        self.children[from].remove(to);
        self.parents[to].remove(from)
    }

    /// The nodes, every parent before its children.
    ///
    /// Ties are broken in ascending order, so the order depends on the graph alone.
    pub fn topological_order(&self) -> Vec<Node> {
        self.sources_first()
    }

    /// All nodes with a directed path to `node`, itself excluded.
    pub fn ancestors(&self, node: Node) -> NodeSet {
        self.closure(node, &self.parents)
    }

    /// All nodes with a directed path from `node`, itself excluded.
    pub fn descendants(&self, node: Node) -> NodeSet {
        self.closure(node, &self.children)
    }

    /// For every node its descendants, itself excluded.
    pub fn all_descendants(&self) -> Vec<NodeSet> {
        let mut descendants = self.children.clone();
        for &node in self.topological_order().iter().rev() {
            let mut set = self.children[node].clone();
            for child in &self.children[node] {
                set.union_with(&descendants[child]);
            }
            descendants[node] = set;
        }
        descendants
    }

    /// The graph in which node `k` is called `to[k]`; `to` is a permutation of the nodes.
    #[must_use]
    pub fn relabelled(&self, to: &[Node]) -> Self {
        let edges = self.edges().map(|(a, b)| (to[a], to[b]));
        Self::from_edges(self.len(), edges).expect("relabelling cannot create a cycle")
    }

    /// Kahn's algorithm; shorter than `len()` exactly if there is a cycle.
    fn sources_first(&self) -> Vec<Node> {
        let mut missing: Vec<usize> = self.parents.iter().map(NodeSet::len).collect();
        let mut free: VecDeque<Node> = (0..self.len()).filter(|&v| missing[v] == 0).collect();
        let mut order = Vec::with_capacity(self.len());
        while let Some(node) = free.pop_front() {
            order.push(node);
            for child in &self.children[node] {
                missing[child] -= 1;
                if missing[child] == 0 {
                    free.push_back(child);
                }
            }
        }
        order
    }

    /// One cycle of a graph that has one: walk against the edges among the nodes that Kahn left over.
    fn find_cycle(&self) -> Vec<Node> {
        let mut left = NodeSet::full(self.len());
        for node in self.sources_first() {
            left.remove(node);
        }
        let mut walk: Vec<Node> = Vec::new();
        let mut node = left.first().expect("a cyclic graph has nodes on cycles");
        loop {
            if let Some(start) = walk.iter().position(|&seen| seen == node) {
                let mut cycle = walk.split_off(start);
                cycle.reverse();
                let smallest = (0..cycle.len()).min_by_key(|&k| cycle[k]).unwrap_or(0);
                cycle.rotate_left(smallest);
                return cycle;
            }
            walk.push(node);
            node = self.parents[node]
                .intersection(&left)
                .first()
                .expect("every node left over has a parent left over");
        }
    }

    fn closure(&self, node: Node, next: &[NodeSet]) -> NodeSet {
        let mut reached = NodeSet::empty(self.len());
        let mut stack = vec![node];
        while let Some(at) = stack.pop() {
            for to in &next[at] {
                if reached.insert(to) {
                    stack.push(to);
                }
            }
        }
        reached
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cycle_is_refused_and_named() {
        let error = Dag::from_edges(5, [(0, 1), (1, 2), (2, 3), (3, 1), (0, 4)]).unwrap_err();
        assert_eq!(error.cycle, [1, 2, 3]);
        assert_eq!(error.to_string(), "the graph has a cycle: 1 -> 2 -> 3 -> 1");
        let mut dag = Dag::from_edges(3, [(0, 1), (1, 2)]).unwrap();
        let before = dag.clone();
        assert_eq!(dag.add_edge(2, 0).unwrap_err().cycle, [0, 1, 2]);
        assert_eq!(dag.add_edge(1, 1).unwrap_err().cycle, [1]);
        assert_eq!(dag, before);
    }

    #[test]
    fn relations_follow_the_edges() {
        let dag = Dag::from_edges(70, [(3, 0), (0, 69), (3, 69), (69, 5)]).unwrap();
        let set = |nodes: &[Node]| NodeSet::of(70, nodes.iter().copied());
        assert_eq!(dag.descendants(3), set(&[0, 5, 69]));
        assert_eq!(dag.ancestors(5), set(&[0, 3, 69]));
        assert_eq!(dag.adjacent(69), set(&[0, 3, 5]));
        let descendants = dag.all_descendants();
        assert!((0..70).all(|v| descendants[v] == dag.descendants(v)));
        let order = dag.topological_order();
        let place = |v| order.iter().position(|&w| w == v).unwrap();
        assert!(dag.edges().all(|(u, v)| place(u) < place(v)));
        assert_eq!(Dag::from_rows_to_columns(&dag.to_rows_to_columns()).unwrap(), dag);
    }
}
