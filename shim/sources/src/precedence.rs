//! Precedence among sources: for each item, the first source in the user's order that has it is used. Items are the
//! quotes of a name, the price of a name, the dividends of a name, the discount curves, and the dates that override the
//! calendar's, and those of events. Dividends and rates of users override those of vendors. A source keeps its items
//! even if its connection fails, so that values do not jump between vendors. Never: a store, a clock.

use crate::facts::Used;
use jiff::civil::Date;
use kernel::calendar::Day;
use kernel::contract::{RootTable, Symbol};
use kernel::limits;
use kernel::records::{Batch, DividendCover, DividendRecord, EventRecord, QuoteRecord, RateRecord, SpotRecord};
use std::collections::{BTreeMap, BTreeSet};

/// The items of each source, and the sources in use.
#[derive(Debug)]
pub struct Precedence {
    roots: RootTable,
    /// The source whose quotes are used, by underlying.
    quotes: BTreeMap<Symbol, usize>,
    spots: BTreeMap<Symbol, usize>,
    /// The last price of each name: a reset of its quotes, which another source may send, would remove it.
    prices: BTreeMap<Symbol, SpotRecord>,
    references: Vec<SourceReference>,
    /// Order of precedence for dividends and rates: sources of users, then those of vendors.
    reference_order: Vec<usize>,
    is_vendors: Vec<bool>,
}

/// All dividends, rates and dates of a source.
#[derive(Clone, Debug, Default)]
struct SourceReference {
    dividends: Vec<DividendRecord>,
    dividend_cover: DividendCover,
    rates: Vec<RateRecord>,
    days: Vec<(Date, Day)>,
    events: Vec<EventRecord>,
}

impl Precedence {
    /// State for some sources, given whether each is a vendor's.
    pub fn new(is_vendors: &[bool], roots: RootTable) -> Self {
        let references = vec![SourceReference::default(); is_vendors.len()];
        let mut reference_order: Vec<usize> = (0..is_vendors.len()).collect();
        reference_order.sort_by_key(|&source| is_vendors[source]);
        let is_vendors = is_vendors.to_vec();
        let (quotes, spots, prices) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        Self { roots, quotes, spots, prices, references, reference_order, is_vendors }
    }

    /// True if there is only one source.
    pub fn is_alone(&self) -> bool {
        self.references.len() == 1
    }

    /// Returns the records of a batch that are used. When a source takes over a name, the batch also resets that name.
    pub fn admit(&mut self, source: usize, mut batch: Batch) -> Batch {
        if !self.is_alone() {
            self.admit_names(source, &mut batch);
        }
        self.admit_reference(source, &mut batch);
        batch
    }

    fn admit_names(&mut self, source: usize, batch: &mut Batch) {
        let roots = &self.roots;
        let mut taken_over = BTreeSet::new();
        let mut quoted = Admitted::new(source, &mut self.quotes);
        batch.quotes.retain(|QuoteRecord { underlying, contract, .. }| {
            let name = || roots.facts(contract.root, *underlying).underlying;
            quoted.admits((*underlying, contract.root), name, &mut taken_over)
        });
        let mut priced = Admitted::new(source, &mut self.spots);
        batch.spots.retain(|spot| {
            let name = || roots.canonical(spot.underlying);
            priced.admits((spot.underlying, spot.underlying), name, &mut taken_over)
        });
        // only the source whose quotes are used can reset a name
        batch.reset.retain(|&name| self.quotes.get(&roots.canonical(name)).is_none_or(|&owner| owner == source));
        batch.reset.extend(taken_over);
        let is_others = |name: &Symbol| self.spots.get(name).is_some_and(|&owner| owner != source);
        let forgotten = batch.reset.iter().map(|&name| roots.canonical(name)).filter(is_others);
        let kept: Vec<SpotRecord> = forgotten.filter_map(|name| self.prices.get(&name).copied()).collect();
        batch.spots.extend(kept);
        let prices = batch.spots.iter().map(|&spot| (roots.canonical(spot.underlying), spot));
        self.prices.extend(prices.filter(|(name, _)| self.spots.contains_key(name)));
    }

    /// Numbers of the items of a source that are used.
    pub fn used(&self, source: usize) -> Used {
        let owned = |owners: &BTreeMap<Symbol, usize>| owners.values().filter(|&&owner| owner == source).count();
        let first = |has: fn(&SourceReference) -> bool| self.references.iter().position(has) == Some(source);
        let names = |source: &usize| self.references[*source].dividends.iter().map(|d| d.underlying);
        let before = self.reference_order.iter().take_while(|&&other| other != source);
        let before: BTreeSet<Symbol> = before.flat_map(names).collect();
        let own: BTreeSet<Symbol> = names(&source).collect();
        Used {
            quotes: owned(&self.quotes),
            spots: owned(&self.spots),
            dividends: own.difference(&before).count(),
            rates: self.rates_source() == Some(source),
            days: first(|reference| !reference.days.is_empty()),
        }
    }

