//! Answers requests: finds the layer or page of a path, and loads one snapshot per request. Never: a vendor's shape, a
//! computation.

use crate::front::viewer::{self, Offered};
use crate::front::{self, ServiceState};
use crate::past::archive::Archive;
use crate::past::{
    self,
    market::{PastMarket, PastRequest},
};
use crate::status::{Status, ledger};
use api::edition;
use api::openapi;
use api::past::{PastQuestion, SHOWS_THE_PRESENT};
use api::query::Query;
use api::refusal::Refusal;
use api::vendors::layer::{Layer, LayerRequest, RequestContext};
use api::vendors::native;
use api::vendors::native_explain::ExplainQuestion;
use api::vendors::native_snapshots;
use api::vendors::routes::{NAMES, layer_at};
use arc_swap::ArcSwap;
use desk::alerts::log::AlertLog;
use desk::positions::answer as positions;
use desk::positions::desk::PositionDesk;
use desk::scenario::answer::{self as scenarios, ScenarioDesk, ScenarioSurroundings};
use desk::stream::desk::{self as streams, StreamDesk};
use desk::stream::events::EventSources;
use engine::snapshot::Snapshot;
use engine::store::chain::Chain;
use http::percent::decode_strict;
use http::{Answer, Answered, App, Metrics, ReceivedBody, Request};
use kernel::calendar::Calendar;
use kernel::contract::{RootTable, Symbol};
use sources::requested::RequestedNames;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};
use tools::explain::answer::{self as explaining, Explaining};
use tools::explain::document::{MarketPart, Surroundings};

/// Names of the routes that are no layers.
const PAGES: [&str; 10] = [
    "front",
    "openapi",
    "health",
    "metrics",
    explaining::ROUTE,
    past::snapshots::ROUTE,
    scenarios::ROUTE,
    positions::ROUTE,
    streams::ROUTE,
    "unknown",
];

/// The service behind the server.
pub struct Service {
    market: Arc<ArcSwap<Snapshot>>,
    status: Arc<Status>,
    metrics: Arc<Metrics>,
    roots: Arc<RootTable>,
    calendar: Calendar,
    old_snapshot_bytes: u64,
    requested: Arc<RequestedNames>,
    shows_quotes: bool,
    /// Recorded days, if the feed has them.
    past: Option<Arc<PastMarket>>,
    /// The body of `/openapi.json`, made at the first request.
    openapi: OnceLock<Vec<u8>>,
    explaining: Explaining,
    scenarios: ScenarioDesk,
    positions: Arc<PositionDesk>,
    streams: StreamDesk,
    alerts: Arc<AlertLog>,
    /// Random number of this run of the daemon.
    run: u64,
}

/// Names of all routes, by which [`Metrics::new`] counts requests.
#[must_use]
pub fn route_names() -> Vec<&'static str> {
    NAMES.into_iter().chain(PAGES).collect()
}

impl App for Service {
    fn answer(self: &Arc<Self>, request: &Request<'_>) -> Answered {
        if let Some(heavy) = self.heavy_page(request) {
            return heavy;
        }
        let Some((layer, parsed)) = parse(request.raw_path(), request.query()) else {
            return Answered::Now(self.page(request.raw_path(), request.query()));
        };
        if !parsed.asks_for_the_past() && !parsed.is_heavy(&self.market.load()) {
            return Answered::Now(self.answer_parsed(layer, parsed, request.host()));
        }
        let (service, host) = (Arc::clone(self), request.host().map(str::to_owned));
        Answered::Heavy(Box::new(move || service.answer_parsed(layer, parsed, host.as_deref())))
    }

