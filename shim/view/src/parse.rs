//! Parses answers of the API: CSV by the names of its header, `/health` as JSON. Missing or malformed parts become
//! missing numbers or a sentence, never a panic.

use super::column::{Column, N_COLUMNS};
use super::model::{ChainRows, DaemonFacts, ExpiryRow, Moments, NameFacts, Side, SliceKey, StrikeRow, WatchRow};
use csv::StringRecord;
use serde::Deserialize;
use std::collections::HashMap;

/// Maximum number of rows of an answer: the largest expiry has about two thousand, and a market 6,000 names.
const ROWS_MOST: usize = 20_000;
/// Tenor of the volatility of a watched name, days.
const WATCH_DAYS: f64 = 30.0;

/// A table with a header.
struct Table {
    columns: HashMap<String, usize>,
    rows: Vec<StringRecord>,
}

impl Table {
    fn read(bytes: &[u8]) -> Result<Self, String> {
        let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(bytes);
        let not_csv = |error: csv::Error| format!("the response is not CSV: {error}");
        let header = reader.headers().map_err(not_csv)?;
        let columns = header.iter().enumerate().map(|(place, name)| (name.to_owned(), place)).collect();
        let rows = reader.records().take(ROWS_MOST).collect::<Result<_, _>>().map_err(not_csv)?;
        Ok(Self { columns, rows })
    }

    /// The table, if it has these columns.
    fn with(bytes: &[u8], needed: &[&str]) -> Result<Self, String> {
        let table = Self::read(bytes)?;
        match needed.iter().find(|name| !table.columns.contains_key(**name)) {
            Some(name) => Err(format!("the response has no column {name}; is the server greeksd?")),
            None => Ok(table),
        }
    }

    fn text<'r>(&self, row: &'r StringRecord, name: &str) -> &'r str {
        self.columns.get(name).and_then(|&place| row.get(place)).unwrap_or_default()
    }

    fn number(&self, row: &StringRecord, name: &str) -> f64 {
        number(self.text(row, name))
    }
}

/// A table of an answer, read by the names of its header.
pub(crate) struct TextTable(Table);

/// One of its rows.
pub(crate) struct TextRow<'t> {
    table: &'t Table,
    row: &'t StringRecord,
}

impl TextTable {
    /// Reads a table.
    pub(crate) fn read(bytes: &[u8]) -> Result<Self, String> {
        Table::read(bytes).map(Self)
    }

    /// Reads a table that has these columns.
    pub(crate) fn with(bytes: &[u8], needed: &[&str]) -> Result<Self, String> {
        Table::with(bytes, needed).map(Self)
    }

    /// Its rows.
    pub(crate) fn rows(&self) -> Vec<TextRow<'_>> {
        self.0.rows.iter().map(|row| TextRow { table: &self.0, row }).collect()
    }
}

impl TextRow<'_> {
    /// A cell; empty where there is no such column.
    pub(crate) fn text(&self, name: &str) -> &str {
        self.table.text(self.row, name)
    }

    /// A number; NaN where there is none.
    pub(crate) fn number(&self, name: &str) -> f64 {
        self.table.number(self.row, name)
    }
}

fn number(text: &str) -> f64 {
    text.parse().ok().filter(|value: &f64| value.is_finite()).unwrap_or(f64::NAN)
}

/// One row for each (root, expiry).
pub(crate) fn expiries(bytes: &[u8]) -> Result<Vec<ExpiryRow>, String> {
    let table = Table::with(bytes, &["expiry", "root", "svc_vol", "fwd_price", "days"])?;
    let row = |row: &StringRecord| expiry(&table, row);
    Ok(table.rows.iter().map(row).collect())
}

fn expiry(table: &Table, row: &StringRecord) -> ExpiryRow {
    let (text, value) = (|name| table.text(row, name), |name| table.number(row, name));
    ExpiryRow {
        key: SliceKey { expiry: text("expiry").to_owned(), root: text("root").to_owned() },
        is_am: text("settle") == "am",
        is_american: text("ex_style") == "american",
        days: value("days"),
        fwd: value("fwd_price"),
        borrow: value("borr_rate"),
        rate: value("disc_rate"),
        divs: value("divs"),
        spot: value("und_price"),
        atm_vol: value("svc_vol"),
        prev_vol: value("prev_vol"),
    }
}

