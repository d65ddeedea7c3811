//! Vendors that are asked over HTTP, against a server of this test that does everything wrong: after each fault the
//! last good chain is still served, the feed recovers, and the server was asked no more often than it should be.
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod faults;
mod keys;
mod restart;
mod server;
mod sign_in;
mod tasty;
mod vendors;

use crate::support::daemon::{Daemon, chain, command, free_address};
use serde_json::Value;
use server::{Act, Server, say, status};
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The market is open then.
const OPEN: &str = "2026-11-20T15:42:30-05:00";

/// Cboe's document of ACME at a spot, made at a minute; `keep` chooses among its rows (strike, right).
fn cboe(spot: f64, minute: u32, keep: impl Fn(usize, &str) -> bool) -> String {
    let mut options = String::new();
    for (i, row) in chain(spot).lines().enumerate() {
        let cells: Vec<&str> = row.split(',').collect();
        let (right, strike, bid, ask) = (cells[5], cells[6].parse::<u32>().unwrap(), cells[7], cells[8]);
        if keep(i, right) {
            let letter = if right == "call" { 'C' } else { 'P' };
            let comma = if options.is_empty() { "" } else { "," };
            let _ = write!(
                options,
                "{comma}{{\"option\":\"ACME261218{letter}{:08}\",\"bid\":{bid},\"bid_size\":1.0,\"ask\":{ask},\"ask_size\":1.0,\"last_trade_time\":null}}",
                strike * 1000
            );
        }
    }
    format!(
        "{{\"timestamp\":\"2026-11-20 20:{minute:02}:00\",\"symbol\":\"ACME\",\"data\":{{\"symbol\":\"ACME\",\"current_price\":{spot},\"last_trade_time\":\"2026-11-20T15:00:00\",\"options\":[{options}]}}}}"
    )
}

fn whole(spot: f64, minute: u32) -> Act {
    say(cboe(spot, minute, |_, _| true))
}

fn start(feed: &str, more: &[&str], environment: &[(&str, &str)]) -> Daemon {
    let address = free_address();
    let more = [&["--refresh", "0.1", "--threads", "1", "--now", OPEN][..], more].concat();
    let mut program = command(feed, address, &more);
    program.envs(environment.iter().copied());
    Daemon::launch(program, address)
}

fn spot_of(daemon: &Daemon) -> Option<f64> {
    let (status, body) = daemon.get("/l1/greeks?underlying=ACME");
    let rows: Value = (status == 200).then(|| serde_json::from_str(&body).unwrap())?;
    Some(Daemon::number(rows.as_array()?.first()?, "und_price"))
}

fn wait_for_spot(daemon: &Daemon, spot: f64) {
    let began = Instant::now();
    while spot_of(daemon).is_none_or(|shown| (shown - spot).abs() > 1e-9) {
        assert!(began.elapsed() < Duration::from_secs(120), "not at {spot}: {:?}", daemon.health());
        std::thread::sleep(Duration::from_millis(50));
    }
}

fn failures(health: &Value, kind: &str) -> u64 {
    health["feeds"][0]["failures"][kind].as_u64().unwrap_or(0)
}

