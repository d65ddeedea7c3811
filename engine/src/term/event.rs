//! One event of a name, such as earnings, from its own expiries: the variance that every expiry after it holds and none
//! before. Its date need not be known; a date that a user gives is taken as it is. Never: a file of dates.
//!
//! Method: total variances are a short and a long variance a variance day and, from one expiry on, a jump; least
//! squares without negative parts, for each place of the jump and each of three half-lives.
//! Source: Dubinsky, Johannes, Kaeck, Seeger, "Option pricing of earnings announcement risks", Review of Financial
//! Studies 32 (2019); bounds and errors: docs/variance-time.md.

use jiff::Timestamp;
use jiff::civil::Date;
use kernel::calendar::{Calendar, EventSpan, VarianceWeights};
use kernel::elementary::exp;

/// Calendar days of a year.
pub(super) const YEAR_DAYS: f64 = 365.0;
/// Half-lives of the short variance, variance days.
const HALF_LIVES: [f64; 3] = [8.0, 25.0, 75.0];
/// Calendar days of the expiries of a search. Shorter ones show little, and longer ones contain the next event too.
const LOOKED_AT: core::ops::Range<f64> = 0.25..80.0;
/// Minimum number of expiries of a search.
const FEWEST: usize = 4;
/// Error of a total variance: a part of the half spread and a volatility, times its derivative; and of itself.
const SPREAD_PART: f64 = 0.25;
const LEAST_VOL: f64 = 0.0004;
const OF_ITSELF: f64 = 0.02;
/// Conditions of finding an event: gain of the fit, in residual variances; size in standard errors; size in variance
/// days of the name, or in multiples of the rest of the first expiry if that contains it. By calendar time it must have
/// `BY_CALENDAR` of that size: a jump by one clock alone comes from counting weekends differently.
const GAIN: f64 = 12.0;
const ERRORS: f64 = 4.0;
const DAYS: f64 = 1.0;
const OF_FIRST: f64 = 2.0;
const BY_CALENDAR: f64 = 0.5;
/// Misfit above the best, in residual variances, within which another place leaves the place open.
const OTHER: f64 = 4.0;

/// An expiry, as the search sees it.
#[derive(Clone, Copy, Debug)]
pub struct EventPoint {
    expiry: Date,
    settles_at: Timestamp,
    days: f64,
    days_vt: f64,
    variance: f64,
    error: f64,
}

impl EventPoint {
    /// An expiry by its calendar and variance days, with volatility and half spread at the forward.
    #[must_use]
    pub fn new(expiry: Date, settles_at: Timestamp, [days, days_vt]: [f64; 2], vol: f64, half_spread: f64) -> Self {
        let years = days / YEAR_DAYS;
        let quoted = 2.0 * vol * years * (SPREAD_PART * half_spread + LEAST_VOL);
        let variance = vol * vol * years;
        let error = (quoted * quoted + (OF_ITSELF * variance).powi(2)).sqrt();
        Self { expiry, settles_at, days, days_vt, variance, error }
    }

    /// Expiration date.
    #[must_use]
    pub fn expiry(&self) -> Date {
        self.expiry
    }

    /// The expiry with calendar days in place of variance days.
    fn by_calendar(&self) -> Self {
        Self { days_vt: self.days * VarianceWeights::default().year() / YEAR_DAYS, ..*self }
    }

    /// Factors of the long variance, the short variance and the jump in its total variance, and its weight.
    fn equation(&self, half_life: f64) -> ([f64; 3], f64) {
        let short = half_life * (1.0 - exp(-self.days_vt / half_life));
        ([self.days_vt - short, short, 1.0], 1.0 / (self.error * self.error))
    }
}

/// Knowledge of the event of a name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EventState {
    /// The expiries show an event, and the two that it lies between.
    Found,
    /// The date of the event is known.
    Dated,
    /// The expiries show that there is no event larger than [`NameEvent::most`].
    None,
    /// There are too few expiries or quotes, or several places fit.
    #[default]
    Unknown,
}

impl EventState {
    /// Every state.
    pub const ALL: [Self; 4] = [Self::Found, Self::Dated, Self::None, Self::Unknown];

