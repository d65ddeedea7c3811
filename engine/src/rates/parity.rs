//! The discount factor and the forward of one European expiry, by put-call parity over all of its pairs.
//!
//! C − P = D·(F − K) is a line in the strike: its slope is −D, and it needs no model and no price of the underlying.
//! The line is fitted robustly, since books have stale, crossed and mistaken quotes: a repeated median starts it (half
//! of the pairs may be wrong), and Tukey's biweight refines it. Never: a curve, a book.

use super::settings::PARITY;
use kernel::contract::{Right, Symbol, strike_of};
use kernel::elementary::ln;

/// The quotes of one European (root, expiry).
#[derive(Clone, Copy, Debug)]
pub struct EuropeanExpiry<'a> {
    /// Underlying.
    pub underlying: Symbol,
    /// Years to settlement, actual days over 365.
    pub t: f64,
    /// Strikes in thousandths, ascending, call before put.
    pub strike_milli: &'a [u32],
    /// Call or put, by row.
    pub right: &'a [Right],
    /// Bids, currency per share; NaN: none.
    pub bid: &'a [f64],
    /// Asks, currency per share; NaN: none.
    pub ask: &'a [f64],
}

/// Discount factor and forward that the pairs of an expiry imply together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ParityDiscount {
    /// Years to settlement.
    pub t: f64,
    /// −ln D: the rate times the years.
    pub growth: f64,
    /// Standard error.
    pub error: f64,
    /// The forward, currency per share.
    pub forward: f64,
    /// Pairs that have weight.
    pub pairs: usize,
}

/// Call less put of one strike.
#[derive(Clone, Copy, Debug)]
struct Gap {
    strike: f64,
    gap: f64,
    /// Half spreads of both, added.
    half: f64,
}

/// A line through gaps: `gap = level − slope · (strike − centre)`.
#[derive(Clone, Copy, Debug)]
struct Line {
    level: f64,
    slope: f64,
}

/// Weighted sums of a fit around the weighted mean strike.
#[derive(Clone, Copy, Debug)]
struct Sums {
    line: Line,
    /// Σ w (K − mean K)².
    spread: f64,
}

/// Returns the discount factor and the forward of an expiry.
///
/// `None`: too few pairs, too short a life, or a line that is no discount factor.
///
/// # Domain   any quotes; rows of one strike stand side by side
/// # Source   Siegel (1982), repeated median regression; Beaton and Tukey (1974), biweight
/// # Cost     linear in the pairs but for the start, which looks at 96 of them
#[must_use]
pub fn parity_discount(expiry: &EuropeanExpiry<'_>) -> Option<ParityDiscount> {
    if expiry.t.is_nan() || expiry.t < PARITY.years_least {
        return None;
    }
    let gaps = gaps(expiry);
    if gaps.len() < PARITY.pairs_least {
        return None;
    }
    let centre = gaps[gaps.len() / 2].strike;
    let mut line = start(&gaps, centre)?;
    let mut fit = None;
    for _ in 0..PARITY.rounds {
        let scale = scale(&gaps, line, centre);
        let sums = weighted(&gaps, line, centre, scale)?;
        let moved = (sums.line.slope - line.slope).abs() + ((sums.line.level - line.level) / centre).abs();
        line = sums.line;
        fit = Some((sums, scale));
        if moved < 1e-13 {
            break;
        }
    }
    let (sums, scale) = fit?;
    let pairs = gaps.iter().filter(|gap| weight(gap, line, centre, scale) > 0.0).count();
    let growth = -ln(line.slope);
    let error = (slope_variance(&gaps, &sums, centre, scale).sqrt() / line.slope).max(PARITY.error_least);
    let forward = centre + line.level / line.slope;
    let is_sound = pairs >= PARITY.pairs_least && growth.is_finite() && error.is_finite() && forward > 0.0;
    is_sound.then_some(ParityDiscount { t: expiry.t, growth, error, forward, pairs })
}

/// The pairs with two usable quotes each, strikes ascending.
fn gaps(expiry: &EuropeanExpiry<'_>) -> Vec<Gap> {
    let usable = |row: usize| {
        let (bid, ask) = (*expiry.bid.get(row)?, *expiry.ask.get(row)?);
        let is_quote = bid > 0.0 && ask >= bid && ask.is_finite();
        let is_meant = ask <= PARITY.ask_over_bid_most * bid;
        (is_quote && is_meant).then(|| (bid.midpoint(ask), ((ask - bid) / 2.0).max(PARITY.half_spread_least)))
    };
    let mut out = Vec::new();
    for row in 1..expiry.strike_milli.len().min(expiry.right.len()) {
        let is_pair = expiry.strike_milli[row - 1] == expiry.strike_milli[row]
            && (expiry.right[row - 1], expiry.right[row]) == (Right::Call, Right::Put);
        if !is_pair {
            continue;
        }
        if let (Some((call, half_call)), Some((put, half_put))) = (usable(row - 1), usable(row)) {
            let strike = strike_of(expiry.strike_milli[row]);
            out.push(Gap { strike, gap: call - put, half: half_call + half_put });
        }
    }
    out
}