#[test]
fn after_every_fault_the_last_chain_is_served_and_the_feed_recovers() {
    let server = Server::start(|_| whole(100.0, 10));
    let mut daemon = start(&format!("cboe:ACME,every=0.2,rate=1200@http://{}", server.address), &[], &[]);
    wait_for_spot(&daemon, 100.0);
    let elsewhere = "Location: http://127.0.0.2:1/x\r\n".to_owned();
    let faults: Vec<(&str, Act)> = vec![
        ("cut", Act::Refuse),
        ("cut", Act::Cut(cboe(77.0, 20, |_, _| true))),
        ("server", status(500)),
        ("server", status(503)),
        ("limited", Act::Say(429, "Retry-After: 2\r\n".to_owned(), String::new())),
        ("not_found", status(404)),
        ("status", status(418)),
        ("redirect", Act::Say(302, elsewhere, String::new())),
        ("malformed", say("")),
        ("malformed", say("<html>blocked</html>")),
        ("malformed", say("{\"data\":{\"options\":[{\"option\":\"ACM")),
        ("wrong_name", say(cboe(77.0, 20, |_, _| true).replace("\"ACME\"", "\"OTHER\""))),
        ("empty", say(cboe(77.0, 20, |_, _| false))),
        ("older", whole(77.0, 9)),
    ];
    for (i, (kind, fault)) in faults.into_iter().enumerate() {
        let before = failures(&daemon.health().unwrap(), kind);
        // the other spelling of a name that is not found is not found either
        let times = if kind == "not_found" { 2 } else { 1 };
        server.once(std::iter::repeat_n(fault, times));
        daemon.wait(kind, |health| failures(health, kind) > before);
        assert!(spot_of(&daemon).is_some_and(|spot| spot > 99.0), "{kind}: {:?}", daemon.health());
        let spot = 100.5 + 0.25 * i as f64;
        server.always(move |_| whole(spot, 11 + u32::try_from(i).unwrap()));
        wait_for_spot(&daemon, spot);
    }
    let health = daemon.wait("ok", |health| health["feeds"][0]["state"] == "ok");
    assert_eq!(health["feeds"][0]["delay_s"], 900, "{health}");
    // two requests within a twentieth of a second are more than 1,200 a minute
    let asked = server.asked();
    let close = asked.windows(2).filter(|two| two[1].0 - two[0].0 < Duration::from_millis(35)).count();
    assert!(close <= asked.len() / 10, "{close} of {}", asked.len());
    let counted = health["feeds"][0]["requests"].as_u64().unwrap();
    assert!(counted.abs_diff(asked.len() as u64) <= 5, "{health}");
    let said = daemon.stop().1;
    assert!(said.contains("15 minutes late") && said.contains("personal use"), "{said}");
    assert!(!said.contains("hunter2"), "what a server says is not logged: {said}");
}

#[test]
fn a_server_that_hangs_or_drips_ends_in_its_time() {
    let server = Server::start(|_| whole(100.0, 10));
    let mut daemon = start(&format!("cboe:ACME,every=0.2,rate=1200@http://{}", server.address), &[], &[]);
    wait_for_spot(&daemon, 100.0);
    server.once([Act::Hang, Act::Drip]);
    daemon.wait("two timeouts", |health| failures(health, "timeout") >= 2);
    assert_eq!(spot_of(&daemon), Some(100.0));
    server.always(|_| whole(101.0, 11));
    wait_for_spot(&daemon, 101.0);
}

#[test]
fn a_partial_chain_is_recognised_counted_and_not_served() {
    let server = Server::start(|_| whole(100.0, 10));
    // 18 contracts are a small chain, of which anything is believed: so three names' worth of strikes
    let wide = |spot: f64, minute: u32, keep: fn(usize, &str) -> bool| {
        let one = cboe(spot, minute, keep);
        let (head, tail) = one.split_once("\"options\":[").unwrap();
        let more = tail.replace("261218", "270115");
        say(format!("{head}\"options\":[{},{tail}", more.trim_end_matches("]}}")))
    };
    server.always(move |_| wide(100.0, 10, |_, _| true));
    let mut daemon = start(&format!("cboe:ACME,every=0.2,rate=1200@http://{}", server.address), &[], &[]);
    wait_for_spot(&daemon, 100.0);
    let parts: [fn(usize, &str) -> bool; 2] = [|i, _| i < 4, |_, right| right == "call"];
    for (i, keep) in parts.into_iter().enumerate() {
        server.once([wide(77.0, 11, keep)]);
        let wanted = i as u64 + 1;
        daemon.wait("partial", |health| failures(health, "partial") >= wanted);
        assert_eq!(spot_of(&daemon), Some(100.0), "{:?}", daemon.health());
        assert_eq!(daemon.rows("/l1/greeks?underlying=ACME").len(), 36);
    }
    server.always(move |_| wide(102.0, 12, |_, _| true));
    wait_for_spot(&daemon, 102.0);
}

