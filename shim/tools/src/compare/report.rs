//! Report of a comparison: JSON, CSV, and the data of the text and the plot. Never: a computation but that of a median,
//! a percentile or a difference.

use super::compared::Compared;
use super::read::VendorFile;
use crate::arguments::CompareArgs;
use engine::compare::{COMPARED, Comparison, ContractComparison, ExpiryComparison, LikelyReason, ThetaConvention};
use engine::rates::source::RateSource;
use engine::store::chain::Chain;
use engine::store::columns::Col;
use kernel::contract::osi::OSI_LEN;
use kernel::contract::{Right, strike_of};
use serde::Serialize;
use std::fmt::Write;

/// Number of contracts listed for each Greek.
pub(super) const WORST: usize = 5;

/// Report of a comparison.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Report {
    pub(super) input: String,
    pub(super) layout: String,
    /// Number of unusable rows.
    pub(super) refused: u64,
    pub(super) names: Vec<NameReport>,
}

/// Comparison of one name.
#[derive(Clone, Debug, Serialize)]
pub(super) struct NameReport {
    pub(super) underlying: String,
    pub(super) valued_at: String,
    pub(super) contracts: usize,
    /// Numbers of values within bid and ask.
    pub(super) inside: InsideReport,
    /// Conventions of the vendor's Greeks.
    pub(super) conventions: ConventionsReport,
    /// Volatilities at which the vendor's Greeks are compared: `printed`, or `implied_by_greeks`.
    pub(super) vendor_vols: &'static str,
    /// Differences by Greek, and of the volatility.
    pub(super) differences: Vec<DifferenceReport>,
    pub(super) expiries: Vec<ExpiryReport>,
    /// Main reasons, with numbers of expiries.
    pub(super) reasons: Vec<(String, usize)>,
    /// Largest differences of each Greek.
    pub(super) worst: Vec<WorstReport>,
    #[serde(skip)]
    pub(super) points: Vec<Point>,
}

/// Numbers of values within bid and ask, of contracts quoted on both sides.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct InsideReport {
    pub(super) quoted: usize,
    /// Contracts whose values of ours lie inside.
    pub(super) ours: usize,
    /// Contracts whose values at the vendor's volatilities lie inside.
    pub(super) vendor: usize,
    /// Contracts of which both values lie inside.
    pub(super) both: usize,
}

/// Conventions of a vendor's Greeks.
#[derive(Clone, Debug, Serialize)]
pub(super) struct ConventionsReport {
    pub(super) theta: Option<&'static str>,
    pub(super) vega_times: Option<f64>,
    pub(super) rho_times: Option<f64>,
    /// Days of interest in rho: to expiry, or between settlements of trades.
    pub(super) rho_days: Option<&'static str>,
    /// Theta, vega and rho shown for puts: their own, or those of the call at their strike.
    pub(super) put_numbers: Option<&'static str>,
}

/// Differences of one Greek, in the unit of the native record.
#[derive(Clone, Debug, Serialize)]
pub(super) struct DifferenceReport {
    pub(super) greek: &'static str,
    pub(super) contracts: usize,
    /// Absolute difference between vendor and ours: median, 90th percentile and maximum.
    pub(super) median: f64,
    pub(super) p90: f64,
    pub(super) most: f64,
    /// Median absolute value of ours.
    pub(super) typical: f64,
}

/// Comparison of one expiry.
#[derive(Clone, Debug, Serialize)]
pub(super) struct ExpiryReport {
    pub(super) root: String,
    pub(super) expiry: String,
    pub(super) days: f64,
    pub(super) contracts: usize,
    /// Root mean square differences relative to the maximum of each Greek: from the served values; with theta and rho
    /// as the vendor defines them; also at the vendor's volatilities; and due to rounding.
    pub(super) rms: f64,
    pub(super) rms_defined: f64,
    pub(super) rms_at_vendor_vol: f64,
    pub(super) rms_of_digits: f64,
    pub(super) reasons: Vec<ReasonReport>,
}

