//! The campaign of a real laboratory in the browser, and for robots: pages and a JSON interface over HTTP.
//!
//! The server runs on the computer of who starts it, and answers nobody else. It adds nothing to a campaign that
//! [`seabed_lab`] does not do: the same file can be used with the command `seabed lab` meanwhile.
//!
//! - `routes`: what can be asked for, as `openapi.json` describes it; `call`: a request and its answer as plain values;
//! - `looks`, `measurements`, `proposals`, `beliefs` and `changes`: the handlers; `tables`: tables that people send; `failure`:
//!   why something is refused;
//! - `library`: the campaigns and their connections; `jobs`: long work; `overviews`: what takes long to tell; `background`:
//!   the threads of both; `events`: what pages are told; `keys`: requests that were answered before;
//! - `access`: who may ask; `lock`: one server per campaign; `server`: HTTP; `pages`: what the browser shows.

#![warn(missing_docs)]

mod access;
mod background;
mod beliefs;
mod call;
mod changes;
mod events;
mod failure;
mod jobs;
mod keys;
mod library;
mod lock;
mod looks;
mod measurements;
mod overviews;
mod pages;
mod proposals;
mod routes;
mod server;
mod tables;

use std::future::Future;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::runtime::Builder;
use tokio::sync::oneshot;

use access::Access;
use library::{Library, Place};
use lock::Lock;
use server::Server;

/// The description of the interface.
pub const OPENAPI: &str = include_str!("../openapi.json");

/// How the server is started.
#[derive(Clone, Debug)]
pub struct Options {
    /// A campaign's file, which need not be there yet, or a folder of campaigns.
    pub place: PathBuf,
    /// Where it listens; anything but this computer needs a password and a proxy.
    pub address: IpAddr,
    /// The port; 0 for any that is free.
    pub port: u16,
    /// What people give instead of the token.
    pub password: Option<String>,
    /// The address of the reverse proxy that does TLS: `https://lab.example.org`.
    pub proxy: Option<String>,
    /// The largest file that is taken, in bytes.
    pub upload_limit: usize,
    /// How long a client may take to send the head of a request, and how long it may be silent while it sends the rest.
    pub patience: Duration,
}

impl Options {
    /// The usual options for a file or folder.
    pub fn new(place: impl Into<PathBuf>) -> Self {
        Self {
            place: place.into(),
            address: Ipv4Addr::LOCALHOST.into(),
            port: 0,
            password: None,
            proxy: None,
            upload_limit: 200_000_000,
            patience: Duration::from_secs(20),
        }
    }
}

