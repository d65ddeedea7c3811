//! Scenarios, positions and streams over the simulated market, through the service as a client sees it.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use crate::support::market;
use crate::support::market::{Got, get_from, read, symbol};
use arc_swap::ArcSwap;
use desk::alerts::deliver::AlertSender;
use desk::alerts::log::AlertLog;
use desk::alerts::watch::AlertWatch;
use desk::positions::desk::PositionDesk;
use desk::positions::file::parse;
use desk::positions::valued::ValuedBook;
use desk::scenario::FeedChains;
use desk::stream::desk::StreamAsked;
use engine::snapshot::Snapshot;
use engine::store::chain::{Chain, Slice};
use engine::store::columns::{Col, Columns};
use host::secret::Keys;
use http::{Answer, Body, Metrics, Progress};
use kernel::calendar::Calendar;
use kernel::contract::{Right, RootTable, Symbol};
use serde_json::Value;
use shim::app::{Service, route_names};
use shim::chains::ChainSource;
use shim::config::{RatesMode, SourceArgs};
use sources::requested::RequestedNames;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// KO without dividends, XOM with one, and SPX, which cannot be exercised early, once for all tests.
pub(crate) fn chains() -> &'static [Arc<Chain>] {
    static CHAINS: OnceLock<Vec<Arc<Chain>>> = OnceLock::new();
    CHAINS.get_or_init(|| {
        let args = SourceArgs { now: Some(market::NOW), overrides: None, rates: RatesMode::Auto, key_file: None };
        let mut source = ChainSource::open(&["sim".to_owned()], &args, &Keys::default()).unwrap();
        ["KO", "SPX", "XOM"].map(|name| source.chain(symbol(name)).unwrap()).to_vec()
    })
}

pub(crate) fn desk(csv: &str) -> Arc<PositionDesk> {
    let desk = PositionDesk::new(Arc::new(RootTable::embedded()), Calendar::embedded(), true, false);
    desk.replace("test", parse(Path::new("p"), csv.as_bytes()).unwrap(), &snapshot(1));
    Arc::new(desk)
}

pub(crate) fn snapshot(number: u64) -> Snapshot {
    Snapshot::new(number, chains().to_vec(), vec![])
}

/// A service, and where its market is published.
pub(crate) fn service_of(csv: &str) -> (Service, Arc<ArcSwap<Snapshot>>) {
    let (service, published, _) = service_and_desk(desk(csv), snapshot(1));
    (service, published)
}

pub(crate) fn service_and_desk(
    desk: Arc<PositionDesk>,
    snapshot: Snapshot,
) -> (Service, Arc<ArcSwap<Snapshot>>, Arc<PositionDesk>) {
    let status = market::status_at(Duration::from_secs(86_400));
    status.turned();
    let published = Arc::new(ArcSwap::from_pointee(snapshot));
    let metrics = Arc::new(Metrics::new(&route_names()));
    let service = Service::new(Arc::clone(&published), Arc::new(status), metrics);
    (service.with_positions(Arc::clone(&desk), Arc::default()), published, desk)
}

/// A book of so many lines of one option, of two accounts.
pub(crate) fn book(lines: usize) -> String {
    let line = |n: usize| format!("a{},KO261218C00070000,{}\n", n % 2, n + 1);
    "account,osym,quantity\n".to_owned() + &(0..lines).map(line).collect::<String>()
}

fn rows(target: &str) -> Vec<Value> {
    let got = get_from(&service_of("symbol,quantity\n").0, target);
    assert_eq!(got.status, 200, "{target}: {}", got.body);
    serde_json::from_str(&got.body).unwrap()
}

fn refused(target: &str) -> String {
    let Got { status, body, .. } = get_from(&service_of("symbol,quantity\n").0, target);
    format!("{status} {body}")
}

pub(crate) fn number(row: &Value, field: &str) -> f64 {
    row[field].as_f64().unwrap_or(f64::NAN)
}

#[test]
fn by_the_variance_clock_a_day_costs_decay_vt() {
    let served = rows("/l1/greeks?underlying=SPX&greeks=core,vt");
    let next = rows("/l1/scenario?underlying=SPX&at=next&clock=variance");
    let is_known = |row: &Value| row["decay_vt"].is_number() && number(row, "days_vt") > 2.0;
    let pairs: Vec<_> = served.iter().zip(&next).filter(|(served, _)| is_known(served)).collect();
    assert!(pairs.len() > 100);
    for (served, next) in pairs {
        assert_eq!(served["osym"], next["osym"]);
        let (decay, profit) = (number(served, "decay_vt"), number(next, "profit"));
        assert!((decay - profit).abs() < 1e-4, "{}: {decay} {profit}", served["osym"]);
    }
}

#[test]
fn an_event_is_there_until_it_has_passed() {
    let of = "underlying=KO&exp=2026-12-18&center=atm&right=call";
    let served = rows(&format!("/l1/greeks?{of}&greeks=core,chain"))[0].clone();
    let years = number(&served, "days") / 365.0;
    let variance = number(&served, "svc_vol").powi(2) * years;
    let size: f64 = 0.02;
    let left = |at: &str, percent: f64| {
        let row = rows(&format!("/l1/scenario?{of}&at={at}&event=KO:2026-12-02:bmo:{percent}%"))[0].clone();
        number(&row, "vol").powi(2)
    };
    let event = size * size / variance;
    assert!((0.1..0.9).contains(&event), "{served}");
    // after the event nothing of it is left, before it all of it
    let after = left("2026-12-02T12:00", 2.0) / left("2026-12-02T12:00", 0.0);
    assert!((after - (1.0 - event)).abs() < 1e-3, "{after} {event}");
    assert!(left("2026-12-01", 2.0) > left("2026-12-01", 0.0));
    // in calendar time an expiry keeps its volatility
    let plain = rows(&format!("/l1/scenario?{of}&at=2026-12-02T12:00"))[0].clone();
    assert_eq!(plain["vol"], served["svc_vol"]);
    // without a size it has the one that expiries show, if they do
    let why = refused(&format!("/l1/scenario?{of}&at=2026-12-03&event=KO:2026-12-02"));
    assert!(why.starts_with("400") && why.contains("event: not an event that expiries show"), "{why}");
    assert!(why.contains("give its move, KO:2026-12-02:7%"), "{why}");
    let warned = get_from(&service_of("symbol,quantity\n").0, &format!("/l1/scenario?{of}&event=NVDA:2026-12-02:7%"));
    assert!(warned.headers.iter().any(|line| line.contains("NVDA")), "{:?}", warned.headers);
}

