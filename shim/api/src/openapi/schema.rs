//! The schemas of answers, from the tables that write them. Never: a field's name.

use super::words;
use crate::catalog::{Catalog, CatalogEntry};
use crate::picked::Expiration;
use crate::rows::binary::content_type;
use crate::rows::clock::{Clock, Stamp};
use crate::rows::field::{Cell, Field, Hidden, Missing, Nest, SliceNumber, Source, Text, Unpriced};
use crate::rows::frame::{ColumnHead, Format, Heading};
use crate::rows::layout::{AnswerLayout, Walk};
use crate::rows::listing;
use crate::rows::number::Print;
use crate::rows::table::Fact;
use crate::selection::symbols::{SymbolFacts, SymbolState};
use crate::vendors::facts::FactForm;
use crate::vendors::layer::{FactTable, List, Reply, RequestContext, SymbolList};
use engine::store::chain::Uncomputed;
use engine::store::columns::Unit;
use engine::store::drop_reason::DropReason;
use jiff::Timestamp;
use kernel::contract::{Right, Symbol};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use std::sync::Arc;

/// Placeholder of the rows in the text around them.
const MARK: &str = "<rows>";

/// The content of an answer of rows, by type.
pub(super) fn of_rows(reply: Reply, clock: &Clock, context: &RequestContext<'_>) -> Value {
    if let Some(table) = reply.table {
        return json!({ content_type(table): { "schema": { "type": "string", "format": "binary" } } });
    }
    let reply = Reply { format: Format::Json, ..reply };
    let layout = reply.into_layout(None, None, Heading::default(), clock.clone(), Arc::clone(context.roots));
    by_type(&around_rows(&layout))
}

/// The content of a list of underlyings, by type.
pub(super) fn of_symbols(list: &SymbolList, clock: &Clock) -> Value {
    let Some(name) = Symbol::parse("SPY") else { return by_type(&json!({})) };
    let known = SymbolFacts {
        symbol: name,
        roots: vec![name],
        expiries: 1,
        expiry_span: Some((clock.today(), clock.today())),
        contracts: 1,
        state: SymbolState::Uncomputed(Uncomputed::NoSpot),
        preliminary: false,
        valued_at: Some(Timestamp::UNIX_EPOCH),
    };
    let unknown = SymbolFacts {
        expiry_span: None,
        state: SymbolState::Pending,
        valued_at: None,
        roots: Vec::new(),
        ..known.clone()
    };
    let members = list.columns.iter().map(|column| {
        let [full, empty] = [&known, &unknown].map(|facts| of_fact(&(column.find)(facts, clock, "sim")));
        Member { name: column.name, schema: either(full, empty), required: true }
    });
    by_type(&json!({ "type": "array", "items": object(members.collect()) }))
}

/// The content of a table of numbers, by type: any cell may be missing, and the last one says why.
pub(super) fn of_facts(table: &FactTable) -> Value {
    let schema = |head: &ColumnHead<'_>| match (head.name, head.is_number) {
        ("missing", _) => json!({ "type": "array", "items": { "type": "string" } }),
        (_, true) => or_null(json!({ "type": "number" })),
        (_, false) => or_null(json!({ "type": "string" })),
    };
    match table.form {
        FactForm::Table(format) => {
            return json!({ content_type(format): { "schema": { "type": "string", "format": "binary" } } });
        }
        FactForm::Gauges => return json!({ "text/plain": { "schema": { "type": "string" } } }),
        FactForm::Text(_) => {}
    }
    let members = table.heads.iter().map(|head| Member { name: head.name, schema: schema(head), required: true });
    by_type(&json!({ "type": "array", "items": object(members.collect()) }))
}

/// The content of a list of what there is, by type: what an entry of today would look like.
pub(super) fn of_catalog(catalog: Catalog, clock: &Clock) -> Value {
    let entry = CatalogEntry {
        last: Some(clock.today()),
        name: Symbol::parse("SPY"),
        date: Some(clock.today()),
        strike_milli: Some(100_500),
        right: Some(Right::Call),
    };
    let body = Catalog { format: Format::Json, ..catalog }.body(&[entry].into());
    by_type(&like(&serde_json::from_slice(&body).unwrap_or(Value::Null)))
}

