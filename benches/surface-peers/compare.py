"""One table of what every method makes of the same slices: how many quotes it is inside of, arbitrage left, time."""

import copy
import time

import numpy as np

import fit_spline
import fit_svi
import lp_repair
import slices as market

#: Inside a quote up to this, currency (six printed digits of a volatility are less).
TOLERANCE = 1e-4
#: A butterfly below this counts, currency; a fall of total variance beyond this part too.
FLY, FALL = -0.01, 0.02


def each(fit):
    """A method that takes one slice at a time."""
    return lambda slices, rows, calls: [fit(*x) for x in zip(slices, rows, calls)]


#: (name, what it is given, function of (slices of a name, rows to fit, repaired call prices) to volatilities)
METHODS = {
    "svi": ("SVI, svi-py", "as quoted", each(lambda s, r, _: fit_svi.svi_py(s, r))),
    "svi-kept": ("SVI, svi-py", "without LP offenders", each(lambda s, r, _: fit_svi.svi_py(s, r))),
    "quantlib": ("SVI, QuantLib", "as quoted", each(lambda s, r, _: fit_svi.quantlib(s, r))),
    "quantlib-kept": ("SVI, QuantLib", "without LP offenders", each(lambda s, r, _: fit_svi.quantlib(s, r))),
    "essvi": ("eSSVI, svi-py", "as quoted", lambda slices, rows, _: fit_svi.essvi_py(slices, rows)),
    "essvi-kept": ("eSSVI, svi-py", "without LP offenders", lambda slices, rows, _: fit_svi.essvi_py(slices, rows)),
    "svi-fewest": ("SVI, svi-py", "without LP offenders, fewest", each(lambda s, r, _: fit_svi.svi_py(s, r))),
    "smoothing": ("smoothing spline, SciPy", "LP-repaired", each(fit_spline.smoothing)),
    "smoothing-fewest": ("smoothing spline, SciPy", "LP-repaired, fewest", each(fit_spline.smoothing)),
    "fengler": ("Fengler's spline, Clarabel", "LP-repaired", fit_spline.fengler),
    "fengler-fewest": ("Fengler's spline, Clarabel", "LP-repaired, fewest", fit_spline.fengler),
}


class Score:
    """Counts over all slices for one method."""

    def __init__(self):
        self.inside = self.of = self.inside_kept = self.of_kept = 0
        self.flies = self.fly_of = self.falls = self.fall_of = self.failed = self.slices = 0
        self.miss, self.seconds = [], 0.0

    def add(self, slices, vols):
        before = None
        for s, vol in zip(slices, vols):
            rows = s.q_liquid & s.q_otm
            kept = rows & s.q_consistent
            self.of += int(rows.sum())
            self.of_kept += int(kept.sum())
            fitted = s.points()
            if vol is None:
                self.failed += int(len(fitted) >= fit_svi.POINTS_MIN)
                before = None
                continue
            k = s.strike[s.q_at]
            price = market.black(s.fwd, k, vol[s.q_at] * np.sqrt(s.t), s.q_call)
            price[~np.isfinite(vol[s.q_at])] = np.nan
            gap = TOLERANCE / s.discount
            inside = (price >= s.q_low - gap) & (price <= s.q_high + gap)
            self.inside += int((rows & inside).sum())
            self.inside_kept += int((kept & inside).sum())
            half = np.maximum(0.5 * (s.q_high - s.q_low), 0.005)
            miss = (np.abs(price - 0.5 * (s.q_low + s.q_high)) / half)[rows]
            self.miss.append(miss[np.isfinite(miss)])
            before = self.arbitrage(s, vol, fitted, before)

    def arbitrage(self, s, vol, fitted, before):
        """Where there are quotes: butterflies of listed strikes, and total variance against the slice before."""
        if len(fitted) < 3:
            return before
        among = np.arange(s.q_at[fitted[0]], s.q_at[fitted[-1]] + 1)
        among = among[np.isfinite(vol[among])]
        k, x = s.strike[among], s.k[among]
        if len(k) < 3:
            return before
        call = market.black(s.fwd, k, vol[among] * np.sqrt(s.t), True) * s.discount
        w = (k[2:] - k[1:-1]) / (k[2:] - k[:-2])
        fly = w * call[:-2] + (1 - w) * call[2:] - call[1:-1]
        self.flies += int((fly < FLY).sum())
        self.fly_of += len(fly)
        w = vol[among] ** 2 * s.t
        if before is not None and before[0] < s.t:
            _, x0, w0 = before
            both = (x0 >= x[0]) & (x0 <= x[-1])
            self.falls += int((np.interp(x0[both], x, w) < (1 - FALL) * w0[both]).sum())
            self.fall_of += int(both.sum())
        return s.t, x, w

    def row(self):
        miss = np.concatenate(self.miss) if self.miss else np.array([np.nan])
        return [
            f"{self.inside / max(self.of, 1):.4f}",
            f"{self.inside_kept / max(self.of_kept, 1):.4f}",
            f"{np.median(miss):.3f}",
            f"{self.flies}",
            f"{self.falls}",
            f"{self.failed}",
        ]


