//! How long pages and robots wait for `seabed serve` beside a running fit: `cargo bench -p seabed-bench --bench serve_latency`, or
//! `-- VARIABLES ROWS SECONDS`; 200 variables, 10,000 rows and 60 seconds by default.
//!
//! A linear world with one edge a variable; what is believed is learned by the bootstrap with 100 draws, one batch is proposed,
//! and then a fit runs on both processors while four people look at everything, one after the other on each page, and another
//! records a result every second. Prints the median, the 95th percentile and the longest time by route, first while
//! nothing changes and then with the changes, and ends with an error if the 95th percentile of anything that is looked at is 100 ms
//! or more. Recording is printed too; it waits for the disk.

use std::fmt::Write;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

use seabed_bench::random_data;
use seabed_serve::{Options, start};
use seabed_testkit::http::{Client, Reply};
use serde_json::{Value, json};

/// What is to hold.
const BOUND: Duration = Duration::from_millis(100);

/// People who look at pages.
const PEOPLE: usize = 4;

fn good(reply: &Reply) -> Value {
    assert!((200..300).contains(&reply.status), "{} {}", reply.status, reply.text());
    serde_json::from_slice(&reply.body).unwrap_or_default()
}

fn ended(client: &Client, job: &Value) -> Value {
    let path = format!("/api/v1/jobs/{}", job["id"].as_str().expect("an id"));
    loop {
        let job = good(&client.get(&path));
        if !["waiting", "running"].contains(&job["state"].as_str().unwrap_or_default()) {
            assert_eq!(job["state"], "done", "{job}");
            return job;
        }
        sleep(Duration::from_millis(200));
    }
}

fn main() {
    let numbers: Vec<usize> = std::env::args().filter_map(|argument| argument.parse().ok()).collect();
    let number = |k: usize, usual: usize| numbers.get(k).copied().unwrap_or(usual);
    let (variables, rows, seconds) = (number(0, 200), number(1, 10_000), number(2, 60));
    let folder = tempfile::tempdir().expect("a temporary folder");
    let running = start(&Options::new(folder.path())).expect("a server");
    let client = Client::new(running.origin(), running.token());
    prepared(&client, variables, rows);

    // Long enough for everything that is measured.
    let fit =
        json!({"posterior": "dibs-linear", "settings": {"particles": 20, "steps": 100_000}, "force": true});
    let job = good(&client.post("/api/v1/campaigns/cells/fit", fit.to_string()));
    let job = format!("/api/v1/jobs/{}", job["id"].as_str().expect("an id"));
    while good(&client.get(&job))["state"] != "running" {
        sleep(Duration::from_millis(100));
    }
    let time = Duration::from_secs(seconds as u64);
    let quiet = measured("nothing changes", &client, time, false);
    let changing = measured("a result every second", &client, time, true);
    let state = good(&client.get(&job));
    assert_eq!(state["state"], "running", "the fit ended too soon: {state}");
    good(&client.post(&format!("{job}/stop"), ""));
    // What is worked out in the background is there in the end.
    let began = Instant::now();
    let status = good(&client.get("/api/v1/campaigns/cells/status?wait=600"));
    assert_eq!(status["working_out"], false);
    println!("after the last change everything was worked out within {:.1} s", began.elapsed().as_secs_f64());
    running.close().expect("a proper end");
    if !(quiet && changing) {
        println!("some 95th percentiles are {} ms or more", BOUND.as_millis());
        std::process::exit(1);
    }
}

/// A campaign with data, something learned, and a proposal.
fn prepared(client: &Client, variables: usize, rows: usize) {
    let (_, data) = random_data(true, variables, rows - rows / 10, rows / 10, 1);
    let list: Vec<Value> = data
        .names()
        .iter()
        .map(|name| json!({"name": name, "unit": "nM", "intervene": true, "bounds": [-10, 10]}))
        .collect();
    let new = json!({"name": "cells", "variables": list});
    good(&client.post("/api/v1/campaigns", new.to_string()));
    let mut table = data.names().join(",") + ",intervention_targets\n";
    for row in 0..data.rows() {
        data.columns().iter().for_each(|column| write!(table, "{:.6},", column[row]).expect("a text"));
        let targets: Vec<&str> = data.targets(row).iter().map(|node| data.names()[node].as_str()).collect();
        table += &targets.join(";");
        table.push('\n');
    }
    let clock = Instant::now();
    let past = |what: &str| println!("{what}: {:.1} s", clock.elapsed().as_secs_f64());
    good(&client.post("/api/v1/campaigns/cells/data?name=cells.csv", &table));
    past("added");
    let posterior = json!({"draws": 100});
    let fit = json!({"posterior": "bootstrap", "settings": posterior, "force": true});
    ended(client, &good(&client.post("/api/v1/campaigns/cells/fit", fit.to_string())));
    past("learned");
    let wish = json!({"posterior": "bootstrap", "batch": 5, "replicates": 20, "force": true,
        "settings": {"posterior": posterior, "design": {"samples": 10, "evaluations": 4}}});
    ended(client, &good(&client.post("/api/v1/campaigns/cells/proposals", wish.to_string())));
    past("proposed");
}

