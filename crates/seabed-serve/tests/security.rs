//! Who is not let in, and what strangers' texts cannot do.

mod common;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

use common::*;
use seabed_serve::{Options, start};
use seabed_testkit::http::Client;
use serde_json::json;

/// Every way to come without the token.
#[test]
fn nothing_is_answered_without_the_token() {
    let Setting { client, running, folder: _folder } = with_campaign();
    let stranger = Client { token: String::new(), ..client.clone() };
    let paths =
        ["/", "/app.js", "/style.css", "/api/v1/server", "/api/v1/campaigns", "/api/v1/events", "/nothing"];
    for path in paths {
        let reply = stranger.get(path);
        assert_eq!(reply.status, 401, "{path}");
        assert!(!reply.text().contains("cells"));
    }
    for route in seabed_serve::routes() {
        let (method, path) = route.split_once(' ').unwrap();
        let path = path.replace("{campaign}", "cells").replace("{proposal}", "1").replace("{job}", "1");
        assert_eq!(stranger.send(method, &path, &[], b"{}").status, 401, "{route}");
        let wrong = Client { token: "0".repeat(32), ..client.clone() };
        assert_eq!(wrong.send(method, &path, &[], b"{}").status, 401, "{route}");
    }
    assert_eq!(stranger.get("/?token=wrong").status, 401);
    assert_eq!(stranger.send("POST", "/login", &[], b"password=").status, 401);
    // The address that is printed sets the cookie, which is good from then on.
    let reply = stranger.get(&format!("/?token={}", running.token()));
    let cookie = reply.header("set-cookie").to_string();
    assert!(cookie.contains("; HttpOnly; SameSite=Strict"), "{cookie}");
    assert!(!reply.text().contains(running.token()));
    let cookie = cookie.split(';').next().unwrap();
    assert_eq!(stranger.send("GET", "/api/v1/campaigns", &[("Cookie", cookie)], b"").status, 200);
    assert_eq!(stranger.send("GET", "/", &[("Cookie", cookie)], b"").status, 200);
}

#[test]
fn changes_come_from_our_own_pages_only() {
    let Setting { client, running, folder: _folder } = with_campaign();
    let stranger = Client { token: String::new(), ..client.clone() };
    let cookie = format!("seabed-{}={}", client.host.rsplit(':').next().unwrap(), running.token());
    let send = |headers: &[(&str, &str)]| {
        let mut all = vec![("Cookie", cookie.as_str())];
        all.extend_from_slice(headers);
        stranger.send("POST", "/api/v1/campaigns/cells/undo", &all, b"{\"action\": 77}").status
    };
    let own = format!("http://{}", client.host);
    assert_eq!(send(&[("Origin", &own)]), 409);
    assert_eq!(send(&[("Sec-Fetch-Site", "same-origin")]), 409);
    assert_eq!(send(&[]), 403);
    for origin in ["http://evil.example", "null", "https://127.0.0.1", "http://127.0.0.1:1"] {
        assert_eq!(send(&[("Origin", origin)]), 403, "{origin}");
    }
    for site in ["cross-site", "same-site", "none"] {
        assert_eq!(send(&[("Sec-Fetch-Site", site)]), 403, "{site}");
    }
    // What a form of another site can send.
    let form = [("Origin", "http://evil.example"), ("Content-Type", "application/x-www-form-urlencoded")];
    assert_eq!(send(&form), 403);
    // A name of another site that points here.
    for host in ["evil.example", "evil.example:80", "127.0.0.1", "127.0.0.1:1"] {
        let reply = client.send("GET", "/api/v1/campaigns", &[("Host", host)], b"");
        assert_eq!(refused(&reply, 403), "forbidden", "{host}");
    }
}

