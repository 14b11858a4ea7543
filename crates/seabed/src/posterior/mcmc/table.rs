//! The sets of parents a node may have, with their weights: sums over those that an arrangement of the nodes allows.
//!
//! Sets are bits of one number, the likeliest first, so that a sum is a scan that ends early. Everything is in
//! logarithms and sums only add: a set that is e⁵⁰⁰ times less likely than the best still counts where the best is not
//! allowed.

use std::collections::HashMap;

use crate::graph::{Node, NodeSet};
use crate::num::random::Draws;

/// A set of nodes: bit k is node k.
pub(super) type Mask = u128;

pub(super) fn bit(node: Node) -> Mask {
    1 << node
}

/// The nodes of a set, in ascending order.
pub(super) fn nodes_of(mut mask: Mask) -> impl Iterator<Item = Node> {
    std::iter::from_fn(move || {
        (mask != 0).then(|| {
            let node = mask.trailing_zeros() as usize;
            mask &= mask - 1;
            node
        })
    })
}

pub(super) fn mask_of(set: &NodeSet) -> Mask {
    set.iter().fold(0, |mask, node| mask | bit(node))
}

pub(super) fn set_of(mask: Mask, nodes: usize) -> NodeSet {
    NodeSet::of(nodes, nodes_of(mask))
}

/// A sum ends where all that is left is below e^-NEGLIGIBLE of it.
const NEGLIGIBLE: f64 = 16.0;

/// Sets of parents of one node and the logarithms of their weights, largest first.
pub(super) struct ParentSets {
    masks: Vec<Mask>,
    scores: Vec<f64>,
    /// `containing[u]`: places of the sets that contain u, in order.
    containing: Vec<Vec<u32>>,
    known: HashMap<Mask, f64>,
    /// Sets further than this below the best can be dropped without loss.
    depth: f64,
}

impl ParentSets {
    /// The table of distinct sets over this many nodes.
    pub fn new(mut sets: Vec<(Mask, f64)>, nodes: usize) -> Self {
        sets.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        let mut containing = vec![Vec::new(); nodes];
        for (place, (mask, _)) in sets.iter().enumerate() {
            nodes_of(*mask).for_each(|node| containing[node].push(place as u32));
        }
        Self {
            depth: NEGLIGIBLE + (sets.len() as f64).ln(),
            containing,
            known: sets.iter().copied().collect(),
            masks: sets.iter().map(|set| set.0).collect(),
            scores: sets.iter().map(|set| set.1).collect(),
        }
    }

    /// The same sets with weights to the power of 1/temperature.
    pub fn at(&self, temperature: f64) -> Self {
        let scaled = self.masks.iter().zip(&self.scores).map(|(mask, score)| (*mask, score / temperature));
        Self::new(scaled.collect(), self.containing.len())
    }

    /// How far the best set is above the smallest one.
    pub fn range(&self) -> f64 {
        let smallest = self.masks.iter().zip(&self.scores).min_by_key(|(mask, _)| mask.count_ones());
        smallest.map_or(0.0, |(_, score)| self.scores[0] - score)
    }

    /// The log-weight of a set; none if a node may not have it.
    pub fn score(&self, mask: Mask) -> Option<f64> {
        self.known.get(&mask).copied()
    }

    /// Is the node in any of the sets?
    pub fn may_have(&self, parent: Node) -> bool {
        !self.containing[parent].is_empty()
    }

    /// ln Σ of the weights of sets within `within`, and, if `touching` is not empty, with a node in common with it.
    pub fn log_sum(&self, within: Mask, touching: Mask) -> f64 {
        let allowed = |place: &usize| allows(self.masks[*place], within, touching);
        self.log_sum_of((0..self.masks.len()).filter(allowed))
    }

    /// [`ParentSets::log_sum`] for every number of layers before the node, up to `layers`: a set counts where the last
    /// layer before the node is the last one it has a node of. `layer_of[u]` is the layer of node u.
    pub fn log_sums_after(&self, layer_of: &[usize], layers: usize, out: &mut Vec<f64>) {
        let mut sums = vec![LogSum::default(); layers + 1];
        for (mask, score) in self.masks.iter().zip(&self.scores) {
            let place = nodes_of(*mask).map(|node| layer_of[node] + 1).max().unwrap_or(0);
            sums[place].add(*score, self.depth);
        }
        out.clear();
        out.extend(sums.iter().map(LogSum::value));
    }

    /// For sets that contain `parent` and are otherwise within `within`: ln Σ of all, and of those with a node in
    /// common with `touching`.
    pub fn log_sums_with(&self, parent: Node, within: Mask, touching: Mask) -> (f64, f64) {
        let outside = !(within | bit(parent));
        let (mut all, mut some) = (LogSum::default(), LogSum::default());
        for &place in &self.containing[parent] {
            let (mask, score) = (self.masks[place as usize], self.scores[place as usize]);
            if mask & outside == 0 {
                let more = all.add(score, self.depth);
                let more_touching = mask & touching == 0 || some.add(score, self.depth);
                if !more && (!more_touching || touching == 0) {
                    break;
                }
            }
        }
        (all.value(), some.value())
    }

