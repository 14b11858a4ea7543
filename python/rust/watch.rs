//! Long work below Python: the interpreter is free meanwhile, Ctrl-C and the progress callback are served by the calling
//! thread, and the number of threads is that of the call.
//!
//! Every call has its own threads, so nothing is left behind for a forked process to trip over.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use pyo3::prelude::*;
use rayon::ThreadPoolBuilder;
use seabed::observer::{Observer, Progress};

use crate::failure::Failure;

/// How often signals are looked for, and the callback is called at most.
const PULSE: Duration = Duration::from_millis(50);

/// More threads are a typing error.
const MOST_THREADS: usize = 4096;

/// What the work tells, and whether it should stop.
struct Watch {
    stop: AtomicBool,
    /// Is there a callback?
    told: bool,
    latest: Mutex<Latest>,
}

struct Latest {
    report: Option<(u64, u64, String)>,
    since: Instant,
}

impl Observer for Watch {
    fn progress(&self, progress: &Progress<'_>) -> bool {
        // Words are put together only as often as somebody reads them.
        if self.told
            && let Ok(mut latest) = self.latest.try_lock()
            && (latest.report.is_none() || latest.since.elapsed() > PULSE)
        {
            *latest = Latest {
                report: Some((progress.done, progress.all, progress.what.to_string())),
                since: Instant::now(),
            };
        }
        !self.stop.load(Ordering::Relaxed)
    }
}

/// Runs `work` on `threads` threads (one per processor without a number). An exception in the callback, or Ctrl-C, stops
/// the work and is what the call ends with.
pub fn watched<T: Send>(
    py: Python<'_>,
    threads: Option<usize>,
    progress: Option<&Py<PyAny>>,
    work: impl FnOnce(&dyn Observer) -> Result<T, Failure> + Send,
) -> PyResult<T> {
    let threads = threads.unwrap_or(0);
    if threads > MOST_THREADS {
        let message = format!("threads = {threads}: choose a number from 1 to {MOST_THREADS}");
        return Err(Failure::settings(message).into());
    }
    let latest = Mutex::new(Latest { report: None, since: Instant::now() });
    let watch = Watch { stop: AtomicBool::new(false), told: progress.is_some(), latest };
    let (ended, interrupted) = py.detach(|| attended(&watch, threads, progress, work));
    match (ended, interrupted) {
        (_, Some(error)) => Err(error),
        (Ok(result), None) => Ok(result?),
        (Err(panic), None) => {
            let said = panic.downcast_ref::<String>().map(String::as_str);
            let said = said.or(panic.downcast_ref::<&str>().copied()).unwrap_or("no message");
            let message = format!(
                "a defect of seabed {}: {said}; please send this line and, if you may, the input to the developers",
                env!("CARGO_PKG_VERSION")
            );
            Err(Failure::new("InternalError", message).into())
        }
    }
}

/// How the work ended, and the exception that stopped it.
type Ended<T> = (thread::Result<Result<T, Failure>>, Option<PyErr>);

fn attended<T: Send>(
    watch: &Watch,
    threads: usize,
    progress: Option<&Py<PyAny>>,
    work: impl FnOnce(&dyn Observer) -> Result<T, Failure> + Send,
) -> Ended<T> {
    let (sender, receiver) = channel::<()>();
    thread::scope(|scope| {
        let worker = scope.spawn(move || {
            // Dropped at the end, whatever the end: that wakes the calling thread.
            let _sender = sender;
            let pool = ThreadPoolBuilder::new().num_threads(threads).build();
            let pool = pool.map_err(|error| {
                Failure::new("SeabedError", format!("no threads can be started: {error}"))
            })?;
            pool.install(|| work(watch))
        });
        let mut interrupted = None;
        while let Err(RecvTimeoutError::Timeout) = receiver.recv_timeout(PULSE) {
            if interrupted.is_some() {
                continue;
            }
            let report = watch.latest.lock().ok().and_then(|mut latest| latest.report.take());
            let served = Python::attach(|py| {
                py.check_signals()?;
                if let (Some(callback), Some(report)) = (progress, report) {
                    callback.call1(py, report)?;
                }
                Ok(())
            });
            if let Err(error) = served {
                watch.stop.store(true, Ordering::Relaxed);
                interrupted = Some(error);
            }
        }
        (worker.join(), interrupted)
    })
}

/// A short calculation that is not watched, on one thread: a defect is an exception all the same.
pub fn quick<T: Send>(py: Python<'_>, work: impl FnOnce() -> Result<T, Failure> + Send) -> PyResult<T> {
    watched(py, Some(1), None, |_| work())
}
