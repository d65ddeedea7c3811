"""Runs the vendors' published clients against the daemon and compares what they show with `/l1/greeks`.

    python3 tests/clients/run.py                          its own daemon on the simulated market, clock standing still
    python3 tests/clients/run.py --base-url http://127.0.0.1:2112 --symbols SPY
    python3 tests/clients/run.py --only alpaca,massive

The clients are installed once, in the versions of the requirement files, below `target/clients-venv`. Each check is a
program of its own with a time limit, in an empty folder, without proxies, and guarded: it reaches loopback or fails.
One line per client, then `N passed, N failed, N skipped`. Never ends a process that it did not start.
"""

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass

import guard
import recorded
from install import Unavailable, install_node, last_line, python_of

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from daemon import PROGRAM, ROOT, Daemon, NotServing

NOW = "2026-11-20T15:42:07.318-05:00"  # a Friday afternoon, market open, with milliseconds to lose
SYMBOLS = "AAPL,SPX,GME"  # American with dividends; two roots, AM and PM; an adjusted root without Greeks
CHECK_SECONDS = 300
SKIPPED = 77


@dataclass(frozen=True)
class Check:
    """A client: its name, the program that uses it, the requirement file of its environment, its script, and
    whether it needs a daemon that shows quotes, or one of recorded days."""

    name: str
    program: str
    requirements: str = "requirements.txt"
    script: str = ""
    quotes: bool = False
    past: bool = False


CHECKS = [
    Check("guard", "check_guard.py"),
    Check("alpaca-py", "check_alpaca.py"),
    Check("massive", "check_massive.py"),
    Check("polygon-api-client", "check_polygon.py"),
    Check("intrinio-sdk", "check_intrinio.py"),
    Check("marketdata-sdk-py", "check_marketdata.py"),
    Check("alpha_vantage", "check_alpha_vantage.py"),
    Check("alphavantage-core", "check_alphavantage_core.py"),
    Check("lumiwealth-tradier", "check_lumiwealth_tradier.py"),
    Check("tradier-python", "check_tradier_python.py"),
    Check("pytradier", "check_pytradier.py"),
    Check("tradier-api-client", "check_tradier_api_client.py"),
    Check("aiotradier", "check_aiotradier.py"),
    Check("asynctradier", "check_asynctradier.py", "requirements-older.txt"),
    Check("openbb-tradier", "check_openbb_tradier.py", "requirements-openbb.txt", quotes=True),
    Check("orats", "check_orats.py", "requirements-older.txt"),
    Check("requests (quotes)", "check_quotes.py"),
    Check("pandas (columnar)", "check_columnar_pandas.py"),
    Check("polars (columnar)", "check_columnar_polars.py"),
    Check("pandas, polars (native)", "check_native_frames.py"),
    Check("pandas.read_html", "check_html.py"),
    Check("alpha_vantage (past)", "check_past_alpha_vantage.py", past=True),
    Check("orats (past)", "check_past_orats.py", "requirements-older.txt", past=True),
    Check("marketdata (past)", "check_past_marketdata.py", past=True),
    Check("intrinio-sdk (past)", "check_past_intrinio.py", past=True),
    Check("massive (past)", "check_past_massive.py", past=True),
    Check("pandas (thetadata past)", "check_past_thetadata.py", past=True),
    Check("thetadata (lists)", "check_thetadata_lists.py", "requirements-thetadata.txt", past=True),
    Check("alpaca-trade-api (js)", "check_node.py", script="alpaca"),
    Check("massive (js)", "check_node.py", script="massive"),
    Check("intrinio-sdk (js)", "check_node.py", script="intrinio"),
]

NOT_POSSIBLE = {
    "thetadata": "1.0.15 needs Python 3.12 and speaks gRPC to its vendor; 0.9.11 reaches no snapshot path, and its lists alone are checked",
}


