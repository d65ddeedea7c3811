"""Converts files of `greeksd batch --quotes` to a catalog of NautilusTrader: contracts, their quotes, and their Greeks.

    python tests/nautilus/recipe.py OUT CATALOG
"""

import sys

import pandas as pd
from nautilus_trader.model.currencies import USD
from nautilus_trader.model.data import QuoteTick
from nautilus_trader.model.enums import AssetClass, OptionKind
from nautilus_trader.model.greeks_data import GreeksData
from nautilus_trader.model.identifiers import InstrumentId, Symbol
from nautilus_trader.model.instruments import OptionContract
from nautilus_trader.model.objects import Price, Quantity
from nautilus_trader.persistence.catalog import ParquetDataCatalog


def contract(row, first, settles):
    """A contract of 100 shares. Premiums may be priced in cents."""
    name = row.osym.replace(" ", "")
    return OptionContract(
        instrument_id=InstrumentId.from_str(f"{name}.OPRA"),
        raw_symbol=Symbol(name),
        asset_class=AssetClass.EQUITY,
        currency=USD,
        price_precision=2,
        price_increment=Price.from_str("0.01"),
        multiplier=Quantity.from_int(100),
        lot_size=Quantity.from_int(1),
        underlying=row.underlying,
        option_kind=OptionKind.CALL if row.right == "call" else OptionKind.PUT,
        strike_price=Price(row.strike, 3),
        activation_ns=first,
        expiration_ns=settles,
        ts_event=first,
        ts_init=first,
    )


def greeks(row, instrument, ts):
    """Its Greeks in the units of the daemon: vega per 0.01 of volatility, theta per day."""
    return GreeksData(
        ts,
        ts,
        instrument_id=instrument.id,
        is_call=row.right == "call",
        strike=row.strike,
        expiry=int(f"{row.expiry:%Y%m%d}"),
        expiry_in_days=round(row.days),
        expiry_in_years=row.days / 365,
        multiplier=100.0,
        quantity=1.0,
        underlying_price=row.und_price,
        interest_rate=row.disc_rate,
        cost_of_carry=row.disc_rate - row.borr_rate,
        vol=row.svc_vol,
        price=row.svc_theo,
        delta=row.delta,
        gamma=row.gamma,
        vega=row.vega,
        theta=row.theta,
    )


def convert(folder, catalog):
    """Writes a catalog and returns it."""
    rows = pd.read_parquet(folder).sort_values(["osym", "quote_time"])
    written, all_greeks = ParquetDataCatalog(catalog), []
    for _, of_contract in rows.groupby("osym", sort=True):
        times = [int(time.value) for time in of_contract.quote_time.dt.as_unit("ns")]
        last = of_contract.iloc[-1]
        settles = times[-1] + round(last.days * 86_400e9)
        instrument = contract(last, times[0], settles)
        quotes = []
        for row, ts in zip(of_contract.itertuples(), times, strict=True):
            if pd.notna(row.delta):
                all_greeks.append(greeks(row, instrument, ts))
            if row.bid > 0 and row.ask > 0:  # a quote of Nautilus has both sides
                sides = Price(row.bid, 2), Price(row.ask, 2), Quantity(row.bid_size, 0), Quantity(row.ask_size, 0)
                quotes.append(QuoteTick(instrument.id, *sides, ts, ts))
        written.write_data([instrument])
        if quotes:
            written.write_data(quotes)
    written.write_data(sorted(all_greeks, key=lambda one: one.ts_init))
    return written


if __name__ == "__main__":
    convert(*sys.argv[1:3])
