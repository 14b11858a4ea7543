//! The variables of a laboratory: units, transforms, what can be set to which values at what cost, and background
//! knowledge. One TOML file, checked once; also the draft of such a file from data.

use std::fmt::Write;

use seabed::data::{Dataset, MOST_VALUE, Names, TARGETS_COLUMN, check_names};
use seabed::design::{Allowed, ConstraintError, Constraints, Levels};
use seabed::graph::Node;
use seabed::posterior::{Knowledge, KnowledgeForm};
use seabed::scm::Intervention;
use seabed::settings::{KeyValue, Keys, SettingsError};
use serde::{Deserialize, Serialize};

use super::LabError;

/// Columns of a form that are not variables.
pub const RESERVED: [&str; 5] = ["experiment", "replicate", TARGETS_COLUMN, "status", "note"];

/// How values are changed before a fit.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Transform {
    /// Not at all.
    #[default]
    None,
    /// ln x, for values above 0.
    Log,
    /// ln (1 + x), for values above -1.
    Log1p,
}

/// A variable as the laboratory sees it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// The unit of its values, in words.
    #[serde(default)]
    pub unit: String,
    /// How values are changed before a fit.
    #[serde(default)]
    pub transform: Transform,
    /// Can it be set?
    #[serde(default)]
    pub intervene: bool,
    /// Lowest and highest value that it can be set to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bounds: Option<[f64; 2]>,
    /// The only values that it can be set to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub levels: Option<Vec<f64>>,
    /// What an experiment on it costs.
    #[serde(default = "one")]
    pub cost: f64,
}

fn one() -> f64 {
    1.0
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct Form {
    /// Columns of data files that are no variables.
    #[serde(default)]
    ignore: Vec<String>,
    variable: Vec<Variable>,
    #[serde(default)]
    knowledge: KnowledgeForm,
}

/// The text of a variables file.
pub fn variables_file(variables: &[Variable], knowledge: &KnowledgeForm, ignore: &[String]) -> String {
    let form = Form { ignore: ignore.to_vec(), variable: variables.to_vec(), knowledge: knowledge.clone() };
    Keys::of(&form, "the variables").to_toml()
}

/// All variables with background knowledge, checked for contradictions.
#[derive(Clone, PartialEq, Debug)]
pub struct Variables {
    list: Vec<Variable>,
    names: Names,
    ignored: Vec<String>,
    knowledge: Knowledge,
}

impl Transform {
    /// The value in the units of the fit; `None` if it has none.
    pub fn apply(self, value: f64) -> Option<f64> {
        let transformed = match self {
            Self::None => value,
            Self::Log => value.ln(),
            Self::Log1p => value.ln_1p(),
        };
        transformed.is_finite().then_some(transformed)
    }

    /// The value in the units of the laboratory.
    pub fn undo(self, value: f64) -> f64 {
        match self {
            Self::None => value,
            Self::Log => value.exp(),
            Self::Log1p => value.exp_m1(),
        }
    }

    fn domain(self) -> &'static str {
        match self {
            Self::None => "finite numbers",
            Self::Log => "numbers above 0 (`log1p` also accepts 0)",
            Self::Log1p => "numbers above -1",
        }
    }
}

impl Variables {
    /// The variables of a TOML text; `source` names it in errors.
    pub fn from_toml(text: &str, source: &str) -> Result<Self, LabError> {
        let wrong = |problem: String| LabError::Variables { source_name: source.to_string(), problem };
        let form: Form = Keys::parse(text, source)?.settings().map_err(|error| match error {
            SettingsError::Keys { problem, .. } => wrong(located(text, &problem)),
            other => other.into(),
        })?;
        let names: Names = form.variable.iter().map(|variable| variable.name.clone()).collect();
        check_names(&names).map_err(|error| wrong(error.to_string()))?;
        if names.is_empty() {
            return Err(wrong("there is no [[variable]]; define at least one".into()));
        }
        let mut list = form.variable;
        for (k, variable) in list.iter_mut().enumerate() {
            if let Some(levels) = &mut variable.levels {
                levels.sort_by(f64::total_cmp);
                levels.dedup();
            }
            let problem = problem_of(variable);
            if let Some(problem) = problem {
                let line = line_of(text, k, "name").map_or(String::new(), |line| format!("line {line}: "));
                return Err(wrong(format!("{line}variable {:?}: {problem}", variable.name)));
            }
        }
        let knowledge = Knowledge::from_form(&form.knowledge, &names)
            .map_err(|error| wrong(format!("[knowledge]: {error}")))?;
        if let Some(both) = form.ignore.iter().find(|name| names.contains(name)) {
            return Err(wrong(format!("{both:?} is both a variable and to be ignored; keep one of the two")));
        }
        let variables = Self { list, names, ignored: form.ignore, knowledge };
        variables.constraints(None, None, 1).check(&variables.names, 1).or_else(|error| match error {
            // A campaign may begin with observations alone.
            ConstraintError::NoTarget => Ok(()),
            other => Err(wrong(other.to_string())),
        })?;
        Ok(variables)
    }

