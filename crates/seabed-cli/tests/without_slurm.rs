//! Studies for schedulers, where there is no Slurm: what is said, and workers that share a study.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const STUDY: &str = "seeds = 6\nrounds = 2\ntiming = false\n[world]\nnodes = 4\nmechanism = \"linear\"\nobservations = 40\n\
                     [posterior]\nkind = \"bootstrap\"\ndraws = 10\n[design]\nstrategy = \"random\"\nbatch = 2\n";

/// A command that finds no program of Slurm.
fn seabed(folder: &Path, line: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_seabed"));
    command.current_dir(folder).env("PATH", folder).args(line.split_whitespace());
    command
}

#[track_caller]
fn ended(folder: &Path, line: &str, code: i32) -> (String, String) {
    let output = seabed(folder, line).output().unwrap();
    let texts = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
    assert_eq!(output.status.code(), Some(code), "{line}: {texts:?}");
    texts.into()
}

fn contents(study: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut all = BTreeMap::new();
    let mut folders = vec![study.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                all.insert(path.strip_prefix(study).unwrap().to_path_buf(), fs::read(&path).unwrap());
            }
        }
    }
    all
}

fn planned() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("study.toml"), STUDY).unwrap();
    ended(folder.path(), "sweep study.toml --plan", 0);
    folder
}

#[test]
fn without_slurm_nothing_is_submitted_and_the_script_can_be_seen() {
    let folder = planned();
    let (script, _) = ended(folder.path(), "sweep study.toml --slurm --time 2:00:00 --plan", 0);
    assert!(script.starts_with("#!/bin/sh\n") && script.contains("#SBATCH --array=0-5\n"), "{script}");
    let (_, said) = ended(folder.path(), "sweep study.toml --slurm", 1);
    assert!(said.contains("sbatch") && said.contains("nothing was submitted"), "{said}");
    // A job of a cluster that this computer cannot ask.
    fs::write(folder.path().join("study/slurm/jobs.txt"), "4711\n").unwrap();
    let (text, _) = ended(folder.path(), "sweep status study", 0);
    assert!(text.contains("Slurm job 4711: squeue cannot be asked"), "{text}");
    ended(folder.path(), "sweep study.toml --partition short", 2);
    ended(folder.path(), "sweep study.toml --slurm --jobs 2", 2);
}

/// Any number of workers share a study; the last one writes the results, and nothing of them is left.
#[test]
fn workers_share_a_study() {
    let folder = planned();
    let at = folder.path();
    ended(at, "sweep study.toml --out alone", 0);
    let worker = || {
        let mut command = seabed(at, "sweep work study --jobs 1");
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    };
    let workers: Vec<_> = (0..3).map(|_| worker()).collect();
    for mut worker in workers {
        assert!(worker.wait().unwrap().success());
    }
    let [alone, study] = ["alone", "study"].map(|name| contents(&at.join(name)));
    assert_eq!(alone.keys().collect::<Vec<_>>(), study.keys().collect::<Vec<_>>());
    assert!(alone == study);
    let (text, _) = ended(at, "sweep work study", 0);
    assert_eq!(text, "6 of 6 runs are finished\n");
}

/// Workers are told to stop, or killed, again and again: the next ones go on at once.
#[test]
fn workers_that_are_stopped_or_killed_leave_their_runs_to_others() {
    let folder = planned();
    let at = folder.path();
    ended(at, "sweep study.toml --out alone", 0);
    let busy = || contents(&at.join("study")).keys().any(|path| path.to_string_lossy().contains('@'));
    for signal in ["-TERM", "-KILL", "-TERM", "-KILL"] {
        let mut command = seabed(at, "sweep work study --jobs 2");
        let mut worker =
            command.env("SEABED_PAUSE", "50").stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        while !busy() && worker.try_wait().unwrap().is_none() {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        std::thread::sleep(std::time::Duration::from_millis(150));
        // It may have ended by itself.
        let _ = Command::new("kill").args([signal, &worker.id().to_string()]).stderr(Stdio::null()).status();
        let code = worker.wait().unwrap().code();
        assert!(
            matches!((signal, code), ("-TERM", Some(130 | 0)) | ("-KILL", None | Some(0))),
            "{signal}: {code:?}"
        );
    }
    ended(at, "sweep work study", 0);
    assert!(contents(&at.join("alone")) == contents(&at.join("study")));
}

/// `collect` at any time: the tables have the runs that are finished. A run that failed is not tried again by workers.
#[test]
fn results_are_collected_and_failures_told() {
    let folder = planned();
    let at = folder.path();
    ended(at, "sweep run-one study 2", 0);
    assert!(!at.join("study/results.csv").exists());
    let (_, said) = ended(at, "sweep collect study", 0);
    assert!(said.contains("1 of 6 runs are finished"), "{said}");
    assert_eq!(fs::read_to_string(at.join("study/results.csv")).unwrap().lines().count(), 1 + 3);
    fs::create_dir(at.join("study/runs/0004")).unwrap();
    fs::write(at.join("study/runs/0004/error.txt"), "the disk is full\n").unwrap();
    let (_, said) = ended(at, "sweep work study", 1);
    assert!(said.contains("left alone") && said.contains("the disk is full"), "{said}");
    let (text, _) = ended(at, "sweep status study", 0);
    assert!(text.contains("       5        0        0       1  all"), "{text}");
    ended(at, "sweep study.toml", 0);
    ended(at, "sweep status nowhere", 2);
    ended(at, "sweep collect nowhere", 2);
    ended(at, "sweep work nowhere", 2);
}
