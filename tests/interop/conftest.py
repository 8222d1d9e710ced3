"""Interop tests: what pylance writes, Pilum reads; what Pilum writes, pylance reads.

The random tests take their time from PILUM_INTEROP_SECONDS (default 20; their shares come to about five of it) and print a seed; a failure is
repeated with PILUM_INTEROP_SEED=<that seed> PILUM_INTEROP_CASES=1.
"""

import os
import random
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

try:
    import pilum
except ImportError:
    for build in ("release", "dev"):
        if (ROOT / "build" / build / "python" / "pilum").is_dir():
            sys.path.insert(0, str(ROOT / "build" / build / "python"))
            break
    import pilum

sys.path.insert(0, str(Path(__file__).parent))


def pytest_configure(config):
    config.addinivalue_line("markers", "heavy: too long for the quick tests, or wants older peers")
    config.addinivalue_line("markers", "random: takes a budget, so that the heavy run repeats it for longer; set by what it asks for")


def pytest_collection_modifyitems(items):
    for item in items:
        if "budget" in getattr(item, "fixturenames", ()):
            item.add_marker("random")


def pytest_report_header(config):
    import pyarrow

    try:
        import importlib.metadata

        peer = importlib.metadata.version("pylance")
    except Exception:
        peer = "missing"
    return f"pilum {pilum.__version__} from {Path(pilum.__file__).parent}, pyarrow {pyarrow.__version__}, pylance {peer}"


def cli_command():
    """The `pilum` command of the tree that the module was built in, else that of the PATH."""
    own = [ROOT / "build" / build / "pilum" for build in ("release", "dev") if (ROOT / "build" / build / "pilum").exists()]
    command = os.environ.get("PILUM_CLI") or next(map(str, own), None) or shutil.which("pilum")
    if command is None:
        pytest.skip("there is no pilum command: build it, or set PILUM_CLI")
    return command


def cli(*args, code=0):
    """What it prints."""
    done = subprocess.run([cli_command(), *map(str, args)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=600)
    assert done.returncode == code, f"{' '.join(map(str, args))}: exit code {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


class Budget:
    """Seeds to try until the time is over: at least one, at most PILUM_INTEROP_CASES."""

    def __init__(self, share):
        self.seconds = float(os.environ.get("PILUM_INTEROP_SECONDS", "20")) * share
        self.cases = int(os.environ.get("PILUM_INTEROP_CASES", str(10**9)))
        self.seed = int(os.environ.get("PILUM_INTEROP_SEED", str(random.SystemRandom().randrange(10**9))))

    def seeds(self):
        end = time.monotonic() + self.seconds
        for i in range(self.cases):
            if i and time.monotonic() >= end:
                break
            yield self.seed + i
            self.done = i + 1
        print(f"seeds {self.seed} to {self.seed + self.done - 1}")


@pytest.fixture
def budget():
    return Budget


def corpus(*parts):
    """Folders of recorded files: those in the repository, and the larger set beside it where there is one."""
    found = [ROOT / "tests" / "golden" / "file" / Path(*parts), ROOT.parent / "shared" / "fixtures" / "file" / Path(*parts)]
    return [d for d in found if d.is_dir()]