    fn admit_reference(&mut self, source: usize, batch: &mut Batch) {
        let own = &mut self.references[source];
        let has = (batch.dividends.is_some(), batch.rates.is_some(), batch.days.is_some(), batch.events.is_some());
        if let Some(dividends) = batch.dividends.take() {
            own.dividends = dividends;
            own.dividend_cover.extend(&batch.dividend_cover);
        }
        batch.rates.take().into_iter().for_each(|rates| own.rates = rates);
        batch.days.take().into_iter().for_each(|days| own.days = days);
        batch.events.take().into_iter().for_each(|events| own.events = events);
        batch.dividends = has.0.then(|| self.dividends());
        batch.dividend_cover = DividendCover::default();
        self.references.iter().for_each(|reference| batch.dividend_cover.extend(&reference.dividend_cover));
        let rates = || self.rates_source().map(|source| self.references[source].rates.clone()).unwrap_or_default();
        batch.rates = has.1.then(rates);
        batch.days = has.2.then(|| first_of(&self.references, |r| &r.days));
        batch.events = has.3.then(|| first_of(&self.references, |r| &r.events));
    }

    /// The source whose rates are used.
    fn rates_source(&self) -> Option<usize> {
        self.reference_order.iter().copied().find(|&source| !self.references[source].rates.is_empty())
    }

    /// True if the rates in use are a vendor's, and not a user's.
    pub fn has_vendors_rates(&self) -> bool {
        let is_vendors = |source: usize| self.is_vendors.get(source).copied().unwrap_or_default();
        self.rates_source().is_some_and(is_vendors)
    }

    /// The dividends of each name, from the first source that has any.
    fn dividends(&self) -> Vec<DividendRecord> {
        let mut owners: BTreeMap<Symbol, usize> = BTreeMap::new();
        let mut all = Vec::new();
        for &i in &self.reference_order {
            for dividend in &self.references[i].dividends {
                let name = self.roots.canonical(dividend.underlying);
                if *owners.entry(name).or_insert(i) == i {
                    all.push(*dividend);
                }
            }
        }
        all
    }
}

fn first_of<T: Clone>(references: &[SourceReference], of: fn(&SourceReference) -> &Vec<T>) -> Vec<T> {
    references.iter().map(of).find(|rows| !rows.is_empty()).cloned().unwrap_or_default()
}

/// Admits the records of a source: those of names that no source before it has.
struct Admitted<'a> {
    source: usize,
    owners: &'a mut BTreeMap<Symbol, usize>,
    /// The last name, and whether it was admitted: most records are of the name of the record before.
    last: Option<((Symbol, Symbol), bool)>,
}

impl<'a> Admitted<'a> {
    fn new(source: usize, owners: &'a mut BTreeMap<Symbol, usize>) -> Self {
        Self { source, owners, last: None }
    }

