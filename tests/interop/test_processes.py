"""Threads, forks and signals."""

import multiprocessing
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import pilum
from pilum.file import LanceFileReader, LanceFileWriter

N = 200_000


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(1)
    return pa.table({"a": rng.integers(0, 1000, N), "s": [f"row {i} of many" for i in range(N)],
                     "f": rng.standard_normal(N)})


@pytest.fixture(scope="module")
def path(tmp_path_factory, table):
    p = tmp_path_factory.mktemp("data") / "x.lance"
    with LanceFileWriter(p, table.schema) as w:
        w.write_batch(table)
    return p


@pytest.fixture(scope="module")
def store(tmp_path_factory, table):
    s = pilum.store.open(tmp_path_factory.mktemp("store") / "ds")
    for i in range(4):
        s.put(table.slice(i * N // 4, N // 4))
    return s


def sum_of(path):
    return sum(pc.sum(b.column("a")).as_py() for b in LanceFileReader(path).read_all().to_batches())


def test_one_reader_many_threads(path, table):
    reader = LanceFileReader(path)

    def work(seed):
        rng = np.random.default_rng(seed)
        for _ in range(20):
            rows = np.unique(rng.integers(0, N, 50))
            assert reader.take_rows(rows).to_table().equals(table.take(pa.array(rows)))
            start = int(rng.integers(0, N - 500))
            assert reader.read_range(start, 500).to_table().equals(table.slice(start, 500))
        return True

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(8)))


def test_one_store_many_threads(store):
    def work(i):
        got = store.query("SELECT s FROM t WHERE a = ?", [i]).to_table()
        return got.num_rows

    with ThreadPoolExecutor(8) as pool:
        counts = list(pool.map(work, range(100)))
    assert counts == [work(i) for i in range(100)]


def test_one_stream_many_threads(path, table):
    """Every row comes once, whoever asks."""
    stream = LanceFileReader(path)._reader.read_range(0, N, 1000)
    rows, lock = [], threading.Lock()

    def work(_):
        while (batch := stream.next()) is not None:
            with lock:
                rows.append(batch.num_rows)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    assert sum(rows) == N and len(rows) == N // 1000


def test_the_gil_is_free_meanwhile(path):
    ticks, stop = [0], threading.Event()

    def count():
        while not stop.is_set():
            ticks[0] += 1
            time.sleep(0.0005)

    thread = threading.Thread(target=count)
    thread.start()
    before, end = ticks[0], time.monotonic() + 0.5
    while time.monotonic() < end:
        LanceFileReader(path).read_all().to_table()
    seen = ticks[0] - before
    stop.set()
    thread.join()
    assert seen > 20


def test_import_starts_no_threads():
    code = "import os, pilum; print(len(os.listdir('/proc/self/task')))"
    env = {**os.environ, "PYTHONPATH": str(Path(pilum.__file__).parents[1])}
    alone = subprocess.run([sys.executable, "-c", code.replace("import os, pilum", "import os, pyarrow")], env=env,
                           capture_output=True, text=True)
    run = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)
    assert run.stdout == alone.stdout, run.stderr


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_os_fork(path, store):
    want = sum_of(path)
    rows = store.query("a < 10").to_table().num_rows
    reader = LanceFileReader(path)
    reader.take_rows([1, 5]).to_table()
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            good = sum_of(path) == want and reader.take_rows([1, 5]).to_table().num_rows == 2
            good = good and store.query("a < 10").to_table().num_rows == rows
            code = 0 if good else 2
        finally:
            os._exit(code)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            assert os.waitstatus_to_exitcode(status) == 0
            return
        time.sleep(0.02)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    pytest.fail("the child hangs")


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_half_read_stream_does_not_cross_a_fork(path, store):
    """The child is told so, can read anew, and ends."""
    streams = [LanceFileReader(path).read_all().to_batches(), store.query("SELECT * FROM t").to_batches()]
    for stream in streams:
        stream.read_next_batch()

    def child(results):
        said = []
        for stream in streams:
            try:
                stream.read_next_batch()
            except ValueError as e:
                said.append("fork" in str(e))
        results.put((said, sum_of(path)))

    context = multiprocessing.get_context("fork")
    results = context.Queue()
    process = context.Process(target=child, args=(results,))
    process.start()
    assert results.get(timeout=60) == ([True, True], sum_of(path))
    process.join(timeout=30)
    assert process.exitcode == 0
    assert sum(b.num_rows for b in streams[0]) == N - 1024


def fork_and_write(path):
    out = path + f".{os.getpid()}"
    table = LanceFileReader(path).read_range(0, 1000).to_table()
    with LanceFileWriter(out, table.schema) as w:
        w.write_batch(table)
    return sum_of(path), LanceFileReader(out).read_all().to_table().equals(table)


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_multiprocessing(path, method):
    want = sum_of(path)
    with multiprocessing.get_context(method).Pool(2) as pool:
        got = pool.map_async(fork_and_write, [str(path)] * 4).get(timeout=120)
    assert got == [(want, True)] * 4


