"""pyarrow expressions as filters: what they keep is what pyarrow keeps."""

import datetime
import decimal

import lance
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import pilum
from pilum.errors import QueryError, UnsupportedError

NAN = float("nan")
field = pc.field


@pytest.fixture(scope="module")
def data():
    days = [datetime.date(2020, 1, 1 + i) for i in range(6)]
    return pa.table(
        {
            "i": pa.array([0, 1, 2, None, 4, 5], pa.int32()),
            "u": pa.array([0, 1, 2**63, 2**64 - 1, None, 5], pa.uint64()),
            "f": pa.array([0.5, None, -0.0, NAN, 1.5, 2.5], pa.float64()),
            "s": pa.array(["a", "Ab", None, "b%", "a'c", ""]),
            "b": pa.array([True, False, None, True, False, True]),
            "d": pa.array(days, pa.date32()),
            "t": pa.array([datetime.datetime(2020, 1, 1, i) for i in range(6)], pa.timestamp("us")),
            "z": pa.array([datetime.datetime(2020, 1, 1, i) for i in range(6)], pa.timestamp("ns", "UTC")),
            "dec": pa.array([decimal.Decimal(i) / 4 for i in range(6)], pa.decimal128(9, 2)),
            "bin": pa.array([b"x", b"", None, b"\x00", b"y", b"x"]),
            "st": pa.array([{"a": i, 'q"t': {"c d": i * 2}} for i in range(6)]),
            'odd "name"': pa.array(range(6)),
        }
    )


@pytest.fixture(scope="module")
def ds(data, tmp_path_factory):
    uri = str(tmp_path_factory.mktemp("e") / "t.lance")
    lance.write_dataset(data, uri, max_rows_per_file=4)
    return pilum.dataset(uri)


EXPRESSIONS = [
    field("i") == 2, field("i") != 2, field("i") < 4, 2 <= field("i"), field("i") > 1.5, field("u") > pa.scalar(2**63, pa.uint64()), field("u") == pa.scalar(2**64 - 1, pa.uint64()),
    field("f") == 0.0, field("f") > 1, field("f").is_nan(), ~field("f").is_nan(), field("f").is_null(nan_is_null=True), field("f").is_null(),
    field("s") == "a'c", field("s") > "a", field("s").is_valid(), field("b"), ~field("b"), field("b") & (field("i") > 0),
    field("b") | (field("i") > 3), ~((field("i") > 1) & field("b")), ~((field("i") > 1) | field("b")),
    field("d") > datetime.date(2020, 1, 3), field("t") == datetime.datetime(2020, 1, 1, 3), field("t") >= pa.scalar(10**15, pa.timestamp("us")),
    field("z") < pa.scalar(datetime.datetime(2020, 1, 1, 2), pa.timestamp("ns", "UTC")), field("dec") == decimal.Decimal("0.75"),
    field("bin") == b"x", field("st", "a") >= 4, field(("st", 'q"t', "c d")) == 6, field('odd "name"') < 2,
    field("i").isin([1, 2, 77]), ~field("i").isin([1, 2]), field("i").isin([1, None]), ~field("i").isin([1, None]), field("i").isin([]),
    field("s").isin(["a", "b%"]), field("d").isin(pa.array([datetime.date(2020, 1, 2)])), field("u").isin(pa.array([2**64 - 1], pa.uint64())),
    pc.is_in(field("i"), value_set=pa.array([1, None], pa.int32()), skip_nulls=True), field("f").isin([0.5, 2.5]),
    field("i") + 1 > 3, field("i") * 2 == 4, field("i") - 1 < 1, pc.divide(field("i"), 2) == 2, -field("i") < -3 if False else pc.negate(field("i")) < -3,
    pc.abs(field("f")) > 1, pc.floor(field("f")) == 1, pc.starts_with(field("s"), "a"), pc.ends_with(field("s"), "b"),
    pc.match_substring(field("s"), "%"), pc.match_like(field("s"), "a%"), pc.match_like(field("s"), "a%", ignore_case=True),
    pc.match_substring_regex(field("s"), "^[ab]"), pc.match_substring_regex(field("s"), "^a", ignore_case=True),
    pc.utf8_lower(field("s")) == "ab", pc.utf8_upper(field("s")) == "A", pc.utf8_length(field("s")) == 2,
    pc.coalesce(field("i"), field("i"), 9) == 9, pc.if_else(field("b"), field("i"), field("i") * 0) == 5, field("i").cast("double") == 2.0,
    field("i").cast(pa.string()) == "4", field("i") == field("st", "a"), field("f") < field("i"),
    pc.if_else(field("i").is_valid(), field("i").isin([1, 5]), pa.scalar(None, pa.bool_())),
    ~pc.if_else(field("i").is_valid(), field("i").isin([1, 5]), pa.scalar(None, pa.bool_())),
    pc.scalar(True), pc.scalar(False), field("i") == pa.scalar(None, pa.int32()), (field("i") > 0) & pc.scalar(pa.scalar(None, pa.bool_())),
]  # fmt: skip


