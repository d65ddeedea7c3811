//! tastytrade, against a stand-in of its two servers: contracts and tokens by HTTP, quotes over a WebSocket.

use super::server::{Act, Server, say, status};
use super::vendors::{KEY, VendorState};
use super::{OPEN, start, wait_for_spot};
use host::clock::MarketClock;
use host::secret::Keys;
use jiff::{SignedDuration, Timestamp};
use kernel::contract::{ContractKey, Right, Symbol};
use kernel::error::Reason;
use kernel::records::Batch;
use kernel::report::Report;
use sources::facts::SourceState;
use sources::poll::client::{AnswerBounds, ServerBase};
use sources::poll::sign_in::{RefreshToken, SignIn, TokenForm, TokenTerms};
use sources::session::SessionSource;
use sources::tasty::TastyTerms;
use sources::tasty_spec::KEYS;
use sources::{Moment, QuoteSource};
use std::fmt::Write as _;
use std::io::Write as _;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tungstenite::{Message, WebSocket};

/// Token of the streamer.
const STREAM_KEY: &str = "Zr5wQ8bN2c";

/// Behaviour of the streamer.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Talk {
    Right,
    /// The time of the first contract is in the future.
    Ahead,
    Refuse,
    Close,
    Hush,
    Rubbish,
    Error(&'static str),
    /// A frame breaks off.
    Half,
    /// The channel is closed after the quotes.
    EndChannel,
}

struct Streaming {
    talk: Talk,
    market: VendorState,
    /// Another number ends the connections.
    generation: usize,
    received: Vec<String>,
}

/// A streamer, and the server of contracts and tokens beside it.
struct Broker {
    rest: Server,
    stream: Arc<Mutex<Streaming>>,
    stream_address: SocketAddr,
}

fn at(second: i64) -> Timestamp {
    let first: Timestamp = "2026-11-20T15:10:00-05:00".parse().unwrap();
    first + SignedDuration::from_secs(second)
}

fn streamed(contract: &ContractKey) -> String {
    let right = if contract.right == Right::Call { 'C' } else { 'P' };
    let (root, expiry) = (contract.root, contract.expiry.strftime("%y%m%d"));
    format!(".{root}{expiry}{right}{}", f64::from(contract.strike_milli) / 1000.0)
}

fn answer(target: &str, market: VendorState, stream: SocketAddr) -> Act {
    match target {
        "/oauth/token" => say(format!("{{\"access_token\":\"{KEY}\",\"token_type\":\"Bearer\",\"expires_in\":900}}")),
        "/api-quote-tokens" => say(format!(
            "{{\"data\":{{\"token\":\"{STREAM_KEY}\",\"dxlink-url\":\"ws://{stream}/realtime\",\"level\":\"api\"}},\
             \"context\":\"/api-quote-tokens\"}}"
        )),
        "/option-chains/ACME/nested" => {
            let strikes = market.quoted().quotes.into_iter().map(|quote| {
                let word = if quote.contract.right == Right::Call { "call" } else { "put" };
                let mut padded = [0; 21];
                quote.contract.write_padded(&mut padded);
                let (osi, streamed) = (std::str::from_utf8(&padded).unwrap().to_owned(), streamed(&quote.contract));
                format!("{{\"{word}\":\"{osi}\",\"{word}-streamer-symbol\":\"{streamed}\"}}")
            });
            let strikes = strikes.collect::<Vec<_>>().join(",");
            say(format!("{{\"data\":{{\"items\":[{{\"expirations\":[{{\"strikes\":[{strikes}]}}]}}]}}}}"))
        }
        _ => status(404),
    }
}

impl Broker {
    fn start() -> Self {
        let market = VendorState::whole(100.0, at(0));
        let stream = Streaming { talk: Talk::Right, market, generation: 0, received: Vec::new() };
        let stream = Arc::new(Mutex::new(stream));
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let stream_address = listener.local_addr().unwrap();
        let shared = Arc::clone(&stream);
        std::thread::spawn(move || {
            for connection in listener.incoming().flatten() {
                let shared = Arc::clone(&shared);
                std::thread::spawn(move || converse(connection, &shared));
            }
        });
        Self { rest: Server::start(move |target| answer(target, market, stream_address)), stream, stream_address }
    }

    fn right(&self) {
        let (market, stream) = (VendorState::whole(100.0, at(0)), self.stream_address);
        self.rest.always(move |target| answer(target, market, stream));
    }

    /// Another market and behaviour, from the next connection on.
    fn set(&self, talk: Talk, market: VendorState) {
        let mut stream = self.stream.lock().unwrap();
        (stream.talk, stream.market) = (talk, market);
        stream.generation += 1;
    }

