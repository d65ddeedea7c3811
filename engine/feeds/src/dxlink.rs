//! dxLink, dxFeed's protocol over WebSocket: messages in both directions, and the records of its events. Texts to
//! records. Never: a socket, a clock.
//!
//! Events come in the compact form: the values of the fields that `FEED_CONFIG` lists, one event after the other.

use super::intake::{PriceFrom, price_of};
use super::json::{self, Cell, Given, Listed, Text, Words, objects};
use super::tasty::StreamedContract;
use super::times::of_millis;
use jiff::Timestamp;
use kernel::contract::Symbol;
use kernel::error::{Instead, Reason, Refused};
use kernel::limits::{self, Bound};
use kernel::records::{Activity, Batch, QuoteRecord, SpotRecord};
use kernel::report::Report;
use std::collections::HashMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Seconds without a message after which either side closes the connection.
pub const KEEPALIVE_S: u64 = 60;
/// Symbols of one message: about 100 kB.
const SYMBOLS_EACH: usize = 1000;
/// Channel of the events; 0 is the connection itself.
const CHANNEL: u32 = 1;
/// Fields of the events that are asked for, in the order in which they come unless the server says otherwise.
const QUOTE: [&str; 7] = ["eventSymbol", "bidTime", "askTime", "bidPrice", "askPrice", "bidSize", "askSize"];
const TRADE: [&str; 4] = ["eventSymbol", "time", "price", "dayVolume"];
const SUMMARY: [&str; 2] = ["eventSymbol", "openInterest"];

objects! {
    struct DxMessage {
        kind: Text<'a> = "type",
        state: Text<'a> = "state",
        error: Text<'a> = "error",
        format: Text<'a> = "dataFormat",
        fields: DxFields<'a> = "eventFields",
        data: Given<Listed<Cell<'a>>> = "data",
    }
    struct DxFields {
        quote: Words<'a> = "Quote",
        trade: Words<'a> = "Trade",
        summary: Words<'a> = "Summary",
    }
}

/// A message of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DxEvent {
    /// The token is accepted, or none is needed.
    Authorized,
    /// A token is needed; after one was sent: it is refused.
    Unauthorized,
    /// The channel is open.
    Opened,
    /// The server closes the channel.
    Closed,
    /// The server ends the session, and why.
    Error(Instead),
    /// Events were taken in, or nothing needs to be done.
    Taken,
}

/// First message: protocol, and the time after which either side closes.
#[must_use]
pub fn setup() -> String {
    format!(
        "{{\"type\":\"SETUP\",\"channel\":0,\"version\":\"0.1-greeksd/{}\",\"keepaliveTimeout\":{KEEPALIVE_S},\
         \"acceptKeepaliveTimeout\":{KEEPALIVE_S}}}",
        env!("CARGO_PKG_VERSION")
    )
}

/// Signs in with a token that can stand within quotation marks as it is.
#[must_use]
pub fn auth(token: &str) -> String {
    format!("{{\"type\":\"AUTH\",\"channel\":0,\"token\":\"{token}\"}}")
}

/// Asks for a channel of events.
#[must_use]
pub fn channel_request() -> String {
    format!(
        "{{\"type\":\"CHANNEL_REQUEST\",\"channel\":{CHANNEL},\"service\":\"FEED\",\"parameters\":{{\"contract\":\"AUTO\"}}}}"
    )
}

/// Asks for the compact form, some fields, and at most one event of a symbol each second.
#[must_use]
pub fn feed_setup() -> String {
    let list = |fields: &[&str]| format!("[\"{}\"]", fields.join("\",\""));
    format!(
        "{{\"type\":\"FEED_SETUP\",\"channel\":{CHANNEL},\"acceptAggregationPeriod\":1,\"acceptDataFormat\":\"COMPACT\",\
         \"acceptEventFields\":{{\"Quote\":{},\"Trade\":{},\"Summary\":{}}}}}",
        list(&QUOTE),
        list(&TRADE),
        list(&SUMMARY)
    )
}

/// Says that the client is there.
#[must_use]
pub fn keepalive() -> &'static str {
    "{\"type\":\"KEEPALIVE\",\"channel\":0}"
}

