//! ORATS beyond strikes: `GET /datav2/{summaries, cores, monies/implied}`, the same of past days under `/datav2/hist`.
//! One record a ticker, or a ticker and expiry; and `GET /datav2/tickers`, the days of each. What the vendor computes
//! from prices of shares and its own forecasts is zero, because its client refuses null; so is what is not known here.

use super::body;
use super::layer::{Layer, NameList, RequestContext, Serve};
use super::orats::{TICKER, TRADE_DATE, parse_tickers};
use super::parameter::{FORMAT, SYMBOLS};
use crate::catalog::{Catalog, CatalogColumn, CatalogJson, CatalogKind, CatalogQuestion};
use crate::metrics::{DayChange, MONTH};
use crate::past::moment::AsOf;
use crate::past::{Lacking, PastMoments, PastQuestion, SHOWS_THE_PRESENT};
use crate::query::Query;
use crate::query::parameter::{Param, Parameters, ReadEach};
use crate::refusal::Refusal;
use crate::rows::clock::days_between;
use crate::rows::clock::{Clock, Stamp};
use crate::rows::frame::{Format, json_text};
use crate::rows::number::{self, Print};
use crate::rows::table::Fact;
use engine::closes::YEAR;
use engine::closes::{LastSessions, NamePast, NoPast};
use engine::store::chain::Chain;
use engine::store::columns::Col;
use engine::store::evidence::CountedDividend;
use engine::store::quotes::QuoteNumber;
use engine::term::{PutsAndCalls, Tenors, TermExpiry, TermStructure};
use kernel::calendar::Calendar;
use kernel::contract::{Right, Symbol, strike_of};
use kernel::elementary::ln;

/// Summaries of tickers.
pub const SUMMARIES: Layer = at("/datav2/summaries", NOW, |query| now(query, write_summaries));
/// Summaries of tickers on a past day.
pub const HIST_SUMMARIES: Layer = at("/datav2/hist/summaries", OF_A_DAY, |query| of_day(query, write_summaries));
/// Core data of tickers.
pub const CORES: Layer = at("/datav2/cores", NOW, |query| now(query, write_cores));
/// Core data of tickers on a past day.
pub const HIST_CORES: Layer = at("/datav2/hist/cores", OF_A_DAY, |query| of_day(query, write_cores));
/// Volatilities of each expiry by delta.
pub const MONIES: Layer = at("/datav2/monies/implied", NOW, |query| now(query, write_monies));
/// Volatilities of each expiry by delta, on a past day.
pub const HIST_MONIES: Layer = at("/datav2/hist/monies/implied", OF_A_DAY, |query| of_day(query, write_monies));

/// Tickers, with the first and the last day of each.
pub const TICKERS: Layer = Layer {
    name: "orats",
    path: "/datav2/tickers",
    parameters: &[&TICKER_ASKED, &FORMAT],
    is_strict: false,
    serve: Serve::Catalog(tickers),
    refuse: body::message,
    headers: &[],
};
/// Tickers as JSON, as the vendor's documents spell the path.
pub const TICKERS_JSON: Layer = Layer { path: "/datav2/tickers.json", ..TICKERS };

const TICKER_ASKED: Param<ReadEach<Symbol>> = Param::new("ticker", SYMBOLS, "Tickers, comma-separated [default: all]");
const TICKER_COLUMNS: &[CatalogColumn] = &[
    CatalogColumn { name: "ticker", is_number: false, find: |of| word(of.name) },
    CatalogColumn { name: "min", is_number: false, find: |of| word(of.date) },
    CatalogColumn { name: "max", is_number: false, find: |of| word(of.last) },
];

fn word(of: Option<impl ToString>) -> Fact {
    of.map_or(Fact::Missing, |of| Fact::Word(of.to_string()))
}

fn tickers(query: &Query<'_>) -> Result<Catalog, Refusal> {
    let names = query.get(&TICKER_ASKED)?.unwrap_or_default();
    Ok(Catalog {
        question: CatalogQuestion { names, ..CatalogQuestion::all(CatalogKind::Underlyings) },
        format: query.get(&FORMAT)?.unwrap_or(Format::Json),
        json: CatalogJson::Records,
        columns: TICKER_COLUMNS,
        headers: Vec::new(),
        when_empty: Some(Refusal::NotListed { reason: "no such ticker" }),
    })
}

