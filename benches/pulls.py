#!/usr/bin/env python3
"""Pulls over HTTP beside nginx serving the same bytes as files, on this machine, in one run, while passes are computed.

usage: pulls.py [--greeksd PATH] [--feed FEED] [--seconds S] [--clients N,N,…] [--only WORD]

Needs nginx and wrk (Debian: apt-get install nginx-light wrk). Prints answers a second and the processor time of the server
for each pull: greeksd when others ask for the same (hit), greeksd when everybody asks for something else (miss), nginx; then
small requests alone and beside pulls, and memory with many connections. hyper and may_minihttp behind the same service are
measured by `cargo run --release -p greeksd-benches --example load`.
"""
import argparse, http.client, json, os, pathlib, re, signal, socket, subprocess, sys, tempfile, threading, time, urllib.request

ROOT = pathlib.Path(__file__).resolve().parent.parent
SMALL = "/l1/greeks?osym={osym}"
PULLS = [
    ("chain, JSON, all groups", "/l1/greeks?underlying={name}&greeks=all"),
    ("chain, CSV, core", "/l1/greeks?underlying={name}&format=csv"),
    ("chain, Arrow, all groups", "/l1/greeks?underlying={name}&greeks=all&format=arrow"),
    ("columnar v3, CSV, all", "/v3/option/snapshot/greeks/all?symbol={name}&expiration=*"),
    ("term structure", "/l1/greeks?underlying={name}&center=atf&right=call&greeks=core,chain"),
]
# every request asks for something else: a parameter that carries a key and is not looked at
MISSES = """
local n = 0
local thread = 0
function setup(t) t:set("id", thread); thread = thread + 1 end
function request() n = n + 1; return wrk.format("GET", wrk.path .. "&apikey=" .. id .. "x" .. n) end
"""


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def seconds_of(path):
    fields = pathlib.Path(path).read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Server:
    """A running server: where it is, and the processor time of what serves in it."""

    def __init__(self, process, address):
        self.process, self.address = process, address

    def seconds(self):
        raise NotImplementedError

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(60)


class Greeksd(Server):
    def __init__(self, path, feed, work):
        port = free_port()
        command = [path, "--listen", f"127.0.0.1:{port}", "--feed", feed, "--state-dir", work / "state", "--log-level", "warn",
                   # a Friday morning: outside of sessions there would be no passes
                   "--clock", "2026-11-20T10:30:00-05:00"]
        super().__init__(subprocess.Popen(command), f"http://127.0.0.1:{port}")
        began = time.time()
        while time.time() < began + 1800:
            try:
                health = json.load(urllib.request.urlopen(self.address + "/health", timeout=5))
                if health["pending"] == 0 and health["contracts_priced"] > 0:
                    return
            except OSError:
                pass
            time.sleep(0.5)
        self.stop()
        sys.exit("the daemon does not serve")

    def seconds(self):
        """Of the threads that serve, not of those that compute."""
        tasks = pathlib.Path(f"/proc/{self.process.pid}/task").iterdir()
        return sum(seconds_of(task / "stat") for task in tasks if (task / "comm").read_text().startswith("http"))

    def memory(self):
        lines = pathlib.Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS"))


class Nginx(Server):
    def __init__(self, work):
        port = free_port()
        (work / "files").mkdir()
        (work / "nginx.conf").write_text(
            f"""daemon off; worker_processes {os.cpu_count()}; pid {work}/nginx.pid; error_log /dev/null;
events {{ worker_connections 1024; }}
http {{ access_log off; sendfile on; tcp_nopush on; keepalive_requests 10000000; default_type application/json;
  client_body_temp_path {work}/t1; proxy_temp_path {work}/t2; fastcgi_temp_path {work}/t3; uwsgi_temp_path {work}/t4; scgi_temp_path {work}/t5;
  server {{ listen 127.0.0.1:{port}; root {work}/files; }} }}"""
        )
        for folder in [work, work / "files"]:
            folder.chmod(0o755)
        super().__init__(subprocess.Popen(["nginx", "-c", work / "nginx.conf", "-p", work]), f"http://127.0.0.1:{port}")
        time.sleep(0.5)

    def seconds(self):
        children = pathlib.Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        return sum(seconds_of(f"/proc/{child}/stat") for child in children)


