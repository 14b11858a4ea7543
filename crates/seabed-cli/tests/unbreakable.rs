//! What must never happen: a crash, work or files lost, a wrong input taken in silence.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use seabed::num::random::{Purpose, Seed};
use seabed::scm::{Ensemble, Scm};
use tempfile::TempDir;

fn seabed(folder: &Path, arguments: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_seabed"));
    command.current_dir(folder).args(arguments.split_whitespace());
    command
}

#[cfg(unix)]
mod signals {
    use std::io::Read;
    use std::time::Duration;

    use super::*;

    /// A loop of many short fits: whenever the signal comes, the next fit sees it.
    const LOOP: &str = "rounds = 900\ntiming = false\n[world]\nnodes = 4\nmechanism = \"linear\"\nobservations = 20\n\
                        [posterior]\nkind = \"bootstrap\"\ndraws = 5\n[design]\nstrategy = \"random\"\nbatch = 1\n";

    fn signal(process: u32, name: &str) {
        assert!(Command::new("kill").args([name, &process.to_string()]).status().unwrap().success());
    }

    /// The loop is interrupted after its first round.
    fn interrupted(name: &str) -> (Option<i32>, String) {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("c.toml"), LOOP).unwrap();
        let mut run = seabed(folder.path(), "run c.toml");
        let mut child = run.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        // The heading is printed after the first round.
        child.stdout.as_mut().unwrap().read_exact(&mut [0; 10]).unwrap();
        signal(child.id(), name);
        let output = child.wait_with_output().unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap())
    }

    #[test]
    fn schedulers_and_closed_terminals_interrupt_as_ctrl_c_does() {
        // Where the tests themselves run under `nohup`, so does the command, and goes on.
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
        let under_nohup = ignored
            .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
            .is_some_and(|mask| mask & 1 == 1);
        let names = if under_nohup { &["-INT", "-TERM"][..] } else { &["-INT", "-TERM", "-HUP"] };
        for name in names {
            let (code, said) = interrupted(name);
            assert_eq!(code, Some(130), "{name}: {said}");
            assert!(said.contains("interrupted; nothing is lost"), "{name}: {said}");
        }
    }

    /// A scheduler ends a long fit, and what continues it: the state is where it was asked for.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_fit_that_is_ended_leaves_its_state() {
        let folder = tempfile::tempdir().unwrap();
        done(folder.path(), "simulate er --nodes 8 --n 40 --mechanism linear --seed 1 --out wide.csv");
        // The sweeps that are done when the fit is ended.
        let ended = |more: &str| -> u64 {
            // So many draws that the chains do not stop by themselves.
            let fit = "fit wide.csv --posterior mcmc-linear --draws 1000000 --sweeps 10000000 --force --state s.json";
            let mut command = seabed(folder.path(), &format!("{fit} {more}"));
            let child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
            let hears = || {
                let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
                let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap();
                u64::from_str_radix(caught.trim(), 16).unwrap() & (1 << 14) != 0
            };
            while !hears() {
                std::thread::sleep(Duration::from_millis(5));
            }
            // The data are read, and the fit has begun.
            std::thread::sleep(Duration::from_millis(700));
            signal(child.id(), "-TERM");
            let output = child.wait_with_output().unwrap();
            let said = String::from_utf8(output.stderr).unwrap();
            assert_eq!(output.status.code(), Some(130), "{said}");
            assert!(said.contains("continue with the same command and --resume s.json"), "{said}");
            let (before, _) = said.split_once(" sweeps are done").expect(&said);
            before.rsplit(' ').next().unwrap().parse().unwrap()
        };
        let first = ended("");
        let second = ended("--resume s.json");
        assert!(second >= first, "{first} sweeps, then {second}");
    }

    /// A command under `nohup` outlives its terminal.
    #[test]
    fn nohup_is_obeyed() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("c.toml"), LOOP.replace("900", "20")).unwrap();
        let mut child = Command::new("nohup")
            .current_dir(folder.path())
            .args([env!("CARGO_BIN_EXE_seabed"), "run", "c.toml"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        child.stdout.as_mut().unwrap().read_exact(&mut [0; 10]).unwrap();
        signal(child.id(), "-HUP");
        std::thread::sleep(Duration::from_millis(10));
        assert!(child.wait_with_output().unwrap().status.success());
    }

    /// Nobody reads the notes of a study, or they cannot be written: it goes on.
    #[test]
    fn a_study_does_not_need_its_notes_read() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("c.toml"), LOOP.replace("900", "[1, 2]")).unwrap();
        let all = |errors: Stdio, out: &str| {
            let mut sweep = seabed(folder.path(), &format!("sweep c.toml --out {out}"));
            sweep.stderr(errors).output().unwrap()
        };
        let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let ended = all(full.into(), "full");
        assert_eq!(ended.status.code(), Some(0), "{ended:?}");
        // A pipe without a reader.
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        assert_eq!(all(writer.into(), "closed").status.code(), Some(0));
        // `sweep 2>&1 | head -1`: both streams end, and the study is done all the same.
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut sweep = seabed(folder.path(), "sweep c.toml --out both");
        let ended = sweep.stdout(writer.try_clone().unwrap()).stderr(writer).status().unwrap();
        assert_eq!(ended.code(), Some(0));
        let results = |out: &str| fs::read(folder.path().join(out).join("results.csv")).unwrap();
        assert_eq!(results("full"), results("closed"));
        assert_eq!(results("full"), results("both"));
    }
}

