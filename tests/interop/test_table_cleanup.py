"""Clean-up by Pilum: random histories that both engines write, then every version that must be there reads right in both and no
file that nothing needs is left; beside what pylance would remove; and cases that users met."""

import datetime
import json
import os
import random
import shutil
import time
from pathlib import Path

import lance
import pyarrow as pa
import pytest

import pilum
from conftest import cli

ZERO = datetime.timedelta(0)
DAY = 86400


def rows(start, n=10):
    return pa.table({"a": list(range(start, start + n)), "s": [f"s{i}" for i in range(start, start + n)]})


def files(folder):
    return {str(p.relative_to(folder)): p.read_bytes() for p in Path(folder).rglob("*") if p.is_file()}


def content(table):
    return sorted(map(tuple, (r.values() for r in table.to_pylist())))


def open_lance(uri, branch, version=None):
    ds = lance.dataset(uri)
    return ds.checkout_version((branch, version)) if branch else ds.checkout_version(version) if version else ds


def versions_of(uri, branch=None):
    return [v["version"] for v in open_lance(uri, branch).versions()]


def branches_of(uri):
    return [None, *lance.dataset(uri).branches.list()]


def place(uri, branch):
    return f"{uri}/tree/{branch}" if branch else uri


def everything(uri):
    return {(b, v): content(open_lance(uri, b, v).to_table()) for b in branches_of(uri) for v in versions_of(uri, b)}


def needed(uri, branch):
    """Data and deletion files in the folder of a branch that some version of any branch, or a detached one, names, as pylance tells."""
    own = Path(place(uri, branch)).resolve()
    out = set()
    datasets = [(place(uri, b), open_lance(uri, b, v)) for b in branches_of(uri) for v in versions_of(uri, b)]
    for name in Path(uri).glob("_versions/d*.manifest"):
        datasets.append((uri, lance.dataset(uri, version=int(name.stem[1:]))))
    for folder, ds in datasets:
        bases = {i: Path(b.path) for i, b in ds._ds.base_paths().items()}
        folder = Path(folder).resolve()
        for fragment in ds.get_fragments():
            meta = fragment.metadata
            named = [(f.base_id, f"data/{f.path}") for f in meta.files]
            if meta.deletion_file is not None:
                named.append((meta.deletion_file.base_id, meta.deletion_file.path(fragment.fragment_id, None)))
            for base, path in named:
                full = (bases[base] if base is not None else folder) / path
                if own in full.parents and not (branch is None and full.is_relative_to(own / "tree")):
                    out.add(str(full.relative_to(own)))
    return out


class History:
    """A table that both engines change by turns."""

    def __init__(self, uri, draw):
        self.uri, self.draw, self.next = uri, draw, 0
        self.stable = draw.random() < 0.3
        lance.write_dataset(self.rows(), uri, enable_stable_row_ids=self.stable)

    def rows(self):
        n = self.draw.randint(1, 30)
        self.next += n
        return rows(self.next - n, n)

    def step(self):
        draw, uri = self.draw, self.uri
        branch = draw.choice(branches_of(uri))
        at = place(uri, branch)
        ours = draw.random() < 0.5
        what = draw.choices(
            ["append", "overwrite", "delete", "update", "compact", "restore", "tag", "branch", "detached"], [6, 1, 4, 2, 2, 1, 1, 1, 1]
        )[0]
        if what == "append" or what == "overwrite":
            if ours:
                pilum.write_dataset(self.rows(), pilum.dataset(uri, (branch, None)), mode=what)
            else:
                lance.write_dataset(self.rows(), at, mode=what)
        elif what == "delete":
            where = f"a % {draw.randint(3, 9)} = 1"
            (pilum.dataset(uri, (branch, None)) if ours else open_lance(uri, branch)).delete(where)
        elif what == "update":
            open_lance(uri, branch).update({"s": "'new'"}, where=f"a % {draw.randint(3, 9)} = 2")
        elif what == "compact":
            open_lance(uri, branch).optimize.compact_files()
        elif what == "restore":
            version = draw.choice(versions_of(uri, branch))
            (pilum.dataset(uri, (branch, version)) if ours else open_lance(uri, branch, version)).restore()
        elif what == "tag":
            version = draw.choice(versions_of(uri, branch))
            lance.dataset(uri).tags.create(f"t{len(lance.dataset(uri).tags.list())}", (branch, version))
        elif what == "branch" and len(branches_of(uri)) < 4:
            version = draw.choice(versions_of(uri, branch))
            open_lance(uri, branch, version).create_branch(f"b{len(branches_of(uri))}")
        elif what == "detached" and branch is None:
            new = [lance.fragment.LanceFragment.create(uri, self.rows())]
            lance.LanceDataset.commit(uri, lance.LanceOperation.Append(new), read_version=versions_of(uri)[-1], detached=True)