/// The contracts of a slice, by strike.
pub(crate) fn chain(bytes: &[u8], name: &str, key: &SliceKey) -> Result<ChainRows, String> {
    let table = Table::with(bytes, &["strike", "right", "osym"])?;
    let places: Vec<(Column, usize)> =
        Column::all().filter_map(|column| Some((column, *table.columns.get(column.facts().name)?))).collect();
    let mut rows: Vec<StrikeRow> = Vec::new();
    for record in &table.rows {
        let strike = table.number(record, "strike");
        if !strike.is_finite() {
            return Err(format!("the response has an invalid strike {:?}", table.text(record, "strike")));
        }
        let mut side = Side { osym: table.text(record, "osym").to_owned(), ..Side::new(String::new()) };
        for &(column, place) in &places {
            side.values[column.place()] = number(record.get(place).unwrap_or_default());
        }
        // rows come by strike, call before put
        if rows.last().is_none_or(|last| last.strike < strike) {
            rows.push(StrikeRow { strike, call: None, put: None });
        }
        if let Some(row) = rows.last_mut() {
            let slot = if table.text(record, "right") == "call" { &mut row.call } else { &mut row.put };
            *slot = Some(side);
        }
    }
    Ok(ChainRows { name: name.to_owned(), key: key.clone(), rows })
}

/// The names of `/l1/symbols`.
pub(crate) fn names(bytes: &[u8]) -> Result<Vec<NameFacts>, String> {
    let table = Table::with(bytes, &["symbol", "state", "contracts"])?;
    let name = |row: &StringRecord| {
        let text = |name| table.text(row, name).to_owned();
        let count = |name| table.text(row, name).parse().unwrap_or(0);
        NameFacts {
            symbol: text("symbol"),
            state: text("state"),
            reason: text("reason"),
            is_preliminary: table.text(row, "preliminary") == "true",
            valued_at: text("valued_at"),
            expiries: count("expiries"),
            contracts: count("contracts"),
        }
    };
    Ok(table.rows.iter().map(name).collect())
}

/// The watched names, in their order: of their expiries the one nearest to thirty days.
pub(crate) fn watch(bytes: &[u8], watched: &[String]) -> Result<Vec<WatchRow>, String> {
    let table = Table::with(bytes, &["underlying", "und_price", "svc_vol", "days"])?;
    let mut by_name: HashMap<&str, Vec<ExpiryRow>> = HashMap::new();
    for row in &table.rows {
        by_name.entry(table.text(row, "underlying")).or_default().push(expiry(&table, row));
    }
    let row = |symbol: &String| watch_row(symbol, by_name.get(symbol.as_str()).map_or(&[], Vec::as_slice));
    Ok(watched.iter().map(row).collect())
}

fn watch_row(symbol: &str, expiries: &[ExpiryRow]) -> WatchRow {
    let distance = |row: &&ExpiryRow| (row.days - WATCH_DAYS).abs();
    let month = expiries.iter().min_by(|a, b| distance(a).total_cmp(&distance(b)));
    let of = |get: fn(&ExpiryRow) -> f64| month.map_or(f64::NAN, get);
    WatchRow {
        symbol: symbol.to_owned(),
        spot: of(|row| row.spot),
        vol: of(|row| row.atm_vol),
        prev_vol: of(|row| row.prev_vol),
        moved: 0,
    }
}

/// The members of `/health` that the viewer reads.
#[derive(Deserialize)]
#[serde(default)]
struct Body {
    status: String,
    feed: String,
    simulated: bool,
    market: String,
    snapshot_time: Option<String>,
    snapshot_number: u64,
    underlyings: u64,
    pending: u64,
    contracts: u64,
    rates: Option<RatesBody>,
    dividends_unknown: NamesBody,
    doubted: Vec<DoubtedBody>,
    quotes_missed: NamesBody,
}

