//! Good quotes under an assumption that is wrong: a spot that is off, borrow that few names cost, dividends that are
//! missing, too large, or contradicted. Values stay inside the quotes, and the chain says what is doubted. Quotes are
//! made by lattices, which are not how the engine values them.

use engine::pass::{FIRST, MarketData, Passes};
use engine::rates::curve::DiscountCurves;
use engine::rates::source::RateSource;
use engine::rates::table::RateTable;
use engine::store::book::{Book, BookSlice};
use engine::store::chain::{Chain, Uncomputed};
use engine::store::columns::Col;
use engine::store::doubt::Doubt;
use engine::store::overrides::Overrides;
use feeds::overrides::parse_overrides;
use jiff::Timestamp;
use jiff::civil::{Date, date};
use kernel::black76::{Horizon, european_vol};
use kernel::calendar::{Calendar, years_between};
use kernel::contract::{ForwardBasis, Right, RootTable, Settle, Style, Symbol};
use kernel::dividends::{Dividend, Terms};
use kernel::lanes::Mask;
use kernel::lattice::Lattice;
use kernel::quality::Quality;
use kernel::records::RateRecord;
use std::path::Path;
use std::sync::Arc;

const RATE: f64 = 0.04;
const TODAY: Date = date(2026, 11, 20);
/// Layers of the lattices that quotes are made with.
const LAYERS: usize = 201;
/// The spot of most names here.
const SPOT: f64 = 68.0;
/// Days to ex-dates, and what is paid.
const QUARTERLY: [(i32, f64); 5] = [(10, 0.5), (101, 0.5), (192, 0.5), (283, 0.5), (374, 0.5)];
/// The part of the quotes that hold their values where something is doubted rightly: some are at the edge.
const INSIDE: f64 = 0.95;
/// The median confidence then.
const CONFIDENCE: f64 = 0.5;

fn now() -> Timestamp {
    "2026-11-20T15:42:00-05:00".parse().unwrap()
}

fn ahead(days: i32) -> Date {
    TODAY + jiff::Span::new().days(days)
}

/// A name: what is true of it, and what is given.
#[derive(Clone, Debug)]
struct Name {
    style: Style,
    spot: f64,
    given: f64,
    borrow: f64,
    vol: f64,
    expiries: Vec<i32>,
    strikes: usize,
    paid: Vec<(i32, f64)>,
    told: Vec<(i32, f64)>,
}

const EXPIRIES: [(usize, &[i32]); 4] =
    [(1, &[28]), (2, &[28, 56]), (3, &[28, 56, 119]), (8, &[7, 14, 21, 28, 56, 119, 182, 420])];

impl Name {
    fn new(spot: f64, expiries: usize, strikes: usize) -> Self {
        let days = EXPIRIES.iter().find(|of| of.0 == expiries).unwrap().1;
        Self {
            style: Style::American,
            spot,
            given: spot,
            borrow: 0.0,
            vol: 0.3,
            expiries: days.to_vec(),
            strikes,
            paid: Vec::new(),
            told: Vec::new(),
        }
    }

    fn book(&self) -> Book {
        let calendar = Calendar::embedded();
        let slices = self.expiries.iter().map(|&days| self.slice(days, &calendar)).collect();
        Book {
            underlying: Symbol::parse("ABC").unwrap(),
            spot: self.given,
            ts: now(),
            dividends: self.told.iter().map(|&(days, amount)| (ahead(days), amount)).collect(),
            projected_from: None,
            dividends_known: true,
            slices,
        }
    }

