"""SELECT with expressions, aggregates, groups and order: cases by hand, and random queries beside DuckDB."""

import datetime
import decimal
import math
import random

import pyarrow as pa
import pytest

import pilum
import pilum.file
import pilum.store

NAN = float("nan")


@pytest.fixture
def ask(tmp_path):
    """ask(table, sql): over a file of the table, written in batches of 3 rows or of `chunk`."""

    def run(table, sql, params=None, chunk=3, **options):
        path = tmp_path / "x.lance"
        with pilum.file.LanceFileWriter(path, table.schema) as w:
            for batch in table.to_batches(max_chunksize=chunk):
                w.write_batch(batch)
        return pilum.store.query(path, sql, params, **options).to_table()

    return run


def rows(table):
    return [tuple(r) for r in zip(*(c.to_pylist() for c in table.columns))]


FRUIT = pa.table({
    "kind": ["apple", "pear", "apple", None, "pear", "apple"],
    "n": pa.array([3, None, -5, 7, 0, 3], pa.int32()),
    "w": pa.array([1.5, -0.0, NAN, 2.0, 0.0, NAN]),
    "price": pa.array([decimal.Decimal(x) if x else None for x in ["1.10", "2.25", None, "0.05", "2.25", "1.15"]], pa.decimal128(6, 2)),
    "day": pa.array([datetime.date(2024, 1, d) for d in (1, 2, 1, 3, 2, 9)]),
})


def test_aggregates_of_all_rows(ask):
    sql = "SELECT COUNT(*), COUNT(n), SUM(n), AVG(n), MIN(n), MAX(kind), MEDIAN(n), COUNT(DISTINCT kind), COUNT(DISTINCT w) FROM t"
    assert rows(ask(FRUIT, sql)) == [(6, 5, 8, 1.6, -5, "pear", 3.0, 2, 4)]
    assert rows(ask(FRUIT, "SELECT COUNT(*), SUM(n), MIN(kind) FROM t WHERE n > 100")) == [(0, None, None)]
    out = ask(FRUIT, "SELECT SUM(price), AVG(price), MEDIAN(price), MEDIAN(day), MEDIAN(kind), MAX(w), SUM(DISTINCT n) FROM t")
    got = rows(out)[0]
    assert got[0] == decimal.Decimal("6.80") and out.schema.field(0).type == pa.decimal128(38, 2)
    assert got[1] == decimal.Decimal("1.36") and got[2] == decimal.Decimal("1.150")
    assert got[3] == datetime.date(2024, 1, 2) and got[4] == "apple" and math.isnan(got[5]) and got[6] == 5


def test_groups(ask):
    got = rows(ask(FRUIT, "SELECT kind, COUNT(*) AS n, SUM(n) FROM t GROUP BY kind ORDER BY kind"))
    assert got == [("apple", 3, 1), ("pear", 2, 0), (None, 1, 7)]
    got = rows(ask(FRUIT, "SELECT w, COUNT(*) FROM t GROUP BY w ORDER BY w"))
    assert got[:3] == [(0.0, 2), (1.5, 1), (2.0, 1)] and math.copysign(1, got[0][0]) == 1
    assert math.isnan(got[3][0]) and got[3][1] == 2
    assert rows(ask(FRUIT, "SELECT kind FROM t GROUP BY kind")) == [("apple",), ("pear",), (None,)], "in order of first rows"
    assert rows(ask(FRUIT, "SELECT upper(kind) AS k, MAX(n) - MIN(n) FROM t GROUP BY k HAVING COUNT(*) > 1 ORDER BY k DESC")) == [
        ("PEAR", 0), ("APPLE", 8)]
    assert rows(ask(FRUIT, "SELECT n % 2 = 0 AS even, COUNT(*) FROM t GROUP BY n % 2 = 0 ORDER BY 1")) == [
        (False, 4), (True, 1), (None, 1)]
    assert rows(ask(FRUIT, "SELECT kind FROM t WHERE n > 100 GROUP BY kind")) == []


def test_aliases_in_having_and_order(ask):
    one = lambda sql: rows(ask(FRUIT, sql))
    assert one("SELECT kind, COUNT(*) AS c FROM t GROUP BY kind HAVING c > 1 ORDER BY -c, kind") == [("apple", 3), ("pear", 2)]
    assert one("SELECT COUNT(*) AS c FROM t HAVING c > 100 OR c IS NULL") == []
    assert one("SELECT kind AS n, COUNT(*) FROM t GROUP BY kind HAVING COUNT(n) > 1 ORDER BY 1") == [("apple", 3)], "a column wins"
    with pytest.raises(pilum.QueryError, match="no column 'x'"):
        one("SELECT COUNT(*) + x AS x FROM t HAVING x > 1")
    with pytest.raises(pilum.QueryError, match="at 41: there is no column 'c'"):
        one("SELECT kind, n AS c FROM t WHERE kind < c")


