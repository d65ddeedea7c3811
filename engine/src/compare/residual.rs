//! How far a vendor's numbers are from those of a world. Never: a reason.

use super::conventions::Conventions;
use super::world::{COMPARED, Contract, VendorNumbers, VendorRow, World};
use crate::contract::Style;
use crate::kernel::greeks::Greeks;
use crate::store::chain::Chain;
use crate::store::columns::Col;

/// A number may differ by this part of the greatest of its expiry and be the same: what solvers and tables leave.
const SAME: f64 = 1e-4;
/// One that differs by more than so many times the middle one counts no more than that: a bad row must not decide.
const FAR: f64 = 8.0;
/// By how much volatility is moved to see how Greeks follow it, as a part.
const VOL_BUMP: f64 = 1e-4;

/// The vendor's numbers of one expiry, and how well each is known: by its digits, by those of its volatility, and by what
/// solvers leave. Squares are of differences in these errors, so that numbers that say the same have squares of 1.
#[derive(Clone, Debug, Default)]
pub(super) struct SliceResidual {
    contracts: Vec<Contract>,
    conventions: Conventions,
    /// By contract, 1 over the error of each number; NaN: there is none.
    inverse_error: Vec<VendorNumbers>,
    /// 1 over the greatest of each Greek; NaN: the vendor has none.
    inverse_size: VendorNumbers,
    /// A square counts up to this.
    most: f64,
    /// Sum of squares from what is served.
    pub(super) served: f64,
    /// Root mean square of each Greek from what is served, in parts of the greatest.
    pub(super) by_greek: VendorNumbers,
    /// The same of all, from what is served, at the vendor's volatilities, and as digits leave it.
    pub(super) rms: [f64; 3],
    /// How many numbers are compared.
    n: usize,
}

impl SliceResidual {
    /// `digits` has the last printed place of each number.
    ///
    /// # Domain   contracts of the slice; a Greek that the vendor has nowhere is left out
    pub(super) fn new(
        chain: &Chain,
        base: &World,
        contracts: &[Contract],
        conventions: Conventions,
        digits: &VendorRow,
    ) -> Self {
        let at_vendor = base.printed(contracts, conventions);
        let mut inverse_size = [f64::NAN; COMPARED.len()];
        for (place, inverse) in inverse_size.iter_mut().enumerate() {
            let known = contracts.iter().zip(&at_vendor).filter(|(c, _)| c.vendor[place].is_finite());
            let size = known.map(|(_, ours)| ours[place].abs()).fold(0.0, f64::max);
            // what is all zeros says nothing
            let is_said = contracts.iter().any(|c| c.vendor[place].abs() > 0.0);
            *inverse = if size > 0.0 && is_said { 1.0 / size } else { f64::NAN };
        }
        let inverse_error = inverse_errors(base, contracts, conventions, digits, &inverse_size);
        let mut of = Self {
            contracts: contracts.to_vec(),
            conventions,
            inverse_error,
            inverse_size,
            most: f64::INFINITY,
            ..Self::default()
        };
        let x = base.s - base.terms.a(0.0);
        let served: Vec<VendorNumbers> = contracts.iter().map(|c| served(chain, c.row, x, conventions)).collect();
        let mut missed: Vec<f64> = of.missed(&served).map(|(_, _, miss)| miss.abs()).collect();
        of.n = missed.len();
        missed.sort_by(f64::total_cmp);
        let middle = missed.get(missed.len() / 2).copied().unwrap_or(0.0);
        of.most = (FAR * middle).max(FAR).powi(2);
        of.served = of.sum(&served);
        of.by_greek = core::array::from_fn(|place| of.rms_of(&served, |at| at == place));
        let digits: f64 =
            of.missed(&served).map(|(i, place, _)| (inverse_size[place] / of.inverse_error[i][place]).powi(2)).sum();
        of.rms = [of.rms_of(&served, |_| true), of.rms_of(&at_vendor, |_| true), (digits / of.n.max(1) as f64).sqrt()];
        of
    }

    /// Root mean square of some Greeks' differences, in parts of the greatest of each; NaN where there is none.
    fn rms_of(&self, ours: &[VendorNumbers], is_wanted: impl Fn(usize) -> bool) -> f64 {
        let parts = self.missed(ours).filter(|&(_, place, _)| is_wanted(place));
        let part =
            |(i, place, miss): (usize, usize, f64)| miss / self.inverse_error[i][place] * self.inverse_size[place];
        let squares = parts.map(part).filter(|part| part.is_finite());
        let (sum, n) = squares.fold((0.0, 0), |(sum, n), part| (sum + part * part, n + 1));
        if n > 0 { (sum / f64::from(n)).sqrt() } else { f64::NAN }
    }

