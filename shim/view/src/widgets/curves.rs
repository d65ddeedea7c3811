//! Draws the two plots: volatilities by strike, and volatilities at the money by expiry.

use super::pen::Pen;
use super::plot::{self, Plot, Points, round_steps};
use crate::column::Column;
use crate::model::StrikeRow;
use crate::number::strike;
use crate::palette::Look;
use crate::state::State;
use ratatui::layout::Rect;

/// Minimum absolute delta of a strike in the smile: further ones have no useful quotes.
const DELTA_LEAST: f64 = 0.005;
/// Margin above and below a curve, relative to its height.
const MARGIN: f64 = 0.08;
/// Labels of the term structure: days and text.
const TERMS: [(f64, &str); 11] = [
    (1.0, "1d"),
    (7.0, "1w"),
    (30.0, "1m"),
    (61.0, "2m"),
    (91.0, "3m"),
    (182.0, "6m"),
    (274.0, "9m"),
    (365.0, "1y"),
    (730.0, "2y"),
    (1095.0, "3y"),
    (1826.0, "5y"),
];

/// Draws the smile of the selected slice.
pub(crate) fn smile(pen: &mut Pen<'_>, area: Rect, state: &State) {
    let name = |column| Column::named(column);
    let (Some(vol), Some(delta), Some(bid), Some(ask)) =
        (name("svc_vol"), name("delta"), name("bid_vol"), name("ask_vol"))
    else {
        return;
    };
    let fwd = state.expiry().map_or(f64::NAN, |row| row.fwd);
    let rows = state.rows().map_or(&[][..], |chain| &chain.rows);
    let of = |row: &StrikeRow, column: Column| row.outside(fwd).map_or(f64::NAN, |side| side.get(column));
    let quoted: Vec<&StrikeRow> = rows.iter().filter(|row| of(row, delta).abs() >= DELTA_LEAST).collect();
    let points = |column, look, is_line, sign| {
        let at = quoted.iter().map(|row| (row.strike, of(row, column))).collect();
        Points { at, look, is_line, sign }
    };
    let curve = points(vol, Look::Curve, true, '*');
    let x = range(curve.at.iter().map(|(x, _)| *x));
    let y = widened(range(curve.at.iter().map(|(_, y)| *y)));
    let ticks = round_steps(x.0, x.1, f64::from(area.width) / 14.0).into_iter().map(|at| (at, strike(at))).collect();
    let expiry = state.slice.as_ref().map_or("", |key| &key.expiry);
    let title = format!("Smile {expiry}: curve, bid and ask by strike");
    let marks = [(state.spot(), Look::Spot), (fwd, Look::Forward)];
    let marks = marks.into_iter().filter(|(at, _)| at.is_finite()).collect();
    let points = vec![points(ask, Look::Ask, false, 'a'), points(bid, Look::Bid, false, 'b'), curve];
    plot::draw(pen, area, &Plot { title, points, x, y, ticks, marks });
}

/// Draws the term structure of the name; the axis is the square root of days, so that near expiries have room.
pub(crate) fn term(pen: &mut Pen<'_>, area: Rect, state: &State) {
    let at = |days: f64| days.max(0.0).sqrt();
    let points = |of: fn(&crate::model::ExpiryRow) -> f64, look, sign| {
        let at = state.expiries.iter().map(|row| (at(row.days), of(row))).collect();
        Points { at, look, is_line: true, sign }
    };
    let (now, before) = (points(|row| row.atm_vol, Look::Curve, '*'), points(|row| row.prev_vol, Look::Faint, '.'));
    let x = range(now.at.iter().map(|(x, _)| *x));
    let y = widened(range(now.at.iter().chain(&before.at).map(|(_, y)| *y)));
    let ticks = TERMS.iter().map(|(days, label)| (at(*days), (*label).to_owned())).collect();
    let has_before = before.at.iter().any(|(_, y)| y.is_finite());
    let title =
        if has_before { "Term structure at the money: now, previous session" } else { "Term structure at the money" };
    let chosen = state.expiry().map(|row| (at(row.days), Look::Forward));
    let plot =
        Plot { title: title.to_owned(), points: vec![before, now], x, y, ticks, marks: chosen.into_iter().collect() };
    plot::draw(pen, area, &plot);
}

fn range(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values
        .filter(|value| value.is_finite())
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), value| (least.min(value), most.max(value)))
}

/// Adds a margin above and below, even to a flat line.
fn widened(range: (f64, f64)) -> (f64, f64) {
    let (least, most) = range;
    let margin = (MARGIN * (most - least)).max(1e-3 * most.abs());
    ((least - margin).max(0.0), most + margin)
}
