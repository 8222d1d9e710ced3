"""Reads that are described first and happen later, with pylance's arguments: of tables, and of whatever else has rows."""

import os
import re
from dataclasses import dataclass
from typing import Any, Dict, Iterable, Iterator, List, Optional, Sequence, Tuple, Union

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset

from . import _pilum
from .errors import QueryError, UnsupportedError, UsageError
from .expressions import quoted, translated, where
from .store import QueryResult

Columns = Union[None, Sequence[str], Dict[str, Union[str, pc.Expression]]]
Filter = Union[None, str, pc.Expression]

# Settings of pylance's that change how, never what.
_TUNING = {
    "batch_readahead", "fragment_readahead", "scan_in_order", "prefilter", "use_stats", "io_buffer_size",
    "late_materialization", "disable_scoring_autoprojection", "fast_search", "use_threads", "memory_pool",
    "cache_metadata", "fragment_scan_options",
}  # fmt: skip
_BECAUSE = {
    "nearest": "vector search is not there yet",
    "full_text_query": "full-text search is not there yet; contains_words(column, 'some words') is a filter",
}
_SYSTEM = ("_rowid", "_rowaddr")


def refuse(given: Dict[str, Any], known: Iterable[str] = _TUNING) -> None:
    for name, value in given.items():
        if name not in known and value is not None and value is not False:
            why = _BECAUSE.get(name, "leave it out")
            raise UnsupportedError(f"{name} is not supported by Pilum yet: {why}")


@dataclass(frozen=True)
class ColumnOrdering:
    """One column to order by; NULLs come last unless said."""

    column_name: str
    ascending: bool = True
    nulls_first: bool = False


def _order(orderings) -> List[Tuple[str, str]]:
    keys = []
    for o in [orderings] if isinstance(orderings, str) else orderings:
        o = ColumnOrdering(o) if isinstance(o, str) else o
        if not hasattr(o, "column_name"):
            raise TypeError(f"order_by is a list of names or ColumnOrdering, not of {type(o).__name__}")
        direction = "ASC" if o.ascending else "DESC"
        keys.append((o.column_name, f"{direction} NULLS {'FIRST' if o.nulls_first else 'LAST'}"))
    return keys


def _named(columns: Columns) -> Union[None, List[str], Dict[str, str]]:
    """Checked: each name once."""
    if columns is None or isinstance(columns, dict):
        return columns
    if isinstance(columns, (str, bytes)) or not isinstance(columns, Iterable):
        raise TypeError(f"columns must be a list of names or a dict of names and expressions, not {type(columns).__name__}")
    names = list(columns)
    for i, name in enumerate(names):
        if not isinstance(name, str):
            raise TypeError(f"columns must be names: {name!r} is none")
        if name in names[:i]:
            raise UsageError(f"Duplicate column name: {name}")
    return names


def rebatched(batches: Iterable[pa.RecordBatch], rows: int) -> Iterator[pa.RecordBatch]:
    """Batches of exactly so many rows, the last one of what is left."""
    held, have = [], 0
    for batch in batches:
        while have + batch.num_rows >= rows:
            held.append(batch.slice(0, rows - have))
            batch = batch.slice(rows - have)
            yield pa.concat_batches(held) if len(held) > 1 else held[0]
            held, have = [], 0
        if batch.num_rows:
            held.append(batch)
            have += batch.num_rows
    if held:
        yield pa.concat_batches(held) if len(held) > 1 else held[0]


# What code that catches pylance's errors looks for in them.
_PHRASES = [
    (re.compile(r"there is no column '([^']*)'"), "No field named {}: "),
    (re.compile("not a condition"), "it does not return a boolean: "),
]


def _as_pylance(message: str) -> str:
    for pattern, phrase in _PHRASES:
        if found := pattern.search(message):
            return "Invalid user input: " + phrase.format(*found.groups()) + message
    return "Invalid user input: " + message


