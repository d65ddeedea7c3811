"""One panic in each thread of a daemon: what `/health` says, how long it lasts, what is lost. Prints a table.

    python3 tests/faults/run.py                       every point
    python3 tests/faults/run.py line record           these alone
    python3 tests/faults/run.py --binary PATH         a build with the feature `fault-injection`

Each point has a daemon of its own on the loopback. When it serves both names, a file orders the panic (shim/host/src/faults.rs),
and `/health` is read every 50 ms. Exit code 1 where a panic was silent (neither counted in `/health`, as a fault of the
thread or a file that cannot be used, nor the end of the program with code 70), where nothing works again within a minute, or where more is lost than the point's own piece, page,
file or answer.
"""

import argparse
import dataclasses
import http.client
import json
import pathlib
import socket
import subprocess
import sys
import tempfile
import threading
import time
from typing import Callable

import feeds

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from daemon import ROOT, Daemon, knows_all, serves

PROGRAM = ROOT / "target" / "fault-injection" / "release" / "greeksd"
LOOK_EVERY = 0.05
PATIENCE = 60
SOFTWARE_FAILED = 70


class Silent(Exception):
    """Why the outcome of a fault is wrong."""


class Run:
    """A daemon with its feed and an injected panic."""

    def __init__(self, fault, binary, folder):
        self.fault, self.folder, self.order = fault, folder, folder / "order"
        self.feed = fault.feed(folder)
        log = (folder / "log").open("w+")
        environment = {**self.feed.environment, "GREEKSD_FAULT_FILE": str(self.order)}
        self.daemon = Daemon(binary, *self.feed.arguments, "--refresh", "0.1", log=log, environment=environment,
                             stdin=getattr(self.feed, "reader", subprocess.DEVNULL))
        self.notes, self.names_lost, self.said, self.unusable = {}, 0, [], 0

    def __enter__(self):
        if self.fault.is_early:
            self.give_order()
        self.daemon.launch()
        self.feed.start(self.daemon)
        self.daemon.wait(lambda health: knows_all(health) and health["underlyings"] == len(feeds.NAMES), PATIENCE)
        return self

    def __exit__(self, *_):
        self.feed.end()
        self.daemon.stop()
        self.daemon.folder.cleanup()

    def give_order(self):
        beside = self.order.with_suffix(".new")
        beside.write_text(self.fault.point)
        beside.rename(self.order)

    def now(self):
        """Seconds since the start of the clock."""
        return self.feed.clock.seconds()

    def rows(self, name):
        status, body = self.daemon.ask(f"/l1/greeks?format=ndjson&underlying={name}", timeout=10)
        return [json.loads(line) for line in body.decode().splitlines()] if status == 200 else []

    def are_whole(self):
        try:
            return all(len(self.rows(name)) == len(feeds.ROWS) for name in feeds.NAMES)
        except (OSError, http.client.HTTPException):
            return False

    def served(self):
        """Time of the older served name, seconds; -1e9 if a name is missing."""
        rows = [self.rows(name) for name in feeds.NAMES]
        if not all(len(of_name) == len(feeds.ROWS) for of_name in rows):
            self.names_lost = max(self.names_lost, sum(len(of_name) != len(feeds.ROWS) for of_name in rows))
            return -1e9
        return min(feeds.age_of(of_name[0]["und_price"]) for of_name in rows)

    def is_fresh(self):
        """True if both served names were made after the panic."""
        return self.served() > self.at

    def status(self, target):
        try:
            return self.daemon.ask(target, timeout=8)[0]
        except (OSError, http.client.HTTPException) as error:
            return type(error).__name__

    def code(self):
        return self.daemon.process.poll()

    def look(self):
        """The body of `/health`; None if there is no answer."""
        try:
            health = self.daemon.health(timeout=5)
        except (OSError, http.client.HTTPException, ValueError):
            return None
        if "status" not in health:
            # the answer that was looked at is the one that panicked
            return None
        self.unusable = health["files_unusable"]
        said = f"{health['status']} {json.dumps(health['thread_faults'])}"
        said += f", {self.unusable} file unusable" if self.unusable else ""
        if not self.said or self.said[-1] != said:
            self.said.append(said)
        return health

    def go(self):
        """Triggers the panic and waits for the recovery; returns the row of the table, and the faults."""
        fault, wrong = self.fault, []
        if not fault.is_early:
            self.give_order()
        asking = threading.Thread(target=lambda: fault.trigger(self)) if fault.trigger else None
        if asking:
            asking.start()
        began = time.monotonic()
        while self.order.exists():
            if time.monotonic() - began > PATIENCE:
                raise Silent(f"nobody came to the point {fault.point}")
            self.look()
            time.sleep(LOOK_EVERY / 5)
        self.at, began = self.now(), time.monotonic()
        recovered, counted = None, 0
        while time.monotonic() - began < PATIENCE:
            health = self.look()
            if self.code() is not None:
                break
            counted = max(counted, (health or {}).get("thread_faults", {}).get(fault.thread, 0), self.unusable)
            if not fault.ends and health and (counted or time.monotonic() - began > 5) and fault.recovered(self):
                recovered = time.monotonic() - began
                break
            time.sleep(LOOK_EVERY)
        if asking:
            asking.join()
        code, took = self.code(), time.monotonic() - began
        if fault.ends:
            if code != SOFTWARE_FAILED:
                wrong.append(f"the program did not end with {SOFTWARE_FAILED} but {code}")
            return [fault.point, self.story(), f"ends with {code} after {took:.1f} s", "the program; whoever supervises it starts it again"], wrong
        if code is not None:
            wrong.append(f"the program ended with {code}")
        if not counted:
            wrong.append("silent: not counted in /health")
        if recovered is None:
            wrong.append("it did not recover within a minute")
        if code is None and not self.are_whole():
            wrong.append("names are missing")
        lost = fault.lost(self) if fault.lost and code is None else "nothing"
        if self.names_lost:
            wrong.append(f"{self.names_lost} names were gone for a while")
        if lost.startswith("!"):
            wrong.append(lost[1:])
        return [fault.point, self.story(), "never" if recovered is None else f"{recovered:.2f} s", lost.lstrip("!")], wrong

    def story(self):
        return " → ".join(self.said[-3:])


