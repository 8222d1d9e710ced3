"""Statistics of a part store: ten overlapping parts, folded without opening a Lance file, against the truth."""

import collections
import json
import math

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import pilum
import pilum.store

ROWS = 60_000


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(11)
    zipf = rng.zipf(1.4, ROWS) % 5000
    return pa.table({
        "id": pa.array(rng.permutation(ROWS)),
        "word": pa.array([f"w{z}" for z in zipf], mask=rng.random(ROWS) < 0.05),
        "small": pa.array(rng.integers(-5, 5, ROWS), pa.int8()),
        "big": pa.array(rng.integers(2**62, 2**63, ROWS, dtype=np.uint64) * 2 + 1, pa.uint64()),
        "x": pa.array(np.where(rng.random(ROWS) < 0.01, np.nan, rng.lognormal(0, 2, ROWS))),
        "at": pa.array(rng.integers(0, 10**15, ROWS), pa.timestamp("us", "UTC")),
        "st": pa.array([{"a": int(i % 77)} if i % 5 else None for i in range(ROWS)]),
        "tags": pa.array([["a"] * int(i % 3) for i in range(ROWS)]),
    })


@pytest.fixture(scope="module")
def store(table, tmp_path_factory):
    """Ten parts that overlap: each row is in two of them."""
    s = pilum.store.open(tmp_path_factory.mktemp("s") / "d")
    step = ROWS // 10
    for i in range(10):
        begin = i * step
        part = pa.concat_tables([table.slice(begin, step), table.slice((begin + step) % ROWS, step)])
        s.put(part)
    return s


@pytest.fixture(scope="module")
def everything(store):
    return store.query("SELECT * FROM t").to_table()


def one(store, sql, **options):
    result = store.query(sql, **options)
    out = result.to_table()
    assert out.num_rows == 1
    return out, result


def untouched(result):
    """The answer came from sidecars: no value was decoded, no part read."""
    return "from     statistics alone" in result.explain() and "decode   0 values" in result.explain()


def test_exact_ones_need_no_rows(store, everything):
    sql = "SELECT COUNT(*) AS n, COUNT(word) AS w, MIN(id) AS a, MAX(word) AS b, MAX(x) AS c, MIN(big) AS d, MAX(st.a) AS e, COUNT(tags) AS f, MIN(at) AS g FROM t"
    out, result = one(store, sql)
    assert untouched(result)
    got = out.to_pylist()[0]
    w = everything["word"]
    assert got["n"] == 2 * ROWS and got["w"] == 2 * ROWS - w.null_count and got["a"] == 0
    assert got["b"] == pc.max(w).as_py() and math.isnan(got["c"]) and got["d"] == pc.min(everything["big"]).as_py()
    assert got["e"] == 76 and got["f"] == 2 * ROWS and got["g"] == pc.min(everything["at"]).as_py()
    again, scanned = one(store, sql, use_index=False)
    assert repr(again.to_pylist()) == repr(out.to_pylist()) and not untouched(scanned)


def test_approximate_ones_keep_their_bounds(store, everything):
    out, result = one(store, "SELECT APPROX_COUNT_DISTINCT(id) AS ids, APPROX_COUNT_DISTINCT(word) AS words, "
                             "APPROX_PERCENTILE(x, 0.5) AS median, APPROX_PERCENTILE(at, 0.99) AS late, APPROX_TOP_K(word, 5) AS top FROM t")
    assert untouched(result)
    got = out.to_pylist()[0]
    for name in ("ids", "words"):
        assert out.schema.field(name).metadata[b"pilum:sketch"] == b"HLL"
        assert float(out.schema.field(name).metadata[b"pilum:confidence"]) == 0.95
    bound = float(out.schema.field("ids").metadata[b"pilum:error_bound"].split()[0])
    assert abs(got["ids"] - ROWS) <= 2 * bound * ROWS
    words = len(pc.unique(everything["word"].drop_null()))
    assert abs(got["words"] - words) <= 2 * bound * words
    x = np.sort(np.nan_to_num(everything["x"].to_numpy(), nan=np.inf))
    rank = np.searchsorted(x, got["median"]) / len(x)
    assert abs(rank - 0.5) <= float(out.schema.field("median").metadata[b"pilum:error_bound"].split()[0])
    when = np.sort(everything["at"].cast(pa.int64()).to_numpy())
    late = pa.scalar(got["late"], out.schema.field("late").type).cast(pa.int64()).as_py()
    assert abs(np.searchsorted(when, late) / len(when) - 0.99) <= 0.02
    counts = collections.Counter(everything["word"].drop_null().to_pylist())
    slack = float(out.schema.field("top").metadata[b"pilum:error_bound"].split()[0]) * 2 * ROWS
    for item, (_, most) in zip(got["top"], counts.most_common(5)):
        assert counts[item["value"]] - slack <= item["count"] <= counts[item["value"]]
        assert counts[item["value"]] >= most - slack