def tagged(uri, branch):
    return {t["version"] for t in lance.dataset(uri).tags.list().values() if t["branch"] == branch}


def policy(draw, versions):
    kind = draw.choice(["all", "retain", "named", "both"])
    out = {"delete_unverified": draw.random() < 0.7}
    if kind in ("all", "both"):
        out["older_than"] = ZERO
    if kind in ("retain", "both"):
        out["retain_versions"] = draw.randint(1, 4)
    if kind == "named":
        out["versions"] = draw.sample(versions, draw.randint(1, len(versions)))
    return out


def must_stay(versions, seen, call, tags):
    out = {v for v in versions if v >= seen} | tags
    if "retain_versions" in call:
        out |= set(versions[-call["retain_versions"] :])
    if "versions" in call:
        out |= set(versions) - set(call["versions"])
    return out


def names_of(explanation, uri):
    root = str(Path(uri).resolve()).lstrip("/") + "/"
    return {f.path.removeprefix(root): f for f in explanation.candidate_files}


def clean_and_check(uri, draw):
    branch = draw.choice(branches_of(uri))
    versions = versions_of(uri, branch)
    seen = draw.choice([versions[-1], versions[-1], draw.choice(versions)])
    call = policy(draw, versions)
    before, on_disk, tags = everything(uri), files(uri), tagged(uri, branch)
    detached = {int(p.stem[1:]): None for p in Path(uri).glob("_versions/d*.manifest")}
    detached = {v: content(lance.dataset(uri, version=v).to_table()) for v in detached}
    theirs = names_of(
        open_lance(uri, branch, seen).explain_cleanup_old_versions(
            include_files=True, max_files=10**6, error_if_tagged_old_versions=False, **call
        ),
        uri,
    )
    ds = pilum.dataset(uri, (branch, seen))
    said = ds.explain_cleanup_old_versions(include_files=True, max_files=10**6, error_if_tagged_old_versions=False, **call)
    assert files(uri) == on_disk
    stats = ds.cleanup_old_versions(error_if_tagged_old_versions=False, **call)
    assert stats == said.stats
    gone = set(on_disk) - set(files(uri))
    assert gone == set(names_of(said, uri))
    assert stats.bytes_removed == sum(len(on_disk[name]) for name in gone)
    # What must be there is, and reads as it did, in both engines; what went was of this branch.
    stays = must_stay(versions, seen, call, tags)
    left = set(versions_of(uri, branch))
    assert stays <= left
    assert set(said.versions) == set(versions) - left
    after = everything(uri)
    assert after == {key: value for key, value in before.items() if key[0] != branch or key[1] in left}
    for (b, v), value in after.items():
        assert content(pilum.dataset(uri, (b, v)).to_table()) == value
    assert detached == {v: content(lance.dataset(uri, version=v).to_table()) for v in detached}
    # Others than those that must stay are there because a branch began there.
    roots = {v for v in left - stays}
    began = {
        v for p in Path(uri).glob("_refs/branches/*.json") for v in [json.loads(p.read_text())["parentVersion"]]
    }
    assert roots <= began
    # Nothing is left that nothing needs.
    own = Path(place(uri, branch))
    if call["delete_unverified"]:
        there = {str(p.relative_to(own)) for kind in ("data", "_deletions") for p in own.glob(f"{kind}/*")}
        assert there == needed(uri, branch)
    # pylance would have removed the same, but for what somebody else needs, or its look at the times of files passes over.
    needs = {str((own / name).relative_to(uri)) for name in needed(uri, branch)} if roots or detached else set()
    manifests = {name for name in theirs if "_versions/" in name}
    kept_transactions = {name for name in theirs if "_transactions/" in name}
    assert set(theirs) - gone <= needs | (kept_transactions if roots or detached else set())
    assert manifests <= gone
    # And then there is no more to do.
    if seen in left:
        ds = pilum.dataset(uri, (branch, seen))
        again = ds.cleanup_old_versions(error_if_tagged_old_versions=False, **call)
        assert again == pilum.CleanupStats()


