//! The pages in a real browser: no console messages, nothing loaded, no empty figures, text inside its figure, legends
//! beside the plots, no sideways scrolling on a phone, readable in light and dark.
//!
//! Skipped with a notice if Chromium is not installed. A page is loaded unchanged into a frame of the given width, and
//! the page around the frame measures it.

mod common;

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Command;

use seabed_report::{Section, page, run_figures, study_figures, study_html};
use serde_json::Value;

const BROWSERS: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

fn browser() -> Option<&'static str> {
    let answers =
        |name: &&str| Command::new(name).arg("--version").output().is_ok_and(|out| out.status.success());
    let found = BROWSERS.into_iter().find(answers);
    if found.is_none() {
        // Not by a macro whose output is kept from who runs the tests.
        let _ = writeln!(std::io::stderr(), "skipped: none of {} is installed", BROWSERS.join(", "));
    }
    found
}

/// The document after loading, and the console messages.
fn load(browser: &str, file: &Path, dark: bool) -> (String, Vec<String>) {
    let profile = tempfile::tempdir().unwrap();
    let output = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"])
        .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
        .args([
            "--disable-dev-shm-usage",
            "--window-size=1400,1000",
            "--enable-logging=stderr",
            "--v=0",
            "--timeout=120000",
        ])
        .arg(format!("--blink-settings=preferredColorScheme={}", if dark { 0 } else { 1 }))
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .arg("--dump-dom")
        .arg(format!("file://{}", file.display()))
        .output()
        .unwrap();
    assert!(output.status.success(), "{browser}: {}", String::from_utf8_lossy(&output.stderr));
    let log = String::from_utf8_lossy(&output.stderr);
    let messages = log.lines().filter(|line| line.contains(":CONSOLE")).map(str::to_string).collect();
    (String::from_utf8_lossy(&output.stdout).into_owned(), messages)
}

/// Measures the page in a frame and writes what it found into the document.
const MEASURE: &str = r#"
function luminance(colour) {
  const parts = colour.match(/[\d.]+/g).slice(0, 3).map(v => v / 255);
  const [r, g, b] = parts.map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}
function contrast(a, b) {
  const [x, y] = [luminance(a), luminance(b)];
  return (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05);
}
addEventListener('load', () => {
  const page = document.querySelector('iframe').contentDocument;
  const style = element => page.defaultView.getComputedStyle(element);
  const paper = style(page.body).backgroundColor;
  const figures = [...page.querySelectorAll('svg[role=img]')].map(svg => {
    const box = svg.getBoundingClientRect();
    const outside = [...svg.querySelectorAll('text')].filter(text => {
      const t = text.getBoundingClientRect();
      return t.left < box.left - 0.5 || t.right > box.right + 0.5 || t.top < box.top - 0.5 || t.bottom > box.bottom + 0.5;
    }).map(text => text.textContent);
    const plot = svg.querySelector('.plot').getBoundingClientRect();
    const legends = [...svg.querySelectorAll('.legend')].map(g => g.getBoundingClientRect());
    const faint = [...svg.querySelectorAll('text')].filter(text => contrast(style(text).fill, paper) < 4.5);
    const sizes = [...svg.querySelectorAll('text')].map(text =>
      parseFloat(style(text).fontSize) * box.width / svg.viewBox.baseVal.width);
    return {
      title: svg.getAttribute('aria-label'), width: box.width, height: box.height,
      shapes: svg.querySelectorAll('.plot path, .plot rect, .plot circle').length,
      plotWidth: plot.width, plotHeight: plot.height, outside, faint: faint.length,
      legendOverPlot: legends.some(l => l.top < plot.bottom && l.bottom > plot.top && l.left < plot.right && l.right > plot.left),
      smallestText: Math.min(...sizes),
    };
  });
  const found = {
    figures, paper, ink: style(page.body).color, bodyContrast: contrast(paper, style(page.body).color),
    overflow: page.documentElement.scrollWidth - page.documentElement.clientWidth,
    scripts: page.querySelectorAll('script').length, saved: page.querySelectorAll('.save li').length, heading: page.querySelector('h1').textContent,
  };
  const out = document.createElement('pre');
  out.id = 'measured';
  out.textContent = encodeURIComponent(JSON.stringify(found));
  document.body.append(out);
});
"#;

