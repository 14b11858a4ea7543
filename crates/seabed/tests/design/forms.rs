//! Batches, designers and constraints as JSON.

use seabed::design::{
    Allowed, Batch, Chosen, ConstraintError, Constraints, DesignRecord, Designer, Evaluated, Goal,
    Information, Levels, NamedConstraints, Rule, Strategy, Utility, Values,
};
use seabed::scm::Intervention;
use serde_json::{Value, json};

use crate::{names, single};

fn batch() -> Batch {
    let information = |nats| Information { nats, standard_error: 0.125 };
    let both = Intervention::new([(2, 1.5), (0, -1.0)]).unwrap();
    Batch {
        names: names(3),
        chosen: vec![Chosen {
            design: both,
            rows: 1,
            information: information(0.5),
            gain: 0.25,
            cost: 2.0,
            decides: Vec::new(),
        }],
        information: information(0.75),
        entropy: 1.0,
        evaluated: vec![Evaluated { design: single(1, 0.0), information: information(0.0) }],
        forecast: None,
    }
}

#[test]
fn a_batch_names_its_variables() {
    let expected = json!({
        "version": 1,
        "batch": [{
            "targets": {"X0": -1.0, "X2": 1.5}, "rows": 1, "information": 0.5, "standard_error": 0.125, "gain": 0.25, "cost": 2.0,
            "decides": []
        }],
        "batch_information": 0.75, "batch_standard_error": 0.125, "entropy": 1.0,
    });
    assert_eq!(serde_json::to_value(batch()).unwrap(), expected);
}

/// The format of existing files, to the last byte.
#[test]
fn the_format_of_a_batch_record_does_not_change() {
    let text = r#"{"batch":[{"targets":[["X0",-1.0],["X2",1.5]],"information":0.5,"standard_error":0.125,"gain":0.25,"cost":2.0}],"information":0.75,"standard_error":0.125,"entropy":1.0,"evaluated":[{"targets":[["X1",0.0]],"information":0.0,"standard_error":0.125}],"seconds":3.5}"#;
    let record = DesignRecord::new(&batch(), 3.5);
    assert_eq!(serde_json::to_string(&record).unwrap(), text);
    assert_eq!(serde_json::from_str::<DesignRecord>(text).unwrap(), record);
}

#[test]
fn designers_survive_json() {
    for values in [Values::Fixed(1.0), Values::Sample, Values::Grid(vec![0.5]), Values::gp_ucb()] {
        for (name, strategy) in Strategy::ALL {
            assert_eq!(serde_json::to_value(strategy).unwrap(), json!(name));
            let goal = Goal::Edge { from: 0, to: 1 };
            let designer = Designer { strategy, values: values.clone(), goal, ..Designer::default() };
            let form = serde_json::to_string(&designer).unwrap();
            assert_eq!(serde_json::from_str::<Designer>(&form).unwrap(), designer, "{form}");
        }
    }
    assert_eq!(serde_json::from_str::<Designer>("{}").unwrap(), Designer::default());
    assert!(serde_json::from_str::<Designer>(r#"{"batches": 3}"#).is_err());
    assert_eq!(serde_json::to_value((Utility::Model, Rule::Greedy)).unwrap(), json!(["model", "greedy"]));
    let chosen = batch().chosen.remove(0);
    let form = serde_json::to_value(&chosen).unwrap();
    assert_eq!(form["design"], json!([[0, -1.0], [2, 1.5]]));
    assert_eq!(serde_json::from_value::<Chosen>(form).unwrap(), chosen);
    let twice = serde_json::from_value::<Intervention>(json!([[1, 0.0], [1, 2.0]])).unwrap_err().to_string();
    assert!(twice.contains("set twice"), "{twice}");
}

#[test]
fn constraints_are_written_by_name() {
    let mut constraints = Constraints::range(3, -2.0, 2.0);
    constraints.variables[0] = None;
    constraints.variables[2] = Some(Allowed { levels: Levels::List(vec![0.0, 1.0]), cost: 3.0 });
    constraints.budget = Some(7.0);
    let form = serde_json::to_value(NamedConstraints::new(&constraints, &names(3))).unwrap();
    let expected = json!({
        "variables": {
            "X1": {"levels": {"range": [-2.0, 2.0]}, "cost": 1.0}, "X2": {"levels": {"list": [0.0, 1.0]}, "cost": 3.0}
        },
        "budget": 7.0, "max-targets": 1,
    });
    assert_eq!(form, expected);
    let read = |form: Value| serde_json::from_value::<NamedConstraints>(form).unwrap().constraints(&names(3));
    assert_eq!(read(form), Ok(constraints));
    let short = read(json!({"variables": {"X1": {"levels": {"range": [0, 1]}}}})).unwrap();
    assert_eq!(short.variables[1], Some(Allowed { levels: Levels::Range(0.0, 1.0), cost: 1.0 }));
    let unknown = read(json!({"variables": {"Y1": {"levels": {"range": [0, 1]}}}})).unwrap_err();
    assert_eq!(unknown, ConstraintError::Unknown { name: "Y1".into(), near: Some("X1".into()) });
    assert_eq!(unknown.to_string(), "\"Y1\" is not a variable; did you mean \"X1\"?");
}
