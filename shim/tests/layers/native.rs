//! `/l1/greeks`: every format, group, filter and refusal, against the columns of a market written by hand.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use crate::support::market;
use crate::support::market::{Got, get, get_from, listing, market, service};
use engine::snapshot::Snapshot;
use engine::store::chain::{Chain, Slice};
use engine::store::columns::{Col, Columns, Group};
use http::limits::PIECE_BYTES;
use http::{Body, Progress};
use jiff::civil::date;
use kernel::contract::{Right, Settle, Style};
use serde_json::{Map, Value};
use std::sync::Arc;

const IDENTITY: [&str; 7] = ["underlying", "root", "expiry", "strike", "right", "osym", "greeks"];

fn rows(target: &str) -> Vec<Map<String, Value>> {
    let got = get(target);
    assert_eq!((got.status, got.content_type), (200, "application/json"), "{target}: {}", got.body);
    let mut bytes = got.body.clone().into_bytes();
    simd_json::to_borrowed_value(&mut bytes).expect("a second parser takes it too");
    serde_json::from_str(&got.body).unwrap_or_else(|error| panic!("{target}: {error}"))
}

/// (underlying, osym) of each row.
fn contracts(target: &str) -> Vec<String> {
    rows(target).iter().map(|row| row["osym"].as_str().unwrap().to_owned()).collect()
}

/// The number that an answer must show: rounded to six decimals by the standard library.
fn shown(x: f64) -> Value {
    if x.is_nan() { Value::Null } else { serde_json::from_str(&format!("{x:.6}")).unwrap() }
}

/// Equal, where 100 is 100.0.
fn same(a: &Value, b: &Value) -> bool {
    if a.is_number() { a.as_f64() == b.as_f64() } else { a == b }
}

fn expected(chain: &Chain, slice: &Slice, row: u32, groups: &[&str]) -> Vec<(String, Value)> {
    let i = row as usize;
    let call = chain.right[i] == Right::Call;
    let milli = chain.strike_milli[i];
    let osym = format!(
        "{:<6}{}{}{milli:08}",
        slice.root.as_str(),
        slice.expiry.strftime("%y%m%d"),
        if call { 'C' } else { 'P' }
    );
    let mut out: Vec<(String, Value)> = vec![
        ("underlying".into(), chain.underlying.as_str().into()),
        ("root".into(), slice.root.as_str().into()),
        ("expiry".into(), slice.expiry.to_string().into()),
        ("strike".into(), shown(f64::from(milli) / 1000.0)),
        ("right".into(), if call { "call" } else { "put" }.into()),
        ("osym".into(), osym.into()),
        ("greeks".into(), groups.join(",").into()),
    ];
    let mut number = |name: &str, x: f64| out.push((name.into(), shown(x)));
    for (name, group) in [("core", Group::Core), ("extra", Group::Extra), ("exotic", Group::Exotic)] {
        if groups.contains(&name) {
            if group == Group::Core {
                number("und_price", slice.und_price);
            }
            for col in Col::ALL.iter().filter(|col| col.group() == group) {
                number(col.name(), chain.columns.get(*col)[i]);
            }
        }
    }
    if groups.contains(&"chain") {
        out.push(("fwd_price".into(), shown(slice.fwd_price)));
        let european = slice.style == Style::European;
        out.push(("ex_style".into(), if european { "european" } else { "american" }.into()));
        out.push(("settle".into(), if slice.settle == Settle::Am { "am" } else { "pm" }.into()));
        for (name, x) in
            [("days", slice.days), ("disc_rate", slice.disc_rate), ("borr_rate", slice.borr_rate), ("divs", slice.divs)]
        {
            out.push((name.into(), shown(x)));
        }
    }
    out
}

