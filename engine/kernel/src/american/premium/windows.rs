//! Puts: from the last ex-date back, the windows in which they are exercised before each.
//!
//! A put is exercised between ex-dates only, and before one not in the time in which the interest on its strike is less
//! than the dividend. The premium right after a date is that of `dates`: payoff less European value below the boundary
//! of the window that begins there, a Chebyshev series above it. Lanes are volatilities of one strike: they share the
//! times at which exercise stops to gain at X = 0. How a window ends is of `falling`, or with b < 0 of `tip`. Never: a
//! table.

use super::at_date::AtDate;
use super::between_dates::Between;
use super::between_grid::Fineness;
use super::european::European;
use super::falling::Falling;
use super::periods::{AfterLast, First, Later, WindowClose};
use super::schedule::Problem;
use super::time_between::{TimeBetween, WindowEnd};
use super::tip::TippedWindow;
use crate::american::settings::{DATES, FALLING, PUT_WINDOW, SAME, TIP};
use crate::dividends::Terms;
use crate::elementary::{exp, ln};
use crate::lanes::{Block, Lanes};
use crate::solve::bracketed_root;

/// Solves the puts with the strike `strike` from expiry back to `problem.stop`; `None`: they are not exercised right
/// after it, or a boundary is not found.
///
/// # Shapes  one volatility per lane
/// # Domain  r > 0, no dividend on the day of expiry; `near`: the same of a strike close by, or none
/// # Cost    0.1 ms a window; with b < 0 twice that
pub(super) fn put_windows(problem: &Problem, strike: f64, sigma: Block, near: Option<&First>) -> Option<First> {
    let terms = &problem.terms;
    let at_expiry = terms.divs.iter().any(|d| d.t > terms.t - SAME.date);
    if terms.r <= SAME.no_rate || at_expiry {
        return None;
    }
    let (last, plan) = windows_of(terms, problem.stop, strike)?;
    let k = Block::splat(strike);
    let stretch = TimeBetween::to_date(-1.0, terms, last, terms.t);
    let of_near = near.and_then(|near| Some(near.after_last.as_ref()?.scaled(strike / near.k.lane(0))));
    let (between, at_last) = match of_near {
        Some(AfterLast { between, at }) => (between, at),
        None => (Between::to_date(&stretch, None, k, sigma)?, None),
    };
    let flow = between.flow(&stretch);
    let mut later = Later::of_puts([last, terms.t], terms.t, None, between.clone(), flow);
    let at_last = if plan.is_empty() { None } else { at_last.or_else(|| premium(terms, last, k, sigma, &later)) };
    let after_last = Some(AfterLast { between, at: at_last.clone() });
    let (mut at_date, mut windows) = (at_last, Vec::with_capacity(plan.len()));
    for PutWindow { from, close, end } in plan {
        let at = at_date.take().or_else(|| premium(terms, end.date, k, sigma, &later))?;
        let is_same = |(begin, _): &&(f64, WindowClose)| (begin - from).abs() < SAME.date;
        let near = near.and_then(|near| near.windows.iter().find(is_same)).map(|near| &near.1);
        let WindowEnd { fineness, date, paid, .. } = end;
        let tipped = || {
            let window = TippedWindow { terms, from, close, date, paid, at: &at, k, sigma };
            let (between, flow, tip) = window.solve(fineness, near.and_then(WindowClose::tip))?;
            Some((between, flow, WindowClose::Tip(tip)))
        };
        let falling = || {
            let stretch = TimeBetween::to_close(terms, from, close, end);
            // started from another strike's boundary, the search may miss that of a short window
            let is_long = close - from > FALLING.near_least * (date - close);
            let near = near.and_then(WindowClose::falling).filter(|_| is_long);
            let (between, falling) = Falling::solve(&stretch, fineness, &at, near, k, sigma)?;
            let flow = between.flow(&stretch);
            Some((between, flow, WindowClose::Falling(Box::new(falling))))
        };
        let solved = if terms.b < -TIP.borrow_least {
            tipped()
        } else {
            falling().or_else(|| if terms.b < 0.0 { tipped() } else { None })
        };
        let (between, flow, closes) = solved?;
        windows.push((from, closes));
        later = Later::of_puts([from, end.date], terms.t, Some(at), between, flow);
    }
    let boundary = later.between.as_ref()?.begin();
    let far = ln(k) + sigma * ((terms.t - problem.stop).sqrt() * DATES.far);
    Some(First { k, sigma, boundary, exercised: k.le(k), far, later, before: None, at: None, windows, after_last })
}

