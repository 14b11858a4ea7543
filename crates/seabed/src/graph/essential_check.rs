//! Essential graphs from input: a matrix is checked once, and errors name what is wrong.

use std::fmt;

use super::chordal::chordless_cycle;
use super::{EssentialGraph, Node, NodeSet};

/// A matrix that is not the matrix of an essential graph.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum EssentialGraphError {
    /// A row is too short or too long.
    NotSquare {
        /// The first such row.
        row: usize,
        /// Its length.
        got: usize,
        /// The number of rows.
        nodes: usize,
    },
    /// A node has an edge to itself.
    SelfLoop {
        /// The first such node.
        node: Node,
    },
    /// A cycle of arrows, or of arrows and lines.
    Cycle {
        /// Each node has an arrow or a line to the next, the last one to the first.
        cycle: Vec<Node>,
    },
    /// A cycle of lines without a chord.
    NotChordal {
        /// Each node has a line to the next, the last one to the first.
        cycle: Vec<Node>,
    },
    /// An arrow into one end of a line, and nothing to the other end.
    LineMustBeArrow {
        /// Tail of the arrow.
        from: Node,
        /// Head of the arrow and one end of the line.
        middle: Node,
        /// The other end of the line.
        end: Node,
    },
}

impl EssentialGraphError {
    /// The message, with the nodes called by their names.
    pub fn with_names(&self, name: impl Fn(Node) -> String) -> String {
        let around = |cycle: &[Node]| {
            let nodes = cycle.iter().chain(cycle.first());
            nodes.map(|&node| name(node)).collect::<Vec<_>>().join(" -> ")
        };
        match self {
            Self::NotSquare { row, got, nodes } => {
                format!(
                    "row {row} of the adjacency matrix has {got} entries; a graph of {nodes} nodes needs {nodes}"
                )
            }
            Self::SelfLoop { node } => format!("{} has an edge to itself", name(*node)),
            Self::Cycle { cycle } => {
                format!(
                    "the graph has a cycle of arrows and lines with at least one arrow: {}",
                    around(cycle)
                )
            }
            Self::NotChordal { cycle } => format!(
                "the lines form a cycle without a chord, which has no orientation without new v-structures: {}",
                around(cycle)
            ),
            Self::LineMustBeArrow { from, middle, end } => {
                let (from, middle, end) = (name(*from), name(*middle), name(*end));
                format!(
                    "the line {middle} - {end} can only be {middle} -> {end}, because of {from} -> {middle} \
                     ({from} and {end} are not adjacent): write it as an arrow"
                )
            }
        }
    }
}

impl fmt::Display for EssentialGraphError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.with_names(|node| node.to_string()))
    }
}

impl std::error::Error for EssentialGraphError {}

impl EssentialGraph {
    /// The graph of a square 0/1 matrix: `[i][j]` alone = arrow `i -> j`, both `[i][j]` and `[j][i]` = line.
    ///
    /// Whether every arrow is needed depends on targets that are not known here, and is not checked.
    pub fn from_rows_to_columns(adjacency: &[Vec<bool>]) -> Result<Self, EssentialGraphError> {
        let nodes = adjacency.len();
        if let Some(row) = adjacency.iter().position(|row| row.len() != nodes) {
            return Err(EssentialGraphError::NotSquare { row, got: adjacency[row].len(), nodes });
        }
        if let Some(node) = (0..nodes).find(|&v| adjacency[v][v]) {
            return Err(EssentialGraphError::SelfLoop { node });
        }
        let set = |keep: &dyn Fn(Node) -> bool| NodeSet::of(nodes, (0..nodes).filter(|&u| keep(u)));
        let graph = Self {
            parents: (0..nodes).map(|v| set(&|u| adjacency[u][v] && !adjacency[v][u])).collect(),
            children: (0..nodes).map(|v| set(&|u| adjacency[v][u] && !adjacency[u][v])).collect(),
            neighbours: (0..nodes).map(|v| set(&|u| adjacency[u][v] && adjacency[v][u])).collect(),
        };
        if let Some(cycle) = graph.semi_directed_cycle() {
            return Err(EssentialGraphError::Cycle { cycle });
        }
        if let Some(cycle) = chordless_cycle(&graph.neighbours, &NodeSet::full(nodes)) {
            return Err(EssentialGraphError::NotChordal { cycle });
        }
        match graph.line_that_must_be_an_arrow() {
            Some((from, middle, end)) => Err(EssentialGraphError::LineMustBeArrow { from, middle, end }),
            None => Ok(graph),
        }
    }

