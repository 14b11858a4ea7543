//! Traps in data that can be read and fitted: what makes a causal reading of them wrong or fragile, one line each.
//!
//! Everything here is judged before a fit and changes nothing in it. Thresholds are set so that ordinary data (Gaussian,
//! or nonlinear with Gaussian noise) hardly ever cause a line; a test counts how often they do.

use super::dataset::Dataset;
use super::summary::DataSummary;
use super::wording::Excerpt;
use crate::graph::Node;

/// Standard deviations from the mean where the variable was not set: settings beyond are far outside the data.
const FAR: f64 = 10.0;

/// Robust standard deviations from the median: a value beyond is an outlier or in a heavy tail.
const OUTLYING: f64 = 10.0;

/// Of the variance of a column, left by others: below this it is a function of them.
const DETERMINED: f64 = 1e-9;

/// Correlation of neighbouring rows, and how many standard errors it must be away from 0.
const RESEMBLANCE: (f64, f64) = (0.3, 6.0);

/// Rows that a model needs for each of its variables, and at least: with fewer it fits chance.
const ROWS_PER_VARIABLE: usize = 2;
const LEAST_ROWS: usize = 10;

/// With fewer rows, few values are no sign, and correlations are chance.
const ENOUGH_ROWS: usize = 30;

/// Whole numbers with a median below this are counts that a continuous quantity describes badly.
const SMALL_COUNT: f64 = 30.0;

/// Beyond this many variables or rows, determined columns are not looked for among the rest.
const MOST_COMPARED: (usize, usize) = (200, 2000);

/// Names that a line lists.
const MOST_NAMED: usize = 3;

/// What to beware of, one line each; empty for ordinary data.
pub fn traps(data: &Dataset) -> Vec<String> {
    let mut lines = far_values(data, settings(data));
    lines.extend(few_rows(data));
    lines.extend(always_set(data));
    lines.extend(never_observed(data));
    lines.extend(determined(data));
    lines.extend(few_values(data));
    lines.extend(in_order(data));
    lines.extend(heavy_tails(data));
    lines
}

/// Settings (variable, value) that are many spreads outside the data: of experiments made, or to be made. One line for
/// each variable, about its farthest setting.
pub fn far_values(data: &Dataset, settings: impl IntoIterator<Item = (Node, f64)>) -> Vec<String> {
    far(data.names(), |node| moments(data, node), settings)
}

/// As [`far_values`], of data that are known in brief only.
pub fn far_values_in_brief(
    data: &DataSummary,
    settings: impl IntoIterator<Item = (Node, f64)>,
) -> Vec<String> {
    let names: Vec<String> = data.variables.iter().map(|variable| variable.name.clone()).collect();
    let known = |node: Node| {
        let variable = &data.variables[node];
        (variable.sd > 0.0).then_some((variable.mean, variable.sd))
    };
    far(&names, known, settings)
}

fn far(
    names: &[String],
    moments: impl Fn(Node) -> Option<(f64, f64)>,
    settings: impl IntoIterator<Item = (Node, f64)>,
) -> Vec<String> {
    let mut farthest: Vec<Option<(f64, f64)>> = vec![None; names.len()];
    // Of every variable that is set at all, once: every row may set one.
    let mut known: Vec<Option<Option<(f64, f64)>>> = vec![None; names.len()];
    for (node, value) in settings.into_iter().filter(|(node, _)| *node < names.len()) {
        let Some((mean, sd)) = *known[node].get_or_insert_with(|| moments(node)) else { continue };
        let away = (value - mean).abs() / sd;
        if away > FAR && farthest[node].is_none_or(|(most, _)| away > most) {
            farthest[node] = Some((away, value));
        }
    }
    let line = |(node, (away, value)): (Node, (f64, f64))| {
        format!(
            "{} is set to {value}, {away:.0} standard deviations from its mean where it is not set: effects that far outside the \
             data need not be those within",
            Excerpt::new(&names[node])
        )
    };
    farthest.into_iter().enumerate().filter_map(|(node, far)| Some((node, far?))).map(line).collect()
}

/// Every setting in the data.
fn settings(data: &Dataset) -> impl Iterator<Item = (Node, f64)> + '_ {
    (0..data.rows())
        .flat_map(move |row| data.targets(row).iter().map(move |node| (node, data.column(node)[row])))
}

