"""Reads what greeksd served of recorded chains, and the quotes behind it, into slices that everybody fits alike.

    python3 slices.py BASE MOMENT [--out OUT]            how many slices and quotes there are

BASE/MOMENT/chains/*.csv[.gz] are the chains as they were served (`greeksd serve --feed dir:BASE/MOMENT`),
OUT/MOMENT.csv.gz is the answer to /l1/greeks?format=csv&greeks=all for all of their names (OUT: BASE/out unless said).

American quotes become European ones through greeksd's own volatilities: the European quote is Black-76 at `bid_vol` and
`ask_vol` on greeksd's forward and discount. So all methods see the same forwards and the same volatilities, and what is
compared is the curve alone.
"""

import argparse
import csv
import dataclasses
import glob
import gzip
import math
import os
import sys

import numpy as np
from scipy.special import ndtr

#: A contract is liquid with a spread of at most this part of its mid, or this much money, ...
SPREAD_OF_MID, SPREAD_MONEY = 0.25, 0.10
#: ... more than so many days, and a vendor's delta within these.
DAYS_MIN, DELTA = 6.5, (0.05, 0.95)


def black(fwd, strike, sd, call):
    """Undiscounted Black-76 value; `sd` is volatility times the root of time, 0 and NaN are worth what is in the
    money."""
    fwd, strike, sd, call = np.broadcast_arrays(*(np.asarray(x) for x in (fwd, strike, sd, call)))
    phi = np.where(call, 1.0, -1.0)
    none = ~(sd > 1e-12)
    s = np.where(none, 1.0, sd)
    d1 = np.log(fwd / strike) / s + 0.5 * s
    value = phi * (fwd * ndtr(phi * d1) - strike * ndtr(phi * (d1 - s)))
    return np.where(none, np.maximum(phi * (fwd - strike), 0.0), value)


def implied_sd(value, fwd, strike, call, low=0.0, high=20.0):
    """What `black` is inverted to, by bisection between `low` and `high`; NaN where no deviation gives the value."""
    value, fwd, strike = (np.asarray(x, float) for x in (value, fwd, strike))
    a, b = (np.array(np.broadcast_to(x, value.shape), float) for x in (low, high))
    above, below = value > black(fwd, strike, b, call), value <= black(fwd, strike, a, call)
    for _ in range(52):
        mid = 0.5 * (a + b)
        up = black(fwd, strike, mid, call) < value
        a, b = np.where(up, mid, a), np.where(up, b, mid)
    return np.where(above | (below & (np.asarray(low) <= 0.0)), np.nan, 0.5 * (a + b))


@dataclasses.dataclass
class Slice:
    """One (root, expiry). Columns beginning with `q_` have one entry a row (strike and right), the others one a
    strike."""

    root: str
    expiry: str
    t: float
    days: float
    fwd: float
    discount: float
    strike: np.ndarray  # listed strikes, ascending
    svc_vol: np.ndarray  # greeksd's curve there
    q_at: np.ndarray  # index of the row's strike
    q_call: np.ndarray
    q_bid: np.ndarray  # as quoted, American
    q_ask: np.ndarray
    q_theo: np.ndarray  # greeksd's American value
    q_bid_vol: np.ndarray  # 0: the bid is below what any volatility gives
    q_ask_vol: np.ndarray  # NaN: no volatility gives the ask
    q_two: np.ndarray  # two-sided
    q_otm: np.ndarray
    q_liquid: np.ndarray
    q_consistent: np.ndarray  # kept by the monotony rule, see `consistent`
    q_low: np.ndarray = None  # European, undiscounted
    q_high: np.ndarray = None
    q_mid_vol: np.ndarray = None  # of the European mid

    def __post_init__(self):
        k, s = self.strike[self.q_at], math.sqrt(self.t)
        self.q_low = black(self.fwd, k, self.q_bid_vol * s, self.q_call)
        self.q_high = np.where(np.isnan(self.q_ask_vol), np.nan, black(self.fwd, k, self.q_ask_vol * s, self.q_call))
        mid = 0.5 * (self.q_low + self.q_high)
        high = np.nan_to_num(self.q_ask_vol) * s
        self.q_mid_vol = np.where(
            np.isnan(self.q_high),
            np.nan,
            implied_sd(np.nan_to_num(mid), self.fwd, k, self.q_call, self.q_bid_vol * s, high) / s,
        )
        # nothing above intrinsic: no volatility to speak of
        self.q_mid_vol[~(self.q_mid_vol > 0)] = np.nan

    @property
    def k(self):
        """ln(strike / forward)."""
        return np.log(self.strike / self.fwd)

    def points(self, without=None):
        """Rows to fit: out of the money, two-sided, with volatilities on both sides; `without`: a mask of rows to leave
        out."""
        good = (
            self.q_two
            & self.q_otm
            & (self.q_bid_vol > 0)
            & np.isfinite(self.q_mid_vol)
            & (self.q_ask_vol >= self.q_bid_vol)
        )
        if without is not None:
            good &= ~without
        rows = np.flatnonzero(good)
        return rows[np.argsort(self.q_at[rows], kind="stable")]


def consistent(strike, call, bid, ask, two, spot):
    """Two-sided quotes that are no dearer than a strike that must be dearer; of those that contradict each other the
    one with most contradictions goes first, until none is left. A call bid above the spot goes too. (American
    quotes.)"""
    keep = two.copy()
    for right in (True, False):
        rows = np.flatnonzero(two & (call == right))
        rows = rows[np.argsort(strike[rows] if right else -strike[rows], kind="stable")]
        wrong = np.triu(bid[rows][None, :] > ask[rows][:, None] + 1e-9, 1)
        wrong = wrong | wrong.T
        count = wrong.sum(0)
        while count.any():
            worst = int(np.argmax(count))
            keep[rows[worst]] = False
            count -= wrong[worst]
            count[worst] = 0
            wrong[worst] = wrong[:, worst] = False
    return keep & ~(call & (bid > spot))


