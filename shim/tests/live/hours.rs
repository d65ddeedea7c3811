//! A day of a feed of live quotes: listed contracts and the instant of their values, by the times of quotes and of the
//! clock.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use engine::pass::Passes;
use feeds::lines::parse_lines;
use jiff::Timestamp;
use kernel::records::Batch;
use shim::market::feed::Feed;
use shim::market::store_feed::StoreFeed;
use sources::facts::SourceFacts;
use sources::{Delivery, Moment, QuoteSource};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A source with given deliveries and a given delay.
struct Given {
    next: Arc<Mutex<Option<Batch>>>,
    delay: Duration,
}

impl QuoteSource for Given {
    fn take(&mut self, _: &Moment<'_>) -> Option<Delivery> {
        let batch = self.next.lock().unwrap().take()?;
        Some(Delivery { batch, ..Delivery::default() })
    }

    fn facts(&self) -> SourceFacts {
        SourceFacts { delay: self.delay, ..SourceFacts::default() }
    }
}

/// A feed of one such source.
struct Market {
    feed: StoreFeed,
    next: Arc<Mutex<Option<Batch>>>,
    passes: Passes,
}

fn instant(eastern: &str) -> Timestamp {
    // winter
    format!("{eastern}-05:00").parse().unwrap()
}

impl Market {
    fn new(delay_s: u64) -> Self {
        let next = Arc::<Mutex<Option<Batch>>>::default();
        let source = Given { next: Arc::clone(&next), delay: Duration::from_secs(delay_s) };
        Self { feed: StoreFeed::new(vec![Box::new(source)], None), next, passes: Passes::new(1, |_| ()).unwrap() }
    }

    /// At `now` quotes of contracts (root, expiry, strike) come that were made at `made`. What is listed then, and as
    /// of when it is valued, if it is to be computed.
    fn at(&mut self, now: &str, made: &str, contracts: &[(&str, &str, u32)]) -> (Vec<String>, Option<Timestamp>) {
        let line = |&(root, expiry, strike): &(&str, &str, u32)| {
            format!(
                "{{\"root\":\"{root}\",\"expiry\":\"{expiry}\",\"strike\":{strike},\"right\":\"call\",\"bid\":1,\"ask\":2,\
                 \"time\":\"{made}-05:00\"}}\n"
            )
        };
        let price = format!("{{\"symbol\":\"SPX\",\"price\":5000,\"time\":\"{made}-05:00\"}}\n");
        let lines = contracts.iter().map(line).chain([price]).collect::<String>();
        if !contracts.is_empty() {
            let (batch, report) = parse_lines(Path::new("x"), lines.as_bytes());
            assert_eq!(report.places, []);
            *self.next.lock().unwrap() = Some(batch);
        }
        let now = instant(now);
        let moment = Moment { now, latest: now, elapsed: Duration::ZERO, log: &|_| () };
        let due = self.feed.poll(&moment);
        if due.is_empty() {
            return NOTHING;
        }
        // what is handed out counts as fresh
        let books = self.feed.books(&due, now, &self.passes);
        let valued = books.first().map(|&(_, at)| at);
        let slices = books.iter().flat_map(|(book, _)| &book.slices);
        let listed = slices.map(|slice| format!("{} {} {}", slice.root, slice.expiry, slice.strike_milli.len()));
        (listed.collect(), valued)
    }

    fn held_back(&self) -> u64 {
        self.feed.progress().outside_session
    }
}

const TODAY: (&str, &str, u32) = ("SPXW", "2026-11-20", 5000);
const MORNING: (&str, &str, u32) = ("SPX", "2026-11-20", 5000);
const LATER: (&str, &str, u32) = ("SPXW", "2026-12-18", 5000);
const NOTHING: (Vec<String>, Option<Timestamp>) = (Vec::new(), None);

fn listed(names: &[&str], valued: &str) -> (Vec<String>, Option<Timestamp>) {
    (names.iter().map(|&name| name.to_owned()).collect(), Some(instant(valued)))
}

