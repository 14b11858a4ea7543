//! The information of a batch beyond experiments that are under way.

use seabed::design::{Batch, Constraints, Designer, Strategy, Temperature, Values};
use seabed::num::random::Seed;
use seabed::scm::Intervention;

use crate::{random_ensemble, single, two_questions};

/// do(X2 = 2) is under way and will answer the larger question: every strategy that uses information turns to X0.
#[test]
fn what_is_pending_is_not_repeated() {
    let constraints = Constraints::range(4, -2.0, 2.0);
    let target = |batch: &Batch| batch.chosen[0].design.settings()[0].0;
    for strategy in [Strategy::GreedyCbed, Strategy::Cbed, Strategy::SoftCbed, Strategy::Abcd] {
        let designer = Designer {
            strategy,
            batch: 1,
            values: Values::Fixed(2.0),
            temperature: Temperature::Given(0.01),
            ..Designer::default()
        };
        let after = |pending: &[Intervention]| {
            designer.design_after(&two_questions(), pending, &constraints, Seed::new(1), &()).unwrap()
        };
        assert_eq!(target(&after(&[])), 2, "{strategy:?}");
        let next = after(&[single(2, 2.0)]);
        assert_eq!(target(&next), 0, "{strategy:?}");
        assert!((next.information.nats - 2f64.ln()).abs() < 1e-6, "{:?}", next.information);
        assert!((next.chosen[0].information.nats - 2f64.ln()).abs() < 1e-6);
        assert!((next.entropy - 2f64.ln()).abs() < 1e-6, "{}", next.entropy);
        // Once everything is under way, nothing is left to learn.
        let nothing = after(&[single(2, 2.0), single(0, 2.0)]);
        assert!(nothing.information.nats.abs() < 1e-6 && nothing.entropy.abs() < 1e-6);
        assert!(nothing.evaluated.iter().all(|candidate| candidate.information.nats.abs() < 1e-6));
    }
}

/// Information beyond what is pending is the difference of two joint informations, estimated on the same outcomes; with
/// nothing pending it is the information, to the last bit.
#[test]
fn information_beyond_the_pending_is_a_difference_of_joint_informations() {
    let (ensemble, constraints) = (random_ensemble(4, 6, false, 5), Constraints::range(4, -3.0, 3.0));
    for strategy in [Strategy::GreedyCbed, Strategy::SoftCbed, Strategy::Random, Strategy::SoftAit] {
        let designer = Designer { strategy, batch: 3, samples: 4000, evaluations: 2, ..Designer::default() };
        let seed = Seed::new(8);
        let plain = designer.design(&ensemble, &constraints, seed, &()).unwrap();
        assert_eq!(designer.design_after(&ensemble, &[], &constraints, seed, &()).unwrap(), plain);
        let pending = [single(1, 1.5), single(3, -2.0), single(1, 1.5)];
        let next = designer.design_after(&ensemble, &pending, &constraints, seed, &()).unwrap();
        let batch: Vec<Intervention> = next.chosen.iter().map(|chosen| chosen.design.clone()).collect();
        let all: Vec<Intervention> = pending.iter().chain(&batch).cloned().collect();
        let worth =
            |designs: &[Intervention]| designer.score_batch(&ensemble, designs, Seed::new(9), &()).unwrap();
        let (joint, known) = (worth(&all), worth(&pending));
        let error = joint.standard_error + known.standard_error + next.information.standard_error;
        let difference = joint.nats - known.nats;
        // Two independent estimates of one number: 5 standard errors, beyond which chance is below 1e-6.
        assert!(
            (next.information.nats - difference).abs() < 5.0 * error,
            "{:?} {difference}",
            next.information
        );
        let gains: f64 = next.chosen.iter().map(|chosen| chosen.gain).sum();
        assert!((gains - next.information.nats).abs() < 1e-9);
    }
}
