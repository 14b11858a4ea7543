//! Addressed randomness: who draws, for which purpose, for which item.
//!
//! A [`Stream`] is an address; the same address always gives the same draws.

/// What the draws are for: different purposes never share draws.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Purpose {
    /// Structure of synthetic graphs.
    Graph,
    /// Weights of synthetic mechanisms.
    Weights,
}

/// The root of all randomness of a run.
#[derive(Clone, Copy, Debug)]
pub struct Seed(u64);

impl Seed {
    /// The root with this number.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The stream for one purpose.
    pub fn stream(self, purpose: Purpose) -> Stream {
        Stream(mix(self.0)).at(purpose as u64)
    }
}

/// An address of draws.
#[derive(Clone, Copy, Debug)]
pub struct Stream(u64);

impl Stream {
    /// The address of item `index` under this one.
    #[must_use]
    pub fn at(self, index: u64) -> Self {
        Self(mix(self.0 ^ mix(index.wrapping_add(0x9E37_79B9_7F4A_7C15))))
    }

    /// Reads the draws of this address one after the other.
    pub fn draws(self) -> Draws {
        Draws { state: self.0 }
    }
}

/// A sequential reader of one stream.
#[derive(Clone, Debug)]
pub struct Draws {
    state: u64,
}

impl Draws {
    /// Uniform on the open interval (0, 1).
    pub fn uniform(&mut self) -> f64 {
        ((self.word() >> 12) as f64 + 0.5) / (1u64 << 52) as f64
    }

    /// Uniform on `0..n`.
    pub fn below(&mut self, n: usize) -> usize {
        ((u128::from(self.word()) * n as u128) >> 64) as usize
    }

    /// Standard normal.
    pub fn normal(&mut self) -> f64 {
        let (u, v) = (self.uniform(), self.uniform());
        (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
    }

    /// Puts the items into a uniformly random order.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }

    fn word(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        mix(self.state)
    }
}

fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}
