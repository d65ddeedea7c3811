//! The columns of `/l1/metrics`: what each shows of a name or of an expiry, and why it is missing where it is. Never: a
//! formula that is not a difference or a ratio of two columns, bytes.

use crate::rows::frame::ColumnHead;
use engine::closes::{LastSessions, NameClose, NamePast, NoPast, YEAR};
use engine::store::chain::Chain;
use engine::store::quotes::QuoteNumber;
use engine::term::{
    EventState, Exposure, Exposures, PutsAndCalls, TENORS, Tenors, TermExpiry, TermStructure, gamma_flip, max_pain,
};
use jiff::Timestamp;
use jiff::civil::Date;
use kernel::calendar::{Calendar, VarianceClock};
use kernel::contract::RootTable;

/// A cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Metric {
    /// A number, finite.
    Number(f64),
    /// A word.
    Word(&'static str),
    /// A date.
    Date(Date),
    /// Nothing, and why.
    Missing(&'static str),
}

/// A column of metrics.
#[derive(Debug)]
pub(super) struct MetricColumn<F> {
    name: &'static str,
    is_number: bool,
    /// Finds the value of the column.
    pub(super) find: F,
}

/// Value of a column for a name, by its chain.
pub(super) type OfName = fn(&NameMetrics<'_>) -> Metric;
/// Value of a column for a name, by the closes of earlier sessions.
pub(super) type OfPast = fn(&PastMetrics<'_>) -> Metric;
/// Value of a column for an expiry.
type OfExpiry = fn(&ExpiryMetrics<'_>) -> Metric;

const fn number<F: Copy>(name: &'static str, find: F) -> MetricColumn<F> {
    MetricColumn { name, is_number: true, find }
}

const fn word<F: Copy>(name: &'static str, find: F) -> MetricColumn<F> {
    MetricColumn { name, is_number: false, find }
}

/// The number, or why it is not there.
fn or(x: f64, why: &'static str) -> Metric {
    if x.is_finite() { Metric::Number(x) } else { Metric::Missing(why) }
}

/// A number, or why it is not there.
fn found(x: Result<f64, &'static str>) -> Metric {
    x.map_or_else(Metric::Missing, Metric::Number)
}

/// A number that needs earlier sessions, or why it is not there.
fn known(x: Result<f64, NoPast>) -> Metric {
    found(x.map_err(NoPast::name))
}

fn date(of: Option<Date>, why: &'static str) -> Metric {
    of.map_or(Metric::Missing(why), Metric::Date)
}

/// Sessions of a month.
pub const MONTH: usize = 21;
/// Sessions of the realised volatilities that have one length only.
const REALISED: usize = 20;

const NO_EXPIRY: &str = "not_between_expiries";
const NO_EVENT_DATE: &str = "event_date_open";
const EVENT_UNKNOWN: &str = "event_unknown";
const NO_EVENT: &str = "no_event";
const EVENT_IS_THERE: &str = "event_expected";
const EVENT_SIZE: &str = "event_size_unknown";
const SECOND_EVENT: &str = "second_event_possible";
const NO_WING: &str = "wing_not_listed";
const NO_COUNTS: &str = "no_counts";
const NO_FORWARD_VOL: &str = "forward_not_between_strikes";
const CROSSED: &str = "calendar_crossed";
const NO_INTEREST: &str = "open_interest_incomplete";
const NO_PRICE: &str = "no_price";
const NOT_ASKED: &str = "only_where_asked";

/// A name, as the columns by its chain see it.
#[derive(Debug)]
pub(super) struct NameMetrics<'a> {
    chain: &'a Chain,
    term: &'a TermStructure,
    tenors: &'a Tenors,
    /// By [`TENORS`].
    iv: [f64; TENORS.len()],
    /// Volatilities in 30 days of the call and of the put of 25 delta.
    pub(super) wings: [f64; 2],
    /// The expiry that moves are expected until: the first one a day away.
    next: Option<&'a TermExpiry>,
    /// Exposures of all its contracts.
    exposures: Exposures,
}

impl<'a> NameMetrics<'a> {
    pub(super) fn new(chain: &'a Chain, term: &'a TermStructure, tenors: &'a Tenors, roots: &RootTable) -> Self {
        let iv = TENORS.map(|days| term.iv(tenors, days));
        let wings = term.wings_at(tenors, 30.0);
        let quoted = || term.expiries().iter().filter(|of| of.vol.is_finite());
        // in the last hours of an expiry its volatility says little
        let next = quoted().find(|of| of.days >= 1.0).or_else(|| quoted().next());
        let exposures = Exposures::of_rows(chain, std::slice::from_ref(&(0..chain.rows())), roots);
        Self { chain, term, tenors, iv, wings, next, exposures }
    }

    /// Why a volatility of a maturity is missing.
    pub(super) fn why(&self, days: f64) -> &'static str {
        // an event between the expiries beside it, or no expiry on one side
        let has_event = matches!(self.term.event.state, EventState::Found | EventState::Dated);
        match has_event && self.term.is_between_expiries(self.tenors, days) {
            true if self.term.event.variance.is_nan() => EVENT_SIZE,
            true => NO_EVENT_DATE,
            false => NO_EXPIRY,
        }
    }

    pub(super) fn iv_at(&self, days: f64) -> f64 {
        TENORS.iter().position(|of| of.total_cmp(&days).is_eq()).map_or(f64::NAN, |place| self.iv[place])
    }

    fn forward(&self, from: f64, to: f64) -> Metric {
        let known = [from, to].into_iter().find(|&days| self.iv_at(days).is_nan());
        or(TermStructure::forward_iv(|days| self.iv_at(days), from, to), known.map_or(CROSSED, |days| self.why(days)))
    }

    fn skew(&self, of: impl Fn(f64, f64, f64) -> f64) -> Metric {
        let [call, put] = self.wings;
        let at_money = self.iv_at(30.0);
        or(of(call, put, at_money), if at_money.is_nan() { self.why(30.0) } else { NO_WING })
    }

    fn per_call(&self, number: QuoteNumber) -> Metric {
        or(PutsAndCalls::of(self.chain, &self.chain.slices, number).ratio(), NO_COUNTS)
    }

    fn exposure(&self, x: f64) -> Metric {
        found(self.exposures.sum(x))
    }

    /// Exposure of calls less that of puts.
    fn net(&self, of: fn(&Exposure) -> f64) -> Metric {
        self.exposure(self.exposures.net(of))
    }

    /// A number of its event, which only one that is found has.
    fn event(&self, x: f64) -> Metric {
        or(x, self.why_no_event())
    }

    fn why_no_event(&self) -> &'static str {
        match self.term.event.state {
            EventState::Found | EventState::Dated => EVENT_SIZE,
            EventState::None => NO_EVENT,
            EventState::Unknown => EVENT_UNKNOWN,
        }
    }
}

fn iv<const PLACE: usize>(of: &NameMetrics<'_>) -> Metric {
    or(of.iv[PLACE], of.why(TENORS[PLACE]))
}

fn ex_event<const PLACE: usize>(of: &NameMetrics<'_>) -> Metric {
    let days = TENORS[PLACE];
    let why = match () {
        () if !of.term.event.is_known() => EVENT_UNKNOWN,
        () if of.iv[PLACE].is_nan() => of.why(days),
        () if of.term.event.variance.is_nan() => EVENT_SIZE,
        () => SECOND_EVENT,
    };
    or(of.term.ex_event_vol_at(of.tenors, days, |expiry| expiry.vol), why)
}

/// The columns of a name by its chain.
pub(super) const BY_CHAIN: &[MetricColumn<OfName>] = &[
    number("und_price", |of| or(of.next.map_or(f64::NAN, |next| next.und_price), NO_PRICE)),
    number("iv7d", iv::<0>),
    number("iv10d", iv::<1>),
    number("iv20d", iv::<2>),
    number("iv30d", iv::<3>),
    number("iv60d", iv::<4>),
    number("iv90d", iv::<5>),
    number("iv180d", iv::<6>),
    number("iv365d", iv::<7>),
    number("ex_event_iv7d", ex_event::<0>),
    number("ex_event_iv10d", ex_event::<1>),
    number("ex_event_iv20d", ex_event::<2>),
    number("ex_event_iv30d", ex_event::<3>),
    number("ex_event_iv60d", ex_event::<4>),
    number("ex_event_iv90d", ex_event::<5>),
    number("ex_event_iv180d", ex_event::<6>),
    number("ex_event_iv365d", ex_event::<7>),
    number("rr25_30d", |of| of.skew(|call, put, _| call - put)),
    number("fly25_30d", |of| of.skew(|call, put, at_money| 0.5 * (call + put) - at_money)),
    number("skew25_30d", |of| of.skew(|call, put, at_money| (put - call) / at_money)),
    number("fwd_vol_30_60", |of| of.forward(30.0, 60.0)),
    number("fwd_vol_60_90", |of| of.forward(60.0, 90.0)),
    number("fwd_vol_30_90", |of| of.forward(30.0, 90.0)),
    number("fwd_vol_90_180", |of| of.forward(90.0, 180.0)),
    number("term_slope", |of| {
        let why = of.why(if of.iv_at(30.0).is_nan() { 30.0 } else { 90.0 });
        or(of.term.slope(of.tenors), why)
    }),
    word("event_state", |of| Metric::Word(of.term.event.state.name())),
    word("event_from", |of| date(of.term.event.from, of.why_no_event())),
    word("event_to", |of| {
        let why = if of.term.event.known.is_some() { NO_EXPIRY } else { of.why_no_event() };
        date(of.term.event.to, why)
    }),
    word("event_date", |of| date(of.term.event.known.map(|known| known.date), NO_EVENT_DATE)),
    number("event_move", |of| of.event(of.term.event.move_sd())),
    number("event_move_se", |of| of.event(of.term.event.move_error())),
    number("event_move_max", |of| {
        let event = &of.term.event;
        or(event.most, if event.is_known() { EVENT_IS_THERE } else { EVENT_UNKNOWN })
    }),
    word("next_expiry", |of| date(of.next.map(|next| next.expiry), NO_FORWARD_VOL)),
    number("expected_move", |of| or(of.next.map_or(f64::NAN, TermExpiry::expected_move), NO_FORWARD_VOL)),
    number("move_sd", |of| or(of.next.map_or(f64::NAN, |next| next.variance().sqrt()), NO_FORWARD_VOL)),
    number("put_call_volume", |of| of.per_call(QuoteNumber::Volume)),
    number("put_call_oi", |of| of.per_call(QuoteNumber::OpenInterest)),
    number("borr_rate30d", |of| or(of.term.at(30.0, |expiry| expiry.borr_rate), NO_FORWARD_VOL)),
    number("gex", |of| of.net(|of| of.gamma)),
    number("call_gamma", |of| of.exposure(of.exposures.calls.gamma)),
    number("put_gamma", |of| of.exposure(of.exposures.puts.gamma)),
    number("vanna_exp", |of| of.net(|of| of.vanna)),
    number("charm_exp", |of| of.net(|of| of.charm)),
    number("delta_exp", |of| of.exposure(of.exposures.calls.delta + of.exposures.puts.delta)),
    number("gamma_flip", |_| Metric::Missing(NOT_ASKED)),
];
/// Place of the price at which the exposure to gamma changes its sign. To find it takes longer than all the rest, so
/// that a row has it only where it is asked for.
pub const FLIP: usize = BY_CHAIN.len() - 1;

/// The value of the column at [`FLIP`].
pub(super) fn flip(chain: &Chain, roots: &RootTable) -> Metric {
    found(gamma_flip(chain, std::slice::from_ref(&(0..chain.rows())), roots))
}

/// A name, as the columns by its closes see it.
#[derive(Debug)]
pub(super) struct PastMetrics<'a> {
    pub(super) past: NamePast<'a>,
    /// Volatility in 30 days, or why it is missing.
    pub(super) iv30d: Result<f64, &'static str>,
    pub(super) clock: &'a VarianceClock,
    pub(super) market_share: f64,
    pub(super) change: DayChange,
}

