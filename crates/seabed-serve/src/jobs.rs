//! Long work in the background: fits and proposals, one after the other, because each uses all processors.
//!
//! ```text
//! waiting -> running -> done
//!                    -> failed
//!                    -> stopped, if somebody asks for it
//! ```
//!
//! What is asked for is kept in a journal beside the campaign until it has ended, so a server that was killed goes on with it
//! when it is started again: the campaign has the state of the fit, and knows a proposal that was stored already by its key.

use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use seabed::ErrorKind;
use seabed::data::write_atomically;
use seabed::design::{DesignError, Strategy};
use seabed::observer::{Observer, Progress};
use seabed::posterior::PosteriorSettings;
use seabed_lab::{Lab, LabError, ProposalRequest, Signature};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::background::in_the_background;
use crate::events::Events;
use crate::failure::Failure;
use crate::library::{Campaign, Library};
use crate::overviews::Overviews;

/// Jobs that may wait.
const MOST_WAITING: usize = 100;

/// Jobs that are remembered.
const KEPT: usize = 100;

/// Progress is told this often at most.
const TOLD_EVERY: Duration = Duration::from_millis(250);

/// What is to be done, as the journal has it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Order {
    pub id: String,
    pub work: Work,
    pub who: String,
    /// What the request is recognised by.
    pub key: Option<String>,
    /// A fingerprint of the request.
    pub content: String,
    /// When it was asked for (UTC).
    pub created: String,
}

/// A kind of work.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Work {
    /// Learning from all data; without settings, as for the last proposal.
    Fit { posterior: Option<PosteriorSettings> },
    /// Proposing a batch.
    Propose {
        request: Box<ProposalRequest>,
        /// Was the strategy asked for by name?
        chosen: bool,
        note: String,
    },
}

impl Work {
    fn name(&self) -> &'static str {
        match self {
            Self::Fit { .. } => "fit",
            Self::Propose { .. } => "propose",
        }
    }
}

/// A job.
pub struct Job {
    pub campaign: Arc<Campaign>,
    pub order: Order,
    stop: AtomicBool,
    now: Mutex<Now>,
}

/// How far a job has got.
struct Now {
    state: State,
    done: u64,
    all: u64,
    what: String,
    began: Option<Instant>,
    seconds: f64,
    told: Option<Instant>,
    error: Option<Failure>,
    proposal: Option<i64>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Waiting,
    Running,
    Done,
    Failed,
    Stopped,
}

impl State {
    fn name(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Running => "running",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Stopped => "stopped",
        }
    }

    fn is_over(self) -> bool {
        !matches!(self, Self::Waiting | Self::Running)
    }
}

/// All jobs.
pub struct Jobs {
    events: Arc<Events>,
    overviews: Arc<Overviews>,
    list: Mutex<List>,
    wake: Condvar,
    /// The server ends: what runs is left for the next start.
    closing: AtomicBool,
}

#[derive(Default)]
struct List {
    /// The oldest first.
    all: VecDeque<Arc<Job>>,
    queue: VecDeque<Arc<Job>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Job {
    fn new(campaign: Arc<Campaign>, order: Order) -> Self {
        let now = Now {
            state: State::Waiting,
            done: 0,
            all: 0,
            what: "waiting".into(),
            began: None,
            seconds: 0.0,
            told: None,
            error: None,
            proposal: None,
        };
        Self { campaign, order, stop: AtomicBool::new(false), now: Mutex::new(now) }
    }

    /// As JSON.
    pub fn shown(&self) -> Value {
        let now = lock(&self.now);
        let seconds = now.began.map_or(now.seconds, |began| began.elapsed().as_secs_f64());
        let mut shown = json!({
            "id": self.order.id,
            "campaign": self.campaign.id,
            "kind": self.order.work.name(),
            "state": now.state.name(),
            "progress": {"done": now.done, "all": now.all, "what": now.what},
            "who": self.order.who,
            "created": self.order.created,
            "seconds": seconds,
        });
        if let Some(failure) = &now.error {
            shown["error"] = failure.body()["error"].clone();
        }
        if let Some(proposal) = now.proposal {
            shown["proposal"] = json!(proposal);
        }
        shown
    }

    fn state(&self) -> State {
        lock(&self.now).state
    }
}

/// Shows the progress of a job, and passes on that it should stop.
struct Watch<'j> {
    job: &'j Job,
    jobs: &'j Jobs,
}

impl Observer for Watch<'_> {
    fn progress(&self, progress: &Progress<'_>) -> bool {
        let due = {
            let mut now = lock(&self.job.now);
            (now.done, now.all, now.what) = (progress.done, progress.all, progress.what.to_string());
            let due = now.told.is_none_or(|told| told.elapsed() >= TOLD_EVERY);
            if due {
                now.told = Some(Instant::now());
            }
            due
        };
        if due {
            self.jobs.tell(self.job);
        }
        !self.job.stop.load(Ordering::Relaxed) && !self.jobs.closing.load(Ordering::Relaxed)
    }
}

