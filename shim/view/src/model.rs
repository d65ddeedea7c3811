//! Fetched data: names, expiries, rows, status. Never: a request, a screen.

use super::column::{Column, N_COLUMNS};
use super::number;

/// Root and expiry of a chain on the screen.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct SliceKey {
    /// The day, `2026-12-18`.
    pub(crate) expiry: String,
    /// Its root, `SPXW`.
    pub(crate) root: String,
}

/// The snapshots of a name around a moment, as `as_of` takes them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Moments {
    /// The snapshot of the moment; `None`: its day has no snapshot so early.
    pub(crate) time: Option<String>,
    /// The snapshot before.
    pub(crate) previous: Option<String>,
    /// The snapshot after.
    pub(crate) next: Option<String>,
}

/// An expiry: the columns of the group `chain`, and the volatility at the money.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ExpiryRow {
    /// Root and expiry.
    pub(crate) key: SliceKey,
    /// True if it settles in the morning.
    pub(crate) is_am: bool,
    /// True if it can be exercised early.
    pub(crate) is_american: bool,
    /// Calendar days to settlement.
    pub(crate) days: f64,
    /// The forward.
    pub(crate) fwd: f64,
    /// The borrow rate, a fraction per year.
    pub(crate) borrow: f64,
    /// The discount rate, a fraction per year.
    pub(crate) rate: f64,
    /// Dividends to expiry, currency per share.
    pub(crate) divs: f64,
    /// The price of the underlying.
    pub(crate) spot: f64,
    /// Volatility of the strike nearest to the forward, per square root of a year.
    pub(crate) atm_vol: f64,
    /// Closing volatility of the previous session at that strike.
    pub(crate) prev_vol: f64,
}

/// One contract.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Side {
    /// Its OSI symbol.
    pub(crate) osym: String,
    /// Numbers by index of the column; NaN: missing, or not requested.
    pub(crate) values: [f64; N_COLUMNS],
    /// Direction of each number since the last fetch, as shown: -1, 0, 1.
    pub(crate) moved: [i8; N_COLUMNS],
}

impl Side {
    /// A contract without numbers.
    pub(crate) fn new(osym: String) -> Self {
        Self { osym, values: [f64::NAN; N_COLUMNS], moved: [0; N_COLUMNS] }
    }

    /// The number of a column.
    pub(crate) fn get(&self, column: Column) -> f64 {
        self.values[column.place()]
    }

    /// Notes the numbers that moved; only visible changes count.
    fn compare(&mut self, before: &Self) {
        for column in Column::all() {
            let (new, old) = (self.get(column), before.get(column));
            let shape = column.facts().shape;
            let is_other =
                new.is_finite() && old.is_finite() && number::shown(new, shape, 7) != number::shown(old, shape, 7);
            self.moved[column.place()] = match (is_other, new > old) {
                (false, _) => 0,
                (true, true) => 1,
                (true, false) => -1,
            };
        }
    }
}

/// A strike: call and put, as far as they are listed.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct StrikeRow {
    /// Strike, currency per share.
    pub(crate) strike: f64,
    /// The call.
    pub(crate) call: Option<Side>,
    /// The put.
    pub(crate) put: Option<Side>,
}

impl StrikeRow {
    /// The contracts of the strike.
    pub(crate) fn sides(&self) -> impl Iterator<Item = &Side> {
        [&self.call, &self.put].into_iter().flatten()
    }

    /// The side that is out of the money at a forward, else the one there is.
    pub(crate) fn outside(&self, fwd: f64) -> Option<&Side> {
        let (first, second) = if self.strike >= fwd { (&self.call, &self.put) } else { (&self.put, &self.call) };
        first.as_ref().or(second.as_ref())
    }
}

/// The rows of one slice, by strike.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ChainRows {
    /// Name of the rows.
    pub(crate) name: String,
    /// Root and expiry of the rows.
    pub(crate) key: SliceKey,
    /// Rows by strike.
    pub(crate) rows: Vec<StrikeRow>,
}

impl ChainRows {
    /// Marks the numbers that changed since the rows were last fetched.
    pub(crate) fn compare(&mut self, before: &Self) {
        if self.name != before.name || self.key != before.key {
            return;
        }
        let mut old = before.rows.iter().peekable();
        for row in &mut self.rows {
            while old.next_if(|old| old.strike < row.strike).is_some() {}
            let Some(same) = old.peek().filter(|old| old.strike <= row.strike) else { continue };
            for (new, old) in [(&mut row.call, &same.call), (&mut row.put, &same.put)] {
                if let (Some(new), Some(old)) = (new, old) {
                    new.compare(old);
                }
            }
        }
    }

