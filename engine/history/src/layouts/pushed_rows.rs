//! Tables that programs push: streams of Arrow as they come, each row a line of `feeds::lines` with the column's names
//! as fields. What one stream may cost is bounded. Never: a socket, the meaning of a field.

use super::cells::Cell;
use super::columnar::{Values, guarded};
use super::header::bare;
use super::pushed::{BODY_MOST, COLUMNS_MOST, MARK, PushRefusal, PushedSoFar};
use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_ipc::convert::try_fb_to_schema;
use arrow_ipc::reader::StreamDecoder;
use arrow_ipc::{Message, MessageHeader, root_as_message};
use arrow_schema::{DataType, Schema};
use feeds::lines::{FIELDS, LineCell, LineParser};
use jiff::civil::Time;
use kernel::records::Batch;
use kernel::report::Report;
use std::borrow::Cow;
use std::collections::HashMap;
use std::mem;

/// Bytes before a message: a mark, and the length of its metadata.
const PREFIX: usize = 8;
/// Greatest metadata of a message, bytes: names and types of columns, places of buffers.
const METADATA_MOST: usize = 1 << 20;
/// Rows that a message may have whatever its size; further ones have eight bytes each. Columns of one value take none.
const ROWS_FREE: usize = 1024;
/// Rows that are passed on at once: records take ten times the bytes of their rows, so a message is not held as such.
const ROWS_AT_ONCE: usize = 4096;

/// Columns of which a row has the fields of one kind of line.
const KINDS: [&[&str]; 6] = [
    &["osym", "bid", "ask", "time"],
    &["root", "expiry", "strike", "right", "bid", "ask", "time"],
    &["symbol", "price", "time"],
    &["symbol", "ex_date", "amount"],
    &["date", "tenor_days", "rate"],
    &["forget"],
];
/// Fields that decide the kind of a line. Null counts as absent for them, so that a table can have rows of several
/// kinds.
const DECIDING: [&str; 5] = ["osym", "price", "ex_date", "tenor_days", "forget"];

/// A stream of Arrow, read message by message.
#[derive(Debug, Default)]
pub struct PushedTable {
    decoder: StreamDecoder,
    /// The bytes of the message that has begun.
    held: Vec<u8>,
    /// Where columns with a meaning stand, and the places of their fields.
    columns: Vec<(usize, usize)>,
    has_schema: bool,
    /// Bytes of each dictionary, by its number.
    dictionaries: HashMap<i64, usize>,
}

impl PushedTable {
    /// True if the stream has shown usable columns.
    #[must_use]
    pub fn has_schema(&self) -> bool {
        self.has_schema
    }

