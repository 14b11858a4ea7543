//! A study on a real Slurm, of one computer: submitted, cancelled, out of time, and its daemon killed. It comes out with the bytes
//! of one process.
//!
//! Where Slurm is not installed, or cannot be started, the test says so and skips; where the environment has `CI=true`, it
//! fails. `.ci/run` installs what it needs.
#![cfg(target_os = "linux")]

#[path = "slurm/cluster.rs"]
mod cluster;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::thread::sleep;
use std::time::{Duration, Instant};

use cluster::Cluster;
use serde_json::Value;

/// Four runs.
const STUDY: &str = "seeds = 4\nrounds = 12\ntiming = false\n[world]\nnodes = 4\nmechanism = \"linear\"\nobservations = 40\n\
                     [posterior]\nkind = \"mcmc-linear\"\ndraws = 20\n[design]\nstrategy = \"random\"\nbatch = 2\n";

/// Whenever a fit reports that it gets on, it waits for so many milliseconds: each run lasts for a minute without keeping the
/// processors busy.
const PAUSE: &str = "500";

/// Longer than the whole study should take: a guard against hanging, not a measurement.
const GUARD: Duration = Duration::from_secs(300);

fn seabed(cluster: &Cluster, folder: &Path, line: &str, pause: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_seabed"));
    cluster.environment(&mut command).env("SEABED_PAUSE", pause).current_dir(folder);
    command.args(line.split_whitespace()).output().unwrap()
}

#[track_caller]
fn done(cluster: &Cluster, folder: &Path, line: &str) -> String {
    done_at(cluster, folder, line, PAUSE)
}

/// The same, where fits wait for so many milliseconds.
#[track_caller]
fn done_at(cluster: &Cluster, folder: &Path, line: &str, pause: &str) -> String {
    let output = seabed(cluster, folder, line, pause);
    assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn status(cluster: &Cluster, folder: &Path) -> Value {
    serde_json::from_str(&done(cluster, folder, "sweep status study --json")).unwrap()
}

fn count(status: &Value, state: &str) -> usize {
    status["runs"].as_array().unwrap().iter().filter(|run| run["state"] == state).count()
}

/// Tasks in the queue, in this state or, without one, all.
fn tasks(status: &Value, state: Option<&str>) -> u64 {
    let of = |job: &Value| -> u64 {
        let counts = job["tasks"].as_object().unwrap_or_else(|| panic!("{job}"));
        counts
            .iter()
            .filter(|(name, _)| state.is_none_or(|state| state == *name))
            .map(|(_, n)| n.as_u64().unwrap())
            .sum()
    };
    status["jobs"].as_array().unwrap().iter().map(of).sum()
}

/// Everything that the tasks of the study printed.
fn logs(folder: &Path) -> String {
    let entries = fs::read_dir(folder.join("study/slurm")).unwrap().map(|entry| entry.unwrap().path());
    let logs = entries.filter(|path| path.extension().is_some_and(|extension| extension == "log"));
    logs.map(|path| format!("{}:\n{}", path.display(), fs::read_to_string(&path).unwrap())).collect()
}

#[track_caller]
fn wait_for(what: &str, folder: &Path, is: &mut dyn FnMut() -> bool) {
    let start = Instant::now();
    while !is() {
        assert!(start.elapsed() < GUARD, "waited in vain for {what}; the tasks said:\n{}", logs(folder));
        sleep(Duration::from_millis(200));
    }
}

/// Every file of a study with its bytes, without those that are about Slurm.
fn contents(study: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    fn into(folder: &Path, root: &Path, all: &mut BTreeMap<PathBuf, Vec<u8>>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(root).unwrap().to_path_buf();
            if path.is_dir() && name != Path::new("slurm") {
                into(&path, root, all);
            } else if path.is_file() {
                all.insert(name, fs::read(&path).unwrap());
            }
        }
    }
    let mut all = BTreeMap::new();
    into(study, study, &mut all);
    all
}

fn cluster() -> Option<Cluster> {
    match Cluster::start() {
        Ok(cluster) => Some(cluster),
        Err(problem) => {
            let required = std::env::var_os("CI").is_some_and(|ci| ci == "true");
            assert!(!required, "Slurm cannot be started here, and CI=true: {problem}");
            eprintln!(
                "SKIPPED: studies on Slurm are not tested, because it cannot be started here: {problem}"
            );
            None
        }
    }
}

