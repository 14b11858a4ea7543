//! How often the 90 % intervals of total effects hold the truth.
//!
//!     cargo bench -p seabed-bench --bench effects_coverage -- 200 1000    200 worlds, seeds from 1000 on: a table
//!
//! Random ER worlds of five variables, 60 observations and 40 single interventions at random targets: linear ones for
//! `mcmc-linear`, networks for `mcmc-gp`. An effect is the slope over the middle 90 % of the data, as `seabed effects` gives it; the
//! true one is that of the true model on many simulated rows. Pairs of one world share its noise, so standard errors are over worlds.
//!
//! A belief is right given what was measured, so its intervals must hold 90 times in 100 also among the pairs that it says have an
//! effect. Among the pairs that do have one they hold less often, because some of these were not shown by the data; over all pairs
//! more often, because an interval that is the point zero holds whenever there is no effect.

use seabed::data::DataSummary;
use seabed::effects::{Effects, observed_spans};
use seabed::num::random::Seed;
use seabed::posterior::Knowledge;
use seabed::posterior::mcmc::{Family, Mcmc};
use seabed::scm::{Ensemble, Scm};
use seabed_bench::{cpu_time_of, random_data};

const VARIABLES: usize = 5;

/// How often intervals hold, in one world.
#[derive(Clone, Copy, Default)]
struct Held {
    held: f64,
    of: f64,
}

impl Held {
    fn count(&mut self, held: bool) {
        self.held += f64::from(u8::from(held));
        self.of += 1.0;
    }
}

fn main() {
    let words = std::env::args().skip(1).filter(|word| !word.starts_with("--"));
    let numbers: Vec<u64> = words.filter_map(|word| word.parse().ok()).collect();
    let (worlds, first) = (numbers.first().copied().unwrap_or(200), numbers.get(1).copied().unwrap_or(1000));
    println!("| posterior | worlds | believed to be there | truly there | all pairs | CPU s a world |");
    println!("|---|---|---|---|---|---|");
    for (name, family) in [("mcmc-linear", Family::Linear), ("mcmc-gp", Family::GaussianProcess)] {
        let work = || (first..first + worlds).map(|seed| world(family, seed)).collect::<Vec<[Held; 3]>>();
        let (time, found) = cpu_time_of(work);
        let of = |which: usize| share(&found.iter().map(|world| world[which]).collect::<Vec<Held>>());
        let (believed, there, all) = (of(0), of(1), of(2));
        let seconds = time.as_secs_f64() / worlds as f64;
        println!("| {name} | {worlds} | {believed} | {there} | {all} | {seconds:.2} |");
    }
}

/// What one world says of the pairs that are believed to have an effect, of those that have one, and of all.
fn world(family: Family, seed: u64) -> [Held; 3] {
    let (scm, data) = random_data(family == Family::Linear, VARIABLES, 60, 40, seed);
    let knowledge = Knowledge::none(VARIABLES);
    let settings = Mcmc { draws: 200, ..Mcmc::of(family) };
    let fit = settings.fit(&data, &knowledge, Seed::new(seed), &()).expect("enough rows");
    let spans = observed_spans(&DataSummary::of(&data));
    let sources: Vec<usize> = (0..VARIABLES).collect();
    let of = |effects: Effects, models: &Ensemble| {
        effects.of(models, &sources, &spans, Seed::new(seed), &()).expect("nobody stops it")
    };
    let exact = |scm: Scm| {
        let alone = Ensemble::uniform(vec![scm]).expect("one model");
        of(Effects { samples: 4000, points: 2 }, &alone)
    };
    let [mut believed, mut there, mut all] = [Held::default(); 3];
    for (found, truth) in of(Effects::default(), &fit.ensemble).iter().zip(exact(scm)) {
        let inside = (found.interval[0]..=found.interval[1]).contains(&truth.mean);
        all.count(inside);
        if found.not_zero > 0.95 {
            believed.count(inside);
        }
        if truth.not_zero > 0.5 {
            there.count(inside);
        }
    }
    [believed, there, all]
}

/// `90.1 ± 0.9 % (901 of 1000)`: the share over all worlds, with its standard error over worlds.
fn share(worlds: &[Held]) -> String {
    let (held, of) = worlds.iter().fold((0.0, 0.0), |(held, of), world| (held + world.held, of + world.of));
    let share = held / of;
    let squares: f64 = worlds.iter().map(|world| (world.held - share * world.of).powi(2)).sum();
    format!("{:.1} ± {:.1} % ({held} of {of})", 100.0 * share, 100.0 * squares.sqrt() / of)
}
