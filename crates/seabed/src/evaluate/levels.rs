//! How many experiments a strategy needs to know as much as another one knows at its end.
//!
//! In every world (same setting, same seed) the level is the value that the baseline has once its experiments are used
//! up. Whoever does not get there within its own experiments is open: it needs more than it had, nobody knows how many.
//! Open worlds count in medians as infinite, never as missing, so that a strategy gains nothing by failing.
//! Definitions: docs/math.md, evaluation. Drawing is left to others.

use serde::Serialize;

use super::compare::{Curve, Metric, lines_of, present, range_of};
use super::wilcoxon::wilcoxon_signed_rank;
use crate::num::random::{Purpose, Seed};

/// The metrics whose levels are reported, the most important first.
pub const LEVEL_METRICS: [Metric; 4] =
    [Metric::Eshd, Metric::EdgeLoss, Metric::TruthMass, Metric::GoalErrors];

/// A value this much worse than the level is still at the level: sums in another order differ by less.
const TOLERANCE: f64 = 1e-9;

/// Studies resampled for the interval of a ratio.
const RESAMPLES: usize = 2000;

/// The experiments that one line of one setting needs to reach the levels of the baseline.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Needed {
    /// What the compared runs have in common.
    pub setting: String,
    /// The strategy.
    pub line: String,
    /// The strategy whose last values are the levels.
    pub baseline: String,
    /// In the order of their seeds: the worlds that the line and the baseline both finished.
    pub worlds: Vec<NeededInWorld>,
    /// Runs of the line left out: unfinished ones, and those in worlds where the baseline has no level.
    pub left_out: usize,
    /// Experiments that the line's runs have.
    pub budget: f64,
    /// Experiments that the baseline's runs have.
    pub baseline_budget: f64,
}

/// The experiments needed in one world.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct NeededInWorld {
    /// Which world of the setting.
    pub seed: u64,
    /// What the baseline reaches at its end, in the units of the metric.
    pub level: f64,
    /// Experiments after which the line is at the level or better for the first time; none if it never is.
    pub needed: Option<f64>,
    /// Experiments after which the baseline is there for the first time.
    pub baseline_needed: f64,
}

impl NeededInWorld {
    /// Did the baseline learn nothing, so that its level was met before any experiment?
    pub fn says_nothing(&self) -> bool {
        self.baseline_needed <= 0.0
    }

    /// An open world needs more than any number.
    fn count(&self) -> f64 {
        self.needed.unwrap_or(f64::INFINITY)
    }
}

/// A number over worlds with its uncertainty. Infinite (null in JSON): open.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Estimate {
    /// The number.
    pub value: f64,
    /// Its 95 % interval; none with fewer than 6 worlds, which cannot give one.
    pub interval: Option<(f64, f64)>,
    /// What an open end is known to exceed.
    pub beyond: f64,
}

impl Estimate {
    /// The value and the interval in words, `3` and `2 to >10`, with numbers written by `number`.
    pub fn words(&self, number: impl Fn(f64) -> String) -> (String, Option<String>) {
        let word = |value: f64| {
            if value.is_finite() { number(value) } else { format!(">{}", number(self.beyond)) }
        };
        let interval = |(low, high): (f64, f64)| match low.is_finite() {
            true => format!("{} to {}", word(low), word(high)),
            false => word(low),
        };
        (word(self.value), self.interval.map(interval))
    }
}

/// A line against the baseline, over the worlds that say something.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Saved {
    /// The median of the experiments that the baseline needs.
    pub baseline_median: f64,
    /// The median of the line divided by that of the baseline: below 1, experiments are saved.
    pub ratio: Estimate,
    /// Two-sided p of Wilcoxon's signed-rank test of the paired numbers, an open one being one more than the larger
    /// budget.
    pub p: f64,
}