/// A name, and the assumption that its quotes contradict.
#[derive(Deserialize)]
struct DoubtedBody {
    underlying: String,
    doubt: String,
}

/// The discount curve, as `/health` shows it.
#[derive(Deserialize)]
struct RatesBody {
    source: String,
    as_of: Option<String>,
    warning: Option<String>,
}

/// Names that something holds of.
#[derive(Default, Deserialize)]
#[serde(default)]
struct NamesBody {
    underlyings: Vec<String>,
}

impl Default for Body {
    fn default() -> Self {
        let word = String::new;
        Self {
            status: word(),
            feed: word(),
            simulated: false,
            market: word(),
            snapshot_time: None,
            snapshot_number: 0,
            underlyings: 0,
            pending: 0,
            contracts: 0,
            rates: None,
            dividends_unknown: NamesBody::default(),
            doubted: Vec::new(),
            quotes_missed: NamesBody::default(),
        }
    }
}

/// The members of `/l1/snapshots` that the viewer reads.
#[derive(Deserialize)]
struct MomentsBody {
    snapshot_time: Option<String>,
    previous: Option<String>,
    next: Option<String>,
}

/// The snapshots around a moment.
pub(crate) fn moments(bytes: &[u8]) -> Result<Moments, String> {
    let body: MomentsBody = serde_json::from_slice(bytes)
        .map_err(|_| "the response has no snapshots; is the server greeksd?".to_owned())?;
    let time = |text: Option<String>| text.map(|text| host::printable::printable(&text));
    Ok(Moments { time: time(body.snapshot_time), previous: time(body.previous), next: time(body.next) })
}

/// The reason that a refusal gives.
pub(crate) fn reason(bytes: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    struct Refused {
        error: String,
    }
    serde_json::from_slice(bytes).ok().map(|refused: Refused| host::printable::printable(&refused.error))
}

/// Status of the daemon.
pub(crate) fn daemon(bytes: &[u8]) -> Result<DaemonFacts, String> {
    let body: Body =
        serde_json::from_slice(bytes).map_err(|_| "/health is not JSON; is the server greeksd?".to_owned())?;
    if body.status.is_empty() {
        return Err("/health has no status; is the server greeksd?".to_owned());
    }
    let (rates, rates_warning) = match body.rates {
        Some(RatesBody { source, as_of: Some(as_of), warning }) => (format!("{source} {as_of}"), warning),
        Some(RatesBody { source, as_of: None, warning }) => (source, warning),
        None => (String::new(), None),
    };
    Ok(DaemonFacts {
        status: body.status,
        feed: body.feed,
        simulated: body.simulated,
        is_open: body.market == "open",
        time: body.snapshot_time.unwrap_or_default(),
        number: body.snapshot_number,
        names: body.underlyings,
        pending: body.pending,
        contracts: body.contracts,
        rates,
        rates_warning: rates_warning.unwrap_or_default(),
        dividends_unknown: body.dividends_unknown.underlyings,
        doubted: body.doubted.into_iter().map(|name| (name.underlying, name.doubt)).collect(),
        quotes_missed: body.quotes_missed.underlyings,
    })
}

