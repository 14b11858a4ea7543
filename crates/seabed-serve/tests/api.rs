//! A campaign from its first table to the report, over HTTP.

mod common;

use std::io::Read;
use std::thread;
use std::time::Duration;

use common::*;
use seabed_lab::Lab;
use seabed_testkit::http::Client;
use serde_json::{Value, json};

fn at(path: &str) -> String {
    format!("/api/v1/campaigns/cells{path}")
}

/// Fills every row of a proposal in.
fn results(proposal: &Value) -> Value {
    let rows = proposal["rows"].as_array().unwrap().iter().enumerate().map(|(k, row)| {
        let mut values = row["values"].clone();
        for (name, value) in values.as_object_mut().unwrap() {
            if value.is_null() {
                *value = json!(0.25 * k as f64 + name.len() as f64 / 10.0);
            }
        }
        json!({"experiment": row["experiment"], "replicate": row["replicate"], "values": values})
    });
    json!({"rows": rows.collect::<Vec<_>>()})
}

#[test]
fn from_the_first_table_to_the_report() {
    let Setting { folder, running, client } = server();
    // An Excel of Germany wrote it.
    let table = "\u{feff}sample;a;b;c\r\nx1;1,5;2,25;-2\r\nx2;0,5;0,75;\r\nx3;-1;-1,5;1,5\r\n";
    let preview = good(&client.post("/api/v1/preview?name=..%2F..%2Fdata.csv", table));
    assert_eq!(preview["file"], "data.csv");
    assert_eq!((&preview["rows"], &preview["is_form"]), (&json!(3), &json!(false)));
    assert!(preview["notes"].to_string().contains("semicolon"), "{preview}");
    let kinds: Vec<&str> = preview["columns"]
        .as_array()
        .unwrap()
        .iter()
        .map(|column| column["kind"].as_str().unwrap())
        .collect();
    assert_eq!(kinds, ["text", "variable", "variable", "variable"]);
    assert_eq!(preview["columns"][3]["missing"], 1);
    assert_eq!(preview["columns"][1]["draft"]["bounds"], json!([-1.0, 1.5]));

    assert_eq!(good(&client.get("/api/v1/campaigns"))["campaigns"], json!([]));
    let mut wanted = new_campaign("Cells");
    wanted["ignore"] = json!(["sample"]);
    let who = [("Seabed-Who", "Zo%C3%AB")];
    let created = client.send("POST", "/api/v1/campaigns", &who, wanted.to_string().as_bytes());
    assert_eq!(good(&created), json!({"id": "cells"}));
    assert_eq!(refused(&client.post("/api/v1/campaigns", wanted.to_string()), 409), "exists");
    assert_eq!(refused(&client.post(&at("/proposals"), quick(2).to_string()), 422), "no-data");
    assert_eq!(refused(&client.get(&at("/report")), 409), "nothing-learned");

    let added = good(&client.post(&at("/data?name=data.csv"), table));
    assert_eq!((&added["rows"], &added["incomplete"]), (&json!(3), &json!(1)));
    assert_eq!(refused(&client.post(&at("/data?name=data.csv"), table), 409), "added-before");
    let more = observations(30, 1);
    assert_eq!(good(&client.post(&at("/data?name=more.csv"), &more))["rows"], 30);
    let grown = more.clone() + "7,8,9\n";
    assert_eq!(refused(&client.post(&at("/data"), &grown), 409), "known-rows");
    assert_eq!(good(&client.post(&at("/data?new=true"), &grown))["known"], 30);
    let history = good(&client.get(&at("/history")));
    assert_eq!(history["actions"][0]["who"], "Zoë");

    // Learning first, then a batch.
    let fit = json!({"posterior": "bootstrap", "settings": {"draws": 20}});
    let job = ended(&client, &good(&client.post(&at("/fit"), fit.to_string())));
    assert_eq!(job["state"], "done", "{job}");
    let edges = good(&client.get(&at("/edges")));
    assert_eq!((&edges["fresh"], &edges["probabilities"][2][0]), (&json!(true), &json!(0.0)), "{edges}");
    let number = proposed(&client, "cells", &quick(3));
    let proposal = good(&client.get(&at(&format!("/proposals/{number}"))));
    assert_eq!(proposal["batch"].as_array().unwrap().len(), 3);
    assert!(proposal["curves"][0]["points"].as_array().unwrap().len() > 1);
    assert_eq!(good(&client.get(&at("/status")))["pending"].as_array().unwrap().len(), 3);

    let form = client.get(&at(&format!("/proposals/{number}/form")));
    assert_eq!(form.header("content-disposition"), "attachment; filename=\"cells-batch-0001.csv\"");
    assert!(form.text().starts_with("experiment,replicate,a,b,c,intervention_targets,status\nE001,1,"));
    assert!(client.get(&at(&format!("/proposals/{number}/form?format=xlsx"))).body.starts_with(b"PK"));

    // One cell wrong: nothing is recorded, and the error says where.
    let mut filled = results(&proposal);
    let free = |row: &Value| {
        let set = row["targets"][0].as_str().unwrap().to_string();
        ["a", "b", "c"].into_iter().find(|name| *name != set).unwrap()
    };
    let wrong = free(&proposal["rows"][1]);
    filled["rows"][1]["values"][wrong] = json!("1,7x");
    let reply = client.post(&at("/results"), filled.to_string());
    assert_eq!(refused(&reply, 422), "invalid");
    let cells = &parsed(&reply)["error"]["cells"];
    assert_eq!((&cells[0]["row"], &cells[0]["column"]), (&json!(2), &json!(wrong)), "{cells}");
    assert!(cells[0]["message"].as_str().unwrap().contains("is not a number"), "{cells}");
    filled["rows"][1]["values"][wrong] = json!(0.5);
    let last = filled["rows"].as_array_mut().unwrap().pop().unwrap();
    assert_eq!(good(&client.post(&at("/results"), filled.to_string()))["done"], 2);
    let again = good(&client.post(&at("/results"), filled.to_string()));
    assert_eq!((&again["action"], &again["known"]), (&json!(null), &json!(2)));

    // A contradiction is refused, a correction is not; it can be undone once.
    filled["rows"][1]["values"][wrong] = json!(0.75);
    assert_eq!(refused(&client.post(&at("/results"), filled.to_string()), 422), "invalid");
    let correction = json!({"experiment": "E002", "values": {wrong: 0.75}, "note": "misread"});
    let action = good(&client.post(&at("/amend"), correction.to_string()))["action"].as_i64().unwrap();
    let undo = json!({"action": action}).to_string();
    assert_eq!(good(&client.post(&at("/undo"), &undo))["action"]["id"], action);
    assert_eq!(good(&client.post(&at("/undo"), &undo))["repeated"], true);
    assert_eq!(refused(&client.post(&at("/undo"), json!({"action": 1}).to_string()), 409), "not-the-last");

    // The last one is given up.
    let abandoned = json!({"experiments": [last["experiment"]], "note": "contaminated"});
    assert_eq!(good(&client.post(&at("/abandon"), abandoned.to_string()))["failed"], 1);
    let status = good(&client.get(&at("/status")));
    assert_eq!((&status["pending"], &status["not_yet_learned"]), (&json!([]), &json!(true)));
    assert!(status["rounds"][0].get("wrong_edges").is_some());

    let job = ended(&client, &good(&client.post(&at("/fit"), "{}")));
    assert_eq!(job["state"], "done", "{job}");
    assert_eq!(good(&client.get(&at("/status")))["not_yet_learned"], false);
    let edge = good(&client.get(&at("/edges/history?from=a&to=b")));
    assert_eq!(edge["rounds"].as_array().unwrap().len(), 2);
    let pair = good(&client.get(&at("/pair?from=a&to=b")));
    assert_eq!(pair["points"].as_array().unwrap().len(), 36);
    for path in ["", "/effects", "/checks", "/experiments", "/proposals", "/data?limit=5"] {
        good(&client.get(&at(path)));
    }
    let report = client.get(&at("/report"));
    assert!(report.status == 200 && report.text().contains("<svg"));
    assert!(client.get(&at("/export")).body.starts_with(b"PK"));
    assert!(client.get(&at("/backup")).body.starts_with(b"SQLite format 3\0"));

    running.close().unwrap();
    let lab = Lab::open(&folder.path().join("cells.lab"), Duration::from_secs(30)).unwrap();
    assert_eq!(lab.check().unwrap(), Vec::<String>::new());
    let left: Vec<_> = std::fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert!(!left.iter().any(|name| name.to_string_lossy().contains("serve")), "{left:?}");
}

