"""The daemon on markets that are spoiled while clients misbehave.

    python3 tests/soak/soak.py                       30 minutes on `sim` and on a folder
    python3 tests/soak/soak.py --minutes 5 --sim sim:full --binary target/release/greeksd

Five daemons: one on the simulated market, its log on a device that is always full; one on a folder of which some files are
rewritten in every wrong way; one on a vendor that misbehaves and a program that pushes, which it records; one on a folder
of recorded days; one with a book of 100,000 lines (`book.py`). On all at once: slow readers, resets in mid-stream, half-open connections, heads a byte at
a time, pipelines, garbage, 500 connections, and the process stopped and continued. The clock of the first is set forth and
back by up to an hour, where libfaketime is installed, which moves the clock of one process alone. Meanwhile every answer is checked: whole, of
one snapshot, no name of an untouched file ever missing. At the end: names come back, connections are gone, memory and
descriptors are where they were. A table of all of it; exit code 1 where something failed. Linux only (`/proc`).
"""

import argparse
import collections
import datetime
import json
import pathlib
import random
import signal
import socket
import struct
import sys
import tempfile
import threading
import time

import book
import live
import market
from clock import SteppedClock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from daemon import PROGRAM, Daemon, free_port, knows_all, serves

NOW = "2026-11-20T16:30:00-05:00"
# resident memory of the program itself, MB, and what the allocator and scratch memory add to what the ledger counts:
# 60 MB are 20 in the ledger on `sim`, 1,670 are 1,400 on `sim:full`
PROGRAM_MB, BY_LEDGER = 80, 1.35
# documents of a vendor are not in the ledger while they are read: one of 30 MB, twice while its room grows
DOCUMENT_MB = 60


class Tally:
    """Counts of actions and failures, from any thread."""

    def __init__(self):
        self.lock = threading.Lock()
        self.done, self.failed, self.said = collections.Counter(), collections.Counter(), {}

    def count(self, what, why=None):
        with self.lock:
            self.done[what] += 1
            if why is not None:
                self.failed[what] += 1
                self.said.setdefault(what, str(why)[:300])


class Soak:
    def __init__(self, daemon, name, tally, seed):
        self.daemon, self.name, self.tally, self.seed = daemon, name, tally, seed
        self.ending = threading.Event()
        self.threads = []
        self.rows, self.come_back, self.spots_differ = {}, [], False
        self.most, self.most_ledger, self.nearest, self.latest, self.documents_mb = {}, 0, 0, 0, 0

    def start(self, *actors):
        for i, actor in enumerate(actors):
            chance = random.Random(f"{self.seed}-{self.name}-{actor.__name__}")
            thread = threading.Thread(target=self.run, args=(actor, chance), daemon=True)
            self.threads.append(thread)
            thread.start()

    def run(self, actor, chance):
        what = f"{self.name}: {actor.__name__.replace('_', ' ')}"
        while not self.ending.is_set():
            try:
                actor(self, chance)
                self.tally.count(what)
            except Exception as why:  # noqa: BLE001 - whatever goes wrong is a finding
                self.tally.count(what, f"{type(why).__name__}: {why}")
                time.sleep(0.5)

    def connect(self, timeout=60):
        sock = socket.create_connection(("127.0.0.1", self.daemon.port), timeout=timeout)
        return sock

    def ask(self, target="/health"):
        return f"GET {target} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()

    def is_refused(self, sock):
        """True if the answer is the 503 of a daemon whose slow readers hold too many old snapshots."""
        refused = sock.recv(12).endswith(b" 503")
        if refused:
            self.tally.count(f"{self.name}:   refused with 503")
            self.ending.wait(0.2)
        return refused

    def whole_market(self):
        return "/l1/greeks?greeks=all&underlying=" + ",".join(self.names)


def answers_are_whole(soak, chance):
    """One name at a time, in each format: all rows, of one spot."""
    name = chance.choice(soak.names)
    form = chance.choice(["json", "ndjson", "csv"])
    status, body = soak.daemon.ask(f"/l1/greeks?underlying={name}&greeks=core,chain&format={form}")
    assert status == 200, f"{name}: {status} {body[:200]}"
    text = body.decode()
    if form == "csv":
        lines = text.splitlines()
        at = lines[0].split(",").index("und_price")
        rows, spots = len(lines) - 1, {line.split(",")[at] for line in lines[1:]}
    else:
        records = json.loads(text) if form == "json" else [json.loads(line) for line in text.splitlines()]
        rows, spots = len(records), {record["und_price"] for record in records}
    wanted = soak.rows.setdefault(name, rows)
    assert rows == wanted, f"{name}: {rows} rows of {wanted}"
    assert soak.spots_differ or len(spots) == 1, f"{name}: of {len(spots)} spots: {sorted(spots)[:3]}"
    time.sleep(0.02)


