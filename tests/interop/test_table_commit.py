"""Writing in two steps: rows into files, then a commit of what says so. What either engine puts down the other reads back as the
same operation, and each commits what the other wrote."""

import json
import os
import pickle
import struct
import time

import lance
import pilum
import pyarrow as pa
import pytest
from lance import LanceOperation as Theirs
from lance.fragment import FragmentMetadata as TheirFragment
from lance.fragment import write_fragments as their_write_fragments
from pilum import LanceOperation as Ours
from pilum.fragment import DataFile, DeletionFile, FragmentMetadata, LanceFragment, RowIdSequence, write_fragments


def rows(first=0, count=10):
    return pa.table({
        "a": pa.array(range(first, first + count), pa.int64()),
        "s": pa.array([{"x": i, "l": [str(i), None]} for i in range(first, first + count)],
                      pa.struct([("x", pa.int32()), ("l", pa.list_(pa.string()))])),
    })  # fmt: skip


ENGINES = {"pilum": pilum, "lance": lance}
VERSIONS = pytest.mark.parametrize("version", ["2.0", "2.1", "2.2"])
STABLE = pytest.mark.parametrize("stable", [False, True], ids=["addresses", "stable"])


@pytest.fixture
def uri(tmp_path):
    return str(tmp_path / "t")


def table_of(uri, version="2.2", stable=False):
    """Three fragments, rows deleted and changed, config and metadata."""
    ds = lance.write_dataset(rows(), uri, max_rows_per_file=4, data_storage_version=version, enable_stable_row_ids=stable)
    ds.delete("a % 4 = 1")
    lance.dataset(uri).update({"a": "a + 100"}, where="a < 3")
    ds = lance.dataset(uri)
    ds.update_config({"k": "v"})
    return uri


def same_rows(uri, version=None):
    ours = pilum.dataset(uri, version=version).to_table(with_row_id=True)
    theirs = lance.dataset(uri, version=version).to_table(with_row_id=True)
    assert ours.to_pylist() == theirs.to_pylist()
    lance.dataset(uri, version=version).validate()
    return ours.drop_columns(["_rowid"])


def plain(value):
    """An operation of either engine as values that compare."""
    if isinstance(value, (pa.Schema, lance.schema.LanceSchema, pilum.schema.LanceSchema)):
        value = value if isinstance(value, pa.Schema) else value.to_pyarrow()
        return [(f.name, str(f.type), f.nullable) for f in value]
    if hasattr(value, "to_json"):
        return {k: v for k, v in value.to_json().items() if k != "overlays"}
    if hasattr(value, "asdict"):
        return value.asdict()
    if type(value).__name__ == "Bitmap":
        return sorted(value)
    if hasattr(value, "__dataclass_fields__"):
        left_out = {"covering_fields", "config_upsert_values"}
        names = [n for n in value.__dataclass_fields__ if n not in left_out]
        return [type(value).__name__] + [(n.lstrip("_"), plain(getattr(value, n))) for n in names]
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    return sorted(value) if isinstance(value, set) else value


def same_history(uri):
    ours, theirs = pilum.dataset(uri), lance.dataset(uri)
    for version in [v["version"] for v in theirs.versions()]:
        a, b = ours.read_transaction(version), theirs.read_transaction(version)
        assert (a.read_version, a.uuid, a.transaction_properties) == (b.read_version, b.uuid, b.transaction_properties or {})
        assert plain(a.operation) == plain(b.operation)
        assert a.kind == type(b.operation).__name__


@VERSIONS
@STABLE
def test_fragments_and_operations_read_as_pylance_has_them(uri, version, stable):
    table_of(uri, version, stable)
    ours, theirs = pilum.dataset(uri), lance.dataset(uri)
    for a, b in zip(ours.get_fragments(), theirs.get_fragments()):
        text = json.dumps(a.metadata.to_json())
        assert json.loads(text) == b.metadata.to_json()
        assert FragmentMetadata.from_json(text) == a.metadata
        assert TheirFragment.from_json(text) == b.metadata
        assert pickle.loads(pickle.dumps(a.metadata)) == a.metadata
        assert a.deletion_file() == b.deletion_file()
    same_history(uri)


