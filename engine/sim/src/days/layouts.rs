//! Snapshots in the layouts of vendors, row by row, as text. Never: a computation, a file.

use super::{MadeKind, MadeQuote, MadeSnapshot, TrueGreeks};
use jiff::Timestamp;
use jiff::civil::Date;
use kernel::calendar::Calendar;
use kernel::contract::osi::OSI_LEN;
use kernel::contract::{ContractKey, Right, Style, Symbol};
use std::io::{Result, Write};

/// A layout of quotes that simulated days can be written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MadeLayout {
    /// Our own columns, a contract a row.
    Own,
    /// Our own columns, the contract by its symbol.
    OwnSymbols,
    /// Our own columns, a strike a row.
    OwnStrikes,
    /// Cboe DataShop, end-of-day summary.
    DatashopEod,
    /// Cboe DataShop, intervals.
    DatashopIntervals,
    /// ORATS, strikes of a day.
    Orats,
    /// OptionsDX.
    OptionsDx,
    /// HistoricalOptionData, L2.
    HistoricalOptionData,
    /// The open sets `options-dataset-hist` and `options-data`, as text.
    OptionsDataset,
    /// DoltHub, `post-no-preference/options`.
    Dolthub,
    /// ThetaData, version 2.
    ThetadataV2,
    /// ThetaData, version 3.
    ThetadataV3,
    /// Lines of JSON, as `--record` writes them.
    Recording,
}

use MadeLayout::{
    DatashopEod, DatashopIntervals, Dolthub, HistoricalOptionData, OptionsDataset, OptionsDx, Orats, Own, OwnStrikes,
    OwnSymbols, Recording, ThetadataV2, ThetadataV3,
};

impl MadeLayout {
    /// Every layout.
    pub const ALL: [Self; 13] = [
        Own,
        OwnSymbols,
        OwnStrikes,
        DatashopEod,
        DatashopIntervals,
        Orats,
        OptionsDx,
        HistoricalOptionData,
        OptionsDataset,
        Dolthub,
        ThetadataV2,
        ThetadataV3,
        Recording,
    ];

