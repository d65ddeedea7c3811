"""Rows of the option files: inputs as the nearest doubles, values as text with the digits that their errors leave."""

import csv
import io
import math
from pathlib import Path

GOLDEN = Path(__file__).resolve().parent.parent
INPUTS = ["id", "style", "right", "s", "k", "t_years", "r", "b", "sigma", "divs"]


def read(path):
    """Header and rows of a CSV file."""
    with open(path, newline="") as file:
        reader = csv.DictReader(file)
        return reader.fieldnames, list(reader)


def write(path, names, rows):
    """A CSV file with exactly these columns, and the line ends that it has."""
    path = Path(path)
    crlf = path.exists() and b"\r\n" in path.read_bytes()
    text = io.StringIO()
    writer = csv.DictWriter(text, names, extrasaction="ignore", lineterminator="\r\n" if crlf else "\n")
    writer.writeheader()
    writer.writerows(rows)
    path.write_bytes(text.getvalue().encode())


def dividends(row):
    """[(time, amount)] of a row."""
    pairs = (entry.split(":") for entry in row["divs"].split(";") if entry)
    return [(float(time), float(amount)) for time, amount in pairs]


def sizes(row):
    """What each value of a contract is at the money, about: beside this an error can be nothing."""
    s, t, r, b, sigma = (float(row[name]) for name in ("s", "t_years", "r", "b", "sigma"))
    x = s - sum(amount * math.exp((b - r) * time) for time, amount in dividends(row))
    w = sigma * math.sqrt(t)
    return {
        "price": s,
        "delta": 1,
        "gamma": 1 / (x * w),
        "speed": 1 / (x * w) ** 2,
        "vega": x * math.sqrt(t) / 100,
        "volga": x * math.sqrt(t) / sigma,
        "ultima": x * math.sqrt(t) / sigma**2,
        "vanna": 1 / sigma,
        "zomma": 1 / (x * w * sigma),
        "theta": x * w / t / 365,
        "charm": 1 / t,
        "color": 1 / (x * w * t),
        "veta": x / math.sqrt(t),
        "rho": x * t / 100,
        "vera": x * t / sigma,
        "epsilon": x * t / 100,
        "lambda": 1 / w,
        "dual_delta": 1,
        "dual_gamma": 1 / (x * w),
    }


def with_error(value, error, size):
    """Value and error as text. Blank where the error is above 1e-4 of the value and not negligible beside `size`."""
    if math.isnan(value) or (error > 1e-4 * abs(value) and error > 1e-9 * size):
        return "", ""
    if error == 0:
        return f"{value:.15g}", "0"
    return rounded(value, error), f"{error:.1e}"


def rounded(value, error):
    """A value to a tenth to a hundredth of its error: one digit more than is known."""
    if abs(value) < error:
        return "0"
    decimals = 1 - math.floor(math.log10(error))
    digits = decimals + math.floor(math.log10(abs(value))) + 1
    return f"{value:.{min(max(digits, 1), 17)}g}"
