//! Cboe LiveVol (the quotes layer): `GET /allaccess/market/option-and-underlying-quotes`. A flat array, one
//! element per contract.

use super::body;
use super::columns::{or_zero, quoted_price, quoted_size};
use super::layer::{Layer, Reply, Serve, Value};
use super::parameter::{ticker, title};
use crate::past::moment::AsOf;
use crate::past::{Lacking, PastMoments, PastQuestion};
use crate::query::{Bounds, Query, Rights};
use crate::refusal::Refusal;
use crate::rows::field::{Field, QuoteNumber, SliceNumber, Text, null, own, slice, strike, text, zero};
use crate::rows::frame::Format;
use crate::selection::Selection;
use engine::store::columns::{Col, Unit};
use kernel::contract::Symbol;

/// The contracts of an underlying.
pub const QUOTES: Layer = at("/allaccess/market/option-and-underlying-quotes");
/// The same under the prefix that the vendor's clients keep.
pub const QUOTES_LIVE: Layer = at("/v1/live/allaccess/market/option-and-underlying-quotes");
/// The same under the prefix that the vendor's clients keep.
pub const QUOTES_DELAYED: Layer = at("/v1/delayed/allaccess/market/option-and-underlying-quotes");

const fn at(path: &'static str) -> Layer {
    Layer { name: "livevol", path, serve: Serve::Rows(parse), refuse: body::message, headers: HEADERS }
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
    zero("option_volume"),
    zero("option_trade_count"),
    zero("open_interest"),
    quoted_size("option_bid_size", None, QuoteNumber::BidSize),
    quoted_size("option_ask_size", None, QuoteNumber::AskSize),
    or_zero("underlying_bid", slice(SliceNumber::UndPrice), Unit::Plain),
    or_zero("underlying_ask", slice(SliceNumber::UndPrice), Unit::Plain),
    or_zero("underlying_mid", slice(SliceNumber::UndPrice), Unit::Plain),
];

fn parse(query: &Query<'_>) -> Result<Reply, Refusal> {
    let symbol = ticker(query, "symbol")?;
    let selection = Selection {
        roots: parse_root(query)?,
        rights: query.rights("option_type", Rights::LETTERS)?,
        strike: Bounds { least: query.number("min_strike")?, most: query.number("max_strike")? },
        expiry_min: query.date("min_expiry")?,
        expiry_max: query.date("max_expiry")?,
        ..Selection::named(symbol)
    };
    if selection.strike.least.zip(selection.strike.most).is_some_and(|(least, most)| least > most) {
        return Err(Refusal::Conflict { reason: "min_strike is above max_strike" });
    }
    if selection.expiry_min.zip(selection.expiry_max).is_some_and(|(first, last)| first > last) {
        return Err(Refusal::Conflict { reason: "min_expiry is after max_expiry" });
    }
    let format = query.word("format", Format::WORDS)?.unwrap_or_default();
    let past = parse_past(query);
    Ok(Reply { selection, past, format, fields: FIELDS.to_vec(), title: title(symbol), ..Reply::default() })
}

/// The close of the day of `date`, where days are recorded. A feed of the present takes any text for it and answers with the
/// present, as the interface says (docs/compat.md).
fn parse_past(query: &Query<'_>) -> Option<PastQuestion> {
    let day = query.date("date").ok().flatten()?;
    Some(PastQuestion { moments: PastMoments::One(AsOf::Day(day)), if_live: None, if_none: Lacking::refusal })
}

/// The root asked for; a name that can be no root is that of no contract.
fn parse_root(query: &Query<'_>) -> Result<Vec<Symbol>, Refusal> {
    let Some(text) = query.get("root") else { return Ok(Vec::new()) };
    let root = Symbol::parse_underlying(text).ok_or_else(|| Refusal::invalid("root", text, "a root"))?;
    Ok(vec![root.bare()])
}
