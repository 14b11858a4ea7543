//! The command `seabed`.
fn main() {}
