//! The request of `GET /l1/strategy`: its parameters, and the columns of its tables. Never: a chain.

use super::asked::{AskedLeg, PRICE};
use super::native::{APIKEY, SHAPES, Shape, TOKEN};
use super::native_facts::{number, word};
use super::native_past::{self, AS_OF};
use super::parameter::{A_SYMBOL, ANY};
use crate::operation::{Operation, row_schema};
use crate::past::PastQuestion;
use crate::query::Query;
use crate::query::parameter::{IsoDate, ItemList, Kind, OneWord, Param, ParameterForm, ReadAs, ReadEach, parameters};
use crate::refusal::Refusal;
use crate::rows::binary::content_type;
use crate::rows::frame::{ColumnHead, Format};
use engine::strategy::KnownStrategy;
use history::tables::TableFormat;
use jiff::civil::Date;
use kernel::contract::Symbol;
use serde_json::json;

/// Path of the endpoint.
pub const PATH: &str = "/l1/strategy";
/// Maximum legs of a strategy.
pub const LEGS_MOST: usize = 100;

parameters! {
    /// Parameters of the endpoint.
    pub PARAMETERS:
    const LEGS: Param<ReadEach<AskedLeg>> = Param::new(
        "legs",
        ReadEach(ReadAs { read: AskedLeg::parse, wants: "a leg such as -1 SPY 12/18 712 C, or 100 SPY for shares" }),
        "Legs of one underlying, comma-separated: a number, negative if sold [default: 1], and a contract (OSI symbol, \
         SPY 12/18 712 C, SPY 18DEC26 712 P) or, for shares, a symbol; at most 100",
    )
    .such_as("-1 SPY 12/18 712 C");
    use PRICE;
    const POSITIONS: Param<ItemList> = Param::new(
        "positions",
        ItemList,
        "Accounts whose positions of one underlying are the legs, comma-separated; * selects all",
    );
    const UNDERLYING: Param<ReadAs<Symbol>> =
        Param::new("underlying", A_SYMBOL, "The underlying of positions or strategy");
    const STRATEGY: Param<OneStrategy> = Param::new(
        "strategy",
        OneStrategy,
        "A known strategy by name, whose legs are contracts of the underlying about the money",
    );
    const EXPIRY: Param<IsoDate> =
        Param::new("expiry", IsoDate, "First expiration of the strategy [default: the nearest to 30 days]");
    const ENTRY: Param<OneWord<EntryPrice>> = Param::new(
        "entry",
        OneWord(ENTRIES),
        "Price that profit counts from: mid, ask (bought at ask, sold at bid), bid (the other way round), value (by \
         the model), or paid, of positions and of price [default: paid where known, else mid where quoted, else value]",
    );
    const ROWS: Param<OneWord<StrategyRows>> = Param::new(
        "rows",
        OneWord(&[
            ("legs", StrategyRows::Legs),
            ("net", StrategyRows::Net),
            ("payoff", StrategyRows::Payoff),
        ]),
        "Rows of formats other than json, which has all: the legs, their sum, or profit by spot [default: legs]",
    );
    const FORMAT: Param<OneWord<Shape>> = Param::new("format", OneWord(SHAPES), "Format of the response");
    use AS_OF, APIKEY, TOKEN;
}

const ENTRIES: &[(&str, EntryPrice)] = &[
    ("mid", EntryPrice::Mid),
    ("ask", EntryPrice::Ask),
    ("bid", EntryPrice::Bid),
    ("value", EntryPrice::Value),
    ("paid", EntryPrice::Paid),
];

/// The price that profit counts from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryPrice {
    /// The middle of bid and ask.
    Mid,
    /// Price of buying: the ask of what is bought, the bid of what is sold.
    Ask,
    /// Price of selling: the bid of what is bought, the ask of what is sold.
    Bid,
    /// The value by the model.
    Value,
    /// The price paid, of positions.
    Paid,
}

impl EntryPrice {
    /// Word of the price in requests.
    #[must_use]
    pub fn name(self) -> &'static str {
        ENTRIES.iter().find(|(_, price)| *price == self).map_or("", |(name, _)| name)
    }
}

/// A table of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StrategyRows {
    /// A row per leg, per share.
    Legs,
    /// One row: the sum of the legs, in currency.
    Net,
    /// A row per spot.
    Payoff,
}

/// A known strategy by name.
#[derive(Clone, Copy, Debug)]
struct OneStrategy;

impl Kind for OneStrategy {
    type Value<'q> = KnownStrategy;

    fn read(&self, name: &str, text: &str) -> Result<Option<KnownStrategy>, Refusal> {
        let wants = || format!("one of {}", KnownStrategy::names().join(", "));
        KnownStrategy::named(text).map(Some).ok_or_else(|| Refusal::invalid(name, text, wants()))
    }