/// A likely reason.
#[derive(Clone, Debug, Serialize)]
pub(super) struct ReasonReport {
    pub(super) reason: &'static str,
    /// Description of the reason, with its size.
    pub(super) text: String,
    /// Fraction of the squared difference that the reason explains.
    pub(super) explained: f64,
    /// Fraction of the squared difference under the vendor's definitions of theta and rho that a correction for the
    /// reason removes.
    pub(super) removes: f64,
}

/// One of the largest differences: a contract and a Greek.
#[derive(Clone, Debug, Serialize)]
pub(super) struct WorstReport {
    pub(super) greek: &'static str,
    pub(super) osym: String,
    pub(super) ours: f64,
    pub(super) vendor: f64,
    pub(super) difference: f64,
    /// Why the quote was dropped, else the reason of the expiry.
    pub(super) reason: String,
}

/// A point of the plot: one contract.
#[derive(Clone, Copy, Debug)]
pub(super) struct Point {
    /// Index of the expiry in the report.
    pub(super) expiry: usize,
    /// ln(K/F) in standard deviations.
    pub(super) x: f64,
    /// Vendor's delta minus ours.
    pub(super) y: f64,
}

impl Report {
    pub(super) fn of(args: &CompareArgs, file: &VendorFile, names: &[Compared]) -> Self {
        Self {
            input: args.input.clone(),
            layout: file.layout.to_owned(),
            refused: file.refused,
            names: names.iter().map(NameReport::of).collect(),
        }
    }

    /// The report as JSON.
    pub(super) fn json(&self) -> String {
        // cannot fail: every number is finite
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }

    /// The report as CSV: one line for each expiry and reason.
    pub(super) fn csv(&self) -> String {
        let mut out =
            "underlying,root,expiry,days,contracts,rms,rms_defined,rms_at_vendor_vol,rms_of_digits,rank,reason,explained,removes\n"
                .to_owned();
        for name in &self.names {
            for of in &name.expiries {
                for (rank, reason) in of.reasons.iter().enumerate() {
                    let _ = writeln!(
                        out,
                        "{},{},{},{:.4},{},{:.6},{:.6},{:.6},{:.6},{},{},{:.4},{:.4}",
                        name.underlying,
                        of.root,
                        of.expiry,
                        of.days,
                        of.contracts,
                        of.rms,
                        of.rms_defined,
                        of.rms_at_vendor_vol,
                        of.rms_of_digits,
                        rank + 1,
                        reason.reason,
                        reason.explained,
                        reason.removes
                    );
                }
            }
        }
        out
    }
}

impl NameReport {
    fn of(compared: &Compared) -> Self {
        let Compared { chain, found, rows } = compared;
        let expiries: Vec<ExpiryReport> = found.expiries.iter().map(|of| expiry(chain, of)).collect();
        let mut reasons: Vec<(String, usize)> = Vec::new();
        for of in &expiries {
            let word = of.reasons.first().map_or("unknown", |reason| reason.reason);
            match reasons.iter_mut().find(|(known, _)| known == word) {
                Some((_, n)) => *n += 1,
                None => reasons.push((word.to_owned(), 1)),
            }
        }
        reasons.sort_by_key(|of| std::cmp::Reverse(of.1));
        // the conventions of a Greek that the vendor does not show are unknown
        let is_said = |at: usize| found.contracts.iter().any(|of| of.vendor[at].abs() > 0.0);
        let vols = rows.iter().filter(|row| row.sigma > 0.0).filter_map(|row| {
            let ours = chain.columns.get(Col::SvcVol)[row.row as usize];
            ours.is_finite().then_some((row.sigma, ours))
        });
        let mut differences: Vec<DifferenceReport> =
            (0..COMPARED.len()).filter_map(|at| difference(COMPARED[at].name(), numbers(found, at))).collect();
        differences.extend(difference("volatility", vols));
        Self {
            underlying: chain.underlying.to_string(),
            valued_at: chain.valued_at.to_string(),
            contracts: found.contracts.len(),
            inside: InsideReport {
                quoted: found.inside.quoted,
                ours: found.inside.ours,
                vendor: found.inside.vendor,
                both: found.inside.both,
            },
            conventions: ConventionsReport {
                theta: is_said(3).then(|| found.conventions.theta.name()),
                vega_times: is_said(2).then_some(found.conventions.vega_times),
                rho_times: is_said(4).then_some(found.conventions.rho_times),
                rho_days: is_said(4).then(|| found.conventions.rho_days.name()),
                put_numbers: (is_said(3) || is_said(4)).then(|| found.conventions.put_numbers.name()),
            },
            vendor_vols: found.vols.name(),
            differences,
            worst: (0..COMPARED.len()).flat_map(|at| worst(chain, found, at)).collect(),
            points: points(chain, found),
            expiries,
            reasons,
        }
    }
}

