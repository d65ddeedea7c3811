"""Fits the same recorded slices by every method and prints the table.

    python3 run.py BASE MOMENT [--out OUT] [--names N] [--methods a,b] [--report FILE.md] [--offenders FILE.csv]
                   [--against FILE.csv]

BASE/MOMENT/chains/*.csv[.gz] are recorded chains, OUT/MOMENT.csv.gz (OUT: BASE/out) what greeksd served of them;
README.md says how to make it. --names N takes N names evenly from the alphabet (the slow methods need 0.3 s a slice);
0: all. Everything runs on one thread.
"""

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS", "RAYON_NUM_THREADS"):
    os.environ[variable] = "1"

import argparse
import datetime
import importlib.metadata
import sys
import warnings

import numpy as np

import compare
import lp_repair
import slices as market

#: greeksd's own time has to come from its benches: the answer over HTTP does not say it.
GREEKSD_TIME = "compiled: `just bench surface`"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("base")
    parser.add_argument("moment")
    parser.add_argument("--out", help="folder of greeksd's answer, BASE/out unless said")
    parser.add_argument("--names", type=int, default=0, help="about so many names; 0: all")
    parser.add_argument("--methods", default=",".join(compare.METHODS), help="of " + ", ".join(compare.METHODS))
    parser.add_argument("--report", help="write the table here too")
    parser.add_argument("--offenders", help="write the quotes that the repair of the fewest moved out of their spread")
    parser.add_argument("--against", help="CSV with root, expiry, right, strike of quotes that somebody else rejects")
    args = parser.parse_args()
    warnings.filterwarnings("ignore")
    say = lambda text: print(text, file=sys.stderr, flush=True)

    markets = market.load(args.base, args.moment, args.out)
    if args.names:
        every = max(1, round(len(markets) / args.names))
        markets = dict(list(markets.items())[::every])
    n = sum(len(s) for s in markets.values())
    say(f"{len(markets)} names, {n} slices")
    repaired = lp_repair.repair_all(markets, say=lambda text: say("repair " + text))
    fewest = lp_repair.repair_all(markets, say=lambda text: say("fewest " + text), fewest=True)
    spent = lambda what, rules: 1e3 * sum(r.seconds[rule] for r in what.values() for rule in rules) / n
    whole = spent(repaired, ["calendar"]), spent(fewest, ["butterfly", "calendar"])
    scores = compare.fit_all(
        markets, repaired, fewest, [m for m in args.methods.split(",") if m], lambda text: say("fit " + text)
    )

    lines = [f"{args.moment}: {len(markets)} names, {n} slices; run on {datetime.date.today()}", ""]
    lines += [compare.table(scores, whole, GREEKSD_TIME), ""]
    for title, what in (("the paper's repair", repaired), ("the fewest", fewest)):
        found, total = lp_repair.counts(markets, what)
        lines += [
            f"| offenders, {title} | two-sided quotes | out of the money | liquid, out of the money |",
            "|---|---|---|---|",
        ]
        lines += [f"| {rule} | " + " | ".join(map(str, c)) + " |" for rule, c in found.items()]
        lines += ["| of | " + " | ".join(map(str, total)) + " |", ""]
    lines += [
        f"Repair of every slice alone, without the calendar: {spent(repaired, ['butterfly']):.1f} ms a slice.",
        "",
    ]
    (alone, together), hit = compare.ceiling(markets)
    of = scores["greeksd"].of
    lines += [
        f"Of the liquid quotes out of the money alone ({of}), prices free of arbitrage within each expiry need miss no"
        f" more than {alone} (inside {1 - alone / of:.4f}), and {together} where expiries may not cross either"
        f" ({1 - together / of:.4f}; both by a search that need not be the best). Inside of all of them"
        f" no such curve can be in {len(hit)} slices; most:"
    ]
    lines += [
        f"- {root} {expiry}: {off} of {n} ({', '.join(f'{k} {v}' for k, v in rules.items())})"
        for off, n, root, expiry, rules in hit[:20]
    ]
    if args.against:
        for title, what in (("the paper's repair", repaired), ("the fewest", fewest)):
            lines += ["", f"{title}, " + lp_repair.agreement(markets, what, args.against)]
    versions = [
        f"{p} {importlib.metadata.version(p)}" for p in ("numpy", "scipy", "svi-py", "numba", "QuantLib", "clarabel")
    ]
    lines += ["", f"Python {sys.version.split()[0]}, " + ", ".join(versions)]
    text = "\n".join(lines)
    print(text)
    if args.report:
        with open(args.report, "w") as file:
            file.write(text + "\n")
    if args.offenders:
        lp_repair.write_offenders(args.offenders, markets, fewest)


if __name__ == "__main__":
    np.seterr(all="ignore")
    main()
