//! Snapshots in the layouts of vendors, row by row, as text. Never: a computation.

use crate::market::{self, Kind, Quoted, Snapshot, Truth};
use jiff::Timestamp;
use kernel::calendar::Calendar;
use kernel::contract::osi::OSI_LEN;
use kernel::contract::{ContractKey, Right, Style};
use std::io::{Result, Write};

/// A layout that is written as text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Vendor {
    /// Our own columns.
    Own,
    /// Cboe DataShop, intervals.
    Intervals,
    /// ORATS, strikes of a day.
    Orats,
    /// OptionsDX.
    OptionsDx,
    /// HistoricalOptionData, L2.
    HistoricalOptionData,
}

impl Vendor {
    /// The header, with its line end.
    pub(crate) const fn header(self) -> &'static str {
        match self {
            Self::Own => "quote_time,underlying,und_price,root,expiry,right,strike,bid,ask,bid_size,ask_size\n",
            Self::Intervals => {
                "underlying_symbol,quote_datetime,root,expiration,strike,option_type,open,high,low,close,trade_volume,\
                 bid_size,bid,ask_size,ask,underlying_bid,underlying_ask,open_interest\n"
            }
            Self::Orats => {
                "ticker,cOpra,pOpra,stkPx,expirDate,yte,strike,cVolu,cOi,pVolu,pOi,cBidPx,cValue,cAskPx,pBidPx,pValue,\
                 pAskPx,cBidIv,cMidIv,cAskIv,smoothSmvVol,pBidIv,pMidIv,pAskIv,iRate,divRate,residualRateData,delta,gamma,\
                 theta,vega,rho,phi,driftlessTheta,extVol,extCTheo,extPTheo,spot_px,trade_date\n"
            }
            Self::OptionsDx => {
                "[QUOTE_UNIXTIME], [QUOTE_READTIME], [QUOTE_DATE], [QUOTE_TIME_HOURS], [UNDERLYING_LAST], [EXPIRE_DATE], \
                 [EXPIRE_UNIX], [DTE], [C_DELTA], [C_GAMMA], [C_VEGA], [C_THETA], [C_RHO], [C_IV], [C_VOLUME], [C_LAST], \
                 [C_SIZE], [C_BID], [C_ASK], [STRIKE], [P_BID], [P_ASK], [P_SIZE], [P_LAST], [P_DELTA], [P_GAMMA], \
                 [P_VEGA], [P_THETA], [P_RHO], [P_IV], [P_VOLUME], [STRIKE_DISTANCE], [STRIKE_DISTANCE_PCT]\n"
            }
            Self::HistoricalOptionData => {
                "UnderlyingSymbol,UnderlyingPrice,Exchange,OptionSymbol,Blank,Type,Expiration,DataDate,Strike,Last,Bid,\
                 Ask,Volume,OpenInterest,IV,Delta,Gamma,Theta,Vega,Alias\n"
            }
        }
    }

    /// True if a row is a strike, with its call and its put.
    pub(crate) fn has_pairs(self) -> bool {
        matches!(self, Self::Orats | Self::OptionsDx)
    }

    /// Writes a snapshot, of [`Snapshot::paired`] strikes where the layout has those.
    pub(crate) fn write(self, calendar: &Calendar, snapshot: &Snapshot, out: &mut impl Write) -> Result<()> {
        let row = Row { calendar, snapshot };
        match self {
            Self::Own => snapshot.rows.iter().try_for_each(|quoted| row.own(quoted, out)),
            Self::Intervals => snapshot.rows.iter().try_for_each(|quoted| row.interval(quoted, out)),
            Self::HistoricalOptionData => snapshot.rows.iter().try_for_each(|quoted| row.historical(quoted, out)),
            Self::Orats => row.pairs().try_for_each(|(call, put)| row.orats(call, put, out)),
            Self::OptionsDx => row.pairs().try_for_each(|(call, put)| row.optionsdx(call, put, out)),
        }
    }
}

/// The header of an end-of-day summary of Cboe DataShop.
pub(crate) const DATASHOP_EOD: &str = "underlying_symbol,quote_date,root,expiration,strike,option_type,open,high,low,close,trade_volume,bid_size_1545,\
     bid_1545,ask_size_1545,ask_1545,underlying_bid_1545,underlying_ask_1545,bid_size_eod,bid_eod,ask_size_eod,ask_eod,\
     underlying_bid_eod,underlying_ask_eod,vwap,open_interest,delivery_code\n";

