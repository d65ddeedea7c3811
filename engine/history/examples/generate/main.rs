//! Days of the made-up market in the layouts of vendors, with what is true beside them: `cargo run --release -p
//! greeksd-history --example generate -- LAYOUT OUT [--names 20] [--days 60] [--from 2025-01-02] [--intraday 391]
//! [--seed 1] [--gzip]`.
//!
//! LAYOUT is greeksd, datashop, datashop-intervals, orats, optionsdx, historicaloptiondata or options-dataset. OUT gets
//! the files of quotes in `quotes`, and beside that `truth.csv`, `dividends.csv` and `rates.csv`. Without `--intraday`
//! a day has one snapshot, at the instant that the vendor has it.
#![allow(clippy::print_stdout, reason = "a program that says what it wrote")]

mod market;
mod tables;
mod vendors;

use flate2::Compression;
use flate2::write::GzEncoder;
use jiff::civil::{Date, date};
use jiff::{SignedDuration, Timestamp};
use kernel::calendar::{Calendar, Day};
use kernel::contract::Symbol;
use market::Snapshot;
use sim::SimMarket;
use std::collections::BTreeMap;
use std::error::Error;
use std::fs::{File, create_dir_all};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use tables::Table;
use vendors::Vendor;

type Outcome<T> = Result<T, Box<dyn Error>>;

/// What is asked for.
struct Asked {
    layout: String,
    out: PathBuf,
    names: Vec<Symbol>,
    days: usize,
    from: Date,
    intraday: Option<usize>,
    seed: u64,
    gzip: bool,
}

fn asked() -> Outcome<Asked> {
    let mut words = std::env::args().skip(1);
    let usage = "generate LAYOUT OUT [--names N|A,B] [--days N] [--from DATE] [--intraday N] [--seed N] [--gzip]";
    let (layout, out) = (words.next().ok_or(usage)?, PathBuf::from(words.next().ok_or(usage)?));
    let (names, from) = (market::names(20), date(2025, 1, 2));
    let mut asked = Asked { layout, out, names, days: 1, from, intraday: None, seed: 1, gzip: false };
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or(usage);
        match word.as_str() {
            "--names" => {
                let text = value()?;
                asked.names = match text.parse() {
                    Ok(count) => market::names(count),
                    Err(_) => text.split(',').map(|name| Symbol::parse(name).ok_or(usage)).collect::<Result<_, _>>()?,
                };
            }
            "--days" => asked.days = value()?.parse()?,
            "--from" => asked.from = value()?.parse()?,
            "--intraday" => asked.intraday = Some(value()?.parse()?),
            "--seed" => asked.seed = value()?.parse()?,
            "--gzip" => asked.gzip = true,
            _ => return Err(usage.into()),
        }
    }
    Ok(asked)
}

fn main() -> Outcome<()> {
    let asked = asked()?;
    let calendar = Calendar::embedded();
    create_dir_all(asked.out.join("quotes"))?;
    let mut truth = BufWriter::new(File::create(asked.out.join("truth.csv"))?);
    truth.write_all(vendors::TRUTH.as_bytes())?;
    let mut closes: Vec<(Snapshot, f64)> = Vec::new();
    let sessions = market::sessions(&calendar, asked.from, asked.days);
    for &date in &sessions {
        let mut rows = 0;
        if asked.layout == "datashop" {
            rows += datashop(&asked, &calendar, date, &mut truth)?;
        } else if asked.layout == "options-dataset" {
            rows += options_dataset(&asked, &calendar, date, &mut truth, &mut closes)?;
        } else {
            rows += text(&asked, &calendar, date, &mut truth)?;
        }
        println!("{date}: {rows} contracts");
    }
    if !closes.is_empty() {
        let mut table = Table::new(File::create(asked.out.join("quotes/underlying_prices.parquet"))?);
        table.closes(&calendar, &closes)?;
        table.finish()?;
    }
    truth.flush()?;
    carry(&asked, &calendar, &sessions)
}

/// The instants of a day that a layout has snapshots of.
fn instants(asked: &Asked, calendar: &Calendar, date: Date) -> Outcome<Vec<Timestamp>> {
    let close = market::close(calendar, date);
    let before = |minutes: i64| close.checked_sub(SignedDuration::from_mins(minutes)).map(|at| vec![at]);
    Ok(match (asked.intraday, asked.layout.as_str()) {
        (Some(minutes), _) => market::minutes(calendar, date, minutes),
        (None, "orats") => before(14)?,
        (None, _) => vec![close],
    })
}

fn create(asked: &Asked, name: &str) -> Outcome<Box<dyn Write>> {
    let path = asked.out.join("quotes").join(name);
    Ok(if asked.gzip {
        let file = File::create(path.with_extension("csv.gz"))?;
        Box::new(GzEncoder::new(BufWriter::new(file), Compression::fast()))
    } else {
        Box::new(BufWriter::new(File::create(path)?))
    })
}

