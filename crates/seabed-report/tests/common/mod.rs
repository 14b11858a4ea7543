//! Made-up studies and runs, the same at every call; numbers without meaning.
#![allow(dead_code)]

use seabed_report::{
    EffectRow, InformationCurve, Intervention, Line, MetricRow, Run, RunView, Setting, Study, Table,
};

/// A number in [0, 1) that depends on all three.
pub fn draw(a: usize, b: usize, c: usize) -> f64 {
    let mut x =
        (a as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ (b as u64).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (c as u64).wrapping_mul(0x94d0_49bb_1331_11eb)).wrapping_add(0x2545_f491_4f6c_dd1d);
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((x ^ (x >> 31)) >> 11) as f64 / (1u64 << 53) as f64
}

/// Metrics that improve at a pace.
pub fn rows(rounds: usize, pace: f64, seed: usize) -> Vec<MetricRow> {
    let row = |round: usize| {
        let left = (-pace * round as f64).exp() * (0.9 + 0.2 * draw(seed, round, 1)) + 0.3 * draw(seed, 0, 0);
        MetricRow {
            round,
            interventional_samples: 10 * round,
            eshd: Some(20.0 * left),
            esid: Some(180.0 * left),
            auroc: Some((1.0 - 0.35 * left).min(1.0)),
            auprc: Some((1.0 - 0.6 * left).clamp(0.0, 1.0)),
            ef1: Some((0.95 - 0.55 * left).clamp(0.0, 1.0)),
            brier: Some(0.05 * left),
            batch_information: (round < rounds).then_some(3.0 * left),
            ..MetricRow::default()
        }
    };
    (0..=rounds).map(row).collect()
}

pub fn study(seeds: usize) -> Study {
    let lines = [
        ("random", 0.05),
        ("soft-ait / gp-ucb", 0.09),
        ("greedy-cbed / gp-ucb", 0.16),
        ("soft-cbed / gp-ucb", 0.15),
        ("soft-cbed / fixed", 0.07),
        ("soft-cbed / sample", 0.06),
    ];
    let line = |k: usize, setting: usize| {
        let run = |seed: usize| Run {
            seed: seed as u64,
            rows: rows(10, lines[k].1, seed * 31 + k * 7 + setting),
            replicates: 2,
        };
        Line { label: lines[k].0.to_string(), runs: (0..seeds).map(run).collect() }
    };
    let setting = |name: &str, s: usize| Setting {
        name: name.to_string(),
        lines: (0..lines.len()).map(|k| line(k, s)).collect(),
    };
    Study {
        title: "Strategies on linear worlds".into(),
        settings: vec![
            setting("linear er, d = 20, bootstrap", 1),
            setting("linear sf, d = 20, bootstrap", 2),
        ],
        baseline: "random".into(),
    }
}

/// A run on d variables; `cyclic` adds an edge that closes a cycle, as gene networks have them.
pub fn run(d: usize, cyclic: bool) -> RunView {
    let mut truth = vec![vec![false; d]; d];
    for j in 1..d {
        for i in 0..j {
            truth[i][j] = draw(i, j, 7) < 2.2 / d as f64;
        }
    }
    if cyclic && d > 2 {
        (truth[0][1], truth[1][2], truth[2][0]) = (true, true, true);
    }
    let probability = |i: usize, j: usize| {
        let u = draw(i, j, 11);
        if i == j {
            0.0
        } else if truth[i][j] {
            0.3 + 0.7 * u
        } else if truth[j][i] {
            0.4 * u
        } else {
            0.6 * u.powi(30)
        }
    };
    let curve = |v: usize| {
        let height = draw(v, 1, 3);
        let point = |k: usize| {
            let value = -10.0 + 20.0 * draw(v, k, 5);
            (value, 2.2 * height * (1.0 - (-(value * value) / 30.0).exp()) + 0.1)
        };
        InformationCurve { target: format!("X{v}"), points: (0..8).map(point).collect() }
    };
    let curves: Vec<InformationCurve> = (0..d).map(curve).collect();
    let intervention = |k: usize| {
        let round = k / 5;
        let curve = &curves[(draw(k, 2, 2) * d as f64) as usize];
        let (value, information) = curve.points[k % 8];
        Intervention {
            round,
            targets: vec![(curve.target.clone(), value)],
            information: Some(information),
            standard_error: Some(0.02),
        }
    };
    RunView {
        title: format!("Run: soft-cbed on nonlinear er, d = {d}"),
        config_text:
            "[world]\nkind = \"er\"\nnodes = 10\nedges_per_node = 1.0\n\n[strategy]\nname = \"soft-cbed\"\n"
                .into(),
        names: (0..d).map(|v| format!("X{v}")).collect(),
        edge_probabilities: (0..d).map(|i| (0..d).map(|j| probability(i, j)).collect()).collect(),
        rows: rows(4, 0.3, d),
        interventions: (0..20).map(intervention).collect(),
        timing: vec![("fit".into(), 12.345), ("design".into(), 3.2), ("evaluate".into(), 0.021)],
        truth: Some(truth),
        curves,
        checks: vec!["X1 -> X2 is curved, but the models are linear".into()],
        asked: format!("This run asks which of {d} variables cause which others in a simulated world."),
        next: "All 4 rounds are done; more rounds would continue it.".into(),
        effects: (1..d).map(|v| effect("X0", &format!("X{v}"), "")).collect(),
        ..RunView::default()
    }
}