    /// One per name.
    pub fn list(&self) -> &[Variable] {
        &self.list
    }

    /// The names, in the order of the file.
    pub fn names(&self) -> &Names {
        &self.names
    }

    /// Columns of data files that are left out wherever they are.
    pub fn ignored(&self) -> &[String] {
        &self.ignored
    }

    /// Forbidden and required edges.
    pub fn knowledge(&self) -> &Knowledge {
        &self.knowledge
    }

    /// What can be set, in the units of the fit.
    pub fn constraints(
        &self,
        budget: Option<f64>,
        max_repeats: Option<usize>,
        max_targets: usize,
    ) -> Constraints {
        let allowed = |variable: &Variable| {
            let seen = |value: f64| variable.transform.apply(value).unwrap_or(f64::NAN);
            let levels = match (&variable.levels, variable.bounds) {
                (Some(levels), _) => Levels::List(levels.iter().map(|&level| seen(level)).collect()),
                (None, Some([low, high])) => Levels::Range(seen(low), seen(high)),
                (None, None) => return None,
            };
            variable.intervene.then_some(Allowed { levels, cost: variable.cost })
        };
        let variables = self.list.iter().map(allowed).collect();
        Constraints { variables, experiment_cost: 0.0, budget, max_repeats, max_targets }
    }

    /// Converts a design from the units of the fit to those of the laboratory: levels exactly, other values to four
    /// digits, because nobody sets a dial to sixteen, within the bounds.
    pub fn to_laboratory(&self, design: &Intervention) -> Vec<(Node, f64)> {
        let value = |&(node, value): &(Node, f64)| {
            let variable = &self.list[node];
            let raw = variable.transform.undo(value);
            let raw = match (&variable.levels, variable.bounds) {
                (Some(levels), _) => Levels::List(levels.clone()).nearest(raw),
                (None, Some([low, high])) => four_digits(raw).clamp(low, high),
                (None, None) => four_digits(raw),
            };
            (node, raw)
        };
        design.settings().iter().map(value).collect()
    }

    /// Converts a design to the units of the fit; `None` if a value is outside the domain of its transform.
    pub fn to_fit(&self, settings: &[(Node, f64)]) -> Option<Intervention> {
        let pairs: Option<Vec<(Node, f64)>> = settings
            .iter()
            .map(|&(node, value)| Some((node, self.list[node].transform.apply(value)?)))
            .collect();
        Intervention::new(pairs?).ok()
    }

    /// What is wrong with a value of a variable, if anything.
    pub fn refuses(&self, node: Node, value: f64) -> Option<String> {
        if value.abs() > MOST_VALUE {
            return Some(format!(
                "{value:e} is too large to compute with: values must lie between -{MOST_VALUE:e} and {MOST_VALUE:e}"
            ));
        }
        let transform = self.list[node].transform;
        let fits = transform.apply(value).is_some();
        (!fits).then(|| {
            format!(
                "{value} is invalid: the transform `{}` accepts {}",
                name_of(transform),
                transform.domain()
            )
        })
    }
}

/// A problem whose key begins with `variable[K]`, with the line and the name of that variable instead.
fn located(text: &str, problem: &str) -> String {
    let found = problem.strip_prefix("variable[").and_then(|rest| {
        let (number, rest) = rest.split_once(']')?;
        Some((number.parse::<usize>().ok()?, rest.trim_start_matches(['.', ':', ' '])))
    });
    let Some((k, rest)) = found else { return problem.to_string() };
    let key = rest.split([':', '[', '.']).next().unwrap_or("");
    let line = line_of(text, k, key).map_or(String::new(), |line| format!("line {line}: "));
    let name = line_of(text, k, "name").and_then(|line| text.lines().nth(line - 1)?.split_once('='));
    let name = name.map_or(format!("variable {}", k + 1), |(_, name)| format!("variable {}", name.trim()));
    format!("{line}{name}: {rest}")
}

/// The line, counted from 1, on which the variable with this number has the key, or begins if it does not have it.
fn line_of(text: &str, variable: usize, key: &str) -> Option<usize> {
    let mut lines = text.lines().enumerate().skip_while({
        let mut seen = 0;
        move |(_, line)| {
            seen += usize::from(is_variable(line));
            seen <= variable
        }
    });
    let (first, _) = lines.next()?;
    let of_variable = lines.take_while(|(_, line)| !line.trim_start().starts_with('['));
    let keyed = |line: &str| line.split_once('=').is_some_and(|(left, _)| left.trim() == key);
    Some(of_variable.into_iter().find(|(_, line)| keyed(line)).map_or(first, |(at, _)| at) + 1)
}

