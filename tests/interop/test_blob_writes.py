"""Blobs of kind lance.blob.v2 that Pilum writes, beside pylance: both read what either wrote, in tables that they write by turns."""

import os
import random
import subprocess
import sys

import lance
import pyarrow as pa
import pytest

import pilum

SIZES = (0, 1, 5, 63, 64, 65, 1000, 65536, 65537, 70000, 200_000)


def files_of(path):
    out = {}
    for folder, _, names in os.walk(os.path.join(path, "data")):
        for name in names:
            out[os.path.relpath(os.path.join(folder, name), path)] = os.path.getsize(os.path.join(folder, name))
    return out


def table_of(engine, values, field=None):
    schema = pa.schema([pa.field("id", pa.int64()), field or engine.blob_field("b")])
    return pa.table({"id": pa.array(range(len(values)), pa.int64()), "b": engine.blob_array(values)}, schema=schema)


def read_both(uri, values, column="b"):
    """What both engines give of each value is `values`."""
    rows = list(range(len(values)))
    for ds in (lance.dataset(uri), pilum.dataset(uri)):
        got = [None if b is None else b.read() for b in ds.take_blobs(column, indices=rows)]
        assert got == values
        assert ds.scanner(columns=[column], blob_handling="all_binary").to_table()[column].to_pylist() == values
    assert pilum.dataset(uri).to_table().equals(lance.dataset(uri).to_table())


def random_value(rng):
    size = rng.choice(SIZES)
    return rng.choice([None, rng.randbytes(size), rng.randbytes(size)])


def test_same_layout_as_pylance(tmp_path):
    rng = random.Random(1)
    values = [rng.randbytes(n) for n in (3, 65536, 65537, 5_000_000, 0, 80_000)]
    values.insert(2, None)
    ours, theirs = str(tmp_path / "ours"), str(tmp_path / "theirs")
    pilum.write_dataset(table_of(pilum, values), ours)
    lance.write_dataset(table_of(lance, values), theirs, data_storage_version="2.2")
    assert pilum.dataset(ours).to_table().equals(lance.dataset(theirs).to_table())
    assert lance.dataset(ours).schema == lance.dataset(theirs).schema
    beside = {os.path.basename(n): s for n, s in files_of(ours).items() if n.endswith(".blob")}
    assert beside == {os.path.basename(n): s for n, s in files_of(theirs).items() if n.endswith(".blob")}
    mine, their = (lance.dataset(u).get_fragments()[0].metadata.files[0] for u in (ours, theirs))
    assert (mine.fields, mine.column_indices) == (their.fields, their.column_indices)
    read_both(ours, values)


@pytest.mark.parametrize("seed", range(6))
def test_by_turns(tmp_path, seed):
    """Appends and overwrites by either engine; thresholds are the table's."""
    rng = random.Random(seed)
    uri = str(tmp_path / "t")
    limits = rng.choice([{}, {"inline_size_threshold": 0}, {"inline_size_threshold": 64, "dedicated_size_threshold": 70_000},
                         {"inline_size_threshold": 10, "pack_file_size_threshold": 100_000}])  # fmt: skip
    values = []
    for turn in range(5):
        engine = rng.choice([lance, pilum])
        mode = "create" if turn == 0 else rng.choice(["append"] * 4 + ["overwrite"])
        more = [random_value(rng) for _ in range(rng.randrange(1, 12))]
        field = engine.blob_field("b", **limits) if mode != "append" else engine.blob_field("b")
        how = {"max_rows_per_file": rng.choice([3, 1000])}
        engine.write_dataset(table_of(engine, more, field), uri, mode=mode, data_storage_version="2.2", **how)
        values = more if mode == "overwrite" else values + more
    read_both(uri, values)
    for name, size in files_of(uri).items():
        if name.endswith(".blob"):
            assert size > 0