const fn at(path: &'static str, parameters: Parameters, parse: fn(&Query<'_>) -> Result<NameList, Refusal>) -> Layer {
    let serve = Serve::Names(parse);
    Layer { name: "orats", path, parameters, is_strict: false, serve, refuse: body::message, headers: &[] }
}

const NOW: Parameters = &[&TICKER];
const OF_A_DAY: Parameters = &[&TICKER, &TRADE_DATE.required("2026-12-18")];

/// Writes the records of some names.
type Write = fn(&[String], &RequestContext<'_>, &Clock) -> Result<String, Refusal>;

fn now(query: &Query<'_>, write: Write) -> Result<NameList, Refusal> {
    let symbols = parse_tickers(query)?;
    Ok(NameList { names: symbols.iter().map(ToString::to_string).collect(), symbols, past: None, write })
}

fn of_day(query: &Query<'_>, write: Write) -> Result<NameList, Refusal> {
    let list = now(query, write)?;
    let day = query.required(&TRADE_DATE)?;
    let moments = PastMoments::One(AsOf::Day(day));
    let past = PastQuestion { moments, if_live: Some(SHOWS_THE_PRESENT), if_none: Lacking::refusal };
    Ok(NameList { past: Some(past), ..list })
}

/// Records of the names that have a chain.
fn records(
    names: &[String],
    context: &RequestContext<'_>,
    mut of: impl FnMut(&Chain, &NameTerm<'_>, &mut Vec<String>),
) -> Result<String, Refusal> {
    let mut all = Vec::new();
    for name in names {
        let Some(symbol) = Symbol::parse_underlying(name) else { continue };
        let underlying = context.roots.underlying_of(symbol);
        match context.snapshot.chain(underlying) {
            Some(chain) => {
                let sessions = LastSessions::before(context.calendar.eastern(chain.valued_at).date(), context.calendar);
                of(chain, &NameTerm::of(chain, &sessions, context), &mut all);
            }
            None if context.snapshot.is_pending(underlying) => return Err(Refusal::Busy),
            None => {}
        }
    }
    Ok(format!(r#"{{"data":[{}]}}"#, all.join(",")))
}

/// The expiries of a name, and its maturities.
struct NameTerm<'a> {
    structure: TermStructure,
    tenors: Tenors,
    past: NamePast<'a>,
    change: DayChange,
}

impl<'a> NameTerm<'a> {
    fn of(chain: &Chain, sessions: &'a LastSessions, context: &'a RequestContext<'_>) -> Self {
        let days = TIMES.map(|(_, days)| days);
        let structure = TermStructure::of(chain, context.calendar);
        let tenors = Tenors::of(&structure.clock, chain.valued_at, &[&days[..], &[TWO_YEARS]].concat());
        let calendar = context.calendar;
        let past = NamePast::of(chain, &structure, &tenors, &context.closes, sessions, calendar);
        let (price, closes) = (chain.underlying_price(), context.closes.of(chain.underlying));
        let change = DayChange::new(price, chain.valued_at, closes, sessions, calendar);
        Self { structure, tenors, past, change }
    }

    fn vol(&self, days: f64) -> f64 {
        self.structure.iv(&self.tenors, days)
    }

    /// Volatility without the event of the name; missing if it is unknown whether there is one.
    fn ex_event_vol(&self, days: f64) -> f64 {
        self.structure.ex_event_vol_at(&self.tenors, days, |of| of.vol)
    }

    /// A number of the expiries, linear in days.
    fn at(&self, days: f64, number: impl Fn(&TermExpiry) -> f64) -> f64 {
        self.structure.at(days, number)
    }
}

/// One record in the making.
struct Record(String);

impl Record {
    /// Begins a record with ticker, day and price.
    fn new(chain: &Chain, clock: &Clock) -> Self {
        let ticker = json_text(chain.underlying.as_str());
        Self(format!(r#"{{"ticker":{ticker},"tradeDate":"{}""#, clock.today()))
    }

    fn number(&mut self, name: &str, x: f64) {
        let shown = if x.is_finite() { number::text(x, Print::UpTo(6)) } else { "0".to_owned() };
        self.0.push_str(&format!(r#","{name}":{shown}"#));
    }

    fn word(&mut self, name: &str, word: &str) {
        self.0.push_str(&format!(r#","{name}":{}"#, json_text(word)));
    }

    fn zeros(&mut self, names: &[&str]) {
        names.iter().for_each(|name| self.number(name, 0.0));
    }

    fn end(mut self, clock: &Clock) -> String {
        self.0.push_str(&format!(r#","updatedAt":"{}"}}"#, clock.snapshot(Stamp::UtcIso)));
        self.0
    }
}

/// The vendor's constant times: suffix of field names, and days.
const TIMES: [(&str, f64); 7] =
    [("10d", 10.0), ("20d", 20.0), ("30d", 30.0), ("60d", 60.0), ("90d", 90.0), ("6m", 180.0), ("1y", 365.0)];
/// Spans of forward volatilities.
const FORWARDS: [(&str, f64, f64); 5] = [
    ("30_20", 20.0, 30.0),
    ("60_30", 30.0, 60.0),
    ("90_60", 60.0, 90.0),
    ("180_90", 90.0, 180.0),
    ("90_30", 30.0, 90.0),
];
const TWO_YEARS: f64 = 730.0;

/// Difference of bid and ask volatility at the forward.
fn width(chain: &Chain, expiry: &TermExpiry) -> f64 {
    2.0 * expiry.half_spread(chain)
}

/// The dividends of a year to come: their sum and number, and the first one.
struct YearOfDividends {
    sum: f64,
    n: f64,
    next: Option<CountedDividend>,
}

impl YearOfDividends {
    fn of(chain: &Chain) -> Self {
        let all = chain.evidence.as_ref().map_or(&[][..], |evidence| &evidence.dividends);
        let within = || all.iter().filter(|dividend| dividend.t > 0.0 && dividend.t <= 1.0);
        Self {
            sum: within().map(|dividend| dividend.amount).sum(),
            n: within().count() as f64,
            next: within().next().copied(),
        }
    }

    /// Nothing implies dividends here.
    fn put(&self, record: &mut Record) {
        record.number("annActDiv", self.sum);
        record.number("nextDiv", self.next.map_or(0.0, |next| next.amount));
        record.zeros(&["annIdiv", "impliedNextDiv"]);
    }
}

/// The straddle of an expiry at the strike nearest to the forward, currency per share. 0: unknown.
#[derive(Clone, Copy, Default)]
struct Straddle {
    mid: f64,
    value: f64,
    /// One strike: the vendor's lower and upper one are the same too.
    strike: f64,
}

impl Straddle {
    /// `None`: no strike has both sides.
    fn of(chain: &Chain, expiry: &TermExpiry) -> Option<Self> {
        let slice = chain.slices.get(expiry.slice)?;
        let milli = |row: u32| chain.strike_milli[row as usize];
        let away = |row: u32| (strike_of(milli(row)) - expiry.fwd_price).abs();
        // rows ascend by strike, the call of a strike before its put
        let pairs = slice.rows.clone().zip(slice.rows.clone().skip(1)).filter(|&(call, put)| {
            let rights = [call, put].map(|row| chain.right[row as usize]);
            rights == [Right::Call, Right::Put] && milli(call) == milli(put)
        });
        let (call, put) = pairs.min_by(|a, b| away(a.0).total_cmp(&away(b.0)))?;
        let both = |number: &dyn Fn(usize) -> f64| number(call as usize) + number(put as usize);
        let mid = |row| chain.quotes.as_ref().map_or(f64::NAN, |quotes| quotes.get(row, QuoteNumber::Mid));
        let values = chain.columns.get(Col::SvcTheo);
        Some(Self { mid: both(&mid), value: both(&|row| values[row]), strike: strike_of(milli(call)) })
    }

    fn put(&self, record: &mut Record, [mid, value, low, high]: &[&str; 4]) {
        let shown = [(mid, self.mid), (value, self.value), (low, self.strike), (high, self.strike)];
        shown.into_iter().for_each(|(name, x)| record.number(name, x));
    }
}

/// The next earnings, if a user gave their date.
fn put_earnings(record: &mut Record, chain: &Chain, calendar: &Calendar) {
    let known = chain.evidence.as_ref().map_or(&[][..], |evidence| &evidence.events);
    let next = known.iter().find(|event| event.is_earnings).map(|event| event.date);
    let today = calendar.eastern(chain.valued_at).date();
    let weeks = next.map_or(0, |next| days_between(today, next) / 7);
    record.number("wksNextErn", weeks as f64);
    record.word("nextErn", &next.map_or(NO_DATE.to_owned(), |next| next.to_string()));
    record.word("lastErn", NO_DATE);
}

/// Volatilities at the money of every constant time, without the name's event and with it.
fn put_vols(record: &mut Record, term: &NameTerm<'_>, last: &str) {
    for prefix in ["exErnIv", "iv"] {
        for (end, days) in TIMES {
            let end = if end == "1y" { last } else { end };
            let vol = if prefix == "iv" { term.vol(days) } else { term.ex_event_vol(days) };
            record.number(&format!("{prefix}{end}"), vol);
        }
    }
}

fn write_summaries(names: &[String], context: &RequestContext<'_>, clock: &Clock) -> Result<String, Refusal> {
    records(names, context, |chain, term, all| {
        let mut record = Record::new(chain, clock);
        record.number("stockPrice", term.at(0.0, |expiry| expiry.und_price));
        YearOfDividends::of(chain).put(&mut record);
        record.number("borrow30", term.at(30.0, |expiry| expiry.borr_rate));
        record.number("borrow2y", term.at(TWO_YEARS, |expiry| expiry.borr_rate));
        record.number("confidence", term.at(30.0, |expiry| expiry.confidence));
        put_vols(&mut record, term, "1y");
        let event = &term.structure.event;
        ["impliedMove", "impliedEarningsMove"].iter().for_each(|name| record.number(name, event.move_sd()));
        record.zeros(&["ieeEarnEffect"]);
        record.number("mwAdj30", term.at(30.0, |expiry| width(chain, expiry)));
        record.number("mwAdj2y", term.at(TWO_YEARS, |expiry| width(chain, expiry)));
        record.zeros(&["rDrv30", "rDrv2y", "rSlp30", "rSlp2y"]);
        record.number("rVol30", term.vol(30.0));
        record.number("rVol2y", term.vol(TWO_YEARS));
        record.zeros(&["rip"]);
        record.number("riskFree30", term.at(30.0, |expiry| expiry.disc_rate));
        record.number("riskFree2y", term.at(TWO_YEARS, |expiry| expiry.disc_rate));
        record.zeros(&["skewing", "contango", "totalErrorConf"]);
        for percent in [5.0, 25.0, 75.0, 95.0] {
            let NameTerm { structure, tenors, .. } = term;
            let vol = |of: &TermExpiry| of.vol_at(percent / 100.0);
            for (end, days) in TIMES {
                record.number(&format!("dlt{percent}Iv{end}"), structure.vol_at(tenors, days, vol));
            }
            for (end, days) in TIMES {
                record.number(&format!("exErnDlt{percent}Iv{end}"), structure.ex_event_vol_at(tenors, days, vol));
            }
        }
        for (end, from, to) in FORWARDS {
            record.number(&format!("fwd{end}"), TermStructure::forward_iv(|days| term.vol(days), from, to));
        }
        for (end, from, to) in FORWARDS {
            record.number(&format!("fexErn{end}"), TermStructure::forward_iv(|days| term.ex_event_vol(days), from, to));
        }
        for prefix in ["ffwd", "ffexErn", "fbfwd", "fbfexErn"] {
            FORWARDS.iter().for_each(|(end, ..)| record.number(&format!("{prefix}{end}"), 0.0));
        }
        all.push(record.end(clock));
    })
}

fn write_monies(names: &[String], context: &RequestContext<'_>, clock: &Clock) -> Result<String, Refusal> {
    records(names, context, |chain, term, all| {
        for expiry in term.structure.expiries() {
            let mut record = Record::new(chain, clock);
            record.word("expirDate", &expiry.expiry.to_string());
            record.number("stockPrice", expiry.und_price);
            record.number("spotPrice", expiry.und_price);
            record.number("riskFreeRate", expiry.disc_rate);
            // what discount rate, borrow and dividends leave of the growth of the forward
            let growth = ln(expiry.fwd_price / expiry.und_price) / expiry.years();
            record.number("yieldRate", expiry.disc_rate - growth);
            record.number("residualYieldRate", expiry.borr_rate);
            record.zeros(&["residualRateSlp", "residualR2"]);
            record.number("confidence", expiry.confidence);
            record.number("mwVol", width(chain, expiry));
            for percent in (0..=100).rev().step_by(5) {
                record.number(&format!("vol{percent}"), expiry.vol_near(f64::from(percent) / 100.0));
            }
            record.number("atmiv", expiry.vol);
            record.zeros(&["slope", "deriv", "fit"]);
            let is_known = term.structure.event.is_known();
            let without = if is_known { expiry.ex_event_vol() } else { f64::NAN };
            record.number("calVol", without);
            record.number("unadjVol", expiry.vol);
            record.number("earnEffect", expiry.vol - without);
            all.push(record.end(clock));
        }
    })
}

/// Fields of core data that need share prices, earnings or forecasts, and are zero here.
const CORE_ZEROS: &[&str] = &[
    "assetType",
    "mktCap",
    "orFcst20d",
    "orIvFcst20d",
    "orFcstInf",
    "orIvXern20d",
    "orIvXernInf",
    "iv200Ma",
    "px1kGam",
    "volOfVol",
    "volOfIvol",
    "slope",
    "slopeInf",
    "slopeFcst",
    "slopeFcstInf",
    "deriv",
    "derivInf",
    "derivFcst",
    "derivFcstInf",
    "rip",
    "ivEarnReturn",
    "fcstR2",
    "fcstR2Imp",
    "stkVolu",
    "avgOptVolu20d",
    "orHv1d",
    "orHv5d",
    "orHv10d",
    "orHv20d",
    "orHv60d",
    "orHv90d",
    "orHv120d",
    "orHv252d",
    "orHv500d",
    "orHv1000d",
    "clsHv500d",
    "clsHv1000d",
    "divGrwth",
    "lastErnTod",
    "absAvgErnMv",
    "impliedIee",
    "tkOver",
    "correlSpy1m",
    "correlSpy1y",
    "correlEtf1m",
    "correlEtf1y",
    "beta1m",
    "beta1y",
    "ivPctileSpy",
    "ivPctileEtf",
    "ivStdvMean",
    "ivStdv1y",
    "ivSpyRatio",
    "ivSpyRatioAvg1m",
    "ivSpyRatioAvg1y",
    "ivSpyRatioStdv1y",
    "ivEtfRatio",
    "ivEtfRatioAvg1m",
    "ivEtfRatioAvg1y",
    "ivEtFratioStdv1y",
    "ivHvXernRatio",
    "ivHvXernRatio1m",
    "ivHvXernRatio1y",
    "ivHvXernRatioStdv1y",
    "etfIvHvXernRatio",
    "etfIvHvXernRatio1m",
    "etfIvHvXernRatio1y",
    "etfIvHvXernRatioStdv1y",
    "slopepctile",
    "slopeavg1m",
    "slopeavg1y",
    "slopeStdv1y",
    "etfSlopeRatio",
    "etfSlopeRatioAvg1m",
    "etfSlopeRatioAvg1y",
    "etfSlopeRatioAvgStdv1y",
    "impliedR2",
    "contango",
    "error",
    "fcstStraPxM1",
    "fcstStraPxM2",
    "fcstSlope",
    "fcstErnEffct",
    "ernMvStdv",
    "impliedEe",
    "impErnMv",
    "impMth2ErnMv",
    "fairVol90d",
    "fairXieeVol90d",
    "fairMth2XieeVol90d",
    "impErnMv90d",
    "impErnMvMth290d",
];
/// Prefixes of fields that are numbered from 1 to 12.
const CORE_SERIES: [&str; 3] = ["ernMv", "ernStraPct", "ernEffct"];
/// Windows of realised volatilities, and their sessions.
const CORE_WINDOWS: [(&str, usize); 9] = [
    ("5d", 5),
    ("10d", 10),
    ("20d", 20),
    ("60d", 60),
    ("90d", 90),
    ("120d", 120),
    ("252d", YEAR),
    ("500d", 500),
    ("1000d", 1000),
];
/// Earlier closes, the changes since then in percent, and the sessions in which they came about.
const CORE_CLOSES: [(&str, &str, usize); 4] = [
    ("clsPx1w", "stkPxChng1wk", 5),
    ("clsPx1m", "stkPxChng1m", MONTH),
    ("clsPx6m", "stkPxChng6m", YEAR / 2),
    ("clsPx1y", "stkPxChng1y", YEAR),
];
/// Straddles of the first expiries: at mids, as valued, and their lower and upper strike.
const CORE_STRADDLES: [[&str; 4]; 2] = [
    ["straPxM1", "smoothStraPxM1", "loStrikeM1", "hiStrikeM1"],
    ["straPxM2", "smoothStrPxM2", "loStrikeM2", "hiStrikeM2"],
];
const CORE_WORDS: [&str; 4] = ["sector", "etfIncl", "bestEtf", "sectorName"];
/// Substitute for an unknown date.
const NO_DATE: &str = "1970-01-01";
/// Number of expiries in core data: the first monthly ones.
const CORE_EXPIRIES: usize = 4;

fn write_cores(names: &[String], context: &RequestContext<'_>, clock: &Clock) -> Result<String, Refusal> {
    records(names, context, |chain, term, all| {
        let mut record = Record::new(chain, clock);
        record.number("pxAtmIv", term.at(0.0, |expiry| expiry.und_price));
        record.number("pxCls", term.at(0.0, |expiry| expiry.und_price));
        record.zeros(CORE_ZEROS);
        record.number("priorCls", term.change.close.unwrap_or(f64::NAN));
        let is_monthly = |expiry: &&TermExpiry| context.calendar.monthly_expiry(expiry.expiry) == expiry.expiry;
        let mut expiries = term.structure.expiries().iter().filter(is_monthly);
        let mut straddles = CORE_STRADDLES.iter();
        for n in 1..=CORE_EXPIRIES {
            let expiry = expiries.next();
            if let Some(names) = straddles.next() {
                let straddle = expiry.and_then(|expiry| Straddle::of(chain, expiry)).unwrap_or_default();
                straddle.put(&mut record, names);
            }
            let vol = expiry.map_or(0.0, |expiry| expiry.vol);
            record.number(&format!("atmIvM{n}"), vol);
            record.number(&format!("atmFitIvM{n}"), vol);
            record.number(&format!("atmFcstIvM{n}"), 0.0);
            record.number(&format!("dtExM{n}"), expiry.map_or(0.0, |expiry| expiry.days.round()));
        }
        record.number("iRate5wk", term.at(35.0, |expiry| expiry.disc_rate));
        record.number("iRateLt", term.at(TWO_YEARS, |expiry| expiry.disc_rate));
        let dividends = YearOfDividends::of(chain);
        dividends.put(&mut record);
        record.number("divFreq", dividends.n);
        record.number("divAmt", dividends.next.map_or(0.0, |next| next.amount));
        record.number("divYield", 100.0 * dividends.sum / term.at(0.0, |expiry| expiry.und_price));
        record.number("mktWidthVol", term.at(30.0, |expiry| width(chain, expiry)));
        record.number("mktWidthVolInf", term.at(TWO_YEARS, |expiry| width(chain, expiry)));
        for (calls, puts, number) in
            [("cVolu", "pVolu", QuoteNumber::Volume), ("cOi", "pOi", QuoteNumber::OpenInterest)]
        {
            let of = PutsAndCalls::of(chain, &chain.slices, number);
            record.number(calls, of.calls);
            record.number(puts, of.puts);
            if number == QuoteNumber::OpenInterest {
                record.number("oi", of.calls + of.puts);
            }
        }
        record.number("borrow30", term.at(30.0, |expiry| expiry.borr_rate));
        record.number("borrow2yr", term.at(TWO_YEARS, |expiry| expiry.borr_rate));
        record.number("confidence", term.at(30.0, |expiry| expiry.confidence));
        CORE_WORDS.iter().for_each(|name| record.word(name, ""));
        record.word("divDate", &dividends.next.map_or(NO_DATE.to_owned(), |next| next.ex_date.to_string()));
        put_earnings(&mut record, chain, context.calendar);
        for n in 1..=12 {
            record.word(&format!("ernDate{n}"), NO_DATE);
            CORE_SERIES.iter().for_each(|name| record.number(&format!("{name}{n}"), 0.0));
        }
        for (window, sessions) in CORE_WINDOWS {
            record.number(&format!("orHvXern{window}"), 0.0);
            let without = term.past.realised_without_events(sessions);
            record.number(&format!("clsHvXern{window}"), without.unwrap_or(f64::NAN));
        }
        for (window, sessions) in CORE_WINDOWS.into_iter().filter(|(_, sessions)| *sessions <= YEAR) {
            record.number(&format!("clsHv{window}"), term.past.realised(sessions).unwrap_or(f64::NAN));
        }
        for (closes, changes, sessions) in CORE_CLOSES {
            let close = term.past.price_before(sessions);
            record.number(closes, close.unwrap_or(f64::NAN));
            // a split since the last close makes the change unknown
            let close = term.change.change.and(close.map_err(NoPast::name)).unwrap_or(f64::NAN);
            record.number(changes, 100.0 * (chain.underlying_price() / close - 1.0));
        }
        for (name, sessions) in [("ivPctile1m", MONTH), ("ivPctile1y", YEAR)] {
            let now = term.vol(30.0);
            let share =
                if now.is_nan() { f64::NAN } else { term.past.iv_percentile(now, sessions).unwrap_or(f64::NAN) };
            record.number(name, 100.0 * share);
        }
        put_vols(&mut record, term, "1yr");
        all.push(record.end(clock));
    })
}
