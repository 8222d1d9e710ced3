"""Random tables that pylance wrote, read by pylance and Pilum with the same arguments: equal."""

import copy
import pickle
import random

import lance
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import pilum
from lance.dataset import ColumnOrdering as TheirOrdering
from pilum.dataset import ColumnOrdering
from pilum.errors import NotFound, UnsupportedError, UsageError

FILTERS = [
    None, None, "i > 20", "i % 3 = 0 and f < 0.5", "s like 'a%'", "s is null or b", "st.x in (1, 5, 7)", "not b",
    "i between 5 and 60 and s is not null", "cast(i as double) > f * 100", "array_has(l, 3)", "length(s) = 2",
    pc.field("i") > 20, pc.field("s") == "ab", (pc.field("f") < 0.5) & ~pc.field("b"), pc.field("s").is_null(),
    (pc.field("f") > 0.7) | (pc.field("i") + 3 <= 10), pc.invert(pc.field("i") >= 50), pc.field("d") >= pa.scalar(18300, pa.date32()),
]  # fmt: skip
COLUMNS = [
    None, None, [], ["i"], ["s", "i"], ["st.x", "i"], ["st", "l", "b"], ["st.y", "st.x"], ["_rowid", "i"], ["f", "_rowaddr", "_rowid"],
    {"twice": "i * 2"}, {"i": "i", "up": "upper(s)"}, {"x": "st.x + 1", "s": "s"}, {"big": "i > 10", "r": "_rowid"},
    ["_rowoffset", "i"], {"first": "l[1]", "x": "st['x']"},
]  # fmt: skip
STRUCT = pa.struct([("x", pa.int64()), ("y", pa.string())])  # said: of NULLs alone pyarrow would make another type


def batch(rng, start, n):
    ids = range(start, start + n)
    maybe = lambda v: None if rng.random() < 0.15 else v  # noqa: E731
    return pa.table(
        {
            "i": pa.array(ids, pa.int64()),
            "s": pa.array([maybe("".join(rng.choices("abc", k=2))) for _ in ids], pa.string()),
            "f": pa.array([maybe(rng.random()) for _ in ids], pa.float64()),
            "b": pa.array([maybe(rng.random() < 0.5) for _ in ids], pa.bool_()),
            "d": pa.array([maybe(18262 + rng.randrange(90)) for _ in ids], pa.int32()).cast(pa.date32()),
            "st": pa.array([{"x": maybe(rng.randrange(9)), "y": maybe("y%d" % i)} for i in ids], STRUCT),
            "l": pa.array([maybe([rng.randrange(5) for _ in range(rng.randrange(4))]) for _ in ids], pa.list_(pa.int64())),
        }
    )


def make(rng, uri):
    how = {"max_rows_per_file": rng.choice([7, 40, 1000]), "enable_stable_row_ids": rng.random() < 0.5}
    version = rng.choice(["2.0", "2.1", "2.2"])
    lance.write_dataset(batch(rng, 0, rng.randrange(1, 120)), uri, data_storage_version=version, **how)
    for k in range(rng.randrange(3)):
        ds = lance.dataset(uri)
        step = rng.choice(["append", "delete", "update", "add"])
        if step == "append":
            lance.write_dataset(batch(rng, 200 + 50 * k, rng.randrange(1, 50)), uri, mode="append")
        elif step == "delete":
            ds.delete(f"i % {rng.randrange(2, 9)} = 1")
        elif step == "update":
            ds.update({"s": "'zz'"}, where=f"i % {rng.randrange(2, 9)} = 0")
        elif "extra%d" % k not in ds.schema.names:
            ds.add_columns({"extra%d" % k: "i + 1"})


def arguments(rng):
    how = {"columns": rng.choice(COLUMNS), "filter": rng.choice(FILTERS)}
    if how["columns"] == []:
        how["with_row_id"] = True
    if rng.random() < 0.3:
        how["with_row_id"] = True
    if rng.random() < 0.3:
        how["with_row_address"] = True
    if rng.random() < 0.4:
        how["limit"] = rng.choice([0, 1, 5, 33, 1000])
    if rng.random() < 0.3:
        how["offset"] = rng.choice([0, 1, 17, 500])
    return how


