//! The campaign in memory: everything in force, on which all decisions and tables are based. No SQL and no files.

use std::collections::BTreeMap;
use std::sync::Arc;

use seabed::campaign::Campaign;
use seabed::data::{Dataset, Names, far_values, traps};
use seabed::design::{DesignRecord, ExperimentRecord};
use seabed::graph::{Node, NodeSet};
use seabed::posterior::PosteriorSettings;
use seabed::scm::Intervention;
use seabed::settings::SettingsError;

use super::propose::ProposalRequest;
use super::variables::{Transform, Variable, Variables};

/// What is set, to what, in the laboratory's units; ascending by node.
pub type Settings = Vec<(Node, f64)>;

/// Values of one measurement in the laboratory's units, and its intervention targets.
#[derive(Clone, PartialEq, Debug)]
pub struct Row {
    /// Ascending.
    pub targets: Vec<Node>,
    /// One per variable; `None` if the value is missing.
    pub cells: Vec<Option<f64>>,
}

/// The status of a replicate of an experiment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Status {
    /// It was measured, perhaps in part.
    Done,
    /// It will give no values.
    Failed,
    /// Its outcome is awaited.
    Pending,
}

/// A record of a replicate.
#[derive(Clone, PartialEq, Debug)]
pub struct Record {
    /// By which action.
    pub action: i64,
    /// Its status.
    pub status: Status,
    /// What was set and measured.
    pub row: Row,
    /// The form that it came with.
    pub file: String,
}

/// An experiment: proposed, or made by the laboratory on its own initiative.
#[derive(Clone, PartialEq, Debug)]
pub struct Experiment {
    /// Unique in the campaign, never used again.
    pub id: i64,
    /// By which action.
    pub action: i64,
    /// The proposal it belongs to, if any.
    pub proposal: Option<i64>,
    /// What is to be set, to what, in the laboratory's units.
    pub settings: Settings,
    /// The number of planned replicates.
    pub replicates: u32,
    /// Is it in force?
    pub live: bool,
    /// The records in force of each replicate, the newest last.
    pub records: BTreeMap<u32, Vec<Record>>,
}

/// A data file that was added.
#[derive(Clone, PartialEq, Debug)]
pub struct Source {
    /// By which action.
    pub action: i64,
    /// Its name.
    pub file: String,
    /// Of its content.
    pub sha256: String,
    /// Its rows; never changed, so later states share them.
    pub rows: Arc<Vec<Row>>,
    /// How many of them are under interventions.
    pub interventional: usize,
    /// How many of them have missing values.
    pub incomplete: usize,
}

/// A batch that was proposed.
#[derive(Clone, PartialEq, Debug)]
pub struct Proposal {
    /// Unique in the campaign, never used again.
    pub id: i64,
    /// By which action.
    pub action: i64,
    /// The belief that it was designed from.
    pub belief: i64,
    /// What was asked for.
    pub request: ProposalRequest,
    /// What was chosen, in the laboratory's units.
    pub designed: DesignRecord,
}

/// A command that changed the campaign.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Action {
    /// Counted from 1.
    pub id: i64,
    /// `new`, `add`, `propose`, `record` or `amend`.
    pub kind: String,
    /// What it did.
    pub what: String,
    /// When (UTC).
    pub at: String,
    /// The user's note.
    pub note: String,
    /// Who asked for it; empty if unknown.
    pub who: String,
    /// When it was undone, if it was.
    pub undone: Option<String>,
}

/// All that is in force, and the history of actions.
#[derive(Clone, PartialEq, Debug)]
pub struct State {
    /// The random seed.
    pub seed: u64,
    /// The variables.
    pub variables: Variables,
    /// Their file.
    pub variables_text: String,
    /// All, including undone ones.
    pub actions: Vec<Action>,
    /// Data files in force.
    pub sources: Vec<Source>,
    /// Proposals in force.
    pub proposals: Vec<Proposal>,
    /// All experiments; those that are not in force have no records.
    pub experiments: Vec<Experiment>,
}

impl Status {
    /// Its name in forms and in the file.
    pub fn name(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Pending => "pending",
        }
    }

    /// The status with this name.
    pub fn named(name: &str) -> Option<Self> {
        [Self::Done, Self::Failed, Self::Pending].into_iter().find(|status| status.name() == name)
    }
}

impl Row {
    /// Are all values there?
    pub fn is_complete(&self) -> bool {
        self.cells.iter().all(Option::is_some)
    }

    /// What was set, to what; targets without a value are left out.
    pub fn settings(&self) -> Settings {
        self.targets.iter().filter_map(|&node| Some((node, self.cells[node]?))).collect()
    }
}

impl Experiment {
    /// The newest record of a replicate.
    pub fn newest(&self, replicate: u32) -> Option<&Record> {
        self.records.get(&replicate)?.last()
    }

    /// The replicates whose outcome is pending.
    pub fn pending(&self) -> impl Iterator<Item = u32> + '_ {
        let last = self.records.keys().next_back().copied().unwrap_or(0).max(self.replicates);
        (1..=last).filter(|&replicate| match self.newest(replicate) {
            Some(record) => record.status == Status::Pending,
            None => replicate <= self.replicates,
        })
    }

    /// The newest records of the replicates that were measured.
    pub fn measured(&self) -> impl Iterator<Item = (u32, &Record)> {
        let newest =
            self.records.iter().filter_map(|(&replicate, records)| Some((replicate, records.last()?)));
        newest.filter(|(_, record)| record.status == Status::Done)
    }
}