def test_structs_and_lists(tmp_path):
    blob = pilum.blob_field("b")
    values = [b"abc", b"x" * 100_000, None, b"", b"y" * 70_000]
    inner = pa.StructArray.from_arrays(
        [pilum.blob_array(values), pa.array(range(5))], fields=[blob, pa.field("k", pa.int64())],
        mask=pa.array([False, False, False, True, False]),
    )  # fmt: skip
    items = pa.ListArray.from_arrays(pa.array([0, 2, None, 3, 3, 5], pa.int32()), pilum.blob_array(values),
                                     type=pa.list_(pilum.blob_field("item")))  # fmt: skip
    rows = pa.table({"s": inner, "l": items})
    uri = str(tmp_path / "t")
    pilum.write_dataset(rows.slice(1), uri)
    theirs = str(tmp_path / "u")
    lance.write_dataset(rows, theirs, data_storage_version="2.2")
    ours = pilum.dataset(uri).to_table()
    assert ours.to_pylist() == lance.dataset(uri).to_table().to_pylist()
    assert [r["l"] and [v and v["size"] for v in r["l"]] for r in ours.to_pylist()] == [
        r["l"] and [v and v["size"] for v in r["l"]] for r in lance.dataset(theirs).to_table().to_pylist()[1:]
    ]
    got = [b and b.read() for b in lance.dataset(uri).take_blobs("s.b", indices=[0, 1, 3])]
    assert got == [values[1], None, values[4]]


def test_external(tmp_path):
    content = bytes(range(256)) * 400
    base = tmp_path / "media"
    (base / "a b").mkdir(parents=True)
    (base / "a b" / "f.bin").write_bytes(content)
    inside = base / "a b" / "f.bin"
    outside = tmp_path / "g.bin"
    outside.write_bytes(content[:100])
    uri = str(tmp_path / "t")
    Blob = pilum.Blob
    bases = [lance.DatasetBasePath(str(base), "m")]
    pilum.write_dataset(table_of(pilum, [str(inside), Blob.from_uri(inside.as_uri(), 10, 20)]), uri, initial_bases=bases)
    got = pilum.dataset(uri).to_table()["b"].to_pylist()
    assert [(v["kind"], v["blob_id"], v["position"], v["size"]) for v in got] == [(3, 1, 0, 0), (3, 1, 10, 20)]
    with pytest.raises(pilum.UsageError, match="'b' row 0.*outside registered external bases"):
        pilum.write_dataset(table_of(pilum, [outside.as_uri()]), uri, mode="append")
    with pytest.raises(pilum.UsageError, match="not a valid absolute URI"):
        pilum.write_dataset(table_of(pilum, [str(outside)]), uri, mode="append", allow_external_blob_outside_bases=True)
    dotted = f"file://{tmp_path}/media/../g.bin"
    pilum.write_dataset(table_of(pilum, [dotted]), uri, mode="append", allow_external_blob_outside_bases=True)
    assert pilum.dataset(uri).to_table()["b"][2].as_py()["blob_uri"] == outside.as_uri()
    pilum.write_dataset(table_of(pilum, [inside.as_uri(), Blob.from_uri(outside.as_uri(), 3, 4)]), uri, mode="append",
                        external_blob_mode="ingest")  # fmt: skip
    assert [b.read() for b in pilum.dataset(uri).take_blobs("b", indices=range(5))] == [
        content, content[10:30], content[:100], content, content[3:7]]  # fmt: skip
    theirs = lance.dataset(uri)
    assert [b.read() for b in theirs.take_blobs("b", indices=[2, 3, 4])] == [content[:100], content, content[3:7]]
    with pytest.raises(pilum.UsageError, match="only applies when"):
        pilum.write_dataset(table_of(pilum, [b""]), uri, mode="append", external_blob_mode="ingest",
                            allow_external_blob_outside_bases=True)  # fmt: skip


def test_external_below_base_as_pylance(tmp_path):
    base = tmp_path / "media"
    (base / "sub").mkdir(parents=True)
    (base / "sub" / "f.bin").write_bytes(b"0123456789")
    uris = [str(base / "sub" / "f.bin"), (base / "sub" / "f.bin").as_uri()]
    found = []
    for engine in (pilum, lance):
        uri = str(tmp_path / engine.__name__)
        engine.write_dataset(table_of(engine, uris), uri, data_storage_version="2.2",
                             initial_bases=[lance.DatasetBasePath(str(base), "m")])  # fmt: skip
        found.append(lance.dataset(uri).to_table().to_pylist())
        read_both(uri, [b"0123456789"] * 2)
    assert found[0] == found[1]


