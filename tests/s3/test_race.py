"""Many processes put into one dataset and read it, over bad connections, and are killed: every acknowledged row counts once."""

import os
import random
import signal
import subprocess
import time
import uuid

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from proxy import Proxy

import pilum

SPOILS = ["refuse", "lose", "cut", "503", "500", ("delay", 0.2)]


def read(root):
    try:
        return pilum.store.open(f"{root}/d").query("SELECT id FROM t").to_table()["id"].to_pylist()
    except pilum.NotFound:
        return []


@pytest.mark.heavy
def test_writers_killed_at_any_moment(s3, build, tmp_path, monkeypatch):
    seed = int(os.environ.get("SEED", random.randrange(2**31)))
    seconds = float(os.environ.get("PILUM_S3_SECONDS", 20))
    print(f"seed {seed}")
    rng = random.Random(seed)
    proxy = Proxy(s3["AWS_ENDPOINT_URL"], lambda n, method, target: rng.choice(SPOILS) if rng.random() < 0.1 else None)
    monkeypatch.setenv("AWS_ENDPOINT_URL", proxy.endpoint)
    root = f"{s3['PILUM_TEST_S3']}/{uuid.uuid4().hex}"
    running, acknowledged, tried, killed, readings = [], set(), set(), 0, 0
    begin = time.monotonic()
    while time.monotonic() - begin < seconds or running:
        if time.monotonic() - begin < seconds and len(running) < 4:
            first, n = len(tried), rng.choice([1, 20, 3000])
            ids = list(range(first, first + n))
            path = tmp_path / f"{first}.parquet"
            pq.write_table(pa.table({"id": pa.array(ids, pa.int64()), "w": ["x"] * n}), path)
            tried.update(ids)
            process = subprocess.Popen([os.path.join(build, "pilum"), "store", "put", f"{root}/d", path], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            running.append((process, ids, time.monotonic() + rng.random() if rng.random() < 0.3 else None))
        for one in list(running):
            process, ids, kill_at = one
            if process.poll() is not None:
                running.remove(one)
                if process.returncode == 0:
                    acknowledged.update(ids)
                else:
                    assert process.returncode == -signal.SIGKILL, process.stderr.read()
                process.stderr.close()
            elif kill_at and time.monotonic() > kill_at:
                process.kill()
                killed += 1
        must = set(acknowledged)
        got = read(root)
        assert len(set(got)) == len(got), "rows twice"
        assert must <= set(got) <= tried
        readings += 1
    proxy.close()
    monkeypatch.setenv("AWS_ENDPOINT_URL", s3["AWS_ENDPOINT_URL"])
    assert acknowledged <= set(read(root))
    assert pilum.store.open(f"{root}/d").check() == []
    assert acknowledged and readings > 3
    print(f"{readings} readings, {len(acknowledged)} rows acknowledged, {killed} writers killed, {len(proxy.requests)} requests")
