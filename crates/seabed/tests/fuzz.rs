//! The bodies of the fuzz targets on mutated inputs, the same ones every time: a second or two of each.

#[path = "../../../fuzz/src/lib.rs"]
mod fuzz_bodies;

use seabed::data::Dataset;
use seabed::num::random::Seed;
use seabed::observer::{Observer, Progress};
use seabed::posterior::{FitError, Knowledge, PosteriorKind, PosteriorSettings, Start, State};

/// Inputs for each target.
const INPUTS: usize = 40_000;

const TABLES: &[&str] = &[
    "a,b,intervention_targets\n1,2.5,\n-0.0,1e300,a\n3,4,a;b\n",
    "\u{feff}\"x \"\"y\"\", z\",note\r\n5e-324,\"text\nmore\"\r\n.5,\r\n",
    "\u{3b1},\u{3b2} \u{3b3}\n1,2\n\n3,4",
    "a;b\n1,5;2\n",
];

const GRAPHS: &[&str] =
    &["source,target\na,b\nb,c\nc,d\n", "a,b,c\n0,1,0\n0,0,1\n0,0,0\n", ",a,b\na,0,1\nb,1,0\n"];

const MODELS: &[&str] = &[
    r#"{"names":["A","B"],"nodes":[{"name":"B","parents":["A"],"mechanism":{"type":"linear","weights":[1.5]},"noise_sd":0.1},
        {"name":"A","parents":[],"mechanism":{"type":"mlp","w1":[],"b1":[1,-2],"w2":[0.5,1e-3],"b2":0},"noise_sd":2}]}"#,
    r#"{"names":["A","B"],"weights":[1,3],"draws":[
        {"nodes":[{"name":"A","parents":[],"mechanism":{"type":"linear","weights":[]},"noise_sd":1},
                  {"name":"B","parents":["A"],"mechanism":{"type":"mlp","w1":[[1,2]],"b1":[0,0],"w2":[1,1],"b2":3},"noise_sd":1}]},
        {"nodes":[{"name":"A","parents":["B"],"mechanism":{"type":"linear","weights":[2]},"noise_sd":1},
                  {"name":"B","parents":[],"mechanism":{"type":"linear","weights":[]},"noise_sd":1}]}]}"#,
];

const NETWORKS: &[&str] = &[
    r#"<?xml version="1.0"?><sbml xmlns="http://www.sbml.org/sbml/level2"><model name="m&amp;&#10;n"><listOfSpecies><species id="A"/>
<species id="B_1"/><species id="_void_"/></listOfSpecies><listOfReactions><reaction id="A_synthesis"><kineticLaw><listOfParameters>
<parameter id="max" value="0.1"/><parameter id="maxTranslation" value="0.2"/><parameter id="deltaProtein" value="0.2"/><parameter id="a_0" value="1.0"/>
</listOfParameters></kineticLaw></reaction><reaction id="A_degradation"><kineticLaw><listOfParameters><parameter id="delta" value="0.1"/>
</listOfParameters></kineticLaw></reaction><reaction id="B_1_synthesis"><listOfModifiers><modifierSpeciesReference species="A"/>
<modifierSpeciesReference species="B_1"/></listOfModifiers><kineticLaw><listOfParameters><parameter id="max" value="0.1"/>
<parameter id="maxTranslation" value="0.2"/><parameter id="deltaProtein" value="0.2"/><parameter id="bindsAsComplex_1" value="1.0"/>
<parameter id="numActivators_1" value="1.0"/><parameter id="numDeactivators_1" value="1.0"/><parameter id="a_0" value="0.0"/>
<parameter id="a_1" value="1e0"/><parameter id="k_1" value=".5"/><parameter id="k_2" value="0.1"/><parameter id="n_1" value="2"/>
<parameter id="n_2" value="3.5"/></listOfParameters></kineticLaw></reaction><reaction id="B_1_degradation"><kineticLaw><listOfParameters>
<parameter id="delta" value="0.1"/></listOfParameters></kineticLaw></reaction></listOfReactions></model></sbml>"#,
    r#"<!DOCTYPE x [<!ENTITY a "b"><!ENTITY c SYSTEM "file:///etc/passwd">]><sbml><model name="&a;&c;"/></sbml>"#,
];

const SETTINGS: &[&str] = &[
    "kind = \"mcmc-gp\"\ndraws = 20\nnoise = 0.1\nstandardise = true\nprior = [\"er\", \"sf\"]\n",
    "strategy = \"cbed\"\nvalues = \"grid\"\ngrid = [0, 1.5, -2e3]\nrange = [-1, 1]\nbatch = [1, 2, 3]\n",
    "seed = []\nedges_per_node = 1e308\nparticles = 1000000000000\n[design]\nbatch = 9223372036854775807\n",
];

const SET: &[&str] = &[
    "posterior.steps=500\ndraws=7\nkind = bootstrap\nnoise=learned\n",
    "batch=[1, 2]\nrange=[0, 1]\ngoal={edge={from=99,to=1}}\n",
    "seed=18446744073709551615\nworld.kind.x=1\n=\n.=.\n",
];

const KNOWLEDGE: &[&str] = &[
    "forbidden = [[\"a\", \"b\"]]\nrequired = [[\"a\", \"c\"]]\n",
    "tiers = [[\"a\"], [\"b\", \"c\"]]\n",
    "required = [[\"a\", \"b\"], [\"b\", \"c\"], [\"c\", \"a\"]]\n",
];

