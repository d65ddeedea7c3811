//! Injected panics of threads, for tests. Never: the handling of a panic.
//!
//! A test in this process injects a panic with [`order`]. With the feature `fault-injection`, the environment variable
//! `GREEKSD_FAULT_FILE` names a file as well: the first thread at the point that the file names removes the file and
//! panics.

use std::cell::Cell;
use std::panic;

thread_local! {
    static ORDERED: Cell<Option<&'static str>> = const { Cell::new(None) };
}

/// Makes this thread panic at its next visit to a point.
pub fn order(point: &'static str) {
    ORDERED.set(Some(point));
}

/// A point at which a panic can be injected.
///
/// # Panics
/// A panic was injected at this point.
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

    /// True for exactly one thread: the one that removes the file.
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
