"""Lance tables that Pilum writes: pylance reads every version of them, goes on writing, and Pilum goes on after it."""

import contextlib
import multiprocessing
import os
import random

import lance
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import pilum
from old_peers import Peer, Unavailable
from pilum.errors import ConflictError, NotFound, RetryableConflictError, UnsupportedError, UsageError
from test_table import check, check_version, rows

VERSIONS = ["2.0", "2.1", "2.2"]


def both(uri):
    """Every version, read by both; and what pylance checks of a table."""
    check(uri)
    for v in pilum.dataset(uri).versions():
        check_version(uri, v["version"])
    lance.dataset(uri).validate()


def ids(uri, **how):
    mine = sorted(pilum.dataset(uri, **how).to_table()["id"].to_pylist())
    assert mine == sorted(lance.dataset(uri, **how).to_table()["id"].to_pylist())
    return mine


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("stable", [False, True])
@pytest.mark.parametrize("v2_names", [False, True])
def test_create_append_overwrite(tmp_path, version, stable, v2_names):
    uri = str(tmp_path / "t.lance")
    ds = pilum.write_dataset(
        rows(0, 30), uri, data_storage_version=version, enable_stable_row_ids=stable, enable_v2_manifest_paths=v2_names,
        max_rows_per_file=10, commit_message="first",
    )  # fmt: skip
    assert (ds.version, ds.count_rows(), len(ds.get_fragments())) == (1, 30, 3)
    assert ds.data_storage_version == version
    assert os.path.exists(os.path.join(uri, "_versions", "1.manifest")) != v2_names
    ds = pilum.write_dataset(rows(30, 5), uri, mode="append")
    lance.write_dataset(rows(35, 5), uri, mode="append")
    ds = pilum.write_dataset(rows(40, 5), ds.checkout_version(3), mode="append")
    assert ds.version == 4
    assert ids(uri) == list(range(45))
    both(uri)
    pilum.write_dataset(rows(100, 7), uri, mode="overwrite")
    lance.write_dataset(rows(107, 2), uri, mode="append")
    assert ids(uri) == list(range(100, 109))
    both(uri)
    theirs = lance.dataset(uri)
    made = [t for t in theirs.get_transactions(20) if t is not None]
    assert [type(t.operation).__name__ for t in made] == ["Append", "Overwrite", "Append", "Append", "Append", "Overwrite"]
    assert made[-1].transaction_properties["__lance_commit_message"] == "first"
    assert theirs.has_stable_row_ids == stable


def zoo(version):
    nothing = None if version != "2.0" else {"a": None, "b": {"c": None}}  # 2.0 has no NULLs of structs
    item = pa.struct([("p", pa.int64()), ("q", pa.string())])
    return pa.table(
        {
            "i": pa.array([1, None, 3], pa.int32()),
            "t": pa.array([1, 2, None], pa.timestamp("us", "UTC")),
            "dec": pa.array([1, 2, 3], pa.decimal128(10, 2)),
            "fsl": pa.array([[1.0, 2.0], None, [3.0, 4.0]], pa.list_(pa.float32(), 2)),
            "l": pa.array([[1], None, []], pa.list_(pa.int64())),
            "ls": pa.array([[{"p": 1, "q": "a"}], None, []], pa.list_(item)),
            "st": pa.array([{"a": 1, "b": {"c": "x"}}, nothing, {"a": None, "b": {"c": None}}],
                           pa.struct([("a", pa.int8()), ("b", pa.struct([("c", pa.large_string())]))])),
            "bin": pa.array([b"1", None, b""], pa.large_binary()),
        },
        metadata={"owner": "me"},
    )  # fmt: skip


@pytest.mark.parametrize("version", VERSIONS)
def test_types(tmp_path, version):
    ours, theirs = str(tmp_path / "a.lance"), str(tmp_path / "b.lance")
    t = zoo(version)
    pilum.write_dataset(t, ours, data_storage_version=version)
    lance.write_dataset(t, theirs, data_storage_version=version)
    both(ours)
    a, b = lance.dataset(ours), lance.dataset(theirs)
    assert a.to_table().equals(b.to_table())
    assert a.schema.equals(b.schema, check_metadata=True)
    for x, y in zip(a.get_fragments()[0].data_files(), b.get_fragments()[0].data_files()):
        assert (x.fields, x.column_indices, x.file_major_version, x.file_minor_version) == (
            y.fields, y.column_indices, y.file_major_version, y.file_minor_version
        )  # fmt: skip
    assert [(f.name(), f.id()) for f in a.lance_schema.fields()] == [(f.name(), f.id()) for f in b.lance_schema.fields()]
    lance.write_dataset(t, ours, mode="append")
    pilum.write_dataset(t, theirs, mode="append")
    both(ours)
    both(theirs)


