//! Snapshots of the made-up market, with what is true of every contract. Never: a vendor.

use engine::store::book::{Book, BookSlice};
use jiff::civil::Date;
use jiff::{SignedDuration, Timestamp};
use kernel::calendar::{Calendar, days_between};
use kernel::contract::{ContractKey, Right, Settle, Style, Symbol};
use kernel::elementary::{exp, ln};
use kernel::lanes::{Block, Lanes, Mask};
use kernel::lattice::Lattice;
use kernel::normal::{INV_SQRT_2PI, norm_cdf};
use sim::symbols::{funds, indices, well_known};
use sim::{SimMarket, SliceTruth};

/// Names that are taken first, of every kind: shares with and without dividends, a fund, an index, class shares.
const FIRST: [&str; 8] = ["AAPL", "KO", "SPX", "BRK.B", "SPY", "XOM", "F", "TSLA"];
/// Layers of the lattice that tells what early exercise adds to the Greeks.
const STEPS: usize = 256;

/// What is true of a contract.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Truth {
    /// Per year.
    pub(crate) vol: f64,
    /// Dollars a share.
    pub(crate) value: f64,
    /// Dollars a share per dollar of the spot, the volatility unchanged.
    pub(crate) delta: f64,
    /// The derivative of delta by the spot, per dollar.
    pub(crate) gamma: f64,
    /// Dollars a share per 1 % of volatility.
    pub(crate) vega: f64,
    /// Dollars a share per calendar day.
    pub(crate) theta: f64,
    /// Of its expiry, dollars a share.
    pub(crate) forward: f64,
    /// Cash dividends to expiry, dollars a share.
    pub(crate) dividends: f64,
}

/// What kind of underlying a contract is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Index,
    Fund,
    Share,
}

/// One contract of a snapshot.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Quoted {
    pub(crate) contract: ContractKey,
    /// NaN: none.
    pub(crate) bid: f64,
    /// NaN: none.
    pub(crate) ask: f64,
    /// A few contracts that differ in the strike.
    pub(crate) size: u32,
    pub(crate) style: Style,
    pub(crate) truth: Option<Truth>,
}

/// One name at one instant.
#[derive(Clone, Debug)]
pub(crate) struct Snapshot {
    pub(crate) ts: Timestamp,
    pub(crate) underlying: Symbol,
    pub(crate) spot: f64,
    pub(crate) rows: Vec<Quoted>,
}

impl Snapshot {
    /// The strikes that have both a call and a put: vendors with a strike a row have no other word.
    pub(crate) fn paired(mut self) -> Self {
        let all = std::mem::take(&mut self.rows);
        let same = |a: &Quoted, b: &Quoted| ContractKey { right: Right::Put, ..a.contract } == b.contract;
        let mut rows = all.into_iter().peekable();
        while let Some(call) = rows.next() {
            if let Some(put) = rows.next_if(|put| call.contract.right == Right::Call && same(&call, put)) {
                self.rows.extend([call, put]);
            }
        }
        self
    }
}

/// What kind of underlying a name is.
pub(crate) fn kind(name: Symbol) -> Kind {
    let among = |names: Vec<sim::symbols::Name>| names.iter().any(|one| one.symbol == name.as_str());
    if among(indices()) {
        Kind::Index
    } else if among(funds()) {
        Kind::Fund
    } else {
        Kind::Share
    }
}

/// The names that are taken where a number of them is asked for.
pub(crate) fn names(count: usize) -> Vec<Symbol> {
    let known = well_known();
    let others = known.iter().map(|name| name.symbol.as_str()).filter(|name| !FIRST.contains(name));
    FIRST.into_iter().chain(others).filter_map(Symbol::parse).take(count).collect()
}

/// The first sessions from a date on.
pub(crate) fn sessions(calendar: &Calendar, from: Date, count: usize) -> Vec<Date> {
    let first = calendar.session_on_or_after(from);
    core::iter::successors(Some(first), |&date| Some(calendar.next_session(date))).take(count).collect()
}

/// The close of a session.
pub(crate) fn close(calendar: &Calendar, date: Date) -> Timestamp {
    calendar.settlement(date, Settle::Pm)
}

/// So many minutes of a session, one after the other from the first on, the close as the last of a whole session.
pub(crate) fn minutes(calendar: &Calendar, date: Date, count: usize) -> Vec<Timestamp> {
    let (open, close) = calendar.session(date).unwrap_or_default();
    let minutes = (1..=count as i64).filter_map(|n| open.checked_add(SignedDuration::from_mins(n)).ok());
    minutes.take_while(|at| *at <= close).collect()
}

