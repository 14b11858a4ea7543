//! What the measurements share: the CPU clock, the memory mark, and a table of medians.

use std::hint::black_box;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// CPU time of this process so far, all threads.
pub fn cpu_time() -> Duration {
    let now = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}

/// CPU time of `work`, all threads.
pub fn cpu_time_of<R>(work: impl FnOnce() -> R) -> (Duration, R) {
    let start = cpu_time();
    let result = work();
    (cpu_time() - start, result)
}

/// A figure of /proc/self/status in kB, where Linux tells it; 0 elsewhere. `VmHWM` is the peak memory.
pub fn status_kb(field: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with(field)).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|figure| figure.parse().ok()).unwrap_or(0)
}

/// Shortest time that is worth dividing by the number of repeats.
const ENOUGH: Duration = Duration::from_millis(80);

/// Prints median and largest CPU time of `work` over the inputs, each repeated until the clock is exact enough.
pub fn measure<T, R>(label: &str, inputs: &[T], work: impl Fn(&T) -> R) -> Duration {
    let mut times: Vec<Duration> = inputs
        .iter()
        .map(|input| {
            let mut repeats = 1;
            loop {
                let (time, ()) = cpu_time_of(|| {
                    for _ in 0..repeats {
                        black_box(work(black_box(input)));
                    }
                });
                if time >= ENOUGH {
                    return time / repeats;
                }
                repeats *= 2;
            }
        })
        .collect();
    times.sort_unstable();
    let (median, largest) = (times[times.len() / 2], times[times.len() - 1]);
    println!("{label:<58} {:>9.4} ms {:>9.4} ms", millis(median), millis(largest));
    median
}

/// Prints the header of the table that [`measure`] fills.
pub fn header() {
    println!("{:<58} {:>12} {:>12}", "CPU time", "median", "largest");
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
