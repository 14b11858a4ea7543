//! The configuration of a run: one TOML file, every key with a default, unknown keys refused.
//!
//! `default.toml` beside this file documents the keys; a test compares it with the defaults.

use seabed::design::{Constraints, DesignSettings, Goal};
use seabed::observer::Effort;
use seabed::posterior::PosteriorSettings;
use seabed::settings::{Keys, SettingsError};
use serde::{Deserialize, Serialize};

use super::StudyError;
use super::simulated_world::WorldSettings;

/// The defaults, with the meaning of each key.
pub const DEFAULT: &str = include_str!("default.toml");

/// One closed loop.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields, default)]
pub struct Config {
    /// Seed of the world, the noise and every random choice.
    pub seed: u64,
    /// Batches of experiments.
    pub rounds: usize,
    /// Are seconds recorded? Without them, equal runs have equal files.
    pub timing: bool,
    /// What answers the experiments.
    pub world: WorldSettings,
    /// How beliefs are formed.
    pub posterior: PosteriorSettings,
    /// How experiments are chosen.
    pub design: DesignSettings,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            seed: 0,
            rounds: 10,
            timing: true,
            world: WorldSettings::default(),
            posterior: PosteriorSettings::default(),
            design: DesignSettings::default(),
        }
    }
}

impl Config {
    /// The configuration given by keys, checked as far as possible before any work.
    pub fn from_keys(keys: &Keys) -> Result<Self, StudyError> {
        let config: Self = keys.settings()?;
        config.check().map_err(|error| {
            let problem = error.to_string();
            StudyError::Settings(SettingsError::Keys { source_name: keys.source().to_string(), problem })
        })?;
        Ok(config)
    }

    pub(crate) fn check(&self) -> Result<(), StudyError> {
        if self.seed > i64::MAX as u64 {
            let problem = format!("seed = {}: choose a whole number from 0 to {}", self.seed, i64::MAX);
            return Err(SettingsError::Conflict { problem }.into());
        }
        if self.rounds > MOST_ROUNDS {
            let (got, most) = (self.rounds as f64, MOST_ROUNDS as f64);
            return Err(SettingsError::OutOfRange { key: "rounds", got, least: 0.0, most }.into());
        }
        self.world.check()?;
        let posterior = self.posterior.check(None).map_err(in_group("posterior"))?;
        if self.design.strategy.parts().0.needs_graphs() && !posterior.gives_graphs() {
            let problem = "this design.strategy needs posterior.kind = \"mcmc-linear\" or \"mcmc-gp\"".into();
            return Err(SettingsError::Conflict { problem }.into());
        }
        self.design.check()?;
        // Other worlds have names only once they are made.
        self.world.names().map_or(Ok(()), |names| self.task(&names).map(drop))
    }

    /// What the fits and the designs of the run will take.
    pub fn effort(&self) -> Result<Effort, StudyError> {
        let rounds = self.efforts()?;
        Ok(rounds.iter().fold(Effort::default(), |all, (fit, design)| all.then(*fit).then(*design)))
    }

    /// What the fit and the design of every round will take; after the last fit nothing is designed.
    pub(crate) fn efforts(&self) -> Result<Vec<(Effort, Effort)>, StudyError> {
        let warm_steps = match self.posterior.warm_steps {
            0 => self.posterior.steps,
            steps => steps,
        };
        let later = PosteriorSettings { steps: warm_steps, ..self.posterior.clone() };
        let [first, later] = [&self.posterior, &later].map(|settings| settings.check(None));
        let (first, later) = (first.map_err(in_group("posterior"))?, later.map_err(in_group("posterior"))?);
        let of_batch = self.design.batch.saturating_mul(self.design.replicates.at_a_time());
        let variables = self.world.variables()?;
        let fit = |round: usize| {
            let rows = self.world.observations.saturating_add(round.saturating_mul(of_batch));
            (if round == 0 { &first } else { &later }).effort(rows, variables)
        };
        // Names are not known yet; what is forbidden would only make it less.
        let anything = Constraints::range(variables, self.design.range.0, self.design.range.1);
        let design = self.design.designer().effort(first.models(variables), &anything);
        let design = |round: usize| if round < self.rounds { design } else { Effort::default() };
        Ok((0..=self.rounds).map(|round| (fit(round), design(round))).collect())
    }

    /// What is to be learned, and what can be set, in a world with these variables.
    pub(crate) fn task(&self, names: &[String]) -> Result<(Goal, Constraints), StudyError> {
        let wrong = |problem: String| SettingsError::Conflict { problem };
        let goal = self.design.goal(names).map_err(|error| wrong(format!("design.goal = {error}")))?;
        let constraints =
            self.design.constraints(names).map_err(|error| wrong(format!("design.forbidden: {error}")))?;
        Ok((goal, constraints))
    }

    /// All keys with their values.
    pub fn to_keys(&self) -> Keys {
        Keys::of(self, "the configuration")
    }

