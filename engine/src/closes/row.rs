//! The closing row of a name: of a finished chain, as a line of CSV, and back. Never: a file.

use crate::store::chain::Chain;
use crate::term::{EventState, NameEvent, Tenors, TermStructure};
use jiff::civil::Date;
use jiff::{SignedDuration, Timestamp};
use kernel::calendar::Calendar;
use kernel::contract::Symbol;

/// Time before the close from which a valuation counts as that of the close: tables of a day's end are quoted then.
const BEFORE_CLOSE: SignedDuration = SignedDuration::from_mins(30);
/// Columns of the file, in order.
const COLUMNS: [&str; 13] = [
    "underlying",
    "valued_at",
    "close",
    "iv30d",
    "ex_event_iv30d",
    "rr25_30d",
    "skew25_30d",
    "event_state",
    "event_from",
    "event_to",
    "event_move",
    "ex_date",
    "dividend",
];
/// Greatest price and volatility of a row that is read: what is beyond them is no market's.
const MOST: f64 = 1e7;
const MOST_VOL: f64 = 100.0;

/// The end of a session for a name, as far as numbers of later sessions need it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NameClose {
    /// The session.
    pub day: Date,
    /// Time of the valuation.
    pub at: Timestamp,
    /// Price of the underlying, currency per share.
    pub price: f64,
    /// Volatility in 30 days; NaN: missing.
    pub iv30d: f64,
    /// Knowledge of the name's event.
    pub event: EventState,
    /// The sessions within which its event moves the price: after the first date, by the second. `None`: it has none.
    pub event_days: Option<[Date; 2]>,
    /// Ex-date and amount of the next dividend, currency per share. `None`: none is known.
    pub dividend: Option<(Date, f64)>,
}

/// A closing row: a close, and more of the name at that time. NaN: missing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClosingRow {
    /// Underlying symbol.
    pub underlying: Symbol,
    /// The close.
    pub close: NameClose,
    /// Volatility in 30 days without the name's event.
    pub ex_event_iv30d: f64,
    /// In 30 days, volatility of the 25-delta call less that of the put.
    pub rr25_30d: f64,
    /// In 30 days, that of the put less that of the call, over that at the forward.
    pub skew25_30d: f64,
    /// One standard deviation of the event's move, a part of the price.
    pub event_move: f64,
}

impl NameClose {
    /// The close that a chain shows. `None`: it is valued before the end of a session, or has no price.
    #[must_use]
    pub fn of(chain: &Chain, term: &TermStructure, tenors: &Tenors, calendar: &Calendar) -> Option<Self> {
        let at = chain.valued_at;
        let day = session_ended_by(at, calendar)?;
        let price = rounded(chain.underlying_price());
        if !(price > 0.0 && price < MOST) {
            return None;
        }
        let dividends = chain.evidence.as_deref().map_or(&[][..], |own| &own.dividends);
        let iv30d = term.iv(tenors, 30.0);
        Some(Self {
            day,
            at,
            price,
            iv30d: rounded(if iv30d <= MOST_VOL { iv30d } else { f64::NAN }),
            event: term.event.state,
            event_days: event_days(&term.event, calendar),
            dividend: dividends.first().map(|next| (next.ex_date, next.given)),
        })
    }
}

impl ClosingRow {
    /// The row of a chain; `None` as of [`NameClose::of`].
    #[must_use]
    pub fn of(chain: &Chain, calendar: &Calendar) -> Option<Self> {
        session_ended_by(chain.valued_at, calendar)?;
        let term = TermStructure::of(chain, calendar);
        let tenors = Tenors::of(&term.clock, chain.valued_at, &[30.0]);
        Self::new(chain, &term, &tenors, term.wings_at(&tenors, 30.0), calendar)
    }