@pytest.mark.parametrize("seed", range(6))
def test_random_histories(tmp_path, seed):
    draw = random.Random(seed)
    uri = str(tmp_path / "t")
    history = History(uri, draw)
    for _ in range(3):
        for _ in range(draw.randint(5, 12)):
            history.step()
        clean_and_check(uri, draw)


@pytest.mark.heavy
def test_many_random_histories(tmp_path):
    end = time.time() + float(os.environ.get("PILUM_INTEROP_SECONDS", 20))
    seed = int(os.environ.get("PILUM_INTEROP_SEED", time.time()))
    while time.time() < end:
        print("seed", seed)
        draw = random.Random(seed)
        uri = str(tmp_path / f"t{seed}")
        history = History(uri, draw)
        for _ in range(4):
            for _ in range(draw.randint(4, 15)):
                history.step()
            clean_and_check(uri, draw)
        shutil.rmtree(uri)
        seed += 1


def overwritten(uri, n=3):
    for i in range(n):
        lance.write_dataset(rows(10 * i), uri, mode="overwrite")


def test_tags(tmp_path):
    """A tagged version makes the call fail, or stays."""
    uri = str(tmp_path / "t")
    overwritten(uri)
    lance.dataset(uri).tags.create("kept", 1)
    ds = pilum.dataset(uri)
    before = files(uri)
    with pytest.raises(pilum.UsageError, match=r"1 tagged version\(s\) .*kept"):
        ds.cleanup_old_versions(ZERO)
    assert files(uri) == before
    assert ds.cleanup_old_versions(ZERO, error_if_tagged_old_versions=False).old_versions == 1
    assert versions_of(uri) == [1, 3]
    assert content(lance.dataset(uri, version="kept").to_table()) == content(rows(0))


def test_shallow_clones_that_are_named_keep_their_files(tmp_path):
    uri, clone = str(tmp_path / "t"), str(tmp_path / "clone")
    overwritten(uri, 2)
    lance.dataset(uri, version=1).shallow_clone(clone, 1)
    before = content(lance.dataset(clone).to_table())
    pilum.dataset(uri).cleanup_old_versions(ZERO, delete_unverified=True, clones=[clone])
    assert versions_of(uri) == [2]
    assert content(lance.dataset(clone).to_table()) == content(pilum.dataset(clone).to_table()) == before
    with pytest.raises(pilum.NotFound):
        pilum.dataset(uri).cleanup_old_versions(ZERO, clones=[str(tmp_path / "nothing")])
    pilum.dataset(uri).cleanup_old_versions(ZERO, delete_unverified=True)
    with pytest.raises(pilum.NotFound):
        pilum.dataset(clone).to_table()


def test_a_clone_through_another_name_of_the_place(tmp_path):
    uri, alias, clone = str(tmp_path / "t"), str(tmp_path / "alias"), str(tmp_path / "clone")
    overwritten(uri, 1)
    os.symlink(uri, alias)
    lance.dataset(alias).shallow_clone(clone, 1)
    lance.write_dataset(rows(50), uri, mode="overwrite")
    pilum.dataset(uri).cleanup_old_versions(ZERO, delete_unverified=True, clones=[clone])
    assert content(lance.dataset(clone).to_table()) == content(rows(0))


