//! `openapi.json` says what the server does: it names exactly its routes, and whatever is sent to them, wrong or right, gets
//! an answer that it describes, and never an error of the server.

mod common;

use common::*;
use seabed::num::random::{Draws, Purpose, Seed};
use seabed_serve::OPENAPI;
use serde_json::{Map, Value, json};

fn document() -> Value {
    serde_json::from_str(OPENAPI).unwrap()
}

#[test]
fn the_description_has_exactly_the_routes() {
    let document = document();
    let mut described: Vec<String> = document["paths"]
        .as_object()
        .unwrap()
        .iter()
        .flat_map(|(path, methods)| {
            methods.as_object().unwrap().keys().map(move |method| format!("{} {path}", method.to_uppercase()))
        })
        .collect();
    let mut routes = seabed_serve::routes();
    described.sort();
    routes.sort();
    assert_eq!(described, routes);
    // Every reference leads somewhere.
    for part in OPENAPI.split("\"$ref\": \"#").skip(1) {
        let pointer = part.split('"').next().unwrap();
        assert!(document.pointer(pointer).is_some(), "{pointer}");
    }
}

#[test]
fn a_thousand_requests_get_proper_answers() {
    random_requests(1000, 1);
}

#[test]
#[ignore = "minutes; what the ordinary one does, ten times as often"]
fn ten_thousand_requests_get_proper_answers() {
    random_requests(10_000, 2);
}

fn random_requests(count: u64, seed: u64) {
    let Setting { client, folder: _folder, running: _running } = with_campaign();
    proposed(&client, "cells", &quick(2));
    let document = document();
    let operations: Vec<(String, String, &Value)> = document["paths"]
        .as_object()
        .unwrap()
        .iter()
        .flat_map(|(path, methods)| {
            let methods = methods.as_object().unwrap();
            methods.iter().map(move |(method, operation)| (path.clone(), method.to_uppercase(), operation))
        })
        .filter(|(path, ..)| !path.ends_with("/events"))
        .collect();
    let (mut good, mut bad) = (0, 0);
    let mut asked = vec![0; operations.len()];
    for k in 0..count {
        let mut random =
            Random { draws: Seed::new(seed).stream(Purpose::Noise).at(k).draws(), document: &document };
        let chosen = random.below(operations.len());
        asked[chosen] += 1;
        let (path, method, operation) = &operations[chosen];
        let place = random.address(path, operation);
        let (body, content_type) = random.body(operation);
        let key = format!("key-{}", random.below(40));
        let mut headers = vec![("Content-Type", content_type)];
        if random.below(4) == 0 {
            headers.push(("Idempotency-Key", &key));
        }
        let reply = client.send(method, &place, &headers, &body);
        let what = || {
            format!(
                "request {k}: {method} {place} {}: {} {}",
                String::from_utf8_lossy(&body),
                reply.status,
                reply.text()
            )
        };
        if reply.status < 400 {
            good += 1;
            let described = &operation["responses"][reply.status.to_string()];
            assert!(!described.is_null(), "{}", what());
            let schema = &described["content"]["application/json"]["schema"];
            if !schema.is_null() {
                let answer = serde_json::from_slice(&reply.body).unwrap_or_else(|_| panic!("{}", what()));
                if let Err(problem) = fits(&answer, schema, &document) {
                    panic!("{problem}: {}", what());
                }
            }
        } else {
            bad += 1;
            assert!([400, 404, 405, 409, 413, 422].contains(&reply.status), "{}", what());
            let answer: Value = serde_json::from_slice(&reply.body).unwrap_or_else(|_| panic!("{}", what()));
            let schema = json!({"$ref": "#/components/schemas/Error"});
            if let Err(problem) = fits(&answer, &schema, &document) {
                panic!("{problem}: {}", what());
            }
        }
    }
    assert!(good > count / 10 && bad > count / 10, "{good} good, {bad} bad");
    // Every route, and often enough for its parameters to be right and wrong in many ways.
    assert!(asked.iter().all(|&times| times as u64 > count / 100), "{asked:?}");
    println!(
        "{good} requests were done, {bad} refused, none failed; each of {} routes at least {:?} times",
        asked.len(),
        asked.iter().min()
    );
    for job in common::good(&client.get("/api/v1/jobs"))["jobs"].as_array().unwrap() {
        assert!(!job.to_string().contains("a defect"), "{job}");
    }
}