/// Mean and standard deviation over the rows in which the variable was not set; none if it did not vary there.
fn moments(data: &Dataset, node: Node) -> Option<(f64, f64)> {
    let rows = data.untouched_rows(node);
    let n = rows.clone().count() as f64;
    let column = data.column(node);
    let mean = rows.clone().map(|row| column[row]).sum::<f64>() / n;
    let sd = (rows.map(|row| (column[row] - mean).powi(2)).sum::<f64>() / n).sqrt();
    (n >= 2.0 && sd > 0.0 && sd.is_finite()).then_some((mean, sd))
}

/// Fewer rows than a model of all the variables can carry.
fn few_rows(data: &Dataset) -> Option<String> {
    let (rows, variables) = (data.rows(), data.variables());
    let needed = (ROWS_PER_VARIABLE * variables).max(LEAST_ROWS);
    (rows < needed).then(|| {
        format!(
            "{rows} rows are few for {variables} variables: models of them fit chance as well as causes, so what looks certain need \
             not be; {needed} rows or more say more"
        )
    })
}

fn always_set(data: &Dataset) -> Option<String> {
    let set: Vec<Node> =
        (0..data.variables()).filter(|&node| data.untouched_rows(node).next().is_none()).collect();
    let (names, is) = listed(data, &set)?;
    Some(format!(
        "{names} {is} set in every row: nothing can be learned about the causes of what is always set"
    ))
}

fn never_observed(data: &Dataset) -> Option<String> {
    let all = data.rows() > 0 && (0..data.rows()).all(|row| !data.targets(row).is_empty());
    all.then(|| {
        "every row has an intervention: no row shows the undisturbed system; add observations if there are any".into()
    })
}

/// Columns that are a linear function of others, wherever nothing was set.
fn determined(data: &Dataset) -> Vec<String> {
    let rows: Vec<usize> =
        (0..data.rows()).filter(|&row| data.targets(row).is_empty()).take(MOST_COMPARED.1).collect();
    let d = data.variables();
    // With as many variables as rows, everything is a function of the rest.
    if rows.len() < ENOUGH_ROWS || rows.len() < d + 2 || d > MOST_COMPARED.0 {
        return Vec::new();
    }
    let mut order: Vec<Node> = (0..d).collect();
    order.sort_by(|&a, &b| data.names()[a].cmp(&data.names()[b]));
    let mut basis: Vec<Vec<f64>> = Vec::new();
    let mut centred: Vec<(Node, Vec<f64>)> = Vec::new();
    let mut lines = Vec::new();
    for node in order {
        let Some(column) = standardised(data.column(node), &rows) else { continue };
        // Twice, because rounding leaves a trace of what was taken out.
        let mut left = column.clone();
        for _ in 0..2 {
            for known in &basis {
                let along = dot(&left, known);
                left.iter_mut().zip(known).for_each(|(x, y)| *x -= along * y);
            }
        }
        let length = dot(&left, &left).sqrt();
        if length * length > DETERMINED {
            left.iter_mut().for_each(|x| *x /= length);
            basis.push(left);
        } else if let Some((same, _)) =
            centred.iter().find(|(_, other)| dot(&column, other).abs() > 1.0 - DETERMINED)
        {
            lines.push(format!(
                "{} is a copy of {}, but for its unit: leave one out, or both look like causes of the other's effects",
                named(data, node),
                named(data, *same)
            ));
        } else {
            lines.push(format!(
                "{} is an exact linear function of other columns (a total, a difference?): leave it out",
                named(data, node)
            ));
        }
        centred.push((node, column));
    }
    shortened(lines, "columns are functions of others")
}

