//! Percent-decoding of targets: strict for a path, whose bytes choose a resource; lenient for a query, like browsers.
//! Never: a resource.

use percent_encoding::percent_decode_str;
use std::borrow::Cow;

/// Decodes `%XX` of a path or of one of its segments. Split a path on `/` first: `%2F` belongs to a name (`BRK%2FB`).
///
/// `None` for a `%` without two hex digits and for bytes that are not UTF-8.
#[must_use]
pub fn decode_strict(text: &str) -> Option<Cow<'_, str>> {
    let is_hex = |digits: &[u8]| digits.iter().all(u8::is_ascii_hexdigit);
    let begins_with_byte = |piece: &str| piece.as_bytes().get(..2).is_some_and(is_hex);
    let is_strict = text.split('%').skip(1).all(begins_with_byte);
    if is_strict { percent_decode_str(text).decode_utf8().ok() } else { None }
}

/// Decodes `%XX` and `+` of a query name or value. A `%` without two hex digits stays as it is; bytes that are not
/// UTF-8 become U+FFFD.
#[must_use]
pub fn decode_form(text: &str) -> Cow<'_, str> {
    if text.contains('+') {
        // replaced before decoding, so that an encoded + stays
        Cow::Owned(percent_decode_str(&text.replace('+', " ")).decode_utf8_lossy().into_owned())
    } else {
        percent_decode_str(text).decode_utf8_lossy()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_path_keeps_plus_and_refuses_what_it_cannot_read() {
        assert_eq!(decode_strict("BRK%2fB+%2A").as_deref(), Some("BRK/B+*"));
        assert_eq!(decode_strict("plain").as_deref(), Some("plain"));
        for bad in ["%", "%4", "%zz", "a%G0", "%ff", "%C3", "%+1"] {
            assert_eq!(decode_strict(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_query_reads_what_clients_send_and_keeps_the_rest() {
        assert_eq!(decode_form("ACME++261218C00100000"), "ACME  261218C00100000");
        assert_eq!(decode_form("%2A%2c%20%3E%3D400"), "*, >=400");
        assert_eq!(decode_form("100%"), "100%");
        assert_eq!(decode_form("%zz%4"), "%zz%4");
        assert_eq!(decode_form("%ff"), "\u{fffd}");
        assert_eq!(decode_form("%C3%A9"), "é");
    }

    proptest! {
        #[test]
        fn decoding_undoes_encoding(text in ".{0,40}") {
            let encoded: String = text.bytes().map(|b| format!("%{b:02x}")).collect();
            let decoded = decode_strict(&encoded);
            prop_assert_eq!(decoded.as_deref(), Some(text.as_str()));
            prop_assert_eq!(decode_form(&encoded), text);
        }

        #[test]
        fn decoding_never_panics(text in "[%+0-9a-fzé]{0,30}") {
            let _ = (decode_strict(&text), decode_form(&text));
        }
    }
}