/// A window: when it begins and closes, and what follows.
struct PutWindow {
    from: f64,
    close: f64,
    end: WindowEnd,
}

/// The windows before ex-dates from `stop` on, the last one first, and the last date; `None`: none begins at `stop`.
fn windows_of(terms: &Terms, stop: f64, strike: f64) -> Option<(f64, Vec<PutWindow>)> {
    let mut begins: Vec<f64> =
        terms.divs.iter().map(|d| d.t).filter(|t| (stop + SAME.date..terms.t - SAME.date).contains(t)).collect();
    begins.insert(0, stop);
    begins.dedup_by(|a, b| (*a - *b).abs() < SAME.date);
    let last = begins.pop()?;
    let mut windows = Vec::with_capacity(begins.len());
    let mut date = last;
    for &from in begins.iter().rev() {
        let fineness = if from - stop < SAME.date { Fineness::First } else { Fineness::Later };
        let end = WindowEnd { fineness, date, strike, paid: strike - terms.a(date) };
        let close = closes(terms, &end, from);
        // before a date without a window what precedes it sees the one after
        if close - from >= PUT_WINDOW.shortest {
            windows.push(PutWindow { from, close, end });
            date = from;
        } else if terms.b < -TIP.borrow_least
            && gain(terms, &end, from) + strike * (-terms.b * (date - from)).exp_m1() > 0.0
        {
            // exercise that does not gain at X = 0 may do so further up
            return None;
        }
    }
    (date - stop < SAME.date).then_some((last, windows))
}

/// The premium right after an ex-date from that `later`.
fn premium(terms: &Terms, t: f64, k: Block, sigma: Block, later: &Later) -> Option<AtDate> {
    let c = Block::splat;
    let (tau, boundary) = (terms.t - t, later.between.as_ref()?.begin());
    let (collected, spot) = (terms.a(t), exp(boundary));
    let far = ln(k) + sigma * tau.sqrt() * DATES.far;
    let european = European::new(-1.0, k, sigma, tau, terms.r, terms.b);
    Some(AtDate {
        phi: -1.0,
        rates: [terms.r, terms.b],
        tau,
        collected,
        k,
        sigma,
        boundary,
        exercised: k.le(k),
        line: [c(0.0); 2],
        edge: k - collected - spot - european.at(boundary, spot),
        series: Some(later.series(-1.0, [boundary, far], sigma, tau)),
    })
}

/// The last time from `from` on at which exercise at X = 0 gains, where all that counts is cash; `from` itself where it
/// never does.
fn closes(terms: &Terms, end: &WindowEnd, from: f64) -> f64 {
    let gained = |t: f64| gain(terms, end, t);
    if gained(from) <= 0.0 {
        return from;
    }
    let next = terms.divs.iter().map(|d| d.t).find(|t| *t > from + SAME.date).unwrap_or(end.date);
    let until = next - SAME.instant;
    bracketed_root(gained, from, until, PUT_WINDOW.found).unwrap_or(until)
}

/// What exercise at `t` gains at X = 0 over exercise right after the date.
fn gain(terms: &Terms, end: &WindowEnd, t: f64) -> f64 {
    end.strike - terms.a(t) - end.paid * (-terms.r * (end.date - t)).exp()
}

#[cfg(test)]
mod tests {
    use super::super::at_date::Wait;
    use super::*;
    use crate::american::draws::{Draws, every};
    use crate::american::recursion::{AmericanOption, Solution};
    use crate::black76::{Horizon, european};
    use crate::dividends::Dividend;

