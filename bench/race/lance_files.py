#!/usr/bin/env python3
"""Lance files: the same work by Pilum and its peers, in turns in one process; a JSON line a job.

    lance_files.py [--only TEXT] [--rows 1000000] [--n 7] [--module pilum] [--jobs scan,take,write,bytes]

`cpu` and `wall` are seconds, medians of n turns, CPU of all threads; `cpu_ratio` and `wall_ratio` are ours / the peer's,
so that below 1 is faster; `goal` is the CPU ratio (or ratio of bytes) that the job shall reach. "theirs" and "ours" in a
job's name say whose file Pilum reads; pylance always reads its own. Files are in the page cache. The last line counts.
"""

import importlib
import os
import sys
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

sys.path.insert(0, str(Path(__file__).parent))
import race_data
from judge import Race, run_jobs
from race_data import BATCH, COLUMN_GOALS


def scan(module, path, columns=None, batch_size=16384):
    def work():
        for _ in module.LanceFileReader(path, columns=columns).read_all(batch_size=batch_size).to_batches():
            pass
    return work


def take(reader, rows, repeat=1):
    def work():
        for _ in range(repeat):
            reader.take_rows(rows).to_table()
    return work


def take_new(reader, rng, num_rows, k, repeat):
    def work():
        for _ in range(repeat):
            reader.take_rows(np.unique(rng.integers(0, num_rows, k)).tolist()).to_table()
    return work


