"""Single names of pylance's that users' code calls: progress, sessions, drops, formats, samplers, small helpers."""

import json
import os
import pickle
import warnings

import lance
import lance.debug
import numpy as np
import pyarrow as pa
import pytest

import pilum
import pilum.arrow
import pilum.commit
import pilum.debug
import pilum.lance
import pilum.progress
import pilum.sampler
import pilum.vector
from pilum.errors import ConflictError, NotFound, RetryableConflictError, UsageError

ROWS = pa.table({"a": range(10)})


class Told(pilum.progress.FragmentWriteProgress):
    def __init__(self):
        self.calls = []

    def begin(self, fragment, **kwargs):
        self.calls.append(("begin", fragment.id, len(fragment.files), fragment.physical_rows))

    def complete(self, fragment, **kwargs):
        self.calls.append(("complete", fragment.id, len(fragment.files), fragment.physical_rows))


EXPECTED = [("begin", 0, 0, None), ("complete", 0, 1, 5)] * 2


def test_progress_of_every_write(tmp_path):
    told = Told()
    ds = pilum.write_dataset(ROWS, tmp_path / "t", max_rows_per_file=5, progress=told)
    assert told.calls == EXPECTED
    told.calls.clear()
    pilum.fragment.write_fragments(ROWS, ds, max_rows_per_file=5, progress=told)
    assert told.calls == EXPECTED
    told.calls.clear()
    pilum.LanceFragment.create(tmp_path / "t", ROWS, fragment_id=7, progress=told)
    assert told.calls == [("begin", 7, 0, None), ("complete", 7, 1, 10)]


def test_progress_comes_as_rows_are_read(tmp_path):
    told = Told()

    def batches():
        for i in range(4):
            told.calls.append(i)
            yield pa.record_batch({"a": pa.array(range(3))})

    pilum.write_dataset(batches(), tmp_path / "t", ROWS.schema, max_rows_per_file=6, progress=told)
    assert told.calls.index(("complete", 0, 1, 6)) < told.calls.index(3)


@pytest.mark.parametrize("when", ["begin", "complete"])
def test_progress_that_raises_ends_the_write(tmp_path, when):
    class Stops(Told):
        pass

    def stop(self, fragment, **kwargs):
        raise KeyError("no more")

    setattr(Stops, when, stop)
    with pytest.raises(KeyError, match="no more"):
        pilum.write_dataset(ROWS, tmp_path / "t", progress=Stops())
    assert not list((tmp_path / "t").rglob("*.lance"))
    with pytest.raises(NotFound):
        pilum.dataset(tmp_path / "t")


def test_progress_in_files(tmp_path):
    folder = tmp_path / "progress"
    follow = pilum.progress.FileSystemFragmentWriteProgress(str(folder), {"worker": "3"})
    follow.begin(pilum.fragment.FragmentMetadata(4, [], None))
    assert json.loads((folder / "fragment_4.in_progress").read_text()) == {"fragment_id": 4, "metadata": {"worker": "3"}}
    follow.complete(pilum.fragment.FragmentMetadata(4, [], None))
    assert sorted(p.name for p in folder.iterdir()) == ["fragment_4.json"]
    pilum.write_dataset(ROWS, tmp_path / "t", progress=pilum.progress.FileSystemFragmentWriteProgress(str(folder)))
    assert sorted(p.name for p in folder.iterdir()) == ["fragment_0.json", "fragment_4.json"]
    pilum.write_dataset(ROWS, tmp_path / "u", progress=pilum.progress.NoopFragmentWriteProgress())


def test_drop(tmp_path):
    path = tmp_path / "t"
    ds = pilum.write_dataset(ROWS, path)
    ds.tags.create("keep")
    ds.create_branch("side")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "file").write_text("mine")
    with pytest.raises(UsageError, match="nothing was removed"):
        pilum.LanceDataset.drop(tmp_path / "other")
    assert (tmp_path / "other" / "file").exists()
    pilum.LanceDataset.drop(path)
    assert not path.exists()
    pilum.LanceDataset.drop(path, ignore_not_found=True)
    with pytest.raises(OSError):
        pilum.LanceDataset.drop(path)


def test_a_table_whose_manifest_is_broken_is_not_dropped(tmp_path):
    pilum.write_dataset(ROWS, tmp_path / "t")
    (manifest,) = (tmp_path / "t" / "_versions").glob("*.manifest")
    manifest.write_bytes(b"broken")
    with pytest.raises(UsageError, match="nothing was removed"):
        pilum.LanceDataset.drop(tmp_path / "t")
    with pytest.raises(ValueError):
        lance.LanceDataset.drop(str(tmp_path / "t"))
    assert list((tmp_path / "t" / "data").iterdir())


def test_older_form_of_tags(tmp_path):
    ds = pilum.write_dataset(ROWS, tmp_path / "t")
    ds.create_branch("side").insert(ROWS)
    ds.tags.create("one", 1, "side")
    ds.tags.create("two", None, "side")
    ds.tags.update("one", 2, "side")
    assert {name: (t["branch"], t["version"]) for name, t in lance.dataset(str(tmp_path / "t")).tags.list().items()} == {
        "one": ("side", 2), "two": ("side", 2),
    }  # fmt: skip
    with pytest.raises(TypeError, match="number or None"):
        ds.tags.create("three", "two", "side")