/// The rows of a column with mean 0 and length 1; none if it does not vary.
fn standardised(column: &[f64], rows: &[usize]) -> Option<Vec<f64>> {
    let mean = rows.iter().map(|&row| column[row]).sum::<f64>() / rows.len() as f64;
    let centred: Vec<f64> = rows.iter().map(|&row| column[row] - mean).collect();
    let length = dot(&centred, &centred).sqrt();
    (length > 0.0 && length.is_finite()).then(|| centred.iter().map(|x| x / length).collect())
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

/// Variables with two values, and counts.
fn few_values(data: &Dataset) -> Vec<String> {
    let (mut binary, mut counts) = (Vec::new(), Vec::new());
    for node in 0..data.variables() {
        let mut values: Vec<f64> = data.untouched_rows(node).map(|row| data.column(node)[row]).collect();
        if values.len() < ENOUGH_ROWS {
            continue;
        }
        values.sort_by(f64::total_cmp);
        let whole = values[0] >= 0.0 && values.iter().all(|value| value.fract() == 0.0);
        let median = values[values.len() / 2];
        values.dedup();
        if values.len() == 2 {
            binary.push(node);
        } else if values.len() > 2 && whole && median < SMALL_COUNT {
            counts.push(node);
        }
    }
    let line = |nodes: &[Node], has: [&str; 2], what: &str| {
        let (names, _) = listed(data, nodes)?;
        Some(format!("{names} {} {what}", has[usize::from(nodes.len() > 1)]))
    };
    let treated = "only two values: they are treated as a continuous quantity with Gaussian noise";
    let counted = "small whole numbers only, as counts do: they are treated as a continuous quantity with Gaussian noise";
    line(&binary, ["has", "have"], treated)
        .into_iter()
        .chain(line(&counts, ["has", "have"], counted))
        .collect()
}

/// Rows that resemble their neighbours more than chance allows, within the same regime.
fn in_order(data: &Dataset) -> Option<String> {
    let pairs: Vec<usize> =
        (1..data.rows()).filter(|&row| data.regime_of_row()[row] == data.regime_of_row()[row - 1]).collect();
    let n = pairs.len() as f64;
    let mut alike: Vec<(f64, Node)> = Vec::new();
    for node in 0..data.variables() {
        let centred = within_regimes(data, node);
        // A variable that is set does not vary by itself.
        let free: Vec<usize> =
            pairs.iter().copied().filter(|&row| !data.targets(row).contains(node)).collect();
        let (mut both, mut one, mut other) = (0.0, 0.0, 0.0);
        for &row in &free {
            let (x, y) = (centred[row - 1], centred[row]);
            (both, one, other) = (both + x * y, one + x * x, other + y * y);
        }
        let correlation = both / (one * other).sqrt();
        let errors = correlation * (free.len() as f64).sqrt();
        if n >= ENOUGH_ROWS as f64 && correlation > RESEMBLANCE.0 && errors > RESEMBLANCE.1 {
            alike.push((correlation, node));
        }
    }
    alike.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| data.names()[a.1].cmp(&data.names()[b.1])));
    let &(correlation, node) = alike.first()?;
    let others = match alike.len() - 1 {
        0 => String::new(),
        1 => ", and 1 other variable".into(),
        count => format!(", and {count} other variables"),
    };
    Some(format!(
        "neighbouring rows resemble each other ({}, correlation {correlation:.2}{others}): measured in time, or sorted? Rows are \
         taken as independent, so certainty is overstated",
        named(data, node)
    ))
}

/// A column minus its mean in each regime.
fn within_regimes(data: &Dataset, node: Node) -> Vec<f64> {
    let (column, regimes) = (data.column(node), data.regime_of_row());
    let mut sums = vec![(0.0, 0.0); data.regimes().len()];
    for (row, value) in column.iter().enumerate() {
        let sum = &mut sums[regimes[row] as usize];
        *sum = (sum.0 + value, sum.1 + 1.0);
    }
    column.iter().zip(regimes).map(|(value, &k)| value - sums[k as usize].0 / sums[k as usize].1).collect()
}

