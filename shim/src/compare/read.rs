//! A vendor's file to quotes with the vendor's own numbers, by the tables of [`vendors`](super::vendors). A row that
//! cannot be used costs itself, is counted and reported with its place. Never: a name of a vendor but Cboe's, whose
//! times need its reader.

use super::vendors::{LAYOUTS, Meaning, RowsPath, VendorLayout};
use crate::config::CompareArgs;
use api::query::parse_date;
use engine::compare::{VendorNumbers, VendorRow};
use feeds::cboe::parse_cboe;
use feeds::spelling::{parse_contract, parse_root, parse_strike};
use feeds::times::{of_millis, parse_eastern, parse_rfc3339};
use flate2::read::MultiGzDecoder;
use history::row::HistoryRow;
use jiff::{SignedDuration, Timestamp};
use kernel::calendar::Calendar;
use kernel::contract::{ContractKey, Right, RootTable, Settle, Symbol};
use kernel::error::Reason;
use kernel::limits::{self, Bound};
use kernel::records::QuoteRecord;
use serde_json::Value;
use std::borrow::Cow;
use std::collections::HashMap;
use std::io::Read;
use std::path::Path;

/// Maximum number of refused rows whose places are kept.
const PLACES_KEPT: usize = 20;
/// A vendor's number is below this, whatever it means.
const NUMBER: Bound = Bound { name: "Greek", unit: "the vendor's", least: -1e12, most: 1e12 };
/// Maximum number of decimals that are distinguished.
const DIGITS_MOST: usize = 12;

/// A quote with the volatility and Greeks of the vendor.
#[derive(Clone, Copy, Debug)]
pub(super) struct VendorQuote {
    pub(super) row: HistoryRow,
    pub(super) sigma: f64,
    pub(super) greeks: VendorNumbers,
}

/// Contents of a file.
#[derive(Debug)]
pub(super) struct VendorFile {
    pub(super) layout: &'static str,
    pub(super) quotes: Vec<VendorQuote>,
    /// The last printed place of each number.
    pub(super) digits: VendorRow,
    pub(super) refused: u64,
    pub(super) places: Vec<String>,
}

/// Fault of a row: the column and the reason.
type Fault = (&'static str, Reason);

/// The values of a row by the names of columns.
trait Cells {
    fn text(&self, name: &str) -> Option<Cow<'_, str>>;
}

struct TextCells<'a> {
    places: &'a HashMap<String, usize>,
    record: &'a csv::StringRecord,
}

impl Cells for TextCells<'_> {
    fn text(&self, name: &str) -> Option<Cow<'_, str>> {
        let text = self.record.get(*self.places.get(&name.to_ascii_lowercase())?)?.trim();
        (!text.is_empty()).then_some(Cow::Borrowed(text))
    }
}

struct JsonCells<'a>(&'a Value);

impl Cells for JsonCells<'_> {
    fn text(&self, name: &str) -> Option<Cow<'_, str>> {
        match name.split('.').try_fold(self.0, |value, key| value.get(key))? {
            Value::String(text) => Some(Cow::Borrowed(text.as_str())),
            Value::Number(number) => Some(Cow::Owned(number.to_string())),
            _ => None,
        }
    }
}

/// Reads a file or an answer.
///
/// # Errors
/// It is too large once decompressed, or in no known layout.
pub(super) fn read(source: &str, bytes: Vec<u8>, args: &CompareArgs) -> Result<VendorFile, String> {
    let bytes = unpacked(source, bytes)?;
    let first = bytes.iter().find(|byte| !byte.is_ascii_whitespace()).copied();
    if matches!(first, Some(b'{' | b'[')) {
        if !limits::JSON_TREE_BYTES.holds(bytes.len() as f64) {
            return Err(format!("{source}: too large for JSON; save it as CSV"));
        }
        let document: Value = serde_json::from_slice(&bytes).map_err(|error| format!("{source}: {error}"))?;
        return read_json(source, &bytes, &document, args);
    }
    read_text(source, &bytes, args)
}

