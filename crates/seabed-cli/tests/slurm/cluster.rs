//! A cluster of one computer: Slurm's own daemons in a temporary folder, on the loopback interface, with ports and a key of
//! their own. Nothing outside of the folder is read or written, and nothing of an installed Slurm is used but its programs.

use std::fs;
use std::io::Read;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// Longer than anything here should take: a guard against hanging, not a measurement.
const GUARD: Duration = Duration::from_secs(120);

pub struct Cluster {
    folder: TempDir,
    node: String,
    daemons: Vec<(&'static str, Child)>,
}

impl Cluster {
    /// Starts the daemons; the error says why that is not possible here.
    pub fn start() -> Result<Self, String> {
        for program in ["munged", "slurmctld", "slurmd", "sbatch", "squeue", "scancel", "scontrol", "sinfo"] {
            if program_path(program).is_none() {
                return Err(format!(
                    "{program} is not installed (Debian: munge slurmctld slurmd slurm-client)"
                ));
            }
        }
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        let node = fs::read_to_string("/proc/sys/kernel/hostname").map_err(|error| error.to_string())?;
        let node = node.trim().split('.').next().unwrap_or_default().to_string();
        let mut cluster = Self { folder, node, daemons: Vec::new() };
        cluster.write_files().map_err(|error| format!("its files cannot be written: {error}"))?;
        let at = cluster.folder.path().to_path_buf();
        let munge = |name: &str, file: &str| format!("--{name}={}", at.join("munge").join(file).display());
        cluster.spawn(
            "munged",
            &[
                "--foreground".into(),
                "--force".into(),
                munge("key-file", "key"),
                munge("socket", "socket"),
                munge("pid-file", "pid"),
                munge("log-file", "log"),
                munge("seed-file", "seed"),
            ],
        )?;
        cluster.wait_for("the socket of munged", |_| at.join("munge/socket").exists())?;
        cluster.spawn("slurmctld", &["-D".into()])?;
        cluster.start_slurmd()?;
        Ok(cluster)
    }

    /// Starts the daemon of the computer, and waits until tasks can run there.
    pub fn start_slurmd(&mut self) -> Result<(), String> {
        let node = self.node.clone();
        self.spawn("slurmd", &["-D".into(), "-N".into(), node])?;
        self.wait_for("the node", |cluster| {
            let state = cluster.node_state();
            ["idle", "mixed", "allocated", "completing"].iter().any(|good| state == *good)
        })
    }

    /// Kills the daemon of the computer; the tasks that it started go on.
    pub fn kill_slurmd(&mut self) {
        let at = self.daemons.iter().position(|(name, _)| *name == "slurmd").expect("it was started");
        let (_, mut slurmd) = self.daemons.remove(at);
        slurmd.kill().unwrap();
        slurmd.wait().unwrap();
    }

    /// Without the marks that Slurm adds, such as `*` for a computer that does not answer.
    pub fn node_state(&self) -> String {
        let said = self.ask("sinfo", &["--noheader", "--format=%T"]).unwrap_or_default();
        said.trim().trim_end_matches(|c: char| !c.is_ascii_alphabetic()).to_string()
    }

