"""Arrow data in and out without pyarrow's help."""

import gc

import pyarrow as pa
import pytest

import pilum
from pilum.file import LanceFileReader, LanceFileWriter


@pytest.fixture(scope="module")
def table():
    return pa.table({"a": pa.array(range(5000)), "s": [f"v{i % 7}" for i in range(5000)],
                     "l": [[i, None] if i % 3 else None for i in range(5000)]})


@pytest.fixture(scope="module")
def path(tmp_path_factory, table):
    p = tmp_path_factory.mktemp("capsules") / "x.lance"
    with LanceFileWriter(p, table.schema) as w:
        w.write_batch(table)
    return p


@pytest.fixture(scope="module")
def store(tmp_path_factory, table):
    s = pilum.store.open(tmp_path_factory.mktemp("capsules") / "ds")
    s.put(table)
    return s


class Stream:
    """Something that knows nothing but the capsule protocol."""

    def __init__(self, data):
        self.data = data

    def __arrow_c_stream__(self, requested_schema=None):
        return self.data.__arrow_c_stream__(requested_schema)


def test_results_as_pyarrow(path, store, table):
    assert pa.table(LanceFileReader(path).read_all()).equals(table)
    assert pa.RecordBatchReader.from_stream(LanceFileReader(path).take_rows([1, 3])).read_all().num_rows == 2
    assert pa.table(store.query("SELECT * FROM t")).equals(table)
    assert pa.table(store.query("a < 100")).equals(table.slice(0, 100))
    assert pa.table(pilum.query(path, "a < 100")).equals(table.slice(0, 100))


def test_results_as_polars(path, store):
    pl = pytest.importorskip("polars")
    for result in (store.query("SELECT a, s FROM t WHERE s = 'v3'"), pilum.query(path, "SELECT a, s WHERE s = 'v3'")):
        frame = pl.DataFrame(result)
        assert frame.shape[1] == 2 and set(frame["s"]) == {"v3"}
    assert pl.DataFrame(LanceFileReader(path, columns=["a"]).read_all()).shape == (5000, 1)


def test_results_as_duckdb(path, store):
    duckdb = pytest.importorskip("duckdb")
    result = store.query("SELECT a FROM t WHERE a < ?", [10]).to_batches()
    assert duckdb.sql("SELECT sum(a) FROM result").fetchall() == [(45,)]
    rows = LanceFileReader(path).read_all()
    stream = pa.RecordBatchReader.from_stream(rows)
    assert duckdb.sql("SELECT count(*) FROM stream").fetchall() == [(5000,)]
    result = store.query("SELECT a FROM t WHERE a < ?", [10])
    assert duckdb.sql("SELECT sum(a) FROM result").fetchall() == [(45,)]


def test_put_takes_streams(tmp_path, table):
    sources = [Stream(table), table, table.to_reader(), *table.slice(0, 50).to_batches()[:1]]
    try:
        import polars

        sources.append(polars.from_arrow(table))
    except ImportError:
        pass
    for i, data in enumerate(sources):
        s = pilum.store.open(tmp_path / f"ds{i}")
        done = s.put(data)
        assert done.rows == s.num_rows() == s.query("SELECT a FROM t").to_table().num_rows
    with pytest.raises(TypeError, match="list"):
        pilum.store.open(tmp_path / "x").put([1, 2])


def test_a_capsule_outlives_what_made_it(path, store, table):
    capsules = [LanceFileReader(path).read_all().__arrow_c_stream__(), store.query("a >= 0").__arrow_c_stream__()]
    gc.collect()
    for capsule in capsules:

        class Holder:
            def __arrow_c_stream__(self, requested_schema=None):
                return capsule

        assert pa.table(Holder()).equals(table)
    # one that nobody reads is freed with its object
    LanceFileReader(path).read_all().__arrow_c_stream__()
    store.query("a > 0").__arrow_c_stream__()
    gc.collect()


def test_the_memory_pool_is_shared(path):
    before = pa.total_allocated_bytes()
    table = LanceFileReader(path).read_all().to_table()
    assert pa.total_allocated_bytes() > before
    del table
    gc.collect()
    assert pa.total_allocated_bytes() <= before + 1_000_000
