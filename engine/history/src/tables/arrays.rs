//! Rows of chains to Arrow arrays: columns side by side, NaN as null, words that come again as one dictionary. Never: a
//! file, a format on the wire.

use super::fields::arrow_schema;
use super::rows::{TableRows, TableSymbols};
use crate::schema::{FileCell, FileColumn, FileWord};
use arrow_array::builder::StringBuilder;
use arrow_array::types::Int32Type;
use arrow_array::{
    ArrayRef, Date32Array, DictionaryArray, Float64Array, Int32Array, RecordBatch, StringArray,
    TimestampMicrosecondArray,
};
use arrow_buffer::{BooleanBuffer, NullBuffer};
use arrow_schema::{ArrowError, SchemaRef};
use engine::exercise::{self, ADVICE};
use engine::store::chain::{Chain, Slice};
use engine::store::columns::Col;
use engine::store::drop_reason::DropReason;
use engine::store::quotes::QuoteNumber;
use jiff::Timestamp;
use jiff::civil::Date;
use kernel::calendar::Calendar;
use kernel::contract::{Right, Settle, Style, Symbol};
use kernel::contract::{osi::OSI_LEN, strike_of};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

/// Columns that rows are laid out in.
#[derive(Clone, Debug)]
pub(super) struct ArrayForm {
    columns: Arc<[FileColumn]>,
    groups: String,
    schema: SchemaRef,
    calendar: Calendar,
}

/// The words of a table, each kind a dictionary: all batches of a table share them.
#[derive(Clone, Debug)]
pub(super) struct Words {
    underlyings: Dictionary,
    roots: Dictionary,
    groups: Dictionary,
    styles: Dictionary,
    settlements: Dictionary,
    rights: Dictionary,
    drops: Dictionary,
    advice: Dictionary,
}

#[derive(Clone, Debug)]
struct Dictionary {
    words: Arc<StringArray>,
    /// Index of each symbol among the words; empty if the words are no symbols.
    places: HashMap<Symbol, i32>,
}

impl Dictionary {
    fn of_words(words: &[&str]) -> Self {
        Self { words: Arc::new(StringArray::from_iter_values(words)), places: HashMap::new() }
    }

    fn of_symbols(symbols: impl Iterator<Item = Symbol>) -> Self {
        let (mut places, mut words) = (HashMap::new(), Vec::new());
        for symbol in symbols {
            places.entry(symbol).or_insert_with(|| {
                words.push(symbol);
                i32::try_from(words.len() - 1).unwrap_or(i32::MAX)
            });
        }
        Self { words: Arc::new(StringArray::from_iter_values(words.iter().map(Symbol::as_str))), places }
    }

    fn place(&self, symbol: Symbol) -> i32 {
        self.places.get(&symbol).copied().unwrap_or(0)
    }

    fn array(&self, keys: impl Into<Int32Array>) -> Result<ArrayRef, ArrowError> {
        let words = Arc::clone(&self.words) as ArrayRef;
        Ok(Arc::new(DictionaryArray::<Int32Type>::try_new(keys.into(), words)?))
    }
}

impl Words {
    /// True if a chain has no symbol but those of the table.
    pub(super) fn has_all_of(&self, chain: &Chain) -> bool {
        let is_there = |words: &Dictionary, symbol: Symbol| words.places.contains_key(&symbol);
        is_there(&self.underlyings, chain.underlying)
            && chain.slices.iter().all(|slice| is_there(&self.roots, slice.root))
    }
}

impl ArrayForm {
    /// Tables of these columns; their schema carries the field groups and `about`.
    #[must_use]
    pub(super) fn new(columns: Vec<FileColumn>, groups: &str, about: &[(String, String)]) -> Self {
        let schema = Arc::new(arrow_schema(&columns, about));
        Self { columns: columns.into(), groups: groups.to_owned(), schema, calendar: Calendar::embedded() }
    }

    /// The schema of the columns.
    #[must_use]
    pub(super) fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    /// The columns.
    #[must_use]
    pub(super) fn columns(&self) -> &[FileColumn] {
        &self.columns
    }

