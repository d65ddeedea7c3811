//! Quotes of the feed in every layer, where the daemon shows them: numbers, sizes and times in each vendor's own
//! spelling. Where it does not, `http_golden` holds every byte.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use crate::support::market::{NOW, get, get_from, market, service};
use engine::snapshot::Snapshot;
use engine::store::book::BookSlice;
use engine::store::chain::Chain;
use engine::store::drop_reason::DropReason;
use engine::store::evidence::ChainEvidence;
use engine::store::quotes::ChainQuotes;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use kernel::calendar::{Calendar, EventDate, EventTime};
use kernel::contract::ForwardBasis;
use serde_json::Value;
use shim::app::Service;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Quote of a row. All rows differ, and some sides and sizes are missing.
#[derive(Clone, Copy, Debug)]
struct Quote {
    bid: f64,
    ask: f64,
    bid_size: f64,
    ask_size: f64,
    volume: f64,
    open_interest: f64,
    dropped: Option<DropReason>,
    ts: Timestamp,
}

impl Quote {
    fn of(row: usize) -> Self {
        let unless = |missing: bool, x: f64| if missing { f64::NAN } else { x };
        let bid = 1.05 + 0.15 * row as f64;
        Self {
            bid: unless(row % 5 == 2, bid),
            ask: unless(row % 7 == 3, bid + 0.1),
            bid_size: unless(row % 5 == 2 || row % 11 == 4, (row + 1) as f64),
            ask_size: unless(row % 7 == 3, (10 * row) as f64),
            volume: unless(row % 13 == 5, (3 * row) as f64),
            open_interest: unless(row % 17 == 6, (100 + row) as f64),
            dropped: (row % 4 == 1).then(|| DropReason::ALL[row % DropReason::ALL.len()]),
            ts: NOW - SignedDuration::from_millis(61_250) * i32::try_from(row).unwrap(),
        }
    }

    fn mid(&self) -> f64 {
        (self.bid + self.ask) / 2.0
    }
}

fn quoted(chain: &Chain) -> ChainQuotes {
    let mut slices = Vec::new();
    for slice in &chain.slices {
        let rows = slice.rows.start as usize..slice.rows.end as usize;
        let quotes: Vec<Quote> = rows.clone().map(Quote::of).collect();
        slices.push(BookSlice {
            root: slice.root,
            expiry: slice.expiry,
            listed: slice.listed,
            style: slice.style,
            settle: slice.settle,
            settles_at: slice.settles_at,
            basis: ForwardBasis::Spot,
            multiplier: 100,
            adjusted: slice.adjusted,
            deliverables: Vec::new(),
            strike_milli: chain.strike_milli[rows.clone()].to_vec(),
            right: chain.right[rows].to_vec(),
            bid: quotes.iter().map(|q| q.bid).collect(),
            ask: quotes.iter().map(|q| q.ask).collect(),
            counts: quotes.iter().map(|q| [q.bid_size, q.ask_size, q.volume, q.open_interest]).collect(),
            ts: quotes.iter().map(|q| q.ts).collect(),
            stale: false,
        });
    }
    ChainQuotes::of(slices.iter())
}

/// The market with quotes.
fn showing_snapshot() -> Snapshot {
    let snapshot = market();
    let with = |chain: &Arc<Chain>| {
        let quotes = Some(Box::new(quoted(chain)));
        let dropped = (0..chain.right.len()).map(|row| Quote::of(row).dropped).collect();
        Arc::new(Chain { quotes, dropped, ..Chain::clone(chain) })
    };
    let chains = snapshot.chains().iter().map(with).collect();
    Snapshot::new(7, chains, snapshot.pending().to_vec())
}

pub(super) fn showing() -> Service {
    service(showing_snapshot()).showing_quotes(true)
}

fn json(target: &str) -> Value {
    let got = get_from(&showing(), target);
    assert_eq!(got.status, 200, "{target}: {}", got.body);
    serde_json::from_str(&got.body).unwrap()
}

/// The rows of an underlying by compact OSI symbol.
fn quotes_of(underlying: &str) -> BTreeMap<String, Quote> {
    let rows = json(&format!("/l1/greeks?underlying={underlying}"));
    let osi = |row: &Value| row["osym"].as_str().unwrap().replace(' ', "");
    rows.as_array().unwrap().iter().enumerate().map(|(i, row)| (osi(row), Quote::of(i))).collect()
}

