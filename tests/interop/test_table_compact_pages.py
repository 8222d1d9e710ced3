"""Pages of files that compaction writes on a disk: 2 MiB a column, shared among the columns by their widths."""

import os

import lance
import numpy as np
import pyarrow as pa
import pytest

import pilum
from pilum.file import LanceFileReader

N = 300_000


def texts(width):
    return pa.array([f"{i:0{width}}" for i in np.random.default_rng(1).integers(0, 1 << 60, N if width < 99 else 6000)])


def compacted(tmp_path, version, text):
    """Rows of the pages by column."""
    uri = str(tmp_path / "t.lance")
    table = pa.table({"id": np.arange(len(text)), "text": text})
    pilum.write_dataset(table, uri, max_rows_per_file=len(text) // 10, data_storage_version=version, sync=False)
    ds = pilum.dataset(uri)
    ds.optimize.compact_files()
    assert ds.to_table().equals(table) and lance.dataset(uri).to_table().equals(table)
    assert lance.dataset(uri).take([5, len(text) - 1], columns=["text"])["text"].to_pylist() == [
        text[5].as_py(), text[-1].as_py()]  # fmt: skip
    (fragment,) = ds.get_fragments()
    reader = LanceFileReader(os.path.join(uri, "data", fragment.data_files()[0].path))
    return {c.name: [p.num_rows for p in c.pages] for c in reader.metadata().columns}


@pytest.mark.parametrize("version", ["2.1", "2.2"])
def test_columns_share(tmp_path, version):
    pages = compacted(tmp_path, version, texts(20))  # 32 bytes a row of 4 MiB
    assert pages == {"id": [131072, 131072, N - 262144], "text": [131072, 131072, N - 262144]}


@pytest.mark.parametrize("version, text", [("2.0", texts(20)), ("2.2", texts(1000))])
def test_each_has_its_share(tmp_path, version, text):
    """Where the version knows no pages by rows, and where rows are wide."""
    pages = compacted(tmp_path, version, text)
    assert len(pages["text"]) > len(pages["id"]) >= 1
    assert sum(pages["text"]) == sum(pages["id"]) == len(text)
    assert max(pages["text"]) * len(text[0].as_py()) < (2 << 20) + 1024