@pytest.mark.parametrize("version", ["2.0", "2.1"])
def test_older_files_hold_none(tmp_path, version):
    with pytest.raises(pilum.UsageError, match="Blob v2 requires file version >= 2.2"):
        pilum.write_dataset(table_of(pilum, [b"a"]), str(tmp_path / "t"), data_storage_version=version)
    assert not files_of(str(tmp_path / "t"))


def test_what_is_no_blob_leaves_nothing(tmp_path):
    uri = str(tmp_path / "t")
    pilum.write_dataset(table_of(pilum, [b"a" * 70_000]), uri)
    before = files_of(uri)
    storage = pa.StructArray.from_arrays(
        [pa.array([b"x" * 80_000, None], pa.large_binary()), pa.array([None, None], pa.utf8())], names=["data", "uri"]
    )
    field = pa.field("b", storage.type, metadata={"ARROW:extension:name": "lance.blob.v2"})
    bad = pa.table([pa.array([1, 2]), storage], schema=pa.schema([pa.field("id", pa.int64()), field]))
    with pytest.raises(pilum.UsageError, match="'b' row 1.*exactly one of `data` and `uri`"):
        pilum.write_dataset(bad, uri, mode="append")
    with pytest.raises(pilum.UsageError, match="'b' has the layout"):
        pilum.write_dataset(pilum.dataset(uri).to_table(), uri, mode="append")
    assert files_of(uri) == before
    assert [d for d in os.listdir(os.path.join(uri, "data")) if not d.endswith(".lance")] == [
        os.path.dirname(os.path.relpath(n, "data")) for n in before if n.endswith(".blob")
    ]
    pilum.write_dataset(bad.slice(0, 1), uri, mode="append")  # two members are enough
    read_both(uri, [b"a" * 70_000, b"x" * 80_000])


def test_damaged_side_file_is_named(tmp_path):
    uri = str(tmp_path / "t")
    pilum.write_dataset(table_of(pilum, [b"a" * 70_000, b"b" * 70_000]), uri)
    (name,) = [n for n in files_of(uri) if n.endswith(".blob")]
    os.truncate(os.path.join(uri, name), 100_000)
    with pytest.raises(pilum.CorruptError, match=rf"{name}.*offset 70000.*100000 bytes"):
        pilum.dataset(uri).take_blobs("b", indices=[1])[0].read()
    os.remove(os.path.join(uri, name))
    with pytest.raises(pilum.NotFound, match=name):
        pilum.dataset(uri).take_blobs("b", indices=[0])


def test_write_fragments_and_base_paths(tmp_path):
    from pilum.dataset import LanceDataset, LanceOperation
    from pilum.fragment import write_fragments

    uri, far = str(tmp_path / "t"), tmp_path / "far"
    values = [b"a" * 70_000, b"b", None]
    pilum.write_dataset(table_of(pilum, values), uri, initial_bases=[lance.DatasetBasePath(str(far), "far")],
                        target_bases=["far"])  # fmt: skip
    assert not files_of(uri) and [n for n in os.listdir(far)]
    fragments = write_fragments(table_of(pilum, values), uri)
    LanceDataset.commit(uri, LanceOperation.Append(fragments), read_version=1)
    read_both(uri, values * 2)


