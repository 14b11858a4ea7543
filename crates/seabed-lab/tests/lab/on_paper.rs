//! The file against a plain model in memory: any sequence of commands leaves the same in both.

use std::collections::BTreeMap;
use std::path::PathBuf;

use proptest::prelude::*;
use seabed_lab::*;
use tempfile::TempDir;

use crate::common::*;

/// Proposed or not, what is set, how often.
type OnPaper = (bool, Vec<(String, f64)>, u32);

/// A status or targets, and cells.
type Line = (String, Vec<Option<f64>>);

/// A campaign as one would keep it on paper: lists and a stack of copies.
#[derive(Clone, Default, Debug, PartialEq)]
struct Paper {
    files: Vec<String>,
    rows: Vec<Line>,
    experiments: BTreeMap<i64, OnPaper>,
    /// (experiment, replicate): status, cells.
    records: BTreeMap<(i64, u32), Line>,
    /// Extra rows as first recorded.
    extras: Vec<Line>,
}

#[derive(Clone, Debug)]
enum Step {
    /// Add one of a few files, so that the same comes again; with --again?
    Add(u64, bool),
    Propose(usize, usize),
    /// Fill in some rows of the last form.
    Record(u64),
    /// One of a few extra rows.
    Extra(u64),
    /// Correct a replicate, chosen by the number.
    Amend(u64),
    Undo,
    Reopen,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        3 => (0u64..4, any::<bool>()).prop_map(|(file, again)| Step::Add(file, again)),
        3 => (1usize..4, 1usize..3).prop_map(|(batch, replicates)| Step::Propose(batch, replicates)),
        6 => any::<u64>().prop_map(Step::Record),
        2 => (0u64..3).prop_map(Step::Extra),
        4 => any::<u64>().prop_map(Step::Amend),
        3 => Just(Step::Undo),
        1 => Just(Step::Reopen),
    ];
    prop::collection::vec(step, 1..25)
}

/// What the file says, in the words of the model.
fn on_paper(state: &State) -> Paper {
    let names = state.variables.names();
    let joined = |targets: &[usize]| targets.iter().map(|&n| names[n].clone()).collect::<Vec<_>>().join(";");
    let mut paper = Paper::default();
    for source in &state.sources {
        paper.files.push(source.sha256.clone());
        paper.rows.extend(source.rows.iter().map(|row| (joined(&row.targets), row.cells.clone())));
    }
    for experiment in state.live() {
        let settings = experiment.settings.iter().map(|&(n, value)| (names[n].clone(), value)).collect();
        paper
            .experiments
            .insert(experiment.id, (experiment.proposal.is_some(), settings, experiment.replicates));
        for (&replicate, records) in &experiment.records {
            let newest = records.last().unwrap();
            let entry = (newest.status.name().to_string(), newest.row.cells.clone());
            paper.records.insert((experiment.id, replicate), entry);
        }
        if experiment.proposal.is_none() {
            let first = &experiment.records[&1][0].row;
            paper.extras.push((joined(&first.targets), first.cells.clone()));
        }
    }
    paper
}

/// Pending replicates by the model: planned and not recorded, or set back.
fn pending_on_paper(paper: &Paper) -> Vec<(i64, u32)> {
    let mut pending = Vec::new();
    for (&id, (_, _, replicates)) in &paper.experiments {
        let recorded = |replicate: u32| paper.records.get(&(id, replicate));
        let back = paper.records.keys().filter(|key| key.0 == id && key.1 > *replicates).map(|key| key.1);
        for replicate in (1..=*replicates).chain(back) {
            if recorded(replicate).is_none_or(|(status, _)| status == "pending") {
                pending.push((id, replicate));
            }
        }
    }
    pending
}

fn cell_text(cell: Option<f64>) -> String {
    cell.map_or(String::new(), |value| value.to_string())
}

struct Both {
    folder: TempDir,
    path: PathBuf,
    lab: Lab,
    paper: Paper,
    /// Copies from before each action in force.
    before: Vec<Paper>,
    next_experiment: i64,
}