fn every_row(snapshot: &Snapshot, underlyings: &[&str], groups: &[&str]) -> Vec<Vec<(String, Value)>> {
    let chains = underlyings.iter().map(|name| snapshot.chain(market::symbol(name)).unwrap());
    let of_chain = |chain: &std::sync::Arc<Chain>| {
        let of_slice =
            |slice: &Slice| slice.rows.clone().map(|row| expected(chain, slice, row, groups)).collect::<Vec<_>>();
        chain.slices.iter().flat_map(of_slice).collect::<Vec<_>>()
    };
    chains.flat_map(of_chain).collect()
}

const GROUPS: [(&str, &[&str]); 6] = [
    ("", &["core"]),
    ("&greeks=extra", &["extra"]),
    ("&greeks=chain", &["chain"]),
    ("&greeks=exotic,core", &["core", "exotic"]),
    ("&greeks=chain,core", &["core", "chain"]),
    ("&greeks=all", &["core", "extra", "exotic", "chain"]),
];

#[test]
fn json_shows_the_columns_in_the_order_of_the_interface() {
    let snapshot = market();
    for (suffix, groups) in GROUPS {
        let got = get(&format!("/l1/greeks?underlying=SPX,ACME,BRK.B{suffix}"));
        let wanted = every_row(&snapshot, &["SPX", "ACME", "BRK.B"], groups);
        // Key order is part of the shape, so the text is split by hand as well.
        let lines: Vec<&str> = got.body.trim_start_matches('[').trim_end_matches(']').split(",\n").collect();
        assert_eq!(lines.len(), wanted.len());
        for (line, wanted) in lines.iter().zip(&wanted) {
            let row: Map<String, Value> = serde_json::from_str(line).unwrap();
            assert_eq!(row.len(), wanted.len(), "{line}");
            let mut at = 0;
            for (name, value) in wanted {
                assert!(same(&row[name], value), "{name} is not {value} in {line}");
                let key = line[at..].find(&format!("\"{name}\":")).expect("keys are in order");
                at += key;
            }
        }
        assert_eq!(rows(&format!("/l1/greeks?underlying=SPX,ACME,BRK.B{suffix}")).len(), wanted.len());
    }
}

#[test]
fn ndjson_and_csv_hold_the_same_values_as_json() {
    for (suffix, _) in GROUPS {
        let target = format!("/l1/greeks?underlying=ACME,SPX{suffix}");
        let json = rows(&target);
        let ndjson = get(&format!("{target}&format=ndjson"));
        assert_eq!(ndjson.content_type, "application/x-ndjson; charset=utf-8");
        assert!(ndjson.body.ends_with("}\n"));
        let lines: Vec<Map<String, Value>> = ndjson.body.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
        assert_eq!(lines, json);
        let csv = get(&format!("{target}&format=csv"));
        assert_eq!(csv.content_type, "text/csv; charset=utf-8");
        assert!(csv.body.ends_with("\r\n"));
        assert_eq!(csv.body.matches('\n').count(), csv.body.matches("\r\n").count());
        let mut reader = csv::Reader::from_reader(csv.body.as_bytes());
        let header: Vec<String> = reader.headers().unwrap().iter().map(str::to_owned).collect();
        assert_eq!(header[..7], IDENTITY);
        let records: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
        assert_eq!(records.len(), json.len());
        for (record, row) in records.iter().zip(&json) {
            assert_eq!(record.len(), row.len());
            for (name, cell) in header.iter().zip(record) {
                match &row[name.as_str()] {
                    Value::Null => assert_eq!(cell, "", "{name}"),
                    Value::String(text) => assert_eq!(cell, text, "{name}"),
                    number => {
                        assert_eq!(cell.parse::<f64>().ok(), number.as_f64(), "{name}");
                        assert!(cell.contains('.'), "readers take {name} for integers: {cell}");
                    }
                }
            }
        }
    }
}

