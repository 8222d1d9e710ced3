"""What a short command loads and costs before it prints its first row."""

import os
import re
import subprocess

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

# All that `pilum file take` may map. Nothing else: curl, Parquet, dataset, S3, ICU and the like cost milliseconds each.
LIGHT = {
    "libarrow", "libarrow_compute", "libprotobuf-lite", "libzstd", "liblz4", "libxxhash", "libfmt",
    "libstdc++", "libm", "libgcc_s", "libc", "libpthread", "libdl", "librt", "ld-linux-x86-64",
}


@pytest.fixture(scope="module")
def files(tmp_path_factory, build):
    folder = tmp_path_factory.mktemp("startup")
    rows = pa.table({"a": range(10_000), "b": [f"text {i % 97}" for i in range(10_000)]})
    pq.write_table(rows, folder / "t.parquet")
    subprocess.run([build / "pilum", "file", "convert", folder / "t.parquet", folder / "t.lance"], check=True, stdout=subprocess.PIPE)
    return folder


def libraries(command, check=True, **env):
    """The shared libraries that the loader brought in, at start and later: {name: file name}."""
    done = subprocess.run(command, env={**os.environ, **env, "LD_DEBUG": "files"}, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=check)
    paths = re.findall(r"calling init: (\S+)", done.stderr)
    names = [os.path.basename(p) for p in paths]
    return {n.split(".so")[0]: n for n in names}


def test_a_take_loads_no_heavy_library(build, files):
    take = libraries([build / "pilum", "file", "take", files / "t.lance", "1", "2", "3"])
    assert {"libarrow", "libc"} <= set(take)
    assert set(take) <= LIGHT, f"loaded for a take: {sorted(set(take) - LIGHT)}"


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """Ten fragments, as pylance writes them."""
    lance = pytest.importorskip("lance")
    folder = tmp_path_factory.mktemp("startup") / "t.lance"
    lance.write_dataset(pa.table({"a": range(10_000), "b": [f"text {i % 97}" for i in range(10_000)]}), str(folder), data_storage_version="2.2", max_rows_per_file=1000)
    return folder


def test_a_take_of_a_table_loads_no_heavy_library(build, table):
    take = libraries([build / "pilum", "table", "take", table, "1", "2", "3"])
    assert set(take) <= LIGHT, f"loaded for a take: {sorted(set(take) - LIGHT)}"


def test_parquet_is_loaded_by_what_reads_parquet(build, files):
    convert = libraries([build / "pilum", "file", "convert", files / "t.parquet", files / "u.lance"])
    assert {"libparquet", "libpilum_parquet"} <= set(convert)
    assert set(convert) - LIGHT == {"libparquet", "libpilum_parquet"}


def test_curl_is_loaded_by_what_reads_a_bucket(build):
    nobody = {"AWS_ENDPOINT_URL": "http://127.0.0.1:9", "AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b"}
    query = libraries([build / "pilum", "query", "s3://bucket/d", "id = 1", "--timeout", "0.2"], check=False, **nobody)
    assert {"libcurl", "libpilum_http"} <= set(query)
    assert not {"libparquet", "libpilum_parquet"} & set(query)


def cpu(command):
    """CPU milliseconds of one process."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    return (usage.ru_utime + usage.ru_stime) * 1e3


@pytest.mark.parametrize("kind", ["file", "table"])
def test_a_take_costs_little_more_than_arrow_itself(build, files, table, kind):
    take = [build / "pilum", kind, "take", files / "t.lance" if kind == "file" else table, *map(str, range(0, 10_000, 1000))]
    empty = [build / "bench" / "pilum_empty"]
    costs = [(cpu(take), cpu(empty)) for _ in range(15)]
    ours, least = (min(c) for c in zip(*costs))
    assert ours <= least + 7, f"{ours:.1f} ms against {least:.1f} ms for Arrow alone"
