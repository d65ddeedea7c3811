"""Holds lp_repair.py against the code of the paper's authors (arbitragerepair): same cost, and no constraint of theirs
broken.

    python3 check_repair.py BASE MOMENT [--every N]

It needs an environment of its own: arbitragerepair 1.1.0 wants pandas before 3 (requirements-check.txt). Its matrices
are dense, so names of more than a thousand strikes are left out. So are expiries with a single quoted strike: there
version 1.1.0 has a wrong bound (it should be minus one over the strike).
"""

import argparse
import contextlib
import copy
import io
import time
import warnings

import numpy as np
from arbitragerepair import constraints
from arbitragerepair import repair as authors

import lp_repair
import slices as market

STRIKES_MAX = 1000


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("base")
    parser.add_argument("moment")
    parser.add_argument("--every", type=int, default=30)
    args = parser.parse_args()
    warnings.filterwarnings("ignore")
    for name, slices in market.load(args.base, args.moment, every=args.every).items():
        slices = [s for s in slices if min(len(np.unique(s.q_at[s.q_two & side])) for side in (s.q_otm, True)) > 1]
        if not 3 <= sum(len(s.strike) for s in slices) <= STRIKES_MAX:
            continue
        # everything: is what was repaired free of all that the authors call arbitrage?
        done = lp_repair.repair(slices)
        program = lp_repair.Program(slices)
        t = np.array([slices[i].t for i in program.expiry])
        price = np.concatenate([call[at >= 0] / s.fwd for s, call, at in zip(slices, done.call, program.at)])
        _, _, n, broken = constraints.detect(t, program.k, price, tolerance=1e-5)
        # one quote a strike, as they have it: is the cost the same?
        lean = [copy.copy(s) for s in slices]
        for s in lean:
            s.q_two = s.q_two & s.q_otm
        program = lp_repair.Program(lean)
        t = np.array([slices[i].t for i in program.expiry])
        order = np.argsort(program.which)
        low, high = program.low[order], program.high[order]
        mid = 0.5 * (low + high)
        matrix, bound, _, _ = constraints.detect(t, program.k, mid)
        began = time.thread_time()
        with contextlib.redirect_stdout(io.StringIO()):
            move = authors.l1ba(matrix, bound, mid, spread=[high - mid, mid - low])
        theirs_s, began = time.thread_time() - began, time.thread_time()
        found = program.vertical() + program.butterfly() + program.neighbours()
        for _ in range(lp_repair.ROUNDS):
            ours = program.solve(found)
            more = program.crossed(ours)
            if not more:
                break
            found += more
        ours_s = time.thread_time() - began
        outside = lambda p: np.maximum(np.maximum(low - p, p - high), 0).sum()
        theirs = f"{outside(mid + move):.9f}" if len(move) else "none"
        print(
            f"{name}: {sum(broken)} of {sum(n)} constraints broken; outside the quotes: ours {outside(ours):.9f},"
            f" theirs {theirs}; {ours_s:.2f} s, {theirs_s:.2f} s"
        )


if __name__ == "__main__":
    main()
