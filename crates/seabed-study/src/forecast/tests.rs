//! Forecasts of studies that are played through by a clock of their own: at a tenth of their time, how long will they take?

use std::collections::VecDeque;

use seabed::num::random::{Draws, Purpose, Seed};
use seabed::settings::Keys;

use super::*;
use crate::expand;

/// Two worlds, two posteriors, three strategies: twelve kinds of runs.
fn planned(seeds: usize) -> Vec<Planned> {
    let text = format!(
        "seeds = {seeds}\nrounds = 6\n[world]\nkind = [\"er\", \"sf\"]\nmechanism = \"linear\"\n[posterior]\n\
         kind = [\"bootstrap\", \"mcmc-linear\"]\n[design]\nstrategy = [\"random\", \"greedy-cbed\", \"soft-cbed\"]\n"
    );
    expand(&Keys::parse(&text, "study").unwrap()).unwrap()
}

/// How kinds of runs differ in what they take, by an order of magnitude.
#[derive(Clone, Copy, PartialEq)]
enum Kinds {
    /// Fits by their posterior and designs by their strategy and posterior; worlds make a difference of a third.
    Related,
    /// Each for itself: one that was not measured yet cannot be known.
    Unrelated,
}

/// How long each phase really takes: nothing that the estimates know. Kinds differ, rounds grow, and the same phase of
/// another seed differs by a third.
struct Truth {
    /// By run; the phase, counted from the first, and its seconds.
    seconds: Vec<Vec<(usize, f64)>>,
    /// The share of the work that threads divide.
    share: f64,
}

impl Truth {
    fn new(forecast: &Forecast, kinds: Kinds, seed: u64) -> Self {
        let mut draws = Seed::new(seed).stream(Purpose::Noise).draws();
        let scale = |draws: &mut Draws, sd: f64| (sd * draws.normal()).exp();
        let growth = 0.5 * draws.uniform();
        let mut shared: HashMap<String, f64> = HashMap::new();
        let mut of_kind = |kind: &Kind| {
            let posterior = format!("{:?}", kind.posterior);
            let names = [posterior.clone(), format!("{} {posterior}", kind.line), String::new()];
            let [own, common] = if kinds == Kinds::Related { [0.3, 1.0] } else { [1.0, 0.0] };
            [1.0, 0.5, 0.01]
                .into_iter()
                .zip(names)
                .map(|(base, name)| {
                    let common = *shared.entry(name).or_insert_with(|| scale(&mut draws, common));
                    base * common * scale(&mut draws, own)
                })
                .collect::<Vec<f64>>()
        };
        let kinds: Vec<Vec<f64>> = forecast.kinds.iter().map(&mut of_kind).collect();
        let run = |run: &Run| {
            let rounds = forecast.kinds[run.kind].efforts.len();
            let mut phase = |place: usize| {
                let (round, phase) = (place / 3, place % 3);
                kinds[run.kind][phase] * (1.0 + growth * round as f64) * scale(&mut draws, 0.33)
            };
            // After the last fit nothing is designed, but its tables are written.
            (0..3 * rounds)
                .filter(|place| *place != 3 * rounds - 2)
                .map(|place| (place, phase(place)))
                .collect()
        };
        let seconds = forecast.runs.iter().map(run).collect();
        Self { seconds, share: draws.uniform() }
    }

    fn took(&self, run: usize, step: usize, threads: usize) -> f64 {
        self.seconds[run][step].1 * (1.0 - self.share + self.share / threads as f64)
    }
}

/// Plays a study through, as a process with so many processors runs it; `watch` is told the time of every event.
fn play(
    truth: &Truth,
    forecast: &mut Forecast,
    processors: usize,
    watch: &mut dyn FnMut(&Forecast, f64),
) -> f64 {
    struct Active {
        run: usize,
        step: usize,
        threads: usize,
        ends: f64,
    }
    let mut queue: VecDeque<usize> = (0..forecast.runs.len()).collect();
    let mut active: Vec<Active> = Vec::new();
    let mut now = 0.0;
    loop {
        while active.len() < processors
            && let Some(run) = queue.pop_front()
        {
            forecast.begin(run, now);
            active.push(Active { run, step: 0, threads: 0, ends: now });
        }
        let left = active.len() + queue.len();
        for work in active.iter_mut().filter(|work| work.threads == 0) {
            work.threads = forecast.speed_up().worthwhile(threads_each(processors, processors, left));
            work.ends = now + truth.took(work.run, work.step, work.threads);
        }
        watch(forecast, now);
        let Some(first) = (0..active.len()).min_by(|&a, &b| active[a].ends.total_cmp(&active[b].ends)) else {
            return now;
        };
        let Active { run, step, threads, ends } = active[first];
        now = ends;
        if step + 1 == truth.seconds[run].len() {
            forecast.finish(run, now);
            active.remove(first);
            continue;
        }
        let place = truth.seconds[run][step].0;
        let phase = [Phase::Fit, Phase::Design, Phase::Measure][place % 3];
        forecast.end_phase(run, place / 3, phase, threads, now);
        (active[first].step, active[first].threads) = (step + 1, 0);
    }
}

