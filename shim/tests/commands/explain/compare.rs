//! `greeksd compare`: files of every layout, made from the simulated market, with and without a known mistake.

use super::{computed, contracts};
use engine::explain::value_basis;
use engine::store::chain::Chain;
use engine::store::columns::{Col, Unit};
use engine::store::quotes::QuoteNumber;
use kernel::american::{Band, Pricer};
use kernel::contract::{ContractKey, Right, Style};
use kernel::greeks::Greeks;
use kernel::quality::Quality;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Arc, LazyLock};

/// A name that pays dividends.
static CHAIN: LazyLock<Arc<Chain>> = LazyLock::new(|| computed(|name| name.symbol.as_str() == "VZ").remove(0));

/// A folder of its own, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("greeksd-compare-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        let of = Self(path);
        let mut rates = "date,tenor_days,rate\n".to_owned();
        for slice in &CHAIN.slices {
            let _ = writeln!(rates, "2026-11-20,{},{}", slice.days, slice.disc_rate);
        }
        of.write("rates.csv", &rates);
        let mut dividends = "underlying,ex_date,amount\n".to_owned();
        for dividend in &CHAIN.evidence.as_ref().unwrap().dividends {
            let _ = writeln!(dividends, "VZ,{},{}", dividend.ex_date, dividend.amount);
        }
        of.write("dividends.csv", &dividends);
        of
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, text).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn program(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_greeksd"));
    command.arg("compare").args(arguments).env_clear().output().unwrap()
}

