//! An explanation as JSON: every number has all its digits, and its unit is in its name or in `units`. Never: a
//! computation but that of a mean or a difference.

use engine::calibrate::forward::{PairVote, Parity};
use engine::explain::{Explanation, StrikeOutcome, StrikeParity, Unused, ValueBasis, Warning};
use engine::store::chain::{Chain, Slice};
use engine::store::columns::Col;
use engine::store::drop_reason::DropReason;
use engine::store::quotes::QuoteNumber;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use kernel::contract::{Deliverable, Right, Settle, Style};
use kernel::contract::{osi::OSI_LEN, strike_of};
use kernel::greeks::{Greeks, Unit};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A number that may be missing.
pub type MaybeNumber = Option<f64>;

/// Numbers keyed by native field name.
pub type NamedNumbers = BTreeMap<String, MaybeNumber>;

/// The explanation of one contract.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ExplainDocument {
    /// Identity and terms of the contract.
    pub contract: ContractPart,
    /// Feed, snapshot and time.
    pub market: MarketPart,
    /// Warnings, the most serious first.
    pub warnings: Vec<WarningPart>,
    /// The contract's own quote.
    pub quote: QuotePart,
    /// Price of the underlying.
    pub spot: SpotPart,
    /// Time, rates and dividends.
    pub carry: CarryPart,
    /// The forward, and the call/put pairs that imply it.
    pub forward: ForwardPart,
    /// Volatilities of the contract and of its neighbours.
    pub volatility: VolatilityPart,
    /// Early exercise premium.
    pub early_exercise: EarlyPart,
    /// Value and Greeks, as served and by each scheme.
    pub values: ValuesPart,
    /// Units of fields.
    pub units: BTreeMap<String, String>,
}

/// Identity and terms of a contract.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ContractPart {
    /// OSI symbol, padded.
    pub osym: String,
    /// Underlying.
    pub underlying: String,
    /// Option root.
    pub root: String,
    /// Expiration date.
    pub expiry: String,
    /// Strike.
    pub strike: f64,
    /// `call` or `put`.
    pub right: String,
    /// `american` or `european`.
    pub ex_style: String,
    /// `am` or `pm`.
    pub settle: String,
    /// The settlement instant, Eastern time.
    pub settles_at: String,
    /// Deliverable of an adjusted root; `null`: 100 shares, or unknown.
    pub deliverable: Option<DeliverablePart>,
}

/// Deliverable of a contract, and the standard option that its value follows from.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeliverablePart {
    /// Shares of the underlying, per contract.
    pub shares: f64,
    /// Cash, per contract.
    pub cash: f64,
    /// Multiplier from a quoted price to the price of a contract.
    pub multiplier: f64,
    /// Multiplier from the strike to the cost of exercise.
    pub strike_multiplier: f64,
    /// Number of options on one share that the contract is valued as,
    pub options: f64,
    /// at this strike; `null`: the cash alone pays for exercise.
    pub option_strike: MaybeNumber,
}

/// Feed, snapshot and time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MarketPart {
    /// The feed, as given to the program.
    pub feed: String,
    /// True if the market is simulated.
    pub simulated: bool,
    /// True if the market is in session.
    pub market_open: bool,
    /// Number of the snapshot; 0: none was published.
    pub snapshot: u64,
    /// Instant of the values, Eastern time.
    pub valued_at: String,
    /// Why no contract of the name has Greeks.
    pub uncomputed: Option<String>,
}

/// A warning.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WarningPart {
    /// Name of the warning.
    pub name: String,
    /// Meaning of the warning.
    pub meaning: String,
}

/// The contract's own quote.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct QuotePart {
    /// True if the daemon serves quotes; otherwise prices and sizes are missing.
    pub shown: bool,
    /// Bid.
    pub bid: MaybeNumber,
    /// Ask.
    pub ask: MaybeNumber,
    /// Mid of bid and ask.
    pub mid: MaybeNumber,
    /// Contracts at the bid.
    pub bid_size: MaybeNumber,
    /// Contracts at the ask.
    pub ask_size: MaybeNumber,
    /// Time of the quote, Eastern.
    pub time: Option<String>,
    /// Age of the quote at the instant of the values, seconds.
    pub age_s: MaybeNumber,
    /// Age of the quote at the time of the newest quote of the chain, seconds.
    pub behind_newest_s: MaybeNumber,
    /// Why the quote is used neither for the forward nor for the curve; missing: it is used.
    pub dropped: Option<String>,
}

