//! Killed at a system call, and killed again: `run` and `sweep` end with the same bytes, a campaign is as before the command
//! or as after it, and what was acknowledged is there.
//!
//! `strace` kills the command at the Nth call that changes files. Skipped with a notice where it is not installed or may
//! not trace. The tests take a sample of the calls; `cargo test -p seabed-cli --test kills -- --ignored --nocapture`
//! takes all of them and counts the outcomes.
#![cfg(target_os = "linux")]

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

/// The calls that change files or make changes durable.
const CALLS: &str = "write,pwrite64,writev,fsync,fdatasync,ftruncate,rename,renameat,renameat2,link,linkat,unlink,\
                     unlinkat,mkdir,mkdirat,fchmod,fallocate";

fn seabed(folder: &Path, line: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_seabed"))
        .current_dir(folder)
        .args(line.split_whitespace())
        .output()
        .unwrap()
}

#[track_caller]
fn done(folder: &Path, line: &str) {
    let output = seabed(folder, line);
    assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
}

/// The command under strace, with these further options.
fn traced(folder: &Path, line: &str, options: &[String]) -> Output {
    Command::new("strace")
        .current_dir(folder)
        .args(["-f", "-qq", "-e", &format!("trace={CALLS}")])
        .args(options)
        .arg(env!("CARGO_BIN_EXE_seabed"))
        .args(line.split_whitespace())
        .output()
        .unwrap()
}

fn can_trace() -> bool {
    let works = Command::new("strace")
        .args(["-qq", "-o", "/dev/null", "true"])
        .output()
        .is_ok_and(|output| output.status.success());
    if !works {
        let required = std::env::var_os("CI").is_some_and(|ci| ci == "true");
        assert!(!required, "strace is not installed, or may not trace here");
        eprintln!("skipped: strace is not installed, or may not trace here");
    }
    works
}

/// Kills the command when one of its threads makes its Nth call; false if it ended before.
fn killed(folder: &Path, line: &str, call: usize) -> (bool, Output) {
    let inject = format!("inject={CALLS}:signal=KILL:when={call}");
    let output = traced(folder, line, &["-o".into(), "/dev/null".into(), "-e".into(), inject]);
    (output.status.signal() == Some(9), output)
}

/// The calls that the busiest thread of the command makes.
fn calls(folder: &Path, line: &str) -> usize {
    let log = tempfile::NamedTempFile::new().unwrap();
    let output = traced(folder, line, &["-o".into(), log.path().display().to_string()]);
    assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    let text = fs::read_to_string(log.path()).unwrap();
    let mut by_thread: BTreeMap<&str, usize> = BTreeMap::new();
    for line in text.lines().filter(|line| !line.contains("resumed>") && !line.contains("+++")) {
        *by_thread.entry(line.split_whitespace().next().unwrap_or("")).or_default() += 1;
    }
    by_thread.into_values().max().unwrap_or(0)
}

/// About `count` of the calls, the first and the last among them.
fn sample(all: usize, count: usize) -> Vec<usize> {
    let mut points: Vec<usize> = (0..count).map(|k| 1 + k * (all - 1) / (count - 1).max(1)).collect();
    points.dedup();
    points
}

/// Every file below the folder, by its path there, with its bytes.
fn contents(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    fn into(folder: &Path, root: &Path, all: &mut BTreeMap<PathBuf, Vec<u8>>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                into(&path, root, all);
            } else {
                all.insert(path.strip_prefix(root).unwrap().to_path_buf(), fs::read(&path).unwrap());
            }
        }
    }
    let mut all = BTreeMap::new();
    into(folder, folder, &mut all);
    all
}

const LOOP: &str = "rounds = 2\ntiming = false\n[world]\nnodes = 3\nmechanism = \"linear\"\nobservations = 20\n\
                    [posterior]\nkind = \"mcmc-linear\"\ndraws = 5\n[design]\nstrategy = \"random\"\nbatch = 2\n";

