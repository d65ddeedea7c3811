//! Numbers of a name, of its expiries, and its exposures, as `/l1/metrics` and `/l1/exposure` have them. Never: a
//! request, a screen.

use super::model::SliceKey;
use super::parse::{TextRow, TextTable};

/// The clock by which the term structure is drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum TermClock {
    /// Calendar days.
    #[default]
    Calendar,
    /// Variance days: sessions count most, closed dates little.
    Variance,
}

/// Numbers of a name.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct NameMetrics {
    /// The symbol.
    pub(crate) symbol: String,
    /// Volatility thirty days ahead, per square root of a year.
    pub(crate) vol: f64,
    /// Price over the close of the session before, less 1.
    pub(crate) day_change: f64,
    /// Place of the volatility between the lowest and the highest one of a year's closes, 0 to 1.
    pub(crate) rank: f64,
    /// Risk reversal of 25 delta thirty days ahead: volatility of the call less that of the put.
    pub(crate) skew: f64,
    /// `found`, `dated`, `none` or `unknown`.
    pub(crate) event_state: String,
    /// Date by which the event passes; empty: no event.
    pub(crate) event_to: String,
    /// One standard deviation of the event's move, as a fraction of the price.
    pub(crate) event_move: f64,
    /// Standard error of that.
    pub(crate) event_move_se: f64,
    /// Largest move that would not have been found, as a fraction of the price.
    pub(crate) event_move_max: f64,
    /// The first expiry at least a day away; empty: none.
    pub(crate) next_expiry: String,
    /// Mean absolute move to the next expiry, as a fraction of the forward.
    pub(crate) expected_move: f64,
    /// One standard deviation of that move.
    pub(crate) move_sd: f64,
}

/// Numbers of an expiry.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TermPoint {
    /// The expiry.
    pub(crate) expiry: String,
    /// Calendar days to settlement.
    pub(crate) days: f64,
    /// Variance days to settlement.
    pub(crate) days_vt: f64,
    /// Volatility per variance day without the name's event, annualised.
    pub(crate) vol_vt: f64,
    /// Volatility per calendar day without the name's event.
    pub(crate) ex_event_vol: f64,
    /// One standard deviation of the move of the event that the expiry holds; NaN: it holds none.
    pub(crate) event_move: f64,
    /// Volatility from the expiry before to this one, per calendar day.
    pub(crate) forward_vol: f64,
    /// Risk reversal of 25 delta: volatility of the call less that of the put.
    pub(crate) skew: f64,
    /// Mean absolute move to settlement, as a fraction of the forward.
    pub(crate) expected_move: f64,
    /// The strike at which open interest is paid least; NaN: unknown.
    pub(crate) max_pain: f64,
}

/// The expiries that exposures are summed over.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) enum ExposureScope {
    /// All expiries of the name.
    #[default]
    All,
    /// One of them.
    One(SliceKey),
}

/// Exposures of a strike, or of all strikes. In currency: of delta, and of gamma for a rise of 1 %.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ExposureRow {
    /// The strike; NaN: all strikes.
    pub(crate) strike: f64,
    /// Gamma of calls less puts.
    pub(crate) gex: f64,
    /// Gamma of calls.
    pub(crate) call_gamma: f64,
    /// Gamma of puts.
    pub(crate) put_gamma: f64,
    /// Delta of calls and puts.
    pub(crate) delta: f64,
    /// Vanna of calls less puts: for a point of volatility.
    pub(crate) vanna: f64,
    /// Charm of calls less puts: for a calendar day.
    pub(crate) charm: f64,
    /// Open calls.
    pub(crate) call_oi: f64,
    /// Open puts.
    pub(crate) put_oi: f64,
    /// Price at which the gamma exposure changes its sign; NaN: none within reach.
    pub(crate) flip: f64,
    /// Why there is no gamma exposure; empty: there is one.
    pub(crate) missing: String,
}

/// Exposures of the name on the screen.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Exposures {
    /// Expiries of the numbers.
    pub(crate) scope: ExposureScope,
    /// By strike.
    pub(crate) rows: Vec<ExposureRow>,
    /// Of all strikes.
    pub(crate) sum: Option<ExposureRow>,
    /// Why the daemon has none; empty: it answers.
    pub(crate) refused: String,
}