fn of_fact(fact: &Fact) -> Value {
    match fact {
        Fact::Missing => json!({ "type": "null" }),
        Fact::Word(_) | Fact::Term(_) | Fact::Date(_) => json!({ "type": "string" }),
        Fact::Words(_) | Fact::Reasons(_) => json!({ "type": "array", "items": { "type": "string" } }),
        Fact::Count(_) => json!({ "type": "integer" }),
        Fact::Milli(_) | Fact::Number(_) => json!({ "type": "number" }),
        Fact::Flag(_) => json!({ "type": "boolean" }),
    }
}

/// The content of a list of expirations: the schema of an expiration of today.
pub(super) fn of_listing(list: &List, clock: &Clock) -> Value {
    let one = [Expiration { date: clock.today(), strikes_milli: vec![100_500] }];
    let around = (list.around)(clock);
    let text = listing::write(&around.open, &one, &list.item, &around.close, clock);
    of_text(&String::from_utf8_lossy(&text))
}

/// The content of a JSON answer with the schema of this text.
pub(super) fn of_text(text: &str) -> Value {
    json!({ "application/json": { "schema": like(&serde_json::from_str(text).unwrap_or(Value::Null)) } })
}

/// The schema in each format: a table has the same columns, and no types.
fn by_type(schema: &Value) -> Value {
    let table = json!({ "schema": { "type": "string" } });
    let mut content = Map::new();
    for (word, format) in Format::WORDS {
        // the type without what follows it: that is how documents name it
        let kind = format.frame().content_type.split(';').next().unwrap_or_default();
        content.insert(kind.to_owned(), if *word == "json" { json!({ "schema": schema }) } else { table.clone() });
    }
    Value::Object(content)
}

/// The schema of a JSON answer: the text around the rows, and the rows.
fn around_rows(layout: &AnswerLayout) -> Value {
    let is_keyed = matches!(layout.fields.first().map(|field| field.cell), Some(Cell::RowKey(_)));
    let is_within_object = is_keyed || layout.walk == Walk::Columns;
    let mark = if is_within_object { format!("\"{MARK}\":null") } else { format!("\"{MARK}\"") };
    let text = format!("{}{mark}{}", layout.around.open, layout.around.close);
    let rows = match layout.walk {
        Walk::Columns => columns(&layout.fields),
        Walk::Arrays => array(members(&layout.fields)),
        Walk::Rows | Walk::Grouped => object(members(&layout.fields)),
    };
    with_rows(&serde_json::from_str(&text).unwrap_or(Value::Null), &rows, layout.walk)
}

/// The schema of the text around the rows, with the schema of the rows in place of [`MARK`].
fn with_rows(around: &Value, rows: &Value, walk: Walk) -> Value {
    match around {
        Value::String(mark) if mark == MARK => rows.clone(),
        Value::Array(items) => match items.first() {
            Some(item) => json!({ "type": "array", "items": with_rows(item, rows, walk) }),
            None => json!({ "type": "array" }),
        },
        Value::Object(of) if of.contains_key(MARK) => {
            let others = of.iter().filter(|(name, _)| *name != MARK);
            let others: Map<String, Value> = others.map(|(name, value)| (name.clone(), like(value))).collect();
            match walk {
                Walk::Columns => either(json!({ "type": "object", "properties": others }), rows.clone()),
                _ => json!({ "type": "object", "properties": others, "additionalProperties": rows }),
            }
        }
        Value::Object(of) => {
            let of = of.iter().map(|(name, value)| (name.clone(), with_rows(value, rows, walk)));
            json!({ "type": "object", "properties": of.collect::<Map<String, Value>>() })
        }
        other => like(other),
    }
}

/// The schema of a value; null may be anything.
fn like(value: &Value) -> Value {
    match value {
        Value::Null => json!({}),
        Value::Bool(_) => json!({ "type": "boolean" }),
        Value::Number(_) => json!({ "type": "number" }),
        Value::String(_) => json!({ "type": "string" }),
        // a row that is an array has cells of several types
        Value::Array(items) => match items.iter().map(like).reduce(either) {
            Some(item) => json!({ "type": "array", "items": item }),
            None => json!({ "type": "array" }),
        },
        Value::Object(of) => {
            let of = of.iter().map(|(name, value)| (name.clone(), like(value)));
            json!({ "type": "object", "properties": of.collect::<Map<String, Value>>() })
        }
    }
}

