"""Part stores: datasets of immutable Lance parts with sidecar indexes beside them, written by ``put``, read by SQL.

    >>> flights = pilum.store.open("/data/store/flights")
    >>> flights.put(table)
    >>> flights.query("SELECT * FROM t WHERE tailnum = ? AND year > :y", …).to_table()
"""

import datetime
import decimal
import os
import time
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Union

import pyarrow as pa

from . import _pilum
from .errors import QueryError, UsageError
from .file import _storage, _verify

if TYPE_CHECKING:
    from .rows import Rows

Params = Union[None, Sequence[Any], Mapping[str, Any]]


def _exact(value):
    """``pa.scalar``, also of integers past int64 and of lists that hold some."""
    if isinstance(value, int):
        return pa.scalar(value, pa.uint64()) if 0 <= value < 2**64 else pa.scalar(decimal.Decimal(value))
    if isinstance(value, (list, tuple)) and all(v is None or isinstance(v, int) for v in value):
        return pa.scalar([None if v is None else decimal.Decimal(v) for v in value])
    return pa.scalar(value)


def _scalar(value, name):
    if isinstance(value, pa.Scalar):
        return value
    try:
        if type(value).__module__ == "numpy" and hasattr(value, "dtype") and getattr(value, "shape", None) == ():
            return pa.array([value])[0]
        try:
            return pa.scalar(value)
        except (pa.ArrowInvalid, OverflowError):
            return _exact(value)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError) as e:
        raise QueryError(f"parameter {name}: {e}") from None


def _params(params: Params):
    if params is None:
        return None
    if isinstance(params, Mapping):
        return {str(k): _scalar(v, f":{k}") for k, v in params.items()}
    if isinstance(params, (str, bytes)):
        raise UsageError("params must be a list for ? and $1, or a dict for :name; got one string")
    return [_scalar(v, f"${i}") for i, v in enumerate(params, 1)]


class QueryResult:
    """A running query: its rows, once, in any one of several forms. Nothing is read before the first is asked for.

    - ``to_table()``: all rows as a ``pyarrow.Table``
    - ``for batch in result``: as ``pyarrow.RecordBatch``es, read as the loop goes
    - ``to_batches()``: as a ``pyarrow.RecordBatchReader``
    - ``pyarrow.table(result)``, ``polars.DataFrame(result)``, ``duckdb.sql("… FROM result")``: by ``__arrow_c_stream__``

    Rows come in the order of parts, then of rows in the part; the same with and without indexes.
    """

    def __init__(self, native):
        self._native = native
        self._stream = native.stream
        self._schema = self._stream.schema

    @property
    def schema(self) -> pa.Schema:
        return self._schema

    def to_table(self) -> pa.Table:
        """The rows not yet read, as a table."""
        return self._stream.read_table()

    def to_batches(self) -> pa.RecordBatchReader:
        """The rows not yet read, as a lazy reader."""
        return pa.RecordBatchReader.from_batches(self._schema, iter(self))

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        return iter(self._stream.next, None)

    def __arrow_c_stream__(self, requested_schema=None):
        """The rows not yet read, as an Arrow C stream. ``requested_schema`` is not acted on."""
        return self._stream.capsule()

    @property
    def counts(self) -> Dict[str, Any]:
        """Units and rows that each stage saw: ``units``, ``units_pruned``, ``units_read``, ``rows_total``,
        ``rows_candidate``, ``rows_certain``, ``rows_rechecked``, ``rows_matched``, ``rows_returned``; ``evaluations``, rows
        asked of each single test in the predicate; and ``notes``, why a sidecar was not used. Complete once all rows are read."""
        return self._native.counts

    @property
    def stats(self) -> Dict[str, Any]:
        """What was read so far: ``opens``, ``requests``, ``bytes``, and ``decoded`` values by leaf column."""
        return self._native.stats

    def explain(self) -> str:
        """The plan, with the counts of every stage so far."""
        return self._native.explain()

    def cancel(self) -> None:
        """Stops the query, from any thread; whoever reads it gets ``CancelledError``."""
        self._stream.cancel()


class PartInfo(NamedTuple):
    """One part. ``name`` is its file's, 64 hex digits unless it was dropped in by hand; sizes are bytes;
    ``sidecar_state`` is "ok", "missing" or what is wrong."""

    name: str
    rows: int
    bytes: int
    idx_bytes: int
    idxh_bytes: int
    stats_bytes: int
    terms_bytes: int
    merged: bool
    sidecar_state: str


