"""``update`` of Lance tables: what it leaves behind is what pylance's leaves, for the same table and the same words."""

import os
import threading

import lance
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import pilum
from pilum.errors import QueryError, RetryableConflictError, UnsupportedError, UsageError
from test_table_write import VERSIONS, both, zoo
from twins import check_same, twins, update_shape


def numbers(n, begin=0):
    ids = range(begin, begin + n)
    return pa.table(
        {
            "id": pa.array(ids, pa.int64()),
            "g": pa.array([i % 5 if i % 7 else None for i in ids], pa.int32()),
            "x": pa.array([i / 2 for i in ids], pa.float64()),
            "s": [f"s{i % 11}" for i in ids],
            "l": pa.array([[i, None] if i % 3 else None for i in ids], pa.list_(pa.int16())),
        }
    )


CASES = [
    ({"g": "g + 10"}, "id % 3 = 0"),
    ({"g": "1.7"}, None),
    ({"s": "concat(s, 'y')", "x": "id"}, "g is null"),
    ({"g": "NULL"}, "id < 20"),
    ({"x": "'2.5'"}, "id between 7 and 12"),
    ({"g": "5"}, "id > 1000"),
]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("stable", [False, True])
@pytest.mark.parametrize("updates, where", CASES)
def test_same_as_pylance(tmp_path, version, stable, updates, where):
    uri = str(tmp_path / "t.lance")
    how = {"data_storage_version": version, "enable_stable_row_ids": stable, "max_rows_per_file": 20}
    ds = lance.write_dataset(numbers(50), uri, **how)
    ds.create_scalar_index("x", "BITMAP")
    ds.create_scalar_index("g", "BITMAP")
    ds.create_scalar_index("id", "BTREE")
    ds.delete("id in (3, 25)")
    theirs, ours = twins(uri)
    wanted = lance.dataset(theirs).update(updates, where)
    assert pilum.dataset(ours).update(updates, where) == wanted
    check_same(theirs, ours)
    assert update_shape(ours) == update_shape(theirs)
    assert pilum.dataset(ours).update({"s": "'z'"}, "id % 2 = 1") == lance.dataset(theirs).update({"s": "'z'"}, "id % 2 = 1")
    check_same(theirs, ours)
    both(ours)


@pytest.mark.parametrize("version", VERSIONS)
def test_types_are_kept(tmp_path, version):
    uri = str(tmp_path / "t.lance")
    pilum.write_dataset(zoo(version), uri, data_storage_version=version)
    assert pilum.dataset(uri).update({"i": "i + 1"}) == {"num_rows_updated": 3}
    want = zoo(version)
    want = want.set_column(0, want.schema.field(0), pc.add(want["i"], pa.scalar(1, pa.int32())))
    assert lance.dataset(uri).to_table().equals(want)
    both(uri)


def test_columns_in_other_forms(tmp_path):
    uri = str(tmp_path / "t.lance")
    table = pa.table({"id": range(3), "j": pa.array(['{"a":1}', None, "[1]"], pa.json_()), "d": pa.array(["x", None, "y"]).dictionary_encode()})
    lance.write_dataset(table, uri)
    pilum.dataset(uri).update({"id": "id + 10"}, "id < 2")
    pilum.dataset(uri).merge_insert("id").when_matched_update_all().execute(pa.table({"id": [10], "d": pa.array(["z"]).dictionary_encode()}))
    got = lance.dataset(uri).to_table().to_pydict()
    assert got == {"id": [2, 11, 10], "j": ["[1]", None, '{"a":1}'], "d": ["y", None, "z"]}
    both(uri)
    blobs = str(tmp_path / "b.lance")
    schema = pa.schema([pa.field("id", pa.int64()), pa.field("b", pa.large_binary(), metadata={"lance-encoding:blob": "true"})])
    lance.write_dataset(pa.table({"id": [1], "b": [b"x"]}, schema=schema), blobs, data_storage_version="2.1")
    pilum.dataset(blobs).update({"id": "2"})
    pilum.dataset(blobs).merge_insert("id").when_matched_update_all().when_not_matched_insert_all().execute(pa.table({"id": [2, 3]}))
    for module in (lance, pilum):
        assert [b and b.read() for b in module.dataset(blobs).take_blobs("b", indices=[0, 1])] == [b"x", None]
    pilum.dataset(blobs).update({"b": "X'6162'"}, "id = 3")
    assert lance.dataset(blobs).take_blobs("b", indices=[1])[0].read() == b"ab"


def test_times_in_double_quotes(tmp_path):
    table = pa.table({"ts": pa.array([0], pa.timestamp("ms")), "d": pa.array([0], pa.date32())})
    results = []
    for module in (lance, pilum):
        ds = module.write_dataset(table, str(tmp_path / module.__name__))
        ds.update({"ts": 'TIMESTAMP "2021-01-02 00:00:00"', "d": 'DATE "2021-01-03"'})
        results.append(ds.to_table())
    assert results[0] == results[1]


