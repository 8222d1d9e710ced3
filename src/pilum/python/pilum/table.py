"""Lance tables by pylance's names.

    >>> ds = pilum.dataset("flights.lance", version=7)
    >>> ds.to_table(columns=["carrier", "dep_delay"], filter="dep_delay > 600", with_row_id=True)

What pylance's methods take and Pilum does not do (yet) raises ``UnsupportedError``; what only tunes pylance is accepted and
has no effect. Filters and expressions are Pilum's SQL (docs/formats/sql.md).
"""

import os
from typing import Any, Dict, List, Optional, Sequence, Tuple, Union

import pyarrow as pa
import pyarrow.compute as pc

from . import _pilum
from .batch import Batches
from .blob import BlobReads
from .commit import CommitLock
from .commits import Commits
from .dataset_clone import Clones
from .dataset_columns import ColumnWrites
from .dataset_write import Writes
from .errors import CorruptError, UsageError
from .file import _storage, _verify
from .fragment import LanceFragment
from .fragment_metadata import DataFile, FragmentMetadata, from_native
from .indices import IndexLists
from .memory import own_uri, shown
from .locks import under_lock
from .merge import Merges
from .operations import Transaction, from_wire
from .optimize import Optimizes
from .rows import Rows
from .scanner import Columns, Filter, refuse
from .schema import LanceSchema
from .session import Session
from .statements import DatasetDelta, SqlQueryBuilder
from .update import Updates
from .upkeep import Upkeep
from .versions import (
    Branches, DatasetBasePath, IOStats, LanceStats, Tags, described, nanoseconds, refuse_writes,
)  # fmt: skip

Version = Union[None, int, str, Tuple[Optional[str], Union[None, int, str]]]

_OPEN_TUNING = {
    "block_size", "index_cache_size", "metadata_cache_size", "index_cache_size_bytes", "metadata_cache_size_bytes",
    "read_params", "allow_unstable",
}  # fmt: skip


def _absolute(uri: Union[str, "os.PathLike[str]"]) -> str:
    uri = os.fspath(uri)
    return own_uri(uri) if "://" in uri else os.path.abspath(os.path.expanduser(uri))


