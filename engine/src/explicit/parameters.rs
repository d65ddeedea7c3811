//! The columns that describe a contract, and from their cells to the contract or to what is wrong with one. Never: a
//! value.

use super::value::{COLUMNS, ExplicitContract, ExplicitValues, PriceInput, ValueColumn, value};
use kernel::american::SharedBoundaries;
use kernel::contract::{Right, Style};
use kernel::dividends::{Dividend, Terms};
use kernel::quality::Quality;
use std::borrow::Cow;
use std::fmt;

/// The columns that describe a contract, in the order in which they are shown.
const INPUTS: [&str; 10] = ["id", "style", "right", "s", "k", "t_years", "r", "b", "sigma", "divs"];

/// Required columns.
const NEEDED: [&str; 7] = ["style", "right", "s", "k", "t_years", "r", "b"];

/// A cell of a column of parameters.
#[derive(Clone, Debug, PartialEq)]
pub enum ParameterCell<'a> {
    /// A text; empty: missing.
    Text(Cow<'a, str>),
    /// A number; NaN: missing.
    Number(f64),
}

impl fmt::Display for ParameterCell<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => f.write_str(text),
            Self::Number(x) if x.is_nan() => Ok(()),
            Self::Number(x) => x.fmt(f),
        }
    }
}

/// Where a table has which column.
#[derive(Clone, Debug)]
pub struct ParameterColumns {
    inputs: Vec<(&'static str, usize)>,
    is_implied: bool,
    /// Exercise boundaries that the contracts of the table share.
    shared: SharedBoundaries,
}

impl ParameterColumns {
    /// Finds the columns of a table; `place` returns the index of a column by its name.
    ///
    /// # Errors
    /// The columns that are missing, in words.
    pub fn new(place: impl Fn(&str) -> Option<usize>) -> Result<Self, String> {
        let is_implied = place("sigma").is_none() && place("price").is_some();
        let needed = NEEDED.into_iter().chain([if is_implied { "price" } else { "sigma" }]);
        let missing: Vec<&str> = needed.filter(|name| place(name).is_none()).collect();
        if !missing.is_empty() {
            return Err(format!("the input has no column {} (columns: {})", missing.join(", "), INPUTS.join(",")));
        }
        let given = is_implied.then_some("price");
        let inputs = INPUTS.into_iter().chain(given).filter_map(|name| Some((name, place(name)?))).collect();
        Ok(Self { inputs, is_implied, shared: SharedBoundaries::default() })
    }

    /// Prices one contract of the table.
    ///
    /// # Errors
    /// Why it has no value, or no implied volatility, in words.
    pub fn value(&self, contract: &ExplicitContract, scheme: Quality) -> Result<ExplicitValues, String> {
        value(&self.shared, contract, scheme)
    }

