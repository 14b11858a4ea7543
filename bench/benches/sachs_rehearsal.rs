//! A laboratory rehearsed: the proteins of Sachs et al. (2005), where the answer to a proposed experiment is real cells of
//! that condition. Are conditions chosen by expected edge loss in a better order than a random one?
//!
//!     cargo bench -p seabed-bench --bench sachs_rehearsal                    as in docs/results/sachs
//!     cargo bench -p seabed-bench --bench sachs_rehearsal -- 3 1 FOLDER      3 seeds from 1 on, written elsewhere
//!
//! Both lines begin with the same cells under stimulation alone and get the same cells of every condition: they differ in the
//! order of the conditions, and end with the same data. Skips where the data are not beside the clone.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use seabed::data::{Dataset, ReadOptions, read_graph, read_table};
use seabed::design::{Allowed, Constraints, Designer, Levels, Strategy, Values};
use seabed::evaluate::{Curve, Metric, MetricRow, compare, mean, scores};
use seabed::graph::{Dag, Node};
use seabed::num::parallel::ordered_map;
use seabed::num::random::{Purpose, Seed};
use seabed::posterior::{PosteriorKind, PosteriorSettings};
use seabed::{Campaign, Intervention};
use seabed_bench::cpu_time;
use seabed_report::{Line, Run, Setting, Study, study_figures};

/// Stimulation alone: what every drug but two came on top of.
const OBSERVED: &str = "cd3_cd28";
const OBSERVED_CELLS: usize = 100;
/// Cells that answer an experiment.
const CELLS: usize = 20;
/// What is recorded of a drug's target: what was measured, or what the drug does to its activity. An inhibitor stops a protein from
/// acting and not from being measured; the measured level may even rise.
const SETTINGS: [&str; 2] = ["Sachs, targets as measured", "Sachs, targets by action"];
const LINES: [&str; 2] = ["random", "greedy-edges"];

/// Conditions with a target, and where the drug puts its activity, in standard deviations from the observed mean.
const DRUGS: [(&str, f64); 7] = [
    ("b2camp", 2.0),
    ("cd3_cd28+aktinhib", -2.0),
    ("cd3_cd28+g0076", -2.0),
    ("cd3_cd28+ly", -2.0),
    ("cd3_cd28+psitect", -2.0),
    ("cd3_cd28+u0126", -2.0),
    ("pma", 2.0),
];

/// Cells that were treated alike.
struct Condition {
    name: &'static str,
    target: Node,
    /// What the target is expected to be at: the median of the cells.
    level: f64,
    cells: Dataset,
}

struct Laboratory {
    setting: &'static str,
    observed: Dataset,
    conditions: Vec<Condition>,
    truth: Dag,
}

/// What is believed after a round.
struct Round {
    /// Answered last; none before the first.
    condition: Option<usize>,
    /// Σ p (1 - p): the edge loss that the belief expects of itself.
    expected_loss: f64,
    /// Σ (p - p at the end)²: how far from what all conditions together teach.
    loss_to_end: f64,
    probabilities: Vec<Vec<f64>>,
    metrics: MetricRow,
    warned: bool,
}

