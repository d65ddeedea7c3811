//! Finds the layout of a header, with the meaning of each column, or the columns that are missing. Never: a row.

use super::cells::{Cell, Cells, Fault};
use super::columns::{Layout, LayoutColumn, Meaning, Rows, SHOWN};
use super::options::ColumnMap;
use super::refusal::{LayoutError, NearLayout, shown};
use kernel::contract::Right;
use std::path::Path;
use strsim::levenshtein;

/// Number of layouts that the message of a refused header names.
const NEAREST_SHOWN: usize = 2;
/// A name may be a slip of another if at most this many letters differ, or this part of its letters.
const SLIP_LETTERS: usize = 2;
const SLIP_PART: usize = 3;

/// A column of a file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Found {
    /// Index of the column, from 0.
    pub(super) at: usize,
    /// Name of the column in the layout.
    pub(super) name: &'static str,
}

/// The columns of one contract of a row.
#[derive(Clone, Copy, Debug)]
pub(super) struct SideColumns {
    /// The right of the contract; `None`: a column gives it.
    pub(super) right: Option<Right>,
    pub(super) contract: Option<Found>,
    pub(super) bid: Found,
    pub(super) ask: Found,
    pub(super) bid_size: Option<Found>,
    pub(super) ask_size: Option<Found>,
    pub(super) sizes: Option<Found>,
    pub(super) volume: Option<Found>,
    pub(super) open_interest: Option<Found>,
    /// The vendor's own numbers.
    pub(super) shown: [Option<Found>; SHOWN],
}

/// Meanings of the columns of one file.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) layout: &'static Layout,
    at: [Option<Found>; Meaning::COUNT],
    /// One of a contract a row, two of a strike a row.
    pub(super) sides: Vec<SideColumns>,
    /// The plan for rows without bid and ask.
    pub(super) otherwise: Option<Box<Plan>>,
}

