//! The request of `GET /l1/stream`: its parameters, from a query or a message of a WebSocket. The stream itself is in
//! `desk`. Never: a chain.

use super::native::{
    APIKEY, CENTER, EXP, MAX_DAYS, MAX_DELTA, MAX_EXP, MAX_STRIKE, MIN_DAYS, MIN_DELTA, MIN_EXP, MIN_STRIKE, OSYM,
    RIGHT, ROOT, STRIKE_COUNT, TOKEN, UNDERLYING, parse_selection,
};
use super::native_positions::PositionRows;
use super::parameter::ANY;
use crate::metrics::place_of;
use crate::operation::Operation;
use crate::query::parameter::{FiniteNumber, OneWord, Param, ReadAs, TrueFalse, parameters};
use crate::query::{Query, items};
use crate::refusal::Refusal;
use crate::selection::Selection;
use engine::store::chain::Slice;
use engine::store::columns::Col;
use kernel::contract::Symbol;
use kernel::greeks::Unit;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use std::time::Duration;

/// Path of the endpoint.
pub const PATH: &str = "/l1/stream";

parameters! {
    /// Parameters of the endpoint.
    pub PARAMETERS:
    use UNDERLYING, ROOT, OSYM;
    const FIELDS: Param<ReadAs<Vec<StreamField>>> = Param::new(
        "fields",
        ReadAs { read: read_fields, wants: "columns of /l1/greeks, each once, comma-separated" },
        "Numbers of each row, by their names in /l1/greeks, comma-separated [default: the group core]",
    );
    const EVERY: Param<ReadAs<Duration>> = Param::new(
        "every",
        ReadAs { read: read_duration, wants: "a time from 100ms to 1h, such as 1s or 500ms" },
        "Least time between two updates, such as 500ms, 1s or 1m [default: 1s]",
    );
    const MIN_MOVE: Param<FiniteNumber> = Param::new(
        "min_move",
        FiniteNumber,
        "Rows are sent again once the first of the fields has moved by this much, or a field has come or gone \
         [default: 0]",
    );
    const METRICS: Param<ReadAs<Vec<usize>>> = Param::new(
        "metrics",
        ReadAs { read: read_metrics, wants: "columns of /l1/metrics, each once, comma-separated" },
        "Also send rows of the underlyings, as they change, with these columns of /l1/metrics, comma-separated; \
         without fields no contracts",
    );
    const POSITIONS: Param<ReadAs<PositionRows>> = Param::new(
        "positions",
        ReadAs { read: PositionRows::of, wants: "one of contract, expiry, underlying, account, total" },
        "Also send the positions at a level, whenever they have changed",
    );
    const ALERTS: Param<TrueFalse> =
        Param::new("alerts", TrueFalse, "Also send hits of the alert rules as they come [default: false]");
    const FORMAT: Param<OneWord<RowForm>> = Param::new(
        "format",
        OneWord(FORMS),
        "Form of the rows; arrow needs a WebSocket [default: json]",
    );
    use EXP, RIGHT, MIN_STRIKE, MAX_STRIKE, MIN_EXP, MAX_EXP, MIN_DAYS, MAX_DAYS, MIN_DELTA, MAX_DELTA, CENTER,
        STRIKE_COUNT, APIKEY, TOKEN;
}

/// Forms of the rows.
const FORMS: &[(&str, RowForm)] = &[
    ("json", RowForm::Json),
    #[cfg(feature = "tables")]
    ("arrow", RowForm::Arrow),
];

/// Form of the rows of an event.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RowForm {
    /// Objects.
    #[default]
    Json,
    /// An Arrow stream for each event.
    Arrow,
}

/// The fields of the group core, in its order.
const CORE: &str = "und_price,delta,gamma,vega,theta,decay,rho,svc_theo,svc_vol";

/// A number of a row.
#[derive(Clone, Copy, Debug)]
pub enum StreamField {
    /// A column.
    Column(Col),
    /// A number of an expiry.
    Slice(&'static str, fn(&Slice) -> f64),
}

/// The numbers of expiries, by name.
const OF_SLICES: &[StreamField] = &[
    StreamField::Slice("und_price", |slice| slice.und_price),
    StreamField::Slice("fwd_price", |slice| slice.fwd_price),
    StreamField::Slice("days", |slice| slice.days),
    StreamField::Slice("days_vt", |slice| slice.days_vt),
    StreamField::Slice("disc_rate", |slice| slice.disc_rate),
    StreamField::Slice("borr_rate", |slice| slice.borr_rate),
    StreamField::Slice("divs", |slice| slice.divs),
];

impl StreamField {
    /// Name of the number.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Column(col) => col.name(),
            Self::Slice(name, _) => name,
        }
    }

    /// True if no pass computes it.
    #[must_use]
    pub const fn is_late(self) -> bool {
        matches!(self, Self::Column(col) if col.late().is_some())
    }

    /// Unit of the number.
    #[must_use]
    pub const fn unit(self) -> Unit {
        match self {
            Self::Column(col) => col.unit(),
            Self::Slice(..) => Unit::Plain,
        }
    }
}

