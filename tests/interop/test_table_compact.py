"""Compaction: the same plans, rows, row ids, versions of rows and fragments as pylance's; indices that answer rightly afterwards."""

import collections
import contextlib
import os
import pickle
import random
import shutil
import threading

import lance
import lance.optimize
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import pilum
from pilum.errors import NotFound, RetryableConflictError, UnsupportedError, UsageError
from pilum.optimize import Compaction, CompactionMetrics, CompactionPlan, CompactionTask, RewriteResult
from test_table_write import both, rows

LINEAGE = ["_rowid", "_row_created_at_version", "_row_last_updated_at_version"]


def seen(m, uri, stable):
    """All rows in order, with what rows keep."""
    ds = m.dataset(uri)
    columns = ds.schema.names + (LINEAGE if stable else [])
    return ds.to_table(columns=columns).to_pydict()


def layout(uri):
    return [(f.id, f.physical_rows, f.num_deletions) for f in (g.metadata for g in lance.dataset(uri).get_fragments())]


def few_columns(ds, start, n):
    """Not all of them. (Files of 2.0 hold no NULL structs, which a missing column would become.)"""
    return rows(start, n).select(["id", "st"] if "st" in ds.schema.names and ds.data_storage_version == "2.0" else ["id"])


def random_table(rng, uri, version, stable):
    """Fragments of several sizes, some of them with deletions, moved rows and columns that they lack."""
    at = 0
    for _ in range(rng.randint(1, 9)):
        n = rng.choice([1, 3, 10, 25, 60, 100])
        engine = rng.choice([lance, pilum])
        engine.write_dataset(rows(at, n), uri, mode="append", data_storage_version=version, enable_stable_row_ids=stable,
                             max_rows_per_file=rng.choice([7, 40, 1000]))  # fmt: skip
        at += n
    for _ in range(rng.randint(0, 4)):
        ds = lance.dataset(uri)
        kind = rng.choice(["delete", "delete", "update", "append", "add column", "drop column"])
        low = rng.randrange(at)
        if kind == "delete":
            ds.delete(f"id >= {low} AND id < {low + rng.choice([1, 5, 30, 80])} AND id % {rng.randint(1, 3)} = 0")
        elif kind == "update":
            ds.update({"id": "id + 0"}, where=f"id >= {low} AND id < {low + rng.choice([1, 20])}")
        elif kind == "append":
            lance.write_dataset(few_columns(ds, at, 5), uri, mode="append")
            at += 5
        elif kind == "add column":
            name = f"c{rng.randrange(10**9)}"
            ds.add_columns({name: "cast(id as int) + 1"})
        elif len(ds.schema.names) > 1:
            ds.drop_columns([rng.choice([c for c in ds.schema.names if c != "id"])])


def random_options(rng):
    out = {"target_rows_per_fragment": rng.choice([5, 20, 50, 100, 1000, 1 << 20])}
    if rng.random() < 0.3:
        out["materialize_deletions"] = rng.random() < 0.5
    if rng.random() < 0.3:
        out["materialize_deletions_threshold"] = rng.choice([0.0, 0.05, 0.5, 1.0])
    for name, values in (
        ("max_source_fragments", [1, 2, 5]), ("max_source_rows", [10, 80]), ("max_source_bytes", [2000, 20000]),
        ("excluded_fragment_ids", [[0], [1, 2, 900], [3]]),
    ):  # fmt: skip
        if rng.random() < 0.15:
            out[name] = rng.choice(values)
    return out


