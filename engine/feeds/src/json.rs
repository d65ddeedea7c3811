//! JSON as vendors write it: a value of the wrong kind costs itself and not its document, a list of one may be a bare
//! object, an empty one `null` or a word. The only file of the feeds that names a JSON library. Never: a vendor's
//! field.

use core::fmt;
use core::marker::PhantomData;
use kernel::error::{FeedError, Instead, Reason};
use kernel::limits::{self, Bound};
use kernel::report::Report;
use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::borrow::Cow;
use std::path::Path;

/// The visits that give a value of another kind than expected.
macro_rules! other_kinds {
    ($life:lifetime $other:expr; $($kind:ident)*) => {
        $($crate::json::other_kinds!(@ $life $other; $kind);)*
    };
    (@ $life:lifetime $other:expr; bool) => {
        fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> { Ok($other) }
    };
    (@ $life:lifetime $other:expr; number) => {
        fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> { Ok($other) }
        fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> { Ok($other) }
        fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> { Ok($other) }
    };
    (@ $life:lifetime $other:expr; text) => {
        fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> { Ok($other) }
    };
    (@ $life:lifetime $other:expr; null) => {
        fn visit_unit<E>(self) -> Result<Self::Value, E> { Ok($other) }
    };
    (@ $life:lifetime $other:expr; list) => {
        fn visit_seq<A: serde::de::SeqAccess<$life>>(self, mut list: A) -> Result<Self::Value, A::Error> {
            while list.next_element::<IgnoredAny>()?.is_some() {}
            Ok($other)
        }
    };
    (@ $life:lifetime $other:expr; object) => {
        fn visit_map<A: serde::de::MapAccess<$life>>(self, mut object: A) -> Result<Self::Value, A::Error> {
            while object.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
            Ok($other)
        }
    };
}
pub(super) use other_kinds;

/// Structs that are read from objects: keys in any order, further ones ignored, the last of equal ones counts. What is
/// no object is one without keys.
macro_rules! objects {
    ($($(#[$doc:meta])* struct $name:ident { $($field:ident: $kind:ty = $key:literal,)* })*) => { $(
        $(#[$doc])*
        #[derive(Default)]
        struct $name<'a> {
            $($field: $kind,)*
            life: core::marker::PhantomData<&'a ()>,
        }
        impl<'a> serde::Deserialize<'a> for $name<'a> {
            fn deserialize<D: serde::Deserializer<'a>>(deserializer: D) -> Result<Self, D::Error> {
                use serde::de::{IgnoredAny, MapAccess, Visitor};
                struct Fields<'a>(core::marker::PhantomData<&'a ()>);
                impl<'a> Visitor<'a> for Fields<'a> {
                    type Value = $name<'a>;
                    fn expecting(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                        f.write_str("any value")
                    }
                    fn visit_map<A: MapAccess<'a>>(self, mut object: A) -> Result<Self::Value, A::Error> {
                        let mut out = $name::default();
                        while let Some(key) = object.next_key::<$crate::json::Key<'a>>()? {
                            match key.as_str() {
                                $($key => out.$field = object.next_value()?,)*
                                // vendors add fields without notice
                                _ => { object.next_value::<IgnoredAny>()?; }
                            }
                        }
                        Ok(out)
                    }
                    $crate::json::other_kinds!('a $name::default(); bool number text null list);
                }
                deserializer.deserialize_any(Fields(core::marker::PhantomData))
            }
        }
    )* };
}
pub(super) use objects;

/// The key of an object.
#[derive(Debug, PartialEq)]
pub(super) struct Key<'a>(Cow<'a, str>);

impl Key<'_> {
    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

impl<'a> Deserialize<'a> for Key<'a> {
    fn deserialize<D: Deserializer<'a>>(deserializer: D) -> Result<Self, D::Error> {
        struct Keys;
        impl<'a> Visitor<'a> for Keys {
            type Value = Key<'a>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a key")
            }
            fn visit_borrowed_str<E>(self, text: &'a str) -> Result<Self::Value, E> {
                Ok(Key(Cow::Borrowed(text)))
            }
            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Key(Cow::Owned(text.to_owned())))
            }
        }
        deserializer.deserialize_str(Keys)
    }
}

/// A text, or why there is none.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) enum Text<'a> {
    /// Not there, or `null`.
    #[default]
    Missing,
    /// A text, perhaps empty.
    Is(Cow<'a, str>),
    /// A value of another kind.
    Other,
}

