"""American peers, from QuantLib: QdFp without dividends, finite differences with them; every Greek by bumping."""

import math

import QuantLib as ql
from rows import Answer, best

TODAY = ql.Date(20, ql.November, 2026)
DAY_COUNT = ql.Actual365Fixed()
# bumps: in standard deviations of ln S, of the volatility, in rate
IN_SPOT, IN_VOL, IN_RATE = 0.05, 0.02, 1e-3
# a price within this part of the strike above the exercise value counts as exercised: the error of QdFp's fast scheme
EXERCISED = 1e-5


class Market:
    """One process whose spot, rates and volatility are moved from contract to contract."""

    def __init__(self):
        ql.Settings.instance().evaluationDate = TODAY
        self.s, self.r, self.b, self.sigma = (ql.SimpleQuote(v) for v in (100.0, 0.04, 0.0, 0.2))

        def curve(quote):
            return ql.YieldTermStructureHandle(ql.FlatForward(TODAY, ql.QuoteHandle(quote), DAY_COUNT))

        constant = ql.BlackConstantVol(TODAY, ql.NullCalendar(), ql.QuoteHandle(self.sigma), DAY_COUNT)
        vol = ql.BlackVolTermStructureHandle(constant)
        self.process = ql.BlackScholesMertonProcess(ql.QuoteHandle(self.s), curve(self.b), curve(self.r), vol)

    def move(self, o, s=0.0, sigma=0.0, r=0.0, b=0.0):
        self.s.setValue(o.s + s)
        self.sigma.setValue(o.sigma + sigma)
        self.r.setValue(o.r + r)
        self.b.setValue(o.b + b)


def option(o, engine, k=0.0):
    side = ql.Option.Call if o.call else ql.Option.Put
    made = ql.VanillaOption(ql.PlainVanillaPayoff(side, o.k + k), ql.AmericanExercise(TODAY, TODAY + o.days))
    made.setPricingEngine(engine)
    return made


def by_identities(o, v):
    """What the pricing equation gives from spot and volatility derivatives; units of golden/. Where exercising now is
    optimal it does not hold, and all but price and delta are 0."""
    if v["price"] - o.phi * (o.s - o.k) < EXERCISED * o.k:
        nothing = dict.fromkeys([*v, "theta", "charm", "color", "veta"], 0.0)
        nothing.pop("fourth")
        now = {"price": v["price"], "delta": o.phi, "dual_delta": -o.phi, "lambda": o.phi * o.s / v["price"]}
        return nothing | now
    s, x, s2 = o.s, o.x, o.sigma**2
    g, h = o.r - o.b, 0.5 * s2 * x * x
    v["theta"] = o.r * v["price"] - g * s * v["delta"] - h * v["gamma"]
    v["charm"] = o.b * v["delta"] - (g * s + s2 * x) * v["gamma"] - h * v["speed"]
    fourth = v.pop("fourth")
    v["color"] = (2 * o.b - o.r - s2) * v["gamma"] - (g * s + 2 * s2 * x) * v["speed"] - h * fourth
    v["veta"] = o.r * v["vega"] - g * s * v["vanna"] - o.sigma * x * x * v["gamma"] - h * v["zomma"]
    v["lambda"] = v["delta"] * s / v["price"] if v["price"] else 0.0
    for name, per in (("theta", 365), ("vega", 100), ("rho", 100), ("epsilon", 100)):
        v[name] /= per
    return v


def rates(o, value):
    """rho, epsilon, vera: eight valuations."""
    hv, hr = IN_VOL * o.sigma, IN_RATE
    cross = [[value(sigma=i * hv, r=j * hr) for i in (-1, 1)] for j in (-1, 1)]
    return {
        "rho": (value(r=hr) - value(r=-hr)) / (2 * hr),
        "epsilon": (value(b=hr) - value(b=-hr)) / (2 * hr),
        "vera": (cross[1][1] - cross[1][0] - cross[0][1] + cross[0][0]) / (4 * hv * hr),
    }


def vols(o, mid, value):
    """vega, volga, ultima: four valuations."""
    hv = IN_VOL * o.sigma
    calm2, calm, wild, wild2 = (value(sigma=i * hv) for i in (-2, -1, 1, 2))
    return {
        "vega": (wild - calm) / (2 * hv),
        "volga": (wild - 2 * mid + calm) / hv**2,
        "ultima": (wild2 - 2 * wild + 2 * calm - calm2) / (2 * hv**3),
    }, (calm, wild)


def all_from_prices(o, value):
    """Every Greek from 21 prices: time by identities, the strike by homogeneity (no dividends)."""
    hs, hv = IN_SPOT * o.sigma * math.sqrt(o.t) * o.s, IN_VOL * o.sigma
    low2, low, mid, high, high2 = (value(s=i * hs) for i in (-2, -1, 0, 1, 2))
    by_vol, (calm, wild) = vols(o, mid, value)
    (lc, hc), (lw, hw) = [[value(s=i * hs, sigma=j * hv) for i in (-1, 1)] for j in (-1, 1)]
    v = {
        "price": mid,
        "delta": (high - low) / (2 * hs),
        "gamma": (high - 2 * mid + low) / hs**2,
        "speed": (high2 - 2 * high + 2 * low - low2) / (2 * hs**3),
        "fourth": (high2 - 4 * high + 6 * mid - 4 * low + low2) / hs**4,
        "vanna": (hw - lw - hc + lc) / (4 * hs * hv),
        "zomma": (hw - 2 * wild + lw - hc + 2 * calm - lc) / (2 * hs**2 * hv),
    }
    v |= by_vol | rates(o, value)
    v["dual_delta"] = (mid - o.s * v["delta"]) / o.k
    v["dual_gamma"] = o.s**2 * v["gamma"] / o.k**2
    return by_identities(o, v)


