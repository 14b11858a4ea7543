//! The fit: particles take their steps until they are at rest, all steps are taken, or the observer asks to stop.

use super::prepare::{self, Units};
use super::result::{self, DibsFit, End};
use super::settings::Dibs;
use super::state::{self, Measured, State};
use crate::data::Dataset;
use crate::num::random::Seed;
use crate::observer::{Observer, report};
use crate::posterior::error::check_rows;
use crate::posterior::{self, FitError, Knowledge, StateMismatch};
use crate::scm::ByName;

/// Where the fit starts.
enum Origin {
    Nothing(Seed),
    Interrupted(State),
    Earlier(State),
}

impl Dibs {
    /// The posterior of the data.
    pub fn fit(
        &self,
        data: &Dataset,
        knowledge: &Knowledge,
        seed: Seed,
        observer: &dyn Observer,
    ) -> Result<DibsFit, FitError> {
        self.run(data, knowledge, Origin::Nothing(seed), observer)
    }

    /// Resumes a stopped fit of the same data: the result is that of an uninterrupted fit.
    pub fn resume(
        state: State,
        data: &Dataset,
        knowledge: &Knowledge,
        observer: &dyn Observer,
    ) -> Result<DibsFit, FitError> {
        state.settings.clone().run(data, knowledge, Origin::Interrupted(state), observer)
    }

    /// The posterior of the data, from where a fit of fewer data ended.
    pub fn fit_from(
        &self,
        state: State,
        data: &Dataset,
        knowledge: &Knowledge,
        observer: &dyn Observer,
    ) -> Result<DibsFit, FitError> {
        self.run(data, knowledge, Origin::Earlier(state), observer)
    }

    fn run(
        &self,
        data: &Dataset,
        knowledge: &Knowledge,
        origin: Origin,
        observer: &dyn Observer,
    ) -> Result<DibsFit, FitError> {
        self.check()?;
        check_rows(data)?;
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
            Origin::Interrupted(state) if state.mark != sorted.fingerprint() => {
                return Err(StateMismatch::Data.into());
            }
            Origin::Interrupted(state) => state,
            Origin::Earlier(state) => state.warmed(self, &sorted, &problem),
        };
        while state.left > 0 {
            state.advance(&problem);
            if state.step % state::MEASURED_EVERY == 0 || state.left == 0 {
                state.measure(&problem)?;
                if self.stop_early {
                    state.end_if_at_rest(data.rows() * data.variables());
                }
            }
            let go_on = report_progress(&state, observer) && observer.checkpoint(&|| saved(&state).to_json());
            if !go_on && state.left > 0 {
                state.check_finite()?;
                return Err(FitError::Stopped(Box::new(saved(&state))));
            }
        }
        let end = if state.watch.fired { End::Quiet } else { End::Steps };
        state.check_finite()?;
        let models = result::models(&state, &problem, &sorted, data.names(), &by_name)?;
        Ok(DibsFit {
            ensemble: models.ensemble,
            repaired: models.repaired,
            log_joints: models.log_joints,
            end,
            state,
        })
    }
}

fn saved(state: &State) -> posterior::State {
    posterior::State::Dibs(state.clone())
}

/// Reports progress; false if the fit should stop.
fn report_progress(state: &State, observer: &dyn Observer) -> bool {
    let all = (state.settings.steps as u64).max(state.left);
    let done = all - state.left;
    match state.history.last() {
        None => report(observer, done, all, format_args!("steps")).is_ok(),
        Some(Measured { alpha, cyclic, log_joint, .. }) => {
            let cyclic = 100.0 * cyclic;
            let what = format_args!("steps, α {alpha:.1}, {cyclic:.0} % cyclic, log joint {log_joint:.1}");
            report(observer, done, all, what).is_ok()
        }
    }
}
