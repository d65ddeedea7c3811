//! The spline's coordinate along standard deviations of ln(K/F).

use super::settings::SPLINE;
use kernel::elementary::{exp, ln};
use kernel::lanes::Lanes;

/// The spline's coordinate, the inverse hyperbolic sine: fine near the money, coarse in the wings.
#[inline(always)]
pub(super) fn spline_place<L: Lanes>(x: L) -> L {
    // the absolute value and the sign after: ln(y + √(y² + 1)) loses all digits for large negative y
    let y = (x * (1.0 / SPLINE.linear)).abs();
    let u = ln(y + y.mul_add(y, L::splat(1.0)).sqrt());
    L::select(x.lt(L::splat(0.0)), -u, u)
}

/// Standard deviations at a place of the spline's coordinate.
#[inline(always)]
pub(super) fn deviations<L: Lanes>(u: L) -> L {
    let e = exp(u);
    L::splat(0.5 * SPLINE.linear) * (e - L::splat(1.0) / e)
}

/// A place of the spline's coordinate with its first two derivatives in standard deviations.
#[inline(always)]
pub(super) fn place_jet<L: Lanes>(u: L) -> [L; 3] {
    let e = exp(u);
    let back = L::splat(1.0) / e;
    let (sinh, cosh) = (L::splat(0.5) * (e - back), L::splat(0.5) * (e + back));
    let u1 = L::splat(1.0 / SPLINE.linear) / cosh;
    [u, u1, -(sinh * u1 * u1 * u1 * SPLINE.linear)]
}
