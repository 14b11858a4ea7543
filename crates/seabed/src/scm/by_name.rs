//! Variables in the order of their names: what is computed in this order does not depend on the order of the columns,
//! to the last bit.

use super::Ensemble;
use crate::data::Names;
use crate::graph::Node;

/// The order of the names, and the way back.
pub(crate) struct ByName {
    /// The names, sorted.
    pub(crate) names: Names,
    /// `from[k]`: which variable is the k-th by name.
    pub(crate) from: Vec<Node>,
    /// `to[j]`: where variable j stands by name.
    pub(crate) to: Vec<Node>,
}

impl ByName {
    /// The order of the given names.
    pub(crate) fn new(names: &Names) -> Self {
        let mut from: Vec<Node> = (0..names.len()).collect();
        from.sort_by(|&a, &b| names[a].cmp(&names[b]));
        let mut to = vec![0; from.len()];
        for (k, &node) in from.iter().enumerate() {
            to[node] = k;
        }
        Self { names: from.iter().map(|&node| names[node].clone()).collect(), from, to }
    }

    /// The ensemble with its variables sorted.
    pub(crate) fn sorted(&self, ensemble: &Ensemble) -> Ensemble {
        let draws = ensemble.draws().iter().map(|draw| draw.reordered(&self.names, &self.from)).collect();
        Ensemble::new(draws, ensemble.weights().to_vec()).expect("reordering keeps an ensemble valid")
    }
}
