//! UTF-16, as spreadsheets write it for "Unicode text", to UTF-8. Never: another encoding.

use std::borrow::Cow;
use std::io::{ErrorKind, Read};

/// Bytes that are asked for at once.
const PIECE: usize = 1 << 16;

/// The order of the two bytes of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Utf16 {
    /// The lower one first.
    Little,
    /// The higher one first.
    Big,
}

impl Utf16 {
    /// Recognises UTF-16 by the begin of a text: by its byte order mark, or by a zero beside its first letter.
    #[must_use]
    pub fn of(head: &[u8]) -> Option<Self> {
        match head {
            [0xff, 0xfe, ..] => Some(Self::Little),
            [0xfe, 0xff, ..] => Some(Self::Big),
            [letter, 0, ..] if letter.is_ascii() && *letter > 0 => Some(Self::Little),
            [0, letter, ..] if letter.is_ascii() && *letter > 0 => Some(Self::Big),
            _ => None,
        }
    }

    fn unit(self, bytes: [u8; 2]) -> u16 {
        match self {
            Self::Little => u16::from_le_bytes(bytes),
            Self::Big => u16::from_be_bytes(bytes),
        }
    }
}

/// Returns a text as UTF-8: UTF-16 is converted, other bytes come back unchanged.
#[must_use]
pub fn utf8(bytes: &[u8]) -> Cow<'_, [u8]> {
    let Some(order) = Utf16::of(bytes) else { return Cow::Borrowed(bytes) };
    let mut out = Vec::new();
    // nothing is read but memory, so nothing fails
    let _ = FromUtf16::new(bytes, order).read_to_end(&mut out);
    Cow::Owned(out)
}

/// The text of a reader of UTF-16 as UTF-8. A unit that is half of no letter becomes the sign for that.
#[derive(Debug)]
pub struct FromUtf16<R> {
    from: R,
    order: Utf16,
    /// Bytes that are not yet a letter.
    raw: Vec<u8>,
    text: Vec<u8>,
    given: usize,
    ended: bool,
}

impl<R: Read> FromUtf16<R> {
    /// Reads from the beginning of a text.
    #[must_use]
    pub fn new(from: R, order: Utf16) -> Self {
        Self { from, order, raw: Vec::new(), text: Vec::new(), given: 0, ended: false }
    }

    fn fill(&mut self) -> std::io::Result<()> {
        let before = self.raw.len();
        self.raw.resize(before.saturating_add(PIECE), 0);
        let read = self.from.read(&mut self.raw[before..]);
        self.raw.truncate(before.saturating_add(*read.as_ref().unwrap_or(&0)));
        match read {
            Ok(n) => self.ended = n == 0,
            Err(error) if error.kind() == ErrorKind::Interrupted => return Ok(()),
            Err(error) => return Err(error),
        }
        let (pairs, _) = self.raw.as_chunks::<2>();
        let mut units: Vec<u16> = pairs.iter().map(|pair| self.order.unit(*pair)).collect();
        // the second half of a letter may be yet to come
        if !self.ended && units.last().is_some_and(|unit| (0xd800..0xdc00).contains(unit)) {
            units.pop();
        }
        self.raw.drain(..units.len().saturating_mul(2));
        (self.given, self.text) = (0, Vec::with_capacity(units.len()));
        for letter in char::decode_utf16(units) {
            let mut buffer = [0; 4];
            let letter = letter.unwrap_or(char::REPLACEMENT_CHARACTER).encode_utf8(&mut buffer);
            self.text.extend_from_slice(letter.as_bytes());
        }
        Ok(())
    }
}

impl<R: Read> Read for FromUtf16<R> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        while self.given == self.text.len() && !self.ended {
            self.fill()?;
        }
        let rest = self.text.get(self.given..).unwrap_or_default();
        let n = rest.len().min(into.len());
        into[..n].copy_from_slice(&rest[..n]);
        self.given = self.given.saturating_add(n);
        Ok(n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn utf16(text: &str, order: Utf16) -> Vec<u8> {
        let of = |unit: u16| if order == Utf16::Little { unit.to_le_bytes() } else { unit.to_be_bytes() };
        text.encode_utf16().flat_map(of).collect()
    }

    /// Hands out at most so many bytes at a time.
    struct Drops<'a>(&'a [u8], usize);

    impl Read for Drops<'_> {
        fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
            let n = self.0.len().min(self.1).min(into.len());
            into[..n].copy_from_slice(&self.0[..n]);
            self.0 = &self.0[n..];
            Ok(n)
        }
    }

    #[test]
    fn both_orders_are_known_with_and_without_their_mark() {
        for order in [Utf16::Little, Utf16::Big] {
            for text in ["\u{feff}strike;bid\n63;5,29\n", "strike\tbid\n"] {
                assert_eq!(Utf16::of(&utf16(text, order)), Some(order));
                assert_eq!(utf8(&utf16(text, order)), text.as_bytes());
            }
        }
        for text in [&b""[..], b"a", b"strike", b"\xef\xbb\xbfa", b"\0\0", "é;b".as_bytes()] {
            assert_eq!(utf8(text), text);
        }
    }

    proptest! {
        #[test]
        fn letters_are_the_same_whatever_the_pieces(text in "\\PC{0,20}", most in 1usize..7) {
            let raw = utf16(&text, Utf16::Little);
            let mut out = String::new();
            FromUtf16::new(Drops(&raw, most), Utf16::Little).read_to_string(&mut out).unwrap();
            prop_assert_eq!(out, text);
        }

        #[test]
        fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            let _ = utf8(&[&[0xff, 0xfe][..], &bytes].concat());
        }
    }
}
