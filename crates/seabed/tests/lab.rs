//! The laboratory's campaign: the file against a plain model in memory, bad files, bad forms, beliefs and proposals.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use proptest::prelude::*;
use seabed::campaign::PosteriorKind;
use seabed::campaign::lab::{
    AddOptions, Correction, Fitting, Lab, LabError, State, Status, Wishes, experiment_name, write_form,
};
use seabed::num::random::{Draws, Purpose, Seed};
use tempfile::TempDir;

const VARIABLES: &str = r#"
[[variable]]
name = "a"
unit = "nM"
transform = "log"
intervene = true
bounds = [0.1, 100]
[[variable]]
name = "b"
intervene = true
levels = [-1, 0, 1]
cost = 2
[[variable]]
name = "c"
"#;

const WAIT: Duration = Duration::from_secs(30);

fn new_lab(folder: &Path) -> (PathBuf, Lab) {
    let path = folder.join("cells.lab");
    Lab::create(&path, VARIABLES, 7, "").unwrap();
    let lab = Lab::open(&path, WAIT).unwrap();
    (path, lab)
}

fn draws(seed: u64) -> Draws {
    Seed::new(seed).stream(Purpose::Noise).draws()
}

/// ln a ~ N, b = ln a + noise, c = -b + noise.
fn observations(rows: usize, seed: u64) -> String {
    let mut draws = draws(seed);
    let mut text = String::from("a,b,c\n");
    for _ in 0..rows {
        let ln_a = draws.normal();
        let b = ln_a + 0.3 * draws.normal();
        text += &format!("{},{b},{}\n", ln_a.exp(), -b + 0.3 * draws.normal());
    }
    text
}

fn add(
    lab: &mut Lab,
    folder: &Path,
    text: &str,
    again: bool,
) -> Result<seabed::campaign::lab::Added, LabError> {
    let path = folder.join("data.csv");
    fs::write(&path, text).unwrap();
    lab.add(&path, &AddOptions { again, ..AddOptions::default() })
}

/// Quick: what is under test is the bookkeeping.
fn wishes(batch: usize, replicates: usize) -> Wishes {
    let mut wishes = Wishes::default();
    wishes.posterior.kind = PosteriorKind::Bootstrap;
    wishes.posterior.draws = 3;
    wishes.design.batch = batch;
    wishes.design.replicates = replicates;
    wishes.design.samples = 4;
    wishes.design.evaluations = 2;
    wishes
}

fn propose(lab: &mut Lab, wishes: &Wishes) -> Result<seabed::campaign::lab::Proposed, LabError> {
    lab.propose(wishes, "", &mut |_| true)
}

fn form(lab: &Lab, proposal: i64) -> String {
    let state = lab.state().unwrap();
    let mut out = Vec::new();
    write_form(&mut out, state.variables.names(), &state.form(proposal)).unwrap();
    String::from_utf8(out).unwrap()
}

/// Everything that the file is there to keep, as a text; times aside.
fn content(state: &State) -> String {
    format!("{:?} {:?} {:?} {:?}", state.revision(), state.sources, state.proposals, state.experiments)
}

// ---------------------------------------------------------------------------------------------------------------------
// The file against a plain model.

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
    /// Extra rows as they were brought.
    brought: Vec<Line>,
}

#[derive(Clone, Debug)]
enum Step {
    /// A file of so many rows, one of few, so that the same comes again; with --again?
    Add(u64, bool),
    Propose(usize, usize),
    /// Fill in some rows of the last form.
    Record(u64),
    /// An extra row, one of few.
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
            paper.brought.push((joined(&first.targets), first.cells.clone()));
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
        let proposed = propose(&mut self.lab, &wishes(batch, replicates));
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
        if self.paper.brought.contains(&row) {
            assert_eq!((recorded.action, recorded.known), (None, 1));
            return;
        }
        let mut after = self.paper.clone();
        let id = self.next_experiment;
        self.next_experiment += 1;
        assert_eq!(recorded.extra, [id]);
        after.experiments.insert(id, (false, vec![("b".into(), which as f64)], 1));
        after.records.insert((id, 1), ("done".into(), row.1.clone()));
        after.brought.push(row);
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

