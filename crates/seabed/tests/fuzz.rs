//! The bodies of the fuzz targets on their seeds and on mutated ones, the same every time: a second or two of each.

#[path = "../../../fuzz/src/library.rs"]
mod bodies;
#[path = "../../../fuzz/src/mutate.rs"]
mod mutation;

use mutation::{mutate, seeds};
use seabed::Campaign;
use seabed::num::random::Seed;
use seabed::observer::Progress;
use seabed::posterior::{
    FitError, Knowledge, PosteriorKind, PosteriorSettings, Start, State, StateMismatch, UnusableData,
};
use serde_json::{Value, json};

/// Inputs for each target.
const INPUTS: usize = 40_000;

#[test]
fn tables_of_any_bytes_are_read_or_refused() {
    mutate(&seeds("csv"), INPUTS, bodies::csv);
}

/// The decoders panic on a few damaged files, which is reported as an error.
fn silence_decoders() {
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if std::thread::current().name() != Some(seabed::data::DECODER_THREAD) {
            hook(panic);
        }
    }));
}

#[test]
fn parquet_files_of_any_bytes_are_read_or_refused() {
    silence_decoders();
    mutate(&seeds("parquet"), INPUTS / 10, bodies::parquet);
}

#[test]
fn workbooks_of_any_bytes_are_read_or_refused() {
    silence_decoders();
    mutate(&seeds("workbook"), INPUTS / 20, bodies::workbook);
}

#[test]
fn campaigns_of_any_bytes_are_read_or_refused() {
    let settings = PosteriorSettings { kind: PosteriorKind::Bootstrap, draws: 2, ..Default::default() };
    let mut campaign = Campaign::new(bodies::small_data()).with_posterior(settings.check(None).unwrap());
    let fresh = campaign.to_json().into_bytes();
    campaign.fit(&()).unwrap();
    let saved = [vec![fresh, campaign.to_json().into_bytes()], seeds("campaign")].concat();
    mutate(&saved, INPUTS / 4, bodies::campaign);
}

#[test]
fn sheets_of_any_bytes_are_read_or_refused() {
    mutate(&seeds("sheet"), INPUTS / 4, bodies::sheet);
}

#[test]
fn graphs_of_any_bytes_are_read_or_refused() {
    mutate(&seeds("graph"), INPUTS, bodies::graph);
}

#[test]
fn models_of_any_bytes_are_read_or_refused() {
    mutate(&seeds("scm_json"), INPUTS, bodies::scm_json);
    mutate(&seeds("npz"), INPUTS / 4, bodies::npz);
    mutate(&seeds("graph_belief"), INPUTS / 4, bodies::graph_belief);
}

#[test]
fn gene_networks_of_any_bytes_are_read_or_refused() {
    mutate(&seeds("sbml"), INPUTS, bodies::sbml);
}

#[test]
fn settings_of_any_bytes_are_read_or_refused() {
    mutate(&seeds("settings"), INPUTS, bodies::settings);
    mutate(&seeds("set"), INPUTS, bodies::set);
}

#[test]
fn knowledge_of_any_bytes_is_read_or_refused() {
    mutate(&seeds("knowledge"), INPUTS, bodies::knowledge);
}

/// A state of every kind of fit, stopped at once; and of chains on their way.
fn states() -> Vec<(String, State)> {
    let of = |kind: &str, goes_on: fn(&Progress<'_>) -> bool| {
        let kind = PosteriorKind::named(kind).unwrap();
        let settings =
            PosteriorSettings { draws: 50, particles: 1, steps: 3, ..PosteriorSettings::for_own_data(kind) };
        let start = Start::fresh(Seed::new(1));
        let fit =
            settings.check(None).unwrap().fit(&bodies::small_data(), &Knowledge::none(2), start, &goes_on);
        let Err(FitError::Stopped(state)) = fit else { panic!("{kind:?} was stopped") };
        *state
    };
    let kinds = PosteriorKind::ALL.iter().map(|(kind, _)| (kind.to_string(), of(kind, |_| false)));
    let chains = of("mcmc-linear", |progress| !progress.what.to_string().contains("sweeps"));
    kinds.chain([("mcmc-linear-chains".into(), chains)]).collect()
}