class LanceScanner(pyarrow.dataset.Scanner):
    """A read that was described and has not happened: rows in order of fragments, then of rows in the fragment.

    Each of ``to_table``, ``to_batches``, ``to_reader`` and ``count_rows`` begins it anew.
    """

    def __init__(
        self,
        dataset: "Rows",
        *,
        columns: Columns = None,
        filter: Filter = None,  # noqa: A002
        limit: Optional[int] = None,
        offset: Optional[int] = None,
        batch_size: Optional[int] = None,
        batch_size_bytes: Optional[int] = None,
        with_row_id: Optional[bool] = None,
        with_row_address: Optional[bool] = None,
        use_scalar_index: Optional[bool] = None,
        blob_handling: Optional[str] = None,
        fragments: Optional[Iterable[Any]] = None,
        order_by: Optional[Sequence[Union[str, ColumnOrdering]]] = None,
        include_deleted_rows: Optional[bool] = None,
        strict_batch_size: Optional[bool] = None,
        **others,
    ):
        refuse(others)
        for name, rows in (("Limit", limit), ("Offset", offset)):
            if rows is not None and rows < 0:
                raise UsageError(f"{name} must be non-negative: {rows}")
        if batch_size is not None and batch_size < 1:
            raise UsageError("batch_size must be at least 1")
        if blob_handling not in (None, "all_binary", "blobs_descriptions", "all_descriptions"):
            raise UsageError(
                f"blob_handling is 'blobs_descriptions', 'all_descriptions' or 'all_binary', not {blob_handling!r}"
            )
        if include_deleted_rows and not with_row_id:
            raise UsageError("include_deleted_rows is set but with_row_id is false: the rows could not be told apart")
        self._dataset = dataset
        self._filter, self._params = where(filter)
        self._limit, self._offset = limit, offset or 0
        self._batch_size = batch_size or int(os.environ.get("LANCE_DEFAULT_BATCH_SIZE", 0)) or None
        self._batch_bytes = batch_size_bytes
        self._strict = bool(strict_batch_size)
        self._use_index = use_scalar_index is not False
        self._deleted = bool(include_deleted_rows)
        self._blob_bytes = blob_handling == "all_binary"
        self._fragments = None if fragments is None else [_fragment_id(f) for f in fragments]
        self._order = _order(order_by) if order_by else []
        columns = _named(columns)
        self._exprs = {n: self._said(e) for n, e in columns.items()} if isinstance(columns, dict) else None
        self._columns = list(dataset._schema.names if columns is None else columns)
        for wanted, name in zip((with_row_id, with_row_address), _SYSTEM):
            if wanted:  # at the end, as pylance has them, though they were named before
                self._columns = [*(n for n in self._columns if n != name), name]

    def _said(self, expression) -> str:
        if isinstance(expression, str):
            return expression
        if not isinstance(expression, pc.Expression):
            raise TypeError(f"an expression is SQL text or a pyarrow expression, not a {type(expression).__name__}")
        text, params = translated(expression, len(self._params or {}))
        self._params = {**(self._params or {}), **params}
        return text

    def _rows(self):
        return self._dataset._snapshot(self._fragments, self._blob_bytes, self._deleted)

    def _start(self, columns: Optional[List[str]] = None) -> QueryResult:
        rows = self._rows()
        columns = self._columns if columns is None else columns
        how = dict(batch_size=self._batch_size, use_index=self._use_index, verify=self._dataset._how)
        try:
            if not columns or (self._exprs is None and not self._order):
                return QueryResult(
                    rows.scan(
                        columns, self._filter, self._limit, self._offset, params=self._params,
                        batch_bytes=self._batch_bytes, **how,
                    )
                )
            return QueryResult(rows.query(self._sql(rows.schema, columns), self._params, **how))
        except QueryError as e:
            raise QueryError(_as_pylance(str(e))) from None

    def _sql(self, schema: pa.Schema, columns: List[str]) -> str:
        path = lambda name: ".".join(map(quoted, _pilum.resolve_column(schema, name)))  # noqa: E731
        exprs = self._exprs or {}
        items = [f"{exprs[n] if n in exprs else path(n)} AS {quoted(n)}" for n in columns]
        sql = f"SELECT {', '.join(items) or '1 AS one'} FROM t"
        sql += f" WHERE ({self._filter})" if self._filter else ""
        if self._order:
            sql += " ORDER BY " + ", ".join(f"{path(name)} {how}" for name, how in self._order)
        sql += f" LIMIT {self._limit}" if self._limit is not None else ""
        return sql + (f" OFFSET {self._offset}" if self._offset else "")

    @property
    def projected_schema(self) -> pa.Schema:
        return self._start().schema

    @property
    def dataset_schema(self) -> pa.Schema:
        return self._dataset.schema

    def to_table(self) -> pa.Table:
        return self._start().to_table()

    def to_batches(self) -> Iterator[pa.RecordBatch]:
        batches = iter(self._start())
        return rebatched(batches, self._batch_size or 8192) if self._strict else batches

    def to_reader(self) -> pa.RecordBatchReader:
        result = self._start()
        if self._strict:
            return pa.RecordBatchReader.from_batches(result.schema, rebatched(iter(result), self._batch_size or 8192))
        return result.to_batches()

    def to_pandas(self, **how):
        return self.to_table().to_pandas(**how)

    def scan_batches(self):
        raise UnsupportedError("batches do not say which fragment they are of: scan one fragment at a time (get_fragments)")

    def head(self, num_rows: int) -> pa.Table:
        """The first rows; no more are read."""
        result, batches = self._start(), []
        for batch in result:
            batches.append(batch.slice(0, num_rows))
            num_rows -= batches[-1].num_rows
            if num_rows <= 0:
                break
        return pa.Table.from_batches(batches, result.schema)

    def take(self, indices) -> pa.Table:
        """Rows of the answer by number. All of it is read."""
        return self.to_table().take(indices)

    def count_rows(self) -> int:
        return sum(batch.num_rows for batch in self._start([]))

    def explain_plan(self, verbose: bool = False) -> str:
        """What would be done: the columns that are read, in pylance's words, then Pilum's plan."""
        return f"{self._summary()}\n{self._start().explain()}"

    def analyze_plan(self, count_rows: bool = False) -> str:
        """Runs it: what was read, in pylance's words, then Pilum's plan with the counts of every stage."""
        result = self._start([] if count_rows else None)
        for _ in result:
            pass
        counts, stats = result.counts, result.stats
        metrics = {
            "output_rows": counts["rows_returned"], "rows_scanned": counts["rows_candidate"], "bytes_read": stats["bytes"],
            "iops": stats["requests"], "requests": stats["requests"],
        }  # fmt: skip
        told = ", ".join(f"{name}={value}" for name, value in metrics.items())
        return f"{self._summary()}, metrics=[{told}]\n{result.explain()}"

    def _summary(self) -> str:
        read = self._rows().columns_of(self._sql(self._dataset._schema, self._columns), self._params)
        read = [name for name in read if name in self._dataset._schema.names]  # not what is made up as it is read
        return f"LanceRead: {self._dataset!r}, projection=[{', '.join(read)}], filter={self._filter or '--'}"

    def __arrow_c_stream__(self, requested_schema=None):
        return self._start().__arrow_c_stream__(requested_schema)


def _fragment_id(fragment) -> int:
    if not hasattr(fragment, "fragment_id"):
        raise TypeError(f"fragments are LanceFragments, not {type(fragment).__name__}")
    return fragment.fragment_id
