//! What a report shows: of a study the finished runs, by setting and line; of a run what it asks and what to do next, what is
//! believed, and the experiments made.

use seabed::checks;
use seabed::data::{DataSummary, Dataset, ReadOptions, read_graph, read_table, traps};
use seabed::design::ceiling;
use seabed::effects::{Effect, Effects, observed_spans};
use seabed::evaluate::MetricRow;
use seabed::num::random::Seed;
use seabed::posterior::one_graph;
use seabed::scm::Ensemble;
use seabed_report::{EffectRow, InformationCurve, Intervention, Line, Run, RunView, Setting, Study};

use super::StudyError;
use super::config::Config;
use super::folder::RunFolder;
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

impl RunFolder {
    /// The run after its last complete round; none if no round is complete.
    pub fn report_view(&self, title: &str) -> Result<Option<RunView>, StudyError> {
        let rows = self.metrics()?;
        let Some(last) = rows.last() else { return Ok(None) };
        let (ensemble, config) = (self.ensemble(last.round)?, self.config()?);
        let truth = self.path().join("truth.csv");
        let truth = if truth.exists() {
            Some(read_graph(&truth)?.aligned(ensemble.names())?.adjacency)
        } else {
            None
        };
        let designs: Vec<_> = (0..rows.len()).map(|round| self.designed(round)).collect::<Result<_, _>>()?;
        let interventions = designs.iter().enumerate().flat_map(|(round, designed)| {
            designed.iter().flat_map(|designed| &designed.batch).map(move |experiment| Intervention {
                round,
                targets: experiment.targets.clone(),
                information: Some(experiment.information),
                standard_error: Some(experiment.standard_error),
            })
        });
        // Data that are gone are not checked, and have no range between whose ends a variable could be set.
        let data = read_table(&self.path().join("data.csv"), &ReadOptions::default()).ok();
        let data = data.map(|table| table.dataset);
        let findings = data.as_ref().and_then(|data| checks::check(data, &ensemble, &()).ok());
        let findings = findings.unwrap_or_default();
        let warning = self.fitted(last.round)?.and_then(|fitted| fitted.warning);
        let last_design = designs.iter().flatten().next_back();
        let draws = config.as_ref().map_or(0, |config| config.posterior.draws).max(ensemble.draws().len());
        let said = [
            one_graph(&ensemble, draws),
            checks::caution(&findings, warning.is_some()),
            last_design.and_then(|designed| ceiling(designed.information, designed.entropy)),
        ];
        let said = said.into_iter().flatten().map(str::to_string);
        let of_data = data.as_ref().map_or(Vec::new(), traps);
        let fits: f64 = rows.iter().map(|row| row.fit_seconds).sum();
        let design: f64 = rows.iter().filter_map(|row| row.design_seconds).sum();
        Ok(Some(RunView {
            title: title.to_string(),
            unit: config.as_ref().map_or("nats", |config| config.design.strategy.parts().0.unit()).into(),
            asked: config
                .as_ref()
                .map_or(String::new(), |config| asked(config, ensemble.names().len(), last)),
            next: config.as_ref().map_or(String::new(), |config| next(config, last.round)),
            cautions: warning.into_iter().chain(said).chain(of_data).collect(),
            effects: data.map_or(Vec::new(), |data| effects(&data, &ensemble)),
            config_text: config.map_or(String::new(), |config| config.to_toml()),
            names: ensemble.names().to_vec(),
            truth,
            edge_probabilities: ensemble.edge_probabilities(),
            interventions: interventions.collect(),
            curves: last_design.map_or(Vec::new(), |designed| InformationCurve::of(&designed.evaluated)),
            timing: vec![("fits".into(), fits), ("designs".into(), design)],
            checks: checks::summary(&findings),
            rows,
            ..RunView::default()
        }))
    }
}

/// What the run asks, and what it has measured.
fn asked(config: &Config, variables: usize, last: &MetricRow) -> String {
    let question = match config.design.goal.as_str() {
        "" => String::new(),
        goal => format!(" The question is {goal}."),
    };
    let batch = match config.design.batch {
        1 => "one experiment".to_string(),
        batch => format!("{batch} experiments"),
    };
    format!(
        "This run asks which of {variables} variables cause which others in a simulated world ({}).{question} It has {} \
         observations, and {} measurements with something set, from {} of {} rounds of {batch}, chosen by {}.",
        config.world.words().join(", "),
        config.world.observations,
        last.interventional_samples,
        last.round,
        config.rounds,
        config.design.strategy.name()
    )
}

fn next(config: &Config, round: usize) -> String {
    if round < config.rounds {
        "The run is not at its end: the command that started it continues it.".into()
    } else {
        "All rounds are done; with a greater number of rounds the same command continues the run.".into()
    }
}

/// What setting a variable does to another, where that is more probable than not.
fn effects(data: &Dataset, ensemble: &Ensemble) -> Vec<EffectRow> {
    let names = ensemble.names();
    let Ok(data) = data.reordered(names) else { return Vec::new() };
    let spans = observed_spans(&DataSummary::of(&data));
    let found = Effects::probable(ensemble, &spans, Seed::new(0), &()).unwrap_or_default();
    let row = |effect: Effect| EffectRow {
        from: names[effect.from].clone(),
        to: names[effect.to].clone(),
        mean: effect.mean,
        interval: effect.interval,
        not_zero: effect.not_zero,
        unit: String::new(),
    };
    found.into_iter().map(row).collect()
}

/// The first item for which `is` holds, added if there is none.
fn entry<T>(items: &mut Vec<T>, is: impl Fn(&T) -> bool, make: impl FnOnce() -> T) -> &mut T {
    let at = items.iter().position(is).unwrap_or_else(|| {
        items.push(make());
        items.len() - 1
    });
    &mut items[at]
}