#[test]
fn a_scenario_without_a_shock_is_the_served_row() {
    for name in ["KO", "SPX"] {
        let served = rows(&format!("/l1/greeks?underlying={name}"));
        let found = rows(&format!("/l1/scenario?underlying={name}"));
        let level = rows(&format!(
            "/l1/scenario?underlying={name}&spot_unit=level&spot={}&vol_rule=moneyness",
            number(&served[0], "und_price")
        ));
        assert!(served.len() > 100 && served.len() == found.len());
        let mut n = 0;
        for ((served, found), level) in served.iter().zip(&found).zip(&level) {
            assert_eq!(served["osym"], found["osym"]);
            if served["svc_theo"].is_null() {
                continue;
            }
            n += 1;
            for (a, b) in [
                ("svc_theo", "value"),
                ("svc_vol", "vol"),
                ("delta", "delta"),
                ("gamma", "gamma"),
                ("vega", "vega"),
                ("theta", "theta"),
                ("rho", "rho"),
            ] {
                assert_eq!(served[a], found[b], "{} {a}", served["osym"]);
                if name == "KO" {
                    assert_eq!(served[a], level[b], "{} {a}, by level", served["osym"]);
                }
            }
            assert!(number(found, "profit").abs() < f64::MIN_POSITIVE);
        }
        assert!(n > 100);
    }
}

#[test]
fn expired_contracts_have_paid_and_calls_are_exercised_before_ex_dates() {
    let all = rows("/l1/scenario?underlying=XOM&spot=-10,0,10,60&vol=0,5&at=now,2028-06-30&greeks=none");
    let mut states = std::collections::BTreeMap::new();
    for row in &all {
        *states.entry(row["state"].as_str().unwrap().to_owned()).or_insert(0) += 1;
        let (strike, value) = (number(row, "strike"), number(row, "value"));
        if row["state"] == "settled" && row["right"] == "put" {
            // the spot falls by dividends until settlement, and on until the moment: the put has paid at most that
            assert!((0.0..=(strike - number(row, "spot")).max(0.0) + 1e-6).contains(&value), "{row}");
        }
        if row["state"] == "exercised" {
            assert_eq!(row["right"], "call");
            assert!(value > 0.0 && row.get("delta").is_none());
        }
        if row["state"] == "open" {
            let pays = if row["right"] == "call" { number(row, "spot") - strike } else { strike - number(row, "spot") };
            assert!(value >= pays.max(0.0) - 1e-4, "{row}");
        }
    }
    let n = |state: &str| states.get(state).copied().unwrap_or(0);
    assert!(n("settled") > 100 && n("exercised") > 10 && n("open") > 100, "{states:?}");
}

#[test]
fn what_has_settled_in_the_money_is_shares_but_cash_of_an_index() {
    let csv = "account,osym,symbol,quantity,price,beta\n\
               a,KO261127C00060000,,-10,1,0.5\na,KO261127P00060000,,-10,1,\na,KO,,1,60,\n";
    let (service, _) = service_of(&csv.replace("KO,,1", ",KO,1"));
    let get = |target: &str| -> Vec<Value> {
        let got = get_from(&service, target);
        assert_eq!(got.status, 200, "{}", got.body);
        serde_json::from_str(&got.body).unwrap()
    };
    let after = "/l1/scenario?positions=*&exp=2026-11-27&at=2026-11-30&spot=10";
    let of = |right: &str, more: &str| {
        let rows = get(&format!("{after}{more}"));
        assert_eq!(rows.len(), 2, "shares have no expiry");
        rows.into_iter().find(|row| row["right"] == right).unwrap()
    };
    // short calls that end in the money are short shares
    let (call, put) = (of("call", ""), of("put", ""));
    assert_eq!((&call["state"], &put["state"]), (&"settled".into(), &"settled".into()));
    assert!((number(&call, "dollar_delta") + 1000.0 * number(&call, "spot")).abs() < 1e-6, "{call}");
    assert!(number(&call, "gamma_1pct").abs() + number(&put, "dollar_delta").abs() < f64::MIN_POSITIVE);
    let cash = of("call", "&delivery=cash");
    assert!(number(&cash, "dollar_delta").abs() < f64::MIN_POSITIVE && cash["value"] == call["value"]);
    // a small move of the spot is a small move of the value
    let moved = |by: &str| number(&get(&after.replace("spot=10", by))[0], "value");
    let slope = (moved("spot=10.1") - moved("spot=9.9")) / 0.002;
    assert!((slope / (number(&call, "dollar_delta") / 1.1) - 1.0).abs() < 1e-6, "{slope}");
    // profit since entry, and half the move of an index at a beta of a half
    let since = |more: &str| number(&of("call", more), "profit") - number(&of("call", more), "value");
    assert!((since("&since=entry") - 1000.0).abs() < 1e-9);
    assert_eq!(of("call", "&spot_beta=SPX")["value"], get(&after.replace("spot=10", "spot=5"))[0]["value"]);
    assert_eq!(get("/l1/scenario?positions=*&underlying=SPX").len(), 0);
    let index = rows("/l1/scenario?underlying=SPX&max_exp=2026-11-30&at=2026-12-02&spot=5");
    assert!(index.iter().any(|row| row["state"] == "settled" && number(row, "value") > 1.0));
    let settled = |row: &&Value| row["state"] == "settled";
    assert!(index.iter().filter(settled).all(|row| number(row, "delta").abs() < f64::MIN_POSITIVE));
}

