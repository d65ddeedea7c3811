#!/usr/bin/env python3
"""A book of 2,000 lines on a market that moves: renewed at each pass, totals that are sums, a file that is being written.

usage: run.py [--greeksd PATH] [--feed FEED] [--lines N]

The daemon serves the simulated market of a session that runs (`--feed sim:full` is the whole one). The book is drawn from
its contracts, over five accounts, with some lines that nobody lists. Python's library alone; exit code 1 where something is wrong.
"""
import argparse, json, math, pathlib, random, sys, tempfile, threading, time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from daemon import PROGRAM, Daemon, serves

SUMMED = ["value", "dollar_delta", "gamma_1pct", "vega", "theta", "decay", "rho", "epsilon"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.strip().split("\n")[0])
    parser.add_argument("--greeksd", default=PROGRAM, type=pathlib.Path)
    parser.add_argument("--feed", default="sim")
    parser.add_argument("--lines", default=2000, type=int)
    wanted = parser.parse_args()
    failed = []

    def check(holds, what):
        print(f"{'ok  ' if holds else 'FAIL'} {what}", flush=True)
        failed.extend([] if holds else [what])

    with tempfile.TemporaryDirectory(prefix="greeksd-positions-") as folder:
        book = pathlib.Path(folder) / "book.csv"
        book.write_text("account,osym,symbol,quantity,price\n")
        running = ["--feed", wanted.feed, "--clock", "2026-11-20T10:42", "--log-level", "error", "--positions", book]
        known = lambda health: serves(health) and health["pending"] == 0
        with Daemon(wanted.greeksd, *running, until=known, seconds=900) as daemon:
            rng = random.Random(27)
            names = [row["symbol"] for row in daemon.json("/l1/symbols") if row["state"] == "ok"]
            lines, before = [], daemon.memory_mb()
            while len(lines) < wanted.lines - 50:
                name = rng.choice(names)
                rows = [r for r in daemon.json(f"/l1/greeks?underlying={name}") if r["svc_theo"]]
                for row in rng.sample(rows, min(40, len(rows), wanted.lines - 50 - len(lines))):
                    lines.append(f"a{rng.randrange(5)},{row['osym'].replace(' ', '')},,{rng.randint(-20, 20) or 1},{row['svc_theo']}")
            lines += [f"a0,NONE261218C{n:08d},,1,1" for n in range(1000, 26_000, 1000)] + [f"a1,,{rng.choice(names)},{n},50" for n in range(1, 26)]
            text = "account,osym,symbol,quantity,price\n" + "\n".join(lines) + "\n"
            # written in pieces: what is read is the old book or the new one, never a part
            seen = set()

            def write():
                with book.open("w") as file:
                    for start in range(0, len(text), 4000):
                        file.write(text[start : start + 4000])
                        file.flush()
                        time.sleep(0.05)

            writer = threading.Thread(target=write)
            writer.start()
            until = time.monotonic() + 60
            while time.monotonic() < until:
                total = daemon.json("/l1/positions?by=total")
                seen.add(total[0]["positions"] if total else 0)
                if len(lines) in seen:
                    break
                time.sleep(0.02)
            writer.join()
            check(seen <= {0, len(lines)} and len(lines) in seen, f"a file of {len(lines)} lines that is written in pieces is read whole: {sorted(seen)} lines were seen")
            began = time.monotonic()
            rows = daemon.json("/l1/positions")
            took = time.monotonic() - began
            of = lambda level: [row for row in rows if row["level"] == level]
            worst = 0
            for level in ["expiry", "underlying", "account", "total"]:
                for field in SUMMED:
                    parts = sum(row[field] or 0 for row in of("contract"))
                    whole = sum(row[field] or 0 for row in of(level))
                    worst = max(worst, abs(parts - whole) / max(1, sum(abs(row[field] or 0) for row in of("contract"))))
            check(worst < 1e-6, f"totals at every level are sums of {len(of('contract'))} rows, to {worst:.0e}")
            missing = [row for row in of("contract") if row["missing"]]
            check(len(missing) == 25 and all(row["reason"] == "not_listed" for row in missing), f"{len(missing)} lines that nobody lists have the reason")
            # the values follow the passes
            followed, until = set(), time.monotonic() + 30
            while len(followed) < 4 and time.monotonic() < until:
                followed.add(json.dumps(daemon.json("/l1/positions?by=total")))
                time.sleep(0.2)
            check(len(followed) >= 4, f"{len(followed)} different totals in passes one after the other")
            after = daemon.memory_mb()
            print(f"     all rows in {took * 1000:.0f} ms; memory {before:.0f} MB before the book, {after:.0f} MB with it")
            check(math.isnan(after) or after < before + 100, "the book costs little memory")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
