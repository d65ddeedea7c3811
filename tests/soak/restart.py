"""Kills a daemon that quotes are pushed to at random moments, and looks what is served one second after each start.

    python3 tests/soak/restart.py              100 times, 40 names
    python3 tests/soak/restart.py --times 10 --names 400 --binary target/release/greeksd

A program pushes the whole market once and then a few quotes all the time, as a vendor would; while the daemon is down what it
says is lost. Nothing is pushed between a start and the look, so that what is served is what was saved. Every name must be
there with its rows, from a market that was whole before the kill. Exit code 1 otherwise. It is eleven on a Friday where
libfaketime is installed; without it, it is what it is, and the report says so.
"""

import argparse
import datetime
import json
import pathlib
import random
import socket
import sys
import tempfile
import threading
import time

import market
from clock import SteppedClock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from daemon import PROGRAM, Daemon, free_port


def name_of(i):
    return "".join(chr(65 + i // 26**p % 26) for p in (2, 1, 0)) + "X"


class Pusher(threading.Thread):
    """Pushes while a daemon listens."""

    def __init__(self, port, names, now):
        super().__init__(daemon=True)
        self.port, self.names, self.now = port, names, now
        self.paused, self.ending = threading.Event(), threading.Event()
        self.expiries = [now().date() + datetime.timedelta(days=days) for days in (60, 120)]

    def lines(self, name, spot):
        now = self.now()
        time_, day = now.isoformat(), now.date()
        out = []
        for expiry in self.expiries:
            for row in market.rows(name, spot, day, expiry):
                _, _, _, root, expires, right, strike, bid, ask, *_ = row.split(",")
                out.append(json.dumps({"root": root, "expiry": expires, "right": right, "strike": float(strike),
                                       "bid": float(bid) or None, "ask": float(ask), "time": time_}))
        out.append(json.dumps({"symbol": name, "price": spot, "time": time_}))
        return "\n".join(out) + "\n"

    def run(self):
        spots = {name: 100.0 for name in self.names}
        while not self.ending.is_set():
            try:
                with socket.create_connection(("127.0.0.1", self.port), timeout=5) as to:
                    for name in self.names:
                        if self.paused.is_set():
                            break
                        to.sendall(self.lines(name, spots[name]).encode())
                    while not self.ending.is_set() and not self.paused.is_set():
                        name = random.choice(self.names)
                        spots[name] *= 1 + random.gauss(0, 0.0005)
                        to.sendall(self.lines(name, spots[name]).encode())
                        time.sleep(0.02)
            except OSError:
                pass
            while self.paused.is_set() and not self.ending.is_set():
                time.sleep(0.01)
            time.sleep(0.05)


def look(daemon, names, rows, now):
    """One second after the start: how many names and contracts are served, how old they are, and what is wrong."""
    faults = []
    health = daemon.health()
    status, body = daemon.ask("/l1/greeks?format=ndjson&underlying=" + ",".join(names))
    served = [json.loads(line) for line in body.decode().splitlines()] if status == 200 else []
    contracts = {}
    for row in served:
        contracts[row["underlying"]] = contracts.get(row["underlying"], 0) + 1
    missing = [name for name in names if contracts.get(name) != rows]
    if missing:
        faults.append(f"{len(missing)} names are not served whole, {missing[0]} among them")
    if health["restored"] != len(names):
        faults.append(f"{health['restored']} names restored")
    if any(row["svc_theo"] is None for row in served):
        faults.append("a value is missing")
    shown = health["snapshot_time"]
    age = (now() - datetime.datetime.fromisoformat(shown)).total_seconds() if shown else float("nan")
    return len(contracts), age, faults


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--times", type=int, default=100)
    arguments.add_argument("--names", type=int, default=40)
    arguments.add_argument("--longest", type=float, default=8, help="seconds that a daemon lives at most")
    arguments.add_argument("--binary", default=PROGRAM)
    arguments.add_argument("--seed", type=int, default=1)
    options = arguments.parse_args()
    random.seed(options.seed)
    names = [name_of(i) for i in range(options.names)]
    port, rows = free_port(), 2 * market.ROWS
    failed, ages = 0, []
    with tempfile.TemporaryDirectory() as state:
        clock = SteppedClock(pathlib.Path(state) / "clock") if SteppedClock.is_there() else None
        now = clock.now if clock else lambda: datetime.datetime.now(datetime.timezone.utc)
        print(f"it is {now():%A %H:%M} UTC for the daemon", flush=True)
        pusher = Pusher(port, names, now)
        where = ["--feed", f"tcp:{port}", "--state-dir", str(pathlib.Path(state) / "kept"), "--refresh", "0.2"]
        start = lambda: Daemon(options.binary, *where, environment=clock and clock.environment()).launch()
        daemon = start()
        pusher.start()
        began = time.monotonic()
        while not list(pathlib.Path(state).glob("kept/*.saved")):
            time.sleep(0.1)
            if time.monotonic() - began > 300:
                raise SystemExit("no market was saved within five minutes")
        for n in range(options.times):
            time.sleep(random.uniform(0, options.longest))
            pusher.paused.set()
            daemon.kill()
            daemon = start()
            time.sleep(1)
            served, age, faults = look(daemon, names, rows, now)
            ages.append(age)
            pusher.paused.clear()
            if faults:
                failed += 1
                print(f"start {n + 1}: {'; '.join(faults)}", flush=True)
            elif (n + 1) % 10 == 0:
                print(f"{n + 1} starts: {served} names, {age:.1f} s old one second after the start", flush=True)
        pusher.ending.set()
        daemon.kill()
    ages.sort()
    print(f"{options.times} starts, {failed} with a fault; age of what is served one second after the start: "
          f"median {ages[len(ages) // 2]:.1f} s, longest {ages[-1]:.1f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
