//! `seabed report`: the page and the figures of a run or a study.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use seabed::data::write_atomically;
use seabed_report::{RunView, Section, Study, page};
use seabed_study::{RunFolder, Sweep};

use crate::failure::Failure;
use crate::outputs::{Force, Kind, Output};
use crate::run::print;

/// Write a report of a run or a study: one self-contained HTML page, and the figures as SVG.
///
/// For a study: each metric against the number of interventional samples, mean and standard error over seeds, one
/// line per strategy, comparisons of strategies paired by seed, and how many experiments each needs to know as much as
/// the random one knows at its end, which is printed too. For a run: where it stands in words, the learned edges beside
/// the truth, the effects of setting a variable, the experiments made, and the expected information of each value of each
/// target in the last round.
#[derive(Args)]
#[command(after_help = "Example: seabed report linear && xdg-open linear/report.html")]
pub struct Arguments {
    /// The folder of `seabed run`, `seabed sweep` or `seabed demo`.
    folder: PathBuf,
    /// Where to write the page [default: report.html in the folder]. Figures go into `figures` beside it.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// The line to compare the others with [default: the random one].
    #[arg(long, value_name = "LINE")]
    baseline: Option<String>,
    /// Number of a run of the study to show in detail.
    #[arg(long, value_name = "INDEX")]
    run: Option<usize>,
    #[command(flatten)]
    force: Force,
}

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let folder = &arguments.folder;
    let place = arguments.out.clone().unwrap_or_else(|| folder.join("report.html"));
    if folder.join("sweep.toml").exists() {
        let sweep = Sweep::load(folder)?;
        let (baseline, detail) = (arguments.baseline.as_deref(), arguments.run);
        let (study, _) = report_study(&sweep, folder, &place, baseline, detail.as_slice(), &arguments.force)?;
        print(&seabed_report::study_sentences(&study))?;
    } else if folder.join("config.toml").exists() {
        if arguments.run.is_some() || arguments.baseline.is_some() {
            return Err(Failure::Input(anyhow::anyhow!(
                "--run and --baseline apply to studies; {} is a single run",
                folder.display()
            )));
        }
        let view = run_view(&RunFolder::new(folder), &title(folder))?;
        let page = Page { html: seabed_report::run_html(&view), figures: seabed_report::run_figures(&view) };
        page.write(&place, folder, &arguments.force)?;
    } else {
        return Err(Failure::Input(anyhow::anyhow!(
            "{}: not a run or a study: it has neither config.toml nor sweep.toml",
            folder.display()
        )));
    }
    print(&format!("report written to {}\n", place.display()))
}

/// Writes the page of a study, with these runs in detail, and returns what is compared on it, and these runs.
pub fn report_study(
    sweep: &Sweep,
    folder: &Path,
    place: &Path,
    baseline: Option<&str>,
    detail: &[usize],
    force: &Force,
) -> Result<(Study, Vec<RunView>), Failure> {
    let study = study(sweep, &title(folder), baseline)?;
    let mut figures = seabed_report::study_figures(&study);
    let views = detail.iter().map(|&index| run_in_detail(sweep, index)).collect::<Result<Vec<_>, _>>()?;
    let mut sections = vec![Section::Study(&study)];
    for (k, view) in views.iter().enumerate() {
        sections.push(Section::Run(view));
        // The figures of further runs have a number.
        let named =
            |(stem, svg): (String, String)| (if k == 0 { stem } else { format!("{stem}-{}", k + 1) }, svg);
        figures.extend(seabed_report::run_figures(view).into_iter().map(named));
    }
    Page { html: page(&study.title, &sections), figures }.write(place, folder, force)?;
    Ok((study, views))
}

fn title(folder: &Path) -> String {
    let name = fs::canonicalize(folder).unwrap_or_else(|_| folder.to_path_buf());
    name.file_name().map_or("seabed".into(), |name| name.to_string_lossy().into_owned())
}

/// The finished runs of a study; the others are compared with the line `baseline`, the random one unless it is named.
pub fn study(sweep: &Sweep, title: &str, baseline: Option<&str>) -> Result<Study, Failure> {
    let Some(mut study) = sweep.report_view(title)? else {
        return Err(Failure::Input(anyhow::anyhow!(
            "no run of the study has finished; `seabed sweep` continues it"
        )));
    };
    if let Some(name) = baseline {
        let mut known: Vec<&str> = study.labels().collect();
        if !known.contains(&name) {
            known.sort_unstable();
            known.dedup();
            return Err(Failure::Input(anyhow::anyhow!(
                "--baseline {name}: no such line; the lines are {}",
                known.join(", ")
            )));
        }
        study.baseline = name.to_string();
    }
    Ok(study)
}

/// A run of a study.
fn run_in_detail(sweep: &Sweep, index: usize) -> Result<RunView, Failure> {
    let Some(planned) = sweep.runs().get(index) else {
        return Err(Failure::Input(anyhow::anyhow!(
            "--run {index}: the study has runs 0 to {}",
            sweep.runs().len() - 1
        )));
    };
    let title = format!("Run {index}: {}, {}, seed {}", planned.setting, planned.line, planned.config.seed);
    run_view(&sweep.folder(index), &title)
}

fn run_view(folder: &RunFolder, title: &str) -> Result<RunView, Failure> {
    folder.report_view(title)?.ok_or_else(|| {
        Failure::Input(anyhow::anyhow!(
            "{}: no round is complete yet; `seabed run` continues it",
            folder.path().display()
        ))
    })
}

/// A page, and its figures as `(stem, SVG)`.
struct Page {
    html: String,
    figures: Vec<(String, String)>,
}

impl Page {
    /// Writes the page to `place` and the figures beside it. In `folder` they replace nothing but what a report made: all
    /// else there are results.
    fn write(&self, place: &Path, folder: &Path, force: &Force) -> Result<(), Failure> {
        let beside = place.with_file_name("figures");
        let figure = |(stem, svg): &(String, String)| (beside.join(format!("{stem}.svg")), svg.clone());
        let mut files: Vec<(PathBuf, String)> = self.figures.iter().map(figure).collect();
        files.push((place.to_path_buf(), self.html.clone()));
        for (path, _) in &files {
            let page = Output { path, kind: Kind::Report };
            if lies_in(path, folder) && !page.is_made() {
                return Err(Failure::Input(anyhow::anyhow!(
                    "{}: no report made this file, and the results are in its folder; remove it, or choose another name \
                     with --out",
                    path.display()
                )));
            }
            force.check_replaced(&page, &[])?;
        }
        if beside.is_symlink() {
            return Err(Failure::Input(anyhow::anyhow!(
                "{}: it is a symbolic link; remove it, or choose another name for the page with --out",
                beside.display()
            )));
        }
        fs::create_dir_all(&beside).map_err(|error| Failure::writing(Some(&beside), error))?;
        for (path, text) in &files {
            write_atomically(path, |out| out.write_all(text.as_bytes()))
                .map_err(|error| Failure::writing(Some(path), error))?;
        }
        Ok(())
    }
}

/// Is the file there, in the folder or below it, whatever it is called?
fn lies_in(file: &Path, folder: &Path) -> bool {
    matches!((fs::canonicalize(file), fs::canonicalize(folder)), (Ok(file), Ok(folder)) if file.starts_with(&folder))
}