    /// Any sequence of commands does to the file what it does to lists on paper.
    #[test]
    fn the_file_is_the_plain_model(steps in steps()) {
        let mut both = Both::new();
        for step in &steps {
            both.take(step);
            both.compare();
        }
        prop_assert_eq!(both.lab.check().unwrap(), Vec::<String>::new());
        // What is read back by another process is the same.
        let other = Lab::open(&both.path, WAIT).unwrap();
        prop_assert_eq!(content(&other.state().unwrap()), content(&both.lab.state().unwrap()));
    }
}

// ---------------------------------------------------------------------------------------------------------------------
// Files that are no campaigns.

/// The error of opening, after which the file and its folder must be as they were.
fn refusal(path: &Path) -> LabError {
    let before = fs::read(path).ok();
    let names = |folder: &Path| {
        let mut names: Vec<_> = fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name()).collect();
        names.sort();
        names
    };
    let folder = path.parent().unwrap();
    let beside = names(folder);
    let error = Lab::open(path, WAIT).err().unwrap_or_else(|| panic!("{} was opened", path.display()));
    assert_eq!(fs::read(path).ok(), before, "the file was changed");
    assert_eq!(names(folder), beside, "something was left beside the file");
    error
}

#[test]
fn what_is_no_campaign_is_refused_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("empty"), "").unwrap();
    fs::write(at("table.csv"), "a,b\n1,2\n").unwrap();
    let other = rusqlite::Connection::open(at("other.db")).unwrap();
    other.execute_batch("CREATE TABLE t (x); INSERT INTO t VALUES (1);").unwrap();
    drop(other);
    for (name, part) in [
        ("empty", "it is empty"),
        ("table.csv", "another kind of file"),
        ("other.db", "the database of another program"),
        ("nothing", "there is no such file"),
        ("", "it is a folder"),
    ] {
        let error =
            if name.is_empty() { Lab::open(folder.path(), WAIT).err().unwrap() } else { refusal(&at(name)) };
        let message = error.to_string();
        assert!(matches!(error, LabError::NotACampaign { .. }) && message.contains(part), "{message}");
    }
    assert!(!at("nothing").exists());
}

#[test]
fn newer_damaged_and_cut_off_campaigns_are_refused_and_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let (path, mut lab) = new_lab(folder.path());
    add(&mut lab, folder.path(), &observations(300, 1), false).unwrap();
    drop(lab);
    let whole = fs::read(&path).unwrap();
    let with = |name: &str, bytes: &[u8]| {
        let folder = folder.path().join(name);
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("x.lab"), bytes).unwrap();
        folder.join("x.lab")
    };
    let mut newer = whole.clone();
    newer[60..64].copy_from_slice(&99u32.to_be_bytes());
    let error = refusal(&with("newer", &newer));
    assert!(matches!(error, LabError::Newer { found: 99, .. }), "{error}");
    for cut in [50, 99, 100, 4096, whole.len() / 2, whole.len() - 1] {
        let error = refusal(&with(&format!("cut-{cut}"), &whole[..cut]));
        assert!(matches!(error, LabError::Damaged { .. }), "{cut}: {error}");
    }
    // Noise over the inner pages.
    let mut draws = draws(3);
    for page in 1..whole.len() / 4096 {
        let mut damaged = whole.clone();
        damaged[page * 4096..(page + 1) * 4096].iter_mut().for_each(|byte| *byte = draws.bits() as u8);
        let error = refusal(&with(&format!("noise-{page}"), &damaged));
        assert!(matches!(error, LabError::Damaged { .. }), "{error}");
    }
    // Bits that flip anywhere: never a panic; a file that still opens still answers.
    for k in 0..200 {
        let mut flipped = whole.clone();
        flipped[draws.below(whole.len())] ^= 1 << draws.below(8);
        let path = with(&format!("flip-{k}"), &flipped);
        if let Ok(lab) = Lab::open(&path, WAIT) {
            let _ = (lab.state().map(|state| state.rows().count()), lab.check());
        }
    }
    assert!(
        Lab::create(&path, VARIABLES, 1, "").is_err_and(|error| matches!(error, LabError::Exists { .. }))
    );
    assert_eq!(fs::read(&path).unwrap(), whole);
    Lab::open(&path, WAIT).unwrap();
}