def same(got, want, how):
    got.validate(full=True)
    assert got.schema == want.schema, how
    assert got.num_rows == want.num_rows, how
    assert got.equals(want), how


def test_random_arguments(tmp_path, budget):
    for seed in budget(0.5).seeds():
        rng = random.Random(seed)
        uri = str(tmp_path / f"{seed}.lance")
        make(rng, uri)
        theirs, ours = lance.dataset(uri), pilum.dataset(uri)
        for _ in range(25):
            how = arguments(rng)
            want = theirs.to_table(**how)
            same(ours.to_table(**how), want, (seed, how))
            size = rng.choice([1, 4, 100])
            batches = list(ours.to_batches(**how, batch_size=size, strict_batch_size=True))
            assert [b.num_rows for b in batches[:-1]] == [size] * (len(batches) - 1)
            same(pa.Table.from_batches(batches, want.schema), want, (seed, how, size))
            scanner = ours.scanner(**how)
            assert scanner.count_rows() == want.num_rows, (seed, how)
            assert scanner.projected_schema == want.schema
            if "limit" not in how and "offset" not in how:
                parts = [f.to_table(**how) for f in ours.get_fragments()]
                same(pa.concat_tables(parts) if parts else want, want, (seed, how))
                assert ours.count_rows(how["filter"]) == want.num_rows
            order = [TheirOrdering(rng.choice(["s", "f", "d"]), rng.random() < 0.5, rng.random() < 0.5), "i"]
            if how["columns"] is None and how.get("limit") != 0:  # of that, pylance's workers die
                same(ours.to_table(**how, order_by=order), theirs.to_table(**how, order_by=order), (seed, how, order))


def test_random_takes(tmp_path, budget):
    for seed in budget(0.1).seeds():
        rng = random.Random(seed)
        uri = str(tmp_path / f"{seed}.lance")
        make(rng, uri)
        theirs, ours = lance.dataset(uri), pilum.dataset(uri)
        rows = theirs.count_rows()
        for columns in (None, ["s", "st"], ["_rowid", "i"], {"up": "upper(s)", "n": "i * 2 + st.x"}):
            picks = [rng.randrange(rows) for _ in range(rng.choice([0, 1, 30]))] if rows else []
            same(ours.take(picks, columns), theirs.take(picks, columns), (seed, picks, columns))
            if rows and columns is None:
                ids = theirs.to_table(["i"], with_row_id=True)["_rowid"].take(picks or [0])
                same(ours._take_rows(ids, columns), theirs._take_rows(ids.to_pylist(), columns), (seed, ids))
        for mine, other in zip(ours.get_fragments(), theirs.get_fragments()):
            n = other.count_rows()
            picks = sorted({rng.randrange(n) for _ in range(5)}) if n else []  # pylance's fragments take rising ones
            assert mine.take(picks, ["i", "s"]).equals(other.take(picks, ["i", "s"]))
            session = mine.open_session(["i"], with_row_address=True)
            assert session.take(picks).equals(other.open_session(["i"], with_row_address=True).take(picks))


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    uri = str(tmp_path_factory.mktemp("t") / "t.lance")
    ds = lance.write_dataset(batch(random.Random(1), 0, 100), uri, max_rows_per_file=30)
    ds.delete("i % 10 = 4")
    return uri