    /// The words of a table with these symbols.
    #[must_use]
    pub(super) fn words(&self, symbols: &TableSymbols) -> Words {
        Words {
            underlyings: Dictionary::of_symbols(symbols.underlyings.iter().copied()),
            roots: Dictionary::of_symbols(symbols.roots.iter().copied()),
            groups: Dictionary::of_words(&[&self.groups]),
            styles: Dictionary::of_words(&["american", "european"]),
            settlements: Dictionary::of_words(&["am", "pm"]),
            rights: Dictionary::of_words(&["call", "put"]),
            drops: Dictionary::of_words(&DropReason::ALL.map(DropReason::name)),
            advice: Dictionary::of_words(&ADVICE),
        }
    }

    /// Rows, column by column. Their words are among `words`.
    ///
    /// # Errors
    /// The library refuses the arrays.
    pub(super) fn batch(&self, words: &Words, rows: &[TableRows<'_>]) -> Result<RecordBatch, ArrowError> {
        let table =
            Table { words, rows, length: rows.iter().flat_map(|part| part.rows).map(ExactSizeIterator::len).sum() };
        let arrays = self.columns.iter().map(|column| table.array(column.cell, &self.calendar));
        RecordBatch::try_new(Arc::clone(&self.schema), arrays.collect::<Result<_, _>>()?)
    }
}

/// Rows that become arrays.
struct Table<'a> {
    words: &'a Words,
    rows: &'a [TableRows<'a>],
    length: usize,
}

impl<'a> Table<'a> {
    fn array(&self, cell: FileCell, calendar: &Calendar) -> Result<ArrayRef, ArrowError> {
        Ok(match cell {
            FileCell::Time => times(self.of_chain(|chain| chain.valued_at.as_microsecond())),
            FileCell::QuoteTime => {
                // chains without quotes show when they were valued, as rows of text do
                let time = |chain: &Chain, row: usize| {
                    chain.quotes.as_ref().map_or(chain.valued_at, |quotes| quotes.time(row)).as_microsecond()
                };
                times(self.of_row(time))
            }
            FileCell::Date => {
                let day = |at: Timestamp| days_since_1970(calendar.eastern(at).date());
                Arc::new(Date32Array::from(self.of_chain(|chain| day(chain.valued_at))))
            }
            FileCell::Word(word) => self.words_of(word)?,
            FileCell::Expiry => Arc::new(Date32Array::from(self.of_slice(|slice| days_since_1970(slice.expiry)))),
            FileCell::Strike => {
                Arc::new(Float64Array::from(self.of_row(|chain, row| strike_of(chain.strike_milli[row]))))
            }
            FileCell::StrikeMilli => {
                // bounded far below the greatest of them
                let milli = |chain: &Chain, row: usize| i32::try_from(chain.strike_milli[row]).unwrap_or(i32::MAX);
                Arc::new(Int32Array::from(self.of_row(milli)))
            }
            FileCell::Right => {
                self.words.rights.array(self.of_row(|chain, row| i32::from(chain.right[row] == Right::Put)))?
            }
            FileCell::Dropped => {
                let why = |chain: &Chain, row: usize| chain.dropped.get(row).copied().flatten().map(|why| why as i32);
                self.words.drops.array(self.of_row(why))?
            }
            FileCell::Osym => Arc::new(self.osi_symbols()),
            FileCell::Slice(number) => numbers(self.of_slice(number)),
            FileCell::Number(col) => numbers(self.column(col)),
            FileCell::Quote(number) => numbers(self.quotes(number)),
        })
    }

