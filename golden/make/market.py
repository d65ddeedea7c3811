"""Draws American contracts as a market has them and writes them with their reference values, in the columns of golden/.

    python3 golden/make/market.py --seed 1 OUT.csv                 price and derivatives in spot and time
    python3 golden/make/market.py --seed 1 --greeks OUT.csv        every Greek (about a second a row and core)

Needs cargo; no files of golden/ are read or written. OUT is added to as rows get done, the groups in turn, and a run
that was stopped goes on where it was: a row depends on the seed and its number alone. The column `group` has

    market      contracts of a whole market, most of them far from exercise
    boundary    the same with the spot within half a standard deviation of the exercise boundary of now, two in three
                with dividends
    exdate      the same with the next ex-date within two days

`payer` is how dividends are paid, `distance` that of the spot to the boundary in standard deviations of ln S to expiry
(blank where there is none now), `days` those to the next ex-date. What the solver has no value for is left out and counted
at the end: puts with b < 0 and dividends, and contracts with two boundaries. So is what takes too long (LIMITS).
"""

import argparse
import collections
import csv
import math
import os
import random
import subprocess
import sys
from pathlib import Path

import contracts

ROOT = contracts.GOLDEN.parent
SOLVER = ROOT / "golden/make/american"
PROGRAM = ROOT / "target/golden/release" / ("american-reference.exe" if os.name == "nt" else "american-reference")
SPOT = ["price", "delta", "gamma", "speed", "theta", "charm", "color", "lambda"]
ALL = [
    "price", "delta", "gamma", "speed", "vega", "volga", "ultima", "vanna", "zomma", "theta", "charm", "color", "veta",
    "rho", "vera", "epsilon", "lambda", "dual_delta", "dual_gamma",
]  # fmt: skip
PLACE = ["exercise_now", "boundary", "distance", "days", "payer", "group"]
GROUPS = {"market": "M", "boundary": "B", "exdate": "X"}
# payer: share, least and greatest yield a year
PAYERS = {
    "none": (0.30, 0, 0),
    "quarterly": (0.36, 0.005, 0.06),
    "monthly": (0.12, 0.03, 0.12),
    "weekly": (0.06, 0.1, 0.5),
    "rare": (0.08, 0.01, 0.05),
    "special": (0.08, 0.005, 0.04),
}
DAY = 1 / 365
QUARTER, MONTH, WEEK = 0.25, 1 / 12, 7 / 365
# seconds on the clock after which rows are given up: weekly payers with years to go can take an hour
LIMITS = {"prices": 60, "spot": 600, "greeks": 1800}
# a solver is asked for so many rows at once; one of more dividends waits until all others are done
CHUNK = 8
MANY = 26


def borrow(draw):
    """Easy to borrow and in line with the rate, a little off, hard."""
    kind = draw.choices(("none", "noise", "negative", "some", "hard"), (20, 40, 10, 15, 15))[0]
    value = {
        "none": lambda: 0.0,
        "noise": lambda: draw.gauss(0, 0.003),
        "negative": lambda: draw.uniform(-0.02, 0),
        "some": lambda: draw.uniform(0, 0.02),
        "hard": lambda: 0.02 + 0.38 * min(draw.betavariate(1, 4), 1),
    }[kind]()
    return round(value, 6)


def term(draw):
    """Years: one day to three years, half of them below 60 days."""
    days = draw.choices(((1, 60), (60, 365), (365, 1095)), (50, 35, 15))[0]
    return round(draw.uniform(*days) * DAY, 8)


def regular(draw, s, t, payer, first):
    """Dates and amounts of a payer; `first` in years, or None for anywhere in its period."""
    if payer == "none":
        return []
    period = {"monthly": MONTH, "weekly": WEEK, "rare": draw.choice((0.5, 1.0))}.get(payer, QUARTER)
    _, low, high = PAYERS[payer]
    amount = max(round(s * draw.uniform(low, high) * period, 3), 0.01)
    first = period * draw.uniform(0.002, 1) if first is None else first
    count = math.ceil((t - first) / period) if first < t else 0
    return [(round(first + period * i, 8), amount) for i in range(count) if round(first + period * i, 8) < t]


