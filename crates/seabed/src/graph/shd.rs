//! Structural Hamming distance: in how many places two graphs differ.
//!
//! Works on anything with an adjacency matrix, so DAGs and essential graphs
//! can be compared with each other too.

use std::borrow::Cow;

use super::{Dag, EssentialGraph, Node, NodeSet};

/// A graph that can be read as a 0/1 matrix, row -> column; a line sets both entries.
pub trait Adjacency {
    /// Number of rows and columns.
    fn nodes(&self) -> usize;
    /// All `j` with entry `[node][j]`.
    fn row(&self, node: Node) -> Cow<'_, NodeSet>;
}

impl Adjacency for Dag {
    fn nodes(&self) -> usize {
        self.len()
    }

    fn row(&self, node: Node) -> Cow<'_, NodeSet> {
        Cow::Borrowed(self.children(node))
    }
}

/// A matrix as it is; it may have cycles.
impl Adjacency for Vec<Vec<bool>> {
    fn nodes(&self) -> usize {
        self.len()
    }

    fn row(&self, node: Node) -> Cow<'_, NodeSet> {
        let targets = (0..self.len()).filter(|&j| self[node][j]);
        Cow::Owned(NodeSet::of(self.len(), targets))
    }
}

impl Adjacency for EssentialGraph {
    fn nodes(&self) -> usize {
        self.len()
    }

    fn row(&self, node: Node) -> Cow<'_, NodeSet> {
        Cow::Owned(self.points_at(node))
    }
}

/// Number of pairs of nodes that are joined differently: a missing, an extra and a reversed edge count 1 each.
///
/// A line against an arrow counts 1.
///
/// # Panics
/// If the graphs have different numbers of nodes.
pub fn shd(truth: &impl Adjacency, estimate: &impl Adjacency) -> usize {
    let differences = differences(truth, estimate);
    let both_ways = differences.iter().enumerate().flat_map(|(i, row)| {
        let differences = &differences;
        row.iter().filter(move |&j| i < j && differences[j].contains(i))
    });
    differences.iter().map(NodeSet::len).sum::<usize>() - both_ways.count()
}

/// Number of matrix entries that differ: as [`shd`], but a reversed edge counts 2.
///
/// # Panics
/// If the graphs have different numbers of nodes.
pub fn shd_double(truth: &impl Adjacency, estimate: &impl Adjacency) -> usize {
    differences(truth, estimate).iter().map(NodeSet::len).sum()
}

/// `[i]` = all `j` whose entry `[i][j]` is in exactly one of the matrices.
fn differences(a: &impl Adjacency, b: &impl Adjacency) -> Vec<NodeSet> {
    assert_eq!(a.nodes(), b.nodes(), "graphs over different numbers of nodes cannot be compared");
    (0..a.nodes())
        .map(|i| {
            let (row_a, row_b) = (a.row(i), b.row(i));
            let mut differ = row_a.difference(&row_b);
            differ.union_with(&row_b.difference(&row_a));
            differ
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::graph::tests::slow_twins::dag_pairs;

    /// Entry by entry, as the definition is written.
    fn by_matrices(a: &[Vec<bool>], b: &[Vec<bool>]) -> (usize, usize) {
        let differ = |i: usize, j: usize| a[i][j] != b[i][j];
        let all = (0..a.len()).flat_map(|i| (0..a.len()).map(move |j| (i, j)));
        let single = all.clone().filter(|&(i, j)| i < j && (differ(i, j) || differ(j, i))).count();
        (single, all.filter(|&(i, j)| differ(i, j)).count())
    }

    proptest! {
        #[test]
        fn it_counts_what_the_matrices_show((truth, estimate) in dag_pairs(1..9)) {
            let (single, double) = by_matrices(&truth.to_rows_to_columns(), &estimate.to_rows_to_columns());
            prop_assert_eq!((shd(&truth, &estimate), shd_double(&truth, &estimate)), (single, double));
            let (a, b) = (EssentialGraph::cpdag(&truth), EssentialGraph::cpdag(&estimate));
            let (single, double) = by_matrices(&a.to_rows_to_columns(), &b.to_rows_to_columns());
            prop_assert_eq!((shd(&a, &b), shd_double(&a, &b)), (single, double));
            let (single, _) = by_matrices(&truth.to_rows_to_columns(), &b.to_rows_to_columns());
            prop_assert_eq!(shd(&truth, &b), single);
        }

        #[test]
        fn relabelling_changes_nothing(
            (truth, estimate) in dag_pairs(8..9),
            to in Just((0..8).collect::<Vec<Node>>()).prop_shuffle(),
        ) {
            let (renamed_truth, renamed) = (truth.relabelled(&to), estimate.relabelled(&to));
            prop_assert_eq!(shd(&renamed_truth, &renamed), shd(&truth, &estimate));
            prop_assert_eq!(shd_double(&renamed_truth, &renamed), shd_double(&truth, &estimate));
        }
    }

    #[test]
    fn a_reversal_counts_once_or_twice() {
        let truth = Dag::from_edges(3, [(0, 1), (1, 2)]).unwrap();
        let estimate = Dag::from_edges(3, [(1, 0), (0, 2)]).unwrap();
        assert_eq!((shd(&truth, &estimate), shd_double(&truth, &estimate)), (3, 4));
        assert_eq!(shd(&truth, &EssentialGraph::cpdag(&truth)), 2);
    }
}