    fn admits(
        &mut self,
        key: (Symbol, Symbol),
        name: impl FnOnce() -> Symbol,
        taken_over: &mut BTreeSet<Symbol>,
    ) -> bool {
        if let Some((last, admitted)) = self.last
            && last == key
        {
            return admitted;
        }
        let name = name();
        // a source may send names without end: those beyond the bound are the store's to refuse
        let is_full = !limits::NAMES.holds(self.owners.len() as f64 + 1.0);
        let admitted = if is_full && !self.owners.contains_key(&name) {
            true
        } else {
            let owner = self.owners.entry(name).or_insert(self.source);
            let admitted = *owner >= self.source;
            if *owner > self.source {
                *owner = self.source;
                taken_over.insert(name);
            }
            admitted
        };
        self.last = Some((key, admitted));
        admitted
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use feeds::lines::parse_lines;
    use jiff::civil::date;
    use std::path::Path;

    fn batch(lines: &[&str]) -> Batch {
        let (batch, report) = parse_lines(Path::new("x"), lines.join("\n").as_bytes());
        assert_eq!(report.places, []);
        batch
    }

    const QUOTE: &str = r#"{"osym":"SPXW261218C05000000","bid":1,"ask":2,"time":1795207320}"#;
    const OTHER: &str = r#"{"osym":"SPX261218C05000000","bid":1,"ask":2,"time":1795207320}"#;
    const SPY: &str = r#"{"osym":"SPY261218C00500000","bid":1,"ask":2,"time":1795207320}"#;
    const SPOT: &str = r#"{"symbol":"SPX","price":5000,"time":1795207320}"#;

    fn precedence() -> Precedence {
        Precedence::new(&[false; 3], RootTable::embedded())
    }

    #[test]
    fn a_name_is_quoted_by_the_first_source_that_has_it_with_all_its_roots() {
        let mut order = precedence();
        assert_eq!(order.admit(1, batch(&[QUOTE, SPY])).quotes.len(), 2);
        assert_eq!(order.admit(2, batch(&[OTHER, SPY])).quotes.len(), 0);
        let taken = order.admit(0, batch(&[OTHER]));
        assert_eq!((taken.quotes.len(), taken.reset.len()), (1, 1), "the quotes of the other go");
        assert_eq!(taken.reset[0].as_str(), "SPX");
        let after = order.admit(0, batch(&[OTHER]));
        assert_eq!((after.quotes.len(), after.reset.len()), (1, 0));
        assert_eq!(order.admit(1, batch(&[QUOTE, SPY])).quotes.len(), 1);
        assert_eq!((order.used(0).quotes, order.used(1).quotes, order.used(2).quotes), (1, 1, 0));
    }

    #[test]
    fn names_without_end_are_not_kept() {
        let mut order = precedence();
        let most = limits::NAMES.most as u32;
        let ts = batch(&[SPOT]).spots[0].ts;
        let spot = |i| SpotRecord { ts, underlying: Symbol::parse(&format!("N{i:07}")).unwrap(), price: 1.0 };
        let spots = |names: core::ops::Range<u32>| Batch { spots: names.map(spot).collect(), ..Batch::default() };
        assert_eq!(order.admit(1, spots(0..most + 10)).spots.len() as u32, most + 10, "the store refuses them");
        assert_eq!((order.spots.len() as u32, order.prices.len() as u32), (most, most));
        assert_eq!(order.admit(2, spots(0..10)).spots, [], "those that are known keep their source");
    }

    #[test]
    fn prices_may_come_from_another_source_than_quotes() {
        let mut order = precedence();
        order.admit(0, batch(&[QUOTE]));
        assert_eq!(order.admit(1, batch(&[QUOTE, SPOT])).spots.len(), 1);
        assert_eq!(order.admit(2, batch(&[SPOT])).spots.len(), 0);
        assert_eq!((order.used(1).quotes, order.used(1).spots), (0, 1));
        let again = order.admit(0, Batch { reset: batch(&[r#"{"forget":"SPX"}"#]).reset, ..batch(&[QUOTE]) });
        assert_eq!((again.reset.len(), again.spots.len()), (1, 1), "the price of the other stays");
        let forgets = order.admit(1, batch(&[r#"{"forget":"SPX"}"#]));
        assert_eq!(forgets.reset, [], "the quotes are not its");
    }

    #[test]
    fn dividends_go_by_name_and_curves_and_dates_as_a_whole() {
        let dividend = |name: &str, amount: u32| {
            format!("{{\"symbol\":\"{name}\",\"ex_date\":\"2026-12-01\",\"amount\":{amount}}}")
        };
        let rate = |rate: &str| format!("{{\"date\":\"2026-11-20\",\"tenor_days\":30,\"rate\":{rate}}}");
        let mut order = precedence();
        let second = order.admit(1, batch(&[&dividend("KO", 1), &dividend("F", 2), &rate("0.04")]));
        assert_eq!((second.dividends.unwrap().len(), second.rates.unwrap().len()), (2, 1));
        let first = order.admit(0, batch(&[&dividend("KO", 3)]));
        let amounts: Vec<f64> = first.dividends.unwrap().iter().map(|d| d.amount).collect();
        assert_eq!((amounts, first.rates), (vec![3.0, 2.0], None));
        assert_eq!((order.used(0).dividends, order.used(1).dividends), (1, 1));
        assert!(order.used(1).rates && !order.used(0).rates);
        let third =
            order.admit(2, Batch { days: Some(vec![(date(2026, 11, 20), Day::Closed)]), ..batch(&[&rate("0.05")]) });
        assert_eq!(third.rates.unwrap()[0].rate.to_bits(), 0.04f64.to_bits());
        assert!(third.days.unwrap().len() == 1 && order.used(2).days);
    }

    #[test]
    fn of_dividends_what_is_written_goes_before_what_vendors_say() {
        let dividend = |name: &str, amount: u32| {
            batch(&[&format!("{{\"symbol\":\"{name}\",\"ex_date\":\"2026-12-01\",\"amount\":{amount}}}")])
        };
        let mut order = Precedence::new(&[true, false, true], RootTable::embedded());
        order.admit(0, dividend("KO", 1));
        order.admit(2, dividend("F", 2));
        let all = order.admit(1, dividend("KO", 3)).dividends.unwrap();
        assert_eq!(all.iter().map(|d| d.amount).collect::<Vec<f64>>(), [3.0, 2.0]);
        assert_eq!([0, 1, 2].map(|source| order.used(source).dividends), [0, 1, 1]);
    }
}
