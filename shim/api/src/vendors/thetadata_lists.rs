//! ThetaData's lists of roots, dates, strikes and contracts, versions 3 and 2: `GET /v3/option/list/…` and `GET
//! /v2/list/…`. With a folder of recorded days they list its contents, with any other feed the present market.

use super::layer::{Layer, Serve};
use super::parameter::{self, A_SYMBOL, ANY, FORMAT, exactly};
use super::thetadata_v2::{self, EXP, RIGHT, ROOT, USE_CSV, format_and_headers};
use super::thetadata_v3::{self, EXPIRATION, MAX_DTE, RIGHT_OF_THE_PAST, STRIKE as STRIKE_ASKED};
use crate::catalog::{Catalog, CatalogColumn, CatalogEntry, CatalogJson, CatalogKind, CatalogQuestion};
use crate::query::Query;
use crate::query::parameter::{IsoDate, ItemList, Param, ReadAs, Thousandths};
use crate::refusal::Refusal;
use crate::rows::frame::Format;
use crate::rows::table::Fact;
use jiff::civil::Date;
use kernel::contract::{Right, Symbol};

/// Roots.
pub const SYMBOLS: Layer =
    thetadata_v3::at("/v3/option/list/symbols", &[&FORMAT], Serve::Catalog(|query| newer(query, ROOTS)));
/// Dates of expiry of a name.
pub const EXPIRATIONS: Layer = thetadata_v3::at(
    "/v3/option/list/expirations",
    &[&NAMES.required("SPY"), &FORMAT],
    Serve::Catalog(|query| newer(query, NAMED_EXPIRATIONS)),
);
/// Strikes of a date of expiry.
pub const STRIKES: Layer = thetadata_v3::at(
    "/v3/option/list/strikes",
    &[&NAMES.required("SPY"), &EXPIRATION, &FORMAT],
    Serve::Catalog(|query| newer(query, NAMED_STRIKES)),
);
/// Days on which there are quotes of a date of expiry.
pub const DATES: Layer = thetadata_v3::at(
    "/v3/option/list/dates/quote",
    &[&parameter::SYMBOL, &EXPIRATION, &STRIKE_ASKED, &RIGHT_OF_THE_PAST, &FORMAT],
    Serve::Catalog(|query| newer(query, QUOTED_DAYS)),
);
/// Contracts that were quoted on a day.
pub const CONTRACTS: Layer = thetadata_v3::at(
    "/v3/option/list/contracts/quote",
    &[&NAMES, &DATE, &MAX_DTE, &FORMAT],
    Serve::Catalog(|query| newer(query, QUOTED_CONTRACTS)),
);
/// Roots, version 2.
pub const OLDER_ROOTS: Layer = thetadata_v2::at(
    "/v2/list/roots/option",
    &[&FORMAT, &USE_CSV],
    Serve::Catalog(|query| older(query, CatalogKind::Roots)),
);
/// Dates of expiry, version 2.
pub const OLDER_EXPIRATIONS: Layer = thetadata_v2::at(
    "/v2/list/expirations",
    &[&ROOT, &FORMAT, &USE_CSV],
    Serve::Catalog(|query| older(query, CatalogKind::Expirations)),
);
/// Strikes, version 2.
pub const OLDER_STRIKES: Layer = thetadata_v2::at(
    "/v2/list/strikes",
    &[&ROOT, &EXP, &FORMAT, &USE_CSV],
    Serve::Catalog(|query| older(query, CatalogKind::Strikes)),
);
/// Days, version 2.
pub const OLDER_DATES: Layer = thetadata_v2::at(
    "/v2/list/dates/option/quote",
    &[&ROOT, &EXP, &OLDER_STRIKE_ASKED, &RIGHT, &FORMAT, &USE_CSV],
    Serve::Catalog(|query| older(query, CatalogKind::Days)),
);
/// Contracts, version 2.
pub const OLDER_CONTRACTS: Layer = thetadata_v2::at(
    "/v2/list/contracts/option/quote",
    &[&ROOT_ASKED, &START_DATE, &FORMAT, &USE_CSV],
    Serve::Catalog(|query| older(query, CatalogKind::Contracts)),
);

/// Names separated by commas; `*` means all where the call allows it.
const NAMES: Param<ItemList> = Param::new("symbol", ItemList, "Symbol of the underlying");
const DATE: Param<IsoDate> = Param::new("date", IsoDate, "Date").required("2026-12-18");
const ROOT_ASKED: Param<ReadAs<Symbol>> = Param::new("root", A_SYMBOL, "Symbol of the underlying");
const START_DATE: Param<IsoDate> = Param::new("start_date", IsoDate, "Start date, YYYYMMDD").required("2026-12-18");
const OLDER_STRIKE_ASKED: Param<Thousandths> = Param::new("strike", Thousandths, "Strike in thousandths");

