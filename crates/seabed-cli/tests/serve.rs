//! `seabed serve` as a process: started twice, killed during a fit, stopped by Ctrl-C, used by many at once.
#![cfg(unix)]

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

use seabed_testkit::browser::Driver;
use seabed_testkit::http::{Client, Reply};
use serde_json::{Value, json};

struct Server {
    child: Child,
    client: Client,
    address: String,
}

fn command(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_seabed"));
    command.current_dir(folder).args(["serve", "--no-open", "--json"]).args(arguments);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn started(folder: &Path, arguments: &[&str]) -> Server {
    let mut child = command(folder, arguments).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let told: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"));
    let text = |key: &str| told[key].as_str().unwrap().to_string();
    Server { client: Client::new(&text("origin"), &text("token")), address: text("address"), child }
}

#[track_caller]
fn good(reply: &Reply) -> Value {
    assert!((200..300).contains(&reply.status), "{} {}", reply.status, reply.text());
    serde_json::from_slice(&reply.body).unwrap()
}

/// Looks until it is so: a guard against hanging, not a measurement.
fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(began.elapsed() < Duration::from_secs(180), "{what}");
        sleep(Duration::from_millis(50));
    }
}

fn with_data(client: &Client) {
    let variable = |name: &str| json!({"name": name, "intervene": true, "bounds": [-3, 3]});
    let new = json!({"name": "cells", "variables": [variable("a"), variable("b"), variable("c")]});
    good(&client.post("/api/v1/campaigns", new.to_string()));
    let mut table = String::from("a,b,c\n");
    for k in 0..40 {
        let a = f64::from(k * 37 % 40) / 10.0 - 2.0;
        table +=
            &format!("{a},{},{}\n", 1.5 * a + f64::from(k * 7 % 11) / 10.0, f64::from(k * 13 % 17) / 5.0);
    }
    good(&client.post("/api/v1/campaigns/cells/data?name=data.csv", table));
}

/// A fit that takes so long that a test can do something meanwhile.
fn long_fit(client: &Client) -> Value {
    let fit =
        json!({"posterior": "dibs-linear", "settings": {"particles": 20, "steps": 100_000}, "force": true});
    good(&client.post("/api/v1/campaigns/cells/fit", fit.to_string()))
}

/// Killed during a fit and started again, the server goes on with the job from where the campaign has kept it.
#[test]
fn a_killed_server_goes_on_with_its_jobs() {
    let folder = tempfile::tempdir().unwrap();
    let Server { mut child, client, .. } = started(folder.path(), &["cells.lab"]);
    with_data(&client);
    let job = long_fit(&client);
    let path = format!("/api/v1/jobs/{}", job["id"].as_str().unwrap());
    until("it runs", || {
        Some(()).filter(|()| good(&client.get(&path))["progress"]["done"].as_u64() > Some(0))
    });
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(folder.path().join(".cells.lab.jobs").exists());

    let Server { mut child, client, .. } = started(folder.path(), &["cells.lab"]);
    let again = until("it runs again", || {
        let job = good(&client.get(&path));
        Some(job).filter(|job| job["state"] == "running" && job["progress"]["done"].as_u64() > Some(0))
    });
    assert_eq!((&again["id"], &again["kind"]), (&job["id"], &json!("fit")));
    good(&client.post(&format!("{path}/stop"), ""));
    until("it stops", || Some(()).filter(|()| good(&client.get(&path))["state"] == "stopped"));
    assert!(!folder.path().join(".cells.lab.jobs").exists());

    // A proposal that waits is made after the next start, once.
    long_fit(&client);
    let wish = json!({"posterior": "bootstrap", "batch": 2,
        "settings": {"posterior": {"draws": 20}, "design": {"samples": 10}}});
    good(&client.post("/api/v1/campaigns/cells/proposals", wish.to_string()));
    let jobs = fs::read(folder.path().join(".cells.lab.jobs")).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    // Without the fit, which would take too long here.
    let mut orders: Vec<Value> = serde_json::from_slice(&jobs).unwrap();
    assert_eq!(orders.len(), 2);
    orders.remove(0);
    let journal = folder.path().join(".cells.lab.jobs");
    for _ in 0..2 {
        fs::write(&journal, json!(orders).to_string()).unwrap();
        let Server { mut child, client, .. } = started(folder.path(), &["cells.lab"]);
        until("it is done", || {
            let jobs = good(&client.get("/api/v1/jobs"));
            Some(()).filter(|()| jobs["jobs"][0]["state"] == "done" && jobs["jobs"][0]["proposal"] == 1)
        });
        let proposals = good(&client.get("/api/v1/campaigns/cells/proposals"));
        assert_eq!(proposals["proposals"].as_array().unwrap().len(), 1);
        child.kill().unwrap();
        child.wait().unwrap();
    }
}

