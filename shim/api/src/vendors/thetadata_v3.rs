//! ThetaData, version 3 (the columnar snapshot layer): `GET /v3/option/snapshot/greeks/<order>`. JSON goes column by
//! column; CSV is the default. Numbers always have a decimal point, because readers infer types from the first rows.

use super::body;
use super::columns::{POINT, pointed, quoted_as};
use super::layer::{Layer, Reply, Serve, Wrap};
use super::parameter::{ANY, FORMAT, SYMBOL, date_or_any, exactly, title};
use crate::query::parameter::{FiniteNumber, IsoDate, OneWord, Param, Parameters, WholeNumber};
use crate::query::{Bounds, Query, Rights};
use crate::refusal::Refusal;
use crate::rows::clock::{Stamp, When};
use crate::rows::field::{Field, QuoteNumber, SliceNumber, Text, own, slice, strike_as, text, time};
use crate::rows::frame::Format;
use crate::rows::layout::Walk;
use crate::rows::number::Print;
use crate::selection::Selection;
use engine::store::columns::{Col, Unit};
use kernel::contract::Symbol;

/// The five orders.
pub const GREEKS: Layer = at(
    "/v3/option/snapshot/greeks/{order}",
    &[&SYMBOL, &EXPIRATION, &STRIKE, &RIGHT, &MAX_DTE, &STRIKE_RANGE, &FORMAT],
    Serve::Rows(parse),
);
/// All other paths under the prefix: refused.
pub const REST: Layer = at("/v3/option/{rest*}", &[], Serve::Text(|_| Err(Refusal::UnknownPath)));

pub(super) const fn at(path: &'static str, parameters: Parameters, serve: Serve) -> Layer {
    Layer { name: "thetadata_v3", path, parameters, is_strict: false, serve, refuse: body::plain, headers: &[] }
}

/// Parameter `right` in calls about the present.
const RIGHT: Param<OneWord<Rights>> = Param::new("right", OneWord(Rights::WORDS), "Calls, puts or both");
/// Parameter `right` in calls about the past.
pub(super) const RIGHT_OF_THE_PAST: Param<OneWord<Rights>> =
    Param::new("right", OneWord(Rights::ANY), "Calls, puts or both");
pub(super) const EXPIRATION: Param<IsoDate> =
    Param::new("expiration", IsoDate, "Expiration date; * selects all").required("2026-12-18");
pub(super) const STRIKE: Param<FiniteNumber> = Param::new("strike", FiniteNumber, "Strike; * selects all");
pub(super) const MAX_DTE: Param<WholeNumber> =
    Param::new("max_dte", WholeNumber::from(0), "Maximum calendar days to expiry");
pub(super) const STRIKE_RANGE: Param<WholeNumber> =
    Param::new("strike_range", WholeNumber::from(1), "Number of strikes above and below the money, for each expiry");

/// First fields of every order.
const BASE: &[Field] = &[
    text("symbol", Text::Underlying),
    text("expiration", Text::Expiry),
    strike_as("strike", POINT, Print::Fixed(4)),
    text("right", Text::Right(["CALL", "PUT"])),
    time("timestamp", When::Quote, Stamp::EasternIso),
    quoted_as("bid", QuoteNumber::Bid, POINT),
    quoted_as("ask", QuoteNumber::Ask, POINT),
];

/// Last fields of every order.
pub(super) const TAIL: &[Field] = &[
    pointed("implied_vol", own(Col::SvcVol), Unit::Plain),
    pointed("iv_error", own(Col::IvError), Unit::Plain),
    time("underlying_timestamp", When::Snapshot, Stamp::EasternIso),
    pointed("underlying_price", slice(SliceNumber::UndPrice), Unit::Plain),
];

pub(super) const FIRST: &[Field] = &[
    pointed("delta", own(Col::Delta), Unit::Plain),
    pointed("theta", own(Col::Theta), Unit::PerDay),
    pointed("vega", own(Col::Vega), Unit::PerOne),
    pointed("rho", own(Col::Rho), Unit::PerOne),
    pointed("epsilon", own(Col::Epsilon), Unit::PerOne),
    pointed("lambda", own(Col::Lambda), Unit::Plain),
];

pub(super) const SECOND: &[Field] = &[
    pointed("gamma", own(Col::Gamma), Unit::Plain),
    pointed("vanna", own(Col::Vanna), Unit::Plain),
    pointed("charm", own(Col::Charm), Unit::PerYear),
    pointed("vomma", own(Col::Volga), Unit::Plain),
    pointed("veta", own(Col::Veta), Unit::PerDay),
    pointed("vera", own(Col::Vera), Unit::Plain),
];

pub(super) const THIRD: &[Field] = &[
    pointed("speed", own(Col::Speed), Unit::Plain),
    pointed("zomma", own(Col::Zomma), Unit::Plain),
    pointed("color", own(Col::Color), Unit::PerYear),
    pointed("ultima", own(Col::Ultima), Unit::Plain),
];

/// Fields that only the order `all` has.
pub(super) const ONLY_IN_ALL: &[Field] = &[
    pointed("d1", own(Col::D1), Unit::Plain),
    pointed("d2", own(Col::D2), Unit::Plain),
    pointed("dual_delta", own(Col::DualDelta), Unit::Plain),
    pointed("dual_gamma", own(Col::DualGamma), Unit::Plain),
];

/// The fields of an order.
fn fields(order: &str) -> Option<Vec<Field>> {
    Some(match order {
        "first_order" => [BASE, FIRST, TAIL].concat(),
        "second_order" => [BASE, SECOND, TAIL].concat(),
        "third_order" => [BASE, THIRD, TAIL].concat(),
        "implied_volatility" => [BASE, TAIL].concat(),
        "all" => [BASE, FIRST, SECOND, THIRD, ONLY_IN_ALL, TAIL].concat(),
        _ => return None,
    })
}

/// The requested contracts of a symbol; calls spell the right differently.
pub(super) fn selection(
    query: &Query<'_>,
    symbol: Symbol,
    right: &Param<OneWord<Rights>>,
) -> Result<Selection, Refusal> {
    query.required_text(&EXPIRATION)?;
    Ok(Selection {
        expiries: date_or_any(query, &EXPIRATION)?,
        strike: strike(query)?,
        rights: query.get(right)?.unwrap_or_default(),
        dte: Bounds { least: None, most: query.get(&MAX_DTE)?.map(|days| days as f64) },
        strike_range: query.get(&STRIKE_RANGE)?.and_then(|n| usize::try_from(n).ok()),
        ..Selection::named(symbol)
    })
}

/// The requested strike; absent: any.
pub(super) fn strike(query: &Query<'_>) -> Result<Bounds, Refusal> {
    if query.text(&STRIKE) == Some(ANY) { Ok(Bounds::default()) } else { Ok(exactly(query.get(&STRIKE)?)) }
}

fn parse(query: &Query<'_>) -> Result<Reply, Refusal> {
    let fields = fields(query.segment("order")).ok_or(Refusal::UnknownPath)?;
    let symbol = query.required(&SYMBOL)?;
    let selection = selection(query, symbol, &RIGHT)?;
    let format = query.get(&FORMAT)?.unwrap_or(Format::Csv);
    let (walk, around, title) = (Walk::Columns, Wrap::text("{", "}"), title(symbol));
    Ok(Reply { selection, format, fields, walk, around, title, ..Reply::default() })
}