/// Makes requests up from their description.
struct Random<'d> {
    draws: Draws,
    document: &'d Value,
}

/// Names that mean something, and such that do not.
const WORDS: [&str; 14] = [
    "cells",
    "a",
    "b",
    "c",
    "E001",
    "E002",
    "done",
    "failed",
    "",
    "\u{1f9a0}",
    "../x",
    "edge=a,b",
    "NA",
    "1e400",
];

impl Random<'_> {
    fn below(&mut self, count: usize) -> usize {
        self.draws.below(count)
    }

    fn word(&mut self) -> String {
        WORDS[self.below(WORDS.len())].to_string()
    }

    /// The address with its places and its query filled in.
    fn address(&mut self, path: &str, operation: &Value) -> String {
        let campaign = if self.below(10) > 0 { "cells".into() } else { encoded(&self.word()) };
        let number = self.below(3).to_string();
        let job = encoded(&self.word());
        let mut place =
            path.replace("{campaign}", &campaign).replace("{proposal}", &number).replace("{job}", &job);
        let mut sign = '?';
        for parameter in operation["parameters"].as_array().into_iter().flatten() {
            let wanted = parameter["required"] == true || self.below(3) == 0;
            if parameter["in"] != "query" || !wanted {
                continue;
            }
            let value = match self.value(&parameter["schema"], 0) {
                Value::String(text) => text,
                Value::Array(list) => {
                    list.first().map_or(String::new(), |first| first.as_str().unwrap_or("").into())
                }
                other => other.to_string(),
            };
            place += &format!("{sign}{}={}", parameter["name"].as_str().unwrap(), encoded(&value));
            sign = '&';
        }
        place
    }

    fn body(&mut self, operation: &Value) -> (Vec<u8>, &'static str) {
        let content = &operation["requestBody"]["content"];
        if !content["application/octet-stream"].is_null() {
            return (self.table().into_bytes(), "application/octet-stream");
        }
        let schema = &content["application/json"]["schema"];
        if schema.is_null() {
            return (Vec::new(), "application/json");
        }
        let body = self.value(schema, 0);
        let mut text = body.to_string().into_bytes();
        // Now and then broken on its way.
        if self.below(12) == 0 {
            let at = self.below(text.len());
            text[at] = self.below(256) as u8;
        }
        (text, "application/json")
    }

    fn table(&mut self) -> String {
        match self.below(6) {
            0 => self.word(),
            1 => "experiment,replicate,a,b,c,intervention_targets,status\nE001,1,0.5,0.25,1,,\n".into(),
            2 => format!("a;b;c\n1,5;2,5;{}\n", self.below(1000)),
            3 => "a,b,c\n1,2\n,,,,\n\"".into(),
            _ => {
                let rows = 1 + self.below(3);
                let cell = |random: &mut Self| {
                    if random.below(15) == 0 {
                        random.word()
                    } else {
                        format!("{:.3}", random.draws.normal())
                    }
                };
                let mut text = String::from("a,b,c\n");
                for _ in 0..rows {
                    text += &format!("{},{},{}\n", cell(self), cell(self), cell(self));
                }
                text
            }
        }
    }

    /// A value of a schema, mostly.
    fn value(&mut self, schema: &Value, depth: usize) -> Value {
        if self.below(25) == 0 {
            return match self.below(6) {
                0 => Value::Null,
                1 => json!(-1),
                2 => json!(1e300),
                3 => json!([[]]),
                4 => json!({"x": {}}),
                _ => json!("<script>"),
            };
        }
        if let Some(pointer) = schema["$ref"].as_str() {
            let schema = self.document.pointer(&pointer[1..]).unwrap();
            return self.value(schema, depth);
        }
        if let Some(choices) = schema["anyOf"].as_array() {
            let choice = &choices[self.below(choices.len())];
            return self.value(choice, depth);
        }
        if let Some(fixed) = schema.get("const") {
            return fixed.clone();
        }
        if let Some(names) = schema["enum"].as_array() {
            // Long fits would only keep the computer busy.
            let quick = names.iter().find(|name| **name == "bootstrap");
            return quick.cloned().unwrap_or_else(|| names[self.below(names.len())].clone());
        }
        let kinds: Vec<&str> = match &schema["type"] {
            Value::String(kind) => vec![kind],
            Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
            _ => vec!["string"],
        };
        match kinds[self.below(kinds.len())] {
            "null" => Value::Null,
            "boolean" => json!(self.below(2) == 0),
            "integer" => json!(self.below(5)),
            "number" => json!((self.draws.normal() * 100.0).round() / 100.0),
            "array" if depth < 5 => {
                let least = schema["minItems"].as_u64().unwrap_or(0) as usize;
                let most = schema["maxItems"].as_u64().unwrap_or(3).min(3) as usize;
                let count = least + self.below(most.saturating_sub(least) + 1);
                (0..count).map(|_| self.value(&schema["items"], depth + 1)).collect()
            }
            "object" if depth < 5 => self.object(schema, depth),
            "array" => json!([]),
            "object" => json!({}),
            _ => json!(self.word()),
        }
    }

    fn object(&mut self, schema: &Value, depth: usize) -> Value {
        let mut object = Map::new();
        let required: Vec<&str> =
            schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        for (name, inner) in schema["properties"].as_object().into_iter().flatten() {
            let wanted =
                if required.contains(&name.as_str()) { self.below(30) > 0 } else { self.below(2) == 0 };
            if wanted {
                let value = self.value(inner, depth + 1);
                object.insert(name.clone(), value);
            }
        }
        if schema["additionalProperties"].is_object() {
            for name in ["a", "b", "c"].into_iter().take(self.below(4)) {
                let value = self.value(&schema["additionalProperties"], depth + 1);
                object.insert(name.into(), value);
            }
        }
        // So that some proposals and campaigns come about.
        if schema["properties"].get("max_targets").is_some() && self.below(2) == 0 {
            return quick(1);
        }
        if schema["properties"].get("seed").is_some() && self.below(2) == 0 {
            return new_campaign(&format!("new {}", self.below(30)));
        }
        Value::Object(object)
    }
}

