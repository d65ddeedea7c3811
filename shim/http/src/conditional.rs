//! Conditional and range requests: `If-None-Match`, `Range`, `If-Range` (RFC 9110, sections 13 and 14). Never: a body.

use super::request::{Method, Request};
use std::ops::Range;

/// The requested part of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BytesWanted {
    /// From the first byte to the last one, or to the end.
    From(u64, Option<u64>),
    /// The last bytes.
    Last(u64),
}

impl BytesWanted {
    /// Parses a `Range` of one part; `None` if it is malformed, in another unit or of several parts: these may be
    /// answered with the whole body.
    fn parse(text: &str) -> Option<Self> {
        let (first, last) = text.strip_prefix("bytes=")?.trim().split_once('-')?;
        let number = |digits: &str| digits.bytes().all(|b| b.is_ascii_digit()).then(|| digits.parse::<u64>().ok())?;
        match (first, last) {
            ("", last) => Some(Self::Last(number(last)?)),
            (first, "") => Some(Self::From(number(first)?, None)),
            (first, last) => Some(Self::From(number(first)?, Some(number(last)?))).filter(Self::ascends),
        }
    }

    fn ascends(&self) -> bool {
        !matches!(self, Self::From(first, Some(last)) if last < first)
    }

    /// The part of a body of this length; `None` if it has no such bytes.
    pub(super) fn of(self, length: usize) -> Option<Range<usize>> {
        let whole = length as u64;
        let (start, end) = match self {
            // RFC 9110: an end beyond the body is cut to its length
            Self::From(first, last) => (first, last.map_or(whole, |last| last.saturating_add(1).min(whole))),
            Self::Last(n) => (whole.saturating_sub(n), whole),
        };
        let at = |offset: u64| usize::try_from(offset).ok();
        (start < end).then_some(at(start)?..at(end)?)
    }

    /// True if readers begin with such a part: with the end, where a file has its index, or with the beginning.
    fn opens(self) -> bool {
        matches!(self, Self::Last(_) | Self::From(0, _))
    }
}

/// The conditions of a request on versions and parts.
#[derive(Clone, Debug, Default)]
pub(super) struct Conditions {
    /// Requested part.
    pub(super) part: Option<BytesWanted>,
    /// True if the body is read in parts, or probably will be, so that it must stay the same.
    pub(super) is_ranged: bool,
    /// True if it is the first request of a reader, which may get any version.
    pub(super) opens: bool,
    if_none_match: Option<Box<str>>,
    if_range: Option<Box<str>>,
}

impl Conditions {
    /// The conditions of a request.
    pub(super) fn of(request: &Request<'_>) -> Self {
        let owned = |name: &str| request.header(name).map(Box::from);
        let is_head = request.method() == Method::Head;
        let part = request.header("range").filter(|_| !is_head).and_then(BytesWanted::parse);
        Self {
            part,
            is_ranged: is_head || part.is_some(),
            opens: part.is_none_or(BytesWanted::opens),
            if_none_match: owned("if-none-match"),
            if_range: part.and_then(|_| owned("if-range")),
        }
    }

    /// True if the client names versions that it has.
    pub(super) fn names_versions(&self) -> bool {
        self.if_none_match.is_some()
    }

    /// True if the client has this version.
    pub(super) fn has(&self, etag: &str) -> bool {
        let Some(known) = &self.if_none_match else { return false };
        known.split(',').map(str::trim).any(|known| known == "*" || known.strip_prefix("W/").unwrap_or(known) == etag)
    }

    /// The requested part of this version; `None` if the client wants parts of another version only.
    pub(super) fn part_of(&self, etag: &str) -> Option<BytesWanted> {
        self.part.filter(|_| self.if_range.as_deref().is_none_or(|wanted| wanted == etag))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn no_header_asks_for_bytes_that_are_not_there(text in "(bytes=)?[0-9]{0,21}-?[0-9,a -]{0,21}", length in 0_usize..1000) {
            if let Some(part) = BytesWanted::parse(&text).and_then(|part| part.of(length)) {
                prop_assert!(part.start < part.end && part.end <= length);
            }
        }
    }

    #[test]
    fn one_part_is_read_and_anything_else_is_the_whole() {
        let of = |text: &str| BytesWanted::parse(text).map(|part| part.of(100));
        assert_eq!(of("bytes=0-9"), Some(Some(0..10)));
        assert_eq!(of("bytes=90-"), Some(Some(90..100)));
        assert_eq!(of("bytes=90-1000"), Some(Some(90..100)));
        assert_eq!(of("bytes=-10"), Some(Some(90..100)));
        assert_eq!(of("bytes=-1000"), Some(Some(0..100)));
        assert_eq!(of("bytes=0-18446744073709551615"), Some(Some(0..100)));
        for beyond in ["bytes=100-", "bytes=-0", "bytes=100-200"] {
            assert_eq!(of(beyond), Some(None), "{beyond}");
        }
        for other in [
            "bytes=5-4",
            "bytes=0-9,20-29",
            "rows=0-9",
            "bytes=a-b",
            "bytes=+1-2",
            "bytes=-",
            "",
            "bytes=99999999999999999999-",
        ] {
            assert_eq!(of(other), None, "{other}");
        }
        assert_eq!(BytesWanted::Last(5).of(0), None);
    }

    #[test]
    fn versions_are_compared_as_they_are_spelt() {
        let having = |known: &str| Conditions { if_none_match: Some(known.into()), ..Conditions::default() };
        for known in ["\"a\"", "W/\"a\"", "\"b\", \"a\"", "*"] {
            assert!(having(known).has("\"a\""), "{known}");
        }
        for known in ["", "\"b\"", "a", "\"ab\""] {
            assert!(!having(known).has("\"a\""), "{known}");
        }
        let part = Some(BytesWanted::Last(1));
        let of =
            |if_range: Option<&str>| Conditions { part, if_range: if_range.map(Box::from), ..Conditions::default() };
        assert_eq!(of(None).part_of("\"a\""), part);
        assert_eq!(of(Some("\"a\"")).part_of("\"a\""), part);
        assert_eq!(of(Some("\"b\"")).part_of("\"a\""), None);
    }
}
