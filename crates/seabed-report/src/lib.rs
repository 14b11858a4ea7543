//! Figures (SVG) and the self-contained HTML report.
//!
//! Pure functions from plain structures in memory to strings: nothing is read or written here, the same input gives
//! the same bytes, and no input can break a page: text is escaped, and a value that is missing or not finite is a gap.
//! A page loads nothing, and needs no script: the one it has only offers its figures as files. Statistics come from `seabed::evaluate`.
#![warn(missing_docs)]

mod chart;
mod curves;
mod graph;
mod layout;
mod levels;
mod matrix;
mod model;
mod page;
mod run;
mod scale;
mod short;
mod study;
mod style;
mod svg;
mod words;

pub use model::{
    EffectRow, InformationCurve, Intervention, Line, MetricRow, Run, RunView, Setting, Study, Table,
};
pub use page::{Section, is_report, page};
pub use short::short;

/// A page on a study alone.
pub fn study_html(study: &Study) -> String {
    page(&study.title, &[Section::Study(study)])
}

/// A page on a run alone.
pub fn run_html(run: &RunView) -> String {
    page(&run.title, &[Section::Run(run)])
}

/// How many experiments the lines of a study save, as text for a terminal: a sentence per setting and line. Empty if the
/// study has no line to compare, or no level.
pub fn study_sentences(study: &Study) -> String {
    levels::sentences(study)
}

/// Every figure of a study as (file stem, SVG document): per setting one for each metric that has values, and one for
/// each metric whose levels are reached.
pub fn study_figures(study: &Study) -> Vec<(String, String)> {
    study::figures(study).into_iter().map(|(stem, figure)| (stem, figure.document())).collect()
}

/// Every figure of a run as (file stem, SVG document).
pub fn run_figures(run: &RunView) -> Vec<(String, String)> {
    run::figures(run).into_iter().map(|(stem, figure)| (stem, figure.document())).collect()
}