/// A filled form comes back as a file, with semicolons and decimal commas.
#[test]
fn a_form_is_dropped() {
    let Setting { client, folder: _folder, running: _running } = with_campaign();
    let number = proposed(&client, "cells", &quick(2));
    let form = client.get(&at(&format!("/proposals/{number}/form"))).text();
    let mut lines = form.lines();
    let mut filled = lines.next().unwrap().replace(',', ";") + "\n";
    for line in lines {
        let cells: Vec<String> = line
            .split(',')
            .map(|cell| if cell.is_empty() { "0,5".into() } else { cell.replace('.', ",") })
            .collect();
        // The status stays empty.
        filled += &(cells[..cells.len() - 1].join(";") + ";\n");
    }
    let wrong = filled.replace("0,5", "much");
    let reply = client.post(&at("/forms?name=form.csv"), &wrong);
    assert_eq!(refused(&reply, 422), "invalid");
    assert_eq!(parsed(&reply)["error"]["cells"].as_array().unwrap().len(), 2, "{}", reply.text());
    let recorded = good(&client.post(&at("/forms?name=form.csv"), &filled));
    assert_eq!(recorded["done"], 2, "{recorded}");
    assert!(recorded["notes"].to_string().contains("semicolon"), "{recorded}");
}

/// A request that is repeated after a lost answer changes nothing twice, also with another process.
#[test]
fn keys_make_requests_safe_to_repeat() {
    let Setting { folder, running, client } = with_campaign();
    let keyed = |client: &Client, path: &str, key: &str, body: &str| {
        client.send("POST", path, &[("Idempotency-Key", key), ("Seabed-Who", "robot")], body.as_bytes())
    };
    let row =
        json!({"rows": [{"values": {"a": 1, "b": 2, "c": 3}, "targets": ["a"]}], "again": true}).to_string();
    let first = good(&keyed(&client, &at("/results"), "one", &row));
    assert_eq!(first["extra"], json!(["E001"]));
    assert_eq!(good(&keyed(&client, &at("/results"), "one", &row)), first);
    let other = row.replace('3', "4");
    assert_eq!(refused(&keyed(&client, &at("/results"), "one", &other), 422), "key-reused");
    assert_eq!(good(&keyed(&client, &at("/results"), "two", &row))["extra"], json!(["E002"]));
    let wish = quick(1).to_string();
    let job = good(&keyed(&client, &at("/proposals"), "three", &wish));
    assert_eq!(good(&keyed(&client, &at("/proposals"), "three", &wish))["id"], job["id"]);
    let number = ended(&client, &job)["proposal"].clone();
    let created = new_campaign("other").to_string();
    good(&keyed(&client, "/api/v1/campaigns", "four", &created));
    assert_eq!(good(&keyed(&client, "/api/v1/campaigns", "four", &created)), json!({"id": "other"}));
    running.close().unwrap();

    let (_running, client) = served(&folder);
    let again = good(&keyed(&client, &at("/results"), "one", &row));
    assert_eq!((&again["repeated"], &again["action"]), (&json!(true), &first["action"]));
    assert_eq!(refused(&keyed(&client, &at("/results"), "two", &other), 422), "key-reused");
    let job = good(&keyed(&client, &at("/proposals"), "three", &wish));
    assert_eq!((&job["state"], &job["proposal"]), (&json!("done"), &number));
    assert_eq!(good(&keyed(&client, "/api/v1/campaigns", "four", &created))["repeated"], true);
    assert_eq!(refused(&keyed(&client, "/api/v1/campaigns", "five", &created), 409), "exists");
    assert_eq!(good(&client.get(&at("/proposals")))["proposals"].as_array().unwrap().len(), 1);
    assert_eq!(good(&client.get(&at("/history")))["actions"].as_array().unwrap().len(), 5);
}

