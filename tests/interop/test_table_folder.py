"""All verbs of `pilum table` on all recorded tables: they end with clear words, and nothing in the folder changes."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from conftest import ROOT, cli, cli_command

BESIDE = ROOT.parent / "shared" / "fixtures" / "table"  # the larger set, where there is one
CORPUS = BESIDE if BESIDE.is_dir() else ROOT / "tests" / "golden" / "table"
TABLES = sorted(
    {p.relative_to(CORPUS) for p in CORPUS.glob("*/*.lance") if p.is_dir()}
    | {p.relative_to(CORPUS) for p in CORPUS.glob("upstream/*") if p.is_dir()}
)


def state(folder):
    """Names, bytes and times of all there is."""
    out = {}
    for path, folders, files in os.walk(folder):
        for name in [*folders, *files]:
            full = Path(path) / name
            st = full.lstat()
            out[str(full.relative_to(folder))] = (st.st_mtime_ns, st.st_ctime_ns, st.st_mode, full.read_bytes() if full.is_file() else None)
    return out


# They change tables, and have a dry run that does not (test_table_write_verbs.py).
WRITING = {"append", "delete", "update", "upsert", "restore", "tag", "branch", "compact", "cleanup", "maintain"}


def verbs():
    """Those that look, as the command itself lists them."""
    help_text = cli("table", "--help")
    found = re.findall(r"^  ([a-z]+) {2,}\S", help_text[help_text.index("Subcommands:" if "Subcommands:" in help_text else "SUBCOMMANDS:"):], re.M)
    assert {"show", "log", "ls", "space", "check", "diff", "report"} <= set(found)
    assert WRITING <= set(found)
    return [verb for verb in found if verb not in WRITING]


def arguments(verb, table, out):
    return {
        "diff": [[table, "1", "2"], [table, "1", "1"]],
        "report": [[table, "--html", out]],
        "ls": [[table], [table, "--files"], [table, "--version", "1"]],
        "space": [[table], [table, "--files"], [table, "--files", "--older-than", "0s", "--unverified"], [table, "--version", "1"]],
        "check": [[table, "--deep"], [table, "--version", "1"]],
        "txn": [[table, "1"]],
        "take": [[table, "0"]],
        "manifest": [[table], [table, "--version", "1"]],
    }.get(verb, [[table], [table, "--version", "1"]])


def run(*args):
    return subprocess.run([cli_command(), *map(str, args)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=300)


@pytest.mark.heavy
@pytest.mark.parametrize("table", TABLES, ids=str)
def test_nothing_changes(tmp_path, table):
    copy = tmp_path / "t.lance"
    shutil.copytree(CORPUS / table, copy)
    before = state(copy)
    for verb in verbs():
        for i, args in enumerate(arguments(verb, copy, tmp_path / "report.html")):
            for json_too in [["--json"], []][i > 0 or verb == "take" :]:  # rows have --format
                done = run("table", verb, *args, *json_too)
                said = done.stdout.decode() + done.stderr.decode()
                assert done.returncode in ((0, 2, 3, 4, 5) if verb == "take" else (0, 1, 3, 4, 5)), (verb, args, done.returncode, said)
                assert said.strip(), (verb, args)
                if done.returncode > 1:  # one line, which names the table or what was asked for
                    assert said.startswith("pilum: ") or said.startswith("error"), said
                elif json_too:
                    json.loads(done.stdout)
    assert state(copy) == before
    assert os.listdir(tmp_path) in (["t.lance"], ["report.html", "t.lance"], ["t.lance", "report.html"])


DAMAGED = {
    "damaged-bad-magic": "unreadable_version", "damaged-corrupt-deletion-file": "damaged_deletions",
    "damaged-duplicate-version": "mixed_manifest_names", "damaged-empty-manifest": "unreadable_version",
    "damaged-garbage-inline-txn": "damaged_transaction", "damaged-garbage-txn": "damaged_transaction",
    "damaged-missing-data-file": "missing_file", "damaged-missing-index-files": "missing_index_file",
    "damaged-name-version-mismatch": "unreadable_version",
    "damaged-no-txn-anywhere": "missing_transaction_file", "damaged-trailing-bytes": "unreadable_version",
    "damaged-truncated-data-file": "wrong_size", "damaged-unknown-reader-flag": "unreadable_version",
}  # fmt: skip
NOTED = {
    "damaged-hint-garbage": "wrong_hint", "damaged-hint-missing": "missing_hint", "damaged-stale-hint": "wrong_hint",
    "damaged-stray-files": "stray_file", "damaged-missing-txn": "missing_transaction_file", "damaged-unknown-writer-flag": "unknown_writer_flag",
}  # fmt: skip


@pytest.mark.skipif(CORPUS != BESIDE, reason="damaged tables are not in the repository")
@pytest.mark.parametrize("name", sorted({**DAMAGED, **NOTED}))
def test_each_damage_is_named(tmp_path, name):
    folder = tmp_path / "t.lance"
    shutil.copytree(CORPUS / name / "table.lance", folder)
    is_problem = name in DAMAGED
    done = run("table", "check", folder, "--deep", "--json")
    said = json.loads(done.stdout)
    codes = {(f["severity"], f["code"]) for f in said["findings"]}
    assert ("problem" if is_problem else "note", {**DAMAGED, **NOTED}[name]) in codes, codes
    assert done.returncode == (1 if is_problem else 0), codes
    # The damage, and not what follows from it.
    assert len({code for severity, code in codes if severity == "problem"}) == is_problem, codes


def test_no_manifests(tmp_path):
    folder = tmp_path / "t.lance"
    shutil.copytree(CORPUS / "updates" / "table.lance", folder)
    shutil.rmtree(folder / "_versions")
    said = json.loads(cli("table", "check", folder, "--json", code=1))
    assert [f["code"] for f in said["findings"]] == ["no_versions"] and said["version"] is None
    assert json.loads(cli("table", "ls", folder, "--json"))["total"]["files"] > 0
    for verb in ("space", "show", "log"):
        assert run("table", verb, folder).returncode == 3


@pytest.mark.parametrize("table", [t for t in TABLES if not str(t).startswith(("damaged", "upstream", "clones", "tags-branches"))], ids=str)
def test_sound_ones_are_sound(table):
    said = json.loads(cli("table", "check", CORPUS / table, "--deep", "--json"))
    assert said["problems"] == 0, said["findings"]
