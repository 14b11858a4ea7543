//! Do variables drift over the rows? Fits take rows as independent; two variables that drift look like cause and effect.
//!
//! Only rows in which nothing was set are looked at: values that an experimenter sets in turn would make their effects alike
//! in neighbouring rows too. Values are replaced by their ranks, so that tails and units make no difference.

use crate::data::Dataset;
use crate::graph::Node;

/// Neighbouring rows count as alike from this correlation on, if it is so many standard errors above 0.
const LEAST_CORRELATION: f64 = 0.25;
const LEAST_ERRORS: f64 = 4.5;

/// Variables whose values in neighbouring rows are alike, each with the rank correlation of a row with the next one. Pure
/// chance gives one in 300 000 variables.
pub fn drifting(data: &Dataset) -> Vec<(Node, f64)> {
    let rows: Vec<usize> = (0..data.rows()).filter(|&row| data.targets(row).is_empty()).collect();
    let pairs: Vec<usize> = (1..rows.len()).filter(|&k| rows[k] == rows[k - 1] + 1).collect();
    let enough = (LEAST_ERRORS * LEAST_ERRORS) as usize;
    if pairs.len() < enough {
        return Vec::new();
    }
    let of_node = |node: Node| {
        let values: Vec<f64> = rows.iter().map(|&row| data.column(node)[row]).collect();
        let ranks = centred_ranks(&values);
        let variance = ranks.iter().map(|rank| rank * rank).sum::<f64>() / ranks.len() as f64;
        let products: f64 = pairs.iter().map(|&k| ranks[k] * ranks[k - 1]).sum();
        let correlation = if variance > 0.0 { products / pairs.len() as f64 / variance } else { 0.0 };
        let alike =
            correlation > LEAST_CORRELATION && correlation * (pairs.len() as f64).sqrt() > LEAST_ERRORS;
        alike.then_some((node, correlation))
    };
    (0..data.variables()).filter_map(of_node).collect()
}

/// What [`drifting`] found, as a warning.
pub(super) fn warning(data: &Dataset) -> Option<String> {
    let found = drifting(data);
    if found.is_empty() {
        return None;
    }
    let named = |(node, correlation): &(Node, f64)| format!("{} ({correlation:.2})", data.names()[*node]);
    let first: Vec<String> = found.iter().take(5).map(named).collect();
    let more = if found.len() > 5 { format!(" and {} more", found.len() - 5) } else { String::new() };
    Some(format!(
        "rows are taken as independent, but neighbouring ones are alike in {}{more} (rank correlation): if they are in the \
         order of time, the variables drift, and edges between them may mean no more than that",
        first.join(", ")
    ))
}

/// Ranks with mean 0; equal values share theirs.
fn centred_ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
    let mut ranks = vec![0.0; values.len()];
    let middle = (values.len() as f64 - 1.0) / 2.0;
    let mut start = 0;
    while start < order.len() {
        let equal = order[start..].iter().take_while(|&&k| values[k] == values[order[start]]).count();
        let rank = start as f64 + (equal as f64 - 1.0) / 2.0 - middle;
        order[start..start + equal].iter().for_each(|&k| ranks[k] = rank);
        start += equal;
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::NodeSet;
    use crate::num::random::{Purpose, Seed};

    fn data(columns: Vec<Vec<f64>>) -> Dataset {
        let names = (0..columns.len()).map(|k| format!("X{k}")).collect();
        let nodes = columns.len();
        Dataset::with_regime(names, columns, NodeSet::empty(nodes)).unwrap()
    }

    #[test]
    fn ranks_are_centred_and_ties_share_them() {
        assert_eq!(centred_ranks(&[5.0, 1.0, 5.0, 9.0]), [0.0, -1.5, 0.0, 1.5]);
        assert_eq!(centred_ranks(&[2.0, 2.0]), [0.0, 0.0]);
    }

    #[test]
    fn random_walks_drift_and_independent_rows_do_not() {
        let mut draws = Seed::new(1).stream(Purpose::Noise).draws();
        let walk = |draws: &mut crate::num::random::Draws| -> Vec<f64> {
            (0..200)
                .scan(0.0, |at, _| {
                    *at += draws.normal();
                    Some(*at)
                })
                .collect()
        };
        let walks = data((0..4).map(|_| walk(&mut draws)).collect());
        assert_eq!(drifting(&walks).len(), 4);
        let text = warning(&walks).unwrap();
        assert!(text.contains("alike in X0 (0.9") && text.contains("X3"), "{text}");
        // 400 columns of independent rows, of which half have tails and are whole numbers.
        let still = data(
            (0..400)
                .map(|k| {
                    (0..200)
                        .map(|_| draws.normal())
                        .map(|z| if k < 200 { z } else { z.exp().floor() })
                        .collect()
                })
                .collect(),
        );
        assert_eq!(drifting(&still), []);
        assert_eq!(warning(&still), None);
        let few = data(vec![(0..15).map(f64::from).collect()]);
        assert_eq!(drifting(&few), []);
    }
}