#[test]
fn dividends_rates_and_borrow_move_values_the_way_they_must() {
    let of = |more: &str| {
        let target = format!("/l1/scenario?underlying=XOM&center=atm&min_days=80&max_days=120&greeks=none{more}");
        let found: Vec<(bool, f64)> =
            rows(&target).into_iter().map(|row| (row["right"] == "call", number(&row, "profit"))).collect();
        assert_eq!(found.len(), 2, "{more}");
        found
    };
    for (more, call_rises) in [("&dividends=-100", true), ("&rate=1", true), ("&borrow=1", false)] {
        for (is_call, profit) in of(more) {
            assert!(profit.abs() > 1e-3 && (profit > 0.0) == (is_call == call_rises), "{more} {is_call} {profit}");
        }
    }
    assert!(of("&vol=1").iter().all(|(_, profit)| *profit > 0.0));
    // half the shift, where the expiry has half the weight
    let expiry = rows("/l1/scenario?underlying=XOM&center=atm&min_days=80&max_days=120")[0]["expiry"].clone();
    let expiry = expiry.as_str().unwrap();
    let weighted = of(&format!("&vol=2&vol_weight={expiry}:0.5&exp={expiry}"));
    assert_eq!(weighted, of(&format!("&vol=1&exp={expiry}")));
    assert!(of("&vol=-1000")[0].1 < 0.0, "no shift leaves less than one percent");
}

#[test]
fn sums_are_those_of_the_rows() {
    let csv = "account,osym,symbol,quantity,price\n\
               a,KO261218C00070000,,-3,1\nb,KO261218P00070000,,5,2\nb,,KO,100,60\na,KO261218P99000000,,1,1\n";
    let (service, _) = service_of(csv);
    let get = |target: &str| -> Vec<Value> {
        let got = get_from(&service, target);
        assert_eq!(got.status, 200, "{}", got.body);
        serde_json::from_str(&got.body).unwrap()
    };
    let grid = "spot=-10,0,10&vol=0,5&at=now,%2B20d";
    let each = get(&format!("/l1/scenario?positions=*&{grid}"));
    let total = get(&format!("/l1/scenario?positions=*&{grid}&sum=total"));
    assert_eq!((each.len(), total.len()), (3 * 12 + 1, 12));
    for sum in &total {
        assert_eq!((sum["positions"].as_u64(), sum["missing"].as_u64()), (Some(4), Some(1)));
        let same = |row: &&Value| ["at", "spot_move", "vol_move"].iter().all(|field| row[field] == sum[field]);
        for field in ["value", "profit", "dollar_delta", "gamma_1pct", "vega", "theta", "rho"] {
            let parts: f64 = each.iter().filter(same).map(|row| number(row, field)).sum();
            assert!((parts - number(sum, field)).abs() < 1e-5 * parts.abs().max(1.0), "{field} {sum}");
        }
    }
    let of_a = get(&format!("/l1/scenario?positions=a&{grid}&sum=account"));
    assert!(of_a.iter().all(|row| row["account"] == "a" && row["positions"] == 2));
    // what is held is worth what /l1/positions says
    let held = get("/l1/positions?by=total");
    assert!((number(&held[0], "value") - number(&total[1], "value")).abs() < 1e-5);
    assert!(each.iter().any(|row| row["state"] == "not_listed"));
}

/// Slopes of served prices from strike to strike, of options that cannot be exercised early.
#[test]
fn probabilities_are_slopes_of_served_prices() {
    let chain = &chains()[1];
    let get = |col: Col, row: usize| chain.columns.get(col)[row] * col.unit().divisor();
    let (mut checked, mut off) = (0, [0.0_f64; 2]);
    for slice in chain.slices.iter().filter(|slice| slice.days > 5.0) {
        let grown = (slice.disc_rate * slice.days / 365.0).exp();
        let of_right = |right| slice.rows.clone().map(|row| row as usize).filter(move |&row| chain.right[row] == right);
        for right in [Right::Call, Right::Put] {
            let rows: Vec<usize> = of_right(right).collect();
            for rows in rows.windows(3) {
                let k = [0, 1, 2].map(|at| f64::from(chain.strike_milli[rows[at]]) / 1000.0);
                let price = [0, 1, 2].map(|at| grown * get(Col::SvcTheo, rows[at]));
                let (itm, density) = (get(Col::ProbItm, rows[1]), get(Col::Density, rows[1]));
                let (h, deviation) = (k[1] - k[0], get(Col::SvcVol, rows[1]) * k[1] * (slice.days / 365.0).sqrt());
                let is_even = (k[2] - k[1] - h).abs() < 1e-9 && h < 0.1 * deviation;
                // far out a density is the small difference of three prices
                if !is_even || !(0.02..0.98).contains(&itm) || density.is_nan() {
                    continue;
                }
                let slope = right.phi() * (price[0] - price[2]) / (2.0 * h);
                let bend = (price[0] - 2.0 * price[1] + price[2]) / (h * h);
                off[0] = off[0].max((itm - slope).abs());
                off[1] = off[1].max((density - bend).abs() * deviation);
                checked += 1;
            }
        }
    }
    println!("{checked} contracts: prob_itm {:.1e}, density {:.1e} of one in a deviation", off[0], off[1]);
    assert!(checked >= 300, "{checked}");
    assert!(off[0] < 1.5e-3 && off[1] < 3e-3, "{off:?}");
}

