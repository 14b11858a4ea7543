//! A toy utility: a design is worth the number of variables that it does not set, whatever is believed.
//!
//! Worths of several designs add up, and are exact.

use super::{Evaluator, Judged};
use crate::design::designer::Designer;
use crate::design::information::Information;
use crate::design::outcomes::Outcomes;
use crate::design::work::Work;
use crate::num::random::Stream;
use crate::observer::Stopped;
use crate::scm::{Ensemble, Intervention};

pub(super) struct Toy<'a> {
    outcomes: Outcomes<'a>,
    variables: usize,
    /// Designs that can be chosen.
    batch: usize,
    pending_worth: f64,
    /// What is pending and chosen.
    worth: f64,
    work: &'a Work<'a>,
}

impl<'a> Toy<'a> {
    pub(super) fn new(
        designer: &Designer,
        belief: &'a Ensemble,
        pending: &[Intervention],
        stream: Stream,
        work: &'a Work<'a>,
    ) -> Self {
        let noise = stream.named("outcomes");
        let mut new = Self {
            outcomes: Outcomes::new(belief, designer.samples, designer.replicates, noise, work),
            variables: belief.names().len(),
            batch: designer.batch,
            pending_worth: 0.0,
            worth: 0.0,
            work,
        };
        new.pending_worth = pending.iter().map(|design| new.unset(design)).sum();
        new.worth = new.pending_worth;
        new
    }

    /// Variables that the design does not set.
    fn unset(&self, design: &Intervention) -> f64 {
        (self.variables - design.settings().len()) as f64
    }
}

fn exactly(nats: f64) -> Information {
    Information { nats, standard_error: 0.0 }
}

impl Evaluator for Toy<'_> {
    fn marginals(&self) -> Result<Vec<(f64, f64)>, Stopped> {
        self.outcomes.marginals()
    }

    fn most(&self) -> f64 {
        self.pending_worth + (self.batch * self.variables) as f64
    }

    fn pending_worth(&self) -> f64 {
        self.pending_worth
    }

    fn start_round(&mut self, _: u64) -> Result<(), Stopped> {
        Ok(())
    }

    fn evaluate(&self, candidates: &[Intervention]) -> Result<Vec<Information>, Stopped> {
        self.work.check_stop()?;
        Ok(candidates.iter().map(|design| exactly(self.worth + self.unset(design))).collect())
    }

    fn decide(&mut self, design: &Intervention) -> Result<(), Stopped> {
        self.worth += self.unset(design);
        Ok(())
    }

    fn judge(&self, batch: &[Intervention]) -> Result<Vec<Judged>, Stopped> {
        let mut together = 0.0;
        let judged = batch.iter().map(|design| {
            let alone = self.unset(design);
            together += alone;
            Judged { alone: exactly(alone), together: exactly(together) }
        });
        Ok(judged.collect())
    }
}
