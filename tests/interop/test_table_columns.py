"""Columns added by Pilum and by pylance to copies of one table: the same rows, schema, field ids, files and row versions."""

import os
import random
import shutil

import lance
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import pilum
from pilum.errors import QueryError, RetryableConflictError, UnsupportedError, UsageError

VERSIONS = ["2.0", "2.1", "2.2"]


def picture(uri):
    """All that two tables can differ in, names of files apart."""
    ds = lance.dataset(uri)
    ds.validate()
    files = [[(d.fields, d.column_indices, d.file_major_version, d.file_minor_version) for d in f.metadata.files] for f in ds.get_fragments()]
    operation = ds.read_transaction(ds.version).operation
    lineage = ["_row_created_at_version", "_row_last_updated_at_version"]
    return {
        "schema": str(ds.schema),
        "nullable": [f.nullable for f in ds.schema],
        "fields": str(ds.lance_schema),
        "version": ds.version,
        "fragments": [(f.fragment_id, f.physical_rows, f.num_deletions) for f in ds.get_fragments()],
        "files": files,
        "rows": ds.to_table(with_row_id=True).to_pylist(),
        "lineage": ds.to_table(columns=lineage).to_pylist() if ds.has_stable_row_ids else None,
        "operation": type(operation).__name__,
        "preserves": getattr(operation, "preserves_nullability", None),
        "indices": sorted((i["name"], sorted(i["fragment_ids"])) for i in ds.list_indices()),
    }


# What pylance fails at inside, where Pilum does it: pylance goes on with our table.
PEER_FAULTS = ("column types must match schema types", "Found unmasked nulls for non-nullable")


class Twins:
    """Two copies of a table: what is done to one by pylance is done to the other by Pilum."""

    def __init__(self, folder, make):
        self.theirs, self.ours = str(folder / "theirs.lance"), str(folder / "ours.lance")
        for uri in (self.theirs, self.ours):
            shutil.rmtree(uri, ignore_errors=True)
        make(self.theirs)
        shutil.copytree(self.theirs, self.ours)

    def do(self, change):
        """Equal pictures, or an error of both: ours."""
        errors = []
        for module, uri in ((lance, self.theirs), (pilum, self.ours)):
            try:
                change(module.dataset(uri))
                errors.append(None)
            except Exception as e:
                errors.append(e)
        if errors[1] is None and any(fault in str(errors[0]) for fault in PEER_FAULTS):
            shutil.rmtree(self.theirs)
            shutil.copytree(self.ours, self.theirs)
        else:
            assert (errors[0] is None) == (errors[1] is None), errors
        wanted, got = picture(self.theirs), picture(self.ours)
        for what in wanted:
            assert got[what] == wanted[what], what
        for uri in (self.theirs, self.ours):
            assert pilum.dataset(uri).to_table().to_pylist() == lance.dataset(uri).to_table().to_pylist()
        return errors[1]


SCHEMA = pa.schema([
    pa.field("a", pa.int64()), pa.field("s", pa.struct([("x", pa.int64()), ("y", pa.float64())])),
    pa.field("l", pa.list_(pa.int32())), pa.field("t", pa.string()), pa.field("r", pa.int32(), False), pa.field("f", pa.float32()),
])  # fmt: skip


def table(rnd, begin, n, nulls=True):
    one = lambda value: None if rnd.random() < 0.2 else value  # noqa: E731
    struct = one if nulls else (lambda value: value)
    return pa.table([
        pa.array([one(begin + i) for i in range(n)], pa.int64()),
        pa.array([struct({"x": one(i), "y": one(i / 2)}) for i in range(n)], SCHEMA.field("s").type),
        pa.array([one([i] * rnd.randrange(3)) for i in range(n)], pa.list_(pa.int32())),
        pa.array([one(str(i)) for i in range(n)]),
        pa.array(range(begin, begin + n), pa.int32()),
        pa.array([one(i / 4) for i in range(n)], pa.float32()),
    ], schema=SCHEMA)  # fmt: skip


