//! Who works on a run: the name of its folder says it.
//!
//! A run that nobody works on is `runs/0007`; a worker that wants it renames the folder to `runs/0007@worker`, works there, and
//! renames it back. A rename succeeds for one process only, on network file systems too, so no locks are needed. Whoever
//! outlives a worker renames its folder again. Should that worker be alive after all, its next file finds no folder
//! to go to, so that two of them never write into the same one.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::StudyError;
use super::folder::refuse_link;
use super::worker::Worker;

/// Between the number of the run and the name of the worker.
const AT: char = '@';

/// A run that a worker has to itself, until this is dropped.
pub(crate) struct Claim {
    plain: PathBuf,
    own: PathBuf,
}

impl Claim {
    /// Takes a run that nobody works on; none if somebody does.
    pub(crate) fn take(runs: &Path, index: usize, worker: &Worker) -> Result<Option<Self>, StudyError> {
        let plain = runs.join(plain_name(index));
        let own = runs.join(format!("{}{AT}{}", plain_name(index), worker.name()));
        refuse_link(&plain)?;
        let taken = || Ok(Some(Self { plain: plain.clone(), own: own.clone() }));
        if renamed(&plain, &own)? {
            return taken();
        }
        let others = claims(runs, index)?;
        for (path, name) in &others {
            if worker.outlived(name) && renamed(path, &own)? {
                return taken();
            }
        }
        if !others.is_empty() {
            return Ok(None);
        }
        // Nobody ever worked on it.
        fs::create_dir(&own).map_err(StudyError::file(&own))?;
        // Another worker may have begun in the same moment. If both see each other, the first by name goes on; if only one
        // does, both may: then the first to finish counts.
        let first = claims(runs, index)?.into_iter().all(|(_, name)| *worker.name() <= *name);
        if first && !plain.exists() {
            return taken();
        }
        fs::remove_dir(&own).map_err(StudyError::file(&own))?;
        Ok(None)
    }

    /// The folder to work in.
    pub(crate) fn path(&self) -> &Path {
        &self.own
    }

    /// Does the worker still have it?
    pub(crate) fn holds(&self) -> bool {
        self.own.exists()
    }

    /// The words of a message, with the folder named as it is when nobody works on it.
    pub(crate) fn plainly(&self, words: &str) -> String {
        let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        words.replace(&name(&self.own), &name(&self.plain))
    }

    /// Gives the run back. If there is another one in its place, because two workers began it, `complete` tells which counts.
    pub(crate) fn release(self, complete: &dyn Fn(&Path) -> bool) -> Result<(), StudyError> {
        match fs::rename(&self.own, &self.plain) {
            Ok(()) => Ok(()),
            // Somebody outlived us, as it seemed to them.
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            Err(_) if self.plain.is_dir() => self.settle(complete),
            Err(error) => Err(StudyError::file(&self.own)(error)),
        }
    }

    fn settle(&self, complete: &dyn Fn(&Path) -> bool) -> Result<(), StudyError> {
        if complete(&self.own) && !complete(&self.plain) {
            let aside = self.own.with_extension("aside");
            if renamed(&self.plain, &aside)? {
                renamed(&self.own, &self.plain)?;
            }
            return fs::remove_dir_all(&aside).map_err(StudyError::file(&aside));
        }
        fs::remove_dir_all(&self.own).map_err(StudyError::file(&self.own))
    }
}

/// The name of the folder of a run that nobody works on.
pub(crate) fn plain_name(index: usize) -> String {
    format!("{index:04}")
}

/// The number of a run and who works on it, from the name of a folder.
pub(crate) fn parsed(name: &str) -> Option<(usize, Option<&str>)> {
    let (number, worker) = match name.split_once(AT) {
        Some((number, worker)) => (number, Some(worker)),
        None => (name, None),
    };
    let index = number.parse().ok()?;
    // `7` and `+007` are not ours.
    (plain_name(index) == number).then_some((index, worker))
}

/// The folders in which somebody works on a run, or did until they died, and who.
fn claims(runs: &Path, index: usize) -> Result<Vec<(PathBuf, String)>, StudyError> {
    let mut found = Vec::new();
    for entry in fs::read_dir(runs).map_err(StudyError::file(runs))?.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if let Some((number, Some(worker))) = parsed(&name)
            && number == index
            && entry.file_type().is_ok_and(|kind| kind.is_dir())
        {
            found.push((entry.path(), worker.to_string()));
        }
    }
    found.sort();
    Ok(found)
}