/// The experiments needed to reach what `baseline` reaches at its end: one entry per (setting, line), the baseline
/// included, in the order of their first curves. The points of a curve are (experiments so far, value), in any order.
/// A setting in which no run of the baseline gives a level has no entries.
///
/// A run is finished if its values span the experiments of its line.
pub fn experiments_needed(curves: &[Curve], metric: Metric, baseline: &str) -> Vec<Needed> {
    let better = |value: f64, level: f64| match metric.higher_is_better() {
        true => value >= level - TOLERANCE,
        false => value <= level + TOLERANCE,
    };
    let first_at = |curve: &Curve, level: f64| {
        let there = present(&curve.points).filter(|point| better(point.1, level));
        there.map(|point| point.0).reduce(f64::min)
    };
    let needed = |(setting, line): (&str, &str)| {
        let (budget, runs) = finished(curves, setting, line)?;
        let (baseline_budget, others) = finished(curves, setting, baseline)?;
        let in_world = |run: &&Curve| {
            let other = others.iter().find(|other| other.seed == run.seed)?;
            let level = present(&other.points).max_by(|a, b| a.0.total_cmp(&b.0))?.1;
            let baseline_needed = first_at(other, level)?;
            Some(NeededInWorld { seed: run.seed, level, needed: first_at(run, level), baseline_needed })
        };
        let mut worlds: Vec<NeededInWorld> = runs.iter().filter_map(in_world).collect();
        worlds.sort_by_key(|world| world.seed);
        worlds.dedup_by_key(|world| world.seed);
        let all = curves.iter().filter(|curve| curve.setting == setting && curve.line == line).count();
        Some(Needed {
            setting: setting.to_string(),
            line: line.to_string(),
            baseline: baseline.to_string(),
            left_out: all - worlds.len(),
            worlds,
            budget,
            baseline_budget,
        })
    };
    lines_of(curves).into_iter().filter_map(needed).collect()
}

/// The experiments of a line, and its runs that have values from the first to the last of them.
fn finished<'a>(curves: &'a [Curve], setting: &str, line: &str) -> Option<(f64, Vec<&'a Curve>)> {
    let runs = || curves.iter().filter(|curve| curve.setting == setting && curve.line == line);
    let range = range_of(runs().flat_map(|curve| present(&curve.points)))?;
    Some((range.1, runs().filter(|run| range_of(present(&run.points)) == Some(range)).collect()))
}

impl Needed {
    /// The worlds that say something.
    pub fn counted(&self) -> impl Iterator<Item = &NeededInWorld> {
        self.worlds.iter().filter(|world| !world.says_nothing())
    }

    /// How many worlds say something.
    pub fn count(&self) -> usize {
        self.counted().count()
    }

    /// In how many of these the line reached the level.
    pub fn reached(&self) -> usize {
        self.counted().filter(|world| world.needed.is_some()).count()
    }

    /// The median over the worlds that say something, its interval by order statistics; none without such worlds.
    pub fn median(&self) -> Option<Estimate> {
        let mut counts: Vec<f64> = self.counted().map(NeededInWorld::count).collect();
        let value = median(&mut counts)?;
        counts.sort_by(f64::total_cmp);
        let interval = interval_rank(counts.len()).map(|k| (counts[k - 1], counts[counts.len() - k]));
        Some(Estimate { value, interval, beyond: self.budget })
    }

    /// How the line differs from the baseline; none for the baseline itself, and if no world says something.
    pub fn against_baseline(&self) -> Option<Saved> {
        if self.line == self.baseline {
            return None;
        }
        let pairs: Vec<(f64, f64)> =
            self.counted().map(|world| (world.count(), world.baseline_needed)).collect();
        let baseline_median = median(&mut pairs.iter().map(|pair| pair.1).collect::<Vec<_>>())?;
        let value = ratio_of_medians(pairs.iter().copied())?;
        let interval = interval_rank(pairs.len()).map(|_| resampled_interval(&pairs));
        // Conservative if the budgets differ: beyond the smaller one nobody knows.
        let open = self.budget.max(self.baseline_budget) + 1.0;
        let differences: Vec<f64> = pairs.iter().map(|pair| pair.0.min(open) - pair.1).collect();
        Some(Saved {
            baseline_median,
            ratio: Estimate { value, interval, beyond: self.budget / baseline_median },
            p: wilcoxon_signed_rank(&differences)?,
        })
    }

