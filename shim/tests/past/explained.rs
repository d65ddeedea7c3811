//! Changes of books between two moments of the simulated market, by cause, through the service as a client sees it.

use crate::support::market::{self, get_from, symbol};
use api::vendors::native_positions::EXPLAINED;
use arc_swap::ArcSwap;
use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use arrow_ipc::reader::StreamReader;
use arrow_schema::DataType;
use desk::positions::desk::PositionDesk;
use desk::positions::file::parse;
use desk::scenario::FeedChains;
use engine::snapshot::Snapshot;
use engine::store::chain::Chain;
use engine::store::columns::Col;
use host::secret::Keys;
use http::{Body, Metrics};
use jiff::Timestamp;
use jiff::civil::{Date, date};
use kernel::calendar::Calendar;
use kernel::contract::osi::OSI_LEN;
use kernel::contract::{RootTable, Symbol};
use serde_json::Value;
use shim::app::{Service, route_names};
use shim::chains::ChainSource;
use shim::config::{RatesMode, SourceArgs};
use shim::past::archive::DayChains;
use shim::past::cache::{CachedArchive, RecordedDays};
use shim::past::index::DayIndex;
use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use testkit::random::Random;

/// A share without dividends, an index, and a share with a dividend.
const NAMES: [&str; 3] = ["KO", "SPX", "XOM"];
/// A Friday, the Friday after it, whose session is short, and the Tuesday after that.
const DAYS: [Date; 3] = [date(2026, 11, 20), date(2026, 11, 27), date(2026, 12, 1)];
const SPAN: &str = "explain=since:2026-11-20&as_of=2026-12-01";

fn at(day: Date) -> Timestamp {
    Calendar::embedded().instant(day.at(15, 42, 0, 0))
}

/// The chain of a name on a day, once for all tests.
fn chain(name: Symbol, day: Date) -> Arc<Chain> {
    static CHAINS: OnceLock<HashMap<(Symbol, Date), Arc<Chain>>> = OnceLock::new();
    let all = CHAINS.get_or_init(|| {
        let of_day = |day: Date| {
            let args = SourceArgs { now: Some(at(day)), overrides: None, rates: RatesMode::Auto, key_file: None };
            let mut source = ChainSource::open(&["sim".to_owned()], &args, &Keys::default()).unwrap();
            NAMES.map(|name| ((symbol(name), day), source.chain(symbol(name)).unwrap()))
        };
        DAYS.into_iter().flat_map(of_day).collect()
    });
    Arc::clone(&all[&(name, day)])
}

struct SimulatedDays;

impl RecordedDays for SimulatedDays {
    fn index(&self) -> Option<Arc<DayIndex>> {
        let mut index = DayIndex::default();
        DAYS.iter().for_each(|&day| NAMES.iter().for_each(|name| index.note(symbol(name), day, 1)));
        Some(Arc::new(index))
    }

    fn compute(&self, name: Symbol, day: Date) -> Result<DayChains, String> {
        Ok(DayChains::new(vec![(at(day), chain(name, day))]))
    }
}

/// A service whose present is a day, with positions that can be replaced.
fn service_on(day: Date) -> (Service, Arc<PositionDesk>) {
    let desk = Arc::new(PositionDesk::new(Arc::new(RootTable::embedded()), Calendar::embedded(), true, false));
    let status = market::status_at(Duration::from_secs(86_400));
    status.turned();
    let chains = NAMES.map(|name| chain(symbol(name), day)).to_vec();
    let published = Arc::new(ArcSwap::from_pointee(Snapshot::new(1, chains, vec![])));
    let service = Service::new(published, Arc::new(status), Arc::new(Metrics::new(&route_names())));
    let archive = CachedArchive::start(SimulatedDays, 64 << 20, 2, || {}).unwrap();
    (service.with_positions(Arc::clone(&desk), Arc::default()).with_archive(Arc::new(archive)), desk)
}

fn hold(desk: &PositionDesk, csv: &str) {
    desk.replace("test", parse(Path::new("p"), csv.as_bytes()).unwrap(), &Snapshot::new(1, vec![], vec![]));
}

