//! The folder of a run: its files and how they are written.
//!
//! `rounds/000/` holds the files of a round, each the end of a phase: `ensemble.npz` and `fit.json`, then
//! `design.json`, then `outcomes.csv`. The tables beside `rounds/` are made from them. A file gets its name once it is
//! whole and on disk; `complete.json`, which says that all of them are there, comes last (`complete`).

use std::fs::{self, File, TryLockError};
use std::io::Write;
use std::path::{Path, PathBuf};

use seabed::belief::{self, GraphBelief};
use seabed::data::{Dataset, ReadOptions, read_table, write_atomically, write_matrix, write_table};
use seabed::design::DesignRecord;
use seabed::evaluate::MetricRow;
use seabed::posterior::State;
use seabed::scm::Ensemble;
use seabed::settings::Keys;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::StudyError;
use super::complete::MARK;
use super::config::Config;
use super::record::{Fitted, metric_row, write_interventions};

/// A run's folder.
#[derive(Clone, Debug)]
pub struct RunFolder {
    path: PathBuf,
}

impl RunFolder {
    /// The folder at a path, which need not exist yet.
    pub fn new(path: &Path) -> Self {
        Self { path: path.to_path_buf() }
    }

    /// What a run writes into its folder.
    pub const FILES: [&str; 8] = [
        "config.toml",
        "truth.csv",
        "interventions.csv",
        "data.csv",
        "events.jsonl",
        "metrics.csv",
        MARK,
        "error.txt",
    ];

