//! Watch lists that change between two runs: what was saved is there by name, and a list is whole only when the vendor
//! has answered for every name of it.

use super::server::{Act, Server, say, status};
use crate::support::daemon::{Daemon, command, free_address, norm_cdf, remove};
use jiff::{Span, Timestamp, tz::TimeZone};
use kernel::calendar::Calendar;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Cboe's document of a name at 100, made now.
fn document(name: &str) -> String {
    let now = Timestamp::now().to_zoned_datetime(TimeZone::UTC);
    let expiry = now.date().saturating_add(Span::new().days(60)).strftime("%y%m%d").to_string();
    let (t, mut options) = (60.0 / 365.0f64, String::new());
    for strike in (80..=120u32).step_by(5) {
        let (k, sd) = (f64::from(strike), 0.25 * t.sqrt());
        let d1 = (100.0 / k).ln() / sd + 0.5 * sd;
        for (letter, phi) in [('C', 1.0), ('P', -1.0)] {
            let value = phi * (100.0 * norm_cdf(phi * d1) - k * norm_cdf(phi * (d1 - sd)));
            let (bid, ask) = ((value - 0.03).max(0.01), value + 0.03);
            let comma = if options.is_empty() { "" } else { "," };
            let _ = write!(
                options,
                "{comma}{{\"option\":\"{name}{expiry}{letter}{:08}\",\"bid\":{bid:.2},\"bid_size\":1.0,\"ask\":{ask:.2},\"ask_size\":1.0,\"last_trade_time\":null}}",
                strike * 1000
            );
        }
    }
    let made = now.strftime("%Y-%m-%d %H:%M:%S").to_string();
    // Eastern: the day of UTC begins while there is still the evening before
    let traded = Calendar::embedded().eastern(now.timestamp()).strftime("%Y-%m-%dT00:00:00").to_string();
    format!(
        "{{\"timestamp\":\"{made}\",\"symbol\":\"{name}\",\"data\":{{\"symbol\":\"{name}\",\"current_price\":100.0,\"last_trade_time\":\"{traded}\",\"options\":[{options}]}}}}"
    )
}

/// Answers for some names; for LATE when it may, and of others that there are none.
fn serve(may_be_late: &Arc<AtomicBool>) -> Server {
    let may_be_late = Arc::clone(may_be_late);
    Server::start(move |target| {
        let asked = target.rsplit('/').next().unwrap_or_default().trim_start_matches('_');
        match asked.split('.').next().unwrap_or_default() {
            name @ ("ACME" | "BETA") => say(document(name)),
            "LATE" if may_be_late.load(Ordering::Acquire) => say(document("LATE")),
            // the connection closes without a word: the vendor has trouble, and says nothing of the name
            "LATE" => Act::Refuse,
            _ => status(404),
        }
    })
}

fn start(names: &str, server: &Server, state: &Path) -> Daemon {
    let address = free_address();
    let feed = format!("cboe:{names},every=0.5,rate=1200@http://{}", server.address);
    let state = state.display().to_string();
    Daemon::launch(command(&feed, address, &["--refresh", "0.1", "--threads", "1", "--state-dir", &state]), address)
}

#[test]
fn a_watch_list_that_changes_keeps_its_names_and_is_whole_when_all_are_answered() {
    let may_be_late = Arc::new(AtomicBool::new(false));
    let server = serve(&may_be_late);
    let state = std::env::temp_dir().join(format!("greeksd-restart-list-{}", std::process::id()));
    remove(&state);
    // the vendor does not know NONE, which nobody waits for
    let mut daemon = start("ACME,NONE,BETA", &server, &state);
    let health = daemon.wait("both names", |health| health["pending"] == 0 && health["preliminary"] == 0);
    assert_eq!((health["underlyings"].as_u64(), health["status"] != "starting"), (Some(2), true), "{health}");
    assert_eq!(daemon.stop().0, Some(0));
    // another order and one name more, for which nothing comes: that name stays pending
    let mut daemon = start("LATE,BETA,ACME", &server, &state);
    for wanted in [1, 3] {
        let health = daemon.wait("requests", |health| {
            assert!(health["pending"].as_u64() > Some(0) && health["status"] == "starting", "{health}");
            // nothing yet, or both names as they were saved
            assert!(health["underlyings"] == 0 || health["underlyings"] == 2, "{health}");
            health["feeds"][0]["failures"]["cut"].as_u64().unwrap_or(0) >= wanted
        });
        assert_eq!(daemon.get("/l1/greeks?underlying=LATE").0, 502, "{health}");
        assert_eq!(daemon.get("/l1/greeks?underlying=ACME").0, 200, "{health}");
    }
    may_be_late.store(true, Ordering::Release);
    let health = daemon.wait("all names", |health| {
        assert!(health["pending"].as_u64() > Some(0) || health["underlyings"] == 3, "{health}");
        health["pending"] == 0 && health["restored"] == 0 && health["preliminary"] == 0
    });
    assert_ne!(health["status"], "starting", "{health}");
    assert_eq!(daemon.stop().0, Some(0));
    // a shorter list shows its own names only, and takes none away from what is kept
    let mut daemon = start("BETA", &server, &state);
    let health = daemon.wait("one name", |health| health["pending"] == 0 && health["restored"] == 0);
    assert_eq!(health["underlyings"], 1, "{health}");
    assert_eq!(daemon.stop().0, Some(0));
    may_be_late.store(false, Ordering::Release);
    start("LATE,ACME", &server, &state).wait("both as they were saved", |health| health["underlyings"] == 2);
    remove(&state);
}