/// A request for a stream; the default requests nothing.
#[derive(Clone, Debug, Default)]
pub struct StreamRequest {
    /// Contracts; `None`: a stream of metrics, positions or alerts alone.
    pub selection: Option<Box<Selection>>,
    /// Numbers of each row.
    pub fields: Vec<StreamField>,
    /// Minimum time between two updates.
    pub every: Duration,
    /// Minimum move of the first field that makes an update.
    pub min_move: f64,
    /// Form of the rows.
    pub form: RowForm,
    /// Metrics of underlyings.
    pub metrics: Option<StreamedMetrics>,
    /// Level of positions.
    pub positions: Option<PositionRows>,
    /// Hits of alert rules.
    pub alerts: bool,
}

/// Metrics of underlyings in a stream.
#[derive(Clone, Debug, Default)]
pub struct StreamedMetrics {
    /// The underlyings.
    pub names: Vec<Symbol>,
    /// Columns of each row, by their places in [`NAME`](crate::metrics::NAME).
    pub columns: Vec<usize>,
}

/// The description of the endpoint.
#[must_use]
pub fn operation() -> Operation {
    let title =
        "Rows as they change, as server-sent events: an image first, then what has changed; or over a WebSocket";
    let content = json!({ "text/event-stream": { "schema": { "type": "string" } } });
    Operation::native(PATH, title, PARAMETERS, &["400", "502", "503"], &content)
}

/// Parses a query.
///
/// # Errors
/// The query names nothing to send, or a parameter is not in the table.
pub fn parse(query: &Query<'_>) -> Result<StreamRequest, Refusal> {
    query.only(PARAMETERS)?;
    let positions = query.get(&POSITIONS)?;
    let alerts = query.get(&ALERTS)?.unwrap_or(false);
    let is_named = [query.text(&UNDERLYING), query.text(&ROOT), query.text(&OSYM)] != [None; 3];
    if !is_named && positions.is_none() && !alerts {
        return Err(Refusal::missing("underlying, root, osym, positions or alerts"));
    }
    if query.text(&UNDERLYING) == Some(ANY) {
        return Err(Refusal::Conflict { reason: "underlying=* is not streamed: name underlyings, or poll /l1/greeks" });
    }
    let metrics = match query.get(&METRICS)? {
        Some(columns) => {
            let names = query.get(&UNDERLYING)?.ok_or_else(|| Refusal::missing("underlying"))?;
            Some(StreamedMetrics { names, columns })
        }
        None => None,
    };
    let has_contracts = metrics.is_none() || query.text(&FIELDS).is_some();
    let selection = if is_named && has_contracts { Some(Box::new(parse_selection(query)?)) } else { None };
    let min_move = query.get(&MIN_MOVE)?.unwrap_or(0.0);
    Ok(StreamRequest {
        selection,
        fields: match query.get(&FIELDS)? {
            Some(fields) => fields,
            None => read_fields(CORE).unwrap_or_default(),
        },
        every: query.get(&EVERY)?.unwrap_or(Duration::from_secs(1)),
        min_move: min_move.max(0.0),
        form: query.get(&FORMAT)?.unwrap_or_default(),
        metrics,
        positions,
        alerts,
    })
}

/// Parses a message of a WebSocket: an object of the parameters of a query. An empty one requests nothing.
///
/// # Errors
/// The message is no such object, or what [`parse`] refuses.
pub fn of_message(text: &str) -> Result<StreamRequest, Refusal> {
    let object: Map<String, Value> = serde_json::from_str(text).map_err(|_| Refusal::Conflict {
        reason: "a message is a JSON object of parameters, such as {\"underlying\":\"SPY\",\"max_days\":10}",
    })?;
    let plain = |value: &Value| match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        _ => None,
    };
    let mut pairs = Vec::new();
    for (name, value) in object {
        let text = match &value {
            Value::Null => continue,
            Value::Array(all) => all.iter().map(plain).collect::<Option<Vec<_>>>().map(|words| words.join(",")),
            one => plain(one),
        };
        let wants = "text, a number, true, false, or a list of them";
        let text = text.ok_or_else(|| Refusal::invalid(&name, &value.to_string(), wants))?;
        pairs.push((name, text));
    }
    if pairs.is_empty() { Ok(StreamRequest::default()) } else { parse(&Query::of(pairs)) }
}

fn read_fields(text: &str) -> Option<Vec<StreamField>> {
    let field = |name: &str| {
        let column = Col::ALL.iter().find(|col| col.name() == name).map(|&col| StreamField::Column(col));
        column.or_else(|| OF_SLICES.iter().find(|field| field.name() == name).copied())
    };
    let fields: Vec<StreamField> = items(text).map(field).collect::<Option<_>>()?;
    // an object has each key once
    let names: BTreeSet<&str> = fields.iter().map(|field| field.name()).collect();
    ((1..=64).contains(&fields.len()) && names.len() == fields.len()).then_some(fields)
}

