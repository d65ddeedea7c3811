//! Constraints among the quotes of one name, whatever the model: bounds by spot and strike, order and convexity in
//! strike, order in expiry. A quote is the interval from bid to ask. The largest set of quotes through which
//! arbitrage-free values can pass is kept; the others are dropped with the rule that they break.
//!
//! Order in strike (a call is worth no more than one of a lower strike, and no less than that less the distance of the
//! strikes) is a rule of pairs: the quote that contradicts the greatest weight of others is dropped first. Convexity is
//! checked by the convex minorant of the asks, the dearest curve that the asks allow: a bid above it contradicts the
//! asks beside it, and of the three quotes the one is dropped whose absence leaves the smallest contradiction. Source:
//! the constraints are C1 to C6 of Cohen, Reisinger and Wang (2020), Detecting and repairing arbitrage in traded option
//! prices; where their linear program moves a price out of its quote, this drops the quote. Never: a volatility, a
//! formula of a model.

use super::clean::Quotes;
use super::input::SliceInput;
use super::settings::CONSISTENCY;
use crate::store::drop_reason::DropReason;
use crate::store::ladder::Ladder;
use kernel::contract::{Right, Style};

/// The money, for the weights of quotes.
#[derive(Clone, Copy, Debug)]
pub struct Moneyness {
    /// Spot that the options are quoted against, currency per share.
    pub s: f64,
    /// σ√t near the money.
    pub sd: f64,
}

/// Drops the quotes that no volatility explains at any spot near `s`: calls bid above the spot, puts bid above the
/// strike, asks below what exercise pays.
pub fn drop_out_of_bounds(input: &SliceInput, s: f64, quotes: &mut Quotes) {
    // without a spot there is no bound; the quotes are judged against each other alone
    if !(s > 0.0 && s.is_finite()) {
        return;
    }
    let divs: f64 = input.divs.iter().map(|d| d.amount).sum();
    // spot and quotes are seldom of one instant, and the carry is not settled yet: so a tighter bound would drop good
    // quotes
    let slack = s * (CONSISTENCY.spot_slack + CONSISTENCY.carry_slack * input.t.min(1.0));
    for (row, &right) in input.right.iter().enumerate() {
        let k = input.strike(row);
        // a European option pays at expiry only: the forward may be below the spot by dividends, borrow and rates
        let late = if input.style == Style::American { 0.0 } else { divs + (input.r.abs() * input.t).min(1.0) * k };
        let (most, least) = match right {
            Right::Call => (s, s - k - slack - late),
            Right::Put => (
                k * (1.0 + CONSISTENCY.put_slack + CONSISTENCY.carry_slack * (-input.r * input.t).max(0.0)),
                k - s - slack - late,
            ),
        };
        let (bid, ask) = (quotes.bid[row], quotes.ask[row]);
        if bid > most || ask < least {
            quotes.reject(row, DropReason::OutOfBounds);
        }
    }
}

/// Finds the quotes of one expiry that contradict others; kept for its memory.
#[derive(Clone, Debug, Default)]
pub struct StrikeOrder {
    /// Coordinate in which values of both rights fall: the strike of calls, minus the strike of puts.
    x: Vec<f64>,
    bid: Vec<f64>,
    ask: Vec<f64>,
    weight: Vec<f64>,
    row: Vec<usize>,
    blame: Vec<f64>,
    hull: Vec<usize>,
    /// The dearest values that the asks allow, by quote.
    most: Vec<f64>,
}

impl StrikeOrder {
    /// Drops the quotes that break order or convexity in strike; returns true if there was one.
    ///
    /// # Cost     20 ns a strike and right where nothing is wrong
    pub fn clean(&mut self, input: &SliceInput, ladder: &Ladder, money: Moneyness, quotes: &mut Quotes) -> bool {
        let mut dropped = false;
        for right in [Right::Call, Right::Put] {
            self.read(input, ladder, right, money, quotes);
            // one linear pass settles most slices; the quadratic search below is for those with a fault
            if self.worst().is_none() {
                continue;
            }
            let before = self.x.len();
            self.order(quotes);
            self.convexity(quotes);
            dropped |= self.x.len() < before;
        }
        dropped
    }

