//! All runs of a study, worked through by one process: which run is next, with how many threads, and what is left.
//!
//! Runs side by side with one thread each come first, because threads never divide the whole work of a run; when fewer runs
//! are left than there are processors, these get the threads that are free, phase by phase, as long as that is measured to
//! be of use. Nothing waits for a slow run: whoever is done takes the next one.

use std::collections::{HashMap, VecDeque};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use rayon::{ThreadPool, ThreadPoolBuilder};
use seabed::observer::{Observer, Progress, memory};

use super::StudyError;
use super::forecast::Forecast;
use super::phase::{Crew, Phase};
use super::run::RunEvent;
use super::speed_up::threads_each;
use super::sweep::{ERROR, Outcome, Sweep};
use super::worker::{SILENCE, Sign, Worker};

/// Receives what happens in a study; called from any thread.
pub trait Watcher: Sync {
    /// An event of a run.
    fn event(&self, run: usize, event: RunEvent<'_>) {
        let _ = (run, event);
    }

    /// A run ended; `left` is how long the rest of the study will take, as far as one can tell.
    fn ended(&self, run: usize, outcome: &Outcome, left: Option<Duration>) {
        let _ = (run, outcome, left);
    }

    /// How long the rest of the study will take; told at most once a second.
    fn left(&self, left: Duration) {
        let _ = left;
    }
}

/// Watches nothing.
impl Watcher for () {}

/// How a study is worked through.
#[derive(Clone, Copy, Debug, Default)]
pub struct How {
    /// Runs at the same time; without a number as many as there are processors, and as fit into memory.
    pub jobs: Option<usize>,
    /// As one of several workers: runs that failed are left alone, runs of workers that die are taken over, and results are
    /// written only once all is done.
    pub shared: bool,
}

/// What came of it.
pub struct Worked {
    /// How each run ended that was not left alone, in order.
    pub outcomes: Vec<(usize, Outcome)>,
    /// Runs that failed before and were left alone, with the reason.
    pub given_up: Vec<(usize, String)>,
    /// Was anything computed that is kept? If it was not, there is no use in trying again in the same way.
    pub advanced: bool,
}

/// How often the time left is told.
const TOLD_EVERY: Duration = Duration::from_secs(1);

/// How often a worker that has nothing to do looks at the runs of others.
const LOOK_EVERY: Duration = Duration::from_secs(2);

impl Sweep {
    /// Runs everything and writes the results. The observer watches all runs and can stop them.
    pub fn run_all(
        &self,
        how: How,
        observer: &dyn Observer,
        watcher: &dyn Watcher,
    ) -> Result<Worked, StudyError> {
        let worker = Worker::new(&self.path)?;
        let processors = rayon::current_num_threads();
        let shop = Shop {
            sweep: self,
            observer,
            watcher,
            jobs: how.jobs.map_or_else(|| processors.min(self.fitting()), |jobs| jobs.max(1)),
            processors,
            clock: Instant::now(),
            state: Mutex::new(State {
                forecast: Forecast::new(&self.runs)?,
                queue: VecDeque::new(),
                active: 0,
                told: Instant::now(),
                outcomes: Vec::new(),
                pools: HashMap::new(),
            }),
            advanced: AtomicBool::new(false),
        };
        let (mut todo, given_up) = shop.settle_what_is_done(how.shared);
        loop {
            shop.work_through(&worker, &todo);
            if !how.shared || shop.is_stopped() {
                break;
            }
            todo = shop.watch_others(&worker)?;
            if todo.is_empty() {
                break;
            }
        }
        let advanced = shop.advanced.load(Ordering::Relaxed);
        let mut outcomes = shop.state.into_inner().expect("no worker panics").outcomes;
        outcomes.sort_by_key(|(index, _)| *index);
        drop(worker);
        if !how.shared || self.marked() == self.runs.len() {
            self.collect()?;
        }
        Ok(Worked { outcomes, given_up, advanced })
    }

    /// How many runs fit into memory at the same time.
    fn fitting(&self) -> usize {
        let largest = self.runs.iter().filter_map(|run| run.config.effort().ok()).map(|effort| effort.bytes);
        let largest = largest.fold(0.0, f64::max);
        match memory() {
            Some(memory) if largest > 0.0 => ((memory / largest) as usize).max(1),
            _ => usize::MAX,
        }
    }
}

