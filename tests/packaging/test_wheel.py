"""`pip install .` into a clean environment beside pyarrow: the package and the command work there, without the build tree."""

import glob
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

WORK = """
import sys
import pilum, pyarrow as pa
from pilum.file import LanceFileReader, LanceFileWriter
assert pilum.__file__.startswith(sys.prefix), pilum.__file__
table = pa.table({"id": range(1000), "text": [f"row {i}" for i in range(1000)]})
with LanceFileWriter("t.lance", table.schema) as w:
    w.write_batch(table)
assert LanceFileReader("t.lance").read_all().to_table().equals(table)
assert pilum.query("t.lance", "SELECT text FROM t WHERE id = 7").to_table().to_pylist() == [{"text": "row 7"}]
maps = open("/proc/self/maps").read()
copies = {line.split()[-1] for line in maps.splitlines() if "libarrow.so" in line}
assert len(copies) == 1 and copies.pop().startswith(sys.prefix), copies
print(pilum.__version__)
"""


def run(*command, **kwargs):
    done = subprocess.run([str(c) for c in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **kwargs)
    assert done.returncode == 0, f"{command}\n{done.stdout[-4000:]}"
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    # The build's own dependencies are those of this environment and the compiler is named as CMake names it, so that the
    # compiler cache knows every object already; an isolated build would compile all of it anew.
    env = {**os.environ, "CXX": os.environ.get("CXX", "c++")}
    run(sys.executable, "-m", "pip", "wheel", "--no-build-isolation", "--no-deps", "--no-index", "-w", folder, ROOT, env=env)
    (made,) = folder.glob("*.whl")
    return made


@pytest.fixture(scope="module")
def venv(tmp_path_factory, wheel):
    """A fresh environment with pyarrow, as pip unpacks it, and our wheel; no network, no run path of the build tree in reach."""
    folder = tmp_path_factory.mktemp("venv")
    run(sys.executable, "-m", "venv", folder)
    (site,) = folder.glob("lib/python*/site-packages")
    import pyarrow

    installed = Path(pyarrow.__file__).parents[1]
    for part in ["pyarrow", *(os.path.basename(p) for p in glob.glob(str(installed / "pyarrow-*.dist-info")))]:
        shutil.copytree(installed / part, site / part, copy_function=link_or_copy)
    run(folder / "bin" / "python", "-m", "pip", "install", "--no-index", wheel)
    return folder


def link_or_copy(source, target):
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


def clean():
    return {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "LD_LIBRARY_PATH")}


def test_package_and_command_work_in_a_clean_environment(venv, tmp_path):
    run(venv / "bin" / "python", "-m", "pip", "check")
    version = run(venv / "bin" / "python", "-c", WORK, cwd=tmp_path, env=clean()).strip()
    command = venv / "bin" / "pilum"
    assert run(command, "--version", env=clean()).startswith(f"pilum {version}\n")
    assert "row 3" in run(command, "file", "take", "t.lance", "3", cwd=tmp_path, env=clean())
    run(command, "file", "convert", "t.lance", "t.parquet", cwd=tmp_path, env=clean())  # loads the plugin
    assert "row 999" in run(command, "file", "convert", "t.parquet", "-", "-f", "csv", cwd=tmp_path, env=clean())
    assert "row 3" in run(venv / "bin" / "python", "-m", "pilum", "file", "take", "t.lance", "3", cwd=tmp_path, env=clean())


def test_the_wheel_carries_no_arrow_and_pins_pyarrow(wheel):
    with zipfile.ZipFile(wheel) as z:
        names = z.namelist()
        metadata = z.read(next(n for n in names if n.endswith("METADATA"))).decode()
    assert not [n for n in names if "libarrow" in n or "libparquet.so" in n]
    assert "Requires-Dist: pyarrow==26.*" in metadata


def test_binaries_link_no_more_of_arrow_than_its_core(venv):
    for binary in [venv / "bin" / "pilum", *venv.glob("lib/python*/site-packages/pilum/_pilum*.so")]:
        dynamic = run("readelf", "-d", binary)
        needed = {line.split("[")[1].split(".so")[0] for line in dynamic.splitlines() if "(NEEDED)" in line}
        # libarrow_python is what `import pyarrow` has loaded already; the command does not link it.
        allowed = {"libarrow", "libarrow_compute"} | ({"libarrow_python"} if binary.suffix == ".so" else set())
        assert {n for n in needed if "arrow" in n or "parquet" in n} <= allowed, needed
        assert str(ROOT) not in dynamic, "a run path leads into the build tree"