/// Where the format has changed: writes the seeds of `state` anew.
#[test]
#[ignore = "writes to fuzz/seeds"]
fn write_states_among_the_seeds() {
    for (kind, state) in states() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/seeds/state");
        std::fs::write(format!("{folder}/{kind}.json"), state.to_json()).unwrap();
    }
}

/// With the right checksum, but made up: each of these was once gone on from, and ended in a crash.
#[test]
fn states_that_do_not_fit_together_are_refused() {
    let all = states();
    type Edit = fn(&mut Value);
    let made_up: [(&str, Edit); 6] = [
        // The graphs of node 0 and 1 are sets of parents, as bits.
        ("mcmc-linear-chains", |state| state["mcmc"]["chains"][0]["path"][0] = json!([[2], [1]])),
        ("mcmc-linear-chains", |state| state["mcmc"]["chains"][0]["replicas"] = json!([[[], []]])),
        ("mcmc-linear-chains", |state| state["mcmc"]["nodes"][0]["candidates"] = json!([0])),
        ("bootstrap", |state| {
            state["bootstrap"]["settings"]["search"]["start"] = json!({"nodes": 3, "edges": []});
        }),
        ("dibs-linear", |state| state["dibs"]["step"] = json!(u64::MAX)),
        ("dibs-bge", |state| {
            state["dibs"]["units"]["scales"] = json!([1e-300, 1.0]);
            state["dibs"]["left"] = json!(0);
        }),
    ];
    for (k, (kind, make_up)) in made_up.into_iter().enumerate() {
        let (_, state) = all.iter().find(|(name, _)| name == kind).unwrap();
        let sound = bodies::resumed(state.clone());
        assert!(matches!(sound, Ok(_) | Err(FitError::Stopped(_))), "{kind}: {sound:?}");
        let mut value = serde_json::to_value(state).unwrap();
        make_up(&mut value);
        let refused = bodies::resumed(serde_json::from_value(value).unwrap());
        let in_words = matches!(
            refused,
            Err(FitError::State { mismatch: StateMismatch::Damaged }
                | FitError::Data(UnusableData::StepNotFinite { .. }))
        );
        assert!(in_words, "{k}, {kind}: {refused:?}");
    }
}

/// States of every kind of fit, as they are saved, and without their checksums.
#[test]
fn states_of_any_bytes_are_read_and_resumed_or_refused() {
    let mut saved = seeds("state");
    for (_, state) in states() {
        let text = state.to_json();
        let (_, bare) = text.split_once("\"state\":").unwrap();
        let refusal = State::from_json(bare.strip_suffix('}').unwrap()).unwrap_err().to_string();
        assert!(refusal.contains("was made by an older version of the program"), "{refusal}");
        saved.extend([bare.strip_suffix('}').unwrap().into(), text.into_bytes()]);
    }
    mutate(&saved, INPUTS / 8, bodies::state);
    // Whatever changes one letter of a saved state is noticed.
    let saved = String::from_utf8(saved.pop().unwrap()).unwrap();
    let at = saved.find("\"seed\":").unwrap() + 7;
    let edited = format!("{}9{}", &saved[..at], &saved[at..]);
    let refusal = State::from_json(&edited).unwrap_err().to_string();
    assert_eq!(refusal, "the saved state is incomplete or was edited; start the fit again");
    let later = saved.replacen("\"seabed-state\":2", "\"seabed-state\":3", 1);
    assert!(
        State::from_json(&later)
            .unwrap_err()
            .to_string()
            .contains("has version 3, but this program knows version 2")
    );
}