    fn slice(&self, days: i32, calendar: &Calendar) -> BookSlice {
        let settles_at = calendar.settlement(ahead(days), Settle::Pm);
        let t = years_between(now(), settles_at);
        let ex = |&(days, amount): &(i32, f64)| Dividend {
            t: years_between(now(), calendar.ex_instant(ahead(days))),
            amount,
        };
        let divs = self.paid.iter().map(ex).filter(|d| d.t <= t).collect();
        let terms = Terms { t, r: RATE, b: self.borrow, divs };
        let mut quoted = BookSlice {
            root: Symbol::parse("ABC").unwrap(),
            expiry: ahead(days),
            listed: ahead(days),
            style: self.style,
            settle: Settle::Pm,
            settles_at,
            basis: ForwardBasis::Spot,
            multiplier: 100,
            adjusted: false,
            deliverables: Vec::new(),
            strike_milli: Vec::new(),
            right: Vec::new(),
            bid: Vec::new(),
            ask: Vec::new(),
            counts: Vec::new(),
            ts: Vec::new(),
            stale: true,
        };
        // as wide as two deviations, at least a fifth of the spot
        let reach = (1.5 * self.vol * t.sqrt()).clamp(0.12, 0.6);
        let lattices = [Right::Call, Right::Put].map(|right| Lattice::new(&terms, self.spot, right, LAYERS));
        let mut last = 0.0;
        for i in 0..self.strikes {
            let at = 2.0 * i as f64 / (self.strikes as f64 - 1.0) - 1.0;
            let step = if self.strikes > 30 { 4.0 } else { 2.0 };
            let k = (self.spot * (reach * at).exp() * step).round() / step;
            if k <= last {
                continue;
            }
            last = k;
            for right in [Right::Call, Right::Put] {
                let european =
                    european_vol(right.phi(), &Horizon::from(&terms), self.spot - terms.a(0.0), k, self.vol).value;
                let premium = lattices[right as usize].premium(k, self.vol);
                let exercised = self.style == Style::American && premium.exercised.any();
                let value = match self.style {
                    Style::European => european,
                    Style::American if exercised => (self.spot - k) * right.phi(),
                    Style::American => european + premium.value,
                };
                let half = 0.01 + 0.005 * value;
                quoted.strike_milli.push((k * 1000.0).round() as u32);
                quoted.right.push(right);
                let bid = ((value - half) * 100.0).floor() / 100.0;
                quoted.bid.push(if bid > 0.0 { bid } else { f64::NAN });
                quoted.ask.push(((value + half) * 100.0).ceil() / 100.0);
                quoted.ts.push(now());
            }
        }
        quoted
    }
}

/// Computes a book, in passes that may have seen others.
fn computed(book: &Book, passes: &mut Passes) -> Arc<Chain> {
    computed_at(Quality::Full, book, passes)
}

fn computed_at(quality: Quality, book: &Book, passes: &mut Passes) -> Arc<Chain> {
    let calendar = Calendar::embedded();
    let records = [1.0, 3650.0].map(|tenor_days| RateRecord { date: TODAY, tenor_days, rate: RATE });
    let rates = RateTable::of(RateSource::User, DiscountCurves::new(&records));
    Arc::clone(&passes.run_to(quality, MarketData { calendar: &calendar, rates: &rates }, &[(book, now())])[0].chain)
}

/// The chain of a first pass, and after passes as those of recorded days: the one that holds less.
fn chain_of(book: &Book) -> Arc<Chain> {
    let once = computed(book, &mut Passes::new(1, |_| ()).unwrap());
    let mut passes = Passes::new(1, |_| ()).unwrap();
    let steps = FIRST.iter().map(|&quality| computed_at(quality, book, &mut passes));
    let thrice = steps.last().unwrap();
    if inside(book, &once) < inside(book, &thrice) { once } else { thrice }
}

/// The part of the two-sided quotes that hold their value.
fn inside(book: &Book, chain: &Chain) -> f64 {
    let quotes = book.slices.iter().flat_map(|slice| slice.bid.iter().zip(&slice.ask));
    let values = chain.columns.get(Col::SvcTheo);
    let firm: Vec<_> = quotes.zip(values).filter(|((bid, _), _)| **bid > 0.0).collect();
    let hold = firm.iter().filter(|((bid, ask), value)| **value >= **bid - 0.005 && **value <= **ask + 0.005).count();
    hold as f64 / firm.len() as f64
}

/// The median confidence.
fn confidence(chain: &Chain) -> f64 {
    let mut all = chain.columns.get(Col::ConfVol).to_vec();
    all.sort_unstable_by(f64::total_cmp);
    all[all.len() / 2]
}

/// The chain of a name whose quotes all but hold their values, with confidence.
fn fitting(name: &Name) -> Arc<Chain> {
    let book = name.book();
    let chain = chain_of(&book);
    let part = inside(&book, &chain);
    assert!(part >= INSIDE && confidence(&chain) > CONFIDENCE, "{part} {}: {name:?}", confidence(&chain));
    assert!(!chain.firm.are_contradicted() && chain.firm.firm > 0, "{:?}", chain.firm);
    chain
}

