//! The text of a page's cursor: base64 of the position after which the next page begins. Nothing is kept here between
//! two pages, so a cursor works for as long as its contract is listed. Never: a parameter's name.

use engine::contract::ContractKey;
use engine::contract::osi::OSI_LEN;

/// The alphabets of base64 differ in their last two letters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alphabet {
    /// `+` and `/`, padded with `=`.
    Standard,
    /// `-` and `_`, without padding.
    Url,
}

const LETTERS: &[u8; 62] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

impl Alphabet {
    fn letter(self, six: u8) -> char {
        let last = if self == Self::Standard { [b'+', b'/'] } else { [b'-', b'_'] };
        LETTERS.get(usize::from(six)).copied().unwrap_or_else(|| last[usize::from(six == 63)]).into()
    }
}

/// Bytes as base64.
#[must_use]
pub fn encode(bytes: &[u8], alphabet: Alphabet) -> String {
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let word = (0..3).fold(0u32, |word, i| word << 8 | u32::from(*chunk.get(i).unwrap_or(&0)));
        for i in 0..=chunk.len() {
            out.push(alphabet.letter((word >> (18 - 6 * i) & 63) as u8));
        }
        if alphabet == Alphabet::Standard {
            out.extend(std::iter::repeat_n('=', 3 - chunk.len()));
        }
    }
    out
}

/// Base64 of either alphabet, padded or not, to bytes. A space is read as `+`, which forms turn into one.
#[must_use]
pub fn decode(text: &str) -> Option<Vec<u8>> {
    let text = text.trim_end_matches('=');
    if text.len() % 4 == 1 {
        return None;
    }
    let mut out = Vec::with_capacity(text.len() / 4 * 3 + 2);
    let (mut word, mut bits) = (0u32, 0);
    for byte in text.bytes() {
        let six = match byte {
            b'+' | b'-' | b' ' => 62,
            b'/' | b'_' => 63,
            _ => LETTERS.iter().position(|&letter| letter == byte)? as u32,
        };
        word = word << 6 | six;
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            out.push((word >> bits & 255) as u8);
        }
    }
    Some(out)
}

/// The compact symbol of a contract.
#[must_use]
pub fn ticker(key: &ContractKey) -> String {
    let mut buf = [0; OSI_LEN];
    let n = key.write_compact(&mut buf);
    String::from_utf8_lossy(&buf[..n]).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn cursors_are_those_of_the_vendors() {
        assert_eq!(encode(b"AAPL240426C00152500", Alphabet::Standard), "QUFQTDI0MDQyNkMwMDE1MjUwMA==");
        assert_eq!(encode(b"ap=O%3AACME", Alphabet::Url), "YXA9TyUzQUFDTUU");
        assert_eq!(encode(&[0xfb, 0xff], Alphabet::Url), "-_8");
        assert_eq!(decode("QUFQTDI0MDQyNkMwMDE1MjUwMA==").as_deref(), Some(&b"AAPL240426C00152500"[..]));
        for bad in ["A", "AAAAA", "A?AA", "é"] {
            assert_eq!(decode(bad), None, "{bad}");
        }
    }

    proptest! {
        #[test]
        fn decoding_undoes_encoding(bytes in proptest::collection::vec(any::<u8>(), 0..40)) {
            for alphabet in [Alphabet::Standard, Alphabet::Url] {
                prop_assert_eq!(decode(&encode(&bytes, alphabet)), Some(bytes.clone()));
            }
            prop_assert_eq!(decode(&encode(&bytes, Alphabet::Standard).replace('+', " ")), Some(bytes.clone()));
        }
    }
}
