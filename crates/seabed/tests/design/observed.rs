//! A design reports progress, and stops when asked to.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use seabed::design::{Constraints, DesignError, Designer, Strategy, Values};
use seabed::num::random::Seed;
use seabed::observer::Progress;

use crate::{random_ensemble, single, strategies_of_models};

#[test]
fn progress_only_grows_and_ends_when_all_is_done() {
    let ensemble = random_ensemble(5, 12, false, 3);
    let mut constraints = Constraints::range(5, -3.0, 3.0);
    constraints.max_targets = 2;
    let pending = [single(1, 1.0)];
    for (name, strategy) in strategies_of_models() {
        for values in [Values::Fixed(1.0), Values::Sample, Values::Grid(vec![]), Values::gp_ucb()] {
            let designer = Designer { strategy, values, batch: 3, samples: 400, ..Designer::default() };
            let heard = Mutex::new(Vec::new());
            let observer = |progress: &Progress<'_>| {
                heard.lock().unwrap().push((progress.done, progress.all));
                true
            };
            let watched = designer.design_after(&ensemble, &pending, &constraints, Seed::new(1), &observer);
            assert_eq!(
                watched,
                designer.design_after(&ensemble, &pending, &constraints, Seed::new(1), &()),
                "{name}"
            );
            let heard = heard.into_inner().unwrap();
            let all = heard[0].1;
            let (done, last) = *heard.last().unwrap();
            assert!(heard[0].0 == 0 && done == last && done > 0, "{name}: {heard:?}");
            assert!(heard.windows(2).all(|pair| pair[0].0 <= pair[1].0), "{name}: {heard:?}");
            // What is announced stays, unless there is more; at the end it is what there was.
            assert!(heard[..heard.len() - 1].iter().all(|(done, said)| *said == all.max(*done)), "{name}");
        }
    }
}

#[test]
fn nothing_is_done_if_the_observer_stops_at_once() {
    let ensemble = random_ensemble(3, 4, true, 3);
    let (designer, seed) = (Designer::default(), Seed::new(1));
    let never = |_: &Progress<'_>| false;
    let stopped = |error: DesignError| matches!(error, DesignError::Stopped(_));
    assert!(stopped(
        designer.design(&ensemble, &Constraints::range(3, -1.0, 1.0), seed, &never).unwrap_err()
    ));
    assert!(stopped(designer.score(&ensemble, &[single(0, 1.0)], seed, &never).unwrap_err()));
    assert!(stopped(designer.score_batch(&ensemble, &[single(0, 1.0)], seed, &never).unwrap_err()));
}

/// Fifty variables and two hundred draws: a batch takes seconds, its end a fraction of one. One of three tries must
/// show it, because tests share the machine.
#[test]
fn a_large_design_stops_at_once() {
    let ensemble = random_ensemble(50, 200, true, 3);
    let constraints = Constraints::range(50, -3.0, 3.0);
    // Timed from the moment the stop was requested, not from when it was noticed.
    let late = |wait: Duration, designer: &Designer| {
        let start = Instant::now();
        let observer = |_: &Progress<'_>| start.elapsed() < wait;
        let result = designer.design(&ensemble, &constraints, Seed::new(1), &observer);
        assert!(
            matches!(result, Err(DesignError::Stopped(_))),
            "{:?} was faster than {wait:?}",
            designer.strategy
        );
        start.elapsed() - wait
    };
    for strategy in [Strategy::GreedyCbed, Strategy::SoftAit, Strategy::Random] {
        let designer = Designer { strategy, samples: 200, batch: 1000, ..Designer::default() };
        // While what designs share is computed, and while candidates are evaluated.
        for wait in [100, 1000].map(Duration::from_millis) {
            let times: Vec<Duration> = (0..3).map(|_| late(wait, &designer)).collect();
            assert!(times.iter().min() < Some(&Duration::from_millis(500)), "{strategy:?}: {times:?}");
        }
    }
}

/// Ten rows of every experiment do not take ten times as long as one.
#[test]
fn replicates_cost_little_under_models_too() {
    let ensemble = random_ensemble(5, 20, true, 3);
    let constraints = Constraints::range(5, -3.0, 3.0);
    let grid: Vec<f64> = (0..30).map(|k| -3.0 + 0.2 * f64::from(k)).collect();
    let work = |replicates: usize| {
        let last = Mutex::new(0);
        let watch = |progress: &Progress<'_>| {
            *last.lock().unwrap() = progress.done;
            true
        };
        let designer = Designer {
            strategy: Strategy::GreedyCbed,
            values: Values::Grid(grid.clone()),
            replicates: replicates.into(),
            batch: 1,
            samples: 100,
            ..Designer::default()
        };
        designer.design(&ensemble, &constraints, Seed::new(1), &watch).unwrap();
        last.into_inner().unwrap() as f64
    };
    let (one, ten) = (work(1), work(10));
    assert!(ten <= 2.2 * one, "{one} and {ten}");
}
