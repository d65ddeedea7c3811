#!/usr/bin/env python3
"""Memory and disk that `greeksd batch` needs for inputs of several sizes, and the processor time of each.

usage: long_job.py [--greeksd PATH] [--days N,N,...] [--every TIME] [--made CSV] [--options TEXT]

KO, SPX and TSLA each minute of one day of the made-up market (3.6 million rows), in Cboe DataShop's layout of intervals with
its calculated columns, some 220 bytes a row, stand as often as asked for under the next sessions' dates; what has expired by
then is refused. 13 days are 10 GB in, and want 25 GB of disk.
"""
import argparse, os, pathlib, shutil, subprocess, sys, tempfile, time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))
import environment

FIRST = b"2025-01-02"
SESSIONS = "03 06 07 08 10 13 14 15 16 17 21 22 23 24 27 28 29 30 31"
# columns of the vendor's own numbers, which nobody reads
HEADER = (b",implied_underlying_price,active_underlying_price,implied_volatility,delta,gamma,theta,vega,rho,vwap,bid_exchange,"
          b"ask_exchange,delivery_code\n")
CELLS = b",6964.731200,6964.690000,0.251312345678,0.513212345,0.012312345678,-0.094512345,0.287112345,0.102312345,12.7350,CBOE,CBOE,\n"


def write(source, out, date):
    with open(source, "rb") as read, open(out, "wb") as write:
        write.write(read.readline().rstrip(b"\n") + HEADER)
        while lines := read.readlines(1 << 24):
            write.write(b"".join(lines).replace(b"," + FIRST + b" ", b"," + date + b" ").replace(b"\n", CELLS))


def bytes_below(folder):
    total = 0
    for path in folder.glob("**/*"):
        try:
            total += path.stat().st_size
        except OSError:
            pass  # it went in the meantime
    return total


def main():
    parser = argparse.ArgumentParser(description=__doc__.strip().split("\n")[0])
    parser.add_argument("--greeksd", default=ROOT / "target/release/greeksd", type=pathlib.Path)
    parser.add_argument("--days", default="1,3,13", help="how many days each job has, ascending")
    parser.add_argument("--every", default="1m")
    parser.add_argument("--made", type=pathlib.Path, help="the day, where it was written before")
    parser.add_argument("--options", default="", help="further options of batch, with blanks between them")
    wanted = parser.parse_args()
    print("| days | input | output | `_work` | peak memory | user, system |\n" + "|---" * 6 + "|")
    with tempfile.TemporaryDirectory(prefix="greeksd-long-") as work:
        work = pathlib.Path(work)
        made = wanted.made or environment.made_up_market(
            wanted.greeksd, work / "made", "--names", "KO,SPX,TSLA", "--days", 1, "--every", wanted.every, "--layout",
            "cboe-datashop-intervals") / "2025-01-02.csv"
        quotes, out = work / "quotes", work / "greeks"
        quotes.mkdir()
        beside = [part for name in ("dividends", "rates") for part in (f"--{name}", made.parent.parent / f"{name}.csv")]
        for days in map(int, wanted.days.split(",")):
            for day in SESSIONS.split()[:days]:
                if not (quotes / f"{day}.csv").exists():
                    write(made, quotes / f"{day}.csv", b"2025-01-" + day.encode())
            job = subprocess.Popen([wanted.greeksd, "batch", quotes, "-o", out, "--quiet", *beside, *wanted.options.split()])
            most, ended = 0, 0
            while not ended:
                most = max(most, bytes_below(out / "_work"))
                time.sleep(0.5)
                # of this process alone, whatever else was started
                ended, status, used = os.wait4(job.pid, os.WNOHANG)
            if status:
                sys.exit(f"the job ended with status {os.waitstatus_to_exitcode(status)}")
            sizes = " | ".join(f"{size / 1e9:.2f} GB" for size in (bytes_below(quotes), bytes_below(out), most))
            print(f"| {days} | {sizes} | {used.ru_maxrss / 1024:.0f} MiB | {used.ru_utime:.1f} s, {used.ru_stime:.1f} s |", flush=True)
            shutil.rmtree(out)


if __name__ == "__main__":
    main()
