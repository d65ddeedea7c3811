//! Our own lines: one JSON object per line (NDJSON), for programs that push quotes. docs/feeds/lines.md describes them;
//! a test reads its example.
//!
//! The fields of a line show its kind: `forget` a name, `ex_date` a dividend, `tenor_days` a rate, `price` the price of
//! an underlying, anything else a quote. A bad line costs only itself. Never: a socket, a computation.

use super::json::parse_line;
use super::text::{Dialect, dates, is_missing, side};
use super::times::{allowed, of_count, of_number, parse_count};
use core::fmt;
use jiff::{Timestamp, civil::Date};
use kernel::contract::roots::is_flex;
use kernel::contract::{ContractKey, Right, RootTable, Symbol, strike_milli};
use kernel::error::{Reason, Refused};
use kernel::limits::{self, Bound};
use kernel::records::{Activity, Batch, DividendRecord, QuoteRecord, RateRecord, SpotRecord};
use kernel::report::Report;
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Fault of a line: the field and the reason.
type LineFault = (&'static str, Reason);

/// The field of a refusal that concerns a line as a whole.
const LINE: &str = "line";

/// Reads lines piece by piece, and knows the number of each.
#[derive(Debug)]
pub struct LineParser {
    roots: RootTable,
    source: Arc<PathBuf>,
    /// Lines so far.
    line: u64,
    /// The underlying of the last root: most lines have the same.
    last: Option<(Symbol, Symbol)>,
}

/// Reads whole lines from the first one on: [`LineParser`] with the embedded root table.
#[must_use]
pub fn parse_lines(source: &Path, bytes: &[u8]) -> (Batch, Report) {
    LineParser::new(source, RootTable::embedded()).parse(bytes)
}

impl LineParser {
    /// A parser before the first line. `source` is named in refusals; `roots` gives the underlying if a quote has none.
    #[must_use]
    pub fn new(source: &Path, roots: RootTable) -> Self {
        Self { roots, source: Arc::new(source.to_path_buf()), line: 0, last: None }
    }

    /// Reads the next whole lines. The batch has dividends and rates of `bytes` alone;
    /// [`Conflated`](super::conflate::Conflated) adds up those of several calls.
    pub fn parse(&mut self, bytes: &[u8]) -> (Batch, Report) {
        let (mut batch, mut report) = (Batch::default(), Report::default());
        // the last line feed ends a line and begins none, so that places stay right over several calls
        let ended = bytes.strip_suffix(b"\n").unwrap_or(bytes);
        for line in ended.split(|&b| b == b'\n') {
            self.line += 1;
            if line.trim_ascii().is_empty() {
                continue;
            }
            report.records += 1;
            if let Err(bad) = self.take(line, &mut batch) {
                self.refuse(bad, &mut report);
            }
        }
        (batch, report)
    }

    /// Reads a row of a table as a line whose fields are `cells`, by their places in [`FIELDS`].
    pub fn row<'a>(
        &mut self,
        cells: impl Iterator<Item = (usize, LineCell<'a>)>,
        batch: &mut Batch,
        report: &mut Report,
    ) {
        self.line += 1;
        report.records += 1;
        if let Err(bad) = self.add(&Line::of_cells(cells), batch) {
            self.refuse(bad, report);
        }
    }

    /// Counts a line that is longer than its transport takes.
    pub fn refuse_long(&mut self) -> Report {
        let mut report = Report { records: 1, ..Report::default() };
        self.line += 1;
        self.refuse((LINE, Reason::TooLong), &mut report);
        report
    }

    fn refuse(&self, bad: LineFault, report: &mut Report) {
        let (field, reason) = bad;
        report.refuse(Refused { file: Arc::clone(&self.source), line: self.line, field, reason, value: String::new() });
    }

    fn take(&mut self, line: &[u8], batch: &mut Batch) -> Result<(), LineFault> {
        // serde would also take a list of values, in the order of the fields
        let is_object = line.trim_ascii_start().starts_with(b"{");
        let cured;
        let line = match is_object.then(|| parse_line::<Line<'_>>(line)).flatten() {
            None if is_object => {
                cured = without_nan(line);
                parse_line::<Line<'_>>(&cured)
            }
            parsed => parsed,
        };
        self.add(&line.ok_or((LINE, Reason::Malformed))?, batch)
    }

    /// Adds the record of a line.
    fn add(&mut self, line: &Line<'_>, batch: &mut Batch) -> Result<(), LineFault> {
        if !line.forget.is_absent() {
            let name = self.roots.canonical(line.forget.underlying("forget")?);
            batch.forget(name);
        // a line has no kind: the field that only one kind has decides, quotes last as they are the most
        } else if !line.ex_date.is_absent() {
            batch.dividends.get_or_insert_default().push(line.dividend()?);
        } else if !line.tenor_days.is_absent() {
            batch.rates.get_or_insert_default().push(line.rate()?);
        } else if !line.price.is_absent() {
            batch.spots.push(line.spot()?);
        } else {
            batch.quotes.push(self.quote(line)?);
        }
        Ok(())
    }

    fn quote(&mut self, line: &Line<'_>) -> Result<QuoteRecord, LineFault> {
        let contract = line.contract()?;
        let given = match &line.underlying {
            LineCell::Absent | LineCell::Null => None,
            cell => Some(self.roots.canonical(cell.underlying("underlying")?)),
        };
        Ok(QuoteRecord {
            ts: line.time.time("time")?,
            underlying: given.unwrap_or_else(|| self.underlying_of(contract.root)),
            contract,
            bid: line.bid.side("bid", limits::PRICE)?,
            ask: line.ask.side("ask", limits::PRICE)?,
            bid_size: line.bid_size.side_or_nan("bid_size", limits::SIZE)?,
            ask_size: line.ask_size.side_or_nan("ask_size", limits::SIZE)?,
            activity: Activity {
                volume: line.volume.side_or_nan("volume", limits::SIZE)?,
                open_interest: line.open_interest.side_or_nan("open_interest", limits::SIZE)?,
            },
        })
    }

    fn underlying_of(&mut self, root: Symbol) -> Symbol {
        match self.last {
            // lines of one root come in runs, and a run looks it up once
            Some((last, underlying)) if last == root => underlying,
            _ => {
                let underlying = self.roots.underlying_of(root);
                self.last = Some((root, underlying));
                underlying
            }
        }
    }
}

/// Replaces each NaN of a line by null. Python writes NaN into JSON, which does not allow it.
fn without_nan(line: &[u8]) -> Vec<u8> {
    let (mut out, mut rest, mut is_text) = (Vec::with_capacity(line.len()), line, false);
    while let Some((&byte, after)) = rest.split_first() {
        if !is_text && let Some(after) = rest.strip_prefix(b"NaN") {
            out.extend_from_slice(b"null");
            rest = after;
            continue;
        }
        is_text ^= byte == b'"' && !out.ends_with(b"\\");
        out.push(byte);
        rest = after;
    }
    out
}

/// The fields of all kinds of lines in one list: by name for JSON, by index for rows of tables.
macro_rules! fields {
    ($($name:ident)*) => {
        /// The fields of a line; further ones are ignored.
        #[derive(Default, serde::Deserialize)]
        #[serde(default)]
        struct Line<'a> {
            $(#[serde(borrow)] $name: LineCell<'a>,)*
        }

        /// The names of all fields.
        pub const FIELDS: &[&str] = &[$(stringify!($name),)*];

        impl<'a> Line<'a> {
            fn of_cells(cells: impl Iterator<Item = (usize, LineCell<'a>)>) -> Self {
                let mut line = Self::default();
                #[expect(non_camel_case_types, reason = "a number for each field")]
                enum Place { $($name,)* }
                for (place, cell) in cells {
                    match place {
                        $(place if place == Place::$name as usize => line.$name = cell,)*
                        _ => {}
                    }
                }
                line
            }
        }
    };
}
fields! {
    osym underlying root expiry strike right bid ask bid_size ask_size volume open_interest time symbol price ex_date
    amount status date tenor_days rate forget
}

impl Line<'_> {
    fn contract(&self) -> Result<ContractKey, LineFault> {
        let contract = if self.osym.is_absent() {
            let root = Symbol::parse_underlying(self.root.text("root")?).map(Symbol::bare);
            let strike = self.strike.number("strike", limits::PRICE)?;
            ContractKey {
                root: root.filter(|root| root.as_str().len() <= 6).ok_or(("root", Reason::NotASymbol))?,
                expiry: self.expiry.date("expiry")?,
                strike_milli: strike_milli(strike).ok_or(("strike", Reason::OutOfRange))?,
                right: self.right.right("right")?,
            }
        } else {
            let text = self.osym.text("osym")?;
            ContractKey::parse_osi(text).ok_or(("osym", Reason::NotASymbol))?
        };
        if is_flex(contract.root) { Err(("root", Reason::Flex)) } else { Ok(contract) }
    }

    fn spot(&self) -> Result<SpotRecord, LineFault> {
        Ok(SpotRecord {
            ts: self.time.time("time")?,
            underlying: self.symbol.underlying("symbol")?,
            price: self.price.number("price", limits::SPOT)?,
        })
    }

    fn dividend(&self) -> Result<DividendRecord, LineFault> {
        Ok(DividendRecord {
            underlying: self.symbol.underlying("symbol")?,
            ex_date: self.ex_date.date("ex_date")?,
            amount: self.amount.number("amount", limits::DIVIDEND)?,
            projected: self.is_projected(),
        })
    }

    /// True if the status marks the dividend as not declared. Any other status counts as declared, as in
    /// `dividends.csv`.
    fn is_projected(&self) -> bool {
        let status = self.status.text("status").unwrap_or_default();
        ["projected", "estimated"].iter().any(|word| status.eq_ignore_ascii_case(word))
    }

    fn rate(&self) -> Result<RateRecord, LineFault> {
        Ok(RateRecord {
            date: self.date.date("date")?,
            tenor_days: self.tenor_days.number("tenor_days", limits::TENOR_DAYS)?,
            rate: self.rate.number_or_null("rate", limits::RATE)?,
        })
    }
}

/// One value of a line, or of a row of a table.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum LineCell<'a> {
    /// The line has no such field.
    #[default]
    Absent,
    /// Null, or NaN of a table.
    Null,
    /// A whole number.
    Whole(i64),
    /// A number.
    Number(f64),
    /// A text.
    Text(Cow<'a, str>),
    /// A date, of tables only.
    Date(Date),
    /// An instant, of tables only.
    Time(Timestamp),
    /// A list, an object, true or false.
    Other,
}

impl LineCell<'_> {
    fn is_absent(&self) -> bool {
        matches!(self, Self::Absent)
    }

    fn text(&self, field: &'static str) -> Result<&str, LineFault> {
        match self {
            // an empty text is a missing one, with the same reason in the report
            Self::Text(text) if !text.is_empty() => Ok(text),
            Self::Absent | Self::Null | Self::Text(_) => Err((field, Reason::Missing)),
            _ => Err((field, Reason::NotAWord)),
        }
    }

    fn underlying(&self, field: &'static str) -> Result<Symbol, LineFault> {
        Symbol::parse_underlying(self.text(field)?).ok_or((field, Reason::NotASymbol))
    }

    fn date(&self, field: &'static str) -> Result<Date, LineFault> {
        match *self {
            Self::Date(date) if limits::YEAR.holds(f64::from(date.year())) => Ok(date),
            Self::Date(_) => Err((field, Reason::NotADate)),
            _ => dates::parse_date(self.text(field)?, Dialect::default()).map_err(|reason| (field, reason)),
        }
    }

    fn right(&self, field: &'static str) -> Result<Right, LineFault> {
        Right::parse(self.text(field)?).ok_or((field, Reason::NotARight))
    }

    fn number(&self, field: &'static str, bound: Bound) -> Result<f64, LineFault> {
        let x = match *self {
            Self::Number(x) => x,
            Self::Whole(x) => x as f64,
            Self::Absent | Self::Null => return Err((field, Reason::Missing)),
            _ => return Err((field, Reason::NotANumber)),
        };
        if bound.holds(x) { Ok(x) } else { Err((field, Reason::OutOfRange)) }
    }

    /// A number, or NaN for null and the words for nothing.
    fn number_or_null(&self, field: &'static str, bound: Bound) -> Result<f64, LineFault> {
        match self {
            Self::Null => Ok(f64::NAN),
            Self::Text(text) if is_missing(text) => Ok(f64::NAN),
            _ => self.number(field, bound),
        }
    }

    /// A number of a quote, or NaN where a vendor says that there is none; the field must be there, so that a misspelt
    /// one is no missing side.
    fn side(&self, field: &'static str, bound: Bound) -> Result<f64, LineFault> {
        match *self {
            Self::Whole(-1) => Ok(f64::NAN),
            Self::Number(x) if side(x).is_nan() => Ok(f64::NAN),
            _ => self.number_or_null(field, bound),
        }
    }

    /// Reads a side as [`Self::side`]; NaN if the field is absent.
    fn side_or_nan(&self, field: &'static str, bound: Bound) -> Result<f64, LineFault> {
        if self.is_absent() { Ok(f64::NAN) } else { self.side(field, bound) }
    }

    fn time(&self, field: &'static str) -> Result<Timestamp, LineFault> {
        let ts = match *self {
            Self::Text(ref text) => text.parse().ok().or_else(|| parse_count(text)),
            Self::Whole(n) => of_count(n),
            Self::Number(x) => of_number(x),
            Self::Time(ts) => Some(ts),
            Self::Date(_) | Self::Other => None,
            Self::Absent | Self::Null => return Err((field, Reason::Missing)),
        };
        ts.and_then(allowed).ok_or((field, Reason::NotATime))
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for LineCell<'a> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(CellVisitor)
    }
}

