//! Runs and studies under real-life conditions: killed, out of space, started twice, on other processors.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use seabed::num::random::{Purpose, Seed};
use tempfile::TempDir;

/// Four variables, a nonlinear posterior that starts every round where the one before ended, three rounds.
const RUN: &str = r#"
rounds = 3
timing = false
[world]
nodes = 4
observations = 30
[posterior]
kind = "dibs-nonlinear"
particles = 4
steps = 300
warm-steps = 150
[design]
batch = 3
replicates = 2
samples = 20
"#;

const STUDY: &str = r#"
seeds = 2
rounds = 2
timing = false
[world]
kind = ["er", "sf"]
nodes = 6
mechanism = "linear"
observations = 40
[posterior]
kind = "bootstrap"
draws = 20
[[design]]
strategy = "random"
batch = 4
[[design]]
strategy = "soft-cbed"
values = ["gp-ucb", "fixed"]
batch = 4
"#;

fn seabed(folder: &Path, arguments: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_seabed"));
    command.current_dir(folder).args(arguments.split_whitespace());
    command
}

#[track_caller]
fn done(folder: &Path, arguments: &str) -> Output {
    let output = seabed(folder, arguments).output().unwrap();
    assert!(output.status.success(), "{arguments}: {}", String::from_utf8_lossy(&output.stderr));
    output
}

fn folder_with(name: &str, config: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join(name), config).unwrap();
    folder
}

/// All files below a folder with their bytes.
fn contents(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    fn into(folder: &Path, base: &Path, all: &mut BTreeMap<PathBuf, Vec<u8>>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                into(&path, base, all);
            } else {
                all.insert(path.strip_prefix(base).unwrap().to_path_buf(), fs::read(&path).unwrap());
            }
        }
    }
    let mut all = BTreeMap::new();
    into(folder, folder, &mut all);
    all
}

#[track_caller]
fn assert_same(a: &BTreeMap<PathBuf, Vec<u8>>, b: &BTreeMap<PathBuf, Vec<u8>>) {
    assert_eq!(a.keys().collect::<Vec<_>>(), b.keys().collect::<Vec<_>>());
    for (path, bytes) in a {
        assert!(bytes == &b[path], "{} differs", path.display());
    }
}

