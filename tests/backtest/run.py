#!/usr/bin/env python3
"""A backtest of sixty days through the clients of four vendors, on generated history, with the same profit to the cent.

usage: run.py [--greeksd PATH] [--symbol KO] [--svg FILE]

`greeksd generate` makes the days, a daemon serves them, and each client asks it for the chains of past days as it asks its
vendor; the rule (`rule.py`) sells a strangle of a month every ten days. Environments are those of tests/clients. With
--svg the profit by day is drawn. Exit code 1 where two clients trade otherwise.
"""
import argparse, json, pathlib, subprocess, sys, tempfile, time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "clients")]
import environment
from daemon import PROGRAM, Daemon
from install import python_of

VENDORS = {"marketdata": "requirements.txt", "alpha_vantage": "requirements.txt", "intrinio": "requirements.txt", "orats": "requirements-older.txt"}
DAYS = 61  # the sixtieth day after the first closes the last trade


def svg(days, profits):
    """The profit by day as a picture."""
    width, height, pad = 760, 320, 50
    low, high = min(0, *profits), max(0, *profits)
    x = lambda i: pad + i * (width - 2 * pad) / max(1, len(days) - 1)
    y = lambda cents: height - pad - (cents - low) * (height - 2 * pad) / max(1, high - low)
    line = " ".join(f"{x(i):.1f},{y(cents):.1f}" for i, cents in enumerate(profits))
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="sans-serif" font-size="12">',
        '<rect width="100%" height="100%" fill="#ffffff"/>',
        f'<line x1="{pad}" x2="{width - pad}" y1="{y(0):.1f}" y2="{y(0):.1f}" stroke="#999999"/>',
        f'<polyline fill="none" stroke="#0072b2" stroke-width="2" points="{line}"/>',
        f'<text x="{pad}" y="20">Profit of a short strangle a month, dollars, open legs at their asks</text>',
        f'<text x="{pad}" y="{height - 15}">{days[0]}</text>',
        f'<text x="{width - pad}" y="{height - 15}" text-anchor="end">{days[-1]}</text>',
        f'<text x="4" y="{y(high):.1f}">{high / 100:.0f}</text><text x="4" y="{y(low):.1f}">{low / 100:.0f}</text>',
        "</svg>\n",
    ])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--greeksd", type=pathlib.Path, default=PROGRAM)
    parser.add_argument("--symbol", default="KO")
    parser.add_argument("--svg", type=pathlib.Path)
    wanted = parser.parse_args()
    program = wanted.greeksd.resolve()
    with tempfile.TemporaryDirectory(prefix="greeksd-backtest-") as folder:
        quotes = environment.made_up_market(program, f"{folder}/days", "--names", wanted.symbol, "--days", DAYS)
        days = sorted(path.stem for path in quotes.iterdir())
        results = {}
        with Daemon(program, "--feed", f"history:{folder}/days", "--show-quotes") as daemon:
            for vendor, requirements in VENDORS.items():
                began = time.monotonic()
                command = [python_of(requirements), HERE / "client.py", vendor, daemon.base, wanted.symbol, ",".join(days)]
                done = subprocess.run(command, capture_output=True, text=True, timeout=600)
                if done.returncode:
                    raise SystemExit(f"{vendor}: {done.stderr[-2000:]}")
                results[vendor] = json.loads(done.stdout.splitlines()[-1])
                profit, trades = results[vendor]["profits"][-1], results[vendor]["trades"]
                print(f"{vendor:<14} {len(days) - 1} days, {len(trades)} trades, profit {profit / 100:+.2f} dollars, "
                      f"{time.monotonic() - began:.1f} s", flush=True)
    first = next(iter(results.values()))
    assert first["trades"] and any(trade["side"] == "buy" for trade in first["trades"]), "nothing was traded"
    for vendor, result in results.items():
        if result != first:
            pairs = zip(days, first["profits"], result["profits"])
            differ = [f"on {day} {there} and not {here}" for day, here, there in pairs if here != there]
            raise SystemExit(f"{vendor} trades otherwise: {(differ or ['other contracts at the same profit'])[0]}")
    print(f"the same {len(first['trades'])} trades, and the same profit on each of {len(days)} days")
    if wanted.svg:
        wanted.svg.write_text(svg(days, first["profits"]))


if __name__ == "__main__":
    main()
