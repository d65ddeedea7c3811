"""Frames in the shapes of libraries and vendors, and a user's operations on a result."""
import concurrent.futures, copy, datetime, io, multiprocessing, pickle, tempfile, unittest, warnings

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv

import greeksd
import market

AT = "2025-01-02T15:45"
#: One contract of Black and Scholes.
CALL = {"style": "european", "right": "call", "s": 100.0, "k": 100.0, "t_years": 1.0, "r": 0.05, "b": 0.0, "sigma": 0.2}


def greeks(frame, **keywords):
    return greeksd.greeks(frame, **{"dividends": [], "rates": 0.04, **keywords})


def volatilities(result):
    """The volatility of each contract, which no spelling of a chain may change."""
    table = pa.table(result).select(["osym", "svc_vol"]).to_pylist()
    return {row["osym"]: row["svc_vol"].hex() for row in table}


class Frames(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.chain = market.chain()
        cls.want = volatilities(greeks(cls.chain, at=AT))
        cls.osym = cls.chain.root + pd.to_datetime(cls.chain.expiry).dt.strftime("%y%m%d") + cls.chain.right.str[0].str.upper()
        cls.osym = cls.osym + (cls.chain.strike * 1000).round().astype(int).astype(str).str.zfill(8)

    def same(self, frame, want=None, **keywords):
        self.assertEqual(volatilities(greeks(frame, **{"at": AT, **keywords})), want or self.want)

    def wide(self, call, put):
        """The chain with a strike a row."""
        keys = ["expiry", "strike", "und_price"]
        calls, puts = (self.chain[self.chain.right == right].set_index(keys)[["bid", "ask"]] for right in ("call", "put"))
        return calls.set_axis(call, axis=1).join(puts.set_axis(put, axis=1)).reset_index()

    def test_columns_that_are_not_read_may_be_anything(self):
        rows = len(self.chain)
        odd = {
            "inTheMoney": [True] * rows,
            "age": pd.to_timedelta(range(rows), unit="s"),
            "month": pd.period_range("2025-01", periods=rows, freq="M"),
            "tags": [["a", {}]] * rows,
            "wave": np.ones(rows, dtype=complex),
            "thing": [object()] * rows,
        }
        self.same(self.chain.assign(**odd))
        self.same({**{name: self.chain[name].tolist() for name in self.chain}, **{name: list(of) for name, of in odd.items()}})
        self.same(pl.from_pandas(self.chain.assign(inTheMoney=True)))

    def test_yfinance(self):
        frame = pd.DataFrame({
            "contractSymbol": self.osym, "lastTradeDate": pd.Timestamp("2025-01-02 20:59:59", tz="UTC"), "strike": self.chain.strike,
            "lastPrice": 1.0, "bid": self.chain.bid, "ask": self.chain.ask, "change": 0.0, "percentChange": 0.0, "volume": np.nan,
            "openInterest": 5, "impliedVolatility": 0.3, "inTheMoney": True, "contractSize": "REGULAR", "currency": "USD",
        })
        with self.assertRaisesRegex(greeksd.InputError, "of yahoo, and no column has the time of the quotes: .* such as at 2026-11-20T15:42:00-05:00$"):
            greeks(frame)
        self.same(frame, want=volatilities(greeks(self.chain.drop(columns="und_price"), at=AT)))

    def test_a_quote_table_of_cboe(self):
        keys = ["expiry", "strike"]
        side = lambda right: self.chain.assign(osym=self.osym)[self.chain.right == right].set_index(keys)[["osym", "bid", "ask"]]
        both = side("call").join(side("put"), lsuffix="_call", rsuffix="_put").reset_index()
        header = "Expiration Date,Strike,Calls,Bid,Ask,Puts,Bid,Ask\n"
        text = header + both.to_csv(index=False, header=False)
        path = tempfile.NamedTemporaryFile(suffix=".csv")
        self.addCleanup(path.close)
        path.write(text.encode())
        path.flush()
        want = volatilities(greeks(self.chain.drop(columns="und_price"), at=AT))
        frames = [pd.read_csv(path.name), pl.read_csv(path.name), duckdb.read_csv(path.name), pyarrow.csv.read_csv(path.name)]
        last = ["Bid.1", "Bid_duplicated_0", "Bid_1", "Bid"]
        self.assertEqual([pa.table(frame).column_names[-2] for frame in frames], last)
        for frame in frames:
            self.same(frame, want=want)

    def test_optionsdx(self):
        wide = self.wide([" [C_BID]", " [C_ASK]"], [" [P_BID]", " [P_ASK]"])
        unix = int(datetime.datetime(2025, 1, 2, 20, 45, tzinfo=datetime.timezone.utc).timestamp())
        frame = wide.rename(columns={"expiry": " [EXPIRE_DATE]", "strike": " [STRIKE]", "und_price": " [UNDERLYING_LAST]"})
        frame.insert(0, "[QUOTE_UNIXTIME]", unix)
        text = frame.assign(**{" [C_SIZE]": " 1 x 2"}).to_csv(index=False)
        for reading in ({}, {"skipinitialspace": True}):
            read = pd.read_csv(io.StringIO(text), **reading)
            self.assertEqual(volatilities(greeks(read, underlying="KO")), self.want)
        with self.assertRaisesRegex(greeksd.InputError, "give underlying"):
            greeks(frame)

    def test_orats(self):
        names = {"expiry": "expirDate", "und_price": "stockPrice"}
        wide = self.wide(["callBidPrice", "callAskPrice"], ["putBidPrice", "putAskPrice"]).rename(columns=names)
        frame = wide.assign(ticker="KO", tradeDate="2025-01-02", delta=0.5)
        self.same(frame)
        self.assertEqual(greeks(frame).to_dict()["quote_time"][0].isoformat(), "2025-01-02T20:46:00+00:00")

    def test_polygon(self):
        rows = [
            {"details": {"ticker": f"O:{osym}"}, "last_quote": {"bid": row.bid, "ask": row.ask, "last_updated": 1735850700000000000 + at},
             "underlying_asset": {"price": row.und_price, "ticker": "KO"}, "greeks": {}}
            for at, (osym, row) in enumerate(zip(self.osym, self.chain.itertuples()))
        ]
        frame = pd.json_normalize(rows)
        self.same(frame)
        with self.assertWarnsRegex(greeksd.GreeksWarning, r"snapshots of 1\.\d contracts: is it one chain\?.* at="):
            greeks(frame.assign(**{"last_quote.last_updated": lambda of: of["last_quote.last_updated"] + 10**9 * np.arange(len(of))}))

    def test_databento(self):
        frame = pd.DataFrame({
            "ts_recv": pd.Timestamp("2025-01-02 20:45", tz="UTC"), "symbol": self.osym, "instrument_id": 1,
            "bid_px_00": self.chain.bid, "ask_px_00": self.chain.ask, "bid_sz_00": 1, "ask_sz_00": 1,
        })
        want = volatilities(greeks(self.chain.drop(columns="und_price"), at=AT))
        self.same(frame, want=want)
        with self.assertRaisesRegex(greeksd.InputError, r"`ts_recv` is in the index: call reset_index\(\)"):
            greeks(frame.set_index("ts_recv"))
        self.assertEqual(volatilities(greeks(frame.set_index("ts_recv").reset_index())), want)

    def test_spellings_of_values(self):
        chain = self.chain
        self.same(chain.assign(right=chain.right.str[0].str.upper()))
        self.same(chain.assign(right=chain.right.str.capitalize() + "s"))
        self.same(chain.assign(expiry=pd.to_datetime(chain.expiry).dt.strftime("%d%b%y").str.upper()))
        self.same(chain.assign(expiry=pd.to_datetime(chain.expiry).dt.strftime("%d.%m.%Y")))
        self.same(chain.assign(expiry=(pd.to_datetime(chain.expiry) - pd.Timestamp(0)) // pd.Timedelta("1s")))
        self.same(chain.assign(strike=chain.strike.map("{:.2f}".format).str.replace(".", ",")), decimal="comma")
        self.same(chain.assign(underlying="$KO", quote_time="02/01/2025"), at=None, dates="day-first", day_time="15:45")
        self.same({**{name: chain[name] for name in chain}, "underlying": "KO", "quote_time": AT}, at=None)

    def test_a_missing_side_is_one_in_every_frame(self):
        chain = self.chain
        cut = chain.bid.where(chain.index % 7 > 0)
        want = volatilities(greeks(chain.assign(bid=cut), at=AT))
        for none in (-1.0, 0.0):
            self.same(chain.assign(bid=cut.fillna(none)), want=want)
        for none in ("NaN", "N/A", "-", "--", "null", "-1", ""):
            self.same(chain.assign(bid=cut.astype(object).where(cut.notna(), none)), want=want)


class Said(unittest.TestCase):
    def heard(self, frame, **keywords):
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            result = greeks(frame, **keywords)
        return result, [str(warning.message) for warning in heard]

    def test_a_good_chain_is_silent(self):
        self.assertEqual(self.heard(market.chain())[1], [])
        self.assertEqual(self.heard(market.quotes())[1], [])

    def test_chains_without_a_base_are_told(self):
        chain = market.chain()
        calls, said = self.heard(chain[chain.right == "call"], allow_partial=True)
        self.assertEqual(calls.counts["expiries_without_pair"], calls.counts["expiries"])
        self.assertRegex(said[-1], r"\d+ of \d+ expiries have no strike whose call and put both have two sides")
        crossed, said = self.heard(chain.assign(bid=chain.ask, ask=chain.bid))
        self.assertEqual(crossed.counts["crossed"], len(chain[chain.bid > 0]))
        self.assertRegex(said[-1], r"crossed.*quotes.*0 of \d+ contracts priced")
        _, said = self.heard(chain.assign(bid=0.0))
        self.assertRegex(said[-1], "one-sided quotes")

    def test_rows_with_times_of_their_own_are_no_chain(self):
        chain = market.chain()
        chain["quote_time"] = [f"2025-01-02T20:{i // 60 % 60:02}:{i % 60:02}Z" for i in range(len(chain))]
        _, said = self.heard(chain)
        self.assertIn(f"{len(chain)} snapshots of 1.0 contracts: is it one chain? then give its time by at=", said)

    def test_numbers_that_may_be_in_percent_are_doubted(self):
        for name, number in {"r": 5.0, "sigma": 20.0, "t_years": 30.0, "r ": -2.0}.items():
            with self.assertWarnsRegex(greeksd.GreeksWarning, f"row 0: {name.strip()} is {number:g}: "):
                greeksd.price({**CALL, name.strip(): number})
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            greeksd.price({**CALL, "r": [0.05, -0.01], "sigma": [0.2, 3.0]})


class Arguments(unittest.TestCase):
    def test_single_values_stand_for_columns(self):
        one = greeksd.price(CALL)
        self.assertAlmostEqual(one["price"][0], 10.450583572, places=8)
        many = greeksd.price({**CALL, "k": [90.0, 100.0], "right": np.array(["c", "P"]), "style": "E", "junk": [{}, True]})
        self.assertEqual((len(many), many["right"], many["price"][0] > 16, many["delta"][1] < 0), (2, ["c", "P"], True, True))

    def test_a_flat_rate_is_a_number(self):
        chain = market.chain()
        for rate in (0.04, 0, -0.005):
            table = {"date": ["2024-01-02"], "tenor_days": [30.0], "rate": [float(rate)]}
            self.assertEqual(volatilities(greeks(chain, rates=rate)), volatilities(greeks(chain, rates=table)), rate)

    def test_an_instant_without_an_offset_is_eastern(self):
        chain = market.chain()
        for at in ("2025-01-02T15:45", "2025-01-02 15:45:00", "2025-01-02T15:45:00-05:00", "2025-01-02T20:45:00Z"):
            self.assertEqual(greeks(chain, at=at).to_dict()["quote_time"][0].isoformat(), "2025-01-02T20:45:00+00:00", at)


class Results(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.result = greeks(market.chain())

    def test_a_result_pickles_and_copies(self):
        for again in (pickle.loads(pickle.dumps(self.result)), copy.deepcopy(self.result), copy.copy(self.result)):
            self.assertEqual(market.bits(again), market.bits(self.result))
            self.assertEqual((type(again), again.counts, again.units), (greeksd.Greeks, self.result.counts, self.result.units))
            self.assertEqual((len(again.refused), again.layout, again.metadata), (0, "greeksd", self.result.metadata))
        prices = greeksd.price(CALL)
        self.assertEqual(pickle.loads(pickle.dumps(prices)).to_dict(), prices.to_dict())

    def test_a_result_comes_back_from_another_process(self):
        context = multiprocessing.get_context("spawn")
        with concurrent.futures.ProcessPoolExecutor(1, mp_context=context) as pool:
            self.assertEqual(pool.submit(greeksd.price, CALL).result().to_dict(), greeksd.price(CALL).to_dict())

    def test_a_result_is_looked_at_like_a_frame(self):
        result, lists = self.result, self.result.to_dict()
        self.assertEqual(result.shape, (len(result), len(result.columns)))
        self.assertEqual(result["delta"], lists["delta"])
        self.assertEqual(result[["strike", "delta"]].to_dict(), {name: lists[name] for name in ("strike", "delta")})
        self.assertEqual(result[2:5]["strike"], lists["strike"][2:5])
        self.assertEqual((len(result.head()), len(result.head(2)), result.tail(3)["osym"]), (5, 2, lists["osym"][-3:]))
        self.assertEqual(result[-1]["osym"], lists["osym"][-1])
        self.assertEqual([row["osym"] for row in result], lists["osym"])
        self.assertEqual(result.head().units, result.units)
        self.assertEqual(list(pd.DataFrame(result).columns), result.columns)
        for key, error in (("dleta", KeyError), (["dleta"], KeyError), (len(result), IndexError), (slice(0, 4, 2), ValueError)):
            with self.assertRaises(error):
                result[key]

    def test_a_notebook_shows_a_table(self):
        shown = self.result._repr_html_()
        self.assertEqual((shown.count("<tr>"), shown.count("<th>")), (11, len(self.result.columns)))
        self.assertIn(f"{len(self.result)} rows × {len(self.result.columns)} columns", shown)
        self.assertIn("&lt;b&gt;", greeksd.Table({"a": ["<b>"]})._repr_html_())
        self.assertIn("0 rows", self.result[0:0]._repr_html_())


if __name__ == "__main__":
    unittest.main()
