"""Lance tables, to read, by pylance's names.

    >>> ds = pilum.dataset("flights.lance", version=7)
    >>> ds.to_table(columns=["carrier", "dep_delay"], filter="dep_delay > 600", with_row_id=True)

What pylance's methods take and Pilum does not do (yet) raises ``UnsupportedError``; what only tunes pylance is accepted and
has no effect. Filters and expressions are Pilum's SQL (docs/formats/sql.md).
"""

import os
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from typing import Any, Dict, Iterator, List, Optional, Sequence, Tuple, Union

import pyarrow as pa

from . import _pilum
from .blob import BlobReads
from .errors import UnsupportedError, UsageError
from .file import _storage, _verify
from .store import Params, QueryResult, _params

Version = Union[None, int, str, Tuple[Optional[str], Union[None, int, str]]]
Columns = Union[None, Sequence[str], Dict[str, str]]

# Settings of pylance's that change how, never what.
_TUNING = {
    "batch_readahead", "fragment_readahead", "scan_in_order", "prefilter", "use_stats", "io_buffer_size",
    "late_materialization", "strict_batch_size", "disable_scoring_autoprojection", "batch_size_bytes",
}  # fmt: skip


def _refuse(given: Dict[str, Any]) -> None:
    for name, value in given.items():
        if name not in _TUNING and value not in (None, False):
            raise UnsupportedError(f"{name} is not supported by Pilum yet; leave it out")


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _local(ns: int) -> datetime:
    """As pylance gives times: local, without a zone, and through a float that may be a microsecond off."""
    return datetime.fromtimestamp(ns // 1e9) + timedelta(microseconds=(ns % 1e9) // 1e3)


def _instant(text: str) -> Optional[datetime]:
    """RFC 3339 with up to nine digits of a second."""
    if not text:
        return None
    whole, _, rest = text.rstrip("Z").partition(".")
    return datetime.fromisoformat(whole + ("." + rest[:6].ljust(6, "0") if rest else "")).replace(tzinfo=timezone.utc)


def _nanoseconds(moment) -> int:
    if isinstance(moment, str):
        moment = datetime.fromisoformat(moment)
    if hasattr(moment, "to_pydatetime"):
        moment = moment.to_pydatetime()
    moment = moment.astimezone(timezone.utc)  # without a zone: local time, as pylance takes it
    return (int(moment.replace(microsecond=0).timestamp()) * 10**6 + moment.microsecond) * 1000


@dataclass(frozen=True)
class DataFile:
    """One data file of a fragment: which fields it holds, by id, and in which of its columns."""

    path: str
    fields: List[int]
    column_indices: List[int]
    file_major_version: int
    file_minor_version: int
    file_size_bytes: Optional[int] = None
    base_id: Optional[int] = None


@dataclass(frozen=True)
class DeletionFile:
    read_version: int
    id: int
    file_type: str
    num_deleted_rows: int
    base_id: Optional[int] = None
    path: str = ""


@dataclass(frozen=True)
class FragmentMetadata:
    """A fragment as the manifest has it."""

    id: int
    files: List[DataFile]
    physical_rows: int
    deletion_file: Optional[DeletionFile] = None

    @property
    def num_deletions(self) -> int:
        return self.deletion_file.num_deleted_rows if self.deletion_file else 0

    @property
    def num_rows(self) -> int:
        return self.physical_rows - self.num_deletions

    def data_files(self) -> List[DataFile]:
        return self.files


def _fragment(f: Dict[str, Any]) -> FragmentMetadata:
    deleted = f["deletion_file"]
    return FragmentMetadata(
        f["id"],
        [DataFile(**file) for file in f["files"]],
        f["physical_rows"],
        DeletionFile(**deleted) if deleted else None,
    )


@dataclass(frozen=True)
class Transaction:
    """What made a version. ``operation`` is its kind ("Append"), ``facts`` what it did, as names and values for people."""

    read_version: int
    operation: str
    uuid: str
    transaction_properties: Dict[str, str] = field(default_factory=dict)
    facts: List[Tuple[str, str]] = field(default_factory=list)
    tag: str = ""


class LanceScanner:
    """A read that was described and has not happened: rows in order of fragments, then of rows in the fragment."""

    def __init__(
        self,
        dataset: "LanceDataset",
        *,
        columns: Columns = None,
        filter: Optional[str] = None,  # noqa: A002
        limit: Optional[int] = None,
        offset: Optional[int] = None,
        batch_size: Optional[int] = None,
        with_row_id: bool = False,
        with_row_address: bool = False,
        use_scalar_index: Optional[bool] = None,
        blob_handling: Optional[str] = None,
        fragments: Optional[Sequence["LanceFragment"]] = None,
        **others,
    ):
        _refuse(others)
        if filter is not None and not isinstance(filter, str):
            raise UnsupportedError(f"a filter is SQL text here, not a {type(filter).__name__}")
        for name, rows in (("limit", limit), ("offset", offset)):
            if rows is not None and rows < 0:
                raise UsageError(f"{name} must not be negative: {rows}")
        if blob_handling not in (None, "all_binary", "blobs_descriptions", "all_descriptions"):
            raise UsageError(
                f"blob_handling is 'blobs_descriptions', 'all_descriptions' or 'all_binary', not {blob_handling!r}"
            )
        self._blob_bytes = blob_handling == "all_binary"
        self._dataset = dataset
        self._filter, self._limit, self._offset = filter or "", limit, offset or 0
        self._batch_size, self._use_index = batch_size, use_scalar_index is not False
        self._fragments = None if fragments is None else [f.fragment_id for f in fragments]
        self._exprs = dict(columns) if isinstance(columns, dict) else None
        names = dataset.schema.names if columns is None else list(columns)
        self._columns = list(dict.fromkeys(names))
        for wanted, name in ((with_row_id, "_rowid"), (with_row_address, "_rowaddr")):
            if wanted and name not in self._columns:
                self._columns.append(name)

    def _start(self) -> QueryResult:
        snapshot = self._dataset._snapshot(self._fragments, self._blob_bytes)
        how = (self._dataset._allow_unstable, self._dataset._how)
        if self._exprs is None:
            return QueryResult(
                snapshot.scan(
                    self._columns, self._filter, self._limit, self._offset, self._batch_size, self._use_index, *how
                )
            )
        items = [f"{self._exprs.get(name, _quoted(name))} AS {_quoted(name)}" for name in self._columns]
        sql = f"SELECT {', '.join(items)} FROM t"
        sql += f" WHERE ({self._filter})" if self._filter else ""
        sql += f" LIMIT {self._limit}" if self._limit is not None else ""
        sql += f" OFFSET {self._offset}" if self._offset else ""
        return QueryResult(
            snapshot.query(sql, None, self._use_index, None, self._batch_size, None, how[1], how[0])
        )

    @property
    def projected_schema(self) -> pa.Schema:
        return self._start().schema

    def to_table(self) -> pa.Table:
        return self._start().to_table()

    def to_batches(self) -> Iterator[pa.RecordBatch]:
        return iter(self._start())

    def to_reader(self) -> pa.RecordBatchReader:
        return self._start().to_batches()

    def __arrow_c_stream__(self, requested_schema=None):
        return self._start().__arrow_c_stream__(requested_schema)

    def count_rows(self) -> int:
        columns, self._columns = self._columns, []
        try:
            return sum(batch.num_rows for batch in self._start())
        finally:
            self._columns = columns

    def explain_plan(self, verbose: bool = False) -> str:
        return self._start().explain()


class _Reads:
    """What a dataset and a fragment of one can both do. ``scanner`` is theirs."""

    def to_table(self, columns: Columns = None, filter: Optional[str] = None, **how) -> pa.Table:  # noqa: A002
        """Rows as a table. ``columns``: names, ``"a.b"`` for a field of a struct, or new names with expressions;
        ``filter``, ``limit``, ``offset``, ``batch_size``, ``with_row_id``, ``with_row_address``, ``blob_handling``
        (``"all_binary"`` for the bytes of blobs in place of descriptions) as in pylance."""
        return self.scanner(columns=columns, filter=filter, **how).to_table()

    def to_batches(self, columns: Columns = None, filter: Optional[str] = None, **how) -> Iterator[pa.RecordBatch]:  # noqa: A002
        """The same, a batch at a time, read as the loop goes."""
        return self.scanner(columns=columns, filter=filter, **how).to_batches()

    def to_pandas(self, **how):
        return self.to_table(**how).to_pandas()

    def head(self, num_rows: int, columns: Columns = None, **how) -> pa.Table:
        return self.to_table(columns=columns, limit=num_rows, **how)

    def __arrow_c_stream__(self, requested_schema=None):
        return self.scanner().__arrow_c_stream__(requested_schema)


class LanceFragment(_Reads):
    """Some rows of a version, and the files that they are in."""

    def __init__(self, dataset: "LanceDataset", metadata: FragmentMetadata):
        self._dataset = dataset
        self.metadata = metadata

    @property
    def fragment_id(self) -> int:
        return self.metadata.id

    @property
    def schema(self) -> pa.Schema:
        return self._dataset.schema

    @property
    def physical_rows(self) -> int:
        return self.metadata.physical_rows

    @property
    def num_deletions(self) -> int:
        return self.metadata.num_deletions

    def data_files(self) -> List[DataFile]:
        return self.metadata.files

    def deletion_file(self) -> Optional[str]:
        return self.metadata.deletion_file.path if self.metadata.deletion_file else None

    def count_rows(self, filter: Optional[str] = None) -> int:  # noqa: A002
        return self.metadata.num_rows if filter is None else self.scanner(filter=filter).count_rows()

    def scanner(self, **how) -> LanceScanner:
        return LanceScanner(self._dataset, fragments=[self], **how)

    def take(self, indices, columns: Columns = None) -> pa.Table:
        return self._dataset._take(indices, columns, [self.fragment_id])

    def __repr__(self) -> str:
        return f"LanceFragment(id={self.fragment_id}, data_files={[f.path for f in self.metadata.files]!r})"


class Tags:
    """Names for versions."""

    def __init__(self, table):
        self._table = table

    def list(self) -> Dict[str, Dict[str, Any]]:
        return {
            name: {**tag, "created_at": _instant(tag["created_at"]), "updated_at": _instant(tag["updated_at"])}
            for name, tag in self._table.tags().items()
        }

    def list_ordered(self, order: Optional[str] = None) -> List[Tuple[str, Dict[str, Any]]]:
        return sorted(self.list().items(), key=lambda item: item[1]["version"], reverse=order != "asc")

    def get_version(self, tag: str) -> int:
        found = self._table.tags().get(tag)
        if found is None:
            raise UsageError(f"there is no tag '{tag}'")
        return found["version"]


class Branches:
    """Histories beside the main one."""

    def __init__(self, table):
        self._table = table

    def list(self) -> Dict[str, Dict[str, Any]]:
        return self._table.branches()


class LanceStats:
    def __init__(self, dataset: "LanceDataset"):
        self._dataset = dataset

    def dataset_stats(self, max_rows_per_group: int = 1024) -> Dict[str, int]:
        fragments = self._dataset._metadata()
        return {
            "num_deleted_rows": sum(f.num_deletions for f in fragments),
            "num_fragments": len(fragments),
            "num_small_files": sum(f.num_rows < max_rows_per_group for f in fragments),
        }


class LanceDataset(_Reads, BlobReads):
    """One version of a Lance table. It never changes; ``checkout_version`` and ``dataset`` give others.

    Parameters
    ----------
    uri:
        The table's folder, a ``file://`` URI, or ``s3://bucket/name``.
    version:
        A number, the name of a tag, or ``(branch, number or tag or None)``. The newest of main when left out.
    asof:
        The newest version that is not younger than this datetime (of local time if it has no zone) or ISO string.
    storage_options:
        How to reach a bucket, where the environment does not say it (docs/guides/s3.md).
    allow_unstable:
        Of no effect: data files of version 2.3 are read as pylance reads them, unasked (single files want to be asked).
    verify:
        Hold what is read against the checksums of data files that have them, as in :class:`pilum.file.LanceFileReader`.

    Raises ``NotFound`` (there is no such table, version or tag), ``CorruptError`` or ``UnsupportedError``; where the newest
    version cannot be opened, the message says which older one can.
    """

    def __init__(
        self,
        uri: Union[str, "os.PathLike[str]"],
        version: Version = None,
        *,
        asof=None,
        storage_options: Optional[Dict[str, str]] = None,
        allow_unstable: bool = False,
        verify: Union[bool, str] = True,
    ):
        self._uri = os.fspath(uri)
        self._options = _storage(self._uri, storage_options)
        self._allow_unstable, self._how = bool(allow_unstable), _verify(verify)
        self._table = self._opened(version, asof)
        self._snapshots: Dict[bool, Any] = {}

    def _opened(self, version: Version, asof=None):
        branch, tag = "", ""
        if isinstance(version, tuple):
            name, version = version
            branch = name or ""
        if isinstance(version, str):
            tag, version = version, None
            if branch not in ("", "main"):
                raise UsageError("a tag says itself which branch it is on; give the tag alone")
        as_of = None if asof is None else _nanoseconds(asof)
        return _pilum.Table.open(self._uri, branch, version, tag, as_of, self._options)

    @property
    def uri(self) -> str:
        return self._uri

    @property
    def schema(self) -> pa.Schema:
        return self._table.schema

    @property
    def version(self) -> int:
        return self._table.version

    @property
    def latest_version(self) -> int:
        """As of now: others may have committed since this version was opened."""
        return self._table.latest_version()

    @property
    def data_storage_version(self) -> str:
        """The file version of new data files; each file says itself what it is."""
        return self._table.manifest()["data_version"]

    @property
    def has_stable_row_ids(self) -> bool:
        return self._table.manifest()["stable_row_ids"]

    @property
    def max_field_id(self) -> int:
        return self._table.manifest()["max_field_id"]

    @property
    def metadata(self) -> Dict[str, str]:
        """The table's metadata (not the schema's)."""
        return self._table.manifest()["table_metadata"]

    @property
    def schema_metadata(self) -> Dict[str, str]:
        metadata = self.schema.metadata or {}
        return {k.decode(): v.decode(errors="replace") for k, v in metadata.items()}

    def config(self) -> Dict[str, str]:
        return self._table.manifest()["config"]

    @property
    def base_paths(self) -> Dict[int, Dict[str, Any]]:
        return {base["id"]: base for base in self._table.manifest()["base_paths"]}

    @property
    def tags(self) -> Tags:
        return Tags(self._table)

    @property
    def branches(self) -> Branches:
        return Branches(self._table)

    @property
    def stats(self) -> LanceStats:
        return LanceStats(self)

    def versions(self) -> List[Dict[str, Any]]:
        """All of this branch that are still there, oldest first; detached ones are not among them."""
        out = []
        for v in self._table.versions():
            t = v["totals"]
            numbers = {
                "total_data_file_rows": t["physical_rows"],
                "total_data_files": t["data_files"],
                "total_deletion_file_rows": t["deleted_rows"],
                "total_deletion_files": t["deletion_files"],
                "total_files_size": t["data_bytes"],
                "total_fragments": t["fragments"],
                "total_rows": t["rows"],
            }
            metadata = {name: str(n) for name, n in numbers.items()}
            out.append({"version": v["version"], "timestamp": _local(v["timestamp_ns"]), "metadata": metadata})
        return out

    def checkout_version(self, version: Version) -> "LanceDataset":
        """Another version; a bare number is one of this dataset's branch."""
        if isinstance(version, int) and self._table.branch:
            version = (self._table.branch, version)
        return self._with(version)

    def _with(self, version: Version) -> "LanceDataset":
        out = LanceDataset.__new__(LanceDataset)
        out._uri, out._options = self._uri, self._options
        out._allow_unstable, out._how = self._allow_unstable, self._how
        out._table = out._opened(version)
        out._snapshots = {}
        return out

    def checkout_latest(self) -> None:
        """This object becomes the newest version of its branch."""
        self._table = self._opened((self._table.branch, None) if self._table.branch else None)
        self._snapshots = {}

    def read_transaction(self, version: Version) -> Optional[Transaction]:
        """What made that version. None where nothing on disk says so any more."""
        at = self if version == self.version else self.checkout_version(version)
        found = at._table.transaction()
        if found is None:
            return None
        return Transaction(
            found["read_version"], found["operation"], found["uuid"], found["properties"], found["facts"], found["tag"]
        )

    def get_transactions(self, recent_transactions: int = 10) -> List[Optional[Transaction]]:
        """Those of the newest versions up to this one, newest first."""
        versions = [v["version"] for v in self._table.versions() if v["version"] <= self.version]
        return [self.read_transaction(v) for v in reversed(versions[-recent_transactions:] if recent_transactions else [])]

    def _metadata(self) -> List[FragmentMetadata]:
        return [_fragment(f) for f in self._table.fragments()]

    def get_fragments(self) -> List[LanceFragment]:
        return [LanceFragment(self, f) for f in self._metadata()]

    def get_fragment(self, fragment_id: int) -> Optional[LanceFragment]:
        return next((f for f in self.get_fragments() if f.fragment_id == fragment_id), None)

    @property
    def fragment_ids(self) -> List[int]:
        return [f["id"] for f in self._table.fragments()]

    def _snapshot(self, fragments: Optional[Sequence[int]] = None, blob_bytes: bool = False):
        snapshot = self._snapshots.get(blob_bytes) if fragments is None else None
        if snapshot is None:
            snapshot = self._table.snapshot(None if fragments is None else list(fragments), blob_bytes)
            if fragments is None:  # files stay open with it
                self._snapshots[blob_bytes] = snapshot
        return snapshot

    def count_rows(self, filter: Optional[str] = None) -> int:  # noqa: A002
        """Without a filter from the manifest alone."""
        return self._table.count_rows() if filter is None else self.scanner(filter=filter).count_rows()

    def scanner(
        self,
        columns: Columns = None,
        filter: Optional[str] = None,  # noqa: A002
        limit: Optional[int] = None,
        offset: Optional[int] = None,
        **how,
    ) -> LanceScanner:
        return LanceScanner(self, columns=columns, filter=filter, limit=limit, offset=offset, **how)

    def take(self, indices, columns: Columns = None) -> pa.Table:
        """Rows by number over all fragments, in the order given, repeats kept. ``UsageError`` for one past the end."""
        return self._take(indices, columns, None)

    def _take(self, indices, columns: Columns, fragments: Optional[List[int]]) -> pa.Table:
        if isinstance(columns, dict):
            raise UnsupportedError("take gives columns by name, not expressions")
        if isinstance(indices, (pa.Array, pa.ChunkedArray)):
            indices = indices.to_pylist()
        names = self.schema.names if columns is None else list(dict.fromkeys(columns))
        return self._snapshot(fragments).take(names, indices, self._allow_unstable, self._how)

    def query(self, sql: str, params: Params = None, *, timeout: Optional[float] = None) -> QueryResult:
        """A whole statement over this version: see :meth:`pilum.store.Store.query`. ``_rowid``, ``_rowaddr``,
        ``_row_created_at_version`` and ``_row_last_updated_at_version`` are columns that ``*`` leaves out."""
        return QueryResult(
            self._snapshot().query(sql, _params(params), True, timeout, None, None, self._how, self._allow_unstable)
        )

    def __len__(self) -> int:
        return self.count_rows()

    def __repr__(self) -> str:
        return f"pilum.LanceDataset({self._uri!r}, version={self.version})"


__all__ = [
    "DataFile",
    "DeletionFile",
    "FragmentMetadata",
    "LanceDataset",
    "LanceFragment",
    "LanceScanner",
    "Transaction",
]
