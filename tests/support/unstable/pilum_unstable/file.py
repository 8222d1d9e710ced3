import functools

from pilum.file import LanceFileReader as _Reader
from pilum.file import LanceFileWriter  # noqa: F401

LanceFileReader = functools.partial(_Reader, allow_unstable=True)
