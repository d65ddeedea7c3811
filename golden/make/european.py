"""golden/european.csv: European values at 50 digits, each Greek twice.

The price is Black-76 on the forward of the escrowed dividend model (docs/model.md). Each Greek is the numerical
derivative of that price, taken at a working precision at which it has 50 digits, and again a formula derived by hand.
Where the two differ by more than 1e-40 of the value, this program stops.
"""

from mpmath import diff, erfc, exp, log, mp, mpf, nstr, pi, sqrt

import contracts

mp.dps = 50
VALUES = (
    "price delta gamma speed vega volga ultima vanna zomma theta charm color veta rho vera epsilon lambda "
    "dual_delta dual_gamma d1 d2 fwd"
).split()
# ∂ in (spot, strike, volatility, rate, borrow, calendar time), and what the published unit divides by.
DERIVATIVES = {
    "delta": ((1, 0, 0, 0, 0, 0), 1),
    "gamma": ((2, 0, 0, 0, 0, 0), 1),
    "speed": ((3, 0, 0, 0, 0, 0), 1),
    "vega": ((0, 0, 1, 0, 0, 0), 100),
    "volga": ((0, 0, 2, 0, 0, 0), 1),
    "ultima": ((0, 0, 3, 0, 0, 0), 1),
    "vanna": ((1, 0, 1, 0, 0, 0), 1),
    "zomma": ((2, 0, 1, 0, 0, 0), 1),
    "theta": ((0, 0, 0, 0, 0, 1), 365),
    "charm": ((1, 0, 0, 0, 0, 1), 1),
    "color": ((2, 0, 0, 0, 0, 1), 1),
    "veta": ((0, 0, 1, 0, 0, 1), 1),
    "rho": ((0, 0, 0, 1, 0, 0), 100),
    "vera": ((0, 0, 1, 1, 0, 0), 1),
    "epsilon": ((0, 0, 0, 0, 1, 0), 100),
    "dual_delta": ((0, 1, 0, 0, 0, 0), 1),
    "dual_gamma": ((0, 2, 0, 0, 0, 0), 1),
}


def cdf(x):
    return erfc(-x / sqrt(mpf(2))) / 2


def density(x):
    return exp(-x * x / 2) / sqrt(2 * pi)


class Contract:
    """The inputs of a row, exactly the doubles that its text stands for."""

    def __init__(self, row):
        self.phi = 1 if row["right"] == "call" else -1
        self.s, self.k, self.t, self.r, self.b = (mpf(float(row[x])) for x in ("s", "k", "t_years", "r", "b"))
        self.sigma = mpf(float(row["sigma"])) if row.get("sigma") else None
        pairs = ((mpf(time), mpf(amount)) for time, amount in contracts.dividends(row))
        self.dividends = [(time, amount) for time, amount in pairs if 0 < time <= self.t]

    def forward(self, s, r, b, now):
        escrow = sum((d * exp((b - r) * (t - now)) for t, d in self.dividends), mpf(0))
        return (s - escrow) * exp((r - b) * (self.t - now))

    def price(self, s, k, sigma, r, b, now):
        """Black-76; `now` moves forward with the spot held."""
        f = self.forward(s, r, b, now)
        left = self.t - now
        dev = sigma * sqrt(left)
        d1 = log(f / k) / dev + dev / 2
        return exp(-r * left) * self.phi * (f * cdf(self.phi * d1) - k * cdf(self.phi * (d1 - dev)))


def by_differences(c):
    """Every derivative of the price, numerically."""
    at = (c.s, c.k, c.sigma, c.r, c.b, mpf(0))
    out = {}
    for name, (orders, unit) in DERIVATIVES.items():
        moved = [i for i, order in enumerate(orders) if order]

        def along(*values):
            point = list(at)
            for i, value in zip(moved, values):
                point[i] = value
            return c.price(*point)

        x, n = tuple(at[i] for i in moved), tuple(orders[i] for i in moved)
        out[name] = (diff(along, x[0], n[0]) if len(moved) == 1 else diff(along, x, n)) / unit
    return out


