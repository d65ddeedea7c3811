//! Counts over the units of a job. Never: an error.

use crate::recipe::UnitSnapshot;
use crate::unit::HistoryUnit;
use crate::whole::UnitFault;
use engine::store::chain::Uncomputed;
use engine::store::drop_reason::DropReason;
use jiff::civil::Date;
use kernel::contract::Symbol;
use kernel::error::Reason;

/// A unit that could not be computed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnitFailure {
    /// Eastern date of its quotes.
    pub day: Date,
    /// Underlying symbol.
    pub underlying: Symbol,
    /// The reason why it could not be computed.
    pub fault: UnitFault,
}

impl UnitFailure {
    /// A unit with its fault.
    #[must_use]
    pub fn new(unit: &HistoryUnit, fault: UnitFault) -> Self {
        Self { day: unit.day, underlying: unit.underlying, fault }
    }
}

/// A unit of which an assumption is doubted, or whose values most of its quotes do not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnitDoubt {
    /// Eastern date of its quotes.
    pub day: Date,
    /// Underlying symbol.
    pub underlying: Symbol,
    /// The first of its snapshots in words.
    pub text: String,
}

/// Counts of the rows and chains of units.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UnitCounts {
    /// Snapshots with a chain.
    pub snapshots: u64,
    /// Contracts in these chains.
    pub contracts: u64,
    /// Contracts with Greeks.
    pub priced: u64,
    /// Rows that were refused, by [`Reason`].
    pub refused: [u64; Reason::ALL.len()],
    /// Quotes that were not used for forwards and curves, by [`DropReason`].
    pub dropped: [u64; DropReason::ALL.len()],
    /// Chains without Greeks, by [`Uncomputed`].
    pub uncomputed: [u64; Uncomputed::ALL.len()],
}

impl UnitCounts {
    /// Counts a snapshot.
    pub fn add(&mut self, snapshot: &UnitSnapshot) {
        add_each(&mut self.refused, &snapshot.ingested.refused);
        let Some(computed) = &snapshot.computed else { return };
        let report = &computed.report;
        self.snapshots += 1;
        self.contracts += u64::from(computed.chain.rows());
        self.priced += u64::from(report.priced);
        add_each(&mut self.dropped, &report.dropped.map(u64::from));
        if let Some(why) = computed.chain.uncomputed {
            self.uncomputed[why as usize] += 1;
        }
    }

    /// Adds other counts.
    pub fn absorb(&mut self, other: &Self) {
        self.snapshots += other.snapshots;
        self.contracts += other.contracts;
        self.priced += other.priced;
        add_each(&mut self.refused, &other.refused);
        add_each(&mut self.dropped, &other.dropped);
        add_each(&mut self.uncomputed, &other.uncomputed);
    }
}

fn add_each(to: &mut [u64], from: &[u64]) {
    for (n, more) in to.iter_mut().zip(from) {
        *n += more;
    }
}