/// The schema of a value of which any word or number may be missing at another time, and lists may hold anything.
pub(super) fn loose(value: &Value) -> Value {
    match value {
        Value::Object(of) => {
            let of = of.iter().map(|(name, value)| (name.clone(), field(name, loose(value))));
            json!({ "type": ["object", "null"], "properties": of.collect::<Map<String, Value>>() })
        }
        Value::Array(_) => json!({ "type": "array" }),
        Value::Null => json!({}),
        other => or_null(like(other)),
    }
}

struct Member<'a> {
    name: &'a str,
    schema: Value,
    required: bool,
}

fn object(members: Vec<Member<'_>>) -> Value {
    let required: Vec<&str> = members.iter().filter(|member| member.required).map(|member| member.name).collect();
    let properties: Map<String, Value> =
        members.iter().map(|member| (member.name.to_owned(), field(member.name, member.schema.clone()))).collect();
    json!({ "type": "object", "properties": properties, "required": required })
}

/// The schema of a field; a deprecated field gets the mark and its present name.
fn field(name: &str, mut schema: Value) -> Value {
    if let Some(present) = words::present_name(name) {
        schema["deprecated"] = json!(true);
        schema["description"] = json!(format!("Former name of {present}; both are sent for one release"));
    }
    schema
}

/// An array with a member for each name, described in words: few programs know `prefixItems` within other schemas.
fn array(members: Vec<Member<'_>>) -> Value {
    let n = members.len();
    if let [Member { schema, .. }] = members.as_slice() {
        return json!({ "type": "array", "items": schema, "minItems": 1, "maxItems": 1 });
    }
    let names: Vec<&str> = members.iter().map(|member| member.name).collect();
    let kinds: BTreeSet<&str> = members.iter().flat_map(|member| kinds(&member.schema)).collect();
    let items = if kinds.is_empty() { json!({}) } else { json!({ "type": kinds }) };
    let order = format!("In this order: {}", names.join(", "));
    json!({ "type": "array", "items": items, "minItems": n, "maxItems": n, "description": order })
}

/// The types that a schema allows; for a constant, the type of its value.
fn kinds(schema: &Value) -> Vec<&str> {
    match (&schema["type"], &schema["const"]) {
        (Value::String(one), _) => vec![one],
        (Value::Array(several), _) => several.iter().filter_map(Value::as_str).collect(),
        (_, Value::Number(_)) => vec!["number"],
        (_, Value::String(_)) => vec!["string"],
        _ => vec!["null"],
    }
}

/// One array for each column.
fn columns(fields: &[Field]) -> Value {
    let columns = members(fields).into_iter().map(|Member { name, schema, .. }| Member {
        name,
        schema: json!({ "type": "array", "items": schema }),
        required: true,
    });
    object(columns.collect())
}

/// An open object or array of a row; the row itself has no field.
#[derive(Default)]
struct SchemaLevel<'a> {
    outer: Option<(&'a Field, Nest)>,
    members: Vec<Member<'a>>,
}

/// The members of a row; objects and arrays in it are one each.
fn members(fields: &[Field]) -> Vec<Member<'_>> {
    let mut open = vec![SchemaLevel::default()];
    for field in fields {
        match field.cell {
            Cell::Open(nest) => open.push(SchemaLevel { outer: Some((field, nest)), members: Vec::new() }),
            Cell::Close => {
                let Some(SchemaLevel { outer: Some((outer, nest)), members }) = open.pop() else { break };
                if let Some(around) = open.last_mut() {
                    around.members.push(nested(outer.name, nest, members));
                }
            }
            // it stands before the row
            Cell::RowKey(_) => {}
            cell => {
                if let Some(around) = open.last_mut() {
                    around.members.push(member(field.name, cell));
                }
            }
        }
    }
    open.pop().map(|level| level.members).unwrap_or_default()
}