fn attribute(text: &str) -> String {
    text.replace('&', "&amp;").replace('"', "&quot;")
}

fn measure(browser: &str, html: &str, width: usize, dark: bool) -> (Value, Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("frame.html");
    let frame = format!(
        "<!DOCTYPE html><meta charset=\"utf-8\"><link rel=\"icon\" href=\"data:,\"><script>{MEASURE}</script>\
         <iframe width=\"{width}\" height=\"900\" srcdoc=\"{}\"></iframe>",
        attribute(html)
    );
    fs::write(&file, frame).unwrap();
    let (document, messages) = load(browser, &file, dark);
    let (_, rest) = document.split_once("<pre id=\"measured\">").expect("the frame was measured");
    let encoded = rest.split("</pre>").next().unwrap();
    (serde_json::from_str(&decoded(encoded)).unwrap(), messages)
}

/// The inverse of `encodeURIComponent`.
fn decoded(text: &str) -> String {
    let (bytes, mut k, mut plain) = (text.as_bytes(), 0, Vec::new());
    while k < bytes.len() {
        if bytes[k] == b'%' {
            plain.push(u8::from_str_radix(&text[k + 1..k + 3], 16).unwrap());
            k += 3;
        } else {
            plain.push(bytes[k]);
            k += 1;
        }
    }
    String::from_utf8(plain).unwrap()
}

fn check(browser: &str, name: &str, html: &str, least_figures: usize) {
    for (width, dark) in [(1280, false), (390, true), (390, false), (1280, true)] {
        let (found, messages) = measure(browser, html, width, dark);
        let here = format!("{name} at {width} px, {}", if dark { "dark" } else { "light" });
        assert!(messages.is_empty(), "{here}: {messages:#?}");
        assert_eq!(found["overflow"], 0, "{here}: the page scrolls sideways");
        assert_eq!(found["scripts"], 1, "{here}: only the one that offers the figures as files");
        assert!(found["bodyContrast"].as_f64().unwrap() > 7.0, "{here}: {found}");
        let dark_paper = found["paper"] == "rgb(18, 24, 31)";
        assert_eq!(dark_paper, dark, "{here}: paper {}", found["paper"]);
        let figures = found["figures"].as_array().unwrap();
        assert!(figures.len() >= least_figures, "{here}: {} figures", figures.len());
        assert_eq!(found["saved"], figures.len(), "{here}: the script did not run");
        for figure in figures {
            let number = |key: &str| figure[key].as_f64().unwrap();
            assert!(number("width") > 100.0 && number("height") > 80.0, "{here}: {figure}");
            assert!(number("shapes") >= 1.0, "{here}: an empty figure: {figure}");
            assert!(number("plotWidth") > 20.0 && number("plotHeight") > 0.0, "{here}: {figure}");
            assert_eq!(figure["outside"].as_array().unwrap().len(), 0, "{here}: text cut off: {figure}");
            assert_eq!(figure["faint"], 0, "{here}: text too faint: {figure}");
            assert_eq!(figure["legendOverPlot"], false, "{here}: {figure}");
            assert!(number("smallestText") >= 8.5, "{here}: text too small: {figure}");
        }
    }
}

