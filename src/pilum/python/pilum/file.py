"""Single Lance files, with the names and signatures of ``lance.file``.

Files of version 2.0, 2.1 and 2.2 are read and written; another version raises ``pilum.UnsupportedError`` naming it.
"""

import os
from typing import Dict, List, NamedTuple, Optional, Sequence, Union

import pyarrow as pa

from . import _pilum
from .errors import UnsupportedError, UsageError

_STABLE_VERSION = "2.2"
_VERIFY = {True: _pilum.Verify.READS, False: _pilum.Verify.OFF, "all": _pilum.Verify.ALL}


def _verify(verify):
    if verify not in _VERIFY:
        raise UsageError(f"verify is True, False or 'all', not {verify!r}")
    return _VERIFY[verify]
_ALIASES = {None: _STABLE_VERSION, "stable": _STABLE_VERSION, "next": "2.3", "0.3": "2.0", "legacy": "0.1"}


def stable_version() -> str:
    """The file version that is written when none is asked for."""
    return _STABLE_VERSION


def _local(path: Union[str, "os.PathLike[str]"], namespace_client, table_id) -> str:
    if namespace_client is not None or table_id is not None:
        raise UnsupportedError("namespace clients are not supported; give the path itself")
    return os.fspath(path)


def _storage(path: str, options: Optional[Dict[str, str]]) -> Dict[str, str]:
    """What goes with a URI. A local path needs none, so that code written for buckets runs on files too."""
    return {str(k): str(v) for k, v in (options or {}).items()} if path.startswith("s3://") else {}


def _version(version: Optional[str]) -> str:
    version = _ALIASES.get(version, version)
    if version in ("0.1", "0.2"):
        raise UnsupportedError(f"Lance file version {version} (legacy) is not written; write 2.0, 2.1 or 2.2")
    return version


class ReaderResults:
    """Rows of a read that has not happened yet. Use one of the three ways out, once."""

    __slots__ = ("_start", "_table")

    def __init__(self, start, table=None):
        self._start = start  # start(for_table) -> _pilum.BatchStream
        self._table = table  # where there is a shorter way: table() -> pa.Table

    def _once(self):
        start, self._start = self._start, None
        if start is None:
            raise UsageError("these rows were already read; ask the reader again")
        return start

    def _begin(self, for_table: bool):
        return self._once()(for_table)

    def to_batches(self) -> pa.RecordBatchReader:
        """The rows as a lazy stream: each batch is read when it is asked for."""
        stream = self._begin(False)
        return pa.RecordBatchReader.from_batches(stream.schema, iter(stream.next, None))

    def to_table(self) -> pa.Table:
        """All rows, read now. Chunks are as large as suits the reader, whatever the batch size."""
        if self._table is None:
            return self._begin(True).read_table()
        self._once()
        return self._table()

    def __arrow_c_stream__(self, requested_schema=None):
        """The rows as an Arrow C stream, for polars, DuckDB and others. ``requested_schema`` is not acted on."""
        return self._begin(False).capsule()


class LanceBufferDescriptor(NamedTuple):
    """Bytes [position, position + size) of the file."""

    position: int
    size: int


class LancePageMetadata(NamedTuple):
    """One page of a column: ``num_rows`` rows from ``first_row`` in ``size_bytes`` bytes; ``encoding`` in short."""

    buffers: List[LanceBufferDescriptor]
    encoding: str
    first_row: int
    num_rows: int
    size_bytes: int


class LanceColumnMetadata(NamedTuple):
    """One leaf column of the file, dotted ``name``, in file order."""

    pages: List[LancePageMetadata]
    name: str
    type: str
    column_buffers: Sequence[LanceBufferDescriptor] = ()


class LanceFileMetadata(NamedTuple):
    """What the tail of the file says; no data was read for it. Sizes are bytes."""

    schema: pa.Schema
    num_rows: int
    num_data_bytes: int
    num_column_metadata_bytes: int
    num_global_buffer_bytes: int
    global_buffers: List[LanceBufferDescriptor]
    columns: List[LanceColumnMetadata]
    major_version: int
    minor_version: int
    file_size: int