    /// Takes the quotes of one right, ascending in `x`.
    fn read(&mut self, input: &SliceInput, ladder: &Ladder, right: Right, money: Moneyness, quotes: &Quotes) {
        for column in [&mut self.x, &mut self.bid, &mut self.ask, &mut self.weight] {
            column.clear();
        }
        self.row.clear();
        let n = ladder.len();
        for i in 0..n {
            // puts are read from the highest strike down, so that both rights fall in `x` and one set of rules serves
            let (strike, sign) = if right == Right::Call { (i, 1.0) } else { (n - 1 - i, -1.0) };
            let Some(row) = ladder.row(right, strike) else { continue };
            let (bid, ask) = (quotes.bid[row], quotes.ask[row]);
            if (bid.is_nan() && ask.is_nan()) || quotes.is_aside(row) {
                continue;
            }
            let k = ladder.strikes()[strike];
            self.x.push(sign * k);
            // a missing side gives no bound: nothing is below a bid of zero, nothing above an ask of infinity
            self.bid.push(if bid.is_nan() { 0.0 } else { bid });
            self.ask.push(if ask.is_nan() { f64::INFINITY } else { ask });
            self.weight.push(weight(k, input.age_s[row], quotes.two_sided[row], money));
            self.row.push(row);
        }
    }

    fn remove(&mut self, i: usize, rule: DropReason, quotes: &mut Quotes) {
        quotes.set_aside(self.row[i], rule);
        for column in [&mut self.x, &mut self.bid, &mut self.ask, &mut self.weight] {
            column.remove(i);
        }
        self.row.remove(i);
    }

    /// True if two quotes, the first at the lower `x`, break order: the second is dearer, or cheaper by more than the
    /// distance of the strikes.
    #[inline(always)]
    fn conflict(&self, i: usize, j: usize) -> bool {
        self.bid[j] > self.ask[i] + CONSISTENCY.equal
            || self.bid[i] - self.ask[j] > self.x[j] - self.x[i] + CONSISTENCY.equal
    }

    /// Drops quotes until no two break order, each time the one that contradicts the greatest weight of others,
    /// relative to its own weight.
    ///
    /// # Domain   sides in any order that bids and asks may have; a quote without a side gives no bound on that side
    /// # Source   the constraints of Cohen, Reisinger and Wang (2020) within one expiry; dropping by most violations
    /// first is ours,
    /// held against their program in benches/surface-peers
    /// # Cost     quadratic in the quotes that are out of order, linear where all are in order
    fn order(&mut self, quotes: &mut Quotes) {
        let n = self.x.len();
        // A least set to drop is a vertex cover, and hard; the most blamed first is the usual approximation, and here
        // almost always exact: a bad quote stands against many good ones, and they against it alone.
        self.blame.clear();
        self.blame.resize(n, 0.0);
        for j in 1..n {
            for i in 0..j {
                if self.conflict(i, j) {
                    self.blame[i] += self.weight[j];
                    self.blame[j] += self.weight[i];
                }
            }
        }
        loop {
            let mut worst: Option<(usize, f64)> = None;
            for i in 0..self.x.len() {
                // relative to its own weight: a tight quote at the money needs more contradiction than a stale one far
                // out
                let blame = self.blame[i] / self.weight[i];
                if self.blame[i] > 1e-9 && worst.is_none_or(|(_, most)| blame > most) {
                    worst = Some((i, blame));
                }
            }
            let Some((out, most)) = worst else { return };
            let out = self.of_two(out, most);
            for i in 0..self.x.len() {
                if i != out && self.conflict(i.min(out), i.max(out)) {
                    // the others are judged again without the dropped quote, or one bad quote would take good ones
                    // along
                    self.blame[i] -= self.weight[out];
                }
            }
            self.blame.remove(out);
            self.remove(out, DropReason::StrikeOrder, quotes);
        }
    }