def maker(seed, version, stable):
    """Fragments of few rows, some of them deleted; columns dropped and renamed before."""

    def make(uri):
        rnd = random.Random(seed)
        n = 0
        for i in range(rnd.randrange(1, 4)):
            more = rnd.randrange(1, 9)
            lance.write_dataset(
                table(rnd, n, more, version != "2.0"), uri, mode="append" if i else "create", data_storage_version=version,
                enable_stable_row_ids=stable,
            )  # fmt: skip
            n += more
        ds = lance.dataset(uri)
        if rnd.random() < 0.5:
            ds.add_columns({"gone": "r + 1"})
            ds.drop_columns(["gone"])
        if rnd.random() < 0.6:
            ds.delete(f"r % {rnd.randrange(2, 5)} = {rnd.randrange(2)}")

    return make


EXPRESSIONS = [
    "a", "a * 2", "r + 1", "r * r", "a + r", "2 - r", "-r", "f * 2", "f + r", "s.x + 1", "s", "l", "t || 'x'", "concat(t, t)", "length(t)",
    "upper(t)", "a is null", "r > 3", "a > 1 and r < 5", "not (a > 1)", "a in (1, 2)", "r between 1 and 4", "t like '1%'", "1", "2.5", "'x'",
    "true", "cast(r as double)", "cast(a as string)", "coalesce(a, 0)", "coalesce(a, r)", "abs(r)", "r % 3", "a / 2", "s.y * 2", "NULL",
    "cast(NULL as int)", "date '2020-01-01'", "5000000000", "s.x = r",
]  # fmt: skip


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("stable", [False, True])
def test_random_columns(tmp_path, budget, version, stable):
    for seed in budget(0.15).seeds():
        rnd = random.Random(seed)
        twins = Twins(tmp_path, maker(seed, version, stable))
        for step in range(3):
            n = lance.dataset(twins.theirs).count_rows()
            kind = rnd.choice(["sql", "sql", "reader", "function", "nulls", "struct", "drop"])
            names = [f"c{step}_{i}" for i in range(rnd.randrange(1, 4))]
            if kind == "sql":
                wanted = {name: rnd.choice(EXPRESSIONS) for name in names}
                twins.do(lambda ds, w=wanted: ds.add_columns(w, batch_size=3))
            elif kind == "reader":
                rows = pa.table([pa.array(range(n)) for _ in names], names).append_column(f"t{step}", pa.array([str(i) for i in range(n)], pa.string()))
                size = rnd.randrange(1, 9)
                twins.do(lambda ds, r=rows, s=size: ds.add_columns(r.to_reader(max_chunksize=s)))
            elif kind == "function" and n:
                columns = rnd.choice([["a"], ["r", "_rowid"], None, ["_rowaddr", "t"]])
                one = lambda batch, names=names: pa.record_batch([batch.column(0)] * len(names), names)  # noqa: E731
                twins.do(lambda ds, f=one, c=columns: ds.add_columns(f, read_columns=c, batch_size=3))
            elif kind == "nulls":
                twins.do(lambda ds, names=names: ds.add_columns([pa.field(name, pa.list_(pa.int8())) for name in names]))
            elif kind == "struct":
                values = pa.array([{f"k{step}": i} if rnd.random() < 0.7 else None for i in range(n)], pa.struct([(f"k{step}", pa.int32())]))
                twins.do(lambda ds, v=values: ds.add_columns(pa.table({"s": v}).to_reader(max_chunksize=4)))
            elif kind == "drop":
                twins.do(lambda ds: ds.drop_columns([ds.schema.names[-1]]))