/// The numbers of one contract by name, in the order of the table: for what shows all of them.
pub(crate) fn values(bytes: &[u8]) -> Result<Vec<(String, [f64; N_COLUMNS])>, String> {
    let key = SliceKey::default();
    let rows = chain(bytes, "", &key)?.rows;
    Ok(rows.iter().flat_map(StrikeRow::sides).map(|side| (side.osym.clone(), side.values)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHAIN: &str = "strike,right,osym,delta,svc_vol\n100,call,A1,0.5,0.2\n100,put,A2,-0.5,\n105,put,A3,x,inf\n";

    #[test]
    fn calls_and_puts_of_a_strike_share_a_row_and_what_is_no_number_is_missing() {
        let key = SliceKey { expiry: "2026-12-18".to_owned(), root: "ACME".to_owned() };
        let chain = chain(CHAIN.as_bytes(), "ACME", &key).unwrap();
        assert_eq!((chain.rows.len(), chain.name.as_str(), &chain.key), (2, "ACME", &key));
        let delta = Column::named("delta").unwrap();
        let vol = Column::named("svc_vol").unwrap();
        let [first, second] = &chain.rows[..] else { panic!("{chain:?}") };
        let (call, put) = (first.call.as_ref().unwrap(), first.put.as_ref().unwrap());
        assert_eq!((call.osym.as_str(), call.get(delta), call.get(vol)), ("A1", 0.5, 0.2));
        assert!(put.get(vol).is_nan() && second.call.is_none());
        assert!(second.put.as_ref().unwrap().get(delta).is_nan() && second.put.as_ref().unwrap().get(vol).is_nan());
    }

    #[test]
    fn other_answers_are_refused_with_a_sentence() {
        let key = SliceKey::default();
        for body in ["", "<html></html>", "{\"error\":1}", "strike,right\n1,call\n"] {
            assert!(chain(body.as_bytes(), "A", &key).unwrap_err().contains("no column"), "{body}");
            assert!(expiries(body.as_bytes()).is_err() && names(body.as_bytes()).is_err(), "{body}");
        }
        assert!(chain(b"strike,right,osym\nx,call,A\n", "A", &key).unwrap_err().contains("strike \"x\""));
        assert!(chain(b"strike,right,osym\n\xff,call,A\n", "A", &key).unwrap_err().contains("not CSV"));
        for body in ["", "[]", "{}", "{\"status\":3}"] {
            assert!(daemon(body.as_bytes()).unwrap_err().contains("is the server greeksd?"), "{body}");
        }
    }

    #[test]
    fn health_and_names_are_read() {
        let body = r#"{"status":"ok","feed":"sim","simulated":true,"market":"open","snapshot_time":"t","snapshot_number":7,
            "underlyings":62,"pending":1,"contracts":40,"more":[1]}"#;
        let daemon = daemon(body.as_bytes()).unwrap();
        assert!(daemon.simulated && daemon.is_open && daemon.number == 7 && daemon.names == 62 && daemon.time == "t");
        assert_eq!((daemon.rates.as_str(), daemon.rates_warning.as_str()), ("", ""), "an older daemon does not say");
        let body = r#"{"status":"ok","rates":{"source":"built_in","as_of":"2025-12-31","nodes":[[30,0.04]],"warning":"old"},
            "dividends_unknown":{"count":1,"underlyings":["KO"]},
            "doubted_count":1,"doubted":[{"underlying":"HTB","doubt":"borrow"}],
            "quotes_missed":{"count":1,"underlyings":["OFF"]}}"#;
        let old = super::daemon(body.as_bytes()).unwrap();
        assert_eq!((old.rates.as_str(), old.rates_warning.as_str()), ("built_in 2025-12-31", "old"));
        assert_eq!(old.dividends_unknown, ["KO"]);
        assert_eq!(old.doubted, [("HTB".to_owned(), "borrow".to_owned())]);
        assert_eq!(old.quotes_missed, ["OFF"]);
        let body =
            "symbol,roots,expiries,contracts,state,reason,preliminary,valued_at\nSPX,SPX SPXW,43,7338,ok,,true,t\n";
        let name = names(body.as_bytes()).unwrap().remove(0);
        assert!(name.is_preliminary && name.contracts == 7338 && name.expiries == 43 && name.state == "ok");
    }

    #[test]
    fn a_watched_name_has_the_volatility_of_a_month() {
        let body = "underlying,root,expiry,und_price,svc_vol,prev_vol,days,fwd_price\n\
                    B,B,1,50,0.9,,0.1,50\nB,B,2,50,0.4,0.3,4,50\nB,B,3,50,0.2,0.25,28,50\nB,B,4,50,0.1,,60,50\n";
        let rows = watch(body.as_bytes(), &["A".to_owned(), "B".to_owned()]).unwrap();
        assert!(rows[0].symbol == "A" && rows[0].spot.is_nan());
        assert_eq!((rows[1].spot, rows[1].vol, rows[1].prev_vol), (50.0, 0.2, 0.25));
    }
}
