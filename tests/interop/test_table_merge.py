"""``merge_insert`` into Lance tables: what it leaves behind is what pylance's leaves, for the same rows and policy."""

import os
import random
import threading

import lance
import pyarrow as pa
import pytest

import pilum
from pilum.errors import QueryError, UnsupportedError, UsageError
from test_table_write import VERSIONS, both
from twins import check_same, twins, update_shape

SCHEMA = pa.schema([("id", pa.int64()), ("v", pa.int32()), ("s", pa.string()), ("l", pa.list_(pa.int16()))])


def rows(ids, v=0):
    return pa.table(
        {
            "id": ids,
            "v": [None if i is None else i + v for i in ids],
            "s": [f"s{i}-{v}" for i in ids],
            "l": [[v, i] if i else None for i in ids],
        },
        schema=SCHEMA,
    )


TABLE = [*range(25), None, None, *range(25, 40)]
SOURCE = rows([7, 100, None, 3, 101, 38, 101, 24, 21], 1000)

# name -> what is said to the builder, of the rows that are merged
CASES = {
    "upsert": (lambda b: b.when_matched_update_all().when_not_matched_insert_all(), SOURCE),
    "insert": (lambda b: b.when_not_matched_insert_all(), SOURCE),
    "update": (lambda b: b.when_matched_update_all(), SOURCE),
    "delete": (lambda b: b.when_matched_delete(), SOURCE),
    "delete and insert": (lambda b: b.when_matched_delete().when_not_matched_insert_all(), SOURCE),
    "fail": (lambda b: b.when_matched_fail().when_not_matched_insert_all(), rows([100, 101, None], 5)),
    "replace all": (lambda b: b.when_matched_update_all().when_not_matched_insert_all().when_not_matched_by_source_delete(), SOURCE),
    "replace some": (lambda b: b.when_matched_update_all().when_not_matched_by_source_delete("id > 20 and id < 39"), SOURCE),
    "delete others": (lambda b: b.when_not_matched_by_source_delete("v % 2 = 0"), SOURCE),
    "condition": (lambda b: b.when_matched_update_all("source.v > target.v + 1 and target.id < 30").when_not_matched_insert_all(), SOURCE),
    "condition of one side": (lambda b: b.when_matched_update_all("source.id > 10"), SOURCE),
    "condition of the other": (lambda b: b.when_matched_update_all("target.s = 's21-0'"), SOURCE),
    "never": (lambda b: b.when_matched_update_all("source.v < target.v"), SOURCE),
    "order of columns": (lambda b: b.when_matched_update_all().when_not_matched_insert_all(), SOURCE.select(["l", "s", "v", "id"])),
    "some columns": (lambda b: b.when_matched_update_all(), SOURCE.select(["v", "id"])),
    "some columns, new rows": (lambda b: b.when_matched_update_all().when_not_matched_insert_all(), SOURCE.select(["id", "l"])),
    "some columns, condition": (lambda b: b.when_matched_update_all("source.v < target.v + 1000 or target.l is null"), SOURCE.select(["v", "id"])),
    "some columns, others go": (lambda b: b.when_matched_update_all().when_not_matched_by_source_delete("id % 2 = 1"), SOURCE.select(["id", "s"])),
    "keys alone": (lambda b: b.when_not_matched_insert_all(), SOURCE.select(["id"])),
    "nothing": (lambda b: b.when_matched_update_all().when_not_matched_insert_all(), SOURCE.slice(0, 0)),
}  # fmt: skip


def make(tmp_path, stable, version="2.2", on="id"):
    uri = str(tmp_path / "t.lance")
    ds = lance.write_dataset(rows(TABLE), uri, data_storage_version=version, enable_stable_row_ids=stable, max_rows_per_file=15)
    ds.create_scalar_index("v", "BITMAP")
    ds.delete("id in (3, 30)")
    return uri


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("stable", [False, True])
def test_same_as_pylance(tmp_path, stable, case):
    how, source = CASES[case]
    theirs, ours = twins(make(tmp_path, stable))
    wanted = how(lance.dataset(theirs).merge_insert("id")).execute(source)
    ds = pilum.dataset(ours)
    assert how(ds.merge_insert("id")).execute(source) == wanted
    assert ds.version == lance.dataset(ours).version
    # In which order a hash join leaves rows is its own affair.
    check_same(theirs, ours, ordered=False, addresses=False)
    a, b = update_shape(theirs), update_shape(ours)
    if case == "delete":  # of which pylance writes down less: no row keeps its place in an index
        del a["preserving"], b["preserving"]
    assert b == a
    both(ours)
    lance.dataset(ours).merge_insert("id").when_matched_update_all().when_not_matched_insert_all().execute(rows([1, 500]))
    pilum.dataset(ours).merge_insert("id").when_matched_update_all().when_not_matched_insert_all().execute(rows([2, 500, 501]))
    both(ours)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("stable", [False, True])
