//! Distance of a vendor's numbers from those of a world. Never: a reason.

use super::conventions::{Conventions, OfStrike};
use super::world::{COMPARED, Contract, Point, VendorNumbers, VendorRow, World};
use crate::store::chain::Chain;
use crate::store::columns::Col;
use kernel::contract::{Right, strike_of};
use kernel::greeks::Greeks;

/// Relative error of solvers and tables, of the greatest number of the expiry: numbers that differ by less are equal.
const SAME: f64 = 1e-4;
/// Multiple of the median difference at which a difference is capped, as a bad row must not decide.
const FAR: f64 = 8.0;
/// Steps of a search for the volatility of a contract's Greeks.
const VOL_STEPS: usize = 3;
const VOL_STEP_MOST: f64 = 2.0;
const VOLS: (f64, f64) = (1e-3, 20.0);

/// Volatilities at which a vendor's Greeks are compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum VendorVols {
    /// The volatility that the vendor prints.
    #[default]
    Printed,
    /// The volatility that fits each contract's Greeks best, for vendors that print the implied volatility of the quote
    /// but compute Greeks from a smoothed curve.
    Implied,
}

impl VendorVols {
    /// Name in reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Printed => "printed",
            Self::Implied => "implied_by_greeks",
        }
    }
}

/// The vendor's numbers of one expiry, and the error of each: from its digits, from those of its volatility, and from
/// solvers. Squares are of differences in units of these errors, so that equal numbers have squares of about 1.
#[derive(Clone, Debug, Default)]
pub(super) struct SliceResidual {
    contracts: Vec<Contract>,
    conventions: Conventions,
    vols: VendorVols,
    /// 1 over the error of each number, by contract; NaN: no number.
    inverse_error: Vec<VendorNumbers>,
    /// 1 over the greatest value of each Greek; NaN: the vendor has none.
    inverse_size: VendorNumbers,
    /// Cap of a square.
    most: f64,
    /// Sum of squared differences from the served Greeks.
    pub(super) served: f64,
    /// Fractions of the squared difference from the served Greeks, in our definitions, that the vendor's definitions
    /// explain: of theta, of rho, and of the numbers beside puts.
    pub(super) by_definition: [f64; 3],
    /// Root mean square difference of each Greek from the served one, and at the vendor's volatilities, relative to its
    /// greatest value.
    pub(super) by_greek: [VendorNumbers; 2],
    /// Root mean square difference of all Greeks from the served ones: in our definitions, in the vendor's definitions
    /// of theta and rho, also at the vendor's volatilities, and by rounding alone.
    pub(super) rms: [f64; 4],
    /// Number of numbers compared.
    n: usize,
}

impl SliceResidual {
    /// Creates the residual of an expiry; `digits` has the last printed place of each number.
    ///
    /// # Domain   contracts of the slice; a Greek that the vendor has nowhere is left out
    pub(super) fn new(
        chain: &Chain,
        base: &World,
        contracts: &[Contract],
        conventions: Conventions,
        vols: VendorVols,
        digits: &VendorRow,
    ) -> Self {
        let start = |c: &Contract| Contract { sigma: if vols == VendorVols::Implied { c.ours } else { c.sigma }, ..*c };
        let contracts: &[Contract] = &contracts.iter().map(start).collect::<Vec<_>>();
        // a searched volatility has no rounding error
        let digits = &VendorRow { sigma: if vols == VendorVols::Implied { 0.0 } else { digits.sigma }, ..*digits };
        let at_vendor = conventions.numbers(base, contracts);
        let mut inverse_size = [f64::NAN; COMPARED.len()];
        for (place, inverse) in inverse_size.iter_mut().enumerate() {
            let known = contracts.iter().zip(&at_vendor).filter(|(c, _)| c.vendor[place].is_finite());
            let size = known.map(|(_, ours)| ours[place].abs()).fold(0.0, f64::max);
            // a column of zeros carries no information
            let is_given = contracts.iter().any(|c| c.vendor[place].abs() > 0.0);
            *inverse = if size > 0.0 && is_given { 1.0 / size } else { f64::NAN };
        }
        let inverse_error = inverse_errors(base, contracts, conventions, digits, &inverse_size);
        let mut of = Self {
            contracts: contracts.to_vec(),
            conventions,
            vols,
            inverse_error,
            inverse_size,
            most: f64::INFINITY,
            ..Self::default()
        };
        let served: Vec<VendorNumbers> = contracts.iter().map(|c| served(chain, c.row, base, conventions)).collect();
        of.n = of.missed(&served).count();
        of.most = of.cap(&served);
        of.served = of.sum(&served);
        let digits: f64 =
            of.missed(&served).map(|(i, place, _)| (inverse_size[place] / of.inverse_error[i][place]).powi(2)).sum();
        let (_, at_vendor) = of.numbers(base);
        of.by_greek =
            [&served, &at_vendor].map(|numbers| core::array::from_fn(|place| of.rms_of(numbers, |at| at == place)));
        let defined = of.rms_of(&served, |_| true);
        of.rms = [defined, defined, of.rms_of(&at_vendor, |_| true), (digits / of.n.max(1) as f64).sqrt()];
        of.define(chain, base);
        of
    }

