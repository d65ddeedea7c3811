#!/usr/bin/env python3
"""200 clients of /l1/stream on one daemon: one stopped, one slow, one that connects again, all others beside polling.

usage: run.py [--greeksd PATH] [--clients N] [--seconds S] [--over events|socket]

Over a WebSocket each client changes what it asks for once, from other rows to those of all. The daemon serves the simulated market of a session that runs. Each client keeps the rows that it was sent. At the end a
fresh client's image is what every other must have: nothing is lost, whatever the stopped and the slow one do; it is
compared with /l1/greeks of the same snapshot, digit by digit. Memory is looked at over the time. Python's library alone; exit code 1
where something is wrong.
"""
import argparse, base64, json, os, pathlib, re, socket, struct, sys, threading, time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from daemon import PROGRAM, Daemon, knows_all

FIELDS = "svc_theo,delta,svc_vol"
ROWS = "underlying=SPY,KO&max_days=40&center=atf&strike_count=5"
TARGET = f"/l1/stream?{ROWS}&fields={FIELDS}&every=2s"


class Client(threading.Thread):
    """Reads a stream and keeps its rows; `pause` seconds between two reads."""

    def __init__(self, daemon, pause=0.0, last=None, room=None):
        super().__init__(daemon=True)
        self.socket = socket.create_connection(("127.0.0.1", daemon.port))
        if room:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, room)
        self.socket.sendall((self.head(daemon, last) + "\r\n").encode())
        self.pause, self.rows, self.snapshot, self.id = pause, {}, 0, None
        self.images = self.updates = self.missed = 0
        self.closed = False
        self.error = None

    def head(self, daemon, last):
        head = f"GET {TARGET} HTTP/1.1\r\nHost: 127.0.0.1:{daemon.port}\r\n"
        return head + (f"Last-Event-ID: {last}\r\n" if last else "")

    def pieces(self):
        while not self.closed and (piece := self.socket.recv(65536 if not self.pause else 2048)):
            yield piece
            if self.pause:
                time.sleep(self.pause)

    def read(self):
        text, body = b"", b""
        for piece in self.pieces():
            text += piece
            if b"\r\n\r\n" in text and not body and not self.images and text.startswith(b"HTTP"):
                head, text = text.split(b"\r\n\r\n", 1)
                assert head.startswith(b"HTTP/1.1 200") and b"text/event-stream" in head, head
            # chunks: size, line end, bytes, line end
            while (end := text.find(b"\r\n")) >= 0 and not text.startswith(b"HTTP"):
                size = int(text[:end], 16)
                if len(text) < end + 2 + size + 2:
                    break
                body += text[end + 2 : end + 2 + size]
                text = text[end + 4 + size :]
            while b"\n\n" in body:
                event, body = body.split(b"\n\n", 1)
                self.take(event.decode())

    def run(self):
        try:
            self.read()
        except OSError as error:
            self.error = None if self.closed else error
        except Exception as error:  # a wrong event
            self.error = error

    def take(self, event):
        fields = dict(line.split(": ", 1) for line in event.split("\n") if not line.startswith(":"))
        if "data" not in fields:
            return
        self.note(fields["event"], fields.get("id"), json.loads(fields["data"]))

    def note(self, event, id, data):
        if event == "image":
            self.images += 1
        else:
            self.updates += 1
        self.missed = max(self.missed, data["missed"])
        for row in data["rows"]:
            self.rows[row["osym"]] = row
        for osym in data["gone"]:
            self.rows.pop(osym, None)
        if not data["more"]:
            self.snapshot, self.id = data["snapshot"], id

    def close(self):
        self.closed = True
        self.socket.close()


class SocketClient(Client):
    """Reads the stream over a WebSocket, and answers pings."""

    MORE = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n"
    OTHER = f"/l1/stream?underlying=KO&max_days=10&fields={FIELDS}&every=2s"
    PARAMETERS = dict(pair.split("=") for pair in TARGET.partition("?")[2].split("&"))

    def head(self, daemon, last):
        key = base64.b64encode(os.urandom(16)).decode()
        return super().head(daemon, last).replace(TARGET, self.OTHER) + self.MORE.format(key=key)

    def send(self, opcode, payload):
        mask = os.urandom(4)
        masked = bytes(byte ^ mask[i % 4] for i, byte in enumerate(payload))
        length = bytes([0x80 | len(payload)]) if len(payload) < 126 else struct.pack(">BH", 0xFE, len(payload))
        self.socket.sendall(bytes([0x80 | opcode]) + length + mask + masked)

    def read(self):
        text, message, is_changed = b"", b"", False
        for piece in self.pieces():
            text += piece
            if text.startswith(b"HTTP"):
                if b"\r\n\r\n" not in text:
                    continue
                head, text = text.split(b"\r\n\r\n", 1)
                assert head.startswith(b"HTTP/1.1 101"), head
            while len(text) >= 2:
                start = {126: 4, 127: 10}.get(text[1], 2)
                if len(text) < start:
                    break
                size = int.from_bytes(text[2:start], "big") if start > 2 else text[1]
                if len(text) < start + size:
                    break
                first, payload, text = text[0], text[start : start + size], text[start + size :]
                if first & 15 == 9:
                    self.send(10, payload)
                    continue
                assert first & 15 in (0, 1), f"closed or no text: {payload}"
                message += payload
                if first & 0x80:
                    self.hear(json.loads(message))
                    message = b""
            if self.images and not is_changed:
                is_changed = True
                self.send(1, json.dumps(self.PARAMETERS).encode())

    def hear(self, data):
        if data["event"] == "subscribed":
            # what comes from now on is of the other request
            self.rows, self.images, self.updates, self.snapshot = {}, 0, 0, 0
        else:
            self.note(data["event"], data.get("id"), data)


