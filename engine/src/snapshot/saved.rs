//! A finished market as bytes and back, for a daemon that starts again and has not yet computed its own.
//!
//! A head (magic number in the byte order of the machine, version, fingerprint of the columns, name of the market),
//! then a frame for each chain: its length, its CRC-32, and the chain, column after column. Numbers have their form in
//! memory, so that reading is copying. Bytes of another version, machine or set of columns are refused whole. A chain
//! in a damaged frame is missing. Never: a file.

use crate::store::chain::{Chain, Slice, Uncomputed};
use crate::store::columns::{Col, Columns};
use crate::store::doubt::Doubt;
use crate::store::drop_reason::DropReason;
use crate::store::firm_quotes::FirmQuotes;
use bytemuck::allocation::pod_collect_to_vec;
use core::fmt;
use jiff::{Timestamp, civil::Date};
use kernel::contract::{Right, Settle, Style, Symbol};
use kernel::limits;
use std::io::{self, Read, Write};

/// Magic number; in another byte order it is another number.
const MAGIC: u64 = 0x6772_6565_6b73_6401;
/// Version of the layout; columns have their own fingerprint.
const VERSION: u32 = 3;
/// Maximum bytes of a frame: a chain with the maximum of contracts.
const FRAME_BYTES: u64 = 1 << 30;

/// Errors of reading saved chains.
#[derive(Debug)]
pub enum SavedError {
    /// The bytes cannot be read.
    Io(io::Error),
    /// The bytes are no saved market of this version and machine with these columns.
    Foreign,
    /// The saved market is another one.
    OtherMarket,
}

impl fmt::Display for SavedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => error.fmt(f),
            Self::Foreign => f.write_str("no market that this version saved"),
            Self::OtherMarket => f.write_str("another market"),
        }
    }
}

impl core::error::Error for SavedError {}

impl From<io::Error> for SavedError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// The clock that decides which contracts of a saved chain have settled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExpiryClock {
    /// Live quotes: contracts that settle at this instant or before it are gone.
    At(Timestamp),
    /// Recorded quotes: contracts that settle at their chain's valuation time or before it are gone.
    ValuedAt,
}

impl ExpiryClock {
    fn instant(self, valued_at: Timestamp) -> Timestamp {
        match self {
            Self::At(now) => now,
            Self::ValuedAt => valued_at,
        }
    }
}

/// Saved chains that were read back.
#[derive(Debug, Default)]
pub struct Saved {
    /// Chains with a live contract.
    pub chains: Vec<Chain>,
    /// True if a chain is missing because its bytes are damaged or incomplete.
    pub is_damaged: bool,
}

/// Writes chains and the name of their market.
///
/// # Errors
/// The bytes cannot be written.
pub fn write<'a>(market: &str, chains: impl Iterator<Item = &'a Chain>, to: &mut impl Write) -> io::Result<()> {
    let mut bytes = Encoder::default();
    bytes.u64(MAGIC);
    bytes.u32(VERSION);
    bytes.u32(fingerprint());
    bytes.text(market);
    to.write_all(&bytes.0)?;
    for chain in chains {
        bytes.0.clear();
        bytes.chain(chain);
        to.write_all(&(bytes.0.len() as u64).to_ne_bytes())?;
        to.write_all(&u64::from(crc32fast::hash(&bytes.0)).to_ne_bytes())?;
        to.write_all(&bytes.0)?;
    }
    Ok(())
}