/// Price of the underlying.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SpotPart {
    /// Published price.
    pub published: MaybeNumber,
    /// Spot implied by the options of all expiries.
    pub implied: MaybeNumber,
    /// Standard error of the implied spot.
    pub implied_error: MaybeNumber,
    /// True if published and implied spot differ beyond the error; the values then use the implied spot.
    pub off: bool,
    /// Source of `und_price`: `published`, or `implied` where no feed has a price; `null`: there is neither.
    pub source: Option<String>,
    /// Spot that this contract is valued at.
    pub used: MaybeNumber,
}

/// Time, rates and dividends.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CarryPart {
    /// Years to settlement.
    pub t_years: MaybeNumber,
    /// Days to settlement.
    pub days: MaybeNumber,
    /// Years to the same clock time on the next trading day.
    pub next_session_years: MaybeNumber,
    /// Discount rate.
    pub rate: MaybeNumber,
    /// Source of the rate: `override`, or that of the curve (`user`, `treasury`, `implied`, `saved`, `built_in`,
    /// `simulated`, `zero`); missing: unknown.
    #[serde(default)]
    pub rate_source: Option<String>,
    /// Date of the curve.
    #[serde(default)]
    pub rate_as_of: Option<String>,
    /// Borrow rate.
    pub borrow: MaybeNumber,
    /// Borrow rate implied by the call/put pairs of this expiry alone.
    pub borrow_alone: MaybeNumber,
    /// Present value of the dividends before settlement: A(0).
    pub dividends_value: MaybeNumber,
    /// Dividends before settlement.
    pub dividends: Vec<DividendPart>,
    /// Number of dividends before settlement, if they are too many: none is counted then. Else 0.
    #[serde(default)]
    pub dividends_refused: u32,
    /// True if a source of dividends covers the name: an empty list means then that none is paid.
    #[serde(default)]
    pub dividends_known: Option<bool>,
    /// Which of rate, forward and borrow are overridden.
    #[serde(rename = "said_by_user")]
    pub overridden: Vec<String>,
}

/// A dividend.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DividendPart {
    /// Ex-date.
    pub ex_date: String,
    /// Years to the ex-date.
    pub t_years: f64,
    /// The amount per share that counts.
    pub amount: f64,
    /// The amount that its source gives, where quotes contradict it.
    #[serde(default)]
    pub given: MaybeNumber,
    /// `declared`, `projected` or `override`.
    pub source: String,
}

/// The forward, and the call/put pairs that imply it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ForwardPart {
    /// Served forward.
    pub price: MaybeNumber,
    /// Standard error of the served forward; missing: the expiry has no usable call/put pair.
    pub error: MaybeNumber,
    /// Forward implied by the call/put pairs of this expiry alone.
    pub alone: MaybeNumber,
    /// Standard error of the forward implied alone.
    pub alone_error: MaybeNumber,
    /// Number of pairs that agree on the implied forward.
    pub pairs_agreeing: u32,
    /// The forwards implied by each strike of the expiry.
    pub strikes: Vec<StrikePart>,
}

/// The forward that one strike implies.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StrikePart {
    /// Strike.
    pub strike: f64,
    /// True if the pair at the strike has a weight in the forward.
    pub used: bool,
    /// Implied forward.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub forward: MaybeNumber,
    /// Error of the implied forward due to the spreads.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub error: MaybeNumber,
    /// Fraction of the total weight.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub share: MaybeNumber,
    /// Agreement with the other strikes, 0 to 1.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub agrees: MaybeNumber,
    /// Why the pair is not used.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub why: Option<String>,
    /// Side whose quote was dropped: `call` or `put`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub right: Option<String>,
}

