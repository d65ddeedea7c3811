//! Takes good quotes and spoils some of them, each in a way that recorded markets have shown. What a contract is worth
//! at another spot comes from what a clean pass made of the same quotes, so any book can be spoiled. Seeded: the same
//! books and seed give the same dirt.

use engine::store::book::{Book, BookSlice};
use engine::store::chain::{Chain, Slice};
use engine::store::columns::Col;
use kernel::calendar::years_between;
use kernel::contract::Right;
use kernel::normal::norm_cdf;
use testkit::random::Random;

/// A way to spoil a quote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// Both sides frozen before a split: as if the spot were 2 to 10 times what it is.
    DeadBeforeSplit,
    /// Far strikes of one right of an expiry, the ask or both sides many times too dear.
    StaleWing,
    /// Bid above ask, or call and put of one strike that contradict each other.
    CrossedPair,
    /// Bid and ask of zero.
    Zero,
    /// The quote of a neighbouring strike.
    WrongStrike,
    /// The quote of the same strike of another expiry.
    WrongExpiry,
    /// Both sides frozen at a spot 10 to 30 % away.
    OldSpot,
    /// A factor of 0.1 to 10 on one or both sides.
    FatFinger,
}

impl Way {
    pub(crate) const ALL: [Self; 8] = [
        Self::DeadBeforeSplit,
        Self::StaleWing,
        Self::CrossedPair,
        Self::Zero,
        Self::WrongStrike,
        Self::WrongExpiry,
        Self::OldSpot,
        Self::FatFinger,
    ];

    /// True if it comes to some expiries and spares others, as dead strikes do.
    fn in_clusters(self) -> bool {
        matches!(self, Self::DeadBeforeSplit | Self::StaleWing)
    }
}

/// Which quotes of a book were spoiled, by slice and row.
pub(crate) type Spoiled = Vec<Vec<bool>>;

/// Black-76 on a clean chain's forward and volatilities.
struct Model<'a> {
    quoted: &'a BookSlice,
    slice: &'a Slice,
    vol: &'a [f64],
    t: f64,
}

impl Model<'_> {
    /// The value of a row if the forward were `factor` times what it is, at the volatility of the money.
    fn value(&self, row: usize, factor: f64) -> f64 {
        let (strike, phi) = (strike(self.quoted, row), self.quoted.right[row].phi());
        let (fwd, sd) = (self.slice.fwd_price * factor, self.at_the_money() * self.t.sqrt());
        let d1 = (fwd / strike).ln() / sd + 0.5 * sd;
        let european = phi * (fwd * norm_cdf(phi * d1) - strike * norm_cdf(phi * (d1 - sd)));
        (-self.slice.disc_rate * self.t).exp() * european
    }

    fn at_the_money(&self) -> f64 {
        let away = |row: &usize| (strike(self.quoted, *row) - self.slice.fwd_price).abs();
        let nearest = (0..self.vol.len()).min_by(|a, b| away(a).total_cmp(&away(b)));
        nearest.map_or(f64::NAN, |row| self.vol[row])
    }
}

fn strike(slice: &BookSlice, row: usize) -> f64 {
    f64::from(slice.strike_milli[row]) / 1000.0
}

/// On the tick and at least one; a missing side stays missing.
fn cents(price: f64) -> f64 {
    let rounded = (price * 100.0).round() / 100.0;
    if rounded < 0.01 { 0.01 } else { rounded }
}

/// A two-sided quote around a value, `width` of it wide.
fn around(value: f64, width: f64) -> (f64, f64) {
    let bid = cents(value * (1.0 - 0.5 * width));
    (bid, cents(value * (1.0 + 0.5 * width)).max(bid + 0.01))
}

/// Spoils about a `share` of the quotes of a book in one way, leaving alone those that are spoiled already. `chain`:
/// what a clean pass made of the book.
pub(crate) fn spoil(book: &mut Book, spoiled: &mut Spoiled, chain: &Chain, way: Way, share: f64, seed: u64) {
    let name = book.underlying.as_str().bytes().fold(seed, |h, b| h.wrapping_mul(0x100_0000_01b3) ^ u64::from(b));
    let mut dice = Random::new(name);
    let good = book.clone();
    for (place, of_slice) in spoiled.iter_mut().enumerate() {
        let (slice, quoted) = (&mut book.slices[place], &good.slices[place]);
        let chosen = choose(quoted, way, share, &mut dice);
        let Some(model) = model(chain, quoted, &good) else { continue };
        for row in chosen {
            for (row, quote) in bad_quotes(&model, &good, row, way, &mut dice) {
                let bits = |(bid, ask): (f64, f64)| (bid.to_bits(), ask.to_bits());
                if !of_slice[row] && bits((slice.bid[row], slice.ask[row])) != bits(quote) {
                    (slice.bid[row], slice.ask[row]) = quote;
                    of_slice[row] = true;
                }
            }
        }
    }
}

/// The values of the clean chain for a slice; none of adjusted roots and of slices without a curve.
fn model<'a>(chain: &'a Chain, quoted: &'a BookSlice, book: &Book) -> Option<Model<'a>> {
    let slice = chain.slices.iter().find(|s| s.root == quoted.root && s.expiry == quoted.expiry)?;
    let vol = &chain.columns.get(Col::SvcVol)[slice.rows.start as usize..slice.rows.end as usize];
    let t = years_between(book.ts, quoted.settles_at);
    let known = vol.len() == quoted.rows() && vol.iter().all(|v| *v > 0.0) && t > 0.0;
    known.then_some(Model { quoted, slice, vol, t })
}