#[test]
fn html_is_one_plain_table_of_the_same_rows() {
    let target = "/l1/greeks?underlying=ACME,SPX&greeks=all";
    let got = get(&format!("{target}&format=html"));
    assert_eq!(got.content_type, "text/html; charset=utf-8");
    let json = rows(target);
    let count = |what: &str| got.body.matches(what).count();
    assert_eq!((count("<table"), count("</table>"), count("<thead>"), count("<tbody>")), (1, 1, 1, 1));
    assert_eq!((count("<script"), count("src="), count("http")), (0, 0, 0));
    assert_eq!((count("<tr>"), count("</tr>")), (json.len() + 1, json.len() + 1));
    assert_eq!((count("<th>") + count("<th class=w>"), count("</th>")), (38, 38));
    assert_eq!(count("</td>"), 38 * json.len());
    assert_eq!(count("<td>") + count("<td class=w>"), 38 * json.len());
    assert!(count("<td></td>") > 0, "a missing number is an empty cell");
    assert_eq!(count("NaN") + count("null") + count("inf"), 0);
    assert!(got.body.contains("<td>101.2500</td>") && got.body.contains("<td>97.5</td>"));
    assert!(got.body.contains("2026-11-20 15:42:07 EST · simulated data"));
    assert!(got.body.contains(&format!("<p>{} rows · core,extra,exotic,chain</p>", json.len())));
    assert!(got.body.trim_end().ends_with("</html>"));
}

#[test]
fn awkward_numbers_have_the_shortest_correct_text() {
    let body = get("/l1/greeks?root=ACME&exp=2026-12-18&min_strike=97.5&max_strike=97.5&right=call&greeks=all").body;
    for wanted in [
        "\"strike\":97.5,",
        "\"gamma\":0.000031,",
        "\"speed\":0,",
        "\"ultima\":-123456.75,",
        "\"prev_vol\":null,",
        "\"divs\":0}",
        "\"greeks\":\"core,extra,exotic,chain\",",
    ] {
        assert!(body.contains(wanted), "{wanted} in {body}");
    }
    assert!(get("/l1/greeks?root=ACME").body.contains("\"strike\":100,"));
}

#[test]
fn adjusted_roots_have_identity_only() {
    let listed = rows("/l1/greeks?underlying=ACME&root=ACME1&greeks=all");
    assert_eq!(listed.len(), 2);
    for (name, value) in &listed[0] {
        let known = IDENTITY.contains(&name.as_str()) || matches!(name.as_str(), "ex_style" | "settle");
        assert_eq!(value.is_null(), !known, "{name}");
    }
    for filter in ["&min_delta=0", "&max_delta=1", "&min_days=0", "&center=atm", "&center=atf", "&center=50"] {
        assert!(contracts(&format!("/l1/greeks?root=ACME1{filter}")).is_empty(), "{filter}");
    }
    assert_eq!(contracts("/l1/greeks?root=ACME1&right=put&min_strike=100").len(), 1);
}

#[test]
fn rows_are_in_the_order_of_the_interface() {
    let osyms = contracts("/l1/greeks?underlying=SPX&min_strike=6000&max_strike=6000");
    assert_eq!(
        osyms,
        [
            "SPXW  261120C06000000",
            "SPXW  261120P06000000",
            "SPX   261218C06000000",
            "SPX   261218P06000000",
            "SPXW  261218C06000000",
            "SPXW  261218P06000000",
        ]
    );
    let first = |target: &str| {
        let mut names: Vec<String> =
            rows(target).iter().map(|r| r["underlying"].as_str().unwrap().to_owned()).collect();
        names.dedup();
        names.join(" ")
    };
    assert_eq!(first("/l1/greeks?underlying=SPX,ACME,SPX,BRK.B,ACME"), "SPX ACME BRK.B");
    assert_eq!(first("/l1/greeks?underlying=brk%2Fb,spx"), "BRK.B SPX");
    assert_eq!(first("/l1/greeks?underlying=BRKB"), "BRK.B");
    assert_eq!(first("/l1/greeks?root=SPXW,BRKB,ACME,SPX"), "SPX BRK.B ACME");
    assert_eq!(first("/l1/greeks?root=BRK.B"), "BRK.B");
    assert_eq!(first("/l1/greeks?osym=SPXW261218C06000000,ACME261218P00100000"), "SPX ACME");
    assert_eq!(first("/l1/greeks?underlying=ACME,SPX&root=SPXW"), "SPX");
}

