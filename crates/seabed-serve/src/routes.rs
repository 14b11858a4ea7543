//! All routes of the interface, in the order of `openapi.json`, which a test compares with this list.

use std::time::Duration;

use crate::beliefs;
use crate::call::{Answer, Call};
use crate::changes;
use crate::failure::Failure;
use crate::looks;
use crate::measurements;
use crate::proposals;
use crate::tables;

/// How a route is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verb {
    Get,
    Post,
}

/// What comes with a request, and what goes back.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Content {
    /// No body.
    None,
    Json,
    /// A file as it is.
    File,
    /// No body; the answer never ends.
    Events,
}

pub type Handler = fn(&Call) -> Result<Answer, Failure>;

/// A route.
pub struct Route {
    pub verb: Verb,
    pub path: &'static str,
    pub content: Content,
    pub handler: Handler,
    /// How long it usually waits for what is being worked out about the campaign.
    pub waits: Duration,
}

/// So long that small campaigns are always told as they are, and so short that nobody notices.
const A_MOMENT: Duration = Duration::from_millis(40);

/// A document must be right, whatever it takes.
const FOR_A_DOCUMENT: Duration = Duration::from_secs(120);

const fn get(path: &'static str, handler: Handler) -> Route {
    Route { verb: Verb::Get, path, content: Content::None, handler, waits: Duration::ZERO }
}

const fn post(path: &'static str, content: Content, handler: Handler) -> Route {
    Route { verb: Verb::Post, path, content, handler, waits: Duration::ZERO }
}

/// What tells something that takes long to work out.
const fn told(path: &'static str, waits: Duration, handler: Handler) -> Route {
    Route { verb: Verb::Get, path, content: Content::None, handler, waits }
}

/// All of them.
pub static ROUTES: &[Route] = &[
    get("/api/v1/server", looks::server),
    get("/api/v1/openapi.json", looks::openapi),
    get("/api/v1/campaigns", looks::campaigns),
    post("/api/v1/campaigns", Content::Json, changes::create),
    post("/api/v1/preview", Content::File, tables::preview),
    get("/api/v1/campaigns/{campaign}", looks::campaign),
    told("/api/v1/campaigns/{campaign}/status", A_MOMENT, beliefs::status),
    get("/api/v1/campaigns/{campaign}/data", measurements::data),
    post("/api/v1/campaigns/{campaign}/data", Content::File, changes::add),
    post("/api/v1/campaigns/{campaign}/fit", Content::Json, changes::fit),
    get("/api/v1/campaigns/{campaign}/proposals", proposals::proposals),
    post("/api/v1/campaigns/{campaign}/proposals", Content::Json, changes::propose),
    told("/api/v1/campaigns/{campaign}/proposals/{proposal}", A_MOMENT, proposals::proposal),
    get("/api/v1/campaigns/{campaign}/proposals/{proposal}/form", proposals::form),
    post("/api/v1/campaigns/{campaign}/results", Content::Json, changes::results),
    post("/api/v1/campaigns/{campaign}/forms", Content::File, changes::record_form),
    post("/api/v1/campaigns/{campaign}/amend", Content::Json, changes::amend),
    post("/api/v1/campaigns/{campaign}/abandon", Content::Json, changes::abandon),
    post("/api/v1/campaigns/{campaign}/undo", Content::Json, changes::undo),
    get("/api/v1/campaigns/{campaign}/history", looks::history),
    get("/api/v1/campaigns/{campaign}/experiments", measurements::experiments),
    told("/api/v1/campaigns/{campaign}/edges", A_MOMENT, beliefs::edges),
    told("/api/v1/campaigns/{campaign}/edges/history", A_MOMENT, beliefs::edge_history),
    get("/api/v1/campaigns/{campaign}/pair", measurements::pair),
    told("/api/v1/campaigns/{campaign}/effects", A_MOMENT, beliefs::effects),
    told("/api/v1/campaigns/{campaign}/checks", A_MOMENT, beliefs::checks),
    told("/api/v1/campaigns/{campaign}/report", FOR_A_DOCUMENT, beliefs::report),
    get("/api/v1/campaigns/{campaign}/export", looks::export),
    get("/api/v1/campaigns/{campaign}/backup", looks::backup),
    get("/api/v1/jobs", looks::jobs),
    get("/api/v1/jobs/{job}", looks::job),
    post("/api/v1/jobs/{job}/stop", Content::None, changes::stop),
    Route { content: Content::Events, ..get("/api/v1/events", looks::server) },
];
