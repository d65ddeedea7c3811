#!/usr/bin/env python3
"""Files of `greeksd batch --quotes` as option universe files of LEAN (`recipe.py`), read back by the columns that LEAN reads.

usage: run.py [--greeksd PATH]

LEAN's engine is no package of a registry, so the reader below is written from the columns of its sources: `OptionUniverse`
takes expiry, strike and right, and then by place open, high, low, close, volume, open interest, implied volatility and the
five Greeks as decimals; a line without expiry is the underlying. Every number must be that of the files of Greeks, to the
seventh decimal. Makes a Python environment of its own in target/lean-venv.
"""
import datetime, decimal, pathlib, subprocess, sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(ROOT / "tests"))
import environment

PLACES = ["open", "high", "low", "close", "volume", "open_interest", "implied_volatility", "delta", "gamma", "vega", "theta", "rho"]


def read(path):
    """The underlying and the contracts of a file, as LEAN reads it: (expiry, strike, right) to numbers."""
    underlying, contracts = None, {}
    for line in path.read_text().splitlines():
        if line.startswith("#"):
            continue
        expiry, strike, right, *rest = line.split(",")
        # an empty decimal is zero
        numbers = dict(zip(PLACES, [decimal.Decimal(text or 0) for text in rest], strict=True))
        if not expiry:
            underlying = numbers
            continue
        key = datetime.datetime.strptime(expiry, "%Y%m%d").date(), decimal.Decimal(strike), right
        assert right in "CP" and key not in contracts, line
        contracts[key] = numbers
    return underlying, contracts


def read_back(greeksd, folder):
    import pandas as pd
    import recipe

    quotes = environment.made_up_market(greeksd, folder / "made", "--names", "KO,SPX", "--days", 2, "--every", "1h")
    out = folder / "greeks"
    subprocess.run([greeksd, "batch", quotes, "--output", out, "--quotes"], check=True, capture_output=True)
    files = recipe.convert(out, folder / "data")
    names = sorted(str(path.relative_to(folder / "data").parent) for path in files.values())
    assert set(names) == {"option/usa/universes/ko", "indexoption/usa/universes/spx", "indexoption/usa/universes/spxw"}, names

    rows = pd.read_parquet(out)
    compared = 0
    for (root, day), path in files.items():
        underlying, contracts = read(path)
        of_day = rows[(rows.root == root) & (rows.quote_date == day)].sort_values("quote_time", kind="stable")
        close = of_day.und_price.iloc[-1]
        assert abs(float(underlying["close"]) - close) < 1e-4 and underlying["high"] >= underlying["low"], (root, day)
        last = of_day.drop_duplicates(["expiry", "strike", "right"], keep="last")
        assert len(contracts) == len(last) > 0, (root, day, len(contracts), len(last))
        for row in last.itertuples():
            key = row.expiry, decimal.Decimal(str(row.strike)), "C" if row.right == "call" else "P"
            numbers = contracts[key]
            for place, column in [("implied_volatility", "svc_vol"), *[(greek, greek) for greek in PLACES[7:]]]:
                own = getattr(row, column)
                assert abs(float(numbers[place]) - (0 if pd.isna(own) else own)) <= 0.51e-7, (root, day, key, place)
            mid = row.mid if row.bid > 0 and row.ask > 0 else row.svc_theo
            assert abs(float(numbers["close"]) - mid) <= 0.51e-4, (root, day, key)
            assert numbers["low"] <= min(numbers["open"], numbers["close"]) <= numbers["high"], key
            assert int(numbers["volume"]) == row.volume and int(numbers["open_interest"]) == row.open_interest, key
            compared += 1
    print(f"LEAN: {len(files)} universe files, {compared} contracts")


if __name__ == "__main__":
    environment.run(read_back, "lean-venv", HERE / "requirements.txt", __doc__)