/// What the threads that run a study share.
struct Shop<'a> {
    sweep: &'a Sweep,
    observer: &'a dyn Observer,
    watcher: &'a dyn Watcher,
    jobs: usize,
    processors: usize,
    clock: Instant,
    state: Mutex<State>,
    advanced: AtomicBool,
}

struct State {
    forecast: Forecast,
    /// Runs that nobody here has begun.
    queue: VecDeque<usize>,
    /// Runs that are going on here.
    active: usize,
    /// When the time left was last told.
    told: Instant,
    outcomes: Vec<(usize, Outcome)>,
    /// Threads that wait for work, by their number.
    pools: HashMap<usize, Vec<ThreadPool>>,
}

impl State {
    /// The next run: the next one in the order of the study, unless a longer one would then be what all wait for at the end.
    fn next(&mut self, jobs: usize, now: f64) -> Option<usize> {
        let mut at = 0;
        if let Some(costs) = self.forecast.costs().filter(|_| !self.queue.is_empty()) {
            let cost = |run: usize| costs[self.forecast.kind_of(run)];
            let rest: f64 = self.queue.iter().map(|run| cost(*run)).sum();
            let longest = (0..self.queue.len())
                .reduce(|a, b| if cost(self.queue[b]) > cost(self.queue[a]) { b } else { a });
            at = longest.filter(|&at| cost(self.queue[at]) >= rest / jobs as f64).unwrap_or(0);
        }
        let run = self.queue.remove(at)?;
        self.active += 1;
        self.forecast.begin(run, now);
        Some(run)
    }
}