/// Volatilities.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct VolatilityPart {
    /// Implied by the bid.
    pub at_bid: MaybeNumber,
    /// Implied by the mid.
    pub at_mid: MaybeNumber,
    /// Implied by the ask.
    pub at_ask: MaybeNumber,
    /// Volatility of the curve, which the values use.
    pub svc_vol: MaybeNumber,
    /// Part of `svc_vol` that an override adds.
    pub shift: MaybeNumber,
    /// Support of the curve by quotes at this place, 0 to 1.
    pub confidence: MaybeNumber,
    /// Volatility at the end of the previous session.
    pub previous_session: MaybeNumber,
    /// Contracts of the same right and expiry at neighbouring strikes, including this one.
    pub strikes: Vec<CurvePart>,
    /// Contracts of the same right in the previous and the next expiry, at the strike as far from the forward.
    pub expiries: Vec<CurvePart>,
}

/// A place of a curve.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CurvePart {
    /// Root.
    pub root: String,
    /// Expiration date.
    pub expiry: String,
    /// Strike.
    pub strike: f64,
    /// Implied by the bid.
    pub at_bid: MaybeNumber,
    /// Implied by the mid.
    pub at_mid: MaybeNumber,
    /// Implied by the ask.
    pub at_ask: MaybeNumber,
    /// Volatility of the curve.
    pub svc_vol: MaybeNumber,
    /// Support of the curve by quotes, 0 to 1.
    pub confidence: MaybeNumber,
    /// Forward of the expiry.
    pub forward: MaybeNumber,
    /// svc_vol² times the years to settlement.
    pub total_variance: MaybeNumber,
    /// Why the quote is not used.
    pub dropped: Option<String>,
}

/// Early exercise premium.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EarlyPart {
    /// Served value minus the European one.
    pub premium: MaybeNumber,
    /// Method of the premium.
    pub method: Option<String>,
}

/// Value and Greeks, in the units of the native record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ValuesPart {
    /// Served numbers.
    pub served: NamedNumbers,
    /// Numbers of the contract if it were European.
    pub european: NamedNumbers,
    /// Numbers of the scheme of the passes, for this contract alone.
    pub fast: NamedNumbers,
    /// Numbers of the reference scheme.
    pub reference: NamedNumbers,
}

/// Facts of an explanation that its chain does not have.
#[derive(Clone, Debug, Default)]
pub struct Surroundings {
    /// Feed, snapshot, session; `valued_at` and `uncomputed` are taken from the chain.
    pub market: MarketPart,
    /// Time zone of shown times.
    pub zone: Option<TimeZone>,
}

/// Units of fields.
const UNITS: [(&str, &str); 12] = [
    ("age_s", "seconds"),
    ("borrow, rate", "continuously compounded, per year, decimal"),
    ("confidence, share, agrees", "0 to 1"),
    ("days", "calendar days, with a fraction"),
    ("delta, gamma, speed, lambda, dual_delta, dual_gamma, vanna, zomma", "per 1 of spot, strike, volatility (raw)"),
    ("error", "one standard error, in the unit of the quantity"),
    ("forward, spot, strike, bid, ask, mid, dividends, premium, svc_theo, decay", "currency per share"),
    ("theta", "per calendar day"),
    ("charm, color, veta", "per year"),
    ("vega, rho, epsilon", "per 1 %"),
    ("volga, ultima, vera", "per 1.00 of volatility and rate (raw)"),
    ("volatility", "per square root of a year, decimal: 0.25 is 25 %"),
];

/// `None` for NaN; zero loses its sign.
fn known(x: f64) -> MaybeNumber {
    x.is_finite().then_some(x + 0.0)
}

