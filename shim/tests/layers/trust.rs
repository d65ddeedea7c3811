//! Nothing that ordinary clients, pages and programs do may hurt the service: bounds in sum, and the browser.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use crate::support;
use crate::support::market;
use crate::support::market::{get, listing, market, service};
use crate::support::{Client, serve};
use engine::snapshot::Snapshot;
use http::{Body, Limits, Metrics, Progress, Server};
use jiff::civil::date;
use shim::app::route_names;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;

fn serve_market(snapshot: Snapshot) -> Server {
    let metrics = Arc::new(Metrics::new(&route_names()));
    let config = support::config(SocketAddr::from(([127, 0, 0, 1], 0)), Limits::default(), &metrics);
    Server::start(config, service(snapshot)).unwrap()
}

#[test]
fn days_beyond_every_calendar_are_refused_and_the_connection_lives() {
    let server = serve_market(market());
    let mut client = Client::new(server.addresses()[0]);
    for name in ["expiration", "from", "to", "date"] {
        for days in ["99999999+days", "99999999+days+ago", "-99999999+days", "9223372036854775807+days"] {
            let response = client.get(&format!("/v1/options/chain/ACME?{name}={days}"));
            assert!([400, 404].contains(&response.status), "{name}={days}: {} {}", response.status, response.text());
            assert_ne!(response.header("connection"), Some("close"), "{name}={days}");
        }
    }
}

#[test]
fn a_list_of_numbers_has_an_end() {
    let list = |item: &str, n: usize| vec![item; n].join(",");
    for (name, item) in [("delta", ".5"), ("delta", "0-1"), ("strike", "100"), ("dte", "28"), ("dte", "1-90")] {
        let ask = |n| get(&format!("/v1/options/chain/ACME?expiration=all&{name}={}", list(item, n)));
        let once = ask(1);
        assert_eq!(once.status, 200, "{name}={item}");
        assert_eq!(ask(64).body, once.body, "{name}={item}");
        for n in [65, 5_000] {
            let refused = ask(n);
            assert_eq!(refused.status, 400, "{n} times {name}={item}");
            let wanted = format!("{{\"s\":\"error\",\"errmsg\":\"{name}: not a list of up to 64: {n} items\"}}");
            assert_eq!(refused.body, wanted);
        }
    }
}

#[test]
fn a_column_is_asked_for_once() {
    let all = "optionSymbol,underlying,expiration,side,strike,firstTraded,dte,updated,bid,bidSize,mid,ask,askSize,last,\
               openInterest,volume,inTheMoney,intrinsicValue,extrinsicValue,underlyingPrice,iv,delta,gamma,theta,vega";
    let ask = |columns: &str| get(&format!("/v1/options/chain/ACME?columns={columns}"));
    assert_eq!(ask(all).status, 200);
    for columns in ["iv,iv".to_owned(), "iv,delta,iv".to_owned(), vec!["iv"; 8_000].join(","), format!("{all},iv")] {
        let refused = ask(&columns);
        let wanted = "{\"s\":\"error\",\"errmsg\":\"columns: not a column that is asked for once: iv\"}";
        assert_eq!((refused.status, refused.body.as_str()), (400, wanted));
    }
}

