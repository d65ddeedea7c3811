//! A market as bytes and back: the same bits, whatever of it is left, and nothing made of damage.

use engine::pass::{MarketData, Passes};
use engine::rates::curve::DiscountCurves;
use engine::rates::source::RateSource;
use engine::rates::table::RateTable;
use engine::snapshot::saved::{ExpiryClock, Saved, SavedError, read, write};
use engine::store::book::Book;
use engine::store::chain::Chain;
use engine::store::columns::Col;
use jiff::Timestamp;
use kernel::calendar::Calendar;
use kernel::quality::Quality;
use sim::SimMarket;
use std::sync::Arc;
use testkit::random::Random;

fn at() -> Timestamp {
    "2026-11-20T20:12:00Z".parse().unwrap()
}

/// Some small names of the whole market, one of them with nothing but missing numbers.
fn chains() -> Vec<Arc<Chain>> {
    let sim = SimMarket::full(7, 1.0, at(), 0.005);
    let (calendar, curves) =
        (Calendar::embedded(), RateTable::of(RateSource::Simulated, DiscountCurves::new(&sim.rates())));
    let mut books: Vec<Book> = (0..sim.len()).filter_map(|i| sim.book(i, at())).collect();
    books.retain(|book| book.rows() < 200);
    books.truncate(4);
    books[0].spot = f64::NAN;
    books[0].slices.iter_mut().for_each(|slice| slice.bid.fill(f64::NAN));
    let work: Vec<(&Book, Timestamp)> = books.iter().map(|book| (book, at())).collect();
    let mut passes = Passes::new(2, |_| ()).unwrap();
    let computed = passes.run_to(Quality::Preliminary, MarketData { calendar: &calendar, rates: &curves }, &work);
    computed.into_iter().map(|done| done.chain).collect()
}

fn bytes(feed: &str, chains: &[Arc<Chain>]) -> Vec<u8> {
    let mut out = Vec::new();
    write(feed, chains.iter().map(AsRef::as_ref), &mut out).unwrap();
    out
}

/// Everything of a chain; missing numbers are equal.
fn text(chain: &Chain) -> String {
    let column = |col: &Col| chain.columns.get(*col).iter().map(|x| x.to_bits()).collect::<Vec<_>>();
    let columns: Vec<_> = Col::ALL.iter().map(column).collect();
    let Chain { slices, strike_milli, right, dropped, .. } = chain;
    let head = (chain.underlying, chain.spot, chain.implied_spot, chain.implied_spot_error, chain.spot_off);
    format!(
        "{head:?} {:?} {slices:?} {strike_milli:?} {right:?} {dropped:?} {columns:?}",
        (chain.uncomputed, chain.valued_at, chain.preliminary)
    )
}

#[test]
fn what_is_read_back_is_what_was_written() {
    let chains = chains();
    let Saved { chains: back, is_damaged } =
        read("dir:x", ExpiryClock::At(at()), |_| true, &mut &bytes("dir:x", &chains)[..]).unwrap();
    assert!(!is_damaged && back.len() == chains.len() && chains.iter().any(|chain| chain.uncomputed.is_some()));
    for (old, new) in chains.iter().zip(&back) {
        assert_eq!(text(old), text(new));
    }
}

#[test]
fn what_has_settled_is_left_out() {
    let chains = chains();
    let first = chains[1].slices[0].settles_at;
    let back =
        read("x", ExpiryClock::At(first), |_| true, &mut &bytes("x", &chains[1..2])[..]).unwrap().chains.remove(0);
    let (old, gone) = (&chains[1], chains[1].slices.iter().filter(|slice| slice.settles_at <= first).count());
    assert!(gone > 0 && back.slices.len() == old.slices.len() - gone);
    for (slice, kept) in old.slices[gone..].iter().zip(&back.slices) {
        let rows = |range: &std::ops::Range<u32>| range.start as usize..range.end as usize;
        let (was, is) = (rows(&slice.rows), rows(&kept.rows));
        assert_eq!(old.strike_milli[was.clone()], back.strike_milli[is.clone()]);
        let vols = |chain: &Chain, rows| format!("{:?}", &chain.columns.get(Col::SvcVol)[rows]);
        assert_eq!(vols(old, was), vols(&back, is));
    }
    let all_gone =
        read("x", ExpiryClock::At("2099-01-01T00:00:00Z".parse().unwrap()), |_| true, &mut &bytes("x", &chains)[..])
            .unwrap();
    assert!(all_gone.chains.is_empty() && !all_gone.is_damaged);
    let recorded = read("x", ExpiryClock::ValuedAt, |_| true, &mut &bytes("x", &chains)[..]).unwrap();
    assert!(recorded.chains.iter().zip(&chains).all(|(back, old)| text(back) == text(old)));
}

#[test]
fn names_that_are_not_wanted_are_passed_over() {
    let chains = chains();
    let wanted = chains[1].underlying;
    let back = read("x", ExpiryClock::ValuedAt, |name| name == wanted, &mut &bytes("x", &chains)[..]).unwrap();
    assert!(!back.is_damaged && back.chains.len() == 1 && text(&back.chains[0]) == text(&chains[1]));
}

#[test]
fn what_is_of_another_market_or_program_is_nothing() {
    let whole = bytes("cboe:SPY", &chains());
    assert!(matches!(read("cboe:QQQ", ExpiryClock::At(at()), |_| true, &mut &whole[..]), Err(SavedError::OtherMarket)));
    assert!(matches!(
        read("cboe:SPY,QQQ", ExpiryClock::At(at()), |_| true, &mut &whole[..]),
        Err(SavedError::OtherMarket)
    ));
    for i in 0..16 {
        let mut other = whole.clone();
        other[i] ^= 1;
        assert!(
            matches!(read("cboe:SPY", ExpiryClock::At(at()), |_| true, &mut &other[..]), Err(SavedError::Foreign)),
            "byte {i}"
        );
    }
}

#[test]
fn damage_costs_its_chain_and_makes_nothing_up() {
    let chains = chains();
    let whole = bytes("x", &chains);
    let good: Vec<String> = chains.iter().map(|chain| text(chain)).collect();
    let check = |damaged: &[u8], what: &str| {
        if let Ok(Saved { chains, .. }) = read("x", ExpiryClock::At(at()), |_| true, &mut &damaged[..]) {
            assert!(chains.iter().all(|chain| good.contains(&text(chain))), "{what}");
        }
    };
    // a bit in the middle of the first chain: the others are there
    let mut spoiled = whole.clone();
    spoiled[21 + 16 + 200] ^= 1;
    let back = read("x", ExpiryClock::At(at()), |_| true, &mut &spoiled[..]).unwrap();
    assert!(back.is_damaged);
    assert_eq!(back.chains.iter().map(text).collect::<Vec<_>>(), good[1..]);
    let mut random = Random::new(3);
    for _ in 0..500 {
        let cut = (random.unit() * whole.len() as f64) as usize;
        check(&whole[..cut], &format!("cut at {cut}"));
        let mut spoiled = whole.clone();
        spoiled[cut] ^= 1 << (cut % 8);
        check(&spoiled, &format!("a bit of byte {cut}"));
    }
    assert!(read("x", ExpiryClock::At(at()), |_| true, &mut &whole[..whole.len() - 1]).unwrap().is_damaged);
}