    /// The name, equal to that in readers of files.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Own => "greeksd",
            OwnSymbols => "greeksd-symbols",
            OwnStrikes => "greeksd-strikes",
            DatashopEod => "cboe-datashop-eod",
            DatashopIntervals => "cboe-datashop-intervals",
            Orats => "orats-strikes",
            OptionsDx => "optionsdx",
            HistoricalOptionData => "historicaloptiondata",
            OptionsDataset => "options-dataset",
            Dolthub => "dolthub-option-chain",
            ThetadataV2 => "thetadata-v2",
            ThetadataV3 => "thetadata-v3",
            Recording => "greeksd-recording",
        }
    }

    /// The one snapshot of a day that the layout has, in minutes before the close; `None`: it has any.
    #[must_use]
    pub const fn minutes_before_close(self) -> Option<i64> {
        match self {
            DatashopEod => Some(15),
            Orats => Some(14),
            HistoricalOptionData | OptionsDataset | Dolthub => Some(0),
            Own | OwnSymbols | OwnStrikes | DatashopIntervals | OptionsDx | ThetadataV2 | ThetadataV3 | Recording => {
                None
            }
        }
    }

    /// True if the prices of underlyings stand in a second file ([`PRICES_FILE`]).
    #[must_use]
    pub const fn needs_prices(self) -> bool {
        matches!(self, OptionsDataset | Dolthub)
    }

    /// The name of the file that a name's quotes of a day stand in.
    #[must_use]
    pub fn file(self, date: Date, underlying: Symbol) -> String {
        match self {
            OptionsDx => format!("{}_eod_{date}.txt", underlying.as_str().to_lowercase()),
            DatashopEod => format!("UnderlyingOptionsEODQuotes_{date}.csv"),
            Recording => format!("{date}.ndjson"),
            _ => format!("{date}.csv"),
        }
    }

    /// The header, with its line end; empty: the layout has none.
    #[must_use]
    pub const fn header(self) -> &'static str {
        match self {
            Own => {
                "quote_time,underlying,und_price,root,expiry,right,strike,bid,ask,bid_size,ask_size,volume,open_interest\n"
            }
            OwnSymbols => "quote_time,osym,underlying,und_price,bid,ask,bid_size,ask_size,volume,open_interest\n",
            OwnStrikes => {
                "quote_time,underlying,und_price,root,expiry,strike,call_bid,call_ask,put_bid,put_ask,call_volume,\
                 call_open_interest,put_volume,put_open_interest\n"
            }
            DatashopEod => {
                "underlying_symbol,quote_date,root,expiration,strike,option_type,open,high,low,close,trade_volume,\
                 bid_size_1545,bid_1545,ask_size_1545,ask_1545,underlying_bid_1545,underlying_ask_1545,bid_size_eod,\
                 bid_eod,ask_size_eod,ask_eod,underlying_bid_eod,underlying_ask_eod,vwap,open_interest,delivery_code\n"
            }
            DatashopIntervals => {
                "underlying_symbol,quote_datetime,root,expiration,strike,option_type,open,high,low,close,trade_volume,\
                 bid_size,bid,ask_size,ask,underlying_bid,underlying_ask,open_interest\n"
            }
            Orats => {
                "ticker,cOpra,pOpra,stkPx,expirDate,yte,strike,cVolu,cOi,pVolu,pOi,cBidPx,cValue,cAskPx,pBidPx,pValue,\
                 pAskPx,cBidIv,cMidIv,cAskIv,smoothSmvVol,pBidIv,pMidIv,pAskIv,iRate,divRate,residualRateData,delta,gamma,\
                 theta,vega,rho,phi,driftlessTheta,extVol,extCTheo,extPTheo,spot_px,trade_date\n"
            }
            OptionsDx => {
                "[QUOTE_UNIXTIME], [QUOTE_READTIME], [QUOTE_DATE], [QUOTE_TIME_HOURS], [UNDERLYING_LAST], [EXPIRE_DATE], \
                 [EXPIRE_UNIX], [DTE], [C_DELTA], [C_GAMMA], [C_VEGA], [C_THETA], [C_RHO], [C_IV], [C_VOLUME], [C_LAST], \
                 [C_SIZE], [C_BID], [C_ASK], [STRIKE], [P_BID], [P_ASK], [P_SIZE], [P_LAST], [P_DELTA], [P_GAMMA], \
                 [P_VEGA], [P_THETA], [P_RHO], [P_IV], [P_VOLUME], [STRIKE_DISTANCE], [STRIKE_DISTANCE_PCT]\n"
            }
            HistoricalOptionData => {
                "UnderlyingSymbol,UnderlyingPrice,Exchange,OptionSymbol,Blank,Type,Expiration,DataDate,Strike,Last,Bid,\
                 Ask,Volume,OpenInterest,IV,Delta,Gamma,Theta,Vega,Alias\n"
            }
            OptionsDataset => {
                "contract_id,symbol,expiration,strike,type,last,mark,bid,bid_size,ask,ask_size,volume,open_interest,date\n"
            }
            Dolthub => "date,act_symbol,expiration,strike,call_put,bid,ask\n",
            ThetadataV2 => "root,expiration,strike,right,ms_of_day,bid,ask,ms_of_day2,underlying_price,date\n",
            ThetadataV3 => "symbol,expiration,strike,right,timestamp,bid,ask,underlying_timestamp,underlying_price\n",
            Recording => "",
        }
    }

    /// True if a row is a strike, with its call and its put ([`MadeSnapshot::paired`]).
    #[must_use]
    pub const fn has_pairs(self) -> bool {
        matches!(self, OwnStrikes | Orats | OptionsDx)
    }

    /// Writes the rows of a snapshot, of paired strikes where the layout has those.
    ///
    /// # Errors
    /// They cannot be written.
    pub fn write(self, calendar: &Calendar, snapshot: &MadeSnapshot, out: &mut impl Write) -> Result<()> {
        let (row, rows) = (Row { calendar, snapshot }, &snapshot.rows);
        match self {
            Own => rows.iter().try_for_each(|quoted| row.own(quoted, out)),
            OwnSymbols => rows.iter().try_for_each(|quoted| row.own_symbol(quoted, out)),
            // its file has the close beside it, which `datashop_eod` writes
            DatashopEod => datashop_eod(calendar, snapshot, snapshot, out),
            DatashopIntervals => rows.iter().try_for_each(|quoted| row.interval(quoted, out)),
            HistoricalOptionData => rows.iter().try_for_each(|quoted| row.historical(quoted, out)),
            OptionsDataset => rows.iter().try_for_each(|quoted| row.dataset(quoted, out)),
            Dolthub => rows.iter().try_for_each(|quoted| row.dolthub(quoted, out)),
            ThetadataV2 => rows.iter().try_for_each(|quoted| row.theta_v2(quoted, out)),
            ThetadataV3 => rows.iter().try_for_each(|quoted| row.theta_v3(quoted, out)),
            Recording => {
                row.price_line(out)?;
                rows.iter().try_for_each(|quoted| row.line(quoted, out))
            }
            OwnStrikes => row.pairs().try_for_each(|(call, put)| row.own_strike(call, put, out)),
            Orats => row.pairs().try_for_each(|(call, put)| row.orats(call, put, out)),
            OptionsDx => row.pairs().try_for_each(|(call, put)| row.optionsdx(call, put, out)),
        }
    }
}

