"""Part stores and Lance files in a bucket, on a real S3 server, with good and bad connections."""

import json
import os
import signal
import subprocess
import threading
import time
import uuid
from pathlib import Path

import boto3
import pyarrow as pa
import pyarrow.csv as pcsv
import pytest
from proxy import Proxy

import pilum
from pilum.file import LanceFileReader, LanceFileWriter


@pytest.fixture
def root(s3):
    return f"{s3['PILUM_TEST_S3']}/{uuid.uuid4().hex}"


def rows(n, seed=0):
    return pa.table({
        "id": pa.array(range(seed, seed + n), pa.int64()),
        "name": [f"name {i % 97} é" for i in range(n)],
        "x": pa.array([None if i % 11 == 0 else i / 7 for i in range(n)], pa.float64()),
        "tags": [[f"t{i % 5}", f"u{i % 3}"] for i in range(n)],
    })


def run(build, *args, env=None, timeout=120):
    return subprocess.run([os.path.join(build, "pilum"), *map(str, args)], capture_output=True, text=True, timeout=timeout, env={**os.environ, **(env or {})})


QUERIES = [
    "SELECT * FROM t WHERE id = 2700",
    "SELECT id, name FROM t WHERE name = 'name 13 é' AND x > 100",
    "SELECT COUNT(*) AS n, SUM(x) AS s FROM t",
    "SELECT id FROM t WHERE x IS NULL ORDER BY id DESC LIMIT 7",
]