/// Rows of an answer, with every digit.
fn rows(service: &Service, query: &str) -> Vec<Value> {
    let mut answer = service.answer_to("/l1/positions", &format!("{query}&format=arrow"));
    let bytes = loop {
        match answer.body {
            Body::Full(bytes) => break bytes,
            Body::Awaited(mut awaited) => {
                answer = loop {
                    if let Some(answer) = awaited.look() {
                        break answer;
                    }
                    std::thread::sleep(Duration::from_millis(1));
                };
            }
            Body::Stream(_) | Body::Socket(_) => panic!("{query}: not a whole answer"),
        }
    };
    assert_eq!(answer.status, 200, "{query}: {}", String::from_utf8_lossy(&bytes));
    let mut rows = Vec::new();
    for batch in StreamReader::try_new(&*bytes, None).unwrap().map(Result::unwrap) {
        let schema = batch.schema();
        let cell = |column: usize, row: usize| {
            let column = batch.column(column);
            match column.data_type() {
                _ if column.is_null(row) => Value::Null,
                DataType::Float64 => Value::from(column.as_primitive::<Float64Type>().value(row)),
                _ => Value::from(column.as_string::<i32>().value(row)),
            }
        };
        let row = |row: usize| {
            let cells = schema.fields().iter().enumerate();
            Value::Object(cells.map(|(column, field)| (field.name().clone(), cell(column, row))).collect())
        };
        rows.extend((0..batch.num_rows()).map(row));
    }
    rows
}

fn number(row: &Value, field: &str) -> f64 {
    row[field].as_f64().unwrap_or(f64::NAN)
}

/// Symbols of the contracts of the first day, by name.
fn listed(name: &str) -> Vec<String> {
    let chain = chain(symbol(name), DAYS[0]);
    let mut all = Vec::new();
    for slice in &chain.slices {
        for row in slice.rows.clone().map(|row| row as usize) {
            if chain.columns.get(Col::SvcTheo)[row].is_finite() {
                let mut osi = [0; OSI_LEN];
                let key = slice.contract(chain.strike_milli[row], chain.right[row]);
                let n = key.write_compact(&mut osi);
                all.push(String::from_utf8_lossy(&osi[..n]).into_owned());
            }
        }
    }
    all
}

const CAUSES: [&str; 7] = ["by_time", "by_spot", "by_vol", "by_skew", "by_carry", "by_dividends", "rest"];

#[test]
fn causes_sum_to_the_change_of_every_book() {
    assert_eq!(EXPLAINED.last().unwrap().name, "rest");
    let (service, desk) = service_on(DAYS[2]);
    let listed = NAMES.map(listed);
    let mut random = Random::new(47);
    let mut settled = 0;
    for book in 0..100 {
        let mut csv = "account,osym,symbol,quantity\n".to_owned();
        for line in 0..1 + random.below(30) {
            let name = random.below(NAMES.len());
            let account = ["a", "b"][random.below(2)];
            let quantity = [-3.0, -1.0, 2.0, 5.0][random.below(4)];
            csv += &if line % 7 == 6 && name != 1 {
                format!("{account},,{},{}\n", NAMES[name], 100.0 * quantity)
            } else {
                let of = &listed[name];
                format!("{account},{},,{quantity}\n", of[random.below(of.len())])
            };
        }
        hold(&desk, &csv);
        let rows = rows(&service, SPAN);
        let of = |level: &'static str| rows.iter().filter(move |row| row["level"] == level);
        for row in of("contract").filter(|row| row["reason"].is_null()) {
            let k = if row["strike"].is_null() { 0.0 } else { number(row, "strike") };
            let units = number(row, "quantity").abs() * if row["strike"].is_null() { 1.0 } else { 100.0 };
            // the pricers of a pass and those of scenarios agree to this
            assert!(number(row, "rest").abs() <= 5e-5 * k * units + 1e-6, "book {book}: {row}");
            settled += usize::from(row["state"] == "settled");
        }
        for row in rows.iter().filter(|row| row["change"].is_number()) {
            let change = number(row, "value_after") - number(row, "value_before");
            let causes: f64 = CAUSES.iter().map(|cause| number(row, cause)).sum();
            assert!((causes - change).abs() < 1e-9 * number(row, "value_before").abs().max(1.0), "{row}");
            assert!((change - number(row, "change")).abs() < 1e-9 * change.abs().max(1.0), "{row}");
        }
        for level in ["expiry", "underlying", "account", "total"] {
            for field in CAUSES.iter().chain(&["change", "value_before", "value_after"]) {
                let sum = |level| of(level).filter_map(|row| row[*field].as_f64()).sum::<f64>();
                assert!(
                    (sum(level) - sum("contract")).abs() < 1e-9 * sum("contract").abs().max(1e3),
                    "book {book}: {level} {field}"
                );
            }
        }
    }
    assert!(settled > 20, "{settled}");
}

