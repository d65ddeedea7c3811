//! Reads files of Greeks back to chains. Every number is the written one, to the last bit. Missing are data that the
//! file does not hold: columns that only vendors' layers show, the implied spot, and reasons for dropped quotes. Never:
//! a computation, a file of quotes.

use super::rows::{StoredChains, TimedChains};
use crate::recipe::Recipe;
use crate::recipe::VERSION;
use crate::reference::ReferenceSet;
use crate::reference_digest::{REFERENCE_DIGESTS, is_reference_current};
use crate::schema::{FileCell, FileColumn, file_columns};
use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::{Date32Type, Float64Type, Int32Type, TimestampMicrosecondType};
use engine::store::book::QuoteCounts;
use engine::store::chain::{Chain, Slice, Uncomputed};
use engine::store::columns::{Col, Columns};
use engine::store::firm_quotes::FirmQuotes;
use engine::store::quotes::ChainQuotes;
use jiff::{Timestamp, civil::Date};
use kernel::calendar::shift::date_of_epoch_day;
use kernel::contract::{ContractKey, Right, Settle, Style, Symbol};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

/// The columns of quotes that are read back.
const QUOTED: [&str; 6] = ["bid", "ask", "bid_size", "ask_size", "volume", "open_interest"];
/// Rows of a batch.
const BATCH: usize = 8192;

type GreeksFileReader = ParquetRecordBatchReaderBuilder<File>;

/// The chains of a name and day in a file of Greeks, in time order, if they are what `wanted` and `reference` would
/// give.
///
/// # Errors
/// The file cannot be read: why.
pub fn read_chains(
    file: &Path,
    unit: (Symbol, Date),
    reference: &ReferenceSet,
    wanted: Recipe,
) -> Result<StoredChains, String> {
    // the library has bounds for most damage, and asserts for the rest: a file must not end the program
    let read = catch_unwind(AssertUnwindSafe(|| read(file, unit, reference, wanted)));
    read.unwrap_or_else(|_| Err("damaged".to_owned())).map_err(|why| format!("{}: {why}", file.display()))
}

fn open(file: &Path) -> Result<GreeksFileReader, String> {
    let file = File::open(file).map_err(|error| error.to_string())?;
    GreeksFileReader::try_new(file).map_err(|error| error.to_string())
}

fn read(file: &Path, unit: (Symbol, Date), reference: &ReferenceSet, wanted: Recipe) -> Result<StoredChains, String> {
    let (underlying, builder) = (unit.0, open(file)?);
    let facts = builder.schema().metadata().clone();
    let says = |key: &str, text: &str| facts.get(key).is_some_and(|said| said == text);
    let has_quotes = facts.get("greeksd.greeks").is_some_and(|groups| groups.split(',').any(|group| group == "quote"));
    let is_same = says("greeksd.recipe_version", &VERSION.to_string())
        && says("greeksd.accuracy", wanted.quality.name())
        && (has_quotes || !wanted.quotes);
    if !is_same {
        return Ok(StoredChains::OtherRecipe);
    }
    match facts.get(REFERENCE_DIGESTS).map(|words| is_reference_current(words, unit.0, unit.1, reference)) {
        Some(Some(true)) => {}
        Some(None) => return Ok(StoredChains::Same(Vec::new())),
        None | Some(Some(false)) => return Ok(StoredChains::OtherReference),
    }
    let (first, rows) = place_of(builder, underlying)?;
    let builder = open(file)?.with_offset(first).with_limit(rows).with_batch_size(BATCH);
    let columns = file_columns(Recipe { quotes: has_quotes, ..wanted });
    let mut chains =
        Chains { underlying, reference, quotes: wanted.quotes, done: Vec::new(), rows: ChainRows::default() };
    for batch in builder.build().map_err(|error| error.to_string())? {
        chains.take(&batch.map_err(|error| error.to_string())?, &columns)?;
    }
    chains.end();
    Ok(StoredChains::Same(chains.done))
}