    fn words_of(&self, word: FileWord) -> Result<ArrayRef, ArrowError> {
        let words = self.words;
        match word {
            FileWord::Underlying => {
                words.underlyings.array(self.of_chain(|chain| words.underlyings.place(chain.underlying)))
            }
            FileWord::Root => words.roots.array(self.of_slice(|slice| words.roots.place(slice.root))),
            FileWord::Style => words.styles.array(self.of_slice(|slice| i32::from(slice.style == Style::European))),
            FileWord::Settle => words.settlements.array(self.of_slice(|slice| i32::from(slice.settle == Settle::Pm))),
            FileWord::Groups => words.groups.array(vec![0; self.length]),
            FileWord::Exercise => {
                let states = self.column(Col::ExerciseState).into_iter();
                words
                    .advice
                    .array(states.map(|state| state.is_finite().then_some(state as i32)).collect::<Int32Array>())
            }
        }
    }

    /// A column whose value is constant over a chain.
    fn of_chain<T: Copy>(&self, value: impl Fn(&Chain) -> T) -> Vec<T> {
        let mut out = Vec::with_capacity(self.length);
        for part in self.rows {
            let n: usize = part.rows.iter().map(ExactSizeIterator::len).sum();
            out.extend(std::iter::repeat_n(value(part.chain), n));
        }
        out
    }

    /// A column whose value is constant over a slice.
    fn of_slice<T: Copy>(&self, value: impl Fn(&Slice) -> T) -> Vec<T> {
        let mut out = Vec::with_capacity(self.length);
        self.each_run(|_, slice, rows| out.extend(std::iter::repeat_n(value(slice), rows.len())));
        out
    }

    fn of_row<T>(&self, value: impl Fn(&'a Chain, usize) -> T) -> Vec<T> {
        let mut out = Vec::with_capacity(self.length);
        for part in self.rows {
            let rows = part.rows.iter().flat_map(|rows| rows.start as usize..rows.end as usize);
            out.extend(rows.map(|row| value(part.chain, row)));
        }
        out
    }

    fn column(&self, col: Col) -> Vec<f64> {
        let mut out = Vec::with_capacity(self.length);
        for part in self.rows {
            let column = exercise::column(part.chain, col);
            part.rows.iter().for_each(|rows| out.extend_from_slice(&column[rows.start as usize..rows.end as usize]));
        }
        out
    }

    fn quotes(&self, number: QuoteNumber) -> Vec<f64> {
        self.of_row(|chain, row| chain.quotes.as_ref().map_or(f64::NAN, |quotes| quotes.get(row, number)))
    }

    fn osi_symbols(&self) -> StringArray {
        let (mut symbols, mut text) = (StringBuilder::with_capacity(self.length, self.length * OSI_LEN), [0; OSI_LEN]);
        self.each_run(|chain, slice, rows| {
            for row in rows {
                slice.contract(chain.strike_milli[row], chain.right[row]).write_padded(&mut text);
                symbols.append_value(String::from_utf8_lossy(&text));
            }
        });
        symbols.finish()
    }

    /// Calls with the rows of each slice, in order.
    fn each_run(&self, mut run: impl FnMut(&Chain, &Slice, Range<usize>)) {
        for &TableRows { chain, rows } in self.rows {
            let mut at = 0;
            for rows in rows {
                let mut next = rows.start;
                while next < rows.end {
                    at += chain.slices[at..].iter().take_while(|slice| slice.rows.end <= next).count();
                    let Some(slice) = chain.slices.get(at) else { break };
                    let end = slice.rows.end.min(rows.end);
                    run(chain, slice, next as usize..end as usize);
                    next = end;
                }
            }
        }
    }
}

/// NaN means missing.
fn numbers(values: Vec<f64>) -> ArrayRef {
    let known = BooleanBuffer::collect_bool(values.len(), |i| !values[i].is_nan());
    let nulls = Some(NullBuffer::new(known)).filter(|nulls| nulls.null_count() > 0);
    Arc::new(Float64Array::new(values.into(), nulls))
}

fn times(micros: Vec<i64>) -> ArrayRef {
    Arc::new(TimestampMicrosecondArray::from(micros).with_timezone("UTC"))
}

fn days_since_1970(date: Date) -> i32 {
    const EPOCH: Date = Date::constant(1970, 1, 1);
    EPOCH.until(date).map_or(0, |span| span.get_days())
}
