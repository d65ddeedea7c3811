//! Helpers of the modules of this folder: a year, roots of variances, straight lines between points. Never: an expiry.

/// Calendar days of a year.
pub(super) const YEAR_DAYS: f64 = 365.0;

/// The root of a variance, 0 of what errors leave below 0; what is missing stays missing.
pub(super) fn root(variance: f64) -> f64 {
    if variance < 0.0 { 0.0 } else { variance.sqrt() }
}

/// The value at `x` on the straight lines between points that ascend by `key`; beyond the ends that of the end. NaN of
/// no point.
pub(super) fn between<T>(points: &[T], x: f64, key: impl Fn(&T) -> f64, value: impl Fn(&T) -> f64) -> f64 {
    let at = points.partition_point(|point| key(point) < x);
    match (at.checked_sub(1).and_then(|below| points.get(below)), points.get(at)) {
        (Some(a), Some(b)) => {
            let part = (x - key(a)) / (key(b) - key(a));
            value(a) + part * (value(b) - value(a))
        }
        (Some(end), None) | (None, Some(end)) => value(end),
        (None, None) => f64::NAN,
    }
}