/// A day of a layout that is text and has one snapshot a row: one file, or of OptionsDX one for each name.
fn text(asked: &Asked, calendar: &Calendar, date: Date, truth: &mut impl Write) -> Outcome<usize> {
    let vendor = match asked.layout.as_str() {
        "greeksd" => Vendor::Own,
        "datashop-intervals" => Vendor::Intervals,
        "orats" => Vendor::Orats,
        "optionsdx" => Vendor::OptionsDx,
        "historicaloptiondata" => Vendor::HistoricalOptionData,
        other => return Err(format!("no layout is called {other}").into()),
    };
    let single = vendor == Vendor::OptionsDx;
    let mut files: BTreeMap<String, Box<dyn Write>> = BTreeMap::new();
    let (mut rows, mut failed) = (0, None);
    market::snapshots(asked.seed, &asked.names, &instants(asked, calendar, date)?, true, |snapshot| {
        let snapshot = if vendor.has_pairs() { snapshot.paired() } else { snapshot };
        let mut write = || -> Outcome<()> {
            let name = snapshot.underlying.to_string().to_lowercase();
            let name = if single { format!("{name}_{date}.csv") } else { format!("{date}.csv") };
            if !files.contains_key(&name) {
                let mut file = create(asked, &name)?;
                file.write_all(vendor.header().as_bytes())?;
                files.insert(name.clone(), file);
            }
            if let Some(file) = files.get_mut(&name) {
                let mut whole = Vec::new();
                vendor.write(calendar, &snapshot, &mut whole)?;
                file.write_all(&whole)?;
            }
            vendors::truth(&snapshot, truth)?;
            Ok(())
        };
        rows += snapshot.rows.len();
        if let Err(error) = write() {
            failed.get_or_insert(error);
        }
    });
    files.into_values().try_for_each(|mut file| file.flush())?;
    failed.map_or(Ok(rows), Err)
}

/// A day of Cboe DataShop: 15 minutes before the close, and the close.
fn datashop(asked: &Asked, calendar: &Calendar, date: Date, truth: &mut impl Write) -> Outcome<usize> {
    let close = market::close(calendar, date);
    let early_of_old = calendar.day(date) == Day::Early && date < jiff::civil::date(2020, 2, 5);
    let before = if early_of_old { close } else { close.checked_sub(SignedDuration::from_mins(15))? };
    let (mut first, mut last) = (Vec::new(), Vec::new());
    market::snapshots(asked.seed, &asked.names, &[before], true, |snapshot| first.push(snapshot));
    market::snapshots(asked.seed, &asked.names, &[close], false, |snapshot| last.push(snapshot));
    let mut file = create(asked, &format!("UnderlyingOptionsEOD_{date}.csv"))?;
    let mut whole = vendors::DATASHOP_EOD.as_bytes().to_vec();
    for (before, at_close) in first.iter().zip(&last) {
        vendors::datashop_eod(calendar, before, at_close, &mut whole)?;
        vendors::truth(before, truth)?;
    }
    file.write_all(&whole)?;
    file.flush()?;
    Ok(first.iter().map(|snapshot| snapshot.rows.len()).sum())
}

/// A day of the open sets: Parquet, and closing prices in a file of their own.
fn options_dataset(
    asked: &Asked,
    calendar: &Calendar,
    date: Date,
    truth: &mut impl Write,
    closes: &mut Vec<(Snapshot, f64)>,
) -> Outcome<usize> {
    let mut snapshots = Vec::new();
    market::snapshots(asked.seed, &asked.names, &instants(asked, calendar, date)?, true, |s| snapshots.push(s));
    let mut table = Table::new(File::create(asked.out.join(format!("quotes/options_{date}.parquet")))?);
    for snapshot in &snapshots {
        table.quotes(calendar, snapshot)?;
        vendors::truth(snapshot, truth)?;
    }
    table.finish()?;
    let rows = snapshots.iter().map(|snapshot| snapshot.rows.len()).sum();
    closes.extend(snapshots.into_iter().map(|s| (Snapshot { rows: Vec::new(), ..s.clone() }, s.spot)));
    Ok(rows)
}

/// Dividends and discount curves of all days, as the program reads them.
fn carry(asked: &Asked, calendar: &Calendar, sessions: &[Date]) -> Outcome<()> {
    let mut dividends = BTreeMap::new();
    let mut rates = file(&asked.out, "rates.csv", "date,tenor_days,rate\n")?;
    for &date in sessions {
        let market = SimMarket::at(asked.seed, market::close(calendar, date));
        for dividend in market.dividends().into_iter().filter(|d| asked.names.contains(&d.underlying)) {
            dividends.entry((dividend.underlying, dividend.ex_date)).or_insert(dividend.amount);
        }
        for rate in market.rates() {
            writeln!(rates, "{},{},{}", rate.date, rate.tenor_days, rate.rate)?;
        }
    }
    let mut out = file(&asked.out, "dividends.csv", "underlying,ex_date,amount\n")?;
    for ((underlying, ex_date), amount) in dividends {
        writeln!(out, "{underlying},{ex_date},{amount}")?;
    }
    out.flush()?;
    Ok(rates.flush()?)
}

fn file(out: &Path, name: &str, header: &str) -> Outcome<BufWriter<File>> {
    let mut file = BufWriter::new(File::create(out.join(name))?);
    file.write_all(header.as_bytes())?;
    Ok(file)
}
