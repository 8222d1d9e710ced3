"""pilum.sketch from Python: every class by the same laws, and answers against the truth."""

import copy
import decimal
import math
import pickle
import random
import threading

import pyarrow as pa
import pytest

import pilum
from pilum import sketch
from pilum.sketch import HLL, KLL, Bloom, CountMin, Cuckoo, Fuse, HeavyHitters, Incompatible, MinHash, Moments, TDigest

MAKERS = [
    lambda: HLL(p=11),
    lambda: Bloom(items=3000),
    lambda: Cuckoo(items=10000),
    lambda: Fuse(),
    lambda: CountMin(width=500),
    lambda: CountMin(width=500, conservative=True),
    lambda: HeavyHitters(),
    lambda: MinHash(k=100),
    lambda: TDigest(),
    lambda: KLL(),
    lambda: KLL(kind="int"),
    lambda: Moments(pa.int64()),
]


def column(seed, n=3000):
    rng = random.Random(seed)
    return pa.array([None if rng.random() < 0.1 else rng.randrange(n) for _ in range(n)], pa.int64())


@pytest.mark.parametrize("make", MAKERS)
def test_laws_and_bytes(make):
    a, b = make().update(column(1)), make().update(column(2))
    before = bytes(a)
    assert bytes(a | b) == bytes(b | a)
    assert bytes(a) == before and a != a.copy().update(column(3))
    assert a | make() == a and make() | a == a
    again = type(a).from_bytes(bytes(a))
    assert again == a and sketch.from_bytes(bytes(a)) == a and type(sketch.from_bytes(bytes(a))) is type(a)
    for other in (pickle.loads(pickle.dumps(a)), copy.copy(a), copy.deepcopy(a)):
        assert other == a and other.params == a.params
        assert other.update([1, 2, 3]) is other
    assert bytes(a) == before, "a copy changed its origin"
    in_place = a.copy()
    in_place |= b
    assert in_place == a | b
    assert type(a).__name__ in repr(a) and a.params in repr(a)
    chunked = pa.chunked_array([column(1).slice(0, 700), column(1).slice(700)])
    assert make().update(chunked) == a
    with pytest.raises(pilum.CorruptError):
        type(a).from_bytes(before[:-1])
    with pytest.raises(TypeError):
        hash(a)


def test_unlike_sketches_are_refused_and_named():
    with pytest.raises(Incompatible, match=r"p=12 seed=0.*p=11 seed=0"):
        HLL(p=12) | HLL(p=11)
    with pytest.raises(Incompatible, match="HLL.*MinHash"):
        HLL() | MinHash()
    with pytest.raises(pilum.UsageError):
        HLL(p=3)
    with pytest.raises(TypeError):
        HLL() | 5
    with pytest.raises(pilum.CorruptError):
        sketch.from_bytes(b"nothing")


def test_hll():
    s = HLL(p=12).update(pa.array(range(100000)))
    e = s.count()
    assert abs(e.value - 100000) < 6 * s.standard_error * 100000 and e.low < e.value < e.high and e.confidence == 0.95
    assert "standard error 1.6 %" in repr(s)
    small = HLL().update(pa.array([1, 2, 2, None]))
    assert round(small.count().value) == 2
    one = HLL().update(pa.array([1], pa.int8()))
    assert one == HLL().update(pa.array([1], pa.int64()).dictionary_encode()) == HLL().update([1])
    floats = HLL().update(pa.array([0.0, -0.0, math.nan, -math.nan]))
    assert round(floats.count().value) == 2


@pytest.mark.parametrize("make", [lambda: Bloom(1000), lambda: Cuckoo(1000), lambda: Fuse().update([]), lambda: Fuse(16)])
def test_filters(make):
    rows = pa.array([f"user {i}" for i in range(1000)])
    s = make().update(rows)
    if isinstance(s, Fuse):
        s.seal()
        with pytest.raises(pilum.UsageError, match="sealed"):
            s.update(["x"])
    assert all(s.contains(rows).to_pylist())
    asked = pa.array(["user 5", None] + [f"nobody {i}" for i in range(5000)])
    answers = s.contains(asked).to_pylist()
    assert answers[0] is True and answers[1] is None
    assert sum(answers[2:]) < 100
    assert sketch.from_bytes(bytes(s)).contains(asked).to_pylist() == answers


def test_cuckoo_says_when_it_is_full():
    with pytest.raises(pilum.UsageError, match="full"):
        Cuckoo(10).update(range(11))
    assert len(Cuckoo(10).update(list(range(10)) * 3)) == 10


