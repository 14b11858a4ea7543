//! Mutated command lines, the same ones every time: whatever is typed, the command ends with exit code 0, 1 or 2 within the
//! memory it is given, or stops with 130 when it is interrupted. Never a panic.
#![cfg(unix)]

#[allow(dead_code)]
#[path = "../../../fuzz/src/mutate.rs"]
mod mutation;

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use mutation::Random;
use tempfile::TempDir;

/// What people type.
const LINES: &[&str] = &[
    "fit d.csv --posterior bootstrap --draws 5 --json",
    "fit d.csv --posterior bootstrap --single --knowledge k.toml",
    "fit d.parquet --posterior mcmc-linear --sweeps 50 --chains 2 --draws 5 --state s.json --out e.npz",
    "fit d.csv --posterior mcmc-linear --sweeps 50 --resume s.json",
    "fit d.csv --posterior dibs-linear --steps 20 --particles 2 --ignore X3",
    "design b.npz --batch 2 --samples 10 --values grid --grid 0,1,2 --json",
    "design b.npz --batch 2 --samples 10 --target X1 --levels X1=0,1 --budget 3 --out f.csv",
    "design b.npz --samples 10 --score X1=1,X2=2 --goal effect=X1,X2",
    "design d.csv --posterior bootstrap --draws 5 --strategy greedy-cbed --samples 10 --curves v.csv",
    "evaluate --truth g.csv --estimate g.csv --json",
    "evaluate --truth g.csv --ensemble b.npz --data d.csv",
    "simulate er --nodes 4 --n 20 --mechanism linear --seed 3 --out o.csv --save-graph og.csv --save-scm os.json",
    "simulate scm --scm w.json --do X1=1.5 --n 5",
    "simulate grn --nodes 4 --n 3",
    "run c.toml --out r --set rounds=1",
    "sweep c.toml --out s --set seed=[1,2] --jobs 1",
    "sweep status s --json",
    "report r",
    "lab new n.lab --variables cells.toml --seed 3",
    "lab add cells.lab more.csv --note hello --json",
    "lab propose cells.lab --posterior bootstrap --set posterior.draws=5 --batch 2 --budget 5",
    "lab record cells.lab form.csv",
    "lab amend cells.lab E001 --set X1=2 --replicate 1",
    "lab status cells.lab --json",
    "lab form cells.lab 1 --out p.csv",
    "lab export cells.lab --out x",
    "lab undo cells.lab --action 2",
    "lab backup cells.lab copy.lab",
    "lab check cells.lab",
    "lab rehearse form.csv --scm w.json --out filled.csv",
    "effects b.npz --from X1 --on X2 --span X1=-1:2 --json",
    "predict b.npz --do X1=1.5 --json",
    "lab report cells.lab --out page.html",
    "sweep run-one planned 1",
    "fit d.csv --posterior mcmc-linear --sweeps 50 --draws 5 --edge-probabilities p.csv",
];

/// What else may stand there.
const WORDS: &[&str] = &[
    "",
    "-",
    "--",
    "-1",
    "0",
    "1",
    "3",
    "1e308",
    "-1e-320",
    "NaN",
    "inf",
    "1e999",
    "99999999999999999999",
    "X1",
    "X9",
    "X1=1",
    "X1=",
    "=",
    "X1=NaN",
    "X1=1e308",
    ",",
    "edge=X1,X2",
    "parents=X9",
    "d.csv",
    "b.npz",
    "w.json",
    "g.csv",
    "c.toml",
    "cells.lab",
    "broken.csv",
    "broken.npz",
    "broken.lab",
    "broken.json",
    "p.csv",
    "--edge-probabilities",
    "missing.csv",
    ".",
    "folder",
    "\u{e9}\u{202e}",
    "--json",
    "--force",
    "--out",
    "--set",
    "--seed",
    "--batch",
    "--draws",
    "--samples",
    "--values",
    "--posterior",
    "--strategy",
    "--utility",
    "--help",
    "--replicates",
    "auto",
    "--max-targets",
    "--max-repeats",
    "--temperature",
    "--set=posterior.kind=nope",
    "--set=design.batch=1000000000",
    "--set=world.nodes=[]",
    "--set=goal={edge={from=99,to=1}}",
    "--set=seed=-1",
    "--do",
    "--span",
    "X1=-1e308:1e308",
    "bootstrap",
    "mcmc-linear",
    "dibs-bge",
    "random",
    "gp-ucb",
    "lab",
    "fit",
];