    /// Name of the state in answers.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Found => "found",
            Self::Dated => "dated",
            Self::None => "none",
            Self::Unknown => "unknown",
        }
    }
}

/// The event of a name.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NameEvent {
    /// Knowledge of the event.
    pub state: EventState,
    /// Date of the last expiry before the event, or of the valuation; `None`: no event was found.
    pub from: Option<Date>,
    /// Date of the first expiry that contains the event; `None`: no event was found.
    pub to: Option<Date>,
    /// Total variance of the event: 0 if none is found, NaN if it has a date and expiries do not show its size.
    pub variance: f64,
    /// Standard error of `variance`; NaN if the expiries do not show it.
    pub error: f64,
    /// If no event is found, the largest move that would not have been found.
    pub most: f64,
    /// The known date, and its first and last instant.
    pub known: Option<EventSpan>,
    /// The first instant of the date after that, if one is known.
    second: Option<Timestamp>,
}

impl NameEvent {
    /// Nothing is known.
    const UNKNOWN: Self = Self {
        state: EventState::Unknown,
        from: None,
        to: None,
        variance: 0.0,
        error: f64::NAN,
        most: f64::NAN,
        known: None,
        second: None,
    };

    /// True if it is known whether there is one.
    #[must_use]
    pub fn is_known(&self) -> bool {
        self.state != EventState::Unknown
    }

    /// One standard deviation of its move, a part of the price; NaN: there is none, or its size is not known.
    #[must_use]
    pub fn move_sd(&self) -> f64 {
        if matches!(self.state, EventState::Found | EventState::Dated) { self.variance.sqrt() } else { f64::NAN }
    }

    /// True if an expiry holds it; `None`: that depends on the time of day of the event.
    #[must_use]
    pub fn is_in(&self, expiry: Date, settles_at: Timestamp) -> Option<bool> {
        match &self.known {
            Some(known) => known.has_passed(settles_at),
            None => Some(self.to.is_some_and(|to| expiry >= to)),
        }
    }

    /// Total variance of the event in an expiry that contains it; 0 in others, and if it is unknown.
    #[must_use]
    pub fn variance_in(&self, expiry: Date, settles_at: Timestamp) -> f64 {
        let is_known = self.is_in(expiry, settles_at) == Some(true) && self.variance.is_finite();
        if is_known { self.variance } else { 0.0 }
    }

    /// The instants at which it may come.
    #[must_use]
    pub fn timing(&self, calendar: &Calendar) -> EventTiming {
        match (self.known, self.from.zip(self.to)) {
            (Some(known), _) => EventTiming::Known(known),
            (None, Some((from, to))) => {
                let next = |session: &Date| Some(calendar.next_session(*session));
                let sessions = core::iter::successors(Some(calendar.next_session(from)), next);
                let within = sessions.take_while(|session| *session <= to);
                EventTiming::Within(within.map(|session| calendar.close(session)).collect())
            }
            (None, None) => EventTiming::Within(Vec::new()),
        }
    }

    /// True if it is the only one up to an instant so many calendar days ahead, as far as anything shows: the next one
    /// of a company comes within a quarter.
    #[must_use]
    pub fn is_alone(&self, days: f64, at: Timestamp) -> bool {
        match (self.second, self.state) {
            (Some(second), _) => at <= second,
            (None, EventState::Found | EventState::Dated) => days < LOOKED_AT.end,
            (None, EventState::None | EventState::Unknown) => true,
        }
    }

    /// Standard error of [`Self::move_sd`].
    #[must_use]
    pub fn move_error(&self) -> f64 {
        0.5 * self.error / self.move_sd()
    }

    /// Searches expiries, which ascend, for an event; `today` is the Eastern date of the valuation, `known` are the
    /// dates to come, ascending.
    ///
    /// # Domain   any expiries: those without a volatility, a spread or time are left aside
    #[must_use]
    pub fn of(points: Vec<EventPoint>, today: Date, known: &[EventSpan]) -> Self {
        Self::search(points, today, known, f64::NEG_INFINITY)
    }

