//! Threads for long work. They have a pool of their own, so that answers that compute a little do not queue behind a fit, and a
//! lower priority, so that the system lets answers through first; where nobody asks, they have all processors.

use rayon::{ThreadPool, ThreadPoolBuildError, ThreadPoolBuilder};

/// So much lower that an answer hardly notices, and so little that other programs do not stop the work.
#[cfg(target_os = "linux")]
const STEP_BACK: i32 = 5;

/// A pool of this many threads.
pub fn in_the_background(threads: usize) -> Result<ThreadPool, ThreadPoolBuildError> {
    ThreadPoolBuilder::new().num_threads(threads).start_handler(|_| step_back()).build()
}

/// Lowers the priority of this thread, which Linux has for each thread on its own.
#[cfg(target_os = "linux")]
fn step_back() {
    // If it cannot be done, the work is done all the same.
    let _ = rustix::process::setpriority_process(Some(rustix::thread::gettid()), STEP_BACK);
}

#[cfg(not(target_os = "linux"))]
fn step_back() {}
