//! Volatilities implied by the rows of one expiry, strike by strike. Never: a curve.

use super::base::Points;
use super::settings::QUOTES;
use kernel::contract::Right;
use kernel::elementary::ln;
use kernel::lanes::{Block, Lanes};

/// Everything that the curve of one (root, expiry) is fitted to.
#[derive(Clone, Copy, Debug)]
pub struct SurfaceInput<'a> {
    /// Years to settlement, positive.
    pub t: f64,
    /// Forward, currency per share; NaN: unknown, no curve.
    pub fwd: f64,
    /// Strikes by row, thousandths; ascending.
    pub strike_milli: &'a [u32],
    /// Call or put, by row.
    pub right: &'a [Right],
    /// Volatility at the bid, by row; NaN: none.
    pub vol_bid: &'a [f64],
    /// Volatility at the mid, by row; NaN: none.
    pub vol_mid: &'a [f64],
    /// Volatility at the ask, by row; NaN: none.
    pub vol_ask: &'a [f64],
    /// True if the row's quote may support the curve.
    pub used: &'a [bool],
}

/// One entry per strike in ascending order, in ln σ; columns padded to whole blocks with entries without precision.
#[derive(Clone, Debug, Default)]
pub(super) struct StrikeQuotes {
    len: usize,
    /// ln(K/F).
    pub(super) k: Vec<f64>,
    /// ln σ at the mid, or at a lone ask.
    pub(super) mid: Vec<f64>,
    /// 1/half², half of the spread in ln σ.
    pub(super) precision: Vec<f64>,
    /// 1: both sides are quoted; 0: a lone ask, so that the volatility is at most `mid`.
    pub(super) firm: Vec<f64>,
    /// Median of the volatilities nearest to the money; NaN: none.
    pub(super) usual_vol: f64,
    /// Least and greatest log-moneyness of the two-sided quotes; 0, 0: there are none.
    pub(super) range: (f64, f64),
}

/// Rows that may count, before and after taking logarithms.
#[derive(Clone, Debug, Default)]
pub(super) struct Candidates {
    strike_milli: Vec<u32>,
    /// K/F, then its logarithm.
    ratio: Vec<f64>,
    /// σ at the mid or the only ask, then its logarithm.
    vol: Vec<f64>,
    /// σ at the ask over σ at the bid, then its logarithm; 0: an ask only.
    spread: Vec<f64>,
    /// True if the bid is below the value at any volatility, so that the quote gives no lower bound.
    unbounded: Vec<bool>,
}

/// One quote in ln σ.
#[derive(Clone, Copy)]
struct Quote {
    mid: f64,
    half: f64,
    firm: bool,
    /// True if the quote gives no lower bound.
    unbounded: bool,
}

impl Quote {
    /// The lowest and the highest volatility of a two-sided quote.
    fn ends(&self) -> (f64, f64) {
        (if self.unbounded { f64::NEG_INFINITY } else { self.mid - self.half }, self.mid + self.half)
    }
}

impl StrikeQuotes {
    /// Number of strikes with a quote.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// Number of strikes with both sides.
    pub(super) fn n_firm(&self) -> f64 {
        self.firm.iter().sum()
    }

    /// Takes the quotes of an expiry: the out-of-the-money side, near the money both.
    pub(super) fn read(&mut self, input: &SurfaceInput, candidates: &mut Candidates) {
        self.clear();
        // moneyness has no meaning without a forward, nor a volatility without time
        if !(input.fwd > 0.0 && input.t > 0.0) {
            return;
        }
        self.usual_vol = usual_vol(input);
        candidates.pick(input, (QUOTES.both_sides * self.usual_vol * input.t.sqrt()).exp());
        if input.t > QUOTES.in_the_money_years && !candidates.spread.iter().any(|&spread| spread > 0.0) {
            // quotes in the money carry some information, except in the last days, when they show the intrinsic value
            candidates.pick(input, f64::INFINITY);
        }
        candidates.take_logarithms();
        let mut last: Option<(u32, Quote)> = None;
        for (i, &strike_milli) in candidates.strike_milli.iter().enumerate() {
            let mut quote = candidates.quote(i);
            match last {
                Some((strike, other)) if strike == strike_milli => {
                    quote = both(other, quote);
                    self.set_last(quote);
                }
                _ => self.push(candidates.ratio[i], quote),
            }
            last = Some((strike_milli, quote));
        }
        self.finish();
    }

