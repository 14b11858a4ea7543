//! What takes long to tell about a campaign (what is believed, effects, warnings, the report): worked out once for each of its
//! versions, at the end of a job or in a thread of its own, and never while somebody waits for a page.
//!
//! Until it is there, pages show what was worked out last and say so; an event tells them when to ask again.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use seabed::observer::{Observer, Progress};
use seabed_lab::{EdgeMatrix, Lab, LabError, Overview};
use seabed_report::run_html;
use serde_json::json;
use tokio::sync::watch;

use crate::background::in_the_background;
use crate::events::Events;
use crate::failure::Failure;
use crate::library::Campaign;

/// What was worked out about one version of a campaign.
pub struct WorkedOut {
    pub version: String,
    /// What there is to tell, or why nothing can be told.
    pub overview: Result<Overview, Failure>,
    /// How long that took.
    pub took: Duration,
    /// What was believed before each proposal, by the number of the belief.
    pub before: HashMap<i64, Arc<Before>>,
    report: OnceLock<Option<Vec<u8>>>,
}

/// What was believed before a proposal.
pub struct Before {
    pub rows: usize,
    pub edges: EdgeMatrix,
}

impl WorkedOut {
    /// The report, a self-contained page; none if nothing was learned yet.
    pub fn report(&self, lab: &Lab, title: &str) -> Result<Option<Vec<u8>>, Failure> {
        if let Some(page) = self.report.get() {
            return Ok(page.clone());
        }
        let overview = self.overview.as_ref().map_err(Failure::clone)?;
        let view = lab.report_of(title.to_string(), overview)?;
        let page = view.map(|view| run_html(&view).into_bytes());
        Ok(self.report.get_or_init(|| page).clone())
    }
}

/// The thread that works it out.
pub struct Overviews {
    events: Arc<Events>,
    queue: Mutex<VecDeque<Arc<Campaign>>>,
    wake: Condvar,
    closing: AtomicBool,
    /// Changes whenever something was worked out.
    done: watch::Sender<u64>,
}

/// Stops when the server ends.
struct UntilClosing<'o>(&'o AtomicBool);

impl Observer for UntilClosing<'_> {
    fn progress(&self, _: &Progress<'_>) -> bool {
        !self.0.load(Ordering::Relaxed)
    }
}

impl Overviews {
    pub fn new(events: Arc<Events>) -> Self {
        let (queue, wake, closing) = Default::default();
        Self { events, queue, wake, closing, done: watch::channel(0).0 }
    }

    /// Tells when something was worked out.
    pub fn done(&self) -> watch::Receiver<u64> {
        self.done.subscribe()
    }

    /// Is everything worked out about a campaign as it is now? If not, that is asked for.
    pub fn is_current(&self, campaign: &Arc<Campaign>) -> Result<bool, Failure> {
        let version = campaign.read(|lab| Ok(lab.version()?))?;
        let current = campaign.worked_out().is_some_and(|known| known.version == version);
        if !current {
            self.ask(campaign);
        }
        Ok(current)
    }

    /// Will it take longer than this, if it takes as long as the last time?
    pub fn takes_longer(campaign: &Campaign, moment: Duration) -> bool {
        campaign.worked_out().is_some_and(|known| known.took > moment)
    }

    /// Asks for everything about a campaign to be worked out.
    pub fn ask(&self, campaign: &Arc<Campaign>) {
        let mut queue = self.queue();
        if !queue.iter().any(|waiting| waiting.id == campaign.id) {
            queue.push_back(campaign.clone());
            self.wake.notify_one();
        }
    }

    /// Works until the server ends, in one thread: fits need the others, and answers must not wait behind it.
    pub fn work(&self) {
        let threads = in_the_background(1);
        loop {
            let campaign = {
                let mut queue = self.queue();
                loop {
                    if self.closing.load(Ordering::Relaxed) {
                        return;
                    }
                    match queue.pop_front() {
                        Some(campaign) => break campaign,
                        None => queue = self.wake.wait(queue).unwrap_or_else(PoisonError::into_inner),
                    }
                }
            };
            let work = || {
                let lab = campaign.open()?;
                self.work_out(&campaign, &lab, &UntilClosing(&self.closing))
            };
            // A defect must not leave pages waiting for ever.
            let work = std::panic::AssertUnwindSafe(|| match &threads {
                Ok(threads) => threads.install(work),
                Err(_) => work(),
            });
            let failure = match std::panic::catch_unwind(work) {
                Ok(Ok(())) | Ok(Err(LabError::Stopped)) => None,
                Ok(Err(error)) => Some(error.into()),
                Err(_) => Some(Failure::environment("a defect of seabed; please tell the developers")),
            };
            if let Some(failure) = failure {
                self.give_up(&campaign, failure);
            }
        }
    }

    /// Works everything out about a campaign as it is now, if that was not done yet.
    pub fn work_out(&self, campaign: &Campaign, lab: &Lab, observer: &dyn Observer) -> Result<(), LabError> {
        // The end of a job and this thread may want the same.
        let _alone = campaign.working_out();
        let version = lab.version()?;
        let earlier = campaign.worked_out();
        if earlier.as_ref().is_some_and(|known| known.version == version) {
            return Ok(());
        }
        let clock = Instant::now();
        let mut before = HashMap::new();
        for proposal in &lab.state()?.proposals {
            let known = earlier.as_ref().and_then(|earlier| earlier.before.get(&proposal.belief).cloned());
            let known = match known.or_else(|| before.get(&proposal.belief).cloned()) {
                Some(known) => known,
                None => {
                    let (summary, edges) = lab.belief_before(proposal.belief)?;
                    Arc::new(Before { rows: summary.rows, edges })
                }
            };
            before.insert(proposal.belief, known);
        }
        let overview = Ok(lab.overview(observer)?);
        let (took, report) = (clock.elapsed(), OnceLock::new());
        let known = WorkedOut { version, overview, took, before, report };
        let known = self.publish(campaign, known);
        // Nobody waits for the report, and it is there when somebody asks; that of a later version will be asked for.
        if lab.version()? == known.version {
            let _ = known.report(lab, &campaign.id);
        }
        Ok(())
    }

    fn give_up(&self, campaign: &Campaign, failure: Failure) {
        let version = campaign.read(|lab| Ok(lab.version()?)).unwrap_or_default();
        let (took, before, report) = Default::default();
        self.publish(campaign, WorkedOut { version, overview: Err(failure), took, before, report });
    }

    fn publish(&self, campaign: &Campaign, known: WorkedOut) -> Arc<WorkedOut> {
        let known = Arc::new(known);
        campaign.keep(known.clone());
        self.done.send_modify(|count| *count += 1);
        self.events.tell(&json!({"type": "worked-out", "campaign": campaign.id, "revision": known.version}));
        known
    }

    /// Ends the work.
    pub fn close(&self) {
        self.closing.store(true, Ordering::Relaxed);
        self.wake.notify_all();
        self.done.send_modify(|count| *count += 1);
    }

    fn queue(&self) -> MutexGuard<'_, VecDeque<Arc<Campaign>>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
