//! Beliefs and proposals: stopped and resumed, reproducible, summarised and exported; the proteins of Sachs et al.

use std::fs;
use std::sync::Mutex;

use seabed::design::{Replicates, Strategy};
use seabed::observer::Progress;
use seabed::posterior::PosteriorKind;
use seabed_lab::*;

use crate::common::*;

/// Rows that were chosen one by one are replicates of one experiment in the form.
#[test]
fn rows_of_an_experiment_stand_together_when_they_are_chosen_automatically() {
    let folder = tempfile::tempdir().unwrap();
    let (_, mut lab) = new_lab(folder.path());
    add(&mut lab, folder.path(), &observations(25, 5), false).unwrap();
    let mut ask = request(5, 1);
    ask.design.replicates = Replicates::Auto;
    ask.design.experiment_cost = 1000.0;
    let proposed = propose(&mut lab, &ask).unwrap();
    let state = lab.state().unwrap();
    assert_eq!(proposed.experiments.len(), 1, "experiments are dear");
    assert_eq!(state.form(proposed.id).len(), 5);
    assert_eq!(serde_json::json!(proposed)["batch"][0]["rows"], 5);
}

/// What is learned already takes nothing, and a design adds to what a fit takes.
#[test]
fn the_work_to_come_is_estimated() {
    let folder = tempfile::tempdir().unwrap();
    let (_, mut lab) = new_lab(folder.path());
    add(&mut lab, folder.path(), &observations(25, 5), false).unwrap();
    let ask = request(2, 1);
    let effort = |lab: &Lab, ask: &ProposalRequest, with_design: bool| {
        lab.effort(&lab.state().unwrap(), ask, with_design).unwrap().seconds
    };
    let (fit, both) = (effort(&lab, &ask, false), effort(&lab, &ask, true));
    assert!(0.0 < fit && fit < both && both < 1.0, "{fit} {both}");
    let mut many = ask.clone();
    many.posterior.kind = PosteriorKind::McmcLinear;
    many.posterior.draws = 3000;
    many.design.samples = 1000;
    assert!(effort(&lab, &many, true) > 10.0 * effort(&lab, &many, false));
    propose(&mut lab, &ask).unwrap();
    assert_eq!(effort(&lab, &ask, false), 0.0);
    assert_eq!(lab.state().unwrap().last_request(), ask);
}

#[test]
fn a_stopped_fit_continues_and_ends_the_same() {
    // Chains are stopped while sets of parents are scored, and later.
    for (kind, stops) in [(PosteriorKind::DibsLinear, [20, 40]), (PosteriorKind::McmcGp, [100, 450])] {
        let mut ask = request(2, 1);
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
                let seen = Mutex::new(Vec::new());
                let until = |progress: &Progress<'_>| {
                    seen.lock().unwrap().push(progress.done);
                    progress.done < stop
                };
                let stopped = lab.propose(&ask, "", &until);
                assert!(stopped.unwrap_err().to_string().contains("the same command continues"));
                let seen = seen.into_inner().unwrap();
                assert!(seen[0] >= last, "it started over: {seen:?}");
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

/// A stop while the models are checked loses nothing of the fit before it.
#[test]
fn a_stop_during_the_checks_keeps_the_fit() {
    let folder = tempfile::tempdir().unwrap();
    let mut ask = request(2, 1);
    ask.posterior.kind = PosteriorKind::McmcLinear;
    ask.posterior.draws = 20;
    let with = |name: &str, stopped: bool| {
        let folder = folder.path().join(name);
        fs::create_dir(&folder).unwrap();
        let (_, mut lab) = new_lab(&folder);
        add(&mut lab, &folder, &observations(40, 2), false).unwrap();
        if stopped {
            let until = |progress: &Progress<'_>| !progress.what.to_string().contains("graphs checked");
            let stopped = lab.propose(&ask, "", &until).unwrap_err().to_string();
            assert!(stopped.contains("the same command continues"), "{stopped}");
            assert!(lab.edge_probabilities().unwrap().is_none(), "it is no belief yet");
        }
        let swept = Mutex::new(false);
        let watch = |progress: &Progress<'_>| {
            *swept.lock().unwrap() |= progress.what.to_string().contains("sweeps");
            true
        };
        let proposed = lab.propose(&ask, "", &watch).unwrap();
        assert_eq!(swept.into_inner().unwrap(), !stopped, "the chains run once");
        (proposed.designed.batch, proposed.belief.edge_entropy)
    };
    assert_eq!(with("stopped", true), with("whole", false));
}

/// The same campaign and request give the same proposal; after it, the same request gives another.
#[test]
fn proposals_are_reproducible_and_do_not_repeat_what_is_pending() {
    let folder = tempfile::tempdir().unwrap();
    let mut ask = request(1, 1);
    ask.posterior.draws = 30;
    ask.design.samples = 50;
    let run = |name: &str| {
        let folder = folder.path().join(name);
        fs::create_dir(&folder).unwrap();
        let (_, mut lab) = new_lab(&folder);
        add(&mut lab, &folder, &observations(25, 5), false).unwrap();
        let first = propose(&mut lab, &ask).unwrap();
        let second = propose(&mut lab, &ask).unwrap();
        assert_eq!((first.pending, second.pending), (0, 1));
        // With an outcome pending less is left to learn, although both beliefs know the same data.
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
        let free = |designed: &seabed::design::DesignRecord| {
            (designed.batch.clone(), designed.information, designed.evaluated.clone())
        };
        (free(&first.designed), free(&second.designed))
    };
    assert_eq!(run("one"), run("two"));
}

