//! From a table to the report: proposals, a wrong form, pasted cells, corrected, undone.

use seabed_testkit::browser::{Driver, ESCAPE};

use crate::laboratory::{Laboratory, filled};

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
    browser.click("main a.button[href$='/results']");
    browser.choose_file("#form-file", &laboratory.file("wrong.csv", &lines.join("\n")));
    browser.wait("document.querySelector('.problem')?.innerText.includes('perhaps')");
    browser.wait_for("4 results awaited");

    // The first half as a form, the other pasted with decimal commas, after a wrong cell.
    let half: Vec<&str> = right.lines().take(3).chain(form.lines().skip(3)).collect();
    browser.choose_file("#form-file", &laboratory.file("<img src=x onerror=alert(1)>.csv", &half.join("\n")));
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
