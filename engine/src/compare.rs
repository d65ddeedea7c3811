//! Why a vendor's Greeks differ from ours, expiry by expiry.
//!
//! A vendor shows a volatility and Greeks at it. Our Greeks at that volatility should equal these, if model, inputs and
//! units are the same. If they differ, each reason found in practice is tried: the Greeks are recomputed with that
//! mistake, and the remaining difference measures how good a reason it is. A reason that holds for all expiries with
//! one number ranks before one that needs a number for each. Never: a vendor's name, a file.
#![warn(clippy::arithmetic_side_effects)]

mod conventions;
mod reasons;
mod residual;
mod work;
mod world;

pub use conventions::{Conventions, PutNumbers, RhoDays, ThetaConvention};
pub use reasons::LikelyReason;
pub use world::{COMPARED, VendorNumbers, VendorRow};

use crate::store::chain::Chain;
use crate::store::columns::Col;
use crate::store::quotes::QuoteNumber;
use jiff::civil::Date;
use kernel::calendar::Calendar;
use kernel::contract::Right;
use kernel::greeks::Greek;
use reasons::{FittedInput, changed, fit};
pub use residual::VendorVols;
use residual::{SliceResidual, served};
use work::{Work, base, work};

/// Maximum number of dividends tried one by one.
const DIVIDENDS_MOST: usize = 6;
/// Minimum part that a reason must explain of the difference at the vendor's volatility.
const EXPLAINS_LEAST: f64 = 0.25;
/// Minimum reduction of the squares, in errors, that a reason must bring: chance does so once in ten thousand times.
const TAKES_LEAST: f64 = 15.0;
/// Distance from the best reason within which others are equally good: a part of its reduction, and squares. All
/// expiries together decide between them, as one alone cannot separate borrow, rate and spot.
const AS_GOOD: (f64, f64) = (0.1, 10.0);
/// Penalty of a reason for each fitted number, in squares.
const NUMBER_COSTS: f64 = 10.0;
/// Multiple of the rounding error up to which there is no difference.
const NO_DIFFERENCE: f64 = 2.0;
/// Maximum number of reasons named for an expiry.
const NAMED_MOST: usize = 4;

/// Comparison of a vendor's chain of one name with ours.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// Conventions of the vendor's Greeks.
    pub conventions: Conventions,
    /// Volatilities at which the vendor's Greeks are compared.
    pub vols: VendorVols,
    /// Expiries with enough contracts.
    pub expiries: Vec<ExpiryComparison>,
    /// Contracts with a value of ours, in the order of the rows.
    pub contracts: Vec<ContractComparison>,
    /// Numbers of values inside of their quotes.
    pub inside: InsideQuotes,
}

/// Numbers of values within bid and ask, of contracts with both sides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InsideQuotes {
    /// Contracts with both sides and a volatility of the vendor.
    pub quoted: usize,
    /// Contracts with our value within bid and ask.
    pub ours: usize,
    /// Contracts with a value within bid and ask at the vendor's volatility, on our inputs.
    pub vendor: usize,
    /// Contracts with both values within.
    pub both: usize,
}

/// Comparison of one contract.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ContractComparison {
    /// Row in the chain.
    pub row: u32,
    /// Served Greeks: units of the native record, theta in the vendor's convention, per calendar day.
    pub ours: VendorNumbers,
    /// Vendor's Greeks in the same units; NaN: missing.
    pub vendor: VendorNumbers,
}

/// Comparison of one expiry.
#[derive(Clone, Debug, PartialEq)]
pub struct ExpiryComparison {
    /// Index of the slice in the chain.
    pub slice: usize,
    /// Number of contracts compared.
    pub contracts: usize,
    /// Root mean square difference of each Greek from the served one, in parts of the greatest of the expiry.
    pub served: VendorNumbers,
    /// Root mean square difference of each Greek at the vendor's volatilities, in parts of the greatest of the expiry.
    pub left: VendorNumbers,
    /// Root mean square difference of all Greeks from the served ones.
    pub rms: f64,
    /// Root mean square difference of all Greeks, with theta and rho in the vendor's definitions.
    pub rms_defined: f64,
    /// Root mean square difference that remains at the vendor's volatilities ([`Comparison::vols`]).
    pub rms_at_vendor_vol: f64,
    /// Root mean square difference due to the vendor's rounding alone.
    pub rms_of_digits: f64,
    /// True if no reason explains the difference that remains with the vendor's definitions of theta and rho.
    pub is_unknown: bool,
    /// The likely reasons, the best first; never empty.
    pub reasons: Vec<RankedReason>,
}

