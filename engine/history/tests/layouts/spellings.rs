//! Files as users have them: texts of other countries, missing sides, symbols and dates of brokers. All are read to the
//! same rows, whatever their form.

use crate::folder::{line, rows_in};
use feeds::text::{DateOrder, Decimal};
use history::layouts::{ReadOptions, read_chains};
use history::row::HistoryRow;
use kernel::error::Reason;
use std::path::Path;

const HEADER: &str = "quote_time,underlying,und_price,root,expiry,right,strike,bid,ask\n";
const ROW: &str = "2026-11-20 15:42,KO,68.25,KO,2026-12-18,call,63.5,5.29,5.34\n";
const WANT: &str = "2026-11-20T20:42:00Z KO KO 2026-12-18 63500 Call 5.29 5.34 68.25";

/// Line, column, reason and value of what is refused.
type Place = (u64, &'static str, Reason, String);

/// Reads a text as a file and as a chain file of a market folder, which must give the same.
fn read(text: &[u8]) -> (Vec<String>, Vec<Place>) {
    let (rows, read) = rows_in("x.csv", text, &ReadOptions::default()).unwrap();
    let places = |report: &kernel::report::Report| {
        let place = |place: &kernel::error::Refused| (place.line, place.field, place.reason, place.value.clone());
        report.places.iter().map(place).collect::<Vec<_>>()
    };
    let (chains, report) = read_chains(Path::new("x.csv"), text);
    assert_eq!(chains.quotes.len(), rows.len());
    for (row, quote) in rows.iter().zip(&chains.quotes) {
        let spot = chains.spots.iter().find(|spot| spot.ts == quote.ts).map_or(f64::NAN, |spot| spot.price);
        assert_eq!(line(row), line(&HistoryRow { quote: *quote, spot }));
    }
    assert_eq!(places(&read.report), places(&report));
    (rows.iter().map(line).collect(), places(&report))
}

fn utf16(text: &str, of: fn(u16) -> [u8; 2]) -> Vec<u8> {
    text.encode_utf16().flat_map(of).collect()
}

#[test]
fn texts_of_every_country_say_the_same() {
    let plain = format!("{HEADER}{ROW}");
    let comma =
        |text: &str| text.replace(',', ";").replace("68.25", "68,25").replace("63.5;5.29;5.34", "63,5;5,29;5,34");
    for text in [
        plain.clone(),
        plain.replace(',', ";"),
        plain.replace(',', "\t"),
        plain.replace(',', "|"),
        comma(&plain),
        comma(&plain).replace("2026-11-20 15:42", "20.11.2026 15:42:00").replace("2026-12-18", "18.12.2026"),
        comma(&plain).replace("2026-11-20 15:42", "20/11/2026 15:42").replace("2026-12-18", "18/12/2026"),
        format!("sep=;\r\n{}", comma(&plain).replace('\n', "\r\n")),
        format!("\u{feff}{}", comma(&plain)),
        plain.replace("68.25", "\"68,25\"").replace("5.29", "\"5,29\""),
        plain.replace("68.25", "$68.25").replace("call", "Calls").replace("63.5", "\"63.50\""),
        plain.replace("2026-12-18", "18DEC26").replace("2026-11-20 15:42", "11/20/2026 3:42:00 PM"),
        plain.replace("2026-12-18", "\"Fri Dec 18, 2026\"").replace("2026-11-20 15:42", "1795207320"),
        plain.replace("2026-12-18", "12/18/2026").replace("2026-11-20 15:42", "2026-11-20T20:42:00Z"),
        plain
            .replace(",KO,68", ",^KO,68")
            .replace(",KO,2026", ",ko,2026")
            .replace("2026-12-18", "2026-12-18T00:00:00+00:00"),
    ] {
        assert_eq!(read(text.as_bytes()), (vec![WANT.to_owned()], vec![]), "{text}");
    }
    for order in [u16::to_le_bytes, u16::to_be_bytes] {
        for text in [format!("\u{feff}{plain}").replace(',', "\t"), comma(&plain)] {
            assert_eq!(read(&utf16(&text, order)).0, [WANT], "{text}");
        }
    }
}

#[test]
fn a_missing_side_costs_neither_the_row_nor_the_other_side() {
    for none in ["", "NaN", "nan", "N/A", "n/a", "-", "--", "null", "NULL", "None", "#N/A", "<NA>", "-1", "-1.0"] {
        let text = format!("{HEADER}{}", ROW.replace("5.29", none));
        assert_eq!(read(text.as_bytes()), (vec![WANT.replace("5.29", "NaN")], vec![]), "{none}");
        let text = format!("{HEADER}{}", ROW.replace("68.25", none));
        assert_eq!(read(text.as_bytes()), (vec![WANT.replace("68.25", "NaN")], vec![]), "{none}");
    }
}

#[test]
fn what_can_be_read_twice_is_refused_until_an_option_says_which() {
    let semicolons = |row: &str| format!("{HEADER}{row}").replace(',', ";");
    for (text, field, reason, value) in [
        (
            semicolons(&ROW.replace("68.25", "1#250").replace("63.5", "63").replace("5.29", "5").replace("5.34", "6"))
                .replace('#', ","),
            "und_price",
            Reason::AmbiguousNumber,
            "1,250",
        ),
        (semicolons(&ROW.replace("2026-12-18", "4/12/2026")), "expiry", Reason::AmbiguousDate, "4/12/2026"),
        (format!("{HEADER}{}", ROW.replace("2026-12-18", "4-12-2026")), "expiry", Reason::AmbiguousDate, "4-12-2026"),
        (format!("{HEADER}{}", ROW.replace("2026-12-18", "12/18/26")), "expiry", Reason::AmbiguousDate, "12/18/26"),
        (
            format!(
                "{HEADER}{}",
                ROW.replace("2026-12-18", "18/12/2026").replace("2026-11-20 15:42", "11/20/2026 15:42")
            ),
            "expiry",
            Reason::NotADate,
            "18/12/2026",
        ),
        (format!("{HEADER}{}", ROW.replace("call", "1")), "right", Reason::NotARight, "1"),
    ] {
        let want = (2, field, reason, value.to_owned());
        let (rows, read) = rows_in("x.csv", text.as_bytes(), &ReadOptions::default()).unwrap();
        let place = read.report.places.first().unwrap();
        assert_eq!((place.line, place.field, place.reason, place.value.clone()), want, "{text}");
        assert_eq!(rows.len(), usize::from(field == "und_price"), "{text}");
    }
    let of = |text: &str, decimal, dates| {
        let options = ReadOptions { decimal, dates, ..ReadOptions::default() };
        line(&rows_in("x.csv", text.as_bytes(), &options).unwrap().0[0])
    };
    let text =
        semicolons(ROW).replace("68.25", "1,250").replace("63.5", "63").replace("5.29", "5").replace("5.34", "6");
    let text = text.replace("2026-12-18", "4/12/2026");
    let with = |expiry: &str, spot: &str| format!("2026-11-20T20:42:00Z KO KO {expiry} 63000 Call 5 6 {spot}");
    assert_eq!(of(&text, Some(Decimal::Comma), Some(DateOrder::DayFirst)), with("2026-12-04", "1.25"));
    assert_eq!(of(&text, Some(Decimal::Point), Some(DateOrder::MonthFirst)), with("2026-04-12", "1250"));
    let short = format!("{HEADER}{}", ROW.replace("2026-12-18", "12/18/26"));
    assert_eq!(of(&short, None, Some(DateOrder::MonthFirst)), WANT);
}

#[test]
fn symbols_of_brokers_are_contracts_in_every_file() {
    for symbol in [
        "KO    261218C00063500",
        "KO261218C00063500",
        ".KO261218C63.5",
        "-KO261218C63.5",
        "KO_121826C63.5",
        "KO US 12/18/26 C63.5 Equity",
        "O:KO261218C00063500",
    ] {
        let text = format!("quote_time,osym,und_price,bid,ask\n2026-11-20 15:42,{symbol},68.25,5.29,5.34\n");
        assert_eq!(read(text.as_bytes()).0, [WANT], "{symbol}");
    }
}

#[test]
fn a_quote_table_of_cboe_is_a_strike_a_row() {
    let text = "\nCOCA COLA CO,Last: 68.25,Change: 0.1\n\
        \"Date: November 20, 2026 at 3:42 PM EST\",Bid: 68.24,Ask: 68.26,Size: 1*1,Volume: 10\n\
        Expiration Date,Calls,Last Sale,Net,Bid,Ask,Volume,IV,Delta,Gamma,Open Interest,Strike,\
        Puts,Last Sale,Net,Bid,Ask,Volume,IV,Delta,Gamma,Open Interest\n\
        Fri Dec 18 2026,KO261218C00063500,0,0,5.29,5.34,3,0.2,0.9,0.05,70,63.50,\
        KO261218P00063500,0,0,0.1,0.15,4,0.2,-0.1,0.05,80\n";
    let put = WANT.replace("Call 5.29 5.34", "Put 0.1 0.15");
    assert_eq!(read(text.as_bytes()), (vec![WANT.to_owned(), put], vec![]));
    let (rows, _) = rows_in("q.csv", text.as_bytes(), &ReadOptions::default()).unwrap();
    assert_eq!((rows[0].quote.activity.volume, rows[1].quote.activity.open_interest), (3.0, 80.0));
    let old =
        text.replace("Volume,", "Vol,").replace("Open Interest", "Open Int").replace("Fri Dec 18 2026", "12/18/2026");
    assert_eq!(read(old.as_bytes()).0.len(), 2);
    let (_, table) = old.split_once("Volume: 10\n").unwrap();
    let older = "KO (COCA COLA CO),68.2,+0.1,\nNov 20 2026 @ 15:42 ET,Bid,68.24,Ask,68.26,Size,1x1,Vol,10,\n";
    assert_eq!(read(format!("{older}{table}").as_bytes()), read(text.as_bytes()));
}

#[test]
fn a_saved_response_is_no_recording() {
    let schwab = "{\n \"symbol\": \"KO\",\n \"callExpDateMap\": {}\n}\n";
    let tradier = r#"{"options": {"option": [{"symbol": "KO261218C00068000", "bid": 1.5, "ask": 1.6}]}}"#;
    let yahoo = r#"[{"contractSymbol": "KO261218C00068000", "bid": 1.5, "ask": 1.6}]"#;
    let cboe = r#"{"timestamp":"2026-11-20 20:42:00","data":{"options":[{"option":"KO261218C00068000","bid":1}]}}"#;
    for text in [schwab, tradier, yahoo, cboe, "{}", "\u{feff} {\"price\": [1]\n}", "{\n}"] {
        for name in ["x.json", "x.csv"] {
            let refused = rows_in(name, text.as_bytes(), &ReadOptions::default()).unwrap_err().to_string();
            assert!(refused.contains("a JSON document") && refused.contains("compare"), "{text}: {refused}");
        }
    }
    let line = r#"{"osym":"KO261218C00063500","bid":5.29,"ask":5.34,"time":1795207320}"#;
    let lines = format!("not json\n{{\n{line}\n").replacen("not json\n", "", 1);
    for text in [format!("{line}\n{line}\n"), lines] {
        let (rows, read) = rows_in("x.txt", text.as_bytes(), &ReadOptions::default()).unwrap();
        assert_eq!((read.layout, rows.len()), ("greeksd-recording", 1), "{text}");
    }
}

#[test]
fn a_table_without_a_time_says_what_gives_one() {
    let text = "contractSymbol,lastTradeDate,strike,bid,ask,impliedVolatility,inTheMoney\n\
        KO261218C00063500,2026-11-19 15:00:00+00:00,63.5,5.29,5.34,0.2,True\n";
    let refused = rows_in("x.csv", text.as_bytes(), &ReadOptions::default()).unwrap_err().to_string();
    assert!(refused.ends_with("when they were saved, such as --time 2026-11-20T15:42:00-05:00"), "{refused}");
    let options = ReadOptions { time: Some("2026-11-20T20:42:00Z".parse().unwrap()), ..ReadOptions::default() };
    let (rows, read) = rows_in("x.csv", text.as_bytes(), &options).unwrap();
    assert_eq!((line(&rows[0]), read.layout), (WANT.replace("68.25", "NaN"), "yahoo"));
}