KINDS = [
    pa.table({"c": pa.array([1, None, 100, -5], pa.int32())}),
    pa.table({"c": pa.array([1, 0, 200, None], pa.uint8())}),
    pa.table({"c": pa.array([1.5, None, -0.25, 1e10], pa.float64())}),
    pa.table({"c": pa.array([1.5, None, -0.25, 60000], pa.float32())}),
    pa.table({"c": pa.array(["a", None, "", "ccc"])}),
    pa.table({"c": pa.array([b"a", None, b"", b"ccc"], pa.binary())}),
    pa.table({"c": pa.array([0, None, 86400 * 10, 123456], pa.timestamp("s"))}),
    pa.table({"c": pa.array([0, None, 86400 * 10**6, 1234567890123456], pa.timestamp("us", "UTC"))}),
    pa.table({"c": pa.array([0, None, 11000, -5], pa.date32())}),
    pa.table({"c": pa.array([0, None, 11000, 5], pa.time32("s"))}),
    pa.table({"c": pa.array([0, None, 11000, -5], pa.duration("ms"))}),
    pa.table({"c": pa.array(["1.25", None, "-7.85", "99.99"]).cast(pa.decimal128(10, 2))}),
    pa.table({"c": pa.array([True, None, False, True])}),
    pa.table({"c": pa.array([[1, None], None, [], [3, 4]], pa.list_(pa.int32()))}),
    pa.table({"c": pa.array([[1, 2], None, [5, 6], [3, 4]], pa.list_(pa.float32(), 2))}),
    pa.table({"c": pa.array([[["x"]], None, [], [["y", None]]], pa.list_(pa.list_(pa.string())))}),
]  # fmt: skip
TARGETS = [
    pa.int8(), pa.int16(), pa.int64(), pa.uint16(), pa.uint64(), pa.float16(), pa.float32(), pa.float64(), pa.string(), pa.large_string(),
    pa.binary(), pa.large_binary(), pa.bool_(), pa.date32(), pa.date64(), pa.timestamp("us"), pa.timestamp("s", "UTC"), pa.timestamp("ns"),
    pa.time64("us"), pa.time32("ms"), pa.duration("s"), pa.decimal128(12, 1), pa.decimal128(20, 5), pa.decimal256(40, 2),
    pa.list_(pa.int64()), pa.large_list(pa.int32()), pa.list_(pa.float64(), 2), pa.large_list(pa.large_list(pa.large_string())),
]  # fmt: skip

@pytest.mark.parametrize("version", VERSIONS)
def test_every_cast(tmp_path, version):
    rnd = random.Random(version)
    for rows in KINDS:
        for target in TARGETS if version == "2.2" else rnd.sample(TARGETS, 3):
            if rows.schema.field("c").type == target:
                continue

            def make(uri, rows=rows):
                lance.write_dataset(rows.append_column("i", pa.array(range(4))), uri, data_storage_version=version, max_rows_per_file=3)

            twins = Twins(tmp_path, make)
            twins.do(lambda ds, t=target: ds.alter_columns({"path": "c", "data_type": t, "name": "d"}))


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("stable", [False, True])
def test_random_alterations(tmp_path, budget, version, stable):
    casts = [
        ("a", pa.int32()), ("a", pa.uint64()), ("r", pa.int64()), ("r", pa.int8()), ("t", pa.large_string()), ("f", pa.float64()), ("s.x", pa.int16()),
        ("s.y", pa.float32()), ("l", pa.list_(pa.int64())), ("l", pa.large_list(pa.int8())), ("t", pa.int8()), ("s", pa.int8()), ("zz", pa.int8()),
    ]  # fmt: skip
    for seed in budget(0.1).seeds():
        rnd = random.Random(seed)
        twins = Twins(tmp_path, maker(seed, version, stable))
        known = [c for c in casts if version != "2.0" or "." not in c[0]]  # pylance breaks a table of 2.0 there
        for step in range(3):
            chosen = {path: kind for path, kind in rnd.sample(known, rnd.randrange(1, 3))}
            wanted = []
            for path, kind in chosen.items():
                one = {"path": path}
                if rnd.random() < 0.7:
                    one["data_type"] = kind
                if rnd.random() < 0.3:
                    one["name"] = f"n{step}{len(wanted)}"  # pylance gives two columns one name
                if rnd.random() < 0.4:
                    one["nullable"] = True  # False: test_fields_of_null_structs; pylance fails in what follows on it
                wanted.append(one)
            if any("data_type" in one for one in wanted):  # pylance refuses some of these together with others; Pilum does both
                wanted = [{k: v for k, v in one.items() if k != "nullable" or v} for one in wanted if "data_type" in one]
            twins.do(lambda ds, w=wanted: ds.alter_columns(*w))


