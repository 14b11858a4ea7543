//! The CPU clock.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// CPU time of this process so far, all threads.
pub fn cpu_time() -> Duration {
    let now = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}
