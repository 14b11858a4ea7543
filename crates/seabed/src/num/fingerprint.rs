//! Fingerprints: hashes of bytes or words. They are stored in files and choose random streams, so they must never
//! change, which the standard library's hashes do not promise.

const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME: u64 = 0x0100_0000_01b3;

/// FNV-1a.
pub fn of_bytes(bytes: impl IntoIterator<Item = u8>) -> u64 {
    bytes.into_iter().fold(OFFSET, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(PRIME))
}

/// FNV-1a a word at a time. High bits of a word would stay in the high bits: a rotation brings them down.
pub fn of_words(words: impl IntoIterator<Item = u64>) -> u64 {
    words.into_iter().fold(OFFSET, |hash, word| (hash ^ word).wrapping_mul(PRIME).rotate_left(23))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The published values of FNV-1a.
    #[test]
    fn bytes_have_the_known_fingerprints() {
        assert_eq!(of_bytes(*b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(of_bytes(*b"a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(of_bytes(*b"foobar"), 0x8594_4171_f739_67e8);
    }

    #[test]
    fn order_length_and_every_bit_of_a_word_count() {
        let mut seen = std::collections::HashSet::from([of_words([]), of_words([0]), of_words([0, 0])]);
        assert!(seen.len() == 3 && of_words([1, 2]) != of_words([2, 1]));
        assert!((0..64).all(|bit| seen.insert(of_words([1 << bit, 0]))));
    }
}