    /// Differences from some numbers in their errors: the contract, which Greek, how many errors.
    fn missed<'a>(&'a self, ours: &'a [VendorNumbers]) -> impl Iterator<Item = (usize, usize, f64)> + 'a {
        self.contracts.iter().zip(ours).enumerate().flat_map(move |(i, (contract, ours))| {
            (0..COMPARED.len()).filter_map(move |place| {
                let (vendor, inverse) = (contract.vendor[place], self.inverse_error[i][place]);
                let is_said = vendor.is_finite() && inverse.is_finite();
                is_said.then(|| (i, place, (vendor - ours[place]) * inverse))
            })
        })
    }

    fn sum(&self, ours: &[VendorNumbers]) -> f64 {
        let square = |miss: f64| if miss.is_finite() { (miss * miss).min(self.most) } else { self.most };
        self.missed(ours).map(|(_, _, miss)| square(miss)).sum()
    }

    /// Sum of squares from the numbers of a world at the vendor's volatilities.
    pub(super) fn squared(&self, world: &World) -> f64 {
        self.sum(&world.printed(&self.contracts, self.conventions))
    }

    /// Sums for the least-squares step from one world along a change of inputs: slope times what is left, slope times
    /// slope. `ahead` is European numbers after a small step `h`, `here` before it.
    pub(super) fn step(&self, world: &World, ahead: &World, here: &World, h: f64) -> (f64, f64) {
        let now = world.printed(&self.contracts, self.conventions);
        let (ahead, here) =
            (ahead.printed(&self.contracts, self.conventions), here.printed(&self.contracts, self.conventions));
        let mut sums = (0.0, 0.0);
        for (i, place, miss) in self.missed(&now) {
            let slope = (ahead[i][place] - here[i][place]) / h * self.inverse_error[i][place];
            if slope.is_finite() && miss * miss <= self.most {
                sums.0 += slope * miss;
                sums.1 += slope * slope;
            }
        }
        sums
    }

    /// What is left where all numbers say the same.
    pub(super) fn noise(&self) -> f64 {
        self.n as f64
    }

    /// The part of the squared difference from what is served that is explained where so much is left, what digits leave
    /// taken out of both.
    pub(super) fn explained(&self, left: f64) -> f64 {
        let above = |sum: f64| (sum - self.noise()).max(0.0);
        if above(self.served) > 0.0 { (1.0 - above(left) / above(self.served)).clamp(0.0, 1.0) } else { 0.0 }
    }
}

/// 1 over the error of each number of some contracts.
///
/// # Source   a rounded number is off by a twelfth of its last place squared, on the mean; a rounded volatility moves each
/// #          Greek by its derivative, taken from the European one
fn inverse_errors(
    base: &World,
    contracts: &[Contract],
    conventions: Conventions,
    digits: &VendorRow,
    inverse_size: &VendorNumbers,
) -> Vec<VendorNumbers> {
    let moved: Vec<Contract> = contracts.iter().map(|c| Contract { sigma: c.sigma * (1.0 + VOL_BUMP), ..*c }).collect();
    let plain = World { style: Style::European, ..base.clone() };
    let (here, there) = (plain.printed(contracts, conventions), plain.printed(&moved, conventions));
    let known = |x: f64| if x.is_finite() { x } else { 0.0 };
    let of = |(i, contract): (usize, &Contract)| {
        core::array::from_fn(|place| {
            let by_vol = known((there[i][place] - here[i][place]) / (VOL_BUMP * contract.sigma));
            let (vol, own) = (known(digits.sigma) * by_vol, known(digits.greeks[place]));
            let same = SAME / inverse_size[place];
            1.0 / ((vol * vol + own * own) / 12.0 + same * same).sqrt()
        })
    };
    contracts.iter().enumerate().map(of).collect()
}

/// What is served of a contract, as the vendor would print it; `x` is the spot less its dividends.
pub(super) fn served(chain: &Chain, row: u32, x: f64, conventions: Conventions) -> VendorNumbers {
    let row = row as usize;
    let column = |greek| Col::ALL.iter().copied().find(|col| col.greek() == Some(greek));
    let raw = Greeks::from_fn(|greek| {
        column(greek).map_or(f64::NAN, |col| chain.columns.get(col)[row] * col.unit().divisor())
    });
    conventions.printed(&raw, chain.columns.get(Col::SvcVol)[row], x)
}
