//! Measurements and who was intervened on: the table that every posterior learns from.
//!
//! A [`Dataset`] has finite numbers only, at least one row and one variable, and
//! valid names. All of this is checked when it is made, so nothing that takes one
//! checks again. Files are left to [`csv`](super::csv) and
//! [`parquet`](super::parquet).

use std::cmp::Ordering;
use std::collections::HashMap;

use crate::graph::{Node, NodeSet};
use crate::num::fingerprint;

use super::error::DataError;
use super::names::{Names, check_names, closest, index, position};
use super::wording::{Excerpt, Place};

/// The largest value, up or down, that is computed with: fits and designs refuse larger ones. They must be typing errors,
/// and their squares soon overflow.
pub const MOST_VALUE: f64 = 1e100;

/// Samples of the variables, each with the set of variables that were intervened on.
///
/// A *regime* is a set of targets; rows of the same regime were drawn from the same distribution up to the
/// values to which the targets were set, which stand in the targets' own columns.
#[derive(Clone, PartialEq, Debug)]
pub struct Dataset {
    names: Names,
    /// `[variables][rows]`.
    columns: Vec<Vec<f64>>,
    /// Distinct, each of at least one row, in the order of [`Dataset::regimes`].
    regimes: Vec<NodeSet>,
    /// `[rows]`, indices into `regimes`.
    regime_of_row: Vec<u32>,
}

impl Dataset {
    /// The data set of `columns` (`[variables][rows]`) and `targets` (`[rows]`).
    pub fn new(names: Names, columns: Vec<Vec<f64>>, targets: Vec<NodeSet>) -> Result<Self, DataError> {
        let rows = columns.first().map_or(0, Vec::len);
        if targets.len() != rows {
            return Err(DataError::Shape {
                each: "set of targets per row",
                expected: rows,
                got: targets.len(),
            });
        }
        let mut number = HashMap::new();
        let mut sets = Vec::new();
        let mut set_of_row = Vec::with_capacity(rows);
        for set in targets {
            let next = sets.len() as u32;
            let k = *number.entry(set).or_insert_with_key(|set| {
                sets.push(set.clone());
                next
            });
            set_of_row.push(k);
        }
        Self::from_sets(names, columns, sets, set_of_row)
    }

    /// The data set of plain arrays: `columns` is `[variables][rows]`, and `targets[row]` names the variables that were set
    /// in the row (none for an observation); no targets at all if everything was only observed.
    pub fn from_columns(
        names: &[impl AsRef<str>],
        columns: Vec<Vec<f64>>,
        targets: &[Vec<&str>],
    ) -> Result<Self, DataError> {
        let names: Names = names.iter().map(|name| name.as_ref().to_string()).collect();
        let rows = columns.first().map_or(0, Vec::len);
        if targets.is_empty() {
            return Self::with_regime(names.clone(), columns, NodeSet::empty(names.len()));
        }
        if targets.len() != rows {
            let got = targets.len();
            return Err(DataError::Shape { each: "list of targets per row", expected: rows, got });
        }
        let mut sets = Vec::with_capacity(rows);
        for (row, list) in targets.iter().enumerate() {
            let mut set = NodeSet::empty(names.len());
            for target in list {
                let node = position(&names, target).ok_or_else(|| DataError::UnknownTarget {
                    at: Box::new(Place::default().row(row + 1)),
                    target: Excerpt::new(target),
                    known: names.to_vec(),
                    suggestion: closest(target, &names).map(String::from),
                })?;
                set.insert(node);
            }
            sets.push(set);
        }
        Self::new(names, columns, sets)
    }

    /// The data set in which every row has the same targets; `columns` is `[variables][rows]`.
    pub fn with_regime(names: Names, columns: Vec<Vec<f64>>, targets: NodeSet) -> Result<Self, DataError> {
        let rows = columns.first().map_or(0, Vec::len);
        Self::from_sets(names, columns, vec![targets], vec![0; rows])
    }

    /// As [`Dataset::new`], with row `r` of targets `sets[set_of_row[r]]`; sets may repeat or be without rows.
    pub(super) fn from_sets(
        names: Names,
        columns: Vec<Vec<f64>>,
        sets: Vec<NodeSet>,
        set_of_row: Vec<u32>,
    ) -> Result<Self, DataError> {
        check_names(&names)?;
        check_values(&names, &columns, f64::is_finite)?;
        for (row, &k) in set_of_row.iter().enumerate() {
            if let Some(node) = sets[k as usize].iter().find(|&node| node >= names.len()) {
                let at = Box::new(Place::default().row(row + 1));
                return Err(DataError::TargetBeyond { at, node, variables: names.len() });
            }
        }
        let (regimes, regime_of_row) = in_canonical_order(&names, sets, set_of_row);
        Ok(Self { names, columns, regimes, regime_of_row })
    }