@VERSIONS
@STABLE
@pytest.mark.parametrize("writer", ["pilum", "lance"])
@pytest.mark.parametrize("committer", ["pilum", "lance"])
def test_two_steps(uri, version, stable, writer, committer):
    write = write_fragments if writer == "pilum" else their_write_fragments
    engine = pilum if committer == "pilum" else lance
    Op = engine.LanceOperation
    metadata = FragmentMetadata if committer == "pilum" else TheirFragment

    def carried(fragments):
        return [metadata.from_json(json.dumps(f.to_json())) for f in fragments]

    fragments = carried(write(rows(), uri, mode="create", max_rows_per_file=4, data_storage_version=version))
    assert [f.id for f in fragments] == [0, 0, 0] and not os.path.exists(uri + "/_versions")
    ds = engine.LanceDataset.commit(uri, Op.Overwrite(rows().schema, fragments), enable_stable_row_ids=stable)
    assert ds.version == 1 and ds.has_stable_row_ids == stable and ds.data_storage_version == version
    more = carried(write(rows(50), uri))
    ds = engine.LanceDataset.commit(ds, Op.Append(more), read_version=1, commit_message="more")
    assert ds.version == 2 and ds.count_rows() == 20
    assert ds.read_transaction(2).transaction_properties == {"__lance_commit_message": "more"}
    assert same_rows(uri)["a"].to_pylist() == [*range(10), *range(50, 60)]
    same_history(uri)


@STABLE
def test_each_operation_is_committed_as_pylance_commits_it(tmp_path, stable):
    """One after another, by us on one copy and by pylance on the other: equal rows, schema, ids and versions of rows."""
    a, b = str(tmp_path / "a"), str(tmp_path / "b")
    table_of(a, stable=stable)
    table_of(b, stable=stable)

    def both(make):
        for uri, engine in ((a, pilum), (b, lance)):
            ds = engine.dataset(uri)
            engine.LanceDataset.commit(uri, make(engine, engine.LanceOperation, ds), read_version=ds.version)
        system = ["_rowid", *(["_row_created_at_version", "_row_last_updated_at_version"] if stable else [])]
        for each in (pilum, lance):
            names = [*lance.dataset(a).schema.names, *system]
            got, want = (each.dataset(uri).to_table(columns=names) for uri in (a, b))
            assert got.to_pylist() == want.to_pylist()
        assert lance.dataset(a).schema == lance.dataset(b).schema
        assert [f.fragment_id for f in lance.dataset(a).get_fragments()] == [f.fragment_id for f in lance.dataset(b).get_fragments()]
        assert lance.dataset(a).max_field_id == lance.dataset(b).max_field_id
        assert lance.dataset(a).config() == lance.dataset(b).config()
        lance.dataset(a).validate()
        same_history(a)

    def fragment_module(engine):
        return pilum.fragment if engine is pilum else lance.fragment

    both(lambda engine, Op, ds: Op.Append(fragment_module(engine).write_fragments(rows(50), ds.uri)))
    both(lambda engine, Op, ds: Op.Delete([], [ds.get_fragments()[1].fragment_id], "whole"))
    both(lambda engine, Op, ds: Op.UpdateConfig(Op.UpdateMap({"x": "y", "k": None}), Op.UpdateMap({"m": "1"}),
                                               Op.UpdateMap({"s": "2"}), {0: Op.UpdateMap({"f": "3"}, True)}))  # fmt: skip
    both(lambda engine, Op, ds: Op.Restore(2))
    wider = pa.schema([*rows().schema, pa.field("b", pa.int32())])
    both(lambda engine, Op, ds: Op.Merge([f.metadata for f in ds.get_fragments()], engine.schema.LanceSchema.from_pyarrow(wider)))
    schema = pa.schema([rows().schema.field("a").with_name("renamed")])
    both(lambda engine, Op, ds: Op.Project(engine.schema.LanceSchema.from_pyarrow(schema)))

    def rewrite(engine, Op, ds):
        fragments = ds.get_fragments()
        new = fragment_module(engine).write_fragments(ds.to_table(), ds.uri)
        if stable:
            ids = ds.to_table(columns=["_rowid"])["_rowid"]
            new[0].row_id_meta = fragment_module(engine).RowIdSequence(ids).to_inline_metadata()
        return Op.Update([f.fragment_id for f in fragments], [], new, [], [0])

    both(rewrite)
    both(lambda engine, Op, ds: Op.Overwrite(rows().schema, fragment_module(engine).write_fragments(rows(), ds.uri, mode="overwrite")))


