"""JSON columns of Lance tables: pylance writes them; rows, schemas and json_* functions are compared with its own."""

import json
import random

import lance
import pyarrow as pa
import pytest

import pilum
from pilum.errors import QueryError

DOCS = [
    '{"name": "Ann", "age": 30, "on": true, "score": 95.5, "tags": ["x", "y"], "in": {"a": {"b": [1, 2, {"c": 3}]}}}',
    '{"name": "Bob", "age": "25", "on": "no", "score": "87.25", "tags": [], "k y": 1, "in": null}',
    '{"name": null, "age": 1.5, "on": "YES", "score": true, "tags": {"x": 1}, "0": "zero"}',
    '{"name": 7, "age": -2.5, "on": false, "score": -1e-7, "tags": [1, 1.0, "1", null, true, [2], {"z": 0}]}',
    None,
    "[10, [20, 21], {\"a\": 30}, null]",
    '"text"', "12", "1e300", "null", "true", "{}", "[]",
    '{"big": 18446744073709551615, "less": -9223372036854775808, "more": 123456789012345678901234567890, "tiny": 1e-300}',
    '{"esc": "a\\"b\\\\c\\n\\u0001\\u00e9\\ud83d\\ude00", "é": 1, "": 2}',
]  # fmt: skip


@pytest.fixture(scope="module")
def uri(tmp_path_factory):
    path = str(tmp_path_factory.mktemp("json") / "t.lance")
    table = pa.table({"id": range(len(DOCS)), "j": pa.array(DOCS, pa.json_())})
    lance.write_dataset(table, path, max_rows_per_file=6)
    return path


def test_schema_and_rows(uri):
    ours, theirs = pilum.dataset(uri), lance.dataset(uri)
    assert ours.schema.equals(theirs.schema, check_metadata=True)
    assert ours.to_table().equals(theirs.to_table())
    assert ours.to_table().schema.equals(theirs.to_table().schema, check_metadata=True)
    assert ours.take([3, 0, 14]).equals(theirs.to_table().take([3, 0, 14]))
    assert ours.to_table(columns=["j"], filter="id = 3")["j"].to_pylist() == theirs.to_table(filter="id = 3")["j"].to_pylist()


def test_inside_structs_and_lists(tmp_path):
    uri = str(tmp_path / "t.lance")
    text = pa.field("item", pa.string(), metadata={"ARROW:extension:name": "arrow.json"})
    schema = pa.schema(
        [("s", pa.struct([text.with_name("a"), pa.field("b", pa.int64())])), ("l", pa.list_(text)), ("n", pa.int32())]
    )
    rows = [
        {"s": {"a": '{"x": 1}', "b": 1}, "l": ["1", "{}", None], "n": 1},
        {"s": None, "l": None, "n": 2},
        {"s": {"a": None, "b": 2}, "l": [], "n": 3},
    ]
    for part in (rows, rows[::-1]):
        lance.write_dataset(pa.Table.from_pylist(part, schema=schema), uri, mode="append")
    theirs = lance.dataset(uri)
    theirs.delete("n = 2")
    theirs.add_columns({"m": "n * 2"})  # another data file
    ours = pilum.dataset(uri)
    assert ours.schema.equals(theirs.schema, check_metadata=True)
    assert ours.to_table().equals(theirs.to_table())
    assert ours.to_table(columns=["m", "s", "l"], offset=1, limit=2).equals(
        theirs.to_table(columns=["m", "s", "l"], offset=1, limit=2)
    )
    assert ours.to_table(columns={"x": "json_get_int(s.a, 'x')"}, filter="n = 1")["x"].to_pylist() == [1, 1]


def answers(ds, expression):
    """One a row: a value, or "fails", as that row is asked alone."""
    out = []
    for i in range(len(DOCS)):
        try:
            out += ds.to_table(columns={"x": expression}, filter=f"id = {i}")["x"].to_pylist()
        except Exception:
            out.append("fails")
    return out


PATHS = ["$", "$.name", "name", "$.in.a.b[0]", "$.in.a.b[last].c", "$.tags[*]", "$.tags", "$[1][*]", "$.in.a.b[0, 1 to last]",
         "$.*", "$.in.**{1 to 2}", '$."k y"', '$["0"]', "$.missing.x", "$.tags[*]?(@ == \"1\")", "$[*]?(@ > 10)",
         "$?(@.age > 1)", "$?(@.age > 1 && exists(@.tags[0])).name", "$.in.a.b[*]?(@ < 2)", "$[last-1].a", "$:name",
         '$?(@.name starts with "A").age', "$.tags[*]?(@ != 1)", "$[5]", "$.é"]  # fmt: skip


