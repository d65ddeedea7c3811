//! Checks that the chain of a vendor is whole. A partial chain would move forwards and curves without an error, so it
//! is refused, and the last whole one stays in use. Never: a price.

use jiff::Timestamp;
use kernel::contract::{Right, Symbol};
use kernel::records::{Batch, reached_by_several};
use std::collections::BTreeMap;

use super::failure::Failure;

/// Minimum size of a whole chain relative to the last one: the largest expiry of a name seldom has more than a fifth of
/// its contracts.
const LEAST_SHARE: f64 = 0.5;
/// Number of contracts below which a chain may shrink freely.
const SMALL: usize = 20;
/// Number of refused sweeps in a row after which a smaller chain is accepted.
const BELIEVED_AFTER: u32 = 5;

/// Facts of the last chain of each name.
#[derive(Debug, Default)]
pub struct Wholeness {
    names: BTreeMap<Symbol, Last>,
}

#[derive(Clone, Copy, Debug)]
struct Last {
    contracts: usize,
    newest: Timestamp,
    /// Number of sweeps in a row that were not whole.
    doubted: u32,
}

impl Wholeness {
    /// Judges a chain, and notes its size and time if it is whole. Quotes later than `now` do not count for its time:
    /// after one wrong clock every true chain would be older.
    ///
    /// # Errors
    /// The chain is empty, partial, or older than the last one.
    pub fn judge(&mut self, name: Symbol, batch: &Batch, now: Timestamp) -> Result<(), Failure> {
        let contracts = batch.quotes.len();
        if contracts == 0 {
            return Err(Failure::Empty);
        }
        let been = batch.quotes.iter().map(|quote| quote.ts).filter(|&ts| ts <= now);
        let newest =
            reached_by_several(been).or(self.names.get(&name).map(|last| last.newest)).unwrap_or(Timestamp::MIN);
        let calls = batch.quotes.iter().filter(|quote| quote.contract.right == Right::Call).count();
        let before = self.names.get(&name).map_or(0, |last| last.contracts);
        let one_sided = contracts.max(before) >= SMALL && (calls == 0 || calls == contracts);
        let doubted = match self.names.get_mut(&name) {
            Some(last) if newest < last.newest => return Err(Failure::Older),
            Some(last) if one_sided || is_less(contracts, last.contracts) => {
                last.doubted += 1;
                last.doubted
            }
            None if one_sided => {
                self.names.insert(name, Last { contracts: 0, newest, doubted: 1 });
                1
            }
            _ => 0,
        };
        if (1..=BELIEVED_AFTER).contains(&doubted) {
            return Err(Failure::Partial);
        }
        self.names.insert(name, Last { contracts, newest, doubted: 0 });
        Ok(())
    }
}

fn is_less(contracts: usize, before: usize) -> bool {
    before >= SMALL && (contracts as f64) < LEAST_SHARE * before as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use feeds::lines::parse_lines;
    use std::path::Path;

    const NOW: Timestamp = Timestamp::constant(1_795_207_320 + 1000, 0);

    fn chain(calls: usize, puts: usize, second: usize) -> Batch {
        let line = |right: char, strike: usize| {
            let strike = (strike + 1) * 1000;
            format!(
                "{{\"osym\":\"AA261218{right}{strike:08}\",\"bid\":1,\"ask\":2,\"time\":{}}}\n",
                1_795_207_320 + second
            )
        };
        let calls = (0..calls).map(|strike| line('C', strike));
        let lines: String = calls.chain((0..puts).map(|strike| line('P', strike))).collect();
        parse_lines(Path::new("x"), lines.as_bytes()).0
    }

    #[test]
    fn what_is_far_smaller_than_before_or_one_sided_is_partial() {
        let name = Symbol::parse("AA").unwrap();
        let mut whole = Wholeness::default();
        let mut judge = |calls, puts, second| whole.judge(name, &chain(calls, puts, second), NOW);
        assert_eq!(judge(0, 0, 0), Err(Failure::Empty));
        assert_eq!(judge(30, 0, 0), Err(Failure::Partial), "the first has calls alone");
        assert_eq!(judge(50, 50, 1), Ok(()));
        assert_eq!(judge(20, 20, 2), Err(Failure::Partial));
        assert_eq!(judge(50, 0, 3), Err(Failure::Partial));
        assert_eq!(judge(40, 41, 4), Ok(()), "an expiry has gone");
        assert_eq!(judge(40, 41, 3), Err(Failure::Older));
        assert_eq!(judge(40, 41, 4), Ok(()), "the same again is no fault");
    }

    #[test]
    fn a_clock_that_was_ahead_once_makes_no_later_chain_older() {
        let name = Symbol::parse("AA").unwrap();
        let mut whole = Wholeness::default();
        for second in [10, 5000, 20, 6000, 7000, 30] {
            assert_eq!(whole.judge(name, &chain(50, 50, second), NOW), Ok(()), "{second}");
        }
        assert_eq!(whole.judge(name, &chain(50, 50, 29), NOW), Err(Failure::Older));
    }

    #[test]
    fn a_smaller_chain_that_stays_is_believed_in_the_end() {
        let name = Symbol::parse("AA").unwrap();
        let mut whole = Wholeness::default();
        assert_eq!(whole.judge(name, &chain(50, 50, 0), NOW), Ok(()));
        for second in 1..=5 {
            assert_eq!(whole.judge(name, &chain(10, 10, second), NOW), Err(Failure::Partial), "{second}");
        }
        assert_eq!(whole.judge(name, &chain(10, 10, 6), NOW), Ok(()));
        assert_eq!(whole.judge(name, &chain(10, 10, 7), NOW), Ok(()));
    }
}
