//! Do the chains agree, and how many independent draws are they worth?
//!
//! R-hat compares the spread between half chains with the spread within them; the effective sample size divides the
//! number of draws by their autocorrelation time (Gelman et al., Bayesian Data Analysis, 3rd edition, chapter 11).

use serde::Serialize;

use super::chain::Chain;
use super::mask::Mask;
use crate::data::Names;
use crate::graph::Node;

/// How far the chains can be trusted.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Diagnostics {
    /// Sweeps of each chain.
    pub sweeps: usize,
    /// Sweeps of each chain after burn-in, which are counted.
    pub kept: usize,
    /// Of the log posterior of the graph.
    pub score: Convergence,
    /// The largest R-hat of an edge whose probability is neither almost 0 nor almost 1.
    pub worst_edge: f64,
    /// The smallest effective sample size of such an edge.
    pub least_edge_size: f64,
    /// Edges on which chains disagree: (from, to), nodes in the order of the data, largest R-hat first.
    #[serde(skip)]
    pub disputed: Vec<(Node, Node)>,
    /// Do chains agree?
    pub agree: bool,
    /// Mean log posterior of the graph, up to a constant, of each chain.
    pub mean_scores: Vec<f64>,
    /// Parents that became candidates because the chains used them.
    pub readmitted: usize,
}

/// R-hat and effective sample size of one quantity.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Convergence {
    /// 1 when chains agree.
    pub r_hat: f64,
    /// The effective sample size: independent draws that the chains are worth.
    pub size: f64,
}

/// Chains agree below these.
const SCORE_LIMIT: f64 = 1.05;
const EDGE_LIMIT: f64 = 1.1;
/// Relative rounding error of a mean of many numbers, generously.
const ROUNDING: f64 = 1e-11;
/// A warning is given if the draws are worth less than this fraction of independent ones.
const LEAST_SHARE: f64 = 0.5;
/// Edges less or more probable than this are settled.
const SETTLED: f64 = 0.05;

impl Diagnostics {
    /// How far the chains can be trusted, as text.
    pub fn notes(&self) -> Vec<String> {
        let chains = self.mean_scores.len();
        let mut notes = vec![format!(
            "{chains} chains of {} sweeps, the first {} burn-in; R-hat of the score {:.3} (effective sample \
             size {:.0}), of edges up to {:.3} (at least {:.0})",
            self.sweeps,
            self.sweeps - self.kept,
            self.score.r_hat,
            self.score.size,
            self.worst_edge,
            self.least_edge_size
        )];
        if chains == 1 {
            notes.push("(with one chain, only its two halves can be compared)".into());
        }
        if self.readmitted > 0 {
            notes.push(format!(
                "({} parents were added to the candidates because the chains used them)",
                self.readmitted
            ));
        }
        notes
    }

    /// The diagnostics of chains whose paths have the same length.
    pub(super) fn of(chains: &[Chain], readmitted: usize) -> Self {
        let nodes = chains[0].path.first().map_or(0, Vec::len);
        let kept = chains[0].path.len();
        let scores: Vec<Vec<f64>> = chains.iter().map(|chain| chain.scores.clone()).collect();
        let score = convergence(&scores);
        let mut edges: Vec<(Node, Node, Convergence)> = Vec::new();
        for to in 0..nodes {
            let parents = |chain: &Chain| -> Vec<Mask> { chain.path.iter().map(|graph| graph[to]).collect() };
            let paths: Vec<Vec<Mask>> = chains.iter().map(parents).collect();
            let ever = paths.iter().flatten().fold(Mask::EMPTY, |set, parents| set | *parents);
            for from in ever.nodes() {
                let series: Vec<Vec<f64>> = paths
                    .iter()
                    .map(|path| path.iter().map(|set| f64::from(u8::from(set.contains(from)))).collect())
                    .collect();
                let p = series.iter().flatten().sum::<f64>() / (kept * chains.len()) as f64;
                if p > SETTLED && p < 1.0 - SETTLED {
                    edges.push((from, to, convergence(&series)));
                }
            }
        }
        edges.sort_by(|a, b| b.2.r_hat.total_cmp(&a.2.r_hat));
        let worst_edge = edges.first().map_or(1.0, |edge| edge.2.r_hat);
        let all = (kept * chains.len()) as f64;
        Self {
            sweeps: chains[0].sweeps as usize,
            kept,
            agree: score.r_hat <= SCORE_LIMIT && worst_edge <= EDGE_LIMIT,
            score,
            worst_edge,
            least_edge_size: edges.iter().map(|edge| edge.2.size).fold(all, f64::min),
            disputed: edges
                .iter()
                .filter(|edge| edge.2.r_hat > EDGE_LIMIT)
                .map(|&(from, to, _)| (from, to))
                .collect(),
            mean_scores: scores
                .iter()
                .map(|scores| scores.iter().sum::<f64>() / kept.max(1) as f64)
                .collect(),
            readmitted,
        }
    }

    /// How far the mean log posteriors of the chains are from one another.
    pub(super) fn apart(&self) -> f64 {
        let of = |pick: fn(f64, f64) -> f64| self.mean_scores.iter().copied().reduce(pick).unwrap_or(0.0);
        of(f64::max) - of(f64::min)
    }

    /// The smallest effective sample size of the score and the undecided edges.
    pub fn size(&self) -> f64 {
        self.score.size.min(self.least_edge_size)
    }

