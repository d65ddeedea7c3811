//! Questions about the past over a real socket: a market of some days whose chains are known, answered from an archive
//! that computes them when they are asked for.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use crate::support;
use crate::support::Client;
use crate::support::market;
use crate::support::market::{get_from, listing, market, service, symbol};
use api::listing::{GatheredContracts, Listing, StrikePool};
use api::query::Query;
use api::vendors::layer::{Layer, Serve};
use api::vendors::native::NATIVE;
use engine::snapshot::Snapshot;
use engine::store::chain::Chain;
use http::{Answer, Body, Limits, Metrics, Progress, Server};
use jiff::Timestamp;
use jiff::civil::{Date, date};
use kernel::calendar::Calendar;
use kernel::contract::{ContractKey, Right, RootTable, Symbol};
use serde_json::Value;
use shim::app::route_names;
use shim::past;
use shim::past::archive::DayChains;
use shim::past::cache::{CachedArchive, RecordedDays};
use shim::past::index::DayIndex;
use shim::past::market::{PastMarket, PastRequest};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

const WEDNESDAY: Date = date(2026, 11, 18);
const THURSDAY: Date = date(2026, 11, 19);
const FRIDAY: Date = date(2026, 11, 20);
/// Clocks went forward on the eighth.
const BEFORE: Date = date(2026, 3, 6);
const AFTER: Date = date(2026, 3, 9);
/// A day whose recording is unusable.
const DAMAGED: Date = date(2026, 11, 17);
pub(crate) const DAYS: [Date; 6] = [BEFORE, AFTER, DAMAGED, WEDNESDAY, THURSDAY, FRIDAY];
pub(crate) const TIMES: [(i8, i8); 4] = [(9, 30), (10, 0), (10, 30), (16, 0)];

fn at(day: Date, (hour, minute): (i8, i8)) -> Timestamp {
    Calendar::embedded().instant(day.at(hour, minute, 0, 0))
}

/// The chain of a name at a time of a day; its spot tells which.
fn chain_at(name: &str, day: Date, time: (i8, i8)) -> Arc<Chain> {
    let spot = 95.0 + f64::from(day.day()) / 10.0 + f64::from(time.0) / 100.0 + f64::from(time.1) / 1000.0;
    let strikes = [95_000, 100_000, 102_500];
    let root: &'static str = if name == "BRK.B" { "BRKB" } else { "ACME" };
    let expiries = [date(2026, 12, 18), date(2027, 1, 15)];
    let chain = market::chain(name, spot, &expiries.map(|expiry| listing(root, expiry, spot + 1.0, &strikes)));
    Arc::new(Chain { valued_at: at(day, time), preliminary: false, ..(*chain).clone() })
}

/// ACME on every day, BRK.B not on Thursday.
#[derive(Default)]
struct Days {
    computed: AtomicUsize,
    held_up: AtomicBool,
}

struct SharedDays(Arc<Days>);

impl RecordedDays for SharedDays {
    fn index(&self) -> Option<Arc<DayIndex>> {
        let mut index = DayIndex::default();
        for day in DAYS {
            index.note(symbol("ACME"), day, 1);
            if day != THURSDAY {
                index.note(symbol("BRK.B"), day, 1);
            }
        }
        let mut list = |name: &str, day: Date, contracts: &[(Date, u32, Right)]| {
            index.note_listing(symbol(name), day, listed(name, contracts));
        };
        let (first, second) = (date(2026, 12, 18), date(2027, 1, 15));
        list("ACME", WEDNESDAY, &[(first, 100_000, Right::Call), (first, 95_000, Right::Put)]);
        list("ACME", THURSDAY, &[(first, 102_500, Right::Put), (second, 100_000, Right::Put)]);
        // of two files
        list("ACME", THURSDAY, &[(first, 100_000, Right::Call), (first, 100_000, Right::Put)]);
        list("BRK.B", FRIDAY, &[(second, 480_000, Right::Call)]);
        Some(Arc::new(index))
    }

    fn compute(&self, name: Symbol, day: Date) -> Result<DayChains, String> {
        while self.0.held_up.load(Ordering::SeqCst) {
            std::thread::sleep(Duration::from_millis(1));
        }
        self.0.computed.fetch_add(1, Ordering::SeqCst);
        if day == DAMAGED {
            return Err(format!("{name} on {day}: acme.csv:7: bid: no number: x"));
        }
        Ok(DayChains::new(TIMES.map(|time| (at(day, time), chain_at(name.as_str(), day, time))).into()))
    }
}

/// The contracts of a name on a day.
fn listed(name: &str, contracts: &[(Date, u32, Right)]) -> Arc<Listing> {
    let root = symbol(if name == "BRK.B" { "BRKB" } else { "ACME" });
    let mut gathered = GatheredContracts::default();
    for &(expiry, strike_milli, right) in contracts {
        gathered.add(&ContractKey { root, expiry, strike_milli, right });
    }
    Arc::new(gathered.into_listing(&mut StrikePool::default()))
}

