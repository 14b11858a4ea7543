//! What a page says in words: where a run stands, the effects that are believed in, and what the words mean. The same for
//! simulated worlds and for laboratories.

use crate::model::{EffectRow, RunView, Table};
use crate::short::short;

/// Edges of a sentence, and effects of a table; what is left out is counted.
const MOST_EDGES: usize = 5;
const MOST_EFFECTS: usize = 30;

/// From this probability on an edge is called probable; those between it and its complement are undecided.
const PROBABLE: f64 = 0.9;

/// What was asked, what is believed, what is undecided, what to do next; then what to beware of, a paragraph each.
pub(crate) fn opening(run: &RunView) -> Vec<String> {
    let stands = [run.asked.clone(), believed(run), undecided(run), run.next.clone()];
    let stands = stands.iter().filter(|part| !part.is_empty()).map(String::as_str).collect::<Vec<_>>();
    // Without a question there is nothing to answer: figures alone.
    let first = (!run.asked.is_empty()).then(|| stands.join(" "));
    let cautions = run.cautions.iter().map(|caution| format!("Caution: {caution}."));
    first.into_iter().chain(cautions).collect()
}

fn believed(run: &RunView) -> String {
    let mut edges = edges(run, |p| p >= PROBABLE);
    edges.sort_by(|a, b| b.2.total_cmp(&a.2));
    let right = edges.iter().filter(|(i, j, _)| run.is_true(*i, *j) == Some(true)).count();
    let right = run.truth.as_ref().map_or(String::new(), |_| format!(", {right} of them true"));
    let said = match edges.len() {
        0 => "No edge is 90 % probable yet.".into(),
        1 => format!("One edge is at least 90 % probable{right}: {}.", listed(run, &edges)),
        count => format!("{count} edges are at least 90 % probable{right}: {}.", listed(run, &edges)),
    };
    match run.truth.as_ref().map(|truth| truth.iter().flatten().filter(|edge| **edge).count()) {
        None => said,
        Some(1) => said + " The true graph has one edge.",
        Some(count) => format!("{said} The true graph has {count} edges."),
    }
}

fn undecided(run: &RunView) -> String {
    let mut edges = edges(run, |p| p > 1.0 - PROBABLE && p < PROBABLE);
    edges.sort_by(|a, b| (a.2 - 0.5).abs().total_cmp(&(b.2 - 0.5).abs()));
    match edges.len() {
        0 => "No edge is between 10 and 90 %.".into(),
        1 => format!("One edge is undecided, between 10 and 90 %: {}.", listed(run, &edges)),
        count => format!("{count} edges are undecided, between 10 and 90 %: {}.", listed(run, &edges)),
    }
}

/// Edges whose probability is as asked for: (from, to, probability).
fn edges(run: &RunView, wanted: impl Fn(f64) -> bool) -> Vec<(usize, usize, f64)> {
    let nodes = run.names.len();
    let pairs = (0..nodes).flat_map(|i| (0..nodes).map(move |j| (i, j)));
    pairs.map(|(i, j)| (i, j, run.probability(i, j))).filter(|edge| wanted(edge.2)).collect()
}

/// `A → B (0.98), C → D (0.91) and 3 more`.
fn listed(run: &RunView, edges: &[(usize, usize, f64)]) -> String {
    let edge = |&(i, j, p): &(usize, usize, f64)| format!("{} → {} ({p:.2})", run.names[i], run.names[j]);
    let shown: Vec<String> = edges.iter().take(MOST_EDGES).map(edge).collect();
    let more = edges.len() - shown.len();
    let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
    shown.join(", ") + &rest
}

/// The table of effects.
pub(crate) fn effects(effects: &[EffectRow]) -> Table {
    let row = |effect: &EffectRow| {
        let [low, high] = effect.interval;
        vec![
            format!("{} → {}", effect.from, effect.to),
            format!("{} {}", short(effect.mean), effect.unit).trim_end().to_string(),
            // In one line, however narrow the page is.
            format!("{}\u{a0}to\u{a0}{}", short(low), short(high)),
            format!("{:.2}", effect.not_zero),
        ]
    };
    let more = match effects.len().saturating_sub(MOST_EFFECTS) {
        0 => String::new(),
        more => format!(" {more} less probable ones are left out."),
    };
    let header = ["set → look", "change per unit", "90 % interval", "any"];
    Table {
        title: "Effects".into(),
        note: format!(
            "What setting one variable does to another, where that is more probable than not; the last column is the \
             probability of any effect.{more}"
        ),
        header: header.map(String::from).to_vec(),
        rows: effects.iter().take(MOST_EFFECTS).map(row).collect(),
    }
}