    fn source(&self, silence: Duration, first: Duration) -> SessionSource {
        let token = TokenTerms {
            vendor: "tasty",
            path: "/oauth/token",
            form: TokenForm::Json,
            lasts: None,
            page: "docs/feeds/brokers.md",
        };
        let keys = Keys::read(None, &|_| Some(KEY.into())).unwrap();
        let key = keys.get(KEYS[0]).unwrap().clone();
        let terms = TastyTerms {
            names: vec![Symbol::parse("ACME").unwrap()],
            base: ServerBase::parse(&format!("http://{}", self.rest.address)).unwrap(),
            sign_in: SignIn::new(token, None, key.clone(), RefreshToken::Fixed(key)),
            authorities: None,
            bounds: AnswerBounds { first, ..AnswerBounds::default() },
            silence,
            clock: MarketClock::Fixed(OPEN.parse().unwrap()),
        };
        sources::tasty::start("tasty:ACME".to_owned(), terms).unwrap()
    }
}

/// Speaks with a client until it goes, or the behaviour is another.
fn converse(connection: TcpStream, shared: &Mutex<Streaming>) {
    let generation = shared.lock().unwrap().generation;
    let Ok(mut socket) = tungstenite::accept(connection) else { return };
    socket.get_ref().set_read_timeout(Some(Duration::from_millis(20))).unwrap();
    loop {
        let is_over = shared.lock().unwrap().generation != generation;
        match socket.read() {
            _ if is_over => return,
            Ok(Message::Text(text)) => {
                let mut shared = shared.lock().unwrap();
                shared.received.push(text.as_str().to_owned());
                let (talk, market) = (shared.talk, shared.market);
                drop(shared);
                if !reply(&mut socket, text.as_str(), talk, market) {
                    return;
                }
            }
            Err(tungstenite::Error::Io(error))
                if matches!(error.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut) => {}
            _ => return,
        }
    }
}

/// Answers a message; false: the connection is closed.
fn reply(socket: &mut WebSocket<TcpStream>, text: &str, talk: Talk, market: VendorState) -> bool {
    let kind = text.split('"').nth(3).unwrap_or_default();
    let mut say = |text: &str| socket.send(Message::text(text)).is_ok();
    match (kind, talk) {
        (_, Talk::Hush) => true,
        ("SETUP", Talk::Close) => false,
        ("SETUP", Talk::Rubbish) => say("<html>sign in</html>"),
        ("SETUP", Talk::Error(error)) => {
            say(&format!("{{\"type\":\"ERROR\",\"channel\":0,\"error\":\"{error}\",\"message\":\"{STREAM_KEY}\"}}"))
        }
        ("SETUP", _) => {
            say(
                "{\"type\":\"SETUP\",\"channel\":0,\"keepaliveTimeout\":60,\"acceptKeepaliveTimeout\":60,\"version\":\"1\"}",
            ) && say("{\"type\":\"AUTH_STATE\",\"channel\":0,\"state\":\"UNAUTHORIZED\"}")
        }
        ("AUTH", _) => {
            let is_right = talk != Talk::Refuse && text.contains(STREAM_KEY);
            let state = if is_right { "AUTHORIZED" } else { "UNAUTHORIZED" };
            say(&format!("{{\"type\":\"AUTH_STATE\",\"channel\":0,\"state\":\"{state}\",\"userId\":\"1\"}}"))
        }
        ("CHANNEL_REQUEST", _) => {
            say("{\"type\":\"CHANNEL_OPENED\",\"channel\":1,\"service\":\"FEED\",\"parameters\":{}}")
        }
        ("FEED_SETUP", _) => say(
            "{\"type\":\"FEED_CONFIG\",\"channel\":1,\"aggregationPeriod\":1,\"dataFormat\":\"COMPACT\",\"eventFields\":{\
             \"Quote\":[\"eventType\",\"eventSymbol\",\"bidTime\",\"askTime\",\"bidPrice\",\"askPrice\",\"bidSize\",\"askSize\"]}}",
        ),
        ("FEED_SUBSCRIPTION", Talk::Half) => {
            let _ = socket.get_mut().write_all(&[0x81, 0x7e, 0x0f, 0xff, b'{']);
            false
        }
        ("FEED_SUBSCRIPTION", _) => {
            let sent = say(&quotes(market, talk == Talk::Ahead));
            sent && (talk != Talk::EndChannel || say("{\"type\":\"CHANNEL_CLOSED\",\"channel\":1}"))
        }
        ("KEEPALIVE", _) => say("{\"type\":\"KEEPALIVE\",\"channel\":0}"),
        _ => panic!("{text}"),
    }
}

