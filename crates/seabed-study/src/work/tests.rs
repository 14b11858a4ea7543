//! Studies worked through by threads and by workers that die.

use std::fs::{self, File};
use std::path::Path;
use std::sync::Condvar;

use seabed::settings::Keys;

use super::*;

fn study(at: &Path, more: &str) -> Sweep {
    let text = format!(
        "{more}rounds = 1\ntiming = false\n[world]\nnodes = 3\nmechanism = \"linear\"\nobservations = 20\n[posterior]\n\
         kind = \"bootstrap\"\ndraws = 3\n[design]\nstrategy = \"random\"\nbatch = 1\n"
    );
    Sweep::create(&at.join("study"), &Keys::parse(&text, "test").unwrap()).unwrap()
}

fn finished(worked: &Worked) -> Vec<usize> {
    let done = |(index, outcome): &(usize, Outcome)| matches!(outcome, Outcome::Finished).then_some(*index);
    worked.outcomes.iter().filter_map(done).collect()
}

#[test]
fn no_run_at_a_time_is_one_at_a_time() {
    let place = tempfile::tempdir().unwrap();
    let how = How { jobs: Some(0), ..How::default() };
    let worked = study(place.path(), "").run_all(how, &(), &()).unwrap();
    assert!(matches!(worked.outcomes[..], [(0, Outcome::Finished)]) && worked.advanced);
    assert!(place.path().join("study/results.csv").exists() && !place.path().join("study/workers").exists());
}

/// The first run does not get on until all others have ended: they do not wait for it.
#[test]
fn no_run_waits_for_a_straggler() {
    struct Straggler {
        ended: Mutex<usize>,
        more: Condvar,
    }
    impl Watcher for Straggler {
        fn event(&self, run: usize, _: RunEvent<'_>) {
            if run == 0 {
                let ended = self.ended.lock().unwrap();
                let guard = Duration::from_secs(120);
                let (ended, waited) = self.more.wait_timeout_while(ended, guard, |ended| *ended < 5).unwrap();
                assert!(!waited.timed_out(), "only {ended} runs ended");
            }
        }

        fn ended(&self, _: usize, outcome: &Outcome, _: Option<Duration>) {
            assert!(matches!(outcome, Outcome::Finished));
            *self.ended.lock().unwrap() += 1;
            self.more.notify_all();
        }
    }
    let place = tempfile::tempdir().unwrap();
    let watcher = Straggler { ended: Mutex::new(0), more: Condvar::new() };
    let how = How { jobs: Some(2), ..How::default() };
    let worked = study(place.path(), "seeds = 6\n").run_all(how, &(), &watcher).unwrap();
    assert_eq!(finished(&worked), [0, 1, 2, 3, 4, 5]);
}

/// A long run that comes last in the order would be what everybody waits for: it is begun while others are left.
#[test]
fn a_long_run_is_begun_early_enough() {
    let place = tempfile::tempdir().unwrap();
    let sweep = study(place.path(), "seed = [0, 1, 2, 3]\n");
    let mut state = State {
        forecast: Forecast::new(&sweep.runs).unwrap(),
        queue: (0..4).collect(),
        active: 0,
        told: Instant::now(),
        outcomes: Vec::new(),
        pools: HashMap::new(),
    };
    assert_eq!(state.next(2, 0.0), Some(0), "nothing is known yet");
    let long = study(&place.path().join("long"), "").runs;
    let kinds: Vec<_> = sweep.runs.iter().take(3).cloned().chain([longer(&long[0])]).collect();
    state.forecast = Forecast::new(&kinds).unwrap();
    for (run, seconds) in [(0, 1.0), (3, 50.0)] {
        state.forecast.begin(run, 0.0);
        state.forecast.end_phase(run, 0, Phase::Fit, 1, seconds);
    }
    assert_eq!([0; 4].map(|_| state.next(2, 0.0)), [Some(3), Some(1), Some(2), None]);
}

fn longer(run: &crate::Planned) -> crate::Planned {
    let mut run = run.clone();
    run.config.world.nodes = 4;
    run
}