fn report(path: &Path, more: &[&str]) -> Value {
    let output = program(&[&[path.to_str().unwrap(), "--json"], more].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// A contract as a vendor shows it.
struct Shown {
    key: ContractKey,
    bid: f64,
    ask: f64,
    sigma: f64,
    /// delta, gamma, vega, theta, rho.
    greeks: [f64; 5],
}

/// Every contract with two sides, as we serve it, or with a first dividend that is not counted.
fn shown(is_without_dividend: bool) -> Vec<Shown> {
    let chain = &*CHAIN;
    let column = |col: Col, row: usize| chain.columns.get(col)[row];
    let quotes = chain.quotes.as_ref().unwrap();
    let mut all = Vec::new();
    for (key, style, row) in contracts(chain) {
        let slice = chain.slices.iter().position(|slice| slice.rows.contains(&(row as u32))).unwrap();
        let Some(basis) = value_basis(chain, slice) else { continue };
        let sigma = column(Col::SvcVol, row);
        let greeks = if is_without_dividend {
            let mut terms = basis.terms.clone();
            if !terms.divs.is_empty() {
                terms.divs.remove(0);
            }
            let k = f64::from(key.strike_milli) / 1000.0;
            let band = Band { k: (k, k), sigma: (sigma, sigma) };
            let pricer = Pricer::new(style, key.right, &terms, &band, Quality::Full);
            let greeks: Greeks<f64> = pricer.at(&terms, basis.s).greeks(k, sigma);
            [greeks.delta, greeks.gamma, greeks.vega / 100.0, greeks.theta / 365.0, greeks.rho / 100.0]
        } else {
            [Col::Delta, Col::Gamma, Col::Vega, Col::Theta, Col::Rho].map(|col| column(col, row))
        };
        let (bid, ask) = (quotes.get(row, QuoteNumber::Bid), quotes.get(row, QuoteNumber::Ask));
        if greeks.iter().all(|greek| greek.is_finite()) && bid > 0.0 && ask > 0.0 {
            assert_eq!(style, Style::American);
            all.push(Shown { key, bid, ask, sigma, greeks });
        }
    }
    assert!(all.len() > 100 && Col::Vega.unit() == Unit::PerPercent);
    all
}

const TIME: &str = "2026-11-20T15:42:07-05:00";

/// Our own layout with a vendor's columns.
fn own(all: &[Shown]) -> String {
    let mut text = "quote_time,underlying,und_price,root,expiry,right,strike,bid,ask,bid_size,ask_size,vendor_iv,vendor_delta,vendor_gamma,vendor_theta,vendor_vega,vendor_rho,vendor_theo\n".to_owned();
    for Shown { key, bid, ask, sigma, greeks: [delta, gamma, vega, theta, rho] } in all {
        let (right, strike) = (right(key), f64::from(key.strike_milli) / 1000.0);
        let _ = writeln!(
            text,
            "{TIME},VZ,{},{},{},{right},{strike},{bid},{ask},,,{sigma:.5},{delta:.5},{gamma:.5},{theta:.5},{vega:.5},{rho:.5},",
            CHAIN.spot, key.root, key.expiry
        );
    }
    text
}

fn right(key: &ContractKey) -> &'static str {
    if key.right == Right::Call { "call" } else { "put" }
}

fn osym(key: &ContractKey) -> String {
    let mut osi = [0; kernel::contract::osi::OSI_LEN];
    let n = key.write_compact(&mut osi);
    String::from_utf8_lossy(&osi[..n]).into_owned()
}

#[test]
fn a_missing_dividend_is_named_in_text_json_rows_and_picture() {
    let folder = Folder::new("dividend");
    let path = folder.write("vz.csv", &own(&shown(true)));
    let (csv, svg) = (folder.0.join("out.csv"), folder.0.join("out.svg"));
    let found = report(&path, &["--csv", csv.to_str().unwrap(), "--svg", svg.to_str().unwrap()]);
    let ex_date = CHAIN.evidence.as_ref().unwrap().dividends[0].ex_date.to_string();
    let (mut right, mut n) = (0, 0);
    for expiry in found["names"][0]["expiries"].as_array().unwrap() {
        let first = &expiry["reasons"][0];
        if *expiry["expiry"].as_str().unwrap() >= *ex_date {
            n += 1;
            right += usize::from(
                first["reason"] == "missing_dividend" && first["text"].as_str().unwrap().contains(&ex_date),
            );
        } else {
            assert!(["agrees", "volatility"].contains(&first["reason"].as_str().unwrap()), "{expiry}");
        }
    }
    assert!(n >= 4 && 10 * right >= 9 * n, "{right} of {n}: {found}");
    let csv = std::fs::read_to_string(csv).unwrap();
    assert!(csv.starts_with("underlying,root,expiry,") && csv.contains(",1,missing_dividend,"), "{csv}");
    let svg = std::fs::read_to_string(svg).unwrap();
    assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n") && svg.matches("<circle").count() > 60, "{svg}");
    assert!(svg.contains("missing_dividend") && !svg.contains("NaN") && !svg.contains("inf"));
    let output = program(&[path.to_str().unwrap()]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        text.contains("VZ: ") && text.contains(&format!("on {ex_date}")) && text.contains("ignores the dividend of"),
        "{text}"
    );
}

#[test]
fn dividends_that_were_not_given_are_named_with_what_to_give() {
    let folder = Folder::new("not-given");
    let path = folder.write("vz.csv", &own(&shown(false)));
    std::fs::remove_file(folder.0.join("dividends.csv")).unwrap();
    let found = report(&path, &[]);
    let dividend = &CHAIN.evidence.as_ref().unwrap().dividends[0];
    let (mut named, mut n) = (0, 0);
    for expiry in found["names"][0]["expiries"].as_array().unwrap() {
        let first = &expiry["reasons"][0];
        if *expiry["expiry"].as_str().unwrap() >= *dividend.ex_date.to_string() {
            n += 1;
            let text = first["text"].as_str().unwrap();
            let amount =
                text.strip_prefix("counts dividends of about ").and_then(|rest| rest.split(' ').next()?.parse().ok());
            let is_near = amount.is_some_and(|amount: f64| (amount / dividend.amount).ln().abs() < 0.35);
            let is_whole = text.contains(" a quarter, the next about 2026-1") && text.contains("--dividends FILE");
            named += usize::from(first["reason"] == "dividends_not_given" && is_near && is_whole);
        }
    }
    assert!(n >= 4 && 4 * named >= 3 * n, "{named} of {n}: {found}");
}

#[test]
fn a_file_of_our_own_values_agrees_in_every_layout() {
    let folder = Folder::new("layouts");
    let all = shown(false);
    let spot = CHAIN.spot;
    let of = |shown: &Shown| {
        let Shown { key, bid, ask, sigma, greeks: [delta, gamma, vega, theta, rho] } = shown;
        (osym(key), *bid, *ask, *sigma, [*delta, *gamma, *vega, *theta, *rho])
    };
    let cboe: Vec<Value> = all
        .iter()
        .map(of)
        .map(|(option, bid, ask, iv, [delta, gamma, vega, theta, rho])| {
            json!({"option": option, "bid": bid, "ask": ask, "bid_size": 1.0, "ask_size": 1.0, "iv": iv, "delta": delta,
                "gamma": gamma, "vega": vega, "theta": theta, "rho": rho, "last_trade_time": "2026-11-20T15:30:00"})
        })
        .collect();
    let cboe = json!({"timestamp": "2026-11-20 20:57:07", "symbol": "VZ", "data": {"symbol": "VZ", "current_price": spot,
        "options": cboe, "last_trade_time": "2026-11-20T15:42:00"}});
    let tradier: Vec<Value> = all
        .iter()
        .map(of)
        .map(|(symbol, bid, ask, iv, [delta, gamma, vega, theta, rho])| {
            json!({"symbol": symbol, "underlying": "VZ", "bid": bid, "ask": ask, "bidsize": 1, "asksize": 1,
                "bid_date": 1_795_207_327_000_i64,
                "greeks": {"delta": delta, "gamma": gamma, "vega": vega, "theta": theta, "rho": rho, "mid_iv": iv}})
        })
        .collect();
    let tradier = json!({"options": {"option": tradier}});
    let calls = |right: Right| -> Vec<Value> {
        let own = all.iter().filter(|shown| shown.key.right == right).map(of);
        own.map(|(symbol, bid, ask, iv, _)| {
            json!({"contractSymbol": symbol, "bid": bid, "ask": ask, "impliedVolatility": iv})
        })
        .collect()
    };
    let yahoo = json!({"optionChain": {"result": [{"quote": {"regularMarketPrice": spot, "regularMarketTime": 1_795_207_327},
        "options": [{"calls": calls(Right::Call), "puts": calls(Right::Put)}]}]}});
    let mut orats = "ticker,trade_date,expirDate,strike,stkPx,cBidPx,cAskPx,pBidPx,pAskPx,smoothSmvVol,delta,gamma,theta,vega,rho\n".to_owned();
    let mut orats_api = Vec::new();
    for call in all.iter().filter(|shown| shown.key.right == Right::Call) {
        let put = ContractKey { right: Right::Put, ..call.key };
        let Some(put) = all.iter().find(|shown| shown.key == put) else { continue };
        let [delta, gamma, vega, theta, rho] = call.greeks;
        let strike = f64::from(call.key.strike_milli) / 1000.0;
        let _ = writeln!(
            orats,
            "VZ,2026-11-20,{},{strike},{spot},{},{},{},{},{:.5},{delta:.5},{gamma:.5},{theta:.5},{vega:.5},{rho:.5}",
            call.key.expiry, call.bid, call.ask, put.bid, put.ask, call.sigma
        );
        orats_api.push(json!({"ticker": "VZ", "tradeDate": "2026-11-20", "expirDate": call.key.expiry.to_string(), "strike": strike,
            "stockPrice": spot, "callBidPrice": call.bid, "callAskPrice": call.ask, "putBidPrice": put.bid, "putAskPrice": put.ask,
            "smvVol": call.sigma, "delta": delta, "gamma": gamma, "theta": theta, "vega": vega, "rho": rho}));
    }
    let mut theta_v3 =
        "symbol,expiration,strike,right,timestamp,bid,ask,delta,theta,vega,rho,gamma,implied_vol,underlying_price\n"
            .to_owned();
    let mut theta_v2 =
        "root,expiration,strike,right,ms_of_day,bid,ask,delta,theta,vega,rho,gamma,implied_vol,underlying_price,date\n"
            .to_owned();
    for shown in &all {
        let (key, [delta, gamma, vega, theta, rho]) = (&shown.key, shown.greeks);
        let (bid, ask, sigma, strike) = (shown.bid, shown.ask, shown.sigma, f64::from(key.strike_milli) / 1000.0);
        // vega and rho per 1.00, as the vendor has them
        let (vega, rho) = (100.0 * vega, 100.0 * rho);
        let day = key.expiry.strftime("%Y%m%d");
        let _ = writeln!(
            theta_v3,
            "VZ,{},{strike:.3},{},2026-11-20T15:42:07.000,{bid},{ask},{delta:.6},{theta:.6},{vega:.6},{rho:.6},{gamma:.6},{sigma:.6},{spot}",
            key.expiry,
            right(key).to_uppercase()
        );
        let letter = &right(key).to_uppercase()[..1];
        let _ = writeln!(
            theta_v2,
            "VZ,{day},{},{letter},56527000,{bid},{ask},{delta:.6},{theta:.6},{vega:.6},{rho:.6},{gamma:.6},{sigma:.6},{spot},20261120",
            key.strike_milli
        );
    }
    let spot = spot.to_string();
    let files: [(&str, &str, String, &[&str]); 8] = [
        ("greeksd", "own.csv", own(&all), &[]),
        ("cboe", "cboe.json", cboe.to_string(), &[]),
        ("tradier", "tradier.json", tradier.to_string(), &["--spot", &spot]),
        ("yahoo", "yahoo.json", yahoo.to_string(), &[]),
        ("orats-strikes", "orats.csv", orats, &["--layout", "orats-files"]),
        ("orats-strikes", "orats.json", json!({"data": orats_api}).to_string(), &[]),
        ("thetadata-v3", "v3.csv", theta_v3, &[]),
        ("thetadata-v2", "v2.csv", theta_v2, &[]),
    ];
    for (layout, name, text, more) in files {
        let found = report(&folder.write(name, &text), more);
        assert_eq!((found["layout"].as_str(), found["refused"].as_u64()), (Some(layout), Some(0)), "{found}");
        let of = &found["names"][0];
        assert_eq!(of["underlying"], "VZ", "{layout}");
        let median = |greek: &str| {
            let rows = of["differences"].as_array().unwrap();
            rows.iter().find(|row| row["greek"] == greek).map(|row| row["median"].as_f64().unwrap())
        };
        assert!(median("volatility").unwrap() < 2e-3, "{layout}: {of}");
        if layout == "yahoo" {
            assert_eq!((median("delta"), of["expiries"].as_array().unwrap().len()), (None, 0), "it has no Greeks");
            continue;
        }
        assert!(median("delta").unwrap() < 2e-3 && median("vega").unwrap() < 2e-3, "{layout}: {of}");
        assert_eq!(of["conventions"]["theta"], "calendar_day", "{layout}");
        let times = if layout.starts_with("theta") { 100.0 } else { 1.0 };
        assert_eq!(of["conventions"]["vega_times"], times, "{layout}");
        assert!(of["expiries"].as_array().unwrap().len() > 4, "{layout}: {of}");
    }
}

#[test]
fn what_cannot_be_used_is_said_with_its_place() {
    let folder = Folder::new("refused");
    let whole = own(&shown(false));
    let mut lines: Vec<String> = whole.lines().map(str::to_owned).collect();
    lines[1] = lines[1].replace(",call,", ",both,").replace(",put,", ",both,");
    lines[2] = lines[2].replace("2026-11-20T15:42:07-05:00", "yesterday");
    lines[3].truncate(20);
    let path = folder.write("some.csv", &(lines.join("\n") + "\n"));
    let output = program(&[path.to_str().unwrap(), "--json"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    let found: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(found["refused"], 3, "{said}");
    assert!(
        said.contains("some.csv:2: right: not_a_right") && said.contains("some.csv:3: quote_time: not_a_time"),
        "{said}"
    );
    let failing: [(&str, &str, &str); 7] = [
        ("empty.csv", "", "no known layout"),
        ("other.csv", "a,b\n1,2\n", "no known layout"),
        ("header.csv", lines[0].as_str(), "nothing to compare"),
        ("cut.json", "{\"data\": {\"options\": [{\"option\": \"VZ", "cut.json: "),
        ("none.json", "{\"data\": {\"options\": []}}", "no known layout"),
        ("odd.json", "[[[[]]], 7]", "no known layout"),
        ("bad.csv.gz", "\u{1f}\u{0}", "no known layout"),
    ];
    for (name, text, words) in failing {
        let path = folder.write(name, text);
        let output = program(&[path.to_str().unwrap()]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{name}: {said}");
        assert!(said.contains(words), "{name}: {said}");
    }
    let mut packed = vec![0x1f, 0x8b, 8, 0];
    packed.extend_from_slice(&[7; 40]);
    std::fs::write(folder.0.join("damaged.gz"), packed).unwrap();
    assert_eq!(program(&[folder.0.join("damaged.gz").to_str().unwrap()]).status.code(), Some(1));
    assert_eq!(program(&["/nowhere/at/all.csv"]).status.code(), Some(1));
    assert_eq!(program(&["http://127.0.0.1:1/x"]).status.code(), Some(1), "nobody listens there");
}

/// Cboe's columns beside recorded quotes: local data, left out where it is not there.
#[test]
fn cboes_theta_is_found_to_be_without_drift() {
    let Ok(folder) = std::env::var("GREEKSD_REALDATA").map(PathBuf::from) else {
        println!("no recorded chains here (GREEKSD_REALDATA): left out");
        return;
    };
    for name in ["clx_2026-07-24", "f_2026-08-21", "tsla_2026-08-21"] {
        let path = folder.join(format!("chains/{name}.csv.gz"));
        let found = report(&path, &[]);
        let of = &found["names"][0];
        println!("{name}: {} {}", of["conventions"], of["reasons"]);
        assert_eq!(of["conventions"]["theta"], "driftless_calendar_day", "{name}");
        assert_eq!(of["conventions"]["vega_times"], 1.0, "{name}");
    }
}
