"""Indexes of parts: asked for by field metadata or dataset.toml, used where they pay, never changing an answer."""

import random

import pyarrow as pa
import pytest

import pilum

N = 50_000
EVERYTHING = "bloom, inverted, nulls, members, key, trigrams, words, cuckoo, time, owner"


def make(seed):
    rng = random.Random(seed)
    words = ["alpha", "Beta", "gamma", "δέλτα", "epsilon", "ζ", "kiss", "K\u212aelvin"]
    ids = list(range(N))
    rng.shuffle(ids)
    return pa.table({
        "id": pa.array(ids, pa.int64()),
        "group": pa.array([rng.randrange(800) if rng.random() > 0.02 else None for _ in range(N)], pa.int32()),
        "text": pa.array([" ".join(rng.choices(words, k=5)) + f" {i}" for i in range(N)]),
        "tags": pa.array([[f"t{rng.randrange(500)}" for _ in range(rng.randrange(3))] for _ in range(N)]),
        "st": pa.array([{"a": rng.randrange(300), "b": None if i % 3000 == 0 else "x"} for i in range(N)]),
        "t": pa.array([1_700_000_000 + i if i != 999 else 3 for i in range(N)], pa.timestamp("s")),
    })


def annotated(table):
    # Where a column has a key and postings, either may be asked: "id" has keys alone.
    asked = {"id": "key"}
    return table.cast(pa.schema([f.with_metadata({"pilum:index": asked.get(f.name, EVERYTHING)}) for f in table.schema]))


PROBES = {
    "id = 4711": "key",
    "id IN (1, 2, 3, 99999999)": "key",
    "group = 77": "inverted",
    "group IN (1, 5, 700)": "inverted",
    "group IS NULL": "nulls",
    "NOT (group = 5)": "inverted",
    "st.a = 5": "inverted",
    "st.b IS NULL": "nulls",
    "array_has(tags, 't77')": "members",
    "array_has_all(tags, ['t1', 't2'])": "members",
    "text LIKE '%4711%'": "trigrams",
    "text ILIKE '%BETA gamma δΈλτα%'": "trigrams",
    "contains(text, ' 123')": "trigrams",
    "contains_words(text, 'ALPHA 4711')": "words",
    "contains_tokens(text, 'Beta 4711')": "words",
    "NOT contains_words(text, 'alpha')": None,
    "text LIKE '% 4711'": None,
    "group = 77 AND st.a = 5": None,
}


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    s = pilum.store.open(tmp_path_factory.mktemp("idx") / "ds")
    for seed in range(2):
        s.put(annotated(make(seed)))
    return s


@pytest.mark.parametrize("where", PROBES)
def test_the_same_rows_with_and_without(store, where):
    sql = f"SELECT id, text FROM t WHERE {where}"
    with_index, without = store.query(sql), store.query(sql, use_index=False)
    assert with_index.to_table().equals(without.to_table())
    leaf = where.startswith(("st.", "NOT (st."))  # fields of structs were not annotated here
    if not leaf and PROBES[where]:
        assert f"{PROBES[where]} " in with_index.explain(), with_index.explain()


def test_check_holds_every_index(store):
    assert store.check() == []


def test_one_late_row_does_not_keep_its_part(store):
    result = store.query("SELECT id FROM t WHERE t BETWEEN TIMESTAMP '1980-01-01' AND TIMESTAMP '2001-01-01'")
    assert result.to_table().num_rows == 0
    assert result.counts["units_pruned" if "units_pruned" in result.counts else "parts_pruned"] == 2


def test_dataset_file_chooses(tmp_path):
    path = tmp_path / "ds"
    path.mkdir()
    (path / "dataset.toml").write_text('key = "id"\n[index]\ntext = ["trigrams"]\n')
    s = pilum.store.open(path)
    s.put(make(5))
    result = s.query("SELECT id FROM t WHERE text LIKE '%4711%'")
    assert result.to_table().num_rows > 0
    assert "trigrams" in result.explain()
    (path / "dataset.toml").write_text('key = 7\n')
    with pytest.raises(Exception, match="line 1"):
        s.put(make(6))


def test_pairs_of_columns(tmp_path):
    path = tmp_path / "ds"
    path.mkdir()
    (path / "dataset.toml").write_text('pairs = [["kind", "st.a"]]\n')
    rng = random.Random(3)
    n = 20_000
    t = pa.table({
        "kind": pa.array([rng.choice("abcde") for _ in range(n)]),
        "st": pa.array([{"a": rng.randrange(6)} for _ in range(n)]),
        "x": pa.array(range(n)),
    })
    s = pilum.store.open(path)
    s.put(t)
    for where, rows in [("kind = 'b' AND st.a = 3", None), ("kind IN ('b', 'c') AND st.a = 3 AND x < 500", None),
                        ("NOT (kind = 'b' AND st.a = 3)", None), ("kind = 'b' AND st.a = 9", 0)]:
        sql = f"SELECT x FROM t WHERE {where}"
        with_index, without = s.query(sql), s.query(sql, use_index=False)
        got = with_index.to_table()
        assert got.equals(without.to_table())
        assert rows is None or got.num_rows == rows
        if rows is None and not where.startswith("NOT"):
            assert "pairs " in with_index.explain(), with_index.explain()
    assert s.check() == []


def test_an_unknown_index_is_refused(tmp_path):
    t = pa.table({"a": [1]}).cast(pa.schema([pa.field("a", pa.int64(), metadata={"pilum:index": "magic"})]))
    with pytest.raises(Exception, match="'magic'"):
        pilum.store.open(tmp_path / "ds").put(t)
