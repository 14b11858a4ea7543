//! Moves between DAGs: the state of one pair of nodes, and the reversal of an edge with new parents for both ends.
//!
//! The first makes sure that every DAG can be reached, whatever is forbidden and required. The second (Grzegorczyk &
//! Husmeier, 2008) turns an edge around in one step, where going through its absence would cost too much.

use super::mask::{Mask, bit};
use super::table::ParentSets;
use crate::graph::Node;
use crate::num::random::Draws;

/// Is there a directed path `from` ⇝ `to`?
pub(super) fn reaches(parents: &[Mask], from: Node, to: Node) -> bool {
    let (mut seen, mut open) = (Mask::EMPTY, bit(to));
    while let Some(node) = open.nodes().next() {
        open &= !bit(node);
        seen |= bit(node);
        if node == from {
            return true;
        }
        open |= parents[node] & !seen;
    }
    false
}

/// The node and all its descendants.
pub(super) fn family_below(parents: &[Mask], node: Node) -> Mask {
    let mut below = bit(node);
    loop {
        let more = (0..parents.len())
            .filter(|&child| parents[child].meets(below))
            .fold(below, |set, child| set | bit(child));
        if more == below {
            return below;
        }
        below = more;
    }
}

/// Draws the state of a random pair given all others: no edge, one direction, or the other.
pub(super) fn redraw_pair(parents: &mut [Mask], tables: &[ParentSets], draws: &mut Draws) {
    let nodes = parents.len();
    if nodes < 2 {
        return;
    }
    let a = draws.below(nodes);
    let b = (a + 1 + draws.below(nodes - 1)) % nodes;
    let (without_a, without_b) = (parents[a] & !bit(b), parents[b] & !bit(a));
    let score = |of_a: Mask, of_b: Mask| match (tables[a].score(of_a), tables[b].score(of_b)) {
        (Some(x), Some(y)) => x + y,
        _ => f64::NEG_INFINITY,
    };
    (parents[a], parents[b]) = (without_a, without_b);
    let into_b =
        if reaches(parents, b, a) { f64::NEG_INFINITY } else { score(without_a, without_b | bit(a)) };
    let into_a =
        if reaches(parents, a, b) { f64::NEG_INFINITY } else { score(without_a | bit(b), without_b) };
    let options = [
        (score(without_a, without_b), without_a, without_b),
        (into_b, without_a, without_b | bit(a)),
        (into_a, without_a | bit(b), without_b),
    ];
    let largest = options.iter().map(|option| option.0).fold(f64::NEG_INFINITY, f64::max);
    let weights = options.map(|option| (option.0 - largest).exp());
    let mut target = draws.uniform() * weights.iter().sum::<f64>();
    for (weight, (_, of_a, of_b)) in weights.into_iter().zip(options) {
        if weight > 0.0 {
            (parents[a], parents[b]) = (of_a, of_b);
            target -= weight;
            if target <= 0.0 {
                break;
            }
        }
    }
}