#[test]
fn filters_combine() {
    let n = |query: &str| contracts(&format!("/l1/greeks?{query}")).len();
    assert_eq!(n("underlying=ACME"), 22);
    assert_eq!(n("root=ACME"), 20);
    assert_eq!(n("root=ACME&exp=*"), 20);
    assert_eq!(n("root=ACME&exp=2026-12-18,20270115,2030-01-01"), 20);
    assert_eq!(n("root=ACME&exp=20261218&right=Put"), 5);
    assert_eq!(n("root=ACME&exp=2026-12-17"), 0);
    // as a file lists it that has the Saturday after
    assert_eq!(n("root=ACME&exp=2026-12-19"), n("root=ACME&exp=2026-12-18"));
    assert_eq!(n("root=ACME&min_exp=2026-12-19&max_exp=2027-01-15"), 10);
    assert_eq!(n("root=ACME&min_strike=97.5&max_strike=102.5"), 12);
    assert_eq!(n("root=ACME&min_strike=103&max_strike=99"), 0);
    assert_eq!(n("underlying=SPX&max_days=0"), 0);
    assert_eq!(n("underlying=SPX&max_days=1"), 8);
    assert_eq!(n("underlying=SPX&min_days=28"), 8);
    assert_eq!(n("underlying=SPX&min_days=27&max_days=28"), 8);
    assert_eq!(n("osym=ACME++261218C00100000,acme261218c00100000,ACME261218P00100000,ACME261218C00101000"), 2);
    assert_eq!(n("osym=ACME261218C00100000&right=put"), 0);
    assert_eq!(n("osym=ACME261218C00100000&underlying=SPX"), 0);
    assert_eq!(n("osym=ACME261218C00100000&root=ACME1"), 0);
    assert_eq!(n("underlying=NOSUCH"), 0);
    assert_eq!(n("underlying=NOSUCH,ACME&exp=2027-01-15"), 10);
}

#[test]
fn delta_is_filtered_by_magnitude() {
    for row in rows("/l1/greeks?underlying=ACME,SPX&min_delta=0.4&max_delta=0.6") {
        assert!((0.4..=0.6).contains(&row["delta"].as_f64().unwrap().abs()));
    }
    let n = |filter: &str| rows(&format!("/l1/greeks?underlying=ACME,SPX{filter}")).len();
    // The two rows of the adjusted root have no delta and pass neither side.
    assert_eq!(n("&min_delta=0.5") + n("&max_delta=0.49999999"), n("") - 2);
}

#[test]
fn a_center_gives_the_term_structure() {
    assert_eq!(
        contracts("/l1/greeks?underlying=SPX&center=atf&right=call"),
        ["SPXW  261120C06000000", "SPX   261218C06010000", "SPXW  261218C06025500"]
    );
    assert_eq!(
        contracts("/l1/greeks?root=ACME&center=atm&right=call&exp=2026-12-18"),
        // 101.25 is as far from 100 as from 102.5: the lower strike wins.
        ["ACME  261218C00100000"]
    );
    let near = contracts("/l1/greeks?root=ACME&center=ATM&strike_count=3&right=put&exp=2027-01-15");
    assert_eq!(near, ["ACME  270115P00097500", "ACME  270115P00100000", "ACME  270115P00102500"]);
    assert_eq!(contracts("/l1/greeks?root=ACME&center=atm&strike_count=99").len(), 20);
    // The centre is chosen after strikes are bounded, and before delta.
    assert_eq!(contracts("/l1/greeks?root=ACME&center=atm&min_strike=102&exp=2027-01-15").len(), 2);
    assert_eq!(contracts("/l1/greeks?root=ACME&center=atm&max_delta=0.1").len(), 0);
    let quarter = contracts("/l1/greeks?root=ACME&center=25&exp=2027-01-15&right=put");
    assert_eq!(quarter, contracts("/l1/greeks?root=ACME&center=.25&exp=2027-01-15&right=put"));
    assert_eq!(quarter, ["ACME  270115P00105000"]);
}