    fn form(&self) -> ParameterForm {
        ParameterForm::Word(KnownStrategy::names())
    }
}

/// The legs of a request.
#[derive(Clone, Debug)]
pub enum StrategySubject {
    /// Legs that the request names.
    Legs {
        /// The legs.
        legs: Vec<AskedLeg>,
        /// Price paid for each leg; empty: none is known.
        prices: Vec<f64>,
    },
    /// Positions of an underlying.
    Positions {
        /// The underlying.
        underlying: Symbol,
        /// Accounts; empty: all.
        accounts: Vec<String>,
    },
    /// Contracts that are chosen for a known strategy.
    Proposed {
        /// The underlying.
        underlying: Symbol,
        /// The strategy.
        strategy: KnownStrategy,
        /// The first expiration; `None`: about a month ahead.
        expiry: Option<Date>,
    },
}

/// A request for a strategy.
#[derive(Clone, Debug)]
pub struct StrategyRequest {
    /// The legs.
    pub subject: StrategySubject,
    /// The price that profit counts from; `None`: the first that is known.
    pub entry: Option<EntryPrice>,
    /// The table, in formats other than JSON.
    pub rows: StrategyRows,
    /// Format of the answer, as text.
    pub format: Format,
    /// Binary table format, which replaces `format`; `None`: text.
    pub table: Option<TableFormat>,
    /// Past moment; `None`: the present.
    pub past: Option<PastQuestion>,
}

/// The columns of legs.
pub const LEG: &[ColumnHead<'static>] = &[
    number("quantity"),
    word("underlying"),
    word("root"),
    word("expiry"),
    number("strike"),
    word("right"),
    word("osym"),
    number("multiplier"),
    number("bid"),
    number("mid"),
    number("ask"),
    number("value"),
    number("vol"),
    number("delta"),
    number("gamma"),
    number("vega"),
    number("theta"),
    number("rho"),
];

/// The columns of the sum.
pub const NET: &[ColumnHead<'static>] = &[
    number("bid"),
    number("mid"),
    number("ask"),
    number("value"),
    number("delta"),
    number("gamma"),
    number("vega"),
    number("theta"),
    number("rho"),
];

/// The columns of the strategy as a whole, before those of its sum in a table.
pub const WHOLE: &[ColumnHead<'static>] = &[
    word("strategy"),
    word("underlying"),
    number("und_price"),
    word("expiry"),
    word("side"),
    word("entry"),
    number("cost"),
    word("breakevens"),
    number("largest_gain"),
    number("largest_loss"),
    number("profit_chance"),
    number("missing"),
    word("reason"),
];