/// Many record at once while a fit runs: nothing is lost, and the history says who it was.
#[test]
fn several_people_at_once() {
    let Setting { folder, running, client } = with_campaign();
    let fit = json!({"posterior": "mcmc-linear"}).to_string();
    let job = good(&client.post(&at("/fit"), &fit));
    let same = good(&client.post(&at("/fit"), &fit));
    assert!(same["id"] == job["id"] || same["state"] != "running", "one fit is enough");
    thread::scope(|scope| {
        for k in 0..8 {
            let client = client.clone();
            scope.spawn(move || {
                for round in 0..4 {
                    let value = f64::from(k) + f64::from(round) / 10.0;
                    let body = json!({"rows": [{"values": {"a": value, "b": 0, "c": 0}, "targets": ["a"]}]});
                    let who = format!("person {k}").replace(' ', "%20");
                    let headers = [("Seabed-Who", who.as_str())];
                    let path = at("/results");
                    good(&client.send("POST", &path, &headers, body.to_string().as_bytes()));
                    good(&client.get(&at("")));
                }
            });
        }
    });
    ended(&client, &job);
    let history = good(&client.get(&at("/history")));
    for k in 0..8 {
        let who = json!(format!("person {k}"));
        assert_eq!(history["actions"].as_array().unwrap().iter().filter(|a| a["who"] == who).count(), 4);
    }
    assert_eq!(good(&client.get(&at("")))["rows"], 30 + 32);
    running.close().unwrap();
    let lab = Lab::open(&folder.path().join("cells.lab"), Duration::from_secs(30)).unwrap();
    assert_eq!(lab.check().unwrap(), Vec::<String>::new());
}

