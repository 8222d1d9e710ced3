"""Packaging tests: what the command loads, the wheel, the CMake package. They need a built tree: PILUM_BUILD, else build/release."""

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def build():
    folder = Path(os.environ.get("PILUM_BUILD", ROOT / "build" / "release"))
    assert (folder / "pilum").exists(), f"build {folder}/pilum first"
    return folder