pub(crate) struct Fixture {
    server: Server,
    days: Arc<Days>,
}

pub(crate) fn serve() -> Fixture {
    let days = Arc::<Days>::default();
    let archive = CachedArchive::start(SharedDays(Arc::clone(&days)), 1 << 20, 2, || {}).unwrap();
    let metrics = Arc::new(Metrics::new(&route_names()));
    let config = support::config(SocketAddr::from(([127, 0, 0, 1], 0)), Limits::default(), &metrics);
    let service = service(market()).with_archive(Arc::new(archive));
    Fixture { server: Server::start(config, service).unwrap(), days }
}

impl Fixture {
    pub(crate) fn client(&self) -> Client {
        Client::new(self.server.addresses()[0])
    }

    pub(crate) fn get(&self, target: &str) -> (u16, String) {
        let response = self.client().get(target);
        (response.status, response.text())
    }

    pub(crate) fn json(&self, target: &str) -> Value {
        let (status, body) = self.get(target);
        assert_eq!(status, 200, "{target}: {body}");
        serde_json::from_str(&body).unwrap_or_else(|e| panic!("{target}: {e}: {body}"))
    }
}

/// The answer to the same question if the snapshot is the present one.
fn now(names: &[&str], day: Date, time: (i8, i8), target: &str) -> String {
    let chains = names.iter().map(|name| chain_at(name, day, time)).collect();
    get_from(&service(Snapshot::new(1, chains, vec![])), target).body
}

#[test]
fn a_moment_is_the_last_snapshot_at_or_before_it_on_its_day() {
    let served = serve();
    let all = "/l1/greeks?underlying=ACME&greeks=all";
    for (as_of, day, time) in [
        ("2026-11-18T10:30", WEDNESDAY, (10, 30)),
        ("2026-11-18T10:29:59.999", WEDNESDAY, (10, 0)),
        ("2026-11-18T23:00", WEDNESDAY, (16, 0)),
        ("2026-11-18", WEDNESDAY, (16, 0)),
        ("20261119", THURSDAY, (16, 0)),
        // an offset, also one whose plus was not encoded
        ("2026-11-18T07:30-08:00", WEDNESDAY, (10, 30)),
        ("2026-11-18T16:00%2B01:00", WEDNESDAY, (10, 0)),
        ("2026-11-18T16:00+01:00", WEDNESDAY, (10, 0)),
        ("2026-11-19T01:00Z", WEDNESDAY, (16, 0)),
        // Eastern time before and after clocks went forward
        ("2026-03-06T10:00", BEFORE, (10, 0)),
        ("2026-03-06T15:00Z", BEFORE, (10, 0)),
        ("2026-03-09T10:00", AFTER, (10, 0)),
        ("2026-03-09T14:00Z", AFTER, (10, 0)),
    ] {
        let got = served.get(&format!("{all}&as_of={as_of}"));
        assert_eq!(got, (200, now(&["ACME"], day, time, all)), "{as_of}");
    }
    let two = "/l1/greeks?underlying=BRK.B,ACME&center=atm&format=csv";
    let got = served.get(&format!("{two}&as_of=2026-11-18T10:00"));
    assert_eq!(got, (200, now(&["BRK.B", "ACME"], WEDNESDAY, (10, 0), two)));
    // of a name that was not recorded on that day there is nothing, and the others are shown
    let one = served.get(&format!("{two}&as_of=2026-11-19"));
    assert_eq!(one, (200, now(&["ACME"], THURSDAY, (16, 0), two)));
    let root = "/l1/greeks?root=BRKB";
    let got = served.get(&format!("{root}&as_of=2026-11-20"));
    assert_eq!(got, (200, now(&["BRK.B"], FRIDAY, (16, 0), root)));
    // and without a moment the present is served as before
    assert_eq!(served.get(all).1, get_from(&service(market()), all).body);
}

#[test]
fn a_time_without_data_names_what_there_is() {
    let served = serve();
    for (query, wanted) in [
        (
            "underlying=ACME&as_of=2026-11-21",
            "no snapshot of ACME at this time on 2026-11-21; nearest: 2026-11-20; \
             available days: 2026-03-06 to 2026-11-20",
        ),
        (
            "underlying=BRK.B&as_of=2026-11-19",
            "no snapshot of BRK.B at this time on 2026-11-19; nearest: 2026-11-18 and 2026-11-20; \
             available days: 2026-03-06 to 2026-11-20",
        ),
        (
            "underlying=ACME&as_of=2026-11-19T09:00",
            "no snapshot of ACME at this time on 2026-11-19; nearest: 2026-11-18 and 2026-11-19T09:30:00-05:00; \
             available days: 2026-03-06 to 2026-11-20",
        ),
        ("underlying=ZZZZ&as_of=2026-11-19", "no recorded data of ZZZZ"),
        (
            "underlying=ACME&start=2026-12-01&end=2026-12-31",
            "no snapshot of ACME at this time on 2026-12-01; nearest: 2026-11-20; \
             available days: 2026-03-06 to 2026-11-20",
        ),
    ] {
        let (status, body) = served.get(&format!("/l1/greeks?{query}"));
        let error: Value = serde_json::from_str(&body).unwrap();
        assert_eq!((status, error["error"].as_str()), (404, Some(wanted)), "{query}");
    }
}