def _number(x):
    return float(x) if x else math.nan


def _open(path):
    return gzip.open(path, "rt") if path.endswith(".gz") else open(path)


def _quotes(base, moment, roots):
    """(root, expiry, right, strike in mills) to (bid, ask, vendor's delta); of doubles the last counts."""
    quotes = {}
    for path in sorted(glob.glob(f"{base}/{moment}/chains/*.csv*")):
        with _open(path) as file:
            rows = csv.reader(file)
            at = {name: i for i, name in enumerate(next(rows))}
            delta = at.get("vendor_delta")
            for x in rows:
                if roots is not None and x[at["root"]] not in roots:
                    continue
                key = x[at["root"]], x[at["expiry"]], x[at["right"]], round(float(x[at["strike"]]) * 1000)
                quotes[key] = (
                    _number(x[at["bid"]]),
                    _number(x[at["ask"]]),
                    _number(x[delta]) if delta is not None else math.nan,
                )
    return quotes


def load(base, moment, out=None, every=1):
    """{root: slices in the order of expiry}; every so manieth name of the alphabet. Slices without a forward are left
    out."""
    path = f"{out or f'{base}/out'}/{moment}.csv.gz"
    if not os.path.exists(path):
        sys.exit(f"{path} is missing: see README.md")
    groups, names = {}, []
    with gzip.open(path, "rt") as file:
        rows = csv.reader(file)
        at = {name: i for i, name in enumerate(next(rows))}
        for x in rows:
            if x[at["fwd_price"]]:
                groups.setdefault((x[at["root"]], x[at["expiry"]]), []).append(x)
    names = sorted({root for root, _ in groups})[::every]
    quotes = _quotes(base, moment, set(names))
    markets = {name: [] for name in names}
    for (root, expiry), rows in groups.items():
        if root in markets:
            made = _slice(root, expiry, rows, at, quotes)
            if made is not None:
                markets[root].append(made)
    for slices in markets.values():
        slices.sort(key=lambda s: s.t)
    return {name: slices for name, slices in markets.items() if slices}


def _slice(root, expiry, rows, at, quotes):
    col = lambda name: np.array([_number(x[at[name]]) for x in rows])
    strike, call = col("strike"), np.array([x[at["right"]] == "call" for x in rows])
    days, fwd, spot, rate = (float(col(name)[0]) for name in ("days", "fwd_price", "und_price", "disc_rate"))
    if not (days > 0 and fwd > 0 and 1e-3 < fwd / spot < 1e3):
        return None
    found = [
        quotes.get((root, expiry, "call" if c else "put", round(k * 1000)), (math.nan,) * 3)
        for k, c in zip(strike, call, strict=True)
    ]
    bid, ask, delta = np.array(found).T
    # without a vendor's delta greeksd's own decides what is liquid
    delta = np.abs(np.where(np.isnan(delta), col("delta"), delta) if np.isnan(delta).all() else delta)
    two = (bid > 0) & (ask >= bid)
    # no volatility gives a call more than the spot or a put more than its strike
    never = bid > np.where(call, spot, strike)
    tight = two & (ask - bid <= np.maximum(SPREAD_OF_MID * 0.5 * (bid + ask), SPREAD_MONEY))
    listed, q_at = np.unique(strike, return_inverse=True)
    vol = np.full(len(listed), np.nan)
    vol[q_at] = col("svc_vol")
    return Slice(
        root=root,
        expiry=expiry,
        t=days / 365,
        days=days,
        fwd=fwd,
        discount=math.exp(-rate * days / 365),
        strike=listed,
        svc_vol=vol,
        q_at=q_at,
        q_call=call,
        q_bid=bid,
        q_ask=ask,
        q_theo=col("svc_theo"),
        q_bid_vol=np.where(never, 0.0, np.nan_to_num(col("bid_vol"))),
        q_ask_vol=np.where(never, np.nan, col("ask_vol")),
        q_two=two,
        q_otm=call == (strike >= fwd),
        q_liquid=tight & (days > DAYS_MIN) & (delta >= DELTA[0]) & (delta <= DELTA[1]),
        q_consistent=consistent(strike, call, bid, ask, two, spot),
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("base")
    parser.add_argument("moment")
    parser.add_argument("--out")
    args = parser.parse_args()
    every = [s for slices in load(args.base, args.moment, args.out).values() for s in slices]
    total = lambda of: sum(int(of(s).sum()) for s in every)
    print(
        f"{len({s.root for s in every})} names, {len(every)} slices, {sum(len(s.strike) for s in every)} strikes;",
        end=" ",
    )
    print(
        f"two-sided {total(lambda s: s.q_two)}, of these consistent {total(lambda s: s.q_two & s.q_consistent)}, ",
        end="",
    )
    print(f"with volatilities {total(lambda s: s.q_two & np.isfinite(s.q_ask_vol))};", end=" ")
    print(f"liquid {total(lambda s: s.q_liquid)}, out of the money {total(lambda s: s.q_liquid & s.q_otm)}")
    inside = [s.q_liquid & s.q_otm & (s.q_theo >= s.q_bid - 1e-9) & (s.q_theo <= s.q_ask + 1e-9) for s in every]
    print(
        "svc_theo inside, liquid out of the money:",
        round(sum(i.sum() for i in inside) / total(lambda s: s.q_liquid & s.q_otm), 4),
    )
