//! The native layer through the real server: what arrives over a socket is what the service answered.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use crate::support;
use crate::support::Client;
use crate::support::market;
use crate::support::market::{get_from, listing, market, service};
use engine::snapshot::Snapshot;
use http::{Limits, Metrics, Server};
use shim::app::route_names;
use std::net::SocketAddr;
use std::sync::Arc;

fn serve(snapshot: Snapshot) -> Server {
    let metrics = Arc::new(Metrics::new(&route_names()));
    let config = support::config(SocketAddr::from(([127, 0, 0, 1], 0)), Limits::default(), &metrics);
    Server::start(config, service(snapshot)).unwrap()
}

#[test]
fn small_answers_have_a_length_and_refusals_their_headers() {
    let server = serve(market());
    let mut client = Client::new(server.addresses()[0]);
    for format in ["json", "csv", "ndjson", "html"] {
        let target = format!("/l1/greeks?underlying=ACME,SPX&greeks=all&format={format}");
        let response = client.get(&target);
        let wanted = get_from(&service(market()), &target);
        assert_eq!(response.status, 200);
        assert_eq!(response.header("content-type"), Some(wanted.content_type));
        assert_eq!(response.header("content-length"), Some(wanted.body.len().to_string().as_str()));
        assert_eq!(response.text(), wanted.body);
    }
    let late = client.get("/l1/greeks?underlying=LATE");
    assert_eq!((late.status, late.header("retry-after")), (502, Some("1")));
    assert_eq!(client.get("/l1/greeks").status, 400);
    assert_eq!(client.get("/health").status, 200);
}

#[test]
fn a_whole_chain_arrives_complete() {
    let strikes: Vec<u32> = (1..=5000).map(|n| n * 1000).collect();
    let expiries = [jiff::civil::date(2026, 12, 18), jiff::civil::date(2027, 1, 15)];
    let listings = expiries.map(|expiry| listing("ACME", expiry, 101.5, &strikes));
    let snapshot = || Snapshot::new(1, vec![market::chain("ACME", 101.25, &listings)], vec![]);
    let server = serve(snapshot());
    let mut client = Client::new(server.addresses()[0]);
    for query in ["greeks=all", "right=put&format=csv", "format=html&greeks=chain"] {
        let target = format!("/l1/greeks?underlying=ACME&{query}");
        let response = client.get(&target);
        assert_eq!(response.header("transfer-encoding"), Some("chunked"));
        assert!(response.body == get_from(&service(snapshot()), &target).body.as_bytes(), "{query}");
    }
    assert_eq!(client.get("/l1/greeks?underlying=ACME&center=atm&right=call").status, 200);
}