/// Writes a day of Cboe DataShop: the snapshot before the close, and the one of the close where the contract still is.
pub(crate) fn datashop_eod(
    calendar: &Calendar,
    before: &Snapshot,
    at_close: &Snapshot,
    out: &mut impl Write,
) -> Result<()> {
    let (day, last) = (Row { calendar, snapshot: before }, Row { calendar, snapshot: at_close });
    let mut closing = at_close.rows.iter().peekable();
    for quoted in &before.rows {
        let contract = quoted.contract;
        let found = closing.next_if(|closing| closing.contract == contract);
        let (symbol, date) = (day.cboe_symbol(), calendar.eastern(before.ts).date());
        let (strike, right) = (strike(contract), letter(contract.right));
        write!(out, "{symbol},{date},{},{},{strike},{right},0,0,0,0,0,", contract.root, contract.expiry)?;
        let (low, high) = day.underlying_sides();
        write!(out, "{},{},{},{},{low},{high},", quoted.size, zero(quoted.bid), quoted.size, zero(quoted.ask))?;
        let (low, high) = last.underlying_sides();
        let (bid, ask, size) = found.map_or((0.0, 0.0, 0), |q| (zero(q.bid), zero(q.ask), q.size));
        writeln!(out, "{size},{bid},{size},{ask},{low},{high},0,0,")?;
    }
    Ok(())
}

/// The header of what is true.
pub(crate) const TRUTH: &str = "quote_time,underlying,kind,style,root,expiry,right,strike,und_price,forward,dividends,vol,\
     value,delta,gamma,vega,theta\n";

/// Writes what is true of a snapshot.
pub(crate) fn truth(snapshot: &Snapshot, out: &mut impl Write) -> Result<()> {
    let kind = match market::kind(snapshot.underlying) {
        Kind::Index => "index",
        Kind::Fund => "fund",
        Kind::Share => "share",
    };
    for quoted in &snapshot.rows {
        let Some(Truth { vol, value, delta, gamma, vega, theta, forward, dividends }) = quoted.truth else { continue };
        let ContractKey { root, expiry, right, .. } = quoted.contract;
        let (name, spot, strike) = (snapshot.underlying, snapshot.spot, strike(quoted.contract));
        let style = if quoted.style == Style::European { "european" } else { "american" };
        write!(out, "{},{name},{kind},{style},{root},{expiry},{},{strike},{spot},", snapshot.ts, word(right))?;
        writeln!(out, "{forward},{dividends},{vol},{value},{delta},{gamma},{vega},{theta}")?;
    }
    Ok(())
}

/// A snapshot as rows are written of it.
struct Row<'a> {
    calendar: &'a Calendar,
    snapshot: &'a Snapshot,
}

