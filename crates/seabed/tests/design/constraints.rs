//! Constraints are never violated, and impossible ones are refused.

use seabed::data::Dataset;
use seabed::design::{Allowed, Constraints, Designer, Levels, Values};
use seabed::graph::NodeSet;
use seabed::num::random::{Purpose, Seed};

use crate::{names, random_ensemble, strategies_of_models};

#[test]
fn five_hundred_constraint_sets_are_never_violated() {
    for problem in 0..500u64 {
        let mut draws = Seed::new(problem).stream(Purpose::Graph).draws();
        let d = 2 + draws.below(4);
        let ensemble = random_ensemble(d, 3, true, problem);
        let variables = (0..d)
            .map(|_| {
                let levels = match draws.below(3) {
                    0 => Levels::List((0..1 + draws.below(4)).map(|k| k as f64 - 1.0).collect()),
                    _ => {
                        let low = 4.0 * draws.uniform() - 2.0;
                        Levels::Range(low, low + 3.0 * draws.uniform())
                    }
                };
                (draws.uniform() < 0.8).then(|| Allowed { levels, cost: 0.5 + draws.uniform() })
            })
            .collect();
        let constraints = Constraints {
            variables,
            experiment_cost: 0.0,
            budget: (draws.below(2) == 0).then(|| 4.0 * draws.uniform()),
            max_repeats: (draws.below(2) == 0).then(|| 1 + draws.below(3)),
            max_targets: 1 + draws.below(2),
        };
        let values = [Values::Fixed(0.3), Values::Sample, Values::Grid(vec![]), Values::gp_ucb()]
            [draws.below(4)]
        .clone();
        let strategies: Vec<_> = strategies_of_models().collect();
        let strategy = strategies[draws.below(strategies.len())].1;
        let designer = Designer {
            strategy,
            values,
            batch: 1 + draws.below(6),
            samples: 8,
            evaluations: 4,
            ..Designer::default()
        };
        match designer.design(&ensemble, &constraints, Seed::new(problem), &()) {
            Err(error) => assert!(error.to_string().len() > 20, "{error}"),
            Ok(batch) => {
                let spent: f64 = batch.chosen.iter().map(|chosen| chosen.cost).sum();
                assert!(constraints.budget.is_none_or(|budget| spent <= budget * (1.0 + 1e-9)));
                assert!(!batch.chosen.is_empty() && batch.chosen.len() <= designer.batch);
                assert!(constraints.budget.is_some() || batch.chosen.len() == designer.batch);
                for chosen in &batch.chosen {
                    let settings = chosen.design.settings();
                    assert!(!settings.is_empty() && settings.len() <= constraints.max_targets);
                    for &(node, value) in settings {
                        assert!(constraints.variables[node].as_ref().unwrap().levels.allows(value));
                        let repeats = batch.chosen.iter().filter(|c| c.design.value(node).is_some()).count();
                        assert!(constraints.max_repeats.is_none_or(|most| repeats <= most));
                    }
                }
            }
        }
    }
}

#[test]
fn impossible_constraints_say_why() {
    let ensemble = random_ensemble(2, 2, true, 1);
    let refuse = |change: &dyn Fn(&mut Constraints)| {
        let mut constraints = Constraints::range(2, -1.0, 1.0);
        change(&mut constraints);
        Designer { batch: 5, ..Designer::default() }
            .design(&ensemble, &constraints, Seed::new(1), &())
            .unwrap_err()
            .to_string()
    };
    let first = |constraints: &mut Constraints, allowed: Allowed| constraints.variables[0] = Some(allowed);
    assert!(refuse(&|c| c.variables.fill(None)).contains("no variable can be intervened on"));
    assert!(
        refuse(&|c| c.budget = Some(0.5)).contains("the budget is 0.5, but the cheapest experiment costs 1")
    );
    assert!(refuse(&|c| c.max_repeats = Some(2)).contains("allow at most 4 experiments, not 5"));
    assert!(
        refuse(&|c| first(c, Allowed { levels: Levels::Range(2.0, 1.0), cost: 1.0 }))
            .contains("\"X0\" has the range 2 to 1")
    );
    assert!(
        refuse(&|c| first(c, Allowed { levels: Levels::List(vec![]), cost: 1.0 }))
            .contains("list at least one")
    );
    assert!(
        refuse(&|c| first(c, Allowed { levels: Levels::Range(0.0, 1.0), cost: 0.0 }))
            .contains("costs must be above 0")
    );
    assert!(
        refuse(&|c| first(c, Allowed { levels: Levels::Range(-1e200, 1e200), cost: 1.0 }))
            .contains("\"X0\" has the value -1e200: values must lie between")
    );
    assert!(refuse(&|c| c.variables.truncate(1)).contains("for 1 variables, but there are 2"));
    let many = Constraints { max_targets: usize::MAX, ..Constraints::range(2, 0.0, 1.0) };
    assert!(
        Designer { samples: 10, ..Designer::default() }.design(&ensemble, &many, Seed::new(1), &()).is_ok()
    );
    // Estimates come before the constraints are checked.
    let none = Constraints { max_targets: 0, ..many.clone() };
    for constraints in [many, none] {
        assert!(Designer::default().effort(3, &constraints).seconds < 60.0);
    }
}

/// A slow twin with a variable that was set in some rows, one that never varied and one that was always set.
#[test]
fn data_suggest_what_can_be_set() {
    let columns = vec![vec![1.0, 2.0, 3.0, 9.0], vec![5.0; 4], vec![0.0, 1.0, 0.0, 1.0]];
    let targets = [vec![2], vec![2], vec![2], vec![0, 2]].map(|row| NodeSet::of(3, row)).to_vec();
    let data = Dataset::new(names(3), columns, targets).unwrap();
    let constraints = Constraints::observed(&data);
    // 1 was measured, 9 was set.
    let range = |low, high| Some(Allowed { levels: Levels::Range(low, high), cost: 1.0 });
    assert_eq!(constraints.variables, [range(1.0, 9.0), None, range(0.0, 1.0)]);
    assert_eq!(
        constraints,
        Constraints { variables: constraints.variables.clone(), ..Constraints::range(3, 0.0, 0.0) }
    );
}
