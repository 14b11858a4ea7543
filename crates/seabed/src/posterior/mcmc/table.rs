//! The sets of parents a node may have, with their weights: sums over those that an arrangement of the nodes allows.
//!
//! Sets are bits of one number, the likeliest first, so that a sum is a scan that ends early. Sums only add, and a set
//! that is e⁵⁰⁰ times less likely than the best still counts where the best is not allowed: weights are kept in bands, each
//! relative to its first set, so that no exponential is taken while summing.

use std::collections::HashMap;

use super::mask::{Mask, bit};
use crate::graph::Node;
use crate::num::random::Draws;

/// A sum ends where all that is left is below e^-NEGLIGIBLE of it.
const NEGLIGIBLE: f64 = 16.0;

/// How far scores of one band lie apart at most: the square of such a weight is still a normal number.
const BAND: f64 = 300.0;

/// Sets of parents of one node and the logarithms of their weights, largest first.
pub(super) struct ParentSets {
    sets: Vec<Set>,
    bands: Vec<Band>,
    /// `containing[u]`: places of the sets that contain u, in order.
    containing: Vec<Vec<u32>>,
    known: HashMap<Mask, f64>,
    /// Sets further than this below the best can be dropped without loss.
    depth: f64,
}

/// All about a set in one place of memory: scans jump from one to the next that is allowed.
struct Set {
    mask: Mask,
    score: f64,
    /// In units of the first of its band.
    weight: f64,
    band: u32,
}

/// Sets whose weights can be added as they are.
struct Band {
    /// The score of its first set.
    largest: f64,
    /// The unit of the next band in that of this one.
    step: f64,
}

impl ParentSets {
    /// The table of distinct sets over this many nodes.
    pub fn new(mut sets: Vec<(Mask, f64)>, nodes: usize) -> Self {
        sets.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        let mut containing = vec![Vec::new(); nodes];
        for (place, (mask, _)) in sets.iter().enumerate() {
            mask.nodes().for_each(|node| containing[node].push(place as u32));
        }
        let (depth, known) = (NEGLIGIBLE + (sets.len() as f64).ln(), sets.iter().copied().collect());
        let mut bands = Vec::<Band>::new();
        let set = |(mask, score): (Mask, f64)| {
            if bands.last().is_none_or(|band| band.largest - score > BAND) {
                if let Some(band) = bands.last_mut() {
                    band.step = (score - band.largest).exp();
                }
                bands.push(Band { largest: score, step: 0.0 });
            }
            let band = bands.len() - 1;
            Set { mask, score, weight: (score - bands[band].largest).exp(), band: band as u32 }
        };
        Self { sets: sets.into_iter().map(set).collect(), bands, containing, known, depth }
    }

    /// The same sets with weights to the power of 1/temperature.
    pub fn at(&self, temperature: f64) -> Self {
        let scaled = self.sets.iter().map(|set| (set.mask, set.score / temperature));
        Self::new(scaled.collect(), self.containing.len())
    }

    /// How far the best set is above the smallest one.
    pub fn range(&self) -> f64 {
        let smallest = self.sets.iter().min_by_key(|set| set.mask.len());
        smallest.map_or(0.0, |smallest| self.sets[0].score - smallest.score)
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
        self.sum_of(self.sets.iter().filter(|set| set.is_allowed(within, touching))).value(self)
    }

    /// [`ParentSets::log_sum`] for every number of layers before the node, up to `layers`: a set counts where the last
    /// layer before the node is the last one it has a node of. `layer_of[u]` is the layer of node u.
    pub fn log_sums_after(&self, layer_of: &[usize], layers: usize, out: &mut Vec<f64>) {
        let mut sums = vec![LogSum::default(); layers + 1];
        let (mut ended, mut left) = (vec![false; layers + 1], layers + 1);
        for set in &self.sets {
            let layer = set.mask.nodes().map(|node| layer_of[node] + 1).max().unwrap_or(0);
            if !sums[layer].add(self, set) && !std::mem::replace(&mut ended[layer], true) {
                left -= 1;
                if left == 0 {
                    break;
                }
            }
        }
        out.clear();
        out.extend(sums.iter().map(|sum| sum.value(self)));
    }

    /// For sets that contain `parent` and are otherwise within `within`: ln Σ of all, and of those with a node in
    /// common with `touching`.
    pub fn log_sums_with(&self, parent: Node, within: Mask, touching: Mask) -> (f64, f64) {
        let outside = !(within | bit(parent));
        let (mut all, mut some) = (LogSum::default(), LogSum::default());
        for &place in &self.containing[parent] {
            let set = &self.sets[place as usize];
            if !set.mask.meets(outside) {
                let more = all.add(self, set);
                let more_touching = !set.mask.meets(touching) || some.add(self, set);
                if !more && (!more_touching || touching.is_empty()) {
                    break;
                }
            }
        }
        (all.value(self), some.value(self))
    }

