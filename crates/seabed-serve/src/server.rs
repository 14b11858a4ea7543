//! The server: from connections to calls of the handlers, each in a thread that may wait for a disk, with limits on sizes and
//! times. Who sends too slowly is not listened to any longer.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes, HttpBody};
use axum::extract::{FromRequestParts, RawPathParams, Request, State};
use axum::http::header::{
    ALLOW, CONNECTION, CONTENT_DISPOSITION, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderValue, SET_COOKIE,
};
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::Response;
use axum::routing::{MethodFilter, on};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};

use crate::access::{Access, protect};
use crate::call::{Answer, Call, decoded, pairs};
use crate::events::Events;
use crate::failure::Failure;
use crate::jobs::Jobs;
use crate::keys::Keys;
use crate::library::{Library, Place};
use crate::overviews::Overviews;
use crate::pages;
use crate::routes::{Content, ROUTES, Route, Verb};

/// Bytes of a body that is not a file.
const MOST_JSON: usize = 1 << 20;

/// How long a body may take to arrive.
const JSON_TIME: Duration = Duration::from_secs(30);
const FILE_TIME: Duration = Duration::from_secs(600);

/// What is thrown away of a body that is too large, as a multiple of what it may have.
const THROWN_AWAY: usize = 4;

/// Files that are taken in at once: each is in memory as a whole.
const FILES_AT_ONCE: usize = 2;

/// Changes that wait for each other at once; the others wait where they do not keep who only looks from being answered.
const CHANGES_AT_ONCE: usize = 8;

/// Connections at once; more wait to be accepted.
const MOST_CONNECTIONS: usize = 1000;

/// After the system has refused a connection: it may have no more files to give.
const REFUSED: Duration = Duration::from_millis(100);

/// Who waits so long wants everything, whatever it takes.
const LONG: Duration = Duration::from_secs(1);

/// How long a request may wait for what is being worked out, in seconds.
const LONGEST_WAIT: f64 = 600.0;

/// After a wrong password.
const WRONG_PASSWORD: Duration = Duration::from_secs(1);

/// How often campaigns are looked at for changes by other programs.
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// Characters of a key and of a name.
const MOST_HEADER: usize = 200;

/// Everything that handlers share.
pub struct Server {
    pub access: Access,
    pub library: Library,
    pub jobs: Arc<Jobs>,
    pub events: Arc<Events>,
    pub overviews: Arc<Overviews>,
    pub keys: Keys,
    pub upload_limit: usize,
    pub patience: Duration,
    pub uploads: Semaphore,
    pub changes: Semaphore,
    pub logins: Semaphore,
}

impl Server {
    pub fn new(access: Access, library: Library, upload_limit: usize, patience: Duration) -> Self {
        let events = Arc::new(Events::new());
        let overviews = Arc::new(Overviews::new(events.clone()));
        Self {
            access,
            library,
            jobs: Arc::new(Jobs::new(events.clone(), overviews.clone())),
            events,
            overviews,
            keys: Keys::default(),
            upload_limit,
            patience,
            uploads: Semaphore::new(FILES_AT_ONCE),
            changes: Semaphore::new(CHANGES_AT_ONCE),
            logins: Semaphore::new(1),
        }
    }

    /// A single campaign will be looked at first of all: what takes long is worked out while the browser opens.
    pub fn begin(&self) {
        if let Place::File(_) = self.library.place {
            let all = self.library.list().into_iter().filter_map(|(id, _)| self.library.find(&id).ok());
            all.for_each(|campaign| self.overviews.ask(&campaign));
        }
    }
}

/// Answers until `end` resolves.
pub async fn run(
    server: Arc<Server>,
    listener: TcpListener,
    end: impl Future<Output = ()> + Send + 'static,
) -> std::io::Result<()> {
    tokio::spawn(look_for_changes(server.clone()));
    let service = TowerToHyperService::new(router(server.clone()));
    let mut http = http1::Builder::new();
    // Without a timer, who sends the head of a request a byte at a time could keep a connection for ever.
    http.timer(TokioTimer::new()).header_read_timeout(server.patience);
    let (open, places) = (GracefulShutdown::new(), Arc::new(Semaphore::new(MOST_CONNECTIONS)));
    let mut end = pin!(end);
    loop {
        let next = async {
            let place = places.clone().acquire_owned().await;
            (accepted(&listener).await, place)
        };
        let (stream, place) = tokio::select! {
            next = next => next,
            () = &mut end => break,
        };
        let connection = open.watch(http.serve_connection(TokioIo::new(stream), service.clone()));
        tokio::spawn(async move {
            // What breaks off is the business of who asked.
            let _ = connection.await;
            drop(place);
        });
    }
    server.jobs.close();
    server.events.close();
    drop(listener);
    open.shutdown().await;
    Ok(())
}