#[test]
fn a_feed_of_the_present_says_so() {
    let server = service(market());
    for (target, wanted) in [
        ("/l1/greeks?underlying=ACME&as_of=2026-11-19", "400 {\"error\":\"as_of, start and end select the past, and"),
        ("/l1/symbols?as_of=2026-11-19", "400 {\"error\":\"as_of, start and end select the past, and"),
        ("/datav2/hist/strikes?ticker=ACME&tradeDate=2026-11-19", "400 {\"message\":\"this feed has no past data"),
        (
            "/query?function=HISTORICAL_OPTIONS&symbol=ACME&date=2026-11-19",
            "400 {\"Error Message\":\"Invalid API call: this feed has no past data",
        ),
        ("/v1/options/chain/ACME?date=2026-11-19", "404 {\"s\":\"no_data\",\"nextTime\":null,\"prevTime\":null}"),
        (
            "/v1/options/chain/ACME?date=2026-11-20",
            "400 {\"s\":\"error\",\"errmsg\":\"Invalid date. date: not a date in",
        ),
        ("/v3/option/history/greeks/all?symbol=ACME&expiration=*&date=20261119", "400 this feed has no past data"),
        ("/v3/option/history/ohlc?symbol=ACME&expiration=*&date=20261119", "404 not found"),
        (
            "/v2/hist/option/greeks?root=ACME&exp=20261218&strike=100000&right=C&start_date=20261119&end_date=20261119",
            "400 this feed has no past data",
        ),
        ("/v2/hist/option/trade?root=ACME", "404 not found"),
    ] {
        let got = get_from(&server, target);
        let shown = format!("{} {}", got.status, got.body);
        assert!(shown.starts_with(wanted), "{target}: {shown}");
    }
}

/// The rows of single answers, each with its time.
fn single(served: &Fixture, query: &str, moments: &[(Date, (i8, i8))]) -> Vec<Value> {
    let mut rows = Vec::new();
    for &(day, time) in moments {
        let as_of = at(day, time).to_string();
        let answer = served.json(&format!("/l1/greeks?{query}&as_of={as_of}"));
        let offset = if day < date(2026, 3, 8) || day > date(2026, 11, 1) { "-05:00" } else { "-04:00" };
        for mut row in answer.as_array().unwrap().clone() {
            row["snapshot_time"] = format!("{day}T{:02}:{:02}:00.000{offset}", time.0, time.1).into();
            rows.push(row);
        }
    }
    rows
}

#[test]
fn many_moments_are_single_ones_put_together() {
    let served = serve();
    let each = |days: &[Date], times: &[(i8, i8)]| -> Vec<(Date, (i8, i8))> {
        days.iter().flat_map(|&day| times.iter().map(move |&time| (day, time))).collect()
    };
    let days = [WEDNESDAY, THURSDAY, FRIDAY];
    for (span, moments) in [
        ("start=2026-11-18&end=2026-11-20", each(&days, &TIMES)),
        ("start=2026-11-18", each(&days, &TIMES)),
        ("start=2026-11-19T10:00&end=2026-11-19T10:30", each(&[THURSDAY], &[(10, 0), (10, 30)])),
        ("start=2026-11-18&end=2026-11-20&interval=1d", each(&days, &[(16, 0)])),
        ("start=2026-11-18T09:30&end=2026-11-20&interval=1h", each(&days, &[(9, 30), (10, 30), (16, 0)])),
        ("end=2026-03-09&interval=1d", each(&[BEFORE, AFTER], &[(16, 0)])),
    ] {
        let query = "underlying=ACME&right=call&greeks=core,chain";
        let wanted = single(&served, query, &moments);
        let (status, body) = served.get(&format!("/l1/greeks?{query}&{span}"));
        assert_eq!((status, serde_json::from_str::<Vec<Value>>(&body).unwrap()), (200, wanted.clone()), "{span}");
        let (_, lines) = served.get(&format!("/l1/greeks?{query}&{span}&format=ndjson"));
        let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(lines, wanted, "{span}");
        let (_, table) = served.get(&format!("/l1/greeks?{query}&{span}&format=csv"));
        assert_eq!(table.matches("snapshot_time").count(), 1, "one header");
        assert_eq!(table.lines().count(), 1 + wanted.len(), "{span}");
        let (_, page) = served.get(&format!("/l1/greeks?{query}&{span}&format=html"));
        assert_eq!((page.matches("<table>").count(), page.matches("<tr>").count()), (1, 1 + wanted.len()));
    }
    // a name of which there is nothing on a day is left out there
    let rows = served.json("/l1/greeks?underlying=ACME,BRK.B&start=2026-11-18&end=2026-11-20&interval=1d&center=atm");
    let shown: Vec<String> = rows.as_array().unwrap().iter().map(|row| row["underlying"].to_string()).collect();
    assert_eq!(shown.len(), 5 * 4);
    assert_eq!(shown.iter().filter(|name| *name == "\"BRK.B\"").count(), 2 * 4);
}

