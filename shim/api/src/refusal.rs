//! Refusals: all reasons why a request cannot be answered, each with status and text. Never: a vendor's shape (a layer
//! puts the text into its own error body).

use http::Answer;
use jiff::Timestamp;
use std::borrow::Cow;
use std::fmt;

/// Longest value that a message repeats, in characters.
const ECHO_MAX: usize = 80;

/// A request that cannot be answered. `Display` gives the text, [`Refusal::status`] the HTTP status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// A required parameter (or one of several: `root or underlying`) is absent or empty.
    Missing {
        /// The parameter's name.
        parameter: Cow<'static, str>,
    },
    /// A parameter has a value that it cannot have.
    Invalid {
        /// The parameter's name.
        parameter: String,
        /// The value in the request.
        value: String,
        /// Description of a valid value: `a number`, `one of call, put`.
        wants: Cow<'static, str>,
    },
    /// A parameter that the endpoint does not know.
    UnknownParameter {
        /// The name in the request.
        parameter: String,
    },
    /// A parameter that selects a date, time, symbol or expiration and that the endpoint does not read.
    WithoutEffect {
        /// The name in the request.
        parameter: String,
    },
    /// A parameter with two different values, of which only one would count.
    Repeated {
        /// The name in the request.
        parameter: String,
    },
    /// Parameters that exclude each other.
    Conflict {
        /// The parameters and why they exclude each other.
        reason: &'static str,
    },
    /// A request that needs an option of the daemon which is not set.
    SwitchedOff {
        /// The feature and the option that switches it on.
        reason: &'static str,
    },
    /// No such path, or a path segment with no meaning there.
    UnknownPath,
    /// The requested contract or thing does not exist.
    NotListed {
        /// Text of the layer.
        reason: &'static str,
    },
    /// Names or contracts that are not served, where the request wants all or nothing.
    NotServed {
        /// The names or contracts.
        text: String,
    },
    /// Nothing matches, in a layer that has no empty form.
    NoRows,
    /// There is no snapshot of the requested past moment.
    NoSuchTime {
        /// The nearest times with data.
        text: String,
        /// The last time with data before the moment.
        before: Option<Timestamp>,
        /// The first time with data after the moment.
        after: Option<Timestamp>,
    },
    /// There is no snapshot of the requested past moment, in a layer that then sends 200 without rows.
    EmptyTime {
        /// Text of the layer.
        text: String,
    },
    /// There is no snapshot of the requested past moment, in a layer with its own status for that.
    NoTicks {
        /// Text of the layer.
        text: String,
    },
    /// The recorded files of a day cannot be used.
    Damaged {
        /// Where and why.
        text: String,
    },
    /// Too many requests for past moments wait; a retry may succeed.
    Busy,
    /// A request that the interface knows and declines.
    Unsupported {
        /// The request to send instead.
        reason: &'static str,
    },
    /// There is no snapshot yet of the requested names; a retry may succeed soon.
    NoSnapshot {
        /// The data that the daemon waits for: `the first values of SPY`.
        waiting_for: String,
    },
    /// Slow readers hold too many bytes of old snapshots for another answer of several names; a retry may succeed.
    Crowded,
}

impl Refusal {
    /// A parameter that must be given and was not.
    #[cold]
    pub fn missing(parameter: impl Into<Cow<'static, str>>) -> Self {
        Self::Missing { parameter: parameter.into() }
    }

    /// A parameter whose value is not `wants`. A long value is cut.
    #[cold]
    pub fn invalid(parameter: &str, value: &str, wants: impl Into<Cow<'static, str>>) -> Self {
        Self::Invalid { parameter: parameter.to_owned(), value: cut(value), wants: wants.into() }
    }

    /// A parameter that the endpoint does not know.
    #[cold]
    #[must_use]
    pub fn unknown_parameter(name: &str) -> Self {
        Self::UnknownParameter { parameter: cut(name) }
    }

    /// A parameter that selects data and that the endpoint does not read.
    #[cold]
    #[must_use]
    pub fn without_effect(name: &str) -> Self {
        Self::WithoutEffect { parameter: cut(name) }
    }

    /// A parameter that selects data, with two different values.
    #[cold]
    #[must_use]
    pub fn repeated(name: &str) -> Self {
        Self::Repeated { parameter: cut(name) }
    }

    /// Adds the time after which a retry may succeed, if there is one.
    #[must_use]
    pub fn with_retry_after(&self, answer: Answer) -> Answer {
        match self {
            Self::NoSnapshot { .. } | Self::Busy => answer.with_header("Retry-After", "1"),
            // memory must become free first
            Self::Crowded => answer.with_header("Retry-After", "10"),
            _ => answer,
        }
    }

