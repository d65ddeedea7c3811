"""Feeds for daemons with injected faults: two names, whose price encodes the time of its making.

Prices are 100 dollars and a dollar more for each day and a sixth since the market's clock was started, so that what is
served tells how old it is. The clock starts at eleven on a Friday, Eastern, whatever the time of day is.
"""

import datetime
import gzip
import http.server
import json
import os
import pathlib
import socket
import sys
import threading
import time
import urllib.parse

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "soak"))
import market
from daemon import free_port

NAMES = ["AAX", "BBX"]
BEGINS = datetime.datetime.fromisoformat("2026-11-20T11:00:00-05:00")
CLOCK = "2026-11-20T11:00"
EXPIRY = datetime.date(2026, 12, 18)
EVERY = 0.25
PACE = 100_000


def rows():
    """Quotes of a name at 100 dollars: right, strike, bid, ask."""
    lines = [row.split(",") for row in market.rows("X", 100.0, BEGINS.date(), EXPIRY)]
    return [(row[5], float(row[6]), float(row[7]), float(row[8])) for row in lines]


ROWS = rows()


def price(seconds):
    return round(100 + seconds / PACE, 6)


def age_of(price):
    """Seconds from the start of the clock to the making of a price."""
    return (price - 100) * PACE


def osi(name, right, strike):
    return f"{name}{EXPIRY:%y%m%d}{right[0].upper()}{round(strike * 1000):08}"


def lines(name, moment, seconds):
    """A name's whole chain and its price as lines to push."""
    stamp = moment.isoformat()
    out = [{"symbol": name, "price": price(seconds), "time": stamp}]
    for right, strike, bid, ask in ROWS:
        out.append({"root": name, "expiry": str(EXPIRY), "right": right, "strike": strike, "bid": bid or None, "ask": ask, "time": stamp})
    return "".join(json.dumps(line) + "\n" for line in out)


class Clock:
    """Time since a daemon was launched, and the time of its market."""

    def __init__(self, is_real=False, speed=1):
        self.began, self.is_real, self.speed = time.monotonic(), is_real, speed

    def seconds(self):
        return (time.monotonic() - self.began) * self.speed

    def now(self):
        if self.is_real:
            return datetime.datetime.now(datetime.timezone.utc)
        return BEGINS + datetime.timedelta(seconds=self.seconds())


class Pushed:
    """A program that pushes both names four times a second over one connection, and opens another where that ends."""

    def __init__(self, folder, is_real=False):
        self.port, self.folder, self.is_real = free_port(), folder, is_real
        self.connections, self.ending = 0, threading.Event()
        self.arguments = ["--feed", f"tcp:{self.port}", "--record", str(folder / "recorded")]
        self.arguments += [] if is_real else ["--clock", CLOCK]
        self.environment = {}

    def start(self, daemon):
        self.clock = Clock(self.is_real)
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        while not self.ending.is_set():
            try:
                with socket.create_connection(("127.0.0.1", self.port), timeout=5) as to:
                    self.connections += 1
                    while not self.ending.is_set():
                        now, seconds = self.clock.now(), self.clock.seconds()
                        to.sendall("".join(lines(name, now, seconds) for name in NAMES).encode())
                        time.sleep(EVERY)
            except OSError:
                time.sleep(0.05)

    def recorded(self):
        """The ages of the prices of the first name that the recording has."""
        ages = []
        for path in sorted((self.folder / "recorded").glob("*.gz")):
            with gzip.open(path, "rt") as file:
                for line in map(json.loads, file):
                    if line.get("symbol") == NAMES[0] and "price" in line:
                        ages.append(age_of(line["price"]))
        return ages

    def end(self):
        self.ending.set()


class Booked(Pushed):
    """The same beside a book of shares of the first name, and rules of alerts whose hits a program writes down."""

    SHARES = 100

    def __init__(self, folder):
        super().__init__(folder)
        self.rules, self.hits = folder / "rules", folder / "hits"
        (folder / "book.csv").write_text(self.book(self.SHARES))
        self.rules.touch()
        self.hits.touch()
        program = folder / "ring"
        program.write_text(f"#!/bin/sh\necho \"$1\" >> '{self.hits}'\n")
        program.chmod(0o755)
        self.arguments += ["--positions", str(folder / "book.csv"), "--allow-positions"]
        self.arguments += ["--alerts", str(self.rules), "--alert-command", str(program)]

    def book(self, shares):
        return f"symbol,quantity\n{NAMES[0]},{shares}\n"

    def add_rule(self, above):
        """A rule that is true at once; its text."""
        rule = f"{NAMES[0]} spot > {above}"
        beside = self.rules.with_suffix(".new")
        beside.write_text(f"{self.rules.read_text()}{rule}\n")
        beside.rename(self.rules)
        return rule

    def has_rung(self, rule):
        return rule in self.hits.read_text()


