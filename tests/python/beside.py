#!/usr/bin/env python3
"""A chain by greeksd, py_vollib and QuantLib: processor time, contracts a second, and how far apart they are.

usage: beside.py CHAIN.csv[.gz] [--dividends FILE] [--rates FILE] [--sample N]

CHAIN has the columns of docs/history.md, one snapshot of one name. greeksd calibrates forwards and curves itself and gives all
Greeks; the others are handed the spot, rate, borrow and dividends that greeksd found, and solve each contract's own volatility
from the middle of its quote: py_vollib as if exercise were European and dividends continuous, then five Greeks; QuantLib by its
Fd engine (American, 200 by 200) or its analytic one (European), then delta, gamma and theta, on every Nth contract where
--sample says so. One thread each.
Needs py_vollib, QuantLib and pandas beside greeksd.
"""
import argparse, math, pathlib, statistics, time

import pandas as pd

import greeksd


def greeksd_of(frame, given):
    given_data = {"dividends": given.dividends or [], "rates": given.rates, "show_quotes": True}
    best = math.inf
    for _ in range(3):
        began = time.process_time()
        result = greeksd.greeks(frame, threads=1, **given_data)
        best = min(best, time.process_time() - began)
    return best, result


def solvable(chain):
    """Contracts whose middle price implies a volatility: both sides quoted, worth more than exercise."""
    sign = chain.right.map({"call": 1.0, "put": -1.0}).astype(float)
    exercise = (sign * (chain.und_price - chain.strike)).clip(lower=0.0)
    return chain[(chain.bid > 0) & (chain.mid > exercise * 1.001 + 0.01) & (chain.days > 0.5)]


def py_vollib_of(chain):
    from py_vollib.black_scholes_merton.greeks.analytical import delta, gamma, rho, theta, vega
    from py_vollib.black_scholes_merton.implied_volatility import implied_volatility

    out, began = {}, time.process_time()
    for row in chain.itertuples():
        t, flag = row.days / 365, row.right[0]
        # what takes the spot to the forward, as one yield
        q = row.disc_rate - math.log(row.fwd_price / row.und_price) / t
        try:
            sigma = implied_volatility(row.mid, row.und_price, row.strike, t, row.disc_rate, q, flag)
            at = (flag, row.und_price, row.strike, t, row.disc_rate, sigma, q)
            out[row.Index] = (sigma, delta(*at), gamma(*at), vega(*at), theta(*at), rho(*at))
        except Exception:
            # below the European value of any volatility, as early exercise makes some
            continue
    return time.process_time() - began, out


def quantlib_of(chain, dividends):
    import QuantLib as ql

    today = ql.Date(1, 1, 2030)
    ql.Settings.instance().evaluationDate = today
    count = ql.Actual365Fixed()
    out, began = {}, time.process_time()
    for row in chain.itertuples():
        # an integral number of days is what a date can say
        days = max(1, round(row.days))
        ends = today + days
        flat = lambda rate: ql.YieldTermStructureHandle(ql.FlatForward(today, rate, count))
        spot = ql.QuoteHandle(ql.SimpleQuote(row.und_price))
        vol = ql.BlackVolTermStructureHandle(ql.BlackConstantVol(today, ql.NullCalendar(), 0.3, count))
        process = ql.BlackScholesMertonProcess(spot, flat(row.borr_rate), flat(row.disc_rate), vol)
        payoff = ql.PlainVanillaPayoff(ql.Option.Call if row.right == "call" else ql.Option.Put, row.strike)
        cash = [ql.FixedDividend(amount, today + when) for when, amount in dividends if 0 < when <= days]
        try:
            if row.ex_style == "european":
                option = ql.VanillaOption(payoff, ql.EuropeanExercise(ends))
                engine = lambda process: ql.AnalyticEuropeanEngine(process)
            else:
                option = ql.VanillaOption(payoff, ql.AmericanExercise(today, ends))
                engine = lambda process: ql.FdBlackScholesVanillaEngine(process, cash, 200, 200)
            sigma = option.impliedVolatility(row.mid, process, cash, 1e-6, 100, 0.01, 8.0) if cash else option.impliedVolatility(row.mid, process, 1e-6, 100, 0.01, 8.0)
            vol = ql.BlackVolTermStructureHandle(ql.BlackConstantVol(today, ql.NullCalendar(), sigma, count))
            option.setPricingEngine(engine(ql.BlackScholesMertonProcess(spot, flat(row.borr_rate), flat(row.disc_rate), vol)))
            out[row.Index] = (sigma, option.delta(), option.gamma(), math.nan, option.theta() / 365, math.nan)
        except RuntimeError:
            continue
    return time.process_time() - began, out


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("chain", type=pathlib.Path)
    parser.add_argument("--dividends", type=pathlib.Path)
    parser.add_argument("--rates", type=pathlib.Path)
    parser.add_argument("--sample", type=int, default=1)
    given = parser.parse_args()
    frame = pd.read_csv(given.chain)
    seconds, result = greeksd_of(frame, given)
    print(f"greeksd    {seconds:8.3f} s {len(result):7,} contracts {len(result) / seconds:12,.0f} a second   all Greeks, calibrated, American with dividends")
    chain = solvable(result.to_pandas())
    some = chain.iloc[:: given.sample]
    dividends = []
    if given.dividends:
        table = pd.read_csv(given.dividends, parse_dates=["ex_date"])
        day = chain.quote_date.iloc[0]
        own = table[(table.underlying == chain.underlying.iloc[0]) & (table.ex_date > day)]
        dividends = [((row.ex_date - day).days, float(row.amount)) for row in own.itertuples()]
    for name, (seconds, found), among in [("py_vollib", py_vollib_of(chain), chain), ("QuantLib", quantlib_of(some, dividends), some)]:
        rows = among.loc[list(found)]
        apart = [abs(found[i][1] - rows.delta[i]) for i in rows.index]
        print(f"{name:10} {seconds:8.3f} s {len(among):7,} contracts {len(among) / seconds:12,.0f} a second   {len(found):,} solved; delta within "
              f"{statistics.median(apart):.4f} (median) of greeksd's")


if __name__ == "__main__":
    main()
