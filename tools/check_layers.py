#!/usr/bin/env python3
"""Includes may only point down. Reads tools/layers.txt (folder: folders it may include) and every source under src/pilum.

Also holds the edges of outside libraries: parquet/, arrow/csv and arrow/json only in ingest; generated protobuf headers only in
the files that read or write the wire. Tests, fuzzers and benchmarks may include anything.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
SRC = ROOT / "src" / "pilum"
INCLUDE = re.compile(r'^\s*#\s*include\s+["<]([^">]+)[">]', re.M)
EDGES = [
    (re.compile(r"^(parquet/|arrow/csv|arrow/json)"), re.compile(r"^ingest/"), "only ingest reads and writes foreign formats"),
    (re.compile(r"\.pb\.h$"), re.compile(r"^encoding/descriptor_wire\.h$|^(encoding/((v2_0/)?descriptor|planar_layout)|file/(footer|schema_wire|file_writer|column_wire)[a-z_]*|table/(manifest|indices|row_ids|transaction))\.cc$|^table/commit/wire\.h$"),
     "protobuf stops at the wire files"),
    (re.compile(r"^pilum/table/commit/.*wire\.h$"), re.compile(r"^(table/commit|change)/|^python/transaction_"), "messages of tables are edited by table/commit and change alone (python/transaction_* puts them into dicts)"),
]


def layers():
    allowed = {}
    for line in (ROOT / "tools" / "layers.txt").read_text().splitlines():
        line = line.split("#")[0]
        if ":" in line:
            folder, below = line.split(":", 1)
            allowed[folder.strip()] = set(below.split()) | {folder.strip()}
    return allowed


def main():
    allowed, checked, bad = layers(), 0, []
    for path in sorted(SRC.rglob("*")):
        if path.suffix not in (".h", ".cc") or re.search(r"(^|_)(test|fuzz|benchmark)(_|\.)", path.name):
            continue
        inside = path.relative_to(SRC)
        if len(inside.parts) == 1:
            continue
        folder = inside.parts[0]
        if folder not in allowed:
            bad.append(f"{inside}: folder {folder} is in no layer; add it to tools/layers.txt")
            continue
        for target in INCLUDE.findall(path.read_text(errors="replace")):
            checked += 1
            if target.startswith("pilum/"):
                to = target.split("/")[1]
                if to in allowed and to not in allowed[folder]:
                    bad.append(f"{inside}: includes {target}: {folder} -> {to} points up")
            for pattern, where, why in EDGES:
                if pattern.search(target) and not where.search(str(inside)):
                    bad.append(f"{inside}: includes {target}: {why}")
    for line in bad:
        print(line)
    print(f"{checked} includes checked, {len(bad)} wrong")
    return bool(bad) or checked == 0


if __name__ == "__main__":
    sys.exit(main())