class LanceColumnStatistics(NamedTuple):
    num_pages: int
    size_bytes: int


class LanceFileStatistics(NamedTuple):
    """Pages and bytes of each leaf column, in file order."""

    columns: List[LanceColumnStatistics]


class LanceFileReader:
    """One open Lance file. Opening reads the tail of the file and nothing else.

    Parameters
    ----------
    path:
        A local path, a ``file://`` URI, or ``s3://bucket/name``.
    storage_options:
        How to reach a bucket, where the environment does not say it: ``endpoint``, ``region``, ``access_key_id``,
        ``secret_access_key``, ``session_token`` and others (docs/guides/s3.md). Local files have none.
    columns:
        Which columns to read; all when left out. ``"a.b"`` names field ``b`` inside struct ``a`` (an exact top-level name
        wins); one inside a list may be written ``"tags.item.x"`` or ``"tags.x"``. Several fields of one column give that
        column with just those fields. A column named twice comes once.
    verify:
        Hold what is read against the checksums of the file, where it has them: files that Pilum wrote do. What takes pick from a
        mapped file is verified the first time that this reader touches it; ``"all"``: each time, at several times the cost of
        a take. ``False``: nothing.
    allow_unstable:
        Open files of version 2.3 too, as pylance 14 writes them. The version may still change: what can be read today may not be
        readable by the next release.

    Raises ``NotFound`` for a missing file or column, ``CorruptError`` for a damaged file and ``UnsupportedError`` for a
    version that is not read. A reader may be shared by threads and used after a fork.
    """

    def __init__(
        self,
        path: Union[str, "os.PathLike[str]"],
        storage_options: Optional[Dict[str, str]] = None,
        columns: Optional[List[str]] = None,
        *,
        verify: Union[bool, str] = True,
        allow_unstable: bool = False,
        namespace_client=None,
        table_id: Optional[List[str]] = None,
    ):
        columns = None if columns is None else list(columns)
        path = _local(path, namespace_client, table_id)
        self._reader = _pilum.FileReader.open(
            path, columns, _verify(verify), bool(allow_unstable), _storage(path, storage_options)
        )

    def read_all(self, *, batch_size: int = 1024, batch_readahead: int = 16) -> ReaderResults:
        """All rows in file order, ``batch_size`` rows a batch. (``batch_readahead`` is taken for compatibility.)"""
        reader = self._reader
        return ReaderResults(lambda for_table: reader.read_range(0, reader.num_rows, batch_size, for_table))

    def read_range(
        self, start: int, num_rows: int, *, batch_size: int = 1024, batch_readahead: int = 16
    ) -> ReaderResults:
        """Rows [start, start + num_rows). ``ValueError`` if that ends past the file, ``OverflowError`` if negative."""
        if start < 0 or num_rows < 0:
            raise OverflowError(f"rows must not be negative: start {start}, num_rows {num_rows}")
        reader = self._reader
        return ReaderResults(lambda for_table: reader.read_range(start, num_rows, batch_size, for_table))

    def take_rows(self, indices: Sequence[int], *, batch_size: int = 1024, batch_readahead: int = 16) -> ReaderResults:
        """The rows with these numbers, which must rise strictly.

        ``ValueError`` if they do not, or if one is past the end; ``OverflowError`` if one is negative.
        """
        if isinstance(indices, (pa.Array, pa.ChunkedArray)):
            indices = indices.to_pylist()
        reader = self._reader
        return ReaderResults(lambda for_table: reader.take_rows(indices, batch_size), lambda: reader.take_table(indices))

    def metadata(self) -> LanceFileMetadata:
        """Schema, sizes, columns and pages, from the tail of the file alone."""
        info = self._reader.info()
        global_buffers = [LanceBufferDescriptor(*b) for b in info["global_buffers"]]
        columns = []
        data_bytes = 0
        for c in self._reader.columns_info():
            pages = [
                LancePageMetadata([LanceBufferDescriptor(*b) for b in buffers], layout, first, rows, size)
                for first, rows, size, layout, buffers in c["pages"]
            ]
            data_bytes += c["bytes"]
            columns.append(LanceColumnMetadata(pages=pages, name=c["name"], type=c["type"]))
        major, minor = (int(x) for x in info["version"].split("."))
        return LanceFileMetadata(
            schema=self._reader.file_schema,
            num_rows=info["num_rows"],
            num_data_bytes=data_bytes,
            num_column_metadata_bytes=info["column_metadata_bytes"],
            num_global_buffer_bytes=sum(b.size for b in global_buffers),
            global_buffers=global_buffers,
            columns=columns,
            major_version=major,
            minor_version=minor,
            file_size=info["file_size"],
        )

    def file_statistics(self) -> LanceFileStatistics:
        """Pages and bytes of each leaf column."""
        return LanceFileStatistics(
            [LanceColumnStatistics(len(c["pages"]), c["bytes"]) for c in self._reader.columns_info()]
        )

    def read_global_buffer(self, index: int) -> bytes:
        """Global buffer ``index``: 0 is the schema, 1 the first that a writer added. ``ValueError`` if there is none."""
        return self._reader.read_global_buffer(index)

    def num_rows(self) -> int:
        """Rows in the file."""
        return self._reader.num_rows

    @property
    def schema(self) -> pa.Schema:
        """The schema of what the reads give: of the columns asked for."""
        return self._reader.schema

    @property
    def stats(self) -> dict:
        """What this reader cost so far: ``opens``, ``requests``, ``bytes`` fetched, ``decoded`` values by leaf column."""
        return self._reader.stats

    def check(self) -> List[str]:
        """Verifies, reads and decodes everything. A message for each fault; empty when the file is sound."""
        return self._reader.check()