@pytest.mark.parametrize("version", VERSIONS)
def test_dictionaries(tmp_path, version):
    uri = str(tmp_path / "t.lance")
    t = pa.table({"d": pa.array(["x", None, "x"]).dictionary_encode()})
    pilum.write_dataset(t, uri, data_storage_version=version)
    lance.write_dataset(t, uri, mode="append")
    pilum.write_dataset(t, uri, mode="append")
    for m in (lance, pilum):
        got = m.dataset(uri).to_table()["d"]
        assert got.type == t["d"].type
        assert got.cast(pa.string()).to_pylist() == ["x", None, "x"] * 3
    assert lance.dataset(uri).schema.equals(pilum.dataset(uri).schema)


def test_columns_that_files_lack(tmp_path):
    uri = str(tmp_path / "t.lance")
    pilum.write_dataset(pa.table({"id": [1, 2], "x": [1.0, 2.0]}), uri)
    pilum.write_dataset(pa.table({"x": [3.0], "id": [3]}), uri, mode="append")
    pilum.write_dataset(pa.table({"id": [4]}), uri, mode="append")
    assert pilum.dataset(uri).to_table()["x"].to_pylist() == [1.0, 2.0, 3.0, None]
    both(uri)
    for wrong, word in (
        (pa.table({"id": [1], "z": [1]}), r"missing=\[\], unexpected=\[z\]"),
        (pa.table({"id": pa.array([1], pa.int32())}), "`id` should have type int64 but type was int32"),
    ):
        with pytest.raises(UsageError, match="Append with different schema: .*" + word):
            pilum.write_dataset(wrong, uri, mode="append")
    assert len(os.listdir(os.path.join(uri, "data"))) == 3  # nothing is left of what was refused


def test_nulls_where_none_may_be(tmp_path):
    uri = str(tmp_path / "t.lance")
    strict = pa.schema([pa.field("id", pa.int64(), False), pa.field("x", pa.float64())])
    pilum.write_dataset(pa.table({"id": [1], "x": [1.0]}, schema=strict), uri)
    pilum.write_dataset(pa.table({"id": [2], "x": [1.0]}), uri, mode="append")
    with pytest.raises(UsageError, match="missing=\\[id\\]"):
        pilum.write_dataset(pa.table({"x": [1.0]}), uri, mode="append")
    with pytest.raises(UsageError, match="The field `id` contained null values"):
        pilum.write_dataset(pa.table({"id": pa.array([None], pa.int64())}), uri, mode="append")
    both(uri)


def test_modes(tmp_path):
    uri = str(tmp_path / "t.lance")
    pilum.write_dataset(rows(0, 1), uri)
    with pytest.raises(UsageError, match="Dataset already exists"):
        pilum.write_dataset(rows(0, 1), uri)
    with pytest.raises(ValueError, match="Invalid mode"):
        pilum.write_dataset(rows(0, 1), uri, mode="upsert")
    with pytest.raises(UnsupportedError, match="2.3"):
        pilum.write_dataset(rows(0, 1), uri, mode="append", data_storage_version="2.3")
    pilum.write_dataset(rows(0, 1), str(tmp_path / "new.lance"), mode="append")
    reader = pa.RecordBatchReader.from_batches(rows(0, 1).schema, [])
    empty = pilum.write_dataset(reader, str(tmp_path / "empty.lance"))
    assert (empty.count_rows(), empty.get_fragments()) == (0, [])
    both(str(tmp_path / "empty.lance"))
    lance.write_dataset(rows(0, 3), str(tmp_path / "empty.lance"), mode="append")
    both(str(tmp_path / "empty.lance"))


def test_other_file_version(tmp_path):
    uri = str(tmp_path / "t.lance")
    lance.write_dataset(rows(0, 3), uri, data_storage_version="2.2")
    pilum.write_dataset(rows(3, 3), uri, mode="append", data_storage_version="2.1")
    both(uri)
    lance.write_dataset(rows(6, 3), uri, mode="append")
    both(uri)
    assert ids(uri) == list(range(9))