    /// Names and places, in the order in which they are shown.
    #[must_use]
    pub fn inputs(&self) -> &[(&'static str, usize)] {
        &self.inputs
    }

    /// True if the table gives prices and asks for volatilities.
    #[must_use]
    pub fn is_implied(&self) -> bool {
        self.is_implied
    }

    /// The values that are shown; a given price is not shown twice.
    pub fn values(&self) -> impl Iterator<Item = &'static ValueColumn> + '_ {
        COLUMNS.iter().filter(|column| !(self.is_implied && column.name == "price"))
    }

    /// The contract of a row, whose cells are asked for by their places.
    ///
    /// # Errors
    /// The first cell that is wrong, with its column, in words.
    pub fn contract<'a>(&self, cell_at: impl Fn(usize) -> ParameterCell<'a>) -> Result<ExplicitContract, String> {
        let cell = |name: &str| {
            let place = self.inputs.iter().find(|(input, _)| *input == name).map(|&(_, place)| place);
            place.map_or(ParameterCell::Text(Cow::Borrowed("")), &cell_at)
        };
        let number = |name: &str| number(name, &cell(name));
        let positive = |name: &str| match number(name)? {
            x if x > 0.0 => Ok(x),
            _ => Err(format!("{name}: not above 0: {}", cell(name))),
        };
        let t = positive("t_years")?;
        Ok(ExplicitContract {
            style: style(&cell("style"))?,
            right: right(&cell("right"))?,
            s: positive("s")?,
            k: positive("k")?,
            terms: Terms { t, r: number("r")?, b: number("b")?, divs: dividends(&cell("divs"), t)? },
            asked: if self.is_implied {
                PriceInput::Implied(number("price")?)
            } else {
                PriceInput::At(positive("sigma")?)
            },
        })
    }
}

/// Beyond these a number is nearly always one in percent or in days.
const DOUBTED: [(&str, f64, &str); 3] = [
    ("r", 0.5, "rates are decimal, and 0.05 is 5 %"),
    ("sigma", 5.0, "volatilities are decimal, and 0.2 is 20 %"),
    ("t_years", 15.0, "times are in years, and 0.25 is three months"),
];

impl ExplicitContract {
    /// Values that may be meant otherwise: the column, its number, and how it is read.
    pub fn doubts(&self) -> impl Iterator<Item = String> {
        let sigma = if let PriceInput::At(sigma) = self.asked { sigma } else { 0.0 };
        let given = [self.terms.r, sigma, self.terms.t];
        let doubted = DOUBTED.into_iter().zip(given).filter(|((_, most, _), x)| x.abs() > *most);
        doubted.map(|((name, _, why), x)| format!("{name} is {x}: {why}"))
    }
}

fn number(name: &str, cell: &ParameterCell<'_>) -> Result<f64, String> {
    let number = match cell {
        ParameterCell::Number(x) => Some(*x),
        ParameterCell::Text(text) => text.parse().ok(),
    };
    match (number, cell) {
        (Some(x), _) if x.is_finite() => Ok(x),
        (Some(x), ParameterCell::Number(_)) if x.is_nan() => Err(format!("{name}: missing")),
        (_, ParameterCell::Text(text)) if text.is_empty() => Err(format!("{name}: missing")),
        _ => Err(format!("{name}: not a number: {cell}")),
    }
}

fn right(cell: &ParameterCell<'_>) -> Result<Right, String> {
    let text = cell.to_string();
    Right::parse(text.trim()).ok_or_else(|| format!("right: not call or put: {text}"))
}

/// American or European, by its word or its first letter.
fn style(cell: &ParameterCell<'_>) -> Result<Style, String> {
    let text = cell.to_string();
    let is = |words: [&str; 2]| words.iter().any(|word| text.trim().eq_ignore_ascii_case(word));
    match (is(["american", "a"]), is(["european", "e"])) {
        (true, _) => Ok(Style::American),
        (_, true) => Ok(Style::European),
        _ => Err(format!("style: not american or european: {text}")),
    }
}

/// `t:amount;t:amount`, those until expiry at `expiry`, sorted by time.
fn dividends(cell: &ParameterCell<'_>, expiry: f64) -> Result<Vec<Dividend>, String> {
    let one = |item: &str| {
        let (t, amount) = item.split_once(':').ok_or_else(|| format!("divs: not t:amount: {item}"))?;
        let part = |text: &str| number("divs", &ParameterCell::Text(Cow::Borrowed(text.trim())));
        let (t, amount) = (part(t)?, part(amount)?);
        if amount < 0.0 {
            return Err(format!("divs: negative dividend: {item}"));
        }
        Ok(Dividend { t, amount })
    };
    let text = cell.to_string();
    let items = text.split(';').map(str::trim).filter(|item| !item.is_empty());
    let mut divs = items.map(one).collect::<Result<Vec<_>, String>>()?;
    divs.retain(|d| 0.0 < d.t && d.t <= expiry);
    divs.sort_by(|a, b| a.t.total_cmp(&b.t));
    Ok(divs)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = "id,style,right,s,k,t_years,r,b,sigma,divs";

    fn columns(header: &str) -> Result<ParameterColumns, String> {
        ParameterColumns::new(|name| header.split(',').position(|own| own == name))
    }

    fn contract(header: &str, row: &str) -> Result<ExplicitContract, String> {
        let cells: Vec<&str> = row.split(',').collect();
        columns(header)?.contract(|at| ParameterCell::Text(Cow::Borrowed(cells.get(at).copied().unwrap_or_default())))
    }

    #[test]
    fn columns_may_stand_in_any_order_and_a_price_asks_for_a_volatility() {
        let head = "k,s,right,style,extra,b,r,t_years,price";
        let contract = contract(head, "90,100,PUT,American,x,0.01,0.02,0.5,1.25").unwrap();
        assert_eq!((contract.s, contract.k, contract.right), (100.0, 90.0, Right::Put));
        assert_eq!((contract.terms.r, contract.terms.b, contract.asked), (0.02, 0.01, PriceInput::Implied(1.25)));
        assert!(columns(head).unwrap().values().all(|value| value.name != "price"));
        assert_eq!(columns(HEADER).unwrap().values().count(), COLUMNS.len());
        let error = columns("id,style,right,s,k,r").unwrap_err();
        assert!(error.contains("t_years, b, sigma"), "{error}");
    }

    #[test]
    fn numbers_may_be_typed() {
        let row = [0.02, f64::NAN, 100.0, -1.0, f64::INFINITY];
        let read = |at: usize| number("s", &ParameterCell::Number(row[at]));
        assert_eq!(read(0), Ok(0.02));
        assert_eq!(read(1).unwrap_err(), "s: missing");
        assert_eq!(read(4).unwrap_err(), "s: not a number: inf");
        let text = |at| match at {
            0 => ParameterCell::Text(Cow::Borrowed("american")),
            1 => ParameterCell::Text(Cow::Borrowed("call")),
            place => ParameterCell::Number([100.0, -1.0, 1.0, 0.0, 0.0, 0.2][place - 2]),
        };
        let of = columns("style,right,s,k,t_years,r,b,sigma").unwrap().contract(text);
        assert_eq!(of.unwrap_err(), "k: not above 0: -1");
    }

    #[test]
    fn dividends_until_expiry_are_a_list_and_are_sorted() {
        let read = |text: &str| dividends(&ParameterCell::Text(text.to_owned().into()), 1.0);
        let divs = read("0.5:1.25; 0.25:1 ; 1.25:1; -0.1:2").unwrap();
        let pairs: Vec<(f64, f64)> = divs.iter().map(|d| (d.t, d.amount)).collect();
        assert_eq!(pairs, [(0.25, 1.0), (0.5, 1.25)]);
        assert_eq!(read("").unwrap(), []);
    }

    #[test]
    fn rights_and_styles_are_read_in_their_usual_spellings() {
        for (text, want) in [("C", Right::Call), ("p", Right::Put), ("Calls", Right::Call), (" PUT ", Right::Put)] {
            let read = contract(HEADER, &format!("x,A,{text},100,100,1,0,0,0.2,")).unwrap();
            assert_eq!((read.right, read.style), (want, Style::American), "{text}");
        }
        assert_eq!(contract(HEADER, "x,e,c,100,100,1,0,0,0.2,").unwrap().style, Style::European);
    }

    #[test]
    fn what_looks_like_percent_or_days_is_doubted() {
        let doubts = |row: &str| contract(HEADER, row).unwrap().doubts().collect::<Vec<_>>();
        assert_eq!(doubts("x,american,call,100,100,1,0.05,0,0.2,"), [""; 0]);
        assert_eq!(doubts("x,american,call,100,100,10,-0.3,0,4.5,"), [""; 0]);
        assert!(doubts("x,american,call,100,100,1,5,0,0.2,")[0].starts_with("r is 5: "));
        let both = doubts("x,american,call,100,100,30,0,0,20,");
        assert!(both[0].starts_with("sigma is 20: ") && both[1].starts_with("t_years is 30: "), "{both:?}");
    }

    #[test]
    fn a_bad_cell_is_named() {
        let rows = [
            ("x,bermudan,call,100,100,1,0,0,0.2,", "style: not american or european: bermudan"),
            ("x,american,both,100,100,1,0,0,0.2,", "right: not call or put: both"),
            ("x,american,call,abc,100,1,0,0,0.2,", "s: not a number: abc"),
            ("x,american,call,100,-1,1,0,0,0.2,", "k: not above 0: -1"),
            ("x,american,call,100,100,0,0,0,0.2,", "t_years: not above 0: 0"),
            ("x,american,call,100,100,1,nan,0,0.2,", "r: not a number: nan"),
            ("x,american,call,100,100,1,0,,0.2,", "b: missing"),
            ("x,american,call,100,100,1,0,0", "sigma: missing"),
            ("x,american,call,100,100,1,0,0,0.2,0.5", "divs: not t:amount: 0.5"),
            ("x,american,call,100,100,1,0,0,0.2,0.5:x", "divs: not a number: x"),
            ("x,american,call,100,100,1,0,0,0.2,0.5:-1", "divs: negative dividend: 0.5:-1"),
        ];
        for (row, want) in rows {
            assert_eq!(contract(HEADER, row).map(|c| c.k).unwrap_err(), want, "{row}");
        }
    }
}
