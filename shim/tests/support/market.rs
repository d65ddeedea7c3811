//! A small market written by hand, so that expected answers are known without a computation.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]
#![allow(dead_code, unreachable_pub, reason = "each test file uses its part")]

use api::rows::clock::Clock;
use arc_swap::ArcSwap;
use engine::early::EarlyWork;
use engine::snapshot::Snapshot;
use engine::store::chain::{Chain, Slice};
use engine::store::columns::{Col, Columns};
use engine::store::firm_quotes::FirmQuotes;
use host::clock::MarketClock;
use http::{Answer, Body, Metrics, Progress};
use jiff::Timestamp;
use jiff::civil::{Date, date};
use kernel::american::Counts;
use kernel::calendar::Calendar;
use kernel::contract::{Right, Settle, Style, Symbol};
use shim::app::{Service, route_names};
use shim::status::{MarketFacts, PassFacts, Status};
use sources::facts::{OverrideFacts, RecordFacts, SourceFacts, SourceState, StateFacts, Used};
use std::sync::Arc;
use std::time::Duration;

/// 2026-11-20 15:42:07.318 Eastern, a Friday.
pub const NOW: Timestamp = Timestamp::constant(1_795_207_327, 318_000_000);

/// One (root, expiry) to be built.
pub struct Listing {
    pub root: &'static str,
    pub expiry: Date,
    pub settle: Settle,
    pub style: Style,
    pub fwd_price: f64,
    pub strikes_milli: Vec<u32>,
    pub adjusted: bool,
}

pub fn listing(root: &'static str, expiry: Date, fwd_price: f64, strikes_milli: &[u32]) -> Listing {
    let (settle, style, adjusted) = (Settle::Pm, Style::American, false);
    Listing { root, expiry, settle, style, fwd_price, strikes_milli: strikes_milli.to_vec(), adjusted }
}

pub fn symbol(text: &str) -> Symbol {
    Symbol::parse(text).unwrap()
}

/// A chain whose numbers are simple functions of the row, odd enough to tell columns apart.
pub fn chain(underlying: &str, spot: f64, listings: &[Listing]) -> Arc<Chain> {
    let n_rows: usize = listings.iter().map(|l| 2 * l.strikes_milli.len()).sum();
    let mut chain = Chain {
        underlying: symbol(underlying),
        spot,
        implied_spot: f64::NAN,
        implied_spot_error: f64::NAN,
        spot_off: false,
        doubt: None,
        firm: FirmQuotes::default(),
        uncomputed: None,
        valued_at: NOW,
        preliminary: underlying == "ACME",
        slices: Default::default(),
        strike_milli: Vec::new(),
        right: Vec::new(),
        dropped: vec![None; n_rows],
        columns: Columns::missing(n_rows),
        quotes: None,
        evidence: None,
    };
    for listing in listings {
        push_slice(&mut chain, listing);
    }
    Arc::new(chain)
}

fn push_slice(chain: &mut Chain, listing: &Listing) {
    let start = chain.strike_milli.len() as u32;
    for &milli in &listing.strikes_milli {
        for right in [Right::Call, Right::Put] {
            let row = chain.strike_milli.len();
            chain.strike_milli.push(milli);
            chain.right.push(right);
            if !listing.adjusted {
                fill_row(&mut chain.columns, row, f64::from(milli) / 1000.0, right, chain.spot);
            }
        }
    }
    let settles_at = Calendar::embedded().settlement(listing.expiry, listing.settle);
    let missing = |x: f64| if listing.adjusted { f64::NAN } else { x };
    let days = kernel::calendar::days_between(NOW, settles_at);
    chain.slices.push(Slice {
        root: symbol(listing.root),
        expiry: listing.expiry,
        listed: listing.expiry,
        rows: start..chain.strike_milli.len() as u32,
        style: listing.style,
        settle: listing.settle,
        settles_at,
        adjusted: listing.adjusted,
        days: missing(days),
        days_vt: missing(0.75 * days),
        und_price: missing(chain.spot),
        fwd_price: missing(listing.fwd_price),
        disc_rate: missing(0.041),
        borr_rate: missing(0.003),
        divs: missing(0.0),
    });
}

