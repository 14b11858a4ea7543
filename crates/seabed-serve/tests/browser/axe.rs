//! axe-core looks at every page of the journey, in light and in dark, and finds nothing serious.
//!
//! `npm install axe-core` somewhere, and `SEABED_AXE` is the path of its `axe.min.js`; `.ci/run` does so. Without it the test is
//! skipped with a notice, but fails where `CI=true`.

use std::fs;

use seabed_serve::{Options, start};
use seabed_testkit::browser::{Browser, Driver, ESCAPE, notice_or_fail};
use serde_json::Value;

use crate::laboratory::{Laboratory, filled};

/// Tells what is wrong with the page, as far as it is serious.
const LOOK: &str = "
    const done = arguments[0];
    axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) => done(violations
        .filter(({ impact }) => impact === 'serious' || impact === 'critical')
        .flatMap(({ id, help, nodes }) => nodes.map((node) => `${id}: ${help}: ${node.html.slice(0, 200)}`))),
        (error) => done([String(error)]));";

struct Looker<'b> {
    browser: &'b Browser,
    axe: String,
    pages: usize,
}

impl Looker<'_> {
    /// Looks at the page as it is, in light and in dark.
    fn look(&mut self, what: &str) {
        self.browser.run("document.querySelectorAll('details').forEach((it) => { it.open = true })");
        self.browser.run(&self.axe);
        for dark in [false, true] {
            self.browser.width(1280, dark);
            let found = self.browser.run_async(LOOK);
            assert_eq!(found, Value::Array(Vec::new()), "{what}, dark: {dark}");
            self.pages += 1;
        }
    }
}

#[test]
fn axe_finds_nothing_serious() {
    let Some(driver) = Driver::start() else { return };
    let Some(axe) = std::env::var_os("SEABED_AXE") else {
        return notice_or_fail("SEABED_AXE does not name the axe.min.js of axe-core");
    };
    let axe = fs::read_to_string(&axe).unwrap_or_else(|error| panic!("{}: {error}", axe.display()));
    // It declares itself as a module of Node's where it can; here it is to be a part of the window.
    let axe = format!("{axe}; window.axe = axe;");
    let laboratory = Laboratory::new();
    let browser = driver.browser(1280, false);
    let mut looker = Looker { browser: &browser, axe, pages: 0 };

    laboratory.open(&browser);
    browser.wait_for("Begin a campaign");
    looker.look("a new campaign");
    browser.choose_file("#new-file", &laboratory.file("cells.csv", &crate::laboratory::table(30)));
    browser.wait_for("3. What is known beforehand");
    browser.click("[aria-label^='growth → dose']");
    looker.look("a new campaign with a file");
    browser.choose_file("#new-file", &laboratory.file("wrong.csv", "<html></html>"));
    browser.wait("document.querySelector('.problem') !== null");
    looker.look("a file that cannot be read");

    laboratory.create(&browser);
    let sections = ["belief", "next", "results", "data", "progress", "history", "report"];
    let all_sections = |looker: &mut Looker<'_>, when: &str| {
        for section in sections {
            browser.click(&format!("#to-{section}"));
            browser.wait(&format!(
                "document.querySelector('h2.section')?.innerText === document.querySelector('#to-{section}').firstChild.data"
            ));
            looker.look(&format!("{section} {when}"));
        }
    };
    all_sections(&mut looker, "before anything was learned");
    laboratory.propose(&browser);
    let form = browser.fetched("/api/v1/campaigns/zellen/proposals/1/form?format=csv");
    browser.click("#to-results");
    browser.paste("#p1 tbody td:not(.given) input", "nonsense\t1");
    browser.click("#p1-save");
    browser.wait("document.querySelector('.cell-problem') !== null");
    looker.look("a wrong cell");
    browser.choose_file("#form-file", &laboratory.file("form.csv", &filled(&form)));
    browser.wait_for("All results of this proposal are in");
    browser.click("[id^='correct-']");
    browser.wait("document.querySelector('dialog') !== null");
    looker.look("a correction");
    browser.press(ESCAPE);
    browser.wait("document.querySelector('dialog') === null");
    laboratory.propose_again(&browser);
    all_sections(&mut looker, "after two proposals");
    browser.click("#to-belief");
    browser.wait("document.querySelector('[data-edge]') !== null");
    browser
        .run("document.querySelector('[data-edge]').dispatchEvent(new MouseEvent('click', {bubbles: true}))");
    browser.wait("document.querySelectorAll('dialog svg').length === 2");
    looker.look("an edge");
    browser.press(ESCAPE);
    browser.click("#to-history");
    browser.click("#undo");
    browser.wait("document.querySelector('dialog') !== null");
    looker.look("before something is undone");
    browser.press(ESCAPE);
    browser.open(&format!("{}/#/", laboratory.server.origin()));
    browser.wait("document.querySelector('main a.title') !== null");
    looker.look("the campaigns");
    browser.open(&format!("{}/api/v1/campaigns/zellen/report", laboratory.server.origin()));
    browser.wait("document.querySelectorAll('svg').length >= 2");
    looker.look("the report");
    browser.open(&format!("{}/?token=wrong", laboratory.server.origin()));
    looker.look("without the token");
    let folder = tempfile::tempdir().unwrap();
    let password = Some("correct horse".to_string());
    let server = start(&Options { password, ..Options::new(folder.path()) }).unwrap();
    browser.open(server.origin());
    browser.wait("document.querySelector('[type=password]') !== null");
    looker.look("the password");
    assert_eq!(looker.pages, 2 * 25);
}