impl ExplainDocument {
    /// The document of an explanation.
    #[must_use]
    pub fn of(chain: &Chain, found: &Explanation, around: &Surroundings) -> Self {
        let slice = &chain.slices[found.slice];
        let zone = around.zone.clone().unwrap_or(TimeZone::UTC);
        let spell = |at: Timestamp| at.to_zoned_datetime(zone.clone()).strftime("%Y-%m-%dT%H:%M:%S%.3f%:z").to_string();
        let market = MarketPart {
            valued_at: spell(chain.valued_at),
            uncomputed: chain.uncomputed.map(|why| why.name().to_owned()),
            ..around.market.clone()
        };
        let warning = |name: &str, meaning: &str| WarningPart { name: name.to_owned(), meaning: meaning.to_owned() };
        let simulated = market.simulated.then(|| warning("simulated", "simulated market: no real data"));
        let held = (!market.market_open)
            .then(|| warning("held", "the market is closed: values are those of the end of the last session"));
        let own = found.warnings.iter().map(|own| warning(own.name(), &meaning(*own, &found.warnings)));
        // the former name of the warning `preliminary`, for one release
        let deprecated = chain.preliminary.then(|| warning("rough", "deprecated name of the warning preliminary"));
        Self {
            contract: contract_part(chain, found, &spell),
            warnings: own.chain(simulated).chain(held).chain(deprecated).collect(),
            quote: quote_part(chain, found.row, &spell),
            spot: SpotPart {
                published: known(chain.spot),
                implied: known(chain.implied_spot),
                implied_error: known(chain.implied_spot_error),
                off: chain.spot_off,
                source: spot_source(chain).map(str::to_owned),
                used: found.basis.as_ref().and_then(|basis| known(basis.s)),
            },
            carry: carry_part(chain, slice, found),
            forward: forward_part(slice, found),
            volatility: volatility_part(chain, found),
            early_exercise: EarlyPart {
                premium: found
                    .values
                    .as_ref()
                    .and_then(|values| known(chain.columns.get(Col::SvcTheo)[found.row] - values.european.value)),
                method: found.method.map(|method| method.name().to_owned()),
            },
            values: ValuesPart {
                served: served(chain, found.row),
                european: found.values.as_ref().map(|values| native(&values.european)).unwrap_or_default(),
                fast: found.values.as_ref().map(|values| native(&values.fast)).unwrap_or_default(),
                reference: found.values.as_ref().map(|values| native(&values.reference)).unwrap_or_default(),
            },
            units: UNITS.iter().map(|&(name, unit)| (name.to_owned(), unit.to_owned())).collect(),
            market,
        }
    }

    /// The document as JSON.
    #[must_use]
    pub fn json(&self) -> Vec<u8> {
        // cannot fail: every number is finite or missing
        serde_json::to_vec(self).unwrap_or_default()
    }
}

/// Meaning of a warning, with a possible cause: old or missing rates, or unknown dividends, make good quotes look
/// wrong.
fn meaning(own: Warning, all: &[Warning]) -> String {
    let causes = [Warning::OldRates, Warning::ZeroRates, Warning::DividendsUnknown];
    let causes: Vec<&str> = causes.iter().filter(|cause| all.contains(cause)).map(|cause| cause.name()).collect();
    let is_doubt = matches!(
        own,
        Warning::Quote(DropReason::NoArbitrage) | Warning::SpotOff | Warning::SpotShifted | Warning::OutsideSpread
    );
    match causes.as_slice() {
        causes if is_doubt && !causes.is_empty() => {
            format!("{}; possible cause: {}", own.meaning(), causes.join(" or "))
        }
        _ => own.meaning().to_owned(),
    }
}

fn spot_source(chain: &Chain) -> Option<&'static str> {
    match () {
        () if chain.spot > 0.0 => Some("published"),
        () if chain.spot_is_implied() => Some("implied"),
        () => None,
    }
}

fn contract_part(chain: &Chain, found: &Explanation, spell: &dyn Fn(Timestamp) -> String) -> ContractPart {
    let (slice, row) = (&chain.slices[found.slice], found.row);
    let (strike_milli, right) = (chain.strike_milli[row], chain.right[row]);
    let mut osi = [b' '; OSI_LEN];
    slice.contract(strike_milli, right).write_padded(&mut osi);
    ContractPart {
        osym: String::from_utf8_lossy(&osi).into_owned(),
        underlying: chain.underlying.to_string(),
        root: slice.root.to_string(),
        expiry: slice.expiry.to_string(),
        strike: strike_of(strike_milli),
        right: right_word(right).to_owned(),
        ex_style: if slice.style == Style::European { "european" } else { "american" }.to_owned(),
        settle: if slice.settle == Settle::Am { "am" } else { "pm" }.to_owned(),
        settles_at: spell(slice.settles_at),
        deliverable: deliverable_part(chain, found.slice, strike_milli),
    }
}

