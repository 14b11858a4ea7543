//! What a report says of the experiments.

use seabed_lab::Lab;

use crate::common::*;

/// As proposed, with another value, failed, pending, and never proposed.
#[test]
fn every_experiment_is_reported_with_what_was_set_and_what_came() {
    let folder = tempfile::tempdir().unwrap();
    let (_, mut lab) = new_lab(folder.path());
    add(&mut lab, folder.path(), &observations(60, 1), false).unwrap();
    let proposed = propose(&mut lab, &request(2, 2)).unwrap();
    let blank = form(&lab, proposed.id);
    let mut lines: Vec<Vec<String>> =
        blank.lines().map(|line| line.split(',').map(String::from).collect()).collect();
    assert_eq!(lines.len(), 5, "{blank}");
    // experiment, replicate, a, b, c, intervention_targets, status
    for line in &mut lines[1..3] {
        line[2..5].iter_mut().filter(|cell| cell.is_empty()).for_each(|cell| *cell = "1".into());
    }
    let target = if lines[2][5] == "a" { 2 } else { 3 };
    // What was set differs only in digits that no page shows.
    let almost = lines[1][target].parse::<f64>().unwrap() * (1.0 - 1e-7);
    lines[1][target] = almost.to_string();
    lines[2][target] = if lines[2][target] == "1" { "0".into() } else { "1".into() };
    lines[3][6] = "failed".into();
    let mut filled = lines.iter().map(|line| line.join(",") + "\n").collect::<String>();
    filled += ",,5,1,2,b,\n";
    lab.record("filled.csv", filled.as_bytes(), false, false, "").unwrap();

    let view = lab.report_view("cells".into()).unwrap().unwrap();
    let table = &view.tables[0];
    assert_eq!(table.title, "Experiments");
    let cell = |row: usize, column: &str| {
        let at = table.header.iter().position(|name| name == column).unwrap();
        table.rows[row][at].replace('\u{a0}', " ")
    };
    let names = ["E001", "", "E002", "", "E003"];
    assert_eq!((0..5).map(|row| cell(row, "experiment")).collect::<Vec<_>>(), names, "{table:?}");
    assert_eq!(cell(0, "set"), "as proposed");
    let name = if target == 2 { "a" } else { "b" };
    assert!(cell(0, "proposed").starts_with(&format!("{name} = ")), "{table:?}");
    assert_eq!(cell(1, "set"), format!("{name} = {} (not as proposed)", lines[2][target]));
    assert!(cell(0, "came").ends_with("c 1") && !cell(0, "came").contains(&format!("{name} ")), "{table:?}");
    let cells = |row: usize| ["proposed", "set", "came"].map(|column| cell(row, column));
    assert_eq!((&cells(2)[2][..], &cells(3)[1..]), ("failed", &[String::new(), "pending".into()][..]));
    assert_eq!(cells(4), ["not proposed", "b = 1", "a 5, c 2"]);
    assert!(cell(0, "what for").contains("clear") || cell(0, "what for").contains("decides"), "{table:?}");

    assert!(view.asked.starts_with("This campaign asks which of 3 variables"), "{}", view.asked);
    assert_eq!(view.next, "One proposed measurement is still to be made and recorded.");
    let page = seabed_report::run_html(&view);
    for words in ["<h3>Effects</h3>", "<h3>Timeline</h3>", "<h3>Glossary</h3>", "between 10 and 90 %"] {
        assert!(page.contains(words), "{words}");
    }
}

/// What is told at once, and what takes long, are together what the status and the report say.
#[test]
fn an_overview_says_what_the_status_says() {
    let folder = tempfile::tempdir().unwrap();
    let (_, mut lab) = new_lab(folder.path());
    let looked_at = |lab: &Lab| {
        let overview = lab.overview(&()).unwrap();
        assert_eq!(overview.summary, lab.summary().unwrap());
        assert_eq!(lab.quick_summary().unwrap().completed_by(&overview.summary), overview.summary);
        assert_eq!(overview.edges, lab.edge_probabilities().unwrap());
        let page = |view: Option<seabed_report::RunView>| view.map(|view| seabed_report::run_html(&view));
        let report = page(lab.report_of("cells".into(), &overview).unwrap());
        assert_eq!(report, page(lab.report_view("cells".into()).unwrap()));
        overview
    };
    assert!(!looked_at(&lab).fresh);
    add(&mut lab, folder.path(), &observations(60, 1), false).unwrap();
    let proposed = propose(&mut lab, &request(2, 1)).unwrap();
    let overview = looked_at(&lab);
    assert!(overview.fresh);
    assert_eq!(overview.warnings[&proposed.id], proposed.warnings);
    lab.record("form.csv", b"a,b,c\n1,0,3\n", false, false, "").unwrap();
    assert!(!looked_at(&lab).fresh);
}
