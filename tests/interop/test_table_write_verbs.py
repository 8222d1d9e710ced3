"""The verbs of `pilum table` that change a table: a dry run changes no byte and says what then happens, files by kind and bytes;
and pylance reads what was done."""

import json
from collections import Counter
from pathlib import Path

import lance
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pilum
from conftest import cli


def rows(start, n=10):
    return pa.table({"a": list(range(start, start + n)), "s": [f"s{i}" for i in range(start, start + n)]})


def listing(folder):
    return {str(p.relative_to(folder)): (p.read_bytes(), p.stat().st_mtime_ns) for p in Path(folder).rglob("*") if p.is_file()}


KINDS = {"_versions": "manifest", "_transactions": "transaction", "data": "data", "_deletions": "deletions", "_refs": "tag"}


def kind(path):
    parts = Path(path).parts
    if parts[:2] == ("_refs", "branches"):
        return "branch"
    if parts[0] == "tree":
        parts = parts[2:]
    return "hint" if parts[-1].startswith("latest_version") else KINDS[parts[0]]


def a_table(folder):
    uri = str(folder / "t")
    lance.write_dataset(rows(0, 50), uri, max_rows_per_file=20)
    lance.dataset(uri).delete("a % 7 = 3")
    lance.write_dataset(rows(100), uri, mode="append")
    lance.dataset(uri).create_branch("dev")
    lance.dataset(uri).tags.create("old", 1)
    pq.write_table(rows(200, 30), folder / "more.parquet")
    return uri


VERBS = {
    "append": ["append", "{uri}", "{more}"],
    "append in several files": ["append", "{uri}", "{more}", "--rows-per-file", "7"],
    "append on a branch": ["append", "{uri}", "{more}", "--branch", "dev"],
    "delete": ["delete", "{uri}", "--where", "a > 15"],
    "delete a fragment": ["delete", "{uri}", "--where", "a >= 100"],
    "delete nothing": ["delete", "{uri}", "--where", "a < 0"],
    "delete on a branch": ["delete", "{uri}", "--where", "a > 15", "--branch", "dev"],
    "update": ["update", "{uri}", "--set", "a=a+1000", "--where", "a < 12"],
    "update on a branch": ["update", "{uri}", "--set", "s='x'", "--branch", "dev"],
    "upsert": ["upsert", "{uri}", "{more}", "--on", "a"],
    "upsert on a branch": ["upsert", "{uri}", "{more}", "--on", "a", "--branch", "dev"],
    "restore": ["restore", "{uri}", "1"],
    "restore a tag": ["restore", "{uri}", "old"],
    "branch create": ["branch", "create", "{uri}", "new", "--version", "2"],
    "branch delete": ["branch", "delete", "{uri}", "dev"],
    "tag create": ["tag", "create", "{uri}", "new"],
    "tag update": ["tag", "update", "{uri}", "old", "--version", "2"],
    "tag delete": ["tag", "delete", "{uri}", "old"],
}


@pytest.mark.parametrize("verb", VERBS)
def test_a_dry_run_is_what_happens(tmp_path, verb):
    uri = a_table(tmp_path)
    command = [word.format(uri=uri, more=tmp_path / "more.parquet") for word in VERBS[verb]]
    before = listing(uri)
    said = json.loads(cli("table", *command, "--dry-run", "--json"))
    assert said["dry_run"]
    assert listing(uri) == before
    done = json.loads(cli("table", *command, "--json"))
    assert {**said, "dry_run": False} == {**done, "writes": said["writes"], "removes": said["removes"]}
    after = listing(uri)
    written = [path for path in after if path not in before or after[path][0] != before[path][0]]
    assert Counter(map(kind, written)) == Counter({w["kind"]: w["files"] for w in said["writes"] if w["files"]})
    sizes = Counter()
    for path in written:
        sizes[kind(path)] += len(after[path][0])
    # Times, as texts of their own length, and random numbers are in some.
    for w in said["writes"]:
        assert abs(sizes[w["kind"]] - w["bytes"]) <= 64 * w["files"], w
    assert sorted(set(before) - set(after)) == said["removes"]
    ds = lance.dataset(uri)
    ds.validate()
    branch = ds.checkout_version(("dev", None)) if "dev" in ds.branches.list() else None
    if branch:
        branch.validate()
    where = pilum.dataset(uri, ("dev", None)) if "--branch" in command else pilum.dataset(uri)
    assert (branch if "--branch" in command else ds).to_table().num_rows == where.count_rows()
    if done["version"] is not None and "branch" not in verb.split()[0]:
        assert where.version == done["version"]


def test_a_dry_run_of_a_commit_that_cleans_up(tmp_path):
    """What the config asks for after a commit is foreseen too, on branches as well; and nothing goes."""
    uri = str(tmp_path / "t")
    lance.write_dataset(rows(0), uri)
    lance.dataset(uri).create_branch("dev")
    pq.write_table(rows(200, 30), tmp_path / "more.parquet")
    for branch in (None, "dev"):
        for i in range(3):
            lance.write_dataset(rows(i), f"{uri}/tree/dev" if branch else uri, mode="overwrite")
        ds = pilum.dataset(uri, (branch, None))
        turn = str(ds.version + 2)
        ds.update_config({"lance.auto_cleanup.older_than": "0s", "lance.auto_cleanup.interval": turn})
        before = listing(uri)
        command = ["table", "append", uri, tmp_path / "more.parquet", *(["--branch", branch] if branch else [])]
        said = json.loads(cli(*command, "--dry-run", "--json"))
        assert listing(uri) == before
        assert len(said["removes"]) > 5
        cli(*command)
        assert sorted(set(before) - set(listing(uri))) == said["removes"]


def test_cleanup(tmp_path):
    uri = a_table(tmp_path)
    before = listing(uri)
    command = ["table", "cleanup", uri, "--older-than", "0s", "--unverified"]
    said = json.loads(cli(*command, "--dry-run", "--json"))
    assert listing(uri) == before
    cli(*command, code=2)
    assert listing(uri) == before
    done = json.loads(cli(*command, "--yes", "--json"))
    assert {**done, "dry_run": True, "plan": said["plan"]} == said
    gone = {f["path"] for f in said["plan"]["files"] if f["goes"]}
    assert set(before) - set(listing(uri)) == gone
    assert said["plan"]["kept_by_tags"] == ["old"]
    assert [v["version"] for v in lance.dataset(uri).versions()] == [1, 3]
    lance.dataset(uri).checkout_version(("dev", None)).validate()


def test_only_writing_verbs_can_write():
    """Verbs of `pilum table` include what changes a table only beside write_verb.h, which has the dry run."""
    folder = Path(__file__).resolve().parents[2] / "src" / "pilum" / "cli" / "table"
    for path in folder.glob("*.cc"):
        text = path.read_text()
        if '#include "pilum/change/' in text or "ObjectStore::Open" in text.replace("ReadOnlyStore::Open", ""):
            assert "pilum/cli/table/write_verb.h" in text, path
