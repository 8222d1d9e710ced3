"""Tables and files at memory://: what pylance does with them by the dataset, and by their names too."""

import gc
import pickle
import subprocess
import sys

import lance
import pilum
import pyarrow as pa
import pytest
from pilum.file import LanceFileReader, LanceFileWriter

from conftest import cli_command

T = pa.table({"a": pa.array([1, 2, 3], pa.int64()), "s": ["x", None, "z"]})


def rows(ds):
    return sorted(ds.to_table().to_pylist(), key=lambda r: r["a"])


def history(module, uri):
    """A table's life by one dataset; what it looks like after each step."""
    seen = []
    ds = module.write_dataset(T, uri)

    def look():
        seen.append((ds.version, ds.uri, rows(ds)))

    look()
    ds = module.write_dataset(T, ds, mode="append")
    ds.delete("a = 1")
    look()
    ds.update({"s": "'new'"}, where="a = 2")
    more = pa.table({"a": pa.array([3, 9], pa.int64()), "s": ["m", "n"]})
    ds.merge_insert("a").when_matched_update_all().when_not_matched_insert_all().execute(more)
    ds = ds.checkout_version(ds.latest_version)
    look()
    ds.add_columns({"b": "a * 2"})
    ds.alter_columns({"path": "b", "data_type": pa.int32()})
    ds.optimize.compact_files()
    look()
    ds.tags.create("t", 1)
    ds.cleanup_old_versions()
    look()
    ds.checkout_version("t").restore()
    ds.checkout_latest()
    look()
    return seen


def test_as_pylance():
    assert history(pilum, "memory://life") == history(lance, "memory://life")


@pytest.mark.parametrize("uri", ["memory://names", "memory://db/names.lance", "memory://names/"])
def test_names(uri):
    pilum.write_dataset(T, uri)
    gc.collect()
    assert rows(pilum.dataset(uri)) == T.to_pylist()
    assert pilum.write_dataset(T, uri, mode="append").count_rows() == 6
    assert pilum.dataset(uri, version=1).count_rows() == 3
    assert pilum.write_dataset(T, uri, mode="overwrite").version == 3


def test_a_new_table_takes_the_name_and_leaves_the_old_one_to_who_has_it():
    old = pilum.write_dataset(T, "memory://again")
    other = pilum.dataset("memory://again")
    new = pilum.write_dataset(T.slice(1), "memory://again")
    assert (old.uri, new.uri) == ("memory://again", "memory://again")
    old.delete("a = 3")
    old.create_branch("b").insert(T)
    other.checkout_latest()
    assert [d.count_rows() for d in (old, other, new, pilum.dataset("memory://again"))] == [2, 2, 2, 2]
    assert other.checkout_version(("b", None)).count_rows() == 5
    assert (new.version, rows(new)) == (1, T.slice(1).to_pylist())


def test_without_a_name_each_is_another():
    one, two = pilum.write_dataset(T, "memory://"), pilum.write_dataset(T.slice(2), "memory://")
    appended = pilum.write_dataset(T, "memory://", mode="append")
    one.insert(T)
    assert [d.count_rows() for d in (one, two, appended)] == [6, 1, 3]
    assert one.uri == "memory://"
    with pytest.raises(pilum.NotFound):
        pilum.dataset("memory://")


def test_raw_commits_and_clones():
    ds = pilum.write_dataset(T, "memory://raw")
    fragments = pilum.write_fragments(T, ds)
    assert fragments[0].files[0].file_size_bytes > 0
    ds = pilum.LanceDataset.commit("memory://raw", pilum.LanceOperation.Append(fragments), read_version=1)
    assert ds.count_rows() == 6
    assert ds.shallow_clone("memory://shallow").count_rows() == 6
    ds.deep_clone("memory://deep")
    assert pilum.dataset("memory://deep").count_rows() == 6


def test_branches():
    """pylance 14 does not find the rows of the version that they began with."""
    ds = pilum.write_dataset(T, "memory://branches")
    branch = ds.create_branch("dev")
    branch.insert(T)
    assert branch.uri == "memory://branches/tree/dev"
    assert pilum.dataset("memory://branches", version=("dev", None)).count_rows() == 6
    assert pilum.dataset("memory://branches").count_rows() == 3


def test_drop():
    old = pilum.write_dataset(T, "memory://dropped")
    new = pilum.write_dataset(T, "memory://dropped")
    pilum.LanceDataset.drop("memory://dropped")
    with pytest.raises(pilum.NotFound):
        pilum.dataset("memory://dropped")
    with pytest.raises(FileNotFoundError):
        new.to_table()
    assert old.to_table() == T


def test_clones_to_disk(tmp_path):
    ds = pilum.write_dataset(T, "memory://to_disk")
    with pytest.raises(pilum.UsageError, match="would end with this process; make a deep one"):
        ds.shallow_clone(str(tmp_path / "shallow"))
    ds.deep_clone(str(tmp_path / "deep"))
    assert lance.dataset(str(tmp_path / "deep")).to_table() == T


def test_pickled_in_this_process_and_gone_in_another():
    ds = pilum.write_dataset(T, "memory://pickled")
    assert rows(pickle.loads(pickle.dumps(ds))) == T.to_pylist()
    code = "import pilum\ntry: pilum.dataset('memory://pickled')\nexcept pilum.NotFound as e: print(e)"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "memory://pickled" in said.stdout, said.stderr


@pytest.mark.parametrize("path", ["memory://file.lance", "memory://some/file.lance"])
def test_files(path):
    with LanceFileWriter(path) as w:
        w.write_batch(T)
    assert LanceFileReader(path).read_all().to_table() == T
    with pytest.raises(ZeroDivisionError):
        with LanceFileWriter(path + "2") as w:
            w.write_batch(T)
            1 / 0
    with pytest.raises(FileNotFoundError):
        LanceFileReader(path + "2")


@pytest.mark.parametrize("words", [["table", "show", "memory://x"], ["file", "info", "memory://x/y.lance"],
                                   ["query", "memory://x", "SELECT 1"], ["table", "append", "memory://x", "x.csv"]])
def test_the_command_has_none(words):
    done = subprocess.run([cli_command(), *words], capture_output=True, text=True)
    assert done.returncode == 5 and "what is in memory ends with the process that made it" in done.stderr, done.stderr
