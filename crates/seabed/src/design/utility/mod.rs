//! What a design is worth: the interface between the rules and the quantity that they maximise.
//!
//! A [`Utility`] is a name; what it means is an [`Evaluator`], which simulates what a belief expects of designs and
//! says what these are worth. The rules see evaluators only. A new utility is a file here, a name and an arm of
//! `evaluator`; it may use any kind of belief for its outcomes.

mod discrepancy;
mod model;
mod structure;

use discrepancy::Discrepancy;
pub use discrepancy::discrepancy;
use model::ModelInformation;
pub(super) use model::samples_to_choose;
use structure::Structure;
pub(super) use structure::{MOST_TARGETS, ROUGHLY, thinning};

use super::batch::Evaluated;
use super::belief::Belief;
use super::decision::Decision;
use super::designer::Designer;
use super::forecast::Forecast;
use super::information::Information;
use super::strategy::Utility;
use super::work::Work;
use crate::graph::Node;
use crate::num::random::Stream;
use crate::observer::Stopped;
use crate::scm::Intervention;

/// Says what designs are worth under a belief, given pending outcomes and the designs chosen so far.
///
/// Worths are those of a design together with everything that is pending and already chosen: what it adds is the
/// difference to `pending_worth`, or to the worth of the design that was chosen last.
pub(super) trait Evaluator {
    /// Mean and standard deviation of every variable when it is only observed.
    fn marginals(&self) -> Result<Vec<(f64, f64)>, Stopped>;

    /// The largest possible worth, pending outcomes included.
    fn most(&self) -> f64;

    /// What the pending outcomes are worth.
    fn pending_worth(&self) -> f64;

    /// The targets that are worth a closer look; none may be missed that could be the best.
    fn promising(&self, targets: Vec<Node>) -> Vec<Node> {
        targets
    }

    /// What follows is to choose by, not to be told: where rows are many, fewer simulations may do.
    fn start_choosing(&mut self) {}

    /// From now on candidates are evaluated on the noise of this round, which they have in common.
    fn start_round(&mut self, round: u64) -> Result<(), Stopped>;

    /// What each candidate is worth, together with what is pending and already chosen.
    fn evaluate(&self, candidates: &[Intervention]) -> Result<Vec<Information>, Stopped>;

    /// [`Evaluator::evaluate`] by a part of the simulations, where that is cheaper.
    fn evaluate_roughly(&self, _candidates: &[Intervention]) -> Result<Option<Vec<f64>>, Stopped> {
        Ok(None)
    }

    /// What candidates that were evaluated in this round are ranked by: their worth, beyond what is pending.
    fn ranks(&self, evaluated: &[Evaluated]) -> Result<Vec<f64>, Stopped> {
        Ok(evaluated.iter().map(|candidate| candidate.information.nats).collect())
    }

    /// Adds a design to those already chosen, with its outcomes on the noise of this round.
    fn decide(&mut self, design: &Intervention) -> Result<(), Stopped>;

    /// Evaluates a finished batch, each design with its number of rows, on noise that no choice has used, given only what
    /// is pending.
    fn judge(&self, batch: &[(Intervention, usize)]) -> Result<Verdict, Stopped>;
}

/// What a design of a finished batch is worth, beyond what is pending.
pub(super) struct Judged {
    /// On its own.
    pub(super) alone: Information,
    /// Together with the designs before it.
    pub(super) together: Information,
    /// What it would decide on its own.
    pub(super) decides: Vec<Decision>,
}

/// A finished batch, evaluated.
pub(super) struct Verdict {
    /// For every design of the batch.
    pub(super) judged: Vec<Judged>,
    /// What it would change in the belief about edges.
    pub(super) forecast: Option<Forecast>,
}

/// The evaluator of a utility for a designer. Each of `pending` is one outcome that is still to come.
pub(super) fn evaluator<'a>(
    utility: Utility,
    designer: &Designer,
    belief: Belief<'a>,
    pending: &[Intervention],
    stream: Stream,
    work: &'a Work<'a>,
) -> Result<Box<dyn Evaluator + 'a>, Stopped> {
    let models = || ModelInformation::new(designer, belief.models, pending, stream, work);
    Ok(match (utility, belief.graphs) {
        (Utility::Graph | Utility::Edges | Utility::Ancestors, Some(graphs)) => {
            Box::new(Structure::new(utility, designer, graphs, pending, stream, work)?)
        }
        (Utility::Discrepancy, _) => Box::new(Discrepancy(models()?)),
        // Beliefs without the graphs that a utility needs are refused before.
        (Utility::Model | Utility::Graph | Utility::Edges | Utility::Ancestors, _) => Box::new(models()?),
    })
}
