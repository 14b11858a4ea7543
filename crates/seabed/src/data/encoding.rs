//! The encodings that tables come in: what the bytes say about it, and a reader that turns them into UTF-8.
//!
//! UTF-8 is read as it is. UTF-16 is recognised by its mark or its zeros. What is neither is Windows-1252, of which Latin-1
//! is a part: every byte has a meaning there, so nothing can fail.

use std::borrow::Cow;
use std::io::{self, Read};
use std::str::FromStr;

/// How text is written as bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Encoding {
    /// One to four bytes per character.
    Utf8,
    /// Two bytes per character, in the order that a mark or the zeros tell; Excel calls it "Unicode text".
    Utf16,
    /// Windows-1252, one byte per character: what Western European spreadsheets write, Latin-1 included.
    Latin1,
}

impl FromStr for Encoding {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        match name.to_lowercase().replace(['-', '_'], "").as_str() {
            "utf8" => Ok(Self::Utf8),
            "utf16" => Ok(Self::Utf16),
            "latin1" | "windows1252" | "cp1252" | "iso88591" => Ok(Self::Latin1),
            _ => Err(format!("{name:?} is not a known encoding; write utf-8, utf-16 or latin-1")),
        }
    }
}

/// How bytes become characters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Decoding {
    Utf8,
    Utf16Le,
    Utf16Be,
    Latin1,
}

impl Decoding {
    /// The decoding of a file that begins with `head`; of `asked`, if anything is.
    pub(super) fn of(head: &[u8], asked: Option<Encoding>) -> Self {
        let marked = match head {
            [0xff, 0xfe, ..] => Some(Self::Utf16Le),
            [0xfe, 0xff, ..] => Some(Self::Utf16Be),
            _ => None,
        };
        match asked {
            Some(Encoding::Utf8) => Self::Utf8,
            Some(Encoding::Latin1) => Self::Latin1,
            Some(Encoding::Utf16) => {
                marked.unwrap_or(if more_zeros_first(head) { Self::Utf16Be } else { Self::Utf16Le })
            }
            None => marked.or_else(|| by_zeros(head)).unwrap_or(Self::Utf8),
        }
    }
}

/// Zeros at even and at odd places of the beginning, and how many pairs of bytes it has.
fn zeros(head: &[u8]) -> (usize, usize, usize) {
    let pairs = head[..head.len().min(1000)].chunks_exact(2);
    let count = pairs.len();
    pairs.fold((0, 0, count), |(even, odd, n), pair| {
        (even + usize::from(pair[0] == 0), odd + usize::from(pair[1] == 0), n)
    })
}

fn more_zeros_first(head: &[u8]) -> bool {
    let (even, odd, _) = zeros(head);
    even > odd
}

/// UTF-16 without a mark: numbers and separators have a zero in one byte of two.
fn by_zeros(head: &[u8]) -> Option<Decoding> {
    let (even, odd, pairs) = zeros(head);
    let most = |zeros: usize| pairs > 0 && 10 * zeros >= 4 * pairs;
    match (most(even), most(odd)) {
        (false, true) => Some(Decoding::Utf16Le),
        (true, false) => Some(Decoding::Utf16Be),
        _ => None,
    }
}

/// The text of a cell. Bytes that are not UTF-8 are Windows-1252; `strictly` there is no text then.
pub(super) fn text(bytes: &[u8], strictly: bool) -> Option<Cow<'_, str>> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Some(text.into()),
        Err(_) if strictly => None,
        Err(_) => Some(bytes.iter().copied().map(windows_1252).collect::<String>().into()),
    }
}

fn windows_1252(byte: u8) -> char {
    // Five bytes have no character; they stay control characters, as in Latin-1.
    const FROM_80: [char; 32] = [
        '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž', '\u{8f}',
        '\u{90}', '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}', 'ž', 'Ÿ',
    ];
    match byte {
        0x80..=0x9f => FROM_80[usize::from(byte - 0x80)],
        _ => char::from(byte),
    }
}