impl Jobs {
    pub fn new(events: Arc<Events>, overviews: Arc<Overviews>) -> Self {
        let (list, wake, closing) = Default::default();
        Self { events, overviews, list, wake, closing }
    }

    /// Takes up what the journals of the campaigns say was not ended.
    pub fn resume(&self, library: &Library) {
        for (id, path) in library.list() {
            let Ok(campaign) = library.find(&id) else { continue };
            for order in orders(&journal(&path)) {
                self.enqueue(&Arc::new(Job::new(campaign.clone(), order)));
            }
        }
    }

    /// Adds a job. A fit that waits or runs already is not asked for twice, and neither is a job by the same request.
    pub fn add(&self, campaign: &Arc<Campaign>, order: Order) -> Result<Arc<Job>, Failure> {
        let mut list = lock(&self.list);
        let same = |job: &&Arc<Job>| {
            let here = job.campaign.id == campaign.id;
            let fit = job.order.work == order.work && matches!(order.work, Work::Fit { .. });
            let request =
                order.key.is_some() && job.order.key == order.key && job.order.content == order.content;
            here && (request || fit && !job.state().is_over())
        };
        if let Some(job) = list.all.iter().rev().find(same) {
            return Ok(job.clone());
        }
        if list.queue.len() >= MOST_WAITING {
            return Err(Failure::conflict(
                "busy",
                "too many jobs are waiting; try again when some have ended",
            ));
        }
        let job = Arc::new(Job::new(campaign.clone(), order));
        list.all.push_back(job.clone());
        let written = write_journal(&list, &job.campaign);
        if let Err(error) = written {
            list.all.pop_back();
            return Err(Failure::environment(format!(
                "the job cannot be noted beside the campaign: {error}"
            )));
        }
        drop(list);
        self.enqueue(&job);
        Ok(job)
    }

    fn enqueue(&self, job: &Arc<Job>) {
        {
            let mut list = lock(&self.list);
            if !list.all.iter().any(|known| Arc::ptr_eq(known, job)) {
                list.all.push_back(job.clone());
            }
            list.queue.push_back(job.clone());
            while list.all.len() > KEPT
                && let Some(at) = list.all.iter().position(|job| job.state().is_over())
            {
                list.all.remove(at);
            }
        }
        self.tell(job);
        self.wake.notify_one();
    }

    /// All jobs, the newest first.
    pub fn all(&self) -> Vec<Arc<Job>> {
        lock(&self.list).all.iter().rev().cloned().collect()
    }

    /// The jobs of a campaign that are not over, the oldest first.
    pub fn open_of(&self, campaign: &str) -> Vec<Arc<Job>> {
        let list = lock(&self.list);
        list.all.iter().filter(|job| job.campaign.id == campaign && !job.state().is_over()).cloned().collect()
    }

    pub fn find(&self, id: &str) -> Option<Arc<Job>> {
        lock(&self.list).all.iter().find(|job| job.order.id == id).cloned()
    }

    /// Asks a job to stop.
    pub fn stop(&self, job: &Arc<Job>) {
        job.stop.store(true, Ordering::Relaxed);
        let waiting = {
            let mut list = lock(&self.list);
            let before = list.queue.len();
            list.queue.retain(|waiting| !Arc::ptr_eq(waiting, job));
            before > list.queue.len()
        };
        if waiting {
            self.end(job, State::Stopped, None, None);
        }
    }

    /// Works until the server ends, in threads of its own: answers that compute a little must not wait behind a fit.
    pub fn work(&self) {
        let threads = in_the_background(rayon::current_num_threads());
        loop {
            let job = {
                let mut list = lock(&self.list);
                loop {
                    if self.closing.load(Ordering::Relaxed) {
                        return;
                    }
                    match list.queue.pop_front() {
                        Some(job) => break job,
                        None => list = self.wake.wait(list).unwrap_or_else(PoisonError::into_inner),
                    }
                }
            };
            match &threads {
                Ok(threads) => threads.install(|| self.run(&job)),
                Err(_) => self.run(&job),
            }
        }
    }

    /// Ends the work; what runs stops soon, and is continued after the next start.
    pub fn close(&self) {
        self.closing.store(true, Ordering::Relaxed);
        self.wake.notify_all();
    }

