"""Converts files of `greeksd batch --quotes` to LEAN's (QuantConnect) option universe files, one per root and day.

    python tests/lean/recipe.py OUT DATA

DATA is LEAN's data folder: files go to `option/usa/universes/spy/20240103.csv`, those of index options to
`indexoption/usa/universes/spx/20240103.csv`. A file has the chain of its day, and LEAN shows it to an algorithm on the
next one. Prices are the middles of quotes, else theoretical values: of a day with several snapshots open, high, low and
close. Vega and rho are per 1 %, theta per calendar day.
"""

import pathlib
import sys

import pandas as pd

HEADER = "#expiry,strike,right,open,high,low,close,volume,open_interest,implied_volatility,delta,gamma,vega,theta,rho"
GREEKS = ["svc_vol", "delta", "gamma", "vega", "theta", "rho"]


def folder_of(root, is_index):
    """Where LEAN looks for the universe of a root; roots of an index have folders of their own (`spx`, `spxw`)."""
    return pathlib.PurePosixPath("indexoption" if is_index else "option", "usa", "universes", root.lower())


def number(value, decimals=7):
    """A number as LEAN's decimals: plain digits; empty for a missing one."""
    if pd.isna(value):
        return ""
    text = f"{value:.{decimals}f}"
    return text.rstrip("0").rstrip(".") if decimals else text


def bars(rows, prices):
    """Open, high, low and close of each contract, rows in the order of time."""
    return prices.groupby([rows.expiry, rows.strike, rows.right], observed=True).agg(["first", "max", "min", "last"])


def lines(rows):
    """The lines of one root and day: header, the underlying, then contracts by expiration, right and strike."""
    rows = rows.sort_values("quote_time", kind="stable")
    spots = rows.groupby("quote_time").und_price.first()
    spot = [number(value, 4) for value in [spots.iloc[0], spots.max(), spots.min(), spots.iloc[-1]]]
    yield HEADER
    yield f",,,{','.join(spot)},0,,,,,,,"
    two_sided = rows.mid.where((rows.bid > 0) & (rows.ask > 0))
    of_contract = bars(rows, two_sided.fillna(rows.svc_theo))
    last = rows.drop_duplicates(["expiry", "strike", "right"], keep="last")
    for row in last.sort_values(["expiry", "right", "strike"]).itertuples():
        prices = [number(value, 4) for value in of_contract.loc[(row.expiry, row.strike, row.right)]]
        counts = [number(row.volume, 0) or "0", number(row.open_interest, 0)]
        greeks = [number(getattr(row, name)) for name in GREEKS]
        side = "C" if row.right == "call" else "P"
        yield ",".join([f"{row.expiry:%Y%m%d}", number(row.strike, 3), side, *prices, *counts, *greeks])


def convert(folder, data):
    """Writes the files, and returns their paths by root and day."""
    written = {}
    rows = pd.read_parquet(folder)
    rows["root"], rows["right"] = rows.root.astype(str), rows.right.astype(str)
    for (root, day), of_day in rows.groupby(["root", "quote_date"], sort=True):
        is_index = (of_day.ex_style.astype(str) == "european").any()
        path = pathlib.Path(data, folder_of(root, is_index), f"{day:%Y%m%d}.csv")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(lines(of_day)) + "\n")
        written[root, day] = path
    return written


if __name__ == "__main__":
    convert(*sys.argv[1:3])
