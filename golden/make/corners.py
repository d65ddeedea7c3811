"""Draws the contracts of golden/corners.csv that have no values yet: corners at which tables are hard put to it.

    python3 golden/make/corners.py ROWS SEED > golden/corners.csv && just golden-remake corners.csv

ROWS contracts of each class: calls deep in the money with borrow and small dividends; calls minutes to hours before an
ex-date; puts on funds of low volatility with monthly dividends; puts whose borrow rate is the interest rate; calls with
borrow below 0.
"""

import random
import sys

COLUMNS = "id,style,right,s,k,t_years,r,b,sigma,divs,price,delta,gamma,price_err,delta_err,gamma_err,boundary"


def dividends(first, gap, t, amount):
    dates = []
    while first < t - 2e-3:
        dates.append(f"{first:.10g}:{amount:.5g}")
        first += gap
    return ";".join(dates)


def deep(draw):
    k, t, r = draw.uniform(2, 60), draw.uniform(0.2, 1.8), draw.uniform(0.03, 0.05)
    s, b, sigma = k * draw.uniform(1.5, 8), r * draw.uniform(0.03, 0.3), draw.uniform(0.2, 0.9)
    return "call", s, k, t, r, b, sigma, dividends(draw.uniform(0.02, 0.25), 0.25, t, s * draw.uniform(2e-4, 2e-3))


def soon(draw):
    k, t, r = draw.uniform(20, 150), draw.uniform(0.1, 1.1), draw.uniform(0.02, 0.05)
    s, b, sigma = k * draw.uniform(0.95, 2), draw.uniform(1e-3, 0.03), draw.uniform(0.2, 0.7)
    first = 10 ** draw.uniform(-5.5, -2.5)
    return "call", s, k, t, r, b, sigma, dividends(first, 0.25, t, s * draw.uniform(3e-3, 2e-2))


def funds(draw):
    k, t, r = draw.uniform(20, 110), draw.uniform(0.05, 1.2), draw.uniform(0.03, 0.055)
    s, b, sigma = k * draw.uniform(0.93, 1.1), draw.uniform(0, 0.03), draw.uniform(0.02, 0.08)
    return "put", s, k, t, r, b, sigma, dividends(draw.uniform(2e-3, 0.08), 1 / 12, t, s * r / 12 * draw.uniform(0.6, 1.3))


def parity(draw):
    k, t, r = draw.uniform(20, 150), draw.uniform(0.03, 1), draw.uniform(0.02, 0.2)
    s, sigma = k * draw.uniform(0.85, 1.1), draw.uniform(0.08, 0.4)
    return "put", s, k, t, r, r, sigma, dividends(draw.uniform(0.01, 0.2), 0.25, t, s * draw.uniform(1e-3, 8e-3))


def below(draw):
    k, t, r = draw.uniform(20, 150), draw.uniform(0.1, 1.6), draw.uniform(0.02, 0.05)
    s, b, sigma = k * draw.uniform(0.9, 1.5), draw.uniform(-0.05, -0.003), draw.uniform(0.15, 0.6)
    return "call", s, k, t, r, b, sigma, dividends(draw.uniform(0.01, 0.25), 0.25, t, s * draw.uniform(2e-3, 1e-2))


def main():
    rows, seed = int(sys.argv[1]), int(sys.argv[2])
    print(COLUMNS)
    for kind in (deep, soon, funds, parity, below):
        draw = random.Random(f"{seed} {kind.__name__}")
        for i in range(rows):
            right, *numbers, divs = kind(draw)
            numbers = ",".join(f"{number:.6g}" for number in numbers)
            print(f"{kind.__name__}{i},american,{right},{numbers},{divs},0,0,0,0,0,0,nan")


if __name__ == "__main__":
    main()
