//! The operators of the search: which insertions, deletions and turns there are, what they gain, what they do.
//!
//! Definitions and validity conditions are those of GIES (Hauser and Bühlmann, 2012). Every operator is named by
//! the arrow `from -> to` that it makes or removes and a clique of neighbours of `to` that become its parents.

use super::score::Scores;
use crate::graph::{EssentialGraph, Node, NodeSet};
use crate::posterior::Knowledge;

/// An operator with its gain.
#[derive(Clone, Debug)]
pub struct Move {
    pub kind: Kind,
    pub from: Node,
    pub to: Node,
    pub clique: NodeSet,
    pub gain: f64,
}

/// What an operator does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Makes the arrow between two vertices that are not adjacent.
    Insert,
    /// Removes the arrow or line.
    Delete,
    /// Turns a line into the arrow.
    TurnLine,
    /// Reverses an arrow.
    TurnArrow,
}

impl Kind {
    pub fn name(self) -> &'static str {
        match self {
            Self::Insert => "insert",
            Self::Delete => "delete",
            Self::TurnLine | Self::TurnArrow => "turn",
        }
    }
}

/// A graph and what limits its operators.
pub struct Operators<'a> {
    pub graph: &'a EssentialGraph,
    pub targets: &'a [NodeSet],
    pub knowledge: &'a Knowledge,
    pub max_degree: usize,
}

impl Operators<'_> {
    /// The best insertion of an arrow into `to` that gains more than `floor`.
    pub fn insertion(&self, to: Node, floor: f64, scores: &mut Scores) -> Option<Move> {
        let graph = self.graph;
        let mut best: Option<Move> = None;
        let beside_to = graph.adjacent(to);
        if beside_to.len() >= self.max_degree {
            return None;
        }
        let mut parents = graph.parents(to).clone();
        for_each_clique(graph, graph.neighbours(to), &mut |clique| {
            parents.clone_from(graph.parents(to));
            parents.union_with(clique);
            let mut reached: Option<NodeSet> = None;
            for candidate in scores.gains(to, &parents) {
                let from = candidate.parent;
                if candidate.gain <= best.as_ref().map_or(floor, |best| best.gain) {
                    break;
                }
                if beside_to.contains(from) || self.knowledge.forbids_both(from, to) {
                    continue;
                }
                let beside_from = graph.adjacent(from);
                if beside_from.len() >= self.max_degree
                    || !graph.neighbours(to).intersection(&beside_from).is_subset(clique)
                    || reached.get_or_insert_with(|| reach(graph, to, clique)).contains(from)
                {
                    continue;
                }
                let insertion =
                    Move { kind: Kind::Insert, from, to, clique: clique.clone(), gain: candidate.gain };
                if self.obeys_knowledge(&insertion) {
                    best = Some(insertion);
                    break;
                }
            }
        });
        best
    }

    /// The best deletion of an arrow into `to`, or of a line at `to`, that gains more than `floor`.
    pub fn deletion(&self, to: Node, floor: f64, scores: &mut Scores) -> Option<Move> {
        let graph = self.graph;
        let mut best: Option<Move> = None;
        for from in &graph.parents(to).union(graph.neighbours(to)) {
            if self.knowledge.requires_either(from, to) {
                continue;
            }
            let common = graph.neighbours(to).intersection(&graph.adjacent(from));
            for_each_clique(graph, &common, &mut |clique| {
                let mut with = graph.parents(to).union(clique);
                with.insert(from);
                let mut without = with.clone();
                without.remove(from);
                let gain = scores.local(to, &without) - scores.local(to, &with);
                let deletion = || Move { kind: Kind::Delete, from, to, clique: clique.clone(), gain };
                self.keep_better(&mut best, floor, gain, deletion);
            });
        }
        best
    }

    /// The best turn to an arrow into `to` that gains more than `floor`.
    pub fn turn(&self, to: Node, floor: f64, scores: &mut Scores) -> Option<Move> {
        let mut best: Option<Move> = None;
        for from in &self.graph.neighbours(to).union(self.graph.children(to)) {
            if self.knowledge.forbids(from, to) {
                continue;
            }
            if self.graph.neighbours(to).contains(from) {
                self.turn_line(from, to, floor, scores, &mut best);
            } else {
                self.turn_arrow(from, to, floor, scores, &mut best);
            }
        }
        best
    }

    fn turn_line(&self, from: Node, to: Node, floor: f64, scores: &mut Scores, best: &mut Option<Move>) {
        let graph = self.graph;
        let common = graph.neighbours(to).intersection(graph.neighbours(from));
        let mut others = graph.neighbours(to).clone();
        others.remove(from);
        // Without a vertex outside the common neighbours the turn stays within the class.
        if others.is_subset(&common) {
            return;
        }
        for_each_clique(graph, &others, &mut |clique| {
            if clique.is_subset(&common) || !separates(graph, to, clique, &common) {
                return;
            }
            let inside = clique.intersection(&common);
            let without_to = graph.parents(from).union(&inside);
            let mut with_to = without_to.clone();
            with_to.insert(to);
            let without_from = graph.parents(to).union(clique);
            let mut with_from = without_from.clone();
            with_from.insert(from);
            let gain = scores.local(to, &with_from) - scores.local(to, &without_from)
                + scores.local(from, &without_to)
                - scores.local(from, &with_to);
            let turn = || Move { kind: Kind::TurnLine, from, to, clique: clique.clone(), gain };
            self.keep_better(best, floor, gain, turn);
        });
    }

    fn turn_arrow(&self, from: Node, to: Node, floor: f64, scores: &mut Scores, best: &mut Option<Move>) {
        let graph = self.graph;
        let common = graph.neighbours(to).intersection(graph.parents(from));
        let now = graph.parents(from).clone();
        let mut without_to = now.clone();
        without_to.remove(to);
        let lost = scores.local(from, &without_to) - scores.local(from, &now);
        for_each_clique(graph, graph.neighbours(to), &mut |clique| {
            if !common.is_subset(clique) {
                return;
            }
            let without_from = graph.parents(to).union(clique);
            let mut with_from = without_from.clone();
            with_from.insert(from);
            let gain = scores.local(to, &with_from) - scores.local(to, &without_from) + lost;
            if gain > best.as_ref().map_or(floor, |best| best.gain) && !has_detour(graph, to, from, clique) {
                let turn = || Move { kind: Kind::TurnArrow, from, to, clique: clique.clone(), gain };
                self.keep_better(best, floor, gain, turn);
            }
        });
    }

    /// A difference of two degenerate scores is NaN and is never kept.
    fn keep_better(&self, best: &mut Option<Move>, floor: f64, gain: f64, make: impl FnOnce() -> Move) {
        if gain > best.as_ref().map_or(floor, |best| best.gain) && gain.is_finite() {
            let candidate = make();
            if self.obeys_knowledge(&candidate) {
                *best = Some(candidate);
            }
        }
    }

    fn obeys_knowledge(&self, candidate: &Move) -> bool {
        self.knowledge.is_empty()
            || apply(self.graph, candidate, self.targets).refined(self.knowledge.forbidden()).is_some()
    }
}

