//! MadeSnapshots as Parquet, in the layout of the open sets `options-dataset-hist`. Never: a computation.

use crate::folder::{osi, word, zero};
use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use kernel::calendar::Calendar;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::Result;
use parquet::file::properties::WriterProperties;
use sim::days::MadeSnapshot;
use std::fs::File;
use std::sync::Arc;

/// A Parquet file that snapshots are written to.
pub(crate) struct Table {
    file: File,
    writer: Option<ArrowWriter<File>>,
}

impl Table {
    /// An empty one.
    pub(crate) fn new(file: File) -> Self {
        Self { file, writer: None }
    }

    /// Writes the quotes of a snapshot.
    pub(crate) fn quotes(&mut self, calendar: &Calendar, snapshot: &MadeSnapshot) -> Result<()> {
        let rows = &snapshot.rows;
        let (name, date) = (snapshot.underlying.to_string(), calendar.eastern(snapshot.ts).date().to_string());
        let text = |of: &dyn Fn(usize) -> String| -> ArrayRef {
            Arc::new((0..rows.len()).map(|row| Some(of(row))).collect::<StringArray>())
        };
        let number = |of: &dyn Fn(usize) -> f64| -> ArrayRef {
            Arc::new((0..rows.len()).map(|row| Some(of(row))).collect::<Float64Array>())
        };
        let count = |of: &dyn Fn(usize) -> u32| -> ArrayRef {
            Arc::new((0..rows.len()).map(|row| Some(i64::from(of(row)))).collect::<Int64Array>())
        };
        self.write(RecordBatch::try_from_iter([
            ("contract_id", text(&|row| osi(rows[row].contract))),
            ("symbol", text(&|_| name.clone())),
            ("expiration", text(&|row| rows[row].contract.expiry.to_string())),
            ("strike", number(&|row| f64::from(rows[row].contract.strike_milli) / 1000.0)),
            ("type", text(&|row| word(rows[row].contract.right).to_owned())),
            ("bid", number(&|row| zero(rows[row].bid))),
            ("ask", number(&|row| zero(rows[row].ask))),
            ("volume", count(&|row| rows[row].volume)),
            ("open_interest", count(&|row| rows[row].open_interest)),
            ("date", text(&|_| date.clone())),
            ("implied_volatility", number(&|_| 0.0)),
            ("delta", number(&|_| 0.0)),
        ])?)
    }

    /// Writes the closing prices beside quotes.
    pub(crate) fn closes(&mut self, calendar: &Calendar, snapshots: &[(MadeSnapshot, f64)]) -> Result<()> {
        let text = |of: &dyn Fn(&MadeSnapshot) -> String| -> ArrayRef {
            Arc::new(snapshots.iter().map(|(snapshot, _)| Some(of(snapshot))).collect::<StringArray>())
        };
        let close: ArrayRef = Arc::new(snapshots.iter().map(|(_, spot)| Some(*spot)).collect::<Float64Array>());
        self.write(RecordBatch::try_from_iter([
            ("symbol", text(&|snapshot| snapshot.underlying.to_string())),
            ("date", text(&|snapshot| calendar.eastern(snapshot.ts).date().to_string())),
            ("open", Arc::clone(&close)),
            ("close", Arc::clone(&close)),
            ("adjusted_close", close),
        ])?)
    }

    fn write(&mut self, batch: RecordBatch) -> Result<()> {
        if self.writer.is_none() {
            let compression = Compression::ZSTD(ZstdLevel::try_new(3)?);
            let properties = WriterProperties::builder().set_compression(compression);
            let properties = properties.set_max_row_group_row_count(Some(65_536)).build();
            self.writer = Some(ArrowWriter::try_new(self.file.try_clone()?, batch.schema(), Some(properties))?);
        }
        self.writer.as_mut().map_or(Ok(()), |writer| writer.write(&batch))
    }

    /// Ends the file.
    pub(crate) fn finish(self) -> Result<()> {
        self.writer.map_or(Ok(()), |writer| writer.close().map(|_| ()))
    }
}