/// How often the parser of [`COUNTED`] has run.
static PARSED: AtomicUsize = AtomicUsize::new(0);

/// The native layer behind a parser that counts.
static COUNTED: Layer = Layer {
    serve: Serve::Rows(|query| {
        PARSED.fetch_add(1, Ordering::SeqCst);
        let Serve::Rows(parse) = NATIVE.serve else { panic!("no rows") };
        parse(query)
    }),
    ..NATIVE
};

#[test]
fn a_request_is_parsed_once_for_however_many_moments() {
    let archive = CachedArchive::start(SharedDays(Arc::default()), 1 << 20, 2, || {}).unwrap();
    let calendar = Calendar::embedded();
    let past = Arc::new(PastMarket {
        closes: Arc::default(),
        archive: Arc::new(archive),
        roots: Arc::new(RootTable::embedded()),
        zone: calendar.zone().clone(),
        calendar,
        feed: "history".to_owned(),
        shows_quotes: false,
        columns_bytes: Arc::default(),
    });
    for (query, snapshots) in [("as_of=2026-11-18", 1), ("start=2026-11-18&end=2026-11-20", 3 * TIMES.len())] {
        let before = PARSED.load(Ordering::SeqCst);
        let query_of = format!("underlying=ACME&format=csv&right=call&{query}");
        let mut parsed = COUNTED.parse(&Query::parse(&query_of), &Snapshot::empty(Vec::new()));
        let question = parsed.settle(&market::clock()).past.unwrap();
        let (layer, names) = (&COUNTED, vec![symbol("ACME")]);
        let request = PastRequest { layer, parsed, host: None, names, everything: false, prefixes: None, question };
        let answer = past::answer(&past, request, market::clock());
        let rows = body_of(answer).lines().count() - 1;
        // two expirations of three strikes
        assert_eq!((rows, PARSED.load(Ordering::SeqCst) - before), (snapshots * 6, 1), "{query}");
    }
}

/// The body of an answer, once it is there.
fn body_of(mut answer: Answer) -> String {
    let mut out = Vec::new();
    loop {
        match &mut answer.body {
            Body::Full(text) => return String::from_utf8(std::mem::take(text)).unwrap(),
            Body::Awaited(awaited) => match awaited.look() {
                Some(made) => answer = made,
                None => std::thread::sleep(Duration::from_millis(1)),
            },
            Body::Stream(stream) => match stream.fill(&mut out) {
                Progress::Done => return String::from_utf8(out).unwrap(),
                Progress::Broken => panic!("broken off"),
                Progress::More | Progress::Later => {}
            },
            Body::Socket(_) => panic!("no socket was asked for"),
        }
    }
}

#[test]
fn a_damaged_day_costs_itself() {
    let served = serve();
    let why = "ACME on 2026-11-17: acme.csv:7: bid: no number: x";
    for (target, wanted) in [
        ("/l1/greeks?underlying=ACME&as_of=2026-11-17", format!("{{\"error\":\"{why}\"}}")),
        ("/datav2/hist/strikes?ticker=ACME&tradeDate=2026-11-17", format!("{{\"message\":\"{why}\"}}")),
        ("/query?function=HISTORICAL_OPTIONS&symbol=ACME&date=2026-11-17", format!("{{\"Error Message\":\"{why}\"}}")),
        ("/v1/options/chain/ACME?date=2026-11-17", format!("{{\"s\":\"error\",\"errmsg\":\"{why}\"}}")),
        ("/v3/option/history/greeks/all?symbol=ACME&expiration=*&date=2026-11-17", format!("{why}\n")),
    ] {
        assert_eq!(served.get(target), (502, wanted), "{target}");
        assert_eq!(served.get(&target.replace("11-17", "11-18")).0, 200);
    }
    // an answer of many days that has begun breaks off, and nobody takes it for whole
    let mut client = served.client();
    client.send("GET /l1/greeks?underlying=ACME&start=2026-03-06&end=2026-11-20 HTTP/1.1\r\nHost: localhost\r\n\r\n");
    let sent = client.rest();
    assert!(sent.starts_with("HTTP/1.1 200 ") && sent.contains("chunked") && !sent.ends_with("0\r\n\r\n"), "{sent}");
}

