//! One day on every path: the same quotes, dividends and rates give the same Greeks, bit by bit, from a folder that is
//! served, from its history, from a recording on both, and from `batch` of either, in one process or as the tasks of a
//! plan (which Ray, Dask and Spark run).
#![cfg(unix)]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use crate::files;
use crate::files::{CLOSES, Folder, csv, rows_of, time};
use crate::support;
use crate::support::daemon::Daemon;
use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use arrow_array::{Array, RecordBatch};
use arrow_schema::DataType;
use bytes::Bytes;
use history::row::HistoryRow;
use kernel::contract::osi::OSI_LEN;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use sim::SimMarket;
use sim::symbols::well_known;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// A share that pays dividends, an index with European options, and a share that pays none.
const NAMES: [&str; 3] = ["KO", "SPX", "UBER"];
/// Expiries of each name: an index implies rates by those of some months.
const EXPIRIES: usize = 24;

/// The bits of each number of each contract, by its symbol and the column; a missing number has none.
type Values = BTreeMap<String, BTreeMap<String, u64>>;

fn values_of(batches: impl Iterator<Item = RecordBatch>) -> Values {
    let mut all = Values::new();
    for batch in batches {
        let names = batch.column_by_name("osym").unwrap().as_string::<i32>().clone();
        for (field, column) in batch.schema().fields().iter().zip(batch.columns()) {
            if *field.data_type() != DataType::Float64 {
                continue;
            }
            let column = column.as_primitive::<Float64Type>();
            for row in (0..column.len()).filter(|&row| column.is_valid(row)) {
                let of_contract = all.entry(names.value(row).to_owned()).or_default();
                let old = of_contract.insert(field.name().clone(), column.value(row).to_bits());
                assert_eq!(old, None, "a contract twice: {}", names.value(row));
            }
        }
    }
    all
}

fn of_parquet(bytes: Vec<u8>) -> Vec<RecordBatch> {
    let reader = ParquetRecordBatchReaderBuilder::try_new(Bytes::from(bytes)).unwrap().build().unwrap();
    reader.map(Result::unwrap).collect()
}

/// The Greeks that `greeksd batch` wrote in a folder.
fn of_folder(folder: &Path) -> Values {
    let files = files::tree(folder).into_iter().filter(|(name, _)| name.ends_with("greeks.parquet"));
    values_of(files.flat_map(|(_, bytes)| of_parquet(bytes)))
}

/// The Greeks that a daemon serves of a feed.
fn served(feed: &str, more: &str) -> Values {
    let mut daemon = Daemon::start(feed, &["--threads", "2"]);
    daemon.wait("everything at full accuracy", |health| health["pending"] == 0 && health["preliminary"] == 0);
    let batches = NAMES.iter().flat_map(|name| {
        let target = format!("/l1/greeks?underlying={name}&greeks=all,vt,prob&format=parquet{more}");
        let response = support::Client::new(daemon.address).get(&target);
        assert_eq!(response.status, 200, "{feed}: {}", response.text());
        of_parquet(response.body)
    });
    let values = values_of(batches);
    assert_eq!(daemon.stop().0, Some(0));
    values
}

fn batch(arguments: &[&str], input: &Path, out: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_greeksd"));
    command.arg("batch").arg(input).arg("-o").arg(out).args(arguments).stdin(Stdio::null()).env_clear();
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    output
}

fn batched(input: &Path, out: &Path) -> Values {
    batch(&["--quiet"], input, out);
    of_folder(out)
}

/// Each task of a plan as a process of its own.
fn planned(input: &Path, out: &Path) -> Values {
    let plan = String::from_utf8(batch(&["--plan", "--quiet"], input, out).stdout).unwrap();
    for (number, line) in plan.lines().enumerate() {
        let task: serde_json::Value = serde_json::from_str(line).unwrap();
        let words = |field: &str| task[field].as_array().unwrap().iter().map(|word| word.as_str().unwrap().to_owned());
        let mut command = Command::new(env!("CARGO_BIN_EXE_greeksd"));
        command.arg("batch").args(words("inputs")).arg("-o").arg(out.join(number.to_string())).arg("--quiet");
        let done = command.args(words("options")).stdin(Stdio::null()).env_clear().output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    }
    of_folder(out)
}

