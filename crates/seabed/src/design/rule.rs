//! How a batch is picked from the candidates, within the constraints; an [`Evaluator`] says what candidates are
//! worth. Variables are in the order of their names.

use super::batch::{Evaluated, named};
use super::candidates::{Candidates, evaluated, first_largest, single};
use super::replicates::Replicates;
use super::strategy::Rule;
use super::temperature::Temperature;
use super::utility::Evaluator;
use super::work::Work;
use crate::observer::Stopped;
use crate::scm::Intervention;

pub(super) struct Picker<'a> {
    pub(super) candidates: Candidates<'a>,
    /// Experiments wanted; with automatic replicates, rows.
    pub(super) batch: usize,
    pub(super) replicates: Replicates,
    /// Of the soft rule.
    pub(super) temperature: Temperature,
    pub(super) work: &'a Work<'a>,
}

/// The designs that were chosen, and all that were evaluated.
type Picked = (Vec<Intervention>, Vec<Evaluated>);

impl Rule {
    /// The most evaluations that the rule needs, for tables with this many designs.
    pub(super) fn most_evaluations(self, table: usize, batch: usize) -> usize {
        match self {
            Self::Best | Self::Soft => table,
            // Experiments that were already chosen may be evaluated once more.
            Self::Greedy => table.saturating_add(1).saturating_add(batch).saturating_mul(batch),
            Self::Random => 0,
        }
    }

    /// Tables that the rule looks at.
    pub(super) fn rounds(self, batch: usize) -> usize {
        match self {
            Self::Best | Self::Soft => 1,
            Self::Greedy => batch,
            Self::Random => 0,
        }
    }

    /// Designs that the rule looks at in each table beside its candidates, about.
    pub(super) fn again(self, batch: usize, replicates: Replicates) -> usize {
        // What was already chosen is evaluated again only if one more row of it is among the candidates.
        if self == Self::Greedy && replicates == Replicates::Auto { batch / 2 } else { 0 }
    }
}

