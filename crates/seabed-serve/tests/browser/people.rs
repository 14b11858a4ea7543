//! Two people at once, one of them on a phone and by the keyboard alone.

use seabed_testkit::browser::{DOWN, Driver, ENTER, ESCAPE};
use serde_json::Value;

use crate::laboratory::{Laboratory, table};

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