def wrk(url, clients, seconds, *more):
    command = ["wrk", "-t", str(min(clients, 2)), "-c", str(clients), "-d", f"{seconds}s", "--timeout", "30s", "--latency", *more, url]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def read(process):
    """Answers a second, milliseconds at the median and at 99 %, answers that failed."""
    text = process.communicate()[0]
    to_ms = {"us": 1e-3, "ms": 1.0, "s": 1e3}
    latency = lambda at: next((float(n) * to_ms[unit] for n, unit in re.findall(at + r"%\s+([\d.]+)(us|ms|s)", text)), float("nan"))
    failed = sum(map(int, re.findall(r"Non-2xx or 3xx responses: (\d+)", text)))
    return float(re.search(r"Requests/sec:\s+([\d.]+)", text)[1]), latency("50"), latency("99"), failed


def measure(server, url, clients, seconds, *more):
    before = server.seconds()
    rate, middle, high, failed = read(wrk(url, clients, seconds, *more))
    if failed:
        sys.exit(f"{url}: {failed} answers that are not 2xx")
    return rate, 1e6 * (server.seconds() - before) / (rate * seconds), middle, high


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--greeksd", default=ROOT / "target/release/greeksd", type=pathlib.Path)
    parser.add_argument("--feed", default="sim:full")
    parser.add_argument("--name", default="SPX")
    parser.add_argument("--seconds", default=3, type=int)
    parser.add_argument("--clients", default="1,16,64", type=lambda text: [int(n) for n in text.split(",")])
    parser.add_argument("--only", default="", help="pulls whose name has this word")
    wanted = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="greeksd-http-") as work:
        work = pathlib.Path(work)
        greeksd, nginx = Greeksd(wanted.greeksd, wanted.feed, work), Nginx(work)
        try:
            report(wanted, work, greeksd, nginx)
        finally:
            greeksd.stop()
            nginx.stop()


