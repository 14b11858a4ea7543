//! One closed loop as a state machine that can be killed at any moment.

use std::time::Instant;

use seabed::data::{Dataset, position};
use seabed::design::{Belief, Constraints, DesignRecord, Designer, Goal};
use seabed::evaluate::MetricRow;
use seabed::num::random::{Purpose, Seed};
use seabed::observer::{Observer, Stage};
use seabed::posterior::{FitError, Knowledge, Start};
use seabed::scm::{Ensemble, Intervention};

use super::StudyError;
use super::config::Config;
use super::folder::RunFolder;
use super::passes::design_in_passes;
use super::phase::{Crew, Phase, done_by};
use super::record::{Fitted, metric_row};
use super::simulated_world::SimulatedWorld;
use super::unfinished::Saving;

/// What a run reports, besides the progress of its current work.
pub enum RunEvent<'a> {
    /// Something the user should know.
    Note(String),
    /// A round is complete, now or in an earlier process.
    Round(&'a MetricRow),
}

/// Receives the events of a run.
pub type Events<'a> = &'a (dyn Fn(RunEvent<'_>) + Sync);

/// Starts or continues a run until its last round; a finished run is left as it is.
///
/// The observer sees the progress of the current fit or design. If it asks to stop, the run ends with
/// [`StudyError::Stopped`], and the same call continues it later.
pub fn run(
    config: &Config,
    folder: &RunFolder,
    observer: &dyn Observer,
    events: Events<'_>,
) -> Result<Vec<MetricRow>, StudyError> {
    run_with(config, folder, observer, events, &())
}

/// The same, with somebody who does the heavy work.
pub(crate) fn run_with(
    config: &Config,
    folder: &RunFolder,
    observer: &dyn Observer,
    events: Events<'_>,
    crew: &dyn Crew,
) -> Result<Vec<MetricRow>, StudyError> {
    let seed = Seed::new(config.seed);
    // Errors in the settings show before a folder is created.
    config.check()?;
    let world = SimulatedWorld::new(&config.world, seed)?;
    let (goal, constraints) = config.task(world.names())?;
    let _lock = folder.lock()?;
    match folder.config()? {
        Some(before) if !continues(&before, config) => {
            return Err(StudyError::Folder {
                path: folder.path().to_path_buf(),
                problem: format!(
                    "it holds a run with other settings ({}); choose another folder, or remove it",
                    difference(&before, config)
                ),
            });
        }
        Some(before) if before == *config => {}
        _ => folder.write_config(config)?,
    }
    if let Some(cycle) = world.cycle() {
        events(RunEvent::Note(format!(
            "the true graph has a cycle ({cycle}): E-SID and truth_mass, which need an acyclic graph, are left out"
        )));
    }
    // A run of a version that wrote no mark is gone through again: every phase has its file, so nothing is computed.
    if let Some(finished) = folder.complete(config)?.filter(|_| folder.is_marked()) {
        finished.iter().for_each(|row| events(RunEvent::Round(row)));
        return Ok(finished);
    }
    folder.remove_mark()?;
    let before = folder.metrics().map_or(0, |rows| rows.len());
    folder.write_truth(world.names(), world.truth())?;
    let mut data = world.observations(config.world.observations)?;
    let work = Loop { config, folder, world: &world, goal, constraints, observer, events, crew };
    for round in 0..=config.rounds {
        let ensemble = work.fit_round(&data, round)?;
        if round < config.rounds {
            let designed = work.design_round(&data, &ensemble, round)?;
            let outcomes = match folder.outcomes(round)? {
                Some(outcomes) => outcomes,
                None => {
                    let usual = config.design.replicates.at_a_time();
                    let batch =
                        interventions(&designed, data.names(), usual).ok_or_else(|| StudyError::Folder {
                            path: folder.path().to_path_buf(),
                            problem: format!(
                                "the design of round {round} does not belong to this run; remove the folder"
                            ),
                        })?;
                    let outcomes = done_by(crew, round, Phase::Measure, || world.outcomes(round, &batch))?;
                    folder.write_outcomes(round, &outcomes)?;
                    outcomes
                }
            };
            data.append(&outcomes)?;
        }
        // Tables of a later round are already at least as complete; those of the last one are always written again.
        if round + 1 >= before || round == config.rounds {
            folder.write_tables(&data, round)?;
        }
        let fitted = folder.fitted(round)?.expect("written above");
        let row = metric_row(round, &fitted, folder.designed(round)?.as_ref());
        events(RunEvent::Round(&row));
    }
    folder.write_mark(config.rounds, data.rows())?;
    folder.metrics()
}

/// What every round of a run needs.
struct Loop<'a> {
    config: &'a Config,
    folder: &'a RunFolder,
    world: &'a SimulatedWorld,
    /// What is to be learned.
    goal: Goal,
    /// What can be set.
    constraints: Constraints,
    observer: &'a dyn Observer,
    events: Events<'a>,
    crew: &'a dyn Crew,
}

impl Loop<'_> {
    /// The belief of a round, from its file or from the data.
    fn fit_round(&self, data: &Dataset, round: usize) -> Result<Ensemble, StudyError> {
        let folder = self.folder;
        if folder.fitted(round)?.is_some() {
            folder.remove_unfinished(round)?;
            folder.remove_states_before(round)?;
            return folder.ensemble(round);
        }
        done_by(self.crew, round, Phase::Fit, || self.fit(data, round))?;
        // Read back, because that is what a resumed run continues with.
        folder.ensemble(round)
    }

    /// Forms the belief of a round, or goes on with a fit that was stopped, and writes it.
    fn fit(&self, data: &Dataset, round: usize) -> Result<(), StudyError> {
        let Self { config, folder, world, observer, events, crew, .. } = *self;
        let clock = Instant::now();
        let earlier = if round > 0 { folder.state(round - 1)? } else { None };
        let (posterior, start) = config.posterior.after(earlier, world.noise_sd(), seed_of(config, round))?;
        let stage = Stage { observer, name: format!("fit of round {round}") };
        let before = folder.unfinished(round);
        let spent = before.as_ref().map_or(0.0, |before| before.seconds);
        let took = || spent + seconds(config, clock);
        let saving = Saving::new(&stage, folder, round, &took);
        let fit = |start| posterior.fit(data, &Knowledge::none(data.variables()), start, &saving);
        let fit = match &before {
            None => fit(start),
            Some(before) => match fit(Start::Resumed(Box::new(before.state.clone()))) {
                // A state that is not of this fit is of no use.
                Err(FitError::State { .. }) => fit(start),
                fit => fit,
            },
        };
        if let Err(FitError::Stopped(state)) = &fit {
            saving.failed()?;
            let text = state.to_json();
            if before.is_none_or(|before| before.text != text) {
                folder.write_unfinished(round, &text, took())?;
                crew.saved();
                events(RunEvent::Note(format!(
                    "the fit of round {round} is saved as far as it is: {}",
                    state.describe()
                )));
            }
            return Err(StudyError::Stopped);
        }
        let fit = fit?;
        if let Some(warning) = &fit.warning {
            events(RunEvent::Note(format!("round {round}: {warning}")));
        }
        let answers = world.answer_scores(&fit.ensemble, self.goal);
        let fitted = Fitted {
            interventional_samples: (0..data.rows()).filter(|&row| !data.targets(row).is_empty()).count(),
            scores: world.scores(&fit.ensemble),
            edge_entropy: fit.ensemble.edge_entropy(),
            repaired_cyclic: fit.repaired,
            goal_errors: answers.map(|scores| scores.errors),
            goal_jaccard: answers
                .filter(|_| matches!(self.goal, Goal::Parents { .. }))
                .map(|scores| scores.jaccard),
            warning: fit.warning,
            seconds: took(),
        };
        let graphs = fit.graphs.as_ref().filter(|_| config.design.strategy.parts().0.needs_graphs());
        folder.write_belief(round, &fit.ensemble, graphs, fit.state.as_ref(), &fitted)
    }

    /// The batch of a round, from its file or from the belief.
    fn design_round(
        &self,
        data: &Dataset,
        ensemble: &Ensemble,
        round: usize,
    ) -> Result<DesignRecord, StudyError> {
        if let Some(designed) = self.folder.designed(round)? {
            return Ok(designed);
        }
        done_by(self.crew, round, Phase::Design, || self.design(data, ensemble, round))
    }

    /// Chooses the batch of a round and writes it.
    fn design(&self, data: &Dataset, ensemble: &Ensemble, round: usize) -> Result<DesignRecord, StudyError> {
        let Self { config, folder, observer, .. } = *self;
        let start = Instant::now();
        let stage = Stage { observer, name: format!("design of round {round}") };
        let graphs = folder.graphs(round)?;
        let belief = Belief { models: ensemble, graphs: graphs.as_ref() };
        let designer = Designer { goal: self.goal, ..config.design.designer() };
        let (constraints, seed) = (&self.constraints, seed_of(config, round));
        let batch = if config.design.without_replacement {
            design_in_passes(&designer, belief, constraints, data, seed, &stage)?
        } else {
            designer.design(belief, constraints, seed, &stage)?
        };
        let designed = DesignRecord::new(&batch, seconds(config, start));
        folder.write_design(round, &designed)?;
        Ok(designed)
    }
}