@dataclasses.dataclass
class Fault:
    """A point that can be told to panic: with which feed, what brings its thread there, when all is well again, what is lost
    (text that begins with `!`: too much). An early one is ordered before the daemon starts."""

    point: str
    feed: type
    thread: str
    recovered: Callable = Run.is_fresh
    lost: Callable | None = None
    trigger: Callable | None = None
    ends: bool = False
    is_early: bool = False


def connect(run):
    """Opens a connection for quotes; returns how it ended."""
    try:
        with socket.create_connection(("127.0.0.1", run.feed.port), timeout=3) as to:
            to.settimeout(3)
            run.notes["connection"] = "closed" if to.recv(1) == b"" else "answered"
    except TimeoutError:
        run.notes["connection"] = "open"
    except OSError as error:
        run.notes["connection"] = type(error).__name__


def lost_connection(run):
    connect_again = run.notes["connection"]
    connect(run)
    return f"the new connection ({connect_again}); the next one is {run.notes['connection']}, pushers stay"


def lost_of_pushers(run):
    n = run.feed.connections
    return "a piece of lines; the connection stays" if n == 1 else "!the connection; the pusher opened another"


def lost_of_record(run):
    """The pushed prices that the recording lacks."""
    run.feed.end()
    run.daemon.process.terminate()
    run.daemon.process.wait(30)
    ages = [age for age in run.feed.recorded() if age > 0]
    gaps = [(b - a, a) for a, b in zip(ages, ages[1:])]
    longest, at = max(gaps)
    text = f"{longest:.1f} s of quotes in the recording (others are {sorted(gaps)[len(gaps) // 2][0]:.1f} s apart), around the panic {run.at - at:.1f} s later"
    return text if longest < 1.5 else "!" + text


def records(run):
    health = run.daemon.health()["record"]
    if "written" not in run.notes:
        run.notes["written"] = health["written"]
    return health["written"] > run.notes["written"]