@pytest.mark.parametrize("stable", [False, True])
def test_delete(tmp_path, stable):
    uri = str(tmp_path / "t.lance")
    pilum.write_dataset(rows(0, 40000), uri, max_rows_per_file=20000, enable_stable_row_ids=stable)
    ds = pilum.dataset(uri)
    assert ds.delete("id % 1000 = 7") == {"num_deleted_rows": 40}
    assert ds.version == 2
    lance.dataset(uri).delete("id = 8 or id = 30000")
    assert pilum.dataset(uri).delete("id < 6000") == {"num_deleted_rows": 5993}  # a bitmap from here on
    assert pilum.dataset(uri).delete("id >= 20000 and id < 40000") == {"num_deleted_rows": 19979}
    assert [f.fragment_id for f in pilum.dataset(uri).get_fragments()] == [0]
    kinds = sorted(name.rsplit(".")[-1] for name in os.listdir(os.path.join(uri, "_deletions")))
    assert kinds.count("bin") == 1 and kinds.count("arrow") >= 4
    both(uri)
    assert pilum.dataset(uri).delete("false") == {"num_deleted_rows": 0}
    assert pilum.dataset(uri).delete(pc.field("id").isin([9000, 9001])) == {"num_deleted_rows": 2}
    lance.dataset(uri).delete("id = 7000")
    pilum.dataset(uri).truncate_table()
    assert ids(uri) == []
    lance.write_dataset(rows(50000, 3), uri, mode="append")
    assert ids(uri) == [50000, 50001, 50002]
    both(uri)


def test_restore_and_tags(tmp_path):
    uri = str(tmp_path / "t.lance")
    pilum.write_dataset(rows(0, 10), uri, enable_stable_row_ids=True)
    pilum.write_dataset(rows(10, 10), uri, mode="append")
    ds = pilum.dataset(uri, version=1)
    ds.tags.create("first", 1)
    ds.tags.create("second", (None, 2))
    ds.tags.create("same", "second")
    theirs = lance.dataset(uri)
    assert {k: v["version"] for k, v in theirs.tags.list().items()} == {"first": 1, "second": 2, "same": 2}
    assert lance.dataset(uri, version="first").count_rows() == 10
    with pytest.raises(UsageError, match="already exists"):
        ds.tags.create("first", 2)
    with pytest.raises(NotFound, match="does not exist"):
        ds.tags.update("nothing", 2)
    theirs.tags.update("same", 1)
    ds.tags.update("second", 1)
    ds.tags.replace_metadata("second", {"k": "v"})
    assert theirs.tags.list()["second"]["metadata"] == {"k": "v"}
    ds.tags.delete("same")
    assert ds.tags.list().keys() == {"first", "second"} == theirs.tags.list().keys()
    ds.restore()
    assert (ds.version, ids(uri)) == (3, list(range(10)))
    lance.write_dataset(rows(20, 2), uri, mode="append")
    both(uri)
    # Ids that were given out are not given out again.
    assert pilum.dataset(uri).to_table(columns=["_rowid"])["_rowid"].to_pylist()[-2:] == [20, 21]


def test_settings(tmp_path):
    uri = str(tmp_path / "t.lance")
    ds = pilum.write_dataset(rows(0, 3), uri)
    assert ds.update_config({"a": "1", "b": "2"}) == {"a": "1", "b": "2"}
    ds.delete_config_keys(["a"])
    lance.dataset(uri).update_config({"c": "3"})
    ds = pilum.dataset(uri)
    ds.update_metadata({"m": "1"})
    ds.update_schema_metadata({"s": "1", "t": "2"})
    ds.update_schema_metadata({"s": None})
    ds.update_field_metadata({"id": {"k": "v"}, "st.a": {"deep": "yes"}})
    theirs = lance.dataset(uri)
    assert theirs.config() == {"b": "2", "c": "3"} == ds.config()
    assert theirs.metadata == {"m": "1"} == ds.metadata
    assert theirs.schema_metadata == {"t": "2"} == ds.schema_metadata
    assert theirs.schema.field("id").metadata == {b"k": b"v"}
    assert theirs.schema.field("st").type.field("a").metadata == {b"deep": b"yes"}
    both(uri)
    with pytest.raises(NotFound, match="there is no column 'no'"):
        ds.update_field_metadata({"no": {"k": "v"}})
    stale = pilum.dataset(uri, version=1)
    with pytest.raises(ConflictError, match="incompatible with concurrent transaction UpdateConfig"):
        stale.update_config({"b": "other"})