fn nested<'a>(name: &'a str, nest: Nest, within: Vec<Member<'a>>) -> Member<'a> {
    let mut schema = if nest.keyed { object(within) } else { array(within) };
    match nest.unpriced {
        Unpriced::Whole | Unpriced::Omit => {}
        Unpriced::Null => schema = or_null(schema),
        Unpriced::Empty => schema["required"] = json!([]),
    }
    Member { name, schema, required: nest.unpriced != Unpriced::Omit }
}

fn member(name: &str, cell: Cell) -> Member<'_> {
    let mut required = true;
    let mut schema = match cell {
        Cell::Text(text) | Cell::RowKey(text) => of_words(text),
        Cell::Number { print, missing, .. } => {
            required = missing != Missing::Omit;
            number(print, missing)
        }
        Cell::Quoted(quote) => {
            required = quote.missing != Missing::Omit;
            let shown = number(quote.print, quote.missing);
            if quote.hidden == Hidden::Verbatim("null") { or_null(shown) } else { shown }
        }
        Cell::Strike => json!({ "type": "number", "description": "Strike, currency per share" }),
        Cell::StrikeAs { json: print, .. } => number(print, Missing::Zero),
        Cell::StrikeMilli => json!({ "type": "integer", "description": "Strike in thousandths" }),
        Cell::Verbatim(text) => json!({ "const": serde_json::from_str::<Value>(text).unwrap_or(Value::Null) }),
        Cell::InTheMoney => json!({ "type": ["boolean", "null"] }),
        Cell::Time(_, stamp) => or_null(of_stamp(stamp)),
        Cell::Dropped => json!({
            "type": ["string", "null"],
            "enum": DropReason::ALL.iter().map(|why| Some(why.name())).chain([None]).collect::<Vec<_>>(),
            "description": "Why the quote is not used",
        }),
        Cell::DaysToExpiry => json!({ "type": "integer", "description": "Calendar days to expiry" }),
        Cell::Open(_) | Cell::Close => json!({}),
    };
    if let Some(meaning) = meaning(cell) {
        schema["description"] = json!(meaning);
    }
    Member { name, schema, required }
}

fn of_words(text: Text) -> Value {
    match text {
        Text::Right(words) | Text::Style(words) | Text::Settle(words) => json!({ "type": "string", "enum": words }),
        Text::Exercise => json!({ "type": ["string", "null"], "enum": ["no", "before_ex", "now", null] }),
        Text::Expiry | Text::Today => json!({ "type": "string", "format": "date" }),
        Text::Fixed(word) => json!({ "const": word }),
        Text::OsiPadded => json!({ "type": "string", "minLength": 21, "maxLength": 21 }),
        _ => json!({ "type": "string" }),
    }
}

fn of_stamp(stamp: Stamp) -> Value {
    match stamp {
        Stamp::Spreadsheet => json!({ "type": "number" }),
        stamp if stamp.is_number() => json!({ "type": "integer" }),
        _ => json!({ "type": "string" }),
    }
}

fn number(print: Print, missing: Missing) -> Value {
    let shown = if matches!(print, Print::Words(_)) { "string" } else { "number" };
    match missing {
        Missing::Null => json!({ "type": [shown, "null"] }),
        Missing::Dash if shown == "number" => json!({ "type": [shown, "string"] }),
        _ => json!({ "type": shown }),
    }
}

/// Meaning and unit of a number.
fn meaning(cell: Cell) -> Option<String> {
    let Cell::Number { source, factor, .. } = cell else { return None };
    Some(match source {
        Source::Own(col) | Source::Side(_, col) => format!("{}{}", col.meaning(), unit(col.unit(), factor)),
        Source::Slice(number) => of_slice(number).to_owned(),
        Source::Derived(_) | Source::Zero => return None,
    })
}

