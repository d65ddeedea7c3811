//! Faults on purpose, to see what a panic of a thread costs. Never: what is done about a panic.
//!
//! A test of this process orders one with [`order`]. With the feature `fault-injection` the environment variable
//! `GREEKSD_FAULT_FILE` names a file, too: a thread that comes to the point whose name is the text of the file removes
//! the file and panics. One order is one panic, and the file is gone when it has happened.

use std::cell::Cell;
use std::panic;

thread_local! {
    static ORDERED: Cell<Option<&'static str>> = const { Cell::new(None) };
}

/// Lets the next visit of this thread to a point panic.
pub fn order(point: &'static str) {
    ORDERED.set(Some(point));
}

/// A point that can be ordered to panic.
///
/// # Panics
/// It was ordered to.
#[inline]
pub fn here(point: &str) {
    let is_mine = ORDERED.get() == Some(point);
    if is_mine {
        ORDERED.set(None);
    }
    if is_mine || in_file::is_ordered(point) {
        panic::panic_any(format!("an injected fault at {point}"));
    }
}

#[cfg(not(feature = "fault-injection"))]
mod in_file {
    pub(super) const fn is_ordered(_point: &str) -> bool {
        false
    }
}

#[cfg(feature = "fault-injection")]
mod in_file {
    use std::ffi::OsString;
    use std::sync::OnceLock;
    use std::{env, fs};

    const FILE: &str = "GREEKSD_FAULT_FILE";

    /// True for one visitor alone: whoever removes the file.
    pub(super) fn is_ordered(point: &str) -> bool {
        static PATH: OnceLock<Option<OsString>> = OnceLock::new();
        let Some(path) = PATH.get_or_init(|| env::var_os(FILE)) else { return false };
        fs::read_to_string(path).is_ok_and(|text| text.trim() == point) && fs::remove_file(path).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_order_is_one_panic_at_its_point() {
        order("test-point");
        here("elsewhere");
        assert!(panic::catch_unwind(|| here("test-point")).is_err());
        here("test-point");
    }
}