def report(wanted, work, greeksd, nginx):
    fill = lambda pattern, **more: pattern.format(name=wanted.name, **more)
    misses = work / "misses.lua"
    misses.write_text(MISSES)
    seconds = wanted.seconds
    print("| pull | bytes | clients | hit | miss | nginx | hit/nginx | miss/nginx | us of processor: hit | miss | nginx | s/GB: hit | miss |")
    print("|---|---|---|---|---|---|---|---|---|---|---|---|---|")
    for i, (what, pattern) in enumerate(PULLS):
        if wanted.only not in what:
            continue
        target = fill(pattern)
        body = urllib.request.urlopen(greeksd.address + target).read()
        (work / f"files/{i}.body").write_bytes(body)
        for clients in wanted.clients:
            of_files = measure(nginx, f"{nginx.address}/{i}.body", clients, seconds)
            hit = measure(greeksd, greeksd.address + target, clients, seconds)
            miss = measure(greeksd, greeksd.address + target, clients, seconds, "-s", str(misses))
            per_gb = lambda measured: measured[1] / 1e6 / (len(body) / 1e9)
            print(
                f"| {what} | {len(body):,} | {clients} | {hit[0]:,.0f} | {miss[0]:,.0f} | {of_files[0]:,.0f} | {hit[0] / of_files[0]:.2f} "
                f"| {miss[0] / of_files[0]:.2f} | {hit[1]:,.1f} | {miss[1]:,.1f} | {of_files[1]:,.1f} | {per_gb(hit):.2f} | {per_gb(miss):.2f} |",
                flush=True,
            )
    chain = json.load(urllib.request.urlopen(greeksd.address + fill(PULLS[4][1])))
    small = greeksd.address + SMALL.format(osym=chain[0]["osym"].replace(" ", "%20"))
    streams = greeksd.address + fill(PULLS[0][1])
    print("\n| small requests, 4 clients | a second | p50, ms | p99, ms |\n|---|---|---|---|")
    for beside in (0, 4, 64):
        other = wrk(streams, beside, seconds + 2, "-s", str(misses)) if beside else None
        time.sleep(0.5 if other else 0)
        rate, _, middle, high = measure(greeksd, small, 4, seconds, "-s", str(misses))
        print(f"| beside {beside} that pull chains | {rate:,.0f} | {middle:.2f} | {high:.2f} |", flush=True)
        if other:
            other.communicate()
    before = greeksd.memory()
    port = int(greeksd.address.rpartition(":")[2])
    sockets = [socket.create_connection(("127.0.0.1", port)) for _ in range(512)]
    for one in sockets:
        one.sendall(b"GET /l1/symbols?limit=1 HTTP/1.1\r\nHost: localhost\r\n\r\n")
        one.recv(65536)
    print(f"\nmemory with 512 connections: {greeksd.memory() - before:+.1f} MB of {before:.0f} MB")
    for one in sockets:
        one.close()
    poll(greeksd, wanted)
    began = time.perf_counter()
    length = 0
    with urllib.request.urlopen(greeksd.address + "/l1/greeks?underlying=*&greeks=all&format=arrow") as answer:
        while piece := answer.read(1 << 20):
            length += len(piece)
    print(f"whole market as Arrow, one client: {length / 1e6:,.0f} MB in {time.perf_counter() - began:.2f} s")


def poll(greeksd, wanted, programs=100, names=20, seconds=20):
    """Programs that look at chains once a second: what serving costs, and who falls behind."""
    symbols = json.load(urllib.request.urlopen(greeksd.address + "/l1/symbols"))
    liquid = sorted((s for s in symbols if s["state"] != "uncomputed"), key=lambda s: -s["contracts"])
    chosen = [s["symbol"] for s in liquid[10 : 10 + names]] or [wanted.name]
    host = greeksd.address.removeprefix("http://")
    begins = time.time() + 1
    took, late = [], []

    def program(i):
        connection = http.client.HTTPConnection(host, timeout=30)
        for second in range(seconds):
            at = begins + second + i / programs
            time.sleep(max(0, at - time.time()))
            began = time.time()
            connection.request("GET", f"/l1/greeks?underlying={chosen[i % len(chosen)]}&greeks=all")
            answer = connection.getresponse()
            while answer.read(1 << 20):
                pass
            took.append(time.time() - began)
            late.append(began - at > 1)

    threads = [threading.Thread(target=program, args=(i,)) for i in range(programs)]
    serving, before = greeksd.seconds(), hits(greeksd)
    whole = seconds_of(f"/proc/{greeksd.process.pid}/stat")
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    serving, whole = greeksd.seconds() - serving, seconds_of(f"/proc/{greeksd.process.pid}/stat") - whole
    took.sort()
    print(
        f"{programs} programs that poll {len(chosen)} chains each second, {seconds} s: {serving / seconds:.3f} s of processor a second for serving, "
        f"{(whole - serving) / seconds:.2f} for computing; p50 {1e3 * took[len(took) // 2]:.1f} ms, p99 {1e3 * took[int(0.99 * len(took))]:.1f} ms; "
        f"{sum(late)} of {len(late)} polls fell behind; {hits(greeksd) - before} had a body that was kept"
    )


def hits(greeksd):
    text = urllib.request.urlopen(greeksd.address + "/metrics").read().decode()
    return int(re.search(r"^greeksd_http_cache_hits_total (\d+)", text, re.M)[1])


if __name__ == "__main__":
    main()
