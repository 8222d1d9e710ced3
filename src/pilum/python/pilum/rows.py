"""What tables, their fragments and part stores can all do, as a ``pyarrow.dataset.Dataset``: DuckDB and polars read it and push
columns and filters down."""

import random
from typing import Any, Dict, Iterator, List, Optional, Sequence, Tuple, Union

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset

from . import _pilum
from .errors import UnsupportedError, UsageError
from .expressions import quoted
from .scanner import _SYSTEM, ColumnOrdering, Columns, Filter, LanceScanner
from .store import Params, QueryResult, _params


class Reads:
    """The forms that rows are asked for in. ``scanner`` is theirs who are read."""

    def to_table(self, columns: Columns = None, filter: Filter = None, *args, **how) -> pa.Table:  # noqa: A002
        """Rows as a table. ``columns``: names, ``"a.b"`` for a field of a struct, or new names with expressions;
        ``filter``, ``limit``, ``offset``, ``batch_size``, ``with_row_id``, ``with_row_address``, ``order_by``, ``blob_handling``
        (``"all_binary"`` for the bytes of blobs in place of descriptions) as in pylance."""
        return self.scanner(columns, filter, *args, **how).to_table()

    def to_batches(self, columns: Columns = None, filter: Filter = None, *args, **how) -> Iterator[pa.RecordBatch]:  # noqa: A002
        """The same, a batch at a time, read as the loop goes."""
        return self.scanner(columns, filter, *args, **how).to_batches()

    def to_pandas(self, columns: Columns = None, filter: Filter = None, *args, **how):  # noqa: A002
        return self.to_table(columns, filter, *args, **how).to_pandas()

    def head(self, num_rows: int, columns: Columns = None, **how) -> pa.Table:
        return self.to_table(columns, limit=num_rows, **how)

    def __arrow_c_stream__(self, requested_schema=None):
        return self.scanner().__arrow_c_stream__(requested_schema)


