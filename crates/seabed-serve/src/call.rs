//! A request as the handlers see it, and their answers: plain values, no HTTP.

use std::str::FromStr;
use std::sync::Arc;

use axum::body::Bytes;
use axum::http::StatusCode;
use seabed::data::ReadOptions;
use seabed_lab::Signature;
use serde::Serialize;
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};

use crate::failure::Failure;
use crate::library::Campaign;
use crate::server::Server;

/// A request.
pub struct Call {
    pub server: Arc<Server>,
    /// `POST /api/v1/…`, with its query.
    pub what: String,
    /// What stands in the braces of the route.
    pub places: Vec<(String, String)>,
    pub query: Vec<(String, String)>,
    pub who: String,
    pub key: Option<String>,
    pub body: Bytes,
}

/// What is answered.
#[derive(Clone, Debug)]
pub struct Answer {
    pub status: StatusCode,
    pub content_type: &'static str,
    pub body: Vec<u8>,
    /// The name under which the browser offers to save it.
    pub file: Option<String>,
    /// Does it bring rules of its own about what the browser may do?
    pub own_policy: bool,
}

impl Answer {
    pub fn json(value: &impl Serialize) -> Self {
        let body = serde_json::to_vec(value).expect("numbers, texts and lists");
        Self { status: StatusCode::OK, content_type: "application/json", body, file: None, own_policy: false }
    }

    pub fn with_status(self, status: StatusCode) -> Self {
        Self { status, ..self }
    }

    pub fn file(name: String, content_type: &'static str, body: Vec<u8>) -> Self {
        Self { status: StatusCode::OK, content_type, body, file: Some(name), own_policy: false }
    }
}

impl Call {
    /// What stands in a brace of the route.
    pub fn place(&self, name: &str) -> &str {
        self.places.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value)
    }

    /// The campaign that the path names.
    pub fn campaign(&self) -> Result<Arc<Campaign>, Failure> {
        self.server.library.find(self.place("campaign"))
    }

    /// The body as JSON.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, Failure> {
        serde_json::from_slice(&self.body).map_err(|error| {
            let message = format!("the body cannot be used: {error}");
            match error.classify() {
                serde_json::error::Category::Data => Failure::invalid(message),
                _ => Failure::malformed(message),
            }
        })
    }

    /// The value of a key of the query.
    pub fn asked(&self, key: &str) -> Option<&str> {
        self.query.iter().find(|(known, _)| known == key).map(|(_, value)| value.as_str())
    }

    fn all_asked(&self, key: &str) -> Vec<String> {
        self.query.iter().filter(|(known, _)| known == key).map(|(_, value)| value.clone()).collect()
    }

    /// A key of the query that must be there.
    pub fn needed(&self, key: &str) -> Result<&str, Failure> {
        self.asked(key).ok_or_else(|| Failure::malformed(format!("add {key}=… to the address")))
    }

    /// A key of the query as a number or a word.
    pub fn parsed<T: FromStr>(&self, key: &str) -> Result<Option<T>, Failure>
    where
        T::Err: std::fmt::Display,
    {
        let parse = |text: &str| text.parse().map_err(|error| Failure::malformed(format!("{key}: {error}")));
        self.asked(key).map(parse).transpose()
    }

    /// Is a key of the query true?
    pub fn flag(&self, key: &str) -> Result<bool, Failure> {
        Ok(self.parsed::<bool>(key)?.unwrap_or(false))
    }

    /// How a table of the body is read.
    pub fn read_options(&self) -> Result<ReadOptions, Failure> {
        Ok(ReadOptions {
            ignore: self.all_asked("ignore"),
            separator: self.parsed("separator")?,
            decimal: self.parsed("decimal")?,
            encoding: self.parsed("encoding")?,
            sheet: self.asked("sheet").map(str::to_string),
            missing: self.all_asked("missing"),
        })
    }

    /// What the file of the body is called; only shown.
    pub fn file_name(&self) -> String {
        let name = self.asked("name").unwrap_or_default();
        let shown = name.rsplit(['/', '\\']).next().unwrap_or_default().replace(char::is_control, " ");
        let shown: String = shown.trim().chars().take(MOST_NAME).collect();
        if shown.is_empty() { "the table".into() } else { shown }
    }

    /// The user's note.
    pub fn note(&self) -> &str {
        self.asked("note").unwrap_or_default()
    }

    /// A fingerprint of all that is asked for.
    pub fn content(&self) -> String {
        let mut hash = Sha256::new();
        hash.update(&self.what);
        hash.update([0]);
        hash.update(&self.body);
        hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Who asks, and by which request.
    pub fn signature(&self) -> Signature {
        Signature { who: self.who.clone(), key: self.key.clone(), content: self.content() }
    }
}

/// Characters of a file's name that are shown.
const MOST_NAME: usize = 200;

/// The pairs of a query, decoded.
pub fn pairs(query: &str) -> Result<Vec<(String, String)>, Failure> {
    let pair = |pair: &str| {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        let text = |text: &str| decoded(&text.replace('+', " "));
        Some((text(key)?, text(value)?))
    };
    let pairs: Option<Vec<_>> = query.split('&').filter(|pair| !pair.is_empty()).map(pair).collect();
    pairs.ok_or_else(|| Failure::malformed("the query is not percent-encoded UTF-8"))
}

/// Percent-encoded UTF-8; none if it is not.
pub fn decoded(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut k = 0;
    while k < bytes.len() {
        if bytes[k] == b'%' {
            let digits = bytes.get(k + 1..k + 3).filter(|digits| digits.iter().all(u8::is_ascii_hexdigit))?;
            out.push(u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?);
            k += 3;
        } else {
            out.push(bytes[k]);
            k += 1;
        }
    }
    String::from_utf8(out).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_are_decoded() {
        let read = pairs("a=1%2B1&b=x+y&c&d=%C3%A4=%3d").unwrap();
        let expected = [("a", "1+1"), ("b", "x y"), ("c", ""), ("d", "ä==")];
        assert_eq!(read, expected.map(|(key, value)| (key.to_string(), value.to_string())));
        for bad in ["a=%", "a=%4", "a=%zz", "%ff=1", "a=%+1"] {
            assert!(pairs(bad).is_err(), "{bad}");
        }
    }
}
