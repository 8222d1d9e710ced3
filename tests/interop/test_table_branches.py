"""Branches, clones, detached versions and names of manifests: made by one engine, read and written on by the other."""

import contextlib
import json
import os
import shutil
from datetime import timedelta

import lance
import pilum
import pyarrow as pa
import pytest
from old_peers import Peer, Unavailable
from pilum import LanceOperation as Ours
from pilum.dataset_clone import migrate_manifest_paths_v2
from pilum.fragment import write_fragments

ENGINES = {"pilum": pilum, "lance": lance}
EACH = pytest.mark.parametrize("maker", ["pilum", "lance"])
OTHER = pytest.mark.parametrize("writer", ["pilum", "lance"])


def rows(first=0, count=10):
    return pa.table({"a": pa.array(range(first, first + count), pa.int64()), "b": [str(i) for i in range(first, first + count)]})


@pytest.fixture
def uri(tmp_path):
    return str(tmp_path / "t")


def table_of(uri, stable=False, version="2.2"):
    ds = lance.write_dataset(rows(), uri, max_rows_per_file=4, enable_stable_row_ids=stable, data_storage_version=version)
    ds.create_scalar_index("a", "BTREE")
    ds.delete("a = 3")
    ds.update_config({"k": "v"})
    ds.tags.create("clean", 3)
    return uri


def at(engine, uri, reference):
    return engine.dataset(uri) if reference is None else engine.dataset(uri).checkout_version(reference)


def same(uri, reference=None):
    ours, theirs = at(pilum, uri, reference), at(lance, uri, reference)
    a, b = ours.to_table(with_row_id=True), theirs.to_table(with_row_id=True)
    assert a.to_pylist() == b.to_pylist()
    assert ours.version == theirs.version
    theirs.validate()
    return a["a"].to_pylist()


def manifest_of(uri, reference=None):
    """What two engines' manifests have in common: all but times, names and UUIDs."""
    ds = at(pilum, uri, reference)
    m = ds._table.manifest()
    bases = sorted((b["id"], b["name"], b["path"], b["is_dataset_root"]) for b in m["base_paths"])
    fragments = [f.to_json() for f in ds._metadata()]
    indices = [(i["uuid"], i["base_id"], i["stored_fragment_ids"]) for i in ds._table.indices()]
    made = ds.read_transaction(ds.version)
    return (
        ds.version, ds._table.branch, m["reader_flags"], m["writer_flags"], m["config"], m["max_fragment_id"], m["next_row_id"],
        bases, fragments, indices, made.read_version, made.operation,
    )  # fmt: skip


@pytest.mark.parametrize("stable", [False, True], ids=["addresses", "stable"])
@pytest.mark.parametrize("version", ["2.0", "2.2"])
def test_branches_are_as_pylance_makes_them(uri, stable, version):
    table_of(uri, stable, version)
    for name, engine in ENGINES.items():
        ds = engine.dataset(uri)
        made = ds.create_branch(f"{name}/one")
        assert made.version == 4 and made.uri == f"{uri}/tree/{name}/one"
        made.delete("a = 5")
        deeper = at(engine, uri, (f"{name}/one", None)).create_branch(f"{name}-two")
        assert deeper.version == 5
        ds.create_branch(f"{name}-tag", "clean")
        ds.create_branch(f"{name}-number", 1)
        ds.create_branch(f"{name}-other", (f"{name}/one", 4))
        at(engine, uri, (f"{name}/one", None)).create_branch(f"{name}-main", ("main", 2))
    for kind in ("-two", "-tag", "-number", "-other", "-main"):
        a, b = (manifest_of(uri, (name + kind, None)) for name in ENGINES)
        text = lambda m: repr(m).replace("lance/one", "pilum/one").replace("'lance-", "'pilum-")  # noqa: E731
        a, b = ((*m[:8], *m[9:]) for m in (a, b)) if kind in ("-two", "-other") else (a, b)  # its deletion file has a random id
        assert text(a) == text(b)
        assert same(uri, ("pilum" + kind, None)) == same(uri, ("lance" + kind, None))
    refs = {name: json.load(open(f"{uri}/_refs/branches/{name}-two.json")) for name in ENGINES}
    assert list(refs["pilum"]) == list(refs["lance"])
    for ref in refs.values():
        assert [v for v, _ in ref["identifier"]["version_mapping"]] == [4, 5]
        assert all(len(hexes) == 32 for _, hexes in ref["identifier"]["version_mapping"])
    assert refs["pilum"]["parentBranch"] == "pilum/one" and refs["pilum"]["parentVersion"] == 5
    assert refs["pilum"]["manifestSize"] == os.path.getsize(f"{uri}/tree/pilum/one/_versions/{2**64 - 1 - 5}.manifest")
    assert pilum.dataset(uri).branches.list() == lance.dataset(uri).branches.list()
    assert os.path.exists(f"{uri}/_refs/branches/pilum%2Fone.json")


