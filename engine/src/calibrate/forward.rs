//! The forward of one expiry from put-call parity: C − P = df·(F − K) over strikes near the money, each weighted by
//! its spread, outliers losing weight. Never: an implied volatility.
//!
//! Each pair gives its own forward K + (C − P)/df. They should agree. If the discount factor is slightly off they drift
//! linearly in K − F, so a line is fitted (its slope held near zero) and read at K = F.

use super::clean::Quotes;
use super::input::SliceInput;
use super::settings::FORWARD;
use crate::store::ladder::Ladder;
use kernel::contract::{ForwardBasis, Right, Style};

/// √(2/π): the straddle at the money per σ√t of the forward.
const STRADDLE_PER_SD: f64 = 0.797_884_560_802_865_4;

/// Call and put of one strike, both two-sided.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pair {
    /// Index of the strike in its ladder.
    pub strike: usize,
    /// Strike, currency per share.
    pub k: f64,
    /// Call mid less put mid, without the exercise premium: European C − P.
    pub gap: f64,
    /// Sum of the half spreads of the two.
    pub half: f64,
    /// Call mid plus put mid.
    pub straddle: f64,
}

/// A forward with its standard error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Parity {
    /// Forward, currency per share; NaN: no pair.
    pub fwd: f64,
    /// Standard error, currency per share; NaN: no pair.
    pub error: f64,
    /// σ√t near the money from straddles; NaN: no pair.
    pub sd: f64,
    /// Number of pairs near the money that agree on the forward, at least 1; 0: no pair.
    pub pairs: u32,
}

impl Default for Parity {
    fn default() -> Self {
        Self::NONE
    }
}

impl Parity {
    /// No pair, no forward.
    pub const NONE: Self = Self { fwd: f64::NAN, error: f64::NAN, sd: f64::NAN, pairs: 0 };
}

/// Finds the strikes where call and put both have two sides.
pub fn pair_quotes(ladder: &Ladder, quotes: &Quotes, pairs: &mut Vec<Pair>) {
    pairs.clear();
    for (strike, &k) in ladder.strikes()[..ladder.len()].iter().enumerate() {
        let (Some(call), Some(put)) = (ladder.row(Right::Call, strike), ladder.row(Right::Put, strike)) else {
            continue;
        };
        if quotes.two_sided[call] && quotes.two_sided[put] {
            pairs.push(Pair {
                strike,
                k,
                gap: quotes.mid[call] - quotes.mid[put],
                half: quotes.half(call) + quotes.half(put),
                straddle: quotes.mid[call] + quotes.mid[put],
            });
        }
    }
}

/// Leaves out pairs whose forward no carry explains, if other pairs remain; `s` is the spot that the options are quoted
/// against, NaN: unknown.
pub fn keep_near(pairs: &mut Vec<Pair>, s: f64, input: &SliceInput) {
    let df = (-input.r * input.t).exp();
    // df·F is the spot less dividends and borrow: known dividends lower the lower bound; the upper bound has no such
    // term
    let (low, high) = {
        let wide = if input.basis == ForwardBasis::Spot { FORWARD.plausible } else { FORWARD.plausible_parity };
        let far = (wide + FORWARD.plausible_per_year * input.t).exp();
        (s / far - input.divs.iter().map(|d| d.amount).sum::<f64>(), s * far)
    };
    let near = |p: &Pair| {
        let s = df * p.k + p.gap;
        low <= s && s <= high
    };
    if s > 0.0 {
        pairs.retain(near);
    }
}

/// Leaves out the pairs whose call may be worth exercising whatever the forward is, if other pairs remain. With borrow
/// of any size these are calls in the money.
pub fn keep_alive(pairs: &mut Vec<Pair>, s: f64, input: &SliceInput) {
    let alive = pairs.iter().filter(|pair| pair.k >= s).count();
    if input.style == Style::American && alive >= FORWARD.alive_least {
        pairs.retain(|pair| pair.k >= s);
    }
}