/// Who listens is told about jobs and changes, whoever makes them.
#[test]
fn events_are_told() {
    let Setting { folder, running: _running, client } = with_campaign();
    let mut stream = client.open("GET", "/api/v1/events", &[], None);
    let mut heard = String::new();
    let mut until = |what: &str| {
        let mut buffer = [0; 4096];
        while !heard.contains(what) {
            let count = stream.read(&mut buffer).expect("the stream goes on");
            assert!(count > 0, "{heard}");
            heard += &String::from_utf8_lossy(&buffer[..count]);
        }
        heard.clear();
    };
    until(": seabed");
    good(&client.post(&at("/data"), observations(3, 7)));
    until("\"type\":\"campaign\"");
    let job = good(&client.post(&at("/fit"), json!({"posterior": "bootstrap"}).to_string()));
    until(&format!("\"id\":{}", job["id"]));
    until("\"state\":\"done\"");
    // Another program.
    let mut lab = Lab::open(&folder.path().join("cells.lab"), Duration::from_secs(30)).unwrap();
    lab.record("other.csv", b"a,b,c\n1,2,3\n", false, false, "").unwrap();
    until("\"type\":\"campaign\"");
}

/// A job is stopped when somebody asks for it, and the same request continues.
#[test]
fn jobs_are_stopped() {
    let Setting { client, folder: _folder, running: _running } = with_campaign();
    let long =
        json!({"posterior": "dibs-nonlinear", "settings": {"particles": 30, "steps": 100000}, "force": true});
    let job = good(&client.post(&at("/fit"), long.to_string()));
    let waiting = good(&client.post(&at("/proposals"), quick(1).to_string()));
    assert_eq!(good(&client.get(&at("")))["jobs"].as_array().unwrap().len(), 2);
    let stop = |job: &Value| client.post(&format!("/api/v1/jobs/{}/stop", job["id"].as_str().unwrap()), "");
    assert_eq!(good(&stop(&waiting))["state"], "stopped");
    good(&stop(&job));
    assert_eq!(ended(&client, &job)["state"], "stopped");
    assert_eq!(refused(&client.post("/api/v1/jobs/none/stop", ""), 404), "not-found");
    assert_eq!(good(&client.get("/api/v1/jobs"))["jobs"].as_array().unwrap().len(), 2);
}