@EACH
@OTHER
def test_every_change_on_a_branch(uri, maker, writer):
    table_of(uri)
    ENGINES[maker].dataset(uri).create_branch("dev")
    engine = ENGINES[writer]
    there = lambda: at(engine, uri, ("dev", None))  # noqa: E731
    engine.write_dataset(rows(20, 3), there(), mode="append")
    assert same(uri, ("dev", None)) == [0, 1, 2, *range(4, 10), 20, 21, 22]
    there().delete("a < 2")
    there().update_config({"on": "dev"})
    there().drop_columns(["b"])
    module = engine.fragment
    engine.LanceDataset.commit(
        there(), engine.LanceOperation.Append(module.write_fragments(rows(40, 1).select(["a"]), there())), read_version=there().version
    )
    assert same(uri, ("dev", None)) == [2, *range(4, 10), 20, 21, 22, 40]
    at(engine, uri, ("dev", 5)).restore()
    assert same(uri, ("dev", None)) == [0, 1, 2, *range(4, 10), 20, 21, 22]
    engine.write_dataset(rows(0, 2), there(), mode="overwrite")
    assert same(uri, ("dev", None)) == [0, 1]
    there().tags.create("on-dev", ("dev", 6))
    assert same(uri, "on-dev") == [2, *range(4, 10), 20, 21, 22]
    assert same(uri) == [0, 1, 2, *range(4, 10)] and pilum.dataset(uri).version == 4
    assert [v["version"] for v in at(pilum, uri, ("dev", None)).versions()] == list(range(4, 12))


def test_names_of_branches(uri):
    table_of(uri)
    ours = pilum.dataset(uri)
    for name in ("main", "", "a/", "/a", "a//b", "x..y", "x.lock", "a b", "a\\b", "x/../y", "a/.", "dev/data", "dev/_versions/x"):
        with pytest.raises(pilum.UsageError):
            ours.create_branch(name)
    assert not os.path.exists(uri + "/tree")
    for name in (".x", "é", "a.b", "a-b_c", "tree", "a/.b", "a.lock/b"):
        ours.create_branch(name)
        assert same(uri, (name, None)) == [0, 1, 2, *range(4, 10)]
    with pytest.raises(pilum.UsageError, match="already exists"):
        ours.create_branch("tree")
    for reference in (99, "nosuch", ("nosuch", None)):
        with pytest.raises(pilum.NotFound):
            ours.create_branch("vm", reference)
    assert sorted(ours.branches.list()) == sorted(lance.dataset(uri).branches.list())


