"""`pilum table …` on every table there is: an answer or a clear error, never a crash, and not a byte of the folder changed."""

import hashlib
import json
import os
import subprocess
from pathlib import Path

import lance
import pytest

import pilum
from conftest import ROOT

CLI = next((b / "pilum" for b in (ROOT / "build" / "release", ROOT / "build" / "dev") if (b / "pilum").is_file()), None)
SHARED = ROOT.parent / "shared" / "fixtures" / "table"
VERBS = ["show", "log", "manifest", "txn", "fragments", "files", "columns"]
CODES = {0, 1, 3, 4, 5}

pytestmark = pytest.mark.skipif(CLI is None, reason="no build/release/pilum: build the target `pilum`")


def tables():
    found = sorted((ROOT / "tests" / "golden" / "table").glob("*/table.lance"))
    if SHARED.is_dir():
        found += sorted(p for p in SHARED.rglob("*.lance") if (p / "_versions").is_dir() or p.name == "table.lance")
        found += sorted(p.parent for p in (SHARED / "upstream").rglob("_versions") if p.parent not in found)
    return found


def run(verb, table, *more):
    p = subprocess.run([CLI, "table", verb, table, *more], capture_output=True, timeout=60)
    return p.returncode, p.stdout.decode(), p.stderr.decode()


def digest(folder):
    out = {}
    for path in sorted(Path(folder).rglob("*")):
        st = path.stat()
        out[str(path)] = (st.st_mtime_ns, hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "")
    return out


@pytest.mark.parametrize("table", tables(), ids=lambda p: f"{p.parent.name}/{p.name}")
def test_every_verb_answers_and_changes_nothing(table):
    before = digest(table)
    for verb in VERBS:
        for more in ([], ["--json"]):
            code, out, err = run(verb, table, *more)
            assert code in CODES, (verb, more, code, err)
            if code <= 1 and not err:
                assert out
                if more:
                    assert json.loads(out)["table"] == str(table)
            else:
                assert code != 0 and err.startswith("pilum: ") and err.count("\n") == 1, (verb, more, err)
    assert digest(table) == before


@pytest.mark.skipif(not SHARED.is_dir(), reason="the shared fixtures are not here")
def test_the_story_of_a_lancedb_table():
    table = SHARED / "lancedb-like" / "table.lance"
    expected = json.loads((SHARED / "lancedb-like" / "expected.json").read_text())
    log = json.loads(run("log", table, "--json", "-n", "0")[1])
    versions = {v["version"]: v for v in log["versions"]}
    assert len(versions) == 258 and log["older_versions"] == 0
    assert [v["version"] for v in versions.values() if v["operation"] == "Rewrite"] == [258, 205, 103]
    assert versions[258]["what"].startswith("compacted 52 fragments into 1, 1,130 rows")
    assert versions[257]["what"] == "reserved 1 fragment id"
    assert versions[258]["rows"] == 1130 and versions[258]["data_files"] == 1
    # Nothing was ever cleaned up: what the versions brought is all that is there, but for the hint.
    there = sum(p.stat().st_size for p in table.rglob("*") if p.is_file() and p.name != "latest_version_hint.json")
    assert sum(v["new_bytes"]["total"] for v in versions.values()) == there
    anatomy = json.loads(run("manifest", table, "--json")[1])
    share = {s["section"]: s["share"] for s in anatomy["sections"]}
    assert share["transaction"] > 0.8
    assert sum(s["length"] for s in anatomy["sections"]) == anatomy["bytes"]
    assert json.loads(run("show", table, "--json")[1])["stats"] == expected["lancedb"]["stats_final"]
    for name, version in (("stats_before_99", 101), ("stats_before_199", 203), ("stats_before_final", 256)):
        assert json.loads(run("show", table, "--json", "--version", str(version))[1])["stats"] == expected["lancedb"][name]


@pytest.mark.parametrize("table", tables(), ids=lambda p: f"{p.parent.name}/{p.name}")
def test_indices_are_those_of_pylance(table):
    try:
        theirs = lance.dataset(str(table)).list_indices()
    except Exception as e:
        pytest.skip(f"pylance does not list them: {str(e)[:80]}")
    code, out, _ = run("show", table, "--json")
    if code != 0:
        pytest.skip("Pilum refuses the newest version")
    ours = json.loads(out)["indices"]
    if any(not list((table / "_indices" / i["uuid"]).glob("*")) for i in ours) and ROOT in table.parents:
        pytest.skip("the copy here is without files of indices; the table in ../shared has them")
    ids = lambda runs: sorted(i for a, b in runs for i in range(a, b + 1))
    # Of indices without details pylance says Unknown, where their files tell.
    known = {i["uuid"]: i["type"] for i in ours}
    theirs = [{**i, "type": known.get(i["uuid"])} if i["type"] == "Unknown" else i for i in theirs]
    mine = [(i["name"], i["type"], i["uuid"], i["columns"], i["dataset_version"], ids(i["covered_fragments"])) for i in ours]
    want = [(i["name"], i["type"], i["uuid"], i["fields"], i["version"], sorted(i["fragment_ids"])) for i in theirs]
    assert sorted(mine) == sorted(want)


def test_bindings_give_the_same_facts():
    from pilum._pilum import Table

    table = ROOT / "tests" / "golden" / "table" / "mainline" / "table.lance"
    t = Table.open(str(table))
    assert t.statistics() == json.loads(run("show", table, "--json")[1])["stats"]
    assert [h["what"] for h in t.history(2)] == [v["what"] for v in json.loads(run("log", table, "--json", "-n", "2")[1])["versions"]]
    assert t.transaction_message() == json.loads(run("txn", table, "--json")[1])["transaction"]
    assert t.indices() == []