/// A study of fewer runs than processors: they have several threads each, and the bytes are those of one thread.
#[test]
fn threads_that_runs_are_given_change_nothing() {
    let places = [0, 1].map(|_| tempfile::tempdir().unwrap());
    for (place, threads) in places.iter().zip([1, 4]) {
        let pool = ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let sweep = study(place.path(), "seeds = 3\n");
        assert_eq!(finished(&pool.install(|| sweep.run_all(How::default(), &(), &()).unwrap())), [0, 1, 2]);
    }
    let read = |k: usize, file: &str| fs::read(places[k].path().join("study").join(file)).unwrap();
    for file in ["results.csv", "results.parquet", "runs/0002/data.csv", "runs/0002/rounds/001/ensemble.npz"]
    {
        assert!(read(0, file) == read(1, file), "{file}");
    }
}

/// A worker of another computer is silent for long: its run is taken over. Another one writes its file: its run is left to it.
#[test]
fn a_shared_study_takes_over_what_the_dead_left() {
    let place = tempfile::tempdir().unwrap();
    let sweep = study(place.path(), "seeds = 4\n");
    let workers = place.path().join("study/workers");
    fs::create_dir_all(&workers).unwrap();
    let write = |name: &str, ago: Duration| {
        let card = format!("{{\"host\":\"{name}\",\"process\":1,\"machine\":\"{name}\"}}");
        fs::write(workers.join(name), card).unwrap();
        let file = File::options().write(true).open(workers.join(name)).unwrap();
        file.set_modified(SystemTime::now() - ago).unwrap();
    };
    for (run, name, ago) in [(1, "silent", 2 * SILENCE), (2, "alive", SILENCE / 2)] {
        write(name, ago);
        fs::create_dir(place.path().join(format!("study/runs/{run:04}@{name}"))).unwrap();
    }
    fs::create_dir(place.path().join("study/runs/0003")).unwrap();
    fs::write(place.path().join("study/runs/0003/error.txt"), "no disk\n").unwrap();
    let over = AtomicBool::new(false);
    let worked = thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                thread::sleep(Duration::from_millis(100));
                write("alive", SILENCE / 4);
            }
        });
        let worked = sweep.run_all(How { shared: true, ..How::default() }, &(), &());
        over.store(true, Ordering::Relaxed);
        worked.unwrap()
    });
    assert_eq!(finished(&worked), [0, 1]);
    assert!(matches!(worked.outcomes[2], (2, Outcome::Elsewhere)));
    assert_eq!(worked.given_up, [(3, "no disk".to_string())]);
    assert!(!place.path().join("study/results.csv").exists(), "not all is done");
    // The other one ends without having done its run, and somebody wants the failed one to be tried again.
    fs::remove_file(workers.join("alive")).unwrap();
    sweep.forget_failures().unwrap();
    let worked = sweep.run_all(How { shared: true, ..How::default() }, &(), &()).unwrap();
    assert_eq!(finished(&worked), [0, 1, 2, 3]);
    assert!(place.path().join("study/results.csv").exists());
    let names: Vec<_> = fs::read_dir(place.path().join("study/runs")).unwrap().collect();
    assert_eq!(names.len(), 4);
}

/// Two workers of one study on a file system without locks, one of which was taken for dead and is not: nothing of its run is
/// mixed with what the other makes of it.
#[test]
fn who_was_taken_for_dead_writes_nothing_more() {
    struct Robbed<'a>(&'a Sweep, AtomicBool);
    impl Watcher for Robbed<'_> {
        fn event(&self, _: usize, event: RunEvent<'_>) {
            if matches!(event, RunEvent::Round(_)) && !self.1.swap(true, Ordering::Relaxed) {
                let place = &self.0.places().unwrap()[&0];
                let other = self.0.path.join("runs/0000@other");
                fs::rename(&place.path, &other).unwrap();
            }
        }
    }
    let place = tempfile::tempdir().unwrap();
    let sweep = study(place.path(), "");
    let worked = sweep.run_all(How::default(), &(), &Robbed(&sweep, AtomicBool::new(false))).unwrap();
    assert!(matches!(worked.outcomes[..], [(0, Outcome::Elsewhere)]));
    let runs = place.path().join("study/runs");
    assert_eq!(fs::read_dir(&runs).unwrap().count(), 1, "only the other one's folder");
    assert!(runs.join("0000@other/rounds/000/fit.json").exists());
    assert!(!runs.join("0000@other/rounds/001").exists());
    // The other one is dead too.
    assert_eq!(finished(&sweep.run_all(How::default(), &(), &()).unwrap()), [0]);
    let alone = study(&place.path().join("alone"), "");
    alone.run_all(How::default(), &(), &()).unwrap();
    let read = |study: &str| fs::read(place.path().join(study).join("runs/0000/data.csv")).unwrap();
    assert!(read("study") == read("alone/study"));
}