#[test]
fn what_was_learned_is_summarised_and_exported() {
    let folder = tempfile::tempdir().unwrap();
    let (_, mut lab) = new_lab(folder.path());
    assert!(matches!(propose(&mut lab, &request(1, 1)), Err(LabError::NoData)));
    assert!(lab.edge_probabilities().unwrap().is_none());
    add(&mut lab, folder.path(), &observations(200, 1), false).unwrap();
    let proposed = propose(&mut lab, &request(3, 1)).unwrap();
    let filled = form(&lab, proposed.id).replace(",,", ",1,").replace(",,", ",1,");
    lab.record("f.csv", filled.as_bytes(), false, false, "").unwrap();
    let summary = lab.summary().unwrap();
    assert!(summary.not_yet_learned && summary.pending.is_empty());
    assert_eq!((summary.rows, summary.interventional, summary.rounds[0].done), (203, 3, 3));
    let learned = lab.learned_summary(true, &()).unwrap();
    assert!(!learned.not_yet_learned && learned.next_information.is_some());
    assert_eq!(learned.belief.unwrap().rows, 203);
    assert!(!lab.summary().unwrap().not_yet_learned, "the belief is stored");
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
    // The exported data can be read as data.
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
    let all = seabed::data::read_table(&data, &seabed::data::ReadOptions::ignoring(&ignore)).unwrap().dataset;
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
    let mut ask = ProposalRequest::default();
    // The default posterior takes minutes for so many rows.
    ask.posterior.kind = PosteriorKind::Bootstrap;
    ask.design.strategy = Strategy::SoftCbed;
    ask.posterior.draws = 30;
    ask.design.batch = 6;
    ask.design.samples = 50;
    ask.max_repeats = Some(2);
    let mut undecided = Vec::new();
    for file in [&observed, &set] {
        let added = lab
            .add(
                file,
                &AddOptions { read: seabed::data::ReadOptions::ignoring(&ignore), ..AddOptions::default() },
                &(),
            )
            .unwrap();
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
        undecided.push(undecided_directions(&probabilities));
    }
    // Directions that observations leave open are decided by interventions.
    assert!(undecided[1] < 0.5 * undecided[0], "{undecided:?}");
    assert_eq!(lab.check().unwrap(), Vec::<String>::new());
}

/// The share of the less likely direction, on average over the pairs that are more likely joined than not.
fn undecided_directions(probabilities: &[Vec<f64>]) -> f64 {
    let count = probabilities.len();
    let pairs = (0..count).flat_map(|i| (0..i).map(move |j| (probabilities[i][j], probabilities[j][i])));
    let joined: Vec<f64> = pairs.filter(|(a, b)| a + b > 0.5).map(|(a, b)| a.min(b) / (a + b)).collect();
    joined.iter().sum::<f64>() / joined.len() as f64
}

/// The second fit reuses the scores of the first: nothing is recomputed for a variable that was set in all new rows, and
/// the belief is the same as in a campaign without an earlier fit.
#[test]
fn the_next_fit_reuses_the_scores_of_the_newest() {
    let folder = tempfile::tempdir().unwrap();
    let set = "a,b,c,intervention_targets\n1.5,1,0.2,b\n0.4,-1,0.9,b\n2.5,1,-0.3,b\n";
    let ask = {
        let mut ask = request(1, 1);
        ask.posterior.kind = PosteriorKind::McmcLinear;
        ask
    };
    let run = |name: &str, between: bool| {
        let folder = folder.path().join(name);
        fs::create_dir(&folder).unwrap();
        let (_, mut lab) = new_lab(&folder);
        add(&mut lab, &folder, &observations(40, 2), false).unwrap();
        if between {
            propose(&mut lab, &ask).unwrap();
            lab.undo().unwrap();
        }
        add(&mut lab, &folder, set, false).unwrap();
        let scored = Mutex::new(Vec::new());
        let observer = |progress: &Progress<'_>| {
            let what = progress.what.to_string();
            let sets = what.split(", ").nth(1).and_then(|sets| sets.split(' ').next()?.parse::<usize>().ok());
            if what.contains("scored 1 of 3") {
                scored.lock().unwrap().extend(sets);
            }
            true
        };
        lab.propose(&ask, "", &observer).unwrap();
        (lab.edge_probabilities().unwrap(), scored.into_inner().unwrap()[0])
    };
    let ((fresh, few), (after, more)) = (run("fresh", false), run("after", true));
    assert_eq!(fresh, after);
    assert!(more > few, "with {more} scores at hand after the first variable, without {few}");
}

