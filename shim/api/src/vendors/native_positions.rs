//! The request of `GET /l1/positions`: its parameters, and the columns of its rows. Never: a position.

use super::native::{APIKEY, SHAPES, Shape, TOKEN};
use super::native_facts::{number, word};
use super::native_past::AS_OF;
use super::parameter::A_SYMBOL;
use crate::operation::{Operation, refused};
use crate::past::moment::AsOf;
use crate::query::Query;
use crate::query::parameter::{ItemList, OneWord, Param, ReadAs, WordList, parameters};
use crate::refusal::Refusal;
use crate::rows::frame::{ColumnHead, Format};
use history::tables::TableFormat;
use kernel::contract::Symbol;
use serde_json::json;

/// Path of the endpoint.
pub const PATH: &str = "/l1/positions";

parameters! {
    /// Parameters of the endpoint.
    pub PARAMETERS:
    const BY: Param<WordList<PositionRows>> = Param::new(
        "by",
        WordList(LEVELS),
        "Levels of rows: each contract, or sums by expiry, underlying, account or of all [default: all levels]",
    );
    const ACCOUNT: Param<ItemList> = Param::new("account", ItemList, "Accounts, comma-separated [default: all]");
    const UNDERLYING: Param<ItemList> =
        Param::new("underlying", ItemList, "Underlyings, comma-separated [default: all]");
    const INDEX: Param<ReadAs<Symbol>> = Param::new(
        "index",
        A_SYMBOL,
        "Underlying whose shares express beta_shares; betas are a column of the positions",
    );
    const EXPLAIN: Param<ReadAs<ExplainedSince>> = Param::new(
        "explain",
        ReadAs {
            read: ExplainedSince::parse,
            wants: "since:session, or since: with a date or a time such as since:2024-01-03T10:30",
        },
        "Change of value since a recorded moment by cause, until now or as_of: since:session is the last session \
         before; for feeds with past data",
    )
    .such_as("since:session");
    const FORMAT: Param<OneWord<Shape>> = Param::new("format", OneWord(SHAPES), "Format of the response");
    use AS_OF, APIKEY, TOKEN;
}

const LEVELS: &[(&str, PositionRows)] = &[
    ("contract", PositionRows::Contract),
    ("expiry", PositionRows::Expiry),
    ("underlying", PositionRows::Underlying),
    ("account", PositionRows::Account),
    ("total", PositionRows::Total),
];

/// Level of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PositionRows {
    /// One row per position.
    Contract,
    /// One row per underlying and expiration date.
    Expiry,
    /// One row per underlying.
    Underlying,
    /// One row per account.
    Account,
    /// One row for everything.
    Total,
}

impl PositionRows {
    /// All levels, from the finest on.
    pub const ALL: [Self; 5] = [Self::Contract, Self::Expiry, Self::Underlying, Self::Account, Self::Total];

    /// The level of a word.
    #[must_use]
    pub fn of(word: &str) -> Option<Self> {
        LEVELS.iter().find(|(name, _)| *name == word).map(|&(_, level)| level)
    }

    /// Word of the value in requests.
    #[must_use]
    pub fn name(self) -> &'static str {
        LEVELS.iter().find(|(_, level)| *level == self).map_or("", |(name, _)| name)
    }
}

/// The earlier moment of an explanation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExplainedSince {
    /// The end of the last day with data before the later moment.
    Session,
    /// A moment.
    Moment(AsOf),
}

impl ExplainedSince {
    /// Reads `since:session` or `since:` and a moment.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        match text.strip_prefix("since:")? {
            "session" => Some(Self::Session),
            moment => AsOf::parse(moment).map(Self::Moment),
        }
    }
}

/// The moments between which changes are explained.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExplainedSpan {
    /// The earlier one.
    pub since: ExplainedSince,
    /// The later one; `None`: now.
    pub until: Option<AsOf>,
}

/// A request for positions.
#[derive(Clone, Debug)]
pub struct PositionRequest {
    /// Levels of rows, ascending.
    pub levels: Vec<PositionRows>,
    /// Accounts; empty: all.
    pub accounts: Vec<String>,
    /// Underlyings; empty: all.
    pub underlyings: Vec<Symbol>,
    /// Index of beta-weighted shares.
    pub index: Option<Symbol>,
    /// The moments of an explanation; `None`: values of now.
    pub explained: Option<ExplainedSpan>,
    /// Format of the answer, as text.
    pub format: Format,
    /// Binary table format, which replaces `format`; `None`: text.
    pub table: Option<TableFormat>,
}

/// The columns, in the order of a row.
pub const COLUMNS: &[ColumnHead<'static>] = &[
    word("level"),
    word("account"),
    word("underlying"),
    word("root"),
    word("expiry"),
    number("strike"),
    word("right"),
    word("osym"),
    number("quantity"),
    number("price"),
    number("positions"),
    number("missing"),
    word("reason"),
    number("und_price"),
    number("svc_theo"),
    number("svc_vol"),
    number("value"),
    number("profit"),
    number("session_profit"),
    number("dollar_delta"),
    number("gamma_1pct"),
    number("vega"),
    number("theta"),
    number("decay"),
    number("rho"),
    number("epsilon"),
    number("beta_delta"),
    number("beta_shares"),
];

