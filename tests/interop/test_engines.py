"""DuckDB and polars over tables, part stores and files: the same answers, and no more bytes read than they need."""

import datetime
import random

import duckdb
import lance
import polars as pl
import pyarrow as pa
import pytest

import pilum
from pilum.file import LanceFileWriter

ROWS = 20000


@pytest.fixture(scope="module")
def data():
    rng = random.Random(5)
    ids = range(ROWS)
    return pa.table(
        {
            "i": pa.array(ids, pa.int64()),
            "f": pa.array([None if i % 11 == 0 else rng.random() for i in ids], pa.float64()),
            "g": pa.array([float("nan") if i % 13 == 0 else i / 8 for i in ids], pa.float32()),
            "s": pa.array([None if i % 7 == 0 else rng.choice(["red", "green", "blue"]) for i in ids]),
            "b": pa.array([rng.choice([True, False, None]) for _ in ids]),
            "d": pa.array([18000 + i % 400 for i in ids], pa.int32()).cast(pa.date32()),
            "t": pa.array([10**15 + i for i in ids], pa.timestamp("us")),
            "st": pa.array([{"x": i % 100, "y": "y%d" % (i % 5)} for i in ids]),
            "wide": pa.array([rng.randbytes(100) for _ in ids]),
        }
    )


@pytest.fixture(scope="module")
def ds(data, tmp_path_factory):
    uri = str(tmp_path_factory.mktemp("t") / "t.lance")
    lance.write_dataset(data, uri, max_rows_per_file=6000)
    return pilum.dataset(uri)


@pytest.fixture(scope="module")
def store(data, tmp_path_factory):
    store = pilum.store.open(str(tmp_path_factory.mktemp("s") / "store" / "rows"))
    store.put(data, sort="i")
    return store


@pytest.fixture(params=["table", "store"])
def rows(request, ds, store):
    return ds if request.param == "table" else store.dataset()


STATEMENTS = [
    "SELECT COUNT(*), SUM(i) FROM rows WHERE i BETWEEN 100 AND 5000",
    "SELECT i, s FROM rows WHERE s = 'red' AND f > 0.9 ORDER BY i",
    "SELECT s, COUNT(*) FROM rows WHERE b GROUP BY s ORDER BY s",
    "SELECT COUNT(*) FROM rows WHERE s IS NULL OR NOT b",
    "SELECT COUNT(*) FROM rows WHERE i IN (1, 5, 19999, 20001)",
    "SELECT COUNT(*) FROM rows WHERE s IN ('red', 'blue') AND i NOT IN (3, 4)",
    "SELECT COUNT(*) FROM rows WHERE d >= DATE '2019-06-01' AND t < TIMESTAMP '2001-09-09 01:46:45'",
    "SELECT COUNT(*) FROM rows WHERE g > 100 AND g <> 'nan'::FLOAT",
    "SELECT COUNT(*) FROM rows WHERE g = 'nan'::FLOAT",
    "SELECT COUNT(*) FROM rows WHERE st.x > 90 AND st.y = 'y1'",
    "SELECT COUNT(*) FROM rows WHERE s LIKE 'r%' OR f < 0.01",
    "SELECT st.y, MAX(f) FROM rows WHERE f IS NOT NULL GROUP BY 1 ORDER BY 1",
    "SELECT i FROM rows WHERE i % 1000 = 7 ORDER BY i LIMIT 5",
]


@pytest.mark.parametrize("sql", STATEMENTS)
def test_duckdb_answers(rows, data, sql):
    assert duckdb.sql(sql).fetchall() == duckdb.sql(sql.replace("FROM rows", "FROM data")).fetchall()


def test_duckdb_pushes_down(ds):
    plan = duckdb.sql("EXPLAIN SELECT i FROM ds WHERE i > 19990 AND s = 'red'").fetchall()[0][1]
    assert '"i" > 19990' in plan and "'red'" in plan and "Projections: i" in plan and "wide" not in plan
    ds.io_stats_incremental()
    duckdb.sql("SELECT SUM(i) FROM ds WHERE i > 5").fetchall()
    narrow = ds.io_stats_incremental().read_bytes
    duckdb.sql("SELECT * FROM ds").fetchall()
    whole = ds.io_stats_incremental().read_bytes
    assert 0 < narrow < whole / 10
    duckdb.sql("SELECT i, wide FROM ds WHERE i = 777").fetchall()  # the filter's column, and one row's worth of the other
    assert ds.io_stats_incremental().read_bytes < whole / 5


def test_duckdb_prunes_parts_by_their_sidecars(store):
    seen = []
    rows = store.dataset()
    plain = type(rows).scanner

    class Watched(type(rows)):
        def scanner(self, *args, **how):
            seen.append(how.get("filter"))
            return plain(self, *args, **how)

    watched = Watched(rows._native, "watched")
    assert duckdb.sql("SELECT s FROM watched WHERE i = 12345").fetchall()
    assert seen[-1] is not None
    result = watched.scanner(columns=["s"], filter=seen[-1])._start()
    result.to_table()
    assert result.counts["rows_candidate"] < ROWS