/// The change of a price since the close of the session before.
#[derive(Clone, Copy, Debug)]
pub struct DayChange {
    /// That close, currency per share.
    pub close: Result<f64, NoPast>,
    /// The price over it, less 1, or why it is missing.
    pub change: Result<f64, &'static str>,
}

impl DayChange {
    /// The change to a price of a day, where `closes` are those of the name and `sessions` those before the day.
    #[must_use]
    pub fn new(price: f64, at: Timestamp, closes: &[NameClose], sessions: &LastSessions, calendar: &Calendar) -> Self {
        let day = calendar.eastern(at).date();
        let before = closes[..closes.partition_point(|close| close.day < day)].last();
        let Some(before) = before.filter(|close| close.day == calendar.previous_session(day)) else {
            return Self { close: Err(NoPast::TooFewCloses), change: Err(NoPast::TooFewCloses.name()) };
        };
        let now = NameClose { day, at, price, iv30d: f64::NAN, event: EventState::Unknown, ..*before };
        // what makes a return unknown, a split, makes the change unknown
        let has_return = NamePast::new(std::slice::from_ref(before), Some(now), sessions).realised(1);
        let change = match has_return {
            _ if price.is_nan() => Err(NO_PRICE),
            Ok(_) => Ok(price / before.price - 1.0),
            Err(why) => Err(why.name()),
        };
        Self { close: Ok(before.price), change }
    }
}

