//! Records that wait to be taken in: of each contract and each underlying the last state only, so that what waits is
//! never more than what there is. A source that is faster than its reader loses states in between and nothing else.
//! Never: a thread, a clock.

use core::mem;
use jiff::civil::Date;
use kernel::calendar::Day;
use kernel::contract::{ContractKey, Symbol};
use kernel::limits;
use kernel::records::{Batch, DividendCover, DividendRecord, QuoteRecord, RateRecord, SpotRecord};
use std::collections::{BTreeMap, HashMap};

/// Records that wait for the next batch. Dividends, rates and dates come piece by piece and are kept for good: each
/// batch has all of them.
#[derive(Debug, Default)]
pub struct Conflated {
    /// One of each contract, in the order in which the contracts came.
    quotes: Vec<QuoteRecord>,
    /// Index of each contract in `quotes`, and how often its name had been forgotten when the quote came.
    at: HashMap<(Symbol, ContractKey), (usize, u32)>,
    spots: BTreeMap<Symbol, SpotRecord>,
    /// Names to forget, and how often each was. Their quotes of before stay in place until they are taken, since a
    /// search for them at each name would hold up the reader.
    reset: BTreeMap<Symbol, u32>,
    dividends: LatestRows<(Symbol, Date), DividendRecord>,
    /// Names of which a dividend was ever delivered; one of 0 counts.
    dividend_cover: DividendCover,
    /// By date and the bits of the tenor, which is positive.
    rates: LatestRows<(Date, u64), f64>,
    days: LatestRows<Date, Day>,
    superseded: u64,
    /// Dividends, rates and dates beyond [`limits::KEPT_RECORDS`], until they are taken.
    refused: u64,
}

/// Everything of a kind, and whether anything of it is new.
#[derive(Debug)]
struct LatestRows<K, V> {
    rows: BTreeMap<K, V>,
    is_new: bool,
}

impl<K, V> Default for LatestRows<K, V> {
    fn default() -> Self {
        Self { rows: BTreeMap::new(), is_new: false }
    }
}

impl<K: Ord + Copy, V: Copy> LatestRows<K, V> {
    /// Keeps a row; false if it is one more than may be kept.
    fn put(&mut self, key: K, value: V) -> bool {
        let is_full = !limits::KEPT_RECORDS.holds(self.rows.len() as f64 + 1.0);
        // full: known keys still change, new ones are refused and counted, so that a sender of endless keys is bounded
        if is_full && !self.rows.contains_key(&key) {
            return false;
        }
        self.rows.insert(key, value);
        self.is_new = true;
        true
    }

    /// Everything, if anything is new.
    fn take<R>(&mut self, record: impl Fn((K, V)) -> R) -> Option<Vec<R>> {
        mem::take(&mut self.is_new).then(|| self.rows.iter().map(|(&k, &v)| record((k, v))).collect())
    }
}

impl Conflated {
    /// Takes in what came. A name that is forgotten loses what waits of it; a dividend of 0 and a rate of NaN are no
    /// more.
    ///
    /// The underlyings of quotes and of names to forget must be spelt alike: `SPX` does not forget quotes of `SPXW`.
    pub fn add(&mut self, batch: Batch) {
        // a reset comes before the quotes of its own batch, which are the new chain
        for name in batch.reset {
            self.forget(name);
        }
        batch.quotes.into_iter().for_each(|quote| self.quote(quote));
        batch.spots.into_iter().for_each(|spot| self.spot(spot));
        // an empty list is news too: the source has no dividend for those names
        if batch.dividends.is_some() {
            self.dividend_cover.extend(&batch.dividend_cover);
            self.dividends.is_new = true;
        }
        for dividend in batch.dividends.into_iter().flatten() {
            if limits::NAMES.holds(self.dividend_cover.names.len() as f64 + 1.0) {
                self.dividend_cover.names.insert(dividend.underlying);
            }
            self.refused += u64::from(!self.dividends.put((dividend.underlying, dividend.ex_date), dividend));
        }
        for RateRecord { date, tenor_days, rate } in batch.rates.into_iter().flatten() {
            self.refused += u64::from(!self.rates.put((date, tenor_days.to_bits()), rate));
        }
        for (date, day) in batch.days.into_iter().flatten() {
            self.refused += u64::from(!self.days.put(date, day));
        }
    }