    /// Bytes that it holds: the message that has begun, and dictionaries.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.dictionaries.values().fold(self.held.capacity(), |sum, bytes| sum.saturating_add(*bytes))
    }

    /// True if no message has begun that has not come whole.
    #[must_use]
    pub fn is_between(&self) -> bool {
        self.held.is_empty()
    }

    /// Reads the next bytes; rows are counted by `parser`, and passed on some thousands at a time.
    ///
    /// # Errors
    /// The stream cannot be read any further.
    pub fn read(
        &mut self,
        bytes: &[u8],
        parser: &mut LineParser,
        pass_on: &mut impl FnMut(Batch, Report),
    ) -> Result<PushedSoFar, PushRefusal> {
        let mut used = 0;
        while let Some(rest) = bytes.get(used..).filter(|rest| !rest.is_empty()) {
            // memory follows what has come, not what a length says
            let take = self.wanted()?.saturating_sub(self.held.len()).min(rest.len());
            self.held.extend(rest.iter().take(take));
            used = used.saturating_add(take);
            match self.wanted()? {
                0 => return Ok(PushedSoFar { used, ended: true }),
                wanted if wanted == self.held.len() && wanted > PREFIX => self.message(parser, pass_on)?,
                _ => {}
            }
        }
        Ok(PushedSoFar { used, ended: false })
    }

    /// Length of the held message, as far as it is known; 0: it is the end of the stream.
    fn wanted(&self) -> Result<usize, PushRefusal> {
        let Some((mark, rest)) = self.held.split_first_chunk::<4>() else { return Ok(PREFIX) };
        let Some((length, rest)) = rest.split_first_chunk::<4>() else { return Ok(PREFIX) };
        let length = u32::from_le_bytes(*length) as usize;
        match rest.get(..length) {
            _ if *mark != MARK => Err(PushRefusal::Damaged),
            _ if length == 0 => Ok(0),
            _ if length > METADATA_MOST => Err(PushRefusal::Large),
            None => Ok(PREFIX.saturating_add(length)),
            Some(metadata) => {
                let message = root_as_message(metadata).map_err(|_| PushRefusal::Damaged)?;
                let body = usize::try_from(message.bodyLength()).map_err(|_| PushRefusal::Damaged)?;
                if body > BODY_MOST {
                    return Err(PushRefusal::Large);
                }
                Ok(PREFIX.saturating_add(length).saturating_add(body))
            }
        }
    }

    fn message(&mut self, parser: &mut LineParser, pass_on: &mut impl FnMut(Batch, Report)) -> Result<(), PushRefusal> {
        let mut held = Buffer::from(mem::take(&mut self.held));
        let length = held.get(4..PREFIX).and_then(|length| length.try_into().ok()).map_or(0, u32::from_le_bytes);
        let metadata = held.get(PREFIX..PREFIX.saturating_add(length as usize)).unwrap_or_default();
        let message = root_as_message(metadata).map_err(|_| PushRefusal::Damaged)?;
        self.admit(&message)?;
        // a message without a body is decoded when the next one comes, which may so give two batches
        while !held.is_empty() {
            let decoded = guarded(|| self.decoder.decode(&mut held).ok()).flatten();
            if let Some(rows) = decoded.ok_or(PushRefusal::Damaged)? {
                self.rows(&rows, parser, pass_on);
            }
        }
        Ok(())
    }

    /// Refuses a message that would cost more than its bytes.
    fn admit(&mut self, message: &Message<'_>) -> Result<(), PushRefusal> {
        let body = usize::try_from(message.bodyLength()).unwrap_or(usize::MAX);
        let batch = match message.header_type() {
            MessageHeader::Schema if !self.has_schema => {
                let schema = message.header_as_schema().ok_or(PushRefusal::Damaged)?;
                self.columns = places(&try_fb_to_schema(schema).map_err(|_| PushRefusal::Damaged)?)?;
                self.has_schema = true;
                return Ok(());
            }
            MessageHeader::RecordBatch => message.header_as_record_batch(),
            MessageHeader::DictionaryBatch => {
                let dictionary = message.header_as_dictionary_batch().ok_or(PushRefusal::Damaged)?;
                if dictionary.isDelta() {
                    return Err(PushRefusal::Delta);
                }
                // one that comes again replaces the one before
                self.dictionaries.insert(dictionary.id(), body);
                if self.dictionaries.values().sum::<usize>() > BODY_MOST {
                    return Err(PushRefusal::Large);
                }
                dictionary.data()
            }
            _ => return Err(PushRefusal::Damaged),
        };
        let batch = batch.ok_or(PushRefusal::Damaged)?;
        let rows = usize::try_from(batch.length()).map_err(|_| PushRefusal::Damaged)?;
        match () {
            () if batch.compression().is_some() => Err(PushRefusal::Compressed),
            () if rows > ROWS_FREE.saturating_add(body / 8) => Err(PushRefusal::Rows),
            // the library asserts it, and each panic would be a line of the log
            () if !lies_within(&batch, body) => Err(PushRefusal::Damaged),
            () => Ok(()),
        }
    }

    fn rows(&self, rows: &RecordBatch, parser: &mut LineParser, pass_on: &mut impl FnMut(Batch, Report)) {
        let columns: Vec<(usize, bool, Values<'_>)> = self
            .columns
            .iter()
            .filter_map(|&(column, field)| {
                let decides = FIELDS.get(field).is_some_and(|name| DECIDING.contains(name));
                Some((field, decides, Values::of(rows.columns().get(column)?)))
            })
            .collect();
        let (mut batch, mut report) = (Batch::default(), Report::default());
        for row in 0..rows.num_rows() {
            let cells = columns.iter().map(|(field, decides, values)| {
                let cell = match values.cell(row).map_or(LineCell::Other, cell) {
                    LineCell::Null if *decides => LineCell::Absent,
                    cell => cell,
                };
                (*field, cell)
            });
            parser.row(cells, &mut batch, &mut report);
            let next = row.saturating_add(1);
            if next.is_multiple_of(ROWS_AT_ONCE) || next == rows.num_rows() {
                pass_on(mem::take(&mut batch), mem::take(&mut report));
            }
        }
    }
}

