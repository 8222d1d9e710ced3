"""Pilum: a native engine for Lance data.

- ``pilum.file``: read and write (2.0 to 2.2) single Lance files, with pylance's names.
- ``pilum.store``: part stores, immutable parts with sidecar indexes, read by SQL.
- ``pilum.sketch``: mergeable summaries of columns, with errors that are stated.
- ``pilum.query``: one SQL statement over a Lance file or a part store dataset.
- ``pilum.errors``: what all of it raises.

Data goes in and out as Arrow, without copying: as pyarrow objects, or through the Arrow PyCapsule interface to and from
polars, DuckDB and others. All calls release the GIL, may be made from any thread, and hear Ctrl-C on the main thread.
Readers and stores work on both sides of a fork; half-read streams stay with the process that began them.
"""

import pyarrow as _pyarrow  # noqa: F401  maps the Arrow libraries that _pilum links: one copy, one memory pool

from . import errors
from ._pilum import __version__
from .errors import (
    CancelledError,
    CorruptError,
    DeadlineError,
    Error,
    MemoryLimitError,
    NotFound,
    QueryError,
    StorageError,
    UnsupportedError,
    UsageError,
)
from . import file, sketch, store
from .store import QueryResult, query

__all__ = [
    "CancelledError",
    "CorruptError",
    "DeadlineError",
    "Error",
    "MemoryLimitError",
    "NotFound",
    "QueryError",
    "QueryResult",
    "StorageError",
    "UnsupportedError",
    "UsageError",
    "__version__",
    "errors",
    "file",
    "query",
    "sketch",
    "store",
]