/// A list of version 3: its kind, and its columns.
type Newer = (CatalogKind, &'static [CatalogColumn]);

const ROOTS: Newer = (CatalogKind::Roots, &[SYMBOL]);
const NAMED_EXPIRATIONS: Newer = (CatalogKind::Expirations, &[SYMBOL, words("expiration", date)]);
const NAMED_STRIKES: Newer = (CatalogKind::Strikes, &[SYMBOL, STRIKE]);
const QUOTED_DAYS: Newer = (CatalogKind::Days, &[words("date", date)]);
const QUOTED_CONTRACTS: Newer = (
    CatalogKind::Contracts,
    &[SYMBOL, words("expiration", date), STRIKE, words("right", |of| right(of, ["CALL", "PUT"]))],
);

const SYMBOL: CatalogColumn = words("symbol", name);
const STRIKE: CatalogColumn =
    CatalogColumn { name: "strike", is_number: true, find: |of| of.strike_milli.map_or(Fact::Missing, Fact::Milli) };

const OLDER_ROOT: CatalogColumn = words("root", name);
const OLDER_STRIKE: CatalogColumn =
    count("strike", |of| of.strike_milli.map_or(Fact::Missing, |milli| Fact::Count(milli.into())));
const OLDER_DATE: CatalogColumn = count("date", date8);
const OLDER_EXPIRATION: CatalogColumn = count("expiration", date8);
const OLDER_RIGHT: CatalogColumn = words("right", |of| right(of, ["C", "P"]));

/// The columns of version 2, dates and strikes as integers.
const fn older_columns(kind: CatalogKind) -> &'static [CatalogColumn] {
    match kind {
        CatalogKind::Roots | CatalogKind::Underlyings => &[OLDER_ROOT],
        CatalogKind::Expirations | CatalogKind::Days => &[OLDER_DATE],
        CatalogKind::Strikes => &[OLDER_STRIKE],
        CatalogKind::Contracts => &[OLDER_ROOT, OLDER_EXPIRATION, OLDER_STRIKE, OLDER_RIGHT],
    }
}

const fn words(name: &'static str, find: fn(&CatalogEntry) -> Fact) -> CatalogColumn {
    CatalogColumn { name, is_number: false, find }
}

const fn count(name: &'static str, find: fn(&CatalogEntry) -> Fact) -> CatalogColumn {
    CatalogColumn { name, is_number: true, find }
}

fn name(of: &CatalogEntry) -> Fact {
    of.name.map_or(Fact::Missing, |name| Fact::Word(name.to_string()))
}

fn date(of: &CatalogEntry) -> Fact {
    of.date.map_or(Fact::Missing, |date| Fact::Word(date.to_string()))
}

fn date8(of: &CatalogEntry) -> Fact {
    let digits = |date: Date| date.strftime("%Y%m%d").to_string().parse().ok();
    of.date.and_then(digits).map_or(Fact::Missing, Fact::Count)
}

fn right(of: &CatalogEntry, [call, put]: [&str; 2]) -> Fact {
    let word = |right| if right == Right::Call { call } else { put };
    of.right.map_or(Fact::Missing, |right| Fact::Word(word(right).to_owned()))
}

fn newer(query: &Query<'_>, list: Newer) -> Result<Catalog, Refusal> {
    let (kind, columns) = list;
    let mut question = CatalogQuestion::all(kind);
    match kind {
        CatalogKind::Roots | CatalogKind::Underlyings => {}
        CatalogKind::Expirations => question.names = names(query, true)?,
        CatalogKind::Strikes => {
            question.names = names(query, true)?;
            question.expiry = Some(query.required(&EXPIRATION)?);
        }
        CatalogKind::Days => {
            question.names = vec![query.required(&parameter::SYMBOL)?];
            question.expiry = Some(query.required(&EXPIRATION)?);
            question.strike = thetadata_v3::strike(query)?;
            question.rights = query.get(&RIGHT_OF_THE_PAST)?.unwrap_or_default();
        }
        CatalogKind::Contracts => {
            question.names = names(query, false)?;
            question.day = Some(query.required(&DATE)?);
            question.most_days = query.get(&MAX_DTE)?;
        }
    }
    let format = query.get(&FORMAT)?.unwrap_or(Format::Csv);
    let when_empty = Some(Refusal::NoTicks { text: "No data found for your request".to_owned() });
    Ok(Catalog { question, format, json: CatalogJson::Columns, columns, headers: Vec::new(), when_empty })
}

/// Requested names.
fn names(query: &Query<'_>, is_required: bool) -> Result<Vec<Symbol>, Refusal> {
    if is_required {
        query.required_text(&NAMES)?;
    }
    let symbol = |text| A_SYMBOL.text(NAMES.name(), text);
    query.items(&NAMES).filter(|&text| text != ANY).map(symbol).collect()
}

fn older(query: &Query<'_>, kind: CatalogKind) -> Result<Catalog, Refusal> {
    let mut question = CatalogQuestion::all(kind);
    let root = || Ok::<_, Refusal>(vec![query.required(&ROOT)?]);
    match kind {
        CatalogKind::Roots | CatalogKind::Underlyings => {}
        CatalogKind::Expirations => question.names = root()?,
        CatalogKind::Strikes | CatalogKind::Days => {
            question.names = root()?;
            question.expiry = Some(query.required(&EXP)?);
        }
        CatalogKind::Contracts => {
            question.names = query.get(&ROOT_ASKED)?.into_iter().collect();
            question.day = Some(query.required(&START_DATE)?);
        }
    }
    if kind == CatalogKind::Days {
        question.strike = exactly(query.get(&OLDER_STRIKE_ASKED)?);
        question.rights = query.get(&RIGHT)?.unwrap_or_default();
    }
    let (format, headers) = format_and_headers(query)?;
    let when_empty = Some(Refusal::NoTicks { text: "No data for the specified timeframe & contract.".to_owned() });
    let json = CatalogJson::Headed(header);
    Ok(Catalog { question, format, json, columns: older_columns(kind), headers, when_empty })
}

/// The header before the rows. Clients of this version read `error_type` of every list and fail if it is absent.
fn header(names: &str) -> String {
    format!(
        r#"{{"header":{{"latency_ms":0,"error_type":"null","error_msg":"null","next_page":null,"format":[{names}]}},"response":"#
    )
}
