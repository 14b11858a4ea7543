//! What a belief remembers of the data it was learned from: the range, unit and kind of every variable.

use serde::{Deserialize, Serialize};

use super::dataset::Dataset;
use crate::graph::Node;

/// A table in brief; the variables are in the order of the table.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct DataSummary {
    /// Number of rows.
    pub rows: usize,
    /// Rows in which something was set.
    pub interventional: usize,
    /// One for every variable.
    pub variables: Vec<VariableSummary>,
}

/// A variable in brief, in its own unit.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct VariableSummary {
    /// Its name.
    pub name: String,
    /// Its unit, where one is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// What its values are.
    pub kind: ValueKind,
    /// Mean over the rows in which it was not set; over none, 0.
    pub mean: f64,
    /// Standard deviation over the same rows.
    pub sd: f64,
    /// The least value, measured or set.
    pub least: f64,
    /// The greatest value, measured or set.
    pub most: f64,
    /// 5 % of all values are below.
    pub low: f64,
    /// 5 % of all values are above.
    pub high: f64,
    /// Rows in which it was set.
    pub set: usize,
}

/// What the values of a variable are.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ValueKind {
    /// One value only.
    Constant,
    /// Two values.
    TwoValues,
    /// Whole numbers.
    WholeNumbers,
    /// Any numbers.
    Numbers,
}

impl DataSummary {
    /// Of a table; units are added by who knows them.
    pub fn of(data: &Dataset) -> Self {
        Self {
            rows: data.rows(),
            interventional: (0..data.rows()).filter(|&row| !data.targets(row).is_empty()).count(),
            variables: (0..data.variables()).map(|node| VariableSummary::of(data, node)).collect(),
        }
    }
}

impl VariableSummary {
    fn of(data: &Dataset, node: Node) -> Self {
        let free = || data.untouched_rows(node).map(|row| data.column(node)[row]);
        let rows = free().count();
        let n = rows.max(1) as f64;
        let mean = free().sum::<f64>() / n;
        let sd = (free().map(|x| (x - mean).powi(2)).sum::<f64>() / n).sqrt();
        let mut sorted = data.column(node).to_vec();
        sorted.sort_by(f64::total_cmp);
        let last = sorted.len() - 1;
        let at = |share: f64| sorted[(share * last as f64).round() as usize];
        let mut distinct = sorted.clone();
        distinct.dedup();
        Self {
            name: data.names()[node].clone(),
            unit: None,
            kind: match distinct.len() {
                1 => ValueKind::Constant,
                2 => ValueKind::TwoValues,
                _ if distinct.iter().all(|x| x.fract() == 0.0) => ValueKind::WholeNumbers,
                _ => ValueKind::Numbers,
            },
            mean,
            sd,
            least: sorted[0],
            most: sorted[last],
            low: at(0.05),
            high: at(0.95),
            set: data.rows() - rows,
        }
    }

    /// From where to where it is reasonable to set it: all that was measured or set, and nothing beyond, where a dose might
    /// be negative and nothing is known.
    pub fn range(&self) -> (f64, f64) {
        (self.least, self.most)
    }

    /// Does the value lie beyond all that was measured or set?
    pub fn is_beyond(&self, value: f64) -> bool {
        !(self.least..=self.most).contains(&value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_in_brief() {
        let columns =
            vec![vec![1.0, 2.0, 3.0, 9.0], vec![0.5; 4], vec![0.0, 1.0, 1.0, 0.0], vec![0.5, 1.5, 2.5, 7.0]];
        let targets = [vec![], vec![], vec![], vec!["a"]];
        let data = Dataset::from_columns(&["a", "b", "c", "d"], columns, &targets).unwrap();
        let summary = DataSummary::of(&data);
        assert_eq!((summary.rows, summary.interventional), (4, 1));
        let kinds: Vec<ValueKind> = summary.variables.iter().map(|variable| variable.kind).collect();
        use ValueKind::{Constant, Numbers, TwoValues, WholeNumbers};
        assert_eq!(kinds, [WholeNumbers, Constant, TwoValues, Numbers]);
        let a = &summary.variables[0];
        assert_eq!((a.mean, a.least, a.most, a.set), (2.0, 1.0, 9.0, 1));
        assert!((a.sd - (2.0f64 / 3.0).sqrt()).abs() < 1e-15);
        assert_eq!(a.range(), (1.0, 9.0));
        assert!(a.is_beyond(9.5) && !a.is_beyond(9.0));
        let text = serde_json::to_string(&summary).unwrap();
        assert_eq!(serde_json::from_str::<DataSummary>(&text).unwrap(), summary);
    }
}
