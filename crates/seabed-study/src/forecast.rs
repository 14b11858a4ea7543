//! How long the rest of a study will take, from what its phases took so far.
//!
//! Knows no clock: it is told what time it is. What a run does between its phases, such as writing its tables, counts with the
//! phase that follows; what comes after the last fit counts as the last measurement, which there is none of. A phase of a run is expected to take what the same phase
//! of the same round took in runs that differ only in the seed; where none was measured yet, what it took in the nearest
//! round, or else in related runs, in proportion to the effort that was estimated before (which has the right shape, but
//! only the order of magnitude). The rest is then played through, run by run, on as many processors as there are.

use std::collections::HashMap;

use seabed::posterior::PosteriorSettings;

use super::StudyError;
use super::config::Config;
use super::grid::Planned;
use super::phase::Phase;
use super::speed_up::{SpeedUp, threads_each};

/// Estimates are never so small that nothing could be in proportion to them, in seconds.
const LEAST_EFFORT: f64 = 1e-4;

/// What is expected of a phase that takes longer than was expected: this part of it.
const STILL: f64 = 0.1;

/// The phases of a study, done and to be done.
pub(crate) struct Forecast {
    kinds: Vec<Kind>,
    runs: Vec<Run>,
    speed: SpeedUp,
}

/// Runs that differ only in the seed.
struct Kind {
    setting: String,
    line: String,
    posterior: PosteriorSettings,
    /// Estimated seconds, by round and phase.
    efforts: Vec<[f64; Phase::COUNT]>,
    measured: Vec<[Mean; Phase::COUNT]>,
}

struct Run {
    kind: usize,
    /// Phases that are done, in the order in which they are.
    reached: usize,
    /// When the present phase, with what comes before it, began; none if the run was not begun here.
    since: Option<f64>,
    ended: bool,
}

/// Seconds with one thread.
#[derive(Clone, Copy, Default)]
struct Mean {
    sum: f64,
    count: f64,
}

impl Mean {
    fn add(&mut self, seconds: f64) {
        self.sum += seconds;
        self.count += 1.0;
    }

    fn get(&self) -> Option<f64> {
        (self.count > 0.0).then(|| self.sum / self.count)
    }
}

impl Forecast {
    /// Of a study of which nothing is done.
    pub(crate) fn new(planned: &[Planned]) -> Result<Self, StudyError> {
        let mut kinds = Vec::new();
        let mut known: HashMap<String, usize> = HashMap::new();
        let mut runs = Vec::new();
        for run in planned {
            let key = Config { seed: 0, ..run.config.clone() }.to_toml();
            let kind = match known.get(&key) {
                Some(kind) => *kind,
                None => {
                    let efforts = run.config.efforts()?;
                    let of = |seconds: f64| if seconds.is_finite() { seconds.max(LEAST_EFFORT) } else { 1.0 };
                    let efforts: Vec<_> = efforts
                        .iter()
                        .map(|(fit, design)| [of(fit.seconds), of(design.seconds), LEAST_EFFORT])
                        .collect();
                    kinds.push(Kind {
                        setting: run.setting.clone(),
                        line: run.line.clone(),
                        posterior: run.config.posterior.clone(),
                        measured: vec![Default::default(); efforts.len()],
                        efforts,
                    });
                    known.insert(key, kinds.len() - 1);
                    kinds.len() - 1
                }
            };
            runs.push(Run { kind, reached: 0, since: None, ended: false });
        }
        Ok(Self { kinds, runs, speed: SpeedUp::default() })
    }

    /// What threads were measured to gain.
    pub(crate) fn speed_up(&self) -> &SpeedUp {
        &self.speed
    }

    /// The kind of a run: runs of one kind differ only in the seed.
    pub(crate) fn kind_of(&self, run: usize) -> usize {
        self.runs[run].kind
    }

    /// A run is begun.
    pub(crate) fn begin(&mut self, run: usize, now: f64) {
        (self.runs[run].since, self.runs[run].ended) = (Some(now), false);
    }

    /// A phase is done, with so many threads.
    pub(crate) fn end_phase(&mut self, run: usize, round: usize, phase: Phase, threads: usize, now: f64) {
        let Run { kind, reached, since, .. } = &mut self.runs[run];
        *reached = (*reached).max(round * Phase::COUNT + phase as usize + 1);
        let Some(before) = since.replace(now) else { return };
        let seconds = now - before;
        let mean = &mut self.kinds[*kind].measured[round][phase as usize];
        if threads > 1 {
            if let Some(alone) = mean.get() {
                self.speed.measured(threads, alone, seconds);
            }
            mean.add(seconds * self.speed.of(threads));
        } else {
            mean.add(seconds);
        }
    }

    /// All phases of a round are done, now or in an earlier process: then it took no time here.
    pub(crate) fn end_round(&mut self, run: usize, round: usize, now: f64) {
        let rounds = self.kinds[self.runs[run].kind].efforts.len();
        let run = &mut self.runs[run];
        let done = if round + 1 < rounds { (round + 1) * Phase::COUNT } else { round * Phase::COUNT + 1 };
        if run.reached < done {
            (run.reached, run.since) = (done, run.since.map(|_| now));
        }
    }

    /// The run is finished.
    pub(crate) fn finish(&mut self, run: usize, now: f64) {
        let last = self.kinds[self.runs[run].kind].efforts.len() - 1;
        // Only if the last fit was made here: of a run that was finished before nothing is measured.
        if self.runs[run].reached == last * Phase::COUNT + 1 {
            self.end_phase(run, last, Phase::Measure, 1, now);
        }
        self.end(run);
    }