#[test]
fn every_answer_forbids_what_it_does_not_need() {
    let Setting { client, folder: _folder, running: _running } = with_campaign();
    proposed(&client, "cells", &quick(1));
    for path in [
        "/",
        "/app.js",
        "/api/v1/campaigns",
        "/api/v1/campaigns/none",
        "/api/v1/campaigns/cells/report",
        "/x",
    ] {
        let reply = client.get(path);
        let policy = reply.header("content-security-policy");
        assert!(
            policy.contains("frame-ancestors 'none'") && policy.contains("base-uri 'none'"),
            "{path}: {policy}"
        );
        if path.ends_with("report") {
            // It brings its own, which knows its script.
            assert!(
                reply.text().contains("http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'")
            );
        } else {
            assert!(policy.starts_with("default-src 'none'; script-src 'self'"), "{path}: {policy}");
            assert!(!policy.contains("unsafe"));
        }
        for (name, value) in [
            ("x-content-type-options", "nosniff"),
            ("referrer-policy", "no-referrer"),
            ("x-frame-options", "DENY"),
        ] {
            assert_eq!(reply.header(name), value, "{path}");
        }
        assert_eq!(reply.header("access-control-allow-origin"), "");
    }
}

#[test]
fn paths_lead_nowhere() {
    let Setting { client, folder, running: _running } = server();
    std::fs::write(folder.path().join("notes.txt"), "private").unwrap();
    let outside = folder.path().join("../outside.lab");
    for name in ["..%2Foutside", "%2e%2e%2foutside", "..", "%00", "notes.txt", "notes", ".%2Fnotes", "%ff"] {
        for path in ["", "/report", "/backup", "/export"] {
            let reply = client.get(&format!("/api/v1/campaigns/{name}{path}"));
            assert!([400, 404].contains(&reply.status), "{name}{path}: {}", reply.status);
            assert!(!reply.text().contains("private"));
        }
    }
    for path in ["/../Cargo.toml", "/%2e%2e/Cargo.toml", "//etc/passwd", "/pages/index.html", "/api/v1/../.."]
    {
        assert!([400, 404].contains(&client.get(path).status), "{path}");
    }
    // The name of a new campaign becomes letters and digits.
    let reply = client.post("/api/v1/campaigns", new_campaign("../../outside").to_string());
    assert_eq!(good(&reply), json!({"id": "outside"}));
    assert!(folder.path().join("outside.lab").exists() && !outside.exists());
    assert_eq!(refused(&client.post("/api/v1/campaigns", new_campaign("../..").to_string()), 422), "invalid");
}

/// Scripts in every text that people can give come back as JSON, as a file, or escaped, never as a page.
#[test]
fn scripts_stay_texts() {
    let script = "<script>alert(1)</script><img src=x onerror=alert(2)>";
    let coded = "%3Cscript%3Ealert(1)%3C%2Fscript%3E";
    let Setting { client, folder: _folder, running: _running } = server();
    let mut wanted = new_campaign("Script");
    wanted["variables"][0]["name"] = json!(script);
    wanted["variables"][0]["unit"] = json!(script);
    wanted["knowledge"] = json!({});
    wanted["note"] = json!(script);
    let id = good(&client.post("/api/v1/campaigns", wanted.to_string()))["id"].as_str().unwrap().to_string();
    let at = |path: &str| format!("/api/v1/campaigns/{id}{path}");
    let table = observations(30, 1).replacen('a', script, 1);
    let headers = [("Seabed-Who", coded)];
    let path = at(&format!("/data?name={coded}.csv&note={coded}"));
    good(&client.send("POST", &path, &headers, table.as_bytes()));
    client.post(&format!("/api/v1/preview?name={coded}"), &table);
    let mut wish = quick(1);
    wish["note"] = json!(script);
    proposed(&client, &id, &wish);
    let bad = client.post(
        &at("/results"),
        json!({"rows": [{"experiment": script, "values": {script: script}}]}).to_string(),
    );
    assert_eq!(refused(&bad, 422), "invalid");
    let mut paths: Vec<String> = seabed_serve::routes()
        .iter()
        .filter_map(|route| route.strip_prefix("GET ").map(str::to_string))
        .filter(|path| !path.ends_with("events"))
        .map(|path| path.replace("{campaign}", &id).replace("{proposal}", "1").replace("{job}", "none"))
        .collect();
    paths.extend([
        format!("/api/v1/campaigns/{coded}"),
        format!("/{coded}"),
        at(&format!("/pair?from={coded}&to=b")),
    ]);
    for path in paths {
        let reply = client.get(&path);
        let content_type = reply.header("content-type");
        let download = reply.header("content-disposition").starts_with("attachment");
        if content_type.starts_with("text/html") {
            assert!(
                !reply.text().contains("<script>alert") && !reply.text().contains("<img src=x"),
                "{path}"
            );
        } else {
            assert!(content_type == "application/json" || download, "{path}: {content_type}");
        }
        assert_eq!(reply.header("x-content-type-options"), "nosniff");
    }
}

