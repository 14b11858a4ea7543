//! A toy world: independent standard normal variables.

use super::SyntheticError;
use crate::graph::Dag;
use crate::scm::{Linear, Mechanism, Scm};

/// Variables that have nothing to do with each other, each normal with mean 0 and standard deviation 1.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Toy {
    /// Number of variables, called X1, X2, …; at least 1.
    pub nodes: usize,
}

impl Toy {
    /// The world.
    pub fn model(&self) -> Result<Scm, SyntheticError> {
        let names = (1..=self.nodes).map(|k| format!("X{k}")).collect();
        let mechanism = Mechanism::Linear(Linear { weights: Vec::new(), intercept: 0.0 });
        let mechanisms = vec![mechanism; self.nodes];
        Ok(Scm::new(names, Dag::empty(self.nodes), mechanisms, vec![1.0; self.nodes])?)
    }
}
