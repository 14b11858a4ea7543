//! One closed loop as a machine that can be killed at any moment.

use std::time::Instant;

use super::CampaignError;
use super::belief::BeliefState;
use super::config::Config;
use super::folder::RunFolder;
use super::record::{Designed, Fitted, MetricRow};
use super::scene::Scene;
use crate::data::{Dataset, position};
use crate::num::random::{Purpose, Seed};
use crate::posterior::Knowledge;
use crate::scm::{Ensemble, Intervention};

/// What a run tells while it goes on.
pub enum Happened<'a> {
    /// So much of a fit is done.
    Fitting {
        /// The round.
        round: usize,
        /// Pieces done.
        done: u64,
        /// All pieces.
        all: u64,
    },
    /// The batch of the round is being chosen.
    Designing {
        /// The round.
        round: usize,
    },
    /// Something that the user should know about the metrics.
    Note(String),
    /// A round is complete, now or in an earlier process.
    Round(&'a MetricRow),
}

/// Carries the run out, or on, until its last round; a finished one is left as it is. `watch` hears what happens and
/// ends the run by answering `false`.
pub fn run(
    config: &Config,
    folder: &RunFolder,
    watch: &mut (dyn FnMut(Happened<'_>) -> bool + Send),
) -> Result<Vec<MetricRow>, CampaignError> {
    let seed = Seed::new(config.seed);
    // What is wrong with the settings shows before a folder is made.
    let scene = Scene::new(&config.world, seed)?;
    let _lock = folder.lock()?;
    match folder.config()? {
        Some(before) if !continues(&before, config) => {
            return Err(CampaignError::Folder {
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
    if let Some(cycle) = scene.cycle() {
        watch(Happened::Note(format!(
            "the true graph has a cycle ({cycle}): E-SID, which needs one without, is left out"
        )));
    }
    let finished = folder.metrics()?;
    if finished.len() == config.rounds + 1 {
        finished.iter().all(|row| watch(Happened::Round(row)));
        return Ok(finished);
    }
    folder.write_truth(scene.names(), scene.truth())?;
    let mut data = scene.observations(config.world.observations)?;
    for round in 0..=config.rounds {
        let ensemble = believe(config, folder, &scene, &data, round, watch)?;
        if round < config.rounds {
            let designed = choose(config, folder, &ensemble, round, watch)?;
            let outcomes = match folder.outcomes(round)? {
                Some(outcomes) => outcomes,
                None => {
                    let batch =
                        interventions(&designed, data.names()).ok_or_else(|| CampaignError::Folder {
                            path: folder.path().to_path_buf(),
                            problem: format!(
                                "the design of round {round} is not one of this run; remove the folder"
                            ),
                        })?;
                    let outcomes = scene.outcomes(round, &batch, config.design.replicates)?;
                    folder.write_outcomes(round, &outcomes)?;
                    outcomes
                }
            };
            data.append(&outcomes)?;
        }
        folder.write_tables(&data)?;
        let fitted = folder.fitted(round)?.expect("written above");
        let row = MetricRow::new(round, &fitted, folder.designed(round)?.as_ref());
        if !watch(Happened::Round(&row)) && round < config.rounds {
            return Err(CampaignError::Interrupted);
        }
    }
    folder.metrics()
}

/// The belief of a round, from its file or from the data.
fn believe(
    config: &Config,
    folder: &RunFolder,
    scene: &Scene,
    data: &Dataset,
    round: usize,
    watch: &mut (dyn FnMut(Happened<'_>) -> bool + Send),
) -> Result<Ensemble, CampaignError> {
    if folder.fitted(round)?.is_some() {
        folder.forget_states_before(round)?;
        return folder.ensemble(round);
    }
    let start = Instant::now();
    let earlier: Option<BeliefState> = if round > 0 { folder.state(round - 1)? } else { None };
    let mut go_on = true;
    let belief = config.posterior.fit(
        data,
        &Knowledge::none(data.variables()),
        scene.noise_sd(),
        earlier,
        seed_of(config, round),
        &mut |done, all| {
            go_on = watch(Happened::Fitting { round, done, all });
            go_on
        },
    )?;
    if !go_on {
        return Err(CampaignError::Interrupted);
    }
    if let Some(warning) = &belief.warning {
        watch(Happened::Note(format!("round {round}: {warning}")));
    }
    let fitted = Fitted {
        interventional_samples: (0..data.rows()).filter(|&row| !data.targets(row).is_empty()).count(),
        scores: scene.scores(&belief.ensemble),
        edge_entropy: belief.ensemble.edge_entropy(),
        repaired_cyclic: belief.repaired,
        warning: belief.warning,
        seconds: seconds(config, start),
    };
    folder.write_belief(round, &belief.ensemble, belief.state.as_ref(), &fitted)?;
    // What is read back is what an interrupted run goes on with.
    folder.ensemble(round)
}

/// The batch of a round, from its file or from the belief.
fn choose(
    config: &Config,
    folder: &RunFolder,
    ensemble: &Ensemble,
    round: usize,
    watch: &mut (dyn FnMut(Happened<'_>) -> bool + Send),
) -> Result<Designed, CampaignError> {
    if let Some(designed) = folder.designed(round)? {
        return Ok(designed);
    }
    if !watch(Happened::Designing { round }) {
        return Err(CampaignError::Interrupted);
    }
    let start = Instant::now();
    let constraints = config.design.constraints(ensemble.names().len());
    let batch = config.design.designer().design(ensemble, &constraints, seed_of(config, round), &())?;
    let designed = Designed::new(&batch, seconds(config, start));
    folder.write_design(round, &designed)?;
    Ok(designed)
}

/// The experiments of a design, which may have been read from a file that somebody edited.
fn interventions(designed: &Designed, names: &[String]) -> Option<Vec<Intervention>> {
    let of = |targets: &[(String, f64)]| {
        let settings = targets.iter().map(|(name, value)| Some((position(names, name)?, *value)));
        Intervention::new(settings.collect::<Option<Vec<_>>>()?).ok()
    };
    designed.batch.iter().map(|experiment| of(&experiment.targets)).collect()
}

/// Every round has randomness of its own.
fn seed_of(config: &Config, round: usize) -> Seed {
    Seed::new(Seed::new(config.seed).stream(Purpose::Rounds).at(round as u64).draws().bits())
}

fn seconds(config: &Config, start: Instant) -> f64 {
    if config.timing { start.elapsed().as_secs_f64() } else { 0.0 }
}

/// More rounds of the same run?
fn continues(before: &Config, config: &Config) -> bool {
    before.rounds <= config.rounds && *before == Config { rounds: before.rounds, ..config.clone() }
}

/// The first key that differs.
fn difference(before: &Config, config: &Config) -> String {
    let (before, now) = (before.to_toml(), config.to_toml());
    let pair = before.lines().zip(now.lines()).find(|(a, b)| a != b);
    pair.map_or_else(|| "a key".into(), |(a, b)| format!("{a} there, {b} here"))
}
