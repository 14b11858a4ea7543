//! Acyclic random digraphs, drawn directly: the law of G(d, p) given that there is no cycle.
//!
//! Rejecting cyclic graphs takes forever once there are many edges. Here a DAG is
//! drawn layer by layer: its sources, the sources of what remains, and so on. The
//! weights of the layers follow Robinson's count of labelled DAGs by their sources, with
//! p/(1-p) for each edge (Kuipers and Moffa, "Uniform random generation of large acyclic
//! digraphs", for p = 1/2).

use super::{Dag, Node};
use crate::num::random::Draws;

/// Terms further than this below the largest, in nats, do not change a sum of doubles.
const NEGLIGIBLE: f64 = -45.0;

/// The law of G(d, p) given acyclicity, with its layer weights worked out: O(nodes³) time, O(nodes²) memory.
pub(super) struct AcyclicLaw {
    nodes: usize,
    /// ln(1 - p).
    ln_absent: f64,
    /// `ln_sources[n][k - 1]` = ln of the probability that such a graph on n nodes has exactly k sources.
    ln_sources: Vec<Vec<f64>>,
    /// `ln_total[n]` = ln of the sum over DAGs on n nodes of (p/(1-p))^edges.
    ln_total: Vec<f64>,
}

impl AcyclicLaw {
    /// `0 < probability < 1` is that of each ordered pair.
    pub(super) fn new(nodes: usize, probability: f64) -> Self {
        let ln_absent = (-probability).ln_1p();
        let mut law = Self { nodes, ln_absent, ln_sources: vec![Vec::new()], ln_total: vec![0.0] };
        let mut ln_factorial = vec![0.0];
        for n in 1..=nodes {
            ln_factorial.push(ln_factorial[n - 1] + (n as f64).ln());
            // k sources: which ones, any edges from them to the rest, and the rest itself, whose own
            // sources must each have a parent among the k.
            let mut row: Vec<f64> = (1..n)
                .map(|k| {
                    let rest = n - k;
                    let choices = ln_factorial[n] - ln_factorial[k] - ln_factorial[rest];
                    let edges = -((k * rest) as f64) * law.ln_absent;
                    choices + edges + law.ln_total[rest] + law.ln_all_sources_reached(rest, k)
                })
                .collect();
            row.push(0.0);
            let total = ln_sum_exp(&row, |_, term| term);
            row.iter_mut().for_each(|term| *term -= total);
            law.ln_sources.push(row);
            law.ln_total.push(total);
        }
        law
    }

    /// One DAG.
    pub(super) fn draw(&self, draws: &mut Draws) -> Dag {
        let mut order: Vec<Node> = (0..self.nodes).collect();
        draws.shuffle(&mut order);
        let mut edges = Vec::new();
        // order[before..at] is the layer drawn last.
        let (mut before, mut at) = (0, 0);
        while at < self.nodes {
            let layer = self.draw_layer(self.nodes - at, at - before, draws);
            for &child in &order[at..at + layer] {
                if at > 0 {
                    self.some_successes(at - before, draws, |k| edges.push((order[before + k], child)));
                    successes(before, self.ln_absent, draws, |k| edges.push((order[k], child)));
                }
            }
            (before, at) = (at, at + layer);
        }
        Dag::from_edges(self.nodes, edges).expect("edges go from layer to later layer")
    }

    /// ln of the probability that each source of a graph on `rest` nodes has a parent among `above` more nodes.
    fn ln_all_sources_reached(&self, rest: usize, above: usize) -> f64 {
        let ln_reached = self.ln_reached(above);
        ln_sum_exp(&self.ln_sources[rest], |k, term| term + (k + 1) as f64 * ln_reached)
    }

    /// ln of the probability that a node has at least one parent among `above` nodes.
    fn ln_reached(&self, above: usize) -> f64 {
        (-(above as f64 * self.ln_absent).exp_m1()).ln()
    }

    /// Size of the next layer: the sources of what remains, all reached from the layer `above` (0: no such layer).
    fn draw_layer(&self, rest: usize, above: usize, draws: &mut Draws) -> usize {
        let ln_reached = if above == 0 { 0.0 } else { self.ln_reached(above) };
        let weight = |k: usize| self.ln_sources[rest][k - 1] + k as f64 * ln_reached;
        let largest = (1..=rest).map(weight).fold(f64::NEG_INFINITY, f64::max);
        let share = |k: usize| (weight(k) - largest).exp();
        let mut left = draws.uniform() * (1..=rest).map(share).sum::<f64>();
        for k in 1..rest {
            left -= share(k);
            if left < 0.0 {
                return k;
            }
        }
        rest
    }

    /// Bernoulli trials `0..trials` of which at least one succeeds.
    fn some_successes(&self, trials: usize, draws: &mut Draws, mut succeed: impl FnMut(usize)) {
        let any = -(trials as f64 * self.ln_absent).exp_m1();
        let first = ((-draws.uniform() * any).ln_1p() / self.ln_absent) as usize;
        let first = first.min(trials - 1);
        succeed(first);
        successes(trials - 1 - first, self.ln_absent, draws, |k| succeed(first + 1 + k));
    }
}

/// Calls `succeed` for each success among `trials` Bernoulli trials; skips the failures between them.
///
/// `ln_absent` is the logarithm of the probability of failure.
pub(super) fn successes(trials: usize, ln_absent: f64, draws: &mut Draws, mut succeed: impl FnMut(usize)) {
    let mut at = 0usize;
    loop {
        // Far beyond the last trial the conversion saturates, which is fine.
        at = at.saturating_add((draws.uniform().ln() / ln_absent) as usize);
        if at >= trials {
            return;
        }
        succeed(at);
        at += 1;
    }
}

/// ln Σ exp(term(k, terms[k])), without the terms that do not change it.
fn ln_sum_exp(terms: &[f64], term: impl Fn(usize, f64) -> f64) -> f64 {
    let largest = terms.iter().enumerate().map(|(k, &t)| term(k, t)).fold(f64::NEG_INFINITY, f64::max);
    let seen = terms.iter().enumerate().map(|(k, &t)| term(k, t) - largest).filter(|&t| t > NEGLIGIBLE);
    largest + seen.map(f64::exp).sum::<f64>().ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn with_equal_weights_it_counts_the_labelled_dags() {
        let law = AcyclicLaw::new(8, 0.5);
        let counts =
            [1.0, 1.0, 3.0, 25.0, 543.0, 29281.0, 3_781_503.0, 1_138_779_265.0, 783_702_329_343.0f64];
        for (n, count) in counts.iter().enumerate() {
            assert!((law.ln_total[n] - count.ln()).abs() < 1e-12, "{n} nodes");
        }
    }

    #[test]
    fn extreme_probabilities_give_finite_weights() {
        for probability in [1e-300, 1e-9, 0.001, 0.999, 1.0 - 1e-16] {
            let law = AcyclicLaw::new(150, probability);
            assert!(law.ln_total.iter().all(|t| t.is_finite()), "{probability}");
        }
    }
}