fn spelt(ts: Timestamp, zone: &str, format: &str) -> String {
    ts.to_zoned_datetime(TimeZone::get(zone).unwrap()).strftime(format).to_string()
}

/// A price to four decimals, zero where there is none.
#[track_caller]
fn is_price(found: &Value, wanted: f64) {
    let wanted = if wanted.is_nan() { 0.0 } else { wanted };
    assert!((found.as_f64().unwrap() - wanted).abs() < 5.1e-5, "{found} is not {wanted}");
}

/// A whole number as JSON has it, zero where there is none.
#[track_caller]
fn is_size(found: &Value, wanted: f64) {
    assert_eq!(found.as_u64(), Some(if wanted.is_nan() { 0 } else { wanted as u64 }), "{found}");
}

/// Looks at each contract of ACME in an answer; `seen` are its rows, `name` the OSI symbol of one.
fn each(seen: &[Value], name: impl Fn(&Value) -> String, check: impl Fn(&Value, &Quote)) {
    let mut wanted = quotes_of("ACME");
    assert!(seen.len() >= 10, "{} rows", seen.len());
    for row in seen {
        let quote = wanted.remove(&name(row)).unwrap_or_else(|| panic!("{} is not wanted", name(row)));
        check(row, &quote);
    }
}

fn word(value: &Value) -> String {
    value.as_str().unwrap().to_owned()
}

#[test]
fn the_native_group_has_what_was_quoted_and_nothing_in_place_of_the_rest() {
    let rows = json("/l1/greeks?underlying=ACME&greeks=quote");
    let first = rows[0].as_object().unwrap();
    assert_eq!(first["greeks"], "quote");
    assert_eq!(first.len(), 7 + 9);
    each(
        rows.as_array().unwrap(),
        |row| word(&row["osym"]).replace(' ', ""),
        |row, quote| {
            for (name, wanted) in [
                ("bid", quote.bid),
                ("ask", quote.ask),
                ("mid", quote.mid()),
                ("bid_size", quote.bid_size),
                ("ask_size", quote.ask_size),
                ("volume", quote.volume),
                ("open_interest", quote.open_interest),
            ] {
                match row[name].as_f64() {
                    Some(found) => assert!((found - wanted).abs() < 5e-7, "{name}: {found} is not {wanted}"),
                    None => assert!(row[name].is_null() && wanted.is_nan(), "{name}: {row}"),
                }
            }
            let time = spelt(quote.ts, "America/New_York", "%Y-%m-%dT%H:%M:%S%.3f%:z");
            assert_eq!(row["quote_time"], time.as_str());
            assert_eq!(row["dropped"].as_str(), quote.dropped.map(DropReason::name));
        },
    );
    let both = json("/l1/greeks?underlying=ACME&greeks=quote,core");
    assert_eq!((&both[0]["greeks"], both[0]["bid"].is_number()), (&Value::from("core,quote"), true));
    assert!(json("/l1/greeks?underlying=ACME&greeks=all")[0].get("bid").is_none(), "all is what it was");
}

#[test]
fn every_format_shows_the_group_and_sizes_stay_whole() {
    let csv = get_from(&showing(), "/l1/greeks?underlying=ACME&greeks=quote&format=csv").body;
    let lines: Vec<&str> = csv.split("\r\n").collect();
    assert!(
        lines[0].ends_with(",bid,ask,bid_size,ask_size,mid,quote_time,volume,open_interest,dropped"),
        "{}",
        lines[0]
    );
    assert!(lines[1].ends_with(",1.05,1.15,1,0,1.1,2026-11-20T15:42:07.318-05:00,0,100,"), "{}", lines[1]);
    assert!(lines[2].ends_with(",101,no_bid"), "{}", lines[2]);
    assert!(lines[3].ends_with(",,1.45,,20,,2026-11-20T15:40:04.818-05:00,6,102,"), "{}", lines[3]);
    let ndjson = get_from(&showing(), "/l1/greeks?underlying=ACME&greeks=quote&format=ndjson").body;
    let lines: Vec<Value> = ndjson.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(Value::Array(lines), json("/l1/greeks?underlying=ACME&greeks=quote"));
    let html = get_from(&showing(), "/v1/markets/options/chains?symbol=ACME&format=html").body;
    assert!(html.contains("<td>1.0500</td><td>1.1500</td>") && html.contains("<td>1</td>"), "{html}");
}

