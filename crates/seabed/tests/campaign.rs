//! The loop in memory: ask, tell, save and load at any moment, stop and resume.

use std::sync::atomic::{AtomicU64, Ordering};

use seabed::data::Dataset;
use seabed::design::{Designer, Replicates, Strategy};
use seabed::num::random::{Purpose, Seed};
use seabed::observer::Progress;
use seabed::posterior::{Knowledge, Posterior, PosteriorKind, PosteriorSettings};
use seabed::scm::{Intervention, Scm};
use seabed::world::{GraphKind, LinearWeights, MechanismKind, NoiseLevels, Synthetic, World};
use seabed::{Campaign, Constraints, ErrorKind};

fn world() -> Scm {
    let synthetic = Synthetic {
        graph: GraphKind::Er,
        nodes: 4,
        edges_per_node: 1.0,
        mechanism: MechanismKind::Linear(LinearWeights::UNIFORM),
        noise: NoiseLevels::Equal(0.5),
        standardised: false,
    };
    synthetic.draw(Seed::new(4)).unwrap()
}

fn outcomes(design: &Intervention, rows: usize, seed: u64) -> Dataset {
    world().experiment(design, rows, Seed::new(seed).stream(Purpose::Noise)).unwrap()
}

fn posterior(kind: PosteriorKind) -> Posterior {
    let settings =
        PosteriorSettings { draws: 10, particles: 3, steps: 40, ..PosteriorSettings::for_own_data(kind) };
    settings.check(None).unwrap()
}

fn campaign(kind: PosteriorKind) -> Campaign {
    let designer = Designer {
        strategy: Strategy::GreedyCbed,
        batch: 2,
        replicates: Replicates::Each(2),
        samples: 10,
        evaluations: 3,
        ..Designer::default()
    };
    let data = outcomes(&Intervention::none(), 30, 1);
    let knowledge = Knowledge::new(data.names(), &[(0, 1)], &[], &[]).unwrap();
    Campaign::new(data)
        .with_knowledge(knowledge)
        .with_posterior(posterior(kind))
        .with_designer(designer)
        .with_seed(7, 0)
}

fn through_a_file(campaign: Campaign) -> Campaign {
    let text = campaign.to_json();
    let again = Campaign::from_json(&text).unwrap();
    assert_eq!(again.to_json(), text);
    again
}

/// Three rounds, with `pass` between any two calls.
fn rounds(kind: PosteriorKind, pass: impl Fn(Campaign) -> Campaign) -> String {
    let mut campaign = pass(campaign(kind));
    let mut said = String::new();
    for round in 0..3 {
        let batch = campaign.ask(&()).unwrap();
        said += &serde_json::to_string(&batch).unwrap();
        assert_eq!(campaign.pending().len(), 4, "two experiments, twice each");
        campaign = pass(campaign);
        for (k, chosen) in batch.chosen.iter().enumerate() {
            campaign.tell(&outcomes(&chosen.design, 2, 10 * round + k as u64)).unwrap();
            campaign = pass(campaign);
        }
        assert!(campaign.pending().is_empty() && campaign.belief().is_none());
    }
    assert_eq!(campaign.data().rows(), 30 + 12);
    said
}

#[test]
fn a_campaign_can_be_saved_and_loaded_at_any_moment() {
    for kind in [PosteriorKind::McmcLinear, PosteriorKind::DibsLinear, PosteriorKind::Bootstrap] {
        assert_eq!(rounds(kind, |campaign| campaign), rounds(kind, through_a_file));
    }
}

