"""Draws docs/plots/american.svg for docs/american.md: an exercise boundary through time, and the premium beside it.

    cargo build --release --manifest-path golden/make/american/Cargo.toml --target-dir target/golden
    python3 docs/plots/american.py

Both come from the reference solver of golden/make/american: a put with K = 100, T = 1, r = 5 %, b = 0, σ = 25 % and two
dividends of 1.00. Standard library only.
"""

import csv
import math
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
K, T, R, SIGMA, DIVIDENDS = 100.0, 1.0, 0.05, 0.25, [(0.35, 1.0), (0.85, 1.0)]
NAMES = ["id", "right", "s", "k", "t_years", "r", "b", "sigma", "divs"]


def prices(contracts):
    """Boundary and price of puts seen at some time, each at a spot: [(now, spot)]."""
    lines = [",".join(NAMES)]
    for i, (now, spot) in enumerate(contracts):
        left = ";".join(f"{t - now!r}:{d}" for t, d in DIVIDENDS if t > now)
        lines.append(f"{i},put,{spot!r},{K},{T - now!r},{R},0,{SIGMA},{left}")
    program = ROOT / "target/golden/release/american-reference"
    out = subprocess.run([program, "prices"], input="\n".join(lines), capture_output=True, check=True, text=True).stdout
    return [(float(row["boundary"]), float(row["price"])) for row in csv.DictReader(out.splitlines())]


def european(spot):
    """Black-76 on the escrowed forward, now."""
    x = spot - sum(d * math.exp(-R * t) for t, d in DIVIDENDS)
    dev = SIGMA * math.sqrt(T)
    d1 = (math.log(x / K) + R * T) / dev + dev / 2
    cdf = lambda z: math.erfc(-z / math.sqrt(2)) / 2
    return K * math.exp(-R * T) * cdf(dev - d1) - x * cdf(-d1)


