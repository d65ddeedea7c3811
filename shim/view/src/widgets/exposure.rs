//! Draws exposures by strike, with a bar of the gamma exposure, and marks of spot and flip.

use super::pen::Pen;
use super::title::{nothing, wrapped};
use crate::lines::{ChainLine, chain_lines};
use crate::metrics::{ExposureRow, ExposureScope};
use crate::number::{MISSING, compact, shown, strike};
use crate::palette::Look;
use crate::state::State;
use kernel::columns::Shape;
use ratatui::layout::Rect;

/// A column of exposures: title and number.
type Cell = (&'static str, fn(&ExposureRow) -> f64);

/// The columns from left to right.
const CELLS: [Cell; 6] = [
    ("CallGam", |row| row.call_gamma),
    ("PutGam", |row| row.put_gamma),
    ("GEX", |row| row.gex),
    ("Delta", |row| row.delta),
    ("CallOI", |row| row.call_oi),
    ("PutOI", |row| row.put_oi),
];
/// Columns more where there is room.
const WIDE_CELLS: [Cell; 2] = [("Vanna", |row| row.vanna), ("Charm", |row| row.charm)];
/// Width of pointer and strike, and of a number with the gap before it.
const STRIKE_WIDTH: u16 = 10;
const CELL_WIDTH: u16 = 8;
/// Minimum width of the screen for all columns.
const WIDE: u16 = 110;

/// Draws the page.
pub(crate) fn draw(pen: &mut Pen<'_>, area: Rect, state: &State) {
    let of = match state.exposure_scope() {
        ExposureScope::All => "all expiries".to_owned(),
        ExposureScope::One(key) => format!("{} {}", key.root, key.expiry),
    };
    pen.rule(area.y, area, &format!("Exposure of {of} by strike: GEX is calls less puts"), Look::Heading);
    if area.height < 4 {
        return;
    }
    let mut line = pen.line(area.y + 1, area);
    for (key, value) in summary(state) {
        line.put(&format!(" {key} "), Look::Faint).put(&value, Look::Strong);
    }
    let found = state.exposures().filter(|found| !found.rows.is_empty() || !found.refused.is_empty());
    let why = found.map_or_else(
        || nothing(state),
        |found| match (found.refused.as_str(), found.sum.as_ref().map_or("", |sum| &sum.missing)) {
            ("", "") => Vec::new(),
            ("", why) => vec![format!("no exposure: {why}")],
            (refused, _) => wrapped(refused),
        },
    );
    if !why.is_empty() {
        for (y, line) in (area.y + 2 + area.height / 4..area.bottom()).zip(&why) {
            pen.middle(y, area, line, Look::Plain);
        }
        return;
    }
    let rows = found.map_or(&[][..], |found| &found.rows);
    table(pen, Rect { y: area.y + 2, height: area.height - 2, ..area }, state, rows);
}

/// Names and numbers of all strikes.
fn summary(state: &State) -> [(&'static str, String); 5] {
    let sum = state.exposures().and_then(|found| found.sum.as_ref());
    let of = |get: fn(&ExposureRow) -> f64| sum.map_or(f64::NAN, get);
    let price = |value: f64| shown(value, Shape::Decimals(2), 10);
    let pain = state.slice.as_ref().and_then(|key| Some((state.term_of(key)?.max_pain, key.expiry.get(5..)?)));
    let pain = match pain {
        Some((pain, day)) if pain.is_finite() => format!("{} ({day})", strike(pain)),
        _ => MISSING.to_owned(),
    };
    [
        ("GEX", compact(of(|row| row.gex))),
        ("delta", compact(of(|row| row.delta))),
        ("flip", price(of(|row| row.flip))),
        ("max pain", pain),
        ("open", format!("{} / {}", compact(of(|row| row.call_oi)), compact(of(|row| row.put_oi)))),
    ]
}

fn table(pen: &mut Pen<'_>, area: Rect, state: &State, rows: &[ExposureRow]) {
    let wide = if area.width >= WIDE { &WIDE_CELLS[..] } else { &[] };
    let cells: Vec<Cell> = CELLS.iter().chain(wide).copied().collect();
    let mut heading = pen.line(area.y, area);
    heading.cell(STRIKE_WIDTH, "Strike", Look::Faint);
    for (title, _) in &cells {
        heading.cell(CELL_WIDTH, title, Look::Faint);
    }
    let bars = heading.x() + 2;
    let bars = Rect { x: bars, width: area.right().saturating_sub(bars + 1), ..area };
    let flip = state.exposures().and_then(|found| found.sum.as_ref()).map_or(f64::NAN, |sum| sum.flip);
    let lines = chain_lines(&state.exposure_strikes(), state.spot(), flip);
    let chosen = state.exposure_place();
    let on = chosen.and_then(|place| lines.iter().position(|line| *line == ChainLine::Row(place))).unwrap_or(0);
    let shown_lines = usize::from(area.height - 1);
    let top = on.saturating_sub(shown_lines / 2).min(lines.len().saturating_sub(shown_lines));
    let most = rows.iter().map(|row| row.gex.abs()).fold(0.0, f64::max);
    for (y, line) in (area.y + 1..area.bottom()).zip(lines.iter().skip(top)) {
        match *line {
            ChainLine::Mark { spot, other } => mark(pen, area, y, spot.then(|| state.spot()), other.then_some(flip)),
            ChainLine::Row(place) => {
                draw_row(pen, area, y, &rows[place], &cells, chosen == Some(place));
                bar(pen, Rect { y, height: 1, ..bars }, rows[place].gex / most);
            }
        }
    }
}

fn mark(pen: &mut Pen<'_>, area: Rect, y: u16, spot: Option<f64>, flip: Option<f64>) {
    let name = |word: &str, price: f64| format!("{word} {}", shown(price, Shape::Decimals(2), 10));
    let words: Vec<String> =
        spot.map(|price| name("spot", price)).into_iter().chain(flip.map(|price| name("flip", price))).collect();
    let look = if spot.is_some() { Look::Spot } else { Look::Forward };
    pen.rule(y, area, &words.join(", "), look);
}

fn draw_row(pen: &mut Pen<'_>, area: Rect, y: u16, row: &ExposureRow, cells: &[Cell], is_on: bool) {
    let look = if is_on { Look::Chosen } else { Look::Plain };
    let pointer = if is_on { pen.palette.signs.pointer } else { ' ' };
    let mut line = pen.line(y, area);
    line.put(&pointer.to_string(), look).cell(STRIKE_WIDTH - 1, &strike(row.strike), look);
    for (_, of) in cells {
        line.cell(CELL_WIDTH, &compact(of(row)), look);
    }
}

/// Draws a bar from the middle: to the right for a share above 0, to the left below.
fn bar(pen: &mut Pen<'_>, area: Rect, share: f64) {
    let half = area.width / 2;
    if half == 0 || !share.is_finite() {
        return;
    }
    let length = (share.abs().min(1.0) * f64::from(half)).round() as u16;
    let middle = area.x + half;
    let (x, look) = if share < 0.0 { (middle - length, Look::Down) } else { (middle, Look::Up) };
    let sign = if pen.palette.signs.has_braille { "█" } else { "#" };
    pen.text(x, area.y, area, &sign.repeat(length.into()), look);
}
