//! Timestamps: UTC, ISO 8601, to the second.

use std::time::{SystemTime, UNIX_EPOCH};

/// Now (UTC), as in the history of a campaign.
pub fn now() -> String {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    stamp(seconds)
}

/// Now, or `last` if the clock is behind it: the times of a history never run backwards, whatever the clock does.
pub(super) fn now_after(last: &str) -> String {
    now().max(last.to_string())
}

/// The timestamp this many seconds after the beginning of 1970.
fn stamp(seconds: u64) -> String {
    let (mut days, second) = (seconds / 86_400, seconds % 86_400);
    let mut year = 1970;
    let leap = |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    while days >= 365 + u64::from(leap(year)) {
        days -= 365 + u64::from(leap(year));
        year += 1;
    }
    let lengths = [31, 28 + u64::from(leap(year)), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let mut month = 0;
    while days >= lengths[month] {
        days -= lengths[month];
        month += 1;
    }
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{:02}-{:02}T{hour:02}:{minute:02}:{second:02}Z", month + 1, days + 1)
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_clock_that_runs_backwards_is_not_followed() {
        assert_eq!(super::now_after("9999-01-01T00:00:00Z"), "9999-01-01T00:00:00Z");
        assert!(*super::now_after("1970-01-01T00:00:00Z") > *"2020");
    }

    #[test]
    fn known_moments() {
        for (seconds, text) in [
            (0, "1970-01-01T00:00:00Z"),
            (951_782_399, "2000-02-28T23:59:59Z"),
            (951_782_400, "2000-02-29T00:00:00Z"),
            (1_709_251_199, "2024-02-29T23:59:59Z"),
            (4_107_542_399, "2100-02-28T23:59:59Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"),
        ] {
            assert_eq!(super::stamp(seconds), text);
        }
    }
}
