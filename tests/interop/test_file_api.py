"""pilum.file answers as lance.file does, and better where that one would not say what is wrong."""

import datetime

import numpy as np
import pyarrow as pa
import pytest

import pilum
from pilum.file import LanceFileReader, LanceFileWriter

N = 100


def make():
    return pa.table({
        "a": pa.array(range(N)),
        "st": pa.array([{"x": i, "y": {"z": str(i)}} for i in range(N)]),
        "l": pa.array([[{"q": i, "r": 2}] * (i % 3) for i in range(N)]),
    })


@pytest.fixture
def table():
    return make()


@pytest.fixture
def path(tmp_path, table):
    p = tmp_path / "x.lance"
    with LanceFileWriter(p, table.schema) as w:
        w.write_batch(table)
    return p


def read(path, *columns):
    return LanceFileReader(path, columns=list(columns)).read_all().to_table()


def test_writer(tmp_path, table):
    p = tmp_path / "new folder" / "x.lance"
    w = LanceFileWriter(str(p), table.schema)
    w.write_batch(table)
    w.write_batch(table.to_batches()[0])
    w.add_schema_metadata("k", "v")
    assert w.add_global_buffer(b"hello") == 1
    assert w.add_global_buffer(b"") == 2
    assert not p.exists()
    assert w.size_bytes is None
    assert w.close() == 2 * N
    assert w.close() is None
    assert w.size_bytes == p.stat().st_size
    with pytest.raises(ValueError):
        w.write_batch(table)
    r = LanceFileReader(str(p))
    assert r.read_global_buffer(1) == b"hello" and r.read_global_buffer(2) == b""
    with pytest.raises(ValueError):
        r.read_global_buffer(3)
    m = r.metadata()
    assert m.schema.metadata == {b"k": b"v"}
    assert (m.major_version, m.minor_version, m.num_rows, len(m.columns)) == (2, 2, 2 * N, 5)
    assert [b.size for b in m.global_buffers][1:] == [5, 0]
    page = m.columns[0].pages[0]
    assert page.num_rows == 2 * N and sum(b.size for b in page.buffers) == page.size_bytes and page.encoding
    assert [c.name for c in m.columns][:3] == ["a", "st.x", "st.y.z"]
    stats = r.file_statistics()
    assert len(stats.columns) == 5 and all(c.num_pages >= 1 for c in stats.columns)
    assert r.num_rows() == 2 * N
    assert r.check() == []


def test_writer_without_schema(tmp_path, table):
    p = tmp_path / "x.lance"
    with LanceFileWriter(p) as w:
        w.add_schema_metadata("k", "v")
        w.write_batch(table)
    assert LanceFileReader(p).read_all().to_table().equals(table)
    with pytest.raises(ValueError):
        with LanceFileWriter(tmp_path / "none.lance"):
            pass
    assert not (tmp_path / "none.lance").exists()


def test_empty_file(tmp_path, table):
    p = tmp_path / "x.lance"
    with LanceFileWriter(p, table.schema):
        pass
    got = LanceFileReader(p).read_all().to_table()
    assert got.num_rows == 0 and got.schema == table.schema


def test_nothing_appears_when_the_block_raises(tmp_path, table):
    p = tmp_path / "x.lance"
    with pytest.raises(KeyError):
        with LanceFileWriter(p, table.schema) as w:
            w.write_batch(table)
            raise KeyError("x")
    assert list(tmp_path.iterdir()) == []


def test_wrong_rows_are_refused(tmp_path, table):
    with pytest.raises(ValueError, match="a"):
        with LanceFileWriter(tmp_path / "x.lance", table.schema) as w:
            w.write_batch(pa.table({"z": [1]}))
    with pytest.raises(ValueError):
        with LanceFileWriter(tmp_path / "x.lance", table.schema) as w:
            w.write_batch(table.set_column(0, "a", pa.array(["1"] * N)))
    with pytest.raises(TypeError):
        with LanceFileWriter(tmp_path / "x.lance", table.schema) as w:
            w.write_batch([1, 2])
    assert list(tmp_path.iterdir()) == []