def test_keys_of_two_columns(tmp_path, version, stable):
    theirs, ours = twins(make(tmp_path, stable, version))
    source = pa.table({"id": [1, 2, None, 5], "s": ["s1-0", "other", "sNone-0", None], "v": pa.array([-1, -2, -3, -4], pa.int32())})
    for m, uri in ((lance, theirs), (pilum, ours)):
        b = m.dataset(uri).merge_insert(["id", "s"]).when_matched_update_all().when_not_matched_insert_all()
        assert b.execute(source) == {"num_inserted_rows": 3, "num_updated_rows": 1, "num_deleted_rows": 0}
    check_same(theirs, ours, ordered=False, addresses=False)


def test_rows_of_the_table_with_one_key(tmp_path):
    theirs, ours = twins(make(tmp_path, True))
    for m, uri in ((lance, theirs), (pilum, ours)):
        m.write_dataset(rows([5, 6], 7), uri, mode="append")
        done = m.dataset(uri).merge_insert("id").when_matched_update_all().execute(rows([5], 9))
        assert done == {"num_inserted_rows": 0, "num_updated_rows": 2, "num_deleted_rows": 0}
    check_same(theirs, ours, ordered=False, addresses=False)


KEYS = [
    pa.array(["a", "", "naïve", "b" * 50, "c"]), pa.array(["a", "", "x", "y", "z"], pa.large_string()), pa.array([b"\0", b"", b"1", b"2", b"3"]),
    pa.array([1, 2, 3, 4, 5], pa.uint64()), pa.array([-1, 0, 3, 4, 5], pa.int8()), pa.array([0.5, -1.5, 3, 4, 5]), pa.array([1, 2, 3, 4, 5], pa.timestamp("us")),
    pa.array([1, 2, 3, 4, 5], pa.date32()), pa.array([1, 2, 3, 4, 5], pa.decimal128(9, 2)), pa.array(["a", "b", "c", "d", "e"]).dictionary_encode(),
]  # fmt: skip


@pytest.mark.parametrize("keys", KEYS, ids=lambda k: str(k.type).split("<")[0])
def test_types_of_keys(tmp_path, keys):
    uri = str(tmp_path / "t.lance")
    pilum.write_dataset(pa.table({"k": keys.slice(0, 3), "v": [1, 2, 3]}), uri)
    done = pilum.dataset(uri).merge_insert("k").when_matched_update_all().when_not_matched_insert_all().execute(
        pa.table({"k": keys.slice(1), "v": [10, 20, 30, 40]})
    )  # fmt: skip
    assert (done["num_inserted_rows"], done["num_updated_rows"]) == (2, 2)
    got = lance.dataset(uri).to_table().to_pydict()
    assert got["v"] == [1, 10, 20, 30, 40]
    assert got["k"] == keys.to_pylist()
    both(uri)