/// Was it there to be renamed?
fn renamed(from: &Path, to: &Path) -> Result<bool, StudyError> {
    match fs::rename(from, to) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(StudyError::file(from)(error)),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;
    use std::thread;

    use super::*;

    fn study() -> (tempfile::TempDir, PathBuf) {
        let study = tempfile::tempdir().unwrap();
        let runs = study.path().join("runs");
        fs::create_dir(&runs).unwrap();
        (study, runs)
    }

    #[test]
    fn a_run_has_one_worker_until_it_is_given_back() {
        let (study, runs) = study();
        let [one, other] = [0, 1].map(|_| Worker::new(study.path()).unwrap());
        let claim = Claim::take(&runs, 3, &one).unwrap().unwrap();
        assert!(claim.holds() && Claim::take(&runs, 3, &other).unwrap().is_none());
        assert!(Claim::take(&runs, 4, &other).unwrap().is_some());
        fs::write(claim.path().join("a"), "b").unwrap();
        claim.release(&|_| false).unwrap();
        assert_eq!(fs::read(runs.join("0003/a")).unwrap(), b"b");
        assert!(Claim::take(&runs, 3, &other).unwrap().is_some());
    }

    /// The folder moves, so what the dead would still write has nowhere to go.
    #[test]
    fn the_run_of_a_dead_worker_is_taken_over_and_cannot_be_written_by_it() {
        let (study, runs) = study();
        let dead = Worker::new(study.path()).unwrap();
        let lost = Claim::take(&runs, 0, &dead).unwrap().unwrap();
        fs::write(lost.path().join("a"), "whole").unwrap();
        drop(dead);
        let worker = Worker::new(study.path()).unwrap();
        let claim = Claim::take(&runs, 0, &worker).unwrap().unwrap();
        assert_eq!(fs::read(claim.path().join("a")).unwrap(), b"whole");
        assert!(!lost.holds() && fs::write(lost.path().join("a"), "late").is_err());
        lost.release(&|_| false).unwrap();
        assert!(claim.holds());
        assert_eq!(claim.plainly(&format!("{}: full", claim.path().display())), {
            format!("{}: full", runs.join("0000").display())
        });
    }

    /// Two folders of one run, as when it was begun twice in the same moment: the one that is complete counts.
    #[test]
    fn of_two_folders_the_complete_one_counts() {
        for ours in [true, false] {
            let (study, runs) = study();
            let worker = Worker::new(study.path()).unwrap();
            let claim = Claim::take(&runs, 0, &worker).unwrap().unwrap();
            fs::write(claim.path().join("mine"), "").unwrap();
            fs::create_dir(runs.join("0000")).unwrap();
            fs::write(runs.join("0000/theirs"), "").unwrap();
            let complete = |path: &Path| path.join(if ours { "mine" } else { "theirs" }).exists();
            claim.release(&complete).unwrap();
            assert_eq!(runs.join("0000/mine").exists(), ours);
            assert_eq!(fs::read_dir(&runs).unwrap().count(), 1);
        }
    }

    /// Many workers reach for the same runs in the same moment, again and again: nobody shares a folder, no run is left.
    #[test]
    fn no_two_workers_have_the_same_folder() {
        let (study, runs) = study();
        let workers: Vec<Worker> = (0..4).map(|_| Worker::new(study.path()).unwrap()).collect();
        let start = Barrier::new(4);
        let taken: Vec<Vec<Option<Claim>>> = thread::scope(|scope| {
            let reach = |worker| {
                let (runs, start) = (&runs, &start);
                scope.spawn(move || {
                    let one = |index| {
                        start.wait();
                        Claim::take(runs, index, worker).unwrap()
                    };
                    (0..40).map(one).collect::<Vec<_>>()
                })
            };
            let threads: Vec<_> = workers.iter().map(reach).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        for index in 0..40 {
            let owners: Vec<&Claim> = taken.iter().filter_map(|claims| claims[index].as_ref()).collect();
            assert!(!owners.is_empty(), "run {index} is left");
            assert!(owners.iter().all(|claim| claim.holds()));
        }
    }

    #[test]
    fn only_our_names_are_read() {
        assert_eq!(parsed("0007"), Some((7, None)));
        assert_eq!(parsed("12345@node3-7-00ab12"), Some((12345, Some("node3-7-00ab12"))));
        assert_eq!([parsed("7"), parsed("+007"), parsed("notes"), parsed("@0007")], [None; 4]);
    }
}