def saves(run):
    saved = run.daemon.health()["state"]["saved_at"]
    if "saved" not in run.notes:
        run.notes["saved"] = saved
    return saved is not None and saved != run.notes["saved"]


def logs(run):
    """A later line is written."""
    connect(run)
    text = run.daemon.said()
    return text.count(" connected") > run.notes.setdefault("lines", text.count(" connected"))


def ask(target):
    return lambda run: run.notes.update(asked=run.status(target))


def answers(target):
    return lambda run: run.status(target) == 200


def lost_answer(run):
    return f"one answer ({run.notes['asked']})"


def lost_past(run):
    asked = run.notes["asked"]
    text = f"one answer ({asked})"
    return text if isinstance(asked, int) else "!" + text


def new_day(back):
    def add(run):
        run.notes["day"] = run.feed.add_day(back)

    return add


def finds_day(run):
    """Another day is found that comes after the panic."""
    if "later" not in run.notes:
        run.notes["later"] = run.feed.add_day(4)
    return run.status(past(run.notes["later"])) == 200


def lost_file(run):
    status = run.status(past(run.notes["day"]))
    return f"nothing: the file's day answers {status}" if status == 200 else f"the file: its day answers {status}"


def values_book(run):
    """The book is valued by a price that was made after the panic."""
    status, body = run.daemon.ask("/l1/positions?by=total", timeout=8)
    return status == 200 and feeds.age_of(json.loads(body)[0]["value"] / run.feed.SHARES) > run.at


def put(run, shares):
    connection = http.client.HTTPConnection("127.0.0.1", run.daemon.port, timeout=8)
    try:
        connection.request("PUT", "/l1/positions", run.feed.book(shares))
        return connection.getresponse().status
    except (OSError, http.client.HTTPException) as error:
        return type(error).__name__
    finally:
        connection.close()


def put_book(run):
    run.notes["asked"] = put(run, 2 * run.feed.SHARES)


def takes_book(run):
    return put(run, run.feed.SHARES) == 200 and values_book(run)


def add_rule(run):
    run.notes["rule"] = run.feed.add_rule(1)


def rings(run):
    """A later hit is delivered."""
    if "later" not in run.notes:
        run.notes["later"] = run.feed.add_rule(2)
    return run.feed.has_rung(run.notes["later"])


def lost_hit(run):
    return "nothing" if run.feed.has_rung(run.notes["rule"]) else "one hit is not delivered; /l1/stream and the log have it"


def listen(run, until):
    """Reads a stream until its text has something, or for some seconds; how that ended, and the text."""
    connection, text, began = http.client.HTTPConnection("127.0.0.1", run.daemon.port, timeout=8), b"", time.monotonic()
    try:
        connection.request("GET", STREAM)
        answer = connection.getresponse()
        while until not in text and time.monotonic() - began < 8:
            piece = answer.read1()
            if not piece:
                return "ended", text
            text += piece
        return "open", text
    except (OSError, http.client.HTTPException) as error:
        return type(error).__name__, text
    finally:
        connection.close()


def hear(run):
    run.notes["stream"], _ = listen(run, b"nothing has this")


def hears(run):
    return b"event: image" in listen(run, b"event: image")[1]


def lost_stream(run):
    how = run.notes["stream"]
    return "!the stream goes on as if nothing were" if how == "open" else f"one stream ({how}); its client connects again"


def past(day, name=feeds.NAMES[0]):
    return f"/l1/greeks?underlying={name}&as_of={day}T11:00"


OSYM = f"{feeds.NAMES[0]:<6}{feeds.EXPIRY:%y%m%d}C00100000".replace(" ", "%20")
EXPLAIN = f"/l1/explain?osym={OSYM}"
ANSWER = f"/l1/greeks?underlying={feeds.NAMES[0]}"
SCENARIO = f"/l1/scenario?underlying={feeds.NAMES[0]}&spot=-10..10:5"
STREAM = f"/l1/stream?underlying={feeds.NAMES[0]}&fields=delta&every=100ms"
DAYS = ["2026-11-18", "2026-11-19"]