PLANS = [
    lambda lf: lf.filter(pl.col("i") > 19990),
    lambda lf: lf.filter((pl.col("s") == "red") & (pl.col("f") > 0.99)).select("i", "s"),
    lambda lf: lf.filter(pl.col("s").is_null() | pl.col("b")).select(pl.len()),
    lambda lf: lf.filter(~pl.col("b")).select("i"),
    lambda lf: lf.filter(pl.col("i").is_in([1, 5, 30000])),
    lambda lf: lf.filter(~pl.col("i").is_in([1, 5])).select("i"),
    lambda lf: lf.filter(pl.col("i").is_between(5, 9, closed="left")),
    lambda lf: lf.filter(pl.col("s").str.starts_with("gr")).select("s"),
    lambda lf: lf.filter(pl.col("s").str.contains("e{2}")).select("s"),
    lambda lf: lf.filter(pl.col("d") > datetime.date(2019, 6, 1)).select("d"),
    lambda lf: lf.filter(pl.col("t") == datetime.datetime(2001, 9, 9, 1, 46, 40, 5)).select("t", "i"),
    lambda lf: lf.filter(pl.col("g") > 100).select("g"),
    lambda lf: lf.filter(pl.col("g").is_nan()).select("g"),
    lambda lf: lf.filter(pl.col("f") < 0.001, pl.col("i") % 2 == 0).select("i"),
    lambda lf: lf.filter(pl.col("st").struct.field("x") > 97).select("i"),
    lambda lf: lf.filter(pl.col("i") > pl.col("st").struct.field("x")).select("i"),
    lambda lf: lf.filter(pl.col("f") > 0.5).head(5).select("i"),
    lambda lf: lf.head(5).filter(pl.col("i") > 2).select("i"),
    lambda lf: lf.slice(7, 3).select("i", "st"),
    lambda lf: lf.tail(3),
    lambda lf: lf.group_by("s").agg(pl.col("i").sum()).sort("s"),
    lambda lf: lf.select(pl.len()),
    lambda lf: lf.select("wide", "i").head(2),
]


@pytest.mark.parametrize("plan", range(len(PLANS)))
def test_polars_answers(rows, data, plan):
    got, want = PLANS[plan](pilum.scan(rows)).collect(), PLANS[plan](pl.from_arrow(data).lazy()).collect()
    assert got.equals(want) and got.schema == want.schema


def test_polars_pushes_down(ds):
    lf = pilum.scan(ds)
    plan = lf.filter(pl.col("i") > 5, pl.col("s") == "red").select("i").explain()
    assert "PYTHON[PILUM]" in plan and "SELECTION" in plan and "PROJECT 2/9" in plan
    assert "len: 3" in lf.head(3).explain()

    def cost(plan):
        ds.io_stats_incremental()
        plan.collect()
        return ds.io_stats_incremental().read_bytes

    whole = cost(lf)
    assert cost(lf.select(pl.col("i").sum())) < whole / 10
    assert cost(lf.head(5)) < whole / 2
    assert cost(lf.filter(pl.col("i") == 777).select("i", "wide")) < whole / 5


def test_what_polars_says_is_pushed_or_left_to_it(ds):
    from pilum.lazyframe import pushed_filter

    def text(e):
        pushed = pushed_filter(e, ds.schema)
        if pushed is None:
            return None
        sql, params = pushed
        for name in sorted(params, reverse=True):
            sql = sql.replace(":" + name, repr(params[name].as_py()))
        return sql

    c = pl.col
    assert text((c("i") > 5) & (c("s") == "x'")) == """("i" > 5) AND ("s" = "x'")"""
    assert text((c("i") > 5) & c("s").str.to_uppercase().eq("X")) == '("i" > 5)'  # the half that is understood
    assert text((c("i") > 5) | c("s").str.to_uppercase().eq("X")) is None
    assert text((c("i") > 5) | (c("f") <= 1)) == '("i" > 5) OR ("f" <= 1.0)'
    assert text(c("st").struct.field("x") == 3) == '"st"."x" = 3'
    assert text(c("b")) == '"b"' and text(~c("b")) is None
    assert text(c("i") > 1.5) is None and text(c("g") > 0.1) is None
    assert text(c("i") + 1 > 5) is None and text(c("i") == c("f")) is None and text(c("i").eq_missing(5)) is None


def test_polars_scans_by_address(ds, data, tmp_path, store):
    assert pilum.scan(ds.uri, version=1).select(pl.len()).collect().item() == ROWS
    assert pilum.scan(ds.uri, with_row_id=True).select("_rowid").head(2).collect()["_rowid"].to_list() == [0, 1]
    assert pilum.scan(store).filter(pl.col("i") == 3).collect().height == 1
    path = str(tmp_path / "x.lance")
    with LanceFileWriter(path, data.schema) as w:
        w.write_batch(data.slice(0, 10))
    assert pilum.scan(path).filter(pl.col("i") > 7).select("i").collect()["i"].to_list() == [8, 9]
    with pytest.raises(pilum.UsageError, match="only tables have versions"):
        pilum.scan(path, version=1)
    with pytest.raises(pilum.NotFound):
        pilum.scan(str(tmp_path / "nope"))


def test_a_store_as_a_dataset(store, data):
    rows = store.dataset()
    assert rows.schema == data.schema and rows.count_rows() == ROWS
    assert rows.to_table(["s", "st.x"], "i < 3")["st.x"].to_pylist() == [0, 1, 2]
    assert rows.to_table({"n": "i * 2"}, limit=2, offset=1)["n"].to_pylist() == [2, 4]
    assert rows.take([5, 5, 0], ["i"])["i"].to_pylist() == [5, 5, 0]
    assert rows.head(2, ["i"], order_by=["s", "i"]).num_rows == 2
    with pytest.raises(pilum.UnsupportedError, match="no fragments"):
        rows.get_fragments()
