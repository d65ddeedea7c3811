"""Makes reference.csv from what the solver of golden/make/american says about the contracts that are drawn.

    python3 benches/maps/reference.py --rows CONTRACTS              prints contracts as the solver reads them
    python3 benches/maps/reference.py RESULT…                       writes reference.csv
    python3 benches/maps/reference.py --near CONTRACTS RESULT…      prints more contracts: the same, near the boundary

A value is left blank where its estimated error is above 1e-4 of it and not negligible.
"""

import csv
import math
import pathlib
import sys

# ids of contracts near the boundary begin here
NEAR = 10_000
VALUES = "price delta gamma vega theta rho vanna charm speed zomma color ultima".split()


def shown(row, name):
    """A value of a row, as it is kept."""
    if row[name] in ("", "NaN"):
        return ""
    value, error = float(row[name]), float(row[f"{name}_err"])
    known = error <= max(1e-4 * abs(value), 1e-9)
    return f"{value:.9g}" if known else ""


def rows_of(results):
    """The rows that the solver could do, by id."""
    rows = [row for result in results for row in csv.DictReader(open(result, newline="")) if not row["unsupported"]]
    return sorted(rows, key=lambda row: int(row["id"]))


def rows(contracts):
    """Contracts, a line `id phi S K T r b sigma n t1 D1 …` each, as CSV with the columns of golden/."""
    print("id,right,s,k,t_years,r,b,sigma,divs")
    for line in open(contracts):
        name, phi, *numbers = line.split()
        pairs = numbers[7:]
        divs = ";".join(f"{t}:{amount}" for t, amount in zip(pairs[::2], pairs[1::2]))
        print(",".join([name, "call" if float(phi) > 0 else "put", *numbers[:6], divs]))


def near(contracts, results):
    """The contracts that have an exercise boundary now, with the spot 0.005 to 0.5 standard deviations from it."""
    lines = {line.split()[0]: line.split() for line in open(contracts)}
    for row in rows_of(results):
        boundary = float(row["boundary"])
        if not (math.isfinite(boundary) and boundary > 0 and row["id"] in lines):
            continue
        cells = lines[row["id"]]
        phi, t, sigma = float(cells[1]), float(cells[4]), float(cells[7])
        distance = 0.005 * 100 ** (int(row["id"]) * 0.618034 % 1)
        spot = boundary * math.exp(-phi * distance * sigma * math.sqrt(t))
        print(NEAR + int(row["id"]), cells[1], f"{spot:.6g}", *cells[3:])


def main(results):
    path = pathlib.Path(__file__).resolve().parent / "reference.csv"
    with open(path, "w", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(["id", "s", "exercise_now", "boundary", *VALUES])
        for row in rows_of(results):
            boundary = float(row["boundary"])
            kept = f"{boundary:.6g}" if math.isfinite(boundary) and boundary > 0 else ""
            spot = f"{float(row['lambda']) * float(row['price']) / float(row['delta']):.6g}"
            out.writerow([row["id"], spot, row["exercise_now"], kept, *(shown(row, name) for name in VALUES)])


if __name__ == "__main__":
    if sys.argv[1] == "--rows":
        rows(sys.argv[2])
    elif sys.argv[1] == "--near":
        near(sys.argv[2], sys.argv[3:])
    else:
        main(sys.argv[1:])