def interrupted(tmp_path, body, after=1.0):
    """Runs `body` in a process of its own, sends SIGINT, and gives (seconds until it ended, its output)."""
    script = tmp_path / "job.py"
    script.write_text(textwrap.dedent("""
        import sys, threading, time
        import numpy as np, pyarrow as pa, pilum
        def started():
            print("started", flush=True)
        """) + textwrap.dedent(body) + "\nprint('finished', flush=True)\n")
    env = {**os.environ, "PYTHONPATH": str(Path(pilum.__file__).parents[1])}
    child = subprocess.Popen([sys.executable, str(script)], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert child.stdout.readline().strip() == "started", child.communicate()[1]
    time.sleep(after)
    child.send_signal(signal.SIGINT)
    begin = time.monotonic()
    try:
        out, err = child.communicate(timeout=30)
    except subprocess.TimeoutExpired:
        child.kill()
        child.communicate()
        pytest.fail("Ctrl-C was not heard within 30 s")
    return time.monotonic() - begin, out + err


def test_interrupt_a_scan(path, tmp_path):
    took, output = interrupted(tmp_path, f"""
        started()
        while True:
            pilum.file.LanceFileReader({str(path)!r}).read_all().to_table()
        """)
    assert "KeyboardInterrupt" in output and took < 25, output


def test_interrupt_a_query(store, tmp_path):
    took, output = interrupted(tmp_path, f"""
        s = pilum.store.open({str(store._path)!r})
        started()
        while True:
            for form in (lambda r: r.to_table(), lambda r: list(r), pa.table):
                form(s.query("s LIKE '%nothing like it%' OR f > 100", use_index=False))
        """)
    assert "KeyboardInterrupt" in output and took < 25, output


def test_interrupt_one_long_call(tmp_path):
    """A single put that takes long: the call itself must hear it, and leave no half part."""
    took, output = interrupted(tmp_path, f"""
        rng = np.random.default_rng(0)
        t = pa.table({{f"c{{i}}": rng.standard_normal(200_000) for i in range(8)}})
        def many():
            started()
            for i in range(100_000):
                yield from t.to_batches()
        reader = pa.RecordBatchReader.from_batches(t.schema, many())
        pilum.store.open({str(tmp_path / "ds")!r}).put(reader)
        """, after=2.0)
    assert "KeyboardInterrupt" in output and took < 25, output
    if (tmp_path / "ds").exists():
        s = pilum.store.open(tmp_path / "ds")
        assert not (tmp_path / "ds" / "parts").exists() or s.check() == []


def test_python_handlers_run_during_long_calls(store):
    """Any Python signal handler, not only Ctrl-C: here one that raises its own exception."""

    class Alarm(Exception):
        pass

    def raise_alarm(signum, frame):
        raise Alarm

    old = signal.signal(signal.SIGALRM, raise_alarm)
    signal.setitimer(signal.ITIMER_REAL, 0.3)
    try:
        with pytest.raises(Alarm):
            while True:
                store.query("s LIKE '%nothing like it%'", use_index=False).to_table()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)
    assert store.query("a = 1").to_table().num_rows > 0


WRITE = """
import sys, pyarrow.ipc
from pilum.file import LanceFileWriter
with pyarrow.ipc.open_file(sys.argv[1]) as f:
    table = f.read_all()
with LanceFileWriter(sys.argv[2], table.schema, profile=sys.argv[3]) as w:
    w.write_batch(table)
"""


def varied_table():
    rng = np.random.default_rng(7)
    n = 60_000
    words = np.array([f"{w}{i}" for i in range(300) for w in ("alpha", "be", "gamma")])
    return pa.table({
        "text": [" ".join(rng.choice(words, 9)) for _ in range(n)],
        "kind": pa.array(rng.choice(["user", "tool", "system"], n), mask=rng.random(n) < 0.05),
        "day": np.arange(n, dtype=np.int32) // 1000,
        "cost": pa.array(rng.gamma(1.2, 0.004, n), mask=rng.random(n) < 0.1),
        "bytes": pa.array([rng.bytes(40_000) if i % 500 == 0 else b"short" for i in range(n)]),
        "tags": pa.array([["a", "b", None][: i % 4] for i in range(n)]),
    })


@pytest.mark.parametrize("profile", ["fast", "balanced", "small"])
def test_same_rows_same_bytes(tmp_path, profile):
    """However they are batched, by whichever thread or process they are written."""
    table = varied_table()

    def write(name, batches):
        with LanceFileWriter(tmp_path / name, table.schema, profile=profile) as w:
            for b in batches:
                w.write_batch(b)
        return (tmp_path / name).read_bytes()

    whole = write("whole", [table])
    for rows in (777, 8192, 50_000):
        assert write(f"by{rows}", table.to_batches(max_chunksize=rows)) == whole, rows
    with ThreadPoolExecutor(3) as pool:
        assert set(pool.map(lambda i: write(f"thread{i}", [table]), range(3))) == {whole}
    rows = tmp_path / "rows.arrow"
    with pa.OSFile(str(rows), "wb") as f, pa.ipc.new_file(f, table.schema) as w:
        w.write_table(table, max_chunksize=10_000)
    subprocess.run([sys.executable, "-c", WRITE, str(rows), str(tmp_path / "process"), profile], check=True)
    assert (tmp_path / "process").read_bytes() == whole
    assert LanceFileReader(tmp_path / "process").read_all().to_table().equals(table)