class LanceDataset(Commits, Clones, Writes, ColumnWrites, Updates, Merges, Upkeep, Optimizes, Batches, Rows, BlobReads, IndexLists):
    """One version of a Lance table. It never changes; ``checkout_version`` and ``dataset`` give others.

    Parameters
    ----------
    uri:
        The table's folder, a ``file://`` URI, ``s3://bucket/name``, or ``memory://name`` (:mod:`pilum.memory`).
    version:
        A number, the name of a tag, or ``(branch, number or tag or None)``. The newest of main when left out.
    asof:
        The newest version that is not younger than this datetime (of local time if it has no zone) or ISO string.
    storage_options:
        How to reach a bucket, where the environment does not say it (docs/guides/s3.md).
    default_scan_options:
        Arguments of ``scanner`` for all reads that do not give them.
    verify:
        Hold what is read against the checksums of data files that have them, as in :class:`pilum.file.LanceFileReader`.

    commit_lock:
        What changes this dataset happens in the context that this gives, for the number that the version will have.
    session:
        Accepted: an open dataset keeps its own files open.

    Raises ``NotFound`` (there is no such table, version or tag), ``CorruptError`` or ``UnsupportedError``; where the newest
    version cannot be opened, the message says which older one can. Pickled, it opens the same version again.
    """

    def __init__(
        self,
        uri: Union[str, "os.PathLike[str]"],
        version: Version = None,
        *,
        asof=None,
        storage_options: Optional[Dict[str, str]] = None,
        default_scan_options: Optional[Dict[str, Any]] = None,
        verify: Union[bool, str] = True,
        commit_lock: Optional[CommitLock] = None,
        session: Optional[Session] = None,
        **others,
    ):
        refuse(others, _OPEN_TUNING)
        self._commit_lock, self._session = commit_lock, session
        self._uri = _absolute(uri)
        self._storage_options = storage_options
        self._default_scan_options = default_scan_options
        self._verify, self._how = verify, _verify(verify)
        self._use(self._opened(version, asof))

    def _opened(self, version: Version, asof=None):
        branch, tag = "", ""
        if isinstance(version, tuple):
            name, version = version
            branch = "" if name in (None, "main") else name
        if isinstance(version, str):
            tag, version = version, None
            if branch:
                raise UsageError("a tag says itself which branch it is on; give the tag alone")
        as_of = None if asof is None or version is not None or tag else nanoseconds(asof)
        return _pilum.Table.open(self._uri, branch, version, tag, as_of, _storage(self._uri, self._storage_options))

    def _use(self, table) -> None:
        self._table = table
        self._schema = table.schema
        self._snapshots: Dict[Tuple[bool, bool], Any] = {}
        self._counted = IOStats(0, 0)

    def _copy(self, version: Version = None) -> "LanceDataset":
        out = LanceDataset.__new__(LanceDataset)
        out.__dict__.update(self.__dict__)
        if version is not None:
            out._use(self._opened(version))
        return out

    __copy__ = _copy

    def __reduce__(self):
        how = {"storage_options": self._storage_options, "default_scan_options": self._default_scan_options}
        return _reopen, (self._uri, (self._table.branch, self.version), {**how, "verify": self._verify}, self._only)

    @property
    def uri(self) -> str:
        return shown(self._branch_uri())

    def _branch_uri(self) -> str:
        branch = self._table.branch
        return f"{self._uri}/tree/{branch}" if branch else self._uri

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
        metadata = self._schema.metadata or {}
        return {k.decode(): v.decode(errors="replace") for k, v in metadata.items()}

    def config(self) -> Dict[str, str]:
        return self._table.manifest()["config"]

    def session(self) -> Session:
        if self._session is None:
            self._session = Session()
        return self._session

    @property
    def _ds(self) -> "LanceDataset":
        """pylance's inner object, which some of its users ask directly."""
        return self

    def base_paths(self) -> Dict[int, DatasetBasePath]:
        """Where files of this version may lie beside the table's own folder, by the id that files name."""
        return {base["id"]: DatasetBasePath(**base) for base in self._table.manifest()["base_paths"]}

    @property
    def lance_schema(self) -> LanceSchema:
        """The schema with the ids of its fields."""
        return LanceSchema._of_table(self._schema, self._table.fields())

    def get_version(self) -> Dict[str, Any]:
        """This version as :meth:`versions` tells it, from the manifest alone."""
        return described(self.version, self._table.manifest()["timestamp_ns"], self._table.totals())

    def version_refs(self) -> List[Dict[str, int]]:
        return [{"version": v["version"]} for v in self._table.versions()]

    def initial_storage_options(self) -> Optional[Dict[str, str]]:
        return self._storage_options

    latest_storage_options = initial_storage_options

    @property
    def tags(self) -> Tags:
        return Tags(self)

    @property
    def branches(self) -> Branches:
        return Branches(self)

    @property
    def stats(self) -> LanceStats:
        return LanceStats(self)

    def versions(self) -> List[Dict[str, Any]]:
        """All of this branch that are still there, oldest first; detached ones are not among them."""
        return [described(v["version"], v["timestamp_ns"], v["totals"]) for v in self._table.versions()]

    def checkout_version(self, version: Version) -> "LanceDataset":
        """Another version; a bare number is one of this dataset's branch."""
        if isinstance(version, int) and self._table.branch:
            version = (self._table.branch, version)
        return self._copy(version)

    def checkout_latest(self) -> None:
        """This object becomes the newest version of its branch."""
        self._use(self._opened((self._table.branch, None)))

    def read_transaction(self, version: Version) -> Optional[Transaction]:
        """What made that version. None where nothing on disk says so any more."""
        at = self if version == self.version else self.checkout_version(version)
        made = _pilum.table_transaction(at._table)
        return None if made is None else from_wire(made, at._table.transaction()["facts"])

    def get_transactions(self, recent_transactions: int = 10) -> List[Optional[Transaction]]:
        """Those of the newest versions up to this one, newest first."""
        versions = [v["version"] for v in self._table.versions() if v["version"] <= self.version]
        return [self.read_transaction(v) for v in reversed(versions[-recent_transactions:] if recent_transactions else [])]

    def _metadata(self) -> List[FragmentMetadata]:
        return [from_native(f) for f in _pilum.table_fragments(self._table)]

    def get_fragments(self, filter: Filter = None) -> List[LanceFragment]:  # noqa: A002
        if filter is not None:
            raise UsageError("get_fragments() does not support filter yet: fragments have no values of their own")
        return [LanceFragment(self, fragment=f) for f in self._metadata()]

    def get_fragment(self, fragment_id: int) -> Optional[LanceFragment]:
        return next((f for f in self.get_fragments() if f.fragment_id == fragment_id), None)

    def fragment_ids(self) -> List[int]:
        return [f["id"] for f in self._table.fragments()]

    def _snapshot(
        self, fragments: Optional[Sequence[int]] = None, blob_bytes: bool = False, with_deleted: bool = False
    ):
        if fragments is not None:
            return self._table.snapshot(list(fragments), blob_bytes, with_deleted)
        how = (blob_bytes, with_deleted)
        if how not in self._snapshots:  # files stay open with it
            self._snapshots[how] = self._table.snapshot(None, *how)
        return self._snapshots[how]

    def _take_rows(self, row_ids, columns: Columns = None, **others) -> pa.Table:
        """Rows by ``_rowid``, in the order given, repeats kept; ids that no row has are left out."""
        if isinstance(row_ids, (pa.Array, pa.ChunkedArray)):
            row_ids = row_ids.to_pylist()
        wanted = pa.array(row_ids, pa.uint64())
        columns = self._schema.names if columns is None else columns
        names = list(columns)
        have_id = "_rowid" in names
        ids = pa.scalar(wanted.unique().to_pylist(), pa.list_(pa.uint64()))
        found = self.scanner(columns, ("_rowid IN (:ids)", {"ids": ids}), with_row_id=True).to_table()
        at = pc.drop_null(pc.index_in(wanted, found["_rowid"].combine_chunks()))
        out = found.take(at)
        return out if have_id else out.select(names)

    def _path_of(self, path: str, base_id: Optional[int]) -> str:
        """Of a data file."""
        base = self.base_paths().get(base_id) if base_id is not None else None
        folder = f"{self.uri}/data" if base is None else f"{base.path}/data" if base.is_dataset_root else base.path
        return f"{folder}/{path}"

    def _reader(self, path: str, base_id: Optional[int]):
        where = self._path_of(path, base_id)
        return _pilum.FileReader.open(where, None, self._how, True, _storage(where, self._storage_options))

    def _describe_file(self, path: str, base_id: Optional[int]) -> Dict[str, Any]:
        """The fields of :class:`DataFile` of a file whose columns are named as those of the table."""
        reader = self._reader(path, base_id)
        ids: List[int] = []
        for column in reader.schema:
            field = self.lance_schema.field(column.name)
            if field is None:
                raise UsageError(f"{self._path_of(path, base_id)}: the table has no column '{column.name}'")
            ids += field._ids()
        info = reader.info()
        described = _pilum.describe_data_file(reader.schema, ids, info["version"])
        return {**described, "path": path, "base_id": base_id, "file_size_bytes": info["file_size"]}

    def _column_bytes(self, file: DataFile) -> List[int]:
        """Of each of its fields, in their order; none of a legacy file."""
        if file.file_major_version < 2 and file.file_minor_version < 3:
            return []
        columns = self._reader(file.path, file.base_id).columns_info()
        return [columns[i]["bytes"] if 0 <= i < len(columns) else 0 for i in file.column_indices]

    def validate(self) -> None:
        """Every fragment's files are there, open, and have the rows and fields that the manifest says; a row of each is read.
        Raises what is wrong. (``pilum table check`` says all of it.)"""
        ids = self.fragment_ids()
        if ids != sorted(set(ids)):
            raise CorruptError(f"{self.uri}: version {self.version}: fragment ids repeat or do not ascend: {ids}")
        for fragment_id in ids:
            self._table.snapshot([fragment_id]).scan(self._schema.names, "", 1, 0).stream.read_table()

    def io_stats_snapshot(self) -> IOStats:
        """Requests and bytes of all reads of this object's rows that are done; manifests are not counted."""
        now = self._table.stats
        return IOStats(now["requests"], now["bytes"])

    def io_stats_incremental(self) -> IOStats:
        """The same since it was asked last."""
        now, before = self.io_stats_snapshot(), self._counted
        self._counted = now
        return IOStats(now.read_iops - before.read_iops, now.read_bytes - before.read_bytes)

    def sql(self, sql: str) -> SqlQueryBuilder:
        """A statement over this version, to be run by ``.build()``; shorter: :meth:`query`."""
        return SqlQueryBuilder(self, sql)

    def delta(
        self,
        compared_against: Optional[int] = None,
        *,
        begin_version: Optional[int] = None,
        end_version: Optional[int] = None,
    ) -> DatasetDelta:
        """What changed after ``begin_version`` (or ``compared_against``, up to this one) until ``end_version``."""
        if compared_against is not None:
            if begin_version is not None or end_version is not None:
                raise UsageError("give compared_against, or begin_version and end_version, not both")
            begin_version, end_version = compared_against, self.version
        if begin_version is None or end_version is None:
            raise UsageError("give compared_against, or both begin_version and end_version")
        return DatasetDelta(self, begin_version, end_version)

    def count_rows(self, filter: Filter = None, **how) -> int:  # noqa: A002
        """Without a filter from the manifest alone."""
        if filter is None and not how and not self._only:
            return self._table.count_rows()
        return super().count_rows(filter, **how)

    def __repr__(self) -> str:
        return f"pilum.LanceDataset({self.uri!r}, version={self.version})"


def _reopen(uri: str, version: Version, how: Dict[str, Any], only) -> LanceDataset:
    out = LanceDataset(uri, version, **how)
    out._only = only
    return out


under_lock(
    LanceDataset, "delete", "update", "restore", "_settings", "add_columns", "drop_columns", "alter_columns", "merge", "add_bases",
)  # fmt: skip
refuse_writes(LanceDataset, "create_index", "create_scalar_index", "drop_index")
