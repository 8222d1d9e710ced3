"""Random updates and merges of one table, by pylance on one copy and by Pilum on the other: after each both hold the same."""

import random
import re

import lance
import pyarrow as pa

import pilum
from twins import check_same, twins

WORDS = ["alpha", "beta", "", "naïve", "x" * 100, None]
SCHEMA = pa.schema(
    [("id", pa.int64()), ("k", pa.string()), ("g", pa.int32()), ("x", pa.float64()), ("l", pa.list_(pa.int64())), ("b", pa.bool_())]
)


def rows(rng, ids):
    return pa.Table.from_pylist(
        [
            {"id": i, "k": rng.choice(WORDS), "g": rng.choice([None, 0, 1, 2, 3]), "x": rng.choice([None, 0.5, float(i or 0)]),
             "l": rng.choice([None, [], [1], [None, 2]]), "b": rng.choice([None, True, False])}
            for i in ids
        ],
        schema=SCHEMA,
    )  # fmt: skip


def update(rng):
    values = rng.sample(
        [("g", "g + 1"), ("g", "NULL"), ("x", "x * 2"), ("x", "g"), ("k", "concat(k, '!')"), ("b", "g > 1"), ("g", "id % 7")], 2
    )
    if len({column for column, _ in values}) == 2 and any(re.search(rf"\b{a}\b", text) for a, _ in values for b, text in values if a != b):
        values.pop()  # pylance computes the second over what it has made of the first, or the other way round
    where = rng.choice([None, "g = 1", "id % 3 = 0", "k = 'beta' or b", "x > 10", "id < 0", "k is null and g is not null"])
    return f"update {values} {where}", lambda ds: ds.update(dict(values), where)


def merge(rng, present, fresh, stable):
    on = rng.choice([["id"], ["id"], ["id", "k"]])
    ids = rng.sample(present, min(len(present), rng.randrange(12))) + [fresh + i for i in range(rng.randrange(8))]
    ids += [None] * rng.randrange(2)
    rng.shuffle(ids)
    source = rows(rng, ids)
    if rng.random() < 0.4:
        source = source.select(sorted(set(on) | set(rng.sample(SCHEMA.names, 2))))
    condition = rng.choice([None, None, "source.id % 2 = 0", "target.g is null or target.g < 2"])
    matched = rng.choice(["update", "update", "update", "delete", "fail", None])
    insert = rng.random() < 0.7
    others = rng.choice([None, None, "", "g = 2", "id % 5 = 1"])
    # Batches of a stream come out of its join in any order, and so get their ids.
    in_stream = not stable and rng.random() < 0.5

    def change(ds):
        b = ds.merge_insert(on)
        if matched == "update":
            b.when_matched_update_all(condition)
        elif matched:
            getattr(b, f"when_matched_{matched}")()
        if insert:
            b.when_not_matched_insert_all()
        if others is not None:
            b.when_not_matched_by_source_delete(others or None)
        return b.execute(source.to_reader(max_chunksize=3) if in_stream else source)

    return f"merge on {on} of {source.to_pylist()}: {matched} {condition}, insert {insert}, others {others}", change


def done(change, ds):
    try:
        return change(ds)
    except Exception as e:  # noqa: BLE001
        return "failed" if "Ambiguous" in str(e) or "found matching" in str(e) or "not configured" in str(e) else repr(e)


def test_random_changes(tmp_path, budget):
    for seed in budget(0.5).seeds():
        rng = random.Random(seed)
        stable = rng.random() < 0.5
        uri = str(tmp_path / f"{seed}.lance")
        version = rng.choice(["2.0", "2.1", "2.2"])
        first = list(range(rng.choice([1, 30, 60])))
        lance.write_dataset(
            rows(rng, first), uri, enable_stable_row_ids=stable, data_storage_version=version, max_rows_per_file=rng.choice([7, 25, 1000])
        )
        theirs, ours = twins(uri)
        log, fresh = [f"seed {seed}, stable {stable}, {version}"], 1000
        for _ in range(6):
            present = [i for i in lance.dataset(ours).to_table(["id"])["id"].to_pylist() if i is not None]
            words, change = update(rng) if rng.random() < 0.4 else merge(rng, present, fresh, stable)
            fresh += 100
            log.append(words)
            wanted = done(change, lance.dataset(theirs))
            if "Internal error" in str(wanted):  # of pylance: deletes of matched rows together with deletes of others
                continue
            got = done(change, pilum.dataset(ours))
            assert got == wanted, "\n".join(log)
            try:
                check_same(theirs, ours, ordered=False, addresses=False)
            except AssertionError as e:
                raise AssertionError("\n".join(log)) from e