/// The forecast at a tenth of the time by the rest that there really was. Of kinds that tell nothing about each other each must
/// have been measured too.
fn at_a_tenth(seeds: usize, processors: usize, kinds: Kinds, seed: u64) -> f64 {
    let runs = planned(seeds);
    let mut forecast = Forecast::new(&runs).unwrap();
    let truth = Truth::new(&forecast, kinds, seed);
    let all = play(&truth, &mut forecast, processors, &mut |_, _| {});
    let unknown = |kind: &Kind| kind.measured[0][Phase::Measure as usize].get().is_none();
    let mut told = None;
    let mut watch = |forecast: &Forecast, now: f64| {
        if now <= all / 10.0 || kinds == Kinds::Unrelated && forecast.kinds.iter().any(unknown) {
            told = forecast.left(now, processors, processors).map(|left| left / (all - now));
        }
    };
    play(&truth, &mut Forecast::new(&runs).unwrap(), processors, &mut watch);
    // As of the last event before.
    told.expect("something was measured")
}

/// Studies of 120 to 360 runs, on one to sixteen processors. All forecasts are within 30 %.
fn all_within_thirty_per_cent(kinds: Kinds) {
    let mut errors = Vec::new();
    for (seeds, processors) in [(10, 1), (10, 2), (10, 8), (30, 2), (30, 16)] {
        for seed in 0..40 {
            let ratio = at_a_tenth(seeds, processors, kinds, seed);
            assert!((0.7..=1.3).contains(&ratio), "{seeds} seeds, {processors} processors, {seed}: {ratio}");
            errors.push((ratio - 1.0).abs());
        }
    }
    errors.sort_by(f64::total_cmp);
    println!(
        "200 forecasts: half within {:.0} %, all within {:.0} %",
        100.0 * errors[100],
        100.0 * errors[199]
    );
}

#[test]
fn after_a_tenth_the_time_left_is_right_within_thirty_per_cent() {
    all_within_thirty_per_cent(Kinds::Related);
}

#[test]
fn kinds_that_tell_nothing_about_each_other_need_to_be_measured_once() {
    all_within_thirty_per_cent(Kinds::Unrelated);
}

#[test]
fn nothing_is_said_before_anything_is_measured_and_nothing_is_left_at_the_end() {
    let runs = planned(1);
    let mut forecast = Forecast::new(&runs).unwrap();
    assert_eq!(forecast.left(0.0, 2, 2), None);
    assert_eq!(forecast.costs(), None);
    let truth = Truth::new(&forecast, Kinds::Related, 1);
    let end = play(&truth, &mut forecast, 2, &mut |_, _| {});
    assert_eq!(forecast.left(end, 2, 2), Some(0.0));
    assert!(forecast.costs().unwrap().iter().all(|cost| *cost > 0.0));
}

/// What an earlier process did takes no time now; a run that another process has is not ours to wait for.
#[test]
fn what_is_done_already_is_not_waited_for() {
    let runs = planned(2);
    let mut forecast = Forecast::new(&runs).unwrap();
    forecast.begin(0, 0.0);
    for round in 0..7 {
        forecast.end_phase(0, round, Phase::Fit, 1, 10.0 * (round + 1) as f64);
    }
    forecast.finish(0, 70.0);
    let all = forecast.left(70.0, 1, 1).unwrap();
    forecast.begin(1, 70.0);
    forecast.end_round(1, 2, 75.0);
    assert!(forecast.kinds[forecast.kind_of(1)].measured[2][0].get().is_none(), "nothing was measured");
    let less = forecast.left(75.0, 1, 1).unwrap();
    assert!(less < all);
    forecast.end(1);
    assert!(forecast.left(75.0, 1, 1).unwrap() < less);
}

/// A phase that takes longer than expected does not make the rest of its run negative.
#[test]
fn a_slow_phase_is_still_going_on() {
    let runs = planned(1);
    let mut forecast = Forecast::new(&runs).unwrap();
    forecast.begin(0, 0.0);
    forecast.end_phase(0, 0, Phase::Fit, 1, 1.0);
    let soon = forecast.left(1.0, 1, 1).unwrap();
    let late = forecast.left(1e6, 1, 1).unwrap();
    assert!(late > 0.0 && late <= soon, "{late} {soon}");
}

#[test]
fn the_nearest_known_place_is_found() {
    let known = [None, Some(1.0), None, None, Some(4.0), None];
    let places: Vec<usize> = nearest(&known).into_iter().map(|found| found.unwrap().0).collect();
    assert_eq!(places, [1, 1, 1, 4, 4, 4]);
    assert_eq!(nearest(&[None, None]), [None, None]);
    assert_eq!(sums_from(&[1.0, 2.0, 3.0]), [6.0, 5.0, 3.0]);
}
