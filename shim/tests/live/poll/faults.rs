//! Every vendor under one script of faults: nothing of a fault is handed over, it has its kind, the vendor is asked
//! again when it should be, nobody else is, and what comes after it is taken. When is looked up in the plan, which
//! needs no waiting.

use super::server::{Act, Server, say, status};
use super::vendors::{KEY, TestedVendor, VendorState, environment};
use super::{OPEN, failures, start, wait_for_spot};
use crate::support::daemon::{Daemon, free_address};
use flate2::Compression;
use flate2::write::GzEncoder;
use host::clock::MarketClock;
use jiff::{SignedDuration, Timestamp};
use kernel::contract::{Right, Symbol};
use sources::facts::SourceState;
use sources::poll::client::{AnswerBounds, Client, ServerBase};
use sources::poll::failure::{Failed, Failure};
use sources::poll::plan::{Next, Outcome, Plan};
use sources::poll::sweep::{Permits, SweepResult, Sweeps};
use std::io::Write;
use std::net::SocketAddr;
use std::time::Duration;

const PAGE: &str =
    "<!DOCTYPE html>\n<html><head><title>Sign in, please</title></head><body><form></form></body></html>\n";
/// Bounds of the tests: answers are small, and time limits short.
const BYTES_MOST: u64 = 1 << 20;
const PATIENT: AnswerBounds = AnswerBounds {
    connect: Duration::from_secs(60),
    first: Duration::from_secs(60),
    whole: Duration::from_secs(120),
    bytes: BYTES_MOST,
};
const IMPATIENT: AnswerBounds =
    AnswerBounds { first: Duration::from_millis(300), whole: Duration::from_millis(600), ..PATIENT };

/// Vendors whose answers have no further pages.
const WITHOUT_PAGES: &[TestedVendor] = &[
    TestedVendor::Cboe,
    TestedVendor::Theta,
    TestedVendor::Tradier,
    TestedVendor::Schwab,
    TestedVendor::Treasury,
    TestedVendor::Nasdaq,
    TestedVendor::TradierDividends,
];

/// A request while something is wrong.
struct Wrong<'a> {
    vendor: TestedVendor,
    target: &'a str,
    /// State of the market in a right answer.
    market: VendorState,
    /// Another server.
    elsewhere: SocketAddr,
}

impl Wrong<'_> {
    fn right(&self) -> String {
        self.vendor.answer(self.target, self.market)
    }

    fn with(&self, change: impl Fn(&mut VendorState)) -> Act {
        let mut market = self.market;
        change(&mut market);
        say(self.vendor.answer(self.target, market))
    }
}

/// One row of the script.
struct Fault {
    name: &'static str,
    act: fn(&Wrong<'_>) -> Act,
    failure: Failure,
    /// Vendors for which the failure is another one.
    but: &'static [(TestedVendor, Failure)],
    /// Vendors that cannot have the fault.
    not: &'static [TestedVendor],
    /// Bounds of the client.
    bounds: AnswerBounds,
    /// `Retry-After`, seconds.
    retry_after: Option<u64>,
}

const fn fault(name: &'static str, failure: Failure, act: fn(&Wrong<'_>) -> Act) -> Fault {
    Fault { name, act, failure, but: &[], not: &[], bounds: PATIENT, retry_after: None }
}

const fn slow(name: &'static str, act: fn(&Wrong<'_>) -> Act) -> Fault {
    Fault { bounds: IMPATIENT, ..fault(name, Failure::Timeout, act) }
}

/// Vendors that are not polled for chains.
const NO_CHAINS: &[TestedVendor] =
    &[TestedVendor::Treasury, TestedVendor::Nasdaq, TestedVendor::MassiveDividends, TestedVendor::TradierDividends];

/// A fault of chains only.
const fn chain(name: &'static str, failure: Failure, act: fn(&Wrong<'_>) -> Act) -> Fault {
    Fault { not: NO_CHAINS, ..fault(name, failure, act) }
}

