"""Tables in and out: types, units, missing values, libraries that are there or not."""
import datetime, pathlib, tempfile, unittest

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

import greeksd
import market


class Out(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.result = greeksd.greeks(market.chain(), dividends=market.DIVIDENDS, rates=market.RATES, show_quotes=True)

    def test_units_are_in_the_schema(self):
        schema = pa.table(self.result).schema
        for name, unit in {"vega": "per 1 %", "theta": "per calendar day", "rho": "per 1 %", "svc_vol": "per square root of a year, decimal",
                           "strike": "currency per share", "days": "calendar days"}.items():
            self.assertEqual(schema.field(name).metadata[b"unit"].decode(), unit)
            self.assertEqual(self.result.units[name], unit)
        self.assertNotIn("delta", self.result.units)
        self.assertEqual(self.result.meanings["delta"], "dV/dS")
        self.assertEqual(self.result.metadata["greeksd.accuracy"], "full")
        self.assertEqual(pa.schema(self.result).names, self.result.columns)

    def test_every_reader_has_the_same_values(self):
        lists = self.result.to_dict()
        arrow, polars, pandas = pa.table(self.result), self.result.to_polars(), self.result.to_pandas()
        result = self.result
        # instants of DuckDB need another library in Python
        duck = duckdb.sql("select * replace (epoch_us(quote_time) as quote_time) from result").fetchall()
        self.assertEqual(len(duck), len(self.result))
        for place, (name, values) in enumerate(lists.items()):
            self.assertEqual(arrow[name].to_pylist(), values, name)
            self.assertEqual(polars[name].to_list(), values, name)
            micros = [round(at.timestamp() * 1e6) for at in values] if name == "quote_time" else values
            self.assertEqual([row[place] for row in duck], micros, name)
            column = pandas[name]
            if column.dtype.kind == "f":
                self.assertEqual([None if np.isnan(x) else x for x in column], values, name)
            elif name in ("expiry", "quote_date"):
                self.assertEqual([day.date() for day in column], values)
            else:
                self.assertEqual(list(column), values, name)
        self.assertIn(None, lists["prev_vol"])
        self.assertEqual(pandas.attrs["units"]["vega"], "per 1 %")
        kinds = {"quote_time": "datetime64[us, UTC]", "expiry": "datetime64[s]", "right": "category", "strike_milli": "int32", "delta": "float64"}
        self.assertEqual({name: str(pandas[name].dtype) for name in kinds}, kinds)

    def test_a_stream_can_be_taken_again(self):
        self.assertEqual(pa.table(self.result), pa.table(self.result))
        again = greeksd.Table(self.result)
        self.assertEqual(len(again), len(self.result))
        self.assertIn("Greeks of", repr(self.result))

    def test_instants_of_every_unit(self):
        when = datetime.datetime(2026, 11, 20, 18, 0, 1, tzinfo=datetime.timezone.utc)
        for unit in ("s", "ms", "us", "ns"):
            table = greeksd.Table(pa.table({"at": pa.array([when, None], pa.timestamp(unit, "America/New_York"))}))
            self.assertEqual(table.to_dict(), {"at": [when, None]}, unit)
            self.assertEqual(table.to_pandas()["at"][0], when, unit)

    def test_pandas_needs_no_pyarrow(self):
        code = (
            "import sys; sys.modules['pyarrow'] = None\n"
            "import greeksd, pandas as pd\n"
            "frame = pd.read_csv(sys.argv[1]); frame = frame[frame.underlying == 'KO']\n"
            "frame['quote_time'] = pd.to_datetime(frame.quote_time)\n"
            "out = greeksd.greeks(frame, dividends=sys.argv[2], rates=pd.read_csv(sys.argv[3])).to_pandas()\n"
            "print(len(out), out.delta.notna().sum(), out.right.dtype)\n"
        )
        path = min((market.MARKET / "quotes").glob("*.csv"))
        done = market.run(code, path, market.DIVIDENDS, market.RATES)
        self.assertEqual(done.returncode, 0, done.stderr)
        n = len(market.chain())
        self.assertEqual(done.stdout.split(), [str(n), str(n), "category"])

    def test_only_the_standard_library(self):
        code = (
            "import sys\nfor name in ('numpy', 'pandas', 'polars', 'pyarrow'): sys.modules[name] = None\n"
            "import greeksd\n"
            "print(greeksd.price({'style': ['european'], 'right': ['put'], 's': [1], 'k': [1], 't_years': [1], 'r': [0], 'b': [0], 'sigma': [0.2]}).to_dict()['delta'])\n"
        )
        done = market.run(code)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertAlmostEqual(eval(done.stdout)[0], -0.4601721627, places=9)


class In(unittest.TestCase):
    def test_columns_of_other_names(self):
        frame = market.chain().rename(columns={"strike": "K", "expiry": "EXP"})
        got = greeksd.greeks(frame, columns={"strike": "K", "expiry": "EXP"}, rates="zero", dividends=[])
        self.assertEqual(got.counts["priced"], len(frame))

    def test_one_instant_for_all(self):
        frame = market.chain()
        now = datetime.datetime(2025, 1, 2, 15, 30, tzinfo=datetime.timezone(datetime.timedelta(hours=-5)))
        got = greeksd.greeks(frame.drop(columns="quote_time"), at=now, rates="zero", dividends=[])
        self.assertEqual(set(got.to_dict()["quote_time"]), {now.astimezone(datetime.timezone.utc)})
        # times of their own would be as many snapshots
        frame["quote_time"] = [f"2025-01-02T20:{i // 60 % 60:02}:{i % 60:02}Z" for i in range(len(frame))]
        self.assertEqual(market.bits(greeksd.greeks(frame, at=now.isoformat(), rates="zero", dividends=[])), market.bits(got))

    def test_missing_values_of_every_library(self):
        frame = market.chain()
        bid = frame.bid.where(frame.bid > 0)
        wants = market.bits(greeksd.greeks(frame, rates="zero", dividends=[]))
        nullable = bid.astype("Float64")
        for given in (bid, nullable, [None if x != x else x for x in bid], pl.Series(bid.tolist()), pa.array(bid.tolist())):
            columns = {name: frame[name].tolist() for name in frame}
            self.assertEqual(market.bits(greeksd.greeks({**columns, "bid": given}, rates="zero", dividends=[])), wants, type(given))

    def test_overrides_and_deliverables(self):
        frame = market.chain()
        spot = {"underlying": ["KO"], "what": ["exclude"]}
        with_all = greeksd.greeks(frame, rates="zero", dividends=[])
        without = greeksd.greeks(frame, rates="zero", dividends=[], overrides={**spot, "strike": [frame.strike[0]]})
        self.assertEqual(len(with_all), len(without))
        self.assertNotEqual(market.bits(with_all), market.bits(without))
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "overrides.csv"
            path.write_text(f"underlying,what,strike\nKO,exclude,{frame.strike[0]}\n")
            from_file = greeksd.greeks(frame, rates="zero", dividends=[], overrides=path)
        self.assertEqual(market.bits(from_file), market.bits(without))
        adjusted = frame.assign(root="KO1")
        unknown = greeksd.greeks(adjusted, rates="zero", dividends=[])
        terms = greeksd.greeks(adjusted, rates="zero", dividends=[], deliverables={"root": ["KO1"], "shares": [100], "cash": [0]})
        self.assertEqual((unknown.counts["priced"], terms.counts["priced"]), (0, len(frame)))

    def test_types(self):
        frame = market.chain()
        wants = market.bits(greeksd.greeks(frame, rates="zero", dividends=[]))
        table = pa.Table.from_pandas(frame, preserve_index=False)

        def cast(**types):
            return pa.table([table[name].cast(types[name]) if name in types else table[name] for name in table.column_names], names=table.column_names)

        text = ("underlying", "root", "expiry", "right", "quote_time")
        for kind in (pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string())):
            columns = {name: table[name].cast(kind) if not pa.types.is_dictionary(kind) else table[name].dictionary_encode() for name in text}
            changed = pa.table([columns.get(name, table[name]) for name in table.column_names], names=table.column_names)
            self.assertEqual(market.bits(greeksd.greeks(changed, rates="zero", dividends=[])), wants, kind)
        when = pa.array(pd.to_datetime(frame.quote_time))
        for unit in ("s", "ms", "us", "ns"):
            changed = table.set_column(0, "quote_time", when.cast(pa.timestamp(unit, "UTC")))
            self.assertEqual(market.bits(greeksd.greeks(changed, rates="zero", dividends=[])), wants, unit)
        self.assertEqual(market.bits(greeksd.greeks(cast(strike=pa.decimal128(12, 3), bid_size=pa.int16()), rates="zero", dividends=[])), wants)


if __name__ == "__main__":
    unittest.main()
