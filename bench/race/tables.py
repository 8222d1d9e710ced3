#!/usr/bin/env python3
"""Lance tables: the same tables, which pylance wrote, read by Pilum and by pylance, in turns in one process; a JSON line
a job.

    tables.py [--only TEXT] [--rows 1000000] [--n 7] [--module pilum] [--jobs history,fragments,scan,take]

The fields are those of lance_files.py. `history`: opening at one of 1 and of 500 versions, and versions(). `fragments`:
tables of many small files, each read with a dataset that was just opened. `scan`, `take`: large tables of one file. The
start of a process: startup.py. The last line counts.
"""

import importlib
import shutil
import sys
from pathlib import Path

import lance
import numpy as np
import pyarrow as pa

sys.path.insert(0, str(Path(__file__).parent))
import race_data
from judge import Race, run_jobs
from race_data import BATCH, COLUMN_GOALS


def small_rows(fragment, rows):
    """`rows` rows of numbers, short and long text, a list and a struct."""
    rng = np.random.default_rng(fragment)
    ids = np.arange(fragment * rows, (fragment + 1) * rows)
    return pa.table({
        "id": ids,
        "kind": [f"kind{i}" for i in rng.integers(0, 5, rows)],
        "score": rng.random(rows),
        "text": [f"row {i} " + "word " * int(n) for i, n in zip(ids, rng.integers(1, 20, rows))],
        "tags": [[f"t{j}" for j in range(int(n))] for n in rng.integers(0, 4, rows)],
        "meta": [{"a": int(i), "b": f"m{i % 7}"} for i in ids],
    })


def made(name, make):
    """The table's folder, made once."""
    path = race_data.FOLDER / name
    if not path.exists():
        half = Path(str(path) + ".half")
        shutil.rmtree(half, ignore_errors=True)
        make(str(half))
        half.rename(path)
    return str(path)


def appended(versions, rows, columns=None):
    """One fragment a version."""
    def make(path):
        for i in range(versions):
            table = small_rows(i, rows)
            lance.write_dataset(table.select(columns) if columns else table, path, mode="append" if i else "create", data_storage_version="2.2")
    return make


def of_file(table):
    def make(path):
        lance.write_dataset(table, path, data_storage_version="2.2", max_rows_per_file=1 << 30, max_bytes_per_file=1 << 40)
    return make


def scan(module, path, columns=None, batch_size=16384):
    def work():
        for _ in module.dataset(path).to_batches(columns=columns, batch_size=batch_size):
            pass
    return work


class Jobs:
    def __init__(self, a):
        self.race, self.rows = Race("tables", a.n, a.only), a.rows
        self.ours, self.theirs = importlib.import_module(a.module), lance

    def pair(self, job, work, goal, **facts):
        self.race.run(job, lambda: work(self.ours), lambda: work(self.theirs), goal, **facts)

    def history(self):
        for versions in (1, 500):
            path = made(f"tables_{versions}x100", appended(versions, 100))
            self.pair(f"open at {versions} versions", lambda m: [m.dataset(path) for _ in range(20)], 0.3, repeat=20)
        self.pair("versions() of 500", lambda m: m.dataset(path).versions(), 0.1)

    def fragments(self):
        path = made("tables_500x100", appended(500, 100))
        self.race.run("scan 500 fragments of 100 rows", scan(self.ours, path), scan(self.theirs, path), 0.15)
        self.race.run("scan 500 fragments of 100 rows, one column", scan(self.ours, path, ["id"]), scan(self.theirs, path, ["id"]), None)
        wide = made("tables_1001x1000", appended(1001, 1000, ["id", "kind", "score", "text"]))
        self.race.run("scan one column of 1,001 fragments", scan(self.ours, wide, ["id"]), scan(self.theirs, wide, ["id"]), None)
        rows = sorted(int(i) for i in np.random.default_rng(4).choice(50_000, 100, replace=False))
        self.pair("open, take 100 rows of 500 fragments", lambda m: m.dataset(path).take(rows), None)

    def large(self, name):
        table = race_data.tables(self.rows, name)[name]
        return made(f"tables_{name}_{self.rows}", of_file(table)), table

    def scans(self):
        for name, goal in (("conv", 0.25), ("payload", 0.45), ("vectors", 0.28)):
            path, _ = self.large(name)
            self.race.run(f"scan {name} all", scan(self.ours, path, None, BATCH[name]), scan(self.theirs, path, None, BATCH[name]), goal)
        path, table = self.large("conv")
        for column in table.schema.names:
            self.race.run(f"scan conv {column}", scan(self.ours, path, [column]), scan(self.theirs, path, [column]), COLUMN_GOALS.get(column))

    def takes(self):
        rng = np.random.default_rng(5)
        jobs = [(f"take {k} conv", "conv", None, k, goal) for k, goal in ((1, 0.05), (10, 0.05), (100, 0.06), (1000, 0.06))]
        jobs += [("take 1000 conv id", "conv", ["id"], 1000, 0.05), ("take 100 payload", "payload", None, 100, 0.38),
                 ("take 100 vectors", "vectors", None, 100, 0.06)]
        for job, name, columns, k, goal in jobs:
            path, table = self.large(name)
            rows, repeat = sorted(int(i) for i in rng.choice(table.num_rows, k, replace=False)), max(1, 100 // k)
            opened = {m: m.dataset(path) for m in (self.ours, self.theirs)}
            self.pair(job, lambda m: [opened[m].take(rows, columns=columns) for _ in range(repeat)], goal, rows=k, repeat=repeat)
            if name == "conv" and not columns:
                draws = {m: np.random.default_rng(9) for m in opened}
                new = lambda m: np.unique(draws[m].integers(0, table.num_rows, k)).tolist()
                self.pair(f"{job}, new rows each time", lambda m: [opened[m].take(new(m)) for _ in range(repeat)], 0.08, rows=k, repeat=repeat)
        path, table = self.large("conv")
        self.pair("open + take 1 conv", lambda m: [m.dataset(path).take([7]) for _ in range(20)], 0.12, repeat=20)
        rows = sorted(int(i) for i in rng.choice(table.num_rows, 1000, replace=False))
        self.pair("open, take 1000 conv, close", lambda m: m.dataset(path).take(rows), 0.15)


run_jobs(__doc__, Jobs, {"history": Jobs.history, "fragments": Jobs.fragments, "scan": Jobs.scans, "take": Jobs.takes})