#[test]
fn without_the_option_the_group_is_refused_with_the_way_to_have_it() {
    for target in ["/l1/greeks?underlying=ACME&greeks=quote", "/l1/greeks?underlying=LATE&greeks=all,quote&format=csv"]
    {
        let got = get(target);
        let text = "{\"error\":\"greeks=quote: this daemon does not serve quotes; start it with --show-quotes\"}";
        assert_eq!((got.status, got.body.as_str()), (400, text), "{target}");
    }
    assert_eq!(get_from(&showing(), "/l1/greeks?underlying=LATE&greeks=quote").status, 502);
}

#[test]
fn tradier() {
    let answer = json("/v1/markets/options/chains?symbol=ACME&greeks=true");
    each(
        answer["options"]["option"].as_array().unwrap(),
        |row| word(&row["symbol"]),
        |row, quote| {
            is_price(&row["bid"], quote.bid);
            is_price(&row["ask"], quote.ask);
            is_size(&row["bidsize"], quote.bid_size);
            is_size(&row["asksize"], quote.ask_size);
            for date in ["bid_date", "ask_date"] {
                assert_eq!(row[date].as_i64(), Some(quote.ts.as_millisecond()));
            }
            assert_eq!(row["trade_date"].as_i64(), Some(NOW.as_millisecond()), "no trade is shown");
            is_size(&row["volume"], quote.volume);
            is_size(&row["open_interest"], quote.open_interest);
            assert_eq!(row["last"], Value::from(0));
        },
    );
}

#[test]
fn alpaca() {
    let answer = json("/v1beta1/options/snapshots/ACME?limit=1000");
    let named = answer["snapshots"].as_object().unwrap().iter();
    let rows: Vec<Value> = named.map(|(name, row)| serde_json::json!({"name": name, "row": row})).collect();
    each(
        &rows,
        |row| word(&row["name"]),
        |row, quote| {
            let shown = &row["row"]["latestQuote"];
            is_price(&shown["bp"], quote.bid);
            is_price(&shown["ap"], quote.ask);
            is_size(&shown["bs"], quote.bid_size);
            is_size(&shown["as"], quote.ask_size);
            assert_eq!(shown["t"], spelt(quote.ts, "UTC", "%Y-%m-%dT%H:%M:%S%.3fZ").as_str());
            assert_eq!(row["row"]["latestTrade"]["t"], spelt(NOW, "UTC", "%Y-%m-%dT%H:%M:%S%.3fZ").as_str());
        },
    );
}

#[test]
fn polygon() {
    let answer = json("/v3/snapshot/options/ACME?limit=250");
    let name = |row: &Value| word(&row["details"]["ticker"])[2..].to_owned();
    each(answer["results"].as_array().unwrap(), name, |row, quote| {
        let shown = &row["last_quote"];
        is_price(&shown["bid"], quote.bid);
        is_price(&shown["ask"], quote.ask);
        is_price(&shown["midpoint"], quote.mid());
        is_size(&shown["bid_size"], quote.bid_size);
        is_size(&shown["ask_size"], quote.ask_size);
        assert_eq!(shown["last_updated"].as_i64(), i64::try_from(quote.ts.as_nanosecond()).ok());
        assert_eq!(row["last_trade"]["sip_timestamp"].as_i64(), i64::try_from(NOW.as_nanosecond()).ok());
    });
}

#[test]
fn intrinio_has_null_where_a_side_is_not_quoted() {
    let answer = json("/options/chain/ACME/*/realtime?show_extended_price=true&include_related_symbols=true");
    each(
        answer["chain"].as_array().unwrap(),
        |row| word(&row["option"]["code"]),
        |row, quote| {
            let price = &row["price"];
            for (found, wanted) in
                [(&price["bid"], quote.bid), (&price["ask"], quote.ask), (&row["extended_price"]["mark"], quote.mid())]
            {
                if wanted.is_nan() { assert!(found.is_null(), "{found}") } else { is_price(found, wanted) }
            }
            for (found, wanted) in [(&price["bid_size"], quote.bid_size), (&price["ask_size"], quote.ask_size)] {
                if wanted.is_nan() { assert!(found.is_null(), "{found}") } else { is_size(found, wanted) }
            }
            for time in ["bid_timestamp", "ask_timestamp"] {
                assert_eq!(price[time], spelt(quote.ts, "UTC", "%Y-%m-%dT%H:%M:%S%.3f+00:00").as_str());
            }
            assert_eq!(row["extended_price"]["bid_close"], 0);
        },
    );
}