KINDS = {"events": Client, "socket": SocketClient}


def polled(daemon):
    """Rows of /l1/greeks and their snapshot; the same snapshot before and after."""
    while True:
        before = daemon.health()["snapshot_number"]
        rows = daemon.json(f"/l1/greeks?{ROWS}")
        if daemon.health()["snapshot_number"] == before:
            return before, {r["osym"]: {k: r[k] for k in ["osym", *FIELDS.split(",")]} for r in rows}


def main():
    parser = argparse.ArgumentParser(description=__doc__.strip().split("\n")[0])
    parser.add_argument("--greeksd", default=PROGRAM, type=pathlib.Path)
    parser.add_argument("--clients", default=200, type=int)
    parser.add_argument("--seconds", default=40, type=int)
    parser.add_argument("--over", choices=KINDS)
    wanted = parser.parse_args()
    failed = sum((trial(wanted, kind) for name, kind in KINDS.items() if wanted.over in (None, name)), [])
    for why in failed:
        print(f"FAIL {why}")
    if not failed:
        print("ok   nothing lost; memory flat; every client has what polling shows")
    sys.exit(1 if failed else 0)


def trial(wanted, Client):
    """What went wrong with clients of a kind."""
    failed = []
    still = ["--feed", "sim", "--clock", "2026-11-20T10:42", "--log-level", "error"]
    with Daemon(wanted.greeksd, *still, until=knows_all) as daemon:
        before = daemon.memory_mb()
        clients = [Client(daemon) for _ in range(wanted.clients)]
        stopped = Client(daemon, room=4096)  # never reads
        slow = Client(daemon, pause=0.02, room=4096)
        returning = Client(daemon)
        for client in [*clients, slow, returning]:
            client.start()
        time.sleep(wanted.seconds / 3)
        early = daemon.memory_mb()
        last = returning.id
        returning.close()
        time.sleep(wanted.seconds / 3)
        back = Client(daemon, last=last)
        back.start()
        time.sleep(wanted.seconds / 3)
        late = daemon.memory_mb()
        # the market is polled, and each client is compared when it says that it is at the same snapshot
        left = {*clients, back}
        until = time.monotonic() + 60
        while left and time.monotonic() < until:
            number, rows = polled(daemon)
            caught = time.monotonic() + 3
            while left and time.monotonic() < caught:
                for client in [c for c in left if c.snapshot == number]:
                    if client.rows == rows:
                        left.discard(client)
                    elif client.snapshot == number:
                        differ = sum(client.rows.get(osym) != row for osym, row in rows.items())
                        failed.append(f"a client differs from polling in {differ} of {len(rows)} rows of snapshot {number}")
                        left.discard(client)
                time.sleep(0.02)
        if left:
            failed.append(f"{len(left)} clients were never at a snapshot that was polled")
        errors = [c.error for c in [*clients, back, slow] if c.error and c is not slow]
        failed = failed[:5]
        if errors:
            failed.append(f"{len(errors)} streams broke: {errors[0]!r}")
        if not all(c.images >= 1 and c.updates >= 3 for c in clients):
            failed.append("a client had no image, or fewer than three updates")
        if not back.missed:
            failed.append("the client that came back was not told what it missed")
        if late > early * 1.25 + 20:
            failed.append(f"memory grew from {early:.0f} to {late:.0f} MB")
        metrics = daemon.get("/metrics")
        held = re.search(r'greeksd_memory_bytes\{[^}]*"streams"[^}]*\} (\d+)', metrics)
        print(f"     {Client.__name__}: {wanted.clients} clients, {len(rows)} rows each, {sum(c.updates for c in clients)} updates; memory {before:.0f} MB before, {early:.0f} early, {late:.0f} late; streams hold {int(held.group(1)) / 1e6 if held else float('nan'):.1f} MB")
        print(f"     slow: {slow.updates} updates, missed up to {slow.missed} snapshots; back: missed {back.missed}")
        stopped.close()
    return failed


if __name__ == "__main__":
    main()
