"""The SVI family by published codes: volatilities at every listed strike of a slice from its quotes out of the money.

Every function takes a slice and rows to fit (`Slice.points`) and answers volatilities at `slice.strike`, or None where
the package gives up. Settings are those that had most quotes inside in a trial on nine names; README.md names them.
"""

import math

import numpy as np

#: Five parameters need as many quotes.
POINTS_MIN = 5


def _pysvi():
    import loguru
    import pysvi

    loguru.logger.remove()
    return pysvi


def svi_py(s, rows):
    """Raw SVI, svi-py: penalised against butterflies, weighed by vega, soft L1, started from the wings."""
    if len(rows) < POINTS_MIN:
        return None
    pysvi = _pysvi()
    model = pysvi.get_model("svi", pysvi.ArbitrageFreedom.NO_BUTTERFLY)
    w = s.q_mid_vol[rows] ** 2 * s.t
    found = model.calibrate(
        s.k[s.q_at[rows]], w, objective="vega_weighted", loss="soft_l1", initialization="jump_wings"
    )
    return None if found is None else _vol(model.total_variance(s.k, found), s.t)


def essvi_py(slices, rows):
    """eSSVI, svi-py: all slices of a name at once, penalised against butterflies and against crossing in time."""
    import pandas as pd

    pysvi = _pysvi()
    frames = [
        pd.DataFrame({"strike": s.strike[s.q_at[r]], "iv": s.q_mid_vol[r], "maturity": s.t, "implied_forward": s.fwd})
        for s, r in zip(slices, rows)
        if len(r) >= POINTS_MIN
    ]
    out = [None] * len(slices)
    if not frames:
        return out
    try:
        surface = pysvi.calibrate_surface(
            pd.concat(frames),
            "essvi",
            arbitrage_condition=pysvi.ArbitrageFreedom.NO_BUTTERFLY,
            objective="vega_weighted",
            loss="soft_l1",
        )
    except ValueError:
        return out
    fitted = {round(float(t), 12) for t in surface.maturities}
    for i, s in enumerate(slices):
        if round(s.t, 12) in fitted:
            out[i] = _vol(np.asarray(surface.total_variance(s.k, s.t)), s.t)
    return out


def quantlib(s, rows):
    """Raw SVI, QuantLib's SviInterpolatedSmileSection: weighed by vega, Levenberg-Marquardt; nothing against
    arbitrage."""
    if len(rows) < POINTS_MIN:
        return None
    import QuantLib as ql

    today = ql.Date(1, 1, 2026)
    ql.Settings.instance().evaluationDate = today
    # whole days are all that it knows: total variances are kept
    whole = max(1, round(s.days))
    t = whole / 365
    vol = s.q_mid_vol[rows] * math.sqrt(s.t / t)
    w, k = vol**2 * t, s.k[s.q_at[rows]]
    at_fwd = float(np.interp(0.0, k, vol))
    start = max(0.5 * w.min(), 1e-6), max(w.max() - w.min(), 1e-4), max(at_fwd * math.sqrt(t), 0.05), -0.3, 0.0
    try:
        section = ql.SviInterpolatedSmileSection(
            today + whole, s.fwd, s.strike[s.q_at[rows]].tolist(), False, at_fwd, vol.tolist(),
            *start, *[False] * 5, True,
            ql.EndCriteria(1000, 100, 1e-8, 1e-8, 1e-8), ql.LevenbergMarquardt(),
        )  # fmt: skip
        found = np.array([section.volatility(float(x)) for x in s.strike])
    except RuntimeError:
        return None
    return found * math.sqrt(t / s.t)


def _vol(w, t):
    return np.sqrt(np.maximum(w, 0.0) / t)