impl Both {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (path, lab) = new_lab(folder.path());
        Self { folder, path, lab, paper: Paper::default(), before: Vec::new(), next_experiment: 1 }
    }

    fn done(&mut self, after: Paper) {
        self.before.push(std::mem::replace(&mut self.paper, after));
    }

    fn take(&mut self, step: &Step) {
        match step {
            Step::Add(file, again) => self.add(*file, *again),
            Step::Propose(batch, replicates) => self.propose(*batch, *replicates),
            Step::Record(choice) => self.record(*choice),
            Step::Extra(which) => self.extra(*which),
            Step::Amend(choice) => self.amend(*choice),
            Step::Undo => {
                let undone = self.lab.undo();
                match self.before.pop() {
                    None => assert!(matches!(undone, Err(LabError::NothingToUndo))),
                    Some(before) => {
                        undone.unwrap();
                        self.paper = before;
                    }
                }
            }
            Step::Reopen => self.lab = Lab::open(&self.path, WAIT).unwrap(),
        }
    }

    fn add(&mut self, file: u64, again: bool) {
        // File 3 has missing cells and targets.
        let text = match file {
            3 => "c,a,b,intervention_targets\n1,,2,\n,3,1,b\n0.5,1,0,a;b\n".to_string(),
            _ => observations(4 + file as usize, file),
        };
        let added = add(&mut self.lab, self.folder.path(), &text, again);
        let mut after = self.paper.clone();
        let seen = self.paper.files.contains(&file_mark(file));
        if seen && !again {
            assert!(matches!(added, Err(LabError::AddedBefore { .. })), "{added:?}");
            return;
        }
        let added = added.unwrap();
        after.files.push(file_mark(file));
        let rows: Vec<Line> = match file {
            3 => vec![
                (String::new(), vec![None, Some(2.0), Some(1.0)]),
                ("b".into(), vec![Some(3.0), Some(1.0), None]),
                ("a;b".into(), vec![Some(1.0), Some(0.0), Some(0.5)]),
            ],
            _ => text
                .lines()
                .skip(1)
                .map(|line| (String::new(), line.split(',').map(|x| x.parse().ok()).collect()))
                .collect(),
        };
        assert_eq!(added.rows, rows.len());
        assert_eq!(added.incomplete, rows.iter().filter(|row| row.1.contains(&None)).count());
        after.rows.extend(rows);
        self.done(after);
    }

    fn propose(&mut self, batch: usize, replicates: usize) {
        let complete = self.paper.rows.iter().filter(|row| !row.1.contains(&None)).count();
        let proposed = propose(&mut self.lab, &request(batch, replicates));
        let proposed = match proposed {
            Ok(proposed) => proposed,
            // Too few rows for a fit: nothing may have changed.
            Err(error) => {
                assert!(complete < 8, "{error}");
                return;
            }
        };
        let mut after = self.paper.clone();
        for (id, experiment) in proposed.experiments.iter().zip(&proposed.designed.batch) {
            assert_eq!(*id, self.next_experiment);
            self.next_experiment += 1;
            after.experiments.insert(*id, (true, experiment.targets.clone(), replicates as u32));
        }
        self.done(after);
    }

    /// Fills in some rows of a form of pending experiments, some with failures, some with another value set, some with
    /// an unplanned replicate.
    fn record(&mut self, choice: u64) {
        let mut draws = draws(choice);
        let mut text = String::from("experiment,replicate,a,b,c,intervention_targets,status\n");
        let mut after = self.paper.clone();
        let mut changes = 0;
        for (id, mut replicate) in pending_on_paper(&self.paper) {
            let (_, settings, _) = &self.paper.experiments[&id];
            let mut cells: Vec<Option<f64>> = ["a", "b", "c"]
                .iter()
                .map(|name| settings.iter().find(|(target, _)| target == name).map(|(_, value)| *value))
                .collect();
            let targets: Vec<&str> = settings.iter().map(|(name, _)| name.as_str()).collect();
            let shown = |cells: &[Option<f64>], status: &str, replicate: u32| {
                let cells: Vec<String> = cells.iter().map(|cell| cell_text(*cell)).collect();
                let name = experiment_name(id);
                format!("{name},{replicate},{},{},{status}\n", cells.join(","), targets.join(";"))
            };
            let kind = draws.below(5);
            // Replicate 9 was never planned.
            replicate = if kind == 3 { 9 } else { replicate };
            let taken = |paper: &Paper| paper.records.get(&(id, replicate)).cloned();
            if taken(&after) != taken(&self.paper) || taken(&self.paper).is_some_and(|r| r.0 != "pending") {
                continue;
            }
            match kind {
                0 => text += &shown(&cells, "", replicate),
                1 => {
                    text += &shown(&cells, "Failed", replicate);
                    after.records.insert((id, replicate), ("failed".into(), cells));
                    changes += 1;
                }
                kind => {
                    if kind == 2 && targets.contains(&"a") {
                        cells[0] = Some(1.25);
                    }
                    for (k, name) in ["a", "b", "c"].iter().enumerate().filter(|(_, n)| !targets.contains(n))
                    {
                        let missing = *name == "b" && kind == 4;
                        cells[k] = (!missing).then(|| 0.5 + draws.uniform());
                    }
                    text += &shown(&cells, if kind == 4 { "done" } else { "" }, replicate);
                    after.records.insert((id, replicate), ("done".into(), cells));
                    changes += 1;
                }
            }
        }
        let recorded = self.lab.record("form.csv", text.as_bytes(), false, false, "").unwrap();
        assert_eq!(recorded.done + recorded.failed + recorded.changed, changes, "{recorded:?}\n{text}");
        if changes > 0 {
            self.done(after);
        }
        // The same form again changes nothing.
        let again = self.lab.record("form.csv", text.as_bytes(), false, false, "").unwrap();
        assert_eq!((again.action, again.known), (None, changes));
    }

    fn extra(&mut self, which: u64) {
        let text = format!("a,b,c,intervention_targets\n1,{which},2.5,b\n");
        let recorded = self.lab.record("extra.csv", text.as_bytes(), false, false, "").unwrap();
        let row = ("b".to_string(), vec![Some(1.0), Some(which as f64), Some(2.5)]);
        if self.paper.extras.contains(&row) {
            assert_eq!((recorded.action, recorded.known), (None, 1));
            return;
        }
        let mut after = self.paper.clone();
        let id = self.next_experiment;
        self.next_experiment += 1;
        assert_eq!(recorded.extra, [id]);
        after.experiments.insert(id, (false, vec![("b".into(), which as f64)], 1));
        after.records.insert((id, 1), ("done".into(), row.1.clone()));
        after.extras.push(row);
        self.done(after);
    }

    fn amend(&mut self, choice: u64) {
        let recorded: Vec<(i64, u32)> = self.paper.records.keys().copied().collect();
        if recorded.is_empty() {
            return;
        }
        let mut draws = draws(choice);
        let (id, replicate) = recorded[draws.below(recorded.len())];
        let status = [None, Some(Status::Failed), Some(Status::Done), Some(Status::Pending)][draws.below(4)];
        let values = match draws.below(3) {
            0 => vec![],
            1 => vec![("c".to_string(), None)],
            _ => vec![("c".to_string(), Some(draws.uniform())), ("a".to_string(), Some(2.0))],
        };
        let mut after = self.paper.clone();
        let entry = after.records.get_mut(&(id, replicate)).unwrap();
        for (name, value) in &values {
            entry.1[if name == "a" { 0 } else { 2 }] = *value;
        }
        entry.0 = status.map_or(entry.0.clone(), |status| status.name().to_string());
        let correction = Correction { experiment: experiment_name(id), replicate, values, status };
        let amended = self.lab.amend(&correction, "").unwrap();
        if after == self.paper {
            assert_eq!(amended.action, None);
        } else {
            assert_eq!(amended.changed, 1);
            self.done(after);
        }
    }

    fn compare(&self) {
        let state = self.lab.state().unwrap();
        let mut there = on_paper(&state);
        // The model knows files by number, the campaign by hash: how many, and which are the same.
        assert_eq!(there.files.len(), self.paper.files.len());
        for (a, mark) in there.files.iter().zip(&self.paper.files) {
            for (b, other) in there.files.iter().zip(&self.paper.files) {
                assert_eq!(a == b, mark == other);
            }
        }
        there.files = self.paper.files.clone();
        assert_eq!(there, self.paper);
        let pending: Vec<(i64, u32)> = state.pending().map(|(experiment, r)| (experiment.id, r)).collect();
        assert_eq!(pending, pending_on_paper(&self.paper));
        let measured = self.paper.records.values().filter(|record| record.0 == "done").count();
        assert_eq!(state.rows().count(), self.paper.rows.len() + measured);
        let (data, aside) = state.data();
        let all = self.paper.rows.iter().map(|row| &row.1);
        let all = all.chain(self.paper.records.values().filter(|r| r.0 == "done").map(|r| &r.1));
        let missing = all.filter(|cells| cells.contains(&None)).count();
        assert_eq!(aside, missing);
        assert_eq!(data.map_or(0, |data| data.rows()), self.paper.rows.len() + measured - missing);
    }
}

fn file_mark(file: u64) -> String {
    format!("file {file}")
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, max_shrink_iters: 200, ..ProptestConfig::default() })]

    /// Any sequence of commands does to the file what it does to the lists on paper.
    #[test]
    fn the_file_is_the_plain_model(steps in steps()) {
        let mut both = Both::new();
        for step in &steps {
            both.take(step);
            both.compare();
        }
        prop_assert_eq!(both.lab.check().unwrap(), Vec::<String>::new());
        // Another process reads back the same.
        let other = Lab::open(&both.path, WAIT).unwrap();
        prop_assert_eq!(content(&other.state().unwrap()), content(&both.lab.state().unwrap()));
    }
}