def test_deleted_rows_on_demand(table):
    ours, theirs = pilum.dataset(table), lance.dataset(table)
    for how in ({}, {"filter": "i < 50"}, {"columns": ["i", "s"], "filter": "i % 10 = 4"}, {"columns": ["_rowoffset"]}):  # of _rowaddr, pylance makes NULLs too
        how = {**how, "with_row_id": True, "include_deleted_rows": True}
        try:
            want = theirs.to_table(**how)
        except ValueError as e:  # pylance reads some of them in a way that knows no deleted rows
            assert "with_deleted_rows" in str(e)
            continue
        same(ours.to_table(**how), want, how)
    assert ours.to_table(with_row_id=True, include_deleted_rows=True)["_rowid"].null_count == 10
    with pytest.raises(UsageError, match="with_row_id is false"):
        ours.to_table(include_deleted_rows=True)


def test_columns_are_named_once(table):
    ds = pilum.dataset(table)
    for columns in (["i", "i"], ["_rowid", "i", "_rowid"]):
        with pytest.raises(UsageError, match="Duplicate column name"):
            ds.to_table(columns)
    assert ds.to_table({"z": "i", "a": "s", "y": "i + 1"}).column_names == ["z", "a", "y"]
    for wrong in ("i", 5, [5]):
        with pytest.raises(TypeError, match="columns must be"):
            ds.to_table(wrong)


def test_orders(table):
    ds = pilum.dataset(table)
    whole = ds.to_table(["i", "s", "st.x"], order_by=["st.x", ColumnOrdering("i", ascending=False)])
    keys = [((x is None, x), -i) for x, i in zip(whole["st.x"].to_pylist(), whole["i"].to_pylist())]
    assert keys == sorted(keys)
    with pytest.raises(TypeError, match="order_by"):
        ds.to_table(order_by=[5])


def test_one_dataset_many_ways(table, tmp_path):
    ds = pilum.dataset(table, default_scan_options={"with_row_id": True, "filter": "i > 90"})
    assert ds.schema.names[-1] == "_rowid" and ds.to_table().num_rows == 8
    again = pickle.loads(pickle.dumps(ds))
    assert (again.uri, again.version, again.schema) == (ds.uri, ds.version, ds.schema)
    ds = pilum.dataset(table, version=1)
    for other in (pickle.loads(pickle.dumps(ds)), copy.copy(ds), ds.checkout_version(1)):
        assert other.version == 1 and other.to_table().equals(ds.to_table())
    fragment = pickle.loads(pickle.dumps(ds.get_fragment(2)))
    assert fragment.fragment_id == 2 and fragment.to_table().equals(ds.get_fragment(2).to_table())
    view = ds.filter(pc.field("i") > 50).filter(pc.field("i") <= 60)
    assert view.count_rows() == 10 and view.to_table(filter="i % 2 = 0")["i"].to_pylist() == [52, 54, 56, 58, 60]
    assert view.take([0, 9])["i"].to_pylist() == [51, 60] and sum(f.count_rows() for f in view.get_fragments()) == 10
    assert pickle.loads(pickle.dumps(view)).count_rows() == 10
    with pytest.raises(UnsupportedError, match="before filter"):
        view.query("SELECT COUNT(*) FROM t")
    assert ds.sort_by([("i", "descending")]).to_table()["i"].to_pylist() == list(range(99, -1, -1))
    plain = str(tmp_path / "plain.lance")
    lance.write_dataset(pa.table({"i": [1, 2, 200], "z": ["a", "b", "c"]}), plain)  # pyarrow joins no structs
    joined = pilum.dataset(plain).join(pilum.dataset(plain), "i", join_type="inner", right_suffix="_r")
    assert joined.count_rows() == 3 and joined.schema.names == ["i", "z", "z_r"]
    assert ds.slice(10, 13)["i"].to_pylist() == [10, 11, 12] and ds.sample(7).num_rows == 7
    assert ds.sample(100, randomize_order=False)["i"].to_pylist() == list(range(100))
    assert ds.scanner(limit=30).head(3).num_rows == 3 and len(ds) == 100