/// The last state of a contract.
#[derive(Clone, Copy, Debug)]
struct Streamed {
    record: QuoteRecord,
    /// True if a quote came: without one there is no record.
    is_quoted: bool,
    is_new: bool,
}

/// The last state of an underlying.
#[derive(Clone, Copy, Debug)]
struct Priced {
    name: Symbol,
    bid: f64,
    ask: f64,
    trade: f64,
    quoted: Option<Timestamp>,
    traded: Option<Timestamp>,
    is_new: bool,
}

/// Place of a symbol.
#[derive(Clone, Copy, Debug)]
enum Place {
    Contract(usize),
    Name(usize),
}

/// Positions of the fields of each kind of event, and how many it has.
#[derive(Clone, Debug)]
struct Layout {
    width: usize,
    places: Vec<Option<usize>>,
}

impl Layout {
    fn of<'b>(wanted: &[&str], fields: impl Iterator<Item = &'b str> + Clone) -> Self {
        let places = wanted.iter().map(|name| fields.clone().position(|field| field == *name)).collect();
        Self { width: fields.count(), places }
    }
}

/// Symbols of a session, the last event of each, and what is new among them.
#[derive(Debug)]
pub struct DxEvents {
    source: Arc<PathBuf>,
    places: HashMap<String, Place>,
    contracts: Vec<Streamed>,
    names: Vec<Priced>,
    /// Contracts and names with something new.
    fresh: Vec<Place>,
    report: Report,
    quote: Layout,
    trade: Layout,
    summary: Layout,
}

impl DxEvents {
    /// No symbols yet.
    #[must_use]
    pub fn new(source: &Path) -> Self {
        let layout = |fields: &[&str]| Layout::of(fields, fields.iter().copied());
        Self {
            source: Arc::new(source.to_path_buf()),
            places: HashMap::new(),
            contracts: Vec::new(),
            names: Vec::new(),
            fresh: Vec::new(),
            report: Report::default(),
            quote: layout(&QUOTE),
            trade: layout(&TRADE),
            summary: layout(&SUMMARY),
        }
    }

    /// Adds a name and its contracts; returns the messages that subscribe to what was not there. More than
    /// [`limits::SWEEP_RECORDS`] symbols are not added.
    pub fn add(&mut self, name: Symbol, spelt: &str, contracts: Vec<StreamedContract>) -> Vec<String> {
        let (none, mut new) = (f64::NAN, Vec::new());
        if !self.places.contains_key(spelt) {
            let priced = Priced { name, bid: none, ask: none, trade: none, quoted: None, traded: None, is_new: false };
            self.places.insert(spelt.to_owned(), Place::Name(self.names.len()));
            self.names.push(priced);
            new.extend([("Quote", spelt.to_owned()), ("Trade", spelt.to_owned())]);
        }
        for StreamedContract { symbol, contract } in contracts {
            if self.places.contains_key(&symbol) || !limits::SWEEP_RECORDS.holds(self.places.len() as f64) {
                continue;
            }
            let record = QuoteRecord {
                ts: Timestamp::UNIX_EPOCH,
                underlying: name,
                contract,
                bid: none,
                ask: none,
                bid_size: none,
                ask_size: none,
                activity: Activity::default(),
            };
            self.places.insert(symbol.clone(), Place::Contract(self.contracts.len()));
            self.contracts.push(Streamed { record, is_quoted: false, is_new: false });
            new.extend(["Quote", "Trade", "Summary"].map(|kind| (kind, symbol.clone())));
        }
        new.chunks(SYMBOLS_EACH).map(subscription).collect()
    }

