//! `seabed demo`: a closed loop to watch.

use std::path::PathBuf;

use clap::Args;
use seabed::settings::Keys;
use seabed_study::{Outcome, Sweep};

use crate::failure::Failure;
use crate::report::report_study;
use crate::rounds::Live;
use crate::run::print;

/// Watch designed experiments find causes faster than random ones, in less than a minute.
///
/// A world of ten variables with nonlinear mechanisms, 50 observations, five rounds of ten experiments: once chosen by
/// expected information, once at random. Both runs and a report are written to the folder seabed-demo.
#[derive(Args)]
pub struct Arguments {
    /// Seed of the world.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Output folder.
    #[arg(long, value_name = "FOLDER", default_value = "seabed-demo")]
    out: PathBuf,
}

const DEMO: &str = r#"
rounds = 5
[world]
nodes = 10
observations = 50
[posterior]
kind = "mcmc-gp"
draws = 30
[design]
strategy = ["soft-cbed", "random"]
batch = 2
"#;

pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let mut keys = Keys::parse(DEMO, "demo")?;
    keys.insert("seed", arguments.seed as i64);
    let sweep = Sweep::create(&arguments.out, &keys)?;
    let about =
        ["experiments chosen by soft-cbed, values by gp-ucb", "the same number of experiments at random"];
    for (planned, about) in sweep.runs().iter().zip(about) {
        print(&format!("{about}\n"))?;
        let live = Live::new(false);
        let outcome = sweep.run_one(planned.index, &live, &|event| live.show(event));
        drop(live);
        if let Outcome::Failed(error) = outcome {
            return Err(error.into());
        }
        print("\n")?;
    }
    sweep.write_results()?;
    let place = arguments.out.join("report.html");
    report_study(&sweep, &arguments.out, &place, None, Some(0))?;
    print(&format!("report written to {}\n", place.display()))
}