impl<'a> Text<'a> {
    /// The text without blanks around it.
    ///
    /// # Errors
    /// Missing or empty; a value of another kind is `wrong`.
    pub(super) fn get(&self, wrong: Reason) -> Result<&str, Reason> {
        match self {
            // an empty string is how several vendors write null
            Text::Is(text) if !text.trim().is_empty() => Ok(text.trim()),
            Text::Is(_) | Text::Missing => Err(Reason::Missing),
            Text::Other => Err(wrong),
        }
    }

    /// The text as a parser reads it.
    ///
    /// # Errors
    /// Missing or empty; what the parser does not read is `wrong`.
    pub(super) fn read<T>(&self, wrong: Reason, parse: impl FnOnce(&str) -> Option<T>) -> Result<T, Reason> {
        parse(self.get(wrong)?).ok_or(wrong)
    }

    /// True if it is there and not empty.
    pub(super) fn is_some(&self) -> bool {
        !matches!(self.get(Reason::NotAWord), Err(Reason::Missing))
    }
}

impl<'a> From<&'a str> for Text<'a> {
    fn from(text: &'a str) -> Self {
        Text::Is(Cow::Borrowed(text))
    }
}

impl<'a> Deserialize<'a> for Text<'a> {
    fn deserialize<D: Deserializer<'a>>(deserializer: D) -> Result<Self, D::Error> {
        struct Texts;
        impl<'a> Visitor<'a> for Texts {
            type Value = Text<'a>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("any value")
            }
            fn visit_borrowed_str<E>(self, text: &'a str) -> Result<Self::Value, E> {
                Ok(text.into())
            }
            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Text::Is(Cow::Owned(text.to_owned())))
            }
            other_kinds!('a Text::Missing; null);
            other_kinds!('a Text::Other; bool number list object);
        }
        deserializer.deserialize_any(Texts)
    }
}

/// A number, or why there is none. Numbers in quotation marks count.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) enum Number {
    /// Not there, `null`, or an empty text.
    #[default]
    Missing,
    /// A number.
    Is(f64),
    /// A value of another kind.
    Other,
}

impl Number {
    /// Reads a number that stands as text.
    pub(super) fn parse(text: &str) -> Self {
        match text.trim() {
            // vendors write numbers as text, and no number as empty text
            "" => Number::Missing,
            text => text.parse().map_or(Number::Other, Number::Is),
        }
    }

    /// The number within its bound.
    ///
    /// # Errors
    /// Missing, no number or out of range.
    pub(super) fn get(self, bound: Bound) -> Result<f64, Reason> {
        match self {
            Number::Missing => Err(Reason::Missing),
            Number::Is(x) => bound.admit(x),
            Number::Other => Err(Reason::NotANumber),
        }
    }

    /// The number within its bound, NaN where it is missing.
    ///
    /// # Errors
    /// No number or out of range.
    pub(super) fn or_nan(self, bound: Bound) -> Result<f64, Reason> {
        if self == Number::Missing { Ok(f64::NAN) } else { self.get(bound) }
    }
}

impl<'a> Deserialize<'a> for Number {
    fn deserialize<D: Deserializer<'a>>(deserializer: D) -> Result<Self, D::Error> {
        struct Numbers;
        impl<'a> Visitor<'a> for Numbers {
            type Value = Number;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("any value")
            }
            fn visit_f64<E>(self, x: f64) -> Result<Self::Value, E> {
                Ok(Number::Is(x))
            }
            fn visit_i64<E>(self, x: i64) -> Result<Self::Value, E> {
                Ok(Number::Is(x as f64))
            }
            fn visit_u64<E>(self, x: u64) -> Result<Self::Value, E> {
                Ok(Number::Is(x as f64))
            }
            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Number::parse(text))
            }
            other_kinds!('a Number::Missing; null);
            other_kinds!('a Number::Other; bool list object);
        }
        // any kind is read: a field of the wrong kind costs its row, not the document
        deserializer.deserialize_any(Numbers)
    }
}

/// A whole number, such as a time in milliseconds, or why there is none. Texts and numbers with a fraction do not
/// count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Whole {
    /// Not there, or `null`.
    #[default]
    Missing,
    /// A whole number.
    Is(i64),
    /// A value of another kind.
    Other,
}