/// The last line of defence: one sentence, exit code 70, and what was saved stays.
#[cfg(debug_assertions)]
#[test]
fn a_defect_is_said_in_one_sentence_and_loses_nothing() {
    let folder = prepared();
    let at = folder.path();
    let broken = |line: &str, place: &str| {
        let output = seabed(at, line).env("SEABED_PANIC", place).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(70), "{line}: {said}");
        assert_eq!(said.matches("a defect of seabed").count(), 1, "{line}: {said}");
        assert!(said.contains("nothing that was saved is lost"), "{line}: {said}");
    };
    broken("evaluate --truth g.csv --estimate g.csv", "command");
    broken("run c.toml --out r", "round");
    broken("sweep c.toml --out s --set seed=[1,2]", "round");
    broken("sweep run-one s 1", "round");
    // The same commands go on from there.
    done(at, "run c.toml --out r");
    done(at, "sweep c.toml --out s --set seed=[1,2]");
}

#[track_caller]
fn done(folder: &Path, arguments: &str) -> String {
    let output = seabed(folder, arguments).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments}: {errors}");
    String::from_utf8(output.stdout).unwrap()
}

/// The message of a command that ends with this exit code.
#[track_caller]
fn failed(folder: &Path, arguments: &str, code: i32) -> String {
    let output = seabed(folder, arguments).output().unwrap();
    let errors = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(code), "{arguments}: {errors}");
    errors
}

/// Every file in a folder and below, with its bytes.
fn contents(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all.extend(contents(&path));
        } else {
            all.insert(path.clone(), fs::read(path).unwrap());
        }
    }
    all
}

/// A folder with simulated data, their model, a fast configuration and a campaign.
fn prepared() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let world = "simulate er --nodes 3 --n 40 --mechanism linear --seed 1";
    done(at, &format!("{world} --out d.csv --save-scm w.json --save-graph g.csv"));
    let config = "rounds = 1\ntiming = false\n[world]\nnodes = 3\nmechanism = \"linear\"\nobservations = 20\n\
                  [posterior]\nkind = \"bootstrap\"\ndraws = 5\n[design]\nstrategy = \"random\"\nbatch = 1\n";
    fs::write(at.join("c.toml"), config).unwrap();
    done(at, "lab new cells.lab --from d.csv");
    done(at, "lab new cells.lab --variables cells.toml");
    done(at, "lab add cells.lab d.csv");
    folder
}