impl<'a> PastMetrics<'a> {
    /// Where the volatility in 30 days stands among those of the last sessions.
    fn among(&self, find: fn(&NamePast<'a>, f64, usize) -> Result<f64, NoPast>, sessions: usize) -> Metric {
        self.iv30d.map_or_else(Metric::Missing, |now| known(find(&self.past, now, sessions)))
    }
}

/// The columns of a name by the closes of earlier sessions.
pub(super) const BY_CLOSES: &[MetricColumn<OfPast>] = &[
    number("prev_close", |of| known(of.change.close)),
    number("day_change", |of| found(of.change.change)),
    number("iv_rank_1y", |of| of.among(NamePast::iv_rank, YEAR)),
    number("iv_pctl_1y", |of| of.among(NamePast::iv_percentile, YEAR)),
    number("iv_rank_1m", |of| of.among(NamePast::iv_rank, MONTH)),
    number("iv_pctl_1m", |of| of.among(NamePast::iv_percentile, MONTH)),
    number("rv10", |of| known(of.past.realised(10))),
    number("rv20", |of| known(of.past.realised(20))),
    number("rv60", |of| known(of.past.realised(60))),
    number("rv252", |of| known(of.past.realised(252))),
    number("rv_vt", |of| known(of.past.realised_vt(REALISED, of.clock, of.market_share))),
    number("rv10_ex", |of| known(of.past.realised_without_events(10))),
    number("rv20_ex", |of| known(of.past.realised_without_events(20))),
    number("rv60_ex", |of| known(of.past.realised_without_events(60))),
    number("rv252_ex", |of| known(of.past.realised_without_events(252))),
    number("vrp30", |of| {
        let before = of.past.realised(REALISED);
        of.iv30d.map_or_else(Metric::Missing, |now| known(before.map(|before| now * now - before * before)))
    }),
];

/// Heads of the columns `first`, then of the columns `then`.
const fn heads<F, G, const N: usize>(first: &[MetricColumn<F>], then: &[MetricColumn<G>]) -> [ColumnHead<'static>; N] {
    let mut all = [ColumnHead { name: "", is_number: false }; N];
    let mut i = 0;
    while i < N {
        let (name, is_number) = if i < first.len() {
            (first[i].name, first[i].is_number)
        } else {
            (then[i - first.len()].name, then[i - first.len()].is_number)
        };
        all[i] = ColumnHead { name, is_number };
        i += 1;
    }
    all
}

/// The columns of a name.
pub const NAME: &[ColumnHead<'static>] =
    &heads::<OfName, OfPast, { BY_CHAIN.len() + BY_CLOSES.len() }>(BY_CHAIN, BY_CLOSES);

/// The place of a column of names.
#[must_use]
pub fn place_of(name: &str) -> Option<usize> {
    NAME.iter().position(|head| head.name == name)
}

/// An expiry, as the columns see it.
#[derive(Debug)]
pub struct ExpiryMetrics<'a> {
    chain: &'a Chain,
    term: &'a TermStructure,
    of: &'a TermExpiry,
    place: usize,
    max_pain: Option<(f64, f64)>,
}

impl<'a> ExpiryMetrics<'a> {
    /// The `place`-th expiry of a chain.
    #[must_use]
    pub fn new(chain: &'a Chain, term: &'a TermStructure, place: usize) -> Option<Self> {
        let of = term.expiries().get(place)?;
        Some(Self { chain, term, of, place, max_pain: max_pain(chain, chain.slices.get(of.slice)?) })
    }

