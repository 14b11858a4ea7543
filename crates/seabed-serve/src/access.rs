//! Who may talk to the server: the token, the host and the origin of a request, and what every answer forbids the browser.
//!
//! Any page that a person has open can send requests to this computer. So a request needs the token, in a cookie that other
//! sites' requests do not carry or as a bearer; a changing one by cookie must come from a page of ours; and the host must
//! be one that the server was started for, so that no foreign name that points here is taken for it.

use axum::http::header::{AUTHORIZATION, COOKIE, HOST, HeaderName, HeaderValue, ORIGIN};
use axum::http::{HeaderMap, Method, StatusCode};

use crate::failure::Failure;

/// What requests are compared with.
pub struct Access {
    /// 32 hexadecimal digits; new with every start.
    pub token: String,
    /// Instead of an address with the token, people give this.
    pub password: Option<String>,
    pub port: u16,
    /// The origin of the reverse proxy that does TLS: `https://lab.example.org`.
    pub proxy: Option<String>,
}

/// How a request showed that it may.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Shown {
    Bearer,
    Cookie,
}

impl Access {
    /// A random token.
    pub fn new_token() -> Result<String, getrandom::Error> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes)?;
        Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
    }

    /// Cookies do not know ports: each server on this computer has its own name.
    pub fn cookie_name(&self) -> String {
        format!("seabed-{}", self.port)
    }

    /// The cookie that the token is exchanged for.
    pub fn cookie(&self) -> String {
        let secure = if self.proxy.is_some() { "; Secure" } else { "" };
        format!("{}={}; Path=/; HttpOnly; SameSite=Strict{secure}", self.cookie_name(), self.token)
    }

    /// May the request be answered at all, whoever sent it?
    pub fn check_host(&self, headers: &HeaderMap) -> Result<(), Failure> {
        let host = one(headers, &HOST).unwrap_or_default();
        if self
            .origins()
            .iter()
            .any(|origin| origin.split_once("://").is_some_and(|(_, known)| known == host))
        {
            return Ok(());
        }
        Err(Failure::new(
            StatusCode::FORBIDDEN,
            "forbidden",
            "this server answers only under the address that it printed",
        ))
    }

    /// May the request be done?
    pub fn check(&self, method: &Method, headers: &HeaderMap) -> Result<(), Failure> {
        let Some(shown) = self.shown(headers) else {
            return Err(Failure::new(
                StatusCode::UNAUTHORIZED,
                "unauthorized",
                "open the address that `seabed serve` printed: it holds the token that this needs",
            ));
        };
        let safe = method == Method::GET || method == Method::HEAD;
        if safe || shown == Shown::Bearer || self.is_ours(headers) {
            return Ok(());
        }
        Err(Failure::new(
            StatusCode::FORBIDDEN,
            "forbidden",
            "a change must come from a page of this server, or carry the token as a bearer",
        ))
    }

    /// Does the request come from a page of ours?
    pub fn is_ours(&self, headers: &HeaderMap) -> bool {
        let host = one(headers, &HOST).unwrap_or_default();
        match one(headers, &ORIGIN) {
            Some(origin) => {
                let same = origin.split_once("://").is_some_and(|(_, named)| named == host);
                same && self.origins().iter().any(|known| known == origin)
            }
            None => one(headers, &HeaderName::from_static("sec-fetch-site")) == Some("same-origin"),
        }
    }

    /// Is it the token?
    pub fn is_token(&self, text: &str) -> bool {
        same(text, &self.token)
    }

    /// Is it the password?
    pub fn is_password(&self, text: &str) -> bool {
        self.password.as_ref().is_some_and(|password| same(text, password))
    }

    fn shown(&self, headers: &HeaderMap) -> Option<Shown> {
        if let Some(given) = one(headers, &AUTHORIZATION) {
            let (scheme, token) = given.split_once(' ')?;
            let right = scheme.eq_ignore_ascii_case("bearer") && self.is_token(token.trim());
            return right.then_some(Shown::Bearer);
        }
        let name = self.cookie_name();
        let cookies = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
        let mut pairs = cookies.flat_map(|all| all.split(';')).filter_map(|pair| pair.trim().split_once('='));
        pairs.any(|(known, value)| known == name && self.is_token(value)).then_some(Shown::Cookie)
    }

    /// All origins that pages of ours may have.
    fn origins(&self) -> Vec<String> {
        let loopback = ["127.0.0.1", "localhost", "[::1]"];
        let port = self.port;
        let own = loopback.iter().map(|host| format!("http://{host}:{port}"));
        own.chain(self.proxy.clone()).collect()
    }
}