def test_detached_versions(tmp_path):
    """They stay with all that they need, until they are told to go; then they go whole."""
    uri = str(tmp_path / "t")
    overwritten(uri, 2)
    made = []
    for start in (50, 70):
        new = [lance.fragment.LanceFragment.create(uri, rows(start))]
        made.append(lance.LanceDataset.commit(uri, lance.LanceOperation.Append(new), read_version=2, detached=True).version)
    overwritten(uri, 1)
    ds = pilum.dataset(uri)
    ds.cleanup_old_versions(ZERO, delete_unverified=True)
    for version in made:
        assert pilum.dataset(uri, version).count_rows() == lance.dataset(uri, version=version).count_rows() == 20
    ds.cleanup_old_versions(versions=made[:1])
    with pytest.raises(pilum.NotFound):
        pilum.dataset(uri, made[0])
    assert lance.dataset(uri, version=made[1]).count_rows() == 20
    ds.cleanup_old_versions(ZERO, detached=True, roots=made[1:])
    assert lance.dataset(uri, version=made[1]).count_rows() == 20
    ds.cleanup_old_versions(ZERO, detached=True)
    assert not list(Path(uri).glob("_versions/d*"))
    assert len(list(Path(uri).glob("data/*"))) == 1


def test_what_failed_commits_leave(tmp_path):
    """Reclaimed when it is older than the window, or at once where nobody writes; what is not of Lance stays."""
    uri = str(tmp_path / "t")
    overwritten(uri)
    young, old = 3600, 8 * DAY
    names = [
        "data/o{}.lance", "data/.tmp{}", "data/x{}/1.blob", "_versions/.tmp_{}", "_versions/18446744073709551000.manifest#{}",
        "_transactions/9-{}.txn", "_transactions/.tmp{}", "_deletions/0-1-{}.arrow", "_deletions/1-1-{}.bin", "_indices/u{}/page_data.lance",
    ]  # fmt: skip
    foreign = ["data/x{}.txt", "notes{}.md", "sidecars/{}.sketch", "_versions/{}.json"]
    for name in names + foreign:
        for age in (young, old):
            path = Path(uri) / name.format(age)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(b"x")
            os.utime(path, (time.time() - age, time.time() - age))
    strays = {name.format(age) for name in foreign for age in (young, old)}
    ds = pilum.dataset(uri)
    ds.cleanup_old_versions(ZERO)
    left = set(files(uri))
    assert not {name.format(old) for name in names} & left
    assert {name.format(young) for name in names} <= left
    assert strays <= left
    said = ds.cleanup_old_versions(ZERO, in_flight=datetime.timedelta(minutes=30), dry_run=True)
    assert {f.path for f in said.candidate_files} == {name.format(young) for name in names}
    ds.cleanup_old_versions(ZERO, delete_unverified=True)
    left = set(files(uri))
    assert not {name.format(young) for name in names} & left
    assert strays <= left
    assert ds.to_table().num_rows == lance.dataset(uri).count_rows() == 10


def test_a_version_that_does_not_open(tmp_path):
    uri = str(tmp_path / "t")
    overwritten(uri)
    with open(Path(uri) / "_versions" / f"{2**64 - 1 - 2:020}.manifest", "ab") as f:
        f.write(b"xx")
    before = files(uri)
    with pytest.raises(pilum.CorruptError, match="version 2 cannot be read"):
        pilum.dataset(uri).cleanup_old_versions(ZERO)
    assert files(uri) == before


def test_wrong_arguments(tmp_path):
    uri = str(tmp_path / "t")
    overwritten(uri, 1)
    ds = pilum.dataset(uri)
    for wrong in ({"retain_versions": 0}, {"versions": []}, {"older_than": datetime.timedelta(-1)}):
        with pytest.raises(pilum.UsageError):
            ds.cleanup_old_versions(**wrong)
    assert ds.cleanup_old_versions(versions=[99]).old_versions == 0


def test_rate_limit(tmp_path):
    uri = str(tmp_path / "t")
    overwritten(uri, 6)
    begin = time.time()
    stats = pilum.dataset(uri).cleanup_old_versions(ZERO, delete_rate_limit=50)
    assert stats.old_versions == 5 and time.time() - begin > 14 / 50


