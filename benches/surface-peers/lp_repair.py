"""Repairs static arbitrage by linear programming and names the quotes that cannot stand.

    python3 lp_repair.py BASE MOMENT [--out OUT] [--every N] [--slices-only] [--fewest] [--offenders FILE.csv]
                         [--against FILE.csv]

After S. N. Cohen, C. Reisinger, S. Wang, "Detecting and repairing arbitrage in traded option prices" (arXiv
2008.09454), with their bid-ask objective: a move within the quote costs next to nothing, one beyond it costs what it
goes beyond.

- Unknown is one call price for each strike of each expiry, as a part of the forward; call and put quotes of the strike
  both speak about it (European, see slices.py).
- Within an expiry: not negative, falling in strike, by no more than the strike grows, convex. The call of strike 0 is
  worth 1.
- Between expiries: a price is at most what any two prices of the same or later expiries say at its strike by a straight
  line, and at most any price of a later expiry and a lower strike. That is the paper's whole set of calendar
  constraints in one sentence; there are too many to write down, so those between neighbouring expiries are written down
  and of the others those that an optimum breaks, until it breaks none.

The paper's objective moves many good quotes a little rather than one dead quote far. `--fewest` looks for the fewest
quotes instead: distance is counted in half spreads, and solved again a few times with less weight on what was far
outside (every slice alone first; E. Candes, M. Wakin, S. Boyd, "Enhancing sparsity by reweighted l1 minimization",
2008).

An offender is a quote whose repaired price leaves it by more than a tenth of a cent. Its rule is the least set of
constraints with which it is one:

    no volatility   no volatility gives it (an ask below what exercise gives, a call bid above the spot, a put bid above
                    its strike)
    parity          call and put of its strike contradict each other
    vertical        prices must fall in strike, and not by more than it grows
    butterfly       and be convex
    calendar        and not fall with time
"""

import argparse
import collections
import csv
import dataclasses
import os
import time

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csr_matrix

import slices as market

#: Prices are parts of the forward times this, so that the solver's tolerance (1e-7) is far below a tick.
SCALE = 1e4
#: A quote is an offender beyond this, currency.
TOO_FAR = 1e-3
#: The least cost of a move inside a quote against one outside.
INSIDE_LEAST = 1e-4
#: Calendar constraints broken by less are let pass (parts of the forward), ...
CALENDAR_SMALL = 2e-7
#: ... and so many rounds are enough.
ROUNDS = 40
#: With `fewest`: how often a slice is weighed again; spreads count as at least this, currency.
REWEIGHTS, SPREAD_LEAST = 4, 0.02
RULES = ["no volatility", "parity", "vertical", "butterfly", "calendar"]


@dataclasses.dataclass
class Repaired:
    """What became of a name. One entry a slice, in order."""

    call: list  # repaired undiscounted call price at each strike; NaN: no two-sided quote there
    rule: list  # one entry a row: index into RULES, or -1
    seconds: dict  # by rule, of the last solve that was needed
    rounds: int