#[test]
fn files_of_the_user_are_never_replaced_unasked() {
    let folder = prepared();
    let at = folder.path();
    done(at, "run c.toml --out rr");
    for (file, text) in [
        ("mine/data.csv", "my,own,data\n1,2,3\n"),
        ("mine2/results.csv", "mine\n"),
        ("mine3/variables.toml", "mine = true\n"),
        ("mine4/figures/edges.svg", "<svg/>"),
        ("mine5/config.toml", "rounds = 3\n"),
        ("rr/notes.txt", "mine\n"),
        ("note.csv", "a,b\n1,2\n"),
        ("measured.csv", "X1,X2,X3\n1.5,2.25,3.0\n4.0,5.5,7.125\n"),
        ("note.json", "{}"),
        ("note.html", "<html>"),
    ] {
        let path = at.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let before = contents(at);
    for line in [
        "run c.toml --out mine",
        "run c.toml --out mine5",
        "run mine5/config.toml --out mine5 --force",
        "sweep c.toml --out mine2",
        "demo --out mine2",
        "lab export cells.lab --out mine3",
        "lab report cells.lab --out cells.lab",
        "design d.csv --out d.csv --posterior bootstrap --draws 5",
        "design d.csv --out ./d.csv --posterior bootstrap --draws 5 --force",
        "design d.csv --out note.csv --posterior bootstrap --draws 5",
        "design d.csv --curves note.csv --posterior bootstrap --draws 5",
        "simulate scm --scm w.json --save-graph w.json",
        "simulate scm --scm w.json --save-graph w.json --force",
        "simulate scm --scm w.json --save-graph note.csv",
        "simulate scm --scm w.json --save-scm note.json",
        "simulate scm --scm w.json --out note.csv",
        "simulate er --nodes 3 --out measured.csv",
        "simulate er --nodes 3 --n 40 --mechanism linear --seed 2 --out d.csv",
        "fit d.csv --posterior mcmc-linear --state q.json --out q.json",
        "fit d.csv --posterior bootstrap --out note.json",
        "fit d.csv --posterior mcmc-linear --state note.json",
        "fit d.csv --posterior mcmc-linear --state d.csv --force",
        "report rr --out rr/config.toml",
        "report rr --out rr/config.toml --force",
        "report rr --out rr/rounds/000/outcomes.csv",
        "report rr --out rr/rounds/000/outcomes.csv --force",
        "report rr --out rr/complete.json --force",
        "report rr --out rr/notes.txt --force",
        "report rr --out note.html",
        "lab rehearse d.csv --scm w.json --out w.json",
    ] {
        failed(at, line, 2);
        assert!(contents(at) == before, "{line} changed something");
    }
    let said = failed(at, "run c.toml --out mine", 2);
    assert!(said.contains("data.csv: it already exists, and seabed did not make it"), "{said}");
    // Asked for, or of its own making, everything is replaced.
    for line in [
        "run c.toml --out mine --force",
        "run c.toml --out mine",
        "run c.toml --out rr --set rounds=2",
        "sweep c.toml --out mine2 --force",
        "sweep c.toml --out mine2",
        "lab export cells.lab --out mine3 --force",
        "lab export cells.lab --out mine3",
        "design d.csv --out form.csv --curves curves.csv --posterior bootstrap --draws 5",
        "design d.csv --out form.csv --curves curves.csv --posterior bootstrap --draws 6",
        "simulate er --nodes 3 --n 40 --mechanism linear --seed 1 --out d.csv --save-scm w.json --save-graph g.csv",
        "simulate scm --scm w.json --seed 2 --out d.csv --force",
        "simulate scm --scm w.json --seed 2 --out d.csv",
        "simulate er --nodes 3 --seed 2 --out d.csv --save-scm w.json --save-graph g.csv --force",
        "fit d.csv --posterior mcmc-linear --sweeps 50 --state s.json --out b.npz",
        "fit d.csv --posterior mcmc-linear --sweeps 50 --state s.json --out b.npz",
        "fit d.csv --posterior mcmc-linear --sweeps 80 --resume s.json --state s.json --out b.npz",
        "report rr --out page.html",
        "report rr --out page.html",
        "report rr",
        "report rr",
    ] {
        done(at, line);
    }
    // A form that was filled in is the laboratory's.
    let form = fs::read_to_string(at.join("form.csv")).unwrap();
    fs::write(at.join("form.csv"), form.replacen(",,", ",1.5,", 1)).unwrap();
    let said = failed(at, "design d.csv --out form.csv --posterior bootstrap --draws 5", 2);
    assert!(said.contains("it is not an empty form"), "{said}");
}

#[test]
fn outputs_are_checked_before_the_work_and_results_are_printed_whatever_happens_to_them() {
    let folder = prepared();
    let at = folder.path();
    // So much work that the test would not end.
    for line in [
        "fit d.csv --posterior bootstrap --draws 1000000 --out nowhere/b.npz",
        "fit d.csv --posterior mcmc-linear --sweeps 1000000000 --state nowhere/s.json",
        "design d.csv --posterior bootstrap --draws 100000 --out nowhere/f.csv",
    ] {
        assert!(failed(at, line, 1).contains("there is no folder nowhere"), "{line}");
    }
    let before = fs::read(at.join("cells.lab")).unwrap();
    failed(at, "lab propose cells.lab --posterior bootstrap --out nowhere/f.csv", 1);
    assert!(fs::read(at.join("cells.lab")).unwrap() == before && !at.join("cells.lab-wal").exists());
    if cfg!(target_os = "linux") {
        std::os::unix::fs::symlink("/dev/full", at.join("full.npz")).unwrap();
        let output = seabed(at, "fit d.csv --posterior bootstrap --draws 5 --out full.npz").output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        assert!(String::from_utf8_lossy(&output.stdout).contains("X1"), "the edges are printed");
        std::os::unix::fs::symlink("/dev/full", at.join("full.csv")).unwrap();
        let line = "design d.csv --posterior bootstrap --draws 5 --batch 1 --samples 10 --out full.csv";
        let output = seabed(at, line).output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        assert!(String::from_utf8_lossy(&output.stdout).contains("X"), "the batch is printed");
        // Neither place can be written: both results are printed or elsewhere, and the messages say where.
        std::os::unix::fs::symlink("/dev/full", at.join("full.json")).unwrap();
        let elsewhere = at.join("elsewhere");
        fs::create_dir(&elsewhere).unwrap();
        let line = "fit d.csv --posterior mcmc-linear --sweeps 50 --draws 5 --state full.json --out full.npz";
        let output = seabed(at, line).env("TMPDIR", &elsewhere).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(String::from_utf8_lossy(&output.stdout).contains("X1"), "the edges are printed");
        let saved: Vec<PathBuf> = contents(&elsewhere).into_keys().collect();
        assert!(
            saved.len() == 2 && saved.iter().all(|path| said.contains(&*path.to_string_lossy())),
            "{said}"
        );
        for path in saved {
            let path = path.display().to_string();
            if path.ends_with(".npz") {
                done(at, &format!("evaluate --truth g.csv --ensemble {path}"));
            } else {
                done(
                    at,
                    &format!("fit d.csv --posterior mcmc-linear --sweeps 60 --draws 5 --warm-start {path}"),
                );
            }
        }
    }
}

#[test]
fn extreme_numbers_are_named_by_row_and_column() {
    let folder = prepared();
    let at = folder.path();
    let data = fs::read_to_string(at.join("d.csv")).unwrap();
    for value in ["1e160", "-1e308"] {
        let mut lines: Vec<String> = data.lines().map(String::from).collect();
        let (_, rest) = lines[3].split_once(',').unwrap();
        lines[3] = format!("{value},{rest}");
        fs::write(at.join("big.csv"), lines.join("\n")).unwrap();
        for kind in ["bootstrap", "mcmc-linear", "mcmc-gp", "dibs-linear", "dibs-nonlinear", "dibs-bge"] {
            let said = failed(at, &format!("fit big.csv --posterior {kind}"), 2);
            assert!(said.contains("row 3, column \"X1\""), "{said}");
        }
        failed(at, "fit big.csv --posterior bootstrap --single", 2);
        failed(at, "design big.csv", 2);
        let said = failed(at, "lab add cells.lab big.csv", 2);
        assert!(said.contains("row 3") && said.contains("X1") && said.contains("too large"), "{said}");
    }
    let model = fs::read_to_string(at.join("w.json")).unwrap();
    let noise = model.split("\"noise_sd\":").nth(1).unwrap().split([',', '}']).next().unwrap();
    for extreme in ["5e-324", "1e308"] {
        fs::write(
            at.join("e.json"),
            model.replace(&format!("\"noise_sd\":{noise}"), &format!("\"noise_sd\":{extreme}")),
        )
        .unwrap();
        let scm = Scm::read(&at.join("w.json")).unwrap();
        let mechanisms = (0..3).map(|node| scm.mechanism(node).clone()).collect();
        let noise = vec![extreme.parse().unwrap(); 3];
        let scm = Scm::new(scm.names().clone(), scm.dag().clone(), mechanisms, noise).unwrap();
        fs::write(at.join("e.npz"), Ensemble::uniform(vec![scm]).unwrap().to_npz()).unwrap();
        for line in [
            "simulate scm --scm e.json",
            "design e.json --samples 10",
            "design e.npz --samples 10",
            "predict e.json",
            "predict e.npz",
        ] {
            let said = failed(at, line, 2);
            assert!(said.contains("noise_sd") && said.contains(extreme), "{line}: {said}");
        }
    }
    // What is set, and from where to where; models that no value can go through.
    done(at, "fit d.csv --posterior bootstrap --draws 5 --out b.npz");
    for line in [
        "predict b.npz --do X1=1e308",
        "effects b.npz --span X1=-1e308:1e308",
        "design b.npz --score X1=1e308",
        "simulate scm --scm w.json --do X1=1e308",
        "evaluate --truth g.csv --ensemble b.npz --data big.csv",
    ] {
        let said = failed(at, line, 2);
        assert!(said.contains("is too large to compute with"), "{line}: {said}");
    }
    let root = r#"{"name":"A","parents":[],"mechanism":{"type":"linear","weights":[]},"noise_sd":1}"#;
    let steep =
        r#"{"name":"B","parents":["A"],"mechanism":{"type":"linear","weights":[1e308]},"noise_sd":1}"#;
    fs::write(at.join("steep.json"), format!(r#"{{"names":["A","B"],"nodes":[{root},{steep}]}}"#)).unwrap();
    for line in ["predict steep.json --do A=1e100", "effects steep.json --span A=0:1e100"] {
        let said = failed(at, line, 2);
        assert!(said.contains("its models give values that are too large"), "{line}: {said}");
    }
    fs::write(at.join("long.csv"), format!("a,{}\n1,2\n3,5\n2,2\n7,1\n", "b".repeat(70_000))).unwrap();
    assert!(failed(at, "fit long.csv", 2).contains("has 70000 characters"));
}

#[test]
fn settings_have_limits_and_messages_in_words() {
    let folder = prepared();
    let at = folder.path();
    for (line, said) in [
        ("sweep c.toml --plan --out s --set seed=[]", "seed = []: list at least one value"),
        ("sweep c.toml --plan --out s --set world.nodes=[]", "world.nodes = []: list at least one value"),
        (
            "run c.toml --out s --set seed=-1",
            "seed: -1 is not what is expected here: write a whole number from 0 on",
        ),
        ("run c.toml --out s --set seed=18446744073709551615", "seed: "),
        ("run c.toml --out s --set posterior.draws=4294967296", "choose a number from 1 to"),
        ("run c.toml --out s --set world.nodes=1000000", "choose a number from 1 to"),
        ("run c.toml --out s --set world.observations=4294967296", "choose a number from 1 to"),
        (
            "sweep c.toml --out s --set posterior.kind=dibs-linear --set posterior.particles=1000000000000",
            "choose a number from 1 to",
        ),
        ("sweep c.toml --plan --out s --set seeds=100000000", "at most 50000"),
        ("run c.toml --out s --set rounds=1000000000", "choose a number from 0 to"),
        (
            "run c.toml --out s --set posterior.noise=loud",
            "write a standard deviation, \"world\" or \"learned\"",
        ),
        ("demo --out s --seed 18446744073709551615", "is not in"),
        ("sweep --preset paper-dream-10 --plan --out s --networks MISSING", "there is no such folder"),
        (
            "sweep c.toml --plan --out s --set world.kind=scm --set world.file=MISSING.json",
            "there is no such file",
        ),
        ("run c.toml --out s --set world.kind=scm --set world.file=MISSING.json", "there is no such file"),
        ("sweep c.toml --out s --set design.batch=1000000000", "it must be from 1 to 10000"),
        ("run c.toml --out s --set design.batch=1000000000", "it must be from 1 to 10000"),
        ("design d.csv --evaluations 1000000000000", "it must be from 1 to 10000"),
        ("design d.csv --batch 1000000", "it must be from 1 to 10000"),
        ("fit d.csv --posterior bootstrap --single --draws 7", "--draws does not apply to --single"),
        ("design w.json --knowledge MISSING", "--knowledge applies to data"),
        ("design w.json --ignore NOPE", "--ignore applies to data"),
        ("design w.json --draws 7", "--draws applies to data"),
        ("design d.csv --posterior dibs-linear --draws 7", "--draws does not apply"),
        // Before a fit that would take long.
        ("design d.csv --posterior bootstrap --draws 100000 --target NOPE", "NOPE"),
        ("design d.csv --posterior bootstrap --draws 100000 --max-targets 0", "set"),
        ("design d.csv --posterior bootstrap --draws 100000 --goal edge=X1,NOPE", "NOPE"),
        ("lab propose cells.lab --posterior bootstrap --set posterior.draws=100000 --budget 0.5", "costs 1"),
        ("design d.csv --grid 1,2", "--grid applies to --values grid only"),
    ] {
        let errors = failed(at, line, 2);
        assert!(errors.contains(said) && !errors.contains("usize"), "{line}: {errors}");
        assert!(!at.join("s").exists(), "{line} wrote something");
    }
}

/// Every option of `fit` with every posterior that does not know it.
#[test]
fn options_of_another_posterior_are_refused() {
    let folder = prepared();
    let at = folder.path();
    fs::write(at.join("p.csv"), "from,to,probability\nX1,X2,0.3\n").unwrap();
    let (chains, dibs) = (["mcmc-linear", "mcmc-gp"], ["dibs-linear", "dibs-nonlinear", "dibs-bge"]);
    let both: Vec<&str> = chains.into_iter().chain(dibs).collect();
    let known_to: [(&[&str], &[&str]); 6] = [
        (&["mcmc-linear", "mcmc-gp", "bootstrap"], &["--draws 7"]),
        (
            &chains,
            &[
                "--chains 2",
                "--max-parents 2",
                "--candidates 2",
                "--sweeps 50",
                "--trust 0.5",
                "--edge-probabilities p.csv",
            ],
        ),
        (
            &both,
            &[
                "--prior er",
                "--edges-per-node 1",
                "--standardise true",
                "--state s.json",
                "--warm-start s.json",
            ],
        ),
        (
            &dibs,
            &[
                "--particles 2",
                "--steps 2",
                "--all-steps",
                "--mc-samples 4",
                "--estimator joint",
                "--weights uniform",
            ],
        ),
        (&["dibs-linear", "dibs-nonlinear"], &["--noise learned"]),
        (&["bootstrap"], &["--single", "--penalty 2", "--max-degree 2", "--start g.csv"]),
    ];
    let refused = |posterior: &str, option: &str| {
        let said = failed(at, &format!("fit d.csv --posterior {posterior} {option}"), 2);
        let name = option.split(' ').next().unwrap();
        assert!(said.contains(&format!("{name} does not apply to this --posterior")), "{posterior}: {said}");
    };
    for (owners, options) in known_to {
        for posterior in both.iter().chain(&["bootstrap"]).filter(|posterior| !owners.contains(posterior)) {
            options.iter().for_each(|option| refused(posterior, option));
        }
    }
    refused("dibs-linear", "--walk 2");
    let said = failed(at, "fit d.csv --prior sf --edges-per-node 2", 2);
    assert!(said.contains("--edges-per-node does not apply to --prior sf"), "{said}");
}

#[test]
fn a_damaged_state_is_refused_in_words() {
    let folder = prepared();
    let at = folder.path();
    for kind in ["mcmc-linear --sweeps 50", "dibs-linear --steps 60 --particles 2"] {
        done(at, &format!("fit d.csv --posterior {kind} --state s.json"));
        let saved = fs::read_to_string(at.join("s.json")).unwrap();
        let digit = saved.rfind(|c: char| c.is_ascii_digit()).unwrap();
        let mut edited = saved.clone();
        edited.replace_range(digit..=digit, if &saved[digit..=digit] == "1" { "2" } else { "1" });
        let cut = saved[..saved.len() / 2].to_string();
        for damaged in [edited, cut, "{}".into(), "[".into()] {
            fs::write(at.join("x.json"), damaged).unwrap();
            for how in ["--resume", "--warm-start"] {
                let said = failed(at, &format!("fit d.csv --posterior {kind} {how} x.json"), 2);
                assert!(said.contains("is incomplete or was edited"), "{said}");
            }
        }
    }
}

#[test]
fn the_laboratory_recognises_measurements_whatever_file_they_come_in() {
    let folder = prepared();
    let at = folder.path();
    let data = fs::read_to_string(at.join("d.csv")).unwrap();
    fs::write(at.join("windows.csv"), data.replace('\n', "\r\n")).unwrap();
    fs::write(at.join("more.csv"), format!("{data}\n")).unwrap();
    let world = "simulate er --nodes 3 --n 40 --mechanism linear --seed 1";
    done(at, &format!("{world} --out d.parquet"));
    for file in ["windows.csv", "more.csv", "d.parquet"] {
        let said = failed(at, &format!("lab add cells.lab {file}"), 2);
        assert!(said.contains("40 of its 40 rows are in the campaign already"), "{said}");
        assert!(done(at, &format!("lab add cells.lab {file} --new")).contains("added 0 rows"));
    }
    assert!(done(at, "lab record cells.lab windows.csv").contains("nothing new (40 already known"));
    let added = format!("{data}{}\n", data.lines().nth(1).unwrap().replace(['1', '2'], "3"));
    fs::write(at.join("grown.csv"), added).unwrap();
    let said = failed(at, "lab add cells.lab grown.csv", 2);
    assert!(said.contains("40 of its 41 rows") && said.contains("--new adds only the other 1"), "{said}");
    assert!(done(at, "lab add cells.lab grown.csv --new").contains("added 1 rows"));
    assert!(done(at, "lab add cells.lab windows.csv --again").contains("added 40 rows"));
}

#[test]
fn spreadsheets_run_nothing_that_is_written_for_them() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let rows: String = (0..30).map(|k| format!("{},{},{}\n", k % 7, (k * k) % 11, k % 5)).collect();
    fs::write(at.join("d.csv"), format!("=cmd|' /C calc'!A0,@b,-c\n{rows}")).unwrap();
    done(at, "lab new c.lab --from d.csv");
    done(at, "lab new c.lab --variables c.toml --note =1+1");
    done(at, "lab add c.lab d.csv");
    done(at, "lab propose c.lab --posterior bootstrap --batch 2 --set posterior.draws=5 --out form.csv");
    done(at, "lab export c.lab");
    for file in [
        "form.csv",
        "c-export/data.csv",
        "c-export/experiments.csv",
        "c-export/actions.csv",
        "c-export/edges.csv",
    ] {
        let text = fs::read_to_string(at.join(file)).unwrap();
        for cell in text.split([',', '\n']).map(|cell| cell.trim_matches('"')) {
            let formula = cell.starts_with(['=', '+', '-', '@']) && cell.parse::<f64>().is_err();
            assert!(!formula, "{file}: {cell}");
        }
    }
    // Filled in, the form comes back with its names.
    let form = fs::read_to_string(at.join("form.csv")).unwrap();
    fs::write(
        at.join("form.csv"),
        form.replace(",,", ",1.5,").replace(",,", ",1.5,").replace(",1.5,1.5\n", ",1.5,\n"),
    )
    .unwrap();
    let recorded = done(at, "lab record c.lab form.csv");
    assert!(recorded.contains("2 done"), "{recorded}\n{form}");
    assert!(failed(at, "lab add c.lab c-export/data.csv", 2).contains("30 of its 30 rows"));
}

/// Permissions do not bind the superuser: where the tests run as one, the command runs as nobody.
#[cfg(unix)]
#[test]
fn a_campaign_that_cannot_be_written_can_be_read() {
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::process::CommandExt;
    const NOBODY: u32 = 65534;
    let folder = prepared();
    let at = folder.path();
    // A belief for the report, so that nothing has to be fitted.
    done(at, "lab propose cells.lab --posterior bootstrap --set posterior.draws=5 --batch 1");
    let mode = |path: &str, mode: u32| {
        fs::set_permissions(at.join(path), fs::Permissions::from_mode(mode)).unwrap();
    };
    for made in ["media", "out"] {
        fs::create_dir(at.join(made)).unwrap();
    }
    fs::copy(at.join("cells.lab"), at.join("media/cells.lab")).unwrap();
    for (path, bits) in [("", 0o755), ("out", 0o777), ("media/cells.lab", 0o444), ("media", 0o555)] {
        mode(path, bits);
    }
    let superuser = fs::write(at.join("media/probe"), "").is_ok();
    if superuser {
        fs::remove_file(at.join("media/probe")).unwrap();
        // Nobody may not enter the folder of the build.
        fs::copy(env!("CARGO_BIN_EXE_seabed"), at.join("seabed")).unwrap();
        mode("seabed", 0o755);
    }
    let output = |line: &str| {
        let mut command = if superuser { Command::new(at.join("seabed")) } else { seabed(at, "") };
        if superuser {
            command.current_dir(at).uid(NOBODY).gid(NOBODY);
        }
        command.args(line.split_whitespace()).output().unwrap()
    };
    for line in [
        "status media/cells.lab",
        "check media/cells.lab",
        "export media/cells.lab --out out/export",
        "report media/cells.lab --out out/page.html",
        "backup media/cells.lab out/copy.lab",
    ] {
        let ended = output(&format!("lab {line}"));
        assert!(ended.status.success(), "{line}: {}", String::from_utf8_lossy(&ended.stderr));
    }
    let ended = output("lab undo media/cells.lab");
    let said = String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.code() == Some(1) && said.contains("can only be read"), "{said}");
    mode("media", 0o755);
}

/// What would not fit in memory, or take more than a day, is refused with an estimate, unless it is confirmed.
#[test]
fn work_that_is_too_large_is_refused_before_it_begins() {
    let folder = prepared();
    let at = folder.path();
    let names: Vec<String> = (0..10_000).map(|k| format!("V{k}")).collect();
    let row =
        |k: usize| (0..10_000).map(|j| ((j * 7 + k * 13) % 101).to_string()).collect::<Vec<_>>().join(",");
    let rows: Vec<String> = (0..8).map(row).collect();
    fs::write(at.join("wide.csv"), format!("{}\n{}\n", names.join(","), rows.join("\n"))).unwrap();
    for kind in ["dibs-linear", "dibs-nonlinear", "dibs-bge"] {
        let said = failed(at, &format!("fit wide.csv --posterior {kind}"), 2);
        assert!(said.contains("is estimated to") && said.contains("--force"), "{said}");
    }
    // Little to fit, but more to design than anyone waits for.
    let many = "--set posterior.kind=mcmc-linear --set posterior.draws=2000 --set rounds=1000 \
                --set design.strategy=soft-cbed --set design.evaluations=10000";
    done(at, &format!("sweep c.toml --plan --out planned {many}"));
    let (run, sweep) = (format!("run c.toml --out s {many}"), format!("sweep c.toml --out s {many}"));
    for line in [
        &run[..],
        &sweep,
        "sweep run-one planned 0",
        "design d.csv --posterior mcmc-linear --draws 5000 --samples 1000 --strategy greedy-cbed",
        "design d.csv --posterior mcmc-linear --draws 5000 --samples 1000 --strategy greedy-cbed --score X1=1",
        "lab propose cells.lab --posterior mcmc-linear --strategy greedy-cbed --set posterior.draws=5000 --set design.samples=1000",
        "fit wide.csv --posterior bootstrap --draws 100000",
        "design wide.csv --posterior bootstrap --draws 100000",
        "run c.toml --out s --set posterior.kind=dibs-linear --set posterior.steps=10000000 --set posterior.mc-samples=100000",
        "sweep c.toml --out s --set posterior.kind=dibs-linear --set posterior.steps=10000000 --set posterior.mc-samples=100000",
        "lab propose cells.lab --posterior dibs-linear --set posterior.steps=10000000 --set posterior.mc-samples=100000",
    ] {
        let said = failed(at, line, 2);
        assert!(said.contains("is estimated to") && said.contains("--force"), "{line}: {said}");
        assert!(!at.join("s").exists() && !at.join("planned/runs/0000").exists(), "{line}");
    }
}

/// The steps of a report: a table is lost, the next try cannot print, the one after that must not believe all is there.
#[cfg(target_os = "linux")]
#[test]
fn a_run_is_complete_only_if_all_its_rows_are_there() {
    let folder = prepared();
    let at = folder.path();
    done(at, "run c.toml --out v --set rounds=3");
    let whole = contents(&at.join("v"));
    assert!(at.join("v/complete.json").exists());
    let ended_early = |lost: &str| {
        fs::remove_file(at.join("v").join(lost)).unwrap();
        let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        seabed(at, "run c.toml --out v --set rounds=3").stdout(full).output().unwrap();
        done(at, "run c.toml --out v --set rounds=3");
        assert!(contents(&at.join("v")) == whole, "{lost}");
    };
    for lost in ["metrics.csv", "data.csv", "complete.json", "events.jsonl", "truth.csv", "interventions.csv"]
    {
        ended_early(lost);
    }
    // A table that was cut, and a round that was half undone.
    let data = fs::read(at.join("v/data.csv")).unwrap();
    fs::write(at.join("v/data.csv"), &data[..data.len() / 2]).unwrap();
    fs::write(at.join("v/rounds/001/state.json"), "{").unwrap();
    done(at, "run c.toml --out v --set rounds=3");
    assert!(contents(&at.join("v")) == whole);
    // A table of the same length with another number.
    let mut edited = data.clone();
    let digit = edited.iter().rposition(u8::is_ascii_digit).unwrap();
    edited[digit] = if edited[digit] == b'1' { b'2' } else { b'1' };
    fs::write(at.join("v/data.csv"), edited).unwrap();
    done(at, "run c.toml --out v --set rounds=3");
    assert!(contents(&at.join("v")) == whole);
    // A run from before there were marks: still finished in a report, and marked by the next start.
    fs::remove_file(at.join("v/complete.json")).unwrap();
    done(at, "report v --out page.html");
}

#[cfg(unix)]
#[test]
fn outputs_follow_no_link_out_of_their_folder() {
    use std::os::unix::fs::symlink;
    let folder = prepared();
    let at = folder.path();
    let elsewhere = tempfile::tempdir().unwrap();
    let theirs = elsewhere.path().join("theirs.csv");
    fs::write(&theirs, fs::read(at.join("d.csv")).unwrap()).unwrap();
    fs::create_dir_all(at.join("linked")).unwrap();
    symlink(&theirs, at.join("out.csv")).unwrap();
    symlink(elsewhere.path(), at.join("linked/rounds")).unwrap();
    symlink(elsewhere.path(), at.join("figures")).unwrap();
    done(at, "run c.toml --out rr");
    let before = contents(elsewhere.path());
    let world = "simulate er --nodes 3 --n 40 --mechanism linear --seed 2";
    assert!(failed(at, &format!("{world} --out out.csv --force"), 1).contains("it is a symbolic link to"));
    assert!(failed(at, "run c.toml --out linked --force", 2).contains("it is a symbolic link"));
    assert!(failed(at, "report rr --out page.html --force", 2).contains("it is a symbolic link"));
    // One round, and one run of a study.
    done(at, "sweep c.toml --out ss --set seed=[1,2] --plan");
    fs::create_dir_all(at.join("one/rounds")).unwrap();
    symlink(elsewhere.path(), at.join("one/rounds/000")).unwrap();
    symlink(elsewhere.path(), at.join("ss/runs/0001")).unwrap();
    assert!(failed(at, "run c.toml --out one --force", 2).contains("it is a symbolic link"));
    assert!(failed(at, "sweep c.toml --out ss --set seed=[1,2]", 1).contains("it is a symbolic link"));
    assert!(contents(elsewhere.path()) == before);
}

#[test]
fn damaged_beliefs_and_unknown_goals_are_refused_in_words() {
    let folder = prepared();
    let at = folder.path();
    for file in ["b.json", "b.npz"] {
        done(at, &format!("fit d.csv --posterior mcmc-linear --sweeps 50 --draws 5 --out {file}"));
        let whole = fs::read(at.join(file)).unwrap();
        // What is not read (padding, graphs, which are not needed here) may be damaged; then the result is the same.
        let sound = done(at, &format!("evaluate --truth g.csv --ensemble {file}"));
        let mut refused = 0;
        for at_byte in (0..whole.len()).step_by(whole.len() / 40) {
            let mut bytes = whole.clone();
            bytes[at_byte] = if bytes[at_byte] == b'1' { b'2' } else { b'1' };
            fs::write(at.join("x").with_extension(file.split('.').nth(1).unwrap()), bytes).unwrap();
            let line = format!("evaluate --truth g.csv --ensemble x.{}", file.split('.').nth(1).unwrap());
            let output = seabed(at, &line).output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(matches!(output.status.code(), Some(0 | 2)) && !said.contains("NaN"), "{said}");
            let same = output.stdout == sound.as_bytes();
            assert!(same || output.status.code() == Some(2), "{file}, byte {at_byte}");
            refused += usize::from(output.status.code() == Some(2));
        }
        assert!(refused >= 10, "{file}: {refused}");
    }
    assert!(failed(at, "design b.npz --posterior bootstrap", 2).contains("--posterior applies to data"));
    let bootstrap = "--posterior bootstrap --set posterior.draws=5 --batch 1";
    for goal in ["goal={edge={from=99,to=1}}", "goal=edge=X1,X99", "goal=3"] {
        let said = failed(at, &format!("lab propose cells.lab {bootstrap} --set {goal}"), 2);
        assert!(said.contains("goal") || said.contains("X99"), "{said}");
    }
    done(at, &format!("lab propose cells.lab {bootstrap} --set goal=edge=X1,X2"));
}

#[test]
fn traps_are_said_by_every_command_and_in_json() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let row = |k: usize| {
        let (a, b) = ((k * 37 % 101) as f64 / 7.0, (k * 53 % 89) as f64 / 3.0);
        format!("{a},{},{b}\n", 2.0 * a + 1.0)
    };
    let rows: String = (0..60).map(row).collect();
    fs::write(at.join("d.csv"), format!("a,copy,b\n{rows}")).unwrap();
    done(at, "lab new c.lab --from d.csv");
    done(at, "lab new c.lab --variables c.toml");
    // What was learned already remembers how far its data went.
    done(at, "fit d.csv --posterior bootstrap --draws 5 --ignore copy --out b.npz");
    let far = "design b.npz --batch 1 --samples 10 --target a --levels a=5000,6000";
    let said = String::from_utf8(seabed(at, far).output().unwrap().stderr).unwrap();
    assert!(said.contains("standard deviations from its mean where it is not set"), "{said}");
    for line in [
        "fit d.csv --posterior bootstrap --draws 5 --json",
        "design d.csv --posterior bootstrap --draws 5 --batch 1 --samples 10 --json",
        "lab add c.lab d.csv --json",
        "lab propose c.lab --posterior bootstrap --set posterior.draws=5 --batch 1 --json",
    ] {
        let output = seabed(at, line).output().unwrap();
        let (json, said) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(said.contains("warning: \"copy\" is a copy of \"a\""), "{line}: {said}");
        let value: serde_json::Value = serde_json::from_str(&json).unwrap();
        let first = value["warnings"][0].as_str().unwrap_or_default();
        assert!(first.starts_with("\"copy\" is a copy of \"a\""), "{line}: {json}");
    }
}

