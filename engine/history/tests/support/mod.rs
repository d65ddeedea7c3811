//! A small market on several days as files of quotes, and jobs over it.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used, reason = "each test takes what it needs")]

use feeds::csv::decompress;
use history::gather::FileRead;
use history::job::{HistoryJob, JobError, JobOutcome, run};
use history::layouts::read_chains;
use history::output::FileForm;
use history::plan::OutputLayout;
use history::recipe::Recipe;
use history::reference::RecordedReference;
use history::reference::{ReferenceRecords, ReferenceSet};
use history::row::HistoryRow;
use history::tables::ParquetForm;
use history::watch::{JobWatch, Unwatched};
use jiff::Timestamp;
use kernel::contract::ContractKey;
use kernel::quality::Quality;
use kernel::records::{Activity, QuoteRecord};
use sim::SimMarket;
use sim::symbols::well_known;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

/// A folder that is gone when the test is.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new(name: &str) -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let own = format!("greeksd-history-{}-{}-{name}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(own);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

pub fn time(text: &str) -> Timestamp {
    text.parse().unwrap()
}

/// The closes of four days, and three moments of one of them.
pub const CLOSES: [&str; 4] =
    ["2026-11-17T21:00:00Z", "2026-11-18T21:00:00Z", "2026-11-19T21:00:00Z", "2026-11-20T21:00:00Z"];
pub const INTRADAY: [&str; 3] = ["2026-11-18T15:00:00Z", "2026-11-18T15:30:00Z", "2026-11-18T16:00:00Z"];

/// Names that pay dividends and do not, few contracts each, in the order of their symbols.
pub fn market(at: Timestamp) -> SimMarket {
    let names = well_known().into_iter();
    let mut few: Vec<_> = names.filter(|name| ["F", "KO", "UBER"].contains(&name.symbol.as_str())).collect();
    few.sort_by(|a, b| a.symbol.cmp(&b.symbol));
    assert_eq!(few.len(), 3);
    SimMarket::with_universe(7, at, &few)
}

/// Every quote of a name of the market at an instant, of its first four expiries.
pub fn rows(market: &SimMarket, name: usize, at: Timestamp) -> Vec<HistoryRow> {
    rows_of(market, name, at, 4)
}

/// The rows of the first `expiries` expiries.
pub fn rows_of(market: &SimMarket, name: usize, at: Timestamp, expiries: usize) -> Vec<HistoryRow> {
    let book = market.book(name, at).unwrap();
    let (bid_size, ask_size) = (10.0, f64::NAN);
    let of_slice = |slice: &engine::store::book::BookSlice| -> Vec<HistoryRow> {
        (0..slice.strike_milli.len())
            .map(|i| {
                let (strike_milli, right) = (slice.strike_milli[i], slice.right[i]);
                let contract = ContractKey { root: slice.root, expiry: slice.expiry, strike_milli, right };
                let (bid, ask, underlying) = (slice.bid[i], slice.ask[i], book.underlying);
                let quote = QuoteRecord {
                    ts: at,
                    underlying,
                    contract,
                    bid,
                    ask,
                    bid_size,
                    ask_size,
                    activity: Activity::default(),
                };
                HistoryRow { quote, spot: book.spot }
            })
            .collect()
    };
    book.slices.iter().take(expiries).flat_map(of_slice).collect()
}

pub const HEADER: &str = "quote_time,underlying,und_price,root,expiry,right,strike,bid,ask,bid_size,ask_size\n";

pub fn line(row: &HistoryRow) -> String {
    let number = |x: f64| if x.is_nan() { String::new() } else { x.to_string() };
    let QuoteRecord { ts, underlying, contract, bid, ask, bid_size, ask_size, .. } = row.quote;
    let right = if contract.right == kernel::contract::Right::Call { "call" } else { "put" };
    format!(
        "{ts},{underlying},{},{},{},{right},{},{},{},{},{}\n",
        number(row.spot),
        contract.root,
        contract.expiry,
        f64::from(contract.strike_milli) / 1000.0,
        number(bid),
        number(ask),
        number(bid_size),
        number(ask_size)
    )
}