    /// The names of the variables, in order.
    pub fn names(&self) -> &Names {
        &self.names
    }

    /// Number of samples, at least 1.
    pub fn rows(&self) -> usize {
        self.regime_of_row.len()
    }

    /// Number of variables, at least 1.
    pub fn variables(&self) -> usize {
        self.names.len()
    }

    /// The values of a variable, one per row.
    pub fn column(&self, node: Node) -> &[f64] {
        &self.columns[node]
    }

    /// The values of all variables, `[variables][rows]`.
    pub fn columns(&self) -> &[Vec<f64>] {
        &self.columns
    }

    /// The distinct sets of targets, smaller sets first and sets of one size by the names of their members.
    ///
    /// So the observational regime is the first one, if there is any, and the order depends neither on the
    /// order of the rows nor on that of the columns.
    pub fn regimes(&self) -> &[NodeSet] {
        &self.regimes
    }

    /// For every row the index of its regime.
    pub fn regime_of_row(&self) -> &[u32] {
        &self.regime_of_row
    }

    /// Who was intervened on in a row.
    pub fn targets(&self, row: usize) -> &NodeSet {
        &self.regimes[self.regime_of_row[row] as usize]
    }

    /// A hash of the targets and all values, in the order of the variables.
    pub(crate) fn fingerprint(&self) -> u64 {
        let targets = (0..self.rows()).flat_map(|row| self.targets(row).iter().chain([usize::MAX]));
        let values = self.columns().iter().flatten().map(|x| x.to_bits());
        fingerprint::of_words(targets.map(|target| target as u64).chain(values))
    }

    /// The rows in which a variable was not a target: those that its mechanism can be learned from.
    pub fn untouched_rows(&self, node: Node) -> impl Iterator<Item = usize> + Clone + '_ {
        (0..self.rows()).filter(move |&row| !self.targets(row).contains(node))
    }

    /// Adds the rows of `other`, whose columns may be in another order; on an error nothing is changed.
    pub fn append(&mut self, other: &Dataset) -> Result<(), DataError> {
        let from = permutation(&other.names, &self.names)?;
        for (column, &k) in self.columns.iter_mut().zip(&from) {
            column.extend_from_slice(&other.columns[k]);
        }
        let offset = self.regimes.len() as u32;
        let mut sets = std::mem::take(&mut self.regimes);
        sets.extend(renumbered(&other.regimes, &from));
        let mut set_of_row = std::mem::take(&mut self.regime_of_row);
        set_of_row.extend(other.regime_of_row.iter().map(|k| k + offset));
        (self.regimes, self.regime_of_row) = in_canonical_order(&self.names, sets, set_of_row);
        Ok(())
    }

    /// The same data with the columns in the order of `names`, which are the same names.
    pub fn reordered(&self, names: &[String]) -> Result<Dataset, DataError> {
        let from = permutation(&self.names, names)?;
        Ok(Self {
            names: names.into(),
            columns: from.iter().map(|&k| self.columns[k].clone()).collect(),
            regimes: renumbered(&self.regimes, &from).collect(),
            regime_of_row: self.regime_of_row.clone(),
        })
    }

    /// The same rows in an order that does not depend on that in which they were given: by regime, then by their values
    /// of the first variable, of the second, and so on. Rows that are equal cannot be told apart.
    pub(crate) fn in_canonical_rows(&self) -> Dataset {
        let mut rows: Vec<usize> = (0..self.rows()).collect();
        rows.sort_by(|&a, &b| {
            let values = || self.columns.iter().map(|column| column[a].total_cmp(&column[b]));
            let regimes = self.regime_of_row[a].cmp(&self.regime_of_row[b]);
            regimes.then_with(|| values().find(|order| order.is_ne()).unwrap_or(Ordering::Equal))
        });
        Self {
            names: self.names.clone(),
            columns: self.columns.iter().map(|x| rows.iter().map(|&row| x[row]).collect()).collect(),
            regimes: self.regimes.clone(),
            regime_of_row: rows.iter().map(|&row| self.regime_of_row[row]).collect(),
        }
    }

    /// The first value that is too large to compute with, by its row and variable.
    pub fn too_large(&self) -> Option<(usize, Node)> {
        let within = |column: &[f64]| column.iter().position(|value| value.abs() > MOST_VALUE);
        (0..self.variables()).find_map(|node| Some((within(self.column(node))?, node)))
    }

    /// The variables that have the same value in every row.
    pub fn constant_columns(&self) -> Vec<Node> {
        let constant = |column: &[f64]| column.iter().all(|value| *value == column[0]);
        (0..self.variables()).filter(|&node| constant(&self.columns[node])).collect()
    }
}

