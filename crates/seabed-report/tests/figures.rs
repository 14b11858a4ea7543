//! Figures and tables as text: two snapshots, the same bytes every time, and nothing that breaks out.

mod common;

use seabed_report::{
    Line, MetricRow, Run, RunView, Section, Setting, Study, page, run_figures, run_html, study_figures,
    study_html, study_sentences,
};

/// Two lines, two seeds, three rounds, one metric.
fn small() -> Study {
    let run = |seed: u64, values: [Option<f64>; 3]| {
        let row = |(round, eshd): (usize, &Option<f64>)| MetricRow {
            round,
            interventional_samples: 10 * round,
            eshd: *eshd,
            ..MetricRow::default()
        };
        Run { seed, rows: values.iter().enumerate().map(row).collect(), replicates: 5 }
    };
    let line = |label: &str, runs: Vec<Run>| Line { label: label.into(), runs };
    let lines = vec![
        line(
            "random",
            vec![run(1, [Some(8.0), Some(7.0), Some(6.0)]), run(2, [Some(6.0), Some(6.0), Some(4.0)])],
        ),
        line("soft-cbed", vec![run(1, [Some(8.0), None, Some(2.0)]), run(2, [Some(6.0), None, Some(1.0)])]),
    ];
    let setting = Setting { name: "linear er, d = 5".into(), lines };
    Study { title: "A small study".into(), settings: vec![setting], baseline: "random".into() }
}

#[test]
fn a_figure() {
    let figures = study_figures(&small());
    assert_eq!(figures.len(), 2, "only metrics that have values are drawn");
    assert_eq!(figures[0].0, "linear-er-d-5-eshd");
    insta::assert_snapshot!(figures[0].1);
    assert_eq!(figures[1].0, "linear-er-d-5-reached-eshd");
    insta::assert_snapshot!("a_figure_of_steps", figures[1].1);
}

#[test]
fn the_table_of_areas() {
    let html = study_html(&small());
    let table = html.split_once("<h3>Areas").unwrap().1.split("<h3>").next().unwrap();
    insta::assert_snapshot!(format!("<h3>Areas{table}"));
}

#[test]
fn the_experiments_needed() {
    let html = study_html(&small());
    let table = html.split_once("<h3>Experiments needed").unwrap().1.split("</section>").next().unwrap();
    let without_figures = table.split("</svg>").last().unwrap();
    insta::assert_snapshot!(without_figures);
    // Seed 1: at 6 after 4 experiments, seed 2: at 4; random needs all 4, and so does soft-cbed for lack of values.
    assert_eq!(
        study_sentences(&small()),
        "experiments until the E-SHD is where random ends:\n  \
         soft-cbed: 4 experiments (median) where random needed 4; 1.00 of them, p = 1.00, 2 worlds\n"
    );
}

#[test]
fn nothing_is_said_about_experiments_without_a_baseline_or_another_line() {
    let mut study = small();
    study.baseline = "chance".into();
    assert_eq!(study_sentences(&study), "");
    assert!(!study_html(&study).contains("Experiments needed"));
    assert_eq!(study_figures(&study).len(), 1);
    let mut alone = small();
    alone.settings[0].lines.pop();
    assert_eq!(study_sentences(&alone), "");
    // A baseline that learns nothing: said, but not drawn.
    let mut flat = small();
    flat.settings[0].lines[0]
        .runs
        .iter_mut()
        .flat_map(|run| &mut run.rows)
        .for_each(|row| row.eshd = Some(9.0));
    assert!(study_sentences(&flat).contains("random learned nothing in any of 2 worlds"));
    assert!(study_html(&flat).contains("say nothing and are left out: 2 (E-SHD)."));
    assert_eq!(study_figures(&flat).len(), 1);
}

#[test]
fn the_same_input_gives_the_same_bytes() {
    let (study, run) = (common::study(3), common::run(12, true));
    assert_eq!(study_html(&study), study_html(&study.clone()));
    assert_eq!(run_html(&run), run_html(&run.clone()));
    assert_eq!(run_figures(&run), run_figures(&run.clone()));
}

#[test]
fn outside_text_is_escaped_and_numbers_are_numbers() {
    let (study, run) = common::odd();
    let html = page("</title><script>", &[Section::Study(&study), Section::Run(&run), Section::Text("<u>")]);
    // The page's own script comes after everything that others wrote.
    let (html, own) = html.split_once("</main>").unwrap();
    assert_eq!(own.matches("<script").count(), 1);
    for bad in ["<script", "<b>", "<i>", "<u>", "NaN", "inf\"", "inf "] {
        assert!(!html.contains(bad), "{bad} in the page");
    }
    for (stem, svg) in study_figures(&study).iter().chain(&run_figures(&run)) {
        assert!(!svg.contains("NaN") && !svg.contains("<i>") && !svg.contains("inf "), "{stem}");
    }
}

#[test]
fn gaps_split_a_line_and_its_band() {
    let mut study = small();
    study.settings[0].lines.remove(0);
    let svg = &study_figures(&study)[0].1;
    assert_eq!(
        svg.matches("<path class=\"line").count(),
        1,
        "the one of the legend: both points stand alone"
    );
    assert_eq!(svg.matches("<path class=\"band").count(), 0);
    assert_eq!(svg.matches("<title>soft-cbed,").count(), 2, "each point has a marker");
}

#[test]
fn one_seed_has_no_band() {
    assert!(study_figures(&common::study(1)).iter().all(|(_, svg)| !svg.contains("class=\"band")));
    // A share of worlds is one number, however many there are.
    let mean = |stem: &str| !stem.contains("-reached-");
    assert!(
        study_figures(&common::study(2)).iter().all(|(stem, svg)| mean(stem) == svg.contains("class=\"band"))
    );
}

#[test]
fn stems_are_different_even_if_names_are_not() {
    let mut study = common::study(1);
    study.settings[0].name = "é".into();
    study.settings[1].name = "ü".into();
    let mut stems: Vec<String> = study_figures(&study).into_iter().map(|figure| figure.0).collect();
    let count = stems.len();
    stems.sort();
    stems.dedup();
    assert_eq!(stems.len(), count);
}

#[test]
fn empty_things_have_pages() {
    assert!(study_html(&Study::default()).contains("No runs."));
    assert!(run_html(&RunView::default()).contains("</html>"));
    assert!(run_figures(&RunView::default()).is_empty());
    let unmeasured = RunView { names: vec!["A".into(), "B".into()], ..RunView::default() };
    assert_eq!(run_figures(&unmeasured).len(), 2);
}