#[test]
fn reports_are_sound_in_a_browser() {
    let Some(browser) = browser() else { return };
    check(browser, "a study", &study_html(&common::study(5)), 14);
    let mut demo = common::study(1);
    demo.settings.truncate(1);
    let html = page("demo", &[Section::Study(&demo), Section::Run(&common::run(10, false))]);
    check(browser, "the demo", &html, 7 + 7 + 3 + 10);
    let html = page("large", &[Section::Run(&common::run(25, true)), Section::Run(&common::run(50, true))]);
    check(browser, "large runs", &html, 2 * (7 + 3) + 75);
    check(browser, "a laboratory", &page("cells.lab", &[Section::Run(&common::laboratory())]), 2);
    let (study, run) = common::odd();
    check(
        browser,
        "odd input",
        &page("<odd> & 'strange'", &[Section::Study(&study), Section::Run(&run)]),
        7 + 7 + 2 + 5,
    );
}

#[test]
fn the_checks_find_planted_errors() {
    let Some(browser) = browser() else { return };
    // A page that does everything wrong: a script, an error, an outside picture, a wide and empty figure.
    let bad = "<body style=\"background:#fff;color:#eee\"><h1>x</h1><script>console.error('planted')</script>\
               <svg role=\"img\" viewBox=\"0 0 900 90\" width=\"900\" height=\"90\"><g class=\"plot\"></g>\
               <g class=\"legend\"><text x=\"890\" y=\"20\" fill=\"#eee\">cut off here</text></g></svg>";
    let (found, messages) = measure(browser, bad, 390, false);
    assert!(messages.iter().any(|line| line.contains("planted")), "{messages:?}");
    let figure = &found["figures"][0];
    assert!(found["overflow"].as_f64().unwrap() > 400.0 && found["scripts"] == 1);
    assert!(found["bodyContrast"].as_f64().unwrap() < 2.0);
    assert_eq!(
        (&figure["shapes"], &figure["faint"], figure["outside"].as_array().unwrap().len()),
        (&0.into(), &1.into(), 1)
    );
    // A report with an outside picture in it: its policy forbids the load, and the console says so.
    let html =
        study_html(&common::study(1)).replace("<main>", "<main><img src=\"http://127.0.0.1:9/x.png\">");
    let (_, messages) = measure(browser, &html, 390, false);
    assert!(messages.iter().any(|line| line.contains("Content Security Policy")), "{messages:?}");
}

#[test]
fn figures_stand_alone() {
    let Some(browser) = browser() else { return };
    let folder = tempfile::tempdir().unwrap();
    let (odd_study, odd_run) = common::odd();
    let mut figures = study_figures(&common::study(2));
    figures.truncate(1);
    figures.extend(run_figures(&common::run(10, false)));
    figures.extend(study_figures(&odd_study).into_iter().take(2));
    figures.extend(run_figures(&odd_run));
    // A document that is not well-formed does not load as a picture.
    let pictures: String = (0..figures.len()).map(|k| format!("<img src=\"{k}.svg\">")).collect();
    for (k, (_, svg)) in figures.iter().enumerate() {
        fs::write(folder.path().join(format!("{k}.svg")), svg).unwrap();
    }
    fs::write(folder.path().join("bad.svg"), "<svg xmlns=\"http://www.w3.org/2000/svg\"><g>").unwrap();
    let script = "addEventListener('load', () => { document.title = [...document.images]\
                  .map(i => i.naturalWidth).join(' '); })";
    let html = format!(
        "<!DOCTYPE html><meta charset=\"utf-8\"><link rel=\"icon\" href=\"data:,\"><script>{script}</script>\
         <title></title>{pictures}<img src=\"bad.svg\">"
    );
    let file = folder.path().join("all.html");
    fs::write(&file, html).unwrap();
    let (document, _) = load(browser, &file, false);
    let widths = document.split_once("<title>").unwrap().1.split("</title>").next().unwrap();
    let widths: Vec<usize> = widths.split(' ').map(|width| width.parse().unwrap()).collect();
    assert_eq!(widths.len(), figures.len() + 1);
    assert_eq!(widths.last(), Some(&0), "a broken picture has no width");
    for (width, (stem, _)) in widths.iter().zip(&figures) {
        assert!(*width >= 300, "{stem}: {width}");
    }
}
