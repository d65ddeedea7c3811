//! Typed parameters of a query string: text, date, number, integer, list, range, flag, word.
//!
//! One set of rules for every layer: `%XX` and `+` are decoded, white space around a value is dropped, an empty value
//! means that the parameter is absent, and of a repeated parameter the first value counts ([`Query::every`] reads them
//! all). What cannot be read is a [`Refusal`] with parameter and value. Never: a parameter's name (a layer has those).

mod bounds;
mod reads;

use crate::refusal::Refusal;
pub use bounds::{Bounds, Rights};
use http::percent::decode_form;
use jiff::civil::Date;
pub use reads::{ParameterForm, ParameterReads};
use std::borrow::Cow;
use std::cell::Cell;
use std::ops::RangeInclusive;
use std::rc::Rc;

/// The parameters of one request, decoded, in the order of the request.
#[derive(Clone, Debug, Default)]
pub struct Query<'a> {
    pairs: Vec<(Cow<'a, str>, Cow<'a, str>)>,
    /// The words of the path, by the names that the layer gives them.
    segments: Vec<(&'static str, String)>,
    /// Where it is noted what is read, if somebody wants to know.
    reads: Option<ParameterReads>,
    /// One bit for each of the first 64 pairs: set when an endpoint reads its name. Clones share it.
    read: Rc<Cell<u64>>,
}

