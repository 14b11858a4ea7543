//! A study as a grid: a list in a configuration stands for one run per value, a list of tables for one run per table.
//!
//! The seed varies slowest, so that every finished part of a study compares all strategies on the same worlds.

use std::collections::{BTreeMap, BTreeSet};

use seabed::settings::{Keys, SettingsError};

use super::StudyError;
use super::config::Config;

/// A key that differs between runs, and its value in one of them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Factor {
    /// For example `design.strategy`.
    pub key: String,
    /// As written in TOML, but without quotes.
    pub value: String,
}

/// One run of a study.
#[derive(Clone, PartialEq, Debug)]
pub struct Planned {
    /// Its number in the study.
    pub index: usize,
    /// Its configuration.
    pub config: Config,
    /// What distinguishes it from other runs.
    pub factors: Vec<Factor>,
    /// World and posterior, in words; runs of one setting are compared.
    pub setting: String,
    /// Strategy and values, in words; one line in a figure.
    pub line: String,
}

/// Keys whose value is a list by itself.
const LISTS: [&str; 4] = ["design.grid", "design.range", "design.forbidden", "world.weight-range"];

/// Said in words where it differs between runs.
const REPLACEMENT: &str = "design.without-replacement";

/// Groups that vary slowest, the slowest first.
const SLOW: [&str; 3] = ["seed", "world", "posterior"];

/// More runs are a typing error.
const MOST_RUNS: usize = 50_000;

/// All runs of a study.
pub fn expand(keys: &Keys) -> Result<Vec<Planned>, StudyError> {
    let mut keys = keys.clone();
    seeds(&mut keys)?;
    let source = keys.source();
    let tables = keys.alternatives(&LISTS, &SLOW, "design", MOST_RUNS)?;
    // Nothing else depends on the seed, and it varies slowest: the runs of the first seed are planned, those of the others are
    // the same but for it.
    let seed = |table: &Keys| table.get("seed").and_then(|seed| seed.as_integer());
    let first = tables.iter().take_while(|table| seed(table) == seed(&tables[0])).count();
    let pattern = of_one_seed(&tables[..first], source, first < tables.len())?;
    if tables.iter().step_by(first).map(seed).collect::<BTreeSet<_>>().len() < tables.len().div_ceil(first) {
        return Err(twice(source));
    }
    let runs = tables.iter().enumerate().map(|(index, table)| {
        let mut run = pattern[index % first].clone();
        run.config.seed = match seed(table).map(u64::try_from) {
            Some(Ok(seed)) => seed,
            _ => Config::from_keys(table)?.seed,
        };
        run.factors.iter_mut().filter(|factor| factor.key == "seed").for_each(|factor| {
            factor.value = run.config.seed.to_string();
        });
        Ok(Planned { index, ..run })
    });
    runs.collect()
}

/// The runs of one seed, which is a factor if there are others.
fn of_one_seed(tables: &[Keys], source: &str, others: bool) -> Result<Vec<Planned>, StudyError> {
    let configs = tables.iter().map(Config::from_keys).collect::<Result<Vec<_>, _>>()?;
    let flat: Vec<BTreeMap<String, String>> = configs.iter().map(flattened).collect();
    if flat.iter().collect::<BTreeSet<_>>().len() < flat.len() {
        return Err(twice(source));
    }
    let varies = |key: &str| key == "seed" && others || flat.iter().any(|keys| keys[key] != flat[0][key]);
    let varied: Vec<&String> = flat[0].keys().filter(|key| varies(key)).collect();
    let noted = varies(REPLACEMENT);
    let lines: Vec<(String, String)> = flat.iter().map(|keys| line(keys, &varied)).collect();
    let mut kinds: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (strategy, rest) in &lines {
        kinds.entry(strategy).or_default().insert(rest);
    }
    let planned = configs.iter().enumerate().map(|(index, config)| {
        let factors =
            varied.iter().map(|key| Factor { key: (*key).clone(), value: flat[index][*key].clone() });
        let (strategy, rest) = &lines[index];
        // The rest is added where a strategy occurs in several variants.
        let alone = kinds[strategy.as_str()].len() == 1;
        let line = if alone { strategy.clone() } else { format!("{strategy} {rest}") };
        let noted = noted && config.design.without_replacement;
        Planned {
            index,
            config: config.clone(),
            factors: factors.collect(),
            setting: setting(config, &flat[index], &varied),
            line: if noted { format!("{line}, without replacement") } else { line },
        }
    });
    Ok(planned.collect())
}