/// What is too large is refused before it fills the memory.
#[test]
fn sizes_are_limited() {
    let folder = tempfile::tempdir().unwrap();
    let running = start(&Options { upload_limit: 100_000, ..Options::new(folder.path()) }).unwrap();
    let client = Client::new(running.origin(), running.token());
    let large = "1,2\n".repeat(50_000);
    assert_eq!(refused(&client.post("/api/v1/preview", &large), 413), "too-large");
    assert_eq!(refused(&client.post("/api/v1/campaigns", " ".repeat(2 << 20)), 413), "too-large");
    // Without a length.
    let chunk = format!("{:x}\r\n{large}\r\n0\r\n\r\n", large.len());
    let reply = client.send("POST", "/api/v1/preview", &[("Transfer-Encoding", "chunked")], chunk.as_bytes());
    assert_eq!(refused(&reply, 413), "too-large");
    // A thousandth of what it holds.
    let packed = packed(20_000_000);
    assert!(packed.len() < 100_000);
    assert_eq!(refused(&client.post("/api/v1/preview", &packed), 413), "too-large");
    assert_eq!(good(&client.post("/api/v1/preview", "a,b\n1,2\n3,4\n"))["rows"], 2);
    for (name, content) in [("nothing", ""), ("zip", "PK\u{3}\u{4}")] {
        let status = client.post("/api/v1/preview", content).status;
        assert!([200, 400, 422].contains(&status), "{name}: {status}");
    }
}

/// Who sends the head of a request, or its body, too slowly is not waited for; who sends something now and then is.
#[test]
fn times_are_limited() {
    let folder = tempfile::tempdir().unwrap();
    let patience = Duration::from_millis(600);
    let running = start(&Options { patience, ..Options::new(folder.path()) }).unwrap();
    let client = Client::new(running.origin(), running.token());
    // A byte of a head at a time, from many at once: each is cut off, and others are answered meanwhile.
    let slow = || {
        let mut stream = TcpStream::connect(&client.host).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let began = Instant::now();
        for byte in b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ".iter().chain([b'a'].iter().cycle()) {
            if stream.write_all(&[*byte]).is_err() || began.elapsed() > Duration::from_secs(30) {
                break;
            }
            thread::sleep(Duration::from_millis(50));
        }
        began.elapsed()
    };
    thread::scope(|scope| {
        let all: Vec<_> = (0..40).map(|_| scope.spawn(slow)).collect();
        for _ in 0..10 {
            assert_eq!(client.get("/api/v1/server").status, 200);
            thread::sleep(Duration::from_millis(50));
        }
        for one in all {
            let lasted = one.join().unwrap();
            assert!(lasted < Duration::from_secs(10), "{lasted:?}");
        }
    });
    // Bodies that break off.
    let length = [("Content-Length", "1000")];
    for path in ["/api/v1/campaigns", "/api/v1/preview"] {
        let mut stream = client.open("POST", path, &length, None);
        stream.write_all(b"{\"name\"").unwrap();
        let mut answer = String::new();
        let _ = stream.read_to_string(&mut answer);
        assert!(answer.starts_with("HTTP/1.1 408") && answer.contains("time-out"), "{path}: {answer}");
    }
    // A slow line is not a broken one.
    let table = "a,b\n1,2\n3,4\n";
    let mut stream = client.open("POST", "/api/v1/preview", &[("Content-Length", "12")], None);
    for byte in table.bytes() {
        stream.write_all(&[byte]).unwrap();
        thread::sleep(Duration::from_millis(100));
    }
    let mut answer = String::new();
    let _ = stream.read_to_string(&mut answer);
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}