fn encoded(text: &str) -> String {
    text.bytes()
        .map(
            |byte| {
                if byte.is_ascii_alphanumeric() { (byte as char).to_string() } else { format!("%{byte:02X}") }
            },
        )
        .collect()
}

/// Does a value have the shape of a schema?
fn fits(value: &Value, schema: &Value, document: &Value) -> Result<(), String> {
    if let Some(pointer) = schema["$ref"].as_str() {
        return fits(value, document.pointer(&pointer[1..]).ok_or("a broken reference")?, document);
    }
    if let Some(choices) = schema["anyOf"].as_array() {
        let fit = choices.iter().any(|choice| fits(value, choice, document).is_ok());
        return if fit { Ok(()) } else { Err(format!("{value} fits none of the choices")) };
    }
    if let Some(names) = schema["enum"].as_array()
        && !names.contains(value)
    {
        return Err(format!("{value} is not one of {names:?}"));
    }
    let kind = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    let kinds: Vec<&str> = match &schema["type"] {
        Value::String(kind) => vec![kind],
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
        _ => return Ok(()),
    };
    if !(kinds.contains(&kind) || kind == "integer" && kinds.contains(&"number")) {
        return Err(format!("{value} is not of type {kinds:?}"));
    }
    for item in value.as_array().into_iter().flatten() {
        fits(item, &schema["items"], document)?;
    }
    if let Some(object) = value.as_object() {
        for name in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            if !object.contains_key(name) {
                return Err(format!("{name} is missing"));
            }
        }
        for (name, inner) in object {
            match (&schema["properties"][name], &schema["additionalProperties"]) {
                (Value::Null, Value::Object(_)) => fits(inner, &schema["additionalProperties"], document)?,
                (Value::Null, _) if schema["properties"].is_object() => {
                    return Err(format!("{name} is not described"));
                }
                (Value::Null, _) => {}
                (described, _) => {
                    fits(inner, described, document).map_err(|problem| format!("{name}: {problem}"))?
                }
            }
        }
    }
    Ok(())
}