#[test]
fn heavy_work_is_done_where_streams_are_and_its_answer_keeps_its_place() {
    let fixture = serve();
    let mut client = fixture.connect();
    let body = "Content-Length: 5\r\n";
    client.send(support::get("/small"));
    client.send(support::get("/heavy"));
    client.send(format!("{}12345", support::get_with("/heavy", body)));
    client.send("HEAD /heavy HTTP/1.1\r\nHost: localhost\r\n\r\n");
    client.send(support::get("/small"));
    assert_eq!(client.response().text(), r#"{"small":true}"#);
    for _ in 0..2 {
        let heavy = client.response();
        assert!(heavy.text().starts_with("http-bulk-"), "{}", heavy.text());
    }
    assert_eq!(client.head().0, 200);
    assert_eq!(client.response().text(), r#"{"small":true}"#);
    // a body that comes later than its head
    client.send(support::get_with("/heavy", body));
    client.send("12");
    client.send("345");
    assert!(client.response().text().starts_with("http-bulk-"));
    assert_eq!(client.get("/small").status, 200);
    assert_eq!(
        fixture.seen.requests.load(Ordering::SeqCst),
        7,
        "each request is parsed once, whichever thread answers it"
    );
}

#[test]
fn heavy_work_holds_up_no_small_request() {
    let fixture = serve();
    fixture.seen.held_up.store(true, Ordering::SeqCst);
    let mut heavy = fixture.connect();
    heavy.send(support::get("/heavy"));
    for _ in 0..20 {
        assert_eq!(fixture.connect().get("/small").status, 200);
    }
    fixture.seen.held_up.store(false, Ordering::SeqCst);
    assert_eq!(heavy.response().status, 200);
}

#[test]
fn many_names_and_filters_of_long_chains_are_heavy_and_answered_alike() {
    let strikes: Vec<u32> = (1..=10_500).map(|n| n * 1000).collect();
    let chain = market::chain("WIDE", 101.25, &[listing("WIDE", date(2026, 12, 18), 101.5, &strikes)]);
    let snapshot = || Snapshot::new(1, vec![chain.clone()], vec![]);
    let names: Vec<String> = (0..40).map(|i| format!("A{i}")).collect();
    let server = serve_market(snapshot());
    let mut client = Client::new(server.addresses()[0]);
    for query in [
        format!("underlying=WIDE,{}&min_strike=100&max_strike=101", names.join(",")),
        "underlying=WIDE&center=atm".to_owned(),
        "root=WIDE&right=put&max_strike=20".to_owned(),
        "underlying=WIDE&min_delta=2".to_owned(),
    ] {
        let target = format!("/l1/greeks?{query}");
        let got = client.get(&target);
        assert_eq!(got.text(), market::get_from(&service(snapshot()), &target).body, "{query}");
    }
    for list in ["expirations", "strikes"] {
        assert_eq!(client.get(&format!("/v1/options/{list}/WIDE")).status, 200);
    }
}

#[test]
fn a_root_is_of_a_pending_name_only_where_it_is_one_of_its_series() {
    for root in ["LATE", "LATEW", "LATEP", "LATE1"] {
        assert_eq!(get(&format!("/l1/greeks?root={root}")).status, 502, "{root}");
    }
    for root in ["LATEX", "LATER", "LATEWW", "LAT", "LATE0"] {
        assert_eq!(get(&format!("/l1/greeks?root={root}")).status, 200, "{root} is no series of LATE");
    }
}

#[test]
fn another_host_is_misdirected_and_nothing_of_it_is_answered() {
    let fixture = serve();
    for (target, host, status) in [
        ("/small", "evil:2112", 421),
        ("/small", "localhost.evil", 421),
        ("http://evil/small", "localhost", 421),
        ("http://localhost/small", "evil", 421),
        ("http://user@localhost/small", "localhost", 421),
        ("/small", "127.0.0.1:2112", 200),
        ("/small", "192.168.7.7", 200),
        ("/small", "[::1]:2112", 200),
        ("/small", "LOCALHOST", 200),
        ("/small", "app.localhost:2112", 200),
        ("/small", "BOX:1", 200),
        ("http://127.0.0.1:2112/small", "box", 200),
    ] {
        let mut client = fixture.connect();
        client.send(format!("GET {target} HTTP/1.1\r\nHost: {host}\r\n\r\n"));
        let response = client.response();
        assert_eq!(response.status, status, "{target} of {host}");
        if status == 421 {
            assert!(!response.text().contains("small") && client.is_closed(), "{}", response.text());
        }
    }
    assert!(fixture.exchange(b"GET /small HTTP/1.0\r\n\r\n").contains(" 200 OK"), "old programs send no Host");
    assert!(fixture.exchange(b"GET /small HTTP/1.1\r\nHost: \xff\r\n\r\n").contains(" 421 "));
}

#[test]
fn a_script_or_picture_of_another_site_has_nothing_and_a_link_has_a_page() {
    let fixture = serve();
    let ask = |headers: &str| fixture.connect().get_with("/small", headers).status;
    for mode in ["cors", "no-cors", "same-origin", "websocket", ""] {
        let headers = format!("Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: {mode}\r\n");
        assert_eq!(ask(&headers), 403, "{mode}");
    }
    assert_eq!(ask("Sec-Fetch-Site: Cross-Site\r\n"), 403);
    assert_eq!(ask("Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: document\r\n"), 200);
    for site in ["same-origin", "same-site", "none"] {
        assert_eq!(ask(&format!("Sec-Fetch-Site: {site}\r\nSec-Fetch-Mode: cors\r\n")), 200, "{site}");
    }
}

#[test]
fn every_answer_tells_a_browser_what_it_may_do_with_it() {
    let server = serve_market(market());
    let address = server.addresses()[0];
    let targets = "/ /examples /app/app.js /app/app.css /health /metrics /l1/greeks?root=ACME \
                   /l1/greeks?root=ACME&format=html /l1/greeks /no";
    for target in targets.split_whitespace() {
        let response = Client::new(address).get(target);
        assert_eq!(response.header("x-content-type-options"), Some("nosniff"), "{target}");
        assert_eq!(response.header("cross-origin-resource-policy"), Some("same-origin"), "{target}");
        assert_eq!(response.header("access-control-allow-origin"), None, "{target}");
        let is_page = response.header("content-type").is_some_and(|kind| kind.starts_with("text/html"));
        let policy = match target {
            "/" => {
                "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; \
                 base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; \
                 trusted-types 'none'"
            }
            _ => "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
        };
        assert_eq!(response.header("content-security-policy"), is_page.then_some(policy), "{target}");
    }
    let mut stranger = Client::new(address);
    stranger.send("GET / HTTP/1.1\r\nHost: evil\r\n\r\n");
    let refused = stranger.response();
    assert_eq!((refused.status, refused.header("x-content-type-options")), (421, Some("nosniff")));
}

#[test]
fn while_slow_readers_hold_too_much_no_answer_of_several_names_is_begun() {
    let ask = |held, target: &str| market::get_from(&market::service_with_old(market(), held, 1000), target);
    let several = "/l1/greeks?underlying=ACME,SPX";
    assert_eq!(ask(1000, several).status, 200);
    let refused = ask(1001, several);
    assert_eq!((refused.status, refused.headers), (503, vec!["Retry-After: 10".to_owned()]));
    assert!(refused.body.contains("try again, or request one name"), "{}", refused.body);
    for target in ["/l1/greeks?underlying=SPX", "/v1/options/chain/ACME", "/health", "/"] {
        assert_eq!(ask(1001, target).status, 200, "{target}");
    }
    assert!(ask(1001, "/metrics").body.contains("\ngreeksd_old_snapshots_bytes 1001\n"));
}

#[test]
fn an_answer_gives_each_chain_back_when_its_rows_are_written() {
    let strikes: Vec<u32> = (1..=3000).map(|n| n * 1000).collect();
    let chains: Vec<_> = ["AA", "BB", "CC"]
        .map(|name| market::chain(name, 101.25, &[listing(name, date(2026, 12, 18), 101.5, &strikes)]))
        .into();
    let held = || chains.iter().map(|chain| Arc::strong_count(chain) - 1).collect::<Vec<_>>();
    for format in ["json", "csv", "html"] {
        let service = service(Snapshot::new(1, chains.clone(), vec![]));
        let answer = service.answer_to("/l1/greeks", &format!("underlying=AA,BB,CC&format={format}"));
        drop(service);
        let Body::Stream(mut stream) = answer.body else { panic!("rows are streamed") };
        assert_eq!(held(), [1, 1, 1]);
        let (mut out, mut seen) = (Vec::new(), vec![held()]);
        while stream.fill(&mut out) == Progress::More {
            seen.push(held());
        }
        seen.dedup();
        assert_eq!(seen, [[1, 1, 1], [0, 1, 1], [0, 0, 1]], "{format}");
    }
}