impl Plan {
    /// The first of the layouts that a header fits; it may lack the columns of `given`, whose values are known.
    ///
    /// # Errors
    /// There is none, or the map names a column that is not there.
    pub(super) fn of(
        file: &Path,
        header: &[String],
        layouts: &[&'static Layout],
        map: &ColumnMap,
        given: &[Meaning],
    ) -> Result<Self, LayoutError> {
        if let Some((_, column)) = map.pairs().find(|(_, column)| place(header, column).is_none()) {
            return Err(LayoutError::NoMappedColumn { file: file.to_path_buf(), column: column.to_owned() });
        }
        layouts.iter().find_map(|layout| Self::try_of(header, layout, map, given)).ok_or_else(|| {
            let nearest = nearest(header, layouts, map);
            LayoutError::UnknownHeader { file: file.to_path_buf(), columns: header.len(), nearest }
        })
    }

    fn try_of(header: &[String], layout: &'static Layout, map: &ColumnMap, given: &[Meaning]) -> Option<Self> {
        let mut at = [None; Meaning::COUNT];
        for (meaning, column) in map.pairs() {
            at[meaning as usize] = place(header, column).map(|at| Found { at, name: meaning.name() });
        }
        for column in layout.columns {
            let found = find(header, column.names);
            let place = &mut at[column.meaning as usize];
            *place = place.or(found);
            if column.must && place.is_none() && !given.contains(&column.meaning) {
                return None;
            }
        }
        let mut sides = match layout.rows {
            Rows::Contract => vec![side(&at, None)?],
            Rows::Price => Vec::new(),
            Rows::CallAndPut => vec![side(&at, Some(Right::Call))?, side(&at, Some(Right::Put))?],
        };
        for (side, columns) in sides.iter_mut().zip(layout.shown) {
            side.shown = columns.map(|names| find(header, names));
        }
        let otherwise = layout.otherwise.and_then(|layout| Self::try_of(header, layout, &ColumnMap::default(), given));
        Some(Self { layout, at, sides, otherwise: otherwise.map(Box::new) })
    }

    /// The column of a meaning, if the file has one.
    pub(super) fn get(&self, meaning: Meaning) -> Option<Found> {
        self.at[meaning as usize]
    }

    /// True if the file has any of the vendor's own numbers.
    pub(super) fn has_shown(&self) -> bool {
        self.sides.iter().any(|side| side.shown.iter().any(Option::is_some))
    }

    /// Leaves the vendor's own numbers unread.
    pub(super) fn without_shown(mut self) -> Self {
        self.sides.iter_mut().for_each(|side| side.shown = [None; SHOWN]);
        self.otherwise = self.otherwise.map(|plan| Box::new(plan.without_shown()));
        self
    }

    /// The place of a column by its name in the layout.
    pub(super) fn place_of(&self, name: &str) -> Option<usize> {
        let shown = self.sides.iter().flat_map(|side| side.shown);
        let mut own = self.at.iter().copied().chain(shown).flatten().filter(|found| found.name == name);
        own.next().map(|found| found.at).or_else(|| self.otherwise.as_ref()?.place_of(name))
    }

    /// The places of all columns that are read, ascending.
    pub(super) fn places(&self) -> Vec<usize> {
        let shown = self.sides.iter().flat_map(|side| side.shown);
        let own = self.at.iter().copied().chain(shown).flatten().map(|found| found.at);
        let mut places: Vec<usize> = own.chain(self.otherwise.iter().flat_map(|plan| plan.places())).collect();
        places.sort_unstable();
        places.dedup();
        places
    }
}

/// The columns of one side.
fn side(at: &[Option<Found>; Meaning::COUNT], right: Option<Right>) -> Option<SideColumns> {
    use Meaning::{
        Ask, AskSize, Bid, BidSize, CallAsk, CallAskSize, CallBid, CallBidSize, CallContract, CallOpenInterest,
        CallSizes, CallVolume, Contract, OpenInterest, PutAsk, PutAskSize, PutBid, PutBidSize, PutContract,
        PutOpenInterest, PutSizes, PutVolume, Volume,
    };
    let get = |own: Meaning, call: Meaning, put: Meaning| {
        at[match right {
            None => own,
            Some(Right::Call) => call,
            Some(Right::Put) => put,
        } as usize]
    };
    Some(SideColumns {
        right,
        contract: get(Contract, CallContract, PutContract),
        bid: get(Bid, CallBid, PutBid)?,
        ask: get(Ask, CallAsk, PutAsk)?,
        bid_size: get(BidSize, CallBidSize, PutBidSize),
        ask_size: get(AskSize, CallAskSize, PutAskSize),
        sizes: right.and(get(CallSizes, CallSizes, PutSizes)),
        volume: get(Volume, CallVolume, PutVolume),
        open_interest: get(OpenInterest, CallOpenInterest, PutOpenInterest),
        shown: [None; SHOWN],
    })
}

/// The names of a header in the form in which they are compared. A repeated name gets a number, as in pandas: `Bid`,
/// `Bid.1`.
pub(super) fn names<'a>(fields: impl IntoIterator<Item = &'a [u8]>) -> Vec<String> {
    let bare: Vec<String> = fields.into_iter().map(|field| bare(&String::from_utf8_lossy(field)).to_owned()).collect();
    let number = |(at, name): (usize, &String)| match bare.iter().take(at).filter(|own| *own == name).count() {
        0 => name.clone(),
        before => format!("{name}.{before}"),
    };
    bare.iter().enumerate().map(number).collect()
}

/// A name of a header without blanks, brackets and byte order mark.
pub(super) fn bare(name: &str) -> &str {
    let text = name.trim_start_matches('\u{feff}').trim();
    text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text).trim()
}

