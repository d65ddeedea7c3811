//! Chains to Parquet: row groups of a fixed number of rows, zstd, dictionaries for what comes again, NaN as null. The same
//! chains give the same bytes. The only file that writes it. Never: a computation, a path.

use crate::output::{FileForm, GreeksWriter};
use crate::recipe::{Recipe, VERSION};
use crate::schema::{FileCell, FileColumn, FileWord, arrow_schema, file_columns, file_groups};
use arrow_array::builder::StringBuilder;
use arrow_array::types::Int32Type;
use arrow_array::{
    ArrayRef, Date32Array, DictionaryArray, Float64Array, Int32Array, RecordBatch, StringArray,
    TimestampMicrosecondArray,
};
use arrow_schema::{ArrowError, SchemaRef};
use engine::calendar::Calendar;
use engine::contract::osi::OSI_LEN;
use engine::contract::{ContractKey, Right, Settle, Style};
use engine::store::chain::{Chain, Slice};
use jiff::civil::Date;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::schema::types::ColumnPath;
use std::fs::File;
use std::io;
use std::sync::Arc;

/// Rows of a row group: what a reader can leave out at once, and what a writer holds in memory.
pub const ROW_GROUP: usize = 65_536;
const ZSTD_LEVEL: i32 = 3;

/// Parquet files of a recipe.
#[derive(Clone, Debug)]
pub struct ParquetForm {
    columns: Arc<[FileColumn]>,
    groups: &'static str,
    schema: SchemaRef,
    properties: WriterProperties,
    calendar: Calendar,
}

impl ParquetForm {
    /// Files of a recipe, that say so.
    ///
    /// # Errors
    /// The library refuses the level of compression.
    pub fn new(recipe: Recipe) -> io::Result<Self> {
        let columns: Arc<[FileColumn]> = file_columns(recipe).into();
        let about = about(recipe);
        let level = ZstdLevel::try_new(ZSTD_LEVEL).map_err(refused)?;
        let mut properties = WriterProperties::builder()
            .set_created_by(format!("greeksd {}", env!("CARGO_PKG_VERSION")))
            .set_compression(Compression::ZSTD(level))
            .set_max_row_group_row_count(Some(ROW_GROUP))
            .set_dictionary_enabled(false)
            .set_key_value_metadata(Some(
                about.iter().map(|(key, value)| KeyValue::new(key.clone(), value.clone())).collect(),
            ));
        for column in columns.iter().filter(|column| column.repeats()) {
            properties = properties.set_column_dictionary_enabled(ColumnPath::from(column.name), true);
        }
        let schema = Arc::new(arrow_schema(&columns, &about));
        let (properties, calendar) = (properties.build(), Calendar::embedded());
        Ok(Self { columns, groups: file_groups(recipe), schema, properties, calendar })
    }
}

/// What a file says of itself.
#[must_use]
pub fn about(recipe: Recipe) -> Vec<(String, String)> {
    let facts = [
        ("greeksd.version", env!("CARGO_PKG_VERSION").to_owned()),
        ("greeksd.recipe_version", VERSION.to_string()),
        ("greeksd.accuracy", recipe.accuracy.name().to_owned()),
        ("greeksd.recipe", recipe.text()),
        ("greeksd.greeks", file_groups(recipe).to_owned()),
        ("greeksd.missing", "null: the value is missing; never zero, never NaN".to_owned()),
        ("greeksd.order", "quote_time where a day has several, then expiry, settle, root, strike, right".to_owned()),
    ];
    facts.map(|(key, value)| (key.to_owned(), value)).to_vec()
}

impl FileForm for ParquetForm {
    fn extension(&self) -> &'static str {
        "parquet"
    }

    fn begin(&self, file: File) -> io::Result<Box<dyn GreeksWriter>> {
        let writer = ArrowWriter::try_new(file, Arc::clone(&self.schema), Some(self.properties.clone()));
        Ok(Box::new(ParquetWriter { form: self.clone(), writer: writer.map_err(refused)? }))
    }
}

struct ParquetWriter {
    form: ParquetForm,
    writer: ArrowWriter<File>,
}

impl GreeksWriter for ParquetWriter {
    fn chain(&mut self, chain: &Arc<Chain>) -> io::Result<()> {
        if chain.rows() == 0 {
            return Ok(());
        }
        let batch = self.form.batch(chain).map_err(|error| io::Error::other(error.to_string()))?;
        self.writer.write(&batch).map_err(refused)
    }

    fn finish(self: Box<Self>) -> io::Result<File> {
        self.writer.into_inner().map_err(refused)
    }
}

fn refused(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(cause) => match cause.downcast::<io::Error>() {
            Ok(cause) => *cause,
            Err(cause) => io::Error::other(cause),
        },
        other => io::Error::other(other),
    }
}