class Piped:
    """Pushes both names on standard input, where a reader's pieces end in the middle of a line."""

    def __init__(self, _):
        self.reader, self.writer = os.pipe()
        self.arguments = ["--feed", "stdin:", "--clock", CLOCK]
        self.environment, self.ending = {}, threading.Event()

    def start(self, daemon):
        self.clock = Clock()
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        held, kept = b"", 0
        try:
            while not self.ending.is_set():
                now, seconds = self.clock.now(), self.clock.seconds()
                held += "".join(lines(name, now, seconds) for name in NAMES).encode()
                # the first piece is whole: both names are there before anything fails
                cut, kept = len(held) - kept, 40
                os.write(self.writer, held[:cut])
                held = held[cut:]
                time.sleep(EVERY)
        except OSError:
            pass

    def end(self):
        self.ending.set()
        os.close(self.reader)


class Asked:
    """A server with Tradier's answers."""

    def __init__(self, _):
        feed = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                body = json.dumps(feed.answer(urllib.parse.urlsplit(self.path))).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{self.server.server_port}"
        self.arguments = ["--feed", f"tradier:{','.join(NAMES)},every=0.5,rate=6000@{address}", "--clock", CLOCK]
        self.environment = {"GREEKSD_TRADIER_TOKEN": "a-key-of-nobody"}
        self.clock = Clock()

    def start(self, daemon):
        self.clock = Clock()

    def answer(self, target):
        words, seconds = urllib.parse.parse_qs(target.query), self.clock.seconds()
        name, millis = (words.get("symbol") or words.get("symbols"))[0], int(self.clock.now().timestamp() * 1000)
        if target.path.endswith("/expirations"):
            return {"expirations": {"date": [str(EXPIRY)]}}
        if target.path.endswith("/quotes"):
            quotes = [{"symbol": one, "last": price(seconds), "trade_date": millis} for one in name.split(",")]
            return {"quotes": {"quote": quotes}}
        if target.path.endswith("/dividends"):
            return [{"request": name, "type": "Symbol", "results": []}]
        return {"options": {"option": [
            {"symbol": osi(name, right, strike), "underlying": name, "root_symbol": name, "strike": strike, "option_type": right,
             "expiration_date": str(EXPIRY), "contract_size": 100, "bid": bid, "ask": ask, "bidsize": 1, "asksize": 1,
             "bid_date": millis, "ask_date": millis} for right, strike, bid, ask in ROWS]}}

    def end(self):
        self.server.shutdown()


class Recorded:
    """A folder of recorded days; three hours of the last of them are replayed, a minute in a second."""

    SPEED = 60

    def __init__(self, folder):
        self.folder = folder / "days"
        self.folder.mkdir()
        for back in (2, 1):
            self.add_day(back)
        text = "".join(
            lines(name, BEGINS + datetime.timedelta(seconds=s), s) for s in range(0, 3 * 3600, 60) for name in NAMES
        )
        self.write(BEGINS.date(), text)
        self.arguments = ["--feed", f"history:{self.folder}", "--clock", CLOCK, "--speed", str(self.SPEED)]
        self.environment = {}

    def write(self, day, text):
        beside = self.folder / f".{day}.tmp"
        beside.write_bytes(gzip.compress(text.encode(), 1))
        beside.rename(self.folder / f"quotes-{day}.ndjson.gz")

    def add_day(self, back):
        """Adds the file of an earlier day; returns the day."""
        moment = BEGINS - datetime.timedelta(days=back)
        self.write(moment.date(), "".join(lines(name, moment, 0) for name in NAMES))
        return str(moment.date())

    def start(self, daemon):
        self.clock = Clock(speed=self.SPEED)

    def end(self):
        pass
