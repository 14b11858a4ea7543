//! The pages in a real browser, from a table to the report: typed, dropped and pasted results, two people at once, a phone,
//! the keyboard alone.
//!
//! Skipped with a notice if chromedriver is not installed.

#[path = "browser/driver.rs"]
mod driver;

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use driver::{Browser, DOWN, Driver, ENTER, ESCAPE};
use seabed_serve::{Options, Running, start};
use serde_json::Value;
use tempfile::TempDir;

/// Numbers that look random, the same in every run.
fn noise(seed: u64) -> impl FnMut() -> f64 {
    let mut state = seed;
    move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1_u64 << 53) as f64 - 0.5
    }
}

/// A table as Excel writes it in half of Europe: BOM, semicolons, decimal commas; and names that are no HTML.
fn table(rows: usize) -> String {
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
fn filled(form: &str) -> String {
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
struct Laboratory {
    folder: TempDir,
    server: Running,
}

impl Laboratory {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("campaigns")).unwrap();
        let server = start(&Options::new(folder.path().join("campaigns"))).unwrap();
        Self { folder, server }
    }

    fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        fs::write(&path, text).unwrap();
        path
    }

    fn open(&self, browser: &Browser) {
        browser.open(&self.server.address());
        browser.wait("document.querySelector('main h1') !== null");
    }

    /// From a table to a campaign, by hand.
    fn create(&self, browser: &Browser) {
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
    fn propose(&self, browser: &Browser) {
        browser.click("#to-next");
        browser.wait("document.getElementById('propose') !== null");
        browser.run("document.querySelectorAll('#ask, #ask-more').forEach((it) => { it.open = true })");
        browser.run("const it = document.getElementById('ask-batch'); it.value = '2'; it.dispatchEvent(new Event('input'))");
        browser.select("#ask-posterior", "mcmc-linear");
        browser.click("#propose");
        browser.wait("document.querySelectorAll('.card .set').length === 2");
    }
}

const FORM: &str = "/api/v1/campaigns/zellen/proposals/1/form?format=csv";

#[test]
fn from_a_table_to_the_report() {
    let Some(driver) = Driver::start() else { return };
    let laboratory = Laboratory::new();
    let browser = driver.browser(1280, false);
    laboratory.create(&browser);
    laboratory.propose(&browser);
    let cards = browser.run("return document.querySelector('.cards').innerText");
    assert!(cards.as_str().unwrap().contains("Set "), "{cards}");
    assert!(browser.run("return document.querySelectorAll('#curves svg').length").as_u64() >= Some(1));

    // A wrong form is refused as a whole, and says where.
    let form = browser.fetched(FORM);
    let right = filled(&form);
    assert_eq!(right.lines().count(), 5, "{form}");
    let mut lines: Vec<String> = right.lines().map(str::to_string).collect();
    let (start, _) = lines[2].rsplit_once(',').unwrap();
    lines[2] = format!("{start},perhaps");
    browser.click("#to-results");
    browser.choose_file("#form-file", &laboratory.file("wrong.csv", &lines.join("\n")));
    browser.wait("document.querySelector('.problem')?.innerText.includes('perhaps')");
    browser.wait_for("4 results awaited");

    // The first half as a form, the other pasted with decimal commas, after a wrong cell.
    let half: Vec<&str> = right.lines().take(3).chain(form.lines().skip(3)).collect();
    browser.choose_file("#form-file", &laboratory.file("half.csv", &half.join("\n")));
    browser.wait("document.querySelectorAll('.sheet tr.recorded').length === 2");
    let open = "#p1 tbody tr:not(.recorded) input";
    browser.paste(open, "1,5\tnonsense\t2,5");
    browser.click("#p1-save");
    browser.wait("document.querySelector('#p1 [aria-invalid=true]')?.value === 'nonsense'");
    browser.wait("document.querySelector('#p1 .cell-problem').innerText.includes('nonsense')");
    let cells = |line: &str| line.split(',').skip(2).take(3).collect::<Vec<_>>().join("\t").replace('.', ",");
    let rest: Vec<String> = right.lines().skip(3).map(cells).collect();
    browser.paste(open, &rest.join("\n"));
    browser.wait_for("cells pasted");
    browser.click("#p1-save");
    browser.wait_for("All results of this proposal are in");

    // Corrected, undone, and who did it.
    browser.click("[id^='correct-']");
    browser.select("#fix-status", "failed");
    browser.type_into("#fix-note", "the <u>incubator</u> was off");
    browser.click("#fix-save");
    browser.wait("[...document.querySelectorAll('main td')].some((cell) => cell.innerText === 'failed')");
    browser.click("#to-history");
    browser.wait_for("the <u>incubator</u> was off");
    assert!(
        browser.run("return document.querySelector('main').innerText.includes('first <i>person</i>')")
            == true
    );
    browser.click("#undo");
    browser.click("#undo-yes");
    browser.wait("document.querySelectorAll('tr.undone').length === 1");

    // Learned anew, and what is believed.
    laboratory.propose_again(&browser);
    browser.click("#to-belief");
    browser.wait("document.querySelectorAll('.pair svg').length === 2");
    browser.wait("document.querySelector('[data-edge]') !== null");
    browser
        .run("document.querySelector('[data-edge]').dispatchEvent(new MouseEvent('click', {bubbles: true}))");
    browser.wait("document.querySelectorAll('dialog svg').length === 2");
    browser.press(ESCAPE);
    browser.wait("document.querySelector('dialog') === null");
    browser.click("#to-progress");
    browser.wait("document.querySelectorAll('.figures svg').length >= 1");
    browser.click("#to-data");
    browser.wait_for("of 64.");
    let backups = browser.fetched("/api/v1/campaigns/zellen/export");
    assert!(backups.starts_with("PK"), "a zip");
    browser.click("#to-report");
    let report = browser.wait("document.getElementById('open-report')?.href");
    assert_eq!(browser.complaints(), Vec::<String>::new());
    browser.open(report.as_str().unwrap());
    browser.wait("document.querySelectorAll('svg').length >= 2 && document.querySelector('h1').innerText.includes('zellen')");
    assert_eq!(browser.complaints(), Vec::<String>::new(), "the report");
}