/// One column per name, all of one length that is not 0, all values good.
pub(super) fn check_values(
    names: &Names,
    columns: &[Vec<f64>],
    good: impl Fn(f64) -> bool,
) -> Result<(), DataError> {
    if names.is_empty() {
        return Err(DataError::NoVariables { at: Box::default() });
    }
    if columns.len() != names.len() {
        return Err(DataError::Shape { each: "column per name", expected: names.len(), got: columns.len() });
    }
    let rows = columns[0].len();
    if rows == 0 {
        return Err(DataError::NoRows { at: Box::default() });
    }
    for (name, column) in names.iter().zip(columns) {
        if column.len() != rows {
            return Err(DataError::Shape {
                each: "value per row in every column",
                expected: rows,
                got: column.len(),
            });
        }
        if let Some(row) = column.iter().position(|value| !good(*value)) {
            let at = Box::new(Place::default().row(row + 1).column(name));
            return Err(DataError::NotFinite { at, text: Excerpt::new(&column[row].to_string()) });
        }
    }
    Ok(())
}

/// Distinct sets in the order of [`Dataset::regimes`], and the rows pointing at them.
fn in_canonical_order(
    names: &[String],
    sets: Vec<NodeSet>,
    mut set_of_row: Vec<u32>,
) -> (Vec<NodeSet>, Vec<u32>) {
    let mut used = vec![false; sets.len()];
    for &k in &set_of_row {
        used[k as usize] = true;
    }
    let members = |set: &NodeSet| {
        let mut members: Vec<&str> = set.iter().map(|node| names[node].as_str()).collect();
        members.sort_unstable();
        members
    };
    let mut keyed: Vec<(usize, Vec<&str>, usize)> =
        (0..sets.len()).filter(|&k| used[k]).map(|k| (sets[k].len(), members(&sets[k]), k)).collect();
    keyed.sort_unstable();

    let mut place = vec![0; sets.len()];
    let mut regimes: Vec<NodeSet> = Vec::with_capacity(keyed.len());
    let mut before: Option<&[&str]> = None;
    for (_, members, k) in &keyed {
        if before != Some(members) {
            // A new set, because the given one may come from a larger universe.
            regimes.push(NodeSet::of(names.len(), &sets[*k]));
            before = Some(members);
        }
        place[*k] = (regimes.len() - 1) as u32;
    }
    for k in &mut set_of_row {
        *k = place[*k as usize];
    }
    (regimes, set_of_row)
}

/// `from[k]` = the position in `have` of the name `want[k]`; both contain the same names.
fn permutation(have: &[String], want: &[String]) -> Result<Vec<Node>, DataError> {
    check_names(want)?;
    let (have_at, want_at) = (index(have), index(want));
    let without = |names: &[String], other: &HashMap<&str, Node>| -> Vec<String> {
        names.iter().filter(|name| !other.contains_key(name.as_str())).cloned().collect()
    };
    let (missing, unexpected) = (without(want, &have_at), without(have, &want_at));
    if missing.is_empty() && unexpected.is_empty() {
        Ok(want.iter().map(|name| have_at[name.as_str()]).collect())
    } else {
        Err(DataError::DifferentNames { missing, unexpected })
    }
}

