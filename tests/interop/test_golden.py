"""The recorded corpus: files by pylance with the rows that it read from them."""

import random
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

import pilum
from compare import check
from conftest import corpus
from pilum.file import LanceFileReader, LanceFileWriter


def recorded(version):
    seen = {}
    for folder in corpus(version):
        for path in sorted(folder.glob("*.lance")):
            if path.with_suffix(".arrow").exists():
                seen.setdefault(path.name, path)
    return [pytest.param(p, id=f"{version}/{p.stem}") for p in seen.values()]


def load(path):
    with pa.memory_map(str(path)) as m:
        return pa.ipc.open_file(m).read_all()


WRITABLE = recorded("v2_0") + recorded("v2_1") + recorded("v2_2")
UNSTABLE = recorded("unstable_v2_3")
FILES = WRITABLE + UNSTABLE
DAMAGED = [pytest.param(p, id=p.stem) for d in corpus("damaged") for p in sorted(d.glob("*.lance"))]


@pytest.mark.parametrize("path", FILES)
def test_read(path):
    want = load(path.with_suffix(".arrow"))
    reader = LanceFileReader(path, allow_unstable="unstable" in path.parent.name)
    got = reader.read_all().to_table()
    check(got, want, "whole")
    assert got.schema.equals(want.schema, check_metadata=False)
    assert (got.schema.metadata or {}) == (want.schema.metadata or {})
    for g, w in zip(got.schema, want.schema):
        assert (g.metadata or {}) == (w.metadata or {}), g.name
    n = want.num_rows
    assert reader.num_rows() == n
    sizes = [b.num_rows for b in reader.read_all(batch_size=700).to_batches()]
    assert sum(sizes) == n and all(s == 700 for s in sizes[:-1])
    rng = random.Random(path.name)
    for k in (1, 5, 60):
        rows = sorted(rng.sample(range(n), min(k, n)))
        check(reader.take_rows(rows).to_table(), want.take(pa.array(rows, pa.int64())), f"take {rows[:8]}")
    start = rng.randint(0, n)
    count = rng.randint(0, n - start)
    check(reader.read_range(start, count).to_table(), want.slice(start, count), f"range {start}+{count}")


@pytest.mark.parametrize("path", WRITABLE)
def test_rewrite(path, tmp_path):
    """Written again by us, read by both."""
    lance_file = pytest.importorskip("lance.file")
    want = load(path.with_suffix(".arrow"))
    if "packed_struct_nulls" in path.name:
        pytest.skip("no Lance file version keeps nulls of packed structs")
    out = tmp_path / "x.lance"
    version = path.parent.name[1:].replace("_", ".")
    with LanceFileWriter(out, want.schema, version=version) as w:
        w.write_batch(want)
    check(LanceFileReader(out).read_all().to_table(), want, "our read")
    check(lance_file.LanceFileReader(str(out)).read_all().to_table(), want, "pylance's read")


@pytest.mark.parametrize("path", UNSTABLE[:5])
def test_unstable_versions_are_refused_by_name(path):
    version = path.parent.name.split("v")[-1].replace("_", ".")
    with pytest.raises(pilum.UnsupportedError, match=version.replace(".", r"\.")) as e:
        LanceFileReader(path)
    assert isinstance(e.value, NotImplementedError)
    assert "allow_unstable=True" in str(e.value)
    assert path.name in str(e.value)


@pytest.mark.parametrize("path", DAMAGED)
def test_damaged(path):
    code = f"""
import resource; resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
import pilum.file
try:
    pilum.file.LanceFileReader({str(path)!r}).read_all().to_table().validate(full=True)
except (pilum.CorruptError, pilum.UnsupportedError) as e:
    assert {path.name!r} in str(e), e
"""
    env_path = str(Path(pilum.__file__).parents[1])
    run = subprocess.run([sys.executable, "-c", f"import sys; sys.path.insert(0, {env_path!r})\n" + code],
                         capture_output=True, text=True, timeout=60)
    assert run.returncode == 0, run.stderr[-800:]


@pytest.mark.parametrize("version", ["2.0", "2.1", "2.2"])
def test_recorded_global_buffers(version):
    for folder in corpus("special"):
        path = folder / f"global_buffers_{version}.lance"
        if path.exists():
            reader = LanceFileReader(path)
            assert reader.read_global_buffer(1) == b"hello world"
            assert reader.read_global_buffer(2) == bytes(100)
            assert reader.metadata().schema.metadata[b"late"] == b"value"