/// A digit that changes on the disk is still a number: only the fingerprint tells.
#[test]
fn a_changed_value_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let (path, mut lab) = new_lab(folder.path());
    add(&mut lab, folder.path(), &observations(10, 1), false).unwrap();
    lab.record("extra.csv", b"a,b,c\n1,2,3\n", false, false, "").unwrap();
    lab.undo().unwrap();
    assert_eq!(lab.check().unwrap(), Vec::<String>::new());
    let other = rusqlite::Connection::open(&path).unwrap();
    for (sql, action) in [
        ("UPDATE measured SET cells = '[1,2,3.5]' WHERE id = 7", 2),
        ("UPDATE record SET cells = '[1,2,4]'", 3),
        ("UPDATE action SET note = 'mine' WHERE id = 1", 1),
        ("DELETE FROM record", 3),
    ] {
        other.execute_batch(sql).unwrap();
        let problems = lab.check().unwrap();
        let expected = format!("what action {action} wrote is not what it was");
        assert!(problems.contains(&expected), "{sql}: {problems:?}");
    }
}

// ---------------------------------------------------------------------------------------------------------------------
// Bad data, bad forms.

#[test]
fn bad_data_are_refused_as_a_whole_and_odd_data_are_warned_of() {
    let folder = tempfile::tempdir().unwrap();
    let (_, mut lab) = new_lab(folder.path());
    add(&mut lab, folder.path(), &observations(20, 1), false).unwrap();
    let before = content(&lab.state().unwrap());
    for (text, part) in [
        ("a,b\n1,2\n", "there is no column \"c\""),
        ("a,b,c,cc\n1,2,3,4\n", "\"cc\" is no variable of the campaign; did you mean \"c\"?"),
        ("a,b,c\n", "there are no rows"),
        ("a,b,c\n0,1,2\n", "0 has no transform `log`"),
        ("a,b,c\n1,x,2\n", "\"x\" is not a number"),
        ("a,b,c,intervention_targets\n1,2,3,d\n", "\"d\" is no variable"),
        ("a,b,c,status\n1,2,3,done\n", "`seabed lab record`"),
        ("a,a,b,c\n1,1,2,3\n", "two columns are called \"a\""),
    ] {
        let message = add(&mut lab, folder.path(), text, false).unwrap_err().to_string();
        assert!(message.contains(part), "{text}: {message}");
        assert_eq!(content(&lab.state().unwrap()), before);
    }
    let odd = "a,b,c,intervention_targets\n5,0.5,3,b\n1,0,3000,\n2,1,2,a\n200,0,1,a\n,1,1,a\n450,1,1,\n";
    let added = add(&mut lab, folder.path(), odd, false).unwrap();
    assert_eq!((added.rows, added.interventional, added.incomplete), (6, 4, 1));
    for part in [
        "b was set to a value",
        "a was set to a value",
        "a was set, but to what is not said",
        "c: row 2 has 3000",
        "1 values of a are far outside its bounds 0.1 to 100, first in row 6 (450)",
    ] {
        assert!(added.warnings.iter().any(|warning| warning.contains(part)), "{part}: {:?}", added.warnings);
    }
}

/// 200 forms with something wrong, missing, moved or mangled: never a panic, and never a change unless it is accepted;
/// what is accepted keeps the campaign sound.
#[test]
fn mangled_forms_do_no_harm() {
    let folder = tempfile::tempdir().unwrap();
    let (_, mut lab) = new_lab(folder.path());
    add(&mut lab, folder.path(), &observations(30, 1), false).unwrap();
    let proposed = propose(&mut lab, &wishes(4, 2)).unwrap();
    let blank = form(&lab, proposed.id);
    let filled: String =
        blank.lines().map(|line| line.replace(",,", ",1.5,").replace(",,", ",2.5,") + "\n").collect();
    assert!(filled != blank);
    let mut draws = draws(11);
    let (mut accepted, mut refused) = (0, 0);
    for _ in 0..200 {
        let bytes = mangled(filled.as_bytes(), &mut draws);
        let before = content(&lab.state().unwrap());
        match lab.record("mangled.csv", &bytes, draws.below(2) == 0, false, "") {
            Err(_) => {
                refused += 1;
                assert_eq!(content(&lab.state().unwrap()), before);
            }
            Ok(recorded) => {
                accepted += 1;
                assert_eq!(recorded.action.is_some(), content(&lab.state().unwrap()) != before);
                if recorded.action.is_some() {
                    lab.undo().unwrap();
                }
            }
        }
    }
    assert_eq!(lab.check().unwrap(), Vec::<String>::new());
    assert!(
        accepted > 20 && refused > 50,
        "{accepted} accepted, {refused} refused: the mangling is too strong or weak"
    );
    // The whole form still goes in.
    assert_eq!(lab.record("form.csv", filled.as_bytes(), false, false, "").unwrap().done, 8);
}