def test_types_of_values(tmp_path):
    uri = str(tmp_path / "t.lance")
    t = pa.table(
        {
            "id": [1, 2],
            "d": pa.array([None, None], pa.date32()),
            "t": pa.array([None, None], pa.timestamp("us")),
            "dec": pa.array([None, None], pa.decimal128(10, 2)),
            "e": pa.array(["a", "b"]).dictionary_encode(),
            "b": pa.array([True, None]),
            "f": pa.array([1, 2], pa.float32()),
            "v": pa.array([[1, 2], None], pa.list_(pa.float32(), 2)),
            "l": pa.array([[1], []], pa.list_(pa.int16())),
            "ll": pa.array([None, [[1]]], pa.large_list(pa.list_(pa.int64()))),
        }
    )
    lance.write_dataset(t, uri)
    updates = {"d": "date '2024-02-29'", "t": "'2024-02-29 01:02:03'", "dec": "1.25", "e": "'c'", "b": "id = 1", "f": "1.5", "v": "[3.0, 4.5]"}
    theirs, ours = twins(uri)
    assert pilum.dataset(ours).update(updates, "id = 1") == lance.dataset(theirs).update(updates, "id = 1")
    check_same(theirs, ours)
    ds = pilum.dataset(ours)
    ds.update({"l": "[id, 7, null]", "v": "[id, f]", "ll": "[[id], [], [1, 2]]"})
    assert ds.to_table(["l", "v", "ll"]).to_pydict() == {
        "l": [[2, 7, None], [1, 7, None]], "v": [[2.0, 2.0], [1.0, 1.5]], "ll": [[[2], [], [1, 2]], [[1], [], [1, 2]]],
    }  # fmt: skip
    ds.update({"l": "[]"}, "id = 2")
    assert sorted(ds.to_table(["l"])["l"].to_pylist(), key=len) == [[], [1, 7, None]]
    with pytest.raises(UsageError, match="a list of 3 items, where each has 2"):
        ds.update({"v": "[1, 2, 3]"})
    both(ours)


def test_what_is_refused(tmp_path):
    uri = str(tmp_path / "t.lance")
    schema = pa.schema([pa.field("id", pa.int64(), False), ("g", pa.int32()), ("st", pa.struct([("a", pa.int64())]))])
    pilum.write_dataset(pa.table({"id": [1, 2], "g": [1, 2], "st": [{"a": 1}, {"a": 2}]}, schema=schema), uri)
    ds = pilum.dataset(uri)
    files = sorted(os.listdir(os.path.join(uri, "data")))
    for updates, error, words in (
        ({}, UsageError, "No updates provided"),
        ({"nope": "1"}, UsageError, "Column 'nope' does not exist; the table has id, g, st"),
        ({"G": "1"}, UsageError, "Column 'G' does not exist"),
        ({"st.a": "1"}, UnsupportedError, "Nested column references are not yet supported"),
        ({"id": "NULL"}, UsageError, "`id` contained null values"),
        ({"g": "id * 1000000000000"}, UsageError, "column 'g' does not fit its type int32"),
        ({"g": "'x'"}, UsageError, "column 'g' does not fit its type int32"),
        ({"g": "nope + 1"}, QueryError, "column 'g'.*nope"),
        ({"g": "sum(g)"}, QueryError, "no expression of one row"),
        ({"g": "1, 2"}, QueryError, "column 'g'"),
        ({"g": "1) AS a, (2"}, QueryError, "column 'g'"),
        ({"g": ""}, QueryError, "column 'g'"),
        ({"g": 1}, TypeError, "SQL text"),
    ):
        with pytest.raises(error, match=words):
            ds.update(updates)
    with pytest.raises(QueryError):
        ds.update({"g": "1"}, "nope = 1")
    assert pilum.dataset(uri).version == 1
    assert sorted(os.listdir(os.path.join(uri, "data"))) == files


def test_expressions_as_predicates(tmp_path):
    uri = str(tmp_path / "t.lance")
    ds = pilum.write_dataset(numbers(10), uri)
    assert ds.update({"s": "'q'"}, where=pc.field("id").isin([1, 2])) == {"num_rows_updated": 2}
    assert ds.version == 2
    assert ds.to_table(filter="s = 'q'")["id"].to_pylist() == [1, 2]


def test_values_are_of_the_row_as_it_was(tmp_path):
    # pylance computes one after the other, over what it has already changed, in an order of its own.
    ds = pilum.write_dataset(pa.table({"a": [1, 2], "b": [10, 20]}), str(tmp_path / "t.lance"))
    ds.update({"a": "b", "b": "a"})
    assert lance.dataset(ds.uri).to_table().to_pydict() == {"a": [10, 20], "b": [1, 2]}


@pytest.mark.parametrize("stable", [False, True])
def test_others_meanwhile(tmp_path, stable):
    uri = str(tmp_path / "t.lance")
    pilum.write_dataset(numbers(40), uri, max_rows_per_file=20, enable_stable_row_ids=stable)
    stale = pilum.dataset(uri)
    lance.dataset(uri).delete("id = 3")
    assert stale.update({"x": "x + 1"}, "id = 4") == {"num_rows_updated": 1}  # other rows of one fragment: both stand
    stale = pilum.dataset(uri)
    lance.dataset(uri).update({"x": "100"}, "id = 4 or id = 30")
    assert stale.update({"x": "x + 1"}, "id = 4 or id = 5") == {"num_rows_updated": 2}  # the same row: done again
    stale = pilum.dataset(uri)
    lance.dataset(uri).delete("id = 5")
    with pytest.raises(RetryableConflictError):
        stale.update({"x": "0"}, "id = 5", conflict_retries=0)
    got = dict(zip(*lance.dataset(uri).to_table(["id", "x"]).to_pydict().values()))
    assert (got[4], got[30], 5 in got, 3 in got, len(got)) == (101, 100, False, False, 38)
    both(uri)


def test_every_update_counts(tmp_path):
    uri = str(tmp_path / "t.lance")
    pilum.write_dataset(numbers(20), uri, enable_stable_row_ids=True)

    def work():
        for _ in range(5):
            pilum.dataset(uri).update({"g": "coalesce(g, 0) + 1"}, "id < 3", conflict_retries=1000)

    before = pilum.dataset(uri).to_table(filter="id < 3")["g"].to_pylist()
    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    after = pilum.dataset(uri).to_table(filter="id < 3")["g"].to_pylist()
    assert sorted(after) == sorted((g or 0) + 20 for g in before)
    both(uri)