    /// All keys with their values, as TOML.
    ///
    /// # Panics
    /// If the seed is above `i64::MAX`, which TOML does not know: [`from_keys`](Self::from_keys) and [`run`](super::run())
    /// refuse it.
    pub fn to_toml(&self) -> String {
        toml::to_string(self).expect("numbers, texts and tables")
    }
}

/// More rounds are a typing error.
const MOST_ROUNDS: usize = 100_000;

/// Adds the group of the key to the message.
fn in_group(group: &str) -> impl Fn(SettingsError) -> SettingsError + '_ {
    move |error| SettingsError::Conflict { problem: format!("{group}.{error}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_printed_defaults_are_the_defaults() {
        let printed = Config::from_keys(&Keys::parse(DEFAULT, "default").unwrap()).unwrap();
        assert_eq!(printed, Config::default());
        let keys = |text: &str| {
            let mut keys: Vec<String> = text
                .lines()
                .filter_map(|l| l.split_once(" = ").map(|(key, _)| key.trim().to_string()))
                .collect();
            keys.sort();
            keys
        };
        assert_eq!(keys(DEFAULT), keys(&Config::default().to_toml()), "a key is not documented");
    }

    /// Everything in docs/results is begun without being asked for twice, on one processor too; what nobody waits for is not.
    #[test]
    fn studies_of_the_results_are_a_day_and_a_few_gigabytes_at_most() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/results/designs");
        let paths = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let studies = paths.filter(|path| path.extension().is_some_and(|extension| extension == "toml"));
        let of_results = studies.map(|path| std::fs::read_to_string(path).unwrap());
        let of_paper = crate::PRESETS.iter().map(|(name, _)| crate::preset(name, None).unwrap());
        let texts: Vec<String> =
            of_results.chain(of_paper).filter(|text| !text.contains("\nfile = ")).collect();
        assert!(texts.len() >= 20);
        for text in texts {
            for run in crate::expand(&Keys::parse(&text, "study").unwrap()).unwrap() {
                let effort = run.config.effort().unwrap();
                let usual = effort.seconds < 86_400.0 && effort.bytes < 4e9;
                assert!(usual, "{}, {}: {effort:?}", run.setting, run.line);
            }
        }
        let of = |text: &str| {
            let config = Config::from_keys(&Keys::parse(text, "a.toml").unwrap()).unwrap();
            config.effort().unwrap()
        };
        let linear = "[world]\nnodes = 100\n[posterior]\nkind = \"mcmc-linear\"\ndraws = 1000\n[design]\n";
        assert!(of(&format!("{linear}samples = 500\nevaluations = 100\n")).seconds > 5.0 * 86_400.0);
        assert!(of(&format!("{linear}samples = 500\n")).bytes > 1e10);
        let fixed = of(&format!("{linear}samples = 2\nvalues = \"fixed\"\n"));
        assert!(fixed.seconds < 86_400.0 && fixed.bytes < 4e9, "{fixed:?}");
    }

    #[test]
    fn errors_are_found_before_any_work() {
        let of = |text: &str| {
            Keys::parse(text, "a.toml").map_err(StudyError::from).and_then(|keys| Config::from_keys(&keys))
        };
        for (text, said) in [
            ("[design]\nbatch = 0", "a.toml: design"),
            ("[world]\nnode = 3", "a.toml: world.node: unknown field `node`, did you mean `nodes`?"),
            ("[world]\nnodes = 0", "a.toml: world.nodes = 0"),
            ("[world]\nnodes = 1000000000", "a.toml: world.nodes = 1000000000"),
            ("[world]\nobservations = 1000000000000", "a.toml: world.observations = 1000000000000"),
            (
                "[posterior]\nparticles = 0",
                "a.toml: posterior.particles = 0: choose a number from 1 to 10000",
            ),
            ("rounds = 1000000000", "a.toml: rounds = 1000000000"),
            (
                "[design]\ngoal = \"parents=X21\"",
                "a.toml: design.goal = parents=X21: there is no variable \"X21\"; did you mean",
            ),
            (
                "[world]\nweight-range = [2, 1]",
                "a.toml: the upper end of world.weight-range = 1: choose a number from 2",
            ),
            ("[world]\nweight-range = [-1, 1]", "a.toml: the lower end of world.weight-range = -1"),
            (
                "[world]\nunequal-noise = true\nnoise-levels = \"roots\"",
                "a.toml: world.unequal-noise = true sets the noise",
            ),
            ("[design]\ngoal = \"everything\"", "a.toml: design.goal = everything: not a valid goal"),
            ("[design]\ngoal = \"parents=X1\"\nestimator = \"bound\"", "a.toml: design: the bound is for"),
            ("[design]\nforbidden = [\"Y\"]", "a.toml: design.forbidden: \"Y\" is not a variable"),
            (
                "[world]\nnodes = 2\n[design]\nforbidden = [\"X1\", \"X2\"]",
                "a.toml: design.forbidden: no variable can be intervened on",
            ),
        ] {
            let error = of(text).unwrap_err().to_string();
            assert!(error.starts_with(said), "{error}");
        }
    }
}