def health_is_well(soak, _):
    health = soak.daemon.health()
    assert health["status"] in ("ok", "held", "stale"), health["status"]
    assert health["pending"] == 0 and health["failing"] == 0, health
    time.sleep(0.5)


def slow_reader(soak, chance):
    with soak.connect() as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        sock.sendall(soak.ask(soak.whole_market()))
        if soak.is_refused(sock):
            return
        ends = time.monotonic() + chance.uniform(2, 20)
        while time.monotonic() < ends and not soak.ending.is_set():
            if not sock.recv(512):
                return
            time.sleep(0.1)


def reset_in_mid_stream(soak, chance):
    with soak.connect() as sock:
        sock.sendall(soak.ask(soak.whole_market()))
        if soak.is_refused(sock):
            return
        left = chance.randrange(1, 200_000)
        while left > 0 and (got := sock.recv(min(left, 65536))):
            left -= len(got)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    time.sleep(0.05)


def half_open(soak, chance):
    socks = [soak.connect() for _ in range(20)]
    for sock in socks[::2]:
        sock.sendall(b"GET /hea")
    time.sleep(chance.uniform(1, 5))
    for sock in socks:
        sock.close()


def a_byte_at_a_time(soak, _):
    """The server ends a head that does not arrive in time: long before two minutes."""
    with soak.connect() as sock:
        sock.settimeout(1)
        began = time.monotonic()
        while time.monotonic() - began < 120:
            try:
                sock.sendall(b"X")
                if not sock.recv(4096):
                    return
            except TimeoutError:
                pass
            except OSError:
                return
            if soak.ending.is_set():
                return
        raise AssertionError("a slow head was taken for two minutes")


def pipeline(soak, chance):
    n = chance.randrange(2, 30)
    with soak.connect() as sock:
        sock.sendall(soak.ask() * n)
        reader = sock.makefile("rb")
        for _ in range(n):
            length = None
            while (line := reader.readline()) not in (b"\r\n", b""):
                if line.lower().startswith(b"content-length:"):
                    length = int(line.split(b":")[1])
            assert length is not None, "an answer of the pipeline is missing"
            assert json.loads(reader.read(length))["version"]
    time.sleep(0.2)


def garbage(soak, chance):
    with soak.connect(30) as sock:
        try:
            sock.sendall(chance.randbytes(chance.randrange(1, 4000)) + b"\r\n\r\n")
            sock.shutdown(socket.SHUT_WR)
            while sock.recv(65536):
                pass
        except ConnectionError:
            pass
    time.sleep(0.1)


def five_hundred_connections(soak, _):
    socks = []
    try:
        for _ in range(500):
            socks.append(soak.connect())
        for sock in socks[::50]:
            sock.sendall(soak.ask())
            assert sock.recv(65536).startswith(b"HTTP/1.1 200")
    finally:
        for sock in socks:
            sock.close()
    soak.ending.wait(20)


def stopped_and_continued(soak, chance):
    soak.daemon.signal(signal.SIGSTOP)
    time.sleep(chance.uniform(0.5, 3))
    soak.daemon.signal(signal.SIGCONT)
    soak.ending.wait(20)


def clock_set(soak, chance):
    """Steps the clock and back: the daemon serves throughout, and computes for the right time afterwards."""
    by = chance.choice([-3600, -600, -30, 30, 600, 3600])
    try:
        soak.clock.step(by)
        soak.ending.wait(chance.uniform(5, 20))
        health = soak.daemon.health()
        assert health["status"] in ("ok", "held", "stale"), f"{by:+} s: {health['status']}"
    finally:
        soak.clock.step(0)
    soak.ending.wait(chance.uniform(5, 20))


def values_follow_the_clock(soak):
    """Once the clock is right again, the last snapshot is recent, and none is of the future."""
    began, late = time.monotonic(), None
    while time.monotonic() - began < 120:
        late = soak.daemon.health()["snapshot_age_s"]
        if 0 <= late < 90:
            return None
        time.sleep(0.5)
    return f"the last snapshot is {late} s old"


def spoiled_files(soak, chance):
    name = chance.choice(soak.folder.spoiled)
    way = soak.folder.spoil(name, chance)
    soak.tally.count(f"{soak.name}:   {way.replace('_', ' ')}")
    time.sleep(chance.uniform(0, 1.5))
    soak.folder.restore(name)
    time.sleep(chance.uniform(0, 0.5))


CLIENTS = [
    answers_are_whole, health_is_well, slow_reader, reset_in_mid_stream, half_open, a_byte_at_a_time, pipeline, garbage,
    five_hundred_connections, stopped_and_continued,
]