    /// The run was stopped, has failed or is in another process: nothing of it is left to be done here.
    pub(crate) fn end(&mut self, run: usize) {
        self.runs[run].ended = true;
    }

    /// The seconds of a whole run of each kind, with one thread; none before anything was measured.
    pub(crate) fn costs(&self) -> Option<Vec<f64>> {
        let total = |kind: usize| Some(self.phases(kind)?.iter().flatten().sum());
        (0..self.kinds.len()).map(total).collect()
    }

    /// The seconds until the last run ends, if `jobs` of them go on at a time; none before anything was measured.
    pub(crate) fn left(&self, now: f64, jobs: usize, processors: usize) -> Option<f64> {
        let phases: Vec<Vec<f64>> = (0..self.kinds.len())
            .map(|kind| Some(self.phases(kind)?.into_iter().flatten().collect()))
            .collect::<Option<_>>()?;
        let after: Vec<Vec<f64>> = phases.iter().map(|phases| sums_from(phases)).collect();
        let rest = |run: &Run| -> f64 {
            let at = run.reached.min(phases[run.kind].len());
            let present = phases[run.kind].get(at).copied().unwrap_or(0.0);
            let done = run.since.map_or(0.0, |since| now - since);
            (present - done).max(STILL * present) + after[run.kind].get(at + 1).copied().unwrap_or(0.0)
        };
        let left = || self.runs.iter().filter(|run| !run.ended);
        let mut active: Vec<f64> = left().filter(|run| run.since.is_some()).map(rest).collect();
        let mut waiting = left().filter(|run| run.since.is_none()).map(rest);
        let mut unstarted = left().filter(|run| run.since.is_none()).count();
        let mut time = 0.0;
        loop {
            while active.len() < jobs && unstarted > 0 {
                active.extend(waiting.next());
                unstarted -= 1;
            }
            let Some(first) = active.iter().copied().reduce(f64::min) else { return Some(time) };
            let threads = threads_each(processors, jobs, active.len() + unstarted);
            time += first / self.speed.of(self.speed.worthwhile(threads));
            active.iter_mut().for_each(|work| *work -= first);
            active.retain(|work| *work > 0.0);
        }
    }

    /// The expected seconds of every phase of a run of a kind, by round.
    fn phases(&self, kind: usize) -> Option<Vec<[f64; Phase::COUNT]>> {
        let rounds = self.kinds[kind].efforts.len();
        let mut expected = vec![[0.0; Phase::COUNT]; rounds];
        let mut any = false;
        for phase in 0..Phase::COUNT {
            let scale = self.scale(kind, phase);
            any |= scale.is_some();
            let Kind { efforts, measured, .. } = &self.kinds[kind];
            let known: Vec<Option<f64>> = measured.iter().map(|means| means[phase].get()).collect();
            let nearest = nearest(&known);
            for round in 0..rounds {
                // After the last fit nothing is designed.
                if phase == Phase::Design as usize && round + 1 == rounds {
                    continue;
                }
                expected[round][phase] = match nearest[round] {
                    Some((other, seconds)) => seconds * efforts[round][phase] / efforts[other][phase],
                    None => scale.unwrap_or(0.0) * efforts[round][phase],
                };
            }
        }
        any.then_some(expected)
    }

    /// Measured by estimated seconds of a phase in the runs that are most closely related: for fits those of the same world
    /// and posterior, or else of the same posterior; for designs those of the same strategy and posterior, or else of the same
    /// strategy; and otherwise all.
    fn scale(&self, kind: usize, phase: usize) -> Option<f64> {
        let own = &self.kinds[kind];
        let fit = phase == Phase::Fit as usize;
        let closely = |other: &Kind| {
            other.posterior == own.posterior
                && if fit { other.setting == own.setting } else { other.line == own.line }
        };
        let loosely =
            |other: &Kind| if fit { other.posterior == own.posterior } else { other.line == own.line };
        let related: [&dyn Fn(&Kind) -> bool; 3] = [&closely, &loosely, &|_| true];
        related.into_iter().find_map(|related| self.ratio(phase, related))
    }

    /// Measured by estimated seconds of a phase in some kinds; none if it was measured in none.
    fn ratio(&self, phase: usize, of: &dyn Fn(&Kind) -> bool) -> Option<f64> {
        let (mut seconds, mut effort) = (0.0, 0.0);
        for kind in self.kinds.iter().filter(|kind| of(kind)) {
            for (means, efforts) in kind.measured.iter().zip(&kind.efforts) {
                seconds += means[phase].sum;
                effort += means[phase].count * efforts[phase];
            }
        }
        (effort > 0.0).then(|| seconds / effort)
    }
}

/// For every place the nearest one that is known, if any is, with its value.
fn nearest(known: &[Option<f64>]) -> Vec<Option<(usize, f64)>> {
    let found = |place: usize| known[place].map(|value| (place, value));
    let mut nearest = vec![None; known.len()];
    let mut last = None;
    for place in 0..known.len() {
        last = found(place).or(last);
        nearest[place] = last;
    }
    let mut next: Option<(usize, f64)> = None;
    for place in (0..known.len()).rev() {
        next = found(place).or(next);
        let distance = |at: Option<(usize, f64)>| at.map_or(usize::MAX, |(other, _)| other.abs_diff(place));
        if distance(next) < distance(nearest[place]) {
            nearest[place] = next;
        }
    }
    nearest
}

/// The sum from each place to the end.
fn sums_from(values: &[f64]) -> Vec<f64> {
    let mut sums: Vec<f64> = values
        .iter()
        .rev()
        .scan(0.0, |sum, value| {
            *sum += value;
            Some(*sum)
        })
        .collect();
    sums.reverse();
    sums
}

#[cfg(test)]
mod tests;
