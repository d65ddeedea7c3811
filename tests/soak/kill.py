"""Kills the daemon at random moments while chains are rewritten and sessions are kept, and looks what is left.

    python3 tests/soak/kill.py                 200 times
    python3 tests/soak/kill.py --times 20 --binary target/release/greeksd

After every kill: each state file is whole (every contract of its session, no line cut), none was moved aside, none that
was complete is gone but those beyond the five newest; and the next start serves every name. Exit code 1 otherwise.
"""

import argparse
import datetime
import pathlib
import random
import sys
import tempfile
import threading
import time

import market
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from daemon import PROGRAM, Daemon, NotServing, knows_all

FIRST = datetime.date(2018, 1, 2)
NAMES = ["ACME", "GME"]
KEPT = 5


def expiry_after(day):
    """The third Friday of December of the next year."""
    first = datetime.date(day.year + 1, 12, 1)
    return first + datetime.timedelta(days=(4 - first.weekday()) % 7 + 14)


class Writer(threading.Thread):
    """One session after the other, faster than they come: each ends the one before, which is kept."""

    def __init__(self, folder, pause):
        super().__init__(daemon=True)
        self.folder, self.pause, self.ending = folder, pause, threading.Event()
        self.day = FIRST

    def run(self):
        # a session that has not been is never kept
        while not self.ending.wait(self.pause) and self.day < datetime.date.today():
            self.write()
            self.day += datetime.timedelta(days=3 if self.day.weekday() == 4 else 1)

    def write(self):
        vol = 0.2 + self.day.day / 100
        for name in NAMES:
            text = market.HEADER + "".join(market.rows(name, 100.0, self.day, expiry_after(self.day), vol))
            market.write_whole(self.folder / "chains" / f"{name.lower()}.csv", text)


def faults_of(state, before):
    """The faults of the remaining files, and the names of the complete ones."""
    faults, complete = [], set()
    for path in sorted(state.iterdir()):
        if path.name.endswith(".bad"):
            faults.append(f"{path.name}: was moved aside")
        elif path.name.startswith("vols-") and path.suffix == ".csv":
            text = path.read_text()
            lines = text.splitlines()[1:]
            if not text.endswith("\n") or any(line.count(",") != 4 for line in lines):
                faults.append(f"{path.name}: is cut")
            roots = {line.split(",")[0] for line in lines}
            if len(lines) != market.ROWS * len(roots) or not roots:
                faults.append(f"{path.name}: {len(lines)} contracts of {len(roots)} names")
            complete.add(path.name)
    gone = {name for name in before if name not in complete}
    newer = len([name for name in complete if name > max(gone, default="")])
    if gone and newer < KEPT:
        faults.append(f"gone: {sorted(gone)}, left: {sorted(complete)}")
    return faults, complete


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--times", type=int, default=200)
    arguments.add_argument("--binary", default=PROGRAM)
    arguments.add_argument("--seed", type=int, default=int(time.time()))
    asked = arguments.parse_args()
    chance = random.Random(asked.seed)
    faults, complete, started = [], set(), []
    with tempfile.TemporaryDirectory(prefix="greeksd-kill-") as scratch:
        folder, state = pathlib.Path(scratch) / "market", pathlib.Path(scratch) / "state"
        (folder / "chains").mkdir(parents=True)
        state.mkdir()
        writer = Writer(folder, 0.5)
        writer.write()
        writer.start()
        for turn in range(asked.times):
            daemon = Daemon(asked.binary, "--feed", f"dir:{folder}", "--state-dir", str(state), "--refresh", "0.1").launch()
            began = time.monotonic()
            try:
                health = daemon.wait(knows_all, 60)
                started.append(time.monotonic() - began)
                if health["underlyings"] != len(NAMES):
                    faults.append(f"start {turn}: {health['underlyings']} names")
                time.sleep(chance.uniform(0, 2))
            except NotServing as why:
                faults.append(f"start {turn}: {why}")
            daemon.kill()
            found, complete = faults_of(state, complete)
            faults += [f"kill {turn}: {fault}" for fault in found]
        writer.ending.set()
        writer.join()
        left = sorted(path.name for path in state.iterdir())
    started.sort()
    print(f"seed {asked.seed}: {asked.times} kills, {len(started)} starts served")
    if started:
        print(f"served after {started[len(started) // 2]:.2f} s (median), {started[-1]:.2f} s (longest)")
    print(f"left in the state folder: {', '.join(left)}")
    for fault in faults:
        print("FAILED", fault)
    if not complete:
        print("FAILED no session was ever kept")
    return 1 if faults or not complete else 0


if __name__ == "__main__":
    sys.exit(main())
