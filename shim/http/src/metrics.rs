//! Metrics of the server: requests, bytes and latency by route, and open connections, as plain atomics. Never: a lock.

use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Upper bounds of the latency buckets, in microseconds; one more bucket holds the rest.
const BUCKETS_US: [u64; 14] =
    [50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 1_000_000, 5_000_000];

/// Status classes, 1xx to 5xx.
const CLASSES: usize = 5;

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
    classes: [AtomicU64; CLASSES],
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
        header(out, "greeksd_http_connections_open", "gauge", "Open connections");
        let _ = writeln!(out, "greeksd_http_connections_open {}", value(&self.open));
        header(out, "greeksd_http_connections_total", "counter", "Connections accepted");
        let _ = writeln!(out, "greeksd_http_connections_total {}", value(&self.accepted));
        header(out, "greeksd_http_cache_hits_total", "counter", "Responses served from the response cache");
        let _ = writeln!(out, "greeksd_http_cache_hits_total {}", value(&self.cache_hits));
        header(
            out,
            "greeksd_http_cache_bytes",
            "gauge",
            "Bytes of cached response bodies, including evicted ones that a client still reads",
        );
        let _ = writeln!(out, "greeksd_http_cache_bytes {}", self.cache_bytes());
        header(out, "greeksd_http_requests_total", "counter", "Requests answered, by route and status class");
        for route in &self.routes {
            for (class, count) in (1..).zip(&route.classes).filter(|(_, count)| value(count) > 0) {
                let (name, count) = (route.name, value(count));
                let _ = writeln!(out, "greeksd_http_requests_total{{route=\"{name}\",class=\"{class}xx\"}} {count}");
            }
        }
        header(out, "greeksd_http_response_bytes_total", "counter", "Bytes of responses including heads, by route");
        for route in &self.routes {
            let _ =
                writeln!(out, "greeksd_http_response_bytes_total{{route=\"{}\"}} {}", route.name, value(&route.bytes));
        }
        let name = "greeksd_http_request_seconds";
        header(out, name, "histogram", "Time from a parsed request head to the last byte of the response, by route");
        for route in &self.routes {
            route.write_histogram(name, out);
        }
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
        let class = usize::from(status / 100).clamp(1, CLASSES) - 1;
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
            let _ = writeln!(out, "{metric}_bucket{{route=\"{name}\",le=\"{bound}\"}} {total}");
        }
        let sum = seconds(self.micros.load(Ordering::Relaxed));
        let _ = writeln!(out, "{metric}_sum{{route=\"{name}\"}} {sum}\n{metric}_count{{route=\"{name}\"}} {total}");
    }
}

fn header(out: &mut String, name: &str, kind: &str, help: &str) {
    let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} {kind}");
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
}
