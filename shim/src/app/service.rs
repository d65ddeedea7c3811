//! The service behind the server: what its endpoints answer from. Never: a path, a request.

use crate::front::viewer::Offered;
use crate::past::archive::Archive;
use crate::past::market::PastMarket;
use crate::status::{Status, ledger};
use api::edition;
use api::metrics::NameRows;
use api::vendors::layer::RequestContext;
use arc_swap::ArcSwap;
use desk::alerts::log::AlertLog;
use desk::positions::desk::PositionDesk;
use desk::scenario::answer::ScenarioDesk;
use desk::stream::desk::StreamDesk;
use engine::closes::Closes;
use engine::snapshot::Snapshot;
use http::Metrics;
use kernel::calendar::Calendar;
use kernel::contract::RootTable;
use sources::requested::RequestedNames;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};
use tools::explain::answer::Explaining;

/// The service behind the server.
pub struct Service {
    pub(super) market: Arc<ArcSwap<Snapshot>>,
    pub(super) closes: Arc<ArcSwap<Closes>>,
    pub(super) rows: Arc<NameRows>,
    pub(super) status: Arc<Status>,
    pub(super) metrics: Arc<Metrics>,
    pub(super) roots: Arc<RootTable>,
    pub(super) calendar: Calendar,
    pub(super) old_snapshot_bytes: u64,
    pub(super) requested: Arc<RequestedNames>,
    pub(super) shows_quotes: bool,
    /// Recorded days, if the feed has them.
    pub(super) past: Option<Arc<PastMarket>>,
    /// The body of `/openapi.json`, made at the first request.
    pub(super) openapi: OnceLock<Vec<u8>>,
    pub(super) explaining: Explaining,
    pub(super) scenarios: ScenarioDesk,
    pub(super) positions: Arc<PositionDesk>,
    pub(super) streams: StreamDesk,
    pub(super) alerts: Arc<AlertLog>,
    /// Random number of this run of the daemon.
    pub(super) run: u64,
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
            closes: Arc::default(),
            rows: Arc::default(),
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

    /// Adds the closes of earlier sessions, and the metrics of names for all who ask.
    #[must_use]
    pub fn with_metrics(self, closes: Arc<ArcSwap<Closes>>, rows: Arc<NameRows>) -> Self {
        Self { closes, rows, ..self }
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

    /// Adds the recorded days of an archive. Call [`Service::showing_quotes`] and [`Service::with_metrics`] first,
    /// since past days show likewise.
    #[must_use]
    pub fn with_archive(self, archive: Arc<dyn Archive>) -> Self {
        let past = PastMarket {
            archive,
            closes: Arc::clone(&self.closes),
            roots: Arc::clone(&self.roots),
            calendar: self.calendar.clone(),
            zone: self.status.zone.clone(),
            feed: self.status.feed.clone(),
            shows_quotes: self.shows_quotes,
            columns_bytes: Arc::default(),
        };
        Self { past: Some(Arc::new(past)), ..self }
    }

    /// The data that a layer answers from.
    pub(super) fn context<'a>(
        &'a self,
        snapshot: &'a Snapshot,
        host: Option<&'a str>,
        note: &'a dyn Fn() -> Vec<String>,
    ) -> RequestContext<'a> {
        let closes = self.closes.load_full();
        let edition = edition::of_snapshot(snapshot.number, closes.number(), self.status.clock.now());
        RequestContext {
            snapshot,
            closes,
            rows: &self.rows,
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
            edition: Some(edition),
            note,
        }
    }

    /// The text of `/metrics`.
    pub(super) fn counters(&self, snapshot: &Snapshot) -> String {
        let mut text = String::new();
        self.status.write_prometheus(snapshot, &mut text);
        ledger::write_prometheus(&self.memory(snapshot), &mut text);
        self.metrics.write_prometheus(&mut text);
        text
    }

    /// Bytes of live objects, by purpose.
    fn memory(&self, snapshot: &Snapshot) -> [ledger::Entry; 15] {
        let facts = self.status.facts();
        let past = self.past.as_ref();
        [
            ("chains", snapshot.chains().iter().map(|chain| chain.bytes() as u64).sum()),
            ("old_chains", self.status.old_snapshot_bytes()),
            ("states", facts.state_bytes),
            ("books", facts.book_bytes),
            ("sessions", facts.session_bytes),
            ("closes", self.closes.load().bytes() as u64),
            ("metrics", self.rows.bytes() as u64),
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

    /// Parts of the daemon that pages show.
    pub(super) fn offered(&self) -> Offered {
        Offered { quotes: self.shows_quotes, positions: self.positions.is_used() }
    }

    /// Heading of pages: time of the snapshot, and whether the data are simulated.
    pub(super) fn note(&self, snapshot: &Snapshot) -> Vec<String> {
        let source = if self.status.simulated { " · simulated data" } else { "" };
        vec![format!("{}{source}", self.status.time_line(snapshot))]
    }
}