    /// Finds the part of the mean square that the vendor's definitions explain, relative to the greatest value of each
    /// Greek, as in the last days a definition moves theta or rho by several times its size.
    fn define(&mut self, chain: &Chain, base: &World) {
        let own = self.conventions;
        let without = [own.with_plain_theta(), own.with_plain_rho(), own.with_own_puts()];
        let rms = |of: Conventions| {
            let numbers: Vec<VendorNumbers> =
                self.contracts.iter().map(|c| self::served(chain, c.row, base, of)).collect();
            self.rms_of(&numbers, |_| true)
        };
        let plain = own.with_own_puts().unwrap_or(own);
        let plain = plain.with_plain_theta().unwrap_or(plain);
        let plain = rms(plain.with_plain_rho().unwrap_or(plain));
        let square = |rms: f64| (rms * rms - self.rms[3] * self.rms[3]).max(0.0);
        let (all, left) = (square(plain), square(self.rms[1]));
        let part = |of: Option<Conventions>| of.map_or(0.0, |of| ((square(rms(of)) - left) / all).max(0.0));
        let parts = without.map(part);
        let (whole, together) = ((1.0 - left / all).max(0.0), parts.iter().sum::<f64>());
        if all > 0.0 && together > 0.0 {
            self.by_definition = parts.map(|part| part / together * whole);
        }
        self.rms[0] = plain;
    }

    /// The cap of a square: that of [`FAR`] times the median difference.
    fn cap(&self, ours: &[VendorNumbers]) -> f64 {
        let mut missed: Vec<f64> = self.missed(ours).map(|(_, _, miss)| miss.abs()).collect();
        missed.sort_by(f64::total_cmp);
        (FAR * missed.get(missed.len() / 2).copied().unwrap_or(0.0)).max(FAR).powi(2)
    }

    /// Root mean square of some Greeks' differences, relative to the greatest value of each; NaN: none.
    fn rms_of(&self, ours: &[VendorNumbers], is_wanted: impl Fn(usize) -> bool) -> f64 {
        let parts = self.missed(ours).filter(|&(_, place, _)| is_wanted(place));
        let part =
            |(i, place, miss): (usize, usize, f64)| miss / self.inverse_error[i][place] * self.inverse_size[place];
        let squares = parts.map(part).filter(|part| part.is_finite());
        let (sum, n) = squares.fold((0.0, 0), |(sum, n), part| (sum + part * part, n + 1));
        if n > 0 { (sum / f64::from(n)).sqrt() } else { f64::NAN }
    }

    /// Differences from some numbers: index of the contract, index of the Greek, difference in errors.
    fn missed<'a>(&'a self, ours: &'a [VendorNumbers]) -> impl Iterator<Item = (usize, usize, f64)> + 'a {
        self.contracts.iter().zip(ours).enumerate().flat_map(move |(i, (contract, ours))| {
            (0..COMPARED.len()).filter_map(move |place| {
                let (vendor, inverse) = (contract.vendor[place], self.inverse_error[i][place]);
                let is_given = vendor.is_finite() && inverse.is_finite();
                is_given.then(|| (i, place, (vendor - ours[place]) * inverse))
            })
        })
    }