struct CellVisitor;

impl<'de> Visitor<'de> for CellVisitor {
    type Value = LineCell<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
        Ok(LineCell::Text(Cow::Borrowed(text)))
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(LineCell::Text(Cow::Owned(text.to_owned())))
    }

    fn visit_f64<E>(self, x: f64) -> Result<Self::Value, E> {
        Ok(LineCell::Number(x))
    }

    fn visit_u64<E>(self, n: u64) -> Result<Self::Value, E> {
        // beyond the range of a count it is still a number, and refused by its bound and not as damage
        Ok(i64::try_from(n).map_or(LineCell::Number(n as f64), LineCell::Whole))
    }

    fn visit_i64<E>(self, n: i64) -> Result<Self::Value, E> {
        Ok(LineCell::Whole(n))
    }

    fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> {
        Ok(LineCell::Other)
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(LineCell::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(LineCell::Other)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(LineCell::Other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::civil::date;
    use proptest::prelude::*;

    const QUOTE: &str = r#"{"osym":"SPXW  261218C05000000","bid":1200.5,"ask":1203,"time":1795207320123}"#;

    fn parse(text: &str) -> (Batch, Report) {
        parse_lines(Path::new("tcp"), text.as_bytes())
    }

    fn quote(text: &str) -> QuoteRecord {
        let (batch, report) = parse(text);
        assert_eq!((batch.quotes.len(), &report.places[..]), (1, &[][..]), "{text}");
        batch.quotes[0]
    }

    #[test]
    fn the_example_of_the_documentation_is_read() {
        let docs = include_str!("../../../docs/feeds/lines.md");
        let example = docs.split("```json lines\n").nth(1).unwrap().split("```").next().unwrap();
        let (batch, report) = parse(example);
        assert_eq!(report.places, []);
        assert_eq!(report.records, 8);
        assert_eq!((batch.quotes.len(), batch.spots.len()), (2, 2));
        assert_eq!(batch.quotes[0].contract, batch.quotes[1].contract, "two spellings of one contract");
        assert!(batch.quotes[1].bid.is_nan() && batch.quotes[0].bid > 0.0);
        let dividends = batch.dividends.unwrap();
        assert_eq!((dividends.len(), batch.rates.unwrap().len()), (2, 1));
        assert!(dividends[1].amount.abs() < f64::MIN_POSITIVE);
        assert_eq!(batch.reset, [Symbol::parse("ACME").unwrap()]);
    }

    #[test]
    fn a_quote_names_its_contract_by_symbol_or_by_parts() {
        let by_symbol = quote(QUOTE);
        assert_eq!((by_symbol.underlying.as_str(), by_symbol.contract.root.as_str()), ("SPX", "SPXW"));
        assert_eq!((by_symbol.bid, by_symbol.ask), (1200.5, 1203.0));
        assert!(by_symbol.bid_size.is_nan());
        let parts = r#"{"root":"SPXW","expiry":"2026-12-18","strike":5000,"right":"C","bid":1200.5,"ask":1203,
            "time":"2026-11-20T15:42:00.123-05:00","bid_size":3,"ask_size":0,"exchange":"X"}"#;
        let by_parts = quote(&parts.replace('\n', " "));
        assert_eq!(by_parts.contract, by_symbol.contract);
        assert_eq!(by_parts.ts, by_symbol.ts);
        assert_eq!((by_parts.bid_size, by_parts.ask_size), (3.0, 0.0));
        let named =
            quote(r#"{"osym":"FB1261218P00010000","underlying":"META","bid":null,"ask":0.05,"time":1795207320}"#);
        assert!(named.underlying.as_str() == "META" && named.bid.is_nan());
    }

    #[test]
    fn a_side_that_is_none_has_many_spellings() {
        for none in ["null", "-1", "-1.0", "NaN", "\"NaN\"", "\"N/A\"", "\"-\"", "\"--\"", "\"null\""] {
            let bare = quote(&QUOTE.replace("1200.5", none));
            assert!(bare.bid.is_nan() && (bare.ask - 1203.0).abs() < 1e-9, "{none}");
        }
        let text = QUOTE.replace("1200.5", "NaN").replace('}', r#","note":"a \" NaN","volume":NaN}"#);
        assert!(quote(&text).bid.is_nan() && quote(&text).activity.volume.is_nan());
    }

    #[test]
    fn times_are_told_apart_by_their_size() {
        let at: Timestamp = "2026-11-20T15:42:00-05:00".parse().unwrap();
        for time in ["1795207320", "1795207320000", "1795207320000000", "1795207320000000000", "1795207320.0"] {
            assert_eq!(quote(&QUOTE.replace("1795207320123", time)).ts, at, "{time}");
        }
        let fraction = quote(&QUOTE.replace("1795207320123", "1795207320.25")).ts;
        assert_eq!(fraction.duration_since(at).as_millis(), 250);
        assert_eq!(quote(&QUOTE.replace("1795207320123", "\"1795207320000\"")).ts, at, "as a text");
    }

    #[test]
    fn each_bad_line_is_refused_with_its_number_and_the_rest_counts() {
        let swap = |from: &str, to: &str| QUOTE.replace(from, to);
        let cases = [
            ("not json".to_owned(), LINE, Reason::Malformed),
            ("[1,2]".to_owned(), LINE, Reason::Malformed),
            ("{}".to_owned(), "root", Reason::Missing),
            (swap("}", ""), LINE, Reason::Malformed),
            (swap("}", ",\"bid\":1}"), LINE, Reason::Malformed),
            (swap("SPXW  26", "SPXW  2b"), "osym", Reason::NotASymbol),
            (swap("SPXW  ", "1SPX"), "root", Reason::Flex),
            (swap("1200.5", "-2"), "bid", Reason::OutOfRange),
            (swap("1200.5", "\"1\""), "bid", Reason::NotANumber),
            (swap("1200.5", "NaNo"), LINE, Reason::Malformed),
            (swap("1200.5", "true"), "bid", Reason::NotANumber),
            (swap("\"bid\"", "\"bidd\""), "bid", Reason::Missing),
            (swap("1203", "1e300"), "ask", Reason::OutOfRange),
            (swap("1795207320123", "12"), "time", Reason::NotATime),
            (swap("1795207320123", "\"2026-11-20T15:42:00\""), "time", Reason::NotATime),
            (swap("1795207320123", "18446744073709551615"), "time", Reason::NotATime),
            (swap(",\"time\":1795207320123", ""), "time", Reason::Missing),
            (r#"{"symbol":"SPY","price":0,"time":1795207320}"#.to_owned(), "price", Reason::OutOfRange),
            (r#"{"symbol":7,"price":1,"time":1795207320}"#.to_owned(), "symbol", Reason::NotAWord),
            (r#"{"symbol":"SPY","ex_date":"2026-02-30","amount":1}"#.to_owned(), "ex_date", Reason::NotADate),
            (r#"{"date":"2026-11-20","tenor_days":30,"rate":4.1}"#.to_owned(), "rate", Reason::OutOfRange),
            (r#"{"forget":"B?"}"#.to_owned(), "forget", Reason::NotASymbol),
        ];
        for (line, field, reason) in cases {
            let (batch, report) = parse(&format!("\n{QUOTE}\n{line}\r\n{QUOTE}\n"));
            assert_eq!((report.records, batch.quotes.len()), (3, 2), "{line}");
            let place = &report.places[0];
            assert_eq!((place.line, place.field, place.reason), (3, field, reason), "{line}");
            assert_eq!(report.refused_total(), 1);
        }
    }

    #[test]
    fn lines_are_numbered_across_pieces() {
        let mut parser = LineParser::new(Path::new("tcp"), RootTable::embedded());
        assert_eq!(parser.parse(format!("{QUOTE}\n{QUOTE}\n").as_bytes()).0.quotes.len(), 2);
        let long = parser.refuse_long();
        assert_eq!((long.records, long.places[0].line, long.places[0].reason), (1, 3, Reason::TooLong));
        assert_eq!(parser.parse(b"x\n").1.places[0].line, 4);
    }

    #[test]
    fn what_comes_before_a_name_is_forgotten_goes_with_it() {
        let other = QUOTE.replace("SPXW", "SPY");
        let spot = r#"{"symbol":"SPXW","price":5000,"time":1795207320}"#;
        let (batch, _) = parse(&format!("{QUOTE}\n{other}\n{spot}\n{{\"forget\":\"SPX\"}}\n{QUOTE}\n"));
        let names: Vec<&str> = batch.quotes.iter().map(|q| q.underlying.as_str()).collect();
        assert_eq!((names, batch.reset.len()), (vec!["SPY", "SPX"], 1));
        assert_eq!(batch.quotes[1].contract.expiry, date(2026, 12, 18));
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            let _ = parse_lines(Path::new("x"), &bytes);
        }

        #[test]
        fn no_damage_to_a_line_panics(at in 0usize..80, byte in any::<u8>()) {
            let mut line = QUOTE.as_bytes().to_vec();
            let i = at % line.len();
            line[i] = byte;
            for q in parse_lines(Path::new("x"), &line).0.quotes {
                prop_assert!(!(q.bid < 0.0 || q.ask < 0.0 || q.bid.is_infinite() || q.ask.is_infinite()));
            }
        }
    }
}