#[test]
fn a_day_lists_what_has_not_settled_and_what_is_new() {
    let mut market = Market::new(0);
    let all = ["SPX 2026-11-20 1", "SPXW 2026-11-20 1", "SPXW 2026-12-18 1"];
    let thursday = "2026-11-19T15:59:58";
    assert_eq!(market.at("2026-11-19T15:59:59", thursday, &[MORNING, TODAY, LATER]), listed(&all, thursday));
    // at night nothing is computed, whatever comes
    assert_eq!(
        market.at("2026-11-19T18:00:00", "2026-11-19T17:59:00", &[LATER, ("SPXW", "2026-12-18", 5005)]),
        NOTHING
    );
    assert_eq!(market.held_back(), 3);
    assert_eq!(market.at("2026-11-20T09:29:00", "2026-11-20T09:28:59", &[LATER]), NOTHING);
    // what settles in the morning leaves with the first quote of the session
    let open = "2026-11-20T09:30:00";
    assert_eq!(
        market.at("2026-11-20T09:30:01", open, &[LATER]),
        listed(&["SPXW 2026-11-20 1", "SPXW 2026-12-18 1"], open)
    );
    // a strike and an expiry that are new
    let noon = "2026-11-20T12:00:00";
    let new = [("SPXW", "2026-12-18", 5005), ("SPXW", "2026-11-23", 5000)];
    let names = ["SPXW 2026-11-20 1", "SPXW 2026-11-23 1", "SPXW 2026-12-18 2"];
    assert_eq!(market.at(noon, noon, &new), listed(&names, noon));
    let last = "2026-11-20T15:59:59";
    assert_eq!(market.at(last, last, &[TODAY]), listed(&names, last));
    // the close passes without a quote; a late one of the session counts still
    assert_eq!(market.at("2026-11-20T16:00:00", "", &[]), listed(&names[1..], last));
    assert_eq!(market.at("2026-11-20T16:00:02", "", &[]), NOTHING);
    let latest = "2026-11-20T15:59:59.900";
    assert_eq!(market.at("2026-11-20T16:00:03", latest, &[TODAY, LATER]), listed(&names[1..], latest));
    assert_eq!(market.at("2026-11-22T12:00:00", "2026-11-22T11:59:00", &[LATER]), NOTHING);
}

#[test]
fn quotes_that_are_late_have_their_close_later() {
    let mut market = Market::new(900);
    let made = "2026-11-27T12:58:00";
    let contracts = [("SPXW", "2026-11-27", 5000), LATER];
    let both = ["SPXW 2026-11-27 1", "SPXW 2026-12-18 1"];
    assert_eq!(market.at("2026-11-27T13:13:00", made, &contracts), listed(&both, made));
    let last = "2026-11-27T12:59:30";
    assert_eq!(market.at("2026-11-27T13:14:30", last, &contracts), listed(&both, last));
    assert_eq!(market.at("2026-11-27T13:15:00", "", &[]), listed(&both[1..], last));
    assert_eq!(market.at("2026-11-27T13:20:00", "2026-11-27T13:05:00", &[LATER]), NOTHING);
}

#[test]
fn a_start_out_of_hours_shows_what_there_is_as_of_the_last_close() {
    let mut market = Market::new(0);
    let saturday = "2026-11-21T12:00:00";
    assert_eq!(market.at(saturday, saturday, &[LATER]), listed(&["SPXW 2026-12-18 1"], "2026-11-20T16:00:00"));
    let open = "2026-11-23T09:30:00";
    assert_eq!(market.at(open, open, &[LATER]), listed(&["SPXW 2026-12-18 1"], open));
    assert_eq!(market.held_back(), 0);
}

#[test]
fn a_recording_that_is_pushed_has_its_own_time() {
    let mut market = Market::new(0);
    let made = "2026-11-20T15:42:00";
    let both = ["SPXW 2026-11-20 1", "SPXW 2026-12-18 1"];
    assert_eq!(market.at("2026-12-01T12:00:00", made, &[TODAY, LATER]), listed(&both, made));
    assert_eq!(market.at("2026-12-01T12:05:00", "", &[]), NOTHING);
    let close = "2026-11-20T16:00:00";
    assert_eq!(market.at("2026-12-01T12:06:00", close, &[LATER]), listed(&both[1..], close));
}
