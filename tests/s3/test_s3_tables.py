"""Lance tables in a bucket: clean-up, and changes whose connection fails, or whose process is killed, at every request in turn."""

import os
import re
import signal
import subprocess
import sys
import time
import uuid
from datetime import datetime, timedelta, timezone
from email.utils import parsedate_to_datetime

import boto3
import pyarrow as pa
import pytest
from proxy import Proxy

import pilum
from pilum.fragment import write_fragments

NOW = timedelta(0)


@pytest.fixture
def uri(s3):
    return f"{s3['PILUM_TEST_S3']}/{uuid.uuid4().hex}/t.lance"


def table(ids, x=0):
    return pa.table({"id": pa.array(list(ids), pa.int64()), "x": pa.array([i * 10 + x for i in ids], pa.int64())})


def rows(ds):
    return sorted((r["id"], r["x"]) for r in ds.to_table().to_pylist())


def objects(s3, uri, kind=""):
    """Paths below the table."""
    bucket, prefix = re.match(r"s3://([^/]+)/(.*)", uri).groups()
    pages = boto3.client("s3", endpoint_url=s3.get("AWS_ENDPOINT_URL")).get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=f"{prefix}/{kind}")
    return sorted(o["Key"][len(prefix) + 1 :] for page in pages for o in page.get("Contents", []))


def theirs(s3, uri, **how):
    lance = pytest.importorskip("lance")
    options = {"allow_http": "true", "aws_endpoint": s3["AWS_ENDPOINT_URL"]} if "AWS_ENDPOINT_URL" in s3 else None
    return lance.dataset(uri, storage_options=options, **how)


def clock_goes_on(s3):
    """What is there now is older than now by the server's clock, which tells whole seconds and may lag."""
    begin, client = datetime.now(timezone.utc), boto3.client("s3", endpoint_url=s3.get("AWS_ENDPOINT_URL"))
    bucket = s3["PILUM_TEST_S3"].split("/")[2]
    while parsedate_to_datetime(client.head_bucket(Bucket=bucket)["ResponseMetadata"]["HTTPHeaders"]["date"]) <= begin:
        time.sleep(0.1)


def history(uri):
    """Seven versions; the second has a tag, a branch began on the third. What each holds."""
    ds = pilum.write_dataset(table(range(20)), uri, max_rows_per_file=5)
    ds.delete("id % 4 = 1")
    ds.tags.create("kept", 2)
    ds.insert(table(range(20, 30)))
    ds.create_branch("dev").delete("id > 25")
    ds.update({"x": "x + 1"}, where="id < 8")
    ds.merge_insert("id").when_matched_update_all().when_not_matched_insert_all().execute(table(range(25, 35), x=5))
    ds.optimize.compact_files()
    ds.delete("id = 0")
    newest = pilum.dataset(uri).version
    return {v: rows(pilum.dataset(uri, version=v)) for v in range(1, newest + 1)}


