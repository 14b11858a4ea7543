//! What happens, told to every page that listens: server-sent events.

use std::convert::Infallible;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::header::{CONTENT_TYPE, HeaderValue};
use axum::response::Response;
use futures_util::stream::unfold;
use serde_json::Value;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{broadcast, watch};
use tokio::time::timeout;

/// Messages that a slow listener may be behind; it then misses some.
const KEPT: usize = 256;

/// A sign of life this often keeps the connection open.
const ALIVE: Duration = Duration::from_secs(15);

/// Where events go to.
pub struct Events {
    sender: broadcast::Sender<String>,
    /// True once the server ends.
    closing: watch::Sender<bool>,
}

impl Events {
    pub fn new() -> Self {
        Self { sender: broadcast::channel(KEPT).0, closing: watch::channel(false).0 }
    }

    /// Tells everybody who listens.
    pub fn tell(&self, event: &Value) {
        // Nobody may be there.
        let _ = self.sender.send(event.to_string());
    }

    /// Does anybody listen?
    pub fn are_heard(&self) -> bool {
        self.sender.receiver_count() > 0
    }

    /// Ends all streams.
    pub fn close(&self) {
        self.closing.send_replace(true);
    }

    /// Resolves when the server ends.
    pub fn closing(&self) -> watch::Receiver<bool> {
        self.closing.subscribe()
    }

    /// The stream of a listener.
    pub fn answer(&self) -> Response {
        let listener = (self.sender.subscribe(), self.closing.subscribe(), true);
        let stream = unfold(listener, |(mut events, mut closing, first)| async move {
            if first {
                // So that the listener knows at once that it is heard.
                return Some((chunk(": seabed\n\n".into()), (events, closing, false)));
            }
            let next = tokio::select! {
                _ = closing.wait_for(|closing| *closing) => return None,
                next = timeout(ALIVE, events.recv()) => next,
            };
            let text = match next {
                Ok(Ok(event)) => format!("data: {event}\n\n"),
                Ok(Err(RecvError::Closed)) => return None,
                // It was too slow, and asks for what it missed.
                Ok(Err(RecvError::Lagged(_))) => "data: {\"type\":\"again\"}\n\n".into(),
                Err(_) => ": still here\n\n".into(),
            };
            Some((chunk(text), (events, closing, false)))
        });
        let mut response = Response::new(Body::from_stream(stream));
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
        response
    }
}

fn chunk(text: String) -> Result<Bytes, Infallible> {
    Ok(text.into())
}
