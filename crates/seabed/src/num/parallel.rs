//! Parallel work as an ordered map: results are in the order of the items, whatever thread made them.
//!
//! Reductions are left to the caller, serial and in index order ([`sum_in_order`](super::sum_in_order)).

use rayon::prelude::*;

/// `f` of every item, in the order of the items.
pub fn ordered_map<T: Sync, R: Send>(items: &[T], f: impl Fn(&T) -> R + Sync + Send) -> Vec<R> {
    items.par_iter().map(f).collect()
}

/// `f(0), f(1), …, f(count - 1)`, in this order.
pub fn ordered_map_indices<R: Send>(count: usize, f: impl Fn(usize) -> R + Sync + Send) -> Vec<R> {
    (0..count).into_par_iter().map(f).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_the_order_of_the_items_on_any_number_of_threads() {
        let work = || ordered_map_indices(1000, |k| (k as f64).sqrt().to_bits());
        let in_pool =
            |threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(work);
        assert_eq!(in_pool(1), in_pool(7));
        assert_eq!(ordered_map(&[3, 1, 2], |x| x * 10), [30, 10, 20]);
    }
}
