import os
import sys

import pytest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)

import server  # noqa: E402


def pytest_configure(config):
    config.addinivalue_line("markers", "heavy: takes PILUM_S3_SECONDS")


@pytest.fixture(scope="session")
def s3():
    """The environment of a running S3 server, also set for this process."""
    try:
        running = server.running(os.environ.get("PILUM_TEST_S3_SERVER") or None)
        kind, env = running.__enter__()
    except RuntimeError as e:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(e))
    before = {name: os.environ.get(name) for name in env}
    os.environ.update(env)
    print(f"S3 server: {kind}")
    yield {**env, "kind": kind}
    for name, value in before.items():
        os.environ.pop(name) if value is None else os.environ.update({name: value})
    running.__exit__(None, None, None)


@pytest.fixture(scope="session")
def build():
    return os.environ.get("PILUM_BUILD", os.path.join(os.path.dirname(os.path.dirname(HERE)), "build", "release"))
