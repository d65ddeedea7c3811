"""Remakes reference.csv from target/peers/{american,dividends}.csv with the solver of golden/make/american.

    cargo build --release --manifest-path golden/make/american/Cargo.toml --target-dir target/golden
    python3 benches/peers/reference.py

Every sixth contract is solved.
"""

import csv
import pathlib
import subprocess

from rows import COLUMNS, read

HERE = pathlib.Path(__file__).resolve().parent
OUT = HERE.parent.parent / "target" / "peers"
SOLVER = HERE.parent.parent / "target" / "golden" / "release" / "american-reference"


def line(o):
    """One contract as the solver reads it."""
    divs = ";".join(f"{t}:{amount}" for t, amount in o.divs)
    return f"{o.id},{'call' if o.phi > 0 else 'put'},{o.s},{o.k},{o.t},{o.r},{o.b},{o.sigma},{divs}\n"


def main():
    with open(HERE / "reference.csv", "w", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(["class", "id", *COLUMNS])
        for klass in ("american", "dividends"):
            contracts = [o for o in read(OUT / f"{klass}.csv")[0] if o.id % 6 == 2]
            asked = "id,right,s,k,t_years,r,b,sigma,divs\n" + "".join(map(line, contracts))
            done = subprocess.run([SOLVER, "greeks"], input=asked, capture_output=True, text=True, check=True)
            for row in csv.DictReader(done.stdout.splitlines()):
                known = (row[name] not in ("", "NaN") for name in COLUMNS)
                values = (f"{float(row[name]):.12g}" if ok else "" for name, ok in zip(COLUMNS, known))
                out.writerow([klass, row["id"], *values])


if __name__ == "__main__":
    main()