/// `seeds = 10` stands for ten seeds from `seed` on.
fn seeds(keys: &mut Keys) -> Result<(), StudyError> {
    let source = keys.source().to_string();
    let Some(count) = keys.remove("seeds") else { return Ok(()) };
    let first = keys.get("seed").map_or(Some(0), |first| first.as_integer());
    match (count.as_integer(), first) {
        (Some(count), Some(first)) if (1..=MOST_RUNS as i64).contains(&count) => {
            keys.insert("seed", (first..first.saturating_add(count)).collect::<Vec<_>>());
            Ok(())
        }
        (_, None) => Err(wrong(&source, "both `seeds` and a list of `seed` are given; keep only one".into())),
        _ => {
            let problem = format!("seeds = {count}: choose a positive whole number, at most {MOST_RUNS}");
            Err(wrong(&source, problem))
        }
    }
}

/// All keys of a configuration with their values as text.
fn flattened(config: &Config) -> BTreeMap<String, String> {
    config.to_keys().flattened().into_iter().collect()
}

/// The strategy, and what else differs in the design.
fn line(keys: &BTreeMap<String, String>, varied: &[&String]) -> (String, String) {
    let named = ["design.strategy", REPLACEMENT];
    let others = varied.iter().filter(|key| key.starts_with("design.") && !named.contains(&key.as_str()));
    let rest: Vec<String> = others
        .map(|key| match key.as_str() {
            "design.values" => keys[*key].clone(),
            _ => format!("{} {}", key.trim_start_matches("design."), keys[*key]),
        })
        .collect();
    (keys["design.strategy"].clone(), rest.join(", "))
}

fn setting(config: &Config, keys: &BTreeMap<String, String>, varied: &[&String]) -> String {
    const NAMED: [&str; 5] = ["world.kind", "world.nodes", "world.mechanism", "world.file", "posterior.kind"];
    let mut parts = config.world.words();
    parts.push(keys["posterior.kind"].clone());
    let rest = varied.iter().filter(|key| {
        !key.starts_with("design.") && key.as_str() != "seed" && !NAMED.contains(&key.as_str())
    });
    parts.extend(rest.map(|key| format!("{key} {}", keys[*key])));
    parts.join(", ")
}

fn twice(source: &str) -> StudyError {
    wrong(source, "two runs are the same; list each value only once".into())
}