/// Why the server cannot be started.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// Somebody else would be answered.
    #[error("{0}")]
    Unsafe(&'static str),
    /// A server has it already.
    #[error("it is served already: {address}")]
    Served {
        /// Where.
        address: String,
    },
    /// A lock that cannot be taken.
    #[error("{}: {source}", path.display())]
    Lock {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A place that cannot be served.
    #[error("{}: {problem}", path.display())]
    Place {
        /// Which.
        path: PathBuf,
        /// What is wrong.
        problem: &'static str,
    },
    /// The network, or the system, is in the way.
    #[error("{what}: {source}")]
    System {
        /// What cannot be done.
        what: String,
        /// Why.
        source: io::Error,
    },
}

/// A server that runs in threads of its own, until it is closed or dropped.
pub struct Running {
    address: String,
    port: u16,
    token: String,
    end: Option<oneshot::Sender<()>>,
    thread: Option<std::thread::JoinHandle<io::Result<()>>>,
}

impl Running {
    /// Where it is: with the token, as people open it.
    pub fn address(&self) -> String {
        format!("{}/?token={}", self.address, self.token)
    }

    /// Where it is, without the token.
    pub fn origin(&self) -> &str {
        &self.address
    }

    /// Where it listens; a reverse proxy passes requests on to there.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// What every request needs.
    pub fn token(&self) -> &str {
        &self.token
    }

    /// Ends it: requests are answered to their end, and jobs are left for the next start.
    pub fn close(mut self) -> io::Result<()> {
        self.ended()
    }

    fn ended(&mut self) -> io::Result<()> {
        drop(self.end.take());
        match self.thread.take().map(std::thread::JoinHandle::join) {
            Some(Ok(ended)) => ended,
            _ => Ok(()),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.ended();
    }
}

/// Starts a server.
pub fn start(options: &Options) -> Result<Running, ServeError> {
    check_safe(options)?;
    let place = place(&options.place)?;
    let mut lock = locked(&place)?;
    let system = |what: &str| {
        let what = what.to_string();
        move |source: io::Error| ServeError::System { what, source }
    };
    let runtime = Builder::new_multi_thread().worker_threads(2).max_blocking_threads(32).enable_all().build();
    let runtime = runtime.map_err(system("threads cannot be started"))?;
    let at = SocketAddr::new(options.address, options.port);
    let listener =
        runtime.block_on(TcpListener::bind(at)).map_err(system(&format!("{at} cannot be listened to")))?;
    let port = listener.local_addr().map_err(system("the port is not known"))?.port();
    let token = Access::new_token().map_err(|error| ServeError::System {
        what: "no random numbers".into(),
        source: io::Error::other(error),
    })?;
    let address = match options.address {
        IpAddr::V6(_) => format!("http://[::1]:{port}"),
        IpAddr::V4(_) => format!("http://127.0.0.1:{port}"),
    };
    let address = options.proxy.clone().unwrap_or(address);
    lock.tell(&format!("{address}/?token={token}"))?;
    let access = Access {
        token: token.clone(),
        password: options.password.clone(),
        port,
        proxy: options.proxy.clone(),
    };
    let server = Arc::new(Server::new(access, Library::new(place), options.upload_limit, options.patience));
    server.jobs.resume(&server.library);
    server.begin();
    let overviews = {
        let overviews = server.overviews.clone();
        let built = std::thread::Builder::new().name("overviews".into()).spawn(move || overviews.work());
        built.map_err(system("threads cannot be started"))?
    };
    let worker = {
        let jobs = server.jobs.clone();
        let built = std::thread::Builder::new().name("jobs".into()).spawn(move || jobs.work());
        built.map_err(system("threads cannot be started"))?
    };
    let (end, ended) = oneshot::channel::<()>();
    let thread = std::thread::Builder::new().name("server".into()).spawn(move || {
        let served = runtime.block_on(until(server.clone(), listener, async { drop(ended.await) }));
        server.jobs.close();
        let _ = worker.join();
        server.overviews.close();
        let _ = overviews.join();
        runtime.shutdown_timeout(LAST_WAIT);
        drop(lock);
        served
    });
    let thread = thread.map_err(system("threads cannot be started"))?;
    Ok(Running { address, port, token, end: Some(end), thread: Some(thread) })
}

/// How long the last answers may take.
const LAST_WAIT: Duration = Duration::from_secs(5);

/// Serves until the end; who does not take the last answers in time does not get them.
async fn until(
    server: Arc<Server>,
    listener: TcpListener,
    end: impl Future<Output = ()> + Send + 'static,
) -> io::Result<()> {
    let mut closing = server.events.closing();
    let late = async move {
        let _ = closing.wait_for(|closing| *closing).await;
        tokio::time::sleep(LAST_WAIT).await;
    };
    tokio::select! {
        served = server::run(server, listener, end) => served,
        () = late => Ok(()),
    }
}

fn check_safe(options: &Options) -> Result<(), ServeError> {
    let outside = !options.address.is_loopback();
    if outside && (options.password.is_none() || options.proxy.is_none()) {
        return Err(ServeError::Unsafe(
            "an address that other computers reach needs a password and a reverse proxy that does TLS; give both, or leave \
             the address out",
        ));
    }
    if options.password.as_ref().is_some_and(|password| password.chars().count() < 8) {
        return Err(ServeError::Unsafe("the password is too short; use at least 8 characters"));
    }
    let proper = |proxy: &String| {
        let host = proxy.strip_prefix("https://");
        host.is_some_and(|host| {
            let usual = |c: char| c.is_ascii_alphanumeric() || ".-:[]".contains(c);
            !host.is_empty() && host.chars().all(usual)
        })
    };
    if options.proxy.as_ref().is_some_and(|proxy| !proper(proxy)) {
        return Err(ServeError::Unsafe(
            "the proxy must be given as people see it, without a path: https://lab.example.org",
        ));
    }
    Ok(())
}

fn place(path: &Path) -> Result<Place, ServeError> {
    let wrong = |problem| Err(ServeError::Place { path: path.to_path_buf(), problem });
    let absolute = std::path::absolute(path)
        .map_err(|source| ServeError::System { what: path.display().to_string(), source })?;
    if absolute.is_dir() {
        return Ok(Place::Folder(absolute));
    }
    if absolute.file_stem().and_then(|stem| stem.to_str()).is_none_or(str::is_empty) {
        return wrong("its name cannot be used; rename the file");
    }
    if !absolute.exists() && !absolute.parent().is_some_and(Path::is_dir) {
        return wrong("there is no such folder");
    }
    if !absolute.exists() && absolute.extension().is_none_or(|extension| extension != "lab") {
        return wrong("there is no such file or folder; the name of a new campaign ends in .lab");
    }
    Ok(Place::File(absolute))
}

/// The lock of a file or folder. A file is also served by the server of its folder, and the other way round.
fn locked(place: &Place) -> Result<Lock, ServeError> {
    let of_file = |path: &Path| {
        let name = path.file_name().map_or(String::new(), |name| name.to_string_lossy().into_owned());
        path.with_file_name(format!(".{name}.serve"))
    };
    let of_folder = |folder: &Path| folder.join(".seabed-serve");
    let (lock, others) = match place {
        Place::File(path) => {
            (Lock::take(of_file(path))?, path.parent().map(of_folder).into_iter().collect::<Vec<_>>())
        }
        Place::Folder(folder) => {
            let files = Library::new(place.clone()).list();
            (Lock::take(of_folder(folder))?, files.iter().map(|(_, path)| of_file(path)).collect())
        }
    };
    match others.iter().find_map(|other| Lock::holder(other)) {
        Some(address) => Err(ServeError::Served { address }),
        None => Ok(lock),
    }
}

/// The routes of the interface, for the test that compares them with its description: `GET /api/v1/server`.
pub fn routes() -> Vec<String> {
    let verb = |verb| match verb {
        routes::Verb::Get => "GET",
        routes::Verb::Post => "POST",
    };
    routes::ROUTES.iter().map(|route| format!("{} {}", verb(route.verb), route.path)).collect()
}