    /// The row of a chain with its term structure and the volatilities of the call and of the put of 25 delta in 30
    /// days, which are among the maturities. `None` as of [`NameClose::of`].
    #[must_use]
    pub fn new(
        chain: &Chain,
        term: &TermStructure,
        tenors: &Tenors,
        [call, put]: [f64; 2],
        calendar: &Calendar,
    ) -> Option<Self> {
        let close = NameClose::of(chain, term, tenors, calendar)?;
        Some(Self {
            underlying: chain.underlying,
            close,
            ex_event_iv30d: rounded(term.ex_event_vol_at(tenors, 30.0, |of| of.vol)),
            rr25_30d: rounded(call - put),
            skew25_30d: rounded((put - call) / term.iv(tenors, 30.0)),
            event_move: rounded(term.event.move_sd()),
        })
    }

    /// Writes a file of rows: a header, then a line a name.
    ///
    /// # Errors
    /// Errors of the writer `to`.
    pub fn write<'a>(rows: impl IntoIterator<Item = &'a Self>, to: impl std::io::Write) -> std::io::Result<()> {
        let mut out = csv::Writer::from_writer(to);
        out.write_record(COLUMNS)?;
        let text = |x: f64| if x.is_finite() { x.to_string() } else { String::new() };
        let date = |of: Option<Date>| of.map_or(String::new(), |of| of.to_string());
        for Self { underlying, close, ex_event_iv30d, rr25_30d, skew25_30d, event_move } in rows {
            out.write_record([
                underlying.as_str(),
                &close.at.to_string(),
                &text(close.price),
                &text(close.iv30d),
                &text(*ex_event_iv30d),
                &text(*rr25_30d),
                &text(*skew25_30d),
                close.event.name(),
                &date(close.event_days.map(|[from, _]| from)),
                &date(close.event_days.map(|[_, to]| to)),
                &text(*event_move),
                &date(close.dividend.map(|(ex_date, _)| ex_date)),
                &text(close.dividend.map_or(f64::NAN, |(_, amount)| amount)),
            ])?;
        }
        out.flush()
    }

    /// Reads what [`ClosingRow::write`] wrote of a day. Lines that are no rows of it are left out and counted; a file
    /// with another header has no rows, and counts as one such line.
    #[must_use]
    pub fn read(day: Date, from: impl std::io::Read) -> (Vec<Self>, usize) {
        let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(from);
        if reader.headers().map_or(true, |header| *header != COLUMNS[..]) {
            return (Vec::new(), 1);
        }
        let (mut rows, mut refused) = (Vec::new(), 0);
        for record in reader.records() {
            match record.ok().and_then(|record| Self::parse(day, &record)) {
                Some(row) => rows.push(row),
                None => refused += 1,
            }
        }
        (rows, refused)
    }

    fn parse(day: Date, record: &csv::StringRecord) -> Option<Self> {
        if record.len() != COLUMNS.len() {
            return None;
        }
        let cell = |place: usize| record.get(place).unwrap_or_default();
        let number = |place: usize, most: f64| match cell(place) {
            "" => Some(f64::NAN),
            text => text.parse().ok().filter(|x: &f64| x.abs() <= most),
        };
        let date = |place: usize| match cell(place) {
            "" => Some(None),
            text => text.parse::<Date>().ok().map(Some),
        };
        let at: Timestamp = cell(1).parse().ok()?;
        // Eastern dates end on the next date of UTC
        let utc = at.to_zoned_datetime(jiff::tz::TimeZone::UTC).date();
        let price = number(2, MOST).filter(|price| *price > 0.0)?;
        let iv30d = number(3, MOST_VOL).filter(|vol| vol.is_nan() || *vol >= 0.0)?;
        let paid = number(12, MOST).filter(|amount| amount.is_nan() || *amount >= 0.0)?;
        let close = NameClose {
            day,
            at,
            price,
            iv30d,
            event: EventState::ALL.into_iter().find(|state| state.name() == cell(7))?,
            event_days: date(8)?.zip(date(9)?).map(|(from, to)| [from, to]),
            dividend: date(11)?.filter(|_| paid.is_finite()).map(|ex_date| (ex_date, paid)),
        };
        (utc == day || utc.yesterday().is_ok_and(|before| before == day)).then_some(())?;
        Some(Self {
            underlying: Symbol::parse(cell(0))?,
            close,
            ex_event_iv30d: number(4, MOST_VOL)?,
            rr25_30d: number(5, MOST_VOL)?,
            skew25_30d: number(6, MOST)?,
            event_move: number(10, MOST_VOL)?,
        })
    }
}