/// The first row of a name and the number of its rows, which are consecutive.
fn place_of(builder: GreeksFileReader, underlying: Symbol) -> Result<(usize, usize), String> {
    let schema = builder.schema();
    let at = schema.index_of("underlying").map_err(|error| error.to_string())?;
    let mask = ProjectionMask::roots(builder.parquet_schema(), [at]);
    let reader = builder.with_projection(mask).with_batch_size(BATCH).build().map_err(|error| error.to_string())?;
    let (mut first, mut rows, mut before) = (0, 0, 0);
    for batch in reader {
        let batch = batch.map_err(|error| error.to_string())?;
        let words = StoredWords::of(&batch, "underlying")?;
        for row in 0..batch.num_rows() {
            if words.get(row) == underlying.as_str() {
                if rows == 0 {
                    first = before + row;
                }
                rows += 1;
            }
        }
        before += batch.num_rows();
    }
    Ok((first, rows))
}

/// A column of words.
struct StoredWords<'a> {
    keys: &'a [i32],
    words: Vec<&'a str>,
}

impl<'a> StoredWords<'a> {
    fn of(batch: &'a RecordBatch, name: &str) -> Result<Self, String> {
        let column = batch.column_by_name(name).ok_or_else(|| format!("no column {name}"))?;
        let words = column.as_dictionary_opt::<Int32Type>().ok_or_else(|| format!("{name}: no words"))?;
        let texts = words.values().as_string_opt::<i32>().ok_or_else(|| format!("{name}: no words"))?;
        Ok(Self { keys: words.keys().values(), words: texts.iter().map(Option::unwrap_or_default).collect() })
    }

    fn get(&self, row: usize) -> &'a str {
        usize::try_from(self.keys[row]).ok().and_then(|key| self.words.get(key)).copied().unwrap_or_default()
    }
}

/// Chains in the making.
struct Chains<'r> {
    underlying: Symbol,
    reference: &'r ReferenceSet,
    quotes: bool,
    done: TimedChains,
    /// Rows of the current snapshot.
    rows: ChainRows,
}

/// Rows of one snapshot.
#[derive(Default)]
struct ChainRows {
    at: Timestamp,
    slices: Vec<Slice>,
    strike_milli: Vec<u32>,
    right: Vec<Right>,
    /// Numbers by column, by row.
    numbers: Vec<Vec<f64>>,
    prices: Vec<[f64; 2]>,
    counts: Vec<QuoteCounts>,
}

