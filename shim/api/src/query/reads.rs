//! Which parameters a parser reads, and in which form: what documents say about an endpoint is what its parser does. Never: a
//! parameter's name, a value.

use std::cell::RefCell;
use std::ops::RangeInclusive;
use std::rc::Rc;

/// In which form a parameter is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ParameterForm {
    /// It is let pass.
    Ignored,
    /// As it stands.
    Text,
    /// A comma list.
    List,
    /// `YYYY-MM-DD` or `YYYYMMDD`.
    Date,
    /// `YYYYMMDD`.
    Date8,
    /// A comma list of dates.
    Dates,
    /// A finite number.
    Number,
    /// An integer within bounds.
    Integer(RangeInclusive<i64>),
    /// `least,most`.
    Range,
    /// `true` or `false`.
    Flag,
    /// One of these.
    Word(Vec<&'static str>),
    /// A comma list of these.
    Words(Vec<&'static str>),
}

impl ParameterForm {
    /// How much it says: a parser may look at a text before it reads it as something.
    fn rank(&self) -> u8 {
        match self {
            Self::Ignored => 0,
            Self::Text => 1,
            Self::List => 2,
            _ => 3,
        }
    }
}

/// What was read so far, by whoever shares this, in the order in which it was first read.
#[derive(Clone, Debug, Default)]
pub struct ParameterReads(Rc<RefCell<Vec<(String, ParameterForm)>>>);

impl ParameterReads {
    /// Notes that a parameter was read in a form; of several forms the first that says most counts.
    pub(super) fn note(&self, name: &str, form: ParameterForm) {
        let mut reads = self.0.borrow_mut();
        match reads.iter_mut().find(|(known, _)| known == name) {
            Some((_, known)) if known.rank() >= form.rank() => {}
            Some((_, known)) => *known = form,
            None => reads.push((name.to_owned(), form)),
        }
    }

    /// All of it.
    #[must_use]
    pub fn all(&self) -> Vec<(String, ParameterForm)> {
        self.0.borrow().clone()
    }
}
