//! ThetaData, version 2, deprecated (the columnar snapshot layer): `GET /v2/bulk_snapshot/option/…`. Rows of
//! bare numbers behind a header that names them, strikes in thousandths, dates and times as integers.

use super::body;
use super::columns::{POINT, pointed, quoted_as};
use super::layer::{Ending, Headers, Layer, Reply, Serve, Wrap};
use super::parameter::{A_SYMBOL, FORMAT, title};
use super::thetadata_v3::FIRST;
use crate::query::parameter::{CompactDate, OneWord, OnlyTrue, Param, Parameters, ReadAs, parameters};
use crate::query::{Query, Rights};
use crate::refusal::Refusal;
use crate::rows::clock::{Stamp, When};
use crate::rows::field::{
    Field, QuoteNumber, SliceNumber, Text, close, open_array, open_bare, own, slice, strike_milli, text, time,
};
use crate::rows::frame::Format;
use crate::rows::layout::Around;
use crate::selection::Selection;
use engine::store::columns::{Col, Unit};
use kernel::contract::Symbol;
use std::borrow::Cow;

/// First-order Greeks.
pub const GREEKS: Layer =
    at("/v2/bulk_snapshot/option/greeks", OF_SNAPSHOTS, Serve::Rows(|query| parse(query, &[FIRST])));
/// Second-order Greeks.
pub const SECOND_ORDER: Layer =
    at("/v2/bulk_snapshot/option/greeks_second_order", OF_SNAPSHOTS, Serve::Rows(|query| parse(query, &[SECOND])));
/// Greeks of all orders.
pub const ALL_GREEKS: Layer = at(
    "/v2/bulk_snapshot/option/all_greeks",
    OF_SNAPSHOTS,
    Serve::Rows(|query| parse(query, &[FIRST, SECOND, ONLY_IN_ALL])),
);
/// All other paths under the prefix: refused.
pub const REST: Layer = at("/v2/{rest*}", &[], Serve::Text(|_| Err(Refusal::UnknownPath)));

pub(super) const fn at(path: &'static str, parameters: Parameters, serve: Serve) -> Layer {
    Layer { name: "thetadata_v2", path, parameters, is_strict: false, serve, refuse: body::plain, headers: &[] }
}

parameters! {
    OF_SNAPSHOTS:
    pub(super) const ROOT: Param<ReadAs<Symbol>> =
        Param::new("root", A_SYMBOL, "Symbol of the underlying").required("SPY");
    pub(super) const EXP: Param<CompactDate> =
        Param::new("exp", CompactDate, "Expiration date, YYYYMMDD; in snapshots, 0 selects all").required("20261218");
    pub(super) const RIGHT: Param<OneWord<Rights>> =
        Param::new("right", OneWord(Rights::LETTERS), "Calls, puts or both");
    use FORMAT;
    pub(super) const USE_CSV: Param<OnlyTrue> = Param::new("use_csv", OnlyTrue, "true selects CSV");
}

/// Fields that name the contract.
pub(super) const CONTRACT: &[Field] = &[
    open_bare("contract"),
    text("security_type", Text::Fixed("OPTION")),
    text("root", Text::Root),
    time("expiration", When::ExpiryFour, Stamp::Date8),
    strike_milli("strike"),
    text("right", Text::Right(["C", "P"])),
    close(),
];

/// The beginning of the numbers of a contract.
pub(super) const fn open_ticks() -> [Field; 2] {
    [open_array(TICKS), open_array("")]
}

/// First fields of a snapshot.
const BASE: &[Field] = &[
    time("ms_of_day", When::Quote, Stamp::MillisOfDay),
    quoted_as("bid", QuoteNumber::Bid, POINT),
    quoted_as("ask", QuoteNumber::Ask, POINT),
];

/// The array of the numbers of a row.
const TICKS: &str = "ticks";

/// Last fields of a snapshot.
const TAIL: &[Field] = &[
    pointed("implied_vol", own(Col::SvcVol), Unit::Plain),
    pointed("iv_error", own(Col::IvError), Unit::Plain),
    time("ms_of_day2", When::Snapshot, Stamp::MillisOfDay),
    pointed("underlying_price", slice(SliceNumber::UndPrice), Unit::Plain),
    time("date", When::Quote, Stamp::Date8),
    close(),
    close(),
];

pub(super) const SECOND: &[Field] = &[
    pointed("gamma", own(Col::Gamma), Unit::Plain),
    pointed("vanna", own(Col::Vanna), Unit::Plain),
    pointed("charm", own(Col::Charm), Unit::PerYear),
    pointed("vomma", own(Col::Volga), Unit::Plain),
    pointed("veta", own(Col::Veta), Unit::PerDay),
];

pub(super) const ONLY_IN_ALL: &[Field] = &[
    pointed("vera", own(Col::Vera), Unit::Plain),
    pointed("speed", own(Col::Speed), Unit::Plain),
    pointed("zomma", own(Col::Zomma), Unit::Plain),
    pointed("color", own(Col::Color), Unit::PerYear),
    pointed("ultima", own(Col::Ultima), Unit::Plain),
];

fn parse(query: &Query<'_>, columns: &[&[Field]]) -> Result<Reply, Refusal> {
    let root = query.required(&ROOT)?;
    let selection = Selection {
        expiries: if query.required_text(&EXP)? == "0" { None } else { Some(vec![query.required(&EXP)?]) },
        rights: query.get(&RIGHT)?.unwrap_or_default(),
        ..Selection::named(root)
    };
    let (format, headers) = format_and_headers(query)?;
    let fields = [CONTRACT, &open_ticks(), BASE, &columns.concat(), TAIL].concat();
    let (around, title) = (around_ticks(), title(root));
    Ok(Reply { selection, format, fields, around, headers, title, ..Reply::default() })
}

/// Format and headers of an answer. A client of this version requests a table and reads from a header that no page
/// follows.
pub(super) fn format_and_headers(query: &Query<'_>) -> Result<(Format, Headers), Refusal> {
    let format = query.get(&FORMAT)?.unwrap_or_default();
    if query.get(&USE_CSV)? == Some(true) {
        return Ok((Format::Csv, vec![("Next-Page", Cow::Borrowed("null"))]));
    }
    Ok((format, Vec::new()))
}

/// Text around rows of ticks.
pub(super) const fn around_ticks() -> Wrap {
    Wrap::Of(around)
}

/// The header names the numbers of a row.
fn around(ending: &Ending<'_>) -> Around {
    with_header(&body::names_within(&ending.reply.fields, TICKS))
}

/// Text around rows, with a header that has `names` of numbers.
pub(super) fn with_header(names: &str) -> Around {
    let open = format!(r#"{{"header":{{"latency_ms":0,"next_page":null,"format":[{names}]}},"response":["#);
    Around { open: Cow::Owned(open), close: Cow::Borrowed("]}") }
}