def by_formulas(c):
    """The same from closed forms at fixed X = S − A, the pricing equation in time, and A's own move with the rates."""
    s, k, t, r, b, sigma, phi = c.s, c.k, c.t, c.r, c.b, c.sigma, c.phi
    escrow = sum((d * exp((b - r) * u) for u, d in c.dividends), mpf(0))
    moment = sum((u * d * exp((b - r) * u) for u, d in c.dividends), mpf(0))  # ∂A/∂b = −∂A/∂r
    x = s - escrow
    fwd, root, dev = x * exp((r - b) * t), sqrt(t), sigma * sqrt(t)
    d1 = log(fwd / k) / dev + dev / 2
    d2 = d1 - dev
    df, yield_df = exp(-r * t), exp(-b * t)
    price = phi * (x * yield_df * cdf(phi * d1) - k * df * cdf(phi * d2))
    delta = phi * yield_df * cdf(phi * d1)
    gamma = yield_df * density(d1) / (x * dev)
    ratio = 1 + d1 / dev
    speed = -gamma / x * ratio
    fourth = (gamma / x - speed) / x * ratio - gamma / (x * dev) ** 2
    vega = x * yield_df * density(d1) * root
    vanna = -yield_df * density(d1) * d2 / sigma
    zomma = gamma * (d1 * d2 - 1) / sigma
    drift, half = (r - b) * s, sigma**2 * x**2 / 2
    rho = phi * k * t * df * cdf(phi * d2) + delta * moment
    epsilon = -phi * t * x * yield_df * cdf(phi * d1) - delta * moment
    return {
        "price": price,
        "delta": delta,
        "gamma": gamma,
        "speed": speed,
        "vega": vega / 100,
        "volga": vega * d1 * d2 / sigma,
        "ultima": -vega / sigma**2 * (d1 * d2 * (1 - d1 * d2) + d1**2 + d2**2),
        "vanna": vanna,
        "zomma": zomma,
        "theta": (r * price - drift * delta - half * gamma) / 365,
        "charm": b * delta - drift * gamma - sigma**2 * x * gamma - half * speed,
        "color": (2 * b - r - sigma**2) * gamma - (drift + 2 * sigma**2 * x) * speed - half * fourth,
        "veta": r * vega - drift * vanna - sigma * x**2 * gamma - half * zomma,
        "rho": rho / 100,
        "vera": vega * (-t - d2 * root / sigma) + vanna * moment,
        "epsilon": epsilon / 100,
        "lambda": delta * s / price if price else mpf(0),
        "dual_delta": -phi * df * cdf(phi * d2),
        "dual_gamma": df * density(d2) / (k * dev),
        "d1": d1,
        "d2": d2,
        "fwd": fwd,
    }


def remade(row):
    """A row with its values made again, and how many digits the two ways have in common."""
    c = Contract(row)
    formulas, differences = by_formulas(c), by_differences(c)
    worst = max(abs(differences[name] - formulas[name]) / abs(formulas[name]) for name in differences if formulas[name])
    if worst > mpf(10) ** -40:
        raise ArithmeticError(f"{row['id']}: differences and formulas agree to {nstr(worst, 3)} only")
    return {**row, **{name: nstr(formulas[name], 17) for name in VALUES}}, float(worst)


def implied(row):
    """(status, σ, vega per 1 %) of a European price, by bisection and Newton's method in ln σ at 50 digits."""
    c, price = Contract(row), mpf(float(row["price"]))
    f, df = c.forward(c.s, c.r, c.b, 0), exp(-c.r * c.t)
    if price <= df * max(c.phi * (f - c.k), 0):
        return "below_min", None, None
    if price >= df * (f if c.phi > 0 else c.k):
        return "above_max", None, None
    value = lambda sigma: c.price(c.s, c.k, sigma, c.r, c.b, mpf(0)) - price
    low, high = mpf(-12), mpf(6)
    while high - low > mpf(10) ** -8:
        middle = (low + high) / 2
        low, high = (low, middle) if value(exp(middle)) > 0 else (middle, high)
    sigma = exp((low + high) / 2)
    for _ in range(8):
        c.sigma = sigma
        sigma -= value(sigma) / (100 * by_formulas(c)["vega"])
    c.sigma = sigma
    return "ok", sigma, by_formulas(c)["vega"]