/// Each trap, as text and in JSON: in a chain A -> B -> C of 100 observations and 40 rows in which B was set, one thing is wrong.
#[test]
fn every_trap_is_said_in_text_and_in_json() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    type Columns = [Vec<f64>; 3];
    type Edit = fn(&mut Columns);
    let wrong: [(Edit, &str); 7] = [
        (|columns| columns[1][120] = 40.0, "\"B\" is set to 40, "),
        (
            |columns| columns[2] = columns[0].iter().map(|x| 32.0 + 1.8 * x).collect(),
            "\"C\" is a copy of \"A\"",
        ),
        (
            |columns| columns[2] = columns[0].iter().zip(&columns[1]).map(|(a, b)| a + b).collect(),
            "\"C\" is an exact linear function of other columns",
        ),
        (|columns| columns[0].iter_mut().for_each(|x| *x = f64::from(*x > 0.0)), "\"A\" has only two values"),
        (
            |columns| columns[0].iter_mut().for_each(|x| *x = (2.0 + *x).max(0.0).round()),
            "\"A\" has small whole numbers only",
        ),
        (
            |columns| {
                (1..140).for_each(|row| columns[0][row] = 0.95 * columns[0][row - 1] + 0.3 * columns[0][row]);
            },
            "neighbouring rows resemble each other (\"A\", correlation 0.",
        ),
        (|columns| columns[2][7] = 55.0, "\"C\" has heavy tails or outliers: 55 in row 8 is "),
    ];
    let mut draws = Seed::new(1).stream(Purpose::Noise).draws();
    let mut ordinary: Columns = Default::default();
    for row in 0..140 {
        let a = draws.normal();
        let b = if row < 100 { a + 0.5 * draws.normal() } else { 3.0 };
        let c = -b + 0.5 * draws.normal();
        ordinary.iter_mut().zip([a, b, c]).for_each(|(column, x)| column.push(x));
    }
    let write = |columns: &Columns, is_set: fn(usize) -> bool| {
        let line = |row: usize| {
            let [a, b, c] = [0, 1, 2].map(|node| columns[node][row]);
            format!("{a},{b},{c},{}\n", if is_set(row) { "B" } else { "" })
        };
        let rows: String = (0..140).map(line).collect();
        fs::write(at.join("d.csv"), format!("A,B,C,intervention_targets\n{rows}")).unwrap();
    };
    let heard = |fit: &str, said: &str| {
        for more in ["", "--json"] {
            let output = seabed(at, &format!("fit d.csv {fit} {more}")).output().unwrap();
            let (out, errors) =
                (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
            assert!(
                output.status.success() && errors.contains(&format!("warning: {said}")),
                "{said}: {errors}"
            );
            if !more.is_empty() {
                let value: serde_json::Value = serde_json::from_str(&out).unwrap();
                let warnings = value["warnings"].as_array().unwrap();
                let told = warnings.iter().any(|warning| warning.as_str().unwrap().starts_with(said));
                assert!(told, "{said}: {warnings:?}");
            }
        }
    };
    for (make_wrong, said) in wrong {
        let mut columns = ordinary.clone();
        make_wrong(&mut columns);
        write(&columns, |row| row >= 100);
        heard("--posterior bootstrap --draws 5", said);
    }
    write(&ordinary, |_| true);
    for said in ["\"B\" is set in every row", "every row has an intervention"] {
        heard("--posterior mcmc-linear --draws 5 --sweeps 50", said);
    }
}

/// Inputs that once took more than a minute.
#[test]
fn slow_inputs_are_judged_in_seconds() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let names: Vec<String> = (0..300).map(|k| format!("V{k}")).collect();
    let matrix = |edge: &dyn Fn(usize, usize) -> bool| {
        let row =
            |i: usize| (0..300).map(|j| if edge(i, j) { "1" } else { "0" }).collect::<Vec<_>>().join(",");
        format!("{}\n{}\n", names.join(","), (0..300).map(row).collect::<Vec<_>>().join("\n"))
    };
    fs::write(at.join("complete.csv"), matrix(&|i, j| i != j)).unwrap();
    fs::write(at.join("chain.csv"), matrix(&|i, j| j == i + 1)).unwrap();
    done(at, "evaluate --truth chain.csv --estimate complete.csv");
    let attributes: String = (0..300_000).map(|k| format!(" a{k}=\"1\"")).collect();
    fs::write(at.join("n.xml"), format!("<sbml><model{attributes}/></sbml>")).unwrap();
    let said = failed(at, "simulate grn --network n.xml", 2);
    assert!(said.contains("more than 1000 attributes"), "{said}");
}
