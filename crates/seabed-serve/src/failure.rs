//! What a request cannot do: the status and the JSON of the answer.

use axum::http::StatusCode;
use seabed::ErrorKind;
use seabed::data::DataError;
use seabed::settings::SettingsError;
use seabed_lab::LabError;
use serde_json::{Value, json};

/// Why a request is refused; `{"error": {"kind": …, "message": …}}`.
#[derive(Clone, Debug)]
pub struct Failure {
    pub status: StatusCode,
    pub kind: &'static str,
    pub message: String,
    /// Other keys of the error.
    pub more: Vec<(&'static str, Value)>,
}

impl Failure {
    pub fn new(status: StatusCode, kind: &'static str, message: impl Into<String>) -> Self {
        Self { status, kind, message: message.into(), more: Vec::new() }
    }

    /// Something in the request that cannot be read at all.
    pub fn malformed(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "malformed", message)
    }

    /// Something in the request that can be read but not be done.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid", message)
    }

    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "not-found", message)
    }

    pub fn too_large(message: impl Into<String>) -> Self {
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "too-large", message)
    }

    pub fn conflict(kind: &'static str, message: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, kind, message)
    }

    /// The computer is in the way, not the request.
    pub fn environment(message: impl Into<String>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "environment", message)
    }

    fn with(mut self, key: &'static str, value: Value) -> Self {
        self.more.push((key, value));
        self
    }

    pub fn body(&self) -> Value {
        let mut error = json!({"kind": self.kind, "message": self.message});
        for (key, value) in &self.more {
            error[key] = value.clone();
        }
        json!({"error": error})
    }
}

impl From<LabError> for Failure {
    fn from(error: LabError) -> Self {
        let message = error.to_string();
        let cells: Vec<Value> = error
            .cells()
            .into_iter()
            .map(|(place, message)| json!({"row": place.row, "column": place.column, "message": message}))
            .collect();
        // Messages name the options of the command, which people who look at a page do not have.
        let failure = match error {
            LabError::KnownRows { file, known, rows } => {
                let words = format!(
                    "{file}: {known} of its {rows} rows are in the campaign already, with the same values and targets; \
                     nothing was added. Add only the other {}, or all again if these are different measurements",
                    rows - known
                );
                Self::conflict("known-rows", words).with("known", json!(known)).with("rows", json!(rows))
            }
            LabError::AddedBefore { file, at, action, before } => Self::conflict(
                "added-before",
                format!(
                    "{file}: the same content was added on {at} (action {action}, as {before}); nothing was added. Add it \
                     again only if these are different measurements"
                ),
            ),
            LabError::Exists { .. } => {
                Self::conflict("exists", "there is a campaign of this name already; choose another name")
            }
            LabError::NoData => Self::new(
                StatusCode::UNPROCESSABLE_ENTITY,
                "no-data",
                "there is no complete row of data yet; add observations first",
            ),
            LabError::NotTheLast { .. } | LabError::NothingToUndo => Self::conflict("not-the-last", message),
            LabError::KeyReused { .. } => Self::new(StatusCode::UNPROCESSABLE_ENTITY, "key-reused", message),
            LabError::NoExperiment { .. } => Self::not_found(message),
            LabError::Busy { .. } | LabError::Changing => Self::conflict("busy", message),
            LabError::NotACampaign { why, .. } => {
                Self::conflict("conflict", format!("the file is not a campaign ({why})"))
            }
            LabError::Newer { found, known, .. } => Self::conflict(
                "conflict",
                format!(
                    "the campaign has version {found}, but this program knows versions up to {known} only"
                ),
            ),
            LabError::Damaged { problem, .. } => Self::conflict(
                "conflict",
                format!("the campaign is damaged ({problem}); restore your newest backup"),
            ),
            LabError::ReadOnly { .. } => Self::conflict(
                "conflict",
                "the campaign's file cannot be written to: it can only be looked at",
            ),
            error => match error.kind() {
                ErrorKind::Input => Self::invalid(message),
                ErrorKind::Stopped => Self::conflict("conflict", message),
                // Paths are nobody's business.
                ErrorKind::Environment => Self::environment(match error {
                    LabError::Database { source, .. } => source.to_string(),
                    LabError::File { source, .. } => source.to_string(),
                    _ => message,
                }),
            },
        };
        if cells.is_empty() { failure } else { failure.with("cells", json!(cells)) }
    }
}

impl From<DataError> for Failure {
    fn from(error: DataError) -> Self {
        LabError::Data(error).into()
    }
}

impl From<SettingsError> for Failure {
    fn from(error: SettingsError) -> Self {
        Self::invalid(error.to_string())
    }
}
