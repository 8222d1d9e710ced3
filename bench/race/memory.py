#!/usr/bin/env python3
"""Peak memory of a fresh process: Parquet -> Lance of conversations and of payloads, and a streaming scan of the payloads; `pilum`
beside pylance. A JSON line a job; MiB, most of n runs (memory does not depend on the machine's load).

    memory.py [--rows 1000000] [--n 3] [--only TEXT] [--build build/release]
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq

sys.path.insert(0, str(Path(__file__).parent))
import race_data

ROOT = Path(__file__).resolve().parents[2]
GOALS = {"convert conv": 200, "convert payload": 300, "scan payload": 200}
THEIR_CONVERT = """
import sys, pyarrow.parquet as pq
from lance.file import LanceFileWriter
f = pq.ParquetFile(sys.argv[1])
with LanceFileWriter(sys.argv[2], f.schema_arrow, version="2.2") as w:
    for batch in f.iter_batches():
        w.write_batch(batch)
"""
THEIR_SCAN = "import sys\nfrom lance.file import LanceFileReader as R\nfor b in R(sys.argv[1]).read_all(batch_size=64).to_batches(): pass"


# A small process that starts the measured one: a child's peak begins at what its parent held when it was forked.
STARTER = """
import os, subprocess, sys
process = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL)
_, status, usage = os.wait4(process.pid, 0)
print(usage.ru_maxrss)
sys.exit(os.waitstatus_to_exitcode(status))
"""


def peak(command):
    """Peak resident MiB of one process."""
    done = subprocess.run([sys.executable, "-S", "-c", STARTER, *map(str, command)], stdout=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(f"{command[:3]} ended with {done.returncode}")
    return int(done.stdout) / 1024


def parquet(name, rows):
    path = race_data.FOLDER / f"memory_{name}_{rows}.parquet"
    if not path.exists():
        pq.write_table(race_data.tables(rows)[name], path, compression="zstd")
    return path


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--rows", type=int, default=1_000_000, help="conversations; payloads are a sixtieth")
    ap.add_argument("--n", type=int, default=3)
    ap.add_argument("--only", default="")
    ap.add_argument("--build", default=str(ROOT / "build" / "release"))
    a = ap.parse_args()
    pilum, out = Path(a.build) / "pilum", race_data.FOLDER / "memory.lance"
    files = {name: parquet(name, a.rows) for name in ("conv", "payload")}
    scanned = race_data.FOLDER / "memory_payload.lance"
    subprocess.run([pilum, "file", "convert", files["payload"], scanned], check=True, stdout=subprocess.DEVNULL)
    jobs = {f"convert {name}": ([pilum, "file", "convert", path, out], [sys.executable, "-c", THEIR_CONVERT, path, out])
            for name, path in files.items()}
    jobs["scan payload"] = ([pilum, "file", "cat", scanned, "-f", "arrow"], [sys.executable, "-c", THEIR_SCAN, scanned])
    for job, (ours, theirs) in jobs.items():
        if a.only in job:
            mib, peer = (max(peak(command) for _ in range(a.n)) for command in (ours, theirs))
            print(json.dumps({"race": "memory", "job": job, "rows": a.rows, "mib": round(mib), "goal_mib": GOALS[job],
                              "peer": "pylance", "peer_mib": round(peer)}), flush=True)


if __name__ == "__main__":
    main()
