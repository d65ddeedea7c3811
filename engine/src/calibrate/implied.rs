//! Volatilities at bid, mid and ask of every row of one expiry. Never: smoothing.

use super::carry::Carry;
use super::clean::Quotes;
use super::input::SliceInput;
use super::remembered::{self, Recalled, RememberedVol, RememberedVols, key};
use super::search::{Open, search};
use super::settings::IMPLIED;
use super::slice_work::{SliceState, SliceWork};
use crate::early::{EarlyExercise, PremiumByVol, Valuation, european};
use crate::store::drop_reason::DropReason;
use crate::store::ladder::Ladder;
use kernel::black76::Horizon;
use kernel::contract::{Right, Style};
use kernel::dividends::Terms;
use kernel::implied::{Near, Sought, implied, implied_near};
use kernel::lanes::{BLOCK, Block, Lanes, Mask};

/// Implied volatilities of a slice on its carry.
///
/// # Shapes   volatilities by row; NaN where a side is missing or no volatility gives its price
/// # Units    per √year
/// # Domain   a carry with a forward, and a spot above the dividends; otherwise everything is missing
/// # Accuracy 5e-5 of the volatility, and a hundredth of half a spread, if early exercise is remembered
/// (`IMPLIED.allowed`); 3e-3, the lattice's, after a search
/// # Source   Newton on European value and premium curve; docs/model.md, step 4
pub fn imply_vols(input: &SliceInput, carry: &Carry, slice: &mut SliceWork) {
    let before = slice.state.last.replace((carry.fwd, carry.b));
    slice.begin(carry);
    slice.terms.b = carry.b;
    if carry.fwd.is_nan() || carry.s <= slice.terms.a(0.0) {
        return;
    }
    let SliceWork { state, terms, quotes, found, open, updated, vol_mid, vol_bid, vol_ask, .. } = slice;
    let SliceState { ladder, early, sigma, searched, .. } = state;
    let mut vols = [vol_mid, vol_bid, vol_ask];
    start_vols(input, terms, carry.fwd, quotes, ladder, sigma);
    let here = input.valuation(carry.s, terms);
    let preliminary = !input.quality.is_final();
    let jumped = before.is_none_or(|(_, b)| (b - carry.b).abs() * terms.t > IMPLIED.carry_moved);
    if input.style == Style::American && (updated.is_none() || jumped) {
        // the first update of the pass, if no carry was known before or it was far away
        let mut all = input.update_early(early, &here, ladder, sigma);
        all += updated.unwrap_or_default();
        *updated = Some(all);
    }
    let mut memory = Memory { before: RememberedVols::new(searched), now: found, open };
    memory.now.clear();
    memory.open.clear();
    for block in 0..ladder.blocks() {
        for right in [Right::Call, Right::Put] {
            imply_sides(&BlockSide { here, right, block, ladder, early, quotes }, sigma, &mut memory, &mut vols);
        }
    }
    memory.before.rest(&here, memory.now);
    if preliminary {
        // a first look skips the other blocks
        let fwd = terms.fwd(carry.s);
        open.retain(|o| {
            (o.k - fwd.max(carry.s)) * o.right.phi() > 0.0 || (o.k - fwd.min(carry.s)) * o.right.phi() > 0.0
        });
    }
    if !open.is_empty() {
        slice.searched = u32::try_from(open.len()).unwrap_or(u32::MAX);
        search(&here, open, |open, vol| vols[open.which][open.row] = vol, found);
        found.sort_unstable_by_key(RememberedVol::key);
    }
    // results of a preliminary pass must not replace a search
    remembered::replace(searched, if preliminary { &[] } else { found });
    slice.order_sides();
    for (row, &two_sided) in slice.quotes.two_sided.iter().enumerate() {
        if two_sided {
            slice.used[row] = slice.vol_ask[row].is_finite() && slice.vol_mid[row].is_finite();
            if !slice.used[row] {
                slice.fault[row] = Some(DropReason::NoArbitrage);
            }
        }
    }
}

impl SliceWork {
    /// Marks quotes as outliers that the fitted volatility, by row, misses by several times their spread; `shift` was
    /// added to that volatility.
    pub fn find_outliers(&mut self, svc_vol: &[f64], shift: f64) {
        let Self { fault, used, vol_bid, vol_mid, vol_ask, .. } = self;
        for (row, fault) in fault.iter_mut().enumerate().filter(|(row, _)| used[*row]) {
            let (bid, mid, ask) = (vol_bid[row], vol_mid[row], vol_ask[row]);
            let half = if bid > 0.0 { 0.5 * (ask - bid) } else { ask - mid };
            if (svc_vol[row] - shift - mid).abs() > IMPLIED.outlier_halves * half.max(IMPLIED.outlier_half_least * mid)
            {
                *fault = Some(DropReason::Outlier);
            }
        }
    }

