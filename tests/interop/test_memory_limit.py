"""Groups, distinct values and sorts under a memory limit: a clear error, and a process that really stays below it."""

import os
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest

import pilum
import pilum.store

ROWS = 600_000
KINDS = {
    "GROUP BY text": "SELECT s, COUNT(*) FROM t GROUP BY s",
    "GROUP BY with sums": "SELECT id, SUM(x), AVG(x), MIN(s) FROM t GROUP BY id",
    "DISTINCT": "SELECT DISTINCT s FROM t",
    "ORDER BY": "SELECT id, s FROM t ORDER BY s",
    "COUNT(DISTINCT)": "SELECT COUNT(DISTINCT s) FROM t",
    "MEDIAN": "SELECT MEDIAN(s) FROM t",
    "sketches": "SELECT id % 10000, APPROX_COUNT_DISTINCT(s), APPROX_TOP_K(s, 3), APPROX_PERCENTILE(x, 0.5) FROM t GROUP BY 1",
}

CODE = """
import sys
sys.path.insert(0, sys.argv[1])
import pilum.store
store = pilum.store.open(sys.argv[2])
def kept(name):
    return next(int(line.split()[1]) * 1024 for line in open("/proc/self/status") if line.startswith(name))
for sql in ("SELECT id, s FROM t LIMIT 10", "SELECT s, COUNT(*), MEDIAN(x) FROM t WHERE id < 10 GROUP BY s ORDER BY s"):
    for _ in store.query(sql): pass
open("/proc/self/clear_refs", "w").write("5")  # the peak starts from here
before, rows, error = kept("VmRSS"), 0, ""
try:
    for batch in store.query(sys.argv[3], memory_limit=int(sys.argv[4])): rows += batch.num_rows
except pilum.MemoryLimitError as e:
    error = str(e)
print(kept("VmHWM") - before, rows, error)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    rng = np.random.default_rng(3)
    path = str(tmp_path_factory.mktemp("m") / "d")
    pilum.store.open(path).put(pa.table({
        "id": rng.permutation(ROWS),
        "x": rng.normal(size=ROWS),
        "s": [f"{a:016x}-and some more text-{a % 977}" for a in rng.integers(0, 2**63, ROWS).tolist()],
    }))
    return path


def measure(folder, sql, limit):
    # One arena and one thread: what malloc keeps for other threads is no memory of the query.
    env = {**os.environ, "MALLOC_ARENA_MAX": "1", "PILUM_THREADS": "1", "ARROW_DEFAULT_MEMORY_POOL": "system"}
    run = subprocess.run([sys.executable, "-c", CODE, os.path.dirname(os.path.dirname(pilum.__file__)), folder, sql, str(limit)],
                         env=env, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    grown, rows, error = (run.stdout.split(" ", 2) + [""])[:3]
    return int(grown), int(rows), error.strip()


@pytest.fixture(scope="module")
def reading(folder):
    """What reading the rows takes, whatever is made of them."""
    grown, rows, _ = measure(folder, "SELECT s, id, x FROM t", 1)
    assert rows == ROWS
    return grown


@pytest.mark.parametrize("limit", [8_000_000, 64_000_000])
@pytest.mark.parametrize("kind", KINDS)
def test_the_process_stays_below_the_limit(folder, reading, kind, limit):
    grown, rows, error = measure(folder, KINDS[kind], limit)
    print(f"{kind}, {limit}: {grown - reading} bytes more than reading takes ({reading}); {rows} rows {error}")
    assert grown <= reading + 1.1 * limit
    assert f"over the memory limit of {limit}" in error


@pytest.mark.parametrize("kind", KINDS)
def test_with_enough_there_is_an_answer(folder, kind):
    rows = sum(b.num_rows for b in pilum.store.open(folder).query(KINDS[kind], memory_limit=1_000_000_000))
    assert rows == {"COUNT(DISTINCT)": 1, "MEDIAN": 1, "sketches": 10000}.get(kind, ROWS)
