//! The program as its user runs it: the embedded market over HTTP, a folder of chains with bad rows, a second instance,
//! a signal.
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use crate::support::Client;
use crate::support::daemon::{Daemon, HEADER, chain, command, folder, free_address, norm_cdf, remove};
use serde_json::Value;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

/// Black-76 from nothing but the row's own fields: (name, value, size that its rounding to six decimals is held
/// against).
fn black76(row: &Value) -> Vec<(&'static str, f64)> {
    let of = |name| Daemon::number(row, name);
    let (f, k, t, sigma) = (of("fwd_price"), of("strike"), of("days") / 365.0, of("svc_vol"));
    let (r, b, phi) = (of("disc_rate"), of("borr_rate"), if row["right"] == "call" { 1.0 } else { -1.0 });
    let sd = sigma * t.sqrt();
    let d1 = (f / k).ln() / sd + 0.5 * sd;
    let (df, carry) = ((-r * t).exp(), (-b * t).exp());
    let (n1, n2) = (norm_cdf(phi * d1), norm_cdf(phi * (d1 - sd)));
    let density = (-0.5 * d1 * d1).exp() / (2.0 * std::f64::consts::PI).sqrt();
    // the spot that forward, rate and borrow imply
    let s = f * (-(r - b) * t).exp();
    let value = df * phi * (f * n1 - k * n2);
    let delta = phi * carry * n1;
    let gamma = carry * density / (s * sd);
    let vega = s * carry * density * t.sqrt();
    let theta = r * value - (r - b) * s * delta - 0.5 * sigma * sigma * s * s * gamma;
    vec![
        ("svc_theo", value),
        ("delta", delta),
        ("gamma", gamma),
        ("vega", vega / 100.0),
        ("theta", theta / 365.0),
        ("rho", phi * k * t * df * n2 / 100.0),
    ]
}

#[test]
fn european_rows_reproduce_black_76_from_their_own_fields() {
    let daemon = Daemon::start("sim", &["--now", "2026-11-20T15:42:00-05:00", "--threads", "2"]);
    let health = daemon.health().unwrap();
    assert_eq!((&health["simulated"], &health["pending"]), (&Value::Bool(true), &Value::from(0)));
    assert_eq!(health["preliminary"], 0, "a small market is at full accuracy at once");
    assert!((20_000..60_000).contains(&health["contracts"].as_u64().unwrap()), "{health}");
    let rows = daemon.rows("/l1/greeks?underlying=SPX,XSP&greeks=all&min_days=1");
    assert!(rows.len() > 5_000, "{} rows", rows.len());
    for row in &rows {
        assert_eq!(row["ex_style"], "european");
        for (name, wanted) in black76(row) {
            let got = Daemon::number(row, name);
            // the row's inputs are rounded to six decimals too: volatility moves a price, r and b move theta by S·Δ
            let rounding = match name {
                "svc_theo" => 2e-6 + 5e-5 * Daemon::number(row, "vega"),
                "theta" => 2e-6 + 1e-6 * Daemon::number(row, "und_price") / 365.0,
                _ => 1e-6,
            };
            let bound = 1e-4 * wanted.abs() + rounding;
            assert!((got - wanted).abs() <= bound, "{name}: {got} but Black-76 gives {wanted}\n{row}");
        }
    }
    let (code, said) = daemon.stop();
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("simulated") && said.contains("contracts"), "{said}");
    assert_eq!(said.matches("serving http://").count(), 1, "one banner: {said}");
}

