"""`pilum table space` says what a clean-up would free: held against pylance, which explains and then does it."""

import datetime
import itertools
import json
import os
import random
import shutil
import subprocess
import time
from pathlib import Path

import lance
import pyarrow as pa
import pytest

from conftest import cli

DAY = 86400
ZERO = datetime.timedelta(0)


def rows(start, n=10):
    return pa.table({"a": list(range(start, start + n)), "s": [f"s{i}" for i in range(start, start + n)]})


def files(folder):
    return {str(p.relative_to(folder)): p.stat().st_size for p in Path(folder).rglob("*") if p.is_file()}


def set_ages(folder, seconds):
    for p in Path(folder).rglob("*"):
        if p.is_file():
            at = time.time() - seconds(p)
            os.utime(p, (at, at))


def like_lancedb(uri):
    lance.write_dataset(rows(0, 1), uri)
    for i in range(40):
        lance.write_dataset(rows(i, 1 + i % 5), uri, mode="append")
        if i in (10, 25, 39):
            lance.dataset(uri).optimize.compact_files()


def updates(uri):
    lance.write_dataset(rows(0, 100), uri, max_rows_per_file=30)
    lance.dataset(uri).update({"s": "'new'"}, where="a < 10")
    lance.dataset(uri).delete("a = 50")
    lance.dataset(uri).delete("a = 51")
    lance.dataset(uri).update({"s": "'newer'"}, where="a < 5")


def indexed(uri):
    lance.write_dataset(rows(0, 50), uri)
    lance.dataset(uri).create_scalar_index("a", "BTREE")
    for i in range(4):
        lance.write_dataset(rows(100 + i * 10), uri, mode="append")
    lance.dataset(uri).delete("a < 5")
    lance.dataset(uri).optimize.compact_files()
    lance.dataset(uri).optimize.optimize_indices()


def tags_branches(uri):
    lance.write_dataset(rows(0), uri)
    for i in range(1, 3):
        lance.write_dataset(rows(i * 10), uri, mode="append")
    ds = lance.dataset(uri)
    ds.tags.create("kept", 2)
    lance.dataset(uri, version=3).create_branch("dev")
    lance.write_dataset(rows(90), f"{uri}/tree/dev", mode="append")
    ds.checkout_version(("dev", None)).create_branch("deep/er")
    ds.tags.create("on-dev", ("dev", 4))
    lance.write_dataset(rows(70), uri, mode="overwrite")
    lance.write_dataset(rows(80), uri, mode="overwrite")
    lance.write_dataset(rows(80), f"{uri}/tree/dev", mode="overwrite")


def branch_of_a_part(uri):
    """A branch that has only some of the files of the version it began at, which pylance then leaves without the others."""
    lance.write_dataset(rows(0), uri)
    lance.write_dataset(rows(100), uri, mode="append")
    lance.dataset(uri).create_branch("b")
    on = lance.dataset(uri).checkout_version(("b", None))
    on.delete("a >= 100")
    lance.dataset(uri).checkout_version(("b", None)).cleanup_old_versions(older_than=ZERO)
    lance.write_dataset(rows(5), uri, mode="overwrite")


def forgetful_branch(uri):
    """A branch that has no file of its table any more."""
    branch_of_a_part(uri)
    lance.write_dataset(rows(9), f"{uri}/tree/b", mode="overwrite")
    lance.dataset(uri).checkout_version(("b", None)).cleanup_old_versions(older_than=ZERO)


def detached(uri):
    lance.write_dataset(rows(0), uri)
    lance.write_dataset(rows(10), uri, mode="append")
    new = [lance.fragment.LanceFragment.create(uri, rows(50))]
    lance.LanceDataset.commit(uri, lance.LanceOperation.Append(new), read_version=2, detached=True)
    lance.write_dataset(rows(20), uri, mode="overwrite")


def leftovers(uri):
    """What failed commits and people leave, of all ages."""
    for i in range(3):
        lance.write_dataset(rows(i), uri, mode="overwrite")
    names = [
        "data/orphan-{}.lance", "data/.tmp{}", "data/x{}.txt", "data/sub{}/1.blob", "data/nested{}/x.lance", "_versions/.tmp_{}",
        "_versions/18446744073709551000.manifest#{}", "_transactions/9-{}.txn", "_transactions/.tmp{}", "_deletions/0-1-{}.arrow",
        "_deletions/1-1-{}.bin", "_deletions/odd{}.bin", "_deletions/{}.foo", "_indices/{}/page_data.lance", "_indices/stray{}", "other/{}.lance",
    ]  # fmt: skip
    for (i, name), age in itertools.product(enumerate(names), (0, 3 * DAY, 8 * DAY)):
        path = Path(uri) / name.format(f"{age // DAY}{i}")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x" * (i + 1))
        os.utime(path, (time.time() - age, time.time() - age))
    time.sleep(0.05)
    lance.write_dataset(rows(7), uri, mode="overwrite")


def blobs(uri):
    blob = pa.field("b", pa.large_binary(), metadata={"lance-encoding:blob": "true"})
    data = pa.table([pa.array([b"x" * 200000, b"y" * 5], pa.large_binary())], schema=pa.schema([blob]))
    lance.write_dataset(data, uri)
    lance.write_dataset(data, uri, mode="overwrite")