fn deliverable_part(chain: &Chain, slice: usize, strike_milli: u32) -> Option<DeliverablePart> {
    let terms = chain.evidence.as_ref()?.slices.get(slice)?.deliverable?;
    let Deliverable { shares, cash, multiplier, strike_multiplier } = terms;
    let (options, option_strike) = (terms.shares_per_unit(), terms.strike_of_share(strike_milli));
    Some(DeliverablePart { shares, cash, multiplier, strike_multiplier, options, option_strike })
}

const fn right_word(right: Right) -> &'static str {
    match right {
        Right::Call => "call",
        Right::Put => "put",
    }
}

fn quote_part(chain: &Chain, row: usize, spell: &dyn Fn(Timestamp) -> String) -> QuotePart {
    let number = |which: QuoteNumber| chain.quotes.as_ref().and_then(|quotes| known(quotes.get(row, which)));
    let evidence = chain.evidence.as_ref();
    let shown = chain.quotes.as_ref().map(|quotes| quotes.time(row));
    let time = shown.or_else(|| evidence.and_then(|evidence| evidence.quote_time(row)));
    let behind = evidence.and_then(|evidence| evidence.age_s.get(row)).map(|&age| f64::from(age));
    QuotePart {
        shown: chain.quotes.is_some(),
        bid: number(QuoteNumber::Bid),
        ask: number(QuoteNumber::Ask),
        mid: number(QuoteNumber::Mid),
        bid_size: number(QuoteNumber::BidSize),
        ask_size: number(QuoteNumber::AskSize),
        // a listed contract without a quote has the first instant of all
        time: time.filter(|time| time.duration_since(Timestamp::MIN) > SignedDuration::from_hours(24)).map(spell),
        // a quote after the instant of the values has age 0
        age_s: time.map(|time| chain.valued_at.duration_since(time).as_secs_f64().max(0.0)),
        behind_newest_s: behind.and_then(known),
        dropped: chain.dropped[row].map(|why| why.name().to_owned()),
    }
}

fn carry_part(chain: &Chain, slice: &Slice, found: &Explanation) -> CarryPart {
    let of = |number: fn(&ValueBasis) -> f64| found.basis.as_ref().and_then(|basis| known(number(basis)));
    let dividends = found.basis.iter().flat_map(|basis| &basis.dividends).map(|dividend| DividendPart {
        ex_date: dividend.ex_date.to_string(),
        t_years: dividend.t,
        amount: dividend.amount,
        given: known(dividend.given).filter(|_| (dividend.given - dividend.amount).abs() > 0.0),
        source: dividend.source.name().to_owned(),
    });
    let said = found.basis.iter().flat_map(|basis| {
        let known = basis.known;
        [("rate", known.rate), ("forward", known.fwd), ("borrow", known.borrow)]
    });
    CarryPart {
        t_years: of(|basis| basis.terms.t),
        days: known(slice.days),
        next_session_years: of(|basis| basis.step),
        rate: known(slice.disc_rate),
        rate_source: found.basis.as_ref().and_then(|basis| match (basis.known.rate, basis.rates) {
            (true, _) => Some("override".to_owned()),
            (false, origin) => origin.map(|origin| origin.source.name().to_owned()),
        }),
        rate_as_of: found.basis.as_ref().and_then(|basis| Some(basis.rates?.as_of?.to_string())),
        borrow: known(slice.borr_rate),
        borrow_alone: found.basis.as_ref().and_then(|basis| {
            let spot = if chain.spot_off { chain.implied_spot } else { slice.und_price };
            known(engine::calibrate::carry::implied_borrow(
                spot,
                found.parity.fwd,
                basis.terms.t,
                basis.terms.r,
                &basis.terms.divs,
            ))
        }),
        dividends_value: of(|basis| basis.terms.a(0.0)),
        dividends: dividends.collect(),
        dividends_refused: found.basis.as_ref().map_or(0, |basis| basis.dividends_refused),
        dividends_known: found.basis.as_ref().map(|basis| basis.dividends_known),
        overridden: said.filter(|(_, is_said)| *is_said).map(|(name, _)| name.to_owned()).collect(),
    }
}