class Figure:
    """Two panels of an SVG."""

    def __init__(self):
        self.parts = []

    def add(self, text):
        self.parts.append(text)

    def text(self, x, y, words, size=12, anchor="middle", fill="#222", turn=""):
        turned = f' transform="rotate({turn} {x} {y})"' if turn else ""
        self.add(
            f'<text x="{x}" y="{y}" font-family="sans-serif" font-size="{size}" text-anchor="{anchor}" '
            f'fill="{fill}"{turned}>{words}</text>'
        )

    def line(self, points, stroke, width=1.5, dash=""):
        dashed = f' stroke-dasharray="{dash}"' if dash else ""
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        self.add(f'<polyline points="{path}" fill="none" stroke="{stroke}" stroke-width="{width}"{dashed}/>')

    def box(self, x, y, width, height, fill):
        self.add(f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" fill="{fill}"/>')


def axes(figure, left, right, top, bottom, xs, ys, xwords, ywords):
    figure.line([(left, top), (left, bottom), (right, bottom)], "#222", 1)
    for at, words in xs:
        figure.line([(at, bottom), (at, bottom + 4)], "#222", 1)
        figure.text(at, bottom + 17, words, 11)
    for at, words in ys:
        figure.line([(left - 4, at), (left, at)], "#222", 1)
        figure.text(left - 7, at + 4, words, 11, "end")
    figure.text((left + right) / 2, bottom + 36, xwords)
    figure.text(left - 38, (top + bottom) / 2, ywords, turn="-90")


def main():
    figure = Figure()
    # The boundary through time.
    left, right, top, bottom = 60, 450, 40, 300
    to_x = lambda now: left + (right - left) * now / T
    to_y = lambda spot: bottom - (bottom - top) * (spot - 60) / 45
    times = [i / 200 for i in range(200)] + [0.999, 0.9995]
    times = sorted({t + d for t in times for d in (0, 1e-3) if t + d < T})
    found = prices([(now, 100.0) for now in times])
    figure.text((left + right) / 2, 22, "Exercise boundary of a put through time", 14)
    for t, d in DIVIDENDS:
        start = t - math.log(1 + d / K) / R  # from here on waiting for the dividend pays even at X = 0
        figure.box(to_x(start), top, to_x(t) - to_x(start), bottom - top, "#f3e9d2")
        figure.line([(to_x(t), top), (to_x(t), bottom)], "#b08d3c", 1, "4 3")
        figure.text(to_x(t), top - 4, "ex-date", 10, fill="#8a6d2b")
    run, before = [], None
    for now, (boundary, _) in zip(times, found):
        crossed = before is not None and any(before < t <= now for t, _ in DIVIDENDS)
        if math.isnan(boundary) or boundary < 60 or crossed:
            if len(run) > 1:
                figure.line(run, "#1f4e8c", 2)
            run = []
        if not math.isnan(boundary) and boundary >= 60:
            run.append((to_x(now), to_y(boundary)))
        before = now
    run.append((to_x(T), to_y(K)))
    figure.line(run, "#1f4e8c", 2)
    figure.text(to_x(0.075), to_y(90), "hold", 12)
    figure.text(to_x(0.068), to_y(65), "exercise", 12)
    figure.text(to_x(0.255), to_y(63.5), "no exercise", 10, fill="#8a6d2b")
    figure.text(to_x(0.255), to_y(61.3), "at any spot", 10, fill="#8a6d2b")
    axes(
        figure, left, right, top, bottom,
        [(to_x(i / 4), f"{i / 4:g}") for i in range(5)], [(to_y(s), str(s)) for s in range(60, 106, 10)],
        "years from now", "spot S",
    )  # fmt: skip

    # The premium at the spots of now.
    left, right = 540, 930
    spots = [60 + 0.5 * i for i in range(181)]
    found = prices([(0.0, s) for s in spots])
    boundary = found[0][0]
    escrow = sum(d * math.exp(-R * t) for t, d in DIVIDENDS)
    distance = lambda s: math.log((s - escrow) / (boundary - escrow)) / (SIGMA * math.sqrt(T))
    low, high, most = -0.8, 2.6, 4.0
    to_x = lambda u: left + (right - left) * (u - low) / (high - low)
    to_y = lambda premium: bottom - (bottom - top) * premium / most
    figure.text((left + right) / 2, 22, "What the right to exercise early is worth now", 14)
    for a, b, fill, words in (
        (low, 0, "#dce6f2", ("exercise now:", "payoff")),
        (0, 1.6, "#ffffff", ("near the boundary:", "tables, integral")),
        (1.6, high, "#eeeeee", ("far away: almost", "European")),
    ):
        figure.box(to_x(a), top, to_x(b) - to_x(a), bottom - top, fill)
        for i, word in enumerate(words):
            figure.text(to_x((a + b) / 2), top + 18 + 14 * i, word, 11)
    points = [(distance(s), price - european(s)) for s, (_, price) in zip(spots, found)]
    points = [(u, p) for u, p in points if low <= u <= high and p <= most]
    figure.line([(to_x(u), to_y(p)) for u, p in points], "#1f4e8c", 2)
    figure.line([(to_x(0), top), (to_x(0), bottom)], "#b03030", 1, "4 3")
    axes(
        figure, left, right, top, bottom,
        [(to_x(u / 2), f"{u / 2:g}") for u in range(-1, 6)], [(to_y(p), str(p)) for p in range(5)],
        "distance of X from the boundary, standard deviations", "American − European",
    )  # fmt: skip
    size = 'width="960" height="350" viewBox="0 0 960 350"'
    body = "\n".join(figure.parts)
    svg = f'<svg {size} xmlns="http://www.w3.org/2000/svg">\n<rect width="960" height="350" fill="#fff"/>\n{body}\n</svg>\n'
    (Path(__file__).parent / "american.svg").write_text(svg)


main()