    /// A set drawn in proportion to its weight from those that [`ParentSets::log_sum`] adds up; none if there is none.
    pub fn draw(&self, within: Mask, touching: Mask, draws: &mut Draws) -> Option<Mask> {
        let allowed = || self.sets.iter().filter(|set| set.is_allowed(within, touching));
        let total = self.sum_of(allowed());
        let target = draws.uniform() * total.sum;
        let mut below = LogSum::default();
        let mut last = None;
        for set in allowed() {
            below.add(self, set);
            last = Some(set.mask);
            if below.sum >= target {
                break;
            }
        }
        last
    }

    fn sum_of<'s>(&self, mut sets: impl Iterator<Item = &'s Set>) -> LogSum {
        let mut sum = LogSum::default();
        while sets.next().is_some_and(|set| sum.add(self, set)) {}
        sum
    }
}

impl Set {
    #[inline]
    fn is_allowed(&self, within: Mask, touching: Mask) -> bool {
        allows(self.mask, within, touching)
    }
}

/// A sum of weights that come in descending order.
#[derive(Clone, Default)]
struct LogSum {
    /// The score of the first.
    largest: f64,
    /// The band of the first, in whose unit the sum is.
    band: u32,
    /// 0 before there is a first.
    sum: f64,
}

impl LogSum {
    /// Adds the weight of a set; false if it and all that follow are negligible.
    #[inline]
    fn add(&mut self, sets: &ParentSets, set: &Set) -> bool {
        if self.sum == 0.0 {
            *self = Self { largest: set.score, band: set.band, sum: set.weight };
            return true;
        }
        if set.score - self.largest < -sets.depth {
            return false;
        }
        // What is not negligible is at most one band further down.
        let unit = if set.band == self.band { 1.0 } else { sets.bands[self.band as usize].step };
        self.sum += set.weight * unit;
        true
    }

    fn value(&self, sets: &ParentSets) -> f64 {
        if self.sum == 0.0 {
            f64::NEG_INFINITY
        } else {
            sets.bands[self.band as usize].largest + self.sum.ln()
        }
    }
}

fn allows(mask: Mask, within: Mask, touching: Mask) -> bool {
    mask.is_within(within) && (touching.is_empty() || mask.meets(touching))
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

    /// The set of the nodes whose bits a number has.
    fn of_bits(code: u32) -> Mask {
        Mask::of((0..6).filter(|node| code >> node & 1 == 1))
    }

    fn table(seed: u64, spread: f64) -> (Vec<(Mask, f64)>, ParentSets) {
        let mut draws = Seed::new(seed).stream(Purpose::Mcmc).draws();
        let sets: Vec<(Mask, f64)> =
            (0..64).map(|code| (of_bits(code), spread * draws.normal() - 1000.0)).collect();
        (sets.clone(), ParentSets::new(sets, 6))
    }

    /// Also where the scores lie thousands apart.
    #[test]
    fn sums_agree_with_plain_ones() {
        for (seed, spread) in [(1, 1.0), (2, 30.0), (3, 3000.0)] {
            let (sets, table) = table(seed, spread);
            for within in (0..64).map(of_bits) {
                for touching in [0, 1, 6, 40, 63].map(of_bits) {
                    let plain = |keep: &dyn Fn(Mask) -> bool| {
                        let kept: Vec<f64> =
                            sets.iter().filter(|(mask, _)| keep(*mask)).map(|(_, score)| *score).collect();
                        crate::num::log_sum_exp(&kept)
                    };
                    let inside = |mask: Mask| mask.is_within(within);
                    let same = |got: f64, want: f64| got == want || (got - want).abs() < 1e-6;
                    let want = plain(&|mask| inside(mask) && (touching.is_empty() || mask.meets(touching)));
                    assert!(same(table.log_sum(within, touching), want));
                    let (all, touched) = table.log_sums_with(3, within & !bit(3), touching);
                    let with = |mask: Mask| mask.contains(3) && inside(mask & !bit(3));
                    assert!(same(all, plain(&with)));
                    assert!(same(touched, plain(&|mask| with(mask) && mask.meets(touching))));
                }
            }
        }
    }

    /// 20 000 draws from 8 sets: every frequency within 4.5 standard errors.
    #[test]
    fn sets_are_drawn_in_proportion_to_their_weights() {
        let (sets, table) = table(4, 1.0);
        let (within, touching) = (of_bits(0b1101), of_bits(0b1001));
        let total = table.log_sum(within, touching);
        let mut draws = Seed::new(5).stream(Purpose::Mcmc).draws();
        let mut counts = HashMap::new();
        for _ in 0..20_000 {
            *counts.entry(table.draw(within, touching, &mut draws).unwrap()).or_insert(0.0) += 1.0;
        }
        for (mask, score) in sets {
            let p = if allows(mask, within, touching) { (score - total).exp() } else { 0.0 };
            let count = counts.get(&mask).copied().unwrap_or(0.0);
            let z = (count - 20_000.0 * p) / (20_000.0 * p * (1.0 - p)).sqrt().max(1e-9);
            assert!(z.abs() < 4.5, "{mask:?}: {z}");
        }
        assert_eq!(table.draw(bit(1), bit(3), &mut draws), None);
    }
}
