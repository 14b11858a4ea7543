//! `seabed evaluate`: compares a graph or an ensemble with the truth, and measures how easy the data make it.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use seabed::data::{GraphFile, read_graph};
use seabed::evaluate::{held_out_log_likelihood, scores_observed, sortability};
use seabed::graph::{Dag, shd, shd_double, sid, sid_bounds};
use seabed::scm::{Ensemble, Scm};
use serde_json::{Map, Value, json};

use crate::failure::Failure;
use crate::progress::{Bar, stop_on_interrupt};
use crate::read::{TableOptions, read_data};
use crate::settings::too_large;

/// Compare an estimated graph or an ensemble with the true graph.
///
/// Graphs are CSV files (an edge list with the header `source,target`, or a 0/1 matrix with a header, row -> column;
/// both directions = undirected) or models in JSON. Variables are matched by name, whatever their order. An
/// estimate with undirected edges stands for its whole equivalence class, and the SID is a range.
#[derive(Args)]
#[command(group = clap::ArgGroup::new("subject").args(["estimate", "ensemble", "data"]).required(true).multiple(true))]
#[command(after_help = "Example: seabed evaluate --truth truth.csv --estimate estimate.csv --json")]
pub struct Arguments {
    /// The true graph: .csv, or a model in .json.
    #[arg(long, value_name = "FILE")]
    truth: PathBuf,
    /// An estimated graph, or an essential graph (CPDAG): .csv or .json.
    #[arg(long, value_name = "FILE", conflicts_with = "ensemble", group = "subject")]
    estimate: Option<PathBuf>,
    /// An ensemble of models: .npz or .json.
    #[arg(long, value_name = "FILE")]
    ensemble: Option<PathBuf>,
    /// Data (.csv, .tsv, .txt, .xlsx, .parquet, - for standard input), to see how much of the causal order they reveal and,
    /// with an ensemble, how well it predicts them (repeatable: several files are read as one table).
    #[arg(long, value_name = "FILE")]
    data: Vec<PathBuf>,
    #[command(flatten)]
    table: TableOptions,
    /// Print JSON instead of text.
    #[arg(long)]
    json: bool,
}

/// One line of the result: the documented field name, the value, and what it means.
struct Line {
    field: &'static str,
    value: Value,
    meaning: &'static str,
}

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let truth = read_any_graph(&arguments.truth)?;
    let mut lines = Vec::new();
    if let Some(path) = &arguments.estimate {
        lines.extend(graph_lines(&truth, &read_any_graph(path)?, arguments, path)?);
    }
    let ensemble = arguments.ensemble.as_deref().map(Ensemble::read).transpose()?;
    if let Some(ensemble) = &ensemble {
        let truth = aligned_dag(&truth, ensemble.names(), &arguments.truth)?;
        lines.extend(ensemble_lines(ensemble, &truth)?);
    }
    match (arguments.data.first(), arguments.table.given()) {
        (Some(path), _) => lines.extend(data_lines(&truth, ensemble.as_ref(), arguments, path)?),
        (None, Some(option)) => {
            return Err(Failure::Input(anyhow::anyhow!(
                "{option} applies to --data only; add it, or leave {option} out"
            )));
        }
        (None, None) => {}
    }
    print(&lines, arguments.json).map_err(|error| Failure::writing(None, error))
}

fn graph_lines(
    truth: &GraphFile,
    estimate: &GraphFile,
    arguments: &Arguments,
    path: &Path,
) -> Result<Vec<Line>, Failure> {
    let names = common_names(truth, estimate);
    note_unmatched_names(truth, estimate);
    let truth = aligned_dag(truth, &names, &arguments.truth)?;
    let estimate = in_file(path, estimate.aligned(&names))?;
    let (once, twice, distance) = if estimate.has_undirected_edges() {
        let class = in_file(path, estimate.to_essential_graph())?;
        let bounds = sid_bounds(&truth, &class);
        let meaning = |exact, rough| if bounds.exact { exact } else { rough };
        let distance = vec![
            Line {
                field: "sid_lower",
                value: json!(bounds.lower),
                meaning: meaning(
                    "structural intervention distance of the best member of the class",
                    "no member of the class has a smaller structural intervention distance",
                ),
            },
            Line {
                field: "sid_upper",
                value: json!(bounds.upper),
                meaning: meaning(
                    "structural intervention distance of the worst member of the class",
                    "no member of the class has a larger structural intervention distance",
                ),
            },
        ];
        (shd(&truth, &class), shd_double(&truth, &class), distance)
    } else {
        let dag = in_file(path, estimate.to_dag())?;
        let distance = Line {
            field: "sid",
            value: json!(sid(&truth, &dag)),
            meaning: "structural intervention distance: effects that would be computed wrongly",
        };
        (shd(&truth, &dag), shd_double(&truth, &dag), vec![distance])
    };
    let mut lines = vec![
        Line {
            field: "shd",
            value: json!(once),
            meaning: "structural Hamming distance, a reversed edge counts once",
        },
        Line {
            field: "shd_double",
            value: json!(twice),
            meaning: "structural Hamming distance, a reversed edge counts twice",
        },
    ];
    lines.extend(distance);
    Ok(lines)
}

