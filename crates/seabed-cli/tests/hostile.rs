//! Names, notes and file names that try to become markup, formulas, keys or paths: in every file that is written from
//! them, they stay text.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use seabed_lab::original_cell;

const NAMES: [&str; 8] = [
    "=cmd|' /C calc'!A0",
    "<script>alert(1)</script>",
    "\" onload=\"alert(1)",
    "a,\"b\"",
    "]]></style><svg onload=alert(1)>",
    "[[variable]]",
    "../../../etc/passwd",
    "@\u{202e}&amp\\",
];

/// What the names must never become in a page or a figure.
const MARKUP: [&str; 4] = ["<script", "\" onload=", "</style><svg", "onload=alert(1)>"];

#[track_caller]
fn done(folder: &Path, arguments: &[&str]) {
    let output =
        Command::new(env!("CARGO_BIN_EXE_seabed")).current_dir(folder).args(arguments).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
}

fn files(folder: &Path, into: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { files(&path, into) } else { into.push(path) }
    }
}

/// A chain of linear mechanisms.
fn model() -> String {
    let node = |k: usize| {
        let parents: Vec<&str> = NAMES[..k].last().into_iter().copied().collect();
        let weights = vec![1.5; parents.len()];
        serde_json::json!({"name": NAMES[k], "parents": parents, "noise_sd": 0.5,
            "mechanism": {"type": "linear", "weights": weights}})
    };
    let nodes: Vec<_> = (0..NAMES.len()).map(node).collect();
    serde_json::json!({"names": NAMES, "nodes": nodes}).to_string()
}

#[test]
fn hostile_names_stay_text_wherever_they_are_written() {
    let folder = tempfile::tempdir().unwrap();
    // With room around it, to see what a name that looks like a path would write there.
    let at = &folder.path().join("outer/middle/inner");
    fs::create_dir_all(at).unwrap();
    fs::write(at.join("w.json"), model()).unwrap();
    // A name that would end a comment, a tag or a cell.
    let table = "=1+1\n[x]<script>.csv";
    done(at, &["simulate", "scm", "--scm", "w.json", "--n", "40", "--out", table, "--save-graph", "g.csv"]);
    done(at, &["fit", table, "--posterior", "bootstrap", "--draws", "5", "--out", "b.npz"]);
    done(
        at,
        &[
            "design",
            "b.npz",
            "--batch",
            "2",
            "--samples",
            "10",
            "--out",
            "form.csv",
            "--curves",
            "curves.csv",
        ],
    );
    done(at, &["evaluate", "--truth", "g.csv", "--estimate", "g.csv"]);
    let config = "rounds = 1\ntiming = false\n[world]\nkind = \"scm\"\nfile = \"w.json\"\nobservations = 20\n\
                  [posterior]\nkind = \"bootstrap\"\ndraws = 5\n[design]\nstrategy = \"random\"\nbatch = 1\n";
    fs::write(at.join("c.toml"), config).unwrap();
    done(at, &["run", "c.toml", "--out", "<b>loop"]);
    done(at, &["report", "<b>loop"]);
    done(at, &["sweep", "c.toml", "--out", "study", "--set", "seed=[1,2]"]);
    done(at, &["report", "study"]);
    done(at, &["lab", "new", "x.lab", "--from", table]);
    done(at, &["lab", "new", "x.lab", "--variables", "x.toml", "--note", NAMES[0]]);
    done(at, &["lab", "add", "x.lab", table, "--note", NAMES[1]]);
    let settings = ["--posterior", "bootstrap", "--set", "posterior.draws=5", "--batch", "2"];
    done(
        at,
        &[&["lab", "propose", "x.lab", "--note", NAMES[2], "--out", "batch.csv"][..], &settings].concat(),
    );
    done(at, &["lab", "rehearse", "batch.csv", "--scm", "w.json", "--out", "<script>filled.csv"]);
    done(at, &["lab", "record", "x.lab", "<script>filled.csv", "--note", NAMES[4]]);
    done(at, &["lab", "amend", "x.lab", "E001", "--status", "failed", "--note", NAMES[7]]);
    done(at, &["lab", "status", "x.lab"]);
    done(at, &["lab", "report", "x.lab"]);
    done(at, &["lab", "export", "x.lab"]);
    // What was exported is a campaign again.
    done(at, &["lab", "new", "y.lab", "--variables", "x-export/variables.toml"]);
    done(at, &["lab", "add", "y.lab", "x-export/data.csv"]);

    let mut all = Vec::new();
    files(at, &mut all);
    let with = |extension: &'static str| {
        all.iter().filter(move |path| path.extension().is_some_and(|e| e == extension))
    };
    for path in with("html").chain(with("svg")) {
        let text = fs::read_to_string(path).unwrap();
        // The script of our pages comes after everything that others wrote.
        let text = text.split("</main>").next().unwrap();
        let found = MARKUP.iter().find(|markup| text.contains(**markup));
        assert_eq!(found, None, "{}", path.display());
    }
    assert!(with("html").count() >= 3 && with("svg").count() >= 3);
    // In what goes to a laboratory nothing runs, and every name comes back.
    for file in [
        "form.csv",
        "curves.csv",
        "batch.csv",
        "x-export/data.csv",
        "x-export/experiments.csv",
        "x-export/actions.csv",
        "x-export/edges.csv",
    ] {
        let mut table = csv::ReaderBuilder::new().has_headers(false).from_path(at.join(file)).unwrap();
        let mut names = Vec::new();
        for record in table.records() {
            for cell in record.unwrap().iter() {
                let formula =
                    cell.starts_with(['=', '+', '-', '@', '\t', '\r']) && cell.parse::<f64>().is_err();
                assert!(!formula, "{file}: {cell:?}");
                names.push(original_cell(cell).to_string());
            }
        }
        let all_there = NAMES.iter().all(|name| names.iter().any(|cell| cell == name));
        assert!(all_there || file.contains("actions") || file.contains("curves"), "{file}: {names:?}");
    }
    // Nothing was written outside of the folder by a name that looks like a path.
    let mut around = Vec::new();
    files(folder.path(), &mut around);
    assert_eq!(around.len(), all.len());
    assert!(around.iter().all(|path| path.starts_with(at)), "{around:?}");
}