fn forward_part(slice: &Slice, found: &Explanation) -> ForwardPart {
    let Parity { fwd, error, pairs, .. } = found.parity;
    ForwardPart {
        price: known(slice.fwd_price),
        error: found.basis.as_ref().and_then(|basis| known(basis.fwd_error)),
        alone: known(fwd),
        alone_error: known(error),
        pairs_agreeing: pairs,
        strikes: found.strikes.iter().map(strike_part).collect(),
    }
}

fn strike_part(strike_parity: &StrikeParity) -> StrikePart {
    let strike = strike_of(strike_parity.strike_milli);
    let none = StrikePart {
        strike,
        used: false,
        forward: None,
        error: None,
        share: None,
        agrees: None,
        why: None,
        right: None,
    };
    match strike_parity.outcome {
        StrikeOutcome::Voted(PairVote { fwd, error, agrees, share, .. }) => StrikePart {
            used: true,
            forward: known(fwd),
            error: known(error),
            share: known(share),
            agrees: known(agrees),
            ..none
        },
        StrikeOutcome::Unused(why) => StrikePart {
            why: Some(why.name().to_owned()),
            right: if let Unused::Dropped(right, _) = why { Some(right_word(right).to_owned()) } else { None },
            ..none
        },
    }
}

fn volatility_part(chain: &Chain, found: &Explanation) -> VolatilityPart {
    let number = |col: Col| known(chain.columns.get(col)[found.row]);
    VolatilityPart {
        at_bid: number(Col::BidVol),
        at_mid: number(Col::MidVol),
        at_ask: number(Col::AskVol),
        svc_vol: number(Col::SvcVol),
        shift: found.basis.as_ref().and_then(|basis| known(basis.vol_shift)),
        confidence: number(Col::ConfVol),
        previous_session: number(Col::PrevVol),
        strikes: found.beside.iter().map(|&row| curve_part(chain, found.slice, row)).collect(),
        expiries: found.expiries.iter().map(|&(slice, row)| curve_part(chain, slice, row)).collect(),
    }
}

fn curve_part(chain: &Chain, slice: usize, row: usize) -> CurvePart {
    let of = &chain.slices[slice];
    let number = |col: Col| known(chain.columns.get(col)[row]);
    let svc_vol = number(Col::SvcVol);
    CurvePart {
        root: of.root.to_string(),
        expiry: of.expiry.to_string(),
        strike: strike_of(chain.strike_milli[row]),
        at_bid: number(Col::BidVol),
        at_mid: number(Col::MidVol),
        at_ask: number(Col::AskVol),
        svc_vol,
        confidence: number(Col::ConfVol),
        forward: known(of.fwd_price),
        total_variance: svc_vol.and_then(|vol| known(vol * vol * of.days / 365.0)),
        dropped: chain.dropped[row].map(|why| why.name().to_owned()),
    }
}

/// Served numbers of a row: value, Greeks and `decay`.
fn served(chain: &Chain, row: usize) -> NamedNumbers {
    let shown = Col::ALL.iter().filter(|col| col.greek().is_some() || **col == Col::Decay);
    shown.map(|&col| (col.name().to_owned(), known(chain.columns.get(col)[row]))).collect()
}

/// Raw Greeks in the units of the native record.
fn native(greeks: &Greeks<f64>) -> NamedNumbers {
    let shown = Col::ALL.iter().filter_map(|&col| Some((col, col.greek()?)));
    let unit = |col: Col| Unit::divisor(col.unit());
    shown.map(|(col, greek)| (col.name().to_owned(), known(greeks.get(greek) / unit(col)))).collect()
}
