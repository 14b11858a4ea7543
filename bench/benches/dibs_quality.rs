//! AUROC and average precision of DiBS on the data sets of the reference code, beside the reference's own results.
//!
//!     cargo bench -p seabed-bench --bench dibs_quality
//!
//! Reads `shared/golden/dibs/quality` beside the clone. Same data, known noise; once with as many steps as the
//! reference, once with our default.

use std::path::Path;

use seabed::data::{Dataset, Names};
use seabed::evaluate::{area_under_roc, average_precision, scores};
use seabed::graph::{Dag, NodeSet};
use seabed::num::random::Seed;
use seabed::posterior::Knowledge;
use seabed::posterior::dibs::{Dibs, Noise};
use seabed_bench::cpu_time_of;
use serde_json::Value;

fn main() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/golden/dibs/quality");
    let Ok(entries) = std::fs::read_dir(&folder) else {
        println!("skipped: no shared/golden/dibs/quality beside the clone");
        return;
    };
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("readable").path()).collect();
    paths.sort();
    println!(
        "{:<22} {:>5} {:>7} {:>7} {:>7} {:>8} {:>9}",
        "data set", "who", "steps", "AUROC", "AP", "E-SHD", "CPU s"
    );
    let mut sums = [[0.0; 3]; 3];
    for path in &paths {
        let case: Value = serde_json::from_slice(&std::fs::read(path).expect("readable")).expect("JSON");
        let figure = |name: &str| case[name].as_f64().expect("a number");
        let matrix =
            |name: &str| -> Vec<Vec<f64>> { serde_json::from_value(case[name].clone()).expect("a matrix") };
        let rows = matrix("x_obs");
        let nodes = rows[0].len();
        let names: Names = (0..nodes).map(|k| format!("X{k:02}")).collect();
        let columns = (0..nodes).map(|j| rows.iter().map(|row| row[j]).collect()).collect();
        let data = Dataset::new(names, columns, vec![NodeSet::empty(nodes); rows.len()]).expect("a data set");
        let adjacency: Vec<Vec<bool>> =
            matrix("G_true").iter().map(|row| row.iter().map(|&x| x == 1.0).collect()).collect();
        let truth = Dag::from_rows_to_columns(&adjacency).expect("a DAG");
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        let mut line = |who: usize, label: &str, steps: f64, found: [f64; 3], cpu: f64| {
            println!(
                "{name:<22} {label:>5} {steps:>7} {:>7.3} {:>7.3} {:>8.2} {cpu:>9.1}",
                found[0], found[1], found[2]
            );
            (0..3).for_each(|k| sums[who][k] += found[k] / paths.len() as f64);
        };
        let reference = ["auroc_sklearn_offdiag", "auprc_ap_sklearn_offdiag", "eshd_all"].map(figure);
        line(0, "theirs", figure("steps"), reference, figure("cpu_s"));
        let noise = Noise::Known(figure("noise_std"));
        let same = Dibs {
            noise,
            standardise: false,
            stop_early: false,
            steps: figure("steps") as usize,
            ..Dibs::default()
        };
        let default = Dibs { noise, standardise: false, ..Dibs::default() };
        for (who, settings) in [(1, same), (2, default)] {
            let (cpu, fit) = cpu_time_of(|| {
                settings.fit(&data, &Knowledge::none(nodes), Seed::new(1), &()).expect("enough rows")
            });
            let p = fit.ensemble.edge_probabilities();
            let found = [
                area_under_roc(&p, &truth).expect("some edges"),
                average_precision(&p, &truth).expect("some edges"),
                scores(&fit.ensemble, &truth).eshd,
            ];
            let steps = fit.state.history.last().expect("measured").step as f64;
            line(who, "ours", steps, found, cpu.as_secs_f64());
        }
    }
    for (who, sums) in ["theirs", "ours, same steps", "ours, default"].iter().zip(sums) {
        println!("mean, {who}: AUROC {:.3}, AP {:.3}, E-SHD {:.2}", sums[0], sums[1], sums[2]);
    }
}
