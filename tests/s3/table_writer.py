"""One writer of a race: table_writer.py ENGINE URI FIRST SEED. Changes rows of its own, FIRST to FIRST + 999,999, until it is killed or
a call fails. Before each call it prints what it will do, after it "ok"; see test_table_race.py."""

import json
import os
import random
import sys

import pyarrow as pa


def main():
    engine, uri, first, seed = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    if engine == "lance":
        import lance as module

        options = {"allow_http": "true", "aws_endpoint": os.environ["AWS_ENDPOINT_URL"]}
        open_table = lambda: module.dataset(uri, storage_options=options)  # noqa: E731
        append = lambda rows: module.write_dataset(rows, uri, mode="append", storage_options=options)  # noqa: E731
    else:
        import pilum as module

        open_table = lambda: module.dataset(uri)  # noqa: E731
        append = lambda rows: module.write_dataset(rows, uri, mode="append")  # noqa: E731
    rng = random.Random(seed)
    batches, next_id, turn = [], first, 0
    while True:
        turn += 1
        what = rng.choice(["append", "append", "delete", "update", "upsert"]) if batches else "append"
        begin, end = rng.choice(batches) if what in ("delete", "update") else (next_id, next_id + rng.choice([1, 3, 40]))
        if what == "upsert":  # of rows that are there and rows that are new
            begin = max(first, batches[-1][0])
        if what in ("append", "upsert"):
            next_id = end
        print(json.dumps([what, begin, end, turn]), flush=True)
        rows = pa.table({"id": pa.array(range(begin, end), pa.int64()), "w": pa.array([turn] * (end - begin), pa.int64())})
        if what == "append":
            append(rows)
        elif what == "delete":
            open_table().delete(f"id >= {begin} and id < {end}")
        elif what == "update":
            open_table().update({"w": str(turn)}, where=f"id >= {begin} and id < {end}")
        else:
            open_table().merge_insert("id").when_matched_update_all().when_not_matched_insert_all().execute(rows)
        print("ok", flush=True)
        if what in ("append", "upsert"):
            batches.append((begin, end))
        elif what == "delete":
            batches.remove((begin, end))


main()
