//! `GET /l1/positions`: rows of the latest values, and `PUT /l1/positions`: other positions. Never: a formula.

use super::desk::{PositionDesk, PositionFacts};
use super::valued::{PositionLevel, PositionTotal, ValuedBook, ValuedPosition};
use crate::listed::{facts_of, identity_of_share};
use api::query::Query;
use api::refusal::Refusal;
use api::rows::binary::content_type;
use api::rows::frame::json_text;
use api::rows::heading::{ColumnHead, Heading};
use api::rows::table::{Fact, write};
use api::vendors::native::error_json;
use api::vendors::native_positions::{self, COLUMNS, PositionRequest, PositionRows};
use engine::positions::PositionNumbers;
use engine::snapshot::Snapshot;
use history::tables::{PlainColumn, TableFormat, plain_table};
use http::Answer;
use kernel::position::Instrument;

/// Under which name requests are counted.
pub const ROUTE: &str = "positions";
const NO_POSITIONS: &str = "this daemon has no positions: start it with --positions FILE or --allow-positions";
const NO_PUT: &str = "positions are not taken from requests: start the daemon with --allow-positions";

/// The answer to a query.
#[must_use]
pub fn answer(desk: &PositionDesk, query: &str, note: &[String]) -> Answer {
    let found = native_positions::parse(&Query::parse(query)).and_then(|request| {
        if desk.is_used() { Ok(request) } else { Err(Refusal::SwitchedOff { reason: NO_POSITIONS }) }
    });
    match found {
        Ok(request) => {
            let valued = desk.valued();
            let rows = rows(&valued, &request);
            if let Some(table) = request.table {
                return table_answer(table, &rows);
            }
            let heading = Heading { title: "Positions".to_owned(), lines: note.to_vec() };
            let body = write(request.format, &heading, COLUMNS, &rows);
            Answer::full(ROUTE, 200, request.format.frame().content_type, body)
        }
        Err(refusal) => refused(&refusal),
    }
}

/// Takes the body of a request as the positions.
#[must_use]
pub fn put(desk: &PositionDesk, body: &[u8], snapshot: &Snapshot) -> Answer {
    if !desk.takes_requests() {
        return refused(&Refusal::SwitchedOff { reason: NO_PUT });
    }
    match desk.put(body, snapshot) {
        Ok(facts) => Answer::full(ROUTE, 200, "application/json", facts_json(&facts)),
        Err(why) => Answer::full(ROUTE, 400, "application/json", format!("{{\"error\":{}}}", json_text(&why))),
    }
}

/// Status of the positions as JSON.
#[must_use]
pub fn facts_json(facts: &PositionFacts) -> String {
    let PositionFacts { source, lines, refused, errors, is_unusable } = facts;
    let errors = errors.iter().map(|error| json_text(error)).collect::<Vec<_>>().join(",");
    format!(
        "{{\"source\":{},\"lines\":{lines},\"refused\":{refused},\"unusable\":{is_unusable},\"errors\":[{errors}]}}",
        json_text(source)
    )
}

/// The rows as a table of columns.
fn table_answer(format: TableFormat, rows: &[Vec<Fact>]) -> Answer {
    let column = |(place, head): (usize, &ColumnHead<'static>)| {
        let cells = rows.iter().map(|row| &row[place]);
        let column = if head.is_number {
            PlainColumn::Numbers(cells.map(number_of).collect())
        } else {
            PlainColumn::Words(
                cells.map(|cell| if let Fact::Word(word) = cell { Some(word.clone()) } else { None }).collect(),
            )
        };
        (head.name, column)
    };
    let columns: Vec<(&str, PlainColumn)> = COLUMNS.iter().enumerate().map(column).collect();
    match plain_table(format, &columns) {
        Ok(body) => Answer::full(ROUTE, 200, content_type(format), body),
        Err(why) => {
            let why = json_text(&why.to_string());
            Answer::full(ROUTE, 500, "application/json", format!("{{\"error\":{why}}}"))
        }
    }
}

fn number_of(cell: &Fact) -> f64 {
    match cell {
        Fact::Number(x) => *x,
        Fact::Count(n) => *n as f64,
        _ => f64::NAN,
    }
}

fn refused(refusal: &Refusal) -> Answer {
    Answer::full(ROUTE, refusal.status(), "application/json", error_json(refusal))
}

/// The rows of a request.
#[must_use]
pub fn rows(valued: &ValuedBook, request: &PositionRequest) -> Vec<Vec<Fact>> {
    let is_asked = |position: &&ValuedPosition| {
        (request.accounts.is_empty() || request.accounts.iter().any(|account| **account == *position.line.account))
            && (request.underlyings.is_empty() || request.underlyings.contains(&position.underlying))
    };
    let some: Vec<ValuedPosition> = valued.positions.iter().filter(is_asked).cloned().collect();
    let index_spot = request.index.map_or(f64::NAN, |index| valued.spots.get(&index).copied().unwrap_or(f64::NAN));
    let shown = ValuedBook { positions: some, ..ValuedBook::default() };
    let mut rows = Vec::new();
    for &level in &request.levels {
        let of = match level {
            PositionRows::Contract => {
                rows.extend(shown.positions.iter().map(|position| position_row(position, index_spot)));
                continue;
            }
            PositionRows::Expiry => PositionLevel::Expiry,
            PositionRows::Underlying => PositionLevel::Underlying,
            PositionRows::Account => PositionLevel::Account,
            PositionRows::Total => PositionLevel::Total,
        };
        rows.extend(shown.totals(of).iter().map(|total| total_row(level, total, index_spot)));
    }
    rows
}

fn position_row(of: &ValuedPosition, index_spot: f64) -> Vec<Fact> {
    let mut row = vec![Fact::Word(PositionRows::Contract.name().to_owned()), Fact::Word(of.line.account.to_string())];
    row.extend(match of.line.instrument {
        Instrument::Share(_) => identity_of_share(of.underlying),
        Instrument::Contract(key) => facts_of(of.underlying, &key),
    });
    let missing = u64::from(of.unvalued.is_some());
    row.extend([Fact::Number(of.line.quantity), Fact::Number(of.line.price), Fact::Count(1), Fact::Count(missing)]);
    row.push(of.unvalued.map_or(Fact::Missing, |why| Fact::Word(why.name().to_owned())));
    row.extend([of.spot, of.unit_value, of.vol].map(Fact::Number));
    row.extend(numbers(&of.numbers, index_spot));
    row
}

fn total_row(level: PositionRows, of: &PositionTotal, index_spot: f64) -> Vec<Fact> {
    let word = |text: Option<String>| text.map_or(Fact::Missing, Fact::Word);
    let missing = || Fact::Missing;
    let mut row = vec![
        Fact::Word(level.name().to_owned()),
        word(of.account.as_ref().map(ToString::to_string)),
        word(of.underlying.map(|name| name.to_string())),
        missing(),
        word(of.expiry.map(|date| date.to_string())),
    ];
    row.extend([missing(), missing(), missing(), missing(), missing()]);
    row.extend([Fact::Count(of.positions as u64), Fact::Count(of.missing as u64)]);
    row.extend([missing(), missing(), missing(), missing()]);
    row.extend(numbers(&of.numbers, index_spot));
    row
}

fn numbers(of: &PositionNumbers, index_spot: f64) -> [Fact; 12] {
    [
        of.value,
        of.profit,
        of.session_profit,
        of.dollar_delta,
        of.gamma_1pct,
        of.vega,
        of.theta,
        of.decay,
        of.rho,
        of.epsilon,
        of.beta_delta,
        of.beta_delta / index_spot,
    ]
    .map(Fact::Number)
}