    /// Chooses between the most blamed quote and the quote that it contradicts most: if they are nearly equally blamed,
    /// the one without which less contradiction remains.
    fn of_two(&mut self, out: usize, most: f64) -> usize {
        let alike = |i: usize| self.blame[i] / self.weight[i] > CONSISTENCY.alike * most;
        let partner = (0..self.x.len())
            .filter(|&i| i != out && alike(i) && self.conflict(i.min(out), i.max(out)))
            .max_by(|&a, &b| (self.blame[a] / self.weight[a]).total_cmp(&(self.blame[b] / self.weight[b])));
        match partner {
            Some(other) if self.excess_without(other) < self.excess_without(out) => other,
            _ => out,
        }
    }

    /// Drops quotes until every bid is below the convex minorant of the asks.
    fn convexity(&mut self, quotes: &mut Quotes) {
        for _ in 0..self.x.len() {
            let Some((i, left, right)) = self.worst() else { return };
            // a bid above a chord may be too high, or one of the two asks at the ends of the chord too low
            let mut best = (f64::INFINITY, i);
            for out in [Some(i), left, right].into_iter().flatten() {
                let rest = self.excess_without(out) * self.weight[out];
                if rest < best.0 {
                    best = (rest, out);
                }
            }
            self.remove(best.1, DropReason::StrikeOrder, quotes);
        }
    }

    /// Total excess of the bids above the minorant of the asks without quote `out`: for each, one plus the excess in
    /// its own spreads.
    fn excess_without(&mut self, out: usize) -> f64 {
        let (bid, ask) = (self.bid[out], self.ask[out]);
        // taken out by its sides and put back afterwards, as removing a row would move all others
        (self.bid[out], self.ask[out]) = (0.0, f64::INFINITY);
        self.minorant();
        let sum = (0..self.x.len()).filter(|&i| self.is_above(i)).map(|i| self.weight[i]).sum::<f64>();
        (self.bid[out], self.ask[out]) = (bid, ask);
        // so that of two quotes that both leave no excess, the one of less weight is dropped
        sum + 1e-3
    }

    #[inline(always)]
    fn is_above(&self, i: usize) -> bool {
        // a quote without an ask has an infinite spread; its bid is the most that it can be off by
        let spread = (self.ask[i] - self.bid[i]).max(CONSISTENCY.equal).min(self.bid[i]);
        self.bid[i] > self.most[i] + CONSISTENCY.convex_slack * spread
    }

    /// The bid furthest above the minorant, with the asks that determine the minorant there; `None`: all bids are below
    /// it.
    fn worst(&mut self) -> Option<(usize, Option<usize>, Option<usize>)> {
        self.minorant();
        let mut worst = None;
        let mut most = 0.0;
        for i in 0..self.x.len() {
            if self.is_above(i) && self.bid[i] - self.most[i] > most {
                (worst, most) = (Some(i), self.bid[i] - self.most[i]);
            }
        }
        let i = worst?;
        let at = self.hull.partition_point(|&h| h < i);
        let left = at.checked_sub(1).map(|h| self.hull[h]);
        let right = if self.hull.get(at) == Some(&i) { self.hull.get(at + 1) } else { self.hull.get(at) };
        Some((i, left, right.copied()))
    }

