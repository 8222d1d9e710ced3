"""Values of which a file stores no bytes: lists of nulls, binary of width 0, structs without fields. pylance beside us, both ways;
and what it cannot read or write, we refuse."""

import pyarrow as pa
import pytest

import pilum
from compare import check
from pilum.file import LanceFileReader, LanceFileWriter

theirs = pytest.importorskip("lance.file")

NOTHING = pa.struct([])
NULLS = pa.list_(pa.null(), 3)
KEPT = {  # name: (type, values, versions)
    "lists of nulls": (NULLS, [[None] * 3, None, [None] * 3], "2.0 2.1 2.2"),
    "lists of nulls, none null": (NULLS, [[None] * 3] * 5, "2.0 2.1 2.2"),
    "all lists null": (NULLS, [None] * 3, "2.0 2.1 2.2"),
    "nested lists of nulls": (pa.list_(pa.list_(pa.null(), 2), 2), [[[None] * 2] * 2, None, [[None] * 2] * 2], "2.0 2.1 2.2"),
    "nested lists, inner ones null": (pa.list_(pa.list_(pa.null(), 9), 2), [[[None] * 9, None], None, [None, None]], "2.0 2.1 2.2"),
    "lists of lists of nulls": (pa.list_(NULLS), [[[None] * 3], [], None, [[None] * 3, None]], "2.0 2.1 2.2"),
    "lists of nulls in structs": (pa.struct([pa.field("a", NULLS), pa.field("b", pa.int8())]),
                                  [{"a": [None] * 3, "b": 1}, {"a": None, "b": 2}], "2.0 2.1 2.2"),
    "nulls in lists": (pa.list_(pa.null()), [[None] * 3, [], None], "2.0 2.1 2.2"),
    "binary of width 0": (pa.binary(0), [b"", None, b""], "2.2"),
    "binary of width 0, none null": (pa.binary(0), [b""] * 4, "2.2"),
    "lists of binary of width 0": (pa.list_(pa.binary(0)), [[b"", None], [], None, [b""]], "2.2"),
    "maps to binary of width 0": (pa.map_(pa.string(), pa.binary(0)), [[("a", b"")], [], [("b", None)]], "2.2"),
    "empty structs": (NOTHING, [{}, {}, {}], "2.0 2.1 2.2"),
    "empty structs in structs": (pa.struct([pa.field("s", NOTHING)]), [{"s": {}}] * 3, "2.0 2.1 2.2"),
    "lists of empty structs": (pa.list_(NOTHING), [[{}], [], None, [{}, {}]], "2.0"),
    "lists of structs of empty structs": (pa.list_(pa.struct([pa.field("s", NOTHING), pa.field("i", pa.int32())])),
                                          [[{"s": {}, "i": 1}], [], [{"s": {}, "i": 2}, {"s": {}, "i": 3}]], "2.0"),
}
REFUSED = {  # name: (type, values, versions, words of the error)
    "binary of width 0": (pa.binary(0), [b""], "2.0 2.1", "values of no bytes.*2.2"),
    "fixed lists of binary of width 0": (pa.list_(pa.binary(0), 2), [[b"", b""]], "2.0 2.1 2.2", "items of no bytes"),
    "lists of empty structs": (pa.list_(NOTHING), [[{}]], "2.1 2.2", "empty struct inside a list.*2.0"),
    "maps to empty structs": (pa.map_(pa.string(), NOTHING), [[("a", {})]], "2.2", "empty struct inside a list"),
    "fixed lists of empty structs": (pa.list_(NOTHING, 2), [[{}, {}]], "2.0 2.1 2.2", "fixed-size list|empty struct inside a list"),
    "null empty structs": (NOTHING, [{}, None], "2.0 2.1 2.2", "null"),
    "fixed lists of 0": (pa.list_(pa.int8(), 0), [[]], "2.0 2.1 2.2", "fixed-size list of (size )?0"),
}


def each(cases):
    return [pytest.param(*case[:2], version, *case[3:], id=f"{name}-{version}")
            for name, case in cases.items() for version in case[2].split()]


def put(path, table, version, writer=LanceFileWriter):
    with writer(str(path), table.schema, version=version) as w:
        for batch in table.to_batches():
            w.write_batch(batch)


def tables(type, values):
    """The values alone, and many of them beside another column."""
    yield pa.table({"x": pa.array(values, type)})
    many = values * 2000
    yield pa.table({"x": pa.array(many, type), "y": range(len(many))})


@pytest.mark.parametrize("type, values, version", each(KEPT))
def test_both_read_what_either_wrote(type, values, version, tmp_path):
    for table in tables(type, values):
        for writer in (LanceFileWriter, theirs.LanceFileWriter):
            path = tmp_path / "x.lance"
            put(path, table, version, writer)
            check(LanceFileReader(path).read_all().to_table(), table, f"ours of {writer.__module__}'s")
            reader = LanceFileReader(path)
            rows = sorted({0, len(table) // 2, len(table) - 1})
            for _ in range(30):  # soon from the mapped file
                check(reader.take_rows(rows).to_table(), table.take(rows), "our take")
            assert reader.check() == []
            if pa.types.is_struct(type) and "struct<>" in str(type) and version != "2.0" and "y" in table.schema.names:
                continue  # pylance mistakes the columns of what comes behind an empty struct
            check(theirs.LanceFileReader(str(path)).read_all().to_table(), table, f"theirs of {writer.__module__}'s", validate=False)


@pytest.mark.parametrize("type, values, version, words", each(REFUSED))
def test_what_no_reader_reads_is_refused(type, values, version, words, tmp_path):
    table = pa.table({"x": pa.array(values, type)})
    with pytest.raises(pilum.UnsupportedError, match=words) as e:
        put(tmp_path / "x.lance", table, version)
    assert "x.lance" in str(e.value) and "'x" in str(e.value)
