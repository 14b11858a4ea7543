//! A small campaign of three variables, and helpers for all tests.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use seabed::design::Strategy;
use seabed::num::random::{Draws, Purpose, Seed};
use seabed::posterior::PosteriorKind;
use seabed_lab::{AddOptions, Lab, LabError, ProposalRequest, State, write_form};

pub const VARIABLES: &str = r#"
[[variable]]
name = "a"
unit = "nM"
transform = "log"
intervene = true
bounds = [0.1, 100]
[[variable]]
name = "b"
intervene = true
levels = [-1, 0, 1]
cost = 2
[[variable]]
name = "c"
"#;

pub const WAIT: Duration = Duration::from_secs(30);

pub fn new_lab(folder: &Path) -> (PathBuf, Lab) {
    let path = folder.join("cells.lab");
    Lab::create(&path, VARIABLES, 7, "").unwrap();
    let lab = Lab::open(&path, WAIT).unwrap();
    (path, lab)
}

pub fn draws(seed: u64) -> Draws {
    Seed::new(seed).stream(Purpose::Noise).draws()
}

/// ln a ~ N, b = ln a + noise, c = -b + noise.
pub fn observations(rows: usize, seed: u64) -> String {
    let mut draws = draws(seed);
    let mut text = String::from("a,b,c\n");
    for _ in 0..rows {
        let ln_a = draws.normal();
        let b = ln_a + 0.3 * draws.normal();
        text += &format!("{},{b},{}\n", ln_a.exp(), -b + 0.3 * draws.normal());
    }
    text
}

pub fn add(lab: &mut Lab, folder: &Path, text: &str, again: bool) -> Result<seabed_lab::Added, LabError> {
    let path = folder.join("data.csv");
    fs::write(&path, text).unwrap();
    lab.add(&path, &AddOptions { again, ..AddOptions::default() }, &())
}

/// A quick request: the bookkeeping is under test.
pub fn request(batch: usize, replicates: usize) -> ProposalRequest {
    let mut request = ProposalRequest::default();
    request.posterior.kind = PosteriorKind::Bootstrap;
    request.posterior.draws = 3;
    request.design.strategy = Strategy::GreedyCbed;
    request.design.batch = batch;
    request.design.replicates = replicates.into();
    request.design.samples = 4;
    request.design.evaluations = 2;
    request
}

pub fn propose(lab: &mut Lab, request: &ProposalRequest) -> Result<seabed_lab::Proposed, LabError> {
    lab.propose(request, "", &())
}

pub fn form(lab: &Lab, proposal: i64) -> String {
    let state = lab.state().unwrap();
    let mut out = Vec::new();
    write_form(&mut out, "form.csv".as_ref(), state.variables.names(), &state.form(proposal)).unwrap();
    String::from_utf8(out).unwrap()
}

/// Everything the file must keep except times, as text.
pub fn content(state: &State) -> String {
    format!("{:?} {:?} {:?} {:?}", state.revision(), state.sources, state.proposals, state.experiments)
}