/// Writes the chain at another spot, and waits until it is served.
fn follow(daemon: &Daemon, folder: &Path, spot: f64, more: &str) {
    std::fs::write(folder.join("chains/acme.csv"), format!("{HEADER}{}{more}", chain(spot))).unwrap();
    let began = Instant::now();
    let shown = || daemon.rows("/l1/greeks?underlying=ACME").first().map(|row| Daemon::number(row, "und_price"));
    while shown().is_none_or(|shown| (shown - spot).abs() > 1e-9) {
        assert!(began.elapsed() < Duration::from_secs(60), "the changed file was not read");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_reader_of_the_log_that_has_left_ends_nothing() {
    let folder = folder("left", &chain(100.0));
    let mut daemon = Daemon::start(&format!("dir:{}", folder.display()), &["--refresh", "0.1"]);
    drop(daemon.child.stderr.take());
    let bad = "2026-11-20T16:00:00-05:00,ACME,100,ACME,2026-12-18,call,banana,1,2,,\n";
    follow(&daemon, &folder, 101.0, bad);
    follow(&daemon, &folder, 102.0, "");
    Command::new("kill").args(["-TERM", &daemon.child.id().to_string()]).status().unwrap();
    assert_eq!(daemon.child.wait().unwrap().code(), Some(0));
    remove(&folder);
}

#[test]
fn a_reader_of_the_log_that_does_not_read_holds_up_nothing() {
    let folder = folder("unread", &chain(100.0));
    // 400 bytes of path a line: what twenty rounds say is more than any pipe holds
    let long = folder.join("x".repeat(200)).join("y".repeat(200));
    std::fs::create_dir_all(long.join("chains")).unwrap();
    std::fs::write(long.join("chains/acme.csv"), format!("{HEADER}{}", chain(100.0))).unwrap();
    let daemon = Daemon::start(&format!("dir:{}", long.display()), &["--refresh", "0.1"]);
    let bad = "2026-11-20T16:00:00-05:00,ACME,100,ACME,2026-12-18,call,banana,1,2,,\n".repeat(100);
    for round in 1..=20 {
        follow(&daemon, &long, 100.0 + f64::from(round) / 4.0, &bad);
    }
    let (status, metrics) = daemon.get("/metrics");
    assert!(status == 200 && metrics.contains("greeksd_log_lines_dropped_total"), "{metrics}");
    Command::new("kill").args(["-TERM", &daemon.child.id().to_string()]).status().unwrap();
    let mut daemon = daemon;
    assert_eq!(daemon.child.wait().unwrap().code(), Some(0), "nobody waits for the log");
    remove(&folder);
}

#[test]
fn a_state_folder_has_one_daemon_and_is_told_where_it_cannot_be_written() {
    let folder = folder("owned", &chain(100.0));
    let feed = format!("dir:{}", folder.display());
    let state = folder.join("state").display().to_string();
    let daemon = Daemon::start(&feed, &["--state-dir", &state]);
    let second = command(&feed, free_address(), &["--state-dir", &state]).output().unwrap();
    let said = String::from_utf8_lossy(&second.stderr);
    assert!(second.status.code() == Some(1) && said.contains("another greeksd uses it"), "{said}");
    assert_eq!(daemon.stop().0, Some(0));
    assert_eq!(Daemon::start(&feed, &["--state-dir", &state]).stop().0, Some(0), "it is free again");
    // below a file there is no folder, whoever asks
    let below = folder.join("chains/acme.csv/state").display().to_string();
    // after the close, whenever the test runs: in a session the market would be stale first
    let daemon = Daemon::start(&feed, &["--state-dir", &below, "--now", "2026-11-20T16:05:00-05:00"]);
    let health = daemon.health().unwrap();
    assert_eq!((&health["state"]["failing"], &health["status"]), (&Value::Bool(true), &Value::from("unsaved")));
    let (_, said) = daemon.stop();
    assert!(said.contains("nothing survives a restart"), "{said}");
    remove(&folder);
}

#[test]
fn a_hangup_reads_files_again_and_ends_nothing() {
    let folder = folder("hangup", &chain(100.0));
    let positions = folder.join("positions.csv");
    std::fs::write(&positions, "symbol,quantity\nACME,1\n").unwrap();
    let mut daemon =
        Daemon::start(&format!("dir:{}", folder.display()), &["--positions", &positions.display().to_string()]);
    let read = "positions.csv: 1 line";
    let mut said = String::new();
    let mut log = std::io::BufReader::new(daemon.child.stderr.take().unwrap());
    while !said.contains(read) {
        assert_ne!(log.read_line(&mut said).unwrap(), 0, "{said}");
    }
    said.clear();
    Command::new("kill").args(["-HUP", &daemon.child.id().to_string()]).status().unwrap();
    while !said.contains(read) {
        assert_ne!(log.read_line(&mut said).unwrap(), 0, "{said}");
    }
    assert!(said.contains("SIGHUP"), "{said}");
    assert_eq!(daemon.get("/health").0, 200);
    remove(&folder);
}

#[test]
fn nothing_is_made_for_a_start_that_is_refused() {
    let folder = folder("refused", &chain(100.0));
    let made = folder.join("made");
    let [record, state, log] = ["recorded", "state", "log/log"].map(|name| made.join(name).display().to_string());
    let more = |feed: &str, more: &[&str]| {
        let given = ["--record", &record, "--state-dir", &state, "--log-file", &log];
        let refused = command(feed, free_address(), &[&given, more].concat()).output().unwrap();
        assert_eq!(refused.status.code(), Some(1), "{}", String::from_utf8_lossy(&refused.stderr));
        assert!(!made.exists(), "{feed} {more:?}");
    };
    more("sim", &[]);
    more("dir:/no/such/folder", &[]);
    more("history:/no/such/folder", &[]);
    more("stdin:", &["--feed", "sim"]);
    more(&format!("dir:{}", folder.display()), &["--positions", "/no/such/file"]);
    remove(&folder);
}

#[test]
fn a_folder_with_bad_rows_is_served_and_followed() {
    let bad = "2026-11-20T16:00:00-05:00,ACME,100,ACME,2026-12-18,call,banana,1,2,,\n\
               2026-11-20T16:00:00-05:00,ACME,100,ACME,2026-02-30,call,100,1,2,,\n\
               2026-11-20T16:00:00-05:00,ACME,100,ACME,2026-12-18,neither,100,1,2,,\n";
    let folder = folder("bad", &(chain(100.0) + bad));
    let daemon = Daemon::start(&format!("dir:{}", folder.display()), &["--refresh", "0.1"]);
    let rows = daemon.rows("/l1/greeks?underlying=ACME&greeks=core,chain");
    assert_eq!(rows.len(), 18);
    for row in rows.iter().filter(|row| (90.0..=110.0).contains(&Daemon::number(row, "strike"))) {
        assert!((Daemon::number(row, "svc_vol") - 0.25).abs() < 0.01, "{row}");
    }
    let dropped = &daemon.health().unwrap()["quotes"]["dropped"];
    for reason in ["not_a_number", "not_a_date", "not_a_right"] {
        assert_eq!(dropped[reason], 1, "{dropped}");
    }

    follow(&daemon, &folder, 103.0, "");

    std::fs::write(folder.join("chains/acme.csv"), b"\xff\xfe not a chain").unwrap();
    std::thread::sleep(Duration::from_millis(500));
    assert_eq!(daemon.get("/health").0, 200);
    let (code, said) = daemon.stop();
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("acme.csv:20: strike: not_a_number"), "{said}");
    remove(&folder);
}

#[test]
fn more_idle_clients_than_the_system_allows_lock_nobody_out() {
    let folder = folder("idle", &chain(100.0));
    // room for 64 connections
    let daemon = Daemon::start_within(128, &format!("dir:{}", folder.display()), &["--refresh", "0.1"]);
    let mut idle: Vec<Client> = Vec::new();
    for _ in 0..90 {
        let mut client = Client::new(daemon.address);
        assert_eq!(client.get("/health").status, 200);
        idle.push(client);
    }
    assert!(idle[0].is_closed() && idle[89].get("/health").status == 200);
    // and the feed is still read
    follow(&daemon, &folder, 101.0, "");
    let (code, said) = daemon.stop();
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("limited to 64 connections"), "{said}");
    remove(&folder);
}