fn unpacked(source: &str, bytes: Vec<u8>) -> Result<Vec<u8>, String> {
    if !bytes.starts_with(&[0x1f, 0x8b]) {
        return Ok(bytes);
    }
    // a higher compression ratio is no file of a vendor
    let grown = (bytes.len() as f64).mul_add(limits::GZIP_RATIO.most, 1_048_576.0);
    let most = grown.min(limits::DOCUMENT_BYTES.most) as u64;
    let mut plain = Vec::new();
    let read = MultiGzDecoder::new(bytes.as_slice()).take(most + 1).read_to_end(&mut plain);
    read.map_err(|error| format!("{source}: {error}"))?;
    if plain.len() as u64 > most { Err(format!("{source}: too large")) } else { Ok(plain) }
}

/// True for an instant of a year that records may be of.
fn is_of_a_market(at: &Timestamp) -> bool {
    limits::YEAR.holds(f64::from(at.to_zoned(jiff::tz::TimeZone::UTC).year()))
}

fn unknown(source: &str, what: &str) -> String {
    let names: Vec<&str> = LAYOUTS.iter().map(|layout| layout.name).collect();
    format!(
        "{source}: {what} in no known layout ({}); docs/compare.md lists the columns of each layout",
        names.join(", ")
    )
}

fn read_text(source: &str, bytes: &[u8], args: &CompareArgs) -> Result<VendorFile, String> {
    let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(bytes);
    let header = reader.headers().map_err(|error| format!("{source}: {error}"))?;
    let places: HashMap<String, usize> =
        header.iter().enumerate().map(|(i, name)| (name.trim().to_ascii_lowercase(), i)).collect();
    let has = |name: &str| places.contains_key(&name.to_ascii_lowercase());
    let fits = |layout: &&&VendorLayout| {
        matches!(layout.place, RowsPath::Text)
            && is_wanted(layout, args)
            && layout.columns.iter().all(|(n, m)| m.is_optional() || has(n))
    };
    let layout = LAYOUTS.iter().find(fits).ok_or_else(|| unknown(source, "a header"))?;
    let mut intake = Intake::new(source, layout, args, None);
    for (i, record) in reader.into_records().enumerate() {
        match record {
            Ok(record) => intake.take(i + 2, &TextCells { places: &places, record: &record }),
            Err(_) => intake.refuse(i + 2, ("row", Reason::NotUtf8)),
        }
    }
    Ok(intake.finish())
}

fn read_json(source: &str, bytes: &[u8], document: &Value, args: &CompareArgs) -> Result<VendorFile, String> {
    let rows_of = |layout: &VendorLayout| match layout.place {
        RowsPath::Json(path) => found(document, path),
        RowsPath::Text => Vec::new(),
    };
    let fits = |layout: &&&VendorLayout| {
        let has = |row: &&Value| {
            layout.columns.iter().all(|(name, of)| {
                of.is_optional()
                    || of.greek().is_some()
                    || *of == Meaning::Vol
                    || JsonCells(row).text(name).is_some()
                    || row.get(*name).is_some()
            })
        };
        is_wanted(layout, args) && rows_of(layout).first().is_some_and(has)
    };
    let layout = LAYOUTS.iter().find(fits).ok_or_else(|| unknown(source, "a document"))?;
    let mut shared = DocumentFacts::default();
    if layout.name == "cboe" {
        shared = cboe_shared(source, bytes, document);
    }
    for (path, meaning) in layout.shared {
        let number = found(document, path).first().and_then(|value| value.as_f64()).unwrap_or(f64::NAN);
        match meaning {
            Meaning::Spot if limits::SPOT.holds(number) => shared.spot = number,
            Meaning::Seconds => shared.time = of_millis((number * 1e3) as i64),
            _ => {}
        }
    }
    let mut intake = Intake::new(source, layout, args, Some(shared));
    for (i, row) in rows_of(layout).into_iter().enumerate() {
        intake.take(i + 1, &JsonCells(row));
    }
    Ok(intake.finish())
}

fn is_wanted(layout: &VendorLayout, args: &CompareArgs) -> bool {
    args.layout.as_deref().is_none_or(|name| name == layout.name)
}

