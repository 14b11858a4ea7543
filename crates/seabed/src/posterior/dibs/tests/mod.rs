//! DiBS against slow twins, finite differences, enumeration, and the reference code's numbers.

mod exactness;
mod finite_differences;
mod golden;
mod slow_twins;
mod warm;
