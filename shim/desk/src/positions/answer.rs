//! `GET /l1/positions` returns rows of the latest values; `PUT /l1/positions` replaces the positions. Never: a formula.

use super::desk::{PositionDesk, PositionFacts, RequestBytes};
use super::rows::PickedRows;
use super::valued::ValuedBook;
use crate::tables;
use api::query::Query;
use api::refusal::Refusal;
use api::rows::binary::content_type;
use api::rows::frame::{Heading, json_text};
use api::rows::table::TableLines;
use api::vendors::native;
use api::vendors::native_positions::{self, COLUMNS, PositionRequest};
use history::tables::PlainWriter;
use http::limits::PIECE_BYTES;
use http::{Answer, Awaited, Progress, ReceivedBody, Stream};
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, TryRecvError};

/// Name of the route in metrics.
pub const ROUTE: &str = "positions";
/// Response header with the number of the snapshot that positions are valued on.
const SNAPSHOT: &str = "Snapshot-Number";
/// Bytes that the writer of a table holds, about: a group of rows by columns, encoded.
const WRITER_BYTES: usize = 1 << 20;
const NO_POSITIONS: &str = "this daemon has no positions: start it with --positions FILE or --allow-positions";
const NO_PUT: &str = "positions are not taken from requests: start the daemon with --allow-positions";

/// Parses a query.
///
/// # Errors
/// The refusal of a query that is malformed, or of any where the daemon has no positions.
pub fn request_of(desk: &PositionDesk, query: &str) -> Result<PositionRequest, Refusal> {
    let request = native_positions::parse(&Query::parse(query))?;
    if desk.is_used() { Ok(request) } else { Err(Refusal::SwitchedOff { reason: NO_POSITIONS }) }
}

/// The answer to a request of the latest values.
#[must_use]
pub fn answer(desk: &PositionDesk, request: PositionRequest, note: &[String]) -> Answer {
    if desk.is_crowded() {
        return native::refused(ROUTE, &Refusal::Crowded);
    }
    let book = desk.valued();
    let (snapshot, asked) = (book.snapshot, PickedRows::of(&book, &request));
    // a table's writer holds a group of rows, whatever is picked
    let bytes = asked.bytes() + if request.table.is_some() { WRITER_BYTES } else { 0 };
    let Some(held) = desk.admit(bytes) else { return native::refused(ROUTE, &Refusal::Crowded) };
    let table =
        request.table.map(|format| tables::writer(format, COLUMNS).map(|writer| (content_type(format), writer)));
    let (content_type, form) = match table {
        None => {
            let heading = Heading { title: "Positions".to_owned(), lines: note.to_vec() };
            (request.format.frame().content_type, RowForm::Text(heading, None))
        }
        Some(Ok((content_type, writer))) => (content_type, RowForm::Table(Box::new(writer))),
        Some(Err(why)) => return failed(500, &why.to_string()),
    };
    let rows = PositionStream { book, request, asked, _held: held, form, level: 0, piece: 0 };
    Answer::stream(ROUTE, content_type, rows).with_header(SNAPSHOT, snapshot.to_string())
}

/// Replaces the positions by the body of a request; the answer comes when they are valued.
#[must_use]
pub fn put(desk: &PositionDesk, body: ReceivedBody) -> Answer {
    if desk.takes_requests() {
        Answer::awaited(ROUTE, TakenPositions(desk.put(body)))
    } else {
        native::refused(ROUTE, &Refusal::SwitchedOff { reason: NO_PUT })
    }
}

/// A body that is being read and valued.
struct TakenPositions(Receiver<Result<PositionFacts, String>>);

impl Awaited for TakenPositions {
    fn look(&mut self) -> Option<Answer> {
        Some(match self.0.try_recv() {
            Ok(Ok(facts)) => Answer::full(ROUTE, 200, "application/json", facts_json(&facts)),
            Ok(Err(why)) => failed(400, &why),
            Err(TryRecvError::Empty) => return None,
            Err(TryRecvError::Disconnected) => failed(500, "internal error"),
        })
    }
}

fn facts_json(facts: &PositionFacts) -> String {
    let PositionFacts { source, lines, refused, errors } = facts;
    let errors = errors.iter().map(|error| json_text(error)).collect::<Vec<_>>().join(",");
    let source = json_text(source);
    format!("{{\"source\":{source},\"lines\":{lines},\"refused\":{refused},\"errors\":[{errors}]}}")
}

pub(crate) fn failed(status: u16, why: &str) -> Answer {
    Answer::full(ROUTE, status, "application/json", format!("{{\"error\":{}}}", json_text(why)))
}

/// The rows of an answer, written piece by piece.
struct PositionStream {
    book: Arc<ValuedBook>,
    request: PositionRequest,
    asked: PickedRows,
    _held: RequestBytes,
    form: RowForm,
    /// Next level of the request, and next piece of that level.
    level: usize,
    piece: usize,
}

/// Format of the rows.
enum RowForm {
    /// Text: its heading, and its writer once it has begun.
    Text(Heading, Option<TableLines>),
    /// Table of columns.
    Table(Box<PlainWriter>),
}

impl PositionStream {
    fn write(&mut self, out: &mut Vec<u8>) -> io::Result<Progress> {
        let stop = out.len() + PIECE_BYTES;
        let Self { book, request, asked, form, .. } = self;
        if let RowForm::Text(heading, lines @ None) = form {
            *lines = Some(TableLines::begin(request.format, heading, COLUMNS, out));
        }
        while let Some(&level) = request.levels.get(self.level) {
            if out.len() >= stop {
                return Ok(Progress::More);
            }
            let is_there = match form {
                RowForm::Text(_, lines) => {
                    let text = asked.text(book, request.format, level, self.piece);
                    text.iter().zip(lines).for_each(|(text, lines)| lines.push_rows(text, out));
                    text.is_some()
                }
                RowForm::Table(writer) => {
                    let rows = asked.piece(book, level, self.piece);
                    if !rows.is_empty() {
                        writer.write(&tables::columns_of(COLUMNS, &rows), out)?;
                    }
                    !rows.is_empty()
                }
            };
            (self.level, self.piece) = if is_there { (self.level, self.piece + 1) } else { (self.level + 1, 0) };
        }
        match form {
            RowForm::Text(_, lines) => lines.iter().for_each(|lines| lines.end(out)),
            RowForm::Table(writer) => writer.finish(out)?,
        }
        Ok(Progress::Done)
    }
}

impl Stream for PositionStream {
    fn fill(&mut self, out: &mut Vec<u8>) -> Progress {
        self.write(out).unwrap_or_else(|why| {
            tracing::warn!("positions as a table: {why}");
            Progress::Broken
        })
    }
}