def ledger_mb(soak):
    """The daemon's memory by purpose, MB."""
    start, ledger = "greeksd_memory_bytes{of=\"", {}
    for line in soak.daemon.get("/metrics").splitlines():
        if line.startswith(start):
            of, value = line.removeprefix(start).split("\"} ")
            ledger[of] = float(value) / 1e6
    return ledger


def watch(soaks, minutes, measured):
    ends = time.monotonic() + 60 * minutes
    while time.monotonic() < ends:
        for soak in soaks:
            memory = soak.daemon.memory_mb()
            measured[soak.name].append((memory, soak.daemon.descriptors()))
            try:
                ledger = ledger_mb(soak)
            except Exception as why:  # noqa: BLE001
                soak.tally.count(f"{soak.name}: memory is in the ledger", why)
                continue
            for of, size in ledger.items():
                soak.most[of] = max(soak.most.get(of, 0), size)
            # memory that was freed goes back to the system by and by: against the most that the ledger has had
            soak.most_ledger = max(soak.most_ledger, sum(ledger.values()))
            allowed = PROGRAM_MB + BY_LEDGER * soak.most_ledger + soak.documents_mb
            soak.nearest = max(soak.nearest, memory / allowed)
            listed = ", ".join(f"{of} {size:.1f}" for of, size in ledger.items())
            grown = None if memory <= allowed else f"{memory:.0f} MB of {allowed:.0f}: {listed}"
            soak.tally.count(f"{soak.name}: memory is in the ledger", grown)
        time.sleep(2)


