//! Bounds of the structural intervention distance over all DAGs of an estimated class.
//!
//! A row of wrong effects depends only on the parents of its source, so chain
//! components are independent of each other. Within one, a recursion over the
//! vertex that comes first is exact; where it would take too long, every vertex
//! is bounded on its own.

use std::collections::HashMap;
use std::ops::AddAssign;

use super::chordal::pieces_after;
use super::sid::{Judge, Walk};
use super::{Dag, EssentialGraph, Node, NodeSet};

/// Exact recursion stops after this many different (part, parents) states in one chain component.
///
/// A complete component of 12 vertices takes 4096 states, a tree of n vertices about 2n.
const MOST_STATES: usize = 5_000;

/// A vertex with more cliques around it than this is bounded by "all right" and "all wrong".
const MOST_CLIQUES: usize = 5_000;

/// Nodes and edges that the recursion of one chain component looks at, and nodes that its vertices look at one by one: some
/// seconds each. A dense component of hundreds of vertices has few states but costly ones.
const MOST_WORK: usize = 100_000_000;

/// Smallest and largest distance over a class of DAGs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SidBounds {
    /// No member of the class has a smaller distance.
    pub lower: usize,
    /// No member of the class has a larger distance.
    pub upper: usize,
    /// Both bounds are reached by members; otherwise they may be too wide.
    pub exact: bool,
}

impl AddAssign for SidBounds {
    fn add_assign(&mut self, other: Self) {
        self.lower += other.lower;
        self.upper += other.upper;
        self.exact &= other.exact;
    }
}

impl SidBounds {
    const ZERO: Self = Self { lower: 0, upper: 0, exact: true };

    fn or(self, other: Self) -> Self {
        Self {
            lower: self.lower.min(other.lower),
            upper: self.upper.max(other.upper),
            exact: self.exact && other.exact,
        }
    }
}

/// The least and the greatest [`sid`](super::sid()) of any DAG of the class `estimate`.
///
/// # Panics
/// If the graphs have different numbers of nodes.
pub fn sid_bounds(truth: &Dag, estimate: &EssentialGraph) -> SidBounds {
    sid_bounds_within(truth, estimate, MOST_STATES)
}

fn sid_bounds_within(truth: &Dag, estimate: &EssentialGraph, most_states: usize) -> SidBounds {
    assert_eq!(truth.len(), estimate.len(), "graphs over different numbers of nodes cannot be compared");
    let mut bounder = Bounder::new(truth, estimate, most_states);
    let mut total = SidBounds::ZERO;
    for component in estimate.chain_components() {
        bounder.states.clear();
        bounder.work = 0;
        let common = estimate.parents(component.first().expect("components are not empty")).clone();
        total += match bounder.over_orientations(&component, &common) {
            Some(bounds) => bounds,
            None => {
                bounder.work = 0;
                bounder.vertex_by_vertex(&component)
            }
        };
    }
    total
}

struct Bounder<'a> {
    judge: Judge<'a>,
    estimate: &'a EssentialGraph,
    most_states: usize,
    walk: Walk,
    /// Number of wrong effects of a source with given parents.
    rows: HashMap<(Node, NodeSet), usize>,
    /// Bounds of the parts of the present component, by (part, parents of all its vertices).
    states: HashMap<(NodeSet, NodeSet), SidBounds>,
    /// Done so far on the present component, in the units of [`MOST_WORK`].
    work: usize,
}

impl<'a> Bounder<'a> {
    fn new(truth: &'a Dag, estimate: &'a EssentialGraph, most_states: usize) -> Self {
        let (rows, states) = (HashMap::new(), HashMap::new());
        Self { judge: Judge::new(truth), estimate, most_states, walk: Walk::default(), rows, states, work: 0 }
    }

    /// Bounds over the orientations of a connected part whose vertices all have the parents `common`.
    ///
    /// Exactly one vertex has no further parents; given which one, the pieces that stay open are independent.
    /// `None` when there are too many states.
    fn over_orientations(&mut self, part: &NodeSet, common: &NodeSet) -> Option<SidBounds> {
        let key = (part.clone(), common.clone());
        if let Some(&bounds) = self.states.get(&key) {
            return Some(bounds);
        }
        let lines: usize =
            part.iter().map(|node| self.estimate.neighbours(node).intersection(part).len()).sum();
        let mut best: Option<SidBounds> = None;
        for first in part {
            self.work += part.len() + lines;
            if self.work > MOST_WORK {
                return None;
            }
            let row = self.row(first, common);
            let mut bounds = SidBounds { lower: row, upper: row, exact: true };
            let first = NodeSet::of(self.estimate.len(), [first]);
            for piece in pieces_after(&self.estimate.neighbours, part, &first) {
                bounds += self.over_orientations(&piece.nodes, &piece.parents.union(common))?;
            }
            best = Some(best.map_or(bounds, |best| best.or(bounds)));
        }
        if self.states.len() >= self.most_states {
            return None;
        }
        let best = best?;
        self.states.insert(key, best);
        Some(best)
    }