    fn clear(&mut self) {
        for column in [&mut self.k, &mut self.mid, &mut self.precision, &mut self.firm] {
            column.clear();
        }
        // NaN and not zero: no comparison with it holds, so an empty expiry passes no check
        (self.len, self.usual_vol, self.range) = (0, f64::NAN, (0.0, 0.0));
    }

    fn push(&mut self, k: f64, quote: Quote) {
        self.k.push(k);
        self.mid.push(quote.mid);
        self.precision.push(1.0 / (quote.half * quote.half));
        self.firm.push(f64::from(u8::from(quote.firm)));
    }

    fn set_last(&mut self, quote: Quote) {
        let columns = (self.mid.last_mut(), self.precision.last_mut(), self.firm.last_mut());
        if let (Some(mid), Some(precision), Some(firm)) = columns {
            (*mid, *precision) = (quote.mid, 1.0 / (quote.half * quote.half));
            *firm = f64::from(u8::from(quote.firm));
        }
    }

    fn finish(&mut self) {
        self.len = self.k.len();
        let mut firm = self.k.iter().zip(&self.firm).filter(|(_, firm)| **firm > 0.0).map(|(&k, _)| k);
        if let Some(first) = firm.next() {
            self.range = (first, firm.next_back().unwrap_or(first));
        }
        let padded = self.len.next_multiple_of(Block::N);
        for column in [&mut self.k, &mut self.mid, &mut self.precision, &mut self.firm] {
            column.resize(padded, 0.0);
        }
    }

    /// Data of the base fit: the two-sided quotes, thinned out where there are many.
    pub(super) fn base_points(&self, points: &mut Points) {
        // evenly through the strikes and not the best ones: three parameters are determined by the full width
        let every = self.len.div_ceil(QUOTES.points_most).max(1);
        let firm = (0..self.len).filter(|&i| self.firm[i] > 0.0).step_by(every);
        // penny-wide quotes near the money would outweigh the wings, which determine the shape
        let most = 1.0 / (QUOTES.half_base * QUOTES.half_base);
        points.fill(firm.map(|i| (self.k[i], self.mid[i], self.precision[i].min(most))));
    }
}

impl Candidates {
    /// Takes the rows out of the money, and those whose strike is within a factor `near` of the forward.
    ///
    /// # Domain   rows in native order; a row without a usable side is left out
    fn pick(&mut self, input: &SurfaceInput, near: f64) {
        self.strike_milli.clear();
        self.unbounded.clear();
        for column in [&mut self.ratio, &mut self.vol, &mut self.spread] {
            column.clear();
        }
        let by_fwd = 1e-3 / input.fwd;
        for (row, (&strike_milli, &right)) in input.strike_milli.iter().zip(input.right).enumerate() {
            let ratio = f64::from(strike_milli) * by_fwd;
            // out of the money the price is all time value, and spreads are the narrowest
            let otm = (right == Right::Call) == (ratio >= 1.0);
            if !otm && (ratio > near || ratio * near < 1.0) {
                continue;
            }
            let (bid, mid, ask) = (input.vol_bid[row], input.vol_mid[row], input.vol_ask[row]);
            let (vol, spread) = if input.used[row] && mid > 0.0 && ask > 0.0 {
                let by_mid = ask / mid;
                (mid, if bid > 0.0 { ask / bid } else { by_mid * by_mid })
            } else if otm && ask > 0.0 && bid.is_nan() {
                (ask, 0.0)
            } else {
                continue;
            };
            self.strike_milli.push(strike_milli);
            self.ratio.push(ratio);
            self.vol.push(vol);
            self.spread.push(spread);
            self.unbounded.push(bid.is_nan());
        }
    }

    fn take_logarithms(&mut self) {
        let padded = self.ratio.len().next_multiple_of(Block::N);
        for column in [&mut self.ratio, &mut self.vol, &mut self.spread] {
            column.resize(padded, 0.0);
            for at in column.chunks_exact_mut(Block::N) {
                ln(Block::load(at)).store(at);
            }
        }
    }