/// The market at each instant of one session; with what is true, where that is asked for.
pub(crate) fn snapshots(
    seed: u64,
    names: &[Symbol],
    instants: &[Timestamp],
    with_truth: bool,
    mut take: impl FnMut(Snapshot),
) {
    let mut open: Option<(SimMarket, Vec<Book>)> = None;
    for &ts in instants {
        match open.as_mut().filter(|(market, _)| market.covers(ts)) {
            Some((market, books)) => books.iter_mut().for_each(|book| _ = market.update(book, ts)),
            None => {
                let market = SimMarket::at(seed, ts);
                let place = |name: &Symbol| market.underlyings().position(|own| own == *name);
                let books = names.iter().filter_map(|name| market.book(place(name)?, ts)).collect();
                open = Some((market, books));
            }
        }
        if let Some((market, books)) = &open {
            books.iter().for_each(|book| take(snapshot(market, book, ts, with_truth)));
        }
    }
}

fn snapshot(market: &SimMarket, book: &Book, ts: Timestamp, with_truth: bool) -> Snapshot {
    let mut rows = Vec::with_capacity(book.contracts());
    for slice in &book.slices {
        let truths = with_truth.then(|| truths(market, slice, ts)).flatten();
        for (row, &strike_milli) in slice.strike_milli.iter().enumerate() {
            let contract =
                ContractKey { root: slice.root, expiry: slice.expiry, strike_milli, right: slice.right[row] };
            rows.push(Quoted {
                contract,
                bid: slice.bid[row],
                ask: slice.ask[row],
                size: 1 + strike_milli / 500 % 97,
                style: slice.style,
                truth: truths.as_ref().and_then(|truths| truths.get(row).copied()),
            });
        }
    }
    Snapshot { ts, underlying: book.underlying, spot: book.spot, rows }
}

fn truths(market: &SimMarket, slice: &BookSlice, ts: Timestamp) -> Option<Vec<Truth>> {
    let truth = market.truth(slice.root, slice.expiry, ts)?;
    let values = market.values(slice.root, slice.expiry, ts)?;
    let strikes: Vec<f64> = slice.strike_milli.iter().map(|&milli| f64::from(milli) / 1000.0).collect();
    let lattices = [Right::Call, Right::Put].map(|right| Lattice::new(&truth.terms, truth.s, right, STEPS));
    let american = slice.style == Style::American && days_between(ts, slice.settles_at) > 0.0;
    // an empty sum of floats is -0
    let dividends = truth.terms.divs.iter().fold(0.0, |sum, dividend| sum + dividend.amount);
    let greeks = |row: usize| {
        let (strike, right) = (strikes[row], slice.right[row]);
        let [delta, gamma, vega] = european(&truth, strike, right);
        if !american {
            return [delta, gamma, vega];
        }
        let lattice = &lattices[usize::from(right == Right::Put)];
        let premium = lattice.premium(Block::splat(strike), Block::splat(truth.sigma(strike)));
        if premium.exercised.lane(0) {
            [right.phi(), 0.0, 0.0]
        } else {
            [delta + premium.slope.lane(0), gamma + premium.curve.lane(0), vega + premium.vega.lane(0)]
        }
    };
    let of = |(row, value): (usize, f64)| {
        let ([delta, gamma, vega], vol) = (greeks(row), truth.sigma(strikes[row]));
        let theta = if gamma == 0.0 { 0.0 } else { theta(&truth, vol, [value, delta, gamma]) / 365.0 };
        Truth { vol, value, delta, gamma, vega: vega / 100.0, theta, forward: truth.fwd, dividends }
    };
    Some(values.into_iter().enumerate().map(of).collect())
}

/// S − A(0): what of the spot is not dividends to come.
fn without_dividends(truth: &SliceTruth) -> f64 {
    truth.fwd * exp((truth.terms.b - truth.terms.r) * truth.terms.t)
}

/// Black-76 by the spot: the forward moves by e^((r − b)·t) of it. Delta, gamma, and vega per 1.00.
fn european(truth: &SliceTruth, strike: f64, right: Right) -> [f64; 3] {
    let (root_t, phi) = (truth.terms.t.sqrt(), right.phi());
    let sd = truth.sigma(strike) * root_t;
    let d1 = ln(truth.fwd / strike) / sd + 0.5 * sd;
    let (x, carried) = (without_dividends(truth), exp(-truth.terms.b * truth.terms.t));
    let density = INV_SQRT_2PI * exp(-0.5 * d1 * d1);
    [phi * carried * norm_cdf(phi * d1), carried * density / (x * sd), carried * x * density * root_t]
}

/// The pricing equation, which holds as long as the option is alive (docs/model.md): per year, of value, delta and
/// gamma.
fn theta(truth: &SliceTruth, vol: f64, [value, delta, gamma]: [f64; 3]) -> f64 {
    let (r, b, x) = (truth.terms.r, truth.terms.b, without_dividends(truth));
    r * value - (r - b) * truth.s * delta - 0.5 * (vol * x).powi(2) * gamma
}