struct Rehearsal {
    setting: &'static str,
    line: &'static str,
    seed: u64,
    rounds: Vec<Round>,
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
    let number = |k: usize, usual: u64| words.get(k).and_then(|word| word.parse().ok()).unwrap_or(usual);
    let (count, first) = (number(0, 16), number(1, 1000));
    let usual = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/results/sachs");
    let Some(table) = seabed_testkit::shared("data/sachs.csv") else { return };
    let laboratories =
        SETTINGS.map(|setting| Laboratory::read(setting, &table, &usual.join("consensus.csv")));
    let mut rehearsals = Vec::new();
    for laboratory in &laboratories {
        let jobs: Vec<(u64, &'static str)> =
            (first..first + count).flat_map(|seed| LINES.map(|line| (seed, line))).collect();
        let of_setting = ordered_map(&jobs, |&(seed, line)| laboratory.rehearse(seed, line));
        print_results(laboratory, &of_setting);
        rehearsals.extend(of_setting);
    }
    let folder = words.get(2).map_or(usual, PathBuf::from);
    fs::create_dir_all(&folder).expect("a folder to write to");
    write_results(&laboratories[0], &rehearsals, &folder).expect("a folder to write to");
    println!("\n{:.0} CPU s; written to {}", cpu_time().as_secs_f64(), folder.display());
}

impl Laboratory {
    fn read(setting: &'static str, table: &Path, truth: &Path) -> Self {
        let options = ReadOptions::ignoring(&["condition".into()]);
        let data = read_table(table, &options).expect("a table of numbers").dataset;
        let truth = read_graph(truth).and_then(|graph| graph.aligned(data.names()));
        let text = fs::read_to_string(table).expect("read a moment ago");
        // The condition is the last but one of the columns.
        let of_rows: Vec<&str> = text.lines().skip(1).filter_map(|line| line.rsplit(',').nth(1)).collect();
        assert_eq!(of_rows.len(), data.rows());
        let cells_of = |name: &str| {
            let rows: Vec<usize> = (0..data.rows()).filter(|&row| of_rows[row] == name).collect();
            subset(&data, &rows)
        };
        let observed = cells_of(OBSERVED);
        let condition = |(name, action): (&'static str, f64)| {
            let mut cells = cells_of(name);
            let target = cells.targets(0).iter().next().expect("a condition with a target");
            if setting == SETTINGS[1] {
                let found = mean(observed.column(target)).expect("observed cells");
                let sd = found.standard_error.unwrap_or(0.0) * (found.count as f64).sqrt();
                let mut columns = cells.columns().to_vec();
                columns[target].fill(found.mean + action * sd);
                cells = Dataset::with_regime(data.names().clone(), columns, cells.targets(0).clone())
                    .expect("the same cells");
            }
            let mut values = cells.column(target).to_vec();
            values.sort_by(f64::total_cmp);
            Condition { name, target, level: values[values.len() / 2], cells }
        };
        Self {
            setting,
            conditions: DRUGS.map(condition).into(),
            truth: truth.and_then(|graph| graph.to_dag()).expect("a DAG of the same proteins"),
            observed,
        }
    }

    /// All conditions one after the other, each answered once.
    fn rehearse(&self, seed: u64, line: &'static str) -> Rehearsal {
        let stream = Seed::new(seed).stream(Purpose::Outcomes);
        let some = |cells: &Dataset, count: usize, name: &str| {
            let mut rows: Vec<usize> = (0..cells.rows()).collect();
            stream.named(name).draws().shuffle(&mut rows);
            subset(cells, &rows[..count])
        };
        let settings = PosteriorSettings::for_own_data(PosteriorKind::McmcLinear);
        let designer = Designer {
            strategy: Strategy::recommended(true),
            values: Values::Refined,
            batch: 1,
            replicates: CELLS.into(),
            ..Designer::default()
        };
        let mut campaign = Campaign::new(some(&self.observed, OBSERVED_CELLS, OBSERVED))
            .with_posterior(settings.check(None).expect("the usual settings"))
            .with_designer(designer)
            .with_seed(seed, 0);
        let mut open: Vec<usize> = (0..self.conditions.len()).collect();
        stream.named("order").draws().shuffle(&mut open);
        let (mut rounds, mut answered) = (Vec::new(), None);
        loop {
            let fit = campaign.fit(&()).expect("enough cells");
            rounds.push(self.round(&fit, rounds.len(), answered));
            let next = match line {
                "random" => open.last().copied(),
                _ if open.is_empty() => None,
                _ => {
                    campaign = campaign.with_constraints(self.constraints(&open));
                    let batch = campaign.ask(&()).expect("an open condition");
                    Some(self.condition(&open, &batch.chosen[0].design))
                }
            };
            let Some(next) = next else {
                let end = rounds.last().map_or(Vec::new(), |round: &Round| round.probabilities.concat());
                for round in &mut rounds {
                    let off =
                        round.probabilities.iter().flatten().zip(&end).map(|(p, end)| (p - end).powi(2));
                    round.loss_to_end = off.sum();
                }
                return Rehearsal { setting: self.setting, line, seed, rounds };
            };
            open.retain(|&condition| condition != next);
            let condition = &self.conditions[next];
            campaign.tell(&some(&condition.cells, CELLS, condition.name)).expect("the same proteins");
            answered = Some(next);
        }
    }

