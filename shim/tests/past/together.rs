//! The numbers of a row are consistent (docs/model.md, "What a row shows belongs together"): forward, rates and
//! dividends imply one spot, and no American value is below the exercise value at it.
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use crate::support::daemon::Daemon;
use feeds::reference::parse_dividends;
use jiff::civil::Date;
use kernel::calendar::{Calendar, days_between};
use kernel::contract::{Settle, Symbol};
use kernel::records::DividendRecord;
use serde_json::Value;
use sim::{SimMarket, SimOptions};
use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

/// Maximum distance of an expiry's own borrow from that of the others, absolute and relative: docs/model.md.
const OWN_BORROW: (f64, f64) = (0.02, 0.25);

/// Facts of a market besides its rows.
struct Market {
    calendar: Calendar,
    dividends: Vec<DividendRecord>,
    /// Names whose options imply another spot than the published one.
    spot_off: BTreeSet<String>,
}

/// Counts of the checked rows of a market.
#[derive(Debug, Default, PartialEq, Eq)]
struct Found {
    rows: usize,
    american: usize,
    with_dividends: usize,
    /// Number of rows that are not valued at `und_price`.
    aside: usize,
}

/// The numbers of a row that has Greeks.
struct Row<'a> {
    of: &'a Value,
    /// Years to settlement.
    t: f64,
    und: f64,
    fwd: f64,
    r: f64,
    b: f64,
}

impl<'a> Row<'a> {
    fn of(of: &'a Value) -> Option<Self> {
        let number = |name: &str| of[name].as_f64();
        number("svc_theo")?;
        let (t, und, fwd) = (number("days")? / 365.0, number("und_price")?, number("fwd_price")?);
        Some(Self { of, t, und, fwd, r: number("disc_rate")?, b: number("borr_rate")? })
    }

    fn text(&self, name: &str) -> &'a str {
        self.of[name].as_str().unwrap()
    }

    /// (years to the ex-date, amount) of each dividend in the life of the contract.
    fn dividends(&self, market: &Market) -> Vec<(f64, f64)> {
        let expiry: Date = self.text("expiry").parse().unwrap();
        let settle = if self.text("settle") == "am" { Settle::Am } else { Settle::Pm };
        let settles = market.calendar.settlement(expiry, settle);
        let of_name = |d: &&DividendRecord| d.underlying.as_str() == self.text("underlying");
        let timed = market.dividends.iter().filter(of_name);
        let timed =
            timed.map(|d| (self.t - days_between(market.calendar.ex_instant(d.ex_date), settles) / 365.0, d.amount));
        timed.filter(|&(t, _)| t > 0.0 && t <= self.t + 1e-9).collect()
    }

    /// The spot that forward, rates and dividends imply: A + F·e^(−(r−b)T).
    fn spot(&self, dividends: &[(f64, f64)], b: f64) -> f64 {
        let carry = self.r - b;
        let escrow: f64 = dividends.iter().map(|(t, amount)| amount * (-carry * t).exp()).sum();
        escrow + self.fwd * (-carry * self.t).exp()
    }

    /// Error of the implied spot due to the six decimals of the row.
    fn rounding(&self) -> f64 {
        1e-6 * (2.0 + 2.0 * self.und * self.t + self.r.abs() * self.und / 365.0)
    }
}

/// Checks every row of some names.
fn check(daemon: &Daemon, names: &[Symbol], market: &Market) -> Found {
    let mut found = Found::default();
    for name in names {
        for row in &daemon.rows(&format!("/l1/greeks?underlying={name}&greeks=core,chain")) {
            let Some(row) = Row::of(row) else { continue };
            found.rows += 1;
            let dividends = row.dividends(market);
            let sum: f64 = dividends.iter().map(|(_, amount)| amount).sum();
            assert!((sum - Daemon::number(row.of, "divs")).abs() < 1e-5, "{sum} of {}", row.of);
            found.with_dividends += usize::from(sum > 0.0);
            let spot = row.spot(&dividends, row.b);
            if (spot - row.und).abs() > row.rounding() {
                found.aside += 1;
                check_aside(&row, &dividends, market);
            }
            if row.text("ex_style") == "american" {
                found.american += 1;
                let phi = if row.text("right") == "call" { 1.0 } else { -1.0 };
                let exercise = phi * (spot - Daemon::number(row.of, "strike"));
                let value = Daemon::number(row.of, "svc_theo");
                assert!(value >= exercise - row.rounding(), "{value} below exercise at {spot}: {exercise}\n{}", row.of);
            }
        }
    }
    found
}

