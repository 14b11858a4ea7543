//! A monotone curve that draws in the tails of a variable: z = (asinh((u - centre)/width) - mean)/sd.
//!
//! Near the centre it is a straight line, a few widths away a logarithm on both sides. So with a centre at its lower end
//! a lognormal variable becomes normal, with one in its middle a variable with heavy tails does.

use serde::{Deserialize, Serialize};

/// The curve; u and z are in units in which the variable has mean 0 and standard deviation 1.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Warp {
    pub centre: f64,
    /// Above 0.
    pub width: f64,
    pub mean: f64,
    /// Above 0.
    pub sd: f64,
}

/// No value is further than e to the power of this many widths from the centre.
const FURTHEST: f64 = 230.0;

impl Warp {
    /// Are these the numbers of a curve?
    pub fn is_valid(&self) -> bool {
        let positive = |x: f64| x.is_finite() && x > 0.0;
        positive(self.width) && positive(self.sd) && self.centre.is_finite() && self.mean.is_finite()
    }

    /// z of u.
    pub fn inside(&self, u: f64) -> f64 {
        (((u - self.centre) / self.width).asinh() - self.mean) / self.sd
    }

    /// u of z.
    pub fn outside(&self, z: f64) -> f64 {
        self.centre + self.width * (self.mean + self.sd * z).clamp(-FURTHEST, FURTHEST).sinh()
    }

    /// ln dz/du.
    pub fn log_slope(&self, u: f64) -> f64 {
        let t = (u - self.centre) / self.width;
        -(self.sd * self.width).ln() - 0.5 * (t * t).ln_1p()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_and_back_with_the_slope_of_a_difference() {
        let warp = Warp { centre: -0.4, width: 0.05, mean: 2.0, sd: 0.7 };
        for u in [-30.0, -0.41, -0.4, 0.0, 0.3, 5.0, 1e6] {
            let z = warp.inside(u);
            assert!((warp.outside(z) - u).abs() < 1e-9 * (1.0 + u.abs()));
            let step = 1e-6 * (1.0 + u.abs());
            let slope = (warp.inside(u + step) - warp.inside(u - step)) / (2.0 * step);
            assert!((warp.log_slope(u) - slope.ln()).abs() < 1e-4, "{u}");
        }
        assert!(warp.outside(1e9).is_finite() && warp.outside(-1e9).is_finite());
    }
}