/// What the pages ask for, section by section, and what robots do.
fn routes(names: &[String]) -> Vec<String> {
    let at = |path: &str| format!("/api/v1/campaigns/cells{path}");
    let pair = format!("from={}&to={}", names[0], names[1]);
    let mut all: Vec<String> = ["/", "/app.js", "/style.css", "/graph.js"].map(String::from).to_vec();
    all.extend(["/api/v1/server", "/api/v1/campaigns", "/api/v1/jobs"].map(String::from));
    all.extend(
        [
            "",
            "/status",
            "/edges",
            "/checks",
            "/effects",
            "/proposals",
            "/proposals/1",
            "/experiments",
            "/data?offset=0&limit=100",
            "/data",
            "/history",
            "/proposals/1/form?format=csv",
            "/report",
        ]
        .map(at),
    );
    all.extend([at(&format!("/edges/history?{pair}")), at(&format!("/pair?{pair}"))]);
    all
}

/// Looks at everything for a while; is every 95th percentile below the bound?
fn measured(what: &str, client: &Client, time: Duration, changing: bool) -> bool {
    let data = good(&client.get("/api/v1/campaigns/cells/data?limit=1"));
    let names: Vec<String> = serde_json::from_value(data["names"].clone()).expect("names");
    let routes = routes(&names);
    let times: Mutex<Vec<(String, Duration)>> = Mutex::default();
    let (over, began) = (AtomicBool::new(false), Instant::now());
    let take = |name: &str, work: &dyn Fn() -> Reply| {
        let clock = Instant::now();
        let reply = work();
        let lasted = clock.elapsed();
        assert!((200..300).contains(&reply.status), "{name}: {} {}", reply.status, reply.text());
        times.lock().expect("a list").push((name.to_string(), lasted));
    };
    thread::scope(|scope| {
        if changing {
            scope.spawn(|| {
                let shown = good(&client.get("/api/v1/campaigns/cells/proposals/1"));
                let waiting = shown["rows"].as_array().expect("rows").iter().filter(|row| row["status"] == "");
                for row in waiting {
                    if over.load(Ordering::Relaxed) {
                        break;
                    }
                    let mut values = row["values"].clone();
                    let empty = values.as_object_mut().expect("values").values_mut().filter(|v| v.is_null());
                    empty.for_each(|value| *value = json!(0.25));
                    let result = json!({"experiment": row["experiment"], "replicate": row["replicate"], "values": values});
                    let body = json!({"rows": [result]}).to_string();
                    take("POST results", &|| client.post("/api/v1/campaigns/cells/results", &body));
                    sleep(Duration::from_secs(1));
                }
            });
        }
        let people: Vec<_> = (0..PEOPLE)
            .map(|person| {
                let (routes, take) = (&routes, &take);
                scope.spawn(move || {
                    for k in 0.. {
                        if began.elapsed() > time {
                            break;
                        }
                        let path = &routes[(k + person * 5) % routes.len()];
                        // A document must be right: it is waited for after a change, by who asks for it.
                        if changing && path.ends_with("/report") {
                            continue;
                        }
                        take(path, &|| client.get(path));
                        sleep(Duration::from_millis(50));
                    }
                })
            })
            .collect();
        people.into_iter().for_each(|person| person.join().expect("a person"));
        over.store(true, Ordering::Relaxed);
    });
    let times = times.into_inner().expect("a list");
    println!(
        "\n{what}: {} requests\n{:<60} {:>6} {:>9} {:>9} {:>9}",
        times.len(),
        "ms",
        "count",
        "median",
        "95 %",
        "longest"
    );
    let line = |name: &str, mut of: Vec<Duration>| {
        of.sort_unstable();
        let at = |share: f64| of[((of.len() as f64 * share).ceil() as usize).clamp(1, of.len()) - 1];
        let ms = |time: Duration| time.as_secs_f64() * 1e3;
        let name = name.trim_start_matches("/api/v1");
        println!(
            "{name:<60} {:>6} {:>9.1} {:>9.1} {:>9.1}",
            of.len(),
            ms(at(0.5)),
            ms(at(0.95)),
            ms(at(1.0))
        );
        at(0.95) < BOUND
    };
    let of = |route: &str| -> Vec<Duration> {
        times.iter().filter(|(name, _)| name == route).map(|(_, time)| *time).collect()
    };
    let mut held = true;
    for route in &routes {
        if times.iter().any(|(name, _)| name == route) {
            held &= line(route, of(route));
        }
    }
    if changing {
        // What is answered is on the disk: this is mostly the disk's time.
        line("POST results", of("POST results"));
    }
    line("all", times.iter().map(|(_, time)| *time).collect());
    held
}