class Program:
    """The linear program of some slices of one name."""

    def __init__(self, slices):
        self.slices = slices
        self.rows, self.at, self.k, self.expiry = [], [], [], []
        low, high, which, n = [], [], [], 0
        for i, s in enumerate(slices):
            rows = np.flatnonzero(s.q_two & np.isfinite(s.q_high) & (s.q_high >= s.q_low - 1e-12))
            used = np.unique(s.q_at[rows])
            place = np.full(len(s.strike), -1)
            place[used] = n + np.arange(len(used))
            # a put as the call of its strike
            lift = np.where(s.q_call[rows], 0.0, s.fwd - s.strike[s.q_at[rows]])
            low.append((s.q_low[rows] + lift) / s.fwd)
            high.append((s.q_high[rows] + lift) / s.fwd)
            which.append(place[s.q_at[rows]])
            self.rows.append(rows)
            self.at.append(place)
            self.k.append(s.strike[used] / s.fwd)
            self.expiry.append(np.full(len(used), i))
            n += len(used)
        self.n = n
        self.k, self.expiry = np.concatenate(self.k), np.concatenate(self.expiry)
        self.start = np.searchsorted(self.expiry, np.arange(len(slices) + 1))
        self.low, self.high, self.which = np.concatenate(low), np.concatenate(high), np.concatenate(which)
        #: the cost of a move beyond the quote, by quote
        self.weight = np.ones(len(self.which))
        self.half = np.concatenate(
            [
                np.maximum((s.q_ask - s.q_bid)[r], SPREAD_LEAST) / (2 * s.discount * s.fwd)
                for s, r in zip(slices, self.rows)
            ]
        )

    # Each constraint is a few (column, factor) with sum of factor * price <= bound.
    def vertical(self):
        out = []
        for a, b in zip(self.start, self.start[1:]):
            if a == b:
                continue
            out.append(([a], [-1.0], self.k[a] - 1.0))  # at least intrinsic: 1 - c <= k
            out += [([j + 1, j], [1.0, -1.0], 0.0) for j in range(a, b - 1)]
            # an own condition where butterflies are not asked for
            out += [([j, j + 1], [1.0, -1.0], self.k[j + 1] - self.k[j]) for j in range(a, b - 1)]
        return out

    def butterfly(self):
        out = []
        for a, b in zip(self.start, self.start[1:]):
            if b - a >= 2:
                # the call of strike 0, worth 1, is the left leg of the first
                w = (self.k[a + 1] - self.k[a]) / self.k[a + 1]
                out.append(([a, a + 1], [1.0, w - 1.0], w))
            out += [self.chord(j, j - 1, j + 1) for j in range(a + 1, b - 1)]
        return out

    def chord(self, j, left, right):
        """Price j is at most what the prices `left` and `right` say on a straight line; -1: the call of strike 0 on the
        left, nothing on the right (prices fall)."""
        if right < 0:
            return [j, left], [1.0, -1.0], 0.0
        if left < 0:
            w = (self.k[right] - self.k[j]) / self.k[right]
            return [j, right], [1.0, w - 1.0], w
        w = (self.k[right] - self.k[j]) / (self.k[right] - self.k[left])
        if w >= 1.0:
            return [j, left], [1.0, -1.0], 0.0
        return [j, left, right], [1.0, -w, w - 1.0], 0.0

    def neighbours(self):
        """Every price below the lines between the prices of the next expiry."""
        out, spans = [], [(a, b) for a, b in zip(self.start, self.start[1:]) if b > a]
        for (a, b), (c, d) in zip(spans, spans[1:]):
            for j in range(a, b):
                right = c + int(np.searchsorted(self.k[c:d], self.k[j]))
                if right < d and self.k[right] == self.k[j]:
                    out.append(([j, right], [1.0, -1.0], 0.0))
                else:
                    out.append(self.chord(j, right - 1 if right > c else -1, right if right < d else -1))
        return out

    def crossed(self, price):
        """Constraints between expiries that these prices break most: against the lower hull of the same and all later
        ones."""
        out, hull = [], []
        for i in range(len(self.slices) - 1, -1, -1):
            own = range(self.start[i], self.start[i + 1])
            hull = _hull(sorted([*hull, *own], key=lambda j: (self.k[j], price[j])), self.k, price)
            on = set(hull)
            for j in own:
                if j not in on:
                    value, left, right = _under(hull, self.k[j], self.k, price)
                    if price[j] > value + CALENDAR_SMALL:
                        out.append(self.chord(j, left, right))
        return out

    def solve(self, constraints):
        """Prices as parts of the forward, of least cost under these constraints."""
        m, n = len(self.which), self.n
        mid = 0.5 * (self.low + self.high)
        half = np.maximum(0.5 * (self.high - self.low), 1e-9)
        inside = np.maximum(min(half.min(), 1.0 / m) / half, INSIDE_LEAST)
        # price = mid + up inside - down inside + up outside - down outside
        one = np.arange(m)
        cols = np.concatenate([self.which, *(n + j * m + one for j in range(4))])
        vals = np.concatenate([np.ones(m), -np.ones(m), np.ones(m), -np.ones(m), np.ones(m)])
        a_eq = csr_matrix((vals, (np.tile(one, 5), cols)), shape=(m, n + 4 * m))
        cost = np.concatenate([np.zeros(n), inside * self.weight, inside * self.weight, self.weight, self.weight])
        bounds = np.zeros((n + 4 * m, 2))
        bounds[:, 1] = np.inf
        bounds[n : n + 2 * m, 1] = np.tile(half, 2) * SCALE
        a_ub = b_ub = None
        if constraints:
            sizes = [len(c) for c, _, _ in constraints]
            a_ub = csr_matrix(
                (
                    np.concatenate([v for _, v, _ in constraints]),
                    (
                        np.repeat(np.arange(len(sizes)), sizes),
                        np.concatenate([c for c, _, _ in constraints]).astype(int),
                    ),
                ),
                shape=(len(sizes), n + 4 * m),
            )
            b_ub = np.array([b for _, _, b in constraints]) * SCALE
        found = linprog(cost, A_ub=a_ub, b_ub=b_ub, A_eq=a_eq, b_eq=mid * SCALE, bounds=bounds, method="highs")
        if found.x is None:
            raise ArithmeticError(f"{self.slices[0].root}: {found.message}")
        return found.x[:n] / SCALE

    def weigh(self, price=None):
        """Costs by half spreads, and less of what these prices leave far outside."""
        unit = np.median(self.half) if len(self.half) else 1.0
        beyond = (
            0.0
            if price is None
            else np.maximum(np.maximum(self.low - price[self.which], price[self.which] - self.high), 0) / self.half
        )
        self.weight = np.maximum(unit / self.half, 1e-3) / (1.0 + beyond)

    def outside(self, price):
        """For each slice a mask of its rows whose quote the price leaves."""
        far = np.maximum(self.low - price[self.which], price[self.which] - self.high)
        out, done = [], 0
        for s, rows in zip(self.slices, self.rows):
            mask = np.zeros(len(s.q_at), bool)
            mask[rows] = far[done : done + len(rows)] * s.fwd * s.discount > TOO_FAR
            done += len(rows)
            out.append(mask)
        return out