/// The file of the prices of underlyings, beside quotes that have none.
pub const PRICES_FILE: &str = "underlying_prices.csv";
/// The header of [`PRICES_FILE`].
pub const PRICES_HEADER: &str = "symbol,date,close\n";

/// Writes the price of a snapshot's underlying, as [`PRICES_FILE`] has it.
///
/// # Errors
/// It cannot be written.
pub fn write_price(calendar: &Calendar, snapshot: &MadeSnapshot, out: &mut impl Write) -> Result<()> {
    writeln!(out, "{},{},{}", snapshot.underlying, date_of(calendar, snapshot.ts), empty(snapshot.spot))
}

/// Writes a name's day of Cboe DataShop: the snapshot before the close, and the one of the close where the contract
/// still is.
///
/// # Errors
/// It cannot be written.
pub fn datashop_eod(
    calendar: &Calendar,
    before: &MadeSnapshot,
    at_close: &MadeSnapshot,
    out: &mut impl Write,
) -> Result<()> {
    let (day, last) = (Row { calendar, snapshot: before }, Row { calendar, snapshot: at_close });
    let mut closing = at_close.rows.iter().peekable();
    for quoted in &before.rows {
        let contract = quoted.contract;
        let found = closing.next_if(|closing| closing.contract == contract);
        let (symbol, date) = (day.cboe_symbol(), calendar.eastern(before.ts).date());
        let (strike, right, volume) = (strike(contract), letter(contract.right), found.unwrap_or(quoted).volume);
        write!(out, "{symbol},{date},{},{},{strike},{right},0,0,0,0,{volume},", contract.root, contract.expiry)?;
        let (low, high) = day.underlying_sides();
        write!(out, "{},{},{},{},{low},{high},", quoted.size, zero(quoted.bid), quoted.size, zero(quoted.ask))?;
        let (low, high) = last.underlying_sides();
        let (bid, ask, size) = found.map_or((0.0, 0.0, 0), |q| (zero(q.bid), zero(q.ask), q.size));
        writeln!(out, "{size},{bid},{size},{ask},{low},{high},0,{},", quoted.open_interest)?;
    }
    Ok(())
}

/// The header of true values.
pub const TRUE_GREEKS_HEADER: &str = "quote_time,underlying,kind,style,root,expiry,right,strike,und_price,forward,\
     dividends,vol,value,delta,gamma,vega,theta\n";