def test_clean_up(uri, s3):
    was = history(uri)
    newest = max(was)
    branch = rows(pilum.dataset(uri, version=("dev", None)))
    left = {f"data/{f.path}" for fragment in write_fragments(table([99]), uri) for f in fragment.files}  # nobody committed it
    ds = pilum.dataset(uri)
    before = objects(s3, uri)
    assert left <= set(before)
    with pytest.raises(pilum.UsageError, match="tag"):
        ds.cleanup_old_versions(retain_versions=2)
    assert objects(s3, uri) == before
    foreseen = ds.cleanup_old_versions(retain_versions=2, error_if_tagged_old_versions=False, dry_run=True)
    assert objects(s3, uri) == before
    done = ds.cleanup_old_versions(retain_versions=2, error_if_tagged_old_versions=False)
    assert done == foreseen.stats and done.failed_deletes == 0 and done.data_files_removed > 0 < done.deletion_files_removed
    kept = {2, 3, newest - 1, newest}
    after = objects(s3, uri)
    assert left <= set(after), "a write may be under way"
    assert len(before) - len(after) == done.old_versions + done.data_files_removed + done.transaction_files_removed + done.deletion_files_removed
    assert {v["version"] for v in pilum.dataset(uri).versions()} == kept
    for version in kept:
        assert rows(pilum.dataset(uri, version=version)) == was[version] == rows(theirs(s3, uri, version=version))
    assert rows(pilum.dataset(uri, version="kept")) == was[2] == rows(theirs(s3, uri, version="kept"))
    assert rows(pilum.dataset(uri, version=("dev", None))) == branch == rows(theirs(s3, uri).checkout_version(("dev", None)))
    assert pilum.dataset(uri).cleanup_old_versions(retain_versions=2, error_if_tagged_old_versions=False).old_versions == 0
    # Now nobody writes.
    done = pilum.dataset(uri).cleanup_old_versions(retain_versions=2, error_if_tagged_old_versions=False, delete_unverified=True)
    assert done.data_files_removed == len(left) and not left & set(objects(s3, uri))
    for version in kept:
        assert rows(pilum.dataset(uri, version=version)) == was[version] == rows(theirs(s3, uri, version=version))
    theirs(s3, uri).delete("id = 34")
    assert rows(pilum.dataset(uri)) == [r for r in was[newest] if r[0] != 34]


def test_the_window_of_writes_under_way(uri, s3):
    ds = pilum.write_dataset(table(range(5)), uri)
    write_fragments(table([7]), uri)
    count = len(objects(s3, uri, "data/"))
    clock_goes_on(s3)
    for window, remain in ((timedelta(hours=1), count), (NOW, count - 1)):
        ds.cleanup_old_versions(older_than=NOW, in_flight=window)
        assert len(objects(s3, uri, "data/")) == remain
    assert rows(pilum.dataset(uri)) == rows(theirs(s3, uri)) == rows(ds)


def test_uploads_that_never_ended_go(uri, s3):
    if s3["kind"] == "moto":
        pytest.skip("it says of all uploads that they began in 2010")
    pilum.write_dataset(table(range(5)), uri)
    bucket, prefix = re.match(r"s3://([^/]+)/(.*)", uri).groups()
    client = boto3.client("s3", endpoint_url=s3.get("AWS_ENDPOINT_URL"))
    upload = client.create_multipart_upload(Bucket=bucket, Key=f"{prefix}/data/half.lance")["UploadId"]
    client.upload_part(Bucket=bucket, Key=f"{prefix}/data/half.lance", UploadId=upload, PartNumber=1, Body=b"x" * 1000)

    def pending():
        return [u["Key"] for u in client.list_multipart_uploads(Bucket=bucket, Prefix=prefix).get("Uploads", [])]

    clock_goes_on(s3)
    pilum.dataset(uri).cleanup_old_versions(older_than=NOW)
    assert pending() == [f"{prefix}/data/half.lance"]
    done = pilum.dataset(uri).cleanup_old_versions(older_than=NOW, in_flight=NOW)
    assert done.temporary_files_removed == 1 and pending() == []


def test_clean_up_after_commits(uri, s3):
    ds = pilum.write_dataset(table(range(5)), uri, auto_cleanup_options={"interval": 3, "older_than_seconds": 0})
    ds.tags.create("first", 1)
    for i in range(5, 16):
        if i == 12:
            clock_goes_on(s3)
        ds.insert(table([i]))
    versions = [v["version"] for v in pilum.dataset(uri).versions()]
    assert versions[0] == 1 and versions[-1] == 12 and not set(versions) & set(range(2, 8))
    for version in versions:
        expected = rows(pilum.dataset(uri, version=version))
        assert len(expected) == version + 4 and rows(theirs(s3, uri, version=version)) == expected
    assert len(objects(s3, uri, "_transactions/")) == len(versions)


# --- faults