class Live(feeds.Pushed):
    """By the clock of the system, as the state folder wants it."""

    def __init__(self, folder):
        super().__init__(folder, is_real=True)


FAULTS = [
    Fault("poll", feeds.Asked, "poll"),
    Fault("poll.answer", feeds.Asked, "poll", lost=lambda run: f"one sweep of a name ({run.daemon.health()['feeds'][0]['failures']})"),
    Fault("poll.dividends", feeds.Asked, "poll", lost=lambda _: "the dividends of a name, until they are asked for again", is_early=True),
    Fault("lines", feeds.Pushed, "lines", trigger=connect, lost=lost_connection),
    Fault("line", feeds.Pushed, "line", lost=lost_of_pushers),
    Fault("stdin", feeds.Piped, "stdin", lost=lambda _: "a piece of lines"),
    Fault("record", feeds.Pushed, "record", recovered=records, lost=lost_of_record),
    Fault("state", Live, "state", recovered=saves, lost=lambda _: "one save; the next one has everything"),
    Fault("log", feeds.Pushed, "log", trigger=connect, recovered=logs, lost=lambda _: "one line of the log"),
    Fault("folder", feeds.Recorded, "folder", trigger=new_day(3), recovered=finds_day, lost=lost_file),
    Fault("folder.file", feeds.Recorded, "folder", trigger=new_day(3), recovered=finds_day, lost=lost_file),
    Fault("recorded", feeds.Recorded, "recorded"),
    Fault("archive", feeds.Recorded, "archive", trigger=ask(past(DAYS[0])), recovered=answers(past(DAYS[1])), lost=lost_past),
    Fault("explain", feeds.Pushed, "explain", trigger=ask(EXPLAIN), recovered=answers(EXPLAIN), lost=lost_answer),
    Fault("scenario", feeds.Pushed, "scenario", trigger=ask(SCENARIO), recovered=answers(SCENARIO), lost=lost_answer),
    Fault("positions", feeds.Booked, "positions", recovered=values_book, lost=lambda _: "nothing: a second of the book's values"),
    Fault("positions.put", feeds.Booked, "positions", trigger=put_book, recovered=takes_book, lost=lost_answer),
    Fault("alerts", feeds.Booked, "alerts", trigger=add_rule, recovered=rings, lost=lost_hit),
    Fault("stream", feeds.Pushed, "http", trigger=hear, recovered=hears, lost=lost_stream),
    Fault("http.answer", feeds.Pushed, "http", trigger=ask(ANSWER), recovered=answers(ANSWER), lost=lambda _: "one answer (500)"),
    Fault("market", feeds.Pushed, "market", ends=True),
    Fault("http-small", feeds.Pushed, "http-small", ends=True),
    Fault("http-bulk", feeds.Pushed, "http-bulk", ends=True),
]


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("points", nargs="*", help="these alone")
    arguments.add_argument("--binary", default=PROGRAM)
    arguments.add_argument("--logs", type=pathlib.Path, help="keeps each daemon's log in this folder")
    options = arguments.parse_args()
    known = [fault.point for fault in FAULTS]
    if unknown := [point for point in options.points if point not in known]:
        arguments.error(f"no such point: {', '.join(unknown)}; there are {', '.join(known)}")
    failed = []
    print("| point | what `/health` said: status, `thread_faults` | whole again | lost |\n|---|---|---|---|", flush=True)
    for fault in FAULTS:
        if options.points and fault.point not in options.points:
            continue
        with tempfile.TemporaryDirectory(prefix="greeksd-faults-") as folder, Run(fault, options.binary, pathlib.Path(folder)) as run:
            try:
                row, wrong = run.go()
            except Silent as why:
                row, wrong = [fault.point, run.story(), "never", ""], [str(why)]
            if options.logs:
                options.logs.mkdir(parents=True, exist_ok=True)
                (options.logs / f"{fault.point}.log").write_text(run.daemon.said())
        print("| " + " | ".join(row) + " |", flush=True)
        failed += [f"{fault.point}: {what}" for what in wrong]
    for what in failed:
        print(f"FAILED {what}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
