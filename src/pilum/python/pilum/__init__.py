"""Pilum: a native engine for Lance data.

- ``pilum.file``: read and write (2.0 to 2.2) single Lance files, with pylance's names.
- ``pilum.dataset(uri)``: one version of a Lance table, to read, with pylance's names.
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
from . import dataset as _dataset_module  # first: the function of that name takes its place
from . import file, sketch, store
from .dataset import LanceDataset, LanceFragment, LanceScanner
from .store import QueryResult, query



def dataset(uri, version=None, asof=None, *, storage_options=None, allow_unstable=False, verify=True, **others):
    """Opens one version of a Lance table: see :class:`pilum.LanceDataset`. Settings that only tune pylance have no effect."""
    _dataset_module._refuse({k: v for k, v in others.items() if k not in _OPEN_TUNING})
    return LanceDataset(
        uri, version, asof=asof, storage_options=storage_options, allow_unstable=allow_unstable, verify=verify
    )


_OPEN_TUNING = {
    "block_size", "index_cache_size", "metadata_cache_size", "index_cache_size_bytes", "metadata_cache_size_bytes",
    "session", "commit_lock",
}  # fmt: skip

__all__ = [
    "CancelledError",
    "CorruptError",
    "DeadlineError",
    "Error",
    "LanceDataset",
    "LanceFragment",
    "LanceScanner",
    "MemoryLimitError",
    "NotFound",
    "QueryError",
    "QueryResult",
    "StorageError",
    "UnsupportedError",
    "UsageError",
    "__version__",
    "dataset",
    "errors",
    "file",
    "query",
    "sketch",
    "store",
]
