//! One service behind several servers: one app, so that what differs is the server.

pub(crate) mod hyper_tokio;
pub(crate) mod minihttp;

use http::{Metrics, Server};
use shim::app::Service;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;

/// A free loopback port, for servers that cannot say which one they took.
///
/// # Panics
/// There is none.
pub(crate) fn free_address() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").and_then(|l| l.local_addr()).expect("a free port")
}

/// Starts our own server.
///
/// # Panics
/// It does not start.
pub(crate) fn own(service: Service, metrics: Arc<Metrics>) -> Server {
    let config = http::ServerConfig {
        listen: vec![SocketAddr::from(([127, 0, 0, 1], 0))],
        allow_hosts: Vec::new(),
        limits: http::Limits::default(),
        bulk_threads: 2,
        metrics,
        clock: jiff::Timestamp::now,
    };
    Server::start(config, service).expect("a server")
}

/// Path and query of a target.
fn split(target: &str) -> (&str, &str) {
    target.split_once('?').unwrap_or((target, ""))
}
