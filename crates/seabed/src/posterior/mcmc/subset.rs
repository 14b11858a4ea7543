//! Which rows stand for many: some from every regime, and those that lie furthest from one another.
//!
//! Nothing depends on the order in which the rows were measured: they come here in an order of their own.

use multiversion::multiversion;

/// At most `most` of the rows, in ascending order. Half of them are spread over the regimes, each in proportion to its rows
/// but none left out; the others are one after the other the row that is furthest from all chosen ones, measured by the
/// values of the parents, `parents[parent][row]`. `regimes[row]` numbers the regimes from 0 on, in ascending order.
pub(super) fn spread(parents: &[&[f64]], regimes: &[u32], most: usize) -> Vec<usize> {
    let rows = regimes.len();
    if rows <= most {
        return (0..rows).collect();
    }
    let even = if parents.is_empty() { most } else { most / 2 };
    let mut chosen = even_over_regimes(regimes, even);
    // Rows that lie apart by nothing that matters are not worth a place: the nearest chosen row of each, squared.
    let (mut nearest, mut apart) = (vec![f64::INFINITY; rows], vec![0.0; rows]);
    chosen.iter().for_each(|&row| see(parents, row, &mut nearest, &mut apart));
    while chosen.len() < most && !parents.is_empty() {
        let most_apart = largest(&nearest);
        let furthest = nearest.iter().position(|apart| *apart == most_apart && most_apart > 0.0);
        let Some(furthest) = furthest else { break };
        chosen.push(furthest);
        see(parents, furthest, &mut nearest, &mut apart);
    }
    chosen.sort_unstable();
    chosen
}

/// A new row is chosen: how near all rows are to it. `apart` is memory.
#[multiversion(targets("x86_64+avx512f+avx512dq", "x86_64+avx2"))]
fn see(parents: &[&[f64]], new: usize, nearest: &mut [f64], apart: &mut [f64]) {
    apart.fill(0.0);
    for x in parents {
        let at = x[new];
        apart.iter_mut().zip(*x).for_each(|(sum, x)| *sum += (x - at) * (x - at));
    }
    nearest.iter_mut().zip(&*apart).for_each(|(nearest, apart)| *nearest = nearest.min(*apart));
}

/// The largest of numbers that are not negative, and 0 if there are none.
#[multiversion(targets("x86_64+avx512f+avx512dq", "x86_64+avx2"))]
fn largest(values: &[f64]) -> f64 {
    let larger = |a: f64, b: f64| if b > a { b } else { a };
    let mut lanes = [0.0; 8];
    let chunks = values.chunks_exact(8);
    let rest = chunks.remainder().iter().copied().fold(0.0, larger);
    for chunk in chunks {
        for lane in 0..8 {
            lanes[lane] = larger(lanes[lane], chunk[lane]);
        }
    }
    lanes.into_iter().fold(rest, larger)
}

/// About `count` rows, evenly spread within every regime, at least one of each as far as they go.
fn even_over_regimes(regimes: &[u32], count: usize) -> Vec<usize> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for (row, &regime) in regimes.iter().enumerate() {
        groups.resize(groups.len().max(regime as usize + 1), Vec::new());
        groups[regime as usize].push(row);
    }
    let spare = count.saturating_sub(groups.len()) as f64 / regimes.len() as f64;
    let quota = |group: &Vec<usize>| (1 + (spare * group.len() as f64) as usize).min(group.len());
    let evenly = |of: &[usize], count: usize| -> Vec<usize> {
        (0..count).map(|place| of[(2 * place + 1) * of.len() / (2 * count)]).collect()
    };
    let chosen: Vec<usize> = groups.iter().flat_map(|group| evenly(group, quota(group))).collect();
    if chosen.len() > count { evenly(&chosen, count) } else { chosen }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_regime_and_the_furthest_rows_are_there() {
        let rows = 1000;
        let x: Vec<f64> = (0..rows).map(|row| if row == 500 { 90.0 } else { f64::from(row % 17) }).collect();
        let regimes: Vec<u32> =
            (0..rows as u32).map(|row| u32::from(row >= 990) + u32::from(row == 999)).collect();
        let chosen = spread(&[&x], &regimes, 100);
        assert!(chosen.windows(2).all(|pair| pair[0] < pair[1]));
        assert!(
            chosen.contains(&500)
                && chosen.contains(&999)
                && chosen.iter().any(|row| (990..999).contains(row))
        );
        // 17 values are all that there is to cover.
        assert!(chosen.len() <= 50 + 18, "{}", chosen.len());
        assert!((97..=100).contains(&spread(&[], &regimes, 100).len()));
        assert_eq!(spread(&[&x], &regimes, 5000).len(), 1000);
        let many: Vec<u32> = (0..1000).collect();
        assert!(spread(&[&x], &many, 100).len() <= 100);
    }
}