/// A line that holds while fewer than half of the pairs are wrong: the median over pairs of the median slope to all
/// others.
fn start(gaps: &[Gap], centre: f64) -> Option<Line> {
    let n = gaps.len().min(PARITY.start_strikes);
    let chosen: Vec<Gap> = (0..n).map(|i| gaps[i * (gaps.len() - 1) / (n - 1).max(1)]).collect();
    let mut slopes = Vec::with_capacity(n);
    let mut to_others = Vec::with_capacity(n);
    for a in &chosen {
        to_others.clear();
        let others = chosen.iter().filter(|b| b.strike.total_cmp(&a.strike).is_ne());
        to_others.extend(others.map(|b| (a.gap - b.gap) / (b.strike - a.strike)));
        slopes.extend(median(&mut to_others));
    }
    let slope = median(&mut slopes)?;
    let mut levels: Vec<f64> = chosen.iter().map(|gap| gap.gap + slope * (gap.strike - centre)).collect();
    let level = median(&mut levels)?;
    (slope > 0.0).then_some(Line { level, slope })
}

/// The median; of an even count the lower one of the two in the middle.
fn median(values: &mut [f64]) -> Option<f64> {
    let middle = values.len().checked_sub(1)? / 2;
    Some(*values.select_nth_unstable_by(middle, f64::total_cmp).1)
}

/// Residual in half spreads.
fn residual(gap: &Gap, line: Line, centre: f64) -> f64 {
    (gap.gap - line.level + line.slope * (gap.strike - centre)) / gap.half
}

/// The spread of residuals: 1.4826 times the median of their size, which is the standard deviation of normal errors.
fn scale(gaps: &[Gap], line: Line, centre: f64) -> f64 {
    let mut sizes: Vec<f64> = gaps.iter().map(|gap| residual(gap, line, centre).abs()).collect();
    (1.4826 * median(&mut sizes).unwrap_or_default()).max(PARITY.scale_least)
}

/// Tukey's weight of a pair, by its half spread.
fn weight(gap: &Gap, line: Line, centre: f64, scale: f64) -> f64 {
    let part = residual(gap, line, centre) / (PARITY.cutoff * scale);
    let kept = 1.0 - part * part;
    if kept > 0.0 { kept * kept / (gap.half * gap.half) } else { 0.0 }
}

/// Least squares with the weights of a line.
fn weighted(gaps: &[Gap], line: Line, centre: f64, scale: f64) -> Option<Sums> {
    let (mut w, mut wx, mut wy) = (0.0, 0.0, 0.0);
    for gap in gaps {
        let each = weight(gap, line, centre, scale);
        (w, wx, wy) = (w + each, wx + each * (gap.strike - centre), wy + each * gap.gap);
    }
    let (mean_x, mean_y) = (wx / w, wy / w);
    let (mut spread, mut along) = (0.0, 0.0);
    for gap in gaps {
        let (each, x) = (weight(gap, line, centre, scale), gap.strike - centre - mean_x);
        (spread, along) = (spread + each * x * x, along + each * x * (gap.gap - mean_y));
    }
    let slope = -along / spread;
    let is_sound = w > 0.0 && spread > 0.0 && slope > 0.0 && slope.is_finite();
    is_sound.then_some(Sums { line: Line { level: mean_y + slope * mean_x, slope }, spread })
}

/// The variance of the slope from the scatter of the residuals. Neighbouring strikes err together, so it is larger by
/// (1 + ρ) / (1 − ρ), ρ being the correlation of neighbours.
fn slope_variance(gaps: &[Gap], sums: &Sums, centre: f64, scale: f64) -> f64 {
    let (mut squares, mut with_next, mut count) = (0.0, 0.0, 0.0_f64);
    let mut last: Option<f64> = None;
    for gap in gaps {
        if weight(gap, sums.line, centre, scale) <= 0.0 {
            continue;
        }
        let each = residual(gap, sums.line, centre);
        squares += each * each;
        with_next += last.map_or(0.0, |last| last * each);
        last = Some(each);
        count += 1.0;
    }
    let variance = (squares / (count - 2.0).max(1.0)).max(PARITY.scale_least * PARITY.scale_least);
    let correlation = (with_next / squares).clamp(0.0, PARITY.correlation_most);
    let correlation = if correlation.is_nan() { 0.0 } else { correlation };
    variance * (1.0 + correlation) / (1.0 - correlation) / sums.spread
}