/// Reads back what [`write()`] wrote of this market: the chains of `wanted` underlyings, without the contracts that
/// have settled by `clock` and the chains that are left without any.
///
/// # Errors
/// No chain can be read.
pub fn read(
    market: &str,
    clock: ExpiryClock,
    wanted: impl Fn(Symbol) -> bool,
    from: &mut impl Read,
) -> Result<Saved, SavedError> {
    let mut head = [0; 16];
    from.read_exact(&mut head)?;
    let mut head = Decoder(&head);
    let expected = (Some(MAGIC), Some(VERSION), Some(fingerprint()));
    if (head.u64(), head.u32(), head.u32()) != expected {
        return Err(SavedError::Foreign);
    }
    let mut length = [0; 4];
    from.read_exact(&mut length)?;
    if u32::from_ne_bytes(length) as usize != market.len() {
        return Err(SavedError::OtherMarket);
    }
    let mut name = vec![0; market.len()];
    from.read_exact(&mut name)?;
    if name != market.as_bytes() {
        return Err(SavedError::OtherMarket);
    }
    let mut saved = Saved::default();
    let mut frame = Vec::new();
    loop {
        match next_frame(from, &mut frame)? {
            Frame::End => return Ok(saved),
            Frame::Whole => {}
            Frame::Damaged => {
                saved.is_damaged = true;
                continue;
            }
            Frame::Cut => return Ok(Saved { is_damaged: true, ..saved }),
        }
        if Decoder(&frame).symbol().is_some_and(|underlying| !wanted(underlying)) {
            continue;
        }
        match Decoder(&frame).chain(clock) {
            Some(chain) if chain.slices.is_empty() => {}
            Some(chain) => saved.chains.push(chain),
            None => saved.is_damaged = true,
        }
    }
}

enum Frame {
    End,
    Whole,
    /// The bytes are damaged; the next chain is readable.
    Damaged,
    /// The start of the next chain is unknown.
    Cut,
}

/// Reads the next frame into `frame`.
fn next_frame(from: &mut impl Read, frame: &mut Vec<u8>) -> io::Result<Frame> {
    let mut head = Vec::with_capacity(16);
    from.take(16).read_to_end(&mut head)?;
    if head.is_empty() {
        return Ok(Frame::End);
    }
    let mut head = Decoder(&head);
    let (Some(length), Some(sum)) = (head.u64(), head.u64()) else { return Ok(Frame::Cut) };
    if length > FRAME_BYTES {
        return Ok(Frame::Cut);
    }
    frame.clear();
    from.take(length).read_to_end(frame)?;
    if frame.len() as u64 != length {
        return Ok(Frame::Cut);
    }
    let is_whole = u64::from(crc32fast::hash(frame)) == sum;
    Ok(if is_whole { Frame::Whole } else { Frame::Damaged })
}

/// Fingerprint of the columns: their names in order.
fn fingerprint() -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    Col::OF_PASS.iter().for_each(|col| hasher.update(format!("{} ", col.name()).as_bytes()));
    hasher.finalize()
}

/// Returns a short name of a text, for the name of a file.
#[must_use]
pub fn tag(text: &str) -> String {
    format!("{:08x}", crc32fast::hash(text.as_bytes()))
}

/// Encodes a chain as bytes.
#[derive(Default)]
struct Encoder(Vec<u8>);

impl Encoder {
    fn u8(&mut self, x: u8) {
        self.0.push(x);
    }

    fn u32(&mut self, x: u32) {
        self.0.extend_from_slice(&x.to_ne_bytes());
    }

    fn u64(&mut self, x: u64) {
        self.0.extend_from_slice(&x.to_ne_bytes());
    }

    fn f64s(&mut self, x: &[f64]) {
        self.0.extend_from_slice(bytemuck::cast_slice(x));
    }

    fn text(&mut self, x: &str) {
        self.u32(u32::try_from(x.len()).unwrap_or(u32::MAX));
        self.0.extend_from_slice(x.as_bytes());
    }

    /// Nanoseconds since 1970; no market has times beyond the year 2262.
    fn time(&mut self, at: Timestamp) {
        self.u64(i64::try_from(at.as_nanosecond()).unwrap_or(i64::MAX).cast_unsigned());
    }

