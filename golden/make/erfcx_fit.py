"""The coefficients of engine/kernel/src/normal.rs: (1+2x)·erfcx(x) in q = (x-2)/(x+2). Run: pip install mpmath"""

from mpmath import chebyfit, erfc, exp, mp, mpf, nstr, pi, sqrt

mp.dps = 40


def scaled(q):
    if q >= 1:
        return 2 / sqrt(pi)
    x = 2 * (1 + q) / (1 - q)
    if x <= 200:
        return (1 + 2 * x) * exp(x * x) * erfc(x)
    total, term = mpf(0), mpf(1)
    for n in range(12):
        total += term
        term *= -(2 * n + 1) / (2 * x * x)
    return (1 + 2 * x) * total / (x * sqrt(pi))


for degree in (12, 24):
    coefficients, error = chebyfit(scaled, [-1, 1], degree + 1, error=True)
    print(degree, nstr(error, 3), [nstr(c, 17) for c in coefficients[::-1]])
