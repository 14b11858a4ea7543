//! A server with nothing in its folder, and what people do with it first.

use std::fmt::Write;
use std::fs;
use std::path::PathBuf;

use seabed_serve::{Options, Running, start};
use seabed_testkit::browser::Browser;
use tempfile::TempDir;

/// Numbers that look random, the same in every run.
pub fn noise(seed: u64) -> impl FnMut() -> f64 {
    let mut state = seed;
    move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1_u64 << 53) as f64 - 0.5
    }
}

/// A table as Excel writes it in half of Europe: BOM, semicolons, decimal commas; and names that are no HTML.
pub fn table(rows: usize) -> String {
    let mut noise = noise(7);
    let mut text = String::from("\u{feff}sample;dose;<b>kinase</b>;growth;remark\r\n");
    for row in 1..=rows {
        let dose = 4.0 * noise();
        let kinase = 1.5 * dose + noise();
        let growth = -kinase + noise();
        let line = format!("{row};{dose:.4};{kinase:.4};{growth:.4};ok").replace('.', ",");
        writeln!(text, "{line}\r").unwrap();
    }
    text
}

/// A form with all that was to be measured filled in.
pub fn filled(form: &str) -> String {
    let mut noise = noise(11);
    let mut lines = form.trim_start_matches('\u{feff}').lines();
    let head = lines.next().unwrap();
    let place = |name: &str| head.split(',').position(|column| column == name).unwrap();
    let (dose, kinase, growth) = (place("dose"), place("<b>kinase</b>"), place("growth"));
    let mut text = format!("{head}\n");
    for line in lines {
        let mut cells: Vec<String> = line.split(',').map(str::to_string).collect();
        let value = |cell: &String, otherwise: f64| cell.parse().unwrap_or(otherwise);
        let given: f64 = value(&cells[dose], 4.0 * noise());
        let next: f64 = value(&cells[kinase], 1.5 * given + noise());
        let last: f64 = value(&cells[growth], noise() - next);
        for (at, number) in [(dose, given), (kinase, next), (growth, last)] {
            if cells[at].is_empty() {
                cells[at] = format!("{number:.3}");
            }
        }
        writeln!(text, "{}", cells.join(",")).unwrap();
    }
    text
}

/// A server with nothing in its folder, and a place for files.
pub struct Laboratory {
    pub folder: TempDir,
    pub server: Running,
}

impl Laboratory {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("campaigns")).unwrap();
        let server = start(&Options::new(folder.path().join("campaigns"))).unwrap();
        Self { folder, server }
    }

    pub fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        fs::write(&path, text).unwrap();
        path
    }

    pub fn open(&self, browser: &Browser) {
        browser.open(&self.server.address());
        browser.wait("document.querySelector('main h1') !== null");
    }

    /// From a table to a campaign, by hand.
    pub fn create(&self, browser: &Browser) {
        self.open(browser);
        browser.wait_for("Begin a campaign");
        browser.type_into("#who", "first <i>person</i>");
        browser.choose_file("#new-file", &self.file("zellen.csv", &table(60)));
        browser.wait_for("1. What is in the file");
        let text = browser.run("return document.querySelector('main').innerText");
        let text = text.as_str().unwrap();
        assert!(
            text.contains("60 rows") && text.contains("semicolon") && text.contains("<b>kinase</b>"),
            "{text}"
        );
        // The last variable cannot be set, and does not cause the first.
        let growth = browser.run(
            "return [...document.querySelectorAll('.columns tr')].findIndex((row) => row.querySelector('th')?.firstChild.data === 'growth') - 1",
        );
        browser.run(&format!(
            "const it = document.getElementById('intervene-{growth}'); if (it.checked) it.click()"
        ));
        browser.click("[aria-label^='growth → dose']");
        browser.wait(
            "document.querySelector(\"[aria-label='growth → dose: does not cause directly']\") !== null",
        );
        browser.click("#create");
        browser.wait("location.hash === '#/c/zellen/belief'");
        browser.wait_for("60 measurements");
    }

    /// Asks for two experiments of two replicates, and waits for them.
    pub fn propose(&self, browser: &Browser) {
        browser.click("#to-next");
        browser.wait("document.getElementById('propose') !== null");
        browser.run("document.querySelectorAll('#ask, #ask-more').forEach((it) => { it.open = true })");
        browser.run("const it = document.getElementById('ask-batch'); it.value = '2'; it.dispatchEvent(new Event('input'))");
        browser.select("#ask-posterior", "mcmc-linear");
        browser.click("#propose");
        browser.wait("document.querySelectorAll('.card .set').length === 2");
    }

    /// The second proposal.
    pub fn propose_again(&self, browser: &Browser) {
        browser.click("#to-next");
        browser.wait("document.getElementById('propose') !== null");
        browser.run("document.querySelectorAll('#ask, #ask-more').forEach((it) => { it.open = true })");
        browser.click("#propose");
        browser.wait("document.querySelector('main').textContent.includes('Proposal 2: 2 experiments')");
        // Not the one of which results were entered.
        browser.wait(
            "[...document.querySelectorAll('main h3')].some((head) => head.innerText === 'Proposal 2')",
        );
    }
}