    /// Orders bid and ask volatilities: searches can end within their tolerance on the wrong side of each other.
    fn order_sides(&mut self) {
        for (bid, ask) in self.vol_bid.iter_mut().zip(&mut self.vol_ask) {
            if *bid > *ask {
                core::mem::swap(bid, ask);
            }
        }
    }

    /// Takes the carry, without volatilities yet.
    fn begin(&mut self, carry: &Carry) {
        let n_rows = self.quotes.bid.len();
        (self.fwd, self.fwd_error, self.borr) = (carry.fwd, carry.fwd_error, carry.b);
        (self.und, self.s) = (carry.und, carry.s);
        for vols in [&mut self.vol_bid, &mut self.vol_mid, &mut self.vol_ask] {
            vols.clear();
            vols.resize(n_rows, f64::NAN);
        }
        self.used.clear();
        self.used.resize(n_rows, false);
        self.fault.clone_from(&self.quotes.fault);
        self.refused = carry.refused;
        self.searched = 0;
    }
}

/// One right of a block of strikes.
struct BlockSide<'a> {
    here: Valuation<'a>,
    right: Right,
    block: usize,
    ladder: &'a Ladder,
    early: &'a EarlyExercise,
    quotes: &'a Quotes,
}

/// Searches of the last pass, results that this pass keeps, and searches that it needs.
struct Memory<'a> {
    before: RememberedVols<'a>,
    now: &'a mut Vec<RememberedVol>,
    open: &'a mut Vec<Open>,
}

/// Implies volatilities at bid, mid and ask of one right of a block. The mid starts from the last curve's volatility,
/// bid and ask a step from the mid's.
///
/// # Shapes   `sigma` by strike, padded; `vols` at mid, bid and ask, by row
/// # Accuracy `IMPLIED.allowed` of the volatility and `IMPLIED.allowed_of_step` of the step; where the remembered
/// premium cannot promise that, the price is left open for a search
/// # Cost     three solutions of eight lanes
fn imply_sides(side: &BlockSide<'_>, sigma: &[f64], memory: &mut Memory<'_>, vols: &mut [&mut Vec<f64>; 3]) {
    let BlockSide { here, right, block, ladder, early, quotes } = *side;
    let k = ladder.block(block);
    let premium = early.by_sigma(&here, right, block);
    // values by expansions of a lattice are final here, as a search by a lattice would not be more accurate
    let preliminary = !here.quality.is_final();
    // `from`: where the curve or the mid has the volatility
    let mut find = |which: usize, search: &VolSearch, from: Block| {
        let near = imply_block(&here, right, search, &premium);
        let allowed = near.sigma * IMPLIED.allowed + (near.sigma - from).abs() * IMPLIED.allowed_of_step;
        let found = near.sigma.gt(Block::splat(0.0));
        let sure = if preliminary { found } else { premium.doubt(near.sigma).le(allowed * near.last.vega()) };
        let open = near.wanted & !sure;
        if !open.any() {
            return (near.sigma, near);
        }
        let mut numbers = [0.0; BLOCK];
        near.sigma.store(&mut numbers);
        remember(side, which, search, open, &mut numbers, memory);
        (Block::load(&numbers), near)
    };
    let curve = start_of(sigma, block);
    let price = |column: &[f64]| ladder.gather(right, block, column);
    let (mid, near) = find(0, &VolSearch { k, price: price(&quotes.mid), start: curve }, curve);
    let zero = Block::splat(0.0);
    let (from, floor) = (Block::select(mid.gt(zero), mid, curve), here.floor(right, k));
    // a step from the mid's evaluation leaves one evaluation to bid and ask of usual spreads
    let mut side_of = |which: usize, column: &[f64]| {
        let price = price(column);
        let start = Block::select(near.sigma.gt(zero), near.last.near(price - floor), from);
        find(which, &VolSearch { k, price, start }, from).0
    };
    let (low, high) = (side_of(1, &quotes.bid), side_of(2, &quotes.ask));
    for (vol, column) in [mid, low, high].into_iter().zip(vols) {
        let mut numbers = [0.0; BLOCK];
        vol.store(&mut numbers);
        ladder.scatter(right, block, &numbers, column);
    }
}

fn start_of(sigma: &[f64], block: usize) -> Block {
    Block::load(&sigma[block * BLOCK..])
}