const SCRIPT: &[Fault] = &[
    fault("closed before a word", Failure::Cut, |_| Act::Refuse),
    slow("hangs before its head", |_| Act::Hang),
    slow("hangs in its body", |wrong| Act::HangAfter(wrong.right())),
    slow("a byte now and then", |_| Act::Drip),
    fault("500", Failure::Server, |_| status(500)),
    fault("503", Failure::Server, |_| status(503)),
    fault("429", Failure::Limited, |_| status(429)),
    Fault {
        retry_after: Some(7),
        ..fault("429 until later", Failure::Limited, |_| {
            Act::Say(429, "Retry-After: 7\r\n".to_owned(), "wait".to_owned())
        })
    },
    // of a broker the sign-in is tried again before it counts as ended
    Fault { but: &[(TestedVendor::Schwab, Failure::SignIn)], ..fault("401", Failure::Refused, |_| status(401)) },
    fault("403", Failure::Refused, |_| status(403)),
    Fault { but: &[(TestedVendor::Treasury, Failure::Empty)], ..fault("404", Failure::NotFound, |_| status(404)) },
    fault("418", Failure::Status, |_| status(418)),
    fault("redirect elsewhere", Failure::Redirect, |wrong| {
        Act::Say(302, format!("Location: http://{}{}\r\n", wrong.elsewhere, wrong.target), String::new())
    }),
    fault("redirect in a circle", Failure::Redirect, |_| {
        Act::Say(307, "Location: /again\r\n".to_owned(), String::new())
    }),
    fault("cut in its body", Failure::Cut, |wrong| Act::Cut(wrong.right())),
    fault("nothing at all", Failure::Malformed, |_| say("")),
    fault("rubbish", Failure::Malformed, |_| Act::Bytes(String::new(), (0..5000u32).map(|i| 128 | i as u8).collect())),
    fault("a page to sign in", Failure::Malformed, |_| say(PAGE)),
    fault("rubbish for gzip", Failure::Malformed, |_| {
        Act::Bytes("Content-Encoding: gzip\r\n".to_owned(), b"this was never compressed".to_vec())
    }),
    fault("too large", Failure::TooLarge, |_| say(" ".repeat(2 * BYTES_MOST as usize))),
    fault("a gzip bomb", Failure::TooLarge, |_| Act::Bytes("Content-Encoding: gzip\r\n".to_owned(), bomb())),
    Fault {
        but: &[(TestedVendor::TradierDividends, Failure::Malformed)],
        ..fault("empty", Failure::Empty, |wrong| match wrong.vendor {
            TestedVendor::Treasury if wrong.target.contains("/sofr/") => say("{\"refRates\":[]}"),
            TestedVendor::Treasury => say("Date,\"1 Mo\",\"3 Mo\"\n"),
            _ => wrong.with(|market| market.keep = |_, _| false),
        })
    },
    Fault {
        not: &[TestedVendor::Treasury, TestedVendor::Nasdaq],
        ..fault("another name's", Failure::WrongName, |wrong| wrong.with(|market| market.name = "OTHER"))
    },
    Fault {
        not: &[
            TestedVendor::Cboe,
            TestedVendor::Massive,
            TestedVendor::Treasury,
            TestedVendor::Nasdaq,
            TestedVendor::MassiveDividends,
            TestedVendor::TradierDividends,
        ],
        ..fault("another name's price", Failure::WrongName, |wrong| {
            let is_price = ["/stock/", "/markets/quotes", "/v2/stocks/", "/v1/quotes"]
                .iter()
                .any(|path| wrong.target.contains(path));
            wrong.with(|market| market.name = if is_price { "OTHER" } else { market.name })
        })
    },
    chain("a third of a chain", Failure::Partial, |wrong| wrong.with(|market| market.keep = |i, _| i < 7)),
    chain("calls alone", Failure::Partial, |wrong| wrong.with(|market| market.keep = |_, right| right == Right::Call)),
    chain("older than the last", Failure::Older, |wrong| {
        wrong.with(|market| market.ts -= SignedDuration::from_mins(10))
    }),
    chain("from the future", Failure::Ahead, |wrong| {
        wrong.with(|market| market.ts = clock().latest() + SignedDuration::from_hours(24 * 300))
    }),
    Fault {
        not: WITHOUT_PAGES,
        ..fault("a page that leads back to itself", Failure::Malformed, |wrong| {
            let next = "\"status\":\"OK\",\"next_url\":\"https://x/?cursor=same\"}";
            let page = wrong.right().replace("\"status\":\"OK\"}", next);
            say(page.replace("\"next_page_token\":null", "\"next_page_token\":\"same\""))
        })
    },
    Fault {
        not: WITHOUT_PAGES,
        ..fault("pages without end that say the same", Failure::Malformed, |wrong| {
            // each has an address of its own
            let cursor = "x".repeat(wrong.target.len() % 100 + 1);
            let next = format!("\"status\":\"OK\",\"next_url\":\"https://x/?cursor={cursor}\"}}");
            let page = wrong.right().replace("\"status\":\"OK\"}", &next);
            say(page.replace("\"next_page_token\":null", &format!("\"next_page_token\":\"{cursor}\"")))
        })
    },
];