def test_the_store_conformance_suite(s3, build):
    done = subprocess.run([os.path.join(build, "src/pilum/pilum_io_test"), "--gtest_filter=*Stores*/3"], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout[-4000:]
    assert "SKIPPED" not in done.stdout and "[  PASSED  ]" in done.stdout


def test_a_store_in_a_bucket_answers_as_a_local_one(root, tmp_path):
    stores = [pilum.store.open(f"{root}/d"), pilum.store.open(str(tmp_path / "d"))]
    for store in stores:
        for i in range(4):
            store.put(rows(3000, i * 2500))
        assert store.put(rows(3000, 0)).new_parts == 0
        assert store.check() == []
    far, near = stores
    assert [p.name for p in far.parts()] == [p.name for p in near.parts()]
    for sql in QUERIES:
        for use_index in (True, False):
            a, b = far.query(sql, use_index=use_index), near.query(sql, use_index=use_index)
            assert a.to_table().equals(b.to_table()), sql
            assert {k: v for k, v in a.counts.items()} == {k: v for k, v in b.counts.items()}
    assert far.query(QUERIES[0]).to_table().num_rows == 2


def test_the_command_line(root, build, tmp_path):
    pcsv.write_csv(rows(2000).select(["id", "name", "x"]), tmp_path / "t.csv")
    put = run(build, "store", "put", f"{root}/d", tmp_path / "t.csv")
    assert put.returncode == 0 and "2,000 rows in 1 new part" in put.stdout, put.stderr
    assert "already there" in run(build, "store", "put", f"{root}/d", tmp_path / "t.csv").stdout
    assert "1 part, 2,000 rows" in run(build, "store", "ls", f"{root}/d").stdout
    assert "sound" in run(build, "store", "check", f"{root}/d").stdout
    got = run(build, "query", f"{root}/d", "SELECT name FROM t WHERE id = 7", "--format", "csv", "--stats", "json")
    assert got.stdout.splitlines()[-1].strip('"') == "name 7 é", got.stderr
    stats = json.loads(got.stderr[got.stderr.index("{"):])
    assert stats["requests"] > 0 and stats["opens"] > 0
    # Single files: written, read, converted and queried.
    assert run(build, "file", "convert", tmp_path / "t.csv", f"{root}/a b+c=d.lance").returncode == 0
    info = run(build, "file", "info", f"{root}/a b+c=d.lance")
    assert "2,000" in info.stdout, info.stderr
    assert run(build, "query", f"{root}/a b+c=d.lance", "SELECT COUNT(*) AS n FROM t", "--format", "csv").stdout.split() == ["n", "2000"]
    assert run(build, "file", "convert", f"{root}/a b+c=d.lance", f"{root}/t.parquet").returncode == 0
    assert run(build, "file", "convert", f"{root}/t.parquet", tmp_path / "back.csv").returncode == 0
    assert pcsv.read_csv(tmp_path / "back.csv").equals(pcsv.read_csv(tmp_path / "t.csv"))


def test_errors_say_what_to_do(root, build, s3):
    for args, env, wanted in [
        (("query", f"{root}/none", "id = 1"), {}, "no dataset here"),
        (("file", "info", f"{root}/none.lance"), {}, "there is no such object"),
        (("query", "s3://no-such-bucket-here/d", "id = 1"), {}, "bucket"),
        (("query", f"{root}/d", "id = 1"), {"AWS_SECRET_ACCESS_KEY": ""}, "AWS_SECRET_ACCESS_KEY is not; set it"),
        (("query", f"{root}/d", "id = 1"), {"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": ""}, "no credentials; set AWS_ACCESS_KEY_ID"),
        (("query", f"{root}/d", "id = 1"), {"AWS_ENDPOINT_URL": "http://127.0.0.1:9"}, "http://127.0.0.1:9"),
        (("query", "s3:///d", "id = 1"), {}, "no bucket name"),
        (("query", "gs://b/d", "id = 1"), {}, "s3://BUCKET/PREFIX"),
    ]:
        done = run(build, *args, env=env)
        assert done.returncode != 0 and wanted in done.stderr, (args, env, done.stderr)
    if s3["kind"] == "versitygw":
        done = run(build, "query", f"{root}/d", "id = 1", env={"AWS_SECRET_ACCESS_KEY": "wrong"})
        assert "AWS_SECRET_ACCESS_KEY" in done.stderr and done.returncode != 0, done.stderr


def test_lance_files_in_python(root, s3):
    table = rows(5000)
    with LanceFileWriter(f"{root}/x/y.lance", table.schema) as writer:
        writer.write_batch(table)
    assert LanceFileReader(f"{root}/x/y.lance").read_all().to_table().equals(table)
    assert pilum.store.query(f"{root}/x/y.lance", "SELECT COUNT(*) AS n FROM t").to_table()["n"].to_pylist() == [5000]
    with pytest.raises(pilum.NotFound, match="no such object"):
        LanceFileReader(f"{root}/x/z.lance")
    dropped = LanceFileWriter(f"{root}/x/dropped.lance", table.schema)
    dropped.write_batch(table)
    del dropped
    with pytest.raises(pilum.NotFound):
        LanceFileReader(f"{root}/x/dropped.lance")


def test_lance_tables_in_a_bucket(root, s3, build):
    golden = Path(__file__).parents[1] / "golden" / "table"
    # Not by Arrow's file system: of its requests the server finds some malformed.
    client = boto3.client("s3", endpoint_url=s3["AWS_ENDPOINT_URL"], region_name=s3["AWS_REGION"], aws_access_key_id=s3["AWS_ACCESS_KEY_ID"],
                          aws_secret_access_key=s3["AWS_SECRET_ACCESS_KEY"])
    bucket, prefix = root.removeprefix("s3://").split("/", 1)
    for name in ("merge-insert-stable", "old-0.33.0-stable"):
        table = golden / name / "table.lance"
        for path in filter(Path.is_file, table.rglob("*")):
            client.upload_file(str(path), bucket, f"{prefix}/{name}.lance/{path.relative_to(table)}")
        far, near = pilum.dataset(f"{root}/{name}.lance"), pilum.dataset(golden / name / "table.lance")
        assert far.versions() == near.versions()
        for v in near.versions():
            a, b = far.checkout_version(v["version"]), near.checkout_version(v["version"])
            assert a.to_table(with_row_id=True).equals(b.to_table(with_row_id=True))
            assert a.read_transaction(a.version) == b.read_transaction(b.version)
        assert far.take([3, 0, 3]).equals(near.take([3, 0, 3]))
        done = run(build, "query", f"{root}/{name}.lance", "SELECT COUNT(*) AS n FROM t")
        assert done.stdout == f"n\n{near.count_rows()}\n", done.stderr
    with pytest.raises(pilum.NotFound, match="no Lance table"):
        pilum.dataset(f"{root}/none.lance")


def test_lance_tables_are_written_in_a_bucket(root, s3):
    """By conditional puts; where pylance is there it writes too, and both read the same."""
    uri = f"{root}/written.lance"
    ds = pilum.write_dataset(pa.table({"id": list(range(10))}), uri, enable_stable_row_ids=True)
    stale = pilum.dataset(uri)
    pilum.write_dataset(pa.table({"id": [10, 11]}), uri, mode="append")
    pilum.write_dataset(pa.table({"id": [12]}), stale, mode="append")  # two of the same version
    stale.delete("id % 5 = 1")  # of the rows that it has
    ds = pilum.dataset(uri)
    ds.tags.create("kept", 1)
    assert sorted(ds.to_table()["id"].to_pylist()) == [0, 2, 3, 4, 5, 7, 8, 9, 10, 11, 12]
    assert [v["version"] for v in ds.versions()] == [1, 2, 3, 4]
    with pytest.raises(pilum.UsageError, match="already exists"):
        pilum.write_dataset(pa.table({"id": [1]}), uri)
    lance = pytest.importorskip("lance")
    options = {"allow_http": "true", "aws_endpoint": s3["AWS_ENDPOINT_URL"]} if "AWS_ENDPOINT_URL" in s3 else None
    lance.write_dataset(pa.table({"id": [20]}), uri, mode="append", storage_options=options)
    ds.delete("id = 20 or id = 0")
    theirs = lance.dataset(uri, storage_options=options)
    assert sorted(theirs.to_table()["id"].to_pylist()) == [2, 3, 4, 5, 7, 8, 9, 10, 11, 12, 20] == sorted(ds.to_table()["id"].to_pylist())
    assert theirs.version == ds.version == 6


def test_branches_clones_and_raw_commits_in_a_bucket(root, s3, tmp_path):
    from pilum import LanceOperation
    from pilum.fragment import write_fragments

    uri, far, near = f"{root}/b.lance", f"{root}/far.lance", str(tmp_path / "near.lance")
    fragments = write_fragments(pa.table({"id": list(range(10))}), uri, mode="create", max_rows_per_file=4)
    ds = pilum.LanceDataset.commit(uri, LanceOperation.Overwrite(pa.schema([("id", pa.int64())]), fragments))
    ds.delete("id = 3")
    ds.create_branch("dev/one").delete("id = 4")
    with pytest.raises(pilum.UsageError, match="already exists"):
        ds.create_branch("dev/one")
    ds.shallow_clone(far)
    ds.checkout_version(("dev/one", None)).deep_clone(near)
    branch = pilum.dataset(uri, version=("dev/one", None))
    missing = [renamed(f, "nope.lance") for f in write_fragments(pa.table({"id": [1]}), uri)]
    with pytest.raises(pilum.NotFound, match="nope.lance"):
        pilum.LanceDataset.commit(uri, LanceOperation.Append(missing), read_version=2)
    assert sorted(branch.to_table()["id"].to_pylist()) == [0, 1, 2, 5, 6, 7, 8, 9] == sorted(pilum.dataset(near).to_table()["id"].to_pylist())
    assert pilum.dataset(far).count_rows() == 9 and list(ds.branches.list()) == ["dev/one"]
    lance = pytest.importorskip("lance")
    options = {"allow_http": "true", "aws_endpoint": s3["AWS_ENDPOINT_URL"]} if "AWS_ENDPOINT_URL" in s3 else None
    theirs = lance.dataset(uri, storage_options=options)
    assert theirs.checkout_version(("dev/one", None)).count_rows() == 8
    assert lance.dataset(far, storage_options=options).to_table()["id"].to_pylist() == pilum.dataset(far).to_table()["id"].to_pylist()
    theirs.create_branch("theirs")
    assert pilum.dataset(uri, version=("theirs", None)).count_rows() == 9
    pilum.dataset(uri).branches.delete("dev/one")
    assert list(pilum.dataset(uri).branches.list()) == ["theirs"]
    with pytest.raises(pilum.NotFound):
        pilum.dataset(uri, version=("dev/one", None))


def renamed(fragment, path):
    fragment.files[0].path = path
    return fragment


def test_storage_options_stand_for_the_environment(root, s3, monkeypatch):
    options = {"endpoint": s3["AWS_ENDPOINT_URL"], "access_key_id": s3["AWS_ACCESS_KEY_ID"], "secret_access_key": s3["AWS_SECRET_ACCESS_KEY"]}
    for name in ("AWS_ENDPOINT_URL", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    with pytest.raises(pilum.UsageError, match="no credentials"):
        pilum.store.open(f"{root}/d")
    store = pilum.store.open(f"{root}/d", options)
    store.put(rows(10))
    assert store.num_rows() == 10
    with LanceFileWriter(f"{root}/f.lance", rows(3).schema, storage_options=options) as writer:
        writer.write_batch(rows(3))
    assert LanceFileReader(f"{root}/f.lance", options).num_rows() == 3
    assert pilum.store.query(f"{root}/f.lance", "id >= 0", storage_options=options).to_table().num_rows == 3
    with pytest.raises(pilum.UsageError, match="no storage option 'endpiont'"):
        pilum.store.open(f"{root}/d", {"endpiont": "x"})


SPOILS = ["refuse", "lose", "cut", "503", "500", ("delay", 0.3)]


@pytest.mark.parametrize("how", [*SPOILS, "short"])
def test_every_third_answer_is_spoilt(root, s3, how, monkeypatch):
    """Puts and reads are as without; each row is there once."""

    def spoil(n, method, target):
        if how == "short" and (method != "GET" or "list-type" in target or ".lance" not in target):
            return None
        return how if n % 3 == 1 else None

    proxy = Proxy(s3["AWS_ENDPOINT_URL"], spoil)
    monkeypatch.setenv("AWS_ENDPOINT_URL", proxy.endpoint)
    store = pilum.store.open(f"{root}/d")
    for i in range(2):
        assert store.put(rows(500, i * 500)).new_parts == 1
    assert sorted(store.query("SELECT id FROM t").to_table()["id"].to_pylist()) == list(range(1000))
    assert len(store.parts()) == 2 and store.check() == []
    assert len(proxy.requests) > 10
    proxy.close()


def test_nonsense_for_an_answer_is_an_error(root, s3, monkeypatch):
    store = pilum.store.open(f"{root}/d")
    store.put(rows(50_000))
    for how in ("garbage", "long"):
        proxy = Proxy(s3["AWS_ENDPOINT_URL"], lambda n, method, target: how if method == "GET" else None)
        monkeypatch.setenv("AWS_ENDPOINT_URL", proxy.endpoint)
        with pytest.raises(pilum.Error, match="s3://pilum-test/"):
            pilum.store.open(f"{root}/d").query("SELECT id FROM t").to_table()
        proxy.close()


def test_a_deadline_and_a_stop_are_kept_while_the_server_is_silent(root, s3, build, monkeypatch):
    pilum.store.open(f"{root}/d").put(rows(1000))
    proxy = Proxy(s3["AWS_ENDPOINT_URL"], lambda n, method, target: ("delay", 30) if ".lance" in target and "prefix" not in target else None)
    monkeypatch.setenv("AWS_ENDPOINT_URL", proxy.endpoint)
    store = pilum.store.open(f"{root}/d")
    process = subprocess.Popen([os.path.join(build, "pilum"), "query", f"{root}/d", "SELECT id FROM t WHERE id = 7"], stderr=subprocess.PIPE)
    time.sleep(1.5)
    began = time.monotonic()
    process.send_signal(signal.SIGTERM)  # SIGINT is ignored below a job in the background
    process.wait(10)
    assert time.monotonic() - began < 10  # the server is silent for 30
    done = run(build, "query", f"{root}/d", "SELECT id FROM t WHERE id = 7", "--timeout", "0.5")
    assert done.returncode != 0 and "no answer within 0.5 s" in done.stderr, done.stderr
    del store
    proxy.close()


def test_many_put_at_once(root, s3):
    """Twelve threads put twelve inputs, each three times: no row is lost or there twice."""
    tables = [rows(50, 1000 * i) for i in range(12)]
    store = pilum.store.open(f"{root}/d")
    failed = []

    def put(i):
        try:
            for _ in range(3):
                pilum.store.open(f"{root}/d").put(tables[i])
        except Exception as e:  # noqa: BLE001
            failed.append(e)

    threads = [threading.Thread(target=put, args=(i,)) for i in range(12)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert not failed, failed[0]
    got = store.refresh().query("SELECT id FROM t").to_table()["id"].to_pylist()
    assert sorted(got) == sorted(i for t in tables for i in t["id"].to_pylist())


def test_bundles_save_requests(root, s3, build, tmp_path, monkeypatch):
    store = pilum.store.open(f"{root}/d")
    for i in range(24):
        store.put(rows(50, i * 50))
    want = store.query("id = 777").to_table()
    proxy = Proxy(s3["AWS_ENDPOINT_URL"])
    monkeypatch.setenv("AWS_ENDPOINT_URL", proxy.endpoint)

    def requests(env=None):
        before = len(proxy.requests)
        done = run(build, "query", f"{root}/d", "id = 777", "-f", "jsonl", env=env)
        assert done.returncode == 0 and done.stdout.count("\n") == 1, done.stderr
        return [target for _, target in proxy.requests[before:]]

    single = requests()
    assert sum(".idxh" in t for t in single) == 24
    done = run(build, "store", "maintain", f"{root}/d")
    assert "24 parts in 1 object" in done.stdout, done.stderr
    bundled = requests()
    assert sum(".idxh" in t for t in bundled) == 0 and 1 <= sum(".bundle" in t for t in bundled) <= 2
    assert len(bundled) < 12
    assert pilum.store.open(f"{root}/d").query("id = 777").to_table() == want
    # What never changes is kept on disk; listings are not.
    cache = {"PILUM_CACHE": str(tmp_path / "cache")}
    requests(cache)
    kept = requests(cache)
    assert sum(".bundle" in t for t in kept) == 0 and sum("list-type" in t for t in kept) == sum("list-type" in t for t in bundled)
    store.put(rows(50, 9000))
    assert run(build, "query", f"{root}/d", "id = 9007", "-f", "jsonl", env=cache).stdout.count("\n") == 1
    assert run(build, "store", "check", f"{root}/d").returncode == 0
    proxy.close()


def test_a_deadline_is_kept_while_the_server_does_not_list(root, s3, build, monkeypatch):
    pilum.store.open(f"{root}/d").put(rows(10))
    proxy = Proxy(s3["AWS_ENDPOINT_URL"], lambda n, method, target: ("delay", 30) if "list-type" in target else None)
    monkeypatch.setenv("AWS_ENDPOINT_URL", proxy.endpoint)
    start = time.time()
    with pytest.raises(pilum.DeadlineError, match="parts listed"):
        pilum.store.open(f"{root}/d").query("id = 1", timeout=0.5)
    assert time.time() - start < 20  # the server is silent for 30
    done = run(build, "query", f"{root}/d", "id = 1", "--timeout", "0.5", timeout=20)
    assert done.returncode == 6, done.stderr
    proxy.close()


def test_a_history_is_read_several_manifests_at_once(root, s3, build):
    for i in range(6):
        pilum.write_dataset(pa.table({"id": [i]}), f"{root}/t.lance", mode="append" if i else "create")
    meet, asked = threading.Barrier(3), []  # nobody gets an answer before three have asked

    def wait():
        try:
            meet.wait(20)
        except threading.BrokenBarrierError:
            pass

    def spoil(n, method, target):
        if ".manifest" not in target:
            return None
        asked.append(target)
        return wait if len(asked) > 1 else None  # the first is that of the table, as it is opened

    proxy = Proxy(s3["AWS_ENDPOINT_URL"], spoil)
    done = run(build, "table", "log", f"{root}/t.lance", env={"AWS_ENDPOINT_URL": proxy.endpoint})
    assert done.returncode == 0 and done.stdout.count("appended 1 row") == 5, done.stderr
    assert not meet.broken and len(asked) == 1 + 6
    del asked[:]
    assert run(build, "table", "log", f"{root}/t.lance", "-n", "2", env={"AWS_ENDPOINT_URL": proxy.endpoint}).returncode == 0
    assert not meet.broken and len(asked) == 1 + 3  # the older of the two is compared with the one before it
    proxy.close()
