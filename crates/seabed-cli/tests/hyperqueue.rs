//! A study under HyperQueue, by the example of the guide. Skipped with a notice where `SEABED_HYPERQUEUE`, a Python that has
//! the package `hyperqueue`, is not set; `.ci/run` sets it.

use std::fs;
use std::path::Path;
use std::process::Command;

const STUDY: &str = "seeds = 4\nrounds = 1\ntiming = false\n[world]\nnodes = 4\nmechanism = \"linear\"\nobservations = 40\n\
                     [posterior]\nkind = \"bootstrap\"\ndraws = 10\n[design]\nstrategy = \"random\"\nbatch = 2\n";

#[test]
fn the_example_of_the_guide_runs_a_study() {
    let python = std::env::var("SEABED_HYPERQUEUE").unwrap_or_default();
    let usable = Command::new(&python).args(["-c", "import hyperqueue"]).output();
    if !usable.is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: SEABED_HYPERQUEUE is not a Python with the package hyperqueue");
        return;
    }
    let guide = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide/cluster.md");
    let guide = fs::read_to_string(guide).unwrap();
    let (_, example) = guide.split_once("```python file=hyperqueue_study.py\n").unwrap();
    let (example, _) = example.split_once("```").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    fs::write(at.join("example.py"), example).unwrap();
    fs::write(at.join("study.toml"), STUDY).unwrap();
    let seabed = env!("CARGO_BIN_EXE_seabed");
    for line in ["sweep study.toml --out alone", "sweep study.toml --plan"] {
        let command = Command::new(seabed).current_dir(at).args(line.split(' ')).output().unwrap();
        assert!(command.status.success(), "{line}");
    }
    let output =
        Command::new(&python).current_dir(at).args(["example.py", seabed, "study", "4"]).output().unwrap();
    let said = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    assert!(output.status.success(), "{said:?}");
    // The last run of them wrote the results.
    for file in ["results.csv", "results.parquet", "runs/0003/data.csv"] {
        let read = |study: &str| fs::read(at.join(study).join(file)).unwrap();
        assert!(read("alone") == read("study"), "{file}: {said:?}");
    }
}