/// Does a `[[variable]]` begin here?
fn is_variable(line: &str) -> bool {
    line.split('#').next().is_some_and(|line| line.split_whitespace().collect::<String>() == "[[variable]]")
}

fn name_of(transform: Transform) -> &'static str {
    match transform {
        Transform::None => "none",
        Transform::Log => "log",
        Transform::Log1p => "log1p",
    }
}

fn problem_of(variable: &Variable) -> Option<String> {
    if RESERVED.contains(&variable.name.as_str()) {
        return Some("forms have a column of this name; rename the variable".into());
    }
    if variable.bounds.is_some() && variable.levels.is_some() {
        return Some("it has both bounds and levels; keep only one".into());
    }
    if variable.intervene && variable.bounds.is_none() && variable.levels.is_none() {
        return Some(
            "it can be intervened on; give its values: `bounds = [LOW, HIGH]` or `levels = […]`".into(),
        );
    }
    let values = variable.bounds.iter().flatten().chain(variable.levels.iter().flatten());
    let outside = values.copied().find(|&value| variable.transform.apply(value).is_none());
    if let Some(value) = outside {
        return Some(format!(
            "it can be set to {value}, but the transform `{}` accepts {}",
            name_of(variable.transform),
            variable.transform.domain()
        ));
    }
    None
}

/// Rounds to four significant digits, which is more than a pipette can do.
pub fn four_digits(value: f64) -> f64 {
    format!("{value:.3e}").parse().unwrap_or(value)
}

/// Rounds to four significant digits, outwards.
fn rounded_outward(value: f64, direction: f64) -> f64 {
    let rounded = four_digits(value);
    let inside = (rounded - value) * direction < 0.0;
    let unit = 10f64.powf(value.abs().log10().floor() - 3.0);
    if inside && unit.is_finite() { four_digits(rounded + direction * unit) } else { rounded }
}

/// A draft variables file for data, for the user to edit: every variable can be set, within the observed range; `ignored` are
/// the columns of the file that are no variables, and are left out of all later files too.
pub fn draft(data: &Dataset, source: &str, ignored: &[String]) -> String {
    let ignored = match ignored {
        [] => String::new(),
        names => {
            let names: Vec<String> =
                names.iter().map(|name| KeyValue::from(name.as_str()).to_string()).collect();
            format!("ignore = [{}]  # columns of data files that are no variables\n\n", names.join(", "))
        }
    };
    // The name of a file may contain a line break, which would end the comment.
    let source = source.replace(char::is_control, " ");
    let mut text = format!(
        "# The variables of {source}. Edit this file, then create the campaign from it.\n\
         #\n\
         # unit       of the values, in words\n\
         # transform  before a fit: \"none\", \"log\" (values above 0) or \"log1p\" (values above -1)\n\
         # intervene  can the laboratory set the variable?\n\
         # bounds     lowest and highest value it can be set to; or `levels = [0, 1, 10]`: the only ones\n\
         # cost       of an experiment on it\n\n\
         {ignored}[knowledge]\n\
         forbidden = []  # [\"A\", \"B\"]: A is not a direct cause of B\n\
         required = []   # [\"A\", \"B\"]: A is a direct cause of B\n\
         tiers = []      # [\"A\"], [\"B\", \"C\"]: no later tier causes an earlier one\n"
    );
    for (name, column) in data.names().iter().zip(data.columns()) {
        let variable = Variable::drafted(name, column.iter().copied());
        let transform = match variable.transform {
            Transform::None => "\"none\"",
            _ => "\"log\"  # its values span more than two orders of magnitude",
        };
        let [low, high] = variable.bounds.unwrap_or_default();
        let _ = write!(
            text,
            "\n[[variable]]\nname = {}\nunit = \"\"\ntransform = {transform}\nintervene = true\n\
             bounds = [{low:?}, {high:?}]  # the observed range\ncost = 1\n",
            KeyValue::from(name.as_str()),
        );
    }
    text
}

