//! A set of nodes as bits of four words: small enough to copy, and compared in a few instructions.

use std::ops::{BitAnd, BitAndAssign, BitOr, BitOrAssign, Not};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

use crate::graph::{Node, NodeSet};

/// Nodes that a set can hold.
pub(super) const MOST_NODES: usize = 64 * WORDS;

const WORDS: usize = 4;

/// A set of nodes. The first word holds the highest of them, so that sets are in the order of the numbers that their bits
/// make.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub(super) struct Mask([u64; WORDS]);

/// The set of one node.
pub(super) fn bit(node: Node) -> Mask {
    let mut words = [0; WORDS];
    words[WORDS - 1 - node / 64] = 1 << (node % 64);
    Mask(words)
}

impl Mask {
    pub const EMPTY: Self = Self([0; WORDS]);
    pub const ALL: Self = Self([u64::MAX; WORDS]);

    /// The set of some nodes.
    pub fn of(nodes: impl IntoIterator<Item = Node>) -> Self {
        nodes.into_iter().fold(Self::EMPTY, |set, node| set | bit(node))
    }

    /// The set of the first nodes.
    pub fn first(count: usize) -> Self {
        Self::of(0..count)
    }

    /// The nodes, in ascending order.
    pub fn nodes(self) -> impl Iterator<Item = Node> {
        (0..WORDS).flat_map(move |word| {
            let mut left = self.0[WORDS - 1 - word];
            std::iter::from_fn(move || {
                (left != 0).then(|| {
                    let node = 64 * word + left.trailing_zeros() as usize;
                    left &= left - 1;
                    node
                })
            })
        })
    }

    /// Number of nodes.
    pub fn len(self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    #[inline]
    pub fn is_empty(self) -> bool {
        self.0.iter().fold(0, |all, word| all | word) == 0
    }

    pub fn contains(self, node: Node) -> bool {
        self.0[WORDS - 1 - node / 64] >> (node % 64) & 1 == 1
    }

    /// Is there a node in both?
    #[inline]
    pub fn meets(self, other: Self) -> bool {
        !(self & other).is_empty()
    }

    /// Are all its nodes in the other?
    #[inline]
    pub fn is_within(self, other: Self) -> bool {
        (self & !other).is_empty()
    }

    /// As a set over so many nodes.
    pub fn node_set(self, nodes: usize) -> NodeSet {
        NodeSet::of(nodes, self.nodes())
    }
}

impl From<&NodeSet> for Mask {
    fn from(set: &NodeSet) -> Self {
        Self::of(set.iter())
    }
}

impl BitOr for Mask {
    type Output = Self;
    #[inline]
    fn bitor(self, other: Self) -> Self {
        Self(std::array::from_fn(|word| self.0[word] | other.0[word]))
    }
}

impl BitAnd for Mask {
    type Output = Self;
    #[inline]
    fn bitand(self, other: Self) -> Self {
        Self(std::array::from_fn(|word| self.0[word] & other.0[word]))
    }
}

impl Not for Mask {
    type Output = Self;
    #[inline]
    fn not(self) -> Self {
        Self(self.0.map(|word| !word))
    }
}

impl BitOrAssign for Mask {
    fn bitor_assign(&mut self, other: Self) {
        *self = *self | other;
    }
}

impl BitAndAssign for Mask {
    fn bitand_assign(&mut self, other: Self) {
        *self = *self & other;
    }
}

/// In files the words stand with the lowest first, and only those up to the last that is not 0.
impl Serialize for Mask {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let used = self.0.iter().position(|word| *word != 0).map_or(0, |first| WORDS - first);
        serializer.collect_seq(self.0.iter().rev().take(used))
    }
}

impl<'de> Deserialize<'de> for Mask {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let words = Vec::<u64>::deserialize(deserializer)?;
        if words.len() > WORDS {
            return Err(D::Error::custom("a set of more nodes than there can be"));
        }
        let mut mask = Self::EMPTY;
        words.iter().enumerate().for_each(|(place, word)| mask.0[WORDS - 1 - place] = *word);
        Ok(mask)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_across_words() {
        let nodes = [0, 5, 63, 64, 127, 128, 200, 255];
        let set = Mask::of(nodes);
        assert_eq!(set.nodes().collect::<Vec<_>>(), nodes);
        assert_eq!((set.len(), Mask::ALL.len(), Mask::first(130).len()), (8, 256, 130));
        assert!(set.contains(200) && !set.contains(201) && set.meets(bit(255)) && !set.meets(bit(1)));
        assert!(bit(64).is_within(set) && !Mask::first(2).is_within(set) && Mask::EMPTY.is_within(bit(3)));
        assert_eq!(set & !bit(5), Mask::of(nodes.into_iter().filter(|&node| node != 5)));
        assert!(bit(3) < bit(4) && bit(63) < bit(64) && bit(64) < bit(64) | bit(0));
        assert_eq!(Mask::from(&set.node_set(256)), set);
        for set in [Mask::EMPTY, bit(3), set] {
            let text = serde_json::to_string(&set).unwrap();
            assert_eq!(serde_json::from_str::<Mask>(&text).unwrap(), set, "{text}");
        }
        assert_eq!(serde_json::to_string(&(bit(0) | bit(65))).unwrap(), "[1,2]");
        assert!(serde_json::from_str::<Mask>("[1,2,3,4,5]").is_err());
    }
}