/// The events of a market.
fn quotes(market: VendorState, is_ahead: bool) -> String {
    let mut cells = String::new();
    for (i, quote) in market.quoted().quotes.iter().enumerate() {
        let ahead = MarketClock::Fixed(OPEN.parse().unwrap()).latest() + SignedDuration::from_hours(24 * 300);
        let ts = if is_ahead && i == 0 { ahead } else { quote.ts };
        let (symbol, millis) = (streamed(&quote.contract), ts.as_millisecond());
        let _ = write!(cells, "\"Quote\",\"{symbol}\",{millis},0,{:?},{:?},10.0,\"NaN\",", quote.bid, quote.ask);
    }
    let (millis, spot) = (market.ts.as_millisecond(), market.spot);
    format!(
        "{{\"type\":\"FEED_DATA\",\"channel\":1,\"data\":[\"Quote\",[{cells}\"Quote\",\"ACME\",{millis},{millis},{:.2},{:.2},1,2],\
         \"Summary\",[\"{}\",1304]]}}",
        spot - 0.01,
        spot + 0.01,
        streamed(&market.quoted().quotes[0].contract)
    )
}

/// Deliveries of a source so far.
#[derive(Default)]
struct Taken {
    batch: Batch,
    report: Report,
}

impl Taken {
    fn take(&mut self, source: &mut SessionSource) {
        let (now, log): (Timestamp, &dyn Fn(&str)) = (OPEN.parse().unwrap(), &|_| {});
        let moment = Moment { now, latest: now, elapsed: Duration::ZERO, log };
        if let Some(delivery) = source.take(&moment) {
            self.batch.quotes.extend(delivery.batch.quotes);
            self.batch.spots.extend(delivery.batch.spots);
            self.report.absorb(delivery.report);
        }
    }

    fn until(&mut self, what: &str, source: &mut SessionSource, is_there: impl Fn(&Self, &SessionSource) -> bool) {
        let began = Instant::now();
        while !is_there(self, source) {
            assert!(began.elapsed() < Duration::from_secs(120), "{what}: {:?}", source.facts());
            std::thread::sleep(Duration::from_millis(10));
            self.take(source);
        }
    }

    fn has(&self, spot: f64) -> bool {
        self.batch.spots.iter().any(|record| (record.price - spot).abs() < 1e-9)
    }
}

fn count(source: &SessionSource, kind: &str) -> u64 {
    source.facts().failures.iter().find(|(name, _)| *name == kind).map_or(0, |(_, count)| *count)
}

const PATIENT: Duration = Duration::from_secs(60);

#[test]
fn a_broker_that_streams_is_lived_with_through_every_fault() {
    let broker = Broker::start();
    let mut source = broker.source(Duration::from_secs(2), Duration::from_millis(500));
    let mut taken = Taken::default();
    taken.until("the first quotes", &mut source, |taken, _| taken.has(100.0));
    let by_rest: [(&str, &str, Act); 9] = [
        ("server", "/option-chains/ACME/nested", status(500)),
        ("limited", "/api-quote-tokens", status(429)),
        ("cut", "/option-chains/ACME/nested", Act::Cut("{\"data\":".to_owned())),
        ("cut", "/api-quote-tokens", Act::Refuse),
        ("timeout", "/api-quote-tokens", Act::Hang),
        ("malformed", "/option-chains/ACME/nested", say("<html>")),
        ("malformed", "/api-quote-tokens", say("{\"data\":{}}")),
        ("not_found", "/option-chains/ACME/nested", status(404)),
        ("redirect", "/api-quote-tokens", Act::Say(302, "Location: http://127.0.0.2:1/\r\n".into(), String::new())),
    ];
    let by_stream = [
        ("cut", Talk::Close),
        ("cut", Talk::Half),
        ("cut", Talk::EndChannel),
        ("malformed", Talk::Rubbish),
        ("server", Talk::Error("TIMEOUT")),
        ("not_found", Talk::Error("BAD_ACTION")),
        ("timeout", Talk::Hush),
    ];
    // the session before the fault ends, which is a cut, too
    let ends = |kind: &str| u64::from(kind == "cut");
    let mut second = 0;
    let mut next = || {
        second += 1;
        VendorState::whole(100.0 + second as f64, at(second))
    };
    for (kind, target, act) in by_rest {
        let (before, market, stream) = (count(&source, kind), next(), broker.stream_address);
        broker.rest.always(move |asked| if asked == target { act.clone() } else { answer(asked, market, stream) });
        broker.set(Talk::Right, market);
        taken.until(kind, &mut source, |_, source| count(source, kind) > before + ends(kind));
        broker.right();
        taken.until(kind, &mut source, |taken, _| taken.has(market.spot));
    }
    for (kind, talk) in by_stream {
        let (before, market) = (count(&source, kind), next());
        broker.set(talk, market);
        taken.until(kind, &mut source, |_, source| count(source, kind) > before + ends(kind));
        let market = next();
        broker.set(Talk::Right, market);
        taken.until(kind, &mut source, |taken, _| taken.has(market.spot));
    }
    assert_eq!(taken.report.refused_total(), 0, "{:?}", taken.report.places);
    // a wrong clock costs the quotes that have its time
    let market = next();
    let before = taken.batch.quotes.len();
    broker.set(Talk::Ahead, market);
    taken.until("clock", &mut source, |taken, _| taken.has(market.spot));
    assert_eq!((taken.batch.quotes.len() - before) % 40, 39, "one of forty is ahead");
    assert_eq!(taken.report.refused[Reason::FromTheFuture as usize], 1);
    let quote = taken.batch.quotes.iter().find(|quote| (quote.activity.open_interest - 1304.0).abs() < 1e-9).unwrap();
    assert_eq!((quote.underlying.as_str(), quote.ask_size.is_nan()), ("ACME", true));
    let facts = source.facts();
    assert_eq!((facts.state, facts.connections), (SourceState::Ok, 1));
    assert!(broker.stream.lock().unwrap().received.iter().any(|text| text.contains("\"FEED_SUBSCRIPTION\"")));
}

