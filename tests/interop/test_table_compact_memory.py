"""Compaction on a disk holds small pages: its memory grows slowly with the number of columns."""

import os
import subprocess
import sys

import numpy as np
import pyarrow as pa

import pilum

COLUMNS, ROWS, MB = 12, 1 << 20, 1 << 20  # 8 MiB a column

CODE = """
import sys
sys.path.insert(0, sys.argv[1])
import pilum
ds = pilum.dataset(sys.argv[2])
if sys.argv[3] == "compact":
    ds.optimize.compact_files()
    assert len(ds.get_fragments()) == 1
assert ds.count_rows() == int(sys.argv[4])
print(next(int(line.split()[1]) * 1024 for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""


def peak(uri, what):
    package = os.path.dirname(os.path.dirname(pilum.__file__))
    done = subprocess.run([sys.executable, "-c", CODE, package, uri, what, str(ROWS)], capture_output=True, text=True,
                          env={**os.environ, "PILUM_THREADS": "2"})
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


def test_many_columns(tmp_path):
    uri = str(tmp_path / "t.lance")
    rng = np.random.default_rng(1)
    table = pa.table({f"c{i}": rng.integers(0, 1 << 62, ROWS) for i in range(COLUMNS)})
    pilum.write_dataset(table, uri, max_rows_per_file=ROWS // 64, sync=False)
    only_open = peak(uri, "open")
    added = peak(uri, "compact") - only_open
    print(f"{added / MB:.0f} MB")
    assert added < COLUMNS * 8 * MB  # 64 MB; 204 with pages of 8 MiB
    assert pilum.dataset(uri).to_table().equals(table)
