//! The strikes of one (root, expiry) as lanes: each strike once, padded to whole blocks, with the rows of its call and
//! its put. Never: a number that changes from pass to pass.

use kernel::contract::{Right, strike_of};
use kernel::lanes::{BLOCK, Block, Lanes};

/// No row: a right that a strike does not list, or padding.
const NONE: u32 = u32::MAX;

/// Strikes of one slice, ascending.
#[derive(Clone, Debug, Default)]
pub struct Ladder {
    /// Listed strikes.
    n: usize,
    /// Number of rows of the slice.
    n_rows: usize,
    /// Strikes, currency per share; the last one repeated up to whole blocks.
    k: Vec<f64>,
    /// Row of the call, row of the put, by strike.
    rows: [Vec<u32>; 2],
}

impl Ladder {
    /// Bytes held beside itself.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.k.capacity() * size_of::<f64>()
            + self.rows.iter().map(|rows| rows.capacity() * size_of::<u32>()).sum::<usize>()
    }

    /// The ladder of rows in native order: strike ascending, call before put.
    #[must_use]
    pub fn new(strike_milli: &[u32], right: &[Right]) -> Self {
        let mut ladder = Self { n_rows: strike_milli.len(), ..Self::default() };
        for (row, (&milli, &right)) in (0u32..).zip(strike_milli.iter().zip(right)) {
            let k = strike_of(milli);
            if ladder.k.last() != Some(&k) {
                ladder.k.push(k);
                ladder.rows.iter_mut().for_each(|rows| rows.push(NONE));
            }
            if let Some(place) = ladder.rows[right as usize].last_mut() {
                *place = row;
            }
        }
        ladder.n = ladder.k.len();
        let padded = ladder.n.next_multiple_of(BLOCK);
        let last = ladder.k.last().copied().unwrap_or(f64::NAN);
        ladder.k.resize(padded, last);
        ladder.rows.iter_mut().for_each(|rows| rows.resize(padded, NONE));
        ladder
    }

    /// True if this is the ladder of the given rows.
    #[must_use]
    pub fn is_of(&self, strike_milli: &[u32], right: &[Right]) -> bool {
        let listed = |side: Right| {
            let rows = self.rows[side as usize].iter().zip(&self.k).filter(|(row, _)| **row != NONE);
            let mut same = 0;
            for (&row, &k) in rows {
                let row = row as usize;
                same += usize::from(
                    row < strike_milli.len()
                        && right.get(row) == Some(&side)
                        && (strike_of(strike_milli[row])).to_bits() == k.to_bits(),
                );
            }
            same
        };
        self.n_rows == strike_milli.len() && listed(Right::Call) + listed(Right::Put) == self.n_rows
    }

    /// Number of strikes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.n
    }

    /// True if there are no strikes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.n == 0
    }

    /// Number of blocks of strikes.
    #[must_use]
    pub fn blocks(&self) -> usize {
        self.k.len() / BLOCK
    }

    /// Strikes, currency per share, padded.
    #[must_use]
    pub fn strikes(&self) -> &[f64] {
        &self.k
    }

    /// The strikes of a block.
    #[inline]
    #[must_use]
    pub fn block(&self, block: usize) -> Block {
        Block::load(&self.k[block * BLOCK..])
    }

    /// Row of a strike's call or put.
    #[must_use]
    pub fn row(&self, right: Right, strike: usize) -> Option<usize> {
        let row = self.rows[right as usize][strike];
        (row != NONE).then_some(row as usize)
    }

    /// True if a strike, padding included, lists a right.
    #[must_use]
    pub fn is_listed(&self, right: Right, strike: usize) -> bool {
        self.row(right, strike).is_some()
    }

    /// The numbers of one right of a block out of a column; NaN where the right is not listed.
    #[inline]
    #[must_use]
    pub fn gather(&self, right: Right, block: usize, column: &[f64]) -> Block {
        let rows = &self.rows[right as usize][block * BLOCK..][..BLOCK];
        Block::load(&core::array::from_fn::<f64, BLOCK, _>(|lane| {
            column.get(rows[lane] as usize).copied().unwrap_or(f64::NAN)
        }))
    }

    /// Writes the numbers of one right of a block to their rows of a column.
    #[inline]
    pub fn scatter(&self, right: Right, block: usize, values: &[f64; BLOCK], column: &mut [f64]) {
        let rows = &self.rows[right as usize][block * BLOCK..][..BLOCK];
        for (&row, &value) in rows.iter().zip(values) {
            if let Some(place) = column.get_mut(row as usize) {
                *place = value;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strikes_come_once_and_rows_come_back() {
        let strike_milli = [90_000, 90_000, 95_500, 100_000, 100_000];
        let right = [Right::Call, Right::Put, Right::Put, Right::Call, Right::Put];
        let ladder = Ladder::new(&strike_milli, &right);
        assert_eq!((ladder.len(), ladder.blocks(), &ladder.strikes()[..4]), (3, 1, &[90.0, 95.5, 100.0, 100.0][..]));
        assert_eq!((ladder.row(Right::Call, 1), ladder.row(Right::Put, 1)), (None, Some(2)));
        let column = [1.0, 2.0, 3.0, 4.0, 5.0];
        let calls = ladder.gather(Right::Call, 0, &column);
        assert!(calls.lane(0).to_bits() == 1.0f64.to_bits() && calls.lane(1).is_nan() && calls.lane(3).is_nan());
        let mut back = [0.0; 5];
        ladder.scatter(Right::Put, 0, &[7.0; BLOCK], &mut back);
        assert_eq!(back.map(f64::to_bits), [0.0f64, 7.0, 7.0, 0.0, 7.0].map(f64::to_bits));
    }

    #[test]
    fn another_listing_is_told_apart() {
        let (strike_milli, right) = ([90_000, 90_000, 95_000], [Right::Call, Right::Put, Right::Call]);
        let ladder = Ladder::new(&strike_milli, &right);
        assert!(ladder.is_of(&strike_milli, &right));
        assert!(!ladder.is_of(&[90_000, 90_000, 95_500], &right));
        assert!(!ladder.is_of(&strike_milli, &[Right::Call, Right::Put, Right::Put]));
        assert!(!ladder.is_of(&strike_milli[..2], &right[..2]) && !Ladder::default().is_of(&strike_milli, &right));
    }
}
