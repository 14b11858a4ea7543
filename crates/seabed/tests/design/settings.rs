//! What the user typed is checked before any work, with a message that says what it may be.

use seabed::design::{
    Constraints, DesignError, DesignSettings, Designer, Estimator, Goal, Replicates, Strategy, Temperature,
    Values, ValuesName,
};
use seabed::num::random::Seed;
use seabed::scm::{Ensemble, Scm};

use crate::{random_ensemble, single};

/// A number of the designer: its key, how it is set, the ends of its range, and some that lie outside.
type Number = (&'static str, fn(&mut Designer, f64), [f64; 2], [f64; 4]);

#[test]
fn every_number_has_a_range() {
    let with = |change: fn(&mut Designer, f64), value: f64| {
        let mut designer = Designer::default();
        change(&mut designer, value);
        designer.check().map_err(|error| error.to_string())
    };
    let numbers: [Number; 8] = [
        ("batch", |d, x| d.batch = x as usize, [1.0, 10_000.0], [0.0, 10_001.0, 1e18, 0.0]),
        (
            "replicates",
            |d, x| (d.replicates, d.samples) = (Replicates::Each(x as usize), 2),
            [1.0, 1e5],
            [0.0, 100_001.0, 1e19, 1e19],
        ),
        ("samples", |d, x| d.samples = x as usize, [2.0, 1e6], [0.0, 1.0, 1_000_001.0, 1e19]),
        ("evaluations", |d, x| d.evaluations = x as usize, [1.0, 10_000.0], [0.0, 10_001.0, 1e18, 1e19]),
        (
            "temperature",
            |d, x| d.temperature = Temperature::Given(x),
            [1e-9, 1e9],
            [0.0, -1.0, f64::NAN, f64::INFINITY],
        ),
        (
            "fixed-value",
            |d, x| d.values = Values::Fixed(x),
            [-1e100, 1e100],
            [f64::NAN, -1e101, 1e101, f64::INFINITY],
        ),
        (
            "a value of grid",
            |d, x| d.values = Values::Grid(vec![0.0, x]),
            [-1e100, 1e100],
            [f64::NAN, -1e101, 1e101, f64::INFINITY],
        ),
        (
            "kappa",
            |d, x| d.values = Values::GpUcb { kappa: x },
            [0.0, 1e6],
            [-1.0, f64::NAN, 2e6, f64::INFINITY],
        ),
    ];
    for (key, change, possible, impossible) in numbers {
        for value in possible {
            assert_eq!(with(change, value), Ok(()), "{key} {value}");
        }
        for value in impossible {
            let message = with(change, value).unwrap_err();
            assert!(
                message.starts_with(&format!("{key} is ")) && message.contains(": it must be from "),
                "{message}"
            );
        }
    }
    assert_eq!(
        with(|d, x| d.samples = x as usize, 1.0).unwrap_err(),
        "samples is 1: it must be from 2 to 1000000"
    );
    let many = Designer { values: Values::Grid(vec![0.0; 10_001]), ..Designer::default() };
    assert!(many.check().unwrap_err().to_string().contains("values in grid is 10001"));
    let bound =
        Designer { estimator: Estimator::Bound, goal: Goal::Edge { from: 0, to: 1 }, ..Designer::default() };
    assert_eq!(bound.check(), Err(DesignError::BoundWithGoal));
}

/// Settings that are possible one by one may need too much memory together: refused at once, with the way out.
#[test]
fn sizes_that_do_not_fit_are_refused() {
    let refuse = |designer: Designer, ensemble: &Ensemble| {
        let constraints = Constraints::range(ensemble.names().len(), -1.0, 1.0);
        designer.design(ensemble, &constraints, Seed::new(1), &()).unwrap_err().to_string()
    };
    let two = random_ensemble(2, 2, true, 1);
    let product = Designer { samples: 1000, replicates: Replicates::Each(1001), ..Designer::default() };
    assert_eq!(
        refuse(product, &two),
        "samples times replicates gives 1001000 numbers, more than fit in memory; lower samples to 999"
    );
    let copies = |c: usize| -> Vec<Scm> { vec![two.draws()[0].clone(); c] };
    let many = Ensemble::uniform(copies(1000)).unwrap();
    let message = refuse(Designer { samples: 1000, ..Designer::default() }, &many);
    assert_eq!(
        message,
        "draws times draws times samples gives 1000000000 numbers, more than fit in memory; lower samples to 536"
    );
    let message = refuse(Designer { replicates: Replicates::Each(10_000), ..Designer::default() }, &many);
    assert!(message.contains("lower replicates to 1787"), "{message}");
    let grid = Values::Grid((0..10_000).map(f64::from).collect());
    let ait = Designer { strategy: Strategy::Ait, samples: 2, values: grid, ..Designer::default() };
    let wide = Ensemble::uniform(vec![random_ensemble(20, 1, true, 1).draws()[0].clone(); 1000]).unwrap();
    assert!(refuse(ait, &wide).contains("lower the number of values to 671"));
    let most = Ensemble::uniform(copies(16_385)).unwrap();
    assert_eq!(
        refuse(Designer { samples: 2, ..Designer::default() }, &most),
        "the number of draws is 16385: it must be from 1 to 16384"
    );
}

#[test]
fn unknown_variables_are_refused() {
    let ensemble = random_ensemble(2, 2, true, 1);
    let (designer, constraints) = (Designer::default(), Constraints::range(2, -1.0, 1.0));
    let lost = [single(7, 1.0)];
    let goal = Designer { goal: Goal::Effect { of: 0, on: 2 }, ..Designer::default() };
    for error in [
        designer.design_after(&ensemble, &lost, &constraints, Seed::new(1), &()).unwrap_err(),
        designer.score(&ensemble, &lost, Seed::new(1), &()).unwrap_err(),
        designer.score_batch(&ensemble, &lost, Seed::new(1), &()).unwrap_err(),
        goal.design(&ensemble, &constraints, Seed::new(1), &()).unwrap_err(),
    ] {
        assert!(matches!(error, DesignError::UnknownVariable { variables: 2, .. }), "{error}");
    }
}

#[test]
fn settings_become_a_designer() {
    let settings =
        DesignSettings { values: ValuesName::Grid, grid: vec![1.0], batch: 3, ..DesignSettings::default() };
    // Studies keep the paper's temperature.
    let usual = Designer { temperature: Temperature::Given(2.0), ..Designer::default() };
    assert_eq!(settings.designer(), Designer { values: Values::Grid(vec![1.0]), batch: 3, ..usual.clone() });
    assert_eq!(DesignSettings::default().designer(), usual);
    assert_eq!(settings.check(), Ok(()));
    let refuse =
        |range| DesignSettings { range, ..DesignSettings::default() }.check().unwrap_err().to_string();
    assert_eq!(refuse((2.0, 1.0)), "the upper end of range is 1: it must be from 2 to 1e100");
    assert_eq!(refuse((f64::NAN, 1.0)), "the lower end of range is NaN: it must be from -1e100 to 1e100");
}