@pytest.mark.parametrize("function", ["json_extract", "json_exists", "json_array_length"])
def test_paths(uri, function):
    ours, theirs = pilum.dataset(uri), lance.dataset(uri)
    for path in PATHS:
        expression = f"{function}(j, '{path}')"
        assert answers(ours, expression) == answers(theirs, expression), expression


def test_array_contains(uri):
    ours, theirs = pilum.dataset(uri), lance.dataset(uri)
    for path in ("$.tags", "$.in.a.b", "$", "$.name"):
        for wanted in ("x", "1", "1.0", "null", "true", "[2]", '{"c":3}', '"x"', "10"):
            expression = f"json_array_contains(j, '{path}', '{wanted}')"
            assert answers(ours, expression) == answers(theirs, expression), expression


@pytest.mark.parametrize("function", ["json_get_string", "json_get_int", "json_get_float", "json_get_bool"])
def test_members(uri, function):
    ours, theirs = pilum.dataset(uri), lance.dataset(uri)
    for key in ("name", "age", "on", "score", "tags", "in", "0", "1", "3", "big", "less", "more", "tiny", "esc", "é", ""):
        expression = f"{function}(j, '{key}')"
        assert answers(ours, expression) == answers(theirs, expression), expression


def test_get_is_json_of_a_member(uri):
    ours, theirs = pilum.dataset(uri), lance.dataset(uri)
    for key in ("name", "in", "tags", "0", "1", "missing"):
        mine = answers(ours, f"json_get(j, '{key}')")
        assert mine == [pilum_text(x) for x in answers(theirs, f"json_get(j, '{key}')")], key
    nested = "json_get_string(json_get(json_get(j, 'in'), 'a'), 'b')"
    assert answers(ours, nested)[1] is None


def pilum_text(jsonb):
    """What pylance gives is JSONB, which Pilum's own functions read."""
    if jsonb is None:
        return None
    table = pa.table({"j": pa.array([jsonb], pa.large_binary())})
    return query_one(table, "json_extract(j, '$')")


def query_one(table, expression):
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/t.lance"
        with pilum.file.LanceFileWriter(path, table.schema) as writer:
            writer.write_batch(table)
        return pilum.query(path, f"SELECT {expression} AS x FROM t").to_table()["x"].to_pylist()[0]


def test_filters(uri):
    ours, theirs = pilum.dataset(uri), lance.dataset(uri)
    for condition in (
        "json_get_string(j, 'name') = 'Ann'", "json_exists(j, '$.age')", "NOT json_exists(j, '$.age')",
        "json_extract(j, '$.name') = '\"Ann\"'", "json_extract(j, '$.name') IS NULL", "j IS NULL",
        "json_array_contains(j, '$.tags', 'x')", "json_get(j, 'in') IS NOT NULL", "json_array_length(j, '$.tags') = 0",
    ):  # fmt: skip
        assert ours.to_table(columns=["id"], filter=condition).equals(
            theirs.to_table(columns=["id"], filter=condition)
        ), condition


def test_values_that_cannot_be(uri):
    ds = pilum.dataset(uri)
    assert ds.count_rows("json_get_int(j, 'name') = 7") == 1  # pylance fails here: 'Ann' is no number
    with pytest.raises(QueryError, match="is no number"):
        ds.to_table(columns={"x": "json_get_int(j, 'name')"})
    with pytest.raises(QueryError, match="JSON path, byte 2"):
        ds.to_table(filter="json_exists(j, '$.')")


def test_random_documents(tmp_path):
    rng = random.Random(5)

    def value(depth):
        kind = rng.randrange(9 if depth else 7)
        if kind == 0:
            return rng.choice([None, True, False])
        if kind == 1:
            return rng.randrange(-(2**63), 2**64) >> rng.randrange(64)
        if kind == 2:
            return rng.choice([rng.uniform(-1e3, 1e3), rng.random() * 10 ** rng.randrange(-30, 30), float(rng.randrange(100))])
        if kind < 7:
            return "".join(rng.choice('ab"\\\n\té😀/\x01 ') for _ in range(rng.randrange(8)))
        if kind == 7:
            return [value(depth - 1) for _ in range(rng.randrange(5))]
        return {str(rng.randrange(20)) + rng.choice("aé"): value(depth - 1) for _ in range(rng.randrange(5))}

    docs = [json.dumps(value(4), ensure_ascii=rng.random() < 0.5) for _ in range(3000)]
    uri = str(tmp_path / "t.lance")
    theirs = lance.write_dataset(pa.table({"j": pa.array(docs, pa.json_())}), uri, max_rows_per_file=1000)
    assert pilum.dataset(uri).to_table().equals(theirs.to_table())


