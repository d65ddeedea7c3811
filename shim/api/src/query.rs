//! The parameters of a query string, and the generic parser that reads them through a layer's table ([`parameter`]).
//!
//! One set of rules for every layer: `%XX` and `+` are decoded, white space around a value is dropped, an empty value
//! means that the parameter is absent, and of a repeated parameter the first value counts. A value that cannot be read
//! is a [`Refusal`] with parameter and value. Never: a parameter's name (a layer has those).

pub mod parameter;

use crate::refusal::Refusal;
use feeds::text::{Dialect, dates};
use http::percent::decode_form;
use jiff::civil::Date;
use kernel::contract::Right;
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
    /// Names that an endpoint may read, set by tests to find names that a table lacks.
    #[cfg(test)]
    listed: Rc<std::cell::RefCell<Option<Vec<&'static str>>>>,
    /// One bit for each of the first 64 pairs: set when an endpoint reads its name. Clones share it.
    read: Rc<Cell<u64>>,
}

impl<'a> Query<'a> {
    /// Reads the text after the `?`. Never fails: text that cannot be decoded stays as it is.
    #[must_use]
    pub fn parse(raw: &'a str) -> Self {
        let pair = |piece: &'a str| {
            let (name, value) = piece.split_once('=').unwrap_or((piece, ""));
            (decode_form(name), decode_form(value))
        };
        Self { pairs: raw.split('&').filter(|piece| !piece.is_empty()).map(pair).collect(), ..Self::default() }
    }

    /// Parameters that come in another way than by a query string.
    #[must_use]
    pub fn of(pairs: Vec<(String, String)>) -> Self {
        let pairs = pairs.into_iter().map(|(name, value)| (name.into(), value.into())).collect();
        Self { pairs, ..Self::default() }
    }

    /// Adds the words of the path.
    #[must_use]
    pub fn with_segments(mut self, segments: Vec<(&'static str, String)>) -> Self {
        self.segments = segments;
        self
    }

    /// A word of the path, trimmed; empty if the layer's path has no such word.
    #[must_use]
    pub fn segment(&self, name: &str) -> &str {
        self.segments.iter().find(|(n, _)| *n == name).map_or("", |(_, word)| word.trim())
    }

    /// Turns the names to lower case, for a layer whose names are case-insensitive.
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

    /// Every (name, value) whose value is not empty, trimmed, and whether an endpoint has read the name. Pairs after
    /// the 64th count as not read.
    pub fn usage(&self) -> impl Iterator<Item = (&str, &str, bool)> {
        let pairs = self.pairs().enumerate().map(|(place, (name, value))| (name, value.trim(), self.is_read(place)));
        pairs.filter(|(_, value, _)| !value.is_empty())
    }

    /// True if the name of the pair at a place was read; of pairs after the 64th it is not known.
    fn is_read(&self, place: usize) -> bool {
        place < 64 && self.read.get() & (1 << place) != 0
    }

    /// Panics in tests if an endpoint reads a name that is not in the list.
    #[cfg(test)]
    fn expect(&self, names: Vec<&'static str>) {
        self.listed.replace(Some(names));
    }

    /// Returns the first value of a name that is not empty, trimmed.
    pub(crate) fn first(&self, name: &str) -> Option<&str> {
        #[cfg(test)]
        if let Some(names) = &*self.listed.borrow() {
            assert!(names.contains(&name), "{name} is read and not in the table");
        }
        let places = self.pairs.iter().take(64).enumerate().filter(|(_, (known, _))| known == name);
        self.read.set(places.fold(self.read.get(), |read, (place, _)| read | 1 << place));
        let mut values = self.pairs.iter().filter(|(known, _)| known == name).map(|(_, value)| value.trim());
        values.find(|value| !value.is_empty())
    }
}

/// The items of a comma list, trimmed, without empty ones.
pub fn items(text: &str) -> impl Iterator<Item = &str> {
    text.split(',').map(str::trim).filter(|item| !item.is_empty())
}