def test_commit_lock_of_a_dataset(tmp_path):
    held = []

    class Lock:
        def __init__(self, version):
            self.version = version

        def __enter__(self):
            held.append(self.version)

        def __exit__(self, *raised):
            held.append("free")

    pilum.write_dataset(ROWS, tmp_path / "t")
    ds = pilum.dataset(tmp_path / "t", commit_lock=Lock)
    ds.delete("a = 1")
    ds.update({"a": "a + 1"})
    ds.add_columns({"b": "a"})
    ds.merge_insert("a").when_not_matched_insert_all().execute(pa.table({"a": [99], "b": [1]}))
    ds.insert(pa.table({"a": [100], "b": [1]}))
    ds.truncate_table()
    assert held == [n for version in range(2, 8) for n in (version, "free")]

    def refuses(version):
        raise pilum.commit.CommitConflictError()

    with pytest.raises(ConflictError, match="CommitConflictError"):
        pilum.dataset(tmp_path / "t", commit_lock=refuses).delete("a < 10")
    assert ds.latest_version == 7


def test_words_of_errors(tmp_path):
    frag = pilum.LanceFragment.create(tmp_path / "t", ROWS)
    operation = pilum.LanceOperation.Overwrite(ROWS.schema, [frag])
    pilum.LanceDataset.commit(tmp_path / "t", operation, max_retries=0)
    pilum.LanceDataset.commit(tmp_path / "t", operation, read_version=1, max_retries=0)
    with pytest.raises(RetryableConflictError, match="Commit conflict for version 2"):
        pilum.LanceDataset.commit(tmp_path / "t", operation, read_version=1, max_retries=0)
    assert RetryableConflictError("x").retryable and not ConflictError("x").retryable
    ds = pilum.write_dataset(pa.table({"x": pa.array([1, 1024], pa.int32())}), tmp_path / "u")
    with pytest.raises(UsageError, match="Can't cast value 1024 to type Int8"):
        ds.alter_columns({"path": "x", "data_type": pa.int8()})


@pytest.mark.parametrize("where", ["schema", "field"])
def test_metadata_is_text(tmp_path, where):
    data = pickle.dumps("foo")
    bad = ROWS.replace_schema_metadata({"foo": data})
    if where == "field":
        bad = ROWS.cast(pa.schema([pa.field("a", pa.int64(), metadata={"foo": data})]))
    with pytest.raises(ValueError, match="no UTF-8"):
        pilum.write_dataset(bad, tmp_path / "t")
    assert not (tmp_path / "t" / "_versions").exists()


def test_batches_are_cast_to_the_schema_that_is_given(tmp_path):
    schema = pa.schema({"a": pa.float64(), "b": pa.int64()})
    batches = pa.table({"b": pa.array([20, 30], pa.int32()), "a": [1.0, 2.0]}).to_batches()
    ds = pilum.write_dataset(iter(batches), tmp_path / "t", schema)
    assert ds.to_table() == pa.table({"a": [1.0, 2.0], "b": [20, 30]}, schema)
    with pytest.raises(ValueError):
        pilum.write_dataset(iter(pa.table({"a": [1.5], "b": [2.5]}).to_batches()), tmp_path / "u", schema)


def test_paths_of_files_may_be_called_after_pickling(tmp_path):
    made = pickle.loads(pickle.dumps(pilum.LanceFragment.create(tmp_path / "t", ROWS)))
    with pytest.warns(DeprecationWarning):
        assert made.files[0].path() == made.files[0].path


def test_a_merge_with_a_pyarrow_schema_warns():
    with pytest.warns(DeprecationWarning, match="ids of fields"):
        pilum.LanceOperation.Merge([], ROWS.schema)


def test_formats(tmp_path):
    ds = pilum.write_dataset(
        pa.table({"a": range(10), "s": [{"x": "q"}] * 10}), tmp_path / "t", initial_bases=[pilum.DatasetBasePath("/b")]
    )
    ds.delete("a = 1")
    theirs = lance.dataset(str(tmp_path / "t"))

    def lines(text, *left_out):
        return [line for line in text.splitlines() if not any(word in line for word in left_out)]

    gone = ("encoding", "Plain", "VarBinary", "),", "dictionary", "unenforced")
    assert lines(pilum.debug.format_schema(ds), *gone) == lines(lance.debug.format_schema(theirs), *gone)
    fragment = pilum.debug.format_fragment(ds.get_fragments()[0].metadata, ds)
    assert fragment.startswith("PrettyPrintableFragment {") and "schema: Schema {" in fragment and "num_deleted_rows: 1" in fragment
    manifest = pilum.debug.format_manifest(ds)
    assert manifest.startswith("Manifest {\n    schema: Schema {")
    assert 'writer_version: Some(\n        WriterVersion {\n            library: "pilum"' in manifest
    assert "fragments: [\n        Fragment {" in manifest and 'path: "/b"' in manifest
    made = pilum.debug.list_transactions(ds)
    assert [m.splitlines()[0] for m in made] == ["Transaction {"] * 2
    assert "operation: Delete {" in made[0] and "operation: Overwrite {" in made[1]
    assert pilum.debug.list_transactions(ds, max_transactions=1) == made[:1]