    /// A shortest cycle through some node along arrows and lines, with an arrow in it.
    fn semi_directed_cycle(&self) -> Option<Vec<Node>> {
        (0..self.len()).find_map(|head| {
            let mut came_from: Vec<Option<Node>> = vec![None; self.len()];
            let mut seen = NodeSet::of(self.len(), [head]);
            let mut queue = vec![head];
            let mut at = 0;
            while let Some(&node) = queue.get(at) {
                at += 1;
                if self.parents[head].contains(node) {
                    let mut cycle = vec![node];
                    while let Some(before) = came_from[*cycle.last()?] {
                        cycle.push(before);
                    }
                    cycle.reverse();
                    return Some(cycle);
                }
                for next in &self.points_at(node).difference(&seen) {
                    seen.insert(next);
                    came_from[next] = Some(node);
                    queue.push(next);
                }
            }
            None
        })
    }

    fn line_that_must_be_an_arrow(&self) -> Option<(Node, Node, Node)> {
        (0..self.len()).find_map(|middle| {
            self.neighbours[middle].iter().find_map(|end| {
                let from = self.parents[middle].difference(&self.parents[end]).first()?;
                Some((from, middle, end))
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::graph::tests::slow_twins::dags_with_targets;

    fn matrix(nodes: usize, arrows: &[(Node, Node)], lines: &[(Node, Node)]) -> Vec<Vec<bool>> {
        let mut rows = vec![vec![false; nodes]; nodes];
        for &(a, b) in arrows {
            rows[a][b] = true;
        }
        for &(a, b) in lines {
            rows[a][b] = true;
            rows[b][a] = true;
        }
        rows
    }

    proptest! {
        #[test]
        fn an_essential_graph_survives_the_matrix((dag, targets, _) in dags_with_targets(1..15)) {
            let graph = EssentialGraph::of(&dag, &targets);
            prop_assert_eq!(EssentialGraph::from_rows_to_columns(&graph.to_rows_to_columns()), Ok(graph));
        }

        #[test]
        fn named_cycles_are_cycles(bits in proptest::collection::vec(0u8..5, 36)) {
            let rows: Vec<Vec<bool>> =
                (0..6).map(|i| (0..6).map(|j| i != j && bits[i * 6 + j] == 0).collect()).collect();
            if let Err(EssentialGraphError::Cycle { cycle } | EssentialGraphError::NotChordal { cycle }) =
                EssentialGraph::from_rows_to_columns(&rows)
            {
                for k in 0..cycle.len() {
                    prop_assert!(rows[cycle[k]][cycle[(k + 1) % cycle.len()]]);
                }
            }
        }
    }

    #[test]
    fn every_fault_is_named() {
        let fault = |rows: Vec<Vec<bool>>| EssentialGraph::from_rows_to_columns(&rows).unwrap_err();
        assert_eq!(
            fault(vec![vec![false, true], vec![false]]),
            EssentialGraphError::NotSquare { row: 1, got: 1, nodes: 2 }
        );
        assert_eq!(fault(matrix(3, &[(1, 1)], &[])), EssentialGraphError::SelfLoop { node: 1 });
        let cycle = fault(matrix(4, &[(1, 2), (2, 3)], &[(3, 1)]));
        assert_eq!(cycle, EssentialGraphError::Cycle { cycle: vec![2, 3, 1] });
        assert!(cycle.to_string().ends_with("2 -> 3 -> 1 -> 2"), "{cycle}");
        let EssentialGraphError::NotChordal { cycle } =
            fault(matrix(5, &[], &[(0, 1), (1, 2), (2, 3), (3, 0), (3, 4)]))
        else {
            panic!("a square has no chord")
        };
        assert_eq!(NodeSet::of(5, cycle), NodeSet::of(5, [0, 1, 2, 3]));
        assert_eq!(
            fault(matrix(3, &[(0, 1)], &[(1, 2)])),
            EssentialGraphError::LineMustBeArrow { from: 0, middle: 1, end: 2 }
        );
    }
}
