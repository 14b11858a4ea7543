//! The variables in the order of their names: posteriors work in it, so that the order of the columns shows nowhere.

use crate::data::Dataset;
use crate::graph::Node;

/// The order of the names, against that of the columns.
pub(super) struct Order {
    /// `place[k]`: where variable k of the data stands in the order.
    pub place: Vec<usize>,
}

impl Order {
    pub fn by_name(data: &Dataset) -> Self {
        let mut sorted: Vec<Node> = (0..data.variables()).collect();
        sorted.sort_by(|&a, &b| data.names()[a].cmp(&data.names()[b]));
        let mut place = vec![0; sorted.len()];
        for (k, &node) in sorted.iter().enumerate() {
            place[node] = k;
        }
        Self { place }
    }

    /// The data with its columns in the order.
    pub fn sorted(&self, data: &Dataset) -> Dataset {
        let mut names = data.names().to_vec();
        names.sort();
        data.reordered(&names).expect("the same names in another order")
    }

    /// `[k]`: which variable of the data stands at place k.
    pub fn back(&self) -> Vec<Node> {
        let mut back = vec![0; self.place.len()];
        for (node, &k) in self.place.iter().enumerate() {
            back[k] = node;
        }
        back
    }
}
