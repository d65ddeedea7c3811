//! A fingerprint of the inputs of a file, so that a run with the same inputs need not compute it again. It detects
//! changes, and is no protection against forgery. Never: a row.

use core::fmt;

/// The basis and the prime of FNV-1a, 128 bits.
const BASIS: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;

/// A running digest: FNV-1a, eight bytes at a time. Two inputs of one length that differ in one place never have the
/// same digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Digest(u128);

impl Default for Digest {
    fn default() -> Self {
        Self(BASIS)
    }
}

impl Digest {
    /// Adds a word.
    pub fn word(&mut self, word: u64) {
        self.0 = (self.0 ^ u128::from(word)).wrapping_mul(PRIME);
    }

    /// Adds bytes and their number.
    pub fn bytes(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        words.iter().for_each(|word| self.word(u64::from_le_bytes(*word)));
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        self.word(u64::from_le_bytes(last));
        self.word(bytes.len() as u64);
    }

    /// Adds another digest.
    pub fn digest(&mut self, other: Self) {
        self.word(other.0 as u64);
        self.word((other.0 >> 64) as u64);
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(parts: &[&[u8]]) -> String {
        let mut digest = Digest::default();
        parts.iter().for_each(|part| digest.bytes(part));
        digest.to_string()
    }

    #[test]
    fn what_differs_has_another_number() {
        let long = [7; 77];
        let mut changed = long;
        changed[70] ^= 1;
        let all = [
            of(&[]),
            of(&[b""]),
            of(&[b"a"]),
            of(&[b"a\0"]),
            of(&[b"ab"]),
            of(&[b"a", b"b"]),
            of(&[b"b", b"a"]),
            of(&[&long]),
            of(&[&changed]),
        ];
        for (i, one) in all.iter().enumerate() {
            assert!(!all[i + 1..].contains(one) && one.len() == 32, "{i}: {one}");
        }
        assert_eq!(of(&[&long]), of(&[&long]));
    }
}
