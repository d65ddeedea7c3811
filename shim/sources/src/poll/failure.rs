//! Kinds of failed requests, and whether they concern the vendor or one name. Never: a text of a server, a request.

use kernel::error::{FeedError, Instead};
use std::time::Duration;

/// Why a request brought no usable data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Failure {
    /// No server at the address, or an unknown host.
    Connect,
    /// The response did not come in time.
    Timeout,
    /// The certificate is not trusted, or there is no common encryption.
    Tls,
    /// The response broke off.
    Cut,
    /// The vendor rejects the key, or it does not permit the request: 401, 403.
    Refused,
    /// The vendor's token server takes the user's sign-in no more: it has ended, or the application's key is wrong.
    SignIn,
    /// Too many requests: 429.
    Limited,
    /// Server error: 5xx.
    Server,
    /// Not found: 404.
    NotFound,
    /// Another status without data.
    Status,
    /// A redirect to another server, or too many.
    Redirect,
    /// More bytes or records than the limits.
    TooLarge,
    /// Not in the vendor's format.
    Malformed,
    /// Data of another name.
    WrongName,
    /// No contracts.
    Empty,
    /// Contracts without quotes, as in plans without them.
    NoQuotes,
    /// Far fewer contracts than before, or calls or puts only.
    Partial,
    /// Older than the last data.
    Older,
    /// Time in the future.
    Ahead,
}

impl Failure {
    /// Every kind, in the order of its counts.
    pub const ALL: [Self; 19] = [
        Self::Connect,
        Self::Timeout,
        Self::Tls,
        Self::Cut,
        Self::Refused,
        Self::SignIn,
        Self::Limited,
        Self::Server,
        Self::NotFound,
        Self::Status,
        Self::Redirect,
        Self::TooLarge,
        Self::Malformed,
        Self::WrongName,
        Self::Empty,
        Self::NoQuotes,
        Self::Partial,
        Self::Older,
        Self::Ahead,
    ];

    /// Name in `/health`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Connect => "connect",
            Self::Timeout => "timeout",
            Self::Tls => "tls",
            Self::Cut => "cut",
            Self::Refused => "refused",
            Self::SignIn => "sign_in",
            Self::Limited => "limited",
            Self::Server => "server",
            Self::NotFound => "not_found",
            Self::Status => "status",
            Self::Redirect => "redirect",
            Self::TooLarge => "too_large",
            Self::Malformed => "malformed",
            Self::WrongName => "wrong_name",
            Self::Empty => "empty",
            Self::NoQuotes => "no_quotes",
            Self::Partial => "partial",
            Self::Older => "older",
            Self::Ahead => "ahead",
        }
    }

    /// Description for the log.
    #[must_use]
    pub const fn sentence(self) -> &'static str {
        match self {
            Self::Connect => "cannot connect to the address",
            Self::Timeout => "no response in time",
            Self::Tls => "the server's certificate is not trusted, or no common encryption",
            Self::Cut => "the response was cut off",
            Self::Refused => "the vendor rejects the key or does not permit the request",
            Self::SignIn => "the vendor's sign-in has ended or is rejected: sign in again",
            Self::Limited => "too many requests",
            Self::Server => "server error",
            Self::NotFound => "not found",
            Self::Status => "unexpected status",
            Self::Redirect => "redirect to another server, not followed",
            Self::TooLarge => "response larger than any chain",
            Self::Malformed => "response not in the vendor's format",
            Self::WrongName => "response about another symbol",
            Self::Empty => "the vendor has no data",
            Self::NoQuotes => "contracts without quotes; the plan may not include them",
            Self::Partial => "incomplete chain",
            Self::Older => "older than the last data",
            Self::Ahead => "time in the future; is a clock wrong?",
        }
    }

    /// True if the failure concerns every request to the vendor, and not only the name.
    #[must_use]
    pub const fn is_of_vendor(self) -> bool {
        matches!(
            self,
            Self::Connect
                | Self::Timeout
                | Self::Tls
                | Self::Cut
                | Self::Refused
                | Self::SignIn
                | Self::Limited
                | Self::Server
        )
    }

    /// True if the vendor has no data of the name, so that a request soon after brings none either.
    #[must_use]
    pub const fn is_final(self) -> bool {
        matches!(self, Self::Refused | Self::SignIn | Self::NotFound | Self::WrongName | Self::Empty | Self::NoQuotes)
    }

    /// The failure of a status, for most vendors; `None`: the response has data.
    #[must_use]
    pub const fn of_status(status: u16) -> Option<Self> {
        match status {
            200 | 203 | 206 => None,
            401 | 403 => Some(Self::Refused),
            404 | 410 => Some(Self::NotFound),
            408 => Some(Self::Timeout),
            429 => Some(Self::Limited),
            300..=399 => Some(Self::Redirect),
            500..=599 => Some(Self::Server),
            _ => Some(Self::Status),
        }
    }

    /// The failure of an error of a reader.
    #[must_use]
    pub const fn of_error(error: &FeedError) -> Self {
        match error {
            FeedError::Instead { what, .. } => Self::instead(*what),
            FeedError::TooLarge { .. } => Self::TooLarge,
            _ => Self::Malformed,
        }
    }

    /// The failure of a document without data.
    #[must_use]
    pub const fn instead(what: Instead) -> Self {
        match what {
            Instead::OtherFormat => Self::Malformed,
            Instead::Nothing => Self::Empty,
            Instead::WrongQuestion => Self::NotFound,
            Instead::NotPermitted => Self::Refused,
            Instead::TooMuch => Self::Limited,
            Instead::NotReady => Self::Server,
            Instead::OtherUnderlying => Self::WrongName,
            Instead::NoQuotes => Self::NoQuotes,
            Instead::TooManyRecords => Self::TooLarge,
        }
    }
}

/// A failure, and the pause that the server requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failed {
    /// Kind of the failure.
    pub failure: Failure,
    /// Pause of the header `Retry-After`.
    pub retry_after: Option<Duration>,
}

impl From<Failure> for Failed {
    fn from(failure: Failure) -> Self {
        Self { failure, retry_after: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_counted_in_their_order_and_have_names_of_their_own() {
        let mut names: Vec<&str> = Failure::ALL.iter().map(|failure| failure.name()).collect();
        for (i, failure) in Failure::ALL.into_iter().enumerate() {
            assert_eq!(failure as usize, i, "{}", failure.name());
        }
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), Failure::ALL.len());
        let mut sentences: Vec<&str> = Failure::ALL.iter().map(|failure| failure.sentence()).collect();
        sentences.sort_unstable();
        sentences.dedup();
        assert_eq!(sentences.len(), Failure::ALL.len());
    }
}
