//! ORATS (the strikes layer): `GET /datav2/strikes`. One row per (root, expiry, strike), call and put side by side.

use super::body;
use super::layer::{Layer, Reply, Serve, Wrap};
use super::parameter::title;
use crate::query::Query;
use crate::refusal::Refusal;
use crate::rows::clock::{Stamp, When};
use crate::rows::field::{
    Field, Missing, SliceNumber, Source, Text, call, days_to_expiry, num, own, put, slice, strike, text, time, zero,
};
use crate::rows::frame::Format;
use crate::rows::layout::Per;
use crate::rows::number::Print;
use crate::selection::Selection;
use engine::contract::Symbol;
use engine::store::columns::{Col, Unit};

/// The strikes of an underlying.
pub const STRIKES: Layer = at("/datav2/strikes", parse);
/// The same where the path says the format.
pub const STRIKES_JSON: Layer = at("/datav2/strikes.json", parse);
/// The same where the path says the format.
pub const STRIKES_CSV: Layer = at("/datav2/strikes.csv", parse_csv);

const fn at(path: &'static str, parse: fn(&Query<'_>) -> Result<Reply, Refusal>) -> Layer {
    Layer { name: "orats", path, serve: Serve::Rows(parse), refuse: body::message, headers: &[] }
}

const FIELDS: &[Field] = &[
    text("ticker", Text::Underlying),
    text("tradeDate", Text::Today),
    text("expirDate", Text::Expiry),
    days_to_expiry("dte"),
    strike("strike"),
    price("stockPrice"),
    zero("callVolume"),
    zero("callOpenInterest"),
    zero("callBidSize"),
    zero("callAskSize"),
    zero("putVolume"),
    zero("putOpenInterest"),
    zero("putBidSize"),
    zero("putAskSize"),
    zero("callBidPrice"),
    plain("callValue", call(Col::SvcTheo)),
    zero("callAskPrice"),
    zero("putBidPrice"),
    plain("putValue", put(Col::SvcTheo)),
    zero("putAskPrice"),
    plain("callBidIv", call(Col::BidVol)),
    plain("callMidIv", call(Col::MidVol)),
    plain("callAskIv", call(Col::AskVol)),
    plain("smvVol", own(Col::SvcVol)),
    plain("putBidIv", put(Col::BidVol)),
    plain("putMidIv", put(Col::MidVol)),
    plain("putAskIv", put(Col::AskVol)),
    zero("residualRate"),
    plain("delta", call(Col::Delta)),
    plain("gamma", own(Col::Gamma)),
    num("theta", own(Col::Theta), Unit::PerDay, Print::UpTo(4), Missing::Zero),
    num("vega", own(Col::Vega), Unit::PerPercent, Print::UpTo(4), Missing::Zero),
    num("rho", own(Col::Rho), Unit::PerPercent, Print::UpTo(4), Missing::Zero),
    zero("phi"),
    num("driftlessTheta", own(Col::Theta), Unit::PerDay, Print::UpTo(4), Missing::Zero),
    plain("extSmvVol", own(Col::SvcVol)),
    plain("extCallValue", call(Col::SvcTheo)),
    plain("extPutValue", put(Col::SvcTheo)),
    price("spotPrice"),
    time("updatedAt", When::Snapshot, Stamp::UtcIso),
];

const fn plain(name: &'static str, source: Source) -> Field {
    num(name, source, Unit::Plain, Print::UpTo(4), Missing::Zero)
}

const fn price(name: &'static str) -> Field {
    plain(name, slice(SliceNumber::UndPrice))
}

const AROUND: Wrap = Wrap::text(r#"{"data":["#, "]}");

fn parse(query: &Query<'_>) -> Result<Reply, Refusal> {
    parse_as(query, Format::Json)
}

fn parse_csv(query: &Query<'_>) -> Result<Reply, Refusal> {
    parse_as(query, Format::Csv)
}

fn parse_as(query: &Query<'_>, format: Format) -> Result<Reply, Refusal> {
    // Of a list of tickers only the first counts.
    let first = query.list("ticker").next().ok_or_else(|| Refusal::missing("ticker"))?;
    let symbol = Symbol::parse_underlying(first).ok_or_else(|| Refusal::invalid("ticker", first, "a symbol"))?;
    let selection = Selection {
        dte: query.range("dte")?.unwrap_or_default(),
        call_delta: query.range("delta")?.unwrap_or_default(),
        ..Selection::named(symbol)
    };
    let format = query.word("format", Format::WORDS)?.unwrap_or(format);
    let (fields, around, title) = (FIELDS.to_vec(), AROUND, title(symbol));
    Ok(Reply { selection, format, per: Per::Strike, fields, around, title, ..Reply::default() })
}