/// The quotes of some names as the lines of a recording.
fn lines(names: &[Vec<HistoryRow>]) -> String {
    let mut lines = String::new();
    for of_name in names {
        let (spot, time) = (of_name[0].spot, of_name[0].quote.ts.as_second());
        lines += &format!("{{\"symbol\":\"{}\",\"price\":{spot},\"time\":{time}}}\n", of_name[0].quote.underlying);
        for HistoryRow { quote, .. } in of_name {
            let mut osym = [b' '; OSI_LEN];
            let n = quote.contract.write_compact(&mut osym);
            let osym = String::from_utf8_lossy(&osym[..n]).into_owned();
            lines += &format!("{{\"osym\":\"{osym}\",\"underlying\":\"{}\",\"time\":{time}", quote.underlying);
            for (field, value) in [("bid", quote.bid), ("ask", quote.ask)] {
                let value = if value.is_finite() { value.to_string() } else { "null".to_owned() };
                lines += &format!(",\"{field}\":{value}");
            }
            lines += "}\n";
        }
    }
    lines
}

/// Every path over one day; `has_rates`: a user's curve, else the one that the index implies.
fn one_day(has_rates: bool) {
    let folder = Folder::new(if has_rates { "paths-given" } else { "paths-implied" });
    let (market_folder, recorded) = (folder.path("market"), folder.path("recorded"));
    fs::create_dir_all(market_folder.join("chains")).unwrap();
    fs::create_dir_all(&recorded).unwrap();
    let at = time(CLOSES[0]);
    let few: Vec<_> = well_known().into_iter().filter(|name| NAMES.contains(&name.symbol.as_str())).collect();
    let market = SimMarket::with_universe(7, at, &few);
    let names: Vec<Vec<HistoryRow>> = (0..market.len()).map(|name| rows_of(&market, name, at, EXPIRIES)).collect();
    let (mut dividends, mut text) = ("underlying,ex_date,amount\n".to_owned(), lines(&names));
    for d in market.dividends() {
        let (name, ex_date, amount) = (d.underlying, d.ex_date, d.amount);
        dividends += &format!("{name},{ex_date},{amount}\n");
        text += &format!("{{\"symbol\":\"{name}\",\"ex_date\":\"{ex_date}\",\"amount\":{amount}}}\n");
    }
    fs::write(market_folder.join("dividends.csv"), dividends).unwrap();
    if has_rates {
        let mut rates = "date,tenor_days,rate\n".to_owned();
        for (days, rate) in [(30, 0.041), (365, 0.039), (730, 0.036)] {
            rates += &format!("2026-11-17,{days},{rate}\n");
            text += &format!("{{\"date\":\"2026-11-17\",\"tenor_days\":{days},\"rate\":{rate}}}\n");
        }
        fs::write(market_folder.join("rates.csv"), rates).unwrap();
    }
    for of_name in &names {
        let file = market_folder.join(format!("chains/{}.csv", of_name[0].quote.underlying));
        fs::write(file, csv(of_name)).unwrap();
    }
    fs::write(recorded.join("quotes-2026-11-17.ndjson"), text).unwrap();

    let whole = batched(&market_folder, &folder.path("whole"));
    let contracts: usize = names.iter().map(Vec::len).sum();
    assert_eq!(whole.len(), contracts, "every contract");
    let full = whole.values().map(BTreeMap::len).max().unwrap();
    assert!(full >= 25, "every Greek: {full}");
    let of = |kind: &str, path: &Path| format!("{kind}:{}", path.display());
    let paths = [
        ("tasks of a plan", planned(&market_folder, &folder.path("planned"))),
        ("batch of a recording", batched(&recorded, &folder.path("of-recording"))),
        ("folder", served(&of("dir", &market_folder), "")),
        ("history", served(&of("history", &market_folder), "&as_of=2026-11-17")),
        ("recording as a folder", served(&of("dir", &recorded), "")),
        ("recording as history", served(&of("history", &recorded), "&as_of=2026-11-17")),
    ];
    for (path, values) in &paths {
        assert_eq!(values.len(), whole.len(), "{path}");
        let columns = |values: &Values| values.values().flat_map(BTreeMap::keys).cloned().collect::<BTreeSet<_>>();
        assert!(columns(&whole).is_subset(&columns(values)), "{path}: {:?}", columns(values));
        for (contract, want) in &whole {
            for (column, bits) in want {
                let got = values[contract].get(column);
                let show = |bits: u64| f64::from_bits(bits);
                assert!(
                    got == Some(bits),
                    "{path}: {contract} {column}: {:?} for {}",
                    got.map(|&bits| show(bits)),
                    show(*bits)
                );
            }
        }
    }
}

#[test]
fn one_day_has_one_result_on_every_path_with_rates_of_a_user() {
    one_day(true);
}

#[test]
fn one_day_has_one_result_on_every_path_with_implied_rates() {
    one_day(false);
}