    /// Searches as [`Self::of`] does, but leaves [`Self::most`] missing if the fit without a jump is good enough.
    ///
    /// # Cost     of most names a third of a microsecond, of others some microseconds
    #[must_use]
    pub fn briefly(points: Vec<EventPoint>, today: Date, known: &[EventSpan]) -> Self {
        // no jump gains more than there is to gain
        Self::search(points, today, known, GAIN)
    }

    /// True if the search looks at an expiry so many calendar days away.
    #[must_use]
    pub fn looks_at(days: f64) -> bool {
        LOOKED_AT.contains(&days)
    }

    /// Searches as [`Self::of`] does; if the misfit without a jump is at most `enough`, no jump is tried.
    fn search(mut points: Vec<EventPoint>, today: Date, known: &[EventSpan], enough: f64) -> Self {
        points.retain(|of| Self::looks_at(of.days) && of.days_vt > 0.0 && of.error > 0.0);
        match known {
            [] => Self::found(&points, today, enough),
            [first, later @ ..] => Self::dated(points, today, *first, later.first().map(|second| second.first)),
        }
    }

    /// The event of a known date, from the expiries on either side of it and before the next date.
    fn dated(mut points: Vec<EventPoint>, today: Date, known: EventSpan, second: Option<Timestamp>) -> Self {
        let is_before = |second: Timestamp, of: &EventPoint| of.settles_at <= second;
        points.retain(|of| {
            known.has_passed(of.settles_at).is_some() && second.is_none_or(|second| is_before(second, of))
        });
        let place = points.partition_point(|of| known.has_passed(of.settles_at) == Some(false));
        let sums = (points.len() >= FEWEST).then(|| with_jumps(&points, &without_jumps(&points)));
        let fit = sums.as_ref().and_then(|sums| Some((sums, fit_at(sums, place)?)));
        let implied = fit.map(|(sums, fit)| (fit.parts[2], fit.error(sums, place, points.len())));
        let (variance, error) = match known.size {
            Some(size) => (size * size, f64::NAN),
            None => implied.unwrap_or((f64::NAN, f64::NAN)),
        };
        Self {
            state: EventState::Dated,
            from: Some(place.checked_sub(1).map_or(today, |before| points[before].expiry)),
            to: points.get(place).map(|of| of.expiry),
            variance,
            error,
            known: Some(known),
            second,
            ..Self::UNKNOWN
        }
    }

    /// The one that expiries show by themselves.
    ///
    /// # Domain   sound expiries, ascending
    fn found(points: &[EventPoint], today: Date, enough: f64) -> Self {
        let n = points.len();
        if n < FEWEST {
            return Self::UNKNOWN;
        }
        let plain = without_jumps(points);
        let without = plain.iter().map(|sums| sums.fit(DAILY).misfit).fold(f64::INFINITY, f64::min);
        if without < enough {
            return Self { state: EventState::None, ..Self::UNKNOWN };
        }
        let sums = with_jumps(points, &plain);
        // two expiries at least lie after it
        let with: Vec<EventFit> = (0..n - 1).filter_map(|place| fit_at(&sums, place)).collect();
        let Some(place) = (0..with.len()).min_by(|&a, &b| with[a].misfit.total_cmp(&with[b].misfit)) else {
            return Self::UNKNOWN;
        };
        let fit = &with[place];
        let residual = fit.residual(n);
        let (jump, error) = (fit.parts[2], fit.error(&sums, place, n));
        let is_by_calendar = || {
            let calendar: Vec<EventPoint> = points.iter().map(EventPoint::by_calendar).collect();
            let fit = fit_at(&with_jumps(&calendar, &without_jumps(&calendar)), place);
            fit.is_some_and(|fit| is_large(fit.parts[2], &calendar, place, BY_CALENDAR))
        };
        let is_sure = without - fit.misfit > GAIN * residual && jump > ERRORS * error;
        if !(is_sure && is_large(jump, points, place, 1.0) && is_by_calendar()) {
            let most = (jump + 2.0 * error).sqrt();
            return Self { state: EventState::None, most, ..Self::UNKNOWN };
        }
        let is_other = |(other, of): (usize, &EventFit)| other != place && of.misfit < fit.misfit + OTHER * residual;
        if with.iter().enumerate().any(is_other) {
            return Self::UNKNOWN;
        }
        let from = place.checked_sub(1).map_or(today, |before| points[before].expiry);
        Self {
            state: EventState::Found,
            from: Some(from),
            to: Some(points[place].expiry),
            variance: jump,
            error,
            ..Self::UNKNOWN
        }
    }
}