#[test]
fn many_clients_share_one_computation_and_small_requests_pass_them() {
    let served = serve();
    served.days.held_up.store(true, Ordering::SeqCst);
    let target = "/l1/greeks?underlying=ACME&as_of=2026-11-18";
    let mut waiting: Vec<Client> = (0..20).map(|_| served.client()).collect();
    for client in &mut waiting {
        client.send(format!("GET {target} HTTP/1.1\r\nHost: localhost\r\n\r\n"));
    }
    // nobody's thread waits for it
    for _ in 0..50 {
        assert_eq!(served.get("/l1/greeks?underlying=ACME&center=atm").0, 200);
        assert_eq!(served.get("/l1/greeks?underlying=ACME,BRK.B,SPX&greeks=all").0, 200);
    }
    assert_eq!(served.days.computed.load(Ordering::SeqCst), 0);
    served.days.held_up.store(false, Ordering::SeqCst);
    let wanted = now(&["ACME"], WEDNESDAY, (16, 0), "/l1/greeks?underlying=ACME");
    for mut client in waiting {
        let response = client.response();
        assert_eq!((response.status, response.text()), (200, wanted.clone()));
        // and the connection lives on
        assert_eq!(client.get("/l1/greeks?underlying=ACME&as_of=2026-11-18T09:30").status, 200);
    }
    assert_eq!(served.days.computed.load(Ordering::SeqCst), 1);
}

#[test]
fn symbols_of_a_day_are_listed() {
    let served = serve();
    let rows = served.json("/l1/symbols?as_of=2026-11-18");
    let shown: Vec<String> =
        rows.as_array().unwrap().iter().map(|row| format!("{} {}", row["symbol"], row["valued_at"])).collect();
    assert_eq!(shown, ["\"ACME\" \"2026-11-18T16:00:00.000-05:00\"", "\"BRK.B\" \"2026-11-18T16:00:00.000-05:00\""]);
    assert_eq!(served.json("/l1/symbols?as_of=2026-11-19").as_array().unwrap().len(), 1);
    assert_eq!(served.json("/l1/symbols?as_of=2026-11-18&symbol=B").as_array().unwrap().len(), 1);
    assert_eq!(served.get("/l1/symbols?as_of=2026-11-21").0, 404);
}

/// The native rows of a moment, by what names a contract.
pub(crate) fn native(served: &Fixture, as_of: &str) -> Vec<Value> {
    served.json(&format!("/l1/greeks?underlying=ACME&greeks=all&as_of={as_of}")).as_array().unwrap().clone()
}

pub(crate) fn near(shown: &Value, native: &Value, factor: f64) {
    let number = |value: &Value| value.as_f64().or_else(|| value.as_str()?.parse().ok()).unwrap();
    let (shown, native) = (number(shown), number(native) * factor);
    assert!((shown - native).abs() <= 5.1e-5 * factor.max(1.0), "{shown} is not {native}");
}

#[test]
fn orats_has_past_days() {
    let served = serve();
    let rows = served.json("/datav2/hist/strikes?ticker=ACME&tradeDate=2026-11-18&dte=30,40&token=x")["data"].clone();
    let rows = rows.as_array().unwrap();
    assert_eq!(rows.len(), 3, "thirty days to the nearer expiration");
    let calls: Vec<Value> = native(&served, "2026-11-18").into_iter().filter(|row| row["right"] == "call").collect();
    for (row, call) in rows.iter().zip(&calls) {
        assert_eq!((row["tradeDate"].as_str(), row["dte"].as_i64()), (Some("2026-11-18"), Some(30)));
        assert_eq!((&row["strike"], &row["expirDate"]), (&call["strike"], &call["expiry"]));
        assert_eq!(row["updatedAt"], "2026-11-18T21:00:00Z");
        near(&row["delta"], &call["delta"], 1.0);
        near(&row["stockPrice"], &call["und_price"], 1.0);
    }
    let (status, table) = served.get("/datav2/hist/strikes.csv?ticker=ACME&tradeDate=20261118");
    assert_eq!((status, table.lines().count()), (200, 7));
    let one = "/datav2/hist/strikes/options?ticker=BRK.B&expirDate=2026-12-18&strike=100&tradeDate=2026-11-18";
    assert_eq!(served.json(one)["data"].as_array().unwrap().len(), 1);
    let none = served.get("/datav2/hist/strikes?ticker=ACME&tradeDate=2026-11-22");
    assert!(none.0 == 404 && none.1.starts_with("{\"message\":\"no snapshot of ACME"), "{none:?}");
    assert_eq!(served.get("/datav2/hist/strikes?ticker=ACME").0, 400, "a day is required");
}