/// Sets volatilities of the `open` lanes from the last pass's searches if those still apply; the others are left to a
/// search, and NaN until then.
///
/// # Shapes   `numbers` are the lanes of the block; only open ones change
/// # Domain   keys ascend from call to call, as `RememberedVols` reads the last pass once, from begin to end
fn remember(
    side: &BlockSide<'_>,
    which: usize,
    asked: &VolSearch,
    open: <Block as Lanes>::Mask,
    numbers: &mut [f64; BLOCK],
    memory: &mut Memory<'_>,
) {
    let BlockSide { here, right, block, ladder, .. } = *side;
    let VolSearch { k, price, start } = *asked;
    let floor = here.floor(right, k);
    for lane in (0..BLOCK).filter(|&lane| open.lane(lane)) {
        let Some(row) = ladder.row(right, block * BLOCK + lane) else { continue };
        let (key, price) = (key(block, right, which, lane), price.lane(lane));
        // from the remembered premium, or at least from the curve
        let near = numbers[lane];
        let (start, near) = match memory.before.get(key, &here, right.phi(), price, floor.lane(lane), memory.now) {
            Recalled::Same(searched, vol) => {
                memory.now.push(searched);
                numbers[lane] = vol;
                continue;
            }
            Recalled::About(vol) => (vol, true),
            Recalled::Nothing if near.is_finite() => (near, true),
            Recalled::Nothing => (start.lane(lane), false),
        };
        memory.open.push(Open { key, right, row, which, k: k.lane(lane), price, start, near });
        numbers[lane] = f64::NAN;
    }
}

/// Prices of a block of strikes, and the volatilities from which the search starts.
#[derive(Clone, Copy, Debug)]
pub(super) struct VolSearch {
    pub(super) k: Block,
    pub(super) price: Block,
    pub(super) start: Block,
}

/// Implies volatilities of one right of a block from remembered early exercise.
#[inline(always)]
pub(super) fn imply_block(
    here: &Valuation<'_>,
    right: Right,
    asked: &VolSearch,
    premium: &PremiumByVol,
) -> Near<Block> {
    let VolSearch { k, price, start } = *asked;
    let horizon = Horizon::from(here.terms);
    let sought = Sought {
        phi: right.phi(),
        at: &horizon,
        x: Block::splat(here.s - here.terms.a(0.0)),
        k,
        floor: here.floor(right, k),
    };
    implied_near(&sought, |sigma| premium.at(sigma), price, start)
}

/// Sets first volatilities by strike: those of the last curve. Without a curve, European volatilities of the mids out
/// of the money, elsewhere those of the nearest strike, raised to the volatility of half of a lone ask. The nearer they
/// are to the curve to come, the fewer tables are built in vain. Returns true if there was no curve.
///
/// # Shapes   `sigma` by strike, padded to blocks
/// # Units    per √year
/// # Accuracy none is promised: first guesses
pub(super) fn start_vols(
    input: &SliceInput,
    terms: &Terms,
    fwd: f64,
    quotes: &Quotes,
    ladder: &Ladder,
    sigma: &mut Vec<f64>,
) -> bool {
    let strikes = ladder.strikes();
    if sigma.len() == strikes.len() && sigma.iter().all(|v| v.is_finite()) {
        return false;
    }
    sigma.clear();
    sigma.resize(strikes.len(), f64::NAN);
    let mut lone = vec![f64::NAN; strikes.len()];
    let plain = european(terms);
    // the spot that gives this forward, which while the forward is sought is not the published one
    let s = fwd * (-(terms.r - terms.b) * terms.t).exp() + terms.a(0.0);
    let plain = [plain[0].at(terms, s), plain[1].at(terms, s)];
    for block in 0..ladder.blocks() {
        let k = ladder.block(block);
        let gather = |right: Right, column: &[f64]| ladder.gather(right, block, column);
        // near the bend of the logarithm of the time value, from where Newton's method converges well
        let bend = |k: f64| {
            (IMPLIED.bend * (k / fwd).ln().abs() / input.t.sqrt()).clamp(IMPLIED.bend_least, IMPLIED.bend_most)
        };
        let first = Block::load(&core::array::from_fn::<f64, BLOCK, _>(|lane| bend(k.lane(lane))));
        let calls = Block::splat(fwd).le(k);
        let vol = |price: &dyn Fn(Right) -> Block| {
            let of = |right: Right| implied(&plain[right as usize], k, price(right), first).sigma;
            Block::select(calls, of(Right::Call), of(Right::Put))
        };
        vol(&|right| gather(right, &quotes.mid)).store(&mut sigma[block * BLOCK..]);
        vol(&|right| gather(right, &quotes.ask) * 0.5).store(&mut lone[block * BLOCK..]);
    }
    let known: Vec<bool> = sigma.iter().map(|v| v.is_finite()).collect();
    if known.contains(&true) {
        fill_gaps(strikes, sigma)
    } else {
        sigma.fill(IMPLIED.unknown)
    }
    for ((sigma, lone), _) in sigma.iter_mut().zip(lone).zip(known).filter(|(_, known)| !known) {
        *sigma = lone.max(*sigma).min(IMPLIED.lone_most * *sigma);
    }
    true
}

