//! Which sets of parents a node may have: all small sets of a few candidates, and any other parent beside the likeliest.
//!
//! Candidates are those that gain most, alone or beside the parents that a greedy search takes one after the other: a
//! parent that matters only beside another one is found too. A parent that is not a candidate stays possible, alone or
//! together with the first three greedy ones; when the chains use it, it becomes a candidate.

use std::collections::BTreeMap;

use super::mask::{Mask, bit};
use super::problem::Problem;
use crate::graph::Node;
use crate::num::parallel::ordered_map;
use crate::observer::{Pulse, Stopped};

/// Greedy parents beside which all others are tried.
const COMPANY: usize = 3;

/// What is known beforehand about the parents of one node.
#[derive(Clone, Copy)]
pub(super) struct Limits {
    /// Never parents, the node itself among them.
    pub forbidden: Mask,
    pub required: Mask,
    pub nodes: usize,
    /// Parents at most; required ones are never refused.
    pub most_parents: usize,
    pub candidates: usize,
}

impl Limits {
    /// Parents that the node may have beside the required ones.
    pub fn all(&self) -> Mask {
        Mask::first(self.nodes) & !self.forbidden & !self.required
    }

    /// Parents that may be added to the required ones.
    fn more(&self) -> usize {
        self.most_parents.saturating_sub(self.required.len())
    }
}

/// Scores of the sets of one node that were ever computed.
pub(super) type Scores = BTreeMap<Mask, f64>;

/// Candidates of a node, the greedy ones first.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Candidates {
    pub greedy: Vec<Node>,
    pub all: Mask,
}

/// Screens the parents of a node. Where it is stopped, the scores computed so far are kept.
pub(super) fn screen(
    problem: &Problem,
    limits: &Limits,
    scores: &mut Scores,
    pulse: &Pulse<'_>,
) -> Result<Candidates, Stopped> {
    let mut greedy = Vec::new();
    let mut context = limits.required;
    let mut gains = vec![f64::NEG_INFINITY; limits.nodes];
    fill(problem, &[context], scores, pulse)?;
    let mut at = scores[&context];
    for _ in 0..limits.more().min(limits.candidates) {
        let mut best: Option<(f64, Node)> = None;
        let open = || (limits.all() & !context).nodes();
        fill(problem, &open().map(|node| context | bit(node)).collect::<Vec<_>>(), scores, pulse)?;
        for node in open() {
            let score = scores[&(context | bit(node))];
            gains[node] = gains[node].max(score - at);
            if best.is_none_or(|(most, _)| score > most) {
                best = Some((score, node));
            }
        }
        let Some((score, node)) = best else { break };
        if score <= at && !greedy.is_empty() {
            break;
        }
        greedy.push(node);
        context |= bit(node);
        at = score;
    }
    let mut others: Vec<Node> = limits.all().nodes().filter(|node| !greedy.contains(node)).collect();
    others.sort_by(|a, b| gains[*b].total_cmp(&gains[*a]).then(a.cmp(b)));
    let room = limits.candidates.saturating_sub(greedy.len());
    let all = Mask::of(greedy.iter().chain(others.iter().take(room)).copied());
    Ok(Candidates { greedy, all })
}

/// All sets that a node may have. Removing an optional parent from a set gives another one of them.
pub(super) fn sets(candidates: &Candidates, limits: &Limits) -> Vec<Mask> {
    let mut sets = vec![limits.required];
    extend(&mut sets, 0, limits.more(), &candidates.all.nodes().collect::<Vec<_>>());
    let company: Vec<Node> = candidates.greedy.iter().copied().take(COMPANY).collect();
    for outsider in (limits.all() & !candidates.all).nodes() {
        if limits.more() == 0 {
            break;
        }
        let start = sets.len();
        sets.push(limits.required | bit(outsider));
        extend(&mut sets, start, limits.more() - 1, &company);
    }
    sets
}

/// Adds all unions of the set at `start`, the last one, with at most `most` of the nodes.
fn extend(sets: &mut Vec<Mask>, start: usize, most: usize, nodes: &[Node]) {
    let base = sets[start];
    let mut sized = vec![(Mask::EMPTY, 0)];
    for &node in nodes {
        for k in 0..sized.len() {
            let (set, size) = sized[k];
            if size < most {
                sized.push((set | bit(node), size + 1));
                sets.push(base | set | bit(node));
            }
        }
    }
}

/// Computes the missing scores of the sets. Where it is stopped, those computed so far are kept.
pub(super) fn fill(
    problem: &Problem,
    sets: &[Mask],
    scores: &mut Scores,
    pulse: &Pulse<'_>,
) -> Result<(), Stopped> {
    let missing: Vec<Mask> = sets.iter().copied().filter(|set| !scores.contains_key(set)).collect();
    let found = ordered_map(&missing, |&set| pulse.goes_on().then(|| problem.score(set)));
    let complete = found.iter().all(Option::is_some);
    scores.extend(missing.into_iter().zip(found).filter_map(|(set, score)| Some((set, score?))));
    if complete { Ok(()) } else { Err(Stopped) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_are_distinct_closed_and_obey() {
        let limits = Limits {
            forbidden: bit(0) | bit(1),
            required: bit(2),
            nodes: 12,
            most_parents: 4,
            candidates: 5,
        };
        let candidates = Candidates { greedy: vec![7, 3, 9, 4], all: Mask::of([7, 3, 9, 4, 5]) };
        let sets = sets(&candidates, &limits);
        let distinct: std::collections::HashSet<Mask> = sets.iter().copied().collect();
        assert_eq!(distinct.len(), sets.len());
        // 1 + 5 + 10 + 10 of candidates; for the 4 others 1 + 3 + 3.
        assert_eq!(sets.len(), 26 + 4 * 7);
        for set in &sets {
            assert!(set.contains(2) && !set.meets(limits.forbidden) && set.len() <= 4);
            assert!((*set & !bit(2)).nodes().all(|node| distinct.contains(&(*set & !bit(node)))));
        }
        let few = Limits { most_parents: 1, ..limits };
        assert_eq!(super::sets(&candidates, &few), [bit(2)]);
    }
}