def test_order_limit_distinct(ask):
    assert rows(ask(FRUIT, "SELECT kind, n FROM t ORDER BY n DESC, kind LIMIT 3")) == [(None, 7), ("apple", 3), ("apple", 3)]
    assert rows(ask(FRUIT, "SELECT n FROM t ORDER BY n NULLS FIRST LIMIT 2 OFFSET 1")) == [(-5,), (0,)]
    assert rows(ask(FRUIT, "SELECT n FROM t ORDER BY n DESC")) == [(7,), (3,), (3,), (0,), (-5,), (None,)]
    assert rows(ask(FRUIT, "SELECT DISTINCT kind FROM t")) == [("apple",), ("pear",), (None,)]
    assert rows(ask(FRUIT, "SELECT DISTINCT kind, n FROM t ORDER BY n DESC, kind LIMIT 2")) == [(None, 7), ("apple", 3)]
    assert rows(ask(FRUIT, "SELECT kind, w FROM t ORDER BY w DESC LIMIT 1"))[0][0] == "apple", "ties stay in row order"
    assert rows(ask(FRUIT, "SELECT n + 1 FROM t LIMIT 2")) == [(4,), (None,)]


def test_more_rows_than_a_limit_keeps(ask):
    n = 300_000
    x = [(i * 7919) % n for i in range(n)]
    table = pa.table({"x": x, "s": [f"s{i % 1000}" for i in x]})
    got = ask(table, "SELECT s, x FROM t ORDER BY x DESC LIMIT 3 OFFSET 1", chunk=65536, batch_size=4096)
    assert rows(got) == [("s998", 299_998), ("s997", 299_997), ("s996", 299_996)]
    got = ask(table, "SELECT x FROM t ORDER BY s LIMIT 301", chunk=65536)
    assert [r[0] for r in rows(got)] == [v for v in x if v % 1000 == 0] + [next(v for v in x if v % 1000 == 1)], "ties in row order"


def test_groups_past_the_memory_limit_fail(ask):
    table = pa.table({"x": range(100_000)})
    for sql in ("SELECT x, COUNT(*) FROM t GROUP BY x", "SELECT DISTINCT x FROM t", "SELECT x FROM t ORDER BY -x",
                "SELECT COUNT(DISTINCT x) FROM t", "SELECT MEDIAN(x) FROM t"):
        with pytest.raises(pilum.Error, match="over the memory limit of 100000"):
            ask(table, sql, chunk=65536, memory_limit=100_000)
        assert ask(table, sql, chunk=65536, memory_limit=100_000_000).num_rows >= 1


def test_no_value_is_an_error_in_select_and_null_in_having(ask):
    with pytest.raises(pilum.QueryError, match=r"\(n / 0\) has no value for 3, 0"):
        ask(FRUIT, "SELECT n / 0 FROM t")
    with pytest.raises(pilum.QueryError, match="has no value for 9223372036854775807, 1"):
        ask(pa.table({"x": [2**63 - 1]}), "SELECT x + 1 FROM t")
    with pytest.raises(pilum.QueryError, match="CAST"):
        ask(FRUIT, "SELECT CAST(kind AS int) FROM t")
    assert rows(ask(FRUIT, "SELECT TRY_CAST(kind AS int) FROM t LIMIT 1")) == [(None,)]
    assert rows(ask(FRUIT, "SELECT CASE WHEN n <> 0 THEN 12 / n ELSE -1 END FROM t")) == [(4,), (-1,), (-2,), (1,), (-1,), (4,)]
    assert rows(ask(FRUIT, "SELECT coalesce(nullif(n, 0), -1) FROM t WHERE n = 0")) == [(-1,)]
    assert rows(ask(FRUIT, "SELECT kind FROM t GROUP BY kind HAVING 1 / SUM(n) > 0 ORDER BY kind")) == [("apple",)]
    with pytest.raises(pilum.QueryError, match=r"sum\(x\) overflows int64.*decimal\(38, 0\)"):
        ask(pa.table({"x": [2**63 - 1, 1]}), "SELECT SUM(x) FROM t")
    big = pa.table({"x": [2**63 - 1, 1]})
    assert rows(ask(big, "SELECT SUM(CAST(x AS decimal(38, 0))), AVG(x) FROM t")) == [(decimal.Decimal(2**63), 2.0**62)]