/// The forward that one pair implies, and its weight.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PairVote {
    /// Strike, currency per share.
    pub k: f64,
    /// The implied forward, currency per share.
    pub fwd: f64,
    /// Error of the forward by the spreads, currency per share.
    pub error: f64,
    /// Nearness of the strike to the money, 0 to 1.
    pub near: f64,
    /// Agreement with the other pairs, 0 to 1.
    pub agrees: f64,
    /// Share of the total weight.
    pub share: f64,
}

/// The line that pairs are measured against.
#[derive(Clone, Copy, Debug)]
struct ForwardLine {
    /// Forward, currency per share.
    fwd: f64,
    /// σ√t near the money.
    sd: f64,
    /// Drift of the pairs' forwards in K − F.
    slope: f64,
    /// Scatter of the pairs, in their own errors.
    scale: f64,
}

impl ForwardLine {
    /// The vote of a pair: its `share` is its weight, 1/variance.
    fn vote(&self, p: &Pair, df: f64) -> (PairVote, f64) {
        let x = p.k - self.fwd;
        let e = p.half / df;
        let miss = (x + p.gap / df - self.slope * x) / (e * self.scale);
        // a Gaussian and not an edge, so that no pair jumps in or out while the forward moves
        let near = (-0.5 * (x / (FORWARD.near_money * self.sd * self.fwd)).powi(2)).exp();
        // Cauchy: a pair that is ten errors off pulls like one that is a tenth of an error off
        let believed = near / (1.0 + miss * miss);
        let agrees = 1.0 / (1.0 + miss * miss);
        (PairVote { k: p.k, fwd: p.k + p.gap / df, error: e, near, agrees, share: believed / (e * e) }, miss)
    }
}

/// The forward on which the pairs agree.
///
/// # Units    df: 1 · t: years
/// # Domain   any pairs; none gives [`Parity::NONE`] · `sorted` is scratch space
/// # Source   docs/model.md, step 3; iterated reweighting with Cauchy weights, scale from the spreads and the scatter
#[must_use]
pub fn fit_forward(pairs: &[Pair], df: f64, t: f64, sorted: &mut Vec<(f64, f64)>) -> Parity {
    fit_wide(pairs, df, t, 0.0, sorted)
}

/// Fits a forward as [`fit_forward`], with all strikes within `sd` of the forward, relative to it, near the money.
#[must_use]
pub fn fit_wide(pairs: &[Pair], df: f64, t: f64, sd: f64, sorted: &mut Vec<(f64, f64)>) -> Parity {
    fit(pairs, df, t, sd, sorted).map_or(Parity::NONE, |(parity, _)| parity)
}

/// Returns the forward and the vote of each pair, in their order; no votes without a forward.
#[must_use]
pub fn pair_votes(pairs: &[Pair], df: f64, t: f64) -> (Parity, Vec<PairVote>) {
    let Some((parity, line)) = fit(pairs, df, t, 0.0, &mut Vec::new()) else { return (Parity::NONE, Vec::new()) };
    let mut votes: Vec<PairVote> = pairs.iter().map(|pair| line.vote(pair, df).0).collect();
    let all: f64 = votes.iter().map(|vote| vote.share).sum();
    votes.iter_mut().for_each(|vote| vote.share /= all);
    (parity, votes)
}