    /// Does the folder hold a run? It has a folder of rounds before it has any file.
    pub fn is_run(&self) -> bool {
        self.path.join("config.toml").is_file() && self.path.join("rounds").is_dir()
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Creates the folder if needed, keeps other processes out while the lock lives, and removes what a killed process
    /// left half written.
    pub(crate) fn lock(&self) -> Result<Lock, StudyError> {
        create_own_folder(&self.path, "rounds")?;
        let lock = Lock::try_take(&self.path)?.ok_or_else(|| StudyError::Busy { path: self.path.clone() })?;
        remove_parts(&self.path, true)?;
        Ok(lock)
    }

    /// The configuration, if the folder has one.
    pub fn config(&self) -> Result<Option<Config>, StudyError> {
        let path = self.path.join("config.toml");
        if !path.exists() {
            return Ok(None);
        }
        Config::from_keys(&Keys::read(&path)?).map(Some)
    }

    pub(crate) fn write_config(&self, config: &Config) -> Result<(), StudyError> {
        self.write("config.toml", |out| out.write_all(config.to_toml().as_bytes()))
    }

    pub(crate) fn write_truth(&self, names: &[String], truth: &[Vec<bool>]) -> Result<(), StudyError> {
        self.write("truth.csv", |out| write_matrix(out, names, truth).map_err(std::io::Error::other))
    }

    /// The belief of a round.
    pub fn ensemble(&self, round: usize) -> Result<Ensemble, StudyError> {
        Ok(Ensemble::read(&self.round(round).join("ensemble.npz"))?)
    }

    /// The record of a fit, if it was made.
    pub fn fitted(&self, round: usize) -> Result<Option<Fitted>, StudyError> {
        read_json(&self.round(round).join("fit.json"))
    }

    /// The record of a design, if it was made.
    pub fn designed(&self, round: usize) -> Result<Option<DesignRecord>, StudyError> {
        read_json(&self.round(round).join("design.json"))
    }

    /// The outcomes of a batch, if they exist.
    pub fn outcomes(&self, round: usize) -> Result<Option<Dataset>, StudyError> {
        let path = self.round(round).join("outcomes.csv");
        if !path.exists() {
            return Ok(None);
        }
        Ok(Some(read_table(&path, &ReadOptions::default())?.dataset))
    }

    pub(crate) fn state(&self, round: usize) -> Result<Option<State>, StudyError> {
        let path = self.round(round).join("state.json");
        match fs::read_to_string(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            text => State::from_json(&text.map_err(StudyError::file(&path))?).map(Some).map_err(|error| {
                let problem = format!("{error}; remove the folder");
                StudyError::Folder { path, problem }
            }),
        }
    }

    /// What was believed about the graph in a round, if the strategy needs it.
    pub fn graphs(&self, round: usize) -> Result<Option<GraphBelief>, StudyError> {
        Ok(belief::read(&self.round(round).join("ensemble.npz"))?.1)
    }

    pub(crate) fn write_belief(
        &self,
        round: usize,
        ensemble: &Ensemble,
        graphs: Option<&GraphBelief>,
        state: Option<&State>,
        fitted: &Fitted,
    ) -> Result<(), StudyError> {
        self.create_round(round)?;
        let place = |file: &str| format!("rounds/{round:03}/{file}");
        // One archive, with a checksum of each of its parts.
        self.write(&place("ensemble.npz"), |out| out.write_all(&belief::to_npz(ensemble, graphs)))?;
        if let Some(state) = state {
            self.write(&place("state.json"), |out| out.write_all(state.to_json().as_bytes()))?;
        }
        self.write_json(&place("fit.json"), fitted)?;
        self.remove_unfinished(round)?;
        self.remove_states_before(round)
    }

    /// Creates the folder of a round, and nothing above it: a run that another process took over is no longer there.
    pub(crate) fn create_round(&self, round: usize) -> Result<(), StudyError> {
        let folder = self.round(round);
        refuse_link(&folder)?;
        match fs::create_dir(&folder) {
            Err(error) if !folder.is_dir() => Err(StudyError::file(&folder)(error)),
            _ => Ok(()),
        }
    }

    /// Only the newest state is needed.
    pub(crate) fn remove_states_before(&self, round: usize) -> Result<(), StudyError> {
        for earlier in 0..round {
            let path = self.round(earlier).join("state.json");
            if path.exists() {
                fs::remove_file(&path).map_err(StudyError::file(&path))?;
            }
        }
        Ok(())
    }

    pub(crate) fn write_design(&self, round: usize, designed: &DesignRecord) -> Result<(), StudyError> {
        refuse_link(&self.round(round))?;
        self.write_json(&format!("rounds/{round:03}/design.json"), designed)
    }

    pub(crate) fn write_outcomes(&self, round: usize, outcomes: &Dataset) -> Result<(), StudyError> {
        refuse_link(&self.round(round))?;
        Ok(write_table(&self.round(round).join("outcomes.csv"), outcomes)?)
    }

    /// The rows of `data.csv`, if it is a table.
    pub(crate) fn data_rows(&self) -> Option<usize> {
        let Ok(mut table) = csv::Reader::from_path(self.path.join("data.csv")) else { return None };
        table.records().try_fold(0, |rows, record| record.ok().map(|_| rows + 1))
    }

    /// Writes the tables of all rounds up to `last`, which is where the data end; `metrics.csv` comes last, so the others
    /// are at least as complete.
    pub(crate) fn write_tables(&self, data: &Dataset, last: usize) -> Result<(), StudyError> {
        let mut rows = Vec::new();
        let mut designs = Vec::new();
        let mut events = String::new();
        let mut log_event = |event: &str, round: usize, record: serde_json::Value| {
            let serde_json::Value::Object(fields) = record else { return };
            let mut line = serde_json::json!({"event": event, "round": round});
            line.as_object_mut().expect("an object").extend(fields);
            events.push_str(&line.to_string());
            events.push('\n');
        };
        for round in 0..=last {
            let Some(fitted) = self.fitted(round)? else { break };
            let designed = self.designed(round)?;
            rows.push(metric_row(round, &fitted, designed.as_ref()));
            log_event("fitted", round, serde_json::to_value(&fitted).expect("plain numbers"));
            let Some(designed) = designed else { continue };
            let mut record = serde_json::to_value(&designed).expect("plain numbers");
            // The many designs that were only evaluated stay in the round's own file.
            record.as_object_mut().expect("an object").remove("evaluated");
            log_event("designed", round, record);
            if self.round(round).join("outcomes.csv").exists() {
                log_event("measured", round, serde_json::json!({"experiments": designed.batch.len()}));
            }
            designs.push(designed);
        }
        self.write("interventions.csv", |out| {
            write_interventions(out, &designs).map_err(std::io::Error::other)
        })?;
        write_table(&self.path.join("data.csv"), data)?;
        self.write("events.jsonl", |out| out.write_all(events.as_bytes()))?;
        self.write("metrics.csv", |out| {
            let mut table = csv::Writer::from_writer(out);
            for row in &rows {
                table.serialize(row).map_err(std::io::Error::other)?;
            }
            table.flush()
        })
    }

    /// The rows of `metrics.csv`; empty if it does not exist.
    pub fn metrics(&self) -> Result<Vec<MetricRow>, StudyError> {
        let path = self.path.join("metrics.csv");
        let Ok(file) = File::open(&path) else { return Ok(Vec::new()) };
        let rows: Result<Vec<MetricRow>, csv::Error> = csv::Reader::from_reader(file).deserialize().collect();
        rows.map_err(|error| StudyError::Folder {
            path,
            problem: format!("{error}; remove the file: the same command recreates it"),
        })
    }

    pub(crate) fn round(&self, round: usize) -> PathBuf {
        self.path.join(format!("rounds/{round:03}"))
    }

    pub(crate) fn write_json(&self, file: &str, value: &impl Serialize) -> Result<(), StudyError> {
        self.write(file, |out| serde_json::to_writer(out, value).map_err(Into::into))
    }

    fn write(
        &self,
        file: &str,
        write: impl FnOnce(&mut (dyn Write + Send)) -> std::io::Result<()>,
    ) -> Result<(), StudyError> {
        let path = self.path.join(file);
        write_atomically(&path, write).map_err(StudyError::file(&path))
    }
}

/// A folder that no other process works in.
pub(crate) struct Lock {
    /// The folder itself, where the system can lock one: no file is left behind.
    _folder: File,
}

impl Lock {
    /// `None` if another process has it. On file systems without locks everyone gets it: atomic files and equal results
    /// keep two workers from harming each other.
    pub(crate) fn try_take(folder: &Path) -> Result<Option<Self>, StudyError> {
        let file = open_to_lock(folder).map_err(StudyError::file(folder))?;
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => Ok(None),
            Ok(()) | Err(TryLockError::Error(_)) => Ok(Some(Self { _folder: file })),
        }
    }

