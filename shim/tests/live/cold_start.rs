//! A large market at its start: a preliminary pass over every name, then a full one.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use arc_swap::ArcSwap;
use engine::pass::Passes;
use engine::snapshot::Snapshot;
use engine::store::chain::{Chain, Uncomputed};
use host::clock::MarketClock;
use jiff::Timestamp;
use kernel::calendar::Calendar;
use shim::config::RatesMode;
use shim::market::MarketLoop;
use shim::market::feed::Feed;
use shim::market::sim::SimFeed;
use shim::status::Status;
use sim::SimOptions;
use std::cell::Cell;
use std::sync::Arc;
use std::time::Duration;

const NOW: Timestamp = Timestamp::constant(1_795_207_320, 0);

#[test]
fn a_large_market_is_whole_before_it_is_accurate() {
    let feed = Box::new(SimFeed::open(SimOptions::parse("full,scale=0.2").unwrap(), NOW, RatesMode::Auto));
    let names = feed.names();
    let market = Arc::new(ArcSwap::from_pointee(Snapshot::empty(names.iter().copied().collect())));
    let zone = Calendar::embedded().zone().clone();
    let status = Status::new("sim".to_owned(), true, 2, MarketClock::Fixed(NOW), Box::new(|| Duration::ZERO), zone);
    let status = Arc::new(status);
    let passes = Passes::new(2, |_| ()).unwrap();
    let mut market_loop =
        MarketLoop::new(feed, passes, MarketClock::Fixed(NOW), Arc::clone(&market), Arc::clone(&status));

    assert!(market_loop.turn(&|| false), "the first turn publishes every name");
    let first = market.load_full();
    assert!(first.pending().is_empty() && first.chains().len() == names.len());
    // a name without any spot has nothing to be looked at again
    let is_bare = |chain: &Chain| chain.uncomputed == Some(Uncomputed::NoSpot);
    let bare = first.chains().iter().filter(|chain| is_bare(chain)).count();
    assert!(first.chains().iter().all(|chain| chain.preliminary != is_bare(chain)) && bare < names.len() / 50);
    assert!(status.health_json(&first).contains(&format!("\"preliminary\":{}", names.len() - bare)));

    // no quote is new, and all the same the names come again
    let batches = Cell::new(0);
    market_loop.turn(&|| batches.replace(batches.get() + 1) >= 3);
    let second = market.load_full();
    let fine = second.chains().iter().filter(|chain| !chain.preliminary).count();
    assert!(fine > bare && fine < names.len(), "{fine} of {} names after three batches", names.len());
    assert!(second.pending().is_empty() && second.number > first.number);
    assert!(status.health_json(&second).contains(&format!("\"preliminary\":{}", names.len() - fine)));
}