    fn round(&self, fit: &seabed::Fit, round: usize, condition: Option<usize>) -> Round {
        let scores = scores(&fit.ensemble, &self.truth);
        let p = fit.ensemble.edge_probabilities();
        let metrics = MetricRow {
            round,
            interventional_samples: round * CELLS,
            eshd: Some(scores.eshd),
            esid: scores.esid,
            auroc: scores.auroc,
            auprc: scores.auprc,
            edge_loss: scores.edge_loss,
            ..MetricRow::default()
        };
        Round {
            condition,
            expected_loss: p.iter().flatten().map(|p| p * (1.0 - p)).sum(),
            loss_to_end: 0.0,
            probabilities: p,
            metrics,
            warned: fit.warning.is_some(),
        }
    }

    /// The targets of open conditions can be set, to the levels that these conditions have.
    fn constraints(&self, open: &[usize]) -> Constraints {
        let allowed = |node: Node| {
            let of_node = open.iter().map(|&k| &self.conditions[k]).filter(|c| c.target == node);
            let mut levels: Vec<f64> = of_node.map(|condition| condition.level).collect();
            levels.sort_by(f64::total_cmp);
            (!levels.is_empty()).then_some(Allowed { levels: Levels::List(levels), cost: 1.0 })
        };
        let variables = (0..self.observed.variables()).map(allowed).collect();
        Constraints { variables, ..Constraints::range(0, 0.0, 0.0) }
    }

