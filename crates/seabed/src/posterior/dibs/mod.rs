//! DiBS: a posterior over graphs and mechanisms by Stein variational gradient descent over latent graphs.
//!
//! Each particle is a latent graph Z, p(i -> j) = sigmoid(α u_i·v_j), and parameters Θ of all mechanisms. Particles
//! climb log p(Z, Θ | D) while α and the price of cycles grow; in the end every particle is one graph with one set
//! of mechanisms. Variables are worked on in the order of their names, so the order of the columns shows nowhere.

mod acyclicity;
mod column;
mod estimator;
mod graph_prior;
mod latent;
mod parameters;
mod prepare;
mod rest;
mod result;
mod settings;
mod state;
mod svgd;
mod walk;

#[cfg(test)]
mod tests;

use crate::data::Dataset;
use crate::num::random::Seed;
use crate::posterior::{Knowledge, bge};
use crate::scm::{ByName, Ensemble};

use prepare::Units;

pub use estimator::Estimator;
pub use graph_prior::GraphPrior;
pub use parameters::Family;
pub use settings::{Dibs, DibsError, Noise, Weighting};
pub use state::{Measured, State};
pub use svgd::Particle;

/// A posterior and how it was reached.
#[derive(Clone, Debug)]
pub struct DibsFit {
    /// The weighted models.
    pub ensemble: Ensemble,
    /// Particles whose graph had a cycle, from which the least probable edges were taken away.
    pub repaired: usize,
    /// log p(Θ, D | G) + log p(G) of every draw, in the units inside, before any is left out for its weight.
    pub log_joints: Vec<f64>,
    /// Why it ended.
    pub end: End,
    /// Where it ended: to go on from, or to start the next round from.
    pub state: State,
}

/// Why a fit ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End {
    /// All steps were taken.
    Steps,
    /// Nothing changed any more.
    Quiet,
    /// The caller asked for it.
    Asked,
}

/// Where the fit comes from.
enum Origin {
    Nothing(Seed),
    Interrupted(State),
    Earlier(State),
}

impl Dibs {
    /// The posterior of the data. `watch` sees the state after every step and says whether to go on.
    pub fn fit(
        &self,
        data: &Dataset,
        knowledge: &Knowledge,
        seed: Seed,
        watch: &mut dyn FnMut(&State) -> bool,
    ) -> Result<DibsFit, DibsError> {
        self.run(data, knowledge, Origin::Nothing(seed), watch)
    }

    /// Goes on with an interrupted fit of the same data: the result is that of a fit that was never interrupted.
    pub fn resume(
        state: State,
        data: &Dataset,
        knowledge: &Knowledge,
        watch: &mut dyn FnMut(&State) -> bool,
    ) -> Result<DibsFit, DibsError> {
        state.settings.clone().run(data, knowledge, Origin::Interrupted(state), watch)
    }

    /// The posterior of the data, from where a fit of fewer data ended.
    pub fn fit_from(
        &self,
        state: State,
        data: &Dataset,
        knowledge: &Knowledge,
        watch: &mut dyn FnMut(&State) -> bool,
    ) -> Result<DibsFit, DibsError> {
        self.run(data, knowledge, Origin::Earlier(state), watch)
    }

    fn run(
        &self,
        data: &Dataset,
        knowledge: &Knowledge,
        origin: Origin,
        watch: &mut dyn FnMut(&State) -> bool,
    ) -> Result<DibsFit, DibsError> {
        self.check(data)?;
        let by_name = ByName::new(data.names());
        let sorted = data.reordered(&by_name.names).expect("the same names in another order");
        let knowledge = knowledge.relabelled(&by_name.to);
        let units = match &origin {
            Origin::Nothing(_) => Units::of(self, &sorted),
            Origin::Interrupted(state) | Origin::Earlier(state) => {
                state.fits(self, &sorted)?;
                // Parameters are in the units in which they were learned.
                state.units.clone()
            }
        };
        let (problem, log_variances) = prepare::problem(self, &sorted, &knowledge, &units);
        let mut state = match origin {
            Origin::Nothing(seed) => State::start(self, &sorted, units, &problem, &log_variances, seed),
            Origin::Interrupted(state) if state.mark != State::mark_of(&sorted) => {
                return Err(DibsError::OtherState { what: "other data" });
            }
            Origin::Interrupted(state) => state,
            Origin::Earlier(state) => state.warmed(self, &sorted, &problem),
        };
        let mut end = End::Steps;
        while state.left > 0 {
            state.advance(&problem);
            if state.step % state::MEASURED_EVERY == 0 || state.left == 0 {
                state.measure(&problem)?;
                if self.stop_early {
                    state.end_if_at_rest(data.rows() * data.variables());
                }
            }
            if !watch(&state) && state.left > 0 {
                end = End::Asked;
                break;
            }
        }
        if end == End::Steps && state.watch.fired {
            end = End::Quiet;
        }
        if !state.is_finite() {
            return Err(DibsError::NotFinite { step: state.step });
        }
        let models = result::models(&state, &problem, &sorted, data.names(), &by_name);
        Ok(DibsFit {
            ensemble: models.ensemble,
            repaired: models.repaired,
            log_joints: models.log_joints,
            end,
            state,
        })
    }
}