CHANGES = {
    "append": "pilum.write_dataset(table(range(100, 110)), uri, mode='append')",
    "delete": "pilum.dataset(uri).delete('id % 3 = 1')",
    "upsert": "pilum.dataset(uri).merge_insert('id').when_matched_update_all().when_not_matched_insert_all().execute(table(range(10, 30), x=7))",
    "add a column": "pilum.dataset(uri).add_columns({'y': 'x * 2'})",
}
KINDS = ["refuse", "lose", "cut", "500"]


def prepare(uri):
    pilum.write_dataset(table(range(20)), uri, max_rows_per_file=8)


def state(uri):
    ds = pilum.dataset(uri)
    return ds.schema.names, sorted(map(repr, ds.to_table().to_pylist()))


def expected(root, change):
    """Before and after."""
    uri = f"{root}-reference"
    prepare(uri)
    before = state(uri)
    exec(CHANGES[change], {"pilum": pilum, "table": table, "uri": uri})
    return before, state(uri)


@pytest.mark.heavy
@pytest.mark.parametrize("how", KINDS)
@pytest.mark.parametrize("change", CHANGES)
def test_a_request_fails(uri, s3, change, how, monkeypatch):
    """Each in turn, once: the change goes on, and is there once."""
    _, after = expected(uri, change)
    direct = s3["AWS_ENDPOINT_URL"]
    for n in range(0, 1000):
        at = f"{uri}-{n}"
        prepare(at)
        proxy = Proxy(direct, lambda i, method, target: how if i == n else None)
        monkeypatch.setenv("AWS_ENDPOINT_URL", proxy.endpoint)
        exec(CHANGES[change], {"pilum": pilum, "table": table, "uri": at})
        proxy.close()
        monkeypatch.setenv("AWS_ENDPOINT_URL", direct)
        assert state(at) == after, n
        assert pilum.dataset(at).version == 2, n
        if len(proxy.requests) <= n:
            break
    assert n > 5
    assert theirs(s3, at).count_rows() == len(after[1])


@pytest.mark.heavy
@pytest.mark.parametrize("change", CHANGES)
def test_killed_at_every_request(uri, s3, change):
    """The table is as before or as after; what else is there a clean-up takes, and the change can be made again."""
    before, after = expected(uri, change)
    names = {}
    for n in range(0, 1000):
        at = f"{uri}-{n}"
        prepare(at)

        def spoil(i, method, target):
            if i == n:
                os.kill(child.pid, signal.SIGKILL)
                return "refuse"
            return None

        proxy = Proxy(s3["AWS_ENDPOINT_URL"], spoil)
        code = "import sys; sys.path[:0] = sys.argv[2:]; import pilum; from test_s3_tables import table; uri = sys.argv[1]; sys.stdin.readline()\n"
        paths = [os.path.dirname(os.path.dirname(pilum.__file__)), os.path.dirname(os.path.abspath(__file__))]
        child = subprocess.Popen([sys.executable, "-c", code + CHANGES[change], at, *paths], stdin=subprocess.PIPE,
                                 env={**os.environ, "AWS_ENDPOINT_URL": proxy.endpoint})
        child.communicate(b"go\n")
        proxy.close()
        if child.returncode == 0:
            break
        assert child.returncode == -signal.SIGKILL
        left = state(at)
        assert left in (before, after), n
        names[n] = left == after
        pilum.dataset(at).cleanup_old_versions(retain_versions=1, delete_unverified=True)
        assert state(at) == left, n
        used = {f.path for fragment in pilum.dataset(at).get_fragments() for f in fragment.data_files()}
        assert {path[len("data/") :] for path in objects(s3, at, "data/")} == used, n
        assert len(objects(s3, at, "_versions/")) <= 2 and len(objects(s3, at, "_transactions/")) == 1, n
        if left == before:
            exec(CHANGES[change], {"pilum": pilum, "table": table, "uri": at})
            assert state(at) == after, n
    assert n > 5 and not names[0]