/// The next connection.
async fn accepted(listener: &TcpListener) -> TcpStream {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                // Answers are written as a whole: nothing is gained by waiting for more to send.
                let _ = stream.set_nodelay(true);
                return stream;
            }
            Err(_) => sleep(REFUSED).await,
        }
    }
}

/// The routes, behind the checks.
fn router(server: Arc<Server>) -> Router {
    let mut router = Router::new();
    for route in ROUTES {
        let filter = match route.verb {
            Verb::Get => MethodFilter::GET,
            Verb::Post => MethodFilter::POST,
        };
        let handler =
            move |State(server): State<Arc<Server>>, request: Request| answer(server, route, request);
        router = router.route(route.path, on(filter, handler));
    }
    for &(path, content_type, content) in pages::PARTS {
        let page = move || async move { plain(StatusCode::OK, content_type, Body::from(content)) };
        router = router.route(path, on(MethodFilter::GET, page));
    }
    router
        .route("/login", on(MethodFilter::POST, login))
        .fallback(|| async { refusal(&Failure::not_found("there is nothing at this address")) })
        .layer(from_fn_with_state(server.clone(), checked))
        .with_state(server)
}

/// Checks who asks before anything else is looked at, and protects every answer.
async fn checked(State(server): State<Arc<Server>>, request: Request, next: Next) -> Response {
    let mut response = match admitted(&server.access, request.method(), request.uri(), request.headers()) {
        Ok(None) => next.run(request).await,
        Ok(Some(response)) => response,
        Err(failure) => refusal(&failure),
    };
    if response.status() == StatusCode::METHOD_NOT_ALLOWED {
        let allowed = response.headers().get(ALLOW).cloned();
        let words = "this address does not know such a request";
        response = refusal(&Failure::new(StatusCode::METHOD_NOT_ALLOWED, "method-not-allowed", words));
        allowed.map(|allowed| response.headers_mut().insert(ALLOW, allowed));
    }
    protect(response.headers_mut());
    response
}

/// Goes on, or answers at once: the token of an address becomes a cookie, and who has none is told.
fn admitted(
    access: &Access,
    method: &Method,
    uri: &Uri,
    headers: &HeaderMap,
) -> Result<Option<Response>, Failure> {
    access.check_host(headers)?;
    let page = uri.path() == "/" && method == Method::GET;
    if page
        && let Some(token) = pairs(uri.query().unwrap_or_default())?.iter().find(|(key, _)| key == "token")
    {
        if !access.is_token(&token.1) {
            return Ok(Some(plain(
                StatusCode::UNAUTHORIZED,
                "text/html; charset=utf-8",
                Body::from(pages::NO_TOKEN),
            )));
        }
        return Ok(Some(with_cookie(access)));
    }
    if uri.path() == "/login" && method == Method::POST && access.password.is_some() {
        // The password takes the place of the token, but it must be typed on our page.
        return if access.is_ours(headers) { Ok(None) } else { access.check(method, headers).map(|()| None) };
    }
    match access.check(method, headers) {
        Err(failure) if page && failure.status == StatusCode::UNAUTHORIZED => {
            let page = if access.password.is_some() { pages::LOGIN } else { pages::NO_TOKEN };
            Ok(Some(plain(StatusCode::UNAUTHORIZED, "text/html; charset=utf-8", Body::from(page))))
        }
        checked => checked.map(|()| None),
    }
}

/// The cookie, and on to the pages. Not by a redirect: to the browser that would still be the step of whoever sent the
/// person here, who may be another site, and the cookie would not be sent.
fn with_cookie(access: &Access) -> Response {
    let mut response = plain(StatusCode::OK, "text/html; charset=utf-8", Body::from(pages::GO_ON));
    let headers = response.headers_mut();
    if let Ok(cookie) = HeaderValue::from_str(&access.cookie()) {
        headers.insert(SET_COOKIE, cookie);
    }
    response
}