/// A few kilobytes that decompress to sixty-four times the bound.
fn bomb() -> Vec<u8> {
    let mut out = GzEncoder::new(Vec::new(), Compression::best());
    (0..64).for_each(|_| out.write_all(&vec![b' '; BYTES_MOST as usize]).unwrap());
    out.finish().unwrap()
}

fn clock() -> MarketClock {
    MarketClock::Fixed(OPEN.parse().unwrap())
}

fn at(second: usize) -> Timestamp {
    let first: Timestamp = "2026-11-20T15:10:00-05:00".parse().unwrap();
    first + SignedDuration::from_secs(second as i64)
}

/// Permits every request at once.
struct Always;

impl Permits for Always {
    fn wait(&self) -> bool {
        true
    }

    fn note(&self, _: Failure) {}
}

fn sweeps(vendor: TestedVendor, address: SocketAddr, bounds: AnswerBounds) -> Sweeps {
    let (polled, base) = (vendor.vendor(), ServerBase::parse(&format!("http://{address}")).unwrap());
    let client = Client::new(base, polled.headers(), None, bounds).unwrap().signed_in(polled.sign_in());
    Sweeps::new(vendor.word().to_owned(), polled, client, None, clock())
}

fn acme() -> Symbol {
    Symbol::parse("ACME").unwrap()
}

/// Checks that a sweep brought all data.
fn check_whole(vendor: TestedVendor, result: Result<Option<SweepResult>, Failed>, market: VendorState, after: &str) {
    let Ok(Some(SweepResult { batch, report, .. })) = result else { panic!("{vendor:?} after {after}: {result:?}") };
    assert_eq!(report.refused_total(), 0, "{vendor:?} after {after}: {:?}", report.places);
    if vendor.has_chains() {
        assert_eq!((batch.quotes.len(), batch.reset), (40, vec![acme()]), "{vendor:?} after {after}");
        let spots: Vec<f64> = batch.spots.iter().map(|spot| spot.price).collect();
        assert!(
            matches!(spots[..], [spot] if (spot - market.spot).abs() < 1e-9),
            "{vendor:?} after {after}: {spots:?}"
        );
    } else if vendor.has_dividends_only() {
        let next = batch.dividends.and_then(|dividends| dividends.first().copied()).unwrap();
        assert_eq!((next.underlying, next.projected), (acme(), false));
        assert!((next.amount - market.spot / 100.0).abs() < 1e-4, "{vendor:?} after {after}: {next:?}");
    } else {
        assert!(batch.rates.is_some_and(|rates| rates.len() == 3), "{vendor:?} after {after}");
    }
}

/// State of the plan and wait after a success and then a failure.
fn plan_after(vendor: TestedVendor, failed: Failed) -> (SourceState, Duration) {
    let mut plan = Plan::new(vendor.terms(), [acme()], 7);
    let mut now = Duration::ZERO;
    let mut until_asked = |plan: &mut Plan| {
        loop {
            match plan.next(now, true, |_| None) {
                Next::Ask(_) => return now,
                Next::Wait(until) => now = until,
            }
        }
    };
    let first = until_asked(&mut plan);
    plan.done(acme(), first, Outcome::Delivered);
    let second = until_asked(&mut plan);
    plan.done(acme(), second, Outcome::Failed(failed));
    let state = plan.state();
    (state, until_asked(&mut plan) - second)
}

