"""Blobs of kind lance.blob.v2 in rows that are written anew, and their files through clean-up and clones, beside pylance."""

import os
import random
from datetime import timedelta

import lance
import pyarrow as pa
import pytest
from test_blob_writes import files_of, random_value, table_of

import pilum


def values_of(uri, engine):
    ds = engine.dataset(uri)
    ids = ds.to_table(columns=["id"])["id"].to_pylist()
    blobs = [None if b is None else b.read() for b in ds.take_blobs("b", indices=range(len(ids)))]
    return sorted(zip(ids, blobs), key=lambda pair: pair[0])


def check(uri, want):
    for engine in (pilum, lance):
        assert values_of(uri, engine) == sorted(want.items())


def rows(ids, values):
    schema = pa.schema([pa.field("id", pa.int64()), pilum.blob_field("b")])
    return pa.table({"id": pa.array(ids, pa.int64()), "b": pilum.blob_array(values)}, schema=schema)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("stable", [False, True])
def test_changes_by_turns(tmp_path, seed, stable):
    rng = random.Random(seed)
    uri = str(tmp_path / "t")
    values = [random_value(rng) for _ in range(12)]
    pilum.write_dataset(table_of(pilum, values), uri, max_rows_per_file=5, enable_stable_row_ids=stable)
    want = dict(enumerate(values))
    for _ in range(8):
        engine = rng.choice([pilum, pilum, lance])
        ds = engine.dataset(uri)
        some = rng.sample(sorted(want), min(3, len(want)))
        what = rng.randrange(6)
        if what == 0:
            ds.update({"id": "id + 1000"}, where=f"id in ({', '.join(map(str, some))})")
            for i in some:
                want[i + 1000] = want.pop(i)
        elif what == 1:
            ds.delete(f"id in ({', '.join(map(str, some))})")
            for i in some:
                del want[i]
        elif what == 2:
            ids = [*some, max(want) + 1]
            new = [random_value(rng) for _ in ids]
            ds.merge_insert("id").when_matched_update_all().when_not_matched_insert_all().execute(rows(ids, new))
            want.update(zip(ids, new))
        elif what == 3:
            ids = [*some, max(want) + 1]
            ds.merge_insert("id").when_matched_update_all().when_not_matched_insert_all().execute(pa.table({"id": ids}))
            want[ids[-1]] = None
        elif what == 4:
            ds.optimize.compact_files(num_threads=1)
        else:
            new = random_value(rng)
            engine.write_dataset(rows([max(want) + 1], [new]), uri, mode="append")
            want[max(want) + 1] = new
        if not want:
            break
    check(uri, want)


def test_external_stay_where_they_are(tmp_path):
    base, out = tmp_path / "media", tmp_path / "g.bin"
    base.mkdir()
    (base / "f.bin").write_bytes(b"0123456789")
    out.write_bytes(b"abcdef")
    uri = str(tmp_path / "t")
    given = [(base / "f.bin").as_uri(), pilum.Blob.from_uri((base / "f.bin").as_uri(), 2, 3), out.as_uri(), b"x" * 70_000, None]
    pilum.write_dataset(table_of(pilum, given), uri, initial_bases=[lance.DatasetBasePath(str(base), "m")],
                        allow_external_blob_outside_bases=True)  # fmt: skip
    ds = pilum.dataset(uri)
    before = {r["id"]: r["b"] for r in ds.to_table().to_pylist()}
    ds.update({"id": "id"}, where="id < 3")
    pilum.dataset(uri).optimize.compact_files()
    assert {r["id"]: r["b"] for r in pilum.dataset(uri).to_table().to_pylist()} == before
    check(uri, {0: b"0123456789", 1: b"234", 2: b"abcdef", 3: b"x" * 70_000, 4: None})
    merge = pilum.dataset(uri).merge_insert("id").when_matched_update_all()
    with pytest.raises(pilum.UsageError, match="column 'b'.*outside registered external bases"):
        merge.execute(rows([3], [out.as_uri()]))
    merge.execute(rows([3], [(base / "f.bin").as_uri()]))
    assert values_of(uri, pilum)[3] == (3, b"0123456789")


