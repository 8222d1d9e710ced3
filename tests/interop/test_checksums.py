"""Files of ours carry checksums that pylance does not see, and that notice what it would not."""

import lance.file
import numpy as np
import pyarrow as pa
import pytest

import pilum
from pilum.file import LanceFileReader, LanceFileWriter

N = 20_000


@pytest.fixture(params=["2.1", "2.2"])
def path(request, tmp_path):
    rng = np.random.default_rng(3)
    table = pa.table({"a": rng.integers(0, 1 << 40, N), "s": [f"text {i * i}" for i in range(N)]},
                     metadata={"k": "v"})
    p = tmp_path / "x.lance"
    with LanceFileWriter(p, table.schema, version=request.param) as w:
        w.write_batch(table)
        assert w.add_global_buffer(b"the user's") == 1
    return p


def test_others_read_the_file(path):
    theirs = lance.file.LanceFileReader(str(path))
    ours = LanceFileReader(path)
    assert theirs.read_all().to_table() == ours.read_all().to_table()
    assert theirs.metadata().schema.metadata == {b"k": b"v"} == ours.metadata().schema.metadata
    assert bytes(theirs.read_global_buffer(1)) == b"the user's" == ours.read_global_buffer(1)
    assert len(ours.metadata().global_buffers) == 2
    assert len(theirs.metadata().global_buffers) == 3


def test_a_flipped_bit(path):
    want = LanceFileReader(path).read_all().to_table()
    page = LanceFileReader(path).metadata().columns[0].pages[0]
    largest = max(page.buffers, key=lambda b: b.size)
    good = path.read_bytes()
    for at in range(largest.position + largest.size // 2 + 200, largest.position + largest.size):
        path.write_bytes(good[:at] + bytes([good[at] ^ 4]) + good[at + 1:])
        if not LanceFileReader(path, verify=False).read_all().to_table().equals(want):
            break
    assert not lance.file.LanceFileReader(str(path)).read_all().to_table().equals(want)
    for verify in (True, "all"):
        with pytest.raises(pilum.CorruptError, match="column 'a' page 0 .*do not agree with their checksum"):
            LanceFileReader(path, verify=verify).read_all().to_table()
        with pytest.raises(pilum.CorruptError, match="column 'a' page 0 .*do not agree with their checksum"):
            pilum.query(path, "SELECT * FROM t", verify=verify).to_table()
    assert not pilum.query(path, "SELECT * FROM t", verify=False).to_table().equals(want)
    with pytest.raises(ValueError):
        pilum.query(path, "SELECT * FROM t", verify="some")
    assert LanceFileReader(path, columns=["s"]).read_all().to_table() == want.select(["s"])
    faults = LanceFileReader(path).check()
    assert len(faults) == 1 and "column 'a' page 0 (rows 0 to " in faults[0]
    with pytest.raises(ValueError):
        LanceFileReader(path, verify="some")


def test_a_store_is_asked_with_and_without(tmp_path):
    store = pilum.store.open(tmp_path / "s" / "d")
    store.put(pa.table({"a": pa.array(range(5000), pa.int64()), "b": pa.array([i * 7919 % 4096 for i in range(5000)], pa.int64())}))
    part = next((tmp_path / "s" / "d").rglob("*.lance"))
    page = LanceFileReader(part).metadata().columns[1].pages[0]
    largest = max(page.buffers, key=lambda b: b.size)
    bytes_ = bytearray(part.read_bytes())
    bytes_[largest.position + largest.size // 2] ^= 4
    part.chmod(0o644)
    part.write_bytes(bytes_)
    for verify in (False, True, "all", False):  # in any order over one open store
        if verify:
            with pytest.raises(pilum.CorruptError, match="do not agree with their checksum"):
                store.query("SELECT SUM(b) FROM t", verify=verify).to_table()
        else:
            assert store.query("SELECT SUM(b) FROM t", verify=verify).to_table().num_rows == 1
    with pytest.raises(ValueError):
        store.query("SELECT * FROM t", verify="some")