def test_fields_of_null_structs(tmp_path):
    """A field may forbid NULLs where its struct is NULL, as in Arrow; pylance counts those as NULLs of the field."""
    kind = pa.struct([("x", pa.int32()), ("y", pa.float64())])
    for values, ours, theirs in [
        ([None, {"x": 1, "y": 2.0}], True, False),
        ([{"x": 1, "y": None}], False, False),
        ([{"x": 1, "y": 2.0}], True, True),
    ]:
        for engine, allowed in ((pilum, ours), (lance, theirs)):
            uri = str(tmp_path / f"{len(os.listdir(tmp_path))}.lance")
            lance.write_dataset(pa.table({"s": pa.array(values, kind)}), uri)
            try:
                engine.dataset(uri).alter_columns({"path": "s.y", "nullable": False})
            except OSError as e:
                assert not allowed and "contains NULL values" in str(e)
            else:
                assert allowed
                for reader in (pilum, lance):
                    assert reader.dataset(uri).to_table()["s"].to_pylist() == values


def test_fields_of_old_structs_are_not_cast(tmp_path):
    uri = str(tmp_path / "t.lance")
    ds = pilum.write_dataset(pa.table({"s": [{"x": 1}]}), uri, data_storage_version="2.0")
    with pytest.raises(UnsupportedError, match="lies in a struct"):
        ds.alter_columns({"path": "s.x", "data_type": pa.int32()})


def test_casts_of_indexed_columns(tmp_path):
    def make(uri):
        ds = lance.write_dataset(pa.table({"a": range(100), "b": range(100)}), uri, max_rows_per_file=50)
        ds.create_scalar_index("b", "BTREE")

    twins = Twins(tmp_path, make)
    failed = twins.do(lambda ds: ds.alter_columns({"path": "b", "data_type": pa.int32()}))
    assert isinstance(failed, UsageError) and "b_idx" in str(failed)
    assert twins.do(lambda ds: ds.alter_columns({"path": "a", "data_type": pa.int32()}, {"path": "b", "name": "c"})) is None


@pytest.mark.parametrize("version", VERSIONS)
def test_wrong_columns(tmp_path, version):
    twins = Twins(tmp_path, maker(1, version, False))
    n = lance.dataset(twins.theirs).count_rows()
    before = sorted(os.listdir(os.path.join(twins.ours, "data")))

    def fails(change, error, match):
        failed = twins.do(change)
        assert isinstance(failed, error) and match in str(failed), failed

    fails(lambda ds: ds.add_columns({"a": "1"}), UsageError, "Column a already exists")
    fails(lambda ds: ds.add_columns({"x.y": "1"}), UsageError, "cannot contain `.`")
    fails(lambda ds: ds.add_columns({"z": "nope + 1"}), QueryError, "z: at 1")
    fails(lambda ds: ds.add_columns({"z": "r +"}), QueryError, "z: at")
    fails(lambda ds: ds.add_columns({"z": "r / (r - r)"}), QueryError, "division by zero")
    fails(lambda ds: ds.add_columns(pa.table({"z": range(n - 1)}).to_reader()), UsageError, "Stream ended before")
    fails(lambda ds: ds.add_columns(pa.table({"z": range(n + 1)}).to_reader()), UsageError, "Stream produced more")
    fails(lambda ds: ds.add_columns(lambda b: pa.record_batch({"z": b["r"].slice(1)}), read_columns=["r"]), UsageError, "rows for a batch")
    fails(lambda ds: ds.add_columns(lambda b: b.nope), TypeError, "gave an error when called")
    fails(lambda ds: ds.add_columns(3), TypeError, "Could not coerce to a reader")
    fails(lambda ds: ds.add_columns({"z": 3}), TypeError, "expressions must be a string")
    assert sorted(os.listdir(os.path.join(twins.ours, "data"))) == before