/// Exchanges the password for the cookie.
async fn login(State(server): State<Arc<Server>>, request: Request) -> Response {
    let limits = Limits { most: MOST_JSON, time: JSON_TIME, silence: server.patience };
    let body = match body(request, limits).await {
        Ok(body) => body,
        Err(failure) => return refusal(&failure),
    };
    let given = pairs(&String::from_utf8_lossy(&body)).unwrap_or_default();
    let password = given.iter().find(|(key, _)| key == "password").map_or("", |(_, value)| value);
    // One at a time, so that guessing takes as long as it should.
    let _turn = server.logins.acquire().await;
    if server.access.is_password(password) {
        return with_cookie(&server.access);
    }
    sleep(WRONG_PASSWORD).await;
    plain(StatusCode::UNAUTHORIZED, "text/html; charset=utf-8", Body::from(pages::LOGIN))
}

/// Answers a request to a route.
async fn answer(server: Arc<Server>, route: &'static Route, request: Request) -> Response {
    if let Content::Events = route.content {
        return server.events.answer();
    }
    match handled(server, route, request).await {
        Ok(answer) => written(answer),
        Err(failure) => refusal(&failure),
    }
}

async fn handled(server: Arc<Server>, route: &'static Route, request: Request) -> Result<Answer, Failure> {
    let (mut parts, body_in) = request.into_parts();
    let places = RawPathParams::from_request_parts(&mut parts, &())
        .await
        .map_err(|_| Failure::malformed("the address is not percent-encoded UTF-8"))?;
    let places: Vec<(String, String)> =
        places.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
    let what = format!("{} {}", parts.method, parts.uri);
    let query = pairs(parts.uri.query().unwrap_or_default())?;
    let key = header(&parts.headers, "idempotency-key")?.filter(|key| !key.is_empty());
    let who = header(&parts.headers, "seabed-who")?.unwrap_or_default();
    let who = decoded(&who).ok_or_else(|| Failure::malformed("Seabed-Who is not percent-encoded UTF-8"))?;
    let who = who.replace(char::is_control, " ").trim().to_string();
    let request = Request::from_parts(parts, body_in);
    let silence = server.patience;
    let (body, turn) = match route.content {
        Content::None | Content::Events => (Bytes::new(), None),
        Content::Json => {
            let limits = Limits { most: MOST_JSON, time: JSON_TIME, silence };
            (body(request, limits).await?, server.changes.acquire().await.ok())
        }
        Content::File => {
            let turn = server.uploads.acquire().await.ok();
            let limits = Limits { most: server.upload_limit, time: FILE_TIME, silence };
            (body(request, limits).await?, turn)
        }
    };
    let call = Call { server: server.clone(), what, places, query, who, key, body };
    if route.waits > Duration::ZERO {
        worked_out(&call, route.waits).await?;
    }
    let work = tokio::task::spawn_blocking(move || (route.handler)(&call));
    let done = work.await;
    drop(turn);
    done.unwrap_or_else(|_| {
        let words = "a defect of seabed: nothing that was saved is lost; please tell the developers";
        Err(Failure::new(StatusCode::INTERNAL_SERVER_ERROR, "defect", words))
    })
}

/// Waits until what takes long is worked out about the campaign, but no longer than usual or than the query says.
async fn worked_out(call: &Call, usual: Duration) -> Result<(), Failure> {
    let asked = call.parsed::<f64>("wait")?;
    let longest = match asked {
        None => usual,
        Some(seconds) if (0.0..=LONGEST_WAIT).contains(&seconds) => Duration::from_secs_f64(seconds),
        Some(_) => return Err(Failure::malformed(format!("wait: from 0 to {LONGEST_WAIT} seconds"))),
    };
    let (server, campaign) = (&call.server, call.place("campaign"));
    let mut done = server.overviews.done();
    let current = async {
        loop {
            let (server, campaign) = (server.clone(), campaign.to_string());
            let look = move || {
                let campaign = server.library.find(&campaign)?;
                // There is no use in waiting a moment for what takes long.
                let vain = asked.is_none() && usual < LONG && Overviews::takes_longer(&campaign, usual);
                Ok::<bool, Failure>(server.overviews.is_current(&campaign)? || vain)
            };
            match tokio::task::spawn_blocking(look).await {
                Ok(Ok(false)) => {}
                // What is wrong, the handler says.
                _ => return,
            }
            if done.changed().await.is_err() {
                return;
            }
        }
    };
    let _ = timeout(longest, current).await;
    Ok(())
}