/// Starts the command again and again and kills it at random moments, `kills` times in all; then lets it end. A command
/// that ends before it is killed starts over, from an empty folder.
fn killed(folder: &Path, arguments: &str, out: &Path, kills: usize, longest: Duration) {
    let mut moments = Seed::new(7).stream(Purpose::Noise).draws();
    let mut struck = 0;
    while struck < kills {
        let mut child =
            seabed(folder, arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        thread::sleep(longest.mul_f64(moments.uniform()));
        if child.try_wait().unwrap().is_none() {
            child.kill().unwrap();
            struck += 1;
        } else {
            fs::remove_dir_all(out).unwrap();
        }
        child.wait().unwrap();
    }
    done(folder, arguments);
}

#[test]
fn a_run_that_is_killed_twenty_times_comes_out_the_same() {
    let folder = folder_with("loop.toml", RUN);
    let start = Instant::now();
    let printed = done(folder.path(), "run loop.toml --out undisturbed").stdout;
    let took = start.elapsed();
    killed(folder.path(), "run loop.toml", &folder.path().join("loop"), 20, took / 4);
    let undisturbed = contents(&folder.path().join("undisturbed"));
    assert_same(&undisturbed, &contents(&folder.path().join("loop")));
    for file in ["config.toml", "metrics.csv", "interventions.csv", "data.csv", "truth.csv", "events.jsonl"] {
        assert!(!undisturbed[Path::new(file)].is_empty(), "{file}");
    }
    assert_eq!(undisturbed.keys().filter(|path| path.ends_with("ensemble.npz")).count(), 4);
    // A finished run prints its table again and changes nothing.
    let again = done(folder.path(), "run loop.toml --out undisturbed").stdout;
    assert_eq!(again, printed);
    assert_same(&undisturbed, &contents(&folder.path().join("undisturbed")));
}

#[test]
fn a_study_that_is_killed_twenty_times_comes_out_the_same() {
    let folder = folder_with("study.toml", STUDY);
    let start = Instant::now();
    done(folder.path(), "sweep study.toml --jobs 1 --out undisturbed");
    let took = start.elapsed();
    killed(folder.path(), "sweep study.toml --jobs 2", &folder.path().join("study"), 20, took / 6);
    assert_same(&contents(&folder.path().join("undisturbed")), &contents(&folder.path().join("study")));
}

#[test]
fn threads_and_jobs_do_not_change_results() {
    let folder = folder_with("study.toml", STUDY);
    fs::write(folder.path().join("loop.toml"), RUN).unwrap();
    let results: Vec<_> = ["1", "4"]
        .into_iter()
        .map(|threads| {
            for what in [
                format!("run loop.toml --out run{threads}"),
                format!("sweep study.toml --jobs {threads} --out sweep{threads}"),
            ] {
                let status =
                    seabed(folder.path(), &what).env("RAYON_NUM_THREADS", threads).output().unwrap().status;
                assert!(status.success());
            }
            ["run", "sweep"].map(|what| contents(&folder.path().join(format!("{what}{threads}"))))
        })
        .collect();
    assert_same(&results[0][0], &results[1][0]);
    assert_same(&results[0][1], &results[1][1]);
}

/// The same seed gives the same world and the same first data, and so the same first belief, to every strategy.
#[test]
fn strategies_are_paired() {
    let folder = folder_with("study.toml", STUDY);
    done(folder.path(), "sweep study.toml");
    let study = contents(&folder.path().join("study"));
    let of = |run: usize, file: &str| &study[Path::new(&format!("runs/{run:04}/{file}"))];
    for run in [1, 2] {
        assert_eq!(of(0, "truth.csv"), of(run, "truth.csv"));
        assert_eq!(of(0, "rounds/000/ensemble.npz"), of(run, "rounds/000/ensemble.npz"));
        assert_ne!(of(0, "interventions.csv"), of(run, "interventions.csv"));
    }
    assert_ne!(of(0, "truth.csv"), of(6, "truth.csv"));
    let results = String::from_utf8(study[Path::new("results.csv")].clone()).unwrap();
    assert_eq!(results.lines().count(), 1 + 12 * 3);
    assert!(
        results.starts_with("run,setting,line,seed,design.strategy,design.values,world.kind,round,"),
        "{results}"
    );
    // More seeds make the study grow; another study does not go into the same folder.
    done(folder.path(), "sweep study.toml --seeds 3");
    let grown = contents(&folder.path().join("study"));
    assert_eq!(grown[Path::new("runs/0005/metrics.csv")], study[Path::new("runs/0005/metrics.csv")]);
    assert!(grown.contains_key(Path::new("runs/0017/metrics.csv")));
    let other = seabed(folder.path(), "sweep study.toml --set design.batch=5").output().unwrap();
    assert_eq!(other.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&other.stderr).contains("it holds another study"));
}

#[test]
fn two_processes_share_a_study() {
    let folder = folder_with("study.toml", STUDY);
    done(folder.path(), "sweep study.toml --out alone");
    let both = [0, 1].map(|_| {
        let mut command = seabed(folder.path(), "sweep study.toml --jobs 1 --out shared");
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    });
    for mut child in both {
        assert!(child.wait().unwrap().success());
    }
    assert_same(&contents(&folder.path().join("alone")), &contents(&folder.path().join("shared")));
}

/// Any scheduler can run a study: one command per line of the manifest, in any order.
#[test]
fn a_study_can_be_run_one_by_one() {
    let folder = folder_with("study.toml", STUDY);
    done(folder.path(), "sweep study.toml --out alone");
    done(folder.path(), "sweep study.toml --out parts --plan");
    let status = |expected: &str| {
        let printed = String::from_utf8(done(folder.path(), "sweep status parts").stdout).unwrap();
        assert_eq!(printed.lines().last().unwrap(), expected, "{printed}");
    };
    status("       0        0       12       0  all");
    for index in (0..12).rev() {
        done(folder.path(), &format!("sweep run-one parts {index}"));
    }
    status("      12        0        0       0  all");
    assert_same(&contents(&folder.path().join("alone")), &contents(&folder.path().join("parts")));
    let missing = seabed(folder.path(), "sweep run-one parts 12").output().unwrap();
    assert_eq!(missing.status.code(), Some(2));
}

