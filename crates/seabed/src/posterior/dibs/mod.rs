//! DiBS: a posterior over graphs and mechanisms by Stein variational gradient descent over latent graphs.

mod acyclicity;
mod bge;
mod column;
mod estimator;
mod graph_prior;
mod latent;
mod parameters;
mod svgd;

#[cfg(test)]
mod finite_differences;
#[cfg(test)]
mod golden;
#[cfg(test)]
mod slow_twins;

pub use estimator::Estimator;
pub use graph_prior::GraphPrior;
pub use parameters::Family;
pub use svgd::Particle;