/// Where a column of a name stands; `Bid.1` also as polars and DuckDB call it: `Bid_duplicated_0`, `Bid_1`.
fn place(header: &[String], name: &str) -> Option<usize> {
    let find = |name: &str| header.iter().position(|own| own.eq_ignore_ascii_case(name));
    find(name).or_else(|| {
        let (first, before) = name.rsplit_once('.')?;
        let before: usize = before.parse().ok()?;
        find(&format!("{first}_duplicated_{}", before.checked_sub(1)?)).or_else(|| find(&format!("{first}_{before}")))
    })
}

/// The value of a row in a column.
///
/// # Errors
/// The cell cannot be read as any value.
pub(super) fn get<C: Cells>(row: &C, column: Found) -> Result<Cell<'_>, Fault> {
    row.cell(column.at).map_err(|reason| (column.name, reason))
}

/// The column of a layout in a header, by the first of its names that the header has.
fn find(header: &[String], names: &'static str) -> Option<Found> {
    names.split('|').filter(|name| !name.is_empty()).find_map(|name| Some(Found { at: place(header, name)?, name }))
}

/// The layouts of which the header lacks the smallest part of the columns, but has at least one.
fn nearest(header: &[String], layouts: &[&'static Layout], map: &ColumnMap) -> Vec<NearLayout> {
    let mut near: Vec<(usize, usize, NearLayout)> = Vec::new();
    for layout in layouts {
        let musts = layout.columns.iter().filter(|column| column.must);
        let missing = musts.clone().filter(|c| find(header, c.names).is_none() && map.column(c.meaning).is_none());
        let suggest = |column: &LayoutColumn| {
            let first = column.names.split('|').next().unwrap_or_default();
            (first, slip_of(column, header, layout))
        };
        let missing: Vec<_> = missing.map(suggest).collect();
        near.push((missing.len(), musts.count(), NearLayout { layout: layout.name, missing }));
    }
    // the smallest part missing: a/b < c/d is a·d < c·b
    near.sort_by_key(|(missing, musts, _)| (missing * 1000 / musts.max(&1), *musts));
    let best = near.first().map_or(0, |(missing, ..)| *missing);
    let told = near.into_iter().filter(|(missing, musts, _)| missing < musts && *missing <= best + 2);
    told.map(|(.., near)| near).take(NEAREST_SHOWN).collect()
}

/// A name of the header that may be a slip of a column's name, and is no column of the layout.
fn slip_of(column: &LayoutColumn, header: &[String], layout: &Layout) -> Option<String> {
    let is_own = |name: &str| {
        let mut names = layout.columns.iter().flat_map(|column| column.names.split('|'));
        names.any(|own| own.eq_ignore_ascii_case(name))
    };
    let strange = header.iter().filter(|name| !is_own(name));
    let near = strange.flat_map(|name| column.names.split('|').map(move |own| (distance(own, name), own.len(), name)));
    let slips = near.filter(|(letters, length, _)| *letters <= SLIP_LETTERS && *letters * SLIP_PART <= *length);
    slips.min_by_key(|(letters, ..)| *letters).map(|(.., name)| shown(name))
}

/// Edit distance of two names, in either case; the maximum if their lengths alone rule out a slip: a name of a header
/// has any length.
fn distance(a: &str, b: &str) -> usize {
    match a.chars().count().abs_diff(b.chars().count()) {
        ..=SLIP_LETTERS => levenshtein(&a.to_ascii_lowercase(), &b.to_ascii_lowercase()),
        _ => usize::MAX,
    }
}

#[cfg(test)]
mod tests {
    use super::super::vendors::LAYOUTS;
    use super::*;

    fn plan(header: &str, map: &str) -> Result<Plan, LayoutError> {
        let names = names(header.split(',').map(str::as_bytes));
        Plan::of(Path::new("x.csv"), &names, &LAYOUTS, &ColumnMap::parse(map).unwrap(), &[])
    }

    const OWN: &str = "quote_time,underlying,und_price,root,expiry,right,strike,bid,ask";

    #[test]
    fn headers_are_known_in_any_order_and_case() {
        assert_eq!(plan(OWN, "").unwrap().layout.name, "greeksd");
        let reversed = OWN.split(',').rev().collect::<Vec<_>>().join(" , ").to_uppercase();
        let plan = plan(&format!("\u{feff}{reversed},[other]"), "").unwrap();
        assert_eq!((plan.layout.name, plan.get(Meaning::QuoteTime).unwrap().at), ("greeksd", 8));
        assert_eq!(plan.places().len(), 9);
    }

    #[test]
    fn columns_of_one_name_are_told_apart_as_libraries_do() {
        let header = "Expiration Date,Strike,Calls,Bid,Ask,IV,Puts,Bid,Ask,IV,Bid";
        let read = plan(header, "").unwrap();
        let numbered =
            |n: &str| header.replacen(",Puts,Bid,Ask,IV,Bid", &format!(",Puts,Bid{n},Ask{n},IV{n},Bid.2"), 1);
        for again in [".1", "_duplicated_0", "_1"] {
            let other = plan(&numbered(again), "").unwrap();
            assert_eq!((other.layout.name, other.places()), (read.layout.name, read.places()), "{again}");
            assert_eq!(other.sides[1].bid.at, 7, "{again}");
        }
        assert!(plan(&numbered("_duplicated_1"), "").is_err());
        assert_eq!(names(header.split(',').map(str::as_bytes)).last().unwrap(), "Bid.2");
    }

    #[test]
    fn a_refused_header_says_what_is_missing_and_what_is_near() {
        let said = plan(&OWN.replace("strike", "strke"), "").unwrap_err().to_string();
        assert!(
            said.starts_with("x.csv: 9 columns of no known layout; greeksd has `strike` (here `strke`?)"),
            "{said}"
        );
        let said = plan("a,b", "").unwrap_err().to_string();
        assert_eq!(said, "x.csv: 2 columns of no known layout");
        let odd = format!("quote_tim\u{1b}[2J,{}", "y".repeat(10_000));
        let said = plan(&format!("{odd},{OWN}").replace("quote_time,", ""), "").unwrap_err().to_string();
        assert!(!said.contains('\u{1b}') && said.len() < 1000, "{said}");
    }

    #[test]
    fn a_map_names_columns_and_goes_before_the_layout() {
        let header = OWN.replace("strike", "K").replace("expiry", "EXP");
        let mapped = plan(&header, "strike=k,expiry=EXP").unwrap();
        assert_eq!(mapped.get(Meaning::Strike).unwrap().at, 6);
        let both = plan(&format!("{OWN},bid_eod"), "bid=bid_eod").unwrap();
        assert_eq!(both.sides[0].bid.at, 9);
        let said = plan(&header, "strike=KK").unwrap_err().to_string();
        assert_eq!(said, "x.csv: the header has no column `KK`");
        let said = plan(&header, "strike=K").unwrap_err().to_string();
        assert!(said.contains("greeksd has `expiry`"), "{said}");
    }

    #[test]
    fn a_header_may_lack_what_is_given() {
        let names = names(OWN.replace("quote_time,", "").split(',').map(str::as_bytes));
        let plan = |given: &[Meaning]| Plan::of(Path::new("x.csv"), &names, &LAYOUTS, &ColumnMap::default(), given);
        assert!(plan(&[]).unwrap_err().to_string().contains("greeksd has `quote_time`"));
        let plan = plan(&[Meaning::QuoteTime]).unwrap();
        assert_eq!((plan.layout.name, plan.get(Meaning::QuoteTime).is_none()), ("greeksd", true));
    }

    #[test]
    fn letters_are_counted() {
        for (a, b, letters) in [("strike", "strke", 1), ("bid", "Bids", 1), ("ask", "ask", 0), ("right", "rihgt", 2)] {
            assert_eq!(distance(a, b), letters, "{a} {b}");
        }
    }
}
