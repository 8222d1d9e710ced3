#!/usr/bin/env python3
"""What a cold point read of many small parts costs: requests, bytes and time, with and without bundles, on a local folder and on an S3
server behind a proxy that adds a latency to each request. Prints JSON lines; gates nothing (tests/counts/listing_counts_test.cc
gates on the counts).

    bench/requests/many_parts.py [--parts 1000] [--rows 2000] [--latency-ms 30] [--s3] [--folder F] [--build build/release]

"cold": each read is a process of its own, the `pilum` command, from its start to its end. The files are in the page cache.
With --s3, versitygw (tools/versitygw) serves the very same folder; the proxy (tests/s3/proxy.py) counts requests and waits.
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "s3"))


def conversation(n):
    h = (n * 0x9E3779B97F4A7C15) % 2**64
    h ^= h >> 29
    return f"conv-{(h * 0xBF58476D1CE4E5B9) % 2**64:016x}"


def batches(rows, each):
    import numpy as np
    import pyarrow as pa

    kinds = pa.array(["user", "assistant", "tool_call", "tool_result", "system"])
    rng = np.random.default_rng(7)
    for at in range(0, rows, 200_000):
        n = min(200_000, rows - at)
        number = np.arange(at, at + n)
        ids = pa.array([conversation(c) for c in range(at // each, (at + n - 1) // each + 1)])
        yield pa.record_batch(
            {
                "conversation_id": ids.take(pa.array(number // each - at // each)),
                "ts": pa.array(number * 1_000_000, pa.timestamp("us")),
                "kind": kinds.take(pa.array(rng.integers(0, 5, n))),
                "tokens": pa.array(rng.integers(1, 4000, n).astype(np.int32)),
                "text": pa.array([f"m{x:x}" for x in rng.integers(0, 1 << 40, n)]),
            }
        )


def make(folder, parts, rows, build):
    """A dataset of about `parts` parts of about `rows` rows; the number of its parts."""
    sys.path.insert(0, str(build / "python"))
    import pilum
    import pyarrow as pa

    store = pilum.store.open(folder)
    if not os.path.isdir(os.path.join(folder, "parts")):
        each = max(1, rows // 40)
        made = batches(parts * rows, each)
        first = next(made)
        stream = pa.RecordBatchReader.from_batches(first.schema, (b for it in ([first], made) for b in it))
        per_row = first.nbytes / first.num_rows
        store.put(stream, target_part_bytes=int(rows * per_row * 0.97))
    return len(os.listdir(os.path.join(folder, "parts")))


def cold(build, uri, sql, env, times):
    """Seconds of a process, median and least, its seconds of CPU, and what the last one said."""
    took, said = [], None
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    for _ in range(times):
        start = time.perf_counter()
        done = subprocess.run([build / "pilum", "query", uri, sql, "--format", "jsonl", "--stats", "json", "--timeout", "0"], env=env, capture_output=True, text=True)
        took.append(time.perf_counter() - start)
        if done.returncode != 0:
            raise SystemExit(done.stderr)
        said = done
    now = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = (now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime) / times
    return {"seconds": round(statistics.median(took), 3), "best": round(min(took), 3), "cpu": round(cpu, 3)}, said


def say(**what):
    print(json.dumps(what), flush=True)


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--parts", type=int, default=1000)
    options.add_argument("--rows", type=int, default=2000)
    options.add_argument("--latency-ms", type=float, default=30)
    options.add_argument("--s3", action="store_true")
    options.add_argument("--times", type=int, default=5)
    options.add_argument("--folder")
    options.add_argument("--build", default=str(ROOT / "build" / "release"))
    args = options.parse_args()
    build = Path(args.build)
    base = Path(args.folder or tempfile.mkdtemp(prefix="many-parts-"))
    bucket = "pilum-test"
    folder = base / bucket / f"d{args.parts}"
    start = time.perf_counter()
    parts = make(str(folder), args.parts, args.rows, build)
    say(what="put", parts=parts, seconds=round(time.perf_counter() - start, 1))
    sql = f"conversation_id = '{conversation(args.parts * 40 // 3)}'"
    env = {k: v for k, v in os.environ.items() if k not in ("PILUM_CACHE",)}

    def measure(where, uri, env, requests):
        for bundles in (False, True):
            if bundles:
                start = time.perf_counter()
                subprocess.run([build / "pilum", "store", "maintain", str(folder)], check=True, capture_output=True)
                size = sum(f.stat().st_size for f in (folder / "bundles").iterdir())
                say(what="maintain", parts=parts, seconds=round(time.perf_counter() - start, 2), bundles=len(list((folder / "bundles").iterdir())), bytes=size)
            else:
                for f in (folder / "bundles").glob("*"):
                    f.unlink()
            before = requests()
            times, said = cold(build, uri, sql, env, args.times)
            stats = json.loads(said.stderr.strip().split("\n")[-1])
            say(what="cold point read", where=where, parts=parts, bundles=bundles, **times, rows=stats["rows_returned"], parts_read=stats["parts_read"],
                opens=stats["opens"], ranged_reads=stats["requests"], bytes=stats["bytes"],
                requests=(requests() - before) / args.times if where == "s3" else None)

    measure("local", str(folder), env, lambda: 0)
    if not args.s3:
        return
    import server
    from proxy import Proxy

    port = server.free_port()
    program = server.find("versitygw")
    if program is None:
        raise SystemExit("no versitygw: run tools/versitygw")
    process = subprocess.Popen([program, "--port", f"127.0.0.1:{port}", "--keep-alive", "--quiet", "posix", "--nometa", str(base)],
                               env={"ROOT_ACCESS_KEY": server.ACCESS, "ROOT_SECRET_KEY": server.SECRET, "PATH": os.environ["PATH"], "HOME": str(base)},
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        while not server.answers(port):
            time.sleep(0.05)
        delay = args.latency_ms / 1e3
        proxy = Proxy(f"http://127.0.0.1:{port}", lambda n, method, target: ("delay", delay))
        env.update({"AWS_ACCESS_KEY_ID": server.ACCESS, "AWS_SECRET_ACCESS_KEY": server.SECRET, "AWS_ENDPOINT_URL": proxy.endpoint,
                    "AWS_REGION": "us-east-1", "AWS_CONFIG_FILE": "/dev/null", "AWS_SHARED_CREDENTIALS_FILE": "/dev/null"})
        measure("s3", f"s3://{bucket}/d{args.parts}", env, lambda: len(proxy.requests))
        with tempfile.TemporaryDirectory() as cache:
            env["PILUM_CACHE"] = cache
            cold(build, f"s3://{bucket}/d{args.parts}", sql, env, 1)
            before = len(proxy.requests)
            times, _ = cold(build, f"s3://{bucket}/d{args.parts}", sql, env, args.times)
            say(what="cold point read", where="s3", parts=parts, bundles=True, cache=True, **times,
                requests=(len(proxy.requests) - before) / args.times)
    finally:
        process.terminate()
        process.wait()


if __name__ == "__main__":
    main()