def test_what_is_refused(tmp_path):
    uri = make(tmp_path, False)
    ds = pilum.dataset(uri)
    files = sorted(os.listdir(os.path.join(uri, "data")))
    with pytest.raises(ValueError, match="'nope' does not exist in schema"):
        ds.merge_insert("nope")
    with pytest.raises(ValueError, match="requires join keys"):
        ds.merge_insert()
    upsert = ds.merge_insert("id").when_matched_update_all().when_not_matched_insert_all()
    twice = pa.concat_tables([SOURCE, SOURCE])
    for builder, source, error, words in (
        (ds.merge_insert("id"), SOURCE, UsageError, "not configured to change the data in any way"),
        (upsert, twice, UsageError, r"Ambiguous merge inserts are prohibited: .* on \(id = "),
        (ds.merge_insert("id").when_matched_delete(), twice, UsageError, "Ambiguous"),
        (ds.merge_insert("id").when_matched_fail(), SOURCE, UsageError, r"found matching row with key values: id = \d+"),
        (upsert, SOURCE.select(["v", "s"]), UsageError, "lack the key column 'id'"),
        (upsert, SOURCE.append_column("x", SOURCE["id"]), UsageError, r"missing=\[\], unexpected=\[x\]"),
        (upsert, SOURCE.set_column(1, "v", SOURCE["id"]), UsageError, "`v` should have type int32 but type was int64"),
        (ds.merge_insert("id").when_matched_update_all("source.nope > 1"), SOURCE, QueryError, "nope"),
        (ds.merge_insert("id").when_not_matched_by_source_delete("nope > 1"), SOURCE, QueryError, "nope"),
        (ds.merge_insert("l").when_matched_update_all(), SOURCE, UnsupportedError, "column 'l' .* cannot be a key"),
    ):
        with pytest.raises(error, match=words):
            builder.execute(source)
    with pytest.raises(ValueError, match="write_mode is"):
        upsert.write_mode("rewrite_cells")
    assert pilum.dataset(uri).version == ds.version == 3
    assert sorted(os.listdir(os.path.join(uri, "data"))) == files


def test_nulls_where_none_may_be(tmp_path):
    uri = str(tmp_path / "t.lance")
    strict = pa.schema([pa.field("id", pa.int64()), pa.field("x", pa.float64(), False), ("y", pa.int64())])
    pilum.write_dataset(pa.table({"id": [1, 2], "x": [1.0, 2.0], "y": [1, 2]}, schema=strict), uri)
    partial = pa.table({"id": [2, 3], "y": [20, 30]})
    with pytest.raises(UsageError, match="`x` contained null values"):
        pilum.dataset(uri).merge_insert("id").when_matched_update_all().when_not_matched_insert_all().execute(partial)
    pilum.dataset(uri).merge_insert("id").when_matched_update_all().execute(partial)
    assert lance.dataset(uri).to_table().to_pylist() == [{"id": 1, "x": 1.0, "y": 1}, {"id": 2, "x": 2.0, "y": 20}]
    both(uri)


def test_names_of_keys_in_another_case(tmp_path):
    uri = str(tmp_path / "t.lance")
    pilum.write_dataset(pa.table({"ID": ["a", "b"], "v": [1, 2]}), uri)
    source = pa.table({"ID": ["b", "c"], "v": [9, 3]})
    for on in ("ID", "id"):
        pilum.dataset(uri).merge_insert(on).when_matched_update_all().when_not_matched_insert_all().execute(source)
    assert lance.dataset(uri).to_table().sort_by("ID").to_pydict() == {"ID": ["a", "b", "c"], "v": [1, 9, 3]}


KEYED = pa.schema([pa.field("id", pa.int64(), False, {"lance-schema:unenforced-primary-key": "true"}), ("v", pa.int64())])


def keyed(ids, v):
    return pa.table({"id": ids, "v": [v] * len(ids)}, schema=KEYED)


def test_declared_keys(tmp_path):
    uri = str(tmp_path / "t.lance")
    lance.write_dataset(keyed([1, 2], 0), uri)
    theirs, ours = twins(uri)
    source = keyed([2, 9, 77], 1)
    filters = []
    for m, copy in ((lance, theirs), (pilum, ours)):
        m.dataset(copy).merge_insert().when_matched_update_all().when_not_matched_insert_all().execute(source)
        (name,) = [n for n in os.listdir(os.path.join(copy, "_transactions")) if n.startswith("1-")]
        with open(os.path.join(copy, "_transactions", name), "rb") as f:
            data = f.read()
        filters.append(data[data.index(b"\x1a\x94\x80\x02") :][:32792])
    assert filters[0] == filters[1]
    # So pylance knows of our new keys when it comes second, and does it again.
    stale = lance.dataset(uri)
    pilum.dataset(uri).merge_insert("id").when_matched_update_all().when_not_matched_insert_all().execute(keyed([5], 1))
    stale.merge_insert("id").when_matched_update_all().when_not_matched_insert_all().execute(keyed([5, 6], 2))
    assert lance.dataset(uri).to_table().sort_by("id").to_pydict() == {"id": [1, 2, 5, 6], "v": [0, 0, 2, 2]}