/// Checks a row that is valued at another spot than the published one: all options of its name imply another, or the
/// published one would need a borrow rate far from that of the other expiries, which is shown.
fn check_aside(row: &Row<'_>, dividends: &[(f64, f64)], market: &Market) {
    if market.spot_off.contains(row.text("underlying")) {
        return;
    }
    let far = OWN_BORROW.0 + OWN_BORROW.1 * row.b.abs();
    // spot falls as borrow does, so the rate that und_price needs lies beyond the interval where both ends miss it
    // alike
    let misses = [row.b - far, row.b + far].map(|b| row.spot(dividends, b) - row.und);
    let rounding = row.rounding();
    assert!(misses[0] > -rounding || misses[1] < rounding, "neither spot_off nor far in borrow: {}", row.of);
    assert!(misses.iter().all(|miss| miss.signum() == misses[0].signum()), "{misses:?}: {}", row.of);
}

/// Waits until early exercise is known from tables everywhere: a large market is first computed by a preliminary pass.
fn wait_until_accurate(daemon: &Daemon) {
    let began = Instant::now();
    while daemon.health().unwrap()["preliminary"] != 0 {
        assert!(began.elapsed() < Duration::from_secs(1200), "still preliminary after twenty minutes");
        std::thread::sleep(Duration::from_millis(500));
    }
}

fn spot_off(daemon: &Daemon) -> BTreeSet<String> {
    let off = &daemon.health().unwrap()["spot_off"];
    let names: BTreeSet<String> =
        off["underlyings"].as_array().unwrap().iter().map(|name| name.as_str().unwrap().to_owned()).collect();
    assert_eq!(off["count"], names.len(), "all of them are named");
    names
}

#[test]
fn rows_of_the_embedded_market_belong_together() {
    let now = "2026-11-20T15:42:00-05:00";
    let daemon = Daemon::start("sim", &["--now", now, "--threads", "2"]);
    wait_until_accurate(&daemon);
    let sim = SimMarket::open(&SimOptions::default(), now.parse().unwrap());
    let market = Market { calendar: Calendar::embedded(), dividends: sim.dividends(), spot_off: spot_off(&daemon) };
    let names: Vec<Symbol> = sim.underlyings().filter(|name| name.as_str() != "VIX").collect();
    let found = check(&daemon, &names, &market);
    assert!(found.rows > 20_000 && found.american > 10_000 && found.with_dividends > 3_000, "{found:?}");
    assert!(found.aside * 20 < found.rows, "most rows are valued on und_price: {found:?}");
    assert_eq!(daemon.stop().0, Some(0));
}

#[test]
#[ignore = "needs a market folder: just together FOLDER"]
fn rows_of_recorded_chains_belong_together() {
    let folder = std::env::var("GREEKSD_MARKET").unwrap();
    let daemon = Daemon::start(&format!("dir:{folder}"), &["--threads", "2"]);
    wait_until_accurate(&daemon);
    let file = Path::new(&folder).join("dividends.csv");
    let dividends = std::fs::read(&file).map(|bytes| parse_dividends(&file, &bytes).0).unwrap_or_default();
    let market = Market { calendar: Calendar::embedded(), dividends, spot_off: spot_off(&daemon) };
    let files = std::fs::read_dir(Path::new(&folder).join("chains")).unwrap();
    let stem = |file: String| file.split(['.', '_']).next().unwrap().to_uppercase();
    let names: BTreeSet<String> = files.map(|file| stem(file.unwrap().file_name().into_string().unwrap())).collect();
    let names: Vec<Symbol> = names.iter().filter_map(|name| Symbol::parse_underlying(name)).collect();
    let found = check(&daemon, &names, &market);
    println!("{found:?}, spot_off {:?}", market.spot_off);
    assert!(found.rows > 0);
    assert_eq!(daemon.stop().0, Some(0));
}
