//! `--overrides`: a file of overrides of feeds and quotes, reloaded when it changes.
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use crate::support::daemon::{Daemon, chain, command, folder, free_address, remove};
use serde_json::Value;
use std::path::{Path, PathBuf};

const HEADER: &str = "underlying,root,expiry,strike,right,what,value,date\n";

/// A row of the one expiry, with what it was computed from.
fn first(daemon: &Daemon) -> Value {
    daemon.rows("/l1/greeks?underlying=ACME&greeks=all&center=atf&right=call").remove(0)
}

fn put(path: &Path, text: &str) {
    let next = path.with_extension("next");
    std::fs::write(&next, text).unwrap();
    std::fs::rename(&next, path).unwrap();
}

/// A daemon on a market, and its file of overrides, which says nothing yet.
fn serve(market: &Path) -> (Daemon, PathBuf) {
    let path = market.join("mine.csv");
    put(&path, HEADER);
    let (address, feed) = (free_address(), format!("dir:{}", market.display()));
    let at = path.display().to_string();
    let options = ["--refresh", "0.1", "--threads", "1", "--overrides", &at];
    let mut daemon = Daemon::launch(command(&feed, address, &options), address);
    daemon.wait("the market", |health| health["pending"] == 0 && health["contracts_priced"].as_u64() > Some(0));
    (daemon, path)
}

#[test]
fn a_changed_file_changes_rows_and_a_broken_one_keeps_the_last() {
    let market = folder("overrides", &chain(100.0));
    let (mut daemon, path) = serve(&market);
    let number = |row: &Value, name: &str| Daemon::number(row, name);
    let before = first(&daemon);

    let rows = "ACME,,,,,borrow,0.2,\nACME,,,,,rate,0.07,\nACME,,,,,borow,1,\nACME,,,,,dividend,0.25,2026-12-01\n";
    put(&path, &format!("{HEADER}{rows}"));
    let health = daemon.wait("the change", |health| health["overrides"]["applied"]["borrow"] == 1);
    assert_eq!(health["overrides"]["refused"], 1, "{health}");
    assert!(health["overrides"]["errors"][0].as_str().unwrap().ends_with(":4: what: not_a_word: `borow`"), "{health}");
    let after = first(&daemon);
    assert!((number(&after, "borr_rate") - 0.2).abs() < 1e-9, "{after}");
    assert!((number(&after, "disc_rate") - 0.07).abs() < 1e-9, "{after}");
    assert!((number(&after, "divs") - 0.25).abs() < 1e-9, "{after}");
    assert!(number(&after, "fwd_price") < number(&before, "fwd_price"), "{before} {after}");

    put(&path, "what is this\n");
    let health = daemon.wait("the broken file", |health| health["overrides"]["unusable"] == true);
    assert_eq!(health["overrides"]["applied"]["borrow"], 1, "{health}");
    assert!((number(&first(&daemon), "borr_rate") - 0.2).abs() < 1e-9);

    put(&path, &format!("{HEADER}ACME,,,100,,exclude,,\n"));
    let health = daemon.wait("what is left out", |health| health["quotes"]["dropped"]["excluded"].as_u64() > Some(0));
    assert_eq!(
        (&health["overrides"]["unusable"], &health["overrides"]["refused"]),
        (&false.into(), &0.into()),
        "{health}"
    );
    assert!(
        (number(&first(&daemon), "borr_rate") - number(&before, "borr_rate")).abs() < 0.02,
        "as the quotes tell it"
    );
    daemon.stop();
    remove(&market);
}

#[test]
fn a_forward_and_a_shift_are_shown_and_gone_with_their_lines() {
    let market = folder("forced", &chain(100.0));
    let (mut daemon, path) = serve(&market);
    let number = |row: &Value, name: &str| Daemon::number(row, name);
    let row = |daemon: &Daemon| daemon.rows("/l1/greeks?underlying=ACME&greeks=all&right=call").remove(4);
    let before = row(&daemon);
    let applied = |health: &Value| {
        let of = |kind: &str| health["overrides"]["applied"][kind].as_u64().unwrap_or(0);
        (of("forward"), of("vol_shift"), health["pending"] == 0)
    };

    put(&path, &format!("{HEADER}ACME,,2026-12-18,,,forward,99.5,\nACME,,,,,vol_shift,2,\nACME,,,,,forward,99,\n"));
    let health = daemon.wait("both", |health| applied(health) == (1, 1, true));
    assert!(health["overrides"]["errors"][0].as_str().unwrap().ends_with(":4: expiry: missing"), "{health}");
    let after = row(&daemon);
    assert!((number(&after, "fwd_price") - 99.5).abs() < 1e-9 && (number(&after, "und_price") - 100.0).abs() < 1e-9);
    let (r, b, t) = (number(&after, "disc_rate"), number(&after, "borr_rate"), number(&after, "days") / 365.0);
    assert!((100.0 * ((r - b) * t).exp() - 99.5).abs() < 1e-3, "{after}");

    put(&path, &format!("{HEADER}ACME,,,,,vol_shift,2,\n"));
    daemon.wait("the shift alone", |health| applied(health) == (0, 1, true));
    let shifted = row(&daemon);
    assert!((number(&shifted, "svc_vol") - number(&before, "svc_vol") - 0.02).abs() < 1e-4, "{before} {shifted}");
    for name in ["bid_vol", "ask_vol", "conf_vol", "fwd_price", "borr_rate"] {
        assert!((number(&shifted, name) - number(&before, name)).abs() < 1e-4, "{name}: {before} {shifted}");
    }
    assert!(number(&shifted, "svc_theo") > number(&before, "svc_theo") + 0.1, "{before} {shifted}");

    put(&path, HEADER);
    daemon.wait("nothing", |health| applied(health) == (0, 0, true));
    let back = row(&daemon);
    for name in ["fwd_price", "borr_rate", "svc_vol", "svc_theo", "delta"] {
        assert!((number(&back, name) - number(&before, name)).abs() < 2e-3, "{name}: {before} {back}");
    }
    daemon.stop();
    remove(&market);
}

#[test]
fn a_file_that_is_not_there_is_said_at_once() {
    let out = command("sim", free_address(), &["--overrides", "/nonexistent/mine.csv"]).output().unwrap();
    let said = String::from_utf8_lossy(&out.stderr).into_owned();
    assert!(!out.status.success() && said.contains("overrides /nonexistent/mine.csv:"), "{said}");
}
