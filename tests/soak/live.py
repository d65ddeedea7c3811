"""A live market for the soak: a vendor that misbehaves, a program that pushes, hostile connections to its port, readers in
parts, and a folder of recorded days."""

import datetime
import http.client
import http.server
import json
import random
import socket
import threading
import time
import urllib.parse

import market
from restart import Pusher, name_of

EXPIRIES = 4
ROWS = EXPIRIES * market.ROWS
FRESH = "FRESH"
# a changed price is served within this time, seconds: a pass, a poll of the feed and a kept body are far less together
FRESH_SECONDS = 20


class Vendor:
    """A stand-in in Cboe's shape. It is well until `spoils` is set, and after that wrong in most answers."""

    WAYS = ["error", "busy", "cut", "garbage", "other_name", "ahead", "drip", "spaces", "deep", "endless_head"]

    def __init__(self, names, now):
        self.names, self.now, self.spoils, self.done = names, now, threading.Event(), {}
        vendor = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                name = urllib.parse.urlsplit(self.path).path.rsplit("/", 1)[-1].removesuffix(".json")
                way = random.choice([*vendor.WAYS, "well", "well"]) if vendor.spoils.is_set() else "well"
                vendor.done[way] = vendor.done.get(way, 0) + 1
                try:
                    vendor.answer(self, name, way)
                except OSError:
                    pass

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        # a daemon that is done with a bad answer closes
        self.server.handle_error = lambda *_: None
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.port = self.server.server_port

    def document(self, name, ahead=0):
        now = self.now() + datetime.timedelta(seconds=ahead)
        options = []
        for row in market.rows(name, 100.0, now.date(), now.date() + datetime.timedelta(days=45)):
            _, _, _, root, expiry, right, strike, bid, ask, *_ = row.split(",")
            symbol = f"{root}{expiry[2:4]}{expiry[5:7]}{expiry[8:]}{right[0].upper()}{int(float(strike) * 1000):08}"
            options.append({"option": symbol, "bid": float(bid), "ask": float(ask), "bid_size": 1.0, "ask_size": 1.0,
                            "last_trade_time": None})
        stamp = f"{now.astimezone(datetime.timezone.utc):%Y-%m-%d %H:%M:%S}"
        data = {"symbol": name, "current_price": 100.0, "options": options}
        return json.dumps({"timestamp": stamp, "symbol": name, "data": data}).encode()

    def answer(self, to, name, way):
        body, status = self.document(name), 200
        if way == "error":
            status, body = 500, b"{}"
        elif way == "busy":
            status, body = 429, b"{}"
        elif way == "garbage":
            body = random.randbytes(20_000)
        elif way == "other_name":
            body = self.document("OTHER")
        elif way == "ahead":
            body = self.document(name, ahead=5 * 3600)
        elif way == "spaces":
            body = b" " * 30_000_000 + body
        elif way == "deep":
            body = b"[" * 1_000_000
        if way == "endless_head":
            to.wfile.write(b"HTTP/1.1 200 OK\r\n")
            for _ in range(3_000):
                to.wfile.write(b"X-More: " + b"x" * 100 + b"\r\n")
            return
        to.send_response(status)
        to.send_header("Content-Length", str(len(body)))
        to.end_headers()
        if way == "cut":
            to.wfile.write(body[: len(body) // 2])
            to.close_connection = True
        elif way == "drip":
            for at in range(0, 200):
                to.wfile.write(body[at : at + 1])
                time.sleep(0.1)
            to.close_connection = True
        else:
            to.wfile.write(body)


class Program(Pusher):
    """The program that pushes: names of four expiries. `FRESH` is pushed by the soak alone."""

    def __init__(self, port, names, now):
        super().__init__(port, names, now)
        self.expiries = [now().date() + datetime.timedelta(days=days) for days in (20, 40, 80, 160)]


def push(soak, text):
    """Pushes a text over a new connection."""
    with socket.create_connection(("127.0.0.1", soak.pusher.port), timeout=10) as to:
        to.sendall(text.encode())


def fresh_price(soak, chance):
    """A pushed price is soon served by a plain GET, also while other clients read the target in parts."""
    price = round(chance.uniform(90, 110), 2)
    push(soak, soak.pusher.lines(FRESH, price))
    began = time.monotonic()
    while not soak.ending.is_set():
        status, body = soak.daemon.ask(fresh_target())
        seen = {row["und_price"] for row in json.loads(body)} if status == 200 else status
        if seen == {price}:
            break
        assert time.monotonic() - began < FRESH_SECONDS, f"{price} is not served: {seen}"
        time.sleep(0.05)
    soak.latest = max(soak.latest, time.monotonic() - began)
    time.sleep(0.2)


def fresh_target():
    return f"/l1/greeks?underlying={FRESH}&greeks=all"


def in_parts(soak, chance):
    """A whole answer in parts of one version; a version that has gone answers as a whole, and is begun again."""
    target = chance.choice([fresh_target(), soak.whole_market()])
    connection = http.client.HTTPConnection("127.0.0.1", soak.daemon.port, timeout=60)
    try:
        connection.request("HEAD", target)
        head = connection.getresponse()
        head.read()
        if head.headers["Content-Length"] is None or head.status == 503:
            # more than the bound of kept bodies: a fresh stream, or none while slow readers hold too much
            soak.tally.count(f"{soak.name}:   no parts: {head.status}")
            return
        length, tag = int(head.headers["Content-Length"]), head.headers["ETag"]
        at = 0
        while at < length and not soak.ending.is_set():
            size = chance.randrange(1, 400_000)
            connection.request("GET", target, headers={"Range": f"bytes={at}-{at + size - 1}", "If-Range": tag})
            part = connection.getresponse()
            body = part.read()
            if part.status != 206:
                assert part.status in (200, 503), part.status
                break
            assert part.headers["ETag"] == tag and part.headers["Content-Range"].startswith(f"bytes {at}-")
            at += len(body)
    finally:
        connection.close()
    time.sleep(0.1)


def asks_if_changed(soak, _):
    connection = http.client.HTTPConnection("127.0.0.1", soak.daemon.port, timeout=60)
    try:
        tag = None
        for _ in range(20):
            connection.request("GET", fresh_target(), headers={"If-None-Match": tag} if tag else {})
            answer = connection.getresponse()
            body = answer.read()
            assert answer.status in (200, 304) and (answer.status == 200) == bool(body), answer.status
            tag = answer.headers["ETag"]
    finally:
        connection.close()
    time.sleep(0.2)


def many_slow_readers(soak, chance):
    """So many at the slowest rate that is let through that the bound of old snapshots is met; a refusal is a 503."""
    socks = []
    try:
        for n in range(30):
            sock = soak.connect()
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            sock.sendall(soak.ask(soak.whole_market() + f"&min_strike={chance.randrange(60)}"))
            socks.append(sock)
            soak.is_refused(sock)
            soak.ending.wait(0.3)
        ends = time.monotonic() + 20
        while time.monotonic() < ends and not soak.ending.is_set():
            for sock in socks:
                sock.recv(16384)
            time.sleep(1)
    except ConnectionError:
        pass
    finally:
        for sock in socks:
            sock.close()
    soak.ending.wait(20)


def silent_pushers(soak, _):
    """Connections that say nothing: the program that pushes is not locked out."""
    socks = []
    try:
        for _ in range(80):
            socks.append(socket.create_connection(("127.0.0.1", soak.pusher.port), timeout=10))
        soak.ending.wait(15)
    finally:
        for sock in socks:
            sock.close()


def hostile_pusher(soak, chance):
    """Lines that are no records, a line without end, records of hours ahead, contracts without end."""
    ahead = (soak.pusher.now() + datetime.timedelta(hours=4)).isoformat()
    lines = [
        chance.randbytes(3000) + b"\n",
        b'{"symbol":"' + b"A" * 5_000_000,
        json.dumps({"symbol": soak.names[0], "price": 1.0, "time": ahead}).encode() + b"\n",
        b"".join(
            b'{"osym":"ZZ261218C%08d","bid":1,"ask":2,"time":"%s"}\n' % (i, soak.pusher.now().isoformat().encode())
            for i in range(1000, 3000)
        ),
        b"\x1b]0;title\x07\n" * 50,
    ]
    try:
        with socket.create_connection(("127.0.0.1", soak.pusher.port), timeout=10) as to:
            to.sendall(b'{"symbol":"ZZ","price":10,"time":"2026-11-20T16:00:00Z"}\n')
            to.sendall(chance.choice(lines))
            time.sleep(0.2)
    except OSError:
        pass
    time.sleep(0.5)


class Days:
    """A folder of recorded days: more than are kept in memory at the least bound."""

    def __init__(self, path, names=40, days=30):
        self.names = [name_of(i) for i in range(names)]
        wednesday = datetime.date(2026, 11, 18)
        self.days = [wednesday - datetime.timedelta(days=7 * i) for i in range(days)]
        path.mkdir()
        for day in self.days:
            zone = "-05:00" if day >= datetime.date(2026, 11, 1) else "-04:00"
            for name in self.names:
                text = market.HEADER + "".join(market.rows(name, 100.0, day, day + datetime.timedelta(days=60)))
                (path / f"{name}_{day}.csv").write_text(text.replace("-05:00", zone))


def past_days(soak, chance):
    """A day of a name, whole; or all days of it."""
    name = chance.choice(soak.names)
    day = chance.choice(soak.days)
    status, body = soak.daemon.ask(f"/l1/greeks?underlying={name}&as_of={day}")
    assert status in (200, 503), f"{name} {day}: {status} {body[:200]}"
    assert status == 503 or len(json.loads(body)) == market.ROWS, f"{name} {day}: {len(json.loads(body))} rows"
    if chance.random() < 0.2:
        first, last = soak.days[-1], soak.days[0]
        status, body = soak.daemon.ask(f"/l1/greeks?underlying={name}&start={first}&end={last}&format=ndjson")
        rows = body.count(b"\n")
        assert status == 503 or (status, rows) == (200, len(soak.days) * market.ROWS), f"{name}: {status}, {rows} rows"
    time.sleep(0.05)