pub fn csv(rows: &[HistoryRow]) -> String {
    let mut text = HEADER.to_owned();
    rows.iter().for_each(|row| write!(text, "{}", line(row)).unwrap());
    text
}

/// The market as files, `day/name.csv`: three names at each close, and the first also three times within a day. Their
/// paths, by day.
pub fn write_market(folder: &Path) -> Vec<Vec<PathBuf>> {
    let mut days = Vec::new();
    for close in CLOSES {
        let at = time(close);
        let market = market(at);
        let mut files = Vec::new();
        for name in 0..market.len() {
            let mut of_name = rows(&market, name, at);
            if name == 0 && close == CLOSES[1] {
                for moment in INTRADAY {
                    of_name.extend(rows(&self::market(time(moment)), name, time(moment)));
                }
            }
            let path = folder.join(format!("{}/{}.csv", &close[..10], of_name[0].quote.underlying));
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, csv(&of_name)).unwrap();
            files.push(path);
        }
        days.push(files);
    }
    days
}

/// Reference data of the simulated market.
pub fn reference() -> ReferenceSet {
    let market = market(time(CLOSES[0]));
    let records = ReferenceRecords { dividends: market.dividends(), rates: market.rates(), ..Default::default() };
    ReferenceSet::new(&records)
}

/// Reads a chain file of our own.
pub fn read(path: &Path, take: &mut dyn FnMut(HistoryRow)) -> FileRead {
    let raw = fs::read(path).unwrap();
    let (bytes, damage) = decompress(path, raw);
    let (chains, mut report) = read_chains(path, &bytes);
    report.errors.extend(damage);
    let spot = |quote: &QuoteRecord| {
        let of = chains.spots.iter().find(|s| (s.underlying, s.ts) == (quote.underlying, quote.ts));
        of.map_or(f64::NAN, |spot| spot.price)
    };
    chains.quotes.iter().for_each(|quote| take(HistoryRow { quote: *quote, spot: spot(quote) }));
    FileRead { layout: "greeksd", report, reference: RecordedReference::default(), refused: None }
}

/// A job with everything as it is mostly.
pub struct Plain {
    pub reference: ReferenceSet,
    pub recipe: Recipe,
    pub layout: OutputLayout,
    pub threads: usize,
    pub allows_partial: bool,
}

impl Plain {
    /// At preliminary accuracy, which is quick.
    pub fn new() -> Self {
        let recipe = Recipe { quality: Quality::Preliminary, quotes: true };
        let layout = OutputLayout::Day;
        Self { reference: reference(), recipe, layout, threads: 2, allows_partial: false }
    }

    pub fn watched(&self, inputs: &[PathBuf], out: &Path, watch: &dyn JobWatch) -> Result<JobOutcome, JobError> {
        let form = ParquetForm::new(self.recipe).unwrap();
        self.written(inputs, out, &form, watch)
    }

    pub fn written(
        &self,
        inputs: &[PathBuf],
        out: &Path,
        form: &dyn FileForm,
        watch: &dyn JobWatch,
    ) -> Result<JobOutcome, JobError> {
        run(&HistoryJob {
            inputs,
            rates_from: &[],
            out,
            reference: &self.reference,
            recipe: self.recipe,
            layout: self.layout,
            form,
            threads: self.threads,
            allows_partial: self.allows_partial,
            read: &read,
            watch,
        })
    }

    pub fn run(&self, inputs: &[PathBuf], out: &Path) -> JobOutcome {
        self.watched(inputs, out, &Unwatched).unwrap()
    }
}

/// Every file below a folder, by its path there.
pub fn tree(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    fn walk(base: &Path, folder: &Path, out: &mut BTreeMap<String, Vec<u8>>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(base, &path, out);
            } else {
                let name = path.strip_prefix(base).unwrap().to_string_lossy().replace('\\', "/");
                out.insert(name, fs::read(&path).unwrap());
            }
        }
    }
    let mut out = BTreeMap::new();
    walk(folder, folder, &mut out);
    out
}

/// The files of Greeks among them.
pub fn greeks(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut all = tree(folder);
    all.retain(|name, _| !name.starts_with('_'));
    all
}