@STABLE
def test_rows_updated_in_place_and_fragments_merged_in(tmp_path, stable):
    """Which rows a rewrite of columns changed is in their versions; a merge may bring new fragments."""
    bitmap = lambda *rows: struct.pack(f"<IIHHI{len(rows)}H", 12346, 1, 0, len(rows) - 1, 16, *rows)  # noqa: E731
    got = {}
    for name, engine in ENGINES.items():
        uri, Op = str(tmp_path / name), engine.LanceOperation
        lance.write_dataset(rows(), uri, max_rows_per_file=4, enable_stable_row_ids=stable)
        here = lambda: engine.dataset(uri)  # noqa: E731
        first, second, _ = (f.metadata for f in here().get_fragments())
        for fragments, offsets in (([first], None), ([first, second], {0: bitmap(1, 3), 1: bitmap(0)})):
            update = Op.Update([], fragments, [], [0], [], "rewrite_columns", offsets)
            engine.LanceDataset.commit(uri, update, read_version=here().version)
        new = engine.fragment.write_fragments(rows(50, 3), uri)
        merge = Op.Merge([f.metadata for f in here().get_fragments()] + new, here().lance_schema)
        engine.LanceDataset.commit(uri, merge, read_version=here().version)
        system = ["_rowid", *(["_row_created_at_version", "_row_last_updated_at_version"] if stable else [])]
        got[name] = (
            [f.fragment_id for f in here().get_fragments()],
            lance.dataset(uri).to_table(columns=["a", *system]).to_pydict(),
            pilum.dataset(uri).to_table(columns=["a", *system]).to_pydict(),
        )
        lance.dataset(uri).validate()
    assert got["pilum"] == got["lance"] and got["pilum"][1] == got["pilum"][2]


