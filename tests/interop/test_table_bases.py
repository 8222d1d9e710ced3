"""Tables whose data files lie below base paths: written by us as pylance writes them, and read by both."""

import os

import lance
import pyarrow as pa
import pytest

import pilum
from pilum.errors import UsageError

ROWS = pa.table({"a": range(10), "s": [f"s{i}" for i in range(10)]})
MORE = pa.table({"a": range(10, 14), "s": ["x"] * 4})


def bases_of(module, root):
    base = module.DatasetBasePath
    return [base(f"{root}/one", name="one"), base(f"{root}/two", name="two", is_dataset_root=True), base(f"{root}/three", name="three")]


def described(path, root):
    """What pylance sees, without the names of files."""
    ds = lance.dataset(path)
    told = {b.id: (b.name, b.path.replace(str(root), ""), b.is_dataset_root) for b in ds._ds.base_paths().values()}
    files = [[f.base_id for f in fragment.data_files()] for fragment in ds.get_fragments()]
    ds.validate()
    return ds.version, told, files, ds.to_table().to_pydict(), type(ds.read_transaction(ds.version).operation).__name__


def places(root):
    """How many data files lie in each folder."""
    out = {}
    for folder, _, names in os.walk(root):
        count = sum(name.endswith(".lance") for name in names)
        if count:
            out[os.path.relpath(folder, root)] = count
    return out


def both(tmp_path):
    for module in (lance, pilum):
        root = tmp_path / module.__name__
        yield module, root, str(root / "table")


STEPS = {
    "in turn": [(ROWS, dict(target_bases=["one", "two"], max_rows_per_file=3))],
    "by path": [(ROWS, dict(target_bases=["PATH/three"]))],
    "none": [(ROWS, {})],
    "empty": [(ROWS, dict(target_bases=[]))],
    "append": [(ROWS, dict(target_bases=["one"])), (MORE, dict(mode="append", target_bases=["two"])), (MORE, dict(mode="append"))],
    "overwrite": [(ROWS, dict(target_bases=["one"])), (MORE, dict(mode="overwrite", target_bases=["three"], max_rows_per_file=1))],
    "all with own": [(ROWS, dict(target_all_bases=True, max_rows_per_file=2))],
    "all": [(ROWS, dict(target_all_bases=False, max_rows_per_file=2))],
    "twice": [(ROWS, dict(target_bases=["one", "one", "two"], max_rows_per_file=2))],
}


@pytest.mark.parametrize("steps", STEPS.values(), ids=STEPS.keys())
def test_as_pylance_writes_them(tmp_path, steps):
    results = []
    for module, root, path in both(tmp_path):
        for i, (rows, how) in enumerate(steps):
            how = dict(how, **({"initial_bases": bases_of(module, root)} if i == 0 else {}))
            if "target_bases" in how:
                how["target_bases"] = [name.replace("PATH", str(root)) for name in how["target_bases"]]
            ds = module.write_dataset(rows, path, **how)
        results.append((described(path, root)[:4], places(root)))
        assert pilum.dataset(path).to_table() == ds.to_table()
    assert results[0] == results[1]


def test_added_later(tmp_path):
    results = []
    for module, root, path in both(tmp_path):
        ds = module.write_dataset(ROWS, path)
        if module is pilum:  # pylance makes a version of it
            assert ds.add_bases([]) is ds and ds.version == 1
        assert ds.add_bases([module.DatasetBasePath(f"{root}/b1", name="b1")]) is ds
        ds.add_bases([module.DatasetBasePath(f"{root}/b2", name="b2", id=9)], {"why": "space"})
        ds.add_bases([module.DatasetBasePath(f"{root}/b3", name="b3")])
        assert ds.version == 4
        ds = module.write_dataset(MORE, ds, mode="append", target_bases=["b2", "b3"], max_rows_per_file=2)
        results.append((described(path, root)[:4], places(root)))
    assert results[0] == results[1]
    assert pilum.dataset(path, version=3).read_transaction(3).transaction_properties["why"] == "space"