/// A date in any of the common forms: `YYYY-MM-DD`, `YYYYMMDD`, `12/18/2026`, `18DEC26`.
#[must_use]
pub fn parse_date(text: &str) -> Option<Date> {
    // no count since 1970, which is a number that means something else here
    dates::parse_date_alone(text, Dialect::default()).ok()
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

/// The rights that a request wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Rights {
    /// Calls and puts.
    #[default]
    Both,
    /// Calls only.
    Call,
    /// Puts only.
    Put,
}

impl Rights {
    /// Words of the rights: `call`, `put`, `both`.
    pub const WORDS: &'static [(&'static str, Self)] =
        &[("call", Self::Call), ("put", Self::Put), ("both", Self::Both)];
    /// Letters of the rights: `C`, `P`.
    pub const LETTERS: &'static [(&'static str, Self)] = &[("C", Self::Call), ("P", Self::Put)];
    /// Words and letters of the rights.
    pub const ANY: &'static [(&'static str, Self)] =
        &[("call", Self::Call), ("put", Self::Put), ("both", Self::Both), ("c", Self::Call), ("p", Self::Put)];

    /// True if contracts of this right are wanted.
    #[must_use]
    pub fn admit(self, right: Right) -> bool {
        match self {
            Self::Both => true,
            Self::Call => right == Right::Call,
            Self::Put => right == Right::Put,
        }
    }
}

/// Bounds of a number, both inclusive; an open side is `None`.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct Bounds {
    /// The least number admitted.
    pub least: Option<f64>,
    /// The greatest number admitted.
    pub most: Option<f64>,
}

impl Bounds {
    /// True if a number is within the bounds. A missing number (NaN) is within no bound.
    #[must_use]
    pub fn admit(&self, x: f64) -> bool {
        self.least.is_none_or(|least| x >= least) && self.most.is_none_or(|most| x <= most)
    }

    /// Bounds that admit one number.
    #[must_use]
    pub fn exactly(x: f64) -> Self {
        Self { least: Some(x), most: Some(x) }
    }

    /// Bounds that admit numbers above this one, and it too if `including`.
    #[must_use]
    pub fn above(x: f64, including: bool) -> Self {
        Self { least: Some(if including { x } else { x.next_up() }), most: None }
    }

    /// Bounds that admit numbers below this one, and it too if `including`.
    #[must_use]
    pub fn below(x: f64, including: bool) -> Self {
        Self { least: None, most: Some(if including { x } else { x.next_down() }) }
    }