def _hull(order, k, price):
    """The lower convex hull of these points in order of strike, falling, with the call of strike 0 on the left (index
    -1)."""
    hull = [(-1, 0.0, 1.0)]
    for j in order:
        x, y = k[j], price[j]
        if y >= hull[-1][2] or x == hull[-1][1]:
            # never below what a lower strike says; equal strikes come cheapest first
            continue
        while len(hull) > 1:
            (_, x0, y0), (_, x1, y1) = hull[-2], hull[-1]
            if (y1 - y0) * (x - x0) >= (y - y0) * (x1 - x0):
                hull.pop()
            else:
                break
        hull.append((j, x, y))
    return [j for j, _, _ in hull[1:]]


def _under(hull, x, k, price):
    """The hull's value at strike x, and between which two points."""
    if not hull:
        return np.inf, -1, -1
    i = int(np.searchsorted(k[hull], x))
    if i == len(hull):
        return price[hull[-1]], hull[-1], -1
    right = hull[i]
    x0, y0 = (k[hull[i - 1]], price[hull[i - 1]]) if i else (0.0, 1.0)
    w = (k[right] - x) / (k[right] - x0)
    return w * y0 + (1 - w) * price[right], hull[i - 1] if i else -1, right


def repair(slices, calendar=True, fewest=False):
    """Repairs one name; without `calendar` every slice for itself; `fewest`: as few quotes as possible, not as
    little."""
    whole = Program(slices)
    rule = [np.where(s.q_two & ~(np.isfinite(s.q_high) & (s.q_high >= s.q_low - 1e-12)), 0, -1) for s in slices]
    seconds, rounds, price = dict.fromkeys(RULES[1:], 0.0), 0, None

    def settle(index, mask):
        for i, m in mask:
            rule[i][m & (rule[i] < 0)] = index

    parts = [(i, Program([s])) for i, s in enumerate(slices)]
    for i, part in parts:
        if part.n == 0:
            continue
        for index, sets in enumerate([[], [part.vertical], [part.vertical, part.butterfly]], start=1):
            began = time.thread_time()
            constraints = [c for made in sets for c in made()]
            if fewest:
                part.weigh()
            alone = part.solve(constraints)
            for _ in range(REWEIGHTS if fewest else 0):
                if not part.outside(alone)[0].any():
                    break
                part.weigh(alone)
                alone = part.solve(constraints)
            seconds[RULES[index]] += time.thread_time() - began
            settle(index, [(i, part.outside(alone)[0])])
        if not calendar:
            price = np.full(whole.n, np.nan) if price is None else price
            price[whole.start[i] : whole.start[i + 1]] = alone
    if calendar and whole.n:
        began = time.thread_time()
        constraints = whole.vertical() + whole.butterfly() + whole.neighbours()
        if fewest:
            # parts are in the order of the whole's quotes, each in its own unit
            unit = np.median(whole.half)
            whole.weight = np.concatenate([p.weight * unit / np.median(p.half) for _, p in parts if p.n])
        for rounds in range(1, ROUNDS + 1):
            price = whole.solve(constraints)
            more = whole.crossed(price)
            if not more:
                break
            constraints += more
        seconds["calendar"] = time.thread_time() - began
        settle(4, enumerate(whole.outside(price)))
        last = whole.outside(price)
        # what the whole repair leaves inside is no offender, whatever a slice alone said
        for r, m in zip(rule, last):
            r[(r > 0) & ~m] = -1
    call = []
    for s, at in zip(slices, whole.at):
        call.append(
            np.where(at >= 0, price[np.maximum(at, 0)], np.nan) * s.fwd
            if price is not None
            else np.full(len(s.strike), np.nan)
        )
    return Repaired(call, rule, seconds, rounds)


def repair_all(markets, calendar=True, say=None, fewest=False):
    out = {}
    for name, slices in markets.items():
        out[name] = repair(slices, calendar, fewest)
        if say:
            say(f"{name}: {sum(out[name].seconds.values()):.1f} s, {out[name].rounds} rounds")
    return out