def drawn(draw, kind):
    """One contract, or None where the draw makes none that a market would list, or none of its kind: `any`, `none` (it
    pays no dividend before expiry), `pays`, `soon` (within two days)."""
    s, t = round(math.exp(draw.uniform(math.log(4), math.log(1200))), 2), term(draw)
    payers = {name: share for name, (share, _, _) in PAYERS.items()}
    if kind in ("pays", "soon"):
        del payers["none"]
    payer = draw.choices(list(payers), list(payers.values()))[0]
    r = round(draw.uniform(0.03, 0.055) if draw.random() < 0.7 else draw.uniform(-0.005, 0.06), 5)
    sigma = round(min(max(math.exp(draw.gauss(math.log(0.3), 0.55)), 0.05), 2.0), 4)
    first = draw.uniform(0.03, 2) * DAY if kind == "soon" else None
    divs = regular(draw, s, t, payer, first)
    if payer == "special":
        divs.append((round(t * draw.uniform(0.02, 0.98), 8), round(s * draw.uniform(0.03, 0.25), 2)))
    b = borrow(draw)
    divs.sort()
    if payer != "none" and not divs:
        # its next ex-date lies behind expiry
        payer = "none"
    if (kind == "none" and divs) or (kind == "pays" and not divs) or (kind == "soon" and not divs):
        return None
    gone = sum(amount * math.exp((b - r) * time) for time, amount in divs)
    if gone > 0.6 * s or any(a[0] >= b[0] for a, b in zip(divs, divs[1:])):
        return None
    deviation = sigma * math.sqrt(t)
    k = (s - gone) * math.exp((r - b) * t + 1.3 * deviation * draw.gauss(0, 1))
    k = round(min(max(k, 0.3 * s), 3 * s), 2)
    if k <= max((amount for _, amount in divs), default=0):
        return None
    pairs = ";".join(f"{time}:{amount}" for time, amount in divs)
    right = draw.choice(("call", "put"))
    inputs = {"style": "american", "right": right, "s": s, "k": k, "t_years": t, "r": r, "b": b, "sigma": sigma}
    return inputs | {"divs": pairs, "payer": payer}


def solved(task, rows):
    """The solver's answer by id."""
    header = "id,right,s,k,t_years,r,b,sigma,divs".split(",")
    lines = [",".join(header)] + [",".join(str(row[name]) for name in header) for row in rows]
    done = subprocess.run(
        [PROGRAM, task, "--threads", "1"],
        input="\n".join(lines) + "\n",
        capture_output=True,
        text=True,
        check=True,
        timeout=LIMITS[task],
    )
    return {row["id"]: row for row in csv.DictReader(done.stdout.splitlines())}


def deviations(row, boundary):
    return math.log(float(row["s"]) / boundary) / (row["sigma"] * math.sqrt(row["t_years"]))


def near_boundary(draw, number):
    """A contract that can be exercised now, moved next to its boundary: two in three pay dividends."""
    while True:
        row = drawn(draw, "pays" if number % 3 else "none")
        if row is None:
            continue
        try:
            answer = solved("prices", [row | {"id": "?"}])["?"]
        except subprocess.TimeoutExpired:
            continue
        if answer["unsupported"]:
            continue
        boundary = float(answer["boundary"])
        if not (math.isfinite(boundary) and 0.2 * row["k"] < boundary < 5 * row["k"]):
            continue
        distance = draw.uniform(0.01, 0.5) if number % 2 else math.exp(draw.uniform(math.log(0.01), math.log(0.5)))
        side = 1 if row["right"] == "put" else -1
        s = round(boundary * math.exp(side * distance * row["sigma"] * math.sqrt(row["t_years"])), 4)
        gone = sum(amount * math.exp((row["b"] - row["r"]) * time) for time, amount in contracts.dividends(row))
        if gone < 0.7 * s:
            return row | {"s": s}


def contract(seed, group, number):
    """Row `number` of a group."""
    draw = random.Random(f"{seed} {group} {number}")
    row = near_boundary(draw, number) if group == "boundary" else None
    while row is None:
        row = drawn(draw, "soon" if group == "exdate" else "any")
    return row | {"id": f"{GROUPS[group]}{number:04d}", "group": group}


