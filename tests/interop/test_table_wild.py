"""Cases that users of Lance tables met (the numbers are those of the list of wild cases), as far as they are about reading: pylance
writes each table, with an index where the case had one, and Pilum gives the right answer."""

import datetime as dt
import shutil
from decimal import Decimal

import lance
import pyarrow as pa
import pytest
from lance.blob import blob_array

import pilum
from pilum.errors import QueryError

UTC = dt.timezone.utc


def table_of(tmp_path, values, rows_each=2, index=None, name="v", **how):
    column = values if isinstance(values, pa.Array) else pa.array(values)
    table = pa.table({"id": pa.array(range(len(column)), pa.int64()), name: column})
    ds = lance.write_dataset(table, str(tmp_path / "t.lance"), max_rows_per_file=rows_each, **how)
    if index:
        ds.create_scalar_index(name, index)
    return pilum.dataset(str(tmp_path / "t.lance"))


def ids(ds, condition, **how):
    return ds.to_table(columns=["id"], filter=condition, **how)["id"].to_pylist()


A300 = "a" * 300
FILTERS = {
    "W01": ([True, False, None], ["BTREE", "BITMAP"], {
        "NOT v": [1], "v IS NOT TRUE": [1, 2], "v = false OR v IS NULL": [1, 2]}),
    "W03": ([None, "a", ""], ["BTREE", "BITMAP"], {
        "v != 'x'": [1, 2], "v = ''": [2], "v != ''": [1], "v < 'a'": [2]}),
    "W04": (pa.array([1, 2, None, 3], pa.int64()), ["BTREE"], {
        "v IN (1, 2, NULL)": [0, 1], "v NOT IN (1, 2)": [3], "v NOT IN (1, 2, NULL)": [], "v = NULL": [],
        "v IS NOT DISTINCT FROM NULL": [2], "v NOT BETWEEN 2 AND 3": [0]}),
    "W05": ([1.0, 2.0, None], ["BLOOMFILTER", "ZONEMAP"], {
        "v IS NOT NULL": [0, 1], "NOT (v IS NULL)": [0, 1], "v IS NOT NULL AND v > 1": [1]}),
    "W08": (pa.array([1, 2**63, 2**64 - 2], pa.uint64()), ["BTREE"], {
        "v = 18446744073709551614": [2], "v >= 9223372036854775808": [1, 2], "v > -1": [0, 1, 2],
        "v IN (9223372036854775808, 18446744073709551614)": [1, 2]}),
    "W07": (pa.array([float("-nan"), float("nan"), 1.0, 2.0]), [None], {
        "v > 1": [0, 1, 3], "v < 1": [], "v >= 2": [0, 1, 3]}),
    "W11": (["abcd", "xaby", "日本語テキスト", None], ["NGRAM"], {
        "contains(v, 'ab')": [0, 1], "contains(v, 'a')": [0, 1], "contains(v, '')": [0, 1, 2], "contains(v, '日')": [2],
        "contains(v, 'ABC')": [], "NOT contains(v, 'abc')": [1, 2], "v ILIKE '%ABC%'": [0]}),
    "W43": (pa.array([Decimal("1.10"), Decimal("-2.50"), None, Decimal("100.00")], pa.decimal128(10, 2)), [None], {
        "v = 1.1": [0], "v > 1.105": [3], "v IN (1.1, 100)": [0, 3], "v != 1.1": [1, 3], "v > -3": [0, 1, 3]}),
    "W44": (["abc", "a_c", "a%c", "ab", "", "a\\c", "ABC", "äbc", "a\nc", None], ["BTREE"], {
        "v LIKE 'a_c'": [0, 1, 2, 5, 8], r"v LIKE 'a\_c'": [1], r"v LIKE 'a\%%'": [2], "v LIKE ''": [4],
        "v NOT LIKE 'a%'": [4, 6, 7], "v ILIKE 'abc'": [0, 6], "starts_with(v, '')": list(range(9))}),
    "W48": (pa.array([-5, 0, 100], pa.int8()), ["BTREE"], {
        "v < 1000": [0, 1, 2], "v = 300": [], "v != 300": [0, 1, 2], "v > 0.5": [2]}),
    "W48 date": (pa.array([dt.date(2024, 1, 1), dt.date(2024, 1, 2)]), [None], {"v = '2024-01-01'": [0]}),
    "W65": (pa.array([dt.datetime(1969, 12, 31, 23, 59, 58), dt.datetime(1969, 12, 31, 23, 59, 59),
                      dt.datetime(1970, 1, 1), dt.datetime(1970, 1, 1, 0, 0, 1), None, dt.datetime(9999, 1, 1)],
                     pa.timestamp("s")), [None], {
        "v < timestamp '1970-01-01 00:00:00'": [0, 1], "v = timestamp '1969-12-31 23:59:59'": [1],
        "v > timestamp '1969-12-31 23:59:58.250'": [1, 2, 3, 5],
        "v BETWEEN timestamp '1969-12-31 23:59:59' AND timestamp '1970-01-01 00:00:00'": [1, 2]}),
    "W87": (pa.array([[1, 2**60], [], None, [None, 3]], pa.list_(pa.int64())), ["LABEL_LIST"], {
        "array_has(v, 1152921504606846976)": [0], "cardinality(v) = 0": [1], "array_has(v, NULL)": [],
        "NOT array_has(v, 3)": [0, 1]}),
}  # fmt: skip


