//! What a report of a study shows: the finished runs, by setting and line.

use seabed_report::{Line, Run, Setting, Study};

use super::StudyError;
use super::results::default_baseline;
use super::sweep::Sweep;

impl Sweep {
    /// The finished runs, compared with the random line, if there is one; none if no run has finished.
    pub fn report_view(&self, title: &str) -> Result<Option<Study>, StudyError> {
        let mut study = Study { title: title.to_string(), ..Study::default() };
        for (planned, rows) in self.finished()? {
            let setting = entry(
                &mut study.settings,
                |setting| setting.name == planned.setting,
                || Setting { name: planned.setting.clone(), ..Setting::default() },
            );
            let line = entry(
                &mut setting.lines,
                |line| line.label == planned.line,
                || Line { label: planned.line.clone(), ..Line::default() },
            );
            let replicates = planned.config.design.replicates.at_a_time();
            line.runs.push(Run { seed: planned.config.seed, rows, replicates });
        }
        let baseline = default_baseline(study.labels()).map(str::to_string);
        Ok(baseline.map(|baseline| Study { baseline, ..study }))
    }
}

/// The first item for which `is` holds, added if there is none.
fn entry<T>(items: &mut Vec<T>, is: impl Fn(&T) -> bool, make: impl FnOnce() -> T) -> &mut T {
    let at = items.iter().position(is).unwrap_or_else(|| {
        items.push(make());
        items.len() - 1
    });
    &mut items[at]
}