/// True if every buffer of a batch lies within the body of its message.
fn lies_within(batch: &arrow_ipc::RecordBatch<'_>, body: usize) -> bool {
    let Some(buffers) = batch.buffers() else { return true };
    buffers.iter().all(|buffer| {
        let end = buffer.offset().checked_add(buffer.length()).and_then(|end| usize::try_from(end).ok());
        buffer.offset() >= 0 && buffer.length() >= 0 && end.is_some_and(|end| end <= body)
    })
}

/// Where the columns with a meaning stand, and the places of their fields.
fn places(schema: &Schema) -> Result<Vec<(usize, usize)>, PushRefusal> {
    if schema.fields().len() > COLUMNS_MOST {
        return Err(PushRefusal::Columns);
    }
    let mut places: Vec<(usize, usize)> = Vec::new();
    for (column, field) in schema.fields().iter().enumerate() {
        let Some(place) = FIELDS.iter().position(|name| *name == bare(field.name())) else { continue };
        let name = FIELDS.get(place).copied().unwrap_or_default();
        if places.iter().any(|&(_, other)| other == place) {
            return Err(PushRefusal::Twice(name));
        }
        match field.data_type() {
            DataType::Timestamp(_, None) if name == "time" => return Err(PushRefusal::Zone(name)),
            kind if !Values::reads(kind) => return Err(PushRefusal::Type(name, kind.to_string())),
            _ => places.push((column, place)),
        }
    }
    let has = |name: &&str| places.iter().any(|&(_, place)| FIELDS.get(place) == Some(name));
    if KINDS.iter().any(|kind| kind.iter().all(has)) { Ok(places) } else { Err(PushRefusal::NoKind) }
}