@pytest.mark.parametrize(("case", "index"), [(c, i) for c, (_, kinds, _) in FILTERS.items() for i in kinds])
def test_filters(tmp_path, case, index):
    values, _, answers = FILTERS[case]
    ds = table_of(tmp_path, values, index=index)
    for condition, wanted in answers.items():
        assert ids(ds, condition) == wanted, condition


def test_w45_long_shared_prefixes(tmp_path):
    texts = [A300 + "b", A300 + "c", A300, "\U0010ffff" * 40 + "x"]
    ds = table_of(tmp_path, [t for t in texts for _ in range(50)], 50, "ZONEMAP")
    for condition, wanted in (
        (f"v > '{A300}b'", 100), (f"v = '{A300}c'", 50), (f"v >= '{A300}'", 200), (f"v != '{A300}'", 150),
        (f"v LIKE '{A300}c%'", 50),
    ):  # fmt: skip
        assert ds.count_rows(condition) == wanted


def test_w80_long_lists(tmp_path):
    ds = table_of(tmp_path, pa.array([None if i % 10 == 0 else i % 50 for i in range(1000)], pa.int32()), 100)
    misses = ", ".join(str(1000 + i) for i in range(3000))
    assert ds.count_rows(f"v IN (7, 7, NULL, 13, {misses})") == 40
    assert ds.count_rows("v NOT IN (7, 13)") == 860


def test_w82_long_chains(tmp_path):
    ds = table_of(tmp_path, list(range(100)), 100)
    assert ds.count_rows(" OR ".join(f"id = {i}" for i in range(20000))) == 100
    assert ds.count_rows(" AND ".join(f"id != {i + 1000}" for i in range(5000))) == 100
    assert ds.count_rows(f"id IN ({', '.join(map(str, range(50000)))})") == 100
    for deep in ("(" * 5000 + "id = 1" + ")" * 5000, "NOT " * 1000 + "id = 1"):
        try:
            assert ds.count_rows(deep) in (1, 100 - 1)
        except QueryError:
            pass


@pytest.mark.parametrize("zone", [None, "UTC", "America/New_York", "+09:00", "Asia/Kolkata"])
@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_w10_w101_instants(tmp_path, unit, zone):
    hours = [dt.datetime(2024, 1, 1, tzinfo=UTC) + dt.timedelta(hours=i) for i in range(100)]
    if zone is None:
        hours = [h.replace(tzinfo=None) for h in hours]
    ds = table_of(tmp_path, pa.array(hours, pa.timestamp(unit, zone)), 25)
    if zone is None:
        assert len(ids(ds, "v > timestamp '2024-01-03 02:00:00'")) == 49
        assert ids(ds, "v = '2024-01-03 02:00:00'") == [50]
    else:
        for literal in ("2024-01-03 02:00:00Z", "2024-01-03 02:00:00+00:00", "2024-01-02 21:00:00-05:00"):
            assert len(ids(ds, f"v > timestamp '{literal}'")) == 49, literal
            assert ids(ds, f"v = timestamp '{literal}'") == [50], literal