/// State and wait of docs/feeds/polled.md.
fn wanted_after(vendor: TestedVendor, failed: Failed) -> (SourceState, Duration) {
    let seconds = Duration::from_secs;
    match failed.failure {
        Failure::Refused | Failure::SignIn => (SourceState::Refused, seconds(30)),
        Failure::Limited => (SourceState::BackingOff, failed.retry_after.unwrap_or(seconds(5))),
        failure if failure.is_of_vendor() => (SourceState::BackingOff, seconds(1)),
        _ => (SourceState::Ok, vendor.terms().every),
    }
}

fn check_fault(vendor: TestedVendor, fault: &Fault, sweep: Result<Option<SweepResult>, Failed>) {
    let place = format!("{vendor:?}, {}", fault.name);
    let failed = sweep.expect_err(&place);
    let wanted = fault.but.iter().find(|(other, _)| *other == vendor).map_or(fault.failure, |&(_, failure)| failure);
    assert_eq!(failed, Failed { failure: wanted, retry_after: fault.retry_after.map(Duration::from_secs) }, "{place}");
    let ((state, wait), (wanted_state, wanted_wait)) = (plan_after(vendor, failed), wanted_after(vendor, failed));
    assert_eq!(state, wanted_state, "{place}");
    // the rate may make it a request longer
    let most = wanted_wait.mul_f64(1.1) + Duration::from_secs_f64(60.0 / vendor.terms().per_minute);
    assert!(wanted_wait.mul_f64(0.9) <= wait && wait <= most, "{place}: {wait:?} for {wanted_wait:?}");
}

fn run_script(vendor: TestedVendor) {
    let elsewhere = Server::start(|_| say("the key went here"));
    let other = elsewhere.address;
    let right = move |market: VendorState| move |target: &str| say(vendor.answer(target, market));
    let server = Server::start(right(VendorState::whole(100.0, at(0))));
    let patient = sweeps(vendor, server.address, PATIENT);
    check_whole(vendor, patient.sweep(acme(), &Always), VendorState::whole(100.0, at(0)), "nothing");
    for (i, fault) in SCRIPT.iter().enumerate().filter(|(_, fault)| !fault.not.contains(&vendor)) {
        let market = VendorState::whole(101.0 + 0.25 * i as f64, at(10 + i));
        let act = fault.act;
        server.always(move |target| act(&Wrong { vendor, target, market, elsewhere: other }));
        let hasty = (fault.bounds != PATIENT).then(|| sweeps(vendor, server.address, fault.bounds));
        check_fault(vendor, fault, hasty.as_ref().unwrap_or(&patient).sweep(acme(), &Always));
        server.always(right(market));
        check_whole(vendor, patient.sweep(acme(), &Always), market, fault.name);
    }
    // nobody at the address
    let alone = sweeps(vendor, free_address(), PATIENT);
    check_fault(vendor, &fault("nobody", Failure::Connect, |_| Act::Refuse), alone.sweep(acme(), &Always));
    assert!(elsewhere.asked().is_empty(), "{vendor:?}: nobody else is asked, with the key or without");
    assert!(server.asked().iter().all(|(_, target, _)| !target.contains(KEY)), "{vendor:?}: the key is in no address");
}

#[test]
fn every_vendor_lives_through_every_fault() {
    std::thread::scope(|scope| {
        let all = TestedVendor::ALL.map(|vendor| scope.spawn(move || run_script(vendor)));
        all.into_iter().for_each(|one| one.join().unwrap());
    });
}