impl Shop<'_> {
    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().expect("no worker panics")
    }

    fn now(&self) -> f64 {
        self.clock.elapsed().as_secs_f64()
    }

    fn is_stopped(&self) -> bool {
        let stopped =
            |(_, outcome): &(usize, Outcome)| matches!(outcome, Outcome::Failed(StudyError::Stopped));
        self.state().outcomes.iter().any(stopped)
    }

    /// The runs that are to be done, and those that failed and are left alone; of finished ones is only told.
    fn settle_what_is_done(&self, shared: bool) -> (Vec<usize>, Vec<(usize, String)>) {
        let (mut todo, mut given_up) = (Vec::new(), Vec::new());
        for index in 0..self.sweep.runs.len() {
            if let Some(rows) = self.sweep.is_finished(index) {
                rows.iter().for_each(|row| self.watcher.event(index, RunEvent::Round(row)));
                self.ended(index, Outcome::Finished);
            } else if shared && let Some(error) = self.failure(index) {
                self.state().forecast.end(index);
                given_up.push((index, error));
            } else {
                todo.push(index);
            }
        }
        (todo, given_up)
    }

    /// Why a run failed that nobody works on.
    fn failure(&self, index: usize) -> Option<String> {
        let text = std::fs::read_to_string(self.sweep.plain(index).join(ERROR)).ok()?;
        Some(text.trim_end().to_string())
    }

    fn ended(&self, index: usize, outcome: Outcome) {
        let left = {
            let mut state = self.state();
            match &outcome {
                Outcome::Finished => state.forecast.finish(index, self.now()),
                _ => state.forecast.end(index),
            }
            state.forecast.left(self.now(), self.jobs, self.processors)
        };
        self.watcher.ended(index, &outcome, left.map(Duration::from_secs_f64));
        self.state().outcomes.push((index, outcome));
    }

    /// Works through these runs, as many at a time as there are jobs.
    fn work_through(&self, worker: &Worker, todo: &[usize]) {
        self.state().queue = todo.iter().copied().collect();
        let work = || {
            loop {
                let Some(index) = self.state().next(self.jobs, self.now()) else { return };
                let crew = RunCrew { shop: self, index };
                let events = |event: RunEvent<'_>| {
                    if let RunEvent::Round(row) = &event {
                        self.state().forecast.end_round(index, row.round, self.now());
                    }
                    self.watcher.event(index, event);
                };
                let outcome = self.sweep.run_by(worker, index, self.observer, &events, &crew);
                self.state().active -= 1;
                let stop = matches!(outcome, Outcome::Failed(StudyError::Stopped));
                self.ended(index, outcome);
                if stop {
                    return;
                }
            }
        };
        thread::scope(|scope| {
            for _ in 0..self.jobs.min(todo.len()) {
                // What is not a phase has one thread of its own.
                scope.spawn(|| match ThreadPoolBuilder::new().num_threads(1).build() {
                    Ok(pool) => pool.install(work),
                    Err(_) => work(),
                });
            }
        });
    }

    /// Looks at the runs that others work on until one of them is free, because it was stopped or its worker died, or all
    /// are done or in good hands. Returns those that are free.
    fn watch_others(&self, worker: &Worker) -> Result<Vec<usize>, StudyError> {
        let elsewhere = |(_, outcome): &(usize, Outcome)| matches!(outcome, Outcome::Elsewhere);
        let mut others: Vec<usize> =
            self.state().outcomes.iter().filter(|run| elsewhere(run)).map(|(index, _)| *index).collect();
        let mut first_heard: HashMap<String, SystemTime> = HashMap::new();
        loop {
            let places = self.sweep.places()?;
            let mut free = Vec::new();
            others.retain(|&index| {
                if self.sweep.is_finished(index).is_some() || self.failure(index).is_some() {
                    return false;
                }
                let sign = match places.get(&index).and_then(|place| place.worker.as_deref()) {
                    None => Sign::Dead,
                    Some(name) => match worker.sign_of(name) {
                        Sign::Heard(at) => {
                            let first = *first_heard.entry(name.to_string()).or_insert(at);
                            match at {
                                at if at > first => Sign::Alive,
                                at if worker.silent_since(at) >= SILENCE => Sign::Dead,
                                at => Sign::Heard(at),
                            }
                        }
                        sign => sign,
                    },
                };
                if sign == Sign::Dead {
                    free.push(index);
                }
                matches!(sign, Sign::Heard(_))
            });
            if !free.is_empty() {
                self.state().outcomes.retain(|(index, _)| !free.contains(index));
                return Ok(free);
            }
            if others.is_empty() {
                return Ok(Vec::new());
            }
            let waits = Progress { done: 0, all: 1, what: format_args!("waiting for other workers") };
            if !self.observer.progress(&waits) {
                return Err(StudyError::Stopped);
            }
            thread::sleep(LOOK_EVERY);
        }
    }

    /// Threads for a phase, which may be fewer than asked for.
    fn pool(&self, threads: usize) -> Option<ThreadPool> {
        let waiting = self.state().pools.get_mut(&threads).and_then(Vec::pop);
        waiting.or_else(|| ThreadPoolBuilder::new().num_threads(threads).build().ok())
    }
}

/// Does the phases of one run with the threads that it can have at the time.
struct RunCrew<'a> {
    shop: &'a Shop<'a>,
    index: usize,
}

impl Crew for RunCrew<'_> {
    fn phase(&self, round: usize, phase: Phase, work: &mut (dyn FnMut() + Send)) {
        let shop = self.shop;
        let threads = {
            let state = shop.state();
            let free = threads_each(shop.processors, shop.jobs, state.active + state.queue.len());
            state.forecast.speed_up().worthwhile(free)
        };
        match (threads > 1).then(|| shop.pool(threads)).flatten() {
            Some(pool) => {
                pool.install(&mut *work);
                shop.state().pools.entry(threads).or_default().push(pool);
            }
            None => work(),
        }
        // Work that was stopped did not take its whole time; nothing comes after it.
        let goes_on = shop.observer.progress(&Progress { done: 0, all: 1, what: format_args!("") });
        let left = {
            let mut state = shop.state();
            if goes_on {
                state.forecast.end_phase(self.index, round, phase, threads, shop.now());
            }
            let due = state.told.elapsed() >= TOLD_EVERY;
            if due {
                state.told = Instant::now();
            }
            due.then(|| state.forecast.left(shop.now(), shop.jobs, shop.processors)).flatten()
        };
        if goes_on {
            shop.advanced.store(true, Ordering::Relaxed);
        }
        if let Some(left) = left {
            shop.watcher.left(Duration::from_secs_f64(left));
        }
    }

    fn saved(&self) {
        self.shop.advanced.store(true, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests;