def environment(home):
    """A small, reproducible environment: proxies that reach only loopback, no user settings."""
    nowhere = f"http://127.0.0.1:{guard.NOWHERE}"
    kept = {name: os.environ[name] for name in ("PATH", "SYSTEMROOT", "LANG") if name in os.environ}
    proxies = {name: nowhere for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")}
    direct = {name: "127.0.0.1,localhost" for name in ("no_proxy", "NO_PROXY")}
    return kept | proxies | direct | {"HOME": home, "TZ": "UTC", "PYTHONDONTWRITEBYTECODE": "1"}


def run_check(check, base, symbols):
    """Runs one check; returns `ok`, `FAILED` or `SKIPPED`, the reason, and its output."""
    try:
        python = python_of(check.requirements)
        if check.script:
            install_node()
    except Unavailable as reason:
        return "FAILED", str(reason), ""
    with tempfile.TemporaryDirectory() as home:
        command = [str(python), str(HERE / check.program), base, symbols, *filter(None, [check.script])]
        process = subprocess.Popen(
            command,
            cwd=home,
            env=environment(home),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
        try:
            output, _ = process.communicate(timeout=CHECK_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            output, _ = process.communicate()
            return "FAILED", f"not done after {CHECK_SECONDS} s", output
    outcome = {0: "ok", SKIPPED: "SKIPPED"}.get(process.returncode, "FAILED")
    return outcome, last_line(output), output


def run_all(checks, base, symbols, verbose):
    """Runs every check, prints a line for each, and counts the outcomes."""
    counts = {"ok": 0, "FAILED": 0, "SKIPPED": 0}
    for check in checks:
        began = time.monotonic()
        outcome, reason, output = run_check(check, base, symbols)
        counts[outcome] += 1
        print(f"{check.name:24} {outcome:8} {reason}  ({time.monotonic() - began:.1f} s)", flush=True)
        if verbose or (outcome == "FAILED" and output.count("\n") > 1):
            print("".join(f"    {line}\n" for line in output.splitlines()[-15:]), end="", flush=True)
    return counts


def run_own(checks, options):
    """Runs every check against a new daemon; checks that need quotes, against one that shows them."""
    counts = {}
    program = options.daemon.resolve()
    if not program.exists():
        raise Unavailable(f"{program} is missing: cargo build --release")
    sim = ("--feed", "sim", "--now", NOW)
    with tempfile.TemporaryDirectory() as folder:
        recorded.write(folder)
        past = ("--feed", f"history:{folder}", "--threads", "1")
        for some, daemon in (
            ([check for check in checks if not check.quotes and not check.past], Daemon(program, *sim)),
            ([check for check in checks if check.quotes], Daemon(program, *sim, "--show-quotes")),
            ([check for check in checks if check.past], Daemon(program, *past, "--show-quotes")),
        ):
            if some:
                with daemon:
                    for outcome, n in run_all(some, daemon.base, options.symbols, options.verbose).items():
                        counts[outcome] = counts.get(outcome, 0) + n
    return counts


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--base-url", help="a daemon that already runs; nothing is started or ended then")
    parser.add_argument("--symbols", default=SYMBOLS, help=f"underlyings, comma-separated ({SYMBOLS})")
    parser.add_argument("--only", help="parts of client names, comma-separated")
    parser.add_argument("--daemon", type=pathlib.Path, default=PROGRAM, help="the program to start")
    parser.add_argument("--verbose", action="store_true", help="show what every check printed")
    return parser.parse_args()


def chosen(only):
    parts = (only or "").lower().split(",")
    return [check for check in CHECKS if any(part in check.name.lower() for part in parts)]


def main():
    options = arguments()
    checks = chosen(options.only)
    try:
        if options.base_url:
            counts = run_all(checks, options.base_url.rstrip("/"), options.symbols, options.verbose)
        else:
            counts = run_own(checks, options)
    except (Unavailable, NotServing) as reason:
        print(reason)
        counts = {"ok": 0, "FAILED": len(checks), "SKIPPED": 0}
    if not options.only:
        for name, reason in NOT_POSSIBLE.items():
            print(f"{name:24} SKIPPED  {reason}")
        counts["SKIPPED"] += len(NOT_POSSIBLE)
    print(f"{counts['ok']} passed, {counts['FAILED']} failed, {counts['SKIPPED']} skipped")
    sys.exit(1 if counts["FAILED"] or not counts["ok"] else 0)


if __name__ == "__main__":
    main()