#[test]
fn nothing_is_a_200_in_every_format() {
    let empty = |format: &str| get(&format!("/l1/greeks?underlying=NOSUCH&greeks=chain&format={format}"));
    assert_eq!(empty("json").body, "[]");
    assert_eq!(empty("ndjson").body, "");
    let header =
        "underlying,root,expiry,strike,right,osym,greeks,fwd_price,ex_style,settle,days,disc_rate,borr_rate,divs\r\n";
    assert_eq!(empty("csv").body, header);
    let html = empty("html").body;
    assert_eq!((html.matches("<tr>").count(), html.matches("<th").count() - 1), (1, 14));
    for format in ["json", "csv", "ndjson", "html"] {
        assert_eq!(empty(format).status, 200);
    }
}

fn refused(target: &str) -> (u16, String) {
    let got = get(target);
    assert_eq!(got.content_type, "application/json", "{target}");
    let body: Value = serde_json::from_str(&got.body).unwrap();
    (got.status, body["error"].as_str().unwrap().to_owned())
}

#[test]
fn refusals_are_json_and_name_the_parameter() {
    assert_eq!(refused("/l1/greeks?root=A&foo=1&format=csv"), (400, "unknown parameter: foo".to_owned()));
    assert_eq!(refused("/l1/greeks?root=A&%22%3Cb%3E=1"), (400, "unknown parameter: \"<b>".to_owned()));
    assert_eq!(refused("/l1/greeks").0, 400);
    assert_eq!(refused("/l1/greeks?root=A&right=x&format=html").0, 400);
    assert_eq!(refused("/l1/greeks?root=A&center=otm").0, 400);
    assert_eq!(refused("/l1/greek?root=A").0, 404);
    assert_eq!(refused("/L1/greeks?root=A").0, 404);
    assert_eq!(refused("//").0, 404);
    assert_eq!(refused("/l1/greeks/x").0, 404);
    assert_eq!(get("/l1/greeks/?root=ACME").body, get("/l1/greeks?root=ACME&apikey=x&token=y").body);
    assert_eq!(get("/l1%2Fgreeks?root=ACME").status, 200);
}

#[test]
fn what_is_still_being_computed_is_a_502_with_a_time_to_come_back() {
    let check = |got: Got, wanted: u16, what: &str| {
        assert_eq!(got.status, wanted, "{what}: {}", got.body);
        assert_eq!(got.headers.contains(&"Retry-After: 1".to_owned()), wanted == 502, "{what}");
    };
    for (target, status) in [
        ("underlying=LATE", 502),
        ("underlying=LATE,NOSUCH", 502),
        ("underlying=LATE,ACME", 200),
        ("root=LATE", 502),
        ("root=LATEW", 502),
        ("osym=LATE261218C00100000", 502),
        ("underlying=NOSUCH", 200),
        ("root=NOSUCH", 200),
    ] {
        check(get(&format!("/l1/greeks?{target}&format=csv")), status, target);
    }
    let cold = service(Snapshot::empty(vec![]));
    check(get_from(&cold, "/l1/greeks?underlying=ACME"), 502, "before the first pass");
    check(get_from(&cold, "/l1/greeks?underlying=ACME&foo=1"), 400, "parameters are read first");
}

