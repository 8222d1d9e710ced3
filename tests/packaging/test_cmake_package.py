"""`cmake --install`, then a project of its own that finds the package: examples/cmake, and every installed header by itself."""

import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

ROOT = Path(__file__).resolve().parents[2]


def run(*command):
    done = subprocess.run([str(c) for c in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert done.returncode == 0, f"{command}\n{done.stdout[-4000:]}"
    return done.stdout


def configure_and_build(source, build, prefix):
    run("cmake", "-S", source, "-B", build, "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={prefix}", f"-DPython_EXECUTABLE={sys.executable}",
        "-DCMAKE_CXX_COMPILER_LAUNCHER=ccache")
    run("cmake", "--build", build)


@pytest.fixture(scope="module")
def prefix(tmp_path_factory, build):
    folder = tmp_path_factory.mktemp("prefix")
    run("cmake", "--build", build, "--target", "pilum", "pilum_package", "pilum_parquet", "pilum_http")
    run("cmake", "--install", build, "--prefix", folder)
    return folder


def test_the_example_builds_and_reads(prefix, tmp_path):
    pq.write_table(pa.table({"id": range(1000), "name": [f"n{i}" for i in range(1000)]}), tmp_path / "t.parquet")
    run(prefix / "bin" / "pilum", "file", "convert", tmp_path / "t.parquet", tmp_path / "t.lance")
    configure_and_build(ROOT / "examples" / "cmake", tmp_path / "build", prefix)
    said = run(tmp_path / "build" / "read_lance", tmp_path / "t.lance")
    assert said.startswith("1000 rows\nid: int64\nname: string\n") and '"n2"' in said and " requests, " in said
    assert run(tmp_path / "build" / "read_lance", tmp_path / "t.parquet").startswith("1000 rows\nid: int64\n")
    assert "not" in run("sh", "-c", f"{tmp_path}/build/read_lance {tmp_path}/none.lance 2>&1 || true")


def test_each_installed_header_stands_alone(prefix, tmp_path):
    headers = sorted(p.relative_to(prefix / "include") for p in (prefix / "include").rglob("*.h"))
    assert {"pilum/file/file_reader.h", "pilum/query/query.h", "pilum/part/part_store.h"} <= set(map(str, headers))
    for i, header in enumerate(headers):
        (tmp_path / f"h{i}.cc").write_text(f'#include "{header}"\n')
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.25)\nproject(headers LANGUAGES CXX)\nfind_package(pilum REQUIRED)\n"
        f"add_library(headers STATIC {' '.join(f'h{i}.cc' for i in range(len(headers)))})\n"
        "target_link_libraries(headers PRIVATE pilum::pilum)\n")
    configure_and_build(tmp_path, tmp_path / "build", prefix)