/// Kills the work at each of `firsts`, and the second try at each of `seconds`; the third try must end with the bytes of
/// work that was never killed.
fn killed_twice(line: &str, firsts: Option<usize>, seconds: usize) {
    if !can_trace() {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let at = place.path();
    fs::write(at.join("c.toml"), LOOP).unwrap();
    done(at, &format!("{line} --out whole"));
    let whole = contents(&at.join("whole"));
    let all = calls(at, &format!("{line} --out counted"));
    let (mut tried, mut both) = (0, 0);
    for first in sample(all, firsts.unwrap_or(all)) {
        // What is done already is not done again, so the second try makes fewer calls.
        for second in sample(all / 3, seconds) {
            let out = format!("{line} --out v");
            let once = killed(at, &out, first).0;
            let twice = killed(at, &out, second).0;
            done(at, &out);
            assert!(contents(&at.join("v")) == whole, "{line}: killed at {first} and {second}");
            fs::remove_dir_all(at.join("v")).unwrap();
            tried += 1;
            both += usize::from(once && twice);
        }
    }
    println!("{line}: {all} calls; {tried} tries, killed twice in {both}: the same bytes after all of them");
    assert!(both > 0, "{line}: no try was killed twice");
}

#[test]
fn a_run_that_is_killed_twice_ends_with_the_same_bytes() {
    killed_twice("run c.toml", Some(7), 3);
}

#[test]
fn a_study_that_is_killed_twice_ends_with_the_same_bytes() {
    killed_twice("sweep c.toml --jobs 1 --set seed=[1,2] --set rounds=1", Some(5), 2);
}

#[test]
#[ignore = "takes minutes"]
fn runs_killed_at_every_call() {
    killed_twice("run c.toml", None, 4);
    killed_twice("sweep c.toml --jobs 1 --set seed=[1,2] --set rounds=1", None, 2);
}

/// A campaign with data, a proposal, and its form filled in; more data beside it.
fn campaign() -> TempDir {
    let place = tempfile::tempdir().unwrap();
    let at = place.path();
    done(at, "simulate er --nodes 3 --n 30 --mechanism linear --seed 1 --out d.csv --save-scm w.json");
    done(at, "simulate er --nodes 3 --n 20 --mechanism linear --seed 2 --out more.csv");
    done(at, "lab new c.lab --from d.csv");
    done(at, "lab new c.lab --variables c.toml");
    done(at, "lab add c.lab d.csv");
    done(at, &PROPOSE.replace("p.csv", "form.csv"));
    done(at, "lab rehearse form.csv --scm w.json --out filled.csv");
    place
}

const PROPOSE: &str = "lab propose c.lab --posterior bootstrap --set posterior.draws=5 --batch 2 --out p.csv";

/// The commands that change a campaign, each after the ones before it.
const CHANGES: [&str; 5] = [
    "lab add c.lab more.csv",
    "lab record c.lab filled.csv",
    "lab amend c.lab E001 --status failed",
    PROPOSE,
    "lab undo c.lab",
];

/// What is in force and the history, without times.
fn exported(at: &Path) -> Vec<String> {
    done(at, "lab check c.lab");
    let out = tempfile::tempdir().unwrap();
    done(at, &format!("lab export c.lab --out {}", out.path().display()));
    let text = |file: &str| fs::read_to_string(out.path().join(file)).unwrap();
    let actions = text("actions.csv");
    let without_times = actions.lines().map(|line| {
        let cells: Vec<&str> = line.split(',').collect();
        format!("{:?} {}", &cells[..3], cells[5].is_empty())
    });
    [text("data.csv"), text("experiments.csv")].into_iter().chain(without_times).collect()
}

fn copy(from: &Path, to: &Path) {
    for (name, bytes) in contents(from) {
        fs::write(to.join(name), bytes).unwrap();
    }
}

/// Kills each command at some of its calls, and the second try too: before or after, never between.
fn killed_campaigns(points: Option<usize>, seconds: usize) {
    if !can_trace() {
        return;
    }
    let place = campaign();
    let at = place.path();
    let (mut kills, mut all_before, mut all_after) = (0, 0, 0);
    for line in CHANGES {
        let before = exported(at);
        let saved = tempfile::tempdir().unwrap();
        copy(at, saved.path());
        let fresh = || {
            let trial = tempfile::tempdir().unwrap();
            copy(saved.path(), trial.path());
            trial
        };
        let all = calls(fresh().path(), line);
        done(at, line);
        let after = exported(at);
        let (mut tried, mut unchanged, mut changed) = (0, 0, 0);
        for first in sample(all, points.unwrap_or(all)) {
            for second in sample(all, seconds) {
                let trial = fresh();
                let (dead, output) = killed(trial.path(), line, first);
                kills += usize::from(dead);
                let mut now = exported(trial.path());
                all_before += usize::from(dead && now == before);
                all_after += usize::from(dead && now == after);
                let acknowledged = !output.stdout.is_empty() || !dead;
                assert!(now == after || now == before && !acknowledged, "{line}: killed at {first}");
                // What is half written by a form goes with the command: nobody has seen it.
                if now == before {
                    killed(trial.path(), line, second);
                    now = exported(trial.path());
                    assert!(now == after || now == before, "{line}: killed at {first} and {second}");
                }
                unchanged += usize::from(now == before);
                changed += usize::from(now == after);
                if now == before {
                    done(trial.path(), line);
                    assert!(
                        exported(trial.path()) == after,
                        "{line}: tried again after {first} and {second}"
                    );
                }
                tried += 1;
            }
        }
        println!(
            "{line}: {all} calls; {tried} tries: {unchanged} as before the command, {changed} as after it"
        );
    }
    println!("{kills} kills: {all_before} left the campaign as before the command, {all_after} as after it");
    // Few calls come after the change is there: a sample may miss them.
    let some_after = all_after > 0 || points.is_some();
    assert!(all_before > 0 && some_after, "{kills} kills, {all_before} before, {all_after} after");
}

#[test]
fn a_campaign_is_as_before_the_command_or_as_after_it() {
    killed_campaigns(Some(5), 1);
}

#[test]
#[ignore = "takes minutes"]
fn campaigns_killed_at_every_call() {
    killed_campaigns(None, 3);
}

/// A full disk: what changes the campaign says so and changes nothing, what reads it still works.
#[test]
fn a_full_disk_leaves_a_campaign_as_it_is_and_readable() {
    if !can_trace() {
        return;
    }
    let place = campaign();
    let at = place.path();
    let before = exported(at);
    let mut options: Vec<String> = Vec::new();
    for file in ["c.lab", "c.lab-wal", "c.lab-shm"] {
        options.extend(["-P".into(), at.join(file).display().to_string()]);
    }
    options.extend(["-o".into(), "/dev/null".into(), "-e".into()]);
    options.push("inject=pwrite64,ftruncate,fallocate:error=ENOSPC:when=1+".into());
    for line in CHANGES {
        let output = traced(at, line, &options);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{line}: {said}");
        assert!(said.contains("the disk is full") && !said.contains("SELECT"), "{line}: {said}");
        assert!(exported(at) == before, "{line}");
    }
    for line in
        ["lab status c.lab", "lab check c.lab", "lab export c.lab --out x", "lab backup c.lab copy.lab"]
    {
        let output = traced(at, line, &options);
        assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    }
}
