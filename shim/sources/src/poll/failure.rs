//! Why a request brought nothing, and whom that concerns. Never: a text of a server, a request.

use kernel::error::{FeedError, Instead};
use std::time::Duration;

/// Why a request brought nothing that can be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Failure {
    /// Nobody answers at the address, or it is not known.
    Connect,
    /// The answer did not come in time, or not all of it.
    Timeout,
    /// The server's certificate is not one to trust, or no common encryption.
    Tls,
    /// The answer broke off.
    Cut,
    /// The key is not taken, or does not allow this: 401, 403.
    Refused,
    /// Too many requests: 429.
    Limited,
    /// The server has trouble: 5xx.
    Server,
    /// It is not there: 404.
    NotFound,
    /// Another status that is no answer.
    Status,
    /// A redirect to elsewhere, or too many.
    Redirect,
    /// More bytes or records than are read.
    TooLarge,
    /// Not what the vendor says that it sends.
    Malformed,
    /// About another name.
    WrongName,
    /// Without any contract.
    Empty,
    /// Contracts without quotes, as in plans that have none.
    NoQuotes,
    /// Far fewer contracts than before, or calls or puts alone.
    Partial,
    /// Older than what is known already.
    Older,
    /// Made later than now.
    Ahead,
}

impl Failure {
    /// Every kind, in the order of its counts.
    pub const ALL: [Self; 18] = [
        Self::Connect,
        Self::Timeout,
        Self::Tls,
        Self::Cut,
        Self::Refused,
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

    /// Its name in `/health`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Connect => "connect",
            Self::Timeout => "timeout",
            Self::Tls => "tls",
            Self::Cut => "cut",
            Self::Refused => "refused",
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

    /// The same in a sentence, for the log.
    #[must_use]
    pub const fn says(self) -> &'static str {
        match self {
            Self::Connect => "cannot connect to the address",
            Self::Timeout => "no response in time",
            Self::Tls => "the server's certificate is not trusted, or no common encryption",
            Self::Cut => "the response was cut off",
            Self::Refused => "the vendor rejects the key or does not permit the request",
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

    /// True if it concerns every request to the vendor, and not the name alone.
    #[must_use]
    pub const fn is_of_vendor(self) -> bool {
        matches!(
            self,
            Self::Connect | Self::Timeout | Self::Tls | Self::Cut | Self::Refused | Self::Limited | Self::Server
        )
    }

    /// True if it says that the vendor has no data of a name, so that asking again soon brings nothing either.
    #[must_use]
    pub const fn is_final(self) -> bool {
        matches!(self, Self::Refused | Self::NotFound | Self::WrongName | Self::Empty | Self::NoQuotes)
    }

    /// What a status means to most vendors; `None`: the answer is data.
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

    /// What a reader found in place of data.
    #[must_use]
    pub const fn of_error(error: &FeedError) -> Self {
        match error {
            FeedError::Instead { what, .. } => Self::instead(*what),
            FeedError::TooLarge { .. } => Self::TooLarge,
            _ => Self::Malformed,
        }
    }

    /// The same in a closed form.
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

/// A failure, and how long the server asked to be left alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failed {
    /// Why.
    pub failure: Failure,
    /// `Retry-After`.
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
        let mut sentences: Vec<&str> = Failure::ALL.iter().map(|failure| failure.says()).collect();
        sentences.sort_unstable();
        sentences.dedup();
        assert_eq!(sentences.len(), Failure::ALL.len());
    }
}