/// The unit of a column after multiplication by a factor of [`Unit::factor_to`].
fn unit(stored: Unit, factor: f64) -> &'static str {
    let all = [Unit::PerPercent, Unit::PerOne, Unit::PerDay, Unit::PerYear];
    let shown = all.into_iter().find(|unit| stored.factor_to(*unit).is_some_and(|f| f.to_bits() == factor.to_bits()));
    match shown {
        Some(Unit::PerPercent) => ", per 1 %",
        Some(Unit::PerOne) => ", per 1.00",
        Some(Unit::PerDay) => ", per calendar day",
        Some(Unit::PerYear) => ", per year",
        Some(Unit::Plain) | None => "",
    }
}

fn of_slice(number: SliceNumber) -> &'static str {
    match number {
        SliceNumber::UndPrice => "Price of the underlying",
        SliceNumber::FwdPrice => "Calibrated forward price of the expiry",
        SliceNumber::Days => "Fractional calendar days to settlement",
        SliceNumber::DaysVt => "Variance days to settlement: sessions, nights, closed dates and market events",
        SliceNumber::DiscRate => "Discount rate to settlement, continuously compounded, a year",
        SliceNumber::BorrRate => "Implied borrow rate, a year",
        SliceNumber::Divs => "Sum of the dividends to expiry, currency per share",
    }
}

fn or_null(mut schema: Value) -> Value {
    let mut kinds = match schema.get("type") {
        Some(Value::Array(several)) => several.clone(),
        Some(one) => vec![one.clone()],
        None => return schema,
    };
    if !kinds.contains(&json!("null")) {
        kinds.push(json!("null"));
        schema["type"] = Value::Array(kinds);
    }
    schema
}

/// The union of two schemas: members that only one has are optional.
fn either(a: Value, b: Value) -> Value {
    if a == b {
        return a;
    }
    match (&a, &b) {
        (Value::Object(one), Value::Object(other))
            if one.contains_key("properties") && other.contains_key("properties") =>
        {
            let mut both = one.clone();
            let names = |of: &Map<String, Value>| of["properties"].as_object().cloned().unwrap_or_default();
            let mut properties = names(one);
            for (name, schema) in names(other) {
                let merged = match properties.remove(&name) {
                    Some(known) => either(known, schema),
                    None => schema,
                };
                properties.insert(name, merged);
            }
            both.insert("properties".to_owned(), Value::Object(properties));
            if let (Some(Value::Array(first)), Some(Value::Array(second))) =
                (one.get("required"), other.get("required"))
            {
                let shared: Vec<&Value> = first.iter().filter(|name| second.contains(name)).collect();
                both.insert("required".to_owned(), json!(shared));
            } else if let Some(required) = other.get("required").filter(|_| !one.contains_key("required")) {
                both.insert("required".to_owned(), required.clone());
            }
            Value::Object(both)
        }
        (Value::Object(one), Value::Object(other)) if one.contains_key("items") && other.contains_key("items") => {
            json!({ "type": "array", "items": either(one["items"].clone(), other["items"].clone()) })
        }
        // null and something is that or null
        (Value::Object(one), _) if one.get("type") == Some(&json!("null")) => or_null(b),
        (_, Value::Object(other)) if other.get("type") == Some(&json!("null")) => or_null(a),
        _ => {
            let alternatives = |schema: &Value| match schema.get("anyOf") {
                Some(Value::Array(several)) => several.clone(),
                _ => vec![schema.clone()],
            };
            let mut all = alternatives(&a);
            for one in alternatives(&b) {
                if !all.contains(&one) {
                    all.push(one);
                }
            }
            json!({ "anyOf": all })
        }
    }
}

/// The union of two contents by type.
pub(super) fn either_content(a: Value, b: Value) -> Value {
    let (Value::Object(mut both), Value::Object(other)) = (a, b) else { return Value::Null };
    for (kind, content) in other {
        let merged = match both.remove(&kind) {
            Some(known) => json!({ "schema": either(known["schema"].clone(), content["schema"].clone()) }),
            None => content,
        };
        both.insert(kind, merged);
    }
    Value::Object(both)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_that_is_an_array_admits_the_types_of_all_its_cells() {
        let schema = like(&json!([["AAPL", 20_261_120, 190_000, "C"]]));
        let cells = &schema["items"]["items"]["anyOf"];
        assert_eq!(cells, &json!([{ "type": "string" }, { "type": "number" }]));
    }
}