def test_changes_of_rows_that_lie_elsewhere(tmp_path):
    """Deletion files lie with the table; rows that are rewritten come back to it."""
    results = []
    for module, root, path in both(tmp_path):
        how = dict(initial_bases=bases_of(module, root), target_bases=["one", "two"], max_rows_per_file=5)
        ds = module.write_dataset(ROWS, path, **how)
        ds.delete("a = 1")
        ds.update({"s": "'changed'"}, where="a = 7")
        ds.merge_insert("a").when_matched_update_all().when_not_matched_insert_all().execute(MORE)
        ds.add_columns({"b": "a * 2"})
        ds.optimize.compact_files()
        rows = described(path, root)[3]
        results.append((sorted(zip(*rows.values())), places(root)["one"], ds.count_rows()))
        assert not os.path.exists(f"{root}/one/_deletions")
    assert results[0] == results[1]


@pytest.mark.parametrize("which", [dict(target_bases=["two", "one"]), dict(target_all_bases=True), dict(target_all_bases=False)])
@pytest.mark.parametrize("stream", [False, True])
def test_merges(tmp_path, which, stream):
    results = []
    rows = pa.table({"a": range(5, 40), "s": ["new"] * 35})
    for module, root, path in both(tmp_path):
        ds = module.write_dataset(ROWS, path, initial_bases=bases_of(module, root))
        merge = ds.merge_insert("a").when_matched_update_all().when_not_matched_insert_all()
        (name, value), = which.items()
        getattr(merge, name)(value).execute(iter(rows.to_batches()) if stream else rows, **({"schema": rows.schema} if stream else {}))
        found = described(path, root)
        results.append((found[0], found[2], sorted(zip(*found[3].values()))))
    assert results[0] == results[1]


@pytest.mark.parametrize("committer", [lance, pilum], ids=["pylance", "pilum"])
def test_fragments_written_by_one_and_committed_by_another(tmp_path, committer):
    path = str(tmp_path / "table")
    ds = pilum.write_dataset(ROWS, path, initial_bases=bases_of(pilum, tmp_path))
    made = pilum.fragment.write_fragments(MORE, ds, target_bases=["two"])
    if committer is lance:
        made = [lance.FragmentMetadata.from_json(__import__("json").dumps(f.to_json())) for f in made]
    committer.LanceDataset.commit(path, committer.LanceOperation.Append(made), read_version=1)
    assert described(path, tmp_path)[2] == [[None], [2]]


def test_refusals(tmp_path):
    path = str(tmp_path / "table")
    base = pilum.DatasetBasePath
    with pytest.raises(UsageError, match="Base reference 'x' not found in available bases: one, two, three"):
        pilum.write_dataset(ROWS, path, initial_bases=bases_of(pilum, tmp_path), target_bases=["x"])
    with pytest.raises(UsageError, match="comes twice"):
        pilum.write_dataset(ROWS, path, initial_bases=[base("/a", name="x"), base("/b", name="x")])
    with pytest.raises(UsageError, match="no base paths"):
        pilum.write_dataset(ROWS, path, target_all_bases=False)
    assert not os.path.exists(path) or not os.listdir(path)
    ds = pilum.write_dataset(ROWS, path, initial_bases=bases_of(pilum, tmp_path))
    for mode in ("append", "overwrite"):
        with pytest.raises(UsageError, match="Cannot register new bases"):
            pilum.write_dataset(ROWS, path, mode=mode, initial_bases=[base("/c")])
    with pytest.raises(UsageError, match="do not go together"):
        pilum.write_dataset(ROWS, path, mode="append", target_bases=["one"], target_all_bases=True)
    for wrong in (base(str(tmp_path / "new"), name="one"), base(f"{tmp_path}/two", name="new")):
        with pytest.raises(UsageError, match="already"):
            ds.add_bases([wrong])
    assert ds.latest_version == 1


def test_a_write_that_fails_leaves_nothing(tmp_path):
    def batches():
        yield from ROWS.to_batches()
        raise KeyError("the source broke")

    ds = pilum.write_dataset(ROWS, tmp_path / "table", initial_bases=bases_of(pilum, tmp_path))
    with pytest.raises(KeyError, match="the source broke"):
        pilum.write_dataset(batches(), ds, ROWS.schema, mode="append", target_bases=["one", "two"], max_rows_per_file=4)
    assert places(tmp_path) == {"table/data": 1}


def test_relative_paths_are_made_absolute(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ds = pilum.write_dataset(ROWS, "table", initial_bases=[pilum.DatasetBasePath("elsewhere", name="e")], target_bases=["e"])
    assert ds.base_paths()[1].path == str(tmp_path / "elsewhere")
    monkeypatch.chdir("/")
    assert lance.dataset(str(tmp_path / "table")).to_table() == ROWS