/// The class after an operator: a member in which the operator is a change of one edge, changed, and its class.
pub fn apply(graph: &EssentialGraph, step: &Move, targets: &[NodeSet]) -> EssentialGraph {
    let mut first: Vec<Node> = step.clique.iter().collect();
    let mut dag = match step.kind {
        Kind::Delete if graph.neighbours(step.to).contains(step.from) => {
            first.extend([step.from, step.to]);
            graph.member(&[&first])
        }
        Kind::Insert | Kind::Delete => {
            first.push(step.to);
            graph.member(&[&first])
        }
        Kind::TurnLine => {
            first.extend([step.to, step.from]);
            graph.member(&[&first])
        }
        Kind::TurnArrow => {
            first.push(step.to);
            graph.member(&[&first, &[step.from]])
        }
    };
    match step.kind {
        Kind::Insert => dag.add_edge(step.from, step.to).expect("a valid insertion cannot create a cycle"),
        Kind::Delete => {
            dag.remove_edge(step.from, step.to);
        }
        Kind::TurnLine | Kind::TurnArrow => {
            dag.remove_edge(step.to, step.from);
            dag.add_edge(step.from, step.to).expect("a valid turn cannot create a cycle");
        }
    }
    EssentialGraph::of(&dag, targets)
}

/// Calls `visit` with every clique of lines among `vertices`, the empty one first.
fn for_each_clique(graph: &EssentialGraph, vertices: &NodeSet, visit: &mut impl FnMut(&NodeSet)) {
    let mut clique = NodeSet::empty(graph.len());
    extend_clique(graph, &mut clique, vertices, visit);
}

/// `candidates` are adjacent to all of `clique` and larger than its last vertex.
fn extend_clique(
    graph: &EssentialGraph,
    clique: &mut NodeSet,
    candidates: &NodeSet,
    visit: &mut impl FnMut(&NodeSet),
) {
    visit(clique);
    let mut rest = candidates.clone();
    for vertex in candidates {
        rest.remove(vertex);
        clique.insert(vertex);
        // Vertices of one chain component are adjacent by a line or not at all.
        extend_clique(graph, clique, &rest.intersection(graph.neighbours(vertex)), visit);
        clique.remove(vertex);
    }
}

/// All vertices that can be reached from `start` along arrows and lines without passing through `avoid`.
fn reach(graph: &EssentialGraph, start: Node, avoid: &NodeSet) -> NodeSet {
    let mut reached = avoid.clone();
    reached.insert(start);
    let mut stack = vec![start];
    while let Some(at) = stack.pop() {
        for next in &graph.points_at(at).difference(&reached) {
            reached.insert(next);
            stack.push(next);
        }
    }
    reached.difference_with(avoid);
    reached
}

/// Is there a path from `to` to `from`, other than the arrow between them, that avoids the clique and the neighbours
/// of `from`?
fn has_detour(graph: &EssentialGraph, to: Node, from: Node, clique: &NodeSet) -> bool {
    let avoid = clique.union(graph.neighbours(from));
    let mut reached = avoid.clone();
    reached.insert(to);
    let mut stack = vec![to];
    while let Some(at) = stack.pop() {
        let mut next = graph.points_at(at).difference(&reached);
        if at == to {
            next.remove(from);
        }
        if next.contains(from) {
            return true;
        }
        for vertex in &next {
            reached.insert(vertex);
            stack.push(vertex);
        }
    }
    false
}

/// Among the neighbours of `to`: does the clique's part inside `common` separate its part outside from the rest of
/// `common`?
fn separates(graph: &EssentialGraph, to: Node, clique: &NodeSet, common: &NodeSet) -> bool {
    let goal = common.difference(clique);
    let mut reached = clique.difference(common);
    let blocked = clique.intersection(common);
    let mut stack: Vec<Node> = reached.iter().collect();
    while let Some(at) = stack.pop() {
        let mut next = graph.neighbours(at).intersection(graph.neighbours(to));
        next.difference_with(&reached);
        next.difference_with(&blocked);
        if next.intersects(&goal) {
            return false;
        }
        for vertex in &next {
            reached.insert(vertex);
            stack.push(vertex);
        }
    }
    true
}