/// Writes the true values of a snapshot.
///
/// # Errors
/// It cannot be written.
pub fn write_true_greeks(snapshot: &MadeSnapshot, out: &mut impl Write) -> Result<()> {
    let kind = match MadeKind::of(snapshot.underlying) {
        MadeKind::Index => "index",
        MadeKind::Fund => "fund",
        MadeKind::Share => "share",
    };
    for quoted in &snapshot.rows {
        let Some(truth) = quoted.truth else { continue };
        let TrueGreeks { vol, value, delta, gamma, vega, theta, forward, dividends } = truth;
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
    snapshot: &'a MadeSnapshot,
}

impl Row<'_> {
    fn own(&self, quoted: &MadeQuote, out: &mut impl Write) -> Result<()> {
        let MadeSnapshot { ts, underlying, spot, .. } = self.snapshot;
        let ContractKey { root, expiry, right, .. } = quoted.contract;
        let (strike, right, spot) = (strike(quoted.contract), word(right), empty(*spot));
        write!(out, "{ts},{underlying},{spot},{root},{expiry},{right},{strike},")?;
        own_quote(quoted, out)
    }

    fn own_symbol(&self, quoted: &MadeQuote, out: &mut impl Write) -> Result<()> {
        let MadeSnapshot { ts, underlying, spot, .. } = self.snapshot;
        write!(out, "{ts},{},{underlying},{},", osi(quoted.contract), empty(*spot))?;
        own_quote(quoted, out)
    }

    fn own_strike(&self, call: &MadeQuote, put: &MadeQuote, out: &mut impl Write) -> Result<()> {
        let MadeSnapshot { ts, underlying, spot, .. } = self.snapshot;
        let ContractKey { root, expiry, .. } = call.contract;
        write!(out, "{ts},{underlying},{},{root},{expiry},{},", empty(*spot), strike(call.contract))?;
        let [[c_bid, c_ask], [p_bid, p_ask]] = [call, put].map(|side| [empty(side.bid), empty(side.ask)]);
        let [[c_vol, c_oi], [p_vol, p_oi]] = [call, put].map(|side| [side.volume, side.open_interest]);
        writeln!(out, "{c_bid},{c_ask},{p_bid},{p_ask},{c_vol},{c_oi},{p_vol},{p_oi}")
    }

    fn dataset(&self, quoted: &MadeQuote, out: &mut impl Write) -> Result<()> {
        let ContractKey { expiry, right, .. } = quoted.contract;
        let (name, date) = (self.snapshot.underlying, date_of(self.calendar, self.snapshot.ts));
        write!(out, "{},{name},{expiry},{},{},0,0,", osi(quoted.contract), strike(quoted.contract), word(right))?;
        let MadeQuote { size, volume, open_interest, .. } = quoted;
        writeln!(out, "{},{size},{},{size},{volume},{open_interest},{date}", zero(quoted.bid), zero(quoted.ask))
    }

    fn dolthub(&self, quoted: &MadeQuote, out: &mut impl Write) -> Result<()> {
        let ContractKey { expiry, right, .. } = quoted.contract;
        let right = if right == Right::Call { "Call" } else { "Put" };
        let (name, date) = (self.snapshot.underlying, date_of(self.calendar, self.snapshot.ts));
        let (bid, ask) = (zero(quoted.bid), zero(quoted.ask));
        writeln!(out, "{date},{name},{expiry},{},{right},{bid},{ask}", strike(quoted.contract))
    }

    fn theta_v2(&self, quoted: &MadeQuote, out: &mut impl Write) -> Result<()> {
        let ContractKey { root, expiry, strike_milli, right } = quoted.contract;
        let at = self.calendar.eastern(self.snapshot.ts);
        let (date, expiry) = (at.strftime("%Y%m%d"), expiry.strftime("%Y%m%d"));
        let millis = 1000 * (3600 * i64::from(at.hour()) + 60 * i64::from(at.minute()) + i64::from(at.second()));
        let (right, spot) = (letter(right), zero(self.snapshot.spot));
        write!(out, "{root},{expiry},{strike_milli},{right},{millis},{},{},", zero(quoted.bid), zero(quoted.ask))?;
        writeln!(out, "{millis},{spot},{date}")
    }

    fn theta_v3(&self, quoted: &MadeQuote, out: &mut impl Write) -> Result<()> {
        let ContractKey { root, expiry, right, .. } = quoted.contract;
        let right = if right == Right::Call { "CALL" } else { "PUT" };
        let at = self.calendar.eastern(self.snapshot.ts).strftime("%Y-%m-%dT%H:%M:%S.000").to_string();
        let (bid, ask, spot) = (zero(quoted.bid), zero(quoted.ask), zero(self.snapshot.spot));
        writeln!(out, "{root},{expiry},{},{right},{at},{bid},{ask},{at},{spot}", strike(quoted.contract))
    }

    /// The price of the underlying as a line of JSON.
    fn price_line(&self, out: &mut impl Write) -> Result<()> {
        let MadeSnapshot { ts, underlying, spot, .. } = self.snapshot;
        if spot.is_nan() {
            return Ok(());
        }
        writeln!(out, r#"{{"symbol":"{underlying}","price":{spot},"time":{}}}"#, ts.as_second())
    }

    /// A quote as a line of JSON.
    fn line(&self, quoted: &MadeQuote, out: &mut impl Write) -> Result<()> {
        let side = |price: f64| if price.is_nan() { "null".to_owned() } else { price.to_string() };
        let (symbol, name, time) = (osi(quoted.contract), self.snapshot.underlying, self.snapshot.ts.as_second());
        write!(out, r#"{{"osym":"{symbol}","underlying":"{name}","bid":{},"#, side(quoted.bid))?;
        let MadeQuote { size, volume, open_interest, .. } = quoted;
        write!(out, r#""ask":{},"bid_size":{size},"ask_size":{size},"#, side(quoted.ask))?;
        writeln!(out, r#""volume":{volume},"open_interest":{open_interest},"time":{time}}}"#)
    }

    fn interval(&self, quoted: &MadeQuote, out: &mut impl Write) -> Result<()> {
        let at = self.calendar.eastern(self.snapshot.ts).strftime("%Y-%m-%d %H:%M:%S").to_string();
        let ContractKey { root, expiry, right, .. } = quoted.contract;
        let (symbol, strike, right) = (self.cboe_symbol(), strike(quoted.contract), letter(right));
        let ((low, high), size) = (self.underlying_sides(), quoted.size);
        write!(out, "{symbol},{at},{root},{expiry},{strike},{right},0,0,0,0,{},", quoted.volume)?;
        write!(out, "{size},{},{size},{},{low},{high},", zero(quoted.bid), zero(quoted.ask))?;
        writeln!(out, "{}", quoted.open_interest)
    }

    fn historical(&self, quoted: &MadeQuote, out: &mut impl Write) -> Result<()> {
        let MadeSnapshot { ts, underlying, spot, .. } = self.snapshot;
        let date = self.calendar.eastern(*ts).date().strftime("%m/%d/%Y").to_string();
        let expiry = quoted.contract.expiry.strftime("%m/%d/%Y").to_string();
        let (symbol, strike, right) = (osi(quoted.contract), strike(quoted.contract), word(quoted.contract.right));
        let (bid, ask) = (zero(quoted.bid), zero(quoted.ask));
        write!(out, "{underlying},{},*,{symbol},,{right},{expiry},{date},{strike},0,", zero(*spot))?;
        writeln!(out, "{bid},{ask},{},{},0,0,0,0,0,{symbol}", quoted.volume, quoted.open_interest)
    }

    fn orats(&self, call: &MadeQuote, put: &MadeQuote, out: &mut impl Write) -> Result<()> {
        let (name, spot) = (self.snapshot.underlying, zero(self.snapshot.spot));
        let date = self.calendar.eastern(self.snapshot.ts).date().strftime("%-m/%-d/%Y").to_string();
        let expiry = call.contract.expiry.strftime("%-m/%-d/%Y").to_string();
        let (c, p, strike) = (osi(call.contract), osi(put.contract), strike(call.contract));
        write!(out, "{name},{c},{p},{spot},{expiry},0,{strike},")?;
        write!(out, "{},{},{},{},", call.volume, call.open_interest, put.volume, put.open_interest)?;
        write!(out, "{},0,{},{},0,{}", zero(call.bid), zero(call.ask), zero(put.bid), zero(put.ask))?;
        // columns of the vendor's own numbers, which nobody reads; the spot column cannot be used there either
        (0..21).try_for_each(|_| write!(out, ",0"))?;
        writeln!(out, ",{date}")
    }

    fn optionsdx(&self, call: &MadeQuote, put: &MadeQuote, out: &mut impl Write) -> Result<()> {
        let at = self.calendar.eastern(self.snapshot.ts);
        let (unix, read) = (self.snapshot.ts.as_second(), at.strftime("%Y-%m-%d %H:%M").to_string());
        let hours = f64::from(at.hour()) + f64::from(at.minute()) / 60.0;
        let (spot, expiry) = (zero(self.snapshot.spot), call.contract.expiry);
        write!(out, "{unix}, {read}, {}, {hours:.6}, {spot}, {expiry}, 0, 0.000000, ", at.date())?;
        write!(out, ", , , , , , {}, , ", call.volume)?;
        let strike = strike(call.contract);
        write!(out, "{} x {}, {}, {}, {strike}, ", call.size, call.size, zero(call.bid), zero(call.ask))?;
        write!(out, "{}, {}, {} x {}, , , , , , , ", zero(put.bid), zero(put.ask), put.size, put.size)?;
        writeln!(out, ", {}, 0, 0", put.volume)
    }

    /// Calls with their puts.
    fn pairs(&self) -> impl Iterator<Item = (&MadeQuote, &MadeQuote)> {
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
fn date_of(calendar: &Calendar, ts: Timestamp) -> String {
    calendar.eastern(ts).date().to_string()
}

fn osi(contract: ContractKey) -> String {
    let mut symbol = [0; OSI_LEN];
    let length = contract.write_compact(&mut symbol);
    String::from_utf8_lossy(&symbol[..length]).into_owned()
}

/// A quote at the end of our own rows.
fn own_quote(quoted: &MadeQuote, out: &mut impl Write) -> Result<()> {
    let MadeQuote { size, volume, open_interest, .. } = quoted;
    writeln!(out, "{},{},{size},{size},{volume},{open_interest}", empty(quoted.bid), empty(quoted.ask))
}

fn strike(contract: ContractKey) -> String {
    format!("{}.{:03}", contract.strike_milli / 1000, contract.strike_milli % 1000)
}

fn letter(right: Right) -> char {
    if right == Right::Call { 'C' } else { 'P' }
}

fn word(right: Right) -> &'static str {
    if right == Right::Call { "call" } else { "put" }
}

/// A price as vendors write it that have no other word for none.
fn zero(price: f64) -> f64 {
    if price.is_nan() { 0.0 } else { price }
}

fn empty(price: f64) -> String {
    if price.is_nan() { String::new() } else { price.to_string() }
}
