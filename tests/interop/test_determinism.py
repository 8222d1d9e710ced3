"""Same rows, same bytes: whatever the batches, threads or process. Same reads, same batches and counts: whatever the threads.

The one place for this across processes; what one process can tell is in src/pilum/file/file_writer_test.cc.
"""

import hashlib
import json
import os
import subprocess
import sys

import pytest

WRITE = """
import hashlib, sys
import numpy as np, pyarrow as pa
from pilum.file import LanceFileWriter
path, version, batch = sys.argv[1], sys.argv[2], int(sys.argv[3])
rng = np.random.default_rng(11)
n = 30_000
texts = ["the quick brown fox", "jumps", "over", "a lazy dog and then some more words"]
table = pa.table({
    "id": np.arange(n),
    "noise": rng.integers(0, 1 << 60, n),
    "kind": pa.array(rng.integers(0, 9, n)).cast(pa.string()),
    "text": [texts[i % 4] * (1 + i % 3) + str(i * i) for i in range(n)],
    "tags": [[int(x) for x in range(i % 5)] if i % 7 else None for i in range(n)],
    "cost": pa.array(rng.integers(0, 500, n) / 8, mask=rng.random(n) < 0.1),
    "run": pa.array(np.repeat(np.arange(n // 500), 500), pa.int32()),
    "wide": pa.array([bytes([i % 251]) * (300 + i % 100) for i in range(2000)] * (n // 2000), pa.large_binary()),
    "st": [{"a": i % 3, "b": None if i % 11 == 0 else str(i)} for i in range(n)],
})
with LanceFileWriter(path, table.schema, version=version, max_page_bytes=400_000) as w:
    for b in table.to_batches(max_chunksize=batch):
        w.write_batch(b)
print(hashlib.sha256(open(path, "rb").read()).hexdigest())
"""

READ = """
import json, sys
from pilum.file import LanceFileReader
r = LanceFileReader(sys.argv[1])
out = []
for start, rows, batch in ((0, r.num_rows(), 1024), (0, r.num_rows(), 100_000), (12_345, 10_000, 777)):
    out.append([b.num_rows for b in r.read_range(start, rows, batch_size=batch).to_batches()])
out.append([b.num_rows for b in r.take_rows(list(range(0, r.num_rows(), 97)), batch_size=50).to_batches()])
print(json.dumps([out, r.stats], sort_keys=True))
"""


def run(code, *args, threads):
    env = dict(os.environ, PILUM_THREADS=str(threads))
    done = subprocess.run([sys.executable, "-c", code, *map(str, args)], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize("version", ["2.0", "2.1", "2.2"])
def test_same_bytes_and_same_reads(tmp_path, version):
    path = tmp_path / "x.lance"
    bytes_ = {run(WRITE, path, version, batch, threads=threads)
              for batch, threads in ((30_000, 1), (1024, 4), (777, 2), (13_001, 3))}
    assert len(bytes_) == 1
    assert hashlib.sha256(path.read_bytes()).hexdigest() in bytes_
    reads = {run(READ, path, threads=threads) for threads in (1, 2, 3, 8)}
    assert len(reads) == 1, reads
    batches, _ = json.loads(reads.pop())
    assert sum(batches[0]) == 30_000 and sum(batches[2]) == 10_000