impl ExpiryComparison {
    /// The best reason for the difference of a Greek.
    #[must_use]
    pub fn reason_of(&self, greek: Greek, right: Right) -> LikelyReason {
        let concerns = |ranked: &&RankedReason| ranked.reason.concerns(greek, right);
        let rest = if self.is_unknown { LikelyReason::Unknown } else { LikelyReason::Agrees };
        self.reasons.iter().find(concerns).map_or(rest, |ranked| ranked.reason)
    }
}

/// A reason and how good it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RankedReason {
    /// The reason.
    pub reason: LikelyReason,
    /// Explained part of the squared difference from the served Greeks; the parts of the vendor's definitions and of
    /// one further reason add up.
    pub explained: f64,
    /// Part of the difference that a correction removes: for a definition, of the whole difference; else, of the
    /// difference that remains with the definitions.
    pub removes: f64,
}

/// Compares a vendor's rows of one chain with it.
///
/// # Units    as [`VendorRow`]
/// # Domain   any rows of the chain; those without volatility or Greeks are left out; a chain without evidence gives
/// nothing; the result does not depend on the number of threads
/// # Cost     tables of early exercise for each expiry, three and one for each dividend: some hundredths of a second;
/// next to nothing where it is European or pays no dividends
#[must_use]
pub fn compare(
    chain: &Chain,
    calendar: &Calendar,
    rows: &[VendorRow],
    digits: &VendorRow,
    threads: usize,
) -> Comparison {
    let mut works = in_parallel((0..chain.slices.len()).collect(), threads, |i| work(chain, calendar, rows, i));
    let fixed: Vec<LikelyReason> = candidates(&works).into_iter().filter(|reason| reason.numbers() == 0).collect();
    works = in_parallel(works, threads, |mut work| {
        work.worlds = fixed.iter().map(|&reason| changed(reason, &work)).collect();
        Some(work)
    });
    let conventions = Conventions::found(works.iter().map(|work| (&work.base, work.contracts.as_slice())));
    let mut vols = VendorVols::Printed;
    let mut expiries = explained(chain, &mut works, &fixed, (conventions, vols), digits);
    let is_unknown = |of: &&ExpiryComparison| of.is_unknown;
    if 2 * expiries.iter().filter(is_unknown).count() > expiries.len() {
        // the printed volatility is not the one that the Greeks were computed at
        vols = VendorVols::Implied;
        expiries = explained(chain, &mut works, &fixed, (conventions, vols), digits);
    }
    let contracts = by_contract(chain, calendar, rows, conventions);
    Comparison { conventions, vols, expiries, contracts, inside: inside_quotes(chain, rows) }
}