/// Rows of an answer that goes column by column.
fn transposed(answer: &Value, names: &[&str]) -> Vec<Value> {
    let rows = answer[names[0]].as_array().unwrap().len();
    let row = |i: usize| names.iter().map(|&name| (name.to_owned(), answer[name][i].clone())).collect();
    (0..rows).map(|i| Value::Object(row(i))).collect()
}

#[test]
fn marketdata() {
    let answer = json("/v1/options/chain/ACME?expiration=all&nonstandard=true");
    let rows = transposed(&answer, &["optionSymbol", "bid", "bidSize", "mid", "ask", "askSize", "updated", "last"]);
    each(
        &rows,
        |row| word(&row["optionSymbol"]),
        |row, quote| {
            is_price(&row["bid"], quote.bid);
            is_price(&row["ask"], quote.ask);
            is_price(&row["mid"], quote.mid());
            is_size(&row["bidSize"], quote.bid_size);
            is_size(&row["askSize"], quote.ask_size);
            assert_eq!(row["updated"].as_i64(), Some(quote.ts.as_second()));
            assert!(row["last"].is_null());
        },
    );
}

#[test]
fn livevol() {
    let answer = json("/allaccess/market/option-and-underlying-quotes?symbol=ACME");
    each(
        answer.as_array().unwrap(),
        |row| word(&row["option"]),
        |row, quote| {
            is_price(&row["option_bid"], quote.bid);
            is_price(&row["option_ask"], quote.ask);
            is_price(&row["option_mid"], quote.mid());
            is_size(&row["option_bid_size"], quote.bid_size);
            is_size(&row["option_ask_size"], quote.ask_size);
        },
    );
}

#[test]
fn alphavantage() {
    let answer = json("/query?function=REALTIME_OPTIONS&symbol=ACME&require_greeks=true");
    each(
        answer["data"].as_array().unwrap(),
        |row| word(&row["contractID"]),
        |row, quote| {
            for (name, wanted) in [("bid", quote.bid), ("ask", quote.ask), ("mark", quote.mid())] {
                let text = word(&row[name]);
                assert_eq!(text.split_once('.').map(|(_, decimals)| decimals.len()), Some(2), "{text}");
                let wanted = if wanted.is_nan() { 0.0 } else { wanted };
                assert!((text.parse::<f64>().unwrap() - wanted).abs() < 5.001e-3, "{name}: {text} is not {wanted}");
            }
            let counts = [
                ("bid_size", quote.bid_size),
                ("ask_size", quote.ask_size),
                ("volume", quote.volume),
                ("open_interest", quote.open_interest),
            ];
            for (name, wanted) in counts {
                assert_eq!(word(&row[name]), if wanted.is_nan() { "0".to_owned() } else { wanted.to_string() });
            }
            assert_eq!(row["last"], Value::from("0.00"));
        },
    );
}

