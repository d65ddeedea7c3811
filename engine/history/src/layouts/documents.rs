//! Responses of vendors' HTTP interfaces saved as JSON: their rows are found and read like those of a table. Never: a
//! request, a conversion of a number.

use super::cells::{Cell, Cells};
use super::facts::Facts;
use super::header::Plan;
use super::options::ColumnMap;
use super::packed::unreadable;
use super::refusal::LayoutError;
use super::responses::{CBOE, DOCUMENTS, DocumentLayout, EXPIRY, KEY, VOLATILITY};
use super::sink::{Quotes, Sink};
use feeds::cboe::parse_cboe;
use kernel::contract::Symbol;
use kernel::error::{FeedError, Reason, Refused};
use kernel::limits;
use kernel::report::Report;
use serde_json::Value;
use std::borrow::Cow;
use std::io::Read;
use std::iter;
use std::path::Path;
use std::sync::Arc;

/// The number that Schwab writes for a missing one.
const SCHWAB_NONE: f64 = -999.0;

/// A row of a document: an object, or an index into lists of equal length.
#[derive(Clone, Copy)]
struct DocumentRow<'v> {
    of: &'v Value,
    /// Key of the outermost object on the path that has one entry per row or expiry.
    key: Option<&'v str>,
    /// Index into the lists; `None`: the row is an object of its own.
    place: Option<usize>,
}

impl<'v> DocumentRow<'v> {
    fn new(of: &'v Value) -> Self {
        Self { of, key: None, place: None }
    }

    /// The value under a name; a dot leads into an object.
    fn value(&self, name: &str) -> Option<&'v Value> {
        let found = name.split('.').try_fold(self.of, |value, key| value.get(key))?;
        self.place.map_or(Some(found), |place| found.get(place))
    }

    /// True if the row has a column, even one with null.
    fn has(&self, name: &str) -> bool {
        if matches!(name, KEY | EXPIRY) { self.key.is_some() } else { self.value(name).is_some() }
    }

    /// The columns that are lists, with their lengths, the shortest first.
    fn lengths(&self, names: &[&'static str]) -> Vec<(&'static str, usize)> {
        let length = |name: &&'static str| Some((*name, self.of.get(name)?.as_array()?.len()));
        let mut lengths: Vec<_> = names.iter().filter_map(length).collect();
        lengths.sort_by_key(|(_, length)| *length);
        lengths
    }

    /// The text of a column; `None`: the value is missing.
    fn text(&self, name: &str) -> Option<Cow<'v, str>> {
        match name {
            KEY => self.key.map(Cow::Borrowed),
            EXPIRY => self.key.and_then(|key| key.split(':').next()).map(Cow::Borrowed),
            VOLATILITY => {
                let percent = self.value("volatility")?.as_f64().filter(|percent| *percent != SCHWAB_NONE)?;
                // as many digits as were printed: a division leaves more
                let text = format!("{:.8}", percent / 100.0);
                Some(Cow::Owned(text.trim_end_matches('0').to_owned()))
            }
            _ => text_of(self.value(name)?),
        }
    }
}

/// Reads every row of a response that was `packed` bytes long before it was unpacked.
///
/// # Errors
/// The document is too large, is not JSON, has no known layout, or has columns of unequal length.
pub(super) fn read(
    file: &Path,
    from: impl Read,
    packed: u64,
    facts: &Facts<'_>,
    quotes: &mut Quotes<'_, '_>,
    report: &mut Report,
) -> Result<(), LayoutError> {
    let most = limits::grown(packed).min(limits::JSON_TREE_BYTES.most as u64);
    let too_large = || LayoutError::Unreadable(FeedError::TooLarge { file: file.to_path_buf() });
    let mut bytes = Vec::new();
    from.take(most.saturating_add(1)).read_to_end(&mut bytes).map_err(|e| unreadable(file, e.kind()))?;
    if bytes.len() as u64 > most || tree_bytes(&bytes) > limits::JSON_TREE_MEMORY.most as u64 {
        return Err(too_large());
    }
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
    let document: Value = serde_json::from_slice(bytes)
        .map_err(|error| LayoutError::NotJson { file: file.to_path_buf(), problem: error.to_string() })?;
    let first = |path| found(DocumentRow::new(&document), path).next();
    let fits = |of: &&&DocumentLayout| {
        let has = |row: DocumentRow<'_>| of.layout.columns.iter().all(|column| !column.must || row.has(column.names));
        facts.accepts(&of.layout) && first(of.rows).is_some_and(has)
    };
    let unknown = || LayoutError::UnknownDocument { file: file.to_path_buf() };
    let of = DOCUMENTS.iter().find(fits).ok_or_else(unknown)?;
    let mut shared: Vec<(&str, Cow<'_, str>)> =
        of.shared.iter().filter_map(|(name, path)| Some((*name, text_of(first(path)?.of)?))).collect();
    if of.layout.name == CBOE.layout.name {
        shared = cboe_shared(file, bytes, &document, facts);
    }
    // an optional column that the first row lacks is not in this document
    let is_in_row = |name: &str| first(of.rows).is_some_and(|row| row.text(name).is_some());
    let has = |name: &str| shared.iter().any(|(own, _)| *own == name) || is_in_row(name);
    let own = of.layout.columns.iter().filter(|column| column.must || has(column.names)).map(|column| column.names);
    let shown = of.layout.shown.iter().flatten().copied().filter(|name| !name.is_empty());
    let names: Vec<&str> = own.chain(shown).collect();
    if let Some(row) = first(of.rows).filter(|row| row.place.is_some())
        && let [short, .., long] = *row.lengths(&names)
        && short.1 != long.1
    {
        return Err(LayoutError::Uneven { file: file.to_path_buf(), columns: [short, long] });
    }
    let header: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    quotes.begin(file, Plan::of(file, &header, &[&of.layout], &ColumnMap::default(), &[])?)?;
    let place = Arc::new(file.to_path_buf());
    for (line, row) in (1..).zip(found(DocumentRow::new(&document), of.rows)) {
        let shared_or_own = |name: &&str| {
            let shared = shared.iter().find(|(own, _)| own == name).map(|(_, text)| Cow::Borrowed(&**text));
            shared.or_else(|| row.text(name))
        };
        report.records += 1;
        let cells = DocumentCells(names.iter().map(shared_or_own).collect());
        if let Err((field, reason)) = quotes.row(&cells) {
            let value = quotes.value(&cells, field);
            report.refuse(Refused { file: Arc::clone(&place), line, field, reason, value });
        }
    }
    Ok(())
}

/// The values of a row in the order of the columns.
struct DocumentCells<'v>(Vec<Option<Cow<'v, str>>>);

