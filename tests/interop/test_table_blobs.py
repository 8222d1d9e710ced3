"""Blobs of Lance tables, both kinds: descriptions, bytes and files, compared with pylance's."""

import io

import lance
import pyarrow as pa
import pytest
from lance.blob import Blob, blob_array

import pilum
from pilum.errors import CorruptError, NotFound, UsageError

VALUES = [b"inline", b"", None, b"p" * 70_000, b"q" * 80_000, bytes(range(256)) * 20_000, b"D" * 4_200_000, b"x"]


def legacy(values, n=0):
    field = pa.field("b", pa.large_binary(), metadata={"lance-encoding:blob": "true"})
    ids = pa.array(range(n, n + len(values)), pa.int64())
    return pa.table([ids, pa.array(values, pa.large_binary())], schema=pa.schema([("id", pa.int64()), field]))


def version2(values, n=0):
    return pa.table({"id": pa.array(range(n, n + len(values)), pa.int64()), "b": blob_array(values)})


@pytest.fixture(scope="module", params=["2.0", "2.1", "2.2", "2.2 stable"])
def uri(request, tmp_path_factory):
    path = str(tmp_path_factory.mktemp("blobs") / "t.lance")
    make = version2 if request.param.startswith("2.2") else legacy
    how = {"data_storage_version": request.param[:3], "enable_stable_row_ids": request.param.endswith("stable")}
    lance.write_dataset(make(VALUES), path, **how)
    ds = lance.write_dataset(make(VALUES[::-1], 8), path, mode="append")
    ds.delete("id IN (0, 9)")
    ds.add_columns({"twice": "id * 2"})
    return path


def live():
    return [v for i, v in enumerate(VALUES + VALUES[::-1]) if i not in (0, 9)]


def test_descriptions(uri):
    ours, theirs = pilum.dataset(uri), lance.dataset(uri)
    assert ours.schema.equals(theirs.schema, check_metadata=True)
    for handling in (None, "blobs_descriptions", "all_descriptions"):
        mine, other = ours.to_table(blob_handling=handling), theirs.to_table(blob_handling=handling)
        assert mine.schema.equals(other.schema, check_metadata=True)
        if theirs.data_storage_version == "2.0":  # where pylance shows how a NULL is stored
            got = [d or {"position": 1, "size": 0} for d in mine["b"].to_pylist()]
            assert got == other["b"].to_pylist()
        else:
            assert mine.equals(other)
    assert ours.to_table(columns=["id"], filter="b IS NULL")["id"].to_pylist() == [2, 13]
    assert ours.take([5, 1], columns=["b", "id"]).column("id").to_pylist() == theirs.take([5, 1])["id"].to_pylist()


def test_bytes(uri):
    ours, theirs = pilum.dataset(uri), lance.dataset(uri)
    table = ours.to_table(blob_handling="all_binary")
    assert table["b"].to_pylist() == live()
    assert table.schema.equals(theirs.to_table(blob_handling="all_binary", limit=1).schema, check_metadata=True)
    some = ours.to_table(columns=["twice", "b"], filter="id > 12", blob_handling="all_binary")
    assert some["b"].to_pylist() == live()[11:]
    with pytest.raises(UsageError):
        ours.to_table(blob_handling="bytes")


def test_batches_of_bytes_are_bounded(tmp_path):
    uri = str(tmp_path / "t.lance")
    values = [bytes([i]) * 3_000_000 for i in range(40)]
    lance.write_dataset(version2(values), uri, data_storage_version="2.2")
    batches = list(pilum.dataset(uri).to_batches(columns=["b"], blob_handling="all_binary"))
    assert [v for b in batches for v in b.column(0).to_pylist()] == values
    assert max(b.nbytes for b in batches) < 70_000_000


def test_files(uri):
    ours, theirs = pilum.dataset(uri), lance.dataset(uri)
    indices = [4, 0, 13, 1, 4]
    files = ours.take_blobs("b", indices=indices)
    assert [f if f is None else f.read() for f in files] == [live()[i] for i in indices]
    assert [repr(f) for f in files] == [repr(f) for f in theirs.take_blobs("b", indices=indices)]
    rows = theirs.to_table(columns=["id"], with_row_id=True, with_row_address=True)
    for name, column in (("ids", "_rowid"), ("addresses", "_rowaddr")):
        numbers = rows[column].to_pylist()[::-1]
        got = [f if f is None else f.readall() for f in ours.take_blobs("b", **{name: pa.array(numbers)})]
        assert got == live()[::-1]
        assert ours.read_blobs("b", **{name: numbers}) == theirs.read_blobs("b", **{name: numbers}, preserve_order=True)
    requests = [(3, 10, 5), (0, 0, 0), (3, 0, 2), (1, 0, 0)]
    assert ours.read_blob_ranges("b", requests, selector="indices") == theirs.read_blob_ranges(
        "b", requests, selector="indices"
    )


def test_rows_that_are_not_there(uri):
    ds = pilum.dataset(uri)
    for rows in ({"ids": [1 << 40]}, {"addresses": [77]}, {"addresses": [1 << 40]}, {"indices": [14]}, {}, {"ids": [1], "indices": [1]}):
        with pytest.raises(ValueError):
            ds.take_blobs("b", **rows)
    for module in (pilum, lance):
        with pytest.raises(NotImplementedError, match="must not target deleted rows"):
            module.dataset(uri).take_blobs("b", addresses=[0])
    with pytest.raises(UsageError, match="not a blob column"):
        ds.take_blobs("id", indices=[1])
    with pytest.raises(NotFound):
        ds.take_blobs("zz", indices=[1])