class Rows(Reads, pyarrow.dataset.Dataset):
    """Rows that do not change while they are read.

    Its makers give it ``_snapshot(fragments, blob_bytes, with_deleted)``, ``_schema`` and ``_how``.
    """

    _how = _pilum.Verify.READS
    _default_scan_options: Optional[Dict[str, Any]] = None
    _only: Tuple[pc.Expression, ...] = ()  # of filter()

    @property
    def schema(self) -> pa.Schema:
        return self.scanner().projected_schema if self._default_scan_options else self._schema

    def scanner(
        self,
        columns: Columns = None,
        filter: Filter = None,  # noqa: A002
        limit: Optional[int] = None,
        offset: Optional[int] = None,
        nearest=None,
        batch_size: Optional[int] = None,
        **how,
    ) -> LanceScanner:
        """A read, described; see :class:`LanceScanner` for ``how``."""
        given = dict(columns=columns, filter=filter, limit=limit, offset=offset, nearest=nearest, batch_size=batch_size, **how)
        given = {**(self._default_scan_options or {}), **{k: v for k, v in given.items() if v is not None}}
        for expression in self._only:
            given["filter"] = [given["filter"], expression] if "filter" in given else expression
        return LanceScanner(self, **given)

    def count_rows(self, filter: Filter = None, **how) -> int:  # noqa: A002
        return self.scanner(filter=filter, **how).count_rows()

    def take(self, indices, columns: Columns = None) -> pa.Table:
        """Rows by number, in the order given, repeats kept. ``UsageError`` for one past the end."""
        return self._take(indices, columns, None)

    def _take(self, indices, columns: Columns, fragments: Optional[List[int]]) -> pa.Table:
        if self._only:  # numbers of the rows that the filter leaves
            return self.to_table(columns).take(pa.array(indices, pa.int64()))
        return self._take_from(self._snapshot(fragments), indices, columns)

    def _take_from(self, rows, indices, columns: Columns) -> pa.Table:
        if isinstance(indices, (pa.Array, pa.ChunkedArray)):
            indices = indices.to_pylist()
        if isinstance(columns, dict):
            if not all(isinstance(e, str) for e in columns.values()):
                raise TypeError("rows by number take expressions as SQL text")
            items = [f"{e} AS {quoted(name)}" for name, e in columns.items()]
            return rows.take_query(f"SELECT {', '.join(items)} FROM t", indices, self._how)
        names = list(self._schema.names if columns is None else columns)
        # Columns of the table once, as pylance has it; the system's as often as they are named.
        names = [n for i, n in enumerate(names) if n not in names[:i] or n in _SYSTEM]
        return rows.take(names, indices, verify=self._how)

    def sample(self, num_rows: int, columns: Columns = None, randomize_order: bool = True, **how) -> pa.Table:
        """So many rows chosen at random, without repeats; in their own order where ``randomize_order`` is False."""
        indices = random.sample(range(self.count_rows()), num_rows)
        return self.take(indices if randomize_order else sorted(indices), columns, **how)

    def slice(self, start: int, end: int, columns: Columns = None) -> pa.Table:
        """Rows [start, end) by number."""
        if not 0 <= start <= end:
            raise UsageError(f"rows [{start}, {end}): start must be non-negative and not past the end")
        return self.scanner(columns, offset=start, limit=end - start).to_table()

    def query(self, sql: str, params: Params = None, *, timeout: Optional[float] = None) -> QueryResult:
        """A whole statement over these rows: see :meth:`pilum.store.Store.query`. Of a table, ``_rowid``, ``_rowaddr``,
        ``_row_created_at_version`` and ``_row_last_updated_at_version`` are columns that ``*`` leaves out."""
        if self._only:
            raise UnsupportedError("a statement says itself which rows it wants: ask it of the dataset before filter()")
        return QueryResult(
            self._snapshot().query(sql, _params(params), timeout=timeout, verify=self._how)
        )

    # What is left of pyarrow.dataset.Dataset.

    def filter(self, expression: pc.Expression) -> "Rows":
        """The same, seen through a filter that every later read has too."""
        view = self._copy()
        view._only = (*self._only, expression)
        return view

    def sort_by(self, sorting: Union[str, Sequence[Tuple[str, str]]], **how) -> pyarrow.dataset.InMemoryDataset:
        """All rows, in memory, by a column or by ``[(name, "ascending" or "descending"), …]``."""
        keys = [(sorting, "ascending")] if isinstance(sorting, str) else sorting
        order = [ColumnOrdering(name, direction != "descending") for name, direction in keys]
        return pyarrow.dataset.InMemoryDataset(self.to_table(order_by=order))

    def join(self, right_dataset, keys, right_keys=None, join_type="left outer", **how) -> pyarrow.dataset.InMemoryDataset:
        """As ``pyarrow.Table.join`` of the two in memory."""
        joined = self.to_table().join(right_dataset.to_table(), keys, right_keys, join_type, **how)
        return pyarrow.dataset.InMemoryDataset(joined)

    def join_asof(self, right_dataset, on, by, tolerance, right_on=None, right_by=None) -> pyarrow.dataset.InMemoryDataset:
        joined = self.to_table().join_asof(right_dataset.to_table(), on, by, tolerance, right_on, right_by)
        return pyarrow.dataset.InMemoryDataset(joined)

    @property
    def partition_expression(self):
        raise UnsupportedError("there are no partitions, and so no partition_expression")

    def replace_schema(self, schema: pa.Schema):
        raise UnsupportedError("the schema is what was written: name columns and expressions in to_table instead")

    def get_fragments(self, filter: Filter = None) -> List[Any]:  # noqa: A002
        raise UnsupportedError("these rows have no fragments")

    def __len__(self) -> int:
        return self.count_rows()

    def _copy(self) -> "Rows":
        out = type(self).__new__(type(self))
        out.__dict__.update(self.__dict__)
        return out


class SnapshotRows(Rows):
    """The rows of one state of a part store, or of a Lance file."""

    def __init__(self, snapshot, name: str, verify=_pilum.Verify.READS):
        self._native, self._name, self._how = snapshot, name, verify
        self._schema = snapshot.schema

    def _snapshot(
        self, fragments: Optional[Sequence[int]] = None, blob_bytes: bool = False, with_deleted: bool = False
    ):
        if fragments is not None or with_deleted:
            raise UnsupportedError(f"{self._name}: only tables have fragments and deleted rows")
        return self._native

    def count_rows(self, filter: Filter = None, **how) -> int:  # noqa: A002
        if filter is None and not how and not self._only:
            return self._native.num_rows
        return super().count_rows(filter, **how)

    def __repr__(self) -> str:
        return f"pilum rows of {self._name!r}"
