//! The layers: paths that answer in the shape of a vendor. A layer is a table of parameters, a table of fields and a
//! pure function between them, one file for each vendor; code common to all layers is in [`layer`]. Never: arithmetic,
//! a loop over rows, a clock, a snapshot.

pub mod alpaca;
pub mod alphavantage;
pub mod asked;
pub mod body;
pub mod columns;
pub mod facts;
pub mod ignored;
pub mod intrinio;
pub mod intrinio_past;
pub mod layer;
pub mod livevol;
pub mod marketdata;
mod metric_cells;
pub mod native;
pub mod native_explain;
pub mod native_exposure;
mod native_facts;
pub mod native_metrics;
mod native_past;
pub mod native_positions;
pub mod native_scenario;
pub mod native_snapshots;
pub mod native_strategy;
pub mod native_stream;
pub mod native_symbols;
pub mod orats;
pub mod orats_term;
pub mod parameter;
pub mod polygon;
pub mod polygon_analytics;
pub mod routes;
pub mod thetadata_lists;
pub mod thetadata_v2;
pub mod thetadata_v2_bulk;
pub mod thetadata_v2_past;
pub mod thetadata_v3;
pub mod thetadata_v3_past;
pub mod tradier;