    fn refuses(&self, request: &Request<'_>) -> Option<Answer> {
        let path = request.path();
        let is_taken = path.strip_suffix('/').unwrap_or(&path) == openapi::POSITIONS;
        let refused = || Answer::full("unknown", 405, "application/json", r#"{"error":"method not allowed"}"#);
        (!is_taken).then(|| refused().with_header("Allow", "GET, HEAD"))
    }

    fn take(self: &Arc<Self>, _: &Request<'_>, body: ReceivedBody) -> Answered {
        Answered::Now(positions::put(&self.positions, body))
    }

    fn edition(&self) -> Option<u64> {
        Some(edition::of_snapshot(self.market.load().number, self.status.clock.now()))
    }
}

impl Service {
    /// A service that answers from the snapshots published in `market`.
    #[must_use]
    pub fn new(market: Arc<ArcSwap<Snapshot>>, status: Arc<Status>, metrics: Arc<Metrics>) -> Self {
        let (roots, calendar) = (Arc::new(RootTable::embedded()), Calendar::embedded());
        let positions = Arc::new(PositionDesk::new(Arc::clone(&roots), calendar.clone(), false, false));
        let (requested, old_snapshot_bytes) = (Arc::default(), u64::MAX);
        Self {
            market,
            status,
            metrics,
            roots,
            calendar,
            old_snapshot_bytes,
            requested,
            shows_quotes: false,
            past: None,
            openapi: OnceLock::new(),
            explaining: Explaining::default(),
            scenarios: ScenarioDesk::default(),
            positions,
            streams: StreamDesk::default(),
            alerts: Arc::default(),
            run: RandomState::new().build_hasher().finish(),
        }
    }

    /// Refuses requests for several names while readers hold more than `most` bytes of old snapshots.
    #[must_use]
    pub fn with_old_snapshot_bytes(self, most: u64) -> Self {
        Self { old_snapshot_bytes: most, ..self }
    }

    /// Adds the log of recently requested names.
    #[must_use]
    pub fn with_requested_names(self, requested: Arc<RequestedNames>) -> Self {
        Self { requested, ..self }
    }

    /// `shows_quotes`: the chains have the quotes of the feed, and layers show them.
    #[must_use]
    pub fn showing_quotes(self, shows_quotes: bool) -> Self {
        Self { shows_quotes, ..self }
    }

    /// Adds positions, and the hits of alert rules.
    #[must_use]
    pub fn with_positions(self, positions: Arc<PositionDesk>, alerts: Arc<AlertLog>) -> Self {
        Self { positions, alerts, ..self }
    }

    /// A stream of events; `last` is the id of the last event that the client has.
    #[must_use]
    pub fn stream(&self, query: &str, last: Option<&str>) -> Answer {
        let sources = EventSources {
            market: Arc::clone(&self.market),
            positions: Arc::clone(&self.positions),
            alerts: Arc::clone(&self.alerts),
            zone: self.status.zone.clone(),
            run: self.run,
        };
        self.streams.answer(query, last, sources)
    }

    /// Answers scenarios, positions and streams on another thread: their rows take long, and small requests must not
    /// wait for them.
    fn heavy_page(self: &Arc<Self>, request: &Request<'_>) -> Option<Answered> {
        let path = request.path();
        let path = path.strip_suffix('/').unwrap_or(&path);
        if ![openapi::SCENARIO, openapi::POSITIONS, openapi::STREAM].contains(&path) {
            return None;
        }
        let (service, raw_path) = (Arc::clone(self), request.raw_path().to_owned());
        let query = request.query().to_owned();
        if path == openapi::STREAM {
            let last = request.header("last-event-id").map(str::to_owned);
            return Some(Answered::Heavy(Box::new(move || service.stream(&query, last.as_deref()))));
        }
        Some(Answered::Heavy(Box::new(move || service.page(&raw_path, &query))))
    }

    /// Values of contracts and positions in scenarios.
    fn scenario(&self, snapshot: Arc<Snapshot>, query: &str) -> Answer {
        let around = ScenarioSurroundings {
            book: self.positions.lines(),
            roots: Arc::clone(&self.roots),
            calendar: self.calendar.clone(),
            zone: self.status.zone.clone(),
            note: self.note(&snapshot),
            snapshot,
        };
        self.scenarios.answer(query, around)
    }

    /// Adds the recorded days of an archive. Call [`Service::showing_quotes`] first, since past days show quotes
    /// likewise.
    #[must_use]
    pub fn with_archive(self, archive: Arc<dyn Archive>) -> Self {
        let past = PastMarket {
            archive,
            roots: Arc::clone(&self.roots),
            calendar: self.calendar.clone(),
            zone: self.status.zone.clone(),
            feed: self.status.feed.clone(),
            shows_quotes: self.shows_quotes,
            columns_bytes: Arc::default(),
        };
        Self { past: Some(Arc::new(past)), ..self }
    }

    /// The answer to a raw path and query, for a client that names no host.
    #[must_use]
    pub fn answer_to(&self, raw_path: &str, query: &str) -> Answer {
        self.answer_for(raw_path, query, None)
    }