def write_offenders(path, markets, repaired):
    """One line an offender, with the repaired price as a European one of its right."""
    with open(path, "w", newline="") as file:
        out = csv.writer(file)
        out.writerow(
            "root expiry right strike rule bid ask european_bid european_ask repaired out_of_the_money liquid".split()
        )
        for name, slices in markets.items():
            for s, call, rule in zip(slices, repaired[name].call, repaired[name].rule):
                for row in np.flatnonzero(rule >= 0):
                    k = s.strike[s.q_at[row]]
                    value = call[s.q_at[row]] - (0.0 if s.q_call[row] else s.fwd - k)
                    show = lambda x: "" if np.isnan(x) else f"{x * s.discount:.4f}"
                    out.writerow(
                        [
                            s.root,
                            s.expiry,
                            "call" if s.q_call[row] else "put",
                            f"{k:g}",
                            RULES[rule[row]],
                            f"{s.q_bid[row]:g}",
                            f"{s.q_ask[row]:g}",
                        ]
                        + [
                            show(s.q_low[row]),
                            show(s.q_high[row]),
                            show(value),
                            int(s.q_otm[row]),
                            int(s.q_liquid[row]),
                        ]
                    )


def read_offenders(path):
    """{(root, expiry, right, strike in mills)} of a CSV with these columns."""
    with open(path) as file:
        return {(x["root"], x["expiry"], x["right"], round(float(x["strike"]) * 1000)) for x in csv.DictReader(file)}


def overlap(ours, theirs, universe=None):
    """Precision and recall of `theirs` against `ours`, both sets of contracts."""
    if universe is not None:
        ours, theirs = ours & universe, theirs & universe
    both = len(ours & theirs)
    return both, both / max(len(theirs), 1), both / max(len(ours), 1)


def counts(markets, repaired):
    """{rule: (all, out of the money, liquid and out of the money)} and the same of the two-sided quotes."""
    table = {rule: [0, 0, 0] for rule in RULES}
    total = [0, 0, 0]
    for name, slices in markets.items():
        for s, rule in zip(slices, repaired[name].rule):
            for j, among in enumerate((s.q_two, s.q_two & s.q_otm, s.q_liquid & s.q_otm)):
                total[j] += int(among.sum())
                for r, text in enumerate(RULES):
                    table[text][j] += int((among & (rule == r)).sum())
    return table, total


def agreement(markets, repaired, path):
    """How far a list of contracts that somebody else rejects is that of the offenders, in words."""
    key = lambda s, row: (s.root, s.expiry, "call" if s.q_call[row] else "put", round(s.strike[s.q_at[row]] * 1000))
    every = [(s, rule) for name, slices in markets.items() for s, rule in zip(slices, repaired[name].rule)]
    ours = {key(s, row) for s, rule in every for row in np.flatnonzero(rule >= 0)}
    universe = {key(s, row) for s, _ in every for row in np.flatnonzero(s.q_two)}
    theirs = read_offenders(path)
    both, precision, recall = overlap(ours, theirs, universe)
    lines = [f"against {os.path.basename(path)}: {len(theirs & universe)} there, {len(ours)} offenders here,"]
    lines[0] += f" {both} in common: precision {precision:.3f}, recall {recall:.3f}"
    for i, text in enumerate(RULES):
        some = {key(s, row) for s, rule in every for row in np.flatnonzero(rule == i)}
        lines.append(f"  {text}: {len(some & theirs)} of {len(some)}")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("base")
    parser.add_argument("moment")
    parser.add_argument("--out")
    parser.add_argument("--every", type=int, default=1, help="every so manieth name")
    parser.add_argument("--slices-only", action="store_true", help="without calendar constraints: fast")
    parser.add_argument("--fewest", action="store_true", help="move as few quotes as possible")
    parser.add_argument("--offenders", help="write them here")
    parser.add_argument("--against", help="CSV with root, expiry, right, strike: how far it agrees")
    args = parser.parse_args()
    markets = market.load(args.base, args.moment, args.out, args.every)
    repaired = repair_all(markets, not args.slices_only, lambda text: print(text, flush=True), args.fewest)
    table, total = counts(markets, repaired)
    print("\nrule, offenders of two-sided quotes, of those out of the money, of liquid ones out of the money")
    for rule, n in table.items():
        print(f"{rule:14s}" + "".join(f"{x:9d}" for x in n))
    print(f"{'of':14s}" + "".join(f"{x:9d}" for x in total))
    spent = collections.Counter()
    for r in repaired.values():
        spent.update(r.seconds)
    n = sum(len(s) for s in markets.values())
    print("ms a slice:", ", ".join(f"{rule} {1e3 * spent[rule] / n:.1f}" for rule in RULES[1:]))
    if args.offenders:
        write_offenders(args.offenders, markets, repaired)
    if args.against:
        print(agreement(markets, repaired, args.against))


if __name__ == "__main__":
    main()
