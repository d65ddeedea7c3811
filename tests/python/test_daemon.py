"""A daemon that Python starts, asks, pushes to and ends."""
import datetime, http.server, math, os, pathlib, signal, socket, subprocess, sys, tempfile, threading, time, unittest

import pandas as pd
import polars as pl
import pyarrow as pa

import greeksd
import market

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent))
from daemon import free_port


def is_alive(pid):
    try:
        os.kill(pid, 0)
        return True
    except ProcessLookupError:
        return False


def until(holds, seconds=30):
    end = time.monotonic() + seconds
    while not (found := holds()):
        if time.monotonic() > end:
            raise AssertionError("it did not come")
        time.sleep(0.05)
    return found


class Simulated(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.daemon = greeksd.serve("sim", now="2026-11-20T13:00:00-05:00")

    @classmethod
    def tearDownClass(cls):
        cls.daemon.close()
        assert not is_alive(cls.daemon.pid)

    def test_a_chain(self):
        chain = self.daemon.chain("KO")
        self.assertGreater(len(chain), 100)
        self.assertEqual(chain.units["theta"], "per calendar day")
        frame = chain.to_pandas()
        self.assertEqual(set(frame.underlying), {"KO"})
        calls = self.daemon.chain(["KO", "TSLA"], right="call", max_days=40, exp=None).to_polars()
        self.assertEqual(set(calls["right"]), {"call"})
        self.assertEqual(set(calls["underlying"]), {"KO", "TSLA"})
        one = self.daemon.chain(osym=frame.osym[0], greeks="core")
        self.assertEqual(one.to_dict()["delta"], [frame.delta[0]])
        # the same bits from a connection of its own
        self.assertEqual(pa.table(greeksd.connect(self.daemon.url).chain("KO")), pa.table(chain))

    def test_what_is_not_served_warns(self):
        with self.assertWarnsRegex(greeksd.GreeksWarning, "/l1/greeks: not served: NOPE "):
            self.assertGreater(len(self.daemon.chain(["NOPE", "KO"], center="atm")), 0)
        with self.assertWarnsRegex(greeksd.GreeksWarning, "no contract matches"):
            self.assertEqual(len(self.daemon.chain("KO", min_days=40, max_days=20)), 0)
        with self.assertRaises(greeksd.DaemonError) as refused:
            self.daemon.chain("NOPE", strict=True)
        self.assertEqual(refused.exception.status, 404)

    def test_a_term_structure(self):
        terms = self.daemon.term_structure("SPY").to_pandas()
        self.assertTrue(terms.days.is_monotonic_increasing)
        self.assertTrue(((terms.delta - 0.5).abs() < 0.15).all())
        self.assertTrue({"fwd_price", "borr_rate", "disc_rate", "divs", "svc_vol"} <= set(terms.columns))
        puts = self.daemon.term_structure("SPY", center=-0.25).to_pandas()
        self.assertEqual(set(puts.right), {"put"})

    def test_numbers_of_names(self):
        until(lambda: self.daemon.health()["pending"] == 0)
        rows = self.daemon.metrics(sort="-iv30d", limit=3)
        self.assertEqual(len(rows), 3)
        self.assertTrue(rows[0]["iv30d"] >= rows[1]["iv30d"] >= rows[2]["iv30d"] > 0)
        terms = self.daemon.metrics(["SPY", "KO"], by="expiry")
        self.assertEqual({row["underlying"] for row in terms}, {"SPY", "KO"})
        # without quotes there is no open interest, and the row says so
        exposed = self.daemon.exposure("SPY", by="strike")[0]
        self.assertIsNone(exposed["gex"])
        self.assertIn("gex:no_open_interest", exposed["missing"])

    def test_an_explanation_and_what_else_there_is(self):
        osym = self.daemon.chain("KO", max_days=60).to_dict()["osym"][3]
        why = self.daemon.explain(osym)
        self.assertIn("forward", why)
        whole = self.daemon.strategy([f"-1 {osym}", "100 KO"], entry="value")
        self.assertEqual([leg["quantity"] for leg in whole["legs"]], [-1, 100])
        self.assertGreater(whole["payoff"][-1][0], whole["und_price"])
        self.assertEqual(self.daemon.symbols(symbol="SPX")[0]["symbol"], "SPX")
        until(lambda: self.daemon.health()["pending"] == 0)

    def test_refusals(self):
        with self.assertRaisesRegex(greeksd.DaemonError, "/l1/greeks: 400: .*strik") as caught:
            self.daemon.chain("KO", strik=1)
        self.assertEqual(caught.exception.status, 400)
        with self.assertRaisesRegex(greeksd.DaemonError, "NOSUCHNAME|nosuchname|symbol|underlying"):
            self.daemon.chain("NOSUCHNAME")
        with self.assertRaisesRegex(greeksd.DaemonError, "as_of|history"):
            self.daemon.history("KO", start="2024-01-03", end="2024-01-04")
        with self.assertRaisesRegex(greeksd.DaemonError, "no answer"):
            greeksd.connect(f"http://127.0.0.1:{free_port()}")
        with self.assertRaises(greeksd.InputError):
            greeksd.connect("ftp://x")


class Server(unittest.TestCase):
    def test_a_refused_start_says_why(self):
        with self.assertRaisesRegex(greeksd.DaemonError, "ended with code 1: .*strange:feed: expected sim"):
            greeksd.serve("strange:feed")
        with self.assertRaisesRegex(greeksd.DaemonError, "ended with code 2: .*no-such-option"):
            greeksd.serve("sim", no_such_option=True)

    def test_it_ends_with_its_parent_and_with_nobody_else(self):
        other = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
        code = "import greeksd, os, signal; daemon = greeksd.serve('sim', now='2026-11-20T13:00:00-05:00'); print(daemon.pid, flush=True); {}"
        for end in ("pass", "os.kill(os.getpid(), signal.SIGKILL)", "raise SystemExit(3)"):
            done = market.run(code.format(end))
            pid = int(done.stdout)
            until(lambda: not is_alive(pid), 15)
        self.assertIsNone(other.poll())
        other.kill()
        other.wait()

    def test_whoever_else_has_the_address_is_not_it(self):
        class Other(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(200)
                self.end_headers()
                self.wfile.write(b'{"status": "ok"}')

            def log_message(self, *_):
                pass

        with http.server.HTTPServer(("127.0.0.1", 0), Other) as other:
            threading.Thread(target=other.serve_forever, daemon=True).start()
            with self.assertRaisesRegex(greeksd.DaemonError, "ended with code 1"):
                greeksd.serve("sim", listen=f"127.0.0.1:{other.server_port}")
            other.shutdown()

    def test_nothing_of_the_current_folder_is_imported(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in ("threading", "signal", "greeksd_stray", "greeksd"):
                pathlib.Path(folder, f"{name}.py").write_text("open('executed', 'w').close()\n")
            code = f"import greeksd, os; os.chdir({folder!r}); greeksd.serve('sim', now='2026-11-20T13:00:00-05:00').close()"
            market.run(code)
            self.assertFalse(pathlib.Path(folder, "executed").exists())

    def test_the_program_is_there(self):
        self.assertEqual(market.run("import greeksd; print('greeksd', greeksd.__version__)").stdout, market.program("--version").decode())
        done = subprocess.run([sys.executable, "-m", "greeksd", "--version"], capture_output=True, text=True)
        self.assertEqual(done.stdout, market.program("--version").decode())
        wrong = subprocess.run([sys.executable, "-m", "greeksd", "batch"], capture_output=True, text=True)
        self.assertEqual(wrong.returncode, 2)
        self.assertIn("Usage: greeksd batch", wrong.stderr)
        unusable = subprocess.run([sys.executable, "-m", "greeksd", "price", "absent.csv"], capture_output=True, text=True)
        self.assertEqual((unusable.returncode, unusable.stderr.startswith("greeksd price: cannot read absent.csv")), (1, True))


class History(unittest.TestCase):
    def test_past_moments_are_those_of_batch(self):
        with greeksd.serve(f"history:{market.MARKET / 'quotes'}", dividends=None) as daemon:
            got = until(lambda: daemon.history("KO", start="2025-01-02", end="2025-01-03", interval="1d"))
            one = daemon.chain("KO", as_of="2025-01-02")
        quotes = market.quotes()
        want = greeksd.greeks(quotes[quotes.underlying == "KO"], dividends=market.DIVIDENDS, rates=market.RATES).to_dict()
        frame = got.to_dict()
        self.assertEqual(len(got), len(want["delta"]))
        for name in ("osym", "delta", "svc_vol", "vera", "fwd_price"):
            self.assertEqual(frame[name], want[name])
        self.assertEqual(one.to_dict()["delta"], want["delta"][: len(one)])


class Positions(unittest.TestCase):
    def test_changes_between_two_moments_sum_up(self):
        feed = f"history:{market.MARKET / 'quotes'}"
        with tempfile.TemporaryDirectory() as folder:
            book = pathlib.Path(folder) / "book.csv"
            with greeksd.serve(feed) as daemon:
                held = daemon.chain("KO", as_of="2025-01-02", min_days=20).to_dict()["osym"][::41]
            book.write_text("osym,quantity\n" + "".join(f"{osym},{2 * n - 5}\n" for n, osym in enumerate(held)))
            with greeksd.serve(feed, positions=str(book)) as daemon:
                until(lambda: daemon.health()["pending"] == 0)
                rows = daemon.explain_positions("2025-01-02", by="contract,total")
                since = daemon.explain_positions(by="total")[0]
        total = rows[-1]
        self.assertEqual((total["positions"], total["missing"]), (len(held), 0))
        causes = ["by_time", "by_spot", "by_vol", "by_skew", "by_carry", "by_dividends", "rest"]
        for row in rows:
            self.assertAlmostEqual(sum(row[cause] for cause in causes), row["change"], delta=1e-5)
        self.assertAlmostEqual(sum(row["change"] for row in rows[:-1]), total["change"], delta=1e-3)
        self.assertEqual(total["since"][:10], "2025-01-02")
        self.assertLess(since["since"], since["until"])


class Exposures(unittest.TestCase):
    def test_exposures_are_sums_over_rows(self):
        """Of contracts whose open interest is known, from the rows alone."""
        with greeksd.serve(f"history:{market.MARKET / 'quotes'}", show_quotes=True) as daemon:
            until(lambda: daemon.health()["pending"] == 0)
            for name in ("KO", "SPX"):
                rows = daemon.chain(name, greeks="all,quote").to_pandas()
                self.assertGreater(len(rows), 100)
                weight = rows.open_interest * 100
                parts = pd.DataFrame({
                    "gamma": rows.gamma * weight * rows.und_price**2 * 0.01,
                    "vanna": rows.vanna * weight * rows.und_price * 0.01,
                    "charm": rows.charm * weight * rows.und_price / 365,
                    "delta": rows.delta * weight * rows.und_price,
                })
                is_call = rows.right == "call"
                # an index has two settlements on some dates
                by_expiry = [("expiry", ["expiry"])] if name == "KO" else []
                for by, keys in [("name", []), *by_expiry]:
                    for found in daemon.exposure(name, by=by):
                        own = rows.und_price > 0
                        for key in keys:
                            own &= rows[key].astype(type(found[key])) == found[key]
                        for greek in parts:
                            for right, of in (("call", is_call), ("put", ~is_call)):
                                wanted = parts[greek][own & of].sum()
                                self.assertAlmostEqual(found[f"{right}_{greek}"], wanted, delta=1e-6 * abs(wanted) + 1)


class Pushing(unittest.TestCase):
    def test_pushed_quotes_are_served(self):
        frame = market.chain()
        port = free_port()
        now = datetime.datetime.now(datetime.timezone.utc)
        # the first expiry on a session: one on New Year's Day would be served under the session before
        years = datetime.timedelta(weeks=105)
        later = [(datetime.date.fromisoformat(day) + years).isoformat() for day in frame.expiry]
        table = pd.DataFrame({"root": frame.root, "expiry": later, "strike": frame.strike.astype(float), "right": frame.right,
                              "bid": frame.bid.where(frame.bid > 0), "ask": frame.ask, "bid_size": frame.bid_size, "time": now})
        with tempfile.TemporaryDirectory() as folder, greeksd.serve(f"tcp:{port}", state_dir=folder, show_quotes=True) as daemon:
            with greeksd.push(f"127.0.0.1:{port}") as out:
                out.forget("KO")
                out.price("KO", float(frame.und_price[0]), time=now)
                out.dividend("KO", (now.date() + datetime.timedelta(days=40)), 0.51)
                out.rate(now.date(), 30, 0.04)
                self.assertEqual(out.table(table), len(table))
                one = table.iloc[0]
                out.quote(root="KO", expiry=one.expiry, strike=one.strike, right=one.right, bid=math.nan, ask=9.25, bid_size=None, time=now + datetime.timedelta(seconds=1))
                self.assertEqual(out.sent, len(table) + 5)
                served = until(lambda: self.served(daemon, len(table)))
            frame = served.to_pandas()
            self.assertEqual(len(frame), len(table))
            first = frame[(frame.strike == one.strike) & (frame.expiry == one.expiry) & (frame.right == one.right)]
            self.assertEqual((first.ask.tolist(), first.bid.isna().tolist()), ([9.25], [True]))
            self.assertEqual(frame.und_price[0], table_price(market.chain()))
            used = daemon.health()["feeds"][0]["used"]
            self.assertEqual((used["quotes"], used["spots"], used["dividends"], used["rates"]), (1, 1, 1, True), used)

    def served(self, daemon, rows):
        try:
            chain = daemon.chain("KO", greeks="all,quote")
        except greeksd.DaemonError:
            return None
        return chain if len(chain) == rows and 9.25 in chain.to_dict()["ask"] else None

    def test_what_cannot_be_sent_is_refused_here(self):
        with socket.create_server(("127.0.0.1", 0)) as server:
            with greeksd.push("127.0.0.1:{}".format(server.getsockname()[1])) as out:
                with self.assertRaisesRegex(greeksd.InputError, "give osym, or root, expiry, strike and right"):
                    out.quote(bid=1, ask=2)
                with self.assertRaisesRegex(greeksd.InputError, "time: .* has no time zone"):
                    out.price("KO", 1.0, time=datetime.datetime(2026, 1, 2))
                with self.assertRaisesRegex(greeksd.InputError, "bid: .* is no number"):
                    out.quote("KO    270115C00060000", bid=object(), ask=2)
                with self.assertRaisesRegex(greeksd.InputError, "ask: not a finite number"):
                    out.quote("KO    270115C00060000", bid=1, ask=math.inf)
            with self.assertRaisesRegex(greeksd.DaemonError, "closed"):
                out.price("KO", 1)
        with self.assertRaisesRegex(greeksd.DaemonError, "does a daemon run with --feed tcp:"):
            greeksd.push(f"127.0.0.1:{free_port()}")
        with self.assertRaises(greeksd.InputError):
            greeksd.push("somewhere")

    def test_a_connection_is_made_again(self):
        port = free_port()
        first = socket.create_server(("127.0.0.1", port))
        with greeksd.push(f"127.0.0.1:{port}", retry=10) as out:
            peer, _ = first.accept()
            out.price("KO", 60.5, time=1795207320)
            self.assertEqual(peer.recv(100), b'{"symbol":"KO","price":60.5,"time":1795207320}\n')
            peer.close()
            first.close()
            with socket.create_server(("127.0.0.1", port)) as second:
                received = b""
                # lines that the kernel accepted before it knew of the end are lost
                for price in range(61, 70):
                    out.price("KO", price, time=1795207321)
                    time.sleep(0.02)
                peer, _ = second.accept()
                with peer:
                    received = peer.recv(1000)
                self.assertIn(b'"price":69,', received)


def table_price(frame):
    return float(frame.und_price[0])


if __name__ == "__main__":
    unittest.main()