def test_needs_migration(tmp_path):
    assert not pilum.lance.manifest_needs_migration(pilum.write_dataset(ROWS, tmp_path / "t"))


def test_sharded_iterator(tmp_path):
    from pilum._dataset.sharded_batch_iterator import ShardedBatchIterator

    pilum.write_dataset(pa.table({"a": range(100)}), tmp_path / "t", max_rows_per_file=15)
    from lance._dataset.sharded_batch_iterator import ShardedBatchIterator as Theirs

    for how in ({"batch_size": 10}, {"batch_size": 7, "granularity": "batch"}, {"with_row_id": True}):
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            ours = pa.Table.from_batches(ShardedBatchIterator(str(tmp_path / "t"), 1, 3, **how))
            theirs = pa.Table.from_batches(Theirs(str(tmp_path / "t"), 1, 3, **how))
        assert ours == theirs
        assert any("ShardedBatchIterator is deprecated" in str(w.message) for w in said)


def test_sessions_are_accepted(tmp_path):
    one = pilum.write_dataset(ROWS, tmp_path / "t", session=pilum.Session())
    two = pilum.dataset(tmp_path / "t", session=one.session())
    assert one.session().is_same_as(two.session()) and not one.session().is_same_as(pilum.dataset(tmp_path / "t").session())
    assert two.session().size_bytes() == 0


def test_files_of_a_session(tmp_path):
    session = pilum.file.LanceFileSession(tmp_path)
    with session.open_writer("sub/foo.lance", version="2.1") as writer:
        writer.write_batch(ROWS)
    assert session.open_reader("sub/foo.lance").read_all().to_table() == ROWS
    assert lance.file.LanceFileSession(str(tmp_path)).open_reader("sub/foo.lance").read_all().to_table() == ROWS
    with pytest.raises(ValueError, match="Schema is unknown and file cannot be created"):
        with session.open_writer("bar.lance"):
            pass


def test_binary_columns_as_files():
    column = pa.chunked_array([[b"foo", None], [b"bar"]], pa.large_binary())
    assert [f and f.read() for f in pilum.BlobColumn(column)] == [b"foo", None, b"bar"]
    with pytest.raises(ValueError, match="Expected a binary array"):
        pilum.BlobColumn(pa.array([1]))


def test_blobs_of_deleted_rows(tmp_path):
    blobs = pa.field("b", pa.large_binary(), metadata={"lance-encoding:blob": "true"})
    rows = pa.table([pa.array([b"x", b"y"], pa.large_binary()), pa.array([1, 2])], schema=pa.schema([blobs, pa.field("i", pa.int64())]))
    ds = pilum.write_dataset(rows, tmp_path / "t", data_storage_version="2.1")
    ds.delete("i = 1")
    with pytest.raises(NotImplementedError, match="must not target deleted rows"):
        ds.take_blobs("b", ids=[0, 1])


def test_vectors_as_tables():
    given = {"x": [1.0, 2.0], "y": np.array([3, 4])}
    assert pilum.vector.vec_to_table(given).to_pylist() == [{"id": "x", "vector": [1, 2]}, {"id": "y", "vector": [3, 4]}]
    table = pilum.vector.vec_to_table(np.zeros((2, 3)), names="v")
    assert table.schema == pa.schema({"v": pa.list_(pa.float32(), 3)}) and table.num_rows == 2
    with pytest.raises(ValueError, match="Expected 2 dimensions but got 1"):
        pilum.vector.vec_to_table([[1, 2], [3]])
    with pytest.raises(ValueError):
        pilum.vector.vec_to_table([[1, 2]], names=["a", "b"])
    with pytest.raises(NotImplementedError):
        pilum.vector.vec_to_table("x")


def test_bfloat16(tmp_path):
    values = [1.5, None, 2.3, -0.1, float("inf"), 1e-40, 3.4e38, 65504.0, 1.00390625, 1.01171875]
    ours = pilum.arrow.bfloat16_array(values)
    from lance.lance import bfloat16_array

    assert ours.storage == bfloat16_array(values).storage
    assert [None if v is None else float(v) for v in ours.to_pylist()][:4] == [1.5, None, 2.296875, -0.10009765625]
    assert float(pilum.arrow.BFloat16(float("nan"))) != 1
    rows = pa.table({"b": ours})
    ds = pilum.write_dataset(rows, tmp_path / "t")
    assert ds.to_table() == rows
    assert lance.dataset(str(tmp_path / "t")).to_table()["b"].combine_chunks().storage == ours.storage
    assert pickle.loads(pickle.dumps(ours.type)) == ours.type