    fn sum(&self, ours: &[VendorNumbers]) -> f64 {
        self.capped(ours, self.most)
    }

    fn capped(&self, ours: &[VendorNumbers], most: f64) -> f64 {
        let square = |miss: f64| if miss.is_finite() { (miss * miss).min(most) } else { most };
        self.missed(ours).map(|(_, _, miss)| square(miss)).sum()
    }

    /// Sum of squares from the numbers of a world at the vendor's volatilities.
    pub(super) fn squared(&self, world: &World) -> f64 {
        self.sum(&self.numbers(world).1)
    }

    /// The compared contracts.
    pub(super) fn contracts(&self) -> &[Contract] {
        &self.contracts
    }

    /// The residual of a sample of the contracts, for searches of many steps.
    pub(super) fn thinned(&self, most: usize) -> Self {
        let step = self.contracts.len().div_ceil(most.max(1)).max(1);
        Self {
            contracts: self.contracts.iter().step_by(step).copied().collect(),
            inverse_error: self.inverse_error.iter().step_by(step).copied().collect(),
            ..self.clone()
        }
    }

    /// The contracts at the volatilities that are compared, and the numbers of a world there.
    ///
    /// # Source   Gauss and Newton's step for each contract, its slopes those of European values; the best of all steps
    /// counts
    fn numbers(&self, world: &World) -> (Vec<Contract>, Vec<VendorNumbers>) {
        let mut contracts = self.contracts.clone();
        let mut numbers = self.conventions.numbers(world, &contracts);
        if self.vols == VendorVols::Printed {
            return (contracts, numbers);
        }
        let mut next = contracts.clone();
        let mut at_next = numbers.clone();
        for _ in 0..VOL_STEPS {
            let slopes = self.conventions.vol_slopes(world, &next);
            let mut sums = vec![(0.0, 0.0); next.len()];
            for (i, place, miss) in self.missed(&at_next) {
                let slope = slopes[i][place] * self.inverse_error[i][place];
                sums[i] = (sums[i].0 + slope * miss, sums[i].1 + slope * slope);
            }
            for (contract, (miss, slope)) in next.iter_mut().zip(sums) {
                let step = if slope > 0.0 { miss / slope } else { 0.0 };
                let sigma = contract.sigma;
                // NaN stays NaN, and `clamp` would panic at NaN bounds
                let found = (sigma + step).max(sigma / VOL_STEP_MOST).min(sigma * VOL_STEP_MOST);
                contract.sigma = found.clamp(VOLS.0, VOLS.1);
            }
            at_next = self.conventions.numbers(world, &next);
            let (before, after) = (self.by_contract(&numbers), self.by_contract(&at_next));
            for i in (0..next.len()).filter(|&i| after[i] < before[i]) {
                (contracts[i], numbers[i]) = (next[i], at_next[i]);
            }
        }
        (contracts, numbers)
    }

    /// Sum of squares of each contract.
    fn by_contract(&self, ours: &[VendorNumbers]) -> Vec<f64> {
        let mut sums = vec![0.0; self.contracts.len()];
        self.missed(ours)
            .for_each(|(i, _, miss)| sums[i] += if miss.is_finite() { miss * miss } else { f64::INFINITY });
        sums
    }

    /// Sums for the least-squares step from a world along a change of inputs: slope times residual, slope times slope.
    /// `ahead` and `here` are European worlds `h` apart. If volatilities are searched, only the part of a slope counts
    /// that no volatility can make.
    ///
    /// # Domain   any worlds; numbers that are missing or too far off do not count
    pub(super) fn step(&self, world: &World, ahead: &World, here: &World, h: f64) -> (f64, f64) {
        let (contracts, now) = self.numbers(world);
        let by_vol = self.conventions.vol_slopes(world, &contracts);
        let (ahead, here) = (self.conventions.numbers(ahead, &contracts), self.conventions.numbers(here, &contracts));
        let mut own = vec![Vec::new(); contracts.len()];
        for (i, place, miss) in self.missed(&now) {
            let error = self.inverse_error[i][place];
            let (slope, vol) = ((ahead[i][place] - here[i][place]) / h * error, by_vol[i][place] * error);
            if slope.is_finite() && miss * miss <= self.most {
                own[i].push((slope, vol, miss));
            }
        }
        let mut sums = (0.0, 0.0);
        for numbers in own {
            let vol: f64 = numbers.iter().map(|(_, vol, _)| vol * vol).sum();
            let shared: f64 = numbers.iter().map(|(slope, vol, _)| slope * vol).sum();
            let part = if self.vols == VendorVols::Implied && vol > 0.0 { shared / vol } else { 0.0 };
            for (slope, vol, miss) in numbers {
                let slope = slope - part * vol;
                sums = (sums.0 + slope * miss, sums.1 + slope * slope);
            }
        }
        sums
    }