TABLES = [like_lancedb, updates, indexed, tags_branches, branch_of_a_part, forgetful_branch, detached, leftovers, blobs]
CALLS = [
    {"older_than": ZERO}, {"older_than": ZERO, "delete_unverified": True}, {"retain_versions": 1}, {"retain_versions": 3},
    {"older_than": ZERO, "retain_versions": 2}, {"older_than": datetime.timedelta(days=1)},
    {"older_than": datetime.timedelta(days=14), "delete_unverified": True},
]  # fmt: skip


def options(call):
    out = []
    if "older_than" in call:
        out += ["--older-than", f"{int(call['older_than'].total_seconds())}s"]
    if "retain_versions" in call:
        out += ["--retain", str(call["retain_versions"])]
    if call.get("delete_unverified"):
        out += ["--unverified"]
    return out


def predicted(uri, call, *more):
    said = json.loads(cli("table", "space", uri, "--json", "--files", *options(call), *more))
    (plan,) = said["cleanups"]
    return plan


def compare(uri, ds, call, *more):
    plan = predicted(uri, call, *more)
    theirs = ds.explain_cleanup_old_versions(error_if_tagged_old_versions=False, include_files=True, max_files=10**6, **call)
    root = str(Path(uri).resolve()).lstrip("/") + "/"
    assert {f["path"]: f["bytes"] for f in plan["files"] if f["goes"]} == {
        f.path.removeprefix(root): f.size_bytes for f in theirs.candidate_files
    }, call
    assert plan["frees"]["bytes"] == theirs.stats.bytes_removed
    assert len(plan["versions"]) == theirs.stats.old_versions
    return plan


@pytest.mark.parametrize("table", TABLES, ids=lambda f: f.__name__)
def test_as_pylance_explains(tmp_path, table):
    uri = str(tmp_path / "t.lance")
    table(uri)
    versions = [v["timestamp"].timestamp() for v in lance.dataset(uri).versions()]
    draw = random.Random(7)
    span = versions[-1] - versions[0]
    ages = {
        "as written": None,
        "copied": lambda p: -2,  # later than every version
        "old": lambda p: 10 * DAY,
        "mixed": lambda p: time.time() - versions[0] - draw.choice([-0.1, 0.2, 0.5, 0.9, 1.2]) * span,
    }
    for name, age in ages.items():
        if age and table is not leftovers:
            set_ages(uri, age)
        for call in CALLS:
            compare(uri, lance.dataset(uri), call)
        for branch in lance.dataset(uri).branches.list():
            on = lance.dataset(uri).checkout_version((branch, None))
            for call in CALLS:
                compare(uri, on, call, "--branch", branch)
        older = lance.dataset(uri).versions()[-2:][0]["version"]
        compare(uri, lance.dataset(uri, version=older), {"older_than": ZERO}, "--version", str(older))


@pytest.mark.heavy
@pytest.mark.parametrize("table", TABLES, ids=lambda f: f.__name__)
@pytest.mark.parametrize("call", CALLS[:3], ids=str)
def test_as_pylance_does(tmp_path, table, call):
    uri = str(tmp_path / "t.lance")
    table(uri)
    before = files(uri)
    plan = predicted(uri, call)
    stats = lance.dataset(uri).cleanup_old_versions(error_if_tagged_old_versions=False, **call)
    gone = {name: size for name, size in before.items() if name not in files(uri)}
    assert gone == {f["path"]: f["bytes"] for f in plan["files"] if f["goes"]}
    assert stats.bytes_removed == plan["frees"]["bytes"] == sum(gone.values())
    # And then there is no more to do.
    assert predicted(uri, call)["frees"]["bytes"] == 0
    # Versions that it broke were said to break.
    broken = set()
    for v in lance.dataset(uri).versions():
        try:
            lance.dataset(uri, version=v["version"]).to_table()
        except Exception:
            broken.add(v["version"])
    assert broken == {b["version"] for b in plan["broken"] if not b["detached"]}


def test_a_version_that_does_not_open(tmp_path):
    uri = str(tmp_path / "t.lance")
    updates(uri)
    with open(Path(uri) / "_versions" / f"{2**64 - 1 - 2:020}.manifest", "ab") as f:
        f.write(b"xx")
    with pytest.raises(OSError):
        lance.dataset(uri).explain_cleanup_old_versions(older_than=ZERO)
    plan = predicted(uri, {"older_than": ZERO})
    assert "version 2 cannot be read" in plan["refused"] and plan["frees"]["bytes"] == 0
    said = json.loads(cli("table", "space", uri, "--json"))
    assert said["unneeded"]["leftover"]["files"] == said["unneeded"]["in_flight"]["files"] == 0


def test_sums(tmp_path):
    """Everything on disk is somebody's or nobody's, and pylance's files of a version are what it needs."""
    for table in TABLES:
        uri = str(tmp_path / table.__name__)
        table(uri)
        on_disk = files(uri)
        said = json.loads(cli("table", "space", uri, "--json"))
        assert said["all"] == {"files": len(on_disk), "bytes": sum(on_disk.values())}
        listed = json.loads(cli("table", "ls", uri, "--files", "--json"))
        assert {f["path"]: f["bytes"] for f in listed["files"]} == on_disk
        assert sum(k["files"] for k in listed["kinds"]) == len(on_disk)
        needs = {f["path"] for f in json.loads(cli("table", "ls", uri, "--files", "--json", "--version", str(said["version"])))["files"]}
        ds = lance.dataset(uri)
        data = {f"data/{f.path}" for fragment in ds.get_fragments() for f in fragment.data_files()}
        assert {p for p in needs if p.startswith("data/") and p.endswith(".lance")} == data
