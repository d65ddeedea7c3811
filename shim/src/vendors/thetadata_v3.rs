//! ThetaData, version 3 (the columnar snapshot layer): `GET /v3/option/snapshot/greeks/<order>`. JSON goes column by
//! column; CSV is the default. Numbers always have a decimal point, because readers infer types from the first rows.

use super::body;
use super::layer::{Layer, Reply, Serve, Wrap};
use super::parameter::{date_or_any, ticker, title};
use crate::query::{Bounds, Query, Rights};
use crate::refusal::Refusal;
use crate::rows::clock::{Stamp, When};
use crate::rows::field::{Field, Missing, SliceNumber, Source, Text, num, own, slice, strike_as, text, time, zero_as};
use crate::rows::frame::Format;
use crate::rows::layout::Walk;
use crate::rows::number::Print;
use crate::selection::Selection;
use engine::store::columns::{Col, Unit};

/// The five orders.
pub const GREEKS: Layer = at("/v3/option/snapshot/greeks/{order}", Serve::Rows(parse));
/// Whatever else is asked under its prefix.
pub const REST: Layer = at("/v3/option/{rest*}", Serve::Text(|_, _| Err(Refusal::UnknownPath)));

const fn at(path: &'static str, serve: Serve) -> Layer {
    Layer { name: "thetadata_v3", path, serve, refuse: body::plain, headers: &[] }
}

const POINT: Print = Print::Point(4);

/// What every order begins with.
const BASE: &[Field] = &[
    text("symbol", Text::Underlying),
    text("expiration", Text::Expiry),
    strike_as("strike", POINT, Print::Fixed(4)),
    text("right", Text::Right(["CALL", "PUT"])),
    time("timestamp", When::Snapshot, Stamp::EasternIso),
    zero_as("bid", POINT),
    zero_as("ask", POINT),
];

/// What every order ends with.
const TAIL: &[Field] = &[
    plain("implied_vol", own(Col::SvcVol)),
    plain("iv_error", own(Col::IvError)),
    time("underlying_timestamp", When::Snapshot, Stamp::EasternIso),
    plain("underlying_price", slice(SliceNumber::UndPrice)),
];

const FIRST: &[Field] = &[
    plain("delta", own(Col::Delta)),
    num("theta", own(Col::Theta), Unit::PerDay, POINT, Missing::Zero),
    num("vega", own(Col::Vega), Unit::PerOne, POINT, Missing::Zero),
    num("rho", own(Col::Rho), Unit::PerOne, POINT, Missing::Zero),
    num("epsilon", own(Col::Epsilon), Unit::PerOne, POINT, Missing::Zero),
    plain("lambda", own(Col::Lambda)),
];

const SECOND: &[Field] = &[
    plain("gamma", own(Col::Gamma)),
    plain("vanna", own(Col::Vanna)),
    num("charm", own(Col::Charm), Unit::PerYear, POINT, Missing::Zero),
    plain("vomma", own(Col::Volga)),
    num("veta", own(Col::Veta), Unit::PerDay, POINT, Missing::Zero),
    plain("vera", own(Col::Vera)),
];

const THIRD: &[Field] = &[
    plain("speed", own(Col::Speed)),
    plain("zomma", own(Col::Zomma)),
    num("color", own(Col::Color), Unit::PerYear, POINT, Missing::Zero),
    plain("ultima", own(Col::Ultima)),
];

/// What only the order of all has.
const ONLY_IN_ALL: &[Field] = &[
    plain("d1", own(Col::D1)),
    plain("d2", own(Col::D2)),
    plain("dual_delta", own(Col::DualDelta)),
    plain("dual_gamma", own(Col::DualGamma)),
];

const fn plain(name: &'static str, source: Source) -> Field {
    num(name, source, Unit::Plain, POINT, Missing::Zero)
}

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

fn parse(query: &Query<'_>) -> Result<Reply, Refusal> {
    let fields = fields(query.segment("order")).ok_or(Refusal::UnknownPath)?;
    let symbol = ticker(query, "symbol")?;
    query.required("expiration")?;
    let selection = Selection {
        expiries: date_or_any(query, "expiration")?,
        strike: match query.get("strike") {
            Some("*") => Bounds::default(),
            _ => query.number("strike")?.map(Bounds::exactly).unwrap_or_default(),
        },
        rights: query.rights("right", Rights::WORDS)?,
        dte: Bounds { least: None, most: query.integer("max_dte", 0..=i64::MAX)?.map(|days| days as f64) },
        strike_range: query.integer("strike_range", 1..=i64::MAX)?.and_then(|n| usize::try_from(n).ok()),
        ..Selection::named(symbol)
    };
    let format = query.word("format", Format::WORDS)?.unwrap_or(Format::Csv);
    let (walk, around, title) = (Walk::Columns, Wrap::text("{", "}"), title(symbol));
    Ok(Reply { selection, format, fields, walk, around, title, ..Reply::default() })
}
