//! Faults on purpose, to see what a panic of a thread costs. Only with the feature `fault-injection`, and in unit tests; else
//! [`here`] is empty. Never: what is done about a panic.
//!
//! The environment variable `GREEKSD_FAULT_FILE` names a file. A thread that comes to the point whose name is the text of
//! the file removes the file and panics: one order is one panic, and the file is gone when it has happened.

/// A point that can be told to panic.
#[cfg(not(any(test, feature = "fault-injection")))]
#[inline]
pub(crate) const fn here(_point: &str) {}

#[cfg(any(test, feature = "fault-injection"))]
pub(crate) use injected::here;
#[cfg(test)]
pub(crate) use injected::order;

#[cfg(any(test, feature = "fault-injection"))]
mod injected {
    use std::sync::OnceLock;
    use std::{cell::Cell, env, fs, panic};

    const FILE: &str = "GREEKSD_FAULT_FILE";

    thread_local! {
        static ORDERED: Cell<Option<&'static str>> = const { Cell::new(None) };
    }

    /// Lets the next visit of this thread to a point panic.
    #[cfg(test)]
    pub(crate) fn order(point: &'static str) {
        ORDERED.set(Some(point));
    }

    /// A point that can be told to panic.
    pub(crate) fn here(point: &str) {
        let is_mine = ORDERED.get() == Some(point);
        if is_mine {
            ORDERED.set(None);
        }
        if is_mine || is_in_file(point) {
            panic::panic_any(format!("an injected fault at {point}"));
        }
    }

    /// True for one visitor alone: whoever removes the file.
    fn is_in_file(point: &str) -> bool {
        static PATH: OnceLock<Option<std::ffi::OsString>> = OnceLock::new();
        let Some(path) = PATH.get_or_init(|| env::var_os(FILE)) else { return false };
        fs::read_to_string(path).is_ok_and(|text| text.trim() == point) && fs::remove_file(path).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_is_one_panic() {
        order("test-point");
        assert!(std::panic::catch_unwind(|| here("another-point")).is_ok());
        assert!(std::panic::catch_unwind(|| here("test-point")).is_err());
        assert!(std::panic::catch_unwind(|| here("test-point")).is_ok());
    }
}
