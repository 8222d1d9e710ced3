#!/usr/bin/env python3
"""Sketches: the same work by Pilum, DuckDB and datasketches, in turns in one process on one thread; a JSON line a job.

    sketches.py [--only TEXT] [--rows 5000000] [--n 7] [--module pilum]

`cpu` is seconds, the median of n turns; `cpu_ratio` is ours / the peer's, so that below 1 is faster; `goal` is the ratio
that the job shall reach; merges and decoding shall take microseconds (`goal_ns`). Both have the rows in memory in their own form: pyarrow arrays, DuckDB tables, numpy arrays.
datasketches is raced where it is installed (pip install datasketches). The single sketches against datasketches' C++
headers, and probes, merges and decoding in nanoseconds: bench/sketch/speed.cc. The last line counts.
"""

import argparse
import gc
import importlib
import json
import statistics
import time

import numpy as np
import pyarrow as pa


def cost(work):
    gc.collect()
    begin = time.process_time()
    work()
    return time.process_time() - begin


class Race:
    def __init__(self, n, only):
        self.n, self.only, self.met, self.missed = n, only, 0, []

    def run(self, job, peer, ours, theirs, goal, per=1, goal_ns=None, **facts):
        job = f"{job} | {peer}"
        if self.only not in job:
            return
        ours(), theirs()
        turns = [(cost(ours), cost(theirs)) for _ in range(self.n)]
        cpu, peer_cpu = (statistics.median(t[i] for t in turns) for i in (0, 1))
        ratio = round(cpu / max(peer_cpu, 1e-9), 3)
        met = ratio <= goal if goal_ns is None else cpu / per * 1e9 <= goal_ns
        line = {"race": "sketches", "job": job, "n": self.n, "cpu": round(cpu, 6), "peer": peer,
                "peer_cpu": round(peer_cpu, 6), "ns": round(cpu / per * 1e9, 2), "peer_ns": round(peer_cpu / per * 1e9, 2),
                "cpu_ratio": ratio, "goal": goal, "goal_ns": goal_ns, "met": met, **facts}
        self.met, self.missed = (self.met + 1, self.missed) if met else (self.met, [*self.missed, job])
        print(json.dumps(line), flush=True)


def repeated(times, work):
    def all_of_it():
        for _ in range(times):
            work()
    return all_of_it


def against_duckdb(race, sketch, ints, texts):
    try:
        import duckdb
    except ImportError:
        return
    db = duckdb.connect()
    db.execute("SET threads = 1").fetchall()
    for name, column in (("ints", ints), ("texts", texts)):
        db.register("given", pa.table({"x": column}))
        db.execute(f"CREATE TABLE {name} AS SELECT x FROM given").fetchall()
        count = int(db.execute(f"SELECT approx_count_distinct(x) FROM {name}").fetchall()[0][0])
        truth = len(column)
        ours = sketch.HLL(p=12).update(column).count().value
        race.run(f"HLL of {name}", "duckdb", lambda: sketch.HLL(p=12).update(column).count(),
                 lambda: db.execute(f"SELECT approx_count_distinct(x) FROM {name}").fetchall(), 1.0, len(column),
                 error=round(ours / truth - 1, 4), peer_error=round(count / truth - 1, 4))


def against_datasketches(race, sketch, ints, doubles):
    try:
        import datasketches as ds
    except ImportError:
        return
    numbers, raw = pa.array(doubles), ints.to_numpy()

    def digest():
        d = ds.tdigest_double(200)
        d.update(doubles)
        return d.serialize()

    def kll():
        k = ds.kll_doubles_sketch(200)
        k.update(doubles)
        return k.serialize()

    few = raw[: len(raw) // 20]

    def hll():
        h = ds.hll_sketch(12, ds.HLL_8)
        for v in few:
            h.update(int(v))
        return h

    race.run("KLL of doubles", "datasketches", lambda: bytes(sketch.KLL(k=200).update(numbers)), kll, 0.5, len(doubles))
    race.run("t-digest of doubles", "datasketches", lambda: bytes(sketch.TDigest(200).update(numbers)), digest, 0.5,
             len(doubles))
    race.run("HLL of ints, by Python call", "datasketches", lambda: sketch.HLL(12).update(pa.array(few)).count(), hll, 0.5,
             len(few))
    half = len(doubles) // 2
    a, b = (sketch.KLL().update(numbers.slice(at, half)) for at in (0, half))
    c, d = ds.kll_doubles_sketch(200), ds.kll_doubles_sketch(200)
    c.update(doubles[:half]), d.update(doubles[half:])

    def merged():
        m = ds.kll_doubles_sketch(200)
        m.merge(c)
        m.merge(d)

    ours, theirs = bytes(a), c.serialize()
    race.run("KLL merge of two", "datasketches", repeated(200, lambda: sketch.KLL().merge(a).merge(b)), repeated(200, merged), None, 200, 1e5)
    race.run("KLL decode", "datasketches", repeated(500, lambda: sketch.KLL.from_bytes(ours)),
             repeated(500, lambda: ds.kll_doubles_sketch.deserialize(theirs)), None, 500, 1e5)


def main():
    args = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    args.add_argument("--only", default="")
    args.add_argument("--rows", type=int, default=5_000_000)
    args.add_argument("--n", type=int, default=7)
    args.add_argument("--module", default="pilum")
    args = args.parse_args()
    sketch = importlib.import_module(args.module + ".sketch")
    rng = np.random.default_rng(1)
    ints = pa.array(rng.integers(-(2**62), 2**62, args.rows))
    doubles = rng.normal(size=args.rows)
    texts = pa.array(np.char.add(np.char.zfill(rng.integers(0, 2**62, args.rows // 5).astype("U20"), 32),
                                 np.char.zfill(rng.integers(0, 2**62, args.rows // 5).astype("U20"), 32)), pa.string())
    race = Race(args.n, args.only)
    against_duckdb(race, sketch, ints, texts)
    against_datasketches(race, sketch, ints, doubles)
    print(json.dumps({"race": "sketches", "met": race.met, "missed": race.missed}))


if __name__ == "__main__":
    main()
