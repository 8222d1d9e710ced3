"""Other versions of pylance, each in an environment of its own under build/peers, asked through a child process.

An environment is made when it is first needed and kept. No registry in reach: Unavailable says so, and the test skips.
"""

import contextlib
import json
import select
import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow as pa

ROOT = Path(__file__).resolve().parents[2]
WORKER = Path(__file__).with_name("peer_worker.py")


class Unavailable(Exception):
    pass


class Refused(Exception):
    """The peer said no, panicked or died: what it said."""


def interpreter(version):
    """The Python that has pylance `version`."""
    import importlib.metadata

    with contextlib.suppress(importlib.metadata.PackageNotFoundError):
        if importlib.metadata.version("pylance") == version:
            return sys.executable
    folder = ROOT / "build" / "peers" / f"pylance-{version}"
    python, ready = folder / "bin" / "python", folder / "ready"
    if ready.exists():
        return str(python)
    shutil.rmtree(folder, ignore_errors=True)
    done = subprocess.run([sys.executable, "-m", "venv", folder], capture_output=True, text=True)
    if done.returncode == 0:
        done = subprocess.run([python, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--retries", "1", "--timeout", "20",
                               f"pylance=={version}", f"pyarrow=={pa.__version__.split('.')[0]}.*"], capture_output=True, text=True)
    if done.returncode != 0:
        raise Unavailable(f"pylance {version} cannot be installed: {(done.stderr or done.stdout).strip().splitlines()[-1:]}")
    ready.touch()
    return str(python)


class Peer:
    """One version of pylance; answers take at most `seconds`, and a process that dies is started again."""

    def __init__(self, version, seconds=120):
        self.version, self.seconds = version, seconds
        self.python = interpreter(version)
        self.process = None

    def ask(self, **request):
        if self.process is None:
            self.process = subprocess.Popen([self.python, str(WORKER)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                            stderr=subprocess.DEVNULL, text=True)
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        ready, _, _ = select.select([self.process.stdout], [], [], self.seconds)
        line = self.process.stdout.readline() if ready else ""
        if not line:
            self.close()
            raise Refused("died" if ready else f"gave no answer in {self.seconds} s")
        answer = json.loads(line)
        if not answer["ok"]:
            raise Refused(answer["error"])

    def write(self, table, path, version, **options):
        arrow = f"{path}.in.arrow"
        with pa.ipc.new_file(arrow, table.schema) as f:
            for batch in table.to_batches():
                f.write_batch(batch)
        self.ask(do="write", arrow=arrow, lance=str(path), version=version, options=options)

    def read(self, path, columns=None, rows=None):
        arrow = f"{path}.out.arrow"
        self.ask(do="read", lance=str(path), arrow=arrow, columns=columns, rows=rows)
        with pa.ipc.open_file(arrow) as f:
            return f.read_all()

    def close(self):
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process.stdin.close()
            self.process.stdout.close()
            self.process = None
