//! A study: many runs in one folder, in any order, by any number of processes.
//!
//! `sweep.toml` defines the study, `manifest.csv` lists its runs, `runs/0000/` and so on hold them (`claim` says who works
//! on one). Results are made from the finished ones. How all of them are worked through is in `work`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{ErrorKind, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use seabed::data::write_atomically;
use seabed::evaluate::MetricRow;
use seabed::observer::{Observer, Progress};
use seabed::settings::Keys;

use super::StudyError;
use super::claim::{Claim, parsed, plain_name};
use super::config::Config;
use super::folder::{Lock, RunFolder, create_own_folder, refuse_link, remove_parts};
use super::grid::{Planned, expand};
use super::phase::Crew;
use super::results::write_results;
use super::run::{Events, RunEvent, run_with};
use super::worker::Worker;

/// A study in a folder.
pub struct Sweep {
    pub(crate) path: PathBuf,
    pub(crate) runs: Vec<Planned>,
}

/// Where a run is, and who works on it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Place {
    pub(crate) path: PathBuf,
    pub(crate) worker: Option<String>,
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

    /// The folder of a run, where it is now: whoever works on it renames it.
    pub fn folder(&self, index: usize) -> RunFolder {
        let plain = self.plain(index);
        if plain.exists() {
            return RunFolder::new(&plain);
        }
        let places = self.places().unwrap_or_default();
        RunFolder::new(places.get(&index).map_or(&plain, |place| &place.path))
    }

    /// The progress of a run.
    pub fn state(&self, index: usize) -> Result<RunState, StudyError> {
        self.state_in(index, &self.folder(index))
    }

    /// The progress of every run, the rounds that are complete, and who works on it: the name of the computer, its process and
    /// a number.
    pub fn states(&self) -> Result<Vec<(RunState, usize, Option<String>)>, StudyError> {
        let mut places = self.places()?;
        let mut states = Vec::new();
        for index in 0..self.runs.len() {
            let place =
                places.remove(&index).unwrap_or_else(|| Place { path: self.plain(index), worker: None });
            let folder = RunFolder::new(&place.path);
            states.push((self.state_in(index, &folder)?, folder.metrics()?.len(), place.worker));
        }
        Ok(states)
    }

    fn state_in(&self, index: usize, folder: &RunFolder) -> Result<RunState, StudyError> {
        if folder.complete(&self.runs[index].config)?.is_some() {
            return Ok(RunState::Finished);
        }
        let rows = folder.metrics()?.len();
        match fs::read_to_string(folder.path().join(ERROR)) {
            Ok(error) => Ok(RunState::Failed(error.trim_end().to_string())),
            Err(_) if rows > 0 || folder.path().join("config.toml").exists() => Ok(RunState::Started(rows)),
            Err(_) => Ok(RunState::Waiting),
        }
    }

    /// Where the runs are that were begun.
    pub(crate) fn places(&self) -> Result<BTreeMap<usize, Place>, StudyError> {
        let mut places: BTreeMap<usize, Place> = BTreeMap::new();
        for (path, index, worker) in self.run_folders()? {
            // What nobody works on counts, should there be two.
            if worker.is_none() || !places.contains_key(&index) {
                places.insert(index, Place { path, worker });
            }
        }
        Ok(places)
    }

    /// All folders of runs, with their numbers and who works on them.
    fn run_folders(&self) -> Result<Vec<(PathBuf, usize, Option<String>)>, StudyError> {
        let runs = self.path.join("runs");
        let entries = match fs::read_dir(&runs) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.map_err(StudyError::file(&runs))?,
        };
        let parsed = |entry: fs::DirEntry| {
            let name = entry.file_name().to_string_lossy().into_owned();
            let (index, worker) = parsed(&name)?;
            (index < self.runs.len()).then(|| (entry.path(), index, worker.map(str::to_string)))
        };
        Ok(entries.flatten().filter_map(parsed).collect())
    }

    /// Starts or continues one run. A failure is recorded beside the run.
    pub fn run_one(&self, index: usize, observer: &dyn Observer, events: Events<'_>) -> Outcome {
        if let Some(rows) = self.is_finished(index) {
            rows.iter().for_each(|row| events(RunEvent::Round(row)));
            return Outcome::Finished;
        }
        match Worker::new(&self.path) {
            Ok(worker) => self.run_by(&worker, index, observer, events, &()),
            Err(error) => Outcome::Failed(error),
        }
    }

    /// The rows of a run that is complete and has its mark: nothing is left to be done.
    pub(crate) fn is_finished(&self, index: usize) -> Option<Vec<MetricRow>> {
        let folder = RunFolder::new(&self.plain(index));
        if refuse_link(folder.path()).is_err() || !folder.is_marked() {
            return None;
        }
        folder.complete(&self.runs[index].config).ok().flatten()
    }

    /// Starts or continues one run as a worker of the study.
    pub(crate) fn run_by(
        &self,
        worker: &Worker,
        index: usize,
        observer: &dyn Observer,
        events: Events<'_>,
        crew: &dyn Crew,
    ) -> Outcome {
        let claim = match Claim::take(&self.path.join("runs"), index, worker) {
            Ok(Some(claim)) => claim,
            Ok(None) => return Outcome::Elsewhere,
            Err(error) => return Outcome::Failed(error),
        };
        let folder = RunFolder::new(claim.path());
        let config = &self.runs[index].config;
        let watching = |progress: &Progress<'_>| observer.progress(progress) && !worker.is_lost();
        let work = || run_with(config, &folder, &watching, events, crew);
        let defect = || StudyError::Defect { path: self.plain(index) };
        let ended = catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| Err(defect()));
        let place = folder.path().join(ERROR);
        let outcome = match ended {
            // Another worker took this one for dead: the run is in its folder now.
            Err(_) if !claim.holds() => return Outcome::Elsewhere,
            Ok(_) => {
                // There is none if the run never failed.
                let _ = fs::remove_file(place);
                Outcome::Finished
            }
            Err(StudyError::Busy { .. }) => Outcome::Elsewhere,
            Err(error) => {
                if !matches!(error, StudyError::Stopped) {
                    // On a full disk not even this can be written; the user is told anyway.
                    let words = claim.plainly(&error.to_string());
                    let _ = write_atomically(&place, |out| writeln!(out, "{words}"));
                }
                Outcome::Failed(error.placed(claim.path(), &self.plain(index)))
            }
        };
        let complete = |path: &Path| matches!(RunFolder::new(path).complete(config), Ok(Some(_)));
        match claim.release(&complete) {
            Err(error) if matches!(outcome, Outcome::Finished) => Outcome::Failed(error),
            _ => outcome,
        }
    }

    /// Forgets that runs failed, so that workers try them again.
    pub fn forget_failures(&self) -> Result<(), StudyError> {
        for (path, ..) in self.run_folders()? {
            let path = path.join(ERROR);
            match fs::remove_file(&path) {
                Err(error) if error.kind() != ErrorKind::NotFound => {
                    return Err(StudyError::file(&path)(error));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Removes what workers left that were killed: their files, and folders of runs that others have finished.
    pub(crate) fn tidy(&self, worker: &Worker) -> Result<(), StudyError> {
        let mut needed = BTreeSet::new();
        for (path, index, owner) in self.run_folders()? {
            let Some(owner) = owner else { continue };
            if worker.outlived(&owner) && self.is_finished(index).is_some() {
                fs::remove_dir_all(&path).map_err(StudyError::file(&path))?;
            } else {
                needed.insert(owner);
            }
        }
        worker.bury(&|name| needed.contains(name));
        Ok(())
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
        loop {
            let finished = self.finished()?;
            match write_results(&self.path, &finished) {
                // Where there are no locks, another process may have cleared away what we had half written.
                Err(StudyError::File { source, .. })
                    if source.kind() == ErrorKind::NotFound && self.path.is_dir() => {}
                // Nor do they keep us from replacing tables that know of more runs than we saw.
                Ok(()) if self.finished()?.len() > finished.len() => {}
                ended => return ended,
            }
        }
    }

    /// Clears away what killed workers left, and writes the tables of all finished runs.
    pub fn collect(&self) -> Result<(), StudyError> {
        let worker = Worker::new(&self.path)?;
        self.tidy(&worker)?;
        drop(worker);
        self.write_results()
    }

    /// How many runs are complete, by their marks alone: quick, and right unless somebody changed tables.
    pub fn marked(&self) -> usize {
        (0..self.runs.len()).filter(|index| RunFolder::new(&self.plain(*index)).is_marked()).count()
    }

    fn write_manifest(&self) -> Result<(), StudyError> {
        let place = self.path.join("manifest.csv");
        let write = |out: &mut (dyn Write + Send)| -> csv::Result<()> {
            let mut table = csv::Writer::from_writer(out);
            let keys = self.runs[0].factors.iter().map(|factor| factor.key.as_str());
            table.write_record(["index", "folder", "setting", "line"].into_iter().chain(keys))?;
            for planned in &self.runs {
                let folder = format!("runs/{}", plain_name(planned.index));
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

    /// The folder of a run that nobody works on.
    pub(crate) fn plain(&self, index: usize) -> PathBuf {
        self.path.join("runs").join(plain_name(index))
    }
}

/// Says why a run failed.
pub(crate) const ERROR: &str = "error.txt";