fn ensemble_lines(ensemble: &Ensemble, truth: &Dag) -> Result<Vec<Line>, Failure> {
    stop_on_interrupt();
    let found =
        scores_observed(ensemble, truth, &Bar::new()).map_err(|error| Failure::Stopped(error.into()))?;
    Ok(vec![
        Line { field: "eshd", value: json!(found.eshd), meaning: "expected structural Hamming distance" },
        Line {
            field: "esid",
            value: json!(found.esid),
            meaning: "expected structural intervention distance",
        },
        Line {
            field: "auroc",
            value: json!(found.auroc),
            meaning: "area under the ROC curve of the edge probabilities",
        },
        Line {
            field: "auprc",
            value: json!(found.auprc),
            meaning: "average precision of the edge probabilities",
        },
        Line { field: "ef1", value: json!(found.ef1), meaning: "expected F1 of the edges" },
        Line {
            field: "brier",
            value: json!(found.brier),
            meaning: "mean squared error of the edge probabilities",
        },
        Line {
            field: "ece",
            value: json!(found.ece),
            meaning: "expected calibration error of the edge probabilities",
        },
        Line {
            field: "cpdag_eshd",
            value: json!(found.cpdag_eshd),
            meaning: "expected structural Hamming distance between equivalence classes (CPDAGs)",
        },
        Line {
            field: "skeleton_auroc",
            value: json!(found.skeleton_auroc),
            meaning: "area under the ROC curve of the edges without their directions",
        },
    ])
}

fn data_lines(
    truth: &GraphFile,
    ensemble: Option<&Ensemble>,
    arguments: &Arguments,
    path: &Path,
) -> Result<Vec<Line>, Failure> {
    let mut data = read_data(&arguments.data, &arguments.table)?.dataset;
    if let Some((row, node)) = data.too_large() {
        let (name, value) = (&data.names()[node], data.column(node)[row]);
        return Err(Failure::Input(anyhow::anyhow!(
            "row {}, column {name:?}: {}; check its unit, or leave the row out",
            row + 1,
            too_large(value)
        )));
    }
    if let Some(ensemble) = ensemble {
        data = in_file(path, data.reordered(ensemble.names()))?;
    }
    let truth = aligned_dag(truth, data.names(), &arguments.truth)?;
    let mut lines = Vec::new();
    match sortability(&data, &truth) {
        Ok(found) => lines.extend([
            Line {
                field: "var_sortability",
                value: json!(found.var_sortability),
                meaning: "how well sorting by variance gives the causal order (0.5: not at all)",
            },
            Line {
                field: "r2_sortability",
                value: json!(found.r2_sortability),
                meaning: "how well sorting by R² gives the causal order (0.5: not at all)",
            },
        ]),
        Err(error) => {
            tell!("note: {}: sortability is undefined: {error}", path.display());
            let undefined = |field| Line { field, value: Value::Null, meaning: "not defined for these data" };
            lines.extend([undefined("var_sortability"), undefined("r2_sortability")]);
        }
    }
    if let Some(ensemble) = ensemble {
        lines.push(Line {
            field: "held_out_log_likelihood",
            value: json!(held_out_log_likelihood(ensemble, &data)),
            meaning: "mean log-density of a row under the ensemble, in nats (undefined: a row is impossible)",
        });
    }
    Ok(lines)
}

/// A graph in CSV, or the graph of a model in JSON.
fn read_any_graph(path: &Path) -> Result<GraphFile, Failure> {
    if path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("json")) {
        let scm = Scm::read(path)?;
        let adjacency = scm.dag().to_rows_to_columns();
        return Ok(GraphFile { names: scm.names().to_vec(), adjacency, complete: true });
    }
    Ok(read_graph(path)?)
}

/// The variables of two graphs. An edge list does not name variables without edges, a matrix names all.
fn common_names(truth: &GraphFile, estimate: &GraphFile) -> Vec<String> {
    match (truth.complete, estimate.complete) {
        (true, _) => truth.names.clone(),
        (false, true) => estimate.names.clone(),
        (false, false) => {
            let only_estimated = estimate.names.iter().filter(|name| !truth.names.contains(name));
            truth.names.iter().chain(only_estimated).cloned().collect()
        }
    }
}

/// Two edge lists may name different variables without being wrong; a misspelling looks the same.
fn note_unmatched_names(truth: &GraphFile, estimate: &GraphFile) {
    if truth.complete || estimate.complete {
        return;
    }
    for (here, there, file) in [(truth, estimate, "the truth"), (estimate, truth, "the estimate")] {
        let unmatched: Vec<&str> =
            here.names.iter().filter(|name| !there.names.contains(name)).map(String::as_str).collect();
        if !unmatched.is_empty() {
            tell!(
                "note: only {file} contains {}: assumed to have no edges in the other",
                unmatched.join(", ")
            );
        }
    }
}

fn aligned_dag(graph: &GraphFile, names: &[String], path: &Path) -> Result<Dag, Failure> {
    in_file(path, graph.aligned(names).and_then(|graph| graph.to_dag()))
}

/// Adds the name of the file to the error.
fn in_file<T>(path: &Path, result: Result<T, seabed::data::DataError>) -> Result<T, Failure> {
    result.map_err(|error| Failure::Input(anyhow::anyhow!("{}: {error}", path.display())))
}

fn print(lines: &[Line], as_json: bool) -> io::Result<()> {
    let mut out = io::stdout().lock();
    if as_json {
        let fields: Map<String, Value> =
            lines.iter().map(|line| (line.field.into(), line.value.clone())).collect();
        return writeln!(out, "{}", Value::Object(fields));
    }
    let width = lines.iter().map(|line| line.field.len()).max().unwrap_or(0);
    for line in lines {
        let value = match &line.value {
            Value::Null => "undefined".into(),
            Value::Number(number) if number.is_f64() => match number.as_f64().unwrap_or(f64::NAN) {
                large if large.abs() >= 1e9 => format!("{large:.3e}"),
                real => format!("{real:.4}"),
            },
            other => other.to_string(),
        };
        writeln!(out, "{:width$}  {value:>9}  {}", line.field, line.meaning)?;
    }
    Ok(())
}
