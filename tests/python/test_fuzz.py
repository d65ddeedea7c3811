"""Tables of Arrow whose bytes have changed on the way: they are refused in words or read, and the interpreter lives.

A hundred are tried at every run; GREEKSD_FUZZ_SECONDS tries others for as long.
"""
import os, pathlib, random, struct, time, unittest, warnings

import pyarrow as pa

import greeksd
import market

#: Where the input stands that is being tried: what is left there has ended the interpreter.
TRIED = pathlib.Path(market.MARKET) / "fuzz-tried"
NUMBERS = [0, 1, -1, 7, 1 << 16, 1 << 30, (1 << 31) - 1, -(1 << 31), 1 << 40, (1 << 63) - 1, -(1 << 63)]


def stream(table):
    """The bytes of a table as a stream."""
    written = pa.BufferOutputStream()
    with pa.ipc.new_stream(written, table.schema) as to:
        to.write_table(table, max_chunksize=5)
    return written.getvalue().to_pybytes()


def corpus():
    """One chain, its texts and numbers in every type that has them."""
    chain = pa.Table.from_pandas(market.chain().head(12), preserve_index=False)
    at = chain.schema.get_field_index("right")
    right, rows = chain["right"].combine_chunks().cast(pa.string()), len(chain)
    kinds = [pa.string(), pa.large_string(), pa.string_view(), pa.binary(), pa.dictionary(pa.int32(), pa.string())]
    rights = [right.cast(kind) if not pa.types.is_dictionary(kind) else right.dictionary_encode() for kind in kinds]
    tables = [chain.set_column(at, "right", array) for array in rights]
    strange = {
        "none": pa.nulls(rows),
        "list": pa.array([[1.0, 2.0]] * rows),
        "large_list": pa.array([["a"]] * rows, pa.large_list(pa.string())),
        "struct": pa.array([{"a": 1, "b": "x"}] * rows),
        "map": pa.array([[("a", 1)]] * rows, pa.map_(pa.string(), pa.int8())),
        "true": pa.array([True, None] * (rows // 2)),
        "size": pa.array([b"abcd"] * rows, pa.binary(4)),
        "money": pa.array([1] * rows, pa.decimal128(9, 2)),
    }
    with_strange = chain
    for name, column in strange.items():
        with_strange = with_strange.append_column(name, column)
    gaps = pa.array([None if row % 3 == 0 else bid for row, bid in enumerate(chain["bid"].to_pylist())])
    tables += [with_strange, chain.set_column(chain.schema.get_field_index("bid"), "bid", gaps), chain.slice(3, 7)]
    return [stream(table) for table in tables]


def mutated(data, rng):
    """The bytes, changed in one to four places."""
    data = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(data))
        match rng.randrange(5):
            case 0:
                data[at] ^= 1 << rng.randrange(8)
            case 1:
                data[at] = rng.randrange(256)
            case 2:
                at -= at % 4
                data[at : at + 4] = struct.pack("<q", rng.choice(NUMBERS))[:4]
            case 3:
                at -= at % 8
                data[at : at + 8] = struct.pack("<q", rng.choice(NUMBERS))
            case _:
                # counts and offsets are small: one of them more or less
                data[at] = (data[at] + rng.choice((-1, 1, 4, 8))) % 256
    return bytes(data[: rng.randrange(len(data))] if rng.randrange(40) == 0 else data)


class Fuzz(unittest.TestCase):
    def attempt(self, data, as_reader):
        """What became of an input: pyarrow cannot read it, it is refused, or it is computed."""
        try:
            reader = pa.ipc.open_stream(data)
            table = reader if as_reader else reader.read_all()
        except (pa.ArrowException, OSError, ValueError, KeyError, MemoryError):
            return "unread"
        try:
            greeksd.greeks(table, rates="zero", dividends=[], underlying="KO")
        except (greeksd.InputError, greeksd.JobError):
            return "refused"
        return "computed"

    def test_a_name_that_is_no_text(self):
        self.assertEqual(self.attempt(corpus()[0].replace(b"strike", b"\xfftrike"), True), "refused")

    def test_no_change_of_bytes_ends_the_interpreter(self):
        seconds = float(os.environ.get("GREEKSD_FUZZ_SECONDS", "0"))
        rng = random.Random(time.time_ns() if seconds else 1)
        inputs, counts, began, tried = corpus(), {}, time.monotonic(), 0
        warnings.simplefilter("ignore")
        for data in inputs:
            self.assertEqual(self.attempt(data, False), "computed")
        while tried < 100 or time.monotonic() - began < seconds:
            data = mutated(rng.choice(inputs), rng)
            TRIED.write_bytes(data)
            outcome = self.attempt(data, rng.random() < 0.3)
            counts[outcome], tried = counts.get(outcome, 0) + 1, tried + 1
        TRIED.unlink()
        print(f"{tried} tables in {time.monotonic() - began:.0f} s: {counts}")
        self.assertGreater(counts["refused"], 10)
        self.assertGreater(counts["computed"], 10)


if __name__ == "__main__":
    unittest.main()
