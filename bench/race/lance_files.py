#!/usr/bin/env python3
"""Lance files: the same work by pylance and by Pilum, in turns in one process; a JSON line a job.

    lance_files.py [--only TEXT] [--rows 300000] [--n 7] [--module pilum]

`cpu` and `wall` are seconds, medians of n turns, CPU of all threads; `cpu_ratio` and `wall_ratio` are ours / pylance's, so
that below 1 is faster. "theirs" and "ours" in a job's name say whose file is read. Files are in the page cache.
"""

import argparse
import gc
import importlib
import json
import os
import statistics
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
import race_data


def cost(work):
    gc.collect()
    cpu, wall = time.process_time(), time.perf_counter()
    work()
    return time.process_time() - cpu, time.perf_counter() - wall


class Race:
    def __init__(self, n, only):
        self.n, self.only, self.slower = n, only, []

    def run(self, job, ours, theirs, **facts):
        if self.only not in job:
            return
        ours(), theirs()
        turns = [(cost(ours), cost(theirs)) for _ in range(self.n)]
        (cpu, wall), (their_cpu, their_wall) = (
            [statistics.median(t[who][what] for t in turns) for what in (0, 1)] for who in (0, 1))
        line = {"race": "lance_files", "job": job, "n": self.n, "cpu": round(cpu, 6), "wall": round(wall, 6),
                "peer": "pylance", "peer_cpu": round(their_cpu, 6), "peer_wall": round(their_wall, 6),
                "cpu_ratio": round(cpu / max(their_cpu, 1e-9), 3), "wall_ratio": round(wall / max(their_wall, 1e-9), 3), **facts}
        if line["wall_ratio"] > 1 and line["cpu_ratio"] > 1:
            self.slower.append(job)
        print(json.dumps(line), flush=True)


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--only", default="", help="jobs whose name holds this")
    ap.add_argument("--rows", type=int, default=300_000)
    ap.add_argument("--n", type=int, default=7)
    ap.add_argument("--module", default="pilum")
    a = ap.parse_args()
    ours, theirs = importlib.import_module(a.module + ".file"), importlib.import_module("lance.file")
    data = race_data.tables(a.rows)
    race = Race(a.n, a.only)
    where = lambda name: str(race_data.FOLDER / f"race_{name}.lance")

    def write(module, table, path):
        with module.LanceFileWriter(path, table.schema, version="2.2") as w:
            for batch in table.to_batches(max_chunksize=65536):
                w.write_batch(batch)

    for name, table in data.items():
        write(ours, table, where(name + ".ours"))
        write(theirs, table, where(name + ".theirs"))

    def scan(module, path, columns=None, batch_size=16384):
        def work():
            for _ in module.LanceFileReader(path, columns=columns).read_all(batch_size=batch_size).to_batches():
                pass
        return work

    def take(reader, rows, repeat):
        def work():
            for _ in range(repeat):
                reader.take_rows(rows).to_table()
        return work

    sizes = {"conv": 16384, "payload": 64, "vectors": 1024}
    for name, table in data.items():
        peer = where(name + ".theirs")
        for whose in ("theirs", "ours"):
            race.run(f"scan {name} all ({whose})", scan(ours, where(f"{name}.{whose}"), None, sizes[name]),
                     scan(theirs, peer, None, sizes[name]), rows=table.num_rows)
        if name == "conv":
            for column in table.schema.names:
                race.run(f"scan {name} {column} (theirs)", scan(ours, peer, [column]), scan(theirs, peer, [column]),
                         rows=table.num_rows)
        rng = np.random.default_rng(5)
        for k in (1, 10, 1000):
            if k > table.num_rows // 2:
                continue
            rows = sorted(int(i) for i in rng.choice(table.num_rows, k, replace=False))
            repeat = max(1, 100 // k)
            race.run(f"take {k} {name} (theirs)", take(ours.LanceFileReader(peer), rows, repeat),
                     take(theirs.LanceFileReader(peer), rows, repeat), rows=k, repeat=repeat)
        race.run(f"open {name} (theirs)", lambda: [ours.LanceFileReader(peer).num_rows() for _ in range(50)],
                 lambda: [theirs.LanceFileReader(peer).num_rows() for _ in range(50)], repeat=50)
        race.run(f"write {name}", lambda: write(ours, table, where("out.ours")), lambda: write(theirs, table, where("out.theirs")),
                 rows=table.num_rows, bytes=os.path.getsize(where(name + ".ours")), peer_bytes=os.path.getsize(peer))
    if race.slower:
        print("slower than pylance: " + ", ".join(race.slower), file=sys.stderr)


main()