impl Laboratory {
    /// The second proposal.
    fn propose_again(&self, browser: &Browser) {
        browser.click("#to-next");
        browser.wait("document.getElementById('propose') !== null");
        browser.run("document.querySelectorAll('#ask, #ask-more').forEach((it) => { it.open = true })");
        browser.click("#propose");
        browser.wait("document.querySelector('main').textContent.includes('Proposal 2: 2 experiments')");
    }
}

#[test]
fn two_people_a_phone_and_the_keyboard() {
    let Some(driver) = Driver::start() else { return };
    let laboratory = Laboratory::new();
    let first = driver.browser(1280, false);
    laboratory.create(&first);
    laboratory.propose(&first);

    // By the keyboard alone: from the list to a recorded result.
    let second = driver.browser(390, true);
    laboratory.open(&second);
    second.wait("document.querySelector('main a.title') !== null");
    second.tab_to("#who");
    second.press("second person");
    second.tab_to("main a.title");
    second.press(ENTER);
    second.wait("document.getElementById('to-results') !== null");
    second.tab_to("#to-results");
    second.press(ENTER);
    second.wait("document.getElementById('p1') !== null && document.activeElement.matches('h2')");
    first.click("#to-history");
    first.wait("document.querySelectorAll('main tbody tr').length === 3");
    second.tab_to("#p1 td:last-child input");
    second.press("failed");
    second.press(DOWN);
    second.press("fai");
    second.press("led");
    assert_eq!(second.run("return document.activeElement.value"), "failed");
    second.tab_to("#p1-save");
    second.press(ENTER);
    second.wait("document.querySelectorAll('#p1 tr.recorded').length === 2");
    // The other page shows it without being asked, and who did it.
    first.wait("document.querySelectorAll('main tbody tr').length === 4");
    assert_eq!(
        first.run("return document.querySelector('main tbody tr td:nth-child(3)').innerText"),
        "second person"
    );

    // An edge by the keyboard, and back to it.
    second.tab_to("#to-belief");
    second.press(ENTER);
    second.wait("document.querySelector('[data-edge]') !== null");
    second.tab_to("[data-edge]");
    let edge = second.run("return document.activeElement.dataset.edge");
    second.press(ENTER);
    second.wait("document.querySelectorAll('dialog svg').length === 2");
    second.press(ESCAPE);
    second.wait("document.querySelector('dialog') === null");
    assert_eq!(second.run("return document.activeElement.dataset.edge"), edge);

    // What somebody types stays while another records.
    first.click("#to-results");
    first.type_into("#p1 tbody tr:not(.recorded) input:not([value])", "0.25");
    let mine = first.run("return document.activeElement.id");
    second.click("#to-results");
    second.type_into("#p1 tbody tr:last-child td:last-child input", "failed");
    second.click("#p1-save");
    first.wait("document.querySelectorAll('#p1 tr.recorded').length === 3");
    assert_eq!(first.run("return document.activeElement.id"), mine);
    assert!(first.run("return document.activeElement.value").as_str().unwrap().contains("0.25"));

    // No section scrolls sideways on a phone, in light and in dark, and everything that can be used has a name.
    for dark in [false, true] {
        second.width(390, dark);
        for section in ["belief", "next", "results", "data", "progress", "history", "report"] {
            second.click(&format!("#to-{section}"));
            second.wait(&format!(
                "document.querySelector('h2.section')?.innerText === document.querySelector('#to-{section}').firstChild.data"
            ));
            second.run("document.querySelectorAll('details').forEach((it) => { it.open = true })");
            assert_eq!(second.overflow(), 0, "{section}");
            assert_eq!(second.run(NAMELESS), Value::Array(Vec::new()), "{section}");
            assert_eq!(second.run(FAINT), Value::Array(Vec::new()), "{section}, dark: {dark}");
        }
    }
    second.open(&format!("{}/#/new", laboratory.server.origin()));
    second.choose_file("#new-file", &laboratory.file("wide.csv", &table(30)));
    second.wait_for("1. What is in the file");
    assert_eq!(second.overflow(), 0);
    assert_eq!(second.run(NAMELESS), Value::Array(Vec::new()));
    for browser in [first, second] {
        assert_eq!(browser.complaints(), Vec::<String>::new());
    }
}