#[test]
fn thetadata_in_both_versions() {
    // one root, so that a row is found by its terms
    let quotes: Vec<Quote> = (0..6).map(Quote::of).collect();
    let answer = json("/v3/option/snapshot/greeks/first_order?symbol=BRK.B&expiration=*&format=json");
    let rows = transposed(&answer, &["timestamp", "bid", "ask", "underlying_timestamp"]);
    assert_eq!(rows.len(), quotes.len());
    for (row, quote) in rows.iter().zip(&quotes) {
        is_price(&row["bid"], quote.bid);
        is_price(&row["ask"], quote.ask);
        assert_eq!(row["timestamp"], spelt(quote.ts, "America/New_York", "%Y-%m-%dT%H:%M:%S%.3f").as_str());
        assert_eq!(row["underlying_timestamp"], "2026-11-20T15:42:07.318");
    }
    let csv = get_from(&showing(), "/v3/option/snapshot/greeks/first_order?symbol=BRK.B&expiration=*").body;
    assert!(csv.contains(",2026-11-20T15:40:04.818,0.0,1.45,"), "a number without a bid keeps its point: {csv}");

    let answer = json("/v2/bulk_snapshot/option/greeks?root=BRK.B&exp=0");
    let names: Vec<&str> = answer["header"]["format"].as_array().unwrap().iter().map(|v| v.as_str().unwrap()).collect();
    let place = |name: &str| names.iter().position(|&n| n == name).unwrap();
    for (row, quote) in answer["response"].as_array().unwrap().iter().zip(&quotes) {
        let tick = &row["ticks"][0];
        is_price(&tick[place("bid")], quote.bid);
        is_price(&tick[place("ask")], quote.ask);
        let at = quote.ts.to_zoned_datetime(TimeZone::get("America/New_York").unwrap());
        let midnight = at.start_of_day().unwrap();
        let ms = at.timestamp().as_millisecond() - midnight.timestamp().as_millisecond();
        assert_eq!(tick[place("ms_of_day")].as_i64(), Some(ms));
        assert_eq!(tick[place("ms_of_day2")], 56_527_318);
        assert_eq!(tick[place("date")], 20_261_120);
    }
}

#[test]
fn orats_has_each_side_of_a_strike() {
    let answer = json("/datav2/strikes?ticker=BRK.B");
    let rows = answer["data"].as_array().unwrap();
    assert_eq!(rows.len(), 3);
    for (i, row) in rows.iter().enumerate() {
        for (side, quote) in [("call", Quote::of(2 * i)), ("put", Quote::of(2 * i + 1))] {
            is_price(&row[format!("{side}BidPrice")], quote.bid);
            is_price(&row[format!("{side}AskPrice")], quote.ask);
            is_size(&row[format!("{side}BidSize")], quote.bid_size);
            is_size(&row[format!("{side}AskSize")], quote.ask_size);
        }
    }
}

#[test]
fn orats_knows_straddles_and_the_next_earnings() {
    let snapshot = showing_snapshot();
    let event = |day: i8, is_earnings| {
        let (date, time) = (jiff::civil::date(2026, 12, day), EventTime::AfterClose);
        Calendar::embedded().event_span(&EventDate { date, time, size: None, is_earnings })
    };
    let with = |chain: &Arc<Chain>| {
        let evidence = ChainEvidence { events: vec![event(2, false), event(9, true)], ..ChainEvidence::default() };
        Arc::new(Chain { evidence: Some(Box::new(evidence)), ..Chain::clone(chain) })
    };
    let chains = snapshot.chains().iter().map(with).collect();
    let service = service(Snapshot::new(7, chains, Vec::new())).showing_quotes(true);
    let core = |service: &Service, name: &str| -> Value {
        let got = get_from(service, &format!("/datav2/cores?ticker={name}"));
        serde_json::from_str::<Value>(&got.body).unwrap()["data"][0].clone()
    };
    let acme = core(&service, "ACME");
    assert_eq!((&acme["nextErn"], &acme["wksNextErn"]), (&"2026-12-09".into(), &2.into()), "{acme}");
    assert_eq!(core(&showing(), "ACME")["nextErn"], "1970-01-01");
    // the second month has the same strikes, and all sides of the middle one
    let rows = json("/l1/greeks?underlying=ACME&exp=2027-01-15&min_strike=102.5&max_strike=102.5&greeks=core,quote");
    let both = |number: &str| -> f64 { rows.as_array().unwrap().iter().map(|row| row[number].as_f64().unwrap()).sum() };
    assert_eq!(rows.as_array().unwrap().len(), 2);
    let near = |name: &str, wanted: f64| assert!((acme[name].as_f64().unwrap() - wanted).abs() < 1e-3, "{name} {acme}");
    near("smoothStrPxM2", both("svc_theo"));
    near("straPxM2", 0.5 * (both("bid") + both("ask")));
    for name in ["loStrikeM1", "hiStrikeM1", "loStrikeM2", "hiStrikeM2"] {
        near(name, 102.5);
    }
    let bare = get("/datav2/cores?ticker=ACME");
    let bare: Value = serde_json::from_str(&bare.body).unwrap();
    assert!(bare["data"][0]["straPxM2"] == 0.0 && bare["data"][0]["smoothStrPxM2"] == acme["smoothStrPxM2"], "{bare}");
}
