//! Counts of the work of American values: reads of tables and boundaries, and their solves. Each thread counts for
//! itself, and no value depends on the counts. Never: a clock.

use std::cell::Cell;

/// Defines [`Work`] with the functions that cover all of its counts.
macro_rules! work {
    ($($(#[$doc:meta])* $count:ident,)*) => {
        /// Reads and solves. A read is of one block of lanes; a solve costs a hundred to a million times as much.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct Work {
            $($(#[$doc])* pub $count: u64,)*
        }

        impl Work {
            /// Zero of each count.
            const NOTHING: Self = Self { $($count: 0,)* };

            /// Each count with its name.
            pub fn named(&self) -> impl Iterator<Item = (&'static str, u64)> {
                [$((stringify!($count), self.$count),)*].into_iter()
            }

            /// The work of this thread after it had done as much as `earlier` ([`Work::of_thread`]).
            #[must_use]
            pub fn since(earlier: &Self) -> Self {
                let now = Self::of_thread();
                Self { $($count: now.$count.wrapping_sub(earlier.$count),)* }
            }
        }

        impl core::ops::AddAssign for Work {
            fn add_assign(&mut self, other: Self) {
                $(self.$count = self.$count.wrapping_add(other.$count);)*
            }
        }
    };
}

work! {
    /// Reads of contracts that are never worth exercising early, or European.
    reads_european,
    /// Reads of boundaries without dividends.
    reads_boundaries,
    /// Reads of premium tables.
    reads_tables,
    /// Premium tables solved.
    tables,
    /// Premium tables solved a second time, with more strikes and terms.
    tables_refined,
    /// Derivatives of premium tables in the rates.
    table_rates,
    /// Boundaries without dividends solved.
    boundaries,
    /// Contracts solved one by one, since no method solves them in lanes.
    one_by_one,
    /// Lattices.
    lattices,
}

thread_local! {
    static WORK: Cell<Work> = const { Cell::new(Work::NOTHING) };
}

impl Work {
    /// The work of this thread since it began.
    #[must_use]
    pub fn of_thread() -> Self {
        WORK.get()
    }
}

/// Adds to the work of this thread.
#[inline]
pub(crate) fn count(add: impl FnOnce(&mut Work)) {
    let mut work = WORK.get();
    add(&mut work);
    WORK.set(work);
}
