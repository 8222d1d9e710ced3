"""The matrix of conflicts, measured: A commits, then B, opened before it. Whatever A is and whoever does it, B by Pilum is no
worse than B by pylance, and what it leaves is the same."""

import os
import shutil
import uuid

import lance
import lance.fragment
import pyarrow as pa
import pytest
from pilum.file import LanceFileWriter

import pilum


def table(begin, n):
    ids = list(range(begin, begin + n))
    return pa.table({"id": pa.array(ids, pa.int64()), "x": [i / 2 for i in ids], "s": [f"s{i}" for i in ids]})


def restore(ds, module):
    module.dataset(ds.uri, version=1).restore()


def upsert(ds, module):
    ds.merge_insert("id").when_matched_update_all().when_not_matched_insert_all().execute(table(5, 1))


def insert_new(ds, module):
    ds.merge_insert("id").when_not_matched_insert_all().execute(pa.concat_tables([table(5, 1), table(300, 1)]))


def replace(fragment):
    """Column x of it by another file."""

    def work(ds, module):
        version = f"{FILE[0]}.{FILE[1]}"
        name = f"{uuid.uuid4().hex}.lance"
        path = f"{ds.uri}/data/{name}"
        with LanceFileWriter(path, version=version) as w:
            w.write_batch(pa.table({"x": [i + 0.25 for i in range(10)]}))
        operation = module.LanceOperation
        file = module.fragment.DataFile(name, [1], [0], *FILE, os.path.getsize(path))
        group = operation.DataReplacementGroup(fragment, file)
        module.LanceDataset.commit(ds, operation.DataReplacement([group]), read_version=ds.version)

    return work


# What both engines do, by name: (dataset, module).
OPS = {
    "append": lambda ds, m: m.write_dataset(table(100, 3), ds, mode="append"),
    "overwrite": lambda ds, m: m.write_dataset(table(200, 5), ds, mode="overwrite"),
    "delete-f0": lambda ds, m: ds.delete("id = 2"),
    "delete-f0-other": lambda ds, m: ds.delete("id = 7"),
    "delete-f1": lambda ds, m: ds.delete("id = 12"),
    "delete-whole-f1": lambda ds, m: ds.delete("id >= 10 and id < 20"),
    "update-f0": lambda ds, m: ds.update({"x": "x + 1"}, where="id = 5"),
    "update-f1": lambda ds, m: ds.update({"x": "x + 1"}, where="id = 15"),
    "upsert": upsert,
    "insert-if-absent": insert_new,
    "add-nulls": lambda ds, m: ds.add_columns(pa.schema([pa.field("n", pa.int32())])),
    "add-values": lambda ds, m: ds.add_columns({"y": "id * 2"}),
    "merge": lambda ds, m: ds.merge(pa.table({"key": range(0, 40, 3), "z": range(14)}), "id", "key"),
    "cast": lambda ds, m: ds.alter_columns({"path": "x", "data_type": pa.float32()}),
    "rename": lambda ds, m: ds.alter_columns({"path": "s", "name": "s2"}),
    "drop": lambda ds, m: ds.drop_columns(["x"]),
    "compact": lambda ds, m: ds.optimize.compact_files(target_rows_per_fragment=100),
    "replace-f0": replace(0),
    "replace-f1": replace(1),
    "restore": restore,
    "config-k": lambda ds, m: ds.update_config({"k": "1"}),
    "config-j": lambda ds, m: ds.update_config({"j": "1"}),
    "metadata": lambda ds, m: ds.update_metadata({"k": "1"}),
    "schema-metadata": lambda ds, m: ds.update_schema_metadata({"k": "1"}),
    "field-metadata": lambda ds, m: ds.update_field_metadata({"id": {"k": "1"}}),
}
# What pylance alone does, as A.
THEIRS = {
    "index": lambda ds, m: ds.create_scalar_index("x", "BTREE"),
    "index-again": lambda ds, m: ds.create_scalar_index("id", "BTREE", replace=True),
    "optimize": lambda ds, m: ds.optimize.optimize_indices(),
    "drop-index": lambda ds, m: ds.drop_index(ds.list_indices()[0]["name"]),
    "compact-defer": lambda ds, m: ds.optimize.compact_files(target_rows_per_fragment=100, defer_index_remap=True),
}
FILE = (2, 1)  # of the tables here


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    uri = str(tmp_path_factory.mktemp("base") / "t.lance")
    lance.write_dataset(table(0, 40), uri, max_rows_per_file=10, data_storage_version=f"{FILE[0]}.{FILE[1]}")
    lance.dataset(uri).create_scalar_index("id", "BTREE")
    lance.dataset(uri).delete("id = 1")
    lance.dataset(uri).delete("id = 11 or id = 1")
    return uri