impl Chains<'_> {
    fn take(&mut self, batch: &RecordBatch, columns: &[FileColumn]) -> Result<(), String> {
        let numbers = |name: &str| -> Result<Vec<f64>, String> {
            let column = batch.column_by_name(name).ok_or_else(|| format!("no column {name}"))?;
            let numbers = column.as_primitive_opt::<Float64Type>().ok_or_else(|| format!("{name}: no numbers"))?;
            Ok(numbers.iter().map(|number| number.unwrap_or(f64::NAN)).collect())
        };
        let whole = |name: &str| {
            let column = batch.column_by_name(name).ok_or_else(|| format!("no column {name}"))?;
            column.as_primitive_opt::<Int32Type>().ok_or_else(|| format!("{name}: no integers"))
        };
        let of_time = batch.column_by_name("quote_time").ok_or("no column quote_time")?;
        let times = of_time.as_primitive_opt::<TimestampMicrosecondType>().ok_or("quote_time: no times")?;
        let expiries = batch.column_by_name("expiry").ok_or("no column expiry")?;
        let expiries = expiries.as_primitive_opt::<Date32Type>().ok_or("expiry: no dates")?;
        let [roots, rights, styles, settles] =
            ["root", "right", "ex_style", "settle"].map(|name| StoredWords::of(batch, name));
        let (roots, rights, styles, settles) = (roots?, rights?, styles?, settles?);
        let strikes = whole("strike_milli")?;
        let symbols = batch.column_by_name("osym").ok_or("no column osym")?;
        let symbols = symbols.as_string_opt::<i32>().ok_or("osym: no text")?;
        let of_slice = ["und_price", "fwd_price", "days", "days_vt", "disc_rate", "borr_rate", "divs"].map(numbers);
        let [und_price, fwd_price, days, days_vt, disc_rate, borr_rate, divs] = of_slice;
        let (und_price, fwd_price, days, days_vt) = (und_price?, fwd_price?, days?, days_vt?);
        let (disc_rate, borr_rate, divs) = (disc_rate?, borr_rate?, divs?);
        let shown = columns.iter().filter_map(|column| match column.cell {
            FileCell::Number(col) => Some((col, column.name)),
            _ => None,
        });
        let shown: Vec<(Col, Vec<f64>)> =
            shown.map(|(col, name)| Ok((col, numbers(name)?))).collect::<Result<_, String>>()?;
        let quoted = if self.quotes { QUOTED.map(numbers).to_vec() } else { Vec::new() };
        let quoted: Vec<Vec<f64>> = quoted.into_iter().collect::<Result<_, _>>()?;
        for row in 0..batch.num_rows() {
            let at = Timestamp::from_microsecond(times.value(row)).map_err(|error| error.to_string())?;
            if at != self.rows.at || self.rows.strike_milli.is_empty() {
                self.end();
                self.rows.at = at;
                self.rows.numbers = vec![Vec::new(); Col::ALL.len()];
            }
            let root = Symbol::parse(roots.get(row)).ok_or("root: no symbol")?;
            let expiry = date_of_epoch_day(expiries.value(row).into()).ok_or("an expiry is no date")?;
            let settle = if settles.get(row) == "am" { Settle::Am } else { Settle::Pm };
            let n = u32::try_from(self.rows.strike_milli.len()).map_err(|_| "too many rows")?;
            let is_new = |slice: &Slice| (slice.root, slice.expiry, slice.settle) != (root, expiry, settle);
            if self.rows.slices.last().is_none_or(is_new) {
                let listed = ContractKey::parse_osi(symbols.value(row)).ok_or("osym: no symbol")?.expiry;
                self.rows.slices.push(Slice {
                    root,
                    expiry,
                    listed,
                    rows: n..n,
                    style: if styles.get(row) == "european" { Style::European } else { Style::American },
                    settle,
                    settles_at: self.reference.calendar().settlement(listed, settle),
                    adjusted: self.reference.roots().facts_at(root, self.underlying, at).identity_only.is_some(),
                    days: days[row],
                    days_vt: days_vt[row],
                    und_price: und_price[row],
                    fwd_price: fwd_price[row],
                    disc_rate: disc_rate[row],
                    borr_rate: borr_rate[row],
                    divs: divs[row],
                });
            }
            if let Some(slice) = self.rows.slices.last_mut() {
                slice.rows.end = n + 1;
            }
            self.rows.strike_milli.push(u32::try_from(strikes.value(row)).map_err(|_| "strike_milli: negative")?);
            self.rows.right.push(if rights.get(row) == "put" { Right::Put } else { Right::Call });
            for (col, numbers) in &shown {
                self.rows.numbers[*col as usize].push(numbers[row]);
            }
            if let [bid, ask, bid_size, ask_size, volume, open_interest] = quoted.as_slice() {
                self.rows.prices.push([bid[row], ask[row]]);
                self.rows.counts.push([bid_size[row], ask_size[row], volume[row], open_interest[row]]);
            }
        }
        Ok(())
    }

    /// The snapshot at hand is whole.
    fn end(&mut self) {
        let ChainRows { at, slices, strike_milli, right, numbers, prices, counts } = std::mem::take(&mut self.rows);
        let n = strike_milli.len();
        if n == 0 {
            return;
        }
        let mut columns = Columns::missing(n);
        for (&col, numbers) in Col::ALL.iter().zip(&numbers).filter(|(_, numbers)| numbers.len() == n) {
            columns.get_mut(col).copy_from_slice(numbers);
        }
        let is_priced = columns.get(Col::Delta).iter().any(|delta| delta.is_finite());
        let quotes = (prices.len() == n).then(|| Box::new(ChainQuotes::new(prices, counts, vec![at; n])));
        let spot = slices.iter().map(|slice| slice.und_price).find(|price| price.is_finite()).unwrap_or(f64::NAN);
        let chain = Chain {
            underlying: self.underlying,
            spot,
            implied_spot: f64::NAN,
            implied_spot_error: f64::NAN,
            spot_off: false,
            doubt: None,
            firm: FirmQuotes::default(),
            uncomputed: (!is_priced).then_some(Uncomputed::NoUsableQuote),
            valued_at: at,
            preliminary: false,
            slices: slices.into_iter().collect(),
            strike_milli,
            right,
            dropped: vec![None; n],
            columns,
            quotes,
            evidence: None,
        };
        self.done.push((at, Arc::new(chain)));
    }
}