/// A reader of UTF-8 from bytes in another encoding.
pub(super) struct Decoded<R> {
    inner: R,
    decoding: Decoding,
    /// Bytes that are not a whole character yet.
    pending: Vec<u8>,
    text: Vec<u8>,
    given: usize,
}

impl<R: Read> Decoded<R> {
    pub(super) fn new(inner: R, decoding: Decoding) -> Self {
        Self { inner, decoding, pending: Vec::new(), text: Vec::new(), given: 0 }
    }

    fn decode(&mut self, ended: bool) {
        let push = |text: &mut Vec<u8>, c: char| text.extend(c.encode_utf8(&mut [0; 4]).bytes());
        let pair = |pair: &[u8]| match self.decoding {
            Decoding::Utf16Be => u16::from_be_bytes([pair[0], pair[1]]),
            _ => u16::from_le_bytes([pair[0], pair[1]]),
        };
        match self.decoding {
            Decoding::Utf8 => self.text.append(&mut self.pending),
            Decoding::Latin1 => {
                self.pending.drain(..).for_each(|byte| push(&mut self.text, windows_1252(byte)));
            }
            Decoding::Utf16Le | Decoding::Utf16Be => {
                let mut units: Vec<u16> = self.pending.chunks_exact(2).map(pair).collect();
                // The first half of a character waits for the other.
                if !ended && units.last().is_some_and(|unit| (0xd800..0xdc00).contains(unit)) {
                    units.pop();
                }
                self.pending.drain(..2 * units.len());
                for c in char::decode_utf16(units) {
                    push(&mut self.text, c.unwrap_or(char::REPLACEMENT_CHARACTER));
                }
                if ended && !self.pending.is_empty() {
                    self.pending.clear();
                    push(&mut self.text, char::REPLACEMENT_CHARACTER);
                }
            }
        }
    }
}

impl<R: Read> Read for Decoded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.given == self.text.len() {
            self.text.clear();
            self.given = 0;
            let mut chunk = [0; 1 << 14];
            let count = match self.inner.read(&mut chunk) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                other => other?,
            };
            if count == 0 && self.pending.is_empty() {
                return Ok(0);
            }
            self.pending.extend(&chunk[..count]);
            self.decode(count == 0);
        }
        let count = buffer.len().min(self.text.len() - self.given);
        buffer[..count].copy_from_slice(&self.text[self.given..self.given + count]);
        self.given += count;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(bytes: &[u8], asked: Option<Encoding>) -> String {
        let mut text = String::new();
        Decoded::new(bytes, Decoding::of(bytes, asked)).read_to_string(&mut text).unwrap();
        text.trim_start_matches('\u{feff}').to_string()
    }

    #[test]
    fn every_encoding_is_recognised() {
        let words = "größe;µM\n1,5;€ 𝄞\n";
        let little: Vec<u8> = words.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let big: Vec<u8> = words.encode_utf16().flat_map(u16::to_be_bytes).collect();
        assert_eq!(decoded(words.as_bytes(), None), words);
        assert_eq!(decoded(&[&[0xff, 0xfe], &little[..]].concat(), None), words);
        assert_eq!(decoded(&[&[0xfe, 0xff], &big[..]].concat(), None), words);
        assert_eq!(decoded(&little, None), words);
        assert_eq!(decoded(&big, None), words);
        assert_eq!(decoded(b"gr\xf6\xdfe \x80", Some(Encoding::Latin1)), "größe €");
        assert_eq!(text(b"gr\xf6\xdfe \x80", false).unwrap(), "größe €");
        assert_eq!(text(b"gr\xf6\xdfe", true), None);
    }

    #[test]
    fn half_a_character_at_the_end_is_replaced() {
        assert_eq!(decoded(b"\xff\xfea\0\x34\xd8", None), "a\u{fffd}");
        assert_eq!(decoded(b"\xff\xfea\0b", None), "a\u{fffd}");
    }
}