def test_versions(tmp_path, table):
    for version, minor in [("2.0", 0), ("0.3", 0), ("2.1", 1), ("2.2", 2), ("stable", 2), (None, 2)]:
        p = tmp_path / f"{version}.lance"
        with LanceFileWriter(p, table.schema, version=version) as w:
            w.write_batch(table)
        assert LanceFileReader(p).metadata().minor_version == minor
    for version in ("2.3", "next", "legacy"):
        with pytest.raises(pilum.UnsupportedError):
            LanceFileWriter(tmp_path / "no.lance", table.schema, version=version)
    with pytest.raises(ValueError, match="9.9"):
        LanceFileWriter(tmp_path / "no.lance", table.schema, version="9.9")
    assert pilum.file.stable_version() == "2.2"


def test_types_are_checked_at_once(tmp_path):
    for t in (pa.month_day_nano_interval(), pa.list_view(pa.int32()), pa.dense_union([pa.field("a", pa.int32())])):
        with pytest.raises(pilum.UnsupportedError, match="bad"):
            LanceFileWriter(tmp_path / "x.lance", pa.schema([pa.field("bad", t)]))
    with pytest.raises(pilum.UnsupportedError, match="m"):
        LanceFileWriter(tmp_path / "x.lance", pa.schema([pa.field("m", pa.map_(pa.string(), pa.int32()))]), version="2.1")
    assert list(tmp_path.iterdir()) == []


def test_columns(path, table):
    assert read(path, "l", "a").equals(table.select(["l", "a"]))
    assert read(path, "a", "a").equals(table.select(["a"]))
    assert read(path, "st.x").schema.field("st").type == pa.struct([pa.field("x", pa.int64())])
    assert read(path, "st.y.z").column("st").to_pylist()[7] == {"y": {"z": "7"}}
    both = read(path, "st.y.z", "a", "st.x")
    assert both.schema.names == ["st", "a"]
    assert sorted(f.name for f in both.schema.field("st").type) == ["x", "y"]
    assert read(path, "st", "st.x").equals(table.select(["st"]))
    assert read(path, "st.x", "st").equals(table.select(["st"]))
    assert read(path, "l.item.q").equals(read(path, "l.q"))
    assert read(path, "l.q").column("l").to_pylist()[2] == [{"q": 2}, {"q": 2}]
    assert LanceFileReader(path, columns=["st.x"]).schema.names == ["st"]
    for wrong in ("nope", "A", "st.nope", "a.b"):
        with pytest.raises(pilum.NotFound, match=wrong.split(".")[-1]) as e:
            LanceFileReader(path, columns=[wrong])
        assert isinstance(e.value, OSError)
    with pytest.raises(ValueError):
        LanceFileReader(path, columns=[])


def test_ranges(path, table):
    r = LanceFileReader(path)
    assert r.read_range(10, 20).to_table().equals(table.slice(10, 20))
    assert r.read_range(100, 0).to_table().num_rows == 0
    for start, n in ((90, 20), (100, 1), (2**63, 2**63), (0, 2**64 - 1)):
        with pytest.raises(ValueError):
            r.read_range(start, n).to_table()
    with pytest.raises(OverflowError):
        r.read_range(-1, 1).to_table()


def test_takes(path, table):
    r = LanceFileReader(path)
    for rows in ([], [0], [99], [1, 2, 50], list(range(100))):
        want = table.take(pa.array(rows, pa.int64()))
        assert r.take_rows(rows).to_table().equals(want)
        assert r.take_rows(np.array(rows, np.int64)).to_table().equals(want)
        assert r.take_rows(pa.array(rows, pa.int64())).to_table().equals(want)
        assert r.take_rows(tuple(rows)).to_table().equals(want)
    assert [b.num_rows for b in r.take_rows([1, 2, 3], batch_size=2).to_batches()] == [2, 1]
    for rows in ([100], [5, 1], [5, 5], [2**64 - 1]):
        with pytest.raises(ValueError):
            r.take_rows(rows).to_table()
    for rows in ([-1], [2**64]):
        with pytest.raises(OverflowError):
            r.take_rows(rows).to_table()
    with pytest.raises(TypeError):
        r.take_rows(["a"]).to_table()