#[test]
fn positions_are_summed_at_every_level() {
    let csv = "account,osym,symbol,quantity,price,beta\n\
               a,KO261218C00070000,,-3,1,0.5\nb,KO261218P00070000,,5,,\nb,,KO,100,60,\na,KO251218P00070000,,1,1,\n";
    let (service, _) = service_of(csv);
    let got = get_from(&service, "/l1/positions?index=SPX");
    let rows: Vec<Value> = serde_json::from_str(&got.body).unwrap();
    let of = |level: &str| rows.iter().filter(|row| row["level"] == level).collect::<Vec<_>>();
    assert_eq!(["contract", "expiry", "underlying", "account", "total"].map(|level| of(level).len()), [4, 3, 1, 2, 1]);
    for level in ["expiry", "underlying", "account", "total"] {
        for field in ["value", "dollar_delta", "gamma_1pct", "vega", "theta", "decay", "rho", "epsilon"] {
            let sum = |level: &str| of(level).iter().filter_map(|row| row[field].as_f64()).sum::<f64>();
            assert!((sum(level) - sum("contract")).abs() < 1e-4, "{level} {field}");
        }
    }
    let total = of("total")[0];
    assert_eq!((total["positions"].as_u64(), total["missing"].as_u64()), (Some(4), Some(1)));
    assert!(total["profit"].is_null(), "a cost is unknown");
    assert!((number(total, "beta_delta") - 0.5 * number(total, "dollar_delta")).abs() < 1e-4);
    let spx = chains()[1].spot;
    assert!((number(total, "beta_shares") * spx - number(total, "beta_delta")).abs() < 1e-2);
    assert!(of("contract").iter().any(|row| row["reason"] == "expired"));
    assert!(of("contract").iter().all(|row| row["session_profit"].is_null()), "no session was seen before");
    for format in ["arrow", "parquet"] {
        let got = get_from(&service, &format!("/l1/positions?format={format}"));
        assert!(got.status == 200 && got.content_type.contains(format) && got.body.len() > 1000, "{format}");
    }
    for format in ["csv", "ndjson", "html"] {
        let got = get_from(&service, &format!("/l1/positions?format={format}"));
        assert_eq!(got.status, 200);
        assert!(got.body.contains("KO261218C00070000") || got.body.contains("KO    261218C00070000"), "{format}");
    }
}

#[test]
fn what_cannot_be_answered_is_refused_with_a_reason() {
    let none = market::get("/l1/positions");
    assert_eq!((none.status, none.body.contains("--positions FILE")), (400, true), "{}", none.body);
    for (target, wanted) in [
        ("/l1/scenario", "400 {\"error\":\"underlying, root, osym or positions is required"),
        ("/l1/scenario?underlying=KO&spot=x", "400 {\"error\":\"spot: not numbers or ranges"),
        ("/l1/scenario?underlying=KO&at=2020-01-01", "400 {\"error\":\"at: not a moment from 2026-11-20 on"),
        ("/l1/scenario?underlying=SPX&spot=-100..100:0.5&vol=-20..20:1", "400 {\"error\":\"too many values"),
        ("/l1/scenario?underlying=KO&strike=1", "400 {\"error\":\"unknown parameter: strike"),
        ("/l1/positions?by=name", "400 {\"error\":\"by: not one of"),
        ("/l1/stream?fields=delta", "400 {\"error\":\"underlying, root, osym, positions or alerts is required"),
        ("/l1/stream?underlying=KO&format=arrow", "400 {\"error\":\"format=arrow needs a WebSocket"),
        ("/l1/stream?underlying=*", "400 {\"error\":\"underlying=* is not streamed"),
    ] {
        let got = refused(target);
        assert!(got.starts_with(wanted), "{target}: {got}");
    }
    // chains of a restart have no inputs: rows with the reason
    let restored = market::get("/l1/scenario?underlying=ACME&format=csv");
    assert_eq!(restored.status, 200);
    assert!(restored.body.lines().nth(1).unwrap().contains(",restored,"), "{}", restored.body);
}

#[test]
fn a_covered_call_in_words_counts_from_what_was_paid() {
    let more = "price=68,1.5&since=entry&spot=-10,0,10&at=2026-12-18";
    let found = rows(&format!("/l1/scenario?osym=100+KO,-1+KO+12/18+74+C&{more}"));
    assert_eq!(found, rows(&format!("/l1/scenario?osym=KO,KO261218C00074000&quantity=100,-1&{more}")));
    assert_eq!(found.len(), 6);
    for row in &found {
        let spot = number(row, "spot");
        let (quantity, profit) = match row["osym"].as_str() {
            None => (100.0, 100.0 * (spot - 68.0)),
            Some(_) => (-1.0, 100.0 * (1.5 - (spot - 74.0).max(0.0))),
        };
        assert_eq!(row["quantity"].as_f64(), Some(quantity));
        assert!((number(row, "profit") - profit).abs() < 1e-6, "{row}");
    }
    let total = rows(&format!("/l1/scenario?osym=100+KO,-1+KO+12/18+74+C&{more}&sum=total"));
    for (n, sum) in total.iter().enumerate() {
        let wanted = number(&found[n], "profit") + number(&found[n + 3], "profit");
        assert!((number(sum, "profit") - wanted).abs() < 1e-6, "{sum}");
    }
    // lots of one contract have their own prices
    let lots = rows("/l1/scenario?osym=KO+12/18+74+C,KO261218C00074000&quantity=1,2&price=1,2&since=entry");
    let [value, twice] = [&lots[0], &lots[1]].map(|lot| number(lot, "value"));
    assert!(lots.len() == 2 && (twice - 2.0 * value).abs() < 1e-9, "{lots:?}");
    assert!((number(&lots[0], "profit") - (value - 100.0)).abs() < 1e-9, "{lots:?}");
    assert!((number(&lots[1], "profit") - (twice - 400.0)).abs() < 1e-9, "{lots:?}");
    // without a number values are per share, as of the OSI symbol
    assert_eq!(rows("/l1/scenario?osym=KO+2026-12-18+74+call"), rows("/l1/scenario?osym=KO261218C00074000"));
}