#[test]
fn what_is_not_served_is_named_and_refused_where_a_client_is_strict() {
    let no = |names: &str| format!("Warning: 199 greeksd \"not served: {names} (/l1/symbols lists the names)\"");
    let none = "Warning: 199 greeksd \"no contract matches\"".to_owned();
    let late = |names: &str| format!("Warning: 199 greeksd \"not computed yet: {names}\"");
    for (query, warning) in [
        ("underlying=NOSUCH", Some(no("NOSUCH"))),
        ("underlying=ACME,NOSUCH,SPXX", Some(no("NOSUCH, SPXX"))),
        ("root=NOSUCH", Some(no("NOSUCH"))),
        ("osym=ACME261218C00100000", None),
        ("osym=ACME261218C00100500", Some(no("ACME261218C00100500"))),
        ("osym=ACME++261218P00100000,NONE261218P00100000", Some(no("NONE261218P00100000"))),
        ("underlying=ACME&min_days=40&max_days=20", Some(none)),
        ("underlying=ACME", None),
        ("underlying=LATE,ACME", Some(late("LATE"))),
        ("osym=ACME261218C00100000,LATE261218C00100000", Some(late("LATE261218C00100000"))),
        ("underlying=brk-b", None),
        ("root=BRKB", None),
        ("underlying=*", None),
    ] {
        for format in ["json", "csv", "ndjson"] {
            let got = get(&format!("/l1/greeks?{query}&format={format}"));
            assert_eq!((got.status, got.headers), (200, warning.clone().into_iter().collect()), "{query} {format}");
        }
        let strict = get(&format!("/l1/greeks?{query}&strict=1"));
        let says = |words| warning.as_ref().is_some_and(|text| text.contains(words));
        let status = if says("not served") {
            404
        } else if says("not computed yet") {
            502
        } else {
            200
        };
        assert_eq!(strict.status, status, "{query}: {}", strict.body);
    }
    assert_eq!(get("/l1/greeks?underlying=NOSUCH").body, "[]");
    assert!(get("/l1/greeks?underlying=NOSUCH&format=html").body.contains("<p>not served: NOSUCH "));
    assert_eq!(refused("/l1/greeks?root=A&strict=x"), (400, "strict: not true or false: x".to_owned()));
    let said = "not served: NOSUCH (/l1/symbols lists the names)".to_owned();
    assert_eq!(refused("/l1/greeks?underlying=NOSUCH,ACME&strict=true"), (404, said));
    let stream = service(market()).answer_to("/l1/stream", "underlying=ACME,NOSUCH&fields=delta");
    assert!(stream.headers.iter().any(|(name, value)| *name == "Warning" && value.contains("not served: NOSUCH ")));
    // a vendor's layer answers as the vendor does
    assert_eq!(get("/v1beta1/options/snapshots/NOSUCH").headers, [""; 0]);
}

#[test]
fn an_answer_keeps_the_snapshot_that_it_began_with() {
    let long: Vec<u32> = (1..6000).map(|n| n * 500).collect();
    let listing = market::listing("ACME", jiff::civil::date(2026, 12, 18), 101.5, &long);
    let chain = market::chain("ACME", 101.25, &[listing]);
    let service = service(Snapshot::new(1, vec![chain], vec![]));
    for query in ["underlying=ACME&greeks=all", "underlying=ACME&right=put&format=csv", "root=ACME&format=html"] {
        let whole = get_from(&service, &format!("/l1/greeks?{query}"));
        let http::Body::Stream(mut stream) = service.answer_to("/l1/greeks", query).body else { panic!() };
        // Pieces come behind what the buffer holds already, and none is much longer than that.
        let mut out = b"head".to_vec();
        loop {
            let before = out.len();
            let progress = stream.fill(&mut out);
            assert!(out.len() - before < PIECE_BYTES + 4096, "a piece of {}", out.len() - before);
            if progress == Progress::Done {
                break;
            }
        }
        assert_eq!(&out[..4], b"head");
        assert_eq!(&out[4..], whole.body.as_bytes());
        assert_eq!(stream.fill(&mut out), Progress::Done, "what has ended stays ended");
    }
}

