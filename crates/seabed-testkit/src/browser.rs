//! Chromium through chromedriver: WebDriver is JSON over HTTP, and this is as much of it as the tests need.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// What a page may take at most; learning on a busy computer included.
const PATIENCE: Duration = Duration::from_secs(180);

/// Keys.
pub const TAB: &str = "\u{e004}";
/// Keys.
pub const ENTER: &str = "\u{e007}";
/// Keys.
pub const ESCAPE: &str = "\u{e00c}";
/// Keys.
pub const DOWN: &str = "\u{e015}";

/// Says why a test is skipped; where `CI=true` it fails, for there a test that skips looks like one that passed.
pub fn notice_or_fail(why: &str) {
    let ci = std::env::var("CI").is_ok_and(|value| value == "true");
    assert!(!ci, "{why}, and CI=true");
    // Not by a macro whose output is kept from who runs the tests.
    let _ = writeln!(std::io::stderr(), "skipped: {why}");
}

/// A running chromedriver.
pub struct Driver {
    child: Child,
    port: u16,
}

impl Driver {
    /// `None`, with a notice, if there is none; where `CI=true` it must be there.
    pub fn start() -> Option<Driver> {
        let started =
            Command::new("chromedriver").arg("--port=0").stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
        let Ok(mut child) = started else {
            notice_or_fail("chromedriver is not installed (Debian: chromium-driver)");
            return None;
        };
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let port = lines.find_map(|line| {
            let line = line.ok()?;
            line.split_once("successfully on port ")?.1.trim_end_matches('.').parse().ok()
        });
        // Whoever stops reading must not stop it.
        std::thread::spawn(move || lines.for_each(drop));
        Some(Driver { child, port: port.expect("chromedriver says its port") })
    }

    /// A browser with nothing of the others: their cookies and storage are their own.
    pub fn browser(&self, width: usize, dark: bool) -> Browser {
        let arguments = [
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--no-first-run",
            "--disable-background-networking",
            "--hide-scrollbars",
            "--lang=en-GB",
        ];
        let wanted =
            json!({"goog:chromeOptions": {"args": arguments}, "goog:loggingPrefs": {"browser": "ALL"}});
        let session =
            request(self.port, "POST", "/session", &json!({"capabilities": {"alwaysMatch": wanted}}));
        let session = session["sessionId"].as_str().unwrap().to_string();
        let browser = Browser { port: self.port, session };
        browser.width(width, dark);
        browser
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A window with one page.
pub struct Browser {
    port: u16,
    session: String,
}

impl Drop for Browser {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.command("DELETE", "", &Value::Null);
        }
    }
}

impl Browser {
    fn command(&self, method: &str, path: &str, body: &Value) -> Value {
        request(self.port, method, &format!("/session/{}{path}", self.session), body)
    }

    fn devtools(&self, name: &str, parameters: Value) -> Value {
        self.command("POST", "/goog/cdp/execute", &json!({"cmd": name, "params": parameters}))
    }

    /// The width of the window, in pixels, and whether its reader prefers dark pages.
    pub fn width(&self, width: usize, dark: bool) {
        let size = json!({"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": false});
        self.devtools("Emulation.setDeviceMetricsOverride", size);
        let scheme = if dark { "dark" } else { "light" };
        let features = json!({"features": [{"name": "prefers-color-scheme", "value": scheme}]});
        self.devtools("Emulation.setEmulatedMedia", features);
    }

    /// Goes to an address.
    pub fn open(&self, address: &str) {
        self.command("POST", "/url", &json!({"url": address}));
    }

    /// Runs the body of a function in the page.
    pub fn run(&self, script: &str) -> Value {
        self.command("POST", "/execute/sync", &json!({"script": script, "args": []}))
    }

    /// As [`Browser::run`], for a script that calls its last argument when it is done.
    pub fn run_async(&self, script: &str) -> Value {
        self.command("POST", "/execute/async", &json!({"script": script, "args": []}))
    }

    /// Waits until an expression is true or a text, and gives it.
    pub fn wait(&self, expression: &str) -> Value {
        let begun = Instant::now();
        loop {
            let value = self.run(&format!("return ({expression})"));
            if value.as_bool().unwrap_or(!value.is_null() && value != "") {
                return value;
            }
            if begun.elapsed() > PATIENCE {
                let text = self.run("return location.hash + '\\n' + document.body.innerText");
                panic!("in vain: {expression}\non the page: {}", text.as_str().unwrap_or_default());
            }
            sleep(Duration::from_millis(100));
        }
    }

    /// Waits until the page says it.
    pub fn wait_for(&self, text: &str) {
        self.wait(&format!("document.body.innerText.includes({})", json!(text)));
    }

    /// Does something with an element as soon as it is there; again if the page was drawn anew in between.
    fn with_element(&self, selector: &str, action: &str, body: &Value) {
        let begun = Instant::now();
        let session = format!("/session/{}", self.session);
        loop {
            self.wait(&format!("document.querySelector({}) !== null", json!(selector)));
            let scroll = "document.querySelector(SELECTOR)?.scrollIntoView({block: 'center'})";
            self.run(&scroll.replace("SELECTOR", &json!(selector).to_string()));
            let wanted = json!({"using": "css selector", "value": selector});
            let done = asked(self.port, "POST", &format!("{session}/element"), &wanted).and_then(|found| {
                let id = found.as_object().and_then(|all| all.values().next()).and_then(Value::as_str);
                let element = id.unwrap_or_default();
                asked(self.port, "POST", &format!("{session}/element/{element}/{action}"), body)
            });
            match done {
                Ok(_) => return,
                Err(problem) if begun.elapsed() > PATIENCE => panic!("{selector}: {problem}"),
                Err(problem)
                    if ["stale element", "no such element"].iter().any(|known| problem.contains(known)) =>
                {
                    sleep(Duration::from_millis(100));
                }
                Err(problem) => panic!("{selector}: {problem}"),
            }
        }
    }