@pytest.mark.parametrize("version", VERSIONS)
def test_columns(tmp_path, version):
    uri = str(tmp_path / "t.lance")
    ds = pilum.write_dataset(rows(0, 10), uri, data_storage_version=version)
    ds.alter_columns({"path": "s", "name": "text"}, {"path": "st.a", "name": "z"})
    lance.write_dataset(lance.dataset(uri).to_table().slice(0, 2), uri, mode="append")
    both(uri)
    ds = pilum.dataset(uri)
    more = pa.list_(pa.string()) if version == "2.0" else pa.struct([("u", pa.string())])
    ds.add_columns(pa.schema([pa.field("new", pa.int32()), pa.field("more", more)]))
    both(uri)
    full = pilum.dataset(uri).to_table()
    ds.insert(full.slice(0, 1))
    assert lance.dataset(uri).count_rows() == 13
    ds.drop_columns(["x", "st.z"])
    lance.dataset(uri).add_columns({"y": "id * 2"})
    both(uri)
    assert pilum.dataset(uri).schema.names == ["id", "text", "st", "new", "more", "y"]
    with pytest.raises(NotFound, match="'x'"):
        ds.drop_columns(["x"])
    with pytest.raises(UsageError, match="no column would be left"):
        pilum.dataset(uri).drop_columns(pilum.dataset(uri).schema.names)
    with pytest.raises(UsageError, match="two columns"):
        pilum.dataset(uri).alter_columns({"path": "id", "name": "text"})


def test_primary_key(tmp_path):
    field = pa.field("id", pa.int64(), False, metadata={"lance-schema:unenforced-primary-key": "true"})
    ours, theirs = str(tmp_path / "a.lance"), str(tmp_path / "b.lance")
    t = pa.table({"id": [1]}, schema=pa.schema([field]))
    pilum.write_dataset(t, ours)
    lance.write_dataset(t, theirs)
    assert lance.dataset(ours).schema.equals(lance.dataset(theirs).schema, check_metadata=True)
    lance.dataset(ours).merge_insert().when_matched_update_all().when_not_matched_insert_all().execute(t)
    both(ours)


def test_indices_are_kept(tmp_path):
    uri = str(tmp_path / "t.lance")
    lance.write_dataset(rows(0, 100), uri)
    ds = lance.dataset(uri)
    ds.create_scalar_index("id", "BTREE")
    ds.create_scalar_index("x", "BTREE")
    pilum.write_dataset(rows(100, 10), uri, mode="append")
    pilum.dataset(uri).delete("id = 3")
    theirs = lance.dataset(uri)
    assert sorted(i["name"] for i in theirs.list_indices()) == ["id_idx", "x_idx"]
    assert theirs.to_table(filter="id = 5")["id"].to_pylist() == [5]
    assert theirs.to_table(filter="id = 105")["id"].to_pylist() == [105]
    assert theirs.to_table(filter="id = 3").num_rows == 0
    assert theirs.stats.index_stats("id_idx")["num_unindexed_rows"] == 10
    theirs.optimize.optimize_indices()
    assert lance.dataset(uri).stats.index_stats("id_idx")["num_unindexed_rows"] == 0
    pilum.dataset(uri).drop_columns(["x"])
    assert [i["name"] for i in lance.dataset(uri).list_indices()] == ["id_idx"]
    lance.dataset(uri).optimize.compact_files()
    both(uri)


@pytest.mark.heavy
@pytest.mark.parametrize("peer_version, version", [("7.1.0", "2.2"), ("7.1.0", "2.0"), ("0.39.0", "2.1"), ("0.39.0", "2.0")])
def test_older_pylance(tmp_path, peer_version, version):
    try:
        peer = Peer(peer_version)
    except Unavailable as e:
        pytest.skip(str(e))
    uri, arrow = str(tmp_path / "t.lance"), str(tmp_path / "t.arrow")

    def same():
        for v in pilum.dataset(uri).versions():
            peer.ask(do="read_table", uri=uri, version=v["version"], arrow=arrow)
            with pa.ipc.open_file(arrow) as f:
                assert f.read_all().equals(pilum.dataset(uri, version=v["version"]).to_table()), v["version"]

    with contextlib.closing(peer):
        pilum.write_dataset(rows(0, 30), uri, data_storage_version=version, enable_v2_manifest_paths=False)
        pilum.write_dataset(rows(30, 30), uri, mode="append")
        lance.dataset(uri).create_scalar_index("id", "BTREE")
        pilum.dataset(uri).delete("id = 3")
        same()
        with pa.ipc.new_file(arrow, rows(0, 1).schema) as f:
            f.write_table(rows(60, 5))
        peer.ask(do="change_table", uri=uri, append=arrow, delete="id = 40")
        pilum.dataset(uri).delete("id = 41")
        pilum.dataset(uri).alter_columns({"path": "s", "name": "text"})
        same()
        want = [i for i in range(65) if i not in (3, 40, 41)]
        assert ids(uri) == want
        lance.dataset(uri).validate()
        assert lance.dataset(uri).to_table(filter="id = 4")["id"].to_pylist() == [4]