#[test]
fn too_few_files_refuse_the_start() {
    let address = free_address();
    let daemon = command("sim", address, &[]);
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", "ulimit -n 64 && exec \"$0\" \"$@\""]).arg(daemon.get_program()).args(daemon.get_args());
    let out = shell.env_clear().output().unwrap();
    let said = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.code() == Some(1) && said.contains("open files") && said.contains("ulimit -n"), "{said}");
}

#[test]
fn a_name_that_was_allowed_is_answered_and_others_are_not() {
    let folder = folder("hosts", &chain(100.0));
    let daemon = Daemon::start(&format!("dir:{}", folder.display()), &["--allow-host", "box.example"]);
    let status = |host: &str| {
        let mut client = Client::new(daemon.address);
        client.send(format!("GET /health HTTP/1.1\r\nHost: {host}\r\n\r\n"));
        client.response().status
    };
    for (host, wanted) in [("box.example", 200), ("BOX.example:2112", 200), ("localhost", 200), ("evil.example", 421)] {
        assert_eq!(status(host), wanted, "{host}");
    }
    assert_eq!(daemon.stop().0, Some(0));
    remove(&folder);
}

#[test]
fn a_second_instance_on_the_port_fails_clearly() {
    let folder = folder("second", &chain(100.0));
    let feed = format!("dir:{}", folder.display());
    let first = Daemon::start(&feed, &[]);
    let second = command(&feed, first.address, &[]).output().unwrap();
    let said = String::from_utf8_lossy(&second.stderr);
    assert!(!second.status.success());
    assert!(said.contains(&first.address.to_string()) && said.contains("in use"), "{said}");
    assert_eq!(first.stop().0, Some(0));
    remove(&folder);
}

