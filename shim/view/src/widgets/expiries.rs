//! Draws the expiries of a name: days, forward, borrow, dividends and volatility at the money, or the numbers of the
//! term structure.

use super::pen::Pen;
use crate::layout::Page;
use crate::metrics::TermPoint;
use crate::model::{ExpiryRow, SliceKey};
use crate::number::shown;
use crate::palette::Look;
use crate::state::State;
use jiff::civil::{Date, Weekday};
use kernel::columns::Shape;
use ratatui::layout::Rect;

/// A column of the expiries.
struct Cell {
    title: &'static str,
    width: u16,
    shape: Shape,
    of: CellValue,
}

/// A number of an expiry.
#[derive(Clone, Copy)]
enum CellValue {
    /// Of its rows.
    Row(fn(&ExpiryRow) -> f64),
    /// Of its metrics.
    Point(fn(&TermPoint) -> f64),
}
use CellValue::{Point, Row};

/// The columns from left to right; the last ones are left out if there is no room.
const CELLS: &[Cell] = &[
    Cell { title: "Days", width: 8, shape: Shape::Decimals(2), of: Row(|row| row.days) },
    Cell { title: "Forward", width: 10, shape: Shape::Decimals(2), of: Row(|row| row.fwd) },
    Cell { title: "ATM%", width: 7, shape: Shape::Percent(2), of: Row(|row| row.atm_vol) },
    Cell { title: "Borrow%", width: 9, shape: Shape::Percent(2), of: Row(|row| row.borrow) },
    Cell { title: "Divs", width: 7, shape: Shape::Decimals(2), of: Row(|row| row.divs) },
    Cell { title: "Rate%", width: 7, shape: Shape::Percent(2), of: Row(|row| row.rate) },
    Cell { title: "Chg%", width: 7, shape: Shape::Percent(2), of: Row(|row| row.atm_vol - row.prev_vol) },
];

/// The columns on the page of the term structure.
const TERM_CELLS: &[Cell] = &[
    Cell { title: "Days", width: 8, shape: Shape::Decimals(2), of: Row(|row| row.days) },
    Cell { title: "ATM%", width: 7, shape: Shape::Percent(2), of: Row(|row| row.atm_vol) },
    Cell { title: "Skew%", width: 7, shape: Shape::Percent(2), of: Point(|point| point.skew) },
    Cell { title: "Move%", width: 7, shape: Shape::Percent(2), of: Point(|point| point.expected_move) },
    Cell { title: "Event%", width: 7, shape: Shape::Percent(2), of: Point(|point| point.event_move) },
    Cell { title: "VarDays", width: 8, shape: Shape::Decimals(2), of: Point(|point| point.days_vt) },
    Cell { title: "VarVol%", width: 8, shape: Shape::Percent(2), of: Point(|point| point.vol_vt) },
    Cell { title: "FwdVol%", width: 8, shape: Shape::Percent(2), of: Point(|point| point.forward_vol) },
];

/// Width of pointer, date and root, before the numbers.
const BEFORE: u16 = 2 + 10 + 1 + 6;
/// Width of the weekday, and of settlement and style, if there is room for them.
const WEEKDAY: u16 = 4;
const TERMS: u16 = 7;

/// Draws the expiries.
pub(crate) fn draw(pen: &mut Pen<'_>, area: Rect, state: &State) {
    if area.is_empty() {
        return;
    }
    let cells = if state.page == Page::Term { TERM_CELLS } else { CELLS };
    let all: u16 = cells.iter().map(|cell| cell.width).sum();
    let has_weekday = area.width >= BEFORE + WEEKDAY + all - 14;
    let has_terms = area.width >= BEFORE + WEEKDAY + TERMS + all;
    let before = BEFORE + if has_weekday { WEEKDAY } else { 0 } + if has_terms { TERMS } else { 0 };
    let mut room = area.width.saturating_sub(before);
    let cells: Vec<&Cell> = cells
        .iter()
        .take_while(|cell| {
            let fits = cell.width <= room;
            room = room.saturating_sub(cell.width);
            fits
        })
        .collect();
    heading(pen, area, state, &cells, before);
    let shown_lines = usize::from(area.height.saturating_sub(1));
    let chosen = state.expiry_place().unwrap_or(0);
    let top = chosen.saturating_sub(shown_lines / 2).min(state.expiries.len().saturating_sub(shown_lines));
    for (y, row) in (area.y + 1..area.bottom()).zip(state.expiries.iter().skip(top)) {
        let is_chosen = state.slice.as_ref() == Some(&row.key);
        let look = if is_chosen { Look::Chosen } else { Look::Plain };
        let day_look = if is_chosen || !is_monthly(&row.key) { look } else { Look::Strong };
        let pointer = if is_chosen { pen.palette.signs.pointer } else { ' ' };
        if is_chosen {
            pen.text(area.x, y, area, &" ".repeat(area.width.into()), look);
        }
        let mut line = pen.line(y, area);
        line.put(&format!("{pointer} "), look).put(&row.key.expiry, day_look);
        if has_weekday {
            line.put(&format!(" {}", weekday(&row.key)), look);
        }
        line.put(&format!(" {:<6}", row.key.root), look);
        if has_terms {
            let (settle, style) = (if row.is_am { "AM" } else { "PM" }, if row.is_american { "amer" } else { "euro" });
            line.put(&format!("{settle} {style}"), look);
        }
        for cell in &cells {
            let value = match cell.of {
                Row(of) => of(row),
                Point(of) => state.term_of(&row.key).map_or(f64::NAN, of),
            };
            line.cell(cell.width, &shown(value, cell.shape, usize::from(cell.width) - 1), look);
        }
    }
}

fn heading(pen: &mut Pen<'_>, area: Rect, state: &State, cells: &[&Cell], before: u16) {
    pen.rule(area.y, Rect { width: before.min(area.width), ..area }, "", Look::Faint);
    let place = state.expiry_place().map_or(0, |place| place + 1);
    let title = match state.expiries.len() {
        0 => "Expiries".to_owned(),
        all => format!("Expiry {place} of {all}"),
    };
    pen.text(area.x, area.y, area, &format!("{title} "), Look::Heading);
    let mut x = area.x + before;
    for cell in cells {
        pen.right(x, area.y, cell.width, area, cell.title, Look::Faint);
        x += cell.width;
    }
}

/// True for the monthly series: the third Friday.
fn is_monthly(key: &SliceKey) -> bool {
    let day: Option<Date> = key.expiry.parse().ok();
    day.is_some_and(|day| day.weekday() == Weekday::Friday && (15..=21).contains(&day.day()))
}

/// Weekday of an expiry: `Fri`.
pub(crate) fn weekday(key: &SliceKey) -> String {
    key.expiry.parse::<Date>().map_or_else(|_| "   ".to_owned(), |day| day.strftime("%a").to_string())
}