#[test]
fn pages_of_the_web_are_no_tables() {
    let Setting { client, folder: _folder, running: _running } = with_campaign();
    let page = "<!doctype html><html><body><p>hello</p></body></html>";
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    packed.write_all(page.as_bytes()).unwrap();
    let bodies = [page.as_bytes().to_vec(), b"\xef\xbb\xbf \n<HTML>".to_vec(), packed.finish().unwrap()];
    for path in ["/api/v1/preview", "/api/v1/campaigns/cells/data", "/api/v1/campaigns/cells/forms"] {
        for body in &bodies {
            let reply = client.post(&format!("{path}?name=x.csv"), body);
            assert_eq!(refused(&reply, 422), "invalid");
            assert!(reply.text().contains("web page (HTML)"), "{}", reply.text());
        }
    }
    assert_eq!(good(&client.post("/api/v1/preview", "<10,b\n1,2\n"))["rows"], 1);
}

/// A gzip file of this many bytes that are all the same.
fn packed(length: usize) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(&vec![b'1'; length]).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn other_computers_need_a_password_and_a_proxy() {
    let folder = tempfile::tempdir().unwrap();
    let usual = Options::new(folder.path());
    let everywhere = Options { address: "0.0.0.0".parse().unwrap(), ..usual.clone() };
    let password = Some("correct horse".to_string());
    let proxy = Some("https://lab.example.org".to_string());
    for options in [
        everywhere.clone(),
        Options { password: password.clone(), ..everywhere.clone() },
        Options { proxy: proxy.clone(), ..everywhere.clone() },
        Options { password: Some("short".into()), proxy: proxy.clone(), ..everywhere.clone() },
        Options {
            password: password.clone(),
            proxy: Some("http://lab.example.org".into()),
            ..everywhere.clone()
        },
        Options {
            password: password.clone(),
            proxy: Some("https://lab.example.org/path".into()),
            ..everywhere
        },
    ] {
        assert!(start(&options).is_err(), "{options:?}");
    }
    let everywhere = Options { address: "0.0.0.0".parse().unwrap(), ..usual.clone() };
    let running = start(&Options { password: password.clone(), proxy: proxy.clone(), ..everywhere }).unwrap();
    // Through the proxy, whose address is the only one that other computers know, and whose cookie is for TLS alone.
    let outside = Client { host: format!("127.0.0.1:{}", running.port()), token: String::new() };
    let named = |host: &str, path: &str, headers: &[(&str, &str)], body: &str| {
        let mut all = vec![("Host", host)];
        all.extend_from_slice(headers);
        outside.send(if body.is_empty() { "GET" } else { "POST" }, path, &all, body.as_bytes())
    };
    assert!(named("lab.example.org", "/", &[], "").text().contains("type=\"password\""));
    assert_eq!(named("other.example.org", "/", &[], "").status, 403);
    let own = [("Origin", "https://lab.example.org")];
    assert_eq!(named("lab.example.org", "/login", &own, "password=wrong+horse").status, 401);
    let cookie =
        named("lab.example.org", "/login", &own, "password=correct+horse").header("set-cookie").to_string();
    assert!(cookie.contains("; Secure") && cookie.contains("HttpOnly"), "{cookie}");
    let cookie = cookie.split(';').next().unwrap();
    assert_eq!(named("lab.example.org", "/api/v1/campaigns", &[("Cookie", cookie)], "").status, 200);
    running.close().unwrap();

    let running = start(&Options { password, proxy, port: 0, ..usual }).unwrap();
    assert!(running.address().starts_with("https://lab.example.org/?token="));
    let lock = std::fs::read_to_string(folder.path().join(".seabed-serve")).unwrap();
    assert_eq!(lock, running.address());
    let second = start(&Options::new(folder.path())).err().unwrap().to_string();
    assert_eq!(second, format!("it is served already: {}", running.address()));
}

/// With a password, the page asks for it; nobody else's page can send it.
#[test]
fn a_password_opens_the_pages() {
    let folder = tempfile::tempdir().unwrap();
    let options = Options { password: Some("correct horse".into()), ..Options::new(folder.path()) };
    let running = start(&options).unwrap();
    let stranger = Client::new(running.origin(), "");
    let own = running.origin().to_string();
    assert!(stranger.get("/").text().contains("type=\"password\""));
    let login =
        |origin: &str, body: &str| stranger.send("POST", "/login", &[("Origin", origin)], body.as_bytes());
    assert_eq!(login(&own, "password=wrong+horse").status, 401);
    assert_eq!(login("http://evil.example", "password=correct+horse").status, 401);
    let reply = login(&own, "password=correct+horse");
    assert!(reply.status == 200 && reply.header("set-cookie").contains("HttpOnly"));
}