@pytest.mark.parametrize("engine", [lance, pilum], ids=["pylance", "pilum"])
def test_auto_cleanup(tmp_path, engine):
    """The same versions are there after each commit, whoever commits; and a tag stops only its own version."""
    uri = str(tmp_path / "t")
    options = {"interval": 3, "older_than_seconds": 0}
    engine.write_dataset(rows(0), uri, auto_cleanup_options=options)
    seen = []
    for i in range(7):
        engine.write_dataset(rows(i), uri, mode="append")
        seen.append(versions_of(uri))
    assert seen == [[1, 2], [2, 3], [2, 3, 4], [2, 3, 4, 5], [5, 6], [5, 6, 7], [5, 6, 7, 8]]
    engine.dataset(uri).update_config({"lance.auto_cleanup.retain_versions": "2", "lance.auto_cleanup.interval": "1"})
    assert versions_of(uri) == [8, 9]
    engine.dataset(uri).delete("a = 1")
    assert versions_of(uri) == [9, 10]
    if engine is pilum:
        engine.dataset(uri).tags.create("kept", 9)
        for i in range(3):
            engine.dataset(uri).delete(f"a = {i}")
        assert versions_of(uri) == [9, 12, 13]
    engine.dataset(uri).update_config({"lance.auto_cleanup.older_than": "a while"})
    assert engine.dataset(uri).count_rows() > 0


def test_many_small_appends(tmp_path):
    """After a clean-up of one-row appends the folder is what the rows and their versions need."""
    uri = str(tmp_path / "t")
    pilum.write_dataset(rows(0, 1), uri)
    for i in range(1, 60):
        pilum.write_dataset(rows(i, 1), uri, mode="append")
    lance.dataset(uri).optimize.compact_files()
    pilum.dataset(uri).cleanup_old_versions(ZERO)
    assert pilum.dataset(uri).count_rows() == 60
    assert len(files(uri)) <= 6
    assert json.loads(cli("table", "check", uri, "--json"))["problems"] == 0


def test_maintain(tmp_path):
    """Compacts and cleans by its policy; nothing younger than the window goes; the plan is what happens."""
    uri = str(tmp_path / "t")
    for i in range(5):
        pilum.write_dataset(rows(10 * i), uri, mode="append")
    (Path(uri) / "data" / "left.lance").write_bytes(b"x")
    before = files(uri)
    ds = pilum.dataset(uri)
    with pytest.raises(pilum.UsageError, match="in_flight"):
        ds.maintain(older_than=ZERO)
    plan = ds.maintain(older_than=datetime.timedelta(days=7), dry_run=True)
    assert files(uri) == before
    assert [task[:2] for task in plan.tasks] == [([0, 1, 2, 3, 4], 50)] and not plan.cleanup.candidate_files
    done = ds.maintain()
    assert (done.fragments_removed, done.fragments_added, done.stats.old_versions) == (5, 1, 0)
    assert ds.version == done.version == lance.dataset(uri).version
    assert set(before) <= set(files(uri))
    plan = ds.maintain(older_than=ZERO, in_flight=ZERO, dry_run=True)
    before = files(uri)
    done = ds.maintain(older_than=ZERO, in_flight=ZERO)
    assert set(before) - set(files(uri)) == {f.path for f in plan.cleanup.candidate_files} >= {"data/left.lance"}
    assert content(lance.dataset(uri).to_table()) == content(rows(0, 50)) and len(lance.dataset(uri).versions()) == 1
    assert ds.maintain(older_than=ZERO, in_flight=ZERO).stats == pilum.CleanupStats()


def test_the_guard_of_detached_versions(tmp_path):
    """pylance refuses where it meets the guard; Pilum spares detached versions, and passes over it."""
    uri = str(tmp_path / "t")
    overwritten(uri, 2)
    new = [lance.fragment.LanceFragment.create(uri, rows(50))]
    at = lance.LanceDataset.commit(uri, lance.LanceOperation.Append(new), read_version=2, detached=True).version
    pilum.dataset(uri).guard_detached()
    overwritten(uri, 1)
    with pytest.raises(OSError):
        lance.dataset(uri).cleanup_old_versions(ZERO)
    assert pilum.dataset(uri).cleanup_old_versions(ZERO, delete_unverified=True).old_versions == 2
    assert versions_of(uri) == [3] and pilum.dataset(uri, at).count_rows() == 20