/// Proposes to reverse a random edge, with new parents for both its ends; true if accepted.
pub(super) fn reverse_edge(parents: &mut [Mask], tables: &[ParentSets], draws: &mut Draws) -> bool {
    let nodes = parents.len();
    let count = |parents: &[Mask]| parents.iter().map(|set| set.len()).sum::<usize>();
    let edges = count(parents);
    if edges == 0 {
        return false;
    }
    let all = Mask::first(nodes);
    let chosen = draws.below(edges);
    let mut pairs = (0..nodes).flat_map(|to| parents[to].nodes().map(move |from| (from, to)));
    let (i, j) = pairs.nth(chosen).expect("one of the edges");
    let (old_i, old_j) = (parents[i], parents[j]);
    // Without the parents of both ends; then i gets parents with j among them, and j any.
    (parents[i], parents[j]) = (Mask::EMPTY, Mask::EMPTY);
    let (free_i, free_j) = (all & !family_below(parents, i), all & !family_below(parents, j));
    let mut outcome = None;
    if let Some(new_i) = tables[i].draw(free_i | bit(j), bit(j), draws) {
        parents[i] = new_i;
        let after = all & !family_below(parents, j);
        if let Some(new_j) = tables[j].draw(after, Mask::EMPTY, draws) {
            // The way back: j gets parents with i among them, then i any.
            parents[i] = Mask::EMPTY;
            parents[j] = old_j;
            let back = all & !family_below(parents, i);
            let ratio = tables[i].log_sum(free_i | bit(j), bit(j))
                - tables[j].log_sum(free_j | bit(i), bit(i))
                + tables[j].log_sum(after, Mask::EMPTY)
                - tables[i].log_sum(back, Mask::EMPTY);
            (parents[i], parents[j]) = (new_i, new_j);
            let ratio = ratio + (edges as f64 / count(parents) as f64).ln();
            outcome = (draws.uniform().ln() < ratio).then_some((new_i, new_j));
        }
    }
    (parents[i], parents[j]) = outcome.unwrap_or((old_i, old_j));
    outcome.is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::num::random::{Purpose, Seed};

    /// The set of the nodes whose bits a number has.
    fn of_bits(code: u32) -> Mask {
        Mask::of((0..3).filter(|node| code >> node & 1 == 1))
    }

    /// Redrawn pairs and reversals alone, without moves of layers, visit the 25 DAGs of three nodes in proportion to
    /// their weights: frequencies from 100 batches of 1000 steps within 4.5 of their standard errors.
    #[test]
    fn graphs_are_visited_in_proportion_to_their_weights() {
        let nodes = 3;
        let mut draws = Seed::new(1).stream(Purpose::Mcmc).draws();
        let tables: Vec<ParentSets> = (0..nodes)
            .map(|node| {
                let sets = (0..1 << nodes).map(of_bits).filter(|mask| !mask.contains(node));
                ParentSets::new(sets.map(|mask| (mask, draws.normal())).collect(), nodes)
            })
            .collect();
        let score = |parents: &[Mask]| -> f64 {
            parents.iter().zip(&tables).map(|(set, table)| table.score(*set).unwrap()).sum()
        };
        let mut weights = std::collections::BTreeMap::new();
        for code in 0..512u32 {
            let parents: Vec<Mask> = (0..nodes).map(|node| of_bits(code >> (3 * node) & 7)).collect();
            let own = (0..nodes).any(|node| parents[node].contains(node));
            let cyclic = || (0..nodes).any(|to| parents[to].nodes().any(|from| reaches(&parents, to, from)));
            if !own && !cyclic() {
                weights.insert(parents.clone(), score(&parents).exp());
            }
        }
        assert_eq!(weights.len(), 25);
        let total: f64 = weights.values().sum();
        let (batches, steps) = (100, 1000);
        let mut shares = vec![vec![0.0; batches]; weights.len()];
        let mut parents = vec![Mask::EMPTY; nodes];
        let mut reversed = 0;
        for batch in 0..batches {
            for _ in 0..steps {
                // A pair only now and then, so that reversals do most of the work.
                if draws.uniform() < 0.2 {
                    redraw_pair(&mut parents, &tables, &mut draws);
                } else {
                    reversed += usize::from(reverse_edge(&mut parents, &tables, &mut draws));
                }
                let place = weights.keys().position(|graph| *graph == parents).expect("a DAG");
                shares[place][batch] += 1.0 / f64::from(steps);
            }
        }
        assert!(reversed > 10_000, "{reversed}");
        for (shares, (graph, weight)) in shares.iter().zip(&weights) {
            let mean = shares.iter().sum::<f64>() / batches as f64;
            let variance =
                shares.iter().map(|share| (share - mean).powi(2)).sum::<f64>() / (batches - 1) as f64;
            let z = (mean - weight / total) / (variance / batches as f64).sqrt();
            assert!(z.abs() < 4.5, "{graph:?}: {mean} {} z {z}", weight / total);
        }
    }
}