    fn chain(&mut self, chain: &Chain) {
        self.text(chain.underlying.as_str());
        self.f64s(&[chain.spot, chain.implied_spot, chain.implied_spot_error]);
        self.u8(u8::from(chain.spot_off));
        self.u8(chain.doubt.map_or(0, |doubt| 1 + doubt as u8));
        self.u32(chain.firm.firm);
        self.u32(chain.firm.outside);
        self.u8(chain.uncomputed.map_or(0, |why| 1 + why as u8));
        self.u8(u8::from(chain.preliminary));
        self.time(chain.valued_at);
        self.u32(u32::try_from(chain.slices.len()).unwrap_or(u32::MAX));
        self.u32(chain.rows());
        chain.slices.iter().for_each(|slice| self.slice(slice));
        self.0.extend_from_slice(bytemuck::cast_slice(&chain.strike_milli));
        self.0.extend(chain.right.iter().map(|&right| u8::from(right == Right::Put)));
        self.0.extend(chain.dropped.iter().map(|why| why.map_or(0, |why| 1 + why as u8)));
        Col::OF_PASS.iter().for_each(|&col| self.f64s(chain.columns.get(col)));
    }

    fn date(&mut self, date: Date) {
        self.u32(date.year().unsigned_abs().into());
        self.u8(date.month().unsigned_abs());
        self.u8(date.day().unsigned_abs());
    }

    fn slice(&mut self, slice: &Slice) {
        self.text(slice.root.as_str());
        self.date(slice.expiry);
        self.date(slice.listed);
        self.u32(slice.rows.end - slice.rows.start);
        self.u8(u8::from(slice.style == Style::European));
        self.u8(u8::from(slice.settle == Settle::Pm));
        self.u8(u8::from(slice.adjusted));
        self.time(slice.settles_at);
        let Slice { days, days_vt, und_price, fwd_price, disc_rate, borr_rate, divs, .. } = *slice;
        self.f64s(&[days, days_vt, und_price, fwd_price, disc_rate, borr_rate, divs]);
    }
}

/// Decodes the remaining bytes. A step returns `None` if there are too few, or their values are impossible.
struct Decoder<'a>(&'a [u8]);

impl<'a> Decoder<'a> {
    fn take(&mut self, n: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(n)?;
        self.0 = rest;
        Some(taken)
    }

    fn u8(&mut self) -> Option<u8> {
        self.take(1).map(|b| b[0])
    }

    fn u32(&mut self) -> Option<u32> {
        self.take(4)?.try_into().ok().map(u32::from_ne_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.take(8)?.try_into().ok().map(u64::from_ne_bytes)
    }

    fn flag(&mut self) -> Option<bool> {
        match self.u8()? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }

    /// Numbers; NaN: missing; infinity is refused.
    fn f64s(&mut self, n: usize) -> Option<Vec<f64>> {
        let numbers: Vec<f64> = pod_collect_to_vec(self.take(n.checked_mul(8)?)?);
        numbers.iter().all(|x| !x.is_infinite()).then_some(numbers)
    }

    fn text(&mut self) -> Option<&'a str> {
        let n = self.u32()? as usize;
        core::str::from_utf8(self.take(n)?).ok()
    }

    fn symbol(&mut self) -> Option<Symbol> {
        Symbol::parse(self.text()?)
    }

    fn time(&mut self) -> Option<Timestamp> {
        let at = Timestamp::from_nanosecond(self.u64()?.cast_signed().into()).ok()?;
        limits::YEAR.holds(f64::from(at.to_zoned_datetime(jiff::tz::TimeZone::UTC).year())).then_some(at)
    }

    /// One of `all` or nothing, by its index.
    fn one_of<T: Copy>(&mut self, all: &[T]) -> Option<Option<T>> {
        match self.u8()? {
            0 => Some(None),
            i => all.get(usize::from(i) - 1).map(|&one| Some(one)),
        }
    }