/// The rows of `/l1/metrics` by name.
///
/// # Errors
/// The answer is no such table.
pub(crate) fn names(bytes: &[u8]) -> Result<Vec<NameMetrics>, String> {
    let row = |row: &TextRow<'_>| NameMetrics {
        symbol: row.text("underlying").to_owned(),
        vol: row.number("iv30d"),
        day_change: row.number("day_change"),
        rank: row.number("iv_rank_1y"),
        skew: row.number("rr25_30d"),
        event_state: row.text("event_state").to_owned(),
        event_to: row.text("event_to").to_owned(),
        event_move: row.number("event_move"),
        event_move_se: row.number("event_move_se"),
        event_move_max: row.number("event_move_max"),
        next_expiry: row.text("next_expiry").to_owned(),
        expected_move: row.number("expected_move"),
        move_sd: row.number("move_sd"),
    };
    Ok(TextTable::with(bytes, &["underlying", "event_state", "expected_move"])?.rows().iter().map(row).collect())
}

/// The rows of `/l1/metrics` by expiry.
///
/// # Errors
/// The answer is no such table.
pub(crate) fn term(bytes: &[u8]) -> Result<Vec<TermPoint>, String> {
    let row = |row: &TextRow<'_>| TermPoint {
        expiry: row.text("expiry").to_owned(),
        days: row.number("days"),
        days_vt: row.number("days_vt"),
        vol_vt: row.number("vol_vt"),
        ex_event_vol: row.number("ex_event_vol"),
        // 0 is an expiry before the event
        event_move: Some(row.number("event_var")).filter(|var| *var > 0.0).map_or(f64::NAN, f64::sqrt),
        forward_vol: row.number("forward_vol"),
        skew: row.number("skew25"),
        expected_move: row.number("expected_move"),
        max_pain: row.number("max_pain"),
    };
    Ok(TextTable::with(bytes, &["expiry", "days_vt", "vol_vt"])?.rows().iter().map(row).collect())
}

/// The rows of `/l1/exposure` by strike, or the one of the name.
///
/// # Errors
/// The answer is no such table.
pub(crate) fn exposures(bytes: &[u8]) -> Result<Vec<ExposureRow>, String> {
    let row = |row: &TextRow<'_>| ExposureRow {
        strike: row.number("strike"),
        gex: row.number("gex"),
        call_gamma: row.number("call_gamma"),
        put_gamma: row.number("put_gamma"),
        delta: row.number("delta_exp"),
        vanna: row.number("vanna_exp"),
        charm: row.number("charm_exp"),
        call_oi: row.number("call_oi"),
        put_oi: row.number("put_oi"),
        flip: row.number("gamma_flip"),
        missing: reason_of(row.text("missing"), "gex"),
    };
    Ok(TextTable::with(bytes, &["strike", "gex", "call_gamma"])?.rows().iter().map(row).collect())
}

/// Why a field is missing, of `field:reason field:reason`, in words.
fn reason_of(missing: &str, field: &str) -> String {
    let reason = missing.split(' ').find_map(|of| of.strip_prefix(field)?.strip_prefix(':'));
    reason.unwrap_or_default().replace('_', " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expiry_before_the_event_holds_none() {
        let csv = b"expiry,days,days_vt,vol_vt,event_var,skew25\n2026-11-27,7,3.9,0.26,0,-0.04\n\
            2026-12-04,14,8,0.26,0.0016,\n";
        let term = term(csv).unwrap();
        assert!(term[0].event_move.is_nan() && (term[1].event_move - 0.04).abs() < 1e-12);
        assert!((term[0].skew, term[0].days_vt) == (-0.04, 3.9) && term[1].skew.is_nan());
    }

    #[test]
    fn a_missing_exposure_has_its_reason() {
        let csv = b"strike,gex,call_gamma,missing\n,,,gex:no_open_interest call_gamma:no_open_interest\n100,-5,2,\n";
        let rows = exposures(csv).unwrap();
        assert_eq!((rows[0].missing.as_str(), rows[1].missing.as_str()), ("no open interest", ""));
        assert!(rows[0].strike.is_nan() && rows[0].gex.is_nan() && (rows[1].gex + 5.0).abs() < 1e-12);
    }

    #[test]
    fn other_answers_are_refused() {
        for body in ["", "<html></html>", "a,b\n1,2\n"] {
            let body = body.as_bytes();
            assert!(names(body).is_err() && term(body).is_err() && exposures(body).is_err());
        }
    }
}
