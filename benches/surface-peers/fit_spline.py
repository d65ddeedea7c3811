"""Splines through prices that linear programming repaired (lp_repair.py): volatilities at every listed strike of a
slice."""

import math

import clarabel
import numpy as np
from scipy.interpolate import CubicSpline, make_smoothing_spline
from scipy.sparse import bmat, csc_matrix, diags

import slices as market

POINTS_MIN = 5
#: Weight of the bend in Fengler's program, with prices as parts of the deviation at the money and strikes in
#: deviations, and weights one on average.
STIFFNESS = 1e-3


def _repaired(s, rows, call):
    """Strike index, total variance and half a spread in total variance of the repaired prices of these rows."""
    at = s.q_at[rows]
    k, is_call = s.strike[at], s.q_call[rows]
    value = call[at] - np.where(is_call, 0.0, s.fwd - k)
    sd = market.implied_sd(np.nan_to_num(value, nan=-1.0), s.fwd, k, is_call)
    half = np.maximum(0.5 * (s.q_ask_vol[rows] ** 2 - s.q_bid_vol[rows] ** 2) * s.t, 1e-8)
    good = np.isfinite(sd) & (sd > 0)
    return at[good], sd[good] ** 2, half[good]


def smoothing(s, rows, call):
    """SciPy's smoothing spline of total variance over ln(strike / forward), weighed by spread, smoothness by
    generalised cross validation; straight beyond the quotes. Nothing against arbitrage."""
    at, w, half = _repaired(s, rows, call)
    if len(at) < POINTS_MIN:
        return None
    x = s.k[at]
    # the deviation as the unit: the choice of smoothness is searched on an absolute scale
    unit, level = math.sqrt(np.median(w)), np.median(w)
    try:
        spline = make_smoothing_spline(x / unit, w / level, np.mean(half**2) / half**2)
    except (ValueError, np.linalg.LinAlgError):
        return None
    inner = np.clip(s.k, x[0], x[-1]) / unit
    found = spline(inner) + spline.derivative()(inner) * (s.k / unit - inner)
    return np.sqrt(np.maximum(found * level, 1e-10) / s.t)


def fengler(slices, rows, calls):
    """M. Fengler, "Arbitrage-free smoothing of the implied volatility surface" (2009): a cubic spline of call prices,
    convex, falling, below the slice after it; one quadratic program a slice, the last one first (Clarabel)."""
    out, later = [None] * len(slices), None
    for i in range(len(slices) - 1, -1, -1):
        found = _fengler(slices[i], rows[i], calls[i], later)
        if found is not None:
            out[i], later = found
    return out


def _fengler(s, rows, call, later):
    at, w, half = _repaired(s, rows, call)
    if len(at) < POINTS_MIN:
        return None
    x, sd = s.strike[at] / s.fwd, math.sqrt(np.median(w))
    y = call[at] / s.fwd
    spread = np.maximum(0.5 * (s.q_high - s.q_low)[rows][np.isin(s.q_at[rows], at)] / s.fwd, 1e-7)
    weight = np.minimum((np.median(spread) / spread) ** 2, 1e4)
    weight /= weight.mean()
    u, g = x / sd, y / sd
    n, h = len(u), np.diff(u)
    # values and second derivatives, tied as in a natural cubic spline: Q' g = R bend
    q = diags([1 / h[:-1], -1 / h[:-1] - 1 / h[1:], 1 / h[1:]], [0, 1, 2], shape=(n - 2, n))
    r = diags([h[1:-1] / 6, (h[:-1] + h[1:]) / 3, h[1:-1] / 6], [-1, 0, 1], shape=(n - 2, n - 2))
    p = csc_matrix(bmat([[diags(weight), None], [None, STIFFNESS * r]]))
    linear = np.concatenate([-weight * g, np.zeros(n - 2)])
    none = csc_matrix((0, n))
    parts, bound = [], []
    row = lambda cols, vals: csc_matrix((vals, ([0] * len(cols), cols)), shape=(1, 2 * n - 2))
    # bends not negative
    parts.append(bmat([[csc_matrix((n - 2, n)), diags(-np.ones(n - 2))]]))
    bound.append(np.zeros(n - 2))
    # slope at the first strike at least -1, at the last at most 0; the last price not negative, the first at least
    # intrinsic
    parts += [
        row([0, 1, n], [1 / h[0], -1 / h[0], h[0] / 6]),
        row([n - 1, n - 2, 2 * n - 3], [1 / h[-1], -1 / h[-1], h[-1] / 6]),
    ]
    bound += [[1.0], [0.0]]
    parts += [row([n - 1], [-1.0]), row([0], [-1.0]), row([0], [1.0])]
    bound += [[0.0], [-(1 - x[0]) / sd], [1 / sd]]
    if later is not None:
        inside = np.flatnonzero((x >= later.x[0]) & (x <= later.x[-1]))
        if len(inside):
            parts.append(
                csc_matrix((np.ones(len(inside)), (np.arange(len(inside)), inside)), shape=(len(inside), 2 * n - 2))
            )
            bound.append(later(x[inside]) / sd)
    a = bmat([[bmat([[q, -r]])], *[[part] for part in parts]], format="csc")
    b = np.concatenate([np.zeros(n - 2), *bound])
    cones = [clarabel.ZeroConeT(n - 2), clarabel.NonnegativeConeT(len(b) - n + 2)]
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.max_threads = 1
    solution = clarabel.DefaultSolver(p, linear, a, b, cones, settings).solve()
    if str(solution.status) not in ("Solved", "AlmostSolved"):
        return None
    curve = CubicSpline(x, np.array(solution.x[:n]) * sd, bc_type="natural")
    # beyond the quotes the volatility of the last strike
    inside = (s.strike >= s.strike[at[0]]) & (s.strike <= s.strike[at[-1]])
    vol = np.full(len(s.strike), np.nan)
    k = s.strike[inside]
    is_call = k >= s.fwd
    value = curve(k / s.fwd) * s.fwd - np.where(is_call, 0.0, s.fwd - k)
    vol[inside] = market.implied_sd(value, s.fwd, k, is_call) / math.sqrt(s.t)
    known = np.flatnonzero(vol > 0)
    if not len(known):
        return None
    return np.interp(np.arange(len(vol)), known, vol[known]), curve