impl State {
    /// Changes whenever the campaign does: the number of actions, and of undone ones.
    pub fn revision(&self) -> (usize, usize) {
        (self.actions.len(), self.actions.iter().filter(|action| action.undone.is_some()).count())
    }

    /// Every measurement in force: data files first, then experiments.
    pub fn rows(&self) -> impl Iterator<Item = &Row> {
        self.sources.iter().flat_map(|source| source.rows.iter()).chain(self.recorded())
    }

    /// Measurements in force under interventions. Counted by file: there may be millions of cells.
    pub fn interventional(&self) -> usize {
        let added: usize = self.sources.iter().map(|source| source.interventional).sum();
        added + self.recorded().filter(|row| !row.targets.is_empty()).count()
    }

    /// Measurements in force with missing values.
    pub fn incomplete(&self) -> usize {
        let added: usize = self.sources.iter().map(|source| source.incomplete).sum();
        added + self.recorded().filter(|row| !row.is_complete()).count()
    }

    /// Measurements of experiments.
    fn recorded(&self) -> impl Iterator<Item = &Row> {
        self.live().flat_map(|experiment| experiment.measured().map(|(_, record)| &record.row))
    }

    /// Experiments in force.
    pub fn live(&self) -> impl Iterator<Item = &Experiment> {
        self.experiments.iter().filter(|experiment| experiment.live)
    }

    /// Settings with the names of the variables.
    pub fn named(&self, settings: &[(Node, f64)]) -> Vec<(String, f64)> {
        settings.iter().map(|&(node, value)| (self.variables.names()[node].clone(), value)).collect()
    }

    /// What an experiment was chosen for, if it was proposed.
    pub(crate) fn chosen(&self, experiment: &Experiment) -> Option<&ExperimentRecord> {
        let proposal = self.proposals.iter().find(|proposal| Some(proposal.id) == experiment.proposal)?;
        let mut mates = self.live().filter(|mate| mate.proposal == experiment.proposal);
        proposal.designed.batch.get(mates.position(|mate| mate.id == experiment.id)?)
    }

    /// Pending replicates of experiments in force.
    pub fn pending(&self) -> impl Iterator<Item = (&Experiment, u32)> {
        self.live().flat_map(|experiment| experiment.pending().map(move |replicate| (experiment, replicate)))
    }

    /// The designs of pending outcomes, in the units of the fit.
    pub fn pending_designs(&self) -> Vec<Intervention> {
        self.pending().filter_map(|(experiment, _)| self.variables.to_fit(&experiment.settings)).collect()
    }

    /// What was asked for the last time; the defaults before the first time.
    pub fn last_request(&self) -> ProposalRequest {
        self.proposals.last().map_or_else(ProposalRequest::default, |proposal| proposal.request.clone())
    }

    /// The campaign in memory at this point, with background knowledge and with its own randomness for every action.
    pub(crate) fn campaign(
        &self,
        data: &Dataset,
        settings: &PosteriorSettings,
    ) -> Result<Campaign, SettingsError> {
        Ok(Campaign::new(data.clone())
            .with_knowledge(self.variables.knowledge().clone())
            .with_posterior(settings.check(None)?)
            .with_seed(self.seed, self.actions.len() as u64))
    }

    /// What makes a causal reading of the complete rows, or of experiments with these settings in the laboratory's units, wrong
    /// or fragile: one line each. Variables with a transform are judged as the fit sees them, and called `ln(NAME)`.
    pub fn traps(&self, settings: &[Settings]) -> Vec<String> {
        self.traps_of_each(&[settings.to_vec()]).pop().unwrap_or_default()
    }

    /// As [`State::traps`] for each of several batches; what is wrong with the rows is looked for once.
    pub fn traps_of_each(&self, batches: &[Vec<Settings>]) -> Vec<Vec<String>> {
        let (Some(data), _) = self.data() else { return vec![Vec::new(); batches.len()] };
        let seen = |variable: &Variable| match variable.transform {
            Transform::None => variable.name.clone(),
            Transform::Log => format!("ln({})", variable.name),
            Transform::Log1p => format!("ln(1 + {})", variable.name),
        };
        let names: Names = self.variables.list().iter().map(seen).collect();
        let targets = (0..data.rows()).map(|row| data.targets(row).clone()).collect();
        // Two variables may get the same name by this.
        let data = Dataset::new(names, data.columns().to_vec(), targets).unwrap_or(data);
        let seen =
            |&(node, value): &(Node, f64)| Some((node, self.variables.list()[node].transform.apply(value)?));
        let of_rows = traps(&data);
        let of_batch = |batch: &Vec<Settings>| {
            let far = far_values(&data, batch.iter().flatten().filter_map(seen));
            of_rows.iter().cloned().chain(far).collect()
        };
        batches.iter().map(of_batch).collect()
    }

    /// The complete rows, transformed, and the number of rows left out because a value is missing.
    pub fn data(&self) -> (Option<Dataset>, usize) {
        let list = self.variables.list();
        let mut columns: Vec<Vec<f64>> = vec![Vec::new(); list.len()];
        let (mut targets, mut left_out) = (Vec::new(), 0);
        for row in self.rows() {
            let values: Option<Vec<f64>> = row
                .cells
                .iter()
                .zip(list)
                .map(|(cell, variable)| cell.and_then(|value| variable.transform.apply(value)))
                .collect();
            let Some(values) = values else {
                left_out += 1;
                continue;
            };
            for (column, value) in columns.iter_mut().zip(values) {
                column.push(value);
            }
            targets.push(NodeSet::of(list.len(), row.targets.iter().copied()));
        }
        (Dataset::new(self.variables.names().clone(), columns, targets).ok(), left_out)
    }
}
