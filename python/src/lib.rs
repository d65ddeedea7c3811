//! The native part of the Python package `greeksd`: computations from tables to tables of Greeks, and the whole
//! program. The public functions with their defaults and documentation are Python (`python/greeksd`); computations
//! release the interpreter's lock. Never: a formula, a layout of quotes, a thread or a pool before there is work.
//!
//! # Rooms
//!
//! - `work`: a computation on a thread of its own that a signal can end.
//! - `capsule`, `columns`, `frame`: tables across Arrow's capsules (`capsule.rs`, the only file with pointers), out of
//!   columns, and held.
//! - `greeks`: a job of `history` in memory; `price`: rows of `engine::explicit`; `batch`: the command; `refused`: rows
//!   that were refused; `arguments`: options through the command's own table.
//!
//! The package in `python/greeksd` is what a user calls, with its defaults and documents; which build is imported
//! (`_native.py`); tables (`_table.py`), whatever is given as one (`_columns.py`); the folder of a computation
//! (`_work.py`); a daemon asked, started (`_daemon.py`) and pushed to (`_push.py`). It names the standard library only,
//! unless the caller has another.

mod arguments;
mod batch;
mod capsule;
mod columns;
mod errors;
mod frame;
mod greeks;
mod price;
mod refused;
mod work;

use host::cpu;
use pyo3::prelude::*;
use shim::program;
use std::ffi::OsString;
use std::process::ExitCode;

/// Runs the program with these arguments, of which the first is its name; returns the exit code.
#[pyfunction]
fn main(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
    let code = py.detach(|| if cpu::can_run() { program::run(arguments) } else { ExitCode::FAILURE });
    // the standard library has no access to the number of an exit code
    (0..=u8::MAX).find(|&n| ExitCode::from(n) == code).unwrap_or(1)
}

/// The native part of the package.
#[pymodule]
mod _greeksd {
    #[pymodule_export]
    use super::batch::batch;
    #[pymodule_export]
    use super::columns::frame_of_columns;
    #[pymodule_export]
    use super::frame::{Frame, frame_of_ipc, frame_of_stream};
    #[pymodule_export]
    use super::greeks::{greeks, quote_columns};
    #[pymodule_export]
    use super::main;
    #[pymodule_export]
    use super::price::{contract_columns, price};

    /// The version of the program.
    #[pymodule_export]
    const VERSION: &str = env!("CARGO_PKG_VERSION");
}
