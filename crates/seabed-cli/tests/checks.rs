//! What the learned models cannot explain is told by every command that fits, as text, in JSON and in the report.

use std::fs;
use std::path::Path;

use assert_cmd::Command;
use seabed::num::random::{Purpose, Seed};
use serde_json::Value;

#[track_caller]
fn output(folder: &Path, arguments: &str) -> String {
    let mut command = Command::cargo_bin("seabed").expect("the command is built with its tests");
    let assert = command.current_dir(folder).args(arguments.split_whitespace()).assert().success();
    String::from_utf8(assert.get_output().stdout.clone()).unwrap()
}

/// A -> B, A set in the last 20 of 60 rows; in row 51 its value is mistyped.
fn write_data(folder: &Path) {
    let mut draws = Seed::new(8).stream(Purpose::Noise).draws();
    let mut text = String::from("A,B,intervention_targets\n");
    for row in 1..=60 {
        let a = 2.0 * draws.normal();
        let b = a + draws.normal();
        let typed = if row == 51 { 1e7 } else { a };
        text += &format!("{typed},{b},{}\n", if row > 40 { "A" } else { "" });
    }
    fs::write(folder.join("data.csv"), text).unwrap();
}

#[test]
fn every_command_that_fits_tells_what_its_models_cannot_explain() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    write_data(folder);
    let said = "A: row 51 sets A to 1e7, ";
    let of_json = |text: &str| -> Value { serde_json::from_str(text).unwrap() };
    let is_told = |checks: &Value| {
        checks.as_array().unwrap().iter().any(|finding| {
            finding["kind"] == "row"
                && finding["row"] == 51
                && finding["variables"][0] == "A"
                && finding["p_value"].as_f64().unwrap() <= 0.05
                && finding["text"].as_str().unwrap().starts_with(said)
        })
    };
    let fit = output(folder, "fit data.csv --posterior mcmc-linear");
    assert!(fit.contains(&format!("\ncheck: {said}")), "{fit}");
    let single = output(folder, "fit data.csv --posterior bootstrap --single");
    assert!(single.contains(&format!("\ncheck: {said}")), "{single}");
    assert!(is_told(&of_json(&output(folder, "fit data.csv --posterior mcmc-linear --json"))["checks"]));
    let design = output(folder, "design data.csv --posterior mcmc-linear --batch 1 --range -2:2");
    assert!(design.contains(&format!("\ncheck: {said}")), "{design}");
    let design = "design data.csv --posterior mcmc-linear --batch 1 --range -2:2 --json";
    assert!(is_told(&of_json(&output(folder, design))["checks"]));

    output(folder, "lab new cells.lab --from data.csv");
    output(folder, "lab new cells.lab --variables cells.toml");
    output(folder, "lab add cells.lab data.csv");
    let status = output(folder, "lab status cells.lab --fit");
    assert!(status.contains(&format!("\ncheck: {said}")), "{status}");
    assert!(is_told(&of_json(&output(folder, "lab status cells.lab --json"))["belief"]["checks"]));
    output(folder, "lab report cells.lab");
    assert!(fs::read_to_string(folder.join("cells.html")).unwrap().contains(&format!("<li>{said}")));
}
