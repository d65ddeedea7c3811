#!/usr/bin/env python3
"""Another build of the daemon in turn with this one, on one machine: ratios of this one to the other.

    just beside PROGRAM [PROGRAM ...] [--rounds 3] [--what start,session,batch,pulls] [--feed sim:full]

A program is a path, or NAME=PATH. `start` is a cold start of the feed on two threads: seconds until every name is
served and until every name is at full accuracy, processor time and memory until then; and, for `--steady` seconds after
it and `--settle` more, the passes over quotes that are all new: the first ones catch up with what the market did
meanwhile. `session` is the processor time of `--minutes` of an open session after that start, with the embedded market
too. `batch` is a job over a day that is made up first. `pulls` are whole chains of SPX over HTTP. Each round runs every
program once, in an order that turns; a table shows the median of each, and the median ratio of this build to the others
with its least and greatest. Quiet machines only: nothing else may run.
"""

import argparse
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))
from daemon import PROGRAM, Daemon, NotServing

CLOCK = "2026-11-20T10:30"
START_SECONDS = 600
TICKS = os.sysconf("SC_CLK_TCK")


def processor(pid):
    """Processor time that a process has used, seconds."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def peak_mb(pid):
    lines = pathlib.Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))


def waiting(health):
    """Names without a chain, and names with a preliminary one (older builds call those rough)."""
    return health["pending"], health.get("preliminary", health.get("rough"))


def percentile(values, part):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(part * len(ordered)))]


def start(program, feed, asked, steady, minutes):
    """Figures of a cold start, of the steady passes after it, and of a session of so many minutes."""
    arguments = ["--feed", feed, "--clock", CLOCK, "--threads", asked.threads]
    figures = {}
    with Daemon(program, *arguments) as daemon:
        # the daemon answers once it has a chain; what came before is in the process's own clock
        pid, began = daemon.process.pid, time.monotonic() - age(daemon.process.pid)
        while True:
            health = daemon.health()
            pending, preliminary = waiting(health)
            now = time.monotonic() - began
            if pending == 0 and health["underlyings"] > 0:
                figures.setdefault("every name served, s", now)
                if preliminary == 0:
                    break
            if now > START_SECONDS:
                raise NotServing(f"{program}: not at full accuracy after {START_SECONDS} s")
            time.sleep(0.02 if feed == "sim" else 0.1)
        figures["full accuracy, s"], figures["processor until then, s"] = now, processor(pid)
        if steady:
            time.sleep(asked.settle)
            figures |= passes(daemon, pid, steady)
        if minutes:
            before = processor(pid)
            time.sleep(minutes * 60)
            figures[f"processor of {minutes:g} minutes, s"] = processor(pid) - before
        figures["memory at most, MB"] = peak_mb(pid)
    return {f"{feed}: {name}": value for name, value in figures.items()}


def age(pid):
    """Seconds since a process was started."""
    began = int(pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[19]) / TICKS
    return time.clock_gettime(time.CLOCK_BOOTTIME) - began


def passes(daemon, pid, seconds):
    """Durations of the passes of so many seconds, and the processor time of each."""
    first, until, took = processor(pid), time.monotonic() + seconds, []
    while time.monotonic() < until:
        last = daemon.health()["pass"]["last_ms"]
        if not took or last != took[-1]:
            took.append(last)
        time.sleep(0.05)
    took = took[1:] or took
    each = (processor(pid) - first) / seconds
    return {"steady pass, ms": statistics.median(took), "steady pass at 90 %, ms": percentile(took, 0.9),
            "processor a second of steady passes, s": each}


def batch(program, quotes):
    """Seconds and processor time of a job over a made-up day."""
    with tempfile.TemporaryDirectory(prefix="greeksd-beside-") as out:
        before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        command = [program, "batch", quotes, "-o", f"{out}/greeks", "--quiet"]
        subprocess.run(command, check=True, cwd=out, stdout=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return {"batch, s": time.monotonic() - began, "batch: processor, s": used}


def pulls(program):
    """Milliseconds of a whole chain of SPX, as JSON and as CSV, one after the other."""
    with Daemon(program, "--feed", "sim", "--clock", CLOCK) as daemon:
        while any(waiting(daemon.health())):
            time.sleep(0.1)
        figures = {}
        for name, target in [("JSON", ""), ("CSV", "&format=csv")]:
            took = []
            for n in range(60):
                began = time.monotonic()
                # another answer each time, so that none is one that was kept
                daemon.get(f"/l1/greeks?underlying=SPX&greeks=all{target}&max_days={3000 + n}")
                took.append((time.monotonic() - began) * 1e3)
            figures[f"pull of SPX, {name}, ms"] = statistics.median(took)
        return figures


def measure(program, asked, quotes):
    figures = {}
    if "start" in asked.what:
        figures |= start(program, asked.feed, asked, asked.steady, asked.minutes if "session" in asked.what else 0)
    if "session" in asked.what:
        figures |= start(program, "sim", asked, 0, asked.minutes)
    if "batch" in asked.what:
        figures |= batch(program, quotes)
    if "pulls" in asked.what:
        figures |= pulls(program)
    return figures


def table(names, rounds):
    """Markdown: the median of each program, and this one's ratio to each of the others within a round."""
    others = names[1:]
    head = ["what", *names, *(f"this / {name}" for name in others)]
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    for what in rounds[0][names[0]]:
        row = [f"{statistics.median(figures[name][what] for figures in rounds):.4g}" for name in names]
        for other in others:
            ratios = [figures[names[0]][what] / figures[other][what] for figures in rounds if figures[other][what] > 0]
            if ratios:
                row.append(f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})")
            else:
                row.append("")
        lines.append("| " + " | ".join([what, *row]) + " |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("programs", nargs="+", metavar="[NAME=]PROGRAM", help="the other builds")
    parser.add_argument("--this", default=PROGRAM, help="this build")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--what", default="start,batch,pulls", type=lambda text: text.split(","))
    parser.add_argument("--feed", default="sim:full")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--steady", type=float, default=30, help="seconds of steady passes")
    parser.add_argument("--settle", type=float, default=60, help="seconds from full accuracy until passes are steady")
    parser.add_argument("--minutes", type=float, default=10, help="minutes of a session")
    asked = parser.parse_args()
    programs = {"this": pathlib.Path(asked.this).resolve()}
    for text in asked.programs:
        name, _, path = text.rpartition("=")
        programs[name or pathlib.Path(path).name] = pathlib.Path(path).resolve()
    with tempfile.TemporaryDirectory(prefix="greeksd-beside-") as made:
        if "batch" in asked.what:
            subprocess.run([programs["this"], "generate", made, "--quiet", "--names", "KO,SPX,TSLA", "--days", "1", "--every", "5m"],
                           check=True, cwd=made)
        names, rounds = list(programs), []
        for n in range(asked.rounds):
            order, figures = names[n % len(names):] + names[:n % len(names)], {}
            for name in order:
                figures[name] = measure(programs[name], asked, pathlib.Path(made) / "quotes")
                print(f"round {n + 1}, {name}: " + ", ".join(f"{what} {value:.4g}" for what, value in figures[name].items()), file=sys.stderr)
            rounds.append(figures)
    print(table(names, rounds))


if __name__ == "__main__":
    main()