@pytest.mark.parametrize("e", EXPRESSIONS, ids=str)
def test_the_same_rows_as_pyarrow(ds, data, e):
    numbers = data.append_column("row", pa.array(range(6))).filter(e)["row"].to_pylist()
    want = data.take(pa.array(numbers, pa.int64()))
    nan_is_no_order = str(e).startswith("(f > 1)") or "abs(f)" in str(e) or "f < i" in str(e)
    got = ds.to_table(filter=e)
    if nan_is_no_order:  # Pilum has NaN above all numbers, as SQL engines do and pyarrow does not
        got = got.filter(~field("f").is_nan())
    assert got["i"].to_pylist() == want["i"].to_pylist() and got["s"].to_pylist() == want["s"].to_pylist()
    assert ds.count_rows(e) == ds.to_table(filter=e).num_rows == ds.to_table({"x": "i"}, e).num_rows


def test_expressions_as_columns(ds, data):
    got = ds.to_table({"next": pc.field("i") + 1, "s": "s", "big": pc.field("f") > 1}, pc.field("i") > 1)
    assert got.to_pydict() == {"next": [3, 5, 6], "s": [None, "a'c", ""], "big": [False, True, True]}
    with pytest.raises(TypeError, match="SQL text or a pyarrow expression"):
        ds.to_table({"x": 5})


def test_chains_of_any_length(ds):
    e = field("i") == 0
    for k in range(1, 2000):
        e = e | (field("i") == k)
    assert ds.count_rows(e) == 5
    assert ds.count_rows(field("i").isin(list(range(100000)))) == 5
    e = field("i")
    for _ in range(3000):
        e = pc.negate(e)
    with pytest.raises((UnsupportedError, QueryError)):
        ds.count_rows(e > 0)


@pytest.mark.parametrize(
    "e, what",
    [
        (pc.sqrt(field("i")) > 2, "sqrt"),
        (field(0) > 2, "number"),
        (pc.match_substring(field("s"), "A", ignore_case=True), "without regard to case"),
        (field("i").cast(pa.duration("s")) > pa.scalar(1, pa.duration("s")), "a cast to duration"),
        (pc.and_(field("b"), field("b")), "and"),
    ],
    ids=str,
)
def test_what_cannot_be_said_is_named(ds, e, what):
    with pytest.raises(UnsupportedError, match=what):
        ds.to_table(filter=e)


def test_wrong_names_and_types_are_query_errors(ds):
    with pytest.raises(QueryError, match="nope"):
        ds.to_table(filter=field("nope") > 2)
    with pytest.raises(QueryError, match="Invalid user input"):
        ds.to_table(filter=field("s") > 2)
    with pytest.raises(UnsupportedError, match="SQL text or a pyarrow expression"):
        ds.to_table(filter=5)