def qdfp(contracts, name, scheme, rounds):
    """Prices and full sets of one scheme."""
    market = Market()
    engine = ql.QdFpAmericanEngine(market.process, scheme)
    options = {o.id: option(o, engine) for o in contracts}

    def price(o, **moved):
        market.move(o, **moved)
        return options[o.id].NPV()

    def full(o):
        return all_from_prices(o, lambda **moved: price(o, **moved))

    values = [(o.id, full(o)) for o in contracts]
    n = len(contracts)
    one = best(lambda: [price(o) for o in contracts], n, rounds)
    every = best(lambda: [full(o) for o in contracts], n, rounds)
    who = f"QuantLib {ql.__version__} QdFp {name}"
    return [
        Answer(who, "price", one, transposed((i, {"price": v["price"]}) for i, v in values)),
        Answer(who, "all, 21 prices", every, transposed(values)),
    ]


def transposed(values):
    out = {}
    for i, by_name in values:
        for name, value in by_name.items():
            out.setdefault(name, {})[i] = value
    return out


def call_overhead(contracts):
    """Nanoseconds to move the quotes and ask a European option of the same process: the most that Python costs."""
    market = Market()
    engine = ql.AnalyticEuropeanEngine(market.process)
    made = []
    for o in contracts:
        payoff = ql.PlainVanillaPayoff(ql.Option.Call if o.call else ql.Option.Put, o.k)
        made.append(ql.VanillaOption(payoff, ql.EuropeanExercise(TODAY + o.days)))
        made[-1].setPricingEngine(engine)

    def all_of_them():
        for o, european in zip(contracts, made):
            market.move(o)
            european.NPV()

    return best(all_of_them, len(contracts))


class FiniteDifferences:
    """QuantLib's grid with escrowed dividends: `steps` in time, `points` in space."""

    def __init__(self, steps, points):
        self.market, self.grid, self.engines = Market(), (steps, points), {}

    def engine(self, o):
        key = tuple(o.ex_days)
        if key not in self.engines:
            dates, amounts = [TODAY + d for d, _ in key], [amount for _, amount in key]
            schedule = ql.DividendVector(dates, amounts)
            douglas, escrowed = ql.FdmSchemeDesc.Douglas(), ql.FdBlackScholesVanillaEngine.Escrowed
            self.engines[key] = ql.FdBlackScholesVanillaEngine(
                self.market.process, schedule, *self.grid, 2, douglas, False, -1e300, escrowed
            )
        return self.engines[key]

    def price(self, o, made=None, **moved):
        self.market.move(o, **moved)
        return (made or option(o, self.engine(o))).NPV()

    def full(self, o):
        """Every Greek from 17 grids, each of which gives value, delta and gamma."""
        made = option(o, self.engine(o))

        def grid(**moved):
            price = self.price(o, made, **moved)
            return price, made.delta(), made.gamma()

        def value(**moved):
            return self.price(o, made, **moved)

        hs, hv, hk = IN_SPOT * o.sigma * math.sqrt(o.t) * o.s, IN_VOL * o.sigma, 0.02 * o.k
        (mid, delta, gamma), low, high = (grid(s=i * hs) for i in (0, -1, 1))
        calm, wild = (grid(sigma=i * hv) for i in (-1, 1))
        calm2, wild2 = (value(sigma=i * hv) for i in (-2, 2))
        strikes = [self.price(o, option(o, self.engine(o), k=i * hk)) for i in (-1, 1)]
        v = {
            "price": mid,
            "delta": delta,
            "gamma": gamma,
            "speed": (high[2] - low[2]) / (2 * hs),
            "fourth": (high[2] - 2 * gamma + low[2]) / hs**2,
            "vega": (wild[0] - calm[0]) / (2 * hv),
            "volga": (wild[0] - 2 * mid + calm[0]) / hv**2,
            "ultima": (wild2 - 2 * wild[0] + 2 * calm[0] - calm2) / (2 * hv**3),
            "vanna": (wild[1] - calm[1]) / (2 * hv),
            "zomma": (wild[2] - calm[2]) / (2 * hv),
            "dual_delta": (strikes[1] - strikes[0]) / (2 * hk),
            "dual_gamma": (strikes[1] - 2 * mid + strikes[0]) / hk**2,
        }
        return by_identities(o, v | rates(o, value))


def finite_differences(contracts, steps, points, full=False):
    fd = FiniteDifferences(steps, points)
    who = f"QuantLib {ql.__version__} finite differences {steps} × {points}"
    if full:
        values = transposed((o.id, fd.full(o)) for o in contracts)
        ns = best(lambda: [fd.full(o) for o in contracts], len(contracts), 1)
        return Answer(who, "all, 17 grids", ns, values)
    values = transposed((o.id, {"price": fd.price(o)}) for o in contracts)
    ns = best(lambda: [fd.price(o) for o in contracts], len(contracts), 2)
    return Answer(who, "price", ns, values, judged=False)
