//! The heavy pieces of work in a round, and who does them: with how many threads, watched by whom.

/// A piece of heavy work in a round.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Phase {
    /// The belief is formed and scored.
    Fit,
    /// The batch is chosen.
    Design,
    /// The world answers.
    Measure,
}

impl Phase {
    /// How many there are in a round.
    pub(crate) const COUNT: usize = 3;
}

/// Does the phases of a run. Phases whose files exist are not done again, so it hears only of work that is really done.
pub(crate) trait Crew: Sync {
    /// Calls `work` once.
    fn phase(&self, round: usize, phase: Phase, work: &mut (dyn FnMut() + Send));

    /// A phase was stopped, but what it had computed was saved.
    fn saved(&self) {}
}

/// Does everything where it is called.
impl Crew for () {
    fn phase(&self, _: usize, _: Phase, work: &mut (dyn FnMut() + Send)) {
        work();
    }
}

/// The result of work done by a crew.
pub(crate) fn done_by<R: Send>(
    crew: &dyn Crew,
    round: usize,
    phase: Phase,
    work: impl FnOnce() -> R + Send,
) -> R {
    let mut work = Some(work);
    let mut result = None;
    crew.phase(round, phase, &mut || result = work.take().map(|work| work()));
    result.expect("a crew calls the work")
}
