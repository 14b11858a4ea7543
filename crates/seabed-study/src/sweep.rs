//! A study: many runs in one folder, in any order, by any number of processes.
//!
//! `sweep.toml` defines the study, `manifest.csv` lists its runs, `runs/0000/` and so on hold them. Results are
//! made from the finished ones. Work is claimed by locking a run's folder; where there are no locks, two processes may
//! do the same run, with the same result.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use seabed::data::write_atomically;
use seabed::evaluate::MetricRow;
use seabed::observer::Observer;
use seabed::settings::Keys;

use super::StudyError;
use super::config::Config;
use super::folder::{Lock, RunFolder, create_own_folder, refuse_link, remove_parts};
use super::grid::{Planned, expand};
use super::results::write_results;
use super::run::{Events, RunEvent, run};

/// A study in a folder.
pub struct Sweep {
    path: PathBuf,
    runs: Vec<Planned>,
}

/// The progress of a run.
#[derive(Clone, PartialEq, Debug)]
pub enum RunState {
    /// Not started.
    Waiting,
    /// This many rounds are complete.
    Started(usize),
    /// It ended with an error.
    Failed(String),
    /// All rounds are complete.
    Finished,
}

/// How a run ended.
pub enum Outcome {
    /// All rounds are complete.
    Finished,
    /// Another process is working on it.
    Elsewhere,
    /// It ended with an error.
    Failed(StudyError),
}

impl Sweep {
    /// What a study writes into its folder.
    pub const FILES: [&str; 4] = ["sweep.toml", "manifest.csv", "results.csv", "results.parquet"];

    /// Does the folder hold a study? It has a folder of runs before it has any file.
    pub fn is_study(path: &Path) -> bool {
        path.join("sweep.toml").is_file() && path.join("runs").is_dir()
    }

    /// Creates or reopens the study of a configuration in a folder. An existing study may grow: more seeds, more rounds.
    pub fn create(path: &Path, keys: &Keys) -> Result<Self, StudyError> {
        let runs = expand(keys)?;
        // A file that cannot be read shows before a folder is created, and not once in every run.
        let mut files = BTreeSet::new();
        for world in runs.iter().map(|run| &run.config.world) {
            if files.insert((world.kind as u8, &world.file)) {
                world.variables()?;
            }
        }
        create_own_folder(path, "runs")?;
        let sweep = Self { path: path.to_path_buf(), runs };
        let _lock = Lock::take(path)?;
        let place = path.join("sweep.toml");
        if place.exists() {
            let before = Self::load(path)?;
            let grown = before.runs.iter().zip(&sweep.runs).all(|(a, b)| {
                let rounds = a.config.rounds;
                rounds <= b.config.rounds && a.config == Config { rounds, ..b.config.clone() }
            });
            if !grown || before.runs.len() > sweep.runs.len() {
                let problem = "it holds another study; choose another folder, or remove it".to_string();
                return Err(StudyError::Folder { path: path.to_path_buf(), problem });
            }
        }
        remove_parts(path, false)?;
        let text = keys.to_toml();
        write_atomically(&place, |out| out.write_all(text.as_bytes())).map_err(StudyError::file(&place))?;
        sweep.write_manifest()?;
        Ok(sweep)
    }

    /// The study in a folder.
    pub fn load(path: &Path) -> Result<Self, StudyError> {
        let place = path.join("sweep.toml");
        if !place.exists() {
            let problem = "not a study: it has no sweep.toml".to_string();
            return Err(StudyError::Folder { path: path.to_path_buf(), problem });
        }
        let runs = expand(&Keys::read(&place)?)?;
        Ok(Self { path: path.to_path_buf(), runs })
    }

    /// All runs.
    pub fn runs(&self) -> &[Planned] {
        &self.runs
    }

    /// The folder of a run.
    pub fn folder(&self, index: usize) -> RunFolder {
        RunFolder::new(&self.path.join(format!("runs/{index:04}")))
    }

    /// The progress of a run.
    pub fn state(&self, index: usize) -> Result<RunState, StudyError> {
        let folder = self.folder(index);
        if folder.complete(&self.runs[index].config)?.is_some() {
            return Ok(RunState::Finished);
        }
        let rows = folder.metrics()?.len();
        match fs::read_to_string(self.error_file(index)) {
            Ok(error) => Ok(RunState::Failed(error.trim_end().to_string())),
            Err(_) if rows > 0 || folder.path().join("config.toml").exists() => Ok(RunState::Started(rows)),
            Err(_) => Ok(RunState::Waiting),
        }
    }