    /// Reads a message of the server, received at `now`.
    ///
    /// # Errors
    /// The text is no dxLink message, or its events are not in the compact form.
    pub fn take_in(&mut self, text: &str, now: Timestamp) -> Result<DxEvent, Instead> {
        let message = json::parse_line::<DxMessage<'_>>(text.as_bytes()).ok_or(Instead::OtherFormat)?;
        let word = |text: &'_ Text<'_>| text.get(Reason::NotAWord).unwrap_or_default().to_owned();
        Ok(match (word(&message.kind).as_str(), word(&message.state).as_str()) {
            ("AUTH_STATE", "AUTHORIZED") => DxEvent::Authorized,
            ("AUTH_STATE", _) => DxEvent::Unauthorized,
            ("CHANNEL_OPENED", _) => DxEvent::Opened,
            ("CHANNEL_CLOSED", _) => DxEvent::Closed,
            ("ERROR", _) => DxEvent::Error(match word(&message.error).as_str() {
                "UNAUTHORIZED" => Instead::NotPermitted,
                "TIMEOUT" => Instead::NotReady,
                _ => Instead::WrongQuestion,
            }),
            ("FEED_CONFIG", _) => {
                // the full form is another document
                if message.format.is_some() && word(&message.format) != "COMPACT" {
                    return Err(Instead::OtherFormat);
                }
                self.configure(&message.fields);
                DxEvent::Taken
            }
            ("FEED_DATA", _) => {
                self.events(message.data.0.ok_or(Instead::OtherFormat)?.items, now)?;
                DxEvent::Taken
            }
            ("", _) => return Err(Instead::OtherFormat),
            _ => DxEvent::Taken,
        })
    }

    /// The records that are new since the last call.
    pub fn take(&mut self) -> (Batch, Report) {
        let mut batch = Batch::default();
        for place in self.fresh.drain(..) {
            match place {
                Place::Contract(i) => {
                    if let Some(streamed) = self.contracts.get_mut(i) {
                        streamed.is_new = false;
                        batch.quotes.push(streamed.record);
                    }
                }
                Place::Name(i) => {
                    if let Some(priced) = self.names.get_mut(i) {
                        priced.is_new = false;
                        batch.spots.extend(priced.spot());
                    }
                }
            }
        }
        (batch, std::mem::take(&mut self.report))
    }

    fn configure(&mut self, fields: &DxFields<'_>) {
        let layout = |wanted: &[&str], words: &Words<'_>, before: &mut Layout| {
            if !words.0.items.is_empty() {
                let names = words.0.items.iter().map(|word| word.get(Reason::NotAWord).unwrap_or_default());
                *before = Layout::of(wanted, names);
            }
        };
        layout(&QUOTE, &fields.quote, &mut self.quote);
        layout(&TRADE, &fields.trade, &mut self.trade);
        layout(&SUMMARY, &fields.summary, &mut self.summary);
    }

    /// Takes in events: the kind and the list of values, by turns.
    fn events(&mut self, cells: Vec<Cell<'_>>, now: Timestamp) -> Result<(), Instead> {
        let mut cells = cells.into_iter();
        while let (Some(Cell::Text(kind)), Some(Cell::List(values))) = (cells.next(), cells.next()) {
            let layout = match kind.as_ref() {
                "Quote" => self.quote.clone(),
                "Trade" => self.trade.clone(),
                "Summary" => self.summary.clone(),
                _ => continue,
            };
            if layout.width == 0 || values.len().checked_rem(layout.width) != Some(0) {
                return Err(Instead::OtherFormat);
            }
            for event in values.chunks_exact(layout.width) {
                self.report.records += 1;
                if let Err((field, reason)) = self.event(&kind, &layout, event, now) {
                    let (file, value) = (Arc::clone(&self.source), String::new());
                    self.report.refuse(Refused { file, line: self.report.records, field, reason, value });
                }
            }
        }
        Ok(())
    }

    /// Takes in one event.
    fn event(
        &mut self,
        kind: &str,
        layout: &Layout,
        event: &[Cell<'_>],
        now: Timestamp,
    ) -> Result<(), (&'static str, Reason)> {
        let cell = |i: usize| layout.places.get(i).copied().flatten().and_then(|place| event.get(place));
        let number = |i: usize, bound: Bound| -> Result<f64, Reason> {
            match cell(i) {
                Some(Cell::Number(x)) => bound.admit(*x),
                Some(Cell::Text(text)) if matches!(text.as_ref(), "NaN" | "Infinity" | "-Infinity") => Ok(f64::NAN),
                None => Ok(f64::NAN),
                _ => Err(Reason::NotANumber),
            }
        };
        let time = |i: usize| match cell(i) {
            Some(Cell::Number(x)) if *x > 0.0 => of_millis(*x as i64),
            _ => None,
        };
        let Some(Cell::Text(symbol)) = cell(0) else { return Err(("eventSymbol", Reason::Missing)) };
        // the vendor may send symbols that were not asked for
        let place = *self.places.get(symbol.as_ref()).ok_or(("eventSymbol", Reason::NotASymbol))?;
        let price = |i: usize, field: &'static str| number(i, limits::PRICE).map_err(|reason| (field, reason));
        let size = |i: usize, field: &'static str| number(i, limits::SIZE).map_err(|reason| (field, reason));
        match (place, kind) {
            (Place::Contract(i), _) => {
                let Some(streamed) = self.contracts.get_mut(i) else { return Ok(()) };
                let record = &mut streamed.record;
                match kind {
                    "Quote" => {
                        let prices = (price(3, "bidPrice")?, price(4, "askPrice")?);
                        (record.bid_size, record.ask_size) = (size(5, "bidSize")?, size(6, "askSize")?);
                        (record.bid, record.ask) = prices;
                        record.ts = time(1).max(time(2)).unwrap_or(now);
                        streamed.is_quoted = true;
                    }
                    "Trade" => record.activity.volume = size(3, "dayVolume")?,
                    _ => record.activity.open_interest = size(1, "openInterest")?,
                }
                if streamed.is_quoted && !std::mem::replace(&mut streamed.is_new, true) {
                    self.fresh.push(place);
                }
            }
            (Place::Name(i), _) => {
                let Some(priced) = self.names.get_mut(i) else { return Ok(()) };
                if kind == "Quote" {
                    (priced.bid, priced.ask) = (price(3, "bidPrice")?, price(4, "askPrice")?);
                    priced.quoted = Some(time(1).max(time(2)).unwrap_or(now));
                } else {
                    priced.trade = price(2, "price")?;
                    priced.traded = Some(time(1).unwrap_or(now));
                }
                if !std::mem::replace(&mut priced.is_new, true) {
                    self.fresh.push(place);
                }
            }
        }
        Ok(())
    }
}