    /// How many quotes, prices and names to forget wait.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.quotes.len() + self.spots.len() + self.reset.len()
    }

    /// Bytes held, about: room that was needed once stays.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.quotes.capacity() * size_of::<QuoteRecord>()
            + self.at.capacity() * size_of::<((Symbol, ContractKey), (usize, u32))>()
            + self.reset.len() * size_of::<(Symbol, u32)>()
            + self.spots.len() * size_of::<(Symbol, SpotRecord)>()
            + self.dividends.rows.len() * size_of::<((Symbol, Date), DividendRecord)>()
            + self.rates.rows.len() * size_of::<((Date, u64), f64)>()
    }

    /// How many dividends, rates and dates were refused since this was last asked: more than [`limits::KEPT_RECORDS`]
    /// of a kind are not kept.
    pub fn take_refused(&mut self) -> u64 {
        mem::take(&mut self.refused)
    }

    /// Quotes and spots so far that another one took the place of while they waited.
    #[must_use]
    pub fn superseded(&self) -> u64 {
        self.superseded
    }

    /// Hands over what waits.
    pub fn take(&mut self) -> Batch {
        if !self.reset.is_empty() {
            let (at, reset) = (&self.at, &self.reset);
            self.quotes.retain(|quote| {
                match (reset.get(&quote.underlying), at.get(&(quote.underlying, quote.contract))) {
                    (Some(forgotten), Some((_, came))) => came == forgotten,
                    _ => true,
                }
            });
        }
        self.at.clear();
        // an amount of zero takes a dividend back; it has done so once it was handed out
        self.dividends.rows.retain(|_, dividend| dividend.amount > 0.0);
        // NaN takes a rate back
        self.rates.rows.retain(|_, rate| !rate.is_nan());
        Batch {
            reset: mem::take(&mut self.reset).into_keys().collect(),
            quotes: mem::take(&mut self.quotes),
            spots: mem::take(&mut self.spots).into_values().collect(),
            dividends: self.dividends.take(|(_, dividend)| dividend),
            dividend_cover: self.dividend_cover.clone(),
            rates: self.rates.take(|((date, tenor), rate)| RateRecord {
                date,
                tenor_days: f64::from_bits(tenor),
                rate,
            }),
            days: self.days.take(|day| day),
            // no feed that pushes has them
            deliverables: None,
            events: None,
        }
    }

    fn quote(&mut self, quote: QuoteRecord) {
        let forgotten = self.reset.get(&quote.underlying).copied().unwrap_or_default();
        match self.at.entry((quote.underlying, quote.contract)) {
            std::collections::hash_map::Entry::Vacant(entry) => {
                entry.insert((self.quotes.len(), forgotten));
                self.quotes.push(quote);
            }
            std::collections::hash_map::Entry::Occupied(mut entry) => {
                let (index, came) = entry.get_mut();
                let waiting = &mut self.quotes[*index];
                if mem::replace(came, forgotten) != forgotten {
                    *waiting = quote;
                    return;
                }
                self.superseded += 1;
                // an older quote may arrive later: the newest wins, however deliveries are interleaved
                if quote.precedence(waiting).is_gt() {
                    *waiting = quote;
                }
            }
        }
    }

    fn spot(&mut self, spot: SpotRecord) {
        let waiting = self.spots.entry(spot.underlying).or_insert(spot);
        // the first record of a name is in the entry already and superseded nothing
        if *waiting != spot {
            self.superseded += 1;
        }
        if spot.precedence(waiting).is_gt() {
            *waiting = spot;
        }
    }

    fn forget(&mut self, name: Symbol) {
        let forgotten = self.reset.entry(name).or_default();
        *forgotten = forgotten.saturating_add(1);
        self.spots.remove(&name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::store::ingest::Store;
    use jiff::Timestamp;
    use jiff::civil::date;
    use kernel::calendar::Calendar;
    use kernel::contract::{Right, RootTable};
    use kernel::records::Activity;
    use proptest::prelude::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_795_207_320 + second).unwrap()
    }

    /// One of a few contracts of two names, at one of a few times.
    fn quote() -> impl Strategy<Value = QuoteRecord> {
        (0..2u8, 0..3u32, any::<bool>(), 0..6i64, 0..4u32, 0..4u32).prop_map(|(name, strike, put, ts, bid, ask)| {
            let underlying = Symbol::parse(["AA", "BB"][usize::from(name)]).unwrap();
            let right = if put { Right::Put } else { Right::Call };
            let strike_milli = 1000 + 1000 * strike;
            let contract = ContractKey { root: underlying, expiry: date(2026, 12, 18), strike_milli, right };
            let (bid, ask) = (f64::from(bid), f64::from(ask));
            QuoteRecord {
                ts: at(ts),
                underlying,
                contract,
                bid,
                ask,
                bid_size: f64::NAN,
                ask_size: f64::NAN,
                activity: Activity::default(),
            }
        })
    }

    fn batch() -> impl Strategy<Value = Batch> {
        let spot = (0..2u8, 0..6i64, 1..4u32).prop_map(|(name, ts, price)| SpotRecord {
            ts: at(ts),
            underlying: Symbol::parse(["AA", "BB"][usize::from(name)]).unwrap(),
            price: f64::from(price),
        });
        let reset = prop::option::weighted(0.2, Just(Symbol::parse("AA").unwrap()));
        (prop::collection::vec(quote(), 0..8), prop::collection::vec(spot, 0..3), reset).prop_map(
            |(quotes, spots, reset)| Batch { reset: reset.into_iter().collect(), quotes, spots, ..Batch::default() },
        )
    }

    fn store(batches: impl IntoIterator<Item = Batch>) -> String {
        let mut store = Store::new(RootTable::embedded(), Calendar::embedded());
        for batch in batches {
            store.ingest(&batch, Timestamp::MAX);
        }
        store.books_mut().iter_mut().flat_map(|book| &mut book.slices).for_each(|slice| slice.stale = false);
        // a name of which nothing is known but that it was forgotten has no book in one and none in the other
        format!("{:?}", store.books())
    }

    proptest! {
        #[test]
        fn what_was_conflated_leaves_the_same_books(batches in prop::collection::vec(batch(), 1..6)) {
            let mut waiting = Conflated::default();
            batches.iter().cloned().for_each(|batch| waiting.add(batch));
            prop_assert!(waiting.waiting() <= 12 + 2 + 2, "contracts, prices and names to forget");
            prop_assert_eq!(store([waiting.take()]), store(batches));
        }
    }

    #[test]
    fn names_are_forgotten_without_a_search_for_what_waits_of_them() {
        let mut waiting = Conflated::default();
        let contract = |name, strike_milli| ContractKey {
            root: name,
            expiry: date(2026, 12, 18),
            strike_milli,
            right: Right::Call,
        };
        let nan = f64::NAN;
        let quotes = |of: &str, strikes: core::ops::Range<u32>, bid| -> Vec<QuoteRecord> {
            let name = Symbol::parse(of).unwrap();
            let one = |strike| QuoteRecord {
                ts: at(0),
                underlying: name,
                contract: contract(name, strike),
                bid,
                ask: bid + 1.0,
                bid_size: nan,
                ask_size: nan,
                activity: Activity::default(),
            };
            strikes.map(one).collect()
        };
        let names = ["AA", "BB"].map(|name| Symbol::parse(name).unwrap());
        waiting.add(Batch { quotes: [quotes("AA", 1..4, 1.0), quotes("BB", 1..3, 1.0)].concat(), ..Batch::default() });
        for _ in 0..3 {
            waiting.add(Batch { reset: vec![names[0]], ..Batch::default() });
        }
        assert_eq!(waiting.quotes.len(), 5, "in their places until they are taken");
        waiting.add(Batch { quotes: quotes("AA", 2..3, 7.0), ..Batch::default() });
        assert_eq!((waiting.waiting(), waiting.superseded()), (6, 0), "a place that was forgotten is used again");
        let batch = waiting.take();
        let left: Vec<_> = batch.quotes.iter().map(|q| (q.underlying, q.contract.strike_milli, q.bid)).collect();
        assert_eq!(
            (batch.reset, left),
            (vec![names[0]], vec![(names[0], 2, 7.0), (names[1], 1, 1.0), (names[1], 2, 1.0)])
        );
        waiting.add(Batch { quotes: quotes("AA", 1..2, 3.0), ..Batch::default() });
        assert_eq!(waiting.take().quotes.len(), 1, "it was forgotten once, and is there again");
    }

    #[test]
    fn what_was_taken_waits_no_more_and_dividends_are_whole() {
        let name = Symbol::parse("AA").unwrap();
        let dividend =
            |day, amount| DividendRecord { underlying: name, ex_date: date(2026, 12, day), amount, projected: false };
        let of = |records: &[DividendRecord]| Batch { dividends: Some(records.to_vec()), ..Batch::default() };
        let mut waiting = Conflated::default();
        waiting.add(of(&[dividend(1, 0.5)]));
        assert_eq!(waiting.take().dividends, Some(vec![dividend(1, 0.5)]));
        assert_eq!(waiting.take().dividends, None, "nothing new");
        waiting.add(of(&[dividend(2, 0.25)]));
        waiting.add(of(&[dividend(1, 0.0)]));
        assert_eq!(waiting.take().dividends, Some(vec![dividend(2, 0.25)]), "every one, and none that is no more");
    }

    #[test]
    fn what_is_kept_for_good_is_bounded() {
        let mut kept = LatestRows::<u32, u8>::default();
        let most = limits::KEPT_RECORDS.most as u32;
        assert!((0..most).all(|i| kept.put(i, 0)));
        assert!(!kept.put(most, 0) && kept.put(7, 1), "one more is refused, one that is there is replaced");
        assert_eq!(kept.rows.len(), most as usize);
        let mut waiting = Conflated::default();
        waiting.rates.rows = (0..u64::from(most)).map(|i| ((date(2026, 11, 20), i), 0.04)).collect();
        let rate = RateRecord { date: date(2026, 11, 20), tenor_days: 365.0, rate: 0.05 };
        waiting.add(Batch { rates: Some(vec![rate]), ..Batch::default() });
        assert_eq!((waiting.take_refused(), waiting.take_refused()), (1, 0));
    }
}