@EACH
def test_branches_are_deleted(uri, maker):
    table_of(uri)
    ds = ENGINES[maker].dataset(uri)
    ds.create_branch("dev").create_branch("child")
    ds.create_branch("dev/sub")
    ds.tags.create("named", ("child", None))
    ours = pilum.dataset(uri)
    with pytest.raises(pilum.UsageError, match="child"):
        ours.branches.delete("dev")
    with pytest.raises(pilum.UsageError, match="named"):
        ours.branches.delete("child")
    ours.tags.delete("named")
    ours.branches.delete("child")
    ours.branches.delete("dev")
    assert sorted(os.listdir(uri + "/tree/dev")) == ["sub"] and list(ours.branches.list()) == ["dev/sub"]
    assert same(uri, ("dev/sub", None)) == [0, 1, 2, *range(4, 10)]
    assert not os.path.exists(uri + "/tree/child")
    for name in ("child", "nosuch", "main"):
        with pytest.raises((pilum.NotFound, pilum.UsageError)):
            ours.branches.delete(name)
    ours.branches.replace_metadata("dev/sub", {"x": "y"})
    assert lance.dataset(uri).branches.list()["dev/sub"]["metadata"] == {"x": "y"}
    ours.create_branch("dev")
    assert same(uri, ("dev", None)) == [0, 1, 2, *range(4, 10)]


def test_a_branch_that_was_not_wholly_made_or_deleted(uri):
    table_of(uri)
    ours = pilum.dataset(uri)
    ours.create_branch("half")
    os.remove(uri + "/_refs/branches/half.json")
    made = ours.create_branch("half")  # of the same version: it is taken over
    assert made.version == 4 and same(uri, ("half", None)) == [0, 1, 2, *range(4, 10)]
    made.delete("a = 1")
    os.remove(uri + "/_refs/branches/half.json")
    with pytest.raises(pilum.UsageError, match="not wholly made or deleted"):
        ours.create_branch("half")
    ours.branches.delete("half")
    assert not os.path.exists(uri + "/tree/half")
    ours.create_branch("half", 1)
    assert same(uri, ("half", None)) == list(range(10))


@pytest.mark.parametrize("stable", [False, True], ids=["addresses", "stable"])
@pytest.mark.parametrize("deep", [False, True], ids=["shallow", "deep"])
def test_clones_are_as_pylance_makes_them(tmp_path, stable, deep):
    uri = table_of(str(tmp_path / "t"), stable)
    ds = lance.dataset(uri)
    dev = ds.create_branch("dev")
    dev.delete("a = 5")
    lance.write_dataset(rows(20, 3), at(lance, uri, ("dev", None)), mode="append")
    for number, reference in enumerate((1, "clean", ("dev", None), ("main", 2), (None, None))):
        targets = {name: str(tmp_path / f"{name}{number}") for name in ENGINES}
        for name, engine in ENGINES.items():
            source = engine.dataset(uri)
            made = (source.deep_clone if deep else source.shallow_clone)(targets[name], reference)
            assert made.uri == targets[name]
        assert manifest_of(targets["pilum"]) == manifest_of(targets["lance"])
        assert same(targets["pilum"]) == same(targets["lance"]) == same(uri, reference)
        lists = [
            sorted(os.path.relpath(os.path.join(top, f), t) for top, _, files in os.walk(t) for f in files if not f.endswith(".txn"))
            for t in targets.values()
        ]
        assert lists[0] == lists[1]
        with pytest.raises(pilum.UsageError, match="already exists"):
            pilum.dataset(uri).shallow_clone(targets["pilum"], 1)
        with pytest.raises(pilum.UsageError, match="already exists"):
            pilum.dataset(uri).deep_clone(targets["lance"], 1)


@pytest.mark.parametrize("deep", [False, True], ids=["shallow", "deep"])
@EACH
@OTHER
def test_clones_are_written_on(tmp_path, deep, maker, writer):
    uri = table_of(str(tmp_path / "t"))
    target, again, whole = (str(tmp_path / n) for n in ("clone", "again", "whole"))
    source = ENGINES[maker].dataset(uri)
    (source.deep_clone if deep else source.shallow_clone)(target, source.version)
    engine = ENGINES[writer]
    engine.write_dataset(rows(20, 3), engine.dataset(target), mode="append")
    engine.dataset(target).delete("a < 2")
    want = [2, *range(4, 10), 20, 21, 22]
    assert same(target) == want
    engine.dataset(target).create_branch("in-clone").delete("a = 2")
    assert same(target, ("in-clone", None)) == want[1:]
    assert same(uri) == [0, 1, 2, *range(4, 10)]
    engine.dataset(target).shallow_clone(again, engine.dataset(target).version)
    assert same(again) == want
    pilum.dataset(again).deep_clone(whole)
    if deep:
        shutil.rmtree(uri)
        assert same(target) == want
    shutil.rmtree(target)
    assert same(whole) == want
    assert pilum.dataset(whole).base_paths() == {}
    assert lance.dataset(whole).to_table(filter="a = 21")["a"].to_pylist() == [21]


