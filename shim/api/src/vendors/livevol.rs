//! Cboe LiveVol (the quotes layer): `GET /allaccess/market/option-and-underlying-quotes`. A flat array, one
//! element per contract.

use super::body;
use super::columns::{or_zero, quoted_price, quoted_size};
use super::layer::{Layer, Reply, Serve, Value};
use super::parameter::{A_ROOT, FORMAT, SYMBOL, title};
use crate::past::moment::AsOf;
use crate::past::{Lacking, PastMoments, PastQuestion};
use crate::query::parameter::{FiniteNumber, IsoDate, OneWord, Param, ReadAs, parameters};
use crate::query::{Bounds, Query, Rights};
use crate::refusal::Refusal;
use crate::rows::field::{Field, QuoteNumber, SliceNumber, Text, null, own, slice, strike, text, zero};
use crate::selection::Selection;
use engine::store::columns::{Col, Unit};
use kernel::contract::Symbol;

/// The contracts of an underlying.
pub const QUOTES: Layer = at("/allaccess/market/option-and-underlying-quotes");
/// The contracts of an underlying, under the prefix of the vendor's live service.
pub const QUOTES_LIVE: Layer = at("/v1/live/allaccess/market/option-and-underlying-quotes");
/// The contracts of an underlying, under the prefix of the vendor's delayed service.
pub const QUOTES_DELAYED: Layer = at("/v1/delayed/allaccess/market/option-and-underlying-quotes");

const fn at(path: &'static str) -> Layer {
    let (parameters, serve) = (PARAMETERS, Serve::Rows(parse));
    Layer { name: "livevol", path, parameters, is_strict: false, serve, refuse: body::message, headers: HEADERS }
}

parameters! {
    PARAMETERS:
    use SYMBOL;
    /// A text that cannot be a root selects no contract.
    const ROOT: Param<ReadAs<Symbol>> = Param::new("root", ReadAs { wants: "a root", ..A_ROOT }, "Only this root");
    const OPTION_TYPE: Param<OneWord<Rights>> =
        Param::new("option_type", OneWord(Rights::LETTERS), "C or P [default: both]");
    const MIN_STRIKE: Param<FiniteNumber> = Param::new("min_strike", FiniteNumber, "Minimum strike");
    const MAX_STRIKE: Param<FiniteNumber> = Param::new("max_strike", FiniteNumber, "Maximum strike");
    const MIN_EXPIRY: Param<IsoDate> = Param::new("min_expiry", IsoDate, "First expiration");
    const MAX_EXPIRY: Param<IsoDate> = Param::new("max_expiry", IsoDate, "Last expiration");
    use FORMAT;
    const DATE: Param<IsoDate> =
        Param::new("date", IsoDate, "Date of the close, for feeds with past data; other feeds ignore it");
}

/// A client reads how much of its quota was used before it reads the body.
const HEADERS: &[(&str, Value)] = &[("X-Monthly-Points-Used", Value::Fixed("0"))];

const FIELDS: &[Field] = &[
    text("symbol", Text::Underlying),
    text("root", Text::Root),
    text("expiry", Text::Expiry),
    strike("strike"),
    text("option_type", Text::Right(["C", "P"])),
    text("option", Text::OsiCompact),
    or_zero("delta", own(Col::Delta), Unit::Plain),
    or_zero("gamma", own(Col::Gamma), Unit::Plain),
    or_zero("theta", own(Col::Theta), Unit::PerDay),
    or_zero("vega", own(Col::Vega), Unit::PerPercent),
    or_zero("rho", own(Col::Rho), Unit::PerPercent),
    or_zero("iv", own(Col::SvcVol), Unit::Plain),
    or_zero("mid_iv", own(Col::MidVol), Unit::Plain),
    or_zero("vendor_theo", own(Col::SvcTheo), Unit::Plain),
    quoted_price("option_bid", None, QuoteNumber::Bid),
    quoted_price("option_ask", None, QuoteNumber::Ask),
    quoted_price("option_mid", None, QuoteNumber::Mid),
    null("option_last_trade_price"),
    null("option_open"),
    null("option_high"),
    null("option_low"),
    null("option_close"),
    null("option_prev_day_close"),
    quoted_size("option_volume", None, QuoteNumber::Volume),
    zero("option_trade_count"),
    quoted_size("open_interest", None, QuoteNumber::OpenInterest),
    quoted_size("option_bid_size", None, QuoteNumber::BidSize),
    quoted_size("option_ask_size", None, QuoteNumber::AskSize),
    or_zero("underlying_bid", slice(SliceNumber::UndPrice), Unit::Plain),
    or_zero("underlying_ask", slice(SliceNumber::UndPrice), Unit::Plain),
    or_zero("underlying_mid", slice(SliceNumber::UndPrice), Unit::Plain),
];

fn parse(query: &Query<'_>) -> Result<Reply, Refusal> {
    let symbol = query.required(&SYMBOL)?;
    let selection = Selection {
        roots: query.get(&ROOT)?.into_iter().collect(),
        rights: query.get(&OPTION_TYPE)?.unwrap_or_default(),
        strike: Bounds { least: query.get(&MIN_STRIKE)?, most: query.get(&MAX_STRIKE)? },
        expiry_min: query.get(&MIN_EXPIRY)?,
        expiry_max: query.get(&MAX_EXPIRY)?,
        ..Selection::named(symbol)
    };
    if selection.strike.least.zip(selection.strike.most).is_some_and(|(least, most)| least > most) {
        return Err(Refusal::Conflict { reason: "min_strike is above max_strike" });
    }
    if selection.expiry_min.zip(selection.expiry_max).is_some_and(|(first, last)| first > last) {
        return Err(Refusal::Conflict { reason: "min_expiry is after max_expiry" });
    }
    let format = query.get(&FORMAT)?.unwrap_or_default();
    let past = parse_past(query);
    Ok(Reply { selection, past, format, fields: FIELDS.to_vec(), title: title(symbol), ..Reply::default() })
}

/// The close of the day of `date`, if days are recorded. A feed of the present accepts any text and answers with the
/// present (docs/compat.md).
fn parse_past(query: &Query<'_>) -> Option<PastQuestion> {
    let day = query.get(&DATE).ok().flatten()?;
    Some(PastQuestion { moments: PastMoments::One(AsOf::Day(day)), if_live: None, if_none: Lacking::refusal })
}