class PutResult(NamedTuple):
    """What a put did. ``parts`` are all parts that the input makes; ``rows_already_there`` of its ``rows`` were there."""

    rows: int
    rows_already_there: int
    parts: List[str]
    new_parts: int
    part_bytes: int
    sidecar_bytes: int


class CompactResult(NamedTuple):
    """What a compaction did: ``parts`` parts became ``plans`` (named in ``merged``) of ``rows`` rows and ``bytes`` bytes;
    ``notes`` tell of plans that cannot be done."""

    plans: int
    parts: int
    rows: int
    bytes: int
    merged: List[str]
    notes: List[str]


class SweepResult(NamedTuple):
    """What a sweep removed; ``caches`` are bundles that newer ones have taken the place of. ``waiting`` parts are of no use
    either, but their grace has not passed."""

    parts: int
    part_bytes: int
    sidecars: int
    sidecar_bytes: int
    unfinished: int
    caches: int
    cache_bytes: int
    waiting: int


class EraseResult(NamedTuple):
    """What an erasure did: ``rows`` of ``parts`` count no more. ``straddling`` parts stay for their other rows (``drop``),
    ``hidden_left`` parts of before hold such rows' bytes until they are swept, ``notes`` tell of parts that could not be
    rewritten."""

    rows: int
    parts: int
    straddling: int
    hidden_left: int
    notes: List[str]


class BackfillResult(NamedTuple):
    """Of ``parts`` parts looked at, ``rebuilt`` got new sidecars of ``bytes`` bytes."""

    parts: int
    rebuilt: int
    bytes: int


class CacheRefresh(NamedTuple):
    """What was made of one kind of cache (``name``: "bundles") over ``parts`` parts: ``fresh`` of them were written, in
    ``written`` objects of ``bytes`` bytes. ``notes`` tell what it cannot hold, and which of its objects could not be used."""

    name: str
    parts: int
    fresh: int
    written: int
    bytes: int
    notes: List[str]


class CopyResult(NamedTuple):
    """What a copy wrote; ``already_there`` parts were not copied again."""

    parts: int
    part_bytes: int
    sidecars: int
    sidecar_bytes: int
    already_there: int