def test_w18_limits_count_what_matches(tmp_path):
    table = pa.table({
        "id": range(400), "topic": ["B"] * 200 + ["A"] * 200, "night": [False] * 300 + [True] * 100,
    })  # fmt: skip
    lance.write_dataset(table, str(tmp_path / "t.lance"), max_rows_per_file=100)
    ds = pilum.dataset(str(tmp_path / "t.lance"))
    assert len(ids(ds, "topic = 'A' AND night", limit=10)) == 10
    assert ids(ds, "topic = 'A' AND night", offset=95) == list(range(395, 400))


def test_w19_w20_json_members(tmp_path):
    values = pa.array(['{"v": 10.5}', '{"v": 40.1}', '{"v": -3.2}', "{}"], pa.json_())
    ds = table_of(tmp_path, values)
    for condition, wanted in (("> 0", [0, 1]), ("= 40.1", [1]), ("< 0", [2]), ("IS NULL", [3])):
        assert ids(ds, f"json_get_float(v, 'v') {condition}") == wanted
    shutil.rmtree(tmp_path / "t.lance")
    ds = table_of(tmp_path, pa.array(['{"kind": "click", "n": 9}', '{"kind": "view", "n": 10}'], pa.json_()))
    assert ids(ds, "json_extract(v, '$.kind') = '\"click\"'") == [0]
    assert ids(ds, "json_extract(v, '$.n') = '9'") == [0]
    assert ids(ds, "json_get_int(v, 'n') > 9") == [1]


@pytest.mark.parametrize("version", ["2.1", "2.2"])
def test_w24_w26_null_structs(tmp_path, version):
    tag = pa.struct([("tag", pa.string())])
    items = [[{"tag": "x"}, None], None, [], [None], [{"tag": None}]]
    ds = table_of(tmp_path, pa.array(items, pa.list_(tag)), 5, data_storage_version=version)
    assert ds.to_table()["v"].to_pylist() == items
    assert [ds.take([i])["v"].to_pylist()[0] for i in range(5)] == items
    shutil.rmtree(tmp_path / "t.lance")
    s = pa.StructArray.from_arrays(
        [pa.array([10, 99, 30]), pa.array([1, 98, 3])], names=["a", "b"], mask=pa.array([False, True, False])
    )
    ds = table_of(tmp_path, s, 3, data_storage_version=version)
    assert ds.to_table()["v"].to_pylist() == [{"a": 10, "b": 1}, None, {"a": 30, "b": 3}]
    for condition, wanted in (("v IS NULL", [1]), ("v.a = 99", []), ("v.a IS NULL", [1]), ("v.a != 10", [2])):
        assert ids(ds, condition) == wanted


def test_w29_empty_blobs(tmp_path):
    values = [b"", b"payload", None, b""]
    ds = table_of(tmp_path, blob_array(values), 4, data_storage_version="2.2")
    for _ in range(2):
        assert ds.to_table(blob_handling="all_binary")["v"].to_pylist() == values
        assert [f if f is None else f.read() for f in ds.take_blobs("v", indices=[0, 1, 2, 3])] == values
        assert [data for _, data in ds.read_blobs("v", indices=[1, 0, 3])] == [b"payload", b"", b""]
        lance.write_dataset(ds.to_table(columns=["id"], limit=0), ds.uri, mode="append")
        lance.dataset(ds.uri).optimize.compact_files()
        ds = pilum.dataset(ds.uri)


def test_w30_no_stored_column_is_left(tmp_path):
    uri = str(tmp_path / "t.lance")
    ds = lance.write_dataset(pa.table({"id": range(1, 10)}), uri)
    ds.add_columns(pa.field("x", pa.int64()))
    ds.drop_columns(["id"])
    ours = pilum.dataset(uri)
    assert ours.count_rows() == 9
    assert ours.to_table()["x"].to_pylist() == [None] * 9
    assert ours.count_rows("x IS NULL") == 9