impl Whole {
    /// The time that it stands for, `None` where it is missing or 0.
    ///
    /// # Errors
    /// Not a time, or one outside the years allowed.
    pub(super) fn time<T>(self, of: impl FnOnce(i64) -> Option<T>) -> Result<Option<T>, Reason> {
        match self {
            // a time of zero means none, and not 1970
            Whole::Missing | Whole::Is(0) => Ok(None),
            Whole::Is(n) => of(n).map(Some).ok_or(Reason::NotATime),
            Whole::Other => Err(Reason::NotATime),
        }
    }
}

impl<'a> Deserialize<'a> for Whole {
    fn deserialize<D: Deserializer<'a>>(deserializer: D) -> Result<Self, D::Error> {
        struct Wholes;
        impl<'a> Visitor<'a> for Wholes {
            type Value = Whole;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("any value")
            }
            fn visit_i64<E>(self, n: i64) -> Result<Self::Value, E> {
                Ok(Whole::Is(n))
            }
            fn visit_u64<E>(self, n: u64) -> Result<Self::Value, E> {
                Ok(i64::try_from(n).map_or(Whole::Other, Whole::Is))
            }
            fn visit_f64<E>(self, x: f64) -> Result<Self::Value, E> {
                // a whole number may be written with a point; beyond this bound the cast would saturate
                let fits = x.fract().abs() < f64::MIN_POSITIVE && x.abs() < 9.2e18;
                Ok(if fits { Whole::Is(x as i64) } else { Whole::Other })
            }
            other_kinds!('a Whole::Missing; null);
            other_kinds!('a Whole::Other; bool text list object);
        }
        deserializer.deserialize_any(Wholes)
    }
}

/// True, false, or neither.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Flag(Option<bool>);

impl Flag {
    /// True if the flag is there and has this value.
    pub(super) fn is(self, value: bool) -> bool {
        self.0 == Some(value)
    }
}

impl<'a> Deserialize<'a> for Flag {
    fn deserialize<D: Deserializer<'a>>(deserializer: D) -> Result<Self, D::Error> {
        struct Flags;
        impl<'a> Visitor<'a> for Flags {
            type Value = Flag;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("any value")
            }
            fn visit_bool<E>(self, value: bool) -> Result<Self::Value, E> {
                Ok(Flag(Some(value)))
            }
            other_kinds!('a Flag::default(); number text null list object);
        }
        deserializer.deserialize_any(Flags)
    }
}

/// A value of a list without names: a text, a number, or a list of such.
#[derive(Debug, PartialEq)]
pub(super) enum Cell<'a> {
    /// A text.
    Text(Cow<'a, str>),
    /// A number.
    Number(f64),
    /// A list.
    List(Vec<Cell<'a>>),
    /// A value of another kind.
    Other,
}

impl<'a> Deserialize<'a> for Cell<'a> {
    fn deserialize<D: Deserializer<'a>>(deserializer: D) -> Result<Self, D::Error> {
        struct Cells;
        impl<'a> Visitor<'a> for Cells {
            type Value = Cell<'a>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("any value")
            }
            fn visit_borrowed_str<E>(self, text: &'a str) -> Result<Self::Value, E> {
                Ok(Cell::Text(Cow::Borrowed(text)))
            }
            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Cell::Text(Cow::Owned(text.to_owned())))
            }
            fn visit_i64<E>(self, x: i64) -> Result<Self::Value, E> {
                Ok(Cell::Number(x as f64))
            }
            fn visit_u64<E>(self, x: u64) -> Result<Self::Value, E> {
                Ok(Cell::Number(x as f64))
            }
            fn visit_f64<E>(self, x: f64) -> Result<Self::Value, E> {
                Ok(Cell::Number(x))
            }
            fn visit_seq<A: SeqAccess<'a>>(self, list: A) -> Result<Self::Value, A::Error> {
                entries(list).map(|list| Cell::List(list.items))
            }
            other_kinds!('a Cell::Other; bool null object);
        }
        deserializer.deserialize_any(Cells)
    }
}

/// A list that may be a bare object where it has one entry, and `null` or a word where it has none. Holds at most
/// [`limits::RECORDS`].
#[derive(Debug)]
pub(super) struct Listed<T> {
    /// The entries.
    pub(super) items: Vec<T>,
    /// There were more than are held.
    pub(super) cut: bool,
}

impl<T> Default for Listed<T> {
    fn default() -> Self {
        Self { items: Vec::new(), cut: false }
    }
}

