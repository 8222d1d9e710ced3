"""Changes of a table whose rows are of 1 MB: the whole process stays below 300 MB, whatever the table's size."""

import os
import subprocess
import sys

import pytest

import pilum

ROWS, MB = 400, 1 << 20
LIMIT = 300 * MB

MAKE = f"""
import sys
sys.path.insert(0, sys.argv[1])
import os, pyarrow as pa, pilum
uri = sys.argv[2]
def kept(name):
    return next(int(line.split()[1]) * 1024 for line in open("/proc/self/status") if line.startswith(name))
def wide(ids):
    for i in ids:
        yield pa.record_batch({{"id": pa.array([i], pa.int64()), "s": [os.urandom({MB} // 2).hex()]}})
SCHEMA = pa.schema([("id", pa.int64()), ("s", pa.string())])
def rows(ids):
    return pa.RecordBatchReader.from_batches(SCHEMA, wide(ids))
"""
# Each ends with what is to be true.
CHANGES = {
    "create": "ds = pilum.write_dataset(rows(range(%d)), uri + '2'); os.system('rm -r ' + uri + '2'); assert ds.count_rows() == %d" % (ROWS, ROWS),
    "add by SQL, a column as wide": "ds.add_columns({'t': 'upper(s)'}); assert ds.count_rows('t = upper(t) and length(t) = %d') == %d" % (MB, ROWS),
    "add by SQL, a narrow one": "ds.add_columns({'n': 'length(s)'}); assert ds.count_rows('n = %d') == %d" % (MB, ROWS),
    "add by a function": """
@pilum.batch_udf(output_schema=pa.schema([('t', pa.string())]))
def reversed_text(batch):
    return pa.record_batch({'t': [v[::-1] for v in batch['s'].to_pylist()]})
ds.add_columns(reversed_text, read_columns=['s'])
assert ds.count_rows('length(t) = %d') == %d""" % (MB, ROWS),
    "add by a reader": """
ds.add_columns(pa.RecordBatchReader.from_batches(pa.schema([('t', pa.string())]), (b.select(['s']).rename_columns(['t']) for b in wide(range(%d)))))
assert ds.count_rows('length(t) = %d') == %d""" % (ROWS, MB, ROWS),
    "cast of the wide column": "ds.alter_columns({'path': 's', 'data_type': pa.large_string()}); assert ds.count_rows('length(s) = %d') == %d" % (MB, ROWS),
    "cast of a narrow one": "ds.alter_columns({'path': 'id', 'data_type': pa.int32()}); assert ds.count_rows('id >= 0') == %d" % ROWS,
    "merge of columns": "ds.merge(pa.table({'k': range(%d), 'v': range(%d)}), 'id', 'k'); assert ds.count_rows('v = id') == %d" % (ROWS, ROWS, ROWS),
    "update": "ds.update({'s': 'lower(s)'}); assert ds.count_rows('s = lower(s)') == %d" % ROWS,
    "upsert": "ds.merge_insert('id').when_matched_update_all().when_not_matched_insert_all().execute(rows(range(200, 600))); assert pilum.dataset(uri).count_rows() == 600",
    "compact": "ds.delete('id %% 3 = 0'); ds.optimize.compact_files(target_rows_per_fragment=1000); assert ds.count_rows() == %d" % (ROWS - (ROWS + 2) // 3),
    "values of a fragment": """
f = ds.get_fragments()[0]
f.update_columns(pa.table({'k': range(100), 'id': [i + 1000 for i in range(100)]}), 'id', 'k')
assert ds.count_rows() == %d""" % ROWS,
}


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    uri = str(tmp_path_factory.mktemp("wide") / "t.lance")
    run(uri, f"pilum.write_dataset(rows(range({ROWS})), uri, max_rows_per_file=100)")
    return uri


def run(uri, code):
    """The most that the process held."""
    package = os.path.dirname(os.path.dirname(pilum.__file__))
    done = subprocess.run([sys.executable, "-c", MAKE + code + "\nprint(kept('VmHWM'))", package, uri],
                          capture_output=True, text=True, env={**os.environ, "PILUM_THREADS": "2"})  # each holds some rows of its own
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


@pytest.mark.heavy
@pytest.mark.parametrize("change", CHANGES)
def test_peak(table, tmp_path, change):
    uri = str(tmp_path / "t.lance")
    subprocess.run(["cp", "-rl", table, uri], check=True)  # data files never change
    held = run(uri, "ds = pilum.dataset(uri)\n" + CHANGES[change])
    print(f"{change}: {held >> 20} MB")
    assert held < LIMIT
