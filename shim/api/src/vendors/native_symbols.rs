//! `GET /l1/symbols`: the served underlyings, one row each. An extension of the interface in its conventions.

use super::layer::{Layer, Serve, SymbolColumn, SymbolList};
use super::native::{APIKEY, TOKEN, native};
use super::native_past::{self, AS_OF};
use super::parameter::{A_SYMBOL, NATIVE_FORMAT};
use crate::query::Query;
use crate::query::parameter::{Param, ReadAs, ReadEach, WholeNumber, parameters};
use crate::refusal::Refusal;
use crate::rows::clock::{Clock, Stamp};
use crate::rows::table::Fact;
use crate::selection::symbols::{SymbolFacts, SymbolSelection};
use jiff::civil::Date;
use kernel::contract::Symbol;

/// The served underlyings.
pub const SYMBOLS: Layer = native("/l1/symbols", PARAMETERS, Serve::Symbols(parse));

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

/// Value of a cell from the facts, the clock of the answer, and the feed as given to the program.
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

parameters! {
    PARAMETERS:
    const SYMBOL: Param<ReadEach<Symbol>> = Param::new(
        "symbol",
        ReadEach(ReadAs { wants: "the beginning of a symbol", ..A_SYMBOL }),
        "Prefixes of symbols, comma-separated",
    );
    const LIMIT: Param<WholeNumber> = Param::new(
        "limit",
        WholeNumber::from(1),
        "Maximum number of rows; the header Next-Cursor gives the cursor of the next page",
    );
    const CURSOR: Param<ReadAs<Symbol>> =
        Param::new("cursor", A_SYMBOL, "Cursor of the page: only symbols after this one");
    use NATIVE_FORMAT, AS_OF, APIKEY, TOKEN;
}

fn parse(query: &Query<'_>) -> Result<SymbolList, Refusal> {
    let limit = query.get(&LIMIT)?;
    Ok(SymbolList {
        selection: SymbolSelection {
            prefixes: query.get(&SYMBOL)?.unwrap_or_default(),
            after: query.get(&CURSOR)?,
            limit: limit.map(|n| usize::try_from(n).unwrap_or(usize::MAX)),
        },
        past: native_past::parse_moment(query)?,
        format: query.get(&NATIVE_FORMAT)?.unwrap_or_default(),
        columns: COLUMNS,
    })
}
