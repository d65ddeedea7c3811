//! Checks that the chains of a unit are whole: a forward from a part of a chain is wrong and looks right. An incomplete
//! chain is an error of its unit, and gets no numbers.
//!
//! Two rules look at the rows alone. They are about chains that were cut, and leave alone what listings do by
//! themselves: vendors that leave out contracts that never traded show an expiry of calls only with up to 13 of them
//! (335 names, two moments), and recordings of one side only have no expiry with both.

use crate::row::HistoryRow;
use core::fmt;
use jiff::{Timestamp, civil::Date};
use kernel::contract::{Right, Symbol};

/// Contracts of one right, without any of the other, from which an expiry counts as cut off if another has both.
pub const ONE_SIDED: u32 = 20;
/// Minimum number of snapshots of a day for a median.
pub const SNAPSHOTS: usize = 3;
/// A day's median below this is not used: the few contracts of a new listing may double.
pub const CONTRACTS: u32 = 20;

/// Why the chain of a unit cannot be computed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UnitFault {
    /// A file that has rows of it is damaged or ends too early, so that others of its rows may be lost.
    Damaged {
        /// The file.
        file: String,
    },
    /// An expiry has calls only, or puts only, while others of the same snapshot have both.
    OneSided {
        /// When.
        at: Timestamp,
        /// Option root.
        root: Symbol,
        /// Expiration date.
        expiry: Date,
        /// Number of contracts.
        contracts: u32,
    },
    /// A snapshot has fewer than half of the contracts that the day's snapshots have.
    FewContracts {
        /// When.
        at: Timestamp,
        /// Number of contracts.
        contracts: u32,
        /// Median number of contracts of the day's snapshots.
        usual: u32,
    },
    /// The computation failed by an internal error.
    Computation,
}

impl UnitFault {
    /// A word to count by.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Damaged { .. } => "damaged",
            Self::OneSided { .. } => "one_sided",
            Self::FewContracts { .. } => "few_contracts",
            Self::Computation => "computation",
        }
    }
}

impl fmt::Display for UnitFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Damaged { file } => write!(f, "{file} is damaged, so rows of it may be missing"),
            Self::OneSided { at, root, expiry, contracts } => {
                write!(f, "{root} {expiry} has {contracts} contracts of one right and none of the other at {at}")
            }
            Self::FewContracts { at, contracts, usual } => {
                write!(f, "{contracts} contracts at {at}, where the day's snapshots have {usual}")
            }
            Self::Computation => f.write_str("the computation failed: internal error"),
        }
    }
}

/// Looks at the rows of one unit in their order: by time, expiry, root.
#[derive(Debug, Default)]
pub struct WholenessCheck {
    snapshots: Vec<(Timestamp, u32)>,
    /// The (root, expiry) at hand, its calls and puts.
    slice: Option<(Symbol, Date)>,
    rights: [u32; 2],
    /// True if an expiry of the current snapshot has both rights.
    has_both: bool,
    /// The first expiry of the current snapshot that has many contracts of one right, and none of the other.
    one_sided: Option<UnitFault>,
    found: Option<UnitFault>,
}

impl WholenessCheck {
    /// Adds the next row.
    pub fn take(&mut self, row: &HistoryRow) {
        let (at, contract) = (row.quote.ts, &row.quote.contract);
        if self.snapshots.last().is_none_or(|&(of, _)| of != at) {
            self.end_snapshot();
            self.snapshots.push((at, 0));
        }
        if let Some((_, contracts)) = self.snapshots.last_mut() {
            *contracts += 1;
        }
        if self.slice != Some((contract.root, contract.expiry)) {
            self.end_slice();
            self.slice = Some((contract.root, contract.expiry));
        }
        self.rights[usize::from(contract.right == Right::Put)] += 1;
    }

    /// Number of snapshots, and their fault; resets the check.
    pub fn finish(&mut self) -> (u32, Option<UnitFault>) {
        self.end_snapshot();
        let snapshots = std::mem::take(&mut self.snapshots);
        let fault = self.found.take().or_else(|| few_contracts(&snapshots));
        (u32::try_from(snapshots.len()).unwrap_or(u32::MAX), fault)
    }

    fn end_slice(&mut self) {
        let [calls, puts] = std::mem::take(&mut self.rights);
        let Some((root, expiry)) = self.slice.take() else { return };
        let contracts = calls + puts;
        if calls > 0 && puts > 0 {
            self.has_both = true;
        } else if contracts >= ONE_SIDED
            && self.one_sided.is_none()
            && let Some(&(at, _)) = self.snapshots.last()
        {
            self.one_sided = Some(UnitFault::OneSided { at, root, expiry, contracts });
        }
    }