#[test]
fn a_feed_that_is_not_there_is_an_error_with_its_name() {
    for (feed, wanted) in [
        ("dir:/no/such/folder", "/no/such/folder: no such file or folder"),
        ("history:/no/such/folder", "/no/such/folder: no such file or folder"),
        ("nonsense", "expected sim"),
        ("sim:seed=x", "seed"),
    ] {
        let out = command(feed, free_address(), &[]).output().unwrap();
        let said = String::from_utf8_lossy(&out.stderr);
        assert!(!out.status.success() && said.contains(wanted), "{feed}: {said}");
    }
}

#[test]
fn quotes_are_shown_where_that_is_asked() {
    let folder = folder("quotes", &chain(100.0));
    let feed = format!("dir:{}", folder.display());
    let daemon = Daemon::start(&feed, &["--now", "2026-11-20T16:05:00-05:00", "--threads", "1", "--show-quotes"]);
    let rows = daemon.rows("/l1/greeks?underlying=ACME&greeks=core,quote");
    assert_eq!(rows.len(), 18);
    for row in &rows {
        let of = |name| Daemon::number(row, name);
        assert_eq!(row["quote_time"], "2026-11-20T16:00:00.000-05:00");
        assert_eq!((of("bid_size"), of("ask_size")), (10.0, 10.0), "{row}");
        if row["bid"].is_null() {
            assert!(row["mid"].is_null() && of("ask") > 0.0, "{row}");
        } else {
            assert!((of("mid") - (of("bid") + of("ask")) / 2.0).abs() < 1e-6, "{row}");
            // puts are quoted without the right to exercise early
            let is_near = (of("svc_theo") - of("mid")).abs() < 0.05;
            assert!(is_near || row["right"] == "put", "the value is that of the quote: {row}");
        }
    }
    assert!(rows.iter().filter(|row| row["bid"].is_number()).count() > 10);
    drop(daemon);
    let daemon = Daemon::start(&feed, &["--now", "2026-11-20T16:05:00-05:00", "--threads", "1"]);
    assert_eq!(daemon.get("/l1/greeks?underlying=ACME&greeks=quote").0, 400);
    remove(&folder);
}

/// Puts a book; the status and the body of the answer.
fn put(daemon: &Daemon, body: &str) -> (u16, Value) {
    let mut client = Client::new(daemon.address);
    let head = format!("PUT /l1/positions HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n", body.len());
    client.send(head + body);
    let response = client.response();
    (response.status, serde_json::from_str(&response.text()).unwrap())
}