def fit_all(markets, repaired, fewest, names, say=None):
    """{method: Score} for the methods named, greeksd's curve and the repaired prices themselves."""
    scores = {name: Score() for name in ["greeksd", *names, "repaired", "repaired-fewest"]}
    warmed = set()
    for root, slices in markets.items():
        repairs = repaired[root], fewest[root]
        kept = [[s.points(rule >= 0) for s, rule in zip(slices, done.rule)] for done in repairs]
        quoted = [s.points() for s in slices]
        scores["greeksd"].add(slices, [s.svc_vol if np.isfinite(s.svc_vol).any() else None for s in slices])
        for name, done in zip(["repaired", "repaired-fewest"], repairs):
            scores[name].add(slices, [_vol(s, call) for s, call in zip(slices, done.call)])
        for name in names:
            _, given, fit = METHODS[name]
            which = int(given.endswith("fewest"))
            done, rows = repairs[which], quoted if given == "as quoted" else kept[which]
            if name not in warmed:
                # imports and compilation are no part of the time
                fit(slices, rows, done.call)
                warmed.add(name)
            began = time.thread_time()
            vols = fit(slices, rows, done.call)
            scores[name].seconds += time.thread_time() - began
            scores[name].slices += sum(len(r) >= fit_svi.POINTS_MIN for r in rows)
            scores[name].add(slices, vols)
        if say:
            say(root)
    return scores


def _vol(s, call):
    """Volatilities that give the repaired prices, from the side out of the money."""
    is_call = s.strike >= s.fwd
    sd = market.implied_sd(
        np.nan_to_num(call - np.where(is_call, 0.0, s.fwd - s.strike), nan=-1.0), s.fwd, s.strike, is_call
    )
    # a price of nothing is a price
    sd = np.where(np.isfinite(call) & np.isnan(sd), 0.0, sd)
    return sd / np.sqrt(s.t)


def table(scores, repair_ms, greeksd_time):
    """Markdown; `repair_ms`: of the paper's repair and of that of the fewest."""
    head = ["method", "given", "inside", "consistent inside", "miss", "butterflies", "calendar", "failed", "ms a slice"]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for name, score in scores.items():
        if name == "greeksd":
            cells = ["greeksd", "as quoted", *score.row(), greeksd_time]
        elif name.startswith("repaired"):
            which = int(name.endswith("fewest"))
            title = "LP repair alone: a price a strike, no curve"
            cells = [title, ["all quotes", "all quotes, fewest"][which], *score.row(), f"{repair_ms[which]:.0f}"]
        else:
            title, given, _ = METHODS[name]
            ms = 1e3 * score.seconds / max(score.slices, 1)
            extra = "" if given == "as quoted" else f" + {repair_ms[given.endswith('fewest')]:.0f}"
            cells = [title, given, *score.row(), f"{ms:.0f}{extra}"]
        lines.append("| " + " | ".join(cells) + " |")
    some = scores["greeksd"]
    lines.append(f"\nContracts: {some.of} liquid out of the money, {some.of_kept} of them consistent;")
    lines[-1] += (
        f" butterflies looked at: {some.fly_of}, calendar places: {some.fall_of} (greeksd's; others nearly as many)."
    )
    return "\n".join(lines)


def ceiling(markets):
    """The liquid quotes out of the money alone, nothing else looked at: how many of them prices free of arbitrage miss,
    with and without calendar constraints, by a search for the fewest (it need not find the least), and [(missed, of,
    root, expiry, rules)] of the slices alone that no prices are inside of entirely, worst first."""
    missed, slices_hit = [0, 0], []
    for root, slices in markets.items():
        lean = [copy.copy(s) for s in slices]
        for s in lean:
            s.q_two = s.q_liquid & s.q_otm
        lean = [s for s in lean if s.q_two.any()]
        for i, calendar in enumerate((False, True) if lean else ()):
            done = lp_repair.repair(lean, calendar, fewest=True)
            missed[i] += sum(int((rule >= 0).sum()) for rule in done.rule)
            for s, rule in zip(lean, done.rule if not calendar else []):
                off = rule >= 0
                if off.any():
                    rules = {
                        text: int((rule == j).sum()) for j, text in enumerate(lp_repair.RULES) if (rule == j).any()
                    }
                    slices_hit.append((int(off.sum()), int(s.q_two.sum()), root, s.expiry, rules))
    slices_hit.sort(key=lambda x: (-x[0], x[2], x[3]))
    return missed, slices_hit