fn wrong(source: &str, problem: String) -> StudyError {
    SettingsError::Keys { source_name: source.to_string(), problem }.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn planned(text: &str) -> Vec<Planned> {
        expand(&Keys::parse(text, "text").unwrap()).unwrap()
    }

    #[test]
    fn lists_make_a_grid_and_each_table_in_a_list_is_one_design() {
        let study = planned(
            "seeds = 2\n[world]\nkind = [\"er\", \"sf\"]\n[[design]]\nstrategy = \"random\"\n[[design]]\n\
             strategy = \"soft-cbed\"\nvalues = [\"gp-ucb\", \"fixed\"]\n",
        );
        let found: Vec<(u64, &str, &str)> =
            study.iter().map(|run| (run.config.seed, run.setting.as_str(), run.line.as_str())).collect();
        let er = "er, 20 variables, nonlinear, dibs-nonlinear";
        assert_eq!(found[0], (0, er, "random"));
        assert_eq!(found[1], (0, er, "soft-cbed gp-ucb"));
        assert_eq!(found[2], (0, er, "soft-cbed fixed"));
        assert_eq!(found[3].1, "sf, 20 variables, nonlinear, dibs-nonlinear");
        assert_eq!(found[6], (1, er, "random"));
        assert_eq!(study.len(), 12);
        let keys: Vec<&str> = study[0].factors.iter().map(|factor| factor.key.as_str()).collect();
        assert_eq!(keys, ["design.strategy", "design.values", "seed", "world.kind"]);
    }

    /// As if every seed stood in a file of its own.
    #[test]
    fn runs_of_every_seed_are_those_of_the_seed_alone() {
        let text =
            "rounds = [1, 2]\n[world]\nkind = [\"er\", \"sf\"]\n[design]\nvalues = [\"fixed\", \"gp-ucb\"]\n";
        let all = planned(&format!("seed = [3, [7, 5]]\n{text}"));
        assert_eq!(all.len(), 24);
        for (group, seed) in all.chunks(8).zip([3, 7, 5]) {
            for (run, alone) in group.iter().zip(planned(&format!("seed = {seed}\n{text}"))) {
                assert_eq!(run.config, alone.config);
                assert_eq!((&run.setting, &run.line), (&alone.setting, &alone.line));
                let (of_seed, others): (Vec<_>, Vec<_>) =
                    run.factors.iter().cloned().partition(|factor| factor.key == "seed");
                assert_eq!(others, alone.factors);
                assert_eq!(of_seed[0].value, seed.to_string());
            }
        }
        assert!(all.iter().enumerate().all(|(index, run)| run.index == index));
    }

    #[test]
    fn a_value_that_is_a_list_is_one_value() {
        assert_eq!(planned("[design]\nrange = [0, 1]\n").len(), 1);
        let two = planned("[design]\nrange = [[0.0, 1.0], [0.0, 2.0]]\nstrategy = [\"cbed\", \"random\"]\n");
        assert_eq!(two.len(), 4);
        assert_eq!(two[0].line, "cbed range [0.0, 1.0]");
        let forbidden =
            planned("[design]\nforbidden = [\"X1\", \"X2\"]\ngoal = [\"parents=X1\", \"edge=X1,X2\"]\n");
        assert_eq!(forbidden.len(), 2);
        assert_eq!(forbidden[0].config.design.forbidden, ["X1", "X2"]);
        assert_eq!(forbidden[1].line, "soft-cbed goal edge=X1,X2");
    }

    #[test]
    fn lines_without_replacement_say_so_where_others_are_with() {
        let lines = |text: &str| planned(text).into_iter().map(|run| run.line).collect::<Vec<_>>();
        let both = "[[design]]\nstrategy = \"random\"\nwithout-replacement = [false, true]\n[[design]]\n\
                    strategy = \"cbed\"\nvalues = [\"fixed\", \"grid\"]\nwithout-replacement = true\n";
        let found = ["random", "random, without replacement"];
        let more = ["cbed fixed, without replacement", "cbed grid, without replacement"];
        assert_eq!(lines(both), [found, more].concat());
        let all = "[design]\nstrategy = [\"random\", \"cbed\"]\nwithout-replacement = true\n";
        assert_eq!(lines(all), ["random", "cbed"]);
    }

    #[test]
    fn mistakes_are_refused() {
        let of = |text: &str| expand(&Keys::parse(text, "text").unwrap()).unwrap_err().to_string();
        for twice in ["seed = [1, 1]", "seed = [1, 2, 1]", "seed = [1, 1, 2]", "seed = 1\nrounds = [1, 1]"] {
            assert!(of(twice).contains("two runs are the same"), "{twice}");
        }
        assert!(of("seed = [1, -1]").contains("seed: -1 is not what is expected here"));
        assert!(of("seeds = 0").contains("positive"));
        assert!(of("seed = []").contains("seed = []: list at least one value"));
        assert!(of("[world]\nnodes = []").contains("world.nodes = []: list at least one value"));
        let list = (1..=10_000).map(|k| k.to_string()).collect::<Vec<_>>().join(", ");
        let many = format!("rounds = [{list}]\n[world]\nnodes = [{list}]");
        assert!(of(&many).contains("the lists combine to 100000000 runs; a study has at most 50000"));
        assert!(of("seeds = 3\nseed = [1]").contains("keep only one"));
        assert!(
            of("[world]\nnodes = [\"many\"]")
                .contains("the text \"many\" is not what is expected here: write a whole number")
        );
    }
}
