//! `seabed sweep run-one` and `seabed sweep work`: the commands that schedulers start.
//!
//! Both end with 130 when they are told to stop, and lose nothing. A task of Slurm that is told to stop while Slurm still
//! counts it as running is at the end of its time, or preempted: it asks to be put into the queue again. One that was
//! cancelled does not count as running, and stays away.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use seabed::observer::{Observer, Progress};
use seabed_study::{How, Outcome, RunState, StudyError, Sweep};

use super::{Shown, name};
use crate::failure::Failure;
use crate::outputs::ForceWork;
use crate::progress::{Silent, stop_on_interrupt};
use crate::rounds::Live;
use crate::run::print;

/// One run.
pub fn run_one(folder: &Path, index: usize, force: &ForceWork) -> Result<(), Failure> {
    let sweep = Sweep::load(folder)?;
    let Some(planned) = sweep.runs().get(index) else {
        return Err(Failure::Input(anyhow::anyhow!(
            "there is no run {index}: {} has runs 0 to {}",
            folder.display(),
            sweep.runs().len() - 1
        )));
    };
    if sweep.state(index)? != RunState::Finished {
        force.check_effort(planned.config.effort()?)?;
    }
    print(&format!("{}\n", name(planned)))?;
    let live = Live::new(false);
    let outcome = sweep.run_one(index, &live, &|event| live.show(event));
    drop(live);
    match outcome {
        // Whoever finishes the last run writes the results; earlier ones would read all runs in vain.
        Outcome::Finished if sweep.marked() == sweep.runs().len() => Ok(sweep.collect()?),
        Outcome::Finished => Ok(()),
        Outcome::Elsewhere => Err(StudyError::Busy { path: sweep.folder(index).path().to_path_buf() }.into()),
        Outcome::Failed(error) => Err(error.into()),
    }
}

/// Runs until none is left.
pub fn work(folder: &Path, jobs: Option<u16>, requeue: bool) -> Result<(), Failure> {
    let sweep = Sweep::load(folder)?;
    stop_on_interrupt();
    tell!("works on the study in {}", folder.display());
    let shown = Shown::new(&sweep);
    let how = How { jobs: jobs.map(usize::from), shared: true };
    let worked = sweep.run_all(how, &Paced::as_asked(), &shown)?;
    let ended = shown.ended(&worked, "other workers leave them alone; `seabed sweep` retries them");
    if requeue && matches!(ended, Err(Failure::Stopped(_))) {
        tell!("{}", put_back(worked.advanced));
    }
    if let Some((index, error)) = worked.given_up.first() {
        tell!(
            "{} runs failed before and were left alone; the first: {}: {error}",
            worked.given_up.len(),
            name(&sweep.runs()[*index])
        );
    }
    ended?;
    let (done, all) = (sweep.marked(), sweep.runs().len());
    if !worked.given_up.is_empty() {
        let failed = worked.given_up.len();
        return Err(Failure::Work(anyhow::anyhow!("{failed} of {all} runs failed; {done} are finished")));
    }
    print(&format!("{done} of {all} runs are finished\n"))
}

/// Gathers the results of all finished runs.
pub fn collect(folder: &Path) -> Result<(), Failure> {
    let sweep = Sweep::load(folder)?;
    sweep.collect()?;
    let (done, all) = (sweep.finished()?.len(), sweep.runs().len());
    super::print_results(&sweep, folder)?;
    if done < all {
        tell!(
            "note: {done} of {all} runs are finished; `seabed sweep status {}` shows the others",
            folder.display()
        );
    }
    Ok(())
}

/// Stops on signals. Tests of schedulers ask it, which only builds for tests do, to make fits last without keeping processors
/// busy.
struct Paced(Duration);

impl Paced {
    fn as_asked() -> Self {
        let asked = std::env::var("SEABED_PAUSE").ok().filter(|_| cfg!(debug_assertions));
        Self(Duration::from_millis(asked.and_then(|text| text.parse().ok()).unwrap_or(0)))
    }
}

impl Observer for Paced {
    fn progress(&self, progress: &Progress<'_>) -> bool {
        if !self.0.is_zero() && progress.what.to_string().starts_with("fit of round") {
            std::thread::sleep(self.0);
        }
        Silent.progress(progress)
    }
}

/// Puts the task that this process is into the queue again, unless it was cancelled. Returns what came of it.
fn put_back(advanced: bool) -> String {
    let Ok(job) = std::env::var("SLURM_JOB_ID") else {
        return "this is not a task of Slurm: start the same command again to go on".into();
    };
    if !advanced {
        return "nothing could be saved in the time of this task, so it is not put into the queue again: give tasks more \
                time (--time)"
            .into();
    }
    let asked = |program: &str, arguments: &[&str]| {
        let output = Command::new(program).args(arguments).output().map_err(|error| error.to_string())?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_string();
        if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
    };
    match asked("squeue", &["--noheader", "--format=%T", &format!("--jobs={job}")]) {
        Ok(state) if state == "RUNNING" => match asked("scontrol", &["requeue", &job]) {
            Ok(_) => format!("task {job} is in the queue again"),
            Err(problem) => {
                format!(
                    "task {job} cannot be put into the queue again ({problem}): submit the study again to go on"
                )
            }
        },
        Ok(_) => format!("task {job} stays away: Slurm has ended it"),
        Err(problem) => format!("squeue cannot be asked about task {job} ({problem})"),
    }
}
