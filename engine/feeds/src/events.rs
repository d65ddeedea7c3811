//! Events of names and of the whole market, and weights of the variance clock, as comma-separated rows. Bytes to
//! records. Never: a file handle.

use super::csv::{Column, CsvFault, Row, optional, read_rows, required};
use jiff::civil::{Date, Time};
use kernel::calendar::{ClockWeight, EventDate, EventTime, MarketEvent, MarketEventKind};
use kernel::contract::Symbol;
use kernel::error::Reason;
use kernel::limits;
use kernel::records::EventRecord;
use kernel::report::Report;
use std::collections::HashSet;
use std::path::Path;

const COLUMNS: [Column; 6] = [
    required("date"),
    required("symbol"),
    required("kind"),
    optional("time"),
    optional("move"),
    optional("variance_days"),
];
const DATE: usize = 0;
const SYMBOL: usize = 1;
const KIND: usize = 2;
const TIME: usize = 3;
const MOVE: usize = 4;
const VARIANCE_DAYS: usize = 5;

/// Reads `date,symbol,kind[,time][,move][,variance_days]`. A name has events of kind `earnings` and `other`, the market
/// (`*`) those of [`MarketEventKind`]. The time is `bmo`, `amc`, `HH:MM` Eastern or empty. `move` is one standard
/// deviation of a name's move in percent, `variance_days` the size of a market event. A row of the market without a
/// date and of a kind of [`ClockWeight`] sets that weight to its `variance_days`. A second row of one event is refused,
/// and the first kept.
#[must_use]
pub fn parse_events(file: &Path, bytes: &[u8]) -> (Vec<EventRecord>, Report) {
    let (mut records, mut seen) = (Vec::new(), HashSet::new());
    let report = read_rows(file, bytes, &COLUMNS, |row| {
        let record = read(row)?;
        if !seen.insert(key(&record)) {
            return Err((DATE, Reason::Duplicate));
        }
        records.push(record);
        Ok(())
    });
    (records, report)
}

fn key(record: &EventRecord) -> (Option<Date>, Option<Symbol>, &'static str) {
    match record {
        EventRecord::Name(name, event) => (Some(event.date), Some(*name), ""),
        EventRecord::Market(event) => (Some(event.date), None, event.kind.name()),
        EventRecord::Weight(weight, _) => (None, None, weight.name()),
    }
}

fn read_weight(row: &Row<'_, { COLUMNS.len() }>, weight: ClockWeight) -> Result<EventRecord, CsvFault> {
    let is_used = |column: &usize| row.bytes(*column).is_ok_and(|text| !text.is_empty());
    match [DATE, TIME, MOVE].into_iter().find(is_used) {
        Some(column) => Err((column, Reason::Unused)),
        None => Ok(EventRecord::Weight(weight, row.number(VARIANCE_DAYS, weight.bound())?)),
    }
}

fn read(row: &Row<'_, { COLUMNS.len() }>) -> Result<EventRecord, CsvFault> {
    let kind = row.text(KIND)?;
    let is_market = row.text(SYMBOL)? == "*";
    if is_market && let Some(weight) = ClockWeight::ALL.into_iter().find(|of| of.name() == kind) {
        return read_weight(row, weight);
    }
    let date = row.date(DATE)?;
    let number = |column: usize, bound| row.number_or_nan(column, bound).map(|x| Some(x).filter(|x| !x.is_nan()));
    let (size, weight) = (number(MOVE, limits::EVENT_MOVE)?, number(VARIANCE_DAYS, limits::EVENT_DAYS)?);
    let time = parse_event_time(row.bytes(TIME)?).ok_or((TIME, Reason::NotATime))?;
    if !is_market {
        if !["earnings", "other"].contains(&kind) {
            return Err((KIND, Reason::NotAWord));
        }
        if weight.is_some() {
            return Err((VARIANCE_DAYS, Reason::Unused));
        }
        let event =
            EventDate { date, time, size: size.map(|percent| percent / 100.0), is_earnings: kind == "earnings" };
        return Ok(EventRecord::Name(row.underlying(SYMBOL)?, event));
    }
    let kind = MarketEventKind::ALL.into_iter().find(|of| of.name() == kind).ok_or((KIND, Reason::NotAWord))?;
    if size.is_some() {
        return Err((MOVE, Reason::Unused));
    }
    let time = match time {
        EventTime::Unknown => None,
        EventTime::BeforeOpening => Some(Time::midnight()),
        EventTime::At(time) => Some(time),
        EventTime::AfterClose => return Err((TIME, Reason::NotATime)),
    };
    Ok(EventRecord::Market(MarketEvent { date, kind, time, weight }))
}