def test_batches(path, table):
    r = LanceFileReader(path)
    stream = r.read_all(batch_size=30).to_batches()
    assert isinstance(stream, pa.RecordBatchReader) and stream.schema == table.schema
    assert [b.num_rows for b in stream] == [30, 30, 30, 10]
    results = r.read_all()
    results.to_table()
    with pytest.raises(ValueError, match="again"):
        results.to_table()
    with pytest.raises(ValueError):
        r.read_all(batch_size=0).to_table()


def test_reads_are_lazy(path):
    r = LanceFileReader(path)
    opened = r.stats
    assert opened["opens"] == 1 and opened["requests"] <= 2 and opened["decoded"] == {}
    stream = r.read_all(batch_size=10).to_batches()
    r.read_all()
    assert r.stats["decoded"] == {}
    next(stream)
    assert r.stats["bytes"] > 0


def test_missing_files(tmp_path):
    with pytest.raises(pilum.NotFound, match="no.lance") as e:
        LanceFileReader(tmp_path / "no.lance")
    assert isinstance(e.value, FileNotFoundError) and isinstance(e.value, ValueError)
    with pytest.raises(ValueError, match=tmp_path.name):
        LanceFileReader(tmp_path)
    with pytest.raises(pilum.Error, match="s4"):
        LanceFileReader("s4://bucket/x.lance")


def test_not_a_lance_file(tmp_path):
    p = tmp_path / "x.lance"
    for data in (b"", b"x", b"x" * 1000):
        p.write_bytes(data)
        with pytest.raises(pilum.CorruptError, match="x.lance"):
            LanceFileReader(p)


def test_file_uri(path, table):
    assert LanceFileReader(path.as_uri()).read_all().to_table().equals(table)
    out = path.with_name("out.lance")
    with LanceFileWriter(out.as_uri(), table.schema) as w:
        w.write_batch(table)
    assert LanceFileReader(out).num_rows() == N


def test_views_and_dictionaries(tmp_path):
    t = pa.table({
        "v": pa.array(["a", None, "a long enough string to be outside the view"], pa.string_view()),
        "d": pa.array(["x", "y", None]).dictionary_encode(),
        "when": pa.array([datetime.datetime(2024, 1, 1), None, datetime.datetime(1900, 1, 1)], pa.timestamp("us", "UTC")),
    })
    p = tmp_path / "x.lance"
    with LanceFileWriter(p, t.schema) as w:
        w.write_batch(t)
    got = LanceFileReader(p).read_all().to_table()
    assert got.schema.field("v").type == pa.string()
    assert got.to_pylist() == t.to_pylist()


def test_small_pages(tmp_path):
    t = pa.table({"a": pa.array(range(100_000)), "s": [str(i) for i in range(100_000)]})
    p = tmp_path / "x.lance"
    with LanceFileWriter(p, t.schema, data_cache_bytes=64 * 1024) as w:
        w.write_batch(t)
    assert LanceFileReader(p).file_statistics().columns[0].num_pages > 3
    assert LanceFileReader(p).read_all().to_table().equals(t)


def test_errors_have_one_base():
    for name in pilum.errors.__all__:
        assert issubclass(getattr(pilum.errors, name), pilum.Error)
    assert issubclass(pilum.QueryError, ValueError)
    assert issubclass(pilum.DeadlineError, TimeoutError)
    assert issubclass(pilum.MemoryLimitError, MemoryError)
    assert issubclass(pilum.StorageError, OSError)