    /// The share of worlds that have reached the level, as a step function of the experiments: (experiments, share from
    /// there on) at 0, wherever it grows, and at the end of the budget. Empty if no world says something.
    pub fn share_reached(&self) -> Vec<(f64, f64)> {
        let counts: Vec<f64> = self.counted().map(NeededInWorld::count).collect();
        if counts.is_empty() {
            return Vec::new();
        }
        let mut places: Vec<f64> = counts.iter().copied().filter(|count| count.is_finite()).collect();
        places.extend([0.0, self.budget]);
        places.sort_by(f64::total_cmp);
        places.dedup();
        let share =
            |place: f64| counts.iter().filter(|count| **count <= place).count() as f64 / counts.len() as f64;
        places.into_iter().map(|place| (place, share(place))).collect()
    }

    /// The comparison with the baseline as one sentence without a full stop, in this form (the numbers are made up):
    /// `greedy-edges: 3 experiments (median, 95 % 2 to 4) where random needed 10; 0.30 of them (0.20 to 0.45), p = 0.0004,
    /// 50 worlds`. The baseline has none.
    pub fn sentence(&self) -> Option<String> {
        let (line, baseline) = (&self.line, &self.baseline);
        if line == baseline {
            return None;
        }
        let (worlds, silent) = (self.count(), self.worlds.len() - self.count());
        let (Some(median), Some(saved)) = (self.median(), self.against_baseline()) else {
            return Some(match silent {
                0 => format!("{line}: no world that both it and {baseline} have finished"),
                1 => format!("{line}: {baseline} learned nothing in the only world, which so says nothing"),
                _ => format!(
                    "{line}: {baseline} learned nothing in any of {silent} worlds, which so say nothing"
                ),
            });
        };
        let (needed, interval) = median.words(|value| value.to_string());
        let (of_them, ratios) = saved.ratio.words(|value| format!("{value:.2}"));
        let ratios = ratios.map_or(String::new(), |ratios| format!(" ({ratios})"));
        let noun = if needed == "1" { "experiment" } else { "experiments" };
        let note = match interval {
            Some(interval) => format!(" (median, 95 % {interval})"),
            None if worlds > 1 => " (median)".into(),
            None => String::new(),
        };
        let p = match saved.p {
            p if p < 0.0001 => "p < 0.0001".to_string(),
            p if p < 0.01 => format!("p = {p:.4}"),
            p => format!("p = {p:.2}"),
        };
        let counted = if worlds == 1 { "1 world".to_string() } else { format!("{worlds} worlds") };
        let counted = match self.reached() {
            reached if reached == worlds => counted,
            reached => format!("reached in {reached} of {counted}"),
        };
        let silent = match silent {
            0 => String::new(),
            1 => format!("; 1 more, in which {baseline} learned nothing, says nothing"),
            more => format!("; {more} more, in which {baseline} learned nothing, say nothing"),
        };
        let theirs = saved.baseline_median;
        Some(format!(
            "{line}: {needed} {noun}{note} where {baseline} needed {theirs}; {of_them} of them{ratios}, {p}, {counted}{silent}"
        ))
    }
}

/// The middle value, or the mean of the two in the middle. Reorders the values.
fn median(values: &mut [f64]) -> Option<f64> {
    if values.is_empty() {
        return None;
    }
    let (middle, even) = (values.len() / 2, values.len().is_multiple_of(2));
    let (below, &mut upper, _) = values.select_nth_unstable_by(middle, f64::total_cmp);
    let lower = if even { below.iter().copied().fold(f64::NEG_INFINITY, f64::max) } else { upper };
    Some((lower + upper) / 2.0)
}

fn ratio_of_medians(pairs: impl Iterator<Item = (f64, f64)>) -> Option<f64> {
    let (mut line, mut baseline): (Vec<f64>, Vec<f64>) = pairs.unzip();
    Some(median(&mut line)? / median(&mut baseline)?)
}

/// The largest k for which the k-th smallest and the k-th largest of n values enclose the median of what they were drawn
/// from with a probability of at least 95 %: P(fewer than k of n fair coins show heads) <= 2.5 %.
fn interval_rank(n: usize) -> Option<usize> {
    let (mut log_chance, mut below, mut k) = (-(n as f64) * std::f64::consts::LN_2, 0.0, 0);
    loop {
        below += log_chance.exp();
        if below > 0.025 {
            return (k > 0).then_some(k);
        }
        k += 1;
        log_chance += ((n + 1 - k) as f64 / k as f64).ln();
    }
}