#[test]
fn a_wrong_key_is_said_and_not_tried_again_and_again_nor_shown_anywhere() {
    let key = "hunter2-hunter2";
    let server = Server::start(|_| status(401));
    for feed in ["tradier", "massive", "alpaca"] {
        let address = server.address;
        let before = server.asked().len();
        let environment = [
            ("GREEKSD_TRADIER_TOKEN", key),
            ("GREEKSD_MASSIVE_KEY", key),
            ("GREEKSD_ALPACA_KEY_ID", key),
            ("GREEKSD_ALPACA_SECRET_KEY", key),
        ];
        let named = format!("{feed}:ACME,every=0.2@http://{address}");
        let mut daemon = start(&named, &["--log-level", "trace"], &environment);
        daemon.wait("refused", |health| health["feeds"][0]["state"] == "refused");
        std::thread::sleep(Duration::from_millis(700));
        let asked = server.asked().split_off(before);
        assert_eq!(asked.len(), 1, "{feed}: {asked:?}");
        assert!(asked[0].2.contains(key) && !asked[0].1.contains(key), "{feed}: the key goes in a header: {asked:?}");
        let pages = ["/", "/health", "/metrics", "/l1/greeks?underlying=ACME"].map(|page| daemon.get(page).1).concat();
        let said = daemon.stop().1;
        assert!(said.contains("refused"), "{said}");
        for shown in [pages, said] {
            assert!(!shown.contains("hunter2"), "{feed}: {shown}");
        }
    }
}

#[test]
fn keys_do_not_go_unencrypted_to_other_machines_nor_stand_on_the_command_line() {
    let refused = |arguments: &[&str], environment: &[(&str, &str)]| {
        let mut program = command("tradier:ACME@http://192.0.2.1:80", free_address(), arguments);
        let ended = program.envs(environment.iter().copied()).output().unwrap();
        assert!(!ended.status.success());
        String::from_utf8(ended.stderr).unwrap()
    };
    let said = refused(&[], &[("GREEKSD_TRADIER_TOKEN", "hunter2")]);
    assert!(said.contains("keys are sent over https") && !said.contains("hunter2"), "{said}");
    assert!(refused(&[], &[]).contains("set GREEKSD_TRADIER_TOKEN"));
    assert!(refused(&["--key", "x"], &[]).contains("unexpected argument"));
}

#[test]
fn what_has_not_changed_is_not_sent_again() {
    let server = Server::start(|_| Act::Say(200, "ETag: \"one\"\r\n".to_owned(), cboe(100.0, 10, |_, _| true)));
    let mut daemon = start(&format!("cboe:ACME,every=0.2,rate=1200@http://{}", server.address), &[], &[]);
    wait_for_spot(&daemon, 100.0);
    server.always(|_| Act::Say(304, String::new(), String::new()));
    let ask_again = |times: usize| {
        let (seen, began) = (server.asked().len(), Instant::now());
        while server.asked().len() < seen + times {
            assert!(began.elapsed() < Duration::from_secs(60), "no further requests");
            std::thread::sleep(Duration::from_millis(50));
        }
    };
    // a whole answer may still be on its way
    ask_again(2);
    let before = daemon.health().unwrap()["quotes"]["received"].clone();
    ask_again(5);
    let asked = server.asked();
    assert!(
        asked[1..].iter().all(|(_, _, head)| head.to_lowercase().contains("if-none-match: \"one\"")) || asked.len() < 3
    );
    assert!(asked.last().unwrap().2.to_lowercase().contains("if-none-match: \"one\""));
    let health = daemon.wait("ok", |health| health["feeds"][0]["state"] == "ok");
    assert_eq!(
        (&health["quotes"]["received"], health["feeds"][0]["failures"].as_object().unwrap().len()),
        (&before, 0)
    );
}

