"""Contracts and values in the columns of golden/, and how far two values are from each other."""

import csv
import math
import time
from dataclasses import dataclass, field

INPUTS = ("id", "style", "right", "s", "k", "t_years", "r", "b", "sigma", "divs")
# in the order of the report
COLUMNS = (
    "price delta gamma vega theta rho epsilon vanna volga charm veta speed zomma color ultima vera "
    "dual_delta dual_gamma lambda"
).split()
ROUNDS = 5


@dataclass
class Contract:
    """One option; times in years and, for calendars of whole days, in days."""

    id: int
    call: bool
    s: float
    k: float
    t: float
    r: float
    b: float
    sigma: float
    divs: list  # of (years, amount)

    @property
    def phi(self):
        return 1 if self.call else -1

    @property
    def days(self):
        return round(self.t * 365)

    @property
    def ex_days(self):
        return [(round(t * 365), amount) for t, amount in self.divs]

    @property
    def x(self):
        return self.s - sum(d * math.exp(-(self.r - self.b) * t) for t, d in self.divs if 0 < t <= self.t)


@dataclass
class Answer:
    """What one program says: values by column and contract, and nanoseconds a contract."""

    who: str
    gives: str
    ns: float
    values: dict = field(default_factory=dict)  # column -> {id: value}
    note: str = ""
    judged: bool = True  # whether the report asks who is right


def read(path):
    """The contracts of a file, and its values by column and contract."""
    with open(path, newline="") as file:
        rows = list(csv.DictReader(file))
    contracts = []
    for row in rows:
        number = [float(row[name]) for name in ("s", "k", "t_years", "r", "b", "sigma")]
        pairs = (entry.split(":") for entry in row["divs"].split(";") if entry)
        divs = [(float(t), float(amount)) for t, amount in pairs]
        contracts.append(Contract(int(row["id"]), row["right"] == "call", *number, divs))
    return contracts, by_column(rows)


def by_column(rows):
    """Values of the columns that are there, blank ones left out."""
    return {
        name: {int(row["id"]): float(row[name]) for row in rows if row.get(name)}
        for name in COLUMNS
        if rows and name in rows[0]
    }


def best(work, n, rounds=ROUNDS):
    """Nanoseconds of processor time for each of the n contracts that `work` prices: the best of some rounds."""
    least = math.inf
    for _ in range(rounds):
        began, times = time.process_time_ns(), 0
        while times == 0 or time.process_time_ns() - began < 20e6:
            work()
            times += 1
        least = min(least, (time.process_time_ns() - began) / times / n)
    return least


def scale(o, name):
    """The size of a value at the money: what its error is measured against where the value itself is smaller."""
    x, w = o.x, o.sigma * math.sqrt(o.t)
    per_year = abs(o.r) + abs(o.b) + 1 / o.t
    return {
        "price": x,
        "gamma": 1 / (x * w),
        "dual_gamma": 1 / (x * w),
        "speed": 1 / (x * w) ** 2,
        "vega": x * math.sqrt(o.t) / 100,
        "volga": x * math.sqrt(o.t) / o.sigma,
        "ultima": x * math.sqrt(o.t) / o.sigma**2,
        "vanna": 1 / o.sigma,
        "zomma": 1 / (x * w * o.sigma),
        "theta": x * w * per_year / 365,
        "charm": per_year,
        "color": per_year / (x * w),
        "veta": x * math.sqrt(o.t) * per_year,
        "rho": x * o.t / 100,
        "epsilon": x * o.t / 100,
        "vera": x * o.t / o.sigma,
        "lambda": 1 / w,
    }[name]


def error(o, name, value, reference):
    """Relative to the greater of the value and 5 % of its size at the money; delta and dual_delta absolute."""
    absolute = name in ("delta", "dual_delta")
    size = 1.0 if absolute else max(0.05 * scale(o, name), abs(reference))
    off = abs(value - reference) / size
    return math.inf if math.isnan(off) else off


def errors(contracts, name, values, references):
    """The errors of the contracts for which both are known, least first, each with its contract's id."""
    both = [o for o in contracts if o.id in values and o.id in references]
    return sorted((error(o, name, values[o.id], references[o.id]), o.id) for o in both)


def median_and_worst(found):
    """Of a sorted list of errors."""
    return (found[(len(found) - 1) // 2][0], *found[-1]) if found else (math.nan, math.nan, -1)
