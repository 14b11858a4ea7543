//! Structural intervention distance: how many causal effects an estimated graph gets wrong.
//!
//! The estimate is used only through parent sets: the effect of `i` on `j` is right
//! if adjusting for the estimated parents of `i` is valid in the true graph. One walk
//! per source settles all `j` at once. Bounds over a class of estimates are in `sid_bounds`.

use super::{Dag, Node, NodeSet};

/// Number of ordered pairs `(i, j)` for which the estimate gives a wrong effect of `i` on `j`.
///
/// # Panics
/// If the graphs have different numbers of nodes.
pub fn sid(truth: &Dag, estimate: &Dag) -> usize {
    wrong_effects(truth, estimate).iter().map(NodeSet::len).sum()
}

/// `[i]` = all `j` for which the estimate gives a wrong effect of `i` on `j`.
///
/// # Panics
/// If the graphs have different numbers of nodes.
pub fn wrong_effects(truth: &Dag, estimate: &Dag) -> Vec<NodeSet> {
    assert_eq!(truth.len(), estimate.len(), "graphs over different numbers of nodes cannot be compared");
    let judge = Judge::new(truth);
    let mut walk = Walk::default();
    (0..truth.len()).map(|i| judge.wrong_effects_of(i, estimate.parents(i), &mut walk)).collect()
}

/// A true graph, prepared to decide which adjustments are valid in it.
pub(super) struct Judge<'a> {
    truth: &'a Dag,
    parents: Vec<Vec<Node>>,
    children: Vec<Vec<Node>>,
    /// For every node, itself and its descendants.
    reach: Vec<NodeSet>,
}

/// How a walk from the source arrived at a node.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Arrival {
    /// Along arrows all the way: the effect itself, not a bias.
    Directed,
    /// Into the node, not along arrows all the way.
    Down,
    /// Against an arrow, out of the node.
    Up,
}

/// Memory of one walk, kept between walks.
#[derive(Default)]
pub(super) struct Walk {
    stack: Vec<(Node, Arrival)>,
    /// `seen[v]` has bit 0, 1, 2 for a walk that arrived `Directed`, `Down`, `Up`.
    seen: Vec<u8>,
}

impl Walk {
    fn arrive(&mut self, node: Node, how: Arrival) {
        let bit = 1 << how as u8;
        if self.seen[node] & bit == 0 {
            self.seen[node] |= bit;
            self.stack.push((node, how));
        }
    }
}

impl<'a> Judge<'a> {
    pub(super) fn new(truth: &'a Dag) -> Self {
        let mut reach = truth.all_descendants();
        for (node, set) in reach.iter_mut().enumerate() {
            set.insert(node);
        }
        let lists = |of: fn(&Dag, Node) -> &NodeSet| -> Vec<Vec<Node>> {
            (0..truth.len()).map(|v| of(truth, v).iter().collect()).collect()
        };
        Self { truth, parents: lists(Dag::parents), children: lists(Dag::children), reach }
    }

    /// All `j` for which adjusting for `adjusted` does not give the effect of `source` on `j`.
    ///
    /// A node that is adjusted for is assumed to be unaffected, which is wrong if the source reaches it.
    pub(super) fn wrong_effects_of(&self, source: Node, adjusted: &NodeSet, walk: &mut Walk) -> NodeSet {
        let mut adjusted_and_reached = adjusted.intersection(&self.reach[source]);
        adjusted_and_reached.remove(source);
        if adjusted == self.truth.parents(source) {
            return adjusted_and_reached; // empty: the true parents are always right
        }
        let mut wrong = NodeSet::empty(self.truth.len());
        // Adjusting for a descendant of a child invalidates every effect through that child.
        if !adjusted_and_reached.is_empty() {
            for &child in &self.children[source] {
                if self.reach[child].intersects(adjusted) {
                    wrong.union_with(&self.reach[child]);
                }
            }
        }
        self.walk_from(source, adjusted, walk);
        for (node, seen) in walk.seen.iter().enumerate() {
            if seen & !(1 << Arrival::Directed as u8) != 0 {
                wrong.insert(node);
            }
        }
        wrong.difference_with(adjusted);
        wrong.union_with(&adjusted_and_reached);
        wrong.remove(source);
        wrong
    }