/// Stopped in the fit or in the design, saved and loaded, the next ask has the same result.
#[test]
fn a_stopped_ask_loses_nothing() {
    for kind in [PosteriorKind::McmcLinear, PosteriorKind::DibsLinear, PosteriorKind::Bootstrap] {
        let calls = AtomicU64::new(0);
        let count = |_: &Progress<'_>| {
            calls.fetch_add(1, Ordering::Relaxed);
            true
        };
        let whole = campaign(kind).ask(&count).unwrap();
        let all = calls.into_inner();
        for stop in [1, all / 2, all - 1] {
            let left = AtomicU64::new(stop);
            let until = |_: &Progress<'_>| left.fetch_sub(1, Ordering::Relaxed) > 1;
            let mut stopped = campaign(kind);
            // The last report of a fit may come when there is nothing left to stop.
            if let Err(error) = stopped.ask(&until) {
                assert_eq!(error.kind(), ErrorKind::Stopped, "{error}");
                assert!(stopped.pending().is_empty());
                stopped = through_a_file(stopped);
                assert_eq!(stopped.ask(&()).unwrap(), whole);
            }
        }
    }
}

/// Outcomes that were not asked for are accepted; those of other variables are refused, and nothing changes.
#[test]
fn outcomes_are_checked_and_matched_to_pending_experiments() {
    let mut campaign = campaign(PosteriorKind::Bootstrap);
    let batch = campaign.ask(&()).unwrap();
    let design = &batch.chosen[0].design;
    campaign.tell(&outcomes(&Intervention::none(), 3, 5)).unwrap();
    assert_eq!(campaign.pending().len(), 4, "observations answer no experiment");
    // Set to another value than planned, it is still the answer.
    let (node, value) = design.settings()[0];
    campaign.tell(&outcomes(&Intervention::new([(node, value + 0.1)]).unwrap(), 1, 6)).unwrap();
    assert_eq!(campaign.pending().len(), 3);
    let before = campaign.to_json();
    let other = Dataset::from_columns(&["x"], vec![vec![1.0]], &[]).unwrap();
    assert_eq!(campaign.tell(&other).unwrap_err().kind(), ErrorKind::Input);
    assert_eq!(campaign.to_json(), before);
    campaign.forget_pending();
    assert!(campaign.pending().is_empty());
}

#[test]
fn invalid_saved_campaigns_are_refused() {
    let data = outcomes(&Intervention::none(), 30, 1);
    let nothing = Constraints { variables: vec![None; 4], ..Constraints::observed(&data) };
    let error = campaign(PosteriorKind::Bootstrap).with_constraints(nothing).ask(&()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Input, "{error}");
    let saved: serde_json::Value =
        serde_json::from_str(&campaign(PosteriorKind::Bootstrap).to_json()).unwrap();
    // With the checksum of what was edited, so that the rest is looked at.
    let sealed = |mut value: serde_json::Value| {
        value.as_object_mut().unwrap().remove("checksum");
        let checksum = seabed::num::fingerprint::of_bytes(value.to_string().into_bytes());
        value["checksum"] = format!("{checksum:016x}").into();
        value.to_string()
    };
    Campaign::from_json(&sealed(saved.clone())).unwrap();
    // Other spaces mean the same.
    Campaign::from_json(&serde_json::to_string_pretty(&saved).unwrap()).unwrap();
    let mut unsealed = saved.clone();
    unsealed["round"] = 7.into();
    let said = Campaign::from_json(&unsealed.to_string()).unwrap_err().to_string();
    assert!(said.contains("is incomplete, was edited, or is of an older version"), "{said}");
    for (place, value) in [
        ("/names/0", serde_json::json!("")),
        ("/columns/0", serde_json::json!([1.0])),
        ("/targets/0", serde_json::json!(["nobody"])),
        ("/pending", serde_json::json!([[["nobody", 1.0]]])),
        ("/designer/batch", serde_json::json!(0)),
        ("/posterior/bootstrap/draws", serde_json::json!(0)),
        ("/version", serde_json::json!(99)),
        ("/belief", serde_json::json!({"names": ["a"]})),
    ] {
        let mut edited = saved.clone();
        *edited.pointer_mut(place).unwrap_or_else(|| panic!("{place}")) = value;
        let error = Campaign::from_json(&sealed(edited)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Input, "{place}: {error}");
        assert!(!error.to_string().contains("was edited"), "{place}: {error}");
    }
    assert!(Campaign::from_json("{").is_err());
}