const TOKENS: &[&str] = &[
    "\"",
    ",",
    "\n",
    "\r\n",
    ";",
    "\t",
    "\0",
    "\x04",
    "\n\x04",
    "\u{feff}",
    "NaN",
    "inf",
    "1e999",
    "NA",
    "-",
    "intervention_targets",
    "source,target",
    "note",
    "a",
    "b",
    "0",
    "1",
    "\u{a0}",
    "\u{e9}",
    "''",
    "\"A\"",
    "\"B\",",
    "[]",
    "{",
    "}",
    "1e308",
    "-1e-320",
    "PK\x03\x04",
    "<!DOCTYPE a [<!ENTITY b \"c\">]>",
    "&b;",
    "&#10;",
    "<model>",
    "/>",
    "_synthesis",
    "_void_",
    "species=",
];

#[test]
fn tables_of_any_bytes_are_read_or_refused() {
    mutate(TABLES, fuzz_bodies::csv);
}

#[test]
fn graphs_of_any_bytes_are_read_or_refused() {
    mutate(GRAPHS, fuzz_bodies::graph);
}

#[test]
fn models_of_any_bytes_are_read_or_refused() {
    mutate(MODELS, fuzz_bodies::scm_json);
}

#[test]
fn gene_networks_of_any_bytes_are_read_or_refused() {
    mutate(NETWORKS, fuzz_bodies::sbml);
}

#[test]
fn settings_of_any_bytes_are_read_or_refused() {
    mutate(SETTINGS, fuzz_bodies::settings);
    mutate(SET, fuzz_bodies::set);
}

#[test]
fn knowledge_of_any_bytes_is_read_or_refused() {
    mutate(KNOWLEDGE, fuzz_bodies::knowledge);
}

/// States of every kind of fit, as they are saved, and without their checksums, as they once were.
#[test]
fn states_of_any_bytes_are_read_or_refused() {
    let columns = vec![vec![0.5, 1.0, -2.0, 0.25, 3.0, 1.5], vec![1.0, 2.5, -3.0, 0.0, 6.5, 2.0]];
    let data = Dataset::from_columns(&["a", "b"], columns, &[]).unwrap();
    let mut seeds = Vec::new();
    for kind in [PosteriorKind::Bootstrap, PosteriorKind::McmcLinear, PosteriorKind::DibsLinear] {
        let settings = PosteriorSettings { kind, draws: 2, particles: 1, steps: 3, ..Default::default() };
        let start = Start::fresh(Seed::new(1));
        let fit = settings.check(None).unwrap().fit(&data, &Knowledge::none(2), start, &Stops);
        let Err(FitError::Stopped(state)) = fit else { panic!("it was stopped") };
        let text = state.to_json();
        let (_, bare) = text.split_once("\"state\":").unwrap();
        seeds.extend([text.clone(), bare.strip_suffix('}').unwrap().to_string()]);
    }
    mutate(&seeds.iter().map(String::as_str).collect::<Vec<_>>(), fuzz_bodies::state);
    // Whatever changes one letter of a saved state is noticed.
    let saved = &seeds[2];
    let at = saved.find("\"seed\":").unwrap() + 7;
    let edited = format!("{}9{}", &saved[..at], &saved[at..]);
    let refusal = State::from_json(&edited).unwrap_err().to_string();
    assert_eq!(refusal, "the saved state is incomplete or was edited; start the fit again");
    let later = saved.replacen("\"seabed-state\":1", "\"seabed-state\":2", 1);
    assert!(
        State::from_json(&later)
            .unwrap_err()
            .to_string()
            .contains("has version 2, but this program knows version 1")
    );
}

/// Stops every fit at once.
struct Stops;

impl Observer for Stops {
    fn progress(&self, _: &Progress<'_>) -> bool {
        false
    }
}

fn mutate(seeds: &[&str], body: fn(&[u8])) {
    let mut random = Random(1);
    let mut pool: Vec<Vec<u8>> = seeds.iter().map(|seed| seed.as_bytes().to_vec()).collect();
    // Inputs larger than the seeds take time and find nothing new.
    let longest = seeds.iter().map(|seed| seed.len()).max().unwrap_or(0).max(1000);
    for _ in 0..INPUTS {
        let mut input = pool[random.below(pool.len())].clone();
        for _ in 0..1 + random.below(4) {
            change(&mut input, &pool, &mut random);
        }
        body(&input);
        if random.below(20) == 0 && input.len() < longest {
            let place = seeds.len() + random.below(100);
            if place < pool.len() { pool[place] = input } else { pool.push(input) }
        }
    }
}

fn change(input: &mut Vec<u8>, pool: &[Vec<u8>], random: &mut Random) {
    let at = random.below(input.len() + 1);
    match random.below(6) {
        0 if at < input.len() => input[at] ^= 1 << random.below(8),
        1 => input.truncate(at),
        2 => {
            let other = &pool[random.below(pool.len())];
            input.truncate(at);
            input.extend_from_slice(&other[random.below(other.len() + 1)..]);
        }
        3 if at < input.len() => {
            let end = input.len().min(at + 1 + random.below(6));
            input.drain(at..end);
        }
        4 => input.insert(at, random.below(256) as u8),
        _ => {
            let token = TOKENS[random.below(TOKENS.len())];
            input.splice(at..at, token.bytes());
        }
    }
}

/// splitmix64
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % limit.max(1) as u64) as usize
    }
}
