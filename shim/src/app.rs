//! From a request to its answer: path to layer or page, one snapshot per request. Never: a vendor's shape, a computation.

use crate::http::percent::decode_strict;
use crate::http::{Answer, App, Metrics, Request};
use crate::query::Query;
use crate::refusal::Refusal;
use crate::rows::frame::Heading;
use crate::rows::page::{escape, push_top};
use crate::status::Status;
use crate::vendors::native::error_json;
use crate::vendors::{LAYERS, Scene, layer_at};
use arc_swap::ArcSwap;
use engine::calendar::Calendar;
use engine::contract::RootTable;
use engine::snapshot::Snapshot;
use std::sync::Arc;

/// The names of the routes that are no layer.
const PAGES: [&str; 4] = ["front", "health", "metrics", "unknown"];

/// The service behind the server.
pub struct Service {
    market: Arc<ArcSwap<Snapshot>>,
    status: Arc<Status>,
    metrics: Arc<Metrics>,
    roots: Arc<RootTable>,
    calendar: Calendar,
}

/// Under which names requests are counted; what [`Metrics::new`] wants.
#[must_use]
pub fn route_names() -> Vec<&'static str> {
    let mut names: Vec<&str> = LAYERS.iter().map(|layer| layer.name).chain(PAGES).collect();
    names.dedup();
    names
}

impl App for Service {
    fn answer(&self, request: &Request<'_>) -> Answer {
        self.answer_for(request.raw_path(), request.query(), request.host())
    }
}

impl Service {
    /// A service that reads the market from where the daemon publishes it.
    #[must_use]
    pub fn new(market: Arc<ArcSwap<Snapshot>>, status: Arc<Status>, metrics: Arc<Metrics>) -> Self {
        Self { market, status, metrics, roots: Arc::new(RootTable::embedded()), calendar: Calendar::embedded() }
    }

    /// The answer to a target's raw path and query, from a client that names no host.
    #[must_use]
    pub fn answer_to(&self, raw_path: &str, query: &str) -> Answer {
        self.answer_for(raw_path, query, None)
    }

    /// The answer to a target's raw path and query. Loads the snapshot once; the answer keeps the chains that it shows.
    #[must_use]
    pub fn answer_for(&self, raw_path: &str, query: &str, host: Option<&str>) -> Answer {
        let snapshot = self.market.load_full();
        if let Some((layer, segments)) = layer_at(raw_path) {
            let scene = Scene {
                snapshot: &snapshot,
                now: (self.status.now)(),
                zone: &self.status.zone,
                calendar: &self.calendar,
                roots: &self.roots,
                host,
                note: &|| self.note(&snapshot),
            };
            return layer.answer(&Query::parse(query).with_segments(segments), &scene);
        }
        let Some(path) = decode_strict(raw_path) else { return unknown() };
        match path.strip_suffix('/').unwrap_or(&path) {
            "" => Answer::full("front", 200, "text/html; charset=utf-8", self.front_page(&snapshot)),
            "/health" => Answer::full("health", 200, "application/json", self.status.health_json(&snapshot)),
            "/metrics" => {
                Answer::full("metrics", 200, "text/plain; version=0.0.4; charset=utf-8", self.metrics(&snapshot))
            }
            _ => unknown(),
        }
    }

    fn metrics(&self, snapshot: &Snapshot) -> String {
        let mut text = String::new();
        self.status.write_prometheus(snapshot, &mut text);
        self.metrics.write_prometheus(&mut text);
        text
    }

    /// What a page says about its snapshot.
    fn note(&self, snapshot: &Snapshot) -> Vec<String> {
        let source = if self.status.simulated { " · simulated data" } else { "" };
        vec![format!("{}{source}", self.status.time_line(snapshot))]
    }

    /// What this is, with requests to click.
    fn front_page(&self, snapshot: &Snapshot) -> Vec<u8> {
        let n: u64 = snapshot.chains().iter().map(|chain| u64::from(chain.rows())).sum();
        let mut lines = vec!["Greeks of US listed options, computed on this machine.".to_owned()];
        lines.extend(self.note(snapshot));
        lines.push(format!("{} underlyings · {n} contracts", snapshot.chains().len()));
        let mut page = Vec::new();
        push_top(&mut page, &Heading { title: "greeksd".to_owned(), lines });
        page.extend_from_slice(b"<main>\n<table>\n<tbody>\n");
        for (what, target) in examples(snapshot) {
            page.extend_from_slice(b"<tr><td class=w>");
            escape(&mut page, what);
            page.extend_from_slice(b"</td><td class=w><a href=\"");
            escape(&mut page, &target);
            page.extend_from_slice(b"\">");
            escape(&mut page, &target);
            page.extend_from_slice(b"</a></td></tr>\n");
        }
        page.extend_from_slice(b"</tbody></table>\n</main>\n</body></html>\n");
        page
    }
}

/// Requests worth a click, about a name that the snapshot has.
fn examples(snapshot: &Snapshot) -> Vec<(&'static str, String)> {
    let known = ["SPY", "SPX", "AAPL"]
        .into_iter()
        .find(|name| snapshot.chains().iter().any(|c| c.underlying.as_str() == *name));
    let first = snapshot.chains().first().map(|chain| chain.underlying.to_string());
    let name = known.map(str::to_owned).or(first).unwrap_or_else(|| "SPY".to_owned());
    let greeks = |rest: &str| format!("/l1/greeks?underlying={name}{rest}");
    vec![
        ("Term structure: one row per expiry", greeks("&center=atf&right=call&greeks=core,chain&format=html")),
        ("25-delta calls, five strikes around", greeks("&center=25&strike_count=5&right=call&format=html")),
        (
            "Strikes around the money, all Greeks",
            greeks("&center=atm&strike_count=11&max_days=60&greeks=all&format=html"),
        ),
        ("The same as JSON", greeks("&center=atm&strike_count=11&max_days=60&greeks=all")),
        ("The whole chain as CSV", greeks("&greeks=all&format=csv")),
        ("Health of the service", "/health".to_owned()),
        ("Counters for Prometheus", "/metrics".to_owned()),
    ]
}

fn unknown() -> Answer {
    let refusal = Refusal::UnknownPath;
    Answer::full("unknown", refusal.status(), "application/json", error_json(&refusal))
}