#[test]
fn a_spot_that_is_off_yields_to_the_quotes() {
    let cases = [
        (0.97, 1, 17, Style::American),
        (1.03, 1, 5, Style::American),
        (0.95, 1, 5, Style::American),
        (1.05, 1, 17, Style::American),
        (0.9, 3, 17, Style::American),
        (1.1, 2, 5, Style::American),
        (1.5, 8, 5, Style::American),
        (0.667, 1, 60, Style::American),
        (0.9, 1, 17, Style::European),
        (1.25, 3, 5, Style::European),
    ];
    for (off, expiries, strikes, style) in cases {
        let chain = fitting(&Name { given: SPOT * off, style, ..Name::new(SPOT, expiries, strikes) });
        assert!((chain.implied_spot / SPOT - 1.0).abs() < 2e-3, "{off}: {}", chain.implied_spot);
        assert!(chain.spot_off && chain.doubt == Some(Doubt::Spot), "{off}: {:?}", chain.doubt);
        assert!((chain.slices[0].und_price / (SPOT * off) - 1.0).abs() < 1e-12, "the published one is published");
    }
}

#[test]
fn borrow_is_found_to_five_hundred_percent() {
    for (borrow, expiries, strikes) in
        [(2.0, 1, 5), (2.0, 1, 17), (2.0, 3, 17), (3.0, 2, 17), (5.0, 1, 17), (5.0, 2, 17)]
    {
        let chain = fitting(&Name { borrow, vol: 0.9, ..Name::new(25.0, expiries, strikes) });
        assert!((chain.slices[0].borr_rate / borrow - 1.0).abs() < 0.05, "{borrow}: {}", chain.slices[0].borr_rate);
        assert!(
            chain.doubt.is_none_or(|doubt| doubt == Doubt::Borrow) && !chain.spot_off,
            "{borrow}: {:?}",
            chain.doubt
        );
    }
    // half a year, as one expiry; what is far out says little of the forward there
    let far = Name { borrow: 2.0, vol: 0.9, expiries: vec![182], ..Name::new(25.0, 1, 13) };
    let chain = chain_of(&far.book());
    assert!(inside(&far.book(), &chain) > 0.9 && confidence(&chain) > CONFIDENCE);
    assert_eq!(chain.doubt, Some(Doubt::Borrow));
    assert!((chain.slices[0].borr_rate / 2.0 - 1.0).abs() < 0.05, "{}", chain.slices[0].borr_rate);
}

#[test]
fn a_dividend_that_no_option_pays_for_moves_nothing() {
    for (amount, expiries, strikes) in
        [(5.0, 1, 5), (26.0, 1, 17), (70.0, 1, 17), (100.0, 3, 5), (1000.0, 2, 17), (5.0, 8, 5)]
    {
        let chain = fitting(&Name { told: vec![(11, amount)], ..Name::new(SPOT, expiries, strikes) });
        assert_eq!(chain.doubt, Some(Doubt::Dividends), "{amount}");
        assert!((chain.implied_spot / SPOT - 1.0).abs() < 2e-3 && !chain.spot_off, "{amount}: {}", chain.implied_spot);
        let most = chain.slices.iter().map(|slice| slice.divs).fold(0.0, f64::max);
        assert!(most < 0.2, "{amount}: {most} is counted");
        let named = &chain.evidence.as_ref().unwrap().dividends[0];
        assert!((named.given - amount).abs() < 1e-12 && named.amount < 0.2, "{named:?}");
    }
}

#[test]
fn dividends_count_with_what_quotes_pay_for() {
    let times = |x: f64| QUARTERLY.map(|(days, amount)| (days, amount * x)).to_vec();
    let mut next = times(1.0);
    next[0].1 *= 20.0;
    for (told, expiries, strikes) in
        [(times(2.0), 1, 17), (times(4.0), 3, 5), (times(10.0), 2, 17), (times(4.0), 8, 5), (next, 3, 17)]
    {
        let paying = Name { paid: QUARTERLY.to_vec(), ..Name::new(SPOT, expiries, strikes) };
        let chain = fitting(&Name { told: told.clone(), ..paying.clone() });
        assert_eq!(chain.doubt, Some(Doubt::Dividends), "{told:?}");
        let paid = chain_of(&Name { told: QUARTERLY.to_vec(), ..paying }.book());
        for (slice, truth) in chain.slices.iter().zip(&paid.slices) {
            assert!((slice.fwd_price / truth.fwd_price - 1.0).abs() < 1e-3, "{told:?}: {slice:?}");
        }
    }
}

