//! What Slurm has of a study: its jobs, which are kept in the study's folder, and the state of their tasks.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use seabed::data::write_atomically;
use serde_json::{Value, json};

/// A job of Slurm.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Job {
    /// Its number.
    pub id: String,
    /// The cluster, where there are several.
    cluster: Option<String>,
}

/// The tasks of a job that are in the queue, by their state: RUNNING, PENDING and so on.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Tasks {
    counts: BTreeMap<String, usize>,
    /// Why tasks are pending.
    reasons: BTreeMap<String, usize>,
}

impl Job {
    /// From what sbatch prints: a number, and the name of the cluster if there are several.
    pub fn parse(line: &str) -> Option<Self> {
        let (id, cluster) = match line.split_once(';') {
            Some((id, cluster)) => (id, Some(cluster.to_string())),
            None => (line, None),
        };
        let number = !id.is_empty() && id.chars().all(|c| c.is_ascii_digit());
        number.then(|| Self { id: id.to_string(), cluster })
    }

    /// The tasks that are in the queue; none once all of them have ended. The error is a sentence.
    pub fn ask(&self) -> Result<Tasks, String> {
        let mut squeue = Command::new("squeue");
        squeue.args(["--noheader", "--array", "--format=%T %r", &format!("--jobs={}", self.id)]);
        squeue.args(self.cluster.iter().map(|cluster| format!("--clusters={cluster}")));
        answered(squeue.output())
    }

    /// `Slurm job 4711: 3 running, 5 pending (Resources)`.
    pub fn describe(&self, tasks: &Result<Tasks, String>) -> String {
        match tasks {
            Err(problem) => format!("Slurm job {}: {problem}", self.id),
            Ok(tasks) if tasks.all() == 0 => format!("Slurm job {} is no longer in the queue", self.id),
            Ok(tasks) => {
                let word = |(state, count): (&String, &usize)| format!("{count} {}", state.to_lowercase());
                let words: Vec<String> = tasks.counts.iter().map(word).collect();
                let reasons: Vec<&str> = tasks.reasons.keys().map(String::as_str).collect();
                let why =
                    if reasons.is_empty() { String::new() } else { format!(" ({})", reasons.join(", ")) };
                format!("Slurm job {}: {}{why}", self.id, words.join(", "))
            }
        }
    }

    /// The same for programs.
    pub fn as_json(&self, tasks: &Result<Tasks, String>) -> Value {
        match tasks {
            Ok(tasks) => json!({"id": self.id, "tasks": tasks.counts, "pending_because": tasks.reasons}),
            Err(problem) => json!({"id": self.id, "error": problem}),
        }
    }
}

impl Tasks {
    /// How many tasks are in the queue.
    pub fn all(&self) -> usize {
        self.counts.values().sum()
    }
}

fn answered(answer: io::Result<Output>) -> Result<Tasks, String> {
    let answer = answer.map_err(|error| format!("squeue cannot be asked: {error}"))?;
    if !answer.status.success() {
        let said = String::from_utf8_lossy(&answer.stderr).trim().to_string();
        // What Slurm says of a job that ended a while ago.
        if said.contains("Invalid job id") {
            return Ok(Tasks::default());
        }
        return Err(format!("squeue cannot be asked: {said}"));
    }
    Ok(read(&String::from_utf8_lossy(&answer.stdout)))
}

/// A state and a reason on every line.
fn read(text: &str) -> Tasks {
    let mut tasks = Tasks::default();
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let (state, reason) = line.split_once(' ').unwrap_or((line, ""));
        *tasks.counts.entry(state.to_string()).or_default() += 1;
        if state == "PENDING" && !matches!(reason, "" | "None") {
            *tasks.reasons.entry(reason.to_string()).or_default() += 1;
        }
    }
    tasks
}

fn list(study: &Path) -> PathBuf {
    study.join("slurm/jobs.txt")
}

/// The jobs of a study that were in the queue when the last one was submitted, and that one.
pub fn jobs(study: &Path) -> Vec<Job> {
    let text = fs::read_to_string(list(study)).unwrap_or_default();
    text.lines().filter_map(|line| Job::parse(line.trim())).collect()
}

/// Keeps the jobs of a study.
pub fn write_jobs(study: &Path, jobs: &[Job]) -> io::Result<()> {
    let line = |job: &Job| {
        let cluster = job.cluster.as_ref().map_or(String::new(), |cluster| format!(";{cluster}"));
        format!("{}{cluster}\n", job.id)
    };
    let text: String = jobs.iter().map(line).collect();
    write_atomically(&list(study), |out| out.write_all(text.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_queue_is_read() {
        let job = Job::parse("4711;north").unwrap();
        let text = "RUNNING None\nPENDING JobArrayTaskLimit\nPENDING Resources\nCOMPLETING None\nPENDING Resources\n";
        let tasks = Ok(read(text));
        assert_eq!(
            job.describe(&tasks),
            "Slurm job 4711: 1 completing, 3 pending, 1 running (JobArrayTaskLimit, Resources)"
        );
        assert_eq!(tasks.as_ref().unwrap().all(), 5);
        assert_eq!(job.as_json(&tasks)["tasks"]["PENDING"], 3);
        assert_eq!(job.describe(&Ok(read("\n"))), "Slurm job 4711 is no longer in the queue");
        assert!(job.describe(&answered(Command::new("nowhere").output())).contains("squeue cannot be asked"));
        assert_eq!(Job::parse("sbatch: error"), None);
    }

    #[test]
    fn jobs_are_kept() {
        let study = tempfile::tempdir().unwrap();
        assert_eq!(jobs(study.path()), []);
        fs::create_dir(study.path().join("slurm")).unwrap();
        let all = ["4711", "4712;south"].map(|line| Job::parse(line).unwrap());
        write_jobs(study.path(), &all).unwrap();
        assert_eq!(jobs(study.path()), all);
    }
}