    /// The greatest convex function that falls by no more than the distance of the strikes and is nowhere above an ask.
    ///
    /// # Shapes   `most` by quote; `hull` are the quotes whose asks determine it
    /// # Domain   quotes ascending in `x`; one without an ask gives no bound
    /// # Cost     linear in the quotes
    fn minorant(&mut self) {
        let n = self.x.len();
        self.most.clear();
        self.most.extend_from_slice(&self.ask);
        for i in 1..n {
            self.most[i] = self.most[i].min(self.most[i - 1]);
        }
        for i in (1..n).rev() {
            self.most[i - 1] = self.most[i - 1].min(self.most[i] + self.x[i] - self.x[i - 1]);
        }
        // the lower convex hull (Andrew's chain): linear, as strikes are sorted
        self.hull.clear();
        for i in (0..n).filter(|&i| self.most[i].is_finite()) {
            while let &[.., a, b] = &self.hull[..] {
                // slopes compared by cross products: strikes next to each other make quotients of small numbers
                let chord = (self.most[b] - self.most[a]) * (self.x[i] - self.x[a]);
                if chord < (self.most[i] - self.most[a]) * (self.x[b] - self.x[a]) {
                    break;
                }
                self.hull.pop();
            }
            self.hull.push(i);
        }
        for edge in self.hull.windows(2) {
            let (a, b) = (edge[0], edge[1]);
            let slope = (self.most[b] - self.most[a]) / (self.x[b] - self.x[a]);
            for i in a + 1..b {
                self.most[i] = self.most[a] + slope * (self.x[i] - self.x[a]);
            }
        }
    }
}

/// Weight of a quote against others.
fn weight(k: f64, age_s: f64, two_sided: bool, money: Moneyness) -> f64 {
    let away = (k / money.s).ln() / (money.sd * CONSISTENCY.half_sd);
    // without a spot or a deviation all strikes weigh the same
    let by_money = if away.is_finite() { 1.0 / (1.0 + away * away) } else { 1.0 };
    let by_age = CONSISTENCY.half_age / (CONSISTENCY.half_age + age_s.max(0.0));
    by_money.max(CONSISTENCY.far_weight_least) * by_age * if two_sided { 1.0 } else { CONSISTENCY.one_sided }
}

/// One expiry among those of its name.
#[derive(Debug)]
pub struct Expiry<'a> {
    /// Strikes of the expiry.
    pub ladder: &'a Ladder,
    /// Quotes of the expiry.
    pub quotes: &'a mut Quotes,
}

/// Finds quotes of American options that are dearer than the same contract of a later expiry, which has at least the
/// same rights; kept for its memory.
#[derive(Clone, Debug, Default)]
pub struct ExpiryOrder {
    /// Strike, and the least asks of call and put at it among the expiries looked at so far; ascending in strike.
    least: Vec<(f64, [f64; 2])>,
    merged: Vec<(f64, [f64; 2])>,
    /// Strikes and rights where order is broken.
    broken: Vec<(f64, Right)>,
    column: Vec<Quoted>,
}

/// A contract of one expiry.
#[derive(Clone, Copy, Debug)]
struct Quoted {
    expiry: usize,
    row: usize,
    bid: f64,
    ask: f64,
    blame: u32,
}