def nested_table(tmp_path):
    text = pa.field("item", pa.string(), metadata={"ARROW:extension:name": "arrow.json"})
    schema = pa.schema([("id", pa.int64()), text.with_name("j"), ("s", pa.struct([text.with_name("a"), pa.field("b", pa.int64())]))])
    rows = [{"id": i, "j": doc, "s": None if i == 3 else {"a": DOCS[-1 - i], "b": i}} for i, doc in enumerate(DOCS)]
    uri = str(tmp_path / "t.lance")
    lance.write_dataset(pa.Table.from_pylist(rows, schema=schema), uri, max_rows_per_file=4)
    lance.dataset(uri).delete("id = 5")
    return uri


# Read as JSONB where only functions look at the column, as text where anything else does, in every mixture of the two.
@pytest.mark.parametrize("columns", [["id"], ["j"], ["s"], ["id", "j", "s"], {"x": "json_get_string(j, 'name')"},
                                     {"x": "json_extract(j, '$.age')", "j": "j"}, {"x": "json_exists(s.a, '$.age')", "s": "s"},
                                     {"x": "json_exists(s.a, '$.age')", "b": "s.b"}, {"n": "length(j)"}])  # fmt: skip
@pytest.mark.parametrize("condition", [None, "json_exists(j, '$.age')", "json_exists(j, '$.age') AND j <> '{}'", "j IS NOT NULL", "s IS NOT NULL",
                                       "json_exists(s.a, '$.age') AND json_exists(j, '$.age')", "json_exists(s.a, '$.age') AND s.b > 2", "s.a = 'null'",
                                       "id > 1 AND (json_exists(j, '$.name') OR s.b = 14)"])  # fmt: skip
def test_mixtures_of_text_and_jsonb(tmp_path, columns, condition):
    uri = nested_table(tmp_path)
    whole = pilum.dataset(uri).to_table()
    path = str(tmp_path / "plain.lance")  # the same rows of text, without JSON columns
    plain = pa.schema([("id", pa.int64()), ("j", pa.string()), ("s", pa.struct([("a", pa.string()), ("b", pa.int64())]))])
    pilum.write_dataset(pa.Table.from_pylist(whole.to_pylist(), schema=plain), path)
    ours, of_text = (pilum.dataset(p).to_table(columns=columns, filter=condition).to_pylist() for p in (uri, path))
    assert ours == of_text


def test_groups_and_order_over_json(tmp_path):
    uri = nested_table(tmp_path)
    for sql in ("SELECT json_get_string(j, 'name') AS n, count(*) AS c FROM t GROUP BY 1 ORDER BY 1",
                "SELECT id FROM t WHERE json_exists(j, '$.age') ORDER BY json_get_string(j, 'name'), id",
                "SELECT max(j) AS m FROM t WHERE json_exists(j, '$.age') HAVING json_exists(max(j), '$.age')"):  # fmt: skip
        rows = pilum.query(uri, sql).to_table().to_pylist()
        assert rows, sql
    assert "j as JSONB" in pilum.query(uri, "SELECT id FROM t WHERE json_exists(j, '$.age')").explain()


def test_damaged_jsonb_is_an_error(tmp_path):
    uri = str(tmp_path / "t.lance")
    good = b"@\x00\x00\x01\x10\x00\x00\x01 \x00\x00\x02aP\x07"
    field = pa.field("j", pa.large_binary(), metadata={"ARROW:extension:name": "lance.json"})
    for i, stored in enumerate((good, good[:-3], good)):
        rows = pa.table([pa.array([i]), pa.array([stored], pa.large_binary())], schema=pa.schema([("id", pa.int64()), field]))
        lance.write_dataset(rows, uri, mode="append" if i else "create")
    ds = pilum.dataset(uri)
    assert ds.to_table(columns={"x": "json_get_int(j, 'a')"}, filter="id <> 1")["x"].to_pylist() == [7, 7]
    for ask in (lambda: ds.to_table(columns=["id"], filter="json_get_int(j, 'a') = 7"), lambda: ds.to_table(columns={"x": "json_extract(j, '$.a')"}),
                lambda: ds.to_table(columns=["j"])):  # fmt: skip
        with pytest.raises(pilum.errors.CorruptError, match="JSONB"):
            ask()