def test_a_deep_clone_that_fails_leaves_nothing(tmp_path):
    uri = table_of(str(tmp_path / "t"))
    ds = pilum.dataset(uri)
    os.remove(f"{uri}/data/{ds.get_fragments()[-1].data_files()[0].path}")
    with pytest.raises(pilum.NotFound):
        ds.deep_clone(str(tmp_path / "c"))
    assert not [f for _, _, files in os.walk(tmp_path / "c") for f in files]


def test_blobs_and_row_ids_in_deep_clones(tmp_path):
    uri, target = str(tmp_path / "t"), str(tmp_path / "c")
    values = [b"x" * 10, None, b"y" * (5 << 20), b""]
    blobs = pa.table({"i": range(4), "v": lance.blob_array(values)})
    lance.write_dataset(blobs, uri, enable_stable_row_ids=True, data_storage_version="2.2")
    pilum.dataset(uri).deep_clone(target)
    shutil.rmtree(uri)
    for engine in (pilum, lance):
        got = engine.dataset(target).take_blobs("v", indices=[0, 2])
        assert [b.readall() for b in got] == [values[0], values[2]]


@EACH
@OTHER
def test_detached_versions(uri, maker, writer):
    lance.write_dataset(rows(), uri)
    one, two = ENGINES[maker], ENGINES[writer]

    def add(engine, base, first):
        fragments = engine.fragment.write_fragments(rows(first, 2), uri)
        return engine.LanceDataset.commit(base, engine.LanceOperation.Append(fragments), read_version=base.version, detached=True)

    a = add(one, one.dataset(uri), 50)
    assert a.version >= 2**63 and a.count_rows() == 12
    assert os.path.exists(f"{uri}/_versions/d{a.version}.manifest")
    b = add(two, two.dataset(uri, version=a.version), 60)
    assert b.version >= 2**63 and b.version != a.version
    for engine in (pilum, lance):
        assert engine.dataset(uri, version=b.version).to_table()["a"].to_pylist() == [*range(10), 50, 51, 60, 61]
        assert engine.dataset(uri).version == 1 and [v["version"] for v in engine.dataset(uri).versions()] == [1]
        assert engine.dataset(uri, version=b.version).read_transaction(b.version).read_version == a.version
    append = Ours.Append(write_fragments(rows(70, 1), uri))
    with pytest.raises(pilum.UsageError, match="detached"):
        pilum.LanceDataset.commit(pilum.dataset(uri, version=a.version), append, read_version=a.version)
    assert pilum.LanceDataset.commit(uri, append, read_version=1).version == 2


def test_the_guard_of_detached_versions(uri):
    lance.write_dataset(rows(), uri)
    fragments = write_fragments(rows(50, 2), uri)
    kept = pilum.LanceDataset.commit(uri, Ours.Append(fragments), read_version=1, detached=True).version
    pilum.dataset(uri).guard_detached()
    pilum.dataset(uri).guard_detached()
    lance.write_dataset(rows(70, 3), uri, mode="overwrite")
    for how in ({}, {"delete_unverified": True}):
        with pytest.raises(OSError, match="cannot be read by this version"):
            lance.dataset(uri).cleanup_old_versions(timedelta(0), **how)
    for engine in (pilum, lance):
        assert engine.dataset(uri, version=kept).count_rows() == 12
        assert list(engine.dataset(uri).branches.list()) == ["detached-guard"]
        with pytest.raises(Exception, match="flag|Flags"):
            at(engine, uri, ("detached-guard", None))
    engine.dataset(uri).delete("a = 70")  # all else goes on
    assert same(uri) == [71, 72]
    pilum.dataset(uri).branches.delete("detached-guard")
    assert not os.path.exists(uri + "/tree/detached-guard")
    lance.dataset(uri).cleanup_old_versions(timedelta(0))
    with pytest.raises(Exception, match="Not found"):
        lance.dataset(uri, version=kept).to_table()


