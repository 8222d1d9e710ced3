"""Both engines write one table in a bucket at once, Pilum over bad connections, and some are killed: what was acknowledged is there,
what was not is there as a whole or not at all."""

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
import uuid
from pathlib import Path

import pyarrow as pa
import pytest
from proxy import Proxy

import pilum

HERE = Path(__file__).resolve().parent
SPOILS = ["refuse", "lose", "cut", "503", "500", ("delay", 0.2)]
REFUSALS = ("conflict", "Conflict", "concurrent", "retr")  # a call may lose a race for good, and says so


class Writer:
    """A process, and what it said: ``calls`` as table_writer.py prints them, of which the last may not be acknowledged."""

    def __init__(self, engine, uri, first, seed, env):
        self.engine, self.first, self.calls, self.acknowledged, self.killed = engine, first, [], 0, False
        command = [sys.executable, str(HERE / "table_writer.py"), engine, uri, str(first), str(seed)]
        self.process = subprocess.Popen(command, env={**os.environ, **env}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.errors = ""
        self.threads = [threading.Thread(target=self._listen), threading.Thread(target=self._heed)]
        [t.start() for t in self.threads]

    def _listen(self):
        for line in self.process.stdout:
            if line == "ok\n":
                self.acknowledged += 1
            elif line.endswith("\n"):
                self.calls.append(json.loads(line))

    def _heed(self):
        self.errors = self.process.stderr.read()

    def end(self):
        self.killed = self.process.poll() is None
        self.process.kill()
        [t.join() for t in self.threads]
        self.process.wait()

    def states(self):
        """Its rows, {id: w}, after what was acknowledged; and with the call after that."""
        rows, states = {}, []
        for i, (what, begin, end, turn) in enumerate([*self.calls, [None, 0, 0, 0]]):
            if i >= self.acknowledged:
                states.append(dict(rows))
            if what == "delete":
                rows = {k: w for k, w in rows.items() if not begin <= k < end}
            elif what == "update":
                rows.update({k: turn for k in rows if begin <= k < end})
            else:
                rows.update({k: turn for k in range(begin, end)})
        return states


@pytest.mark.heavy
def test_both_engines_write_one_table(s3):
    pytest.importorskip("lance")
    if "AWS_ENDPOINT_URL" not in s3:
        pytest.skip("pylance is told the address of a server here, and there is none")
    seed = int(os.environ.get("SEED", random.randrange(2**31)))
    seconds = float(os.environ.get("PILUM_S3_SECONDS", 20))
    print(f"seed {seed}")
    rng = random.Random(seed)
    proxy = Proxy(s3["AWS_ENDPOINT_URL"], lambda n, method, target: rng.choice(SPOILS) if rng.random() < 0.05 else None)
    uri = f"{s3['PILUM_TEST_S3']}/{uuid.uuid4().hex}/t.lance"
    pilum.write_dataset(pa.table({"id": pa.array([-1], pa.int64()), "w": pa.array([0], pa.int64())}), uri)
    running, ended = [], []
    begin = time.monotonic()
    while time.monotonic() - begin < seconds:
        while len(running) < 4:
            engine = ["pilum", "lance"][(len(ended) + len(running)) % 2]
            env = {"AWS_ENDPOINT_URL": proxy.endpoint} if engine == "pilum" else {}
            running.append(Writer(engine, uri, (len(ended) + len(running)) * 1_000_000, rng.randrange(2**31), env))
        time.sleep(0.2)
        for writer in list(running):
            if writer.process.poll() is not None or (writer.acknowledged and rng.random() < 0.02):
                writer.end()
                running.remove(writer)
                ended.append(writer)
    for writer in running:
        writer.end()
        ended.append(writer)
    proxy.close()
    rows = pilum.dataset(uri).to_table().to_pylist()
    got = {row["id"]: row["w"] for row in rows}
    assert len(got) == len(rows), "rows twice"
    for writer in ended:
        if not writer.killed and writer.process.returncode != -signal.SIGKILL:
            assert any(word in writer.errors for word in REFUSALS), f"{writer.engine}: {writer.errors}"
        own = {k: w for k, w in got.items() if writer.first <= k < writer.first + 1_000_000}
        assert own in writer.states(), f"{writer.engine}, rows from {writer.first}: {writer.calls[writer.acknowledged - 2:]}"
    check = pilum.dataset(uri)
    import lance

    theirs = lance.dataset(uri, storage_options={"allow_http": "true", "aws_endpoint": s3["AWS_ENDPOINT_URL"]})
    assert {row["id"]: row["w"] for row in theirs.to_table().to_pylist()} == got and theirs.version == check.version
    by_engine = {e: sum(w.acknowledged for w in ended if w.engine == e) for e in ("pilum", "lance")}
    assert by_engine["pilum"] > 3
    print(f"{by_engine} calls acknowledged, {sum(w.killed for w in ended)} of {len(ended)} writers killed, version {check.version}")