/// The instants at which an event may come.
#[derive(Clone, Debug, PartialEq)]
pub enum EventTiming {
    /// On a date that is known.
    Known(EventSpan),
    /// In one of the sessions that close at these instants; empty: it has no date, or the user has closed its sessions.
    Within(Vec<Timestamp>),
}

impl EventTiming {
    /// Probability that the event comes after an instant, 0 to 1.
    #[must_use]
    pub fn left_at(&self, at: Timestamp) -> f64 {
        match self {
            Self::Known(known) => known.has_passed(at).map_or(0.5, |has| f64::from(u8::from(!has))),
            Self::Within(closes) if closes.is_empty() => 0.0,
            Self::Within(closes) => closes.iter().filter(|close| **close > at).count() as f64 / closes.len() as f64,
        }
    }
}

/// True if a jump is large beside what the name does without it; `part` of what that takes is enough.
fn is_large(jump: f64, points: &[EventPoint], place: usize, part: f64) -> bool {
    let first = &points[place];
    let rest = first.variance - jump;
    match place {
        0 => jump > part * OF_FIRST * rest,
        _ => jump * first.days_vt > part * DAYS * rest,
    }
}

/// The best fit with a jump from an expiry on; `None`: there is no such expiry.
fn fit_at(sums: &[Vec<EventSums>], place: usize) -> Option<EventFit> {
    let fits = sums.iter().enumerate();
    let fits = fits.filter_map(|(half_life, sums)| Some(EventFit { half_life, ..sums.get(place)?.fit(DAILY | JUMP) }));
    fits.reduce(better)
}

/// The sums of each half-life, without a jump.
fn without_jumps(points: &[EventPoint]) -> [EventSums; HALF_LIVES.len()] {
    HALF_LIVES.map(|half_life| EventSums::new(points, half_life))
}

/// The sums of each half-life, with a jump from each expiry on.
fn with_jumps(points: &[EventPoint], plain: &[EventSums; HALF_LIVES.len()]) -> [Vec<EventSums>; HALF_LIVES.len()] {
    core::array::from_fn(|i| plain[i].with_jumps(points, HALF_LIVES[i]))
}

/// Long variance, short variance, jump; and how well they fit.
#[derive(Clone, Copy, Debug)]
struct EventFit {
    parts: [f64; 3],
    /// Sum of squares, in errors.
    misfit: f64,
    /// Place of its half-life.
    half_life: usize,
}

impl EventFit {
    /// Sum of squares for each expiry that is not needed, 1 at least.
    fn residual(&self, expiries: usize) -> f64 {
        (self.misfit / expiries.saturating_sub(FEWEST).max(1) as f64).max(1.0)
    }

    /// Standard error of the jump at a place.
    fn error(&self, sums: &[Vec<EventSums>], place: usize, expiries: usize) -> f64 {
        let of = sums.get(self.half_life).and_then(|sums| sums.get(place));
        of.map_or(f64::NAN, |of| (of.jump_variance(self) * self.residual(expiries)).sqrt())
    }
}

/// The sums of least squares that some expiries make: products of the three columns, products with what is fitted, and
/// the square of that.
#[derive(Clone, Copy, Debug, Default)]
struct EventSums {
    products: [[f64; 3]; 3],
    sides: [f64; 3],
    square: f64,
}

/// The better of two fits.
fn better(a: EventFit, b: EventFit) -> EventFit {
    if b.misfit < a.misfit { b } else { a }
}

impl EventSums {
    /// Sums of a fit without a jump.
    fn new(points: &[EventPoint], half_life: f64) -> Self {
        let mut all = Self::default();
        for of in points {
            let (row, weight) = of.equation(half_life);
            all.square += weight * of.variance * of.variance;
            for a in 0..2 {
                all.sides[a] += weight * row[a] * of.variance;
                (0..2).for_each(|b| all.products[a][b] += weight * row[a] * row[b]);
            }
        }
        all
    }