def row_with_values(row, answer, names):
    """A row of the file."""
    sizes, row = contracts.sizes(row), dict(row)
    boundary = float(answer["boundary"])
    known = math.isfinite(boundary) and boundary > 0
    row["exercise_now"] = answer["exercise_now"]
    row["boundary"] = f"{boundary:.9g}" if known else ""
    row["distance"] = f"{abs(deviations(row, boundary)):.4g}" if known else ""
    divs = contracts.dividends(row)
    row["days"] = f"{divs[0][0] / DAY:.4g}" if divs else ""
    for name in names:
        value, error = float(answer[name]), float(answer[f"{name}_err"])
        row[name], row[f"{name}_err"] = contracts.with_error(value, error, sizes[name])
    return row


def turns(counts):
    """(group, number) of all groups in turn, so that a file that is not whole has some of each."""
    order = [(number / counts[group], group, number) for group in counts for number in range(counts[group])]
    return [(group, number) for _, group, number in sorted(order)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", metavar="OUT", type=Path, help="CSV file to write or to go on with")
    parser.add_argument("--seed", type=int, required=True, help="rows are those of this number")
    parser.add_argument("--greeks", action="store_true", help="every Greek, not those in spot and time alone")
    for group, count in (("market", 300), ("boundary", 150), ("exdate", 150)):
        explained = f"contracts drawn (default {count})"
        parser.add_argument(f"--{group}", type=int, default=count, metavar="N", help=explained)
    args = parser.parse_args()
    task, names = ("greeks", ALL) if args.greeks else ("spot", SPOT)
    build = ["cargo", "build", "--release", "--locked", "--quiet", "--manifest-path", SOLVER / "Cargo.toml"]
    subprocess.run([*build, "--target-dir", PROGRAM.parent.parent], check=True)

    header = ["id"] + contracts.INPUTS[1:] + names + [f"{name}_err" for name in names] + PLACE
    refused_file = args.out.with_suffix(".refused.csv")
    done, refused = set(), collections.Counter()
    if args.out.exists():
        names_there, rows = contracts.read(args.out)
        if names_there != header:
            parser.error(f"{args.out} has other columns")
        done = {row["id"] for row in rows}
    if refused_file.exists():
        for row in contracts.read(refused_file)[1]:
            done.add(row["id"])
            refused[row["why"]] += 1
    fresh = not args.out.exists()
    wanted = turns({group: getattr(args, group) for group in GROUPS})
    wanted = [(group, number) for group, number in wanted if f"{GROUPS[group]}{number:04d}" not in done]
    with open(args.out, "a", newline="") as out, open(refused_file, "a", newline="") as without:
        writer = csv.DictWriter(out, header, extrasaction="ignore", lineterminator="\n")
        why = csv.DictWriter(without, ["id", "why", *contracts.INPUTS[1:]], extrasaction="ignore", lineterminator="\n")
        if fresh:
            writer.writeheader()
        if without.tell() == 0:
            why.writeheader()
        count, waiting, late = 0, [], []

        def solve(rows):
            """Writes what the solver says of some rows."""
            nonlocal count
            try:
                answers = solved(task, rows)
            except subprocess.TimeoutExpired:
                if len(rows) > 1:
                    for row in rows:
                        solve([row])
                    return
                answers = {rows[0]["id"]: {"unsupported": "no answer in time"}}
            for row in rows:
                answer = answers[row["id"]]
                if answer["unsupported"]:
                    refused[answer["unsupported"]] += 1
                    why.writerow(row | {"why": answer["unsupported"]})
                else:
                    writer.writerow(row_with_values(row, answer, names))
            out.flush()
            without.flush()
            if count // 40 < (count + len(rows)) // 40:
                print(f"  {count + len(rows)} of {len(wanted)} rows", file=sys.stderr, flush=True)
            count += len(rows)

        for group, number in wanted:
            row = contract(args.seed, group, number)
            (late if row["divs"].count(";") >= MANY else waiting).append(row)
            if len(waiting) == CHUNK:
                solve(waiting)
                waiting = []
        for row in [*waiting, *sorted(late, key=lambda row: len(row["divs"]))]:
            solve([row])
    for reason, count in refused.items():
        print(f"  no reference for {count}: {reason}", file=sys.stderr)


if __name__ == "__main__":
    main()
