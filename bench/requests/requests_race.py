#!/usr/bin/env python3
"""Requests and bytes of the same reads: pylance on a loopback object store (server.py) that counts them, Pilum by its own exact
counts. Each read opens the file anew; the open is part of it. A JSON line a read; `ratio` is ours / pylance's requests.

    requests_race.py [--rows 300000] [--latency 5] [--file F.lance]
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

from lance.file import LanceFileReader as Theirs
from lance.file import LanceFileWriter
from pilum.file import LanceFileReader as Ours


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


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--rows", type=int, default=300_000)
    ap.add_argument("--latency", type=float, default=5, help="milliseconds a request")
    ap.add_argument("--file", help="a Lance file (default: conversations, written here by pylance)")
    ap.add_argument("--column", default="text")
    a = ap.parse_args()
    path = Path(a.file) if a.file else race_data.FOLDER / f"requests_{a.rows}.lance"
    if not path.exists():
        table = race_data.tables(a.rows)["conv"]
        with LanceFileWriter(str(path), table.schema, version="2.2") as w:
            w.write_batch(table)
    server = subprocess.Popen([sys.executable, Path(__file__).with_name("server.py"), path.parent, str(a.latency)],
                              stdout=subprocess.PIPE, text=True)
    try:
        endpoint = f"http://127.0.0.1:{int(server.stdout.readline())}"
        storage = {"aws_endpoint": endpoint, "allow_http": "true", "aws_access_key_id": "x", "aws_secret_access_key": "x",
                   "aws_region": "us-east-1", "aws_virtual_hosted_style_request": "false"}
        for job, columns, rows in reads(Ours(path).num_rows(), a.column):
            counts = lambda: json.load(urllib.request.urlopen(endpoint + "/-/counts"))
            counts()
            start = time.perf_counter()
            n = consume(Theirs(f"s3://bucket/{path.name}", storage_options=storage, columns=columns), rows)
            their_wall, theirs = time.perf_counter() - start, counts()
            reader = Ours(path, columns=columns)
            assert consume(reader, rows) == n
            stats = reader.stats if isinstance(reader.stats, dict) else reader.stats()
            print(json.dumps({"race": "requests", "job": job, "requests": stats["requests"], "bytes": stats["bytes"], "peer": "pylance",
                              "peer_requests": theirs["requests"], "peer_heads": theirs["heads"], "peer_bytes": theirs["bytes"],
                              "peer_wall": round(their_wall, 3), "ratio": round(stats["requests"] / max(1, theirs["requests"]), 3)}),
                  flush=True)
    finally:
        server.terminate()
        server.wait()


if __name__ == "__main__":
    main()
