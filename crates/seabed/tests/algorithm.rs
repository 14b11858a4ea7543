//! The numbers of every posterior belong to a version of the algorithm: laboratories keep what they learned under it.
//!
//! `golden/algorithm.txt` has that version and what each posterior gives for one small table. Whoever changes the numbers
//! counts up `ALGORITHM` and writes the file anew with `SEABED_UPDATE_ALGORITHM=1`.

use std::fs;
use std::path::Path;

use seabed::data::Dataset;
use seabed::num::random::{Purpose, Seed};
use seabed::posterior::{ALGORITHM, Knowledge, PosteriorKind, PosteriorSettings, Start};

/// Rounding differs between machines, which a posterior may carry to the third digit.
const TOLERANCE: f64 = 0.0025;

/// A -> B -> C, 40 observations, and 20 rows in which B was set.
fn table() -> Dataset {
    let mut draws = Seed::new(11).stream(Purpose::Noise).draws();
    let (mut columns, mut targets) = (vec![Vec::new(); 3], Vec::new());
    for row in 0..60 {
        let a = draws.normal();
        let b = if row < 40 { a + 0.5 * draws.normal() } else { draws.normal() };
        let c = b.tanh() + 0.5 * draws.normal();
        [a, b, c].into_iter().zip(&mut columns).for_each(|(x, column)| column.push(x));
        targets.push(if row < 40 { vec![] } else { vec!["B"] });
    }
    Dataset::from_columns(&["A", "B", "C"], columns, &targets).unwrap()
}

/// The edge probabilities of one posterior, row -> column.
fn probabilities(name: &str, data: &Dataset) -> Vec<f64> {
    let kind = PosteriorKind::named(name).unwrap();
    let settings =
        PosteriorSettings { draws: 20, particles: 3, steps: 60, ..PosteriorSettings::for_own_data(kind) };
    let start = Start::fresh(Seed::new(1));
    let fit = settings.check(None).unwrap().fit(data, &Knowledge::none(3), start, &()).unwrap();
    fit.ensemble.edge_probabilities().into_iter().flatten().collect()
}

#[test]
fn other_numbers_are_another_algorithm() {
    let data = table();
    let found: Vec<(&str, Vec<f64>)> =
        PosteriorKind::ALL.iter().map(|(name, _)| (*name, probabilities(name, &data))).collect();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/algorithm.txt");
    let before = fs::read_to_string(&path).unwrap_or_default();
    let mut lines = before.lines();
    let version: Option<u32> = lines.next().and_then(|line| line.strip_prefix("algorithm ")?.parse().ok());
    let changed: Vec<&str> = lines
        .zip(&found)
        .filter(|(line, (name, now))| {
            let mut words = line.split(' ');
            let same_name = words.next() == Some(*name);
            let known: Vec<f64> = words.map(|word| word.parse().unwrap()).collect();
            let same =
                known.len() == now.len() && known.iter().zip(now).all(|(a, b)| (a - b).abs() < TOLERANCE);
            !(same_name && same)
        })
        .map(|(_, (name, _))| *name)
        .collect();
    assert!(
        changed.is_empty() || version != Some(ALGORITHM),
        "{} give other numbers than before: count up ALGORITHM in posterior/fit.rs",
        changed.join(", ")
    );
    if std::env::var_os("SEABED_UPDATE_ALGORITHM").is_some() {
        let line = |(name, values): &(&str, Vec<f64>)| {
            let values: Vec<String> = values.iter().map(|value| format!("{value:.3}")).collect();
            format!("{name} {}\n", values.join(" "))
        };
        let text: String = found.iter().map(line).collect();
        fs::write(&path, format!("algorithm {ALGORITHM}\n{text}")).unwrap();
        return;
    }
    assert_eq!(version, Some(ALGORITHM), "write golden/algorithm.txt anew with SEABED_UPDATE_ALGORITHM=1");
    assert_eq!(before.lines().count(), 1 + found.len());
}
