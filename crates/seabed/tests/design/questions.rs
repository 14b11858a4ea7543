//! Information about the answer to a question.

use seabed::design::{Designer, Goal};
use seabed::graph::{Dag, NodeSet};
use seabed::num::random::{Purpose, Seed};
use seabed::scm::{Ensemble, Linear, Mechanism, Scm};

use crate::{names, random_ensemble, single, two_questions};

/// A goal is about groups of draws: brute force by summing densities over the draws that give the same answer.
#[test]
fn information_about_a_question_agrees_with_brute_force() {
    let ensemble = random_ensemble(4, 7, true, 11);
    let design = single(0, 2.0);
    let d = 4;
    for goal in [Goal::Edge { from: 0, to: 1 }, Goal::Descendants { of: 0 }, Goal::Effect { of: 0, on: 2 }] {
        let groups = goal.groups(&ensemble, Seed::new(1).stream(Purpose::Design).named("goal"));
        let designer = Designer { goal, samples: 200, ..Designer::default() };
        let got = designer.score(&ensemble, std::slice::from_ref(&design), Seed::new(1), &()).unwrap()[0];
        let stream = Seed::new(1).stream(Purpose::Design).named("outcomes").at(0).at(0);
        let mut expected = 0.0;
        for (i, draw) in ensemble.draws().iter().enumerate() {
            let outcome = draw.sample(200, &design, stream.at(i as u64));
            let densities: Vec<Vec<f64>> =
                ensemble.draws().iter().map(|l| l.log_density(&outcome, &NodeSet::of(d, [0]))).collect();
            for k in 0..200 {
                let mixture = |keep: &dyn Fn(usize) -> bool| -> f64 {
                    let kept = (0..7).filter(|&l| keep(l));
                    let weight: f64 = kept.clone().map(|l| ensemble.weights()[l]).sum();
                    kept.map(|l| ensemble.weights()[l] / weight * densities[l][k].exp()).sum()
                };
                let ratio = mixture(&|l| groups[l] == groups[i]) / mixture(&|_| true);
                expected += ensemble.weights()[i] * ratio.ln() / 200.0;
            }
        }
        assert!((got.nats - expected).abs() < 1e-9, "{goal:?}: {} {expected}", got.nats);
        let everything = Designer { samples: 200, ..Designer::default() };
        assert!(
            got.nats
                <= everything.score(&ensemble, std::slice::from_ref(&design), Seed::new(1), &()).unwrap()[0]
                    .nats
                    + 1e-9
        );
    }
    // The groups are as expected.
    let edges = Goal::Edge { from: 0, to: 1 }.groups(&ensemble, Seed::new(1).stream(Purpose::Design));
    for (a, x) in ensemble.draws().iter().enumerate() {
        for (b, y) in ensemble.draws().iter().enumerate() {
            assert_eq!(edges[a] == edges[b], x.dag().has_edge(0, 1) == y.dag().has_edge(0, 1));
        }
    }
}

#[test]
fn questions_group_the_draws_by_their_answers() {
    let ensemble = two_questions();
    let stream = Seed::new(1).stream(Purpose::Design);
    let groups = |goal: Goal| goal.groups(&ensemble, stream);
    let count = |groups: &[usize]| groups.iter().collect::<std::collections::BTreeSet<_>>().len();
    let of_first = groups(Goal::Effect { of: 0, on: 1 });
    assert_eq!(count(&of_first), 2);
    assert!((0..8).all(|l| of_first[l] == of_first[l / 4 * 4]));
    assert_eq!(count(&groups(Goal::Effect { of: 2, on: 3 })), 4);
    assert_eq!(count(&groups(Goal::Effect { of: 0, on: 3 })), 1);
    assert_eq!(count(&groups(Goal::Descendants { of: 0 })), 1);
    // The same effect with different intercepts is one answer, whatever the rounding.
    let shifted = |intercept: f64| {
        let dag = Dag::from_edges(2, [(0, 1)]).unwrap();
        let root = Mechanism::Linear(Linear { weights: vec![], intercept: 0.0 });
        let effect = Mechanism::Linear(Linear { weights: vec![0.7], intercept });
        Scm::new(names(2), dag, vec![root, effect], vec![1.0; 2]).unwrap()
    };
    let same = Ensemble::uniform((0..20).map(|k| shifted(0.37 * f64::from(k))).collect()).unwrap();
    assert_eq!(count(&Goal::Effect { of: 0, on: 1 }.groups(&same, stream)), 1);
}