    /// Bounds of each vertex on its own, over the cliques of neighbours that may be its parents.
    fn vertex_by_vertex(&mut self, component: &NodeSet) -> SidBounds {
        let mut total = SidBounds { exact: false, ..SidBounds::ZERO };
        for node in component {
            let graph = self.estimate;
            let (all, around) = (&graph.neighbours, graph.neighbours(node));
            let mut cliques = 0;
            let few = for_each_clique(all, around, MOST_CLIQUES, |_| cliques += 1);
            self.work = self.work.saturating_add(cliques * graph.len());
            let complete = few && self.work <= MOST_WORK;
            let mut bounds: Option<SidBounds> = None;
            if complete {
                for_each_clique(all, around, MOST_CLIQUES, |clique| {
                    let row = self.row(node, &clique.union(graph.parents(node)));
                    let row = SidBounds { lower: row, upper: row, exact: true };
                    bounds = Some(bounds.map_or(row, |bounds| bounds.or(row)));
                });
            }
            total += match bounds {
                Some(bounds) => bounds,
                None => SidBounds { lower: 0, upper: graph.len() - 1, exact: false },
            };
        }
        total
    }

    fn row(&mut self, source: Node, parents: &NodeSet) -> usize {
        let (judge, walk) = (&self.judge, &mut self.walk);
        let count = || judge.wrong_effects_of(source, parents, walk).len();
        *self.rows.entry((source, parents.clone())).or_insert_with(count)
    }
}

/// Calls `visit` for every clique inside `nodes`, the empty one first; false if there are more than `most`.
fn for_each_clique(
    neighbours: &[NodeSet],
    nodes: &NodeSet,
    most: usize,
    mut visit: impl FnMut(&NodeSet),
) -> bool {
    let mut open = vec![(NodeSet::empty(neighbours.len()), nodes.clone())];
    let mut count = 0;
    while let Some((clique, mut candidates)) = open.pop() {
        count += 1;
        // Every open one will be visited too.
        if count + open.len() > most {
            return false;
        }
        visit(&clique);
        while let Some(next) = candidates.first() {
            candidates.remove(next);
            let mut larger = clique.clone();
            larger.insert(next);
            open.push((larger, candidates.intersection(&neighbours[next])));
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::graph::sid;
    use crate::graph::tests::slow_twins::{dag_pairs, dags_with_targets, members};

    proptest! {
        #[test]
        fn they_are_the_extremes_over_the_members((truth, estimate) in dag_pairs(2..7)) {
            let graph = EssentialGraph::cpdag(&estimate);
            let all: Vec<usize> = members(&estimate, &[]).iter().map(|member| sid(&truth, member)).collect();
            let expected =
                SidBounds { lower: *all.iter().min().unwrap(), upper: *all.iter().max().unwrap(), exact: true };
            prop_assert_eq!(sid_bounds(&truth, &graph), expected);
        }

        #[test]
        fn targets_narrow_them((estimate, targets, _) in dags_with_targets(2..7)) {
            let truth = Dag::from_edges(estimate.len(), (1..estimate.len()).map(|v| (v - 1, v))).unwrap();
            let all: Vec<usize> = members(&estimate, &targets).iter().map(|member| sid(&truth, member)).collect();
            let bounds = sid_bounds(&truth, &EssentialGraph::of(&estimate, &targets));
            prop_assert_eq!(Some(&bounds.lower), all.iter().min());
            prop_assert_eq!(Some(&bounds.upper), all.iter().max());
        }

        #[test]
        fn vertex_by_vertex_is_wider_and_reached_by_each_vertex((truth, estimate) in dag_pairs(2..6)) {
            let graph = EssentialGraph::cpdag(&estimate);
            let rough = sid_bounds_within(&truth, &graph, 0);
            let all = members(&estimate, &[]);
            let (mut lower, mut upper) = (0, 0);
            for i in 0..truth.len() {
                let rows = all.iter().map(|member| crate::graph::wrong_effects(&truth, member)[i].len());
                lower += rows.clone().min().unwrap();
                upper += rows.max().unwrap();
            }
            prop_assert_eq!(rough, SidBounds { lower, upper, exact: false });
        }
    }

    /// As long as the test runs: few states, but each of them costly.
    #[test]
    fn a_complete_graph_of_hundreds_is_bounded_in_seconds() {
        let truth = Dag::from_edges(300, (1..300).map(|v| (v - 1, v))).unwrap();
        let complete = Dag::from_edges(300, (0..300).flat_map(|b| (0..b).map(move |a| (a, b)))).unwrap();
        let bounds = sid_bounds(&truth, &EssentialGraph::cpdag(&complete));
        assert_eq!(bounds, SidBounds { lower: 0, upper: 300 * 299, exact: false });
    }

    #[test]
    fn a_component_too_large_to_settle_is_bounded_roughly() {
        let truth = Dag::from_edges(30, (1..30).map(|v| (v - 1, v))).unwrap();
        let complete = Dag::from_edges(30, (0..30).flat_map(|b| (0..b).map(move |a| (a, b)))).unwrap();
        let bounds = sid_bounds(&truth, &EssentialGraph::cpdag(&complete));
        assert_eq!(bounds, SidBounds { lower: 0, upper: 30 * 29, exact: false });
    }
}