#[test]
fn a_scan_finds_the_first_rows_of_all_names_by_a_number() {
    let all = rows("/l1/greeks?underlying=*&greeks=core,chain");
    let number = |row: &Map<String, Value>, name: &str| row[name].as_f64();
    let osym = |row: &Map<String, Value>| row["osym"].as_str().unwrap().to_owned();
    for (asked, name, falls) in
        [("sort=-gamma", "gamma", true), ("sort=vega", "vega", false), ("sort=strike", "strike", false)]
    {
        // missing numbers come last, and equal ones in native order
        let mut wanted: Vec<_> = all.iter().collect();
        wanted.sort_by(|a, b| {
            let key = |row| number(row, name).map_or(f64::INFINITY, |x| if falls { -x } else { x });
            key(a).total_cmp(&key(b))
        });
        let found = rows(&format!("/l1/greeks?underlying=*&greeks=core,chain&{asked}&limit=7"));
        assert_eq!(found.len(), 7);
        for (found, wanted) in found.iter().zip(&wanted) {
            // columns have more decimals than are shown
            assert!(same(&found[name], &wanted[name]), "{asked}: {found:?} {wanted:?}");
        }
        let table = get(&format!("/l1/greeks?underlying=*&{asked}&limit=7&format=csv"));
        assert_eq!(table.body.lines().count(), 8, "{}", table.body);
    }
    let found =
        rows("/l1/greeks?underlying=*&where=delta%3E0.2,delta%3C=0.5,strike%3E=95&limit=10000&greeks=core,chain");
    let is_met = |row: &&Map<String, Value>| {
        number(row, "delta").is_some_and(|delta| delta > 0.2 && delta <= 0.5) && number(row, "strike") >= Some(95.0)
    };
    let wanted: Vec<String> = all.iter().filter(is_met).map(osym).collect();
    assert_eq!(found.iter().map(osym).collect::<Vec<_>>(), wanted);
    assert!(!wanted.is_empty() && wanted.len() < all.len());
    for (target, said) in [
        ("/l1/greeks?underlying=*&where=gama%3E1", "where: not conditions such as"),
        ("/l1/greeks?underlying=*&where=gamma%3Ex", "where: not conditions such as"),
        ("/l1/greeks?underlying=*&sort=right", "sort: not a number of the row"),
        ("/l1/greeks?underlying=*&limit=0", "limit"),
        ("/l1/greeks?underlying=*&limit=10001", "limit: not a number of rows from 1 to 10000"),
    ] {
        let got = get(target);
        assert!(got.status == 400 && got.body.contains(said), "{target}: {}", got.body);
    }
}

#[test]
fn chains_without_early_exercise_are_computed_one_in_a_piece() {
    let bare = |name: &'static str| {
        let listed = [listing(name, date(2026, 12, 18), 100.0, &[90_000, 100_000])];
        let mut chain = (*market::chain(name, 100.0, &listed)).clone();
        chain.columns = Columns::missing(chain.strike_milli.len());
        Arc::new(chain)
    };
    let service = service(Snapshot::new(7, ["AAA", "BBB", "CCC"].map(bare).to_vec(), Vec::new()));
    let query = "underlying=AAA,BBB,CCC&greeks=exercise&format=csv";
    let Body::Stream(mut stream) = service.answer_to("/l1/greeks", query).body else { panic!("no stream") };
    let mut out = Vec::new();
    for _ in 0..3 {
        assert_eq!((stream.fill(&mut out), out.len()), (Progress::More, 0));
    }
    while stream.fill(&mut out) == Progress::More {}
    assert_eq!(String::from_utf8(out).unwrap().lines().count(), 1 + 3 * 4);
}