_PEAK = """
import resource, sys
import pyarrow as pa
import pilum
data = pa.array([bytes(1)], pa.large_binary())
body = pa.py_buffer(bytearray(300 << 20))
offsets = pa.py_buffer((0).to_bytes(8, "little") + len(body).to_bytes(8, "little"))
data = pa.LargeBinaryArray.from_buffers(pa.large_binary(), 1, [None, offsets, body])
storage = pa.StructArray.from_arrays([data, pa.nulls(1, pa.utf8())], names=["data", "uri"])
field = pa.field("b", storage.type, metadata={"ARROW:extension:name": "lance.blob.v2"})
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
pilum.write_dataset(pa.table([storage], schema=pa.schema([field])), sys.argv[1])
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def test_a_large_value_is_not_copied(tmp_path):
    run = subprocess.run([sys.executable, "-c", _PEAK, str(tmp_path / "t")], capture_output=True, text=True, check=True)
    assert int(run.stdout) < 100 << 10  # KiB; the value has 300 MiB
    assert pilum.dataset(str(tmp_path / "t")).take_blobs("b", indices=[0])[0].size() == 300 << 20


def test_values():
    Blob = pilum.Blob
    for bad in (lambda: Blob(), lambda: Blob(b"", "x"), lambda: Blob(uri=""), lambda: Blob(uri="x", position=1),
                lambda: Blob(uri="x", position=1, size=0), lambda: Blob(b"", position=1, size=1),
                lambda: Blob.from_uri("x", -1, 2)):  # fmt: skip
        with pytest.raises(ValueError):
            bad()
    with pytest.raises(TypeError, match="bytes-like"):
        pilum.blob_array([1])
    with pytest.raises(TypeError):
        pilum.blob_field("b", inline_size_threshold="1")
    with pytest.raises(ValueError, match="dedicated_size_threshold must be positive"):
        pilum.blob_field("b", dedicated_size_threshold=0)
    assert pilum.blob_field("b", inline_size_threshold=0, pack_file_size_threshold=9).metadata == lance.blob_field(
        "b", inline_size_threshold=0, pack_file_size_threshold=9).metadata  # fmt: skip
    assert pilum.blob_array([b"a", "u", Blob.empty(), None, memoryview(b"z")]).storage.to_pylist() == [
        {"data": b"a", "uri": None, "position": None, "size": None},
        {"data": None, "uri": "u", "position": None, "size": None},
        {"data": b"", "uri": None, "position": None, "size": None},
        None,
        {"data": b"z", "uri": None, "position": None, "size": None},
    ]


_MARK = {"lance-encoding:blob": "true", "k": "v"}
_MARKED = [
    (pa.large_binary(), [b"x" * 10, None, b"y" * 100_000]),
    (pa.binary(), [b"", b"z", None]),
    (pa.struct([pa.field("x", pa.large_binary(), metadata=_MARK)]), [{"x": b"1"}, None, {"x": None}]),
    (pa.list_(pa.field("item", pa.large_binary(), metadata=_MARK)), [[b"1", b"2"], None, []]),
]


@pytest.mark.parametrize("type, values", _MARKED, ids=lambda x: str(x)[:12])
def test_marked_bytes_are_blobs_of_this_kind_from_2_2_on(tmp_path, type, values):
    """As pylance 14 makes of them, so that either may append to what the other made."""
    field = pa.field("b", type, metadata=None if pa.types.is_nested(type) else _MARK)
    rows = pa.table([pa.array(range(3)), pa.array(values, type)], schema=pa.schema([("id", pa.int64()), field]))
    sides = {"pilum": pilum, "lance": lance}
    for first in sides:
        for then in sides:
            path = str(tmp_path / f"{first}-{then}")
            sides[first].write_dataset(rows, path)
            if then == "lance" and pa.types.is_list(type):  # it refuses its own
                continue
            sides[then].write_dataset(rows, path, mode="append")
            assert pilum.dataset(path).count_rows() == lance.dataset(path).count_rows() == 6
            if not pa.types.is_nested(type):
                read_both(path, values + values)
    schemas = [lance.dataset(str(tmp_path / f"{first}-{first}")).schema for first in sides]
    assert schemas[0].equals(schemas[1], check_metadata=True)


def test_marked_bytes_of_older_files_stay_bytes(tmp_path):
    rows = pa.table([pa.array([b"x", None], pa.large_binary())], schema=pa.schema([pa.field("b", pa.large_binary(), metadata=_MARK)]))
    for engine in (pilum, lance):
        uri = str(tmp_path / engine.__name__)
        engine.write_dataset(rows, uri, data_storage_version="2.1")
        for then in (pilum, lance):
            then.write_dataset(rows, uri, mode="append")
        assert lance.dataset(uri).schema.field("b").type == pilum.dataset(uri).schema.field("b").type == pa.large_binary()
        assert lance.dataset(uri).count_rows() == 6
