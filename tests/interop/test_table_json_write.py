"""JSON columns that are written: rows from outside, updates, merges and new columns, as pylance stores them."""

import lance
import lance.debug
import pyarrow as pa
import pytest

import pilum
from pilum.errors import UsageError

TEXTS = ['{"a": 1, "b": [1.0, 1e5, "xé", null, true]}', "[1, 2]", None, '"x"', "null", "-0.5", '{"k":{"z":1,"a":2}}', "{}"]


def rows(texts=TEXTS, first=0, kind=pa.json_()):
    return pa.table({"id": range(first, first + len(texts)), "j": pa.array(texts, kind)})


def stored(path):
    """The bytes that lie in the files."""
    ds = lance.dataset(str(path))
    out = []
    for fragment in ds.get_fragments():
        for file in fragment.data_files():
            table = lance.file.LanceFileReader(f"{path}/data/{file.path}").read_all().to_table()
            out += table["j"].to_pylist() if "j" in table.column_names else []
    return out


def both(tmp_path):
    for module in (lance, pilum):
        yield module, tmp_path / module.__name__


def same(results):
    assert results[0] == results[1]


@pytest.mark.parametrize("version", ["2.0", "2.1", "2.2"])
@pytest.mark.parametrize("kind", [pa.json_(), pa.json_(pa.large_string())], ids=str)
def test_new_tables_and_appends(tmp_path, version, kind):
    results = []
    for module, path in both(tmp_path):
        ds = module.write_dataset(rows(kind=kind), str(path), data_storage_version=version)
        ds = module.write_dataset(rows(first=8), ds, mode="append")
        seen = lance.dataset(str(path))
        fields = lance.debug.format_schema(seen)
        results.append((stored(path), sorted(fields.splitlines()), seen.to_table().to_pylist()))
        assert seen.to_table(filter="json_extract(j, '$.a') = '1'").num_rows == 2
        assert pilum.dataset(str(path)).to_table() == seen.to_table()
    same(results)


def test_one_appends_to_what_the_other_made(tmp_path):
    for module, path in both(tmp_path):
        other = pilum if module is lance else lance
        module.write_dataset(rows(), str(path))
        other.write_dataset(rows(first=8), str(path), mode="append")
        assert lance.dataset(str(path)).to_table()["j"].to_pylist()[:8] == pilum.dataset(str(path)).to_table()["j"].to_pylist()[8:]


UPDATES = [
    ({"j": "'{\"b\": 2}'"}, "id = 1"),
    ({"j": "j"}, "id < 3"),
    ({"j": "NULL"}, None),
    ({"j": "json_extract(j, '$.k')"}, "id = 6"),
    ({"id": "id + 100"}, "json_extract(j, '$.a') = '1'"),
]


@pytest.mark.parametrize("updates,where", UPDATES)
def test_updates(tmp_path, updates, where):
    results = []
    for module, path in both(tmp_path):
        ds = module.write_dataset(rows(), str(path))
        ds.update(updates, where=where)
        results.append((sorted(map(str, stored(path))), sorted(map(str, lance.dataset(str(path)).to_table().to_pylist()))))
        lance.dataset(str(path)).validate()
    same(results)


def test_expressions_see_text(tmp_path):
    path = str(tmp_path / "t")
    lance.write_dataset(rows().append_column("s", pa.array(["-"] * 8)), path)
    ds = pilum.dataset(path)
    ds.update({"s": "concat(CAST(j AS text), '!')"}, where="id = 1")
    assert lance.dataset(path).to_table(filter="id = 1")["s"].to_pylist() == ["[1,2]!"]


def test_merges(tmp_path):
    results = []
    for module, path in both(tmp_path):
        ds = module.write_dataset(rows(), str(path))
        merge = ds.merge_insert("id").when_matched_update_all().when_not_matched_insert_all()
        merge.execute(rows(['{"m": 1}', None], first=7))
        seen = lance.dataset(str(path))
        results.append((sorted(map(str, stored(path))), sorted(map(str, seen.to_table().to_pylist()))))
        seen.validate()
    same(results)


def test_conditions_of_merges_see_text(tmp_path):
    ds = pilum.write_dataset(rows(), str(tmp_path / "t"))
    new = rows(['{"n": 1}', '{"n": 2}'])
    merge = ds.merge_insert("id").when_matched_update_all("target.j = '[1,2]' AND json_get_int(source.j, 'n') = 2")
    assert merge.execute(new)["num_updated_rows"] == 1
    assert sorted(map(str, lance.dataset(ds.uri).to_table()["j"].to_pylist()[-1:])) == ['{"n":2}']


def test_columns_that_are_added(tmp_path):
    path = str(tmp_path / "t")
    ds = pilum.write_dataset(pa.table({"id": range(3)}), path)
    ds.add_columns(pa.field("j", pa.json_()))
    ds.update({"j": "'[7]'"}, where="id = 1")
    ds.add_columns(pa.RecordBatchReader.from_batches(pa.schema({"k": pa.json_()}), [pa.record_batch({"k": pa.array(TEXTS[:3], pa.json_())})]))
    seen = lance.dataset(path)
    assert seen.to_table().sort_by("id")["j"].to_pylist() == [None, "[7]", None]
    assert sorted(map(str, seen.to_table()["k"].to_pylist())) == sorted(map(str, pilum.dataset(path).to_table()["k"].to_pylist()))
    assert seen.to_table(filter="json_extract(k, '$.a') = '1'").num_rows == 1
    seen.validate()


def test_what_is_no_json(tmp_path):
    for texts in (["nope"], ['{"a": 1, "a": 2}'], [""]):
        with pytest.raises(UsageError, match="column 'j', row 0 of the batch"):
            pilum.write_dataset(rows(texts), tmp_path / "t")
    ds = pilum.write_dataset(rows(), tmp_path / "t")
    with pytest.raises(UsageError, match="column 'j'"):
        ds.update({"j": "'not json'"}, where="id = 1")
    with pytest.raises(UsageError, match="should have type json"):
        ds.insert(pa.table({"id": [9], "j": ["{}"]}))
    assert ds.latest_version == 1


def test_uncommitted_rows(tmp_path):
    path = str(tmp_path / "t")
    pilum.write_dataset(rows(), path)
    made = pilum.fragment.write_fragments(rows(["[9]"], first=9), path)
    pilum.LanceDataset.commit(path, pilum.LanceOperation.Append(made), read_version=1)
    with pilum.dataset(path).batch() as batch:
        batch.append(rows(["[10]"], first=10))
    assert lance.dataset(path).to_table()["j"].to_pylist()[-2:] == ["[9]", "[10]"]