    /// The answer to a raw path and query.
    #[must_use]
    pub fn answer_for(&self, raw_path: &str, query: &str, host: Option<&str>) -> Answer {
        match parse(raw_path, query) {
            Some((layer, parsed)) => self.answer_parsed(layer, parsed, host),
            None => self.page(raw_path, query),
        }
    }

    /// The answer of a layer to a parsed request. It loads the snapshot once, and the answer keeps the chains that it
    /// shows.
    fn answer_parsed(&self, layer: &'static Layer, mut parsed: LayerRequest, host: Option<&str>) -> Answer {
        let snapshot = self.market.load_full();
        let note = || self.note(&snapshot);
        let context = self.context(&snapshot, host, &note);
        let clock = context.clock();
        parsed.settle(&clock);
        if let (Some(catalog), Some(past)) = (parsed.catalog(), &self.past) {
            return past::list(past, layer, catalog.clone(), clock);
        }
        match (parsed.past().cloned(), &self.past) {
            (Some(question), Some(past)) => {
                let request = PastRequest {
                    layer,
                    host: host.map(str::to_owned),
                    names: self.underlyings(&parsed),
                    everything: parsed.asks_for_everything(),
                    prefixes: parsed.prefixes().map(<[Symbol]>::to_vec),
                    question,
                    parsed,
                };
                return past::answer(past, request, clock);
            }
            (Some(PastQuestion { if_live: Some(refusal), .. }), None) => return layer.refused(&refusal, &clock),
            // the request is for the present, or the feed has only the present
            (_, _) => {}
        }
        parsed.names().for_each(|name| self.requested.note(self.roots.underlying_of(name)));
        layer.answer(parsed, &context, clock)
    }