fn mangled(form: &[u8], draws: &mut Draws) -> Vec<u8> {
    let mut lines: Vec<Vec<String>> = String::from_utf8_lossy(form)
        .lines()
        .map(|line| line.split(',').map(String::from).collect())
        .collect();
    for _ in 0..1 + draws.below(2) {
        let (row, rows) = (draws.below(lines.len()), lines.len());
        let column = draws.below(lines[row].len().max(1));
        let words = [
            "",
            "NA",
            "1e999",
            "-1e308",
            "x",
            "1,5",
            "\"",
            "E999",
            "E001",
            "e2",
            "failed",
            "done",
            "pending",
            "maybe",
            "0",
            "-1",
            "2",
            "99999999999",
            "a;b",
            "a",
            "\u{0}",
            "ß",
            "nan",
            "a;b;c;d",
        ];
        match draws.below(8) {
            0..=3 => {
                if let Some(cell) = lines[row].get_mut(column) {
                    *cell = words[draws.below(words.len())].to_string();
                }
            }
            4 => {
                lines.remove(row);
            }
            5 => {
                let copy = lines[row].clone();
                lines.insert(draws.below(rows), copy);
            }
            6 => {
                if column < lines[row].len() {
                    lines[row].remove(column);
                }
            }
            _ => {
                let mut bytes: Vec<u8> =
                    lines.iter().map(|line| line.join(",")).collect::<Vec<_>>().join("\n").into_bytes();
                let at = draws.below(bytes.len().max(1));
                match draws.below(3) {
                    0 => bytes.truncate(at),
                    1 => bytes.iter_mut().skip(at).take(1).for_each(|byte| *byte = draws.bits() as u8),
                    _ => bytes.extend_from_within(at..),
                }
                return bytes;
            }
        }
        if lines.is_empty() {
            break;
        }
    }
    (lines.iter().map(|line| line.join(",")).collect::<Vec<_>>().join("\n") + "\n").into_bytes()
}