    /// Sums of a fit with a jump from each expiry on.
    fn with_jumps(self, points: &[EventPoint], half_life: f64) -> Vec<Self> {
        let mut all = vec![self; points.len()];
        // from the last expiry to the first, so that each sum has what follows
        let (mut products, mut side) = ([0.0; 3], 0.0);
        for (of, sums) in points.iter().zip(&mut all).rev() {
            let (row, weight) = of.equation(half_life);
            (0..3).for_each(|a| products[a] += weight * row[a]);
            side += weight * of.variance;
            for (a, product) in products.into_iter().enumerate() {
                (sums.products[a][2], sums.products[2][a]) = (product, product);
            }
            sums.sides[2] = side;
        }
        all
    }

    /// Least squares of the chosen parts none of which is negative: the best of all choices among them.
    fn fit(&self, parts: u8) -> EventFit {
        if let Some(fit) = self.of(parts).filter(|fit| fit.parts.iter().all(|&part| part >= 0.0)) {
            // nothing with fewer parts is better
            return fit;
        }
        let none = EventFit { parts: [0.0; 3], misfit: self.square, half_life: 0 };
        let some = (1..parts).filter(|choice| choice & !parts == 0).filter_map(|choice| self.of(choice));
        some.filter(|fit| fit.parts.iter().all(|&part| part >= 0.0)).fold(none, better)
    }

    /// Least squares of the chosen parts, of any sign.
    fn of(&self, choice: u8) -> Option<EventFit> {
        let inverse = inverse_of(&self.products, choice)?;
        let part = |a: usize| (0..3).map(|b| inverse[a][b] * self.sides[b]).sum::<f64>();
        let parts = [part(0), part(1), part(2)];
        let gained: f64 = parts.iter().zip(&self.sides).map(|(part, side)| part * side).sum();
        Some(EventFit { parts, misfit: self.square - gained, half_life: 0 })
    }

    /// Variance of a jump beside the parts that a fit has, whether it has one or not, in squared errors.
    fn jump_variance(&self, fit: &EventFit) -> f64 {
        let there = (0..2).filter(|&a| fit.parts[a] > 0.0).fold(JUMP, |bits, a| bits | 1 << a);
        inverse_of(&self.products, there).map_or(f64::NAN, |inverse| inverse[2][2])
    }
}

/// Choices of parts: the variances of a day, and the jump beside them.
const DAILY: u8 = 0b011;
const JUMP: u8 = 0b100;

