#!/usr/bin/env python3
"""Requests, lists and bytes of the same reads of tables on a loopback object store (server.py): pylance and Pilum, each with a
dataset opened anew; the open is part of it. A JSON line a read; `ratio` is ours / pylance's, lists and HEADs among them.

    table_requests.py [--latency 5] [--versions 50]
"""

import argparse
import json
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "race"))
import race_data

import lance
import numpy as np
import pilum
import pyarrow as pa


def table(versions):
    path = race_data.FOLDER / f"requests_table_{versions}.lance"
    if not path.exists():
        for i in range(versions):
            rows = pa.table({"id": np.arange(i * 100, (i + 1) * 100), "text": [f"row {n} " * 5 for n in range(100)]})
            lance.write_dataset(rows, str(path), mode="append" if i else "create", data_storage_version="2.2")
    return path


def large():
    path = race_data.FOLDER / "requests_large.lance"
    if not path.exists():
        rows = race_data.tables(300_000)["conv"]
        lance.write_dataset(rows, str(path), data_storage_version="2.2", max_rows_per_file=50_000)
    return path


def drain(batches):
    return sum(b.num_rows for b in batches)


def jobs(small, wide):
    some = sorted(int(i) for i in np.random.default_rng(3).choice(300_000, 100, replace=False))
    few = [5, 120, 121, 4000]
    yield "open", small, lambda ds: ds.version
    yield "versions()", small, lambda ds: len(ds.versions())
    yield "scan, small files", small, lambda ds: drain(ds.to_batches())
    yield "scan of a column, small files", small, lambda ds: drain(ds.to_batches(columns=["id"]))
    yield "take 4 rows, small files", small, lambda ds: ds.take(few).num_rows
    yield "scan", wide, lambda ds: drain(ds.to_batches())
    yield "scan of a column", wide, lambda ds: drain(ds.to_batches(columns=["kind"]))
    yield "take 1 row", wide, lambda ds: ds.take([77]).num_rows
    yield "take 100 rows", wide, lambda ds: ds.take(some).num_rows
    yield "take 100 rows of a column", wide, lambda ds: ds.take(some, columns=["text"]).num_rows


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--latency", type=int, default=5, help="milliseconds a request")
    ap.add_argument("--versions", type=int, default=50)
    a = ap.parse_args()
    small, wide = table(a.versions), large()
    server = subprocess.Popen([sys.executable, Path(__file__).with_name("server.py"), small.parent, str(a.latency)], stdout=subprocess.PIPE, text=True)
    try:
        endpoint = f"http://127.0.0.1:{int(server.stdout.readline())}"
        common = {"aws_access_key_id": "x", "aws_secret_access_key": "x", "aws_region": "us-east-1"}
        storage = {lance: {**common, "aws_endpoint": endpoint, "allow_http": "true", "aws_virtual_hosted_style_request": "false"},
                   pilum: {**common, "endpoint": endpoint}}

        def cost(module, path, work):
            urllib.request.urlopen(endpoint + "/-/counts").read()
            start = time.perf_counter()
            got = work(module.dataset(f"s3://bucket/{path.name}", storage_options=storage[module]))
            wall = time.perf_counter() - start
            return got, wall, json.load(urllib.request.urlopen(endpoint + "/-/counts"))

        over = []
        for job, path, work in jobs(small, wide):
            got, wall, ours = cost(pilum, path, work)
            want, their_wall, theirs = cost(lance, path, work)
            assert got == want, (job, got, want)
            all_of = lambda c: c["requests"] + c["heads"] + c["lists"]
            over += [job] if all_of(ours) > all_of(theirs) else []
            print(json.dumps({"race": "table_requests", "job": job, **ours, "wall": round(wall, 3), "peer": "pylance", **{f"peer_{k}": v for k, v in theirs.items()},
                              "peer_wall": round(their_wall, 3), "ratio": round(all_of(ours) / max(1, all_of(theirs)), 3)}), flush=True)
        print(json.dumps({"race": "table_requests", "more_than_pylance": over}))
    finally:
        server.terminate()
        server.wait()


if __name__ == "__main__":
    main()