    /// Clicks.
    pub fn click(&self, selector: &str) {
        self.with_element(selector, "click", &json!({}));
    }

    /// Types into a field, or chooses a file in one for files.
    pub fn type_into(&self, selector: &str, text: &str) {
        self.with_element(selector, "value", &json!({"text": text}));
    }

    /// Chooses a file.
    pub fn choose_file(&self, selector: &str, file: &Path) {
        self.type_into(selector, file.to_str().unwrap());
    }

    /// Chooses in a list.
    pub fn select(&self, selector: &str, value: &str) {
        self.wait(&format!("document.querySelector({}) !== null", json!(selector)));
        self.run(&format!(
            "const it = document.querySelector({}); it.value = {}; it.dispatchEvent(new Event('change', {{bubbles: true}}))",
            json!(selector),
            json!(value)
        ));
    }

    /// Presses keys, wherever the focus is.
    pub fn press(&self, keys: &str) {
        let pressed = keys.chars().flat_map(|key| {
            [json!({"type": "keyDown", "value": key}), json!({"type": "keyUp", "value": key})]
        });
        let keyboard = json!({"type": "key", "id": "keyboard", "actions": pressed.collect::<Vec<_>>()});
        self.command("POST", "/actions", &json!({"actions": [keyboard]}));
    }

    /// Presses Tab until what has the focus fits the selector.
    pub fn tab_to(&self, selector: &str) {
        for _ in 0..300 {
            self.press(TAB);
            if self.run(&format!("return document.activeElement.matches({})", json!(selector))) == true {
                return;
            }
        }
        panic!("the Tab key does not come to {selector}");
    }

    /// Pastes a text into the field, as from a spreadsheet.
    pub fn paste(&self, selector: &str, text: &str) {
        self.wait(&format!("document.querySelector({}) !== null", json!(selector)));
        self.run(&format!(
            "const it = document.querySelector({}); it.focus(); const data = new DataTransfer(); data.setData('text', {});
             it.dispatchEvent(new ClipboardEvent('paste', {{clipboardData: data, bubbles: true, cancelable: true}}))",
            json!(selector),
            json!(text)
        ));
    }

    /// The text of a file of the server, as the page would download it.
    pub fn fetched(&self, address: &str) -> String {
        let script = format!(
            "const done = arguments[0]; fetch({}).then((answer) => answer.text()).then(done, (error) => done(String(error)))",
            json!(address)
        );
        self.run_async(&script).as_str().unwrap_or_default().to_string()
    }

    /// What the console says, but for answers that the page expects and shows.
    pub fn complaints(&self) -> Vec<String> {
        let log = self.command("POST", "/se/log", &json!({"type": "browser"}));
        let messages = log.as_array().into_iter().flatten().filter_map(|entry| entry["message"].as_str());
        messages.filter(|message| !message.contains("Failed to load resource")).map(str::to_string).collect()
    }

    /// The page from `top` on as a PNG, a little smaller.
    pub fn picture(&self, top: f64, width: usize, height: usize) -> Vec<u8> {
        let clip = json!({"x": 0, "y": top, "width": width, "height": height, "scale": 0.8});
        let wanted = json!({"format": "png", "captureBeyondViewport": true, "clip": clip});
        from_base64(self.devtools("Page.captureScreenshot", wanted)["data"].as_str().unwrap())
    }

    /// How far the page is wider than its window.
    pub fn overflow(&self) -> i64 {
        let script = "return document.documentElement.scrollWidth - document.documentElement.clientWidth";
        self.run(script).as_i64().unwrap_or(i64::MAX)
    }
}

/// One request to chromedriver, which must not refuse it.
fn request(port: u16, method: &str, path: &str, body: &Value) -> Value {
    asked(port, method, path, body).unwrap_or_else(|problem| panic!("{method} {path}: {problem}"))
}

/// One request to chromedriver, or why it refuses.
fn asked(port: u16, method: &str, path: &str, body: &Value) -> Result<Value, String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let body = if body.is_null() { String::new() } else { body.to_string() };
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all((head + &body).as_bytes()).unwrap();
    let mut reader = BufReader::new(stream);
    let mut length = 0;
    loop {
        let mut line = String::new();
        assert!(reader.read_line(&mut line).unwrap() > 0, "{method} {path}: the answer ended early");
        if line == "\r\n" {
            break;
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().unwrap();
        }
    }
    let mut text = vec![0; length];
    reader.read_exact(&mut text).unwrap();
    let answer: Value = serde_json::from_slice(&text).unwrap();
    let value = answer["value"].clone();
    if value["error"].is_null() {
        Ok(value)
    } else {
        Err(format!("{}: {}", value["error"], value["message"]))
    }
}

fn from_base64(text: &str) -> Vec<u8> {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digits: Vec<u32> = text
        .bytes()
        .filter_map(|byte| DIGITS.iter().position(|digit| *digit == byte))
        .map(|k| k as u32)
        .collect();
    let group = |four: &[u32]| {
        let number = (0..4).fold(0, |all, k| all << 6 | four.get(k).copied().unwrap_or(0));
        number.to_be_bytes()[1..four.len()].to_vec()
    };
    digits.chunks(4).flat_map(group).collect()
}