/// Words of pages and what they mean.
const GLOSSARY: [(&str, &str); 17] = [
    (
        "edge",
        "A → B: A is a direct cause of B among the variables here. Its probability is the share of the belief in graphs that have it.",
    ),
    (
        "effect",
        "How much the mean of B changes per unit when A is set higher, through all paths; averaged over graphs and parameters.",
    ),
    ("intervention", "An experiment that sets a variable: do(A = 2) sets A to 2, whatever its causes say."),
    (
        "information",
        "What a batch is expected to teach, in the unit of its strategy; it counts only what the drawn models can tell.",
    ),
    (
        "entropy",
        "How uncertain the edges are, in nats: 0 when all are known, 0.69 for each edge that is as likely as not.",
    ),
    ("pending", "Proposed, but without a recorded result."),
    ("E-SHD", "Expected number of wrong edges: missing, too many, or turned round."),
    (
        "E-SID",
        "Expected number of pairs whose effect would be computed wrongly from the learned graph instead of the true one.",
    ),
    ("AUROC", "How well probabilities rank true edges above the others: 1 is perfect, 0.5 is chance."),
    (
        "AUPRC",
        "The share of true edges among the most probable ones, averaged over how many are taken: 1 is perfect.",
    ),
    ("E-F1", "Expected balance of edges that are found and edges that are right: 1 is perfect."),
    ("Brier score", "Mean squared error of the edge probabilities."),
    (
        "Calibration error",
        "How far probabilities are from the share of such edges that are true: 0 is perfect.",
    ),
    ("Edge loss", "Squared errors of the edge probabilities, summed over all pairs."),
    ("Weight of the truth", "The share of the belief in exactly the true graph."),
    ("Wrong answers", "Expected number of wrong answers to the question that was asked."),
    ("Similar parents", "How many of the parents asked for are right: 1 if they are exactly the true ones."),
];

/// What the words on a page mean.
pub(crate) fn glossary(body: &str) -> Table {
    let body = body.to_lowercase();
    let used = GLOSSARY.iter().filter(|(word, _)| body.contains(&word.to_lowercase()));
    Table {
        title: "Glossary".into(),
        note: String::new(),
        header: vec!["word".into(), "meaning".into()],
        rows: used.map(|(word, meaning)| vec![word.to_string(), meaning.to_string()]).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(probabilities: [[f64; 3]; 3], truth: Option<[[bool; 3]; 3]>) -> RunView {
        RunView {
            names: ["raf", "mek", "erk"].map(String::from).to_vec(),
            edge_probabilities: probabilities.map(Vec::from).to_vec(),
            truth: truth.map(|truth| truth.map(Vec::from).to_vec()),
            asked: "Which cause which?".into(),
            next: "Measure.".into(),
            cautions: vec!["few rows".into()],
            ..RunView::default()
        }
    }

    #[test]
    fn the_opening_says_what_is_asked_believed_undecided_and_next() {
        let p = [[0.0, 0.97, 0.55], [0.02, 0.0, 0.99], [0.2, 0.0, 0.0]];
        let said = [
            "Which cause which? 2 edges are at least 90 % probable: mek → erk (0.99), raf → mek (0.97). 2 edges are undecided, \
             between 10 and 90 %: raf → erk (0.55), erk → raf (0.20). Measure.",
            "Caution: few rows.",
        ];
        assert_eq!(opening(&run(p, None)), said);
        let truth = [[false, true, false], [false; 3], [false; 3]];
        let compared = opening(&run(p, Some(truth))).remove(0);
        assert!(compared.contains("probable, 1 of them true: mek → erk"), "{compared}");
        assert!(compared.contains("(0.97). The true graph has one edge."), "{compared}");
        let nothing = opening(&run([[0.0; 3]; 3], None)).remove(0);
        assert_eq!(
            nothing,
            "Which cause which? No edge is 90 % probable yet. No edge is between 10 and 90 %. Measure."
        );
        assert!(opening(&RunView::default()).is_empty());
    }

    #[test]
    fn long_lists_are_cut_and_counted() {
        let all = run([[0.95; 3]; 3], None);
        assert!(
            believed(&all).starts_with("6 edges are at least") && believed(&all).ends_with(" and 1 more.")
        );
        let effect = EffectRow {
            from: "A".into(),
            to: "B".into(),
            unit: "nM".into(),
            mean: 2.0,
            ..EffectRow::default()
        };
        let table = effects(&vec![effect; MOST_EFFECTS + 2]);
        assert_eq!(table.rows.len(), MOST_EFFECTS);
        assert!(table.note.ends_with("2 less probable ones are left out."), "{}", table.note);
        assert_eq!(table.rows[0], ["A → B", "2 nM", "0\u{a0}to\u{a0}0", "0.00"]);
    }

    #[test]
    fn the_glossary_has_the_words_of_the_page() {
        let words =
            |body: &str| glossary(body).rows.into_iter().map(|mut row| row.remove(0)).collect::<Vec<_>>();
        assert_eq!(words("<h3>Effects</h3> and edges, 3 Pending"), ["edge", "effect", "pending"]);
        assert!(words("<p>No runs.</p>").is_empty());
    }
}
