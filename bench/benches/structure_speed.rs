//! CPU seconds to design a batch of 5 on a belief about graphs, beside the paper's utility on the same fit:
//! `cargo bench -p seabed-bench --bench structure_speed`, or `-- 50` for another number of variables.
//!
//! ER worlds with one edge per variable, 200 observations, up to 1000 graphs; the paper's utility has 100 draws.

use seabed::design::{Belief, Constraints, Designer, Strategy, Values};
use seabed::num::random::{Purpose, Seed};
use seabed::posterior::{Knowledge, PosteriorKind, PosteriorSettings, Start};
use seabed::scm::Intervention;
use seabed::world::{GraphKind, LinearWeights, MechanismKind, NoiseLevels, Synthetic, World};
use seabed_bench::cpu_time_of;

fn main() {
    let sizes: Vec<usize> = std::env::args().filter_map(|argument| argument.parse().ok()).collect();
    println!("   d  posterior    graphs  strategy       CPU s");
    for d in if sizes.is_empty() { vec![20] } else { sizes } {
        for (kind, name) in [(PosteriorKind::McmcLinear, "mcmc-linear"), (PosteriorKind::McmcGp, "mcmc-gp")] {
            let mechanism = match kind {
                PosteriorKind::McmcLinear => MechanismKind::Linear(LinearWeights::UNIFORM),
                _ => MechanismKind::Mlp { hidden: 5 },
            };
            let world = Synthetic {
                graph: GraphKind::Er,
                nodes: d,
                edges_per_node: 1.0,
                mechanism,
                noise: NoiseLevels::Equal(0.5),
                standardised: true,
            };
            let world = world.draw(Seed::new(7)).expect("a sparse graph");
            let noise = Seed::new(7).stream(Purpose::Noise);
            let data = world.experiment(&Intervention::none(), 200, noise).expect("observations");
            let settings = PosteriorSettings { draws: 100, ..PosteriorSettings::for_own_data(kind) };
            let posterior = settings.check(None).expect("valid settings");
            let fit =
                posterior.fit(&data, &Knowledge::none(d), Start::fresh(Seed::new(1)), &()).expect("a fit");
            let graphs = fit.graphs.as_ref().expect("chains give graphs");
            let belief = Belief { models: &fit.ensemble, graphs: Some(graphs) };
            let designs = [
                (Strategy::GreedyEdges, Values::Refined),
                (Strategy::GreedyGraph, Values::Refined),
                (Strategy::GreedyCbed, Values::gp_ucb()),
            ];
            for (strategy, values) in designs {
                let designer = Designer { strategy, values, batch: 5, ..Designer::default() };
                let constraints = Constraints::range(d, -3.0, 3.0);
                let design = || designer.design(belief, &constraints, Seed::new(1), &()).expect("a batch");
                let (cpu, _) = cpu_time_of(design);
                let (count, strategy) = (graphs.graphs().len(), strategy.name());
                println!("{d:>4}  {name:<11}  {count:>6}  {strategy:<13}  {:.2}", cpu.as_secs_f64());
            }
        }
    }
}