/// A Greek of the vendor and ours, for every contract with the vendor's number.
fn numbers(found: &Comparison, at: usize) -> impl Iterator<Item = (f64, f64)> + '_ {
    let known = move |of: &ContractComparison| (of.vendor[at], of.ours[at]);
    found.contracts.iter().map(known).filter(|(vendor, _)| vendor.is_finite())
}

fn difference(greek: &'static str, numbers: impl Iterator<Item = (f64, f64)>) -> Option<DifferenceReport> {
    let (mut sizes, mut own): (Vec<f64>, Vec<f64>) =
        numbers.map(|(vendor, ours)| ((vendor - ours).abs(), ours.abs())).unzip();
    sizes.sort_by(f64::total_cmp);
    own.sort_by(f64::total_cmp);
    let part = |of: &[f64], part: f64| of[((of.len() - 1) as f64 * part) as usize];
    (!sizes.is_empty()).then(|| DifferenceReport {
        greek,
        contracts: sizes.len(),
        median: part(&sizes, 0.5),
        p90: part(&sizes, 0.9),
        most: part(&sizes, 1.0),
        typical: part(&own, 0.5),
    })
}

fn expiry(chain: &Chain, of: &ExpiryComparison) -> ExpiryReport {
    let slice = &chain.slices[of.slice];
    let spot = slice.und_price;
    let source = chain.evidence.as_ref().and_then(|evidence| evidence.rates).map(|origin| origin.source);
    let reasons = of.reasons.iter().map(|ranked| ReasonReport {
        reason: ranked.reason.name(),
        text: words(ranked.reason, spot, source),
        explained: ranked.explained,
        removes: ranked.removes,
    });
    ExpiryReport {
        root: slice.root.to_string(),
        expiry: slice.expiry.to_string(),
        days: slice.days,
        contracts: of.contracts,
        rms: of.rms,
        rms_defined: of.rms_defined,
        rms_at_vendor_vol: of.rms_at_vendor_vol,
        rms_of_digits: of.rms_of_digits,
        reasons: reasons.collect(),
    }
}

/// Description of a reason; where our input is a default, with the option that sets it.
fn words(reason: LikelyReason, spot: f64, rates: Option<RateSource>) -> String {
    match reason {
        LikelyReason::Rate(by) if matches!(rates, Some(RateSource::BuiltIn | RateSource::Saved)) => {
            format!("different rate: {:+.2} %; ours is not from a file: give --rates FILE", 100.0 * by)
        }
        LikelyReason::Agrees => "no difference beyond rounding".to_owned(),
        LikelyReason::Theta(of) => format!("theta is {}", theta_in_words(of)),
        LikelyReason::SettlementDays => "rho counts interest between settlements of trades, not to expiry".to_owned(),
        LikelyReason::CallsNumbers => "puts show theta, vega and rho of the call at their strike".to_owned(),
        LikelyReason::Volatility => "different volatility".to_owned(),
        LikelyReason::MissingDividend { date, amount } => format!("ignores the dividend of {amount} on {date}"),
        LikelyReason::NoDividends => "ignores dividends".to_owned(),
        LikelyReason::DividendsNotGiven { date, part } => format!(
            "counts dividends of about {:.2} a quarter, the next about {date}; ours has none: give --dividends FILE",
            part * spot
        ),
        LikelyReason::NoBorrow => "ignores the borrow rate".to_owned(),
        LikelyReason::Borrow(by) => format!("different borrow rate: {:+.2} %", 100.0 * by),
        LikelyReason::Rate(by) => format!("different rate: {:+.2} %", 100.0 * by),
        LikelyReason::Spot(by) => format!("different spot: {:+.3} % ({:+.4})", 100.0 * by, by * spot),
        LikelyReason::Time(by) => format!("different time to settlement: {:+.2} days", 365.0 * by),
        LikelyReason::OtherSettlement => "settlement at the open instead of the close, or the reverse".to_owned(),
        LikelyReason::WholeDays => "counts time in integer days".to_owned(),
        LikelyReason::TradingDays => "counts time in trading days, 252 a year".to_owned(),
        LikelyReason::EuropeanModel => "values as European".to_owned(),
        LikelyReason::Unknown => "no known reason".to_owned(),
    }
}

