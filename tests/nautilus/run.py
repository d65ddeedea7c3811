#!/usr/bin/env python3
"""Files of `greeksd batch --quotes` in a catalog of NautilusTrader (`recipe.py`), read back by its own loaders.

usage: run.py [--greeksd PATH]

Every contract, every quote with two sides and every row of Greeks must come back with the numbers of the files. Makes a
Python environment of its own in target/nautilus-venv.
"""
import pathlib, subprocess, sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(ROOT / "tests"))
import environment


def read_back(greeksd, folder):
    import pandas as pd
    import recipe
    from nautilus_trader.model.greeks_data import GreeksData

    environment.made_up_market(greeksd, folder / "made", "--names", "KO", "--days", 3)
    out = folder / "greeks"
    batch = [greeksd, "batch", folder / "made", "--output", out, "--quotes"]
    subprocess.run(batch, check=True, capture_output=True)
    catalog = recipe.convert(out, folder / "catalog")

    rows = pd.read_parquet(out)
    rows["name"] = rows.osym.str.replace(" ", "") + ".OPRA"
    rows["ts"] = rows.quote_time.dt.as_unit("ns").astype("int64")
    contracts = {str(one.id): one for one in catalog.instruments()}
    assert set(contracts) == set(rows.name), "contracts"
    strikes = dict(zip(rows.name, rows.strike))
    assert all(float(one.strike_price) == strikes[name] for name, one in contracts.items()), "strikes"

    quotes = {(str(one.instrument_id), one.ts_event): one for one in catalog.quote_ticks()}
    quoted = rows[(rows.bid > 0) & (rows.ask > 0)]
    assert len(quotes) == len(quoted) > 0, "quotes"
    for row in quoted.itertuples():
        one = quotes[row.name, row.ts]
        assert (float(one.bid_price), float(one.ask_price)) == (row.bid, row.ask), row
        assert (float(one.bid_size), float(one.ask_size)) == (row.bid_size, row.ask_size), row

    greeks = {(str(one.data.instrument_id), one.data.ts_event): one.data for one in catalog.custom_data(GreeksData)}
    computed = rows[rows.delta.notna()]
    assert len(greeks) == len(computed) > 0, "rows of Greeks"
    for row in computed.itertuples():
        one = greeks[row.name, row.ts]
        shown = (one.delta, one.gamma, one.vega, one.theta, one.vol, one.price)
        assert shown == (row.delta, row.gamma, row.vega, row.theta, row.svc_vol, row.svc_theo), row
    print(f"NautilusTrader: {len(contracts)} contracts, {len(quotes)} quotes, {len(greeks)} rows of Greeks")


if __name__ == "__main__":
    environment.run(read_back, "nautilus-venv", HERE / "requirements.txt", __doc__)