    fn condition(&self, open: &[usize], design: &Intervention) -> usize {
        let same = |condition: &Condition| design.value(condition.target) == Some(condition.level);
        open.iter().copied().find(|&k| same(&self.conditions[k])).expect("a level of an open condition")
    }
}

fn subset(data: &Dataset, rows: &[usize]) -> Dataset {
    let columns = data.columns().iter().map(|column| rows.iter().map(|&row| column[row]).collect()).collect();
    let targets = rows.iter().map(|&row| data.targets(row).clone()).collect();
    Dataset::new(data.names().clone(), columns, targets).expect("part of a table")
}

/// What is shown of a round, with a name.
type Figure = (&'static str, fn(&Round) -> f64);

const FIGURES: [Figure; 4] = [
    ("edge loss", |round| round.metrics.edge_loss.unwrap_or(f64::NAN)),
    ("expected loss", |round| round.expected_loss),
    ("loss to end", |round| round.loss_to_end),
    ("E-SHD", |round| round.metrics.eshd.unwrap_or(f64::NAN)),
];

fn curve(rehearsal: &Rehearsal, value: fn(&Round) -> f64) -> Vec<(f64, f64)> {
    rehearsal.rounds.iter().map(|round| (round.metrics.round as f64, value(round))).collect()
}

fn print_results(laboratory: &Laboratory, rehearsals: &[Rehearsal]) {
    println!("\n{}", laboratory.setting);
    for condition in &laboratory.conditions {
        let (name, target) = (condition.name, &laboratory.observed.names()[condition.target]);
        let observed = laboratory.observed.column(condition.target);
        let average = observed.iter().sum::<f64>() / observed.len() as f64;
        println!("{name:<20} {target:<5} at {:.2}, observed {average:.2}", condition.level);
    }
    let of_line = |line: &'static str| rehearsals.iter().filter(move |rehearsal| rehearsal.line == line);
    for (name, value) in FIGURES {
        for line in LINES {
            let rounds = laboratory.conditions.len() + 1;
            let means = (0..rounds).map(|k| {
                mean(&of_line(line).map(|rehearsal| value(&rehearsal.rounds[k])).collect::<Vec<_>>())
            });
            let cells: Vec<String> = means.flatten().map(|mean| format!("{:6.2}", mean.mean)).collect();
            println!("{name:<14} {line:<13} {}", cells.join(" "));
        }
        let curves: Vec<Curve> = rehearsals
            .iter()
            .map(|rehearsal| Curve {
                setting: laboratory.setting.into(),
                line: rehearsal.line.into(),
                seed: rehearsal.seed,
                points: curve(rehearsal, value),
            })
            .collect();
        for found in compare(&curves, Metric::EdgeLoss, "random") {
            let Some(paired) = found.against_baseline else { continue };
            println!(
                "{name:<14} mean height {:+.3} ± {:.3} against random, p {:.4}, {} better, {} worse",
                paired.difference.mean,
                paired.difference.standard_error.unwrap_or(f64::NAN),
                paired.p,
                paired.wins,
                paired.losses
            );
        }
    }
    for (k, condition) in laboratory.conditions.iter().enumerate() {
        let places: Vec<f64> = of_line("greedy-edges")
            .flat_map(|rehearsal| &rehearsal.rounds)
            .filter(|round| round.condition == Some(k))
            .map(|round| round.metrics.round as f64)
            .collect();
        let first = places.iter().filter(|place| **place == 1.0).count();
        let average = mean(&places).map_or(f64::NAN, |mean| mean.mean);
        println!("{:<20} chosen first {first} times, on average as number {average:.1}", condition.name);
    }
    let rounds = || rehearsals.iter().flat_map(|rehearsal| &rehearsal.rounds);
    println!("{} of {} fits with a warning", rounds().filter(|r| r.warned).count(), rounds().count());
}

fn write_results(laboratory: &Laboratory, rehearsals: &[Rehearsal], folder: &Path) -> std::io::Result<()> {
    let mut text =
        "setting,seed,line,round,interventional_samples,condition,target,edge_loss,expected_edge_loss,\
                    loss_to_end,eshd,esid,auroc,auprc\n"
            .to_string();
    for rehearsal in rehearsals {
        for round in &rehearsal.rounds {
            let condition = round.condition.map(|k| &laboratory.conditions[k]);
            let target = condition.map_or("", |c| laboratory.observed.names()[c.target].as_str());
            let row = &round.metrics;
            let _ = write!(
                text,
                "\"{}\",{},{},{},{},{},{target}",
                rehearsal.setting,
                rehearsal.seed,
                rehearsal.line,
                row.round,
                row.interventional_samples,
                condition.map_or("", |c| c.name),
            );
            for value in [
                row.edge_loss,
                Some(round.expected_loss),
                Some(round.loss_to_end),
                row.eshd,
                row.esid,
                row.auroc,
                row.auprc,
            ] {
                let _ = write!(text, ",{}", value.map_or(String::new(), |value| format!("{value:.6}")));
            }
            text.push('\n');
        }
    }
    fs::write(folder.join("results.csv"), text)?;
    let run = |rehearsal: &Rehearsal| Run {
        seed: rehearsal.seed,
        rows: rehearsal.rounds.iter().map(|round| round.metrics).collect(),
        replicates: CELLS,
    };
    let setting = |setting: &&'static str| {
        let of = |label: &&'static str| Line {
            label: label.to_string(),
            runs: rehearsals.iter().filter(|r| r.setting == *setting && r.line == *label).map(run).collect(),
        };
        Setting { name: setting.to_string(), lines: LINES.iter().map(of).collect() }
    };
    let settings = SETTINGS.iter().map(setting).collect();
    let study = Study { title: "Sachs".into(), settings, baseline: "random".into() };
    for (stem, figure) in study_figures(&study) {
        let shown = |metric: &Metric| stem.ends_with(metric.name()) && !stem.contains("reached");
        if [Metric::Eshd, Metric::EdgeLoss].iter().any(shown) {
            fs::write(folder.join(format!("{stem}.svg")), figure)?;
        }
    }
    Ok(())
}
