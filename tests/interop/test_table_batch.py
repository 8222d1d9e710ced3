"""Appends that are committed together: the contract of ``ds.batch()``, beside pylance."""

import os
import signal
import subprocess
import sys
import threading

import lance
import pyarrow as pa
import pytest

import pilum
from pilum.errors import ConflictError, UsageError
from test_table_write import both, ids, rows


def test_400_appends_are_one_version(tmp_path):
    uri = str(tmp_path / "t.lance")
    ds = pilum.write_dataset(rows(0, 10), uri, enable_stable_row_ids=True)
    with ds.batch(commit_message="many") as b:
        for i in range(400):
            assert b.append(rows(10 + i, 1)) is None
        assert pilum.dataset(uri).version == 1
    assert ds.version == 2 and ids(uri) == list(range(410))
    assert len(ds.get_fragments()) == 2
    assert lance.dataset(uri).get_transactions(1)[0].transaction_properties["__lance_commit_message"] == "many"
    with ds.batch():
        pass
    assert pilum.dataset(uri).version == 2
    both(uri)


def test_an_exception_leaves_nothing(tmp_path):
    uri = str(tmp_path / "t.lance")
    ds = pilum.write_dataset(rows(0, 10), uri)
    with pytest.raises(KeyError), ds.batch(max_bytes=100) as b:
        for i in range(20):
            b.append(rows(i, 10))
        raise KeyError("the caller's own")
    assert pilum.dataset(uri).version == 1
    assert len(os.listdir(os.path.join(uri, "data"))) == 1
    with ds.batch() as b:
        b.append(rows(10, 2))
        with pytest.raises(UsageError, match="unexpected=\\[z\\]"):
            b.append(pa.table({"z": [1]}))
        b.append([{"id": 12}])  # columns that may be NULL are left out
    assert ids(uri) == list(range(13))
    both(uri)


def test_what_others_overwrote(tmp_path):
    uri = str(tmp_path / "t.lance")
    ds = pilum.write_dataset(rows(0, 10), uri)
    b = ds.batch()
    b.append(rows(10, 1))
    lance.write_dataset(rows(20, 1), uri, mode="append")
    assert b.commit() == 3
    b.append(rows(11, 1))
    lance.write_dataset(rows(30, 1), uri, mode="overwrite")
    for _ in range(2):
        with pytest.raises(ConflictError):
            b.commit()
    b.abandon()
    assert b.append(rows(31, 1), commit=True) == 5
    assert ids(uri) == [30, 31]


def test_threads_share_versions(tmp_path):
    uri = str(tmp_path / "t.lance")
    ds = pilum.write_dataset(rows(0, 1), uri)
    b = ds.batch()
    failed = []

    def work(t):
        try:
            for i in range(20):
                n = 1 + 20 * t + i
                version = b.append(rows(n, 1), commit=True)
                assert n in pilum.dataset(uri, version).to_table(columns=["id"])["id"].to_pylist()
        except Exception as e:  # noqa: BLE001
            failed.append(e)

    threads = [threading.Thread(target=work, args=(t,)) for t in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not failed
    assert ids(uri) == list(range(161))
    assert pilum.dataset(uri).version < 161  # some waited together
    lance.dataset(uri).validate()


CHILD = """
import sys, pilum
sys.path.insert(0, sys.argv[2])
from test_table import rows
b = pilum.dataset(sys.argv[1]).batch()
n = 100
while True:
    for _ in range(5):
        b.append(rows(n, 1)); n += 1
    b.commit()
    print(n, flush=True)
"""


@pytest.mark.parametrize("seconds", [0.05, 0.2])
def test_killed(tmp_path, seconds):
    """Groups of five are there whole or not, and what was acknowledged is there."""
    uri = str(tmp_path / "t.lance")
    pilum.write_dataset(rows(0, 100), uri)
    child = subprocess.Popen([sys.executable, "-c", CHILD, uri, os.path.dirname(__file__)], stdout=subprocess.PIPE, text=True)
    acknowledged = int(child.stdout.readline())
    timer = threading.Timer(seconds, child.send_signal, [signal.SIGKILL])
    timer.start()
    for line in child.stdout:
        acknowledged = int(line)
    child.wait()
    there = ids(uri)
    assert there == list(range(len(there)))
    assert len(there) % 5 == 0 and len(there) in (acknowledged, acknowledged + 5)
    assert pilum.dataset(uri).version == 1 + (len(there) - 100) // 5