def test_with_where_or_groups_they_are_computed(store, everything):
    out, result = one(store, "SELECT APPROX_COUNT_DISTINCT(id) AS n, COUNT(*) AS rows FROM t WHERE small < 0")
    assert not untouched(result)
    mask = pc.less(everything["small"], 0)
    truth = len(pc.unique(everything["id"].filter(mask)))
    assert abs(out["n"][0].as_py() - truth) < 0.07 * truth and out["rows"][0].as_py() == pc.sum(mask).as_py()
    by = store.query("SELECT small, APPROX_COUNT_DISTINCT(word) AS d, APPROX_PERCENTILE(id, 0.5) AS m FROM t GROUP BY small ORDER BY small").to_table()
    assert by["small"].to_pylist() == list(range(-5, 5))
    for row in by.to_pylist():
        group = everything.filter(pc.equal(everything["small"], row["small"]))
        d = len(pc.unique(group["word"].drop_null()))
        assert abs(row["d"] - d) <= max(2, 0.1 * d)
        ids = np.sort(group["id"].to_numpy())
        assert abs(np.searchsorted(ids, row["m"]) / len(ids) - 0.5) < 0.03


def test_a_part_without_statistics_is_read(store, everything, tmp_path):
    """Bounds of the whole are unknown where one part has none (W107)."""
    s = pilum.store.open(tmp_path / "d")
    s.put(everything.slice(0, 1000))
    s.put(everything.slice(1000, 10))
    side = sorted((tmp_path / "d" / "side").glob("*.stats"))
    assert len(side) == 2
    damaged = bytearray(side[0].read_bytes())
    for at in range(600, len(damaged), 7):
        damaged[at] ^= 1
    side[0].write_bytes(damaged)
    sql = "SELECT COUNT(*), MIN(id), APPROX_COUNT_DISTINCT(id) FROM t"
    want = (1010, min(everything["id"].to_pylist()[:1010]))
    for _ in range(2):
        out, result = one(pilum.store.open(tmp_path / "d"), sql)
        assert tuple(out.to_pylist()[0].values())[:2] == want and not untouched(result)
        assert abs(list(out.to_pylist()[0].values())[2] - 1010) < 40
        side[0].unlink(missing_ok=True)
    assert any("statistics" in f or ".stats" in f for f in pilum.store.open(tmp_path / "d").check())


def test_parts_of_other_types_fold_where_the_values_are_the_same(tmp_path):
    s = pilum.store.open(tmp_path / "d")
    s.put(pa.table({"a": pa.array([1, 2], pa.int8()), "b": pa.array([1, 2], pa.int32()), "s": ["x", "y"]}))
    s.put(pa.table({"a": pa.array([300, None], pa.int64()), "b": pa.array([0.5, 2.0]), "s": pa.array(["y", "z"], pa.large_string())}))
    s.put(pa.table({"a": pa.array([7], pa.int32())}))
    out, result = one(s, "SELECT MAX(a), COUNT(a), COUNT(s), APPROX_COUNT_DISTINCT(s), MIN(s) FROM t")
    assert list(out.to_pylist()[0].values()) == [300, 4, 4, 3, "x"] and untouched(result)
    out, result = one(s, "SELECT MAX(b), COUNT(b) FROM t")  # integers and floats: read
    assert list(out.to_pylist()[0].values()) == [2.0, 4] and not untouched(result)


def test_the_same_rows_give_the_same_statistics(table, tmp_path):
    stats = []
    for name, chunk in (("a", 1000), ("b", 7777)):
        s = pilum.store.open(tmp_path / name)
        s.put(pa.RecordBatchReader.from_batches(table.schema, table.to_batches(max_chunksize=chunk)))
        files = list((tmp_path / name / "side").glob("*.stats"))
        assert len(files) == 1
        stats.append((files[0].name, files[0].read_bytes()))
    assert stats[0] == stats[1]