    /// Three strikes, each solved beside the one before, and eight volatilities: premiums agree with the recursion to
    /// `bound` of the strike, from the boundary on.
    #[test]
    fn premiums_of_puts_are_those_of_the_recursion() {
        for (t, r, b, divs, bound) in [
            (0.5, 0.04, 0.0, vec![], 3e-8),
            (0.5, 0.04, 0.02, vec![], 3e-8),
            (0.5, 0.04, 0.0, every(0.25, 0.2, 0.5, 0.3), 1e-6),
            (2.0, 0.04, 0.0, every(0.25, 0.2, 2.0, 0.5), 3e-7),
            (2.0, 0.04, 0.001, every(0.25, 0.2, 2.0, 0.5), 5e-7),
            (2.0, 0.04, 0.003, every(0.25, 0.2, 2.0, 0.5), 1e-6),
            (1.0, 0.04, 0.02, every(0.25, 0.2, 1.0, 0.5), 3e-5),
            (1.0, 0.04, 0.1, every(0.25, 0.2, 1.0, 0.5), 1e-6),
            (0.6, 0.04, 0.0, every(0.02, 0.015, 0.6, 0.04), 3e-7),
            (2.0, 0.04, -0.0001, every(0.25, 0.2, 2.0, 0.5), 1e-6),
            (2.0, 0.04, -0.0002, every(0.25, 0.2, 2.0, 0.5), 3e-7),
            (2.0, 0.04, -0.0003, every(0.25, 0.2, 2.0, 0.5), 3e-7),
            (0.5, 0.04, -0.003, every(0.25, 0.2, 0.5, 0.3), 1e-6),
            (2.0, 0.04, -0.003, every(0.25, 0.2, 2.0, 0.5), 5e-7),
            (2.0, 0.04, -0.02, every(0.25, 0.2, 2.0, 0.5), 1e-6),
            (1.0, 0.03, -0.001, every(0.25, 0.2, 1.0, 0.5), 3e-7),
            (1.0, 0.04, -0.002, every(1.0 / 12.0, 0.06, 1.0, 0.15), 3e-7),
            (0.3, 0.0425, -0.001, every(0.5, 0.23, 0.3, 0.17), 3e-7),
        ] {
            let terms = Terms { t, r, b, divs };
            let sigmas = [0.2, 0.22, 0.25, 0.28, 0.31, 0.34, 0.37, 0.4];
            let problem = Problem { phi: -1.0, terms: terms.clone(), stop: 0.0, continuous: true };
            let mut near: Option<First> = None;
            for k in [90.0, 100.0, 110.0] {
                let solved = put_windows(&problem, k, Block::load(&sigmas), near.as_ref()).expect("exercised now");
                for (lane, &sigma) in sigmas.iter().enumerate() {
                    let solution = Solution::new(&AmericanOption::new(-1.0, &terms, k, sigma));
                    let boundary = solution.boundary().expect("a boundary");
                    for away in [0.0, 0.02, 0.05, 0.2, 0.5, 1.0] {
                        let x = boundary + away * sigma;
                        let european = european(-1.0, &Horizon::from(&terms), x.exp(), k, sigma).v;
                        let want = solution.value(x)[0] - european;
                        let got = solved.later.premium(Block::splat(x)).lane(lane);
                        let off = (got - want).abs() / k;
                        assert!(off <= bound, "T {t} b {b} K {k} σ {sigma} at {away}: {got} for {want}");
                    }
                }
                near = Some(solved);
            }
        }
    }

    /// Derivatives of the expected premium are differences of it, at a time that all lanes share and at their own.
    #[test]
    fn expected_premiums_and_their_derivatives_belong_together() {
        let terms = Terms { t: 1.0, r: 0.04, b: 0.003, divs: every(0.25, 0.2, 1.0, 0.5) };
        let problem = Problem { phi: -1.0, terms, stop: 0.0, continuous: true };
        let sigma = Block::load(&[0.2, 0.22, 0.25, 0.28, 0.31, 0.34, 0.37, 0.4]);
        let solved = put_windows(&problem, 100.0, sigma, None).expect("exercised now");
        let at = solved.later.at.expect("a premium at the first date");
        let own = Wait::new(Block::load(&[0.2, 0.195, 0.19, 0.185, 0.18, 0.175, 0.17, 0.165]), 0.8);
        let h = 1e-4;
        for ln_x in [4.0f64, 4.3, 4.5, 4.7] {
            for lane in 0..8 {
                let shared = Wait::new(0.2 - 0.005 * lane as f64, 0.8);
                let expected = |x: f64| at.expected::<true, f64>(&shared, Block::splat(x)).map(|v| v.lane(lane));
                let middle = expected(ln_x);
                let lanes = at.expected::<true, Block>(&own, Block::splat(ln_x));
                let [up, down] = [expected(ln_x + h), expected(ln_x - h)];
                for i in 0..4 {
                    assert!((lanes[i].lane(lane) - middle[i]).abs() < 1e-10, "derivative {i} at {ln_x}");
                    let difference = if i == 0 { middle[0] } else { (up[i - 1] - down[i - 1]) / (2.0 * h) };
                    let size = middle[i].abs().max(1.0);
                    assert!(
                        (difference - middle[i]).abs() < [1e-15, 1e-4, 1e-3, 5e-3][i] * size,
                        "{i} at {ln_x}: {middle:?} {difference}"
                    );
                }
            }
        }
    }