/// The columns of profit by spot.
pub const PAYOFF: &[ColumnHead<'static>] = &[number("spot"), number("profit")];

/// The description of the endpoint.
#[must_use]
pub fn operation() -> Operation {
    let mut whole = row_schema(WHOLE);
    let numbers = json!({ "type": "array", "items": { "type": "number" } });
    whole["properties"]["breakevens"] = numbers.clone();
    whole["properties"]["snapshot_time"] = json!({ "type": "string" });
    whole["properties"]["legs"] = json!({ "type": "array", "items": row_schema(LEG) });
    whole["properties"]["net"] = row_schema(NET);
    whole["properties"]["payoff"] = json!({ "type": "array", "items": numbers });
    let text = json!({ "schema": { "type": "string" } });
    let [arrow, parquet] = [TableFormat::Arrow, TableFormat::Parquet].map(content_type);
    let table = json!({ "schema": { "type": "string", "format": "binary" } });
    let content = json!({ "application/json": { "schema": whole }, "application/x-ndjson": text, "text/csv": text,
                          "text/html": text, arrow: table, parquet: table });
    let title = "Legs as a whole: cost, Greeks, payoff, breakevens, probability of profit, name";
    Operation::native(PATH, title, PARAMETERS, &["400", "404", "502", "503"], &content)
}

/// Parses a query.
///
/// # Errors
/// The query names no legs or too many, a parameter is not in the table, or parameters exclude each other.
pub fn parse(query: &Query<'_>) -> Result<StrategyRequest, Refusal> {
    query.only(PARAMETERS)?;
    let (legs, underlying) = (query.get(&LEGS)?.unwrap_or_default(), query.get(&UNDERLYING)?);
    let prices = query.get(&PRICE)?.unwrap_or_default();
    let past = native_past::parse_moment(query)?;
    let (strategy, expiry) = (query.get(&STRATEGY)?, query.get(&EXPIRY)?);
    let is_of_positions = query.text(&POSITIONS).is_some();
    let entry = query.get(&ENTRY)?;
    let conflict = |reason| Err(Refusal::Conflict { reason });
    if legs.len() > LEGS_MOST {
        return conflict("legs: at most 100");
    }
    if usize::from(is_of_positions) + usize::from(strategy.is_some()) + usize::from(!legs.is_empty()) > 1 {
        return conflict("legs, positions and strategy exclude each other");
    }
    if !prices.is_empty() && prices.len() != legs.len() {
        return conflict("price has one number for each leg of legs");
    }
    if entry == Some(EntryPrice::Paid) && !is_of_positions && prices.is_empty() {
        return conflict("entry=paid needs positions or price");
    }
    if expiry.is_some() && strategy.is_none() {
        return conflict("expiry needs strategy");
    }
    let subject = match (underlying, strategy) {
        (None, Some(_)) => return Err(Refusal::missing("underlying")),
        (None, None) if is_of_positions => return Err(Refusal::missing("underlying")),
        (None, None) if legs.is_empty() => return Err(Refusal::missing("legs, positions or strategy")),
        (None, None) => StrategySubject::Legs { legs, prices },
        (Some(underlying), Some(strategy)) => StrategySubject::Proposed { underlying, strategy, expiry },
        (Some(_), None) if is_of_positions && past.is_some() => {
            return conflict("positions are of now: leave as_of out");
        }
        (Some(underlying), None) if is_of_positions => {
            let accounts = query.items(&POSITIONS).filter(|account| *account != ANY);
            StrategySubject::Positions { underlying, accounts: accounts.map(str::to_owned).collect() }
        }
        (Some(_), None) => return conflict("underlying is of positions or strategy: legs name theirs"),
    };
    let (format, table) = Shape::parts(query.get(&FORMAT)?);
    let rows = query.get(&ROWS)?;
    if rows.is_some() && format == Format::Json && table.is_none() {
        return Err(Refusal::Conflict { reason: "rows is of tables: json has all of them" });
    }
    Ok(StrategyRequest { subject, entry, rows: rows.unwrap_or(StrategyRows::Legs), format, table, past })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<StrategyRequest, String> {
        let query = Query::parse(text);
        query.expect_only(PARAMETERS);
        parse(&query).map_err(|refusal| refusal.to_string())
    }

    #[test]
    fn a_request_has_legs_or_positions() {
        let legs = |text: &str| match parsed(text).unwrap().subject {
            StrategySubject::Legs { legs, .. } => legs.len(),
            StrategySubject::Positions { .. } | StrategySubject::Proposed { .. } => 0,
        };
        assert_eq!(legs("legs=-1%20SPY%2012/18%20712%20C,+1+SPY+12/18+720+C,100+SPY"), 3);
        assert_eq!(legs("legs=SPY&price=700&entry=paid"), 1);
        assert_eq!(legs("positions=a,b&underlying=spy&entry=paid"), 0);
        let proposed = parsed("strategy=Iron%20Condor&underlying=SPY&expiry=2026-12-18").unwrap().subject;
        let StrategySubject::Proposed { strategy, expiry, .. } = proposed else { panic!("{proposed:?}") };
        assert_eq!((strategy.name, expiry), ("iron condor", Some(jiff::civil::date(2026, 12, 18))));
        for (text, wanted) in [
            ("", "legs, positions or strategy is required"),
            ("legs=SPY+12/18", "legs: not a leg such as"),
            ("legs=0+SPY", "legs: not a leg such as"),
            ("legs=SPY&positions=*", "legs, positions and strategy exclude each other"),
            ("strategy=iron+condor&positions=*", "legs, positions and strategy exclude each other"),
            ("strategy=iron+condors&underlying=SPY", "strategy: not one of long shares, short shares, long call"),
            ("strategy=iron+condor", "underlying is required"),
            ("positions=*&underlying=SPY&expiry=2026-12-18", "expiry needs strategy"),
            ("legs=SPY&underlying=SPY", "underlying is of positions or strategy"),
            ("legs=SPY&entry=paid", "entry=paid needs positions or price"),
            ("legs=SPY&price=1,2", "price has one number for each leg"),
            ("positions=*&underlying=SPY&price=1", "price has one number for each leg"),
            ("positions=*", "underlying is required"),
            ("positions=*&underlying=SPY&as_of=2024-01-03", "positions are of now"),
            ("legs=SPY&rows=net", "rows is of tables"),
            ("legs=SPY&leg=1", "unknown parameter: leg"),
        ] {
            let refused = parsed(text).map(|_| ()).unwrap_err();
            assert!(refused.starts_with(wanted), "{text}: {refused}");
        }
        let many = vec!["SPY"; LEGS_MOST + 1].join(",");
        assert_eq!(parsed(&format!("legs={many}")).map(|_| ()).unwrap_err(), "legs: at most 100");
        assert_eq!(parsed("legs=SPY&rows=net&format=csv").unwrap().rows, StrategyRows::Net);
    }
}
