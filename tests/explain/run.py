#!/usr/bin/env python3
"""Values American contracts with QuantLib from nothing but what `greeksd explain` prints, and compares with what is served.

usage: run.py [--greeksd PATH] [--contracts N]

The daemon serves the simulated market at a fixed clock. QuantLib's finite differences with escrowed dividends
(FdBlackScholesVanillaEngine) know days only; so time is stretched to DAYS days, and rates and volatility shrink with it:
a value depends on r·t, b·t and sigma²·t alone. Makes a Python environment of its own in target/explain-venv. Exit code 1 where
a value, delta or gamma is further off than the tolerances below.
"""
import argparse, math, pathlib, sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import environment
from daemon import PROGRAM, Daemon, knows_all

NOW = "2026-11-20T15:42:07.318-05:00"
NAMES = ["KO", "T", "AAPL", "AMZN", "SPY", "BYND"]  # dividends, none, and dear to borrow
DAYS = 20_000  # an ex-date is rounded to a twenty-thousandth of the term
STEPS, NODES = 800, 1200
# of the strike; of 1; and of the gamma at the money
TOLERANCE = {"svc_theo": 5e-5, "delta": 2e-4, "gamma": 1e-3}


def american(x, finer=1):
    """Value, delta and gamma by QuantLib, with so many times the usual steps and nodes."""
    import QuantLib as ql

    c, sigma, spot, strike = x["carry"], x["volatility"]["svc_vol"], x["spot"]["used"], x["contract"]["strike"]
    t = c["t_years"]
    shrink = t / (DAYS / 365)
    today = ql.Date(1, 1, 2020)
    ql.Settings.instance().evaluationDate = today
    days = ql.Actual365Fixed()
    flat = lambda rate: ql.YieldTermStructureHandle(ql.FlatForward(today, rate * shrink, days))
    vol = ql.BlackConstantVol(today, ql.NullCalendar(), sigma * math.sqrt(shrink), days)
    quote = ql.QuoteHandle(ql.SimpleQuote(spot))
    process = ql.BlackScholesMertonProcess(quote, flat(c["borrow"]), flat(c["rate"]), ql.BlackVolTermStructureHandle(vol))
    payoff = ql.PlainVanillaPayoff(ql.Option.Call if x["contract"]["right"] == "call" else ql.Option.Put, strike)
    option = ql.VanillaOption(payoff, ql.AmericanExercise(today, today + DAYS))
    place = lambda d: min(DAYS, max(1, round(d["t_years"] / t * DAYS)))
    dividends = ql.DividendVector([today + place(d) for d in c["dividends"]], [d["amount"] for d in c["dividends"]])
    # Spot is the default: there volatility is that of the spot with its dividends
    escrowed = ql.FdBlackScholesVanillaEngine.Escrowed
    none = -sys.float_info.max
    scheme = ql.FdmSchemeDesc.Douglas()
    steps, nodes = finer * STEPS, finer * NODES
    engine = ql.FdBlackScholesVanillaEngine(process, dividends, steps, nodes, 0, scheme, False, none, escrowed)
    option.setPricingEngine(engine)
    return {"svc_theo": option.NPV(), "delta": option.delta(), "gamma": option.gamma()}


def drawn(daemon, name, n):
    """About n contracts of a name, over all its expiries and strikes with a value."""
    rows = daemon.json(f"/l1/greeks?underlying={name}&greeks=core,chain")
    rows = [r for r in rows if r["ex_style"] == "american" and r.get("svc_theo") and 0.02 < abs(r["delta"]) < 0.98 and r["days"] > 3]
    return [r["osym"].replace(" ", "") for r in rows[:: max(1, len(rows) // n)]]


def main():
    parser = argparse.ArgumentParser(description=__doc__.strip().split("\n")[0])
    parser.add_argument("--greeksd", default=PROGRAM, type=pathlib.Path)
    parser.add_argument("--contracts", default=300, type=int)
    wanted = parser.parse_args()
    environment.enter("explain-venv", pathlib.Path(__file__).with_name("requirements.txt"))
    worst, failed, n = {}, 0, 0
    still = ["--feed", "sim", "--now", NOW, "--log-level", "error"]
    with Daemon(wanted.greeksd, *still, until=knows_all) as daemon:
        for name in NAMES:
            for osym in drawn(daemon, name, wanted.contracts // len(NAMES)):
                x = daemon.json(f"/l1/explain?osym={osym}")
                by = american(x)
                t, sigma, spot = x["carry"]["t_years"], x["volatility"]["svc_vol"], x["spot"]["used"]
                size = {"svc_theo": x["contract"]["strike"], "delta": 1.0, "gamma": 0.4 / (spot * sigma * math.sqrt(t))}
                n += 1
                far = lambda greek: abs(by[greek] - x["values"]["served"][greek]) / size[greek]
                if not all(far(greek) <= tolerance for greek, tolerance in TOLERANCE.items()):
                    # the grid's own error, of first order in its steps: 1e-4 of the strike where borrow is 50 % a year
                    finer = american(x, 2)
                    by = {greek: 2 * finer[greek] - by[greek] for greek in by}
                for greek, tolerance in TOLERANCE.items():
                    off = far(greek)
                    worst[greek] = max(worst.get(greek, (0, "")), (off, osym))
                    if not off <= tolerance:
                        failed += 1
                        print(f"FAIL {osym} {greek}: served {x['values']['served'][greek]:.8f}, QuantLib {by[greek]:.8f} ({x['early_exercise']['method']})")
    for greek, (off, osym) in worst.items():
        print(f"ok   {greek}: off by {off:.1e} at most ({osym}), {TOLERANCE[greek]:.0e} allowed")
    print(f"{n} contracts, {failed} numbers beyond their tolerance")
    sys.exit(1 if failed or n < 100 else 0)


if __name__ == "__main__":
    main()
