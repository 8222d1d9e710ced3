"""Part stores from Python."""

import datetime
import decimal
import threading
import uuid

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import pilum

N = 20_000


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(3)
    return pa.table({
        "id": pa.array(rng.permutation(N)),
        "kind": pa.array([["red", "green", "blue", None][i % 4] for i in range(N)]),
        "price": pa.array([None if i % 10 == 0 else i / 4 for i in range(N)]),
        "day": pa.array([datetime.date(2024, 1, 1) + datetime.timedelta(days=i // 100) for i in range(N)]),
        "st": pa.array([{"x": i % 50, "y": str(i)} for i in range(N)]),
    })


@pytest.fixture
def store(tmp_path, table):
    s = pilum.store.open(tmp_path / "ds")
    for i in range(4):
        s.put(table.slice(i * N // 4, N // 4))
    return s


def rows(table):
    return sorted(table.to_pylist(), key=repr)


def test_put_and_read_back(store, table):
    assert store.num_rows() == N
    assert rows(store.query("SELECT * FROM t").to_table()) == rows(table)
    assert store.schema.equals(table.schema)
    parts = store.parts()
    assert len(parts) == 4 and sum(p.rows for p in parts) == N
    assert all(len(p.name) == 64 and p.sidecar_state == "ok" and p.idx_bytes and p.idxh_bytes for p in parts)
    assert store.check() == []


def test_put_twice(store, table):
    first = table.slice(0, N // 4)
    again = store.put(first)
    assert (again.rows, again.rows_already_there, again.new_parts) == (N // 4, N // 4, 0)
    named = store.put(first, batch_id="extra")
    assert named.new_parts == 1 and store.num_rows() == N + N // 4
    assert store.put(first, batch_id="extra").new_parts == 0


def test_put_rolls_parts(tmp_path, table):
    s = pilum.store.open(tmp_path / "ds")
    done = s.put(table.to_reader(max_chunksize=1000), target_part_bytes=20_000)
    assert done.new_parts == len(done.parts) > 1
    assert rows(s.query("SELECT * FROM t").to_table()) == rows(table)


@pytest.mark.parametrize("sql,params,expression", [
    ("id = ?", [17], pc.field("id") == 17),
    ("id = $1 OR id = $2", [17, np.int32(18)], pc.field("id").isin([17, 18])),
    ("id BETWEEN :lo AND :hi", {"lo": 10, "hi": 30}, (pc.field("id") >= 10) & (pc.field("id") <= 30)),
    ("kind = :k", {"k": "red"}, pc.field("kind") == "red"),
    ("kind IS NULL AND price < ?", [10.5], pc.field("kind").is_null() & (pc.field("price") < 10.5)),
    ("day = ?", [datetime.date(2024, 2, 1)], pc.field("day") == datetime.date(2024, 2, 1)),
    ("kind = ?", ["' OR 1=1 --"], pc.field("kind") == "' OR 1=1 --"),
    ("price IS NULL", None, pc.field("price").is_null()),
])
def test_queries(store, table, sql, params, expression):
    want = rows(table.filter(expression))
    with_index = store.query(f"SELECT * FROM t WHERE {sql}", params)
    without = store.query(sql, params, use_index=False)
    a, b = with_index.to_table(), without.to_table()
    assert rows(a) == want
    assert a.equals(b)
    assert with_index.counts["rows_returned"] == len(want) == with_index.counts["rows_matched"]
    assert with_index.counts["units"] == 4 and without.counts["units_pruned"] == 0
    assert with_index.explain() and without.explain()


def test_forms(store):
    def ask():
        return store.query("SELECT id, kind FROM t WHERE id < ?", [1000], batch_size=100)

    want = ask().to_table()
    assert want.schema.names == ["id", "kind"] and want.num_rows == 1000
    batches = list(ask())
    assert all(isinstance(b, pa.RecordBatch) and 0 < b.num_rows <= 100 for b in batches)
    assert pa.Table.from_batches(batches).equals(want)
    assert ask().to_batches().read_all().equals(want)
    assert pa.table(ask()).equals(want)
    assert ask().schema == want.schema
    empty = store.query("id < -1").to_table()
    assert empty.num_rows == 0 and empty.schema == store.schema
    assert store.query("SELECT id FROM t LIMIT 7").to_table().num_rows == 7


def test_indexes_read_less(store):
    with_index, without = store.query("id = 77"), store.query("id = 77", use_index=False)
    assert with_index.to_table().equals(without.to_table())
    assert sum(with_index.stats["decoded"].values()) < sum(without.stats["decoded"].values())


def test_query_errors(store):
    for sql in ("id = ", "SELECT FROM t", "nope = 1", "id = 'abc'", "id = ?", "id = :x"):
        with pytest.raises(pilum.QueryError):
            store.query(sql).to_table()
    with pytest.raises(pilum.QueryError, match="at "):
        store.query("SELECT * FROM t WHERE id = = 3")
    with pytest.raises(pilum.QueryError, match=r"\$1"):
        store.query("id = ?", [object()])
    with pytest.raises(ValueError):
        store.query("kind = ?", "red")


def test_parameter_types(tmp_path):
    t = pa.table({
        "i": pa.array([1, 2], pa.int16()), "f": [1.5, 2.5], "b": [True, False], "s": ["x", "it's"],
        "d": pa.array([decimal.Decimal("1.10"), decimal.Decimal("2.20")]),
        "ts": pa.array([datetime.datetime(2024, 1, 1), datetime.datetime(2024, 1, 2)], pa.timestamp("us")),
        "bin": pa.array([b"\x00\x01", b"\xff"]),
    })
    s = pilum.store.open(tmp_path / "ds")
    s.put(t)
    for column in t.schema.names:
        for i in (0, 1):
            value = t.column(column)[i]
            for form in (value, value.as_py()):
                got = s.query(f"SELECT i FROM t WHERE {column} = ?", [form]).to_table()
                assert got.column("i").to_pylist() == [i + 1], (column, form)
    assert s.query("i = ?", [None]).to_table().num_rows == 0


def test_parts_hold_something(tmp_path, table):
    with pytest.raises(pilum.UsageError, match="0 bytes"):
        pilum.store.open(tmp_path / "ds").put(table, target_part_bytes=0)


def test_integers_past_int64(tmp_path):
    big = [2**64 - 2, 2**63, 5]
    s = pilum.store.open(tmp_path / "ds")
    s.put(pa.table({"u": pa.array(big, pa.uint64()), "d": pa.array([decimal.Decimal(10**30), None, decimal.Decimal(-(2**63) - 1)])}))
    for i, v in enumerate(big):
        assert s.query("u = ?", [v]).to_table()["u"].to_pylist() == [v]
        assert s.query("u IN (?)", [[v, None, -1, 10**40]]).to_table()["u"].to_pylist() == [v], i
    assert s.query("d = :d", {"d": 10**30}).to_table()["u"].to_pylist() == [2**64 - 2]
    assert s.query("d = ?", [-(2**63) - 1]).to_table()["u"].to_pylist() == [5]
    with pytest.raises(pilum.QueryError, match=r"parameter \$1"):
        s.query("u = ?", [10**90])


def test_uuid(tmp_path):
    ids = [uuid.UUID(int=i << 90) for i in range(1, 4)]
    column = pa.ExtensionArray.from_storage(pa.uuid(), pa.array([u.bytes for u in ids], pa.binary(16)))
    s = pilum.store.open(tmp_path / "ds")
    s.put(pa.table({"u": column, "i": [0, 1, 2]}))
    for use_index in (True, False):
        for value in (ids[1], str(ids[1]), ids[1].bytes):
            assert s.query("u = ?", [value], use_index=use_index).to_table()["i"].to_pylist() == [1]
        assert s.query(f"u IN ('{ids[0]}', '{ids[2].hex.upper()}')", use_index=use_index).to_table()["i"].to_pylist() == [0, 2]


def test_deadline(store):
    with pytest.raises(pilum.DeadlineError) as e:
        store.query("price > 0", timeout=0).to_table()
    assert isinstance(e.value, TimeoutError)
    assert store.query("price > 0", timeout=60).to_table().num_rows


def test_cancel_from_another_thread(store):
    result = store.query("SELECT * FROM t", batch_size=1)
    next(iter(result))
    other = threading.Thread(target=result.cancel)
    other.start()
    other.join()  # not a timer: a fast machine would have read to the end before it
    with pytest.raises(pilum.CancelledError):
        for _ in result:
            pass


def test_missing_dataset(tmp_path):
    s = pilum.store.open(tmp_path / "none")
    with pytest.raises(pilum.NotFound):
        s.query("a = 1")
    with pytest.raises(pilum.NotFound):
        s.schema
    with pytest.raises(pilum.NotFound):
        pilum.query(tmp_path / "none.lance", "a = 1")


def test_refresh(store, table):
    other = pilum.store.open(store._path)
    assert other.num_rows() == N
    store.put(table.slice(0, 10), batch_id="more")
    assert other.num_rows() == N
    assert other.refresh().num_rows() == N + 10


def test_schemas_unite(tmp_path):
    s = pilum.store.open(tmp_path / "ds")
    s.put(pa.table({"a": pa.array([1, 2], pa.int32()), "b": ["x", "y"]}))
    s.put(pa.table({"a": pa.array([2**40], pa.int64()), "c": [1.5]}))
    assert sorted(s.schema.names) == ["a", "b", "c"] and s.schema.field("a").type == pa.int64()
    assert rows(s.query("SELECT a, b, c FROM t").to_table()) == rows(pa.table(
        {"a": [1, 2, 2**40], "b": ["x", "y", None], "c": [None, None, 1.5]}))
    assert s.query("c IS NULL").to_table().num_rows == 2
    with pytest.raises(pilum.Error, match="b"):
        s.put(pa.table({"b": [1]}))
    s.put(pa.table({"b": [1]}), new_schema=True)
    with pytest.raises(pilum.Error, match="b"):
        s.query("b = 'x'").to_table()
    assert s.query("SELECT a FROM t WHERE a = 1").to_table().num_rows == 1


def test_input_errors_come_through(tmp_path):
    class Broken(Exception):
        pass

    t = pa.table({"a": [1, 2, 3]})

    def batches():
        yield from t.to_batches()
        raise Broken("no more")

    s = pilum.store.open(tmp_path / "ds")
    with pytest.raises(Broken, match="no more"):
        s.put(pa.RecordBatchReader.from_batches(t.schema, batches()))
    with pytest.raises(pilum.NotFound):
        s.refresh()


def test_a_part_by_pylance(store, table, tmp_path):
    """Dropped into parts/, it is answered by scanning; and pylance reads every part of ours."""
    lance_file = pytest.importorskip("lance.file")
    parts = list((tmp_path / "ds" / "parts").rglob("*.lance"))
    assert len(parts) == 4
    seen = pa.concat_tables(lance_file.LanceFileReader(str(p)).read_all().to_table() for p in parts)
    assert rows(seen) == rows(table)
    extra = table.slice(0, 100).set_column(0, "id", pa.array(range(10**6, 10**6 + 100)))
    with lance_file.LanceFileWriter(str(parts[0].with_name("f" * 64 + ".lance")), extra.schema, version="2.1") as w:
        w.write_batch(extra.take(pa.array(range(100))))
    store.refresh()
    assert store.num_rows() == N + 100
    got = store.query("id >= 1000000").to_table()
    assert rows(got) == rows(extra)
    assert store.query("id = 1000007 AND kind = 'blue'").to_table().num_rows == 0 + (extra["kind"][7].as_py() == "blue")


def test_lost_sidecars_cost_only_a_scan(store, table, tmp_path):
    want = rows(store.query("id < 50").to_table())
    for p in list((tmp_path / "ds").rglob("*.idx*")):
        p.write_bytes(p.read_bytes()[:-7] + b"garbage") if p.suffix == ".idx" else p.unlink()
    assert rows(store.refresh().query("id < 50").to_table()) == want  # this one knows the headers
    store = pilum.store.open(tmp_path / "ds")
    assert rows(store.query("id < 50").to_table()) == want
    assert store.check() != []


def test_query_over_a_file(tmp_path, table):
    path = tmp_path / "x.lance"
    with pilum.file.LanceFileWriter(path, table.schema) as w:
        w.write_batch(table)
    result = pilum.query(path, "SELECT id, st FROM t WHERE id < :n AND kind = 'red'", {"n": 100})
    want = table.filter((pc.field("id") < 100) & (pc.field("kind") == "red")).select(["id", "st"])
    assert result.to_table().equals(want)
    assert result.counts["units"] == 1
    assert pilum.query(str(path), "SELECT * WHERE st.x = 3 LIMIT 2").to_table().num_rows == 2


def test_uuid_columns(tmp_path):
    ids = [uuid.UUID(int=i).bytes for i in range(1, 4)]
    column = pa.ExtensionArray.from_storage(pa.uuid(), pa.array(ids, pa.binary(16)))
    store = pilum.store.open(tmp_path / "ds")
    store.put(pa.table({"n": [1, 2, 3], "u": column}))
    assert [p.sidecar_state for p in store.parts()] == ["ok"]
    result = store.query("u = ?", ["00000000-0000-0000-0000-000000000002"])
    table = result.to_table()
    assert table["n"].to_pylist() == [2] and table.schema.field("u").type == pa.uuid()
    assert result.counts["notes"] == []
    assert store.query("u = '00000000-0000-0000-0000-000000000009'").to_table().num_rows == 0


def test_compact_and_sweep(tmp_path):
    store = pilum.store.open(tmp_path / "ds")
    for k in range(6):
        store.put(pa.table({"id": range(k * 10, k * 10 + 10), "t": [f"t{k}"] * 10}), batch_id=f"b{k}")
    want = sorted(store.query("SELECT id FROM t").to_table()["id"].to_pylist())
    old = store.query("SELECT id FROM t")  # lists before, reads after
    done = store.compact(target_rows=1000)
    assert (done.plans, done.parts, done.rows, done.notes) == (1, 6, 60, [])
    assert [p.merged for p in store.parts()] == [True] and store.parts()[0].name == done.merged[0]
    assert store.sweep().waiting == 6
    assert store.sweep(0, dry_run=True).parts == 6
    assert store.sweep(datetime.timedelta(0)).parts == 6
    assert sorted(store.query("SELECT id FROM t").to_table()["id"].to_pylist()) == want
    assert sorted(old.to_table()["id"].to_pylist()) == want  # started over
    assert store.put(pa.table({"id": range(10), "t": ["t0"] * 10}), batch_id="b0").new_parts == 0
    assert store.check() == []
    # A merged part is a Lance file like others.
    merged = pilum.file.LanceFileReader(tmp_path / "ds" / "merged" / (done.merged[0] + ".lance"))
    assert merged.num_rows() == 60
    with pytest.raises(pilum.UsageError):
        store.sweep(-1)


def test_a_read_that_gave_rows_fails_when_its_parts_are_swept(tmp_path):
    store = pilum.store.open(tmp_path / "ds")
    rows = 600_000  # more than a stream reads ahead
    for k in range(3):
        store.put(pa.table({"id": pa.array(np.arange(k * rows, (k + 1) * rows))}))
    reading = iter(store.query("SELECT id FROM t"))
    assert 0 < next(reading).num_rows < rows
    store.compact(target_rows=3 * rows)
    store.sweep(0)
    with pytest.raises(pilum.NotFound, match="grace"):
        list(reading)


def test_erase_drop_and_copy(tmp_path):
    store = pilum.store.open(tmp_path / "ds")
    day = datetime.datetime(2024, 1, 1)
    for k in range(4):
        store.put(pa.table({"id": range(k * 10, k * 10 + 10), "at": [day + datetime.timedelta(days=k)] * 10}))
    done = store.erase("id IN (3, 13, 14) OR id = :x", {"x": 25})
    assert (done.rows, done.parts, done.hidden_left, done.notes) == (4, 3, 3, [])
    want = [i for i in range(40) if i not in (3, 13, 14, 25)]
    ids = lambda s: sorted(s.query("SELECT id FROM t").to_table()["id"].to_pylist())
    assert ids(store) == want
    assert store.sweep(0).parts == 3
    assert store.erase("id IN (3, 13, 14, 25)") == (0, 0, 0, 0, [])
    assert store.put(pa.table({"id": range(10), "at": [day] * 10})).new_parts == 0  # stays erased
    done = store.drop(day + datetime.timedelta(days=2), "at")
    assert (done.rows, done.parts, done.straddling) == (17, 2, 0)
    assert ids(store) == want[17:]
    done = store.drop(day + datetime.timedelta(days=2, hours=1), "at")
    assert done.parts == 1 and ids(store) == want[26:]
    copied = store.copy(tmp_path / "copy")
    again = store.copy(tmp_path / "copy")
    assert copied.parts == again.already_there == len(store.parts()) and again.parts == 0
    other = pilum.store.open(tmp_path / "copy")
    assert ids(other) == ids(store) and other.check() == []
    store.compact(all=True)
    store.copy(other)
    assert ids(other) == ids(store)
    other.put(pa.table({"id": [100]}))
    other.put(pa.table({"id": [101]}))
    other.compact(all=True)
    with pytest.raises(pilum.UsageError, match="plan"):
        store.copy(other)
    with pytest.raises(pilum.QueryError):
        store.erase("SELECT * FROM t")


def test_backfill(tmp_path):
    store = pilum.store.open(tmp_path / "ds")
    store.put(pa.table({"id": range(10)}))
    for p in (tmp_path / "ds" / "side").iterdir():
        p.unlink()
    assert store.parts()[0].sidecar_state == "missing"
    done = store.backfill()
    assert (done.parts, done.rebuilt) == (1, 1) and store.check() == []
    assert store.backfill(all=True).rebuilt == 0


def test_attribute(tmp_path):
    store = pilum.store.open(tmp_path / "ds")
    for k in range(2):
        store.put(pa.table({"id": range(k, 5000 + k), "text": [f"row {i % 700}" for i in range(5000)], "s": [{"a": i % 9} for i in range(5000)]}))
    next((tmp_path / "ds" / "side").glob("*.idx")).write_bytes(b"no sidecar")
    rows = store.attribute().to_pylist()
    sizes = {}
    for row in rows:
        sizes[row["part"], row["object"]] = sizes.get((row["part"], row["object"]), 0) + row["bytes"]
    folder = {"lance": "parts", "idx": "side", "idxh": "side", "stats": "side"}
    ends = {"lance": "lance", "idx": "lance.idx", "idxh": "lance.idxh", "stats": "lance.stats"}
    assert len(sizes) == 8
    for (part, name), size in sizes.items():
        assert size == (tmp_path / "ds" / folder[name] / f"{part}.{ends[name]}").stat().st_size
    found = {(row["object"], row["column"], row["family"]) for row in rows}
    assert {("lance", "text", "values"), ("lance", "s.a", "values"), ("idx", "text", "inverted"), ("idx", "", "not usable"),
            ("stats", "id", "quantiles"), ("lance", "", "container")} <= found


def test_maintain(tmp_path):
    store = pilum.store.open(tmp_path / "ds")
    for k in range(20):
        store.put(pa.table({"id": range(k * 10, k * 10 + 10), "t": [f"t{k}"] * 10}))
    done, segments = store.maintain()
    assert (segments.name, segments.written) == ("segments", 0)  # nobody asked for words
    assert (done.name, done.parts, done.fresh, done.written, done.notes) == ("bundles", 20, 20, 1, [])
    assert store.maintain()[0].written == 0
    result = pilum.store.open(tmp_path / "ds").query("id = 57")
    assert result.to_table()["t"].to_pylist() == ["t5"]
    assert result.counts["units_pruned"] == 19 and result.counts["notes"] == []
    store.put(pa.table({"id": [1000], "t": ["new"]}))
    assert store.maintain(all=True)[0].fresh == 21
    swept = store.sweep(0)
    assert (swept.caches, swept.parts) == (1, 0) and swept.cache_bytes > 0
    assert store.query("id >= 200").to_table()["t"].to_pylist() == ["new"]
    assert store.check() == []


def test_segments_of_words(tmp_path):
    schema = pa.schema([pa.field("t", pa.string(), metadata={"pilum:index": "words"})])
    store = pilum.store.open(tmp_path / "ds")
    for k in range(20):
        store.put(pa.table({"t": [f"the part{k} and w{i}" for i in range(50)]}, schema=schema))
    before = store.query("contains_words(t, 'PART7 w3')").to_table()
    assert before["t"].to_pylist() == ["the part7 and w3"]
    made = store.maintain()[1]
    assert (made.name, made.fresh, made.written) == ("segments", 20, 1)
    result = pilum.store.open(tmp_path / "ds").query("contains_words(t, 'PART7 w3')")
    assert result.to_table() == before and result.counts["units_pruned"] == 19
    assert store.query("NOT contains_words(t, 'part7')").to_table().num_rows == 950
    assert store.check() == []


def test_a_deadline_holds_while_parts_are_listed(tmp_path):
    store = pilum.store.open(tmp_path / "ds")
    store.put(pa.table({"id": [1]}))
    with pytest.raises(pilum.DeadlineError, match="parts listed"):
        pilum.store.open(tmp_path / "ds").query("id = 1", timeout=0)
    assert store.query("id = 1", timeout=60).to_table().num_rows == 1