/// What a laboratory does with a form, case by case.
#[test]
fn forms_are_understood() {
    let folder = tempfile::tempdir().unwrap();
    let (_, mut lab) = new_lab(folder.path());
    add(&mut lab, folder.path(), &observations(30, 1), false).unwrap();
    let mut ask = wishes(2, 1);
    ask.max_repeats = Some(1);
    let proposed = propose(&mut lab, &ask).unwrap();
    let state = lab.state().unwrap();
    let on = |name: &str| {
        let at = proposed.designed.batch.iter().position(|e| e.targets[0].0 == name).unwrap();
        (experiment_name(proposed.experiments[at]), proposed.designed.batch[at].targets[0].1)
    };
    let ((a, set), (b, _)) = (on("a"), on("b"));
    assert_eq!(state.pending().count(), 2);
    let record = |lab: &mut Lab, rows: &str, amend: bool| {
        let text = format!("experiment,replicate,a,b,c,intervention_targets,status,note\n{rows}");
        lab.record("form.csv", text.as_bytes(), amend, false, "")
    };
    let refused = |lab: &mut Lab, rows: &str, part: &str| {
        let message = record(lab, rows, false).unwrap_err().to_string();
        assert!(message.contains(part), "{rows}: {message}");
    };
    // What was set as proposed need not be written; a note is the laboratory's own.
    assert_eq!(record(&mut lab, &format!("{a},1,,0.5,,,,hello\n"), false).unwrap().done, 1);
    let newest = |lab: &Lab, name: &str, replicate: u32| {
        let id: i64 = name[1..].parse().unwrap();
        let state = lab.state().unwrap();
        state.experiments.iter().find(|e| e.id == id).unwrap().newest(replicate).unwrap().clone()
    };
    assert_eq!(newest(&lab, &a, 1).row.cells, [Some(set), Some(0.5), None]);
    // The missing cell arrives later: completed, without `amend`.
    assert_eq!(record(&mut lab, &format!("{a},1,,0.5,2,,,\n"), false).unwrap().changed, 1);
    // A contradiction is a correction, and the old value stays in the history.
    refused(
        &mut lab,
        &format!("{a},1,,0.6,2,,,\n"),
        "is recorded with b = 0.5, here it is 0.6; to correct it",
    );
    refused(&mut lab, &format!("{a},1,,,,,failed,\n"), "as done, here it is failed");
    assert_eq!(record(&mut lab, &format!("{a},1,,0.6,2,,,\n"), true).unwrap().changed, 1);
    let histories = |lab: &Lab| -> Vec<usize> {
        lab.state()
            .unwrap()
            .live()
            .flat_map(|e| e.records.values().map(Vec::len).collect::<Vec<_>>())
            .collect()
    };
    assert_eq!(histories(&lab), [3]);
    refused(&mut lab, &format!("{a},1,1,1,1,b,,\n"), "sets \"a\", not \"b\"");
    refused(&mut lab, "E900,1,1,1,1,,,\n", "there is no experiment E900");
    refused(&mut lab, "17,1,1,1,1,,,\n", "experiments are called E001");
    refused(&mut lab, &format!("{a},0,1,1,1,,,\n"), "count from 1");
    refused(&mut lab, &format!("{a},1,1,1,1,,perhaps,\n"), "is no status");
    refused(&mut lab, &format!("{b},1,,,,,done,\n"), "nothing was measured");
    refused(&mut lab, &format!("{b},1,1,,,,pending,\n"), "the status is pending");
    refused(&mut lab, &format!("{b},1,1,,1,,,\n{b},1,2,,1,,,\n"), "with other values");
    refused(&mut lab, ",2,1,1,1,a,,\n", "replicates belong to an experiment");
    refused(&mut lab, ",,,,,a,failed,\n", "cannot fail");
    // A failure; a second try as a replicate that was not planned, at a value that was not proposed.
    assert_eq!(record(&mut lab, &format!("{b},,,,,b,failed,\n"), false).unwrap().failed, 1);
    assert_eq!(lab.state().unwrap().pending().count(), 0);
    assert_eq!(record(&mut lab, &format!("{b},2,3,0.25,1,b,,\n"), false).unwrap().done, 1);
    assert_eq!(newest(&lab, &b, 2).row.cells, [Some(3.0), Some(0.25), Some(1.0)]);
    // Nobody proposed this; the same row again is the same measurement.
    let extra = record(&mut lab, ",,2,0,1,a;b,,\n,,2,0,1,,,\n", false).unwrap();
    assert_eq!((extra.done, extra.extra.len()), (2, 2));
    assert_eq!(record(&mut lab, ",,2,0,1,a;b,,\n,,2,0,1,,,\n", false).unwrap().known, 2);
    // An undone proposal's form is not taken for another's.
    let second = propose(&mut lab, &wishes(1, 1)).unwrap();
    lab.undo().unwrap();
    refused(
        &mut lab,
        &format!("{},1,1,1,1,,,\n", experiment_name(second.experiments[0])),
        "it was taken back",
    );
    let third = propose(&mut lab, &wishes(1, 1)).unwrap();
    assert!(
        third.id > second.id && third.experiments[0] > second.experiments[0],
        "numbers are never used again"
    );
}

// ---------------------------------------------------------------------------------------------------------------------
// Beliefs and proposals.