/// A value of a table as one of a line.
fn cell(typed: Cell<'_>) -> LineCell<'_> {
    match typed {
        Cell::Empty => LineCell::Null,
        Cell::Text(text) => LineCell::Text(Cow::Borrowed(text)),
        Cell::Number(x) => LineCell::Number(x),
        Cell::Whole(n) => LineCell::Whole(n),
        Cell::Date(date) => LineCell::Date(date),
        Cell::Time(ts) => LineCell::Time(ts),
        // a column of dates is one of midnights in several libraries
        Cell::Civil(at) if at.time() == Time::midnight() => LineCell::Date(at.date()),
        Cell::Civil(_) => LineCell::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::types::{Int8Type, Int32Type};
    use arrow_array::{
        ArrayRef, BooleanArray, Date32Array, DictionaryArray, Float64Array, Int64Array, ListArray, NullArray,
        StringArray, TimestampMicrosecondArray, TimestampNanosecondArray,
    };
    use arrow_ipc::writer::StreamWriter;
    use feeds::lines::parse_lines;
    use kernel::contract::RootTable;
    use kernel::error::Reason;
    use proptest::prelude::*;
    use std::panic::catch_unwind;
    use std::path::Path;
    use std::sync::Arc;

    const AT: i64 = 1_795_207_320_123_456;

    fn stream(columns: Vec<(&str, ArrayRef)>) -> Vec<u8> {
        let batch = RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(n, a)| (n, a, true))).unwrap();
        let mut writer = StreamWriter::try_new(Vec::new(), &batch.schema()).unwrap();
        (0..2).for_each(|_| writer.write(&batch).unwrap());
        writer.into_inner().unwrap()
    }

    fn texts(words: &[Option<&str>]) -> ArrayRef {
        Arc::new(StringArray::from(words.to_vec()))
    }

    fn numbers(numbers: &[Option<f64>]) -> ArrayRef {
        Arc::new(Float64Array::from(numbers.to_vec()))
    }

    fn quotes() -> Vec<(&'static str, ArrayRef)> {
        let osym: DictionaryArray<Int32Type> =
            ["ACME  261218C00100000", "ACME261218P00100000", "ACME  26"].into_iter().collect();
        vec![
            ("osym", Arc::new(osym)),
            ("bid", numbers(&[Some(4.1), None, Some(1.0)])),
            ("ask", numbers(&[Some(4.2), Some(3.0), Some(f64::NAN)])),
            ("bid_size", Arc::new(Int64Array::from(vec![Some(12), None, Some(-1)]))),
            ("time", Arc::new(TimestampMicrosecondArray::from(vec![AT; 3]).with_timezone("UTC"))),
            ("note", Arc::new(BooleanArray::from(vec![true; 3]))),
        ]
    }

    fn read(bytes: &[u8], piece: usize) -> (Result<PushedSoFar, PushRefusal>, Batch, Report) {
        let mut table = PushedTable::default();
        let mut parser = LineParser::new(Path::new("x"), RootTable::embedded());
        let (mut batch, mut report) = (Batch::default(), Report::default());
        let mut last = Ok(PushedSoFar { used: 0, ended: false });
        for piece in bytes.chunks(piece) {
            last = table.read(piece, &mut parser, &mut |more, told| {
                let Batch { reset, quotes, spots, dividends, rates, .. } = more;
                batch.reset.extend(reset);
                batch.quotes.extend(quotes);
                batch.spots.extend(spots);
                batch.dividends.get_or_insert_default().extend(dividends.into_iter().flatten());
                batch.rates.get_or_insert_default().extend(rates.into_iter().flatten());
                report.absorb(told);
            });
            if last != Ok(PushedSoFar { used: piece.len(), ended: false }) {
                break;
            }
        }
        (last, batch, report)
    }

    #[test]
    fn rows_are_the_lines_with_the_same_fields() {
        let lines = format!(
            "{{\"osym\":\"ACME  261218C00100000\",\"bid\":4.1,\"ask\":4.2,\"bid_size\":12,\"time\":{AT}}}\n\
             {{\"osym\":\"ACME261218P00100000\",\"bid\":null,\"ask\":3.0,\"bid_size\":null,\"time\":{AT}}}\n\
             {{\"osym\":\"ACME  26\",\"bid\":1.0,\"ask\":NaN,\"bid_size\":-1,\"time\":{AT}}}\n"
        );
        let (want, told) = parse_lines(Path::new("x"), lines.repeat(2).as_bytes());
        let bytes = stream(quotes());
        for piece in [1, 7, 64, 1000, bytes.len()] {
            let (read, got, report) = read(&bytes, piece);
            assert!(read.unwrap().ended, "{piece}");
            assert_eq!(format!("{:?}", got.quotes), format!("{:?}", want.quotes), "{piece}");
            assert_eq!((report.records, report.places), (told.records, told.places.clone()), "{piece}");
        }
    }

    #[test]
    fn a_table_has_rows_of_several_kinds() {
        let bytes = stream(vec![
            ("forget", texts(&[Some("ACME"), None, None, None, None])),
            ("symbol", texts(&[None, Some("ACME"), Some("ACME"), None, None])),
            ("price", numbers(&[None, Some(101.27), None, None, None])),
            ("time", Arc::new(TimestampNanosecondArray::from(vec![AT * 1000; 5]).with_timezone("UTC"))),
            ("ex_date", Arc::new(Date32Array::from(vec![None, None, Some(20_791), None, None]))),
            ("amount", numbers(&[None, None, Some(0.35), None, None])),
            ("date", texts(&[None, None, None, Some("2026-11-20"), Some("2026-11-20")])),
            ("tenor_days", Arc::new(Int64Array::from(vec![None, None, None, Some(30), Some(60)]))),
            ("rate", numbers(&[None, None, None, Some(0.04), None])),
        ]);
        let (_, batch, report) = read(&bytes, bytes.len());
        assert_eq!(report.places, []);
        assert_eq!((batch.reset.len(), batch.spots.len(), batch.quotes.len()), (2, 2, 0), "of two messages");
        let (dividends, rates) = (batch.dividends.unwrap(), batch.rates.unwrap());
        assert_eq!(dividends[0].ex_date.to_string(), "2026-12-04");
        assert!(rates.len() == 4 && rates[1].rate.is_nan());
    }

    #[test]
    fn a_message_of_many_rows_is_passed_on_in_parts() {
        let rows = 3 * ROWS_AT_ONCE + 5;
        let osym: DictionaryArray<Int8Type> = std::iter::repeat_n("ACME  261218C00100000", rows).collect();
        let (sides, time) = (numbers(&vec![Some(4.1); rows]), Int64Array::from(vec![AT; rows]));
        let columns: Vec<(&str, ArrayRef)> =
            vec![("osym", Arc::new(osym)), ("bid", Arc::clone(&sides)), ("ask", sides), ("time", Arc::new(time))];
        let mut parts = Vec::new();
        let mut parser = LineParser::new(Path::new("x"), RootTable::embedded());
        let read = PushedTable::default().read(&stream(columns), &mut parser, &mut |batch, report| {
            parts.push((batch.quotes.len(), report.records));
        });
        assert!(read.unwrap().ended);
        let of_one = [ROWS_AT_ONCE, ROWS_AT_ONCE, ROWS_AT_ONCE, 5].map(|n| (n, n as u64));
        assert_eq!(parts, [of_one, of_one].concat());
    }

    #[test]
    fn what_is_not_read_is_refused_in_words() {
        let with = |name: &'static str, column: ArrayRef| {
            let mut columns = quotes();
            columns.retain(|(other, _)| *other != name);
            columns.push((name, column));
            stream(columns)
        };
        let said = |bytes: &[u8]| read(bytes, bytes.len()).0.unwrap_err();
        let naive = Arc::new(TimestampMicrosecondArray::from(vec![AT; 3]));
        assert_eq!(said(&with("time", naive)), PushRefusal::Zone("time"));
        let list = Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>([Some([Some(1)]), None, None]));
        assert!(matches!(said(&with("ask", list)), PushRefusal::Type("ask", _)));
        assert_eq!(said(&stream(vec![("strike", numbers(&[Some(1.0)]))])), PushRefusal::NoKind);
        assert_eq!(said(&stream([quotes(), vec![("bid", numbers(&[None; 3]))]].concat())), PushRefusal::Twice("bid"));
        let rows = 1_000_000;
        let none: Vec<(&str, ArrayRef)> =
            ["osym", "bid", "ask", "time"].map(|name| (name, Arc::new(NullArray::new(rows)) as ArrayRef)).to_vec();
        assert_eq!(said(&stream(none)), PushRefusal::Rows, "a million rows without a byte");
        let long: Vec<Option<&str>> = vec![Some("ACME  261218C00100000"); BODY_MOST / 21 + 1];
        assert_eq!(said(&stream(vec![("forget", texts(&long))])), PushRefusal::Large);
        assert_eq!(said(b"\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x7F"), PushRefusal::Large);
        assert_eq!(said(b"\xFF\xFF\xFF\x00\xFF\xFF\xFF\x7F"), PushRefusal::Damaged);
        assert!(PushRefusal::Large.to_string().contains("16 MB"), "{}", PushRefusal::Large);
    }

    #[test]
    fn a_field_of_another_kind_costs_its_row() {
        let mut columns = quotes();
        columns[1].1 = texts(&[Some("a"), None, None]);
        let (_, batch, report) = read(&stream(columns), 1 << 20);
        assert_eq!((batch.quotes.len(), report.records), (2, 6));
        assert_eq!(
            (report.places[0].line, report.places[0].field, report.places[0].reason),
            (1, "bid", Reason::NotANumber)
        );
    }

    #[test]
    fn damage_that_the_library_asserts_is_refused() {
        let bytes = stream(quotes());
        // the places of buffers are among the bytes, and each is in turn far away or negative
        let spoiled = (0..bytes.len()).flat_map(|at| [0x5B, 0xFF, 0x80, 1].map(|byte| (at, byte)));
        let faults = spoiled.filter(|&(at, byte)| {
            let mut bytes = bytes.clone();
            bytes[at] = byte;
            catch_unwind(|| read(&bytes, bytes.len())).is_err()
        });
        assert_eq!(faults.collect::<Vec<_>>(), []);
    }

    proptest! {
        #[test]
        fn no_damage_to_a_stream_gives_an_absurd_price(
            spoiled in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
            cut in any::<prop::sample::Index>(),
        ) {
            let mut bytes = stream(quotes());
            for (at, byte) in spoiled {
                let at = at.index(bytes.len());
                bytes[at] = byte;
            }
            bytes.truncate(cut.index(bytes.len()) + 1);
            for q in read(&bytes, 100).1.quotes {
                prop_assert!(!(q.bid < 0.0 || q.ask < 0.0 || q.bid.is_infinite() || q.ask.is_infinite()));
            }
        }
    }
}