    /// What a command of Slurm prints.
    pub fn ask(&self, program: &str, arguments: &[&str]) -> Result<String, String> {
        let output = self.environment(Command::new(program).args(arguments)).output();
        let output = output.map_err(|error| format!("{program}: {error}"))?;
        if !output.status.success() {
            return Err(format!("{program}: {}", String::from_utf8_lossy(&output.stderr)));
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Has a command talk to this cluster and to no other.
    pub fn environment<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        command.env("SLURM_CONF", self.folder.path().join("slurm.conf"))
    }

    /// Waits until something is so; the error has what the daemons said.
    pub fn wait_for(&mut self, what: &str, is: impl Fn(&Self) -> bool) -> Result<(), String> {
        let start = Instant::now();
        while !is(self) {
            let ended = |(name, daemon): &mut (&'static str, Child)| Some((*name, daemon.try_wait().ok()??));
            if let Some((name, status)) = self.daemons.iter_mut().find_map(ended) {
                return Err(format!("{name} ended with {status}: {}", self.log()));
            }
            if start.elapsed() > GUARD {
                return Err(format!("waited in vain for {what}: {}", self.log()));
            }
            sleep(Duration::from_millis(100));
        }
        Ok(())
    }

    /// The last lines that the daemons wrote.
    fn log(&self) -> String {
        let mut all = String::new();
        for name in ["munged", "slurmctld", "slurmd"] {
            let text = fs::read_to_string(self.folder.path().join(name)).unwrap_or_default();
            let lines: Vec<&str> = text.lines().collect();
            all += &format!("\n{name}:\n{}", lines[lines.len().saturating_sub(15)..].join("\n"));
        }
        all
    }

    fn spawn(&mut self, name: &'static str, arguments: &[String]) -> Result<(), String> {
        let log = fs::File::options().create(true).append(true).open(self.folder.path().join(name));
        let log = log.map_err(|error| error.to_string())?;
        let errors = log.try_clone().map_err(|error| error.to_string())?;
        let mut command = Command::new(program_path(name).expect("looked for before"));
        self.environment(command.args(arguments)).stdin(Stdio::null()).stdout(log).stderr(errors);
        let daemon = command.spawn().map_err(|error| format!("{name}: {error}"))?;
        self.daemons.push((name, daemon));
        Ok(())
    }

    fn write_files(&self) -> std::io::Result<()> {
        let at = self.folder.path();
        for folder in ["munge", "state", "spool"] {
            fs::create_dir(at.join(folder))?;
        }
        fs::set_permissions(at.join("munge"), fs::Permissions::from_mode(0o700))?;
        let mut key = [0; 128];
        fs::File::open("/dev/urandom")?.read_exact(&mut key)?;
        fs::write(at.join("munge/key"), key)?;
        fs::set_permissions(at.join("munge/key"), fs::Permissions::from_mode(0o400))?;
        // Both are free now, and nobody else here asks for such ports.
        let ports = [0, 1].map(|_| TcpListener::bind("127.0.0.1:0"));
        let [control, daemon] = ports.map(|port| port.and_then(|port| port.local_addr()).map(|at| at.port()));
        let user = Command::new("id").arg("-un").output()?;
        let user = String::from_utf8_lossy(&user.stdout).trim().to_string();
        let (node, place) = (&self.node, at.display());
        let conf = format!(
            "ClusterName=seabed\nSlurmctldHost={node}(127.0.0.1)\nSlurmctldPort={}\nSlurmdPort={}\n\
             AuthType=auth/munge\nCredType=cred/munge\n\
             # Tasks that are put into the queue again wait for so many seconds.\n\
             AuthInfo=socket={place}/munge/socket,cred_expire=3\n\
             SlurmUser={user}\nSlurmdUser={user}\n\
             StateSaveLocation={place}/state\nSlurmdSpoolDir={place}/spool\n\
             SlurmctldPidFile={place}/slurmctld.pid\nSlurmdPidFile={place}/slurmd.pid\n\
             # Neither control groups nor an init system are needed.\n\
             ProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\nJobAcctGatherType=jobacct_gather/none\n\
             AccountingStorageType=accounting_storage/none\nMpiDefault=none\nSwitchType=switch/none\n\
             SelectType=select/cons_tres\nSelectTypeParameters=CR_Core\nSlurmdParameters=config_overrides\n\
             SchedulerParameters=sched_interval=1,sched_min_interval=0,batch_sched_delay=0,bf_interval=1\n\
             # A computer whose daemon is silent for so long is down, and comes back when it speaks.\n\
             SlurmdTimeout=5\nReturnToService=2\nKillWait=5\n\
             NodeName={node} NodeAddr=127.0.0.1 CPUs=2 RealMemory=1000 State=UNKNOWN\n\
             PartitionName=main Nodes={node} Default=YES MaxTime=INFINITE State=UP\n",
            control?, daemon?
        );
        fs::write(at.join("slurm.conf"), conf)
    }
}

impl Drop for Cluster {
    /// Cancels what is left, so that no task outlives the test, and ends the daemons.
    fn drop(&mut self) {
        if self.daemons.iter().any(|(name, _)| *name == "slurmd") {
            let _ = self.ask("scancel", &["--partition=main", "--quiet"]);
            let start = Instant::now();
            while self.ask("squeue", &["--noheader"]).is_ok_and(|queue| !queue.trim().is_empty())
                && start.elapsed() < Duration::from_secs(15)
            {
                sleep(Duration::from_millis(200));
            }
        }
        for (_, daemon) in self.daemons.iter_mut().rev() {
            let _ = daemon.kill();
            let _ = daemon.wait();
        }
    }
}

/// Where a program is; daemons are in folders that are not in everybody's path.
fn program_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var("PATH").unwrap_or_default() + ":/usr/sbin:/sbin";
    path.split(':').map(|folder| Path::new(folder).join(name)).find(|path| path.is_file())
}