    /// The place of the strike nearest to a price.
    pub(crate) fn nearest(&self, price: f64) -> Option<usize> {
        let distance = |row: &StrikeRow| (row.strike - price).abs();
        let places = 0..self.rows.len();
        places.min_by(|&a, &b| distance(&self.rows[a]).total_cmp(&distance(&self.rows[b])))
    }
}

/// Status of a name, from `/l1/symbols`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct NameFacts {
    /// The symbol.
    pub(crate) symbol: String,
    /// `ok`, `held`, `stale`, `uncomputed`, `pending`.
    pub(crate) state: String,
    /// Why it has no Greeks; else empty.
    pub(crate) reason: String,
    /// True if the Greeks are preliminary.
    pub(crate) is_preliminary: bool,
    /// The instant that the values are of, as the API spells it.
    pub(crate) valued_at: String,
    /// Dates on which contracts expire.
    pub(crate) expiries: u64,
    /// Listed contracts.
    pub(crate) contracts: u64,
}

/// A name of the watch list.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct WatchRow {
    /// The symbol.
    pub(crate) symbol: String,
    /// Its price.
    pub(crate) spot: f64,
    /// The volatility at the money of the expiry nearest to thirty days.
    pub(crate) vol: f64,
    /// Closing volatility of the previous session.
    pub(crate) prev_vol: f64,
    /// Direction of the price since the last fetch: -1, 0, 1.
    pub(crate) moved: i8,
}

/// Status of the daemon.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct DaemonFacts {
    /// `ok`, `starting`, `held`, `stale`, `failed`.
    pub(crate) status: String,
    /// Its feed.
    pub(crate) feed: String,
    /// True if the market is simulated.
    pub(crate) simulated: bool,
    /// True if the market is open.
    pub(crate) is_open: bool,
    /// The snapshot's time, as the API spells it.
    pub(crate) time: String,
    /// The snapshot's number.
    pub(crate) number: u64,
    /// Names.
    pub(crate) names: u64,
    /// Names without a chain yet.
    pub(crate) pending: u64,
    /// Contracts.
    pub(crate) contracts: u64,
    /// The source of the discount curve and its date, as in `implied 2026-11-20`; empty: not known.
    pub(crate) rates: String,
    /// Warning about the curve with its remedy; empty if there is none.
    pub(crate) rates_warning: String,
    /// Names whose dividends no source covers, as far as the daemon lists them.
    pub(crate) dividends_unknown: Vec<String>,
    /// Names with the assumption that their quotes contradict, as far as the daemon lists them.
    pub(crate) doubted: Vec<(String, String)>,
    /// Names most of whose quotes do not hold their value, as far as the daemon lists them.
    pub(crate) quotes_missed: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn side(value: f64) -> Option<Side> {
        let mut side = Side::new("X".to_owned());
        side.values[0] = value;
        Some(side)
    }

    fn rows(values: &[(f64, f64)]) -> ChainRows {
        let row = |&(strike, value): &(f64, f64)| StrikeRow { strike, call: side(value), put: None };
        ChainRows { rows: values.iter().map(row).collect(), ..ChainRows::default() }
    }

    #[test]
    fn what_moved_is_what_shows_and_strikes_may_come_and_go() {
        let before = rows(&[(90.0, 11.0), (100.0, 5.0), (110.0, 2.0), (120.0, f64::NAN)]);
        let mut now = rows(&[(95.0, 8.0), (100.0, 5.01), (110.0, 1.0), (115.0, 1.0), (120.0, 1.0)]);
        now.compare(&before);
        let moved: Vec<i8> = now.rows.iter().map(|row| row.call.as_ref().unwrap().moved[0]).collect();
        assert_eq!(moved, [0, 1, -1, 0, 0]);
        let mut same = rows(&[(100.0, 5.001)]);
        same.compare(&before);
        assert_eq!(same.rows[0].call.as_ref().unwrap().moved[0], 0);
        let mut other = ChainRows { name: "OTHER".to_owned(), ..rows(&[(100.0, 9.0)]) };
        other.compare(&before);
        assert_eq!(other.rows[0].call.as_ref().unwrap().moved[0], 0);
    }

    #[test]
    fn the_nearest_strike_is_found() {
        let chain = rows(&[(90.0, 1.0), (100.0, 1.0), (110.0, 1.0)]);
        assert_eq!([0.0, 96.0, 1e9].map(|price| chain.nearest(price)), [Some(0), Some(1), Some(2)]);
        assert_eq!(rows(&[]).nearest(1.0), None);
    }
}
