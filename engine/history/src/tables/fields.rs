//! The columns of a file of Greeks as an Arrow schema. Never: a row, a file.

use crate::schema::{FileCell, FileColumn, FileWord};
use arrow_schema::{DataType, Field, Metadata, Schema, TimeUnit};
use serde_json::json;
use std::collections::HashMap;

/// The Arrow schema of some columns: units and meanings are metadata of the fields, `about` that of the whole.
#[must_use]
pub(super) fn arrow_schema(columns: &[FileColumn], about: &[(String, String)]) -> Schema {
    let fields: Vec<Field> = columns.iter().map(field).collect();
    let metadata: Metadata = about.iter().cloned().chain([pandas_types(columns)]).collect();
    Schema::new(fields).with_metadata(metadata)
}

/// Metadata that gives dates a type of their own in pandas, which would read them as Python objects.
#[must_use]
pub(super) fn pandas_types(columns: &[FileColumn]) -> (String, String) {
    let dates = columns.iter().filter(|column| matches!(column.cell, FileCell::Date | FileCell::Expiry));
    let typed = |column: &FileColumn| {
        json!({
            "name": column.name, "field_name": column.name, "pandas_type": "date", "numpy_type": "date32[day][pyarrow]",
            "metadata": null,
        })
    };
    let types = json!({
        "columns": dates.map(typed).collect::<Vec<_>>(),
        "index_columns": [],
        "column_indexes": [],
        "creator": { "library": "greeksd", "version": env!("CARGO_PKG_VERSION") },
        // the first whose types of Arrow can be named so
        "pandas_version": "2.0.0",
    });
    ("pandas".to_owned(), types.to_string())
}

fn field(column: &FileColumn) -> Field {
    let (kind, nullable) = match column.cell {
        FileCell::Time | FileCell::QuoteTime => (DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())), false),
        FileCell::Date | FileCell::Expiry => (DataType::Date32, false),
        FileCell::Word(word) => (dictionary(), word == FileWord::Exercise),
        FileCell::Right => (dictionary(), false),
        FileCell::Dropped => (dictionary(), true),
        FileCell::Strike => (DataType::Float64, false),
        FileCell::StrikeMilli => (DataType::Int32, false),
        FileCell::Osym => (DataType::Utf8, false),
        FileCell::Slice(_) | FileCell::Number(_) | FileCell::Quote(_) => (DataType::Float64, true),
    };
    let facts = [("unit", column.unit), ("meaning", column.meaning)];
    let said = facts.iter().filter(|(_, text)| !text.is_empty());
    let metadata: HashMap<String, String> = said.map(|&(key, text)| (key.to_owned(), text.to_owned())).collect();
    Field::new(column.name, kind, nullable).with_metadata(metadata)
}

/// The type of words that occur again and again.
#[must_use]
fn dictionary() -> DataType {
    DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recipe::Recipe;
    use crate::schema::file_columns;

    #[test]
    fn fields_say_their_unit() {
        let schema = arrow_schema(&file_columns(Recipe::default()), &[("a".to_owned(), "b".to_owned())]);
        let unit = |name: &str| schema.field_with_name(name).unwrap().metadata().get("unit").cloned();
        assert_eq!(unit("vega").as_deref(), Some("per 1 %"));
        assert_eq!(unit("theta").as_deref(), Some("per calendar day"));
        assert_eq!(unit("charm").as_deref(), Some("per year"));
        assert_eq!(unit("right"), None);
        assert_eq!(schema.metadata().get("a").map(String::as_str), Some("b"));
        let pandas: serde_json::Value = serde_json::from_str(&schema.metadata()["pandas"]).unwrap();
        let dates: Vec<_> = pandas["columns"].as_array().unwrap().iter().map(|column| &column["name"]).collect();
        assert_eq!(dates, ["quote_date", "expiry"]);
    }
}
