"""Data for the races: that of ../shared/bench/peers/gen.py where it is, else a small table of the same shape."""

import os
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa

ROOT = Path(__file__).resolve().parents[2]
PEERS = ROOT.parent / "shared" / "bench" / "peers"
# What scans of one column shall cost, ours / pylance.
COLUMN_GOALS = {"kind": 0.15, "tool": 0.15, "conversation_id": 0.17, "tags": 0.14, "content_hash": 0.30, "meta": 0.35,
                "text": 0.27, "id": 0.45, "ts": 0.45, "cost": 0.32}
BATCH = {"conv": 16384, "payload": 64, "vectors": 1024}  # at which pylance is best
FOLDER = Path(os.environ.get("BENCH_DIR") or Path(tempfile.gettempdir()) / "pilum-race")


def _generator():
    if not (PEERS / "gen.py").exists():
        return None
    os.environ.setdefault("BENCH_DIR", str(FOLDER))
    os.environ.setdefault("BENCH_OUT", os.devnull)
    sys.path.insert(0, str(PEERS))
    import gen

    return gen


def _conversations(rows):
    """Ids, low and high cardinality text, times, numbers, lists and structs, as a log of conversations has them."""
    rng = np.random.default_rng(2)
    words = np.array(["".join(rng.choice(list("abcdefghijklmnop"), rng.integers(2, 9))) for _ in range(5000)])
    text = [" ".join(words[rng.zipf(1.3, 30) % 5000]) for _ in range(rows)]
    lens = rng.poisson(1.6, rows).clip(0, 6)
    offsets = pa.array(np.concatenate([[0], np.cumsum(lens)]).astype(np.int32))
    return pa.table({
        "id": pa.array(rng.integers(1 << 40, 1 << 62, rows)),
        "conversation_id": pa.array([f"conv-{x:016x}" for x in np.repeat(rng.integers(0, 1 << 62, rows // 50 + 1), 50)[:rows]]),
        "ts": pa.array(np.sort(rng.integers(0, 10**15, rows))).cast(pa.timestamp("us")),
        "kind": pa.array(np.array(["user", "assistant", "tool_call", "tool_result", "system"])[rng.integers(0, 5, rows)]),
        "tool": pa.array([f"tool_{x % 200}" for x in rng.zipf(1.5, rows)]),
        "tokens": pa.array(rng.lognormal(5, 1.3, rows).astype(np.uint32)),
        "cost": pa.array(rng.gamma(1.2, 0.004, rows), mask=rng.random(rows) < 0.12),
        "ok": pa.array(rng.random(rows) < 0.93),
        "content_hash": pa.array([rng.bytes(32).hex() for _ in range(rows)]),
        "text": pa.array(text),
        "tags": pa.ListArray.from_arrays(offsets, pa.array([f"tag{x % 100:02d}" for x in rng.zipf(1.4, int(lens.sum()))])),
        "meta": pa.StructArray.from_arrays(
            [pa.array(rng.integers(0, 1000, rows).astype(np.int32)), pa.array([f"m{x}" for x in rng.integers(0, 5000, rows)])],
            names=["a", "b"]),
    })


def _payload(rows):
    rng = np.random.default_rng(3)
    noise = rng.bytes(1 << 20)
    lens = rng.lognormal(np.log(18000), 0.45, rows).astype(int).clip(500, 120000)
    data = [noise[i : i + n] for i, n in zip(rng.integers(0, 900_000, rows), lens)]
    return pa.table({"id": pa.array(np.arange(rows)), "payload": pa.array(data, pa.binary())})


def _vectors(rows):
    values = np.random.default_rng(1).standard_normal(rows * 384, dtype=np.float32)
    return pa.table({"vec": pa.FixedSizeListArray.from_arrays(pa.array(values), 384)})


def tables(rows, only=None):
    """{name: table}, or the named one; made once a size and kept as Arrow files under BENCH_DIR."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    gen = _generator()
    made = {
        "conv": lambda: gen.conv(rows, max(1, rows // 50), 2) if gen else _conversations(rows),
        "payload": lambda: gen.payload(max(100, rows // 60)) if gen else _payload(max(100, rows // 60)),
        "vectors": lambda: _vectors(max(100, rows // 5)),
    }
    out = {}
    for name, make in made.items():
        if only not in (None, name):
            continue
        path = FOLDER / f"race_{name}_{rows}{'' if gen else '_own'}.arrow"
        if not path.exists():
            table = make()
            with pa.OSFile(str(path) + ".tmp", "wb") as f, pa.ipc.new_file(f, table.schema) as w:
                w.write_table(table, max_chunksize=65536)
            os.replace(str(path) + ".tmp", path)
        with pa.OSFile(str(path)) as f:
            out[name] = pa.ipc.open_file(f).read_all()
    return out