/// The forward, and the line that pairs were last measured against.
///
/// # Domain   as [`fit_forward`]; `None`: no pair with any weight
fn fit(pairs: &[Pair], df: f64, t: f64, sd_least: f64, sorted: &mut Vec<(f64, f64)>) -> Option<(Parity, ForwardLine)> {
    // Cauchy weights have several minima, and the start decides which is found: rounds start at the median, which half
    // of the weight cannot move far
    let (mut fwd, sd) = median_forward(pairs, df, sorted)?;
    let sd = sd.max(sd_least);
    let mut scale = 1.0;
    let mut sums = ForwardSums::default();
    let mut slope = 0.0;
    for _ in 0..FORWARD.rounds {
        sums = ForwardSums::default();
        let line = ForwardLine { fwd, sd, slope, scale };
        for p in pairs {
            let (vote, miss) = line.vote(p, df);
            let x = p.k - fwd;
            let believed = vote.near / (1.0 + miss * miss);
            sums.add(x, x + p.gap / df, vote.share, vote.near, miss.abs() * scale, believed);
        }
        // in K − F a wrong discount factor is a slope, and at K = F it has no effect: the intercept is the forward
        let slope_sd = FORWARD.slope_prior * t.sqrt();
        let (shift, new_slope) = sums.solve(1.0 / (slope_sd * slope_sd), fwd);
        if !shift.is_finite() {
            return None;
        }
        fwd += shift;
        slope = new_slope;
        // the mean miss and not its square: one pair that is far off must not make all others credible
        let before = scale;
        scale = ((sums.miss + FORWARD.few) / (sums.near + FORWARD.few)).clamp(FORWARD.scale_least, FORWARD.scale_most);
        if shift.abs() < FORWARD.settled * fwd && (scale - before).abs() < FORWARD.scale_settled * scale {
            break;
        }
    }
    // 1/√Σw of a weighted mean, in units of the scatter of the pairs
    let error = (scale / sums.w.sqrt()).max(FORWARD.error_least * fwd);
    let parity = Parity { fwd, error, sd, pairs: sums.believed.round().max(1.0) as u32 };
    Some((parity, ForwardLine { fwd, sd, slope, scale }))
}

/// Moments of the pair forwards about the last forward.
#[derive(Clone, Copy, Debug, Default)]
struct ForwardSums {
    w: f64,
    wx: f64,
    wxx: f64,
    wy: f64,
    wxy: f64,
    near: f64,
    miss: f64,
    /// Sum of the agreement of pairs near the money.
    believed: f64,
}

impl ForwardSums {
    fn add(&mut self, x: f64, y: f64, w: f64, near: f64, miss: f64, believed: f64) {
        self.w += w;
        self.wx += w * x;
        self.wxx += w * x * x;
        self.wy += w * y;
        self.wxy += w * x * y;
        self.near += near;
        self.believed += believed;
        self.miss += near * miss.min(FORWARD.miss_most);
    }

    /// Intercept and slope of y on x; `prior` is the precision of the prior that the slope is zero.
    fn solve(&self, prior: f64, fwd: f64) -> (f64, f64) {
        let xx = self.wxx + prior;
        let det = self.w * xx - self.wx * self.wx;
        // one pair, or pairs at one strike: no slope, the mean
        if !(det > 1e-12 * self.w * xx && self.w > 0.0) {
            return (self.wy / self.w, 0.0);
        }
        let shift = (xx * self.wy - self.wx * self.wxy) / det;
        let slope = (self.w * self.wxy - self.wx * self.wy) / det;
        (shift.clamp(-FORWARD.fall_most * fwd, FORWARD.rise_most * fwd), slope)
    }
}

