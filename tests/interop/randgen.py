"""Random schemas and tables of every type that a Lance file holds: nulls at any level, odd sizes, sliced arrays."""

import decimal
import random
import string

import numpy as np
import pyarrow as pa

MOST_BYTES = 1 << 28  # of one array
SIZES = [0, 1, 2, 7, 63, 64, 65, 300, 1023, 1024, 1025, 2500, 6000]
INTS = [pa.int8(), pa.uint8(), pa.int16(), pa.uint16(), pa.int32(), pa.uint32(), pa.int64(), pa.uint64()]
TIMES = [pa.date32(), pa.date64(), pa.time32("s"), pa.time32("ms"), pa.time64("us"), pa.time64("ns"), pa.duration("ms"),
         pa.duration("ns"), pa.timestamp("s"), pa.timestamp("us", "UTC"), pa.timestamp("ns"), pa.timestamp("ms", "+02:00")]
HINTS = [
    {}, {}, {}, {}, {},
    {"lance-encoding:compression": "zstd"},
    {"lance-encoding:compression": "lz4"},
    {"lance-encoding:compression": "none"},
    {"lance-encoding:compression": "fsst"},
    {"lance-encoding:compression": "zstd", "lance-encoding:compression-level": "3"},
    {"lance-encoding:structural-encoding": "fullzip"},
    {"lance-encoding:structural-encoding": "miniblock"},
    {"lance-encoding:structural-encoding": "fullzip", "lance-encoding:compression": "zstd"},
    {"lance-encoding:rle-threshold": "1.0"},
    {"lance-encoding:rle-threshold": "0"},
    {"lance-encoding:bss": "on", "lance-encoding:compression": "lz4"},
    {"lance-encoding:bss": "off"},
    {"lance-encoding:dict-divisor": "1"},
    {"lance-encoding:dict-size-ratio": "1.0"},
    {"lance-encoding:dict-values-compression": "zstd"},
    {"lance-encoding:minichunk-size": "65536"},
    {"lance-encoding:minichunk-size": "1024"},
]