/// Sets volatilities of the previous session by strike, for an expiry of a name without any usable quote; gaps take the
/// nearest. Without any, all are missing.
pub fn carried_over(ladder: &Ladder, prev_vol: &[f64], sigma: &mut [f64]) {
    let n = ladder.len();
    for (strike, sigma) in sigma.iter_mut().enumerate() {
        let vol = |right| ladder.row(right, strike.min(n.saturating_sub(1))).map_or(f64::NAN, |row| prev_vol[row]);
        let (call, put) = (vol(Right::Call), vol(Right::Put));
        *sigma = if call.is_nan() { put } else { call };
    }
    fill_gaps(ladder.strikes(), sigma);
}

/// Fills gaps with the nearest value, if there is any.
fn fill_gaps(strikes: &[f64], sigma: &mut [f64]) {
    let known: Vec<usize> = (0..sigma.len()).filter(|&i| sigma[i].is_finite()).collect();
    if known.is_empty() {
        return;
    }
    let mut next = 0;
    for i in 0..sigma.len() {
        while next + 1 < known.len() {
            let away = |j: usize| (strikes[known[j]] - strikes[i]).abs();
            if away(next + 1) > away(next) {
                break;
            }
            next += 1;
        }
        sigma[i] = sigma[known[next]];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calibrate::testing::{calibrated, fair};

    const STRIKES: [u32; 9] = [80, 85, 90, 95, 100, 105, 110, 115, 120];

    #[test]
    fn volatilities_are_those_that_quotes_were_made_with() {
        for style in [Style::European, Style::American] {
            let out = calibrated(&fair(style, 100.0, 0.5, 0.25, &STRIKES, 0.005));
            for row in 0..out.vol_mid.len() {
                let (low, mid, high) = (out.vol_bid[row], out.vol_mid[row], out.vol_ask[row]);
                assert!((mid - 0.25).abs() < 1e-3, "{style:?}, row {row}: {mid}");
                assert!(low < mid && mid < high && out.used[row], "{style:?}, row {row}: {low} {mid} {high}");
            }
        }
    }

    #[test]
    fn a_price_that_no_volatility_gives_has_none_and_says_so() {
        let strikes = [80, 90, 95, 100, 105, 110, 120, 150];
        let mut slice = fair(Style::American, 100.0, 0.5, 0.25, &strikes, 0.02);
        // exercised the put of 150 pays 50; a late spot may explain less, but no volatility
        let row = 2 * strikes.len() - 1;
        (slice.bid[row], slice.ask[row]) = (49.96, 49.98);
        let out = calibrated(&slice);
        assert!(out.vol_mid[row].is_nan() && out.vol_ask[row].is_nan() && !out.used[row]);
        assert_eq!(out.fault[row], Some(DropReason::NoArbitrage));
        assert_eq!(out.fault.iter().flatten().count(), 1, "{:?}", out.fault);
    }

    #[test]
    fn an_outlier_is_what_the_curve_misses_by_many_half_spreads() {
        let mut out = SliceWork {
            vol_bid: vec![0.19, 0.19, f64::NAN, 0.2],
            vol_mid: vec![0.20, 0.20, 0.20, 0.2],
            vol_ask: vec![0.21, 0.21, 0.21, 0.2],
            used: vec![true, false, true, true],
            fault: vec![None; 4],
            ..SliceWork::default()
        };
        out.find_outliers(&[0.32, 0.32, 0.30, 0.253], 0.05);
        // seven half spreads; not used; five of the upper half; locked, ten times the least half
        assert_eq!(out.fault, [Some(DropReason::Outlier), None, None, Some(DropReason::Outlier)]);
    }

    #[test]
    fn gaps_take_the_nearest_known_volatility() {
        let nan = f64::NAN;
        let strikes = [10.0, 20.0, 30.0, 50.0, 60.0];
        let mut sigma = [nan, 0.3, nan, nan, 0.5];
        fill_gaps(&strikes, &mut sigma);
        assert_eq!(sigma.map(|vol| (vol * 10.0) as u32), [3, 3, 3, 5, 5]);
        let mut none = [nan; 5];
        fill_gaps(&strikes, &mut none);
        assert!(none.iter().all(|vol| vol.is_nan()));
    }

    #[test]
    fn sides_that_searches_left_out_of_order_are_put_in_order() {
        let mut out = SliceWork { vol_bid: vec![0.31, f64::NAN], vol_ask: vec![0.30, 0.2], ..SliceWork::default() };
        out.order_sides();
        assert!(out.vol_bid[0] < out.vol_ask[0] && out.vol_bid[1].is_nan());
    }
}
