//! Metrics of the server: requests, bytes and latency by route, and open connections, as plain atomics; and the text
//! format of Prometheus, for all metrics of the program. Never: a lock.

use std::fmt::{Display, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Upper bounds of the latency buckets, in microseconds; one more bucket holds the rest.
const BUCKETS_US: [u64; 14] =
    [50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 1_000_000, 5_000_000];

/// Status classes.
const CLASSES: [&str; 5] = ["1xx", "2xx", "3xx", "4xx", "5xx"];

/// Route of requests that the server itself refuses.
const REFUSED: &str = "refused";

/// The counters of one server.
#[derive(Debug)]
pub struct Metrics {
    routes: Vec<Route>,
    accepted: AtomicU64,
    open: AtomicU64,
    /// Number of answers from the cache.
    cache_hits: AtomicU64,
    /// Bytes of cached bodies, including evicted ones that readers hold.
    cache_bytes: AtomicU64,
    /// Bytes of memory of all connections.
    connection_bytes: AtomicU64,
}

#[derive(Debug)]
struct Route {
    name: &'static str,
    classes: [AtomicU64; CLASSES.len()],
    bytes: AtomicU64,
    micros: AtomicU64,
    buckets: [AtomicU64; BUCKETS_US.len() + 1],
}

impl Route {
    fn new(name: &'static str) -> Self {
        let zero = |_| AtomicU64::new(0);
        Self {
            name,
            classes: std::array::from_fn(zero),
            bytes: AtomicU64::new(0),
            micros: AtomicU64::new(0),
            buckets: std::array::from_fn(zero),
        }
    }
}

impl Metrics {
    /// Counters for these routes; a request of another route counts as refused.
    #[must_use]
    pub fn new(routes: &[&'static str]) -> Self {
        let routes = routes.iter().copied().filter(|&name| name != REFUSED);
        Self {
            routes: routes.chain([REFUSED]).map(Route::new).collect(),
            accepted: AtomicU64::new(0),
            open: AtomicU64::new(0),
            cache_hits: AtomicU64::new(0),
            cache_bytes: AtomicU64::new(0),
            connection_bytes: AtomicU64::new(0),
        }
    }

    /// Number of open connections.
    #[must_use]
    pub fn open_connections(&self) -> u64 {
        self.open.load(Ordering::Relaxed)
    }

    /// Bytes of cached response bodies, including evicted ones that a client still reads.
    #[must_use]
    pub fn cache_bytes(&self) -> u64 {
        self.cache_bytes.load(Ordering::Relaxed)
    }

    /// Bytes that open connections hold: received bytes, bytes to send, encoders; without shared bodies.
    #[must_use]
    pub fn connection_bytes(&self) -> u64 {
        self.connection_bytes.load(Ordering::Relaxed)
    }

    /// Number of requests answered since the start.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.routes.iter().flat_map(|route| &route.classes).map(|n| n.load(Ordering::Relaxed)).sum()
    }

    /// Appends all counters in Prometheus text format.
    pub fn write_prometheus(&self, out: &mut String) {
        let value = |n: &AtomicU64| n.load(Ordering::Relaxed);
        write_number(out, "http_connections_open", "Open connections", value(&self.open));
        write_number(out, "http_connections_total", "Connections accepted", value(&self.accepted));
        write_number(out, "http_cache_hits_total", "Responses served from the response cache", value(&self.cache_hits));
        write_number(
            out,
            "http_cache_bytes",
            "Bytes of cached response bodies, including evicted ones that a client still reads",
            self.cache_bytes(),
        );
        let requests = self.routes.iter().flat_map(|route| {
            let counts = CLASSES.into_iter().zip(&route.classes).filter(|(_, count)| value(count) > 0);
            counts.map(|(class, count)| ([("route", route.name), ("class", class)], value(count)))
        });
        write_metric(out, "http_requests_total", "Requests answered, by route and status class", requests);
        let bytes = self.routes.iter().map(|route| ([("route", route.name)], value(&route.bytes)));
        write_metric(out, "http_response_bytes_total", "Bytes of responses including heads, by route", bytes);
        let help = "Time from a parsed request head to the last byte of the response, by route";
        write_head(out, "http_request_seconds", "histogram", help);
        self.routes.iter().for_each(|route| route.write_histogram("http_request_seconds", out));
    }

    /// Counts a connection until the returned value is dropped.
    pub(super) fn opened(self: &Arc<Self>) -> OpenConnection {
        self.accepted.fetch_add(1, Ordering::Relaxed);
        self.open.fetch_add(1, Ordering::Relaxed);
        OpenConnection { metrics: Arc::clone(self), bytes: 0 }
    }

    /// Counts an answer from the cache.
    pub(super) fn cache_hit(&self) {
        self.cache_hits.fetch_add(1, Ordering::Relaxed);
    }

    /// Sets the bytes of cached bodies.
    pub(super) fn set_cache_bytes(&self, bytes: usize) {
        self.cache_bytes.store(u64::try_from(bytes).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// Counts an answer.
    pub(super) fn answered(&self, route: &str, status: u16, bytes: u64, took: Duration) {
        // a dozen routes: a scan is faster than a hash; an unknown one counts as refused
        let Some(route) = self.routes.iter().find(|r| r.name == route).or(self.routes.last()) else { return };
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        let class = usize::from(status / 100).clamp(1, CLASSES.len()) - 1;
        // each answer counts in one bucket; the cumulative counts of Prometheus are computed when they are read
        let bucket = BUCKETS_US.partition_point(|&bound| bound < micros);
        route.classes[class].fetch_add(1, Ordering::Relaxed);
        route.bytes.fetch_add(bytes, Ordering::Relaxed);
        route.micros.fetch_add(micros, Ordering::Relaxed);
        route.buckets[bucket].fetch_add(1, Ordering::Relaxed);
    }
}

/// One open connection, until dropped.
#[derive(Debug)]
pub(super) struct OpenConnection {
    metrics: Arc<Metrics>,
    /// Bytes that the connection holds.
    bytes: u64,
}

impl OpenConnection {
    /// Sets the bytes that the connection holds.
    pub(super) fn set_bytes(&mut self, bytes: usize) {
        let now = u64::try_from(bytes).unwrap_or(u64::MAX);
        if now != self.bytes {
            // the sum may wrap in between, and is right in the end: each connection later subtracts what it added
            self.metrics.connection_bytes.fetch_add(now.wrapping_sub(self.bytes), Ordering::Relaxed);
            self.bytes = now;
        }
    }
}

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.set_bytes(0);
        self.metrics.open.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Route {
    fn write_histogram(&self, metric: &str, out: &mut String) {
        let name = self.name;
        let mut total = 0;
        for (i, count) in self.buckets.iter().enumerate() {
            total += count.load(Ordering::Relaxed);
            let bound = BUCKETS_US.get(i).map_or_else(|| "+Inf".to_owned(), |&us| seconds(us));
            write_sample(out, &format!("{metric}_bucket"), &[("route", name), ("le", &bound)], total);
        }
        let sum = seconds(self.micros.load(Ordering::Relaxed));
        write_sample(out, &format!("{metric}_sum"), &[("route", name)], sum);
        write_sample(out, &format!("{metric}_count"), &[("route", name)], total);
    }
}

/// Appends a metric in Prometheus text format, a line for each sample: its labels and its value. Names get the prefix
/// `greeksd_`. A name that ends in `_total` is of a counter, any other of a gauge.
pub fn write_metric<'l, const N: usize, V: Display>(
    out: &mut String,
    name: &str,
    help: &str,
    samples: impl IntoIterator<Item = ([(&'static str, &'l str); N], V)>,
) {
    write_head(out, name, if name.ends_with("_total") { "counter" } else { "gauge" }, help);
    samples.into_iter().for_each(|(labels, value)| write_sample(out, name, &labels, value));
}

/// Appends a metric without labels, as [`write_metric`] does.
pub fn write_number(out: &mut String, name: &str, help: &str, value: impl Display) {
    write_metric(out, name, help, [([], value)]);
}

fn write_head(out: &mut String, name: &str, kind: &str, help: &str) {
    let _ = writeln!(out, "# HELP greeksd_{name} {help}\n# TYPE greeksd_{name} {kind}");
}

fn write_sample(out: &mut String, name: &str, labels: &[(&str, &str)], value: impl Display) {
    let _ = write!(out, "greeksd_{name}");
    for (i, (label, text)) in labels.iter().enumerate() {
        let text = text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
        let _ = write!(out, "{}{label}=\"{text}\"", if i == 0 { '{' } else { ',' });
    }
    let _ = writeln!(out, "{} {value}", if labels.is_empty() { "" } else { "}" });
}

/// Microseconds as decimal seconds, without a float in between.
fn seconds(micros: u64) -> String {
    let text = format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_counted_under_their_route() {
        let metrics = Arc::new(Metrics::new(&["rows"]));
        let connection = metrics.opened();
        metrics.answered("rows", 200, 1000, Duration::from_micros(50));
        metrics.answered("rows", 404, 10, Duration::from_micros(51));
        metrics.answered("unheard of", 400, 1, Duration::from_secs(60));
        let mut text = String::new();
        metrics.write_prometheus(&mut text);
        for line in [
            "greeksd_http_connections_open 1",
            "greeksd_http_requests_total{route=\"rows\",class=\"2xx\"} 1",
            "greeksd_http_requests_total{route=\"rows\",class=\"4xx\"} 1",
            "greeksd_http_requests_total{route=\"refused\",class=\"4xx\"} 1",
            "greeksd_http_response_bytes_total{route=\"rows\"} 1010",
            "greeksd_http_request_seconds_bucket{route=\"rows\",le=\"0.00005\"} 1",
            "greeksd_http_request_seconds_bucket{route=\"rows\",le=\"0.0001\"} 2",
            "greeksd_http_request_seconds_bucket{route=\"refused\",le=\"5\"} 0",
            "greeksd_http_request_seconds_bucket{route=\"refused\",le=\"+Inf\"} 1",
            "greeksd_http_request_seconds_sum{route=\"rows\"} 0.000101",
            "greeksd_http_request_seconds_count{route=\"rows\"} 2",
        ] {
            assert!(text.lines().any(|l| l == line), "no line {line} in\n{text}");
        }
        assert_eq!((metrics.requests(), metrics.open_connections()), (3, 1));
        drop(connection);
        assert_eq!(metrics.open_connections(), 0);
    }

    #[test]
    fn labels_are_escaped_and_a_name_says_the_type() {
        let mut out = String::new();
        write_metric(&mut out, "lines_total", "Lines", [([("feed", "a\\b\"c\nd"), ("kind", "x")], 7)]);
        write_number(&mut out, "age_seconds", "Age", 1.5);
        let want = "# HELP greeksd_lines_total Lines\n# TYPE greeksd_lines_total counter\n\
                    greeksd_lines_total{feed=\"a\\\\b\\\"c\\nd\",kind=\"x\"} 7\n\
                    # HELP greeksd_age_seconds Age\n# TYPE greeksd_age_seconds gauge\ngreeksd_age_seconds 1.5\n";
        assert_eq!(out, want);
    }
}
