"""``skip_auto_cleanup``: a commit that the table's config has clean up leaves the versions there, whichever verb it is of."""

import pyarrow as pa
import pytest

import lance
import pilum

ROWS = pa.table({"a": [1, 2, 3], "b": [10, 20, 30]})


def write(uri, skip):
    pilum.write_dataset(ROWS, uri, mode="append", skip_auto_cleanup=skip)


def write_into_dataset(uri, skip):
    pilum.write_dataset(ROWS, pilum.dataset(uri), mode="append", skip_auto_cleanup=skip)


def overwrite(uri, skip):
    pilum.write_dataset(ROWS, uri, mode="overwrite", skip_auto_cleanup=skip)


def insert(uri, skip):
    pilum.dataset(uri).insert(ROWS, skip_auto_cleanup=skip)


def merge(uri, skip):
    builder = pilum.dataset(uri).merge_insert("a").when_matched_update_all().when_not_matched_insert_all()
    builder.skip_auto_cleanup(skip).execute(ROWS)


def commit(uri, skip):
    fragments = pilum.fragment.write_fragments(ROWS, uri)
    append = pilum.LanceOperation.Append(fragments)
    pilum.LanceDataset.commit(uri, append, pilum.dataset(uri).version, skip_auto_cleanup=skip)


def commit_batch(uri, skip):
    made = pilum.fragment.write_fragments(ROWS, uri, return_transaction=True)
    pilum.LanceDataset.commit_batch(uri, [made], skip_auto_cleanup=skip)


@pytest.mark.parametrize("verb", [write, write_into_dataset, overwrite, insert, merge, commit, commit_batch])
def test_skip(tmp_path, verb):
    uri = str(tmp_path / "t")
    lance.write_dataset(ROWS, uri, auto_cleanup_options={"interval": 1, "older_than_seconds": 0})
    for version in (2, 3):
        verb(uri, True)
        assert [v["version"] for v in lance.dataset(uri).versions()] == list(range(1, version + 1))
    verb(uri, False)  # the version that it began at stays
    assert [v["version"] for v in lance.dataset(uri).versions()] == [3, 4]
    lance.dataset(uri).validate()


def test_not_skipping_is_said_too(tmp_path):
    uri = str(tmp_path / "t")
    lance.write_dataset(ROWS, uri, auto_cleanup_options={"interval": 1, "older_than_seconds": 0})
    pilum.dataset(uri).insert(ROWS, skip_auto_cleanup=True)
    pilum.dataset(uri).merge_insert("a").when_matched_delete().skip_auto_cleanup().skip_auto_cleanup(False).execute(ROWS)
    assert [v["version"] for v in lance.dataset(uri).versions()] == [2, 3]
