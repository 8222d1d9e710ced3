#!/usr/bin/env python3
"""Docs are true to the code: every path that README, docs/ and CHANGELOG name in `backticks` and that looks like a file of this
repository exists; every local link resolves. A walk may use the short form of a room (`query/plan.cc` for src/pilum/query/plan.cc)."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PATHLIKE = re.compile(r"`((?:src|docs|tests|tools|bench|proto|cmake|base|io|values|encoding|sketch|file|ingest|index|source|part|query|cli|python)/"
                      r"[\w./{},*-]+)`")
LINK = re.compile(r"\[[^\]]*\]\(([^)#:\s]+)(?:#[^)]*)?\)")


def variants(name):
    m = re.match(r"(.*)\{([^}]*)\}(.*)", name)
    return [m[1] + v + m[3] for v in m[2].split(",")] if m else [name]


def exists(name):
    bases = [ROOT, ROOT / "src" / "pilum"]
    if "*" in name:
        return any(any(b.glob(name)) for b in bases)
    return any((b / name).exists() for b in bases)


def main():
    missing, named = [], 0
    pages = [p for p in [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))] if p.exists()]
    for page in pages:
        text = page.read_text()
        for match in PATHLIKE.finditer(text):
            for name in variants(match[1].rstrip(".")):
                last = name.rstrip("/").rsplit("/", 1)[-1]
                if "." not in last and "*" not in last and not name.endswith("/"):
                    continue  # a command or a name, not a file
                named += 1
                if not exists(name):
                    missing.append(f"{page.relative_to(ROOT)}: `{name}` does not exist")
        for match in LINK.finditer(text):
            named += 1
            if not (page.parent / match[1]).exists():
                missing.append(f"{page.relative_to(ROOT)}: link {match[1]} leads nowhere")
    for line in missing:
        print(line)
    print(f"{len(pages)} pages, {named} paths checked, {len(missing)} missing")
    return bool(missing)


if __name__ == "__main__":
    sys.exit(main())