impl Picker<'_> {
    pub(super) fn pick(&self, rule: Rule, evaluator: &mut dyn Evaluator) -> Result<Picked, Stopped> {
        match rule {
            Rule::Best => self.by_table(evaluator, |designs, worth| self.repeatedly(designs, worth)),
            Rule::Soft => self.by_table(evaluator, |designs, worth| self.softly(designs, worth)),
            Rule::Greedy => self.greedily(evaluator),
            Rule::Random => Ok((self.at_random()?, Vec::new())),
        }
    }

    /// Every candidate is evaluated once, and all are picked by what they are worth for their cost.
    fn by_table(
        &self,
        evaluator: &mut dyn Evaluator,
        pick: impl Fn(&[Intervention], &[f64]) -> Result<Vec<Intervention>, Stopped>,
    ) -> Result<Picked, Stopped> {
        evaluator.start_round(0)?;
        let table = beyond_pending(self.candidates.table(evaluator, 0)?, evaluator);
        let ranks = evaluator.ranks(&table)?;
        let designs: Vec<Intervention> = table.iter().map(|candidate| candidate.design.clone()).collect();
        let price = |design: &Intervention| self.candidates.constraints.price(&[], design);
        let worth: Vec<f64> = ranks.iter().zip(&designs).map(|(rank, design)| rank / price(design)).collect();
        Ok((pick(&designs, &worth)?, table))
    }

    /// One design after the other, each the best together with those before it, for what it adds to the cost. With automatic
    /// replicates one more row of an experiment that was already chosen is among the candidates.
    fn greedily(&self, evaluator: &mut dyn Evaluator) -> Result<Picked, Stopped> {
        let mut batch: Vec<Intervention> = Vec::new();
        let (mut known, mut first) = (evaluator.pending_worth(), Vec::new());
        for round in 0..self.batch as u64 {
            evaluator.start_round(round)?;
            let mut table = self.candidates.table(evaluator, round)?;
            if self.replicates == Replicates::Auto {
                let new = |design: &&Intervention| table.iter().all(|candidate| candidate.design != **design);
                let again = distinct(&batch).filter(new).cloned().collect();
                table.extend(evaluated(again, evaluator)?);
            }
            let worth = |candidate: &&Evaluated| {
                let price = self.candidates.constraints.price(&batch, &candidate.design);
                (candidate.information.nats - known) / price
            };
            let admitted = table.iter().filter(|c| self.admits(&batch, &c.design));
            let best = first_largest(admitted, worth).cloned();
            if round == 0 {
                first = table;
            }
            let Some(best) = best else { break };
            known = best.information.nats;
            if batch.len() + 1 < self.batch {
                evaluator.decide(&best.design)?;
            }
            batch.push(best.design);
        }
        Ok((batch, beyond_pending(first, evaluator)))
    }

    /// Can the design be added so that the rest of the batch can still be filled?
    fn admits(&self, batch: &[Intervention], design: &Intervention) -> bool {
        let constraints = self.candidates.constraints;
        if self.replicates == Replicates::Auto {
            // More rows of an experiment are no more experiments.
            let experiments: Vec<Intervention> = distinct(batch).cloned().collect();
            let known = experiments.contains(design);
            return constraints.affords(batch, design) && (known || constraints.admits(&experiments, design));
        }
        let room = |most: usize| {
            let all = most.saturating_mul(constraints.targets().count());
            let used: usize = batch.iter().chain([design]).map(|chosen| chosen.settings().len()).sum();
            all.saturating_sub(used) >= self.batch - batch.len() - 1
        };
        constraints.max_repeats.is_none_or(room) && constraints.admits(batch, design)
    }

    /// The best design again and again, as far as the constraints admit it, then the next best.
    fn repeatedly(&self, designs: &[Intervention], worth: &[f64]) -> Result<Vec<Intervention>, Stopped> {
        let mut batch: Vec<Intervention> = Vec::new();
        while batch.len() < self.batch {
            self.work.check_stop()?;
            let admitted = (0..designs.len()).filter(|&k| self.admits(&batch, &designs[k]));
            let Some(best) = first_largest(admitted, |&k| worth[k]) else { break };
            batch.push(designs[best].clone());
        }
        Ok(batch)
    }

    /// Without replacement, in proportion to exp(worth / temperature): the largest after adding Gumbel noise. When all
    /// candidates are used up, they may be drawn again.
    fn softly(&self, designs: &[Intervention], worth: &[f64]) -> Result<Vec<Intervention>, Stopped> {
        let mut batch: Vec<Intervention> = Vec::new();
        let temperature = self.temperature.of(worth);
        for pass in 0u64.. {
            let noise: Vec<f64> = designs.iter().map(|design| self.gumbel(pass, design)).collect();
            let key = |k: usize| worth[k] / temperature + noise[k];
            let mut order: Vec<usize> = (0..designs.len()).collect();
            order.sort_by(|&a, &b| key(b).total_cmp(&key(a)));
            let before = batch.len();
            for k in order {
                self.work.check_stop()?;
                if batch.len() < self.batch && self.admits(&batch, &designs[k]) {
                    batch.push(designs[k].clone());
                }
            }
            if batch.len() == before || batch.len() == self.batch {
                break;
            }
        }
        Ok(batch)
    }

    /// Addressed by the names and values of the design.
    fn gumbel(&self, pass: u64, design: &Intervention) -> f64 {
        let start = self.candidates.stream.at(pass);
        let stream = named(design, self.candidates.names).fold(start, |stream, (name, value)| {
            let bits = value.to_bits();
            stream.named(name).at(bits >> 32).at(bits & 0xFFFF_FFFF)
        });
        let mut noise = [0.0];
        stream.fill_gumbel(&mut noise);
        noise[0]
    }

    fn at_random(&self) -> Result<Vec<Intervention>, Stopped> {
        let mut draws = self.candidates.stream.draws();
        let mut batch: Vec<Intervention> = Vec::new();
        while batch.len() < self.batch {
            self.work.check_stop()?;
            // Uniform among the targets that the constraints still admit, at a value drawn for each.
            let targets = self.candidates.constraints.targets();
            let open: Vec<Intervention> = targets
                .map(|target| single(target, self.candidates.random_value(target, &mut draws)))
                .filter(|design| self.admits(&batch, design))
                .collect();
            if open.is_empty() {
                break;
            }
            let mut design = open[draws.below(open.len())].clone();
            // A random number of targets, as far as the constraints admit them.
            for _ in 0..draws.below(self.candidates.constraints.max_targets) {
                let more = &open[draws.below(open.len())];
                let settings = design.settings().iter().chain(more.settings()).copied();
                match Intervention::new(settings) {
                    Ok(larger) if self.admits(&batch, &larger) => design = larger,
                    _ => {}
                }
            }
            batch.push(design);
        }
        Ok(batch)
    }
}

/// The designs, each once, in the order in which they come first.
pub(super) fn distinct(designs: &[Intervention]) -> impl Iterator<Item = &Intervention> {
    designs.iter().enumerate().filter(|(k, design)| !designs[..*k].contains(design)).map(|(_, design)| design)
}

/// The table with what each candidate adds to what is pending.
fn beyond_pending(mut table: Vec<Evaluated>, evaluator: &dyn Evaluator) -> Vec<Evaluated> {
    for candidate in &mut table {
        candidate.information.nats -= evaluator.pending_worth();
    }
    table
}