/// The inverse of the rows and columns that are chosen, zero elsewhere; `None`: there is none.
fn inverse_of(products: &[[f64; 3]; 3], choice: u8) -> Option<[[f64; 3]; 3]> {
    // the others become those of a unit matrix
    let is_chosen = |a: usize| choice >> a & 1 == 1;
    let entry = |a: usize, b: usize| {
        if is_chosen(a) && is_chosen(b) { products[a][b] } else { f64::from(u8::from(a == b)) }
    };
    let minor = |a: usize, b: usize| {
        let others = |x: usize| [(x + 1) % 3, (x + 2) % 3];
        let ([i, j], [k, l]) = (others(a), others(b));
        entry(i, k) * entry(j, l) - entry(i, l) * entry(j, k)
    };
    let determinant: f64 = (0..3).map(|b| entry(0, b) * minor(0, b)).sum();
    let size: f64 = (0..3).map(|a| entry(a, a)).product();
    if determinant.is_nan() || determinant <= 1e-13 * size {
        return None;
    }
    let mut inverse = [[0.0; 3]; 3];
    for (a, row) in inverse.iter_mut().enumerate() {
        for (b, x) in row.iter_mut().enumerate() {
            // a chosen one with another that is not is zero already
            if is_chosen(a) && is_chosen(b) {
                *x = minor(b, a) / determinant;
            }
        }
    }
    Some(inverse)
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::civil::date;
    use kernel::calendar::shift::ShiftDate;
    use kernel::calendar::{EventDate, EventTime};
    use kernel::contract::Settle;

    /// A recorded morning: calendar days, variance days and volatility in percent, to August.
    const STOCK: [(i8, i8, f64, f64, f64); 10] = [
        (7, 17, 1.1965, 1.3439, 31.02),
        (7, 20, 4.1965, 2.4939, 22.49),
        (7, 22, 6.1965, 4.4939, 24.93),
        (7, 24, 8.1965, 6.4939, 26.29),
        (7, 27, 11.1965, 7.6439, 24.37),
        (7, 29, 13.1965, 10.0339, 26.84),
        (7, 31, 15.1965, 12.0339, 32.43),
        (8, 7, 22.1965, 17.3639, 30.37),
        (8, 14, 29.1965, 22.6639, 28.82),
        (8, 21, 36.1965, 27.8139, 27.88),
    ];

    fn point(of: &(i8, i8, f64, f64, f64)) -> EventPoint {
        let &(month, day, days, days_vt, percent) = of;
        let expiry = date(2026, month, day);
        let settles_at = Calendar::embedded().settlement(expiry, Settle::Pm);
        EventPoint::new(expiry, settles_at, [days, days_vt], percent / 100.0, 0.001)
    }

    #[test]
    fn earnings_are_found_between_two_expiries() {
        let points: Vec<EventPoint> = STOCK.iter().map(point).collect();
        let event = NameEvent::of(points.clone(), date(2026, 7, 16), &[]);
        assert_eq!(
            (event.state, event.from, event.to),
            (EventState::Found, Some(date(2026, 7, 29)), Some(date(2026, 7, 31)))
        );
        let brief = NameEvent::briefly(points.clone(), date(2026, 7, 16), &[]);
        assert_eq!(brief.variance.to_bits(), event.variance.to_bits());
        // a move of 3.75 % plus or minus 0.17
        assert!((event.variance - 0.001406).abs() < 6e-5, "{event:?}");
        assert!((event.move_sd() - 0.0375).abs() < 1e-3 && (0.001..0.003).contains(&event.move_error()), "{event:?}");
    }

    #[test]
    fn nothing_is_found_where_there_is_nothing_or_nothing_can_be_told() {
        let flat = |of: &(i8, i8, f64, f64, f64)| (of.0, of.1, of.2, of.3, 100.0 * (0.0625 * of.3 / of.2 * 1.4).sqrt());
        let points: Vec<EventPoint> = STOCK.iter().map(|of| point(&flat(of))).collect();
        let event = NameEvent::of(points.clone(), date(2026, 7, 16), &[]);
        assert_eq!((event.state, event.variance, event.to), (EventState::None, 0.0, None));
        assert!((0.002..0.03).contains(&event.most) && event.move_sd().is_nan(), "{event:?}");
        let brief = NameEvent::briefly(points.clone(), date(2026, 7, 16), &[]);
        assert_eq!((brief.state, brief.variance), (EventState::None, 0.0));
        // few expiries
        assert_eq!(NameEvent::of(points[..3].to_vec(), date(2026, 7, 16), &[]).state, EventState::Unknown);
        // several places: monthly expiries far from another, of which all hold it
        let early: Vec<EventPoint> =
            points[..4].iter().map(|of| EventPoint { error: 0.3 * of.variance, ..*of }).collect();
        assert_ne!(NameEvent::of(early, date(2026, 7, 16), &[]).state, EventState::Found);
    }

    /// Whoever quotes one volatility by calendar time has a jump over each weekend, and one after a first expiry
    /// without a weekend.
    #[test]
    fn a_weekend_that_counts_as_three_days_is_no_event() {
        let flat = |of: &(i8, i8, f64, f64, f64)| point(&(of.0, of.1, of.2, of.3, 15.0));
        let short: Vec<EventPoint> = STOCK[..4].iter().chain(&STOCK[6..]).map(flat).collect();
        // a Wednesday: to Friday, then from Friday to Friday
        let weeks = (0..6_i32).map(|n| {
            let (expiry, n) = (date(2026, 7, 17).plus_days(7 * n), f64::from(n));
            let settles_at = Calendar::embedded().settlement(expiry, Settle::Pm);
            EventPoint::new(expiry, settles_at, [2.2 + 7.0 * n, 2.37 + 5.15 * n], 0.2, 0.001)
        });
        for points in [short, weeks.collect()] {
            let event = NameEvent::of(points, date(2026, 7, 15), &[]);
            assert_eq!(event.state, EventState::None, "{event:?}");
        }
    }

    #[test]
    fn an_event_before_the_first_expiry_is_in_all_of_them() {
        let days =
            [(7, 17, 1.2, 1.34), (7, 24, 8.2, 6.49), (7, 31, 15.2, 12.0), (8, 7, 22.2, 17.4), (8, 14, 29.2, 22.7)];
        let points = days.map(|(month, day, days, days_vt)| {
            let variance: f64 = 0.0121 + 0.12 * days_vt / 260.475;
            let percent = 100.0 * (variance / (days / 365.0)).sqrt();
            point(&(month, day, days, days_vt, percent))
        });
        let event = NameEvent::of(points.to_vec(), date(2026, 7, 16), &[]);
        assert_eq!((event.from, event.to), (Some(date(2026, 7, 16)), Some(date(2026, 7, 17))));
        assert!((event.move_sd() - 0.11).abs() < 1e-3, "{event:?}");
    }

    #[test]
    fn a_date_that_is_known_is_not_looked_for() {
        let points: Vec<EventPoint> = STOCK.iter().map(point).collect();
        let calendar = Calendar::embedded();
        let of = |day, time, size, later: Option<Date>| {
            let event = |date, size| calendar.event_span(&EventDate { date, time, size, is_earnings: false });
            let known: Vec<EventSpan> =
                [event(date(2026, 7, day), size)].into_iter().chain(later.map(|date| event(date, None))).collect();
            NameEvent::of(points.clone(), date(2026, 7, 16), &known)
        };
        // after the close of the 30th, as found between the 29th and the 31st
        let found = NameEvent::of(points.clone(), date(2026, 7, 16), &[]);
        let dated = of(30, EventTime::AfterClose, None, None);
        assert_eq!((dated.state, dated.from, dated.to), (EventState::Dated, found.from, found.to));
        assert!((dated.variance - found.variance).abs() < 1e-12 && (dated.error - found.error).abs() < 1e-12);
        // a wrong date has next to nothing, with its error; one whose side is not known leaves the expiry out
        let wrong = of(20, EventTime::AfterClose, None, None);
        assert!(wrong.variance < 0.2 * found.variance && wrong.error > 0.0, "{wrong:?}");
        let unsure = of(29, EventTime::Unknown, None, None);
        let settles = |day| calendar.settlement(date(2026, 7, day), Settle::Pm);
        assert_eq!(
            [27, 29, 31].map(|day| unsure.is_in(date(2026, 7, day), settles(day))),
            [Some(false), None, Some(true)]
        );
        assert!((unsure.variance / found.variance - 1.0).abs() < 0.1, "{unsure:?}");
        // a size of the user counts, and expiries beyond the next date do not
        assert!((of(30, EventTime::AfterClose, Some(0.05), None).variance - 0.0025).abs() < 1e-12);
        let two = of(30, EventTime::AfterClose, None, Some(date(2026, 8, 10)));
        assert!(
            two.is_alone(20.0, settles(31)) && !two.is_alone(29.0, calendar.settlement(date(2026, 8, 14), Settle::Pm))
        );
        assert!((two.variance / found.variance - 1.0).abs() < 0.2, "{two:?}");
        // without expiries after it there is no size
        let late = of(30, EventTime::BeforeOpening, None, Some(date(2026, 7, 31)));
        assert!(late.move_sd().is_nan() && late.to.is_none(), "{late:?}");
    }

    #[test]
    fn an_inverse_is_one() {
        let products = [[4.0, 1.0, 0.5], [1.0, 3.0, 0.2], [0.5, 0.2, 2.0]];
        for choice in 1..8_u8 {
            let inverse = inverse_of(&products, choice).unwrap();
            for a in (0..3).filter(|a| choice >> a & 1 == 1) {
                for b in (0..3).filter(|b| choice >> b & 1 == 1) {
                    let unit: f64 = (0..3).map(|c| products[a][c] * inverse[c][b]).sum();
                    let wanted = f64::from(u8::from(a == b));
                    assert!((unit - wanted).abs() < 1e-12, "{choice}: {a} {b}");
                }
            }
        }
        assert!(inverse_of(&[[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]], 7).is_none());
    }
}