fn fill_row(columns: &mut Columns, row: usize, strike: f64, right: Right, spot: f64) {
    let call_delta = 1.0 / (1.0 + ((strike / spot - 1.0) * 12.0).exp());
    for (i, &col) in Col::ALL.iter().enumerate() {
        let sign = if i % 3 == 2 { -1.0 } else { 1.0 };
        columns.get_mut(col)[row] = sign * (i as f64 + 1.0) * (strike / spot) / 7.0;
    }
    columns.get_mut(Col::Delta)[row] = if right == Right::Call { call_delta } else { call_delta - 1.0 };
    // awkward numbers: a value that rounds to zero, a tie, a missing bid, no previous session
    columns.get_mut(Col::Speed)[row] = -1e-9;
    columns.get_mut(Col::Gamma)[row] = 0.000_030_517_578_125;
    columns.get_mut(Col::Ultima)[row] = -123_456.75;
    columns.get_mut(Col::PrevVol)[row] = f64::NAN;
    if row % 4 == 1 {
        columns.get_mut(Col::BidVol)[row] = f64::NAN;
    }
}

/// ACME with an adjusted root, BRK.B, SPX with two roots that expire on one day; LATE is still being computed.
pub fn market() -> Snapshot {
    let december = date(2026, 12, 18);
    let strikes = [95_000, 97_500, 100_000, 102_500, 105_000];
    let adjusted = Listing { adjusted: true, ..listing("ACME1", december, 0.0, &[100_000]) };
    let acme = chain(
        "ACME",
        101.25,
        &[
            listing("ACME", december, 101.545_712, &strikes),
            adjusted,
            listing("ACME", date(2027, 1, 15), 101.9, &strikes),
        ],
    );
    let brk = chain("BRK.B", 480.0, &[listing("BRKB", december, 481.5, &[470_000, 480_000, 482_500])]);
    let index = |root, settle, expiry, fwd| Listing {
        settle,
        style: Style::European,
        ..listing(root, expiry, fwd, &[5_990_000, 6_000_000, 6_010_000, 6_025_500])
    };
    let spx = chain(
        "SPX",
        6_001.25,
        &[
            index("SPXW", Settle::Pm, date(2026, 11, 20), 6_001.3),
            index("SPX", Settle::Am, december, 6_012.5),
            index("SPXW", Settle::Pm, december, 6_020.25),
        ],
    );
    Snapshot::new(7, vec![spx, brk, acme], vec![symbol("LATE")])
}

/// The service while readers hold `held` bytes of old snapshots, of at most `most`.
pub fn service_with_old(snapshot: Snapshot, held: u64, most: u64) -> Service {
    let status = status_at(Duration::from_secs(86_400));
    status.turned();
    status.holds_old_snapshots(held);
    let metrics = Arc::new(Metrics::new(&route_names()));
    Service::new(Arc::new(ArcSwap::from_pointee(snapshot)), Arc::new(status), metrics).with_old_snapshot_bytes(most)
}

/// The service over a snapshot, with its clock fixed 1.5 s after [`NOW`] and a market loop that has just run.
pub fn service(snapshot: Snapshot) -> Service {
    let status = status_at(Duration::from_secs(86_400));
    status.turned();
    Service::new(Arc::new(ArcSwap::from_pointee(snapshot)), Arc::new(status), Arc::new(Metrics::new(&route_names())))
}

/// The times of an answer of [`service`].
pub fn clock() -> Clock {
    Clock::new(NOW, NOW, Calendar::embedded().zone())
}