    #[test]
    fn dates_without_a_window_are_passed_over() {
        // interest on the strike between the dates: 1.0; the second dividend is worth waiting for from the first on
        let divs = [(0.1, 0.2), (0.35, 3.0), (0.6, 0.2)].map(|(t, amount)| Dividend { t, amount }).to_vec();
        let terms = Terms { t: 0.85, r: 0.04, b: 0.0, divs };
        let problem = |stop: f64| Problem { phi: -1.0, terms: terms.clone(), stop, continuous: true };
        let sigma = Block::splat(0.3);
        assert!(put_windows(&problem(0.0), 100.0, sigma, None).is_none());
        assert!(put_windows(&problem(0.1), 100.0, sigma, None).is_none());
        let solved = put_windows(&problem(0.35), 100.0, sigma, None).expect("exercised after the second date");
        assert_eq!(solved.windows.len(), 1);
    }

    /// A window that waits for the second date, because none begins at the first, sees the dividends of both.
    #[test]
    fn windows_before_a_date_without_one_see_its_dividend() {
        for b in [0.003, -0.003] {
            // interest on the strike between the dates: 1.0
            let divs = [(0.25, 0.2), (0.5, 1.09), (0.75, 0.2)].map(|(t, amount)| Dividend { t, amount }).to_vec();
            let terms = Terms { t: 1.0, r: 0.04, b, divs };
            let problem = Problem { phi: -1.0, terms: terms.clone(), stop: 0.0, continuous: true };
            let solved = put_windows(&problem, 100.0, Block::splat(0.3), None).expect("exercised now");
            let solution = Solution::new(&AmericanOption::new(-1.0, &terms, 100.0, 0.3));
            let boundary = solution.boundary().expect("a boundary");
            assert!((solved.boundary.lane(0) - boundary).abs() < 1e-4, "b {b}: {boundary}");
            for away in [0.0, 0.1, 0.3, 0.6] {
                let x = boundary + away;
                let want = solution.value(x)[0] - european(-1.0, &Horizon::from(&terms), x.exp(), 100.0, 0.3).v;
                let got = solved.later.premium(Block::splat(x)).lane(0);
                assert!((got - want).abs() < 1e-4, "b {b} at {away}: {got} for {want}");
            }
        }
    }

    /// Windows of hours to a week, in which the boundary runs away at once: nearly all are found, each strike after the
    /// one before, and agree with the recursion.
    #[test]
    fn boundaries_of_short_windows_are_found() {
        let mut draws = Draws(1);
        let mut missing = 0;
        let mut worst: f64 = 0.0;
        for i in 0..300 {
            let r = draws.between(0.04, 0.045);
            let b = if i % 10 == 0 { draws.between(-0.00024, 0.0) } else { draws.between(0.001, 0.008) };
            let gap = if i % 3 == 0 { 0.25 } else { 1.0 / 12.0 };
            let window = draws.between(0.002, 0.02);
            let (first, sigma) = (gap * draws.between(0.2, 1.0), draws.between(0.12, 0.62));
            let amount = 50.0 * (r * (gap - window)).exp_m1();
            let t = first + gap * draws.between(0.0, 8.0) + 0.01;
            let terms = Terms { t, r, b, divs: every(gap, first, t, amount) };
            let problem = Problem { phi: -1.0, terms: terms.clone(), stop: first, continuous: true };
            let sigmas: [f64; 8] = core::array::from_fn(|i| sigma * 1.7f64.powf(i.min(5) as f64 / 5.0));
            let mut near: Option<First> = None;
            for k in [50.0, 50.3, 51.0] {
                let Some(solved) = put_windows(&problem, k, Block::load(&sigmas), near.as_ref()) else {
                    missing += 1;
                    continue;
                };
                let divs = every(gap, gap, t - first, amount);
                let solution =
                    Solution::new(&AmericanOption::new(-1.0, &Terms { t: t - first, r, b, divs }, k, sigmas[2]));
                let want = solution.boundary().expect("a boundary");
                let away = |ln_b: f64| (k.ln() - ln_b) / sigmas[2];
                // what lies further down is hardly met
                if b > 0.0 && away(want) < 2.5 {
                    worst = worst.max((away(solved.boundary.lane(2)) - away(want)).abs());
                }
                near = Some(solved);
            }
        }
        assert!(missing <= 20, "{missing} of 900");
        assert!(worst <= 5e-3, "{worst} units of σ");
    }
}
