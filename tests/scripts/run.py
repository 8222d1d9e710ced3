#!/usr/bin/env python3
"""Runs tests/scripts/*.test: command lines in, their output below, compared. Ends with 'N passed, N failed, N skipped'.

  run.py [--cli build/release/pilum] [--show] [NAME ...]

A .test file is a list of cases, run in order by bash in one fresh folder (with `pilum` first on the PATH):
  # a comment
  @needs zsh                 the rest is skipped where that program is missing
  $ pilum file info x.lance  a command line; following lines are its standard output and error, as one text
  [2]                        a last line in brackets is its exit code; without one, 0
In expected lines `...` stands for any text; a line of only `...` for any number of lines.
"""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent


def parse(path):
    cases, needs = [], None
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if line.startswith("@needs "):
            needs = line.split()[1]
        elif line.startswith("$ "):
            cases.append({"line": number, "command": line[2:], "want": [], "code": 0, "needs": needs})
        elif line.startswith("> ") and cases and not cases[-1]["want"]:
            cases[-1]["command"] += "\n" + line[2:]
        elif cases and not (line.startswith("# ") and not cases[-1]["open"]):
            cases[-1]["want"].append(line)
        if cases:
            cases[-1]["open"] = bool(line) and not line.startswith("# ")
    for case in cases:
        want = case["want"]
        while want and not want[-1]:
            want.pop()
        if want and re.fullmatch(r"\[\d+\]", want[-1]):
            case["code"] = int(want.pop()[1:-1])
    return cases


def matches(want, got):
    """Lines against lines; `...` alone eats any number of lines."""
    def line_regex(w):
        return re.escape(w).replace(re.escape("..."), ".*")
    pattern = ""
    for w in want:
        pattern += "(?:.*\n)*" if w == "..." else line_regex(w) + "\n"
    return re.fullmatch(pattern, "".join(g + "\n" for g in got)) is not None


def run(case, folder, env):
    try:
        p = subprocess.run(["bash", "-c", case["command"]], cwd=folder, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                           stdin=subprocess.DEVNULL, timeout=120)
    except subprocess.TimeoutExpired:
        return ["(ran over 120 s)"], -1
    return p.stdout.decode("utf-8", "replace").rstrip("\n").split("\n") if p.stdout.strip() else [], p.returncode


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("names", nargs="*", help="only these test files (with or without .test)")
    ap.add_argument("--cli", default="build/release/pilum")
    ap.add_argument("--show", action="store_true", help="print what every command gave")
    args = ap.parse_args()
    cli = pathlib.Path(args.cli).resolve()
    if not cli.exists():
        sys.exit(f"run.py: {cli} is not built")
    wanted = {n.removesuffix(".test") for n in args.names}
    passed = failed = skipped = 0
    with tempfile.TemporaryDirectory() as top:
        binaries = pathlib.Path(top) / "bin"
        binaries.mkdir()
        (binaries / "pilum").symlink_to(cli)
        spools = pathlib.Path(top) / "spools"  # what other runs left in the system's folder is none of the commands' business
        spools.mkdir()
        env = {**os.environ, "PILUM_TMPDIR": str(spools), "PATH": f"{binaries}:{os.environ['PATH']}", "TESTS": str(HERE),
               "LC_ALL": "C.UTF-8", "TERM": "xterm", "PYTHON": sys.executable}
        env.pop("NO_COLOR", None)
        for path in sorted(HERE.glob("*.test")):
            if wanted and path.stem not in wanted:
                continue
            folder = pathlib.Path(top) / path.stem
            folder.mkdir()
            for case in parse(path):
                if case["needs"] and not shutil.which(case["needs"]):
                    skipped += 1
                    continue
                got, code = run(case, folder, env)
                if args.show:
                    print(f"$ {case['command']}", *got, f"[{code}]", sep="\n")
                if code == case["code"] and matches(case["want"], got):
                    passed += 1
                    continue
                failed += 1
                print(f"FAIL {path.name}:{case['line']}: {case['command']}")
                print(*[f"  want: {w}" for w in case["want"]], f"  want exit code {case['code']}", sep="\n")
                print(*[f"  got:  {g}" for g in got[:40]], f"  got exit code {code}", sep="\n")
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
