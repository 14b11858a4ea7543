//! `seabed sweep --slurm`: an array job whose tasks work on the runs of a study.
//!
//! The script names what was asked for and starts `seabed sweep work`; everything else, also what happens when a task is told
//! to stop, is there (`workers`). What is in the queue is asked in `queue`.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, io};

use clap::Args;
use seabed::data::write_atomically;
use seabed_study::{RunState, Sweep};

use super::queue::{Job, jobs, write_jobs};
use crate::failure::Failure;
use crate::run::print;

/// Slurm takes at most 1001 tasks unless its administrator says otherwise.
const MOST_TASKS: usize = 1000;

/// What is asked of Slurm.
#[derive(Args)]
pub struct Slurm {
    /// Submit the study to Slurm as an array job, whose tasks work on runs until none is left. A task that is preempted or
    /// at the end of its time puts itself into the queue again. With --plan, print the job's script instead.
    #[arg(long)]
    pub slurm: bool,
    /// The partition of the job.
    #[arg(long, value_name = "NAME", requires = "slurm", value_parser = one_word)]
    partition: Option<String>,
    /// The time of each task, as sbatch takes it: 30 (minutes), 4:00:00, 1-12:00:00.
    #[arg(long, value_name = "TIME", requires = "slurm", value_parser = one_word)]
    time: Option<String>,
    /// The memory of each task, as sbatch takes it: 4G.
    #[arg(long, value_name = "SIZE", requires = "slurm", value_parser = one_word)]
    mem: Option<String>,
    /// Processors of each task, which works on as many runs at the same time [default: 1].
    #[arg(long, value_name = "COUNT", requires = "slurm", value_parser = clap::value_parser!(u16).range(1..=1024))]
    cpus: Option<u16>,
    /// Tasks that may run at the same time [default: no limit].
    #[arg(long, value_name = "COUNT", requires = "slurm", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    max_running: Option<u32>,
    /// A further option of sbatch, written together: --sbatch=--account=biology (repeatable).
    #[arg(
        long,
        value_name = "OPTION",
        requires = "slurm",
        value_parser = one_option,
        allow_hyphen_values = true
    )]
    sbatch: Vec<String>,
}

fn one_word(text: &str) -> Result<String, String> {
    if !text.is_empty() && text.chars().all(|c| c.is_ascii_graphic() && !"\"'\\#".contains(c)) {
        return Ok(text.to_string());
    }
    Err("write one word, without quotes".into())
}

fn one_option(text: &str) -> Result<String, String> {
    if text.starts_with('-') && !text.contains(char::is_control) {
        return Ok(text.to_string());
    }
    Err("write an option of sbatch with its dashes, for example --sbatch=--account=biology".into())
}

/// Prints the script of the job that the study needs.
pub fn show(sweep: &Sweep, study: &Path, options: &Slurm) -> Result<(), Failure> {
    let tasks = sweep.runs().len().min(MOST_TASKS);
    print(&script(&Place::of(study)?, tasks, options))
}

/// Submits as many tasks as there are runs to be done, less those that are in the queue already.
pub fn submit(sweep: &Sweep, study: &Path, options: &Slurm) -> Result<(), Failure> {
    let place = Place::of(study)?;
    // Whoever submits wants runs that failed to be tried again.
    sweep.forget_failures()?;
    let open = sweep.states()?.iter().filter(|(state, ..)| *state != RunState::Finished).count();
    if open == 0 {
        return print(&format!(
            "all runs are finished; `seabed sweep collect {}` gathers them\n",
            study.display()
        ));
    }
    let mut queued = Vec::new();
    let mut waiting = 0;
    for job in jobs(study) {
        let tasks = job.ask().map_err(|problem| Failure::Work(anyhow::anyhow!("{problem}")))?;
        if tasks.all() > 0 {
            waiting += tasks.all();
            queued.push(job);
        }
    }
    let tasks = open.min(MOST_TASKS).saturating_sub(waiting);
    if tasks == 0 {
        return print(&format!(
            "{waiting} tasks for the {open} runs that are left are in the queue already; `seabed sweep status {}` shows \
             them\n",
            study.display()
        ));
    }
    let script = script(&place, tasks, options);
    let path = place.folder.join("job.sh");
    fs::create_dir_all(&place.folder).map_err(|error| Failure::writing(Some(&place.folder), error))?;
    write_atomically(&path, |out| out.write_all(script.as_bytes()))
        .map_err(|error| Failure::writing(Some(&path), error))?;
    let job = submitted(Command::new("sbatch").arg("--parsable").arg(&path).output())?;
    let told = format!(
        "Slurm job {} has {tasks} tasks for {open} runs; `seabed sweep status {}` shows how far they are, `scancel {}` stops them\n",
        job.id,
        study.display(),
        job.id
    );
    queued.push(job);
    write_jobs(study, &queued).map_err(|error| Failure::writing(Some(&place.folder), error))?;
    print(&told)
}

