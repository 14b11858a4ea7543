//! The pictures of the guide, made from the real pages.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use seabed_testkit::browser::{Browser, Driver};

use crate::laboratory::{Laboratory, noise};

/// Writes the pictures of the guide anew: `cargo test -p seabed-serve --test browser -- --ignored pictures`, with chromedriver.
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
