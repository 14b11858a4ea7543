//! Requests that were answered, by their keys: one that is repeated after a lost answer gets the same answer.
//!
//! This memory ends with the process; what changed a campaign is also recognised by the campaign itself.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use axum::http::StatusCode;

use crate::call::Answer;
use crate::failure::Failure;

/// Answers that are kept.
const KEPT: usize = 10_000;

#[derive(Default)]
pub struct Keys(Mutex<Inner>);

#[derive(Default)]
struct Inner {
    known: HashMap<String, Known>,
    /// The oldest first.
    order: VecDeque<String>,
}

struct Known {
    content: String,
    /// None while it is worked on.
    answer: Option<Answer>,
}

impl Keys {
    /// Does the work, unless the same request was answered before. Only what was done is remembered: after an error the request
    /// may be tried again.
    pub fn once(
        &self,
        key: Option<&str>,
        content: &str,
        work: impl FnOnce() -> Result<Answer, Failure>,
    ) -> Result<Answer, Failure> {
        let Some(key) = key else { return work() };
        {
            let mut inner = self.lock();
            match inner.known.get(key) {
                Some(known) if known.content != content => {
                    let words = "another request had the same Idempotency-Key; give every request its own";
                    return Err(Failure::new(StatusCode::UNPROCESSABLE_ENTITY, "key-reused", words));
                }
                Some(Known { answer: Some(answer), .. }) => return Ok(answer.clone()),
                Some(_) => return Err(Failure::conflict("busy", "the same request is being worked on")),
                None => {}
            }
            inner.known.insert(key.to_string(), Known { content: content.to_string(), answer: None });
        }
        let forget = Forget { keys: self, key };
        let done = work();
        if let Ok(answer) = &done {
            std::mem::forget(forget);
            let mut inner = self.lock();
            inner.order.push_back(key.to_string());
            if let Some(known) = inner.known.get_mut(key) {
                known.answer = Some(answer.clone());
            }
            if inner.order.len() > KEPT
                && let Some(oldest) = inner.order.pop_front()
            {
                inner.known.remove(&oldest);
            }
        }
        done
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Forgets a request that was not done, also if it ended in a panic.
struct Forget<'k> {
    keys: &'k Keys,
    key: &'k str,
}

impl Drop for Forget<'_> {
    fn drop(&mut self) {
        self.keys.lock().known.remove(self.key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_was_done_is_not_done_again() {
        let keys = Keys::default();
        let mut count = 0;
        let mut ask = |key: Option<&str>, content: &str, fails: bool| {
            keys.once(key, content, || {
                count += 1;
                if fails { Err(Failure::invalid("no")) } else { Ok(Answer::json(&json!(count))) }
            })
            .map(|answer| answer.body)
        };
        assert!(ask(Some("a"), "x", true).is_err(), "an error is not remembered");
        assert_eq!(ask(Some("a"), "x", false).unwrap(), b"2");
        assert_eq!(ask(Some("a"), "x", false).unwrap(), b"2");
        assert!(ask(Some("a"), "y", false).is_err_and(|failure| failure.kind == "key-reused"));
        assert_eq!(ask(None, "x", false).unwrap(), b"3");
        assert_eq!(ask(Some("b"), "x", false).unwrap(), b"4");
    }
}