/// Values at the end of a path through a document; of a list, its items.
fn found<'v>(document: &'v Value, path: &[&str]) -> Vec<&'v Value> {
    let mut at = vec![document];
    for step in path {
        at = at
            .into_iter()
            .flat_map(|value| match *step {
                "*" => value.as_array().into_iter().flatten().collect::<Vec<_>>(),
                keys => keys.split('|').filter_map(|key| value.get(key)).collect(),
            })
            .collect();
    }
    at.into_iter()
        .flat_map(|value| value.as_array().map_or_else(|| vec![value], |items| items.iter().collect()))
        .collect()
}

/// Values common to all rows of a document.
#[derive(Clone, Copy, Debug)]
struct DocumentFacts {
    spot: f64,
    time: Option<Timestamp>,
    underlying: Option<Symbol>,
}

impl Default for DocumentFacts {
    fn default() -> Self {
        Self { spot: f64::NAN, time: None, underlying: None }
    }
}

/// Time of a document of Cboe, by the reader of the feed.
fn cboe_shared(source: &str, bytes: &[u8], document: &Value) -> DocumentFacts {
    let name = ["/data/symbol", "/symbol"].iter().find_map(|path| document.pointer(path)?.as_str());
    let underlying = name.and_then(|name| Symbol::parse_underlying(name.trim_start_matches(['_', '^'])));
    let Some(underlying) = underlying else { return DocumentFacts::default() };
    let (batch, _) = parse_cboe(Path::new(source), bytes, underlying, &Calendar::embedded());
    let spot = batch.spots.first().map_or(f64::NAN, |spot| spot.price);
    DocumentFacts { spot, time: batch.quotes.first().map(|quote| quote.ts), underlying: Some(underlying) }
}

/// Rows in the making.
struct Intake<'a> {
    source: &'a str,
    layout: &'static VendorLayout,
    args: &'a CompareArgs,
    shared: DocumentFacts,
    calendar: Calendar,
    roots: RootTable,
    /// Digits behind the point: of the volatility, and of each Greek.
    decimals: [Option<usize>; 6],
    file: VendorFile,
}

impl<'a> Intake<'a> {
    fn new(
        source: &'a str,
        layout: &'static VendorLayout,
        args: &'a CompareArgs,
        shared: Option<DocumentFacts>,
    ) -> Self {
        let digits = VendorRow { row: 0, sigma: 0.0, greeks: [0.0; 5] };
        let file = VendorFile { layout: layout.name, quotes: Vec::new(), digits, refused: 0, places: Vec::new() };
        Self {
            source,
            layout,
            args,
            shared: shared.unwrap_or_default(),
            calendar: Calendar::embedded(),
            roots: RootTable::embedded(),
            decimals: [None; 6],
            file,
        }
    }

    fn refuse(&mut self, row: usize, fault: Fault) {
        let (column, reason) = fault;
        self.file.refused += 1;
        if self.file.places.len() < PLACES_KEPT {
            self.file.places.push(format!("{}:{row}: {column}: {}", self.source, reason.name()));
        }
    }

    fn take(&mut self, row: usize, cells: &dyn Cells) {
        if self.file.quotes.len() as f64 >= limits::INSTRUMENTS.most {
            return self.refuse(row, ("row", Reason::OutOfRange));
        }
        match self.quotes(cells) {
            Ok(quotes) => {
                self.note_digits(cells);
                self.file.quotes.extend(quotes);
            }
            Err(fault) => self.refuse(row, fault),
        }
    }

    fn finish(mut self) -> VendorFile {
        let step = |decimals: Option<usize>| decimals.map_or(0.0, |n| 0.1_f64.powi(n as i32));
        self.file.digits.sigma = step(self.decimals[0]);
        self.file.digits.greeks = core::array::from_fn(|place| step(self.decimals[place + 1]));
        self.file
    }

    /// How many digits the vendor prints.
    fn note_digits(&mut self, cells: &dyn Cells) {
        for (name, meaning) in self.layout.columns {
            let place = match (meaning, meaning.greek()) {
                (Meaning::Vol | Meaning::CallVol, _) => 0,
                (_, Some(greek)) => greek + 1,
                _ => continue,
            };
            let text = cells.text(name).unwrap_or_default();
            let behind =
                text.split_once('.').map_or(0, |(_, rest)| rest.bytes().take_while(u8::is_ascii_digit).count());
            // a number in powers of ten has as many as it has
            let n = if text.contains(['e', 'E']) { DIGITS_MOST } else { behind.min(DIGITS_MOST) };
            self.decimals[place] = Some(self.decimals[place].map_or(n, |most| most.max(n)));
        }
    }