#[test]
fn a_book_is_replaced_whole_or_not_at_all() {
    let daemon = Daemon::start("sim", &["--now", "2026-11-20T15:42:00-05:00", "--allow-positions"]);
    let book = |lines: usize| "symbol,quantity\n".to_owned() + &"KO,1\n".repeat(lines) + "KO,x\n";
    let held = || daemon.rows("/l1/positions?by=total").first().map(|row| row["positions"].as_u64().unwrap());
    assert_eq!(held(), None);
    let (status, facts) = put(&daemon, &book(7));
    assert_eq!((status, &facts["lines"], &facts["refused"]), (200, &Value::from(7), &Value::from(1)), "{facts}");
    assert_eq!(held(), Some(7), "what was answered is served");
    for (bad, why) in [
        (book(0), "KO,x"),
        ("symbol,quantity\nKO,\"1,000\"\n".to_owned(), "1,000"),
        ("symbol,quantity\n".to_owned(), "no row"),
        ("symbol,quantity,quantity\nKO,1,2\n".to_owned(), "two columns"),
        ("nothing\n".to_owned(), "no header"),
    ] {
        let (status, said) = put(&daemon, &bad);
        assert_eq!((status, held()), (400, Some(7)), "{why}: {said}");
        assert!(said["error"].as_str().unwrap().starts_with("PUT /l1/positions"), "{said}");
    }
    // each answer is about its own body
    std::thread::scope(|scope| {
        for lines in 1..=6 {
            let (daemon, book) = (&daemon, book(lines));
            scope.spawn(move || {
                for _ in 0..50 {
                    let (status, facts) = put(daemon, &book);
                    assert_eq!((status, facts["lines"].as_u64()), (200, Some(lines as u64)), "{facts}");
                }
            });
        }
    });
    assert!((1..=6).contains(&held().unwrap()));
    assert_eq!(daemon.health().unwrap()["thread_faults"], serde_json::json!({}));
}

#[test]
fn whether_a_market_is_whole_can_be_asked() {
    let daemon = Daemon::start("sim", &["--now", "2026-11-20T15:42:00-05:00"]);
    let ready = |url: String| {
        let out =
            Command::new(env!("CARGO_BIN_EXE_greeksd")).args(["ready", "--url", &url]).env_clear().output().unwrap();
        (out.status.code(), String::from_utf8_lossy(&out.stderr).into_owned())
    };
    assert_eq!(ready(format!("http://{}", daemon.address)), (Some(0), String::new()));
    let (code, said) = ready(format!("http://{}", free_address()));
    assert!(code == Some(1) && said.starts_with("greeksd ready: http://"), "{said}");
}

/// A put that is held comes to be worth no more than what exercise pays; later snapshots change no advice.
#[test]
fn an_alert_of_exercise_rings_once_when_the_advice_changes() {
    let folder = folder("exercise", &chain(104.0));
    let [rules, positions] = ["rules", "positions"].map(|end| folder.with_extension(end));
    std::fs::write(&rules, "exercise ACME quiet 0s\n").unwrap();
    std::fs::write(&positions, "osym,quantity\nACME261218P00105000,2\nACME261218C00080000,-1\n").unwrap();
    let [rules_path, positions_path] = [&rules, &positions].map(|path| path.to_str().unwrap());
    let more = ["--refresh", "0.1", "--alerts", rules_path, "--positions", positions_path];
    let daemon = Daemon::start(&format!("dir:{}", folder.display()), &more);
    let advice = || {
        let rows = daemon.rows("/l1/greeks?osym=ACME261218P00105000&greeks=exercise");
        rows[0]["exercise"].as_str().unwrap().to_owned()
    };
    assert_eq!(advice(), "no");
    let mut events = std::net::TcpStream::connect(daemon.address).unwrap();
    events.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    events.write_all(b"GET /l1/stream?alerts=true HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    let mut lines = BufReader::new(events).lines().map(Result::unwrap);
    let mut wait_for = |text: &str| assert!(lines.any(|line| line.contains(text)), "no {text}");
    wait_for("retry");
    follow(&daemon, &folder, 88.0, "");
    wait_for("exercise ACME");
    assert_eq!(advice(), "now");
    follow(&daemon, &folder, 87.5, "");
    follow(&daemon, &folder, 87.0, "");
    follow(&daemon, &folder, 104.0, "");
    wait_for("exercise ACME");
    let (code, said) = daemon.stop();
    assert_eq!(code, Some(0), "{said}");
    let rung = |how: &str| said.matches(&format!("exercise ACME quiet 0s: {how}")).count();
    assert_eq!((rung("1.000000 (on)"), rung("0.000000 (off)")), (1, 1), "{said}");
    remove(&folder);
    [rules, positions].iter().for_each(|path| std::fs::remove_file(path).unwrap());
}
