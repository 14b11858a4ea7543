//! A server over a temporary folder, a client, and a small campaign to talk about.
#![allow(dead_code)] // every test file uses some of it

use std::fmt::Write;
use std::thread::sleep;
use std::time::{Duration, Instant};

use seabed::num::random::{Purpose, Seed};
use seabed_serve::{Options, Running, start};
use seabed_testkit::http::{Client, Reply};
use serde_json::{Value, json};
use tempfile::TempDir;

pub struct Setting {
    pub folder: TempDir,
    pub running: Running,
    pub client: Client,
}

/// A server of an empty folder.
pub fn server() -> Setting {
    let folder = tempfile::tempdir().unwrap();
    let (running, client) = served(&folder);
    Setting { folder, running, client }
}

pub fn served(folder: &TempDir) -> (Running, Client) {
    let running = start(&Options::new(folder.path())).unwrap();
    let client = Client::new(running.origin(), running.token());
    (running, client)
}

/// A server with the campaign `cells`: a -> b -> c, all of which can be set, and 30 observations.
pub fn with_campaign() -> Setting {
    let setting = server();
    created(&setting.client, "cells");
    let added = setting.client.post("/api/v1/campaigns/cells/data?name=first.csv", observations(30, 1));
    assert_eq!(added.status, 200, "{}", added.text());
    setting
}

pub fn created(client: &Client, name: &str) -> Reply {
    let reply = client.post("/api/v1/campaigns", new_campaign(name).to_string());
    assert_eq!(reply.status, 201, "{}", reply.text());
    reply
}

pub fn new_campaign(name: &str) -> Value {
    let variable = |name: &str| json!({"name": name, "unit": "nM", "intervene": true, "bounds": [-3, 3]});
    json!({"name": name, "variables": [variable("a"), variable("b"), variable("c")],
           "knowledge": {"forbidden": [["c", "a"]]}})
}

/// A table of a -> b -> c.
pub fn observations(rows: usize, seed: u64) -> String {
    let mut draws = Seed::new(seed).stream(Purpose::Noise).draws();
    let mut text = String::from("a,b,c\n");
    for _ in 0..rows {
        let a = draws.normal();
        let b = 1.5 * a + 0.4 * draws.normal();
        let c = -b + 0.4 * draws.normal();
        writeln!(text, "{a:.6},{b:.6},{c:.6}").unwrap();
    }
    text
}

/// What a quick proposal asks for.
pub fn quick(batch: usize) -> Value {
    json!({"posterior": "bootstrap", "batch": batch,
           "settings": {"posterior": {"draws": 20}, "design": {"samples": 10, "evaluations": 4}}})
}

pub fn parsed(reply: &Reply) -> Value {
    serde_json::from_slice(&reply.body).unwrap_or_else(|error| panic!("{error}: {}", reply.text()))
}

/// The answer to a request that must be good.
#[track_caller]
pub fn good(reply: &Reply) -> Value {
    assert!((200..300).contains(&reply.status), "{} {}", reply.status, reply.text());
    parsed(reply)
}

/// The kind of error of a request that must be refused with this status.
#[track_caller]
pub fn refused(reply: &Reply, status: u16) -> String {
    assert_eq!(reply.status, status, "{}", reply.text());
    let error = &parsed(reply)["error"];
    assert!(error["message"].as_str().is_some_and(|message| !message.is_empty()), "{error}");
    error["kind"].as_str().unwrap().to_string()
}

/// Waits until a job is over.
pub fn ended(client: &Client, job: &Value) -> Value {
    let path = format!("/api/v1/jobs/{}", job["id"].as_str().unwrap());
    let began = Instant::now();
    loop {
        let job = good(&client.get(&path));
        if !["waiting", "running"].contains(&job["state"].as_str().unwrap()) {
            return job;
        }
        assert!(began.elapsed() < Duration::from_secs(120), "{job}");
        sleep(Duration::from_millis(20));
    }
}

/// Proposes, and waits for it: the number of the proposal.
pub fn proposed(client: &Client, campaign: &str, wish: &Value) -> i64 {
    let job = good(&client.post(&format!("/api/v1/campaigns/{campaign}/proposals"), wish.to_string()));
    let job = ended(client, &job);
    assert_eq!(job["state"], "done", "{job}");
    job["proposal"].as_i64().unwrap()
}