class Generator:
    def __init__(self, seed, version="2.2"):
        self.rng = random.Random(seed)
        self.np = np.random.default_rng(seed)
        self.version = version

    # types

    def leaf_type(self):
        r = self.rng
        kind = r.choice(["int", "int", "int", "bool", "float", "float", "string", "string", "binary", "fsb", "decimal", "time",
                         "time", "fsl", "dict", "null"])
        if kind == "int":
            return r.choice(INTS)
        if kind == "bool":
            return pa.bool_()
        if kind == "float":
            return r.choice([pa.float16(), pa.float32(), pa.float64()])
        if kind == "string":
            return r.choice([pa.string(), pa.string(), pa.large_string()])
        if kind == "binary":
            return r.choice([pa.binary(), pa.large_binary()])
        if kind == "fsb":
            return pa.binary(r.choice([1, 2, 3, 4, 8, 16, 20, 33, 200]))
        if kind == "decimal":
            return r.choice([pa.decimal128(9, 2), pa.decimal128(38, 5), pa.decimal256(60, 7)])
        if kind == "time":
            return r.choice(TIMES)
        if kind == "fsl":
            item = r.choice([pa.float32(), pa.float16(), pa.float64(), pa.uint8(), pa.int32(), pa.bool_()])
            inner = pa.list_(item, r.choice([1, 2, 3, 8, 16, 100]))
            return pa.list_(inner, r.choice([1, 2, 3])) if r.random() < 0.1 else inner
        if kind == "dict":
            return pa.dictionary(r.choice([pa.int8(), pa.int16(), pa.int32(), pa.uint8()]),
                                 r.choice([pa.string(), pa.string(), pa.int64(), pa.binary()]))
        return pa.null()

    def field(self, name, depth, in_list=False):
        r = self.rng
        p = r.random()
        if depth <= 0 or p < 0.45:
            t = self.leaf_type()
            if t == pa.null() and depth < 3:
                t = pa.int32()  # null type only at the top
            nullable = t == pa.null() or r.random() < 0.8
            return pa.field(name, t, nullable, metadata=r.choice(HINTS) or None)
        nullable = r.random() < 0.8
        if p < 0.65:
            make = r.choice([pa.list_, pa.list_, pa.large_list])
            return pa.field(name, make(self.field("item", depth - 1, True)), nullable)
        if p < 0.9 or self.version < "2.2" or (p >= 0.96 and in_list):  # no version holds those in lists
            children = [self.field(n, depth - 1, in_list) for n in string.ascii_lowercase[: r.randint(1, 3)]]
            return pa.field(name, pa.struct(children), nullable)
        if p < 0.96:
            key = r.choice([pa.string(), pa.int32(), pa.int64()])
            return pa.field(name, pa.map_(key, self.field("value", depth - 1, True)), nullable)
        children = [pa.field(n, r.choice([pa.int32(), pa.float32(), pa.string()])) for n in "pq"]
        return pa.field(name, pa.list_(pa.field("item", pa.struct(children)), r.choice([1, 2, 3])), nullable)

    def schema(self):
        n = self.rng.choice([1, 1, 2, 3, 5])
        metadata = {"made by": "randgen"} if self.rng.random() < 0.3 else None
        return pa.schema([self.field(f"c{i}", 3) for i in range(n)], metadata=metadata)

    # values

    def mask(self, n, nullable):
        """None, or which are null."""
        p = self.rng.choice([0, 0, 0.02, 0.3, 0.9, 1]) if nullable else 0
        if p == 0 or n == 0:
            return None
        if self.rng.random() < 0.3:  # in runs
            return np.repeat(self.np.random(n // 50 + 1) < p, 50)[:n]
        return self.np.random(n) < p

    def pick(self, n):
        """How values repeat: n indices into a pool, and the size of that pool."""
        kind = self.rng.choice(["all", "all", "all", "few", "runs", "one", "sorted"])
        if n == 0 or kind == "all":
            return np.arange(n), max(n, 1)
        if kind == "one":
            return np.zeros(n, np.int64), 1
        if kind == "few":
            k = self.rng.choice([2, 5, 50, 200])
            return self.np.integers(0, k, n), k
        if kind == "runs":
            k = n // self.rng.choice([3, 20, 200]) + 1
            return np.sort(self.np.integers(0, k, n)), k
        return np.sort(self.np.integers(0, n, n)), n

    def numbers(self, dtype, n):
        info = np.iinfo(dtype)
        bits = self.rng.randint(1, info.bits)
        if self.rng.random() < 0.2:
            lo, hi = info.min, info.max
        elif info.min < 0 and self.rng.random() < 0.5:
            lo, hi = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
        else:
            lo, hi = 0, min((1 << bits) - 1, info.max)
        return self.np.integers(lo, hi, n, dtype=dtype, endpoint=True)

    def bytes_(self, n):
        r = self.rng
        size = r.choice([0, 3, 8, 20, 60, 150, 400])
        if r.random() < 0.04 and n < 100:
            size = 40000
        words = [bytes(r.choices(b"abcdefghij ", k=max(1, size))) for _ in range(min(n, 40))]
        out = []
        for i in range(n):
            w = words[i % len(words)] if words else b""
            cut = r.randint(0, len(w)) if r.random() < 0.7 else len(w)
            out.append(w[:cut] + (b"%d" % i if size > 3 else b""))
        return out

    def pool(self, t, n):
        """n values of a leaf type, without nulls."""
        if pa.types.is_integer(t):
            return pa.array(self.numbers(t.to_pandas_dtype(), n), t)
        if pa.types.is_boolean(t):
            return pa.array(self.np.random(n) < self.rng.choice([0.5, 0.02]))
        if pa.types.is_floating(t):
            x = self.np.standard_normal(n).astype(t.to_pandas_dtype())
            if n and self.rng.random() < 0.2:
                x[self.np.integers(0, n, 3)] = [np.nan, -0.0, np.inf]
            return pa.array(x, t)
        if pa.types.is_string(t) or pa.types.is_large_string(t):
            text = [b.decode() + self.rng.choice(["", "", "", "é", "日本"]) for b in self.bytes_(n)]
            return pa.array(text, t)
        if pa.types.is_binary(t) or pa.types.is_large_binary(t):
            return pa.array(self.bytes_(n), t)
        if pa.types.is_fixed_size_binary(t):
            w = t.byte_width
            data = self.np.bytes(n * w)
            return pa.array([data[i * w : i * w + w] for i in range(n)], t)
        if pa.types.is_decimal(t):
            top = 10 ** self.rng.choice([3, 9, t.precision]) - 1
            with decimal.localcontext() as ctx:
                ctx.prec = 80
                return pa.array([decimal.Decimal(self.rng.randint(-top, top)).scaleb(-t.scale) for _ in range(n)], t)
        if pa.types.is_date32(t):
            return pa.array(self.np.integers(-10000, 40000, n, dtype=np.int32)).cast(t)
        if pa.types.is_date64(t):
            return pa.array(self.np.integers(-10000, 40000, n) * 86400000).cast(t)
        if pa.types.is_time32(t):
            return pa.array(self.np.integers(0, 86400, n, dtype=np.int32)).cast(t)
        if pa.types.is_time64(t) or pa.types.is_timestamp(t) or pa.types.is_duration(t):
            return pa.array(self.np.integers(0, 86400 * 10**6, n)).cast(t)
        raise AssertionError(t)

    def array(self, field, n):
        t = field.type
        if t == pa.null():
            return pa.nulls(n)
        if self.rng.random() < 0.15:  # a slice of more
            return self.array_now(field, n + 5).slice(self.rng.randint(0, 5), n)
        return self.array_now(field, n)

    def array_now(self, field, n):
        t = field.type
        mask = self.mask(n, field.nullable)
        if pa.types.is_struct(t):
            if self.version == "2.0":  # stores no nulls of structs
                mask = None
            children = [self.array(f, n) for f in t]
            return pa.StructArray.from_arrays(children, fields=list(t), mask=None if mask is None else pa.array(mask))
        if pa.types.is_map(t) or pa.types.is_list(t) or pa.types.is_large_list(t):
            return self.lists(t, n, mask)
        if pa.types.is_fixed_size_list(t):
            values = self.array(t.value_field, n * t.list_size)
            return pa.FixedSizeListArray.from_arrays(values, type=t, mask=None if mask is None else pa.array(mask))
        if pa.types.is_dictionary(t):
            k = self.rng.choice([1, 3, 20, 100])
            values = self.pool(t.value_type, k)
            index = pa.array(self.np.integers(0, k, n), t.index_type, mask=mask)
            return pa.DictionaryArray.from_arrays(index, values)
        index, k = self.pick(n)
        values = self.pool(t, k)
        if (pa.types.is_string(t) or pa.types.is_binary(t)) and values.nbytes // k * n > MOST_BYTES:  # in deep lists
            values = pa.array([v[:8] for v in values.to_pylist()], t)
        return values.take(pa.array(index, mask=mask))

    def lists(self, t, n, mask):
        mean = self.rng.choice([0, 1, 1, 3, 10])
        lens = self.np.poisson(mean, n)
        if n and self.rng.random() < 0.1:
            lens[self.rng.randrange(n)] = 3000
        if mask is not None and self.rng.random() < 0.7:
            lens[mask] = 0  # else values hide under nulls
        offsets = np.zeros(n + 1, np.int64)
        np.cumsum(lens, out=offsets[1:])
        total = int(offsets[-1])
        if pa.types.is_map(t):
            keys = self.array(t.key_field, total)
            items = self.array(t.item_field, total)
            null_offsets = pa.array(offsets.astype(np.int32), mask=None if mask is None else np.append(mask, False))
            out = pa.MapArray.from_arrays(null_offsets, keys, items, type=t)
            return out
        values = self.array(t.value_field, total)
        cls, width = (pa.LargeListArray, np.int64) if pa.types.is_large_list(t) else (pa.ListArray, np.int32)
        return cls.from_arrays(pa.array(offsets.astype(width)), values, type=t, mask=None if mask is None else pa.array(mask))

    def table(self, schema=None, rows=None):
        schema = schema or self.schema()
        n = self.rng.choice(SIZES) if rows is None else rows
        return pa.Table.from_arrays([self.array(f, n) for f in schema], schema=schema)

    def batches(self, table):
        """The table cut at random, empty batches included."""
        at, out = 0, []
        while at < table.num_rows:
            n = self.rng.choice([0, 1, 10, 500, 2000, table.num_rows])
            out += table.slice(at, n).to_batches()
            at += n
        return out