fn read_metrics(text: &str) -> Option<Vec<usize>> {
    let columns: Vec<usize> = items(text).map(place_of).collect::<Option<_>>()?;
    let each: BTreeSet<usize> = columns.iter().copied().collect();
    (!columns.is_empty() && each.len() == columns.len()).then_some(columns)
}

/// A time with its unit, or seconds.
fn read_duration(text: &str) -> Option<Duration> {
    let (number, unit) = text.split_at(text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len()));
    let scale = match unit {
        "ms" => 0.001,
        "" | "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        _ => return None,
    };
    let seconds = number.trim().parse::<f64>().ok()? * scale;
    (0.1..=3600.0).contains(&seconds).then(|| Duration::from_secs_f64(seconds))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parsed(query: &str) -> Result<StreamRequest, String> {
        let query = Query::parse(query);
        query.expect_only(PARAMETERS);
        parse(&query).map_err(|refusal| refusal.to_string())
    }

    #[test]
    fn a_stream_names_what_it_sends() {
        let names = |query: &str| {
            let fields = parsed(query).unwrap().fields;
            fields.iter().map(|field| field.name()).collect::<Vec<_>>().join(",")
        };
        assert_eq!(names("underlying=SPY"), CORE);
        assert_eq!(names("underlying=SPY&fields=svc_vol,fwd_price"), "svc_vol,fwd_price");
        assert!(parsed("underlying=SPY&fields=svc_vol,nothing").unwrap_err().starts_with("fields: not columns"));
        assert!(parsed("underlying=SPY&fields=delta,gamma,delta").unwrap_err().contains("each once"));
        assert!(parsed("fields=delta").unwrap_err().contains("is required"));
        assert!(parsed("underlying=*").unwrap_err().contains("is not streamed"));
        let metrics = parsed("underlying=SPY,KO&metrics=iv30d,event_state").unwrap();
        assert!(metrics.selection.is_none() && metrics.metrics.is_some_and(|of| of.names.len() == 2));
        let both = parsed("underlying=SPY&metrics=rv20&fields=delta").unwrap();
        assert!(both.selection.is_some() && both.metrics.is_some_and(|of| Some(of.columns[0]) == place_of("rv20")));
        assert!(parsed("underlying=SPY&metrics=rv20,rv20").unwrap_err().contains("each once"));
        assert!(parsed("underlying=SPY&metrics=vol_vt").unwrap_err().starts_with("metrics: not columns"));
        assert!(parsed("osym=SPY261218C00700000&metrics=rv20").unwrap_err().contains("underlying is required"));
        assert!(parsed("underlying=*&metrics=rv20").unwrap_err().contains("is not streamed"));
        assert!(parsed("positions=total").unwrap().selection.is_none());
        assert!(parsed("alerts=true&every=250ms").unwrap().alerts);
    }

    #[test]
    fn a_message_has_the_parameters_of_a_query() {
        let message = r#"{"underlying":["SPY","KO"],"max_days":10,"fields":"delta,und_price","alerts":true,"every":"2s",
                          "exp":null,"format":"arrow"}"#;
        let query = "underlying=SPY,KO&max_days=10&fields=delta,und_price&alerts=true&every=2s&format=arrow";
        let read = of_message(message).unwrap();
        assert_eq!(format!("{read:?}"), format!("{:?}", parsed(query).unwrap()));
        let nothing = of_message("{}").unwrap();
        assert!(nothing.selection.is_none() && !nothing.alerts && nothing.positions.is_none());
        for (bad, why) in [
            ("", "a message is a JSON object"),
            ("[1]", "a message is a JSON object"),
            (r#"{"underlying":{"SPY":1}}"#, "underlying: not text, a number"),
            (r#"{"underlying":"SPY","max_day":1}"#, "unknown parameter: max_day"),
            (r#"{"fields":"delta"}"#, "is required"),
        ] {
            let text = of_message(bad).unwrap_err().to_string();
            assert!(text.starts_with(why) || text.contains(why), "{bad}: {text}");
        }
    }

    #[test]
    fn every_field_is_a_column_of_tables() {
        let columns = Col::ALL.iter().map(|&col| StreamField::Column(col)).chain(OF_SLICES.iter().copied());
        for field in columns {
            assert!(history::schema::served_column(field.name()).is_some(), "{}", field.name());
        }
    }

    #[test]
    fn times_have_units() {
        for (text, ms) in [("1s", 1000), ("500ms", 500), ("2", 2000), ("1m", 60_000), ("0.25s", 250)] {
            assert_eq!(read_duration(text), Some(Duration::from_millis(ms)), "{text}");
        }
        for bad in ["", "0s", "50ms", "2h", "1x", "-1s", "nans", "é"] {
            assert_eq!(read_duration(bad), None, "{bad}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "[0-9a-zé.,_ -]{0,20}") {
            let _ = (read_duration(&text), read_fields(&text), of_message(&text));
        }
    }
}
