//! The utility of AIT: designs are ranked by how far apart the draws' expectations are.
//!
//! Which values are tried, and what a finished batch is worth, is still measured by information; what is pending or
//! already chosen does not change the ranks.

use super::model::ModelInformation;
use super::{Evaluator, Verdict};
use crate::design::batch::Evaluated;
use crate::design::information::Information;
use crate::design::outcomes::Moments;
use crate::observer::Stopped;
use crate::scm::Intervention;

pub(super) struct Discrepancy<'a>(pub(super) ModelInformation<'a>);

impl Evaluator for Discrepancy<'_> {
    fn ranks(&self, evaluated: &[Evaluated]) -> Result<Vec<f64>, Stopped> {
        let designs: Vec<Intervention> = evaluated.iter().map(|candidate| candidate.design.clone()).collect();
        let outcomes = self.0.candidates_outcomes();
        // [i][design]
        let of_draws = self.0.round().moments(outcomes, &designs)?;
        let rank = |k: usize| {
            let of_design: Vec<Moments> = of_draws.iter().map(|of_draw| of_draw[k].clone()).collect();
            discrepancy(&of_design, outcomes.ensemble().weights())
        };
        Ok((0..designs.len()).map(rank).collect())
    }

    fn marginals(&self) -> Result<Vec<(f64, f64)>, Stopped> {
        self.0.marginals()
    }

    fn most(&self) -> f64 {
        self.0.most()
    }

    fn pending_worth(&self) -> f64 {
        self.0.pending_worth()
    }

    fn start_choosing(&mut self) {
        self.0.start_choosing();
    }

    fn start_round(&mut self, round: u64) -> Result<(), Stopped> {
        self.0.start_round(round)
    }

    fn evaluate(&self, candidates: &[Intervention]) -> Result<Vec<Information>, Stopped> {
        self.0.evaluate(candidates)
    }

    fn decide(&mut self, design: &Intervention) -> Result<(), Stopped> {
        self.0.decide(design)
    }

    fn judge(&self, batch: &[(Intervention, usize)]) -> Result<Verdict, Stopped> {
        self.0.judge(batch)
    }
}

/// The discrepancy score of AIT: variance of the draws' mean outcomes over the variance within draws, all variables
/// together. `moments[i][n]` = mean and sum of squared deviations of variable n over the outcomes of draw i.
pub fn discrepancy(moments: &[Vec<(f64, f64)>], weights: &[f64]) -> f64 {
    let draws = weights.len() as f64;
    let variables = moments[0].len();
    let (mut between, mut within) = (0.0, 0.0);
    for n in 0..variables {
        let grand: f64 = moments.iter().zip(weights).map(|(m, w)| w * m[n].0).sum();
        for (m, w) in moments.iter().zip(weights) {
            between += draws * w * (m[n].0 - grand).powi(2);
            within += draws * w * m[n].1;
        }
    }
    if within > 0.0 { between / within } else { 0.0 }
}