    /// A chain without the contracts that have settled by `clock`.
    ///
    /// # Domain   any bytes: `None` where they are no chain, and nothing is infinite or out of bounds where they are
    fn chain(&mut self, clock: ExpiryClock) -> Option<Chain> {
        let underlying = self.symbol()?;
        let [spot, implied_spot, implied_spot_error] = self.f64s(3)?.try_into().ok()?;
        let (spot_off, doubt) = (self.flag()?, self.one_of(&Doubt::ALL)?);
        let firm = FirmQuotes { firm: self.u32()?, outside: self.u32()? };
        let (uncomputed, preliminary) = (self.one_of(&Uncomputed::ALL)?, self.flag()?);
        let valued_at = self.time()?;
        let (slices, rows) = (self.u32()?, self.u32()? as usize);
        let mut all = Vec::new();
        for _ in 0..slices {
            let start = all.last().map_or(0, |slice: &Slice| slice.rows.end);
            all.push(self.slice(start)?);
        }
        if all.last().map_or(0, |slice| slice.rows.end as usize) != rows {
            return None;
        }
        let live = Live::of(all, clock.instant(valued_at));
        let strike_milli: Vec<u32> = pod_collect_to_vec(self.take(rows.checked_mul(4)?)?);
        let rights = self.take(rows)?.iter().map(|&b| match b {
            0 => Some(Right::Call),
            1 => Some(Right::Put),
            _ => None,
        });
        let right: Vec<Right> = rights.collect::<Option<_>>()?;
        let dropped: Vec<Option<DropReason>> =
            (0..rows).map(|_| self.one_of(&DropReason::ALL)).collect::<Option<_>>()?;
        let mut columns = Columns::missing(live.rows());
        for &col in Col::OF_PASS {
            columns.get_mut(col).copy_from_slice(&live.pick(&self.f64s(rows)?));
        }
        Some(Chain {
            underlying,
            spot,
            implied_spot,
            implied_spot_error,
            spot_off,
            doubt,
            firm,
            uncomputed,
            valued_at,
            preliminary,
            strike_milli: live.pick(&strike_milli),
            right: live.pick(&right),
            dropped: live.pick(&dropped),
            columns,
            // quotes of that time are no current quotes
            quotes: None,
            evidence: None,
            slices: live.slices.into_iter().collect(),
        })
    }

    fn date(&mut self) -> Option<Date> {
        let (year, month, day) = (self.u32()?, self.u8()?, self.u8()?);
        Date::new(i16::try_from(year).ok()?, month.try_into().ok()?, day.try_into().ok()?).ok()
    }

    fn slice(&mut self, start: u32) -> Option<Slice> {
        let root = self.symbol()?;
        let (expiry, listed) = (self.date()?, self.date()?);
        let rows = self.u32()?;
        let style = if self.flag()? { Style::European } else { Style::American };
        let settle = if self.flag()? { Settle::Pm } else { Settle::Am };
        let (adjusted, settles_at) = (self.flag()?, self.time()?);
        let [days, days_vt, und_price, fwd_price, disc_rate, borr_rate, divs] = self.f64s(7)?.try_into().ok()?;
        Some(Slice {
            root,
            expiry,
            listed,
            rows: start..start.checked_add(rows)?,
            style,
            settle,
            settles_at,
            adjusted,
            days,
            days_vt,
            und_price,
            fwd_price,
            disc_rate,
            borr_rate,
            divs,
        })
    }
}

/// Slices of a chain that have not settled, and their rows in the complete chain.
struct Live {
    slices: Vec<Slice>,
    before: Vec<core::ops::Range<usize>>,
}

impl Live {
    fn of(all: Vec<Slice>, now: Timestamp) -> Self {
        let (mut slices, mut before, mut start) = (Vec::new(), Vec::new(), 0);
        for slice in all.into_iter().filter(|slice| slice.settles_at > now) {
            let rows = slice.rows.end - slice.rows.start;
            before.push(slice.rows.start as usize..slice.rows.end as usize);
            slices.push(Slice { rows: start..start + rows, ..slice });
            start += rows;
        }
        Self { slices, before }
    }

    fn rows(&self) -> usize {
        self.before.iter().map(ExactSizeIterator::len).sum()
    }

    fn pick<T: Copy>(&self, rows: &[T]) -> Vec<T> {
        self.before.iter().flat_map(|range| &rows[range.clone()]).copied().collect()
    }
}
