#!/usr/bin/env python3
"""Process start to 10 rows printed: `pilum file take FILE 10 rows` and `pilum table take`, beside an empty program that links libarrow and
libarrow_compute and calls Initialize (build/release/bench/pilum_empty), and beside pylance in a fresh interpreter.

    startup.py [--file F.lance] [--n 15] [--build build/release] [--no-peer]

JSON lines: medians of n turns, milliseconds of CPU (user + system) and wall; `over_empty` is ours minus the empty program's.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ROWS = [1, 2, 3, 500, 501, 999, 4000, 4001, 7000, 9999]
TABLE_PEER = f"import sys, lance; print(lance.dataset(sys.argv[1]).take({ROWS}).to_pylist())"
PEER = f"import sys; from lance.file import LanceFileReader as R; print(R(sys.argv[1]).take_rows({ROWS}).to_table().to_pylist())"


def cost(command):
    """CPU and wall milliseconds of one process, from before its start to after its end."""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"{command[0]} ended with {process.returncode}")
    return (usage.ru_utime + usage.ru_stime) * 1e3, wall * 1e3


def turns(commands, n):
    """{name: (CPU, wall)}: lists of n, taken by turns so that a busy machine is busy for all of them."""
    for command in commands.values():
        cost(command)
    rounds = [{name: cost(command) for name, command in commands.items()} for _ in range(n)]
    return {name: tuple(zip(*(r[name] for r in rounds))) for name in commands}


def sample(folder):
    import race_data
    from pilum.file import LanceFileWriter

    path = folder / "startup.lance"
    table = race_data.tables(20_000)["conv"]
    with LanceFileWriter(str(path), table.schema) as writer:
        writer.write_batch(table)
    return path


def sample_table(folder):
    """The same rows in 20 fragments, by pylance."""
    import lance
    import race_data

    path = folder / "startup_table.lance"
    if not path.exists():
        lance.write_dataset(race_data.tables(20_000)["conv"], str(path), data_storage_version="2.2", max_rows_per_file=1000)
    return path


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--file", help="a Lance file of 10,000 rows or more (default: 20,000 conversation rows, made here)")
    ap.add_argument("--table", help="a Lance table of 10,000 rows or more (default: 20,000 conversation rows in 20 fragments)")
    ap.add_argument("--n", type=int, default=15)
    ap.add_argument("--build", default=str(ROOT / "build" / "release"))
    ap.add_argument("--no-peer", action="store_true")
    a = ap.parse_args()
    if not a.file or not a.table:
        sys.path.insert(0, str(Path(__file__).parent))
        import race_data

        a.file = a.file or str(sample(race_data.FOLDER))
        a.table = a.table or str(sample_table(race_data.FOLDER))
    build = Path(a.build)
    commands = {
        "pilum file take": [str(build / "pilum"), "file", "take", a.file, *map(str, ROWS)],
        "pilum table take": [str(build / "pilum"), "table", "take", a.table, *map(str, ROWS)],
        "empty program": [str(build / "bench" / "pilum_empty")],
    }
    if not a.no_peer:
        commands["pylance"] = [sys.executable, "-c", PEER, a.file]
        commands["pylance, table"] = [sys.executable, "-c", TABLE_PEER, a.table]
    costs = turns(commands, a.n)
    median = {name: [statistics.median(c) for c in cpu_wall] for name, cpu_wall in costs.items()}
    for name, (cpu, wall) in median.items():
        line = {"race": "startup", "job": name, "n": a.n, "cpu_ms": round(cpu, 2), "wall_ms": round(wall, 2)}
        if name.startswith("pilum"):
            empty = median["empty program"]
            line["over_empty"] = {"cpu_ms": round(cpu - empty[0], 2), "wall_ms": round(wall - empty[1], 2)}
        print(json.dumps(line))


if __name__ == "__main__":
    main()