/// One of two worlds cannot be simulated: the other one is, and the failure is reported.
#[test]
fn a_run_that_fails_does_not_stop_the_others() {
    let folder = folder_with(
        "study.toml",
        "timing = false\nrounds = 1\n[world]\nkind = \"scm\"\nfile = [\"a.json\", \"b.json\"]\n[posterior]\nkind = \"bootstrap\"\ndraws = 5\n[design]\nbatch = 2\n",
    );
    done(folder.path(), "simulate er --nodes 4 --seed 1 --mechanism linear --save-scm b.json --out data.csv");
    // A model that can be read, but whose values no number can hold.
    let huge =
        r#"{"name":"B","parents":["A"],"mechanism":{"type":"linear","weights":[1e308]},"noise_sd":1e100}"#;
    let root = r#"{"name":"A","parents":[],"mechanism":{"type":"linear","weights":[]},"noise_sd":1e100}"#;
    let model = format!(r#"{{"names":["A","B"],"nodes":[{root},{huge}]}}"#);
    fs::write(folder.path().join("a.json"), model).unwrap();
    let output = seabed(folder.path(), "sweep study.toml").output().unwrap();
    let printed = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{printed}");
    assert!(
        printed.contains("run 0000 (a, bootstrap;")
            && printed.contains("is not a finite number")
            && printed.contains("1 of 2 runs failed"),
        "{printed}"
    );
    assert!(folder.path().join("study/runs/0001/metrics.csv").exists());
    let status = String::from_utf8(done(folder.path(), "sweep status study").stdout).unwrap();
    assert!(status.contains("1        0        0       1  all"), "{status}");
    // The world can be simulated now: the same command tries again.
    fs::copy(folder.path().join("b.json"), folder.path().join("a.json")).unwrap();
    done(folder.path(), "sweep study.toml");
}

/// A full file system: an error that names the file, and a run that continues once there is space.
#[test]
fn a_full_disk_is_an_error_and_the_run_continues() {
    let folder = folder_with("loop.toml", RUN);
    done(folder.path(), "run loop.toml --out undisturbed");
    let small = folder.path().join("small");
    fs::create_dir(&small).unwrap();
    let mount = |options: &str| {
        let mut command = Command::new("mount");
        command.args(["-t", "tmpfs", "-o", options, "tmpfs"]).arg(&small).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    };
    if !mount("size=96k") {
        println!("skipped: mounting a small file system needs the rights of an administrator");
        return;
    }
    let first = seabed(folder.path(), "run loop.toml --out small/loop").output().unwrap();
    let grown = mount("remount,size=16m");
    let second = seabed(folder.path(), "run loop.toml --out small/loop").output().unwrap();
    let found = contents(&small.join("loop"));
    Command::new("umount").arg(&small).status().unwrap();
    assert!(grown);
    assert_eq!(first.status.code(), Some(1));
    let printed = String::from_utf8(first.stderr).unwrap();
    assert!(printed.starts_with("error: small/loop/") && printed.contains("No space left"), "{printed}");
    assert!(second.status.success(), "{}", String::from_utf8_lossy(&second.stderr));
    assert_same(&contents(&folder.path().join("undisturbed")), &found);
}

#[test]
fn a_folder_is_used_by_one_process_and_holds_one_run() {
    let folder = folder_with("loop.toml", RUN);
    let long = "run loop.toml --set posterior.steps=100000";
    let mut first = seabed(folder.path(), long).stdout(Stdio::null()).spawn().unwrap();
    while !folder.path().join("loop/config.toml").exists() {
        thread::sleep(Duration::from_millis(5));
    }
    let second = seabed(folder.path(), long).output().unwrap();
    first.kill().unwrap();
    first.wait().unwrap();
    assert_eq!(second.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&second.stderr).contains("another process is working on it"));
    let other = seabed(folder.path(), "run loop.toml").output().unwrap();
    assert_eq!(other.status.code(), Some(2));
    let printed = String::from_utf8(other.stderr).unwrap();
    assert!(printed.contains("steps = 100000 there, steps = 300 here"), "{printed}");
}

/// A question about X1, which is never set; batches that do not divide the three other variables.
const QUESTION: &str = r#"
rounds = 3
timing = false
[world]
nodes = 4
mechanism = "linear"
observations = 40
[posterior]
kind = "bootstrap"
draws = 20
[[design]]
strategy = "random"
[[design]]
strategy = ["random", "greedy-cbed"]
without-replacement = true
"#;