impl Row<'_> {
    fn own(&self, quoted: &Quoted, out: &mut impl Write) -> Result<()> {
        let Snapshot { ts, underlying, spot, .. } = self.snapshot;
        let ContractKey { root, expiry, right, .. } = quoted.contract;
        let (strike, bid, ask, size) = (strike(quoted.contract), empty(quoted.bid), empty(quoted.ask), quoted.size);
        let right = word(right);
        writeln!(out, "{ts},{underlying},{},{root},{expiry},{right},{strike},{bid},{ask},{size},{size}", empty(*spot))
    }

    fn interval(&self, quoted: &Quoted, out: &mut impl Write) -> Result<()> {
        let at = self.calendar.eastern(self.snapshot.ts).strftime("%Y-%m-%d %H:%M:%S").to_string();
        let ContractKey { root, expiry, right, .. } = quoted.contract;
        let (symbol, strike, right) = (self.cboe_symbol(), strike(quoted.contract), letter(right));
        let ((low, high), size) = (self.underlying_sides(), quoted.size);
        write!(out, "{symbol},{at},{root},{expiry},{strike},{right},0,0,0,0,0,")?;
        writeln!(out, "{size},{},{size},{},{low},{high},0", zero(quoted.bid), zero(quoted.ask))
    }

    fn historical(&self, quoted: &Quoted, out: &mut impl Write) -> Result<()> {
        let Snapshot { ts, underlying, spot, .. } = self.snapshot;
        let date = self.calendar.eastern(*ts).date().strftime("%m/%d/%Y").to_string();
        let expiry = quoted.contract.expiry.strftime("%m/%d/%Y").to_string();
        let (symbol, strike, right) = (osi(quoted.contract), strike(quoted.contract), word(quoted.contract.right));
        let (bid, ask) = (zero(quoted.bid), zero(quoted.ask));
        write!(out, "{underlying},{},*,{symbol},,{right},{expiry},{date},{strike},0,", zero(*spot))?;
        writeln!(out, "{bid},{ask},0,0,0,0,0,0,0,{symbol}")
    }

    fn orats(&self, call: &Quoted, put: &Quoted, out: &mut impl Write) -> Result<()> {
        let (name, spot) = (self.snapshot.underlying, zero(self.snapshot.spot));
        let date = self.calendar.eastern(self.snapshot.ts).date().strftime("%-m/%-d/%Y").to_string();
        let expiry = call.contract.expiry.strftime("%-m/%-d/%Y").to_string();
        let (c, p, strike) = (osi(call.contract), osi(put.contract), strike(call.contract));
        write!(out, "{name},{c},{p},{spot},{expiry},0,{strike},0,0,0,0,")?;
        write!(out, "{},0,{},{},0,{}", zero(call.bid), zero(call.ask), zero(put.bid), zero(put.ask))?;
        // columns of the vendor's own numbers, which nobody reads; the spot column cannot be used there either
        (0..21).try_for_each(|_| write!(out, ",0"))?;
        writeln!(out, ",{date}")
    }

    fn optionsdx(&self, call: &Quoted, put: &Quoted, out: &mut impl Write) -> Result<()> {
        let at = self.calendar.eastern(self.snapshot.ts);
        let (unix, read) = (self.snapshot.ts.as_second(), at.strftime("%Y-%m-%d %H:%M").to_string());
        let hours = f64::from(at.hour()) + f64::from(at.minute()) / 60.0;
        let (spot, expiry) = (zero(self.snapshot.spot), call.contract.expiry);
        write!(out, "{unix}, {read}, {}, {hours:.6}, {spot}, {expiry}, 0, 0.000000, , , , , , , , , ", at.date())?;
        let strike = strike(call.contract);
        write!(out, "{} x {}, {}, {}, {strike}, ", call.size, call.size, zero(call.bid), zero(call.ask))?;
        writeln!(out, "{}, {}, {} x {}, , , , , , , , , 0, 0", zero(put.bid), zero(put.ask), put.size, put.size)
    }

    /// Calls with their puts.
    fn pairs(&self) -> impl Iterator<Item = (&Quoted, &Quoted)> {
        self.snapshot.rows.chunks_exact(2).map(|pair| (&pair[0], &pair[1]))
    }

    /// An index has a mark at Cboe: what has roots of its own, and no class of shares.
    fn cboe_symbol(&self) -> String {
        let name = self.snapshot.underlying;
        let indices = ["SPX", "XSP", "OEX", "NDX", "RUT", "VIX"];
        if indices.contains(&name.as_str()) { format!("^{name}") } else { name.to_string() }
    }

    /// Bid and ask of the underlying, a cent from its price; of an index the same twice.
    fn underlying_sides(&self) -> (f64, f64) {
        let spot = zero(self.snapshot.spot);
        let half = if self.cboe_symbol().starts_with('^') || spot < 0.02 { 0.0 } else { 0.01 };
        (spot - half, spot + half)
    }
}

/// The time as files of closes name it.
pub(crate) fn date_of(calendar: &Calendar, ts: Timestamp) -> String {
    calendar.eastern(ts).date().to_string()
}

pub(crate) fn osi(contract: ContractKey) -> String {
    let mut symbol = [0; OSI_LEN];
    let length = contract.write_compact(&mut symbol);
    String::from_utf8_lossy(&symbol[..length]).into_owned()
}

fn strike(contract: ContractKey) -> String {
    format!("{}.{:03}", contract.strike_milli / 1000, contract.strike_milli % 1000)
}

fn letter(right: Right) -> char {
    if right == Right::Call { 'C' } else { 'P' }
}

pub(crate) fn word(right: Right) -> &'static str {
    if right == Right::Call { "call" } else { "put" }
}

/// A price as vendors write it that have no other word for none.
pub(crate) fn zero(price: f64) -> f64 {
    if price.is_nan() { 0.0 } else { price }
}

fn empty(price: f64) -> String {
    if price.is_nan() { String::new() } else { price.to_string() }
}