impl<T> Listed<T> {
    /// Adds an entry, if there is room.
    pub(super) fn push(&mut self, item: T) {
        // the bound holds while the list is read, before memory is spent on it
        if (self.items.len() as f64) < limits::RECORDS.most { self.items.push(item) } else { self.cut = true }
    }
}

impl<'a, T: Deserialize<'a>> Deserialize<'a> for Listed<T> {
    fn deserialize<D: Deserializer<'a>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries<T>(PhantomData<T>);
        impl<'a, T: Deserialize<'a>> Visitor<'a> for Entries<T> {
            type Value = Listed<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("any value")
            }
            fn visit_seq<A: SeqAccess<'a>>(self, list: A) -> Result<Self::Value, A::Error> {
                entries(list)
            }
            fn visit_map<A: MapAccess<'a>>(self, object: A) -> Result<Self::Value, A::Error> {
                // Tradier writes a list of one item without its brackets
                let item = T::deserialize(MapAccessDeserializer::new(object))?;
                Ok(Listed { items: vec![item], cut: false })
            }
            other_kinds!('a Listed::default(); bool number text null);
        }
        deserializer.deserialize_any(Entries(PhantomData))
    }
}

/// A value that is there, whatever its kind, or none.
#[derive(Debug)]
pub(super) struct Given<T>(pub(super) Option<T>);

impl<T> Default for Given<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<'a, T: Deserialize<'a>> Deserialize<'a> for Given<T> {
    fn deserialize<D: Deserializer<'a>>(deserializer: D) -> Result<Self, D::Error> {
        // a field that is there and empty differs from one that is not: the latter is another format
        T::deserialize(deserializer).map(|value| Self(Some(value)))
    }
}

/// Plain values of which there may be one, many or none. Holds at most [`limits::RECORDS`].
#[derive(Debug, Default)]
pub(super) struct Words<'a>(pub(super) Listed<Text<'a>>);

impl<'a> Deserialize<'a> for Words<'a> {
    fn deserialize<D: Deserializer<'a>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries;
        impl<'a> Visitor<'a> for Entries {
            type Value = Words<'a>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("any value")
            }
            fn visit_borrowed_str<E>(self, text: &'a str) -> Result<Self::Value, E> {
                Ok(Words(Listed { items: vec![text.into()], cut: false }))
            }
            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Words(Listed { items: vec![Text::Is(Cow::Owned(text.to_owned()))], cut: false }))
            }
            fn visit_seq<A: SeqAccess<'a>>(self, list: A) -> Result<Self::Value, A::Error> {
                entries(list).map(Words)
            }
            other_kinds!('a Words::default(); bool number null object);
        }
        deserializer.deserialize_any(Entries)
    }
}

fn entries<'a, T: Deserialize<'a>, A: SeqAccess<'a>>(mut list: A) -> Result<Listed<T>, A::Error> {
    let mut out = Listed::default();
    while !out.cut
        && let Some(item) = list.next_element()?
    {
        out.push(item);
    }
    while list.next_element::<IgnoredAny>()?.is_some() {}
    Ok(out)
}

/// The entries of an object by their keys, in its order. Holds at most [`limits::RECORDS`].
#[derive(Debug)]
pub(super) struct Keyed<'a, T>(pub(super) Listed<(Key<'a>, T)>);

impl<T> Default for Keyed<'_, T> {
    fn default() -> Self {
        Self(Listed::default())
    }
}

impl<'a, T: Deserialize<'a>> Deserialize<'a> for Keyed<'a, T> {
    fn deserialize<D: Deserializer<'a>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries<T>(PhantomData<T>);
        impl<'a, T: Deserialize<'a>> Visitor<'a> for Entries<T> {
            type Value = Keyed<'a, T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("any value")
            }
            fn visit_map<A: MapAccess<'a>>(self, mut object: A) -> Result<Self::Value, A::Error> {
                let mut out = Listed::default();
                while !out.cut
                    && let Some(entry) = object.next_entry()?
                {
                    out.push(entry);
                }
                while object.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
                Ok(Keyed(out))
            }
            other_kinds!('a Keyed::default(); bool number text null list);
        }
        deserializer.deserialize_any(Entries(PhantomData))
    }
}