impl ParquetForm {
    /// The rows of a chain, column by column.
    fn batch(&self, chain: &Chain) -> Result<RecordBatch, ArrowError> {
        let arrays = self.columns.iter().map(|column| self.array(column.cell, chain));
        RecordBatch::try_new(Arc::clone(&self.schema), arrays.collect::<Result<_, _>>()?)
    }

    fn array(&self, cell: FileCell, chain: &Chain) -> Result<ArrayRef, ArrowError> {
        let rows = chain.strike_milli.len();
        Ok(match cell {
            FileCell::Time => {
                let times = TimestampMicrosecondArray::from(vec![chain.valued_at.as_microsecond(); rows]);
                Arc::new(times.with_timezone("UTC"))
            }
            FileCell::Date => {
                let day = days_since_1970(self.calendar.eastern(chain.valued_at).date());
                Arc::new(Date32Array::from(vec![day; rows]))
            }
            FileCell::Word(word) => self.words(word, chain)?,
            FileCell::Expiry => {
                let of_slice = |slice: &Slice| std::iter::repeat_n(days_since_1970(slice.expiry), slice.rows.len());
                Arc::new(Date32Array::from_iter_values(chain.slices.iter().flat_map(of_slice)))
            }
            FileCell::Strike => {
                let strike = |&milli: &u32| f64::from(milli) / 1000.0;
                Arc::new(Float64Array::from_iter_values(chain.strike_milli.iter().map(strike)))
            }
            FileCell::StrikeMilli => {
                // bounded far below the greatest of them
                let milli = |&milli: &u32| i32::try_from(milli).unwrap_or(i32::MAX);
                Arc::new(Int32Array::from_iter_values(chain.strike_milli.iter().map(milli)))
            }
            FileCell::Right => {
                let keys = chain.right.iter().map(|&right| i32::from(right == Right::Put));
                dictionary_of(keys.collect(), &["call", "put"])?
            }
            FileCell::Osym => Arc::new(osi_symbols(chain)),
            FileCell::Slice(number) => {
                let of_slice = |slice: &Slice| std::iter::repeat_n(known(number(slice)), slice.rows.len());
                Arc::new(chain.slices.iter().flat_map(of_slice).collect::<Float64Array>())
            }
            FileCell::Number(col) => {
                Arc::new(chain.columns.get(col).iter().map(|&x| known(x)).collect::<Float64Array>())
            }
            FileCell::Quote(number) => {
                let of = |row: usize| chain.quotes.as_ref().and_then(|quotes| known(quotes.get(row, number)));
                Arc::new((0..rows).map(of).collect::<Float64Array>())
            }
        })
    }

    fn words(&self, word: FileWord, chain: &Chain) -> Result<ArrayRef, ArrowError> {
        let of = |slice: &'_ Slice| match word {
            FileWord::Underlying => chain.underlying.as_str().to_owned(),
            FileWord::Root => slice.root.as_str().to_owned(),
            FileWord::Style => if slice.style == Style::American { "american" } else { "european" }.to_owned(),
            FileWord::Settle => if slice.settle == Settle::Am { "am" } else { "pm" }.to_owned(),
            FileWord::Groups => self.groups.to_owned(),
        };
        let (mut words, mut keys) = (Vec::<String>::new(), Vec::with_capacity(chain.strike_milli.len()));
        for slice in &chain.slices {
            let word = of(slice);
            let at = words.iter().position(|known| *known == word).unwrap_or_else(|| {
                words.push(word);
                words.len() - 1
            });
            let key = i32::try_from(at).unwrap_or(i32::MAX);
            keys.extend(std::iter::repeat_n(key, slice.rows.len()));
        }
        dictionary_of(keys, &words)
    }
}

fn dictionary_of(keys: Vec<i32>, words: &[impl AsRef<str>]) -> Result<ArrayRef, ArrowError> {
    let words = StringArray::from_iter_values(words.iter());
    Ok(Arc::new(DictionaryArray::<Int32Type>::try_new(Int32Array::from(keys), Arc::new(words))?))
}

/// NaN is what is missing.
fn known(number: f64) -> Option<f64> {
    (!number.is_nan()).then_some(number)
}

fn days_since_1970(date: Date) -> i32 {
    const EPOCH: Date = Date::constant(1970, 1, 1);
    EPOCH.until(date).map_or(0, |span| span.get_days())
}

fn osi_symbols(chain: &Chain) -> StringArray {
    let rows = chain.strike_milli.len();
    let (mut symbols, mut text) = (StringBuilder::with_capacity(rows, rows * OSI_LEN), [0; OSI_LEN]);
    for slice in &chain.slices {
        let (root, expiry) = (slice.root, slice.expiry);
        for row in slice.rows.start as usize..slice.rows.end as usize {
            let (strike_milli, right) = (chain.strike_milli[row], chain.right[row]);
            ContractKey { root, expiry, strike_milli, right }.write_padded(&mut text);
            symbols.append_value(String::from_utf8_lossy(&text));
        }
    }
    symbols.finish()
}