def test_names_of_manifests_are_migrated(uri):
    ds = lance.write_dataset(rows(), uri, enable_v2_manifest_paths=False)
    lance.write_dataset(rows(20, 2), uri, mode="append")
    pilum.dataset(uri).delete("a = 1")
    versions = uri + "/_versions"
    assert {"1.manifest", "2.manifest", "3.manifest"} <= set(os.listdir(versions))
    before = {f: open(f"{versions}/{f}", "rb").read() for f in os.listdir(versions)}
    new_name = lambda n: f"{2**64 - 1 - n}.manifest"  # noqa: E731
    # interrupted: version 1 is there under both names, version 2 under the new one alone
    shutil.copy(f"{versions}/1.manifest", f"{versions}/{new_name(1)}")
    os.rename(f"{versions}/2.manifest", f"{versions}/{new_name(2)}")
    with pytest.raises(pilum.CorruptError, match="both ways"):
        pilum.dataset(uri)
    assert migrate_manifest_paths_v2(uri) == 2
    assert sorted(f for f in os.listdir(versions) if f.endswith(".manifest")) == sorted(map(new_name, (1, 2, 3)))
    for n in (1, 2, 3):
        assert open(f"{versions}/{new_name(n)}", "rb").read() == before[f"{n}.manifest"]
    assert same(uri) == [0, *range(2, 10), 20, 21]
    assert migrate_manifest_paths_v2(uri) == 0
    ds = pilum.dataset(uri)
    ds.migrate_manifest_paths_v2()
    ds.delete("a = 2")
    assert same(uri) == [0, *range(3, 10), 20, 21]
    # one version under both names, and they differ
    open(f"{versions}/4.manifest", "wb").write(b"other")
    with pytest.raises(pilum.CorruptError, match="under two names"):
        migrate_manifest_paths_v2(uri)
    assert os.path.exists(f"{versions}/4.manifest") and os.path.exists(f"{versions}/{new_name(4)}")


@pytest.mark.parametrize("stable", [False, True], ids=["addresses", "stable"])
def test_pylance_7_reads_and_writes_them(tmp_path, stable):
    try:
        peer = Peer("7.1.0")
    except Unavailable as e:
        pytest.skip(str(e))
    uri, clone, copy, arrow = (str(tmp_path / n) for n in ("t", "clone", "copy", "rows.arrow"))
    fragments = write_fragments(rows(), uri, mode="create", max_rows_per_file=4, data_storage_version="2.1")
    ds = pilum.LanceDataset.commit(uri, Ours.Overwrite(rows().schema, fragments), enable_stable_row_ids=stable)
    ds.delete("a = 3")
    ds.create_branch("dev").delete("a = 4")
    ds.shallow_clone(clone)
    ds.deep_clone(copy)
    with contextlib.closing(peer):
        for where, want in ((uri, 9), (uri + "/tree/dev", 8), (clone, 9), (copy, 9)):
            newest = lambda: max(v["version"] for v in pilum.dataset(where).versions())  # noqa: E731
            peer.ask(do="read_table", uri=where, version=newest(), arrow=arrow)
            with pa.ipc.open_file(arrow) as f:
                got = f.read_all()
            assert got.num_rows == want and got.equals(pilum.dataset(where).to_table())
            peer.ask(do="change_table", uri=where, append=arrow, delete="a = 7")
            assert pilum.dataset(where).count_rows() == 2 * want - 2
            assert same(where) == pilum.dataset(where).to_table()["a"].to_pylist()