    /// Follows every walk from the source that is open given `adjusted` and never comes back to the source.
    ///
    /// A walk may go down to an adjusted node and up again, which opens the colliders above it.
    fn walk_from(&self, source: Node, adjusted: &NodeSet, walk: &mut Walk) {
        walk.seen.clear();
        walk.seen.resize(self.truth.len(), 0);
        walk.seen[source] = u8::MAX;
        for &parent in &self.parents[source] {
            walk.arrive(parent, Arrival::Up);
        }
        for &child in &self.children[source] {
            walk.arrive(child, Arrival::Directed);
        }
        while let Some((node, how)) = walk.stack.pop() {
            let (up, down) = match (how, adjusted.contains(node)) {
                (Arrival::Directed, false) => (false, Some(Arrival::Directed)),
                (Arrival::Down, false) => (false, Some(Arrival::Down)),
                (Arrival::Up, false) => (true, Some(Arrival::Down)),
                (Arrival::Directed | Arrival::Down, true) => (true, None),
                (Arrival::Up, true) => (false, None),
            };
            if up {
                for &parent in &self.parents[node] {
                    walk.arrive(parent, Arrival::Up);
                }
            }
            if let Some(how) = down {
                for &child in &self.children[node] {
                    walk.arrive(child, how);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::graph::tests::slow_twins::{dag_pairs, relabel_sets};

    /// The adjustment criterion, spelled out over all paths between the two nodes.
    fn wrong_by_paths(truth: &Dag, source: Node, adjusted: &NodeSet, effect: Node) -> bool {
        let descendants = |v: Node| {
            let mut set = truth.descendants(v);
            set.insert(v);
            set
        };
        if adjusted.contains(effect) {
            return descendants(source).contains(effect);
        }
        let mut paths = Vec::new();
        collect_paths(truth, &mut vec![source], effect, &mut paths);
        let directed = |path: &[Node]| path.windows(2).all(|step| truth.has_edge(step[0], step[1]));
        let on_directed_paths = paths.iter().filter(|p| directed(p)).flat_map(|p| p[1..].iter().copied());
        if on_directed_paths.into_iter().any(|v| descendants(v).intersects(adjusted)) {
            return true;
        }
        let open = |path: &[Node]| {
            path.windows(3).all(|step| {
                let collider = truth.has_edge(step[0], step[1]) && truth.has_edge(step[2], step[1]);
                if collider { descendants(step[1]).intersects(adjusted) } else { !adjusted.contains(step[1]) }
            })
        };
        paths.iter().any(|path| !directed(path) && open(path))
    }

    fn collect_paths(dag: &Dag, path: &mut Vec<Node>, end: Node, found: &mut Vec<Vec<Node>>) {
        let last = path[path.len() - 1];
        if last == end {
            found.push(path.clone());
            return;
        }
        for next in &dag.adjacent(last) {
            if !path.contains(&next) {
                path.push(next);
                collect_paths(dag, path, end, found);
                path.pop();
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(512))]
        #[test]
        fn it_is_the_adjustment_criterion_over_all_paths((truth, estimate) in dag_pairs(2..7)) {
            for (i, wrong) in wrong_effects(&truth, &estimate).iter().enumerate() {
                for j in (0..truth.len()).filter(|&j| j != i) {
                    let expected = wrong_by_paths(&truth, i, estimate.parents(i), j);
                    prop_assert_eq!(wrong.contains(j), expected, "effect of {} on {}", i, j);
                }
                prop_assert!(!wrong.contains(i));
            }
        }

        #[test]
        fn relabelling_moves_the_wrong_pairs(
            (truth, estimate) in dag_pairs(10..11),
            to in Just((0..10).collect::<Vec<Node>>()).prop_shuffle(),
        ) {
            let renamed = wrong_effects(&truth.relabelled(&to), &estimate.relabelled(&to));
            prop_assert_eq!(renamed, relabel_sets(&wrong_effects(&truth, &estimate), &to));
        }

        #[test]
        fn the_truth_and_every_denser_graph_of_the_same_order_are_right((truth, _) in dag_pairs(1..12)) {
            prop_assert_eq!(sid(&truth, &truth), 0);
            let order = truth.topological_order();
            let all = (0..order.len()).flat_map(|b| (0..b).map(move |a| (a, b)));
            let complete = Dag::from_edges(truth.len(), all.map(|(a, b)| (order[a], order[b]))).unwrap();
            prop_assert_eq!(sid(&truth, &complete), 0);
        }
    }

    #[test]
    fn a_reversed_chain() {
        let truth = Dag::from_edges(3, [(0, 1), (1, 2)]).unwrap();
        let reversed = Dag::from_edges(3, [(2, 1), (1, 0)]).unwrap();
        // 0 on 1 and 2, 1 on 0 and 2, 2 on 0 and 1: all but those that the order does not affect.
        assert_eq!(sid(&truth, &reversed), 6);
        assert_eq!(sid(&truth, &Dag::empty(3)), 3);
    }
}
