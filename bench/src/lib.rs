//! Nothing here: the measurements are in `benches/`, one file each.