/// The middle 95 % of the ratios in studies whose worlds are drawn from these with replacement, a line and its baseline
/// together.
fn resampled_interval(pairs: &[(f64, f64)]) -> (f64, f64) {
    let stream = Seed::new(0).stream(Purpose::Bootstrap);
    let resample = |k: usize| {
        let mut draws = stream.at(k as u64).draws();
        ratio_of_medians((0..pairs.len()).map(|_| pairs[draws.below(pairs.len())]))
    };
    let mut ratios: Vec<f64> = (0..RESAMPLES).filter_map(resample).collect();
    ratios.sort_by(f64::total_cmp);
    let outside = RESAMPLES / 40;
    (ratios[outside - 1], ratios[RESAMPLES - outside])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two experiments per round.
    fn curve(line: &str, seed: u64, values: &[f64]) -> Curve {
        let points = values.iter().enumerate().map(|(round, value)| (2.0 * round as f64, *value)).collect();
        Curve { setting: "er".into(), line: line.into(), seed, points }
    }

    fn of<'a>(table: &'a [Needed], line: &str) -> &'a Needed {
        table.iter().find(|needed| needed.line == line).unwrap()
    }

    /// Worlds as (experiments that the line needs, or none if it never gets there; that the baseline needs).
    fn study(budget: usize, needed: &[(Option<usize>, usize)]) -> Needed {
        let worlds = needed.iter().enumerate().map(|(seed, (needed, baseline))| NeededInWorld {
            seed: seed as u64,
            level: 0.0,
            needed: needed.map(|count| count as f64),
            baseline_needed: *baseline as f64,
        });
        Needed {
            setting: "er".into(),
            line: "greedy".into(),
            baseline: "random".into(),
            worlds: worlds.collect(),
            left_out: 0,
            budget: budget as f64,
            baseline_budget: budget as f64,
        }
    }

    #[test]
    fn curves_by_hand() {
        const GAP: f64 = f64::NAN;
        let curves = [
            // Ends at 3, was there after 4 experiments.
            curve("random", 1, &[9.0, 5.0, 3.0, 3.0]),
            curve("greedy", 1, &[9.0, 3.0 + 1e-10, 4.0, 5.0]), // there at 2, whatever comes later
            curve("random", 0, &[9.0, 5.0, 4.0, 2.0]),
            curve("greedy", 0, &[9.0, 5.0, 3.0, 2.5]), // never: open
            curve("random", 2, &[4.0, 3.0, 5.0, 4.0]), // learns nothing
            curve("greedy", 2, &[4.0, 3.0, 2.0, 1.0]),
            curve("random", 3, &[9.0, 8.0, 7.0, 6.0]),
            curve("greedy", 3, &[9.0, GAP, 6.0, 1.0]), // a gap cannot be at the level
            curve("greedy", 4, &[9.0, 1.0, 1.0, 1.0]), // no baseline
            curve("random", 5, &[9.0, 1.0, 1.0]),      // unfinished
            curve("greedy", 5, &[9.0, 1.0, 1.0, 1.0]),
            curve("random", 6, &[9.0, 1.0, 1.0, 1.0]),
            curve("greedy", 6, &[9.0, 1.0, 1.0]),      // unfinished
            curve("random", 7, &[9.0, 1.0, 1.0, GAP]), // no last value, no level
            curve("greedy", 7, &[9.0, 1.0, 1.0, 1.0]),
        ];
        let table = experiments_needed(&curves, Metric::Eshd, "random");
        let greedy = of(&table, "greedy");
        let found: Vec<_> =
            greedy.worlds.iter().map(|w| (w.seed, w.level, w.needed, w.baseline_needed)).collect();
        assert_eq!(
            found,
            [
                (0, 2.0, None, 6.0),
                (1, 3.0, Some(2.0), 4.0),
                (2, 4.0, Some(0.0), 0.0),
                (3, 6.0, Some(4.0), 6.0)
            ]
        );
        assert_eq!((greedy.left_out, greedy.count(), greedy.reached(), greedy.budget), (4, 3, 2, 6.0));
        assert_eq!(greedy.median().unwrap(), Estimate { value: 4.0, interval: None, beyond: 6.0 });
        let saved = greedy.against_baseline().unwrap();
        assert_eq!((saved.baseline_median, saved.ratio.value, saved.ratio.interval), (6.0, 4.0 / 6.0, None));
        // Differences 7 - 6, 2 - 4, 4 - 6: ranks 1 against 2.5 + 2.5; 2 of 8 signs have a sum of at most 1.
        assert_eq!(saved.p, 0.5);
        assert_eq!(
            greedy.share_reached(),
            [(0.0, 0.0), (2.0, 1.0 / 3.0), (4.0, 2.0 / 3.0), (6.0, 2.0 / 3.0)]
        );
        let random = of(&table, "random");
        assert_eq!((random.worlds.len(), random.count(), random.reached()), (5, 4, 4));
        assert_eq!(random.median().unwrap().value, 5.0);
        assert_eq!((random.against_baseline(), random.sentence()), (None, None));
    }

    #[test]
    fn higher_may_be_better() {
        let curves = [curve("random", 0, &[0.1, 0.4, 0.5]), curve("greedy", 0, &[0.1, 0.5, 0.2])];
        let table = experiments_needed(&curves, Metric::Auroc, "random");
        assert_eq!(of(&table, "greedy").worlds[0].needed, Some(2.0));
        assert_eq!(of(&table, "random").worlds[0].needed, Some(4.0));
    }

    #[test]
    fn settings_do_not_mix_and_without_a_baseline_there_is_nothing() {
        let mut curves = vec![curve("greedy", 0, &[2.0, 1.0])];
        assert_eq!(experiments_needed(&curves, Metric::Eshd, "random"), []);
        curves.push(Curve { setting: "sf".into(), ..curve("random", 0, &[2.0, 1.0]) });
        let table = experiments_needed(&curves, Metric::Eshd, "random");
        assert_eq!(table.iter().map(|needed| needed.line.as_str()).collect::<Vec<_>>(), ["random"]);
        curves.push(curve("random", 0, &[f64::NAN, f64::NAN]));
        assert_eq!(experiments_needed(&curves, Metric::Eshd, "random").len(), 1, "no value, no level");
        assert_eq!(experiments_needed(&[], Metric::Eshd, "random"), []);
    }

    #[test]
    fn the_order_of_runs_does_not_matter() {
        let run = |k: u64| {
            let value = |round: u64| ((k * 7 + round * 5) % 11) as f64 - round as f64;
            let line = if k.is_multiple_of(2) { "random" } else { "greedy" };
            curve(line, k / 2, &(0..6).map(value).collect::<Vec<_>>())
        };
        let mut curves: Vec<Curve> = (0..40).map(run).collect();
        let forward = experiments_needed(&curves, Metric::Eshd, "random");
        curves.reverse();
        let backward = experiments_needed(&curves, Metric::Eshd, "random");
        let (a, b) = (of(&forward, "greedy"), of(&backward, "greedy"));
        assert!(a.count() > 6, "{a:?}");
        assert_eq!((a, a.against_baseline()), (b, b.against_baseline()));
    }

    #[test]
    fn medians_with_open_ends() {
        const OPEN: f64 = f64::INFINITY;
        let of = |values: &[f64]| median(&mut values.to_vec());
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[3.0]), Some(3.0));
        assert_eq!(of(&[4.0, 1.0]), Some(2.5));
        assert_eq!(of(&[OPEN, 2.0, 1.0]), Some(2.0));
        assert_eq!(of(&[OPEN, 2.0]), Some(OPEN), "half of an open end is open");
        assert_eq!(of(&[5.0, 1.0, OPEN, 3.0]), Some(4.0));
    }

    /// By writing out all results of n coins.
    fn rank_by_all_coins(n: u32) -> Option<usize> {
        let fewer = |k: u32| {
            (0u64..1 << n).filter(|coins| coins.count_ones() < k).count() as f64 / 2f64.powi(n as i32)
        };
        (1..=n).take_while(|k| fewer(*k) <= 0.025).last().map(|k| k as usize)
    }

    #[test]
    fn the_interval_of_a_median_agrees_with_all_coins() {
        for n in 0..17 {
            assert_eq!(interval_rank(n as usize), rank_by_all_coins(n), "{n}");
        }
        // As in published tables.
        for (n, rank) in [(5, None), (6, Some(1)), (20, Some(6)), (50, Some(18)), (100, Some(40))] {
            assert_eq!(interval_rank(n), rank, "{n}");
        }
        // The normal approximation, where powers of two underflow.
        let rank = interval_rank(10_000).unwrap();
        assert!((4901..=4903).contains(&rank), "{rank}");
    }

    #[test]
    fn intervals_of_a_study() {
        let needed: Vec<_> = (1..=8).map(|k| ((k < 8).then_some(k), 10)).collect();
        let found = study(10, &needed);
        let median = found.median().unwrap();
        assert_eq!(median, Estimate { value: 4.5, interval: Some((1.0, f64::INFINITY)), beyond: 10.0 });
        let saved = found.against_baseline().unwrap();
        let (low, high) = saved.ratio.interval.unwrap();
        assert_eq!(saved.ratio.value, 0.45);
        assert!(low < 0.45 && 0.45 < high && high <= 0.8, "{low} {high}");
        // Without spread there is nothing to be uncertain about.
        let same = study(10, &[(Some(3), 10); 9]).against_baseline().unwrap();
        assert_eq!((same.ratio.value, same.ratio.interval), (0.3, Some((0.3, 0.3))));
    }

    /// The ends of the resampled interval leave 2.5 % of all equally likely resamples on either side, up to chance.
    #[test]
    fn the_interval_of_a_ratio_agrees_with_all_resamples() {
        let pairs = [(1.0, 9.0), (2.0, 5.0), (3.0, 7.0), (4.0, 4.0), (5.0, 10.0), (f64::INFINITY, 6.0)];
        let n = pairs.len();
        let resample = |mut code: usize| {
            let chosen = (0..n).map(|_| {
                let pair = pairs[code % n];
                code /= n;
                pair
            });
            ratio_of_medians(chosen.collect::<Vec<_>>().into_iter()).unwrap()
        };
        let all: Vec<f64> = (0..n.pow(n as u32)).map(resample).collect();
        let (low, high) = resampled_interval(&pairs);
        let share =
            |is: &dyn Fn(f64) -> bool| all.iter().filter(|r| is(**r)).count() as f64 / all.len() as f64;
        // 2000 resamples place a quantile of 2.5 % within four standard errors of 0.35 %.
        assert!(share(&|r| r < low) < 0.039 && share(&|r| r <= low) > 0.011, "{low}");
        assert!(share(&|r| r > high) < 0.039 && share(&|r| r >= high) > 0.011, "{high}");
    }

    #[test]
    fn sentences() {
        let say = |needed: &[(Option<usize>, usize)]| study(10, needed).sentence().unwrap();
        assert_eq!(
            say(&[(Some(3), 10); 20]),
            "greedy: 3 experiments (median, 95 % 3 to 3) where random needed 10; 0.30 of them (0.30 to 0.30), \
             p < 0.0001, 20 worlds"
        );
        assert_eq!(
            say(&[(Some(1), 2)]),
            "greedy: 1 experiment where random needed 2; 0.50 of them, p = 1.00, 1 world"
        );
        assert_eq!(
            say(&[(None, 8); 7]),
            "greedy: >10 experiments (median, 95 % >10) where random needed 8; >1.25 of them (>1.25), p = 0.02, \
             reached in 0 of 7 worlds"
        );
        assert_eq!(
            say(&[(Some(4), 4), (Some(6), 4), (Some(0), 0)]),
            "greedy: 5 experiments (median) where random needed 4; 1.25 of them, p = 1.00, 2 worlds; 1 more, in which \
             random learned nothing, says nothing"
        );
        assert_eq!(
            say(&[(Some(0), 0); 3]),
            "greedy: random learned nothing in any of 3 worlds, which so say nothing"
        );
        assert_eq!(say(&[]), "greedy: no world that both it and random have finished");
    }

    #[test]
    fn an_open_end_of_a_shorter_run_is_not_a_success() {
        let mut short = study(10, &[(None, 18); 7]);
        short.baseline_budget = 20.0;
        // Had 10 + 1 been used, all seven would look better than the baseline.
        assert_eq!(
            short.against_baseline().unwrap().p,
            study(20, &[(None, 18); 7]).against_baseline().unwrap().p
        );
        assert_eq!(short.median().unwrap().words(|value| value.to_string()).0, ">10");
    }
}