/// A status with facts; the start of the program was `uptime` ago, and the market loop has not run since.
pub fn status_at(uptime: Duration) -> Status {
    let now = MarketClock::Fixed(NOW + jiff::SignedDuration::from_millis(1500));
    let zone = Calendar::embedded().zone().clone();
    let status = Status::new("sim".to_owned(), true, 5, now, Box::new(move || uptime), zone);
    status.publish(MarketFacts {
        market_open: true,
        contracts_priced: 50,
        pass: PassFacts { last_ms: 12.5, p50_ms: 11.25, max_ms: 40.0, expiries: 7, contracts: 50 },
        quotes_received: 1000,
        quotes_dropped: vec![("crossed", 2), ("stale", 3)],
        searches: 17,
        early: EarlyWork { kept: 200, left: [4, 30, 6, 0, 0, 0, 0, 0], ..EarlyWork::default() },
        stages: [1_500_000_000, 0, 0, 250_000_000],
        tables: Counts { boundaries: 9, aligned: 4, anchored: 3, closed: 2, european: 6, refined: 2 },
        state_bytes: 70_000,
        book_bytes: 6_000,
        session_bytes: 900,
        rates: None,
        state: Some(StateFacts { folder: "s".to_owned(), saved_at: Some(NOW), failing: false }),
        failing: 1,
        files_unusable: 2,
        restored: 3,
        failures: 6,
        sources: vec![SourceFacts {
            feed: "tcp:127.0.0.1:2113".to_owned(),
            state: SourceState::Ok,
            last_success: Some(Duration::from_millis(1250)),
            requests: 8,
            failures: vec![("broken", 2)],
            connections: 3,
            waiting_bytes: 512,
            superseded: 4,
            used: Used { quotes: 5, spots: 6, dividends: 7, rates: true, days: false },
            ..SourceFacts::default()
        }],
        record: Some(RecordFacts { folder: "r".to_owned(), written: 11, dropped: 2, bytes: 300, failing: false }),
        overrides: Some(OverrideFacts {
            file: "o.csv".to_owned(),
            applied: vec![("borrow", 2)],
            refused: 1,
            is_unusable: false,
            errors: vec!["o.csv:3: what: not_a_word".to_owned()],
        }),
    });
    status
}

/// Status, content type, further headers, body.
pub struct Got {
    pub status: u16,
    pub content_type: &'static str,
    pub headers: Vec<String>,
    pub body: String,
}

/// Asks a service for a target such as `/l1/greeks?root=ACME`.
pub fn get_from(service: &Service, target: &str) -> Got {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    read(service.answer_to(path, query))
}

/// Asks the small market.
pub fn get(target: &str) -> Got {
    get_from(&service(market()), target)
}

/// Reads the whole body as the server would: piece by piece, into a buffer that is emptied in between.
pub fn read(answer: Answer) -> Got {
    let mut body = Vec::new();
    match answer.body {
        Body::Full(bytes) => body = bytes,
        Body::Awaited(mut awaited) => loop {
            if let Some(answer) = awaited.look() {
                return read(answer);
            }
            std::thread::sleep(Duration::from_millis(1));
        },
        Body::Socket(_) => panic!("no socket was asked for"),
        Body::Stream(mut stream) => {
            // events have no end, so only the present ones are read
            let is_endless = answer.content_type.starts_with("text/event-stream");
            let mut piece = Vec::new();
            loop {
                piece.clear();
                let progress = stream.fill(&mut piece);
                body.extend_from_slice(&piece);
                if progress == Progress::Done || (is_endless && progress == Progress::Later) {
                    break;
                }
            }
        }
    }
    Got {
        status: answer.status,
        content_type: answer.content_type,
        headers: answer.headers.iter().map(|(name, value)| format!("{name}: {value}")).collect(),
        // tables of columns are no text
        body: if answer.content_type.starts_with("application/vnd.apache") {
            String::from_utf8_lossy(&body).into_owned()
        } else {
            String::from_utf8(body).unwrap()
        },
    }
}