/// Small files of every kind, sound and broken.
fn prepared() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let done = |line: &str| {
        let output = Command::new(env!("CARGO_BIN_EXE_seabed"))
            .current_dir(at)
            .args(line.split_whitespace())
            .output()
            .unwrap();
        assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    };
    let world = "simulate er --nodes 3 --n 30 --mechanism linear --seed 1";
    done(&format!("{world} --out d.csv --save-scm w.json --save-graph g.csv"));
    done(&format!("{world} --out d.parquet"));
    done("simulate er --nodes 3 --n 9 --mechanism linear --seed 2 --out more.csv");
    done("fit d.csv --posterior bootstrap --draws 5 --out b.npz");
    done("fit d.csv --posterior mcmc-linear --sweeps 20 --draws 5 --state s.json");
    let config = "rounds = 1\ntiming = false\n[world]\nnodes = 3\nmechanism = \"linear\"\nobservations = 20\n\
                  [posterior]\nkind = \"bootstrap\"\ndraws = 5\n[design]\nstrategy = \"random\"\nbatch = 1\n";
    fs::write(at.join("c.toml"), config).unwrap();
    fs::write(at.join("k.toml"), "forbidden = [[\"X1\", \"X2\"]]\n").unwrap();
    fs::write(at.join("p.csv"), "from,to,probability\nX1,X2,0.9\nX3,X1,0.1\n").unwrap();
    done("lab new cells.lab --from d.csv");
    done("lab new cells.lab --variables cells.toml");
    done("lab add cells.lab d.csv");
    done("lab propose cells.lab --posterior bootstrap --set posterior.draws=5 --batch 2 --out form.csv");
    done("run c.toml --out r");
    done("sweep c.toml --out planned --set seed=[1,2] --plan");
    fs::create_dir(at.join("folder")).unwrap();
    for (whole, broken) in [
        ("d.csv", "broken.csv"),
        ("b.npz", "broken.npz"),
        ("cells.lab", "broken.lab"),
        ("w.json", "broken.json"),
    ] {
        let mut bytes = fs::read(at.join(whole)).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle..middle + 9].fill(b'9');
        fs::write(at.join(broken), bytes).unwrap();
    }
    folder
}

/// Runs the command within 2 GB of address space, half of which are stacks and reserves of threads that are never touched;
/// interrupts it after ten seconds, and says so.
fn run(folder: &Path, arguments: &[String]) -> (ExitStatus, String, bool) {
    let errors = tempfile::NamedTempFile::new().unwrap();
    let mut child = Command::new("sh")
        .current_dir(folder)
        .args(["-c", "ulimit -v 2000000; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_seabed")])
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(errors.reopen().unwrap())
        .spawn()
        .unwrap();
    let begun = Instant::now();
    let mut interrupted = 0;
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if begun.elapsed() > Duration::from_secs(10 * (interrupted + 1)) {
            interrupted += 1;
            let signal = if interrupted < 4 { "-INT" } else { "-KILL" };
            let _ = Command::new("kill").args([signal, &child.id().to_string()]).status();
        }
        thread::sleep(Duration::from_millis(3));
    };
    (status, fs::read_to_string(errors.path()).unwrap_or_default(), interrupted > 0)
}

fn mutated(random: &mut Random) -> Vec<String> {
    let line = |random: &mut Random| -> Vec<String> {
        LINES[random.below(LINES.len())].split_whitespace().map(String::from).collect()
    };
    let mut words = line(random);
    for _ in 0..random.below(4) {
        let at = random.below(words.len() + 1);
        match random.below(4) {
            0 if at < words.len() => drop(words.remove(at)),
            1 if at < words.len() => words[at] = WORDS[random.below(WORDS.len())].into(),
            2 => {
                let other = line(random);
                words.insert(at, other[random.below(other.len())].clone());
            }
            _ => words.insert(at, WORDS[random.below(WORDS.len())].into()),
        }
    }
    words
}

/// Tries so many lines; gives those that took more than ten seconds.
fn try_lines(count: usize, seed: u64) -> Vec<String> {
    let mut random = Random(seed);
    let mut slow = Vec::new();
    let mut codes = std::collections::BTreeMap::new();
    let mut folder = prepared();
    for k in 1..=count {
        if k % 200 == 0 {
            folder = prepared();
        }
        let arguments = mutated(&mut random);
        let (status, said, interrupted) = run(folder.path(), &arguments);
        slow.extend(interrupted.then(|| arguments.join(" ")));
        let expected = matches!(status.code(), Some(0 | 1 | 2 | 130)) && !said.contains("a defect of seabed");
        assert!(expected, "{arguments:?}: {status} (signal {:?}): {said}", status.signal());
        *codes.entry(status.code()).or_insert(0) += 1;
    }
    println!("{count} command lines, exit codes {codes:?}; interrupted after ten seconds: {slow:#?}");
    slow
}

#[test]
fn any_command_line_ends_with_a_known_exit_code() {
    assert_eq!(try_lines(120, 1), Vec::<String>::new(), "these took more than ten seconds");
}

#[test]
#[ignore = "takes half an hour"]
fn many_command_lines_end_with_known_exit_codes() {
    try_lines(8000, 2);
}