/// The rows of a slice to spoil.
fn choose(quoted: &BookSlice, way: Way, share: f64, dice: &mut Random) -> Vec<usize> {
    let hit = !way.in_clusters() || dice.chance(0.5);
    let share = if way.in_clusters() { 2.0 * share } else { share };
    match way {
        _ if !hit => Vec::new(),
        Way::StaleWing => wing(quoted, dice.pick(&[Right::Call, Right::Put]), share),
        // a pair is two quotes
        Way::CrossedPair => (0..quoted.rows()).filter(|_| dice.chance(0.5 * share)).collect(),
        _ => (0..quoted.rows()).filter(|_| dice.chance(share)).collect(),
    }
}

/// The far strikes of one right: the highest of the calls, the lowest of the puts.
fn wing(quoted: &BookSlice, right: Right, share: f64) -> Vec<usize> {
    let mut rows: Vec<usize> = (0..quoted.rows()).filter(|&row| quoted.right[row] == right).collect();
    if right == Right::Call {
        rows.reverse();
    }
    rows.truncate((share * quoted.rows() as f64).round() as usize);
    rows
}

/// The rows that are spoiled together with `row`, and their quotes.
fn bad_quotes(model: &Model<'_>, book: &Book, row: usize, way: Way, dice: &mut Random) -> Vec<(usize, (f64, f64))> {
    let quoted = model.quoted;
    let quote = (quoted.bid[row], quoted.ask[row]);
    let one = |quote: (f64, f64)| vec![(row, quote)];
    match way {
        Way::DeadBeforeSplit => one(around(model.value(row, dice.between(2.0, 10.0)), dice.between(0.01, 0.06))),
        Way::StaleWing => one(too_dear(model, row, dice)),
        Way::CrossedPair => crossed(model, row, dice),
        Way::Zero => one((0.0, 0.0)),
        Way::WrongStrike => other_strike(quoted, row, dice).map_or_else(Vec::new, one),
        Way::WrongExpiry => other_expiry(book, quoted, row, dice).map_or_else(Vec::new, one),
        Way::OldSpot => {
            let moved = dice.between(0.1, 0.3) * if dice.chance(0.5) { 1.0 } else { -1.0 };
            one(around(model.value(row, 1.0 + moved), dice.between(0.01, 0.06)))
        }
        Way::FatFinger => {
            let factor = 10.0_f64.powf(dice.between(-1.0, 1.0));
            let [bid, ask] = [[1.0, factor], [factor, 1.0], [factor, factor]][dice.below(3)];
            one((cents(quote.0 * bid), cents(quote.1 * ask)))
        }
    }
}

/// Both sides, or now and then the ask alone, at 3 to 15 times the value.
fn too_dear(model: &Model<'_>, row: usize, dice: &mut Random) -> (f64, f64) {
    let least = 0.002 * model.slice.fwd_price;
    let dear = model.value(row, 1.0).max(least) * dice.between(3.0, 15.0);
    let (bid, ask) = around(dear, dice.between(0.05, 0.30));
    if dice.chance(0.25) { (model.quoted.bid[row], ask) } else { (bid, ask) }
}

/// Bid and ask changed over, or a call too dear beside a put too cheap, or the other way round.
fn crossed(model: &Model<'_>, row: usize, dice: &mut Random) -> Vec<(usize, (f64, f64))> {
    let quoted = model.quoted;
    if dice.chance(0.5) {
        return vec![(row, (quoted.ask[row] + 0.05, quoted.bid[row]))];
    }
    let same = |other: usize| other < quoted.rows() && quoted.strike_milli[other] == quoted.strike_milli[row];
    let other = if quoted.right[row] == Right::Call { row + 1 } else { row.wrapping_sub(1) };
    let away = dice.between(0.02, 0.10) * model.slice.fwd_price;
    let moved = |row: usize, by: f64| (row, (cents(quoted.bid[row] + by), cents(quoted.ask[row] + by)));
    if same(other) { vec![moved(row, away), moved(other, -away)] } else { vec![moved(row, away)] }
}

/// The quote of a strike one to three further up or down.
fn other_strike(quoted: &BookSlice, row: usize, dice: &mut Random) -> Option<(f64, f64)> {
    let mut rows: Vec<usize> = (0..quoted.rows()).filter(|&i| quoted.right[i] == quoted.right[row]).collect();
    if dice.chance(0.5) {
        rows.reverse();
    }
    let at = rows.iter().position(|&i| i == row)? + 1 + dice.below(3);
    rows.get(at).map(|&i| (quoted.bid[i], quoted.ask[i]))
}

/// The quote of the contract in another expiry of its root that lists it.
fn other_expiry(book: &Book, quoted: &BookSlice, row: usize, dice: &mut Random) -> Option<(f64, f64)> {
    let others = book.slices.iter().filter(|s| s.root == quoted.root && s.expiry != quoted.expiry);
    let row_in = |s: &BookSlice| s.row(quoted.strike_milli[row], quoted.right[row]);
    let found: Vec<(f64, f64)> = others.filter_map(|s| row_in(s).map(|i| (s.bid[i], s.ask[i]))).collect();
    if found.is_empty() { None } else { Some(found[dice.below(found.len())]) }
}
