//! Ticker symbols that could be real ones: one to five letters, each only once, none of an index. Never: a fact about a
//! name.

use super::rng::Stream;
use kernel::contract::{RootTable, Symbol};
use std::collections::BTreeSet;

/// Letters by how often tickers have them.
const LETTERS: &[u8] =
    b"AAAAAAABBBBCCCCCCDDDDEEEEEEFFFFGGGGHHHIIIIIIJKKLLLLLMMMMMNNNNNOOOOPPPPPQRRRRRSSSSSSSTTTTTTUUUVVVWWXXXYYZ";
/// Numbers of tickers with one to five letters, of a hundred.
const LENGTHS: [(usize, u64); 5] = [(1, 0), (2, 3), (3, 37), (4, 59), (5, 1)];

/// Draws tickers that are not in use.
pub(super) struct Tickers {
    chance: Stream,
    drawn: u64,
    taken: BTreeSet<String>,
    roots: RootTable,
}

impl Tickers {
    /// `taken`: the symbols that are not to be given again.
    pub(super) fn new(chance: Stream, taken: impl Iterator<Item = String>) -> Self {
        Self { chance, drawn: 0, taken: taken.collect(), roots: RootTable::embedded() }
    }

    /// The next ticker.
    pub(super) fn draw(&mut self) -> String {
        loop {
            self.drawn += 1;
            let ticker = spell(self.chance.sub(self.drawn));
            let real = Symbol::parse(&ticker)
                .is_some_and(|s| self.roots.get(s).is_some() || self.roots.roots_of(s).next().is_some());
            if !real && self.taken.insert(ticker.clone()) {
                return ticker;
            }
        }
    }
}

fn spell(chance: Stream) -> String {
    let mut rest = chance.bits(0) % 100;
    let mut letters = 4;
    for (length, share) in LENGTHS {
        if rest < share {
            letters = length;
            break;
        }
        rest -= share;
    }
    let letter = |i: usize| char::from(LETTERS[(chance.bits(1 + i as u64) % LETTERS.len() as u64) as usize]);
    (0..letters).map(letter).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tickers_differ_and_are_no_index() {
        let mut tickers = Tickers::new(Stream::new(1), ["KO".to_owned()].into_iter());
        let drawn: BTreeSet<String> = (0..8000).map(|_| tickers.draw()).collect();
        assert_eq!(drawn.len(), 8000);
        assert!(drawn.iter().all(|t| (1..=5).contains(&t.len()) && t.bytes().all(|b| b.is_ascii_uppercase())));
        assert!(["KO", "SPX", "OEX", "BRKB", "MGTN"].iter().all(|t| !drawn.contains(*t)));
    }
}