def test_w31_dropped_bytes_stay_dropped(tmp_path):
    uri = str(tmp_path / "t.lance")
    ds = lance.write_dataset(pa.table({"x": [1, 2, 3]}), uri)
    ds.add_columns({"y": "x * 2"})
    ds.drop_columns(["y"])
    ds.add_columns({"z": "x * 3"})
    assert pilum.dataset(uri).to_table()["z"].to_pylist() == [3, 6, 9]
    ds.add_columns({"y": "cast(x as string)"})
    assert pilum.dataset(uri).to_table()["y"].to_pylist() == ["1", "2", "3"]


NAMES = ["PartyAbbrev", "with space", "日本", "order", "x-y", "Ünï", "sel`ect", "a.b"]


def test_w38_names(tmp_path):
    columns = {name: [1, 2, 1] for name in NAMES if name != "a.b"}
    table = pa.table({"id": [0, 1, 2], **columns, "a": [5, 6, 7], "A": [7, 6, 5], "s": [{"c d": i} for i in range(3)]})
    lance.write_dataset(table, str(tmp_path / "t.lance"))
    ds = pilum.dataset(str(tmp_path / "t.lance"))
    for name in columns:
        quoted = "`" + name.replace("`", "``") + "`"
        assert ids(ds, f"{quoted} = 1") == [0, 2], name
        assert ids(ds, f'"{name}" = 1') == [0, 2], name
    assert (ids(ds, "`a` = 5"), ids(ds, "`A` = 5"), ids(ds, "s.`c d` = 1")) == ([0], [2], [1])


def test_w49_w100_text_of_filters(tmp_path):
    ds = table_of(tmp_path, ["O'Brien", "back\\slash", "D"], 3, name="S")
    assert ids(ds, "S = 'O''Brien'") == [0]
    assert ids(ds, "S = 'back\\slash'") == [1]
    assert ids(ds, "\"S\" != 'D'") == [0, 1]
    with pytest.raises(QueryError):
        ids(ds, "id = 0; DROP TABLE x")


def test_w51_take_limit_and_offset_with_deletions(tmp_path):
    table_of(tmp_path, list(range(10)), 4)
    lance.dataset(str(tmp_path / "t.lance")).delete("id IN (0, 4, 5, 9)")
    ds = pilum.dataset(str(tmp_path / "t.lance"))
    live = [1, 2, 3, 6, 7, 8]
    assert ds.take([5, 0, 0, 3])["id"].to_pylist() == [8, 1, 1, 6]
    for offset in range(7):
        for limit in (0, 1, 2, 3, 10):
            got = ds.to_table(columns=["id"], offset=offset, limit=limit)["id"].to_pylist()
            assert got == live[offset : offset + limit]
    assert ids(ds, "id > 2", offset=1, limit=2) == [6, 7]
    with pytest.raises(ValueError, match="row 6 is out of range: there are 6"):
        ds.take([6])


def test_w52_another_table_at_the_same_place(tmp_path):
    ds = table_of(tmp_path, list(range(10)), 10, "BTREE", enable_stable_row_ids=True)
    assert ds.count_rows() == 10
    shutil.rmtree(tmp_path / "t.lance")
    ds = table_of(tmp_path, list(range(20)), 10, "BTREE", enable_stable_row_ids=True)
    lance.dataset(ds.uri).delete("id = 19")
    ds = pilum.dataset(ds.uri)
    assert ids(ds, "v >= 0") == list(range(19))
    assert ids(ds, "v = 12") == [12]


@pytest.mark.parametrize("version", ["2.0", "2.1", "2.2"])
def test_w67_nested_lists(tmp_path, version):
    nested = pa.list_(pa.list_(pa.float32()))
    rows = [None if i % 11 == 0 else [None if i % 7 == 0 else [float(i)] * (i % 3)] * (i % 4) for i in range(20000)]
    ds = table_of(tmp_path, pa.array(rows, nested), 20000, data_storage_version=version)
    assert ds.to_table()["v"].to_pylist() == rows
    picked = [0, 1, 9999, 10000, 19998, 19999]
    assert ds.take(picked)["v"].to_pylist() == [rows[i] for i in picked]
    for values in ([None] * 10, [[None, None], None, [], [None]] * 300):
        shutil.rmtree(tmp_path / "t.lance")
        assert table_of(tmp_path, pa.array(values, nested), 5000, data_storage_version=version).to_table()["v"].to_pylist() == values


