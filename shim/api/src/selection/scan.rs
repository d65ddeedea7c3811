//! A scan of many rows for a few: those whose numbers fulfil conditions, or the largest or smallest of the market.
//! A missing number fulfils no condition, and comes last in any order. Never: a parameter's name, bytes.

use crate::picked::{Picked, ranges_of};
use crate::rows::source::SliceNumber;
use engine::exercise;
use engine::store::chain::{Chain, Slice};
use engine::store::columns::Col;
use engine::store::quotes::QuoteNumber;
use kernel::contract::strike_of;
use std::cmp::Ordering;
use std::sync::Arc;

/// A number of a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RowNumber {
    /// A column, in its own unit.
    Column(Col),
    /// A number of its expiry.
    Expiry(SliceNumber),
    /// A number of its quote.
    Quote(QuoteNumber),
    /// Its strike, currency.
    Strike,
}

/// How a number is compared with a bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// Below it.
    Less,
    /// At most it.
    AtMost,
    /// Above it.
    Greater,
    /// At least it.
    AtLeast,
    /// Equal to it.
    Equal,
}

/// A condition that a row fulfils, by a number that `N` names.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Condition<N> {
    /// The number of the row.
    pub number: N,
    /// How it is compared.
    pub relation: Relation,
    /// Number that the row is compared with.
    pub bound: f64,
}

/// Conditions and order of the rows of a scan.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scan {
    /// All of these are fulfilled.
    pub conditions: Vec<Condition<RowNumber>>,
    /// The order, and whether the largest come first; `None`: the order of the rows.
    pub order: Option<(RowNumber, bool)>,
    /// At most this many rows.
    pub limit: usize,
}

impl<N> Condition<N> {
    /// Reads `gamma>=0.01`, with `<`, `<=`, `>`, `>=` or `=` and a finite bound; `number` reads the name before it.
    #[must_use]
    pub fn parse(text: &str, number: impl FnOnce(&str) -> Option<N>) -> Option<Self> {
        let (name, rest) = text.split_at(text.find(['<', '>', '='])?);
        let signs = [
            ("<=", Relation::AtMost),
            (">=", Relation::AtLeast),
            ("<", Relation::Less),
            (">", Relation::Greater),
            ("=", Relation::Equal),
        ];
        let (bound, relation) =
            signs.iter().find_map(|&(sign, relation)| Some((rest.strip_prefix(sign)?, relation)))?;
        let bound = bound.trim().parse().ok().filter(|bound: &f64| bound.is_finite())?;
        Some(Self { number: number(name.trim())?, relation, bound })
    }

    /// True if a number fulfils it; one that is missing does not.
    #[must_use]
    pub fn admit(&self, x: f64) -> bool {
        match self.relation {
            Relation::Less => x < self.bound,
            Relation::AtMost => x <= self.bound,
            Relation::Greater => x > self.bound,
            Relation::AtLeast => x >= self.bound,
            Relation::Equal => (x - self.bound).abs() <= 1e-9 * self.bound.abs(),
        }
    }
}

impl RowNumber {
    fn of(self, chain: &Chain, slice: &Slice, row: u32) -> f64 {
        let row = row as usize;
        match self {
            Self::Column(col) => exercise::column(chain, col)[row],
            Self::Expiry(number) => number.of(slice),
            Self::Quote(number) => chain.quotes.as_ref().map_or(f64::NAN, |quotes| quotes.get(row, number)),
            Self::Strike => strike_of(chain.strike_milli[row]),
        }
    }

    /// True if it is there only where quotes are shown.
    #[must_use]
    pub fn is_quoted(self) -> bool {
        matches!(self, Self::Quote(_))
    }
}

/// The rows that are looked for, one after the other in the order asked for.
#[must_use]
pub fn scan(picked: Vec<Picked>, scan: &Scan) -> Vec<Picked> {
    let mut found = Found { rows: Vec::new(), limit: scan.limit };
    'all: for (place, of) in picked.iter().enumerate() {
        for slice in &of.chain.slices {
            let is_met = |row: &u32| {
                scan.conditions.iter().all(|condition| condition.admit(condition.number.of(&of.chain, slice, *row)))
            };
            for row in of.rows_of(slice).filter(is_met) {
                let key = match scan.order {
                    None => 0.0,
                    Some((number, is_falling)) => {
                        let x = number.of(&of.chain, slice, row);
                        if is_falling { -x } else { x }
                    }
                };
                found.add(Candidate { key, place, row });
            }
            if scan.order.is_none() && found.rows.len() >= scan.limit {
                break 'all;
            }
        }
    }
    let rows = found.sorted();
    let together = |of: &[Candidate]| Picked {
        chain: Arc::clone(&picked[of[0].place].chain),
        rows: ranges_of(of.iter().map(|candidate| candidate.row)),
    };
    // a row that stands before its neighbour begins a range of its own
    rows.chunk_by(|a, b| a.place == b.place && a.row < b.row).map(together).collect()
}

/// A row that may be among the first.
#[derive(Clone, Copy)]
struct Candidate {
    key: f64,
    place: usize,
    row: u32,
}

impl Candidate {
    fn order(&self, other: &Self) -> Ordering {
        let missing = |x: f64| x.is_nan();
        missing(self.key)
            .cmp(&missing(other.key))
            .then(self.key.total_cmp(&other.key))
            .then((self.place, self.row).cmp(&(other.place, other.row)))
    }
}

/// The first rows so far: at most twice as many as are asked for are held.
struct Found {
    rows: Vec<Candidate>,
    limit: usize,
}

impl Found {
    fn add(&mut self, candidate: Candidate) {
        self.rows.push(candidate);
        if self.rows.len() >= 2 * self.limit.max(1) {
            self.cut();
        }
    }

    fn cut(&mut self) {
        if self.rows.len() > self.limit && self.limit > 0 {
            self.rows.select_nth_unstable_by(self.limit - 1, Candidate::order);
        }
        self.rows.truncate(self.limit);
    }

    fn sorted(mut self) -> Vec<Candidate> {
        self.cut();
        self.rows.sort_unstable_by(Candidate::order);
        self.rows
    }
}