/// Variables are set in passes over all rounds, killed or not, and the question is scored.
#[test]
fn a_study_of_a_question_without_replacement() {
    let folder = folder_with("study.toml", QUESTION);
    let set = "--set design.goal=parents=X1 --set design.forbidden=[\"X1\"] --set design.batch=2 --jobs 1";
    let start = Instant::now();
    done(folder.path(), &format!("sweep study.toml {set} --out undisturbed"));
    let took = start.elapsed();
    killed(folder.path(), &format!("sweep study.toml {set}"), &folder.path().join("study"), 8, took / 3);
    let undisturbed = contents(&folder.path().join("undisturbed"));
    assert_same(&undisturbed, &contents(&folder.path().join("study")));
    let table = |file: &str| {
        let mut table = csv::Reader::from_reader(undisturbed[Path::new(file)].as_slice());
        table.deserialize().map(Result::unwrap).collect::<Vec<BTreeMap<String, String>>>()
    };
    let targets = |run: usize| {
        let rows = table(&format!("runs/{run:04}/interventions.csv"));
        rows.into_iter().map(|row| row["targets"].clone()).collect::<Vec<_>>()
    };
    assert!((0..3).all(|run| targets(run).len() == 6 && !targets(run).contains(&"X1".to_string())));
    for run in 1..3 {
        for pass in targets(run).chunks(3) {
            let mut pass = pass.to_vec();
            pass.sort();
            assert_eq!(pass, ["X2", "X3", "X4"]);
        }
    }
    let results = table("results.csv");
    let lines: BTreeSet<&str> = results.iter().map(|row| row["line"].as_str()).collect();
    assert_eq!(lines, ["greedy-cbed, without replacement", "random", "random, without replacement"].into());
    for row in &results {
        let number = |column: &str| row[column].parse::<f64>().unwrap();
        assert!(
            (0.0..=3.0).contains(&number("goal_errors")) && (0.0..=1.0).contains(&number("goal_jaccard"))
        );
        assert!((number("edge_loss") - 12.0 * number("brier")).abs() < 1e-12);
        assert!((0.0..=1.0).contains(&number("truth_mass")));
    }
    done(folder.path(), "report study");
    assert!(
        folder
            .path()
            .join("study/figures")
            .read_dir()
            .unwrap()
            .any(|file| { file.unwrap().file_name().to_string_lossy().contains("goal_errors") })
    );
    // Random choices do not depend on the question.
    done(folder.path(), "sweep study.toml --set design.forbidden=[\"X1\"] --set design.batch=2 --out all");
    let path = |study: &str| folder.path().join(study).join("runs/0001/data.csv");
    assert_eq!(fs::read(path("all")).unwrap(), fs::read(path("study")).unwrap());
}

/// More rounds of a finished run: the first ones stay as they are.
#[test]
fn a_finished_run_can_be_given_more_rounds() {
    for posterior in ["dibs-nonlinear", "mcmc-linear", "bootstrap"] {
        let folder = folder_with("loop.toml", &RUN.replace("dibs-nonlinear", posterior));
        done(folder.path(), "run loop.toml --set rounds=2");
        done(folder.path(), "run loop.toml");
        done(folder.path(), "run loop.toml --out at-once");
        assert_same(&contents(&folder.path().join("at-once")), &contents(&folder.path().join("loop")));
    }
}

/// Gene networks are worlds like any other; one with a cycle has every metric but the intervention distance.
#[test]
fn gene_networks_answer_in_loops() {
    let folder = folder_with(
        "genes.toml",
        "timing = false\nrounds = 1\n[world]\nkind = \"grn\"\nnodes = 6\nobservations = 30\n[posterior]\nkind = \"bootstrap\"\ndraws = 10\n\
         [design]\nvalues = \"fixed\"\nrange = [0.0, 1.0]\nbatch = 3\nreplicates = 2\n",
    );
    done(folder.path(), "run genes.toml");
    let data = fs::read_to_string(folder.path().join("genes/data.csv")).unwrap();
    assert_eq!(data.lines().count(), 1 + 30 + 3 * 2);
    let metrics = |run: &str| {
        let mut table = csv::Reader::from_path(folder.path().join(run).join("metrics.csv")).unwrap();
        let rows = table.deserialize::<BTreeMap<String, Option<f64>>>();
        rows.map(Result::unwrap).collect::<Vec<_>>()
    };
    assert!(metrics("genes").iter().all(|row| row["esid"].is_some() && row["eshd"].is_some()));
    // Generated networks have no cycles.
    let Some(cyclic) = seabed_testkit::shared("dream4/insilico_size10_1.xml") else { return };
    fs::copy(cyclic, folder.path().join("cyclic.xml")).unwrap();
    let printed = done(folder.path(), "run genes.toml --set world.file=cyclic.xml --out cyclic").stderr;
    let printed = String::from_utf8(printed).unwrap();
    assert!(
        printed.starts_with("note: the true graph has a cycle (G") && printed.contains("E-SID"),
        "{printed}"
    );
    assert!(metrics("cyclic").iter().all(|row| row["esid"].is_none() && row["eshd"].is_some()));
    done(folder.path(), "report cyclic");
}