def outcome(b, module, stale):
    """("ok" | "retry" | "conflict" | "error", what was said)"""
    try:
        OPS[b](stale, module)
    except Exception as e:  # noqa: BLE001
        text = str(e)
        if "Retryable commit conflict" in text:
            return "retry", text
        return ("conflict" if "incompatible with concurrent" in text else "error"), text
    return "ok", ""


RANK = {"ok": 0, "retry": 1, "conflict": 2, "error": 2}

# An append whose column was cast meanwhile: pylance commits it, and the values read as NULL.
BETTER_REFUSED = {("cast", "append")}


# Of two that insert the same new key pylance has both.
DOUBLED_BY_PYLANCE = {("insert-if-absent", "insert-if-absent")}


# What a rename or drop does to metadata of the schema that was set meanwhile: pylance loses it.
def keeps_more(ours, theirs):
    return ours[:3] == theirs[:3] and theirs[3].items() < ours[3].items()


def seen(uri):
    mine, theirs = pilum.dataset(uri), lance.dataset(uri)
    got = mine.to_table().sort_by("id")
    assert got.equals(theirs.to_table().sort_by("id"))
    theirs.validate()
    assert theirs.to_table(filter="id = 15").num_rows == pilum.dataset(uri).count_rows("id = 15")
    return got, mine.config(), mine.metadata, mine.schema_metadata


@pytest.mark.heavy
@pytest.mark.parametrize("a", [*OPS, *THEIRS])
def test_matrix(base, tmp_path, a):
    worse, better = [], []
    for by in [lance, pilum] if a in OPS else [lance]:
        for b in OPS:
            results = {}
            for module in (lance, pilum):
                uri = str(tmp_path / f"{by.__name__}-{b}-{module.__name__}.lance")
                shutil.copytree(base, uri)
                stale = module.dataset(uri)
                {**OPS, **THEIRS}[a](by.dataset(uri), by)
                results[module] = (*outcome(b, module, stale), seen(uri))
            (theirs, _, left), (ours, text, left_by_us) = results[lance], results[pilum]
            cell = f"A {a} by {by.__name__}, B {b}: pylance {theirs}, Pilum {ours} {text}"
            if (a, b) in BETTER_REFUSED:
                assert (theirs, ours) == ("ok", "retry"), cell
            elif (a, b) in DOUBLED_BY_PYLANCE:
                ids = [state[0]["id"].to_pylist() for state in (left, left_by_us)]
                assert [i.count(300) for i in ids] == [2, 1], cell
                better.append(cell + ", which inserts nothing twice")
            elif RANK[ours] > RANK[theirs]:
                worse.append(cell)
            elif RANK[ours] < RANK[theirs]:
                better.append(cell)
            elif ours == "ok" and keeps_more(left_by_us, left):
                better.append(cell + ", and metadata of the schema that pylance loses")
            elif left_by_us != left and ours == "ok":
                worse.append(cell + f", and it leaves {left_by_us} where pylance leaves {left}")
    print("\n".join(better))
    assert worse == []
