"""Rows in the order that was asked for, from Python and the command line."""

import datetime
import random

import pyarrow as pa
import pytest

import pilum


def events(n=5000, days=10, seed=1):
    rng = random.Random(seed)
    start = datetime.datetime(2024, 1, 1)
    return pa.table({
        "user": pa.array([f"u{rng.randrange(5)}" for _ in range(n)]),
        "ts": pa.array([start + datetime.timedelta(seconds=rng.randrange(days * 86_400)) for _ in range(n)], pa.timestamp("us")),
        "row": pa.array(range(n)),
    })


def test_put_sorts(tmp_path):
    s = pilum.store.open(tmp_path / "ds")
    t = events()
    s.put(t, sort=["user", "ts"])
    got = [(r["user"], r["ts"], r["row"]) for r in s.query("SELECT user, ts, row FROM t").to_table().to_pylist()]
    assert got == sorted((r["user"], r["ts"], r["row"]) for r in t.to_pylist())
    assert s.put(t, sort=["user", "ts"]).new_parts == 0
    with pytest.raises(Exception, match="no column 'nothing'"):
        s.put(t, sort="nothing")


def test_parts_end_with_a_day(tmp_path):
    path = tmp_path / "ds"
    path.mkdir()
    (path / "dataset.toml").write_text('time = "ts"\nowner = "user"\n')
    s = pilum.store.open(path)
    assert s.put(events(20_000), sort="time", target_part_bytes=100_000).new_parts > 2
    spans = []
    for part in (path / "parts").glob("*.lance"):
        ts = pilum.file.LanceFileReader(str(part)).read_all().to_table()["ts"].to_pylist()
        assert ts == sorted(ts)
        spans.append((ts[0].date(), ts[-1].date()))
    spans.sort()
    assert all(a[1] < b[0] for a, b in zip(spans, spans[1:])), spans


def test_compaction_orders_by_owner_then_time(tmp_path):
    path = tmp_path / "ds"
    path.mkdir()
    (path / "dataset.toml").write_text('time = "ts"\nowner = "user"\n')
    s = pilum.store.open(path)
    for seed in range(3):
        s.put(events(seed=seed))
    assert s.compact(all=True).plans == 1
    got = s.query("SELECT user, ts FROM t").to_table().to_pylist()
    keys = [(r["user"], r["ts"]) for r in got]
    assert len(keys) == 15_000 and keys == sorted(keys)
    assert s.check() == []