def test_a_file_is_a_file(uri):
    at = live().index(VALUES[5])
    data = VALUES[5]
    with pilum.dataset(uri).take_blobs("b", indices=[at])[0] as f:
        assert (f.readable(), f.seekable(), f.writable(), f.size(), f.tell()) == (True, True, False, len(data), 0)
        assert f.read(10) == data[:10] and f.tell() == 10
        assert f.seek(-3, io.SEEK_END) == len(data) - 3 and f.read(100) == data[-3:] and f.read(1) == b""
        assert f.seek(1_000_000) == 1_000_000 and f.seek(5, io.SEEK_CUR) == 1_000_005
        buffer = bytearray(600_000)
        assert f.readinto(buffer) == 600_000 and buffer == data[1_000_005:1_600_005]
        assert f.readinto(memoryview(bytearray(7))) == 7
        assert f.read_range(100, 4) == data[100:104] and f.tell() == 1_600_012
        assert f.read_ranges([(9, 3), (0, 0), (len(data) - 1, 1)]) == [data[9:12], b"", data[-1:]]
        assert f.seek(10**9) == 10**9 and f.read() == b""
        with pytest.raises(ValueError):
            f.seek(-1)
        with pytest.raises(ValueError):
            f.read_range(len(data), 1)
        f.seek(0)
        assert io.BufferedReader(f).read() == data
    assert f.closed and f.size() == len(data)
    for call in (f.read, f.tell, f.readall, lambda: f.seek(0), lambda: f.read_range(0, 1)):
        with pytest.raises(ValueError):
            call()
    whole = pilum.dataset(uri).take_blobs("b", indices=[at], buffer_size=0)[0]
    out, step = b"", 777_777
    while part := whole.read(step):
        out += part
    assert out == data


def test_inside_structs(tmp_path):
    for version, make in (("2.1", legacy), ("2.2", version2)):
        uri = str(tmp_path / f"{version}.lance")
        field = make([]).schema.field("b")
        kind = pa.struct([pa.field("x", pa.int32()), field])
        inner = make([b"abc", None, b"d" * 100_000])["b"].combine_chunks()
        s = pa.StructArray.from_arrays([pa.array([1, 2, 3], pa.int32()), inner], fields=list(kind), mask=pa.array([False, False, False]))
        lance.write_dataset(pa.table({"s": s}), uri, data_storage_version=version)
        ours, theirs = pilum.dataset(uri), lance.dataset(uri)
        assert ours.schema.equals(theirs.schema, check_metadata=True)
        assert ours.to_table().equals(theirs.to_table())
        got = ours.to_table(blob_handling="all_binary")["s"].to_pylist()
        assert [r["b"] for r in got] == [b"abc", None, b"d" * 100_000]
        files = ours.take_blobs("s.b", indices=[2, 1, 0])
        assert [f and f.read(3) for f in files] == [b"ddd", None, b"abc"]


def test_outside_of_the_table(tmp_path):
    (tmp_path / "base" / "sub").mkdir(parents=True)
    outside = tmp_path / "base" / "sub" / "e.bin"
    outside.write_bytes(b"0123456789")
    uri, based = str(tmp_path / "t.lance"), str(tmp_path / "b.lance")
    values = [Blob.from_uri(f"file://{outside}"), Blob.from_uri(f"file://{outside}", 2, 3), b"x"]
    lance.write_dataset(version2(values), uri, data_storage_version="2.2", allow_external_blob_outside_bases=True)
    lance.write_dataset(
        version2(values), based, data_storage_version="2.2",
        initial_bases=[lance.DatasetBasePath(f"file://{tmp_path / 'base'}", "one")],
    )  # fmt: skip
    for where in (uri, based):
        ours, theirs = pilum.dataset(where), lance.dataset(where)
        assert ours.to_table().equals(theirs.to_table())
        assert ours.to_table(blob_handling="all_binary")["b"].to_pylist() == [b"0123456789", b"234", b"x"]
        assert [f.size() for f in ours.take_blobs("b", indices=[0, 1, 2])] == [10, 3, 1]
    outside.write_bytes(b"0123")
    with pytest.raises(CorruptError, match="has 4 bytes"):
        pilum.dataset(uri).take_blobs("b", indices=[1])
    outside.unlink()
    with pytest.raises(NotFound, match="e.bin"):
        pilum.dataset(uri).to_table(blob_handling="all_binary")
    assert pilum.dataset(uri).count_rows("b IS NOT NULL") == 3


def test_a_missing_file_is_named(tmp_path):
    uri = tmp_path / "t.lance"
    lance.write_dataset(version2(VALUES), str(uri), data_storage_version="2.2")
    for file in uri.glob("data/*/*.blob"):
        file.unlink()
    ds = pilum.dataset(uri)
    assert ds.take_blobs("b", indices=[0])[0].read() == VALUES[0]
    with pytest.raises(NotFound, match=r"10000000000000000000000000000000\.blob"):
        ds.take_blobs("b", indices=[3])
