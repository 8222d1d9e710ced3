"""Pilum: a native engine for Lance data.

- ``pilum.file``: read and write (2.0 to 2.2) single Lance files, with pylance's names.
- ``pilum.dataset(uri)``: one version of a Lance table, to read and to change, with pylance's names;
  ``pilum.write_dataset`` makes tables and adds rows.
- ``pilum.scan(uri)``: a table, part store or file as a polars LazyFrame.
- ``pilum.store``: part stores, immutable parts with sidecar indexes, read by SQL.
- ``pilum.sketch``: mergeable summaries of columns, with errors that are stated.
- ``pilum.query``: one SQL statement over a Lance file or a part store dataset.
- ``pilum.errors``: what all of it raises.

Data goes in and out as Arrow, without copying: as pyarrow objects, or through the Arrow PyCapsule interface to and from
polars, DuckDB and others. All calls release the GIL, may be made from any thread, and hear Ctrl-C on the main thread.
Readers and stores work on both sides of a fork; half-read streams stay with the process that began them.
"""

import importlib

import pyarrow as _pyarrow  # noqa: F401  maps the Arrow libraries that _pilum links: one copy, one memory pool

from . import _pilum, errors
from ._pilum import __version__
from .errors import (
    CancelledError,
    ConflictError,
    CorruptError,
    DeadlineError,
    Error,
    MemoryLimitError,
    NotFound,
    QueryError,
    RetryableConflictError,
    StorageError,
    UnsupportedError,
    UsageError,
)
from . import dataset as _tables  # first: the function of that name takes its place
from . import file, sketch, store
from .store import QueryResult, query
from .write import write_dataset


def dataset(uri, version=None, asof=None, *, storage_options=None, default_scan_options=None, verify=True, **others):
    """Opens one version of a Lance table: see :class:`pilum.LanceDataset`. Settings that only tune pylance have no effect."""
    return _tables.LanceDataset(
        uri, version, asof=asof, storage_options=storage_options, default_scan_options=default_scan_options, verify=verify,
        **others,
    )  # fmt: skip


def iops_counter() -> int:
    """Requests of all reads of tables and stores of this process that are done."""
    return _pilum.read_totals()["requests"]


def bytes_read_counter() -> int:
    """Bytes of them."""
    return _pilum.read_totals()["bytes"]


_LATER = {
    "BatchUDF": "udf",
    "batch_udf": "udf",
    "scan": "lazyframe",
    "json_to_schema": "schema",
    "schema_to_json": "schema",
    "AutoCleanupConfig": "upkeep",
    "Blob": "blob_values",
    "BlobArray": "blob_values",
    "BlobColumn": "blob",
    "BlobFile": "blob",
    "blob_array": "blob_values",
    "blob_field": "blob_values",
    "Session": "session",
    "CleanupExplanation": "upkeep",
    "CleanupStats": "upkeep",
}


def __getattr__(name):
    if name in _tables.__all__:
        return getattr(_tables, name)
    if name in _LATER:
        return getattr(importlib.import_module(f".{_LATER[name]}", __name__), name)
    raise AttributeError(f"module 'pilum' has no attribute {name!r}")


__all__ = [
    "AutoCleanupConfig",
    "BatchUDF",
    "Blob",
    "CancelledError",
    "CleanupExplanation",
    "CleanupStats",
    "ConflictError",
    "CorruptError",
    "DeadlineError",
    "Error",
    "LanceDataset",
    "LanceFragment",
    "LanceOperation",
    "LanceScanner",
    "MemoryLimitError",
    "NotFound",
    "QueryError",
    "QueryResult",
    "RetryableConflictError",
    "StorageError",
    "Transaction",
    "UnsupportedError",
    "UsageError",
    "__version__",
    "batch_udf",
    "blob_array",
    "blob_field",
    "bytes_read_counter",
    "dataset",
    "errors",
    "file",
    "iops_counter",
    "json_to_schema",
    "query",
    "scan",
    "schema_to_json",
    "sketch",
    "store",
    "write_dataset",
]