class Store:
    """One dataset of a part store; made by :func:`open`. Thread-safe.

    Queries read the parts that were there at the first use, after the last ``put`` of this object, or at ``refresh()``.
    """

    def __init__(
        self, path: Union[str, "os.PathLike[str]"], storage_options: Optional[Dict[str, str]] = None
    ):
        self._path = os.fspath(path)
        self._native = _pilum.PartStore.open(self._path, _storage(self._path, storage_options))
        self._snapshot = None

    def _pinned(self, timeout: Optional[float] = None):
        snapshot = self._snapshot
        if snapshot is None:
            snapshot = self._snapshot = self._native.snapshot(timeout=timeout)
        return snapshot

    def refresh(self) -> "Store":
        """Looks for parts put by others since. Queries already running keep what they had."""
        self._snapshot = self._native.snapshot()
        return self

    @property
    def schema(self) -> pa.Schema:
        """The union of the parts' schemas, by name, in order of first need. ``NotFound`` if there is no dataset yet."""
        return self._pinned().schema

    def dataset(self, verify: Union[bool, str] = True) -> "Rows":
        """The same parts as a ``pyarrow.dataset.Dataset``: ``to_table(columns, filter, limit, order_by, …)`` with the arguments
        of a table's; DuckDB and polars read it and push columns and filters down."""
        from .rows import SnapshotRows

        return SnapshotRows(self._pinned(), self._path, _verify(verify))

    def num_rows(self) -> int:
        """Rows of all parts."""
        return self._pinned().num_rows

    def parts(self) -> List[PartInfo]:
        """The parts there now."""
        return [PartInfo(**p) for p in self._native.parts()]

    def check(self) -> List[str]:
        """Reads parts and sidecars whole. A message for each fault; empty when all is sound."""
        return self._native.check()

    def query(
        self,
        sql: str,
        params: Params = None,
        *,
        use_index: bool = True,
        timeout: Optional[float] = None,
        batch_size: Optional[int] = None,
        memory_limit: Optional[int] = None,
        verify: Union[bool, str] = True,
    ) -> QueryResult:
        """Runs ``SELECT … FROM t WHERE … GROUP BY … HAVING … ORDER BY … LIMIT …`` with aggregates and expressions.

        ``FROM`` may be left out, and a bare predicate selects all columns.

        Parameters
        ----------
        params:
            A list for ``?`` and ``$1``, a dict for ``:name``. Python values, numpy scalars or pyarrow scalars; never
            pasted into the text.
        use_index:
            False ignores the sidecars: the same rows in the same order, by scanning.
        timeout:
            Seconds from now until reading raises ``DeadlineError``; where parts must be listed first, that counts.
        batch_size:
            Most rows in a batch.
        memory_limit:
            Bytes that groups, distinct values and rows to sort may take before the query fails (default: 8 GiB).
        verify:
            Hold what is read of the parts against the checksums in them, as in :class:`pilum.file.LanceFileReader`.

        Raises ``QueryError`` for a wrong statement, with the position in it.
        """
        how = _verify(verify)
        start = time.monotonic()
        snapshot = self._pinned(timeout)
        if timeout is not None:
            timeout = max(0.0, timeout - (time.monotonic() - start))
        return QueryResult(snapshot.query(sql, _params(params), use_index, timeout, batch_size, memory_limit, how))

    def put(
        self,
        data,
        batch_id: Optional[str] = None,
        new_schema: bool = False,
        target_part_bytes: Optional[int] = None,
        *,
        version: Optional[str] = None,
        sort: Union[str, Sequence[str], None] = None,
    ) -> PutResult:
        """Writes rows as one or more parts with their sidecars; durable once it returns.

        The same rows with the same options make the same parts, so that a second put adds nothing; rows meant to be there
        twice need a ``batch_id``. On an error each part is there whole or not at all.

        Parameters
        ----------
        data:
            A pyarrow Table, RecordBatch or RecordBatchReader, or anything with ``__arrow_c_stream__`` (polars, DuckDB, …).
            A reader is streamed; it is not held in memory.
        batch_id:
            Names this batch: a retry with the same one adds nothing, whatever the version of Pilum.
        new_schema:
            Take rows whose column types clash with those of the dataset; queries over such a column then fail.
        target_part_bytes:
            A part rolls at about this many bytes (1 GiB).
        version:
            Lance file version of new parts, "2.1" or "2.2" (the default).
        sort:
            Order the rows by these columns first ("time", "owner": those that dataset.toml names), within bounded memory; by a
            time, parts end where a day ends. A batch put again needs the same.
        """
        schema, batches = _batches(data)
        done = self._native.put(
            schema, batches, batch_id or "", new_schema, target_part_bytes, version or "2.2",
            [sort] if isinstance(sort, str) else list(sort or []),
        )
        self._snapshot = None
        return PutResult(**done)

    def compact(
        self, target_rows: Optional[int] = None, target_bytes: Optional[int] = None, *, all: bool = False
    ) -> CompactResult:
        """Makes one part of several small ones. Queries see either all of them or the one; others may put, read and compact
        meanwhile.

        Parameters
        ----------
        target_rows, target_bytes:
            Parts of fewer rows and bytes (1 GiB) are merged, up to these.
        all:
            Merge all small parts, however unequal. Without it a part joins only with others that have as many rows
            together, so that a row is rewritten only a few times however often this is called.
        """
        done = self._native.compact(target_rows, target_bytes, all)
        self._snapshot = None
        return CompactResult(**done)

    def sweep(self, grace: Union[float, datetime.timedelta] = 86400.0, *, dry_run: bool = False) -> SweepResult:
        """Removes parts that merged ones have stood for since ``grace`` (seconds, by the store's clock) or longer, sidecars
        without a part, and what killed writes left. A query that began before may fail: the grace is to outlast it.
        ``dry_run`` only counts."""
        seconds = grace.total_seconds() if isinstance(grace, datetime.timedelta) else float(grace)
        return SweepResult(**self._native.sweep(seconds, dry_run))

    def erase(self, where: str, params: Params = None) -> EraseResult:
        """Rewrites the parts that hold rows for which ``where`` is true, without them. Their bytes go when the parts of
        before are swept; ``hidden_left`` is 0 then. Rows put meanwhile may stay: call it again until it erases none."""
        done = self._native.erase(where, _params(params), False)
        self._snapshot = None
        return EraseResult(**done)

    def drop(self, before, column: str) -> EraseResult:
        """Drops the parts all of whose rows have ``column`` below ``before`` (a date or datetime)."""
        quoted = '"' + column.replace('"', '""') + '"'
        done = self._native.erase(f"{quoted} < ?", _params([before]), True)
        self._snapshot = None
        return EraseResult(**done)

    def attribute(self) -> pa.Table:
        """Whose the bytes are: one row for each object of each part ("lance", "idx", "idxh", "terms", "stats"), column and family
        of index, with its bytes. Those of an object add up to its size; "container" is what no column has."""
        fields = [pa.field(n, pa.string()) for n in ("part", "object", "column", "family")] + [pa.field("bytes", pa.uint64())]
        return pa.Table.from_pylist(self._native.attribute(), schema=pa.schema(fields))

    def backfill(self, *, all: bool = False) -> BackfillResult:
        """Rebuilds sidecars that are missing or damaged, or ``all`` of them; parts stay as they are, queries go on."""
        return BackfillResult(**self._native.backfill(all))

    def maintain(self, *, all: bool = False) -> List[CacheRefresh]:
        """Makes and refreshes caches over many parts, which save requests: bundles of prune headers, so that a query over
        thousands of parts opens few objects, and segments, which parts have a word (columns with the index ``words``). ``all`` makes them anew, not only what is missing or out of date."""
        return [CacheRefresh(**c) for c in self._native.maintain(all)]

    def copy(self, to: Union[str, "os.PathLike[str]", "Store"]) -> CopyResult:
        """Copies what counts, with its sidecars and the plans, to another dataset, by name: one that was broken off goes on."""
        other = to if isinstance(to, Store) else Store(to)
        done = self._native.copy_to(other._native)
        other._snapshot = None
        return CopyResult(**done)

    def __repr__(self) -> str:
        return f"pilum.store.Store({self._path!r})"