impl Priced {
    fn spot(&self) -> Option<SpotRecord> {
        let (price, ts) = match price_of(self.bid, self.ask, self.trade)? {
            PriceFrom::Quote(price) => (price, self.quoted?),
            PriceFrom::Trade(price) => (price, self.traded?),
        };
        Some(SpotRecord { ts, underlying: self.name, price: limits::SPOT.admit(price).ok()? })
    }
}

/// A message that subscribes to events of symbols.
fn subscription(events: &[(&str, String)]) -> String {
    let mut out = format!("{{\"type\":\"FEED_SUBSCRIPTION\",\"channel\":{CHANNEL},\"add\":[");
    for (i, (kind, symbol)) in events.iter().enumerate() {
        let comma = if i == 0 { "" } else { "," };
        let _ = write!(out, "{comma}{{\"type\":\"{kind}\",\"symbol\":\"{symbol}\"}}");
    }
    out + "]}"
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const NOW: Timestamp = Timestamp::constant(1_795_207_320, 0);

    fn spy() -> Symbol {
        Symbol::parse("SPY").unwrap()
    }

    fn events() -> DxEvents {
        let mut events = DxEvents::new(Path::new("tasty"));
        let contracts = [".SPY261218C700", ".SPY261218P700"].map(|symbol| StreamedContract {
            symbol: symbol.to_owned(),
            contract: super::super::spelling::parse_contract(symbol).unwrap(),
        });
        let sent = events.add(spy(), "SPY", contracts.to_vec());
        assert_eq!((sent.len(), sent[0].matches("symbol").count()), (1, 8), "{sent:?}");
        assert_eq!(events.add(spy(), "SPY", contracts.to_vec()).len(), 0, "they are there");
        events
    }

    fn data(list: &str) -> String {
        format!("{{\"type\":\"FEED_DATA\",\"channel\":1,\"data\":{list}}}")
    }

    #[test]
    fn events_in_the_compact_form_are_records() {
        let mut events = events();
        let text = data(
            r#"["Quote",[".SPY261218C700",1795207300000,1795207310000,1.2,1.3,10,12,"SPY",0,0,699.9,700.1,"NaN",5],
            "Trade",[".SPY261218C700",1795207000000,1.25,420,"SPY",1795207000000,698,1e6],
            "Summary",[".SPY261218C700",1304,".SPY261218P700",99]]"#,
        );
        assert_eq!(events.take_in(&text, NOW), Ok(DxEvent::Taken));
        let (batch, report) = events.take();
        let [quote] = &batch.quotes[..] else { panic!("a contract without a quote has no record: {batch:?}") };
        assert_eq!((quote.ts.as_second(), quote.bid, quote.ask, quote.ask_size), (1_795_207_310, 1.2, 1.3, 12.0));
        assert_eq!((quote.activity.volume, quote.activity.open_interest), (420.0, 1304.0));
        assert!(matches!(batch.spots[..], [spot] if spot.ts == NOW && (spot.price - 700.0).abs() < 1e-9));
        assert_eq!((report.records, report.refused_total(), events.take().0.quotes.len()), (6, 0, 0));
        // what came first stays, and the order of fields is the server's
        let order = r#"{"type":"FEED_CONFIG","channel":1,"dataFormat":"COMPACT",
            "eventFields":{"Quote":["eventType","eventSymbol","askPrice","bidPrice"]}}"#;
        assert_eq!(events.take_in(order, NOW), Ok(DxEvent::Taken));
        events.take_in(&data(r#"["Quote",["Quote",".SPY261218P700",2.5,"NaN"]]"#), NOW).unwrap();
        let quote = events.take().0.quotes[0];
        assert_eq!((quote.ask, quote.ts, quote.activity.open_interest, quote.bid.is_nan()), (2.5, NOW, 99.0, true));
    }

    #[test]
    fn a_wrong_event_costs_itself_and_a_wrong_message_the_session() {
        let mut events = events();
        let wrong = data(
            r#"["Quote",["OTHER",1,1,1,2,1,1,".SPY261218C700",1,1,-1,2,1,1,".SPY261218P700",1,1,1,2,1,1],
            "Greeks",[1,2,3]]"#,
        );
        assert_eq!(events.take_in(&wrong, NOW), Ok(DxEvent::Taken));
        let (batch, report) = events.take();
        assert_eq!((batch.quotes.len(), report.refused_total()), (1, 2), "{:?}", report.places);
        for text in ["", "[]", "<html>", &data("[\"Quote\",[1,2,3]]"), "{\"type\":\"FEED_DATA\"}"] {
            assert_eq!(events.take_in(text, NOW), Err(Instead::OtherFormat), "{text}");
        }
        let full = r#"{"type":"FEED_CONFIG","dataFormat":"FULL"}"#;
        assert_eq!(events.take_in(full, NOW), Err(Instead::OtherFormat));
        for (text, want) in [
            (r#"{"type":"AUTH_STATE","state":"AUTHORIZED"}"#, DxEvent::Authorized),
            (r#"{"type":"AUTH_STATE","state":"UNAUTHORIZED"}"#, DxEvent::Unauthorized),
            (r#"{"type":"CHANNEL_OPENED","channel":1}"#, DxEvent::Opened),
            (r#"{"type":"CHANNEL_CLOSED","channel":1}"#, DxEvent::Closed),
            (r#"{"type":"ERROR","error":"UNAUTHORIZED","message":"x"}"#, DxEvent::Error(Instead::NotPermitted)),
            (r#"{"type":"ERROR","error":"TIMEOUT"}"#, DxEvent::Error(Instead::NotReady)),
            (r#"{"type":"ERROR","error":"BAD_ACTION"}"#, DxEvent::Error(Instead::WrongQuestion)),
            (r#"{"type":"KEEPALIVE","channel":0}"#, DxEvent::Taken),
        ] {
            assert_eq!(events.take_in(text, NOW), Ok(want), "{text}");
        }
    }

    #[test]
    fn what_is_sent_is_json() {
        for text in [setup(), auth("abc"), channel_request(), feed_setup(), keepalive().to_owned()] {
            assert!(json::parse_line::<DxMessage<'_>>(text.as_bytes()).is_some_and(|m| m.kind.is_some()), "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_message_panics(text in "[\\[\\]{}\",:A-Za-z0-9. -]{0,80}") {
            let _ = events().take_in(&data(&text), NOW);
        }
    }
}