def test_structs_and_lists_are_compacted(tmp_path):
    uri = str(tmp_path / "t")
    values = [b"abc", b"x" * 100_000, None, b"", b"y" * 70_000]
    inner = pa.StructArray.from_arrays([pilum.blob_array(values), pa.array(range(5))],
                                       fields=[pilum.blob_field("b"), pa.field("k", pa.int64())],
                                       mask=pa.array([False, False, False, True, False]))  # fmt: skip
    items = pa.ListArray.from_arrays(pa.array([0, 2, None, 3, 3, 5], pa.int32()), pilum.blob_array(values),
                                     type=pa.list_(pilum.blob_field("item")))  # fmt: skip
    for _ in range(2):
        pilum.write_dataset(pa.table({"s": inner, "l": items}), uri, mode="append")
    before = pilum.dataset(uri).scanner(blob_handling="all_binary").to_table().to_pylist()
    assert before[0]["l"] == values[:2] and before[3]["s"] is None
    pilum.dataset(uri).optimize.compact_files()
    assert len(pilum.dataset(uri).get_fragments()) == 1
    assert pilum.dataset(uri).scanner(blob_handling="all_binary").to_table().to_pylist() == before
    assert [b and b.read() for b in lance.dataset(uri).take_blobs("s.b", indices=[0, 1, 6])] == [b"abc", values[1], values[1]]


def test_what_is_refused(tmp_path):
    uri = str(tmp_path / "t")
    pilum.write_dataset(table_of(pilum, [b"a", b"b" * 70_000]), uri)
    before = files_of(uri)
    with pytest.raises(pilum.UnsupportedError, match="Direct updates to column 'b'"):
        pilum.dataset(uri).update({"b": "NULL"})
    with pytest.raises(pilum.UnsupportedError, match="'c' holds blobs"):
        pilum.dataset(uri).merge(pa.table([pa.array([0]), pilum.blob_array([b"x"])],
                                          schema=pa.schema([pa.field("id", pa.int64()), pilum.blob_field("c")])), "id")  # fmt: skip
    assert files_of(uri) == before


def test_clean_up_and_clones(tmp_path):
    uri = str(tmp_path / "t")
    values = [b"a" * 70_000, b"b" * 5_000_000, b"c", None]
    ds = pilum.write_dataset(table_of(pilum, values), uri)
    deep, shallow = str(tmp_path / "deep"), str(tmp_path / "shallow")
    ds.deep_clone(deep)
    ds.shallow_clone(shallow)
    for clone in (deep, shallow):
        check(clone, dict(enumerate(values)))
    assert sorted(files_of(deep).values()) == sorted(files_of(uri).values())
    pilum.write_dataset(rows([4], [b"d" * 70_000]), shallow, mode="append")
    pilum.dataset(shallow).optimize.compact_files()  # takes all into its own files
    os.makedirs(os.path.join(uri, "data", "0" * 20))
    with open(os.path.join(uri, "data", "0" * 20, "1" + "0" * 31 + ".blob"), "wb") as left:
        left.write(b"of a write that died")
    pilum.write_dataset(rows([9], [b"z" * 80_000]), uri, mode="append")
    pilum.dataset(uri).delete("id = 1")
    pilum.dataset(uri).optimize.compact_files()
    pilum.dataset(uri).cleanup_old_versions(older_than=timedelta(0), delete_unverified=True)
    want = {0: values[0], 2: values[2], 3: None, 9: b"z" * 80_000}
    check(uri, want)
    assert sorted(files_of(uri).values())[-1] == 150_000 and len(files_of(uri)) == 2
    assert len(os.listdir(os.path.join(uri, "data"))) == 2  # nor an empty folder
    check(shallow, {**dict(enumerate(values)), 4: b"d" * 70_000})


def test_tasks_elsewhere(tmp_path):
    from pilum.optimize import Compaction

    uri = str(tmp_path / "t")
    for k in range(3):
        pilum.write_dataset(rows([k], [bytes([k]) * 70_000]), uri, mode="append")
    plan = Compaction.plan(pilum.dataset(uri), {})
    done = [task.execute(pilum.dataset(uri)) for task in plan.tasks]
    Compaction.commit(pilum.dataset(uri), done)
    check(uri, {k: bytes([k]) * 70_000 for k in range(3)})
    assert len(pilum.dataset(uri).get_fragments()) == 1


def test_no_column_says_where_the_bytes_of_another_lie(tmp_path):
    """pylance 14 refuses it too, by an error of its decoder."""
    path = str(tmp_path / "t")
    rows = pa.table([pa.array([1, 2]), pilum.blob_array([b"x", None])], schema=pa.schema([("id", pa.int64()), pilum.blob_field("b")]))
    ds = pilum.write_dataset(rows, path, data_storage_version="2.2")
    with pytest.raises(Exception, match="column 'c' would say where the bytes of blob 'b' lie"):
        ds.add_columns({"c": "b"})
    ds.add_columns({"none": "b IS NULL"})
    assert pilum.dataset(path).to_table(columns=["id", "none"]).to_pylist() == [{"id": 1, "none": False}, {"id": 2, "none": True}]