/// Reads a whole document. `None`, with the reason in the report: it is too large, not JSON, or damaged.
pub(super) fn parse<'a, T: Deserialize<'a>>(source: &Path, bytes: &'a [u8], report: &mut Report) -> Option<T> {
    // larger than any chain: not parsed at all
    if !report.admits(source, bytes) {
        return None;
    }
    // editors and spreadsheets put a byte order mark in front
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    match serde_json::from_slice(bytes) {
        Ok(document) => Some(document),
        Err(e) => {
            match bytes.trim_ascii_start().first() {
                // JSON that breaks off is damage; anything else, such as a page of HTML, is another format
                Some(b'{' | b'[') => {
                    report.errors.push(FeedError::Malformed { file: source.to_path_buf(), line: e.line() as u64 });
                }
                _ => report.say_instead(source, Instead::OtherFormat),
            }
            None
        }
    }
}

/// Reads one line of a document that has an object a line. `None`: it is damaged.
pub(super) fn parse_line<'a, T: Deserialize<'a>>(line: &'a [u8]) -> Option<T> {
    serde_json::from_slice(line).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    objects! {
        /// One of each kind.
        struct Sample {
            text: Text<'a> = "text",
            number: Number = "number",
            whole: Whole = "whole",
            list: Listed<Inner<'a>> = "list",
            map: Keyed<'a, Number> = "map",
        }
        /// Stands in a list.
        struct Inner {
            n: Number = "n",
        }
    }

    fn read(text: &str) -> Sample<'_> {
        let mut report = Report::default();
        let sample = parse(Path::new("x"), text.as_bytes(), &mut report);
        assert!(report.errors.is_empty(), "{text}: {:?}", report.errors);
        sample.unwrap()
    }

    #[test]
    fn values_of_another_kind_cost_themselves() {
        for other in ["true", "[1,[2]]", "{\"a\":{}}", "1.5", "\"word\"", "null"] {
            let text = format!(
                "{{\"text\":{other},\"number\":{other},\"whole\":{other},\"list\":{other},\"map\":{other},\"x\":{other}}}"
            );
            let sample = read(&text);
            let want_text = match other {
                "null" => Text::Missing,
                "\"word\"" => Text::from("word"),
                _ => Text::Other,
            };
            assert_eq!(sample.text, want_text, "{other}");
            assert_eq!(
                sample.number,
                match other {
                    "null" => Number::Missing,
                    "1.5" => Number::Is(1.5),
                    _ => Number::Other,
                }
            );
            assert_eq!(sample.whole, if other == "null" { Whole::Missing } else { Whole::Other }, "{other}");
        }
    }

    #[test]
    fn lists_of_one_and_of_none_have_other_forms() {
        for (list, want) in [
            ("null", &[][..]),
            ("\"null\"", &[]),
            ("[]", &[]),
            ("{\"n\":1}", &[Number::Is(1.0)]),
            ("[{\"n\":1},7,{\"n\":\"2\"}]", &[Number::Is(1.0), Number::Missing, Number::Is(2.0)]),
        ] {
            let text = format!("{{\"list\":{list}}}");
            assert_eq!(read(&text).list.items.iter().map(|i| i.n).collect::<Vec<_>>(), want, "{list}");
        }
    }

    #[test]
    fn the_last_of_equal_keys_counts_and_escapes_are_read() {
        let sample = read("{\"number\":1,\"te\\u0078t\":\"a\\u0062\",\"number\":2}");
        assert_eq!((sample.number, sample.text), (Number::Is(2.0), Text::from("ab")));
    }

    #[test]
    fn times_in_nanoseconds_are_exact() {
        assert_eq!(read("{\"whole\":1651254260800059648}").whole, Whole::Is(1_651_254_260_800_059_648));
        assert_eq!(read("{\"whole\":1.651e18}").whole, Whole::Is(1_651_000_000_000_000_000));
        assert_eq!(read("{\"whole\":18446744073709551615}").whole, Whole::Other);
        assert_eq!(read("{\"whole\":1e300}").whole, Whole::Other);
    }

    #[test]
    fn what_is_no_document_is_said() {
        let said = |bytes: &[u8]| {
            let mut report = Report::default();
            assert!(parse::<Sample<'_>>(Path::new("x"), bytes, &mut report).is_none());
            report.errors[0].to_string()
        };
        assert_eq!(said(b"{\"list\":[\n{},"), "x:2: not a record");
        assert_eq!(said(b"<html>"), "x: not in the format");
        assert_eq!(said(b""), "x: not in the format");
        assert_eq!(said(&[b"[".repeat(100_000)].concat()), "x:1: not a record");
        assert_eq!(said(&vec![b' '; limits::DOCUMENT_BYTES.most as usize + 1]), "x: too large");
    }
}