impl Variable {
    /// A draft for a variable with these values: it can be set within their range.
    pub fn drafted(name: &str, values: impl Iterator<Item = f64> + Clone) -> Self {
        let low = values.clone().fold(f64::INFINITY, f64::min);
        let high = values.fold(f64::NEG_INFINITY, f64::max);
        let wide = low > 0.0 && high / low > 100.0;
        Self {
            name: name.to_string(),
            unit: String::new(),
            transform: if wide { Transform::Log } else { Transform::None },
            intervene: true,
            bounds: Some([rounded_outward(low, -1.0), rounded_outward(high, 1.0)]),
            levels: None,
            cost: one(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use seabed::graph::NodeSet;

    const TWO: &str = r#"
        [knowledge]
        forbidden = [["b", "a"]]
        [[variable]]
        name = "a"
        transform = "log"
        intervene = true
        bounds = [0.1, 1000]
        [[variable]]
        name = "b"
        intervene = true
        levels = [5, 0, 2.5]
        cost = 3
    "#;

    fn of(text: &str) -> Result<Variables, LabError> {
        Variables::from_toml(text, "v.toml")
    }

    #[test]
    fn values_go_to_the_fit_and_back() {
        let variables = of(TWO).unwrap();
        let constraints = variables.constraints(None, None, 1);
        let levels = |node: Node| constraints.variables[node].clone().unwrap().levels;
        assert_eq!(levels(0), Levels::Range(0.1f64.ln(), 1000f64.ln()));
        assert_eq!(levels(1), Levels::List(vec![0.0, 2.5, 5.0]));
        assert!(variables.knowledge().forbids(1, 0));
        for value in [0.1, 12.35, 1000.0] {
            let design = variables.to_fit(&[(0, value), (1, 2.5)]).unwrap();
            assert_eq!(variables.to_laboratory(&design), [(0, value), (1, 2.5)]);
        }
        // Rounding never leaves the bounds.
        let edge = Intervention::new([(0, 1000f64.ln() + 1e-9)]).unwrap();
        assert_eq!(variables.to_laboratory(&edge), [(0, 1000.0)]);
        for (transform, values) in [(Transform::Log1p, [0.0, 3.0, 1e6]), (Transform::Log, [1e-6, 1.0, 1e6])] {
            for value in values {
                let back = transform.undo(transform.apply(value).unwrap());
                assert!((back - value).abs() <= 1e-12 * (1.0 + value), "{back} {value}");
            }
        }
    }

    #[test]
    fn errors_name_the_problem() {
        let cases = [
            ("", "missing field `variable`"),
            ("variable = []", "there is no [[variable]]"),
            ("[[variable]]\nname = \"status\"", "forms have a column of this name"),
            ("[[variable]]\nname = \"a\"\nintervene = true", "give its values"),
            ("[[variable]]\nname = \"a\"\nbounds = [0, 1]\nlevels = [1]", "keep only one"),
            (
                "[[variable]]\nname = \"a\"\nbounds = [0, 1]\ntransform = \"log\"",
                "`log` accepts numbers above 0",
            ),
            ("[[variable]]\nname = \"a\"\nintervene = true\nbounds = [2, 1]", "the lower one first"),
            (
                "[[variable]]\nname = \"a\"\nintervene = true\nbounds = [1, 2]\ncost = 0",
                "costs must be above 0",
            ),
            ("[[variable]]\nname = \"a\"\n[[variable]]\nname = \"a\"", "both called"),
            (
                "[[variable]]\nname = \"a\"\n[knowledge]\nforbidden = [[\"a\", \"c\"]]",
                "\"c\" is not a variable",
            ),
            ("[[variable]]\nname = \"a\"\nbound = [1, 2]", "unknown field `bound`"),
            (
                "[[variable]]\nname = \"a\"\n\n[[variable]] # the second\nname = \"b\"\ncost = \"high\"",
                "v.toml: line 6: variable \"b\": cost: the text \"high\" is not what is expected here: write a number",
            ),
            (
                "[[variable]]\nname = \"a\"\n[[variable]]\nname = \"b\"\nintervene = true",
                "v.toml: line 4: variable \"b\": it can be intervened on",
            ),
            ("[[variable]]\nname = \"a\"\nbounds = [1, 2\ncost = 1", "v.toml: line 3"),
        ];
        for (text, part) in cases {
            let message = of(text).unwrap_err().to_string();
            assert!(message.starts_with("v.toml: ") && message.contains(part), "{text}: {message}");
        }
    }

    #[test]
    fn a_draft_is_a_variables_file() {
        let names: Names = ["a\"b".to_string(), "c".to_string()].into();
        let columns = vec![vec![0.01, 50.0, 3.0], vec![-1.23456, 0.0, 2.00004]];
        let data = Dataset::with_regime(names, columns, NodeSet::empty(2)).unwrap();
        let variables = of(&draft(&data, "d.csv", &["plate".into()])).unwrap();
        assert_eq!(variables.list()[0].transform, Transform::Log);
        assert_eq!(variables.list()[1].bounds, Some([-1.235, 2.001]));
        assert!(variables.list().iter().all(|variable| variable.intervene));
    }
}
