"""European peers: each prices the whole chain, as it likes to be called."""

import csv
import math
import subprocess

import mpmath
import numpy as np
from rows import Answer, best, by_column

# arrays of this many chains, so that what a call costs once does not count
COPIES = 100


def arrays(contracts, copies=1):
    columns = [[getattr(o, name) for o in contracts] for name in ("s", "k", "t", "r", "sigma", "b")]
    return [np.tile(np.array(column), copies) for column in columns]


def answer(contracts, columns):
    """Values by column and contract from arrays."""
    return {name: dict(zip((o.id for o in contracts), map(float, column))) for name, column in columns.items()}


def fast_vollib(contracts):
    import fast_vollib as fv

    flags = np.array(["c" if o.call else "p" for o in contracts])
    how = {"model": "black_scholes_merton", "return_as": "dict", "backend": "numpy"}

    def greeks(flag, of):
        s, k, t, r, sigma, q = of
        return fv.get_all_greeks(flag, s, k, t, r, sigma, q, **how)

    def price(flag, of):
        s, k, t, r, sigma, q = of
        return fv.fast_black_scholes_merton(flag, s, k, t, r, sigma, q, return_as="numpy", backend="numpy")

    of = arrays(contracts)
    values = answer(contracts, {"price": price(flags, of)} | greeks(flags, of))
    n = len(contracts) * COPIES
    many, flags = arrays(contracts, COPIES), np.tile(flags, COPIES)
    five = best(lambda: greeks(flags, many), n)
    return [
        Answer("fast-vollib", "5 Greeks, no price", five, {k: v for k, v in values.items() if k != "price"}),
        Answer("fast-vollib", "price", best(lambda: price(flags, many), n), {"price": values["price"]}),
    ]


def pyvolr(contracts):
    from pyvolr import bs

    flags = np.array([o.phi for o in contracts], dtype=np.int8)
    of = arrays(contracts)
    raw = bs.greeks(flags, *of)
    per = {"vega": 100, "rho": 100, "theta": 365}
    values = answer(contracts, {name: column / per.get(name, 1) for name, column in raw.items()})
    prices = answer(contracts, {"price": bs.price(flags, *of)})
    n = len(contracts) * COPIES
    many, flags = arrays(contracts, COPIES), np.tile(flags, COPIES)
    return [
        Answer("pyvolr", "5 Greeks, no price", best(lambda: bs.greeks(flags, *many), n), values),
        Answer("pyvolr", "price", best(lambda: bs.price(flags, *many), n), prices),
    ]


def black_calculator(contracts):
    import QuantLib as ql

    payoffs = [ql.PlainVanillaPayoff(ql.Option.Call if o.call else ql.Option.Put, o.k) for o in contracts]

    def seven(o, payoff):
        df, fwd = math.exp(-o.r * o.t), o.s * math.exp((o.r - o.b) * o.t)
        c = ql.BlackCalculator(payoff, fwd, o.sigma * math.sqrt(o.t), df)
        return c.value(), c.delta(o.s), c.gamma(o.s), c.vega(o.t), c.theta(o.s, o.t), c.rho(o.t), c.dividendRho(o.t)

    found = np.array([seven(*pair) for pair in zip(contracts, payoffs)]).T
    names = ("price", "delta", "gamma", "vega", "theta", "rho", "epsilon")
    per = (1, 1, 1, 100, 365, 100, 100)
    values = answer(contracts, {name: column / unit for name, column, unit in zip(names, found, per)})
    ns = best(lambda: [seven(*pair) for pair in zip(contracts, payoffs)], len(contracts))
    note = "nearly all of it calls from Python"
    return [Answer(f"QuantLib {ql.__version__} BlackCalculator, Python", "price and 6 Greeks", ns, values, note)]


def quantlib_program(folder, what, file):
    """Values and time of the C++ program, or nothing where it was not built."""
    program = folder / "quantlib"
    if not program.exists():
        return None
    done = subprocess.run([program, what, folder / file], check=True, capture_output=True, text=True)
    lines = done.stdout.splitlines()
    return by_column(list(csv.DictReader(lines[:-1]))), float(lines[-1].split(",")[1])


def black_calculator_cpp(folder):
    if not (found := quantlib_program(folder, "black", "european.csv")):
        return []
    return [Answer("QuantLib BlackCalculator, C++", "price and 6 Greeks", found[1], found[0])]


def reference(contracts):
    """The formula and its derivatives at 40 digits, of every sixth contract."""
    mpmath.mp.dps = 40

    def value(o):
        def v(s, sigma, t, r, b, k):
            fwd, w = s * mpmath.exp((r - b) * t), sigma * mpmath.sqrt(t)
            d1 = mpmath.log(fwd / k) / w + w / 2
            n1, n2 = mpmath.ncdf(o.phi * d1), mpmath.ncdf(o.phi * (d1 - w))
            return mpmath.exp(-r * t) * o.phi * (fwd * n1 - k * n2)

        return v

    # how often by s, sigma, t, r, b, k; the factor to the published unit
    orders = {
        "price": ((0, 0, 0, 0, 0, 0), 1),
        "delta": ((1, 0, 0, 0, 0, 0), 1),
        "gamma": ((2, 0, 0, 0, 0, 0), 1),
        "speed": ((3, 0, 0, 0, 0, 0), 1),
        "vega": ((0, 1, 0, 0, 0, 0), 0.01),
        "volga": ((0, 2, 0, 0, 0, 0), 1),
        "ultima": ((0, 3, 0, 0, 0, 0), 1),
        "vanna": ((1, 1, 0, 0, 0, 0), 1),
        "zomma": ((2, 1, 0, 0, 0, 0), 1),
        "theta": ((0, 0, 1, 0, 0, 0), -1 / 365),
        "charm": ((1, 0, 1, 0, 0, 0), -1),
        "color": ((2, 0, 1, 0, 0, 0), -1),
        "veta": ((0, 1, 1, 0, 0, 0), -1),
        "rho": ((0, 0, 0, 1, 0, 0), 0.01),
        "vera": ((0, 1, 0, 1, 0, 0), 1),
        "epsilon": ((0, 0, 0, 0, 1, 0), 0.01),
        "dual_delta": ((0, 0, 0, 0, 0, 1), 1),
        "dual_gamma": ((0, 0, 0, 0, 0, 2), 1),
    }
    values = {name: {} for name in orders}
    for o in (o for o in contracts if o.id % 6 == 2):
        at = tuple(mpmath.mpf(v) for v in (o.s, o.sigma, o.t, o.r, o.b, o.k))
        for name, (n, factor) in orders.items():
            values[name][o.id] = float(mpmath.diff(value(o), at, n) if any(n) else value(o)(*at)) * factor
    return values
