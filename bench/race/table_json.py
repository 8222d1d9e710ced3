#!/usr/bin/env python3
"""JSON columns of Lance tables, which pylance wrote: scans, and json_* functions in filters and projections, by Pilum and by pylance in turns in
one process; a JSON line a job.

    table_json.py [--only TEXT] [--rows 1000000] [--n 7] [--module pilum] [--jobs scan,filter,project]

Documents of some 200 bytes; a fifth of `--rows`. The fields are those of lance_files.py. The last line counts.
"""

import importlib
import json
import shutil
import sys
from pathlib import Path

import lance
import numpy as np
import pyarrow as pa

sys.path.insert(0, str(Path(__file__).parent))
import race_data
from judge import Race, run_jobs

GOAL = 1.0


def documents(rows):
    rng = np.random.default_rng(3)
    words = ["alpha", "beta", "gamma \"quoted\"", "délta", "epsilon and more words"]
    for i, (a, b, c) in enumerate(zip(rng.integers(0, 1000, rows), rng.random(rows), rng.integers(0, 5, rows))):
        yield json.dumps({"user": {"name": f"user{a}", "age": int(a % 90), "tags": [words[c], words[(c + 1) % 5]]}, "n": int(a), "score": float(b),
                          "kind": words[c], "on": bool(c % 2), "items": [{"id": i + k, "price": float(b) * k} for k in range(int(c))]})


class Jobs:
    def __init__(self, a):
        self.race = Race("table_json", a.n, a.only)
        rows = a.rows // 5
        path = race_data.FOLDER / f"table_json_{rows}"
        if not path.exists():
            half = Path(str(path) + ".half")
            shutil.rmtree(half, ignore_errors=True)
            lance.write_dataset(pa.table({"id": range(rows), "j": pa.array(list(documents(rows)), pa.json_())}), str(half))
            half.rename(path)
        self.ours, self.theirs = importlib.import_module(a.module).dataset(str(path)), lance.dataset(str(path))

    def pair(self, job, work, goal=GOAL):
        if self.race.only not in f"{job} | pylance":
            return
        assert work(self.ours).equals(work(self.theirs)), job
        self.race.run(job, lambda: work(self.ours), lambda: work(self.theirs), goal)

    def scan(self):
        self.pair("scan", lambda ds: ds.to_table(columns=["j"]))

    def filter(self):
        for condition in ("json_get_int(j, 'n') = 7", "json_get_string(j, 'kind') = 'beta'", "json_extract(j, '$.user.name') = '\"user7\"'",
                          "json_exists(j, '$.items[3]')", "json_array_contains(j, '$.user.tags', 'alpha')"):
            self.pair(f"filter {condition}", lambda ds: ds.to_table(columns=["id"], filter=condition))

    def project(self):
        for expression in ("json_get_int(j, 'n')", "json_get_float(j, 'score')", "json_extract(j, '$.user')", "json_array_length(j, '$.items')"):
            self.pair(f"project {expression}", lambda ds: ds.to_table(columns={"x": expression}))


if __name__ == "__main__":
    run_jobs(__doc__, Jobs, {"scan": Jobs.scan, "filter": Jobs.filter, "project": Jobs.project})
