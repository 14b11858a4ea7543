//! Sets of nodes as bits, and the algebra that the graph algorithms are written in.
//!
//! Up to 128 nodes fit without an allocation; there is no upper limit.

use std::fmt;

use smallvec::{SmallVec, smallvec};

use super::Node;

const BITS: usize = u64::BITS as usize;

/// A set of nodes out of a fixed universe `0..universe`.
///
/// Sets that are combined must come from the same universe; the operations check this in debug builds.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeSet {
    // Bits at and beyond the universe are always zero, so derived equality and hashing are those of sets.
    words: SmallVec<[u64; 2]>,
}

impl NodeSet {
    /// The empty set of a universe of `universe` nodes.
    pub fn empty(universe: usize) -> Self {
        Self { words: smallvec![0; universe.div_ceil(BITS)] }
    }

    /// All nodes `0..universe`.
    pub fn full(universe: usize) -> Self {
        let mut set = Self::empty(universe);
        for (k, word) in set.words.iter_mut().enumerate() {
            let below = universe - k * BITS;
            *word = if below >= BITS { u64::MAX } else { (1 << below) - 1 };
        }
        set
    }

    /// The set of the given nodes.
    pub fn of(universe: usize, nodes: impl IntoIterator<Item = Node>) -> Self {
        let mut set = Self::empty(universe);
        for node in nodes {
            set.insert(node);
        }
        set
    }

    /// Adds a node; true if it was new.
    #[inline]
    pub fn insert(&mut self, node: Node) -> bool {
        let word = &mut self.words[node / BITS];
        let before = *word;
        *word |= 1 << (node % BITS);
        *word != before
    }

    /// Removes a node; true if it was there.
    #[inline]
    pub fn remove(&mut self, node: Node) -> bool {
        let word = &mut self.words[node / BITS];
        let before = *word;
        *word &= !(1 << (node % BITS));
        *word != before
    }

    /// Removes every node.
    pub fn clear(&mut self) {
        self.words.fill(0);
    }

    /// Is the node in the set?
    #[inline]
    pub fn contains(&self, node: Node) -> bool {
        self.words[node / BITS] >> (node % BITS) & 1 == 1
    }

    /// Number of nodes in the set.
    #[inline]
    pub fn len(&self) -> usize {
        self.words.iter().map(|w| w.count_ones() as usize).sum()
    }

    /// Is the set empty?
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.words.iter().all(|&w| w == 0)
    }

    /// The smallest node.
    #[inline]
    pub fn first(&self) -> Option<Node> {
        let k = self.words.iter().position(|&w| w != 0)?;
        Some(k * BITS + self.words[k].trailing_zeros() as usize)
    }

    /// The nodes in ascending order.
    pub fn iter(&self) -> Nodes<'_> {
        Nodes { words: &self.words, at: 0, rest: self.words.first().copied().unwrap_or(0) }
    }

    /// Are all nodes of `self` in `other`?
    #[inline]
    pub fn is_subset(&self, other: &Self) -> bool {
        self.pairs(other).all(|(a, b)| a & !b == 0)
    }

    /// Do the sets have a node in common?
    #[inline]
    pub fn intersects(&self, other: &Self) -> bool {
        self.pairs(other).any(|(a, b)| a & b != 0)
    }

    /// Adds all nodes of `other`.
    #[inline]
    pub fn union_with(&mut self, other: &Self) {
        self.combine(other, |a, b| a | b);
    }

    /// Keeps only the nodes that are in `other` too.
    #[inline]
    pub fn intersect_with(&mut self, other: &Self) {
        self.combine(other, |a, b| a & b);
    }

    /// Removes all nodes of `other`.
    #[inline]
    pub fn difference_with(&mut self, other: &Self) {
        self.combine(other, |a, b| a & !b);
    }

    /// `self ∪ other`.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        let mut set = self.clone();
        set.union_with(other);
        set
    }

    /// `self ∩ other`.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        let mut set = self.clone();
        set.intersect_with(other);
        set
    }

    /// `self \ other`.
    #[must_use]
    pub fn difference(&self, other: &Self) -> Self {
        let mut set = self.clone();
        set.difference_with(other);
        set
    }

    /// Number of nodes in exactly one of the two sets.
    pub fn count_differences(&self, other: &Self) -> usize {
        self.pairs(other).map(|(a, b)| (a ^ b).count_ones() as usize).sum()
    }

    #[inline]
    fn pairs<'a>(&'a self, other: &'a Self) -> impl Iterator<Item = (u64, u64)> + 'a {
        debug_assert_eq!(self.words.len(), other.words.len(), "sets of different universes");
        self.words.iter().zip(&other.words).map(|(&a, &b)| (a, b))
    }

    #[inline]
    fn combine(&mut self, other: &Self, operation: impl Fn(u64, u64) -> u64) {
        debug_assert_eq!(self.words.len(), other.words.len(), "sets of different universes");
        for (a, &b) in self.words.iter_mut().zip(&other.words) {
            *a = operation(*a, b);
        }
    }
}

impl fmt::Debug for NodeSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self).finish()
    }
}

impl<'a> IntoIterator for &'a NodeSet {
    type Item = Node;
    type IntoIter = Nodes<'a>;
    fn into_iter(self) -> Nodes<'a> {
        self.iter()
    }
}

/// The nodes of a [`NodeSet`], ascending.
#[derive(Clone)]
pub struct Nodes<'a> {
    words: &'a [u64],
    at: usize,
    rest: u64,
}

impl Iterator for Nodes<'_> {
    type Item = Node;

    #[inline]
    fn next(&mut self) -> Option<Node> {
        while self.rest == 0 {
            self.at += 1;
            self.rest = *self.words.get(self.at)?;
        }
        let bit = self.rest.trailing_zeros() as usize;
        self.rest &= self.rest - 1;
        Some(self.at * BITS + bit)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn sets() -> impl Strategy<Value = (usize, BTreeSet<Node>, BTreeSet<Node>)> {
        (1usize..300).prop_flat_map(|n| {
            let nodes = proptest::collection::btree_set(0..n, 0..n.min(40));
            (Just(n), nodes.clone(), nodes)
        })
    }

    proptest! {
        #[test]
        fn the_algebra_is_that_of_ordered_sets((n, a, b) in sets()) {
            let (x, y) = (NodeSet::of(n, a.iter().copied()), NodeSet::of(n, b.iter().copied()));
            let list = |s: NodeSet| s.iter().collect::<BTreeSet<_>>();
            prop_assert_eq!(x.iter().collect::<Vec<_>>(), a.iter().copied().collect::<Vec<_>>());
            prop_assert_eq!(list(x.union(&y)), &a | &b);
            prop_assert_eq!(list(x.intersection(&y)), &a & &b);
            prop_assert_eq!(list(x.difference(&y)), &a - &b);
            prop_assert_eq!(x.count_differences(&y), (&a ^ &b).len());
            prop_assert_eq!(x.is_subset(&y), a.is_subset(&b));
            prop_assert_eq!(x.intersects(&y), !a.is_disjoint(&b));
            prop_assert_eq!(x.len(), a.len());
            prop_assert_eq!(x.first(), a.first().copied());
            prop_assert_eq!(x.is_empty(), a.is_empty());
            prop_assert_eq!(NodeSet::full(n).len(), n);
            prop_assert!(x.is_subset(&NodeSet::full(n)));
        }
    }
}