/// Who looks at a fit while the server is killed is told so, and sees it go on after the next start.
#[test]
fn a_kill_during_a_fit_as_the_browser_shows_it() {
    let Some(driver) = Driver::start() else { return };
    let folder = tempfile::tempdir().unwrap();
    let Server { mut child, client, address } = started(folder.path(), &["cells.lab"]);
    with_data(&client);
    let browser = driver.browser(1280, false);
    browser.open(&address);
    browser.wait_for("40 measurements");
    let job = long_fit(&client);
    browser.wait("document.querySelector('.job progress')?.value > 0");
    // Long enough for its state to be kept.
    let path = format!("/api/v1/jobs/{}", job["id"].as_str().unwrap());
    until("its state is kept", || {
        Some(()).filter(|()| good(&client.get(&path))["seconds"].as_f64() > Some(6.0))
    });
    let reached = good(&client.get(&path))["progress"]["done"].as_u64().unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    browser.wait("!document.getElementById('offline').hidden");
    browser.wait_for("The server does not answer");

    // At the same address, but with another token: the page says what to do.
    let port = client.host.rsplit(':').next().unwrap().to_string();
    let Server { mut child, client, address } = started(folder.path(), &["cells.lab", "--port", &port]);
    browser.wait_for("The server was started anew");
    browser.open(&address);
    browser.wait("document.querySelector('.job progress')?.value > 0");
    let again = good(&client.get(&path));
    assert_eq!(again["state"], "running");
    assert!(again["progress"]["done"].as_u64() > Some(reached / 4), "{reached} before, {again} now");
    // Also if the answer to the click comes after the event that the job was stopped.
    browser.run(
        "const fetched = window.fetch;
        window.fetch = async (address, ...rest) => {
            const answer = await fetched(address, ...rest);
            if (String(address).endsWith('/stop')) {
                await new Promise((later) => setTimeout(later, 2000));
                window.answered = true;
            }
            return answer;
        };",
    );
    browser.click("#stop-job");
    browser.wait_for("Stopped. Ask for the same again");
    browser.wait("window.answered");
    thread::sleep(Duration::from_millis(500));
    browser.wait_for("Stopped. Ask for the same again");
    child.kill().unwrap();
    child.wait().unwrap();
}