    /// Expected squared residual where all numbers agree within their errors.
    pub(super) fn noise(&self) -> f64 {
        // each fitted volatility takes a degree of freedom
        let sought = if self.vols == VendorVols::Implied { self.contracts.len() } else { 0 };
        self.n.saturating_sub(sought) as f64
    }

    /// Fraction of the squared difference explained by a reason, given the residual `left` under the vendor's
    /// definitions; rounding error is subtracted first.
    pub(super) fn explained(&self, left: f64) -> f64 {
        self.removed(left) * (1.0 - self.by_definition.iter().sum::<f64>()).max(0.0)
    }

    /// Fraction of the residual under the vendor's definitions that a reason explains, given the residual `left`.
    pub(super) fn removed(&self, left: f64) -> f64 {
        let served = self.above(self.served);
        if served > 0.0 { (1.0 - self.above(left) / served).clamp(0.0, 1.0) } else { 0.0 }
    }

    fn above(&self, sum: f64) -> f64 {
        (sum - self.noise()).max(0.0)
    }
}

/// 1 over the error of each number of some contracts.
///
/// # Source   the mean squared error of a rounded number is a twelfth of its last place squared; a rounded volatility
/// moves each Greek by its derivative, taken from the European one
fn inverse_errors(
    base: &World,
    contracts: &[Contract],
    conventions: Conventions,
    digits: &VendorRow,
    inverse_size: &VendorNumbers,
) -> Vec<VendorNumbers> {
    let slopes = conventions.vol_slopes(base, contracts);
    let known = |x: f64| if x.is_finite() { x } else { 0.0 };
    let of = |slopes: &VendorNumbers| {
        core::array::from_fn(|place| {
            let (vol, own) = (known(digits.sigma) * slopes[place], known(digits.greeks[place]));
            let same = SAME / inverse_size[place];
            1.0 / ((vol * vol + own * own) / 12.0 + same * same).sqrt()
        })
    };
    slopes.iter().map(of).collect()
}

/// Served Greeks of a contract in the conventions of the vendor; `base` has the inputs of its slice.
pub(super) fn served(chain: &Chain, row: u32, base: &World, conventions: Conventions) -> VendorNumbers {
    let row = row as usize;
    let (right, strike_milli) = (chain.right[row], chain.strike_milli[row]);
    let is_call_of_strike =
        |&at: &usize| chain.right[at] == Right::Call && chain.strike_milli[at] == strike_milli && right == Right::Put;
    // rows have the call before the put
    let call = row.checked_sub(1).filter(is_call_of_strike).or((right == Right::Call).then_some(row));
    let none = || Greeks::from_fn(|_| f64::NAN);
    let of = OfStrike { own: raw(chain, row), call: call.map_or_else(none, |row| raw(chain, row)) };
    let k = strike_of(strike_milli);
    conventions.printed(&of, base, Point { right, k, sigma: chain.columns.get(Col::SvcVol)[row] })
}

/// Served Greeks of a row in raw units.
fn raw(chain: &Chain, row: usize) -> Greeks<f64> {
    let column = |greek| Col::ALL.iter().copied().find(|col| col.greek() == Some(greek));
    let raw = Greeks::from_fn(|greek| {
        column(greek).map_or(f64::NAN, |col| chain.columns.get(col)[row] * col.unit().divisor())
    });
    Greeks { value: chain.columns.get(Col::SvcTheo)[row], ..raw }
}