#[test]
fn of_a_chain_with_a_quote_from_the_future_the_others_count() {
    // Cboe's have the time of their file
    let dated = [TestedVendor::Theta, TestedVendor::Tradier, TestedVendor::Massive, TestedVendor::Alpaca];
    for vendor in dated.into_iter().chain([TestedVendor::Schwab]) {
        let stray = Some(clock().latest() + SignedDuration::from_hours(24 * 300));
        let server = Server::start(move |target| {
            say(vendor.answer(target, VendorState { stray, ..VendorState::whole(100.0, at(0)) }))
        });
        let result = sweeps(vendor, server.address, PATIENT).sweep(acme(), &Always);
        let Ok(Some(SweepResult { batch, report, .. })) = result else { panic!("{vendor:?}: {result:?}") };
        assert_eq!((batch.quotes.len(), report.refused_total()), (39, 1), "{vendor:?}");
    }
}

/// A minute of a daemon with one vendor, everything going wrong one after the other.
fn run_daemon(vendor: TestedVendor) {
    let right = move |market: VendorState| move |target: &str| say(vendor.answer(target, market));
    let server = Server::start(right(VendorState::whole(100.0, at(0))));
    // prices of their own would move what is served
    let spots = if vendor.has_spots() { ",spots=no" } else { "" };
    let feed = format!("{}:ACME,every=0.2,rate=6000{spots}@http://{}", vendor.word(), server.address);
    let keys = environment();
    let keys: Vec<(&str, &str)> = keys.iter().map(|(name, key)| (*name, key.as_str())).collect();
    let mut daemon = start(&feed, &[], &keys);
    wait_for_spot(&daemon, 100.0);
    if matches!(vendor, TestedVendor::Tradier | TestedVendor::Massive) {
        // so that every fault is one of its chains
        daemon.wait("dividends", |health| health["feeds"][0]["used"]["dividends"] == 1);
    }
    let rows = |daemon: &mut Daemon| {
        daemon.wait("everything is computed", |health| health["pending"] == 0);
        daemon.get("/l1/greeks?underlying=ACME&greeks=all")
    };
    let wrong = ["500", "a page to sign in", "another name's", "a third of a chain", "from the future"];
    for (i, name) in wrong.into_iter().enumerate() {
        let fault = SCRIPT.iter().find(|fault| fault.name == name).unwrap();
        let (before, act, kind) = (rows(&mut daemon), fault.act, fault.failure.name());
        let market = VendorState::whole(101.0 + i as f64, at(10 + i));
        server.always(move |target| act(&Wrong { vendor, target, market, elsewhere: free_address() }));
        let health = daemon.wait(kind, |health| failures(health, kind) > 0);
        let state = &health["feeds"][0]["state"];
        assert!(if kind == "server" { state == "backing_off" } else { state == "ok" }, "{vendor:?}, {name}: {health}");
        assert_eq!(rows(&mut daemon), before, "{vendor:?}, {name}: what was known is served");
        server.always(right(market));
        wait_for_spot(&daemon, market.spot);
    }
    server.always(|_| status(403));
    daemon.wait("refused", |health| health["feeds"][0]["state"] == "refused");
    let asked_then = server.asked().len();
    std::thread::sleep(Duration::from_millis(500));
    assert_eq!(server.asked().len(), asked_then, "{vendor:?}: a key that is not taken is not tried again at once");
    let said = daemon.stop().1;
    let refusals: Vec<&str> = said.lines().filter(|line| line.contains("refused")).collect();
    assert!(matches!(refusals[..], [one] if one.contains("rejects the key")), "{vendor:?}: {refusals:?}");
    let variable = keys.iter().map(|(name, _)| name).find(|key| key.to_lowercase().contains(vendor.word()));
    assert!(variable.is_none_or(|variable| refusals[0].contains(*variable)), "{vendor:?}: {refusals:?}");
}

#[test]
fn every_vendor_is_served_through_a_bad_minute() {
    std::thread::scope(|scope| {
        let named = TestedVendor::ALL.into_iter().filter(|vendor| vendor.has_chains());
        let all: Vec<_> = named.map(|vendor| scope.spawn(move || run_daemon(vendor))).collect();
        all.into_iter().for_each(|one| one.join().unwrap());
    });
}