def test_no_value_inside_an_aggregate_of_having_is_null(ask):
    big = pa.table({"k": ["a", "a", "b", "c", "c"], "x": [2**63 - 1, 1, 5, None, 2**63 - 1], "z": [0, 1, 1, 1, 1]})
    having = lambda h: [k for (k,) in rows(ask(big, f"SELECT k FROM t GROUP BY k HAVING {h} ORDER BY k"))]
    assert having("SUM(x + 1) = 2") == ["a"], "the row that overflows is left out, as a row of WHERE is"
    assert having("SUM(x) > 0") == ["b", "c"], "a sum that overflows is NULL"
    assert having("COUNT(1 / z) = 1") == ["a", "b"]
    assert having("COUNT(1 / 0) = 0") == ["a", "b", "c"]
    assert having("MIN(CAST(k AS int)) IS NULL") == ["a", "b", "c"]
    for sql in ("SELECT SUM(x + 1) FROM t GROUP BY k HAVING SUM(x + 1) = 2",
                "SELECT k FROM t GROUP BY k HAVING SUM(x + 1) = 2 ORDER BY SUM(x + 1)"):
        with pytest.raises(pilum.QueryError, match="has no value for 9223372036854775807, 1"):
            ask(big, sql)
    huge = pa.table({"d": pa.array([decimal.Decimal("9" * 38)] * 2 + [decimal.Decimal(1)], pa.decimal128(38, 0)), "k": [1, 1, 2]})
    assert rows(ask(huge, "SELECT k FROM t GROUP BY k HAVING SUM(d) > 0")) == [(2,)]
    with pytest.raises(pilum.QueryError, match="overflows"):
        ask(huge, "SELECT SUM(d) FROM t")


def test_and_or_ask_from_left_to_right_in_select(ask):
    """The right side is asked of the rows that the left leaves open, whatever the batches and the other rows are."""
    table = pa.table({"n": pa.array([3, 0, -5, None, 0, 3] * 50, pa.int64())})
    for chunk in (1, 3, 300):
        for size in (1, 7, 1000):
            one = lambda sql: [r for (r,) in rows(ask(table, sql, chunk=chunk, batch_size=size))][:6]
            assert one("SELECT n <> 0 AND 12 / n > 1 FROM t") == [True, False, False, None, False, True]
            assert one("SELECT n = 0 OR 12 / n > 1 FROM t") == [True, True, False, None, True, True]
            assert one("SELECT NOT (n = 0 OR n IS NULL) AND (n = 3 OR 12 / n > 1) FROM t") == [True, False, False, False, False, True]
            for sql in ("SELECT 12 / n > 1 AND n <> 0 FROM t", "SELECT n < 1 AND 12 / n > 1 FROM t"):
                with pytest.raises(pilum.QueryError, match=r"\(12 / n\) has no value for 12, 0"):
                    one(sql)
            # In WHERE a row without a value is NULL, and no order of the parts shows.
            wanted = [(3,), (3,)] * 50
            assert rows(ask(table, "SELECT n FROM t WHERE 12 / n > 1 AND n <> 0", chunk=chunk, batch_size=size)) == wanted
            assert rows(ask(table, "SELECT n FROM t WHERE n <> 0 AND 12 / n > 1", chunk=chunk, batch_size=size)) == wanted


def test_types_that_are_counted_only(ask):
    table = pa.table({"l": [[1], None, []], "s": [{"a": 1}, None, {"a": None}], "d": pa.array(["x", None, "x"]).dictionary_encode()})
    assert rows(ask(table, "SELECT COUNT(l), COUNT(s), COUNT(s.a), COUNT(DISTINCT d), MAX(d) FROM t")) == [(2, 2, 1, 1, "x")]
    assert rows(ask(table, "SELECT d, COUNT(*) FROM t GROUP BY d ORDER BY d")) == [("x", 2), (None, 1)]
    assert rows(ask(table, "SELECT l, s FROM t ORDER BY cardinality(l) DESC")) == [([1], {"a": 1}), ([], {"a": None}), (None, None)]


def test_a_store_of_overlapping_parts_and_no_rows(tmp_path):
    store = pilum.store.open(str(tmp_path / "s" / "d"))
    store.put(FRUIT)
    store.put(FRUIT.slice(0, 2))
    assert rows(store.query("SELECT COUNT(*), SUM(n) FROM t").to_table()) == [(8, 11)]
    result = store.query("SELECT kind, COUNT(*) FROM t GROUP BY kind ORDER BY 2 DESC LIMIT 1")
    assert rows(result.to_table()) == [("apple", 4)]
    text = store.query("SELECT kind, COUNT(*) FROM t WHERE n > 0 GROUP BY kind").explain()
    assert "group    by kind; count(*)" in text


