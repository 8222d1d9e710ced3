"""A real S3 server for tests: versitygw where it is built (tools/versitygw), else moto (tools/setup s3). It listens on loopback and ends with us.

    python tests/s3/server.py COMMAND...     runs COMMAND with AWS_* and PILUM_TEST_S3 set
"""

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
VENV = os.path.join(os.path.dirname(os.path.dirname(HERE)), ".venv", "bin")
ACCESS, SECRET, BUCKET = "test-access", "test-secret+/=", "pilum-test"


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def find(name):
    beside = os.path.join(VENV, name)
    return beside if os.access(beside, os.X_OK) else shutil.which(name)


def command(kind, port, folder):
    if kind == "versitygw":
        os.makedirs(os.path.join(folder, BUCKET))
        return [find("versitygw"), "--port", f"127.0.0.1:{port}", "--keep-alive", "--quiet", "posix", folder]
    return [find("moto_server"), "-H", "127.0.0.1", "-p", str(port)]


def kinds():
    """The servers that can be started here, the better one first."""
    return [k for k, program in (("versitygw", "versitygw"), ("moto", "moto_server")) if find(program)]


def answers(port):
    try:
        urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=1)
    except urllib.error.HTTPError:
        return True
    except OSError:
        return False
    return True


@contextlib.contextmanager
def running(kind=None):
    """(kind, environment that leads to it): AWS_*, and PILUM_TEST_S3, a bucket that is there. RuntimeError: none can be had."""
    kind = kind or next(iter(kinds()), None)
    if kind is None:
        raise RuntimeError("no S3 server: run tools/setup s3")
    folder, port = tempfile.mkdtemp(), free_port()
    env = {"ROOT_ACCESS_KEY": ACCESS, "ROOT_SECRET_KEY": SECRET, "PATH": os.environ["PATH"], "HOME": folder}
    with open(os.path.join(folder, "log"), "w") as log:
        process = subprocess.Popen(command(kind, port, os.path.join(folder, "data")), env=env, stdout=log, stderr=log)
    try:
        end = time.time() + 30
        while not answers(port):
            if process.poll() is not None or time.time() > end:
                raise RuntimeError(f"{kind} did not start: {open(os.path.join(folder, 'log')).read()[-500:]}")
            time.sleep(0.05)
        if kind == "moto":
            # It believes whoever gives a credential, signed or not: the signatures are checked on versitygw.
            make = urllib.request.Request(f"http://127.0.0.1:{port}/{BUCKET}", method="PUT")
            make.add_header("authorization", f"AWS4-HMAC-SHA256 Credential={ACCESS}/20260101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=x")
            urllib.request.urlopen(make, timeout=5)
        yield kind, {
            "AWS_ACCESS_KEY_ID": ACCESS,
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
            "AWS_REGION": "us-east-1",
            "AWS_CONFIG_FILE": "/dev/null",
            "AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
            "PILUM_TEST_S3": f"s3://{BUCKET}",
        }
    finally:
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    try:
        with running(os.environ.get("PILUM_TEST_S3_SERVER") or None) as (kind, env):
            print(f"S3 server: {kind}", flush=True)
            code = subprocess.call(sys.argv[1:], env={**os.environ, **env})
    except RuntimeError as e:
        print(f"skipped: {e}")
        code = 0 if not os.environ.get("CI") else 1
    sys.exit(code)