/// The value of a header that is there once.
fn one<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Option<&'h str> {
    let mut values = headers.get_all(name).iter();
    let first = values.next()?.to_str().ok()?;
    values.next().is_none().then_some(first)
}

/// Compares without telling by the time how many characters are right.
fn same(given: &str, wanted: &str) -> bool {
    let (given, wanted) = (given.as_bytes(), wanted.as_bytes());
    let differ = |k: usize| std::hint::black_box(given.get(k).copied().unwrap_or(0) ^ wanted[k]);
    let difference = (0..wanted.len()).fold(0, |all, k| all | differ(k));
    std::hint::black_box(difference) == 0 && given.len() == wanted.len()
}

/// What the browser may do with a page of ours: load its parts from here, and nothing else.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; \
                      connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// What every answer says to the browser.
pub fn protect(headers: &mut HeaderMap) {
    let fixed = [
        ("x-content-type-options", "nosniff"),
        ("x-frame-options", "DENY"),
        ("referrer-policy", "no-referrer"),
        ("cross-origin-opener-policy", "same-origin"),
        ("cross-origin-resource-policy", "same-origin"),
        ("cache-control", "no-store"),
    ];
    for (name, value) in fixed {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    // A report brings its own, which knows its script.
    let policy = HeaderName::from_static("content-security-policy");
    headers.entry(policy).or_insert(HeaderValue::from_static(POLICY));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access() -> Access {
        Access { token: "a".repeat(32), password: Some("secret".into()), port: 8765, proxy: None }
    }

    fn headers(list: &[(&'static str, &str)]) -> HeaderMap {
        let pair = |(name, value): &(&'static str, &str)| {
            (HeaderName::from_static(name), HeaderValue::from_str(value).unwrap())
        };
        list.iter().map(pair).collect()
    }

    #[test]
    fn only_the_whole_text_is_the_same() {
        assert!(same("abc", "abc") && same("", ""));
        for other in ["ab", "abcd", "abd", "", "abc\0"] {
            assert!(!same(other, "abc"), "{other}");
        }
        assert_ne!(Access::new_token().unwrap(), Access::new_token().unwrap());
    }

    #[test]
    fn hosts_and_origins_are_those_of_the_server() {
        let access = access();
        for (host, right) in [
            ("127.0.0.1:8765", true),
            ("localhost:8765", true),
            ("[::1]:8765", true),
            ("127.0.0.1", false),
            ("evil.example:8765", false),
            ("", false),
        ] {
            assert_eq!(access.check_host(&headers(&[("host", host)])).is_ok(), right, "{host}");
        }
        let cookie = format!("other=1; seabed-8765={}", access.token);
        let change = |more: &[(&'static str, &str)]| {
            let mut all = vec![("host", "127.0.0.1:8765"), ("cookie", cookie.as_str())];
            all.extend_from_slice(more);
            access.check(&Method::POST, &headers(&all)).is_ok()
        };
        assert!(change(&[("origin", "http://127.0.0.1:8765")]));
        assert!(change(&[("sec-fetch-site", "same-origin")]));
        assert!(!change(&[]));
        assert!(!change(&[("sec-fetch-site", "cross-site")]));
        assert!(!change(&[("origin", "http://localhost:8765")]), "another page of ours, under another host");
        assert!(!change(&[("origin", "null"), ("sec-fetch-site", "same-origin")]));
        assert!(!change(&[("origin", "https://127.0.0.1:8765")]));
        let bearer = format!("Bearer {}", access.token);
        assert!(access.check(&Method::POST, &headers(&[("authorization", &bearer)])).is_ok());
        assert!(access.check(&Method::GET, &headers(&[("authorization", "Bearer x")])).is_err());
        // A wrong bearer is not made good by a cookie.
        assert!(
            access
                .check(&Method::GET, &headers(&[("authorization", "Bearer x"), ("cookie", &cookie)]))
                .is_err()
        );
    }
}