/// The sets with node `from[k]` called `k`.
fn renumbered<'a>(sets: &'a [NodeSet], from: &'a [Node]) -> impl Iterator<Item = NodeSet> + 'a {
    sets.iter().map(|set| NodeSet::of(from.len(), (0..from.len()).filter(|&k| set.contains(from[k]))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(names: &[&str]) -> Names {
        names.iter().map(ToString::to_string).collect()
    }

    fn toy() -> Dataset {
        let set = |nodes: &[Node]| NodeSet::of(3, nodes.iter().copied());
        Dataset::new(
            names(&["c", "a", "b"]),
            vec![vec![1.0, 2.0, 3.0, 4.0], vec![5.0; 4], vec![0.0, -0.0, 1.0, 2.0]],
            vec![set(&[0]), set(&[2]), set(&[]), set(&[0, 1])],
        )
        .unwrap()
    }

    #[test]
    fn the_order_of_regimes_does_not_depend_on_rows_or_columns() {
        let data = toy();
        let regimes: Vec<Vec<Node>> = data.regimes().iter().map(|set| set.iter().collect()).collect();
        assert_eq!(regimes, [vec![], vec![2], vec![0], vec![0, 1]]);
        assert_eq!(data.regime_of_row(), [2, 1, 0, 3]);
        assert_eq!(data.targets(1), &NodeSet::of(3, [2]));
        assert_eq!(data.untouched_rows(0).collect::<Vec<_>>(), [1, 2]);
        assert_eq!(data.constant_columns(), [1]);
    }

    #[test]
    fn columns_can_be_reordered_and_nothing_else_changes() {
        let data = toy();
        let other = data.reordered(&names(&["a", "b", "c"])).unwrap();
        assert_eq!(other.regime_of_row(), data.regime_of_row());
        assert_eq!(other.column(2), data.column(0));
        assert_eq!(other.targets(0), &NodeSet::of(3, [2]));
        assert_eq!(other.reordered(data.names()).unwrap(), data);
        assert_eq!(
            data.reordered(&names(&["a", "b", "d"])).unwrap_err().to_string(),
            "the variables differ: missing: d; not expected: c"
        );
    }

    #[test]
    fn appending_is_by_name_and_is_the_same_as_one_table() {
        let data = toy();
        let mut twice = data.clone();
        twice.append(&data.reordered(&names(&["a", "b", "c"])).unwrap()).unwrap();
        assert_eq!(twice.rows(), 8);
        assert_eq!(twice.regimes(), data.regimes());
        assert_eq!(twice.regime_of_row(), [2, 1, 0, 3, 2, 1, 0, 3]);
        assert_eq!(twice.column(0), [1.0, 2.0, 3.0, 4.0, 1.0, 2.0, 3.0, 4.0]);

        let more =
            Dataset::with_regime(data.names().clone(), vec![vec![9.0]; 3], NodeSet::of(3, [1])).unwrap();
        let mut grown = data.clone();
        grown.append(&more).unwrap();
        assert_eq!(grown.regime_of_row(), [3, 2, 0, 4, 1]);
        let other = Dataset::with_regime(names(&["c", "a"]), vec![vec![9.0]; 2], NodeSet::empty(2)).unwrap();
        assert!(grown.append(&other).is_err());
        assert_eq!(grown.rows(), 5);
    }

    #[test]
    fn parts_that_do_not_fit_are_refused() {
        let (two, none) = (names(&["a", "b"]), NodeSet::empty(2));
        let message = |columns: Vec<Vec<f64>>, targets: Vec<NodeSet>| {
            Dataset::new(two.clone(), columns, targets).unwrap_err().to_string()
        };
        assert_eq!(
            message(vec![vec![1.0]], vec![none.clone()]),
            "a data set needs one column per name: expected 2, got 1"
        );
        assert_eq!(
            message(vec![vec![1.0], vec![]], vec![none.clone()]),
            "a data set needs one value per row in every column: expected 1, got 0"
        );
        assert_eq!(
            message(vec![vec![1.0], vec![1.0]], vec![]),
            "a data set needs one set of targets per row: expected 1, got 0"
        );
        assert_eq!(
            message(vec![vec![1.0], vec![f64::NAN]], vec![none]),
            "row 1, column \"b\": \"NaN\" is not a finite number; remove the row or correct the value"
        );
        assert_eq!(
            message(vec![vec![1.0], vec![1.0]], vec![NodeSet::of(70, [65])]),
            "row 1: node 65 is a target, but there are only 2 variables"
        );
        assert_eq!(
            message(vec![vec![]; 2], vec![]),
            "the data: there are no rows; at least one sample is needed"
        );
    }

    #[test]
    fn sets_of_a_larger_universe_are_the_same_sets() {
        let columns = vec![vec![1.0, 2.0], vec![1.0, 2.0]];
        let sets = vec![NodeSet::of(2, [1]), NodeSet::of(700, [1])];
        let data = Dataset::new(names(&["a", "b"]), columns, sets).unwrap();
        assert_eq!(data.regimes(), [NodeSet::of(2, [1])]);
    }
}
