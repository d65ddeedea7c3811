//! Shared by the benches: workloads, the plain versions to beat ([`naive`]) and the golden rows that both are held to.
//! The figures are in PERF.md and benches/record.

pub mod client;
pub mod cpu;
pub mod drawn;
pub mod golden;
pub mod market;
pub mod naive;
pub mod plot;
pub mod workload;