impl ExpiryOrder {
    /// Drops each quote that contradicts more expiries than any quote that it contradicts. One quote against one is
    /// undecidable, and both stay. `expiries`: American, ascending in time.
    pub fn clean(&mut self, expiries: &mut [Expiry<'_>], touched: &mut [bool]) {
        self.least.clear();
        self.broken.clear();
        // from the last on, as each is compared with the least asks of all later ones
        for expiry in expiries.iter().rev() {
            self.merge(expiry);
        }
        self.broken.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        self.broken.dedup();
        for i in 0..self.broken.len() {
            let (k, right) = self.broken[i];
            self.read(k, right, expiries);
            while let Some(worst) = self.worst() {
                let out = self.column.remove(worst);
                expiries[out.expiry].quotes.set_aside(out.row, DropReason::ExpiryOrder);
                touched[out.expiry] = true;
            }
        }
    }

    /// Compares an expiry with the later ones, and adds its asks to the least asks.
    fn merge(&mut self, expiry: &Expiry<'_>) {
        let Expiry { ladder, quotes } = expiry;
        let strikes = &ladder.strikes()[..ladder.len()];
        self.merged.clear();
        // both sides are sorted by strike, so one merge compares all: expiries list different strikes
        let mut later = self.least.iter().peekable();
        for (i, &k) in strikes.iter().enumerate() {
            while let Some(other) = later.next_if(|other| other.0 < k) {
                self.merged.push(*other);
            }
            let mut asks = later.next_if(|other| other.0 <= k).map_or([f64::INFINITY; 2], |other| other.1);
            for right in [Right::Call, Right::Put] {
                let Some(row) = ladder.row(right, i).filter(|&row| !quotes.is_aside(row)) else { continue };
                let least = &mut asks[right as usize];
                if quotes.bid[row] > *least + CONSISTENCY.equal {
                    self.broken.push((k, right));
                }
                *least = least.min(quotes.ask[row]);
            }
            self.merged.push((k, asks));
        }
        self.merged.extend(later);
        core::mem::swap(&mut self.least, &mut self.merged);
    }

    /// Reads one contract of all expiries.
    fn read(&mut self, k: f64, right: Right, expiries: &[Expiry<'_>]) {
        self.column.clear();
        for (expiry, Expiry { ladder, quotes }) in expiries.iter().enumerate() {
            let strikes = &ladder.strikes()[..ladder.len()];
            let at = strikes.partition_point(|&strike| strike < k);
            let listed = strikes.get(at).is_some_and(|&strike| strike <= k);
            let row = if listed { ladder.row(right, at) } else { None };
            let Some(row) = row.filter(|&row| !quotes.is_aside(row)) else { continue };
            let (bid, ask) = (quotes.bid[row], quotes.ask[row]);
            if bid > 0.0 || ask > 0.0 {
                self.column.push(Quoted { expiry, row, bid, ask, blame: 0 });
            }
        }
    }

    /// Returns a quote that contradicts more quotes than each of these does; `None`: there is none.
    fn worst(&mut self) -> Option<usize> {
        for quoted in &mut self.column {
            quoted.blame = 0;
        }
        for j in 1..self.column.len() {
            for i in 0..j {
                if self.column[i].bid > self.column[j].ask + CONSISTENCY.equal {
                    self.column[i].blame += 1;
                    self.column[j].blame += 1;
                }
            }
        }
        // two against one at least
        let most = self.column.iter().map(|q| q.blame).max().filter(|&most| most > 1)?;
        self.column.iter().position(|q| q.blame == most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calibrate::clean::clean_quotes;
    use crate::calibrate::testing::{OwnedSlice, fair};

    const STRIKES: [u32; 9] = [80, 85, 90, 95, 100, 105, 110, 115, 120];
    const MONEY: Moneyness = Moneyness { s: 100.0, sd: 0.18 };

    fn good() -> OwnedSlice {
        fair(Style::European, 100.0, 0.5, 0.25, &STRIKES, 0.05)
    }

    /// The row of a strike.
    fn row(k: u32, right: Right) -> usize {
        2 * STRIKES.iter().position(|&strike| strike == k).unwrap() + right as usize
    }

    fn cleaned(slice: &OwnedSlice) -> Quotes {
        let mut quotes = Quotes::default();
        clean_quotes(&slice.input(), &mut quotes);
        quotes
    }

    /// The rows that order in strike sets aside.
    fn set_aside(slice: &OwnedSlice) -> Vec<usize> {
        let (input, mut quotes) = (slice.input(), cleaned(slice));
        let ladder = Ladder::new(input.strike_milli, input.right);
        let dropped = StrikeOrder::default().clean(&input, &ladder, MONEY, &mut quotes);
        let rows: Vec<usize> = (0..quotes.bid.len()).filter(|&row| quotes.is_aside(row)).collect();
        assert_eq!(dropped, !rows.is_empty());
        rows
    }

    #[test]
    fn good_quotes_stay() {
        assert!(set_aside(&good()).is_empty());
        let (slice, mut quotes) = (good(), cleaned(&good()));
        drop_out_of_bounds(&slice.input(), 100.0, &mut quotes);
        assert_eq!(quotes.fault, [None; 18]);
    }

    #[test]
    fn a_spoiled_strike_is_found_and_no_other() {
        // dearer than lower strikes, cheaper than higher ones, or above the chord of its neighbours by several spreads
        for right in [Right::Call, Right::Put] {
            for k in [90, 100, 110] {
                for by in [-4.0, 0.9, 4.0] {
                    let (mut slice, row) = (good(), row(k, right));
                    let (bid, ask) = (slice.bid[row] + by, slice.ask[row] + by);
                    if bid > 0.0 {
                        (slice.bid[row], slice.ask[row]) = (bid, ask);
                        assert_eq!(set_aside(&slice), [row], "{right:?} of {k} moved by {by}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_bid_within_a_part_of_its_spread_is_no_fault() {
        let (mut slice, row) = (good(), row(100, Right::Call));
        let chord = 0.5 * (slice.ask[row - 2] + slice.ask[row + 2]);
        let spread = slice.ask[row] - slice.bid[row];
        for (over, out) in [(0.9, 0), (1.5, 1)] {
            slice.bid[row] = chord + over * CONSISTENCY.convex_slack * spread;
            slice.ask[row] = slice.bid[row] + spread;
            assert_eq!(set_aside(&slice).len(), out, "{over} of the slack above the chord");
        }
    }

    #[test]
    fn what_neither_spot_nor_strike_allows_is_out_of_bounds() {
        let mut slice = good();
        let spoil = [(80, Right::Call, 101.0, 102.0), (120, Right::Put, 126.0, 130.0), (85, Right::Call, 1.0, 2.0)];
        for (k, right, bid, ask) in spoil {
            (slice.bid[row(k, right)], slice.ask[row(k, right)]) = (bid, ask);
        }
        let mut quotes = cleaned(&slice);
        drop_out_of_bounds(&slice.input(), 100.0, &mut quotes);
        let mut want = [None; 18];
        spoil.iter().for_each(|&(k, right, ..)| want[row(k, right)] = Some(DropReason::OutOfBounds));
        assert_eq!(quotes.fault, want);
        let mut unknown = cleaned(&slice);
        drop_out_of_bounds(&slice.input(), f64::NAN, &mut unknown);
        assert_eq!(unknown.fault, [None; 18], "without a spot nothing is known of bounds");
    }

    /// The rows of each expiry that order in expiry sets aside, where the call of 100 of the first is moved by `by`.
    fn of_expiries(ts: &[f64], by: f64) -> Vec<Vec<usize>> {
        let mut slices: Vec<_> =
            ts.iter().map(|&t| fair(Style::American, 100.0, t, 0.25, &[95, 100, 105], 0.05)).collect();
        slices[0].bid[2] += by;
        slices[0].ask[2] += by;
        let mut quotes: Vec<Quotes> = slices.iter().map(cleaned).collect();
        let ladders: Vec<Ladder> = slices.iter().map(|s| Ladder::new(&s.strike_milli, &s.right)).collect();
        let mut expiries: Vec<Expiry<'_>> =
            ladders.iter().zip(&mut quotes).map(|(ladder, quotes)| Expiry { ladder, quotes }).collect();
        let mut touched = vec![false; ts.len()];
        ExpiryOrder::default().clean(&mut expiries, &mut touched);
        let rows: Vec<Vec<usize>> = quotes.iter().map(|q| (0..6).filter(|&row| q.is_aside(row)).collect()).collect();
        assert_eq!(touched, rows.iter().map(|rows| !rows.is_empty()).collect::<Vec<_>>());
        rows
    }

    #[test]
    fn a_quote_dearer_than_two_later_expiries_goes_and_one_against_one_stays() {
        const NONE: Vec<usize> = Vec::new();
        assert_eq!(of_expiries(&[0.1, 0.2, 0.3], 0.0), [NONE; 3]);
        assert_eq!(of_expiries(&[0.1, 0.2, 0.3], 6.0), [vec![2], NONE, NONE]);
        assert_eq!(of_expiries(&[0.1, 0.2], 6.0), [NONE; 2]);
    }
}