    fn column(&self, wanted: Meaning) -> Option<&'static str> {
        self.layout.columns.iter().find(|(_, meaning)| *meaning == wanted).map(|(name, _)| *name)
    }

    fn text<'c>(&self, cells: &'c dyn Cells, wanted: Meaning) -> Option<(&'static str, Cow<'c, str>)> {
        let name = self.column(wanted)?;
        Some((name, cells.text(name)?))
    }

    /// A number; NaN: the row has none.
    fn number(&self, cells: &dyn Cells, wanted: Meaning, bound: Bound) -> Result<f64, Fault> {
        let Some((name, text)) = self.text(cells, wanted) else { return Ok(f64::NAN) };
        if matches!(&*text, "-" | "null" | "NaN" | "nan" | "N/A") {
            return Ok(f64::NAN);
        }
        let number: f64 = text.parse().map_err(|_| (name, Reason::NotANumber))?;
        bound.admit(number).map_err(|reason| (name, reason))
    }

    fn quotes(&self, cells: &dyn Cells) -> Result<Vec<VendorQuote>, Fault> {
        let ts = self.time(cells)?;
        let own = self.number(cells, Meaning::Spot, limits::SPOT)?;
        let spot = [self.args.spot.unwrap_or(f64::NAN), own, self.shared.spot].into_iter().find(|s| !s.is_nan());
        let spot = spot.unwrap_or(f64::NAN);
        let mut greeks = [f64::NAN; 5];
        for (_, meaning) in self.layout.columns {
            if let Some(place) = meaning.greek() {
                greeks[place] = self.number(cells, *meaning, NUMBER)?;
            }
        }
        let price = |meaning| self.number(cells, meaning, limits::PRICE);
        let size = |meaning| self.number(cells, meaning, limits::SIZE);
        if self.column(Meaning::CallBid).is_none() {
            let (underlying, contract) = self.contract(cells)?;
            let (bid, ask) = (price(Meaning::Bid)?, price(Meaning::Ask)?);
            let (bid_size, ask_size) = (size(Meaning::BidSize)?, size(Meaning::AskSize)?);
            let quote = QuoteRecord { ts, underlying, contract, bid, ask, bid_size, ask_size };
            let sigma = self.number(cells, Meaning::Vol, NUMBER)?;
            return Ok(vec![VendorQuote { row: HistoryRow { quote, spot }, sigma, greeks }]);
        }
        // call and put in one row: the Greeks are the call's
        let (underlying, call) = self.pair(cells)?;
        let sigma = self.number(cells, Meaning::CallVol, NUMBER)?;
        let sides = [
            (Right::Call, Meaning::CallBid, Meaning::CallAsk, sigma, greeks),
            (Right::Put, Meaning::PutBid, Meaning::PutAsk, f64::NAN, [f64::NAN; 5]),
        ];
        let of = |(right, bid, ask, sigma, greeks)| {
            let contract = ContractKey { right, ..call };
            let (bid, ask) = (price(bid)?, price(ask)?);
            let quote = QuoteRecord { ts, underlying, contract, bid, ask, bid_size: f64::NAN, ask_size: f64::NAN };
            Ok(VendorQuote { row: HistoryRow { quote, spot }, sigma, greeks })
        };
        sides.into_iter().map(of).collect()
    }

    /// The contract of a row, by its symbol or by its parts.
    fn contract(&self, cells: &dyn Cells) -> Result<(Symbol, ContractKey), Fault> {
        if let Some(name) = self.column(Meaning::Osi) {
            let text = cells.text(name).ok_or((name, Reason::Missing))?;
            let contract = parse_contract(&text).map_err(|reason| (name, reason))?;
            return Ok((self.underlying(cells)?.unwrap_or_else(|| self.roots.underlying_of(contract.root)), contract));
        }
        let (underlying, contract) = self.pair(cells)?;
        let (name, text) = self.text(cells, Meaning::Right).ok_or(("right", Reason::Missing))?;
        let right = match text.to_ascii_lowercase().as_str() {
            "c" | "call" => Right::Call,
            "p" | "put" => Right::Put,
            _ => return Err((name, Reason::NotARight)),
        };
        Ok((underlying, ContractKey { right, ..contract }))
    }

    fn underlying(&self, cells: &dyn Cells) -> Result<Option<Symbol>, Fault> {
        if self.shared.underlying.is_some() {
            return Ok(self.shared.underlying);
        }
        let Some((name, text)) = self.text(cells, Meaning::Underlying) else { return Ok(None) };
        let symbol = Symbol::parse_underlying(text.trim_start_matches(['^', '$', '_']));
        symbol.map(Some).ok_or((name, Reason::NotASymbol))
    }

    /// Root, expiry and strike of a row.
    fn pair(&self, cells: &dyn Cells) -> Result<(Symbol, ContractKey), Fault> {
        let underlying = self.underlying(cells)?;
        let root = match (self.text(cells, Meaning::Root), underlying) {
            (Some((name, text)), _) => parse_root(&text).map_err(|reason| (name, reason))?,
            (None, Some(underlying)) => underlying.bare(),
            (None, None) => return Err(("root", Reason::Missing)),
        };
        let (name, text) = self.text(cells, Meaning::Expiry).ok_or(("expiry", Reason::Missing))?;
        let expiry = parse_date(&text).ok_or((name, Reason::NotADate))?;
        let strike = match self.column(Meaning::StrikeMilli) {
            Some(_) => self.number(cells, Meaning::StrikeMilli, limits::STRIKE_MILLI)? / 1000.0,
            None => self.number(cells, Meaning::Strike, limits::PRICE)?,
        };
        let strike_milli = parse_strike(strike).map_err(|reason| ("strike", reason))?;
        let underlying = underlying.unwrap_or_else(|| self.roots.underlying_of(root));
        Ok((underlying, ContractKey { root, expiry, strike_milli, right: Right::Call }))
    }

    /// Time of a row: the given one, its own, or that of its document.
    fn time(&self, cells: &dyn Cells) -> Result<Timestamp, Fault> {
        if let Some(at) = self.args.time {
            return Ok(at);
        }
        if let Some((name, text)) = self.text(cells, Meaning::Time) {
            let at = parse_rfc3339(&text).or_else(|| parse_eastern(&text, &self.calendar));
            return at.filter(is_of_a_market).ok_or((name, Reason::NotATime));
        }
        if let Some((name, text)) = self.text(cells, Meaning::Millis) {
            let at = text.parse().ok().and_then(of_millis);
            return at.filter(is_of_a_market).ok_or((name, Reason::NotATime));
        }
        if let Some((name, text)) = self.text(cells, Meaning::Day) {
            let day = parse_date(&text).filter(|day| limits::YEAR.holds(f64::from(day.year())));
            let day = day.ok_or((name, Reason::NotADate))?;
            let of_day = self.number(cells, Meaning::DayMillis, Bound { most: 86_400_000.0, ..limits::PRICE })?;
            if of_day >= 0.0 {
                let midnight = self.calendar.instant(day.to_datetime(jiff::civil::Time::midnight()));
                let at = midnight.checked_add(SignedDuration::from_millis(of_day as i64));
                return at.map_err(|_| (name, Reason::NotATime));
            }
            let close = self.calendar.settlement(day, Settle::Pm);
            let before = SignedDuration::from_mins(self.layout.before_close);
            return close.checked_sub(before).map_err(|_| (name, Reason::NotATime));
        }
        self.shared.time.ok_or(("time", Reason::Missing))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use std::io::Write;

    #[test]
    fn what_is_packed_too_far_is_not_unpacked() {
        let packed = |megabytes: usize| {
            let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
            (0..megabytes).for_each(|_| encoder.write_all(&vec![b' '; 1 << 20]).unwrap());
            encoder.finish().unwrap()
        };
        assert_eq!(unpacked("x", packed(1)).unwrap().len(), 1 << 20);
        // 64 kilobytes that become 64 megabytes
        assert!(packed(64).len() < 70_000);
        assert_eq!(unpacked("x", packed(64)).unwrap_err(), "x: too large");
    }
}