@pytest.mark.parametrize("stable", [False, True])
def test_new_keys_are_inserted_once(tmp_path, stable):
    uri = str(tmp_path / "t.lance")
    pilum.write_dataset(rows([1, 2]), uri, enable_stable_row_ids=stable)
    stale = pilum.dataset(uri)
    lance.dataset(uri).merge_insert("id").when_not_matched_insert_all().execute(rows([5, 6], 1))
    done = stale.merge_insert("id").when_matched_update_all().when_not_matched_insert_all().execute(rows([6, 7], 2))
    assert done == {"num_inserted_rows": 1, "num_updated_rows": 1, "num_deleted_rows": 0}
    stale = pilum.dataset(uri)
    pilum.dataset(uri).merge_insert("id").when_not_matched_insert_all().execute(rows([8], 1))
    done = stale.merge_insert("id").when_not_matched_insert_all().execute(rows([8], 2))
    assert done == {"num_inserted_rows": 0, "num_updated_rows": 0, "num_deleted_rows": 0}
    stale = pilum.dataset(uri)
    lance.dataset(uri).add_columns({"w": "id * 2"})
    stale.merge_insert("id").when_matched_update_all().when_not_matched_insert_all().execute(rows([8, 9], 3))
    got = {r["id"]: r for r in lance.dataset(uri).to_table().to_pylist()}
    assert sorted(got) == [1, 2, 5, 6, 7, 8, 9]
    assert [(got[i]["v"], got[i]["w"]) for i in (5, 6, 8, 9)] == [(6, 10), (8, 12), (11, 16), (12, None)]
    both(uri)
    stale = pilum.dataset(uri)
    lance.dataset(uri).drop_columns(["v"])
    stale.merge_insert("id").when_matched_update_all().execute(rows([9], 4))  # a column that is not there any more
    assert lance.dataset(uri).to_table(filter="id = 9").to_pylist() == [{"id": 9, "s": "s9-4", "l": [4, 9], "w": None}]
    both(uri)


@pytest.mark.parametrize("stable", [False, True])
def test_uncommitted(tmp_path, stable):
    theirs, ours = twins(make(tmp_path, stable))
    ds = pilum.dataset(ours)
    transaction, counts = ds.merge_insert("id").when_matched_update_all().when_not_matched_insert_all().execute_uncommitted(SOURCE)
    assert counts == {"num_inserted_rows": 5, "num_updated_rows": 4, "num_deleted_rows": 0}
    assert (ds.version, pilum.dataset(ours).version) == (3, 3)
    pilum.LanceDataset.commit(ds, transaction)
    lance.dataset(theirs).merge_insert("id").when_matched_update_all().when_not_matched_insert_all().execute(SOURCE)
    check_same(theirs, ours, ordered=False, addresses=False)
    both(ours)


def test_threads_upsert_the_same_keys(tmp_path):
    uri = str(tmp_path / "t.lance")
    pilum.write_dataset(rows([]), uri)
    failures = []

    def work(n):
        try:
            for i in range(6):
                b = pilum.dataset(uri).merge_insert("id").when_matched_update_all().when_not_matched_insert_all()
                b.conflict_retries(1000).execute(rows([i, i + 1, 100 * n + i], n))
        except Exception as e:  # noqa: BLE001
            failures.append(e)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(1, 5)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not failures
    got = sorted(lance.dataset(uri).to_table(["id"])["id"].to_pylist())
    assert got == [*range(7), *(100 * n + i for n in range(1, 5) for i in range(6))]
    both(uri)


