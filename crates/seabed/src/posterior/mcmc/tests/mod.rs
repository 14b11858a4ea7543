//! Chains against enumeration, and calibrated by simulation.

mod calibration;
mod exactness;
mod predictive;
mod shipped;