/// The job that sbatch answered with.
fn submitted(answer: io::Result<std::process::Output>) -> Result<Job, Failure> {
    let failed = |problem: String| Failure::Work(anyhow::anyhow!("sbatch: {problem}; nothing was submitted"));
    let answer = answer.map_err(|error| failed(error.to_string()))?;
    if !answer.status.success() {
        return Err(failed(String::from_utf8_lossy(&answer.stderr).trim().to_string()));
    }
    let said = String::from_utf8_lossy(&answer.stdout).into_owned();
    // Sites may print more than the number.
    let job = said.lines().rev().find_map(|line| Job::parse(line.trim()));
    job.ok_or_else(|| failed(format!("it answered {:?} instead of the number of a job", said.trim())))
}

/// What the script names, as it is on all computers.
struct Place {
    program: PathBuf,
    study: PathBuf,
    /// The scripts, logs and jobs of the study.
    folder: PathBuf,
}

impl Place {
    fn of(study: &Path) -> Result<Self, Failure> {
        let program = env::current_exe().map_err(|error| Failure::Work(error.into()))?;
        let study = fs::canonicalize(study).map_err(|error| Failure::writing(Some(study), error))?;
        for path in [&program, &study] {
            // The directives of a script know no way to write these.
            if path.to_str().is_none_or(|text| text.contains(['"', '\\']) || text.contains(char::is_control))
            {
                return Err(Failure::Input(anyhow::anyhow!(
                    "{}: a folder with this name cannot be named in a script for Slurm; choose another one",
                    path.display()
                )));
            }
        }
        Ok(Self { folder: study.join("slurm"), program, study })
    }
}

fn script(place: &Place, tasks: usize, options: &Slurm) -> String {
    let name: String = place.study.file_name().and_then(OsStr::to_str).unwrap_or("study").into();
    let name: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    let running = options.max_running.map_or(String::new(), |most| format!("%{most}"));
    let cpus = options.cpus.unwrap_or(1);
    let logs = place.folder.display().to_string().replace('%', "%%");
    let mut lines = vec![
        format!("--job-name=seabed-{name}"),
        format!("--array=0-{}{running}", tasks - 1),
        format!("--cpus-per-task={cpus}"),
        format!("--output=\"{logs}/%A_%a.log\""),
        "--open-mode=append".into(),
        // After preemption or the failure of a computer the task starts again; a minute before its time is over it is told.
        "--requeue".into(),
        "--signal=B:TERM@60".into(),
    ];
    let asked = [("partition", &options.partition), ("time", &options.time), ("mem", &options.mem)];
    lines.extend(asked.iter().filter_map(|(key, value)| Some(format!("--{key}={}", value.as_ref()?))));
    lines.extend(options.sbatch.iter().cloned());
    let directives: String = lines.iter().map(|line| format!("#SBATCH {line}\n")).collect();
    format!(
        "#!/bin/sh\n# Works on the runs of a study until none is left. Any number of tasks can do so at any time.\n{directives}\
         exec {} --threads {cpus} sweep work --requeue {}\n",
        quoted(&place.program),
        quoted(&place.study)
    )
}

/// For a shell.
fn quoted(path: &Path) -> String {
    format!("'{}'", path.display().to_string().replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        slurm: Slurm,
    }

    fn options(line: &str) -> Result<Slurm, clap::Error> {
        Line::try_parse_from(format!("sweep {line}").split_whitespace()).map(|line| line.slurm)
    }

    #[test]
    fn the_script_says_what_was_asked_for() {
        let place = Place {
            program: "/opt/it's/seabed".into(),
            study: "/data/100% sure/study one".into(),
            folder: "/data/100% sure/study one/slurm".into(),
        };
        let asked = options(
            "--slurm --partition short --time 4:00:00 --mem 4G --cpus 2 --max-running 8 --sbatch=--account=biology",
        );
        assert_eq!(
            script(&place, 12, &asked.unwrap()),
            "#!/bin/sh\n# Works on the runs of a study until none is left. Any number of tasks can do so at any time.\n\
             #SBATCH --job-name=seabed-study-one\n#SBATCH --array=0-11%8\n#SBATCH --cpus-per-task=2\n\
             #SBATCH --output=\"/data/100%% sure/study one/slurm/%A_%a.log\"\n#SBATCH --open-mode=append\n\
             #SBATCH --requeue\n#SBATCH --signal=B:TERM@60\n#SBATCH --partition=short\n#SBATCH --time=4:00:00\n\
             #SBATCH --mem=4G\n#SBATCH --account=biology\n\
             exec '/opt/it'\\''s/seabed' --threads 2 sweep work --requeue '/data/100% sure/study one'\n"
        );
        let plain = script(&place, 1, &options("--slurm").unwrap());
        assert!(plain.contains("--array=0-0\n") && !plain.contains("--time"), "{plain}");
    }

    #[test]
    fn what_would_break_the_script_is_refused() {
        for line in
            ["--partition short", "--slurm --time \"4", "--slurm --mem 4#", "--slurm --sbatch account=a"]
        {
            assert!(options(line).is_err(), "{line}");
        }
        assert!(one_option("--comment=a\n#SBATCH --wrap=b").is_err() && one_word("a b").is_err());
        let answer = |text: &str| {
            let output = Command::new("printf").arg(text).output();
            submitted(output).map_err(|_| ()).map(|job| job.id)
        };
        assert_eq!(answer("welcome\n4711;north\n"), Ok("4711".to_string()));
        assert_eq!(answer("4712\n"), Ok("4712".to_string()));
        assert!(answer("no\n").is_err() && submitted(Command::new("false").output()).is_err());
    }
}