def test_w68_types_of_files_come_back(tmp_path):
    columns = {
        "m": pa.array([[("", None), ("k", 1)], [], None], pa.map_(pa.string(), pa.int64())),
        "f": pa.array([[1.0, 2.0], None, [3.0, None]], pa.list_(pa.float32(), 2)),
        "l": pa.array([["a"], None, []], pa.large_list(pa.string())),
        "d": pa.array([Decimal(7), None, Decimal(-(10**60))], pa.decimal256(70, 0)),
        "n": pa.nulls(3),
        "h": pa.array([1.5, None, -0.0], pa.float16()),
        "u": pa.array([5, None, 7], pa.duration("ms")),
        "t": pa.array([1, None, 3], pa.time32("s")),
        "y": pa.DictionaryArray.from_arrays(pa.array([0, None, 1], pa.int8()), ["x", "y"]),
        "i": pa.array([b"0123456789abcdef", None, b"fedcba9876543210"], pa.uuid()),
    }
    uri = str(tmp_path / "t.lance")
    lance.write_dataset(pa.table(columns), uri, data_storage_version="2.2")
    ours, theirs = pilum.dataset(uri), lance.dataset(uri)
    assert ours.schema.equals(theirs.schema, check_metadata=True)
    assert ours.to_table().equals(theirs.to_table())
    assert str(ours.schema.field("i").type) == "extension<arrow.uuid>"


def test_extension_types_are_kept(tmp_path):
    named = {"ARROW:extension:name": "lance.bfloat16", "ARROW:extension:metadata": ""}
    half = pa.field("item", pa.binary(2), metadata=named)
    pairs = pa.array([[b"ab", b"cd"], [b"xx", b"yy"], [b"00", b"11"]], pa.list_(half, 2))
    uuids = pa.array([b"0123456789abcdef", None, b"fedcba9876543210"], pa.uuid())
    tensor = pa.ExtensionArray.from_storage(
        pa.fixed_shape_tensor(pa.float32(), [2, 2]), pa.array([[1.0, 2.0, 3.0, 4.0]] * 3, pa.list_(pa.float32(), 4))
    )
    lists = pa.ListArray.from_arrays(pa.array([0, 1, 1, 3]), uuids)
    columns = [tensor, pa.array([b"ab", None, b"cd"], pa.binary(2)), uuids, pairs, lists]
    fields = [pa.field(name, c.type) for name, c in zip("tbupl", columns)]
    fields[1] = fields[1].with_metadata(named)
    uri = str(tmp_path / "t.lance")
    lance.write_dataset(pa.Table.from_arrays(columns, schema=pa.schema(fields)), uri)
    ours, theirs = pilum.dataset(uri), lance.dataset(uri)
    for mine, other in ((ours.schema, theirs.schema), (ours.to_table().schema, theirs.to_table().schema)):
        assert mine.equals(other, check_metadata=True)
    assert ours.to_table().equals(theirs.to_table())
    assert ours.take([2, 0]).equals(ours.to_table().take([2, 0]))  # where pylance gives their storage


def test_w84_metadata_is_kept(tmp_path):
    uri = str(tmp_path / "t.lance")
    schema = pa.schema([pa.field("a", pa.int64(), metadata={"unit": "px"})], metadata={"k": "v"})
    ds = lance.write_dataset(pa.table({"a": [1, 2]}, schema=schema), uri)
    ds.add_columns({"b": "a * 2"})
    ds.update({"b": "a"}, where="a = 1")
    ds.optimize.compact_files()
    ours = pilum.dataset(uri)
    assert ours.schema_metadata == {"k": "v"}
    assert ours.to_table().schema.field("a").metadata == {b"unit": b"px"}
    assert ours.to_table().schema.metadata == {b"k": b"v"}


@pytest.mark.parametrize("name", ["a b", "%20", "#x", "what?", "日本", "[0]", "😀", "trailing ", "a%2Fb", "x&y=z", "+", "~t"])
def test_w71_paths(tmp_path, name):
    uri = str(tmp_path / name / "t.lance")
    lance.write_dataset(pa.table({"id": [1, 2]}), uri)
    lance.write_dataset(pa.table({"id": [2, 3]}), uri, mode="append")
    assert pilum.dataset(uri).count_rows("id = 2") == 2