    /// Why this many draws should not be trusted as they are; `names` in the order of the data.
    pub fn warning(&self, names: &Names, draws: usize) -> Option<String> {
        let edge = |&(from, to): &(Node, Node)| format!("{} -> {}", names[from], names[to]);
        let first: Vec<String> = self.disputed.iter().take(5).map(edge).collect();
        if !self.agree {
            let differ = match first.len() {
                0 => String::new(),
                _ => format!("; they differ most on {}", first.join(", ")),
            };
            return Some(format!(
                "the chains do not agree yet (R-hat of the score {:.3}, of edges up to {:.3}), so these probabilities \
                 depend on where the chains started{differ}",
                self.score.r_hat, self.worst_edge
            ));
        }
        (self.size() < LEAST_SHARE * draws as f64).then(|| {
            let size = self.size();
            format!("the chains are worth only about {size:.0} independent graphs, but {draws} were drawn")
        })
    }

    /// Are the chains long enough for this many nearly independent draws?
    pub(super) fn enough(&self, draws: usize) -> bool {
        self.agree && self.size() >= draws as f64
    }
}

/// Split R-hat and effective sample size of chains of one length.
pub(super) fn convergence(chains: &[Vec<f64>]) -> Convergence {
    let half = chains[0].len() / 2;
    let all = (2 * half * chains.len()) as f64;
    if half < 2 {
        return Convergence { r_hat: f64::INFINITY, size: 1.0 };
    }
    let halves: Vec<&[f64]> =
        chains.iter().flat_map(|chain| [&chain[..half], &chain[chain.len() - half..]]).collect();
    let n = half as f64;
    let means: Vec<f64> = halves.iter().map(|half| half.iter().sum::<f64>() / n).collect();
    let grand = means.iter().sum::<f64>() / means.len() as f64;
    let between = n * means.iter().map(|mean| (mean - grand).powi(2)).sum::<f64>() / (means.len() - 1) as f64;
    let covariance = |lag: usize| {
        let of = |(half, mean): (&&[f64], &f64)| {
            (0..half.len() - lag).map(|t| (half[t] - mean) * (half[t + lag] - mean)).sum::<f64>() / n
        };
        halves.iter().zip(&means).map(of).sum::<f64>() / halves.len() as f64
    };
    let within = covariance(0) * n / (n - 1.0);
    let pooled = within * (n - 1.0) / n + between / n;
    if pooled <= (ROUNDING * grand).powi(2) {
        // Nothing ever changed, apart from the rounding of means.
        return Convergence { r_hat: 1.0, size: all };
    }
    let r_hat = if within > 0.0 { (pooled / within).sqrt() } else { f64::INFINITY };
    // Autocorrelations are added in pairs for as long as the sum of a pair is positive and falling.
    let correlation = |lag: usize| 1.0 - (within - covariance(lag)) / pooled;
    let mut time = -1.0;
    let mut last = f64::INFINITY;
    for pair in 0..half / 2 {
        let sum = (correlation(2 * pair) + correlation(2 * pair + 1)).min(last);
        if sum <= 0.0 {
            break;
        }
        time += 2.0 * sum;
        last = sum;
    }
    // Chance can make chains look better than independent draws, but only by so much.
    Convergence { r_hat, size: (all / time.max(1.0 / all.log10().max(1.0))).min(all) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::num::random::{Purpose, Seed};

    fn chains(correlation: f64, shift: f64, seed: u64) -> Vec<Vec<f64>> {
        (0..4)
            .map(|chain| {
                let mut draws = Seed::new(4 * seed + chain).stream(Purpose::Mcmc).draws();
                let mut x = draws.normal();
                (0..4000)
                    .map(|_| {
                        x = correlation * x + (1.0 - correlation * correlation).sqrt() * draws.normal();
                        x + shift * chain as f64
                    })
                    .collect()
            })
            .collect()
    }

    /// An autoregressive chain of correlation ρ is worth (1 - ρ)/(1 + ρ) of its length: within 10 % over 20 repeats.
    #[test]
    fn effective_sizes_of_autoregressive_chains_are_known() {
        for correlation in [0.0, 0.5, 0.9] {
            let found: Vec<Convergence> =
                (0..20).map(|seed| convergence(&chains(correlation, 0.0, seed))).collect();
            let time = found.iter().map(|found| 16_000.0 / found.size).sum::<f64>() / 20.0;
            let want = (1.0 + correlation) / (1.0 - correlation);
            assert!((time / want - 1.0).abs() < 0.1, "{correlation}: {time} {want}");
            assert!(found.iter().all(|found| found.r_hat < 1.02));
        }
    }

    #[test]
    fn chains_that_are_elsewhere_are_seen() {
        assert!(convergence(&chains(0.0, 1.0, 0)).r_hat > 1.3);
        assert_eq!(convergence(&[vec![0.0; 100], vec![1.0; 100]]).r_hat, f64::INFINITY);
        let still = convergence(&[vec![1.0; 100], vec![1.0; 100]]);
        assert_eq!((still.r_hat, still.size), (1.0, 200.0));
        let still = convergence(&[vec![-65174.601; 1001], vec![-65174.601; 1001]]);
        assert_eq!((still.r_hat, still.size), (1.0, 2000.0));
    }
}