    /// Starts or continues one run. A failure is recorded beside the run.
    pub fn run_one(&self, index: usize, observer: &dyn Observer, events: Events<'_>) -> Outcome {
        let folder = self.folder(index);
        if let Err(error) = refuse_link(folder.path()) {
            return Outcome::Failed(error);
        }
        let work = || run(&self.runs[index].config, &folder, observer, events);
        let defect = || StudyError::Defect { path: folder.path().to_path_buf() };
        let ended = catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| Err(defect()));
        let place = self.error_file(index);
        match ended {
            Ok(_) => {
                // There is none if the run never failed.
                let _ = fs::remove_file(place);
                Outcome::Finished
            }
            Err(StudyError::Busy { .. }) => Outcome::Elsewhere,
            Err(error) => {
                if !matches!(error, StudyError::Stopped) {
                    // On a full disk not even this can be written; the user is told anyway.
                    let _ = fs::create_dir_all(folder.path());
                    let _ = write_atomically(&place, |out| writeln!(out, "{error}"));
                }
                Outcome::Failed(error)
            }
        }
    }

    /// Runs everything, `jobs` runs at a time, and writes the results; each run has its share of the processors.
    /// `events` receives the events of every run, `ended` its end; the observer watches all runs and can stop them.
    pub fn run_all(
        &self,
        jobs: usize,
        observer: &dyn Observer,
        events: &(dyn Fn(usize, RunEvent<'_>) + Sync),
        ended: &(dyn Fn(usize, &Outcome) + Sync),
    ) -> Result<Vec<(usize, Outcome)>, StudyError> {
        // None at a time would be none at all.
        let jobs = jobs.max(1);
        let next = AtomicUsize::new(0);
        let outcomes = Mutex::new(Vec::new());
        let threads = (thread::available_parallelism().map_or(1, usize::from) / jobs).max(1);
        let work = || {
            loop {
                let index = next.fetch_add(1, Ordering::Relaxed);
                if index >= self.runs.len() {
                    return;
                }
                let outcome = self.run_one(index, observer, &|event| events(index, event));
                ended(index, &outcome);
                let stop = matches!(outcome, Outcome::Failed(StudyError::Stopped));
                outcomes.lock().expect("no worker panics").push((index, outcome));
                if stop {
                    return;
                }
            }
        };
        thread::scope(|scope| {
            for _ in 0..jobs {
                scope.spawn(|| match rayon::ThreadPoolBuilder::new().num_threads(threads).build() {
                    Ok(pool) => pool.install(work),
                    Err(_) => work(),
                });
            }
        });
        self.write_results()?;
        let mut outcomes = outcomes.into_inner().expect("no worker panics");
        outcomes.sort_by_key(|(index, _)| *index);
        Ok(outcomes)
    }

    /// The rounds of every finished run.
    pub fn finished(&self) -> Result<Vec<(&Planned, Vec<MetricRow>)>, StudyError> {
        let mut finished = Vec::new();
        for planned in &self.runs {
            if let Some(rows) = self.folder(planned.index).complete(&planned.config)? {
                finished.push((planned, rows));
            }
        }
        Ok(finished)
    }

    /// Writes the tables of all finished runs.
    pub fn write_results(&self) -> Result<(), StudyError> {
        // One process at a time: the last one sees all finished runs.
        let _lock = Lock::take(&self.path)?;
        remove_parts(&self.path, false)?;
        write_results(&self.path, &self.finished()?)
    }

    fn write_manifest(&self) -> Result<(), StudyError> {
        let place = self.path.join("manifest.csv");
        let write = |out: &mut (dyn Write + Send)| -> csv::Result<()> {
            let mut table = csv::Writer::from_writer(out);
            let keys = self.runs[0].factors.iter().map(|factor| factor.key.as_str());
            table.write_record(["index", "folder", "setting", "line"].into_iter().chain(keys))?;
            for planned in &self.runs {
                let folder = format!("runs/{:04}", planned.index);
                let fixed =
                    [planned.index.to_string(), folder, planned.setting.clone(), planned.line.clone()];
                let values = planned.factors.iter().map(|factor| factor.value.clone());
                table.write_record(fixed.into_iter().chain(values))?;
            }
            Ok(table.flush()?)
        };
        write_atomically(&place, |out| write(out).map_err(std::io::Error::other))
            .map_err(StudyError::file(&place))
    }

    fn error_file(&self, index: usize) -> PathBuf {
        self.path.join(format!("runs/{index:04}/error.txt"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_run_at_a_time_is_one_at_a_time() {
        let keys = "rounds = 1\n[world]\nnodes = 3\nmechanism = \"linear\"\nobservations = 20\n\
                    [posterior]\nkind = \"bootstrap\"\ndraws = 3\n[design]\nstrategy = \"random\"\nbatch = 1\n";
        let place = tempfile::tempdir().unwrap();
        let keys = Keys::parse(keys, "test").unwrap();
        let sweep = Sweep::create(&place.path().join("study"), &keys).unwrap();
        let outcomes = sweep.run_all(0, &(), &|_, _| {}, &|_, _| {}).unwrap();
        assert!(matches!(outcomes[..], [(0, Outcome::Finished)]));
    }
}