/// The time of an event, as [`EventTime::parse`] reads it.
pub(crate) fn parse_event_time(bytes: &[u8]) -> Option<EventTime> {
    EventTime::parse(core::str::from_utf8(bytes).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::civil::{date, time};
    use proptest::prelude::*;

    const HEADER: &str = "date,symbol,kind,time,move,variance_days\n";

    fn parse(rows: &str) -> (Vec<EventRecord>, Vec<(u64, &'static str, Reason)>) {
        let (records, report) = parse_events(Path::new("events.csv"), format!("{HEADER}{rows}").as_bytes());
        (records, report.places.iter().map(|place| (place.line, place.field, place.reason)).collect())
    }

    #[test]
    fn events_of_names_and_of_the_market_are_read() {
        let (records, refused) = parse(
            "2026-12-02,NVDA,earnings,amc,7,\n2026-12-10,KO,other,,,\n2026-12-09,*,fomc,,,0.4\n\
             2026-12-15,*,other,12:30,,2\n,*,night,,,0.3\n,*,closed,,,0\n",
        );
        let [nvda, ko] = ["NVDA", "KO"].map(|name| Symbol::parse(name).unwrap());
        let of_name = |name, day, time, size, is_earnings| {
            EventRecord::Name(name, EventDate { date: date(2026, 12, day), time, size, is_earnings })
        };
        let market = |date, kind, time, weight| EventRecord::Market(MarketEvent { date, kind, time, weight });
        assert_eq!(refused, []);
        assert_eq!(
            records,
            [
                of_name(nvda, 2, EventTime::AfterClose, Some(0.07), true),
                of_name(ko, 10, EventTime::Unknown, None, false),
                market(date(2026, 12, 9), MarketEventKind::Fomc, None, Some(0.4)),
                market(date(2026, 12, 15), MarketEventKind::Other, Some(time(12, 30, 0, 0)), Some(2.0)),
                EventRecord::Weight(ClockWeight::Night, 0.3),
                EventRecord::Weight(ClockWeight::Closed, 0.0),
            ]
        );
    }

    #[test]
    fn a_bad_row_costs_itself_and_says_where_and_why() {
        for (row, field, reason) in [
            ("soon,KO,earnings,,,", "date", Reason::NotADate),
            ("2026-12-02,K?,earnings,,,", "symbol", Reason::NotASymbol),
            ("2026-12-02,KO,fomc,,,", "kind", Reason::NotAWord),
            ("2026-12-02,*,earnings,,,", "kind", Reason::NotAWord),
            ("2026-12-02,KO,earnings,noon,,", "time", Reason::NotATime),
            ("2026-12-02,*,cpi,amc,,", "time", Reason::NotATime),
            ("2026-12-02,KO,earnings,,-1,", "move", Reason::OutOfRange),
            ("2026-12-02,*,cpi,,1,", "move", Reason::Unused),
            ("2026-12-02,KO,earnings,,,1", "variance_days", Reason::Unused),
            ("2026-12-01,F,other,,,", "date", Reason::Duplicate),
            ("2026-12-01,*,night,,,0.3", "date", Reason::Unused),
            (",*,closed,,1,0.3", "move", Reason::Unused),
            (",*,early,,,", "variance_days", Reason::Missing),
            (",*,night,,,1", "variance_days", Reason::OutOfRange),
            (",F,night,,,0.3", "date", Reason::Missing),
        ] {
            let (records, refused) = parse(&format!("2026-12-01,F,earnings,,,\n{row}\n"));
            assert_eq!((records.len(), refused), (1, vec![(3, field, reason)]), "{row}");
        }
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = parse_events(Path::new("x"), &[HEADER.as_bytes(), &bytes].concat());
        }
    }
}