/// Writes the pictures of the guide anew: `cargo test -p seabed-serve --test browser -- --ignored`, with chromedriver.
#[test]
#[ignore = "writes the pictures of docs/guide/browser.md"]
fn pictures_for_the_guide() {
    let Some(driver) = Driver::start() else { return };
    let laboratory = Laboratory::new();
    let browser = driver.browser(WIDTH, false);
    laboratory.open(&browser);
    browser.type_into("#who", "the laboratory");
    browser.choose_file("#new-file", &laboratory.file("cells.csv", &cells(120)));
    browser.wait_for("3. What is known beforehand");
    for name in ["marker", "growth"] {
        browser.run(&format!("document.querySelector('[aria-label=\"{name}: can be set\"]').click()"));
    }
    browser.click("[aria-label='Mark the row: growth causes nothing directly']");
    save(&browser, "create", "[...document.querySelectorAll('main h2')][1]", 990);
    browser.click("#create");
    browser.wait("location.hash === '#/c/cells/belief'");
    laboratory.propose(&browser);
    save(&browser, "next", "document.querySelector('h3')", 900);
    browser.click("#to-results");
    browser.paste("#p1 tbody td:not(.given) input", "0,42\t1,37\n0,55\t1,2o");
    browser.click("#p1-save");
    browser.wait("document.querySelector('.cell-problem') !== null");
    save(&browser, "results", "document.querySelector('h2.section')", 520);
    browser.click("#to-belief");
    browser.wait("document.querySelectorAll('.pair svg').length === 2");
    save(&browser, "belief", "document.querySelector('h2.section')", 660);
}

const WIDTH: usize = 1000;

/// What is seen from an element on.
fn save(browser: &Browser, name: &str, from: &str, height: usize) {
    // What was said in passing is no part of the page.
    browser.run("document.getElementById('notice').classList.remove('shown'); document.activeElement.blur()");
    let top = browser.run(&format!("return {from}.getBoundingClientRect().top + scrollY - 12"));
    let picture = browser.picture(top.as_f64().unwrap(), WIDTH, height);
    assert!(picture.len() < 100_000, "{name}: {} bytes", picture.len());
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide/browser");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join(format!("{name}.png")), picture).unwrap();
}

/// The table of the guide: five variables, of which the dose comes first and growth last.
fn cells(rows: usize) -> String {
    let mut noise = noise(5);
    let mut text = String::from("sample;dose;kinase;factor;marker;growth\n");
    for row in 1..=rows {
        let dose = 3.0 * (noise() + 0.5);
        let kinase = 0.8 * dose + noise();
        let factor = 1.0 + 0.7 * kinase + noise();
        let marker = 0.9 * factor + noise();
        let growth = 4.0 - 0.6 * marker - 0.4 * kinase + noise();
        let line =
            format!("{row};{dose:.3};{kinase:.3};{factor:.3};{marker:.3};{growth:.3}").replace('.', ",");
        writeln!(text, "{line}").unwrap();
    }
    text
}

/// What can be used but has no name for a screen reader.
const NAMELESS: &str = "return [...document.querySelectorAll('button, a, input, select, [role=button], [tabindex=\"0\"]')]
    .filter((it) => it.checkVisibility?.() && !(it.innerText ?? it.textContent)?.trim() && !it.getAttribute('aria-label')
        && !it.labels?.length && !it.querySelector?.('title')).map((it) => it.outerHTML.slice(0, 120))";

/// Text with too little contrast to its background (WCAG: 4.5).
const FAINT: &str = "
    const light = (colour) => { const [r, g, b] = colour.match(/[\\d.]+/g).map((v) => v / 255).map((v) => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
    const below = (it) => { for (; it; it = it.parentElement) { const c = getComputedStyle(it).backgroundColor; if (!/, 0\\)$|transparent/.test(c)) return c; } return 'rgb(255, 255, 255)'; };
    return [...document.querySelectorAll('main *')].filter((it) => !it.closest('svg, [hidden], .hidden, select') && it.checkVisibility() && [...it.childNodes].some((node) => node.nodeType === 3 && node.data.trim()))
        .filter((it) => { const [a, b] = [light(getComputedStyle(it).color), light(below(it))]; return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05) < 4.5; })
        .map((it) => it.outerHTML.slice(0, 160))";