/// Many record at once, and some look, for a while: nothing is lost, nothing is there twice, and the file is sound.
fn a_crowd_records(clients: usize, time: Duration) {
    let folder = tempfile::tempdir().unwrap();
    let Server { mut child, client, .. } = started(folder.path(), &["cells.lab"]);
    with_data(&client);
    let job = long_fit(&client);
    let (began, recorded) = (Instant::now(), AtomicUsize::new(0));
    thread::scope(|scope| {
        for person in 0..clients {
            let (client, recorded) = (&client, &recorded);
            scope.spawn(move || {
                let who = format!("person {person}");
                for k in 0.. {
                    if began.elapsed() > time {
                        break;
                    }
                    let row = json!({"values": {"a": person, "b": k, "c": 0.5}, "targets": ["a"]});
                    let key = format!("{person} {k}");
                    let headers = [("Idempotency-Key", key.as_str()), ("Seabed-Who", who.as_str())];
                    let body = json!({"rows": [row]}).to_string();
                    let send =
                        || client.send("POST", "/api/v1/campaigns/cells/results", &headers, body.as_bytes());
                    let answer = good(&send());
                    assert_eq!(answer["done"], 1, "{answer}");
                    recorded.fetch_add(1, Ordering::Relaxed);
                    // Now and then the answer gets lost.
                    if k % 5 == 0 {
                        assert_eq!(good(&send())["action"], answer["action"]);
                    }
                    if k % 7 == 0 {
                        good(&client.get("/api/v1/campaigns/cells"));
                    }
                }
            });
        }
    });
    let recorded = recorded.into_inner();
    assert!(recorded >= clients, "{recorded}");
    good(&client.post(&format!("/api/v1/jobs/{}/stop", job["id"].as_str().unwrap()), ""));
    let campaign = good(&client.get("/api/v1/campaigns/cells"));
    assert_eq!(campaign["rows"], 40 + recorded);
    let history = good(&client.get("/api/v1/campaigns/cells/history"));
    assert_eq!(history["actions"].as_array().unwrap().len(), 2 + recorded);
    // Killed, and not ended properly: what was answered is in the file.
    child.kill().unwrap();
    child.wait().unwrap();
    let check = Command::new(env!("CARGO_BIN_EXE_seabed"))
        .current_dir(folder.path())
        .args(["lab", "check", "cells.lab"])
        .output()
        .unwrap();
    assert!(check.status.success(), "{}", String::from_utf8_lossy(&check.stderr));
    let Server { mut child, client, .. } = started(folder.path(), &["cells.lab"]);
    assert_eq!(good(&client.get("/api/v1/campaigns/cells"))["rows"], 40 + recorded);
    child.kill().unwrap();
    child.wait().unwrap();
    println!("{clients} clients recorded {recorded} results in {:?}; lab check passes", began.elapsed());
}

#[test]
fn a_crowd_records_for_a_moment() {
    a_crowd_records(64, Duration::from_secs(3));
}

/// `cargo test -p seabed-cli --test serve -- --ignored --nocapture crowd`
#[test]
#[ignore = "a minute; what the ordinary one does, for longer"]
fn a_crowd_records_for_a_minute() {
    a_crowd_records(64, Duration::from_secs(60));
}

/// A second start is refused with the address of the first, for the file as for its folder; Ctrl-C ends the first cleanly.
#[test]
fn one_server_per_campaign() {
    let folder = tempfile::tempdir().unwrap();
    let Server { mut child, client, address } = started(folder.path(), &["cells.lab"]);
    with_data(&client);
    for place in ["cells.lab", "."] {
        let second = command(folder.path(), &[place]).output().unwrap();
        let message = String::from_utf8_lossy(&second.stderr).into_owned();
        assert_eq!(second.status.code(), Some(2), "{message}");
        assert!(message.contains(&address), "{message}");
    }
    // The command may be used meanwhile.
    let status = Command::new(env!("CARGO_BIN_EXE_seabed"))
        .current_dir(folder.path())
        .args(["lab", "status", "cells.lab"])
        .output()
        .unwrap();
    assert!(status.status.success(), "{}", String::from_utf8_lossy(&status.stderr));
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let ended = until("it ends", || child.try_wait().unwrap());
    assert!(ended.success(), "{ended}");
    let mut left: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    left.sort();
    assert_eq!(left, ["cells.lab"]);
    let Server { mut child, .. } = started(folder.path(), &["."]);
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn an_open_address_is_refused_without_a_password_and_a_proxy() {
    let folder = tempfile::tempdir().unwrap();
    let output =
        command(folder.path(), &["--address", "0.0.0.0"]).env_remove("SEABED_PASSWORD").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("needs a password and a reverse proxy"));
}
