"""Makes every golden file again from its own input columns, or compares what it would make with what is there.

    python3 golden/make/remake.py                 writes golden/*.csv
    python3 golden/make/remake.py --check         writes nothing; exit code 1 and a list where a value differs

`just golden-remake` and `just golden-check` install requirements.txt and call it. Needs cargo. Inputs, notes, and which
rows there are come from the files; every value is computed: European ones here, American ones by golden/make/american.
"""

import argparse
import math
import multiprocessing
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from mpmath import mpf, nstr

import contracts
import european

ROOT = contracts.GOLDEN.parent
SOLVER = ROOT / "golden/make/american"
TARGET = ROOT / "target/golden"
AMERICAN = [
    "price", "delta", "gamma", "speed", "vega", "volga", "ultima", "vanna", "zomma", "theta", "charm", "color", "veta",
    "rho", "vera", "epsilon", "lambda", "dual_delta", "dual_gamma",
]  # fmt: skip


def say(text):
    print(text, file=sys.stderr, flush=True)


def american(task, rows, jobs):
    """The solver's answer for each row, by id."""
    program = TARGET / "release" / ("american-reference.exe" if os.name == "nt" else "american-reference")
    with tempfile.TemporaryDirectory() as folder:
        asked = Path(folder) / "rows.csv"
        contracts.write(asked, list(rows[0]), rows)
        with open(asked) as rows_in, open(Path(folder) / "values.csv", "w") as values_out:
            command = [program, task, "--threads", str(jobs)]
            subprocess.run(command, stdin=rows_in, stdout=values_out, check=True)
        found = {row["id"]: row for row in contracts.read(values_out.name)[1]}
    refused = [f"{name}: {row['unsupported']}" for name, row in found.items() if row["unsupported"]]
    if refused:
        raise ValueError("no value for " + "; ".join(refused))
    return found


def normal(names, rows, jobs):
    """golden/normal.csv, by its own program."""
    program = contracts.GOLDEN / "make/normal.py"
    text = subprocess.run([sys.executable, program], capture_output=True, check=True, text=True).stdout
    header, *lines = text.splitlines()
    return [dict(zip(header.split(","), line.split(","))) for line in lines]


def europeans(names, rows, jobs):
    """golden/european.csv."""
    made, worst = [], 0
    with multiprocessing.Pool(jobs) as pool:
        for row, differ in pool.imap(european.remade, rows, chunksize=5):
            made.append(row)
            worst = max(worst, differ)
            if len(made) % 50 == 0:
                say(f"  {len(made)} of {len(rows)} rows")
    say(f"  differences and formulas agree to {worst:.0e}")
    return made


def with_greeks(names, rows, jobs):
    """golden/american_nodiv.csv and american_div.csv: every value with its error."""
    found = american("greeks", rows, jobs)
    made = []
    for row in rows:
        values, sizes, black = found[row["id"]], contracts.sizes(row), european.by_formulas(european.Contract(row))
        new = dict(row) | {name: nstr(black[name], 16) for name in ("d1", "d2", "fwd")}
        new["exercise_now"] = values["exercise_now"]
        for name in AMERICAN:
            value, error = float(values[name]), float(values[f"{name}_err"])
            new[name], new[f"{name}_err"] = contracts.with_error(value, error, sizes[name])
        made.append(new)
    return made


def core(names, rows, jobs):
    """golden/interest.csv, unresolved.csv and corners.csv: price, delta and gamma, and where there are such columns their errors and
    the boundary."""
    found = american("prices", rows, jobs)
    made = []
    for row in rows:
        values, new = found[row["id"]], dict(row)
        for name in ("price", "delta", "gamma"):
            value, error = float(values[name]), float(values[f"{name}_err"])
            new[name] = contracts.rounded(value, error) if error else f"{value:.15g}"
            new[f"{name}_err"] = f"{error:.1e}" if error else "0"
        boundary = float(values["boundary"])
        new["boundary"] = "nan" if math.isnan(boundary) else f"{boundary:.9g}"
        made.append(new)
    return made


def volatilities(names, rows, jobs):
    """golden/iv.csv: what a price implies, or why nothing."""
    asked = [row for row in rows if row["style"] == "american"]
    found = american("volatilities", asked, jobs)
    others = [row for row in rows if row["style"] == "european"]
    with multiprocessing.Pool(jobs) as pool:
        implied = dict(zip((row["id"] for row in others), pool.map(european.implied, others, chunksize=2)))
    made = []
    for row in rows:
        new = dict(row) | {"sigma": "", "vega": "", "sigma_err": ""}
        if row["style"] == "american":
            values = found[row["id"]]
            new["status"] = values["status"]
            if new["status"] == "ok":
                error = float(values["sigma_err"])
                new["sigma"], new["sigma_err"] = contracts.rounded(float(values["sigma"]), error), f"{error:.1e}"
                new["vega"] = f"{float(values['vega']):.10g}"
        else:
            new["status"], sigma, vega = implied[row["id"]]
            if new["status"] == "ok":
                # The price is exact; this is what its last binary digit is worth.
                error = mpf(2) ** -52 * (abs(mpf(float(row["price"]))) / (100 * vega) + sigma)
                new["sigma"], new["vega"], new["sigma_err"] = nstr(sigma, 17), nstr(vega, 10), f"{float(error):.1e}"
        made.append(new)
    return made


FILES = {
    "normal.csv": normal,
    "european.csv": europeans,
    "american_nodiv.csv": with_greeks,
    "american_div.csv": with_greeks,
    "interest.csv": core,
    "unresolved.csv": core,
    "corners.csv": core,
    "iv.csv": volatilities,
}


def differences(names, there, made):
    """Where a value there is not the one made: further off than both errors, or another word."""
    out = []
    for old, new in zip(there, made, strict=True):
        for name in names:
            if old[name] == new[name] or name.endswith("_err") or "" in (old[name], new[name]):
                continue  # whether an error is small enough to give the value may turn on the last digit
            try:
                gap, size = abs(float(old[name]) - float(new[name])), abs(float(old[name]))
            except ValueError:
                gap, size = math.inf, 0
            error = float(new.get(f"{name}_err") or 0)
            allowed = float(old.get(f"{name}_err") or error) + error
            if name == "boundary":
                allowed = 1e-7 * size
            elif name in ("vega", "d1", "d2", "fwd") and not allowed:
                allowed = 1e-9 * size if name == "vega" else 2e-15 * max(size, 1)
            if not gap <= allowed:
                out.append(f"{old.get('id', old[names[0]])} {name}: {old[name]}, made again {new[name]}")
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", metavar="FILE", help="only these, as american_div.csv (default: all)")
    parser.add_argument("--check", action="store_true", help="compare with the files there and write nothing")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="cores to use (default: all)")
    args = parser.parse_args()
    unknown = set(args.files) - set(FILES)
    if unknown:
        parser.error(f"{', '.join(sorted(unknown))}: not made here; these are: {', '.join(FILES)}")

    build = ["cargo", "build", "--release", "--locked", "--quiet", "--manifest-path", SOLVER / "Cargo.toml"]
    subprocess.run([*build, "--target-dir", TARGET], check=True)
    failed = 0
    for file in args.files or FILES:
        say(file)
        path = contracts.GOLDEN / file
        names, there = contracts.read(path)
        made = FILES[file](names, there, args.jobs)
        if not args.check:
            contracts.write(path, names, made)
            continue
        wrong = differences(names, there, made)
        failed += len(wrong)
        for line in wrong:
            print(f"{file}: {line}")
        say(f"  {len(there)} rows, {len(wrong)} values differ")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