#[test]
fn what_quotes_agree_with_is_not_doubted() {
    let plain = Name::new(SPOT, 3, 17);
    let paying = Name { paid: QUARTERLY.to_vec(), told: QUARTERLY.to_vec(), ..plain.clone() };
    let dear = |borrow: f64| Name { borrow, vol: 0.9, ..Name::new(25.0, 3, 17) };
    for name in [plain.clone(), Name { style: Style::European, ..plain }, paying, dear(0.2), dear(0.5), dear(-0.02)] {
        let chain = fitting(&name);
        assert!(chain.doubt.is_none() && !chain.spot_off, "{:?}: {name:?}", chain.doubt);
    }
}

#[test]
fn a_doubt_goes_with_its_cause_and_a_pass_remembers_no_other_numbers() {
    let (off, right) = (Name { given: SPOT * 1.05, ..Name::new(SPOT, 1, 17) }.book(), Name::new(SPOT, 1, 17).book());
    let mut passes = Passes::new(1, |_| ()).unwrap();
    let first = computed(&off, &mut passes);
    let again = computed(&off, &mut passes);
    let mended = computed(&right, &mut passes);
    assert_eq!([&first, &again, &mended].map(|chain| chain.doubt), [Some(Doubt::Spot), Some(Doubt::Spot), None]);
    for (chain, fresh) in [(&again, &first), (&mended, &chain_of(&right))] {
        let values = |chain: &Chain| chain.columns.get(Col::SvcTheo).to_vec();
        let far = values(chain).iter().zip(values(fresh)).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        // a tenth of a spread
        assert!(far < 5e-3, "{far}");
    }
}

#[test]
fn a_name_whose_quotes_do_not_hold_its_values_has_no_confidence() {
    // a user's forward is taken for what it is, and the quotes are those of another
    let book = Name::new(SPOT, 1, 17).book();
    let mut passes = Passes::new(1, |_| ()).unwrap();
    let text = format!("underlying,root,expiry,what,value\nABC,,2026-12-18,forward,{}\n", 1.1 * SPOT);
    let (records, _) = parse_overrides(Path::new("o.csv"), text.as_bytes());
    passes.set_overrides(Overrides::new(&records, &RootTable::embedded()));
    let chain = computed(&book, &mut passes);
    assert!(chain.firm.are_contradicted() && chain.doubt.is_none(), "{:?} {:?}", chain.firm, chain.doubt);
    assert!(confidence(&chain) < 0.5, "{}", confidence(&chain));
}

#[test]
fn strikes_and_prices_in_other_units_are_refused_with_that_reason() {
    let scaled = |strikes: f64, prices: f64, name: &Name| {
        let mut book = name.book();
        for slice in &mut book.slices {
            slice.strike_milli.iter_mut().for_each(|k| *k = (f64::from(*k) * strikes).round() as u32);
            slice.bid.iter_mut().chain(&mut slice.ask).for_each(|price| *price *= prices);
        }
        chain_of(&book).uncomputed
    };
    for name in
        [Name::new(SPOT, 1, 17), Name::new(SPOT, 3, 5), Name { style: Style::European, ..Name::new(SPOT, 1, 5) }]
    {
        assert_eq!(scaled(1000.0, 1.0, &name), Some(Uncomputed::StrikeScale));
        assert_eq!(scaled(100.0, 1.0, &name), Some(Uncomputed::StrikeScale));
        assert_eq!(scaled(1.0, 100.0, &name), Some(Uncomputed::PriceScale));
        assert_eq!(scaled(1.0, 1000.0, &name), Some(Uncomputed::PriceScale));
        assert_eq!(scaled(1.0, 0.01, &name), Some(Uncomputed::PriceScale));
        assert_eq!(scaled(1.0, 1.0, &name), None);
    }
    // a spot in cents is a spot that is off
    assert_eq!(scaled(1.0, 1.0, &Name { given: 100.0 * SPOT, ..Name::new(SPOT, 1, 17) }), None);
}