def _batches(data):
    """(schema, pyarrow.Table) or (schema, iterator of batches)"""
    if isinstance(data, pa.RecordBatch):
        data = pa.Table.from_batches([data])
    if isinstance(data, pa.Table):
        return None, data
    if not isinstance(data, pa.RecordBatchReader):
        if not hasattr(data, "__arrow_c_stream__"):
            raise TypeError(
                f"cannot put a {type(data).__name__}: give a pyarrow Table, RecordBatch or RecordBatchReader, "
                "or an object with __arrow_c_stream__"
            )
        data = pa.RecordBatchReader.from_stream(data)
    return data.schema, iter(data)


def open(  # noqa: A001
    path: Union[str, "os.PathLike[str]"], storage_options: Optional[Dict[str, str]] = None
) -> Store:
    """Opens the dataset at ``STORE/DATASET``, a folder or ``s3://bucket/prefix``. One that does not exist yet is made by
    its first ``put``. ``storage_options``: how to reach the bucket, where the environment does not say it."""
    return Store(path, storage_options)


def query(
    source: Union[str, "os.PathLike[str]"],
    sql: str,
    params: Params = None,
    *,
    use_index: bool = True,
    timeout: Optional[float] = None,
    batch_size: Optional[int] = None,
    memory_limit: Optional[int] = None,
    verify: Union[bool, str] = True,
    storage_options: Optional[Dict[str, str]] = None,
) -> QueryResult:
    """One statement over ``source``: a Lance file, a Lance table (its newest version; others: ``pilum.dataset(…).query``), or a
    dataset of a part store. See :meth:`Store.query`. What is at an
    ``s3://`` URI is told by its name: one that ends in ``.lance`` is a file."""
    path = os.fspath(source)
    if "://" not in path and os.path.isdir(os.path.join(path, "_versions")):
        table = _pilum.Table.open(path, storage_options=_storage(path, storage_options))
        how = _verify(verify)
        return QueryResult(
            table.snapshot().query(sql, _params(params), use_index, timeout, batch_size, memory_limit, how)
        )
    if os.path.isdir(path) if "://" not in path else not path.endswith(".lance"):
        return Store(path, storage_options).query(
            sql,
            params,
            use_index=use_index,
            timeout=timeout,
            batch_size=batch_size,
            memory_limit=memory_limit,
            verify=verify,
        )
    how = _verify(verify)
    snapshot = _pilum.open_file_snapshot(path, how, _storage(path, storage_options))
    return QueryResult(snapshot.query(sql, _params(params), use_index, timeout, batch_size, memory_limit, how))


__all__ = ["BackfillResult", "CacheRefresh", "CompactResult", "CopyResult", "EraseResult", "PartInfo", "PutResult", "QueryResult", "Store", "SweepResult", "open", "query"]