    /// Its cells, by [`EXPIRY`].
    #[must_use]
    pub fn cells(&self) -> Vec<Metric> {
        BY_EXPIRY.iter().map(|column| (column.find)(self)).collect()
    }

    fn vol(&self, x: f64) -> Metric {
        or(x, NO_FORWARD_VOL)
    }

    fn without_event(&self, x: f64) -> Metric {
        match () {
            () if !self.term.event.is_known() => Metric::Missing(EVENT_UNKNOWN),
            () if self.of.event.is_finite() => self.vol(x),
            () if self.of.holds.is_none() => Metric::Missing(NO_EVENT_DATE),
            () if self.term.event.variance.is_nan() => Metric::Missing(EVENT_SIZE),
            () => Metric::Missing(SECOND_EVENT),
        }
    }

    fn per_call(&self, number: QuoteNumber) -> Metric {
        or(PutsAndCalls::of(self.chain, self.chain.slices.get(self.of.slice), number).ratio(), NO_COUNTS)
    }

    fn or_crossed(&self, x: f64) -> Metric {
        or(x, if self.of.vol.is_nan() { NO_FORWARD_VOL } else { CROSSED })
    }
}

/// The columns of an expiry.
pub const EXPIRY: &[ColumnHead<'static>] = &heads::<OfExpiry, OfExpiry, { BY_EXPIRY.len() }>(BY_EXPIRY, &[]);

const BY_EXPIRY: &[MetricColumn<OfExpiry>] = &[
    word("expiry", |of| Metric::Date(of.of.expiry)),
    number("days", |of| Metric::Number(of.of.days)),
    number("days_vt", |of| or(of.of.days_vt, NO_PRICE)),
    number("und_price", |of| or(of.of.und_price, NO_PRICE)),
    number("fwd_price", |of| or(of.of.fwd_price, NO_PRICE)),
    number("borr_rate", |of| or(of.of.borr_rate, NO_PRICE)),
    number("atm_vol", |of| of.vol(of.of.vol)),
    number("vol_vt", |of| match of.of.event.is_nan() {
        true => of.without_event(f64::NAN),
        false => of.vol(of.term.vol_vt(of.of)),
    }),
    number("ex_event_vol", |of| of.without_event(of.of.ex_event_vol())),
    number("event_var", |of| of.without_event(of.of.event)),
    number("forward_vol", |of| of.or_crossed(of.term.forward_vols(of.place).0)),
    number("forward_vol_vt", |of| of.or_crossed(of.term.forward_vols(of.place).1)),
    number("skew25", |of| or(of.of.wings().0, NO_WING)),
    number("fly25", |of| or(of.of.wings().1, NO_WING)),
    number("atm_skew", |of| of.vol(of.of.slope())),
    number("straddle", |of| of.vol(of.of.expected_move() * of.of.fwd_price)),
    number("expected_move", |of| of.vol(of.of.expected_move())),
    number("move_sd", |of| of.vol(of.of.variance().sqrt())),
    number("put_call_volume", |of| of.per_call(QuoteNumber::Volume)),
    number("put_call_oi", |of| of.per_call(QuoteNumber::OpenInterest)),
    number("max_pain", |of| or(of.max_pain.map_or(f64::NAN, |pain| pain.0), NO_INTEREST)),
    number("max_pain_paid", |of| or(of.max_pain.map_or(f64::NAN, |pain| pain.1), NO_INTEREST)),
];
