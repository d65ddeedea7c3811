//! Lines of the file: a record to a contract, values to text. Never: a value's meaning.

use super::value::{self, Contract, PriceInput};
use kernel::contract::{Right, Style};
use kernel::dividends::{Dividend, Terms};
use kernel::quality::Quality;
use std::borrow::Cow;

/// The columns that describe a contract, in the order in which they are written.
const INPUTS: [&str; 10] = ["id", "style", "right", "s", "k", "t_years", "r", "b", "sigma", "divs"];

/// Those without which nothing can be priced.
const NEEDED: [&str; 7] = ["style", "right", "s", "k", "t_years", "r", "b"];

/// Where the file has which column.
#[derive(Debug)]
pub(super) struct Layout {
    /// (name, place in a record), in the order in which they are written.
    inputs: Vec<(&'static str, usize)>,
    /// The file gives prices and asks for volatilities.
    implied: bool,
}

/// One line of output.
#[derive(Debug)]
pub(super) struct OutputLine {
    pub(super) text: Vec<u8>,
    pub(super) failed: bool,
}

impl Layout {
    /// Reads the header.
    pub(super) fn new(header: &csv::ByteRecord) -> Result<Self, String> {
        let place = |name: &str| {
            header
                .iter()
                .position(|cell| cell.trim_ascii().trim_start_with_mark().eq_ignore_ascii_case(name.as_bytes()))
        };
        let implied = place("sigma").is_none() && place("price").is_some();
        let needed = NEEDED.into_iter().chain([if implied { "price" } else { "sigma" }]);
        let missing: Vec<&str> = needed.filter(|name| place(name).is_none()).collect();
        if !missing.is_empty() {
            return Err(format!("the input has no column {} (columns: {})", missing.join(", "), INPUTS.join(",")));
        }
        let given = implied.then_some("price");
        let inputs = INPUTS.into_iter().chain(given).filter_map(|name| Some((name, place(name)?))).collect();
        Ok(Self { inputs, implied })
    }

    /// The header of the output.
    pub(super) fn header(&self) -> String {
        let inputs = self.inputs.iter().map(|&(name, _)| name);
        let implied = self.implied.then_some("iv");
        let values = self.values().map(|value| value.name);
        let names: Vec<&str> = inputs.chain(implied).chain(values).chain(["error"]).collect();
        names.join(",") + "\n"
    }

    /// Prices one record.
    pub(super) fn line(&self, record: &csv::ByteRecord, scheme: Quality) -> OutputLine {
        let outcome = self.contract(record).and_then(|contract| value::value(&contract, scheme));
        let mut text = Vec::with_capacity(640);
        for &(_, place) in &self.inputs {
            write_cell(record.get(place).unwrap_or_default(), &mut text);
            text.push(b',');
        }
        match &outcome {
            Ok(priced) => {
                if self.implied {
                    write_number(priced.sigma, &mut text);
                }
                for value in self.values() {
                    write_number((value.of)(priced) / value.unit.divisor(), &mut text);
                }
            }
            Err(_) => text.extend((0..self.values().count() + usize::from(self.implied)).map(|_| b',')),
        }
        write_cell(outcome.as_ref().err().map_or("", String::as_str).as_bytes(), &mut text);
        text.push(b'\n');
        OutputLine { text, failed: outcome.is_err() }
    }

    /// The values that are written; a given price is not written twice.
    fn values(&self) -> impl Iterator<Item = &'static value::Column> {
        value::COLUMNS.iter().filter(|column| !(self.implied && column.name == "price"))
    }

    fn contract(&self, record: &csv::ByteRecord) -> Result<Contract, String> {
        let cell = |name: &str| {
            let place = self.inputs.iter().find(|(input, _)| *input == name).map(|&(_, place)| place);
            String::from_utf8_lossy(place.and_then(|place| record.get(place)).unwrap_or_default().trim_ascii())
        };
        let number = |name: &str| number(name, &cell(name));
        let positive = |name: &str| match number(name)? {
            x if x > 0.0 => Ok(x),
            _ => Err(format!("{name}: not above 0: {}", cell(name))),
        };
        let t = positive("t_years")?;
        Ok(Contract {
            style: word("style", &cell("style"), [("american", Style::American), ("european", Style::European)])?,
            right: word("right", &cell("right"), [("call", Right::Call), ("put", Right::Put)])?,
            s: positive("s")?,
            k: positive("k")?,
            terms: Terms { t, r: number("r")?, b: number("b")?, divs: dividends(&cell("divs"))? },
            asked: if self.implied {
                PriceInput::Implied(number("price")?)
            } else {
                PriceInput::At(positive("sigma")?)
            },
        })
    }
}

trait ByteOrderMark {
    fn trim_start_with_mark(&self) -> &Self;
}