def test_what_cannot_be_committed_is_refused_by_name(uri):
    lance.write_dataset(rows(), uri)
    good = write_fragments(rows(), uri)[0]
    commit = pilum.LanceDataset.commit
    before = sorted(os.listdir(uri + "/_versions"))

    def refused(error, words, operation, **how):
        with pytest.raises(error, match=words):
            commit(uri, operation, **{"read_version": 1, **how})
        assert sorted(os.listdir(uri + "/_versions")) == before

    class Fancy(Ours.BaseOperation):
        pass

    def changed(**values):
        return Ours.Append([FragmentMetadata(0, [DataFile(**{**vars(good.files[0]), **values})], 10)])

    refused(ValueError, "Unsupported operation: Fancy", Fancy())
    refused(ValueError, "Unsupported operation: BaseOperation", Ours.BaseOperation())
    refused(TypeError, "must be a LanceOperation", object())
    refused(ValueError, "read_version is required", Ours.Append([good]), read_version=None)
    refused(pilum.NotFound, "99", Ours.Append([good]), read_version=99)
    refused(pilum.NotFound, "nope.lance", changed(path="nope.lance"))
    refused(pilum.UsageError, "it is another one", changed(file_size_bytes=7))
    refused(pilum.UsageError, "holds field 17", changed(fields=[0, 17], column_indices=[0, 1]))
    refused(pilum.UsageError, "2 field ids but 1 column", changed(fields=[0, 1], column_indices=[0]))
    refused(pilum.UsageError, "no data file", Ours.Append([FragmentMetadata(0, [], 10)]))
    deleted = FragmentMetadata(0, good.files, 10, DeletionFile(1, 2, "array", 1))
    refused(pilum.NotFound, "0-1-2.arrow", Ours.Overwrite(rows().schema, [deleted]))
    refused(pilum.UsageError, "new ones only", Ours.Overwrite(rows().schema, [deleted]), check_files=False)
    refused(pilum.UsageError, "shallow_clone", Ours.Clone(True, None, 1, uri, None))
    refused(pilum.UsageError, "no uuid", pilum.Transaction(1, Ours.Append([good]), "../../evil"))
    with pytest.raises(TypeError, match="list"):
        Ours.Append(good)
    with pytest.raises(pilum.NotFound, match="must already exist"):
        commit(uri + "2", Ours.Append([good]), read_version=1)
    assert not os.path.exists(uri + "2")
    fragments = [f.metadata for f in pilum.dataset(uri).get_fragments()]
    other = pilum.schema.LanceSchema(pa.schema([rows().schema.field("a"), pa.field("b", pa.int64())]), [0, 4])
    refused(pilum.UsageError, "field 4 .* is int64, but it is string", Ours.Merge(fragments, other))
    refused(pilum.UsageError, "field 4 .* is int64, but it is string", Ours.Project(other))
    twice = pilum.schema.LanceSchema(other.to_pyarrow(), [0, 0])
    refused(pilum.UsageError, "id 0 to field 'b'", Ours.Project(twice))
    assert commit(uri, changed(path="nope.lance"), read_version=1, check_files=False).version == 2
    lance.LanceDataset.commit(uri, Theirs.Restore(1))
    lance.dataset(uri).drop_columns(["s"])
    before = sorted(os.listdir(uri + "/_versions"))
    fragments = [f.metadata for f in pilum.dataset(uri).get_fragments()]
    refused(pilum.UsageError, "ids up to 4 are", Ours.Merge(fragments, other), read_version=4)


def test_a_batch_of_appends_is_one_version(uri):
    lance.write_dataset(rows(), uri)
    made = [pilum.Transaction(1, Ours.Append(write_fragments(rows(n), uri)), transaction_properties={f"k{n}": "v"}) for n in (20, 40)]
    got = pilum.LanceDataset.commit_batch(uri, made)
    assert got["dataset"].version == 2 and got["dataset"].count_rows() == 30
    assert len(got["merged"].operation.fragments) == 2
    assert same_rows(uri)["a"].to_pylist() == [*range(10), *range(20, 30), *range(40, 50)]
    theirs = lance.LanceDataset.commit_batch(
        uri, [lance.Transaction(2, Theirs.Append(their_write_fragments(rows(n), uri))) for n in (60, 80)]
    )
    assert theirs["dataset"].version == 3
    same_history(uri)
    with pytest.raises(pilum.UnsupportedError, match="Only append"):
        pilum.LanceDataset.commit_batch(uri, [*made, pilum.Transaction(1, Ours.Delete([], [], "x"))])
    with pytest.raises(pilum.UsageError, match="No transactions"):
        pilum.LanceDataset.commit_batch(uri, [])


def test_a_transaction_keeps_its_uuid_and_travels(uri):
    made = write_fragments(rows(), uri, mode="create", return_transaction=True)
    assert made.kind == "Overwrite"
    made = pickle.loads(pickle.dumps(made))
    ds = pilum.LanceDataset.commit(uri, made)
    assert lance.dataset(uri).read_transaction(1).uuid == made.uuid == ds.read_transaction(1).uuid
    staged = write_fragments(rows(10), ds, return_transaction=True)
    assert staged.read_version == 1 and staged.kind == "Append"
    assert pilum.LanceDataset.commit(ds, staged).count_rows() == 20
    with pytest.raises(ValueError, match="commit_message"):
        pilum.LanceDataset.commit(ds, staged, commit_message="no")