    /// Bounds that admit what both admit.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let tighter = |a: Option<f64>, b: Option<f64>, choose: fn(f64, f64) -> f64| match (a, b) {
            (Some(a), Some(b)) => Some(choose(a, b)),
            (one, other) => one.or(other),
        };
        Self { least: tighter(self.least, other.least, f64::max), most: tighter(self.most, other.most, f64::min) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::civil::date;
    use parameter::{
        AnyText, CompactDate, DateList, FiniteNumber, IsoDate, ItemList, Kind, NoEffect, NumberRange, OneWord,
        OnlyTrue, Param, ParameterForm, Parameters, ReadAs, ReadEach, Thousandths, TrueFalse, WholeNumber, WordList,
    };
    use proptest::prelude::*;

    fn text<T: std::fmt::Debug>(result: Result<T, Refusal>) -> String {
        result.expect_err("should be refused").to_string()
    }

    const WORDS: OneWord<i32> = OneWord(&[("a", 1), ("b", 2)]);

    /// Reads a parameter of a kind.
    fn get<'q, K: Kind>(query: &'q Query<'_>, name: &'static str, kind: K) -> Result<Option<K::Value<'q>>, Refusal> {
        query.get(&Param::new(name, kind, ""))
    }

    #[test]
    fn the_first_value_that_is_not_empty_counts() {
        let query = Query::parse("a=&a=+1+&a=2&&=x&b&c=1=2&%61%2E=3");
        assert_eq!(query.first("a"), Some("1"));
        assert_eq!((query.first("b"), query.first("c"), query.first("a.")), (None, Some("1=2"), Some("3")));
        assert_eq!(query.pairs().count(), 7);
        assert_eq!(query.required(&Param::new("b", FiniteNumber, "")), Err(Refusal::missing("b")));
        assert_eq!(query.required_text(&Param::new("b", AnyText, "")), Err(Refusal::missing("b")));
    }

    #[test]
    fn a_query_knows_which_of_its_parameters_were_read() {
        let query = Query::parse("a=1&b=&c=2&a=3&D=4");
        assert_eq!(query.first("a"), Some("1"));
        assert_eq!(query.clone().with_lowercase_names().first("d"), Some("4"));
        let usage: Vec<_> = query.usage().collect();
        assert_eq!(usage, [("a", "1", true), ("c", "2", false), ("a", "3", true), ("D", "4", true)]);
        let long = format!("{}z=1", "a=1&".repeat(64));
        let query = Query::parse(&long);
        assert_eq!(query.first("z"), Some("1"));
        assert_eq!(query.usage().last(), Some(("z", "1", false)));
    }

    #[test]
    fn names_are_case_sensitive_unless_the_layer_says_otherwise() {
        let query = Query::parse("Symbol=acme");
        assert_eq!(query.first("symbol"), None);
        assert_eq!(query.with_lowercase_names().first("symbol"), Some("acme"));
    }

    #[test]
    fn an_unknown_parameter_is_named() {
        const TABLE: Parameters = &[&Param::new("a", AnyText, ""), &Param::new("b", NoEffect, "")];
        assert_eq!(Query::parse("a=1&b=2").only(TABLE), Ok(()));
        assert_eq!(text(Query::parse("a=1&foo=2").only(TABLE)), "unknown parameter: foo");
    }

    #[test]
    fn dates_have_many_spellings() {
        let query =
            Query::parse("d=2026-12-18&e=20261218&list=12/18/2026,,15JAN27,&none=,&no=2026-13-01&alsono=2026-02-30");
        let day = date(2026, 12, 18);
        assert_eq!((get(&query, "d", IsoDate), get(&query, "e", IsoDate)), (Ok(Some(day)), Ok(Some(day))));
        assert_eq!(get(&query, "absent", IsoDate), Ok(None));
        assert_eq!(get(&query, "list", DateList), Ok(Some(vec![day, date(2027, 1, 15)])));
        assert_eq!(get(&query, "none", DateList), Ok(None));
        assert_eq!(get(&query, "e", CompactDate), Ok(Some(day)));
        assert_eq!(text(get(&query, "d", CompactDate)), "d: not a date YYYYMMDD: 2026-12-18");
        assert_eq!(text(get(&query, "no", IsoDate)), "no: not a date: 2026-13-01");
        assert_eq!(text(get(&query, "alsono", DateList)), "alsono: not a date: 2026-02-30");
        for bad in ["1797552000", "18/12/2026", "2026-12-1é", "+2026121", "0000000é", "--------", "２０２６"] {
            assert_eq!(parse_date(bad), None, "{bad}");
        }
    }

    #[test]
    fn numbers_are_finite() {
        let query = Query::parse("a=100&b=-.5&c=1e2&n=nan&i=inf&o=1e999&h=0x10&s=1%2C5");
        for (name, wanted) in [("a", 100.0), ("b", -0.5), ("c", 100.0)] {
            assert_eq!(get(&query, name, FiniteNumber), Ok(Some(wanted)));
        }
        for name in ["n", "i", "o", "h", "s"] {
            assert!(text(get(&query, name, FiniteNumber)).starts_with(&format!("{name}: not a number: ")));
        }
    }

    #[test]
    fn integers_have_bounds() {
        let query = Query::parse("a=7&b=7.0&c=-1&d=99999999999999999999&e=100500");
        assert_eq!(get(&query, "a", WholeNumber::from(1)), Ok(Some(7)));
        assert_eq!(text(get(&query, "a", WholeNumber { least: 8, most: 9 })), "a: not an integer from 8 to 9: 7");
        assert_eq!(text(get(&query, "b", WholeNumber::ANY)), "b: not an integer: 7.0");
        assert_eq!(text(get(&query, "c", WholeNumber::from(0))), "c: not an integer from 0: -1");
        assert!(get(&query, "d", WholeNumber::ANY).is_err());
        assert_eq!(get(&query, "e", Thousandths), Ok(Some(100.5)));
        assert!(get(&query, "c", Thousandths).is_err());
    }

    #[test]
    fn ranges_may_be_open() {
        let query = Query::parse("a=30,45&b=30,&c=,45&d=30&e=,&f=1,2,3&g=x,");
        let bounds = |least, most| Ok(Some(Bounds { least, most }));
        assert_eq!(get(&query, "a", NumberRange), bounds(Some(30.0), Some(45.0)));
        assert_eq!(get(&query, "b", NumberRange), bounds(Some(30.0), None));
        assert_eq!(get(&query, "c", NumberRange), bounds(None, Some(45.0)));
        assert_eq!(get(&query, "d", NumberRange), bounds(Some(30.0), None));
        assert_eq!(get(&query, "e", NumberRange), bounds(None, None));
        assert_eq!(text(get(&query, "f", NumberRange)), "f: not a range min,max: 1,2,3");
        assert!(get(&query, "g", NumberRange).is_err());
    }

    #[test]
    fn words_compare_in_any_case() {
        let query = Query::parse("flag=True&no=NO&maybe=2&right=CALL&letter=p&list=b,A,b&none=,");
        assert_eq!((get(&query, "flag", TrueFalse), get(&query, "no", TrueFalse)), (Ok(Some(true)), Ok(Some(false))));
        assert!(get(&query, "maybe", TrueFalse).is_err());
        assert_eq!((get(&query, "flag", OnlyTrue), get(&query, "maybe", OnlyTrue)), (Ok(Some(true)), Ok(Some(false))));
        assert_eq!(get(&query, "right", OneWord(Rights::WORDS)), Ok(Some(Rights::Call)));
        assert_eq!(get(&query, "absent", OneWord(Rights::WORDS)), Ok(None));
        assert_eq!(get(&query, "letter", OneWord(Rights::LETTERS)), Ok(Some(Rights::Put)));
        assert_eq!(text(get(&query, "letter", OneWord(Rights::WORDS))), "letter: not one of call, put, both: p");
        assert_eq!(get(&query, "list", WordList(WORDS.0)), Ok(Some(vec![2, 1, 2])));
        assert_eq!(get(&query, "none", WordList(WORDS.0)), Ok(None));
        assert!(Rights::Both.admit(Right::Put) && Rights::Put.admit(Right::Put) && !Rights::Call.admit(Right::Put));
    }

    #[test]
    fn a_function_reads_a_value_or_each_of_a_list() {
        let digit = ReadAs { read: |text: &str| text.parse::<u8>().ok().filter(|&n| n < 10), wants: "a digit" };
        let query = Query::parse("a=7&b=10&list=1,,+2+&bad=1,x");
        assert_eq!(get(&query, "a", digit), Ok(Some(7)));
        assert_eq!(text(get(&query, "b", digit)), "b: not a digit: 10");
        assert_eq!(get(&query, "list", ReadEach(digit)), Ok(Some(vec![1, 2])));
        assert_eq!(text(get(&query, "bad", ReadEach(digit))), "bad: not a digit: x");
        assert_eq!(query.items(&Param::new("list", ItemList, "")).collect::<Vec<_>>(), ["1", "2"]);
    }

    #[test]
    fn a_form_says_what_is_read() {
        assert_eq!(WholeNumber { least: 0, most: 9 }.form(), ParameterForm::Integer(0..=9));
        assert_eq!(WORDS.form(), ParameterForm::Word(vec!["a", "b"]));
        assert_eq!(Thousandths.form(), ParameterForm::Integer(0..=i64::from(u32::MAX)));
    }

    proptest! {
        #[test]
        fn no_query_panics(bytes in proptest::collection::vec(any::<u8>(), 0..60)) {
            let raw = String::from_utf8_lossy(&bytes);
            let query = Query::parse(&raw).with_lowercase_names();
            let names: Vec<&str> = query.pairs().map(|(name, _)| name).collect();
            for name in names {
                let value = query.first(name).unwrap_or_default();
                let _ = (IsoDate.read(name, value), CompactDate.read(name, value), DateList.read(name, value));
                let _ = (TrueFalse.read(name, value), FiniteNumber.read(name, value));
                let _ = (WholeNumber::ANY.read(name, value), NumberRange.read(name, value));
                let _ = (OneWord(Rights::ANY).read(name, value), WordList(Rights::ANY).read(name, value));
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
