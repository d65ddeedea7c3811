//! Whole names: from records to finished chains, on made-up, spoiled and recorded quotes.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test that cannot go on fails; tables are printed")]

mod calibration;
mod cold_start;
mod compare;
mod deliverable;
mod determinism;
mod dirt;
mod doubted;
mod implied_spot;
mod leave_out;
mod market_folder;
mod moments;
mod overrides;
mod pipeline;
mod quotes;
mod rates;
mod real_chains;
mod recorded_documents;
mod repeat;
mod repro;
mod saved;
mod shape;
mod spoil;
mod surface_figures;
mod truth;
mod uncomputed;
mod worked;