@pytest.mark.parametrize("stable", [False, True])
@pytest.mark.parametrize("seed", range(24))
def test_as_pylance(tmp_path, seed, stable):
    rng = random.Random(f"{seed} {stable}")
    version = rng.choice(["2.0", "2.1", "2.2"])
    ours, theirs = str(tmp_path / "a.lance"), str(tmp_path / "b.lance")
    random_table(rng, ours, version, stable)
    if stable:
        with contextlib.suppress(Exception):
            lance.dataset(ours).create_scalar_index("id", rng.choice(["BTREE", "BITMAP"]))
    for _ in range(3):
        shutil.rmtree(theirs, ignore_errors=True)
        shutil.copytree(ours, theirs)
        options = random_options(rng)
        before = seen(lance, ours, stable)
        plan = Compaction.plan(pilum.dataset(ours), options)
        their_plan = lance.optimize.Compaction.plan(lance.dataset(theirs), options)
        assert [[f.id for f in t.fragments] for t in plan.tasks] == [[f.id for f in t.fragments] for t in their_plan.tasks]
        a, b = pilum.dataset(ours), lance.dataset(theirs)
        mine = a.optimize.compact_files(**options)
        other = b.optimize.compact_files(**options, num_threads=1)
        assert mine == CompactionMetrics(
            other.fragments_removed, other.fragments_added, other.files_removed, other.files_added
        )
        assert a.version == b.version
        assert layout(ours) == layout(theirs)
        for m in (lance, pilum):
            assert seen(m, ours, stable) == seen(m, theirs, stable)
        assert sorted(before["id"]) == sorted(seen(lance, ours, stable)["id"])
        lance.dataset(ours).validate()
        if rng.random() < 0.5:
            lance.write_dataset(few_columns(lance.dataset(ours), 10**6, 3), ours, mode="append")
    pilum.dataset(ours).delete("id % 5 = 0")
    assert not [i for i in seen(lance, ours, stable)["id"] if i % 5 == 0]


def small_fragments(uri, n=8, each=10, **how):
    for i in range(n):
        lance.write_dataset(rows(i * each, each), uri, mode="append", **how)
    return pilum.dataset(uri)


@pytest.mark.parametrize("stable", [False, True])
@pytest.mark.parametrize("kind", ["BTREE", "BITMAP", "ZONEMAP"])
def test_indices_answer_rightly(tmp_path, kind, stable):
    """Rows of an index that holds their ids stay in it, where those are stable; of any other they leave it."""
    ours, theirs = str(tmp_path / "a.lance"), str(tmp_path / "b.lance")
    small_fragments(ours, 4, enable_stable_row_ids=stable)
    lance.dataset(ours).create_scalar_index("id", kind)
    lance.write_dataset(rows(40, 10), ours, mode="append")
    lance.write_dataset(rows(50, 10), ours, mode="append")
    shutil.copytree(ours, theirs)
    ds = pilum.dataset(ours)
    plan = Compaction.plan(ds, {})
    follows = stable and kind == "BITMAP"
    assert [([f.id for f in t.fragments], t.uncovered) for t in plan.tasks] == [
        ([0, 1, 2, 3], [] if follows else ["id_idx"]),
        ([4, 5], []),
    ]
    left = ds.checkout_version(ds.version)
    left.optimize.compact_files(leave_indexed=True)
    assert [f.fragment_id for f in left.get_fragments()] == ([6, 7] if follows else [0, 1, 2, 3, 6])
    for _ in range(2):
        lance.dataset(theirs).optimize.compact_files()
        pilum.dataset(ours).optimize.compact_files()
        for predicate in ("id = 5", "id in (3, 15, 45, 99)", "id >= 30 and id < 52"):
            want = lance.dataset(theirs).to_table(filter=predicate).sort_by("id")
            for m in (lance, pilum):
                assert m.dataset(ours).to_table(filter=predicate).sort_by("id").equals(want)
        lance.dataset(ours).validate()
        for uri in (ours, theirs):
            lance.dataset(uri).delete("id = 15 or id = 45")
            lance.write_dataset(rows(60, 10), uri, mode="append")
    lance.dataset(ours).optimize.optimize_indices()
    assert lance.dataset(ours).to_table(filter="id = 31")["id"].to_pylist() == [31]
    with pytest.raises(UnsupportedError, match="index 'id_idx' cannot be written"):
        pilum.dataset(ours).optimize.optimize_indices()


def test_optimize_indices_of_no_index(tmp_path):
    ds = small_fragments(str(tmp_path / "t.lance"), 2)
    ds.optimize.optimize_indices()
    assert ds.version == 2