def test_statements(table):
    ds = pilum.dataset(table)
    assert ds.sql("SELECT COUNT(*) AS n FROM anything WHERE i > 90").build().to_batch_records()[0].to_pylist() == [{"n": 8}]
    reader = ds.sql("SELECT i, _rowid FROM t ORDER BY i DESC LIMIT 2").with_row_id().batch_size(1).build().to_stream_reader()
    assert [b["i"].to_pylist() for b in reader] == [[99], [98]]
    with pytest.raises(UnsupportedError, match="name it in the statement"):
        ds.sql("SELECT * FROM t").with_row_id()


def test_what_changed(tmp_path):
    uri = str(tmp_path / "t.lance")
    lance.write_dataset(batch(random.Random(2), 0, 10), uri, enable_stable_row_ids=True)
    lance.write_dataset(batch(random.Random(3), 10, 5), uri, mode="append")
    lance.dataset(uri).update({"s": "'new'"}, where="i in (2, 3, 12)")
    lance.dataset(uri).delete("i = 5")
    delta, theirs = pilum.dataset(uri).delta(compared_against=1), lance.dataset(uri).delta(compared_against=1)
    for name in ("get_inserted_rows", "get_updated_rows", "get_deleted_row_ids"):
        got, want = getattr(delta, name)().read_all(), getattr(theirs, name)().read_all()
        assert sorted(got["_rowid"].to_pylist()) == sorted(want["_rowid"].to_pylist()), name
        assert set(got.column_names) == set(want.column_names)
    assert [t.uuid for t in delta.list_transactions()] == [t.uuid for t in theirs.list_transactions()]
    with pytest.raises(UsageError, match="compared_against"):
        pilum.dataset(uri).delta(begin_version=1)


def test_field_ids(tmp_path):
    from pilum.schema import LanceSchema

    uri = str(tmp_path / "t.lance")
    extra = {
        "m": pa.array([[("k", 1)]] * 5, pa.map_(pa.string(), pa.int64())),
        "v": pa.array([[1, 2]] * 5, pa.list_(pa.float32(), 2)),
        "ls": pa.array([[{"p": 1, "q": "x"}]] * 5),
        "dict": pa.array(["a", "b", "a", "b", "a"]).dictionary_encode(),
    }
    data = batch(random.Random(4), 0, 5)
    for name, column in extra.items():
        data = data.append_column(name, column)
    ds = lance.write_dataset(data, uri, data_storage_version="2.2")

    def ids(field):
        return (field.name(), field.id(), [ids(c) for c in field.children()])

    def check():
        ours, theirs = pilum.dataset(uri).lance_schema, lance.dataset(uri).lance_schema
        assert [ids(f) for f in ours.fields()] == [ids(f) for f in theirs.fields()]
        assert ours.to_pyarrow() == theirs.to_pyarrow() and pickle.loads(pickle.dumps(ours)) == ours
        assert ours.field("st.x").id() == theirs.field("st.x").id() and ours.field("zz") is None

    check()
    assert LanceSchema.from_pyarrow(data.schema) == pilum.dataset(uri).lance_schema
    ds.add_columns({"n": "i + 1"})
    ds.drop_columns(["b"])
    ds.alter_columns({"path": "s", "name": "t"})
    check()


@pytest.mark.parametrize(
    "t",
    [pa.null(), pa.bool_(), pa.uint8(), pa.float16(), pa.large_string(), pa.binary(3), pa.date64(), pa.time32("s"),
     pa.time64("ns"), pa.timestamp("us"), pa.timestamp("ns", "+02:00"), pa.duration("ms"), pa.decimal128(10, 2),
     pa.decimal256(50, 3), pa.list_(pa.int8(), 3), pa.large_list(pa.string()), pa.struct([pa.field("a", pa.int8(), False)]),
     pa.dictionary(pa.int8(), pa.string())],
    ids=str,
)  # fmt: skip
def test_schemas_as_json(t):
    schema = pa.schema([pa.field("a", t, t == pa.null(), {"k": "v"})], {"m": "n"})
    as_json = pilum.schema_to_json(schema)
    assert as_json == lance.schema_to_json(schema)
    assert pilum.json_to_schema(as_json).equals(schema, check_metadata=True)