@pytest.mark.parametrize("first", ["pilum", "lance"])
@pytest.mark.parametrize("second", ["pilum", "lance"])
def test_raw_conflicts_are_pylances(uri, first, second):
    """Two deletions by deletion files in one fragment, of which nobody knows the rows; appends beside them; an overwrite."""
    engines = {"pilum": pilum, "lance": lance}
    one, two = engines[first], engines[second]
    lance.write_dataset(rows(), uri)
    operations = {}
    for engine in (pilum, lance):
        Op = engine.LanceOperation
        module = engine.fragment
        fragment = engine.dataset(uri).get_fragments()[0].metadata
        operations[engine] = {
            "append": Op.Append(module.write_fragments(rows(30), uri)),
            "delete": Op.Delete([], [fragment.id], "all"),
            "update": Op.Update([], [fragment], [], [], [0]),
            "overwrite": Op.Overwrite(rows().schema, module.write_fragments(rows(), uri, mode="overwrite")),
            "config": Op.UpdateConfig(Op.UpdateMap({"k": engine.__name__})),
            "restore": Op.Restore(1),
        }

    def outcome(engine, name, version):
        try:
            engine.LanceDataset.commit(uri, operations[engine][name], read_version=version, max_retries=5)
            return "."
        except Exception as e:
            return "R" if "Retryable" in str(e) or "etry" in type(e).__name__ else "X"

    cells, want = {}, {}
    for a in operations[one]:
        for b in operations[two]:
            lance.LanceDataset.commit(uri, Theirs.Restore(1))
            base = lance.dataset(uri).version
            assert outcome(one, a, base) == "."
            cells[a, b] = outcome(two, b, base)
            lance.LanceDataset.commit(uri, Theirs.Restore(1))
            base = lance.dataset(uri).version
            assert outcome(lance, a, base) == "."
            want[a, b] = outcome(lance, b, base)
    assert cells == want


def test_row_ids_as_they_are_kept():
    from lance.fragment import RowIdSequence as TheirSequence

    for ids in ([], [5], [1, 2, 3], [9, 2, 7], range(3, 300), [1, 5, 2**40], pa.array([4, 5, 6], pa.uint64()), list(range(0, 4000, 3))):
        ours, theirs = RowIdSequence(ids), TheirSequence(ids)
        assert ours.to_pyarrow() == theirs.to_pyarrow()
        assert ours.to_inline_metadata().asdict() == theirs.to_inline_metadata().asdict()
        assert RowIdSequence.from_inline_metadata(ours.to_inline_metadata()) == ours
    for wrong in ([1, 1], [-1], [2**64], pa.array([1, None], pa.uint64())):
        with pytest.raises(ValueError):
            RowIdSequence(wrong)


@VERSIONS
@STABLE
@pytest.mark.parametrize("writer", ["pilum", "lance"])
@pytest.mark.parametrize("committer", ["pilum", "lance"])
def test_rows_of_fragments_deleted_in_two_steps(uri, version, stable, writer, committer):
    table_of(uri, version, stable)
    fragments = ENGINES[writer].dataset(uri).get_fragments()
    metadata = FragmentMetadata if committer == "pilum" else TheirFragment
    updated, gone = [], []
    for fragment, deleted in zip(fragments, (fragment.delete("a < 8 OR a = 9") for fragment in fragments)):
        if deleted is None:
            gone.append(fragment.fragment_id)
        elif deleted != fragment.metadata:
            updated.append(metadata.from_json(json.dumps(deleted.to_json())))
    assert gone and len(gone) + len(updated) < len(fragments) + 1
    engine = ENGINES[committer]
    ds = engine.dataset(uri)
    engine.LanceDataset.commit(ds, engine.LanceOperation.Delete(updated, gone, "a < 8 OR a = 9"), read_version=ds.version)
    assert sorted(same_rows(uri)["a"].to_pylist()) == [8, 100, 102]
    same_history(uri)