#[test]
fn rates_of_the_treasury_go_beside_the_quotes_of_another_feed() {
    let yields = "Date,\"1 Mo\",\"3 Mo\"\n11/19/2026,6.0,6.0\n11/18/2026,1.0,1.0\n";
    let rates = Server::start(move |target| match target.split('?').next().unwrap_or_default() {
        path if path.ends_with("/daily-treasury-rates.csv/2026/all") => say(yields),
        _ => status(404),
    });
    let quotes = Server::start(|_| whole(100.0, 10));
    let treasury = format!("treasury:every=0.2,rate=1200@http://{}", rates.address);
    let cboe = format!("cboe:ACME,every=0.2,rate=1200@http://{}", quotes.address);
    let mut daemon = start(&treasury, &["--feed", &cboe], &[]);
    wait_for_spot(&daemon, 100.0);
    let rate =
        |daemon: &Daemon| Daemon::number(&daemon.rows("/l1/greeks?underlying=ACME&greeks=chain")[0], "disc_rate");
    // the expiry is 28 days away, before the first yield: a month at 6 %, simple, 30 days
    let want = (1.0f64 + 0.06 * 30.0 / 365.0).ln() * 365.0 / 30.0;
    let shown = |daemon: &Daemon, want: f64| {
        let began = Instant::now();
        while (rate(daemon) - want).abs() > 1e-6 {
            assert!(began.elapsed() < Duration::from_secs(60), "{} and {want}: {:?}", rate(daemon), daemon.health());
            std::thread::sleep(Duration::from_millis(50));
        }
    };
    shown(&daemon, want);
    let health = daemon.wait("rates", |health| health["feeds"][0]["used"]["rates"] == true);
    assert_eq!((&health["feeds"][0]["state"], &health["feeds"][1]["used"]["rates"]), (&"ok".into(), &false.into()));
    assert!(failures(&health, "not_found") > 0, "there is no overnight rate: {health}");
    let overnight = r#"{"refRates":[{"effectiveDate":"2026-11-18","type":"SOFR","percentRate":3.0}]}"#;
    rates.always(move |target| if target.contains("/sofr/") { say(overnight) } else { say(yields) });
    // linear in rate times time, from one day to 30
    let night = (1.0f64 + 0.03 / 360.0).ln() * 365.0;
    let days = Daemon::number(&daemon.rows("/l1/greeks?underlying=ACME&greeks=chain")[0], "days");
    shown(&daemon, (night + (30.0 * want - night) * (days - 1.0) / 29.0) / days);
    // what cannot be used takes no rates away
    let before = rate(&daemon);
    rates.always(|_| say("<html>blocked</html>"));
    daemon.wait("malformed", |health| failures(health, "malformed") > 2);
    assert!((rate(&daemon) - before).abs() < 1e-12);
    let asked = rates.asked();
    assert!(asked.iter().any(|(_, target, _)| target.contains("startDate=2026-10-21&endDate=2026-11-20")), "{asked:?}");
}

#[test]
fn dividends_of_nasdaq_go_beside_the_quotes_of_another_feed() {
    let rows = |dates: &[&str]| {
        let row = |day: &&str| format!("{{\"exOrEffDate\":\"{day}\",\"type\":\"CASH\",\"amount\":\"$0.25\"}}");
        let rows = dates.iter().map(row).collect::<Vec<_>>().join(",");
        say(format!("{{\"data\":{{\"dividends\":{{\"rows\":[{rows}]}}}}}}"))
    };
    // no stock by that name, but a fund
    let fund = move |target: &str, dates: &[&str]| {
        if target.ends_with("assetclass=etf") { rows(dates) } else { say("{\"data\":null}") }
    };
    let server = Server::start(move |target| fund(target, &["12/01/2026", "09/01/2026", "06/01/2026"]));
    let quotes = Server::start(|_| whole(100.0, 10));
    let nasdaq = format!("nasdaq:ACME,every=0.2,rate=1200@http://{}", server.address);
    let cboe = format!("cboe:ACME,every=0.2,rate=1200@http://{}", quotes.address);
    let mut daemon = start(&nasdaq, &["--feed", &cboe], &[]);
    wait_for_spot(&daemon, 100.0);
    let divs = |daemon: &Daemon| Daemon::number(&daemon.rows("/l1/greeks?underlying=ACME&greeks=chain")[0], "divs");
    let shown = |daemon: &Daemon, want: f64| {
        let began = Instant::now();
        while (divs(daemon) - want).abs() > 1e-9 {
            assert!(began.elapsed() < Duration::from_secs(60), "{} and {want}: {:?}", divs(daemon), daemon.health());
            std::thread::sleep(Duration::from_millis(50));
        }
    };
    shown(&daemon, 0.25);
    let health = daemon.wait("dividends", |health| health["feeds"][0]["used"]["dividends"] == 1);
    assert_eq!((&health["feeds"][0]["state"], &health["feeds"][1]["used"]["dividends"]), (&"ok".into(), &0.into()));
    // what cannot be used takes none away; what the vendor no longer has is gone
    server.always(|_| say("<html>blocked</html>"));
    daemon.wait("malformed", |health| failures(health, "malformed") > 1);
    assert!((divs(&daemon) - 0.25).abs() < 1e-9);
    server.always(move |target| fund(target, &["01/05/2027", "10/05/2026", "07/06/2026"]));
    shown(&daemon, 0.0);
    let first = server.asked().iter().filter(|(_, target, _)| target.ends_with("assetclass=stocks")).count();
    assert_eq!(first, 1, "that it is a fund is remembered");
}

