#!/usr/bin/env python3
"""Filtered reads of a million conversation rows, all columns: a part store beside pylance (its best index, and none), DuckDB's own
tables and Polars over Parquet, in turns in one process; a JSON line an engine and job, then one that compares.

    filters.py [--only TEXT] [--rows 1000000] [--n 5] [--folder FOLDER]

`cpu` and `wall` are seconds, medians of n turns, CPU of all threads. Handles are open and files in the page cache; each answer
becomes an Arrow table (Polars: a frame), and every engine must find as many rows. `ratios`: our CPU over each peer's. The last line
says in how many jobs nobody takes less CPU.
"""

import argparse
import gc
import json
import shutil
import statistics
import sys
import time
from collections import Counter
from pathlib import Path

import duckdb
import lance
import polars as pl
import pyarrow.compute as pc
import pyarrow.parquet as pq

sys.path.insert(0, str(Path(__file__).parent))
import race_data

import pilum

INDEXES = {"id": "BTREE", "content_hash": "BTREE", "ts": "BTREE", "owner_id": "BITMAP", "tool": "BITMAP", "kind": "BITMAP", "cost": "BTREE", "tags": "LABEL_LIST",
           "text": "NGRAM"}
DATASET = """key = ["id", "content_hash"]
time = "ts"
[index]
owner_id = ["inverted"]
tool = ["inverted"]
conversation_id = ["inverted"]
kind = ["inverted"]
cost = ["nulls"]
tags = ["members"]
text = ["trigrams"]
"""


def value_near(column, share):
    """The value that is nearest to this share of the rows."""
    counts = pc.value_counts(column).to_pylist()
    return min(counts, key=lambda c: abs(c["counts"] - share * len(column)))["values"]


def rare_word(texts):
    """One of six letters or more, in about 0.05 % of the rows."""
    counts = Counter(word for text in texts.slice(0, 20000).to_pylist() for word in set(text.split()))
    return min((w for w in sorted(counts) if len(w) >= 6), key=lambda w: abs(counts[w] - 10))


def jobs(table):
    """name: (SQL of all, Polars expression, SQL of DuckDB where it differs)"""
    n = len(table)
    ids = table["id"]
    one, hundred = ids[n // 3].as_py(), [ids[i].as_py() for i in range(5, n, n // 100)][:100]
    digest = table["content_hash"][n * 7 // 9].as_py()
    low, high = table["ts"][n // 2].as_py(), table["ts"][n // 2 + n // 1000].as_py()
    owner_column = "owner_id" if "owner_id" in table.column_names else "tool"
    owner, word = value_near(table[owner_column], 0.03), rare_word(table["text"])
    listed = ", ".join(map(str, hundred))
    time_at = "%Y-%m-%d %H:%M:%S.%f"
    between = f"ts >= timestamp '{low.strftime(time_at)}' AND ts < timestamp '{high.strftime(time_at)}'"
    return {
        "point, id": (f"id = {one}", pl.col("id") == one),
        "point, hash": (f"content_hash = '{digest}'", pl.col("content_hash") == digest),
        "100 ids": (f"id IN ({listed})", pl.col("id").is_in(hundred)),
        "0.1 %, times": (between, (pl.col("ts") >= low) & (pl.col("ts") < high)),
        "3 %, owner": (f"{owner_column} = '{owner}'", pl.col(owner_column) == owner),
        "12 %, NULL": ("cost IS NULL", pl.col("cost").is_null()),
        "20 %, kind": ("kind = 'user'", pl.col("kind") == "user"),
        "list membership": ("array_has(tags, 'tag40')", pl.col("tags").list.contains("tag40"), "list_contains(tags, 'tag40')"),
        "substring": (f"contains(text, '{word}')", pl.col("text").str.contains(word, literal=True)),
    }


def fresh(path):
    if path.is_dir():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)
    return path


def engines(table, folder):
    """name: (job -> rows)"""
    parquet = folder / "filters.parquet"
    pq.write_table(table, parquet, compression="zstd")
    for name in ("plain", "indexed"):
        lance.write_dataset(table, str(fresh(folder / f"filters.{name}.lance")))
    plain, indexed = (lance.dataset(str(folder / f"filters.{name}.lance")) for name in ("plain", "indexed"))
    for column, kind in INDEXES.items():
        if column not in table.column_names:
            continue
        indexed.create_scalar_index(column, kind)
    indexed = lance.dataset(indexed.uri)
    database = duckdb.connect(str(fresh(folder / "filters.duckdb")))
    database.register("source", table)
    database.execute("CREATE TABLE t AS SELECT * FROM source")
    database.unregister("source")
    place = fresh(folder / "filters.store")
    (place / "asked").mkdir(parents=True)
    (place / "asked" / "dataset.toml").write_text(DATASET)
    for name in ("rules", "asked"):
        pilum.store.open(str(place / name)).put(table)
    rules, asked = (pilum.store.open(str(place / name)) for name in ("rules", "asked"))
    select = "SELECT * FROM t WHERE "
    frame = pl.scan_parquet(parquet)
    return {
        "pilum": lambda job: asked.query(select + job[0]).to_table().num_rows,
        "pilum, indexes by rules": lambda job: rules.query(select + job[0]).to_table().num_rows,
        "pilum, no sidecars": lambda job: rules.query(select + job[0], use_index=False).to_table().num_rows,
        "pylance, best index": lambda job: indexed.to_table(filter=job[0]).num_rows,
        "pylance, no index": lambda job: plain.to_table(filter=job[0]).num_rows,
        "duckdb": lambda job: database.sql(select + job[-1 if len(job) > 2 else 0]).to_arrow_table().num_rows,
        "polars": lambda job: frame.filter(job[1]).collect().height,
    }


def cost(work):
    gc.collect()
    cpu, wall = time.process_time(), time.perf_counter()
    rows = work()
    return time.process_time() - cpu, time.perf_counter() - wall, rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--n", type=int, default=5)
    parser.add_argument("--folder", type=Path, default=race_data.FOLDER)
    args = parser.parse_args()
    table = race_data.tables(args.rows, only="conv")["conv"]
    runs = engines(table, args.folder)
    ahead = asked = 0
    for name, job in jobs(table).items():
        if args.only not in name:
            continue
        for run in runs.values():
            run(job)  # handles, dictionaries and caches are warm
        turns = [{engine: cost(lambda run=run: run(job)) for engine, run in runs.items()} for _ in range(args.n)]
        cpu = {}
        for engine in runs:
            cpu[engine], wall = (statistics.median(t[engine][i] for t in turns) for i in (0, 1))
            print(json.dumps({"job": name, "engine": engine, "rows": turns[0][engine][2], "cpu": round(cpu[engine], 6), "wall": round(wall, 6)}), flush=True)
        rows = {t[engine][2] for t in turns for engine in runs}
        if len(rows) != 1:
            sys.exit(f"{name}: engines find different numbers of rows: {sorted(rows)}")
        ratios = {engine: round(cpu["pilum"] / c, 3) for engine, c in cpu.items() if not engine.startswith("pilum")}
        asked += 1
        ahead += max(ratios.values()) <= 1
        print(json.dumps({"job": name, "rows": rows.pop(), "ratios": ratios}), flush=True)
    print(json.dumps({"jobs": asked, "ahead_of_all": ahead}))


if __name__ == "__main__":
    main()