    /// The data that a layer answers from.
    fn context<'a>(
        &'a self,
        snapshot: &'a Snapshot,
        host: Option<&'a str>,
        note: &'a dyn Fn() -> Vec<String>,
    ) -> RequestContext<'a> {
        RequestContext {
            snapshot,
            now: self.status.clock.now(),
            asked: None,
            zone: &self.status.zone,
            calendar: &self.calendar,
            roots: &self.roots,
            host,
            is_crowded: self.status.old_snapshot_bytes() > self.old_snapshot_bytes,
            market_open: self.status.facts().market_open,
            feed: &self.status.feed,
            shows_quotes: self.shows_quotes,
            edition: Some(edition::of_snapshot(snapshot.number, self.status.clock.now())),
            note,
        }
    }

    /// The underlyings that a request names, each once.
    fn underlyings(&self, parsed: &LayerRequest) -> Vec<Symbol> {
        let mut names: Vec<Symbol> = Vec::new();
        for name in parsed.names().map(|name| self.roots.underlying_of(name)) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }

    fn offered(&self) -> Offered {
        let metrics = parse("/l1/metrics", "").is_some();
        Offered { quotes: self.shows_quotes, positions: self.positions.is_used(), metrics }
    }

    /// The answer at a path that is no layer's.
    fn page(&self, raw_path: &str, query: &str) -> Answer {
        let snapshot = self.market.load_full();
        let Some(path) = decode_strict(raw_path) else { return unknown() };
        let path = path.strip_suffix('/').unwrap_or(&path);
        if let Some(answer) = viewer::answer_at(path, "front", || self.offered()) {
            return answer;
        }
        match path {
            "/examples" => Answer::full("front", 200, "text/html; charset=utf-8", self.examples(&snapshot)),
            "/openapi.json" => Answer::full("openapi", 200, "application/json", self.openapi(&snapshot)),
            "/health" => {
                let answer =
                    |status| Answer::full("health", status, "application/json", self.status.health_json(&snapshot));
                let asks_if_ready = query.split('&').any(|pair| pair.split('=').next() == Some("ready"));
                if asks_if_ready && !self.status.is_ready(&snapshot) {
                    answer(503).with_header("Retry-After", "1")
                } else {
                    answer(200)
                }
            }
            "/metrics" => {
                Answer::full("metrics", 200, "text/plain; version=0.0.4; charset=utf-8", self.metrics(&snapshot))
            }
            openapi::EXPLAIN => self.explain(&snapshot, query),
            openapi::SNAPSHOTS => self.snapshots(query),
            openapi::SCENARIO => self.scenario(snapshot, query),
            openapi::STREAM => self.stream(query, None),
            openapi::POSITIONS => positions::answer(&self.positions, query, &self.note(&snapshot)),
            _ => unknown(),
        }
    }

    /// The body of `/openapi.json`, made once: only its example of `/health` could change.
    fn openapi(&self, snapshot: &Snapshot) -> Vec<u8> {
        let write = || openapi::document(&self.context(snapshot, None, &Vec::new), &self.status.health_json(snapshot));
        self.openapi.get_or_init(write).clone()
    }

    /// The explanation of a contract.
    fn explain(&self, snapshot: &Snapshot, query: &str) -> Answer {
        let question = explaining::question_of(query);
        if let (Ok(ExplainQuestion { contract, form, past: Some(question) }), Some(past)) = (&question, &self.past) {
            let (explaining, contract, form) = (self.explaining.clone(), *contract, *form);
            let (feed, zone) = (self.status.feed.clone(), self.status.zone.clone());
            let names = vec![self.roots.underlying_of(contract.root)];
            let explain = move |chain: Result<Arc<Chain>, Refusal>| {
                let market = MarketPart { feed, ..MarketPart::default() };
                let around = Surroundings { market, zone: Some(zone) };
                let answer = chain.and_then(|chain| explaining.of_chain(chain, contract, form, around));
                answer.unwrap_or_else(|refusal| explaining::refused(&refusal))
            };
            return past::chain(past, names, question.clone(), explaining::ROUTE, Box::new(explain));
        }
        if let Ok(question) = &question {
            self.requested.note(self.roots.underlying_of(question.contract.root));
        }
        let market = MarketPart {
            feed: self.status.feed.clone(),
            simulated: self.status.simulated,
            market_open: self.status.facts().market_open,
            ..MarketPart::default()
        };
        self.explaining.answer(snapshot, query, Surroundings { market, zone: Some(self.status.zone.clone()) })
    }

    /// The snapshots of a name around an instant.
    fn snapshots(&self, query: &str) -> Answer {
        match (native_snapshots::parse(&Query::parse(query)), &self.past) {
            (Ok(question), Some(past)) => past::snapshots(past, &question),
            (Ok(_), None) => past::snapshots::refused(&SHOWS_THE_PRESENT),
            (Err(refusal), _) => past::snapshots::refused(&refusal),
        }
    }

    fn metrics(&self, snapshot: &Snapshot) -> String {
        let mut text = String::new();
        self.status.write_prometheus(snapshot, &mut text);
        ledger::write_prometheus(&self.memory(snapshot), &mut text);
        self.metrics.write_prometheus(&mut text);
        text
    }

    /// Bytes of live objects, by purpose.
    fn memory(&self, snapshot: &Snapshot) -> [ledger::Entry; 13] {
        let facts = self.status.facts();
        let past = self.past.as_ref();
        [
            ("chains", snapshot.chains().iter().map(|chain| chain.bytes() as u64).sum()),
            ("old_chains", self.status.old_snapshot_bytes()),
            ("states", facts.state_bytes),
            ("books", facts.book_bytes),
            ("sessions", facts.session_bytes),
            ("waiting_records", facts.sources.iter().map(|source| source.waiting_bytes).sum()),
            ("bodies", self.metrics.cache_bytes()),
            ("connections", self.metrics.connection_bytes()),
            ("recorded_days", past.map_or(0, |past| past.archive.held_bytes())),
            ("scenarios", self.scenarios.bytes() as u64),
            ("streams", self.streams.bytes() as u64),
            ("positions", self.positions.bytes() as u64),
            ("columns", past.map_or(0, |past| past.columns_bytes.load(Ordering::Relaxed) as u64)),
        ]
    }

    /// Heading of pages: time of the snapshot, and whether the data are simulated.
    fn note(&self, snapshot: &Snapshot) -> Vec<String> {
        let source = if self.status.simulated { " · simulated data" } else { "" };
        vec![format!("{}{source}", self.status.time_line(snapshot))]
    }

    /// The page of examples.
    fn examples(&self, snapshot: &Snapshot) -> Vec<u8> {
        let state = ServiceState {
            feed: self.status.feed.clone(),
            word: self.status.word(snapshot),
            note: self.note(snapshot),
        };
        front::examples(snapshot, &state)
    }
}

/// The layer at a raw path, and its request.
fn parse(raw_path: &str, query: &str) -> Option<(&'static Layer, LayerRequest)> {
    let (layer, segments) = layer_at(raw_path)?;
    Some((layer, layer.parse(&Query::parse(query).with_segments(segments))))
}

fn unknown() -> Answer {
    native::refused("unknown", &Refusal::UnknownPath)
}