/// A page of Massive's dividends, and where the next one is.
fn massive_dividends(dates: &[&str], next: Option<&str>) -> Act {
    let row = |day: &&str| {
        format!("{{\"ticker\":\"ACME\",\"ex_dividend_date\":\"{day}\",\"cash_amount\":0.25,\"frequency\":4}}")
    };
    let rows = dates.iter().map(row).collect::<Vec<_>>().join(",");
    let next = next.map_or_else(String::new, |query| format!(",\"next_url\":\"https://elsewhere.example/x?{query}\""));
    say(format!("{{\"status\":\"OK\",\"results\":[{rows}]{next}}}"))
}

fn wait_for_divs(daemon: &Daemon, want: f64) {
    let divs = || Daemon::number(&daemon.rows("/l1/greeks?underlying=ACME&greeks=chain")[0], "divs");
    let began = Instant::now();
    while (divs() - want).abs() > 1e-9 {
        assert!(began.elapsed() < Duration::from_secs(60), "{} and {want}: {:?}", divs(), daemon.health());
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn dividends_alone_of_a_vendor_go_beside_the_quotes_of_another_feed_page_by_page() {
    let first = |target: &str| !target.contains("cursor=");
    // what is to come is on the second page
    let server = Server::start(move |target| match first(target) {
        true => massive_dividends(&["2026-09-01", "2026-06-01"], Some("cursor=two&apiKey=x")),
        false => massive_dividends(&["2026-12-01"], None),
    });
    let quotes = Server::start(|_| whole(100.0, 10));
    let massive = format!("massive:ACME,dividends=only,every=0.2,rate=1200@http://{}", server.address);
    let cboe = format!("cboe:ACME,every=0.2,rate=1200@http://{}", quotes.address);
    let mut daemon = start(&massive, &["--feed", &cboe], &[("GREEKSD_MASSIVE_KEY", "hunter2")]);
    wait_for_spot(&daemon, 100.0);
    wait_for_divs(&daemon, 0.25);
    let health = daemon.wait("dividends", |health| health["feeds"][0]["used"]["dividends"] == 1);
    assert_eq!((&health["feeds"][0]["state"], &health["feeds"][0]["used"]["quotes"]), (&"ok".into(), &0.into()));
    let asked = server.asked();
    assert!(asked.iter().all(|(_, target, head)| {
        target.starts_with("/stocks/v1/dividends?") && !target.contains("apiKey") && head.contains("Bearer hunter2")
    }));
    let wanted = "?ticker=ACME&ex_dividend_date.gte=2023-11-20&sort=ex_dividend_date.desc&limit=1000";
    assert!(asked[0].1.ends_with(wanted) && asked[1].1.ends_with("?cursor=two"), "{asked:?}");
    // pages without an end take nothing away, nor does a page of somebody else. Counted from before the answers change:
    // the daemon goes on asking
    let before = server.asked().len();
    let turn = std::sync::atomic::AtomicUsize::new(0);
    server.always(move |_| {
        let turn = turn.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        massive_dividends(&[], Some(&format!("cursor={turn}")))
    });
    daemon.wait("malformed", |health| failures(health, "malformed") > 0);
    // a read that began before the answers changed has a page less: the first one that began after it counts
    let begins = || -> Vec<usize> {
        let asked = server.asked();
        (before..asked.len()).filter(|&n| first(&asked[n].1)).collect()
    };
    daemon.wait("another read", |_| begins().len() > 1);
    let asked = begins()[1] - begins()[0];
    assert!((20..45).contains(&asked), "{asked} pages");
    wait_for_divs(&daemon, 0.25);
    // a name that pays none any more has none
    server.always(|_| massive_dividends(&[], None));
    wait_for_divs(&daemon, 0.0);
}

#[test]
fn dividends_of_a_vendor_come_with_its_chains_and_hold_up_none_of_them() {
    let market = |spot: f64| vendors::VendorState::whole(spot, OPEN.parse().unwrap());
    let is_dividends = |target: &str| target.starts_with("/beta/markets/fundamentals/dividends?symbols=ACME");
    let chains = move |spot: f64, dividends: fn(String) -> Act| {
        move |target: &str| {
            let right = vendors::TestedVendor::Tradier.answer(target, market(spot));
            if is_dividends(target) { dividends(right) } else { say(right) }
        }
    };
    let asked = |server: &Server| {
        let asked = server.asked();
        (asked.iter().filter(|(_, target, _)| is_dividends(target)).count(), asked.len())
    };
    let key = [("GREEKSD_TRADIER_TOKEN", "hunter2")];
    let server = Server::start(chains(100.0, say));
    let feed = |more: &str| format!("tradier:ACME,every=0.2,rate=6000{more}@http://{}", server.address);
    let mut daemon = start(&feed(""), &[], &key);
    wait_for_spot(&daemon, 100.0);
    wait_for_divs(&daemon, 1.0);
    server.always(chains(101.0, say));
    wait_for_spot(&daemon, 101.0);
    let health = daemon.wait("dividends", |health| health["feeds"][0]["used"]["dividends"] == 1);
    assert_eq!((asked(&server).0, health["feeds"][0]["failures"].as_object().unwrap().len()), (1, 0), "once a day");
    drop(daemon);
    // a plan without them: the chains come all the same, and they are not asked for again soon
    server.always(chains(102.0, |_| status(401)));
    let mut daemon = start(&feed(""), &[], &key);
    wait_for_spot(&daemon, 102.0);
    let health = daemon.wait("refused", |health| failures(health, "refused") == 1);
    assert_eq!(health["feeds"][0]["state"], "ok", "{health}");
    server.always(chains(103.0, say));
    wait_for_spot(&daemon, 103.0);
    assert_eq!(asked(&server).0, 2);
    let said = daemon.stop().1;
    assert!(said.contains("/beta/markets/fundamentals/dividends: refused") && !said.contains("hunter2"), "{said}");
    // and not at all where nobody wants them
    let daemon = start(&feed(",dividends=no"), &[], &key);
    wait_for_spot(&daemon, 103.0);
    server.always(chains(104.0, say));
    wait_for_spot(&daemon, 104.0);
    assert_eq!(asked(&server).0, 2);
}

#[test]
fn prices_of_all_names_come_together_between_sweeps() {
    use vendors::{KEY, TestedVendor, VendorState, environment};
    let ts = |second: i64| OPEN.parse::<jiff::Timestamp>().unwrap() + jiff::SignedDuration::from_secs(second);
    for vendor in TestedVendor::ALL.into_iter().filter(|vendor| vendor.has_spots() && vendor.has_chains()) {
        let market = move |spot, second| VendorState::whole(spot, ts(second));
        let server = Server::start(move |target| say(vendor.answer(target, market(100.0, -60))));
        let given = environment();
        let given: Vec<(&str, &str)> = given.iter().map(|(name, value)| (*name, value.as_str())).collect();
        // one sweep in the time of the test
        let more = if vendor == TestedVendor::Tradier { ",dividends=no" } else { "" };
        let feed = format!("{}:ACME,every=3600,rate=6000,spots=0.5{more}@http://{}", vendor.word(), server.address);
        let mut daemon = start(&feed, &[], &given);
        wait_for_spot(&daemon, 100.0);
        daemon.wait("computed", |health| health["pending"] == 0);
        let before = server.asked().len();
        server.always(move |target| say(vendor.answer(target, market(100.25, -30))));
        wait_for_spot(&daemon, 100.25);
        let asked = server.asked().split_off(before);
        assert!(!asked.is_empty() && asked.iter().all(|(_, target, _)| is_price(target)), "{vendor:?}: {asked:?}");
        // another name's price and a refused request change nothing, and the first is no fault of the vendor
        server.always(move |target| say(vendor.answer(target, VendorState { name: "OTHER", ..market(77.0, -20) })));
        let health = daemon.wait("wrong_name", |health| failures(health, "wrong_name") > 0);
        assert_eq!((&health["feeds"][0]["state"], spot_of(&daemon)), (&"ok".into(), Some(100.25)), "{health}");
        server.always(|_| status(503));
        let health = daemon.wait("server", |health| failures(health, "server") > 0);
        assert_eq!((&health["feeds"][0]["state"], spot_of(&daemon)), (&"backing_off".into(), Some(100.25)), "{health}");
        assert!(server.asked().iter().all(|(_, target, _)| !target.contains(KEY)), "{vendor:?}");
    }
}

fn is_price(target: &str) -> bool {
    ["/v1/markets/quotes?", "/v2/stocks/snapshots?", "/marketdata/v1/quotes?"]
        .iter()
        .any(|path| target.starts_with(path))
}

#[test]
fn a_redirect_within_the_server_is_followed_and_an_index_is_found_in_its_other_spelling() {
    let server = Server::start(|target| match target {
        "/moved.json" => whole(100.0, 10),
        "/api/global/delayed_quotes/options/_ACME.json" => {
            Act::Say(302, "Location: /moved.json\r\n".to_owned(), String::new())
        }
        _ => status(403),
    });
    let daemon = start(&format!("cboe:ACME,every=0.2,rate=1200@http://{}", server.address), &[], &[]);
    wait_for_spot(&daemon, 100.0);
    let asked = server.asked();
    assert!(asked[0].1.ends_with("/ACME.json") && asked[1].1.ends_with("/_ACME.json"), "{asked:?}");
    let began = Instant::now();
    while server.asked().len() < 7 {
        assert!(began.elapsed() < Duration::from_secs(60));
        std::thread::sleep(Duration::from_millis(50));
    }
    let wrong = server.asked().iter().filter(|(_, target, _)| target.ends_with("/ACME.json")).count();
    assert_eq!(wrong, 1, "it is remembered");
}

#[test]
fn a_proxy_of_the_environment_is_not_used_for_this_machine() {
    let (server, proxy) = (Server::start(|_| whole(100.0, 10)), Server::start(|_| status(502)));
    let through = format!("http://{}", proxy.address);
    let environment = ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY"].map(|name| (name, through.as_str()));
    let daemon = start(&format!("cboe:ACME,every=1@http://{}", server.address), &[], &environment);
    wait_for_spot(&daemon, 100.0);
    assert_eq!(proxy.asked().len(), 0);
    drop(daemon);
    // another machine is asked for there, and only there
    let mut daemon = start("cboe:ACME,every=1@http://vendor.invalid", &[], &environment);
    daemon
        .wait("a failure", |health| health["feeds"][0]["failures"].as_object().is_some_and(|kinds| !kinds.is_empty()));
    assert!(!proxy.asked().is_empty());
}

/// `ThetaData`'s answers: quotes of a root, the price of the underlying.
fn theta(target: &str, spot: f64, second: u32) -> Act {
    let time = format!("2026-11-20T15:42:{second:02}.000");
    if target.starts_with("/v3/stock/snapshot/quote?symbol=ACME") {
        let header = "timestamp,symbol,bid_size,bid_exchange,bid,bid_condition,ask_size,ask_exchange,ask,ask_condition";
        let (bid, ask) = (spot - 0.01, spot + 0.01);
        return say(format!("{header}\n{time},ACME,1,1,{bid:.2},0,1,1,{ask:.2},0\n"));
    }
    assert!(target.starts_with("/v3/option/snapshot/quote?symbol=ACME&expiration=*"), "{target}");
    let mut out = "timestamp,symbol,expiration,strike,right,bid_size,bid_exchange,bid,bid_condition,ask_size,ask_exchange,ask,ask_condition\n".to_owned();
    for row in chain(spot).lines() {
        let cells: Vec<&str> = row.split(',').collect();
        let (right, strike, bid, ask) = (cells[5].to_uppercase(), cells[6], cells[7], cells[8]);
        let _ = writeln!(out, "{time},ACME,2026-12-18,{strike}.000,{right},1,1,{bid},0,1,1,{ask},0");
    }
    say(out)
}

#[test]
fn thetadata_is_swept_by_root_and_lives_without_a_price_of_its_own() {
    let server = Server::start(|target| theta(target, 100.0, 10));
    let lines = free_address();
    let feed = format!("theta:ACME,every=0.2@http://{}", server.address);
    let mut daemon = start(&feed, &["--feed", &format!("tcp:{lines}")], &[]);
    wait_for_spot(&daemon, 100.0);
    for (kind, act) in [
        ("server", Act::Say(474, String::new(), "disconnected".to_owned())),
        ("refused", Act::Say(478, String::new(), "session".to_owned())),
    ] {
        server.once([act]);
        daemon.wait(kind, |health| failures(health, kind) == 1);
        assert!(spot_of(&daemon).is_some_and(|spot| spot > 99.0), "{kind}");
        if kind == "server" {
            server.always(|target| theta(target, 101.0, 11));
            wait_for_spot(&daemon, 101.0);
        }
    }
    drop(daemon);
    // without the subscription for stocks, another feed has the price
    server.always(|target| match target.starts_with("/v3/stock") {
        true => Act::Say(471, String::new(), "permission".to_owned()),
        false => theta(target, 100.0, 12),
    });
    let mut daemon = start(&feed, &["--feed", &format!("tcp:{lines}")], &[]);
    let mut push = TcpStream::connect(lines).unwrap();
    push.write_all(b"{\"symbol\":\"ACME\",\"price\":100.25,\"time\":\"2026-11-20T15:42:00-05:00\"}\n").unwrap();
    wait_for_spot(&daemon, 100.25);
    let health = daemon.wait("both", |health| health["feeds"][1]["used"]["spots"] == 1);
    assert_eq!(health["feeds"][0]["used"]["quotes"], 1, "{health}");
    assert!(failures(&health, "refused") > 0 && health["feeds"][0]["state"] == "ok", "{health}");
    std::thread::sleep(Duration::from_millis(600));
    assert_eq!(spot_of(&daemon), Some(100.25), "the next sweep leaves the other feed's price where it is");
}

#[test]
fn names_that_somebody_asks_for_come_first() {
    // more names than the rate allows
    let server = Server::start(|target| {
        let name = target.rsplit('/').next().unwrap().trim_end_matches(".json").trim_start_matches('_');
        say(cboe(100.0, 10, |_, _| true).replace("ACME", name))
    });
    let names: Vec<String> = (0..30).map(|i| format!("NAME{i}")).collect();
    let feed = format!("cboe:{},ACME,every=0.1,rate=600@http://{}", names.join(","), server.address);
    let mut daemon = start(&feed, &[], &[]);
    daemon.wait("all", |health| health["underlyings"] == 31);
    let count = || {
        let asked = server.asked();
        (asked.iter().filter(|(_, target, _)| target.ends_with("/ACME.json")).count(), asked.len())
    };
    let before = count();
    assert!(spot_of(&daemon).is_some());
    let began = Instant::now();
    while count().1 < before.1 + 40 {
        assert!(began.elapsed() < Duration::from_secs(60));
        std::thread::sleep(Duration::from_millis(50));
    }
    let after = count();
    assert!(after.0 - before.0 > 10, "{} of {} requests", after.0 - before.0, after.1 - before.1);
}

/// A server that speaks TLS with one of the certificates of the tests, and one answer.
fn encrypted(certificate: &'static str) -> SocketAddr {
    use rustls::pki_types::pem::PemObject;
    use rustls::pki_types::{CertificateDer, PrivateKeyDer};
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/certificates");
    let chain = vec![CertificateDer::from_pem_file(folder.join(certificate)).unwrap()];
    let key = PrivateKeyDer::from_pem_file(folder.join("server.key")).unwrap();
    let config = rustls::ServerConfig::builder().with_no_client_auth().with_single_cert(chain, key).unwrap();
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for connection in listener.incoming().flatten() {
            let Ok(session) = rustls::ServerConnection::new(Arc::clone(&config)) else { continue };
            let mut stream = BufReader::new(rustls::StreamOwned::new(session, connection));
            let mut line = String::new();
            while stream.read_line(&mut line).is_ok_and(|n| n > 2) {}
            let body = cboe(100.0, 10, |_, _| true);
            let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
            let _ = stream.get_mut().write_all((head + &body).as_bytes());
            stream.get_mut().conn.send_close_notify();
            let _ = stream.get_mut().flush();
        }
    });
    address
}

#[test]
fn certificates_are_those_of_an_authority_that_is_trusted_and_not_expired() {
    let authority = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/certificates/authority.pem");
    let feed = |address: SocketAddr| format!("cboe:ACME,every=0.2,rate=1200@https://{address}");
    let good = encrypted("server.pem");
    wait_for_spot(&start(&feed(good), &["--feed-ca", authority], &[]), 100.0);
    for (address, more) in [(good, vec![]), (encrypted("expired.pem"), vec!["--feed-ca", authority])] {
        let mut daemon = start(&feed(address), &more, &[]);
        let health = daemon.wait("tls", |health| failures(health, "tls") > 1);
        assert_eq!((spot_of(&daemon), &health["feeds"][0]["state"]), (None, &Value::from("backing_off")), "{health}");
    }
    let mut wrong = command(&feed(good), free_address(), &["--feed-ca", file!()]);
    let said =
        String::from_utf8(wrong.current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/..")).output().unwrap().stderr);
    assert!(said.unwrap().contains("no certificate"));
}