    /// The HTTP status.
    #[must_use]
    pub fn status(&self) -> u16 {
        match self {
            Self::Missing { .. }
            | Self::Invalid { .. }
            | Self::UnknownParameter { .. }
            | Self::WithoutEffect { .. }
            | Self::Repeated { .. }
            | Self::Conflict { .. }
            | Self::SwitchedOff { .. } => 400,
            Self::EmptyTime { .. } => 200,
            Self::UnknownPath
            | Self::NotListed { .. }
            | Self::NotServed { .. }
            | Self::NoRows
            | Self::NoSuchTime { .. } => 404,
            Self::NoTicks { .. } => 472,
            Self::Unsupported { .. } => 501,
            Self::NoSnapshot { .. } | Self::Damaged { .. } => 502,
            Self::Crowded | Self::Busy => 503,
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing { parameter } => write!(f, "{parameter} is required"),
            Self::Invalid { parameter, value, wants } => write!(f, "{parameter}: not {wants}: {value}"),
            Self::UnknownParameter { parameter } => write!(f, "unknown parameter: {parameter}"),
            Self::WithoutEffect { parameter } => {
                write!(f, "{parameter}: not supported here, and ignoring it would return other data than requested")
            }
            Self::Repeated { parameter } => {
                write!(f, "{parameter}: given twice with different values; separate several values by commas")
            }
            Self::Conflict { reason }
            | Self::SwitchedOff { reason }
            | Self::NotListed { reason }
            | Self::Unsupported { reason } => f.write_str(reason),
            Self::NotServed { text }
            | Self::NoSuchTime { text, .. }
            | Self::EmptyTime { text }
            | Self::NoTicks { text }
            | Self::Damaged { text } => f.write_str(text),
            Self::Busy => f.write_str("too many such requests at once; try again in a moment"),
            Self::UnknownPath => f.write_str("not found"),
            Self::NoRows => f.write_str("no data"),
            Self::NoSnapshot { waiting_for } => write!(f, "upstream data unavailable: waiting for {waiting_for}"),
            Self::Crowded => f.write_str("too much memory held by slow clients; try again, or request one name"),
        }
    }
}

impl std::error::Error for Refusal {}

/// The first [`ECHO_MAX`] characters, so that an answer never grows with the request.
pub(crate) fn cut(text: &str) -> String {
    let mut out: String = text.chars().take(ECHO_MAX).collect();
    if out.len() < text.len() {
        out.push('…');
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_refusal_has_its_status_and_names_what_is_wrong() {
        let unsupported = Refusal::Unsupported { reason: "the switch must be true" };
        let text = || "2024-01-03".to_owned();
        let rows: [(Refusal, u16, &str); 19] = [
            (Refusal::missing("ticker"), 400, "ticker is required"),
            (Refusal::invalid("min", "abc", "a number"), 400, "min: not a number: abc"),
            (Refusal::unknown_parameter("foo"), 400, "unknown parameter: foo"),
            (
                Refusal::without_effect("date"),
                400,
                "date: not supported here, and ignoring it would return other data than requested",
            ),
            (
                Refusal::repeated("symbol"),
                400,
                "symbol: given twice with different values; separate several values by commas",
            ),
            (Refusal::Conflict { reason: "one or the other" }, 400, "one or the other"),
            (Refusal::SwitchedOff { reason: "say --so" }, 400, "say --so"),
            (Refusal::UnknownPath, 404, "not found"),
            (Refusal::NotListed { reason: "No such contract." }, 404, "No such contract."),
            (Refusal::NotServed { text: "not served: NOPE".to_owned() }, 404, "not served: NOPE"),
            (Refusal::NoRows, 404, "no data"),
            (Refusal::NoSuchTime { text: text(), before: None, after: None }, 404, "2024-01-03"),
            (Refusal::EmptyTime { text: text() }, 200, "2024-01-03"),
            (Refusal::NoTicks { text: text() }, 472, "2024-01-03"),
            (Refusal::Damaged { text: text() }, 502, "2024-01-03"),
            (Refusal::Busy, 503, "too many such requests at once; try again in a moment"),
            (unsupported, 501, "the switch must be true"),
            (Refusal::NoSnapshot { waiting_for: text() }, 502, "upstream data unavailable: waiting for 2024-01-03"),
            (Refusal::Crowded, 503, "too much memory held by slow clients; try again, or request one name"),
        ];
        for (refusal, status, text) in rows {
            assert_eq!((refusal.status(), refusal.to_string().as_str()), (status, text));
        }
    }

    #[test]
    fn a_message_does_not_grow_with_the_request() {
        let refusal = Refusal::invalid("exp", &"é".repeat(10_000), "a date");
        assert!(refusal.to_string().chars().count() < 120, "{refusal}");
    }
}
