//! Counts of what American values cost: what was read, and what had to be solved for it. They are kept by thread, and
//! no value depends on them. Never: a clock.

use std::cell::Cell;

/// What a thread did. Reads are of blocks of lanes; the rest are solves, which cost a hundred to a million times as
/// much.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Reads of contracts that are never worth exercising early, or European.
    pub reads_european: u64,
    /// Reads of boundaries without dividends.
    pub reads_boundaries: u64,
    /// Reads of premium tables.
    pub reads_tables: u64,
    /// Premium tables solved.
    pub tables: u64,
    /// Premium tables solved a second time, with more strikes and terms.
    pub refined: u64,
    /// Derivatives of premium tables in the rates.
    pub rates: u64,
    /// Boundaries without dividends solved.
    pub boundaries: u64,
    /// Contracts that lanes have no method for, solved one by one.
    pub one_by_one: u64,
    /// Lattices.
    pub lattices: u64,
}

thread_local! {
    static WORK: Cell<Work> = const { Cell::new(Work::ZERO) };
}

impl Work {
    const ZERO: Self = Self {
        reads_european: 0,
        reads_boundaries: 0,
        reads_tables: 0,
        tables: 0,
        refined: 0,
        rates: 0,
        boundaries: 0,
        one_by_one: 0,
        lattices: 0,
    };

    /// The name of each count, in the order of [`Work::values`].
    pub const NAMES: [&'static str; 9] = [
        "reads_european",
        "reads_boundaries",
        "reads_tables",
        "tables",
        "tables_refined",
        "table_rates",
        "boundaries",
        "one_by_one",
        "lattices",
    ];

    /// The counts, in the order of [`Work::NAMES`].
    #[must_use]
    pub const fn values(&self) -> [u64; 9] {
        let Self { reads_european, reads_boundaries, reads_tables, tables, refined, rates, boundaries, .. } = *self;
        let (one_by_one, lattices) = (self.one_by_one, self.lattices);
        [reads_european, reads_boundaries, reads_tables, tables, refined, rates, boundaries, one_by_one, lattices]
    }

    const fn of_values(values: [u64; 9]) -> Self {
        let [reads_european, reads_boundaries, reads_tables, tables, refined, rates, boundaries, one_by_one, lattices] =
            values;
        Self {
            reads_european,
            reads_boundaries,
            reads_tables,
            tables,
            refined,
            rates,
            boundaries,
            one_by_one,
            lattices,
        }
    }

    /// What this thread has done since it began.
    #[must_use]
    pub fn of_thread() -> Self {
        WORK.get()
    }

    /// What this thread has done since an earlier count.
    #[must_use]
    pub fn since(earlier: &Self) -> Self {
        let (now, then) = (Self::of_thread().values(), earlier.values());
        Self::of_values(core::array::from_fn(|i| now[i].wrapping_sub(then[i])))
    }
}

impl core::ops::AddAssign for Work {
    fn add_assign(&mut self, other: Self) {
        let (sum, other) = (self.values(), other.values());
        *self = Self::of_values(core::array::from_fn(|i| sum[i].wrapping_add(other[i])));
    }
}

/// Adds to what this thread has done.
#[inline]
pub(crate) fn count(add: impl FnOnce(&mut Work)) {
    let mut work = WORK.get();
    add(&mut work);
    WORK.set(work);
}