def test_samplers(table):
    from pilum.sampler import FullScanSampler, ShardedBatchSampler, ShardedFragmentSampler, maybe_sample

    ds = pilum.dataset(table, version=1)
    numbers = lambda batches: [i for b in batches for i in b["i"].to_pylist()]  # noqa: E731
    assert numbers(FullScanSampler()(ds, columns=["i"])) == list(range(100))
    for sharded in (ShardedFragmentSampler, ShardedBatchSampler):
        for how in ({}, {"randomize": True, "seed": 7}):
            shares = [numbers(sharded(rank, 3, **how)(ds, columns=["i"], batch_size=8)) for rank in range(3)]
            assert all(shares) and sorted(sum(shares, [])) == list(range(100))
            shares = [numbers(sharded(rank, 3, **how)(ds, columns=["i"], filter="i < 50", batch_size=8)) for rank in range(3)]
            assert sorted(sum(shares, [])) == list(range(50))
    for n, takes in ((30, 100), (30, 4), (500, 10)):
        got = numbers(maybe_sample(ds, n, "i", batch_size=8, max_takes=takes))
        assert len(got) == len(set(got)) == min(n, 100)
    got = numbers(maybe_sample(pilum.dataset(table), 10, ["i"], filt="i > 50 and i % 2 = 0"))
    assert len(set(got)) == 10 and all(i > 50 and i % 2 == 0 and i % 10 != 4 for i in got)


def test_what_is_refused(table):
    ds = pilum.dataset(table)
    with pytest.raises(UnsupportedError, match="vector search"):
        ds.to_table(nearest={"column": "v", "q": [1.0], "k": 1})
    with pytest.raises(UnsupportedError, match="full-text search"):
        ds.scanner(full_text_query="x")
    with pytest.raises(UnsupportedError, match="does not do yet"):
        ds.create_index("i > 5")
    with pytest.raises(NotFound):
        ds.tags.get_version("nope")
    with pytest.raises(UnsupportedError, match="no partition"):
        ds.partition_expression
    with pytest.raises(UnsupportedError, match="schema is what was written"):
        ds.replace_schema(ds.schema)
    with pytest.raises(TypeError, match="fragments are"):
        ds.to_table(fragments=[1])


def test_indices_are_described(tmp_path):
    uri = str(tmp_path / "t.lance")
    ds = lance.write_dataset(batch(random.Random(5), 0, 300), uri, max_rows_per_file=100)
    assert not pilum.dataset(uri).has_index and pilum.dataset(uri).list_indices() == []
    ds.create_scalar_index("i", "BTREE")
    ds.create_scalar_index("s", "INVERTED")
    ds.create_scalar_index("st.x", "BITMAP")
    lance.write_dataset(batch(random.Random(6), 300, 50), uri, mode="append")
    lance.dataset(uri).delete("i % 10 = 1")
    ours, theirs = pilum.dataset(uri), lance.dataset(uri)
    want = [{**i, "fragment_ids": set(i["fragment_ids"])} for i in theirs.list_indices()]
    assert ours.list_indices() == want and ours.has_index
    for mine, other in zip(ours.describe_indices(), theirs.describe_indices(), strict=True):
        for name in ("name", "index_type", "type_url", "fields", "field_names", "num_rows_indexed", "total_size_bytes"):
            assert getattr(mine, name) == getattr(other, name), name
        for a, b in zip(mine.segments, other.segments, strict=True):
            for name in ("uuid", "dataset_version_at_last_update", "index_version", "created_at", "base_id", "size_bytes"):
                assert getattr(a, name) == getattr(b, name), name
            assert set(a.fragment_ids) == set(b.fragment_ids)
    got, stats = ours.stats.index_stats("i_idx"), theirs.stats.index_stats("i_idx")
    assert {k: stats[k] for k in got if k in stats and k != "name"} == {k: v for k, v in got.items() if k in stats and k != "name"}
    with pytest.raises(KeyError, match="no index"):
        ours.stats.index_stats("nope")