#[test]
fn a_fit_that_is_stopped_goes_on_and_ends_the_same() {
    // Chains are stopped while sets of parents are scored, and later.
    for (kind, stops) in [(PosteriorKind::DibsLinear, [20, 40]), (PosteriorKind::McmcGp, [100, 450])] {
        let mut ask = wishes(2, 1);
        ask.posterior.kind = kind;
        ask.posterior.particles = 3;
        ask.posterior.steps = 60;
        ask.posterior.draws = 20;
        let folder = tempfile::tempdir().unwrap();
        let with = |name: &str, stops: &[u64]| {
            let folder = folder.path().join(name);
            fs::create_dir(&folder).unwrap();
            let (path, mut lab) = new_lab(&folder);
            add(&mut lab, &folder, &observations(40, 2), false).unwrap();
            let mut last = 0;
            for &stop in stops {
                let mut seen = Vec::new();
                let stopped = lab.propose(&ask, "", &mut |now| {
                    let Fitting::Fit(done, _) = now else { return true };
                    seen.push(done);
                    done < stop
                });
                assert!(stopped.unwrap_err().to_string().contains("the same command goes on"));
                assert!(seen[0] >= last, "it began anew: {seen:?}");
                last = *seen.last().unwrap();
                lab = Lab::open(&path, WAIT).unwrap();
            }
            let proposed = propose(&mut lab, &ask).unwrap();
            assert_eq!(lab.check().unwrap(), Vec::<String>::new());
            (proposed.designed.batch, proposed.belief.edge_entropy, lab.edge_probabilities().unwrap())
        };
        assert_eq!(with("stopped", &stops), with("whole", &[]));
    }
}

/// With the same campaign and wishes the proposal is the same; after it, the same wishes lead elsewhere.
#[test]
fn proposals_are_reproducible_and_do_not_repeat_what_is_pending() {
    let folder = tempfile::tempdir().unwrap();
    let mut ask = wishes(1, 1);
    ask.posterior.draws = 30;
    ask.design.samples = 50;
    ask.design.strategy = seabed::design::Strategy::GreedyCbed;
    let run = |name: &str| {
        let folder = folder.path().join(name);
        fs::create_dir(&folder).unwrap();
        let (_, mut lab) = new_lab(&folder);
        add(&mut lab, &folder, &observations(25, 5), false).unwrap();
        let first = propose(&mut lab, &ask).unwrap();
        let second = propose(&mut lab, &ask).unwrap();
        assert_eq!((first.pending, second.pending), (0, 1));
        // What is left to learn beyond the pending outcome is less, and both know the same data.
        assert!(second.designed.entropy < first.designed.entropy);
        assert_eq!(first.belief, second.belief);
        let summary = lab.summary().unwrap();
        assert_eq!((summary.pending.len(), summary.rounds.len()), (2, 2));
        assert!(!summary.not_yet_learned);
        for experiment in first.designed.batch.iter().chain(&second.designed.batch) {
            for (name, value) in &experiment.targets {
                match name.as_str() {
                    "a" => assert!((0.1..=100.0).contains(value)),
                    "b" => assert!([-1.0, 0.0, 1.0].contains(value)),
                    other => panic!("{other} cannot be set"),
                }
            }
        }
        let free = |designed: &seabed::campaign::Designed| {
            (designed.batch.clone(), designed.information, designed.evaluated.clone())
        };
        (free(&first.designed), free(&second.designed))
    };
    assert_eq!(run("one"), run("two"));
}

#[test]
fn what_was_learned_is_told_and_exported() {
    let folder = tempfile::tempdir().unwrap();
    let (_, mut lab) = new_lab(folder.path());
    assert!(matches!(propose(&mut lab, &wishes(1, 1)), Err(LabError::NoData)));
    assert!(lab.edge_probabilities().unwrap().is_none());
    add(&mut lab, folder.path(), &observations(200, 1), false).unwrap();
    let proposed = propose(&mut lab, &wishes(3, 1)).unwrap();
    let filled = form(&lab, proposed.id).replace(",,", ",1,").replace(",,", ",1,");
    lab.record("f.csv", filled.as_bytes(), false, false, "").unwrap();
    let summary = lab.summary().unwrap();
    assert!(summary.not_yet_learned && summary.pending.is_empty());
    assert_eq!((summary.rows, summary.interventional, summary.rounds[0].done), (203, 3, 3));
    let learned = lab.learned_summary(&mut |_| true).unwrap();
    assert!(!learned.not_yet_learned && learned.next_information.is_some());
    assert_eq!(learned.belief.unwrap().rows, 203);
    assert!(!lab.summary().unwrap().not_yet_learned, "the belief is kept");
    let out = folder.path().join("export");
    lab.export(&out).unwrap();
    let lines = |name: &str| fs::read_to_string(out.join(name)).unwrap().lines().count();
    assert_eq!(
        (lines("data.csv"), lines("experiments.csv"), lines("actions.csv"), lines("edges.csv")),
        (204, 4, 5, 7)
    );
    let all: serde_json::Value =
        serde_json::from_slice(&fs::read(out.join("campaign.json")).unwrap()).unwrap();
    assert_eq!(all["sources"][0]["rows"].as_array().unwrap().len(), 200);
    // The exported data are data.
    seabed::data::read_table(&out.join("data.csv"), &seabed::data::ReadOptions::default()).unwrap();
}