/// Values far from the rest where nothing was set.
fn heavy_tails(data: &Dataset) -> Option<String> {
    let rows: Vec<usize> = (0..data.rows()).filter(|&row| data.targets(row).is_empty()).collect();
    if rows.len() < ENOUGH_ROWS {
        return None;
    }
    let mut tails: Vec<(f64, Node, usize)> = Vec::new();
    for node in 0..data.variables() {
        let column = data.column(node);
        let middle = median(rows.iter().map(|&row| column[row]));
        // 1.4826 times the median distance is the standard deviation of Gaussian data.
        let spread = 1.4826 * median(rows.iter().map(|&row| (column[row] - middle).abs()));
        let away = |row: usize| (column[row] - middle).abs() / spread;
        let farthest = rows.iter().copied().max_by(|&a, &b| away(a).total_cmp(&away(b)))?;
        if spread > 0.0 && away(farthest) > OUTLYING {
            tails.push((away(farthest), node, farthest));
        }
    }
    tails.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| data.names()[a.1].cmp(&data.names()[b.1])));
    let &(away, node, row) = tails.first()?;
    let others = match tails.len() - 1 {
        0 => String::new(),
        1 => " (1 other variable is similar)".into(),
        count => format!(" ({count} other variables are similar)"),
    };
    Some(format!(
        "{} has heavy tails or outliers: {} in row {} is {away:.0} spreads from its median{others}; noise is taken to be Gaussian: \
         check the values, or fit their logarithm",
        named(data, node),
        data.column(node)[row],
        row + 1
    ))
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

fn named(data: &Dataset, node: Node) -> Excerpt {
    Excerpt::new(&data.names()[node])
}

/// The first names in a list, and the verb that goes with them; none for no variables.
fn listed(data: &Dataset, nodes: &[Node]) -> Option<(String, &'static str)> {
    let names: Vec<String> =
        nodes.iter().take(MOST_NAMED).map(|&node| named(data, node).to_string()).collect();
    let more = nodes.len().saturating_sub(MOST_NAMED);
    let text = match (&names[..], more) {
        ([], _) => return None,
        (_, 1..) => format!("{} and {more} more", names.join(", ")),
        ([one], _) => one.clone(),
        ([first @ .., last], _) => format!("{} and {last}", first.join(", ")),
    };
    Some((text, if nodes.len() == 1 { "is" } else { "are" }))
}