#[test]
fn a_token_that_ends_is_renewed_and_a_quiet_stream_is_kept_alive() {
    let broker = Broker::start();
    let market = VendorState::whole(100.0, at(0));
    let stream = broker.stream_address;
    // the first token of requests is taken no more
    broker.rest.once([answer("/oauth/token", market, stream), status(401)]);
    let mut source = broker.source(Duration::from_secs(1), PATIENT);
    let mut taken = Taken::default();
    taken.until("quotes", &mut source, |taken, _| taken.has(100.0));
    let asked: Vec<String> = broker.rest.asked().into_iter().map(|(_, target, _)| target).collect();
    let chain = "/option-chains/ACME/nested";
    assert_eq!(asked, ["/oauth/token", chain, "/oauth/token", chain, "/api-quote-tokens"]);
    // longer than the silence after which either side goes
    let is_kept = || broker.stream.lock().unwrap().received.iter().filter(|text| text.contains("KEEPALIVE")).count();
    taken.until("keepalives", &mut source, |_, _| is_kept() >= 4);
    assert_eq!((source.facts().failures, source.facts().connections), (vec![], 1));
}

#[test]
fn a_refused_sign_in_and_a_refused_stream_are_told_apart_and_not_tried_again_at_once() {
    let broker = Broker::start();
    broker.rest.always(|_| status(400));
    let mut source = broker.source(PATIENT, PATIENT);
    let mut taken = Taken::default();
    taken.until("sign in", &mut source, |_, source| count(source, "sign_in") > 0);
    assert_eq!(source.facts().state, SourceState::Refused);
    let broker = Broker::start();
    broker.set(Talk::Refuse, VendorState::whole(100.0, at(0)));
    let mut source = broker.source(PATIENT, PATIENT);
    taken.until("stream", &mut source, |_, source| count(source, "refused") > 0);
    std::thread::sleep(Duration::from_millis(1500));
    assert_eq!((count(&source, "refused"), source.facts().state), (1, SourceState::Refused));
}

#[test]
fn a_daemon_serves_a_stream_and_shows_no_key() {
    let broker = Broker::start();
    let feed = format!("tasty:ACME@http://{}", broker.rest.address);
    let mut daemon = start(&feed, &["--log-level", "debug"], &KEYS.map(|name| (name, KEY)));
    wait_for_spot(&daemon, 100.0);
    let health = daemon.wait("ok", |health| health["feeds"][0]["state"] == "ok" && health["pending"] == 0);
    assert_eq!((&health["feeds"][0]["connections"], daemon.rows("/l1/greeks?underlying=ACME").len()), (&1.into(), 40));
    broker.set(Talk::Right, VendorState::whole(101.0, at(60)));
    wait_for_spot(&daemon, 101.0);
    let pages = ["/", "/health", "/metrics", "/l1/greeks?underlying=ACME"].map(|page| daemon.get(page).1).concat();
    let said = daemon.stop().1;
    assert!(said.contains("delivers"), "{said}");
    for shown in [pages, said] {
        assert!(!shown.contains(KEY) && !shown.contains(STREAM_KEY), "{shown}");
    }
    let asked = broker.rest.asked();
    assert!(asked.iter().all(|(_, target, head)| !target.contains(KEY) && head.contains("greeksd/")), "{asked:?}");
}