/// Description of a convention of theta.
pub(super) const fn theta_in_words(of: ThetaConvention) -> &'static str {
    match of {
        ThetaConvention::CalendarDay => "of a calendar day",
        ThetaConvention::TradingDay => "of a trading day",
        ThetaConvention::Year => "of a year",
        ThetaConvention::DriftlessCalendarDay => "of a calendar day, without interest and carry",
        ThetaConvention::DriftlessTradingDay => "of a trading day, without interest and carry",
        ThetaConvention::NextDay => "the value a day later less the value now",
        ThetaConvention::DriftlessNextDay => "the value a day later less the value now, without interest and carry",
        ThetaConvention::ForwardCalendarDay => "of a calendar day at an unchanged forward",
        ThetaConvention::ForwardNextDay => "the value a day later less the value now, at an unchanged forward",
    }
}

/// The largest differences of a Greek.
fn worst(chain: &Chain, found: &Comparison, at: usize) -> Vec<WorstReport> {
    let mut all: Vec<&ContractComparison> = found.contracts.iter().filter(|of| of.vendor[at].is_finite()).collect();
    let far = |of: &ContractComparison| (of.vendor[at] - of.ours[at]).abs();
    all.sort_by(|a, b| far(b).total_cmp(&far(a)));
    let report = |of: &&ContractComparison| {
        let row = of.row as usize;
        let slice = chain.slices.iter().position(|slice| slice.rows.contains(&of.row)).unwrap_or(0);
        let reason = found.expiries.iter().find(|expiry| expiry.slice == slice);
        let of_greek = |expiry: &ExpiryComparison| expiry.reason_of(COMPARED[at], chain.right[row]).name();
        let reason = reason.map_or("too few contracts", of_greek);
        WorstReport {
            greek: COMPARED[at].name(),
            osym: osym(chain, slice, row),
            ours: of.ours[at],
            vendor: of.vendor[at],
            difference: of.vendor[at] - of.ours[at],
            reason: chain.dropped[row].map_or_else(|| reason.to_owned(), |why| format!("bad quote: {}", why.name())),
        }
    };
    all.iter().take(WORST).map(report).collect()
}

fn osym(chain: &Chain, slice: usize, row: usize) -> String {
    let of = &chain.slices[slice];
    let (strike_milli, right): (u32, Right) = (chain.strike_milli[row], chain.right[row]);
    let mut osi = [b' '; OSI_LEN];
    let n = of.contract(strike_milli, right).write_compact(&mut osi);
    String::from_utf8_lossy(&osi[..n]).into_owned()
}

/// The points of the plot.
fn points(chain: &Chain, found: &Comparison) -> Vec<Point> {
    let place = |row: u32| found.expiries.iter().position(|expiry| chain.slices[expiry.slice].rows.contains(&row));
    let point = |of: &ContractComparison| {
        let expiry = place(of.row)?;
        let slice = &chain.slices[found.expiries[expiry].slice];
        let row = of.row as usize;
        let width = chain.columns.get(Col::SvcVol)[row] * (slice.days / 365.0).sqrt();
        let x = (strike_of(chain.strike_milli[row]) / slice.fwd_price).ln() / width;
        let y = of.vendor[0] - of.ours[0];
        (x.is_finite() && y.is_finite()).then_some(Point { expiry, x, y })
    };
    found.contracts.iter().filter_map(point).collect()
}
