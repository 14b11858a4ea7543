//! Writes pages and figures of made-up numbers, to look at: `cargo run -p seabed-report --example pages -- FOLDER`.

#[path = "../tests/common/mod.rs"]
mod common;

use std::path::Path;
use std::{env, fs, io};

use seabed_report::{Section, page, run_figures, study_figures, study_html};

fn main() -> io::Result<()> {
    let folder = env::args().nth(1).unwrap_or_else(|| "report-pages".into());
    let folder = Path::new(&folder);
    fs::create_dir_all(folder)?;
    let write = |name: &str, text: &str| fs::write(folder.join(name), text);
    let (small, large) = (common::run(10, false), common::run(50, true));
    let (odd_study, odd_run) = common::odd();
    write("study.html", &study_html(&common::study(10)))?;
    let mut demo = common::study(1);
    demo.settings.truncate(1);
    demo.settings[0].lines.truncate(3);
    write("demo.html", &page("seabed demo", &[Section::Study(&demo), Section::Run(&small)]))?;
    write(
        "large.html",
        &page("A large run", &[Section::Run(&common::run(20, false)), Section::Run(&large)]),
    )?;
    write("laboratory.html", &page("A campaign", &[Section::Run(&common::laboratory())]))?;
    write("odd.html", &page("Odd & <strange>", &[Section::Study(&odd_study), Section::Run(&odd_run)]))?;
    for (stem, svg) in study_figures(&common::study(10)).iter().chain(&run_figures(&small)) {
        write(&format!("{stem}.svg"), svg)?;
    }
    Ok(())
}