    fn quote(&self, i: usize) -> Quote {
        // the logarithm of zero is far below that of any ratio
        let firm = self.spread[i] > -500.0;
        let half = if firm { (0.5 * self.spread[i]).max(QUOTES.half_least) } else { QUOTES.half_ask_only };
        Quote { mid: self.vol[i], half, firm, unbounded: self.unbounded[i] }
    }
}

/// Call and put of one strike: the overlap of their spreads, weighted where they do not overlap. If the bid of one is
/// below the value at any volatility (in the money, perhaps best exercised at once), its mid carries little
/// information, and its ask is an upper bound for the other.
fn both(a: Quote, b: Quote) -> Quote {
    if !(a.firm && b.firm) {
        return if a.firm { a } else { b };
    }
    let ((a_low, a_high), (b_low, b_high)) = (a.ends(), b.ends());
    let (low, high) = (a_low.max(b_low), a_high.min(b_high));
    // each by its precision 1/half², multiplied out by both: no division by a spread
    let (wa, wb) = (b.half * b.half, a.half * a.half);
    let between = (wa * a.mid + wb * b.mid) / (wa + wb);
    let unbounded = a.unbounded && b.unbounded;
    if low >= high || unbounded {
        // they contradict each other, so the error is at least their distance
        let apart = 0.5 * (a.mid - b.mid).abs();
        return Quote { mid: between, half: apart.max(a.half.min(b.half)), firm: true, unbounded };
    }
    let mid = match (a.unbounded, b.unbounded) {
        (true, _) => b.mid,
        (_, true) => a.mid,
        _ => between,
    };
    Quote { mid: mid.clamp(low, high), half: (0.5 * (high - low)).max(QUOTES.half_least), firm: true, unbounded }
}

/// Median of the volatilities of the five used rows nearest to the money; NaN: none.
fn usual_vol(input: &SurfaceInput) -> f64 {
    let fwd_milli = input.fwd * 1e3;
    let strike = |row: usize| f64::from(input.strike_milli[row]);
    let mut high = input.strike_milli.partition_point(|&k| f64::from(k) < fwd_milli);
    let mut low = high;
    let (mut vols, mut n) = ([f64::NAN; QUOTES.usual_rows], 0);
    while n < vols.len() && (low > 0 || high < input.strike_milli.len()) {
        let below =
            high == input.strike_milli.len() || (low > 0 && fwd_milli - strike(low - 1) < strike(high) - fwd_milli);
        let row = if below { low - 1 } else { high };
        if below {
            low -= 1
        } else {
            high += 1
        }
        if input.used[row] && input.vol_mid[row] > 0.0 {
            vols[n] = input.vol_mid[row];
            n += 1;
        }
    }
    vols[..n].sort_unstable_by(f64::total_cmp);
    if n == 0 { f64::NAN } else { vols[n / 2] }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quote(low: f64, high: f64) -> Quote {
        Quote { mid: 0.5 * (low + high), half: 0.5 * (high - low), firm: true, unbounded: false }
    }

    #[test]
    fn what_call_and_put_both_allow_is_what_the_strike_says() {
        let one = both(quote(-1.0, -0.8), quote(-0.9, -0.5));
        assert!((one.half - 0.05).abs() < 1e-12 && (-0.9..=-0.8).contains(&one.mid));
        assert!(one.firm && !one.unbounded);
    }

    #[test]
    fn a_bid_below_every_volatility_bounds_from_above_alone() {
        let put = quote(-1.0, -0.8);
        let call = |mid: f64, half: f64| Quote { mid, half, firm: true, unbounded: true };
        // its mid is far above the put's: there is no lower bound of the volatility, so the put decides
        let far = both(call(-0.3, 0.2), put);
        assert_eq!((far.mid, far.half, far.unbounded), (put.mid, put.half, false));
        // its ask is inside the put's spread
        let inside = both(put, call(-1.5, 0.65));
        assert!((inside.half - 0.075).abs() < 1e-12 && inside.mid <= -0.85, "{} {}", inside.mid, inside.half);
        // its ask is below the put's bid: the two contradict each other
        assert!(both(put, call(-1.5, 0.2)).half > put.half);
    }
}
