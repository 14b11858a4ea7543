//! Ctrl-C during long work: it ends at once, and says where the state is.
#![cfg(unix)]

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use seabed::num::random::{Purpose, Seed};

/// Runs a command, interrupts it while it works, and gives what it said and how long it took to end.
fn interrupted(folder: &Path, line: &str) -> (Output, Duration) {
    let child = Command::new(env!("CARGO_BIN_EXE_seabed"))
        .current_dir(folder)
        .args(line.split_whitespace())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    sleep(Duration::from_secs(2));
    let asked = Instant::now();
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    (output, asked.elapsed())
}

/// Ten variables, each acting on the next by a curve: minutes of work for smooth functions.
fn write_data(folder: &Path) {
    let mut draws = Seed::new(4).stream(Purpose::Noise).draws();
    let names: Vec<String> = (0..10).map(|k| format!("V{k}")).collect();
    let mut text = names.join(",") + "\n";
    for _ in 0..300 {
        let mut before = draws.normal();
        let mut cells = Vec::new();
        for _ in 0..10 {
            cells.push(before.to_string());
            before = before.sin() + 0.5 * draws.normal();
        }
        text += &(cells.join(",") + "\n");
    }
    fs::write(folder.join("data.csv"), text).unwrap();
}

/// The time is generous because tests share the machine; the state goes beside the output, never beside the data.
#[test]
fn a_fit_within_design_stops_at_once_and_keeps_its_state() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    write_data(folder);
    fs::create_dir(folder.join("plans")).unwrap();
    let (output, took) = interrupted(folder, "design data.csv --out plans/next.csv");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "{said}");
    assert!(took < Duration::from_secs(10), "{took:?}");
    assert!(said.contains("saved to plans/next.state.json: continue with `seabed fit`"), "{said}");
    assert!(folder.join("plans/next.state.json").is_file());
    let (output, _) =
        interrupted(folder, "fit data.csv --out plans/belief.npz --resume plans/next.state.json");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(130), "the state is taken up: {said}");
}
