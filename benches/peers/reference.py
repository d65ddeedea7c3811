"""Remakes reference.csv from target/peers/{american,dividends}.csv with the solver that made golden/american_*.csv.

    python3 benches/peers/reference.py SOLVER

SOLVER reads `id phi S K T r b sigma n t1 D1 …` a line and writes CSV with every value. Every sixth contract is solved.
"""

import csv
import pathlib
import subprocess
import sys

from rows import COLUMNS, read

HERE = pathlib.Path(__file__).resolve().parent
OUT = HERE.parent.parent / "target" / "peers"
# nodes, step of the rate bumps
ACCURACY = {"american": ["-h", "0.1", "-f", "96", "-s", "48"], "dividends": ["-h", "0.1", "-f", "72", "-s", "36"]}


def line(o):
    """One contract as the solver reads it."""
    divs = " ".join(f"{t} {amount}" for t, amount in o.divs)
    return f"{o.id} {o.phi} {o.s} {o.k} {o.t} {o.r} {o.b} {o.sigma} {len(o.divs)} {divs}\n"


def main(solver):
    with open(HERE / "reference.csv", "w", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(["class", "id", *COLUMNS])
        for klass, options in ACCURACY.items():
            contracts = [o for o in read(OUT / f"{klass}.csv")[0] if o.id % 6 == 2]
            asked = "".join(map(line, contracts))
            done = subprocess.run([solver, *options], input=asked, capture_output=True, text=True, check=True)
            for row in csv.DictReader(done.stdout.splitlines()):
                out.writerow([klass, row["id"], *(row[name] and f"{float(row[name]):.12g}" for name in COLUMNS)])


if __name__ == "__main__":
    main(sys.argv[1])