impl ByteOrderMark for [u8] {
    /// Spreadsheets begin a file with a byte order mark.
    fn trim_start_with_mark(&self) -> &Self {
        self.strip_prefix(b"\xef\xbb\xbf").unwrap_or(self)
    }
}

fn number(name: &str, text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(x) if x.is_finite() => Ok(x),
        _ if text.is_empty() => Err(format!("{name}: missing")),
        _ => Err(format!("{name}: not a number: {text}")),
    }
}

fn word<T: Copy>(name: &str, text: &str, words: [(&str, T); 2]) -> Result<T, String> {
    let found = words.iter().find(|(word, _)| word.eq_ignore_ascii_case(text));
    let [(first, _), (second, _)] = words;
    found.map(|&(_, value)| value).ok_or_else(|| format!("{name}: not {first} or {second}: {text}"))
}

/// `t:amount;t:amount`, sorted by time.
fn dividends(text: &str) -> Result<Vec<Dividend>, String> {
    let one = |item: &str| {
        let (t, amount) = item.split_once(':').ok_or_else(|| format!("divs: not t:amount: {item}"))?;
        let (t, amount) = (number("divs", t.trim())?, number("divs", amount.trim())?);
        if amount < 0.0 {
            return Err(format!("divs: negative dividend: {item}"));
        }
        Ok(Dividend { t, amount })
    };
    let items = text.split(';').map(str::trim).filter(|item| !item.is_empty());
    let mut divs = items.map(one).collect::<Result<Vec<_>, String>>()?;
    divs.sort_by(|a, b| a.t.total_cmp(&b.t));
    Ok(divs)
}

/// The shortest text that reads back as the same double, and a comma.
fn write_number(x: f64, out: &mut Vec<u8>) {
    if x.is_finite() {
        // Adding 0 turns -0 into 0.
        out.extend_from_slice(ryu::Buffer::new().format_finite(x + 0.0).as_bytes());
    }
    out.push(b',');
}

/// A cell, quoted where CSV needs it.
fn write_cell(cell: &[u8], out: &mut Vec<u8>) {
    let plain = !cell.iter().any(|b| matches!(b, b',' | b'"' | b'\r' | b'\n'));
    let cell: Cow<'_, [u8]> = if plain {
        Cow::Borrowed(cell)
    } else {
        let doubled = cell.iter().flat_map(|&b| std::iter::repeat_n(b, if b == b'"' { 2 } else { 1 }));
        Cow::Owned([b'"'].into_iter().chain(doubled).chain([b'"']).collect())
    };
    out.extend_from_slice(&cell);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(header: &str) -> Result<Layout, String> {
        Layout::new(&header.split(',').collect::<Vec<_>>().into())
    }

    fn contract(header: &str, row: &str) -> Result<Contract, String> {
        layout(header)?.contract(&row.split(',').collect::<Vec<_>>().into())
    }

    const HEADER: &str = "id,style,right,s,k,t_years,r,b,sigma,divs";

    #[test]
    fn columns_may_stand_in_any_order_and_a_price_asks_for_a_volatility() {
        let head = "\u{feff}K,S,right,style,extra,b,r,t_years,price";
        assert!(layout(head).unwrap().header().starts_with("style,right,s,k,t_years,r,b,price,iv,delta,"));
        let contract = contract(head, "90,100,PUT,American,x,0.01,0.02,0.5,1.25").unwrap();
        assert_eq!((contract.s, contract.k, contract.right), (100.0, 90.0, Right::Put));
        assert_eq!((contract.terms.r, contract.terms.b, contract.asked), (0.02, 0.01, PriceInput::Implied(1.25)));
        assert!(layout(HEADER).unwrap().header().ends_with(",d1,d2,fwd,error\n"));
        let error = layout("id,style,right,s,k,r").unwrap_err();
        assert!(error.contains("t_years, b, sigma"), "{error}");
    }

    #[test]
    fn dividends_are_a_list_and_are_sorted() {
        let divs = dividends("0.5:1.25; 0.25:1 ;").unwrap();
        let pairs: Vec<(f64, f64)> = divs.iter().map(|d| (d.t, d.amount)).collect();
        assert_eq!(pairs, [(0.25, 1.0), (0.5, 1.25)]);
        assert_eq!(dividends("").unwrap(), []);
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

    #[test]
    fn numbers_read_back_and_cells_are_quoted_where_needed() {
        let mut out = Vec::new();
        for x in [0.1, -0.0, 1e-300, 123_456_789.123, f64::NAN] {
            write_number(x, &mut out);
        }
        write_cell(b"a \"b\", c", &mut out);
        assert_eq!(String::from_utf8_lossy(&out), "0.1,0.0,1e-300,123456789.123,,\"a \"\"b\"\", c\"");
    }
}