/// Results of `of` for each item, in their order, computed on some threads.
fn in_parallel<T: Send, R: Send>(items: Vec<T>, threads: usize, of: impl Fn(T) -> Option<R> + Sync) -> Vec<R> {
    let threads = threads.clamp(1, items.len().max(1));
    // dealt out like cards: later expiries have more dividends
    let mut hands: Vec<Vec<(usize, T)>> = (0..threads).map(|_| Vec::new()).collect();
    items.into_iter().enumerate().for_each(|(place, item)| hands[place % threads].push((place, item)));
    let played = |hand: Vec<(usize, T)>| -> Vec<(usize, R)> {
        hand.into_iter().filter_map(|(place, item)| Some((place, of(item)?))).collect()
    };
    let mut all: Vec<(usize, R)> = std::thread::scope(|scope| {
        let played = &played;
        let others: Vec<_> = hands.drain(1..).map(|hand| scope.spawn(move || played(hand))).collect();
        let mut all = hands.pop().map_or_else(Vec::new, played);
        for other in others {
            all.extend(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        all
    });
    all.sort_by_key(|(place, _)| *place);
    all.into_iter().map(|(_, of)| of).collect()
}

/// Explains every expiry; those with nothing to compare are removed from `works`.
///
/// # Domain   any; `fixed` are the reasons whose worlds the expiries have
fn explained(
    chain: &Chain,
    works: &mut Vec<Work>,
    fixed: &[LikelyReason],
    means: (Conventions, VendorVols),
    digits: &VendorRow,
) -> Vec<ExpiryComparison> {
    for work in works.iter_mut() {
        work.residual = SliceResidual::new(chain, &work.base, &work.contracts, means.0, means.1, digits);
        work.at_vendor = work.residual.squared(&work.base);
    }
    works.retain(|work| work.residual.noise() > 0.0);
    // every reason on every expiry that it changes, with one number for all of them
    let tried: Vec<(LikelyReason, Vec<Option<f64>>)> = candidates(works)
        .into_iter()
        .map(|candidate| {
            let reason = fit(candidate, works);
            let left = works.iter().map(|work| {
                let place = fixed.iter().position(|of| *of == reason);
                let world = place.map_or_else(|| changed(reason, work), |place| work.worlds[place].clone());
                Some(work.residual.squared(&world?))
            });
            (reason, left.collect())
        })
        .collect();
    let of = |(i, work): (usize, &Work)| {
        let (is_unknown, reasons) = ranked(i, works, means.0, &tried);
        ExpiryComparison {
            slice: work.slice,
            contracts: work.contracts.len(),
            served: work.residual.by_greek[0],
            left: work.residual.by_greek[1],
            rms: work.residual.rms[0],
            rms_defined: work.residual.rms[1],
            rms_at_vendor_vol: work.residual.rms[2],
            rms_of_digits: work.residual.rms[3],
            is_unknown,
            reasons,
        }
    };
    works.iter().enumerate().map(of).collect()
}

/// Returns the likely reasons of an expiry, the best first, and true if none explains the difference that remains with
/// the vendor's definitions. `tried` has the remaining squares of each reason by expiry.
///
/// # Domain   any; never empty
fn ranked(
    i: usize,
    works: &[Work],
    conventions: Conventions,
    tried: &[(LikelyReason, Vec<Option<f64>>)],
) -> (bool, Vec<RankedReason>) {
    let work = &works[i];
    let excess = (work.at_vendor - work.residual.noise()).max(0.0);
    let mut found: Vec<(f64, f64, RankedReason)> = Vec::new();
    for (reason, left) in tried {
        let Some(own) = left[i] else { continue };
        let costs = NUMBER_COSTS * f64::from(reason.numbers());
        let taken = work.at_vendor - own - costs;
        if reason.is_worth_naming() && taken >= TAKES_LEAST && taken >= EXPLAINS_LEAST * excess {
            let of = |(work, left): (&Work, &Option<f64>)| left.map_or(0.0, |left| work.at_vendor - left);
            let everywhere = works.iter().zip(left).map(of).sum::<f64>() - costs;
            found.push((taken, everywhere, ranked_reason(work, *reason, own)));
        }
    }
    let best = found.iter().map(|&(taken, ..)| taken).fold(0.0, f64::max);
    let is_as_good = |taken: f64| taken >= best - AS_GOOD.1.max(AS_GOOD.0 * best);
    found.sort_by(|a, b| {
        let key = |of: &(f64, f64, RankedReason)| (is_as_good(of.0), if is_as_good(of.0) { of.1 } else { of.0 });
        let ((a_good, a), (b_good, b)) = (key(a), key(b));
        b_good.cmp(&a_good).then(b.total_cmp(&a))
    });
    let mut reasons: Vec<RankedReason> = found.into_iter().map(|(.., reason)| reason).take(NAMED_MOST).collect();
    let definitions = definitions(work, conventions);
    let mut is_unknown = false;
    if reasons.is_empty() {
        let none = NO_DIFFERENCE * work.residual.noise();
        let reason = match () {
            () if work.residual.served <= none => LikelyReason::Agrees,
            () if work.at_vendor <= none || work.residual.removed(work.at_vendor) > EXPLAINS_LEAST => {
                LikelyReason::Volatility
            }
            () => LikelyReason::Unknown,
        };
        is_unknown = reason == LikelyReason::Unknown;
        if definitions.is_empty() || !matches!(reason, LikelyReason::Agrees | LikelyReason::Unknown) {
            reasons.push(ranked_reason(work, reason, work.at_vendor));
        }
    }
    // the reason that explains most comes first; the others keep their order
    let most = reasons.first().map_or(0.0, |reason| reason.explained);
    let (before, after): (Vec<_>, Vec<_>) = definitions.into_iter().partition(|of| of.explained >= most);
    (is_unknown, [before, reasons, after].concat())
}

fn ranked_reason(work: &Work, reason: LikelyReason, left: f64) -> RankedReason {
    RankedReason { reason, explained: work.residual.explained(left), removes: work.residual.removed(left) }
}

/// The vendor's definitions of theta, rho and puts that explain enough of the difference from what is served, the best
/// first.
fn definitions(work: &Work, conventions: Conventions) -> Vec<RankedReason> {
    let theta = LikelyReason::Theta(conventions.theta);
    let reasons = [theta, LikelyReason::SettlementDays, LikelyReason::CallsNumbers];
    let of = |(reason, explained): (LikelyReason, f64)| RankedReason { reason, explained, removes: explained };
    let mut all: Vec<RankedReason> = reasons.into_iter().zip(work.residual.by_definition).map(of).collect();
    all.retain(|of| of.explained >= EXPLAINS_LEAST);
    all.sort_by(|a, b| b.explained.total_cmp(&a.explained));
    all
}

/// Compares the contracts that have a value of ours.
fn by_contract(
    chain: &Chain,
    calendar: &Calendar,
    rows: &[VendorRow],
    conventions: Conventions,
) -> Vec<ContractComparison> {
    let mut all = Vec::new();
    for (slice, of) in chain.slices.iter().enumerate() {
        let Some((base, _)) = base(chain, calendar, slice) else { continue };
        let native = |numbers: VendorNumbers| core::array::from_fn(|place| conventions.native(place, numbers[place]));
        let own = rows.iter().filter(|row| of.rows.contains(&row.row));
        all.extend(own.map(|row| ContractComparison {
            row: row.row,
            ours: native(served(chain, row.row, &base, conventions)),
            vendor: native(row.greeks),
        }));
    }
    all.retain(|of| of.ours.iter().all(|ours| ours.is_finite()));
    all
}

/// Counts values within their quotes. The value at the vendor's volatility is ours moved there by vega and volga, exact
/// enough for a comparison with bid and ask.
///
/// # Domain   any rows; those of a chain without quotes count nothing
fn inside_quotes(chain: &Chain, rows: &[VendorRow]) -> InsideQuotes {
    let mut inside = InsideQuotes::default();
    let Some(quotes) = &chain.quotes else { return inside };
    let is_there = |row: &&VendorRow| row.row < chain.rows() && row.sigma > 0.0 && row.sigma.is_finite();
    for row in rows.iter().filter(is_there) {
        let at = row.row as usize;
        let of = |col| chain.columns.get(col)[at];
        let (bid, ask) = (quotes.get(at, QuoteNumber::Bid), quotes.get(at, QuoteNumber::Ask));
        let more = row.sigma - of(Col::SvcVol);
        // vega is native, per 1 %
        let vendor = of(Col::SvcTheo) + 100.0 * of(Col::Vega) * more + 0.5 * of(Col::Volga) * more * more;
        if bid > 0.0 && ask >= bid && vendor.is_finite() {
            let is_within = |value: f64| usize::from((bid..=ask).contains(&value));
            inside.quoted += 1;
            let (own, other) = (is_within(of(Col::SvcTheo)), is_within(vendor));
            inside.ours += own;
            inside.vendor += other;
            inside.both += own * other;
        }
    }
    inside
}

/// Reasons to try on some expiries.
fn candidates(works: &[Work]) -> Vec<LikelyReason> {
    let mut dates: Vec<(Date, f64)> = works.iter().flat_map(|w| &w.dates).map(|&(date, d)| (date, d.amount)).collect();
    dates.sort_by_key(|&(date, _)| date);
    dates.dedup_by_key(|&mut (date, _)| date);
    let mut all: Vec<LikelyReason> = dates
        .iter()
        .take(DIVIDENDS_MOST)
        .map(|&(date, amount)| LikelyReason::MissingDividend { date, amount })
        .collect();
    if dates.len() > 1 {
        all.push(LikelyReason::NoDividends);
    }
    all.extend([
        LikelyReason::OtherSettlement,
        LikelyReason::WholeDays,
        LikelyReason::TradingDays,
        LikelyReason::NoBorrow,
    ]);
    if works.iter().any(|work| !work.base.is_european()) {
        all.push(LikelyReason::EuropeanModel);
    }
    // the day and the amount are found for all expiries together
    let first = works.iter().find_map(|work| work.ex_times.first());
    all.extend(first.map(|&(date, _)| LikelyReason::DividendsNotGiven { date, part: 0.0 }));
    all.extend(FittedInput::ALL.map(|fitted| fitted.at(0.0)));
    all
}
