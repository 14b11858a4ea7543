//! Reading that is watched: an observer is told how many bytes were read, and may stop it.

use std::io::{self, Read};

use crate::observer::{Observer, Stopped, report};

/// A reader of a known number of bytes that an observer watches. Where the observer asks to stop, reading fails with an
/// error whose [`kind`](super::DataError::kind) is stopped.
pub struct ObservedReader<'a, R> {
    inner: R,
    done: u64,
    all: u64,
    observer: &'a dyn Observer,
}

impl<'a, R: Read> ObservedReader<'a, R> {
    /// Nothing is read yet.
    pub fn new(inner: R, all: u64, observer: &'a dyn Observer) -> Self {
        Self { inner, done: 0, all, observer }
    }
}

impl<R: Read> Read for ObservedReader<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        self.done += count as u64;
        let (done, all) = (self.done, self.all.max(self.done));
        report(self.observer, done, all, format_args!("bytes read")).map_err(io::Error::other)?;
        Ok(count)
    }
}

/// Was the reading stopped by an observer?
pub(super) fn was_stopped(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|inner| inner.is::<Stopped>())
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use crate::ErrorKind;
    use crate::data::{ReadOptions, read_csv_from};
    use crate::observer::Progress;

    #[test]
    fn reading_is_told_and_stopped() {
        let text = format!("a,b\n{}", "1,2\n".repeat(100_000));
        let seen = Mutex::new(Vec::new());
        let watch = |progress: &Progress<'_>| {
            seen.lock().unwrap().push(progress.done);
            true
        };
        let all = text.len() as u64;
        let reader = ObservedReader::new(text.as_bytes(), all, &watch);
        let loaded = read_csv_from(reader, "t.csv", &ReadOptions::default()).unwrap();
        assert_eq!(loaded.dataset.rows(), 100_000);
        let seen = seen.into_inner().unwrap();
        assert!(seen.len() > 2 && seen.is_sorted() && seen.last() == Some(&all));
        let stop = |progress: &Progress<'_>| progress.done < all / 2;
        let stopped =
            read_csv_from(ObservedReader::new(text.as_bytes(), all, &stop), "t.csv", &ReadOptions::default());
        assert_eq!(stopped.unwrap_err().kind(), ErrorKind::Stopped);
    }
}