    /// A set drawn in proportion to its weight from those that [`ParentSets::log_sum`] adds up; none if there is none.
    pub fn draw(&self, within: Mask, touching: Mask, draws: &mut Draws) -> Option<Mask> {
        let allowed = |place: &usize| allows(self.masks[*place], within, touching);
        let places = || (0..self.masks.len()).filter(allowed);
        let target = draws.uniform();
        let total = self.log_sum_of(places());
        let mut below = 0.0;
        let mut last = None;
        for place in places() {
            let share = (self.scores[place] - total).exp();
            below += share;
            last = Some(self.masks[place]);
            if below >= target {
                break;
            }
        }
        last
    }

    fn log_sum_of(&self, mut places: impl Iterator<Item = usize>) -> f64 {
        let mut sum = LogSum::default();
        while places.next().is_some_and(|place| sum.add(self.scores[place], self.depth)) {}
        sum.value()
    }
}

/// A sum of weights whose logarithms come in descending order.
#[derive(Clone, Default)]
struct LogSum {
    largest: f64,
    /// In units of the largest; 0 before there is one.
    sum: f64,
}

impl LogSum {
    /// Adds a weight; false if it and all that follow are negligible.
    fn add(&mut self, score: f64, depth: f64) -> bool {
        if self.sum == 0.0 {
            (self.largest, self.sum) = (score, 1.0);
            return true;
        }
        let below = score - self.largest;
        if below < -depth {
            return false;
        }
        self.sum += below.exp();
        true
    }

    fn value(&self) -> f64 {
        self.largest + self.sum.ln()
    }
}

fn allows(mask: Mask, within: Mask, touching: Mask) -> bool {
    mask & !within == 0 && (touching == 0 || mask & touching != 0)
}

/// ln(eᵃ + eᵇ).
pub(super) fn log_add(a: f64, b: f64) -> f64 {
    let (low, high) = if a < b { (a, b) } else { (b, a) };
    if low == f64::NEG_INFINITY { high } else { high + (low - high).exp().ln_1p() }
}

/// ln(eᵃ - eᵇ).
pub(super) fn log_subtract(a: f64, b: f64) -> f64 {
    if b == f64::NEG_INFINITY { a } else { a + (-(b - a).exp_m1()).ln() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::num::random::{Purpose, Seed};

    fn table(seed: u64, spread: f64) -> (Vec<(Mask, f64)>, ParentSets) {
        let mut draws = Seed::new(seed).stream(Purpose::Mcmc).draws();
        let sets: Vec<(Mask, f64)> = (0..64).map(|mask| (mask, spread * draws.normal() - 1000.0)).collect();
        (sets.clone(), ParentSets::new(sets, 6))
    }

    /// Also where the scores lie thousands apart.
    #[test]
    fn sums_agree_with_plain_ones() {
        for (seed, spread) in [(1, 1.0), (2, 30.0), (3, 3000.0)] {
            let (sets, table) = table(seed, spread);
            for within in 0..64 {
                for touching in [0, 1, 6, 40, 63] {
                    let plain = |keep: &dyn Fn(Mask) -> bool| {
                        let kept: Vec<f64> =
                            sets.iter().filter(|(mask, _)| keep(*mask)).map(|(_, score)| *score).collect();
                        crate::num::log_sum_exp(&kept)
                    };
                    let inside = |mask: Mask| mask & !within == 0;
                    let same = |got: f64, want: f64| got == want || (got - want).abs() < 1e-6;
                    let want = plain(&|mask| inside(mask) && (touching == 0 || mask & touching != 0));
                    assert!(same(table.log_sum(within, touching), want));
                    let (all, touched) = table.log_sums_with(3, within & !8, touching);
                    let with = |mask: Mask| mask & 8 != 0 && inside(mask & !8);
                    assert!(same(all, plain(&with)));
                    assert!(same(touched, plain(&|mask| with(mask) && mask & touching != 0)));
                }
            }
        }
    }

    /// 20 000 draws from 8 sets: every frequency within 4.5 standard errors.
    #[test]
    fn sets_are_drawn_in_proportion_to_their_weights() {
        let (sets, table) = table(4, 1.0);
        let (within, touching) = (0b1101, 0b1001);
        let total = table.log_sum(within, touching);
        let mut draws = Seed::new(5).stream(Purpose::Mcmc).draws();
        let mut counts = vec![0.0; 64];
        for _ in 0..20_000 {
            counts[table.draw(within, touching, &mut draws).unwrap() as usize] += 1.0;
        }
        for (mask, score) in sets {
            let p = if allows(mask, within, touching) { (score - total).exp() } else { 0.0 };
            let z = (counts[mask as usize] - 20_000.0 * p) / (20_000.0 * p * (1.0 - p)).sqrt().max(1e-9);
            assert!(z.abs() < 4.5, "{mask:b}: {z}");
        }
        assert_eq!(table.draw(0b0010, 0b1000, &mut draws), None);
    }
}
