//! The laboratory under real-life conditions: the guide word for word; killed commands; two at once; bad files.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use seabed::num::random::{Draws, Purpose, Seed};
use seabed_lab::{Lab, State};
use tempfile::TempDir;

fn seabed(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_seabed"));
    command.current_dir(folder).args(arguments).stdin(Stdio::null());
    command
}

fn words(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

#[track_caller]
fn done(folder: &Path, line: &str) -> String {
    let output = seabed(folder, &words(line)).output().unwrap();
    assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Standard error of a command that refuses: its exit code is given.
#[track_caller]
fn refused(folder: &Path, line: &str, code: i32) -> String {
    let Output { status, stderr, stdout } = seabed(folder, &words(line)).output().unwrap();
    let message = String::from_utf8(stderr).unwrap();
    assert_eq!((status.code(), stdout), (Some(code), vec![]), "{line}: {message}");
    message
}

/// A line of a shell as its words; double quotes hold spaces together.
fn shell_words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quoted = false;
    for c in line.chars() {
        match c {
            '"' => quoted = !quoted,
            ' ' if !quoted => words.push(String::new()),
            c => words.last_mut().unwrap().push(c),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Every command of the guide works, one after the other, in an empty folder, and prints what the guide shows.
#[test]
fn the_guide_works_word_for_word() {
    let guide = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide/laboratory.md");
    let guide = fs::read_to_string(guide).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let (mut commands, mut printed) = (0, String::new());
    for block in guide.split("```").skip(1).step_by(2) {
        let (kind, text) = block.split_once('\n').unwrap();
        match kind {
            "sh" => {
                for line in text.lines() {
                    let words = shell_words(line);
                    assert_eq!(words[0], "seabed");
                    let words: Vec<&str> = words[1..].iter().map(String::as_str).collect();
                    let output = seabed(folder.path(), &words).output().unwrap();
                    assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
                    printed = String::from_utf8(output.stdout).unwrap();
                    commands += 1;
                }
            }
            "text" => {
                for line in text.lines() {
                    assert!(
                        printed.lines().any(|other| other == line),
                        "not printed: {line}\nbut\n{printed}"
                    );
                }
            }
            "csv" => {
                let form = fs::read_to_string(folder.path().join("batch-0001.csv")).unwrap();
                assert_eq!(form.lines().next(), text.lines().next());
                assert!(form.lines().nth(1).unwrap().starts_with("E001,1,"));
                assert_eq!(form.lines().count(), 9);
            }
            other => panic!("a block of kind {other:?} in the guide"),
        }
    }
    assert_eq!(commands, 10, "the guide promises ten commands");
    let page = fs::read_to_string(folder.path().join("cells.html")).unwrap();
    assert!(page.contains("<svg") && page.contains("first plate"));
    // What the guide only mentions works too.
    for line in [
        "lab undo cells.lab",
        "lab export cells.lab",
        "lab form cells.lab --out again.csv",
        "lab check cells.lab",
        "lab amend cells.lab filled-0001.csv",
        "lab propose cells.lab --batch 2 --goal edge=X1,X2 --budget 1 --set posterior.draws=20",
    ] {
        done(folder.path(), line);
    }
    let again = fs::read_to_string(folder.path().join("again.csv")).unwrap();
    assert_eq!(again.lines().filter(|line| line.ends_with(",done")).count(), 8);
}

/// A campaign with data, a proposal of four experiments, and a filled-in form.
fn campaign() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for line in [
        "simulate er --nodes 4 --mechanism linear --noise-sd 0.5 --seed 3 --n 60 --out data.csv --save-scm world.json",
        "simulate scm --scm world.json --seed 4 --n 400 --out more.csv",
        "lab new c.lab --from data.csv",
        "lab new c.lab --variables c.toml",
        "lab add c.lab data.csv",
        "lab propose c.lab --batch 4 --set posterior.draws=20 --set design.samples=10 --out form.csv",
        "lab rehearse form.csv --scm world.json --out filled.csv",
    ] {
        done(folder.path(), line);
    }
    folder
}

fn state(folder: &Path) -> Arc<State> {
    Lab::open(&folder.join("c.lab"), Duration::from_secs(30)).unwrap().state().unwrap()
}

/// Everything stored except times.
fn content(state: &State) -> String {
    let batches: Vec<_> = state.proposals.iter().map(|p| (p.id, &p.designed.batch)).collect();
    let actions: Vec<_> =
        state.actions.iter().map(|a| (a.id, &a.kind, &a.what, a.undone.is_some())).collect();
    format!("{actions:?} {batches:?} {:?} {:?}", state.sources, state.experiments)
}

fn copied(folder: &Path) -> TempDir {
    let copy = tempfile::tempdir().unwrap();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        fs::copy(&path, copy.path().join(path.file_name().unwrap())).unwrap();
    }
    copy
}

fn draws(seed: u64) -> Draws {
    Seed::new(seed).stream(Purpose::Noise).draws()
}

/// Kills the command at random moments from its start to after its end. The campaign must then be sound, and exactly as
/// before the command or exactly as after it; if the command had reported success, as after it.
fn survives_kills(folder: &Path, line: &str, trials: usize) {
    let before = content(&state(folder));
    let whole = copied(folder);
    let clock = Instant::now();
    done(whole.path(), line);
    let duration = clock.elapsed();
    let after = content(&state(whole.path()));
    assert_ne!(before, after, "{line} changes nothing");
    let mut draws = draws(line.len() as u64);
    let (mut unchanged, mut changed) = (0, 0);
    for _ in 0..trials {
        let copy = copied(folder);
        let mut child =
            seabed(copy.path(), &words(line)).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        thread::sleep(duration.mul_f64(1.2 * draws.uniform()));
        // It may have ended by itself.
        let _ = child.kill();
        let output = child.wait_with_output().unwrap();
        let acknowledged = !output.stdout.is_empty();
        done(copy.path(), "lab check c.lab");
        let found = content(&state(copy.path()));
        if found == before {
            assert!(!acknowledged, "{line}: acknowledged, but lost");
            unchanged += 1;
        } else {
            assert_eq!(found, after, "{line}: half done");
            changed += 1;
        }
        // The same command continues, or reports that it is done.
        if found == before {
            done(copy.path(), line);
            assert_eq!(content(&state(copy.path())), after, "{line}");
        }
    }
    println!("{line}: {unchanged} killed before, {changed} after");
}

#[test]
fn killed_commands_are_done_or_not_done() {
    let folder = campaign();
    let at = folder.path();
    survives_kills(at, "lab add c.lab more.csv", 12);
    let propose = "lab propose c.lab --batch 3 --set posterior.draws=40 --set design.samples=10";
    survives_kills(at, propose, 12);
    survives_kills(at, "lab record c.lab filled.csv", 12);
    survives_kills(at, "lab undo c.lab", 12);
    done(at, "lab record c.lab filled.csv");
    survives_kills(at, "lab amend c.lab E001 --status failed", 12);
}

/// A campaign is created completely or not at all.
#[test]
fn killed_creation_leaves_a_campaign_or_nothing() {
    let folder = tempfile::tempdir().unwrap();
    done(folder.path(), "simulate er --nodes 4 --seed 3 --n 20 --out data.csv");
    done(folder.path(), "lab new c.lab --from data.csv");
    let line = "lab new c.lab --variables c.toml";
    let clock = Instant::now();
    done(copied(folder.path()).path(), line);
    let duration = clock.elapsed();
    let mut draws = draws(8);
    for _ in 0..20 {
        let copy = copied(folder.path());
        let mut child = seabed(copy.path(), &words(line)).stdout(Stdio::piped()).spawn().unwrap();
        thread::sleep(duration.mul_f64(1.2 * draws.uniform()));
        let _ = child.kill();
        let acknowledged = !child.wait_with_output().unwrap().stdout.is_empty();
        if copy.path().join("c.lab").exists() {
            done(copy.path(), "lab check c.lab");
            assert!(refused(copy.path(), line, 2).contains("the file already exists"));
        } else {
            assert!(!acknowledged);
            done(copy.path(), line);
        }
    }
}

/// Two processes at once record a thousand measurements in some hundred commands, and nothing is lost.
#[test]
fn two_at_once_lose_nothing() {
    const WORKERS: usize = 2;
    const FORMS: usize = 50;
    const ROWS: usize = 10;
    let folder = campaign();
    let at = folder.path();
    let before = state(at).experiments.len();
    thread::scope(|scope| {
        for worker in 0..WORKERS {
            scope.spawn(move || {
                for form in 0..FORMS {
                    let name = format!("extra-{worker}-{form}.csv");
                    let number = |row: usize| (worker * FORMS + form) * ROWS + row;
                    let rows = (0..ROWS).map(|row| format!("{},0,0,0,X2\n", number(row)));
                    let text = format!("X1,X2,X3,X4,intervention_targets\n{}", rows.collect::<String>());
                    fs::write(at.join(&name), text).unwrap();
                    let said = done(at, &format!("lab record c.lab {name} --json --wait 300"));
                    assert!(said.contains(&format!("\"done\":{ROWS}")), "{said}");
                }
            });
        }
    });
    let state = state(at);
    let values: BTreeSet<u64> = state.experiments[before..]
        .iter()
        .map(|experiment| experiment.newest(1).unwrap().row.cells[0].unwrap() as u64)
        .collect();
    assert_eq!(state.experiments.len() - before, 1000);
    assert_eq!(values, (0..1000).collect());
    done(at, "lab check c.lab");
}

/// A command that waits too long names the process that it waits for.
#[cfg(unix)]
#[test]
fn the_process_holding_the_file_is_named() {
    let folder = campaign();
    let other = rusqlite::Connection::open(folder.path().join("c.lab")).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let message = refused(folder.path(), "lab undo c.lab --wait 0", 1);
    let me = format!("process {} is writing to it", std::process::id());
    assert!(message.contains(&me), "{message}");
    // Reading needs no waiting.
    done(folder.path(), "lab status c.lab --wait 0");
    other.execute_batch("ROLLBACK").unwrap();
    done(folder.path(), "lab undo c.lab --wait 0");
}

/// A process with several connections keeps its locks when one of them is opened, refused or closed: whoever closes a
/// descriptor of a file loses all locks on it.
#[test]
fn a_process_keeps_its_locks() {
    let folder = campaign();
    let path = folder.path().join("c.lab");
    let first = rusqlite::Connection::open(&path).unwrap();
    first.execute_batch("BEGIN IMMEDIATE").unwrap();
    let mut second = Lab::open(&path, Duration::ZERO).unwrap();
    assert!(second.undo().is_err(), "the first is writing");
    drop(second);
    drop(Lab::open(&path, Duration::ZERO).unwrap());
    refused(folder.path(), "lab undo c.lab --wait 0", 1);
    first.execute_batch("ROLLBACK").unwrap();
    done(folder.path(), "lab undo c.lab --wait 0");
}

#[test]
fn bad_files_are_named_and_left_alone() {
    let folder = campaign();
    let at = folder.path();
    fs::write(at.join("text.lab"), "not a campaign").unwrap();
    assert!(refused(at, "lab status text.lab", 2).contains("this is not a campaign"));
    assert_eq!(fs::read(at.join("text.lab")).unwrap(), b"not a campaign");
    assert!(refused(at, "lab status none.lab", 2).contains("there is no such file"));
    assert!(refused(at, "lab add c.lab data.csv", 2).contains("--again"));
    done(at, "lab add c.lab data.csv --again");
    assert!(refused(at, "lab new c.lab --variables c.toml", 2).contains("the file already exists"));
    assert!(refused(at, "lab new c.lab --from data.csv", 2).contains("the file already exists"));
    assert!(refused(at, "lab propose c.lab --strategy best", 2).contains("the strategies are cbed"));
    assert!(refused(at, "lab propose c.lab --posterior best", 2).contains("possible values: mcmc-gp"));
    assert!(refused(at, "lab propose c.lab --set design.sample=3", 2).contains("unknown field `sample`"));
    assert!(refused(at, "lab propose c.lab --budget 0.5", 2).contains("the cheapest experiment costs 1"));
    assert!(refused(at, "lab form c.lab 7", 2).contains("there is no proposal 7"));
    assert!(refused(at, "lab amend c.lab E001", 2).contains("say what to correct"));
    assert!(refused(at, "lab amend c.lab E001 --status failed", 2).contains("there is no record of it yet"));
    // A form that may be filled in is never replaced, but the proposal is kept.
    fs::write(at.join("batch-0002.csv"), "mine").unwrap();
    let proposed =
        seabed(at, &words("lab propose c.lab --batch 1 --set posterior.draws=10")).output().unwrap();
    assert_eq!(proposed.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&proposed.stderr).contains("lab form CAMPAIGN 2"));
    assert_eq!(fs::read(at.join("batch-0002.csv")).unwrap(), b"mine");
    done(at, "lab form c.lab 2 --out two.csv");
    let status: serde_json::Value = serde_json::from_str(&done(at, "lab status c.lab --json")).unwrap();
    assert_eq!(status["pending"].as_array().unwrap().len(), 5);
    assert_eq!(status["rounds"].as_array().unwrap().len(), 2);
}

/// What comes through a pipe can be read only once, so the fingerprint that a file is known by and the rows are of the same bytes.
#[test]
fn parquet_is_read_once() {
    let folder = campaign();
    let at = folder.path();
    done(at, "simulate scm --scm world.json --seed 5 --n 30 --out more.parquet");
    let mut adding = seabed(at, &words("lab add c.lab -"));
    let mut adding = adding.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    adding.stdin.take().unwrap().write_all(&fs::read(at.join("more.parquet")).unwrap()).unwrap();
    assert!(adding.wait().unwrap().success());
    assert_eq!(state(at).sources.last().unwrap().rows.len(), 30);
    let message = refused(at, "lab add c.lab more.parquet", 2);
    assert!(message.contains("the same content was added"), "{message}");
}
