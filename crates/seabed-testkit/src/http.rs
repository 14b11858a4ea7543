//! A small HTTP client for tests of the server: one connection per request, so that headers are exactly those given.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// Who asks.
#[derive(Clone, Debug)]
pub struct Client {
    /// Host and port: `127.0.0.1:8765`.
    pub host: String,
    /// Sent as a bearer; empty for none.
    pub token: String,
}

/// What was answered.
#[derive(Clone, Debug)]
pub struct Reply {
    /// The status.
    pub status: u16,
    /// Names in lower case, with values.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

impl Reply {
    /// The value of a header; empty if it is missing.
    pub fn header(&self, name: &str) -> &str {
        self.headers.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value)
    }

    /// The body as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

/// Longer than any answer should take: a guard against hanging, not a measurement.
const GUARD: Duration = Duration::from_secs(120);

impl Client {
    /// A client of the server at this origin: `http://127.0.0.1:8765`.
    pub fn new(origin: &str, token: &str) -> Self {
        let host = origin.trim_start_matches("http://").to_string();
        Self { host, token: token.to_string() }
    }

    /// Without a body.
    pub fn get(&self, path: &str) -> Reply {
        self.send("GET", path, &[], b"")
    }

    /// With a body.
    pub fn post(&self, path: &str, body: impl AsRef<[u8]>) -> Reply {
        self.send("POST", path, &[], body.as_ref())
    }

    /// With these headers besides Host, Content-Length, Connection and the bearer; a given Host takes the place of ours.
    pub fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Reply {
        let mut stream = self.open(method, path, headers, Some(body));
        let mut all = Vec::new();
        let _ = stream.read_to_end(&mut all);
        parsed(&all)
            .unwrap_or_else(|| panic!("{method} {path}: no answer: {}", String::from_utf8_lossy(&all)))
    }

    /// A connection on which a request was sent, to read from as it comes.
    pub fn open(&self, method: &str, path: &str, headers: &[(&str, &str)], body: Option<&[u8]>) -> TcpStream {
        let mut stream = TcpStream::connect(&self.host).expect("the server listens");
        stream.set_read_timeout(Some(GUARD)).expect("a duration above 0");
        let mut head = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n");
        let given = |name: &str| headers.iter().any(|(known, _)| known.eq_ignore_ascii_case(name));
        if !given("host") {
            head += &format!("Host: {}\r\n", self.host);
        }
        if !given("authorization") && !self.token.is_empty() {
            head += &format!("Authorization: Bearer {}\r\n", self.token);
        }
        if let Some(length) = body.map(<[u8]>::len).filter(|_| !given("transfer-encoding")) {
            head += &format!("Content-Length: {length}\r\n");
        }
        for (name, value) in headers {
            head += &format!("{name}: {value}\r\n");
        }
        let mut all = format!("{head}\r\n").into_bytes();
        all.extend_from_slice(body.unwrap_or_default());
        // A server that refuses a body may close the connection before it has read all of it.
        let _ = stream.write_all(&all);
        stream
    }
}

fn parsed(all: &[u8]) -> Option<Reply> {
    let end = all.windows(4).position(|four| four == b"\r\n\r\n")?;
    let head = String::from_utf8_lossy(&all[..end]).into_owned();
    let mut lines = head.split("\r\n");
    let status = lines.next()?.split(' ').nth(1)?.parse().ok()?;
    let header = |line: &str| {
        let (name, value) = line.split_once(':')?;
        Some((name.to_ascii_lowercase(), value.trim().to_string()))
    };
    let headers: Vec<(String, String)> = lines.filter_map(header).collect();
    Some(Reply { status, headers, body: all[end + 4..].to_vec() })
}