/// The experiments of a design; `None` if its file was edited and does not fit the variables.
fn interventions(
    designed: &DesignRecord,
    names: &[String],
    usual: usize,
) -> Option<Vec<(Intervention, usize)>> {
    let of = |targets: &[(String, f64)]| {
        let settings = targets.iter().map(|(name, value)| Some((position(names, name)?, *value)));
        Intervention::new(settings.collect::<Option<Vec<_>>>()?).ok()
    };
    let experiments = designed.batch.iter();
    experiments.map(|experiment| Some((of(&experiment.targets)?, experiment.rows.unwrap_or(usual)))).collect()
}

/// Every round has its own randomness.
fn seed_of(config: &Config, round: usize) -> Seed {
    Seed::new(Seed::new(config.seed).stream(Purpose::Rounds).at(round as u64).draws().bits())
}

fn seconds(config: &Config, start: Instant) -> f64 {
    if config.timing { start.elapsed().as_secs_f64() } else { 0.0 }
}

/// Is this the same run, perhaps with more rounds?
fn continues(before: &Config, config: &Config) -> bool {
    before.rounds <= config.rounds && *before == Config { rounds: before.rounds, ..config.clone() }
}

/// The first key that differs.
fn difference(before: &Config, config: &Config) -> String {
    let (before, now) = (before.to_toml(), config.to_toml());
    let pair = before.lines().zip(now.lines()).find(|(a, b)| a != b);
    pair.map_or_else(|| "a key".into(), |(a, b)| format!("{a} there, {b} here"))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fs;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::path::{Path, PathBuf};
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

    use seabed::observer::Progress;
    use seabed::settings::Keys;

    use super::*;

    /// A run that dies after its last fit, and again while it goes through the rounds that are done: `metrics.csv` must
    /// not list rounds whose data are not in `data.csv`, or the run would count as finished.
    #[test]
    fn a_run_that_dies_twice_has_all_its_data() {
        let keys = "rounds = 2\ntiming = false\n[world]\nnodes = 4\nmechanism = \"linear\"\nobservations = 20\n\
                    [posterior]\nkind = \"bootstrap\"\ndraws = 5\n[design]\nstrategy = \"random\"\nbatch = 2\n";
        let config = Config::from_keys(&Keys::parse(keys, "test").unwrap()).unwrap();
        let place = tempfile::tempdir().unwrap();
        let folder = RunFolder::new(place.path());
        let rows = run(&config, &folder, &(), &|_| {}).unwrap();
        let complete = fs::read(place.path().join("data.csv")).unwrap();
        for table in ["metrics.csv", "data.csv", "interventions.csv", "events.jsonl"] {
            fs::remove_file(place.path().join(table)).unwrap();
        }
        let die = |_: RunEvent<'_>| panic!("killed after the tables of the first round");
        assert!(catch_unwind(AssertUnwindSafe(|| run(&config, &folder, &(), &die))).is_err());
        assert_eq!(run(&config, &folder, &(), &|_| {}).unwrap(), rows);
        assert_eq!(fs::read(place.path().join("data.csv")).unwrap(), complete);
    }

    /// Asks to stop once it was asked so often.
    struct Patience(AtomicUsize);

    impl Observer for Patience {
        fn progress(&self, _: &Progress<'_>) -> bool {
            self.0.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1)).is_ok()
        }
    }

    fn contents(folder: &Path, all: &mut BTreeMap<PathBuf, Vec<u8>>, root: &Path) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                contents(&path, all, root);
            } else {
                all.insert(path.strip_prefix(root).unwrap().to_path_buf(), fs::read(&path).unwrap());
            }
        }
    }

    /// Every process is stopped long before a fit is done. It ends all the same, because the next one goes on within the fit,
    /// and with the bytes of a run that was never stopped.
    #[test]
    fn a_fit_that_is_stopped_goes_on_where_it_was() {
        for (kind, patience) in [
            ("\"bootstrap\"\ndraws = 60", 3),
            ("\"mcmc-linear\"", 3),
            ("\"dibs-linear\"\nsteps = 200\nparticles = 3", 40),
        ] {
            let keys = format!(
                "rounds = 1\ntiming = false\n[world]\nnodes = 4\nmechanism = \"linear\"\nobservations = 60\n\
                 [posterior]\nkind = {kind}\n[design]\nstrategy = \"random\"\nbatch = 2\n"
            );
            let config = Config::from_keys(&Keys::parse(&keys, "test").unwrap()).unwrap();
            let [whole, stopped] = [0, 1].map(|_| tempfile::tempdir().unwrap());
            let asked = AtomicUsize::new(0);
            let count = |_: &Progress<'_>| asked.fetch_add(1, Relaxed) < usize::MAX;
            run(&config, &RunFolder::new(whole.path()), &count, &|_| {}).unwrap();
            assert!(asked.load(Relaxed) > 4 * patience, "{kind}: a fit asks more often than we are patient");
            let folder = RunFolder::new(stopped.path());
            let mut stops = 0;
            while let Err(error) = run(&config, &folder, &Patience(AtomicUsize::new(patience)), &|_| {}) {
                assert!(matches!(error, StudyError::Stopped), "{kind}: {error}");
                stops += 1;
                assert!(stops < 1000, "{kind}: it does not get on");
            }
            assert!(stops > 1, "{kind}");
            let all = [&whole, &stopped].map(|place| {
                let mut all = BTreeMap::new();
                contents(place.path(), &mut all, place.path());
                all
            });
            assert_eq!(all[0].keys().collect::<Vec<_>>(), all[1].keys().collect::<Vec<_>>(), "{kind}");
            assert!(all[0] == all[1], "{kind}");
        }
    }

    /// The state of another version, or what somebody wrote there, is of no use; the fit begins anew.
    #[test]
    fn a_state_that_cannot_be_used_is_not() {
        let keys = "rounds = 0\ntiming = false\n[world]\nnodes = 3\nmechanism = \"linear\"\n[posterior]\n\
                    kind = \"mcmc-linear\"\ndraws = 5\n";
        let config = Config::from_keys(&Keys::parse(keys, "test").unwrap()).unwrap();
        let place = tempfile::tempdir().unwrap();
        let folder = RunFolder::new(place.path());
        fs::create_dir_all(place.path().join("rounds/000")).unwrap();
        for text in ["", "{\"seconds\":1.0,\"state\":{}}", "{\"seconds\":1.0,\"state\":{\"bootstrap\":1}}"] {
            fs::write(place.path().join("rounds/000/unfinished.json"), text).unwrap();
            run(&config, &folder, &(), &|_| {}).unwrap();
            assert!(!place.path().join("rounds/000/unfinished.json").exists());
            fs::remove_file(place.path().join("rounds/000/fit.json")).unwrap();
            fs::remove_file(place.path().join("complete.json")).unwrap();
        }
    }
}