/// The text of a header, if it is there.
fn header(headers: &HeaderMap, name: &'static str) -> Result<Option<String>, Failure> {
    let Some(value) = headers.get(name) else { return Ok(None) };
    match value.to_str() {
        Ok(text) if text.len() <= MOST_HEADER => Ok(Some(text.to_string())),
        Ok(_) => Err(Failure::malformed(format!("{name}: at most {MOST_HEADER} characters"))),
        Err(_) => Err(Failure::malformed(format!("{name}: only the characters of ASCII"))),
    }
}

/// What a body may take.
struct Limits {
    /// Bytes.
    most: usize,
    /// Until all of it is there.
    time: Duration,
    /// From one part to the next.
    silence: Duration,
}

/// The body of a request, within its limits. What is too large is read and thrown away for a while: a client that is still
/// sending would not see the answer.
async fn body(request: Request, limits: Limits) -> Result<Bytes, Failure> {
    let Limits { most, time, silence } = limits;
    let mut body = request.into_body();
    let late = |words: &str| Failure::new(StatusCode::REQUEST_TIMEOUT, "time-out", words);
    let read = async {
        let (mut all, mut size) = (Vec::new(), 0);
        loop {
            let next = timeout(silence, poll_fn(|context| Pin::new(&mut body).poll_frame(context))).await;
            let Some(frame) = next.map_err(|_| late("the body broke off: nothing came any more"))? else {
                break;
            };
            let frame = frame.map_err(|_| Failure::malformed("the body broke off"))?;
            let Ok(data) = frame.into_data() else { continue };
            size += data.len();
            if size <= most {
                all.extend_from_slice(&data);
            } else {
                all = Vec::new();
            }
            if size > THROWN_AWAY * most {
                break;
            }
        }
        if size > most {
            let words = format!("the body is larger than {} MB", most.div_ceil(1_000_000));
            return Err(Failure::too_large(words));
        }
        Ok(all.into())
    };
    timeout(time, read).await.unwrap_or_else(|_| Err(late("the body took too long to arrive")))
}

fn plain(status: StatusCode, content_type: &'static str, body: Body) -> Response {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}

fn refusal(failure: &Failure) -> Response {
    let mut response = plain(failure.status, "application/json", Body::from(failure.body().to_string()));
    if [StatusCode::PAYLOAD_TOO_LARGE, StatusCode::REQUEST_TIMEOUT].contains(&failure.status) {
        // The rest of the body is not read.
        response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    }
    response
}

/// What a report may do is in the report; it is never part of another page.
const REPORT_POLICY: &str = "frame-ancestors 'none'; base-uri 'none'; form-action 'none'; object-src 'none'";

fn written(answer: Answer) -> Response {
    let mut response = plain(answer.status, answer.content_type, Body::from(answer.body));
    if answer.own_policy {
        let policy = HeaderValue::from_static(REPORT_POLICY);
        response.headers_mut().insert(CONTENT_SECURITY_POLICY, policy);
    }
    if let Some(name) = answer.file {
        let safe: String = name
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '_' })
            .collect();
        if let Ok(value) = HeaderValue::from_str(&format!("attachment; filename=\"{safe}\"")) {
            response.headers_mut().insert(CONTENT_DISPOSITION, value);
        }
    }
    response
}

/// Tells listeners about changes that other programs make.
async fn look_for_changes(server: Arc<Server>) {
    let mut closing = server.events.closing();
    loop {
        if timeout(LOOK_EVERY, closing.wait_for(|closing| *closing)).await.is_ok() {
            return;
        }
        if server.events.are_heard() {
            let server = server.clone();
            let look = move || {
                server.library.in_use().iter().for_each(|campaign| server.jobs.tell_changed(campaign))
            };
            let _ = tokio::task::spawn_blocking(look).await;
        }
    }
}