def test_places_of_deleted_rows(uri):
    lance.write_dataset(rows(), uri, max_rows_per_file=5)
    ours, theirs = (engine.dataset(uri).get_fragments()[0] for engine in (pilum, lance))
    for places in ([0, 3], [], [3, 3, 1], range(5), range(4)):
        a, b = ours.delete_rows(places), theirs.delete_rows(places)
        assert (a and (a.id, a.num_deletions, a.files[0].path)) == (b and (b.id, b.num_deletions, b.files[0].path))
    assert ours.delete("a = 100") == ours.delete_rows([]) == ours.metadata and ours.delete("a >= 0") is None
    with pytest.raises(pilum.UsageError, match="offset 30 is out of range"):
        ours.delete_rows([0, 30])
    with pytest.raises(pilum.QueryError):
        ours.delete("nosuch = 1")
    pilum.dataset(uri).delete("a = 0")
    again = pilum.dataset(uri).get_fragments()[0]
    before = os.listdir(uri + "/_deletions")
    assert again.delete_rows([0]) == again.metadata and os.listdir(uri + "/_deletions") == before
    assert again.delete_rows([1]).num_deletions == 2


def test_a_lock_of_ones_own(uri):
    import contextlib

    seen = []

    @contextlib.contextmanager
    def lock(version):
        seen.append(version)
        yield
        seen.append("released")

    pilum.write_dataset(rows(), uri, commit_lock=lock)
    pilum.LanceDataset.commit(uri, Ours.Append(write_fragments(rows(), uri)), read_version=1, commit_lock=lock)
    assert seen == [1, "released", 2, "released"]
    with pytest.raises(TypeError, match="commit_lock must be"):
        pilum.write_dataset(rows(), uri, mode="append", commit_lock=7)


def test_one_fragment_of_all_rows(uri):
    made = LanceFragment.create(uri, rows(), fragment_id=7)
    assert made.id == 7 and made.physical_rows == 10 and len(made.files) == 1
    ds = pilum.LanceDataset.commit(uri, Ours.Overwrite(rows().schema, [made]))
    assert [f.fragment_id for f in ds.get_fragments()] == [0]
    again = DataFile.create(ds, made.files[0].path)
    assert again == ds.get_fragments()[0].metadata.files[0]
    with pytest.raises(pilum.UsageError, match="different schema"):
        write_fragments(pa.table({"z": [1]}), ds)


def test_transaction_properties_are_texts(tmp_path):
    uri = str(tmp_path / "t.lance")
    with pytest.raises(TypeError, match="7"):
        pilum.write_dataset(rows(3), uri, transaction_properties={7: "seven"})
    pilum.write_dataset(rows(3), uri)
    transaction = pilum.Transaction(1, Ours.Append(write_fragments(rows(3), uri)), transaction_properties={"n": 7})
    with pytest.raises(TypeError, match="'n': 7"):
        pilum.LanceDataset.commit(uri, transaction)


def test_who_opens_again_sees_what_the_other_committed(tmp_path):
    path = str(tmp_path / "t")
    lance.write_dataset(pa.table({"x": [0]}), path)
    time.sleep(2.1)  # from here on a folder's stamp counts
    held = [pilum.dataset(path) for _ in range(2)][-1]
    assert (held.version, held.latest_version) == (1, 1)
    for i in range(2, 6):
        lance.write_dataset(pa.table({"x": [i]}), path, mode="append")
        assert (held.latest_version, pilum.dataset(path).version) == (i, i)
    time.sleep(2.1)
    assert pilum.dataset(path).version == 5
    pilum.write_dataset(pa.table({"x": [9]}), path, mode="append")
    assert (held.latest_version, pilum.dataset(path).version, lance.dataset(path).version) == (6, 6, 6)