/// The first lines, and how many more there are.
fn shortened(mut lines: Vec<String>, what: &str) -> Vec<String> {
    if lines.len() > MOST_NAMED {
        let more = lines.len() - MOST_NAMED;
        lines.truncate(MOST_NAMED);
        lines.push(format!("{more} more {what}"));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::num::random::{Purpose, Seed};

    type Targets = Vec<(usize, Vec<&'static str>)>;

    /// Gaussian chains A -> B -> C of 100 observations and 40 rows in which B was set.
    fn ordinary(seed: u64) -> (Vec<Vec<f64>>, Targets) {
        let mut draws = Seed::new(seed).stream(Purpose::Noise).draws();
        let mut columns = vec![Vec::new(); 3];
        for row in 0..140 {
            let a = draws.normal();
            let b = if row < 100 { a + 0.5 * draws.normal() } else { 3.0 };
            [a, b, -b + 0.5 * draws.normal()]
                .into_iter()
                .zip(&mut columns)
                .for_each(|(x, column)| column.push(x));
        }
        (columns, (100..140).map(|row| (row, vec!["B"])).collect())
    }

    fn with(change: impl FnOnce(&mut Vec<Vec<f64>>, &mut Targets)) -> Vec<String> {
        let (mut columns, mut targets) = ordinary(1);
        change(&mut columns, &mut targets);
        traps(&table(&columns, &targets))
    }

    fn table(columns: &[Vec<f64>], targets: &[(usize, Vec<&str>)]) -> Dataset {
        use crate::data::Names;
        use crate::graph::NodeSet;
        let names: Names = ["A", "B", "C"].map(String::from).into();
        let set = |row: usize| {
            let listed = targets.iter().filter(|(at, _)| *at == row).flat_map(|(_, names)| names);
            NodeSet::of(3, listed.map(|name| names.iter().position(|known| known == name).unwrap()))
        };
        let sets = (0..columns[0].len()).map(set).collect();
        Dataset::new(names.clone(), columns.to_vec(), sets).unwrap()
    }

    /// 200 data sets with three variables: no line at all.
    #[test]
    fn ordinary_data_cause_no_line() {
        for seed in 0..200 {
            let (columns, targets) = ordinary(seed);
            assert_eq!(traps(&table(&columns, &targets)), Vec::<String>::new(), "seed {seed}");
        }
    }

    #[test]
    fn every_trap_is_said_in_one_line() {
        #[track_caller]
        fn only(lines: Vec<String>, said: &str) {
            assert!(lines.len() == 1 && lines[0].starts_with(said), "{lines:?}");
        }
        only(with(|columns, _| columns[1][120] = 40.0), "\"B\" is set to 40, ");
        let lines = with(|_, targets| targets.extend((0..100).map(|row| (row, vec!["B"]))));
        assert!(lines[0].starts_with("\"B\" is set in every row"), "{lines:?}");
        assert!(lines[1].starts_with("every row has an intervention"), "{lines:?}");
        only(
            with(|columns, _| columns[2] = columns[0].iter().map(|x| 32.0 + 1.8 * x).collect()),
            "\"C\" is a copy of \"A\"",
        );
        only(
            with(|columns, _| columns[2] = columns[0].iter().zip(&columns[1]).map(|(a, b)| a + b).collect()),
            "\"C\" is an exact linear function of other columns",
        );
        only(
            with(|columns, _| columns[0].iter_mut().for_each(|x| *x = f64::from(*x > 0.0))),
            "\"A\" has only two values",
        );
        only(
            with(|columns, _| columns[0].iter_mut().for_each(|x| *x = (2.0 + *x).max(0.0).round())),
            "\"A\" has small whole numbers only",
        );
        only(
            with(|columns, _| {
                (1..140).for_each(|row| columns[0][row] = 0.95 * columns[0][row - 1] + 0.3 * columns[0][row]);
            }),
            "neighbouring rows resemble each other (\"A\", correlation 0.",
        );
        only(with(|columns, _| columns[2][7] = 55.0), "\"C\" has heavy tails or outliers: 55 in row 8 is ");
    }

    #[test]
    fn few_rows_are_said() {
        let of = |rows: usize, variables: usize| {
            let mut draws = Seed::new(2).stream(Purpose::Noise).draws();
            let names: Vec<String> = (0..variables).map(|k| format!("V{k}")).collect();
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let columns = (0..variables).map(|_| (0..rows).map(|_| draws.normal()).collect()).collect();
            traps(&Dataset::from_columns(&names, columns, &[]).unwrap())
        };
        assert!(of(8, 3)[0].starts_with("8 rows are few for 3 variables"), "{:?}", of(8, 3));
        assert!(of(60, 200)[0].starts_with("60 rows are few for 200 variables"));
        assert!(of(10, 3).is_empty() && of(40, 20).is_empty());
    }

    #[test]
    fn proposed_settings_are_judged_too() {
        let (columns, targets) = ordinary(1);
        let data = table(&columns, &targets);
        assert_eq!(far_values(&data, [(0, 3.0), (1, -4.0)]), Vec::<String>::new());
        let lines = far_values(&data, [(0, 30.0), (0, -50.0), (7, 1.0)]);
        assert!(lines.len() == 1 && lines[0].starts_with("\"A\" is set to -50, "), "{lines:?}");
        assert_eq!(far_values_in_brief(&DataSummary::of(&data), [(0, 30.0), (0, -50.0), (7, 1.0)]), lines);
    }

    /// Every row sets a variable: what is known of it is not computed once for every row.
    #[test]
    fn many_settings_are_judged_in_a_moment() {
        let rows = 400_000;
        let column = |k: usize| (0..rows).map(|row| ((row * (7 + k)) % 101) as f64).collect::<Vec<_>>();
        let set = (0..rows).map(|row| crate::graph::NodeSet::of(2, [row % 2])).collect();
        let data =
            Dataset::new(["A", "B"].map(String::from).into(), vec![column(0), column(1)], set).unwrap();
        let start = std::time::Instant::now();
        assert_eq!(far_values(&data, settings(&data)), Vec::<String>::new());
        assert!(start.elapsed().as_secs() < 20);
    }

    #[test]
    fn many_names_are_counted() {
        let (columns, targets) = ordinary(1);
        let data = table(&columns, &targets);
        assert_eq!(listed(&data, &[0]).unwrap(), ("\"A\"".into(), "is"));
        assert_eq!(listed(&data, &[0, 2]).unwrap(), ("\"A\" and \"C\"".into(), "are"));
        assert_eq!(listed(&data, &[0, 1, 2, 0, 1]).unwrap().0, "\"A\", \"B\", \"C\" and 2 more");
        assert_eq!(listed(&data, &[]), None);
    }
}