class Jobs:
    def __init__(self, a):
        self.race = Race("lance_files", a.n, a.only)
        self.ours = importlib.import_module(a.module + ".file")
        self.theirs = importlib.import_module("lance.file")
        self.data = race_data.tables(a.rows)
        for name, table in self.data.items():
            self.write(self.ours, table, self.file(name, "ours"))
            self.write(self.theirs, table, self.file(name, "theirs"))
            pq.write_table(table, self.parquet(name), compression="zstd")

    def file(self, name, whose):
        return str(race_data.FOLDER / f"race_{name}.{whose}.lance")

    def parquet(self, name):
        return str(race_data.FOLDER / f"race_{name}.zstd.parquet")

    @staticmethod
    def write(module, table, path, **options):
        with module.LanceFileWriter(path, table.schema, version="2.2", **options) as w:
            for batch in table.to_batches(max_chunksize=65536):
                w.write_batch(batch)

    def polars(self, name, columns=None):
        import polars

        return lambda: polars.read_parquet(self.parquet(name), columns=columns).to_arrow(
            compat_level=polars.CompatLevel.oldest())

    def scans(self):
        for name in self.data:
            peer = scan(self.theirs, self.file(name, "theirs"), None, BATCH[name])
            goals = {"conv": (0.25, 0.25), "payload": (0.45, 0.45), "vectors": (0.28, None)}[name]
            for whose, goal in zip(("theirs", "ours"), goals):
                self.race.run(f"scan {name} all ({whose})", scan(self.ours, self.file(name, whose), None, BATCH[name]), peer, goal)
        mine = scan(self.ours, self.file("conv", "ours"))
        self.race.run("scan conv all (ours)", mine, self.polars("conv"), 0.22, "polars zstd parquet")
        self.race.run("scan conv all (ours)", mine, lambda: pq.read_table(self.parquet("conv")), 0.20, "pyarrow zstd parquet")
        self.race.run("scan payload all (ours)", scan(self.ours, self.file("payload", "ours"), None, 64), self.polars("payload"),
                      0.35, "polars zstd parquet")
        conv = self.file("conv", "theirs")
        for column in self.data["conv"].schema.names:
            self.race.run(f"scan conv {column} (theirs)", scan(self.ours, conv, [column]), scan(self.theirs, conv, [column]),
                          COLUMN_GOALS.get(column))
        for column in ("kind", "tool", "conversation_id"):
            self.race.run(f"scan conv {column} (theirs)", scan(self.ours, conv, [column]), self.polars("conv", [column]), 0.35,
                          "polars zstd parquet")

    def takes(self):
        rng = np.random.default_rng(5)
        file = {name: self.file(name, "theirs") for name in self.data}

        def pair(name, columns=None):
            return (self.ours.LanceFileReader(file[name], columns=columns), self.theirs.LanceFileReader(file[name], columns=columns))

        def some(name, k):
            return sorted(int(i) for i in rng.choice(self.data[name].num_rows, k, replace=False))

        n = self.data["conv"].num_rows
        for k, goal in ((1, 0.05), (10, 0.05), (100, 0.06), (1000, 0.06)):
            (r, s), rows, repeat = pair("conv"), some("conv", k), max(1, 100 // k)
            self.race.run(f"take {k} conv", take(r, rows, repeat), take(s, rows, repeat), goal, rows=k, repeat=repeat)
            self.race.run(f"take {k} conv, new rows each time", take_new(r, np.random.default_rng(9), n, k, repeat),
                          take_new(s, np.random.default_rng(9), n, k, repeat), 0.08, rows=k, repeat=repeat)
        for job, name, columns, k, goal in (("1000 conv id", "conv", ["id"], 1000, 0.05), ("100 payload", "payload", None, 100, 0.38),
                                            ("100 vectors", "vectors", None, 100, 0.06)):
            (r, s), rows = pair(name, columns), some(name, k)
            self.race.run(f"take {job}", take(r, rows), take(s, rows), goal, rows=k)

        def opened(module, rows, repeat):
            return lambda: [module.LanceFileReader(file["conv"]).take_rows(rows).to_table() for _ in range(repeat)]

        self.race.run("open + take 1 conv", opened(self.ours, [7], 20), opened(self.theirs, [7], 20), 0.12, repeat=20)
        rows = some("conv", 1000)
        self.race.run("open, take 1000 conv, close", opened(self.ours, rows, 1), opened(self.theirs, rows, 1), 0.15)

    def writes(self):
        out = [str(race_data.FOLDER / f"race_out.{x}") for x in ("ours", "theirs", "parquet")]
        for name, goal, codec, parquet_goal in (("conv", 0.45, "zstd", 0.75), ("payload", 0.60, "snappy", 1.2), ("vectors", None, "zstd", None)):
            table = self.data[name]
            ours = lambda: self.write(self.ours, table, out[0])
            self.race.run(f"write {name}", ours, lambda: self.write(self.theirs, table, out[1]), goal)
            self.race.run(f"write {name}", ours, lambda: pq.write_table(table, out[2], compression=codec), parquet_goal,
                          f"pyarrow {codec} parquet")

    def sizes(self):
        size = lambda name, whose: os.path.getsize(self.file(name, whose))
        for name, goal in (("conv", 0.946), ("payload", 1.0), ("vectors", None)):
            self.race.bytes(f"bytes {name}", size(name, "ours"), size(name, "theirs"), goal, "pylance")
        self.race.bytes("bytes conv", size("conv", "ours"), os.path.getsize(self.parquet("conv")), None, "pyarrow zstd parquet")
        self.columns("balanced", self.file("conv", "ours"), 1.10)
        small = str(race_data.FOLDER / "race_conv.small.lance")
        self.write(self.ours, self.data["conv"], small, profile="small")
        self.race.bytes("bytes conv, small", os.path.getsize(small), size("conv", "theirs"), 146 / 182.8, "pylance")
        self.columns("small", small, 1.05)

    def columns(self, profile, path, goal):
        """Each top-level column over 64 KB against its size in the Parquet file."""
        ours, theirs = {}, {}
        for c in self.ours.LanceFileReader(path).metadata().columns:
            top = c.name.split(".")[0]
            ours[top] = ours.get(top, 0) + sum(p.size_bytes for p in c.pages)
        meta = pq.read_metadata(self.parquet("conv"))
        for g in range(meta.num_row_groups):
            for c in range(meta.num_columns):
                chunk = meta.row_group(g).column(c)
                top = chunk.path_in_schema.split(".")[0]
                theirs[top] = theirs.get(top, 0) + chunk.total_compressed_size
        for top, size in ours.items():
            if max(size, theirs[top]) > 65536:
                self.race.bytes(f"bytes conv {top}, {profile}", size, theirs[top], goal, "pyarrow zstd parquet")


run_jobs(__doc__, Jobs, {"scan": Jobs.scans, "take": Jobs.takes, "write": Jobs.writes, "bytes": Jobs.sizes})