/// The proteins of Sachs et al. (2005) as a campaign: observations first, then the interventions that were made. Prints
/// the proposals and the edges that were learned.
#[test]
fn the_proteins_of_sachs() {
    let Some(data) = seabed_testkit::shared("data/sachs.csv") else { return };
    let text = fs::read_to_string(&data).unwrap();
    let targets = ["pkc", "pka", "mek", "akt", "pip2", "pip3"];
    let (header, rows) = text.split_once('\n').unwrap();
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, observed: bool| {
        let path = folder.path().join(name);
        let rows = rows.lines().filter(|row| row.trim_end().ends_with(',') == observed);
        fs::write(&path, format!("{header}\n{}\n", rows.collect::<Vec<_>>().join("\n"))).unwrap();
        path
    };
    let (observed, set) = (write("observed.csv", true), write("set.csv", false));
    let ignore = vec!["condition".to_string()];
    let all = seabed::data::read_table(&data, &seabed::data::ReadOptions { ignore: ignore.clone() })
        .unwrap()
        .dataset;
    let mut variables = String::new();
    for (name, column) in all.names().iter().zip(all.columns()) {
        let low = column.iter().copied().fold(f64::INFINITY, f64::min);
        let high = column.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let can = targets.contains(&name.as_str());
        variables +=
            &format!("[[variable]]\nname = \"{name}\"\nintervene = {can}\nbounds = [{low:?}, {high:?}]\n");
    }
    let path = folder.path().join("sachs.lab");
    Lab::create(&path, &variables, 1, "").unwrap();
    let mut lab = Lab::open(&path, WAIT).unwrap();
    let mut ask = Wishes::default();
    // The usual posterior takes minutes for so many rows.
    ask.posterior.kind = PosteriorKind::Bootstrap;
    ask.posterior.draws = 30;
    ask.design.batch = 6;
    ask.design.samples = 50;
    ask.max_repeats = Some(2);
    let mut entropies = Vec::new();
    for file in [&observed, &set] {
        let added = lab.add(file, &AddOptions { ignore: ignore.clone(), ..AddOptions::default() }).unwrap();
        let proposed = propose(&mut lab, &ask).unwrap();
        println!("{} rows, {} with interventions", added.rows, added.interventional);
        for (id, experiment) in proposed.experiments.iter().zip(&proposed.designed.batch) {
            let (name, value) = &experiment.targets[0];
            assert!(targets.contains(&name.as_str()));
            println!("  {} do({name} = {value}): {:.3} nats", experiment_name(*id), experiment.information);
        }
        let designed = &proposed.designed;
        println!(
            "  together {:.3} of {:.3} nats; edge entropy {:.2}",
            designed.information, designed.entropy, proposed.belief.edge_entropy
        );
        let probabilities = lab.edge_probabilities().unwrap().unwrap();
        let names = all.names();
        for (i, row) in probabilities.iter().enumerate() {
            for (j, p) in row.iter().enumerate().filter(|(_, p)| **p >= 0.5) {
                println!("  {p:.2} {} -> {}", names[i], names[j]);
            }
        }
        entropies.push(proposed.belief.edge_entropy);
    }
    // Directions that observations leave open are decided by interventions.
    assert!(entropies[1] < entropies[0], "{entropies:?}");
    assert_eq!(lab.check().unwrap(), Vec::<String>::new());
}