    fn run(&self, job: &Arc<Job>) {
        {
            let mut now = lock(&job.now);
            (now.state, now.began, now.what) = (State::Running, Some(Instant::now()), "starting".into());
        }
        self.tell(job);
        // A defect must not end all later jobs.
        let work = std::panic::AssertUnwindSafe(|| done(job, &self.overviews, &Watch { job, jobs: self }));
        let closing = || self.closing.load(Ordering::Relaxed) && !job.stop.load(Ordering::Relaxed);
        match std::panic::catch_unwind(work) {
            Ok(Ok(proposal)) => self.end(job, State::Done, None, proposal),
            // The journal keeps what only the end of the server stopped.
            Ok(Err(error)) if error.kind() == ErrorKind::Stopped && closing() => {}
            Ok(Err(error)) if error.kind() == ErrorKind::Stopped => self.end(job, State::Stopped, None, None),
            Ok(Err(error)) => self.end(job, State::Failed, Some(error.into()), None),
            Err(_) => {
                let words = "a defect of seabed: the job was given up; please tell the developers";
                self.end(job, State::Failed, Some(Failure::environment(words)), None);
            }
        }
    }

    fn end(&self, job: &Arc<Job>, state: State, error: Option<Failure>, proposal: Option<i64>) {
        {
            let mut now = lock(&job.now);
            now.seconds = now.began.take().map_or(0.0, |began| began.elapsed().as_secs_f64());
            (now.state, now.error, now.proposal) = (state, error, proposal);
            now.what = state.name().into();
        }
        // If it cannot be written, the job is done again after the next start, which changes nothing twice.
        let _ = write_journal(&lock(&self.list), &job.campaign);
        self.tell(job);
        self.tell_changed(&job.campaign);
    }

    /// Tells listeners that a campaign has changed, if they do not know yet.
    pub fn tell_changed(&self, campaign: &Campaign) {
        if let Some(revision) = campaign.news() {
            self.events.tell(&json!({"type": "campaign", "campaign": campaign.id, "revision": revision}));
        }
    }

    fn tell(&self, job: &Job) {
        self.events.tell(&json!({"type": "job", "job": job.shown()}));
    }
}

/// Does the work of a job: the number of the proposal, if it makes one.
fn done(job: &Job, overviews: &Overviews, observer: &dyn Observer) -> Result<Option<i64>, LabError> {
    let mut lab = job.campaign.open()?;
    let proposal = learned(job, &mut lab, observer)?;
    // What pages show of it; if somebody stops that, the work itself is done, and it will be worked out when it is asked for.
    match overviews.work_out(&job.campaign, &lab, observer) {
        Ok(()) | Err(LabError::Stopped) => Ok(proposal),
        Err(error) => Err(error),
    }
}

fn learned(job: &Job, lab: &mut Lab, observer: &dyn Observer) -> Result<Option<i64>, LabError> {
    let order = &job.order;
    match &order.work {
        Work::Fit { posterior } => {
            lab.learn(posterior.clone(), observer)?;
            Ok(None)
        }
        Work::Propose { request, chosen, note } => {
            // A proposal that was stored before the server was killed is recognised by the job, if it has no other key.
            let key = order.key.clone().unwrap_or_else(|| format!("job {}", order.id));
            lab.sign(Signature { who: order.who.clone(), key: Some(key), content: order.content.clone() });
            let mut request = ProposalRequest::clone(request);
            let proposed = match lab.propose(&request, note, observer) {
                // Now and then a fit by Markov chains has to leave out the graphs.
                Err(LabError::Design(DesignError::NoGraphs)) if !chosen => {
                    request.design.strategy = Strategy::recommended(false);
                    lab.propose(&request, note, observer)
                }
                ended => ended,
            };
            match proposed {
                Ok(proposed) => Ok(Some(proposed.id)),
                Err(LabError::Repeated { action }) => {
                    let state = lab.state()?;
                    let proposal = state.proposals.iter().find(|proposal| proposal.action == action);
                    Ok(proposal.map(|proposal| proposal.id))
                }
                Err(error) => Err(error),
            }
        }
    }
}

/// Where the journal of a campaign is.
fn journal(campaign: &Path) -> PathBuf {
    let name = campaign.file_name().map_or("campaign".into(), |name| name.to_string_lossy().into_owned());
    campaign.with_file_name(format!(".{name}.jobs"))
}

/// What a journal says is to be done; one that cannot be read says nothing.
fn orders(journal: &Path) -> Vec<Order> {
    let text = fs::read(journal).unwrap_or_default();
    serde_json::from_slice(&text).unwrap_or_default()
}

fn write_journal(list: &List, campaign: &Campaign) -> std::io::Result<()> {
    let place = journal(&campaign.path);
    let open = list.all.iter().filter(|job| job.campaign.id == campaign.id && !job.state().is_over());
    let orders: Vec<&Order> = open.map(|job| &job.order).collect();
    if orders.is_empty() {
        return match fs::remove_file(&place) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        };
    }
    write_atomically(&place, |out| Ok(serde_json::to_writer(out, &orders)?))
}
