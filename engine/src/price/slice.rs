//! One expiry from its calibration and its curve to finished columns. Never: a fault of a quote, a neighbour.

use super::value::{Lapse, value_slice};
use crate::calibrate::implied::carried_over;
use crate::calibrate::settings::CLEANING;
use crate::calibrate::{SliceInput, SliceWork};
use crate::early::VOL;
use crate::store::columns::{Col, ColumnRows};
use crate::store::drop_reason::DropReason;
use crate::store::firm_quotes::FirmQuotes;
use crate::store::ladder::Ladder;
use crate::surface::Fitted;
use kernel::contract::{Right, Style};
use kernel::lanes::{BLOCK, Block, Lanes};

/// Fills the rows of one expiry, its part of the columns of the chain: volatilities of its quotes and of its curve,
/// values, Greeks. All are missing so far but `prev_vol`. Quotes that the curve misses by far are marked as faults, and
/// its volatilities are kept as first guesses of the next pass; both are of the curve as fitted, without the shift that
/// a user adds.
///
/// # Domain   `lapse` of an expiry that has not settled: its days are positive
pub fn price_slice(
    input: &SliceInput<'_>,
    slice: &mut SliceWork,
    columns: &mut ColumnRows<'_>,
    curve: &impl Fitted,
    lapse: &Lapse,
) {
    let SliceWork { state, terms, methods, .. } = slice;
    columns.get_mut(Col::BidVol).copy_from_slice(&slice.vol_bid);
    columns.get_mut(Col::MidVol).copy_from_slice(&slice.vol_mid);
    columns.get_mut(Col::AskVol).copy_from_slice(&slice.vol_ask);
    curve_vols(curve, slice.fwd > 0.0, &state.ladder, &mut state.sigma, columns);
    // volatilities of the previous session were shifted in that session
    let shift = if curve.is_known() { input.vol_shift } else { 0.0 };
    let valued_at = shifted(&state.sigma, shift, &mut slice.shifted);
    if !valued_at.iter().any(|vol| vol.is_finite()) {
        return;
    }
    let here = input.valuation(slice.s, terms);
    // the last update of the pass, with final carry and curve
    if input.style == Style::American {
        slice.late = input.update_early(&mut state.early, &here, &state.ladder, valued_at);
    }
    slice.priced = value_slice(&here, state, valued_at, |k| curve.bends_at(k), lapse, columns, methods);
    iv_errors(input, columns);
    slice.find_outliers(columns.get(Col::SvcVol), shift);
    // a shifted curve need not pass through its quotes
    if shift == 0.0 {
        slice.firm = firm_quotes(input, &slice.fault, columns);
    }
}

/// Counts the firm quotes of an expiry and those that do not contain the value; if these are many, confidence is
/// reduced.
fn firm_quotes(input: &SliceInput<'_>, faults: &[Option<DropReason>], columns: &mut ColumnRows<'_>) -> FirmQuotes {
    let mut found = FirmQuotes::default();
    for (row, &value) in columns.get(Col::SvcTheo).iter().enumerate() {
        let of_itself =
            matches!(faults[row], None | Some(DropReason::OutOfBounds | DropReason::NoArbitrage | DropReason::Outlier));
        if of_itself && value.is_finite() && input.bid[row] > 0.0 {
            let tick = CLEANING.half_spread_least;
            found.firm += 1;
            found.outside += u32::from(value < input.bid[row] - tick || value > input.ask[row] + tick);
        }
    }
    if found.confidence() < 1.0 {
        columns.get_mut(Col::ConfVol).iter_mut().for_each(|confidence| *confidence *= found.confidence());
    }
    found
}

/// Volatilities of the values: those of the curve, shifted; NaN outside of [`VOL`].
fn shifted<'a>(sigma: &'a [f64], shift: f64, room: &'a mut Vec<f64>) -> &'a [f64] {
    if shift == 0.0 {
        return sigma;
    }
    let valid = |vol: f64| if (VOL.0..=VOL.1).contains(&vol) { vol } else { f64::NAN };
    room.clear();
    room.extend(sigma.iter().map(|vol| valid(vol + shift)));
    room
}

/// Volatility by strike into `sigma`, confidence into its column. A slice with a forward and without a curve has the
/// volatilities of the previous session.
fn curve_vols(
    curve: &impl Fitted,
    has_forward: bool,
    ladder: &Ladder,
    sigma: &mut Vec<f64>,
    columns: &mut ColumnRows<'_>,
) {
    let known = curve.is_known();
    sigma.resize(ladder.strikes().len(), f64::NAN);
    if !known && has_forward {
        carried_over(ladder, columns.get(Col::PrevVol), sigma);
    }
    for block in 0..ladder.blocks() {
        let (vol, confidence) = curve.at_strikes(ladder.block(block));
        if known || !has_forward {
            vol.store(&mut sigma[block * BLOCK..]);
        }
        let mut numbers = [0.0; BLOCK];
        (if known { confidence } else { Block::splat(0.0) }).store(&mut numbers);
        for right in [Right::Call, Right::Put] {
            ladder.scatter(right, block, &numbers, columns.get_mut(Col::ConfVol));
        }
    }
}

/// Model value over mid, less 1, where there is a mid.
fn iv_errors(input: &SliceInput<'_>, columns: &mut ColumnRows<'_>) {
    for (row, (bid, ask)) in input.bid.iter().zip(input.ask).enumerate() {
        let error = columns.get(Col::SvcTheo)[row] / (0.5 * (bid + ask)) - 1.0;
        if error.is_finite() {
            columns.get_mut(Col::IvError)[row] = error;
        }
    }
}