/// The columns of an explanation, in the order of a row.
pub const EXPLAINED: &[ColumnHead<'static>] = &[
    word("level"),
    word("account"),
    word("underlying"),
    word("root"),
    word("expiry"),
    number("strike"),
    word("right"),
    word("osym"),
    number("quantity"),
    number("positions"),
    number("missing"),
    word("reason"),
    word("state"),
    word("since"),
    word("until"),
    number("value_before"),
    number("value_after"),
    number("change"),
    number("by_time"),
    number("by_spot"),
    number("by_vol"),
    number("by_skew"),
    number("by_carry"),
    number("by_dividends"),
    number("rest"),
];

/// The descriptions of the endpoint's methods.
#[must_use]
pub fn operations() -> [Operation; 2] {
    let title = "Positions: value, profit and Greeks, by contract, expiry, underlying, account and in total";
    let mut responses = refused(&["400", "403", "421", "503"]);
    let fields = json!({ "source": { "type": "string" }, "lines": { "type": "integer" },
                         "refused": { "type": "integer" },
                         "errors": { "type": "array", "items": { "type": "string" } } });
    let content = json!({ "application/json": { "schema": { "type": "object", "properties": fields } } });
    responses.insert("200".to_owned(), json!({ "description": "What was taken", "content": content }));
    responses.insert("405".to_owned(), json!({ "description": "The daemon runs without --allow-positions" }));
    responses.insert("413".to_owned(), json!({ "description": "More than 8 MB" }));
    let described = json!({ "operationId": "put_l1_positions", "tags": ["native"],
                            "summary": "Replace all positions; from this machine, with --allow-positions",
                            "requestBody": { "required": true,
                                             "content": { "text/csv": { "schema": { "type": "string" } } } },
                            "responses": responses });
    let put = Operation { path: PATH, method: "put", described };
    let get = Operation::rows(PATH, title, PARAMETERS, &["400", "404", "502", "503"], &[COLUMNS, EXPLAINED]);
    [get, put]
}

/// Parses a query.
///
/// # Errors
/// A parameter has an invalid value, or is not in the table.
pub fn parse(query: &Query<'_>) -> Result<PositionRequest, Refusal> {
    query.only(PARAMETERS)?;
    let mut levels = query.get(&BY)?.unwrap_or_else(|| PositionRows::ALL.to_vec());
    levels.sort_unstable();
    levels.dedup();
    let underlyings = query.items(&UNDERLYING).map(|name| A_SYMBOL.text(UNDERLYING.name(), name));
    let (format, table) = Shape::parts(query.get(&FORMAT)?);
    let (index, until) = (query.get(&INDEX)?, query.get(&AS_OF)?);
    let explained = query.get(&EXPLAIN)?.map(|since| ExplainedSpan { since, until });
    if explained.is_none() && until.is_some() {
        return Err(Refusal::Conflict { reason: "as_of is the later moment of explain: give that too" });
    }
    if explained.is_some() && index.is_some() {
        return Err(Refusal::Conflict { reason: "index has no meaning with explain" });
    }
    Ok(PositionRequest {
        levels,
        accounts: query.items(&ACCOUNT).map(str::to_owned).collect(),
        underlyings: underlyings.collect::<Result<Vec<Symbol>, _>>()?,
        index,
        explained,
        format,
        table,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_each_shown_once_in_their_order() {
        let parsed = |text: &str| {
            let query = Query::parse(text);
            query.expect_only(PARAMETERS);
            parse(&query).map_err(|refusal| refusal.to_string())
        };
        assert_eq!(parsed("").unwrap().levels.len(), 5);
        let some = parsed("by=total,contract,total&account=a,b&underlying=spy&index=SPX").unwrap();
        assert_eq!(some.levels, [PositionRows::Contract, PositionRows::Total]);
        assert_eq!((some.accounts.len(), some.underlyings[0].as_str()), (2, "SPY"));
        let explained = parsed("explain=since:2024-01-03&as_of=2024-01-04T10:30").unwrap().explained.unwrap();
        assert_eq!(explained.since, ExplainedSince::Moment(AsOf::parse("2024-01-03").unwrap()));
        assert_eq!(explained.until, AsOf::parse("2024-01-04T10:30"));
        assert_eq!(parsed("explain=since:session").unwrap().explained.unwrap().until, None);
        for (bad, why) in [
            ("explain=session", "explain: not since:session"),
            ("explain=since:now", "explain: not since:session"),
            ("as_of=2024-01-03", "as_of is the later moment"),
            ("explain=since:session&index=SPX", "index has no meaning"),
        ] {
            assert!(parsed(bad).unwrap_err().starts_with(why), "{bad}");
        }
        assert!(parsed("by=name").unwrap_err().starts_with("by: not one of contract, expiry"));
        assert_eq!(PositionRows::Expiry.name(), "expiry");
    }
}
