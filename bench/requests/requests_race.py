#!/usr/bin/env python3
"""Requests and bytes of the same reads of an object store: pylance on a loopback one (server.py) that counts them, Pilum on a
store in memory of the same latency (ours.cc: ninja pilum_requests). Each read opens the file anew; the open is part of it. A JSON
line a read; `ratio` is ours / pylance's requests, of which its HEADs are none.

    requests_race.py [--rows 300000] [--version 2.2] [--latency 5] [--file F.lance] [--ours build/release/bench/pilum_requests]
"""

import argparse
import json
import random
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "race"))
import race_data

from lance.file import LanceFileReader, LanceFileWriter


def reads(num_rows, column):
    rng = random.Random(5)
    out = []
    for columns in (None, [column]):
        where = "all columns" if columns is None else column
        out.append((f"scan, {where}", columns, None))
        for k in (1, 10, 100, 1000):
            out.append((f"take {k}, {where}", columns, sorted(rng.sample(range(num_rows), k))))
    return out


def consume(reader, rows):
    results = reader.read_all() if rows is None else reader.take_rows(rows)
    return sum(batch.num_rows for batch in results.to_batches())


class Ours:
    """One process for all jobs: it loads the file once."""

    def __init__(self, program, path, latency):
        self.process = subprocess.Popen([program, path, str(latency)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def read(self, columns, rows):
        job = f"{'*' if columns is None else ','.join(columns)}\t{'*' if rows is None else ','.join(map(str, rows))}\n"
        self.process.stdin.write(job)
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--rows", type=int, default=300_000)
    ap.add_argument("--latency", type=int, default=5, help="milliseconds a request")
    ap.add_argument("--file", help="a Lance file (default: conversations, written here by pylance)")
    ap.add_argument("--version", default="2.2")
    ap.add_argument("--column", default="text")
    ap.add_argument("--ours", default=Path(__file__).resolve().parents[2] / "build" / "release" / "bench" / "pilum_requests")
    a = ap.parse_args()
    path = Path(a.file) if a.file else race_data.FOLDER / f"requests_{a.rows}_{a.version}.lance"
    if not path.exists():
        table = race_data.tables(a.rows)["conv"]
        with LanceFileWriter(str(path), table.schema, version=a.version) as w:
            w.write_batch(table)
    server = subprocess.Popen([sys.executable, Path(__file__).with_name("server.py"), path.parent, str(a.latency)],
                              stdout=subprocess.PIPE, text=True)
    try:
        endpoint = f"http://127.0.0.1:{int(server.stdout.readline())}"
        storage = {"aws_endpoint": endpoint, "allow_http": "true", "aws_access_key_id": "x", "aws_secret_access_key": "x",
                   "aws_region": "us-east-1", "aws_virtual_hosted_style_request": "false"}
        ours = Ours(a.ours, path, a.latency)
        counts = lambda: json.load(urllib.request.urlopen(endpoint + "/-/counts"))
        for job, columns, rows in reads(LanceFileReader(str(path)).num_rows(), a.column):
            counts()
            start = time.perf_counter()
            n = consume(LanceFileReader(f"s3://bucket/{path.name}", storage_options=storage, columns=columns), rows)
            their_wall, theirs = time.perf_counter() - start, counts()
            mine = ours.read(columns, rows)
            assert mine["rows"] == n
            print(json.dumps({"race": "requests", "job": job, "requests": mine["requests"], "bytes": mine["bytes"], "wall": mine["wall"],
                              "peer": "pylance", "peer_requests": theirs["requests"], "peer_heads": theirs["heads"],
                              "peer_bytes": theirs["bytes"], "peer_wall": round(their_wall, 3),
                              "ratio": round(mine["requests"] / max(1, theirs["requests"]), 3)}), flush=True)
    finally:
        server.terminate()
        server.wait()


if __name__ == "__main__":
    main()