    /// Waits until no other process has it.
    pub(crate) fn take(folder: &Path) -> Result<Self, StudyError> {
        let file = open_to_lock(folder).map_err(StudyError::file(folder))?;
        // Without locks everyone gets it, as above.
        let _ = file.lock();
        Ok(Self { _folder: file })
    }
}

/// Creates a folder within another; one that is a link to some other place is refused.
pub(crate) fn create_own_folder(folder: &Path, name: &str) -> Result<(), StudyError> {
    let path = folder.join(name);
    refuse_link(&path)?;
    fs::create_dir_all(&path).map_err(StudyError::file(folder))
}

/// Nothing is written through a link to some other place: whoever made it would decide what is replaced there.
pub(crate) fn refuse_link(path: &Path) -> Result<(), StudyError> {
    if path.is_symlink() {
        let problem = "it is a symbolic link; choose another folder with --out, or remove it".into();
        return Err(StudyError::Folder { path: path.to_path_buf(), problem });
    }
    Ok(())
}

fn open_to_lock(folder: &Path) -> std::io::Result<File> {
    if cfg!(unix) { File::open(folder) } else { File::create(folder.join("lock")) }
}

/// Removes what killed processes left half written, here and, if asked for, in subfolders.
pub(crate) fn remove_parts(folder: &Path, below: bool) -> Result<(), StudyError> {
    for entry in fs::read_dir(folder).map_err(StudyError::file(folder))?.flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        let name = name.to_string_lossy();
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            if below {
                remove_parts(&path, below)?;
            }
        } else if name.starts_with(".seabed-") && name.ends_with(".part") {
            // Another process may have removed it already.
            let _ = fs::remove_file(&path);
        }
    }
    Ok(())
}

fn read_json<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, StudyError> {
    let bytes = match fs::read(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        other => other.map_err(StudyError::file(path))?,
    };
    serde_json::from_slice(&bytes).map(Some).map_err(|error| StudyError::Folder {
        path: path.to_path_buf(),
        problem: format!("{error}; remove the file: the same command recreates it"),
    })
}