def test_counts():
    rows = ["a"] * 50 + ["b"] * 20 + [None] * 5 + ["c"]
    assert CountMin().update(rows).counts(["a", None, "b", "zzz"]).to_pylist() == [50, None, 20, 0]
    s = HeavyHitters().update(rows)
    assert s.top(2) == [("a", 50, 50, False), ("b", 20, 20, False)] and s.error == 0 and s.total == 71
    kinds = [decimal.Decimal("1.50"), b"\x00\xff", 2.5, 7, True]
    types = [pa.decimal128(10, 2), pa.binary(), pa.float32(), pa.uint8(), pa.bool_()]
    for value, kind in zip(kinds, types):
        assert HeavyHitters().update(pa.array([value], kind)).top()[0].value == value
    rng = random.Random(4)
    many = [int(rng.paretovariate(1)) for _ in range(50000)]
    s = HeavyHitters(64).update(many[:20000]) | HeavyHitters(64).update(many[20000:])
    for t in s.top(20):
        assert t.low <= many.count(t.value) <= t.high


def test_min_hash():
    a, b = MinHash().update(range(0, 3000)), MinHash().update(range(1000, 4000))
    e = a.jaccard(b)
    assert e.low <= 0.5 <= e.high and abs(e.value - 0.5) < 0.15
    assert MinHash().update(range(10)).jaccard(MinHash().update(range(5, 15))).value == 5 / 15
    with pytest.raises(Incompatible):
        a.jaccard(MinHash(seed=1))


@pytest.mark.parametrize("make", [TDigest, KLL])
def test_quantiles(make):
    rng = random.Random(5)
    rows = [rng.gauss(0, 1) for _ in range(40000)]
    s = make().update(rows[:15000]) | make().update(rows[15000:])
    rows.sort()
    for q in (0, 0.01, 0.25, 0.5, 0.75, 0.99, 1):
        e = s.quantile(q)
        assert e.low <= e.value <= e.high
        assert abs(sum(r <= e.value for r in rows) / 40000 - q) < 0.015
        assert abs(s.rank(e.value) - q) < 0.01
    assert s.count == 40000 and s.quantile(0).value == rows[0] and s.quantile(1).value == rows[-1]
    assert "median" in repr(s) and "no values" in repr(make())
    with pytest.raises(pilum.UsageError):
        make().quantile(0.5)
    with pytest.raises(pilum.UsageError):
        s.quantile(1.1)
    with pytest.raises(pilum.UsageError, match="string"):
        s.update(["a"])


def test_kll_of_whole_numbers_is_exact():
    s = KLL(kind="int").update([2**60 + 1, 2**60 + 3, 2**60 + 2])
    assert s.quantile(0.5).value == 2**60 + 2 and isinstance(s.quantile(0.5).value, int)
    with pytest.raises(pilum.UsageError):
        s.update([0.5])


def test_moments():
    m = Moments(pa.uint64()).update(pa.array([2**64 - 1, 2**64 - 1, None], pa.uint64()))
    assert (m.count, m.nulls, m.sum, m.max) == (2, 1, 2 * (2**64 - 1), 2**64 - 1)
    rng = random.Random(6)
    rows = [rng.uniform(-1, 1) * 10 ** rng.randrange(-20, 20) for _ in range(5000)]
    m = Moments(pa.float64()).update(rows[:1234]) | Moments(pa.float64()).update(rows[1234:])
    assert m.sum == math.fsum(rows) and m.min == min(rows) and m.max == max(rows)
    prices = pa.array([decimal.Decimal("1.10"), decimal.Decimal("-2.50"), None], pa.decimal128(10, 2))
    d = Moments(prices.type).update(prices)
    assert d.sum == decimal.Decimal("-1.40") and d.min == decimal.Decimal("-2.50") and abs(d.mean + 0.7) < 1e-12
    t = Moments(pa.string()).update(["b", "a", None])
    assert (t.min, t.max, t.sum, t.mean) == ("a", "b", None, None)
    assert Moments(pa.int8()).min is None
    with pytest.raises(Incompatible):
        m | d


def test_threads_share_a_sketch():
    s, parts = HLL(), [pa.array(range(i * 1000, i * 1000 + 5000)) for i in range(8)]
    threads = [threading.Thread(target=s.update, args=(p,)) for p in parts]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert s == HLL().update(pa.chunked_array(parts))


def test_everything_that_gives_arrow_is_taken():
    expected = HLL().update(pa.array([1, 2, 3]))
    assert HLL().update([1, 2, 3]) == expected
    numpy = pytest.importorskip("numpy")
    assert HLL().update(numpy.array([3, 2, 1])) == expected
    polars = pytest.importorskip("polars")
    assert HLL().update(polars.Series([1, 2, 3])) == expected