impl Cells for DocumentCells<'_> {
    fn cell(&self, at: usize) -> Result<Cell<'_>, Reason> {
        self.0.get(at).and_then(Option::as_deref).map_or(Ok(Cell::Empty), |text| Cell::of_text(text.as_bytes()))
    }
}

/// The text of a value; `None`: it is missing.
fn text_of(value: &Value) -> Option<Cow<'_, str>> {
    match value {
        Value::String(text) => Some(Cow::Borrowed(text)),
        Value::Number(number) if number.as_f64() != Some(SCHWAB_NONE) => Some(Cow::Owned(number.to_string())),
        _ => None,
    }
}

/// Rows at the end of a path through a document, found lazily; the items, if that is a list.
fn found<'v>(row: DocumentRow<'v>, path: &'static [&'static str]) -> Box<dyn Iterator<Item = DocumentRow<'v>> + 'v> {
    let items = move |of: &'v Value| of.as_array().into_iter().flatten().map(move |of| DocumentRow { of, ..row });
    let Some((step, rest)) = path.split_first() else {
        return if row.of.is_array() { Box::new(items(row.of)) } else { Box::new(iter::once(row)) };
    };
    if let Some(column) = step.strip_prefix('[').and_then(|step| step.strip_suffix(']')) {
        let rows = row.of.get(column).and_then(Value::as_array).map_or(0, Vec::len);
        return Box::new((0..rows).map(move |place| DocumentRow { place: Some(place), ..row }));
    }
    match *step {
        "*" => Box::new(items(row.of).flat_map(|row| found(row, rest))),
        "{}" => {
            let values = row.of.as_object().into_iter().flatten();
            let values = values.map(move |(key, of)| DocumentRow { of, key: row.key.or(Some(key)), ..row });
            Box::new(values.flat_map(|row| found(row, rest)))
        }
        keys => {
            let values = keys.split('|').filter_map(move |key| row.of.get(key));
            Box::new(values.flat_map(move |of| found(DocumentRow { of, ..row }, rest)))
        }
    }
}

/// Estimate of the memory of a document's tree: an element of a list for each value, an empty map for each object.
/// Marks inside texts count as well; they are few.
fn tree_bytes(document: &[u8]) -> u64 {
    let bytes = |byte: &u8| match byte {
        b'{' => 640,
        b',' | b'[' => 32,
        _ => 0,
    };
    document.iter().map(bytes).sum()
}

/// Name, time and price of the underlying of a response of Cboe, by the reader of the feed: its times are of several
/// clocks.
fn cboe_shared(
    file: &Path,
    bytes: &[u8],
    document: &Value,
    facts: &Facts<'_>,
) -> Vec<(&'static str, Cow<'static, str>)> {
    let name = ["/data/symbol", "/symbol"].iter().find_map(|path| document.pointer(path)?.as_str());
    let underlying = name.and_then(Symbol::parse_underlying);
    let Some(underlying) = underlying else { return Vec::new() };
    let (batch, _) = parse_cboe(file, bytes, underlying, facts.calendar());
    let time = batch.quotes.first().map(|quote| ("timestamp", quote.ts.to_string()));
    let spot = batch.spots.first().map(|spot| ("current_price", spot.price.to_string()));
    let symbol = Some(("symbol", underlying.as_str().to_owned()));
    [symbol, time, spot].into_iter().flatten().map(|(name, text)| (name, text.into())).collect()
}
