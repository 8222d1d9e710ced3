#!/usr/bin/env python3
"""Lance tables written by Pilum and by pylance, each its own copy of the same table, in turns in one process; a JSON line a job.

    table_writes.py [--only TEXT] [--rows 1000000] [--n 7] [--module pilum] [--jobs append,delete,update,upsert,compact,columns]

The fields are those of lance_files.py. Each turn is one commit on the table that the turns before left (of a compaction, on its own): Pilum's is synced
to disk, pylance's is not. `wall` has those syncs; `cpu` is what is judged. The last line counts.
"""

import importlib
import itertools
import shutil
import sys
from pathlib import Path

import lance
import numpy as np
import pyarrow as pa

sys.path.insert(0, str(Path(__file__).parent))
import race_data
from judge import Race, run_jobs

GOAL = 0.5


def rows(ids):
    ids = np.asarray(ids)
    rng = np.random.default_rng(int(ids[0]))
    return pa.table({
        "id": ids,
        "bucket": (ids % 100).astype(np.int16),
        "kind": [f"kind{i}" for i in rng.integers(0, 5, len(ids))],
        "score": rng.random(len(ids)),
        "text": [f"row {i} and some words" for i in ids],
    })


class Jobs:
    def __init__(self, a):
        self.race = Race("table_writes", a.n, a.only)
        self.module, self.rows = importlib.import_module(a.module), a.rows

    def copies(self):
        """The same table twice: for ours, for theirs."""
        folder = race_data.FOLDER / "table_writes"
        shutil.rmtree(folder, ignore_errors=True)
        ours, theirs = str(folder / "ours.lance"), str(folder / "theirs.lance")
        step = 250_000
        for at in range(0, self.rows, step):
            lance.write_dataset(rows(range(at, min(at + step, self.rows))), ours, mode="append" if at else "create")
        shutil.copytree(ours, theirs)
        return ours, theirs

    def run(self, job, change, **facts):
        """`change(dataset, turn)` by each on its own."""
        if self.race.only not in f"{job} | pylance":
            return
        ours, theirs = self.copies()
        mine, other = itertools.count(), itertools.count()
        self.race.run(job, lambda: change(self.module, self.module.dataset(ours), next(mine)),
                      lambda: change(lance, lance.dataset(theirs), next(other)), goal=GOAL, **facts)

    def append(self):
        new = [rows(range(self.rows + 1000 * i, self.rows + 1000 * (i + 1))) for i in range(64)]
        self.run("append 1000 rows", lambda m, ds, i: m.write_dataset(new[i], ds.uri, mode="append"))

    def delete(self):
        self.run("delete 1 % of the rows", lambda m, ds, i: ds.delete(f"bucket = {i}"))

    def update(self):
        self.run("update 1 % of the rows", lambda m, ds, i: ds.update({"score": "score + 1"}, where=f"bucket = {i}"))

    def columns(self):
        for job, sql in (("int64", "id * 2 + 1"), ("text", "lower(text)")):
            self.run(f"add a column of {job} by SQL", lambda m, ds, i: ds.add_columns({f"new{i}": sql}))

    def compact(self):
        """500 fragments into one; a table a turn."""
        job = "compact 500 small fragments"
        if self.race.only not in f"{job} | pylance":
            return
        folder = race_data.FOLDER / "table_writes"
        shutil.rmtree(folder, ignore_errors=True)
        lance.write_dataset(rows(range(self.rows // 5)), str(folder / "0.lance"), max_rows_per_file=max(self.rows // 2500, 1))
        uris = [str(folder / f"{i}.lance") for i in range(2 * self.race.n + 2)]
        for uri in uris[1:]:
            shutil.copytree(uris[0], uri)
        left = iter(uris)
        self.race.run(job, lambda: self.module.dataset(next(left)).optimize.compact_files(),
                      lambda: lance.dataset(next(left)).optimize.compact_files(), goal=GOAL)

    def upsert(self):
        n = max(self.rows // 100, 2)
        rng = np.random.default_rng(7)
        # Nine tenths of them are there already.
        new = [rows(np.concatenate([rng.choice(self.rows, n * 9 // 10, replace=False), np.arange(n // 10) + self.rows + i * n]))
               for i in range(64)]

        def change(m, ds, i):
            ds.merge_insert("id").when_matched_update_all().when_not_matched_insert_all().execute(new[i])

        self.run("upsert 1 % of the rows", change)


if __name__ == "__main__":
    run_jobs(__doc__, Jobs, {name: getattr(Jobs, name) for name in ("append", "delete", "update", "upsert", "compact", "columns")})