fn effect(from: &str, to: &str, unit: &str) -> EffectRow {
    let (from, to, unit) = (from.to_string(), to.to_string(), unit.to_string());
    EffectRow { from, to, mean: 2.5, interval: [1.9, 3.1], not_zero: 0.98, unit }
}

/// A laboratory's campaign: no truth, words and tables, one batch, worth in another unit than nats.
pub fn laboratory() -> RunView {
    let text = |cells: &[&str]| cells.iter().map(ToString::to_string).collect::<Vec<String>>();
    let long = "decides raf → mek against mek → raf (now 0.55 / 0.45), and whether mek → erk is direct";
    RunView {
        truth: None,
        rows: vec![MetricRow { batch_information: Some(0.4), ..MetricRow::default() }],
        unit: "squared error of edge probabilities".into(),
        asked: "This campaign asks which of 6 variables cause which others.".into(),
        next: "8 proposed measurements are still to be made and recorded.".into(),
        cautions: vec!["8 rows are few for 6 variables".into()],
        effects: vec![effect("X0", "phosphatidylinositol-3-kinase", "nM per log µM")],
        tables: vec![Table {
            title: "Experiments".into(),
            note: String::new(),
            header: text(&["experiment", "replicate", "proposed", "set", "what for", "came"]),
            rows: (0..4)
                .map(|_| {
                    text(&["E001", "1", "X1 = 2.83", "X1 = 3 (not as proposed)", long, "X0 1.2, X2 3.4"])
                })
                .collect(),
        }],
        ..run(6, false)
    }
}

/// Everything that may be missing, odd or hostile.
pub fn odd() -> (Study, RunView) {
    let mut study = study(3);
    study.title = "<script>alert(1)</script> & \"quotes\"".into();
    study.settings[0].name =
        "<b>bold</b> a very long name of a setting that goes on and on and on without an end in sight".into();
    let label = "a-strategy-with-a-very-long-name-that-does-not-fit-anywhere-at-all / <i>values</i>";
    study.settings[0].lines[1].label = label.into();
    study.settings[0].lines[2].runs.clear();
    study.settings[0].lines[3].runs[0].rows.truncate(4);
    for run in &mut study.settings[0].lines[4].runs {
        run.rows[3].eshd = None;
        run.rows[4].eshd = Some(f64::NAN);
        run.rows[6].eshd = Some(f64::INFINITY);
        run.rows[8].esid = Some(1e300);
    }
    study.settings[1].lines.clear();
    study.settings.push(Setting::default());
    let mut view = run(6, true);
    view.names[2] = "phosphatidylinositol-3-kinase".into();
    view.names[3] = "<&>".into();
    view.checks = vec!["<&>: its noise has heavy tails".into()];
    view.asked = "<b>What?</b>".into();
    view.cautions = vec!["<i>".into()];
    view.effects = vec![effect("<b>", "<&>", "<u>")];
    view.truth = None;
    view.edge_probabilities[1][2] = f64::NAN;
    view.edge_probabilities.pop();
    view.rows[1].eshd = Some(f64::NAN);
    view.curves[0].points.push((f64::NAN, 1.0));
    view.curves[1].points.clear();
    view.curves[2].target = "phosphatidylinositol-3-kinase".into();
    view.interventions[0].targets = vec![("X1".into(), 1.0), ("<&>".into(), -2.5)];
    view.interventions[1].information = Some(f64::NAN);
    (study, view)
}