/// The session of a date at whose end an instant is.
fn session_ended_by(at: Timestamp, calendar: &Calendar) -> Option<Date> {
    let day = calendar.eastern(at).date();
    (calendar.is_session(day) && at >= calendar.close(day) - BEFORE_CLOSE).then_some(day)
}

/// The sessions within which an event moves the price: after the first date, by the second.
fn event_days(event: &NameEvent, calendar: &Calendar) -> Option<[Date; 2]> {
    match event.known {
        Some(known) => {
            let [first, last] = [known.first, known.last].map(|at| calendar.eastern(at).date());
            Some([calendar.previous_session(first), last])
        }
        None => event.from.zip(event.to).map(|(from, to)| [from, to]),
    }
}

/// A number as files have it, so that a row that was read is the one that was written; missing stays missing.
pub(super) fn rounded(x: f64) -> f64 {
    const PLACES: f64 = 1e7;
    let rounded = (x * PLACES).round() / PLACES;
    if rounded.is_finite() { rounded } else { f64::NAN }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::civil::date;

    fn row() -> ClosingRow {
        ClosingRow {
            underlying: Symbol::parse("ACME").unwrap(),
            close: NameClose {
                day: date(2026, 11, 20),
                at: "2026-11-20T16:15:00-05:00".parse().unwrap(),
                price: 101.25,
                iv30d: rounded(1.0 / 3.0),
                event: EventState::Found,
                event_days: Some([date(2026, 12, 4), date(2026, 12, 11)]),
                dividend: Some((date(2026, 11, 23), 0.51)),
            },
            ex_event_iv30d: 0.21,
            rr25_30d: -0.03,
            skew25_30d: 0.1,
            event_move: 0.07,
        }
    }

    fn written(rows: &[ClosingRow]) -> String {
        let mut text = Vec::new();
        ClosingRow::write(rows, &mut text).unwrap();
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn a_row_is_read_as_it_was_written() {
        let day = date(2026, 11, 20);
        let none = ClosingRow {
            close: NameClose {
                iv30d: f64::NAN,
                event: EventState::Unknown,
                event_days: None,
                dividend: None,
                ..row().close
            },
            ex_event_iv30d: f64::NAN,
            event_move: f64::NAN,
            ..row()
        };
        let text = written(&[row(), none]);
        assert_eq!(
            text.lines().nth(1).unwrap(),
            "ACME,2026-11-20T21:15:00Z,101.25,0.3333333,0.21,-0.03,0.1,found,2026-12-04,2026-12-11,0.07,2026-11-23,0.51"
        );
        let (rows, refused) = ClosingRow::read(day, text.as_bytes());
        assert_eq!((rows[0], rows.len(), refused), (row(), 2, 0));
        assert_eq!(written(&rows), text);
    }

    #[test]
    fn lines_that_are_no_rows_are_counted() {
        let day = date(2026, 11, 20);
        let text = written(&[row()]);
        let line = text.lines().nth(1).unwrap();
        for (from, to) in [
            ("101.25", "-1"),
            ("101.25", ""),
            ("101.25", "inf"),
            ("0.3333333", "-0.3"),
            ("0.3333333", "NaN1"),
            ("found", "perhaps"),
            ("2026-12-04", "soon"),
            ("2026-11-20T21:15:00Z", "2026-11-25T21:15:00Z"),
            (",0.51", ""),
        ] {
            let bad = format!("{text}{}\n", line.replacen(from, to, 1));
            assert_eq!(ClosingRow::read(day, bad.as_bytes()).1, 1, "{from} {to}");
        }
        for foreign in ["", "a,b\n1,2\n", "\0\0\0"] {
            assert_eq!(ClosingRow::read(day, foreign.as_bytes()), (Vec::new(), 1), "{foreign:?}");
        }
    }
}
