//! ThetaData, version 2, deprecated (the columnar snapshot layer): `GET /v2/bulk_snapshot/option/…`. Rows of
//! bare numbers behind a header that names them, strikes in thousandths, dates and times as integers.

use super::body;
use super::layer::{Ending, Layer, Reply, Serve, Wrap};
use super::parameter::{ticker, title};
use crate::query::{Query, Rights};
use crate::refusal::Refusal;
use crate::rows::clock::{Stamp, When};
use crate::rows::field::{
    Field, Missing, SliceNumber, Source, Text, close, num, open_array, open_bare, own, slice, strike_milli, text, time,
    zero_as,
};
use crate::rows::frame::Format;
use crate::rows::layout::Around;
use crate::rows::number::Print;
use crate::selection::Selection;
use engine::store::columns::{Col, Unit};
use std::borrow::Cow;

/// First order.
pub const GREEKS: Layer = at("/v2/bulk_snapshot/option/greeks", Serve::Rows(|query| parse(query, &[FIRST])));
/// Second order.
pub const SECOND_ORDER: Layer =
    at("/v2/bulk_snapshot/option/greeks_second_order", Serve::Rows(|query| parse(query, &[SECOND])));
/// All of them.
pub const ALL_GREEKS: Layer =
    at("/v2/bulk_snapshot/option/all_greeks", Serve::Rows(|query| parse(query, &[FIRST, SECOND, ONLY_IN_ALL])));
/// Whatever else is asked under its prefix.
pub const REST: Layer = at("/v2/{rest*}", Serve::Text(|_, _| Err(Refusal::UnknownPath)));

const fn at(path: &'static str, serve: Serve) -> Layer {
    Layer { name: "thetadata_v2", path, serve, refuse: body::plain, headers: &[] }
}

const POINT: Print = Print::Point(4);

/// The contract, and the beginning of its numbers.
const BASE: &[Field] = &[
    open_bare("contract"),
    text("security_type", Text::Fixed("OPTION")),
    text("root", Text::Root),
    time("expiration", When::ExpiryFour, Stamp::Date8),
    strike_milli("strike"),
    text("right", Text::Right(["C", "P"])),
    close(),
    open_array(TICKS),
    open_array(""),
    time("ms_of_day", When::Snapshot, Stamp::MillisOfDay),
    zero_as("bid", POINT),
    zero_as("ask", POINT),
];

const TICKS: &str = "ticks";

/// The end of its numbers.
const TAIL: &[Field] = &[
    plain("implied_vol", own(Col::SvcVol)),
    plain("iv_error", own(Col::IvError)),
    time("ms_of_day2", When::Snapshot, Stamp::MillisOfDay),
    plain("underlying_price", slice(SliceNumber::UndPrice)),
    time("date", When::Snapshot, Stamp::Date8),
    close(),
    close(),
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
];

const ONLY_IN_ALL: &[Field] = &[
    plain("vera", own(Col::Vera)),
    plain("speed", own(Col::Speed)),
    plain("zomma", own(Col::Zomma)),
    num("color", own(Col::Color), Unit::PerYear, POINT, Missing::Zero),
    plain("ultima", own(Col::Ultima)),
];

const fn plain(name: &'static str, source: Source) -> Field {
    num(name, source, Unit::Plain, POINT, Missing::Zero)
}

fn parse(query: &Query<'_>, columns: &[&[Field]]) -> Result<Reply, Refusal> {
    let root = ticker(query, "root")?;
    let selection = Selection {
        expiries: if query.required("exp")? == "0" { None } else { Some(vec![query.date8("exp")?]) },
        rights: query.rights("right", Rights::LETTERS)?,
        ..Selection::named(root)
    };
    let (mut format, mut headers) = (query.word("format", Format::WORDS)?.unwrap_or_default(), Vec::new());
    // A client of this version asks for a table and reads from a header that no page follows.
    if query.get("use_csv").is_some_and(|text| text.eq_ignore_ascii_case("true")) {
        format = Format::Csv;
        headers.push(("Next-Page", Cow::Borrowed("null")));
    }
    let fields = [BASE, &columns.concat(), TAIL].concat();
    let (around, title) = (Wrap::Of(around), title(root));
    Ok(Reply { selection, format, fields, around, headers, title, ..Reply::default() })
}

/// The header names the numbers of a row.
fn around(ending: &Ending<'_>) -> Around {
    let names = body::names_within(&ending.reply.fields, TICKS);
    let open = format!(r#"{{"header":{{"latency_ms":0,"next_page":null,"format":[{names}]}},"response":["#);
    Around { open: Cow::Owned(open), close: Cow::Borrowed("]}") }
}
