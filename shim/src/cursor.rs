//! Where the next page begins, as text that a client hands back. Nothing is kept between two pages: a token is the last
//! contract of a page, a cursor that contract together with the parameters of the first request.
//!
//! Never: an order of rows (that is [`crate::arrange`]'s), a vendor's address.

use crate::base64::{decode, encode, encode_url};
use crate::query::Query;
use crate::refusal::Refusal;
use engine::contract::ContractKey;
use engine::contract::osi::OSI_LEN;

/// The parameter of a cursor that names the last contract.
const LAST: &str = "ap";

/// The OSI symbol of a contract, without spaces.
#[must_use]
pub fn compact(key: &ContractKey) -> String {
    let mut text = [0; OSI_LEN];
    let n = key.write_compact(&mut text);
    String::from_utf8_lossy(&text[..n]).into_owned()
}

/// The token behind a contract.
#[must_use]
pub fn token(last: &ContractKey) -> String {
    encode(&compact(last))
}

/// The contract that a token stands behind.
///
/// # Errors
/// [`Refusal::Invalid`] for what is no token.
pub fn parse_token(parameter: &str, text: &str) -> Result<ContractKey, Refusal> {
    let key = decode(text).and_then(|symbol| ContractKey::parse_osi(&symbol));
    key.ok_or_else(|| Refusal::invalid(parameter, text, "a page token"))
}

/// The cursor behind a contract: a query text that repeats what the first request said of `parameters`.
#[must_use]
pub fn cursor(query: &Query<'_>, parameters: &[&str], last: &ContractKey) -> String {
    let mut pairs = vec![(LAST, format!("O:{}", compact(last)))];
    pairs.extend(parameters.iter().filter_map(|&name| Some((name, query.get(name)?.to_owned()))));
    pairs.sort();
    let text: Vec<String> = pairs.iter().map(|(name, value)| format!("{name}={}", percent_encode(value))).collect();
    encode_url(&text.join("&"))
}

/// The query text of a cursor and the contract that it stands behind.
///
/// # Errors
/// [`Refusal::Invalid`] for what is no cursor.
pub fn parse_cursor(parameter: &str, text: &str) -> Result<(String, ContractKey), Refusal> {
    let parsed = decode(text).and_then(|query| {
        let last = ContractKey::parse_osi(Query::parse(&query).get(LAST)?)?;
        Some((query, last))
    });
    parsed.ok_or_else(|| Refusal::invalid(parameter, text, "a cursor"))
}

/// Everything but letters, digits, `-`, `.`, `_` and `~` as `%XX`.
fn percent_encode(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(text: &str) -> ContractKey {
        ContractKey::parse_osi(text).unwrap()
    }

    #[test]
    fn a_token_is_the_last_symbol_in_base64() {
        assert_eq!(token(&key("AAPL  240426C00152500")), "QUFQTDI0MDQyNkMwMDE1MjUwMA==");
        assert_eq!(parse_token("t", "QUFQTDI0MDQyNkMwMDE1MjUwMA=="), Ok(key("AAPL240426C00152500")));
        for bad in ["QUFQTA==", "%%%", "QUFQTDI0MDQyNkMwMDE1MjUwM", "AAPL240426C00152500"] {
            assert_eq!(parse_token("t", bad), Err(Refusal::invalid("t", bad, "a page token")));
        }
    }

    #[test]
    fn a_cursor_carries_the_parameters_of_the_first_request() {
        let query = Query::parse("expiration_date.gte=2026-12-01&limit=250&apiKey=k&sort=&x=1&q=a%26b%3D%2B");
        let text = cursor(&query, &["expiration_date.gte", "limit", "sort", "q"], &key("ACME261218C00100000"));
        assert!(!text.contains(['=', '+', '/', '&']), "{text}");
        let (again, last) = parse_cursor("cursor", &text).unwrap();
        assert_eq!(last, key("ACME261218C00100000"));
        let wanted = "ap=O%3AACME261218C00100000&expiration_date.gte=2026-12-01&limit=250&q=a%26b%3D%2B";
        assert_eq!(again, wanted);
        assert_eq!(Query::parse(&again).get("q"), Some("a&b=+"));
        for bad in ["abc", "", "YXA9", "YXA9T%3A", "bGltaXQ9Mw"] {
            assert_eq!(parse_cursor("cursor", bad).map(drop), Err(Refusal::invalid("cursor", bad, "a cursor")));
        }
    }
}