def test_disjoint_deletes_are_merged(tmp_path):
    uri = str(tmp_path / "t.lance")
    pilum.write_dataset(rows(0, 100), uri)
    mine, other = pilum.dataset(uri), pilum.dataset(uri)
    lance.dataset(uri).delete("id < 5")
    mine.delete("id >= 90")
    assert (mine.version, ids(uri)) == (3, list(range(5, 90)))
    other.delete("id < 10")  # some of its rows are gone: it looks again
    assert ids(uri) == list(range(10, 90))
    both(uri)


def test_conflicts(tmp_path):
    uri = str(tmp_path / "t.lance")
    pilum.write_dataset(rows(0, 10), uri)
    stale = pilum.dataset(uri)
    lance.write_dataset(rows(0, 5), uri, mode="overwrite")
    with pytest.raises(ConflictError, match="incompatible with concurrent transaction Overwrite at version 2"):
        pilum.write_dataset(rows(0, 1), stale, mode="append")
    with pytest.raises(RetryableConflictError, match="preempted by concurrent transaction Overwrite at version 2"):
        pilum.write_dataset(rows(0, 1), stale, mode="overwrite")
    assert len(os.listdir(os.path.join(uri, "data"))) == 2


def _append(module, uri, writer, n):
    import importlib

    m = importlib.import_module(module)
    for i in range(n):
        t = pa.table({"id": [writer * 1000 + i]})
        m.write_dataset(t, uri, mode="append")
        if i % 3 == 2:
            m.dataset(uri).delete(f"id = {writer * 1000 + i - 1}")


def test_race(tmp_path):
    uri = str(tmp_path / "t.lance")
    pilum.write_dataset(pa.table({"id": pa.array([], pa.int64())}), uri)
    context = multiprocessing.get_context("spawn")
    n = 15
    writers = [context.Process(target=_append, args=(m, uri, i, n)) for i, m in enumerate(["pilum", "lance", "pilum"])]
    for w in writers:
        w.start()
    for w in writers:
        w.join(120)
        assert w.exitcode == 0
    want = [w * 1000 + i for w in range(3) for i in range(n) if i % 3 != 1]
    assert ids(uri) == sorted(want)
    versions = [v["version"] for v in lance.dataset(uri).versions()]
    assert versions == list(range(1, 1 + 3 * (n + n // 3) + 1))
    lance.dataset(uri).validate()


@pytest.mark.parametrize("seed", [random.SystemRandom().randrange(10**9)])
def test_many_histories(tmp_path, seed):
    rng = random.Random(seed)
    print("seed", seed)
    uri, want, next_id = str(tmp_path / "t.lance"), set(range(20)), 20
    rng.choice([lance, pilum]).write_dataset(
        rows(0, 20), uri, enable_stable_row_ids=rng.random() < 0.5, data_storage_version=rng.choice(VERSIONS)
    )
    for _ in range(30):
        m = rng.choice([lance, pilum])
        if rng.random() < 0.6:
            n = rng.choice([1, 5, 40])
            m.write_dataset(rows(next_id, n), uri, mode="append")
            want |= set(range(next_id, next_id + n))
            next_id += n
        else:
            k, below, one = rng.randrange(2, 12), rng.randrange(next_id), rng.randrange(next_id)
            m.dataset(uri).delete(f"id % {k} = 1 and id < {below} or id = {one}")
            want = {i for i in want if not (i % k == 1 and i < below or i == one)}
        assert ids(uri) == sorted(want)
    both(uri)


def test_paths_below_home(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    pilum.write_dataset(pa.table({"a": [1]}), "~/t.lance")
    pilum.write_dataset(pa.table({"a": [2]}), "~/t.lance", mode="append")
    assert lance.dataset(str(tmp_path / "t.lance")).count_rows() == pilum.dataset("~/t.lance").count_rows() == 2


def test_rows_that_do_not_fit_are_an_oserror_too(tmp_path):
    """As pylance's are, for code that catches those."""
    uri = str(tmp_path / "t.lance")
    pilum.write_dataset(pa.table({"a": [1]}), uri)
    for engine in (lance, pilum):
        with pytest.raises(OSError, match="b"):
            engine.write_dataset(pa.table({"b": [1]}), uri, mode="append")