class LanceFileWriter:
    """Writes one Lance file, streaming. The file appears under its name at ``close`` and not before.

    Used as a context manager it closes at the end; if the block raises, no file appears.

    Parameters
    ----------
    path:
        A local path or ``file://`` URI. Missing folders are made; a file already there is replaced.
    schema:
        Of the rows; when left out, that of the first batch.
    data_cache_bytes:
        Arrow bytes to hold before pages are cut, over all top-level columns. By default 8 MiB a column.
    version:
        ``"2.0"``, ``"2.1"`` or ``"2.2"`` (the default, ``"stable"``).
    max_page_bytes:
        Upper bound for the Arrow bytes of one page.
    profile:
        ``"balanced"`` (the default), ``"fast"`` (cheaper to write, larger) or ``"small"`` (fewer bytes; slower to write
        and to take rows from).

    The same rows with the same options give the same bytes, however they are batched. Types that the version cannot hold
    raise ``UnsupportedError`` naming the field before anything is written. After a failed call the writer is of no more
    use, and no file appears.

    Attributes
    ----------
    size_bytes:
        Bytes of the file once closed; None before.
    """

    def __init__(
        self,
        path: Union[str, "os.PathLike[str]"],
        schema: Optional[pa.Schema] = None,
        *,
        data_cache_bytes: Optional[int] = None,
        version: Optional[str] = None,
        storage_options: Optional[Dict[str, str]] = None,
        namespace_client=None,
        table_id: Optional[List[str]] = None,
        max_page_bytes: Optional[int] = None,
        keep_original_array: Optional[bool] = None,
        profile: str = "balanced",
    ):
        if profile not in ("fast", "balanced", "small"):
            raise UsageError(f"unknown profile {profile!r}: fast, balanced or small")
        self._path = _local(path, namespace_client, table_id)
        self._storage = _storage(self._path, storage_options)
        self._version = _version(version)
        self._data_cache_bytes = data_cache_bytes
        self._max_page_bytes = max_page_bytes
        self._profile = profile
        self._writer = None
        self._metadata = []
        self.closed = False
        self.size_bytes: Optional[int] = None
        if schema is not None:
            self._open(schema)

    def _open(self, schema: pa.Schema) -> None:
        page_bytes = None
        if self._data_cache_bytes is not None:
            page_bytes = max(1, self._data_cache_bytes // max(1, len(schema)))
        if self._max_page_bytes is not None:
            page_bytes = min(page_bytes or 8 << 20, self._max_page_bytes)
        folder = os.path.dirname(self._path)
        if folder and "://" not in folder:
            os.makedirs(folder, exist_ok=True)
        self._writer = _pilum.FileWriter(
            self._path, schema, self._version, page_bytes, self._profile, self._storage
        )
        for key, value in self._metadata:
            self._writer.add_schema_metadata(key, value)

    def _opened(self):
        if self.closed:
            raise UsageError(f"{self._path}: the writer is closed")
        if self._writer is None:
            words = "Schema is unknown and file cannot be created: give it to the writer, or write a batch first"
            raise UsageError(f"{self._path}: {words}")
        return self._writer

    def write_batch(self, batch: Union[pa.RecordBatch, pa.Table]) -> None:
        """Appends rows. Columns are matched by name and must have the schema's types; ``ValueError`` otherwise."""
        if self._writer is None and not self.closed:
            self._open(batch.schema)
        writer = self._opened()
        for one in batch.to_batches() if isinstance(batch, pa.Table) else (batch,):
            writer.write(one)

    def add_schema_metadata(self, key: str, value: str) -> None:
        """Puts an entry into the schema's metadata; any time before ``close``."""
        if self._writer is None and not self.closed:
            self._metadata.append((key, value))
        else:
            self._opened().add_schema_metadata(key, value)

    def add_global_buffer(self, data: bytes) -> int:
        """Stores ``data`` in the file; returns its index, from 1, for ``LanceFileReader.read_global_buffer``."""
        return self._opened().add_global_buffer(bytes(data))

    def close(self) -> Optional[int]:
        """Ends the file and makes it visible. Returns its rows, or None if it was closed before."""
        if self.closed:
            return None
        writer = self._opened()
        self.closed = True
        rows, self.size_bytes = writer.finish()
        return rows

    def abort(self) -> None:
        """Drops what was written; no file appears."""
        self.closed = True
        if self._writer is not None:
            self._writer.abort()

    def __enter__(self) -> "LanceFileWriter":
        return self

    def __exit__(self, exc_type, exc_value, traceback) -> None:
        if exc_type is None:
            self.close()
        else:
            self.abort()


class LanceFileSession:
    """Files below one folder or bucket, with the same options."""

    def __init__(
        self,
        base_path: Union[str, "os.PathLike[str]"],
        storage_options: Optional[Dict[str, str]] = None,
        namespace_client=None,
        table_id: Optional[List[str]] = None,
    ):
        self._base, self._options = _local(base_path, namespace_client, table_id).rstrip("/"), storage_options

    def _path(self, path: str) -> str:
        return f"{self._base}/{os.fspath(path).lstrip('/')}"

    def open_reader(self, path: str, columns: Optional[List[str]] = None) -> LanceFileReader:
        return LanceFileReader(self._path(path), storage_options=self._options, columns=columns)

    def open_writer(self, path: str, *, schema: Optional[pa.Schema] = None, **how) -> LanceFileWriter:
        """``how``: arguments of :class:`LanceFileWriter`."""
        return LanceFileWriter(self._path(path), schema, storage_options=self._options, **how)


__all__ = [
    "LanceBufferDescriptor",
    "LanceColumnMetadata",
    "LanceColumnStatistics",
    "LanceFileMetadata",
    "LanceFileReader",
    "LanceFileSession",
    "LanceFileStatistics",
    "LanceFileWriter",
    "LancePageMetadata",
    "ReaderResults",
    "stable_version",
]