    fn end_snapshot(&mut self) {
        self.end_slice();
        let (one_sided, has_both) = (self.one_sided.take(), std::mem::take(&mut self.has_both));
        if has_both && self.found.is_none() {
            self.found = one_sided;
        }
    }
}

/// The first snapshot with fewer than half of the median's contracts.
fn few_contracts(snapshots: &[(Timestamp, u32)]) -> Option<UnitFault> {
    let mut counts: Vec<u32> = snapshots.iter().map(|&(_, contracts)| contracts).collect();
    counts.sort_unstable();
    let usual = *counts.get(counts.len() / 2)?;
    let says_something = counts.len() >= SNAPSHOTS && usual >= CONTRACTS;
    let short = snapshots.iter().find(|(_, contracts)| says_something && 2 * contracts < usual);
    short.map(|&(at, contracts)| UnitFault::FewContracts { at, contracts, usual })
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::civil::date;
    use kernel::contract::ContractKey;
    use kernel::records::{Activity, QuoteRecord};

    /// `n` strikes of each right listed, of an expiry in `month`, `minute` minutes after the first.
    fn slice(minute: i64, month: i8, rights: &[Right], n: u32) -> Vec<HistoryRow> {
        let symbol = Symbol::parse("ABC").unwrap();
        let ts = Timestamp::from_second(1_704_294_000 + 60 * minute).unwrap();
        let rows = (0..n).flat_map(|i| rights.iter().map(move |&right| (i, right)));
        let contract = |(i, right)| ContractKey {
            root: symbol,
            expiry: date(2024, month, 16),
            strike_milli: 100_000 + 1000 * i,
            right,
        };
        let (bid, ask, bid_size, ask_size) = (1.0, 2.0, f64::NAN, f64::NAN);
        let quote = |contract| QuoteRecord {
            ts,
            underlying: symbol,
            contract,
            bid,
            ask,
            bid_size,
            ask_size,
            activity: Activity::default(),
        };
        rows.map(contract).map(|contract| HistoryRow { quote: quote(contract), spot: 100.0 }).collect()
    }

    fn check(parts: &[Vec<HistoryRow>]) -> (u32, Option<UnitFault>) {
        let mut check = WholenessCheck::default();
        parts.iter().flatten().for_each(|row| check.take(row));
        check.finish()
    }

    const BOTH: [Right; 2] = [Right::Call, Right::Put];

    #[test]
    fn an_expiry_that_lost_a_side_is_found() {
        let (snapshots, fault) = check(&[slice(0, 2, &BOTH, 30), slice(0, 3, &[Right::Call], 20)]);
        let Some(UnitFault::OneSided { expiry, contracts, .. }) = fault else { panic!("{fault:?}") };
        assert_eq!((snapshots, expiry, contracts), (1, date(2024, 3, 16), 20));
        // whichever comes first
        assert!(check(&[slice(0, 2, &[Right::Put], 20), slice(0, 3, &BOTH, 1)]).1.is_some());
        // few contracts that never traded on the other side; a recording of one side only
        assert_eq!(check(&[slice(0, 2, &BOTH, 30), slice(0, 3, &[Right::Call], 19)]).1, None);
        assert_eq!(check(&[slice(0, 2, &[Right::Put], 30), slice(0, 3, &[Right::Put], 30)]).1, None);
        // each snapshot by itself
        assert_eq!(check(&[slice(0, 2, &BOTH, 30), slice(1, 3, &[Right::Call], 30)]).1, None);
    }

    #[test]
    fn a_snapshot_that_lost_more_than_half_is_found() {
        let day = |counts: &[u32]| {
            let snapshots: Vec<_> = (0..).zip(counts).map(|(i, &n)| slice(i, 2, &BOTH, n)).collect();
            check(&snapshots)
        };
        assert_eq!(day(&[30, 30, 15, 30]), (4, None));
        let (snapshots, fault) = day(&[30, 30, 14, 30]);
        let Some(UnitFault::FewContracts { contracts, usual, .. }) = fault else { panic!("{fault:?}") };
        assert_eq!((snapshots, contracts, usual), (4, 28, 60));
        // two do not say which of them is usual; a handful may double
        assert_eq!(day(&[30, 10]), (2, None));
        assert_eq!(day(&[4, 4, 1]), (3, None));
    }

    #[test]
    fn a_check_begins_anew() {
        let mut check = WholenessCheck::default();
        slice(0, 2, &[Right::Call], 30).iter().for_each(|row| check.take(row));
        assert_eq!(check.finish(), (1, None));
        slice(0, 3, &BOTH, 30).iter().for_each(|row| check.take(row));
        assert_eq!(check.finish(), (1, None));
    }
}