@pytest.mark.parametrize("stable", [False, True])
def test_both_engines_upsert_the_same_keys(tmp_path, stable):
    uri = str(tmp_path / "t.lance")
    lance.write_dataset(keyed([0], 0), uri, enable_stable_row_ids=stable)
    failures = []

    def work(engine, n):
        try:
            for i in range(5):
                b = engine.dataset(uri).merge_insert().when_matched_update_all().when_not_matched_insert_all()
                b.conflict_retries(1000).execute(keyed([3 * i + 1, 3 * i + 2, 1000 * n + i], n))
        except Exception as e:  # noqa: BLE001
            failures.append(e)

    threads = [threading.Thread(target=work, args=(engine, n)) for n, engine in enumerate([pilum, lance, pilum, lance], 1)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not failures
    shared = [3 * i + k for i in range(5) for k in (1, 2)]
    own = [1000 * n + i for n in range(1, 5) for i in range(5)]
    assert sorted(lance.dataset(uri).to_table(["id"])["id"].to_pylist()) == sorted([0, *shared, *own])
    both(uri)


@pytest.mark.parametrize("stable", [False, True])
@pytest.mark.parametrize("kind", ["upsert", "insert", "partial", "delete"])
def test_streams_that_are_put_aside(tmp_path, stable, kind):
    uri = str(tmp_path / "t.lance")
    n, blob = 300, "x" * 400_000
    pilum.write_dataset(pa.table({"id": range(0, n, 2), "s": ["old"] * (n // 2), "v": range(0, n, 2)}), uri, enable_stable_row_ids=stable)
    ids = list(range(n))
    random.Random(1).shuffle(ids)

    def batches():
        for at in range(0, n, 50):
            part = ids[at : at + 50]
            yield pa.record_batch({"id": part, "s": [blob + str(i) for i in part], "v": [-i for i in part]})

    reader = pa.RecordBatchReader.from_batches(next(batches()).schema, batches())
    b = pilum.dataset(uri).merge_insert("id")
    if kind == "upsert":
        b.when_matched_update_all().when_not_matched_insert_all()
    elif kind == "insert":
        b.when_not_matched_insert_all()
    elif kind == "delete":
        b.when_matched_delete()
    else:
        b.when_matched_update_all("source.v % 3 = 0")
        reader = pa.RecordBatchReader.from_batches(
            pa.schema([("id", pa.int64()), ("s", pa.string())]), (batch.select(["id", "s"]) for batch in batches())
        )
        b.when_matched_update_all("source.id % 3 = 0")
    b.execute(reader)
    got = {r["id"]: (r["s"][-5:], r["v"]) for r in lance.dataset(uri).to_table().to_pylist()}
    old, new = {i: ("old", i) for i in range(0, n, 2)}, {i: ((blob + str(i))[-5:], -i) for i in ids}
    want = {
        "upsert": new,
        "insert": {**new, **old},
        "delete": {},
        "partial": {i: (new[i][0], i) if i % 3 == 0 else v for i, v in old.items()},
    }[kind]
    assert got == want
    named = {f.path for fragment in lance.dataset(uri).get_fragments() for f in fragment.metadata.files}
    named |= {f.path for fragment in lance.dataset(uri, version=1).get_fragments() for f in fragment.metadata.files}
    assert set(os.listdir(os.path.join(uri, "data"))) == named  # what was put aside is gone
    both(uri)


def test_plans_say_what_would_be_done(tmp_path):
    uri = str(tmp_path / "t.lance")
    lance.write_dataset(pa.table({"id": range(10), "v": range(10)}), uri)
    new = pa.table({"id": [5, 20], "v": [1, 2]})
    for build in (
        lambda m: m.when_matched_update_all().when_not_matched_insert_all(),
        lambda m: m.when_not_matched_insert_all(),
        lambda m: m.when_matched_fail(),
        lambda m: m.when_not_matched_insert_all().when_not_matched_by_source_delete(),
    ):
        ours, theirs = (build(module.dataset(uri).merge_insert("id")).explain_plan() for module in (pilum, lance))
        assert ours.splitlines()[0] == theirs.splitlines()[0]
    ds = pilum.dataset(uri)
    merge = ds.merge_insert("id").when_matched_update_all("source.v > 0").when_not_matched_insert_all()
    assert "UpdateIf(source.v > 0)" in merge.explain_plan() and "condition" in merge.explain_plan()
    assert "columns that the new rows lack" in merge.explain_plan(pa.schema({"id": pa.int64()}))
    told = merge.analyze_plan(new)
    assert told.startswith("MergeInsert: on=[id]")
    for words in ("num_inserted_rows=1", "num_updated_rows=1", "num_deleted_rows=0", "num_files_written=1", "bytes_written=", "elapsed="):
        assert words in told
    assert ds.latest_version == 1 and ds.count_rows() == 10


def wide(first=0):
    n = range(first, first + 10)
    return pa.table(
        {
            "id": n, "v": n, "w": [str(i) for i in n], "j": pa.array(["[%d]" % i for i in n], pa.json_()),
            "d": pa.array(["x", "y"] * 5).dictionary_encode(), "l": [[i] for i in n],
        }
    )  # fmt: skip


COLUMN_SOURCES = {
    "one": pa.table({"id": [2], "v": [100]}),
    "two fragments": pa.table({"v": [200, 100, 300, 9], "id": [7, 2, 3, 99], "l": [[1, 2], None, [], [5]]}),
    "json": pa.table({"id": [7, 2], "j": pa.array(['{"a": 1}', None], pa.json_())}),
    "dictionary": pa.table({"id": [7, 2], "d": pa.array(["z", None]).dictionary_encode()}),
    "none": pa.table({"id": [99], "v": [1]}),
}


@pytest.mark.parametrize("stable", [False, True])
@pytest.mark.parametrize("source", COLUMN_SOURCES.values(), ids=COLUMN_SOURCES.keys())
def test_columns_are_rewritten(tmp_path, stable, source):
    results = []
    for module in (lance, pilum):
        uri = str(tmp_path / module.__name__)
        ds = module.write_dataset(wide(), uri, max_rows_per_file=5, enable_stable_row_ids=stable)
        ds.delete("id = 3")
        try:
            done = ds.merge_insert("id").when_matched_update_all().write_mode("rewrite_columns").execute(source)
        except OSError as failed:
            results.append(str(failed)[:60])
            continue
        seen = lance.dataset(uri)
        operation = seen.read_transaction(seen.version).operation
        rows = seen.to_table(with_row_id=True, columns=[*seen.schema.names, *(["_row_last_updated_at_version"] if stable else [])])
        files = [[(f.fields, f.column_indices) for f in fragment.data_files()] for fragment in seen.get_fragments()]
        changed = sorted(f.id for f in operation.updated_fragments), sorted(operation.fields_modified), operation.update_mode
        results.append((done, rows.to_pydict(), files, changed, seen.version))
        seen.validate()
        assert pilum.dataset(uri).to_table() == seen.to_table()
    assert results[0] == results[1]


def test_columns_cannot_be_rewritten(tmp_path):
    ds = pilum.write_dataset(wide(), str(tmp_path / "t"))

    def match():
        return ds.merge_insert("id").when_matched_update_all()

    few = COLUMN_SOURCES["one"]
    for builder, source, words in (
        (match().when_not_matched_insert_all(), few, "inserting unmatched source rows"),
        (match().when_not_matched_by_source_delete(), few, "deleting rows"),
        (ds.merge_insert("id").when_matched_delete(), few, "no columns"),
        (match(), wide(), "covers every dataset column"),
        (match(), few.select(["id"]), "no columns beside the keys"),
    ):
        with pytest.raises(UsageError, match=words):
            builder.write_mode("rewrite_columns").execute(source)
    assert ds.latest_version == 1


def test_columns_are_rewritten_where_a_condition_holds_and_others_commit(tmp_path):
    uri = str(tmp_path / "t")
    ds = pilum.write_dataset(wide(), uri, max_rows_per_file=5)
    old = pilum.dataset(uri)
    ds.delete("id = 2")  # in the same fragment: the merge is done again
    pilum.write_dataset(wide(10), uri, mode="append")
    merge = old.merge_insert("id").when_matched_update_all("source.v > target.v").write_mode("rewrite_columns")
    assert merge.execute(pa.table({"id": [1, 2, 3, 12], "v": [50, 60, 0, 70]}))["num_updated_rows"] == 2
    seen = lance.dataset(uri).to_table()
    assert dict(zip(seen["id"].to_pylist(), seen["v"].to_pylist())) == {**{i: i for i in range(20) if i != 2}, 1: 50, 12: 70}
    assert merge.explain_plan(pa.schema({"id": pa.int64(), "v": pa.int64()})).count("written anew") == 1