def test_functions(tmp_path):
    uri = str(tmp_path / "t.lance")
    ds = pilum.write_dataset(pa.table({"a": range(100), "b": range(100)}), uri, max_rows_per_file=20)

    @pilum.batch_udf(output_schema=pa.schema({"double": pa.int64()}))
    def double(batch):
        assert batch.schema.names == ["a"] and batch.num_rows <= 7
        return pa.record_batch([pc.multiply(batch["a"], 2)], ["double"])

    ds.add_columns(double, read_columns=["a"], batch_size=7)
    assert ds.to_table()["double"].to_pylist() == [2 * i for i in range(100)]
    with pytest.raises(ValueError, match="does not match the expected schema"):
        ds.add_columns(pilum.batch_udf(output_schema=pa.schema({"z": pa.int8()}))(lambda b: b.select(["a"])))
    with pytest.raises(ZeroDivisionError):
        ds.add_columns(pilum.batch_udf(output_schema=pa.schema({"z": pa.int8()}))(lambda b: 1 // 0))
    assert ds.version == 2 == pilum.dataset(uri).latest_version
    assert double(pa.record_batch({"a": [1]}))["double"].to_pylist() == [2]


def test_checkpoints(tmp_path):
    uri, file = str(tmp_path / "t.lance"), tmp_path / "cache.sqlite"
    ds = pilum.write_dataset(pa.table({"a": range(100)}), uri, max_rows_per_file=20)
    calls = []

    def made(fails):
        def double(batch):
            calls.append(batch["a"][0].as_py())
            if fails and calls[-1] >= 50:
                raise RuntimeError("I failed")
            return pa.record_batch([pc.multiply(batch["a"], 2)], ["double"])

        return pilum.batch_udf(output_schema=pa.schema({"double": pa.int64()}), checkpoint_file=file)(double)

    with pytest.raises(RuntimeError, match="I failed"):
        ds.add_columns(made(True), batch_size=10)
    assert ds.version == 1 and file.exists() and calls == [0, 10, 20, 30, 40, 50]
    calls.clear()
    ds.add_columns(made(False), batch_size=10)
    assert calls == [50, 60, 70, 80, 90] and not file.exists()
    assert lance.dataset(uri).to_table()["double"].to_pylist() == [2 * i for i in range(100)]


@pytest.mark.parametrize("other", [lance, pilum])
def test_others_append_meanwhile(tmp_path, other):
    uri = str(tmp_path / "t.lance")
    stale = pilum.write_dataset(pa.table({"a": range(10)}), uri)
    asked = []

    def append():
        other.write_dataset(pa.table({"a": range(10, 15)}), uri, mode="append")

    def plus(batch):
        if not asked:
            append()
        asked.append(batch.num_rows)
        return pa.record_batch([pc.add(batch["a"], 1)], ["b"])

    stale.add_columns(pilum.batch_udf(output_schema=pa.schema({"b": pa.int64()}))(plus))
    assert asked == [10, 5]
    assert lance.dataset(uri).to_table().to_pydict() == {"a": list(range(15)), "b": list(range(1, 16))}
    stale = pilum.dataset(uri)
    append()
    stale.add_columns({"c": "a + b"})
    assert lance.dataset(uri).to_table()["c"].to_pylist() == [2 * i + 1 for i in range(15)] + [None] * 5
    stale = pilum.dataset(uri)
    append()
    with pytest.raises(RetryableConflictError):
        stale.add_columns(pa.table({"d": range(20)}).to_reader())


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("stable", [False, True])
def test_random_joins(tmp_path, budget, version, stable):
    for seed in budget(0.05).seeds():
        rnd = random.Random(seed)
        twins = Twins(tmp_path, maker(seed, version, stable))
        for step, key in enumerate(["r", "t", "a"]):
            keys = lance.dataset(twins.theirs).to_table(columns=[key])[key].to_pylist()
            keys = list(dict.fromkeys(rnd.sample(keys, rnd.randrange(len(keys) + 1)) + [None] * (key != "r")))
            if not keys:
                continue
            right = pa.table([
                pa.array(keys, SCHEMA.field(key).type), pa.array(range(len(keys))), pa.array([f"v{k}" for k in keys], pa.string()),
                pa.array([[k is None] for k in keys]),
            ], [f"k{step}", f"n{step}", f"t{step}", f"l{step}"])  # fmt: skip
            twins.do(lambda ds, r=right, k=key, s=step: ds.merge(r, k, f"k{s}"))


def test_joins(tmp_path):
    twins = Twins(tmp_path, maker(3, "2.2", False))
    right = pa.table({"r": pa.array([0, 1], pa.int32()), "z": [1, 2]})
    assert twins.do(lambda ds: ds.merge(right, "r")) is None
    for wrong, words in [
        (lambda ds: ds.merge(right, "nope"), "nope does not exist in the left side"),
        (lambda ds: ds.merge(right, "r", "nope"), "nope does not exist in the right side"),
        (lambda ds: ds.merge(right, "r"), "z exists in both sides"),
        (lambda ds: ds.merge(right.rename_columns(["r", "y"]), "a", "r"), "type mismatch"),
    ]:
        assert words in str(twins.do(wrong))
    ids = lance.dataset(twins.ours).to_table(columns=[], with_row_id=True)["_rowid"]
    assert twins.do(lambda ds: ds.merge(pa.table({"id": ids, "y": range(len(ids))}), "_rowid", "id")) is None


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("stable", [False, True])
def test_columns_of_fragments(tmp_path, version, stable):
    twins = Twins(tmp_path, maker(5, version, stable))

    def commit(module, ds, operation):
        return module.LanceDataset.commit(ds.uri, operation, read_version=ds.version)

    def whole(ds):
        return (lance, lance.LanceOperation) if isinstance(ds, lance.LanceDataset) else (pilum, pilum.LanceOperation)

    def add(how):
        def change(ds):
            module, operations = whole(ds)
            made = [how(f) for f in ds.get_fragments()]
            commit(module, ds, operations.Merge([f for f, _ in made], made[0][1]))

        return change

    plus = lambda batch: pa.record_batch([pc.add(batch["r"], 1)], ["p"])  # noqa: E731
    rows = pa.table({"r": pa.array(range(30), pa.int32()), "j": [str(i) for i in range(30)]})
    assert twins.do(add(lambda f: f.merge_columns({"m": "a * 2"}))) is None
    assert twins.do(add(lambda f: f.merge_columns(plus, columns=["r"], batch_size=2))) is None
    assert twins.do(add(lambda f: f.merge_columns(pa.table({"q": range(f.count_rows())}).to_reader()))) is None
    assert twins.do(add(lambda f: f.merge(rows, "r"))) is None
    assert "already exists" in str(twins.do(add(lambda f: f.merge_columns({"a": "1"}))))

    new = pa.table({"key": pa.array([0, 2, 4, 99], pa.int32()), "t": ["new", None, "newer", "no"], "f": pa.array([1, 2, 3, 4], pa.float32())})

    def update(ds):
        module, operations = whole(ds)
        fragment, fields, offsets = ds.get_fragments()[0].update_columns(new, "r", "key", with_offsets=True)
        commit(module, ds, operations.Update(
            removed_fragment_ids=[], updated_fragments=[fragment], new_fragments=[], fields_modified=fields,
            update_mode="rewrite_columns",
        ))  # fmt: skip
        got.append((fields, offsets))

    got = []
    assert twins.do(update) is None
    assert got[0] == got[1]
    assert "does not exist in left side" in str(twins.do(lambda ds: ds.get_fragments()[0].update_columns(rows.rename_columns(["r", "zz"]), "r")))

    def delete(ds):
        module, operations = whole(ds)
        left = [(f.fragment_id, f.delete("r % 2 = 0 or r > 6")) for f in ds.get_fragments()]
        commit(module, ds, operations.Delete([f for _, f in left if f], [i for i, f in left if f is None], "r % 2 = 0 or r > 6"))

    assert twins.do(delete) is None


def test_fragments_of_files(tmp_path):
    uri = str(tmp_path / "t.lance")
    ds = pilum.write_dataset(pa.table({"a": range(10)}), uri)
    name = ds.get_fragments()[0].data_files()[0].path
    made = pilum.LanceFragment.create_from_file(name, ds, 0)
    assert (made.physical_rows, made.files[0].fields) == (10, [0])
    pilum.LanceDataset.commit(uri, pilum.LanceOperation.Append([made]), read_version=1)
    assert lance.dataset(uri).count_rows() == 20
