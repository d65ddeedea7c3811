//! `greeksd compare`: compares our values with a vendor's, and finds why they differ.
//!
//! The quotes of the vendor's file are computed like those of any recorded day ([`history::recipe`]). The engine
//! compares the vendor's columns with the chains, and ranks the reasons that explain the differences
//! ([`engine::compare`]). Never: a formula.

mod compared;
mod plot;
mod read;
mod report;
mod text;

use crate::arguments::CompareArgs;
use crate::batch::inputs::Inputs;
use crate::batch::reference_files::ReferenceFiles;
use compared::Compared;
use engine::compare::{VendorRow, compare};
use engine::store::chain::Chain;
use history::implied_rates::{imply_day, is_european};
use history::recipe::{Recipe, UnitPasses, unit_underlying};
use history::reference::ReferenceSet;
use history::row::HistoryRow;
use host::log::say;
use host::printable::printable;
use jiff::{SignedDuration, Timestamp};
use kernel::contract::{ContractKey, Symbol};
use kernel::quality::Quality;
use read::{VendorFile, VendorQuote};
use report::Report;
use sources::poll::client::{AnswerBounds, Client, Received, ServerBase};
use std::collections::{BTreeMap, HashMap};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Quotes of a name that are older than its newest one by more than this belong to an earlier snapshot.
const ONE_SNAPSHOT: SignedDuration = SignedDuration::from_mins(30);
/// Maximum number of refused rows that are reported; all are counted.
const PLACES_SHOWN: usize = 5;

/// Runs the command.
#[must_use]
pub fn run(args: &CompareArgs) -> ExitCode {
    match compared(args).and_then(|report| written(args, &report)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            say(&format!("greeksd compare: {why}"));
            ExitCode::FAILURE
        }
    }
}

/// The document that `--json` prints.
///
/// # Errors
/// Why the file cannot be used.
pub fn report(args: &CompareArgs) -> Result<String, String> {
    compared(args).map(|report| report.json())
}

/// Writes the requested outputs.
fn written(args: &CompareArgs, report: &Report) -> Result<(), String> {
    let put = |path: &Path, bytes: &[u8]| std::fs::write(path, bytes).map_err(|e| format!("{}: {e}", path.display()));
    if let Some(path) = &args.csv {
        put(path, printable(&report.csv()).as_bytes())?;
    }
    if let Some(path) = &args.svg {
        put(path, plot::svg(report).as_bytes())?;
    }
    let out = if args.json { report.json() } else { printable(&text::text(report)) };
    std::io::stdout().write_all(out.as_bytes()).map_err(|error| format!("cannot write: {error}"))
}

fn compared(args: &CompareArgs) -> Result<Report, String> {
    let folder = folder_of(&args.input);
    let response = if folder.is_some() { None } else { Some(response_of(&args.input)?) };
    let file = read::read(args, response.as_deref())?;
    file.places.iter().take(PLACES_SHOWN).for_each(|place| say(&format!("refused: {place}")));
    if file.refused > PLACES_SHOWN as u64 {
        say(&format!("refused: {} more rows", file.refused - PLACES_SHOWN as u64));
    }
    let inputs = Inputs { files: Vec::new(), folders: folder.into_iter().collect() };
    let known = ReferenceFiles::read(&args.known, &inputs)?;
    known.notes.iter().for_each(|note| say(note));
    let names = names_of(&file, &with_rates(&file, &known.reference))?;
    Ok(Report::of(args, &file, &names))
}

/// The reference data with the discount curve that the file's own European chains imply, where none was given.
fn with_rates(file: &VendorFile, reference: &ReferenceSet) -> ReferenceSet {
    let mut rates = reference.rates().clone();
    if rates.implies() {
        let rows = file.quotes.iter().map(|quote| quote.row);
        let european = rows.filter(|row| is_european(unit_underlying(row, reference), reference));
        imply_day(european.collect(), reference, &mut rates);
    }
    reference.with_rates(rates)
}

/// The folder of the input file; `None`: the input is an address.
fn folder_of(input: &str) -> Option<PathBuf> {
    let is_address = input.starts_with("http://") || input.starts_with("https://");
    (!is_address).then(|| Path::new(input).parent().unwrap_or(Path::new("")).to_path_buf())
}

/// The response of an address.
fn response_of(input: &str) -> Result<Vec<u8>, String> {
    let scheme = input.find("://").map_or(0, |at| at + 3);
    let path = input[scheme..].find('/').map_or(input.len(), |at| at + scheme);
    let (base, target) = input.split_at(path);
    let client = Client::new(ServerBase::parse(base)?, Vec::new(), None, AnswerBounds::default())?;
    let target = if target.is_empty() { "/" } else { target };
    match client.get(target, None).map_err(|failed| format!("{input}: {}", failed.failure.name()))? {
        Received::Body { status: 200, bytes, .. } => Ok(bytes),
        Received::Body { status, .. } => Err(format!("{input}: status {status}")),
        Received::Unchanged => Err(format!("{input}: no response")),
    }
}

/// Computes and compares every name of a file.
fn names_of(file: &VendorFile, reference: &ReferenceSet) -> Result<Vec<Compared>, String> {
    let mut units: BTreeMap<Symbol, Vec<&VendorQuote>> = BTreeMap::new();
    for quote in &file.quotes {
        units.entry(unit_underlying(&quote.row, reference)).or_default().push(quote);
    }
    let recipe = Recipe { quality: Quality::Full, quotes: true };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let mut passes = UnitPasses::new(reference, recipe).map_err(|error| format!("no thread: {error}"))?;
    let mut all = Vec::new();
    for (underlying, quotes) in units {
        let newest = quotes.iter().map(|quote| quote.row.quote.ts).max().unwrap_or(Timestamp::UNIX_EPOCH);
        let is_of_last = |quote: &&&VendorQuote| newest.duration_since(quote.row.quote.ts) <= ONE_SNAPSHOT;
        let last: Vec<&VendorQuote> = quotes.iter().filter(is_of_last).copied().collect();
        if last.iter().all(|quote| quote.row.spot.is_nan()) {
            say(&format!("{underlying}: the file has no price of the underlying: give --spot"));
            continue;
        }
        let rows: Vec<HistoryRow> = last.iter().map(|quote| quote.row).collect();
        passes.begin(underlying);
        let snapshot = passes.snapshot(newest, &rows).map_err(|_| format!("{underlying}: internal error"))?;
        let Some(computed) = snapshot.computed else {
            say(&format!("{underlying}: no usable quote"));
            continue;
        };
        let rows = joined(&computed.chain, &last);
        let found = compare(&computed.chain, reference.calendar(), &rows, &file.digits, threads);
        all.push(Compared { chain: computed.chain, rows, found });
    }
    if all.is_empty() { Err("nothing to compare".to_owned()) } else { Ok(all) }
}

/// The vendor's numbers by the rows of a chain.
fn joined(chain: &Chain, quotes: &[&VendorQuote]) -> Vec<VendorRow> {
    let mut places: HashMap<ContractKey, u32> = HashMap::new();
    for slice in &chain.slices {
        for row in slice.rows.clone() {
            let (strike_milli, right) = (chain.strike_milli[row as usize], chain.right[row as usize]);
            places.insert(slice.contract(strike_milli, right).served(), row);
        }
    }
    let row = |quote: &&VendorQuote| {
        let row = *places.get(&quote.row.quote.contract.served())?;
        Some(VendorRow { row, sigma: quote.sigma, greeks: quote.greeks })
    };
    quotes.iter().filter_map(row).collect()
}