#[test]
fn what_is_not_served_is_named_and_refused_where_a_client_is_strict() {
    let (service, _) = service_of("account,symbol,quantity\na,KO,1\n");
    let no = |names: &str| format!("Warning: 199 greeksd \"not served: {names} (/l1/symbols lists the names)\"");
    let none = |what: &str| format!("Warning: 199 greeksd \"no {what} matches\"");
    for (query, warning) in [
        ("underlying=NOSUCH", Some(no("NOSUCH"))),
        ("underlying=KO,NOSUCH,SPXX&center=atm", Some(no("NOSUCH, SPXX"))),
        ("root=NOSUCH", Some(no("NOSUCH"))),
        ("osym=KO261218C00070000", None),
        ("osym=KO261218C00070000,KO261218C99000000", Some(no("KO261218C99000000"))),
        ("osym=KO261218C99000000&quantity=1&sum=total", Some(no("KO261218C99000000"))),
        ("osym=100+KO,-1+KO+12/18+70+C", None),
        ("osym=KO+12/18+70.11+C", Some(no("KO261218C00070110"))),
        ("osym=100+KO,100+NOSUCH", Some(no("NOSUCH"))),
        ("underlying=KO&min_days=40&max_days=20", Some(none("contract"))),
        ("underlying=KO&spot=-20..20:1", None),
        ("positions=a", None),
        ("positions=b", Some(none("position"))),
    ] {
        let got = get_from(&service, &format!("/l1/scenario?{query}"));
        assert_eq!((got.status, got.headers), (200, warning.clone().into_iter().collect()), "{query}");
        let html = get_from(&service, &format!("/l1/scenario?{query}&format=html")).body;
        assert_eq!(html.contains("not served: "), warning.as_ref().is_some_and(|text| text.contains("not served: ")));
        let strict = get_from(&service, &format!("/l1/scenario?{query}&strict=1"));
        let is_unserved = warning.as_ref().is_some_and(|text| text.contains("not served"));
        assert_eq!(strict.status, if is_unserved { 404 } else { 200 }, "{query}: {}", strict.body);
    }
    let strict = get_from(&service, "/l1/scenario?underlying=NOSUCH&strict=true");
    assert_eq!(strict.body, r#"{"error":"not served: NOSUCH (/l1/symbols lists the names)"}"#);
}

#[test]
fn a_long_answer_is_streamed_whole() {
    let got = get_from(
        &service_of("symbol,quantity\n").0,
        "/l1/scenario?underlying=KO&max_days=60&spot=-20..20:1&vol=-5,0,5&format=csv&greeks=none",
    );
    let contracts = rows("/l1/greeks?underlying=KO&max_days=60").len();
    assert_eq!(got.body.lines().count(), 1 + contracts * 41 * 3);
}

/// The events of a stream until it has nothing more to send.
fn events(stream: &mut dyn http::Stream) -> Vec<(String, Value)> {
    let mut text = Vec::new();
    while stream.fill(&mut text) == Progress::More {}
    let text = String::from_utf8(text).unwrap();
    let field =
        |event: &str, name: &str| event.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default().to_owned();
    let data = |event: &str| serde_json::from_str(&field(event, "data: ")).unwrap_or(Value::Null);
    text.split("\n\n")
        .filter(|event| event.contains("data: "))
        .map(|event| (field(event, "event: "), data(event)))
        .collect()
}

#[test]
fn a_stream_begins_with_an_image_and_goes_on_with_what_has_changed() {
    let (service, published) = service_of("symbol,quantity\nKO,1\n");
    let answer = stream(&service, "underlying=KO&max_days=60&every=100ms&fields=svc_theo,delta&positions=total", None);
    let Body::Stream(mut stream) = answer.body else { panic!("no stream") };
    let first = events(stream.as_mut());
    let images: Vec<&Value> = first.iter().filter(|(name, _)| name == "image").map(|(_, data)| data).collect();
    let rows: usize = images.iter().map(|data| data["rows"].as_array().unwrap().len()).sum();
    assert_eq!(rows, self::rows("/l1/greeks?underlying=KO&max_days=60").len());
    assert!(images.iter().rev().skip(1).all(|data| data["more"] == true) && images.last().unwrap()["more"] == false);
    assert!(first.iter().any(|(name, _)| name == "positions"));
    // the same market again is no event
    published.store(Arc::new(snapshot(2)));
    std::thread::sleep(Duration::from_millis(120));
    assert_eq!(events(stream.as_mut()), []);
    // one row changes, one contract goes, and two snapshots were not seen
    let mut chain = Chain::clone(&chains()[0]);
    chain.columns.get_mut(engine::store::columns::Col::SvcTheo)[3] += 0.5;
    let last = chain.slices.iter().rposition(|slice| slice.days < 60.0).unwrap();
    let row = chain.slices[last].rows.start as usize;
    chain.strike_milli[row] -= 1;
    published.store(Arc::new(Snapshot::new(5, vec![Arc::new(chain)], vec![])));
    std::thread::sleep(Duration::from_millis(120));
    let update = events(stream.as_mut());
    let (name, data) = update.iter().find(|(name, _)| name == "update").unwrap();
    assert_eq!((name.as_str(), data["missed"].as_u64(), data["snapshot"].as_u64()), ("update", Some(2), Some(5)));
    assert_eq!((data["rows"].as_array().unwrap().len(), data["gone"].as_array().unwrap().len()), (2, 1), "{data}");
}

#[test]
fn a_stream_asks_for_its_names() {
    let requested = Arc::<RequestedNames>::default();
    let (service, _) = service_of("symbol,quantity\n");
    let service = service.with_requested_names(Arc::clone(&requested));
    let asked = |query: &str| {
        let Body::Stream(mut stream) = stream(&service, query, None).body else { panic!("no stream") };
        assert!(!events(stream.as_mut()).is_empty(), "{query}");
        ["KO", "SPX", "XOM"].map(|name| requested.since(symbol(name)).is_some())
    };
    assert_eq!(asked("underlying=KO&max_days=60"), [true, false, false]);
    assert_eq!(asked("root=SPXW&max_days=2"), [true, true, false]);
    assert_eq!(asked("underlying=XOM&metrics=iv30d"), [true; 3]);
}

#[test]
fn a_client_that_comes_back_is_shown_what_it_missed() {
    let (service, published) = service_of("symbol,quantity\n");
    let text = |last: Option<&str>| {
        let answer = stream(&service, "underlying=KO&center=atm", last);
        let Body::Stream(mut stream) = answer.body else { panic!("no stream") };
        let mut out = Vec::new();
        while stream.fill(&mut out) == Progress::More {}
        String::from_utf8(out).unwrap()
    };
    let first = text(None);
    let id = first.lines().find_map(|line| line.strip_prefix("id: ")).unwrap().to_owned();
    published.store(Arc::new(snapshot(9)));
    assert!(text(Some(&id)).contains("\"snapshot\":9,") && text(Some(&id)).contains("\"missed\":7,"));
    assert!(text(Some("other-1")).contains("\"missed\":0,"), "another run of the daemon");
    assert_eq!(read(stream(&service, "underlying=KO&every=1ms", None)).status, 400);
}

#[test]
fn a_slow_stream_holds_its_names_and_not_the_market() {
    let other = Arc::new(Chain::clone(&chains()[2]));
    let of_other = Arc::downgrade(&other);
    let market = Snapshot::new(1, vec![Arc::clone(&chains()[1]), other], vec![]);
    let (service, published, _) = service_and_desk(desk(&book(1)), market);
    let mut slow = stream_of(stream(&service, "underlying=SPX", None));
    let mut piece = Vec::new();
    assert_eq!(slow.fill(&mut piece), Progress::More);
    assert!(String::from_utf8(piece).unwrap().contains("\"more\":true"), "it is in the middle of an image");
    published.store(Arc::new(snapshot(2)));
    assert!(of_other.upgrade().is_none());
}

/// A stream of events from an id on.
fn stream(service: &Service, query: &str, last: Option<&str>) -> Answer {
    service.stream(StreamAsked { query, last, is_socket: false })
}

/// The stream of an answer.
fn stream_of(answer: Answer) -> Box<dyn http::Stream> {
    let Body::Stream(stream) = answer.body else { panic!("no stream: {}", answer.status) };
    stream
}

#[test]
fn rows_of_positions_come_in_pieces_that_readers_share() {
    let lines = 3000;
    let (service, _, desk) = service_and_desk(desk(&book(lines)), snapshot(1));
    let bare = desk.bytes();
    let mut slow = stream_of(service.answer_to("/l1/positions", ""));
    let mut piece = Vec::new();
    assert_eq!(slow.fill(&mut piece), Progress::More);
    assert!((60_000..200_000).contains(&piece.len()), "{} bytes", piece.len());
    let got = get_from(&service, "/l1/positions");
    let text = desk.bytes() - bare;
    assert!(text.abs_diff(got.body.len()) < got.body.len() / 10, "the text counts: {text} of {}", got.body.len());
    assert_eq!(got.headers, ["Snapshot-Number: 1"]);
    let rows: Vec<Value> = serde_json::from_str(&got.body).unwrap();
    assert_eq!(rows.len(), lines + 1 + 1 + 2 + 1);
    // what one reader has had made is the other's, also when there are newer values
    while slow.fill(&mut piece) == Progress::More {}
    assert_eq!(String::from_utf8(piece).unwrap(), got.body);
    assert_eq!(desk.bytes() - bare, text, "made once");
    let one = stream_of(service.answer_to("/l1/positions", "account=a1"));
    assert!(desk.bytes() - bare - text >= lines / 2 * 4, "what a request picks counts");
    drop(one);
    assert_eq!(desk.bytes() - bare, text);
    let some = get_from(&service, "/l1/positions?account=a1&by=contract,account");
    let some: Vec<Value> = serde_json::from_str(&some.body).unwrap();
    assert_eq!((some.len(), some.last().unwrap()["positions"].as_u64()), (lines / 2 + 1, Some(lines as u64 / 2)));
    for format in ["csv", "ndjson"] {
        let got = get_from(&service, &format!("/l1/positions?by=contract&format={format}"));
        assert_eq!(got.body.lines().count(), lines + usize::from(format == "csv"), "{format}");
    }
}

#[test]
fn what_slow_readers_of_positions_hold_is_bounded() {
    let (service, _, desk) = service_and_desk(desk(&book(100_000)), snapshot(1));
    let mut readers = Vec::new();
    let refused = (2..30).find(|&number| {
        let answer = service.answer_to("/l1/positions", "");
        assert!(desk.bytes() < 250 << 20, "{} bytes", desk.bytes());
        if answer.status == 503 {
            return true;
        }
        let mut reader = stream_of(answer);
        assert_eq!(reader.fill(&mut Vec::new()), Progress::More);
        readers.push(reader);
        desk.value(&snapshot(number));
        false
    });
    assert!(refused.is_some_and(|number| number > 5), "{refused:?}");
    let last = readers.last_mut().unwrap();
    let mut text = Vec::new();
    while last.fill(&mut text) == Progress::More {}
    assert!(text.ends_with(b"}]"), "those that run go on");
    readers.clear();
    desk.value(&snapshot(99));
    assert_eq!(service.answer_to("/l1/positions", "").status, 200);
}

#[test]
fn streams_share_an_event_and_the_slowest_lose_it() {
    let (service, _, desk) = service_and_desk(desk(&book(6000)), snapshot(1));
    let begin = || stream_of(stream(&service, "positions=contract&every=100ms", None));
    let mut streams = Vec::new();
    for number in 2..40 {
        let (mut one, mut other) = (begin(), begin());
        let mut pieces = [Vec::new(), Vec::new()];
        for (stream, piece) in [&mut one, &mut other].into_iter().zip(&mut pieces) {
            assert_eq!(stream.fill(piece), Progress::More);
            assert!(piece.len() < 128 << 10, "an event is sent in pieces");
        }
        assert_eq!(pieces[0], pieces[1]);
        streams.extend([one, other]);
        desk.value(&snapshot(number));
        assert!(desk.bytes() < 64 << 20, "{} bytes", desk.bytes());
    }
    assert_eq!(streams[0].fill(&mut Vec::new()), Progress::Broken, "it may connect again");
    let event = events(streams.last_mut().unwrap().as_mut());
    assert!(event.is_empty(), "the rest of an event: {event:?}");
    let (name, data) = &events(begin().as_mut())[0];
    assert_eq!((name.as_str(), data["cut"].as_bool()), ("positions", Some(true)));
    assert_eq!(data["rows"].as_array().unwrap().len(), 5000);
}

#[test]
fn a_stream_hears_of_other_positions_at_once() {
    let (service, _, desk) = service_and_desk(desk("symbol,quantity\nKO,1\n"), snapshot(1));
    let mut stream = stream_of(stream(&service, "positions=total&every=100ms", None));
    let value = |events: &[(String, Value)]| number(&events[0].1["rows"][0], "value");
    let before = value(&events(stream.as_mut()));
    desk.replace("test", parse(Path::new("p"), b"symbol,quantity\nKO,1000\n").unwrap(), &snapshot(1));
    std::thread::sleep(Duration::from_millis(120));
    let after = value(&events(stream.as_mut()));
    assert!((after - 1000.0 * before).abs() < 1e-3, "{before}, then {after}");
    // the same positions again are no event
    desk.value(&snapshot(2));
    std::thread::sleep(Duration::from_millis(120));
    assert_eq!(events(stream.as_mut()), []);
}

#[test]
fn an_image_counts_when_it_is_begun() {
    let (service, _) = service_of("symbol,quantity\n");
    let fields = engine::store::columns::Col::ALL.iter().map(|col| col.name()).collect::<Vec<_>>().join(",");
    let begin = || stream(&service, &format!("underlying=KO,SPX,XOM&fields={fields}"), None);
    let streams: Vec<Answer> = (0..512).map(|_| begin()).take_while(|answer| answer.status == 200).collect();
    assert!((8..512).contains(&streams.len()), "{} streams", streams.len());
    assert_eq!(begin().status, 503);
    let metrics = get_from(&service, "/metrics").body;
    let held = metrics.lines().find_map(|line| line.strip_prefix("greeksd_memory_bytes{of=\"streams\"} ")).unwrap();
    assert!((200 << 20..=256 << 20).contains(&held.parse::<usize>().unwrap()), "{held}");
    drop(streams);
    assert_eq!(begin().status, 200);
}

#[test]
fn a_slow_reader_of_metrics_is_sent_the_latest_row_of_each_name() {
    let letter = |n: u8| char::from(b'A' + n);
    let names: Vec<String> = (0..60).map(|n| format!("Q{}{}", letter(n / 26), letter(n % 26))).collect();
    let market = |number: u64| {
        let chain = |name: &String| {
            let mut chain = Chain::clone(&chains()[0]);
            chain.underlying = symbol(name);
            let moved = |slice: &Slice| Slice { und_price: number as f64, ..slice.clone() };
            chain.slices = chain.slices.iter().map(moved).collect();
            Arc::new(chain)
        };
        Snapshot::new(number, names.iter().map(chain).collect(), vec![])
    };
    let (service, published, _) = service_and_desk(desk("symbol,quantity\n"), market(1));
    let columns: Vec<&str> = api::metrics::NAME.iter().map(|head| head.name).collect();
    let query = format!("underlying={}&metrics={}&every=100ms", names.join(","), columns.join(","));
    let mut slow = stream_of(stream(&service, &query, None));
    let last = 16;
    for number in 2..=last {
        assert_eq!(slow.fill(&mut Vec::new()), Progress::More);
        published.store(Arc::new(market(number)));
        std::thread::sleep(Duration::from_millis(110));
    }
    let events = events(slow.as_mut());
    let rows: Vec<&Value> = events.iter().flat_map(|(_, data)| data["rows"].as_array().unwrap()).collect();
    assert!(rows.len() > 20 && rows.len() <= names.len(), "{} rows wait", rows.len());
    assert!(rows.iter().all(|row| (number(row, "und_price") - last as f64).abs() < 1e-9), "{:?}", rows[0]);
}

#[test]
fn tables_of_positions_count_while_they_are_read() {
    let (service, _, desk) = service_and_desk(desk(&book(10)), snapshot(1));
    let bare = desk.bytes();
    let begin = || service.answer_to("/l1/positions", "format=parquet");
    let tables: Vec<Answer> = (0..100).map(|_| begin()).take_while(|answer| answer.status == 200).collect();
    assert_eq!((tables.len(), begin().status, desk.bytes() - bare), (64, 503, 64 << 20));
    assert_eq!(service.answer_to("/l1/positions", "").status, 200, "text of all positions is shared");
    drop(tables);
    assert_eq!(begin().status, 200);
}

#[test]
fn rules_are_heard_while_the_market_stands_still() {
    let path = std::env::temp_dir().join(format!("greeksd-still-rules-{}", std::process::id()));
    std::fs::write(&path, "KO spot > 1\n").unwrap();
    let log = Arc::<AlertLog>::default();
    let mut watch = AlertWatch::open(&path, Arc::clone(&log), AlertSender::default()).unwrap();
    let (market, ending) = (Arc::new(ArcSwap::from_pointee(snapshot(1))), Arc::<AtomicBool>::default());
    let look = move |snapshot: &Snapshot, valued: &ValuedBook, is_new: bool| watch.look(snapshot, valued, is_new);
    let thread = desk("symbol,quantity\nKO,1\n").start(None, market, Arc::clone(&ending), look).unwrap();
    let heard = |alerts: u64| {
        let is_noted = || log.last() >= alerts;
        for _ in (0..600).take_while(|_| !is_noted()) {
            std::thread::sleep(Duration::from_millis(50));
        }
        assert!(is_noted(), "{} alerts", log.last());
    };
    heard(1);
    std::fs::write(&path, "KO spot > 1\nKO spot > 2\n").unwrap();
    heard(2);
    ending.store(true, Ordering::Release);
    thread.join().unwrap();
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn a_scenario_is_written_in_pieces_that_count() {
    let (service, _) = service_of("symbol,quantity\n");
    let held = || {
        let metrics = get_from(&service, "/metrics").body;
        let of = metrics.lines().find_map(|line| line.strip_prefix("greeksd_memory_bytes{of=\"scenarios\"} "));
        of.unwrap().parse::<usize>().unwrap()
    };
    let begin = || {
        let Body::Awaited(mut awaited) =
            service.answer_to("/l1/scenario", "underlying=SPX&max_days=60&spot=-50..50:1").body
        else {
            panic!("no scenario")
        };
        loop {
            match awaited.look() {
                Some(answer) => return stream_of(answer),
                None => std::thread::sleep(Duration::from_millis(1)),
            }
        }
    };
    let before = held();
    let mut first = begin();
    // 256 contracts with 101 values each are computed at once
    assert!(held() - before > 256 * 101 * 64, "{} bytes", held() - before);
    let mut others: Vec<_> = (0..2).map(|_| begin()).collect();
    assert!(held() - before > 3 * 256 * 101 * 64, "{} bytes", held() - before);
    let (mut piece, mut largest, mut all) = (Vec::new(), 0, 0);
    while all < 4 << 20 {
        piece.clear();
        let progress = first.fill(&mut piece);
        (largest, all) = (largest.max(piece.len()), all + piece.len());
        match progress {
            Progress::Done => break,
            Progress::Later => std::thread::sleep(Duration::from_millis(1)),
            progress => assert_eq!(progress, Progress::More),
        }
    }
    assert!(all > 1 << 20 && largest < 66 << 10, "{largest} of {all} bytes");
    drop(first);
    others.clear();
    let is_given_back = || held() - before < 256 * 101 * 64;
    for _ in (0..600).take_while(|_| !is_given_back()) {
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(is_given_back(), "{} bytes", held() - before);
}

/// Asks again until it is not refused as busy; for at most a minute.
fn eventually_answered(service: &Service, target: &str) -> Got {
    for _ in 0..600 {
        let got = get_from(service, target);
        if got.status != 503 {
            return got;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    panic!("busy for a minute: {target}");
}

#[test]
fn scenarios_that_nobody_waits_for_give_their_places_back() {
    let (service, _) = service_of("symbol,quantity\n");
    // minutes of work
    let moments = (2..400).map(|n| format!("{}h", 2 * n)).collect::<Vec<_>>().join(",");
    let target = format!("underlying=XOM,KO&spot=7.1&vol=1.3&rate=0.37&dividends=3.7&sum=total&at={moments}");
    let left: Vec<Answer> = (0..4).map(|_| service.answer_to("/l1/scenario", &target)).collect();
    assert!(left.iter().all(|answer| matches!(answer.body, Body::Awaited(_))));
    assert_eq!(get_from(&service, "/l1/scenario?underlying=KO").status, 503);
    drop(left);
    assert_eq!(eventually_answered(&service, "/l1/scenario?underlying=KO&center=atm").status, 200);
}

#[test]
fn scenarios_that_are_read_slowly_leave_their_places_to_others() {
    let (service, _) = service_of("symbol,quantity\n");
    let begin = || service.answer_to("/l1/scenario", "underlying=SPX&spot=-50..50:1&greeks=none");
    let mut slow: Vec<Answer> = (0..4).map(|_| begin()).collect();
    assert_eq!(eventually_answered(&service, "/l1/scenario?underlying=KO&center=atm").status, 200);
    // and they are whole when they are read at last
    let got = read(slow.remove(0));
    assert!(got.status == 200 && got.body.ends_with("}]"), "{}", got.status);
}

#[test]
fn tables_to_build_are_bounded() {
    let named = |n: usize| Arc::new(Chain { underlying: symbol(&format!("A{n}")), ..Chain::clone(&chains()[0]) });
    let market = Snapshot::new(1, (0..24).map(named).collect(), vec![]);
    let (service, ..) = service_and_desk(desk("symbol,quantity\n"), market);
    let moments = (1..=400).map(|n| format!("{n}h")).collect::<Vec<_>>().join(",");
    let got = get_from(&service, &format!("/l1/scenario?underlying=*&center=atm&right=call&at={moments}&sum=total"));
    assert!(got.status == 400 && got.body.contains("too many expiries times moments"), "{}", got.body);
}

#[test]
fn an_alert_of_exercise_computes_a_chain_once() {
    let mut chain = Chain::clone(&chains()[2]);
    // those of passes only: other tests may have asked for the late ones
    let mut columns = Columns::missing(chain.strike_milli.len());
    Col::OF_PASS.iter().for_each(|&col| columns.get_mut(col).copy_from_slice(chain.columns.get(col)));
    chain.columns = columns;
    let chain = Arc::new(chain);
    let path = std::env::temp_dir().join(format!("greeksd-exercise-rules-{}", std::process::id()));
    std::fs::write(&path, "exercise XOM quiet 0s\n").unwrap();
    let log = Arc::<AlertLog>::default();
    let mut watch = AlertWatch::open(&path, Arc::clone(&log), AlertSender::default()).unwrap();
    let mut look = |number: u64| {
        watch.look(&Snapshot::new(number, vec![Arc::clone(&chain)], vec![]), &ValuedBook::default(), true);
        log.last()
    };
    assert_eq!(look(1), 1, "some contracts of the name are right to exercise");
    assert!(!engine::exercise::fill(&chain), "the look has computed the chain, which keeps it");
    assert_eq!([look(2), look(3)], [1, 1], "the advice has not changed");
    std::fs::remove_file(&path).unwrap();
}

#[test]
fn names_that_are_looked_at_are_computed_first() {
    let contract = "KO261218C00070000";
    for (target, names) in [
        ("/l1/greeks?underlying=KO".to_owned(), vec!["KO"]),
        ("/l1/scenario?underlying=KO,SPY".to_owned(), vec!["KO", "SPY"]),
        ("/l1/scenario?root=SPXW".to_owned(), vec!["SPX"]),
        (format!("/l1/scenario?osym={contract}"), vec!["KO"]),
        ("/l1/scenario?positions=*&underlying=KO".to_owned(), vec!["KO"]),
        (format!("/l1/strategy?legs=1+{contract}"), vec!["KO"]),
    ] {
        let requested = Arc::<RequestedNames>::default();
        let service = service_of(&book(1)).0.with_requested_names(Arc::clone(&requested));
        let got = get_from(&service, &target);
        assert_eq!(got.status, 200, "{target}: {}", got.body);
        for name in ["KO", "SPY", "SPX"] {
            let is_noted = requested.since(Symbol::parse(name).unwrap()).is_some();
            assert_eq!(is_noted, names.contains(&name), "{target}: {name}");
        }
    }
}