def exact(rng, table):
    """A random aggregate that DuckDB and Pilum define alike, and how to ask each for it."""
    ints, texts, decimals = ["i", "u"], ["s"], ["d"]
    kind = rng.randrange(7)
    if kind == 0:
        return "COUNT(*)"
    if kind == 1:
        return f"COUNT({rng.choice(table.schema.names)})"
    if kind == 2:
        return f"COUNT(DISTINCT {rng.choice(ints + texts + decimals + ['b'])})"
    if kind == 3:
        return f"SUM({rng.choice(ints)})"
    if kind == 4:
        return f"{rng.choice(['MIN', 'MAX'])}({rng.choice(ints + texts + decimals + ['f', 't'])})"
    if kind == 5:
        return f"AVG({rng.choice(ints)})"
    return f"MEDIAN({rng.choice(ints)})"


def same(a, b):
    if isinstance(a, float) and isinstance(b, (float, int)):
        return (math.isnan(a) and math.isnan(b)) or math.isclose(a, b, rel_tol=1e-12)
    return a == b


def test_duckdb_agrees(budget, tmp_path):
    duckdb = pytest.importorskip("duckdb")
    budget = budget(0.15)
    queries = 0
    path = tmp_path / "x.lance"
    for seed in budget.seeds():
        rng = random.Random(seed)
        n = rng.choice([0, 1, 5, 200, 3000])
        few = rng.choice([1, 3, 50])

        def column(make, nulls):
            return [None if rng.random() < nulls else make() for _ in range(n)]

        table = pa.table({
            "i": pa.array(column(lambda: rng.randint(-few, few), 0.1), pa.int32()),
            "u": pa.array(column(lambda: rng.randint(0, few), 0), pa.uint16()),
            "s": pa.array(column(lambda: rng.choice(["", "a", "b", "é", "zz"]) * rng.randint(0, 2), 0.2), pa.string()),
            "d": pa.array(column(lambda: decimal.Decimal(rng.randint(-500, 500)).scaleb(-2), 0.1), pa.decimal128(9, 2)),
            "f": pa.array(column(lambda: rng.choice([0.0, -0.0, 1.5, NAN, -1e300, rng.random()]), 0.1), pa.float64()),
            "b": pa.array(column(lambda: rng.random() < 0.5, 0.3), pa.bool_()),
            "t": pa.array(column(lambda: rng.randint(-10**15, 10**15), 0.1), pa.timestamp("us")),
        })
        with pilum.file.LanceFileWriter(path, table.schema) as w:
            for batch in table.to_batches(max_chunksize=rng.choice([7, 1000])):
                w.write_batch(batch)
        con = duckdb.connect()
        con.execute("SET default_null_order='nulls_last'")
        con.register("t", table)
        for _ in range(10):
            keys = rng.sample(["i", "s", "f", "b", "i % 3", "d"], rng.choice([0, 1, 2]))
            select = [f"{k} AS k{at}" for at, k in enumerate(keys)] + [f"{exact(rng, table)} AS a{at}" for at in range(rng.randint(1, 3))]
            sql = f"SELECT {', '.join(select)} FROM t"
            if rng.random() < 0.4:
                sql += " WHERE " + rng.choice([
                    "i > 0", "s = 'a'", "f < 1", "b", "i IS NULL", "d BETWEEN -1 AND 2", "s LIKE '%a%' AND i > 0 AND b",
                    "s LIKE 'a%' OR (i < 0 AND d > 0) OR b", "NOT (b AND i % 3 = 1) AND f < 1", "(b OR i > 1) AND (s IS NULL OR s <> 'zz')"])
            if keys:
                sql += " GROUP BY " + ", ".join(keys)
                if rng.random() < 0.3:
                    sql += " HAVING COUNT(*) > 1"
                sql += " ORDER BY " + ", ".join(f"k{at}" + rng.choice(["", " DESC", " NULLS FIRST"]) for at in range(len(keys)))
            if rng.random() < 0.3:
                sql += f" LIMIT {rng.randint(0, 5)}"
            got, want = rows(pilum.store.query(path, sql).to_table()), con.execute(sql).fetchall()
            where = f"PILUM_INTEROP_SEED={seed}: {sql}"
            assert len(got) == len(want), where
            assert all(same(x, y) for g, w in zip(got, want) for x, y in zip(g, w)), f"{where}\n{got[:5]}\n{want[:5]}"
            queries += 1
    print(f"{queries} queries equal")