/// Weighted median of the pair forwards, then σ√t from the straddles about it.
fn median_forward(pairs: &[Pair], df: f64, by_fwd: &mut Vec<(f64, f64)>) -> Option<(f64, f64)> {
    by_fwd.clear();
    by_fwd.extend(pairs.iter().map(|p| (p.k + p.gap / df, 1.0 / (p.half * p.half))).filter(|p| p.0 > 0.0));
    by_fwd.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let half = 0.5 * by_fwd.iter().map(|p| p.1).sum::<f64>();
    let mut sum = 0.0;
    let fwd = by_fwd.iter().find(|p| {
        sum += p.1;
        sum >= half
    })?;
    let fwd = fwd.0;
    // A straddle is worth |F − K| at least; its time value near the money is 0.8·df·F·σ√t.
    let sd = |pair: &Pair| {
        let miss = pair.k - fwd;
        let straddle = (pair.straddle / df).max(miss.abs());
        (straddle * straddle - miss * miss).sqrt() / (STRADDLE_PER_SD * fwd)
    };
    // a median again: one stale straddle would set the unit of distance for all
    let middle = pairs.partition_point(|pair| pair.k < fwd);
    let near =
        &pairs[middle.saturating_sub(FORWARD.straddles / 2)..(middle + FORWARD.straddles.div_ceil(2)).min(pairs.len())];
    let mut sds = [f64::NAN; FORWARD.straddles];
    sds.iter_mut().zip(near).for_each(|(to, pair)| *to = sd(pair));
    sds[..near.len()].sort_unstable_by(f64::total_cmp);
    let sd = sds[near.len().checked_sub(1)? / 2];
    Some((fwd, sd.clamp(FORWARD.sd_least, FORWARD.sd_most)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(k: f64, gap: f64, half: f64) -> Pair {
        Pair { strike: 0, k, gap, half, straddle: gap.abs() + 3.0 }
    }

    #[test]
    fn exact_pairs_give_their_forward_whatever_the_spreads() {
        let (fwd, df) = (103.7, 0.97);
        let pairs: Vec<_> =
            (0..15).map(|i| 90.0 + 2.0 * f64::from(i)).map(|k| pair(k, df * (fwd - k), 0.05 + 0.01 * k)).collect();
        let fit = fit_forward(&pairs, df, 0.5, &mut Vec::new());
        assert!((fit.fwd - fwd).abs() < 1e-9, "{fit:?}");
    }

    #[test]
    fn one_wild_pair_moves_nothing_much() {
        let (fwd, df) = (50.0, 1.0);
        let mut pairs: Vec<_> =
            (0..9).map(|i| 46.0 + f64::from(i)).map(|k| pair(k, fwd - k + 0.01 * k.sin(), 0.05)).collect();
        pairs[4].gap += 4.0;
        let fit = fit_forward(&pairs, df, 0.1, &mut Vec::new());
        assert!((fit.fwd - fwd).abs() < 0.02, "{fit:?}");
        // and its vote says so
        let (parity, votes) = pair_votes(&pairs, df, 0.1);
        assert_eq!(parity, fit);
        assert!((votes.iter().map(|vote| vote.share).sum::<f64>() - 1.0).abs() < 1e-12);
        assert!(
            (votes[4].fwd - fwd - 4.0).abs() < 0.02 && votes[4].agrees < 0.01 && votes[4].share < 0.01,
            "{votes:?}"
        );
        assert!(votes[3].agrees > 0.5 && votes[3].near > 0.5, "{votes:?}");
        let (none, nobody) = pair_votes(&[], df, 0.1);
        assert!(none.fwd.is_nan() && nobody.is_empty());
    }

    #[test]
    fn a_wrong_discount_factor_is_seen_as_a_slope() {
        let (fwd, df) = (4500.0, 0.95);
        let pairs: Vec<_> =
            (0..60).map(|i| 3800.0 + 20.0 * f64::from(i)).map(|k| pair(k, df * 1.002 * (fwd - k), 1.0)).collect();
        let fit = fit_forward(&pairs, df, 1.0, &mut Vec::new());
        assert!((fit.fwd - fwd).abs() < 0.02, "{fit:?}");
    }

    #[test]
    fn no_pair_gives_no_forward_and_one_pair_its_own() {
        assert!(fit_forward(&[], 1.0, 0.1, &mut Vec::new()).fwd.is_nan());
        let one = fit_forward(&[pair(10.0, 0.25, 0.1)], 1.0, 0.1, &mut Vec::new());
        assert!((one.fwd - 10.25).abs() < 1e-9 && one.error > 0.0, "{one:?}");
    }
}
