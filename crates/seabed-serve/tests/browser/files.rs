//! Files that people send by mistake, or to do harm, and one that is as large as they come: each has an outcome that the page
//! tells, and the page goes on.

use std::fs;
use std::io::Write;
use std::path::Path;

use seabed_testkit::browser::{Browser, Driver};

use crate::laboratory::{Laboratory, noise};

/// More than a packed file may hold when it is unpacked.
const BOMB: usize = 500_000_000;

/// What the page says is wrong with a file.
fn refusal(browser: &Browser, field: &str, file: &Path) -> String {
    browser.run("document.querySelectorAll('.problem').forEach((it) => it.remove())");
    browser.choose_file(field, file);
    browser.wait("document.querySelector('.problem')?.innerText").as_str().unwrap().to_string()
}

/// Zeros, packed.
fn packed() -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    let block = vec![b'0'; 1_000_000];
    (0..BOMB / block.len()).for_each(|_| encoder.write_all(&block).unwrap());
    encoder.finish().unwrap()
}

/// A workbook whose sheet is almost nothing when it is packed.
fn workbook() -> Vec<u8> {
    let mut archive = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let options = zip::write::SimpleFileOptions::default();
    archive.start_file("xl/worksheets/sheet1.xml", options.large_file(true)).unwrap();
    let block = vec![b' '; 1_000_000];
    (0..BOMB / block.len()).for_each(|_| archive.write_all(&block).unwrap());
    archive.finish().unwrap().into_inner()
}

#[test]
fn strange_files_are_refused_in_words() {
    let Some(driver) = Driver::start() else { return };
    let laboratory = Laboratory::new();
    let page = "\u{feff}\n<!DOCTYPE html>\n<html><head><title>Sign in</title></head><body><script>document.title = 'mine'</script>\
                <table><tr><td>a</td><td>b</td></tr></table></body></html>\n";
    let page = laboratory.file("results.csv", page);
    let of_bytes = |name: &str, content: &[u8]| {
        let path = laboratory.folder.path().join(name);
        fs::write(&path, content).unwrap();
        path
    };
    let gzip = of_bytes("cells.csv.gz", &packed());
    let excel = of_bytes("cells.xlsx", &workbook());
    for bomb in [&gzip, &excel] {
        assert!(fs::metadata(bomb).unwrap().len() < 5_000_000, "it is small as it is sent");
    }
    let large = laboratory.folder.path().join("large.csv");
    fs::File::create(&large).unwrap().set_len(210_000_000).unwrap();
    let cases = [
        (&page, "web page (HTML)"),
        (&gzip, "too large when it is unpacked"),
        (&excel, "too large when it is unpacked"),
        (&large, "at most 200 MB"),
    ];

    let browser = driver.browser(1280, false);
    laboratory.open(&browser);
    browser.wait_for("Begin a campaign");
    for (file, words) in cases {
        let said = refusal(&browser, "#new-file", file);
        assert!(said.contains(words), "{}: {said}", file.display());
    }
    // Nothing is in the way of a proper file; then the same where measurements and forms are added.
    laboratory.create(&browser);
    for (section, field) in [("data", "#data-file"), ("results", "#form-file")] {
        browser.click(&format!("#to-{section}"));
        browser.wait(&format!("document.querySelector('{field}') !== null"));
        for (file, words) in cases {
            let said = refusal(&browser, field, file);
            assert!(said.contains(words), "{}: {said}", file.display());
        }
    }
    browser.wait_for("60 measurements");
    assert_eq!(browser.run("return document.title === 'mine'"), false);
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

/// A table of 100 MB becomes a campaign.
#[test]
fn a_table_of_a_hundred_megabytes() {
    let Some(driver) = Driver::start() else { return };
    let laboratory = Laboratory::new();
    let (columns, mut noise) = (20, noise(3));
    let names: Vec<String> = (1..=columns).map(|k| format!("gene{k}")).collect();
    let mut text = names.join(",") + "\n";
    let mut rows = 0;
    while text.len() < 100_000_000 {
        let cells: Vec<String> = (0..columns).map(|_| format!("{:.6}", 10.0 * noise())).collect();
        text += &cells.join(",");
        text.push('\n');
        rows += 1;
    }
    let browser = driver.browser(1280, false);
    laboratory.open(&browser);
    browser.wait_for("Begin a campaign");
    browser.choose_file("#new-file", &laboratory.file("genes.csv", &text));
    browser.wait_for(&format!("{rows} rows, {columns} columns"));
    browser.click("#create");
    browser.wait("location.hash === '#/c/genes/belief'");
    browser.wait_for(&format!("{rows} measurements"));
    // The page is of use meanwhile.
    browser.click("#to-data");
    browser.wait_for(&format!("of {rows}."));
}