def median(values):
    return sorted(values)[len(values) // 2]


def ends_well(soak, series, descriptors, tally):
    """After all clients disconnect, none of their state is left, and every name is served."""
    began = time.monotonic()
    while (open_now := soak.daemon.metric("greeksd_http_connections_open")) > 1 and time.monotonic() - began < 90:
        time.sleep(0.5)
    tally.count(f"{soak.name}: connections are gone", None if open_now <= 1 else f"{open_now} are open")
    now = soak.daemon.descriptors()
    tally.count(f"{soak.name}: descriptors are gone", None if now <= descriptors + 4 else f"{descriptors} then {now}")
    half = len(series) // 2
    early, late = median([m for m, _ in series[half // 2 : half]]), median([m for m, _ in series[-half // 2 :]])
    grown = None if late <= 1.15 * early + 30 else f"{early:.0f} MB, then {late:.0f} MB"
    tally.count(f"{soak.name}: memory is flat", grown)
    for name in soak.names + soak.come_back:
        began, rows = time.monotonic(), 0
        while time.monotonic() - began < 60:
            status, body = soak.daemon.ask(f"/l1/greeks?underlying={name}")
            rows = len(json.loads(body)) if status == 200 else 0
            if rows == soak.rows.get(name, market.ROWS):
                break
            time.sleep(0.2)
        else:
            tally.count(f"{soak.name}: every name is there", f"{name}: {rows} rows")
        tally.count(f"{soak.name}: every name is there")
    try:
        code = soak.daemon.stop(60)
    except Exception as why:  # noqa: BLE001
        code = why
    tally.count(f"{soak.name}: ends in order", None if code == 0 else f"exit code {code}")
    return early, late


def end(soaks, tally):
    """The clients end, and no thread of a daemon has failed, not even in silence."""
    for soak in soaks:
        soak.ending.set()
    for soak in soaks:
        for thread in soak.threads:
            thread.join(150)
            if thread.is_alive():
                tally.count(f"{soak.name}: clients end", "one still waits for its answer")
        soak.daemon.signal(signal.SIGCONT)
        faults = soak.daemon.health()["thread_faults"]
        tally.count(f"{soak.name}: no thread has failed", None if not faults else faults)


def show(soaks, tally, measured, memory):
    print(f"{'what':44} {'times':>8} {'failed':>7}")
    for what in sorted(tally.done):
        print(f"{what:44} {tally.done[what]:8} {tally.failed[what]:7}  {tally.said.get(what, '')}")
    for soak in soaks:
        (early, late), most = memory[soak.name], max(d for _, d in measured[soak.name])
        print(f"{soak.name}: memory {early:.0f} MB in the first half, {late:.0f} MB at the end; {most} descriptors at most;"
              f" at most {100 * soak.nearest:.0f} % of what the ledger allows")
        print("    most of each, MB: " + ", ".join(f"{of} {size:.1f}" for of, size in soak.most.items()))


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--minutes", type=float, default=30)
    arguments.add_argument("--sim", default="sim", help="the simulated market, such as sim:full")
    arguments.add_argument("--binary", default=PROGRAM)
    arguments.add_argument("--seed", type=int, default=int(time.time()))
    arguments.add_argument("--state-dir", help="of the folder's daemon: on a disk that is full, say")
    asked = arguments.parse_args()
    tally, measured = Tally(), collections.defaultdict(list)
    with tempfile.TemporaryDirectory(prefix="greeksd-soak-") as scratch:
        scratch = pathlib.Path(scratch)
        folder = market.Folder(scratch / "market")
        state = asked.state_dir or str(scratch / "state")
        clock = SteppedClock(scratch / "clock") if SteppedClock.is_there() else None
        full = {"until": knows_all, "seconds": 600, "log": open("/dev/full", "w")}
        made_up = Daemon(asked.binary, "--feed", asked.sim, **full, environment=clock and clock.environment())
        made_up = Soak(made_up, "sim", tally, asked.seed)
        files = ["--feed", f"dir:{folder.path}", "--now", NOW, "--refresh", "0.1", "--state-dir", state]
        files = Soak(Daemon(asked.binary, *files, until=knows_all), "folder", tally, asked.seed)
        now = clock.now if clock else lambda: datetime.datetime.now(datetime.timezone.utc)
        vendor = live.Vendor([f"VN{chr(65 + i)}" for i in range(8)], now)
        program = live.Program(free_port(), [live.name_of(i) for i in range(60)], now)
        feeds = ["--feed", f"cboe:{','.join(vendor.names)},every=2@http://127.0.0.1:{vendor.port}"]
        feeds += ["--feed", f"tcp:{program.port}", "--record", str(scratch / "recorded")]
        feeds += ["--response-cache-mb", "4", "--old-snapshots-mb", "16", "--refresh", "0.2"]
        still = SteppedClock(scratch / "still") if clock else None
        pushed = Daemon(asked.binary, *feeds, until=serves, environment=still and still.environment())
        pushed = Soak(pushed, "live", tally, asked.seed)
        pushed.pusher, pushed.names = program, [*vendor.names, *program.names]
        pushed.documents_mb = DOCUMENT_MB
        days = live.Days(scratch / "days")
        past = Daemon(asked.binary, "--feed", f"history:{scratch / 'days'}", "--history-mb", "16", until=knows_all)
        past = Soak(past, "days", tally, asked.seed)
        past.names, past.days = days.names, days.days
        positions, book_file = book.daemon(asked.binary, scratch)
        positions = Soak(positions, "book", tally, asked.seed)
        soaks = [made_up, files, pushed, past, positions]
        try:
            for soak in soaks:
                soak.daemon.launch()
            program.start()
            for soak in soaks:
                soak.daemon.wait(soak.daemon.until, soak.daemon.seconds)
            for name in [live.FRESH, "ZZ"]:
                live.push(pushed, program.lines(name, 100.0))
            everything = len(pushed.names) + 2
            pushed.daemon.wait(lambda health: knows_all(health) and health["underlyings"] == everything)
            vendor.spoils.set()
            made_up.names = ["SPY", "AAPL", "KO", "F"]
            book.prepare(positions, book_file)
            files.names, files.come_back, files.folder = folder.steady, folder.spoiled, folder
            descriptors = {soak.name: soak.daemon.descriptors() for soak in soaks}
            for soak in [made_up, files, pushed]:
                soak.start(*CLIENTS, answers_are_whole)
            files.start(spoiled_files)
            pushed.start(live.fresh_price, live.in_parts, live.in_parts, live.asks_if_changed, live.many_slow_readers)
            pushed.start(live.silent_pushers, live.hostile_pusher)
            past.start(live.past_days, live.past_days, slow_reader, reset_in_mid_stream, garbage, stopped_and_continued)
            positions.start(*book.ACTORS)
            if clock:
                made_up.clock = clock
                made_up.start(clock_set)
            watch(soaks, asked.minutes, measured)
            end(soaks, tally)
            for name in folder.spoiled:
                folder.restore(name)
            if clock:
                tally.count("sim: values follow the clock", values_follow_the_clock(made_up))
            vendor.spoils.clear()
            ways = ", ".join(f"{way} {n}" for way, n in sorted(vendor.done.items()))
            feeds = [line for line in pushed.daemon.get("/metrics").splitlines()
                     if line.startswith(("greeksd_feed_f", "greeksd_record_", "greeksd_quotes_dropped"))]
            program.ending.set()
            memory = {soak.name: ends_well(soak, measured[soak.name], descriptors[soak.name], tally) for soak in soaks}
        finally:
            for soak in soaks:
                soak.daemon.kill()
    print(f"seed {asked.seed}, {asked.minutes:g} minutes; the clock was {'set' if clock else 'left alone: no libfaketime here'}\n")
    show(soaks, tally, measured, memory)
    print(book.report(positions, measured["book"]))
    print(f"live: a price was served after {pushed.latest:.1f} s at most; answers of the vendor: {ways}")
    print("    " + "\n    ".join(feeds))
    return 1 if sum(tally.failed.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