#[test]
fn a_study_that_slurm_disturbs_comes_out_the_same() {
    let Some(mut cluster) = cluster() else { return };
    let place = tempfile::tempdir().unwrap();
    // Scripts must name folders as they are.
    let folder = place.path().join("it's 100% here");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("study.toml"), STUDY).unwrap();
    let alone = Command::new(env!("CARGO_BIN_EXE_seabed"))
        .current_dir(&folder)
        .args(["sweep", "study.toml", "--out", "alone"])
        .output()
        .unwrap();
    assert!(alone.status.success());
    let whole = contents(&folder.join("alone"));

    let submit = "sweep study.toml --slurm --partition main --mem 100 --max-running 2";
    let script = done(&cluster, &folder, &format!("{submit} --plan"));
    assert!(script.contains("#SBATCH --array=0-3%2\n") && script.contains("#SBATCH --mem=100\n"), "{script}");
    assert!(!folder.join("study/slurm").exists());
    let said = done(&cluster, &folder, submit);
    assert!(said.contains("has 4 tasks for 4 runs"), "{said}");
    let job = said.split_whitespace().nth(2).unwrap().to_string();
    let again = done(&cluster, &folder, submit);
    assert!(again.contains("4 tasks for the 4 runs that are left are in the queue already"), "{again}");

    let busy = |status: &Value| {
        status["runs"].as_array().unwrap().iter().filter(|run| run["worker"].is_string()).count()
    };
    wait_for("two tasks at work", &folder, &mut || {
        let status = status(&cluster, &folder);
        tasks(&status, Some("RUNNING")) == 2 && busy(&status) == 2
    });
    assert_eq!(tasks(&status(&cluster, &folder), Some("PENDING")), 2, "at most two run at a time");
    let text = done(&cluster, &folder, "sweep status study");
    assert!(text.contains("2 being worked on: 000") && text.contains("2 pending, 2 running"), "{text}");

    // A task is cancelled while it works: it stops, and does not come back; another one goes on.
    cluster.ask("scancel", &[&format!("{job}_0")]).unwrap();
    let log = folder.join(format!("study/slurm/{job}_0.log"));
    wait_for("the end of the cancelled task", &folder, &mut || {
        fs::read_to_string(&log).unwrap().contains("Slurm has ended it")
    });
    let queue = cluster.ask("squeue", &["--noheader", "--array", "--states=RUNNING,PENDING", "--format=%i"]);
    assert!(!queue.unwrap().lines().any(|line| line.trim() == format!("{job}_0")));
    wait_for("two tasks at work again", &folder, &mut || busy(&status(&cluster, &folder)) == 2);

    // The computer's daemon is killed: Slurm takes the computer for dead and puts its tasks into the queue again, while they
    // still work. When the daemon comes back, it ends them, and starts them anew.
    cluster.kill_slurmd();
    wait_for("the node to be down", &folder, &mut || cluster.node_state() == "down");
    assert_eq!(tasks(&status(&cluster, &folder), Some("RUNNING")), 0);
    assert_eq!(busy(&status(&cluster, &folder)), 2);
    let starts = || logs(&folder).matches("works on the study").count();
    let before = starts();
    cluster.start_slurmd().unwrap();
    wait_for("tasks that start again", &folder, &mut || starts() > before);

    // Other tasks, with a minute each, of which Slurm knows only whole ones; they are told long before it is over, and go back
    // to the queue.
    let empty = |cluster: &Cluster| tasks(&status(cluster, &folder), None) == 0;
    cluster.ask("scancel", &[&job]).unwrap();
    wait_for("an empty queue", &folder, &mut || empty(&cluster));
    let text = done(&cluster, &folder, "sweep status study");
    assert!(text.contains("4 runs are left and nothing is in the queue"), "{text}");
    let limited = format!("{submit} --time 1 --sbatch=--signal=B:TERM@55");
    let said = done(&cluster, &folder, &limited);
    let job = said.split_whitespace().nth(2).unwrap().to_string();
    wait_for("a task that runs out of time", &folder, &mut || {
        logs(&folder).contains("is in the queue again")
    });
    let before = starts();
    wait_for("its return", &folder, &mut || starts() > before);
    assert!(logs(&folder).contains("is saved as far as it is"), "no fit was stopped:\n{}", logs(&folder));

    // To the end, at full speed.
    cluster.ask("scancel", &[&job]).unwrap();
    wait_for("an empty queue", &folder, &mut || empty(&cluster));
    done_at(&cluster, &folder, submit, "0");
    wait_for("all runs", &folder, &mut || count(&status(&cluster, &folder), "finished") == 4);
    wait_for("an empty queue", &folder, &mut || empty(&cluster));
    let text = done(&cluster, &folder, "sweep status study");
    assert!(text.contains("all runs are finished") && text.contains("no longer in the queue"), "{text}");
    assert!(done(&cluster, &folder, submit).starts_with("all runs are finished"));
    let collected = done(&cluster, &folder, "sweep collect study");
    assert!(collected.contains("results.csv and results.parquet are in study"), "{collected}");
    let disturbed = contents(&folder.join("study"));
    assert_eq!(whole.keys().collect::<Vec<_>>(), disturbed.keys().collect::<Vec<_>>());
    for (path, bytes) in &whole {
        assert!(bytes == &disturbed[path], "{} differs", path.display());
    }
}

/// What Slurm refuses is told in its words, and nothing is noted down as submitted.
#[test]
fn what_slurm_refuses_is_told() {
    let Some(cluster) = cluster() else { return };
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("study.toml"), STUDY).unwrap();
    let refused = seabed(&cluster, folder.path(), "sweep study.toml --slurm --partition nowhere", "0");
    let said = String::from_utf8(refused.stderr).unwrap();
    assert_eq!(refused.status.code(), Some(1), "{said}");
    assert!(said.contains("sbatch: ") && said.contains("nothing was submitted"), "{said}");
    assert_eq!(status(&cluster, folder.path())["jobs"], serde_json::json!([]));
}
