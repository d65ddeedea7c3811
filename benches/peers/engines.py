"""QuantLib's American engines on rows of golden/, one CSV a setting: values and processor time, row by row.

    python engines.py OUT ROWS [--each N]       OUT: folder to fill; ROWS: a CSV file with the columns of golden/

Rows of any time are priced on QuantLib's whole days: time is stretched so that expiry lies DAYS ahead, and rates and
variances shrunk by as much, which changes no value; an ex-date is then off by 1/120,000 of the term at most. Without
dividends the engines are QdFp's three schemes, QD+ and a grid; with them grids with escrowed dividends, which is the
dynamics of docs/model.md. A value that an engine refuses is left blank. Grids of many points price every N-th row only.
"""

import argparse
import csv
import pathlib
import time

import QuantLib as ql

TODAY = ql.Date(20, ql.November, 2026)
DAYS = 60_000
DAY_COUNT = ql.Actual365Fixed()
# steps in time and points in space, and which part of the rows they price
GRIDS = ((100, 200, 1), (400, 800, 2), (1600, 1600, 8))
ROUNDS = 3


class Row:
    """One contract, its time stretched."""

    def __init__(self, row):
        s, k, t, r, b, sigma = (float(row[name]) for name in ("s", "k", "t_years", "r", "b", "sigma"))
        part = t * 365 / DAYS
        self.id, self.s, self.k, self.call = row["id"], s, k, row["right"] == "call"
        self.r, self.b, self.sigma = r * part, b * part, sigma * part**0.5
        pairs = (entry.split(":") for entry in row["divs"].split(";") if entry)
        self.divs = [(max(round(float(at) / t * DAYS), 1), float(amount)) for at, amount in pairs]

    def process(self):
        def curve(rate):
            return ql.YieldTermStructureHandle(ql.FlatForward(TODAY, rate, DAY_COUNT))

        vol = ql.BlackConstantVol(TODAY, ql.NullCalendar(), self.sigma, DAY_COUNT)
        spot = ql.QuoteHandle(ql.SimpleQuote(self.s))
        return ql.BlackScholesMertonProcess(spot, curve(self.b), curve(self.r), ql.BlackVolTermStructureHandle(vol))

    def option(self, engine):
        side = ql.Option.Call if self.call else ql.Option.Put
        made = ql.VanillaOption(ql.PlainVanillaPayoff(side, self.k), ql.AmericanExercise(TODAY, TODAY + DAYS))
        made.setPricingEngine(engine)
        return made


def qdfp(scheme):
    return lambda row: ql.QdFpAmericanEngine(row.process(), scheme)


def qdplus(row):
    return ql.QdPlusAmericanEngine(row.process())


def grid(steps, points):
    def engine(row):
        douglas, escrowed = ql.FdmSchemeDesc.Douglas(), ql.FdBlackScholesVanillaEngine.Escrowed
        if not row.divs:
            return ql.FdBlackScholesVanillaEngine(row.process(), steps, points, 2, douglas)
        dates, amounts = [TODAY + at for at, _ in row.divs], [amount for _, amount in row.divs]
        schedule = ql.DividendVector(dates, amounts)
        return ql.FdBlackScholesVanillaEngine(
            row.process(), schedule, steps, points, 2, douglas, False, -1e300, escrowed
        )

    return engine


def priced(row, engine, with_greeks):
    """Value, delta and gamma where the engine gives them, and the least nanoseconds of some rounds."""
    least, values = float("inf"), ("", "", "")
    for _ in range(1 if with_greeks else ROUNDS):
        option = row.option(engine(row))
        began = time.process_time_ns()
        try:
            value = option.NPV()
            values = (value, option.delta(), option.gamma()) if with_greeks else (value, "", "")
        except RuntimeError:
            pass
        least = min(least, time.process_time_ns() - began)
    return values, least


def write(path, rows, engine, with_greeks):
    names = ["id", "ns", "price", "delta", "gamma"] if with_greeks else ["id", "ns", "price"]
    with open(path, "w", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(names)
        for row in rows:
            values, ns = priced(row, engine, with_greeks)
            out.writerow([row.id, ns, *values][: len(names)])
    print(f"  {path.stem}: {len(rows)} rows", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("rows", type=pathlib.Path)
    parser.add_argument("--each", type=int, default=1, metavar="N", help="every N-th row only")
    args = parser.parse_args()
    ql.Settings.instance().evaluationDate = TODAY
    args.out.mkdir(parents=True, exist_ok=True)
    with open(args.rows, newline="") as file:
        rows = [Row(row) for row in csv.DictReader(file) if row.get("exercise_now") != "1"][:: args.each]
    bare = [row for row in rows if not row.divs]
    name = f"QuantLib_{ql.__version__}"
    if bare:
        engines = {"QdFp_fast": qdfp(ql.QdFpAmericanEngine.fastScheme())}
        engines["QdFp_accurate"] = qdfp(ql.QdFpAmericanEngine.accurateScheme())
        engines["QdFp_high_precision"] = qdfp(ql.QdFpAmericanEngine.highPrecisionScheme())
        engines["QD+"] = qdplus
        for which, engine in engines.items():
            write(args.out / f"{name}_{which}.csv", bare, engine, False)
    for steps, points, each in GRIDS:
        write(args.out / f"{name}_grid_{steps}_x_{points}.csv", rows[::each], grid(steps, points), True)


if __name__ == "__main__":
    main()