#[test]
fn time_and_spot_are_those_of_a_scenario() {
    let (service, desk) = service_on(DAYS[0]);
    let contracts: Vec<String> = listed("KO").into_iter().filter(|osym| &osym[2..8] > "261201").step_by(7).collect();
    let lines: String = contracts.iter().map(|osym| format!("{osym},1\n")).collect();
    hold(&desk, &format!("osym,quantity\n{lines}"));
    let spot = chain(symbol("KO"), DAYS[2]).spot;
    let got = get_from(
        &service,
        &format!("/l1/scenario?positions=*&greeks=none&at=2026-12-01T15:42&spot={spot}&spot_unit=level"),
    );
    let scenario: Vec<Value> = serde_json::from_str(&got.body).unwrap();
    let explained = rows(&service, &format!("{SPAN}&by=contract"));
    let known: Vec<&Value> = explained.iter().filter(|row| row["reason"].is_null()).collect();
    assert!(known.len() > 10 && explained.len() == scenario.len(), "{} {}", known.len(), scenario.len());
    for of in known {
        let wanted = scenario.iter().find(|row| row["osym"] == of["osym"]).unwrap();
        let found = number(of, "by_time") + number(of, "by_spot");
        assert!((found - number(wanted, "profit")).abs() < 1e-2, "{of} {wanted}");
    }
}

#[test]
fn what_settles_between_is_paid_and_what_exercise_leaves_is_held() {
    let (service, desk) = service_on(DAYS[2]);
    let of = |name: &str, day: usize| chain(symbol(name), DAYS[day]).spot;
    let strike = |name: &str, from: f64| {
        let mut all: Vec<f64> = listed(name)
            .iter()
            .filter(|osym| osym.contains("261127C"))
            .map(|osym| osym[osym.len() - 8..].parse::<f64>().unwrap() / 1000.0)
            .collect();
        all.sort_by(f64::total_cmp);
        all.into_iter().rfind(|&k| k < from).unwrap()
    };
    let ko = strike("KO", 0.95 * of("KO", 1));
    hold(&desk, &format!("osym,quantity\nKO261127C{:08},-2\nKO261127P{:08},1\n", ko * 1e3, ko * 1e3));
    let found = rows(&service, &format!("{SPAN}&by=contract"));
    assert!(found.len() == 2 && found.iter().all(|row| row["state"] == "settled"), "{found:?}");
    // the call has become short shares, the put nothing
    assert!((number(&found[0], "value_after") + 200.0 * (of("KO", 2) - ko)).abs() < 1e-3, "{}", found[0]);
    assert!(number(&found[1], "value_after").abs() < 1e-9);
    for row in &found {
        assert!(
            ["by_vol", "by_skew", "by_carry", "by_dividends", "rest"].iter().all(|cause| number(row, cause) == 0.0)
        );
        assert!(row["since"] == "2026-11-20T15:42:00-05:00" && row["until"] == "2026-12-01T15:42:00-05:00", "{row}");
    }
    // of an index there is cash of the day itself
    let spx = strike("SPX", 0.98 * of("SPX", 1));
    hold(&desk, &format!("osym,quantity\nSPXW261127C{:08},1\n", spx * 1e3));
    let found = rows(&service, &format!("{SPAN}&by=contract"));
    assert!((number(&found[0], "value_after") - 100.0 * (of("SPX", 1) - spx)).abs() < 1e-3, "{}", found[0]);
}

#[test]
fn moments_are_those_that_are_named_and_others_are_refused() {
    let (service, desk) = service_on(DAYS[2]);
    hold(&desk, "symbol,quantity\nKO,100\nNOPE,1\n");
    // until now, since the last day before it
    let found = rows(&service, "explain=since:session");
    assert_eq!(
        (&found[0]["since"], &found[0]["until"]),
        (&"2026-11-27T13:00:00-05:00".into(), &"2026-12-01T15:42:00-05:00".into())
    );
    assert_eq!(found.iter().find(|row| row["level"] == "total").unwrap()["missing"], 1.0);
    assert!(found.iter().any(|row| row["reason"] == "not_listed"));
    for format in ["csv", "ndjson", "html", "arrow", "parquet"] {
        let got = get_from(&service, &format!("/l1/positions?{SPAN}&format={format}"));
        assert!(got.status == 200 && got.body.contains("by_skew"), "{format}: {}", got.body);
    }
    for (query, status, why) in [
        ("explain=since:2026-11-19", 404, "no snapshot"),
        ("explain=since:2026-12-01&as_of=2026-11-20", 400, "must lie before"),
        ("explain=since:yesterday", 400, "explain: not since:session"),
        ("as_of=2026-11-20", 400, "as_of is the later moment"),
    ] {
        let got = get_from(&service, &format!("/l1/positions?{query}"));
        assert!(got.status == status && got.body.contains(why), "{query}: {} {}", got.status, got.body);
    }
    let got = market::get("/l1/positions?explain=since:session");
    assert_eq!((got.status, got.body.contains("--positions FILE")), (400, true), "{}", got.body);
}