@pytest.mark.parametrize("version", ["2.0", "2.1"])
def test_blobs_and_json(tmp_path, version):
    ours, theirs = str(tmp_path / "a.lance"), str(tmp_path / "b.lance")
    schema = pa.schema(
        [
            pa.field("id", pa.int64()),
            pa.field("blob", pa.large_binary(), metadata={"lance-encoding:blob": "true"}),
            pa.field("doc", pa.json_()),
        ]
    )
    for i in range(6):
        docs = pa.array([f'{{"a": {i}}}', None], pa.utf8())
        t = pa.table(
            [pa.array([2 * i, 2 * i + 1]), pa.array([bytes([i]) * (1000 * i), None], pa.large_binary()),
             pa.ExtensionArray.from_storage(pa.json_(), docs)], schema=schema,
        )  # fmt: skip
        lance.write_dataset(t, ours, mode="append", data_storage_version=version)
    lance.dataset(ours).delete("id = 4")
    shutil.copytree(ours, theirs)
    before = pilum.dataset(ours).to_table(blob_handling="all_binary")
    metrics = pilum.dataset(ours).optimize.compact_files()
    lance.dataset(theirs).optimize.compact_files()
    assert metrics == CompactionMetrics(6, 1, 7, 1)
    for m in (lance, pilum):
        assert m.dataset(ours).to_table(columns=["id", "doc"]).equals(m.dataset(theirs).to_table(columns=["id", "doc"]))
        got = [b.readall() if b is not None else None for b in m.dataset(ours).take_blobs("blob", indices=range(0, 10, 2))]
        want = [b.readall() if b is not None else None for b in m.dataset(theirs).take_blobs("blob", indices=range(0, 10, 2))]
        assert got == want
        assert m.dataset(ours).to_table(filter="json_get_int(doc, 'a') = 3", columns=["id"])["id"].to_pylist() == [6]
    assert pilum.dataset(ours).to_table(blob_handling="all_binary").equals(before)


def test_steps(tmp_path):
    uri = str(tmp_path / "t.lance")
    ds = small_fragments(uri, 4, 20)
    plan = Compaction.plan(ds, {"target_rows_per_fragment": 40, "num_threads": 1})
    assert (plan.read_version, plan.num_tasks()) == (4, 2)
    assert repr(plan) == "CompactionPlan(read_version=4, tasks=<2 compaction tasks>)"
    fragments = ds.get_fragments()
    assert [t.fragments for t in plan.tasks] == [[f.metadata for f in fragments[:2]], [f.metadata for f in fragments[2:]]]
    assert plan.tasks[0].reason == "2 fragments beside each other, 2 below 40 rows"
    assert pickle.loads(pickle.dumps(plan)) == plan == CompactionPlan.from_json(plan.json())
    task = pickle.loads(pickle.dumps(plan.tasks[0]))
    assert task == plan.tasks[0] == CompactionTask.from_json(plan.tasks[0].json())
    result = task.execute(ds)
    assert result.metrics == CompactionMetrics(2, 1, 2, 1)
    assert [f.physical_rows for f in result.new_fragments] == [40]
    assert pickle.loads(pickle.dumps(result)) == result == RewriteResult.from_json(result.json())
    theirs = lance.optimize.RewriteResult.from_json(result.json())
    assert [f.physical_rows for f in theirs.new_fragments] and theirs.metrics.fragments_removed == 2
    assert RewriteResult.from_json(theirs.json()) == result
    lance.write_dataset(rows(80, 20), uri, mode="append")
    other = plan.tasks[1].execute(pilum.dataset(uri))  # goes back to the version that was planned for
    assert Compaction.commit(ds, [result]) == result.metrics
    assert ds.version == 7
    assert Compaction.commit(ds, []) == CompactionMetrics()
    Compaction.commit(ds, [other])
    assert sorted(ds.to_table()["id"].to_pylist()) == list(range(100))
    with pytest.raises(RetryableConflictError):
        Compaction.commit(ds, [other])
    with pytest.raises(UsageError, match="has no fragment"):
        other = plan.tasks[0]
        CompactionTask(ds.version, other.fragments).execute(ds)
    both(uri)


