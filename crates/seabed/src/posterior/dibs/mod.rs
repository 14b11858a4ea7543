//! DiBS: a posterior over graphs and mechanisms by Stein variational gradient descent over latent graphs.
//!
//! Each particle is a latent graph Z, p(i -> j) = sigmoid(α u_i·v_j), and parameters Θ of all mechanisms. Particles
//! climb log p(Z, Θ | D) while α and the price of cycles grow; in the end every particle is one graph with one set
//! of mechanisms. Variables are worked on in the order of their names, so the order of the columns does not matter.

mod acyclicity;
mod column;
mod estimator;
mod fit;
mod graph_prior;
mod latent;
mod parameters;
mod prepare;
mod rest;
mod result;
mod settings;
mod state;
mod svgd;
mod walk;

#[cfg(test)]
mod tests;

pub use estimator::Estimator;
pub use graph_prior::GraphPrior;
pub use parameters::Family;
pub use result::{Diagnostics, DibsFit, End};
pub use settings::{Dibs, MOST_STEPS, Noise, Weighting};
pub use state::{Measured, State};
pub use svgd::Particle;

use super::bge;
