//! Replicas of a chain at higher temperatures, which trade places with it: parallel tempering.
//!
//! Many rows make the posterior rugged, and a chain may stay in the first valley it meets. A replica at temperature T has
//! weights to the power 1/T and moves freely; neighbours on the ladder swap their graphs with the probability that leaves
//! the law of all of them together as it is. So what the coldest one visits is still the posterior.

use super::mask::Mask;
use super::table::ParentSets;
use crate::num::parallel::ordered_map;
use crate::num::random::Draws;

/// Neighbouring temperatures differ by this factor, and there are so many at most.
const STEP: f64 = 1.5;
const MOST: usize = 16;

/// Temperatures above 1 and the tables at each.
pub(super) struct Ladder {
    steps: Vec<(f64, Vec<ParentSets>)>,
}

impl Ladder {
    /// No replicas.
    pub fn none() -> Self {
        Self { steps: Vec::new() }
    }

    /// Up to a temperature at which the chains move freely.
    pub fn up_to(highest: f64, tables: &[ParentSets]) -> Self {
        let temperatures = std::iter::successors(Some(STEP), |below| Some(STEP * below));
        let of = |temperature: f64| (temperature, ordered_map(tables, |table| table.at(temperature)));
        Self { steps: temperatures.take(MOST).take_while(|t| *t < STEP * highest).map(of).collect() }
    }

    /// Number of replicas.
    pub fn len(&self) -> usize {
        self.steps.len()
    }

    /// The tables of a replica; the coldest comes first.
    pub fn tables(&self, replica: usize) -> &[ParentSets] {
        &self.steps[replica].1
    }

    /// Swaps neighbours, those at even or those at odd places: `graphs` are the chain's own and then those of its replicas,
    /// `tables` those of temperature 1.
    pub fn swap(&self, graphs: &mut [Vec<Mask>], tables: &[ParentSets], odd: bool, draws: &mut Draws) {
        let coldness = |place: usize| if place == 0 { 1.0 } else { 1.0 / self.steps[place - 1].0 };
        for place in (usize::from(odd)..graphs.len() - 1).step_by(2) {
            let gain = log_weight(&graphs[place + 1], tables) - log_weight(&graphs[place], tables);
            if draws.uniform().ln() < (coldness(place) - coldness(place + 1)) * gain {
                graphs.swap(place, place + 1);
            }
        }
    }
}

/// The log-weight of a graph.
pub(super) fn log_weight(parents: &[Mask], tables: &[ParentSets]) -> f64 {
    let score = |(set, table): (&Mask, &ParentSets)| table.score(*set).expect("a set of the table");
    parents.iter().zip(tables).map(score).sum()
}

#[cfg(test)]
mod tests {
    use super::super::mask::bit;
    use super::*;
    use crate::num::random::{Purpose, Seed};

    /// Two states of one replica and of the chain: swaps alone keep the product of their laws. Frequencies of 20 000 steps, each
    /// replica redrawn from its own law every third step, within 4.5 standard errors (inflated by 2 for correlation).
    #[test]
    fn swaps_keep_the_law_of_all_replicas() {
        let tables = vec![
            ParentSets::new(vec![(Mask::EMPTY, 0.0), (bit(1), 2.0)], 2),
            ParentSets::new(vec![(Mask::EMPTY, 0.0)], 2),
        ];
        let ladder = Ladder::up_to(3.0, &tables);
        assert_eq!(ladder.len(), 3);
        let mut draws = Seed::new(1).stream(Purpose::Mcmc).draws();
        let mut graphs = vec![vec![Mask::EMPTY; 2]; 4];
        let mut counts = [0.0; 4];
        let steps = 20_000;
        for step in 0..steps {
            for place in 0..4 {
                if step % 3 == 0 {
                    let tables = if place == 0 { &tables } else { ladder.tables(place - 1) };
                    graphs[place][0] = tables[0].draw(bit(1), Mask::EMPTY, &mut draws).unwrap();
                }
                counts[place] += f64::from(u8::from(!graphs[place][0].is_empty()));
            }
            ladder.swap(&mut graphs, &tables, step % 2 == 1, &mut draws);
        }
        for (place, count) in counts.iter().enumerate() {
            let odds = 2.0 / 1.5f64.powi(place as i32);
            let p = odds.exp() / (1.0 + odds.exp());
            let error = 2.0 * (p * (1.0 - p) / f64::from(steps)).sqrt();
            assert!((count / f64::from(steps) - p).abs() < 4.5 * error, "{place}: {count} {p}");
        }
    }
}