#[test]
fn marketdata_has_past_days() {
    let served = serve();
    let chain =
        served.json("/v1/options/chain/ACME/?date=2026-11-18&expiration=all&columns=optionSymbol,delta,updated,dte");
    let native = native(&served, "2026-11-18");
    let symbols: Vec<&str> = chain["optionSymbol"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert_eq!(symbols.len(), native.len());
    assert_eq!(chain["updated"][0], at(WEDNESDAY, (16, 0)).as_second());
    assert_eq!((chain["dte"][0].as_i64(), symbols[0]), (Some(30), "ACME261218C00095000"));
    near(&chain["delta"][0], &native[0]["delta"], 1.0);
    let next = served.json("/v1/options/chain/ACME?date=2026-11-18");
    assert_eq!(next["strike"].as_array().unwrap().len(), 6, "the next monthly expiration as of that day");
    let dates = served.json("/v1/options/expirations/ACME?date=2026-11-18");
    assert_eq!(dates["expirations"], serde_json::json!(["2026-12-18", "2027-01-15"]));
    assert_eq!(served.json("/v1/options/strikes/ACME?date=2026-11-18")["2026-12-18"][0], 95);
    // the vendor's way to say when there is something
    let none = served.get("/v1/options/chain/ACME?date=2026-11-16");
    let (before, after) = (at(AFTER, (16, 0)).as_second(), at(DAMAGED, (16, 0)).as_second());
    assert_eq!(none, (404, format!("{{\"s\":\"no_data\",\"nextTime\":{after},\"prevTime\":{before}}}")));
    // many days of one contract: from belongs to it, to does not
    let quotes = served.json("/v1/options/quotes/ACME261218C00100000/?from=2026-11-18&to=2026-11-20");
    assert_eq!(quotes["s"], "ok");
    let times = [WEDNESDAY, THURSDAY].map(|day| at(day, (16, 0)).as_second());
    assert_eq!(quotes["updated"], serde_json::json!(times));
    assert_eq!(quotes["strike"], serde_json::json!([100, 100]));
    let one = served.json("/v1/options/quotes/ACME261218C00100000/?date=2026-11-19");
    assert_eq!(one["updated"], serde_json::json!([times[1]]));
    assert_eq!(served.get("/v1/options/quotes/ACME261218C00777000/?from=2026-11-18&to=2026-11-20").0, 404);
}

#[test]
fn alpha_vantage_has_past_days() {
    let served = serve();
    let answer = served.json("/query?function=HISTORICAL_OPTIONS&symbol=acme&date=2026-11-18&apikey=x");
    assert_eq!((&answer["endpoint"], &answer["message"]), (&"Historical Options".into(), &"success".into()));
    let native = native(&served, "2026-11-18");
    let rows = answer["data"].as_array().unwrap();
    assert_eq!(rows.len(), native.len());
    for (row, native) in rows.iter().zip(&native) {
        assert_eq!((&row["date"], &row["expiration"]), (&"2026-11-18".into(), &native["expiry"]));
        near(&row["delta"], &native["delta"], 1.0);
        near(&row["vega"], &native["vega"], 1.0);
        near(&row["implied_volatility"], &native["svc_vol"], 1.0);
    }
    // without a date the last day there is
    let last = served.json("/query?function=HISTORICAL_OPTIONS&symbol=ACME");
    assert_eq!(last["data"][0]["date"], "2026-11-20");
    let mut client = served.client();
    let table = client.get("/query?function=HISTORICAL_OPTIONS&symbol=ACME&date=2026-11-18&datatype=csv");
    assert_eq!(table.header("content-disposition"), Some("attachment; filename=historical_options_ACME.csv"));
    assert_eq!(table.text().lines().count(), 1 + native.len());
    let none = served.json("/query?function=HISTORICAL_OPTIONS&symbol=ACME&date=2026-11-22");
    let words =
        "No data for symbol ACME on date 2026-11-22. Please specify a valid combination of symbol and trading day.";
    assert!(none["message"].as_str().unwrap().starts_with(words) && none["data"] == serde_json::json!([]), "{none}");
    assert_eq!(served.get("/query?function=HISTORICAL_OPTIONS&symbol=ACME&date=soon").0, 400);
}

#[test]
fn thetadata_version_3_has_past_days() {
    let served = serve();
    let days = "symbol=ACME&expiration=2026-12-18&strike=100&right=C&start_date=20261118&end_date=20261120";
    let (status, table) = served.get(&format!("/v3/option/history/greeks/first_order?{days}&interval=30m"));
    assert_eq!(status, 200, "{table}");
    let lines: Vec<Vec<&str>> = table.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!(
        lines[0].join(","),
        "symbol,expiration,strike,right,timestamp,bid,ask,delta,theta,vega,rho,epsilon,lambda,implied_vol,iv_error,\
         underlying_timestamp,underlying_price"
    );
    assert_eq!(lines.len(), 1 + 3 * TIMES.len());
    let stamps: Vec<&str> = lines[1..5].iter().map(|line| line[4]).collect();
    assert_eq!(
        stamps,
        ["2026-11-18T09:30:00.000", "2026-11-18T10:00:00.000", "2026-11-18T10:30:00.000", "2026-11-18T16:00:00.000"]
    );
    let ours = &native(&served, "2026-11-18T10:00")[2];
    let delta: f64 = lines[2][7].parse().unwrap();
    near(&delta.into(), &ours["delta"], 1.0);
    let vega: f64 = lines[2][9].parse().unwrap();
    near(&vega.into(), &ours["vega"], 100.0);
    // JSON goes column by column over all of it
    let columns = served.json(&format!("/v3/option/history/greeks/all?{days}&interval=1h&format=json"));
    let stamps = columns["timestamp"].as_array().unwrap();
    assert_eq!((stamps.len(), columns["ultima"].as_array().unwrap().len()), (6, 6));
    assert_eq!(stamps[1], "2026-11-18T10:30:00.000", "the steps begin at half past nine");
    assert_eq!(columns["underlying_timestamp"][1], "2026-11-18T10:30:00.000");
    // the close of each day, and a narrower day
    let eod = served.json(&format!("/v3/option/history/greeks/eod?{days}&format=json"));
    assert_eq!((eod["delta"].as_array().unwrap().len(), &eod["close"][0]), (3, &serde_json::json!(0.0)));
    let narrow =
        served.json(&format!("/v3/option/history/greeks/all?{days}&interval=tick&end_time=10:00:00&format=json"));
    assert_eq!(narrow["delta"].as_array().unwrap().len(), 6);
    let one = served
        .json("/v3/option/history/greeks/implied_volatility?symbol=ACME&expiration=*&date=2026-11-18&format=json");
    assert_eq!(one["bid_implied_vol"].as_array().unwrap().len(), 4 * 12);
    for (target, status, wanted) in [
        (
            format!("greeks/all?{}", days.replace("202611", "202612")),
            472,
            "No data found for your request: no snapshot of ACME",
        ),
        (format!("greeks/all?{}", days.replace("strike=100", "strike=101")), 472, "No data found for your request"),
        ("greeks/all?symbol=ACME&expiration=*".to_owned(), 400, "date, or start_date and end_date is required"),
        (format!("greeks/all?{days}&interval=2m"), 400, "interval: not one of tick, 10ms"),
        (format!("greeks/fourth_order?{days}"), 404, "not found"),
        (format!("quote?{days}"), 400, "quotes are not served: start the daemon with --show-quotes"),
        (format!("trade?{days}"), 404, "not found"),
    ] {
        let got = served.get(&format!("/v3/option/history/{target}"));
        assert!(got.0 == status && got.1.starts_with(wanted), "{target}: {got:?}");
    }
    let got = served.get(&format!("/v3/option/at_time/quote?{days}"));
    assert_eq!((got.0, got.1.as_str()), (400, "time_of_day is required\n"));
}

#[test]
fn thetadata_version_2_has_past_days() {
    let served = serve();
    let days = "root=ACME&exp=20261218&strike=100000&right=C&start_date=20261118&end_date=20261119";
    let answer = served.json(&format!("/v2/hist/option/greeks?{days}&ivl=1800000"));
    let format = answer["header"]["format"].clone();
    assert_eq!(
        format,
        serde_json::json!([
            "ms_of_day",
            "bid",
            "ask",
            "delta",
            "theta",
            "vega",
            "rho",
            "epsilon",
            "lambda",
            "implied_vol",
            "iv_error",
            "ms_of_day2",
            "underlying_price",
            "date"
        ])
    );
    let rows = answer["response"].as_array().unwrap();
    assert_eq!(rows.len(), 2 * TIMES.len());
    let ours = &native(&served, "2026-11-19T09:30")[2];
    let row = &rows[4];
    assert_eq!((&row[0], &row[11], &row[13]), (&34_200_000.into(), &34_200_000.into(), &20_261_119.into()));
    near(&row[3], &ours["delta"], 1.0);
    near(&row[12], &ours["und_price"], 1.0);
    assert!(rows.iter().all(|row| row.as_array().unwrap().len() == format.as_array().unwrap().len()));
    let mut client = served.client();
    let table = client.get(&format!("/v2/hist/option/all_greeks?{days}&ivl=3600000&use_csv=true"));
    assert_eq!((table.status, table.header("next-page")), (200, Some("null")));
    assert!(table.text().starts_with("ms_of_day,bid,ask,delta,") && table.text().lines().count() == 1 + 2 * 2);
    let none = served.get(&format!("/v2/hist/option/greeks?{}", days.replace("2026111", "2026122")));
    assert!(none.0 == 472 && none.1.starts_with("No data for the specified timeframe & contract."), "{none:?}");
    assert_eq!(served.get(&format!("/v2/hist/option/quote?{days}")).0, 400);
    assert_eq!(served.get("/v2/hist/option/greeks?root=ACME").0, 400);
}

#[test]
fn thetadata_lists_what_was_recorded() {
    let served = serve();
    let list = |target: &str| served.get(&format!("/v3/option/list/{target}"));
    let found = |text: &str| (200, text.replace('\n', "\r\n"));
    assert_eq!(list("symbols"), found("symbol\nACME\nBRKB\n"));
    let expirations = "symbol,expiration\nACME,2026-12-18\nACME,2027-01-15\n";
    assert_eq!(list("expirations?symbol=acme"), found(expirations), "of every day");
    assert_eq!(
        list("expirations?symbol=ACME,BRK.B&format=json"),
        found(r#"{"symbol":["ACME","ACME","BRK.B"],"expiration":["2026-12-18","2027-01-15","2027-01-15"]}"#)
    );
    assert_eq!(list("expirations?symbol=BRKB"), found("symbol,expiration\nBRKB,2027-01-15\n"), "a root by itself");
    assert_eq!(list("expirations?symbol=*").1.lines().count(), 4);
    let strikes = "symbol,strike\nACME,95.0000\nACME,100.0000\nACME,102.5000\n";
    for expiration in ["2026-12-18", "20261218"] {
        assert_eq!(list(&format!("strikes?symbol=ACME&expiration={expiration}")), found(strikes));
    }
    let strikes = r#"{"symbol":["ACME","ACME","ACME"],"strike":[95.0,100.0,102.5]}"#;
    assert_eq!(list("strikes?symbol=ACME&expiration=20261218&format=json"), found(strikes));
    let dates = |query: &str| list(&format!("dates/quote?symbol=ACME&{query}"));
    assert_eq!(dates("expiration=20261218"), found("date\n2026-11-18\n2026-11-19\n"));
    assert_eq!(dates("expiration=20270115"), found("date\n2026-11-19\n"));
    assert_eq!(dates("expiration=20261218&strike=100.000&right=put"), found("date\n2026-11-19\n"));
    assert_eq!(dates("expiration=20261218&strike=102.5&right=call").0, 472);
    let contracts = "symbol,expiration,strike,right\nACME,2026-12-18,100.0000,CALL\nACME,2026-12-18,100.0000,PUT\n\
                     ACME,2026-12-18,102.5000,PUT\nACME,2027-01-15,100.0000,PUT\n";
    assert_eq!(list("contracts/quote?symbol=ACME&date=2026-11-19"), found(contracts), "of that day alone");
    assert_eq!(list("contracts/quote?date=20261119"), found(contracts), "of every name, by root");
    assert_eq!(list("contracts/quote?date=20261119&max_dte=40").1.lines().count(), 4);
    assert_eq!(
        list("contracts/quote?symbol=BRK.B&date=20261120&format=ndjson"),
        (200, "{\"symbol\":\"BRK.B\",\"expiration\":\"2027-01-15\",\"strike\":480.0,\"right\":\"CALL\"}\n".to_owned())
    );
    for (target, status, text) in [
        ("expirations?symbol=ZZZZ", 472, "No data found for your request\n"),
        ("contracts/quote?symbol=ACME&date=20261121", 472, "No data found for your request\n"),
        ("expirations", 400, "symbol is required\n"),
        ("strikes?symbol=ACME", 400, "expiration is required\n"),
        ("contracts/quote?symbol=ACME", 400, "date is required\n"),
        ("dates/trade?symbol=ACME&expiration=20261218", 404, "not found\n"),
    ] {
        assert_eq!(list(target), (status, text.to_owned()), "{target}");
    }
    assert_eq!(served.days.computed.load(Ordering::SeqCst), 0, "nothing is computed for a list");
}

#[test]
fn thetadata_version_2_lists_what_was_recorded() {
    let served = serve();
    let head =
        "{\"header\":{\"latency_ms\":0,\"error_type\":\"null\",\"error_msg\":\"null\",\"next_page\":null,\"format\":[";
    for (target, format, response) in [
        ("roots/option", r#""root""#, r#"["ACME","BRKB"]"#),
        ("expirations?root=ACME", r#""date""#, "[20261218,20270115]"),
        ("strikes?root=acme&exp=20261218", r#""strike""#, "[95000,100000,102500]"),
        ("dates/option/quote?root=ACME&exp=20261218", r#""date""#, "[20261118,20261119]"),
        ("dates/option/quote?root=ACME&exp=20261218&strike=100000&right=P", r#""date""#, "[20261119]"),
        (
            "contracts/option/quote?root=ACME&start_date=20261118",
            r#""root","expiration","strike","right""#,
            r#"[["ACME",20261218,95000,"P"],["ACME",20261218,100000,"C"]]"#,
        ),
    ] {
        let wanted = format!("{head}{format}]}},\"response\":{response}}}");
        assert_eq!(served.get(&format!("/v2/list/{target}")), (200, wanted), "{target}");
    }
    let csv = served.client().get("/v2/list/expirations?root=ACME&use_csv=true");
    assert_eq!(csv.header("next-page"), Some("null"));
    assert_eq!(csv.text(), "date\r\n20261218\r\n20270115\r\n");
    for (target, status) in [
        ("expirations?root=ZZZZ", 472),
        ("expirations", 400),
        ("strikes?root=ACME", 400),
        ("strikes?root=ACME&exp=2026-12-18", 400),
        ("roots/stock", 404),
    ] {
        assert_eq!(served.get(&format!("/v2/list/{target}")).0, status, "{target}");
    }
}

#[test]
fn thetadata_lists_the_market_of_now_where_nothing_is_recorded() {
    let snapshot = Snapshot::new(1, vec![chain_at("ACME", FRIDAY, (16, 0))], vec![]);
    let server = service(snapshot);
    let body = |target: &str| get_from(&server, target).body;
    let json = r#"{"symbol":["ACME","ACME"],"expiration":["2026-12-18","2027-01-15"]}"#;
    assert_eq!(body("/v3/option/list/expirations?symbol=ACME&format=json"), json);
    assert!(body("/v2/list/strikes?root=ACME&exp=20261218").ends_with(r#""response":[95000,100000,102500]}"#));
}
