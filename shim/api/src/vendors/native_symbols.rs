//! `GET /l1/symbols`: what is served, one row for each underlying. An extension of the interface in its conventions.

use super::layer::{Layer, Serve, SymbolColumn, SymbolList};
use super::native::refuse;
use super::native_past;
use crate::query::Query;
use crate::refusal::Refusal;
use crate::rows::clock::{Clock, Stamp};
use crate::rows::frame::Format;
use crate::rows::table::Fact;
use crate::selection::symbols::{SymbolFacts, SymbolSelection};
use jiff::civil::Date;
use kernel::contract::Symbol;

/// What is served.
pub const SYMBOLS: Layer =
    Layer { name: "native", path: "/l1/symbols", serve: Serve::Symbols(parse), refuse, headers: &[] };

/// The columns, in the order of a row.
const COLUMNS: &[SymbolColumn] = &[
    words("symbol", |of, _, _| Fact::Word(of.symbol.to_string())),
    words("roots", |of, _, _| Fact::Words(of.roots.iter().map(Symbol::to_string).collect())),
    count("expiries", |of, _, _| Fact::Count(of.expiries as u64)),
    words("first_expiry", |of, _, _| date(of.expiry_span.map(|(first, _)| first))),
    words("last_expiry", |of, _, _| date(of.expiry_span.map(|(_, last)| last))),
    count("contracts", |of, _, _| Fact::Count(of.contracts.into())),
    words("state", |of, _, _| Fact::Word(of.state.name().to_owned())),
    words("reason", |of, _, _| of.state.reason().map_or(Fact::Missing, |reason| Fact::Word(reason.to_owned()))),
    words("preliminary", |of, _, _| Fact::Flag(of.preliminary)),
    // the former name of `preliminary`, for one release
    words("rough", |of, _, _| Fact::Flag(of.preliminary)),
    words("valued_at", valued_at),
    words("feed", |_, _, feed| Fact::Word(feed.to_owned())),
];

/// How a cell is found: the facts, the clock of the answer, the feed as given to the program.
type Find = fn(&SymbolFacts, &Clock, &str) -> Fact;

const fn words(name: &'static str, find: Find) -> SymbolColumn {
    SymbolColumn { name, is_number: false, find }
}

const fn count(name: &'static str, find: Find) -> SymbolColumn {
    SymbolColumn { name, is_number: true, find }
}

fn date(date: Option<Date>) -> Fact {
    date.map_or(Fact::Missing, |date| Fact::Word(date.to_string()))
}

fn valued_at(of: &SymbolFacts, clock: &Clock, _: &str) -> Fact {
    of.valued_at.map_or(Fact::Missing, |at| Fact::Word(clock.spell(at, Stamp::EasternOffsetMillis)))
}

const PARAMETERS: &[&str] = &["symbol", "limit", "cursor", "format", "as_of", "apikey", "token"];

fn parse(query: &Query<'_>) -> Result<SymbolList, Refusal> {
    query.only(PARAMETERS)?;
    let symbol = |parameter, text: &str, wants: &'static str| {
        Symbol::parse_underlying(text).ok_or_else(|| Refusal::invalid(parameter, text, wants))
    };
    let prefixes = query.list("symbol").map(|text| symbol("symbol", text, "the beginning of a symbol"));
    let limit = query.integer("limit", 1..=i64::MAX)?;
    Ok(SymbolList {
        selection: SymbolSelection {
            prefixes: prefixes.collect::<Result<_, _>>()?,
            after: query.get("cursor").map(|text| symbol("cursor", text, "a symbol")).transpose()?,
            limit: limit.map(|n| usize::try_from(n).unwrap_or(usize::MAX)),
        },
        past: native_past::parse(query)?,
        format: query.word("format", Format::WORDS)?.unwrap_or_default(),
        columns: COLUMNS,
    })
}