/// The state of an unfinished fit that another version left is ignored, whatever the posterior.
#[test]
fn an_unfinished_fit_that_does_not_match_is_started_over() {
    for kind in [PosteriorKind::DibsLinear, PosteriorKind::McmcLinear] {
        let folder = tempfile::tempdir().unwrap();
        let (path, mut lab) = new_lab(folder.path());
        add(&mut lab, folder.path(), &observations(40, 2), false).unwrap();
        let mut ask = request(1, 1);
        ask.posterior.kind = kind;
        ask.posterior.particles = 2;
        ask.posterior.steps = 50;
        let until = |progress: &Progress<'_>| progress.done < 20;
        assert_eq!(lab.propose(&ask, "", &until).unwrap_err().kind(), seabed::ErrorKind::Stopped);
        drop(lab);
        let file = rusqlite::Connection::open(&path).unwrap();
        let edited =
            file.execute("UPDATE unfinished SET state = replace(state, '\"a\"', '\"z\"')", []).unwrap();
        assert_eq!(edited, 1);
        drop(file);
        propose(&mut Lab::open(&path, WAIT).unwrap(), &ask).unwrap();
    }
}

/// The graphs are stored with the belief: a strategy that needs them is not the reason for another fit, except after a
/// version that did not store them; then the batch is the same, and what was stored before stays.
#[test]
fn graphs_are_stored_with_the_belief() {
    for kind in [PosteriorKind::McmcLinear, PosteriorKind::McmcGp] {
        let folder = tempfile::tempdir().unwrap();
        let mut ask = request(2, 1);
        ask.posterior.kind = kind;
        ask.posterior.draws = 20;
        ask.design.strategy = Strategy::GreedyEdges;
        let (path, mut lab) = new_lab(folder.path());
        add(&mut lab, folder.path(), &observations(30, 4), false).unwrap();
        let first = propose(&mut lab, &ask).unwrap();
        assert!(first.belief.graphs.unwrap() > 1);
        lab.undo().unwrap();

        let no_fit = |progress: &Progress<'_>| {
            let what = progress.what.to_string();
            what.starts_with("design") || what == "sets of parents read"
        };
        let again = |lab: &mut Lab, observer: &dyn seabed::Observer| {
            let proposed = lab.propose(&ask, "", observer).unwrap();
            lab.undo().unwrap();
            proposed
        };
        // Every action has its own randomness, so batches are compared after as many actions.
        let copy = folder.path().join("copy.lab");
        drop(lab);
        fs::copy(&path, &copy).unwrap();
        let mut lab = Lab::open(&path, WAIT).unwrap();
        let with = again(&mut lab, &no_fit);
        assert_eq!(with.belief, first.belief);

        let file = rusqlite::Connection::open(&copy).unwrap();
        let stored: Vec<u8> = file.query_row("SELECT ensemble FROM belief", [], |row| row.get(0)).unwrap();
        let models = seabed::Ensemble::from_bytes(&stored, "belief").unwrap().to_npz();
        let old = "UPDATE belief SET ensemble = ?1, summary = json_remove(summary, '$.graphs')";
        file.execute(old, [&models]).unwrap();
        file.execute_batch(
            "DROP TABLE request; ALTER TABLE belief DROP COLUMN digest; PRAGMA user_version = 2;",
        )
        .unwrap();
        drop(file);
        let mut older = Lab::open(&copy, WAIT).unwrap();
        assert_eq!(older.check().unwrap(), Vec::<String>::new());
        let refitted = again(&mut older, &());
        assert_eq!(refitted.designed.batch, with.designed.batch);
        assert_eq!(refitted.belief, with.belief);
        again(&mut older, &no_fit);
        drop(older);
        let file = rusqlite::Connection::open(&copy).unwrap();
        let now: Vec<u8> = file.query_row("SELECT ensemble FROM belief", [], |row| row.get(0)).unwrap();
        assert_eq!(now, stored);

        // Damaged graphs are found, and stand in the way of nothing that does not need them.
        let damaged: Vec<u8> = {
            let place = now.windows(19).rposition(|window| window == b"seabed-graph-belief").unwrap();
            let mut damaged = now;
            damaged[place] = b'S';
            damaged
        };
        file.execute("UPDATE belief SET ensemble = ?1", [&damaged]).unwrap();
        drop(file);
        let mut lab = Lab::open(&copy, WAIT).unwrap();
        assert!(lab.check().unwrap()[0].starts_with("belief 1: graphs"));
        assert!(propose(&mut lab, &ask).unwrap_err().to_string().starts_with("belief 1: graphs"));
        ask.design.strategy = Strategy::GreedyCbed;
        propose(&mut lab, &ask).unwrap();
        assert_eq!(lab.summary().unwrap().rounds[0].strategy, Strategy::GreedyCbed);
    }
    let folder = tempfile::tempdir().unwrap();
    let (_, mut lab) = new_lab(folder.path());
    add(&mut lab, folder.path(), &observations(30, 4), false).unwrap();
    let mut ask = request(1, 1);
    ask.design.strategy = Strategy::GreedyGraph;
    assert!(propose(&mut lab, &ask).unwrap_err().to_string().contains("only mcmc-linear and mcmc-gp"));
}