impl<'a> Query<'a> {
    /// Reads what stands after the `?`. Never fails: what cannot be decoded stays as it is.
    #[must_use]
    pub fn parse(raw: &'a str) -> Self {
        let pair = |piece: &'a str| {
            let (name, value) = piece.split_once('=').unwrap_or((piece, ""));
            (decode_form(name), decode_form(value))
        };
        Self { pairs: raw.split('&').filter(|piece| !piece.is_empty()).map(pair).collect(), ..Self::default() }
    }

    /// The same parameters; which of them are read, and how, is noted there.
    #[must_use]
    pub fn noting(self, reads: &ParameterReads) -> Self {
        Self { reads: Some(reads.clone()), ..self }
    }

    /// The same parameters beside the words of the path.
    #[must_use]
    pub fn with_segments(mut self, segments: Vec<(&'static str, String)>) -> Self {
        self.segments = segments;
        self
    }

    /// The words of the path.
    #[must_use]
    pub fn into_segments(self) -> Vec<(&'static str, String)> {
        self.segments
    }

    /// A word of the path, trimmed; empty if the layer's path has no such word.
    #[must_use]
    pub fn segment(&self, name: &str) -> &str {
        self.segments.iter().find(|(n, _)| *n == name).map_or("", |(_, word)| word.trim())
    }

    /// The same parameters with lower-case names, for a layer whose names are case-insensitive.
    #[must_use]
    pub fn with_lowercase_names(mut self) -> Self {
        for (name, _) in &mut self.pairs {
            if name.bytes().any(|b| b.is_ascii_uppercase()) {
                name.to_mut().make_ascii_lowercase();
            }
        }
        self
    }

    /// Every (name, value) as decoded, empty values too.
    pub fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.pairs.iter().map(|(name, value)| (&**name, &**value))
    }

    /// Every (name, value) whose value is not empty, trimmed, and whether an endpoint has read the name. Pairs after the
    /// 64th count as not read.
    pub fn usage(&self) -> impl Iterator<Item = (&str, &str, bool)> {
        let read = self.read.get();
        let used = move |place: usize| place < 64 && read & (1 << place) != 0;
        let pairs = self.pairs().enumerate().map(move |(place, (name, value))| (name, value.trim(), used(place)));
        pairs.filter(|(_, value, _)| !value.is_empty())
    }

    /// Refuses a name that is not among `known`.
    ///
    /// # Errors
    /// [`Refusal::UnknownParameter`] with the first such name.
    pub fn only(&self, known: &[&str]) -> Result<(), Refusal> {
        known.iter().for_each(|name| self.note(name, || ParameterForm::Ignored));
        match self.pairs().find(|(name, _)| !known.contains(name)) {
            Some((name, _)) => Err(Refusal::unknown_parameter(name)),
            None => Ok(()),
        }
    }

    /// Every value of a parameter that is not empty, trimmed, in the order of the request.
    pub fn every<'q>(&'q self, name: &str) -> impl Iterator<Item = &'q str> {
        self.note(name, || ParameterForm::Text);
        self.values(name)
    }

    fn values<'q>(&'q self, name: &str) -> impl Iterator<Item = &'q str> {
        let places = self.pairs.iter().take(64).enumerate().filter(|(_, (known, _))| known == name);
        self.read.set(places.fold(self.read.get(), |read, (place, _)| read | 1 << place));
        self.pairs
            .iter()
            .filter(move |(n, _)| n == name)
            .map(|(_, value)| value.trim())
            .filter(|value| !value.is_empty())
    }

    /// The first value of a parameter that is not empty, trimmed.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.every(name).next()
    }

    /// The value of a parameter that must be there.
    ///
    /// # Errors
    /// [`Refusal::Missing`].
    pub fn required(&self, name: &str) -> Result<&str, Refusal> {
        self.get(name).ok_or_else(|| Refusal::missing(name.to_owned()))
    }

    fn first(&self, name: &str) -> Option<&str> {
        self.values(name).next()
    }

    fn note(&self, name: &str, form: impl FnOnce() -> ParameterForm) {
        if let Some(reads) = &self.reads {
            reads.note(name, form());
        }
    }

    /// The items of a comma list, trimmed, without empty ones; nothing if the parameter is absent.
    pub fn list<'q>(&'q self, name: &str) -> impl Iterator<Item = &'q str> {
        self.note(name, || ParameterForm::List);
        items(self.first(name).unwrap_or_default())
    }

    /// A date, `YYYY-MM-DD` or `YYYYMMDD`.
    ///
    /// # Errors
    /// [`Refusal::Invalid`] for anything else.
    pub fn date(&self, name: &str) -> Result<Option<Date>, Refusal> {
        self.note(name, || ParameterForm::Date);
        self.read(name, parse_date, "a date")
    }

    /// A date that must be there, written `YYYYMMDD` only.
    ///
    /// # Errors
    /// [`Refusal::Missing`]; [`Refusal::Invalid`] for anything else.
    pub fn date8(&self, name: &str) -> Result<Date, Refusal> {
        self.note(name, || ParameterForm::Date8);
        let text = self.required(name)?;
        let date = if text.len() == 8 { parse_date(text) } else { None };
        date.ok_or_else(|| Refusal::invalid(name, text, "a date YYYYMMDD"))
    }

    /// A comma list of dates; `None` if absent.
    ///
    /// # Errors
    /// [`Refusal::Invalid`] with the first item that is no date.
    pub fn dates(&self, name: &str) -> Result<Option<Vec<Date>>, Refusal> {
        let item = |text| parse_date(text).ok_or_else(|| Refusal::invalid(name, text, "a date"));
        self.note(name, || ParameterForm::Dates);
        let dates = self.list(name).map(item).collect::<Result<Vec<Date>, _>>()?;
        Ok((!dates.is_empty()).then_some(dates))
    }

    /// A finite number.
    ///
    /// # Errors
    /// [`Refusal::Invalid`] for anything else.
    pub fn number(&self, name: &str) -> Result<Option<f64>, Refusal> {
        self.note(name, || ParameterForm::Number);
        self.read(name, parse_number, "a number")
    }

    /// An integer within `bounds`.
    ///
    /// # Errors
    /// [`Refusal::Invalid`] for anything else.
    pub fn integer(&self, name: &str, bounds: RangeInclusive<i64>) -> Result<Option<i64>, Refusal> {
        self.note(name, || ParameterForm::Integer(bounds.clone()));
        let Some(text) = self.first(name) else { return Ok(None) };
        match text.parse() {
            Ok(value) if bounds.contains(&value) => Ok(Some(value)),
            _ => Err(Refusal::invalid(name, text, wanted_integer(&bounds))),
        }
    }

    /// A number that is written in thousandths, `100500` for 100.5.
    ///
    /// # Errors
    /// [`Refusal::Invalid`] for anything but an integer from 0.
    pub fn thousandths(&self, name: &str) -> Result<Option<f64>, Refusal> {
        Ok(self.integer(name, 0..=i64::from(u32::MAX))?.map(|milli| milli as f64 / 1000.0))
    }

    /// Bounds written `least,most`, `least,`, `,most` or `least`.
    ///
    /// # Errors
    /// [`Refusal::Invalid`] if a side is no number or there are more than two.
    pub fn range(&self, name: &str) -> Result<Option<Bounds>, Refusal> {
        self.note(name, || ParameterForm::Range);
        self.read(name, parse_range, "a range min,max")
    }

    /// A flag: `true`, `1`, `yes` or `false`, `0`, `no`, in any case.
    ///
    /// # Errors
    /// [`Refusal::Invalid`] for anything else.
    pub fn flag(&self, name: &str) -> Result<Option<bool>, Refusal> {
        self.note(name, || ParameterForm::Flag);
        self.read(name, parse_flag, "true or false")
    }

    /// Which rights are wanted, in the layer's spelling ([`Rights::WORDS`], [`Rights::LETTERS`], [`Rights::ANY`]);
    /// both if absent.
    ///
    /// # Errors
    /// [`Refusal::Invalid`] for a word that is not in the list.
    pub fn rights(&self, name: &str, spelling: &[(&'static str, Rights)]) -> Result<Rights, Refusal> {
        Ok(self.word(name, spelling)?.unwrap_or_default())
    }

    /// One of a list of words, in any case.
    ///
    /// # Errors
    /// [`Refusal::Invalid`] for a word that is not in the list.
    pub fn word<T: Copy>(&self, name: &str, words: &[(&'static str, T)]) -> Result<Option<T>, Refusal> {
        self.note(name, || ParameterForm::Word(spellings(words)));
        self.first(name).map(|text| parse_word(name, text, words)).transpose()
    }

    /// A comma list of words, in any case; `None` if absent.
    ///
    /// # Errors
    /// [`Refusal::Invalid`] with the first item that is not in the list.
    pub fn words<T: Copy>(&self, name: &str, words: &[(&'static str, T)]) -> Result<Option<Vec<T>>, Refusal> {
        self.note(name, || ParameterForm::Words(spellings(words)));
        let found = self.list(name).map(|text| parse_word(name, text, words)).collect::<Result<Vec<T>, _>>()?;
        Ok((!found.is_empty()).then_some(found))
    }

    fn read<T>(
        &self,
        name: &str,
        parse: impl Fn(&str) -> Option<T>,
        wants: &'static str,
    ) -> Result<Option<T>, Refusal> {
        let Some(text) = self.first(name) else { return Ok(None) };
        parse(text).map(Some).ok_or_else(|| Refusal::invalid(name, text, wants))
    }
}

/// The items of a comma list, trimmed, without empty ones.
pub fn items(text: &str) -> impl Iterator<Item = &str> {
    text.split(',').map(str::trim).filter(|item| !item.is_empty())
}

/// `YYYY-MM-DD` or `YYYYMMDD`.
#[must_use]
pub fn parse_date(text: &str) -> Option<Date> {
    let bytes = text.as_bytes();
    let (year, month, day) = match bytes.len() {
        8 => (&bytes[..4], &bytes[4..6], &bytes[6..]),
        10 if bytes[4] == b'-' && bytes[7] == b'-' => (&bytes[..4], &bytes[5..7], &bytes[8..]),
        _ => return None,
    };
    let month = i8::try_from(digits(month)?).ok()?;
    let day = i8::try_from(digits(day)?).ok()?;
    Date::new(digits(year)?, month, day).ok()
}

/// A number of ASCII digits only.
fn digits(text: &[u8]) -> Option<i16> {
    text.iter().try_fold(0i16, |value, &b| b.is_ascii_digit().then(|| value * 10 + i16::from(b - b'0')))
}

/// A finite decimal number.
#[must_use]
pub fn parse_number(text: &str) -> Option<f64> {
    text.parse().ok().filter(|value: &f64| value.is_finite())
}

/// `true`, `1`, `yes`, `false`, `0`, `no`, in any case.
#[must_use]
pub fn parse_flag(text: &str) -> Option<bool> {
    let is = |word: &&str| text.eq_ignore_ascii_case(word);
    if ["true", "1", "yes"].iter().any(is) {
        return Some(true);
    }
    ["false", "0", "no"].iter().any(is).then_some(false)
}

fn parse_range(text: &str) -> Option<Bounds> {
    let side = |text: &str| match text.trim() {
        "" => Some(None),
        number => parse_number(number).map(Some),
    };
    let (least, most) = text.split_once(',').unwrap_or((text, ""));
    Some(Bounds { least: side(least)?, most: side(most)? })
}

fn spellings<T>(words: &[(&'static str, T)]) -> Vec<&'static str> {
    words.iter().map(|&(word, _)| word).collect()
}

fn parse_word<T: Copy>(name: &str, text: &str, words: &[(&str, T)]) -> Result<T, Refusal> {
    let found = words.iter().find(|(word, _)| word.eq_ignore_ascii_case(text));
    found.map(|&(_, value)| value).ok_or_else(|| {
        let list: Vec<&str> = words.iter().map(|&(word, _)| word).collect();
        Refusal::invalid(name, text, format!("one of {}", list.join(", ")))
    })
}

fn wanted_integer(bounds: &RangeInclusive<i64>) -> Cow<'static, str> {
    match (*bounds.start(), *bounds.end()) {
        (i64::MIN, i64::MAX) => "an integer".into(),
        (least, i64::MAX) => format!("an integer from {least}").into(),
        (i64::MIN, most) => format!("an integer up to {most}").into(),
        (least, most) => format!("an integer from {least} to {most}").into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::civil::date;
    use kernel::contract::Right;
    use proptest::prelude::*;

    fn text<T: std::fmt::Debug>(result: Result<T, Refusal>) -> String {
        result.expect_err("should be refused").to_string()
    }

    #[test]
    fn the_first_value_that_is_not_empty_counts() {
        let query = Query::parse("a=&a=+1+&a=2&&=x&b&c=1=2&%61%2E=3");
        assert_eq!(query.get("a"), Some("1"));
        assert_eq!(query.every("a").collect::<Vec<_>>(), ["1", "2"]);
        assert_eq!((query.get("b"), query.get("c"), query.get("a.")), (None, Some("1=2"), Some("3")));
        assert_eq!(query.pairs().count(), 7);
        assert_eq!(query.required("b"), Err(Refusal::missing("b")));
    }

    #[test]
    fn a_query_knows_which_of_its_parameters_were_read() {
        let query = Query::parse("a=1&b=&c=2&a=3&D=4");
        assert_eq!(query.get("a"), Some("1"));
        assert_eq!(query.clone().with_lowercase_names().get("d"), Some("4"));
        let usage: Vec<_> = query.usage().collect();
        assert_eq!(usage, [("a", "1", true), ("c", "2", false), ("a", "3", true), ("D", "4", true)]);
        let long = format!("{}z=1", "a=1&".repeat(64));
        let query = Query::parse(&long);
        assert_eq!(query.get("z"), Some("1"));
        assert_eq!(query.usage().last(), Some(("z", "1", false)));
    }

    #[test]
    fn names_are_case_sensitive_unless_the_layer_says_otherwise() {
        let query = Query::parse("Symbol=acme");
        assert_eq!(query.get("symbol"), None);
        assert_eq!(query.with_lowercase_names().get("symbol"), Some("acme"));
    }

    #[test]
    fn an_unknown_parameter_is_named() {
        assert_eq!(Query::parse("a=1&b=2").only(&["a", "b"]), Ok(()));
        assert_eq!(text(Query::parse("a=1&foo=2").only(&["a", "b"])), "unknown parameter: foo");
    }

    #[test]
    fn what_is_read_is_noted_once_in_its_best_known_form() {
        let reads = ParameterReads::default();
        let query = Query::parse("a=1").noting(&reads);
        assert!(query.only(&["a", "b", "c"]).is_ok());
        assert!(query.get("a").is_some() && query.integer("a", 0..=9).is_ok() && query.get("a").is_some());
        assert!(query.clone().with_lowercase_names().word("b", &[("x", 1), ("y", 2)]).is_ok());
        let wanted = [
            ("a".to_owned(), ParameterForm::Integer(0..=9)),
            ("b".to_owned(), ParameterForm::Word(vec!["x", "y"])),
            ("c".to_owned(), ParameterForm::Ignored),
        ];
        assert_eq!(reads.all(), wanted);
    }

    #[test]
    fn dates_have_two_spellings() {
        let query = Query::parse("d=2026-12-18&e=20261218&list=2026-12-18,,20270115,&no=2026-13-01&alsono=2026-1-01");
        assert_eq!(query.date("d"), Ok(Some(date(2026, 12, 18))));
        assert_eq!(query.date("e"), query.date("d"));
        assert_eq!(query.date("absent"), Ok(None));
        assert_eq!(query.dates("list"), Ok(Some(vec![date(2026, 12, 18), date(2027, 1, 15)])));
        assert_eq!(text(query.date("no")), "no: not a date: 2026-13-01");
        assert_eq!(text(query.dates("alsono")), "alsono: not a date: 2026-1-01");
        for bad in ["2026/12/18", "2026-12-1é", "+2026121", "0000000é", "--------", "２０２６"] {
            assert_eq!(parse_date(bad), None, "{bad}");
        }
    }

    #[test]
    fn numbers_are_finite() {
        let query = Query::parse("a=100&b=-.5&c=1e2&n=nan&i=inf&o=1e999&h=0x10&s=1%2C5");
        assert_eq!(query.number("a"), Ok(Some(100.0)));
        assert_eq!(query.number("b"), Ok(Some(-0.5)));
        assert_eq!(query.number("c"), Ok(Some(100.0)));
        for name in ["n", "i", "o", "h", "s"] {
            assert!(text(query.number(name)).starts_with(&format!("{name}: not a number: ")));
        }
    }

    #[test]
    fn integers_have_bounds() {
        let query = Query::parse("a=7&b=7.0&c=-1&d=99999999999999999999");
        assert_eq!(query.integer("a", 1..=i64::MAX), Ok(Some(7)));
        assert_eq!(text(query.integer("a", 8..=9)), "a: not an integer from 8 to 9: 7");
        assert_eq!(text(query.integer("b", i64::MIN..=i64::MAX)), "b: not an integer: 7.0");
        assert_eq!(text(query.integer("c", 0..=i64::MAX)), "c: not an integer from 0: -1");
        assert!(query.integer("d", i64::MIN..=i64::MAX).is_err());
    }

    #[test]
    fn ranges_may_be_open() {
        let query = Query::parse("a=30,45&b=30,&c=,45&d=30&e=,&f=1,2,3&g=x,");
        let bounds = |least, most| Ok(Some(Bounds { least, most }));
        assert_eq!(query.range("a"), bounds(Some(30.0), Some(45.0)));
        assert_eq!(query.range("b"), bounds(Some(30.0), None));
        assert_eq!(query.range("c"), bounds(None, Some(45.0)));
        assert_eq!(query.range("d"), query.range("b"));
        assert_eq!(query.range("e"), bounds(None, None));
        assert_eq!(text(query.range("f")), "f: not a range min,max: 1,2,3");
        assert!(query.range("g").is_err());
    }

    #[test]
    fn words_compare_in_any_case() {
        let query = Query::parse("flag=True&no=NO&maybe=2&right=CALL&letter=p&list=b,A,b");
        assert_eq!((query.flag("flag"), query.flag("no")), (Ok(Some(true)), Ok(Some(false))));
        assert!(query.flag("maybe").is_err());
        assert_eq!(query.rights("right", Rights::WORDS), Ok(Rights::Call));
        assert_eq!(query.rights("absent", Rights::WORDS), Ok(Rights::Both));
        assert_eq!(query.rights("letter", Rights::LETTERS), Ok(Rights::Put));
        assert_eq!(text(query.rights("letter", Rights::WORDS)), "letter: not one of call, put, both: p");
        assert_eq!(query.words("list", &[("a", 1), ("b", 2)]), Ok(Some(vec![2, 1, 2])));
        assert!(Rights::Both.admit(Right::Put) && Rights::Put.admit(Right::Put) && !Rights::Call.admit(Right::Put));
    }

    proptest! {
        #[test]
        fn no_query_panics(bytes in proptest::collection::vec(any::<u8>(), 0..60)) {
            let raw = String::from_utf8_lossy(&bytes);
            let query = Query::parse(&raw).with_lowercase_names();
            let names: Vec<&str> = query.pairs().map(|(name, _)| name).collect();
            for name in names {
                let _ = (query.get(name), query.date(name), query.dates(name), query.number(name), query.flag(name));
                let _ = (query.integer(name, 0..=9), query.range(name), query.rights(name, Rights::ANY));
            }
        }

        #[test]
        fn no_date_panics(text in "[0-9é-]{0,11}") {
            let _ = parse_date(&text);
        }

        #[test]
        fn every_printed_date_is_read_back(days in 0i64..40_000) {
            let day = date(1990, 1, 1).saturating_add(jiff::Span::new().days(days));
            prop_assert_eq!(parse_date(&day.to_string()), Some(day));
            prop_assert_eq!(parse_date(&day.strftime("%Y%m%d").to_string()), Some(day));
        }
    }
}