def test_options(tmp_path):
    uri = str(tmp_path / "t.lance")
    ds = small_fragments(uri, 4, 20)
    for wrong, error in (
        ({"defer_index_remap": True}, UnsupportedError), ({"compaction_mode": "force_binary_copy"}, UnsupportedError),
        ({"compaction_mode": "x"}, UsageError), ({"target": 5}, UsageError), ({"num_threads": -1}, UsageError),
        ({"data_storage_version": "next"}, UnsupportedError), ({"data_storage_version": "legacy"}, UnsupportedError),
    ):  # fmt: skip
        with pytest.raises(error):
            ds.optimize.compact_files(**wrong)
    assert len(os.listdir(os.path.join(uri, "data"))) == 4
    ds.update_config({"lance.compaction.target_rows_per_fragment": "40"})
    assert Compaction.plan(ds, {}).num_tasks() == 2
    assert Compaction.plan(ds, {"target_rows_per_fragment": 80}).num_tasks() == 1
    ds.optimize.compact_files(data_storage_version="2.1", compaction_mode="try_binary_copy", max_rows_per_group=5)
    assert {(f.file_major_version, f.file_minor_version) for g in ds.get_fragments() for f in g.data_files()} == {(2, 1)}
    assert ds.data_storage_version == lance.dataset(uri).data_storage_version == "2.2"
    assert lance.dataset(uri).to_table().equals(pilum.dataset(uri).to_table())
    assert ds.optimize.compact_files() == CompactionMetrics()
    with pytest.raises(UsageError, match="lance.compaction.batch_size"):
        ds.update_config({"lance.compaction.batch_size": "x"})
        ds.optimize.compact_files()


def test_files_end_by_bytes(tmp_path):
    """A page, of 2 MiB on a disk, is written before its bytes can be counted."""
    values = pa.FixedSizeListArray.from_arrays(pa.array(range(4 << 20)), 1024)
    uri = str(tmp_path / "t.lance")
    for batch, files in ((128, 16), (2048, 2)):
        ds = pilum.write_dataset(pa.table({"a": values}), uri, mode="overwrite", max_rows_per_file=2048)
        done = ds.optimize.compact_files(target_rows_per_fragment=100 << 10, max_bytes_per_file=1000, batch_size=batch)
        assert done == CompactionMetrics(2, files, 2, files)
        assert ds.to_table()["a"].combine_chunks().equals(values)


@pytest.mark.parametrize("stable", [False, True])
def test_while_others_write(tmp_path, stable):
    """Appends, deletes and updates meanwhile, of both engines: nothing is lost, nothing comes twice or back."""
    uri = str(tmp_path / "t.lance")
    small_fragments(uri, 10, 20, enable_stable_row_ids=stable)
    gone, new, failed, more = set(), [], [], collections.Counter()

    def others():
        rng = random.Random(5)
        try:
            for i in range(18):
                with contextlib.suppress(Exception if i % 2 else RetryableConflictError):
                    if i % 3 == 0:
                        first = 1000 + 20 * i
                        (lance, pilum)[i % 2].write_dataset(rows(first, 20), uri, mode="append")
                        new.extend(range(first, first + 20))
                    elif i % 3 == 1:
                        victim = rng.randrange(200)
                        (lance if i % 2 else pilum).dataset(uri).update({"x": "x + 1"}, where=f"id = {victim}")
                        more[victim] += 1
                    else:
                        victim = rng.randrange(200)
                        (lance if i % 2 else pilum).dataset(uri).delete(f"id = {victim}")
                        gone.add(victim)
        except Exception as e:  # noqa: BLE001
            failed.append(e)

    thread = threading.Thread(target=others)
    thread.start()
    for _ in range(6):
        with contextlib.suppress(RetryableConflictError):
            pilum.dataset(uri).optimize.compact_files(target_rows_per_fragment=60)
    thread.join()
    assert not failed
    pilum.dataset(uri).optimize.compact_files()
    want = sorted(set(range(200)) - gone | set(new))
    for m in (lance, pilum):
        got = m.dataset(uri).to_table(columns=["id", "x"]).sort_by("id").to_pydict()
        assert got == {"id": want, "x": [i / 2 + more[i] for i in want]}
    assert len(pilum.dataset(uri).get_fragments()) == 1
    lance.dataset(uri).validate()
