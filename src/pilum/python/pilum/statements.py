"""Statements over a table, and what changed between two versions of it, by pylance's names."""

from typing import Any, List, Optional

import pyarrow as pa

from .errors import UnsupportedError, UsageError
from .store import QueryResult


class SqlQuery:
    """A statement ready to run; each call runs it."""

    def __init__(self, dataset, sql: str, batch_size: Optional[int]):
        self._dataset, self._sql, self._batch_size = dataset, sql, batch_size

    def _run(self) -> QueryResult:
        dataset = self._dataset
        if dataset._only:
            raise UnsupportedError("a statement says itself which rows it wants: ask it of the dataset before filter()")
        return QueryResult(dataset._snapshot().query(self._sql, batch_size=self._batch_size, verify=dataset._how))

    def to_batch_records(self) -> List[pa.RecordBatch]:
        return list(self._run())

    def to_stream_reader(self) -> pa.RecordBatchReader:
        return self._run().to_batches()


class SqlQueryBuilder:
    """A statement and how to run it. The name after FROM may be any: there is one table."""

    def __init__(self, dataset, sql: str):
        self._dataset, self._sql, self._batch_size = dataset, sql, None

    def table_name(self, table_name: str) -> "SqlQueryBuilder":
        return self

    def batch_size(self, batch_size: int) -> "SqlQueryBuilder":
        self._batch_size = batch_size
        return self

    def with_row_id(self, with_row_id: bool = True) -> "SqlQueryBuilder":
        return self._named(with_row_id, "_rowid")

    def with_row_addr(self, with_row_addr: bool = True) -> "SqlQueryBuilder":
        return self._named(with_row_addr, "_rowaddr")

    def _named(self, wanted: bool, name: str) -> "SqlQueryBuilder":
        if wanted and name not in self._sql:
            raise UnsupportedError(f"`*` leaves {name} out: name it in the statement, as in SELECT {name}, *")
        return self

    def build(self) -> SqlQuery:
        return SqlQuery(self._dataset, self._sql, self._batch_size)


class DatasetDelta:
    """What changed after ``begin`` until ``end``: rows by the versions that they say they were made and last changed in."""

    def __init__(self, dataset, begin: int, end: int):
        if begin >= end:
            raise UsageError(f"version {begin} is not before version {end}")
        self._dataset, self._begin, self._end = dataset, begin, end

    def list_transactions(self) -> List[Any]:
        return [self._dataset.read_transaction(v) for v in range(self._begin + 1, self._end + 1)]

    def _rows(self, where: str) -> pa.RecordBatchReader:
        dataset = self._dataset if self._dataset.version == self._end else self._dataset.checkout_version(self._end)
        system = ["_rowid", "_row_created_at_version", "_row_last_updated_at_version"]
        return dataset.scanner([*dataset._schema.names, *system], where).to_reader()

    def get_inserted_rows(self) -> pa.RecordBatchReader:
        return self._rows(f"_row_created_at_version > {self._begin} AND _row_created_at_version <= {self._end}")

    def get_updated_rows(self) -> pa.RecordBatchReader:
        changed = f"_row_last_updated_at_version > {self._begin} AND _row_last_updated_at_version <= {self._end}"
        return self._rows(f"_row_created_at_version <= {self._begin} AND {changed}")

    def get_deleted_row_ids(self) -> pa.RecordBatchReader:
        """The ``_rowid`` of rows that are gone; needs stable row ids."""
        if not self._dataset.has_stable_row_ids:
            raise UnsupportedError("without stable row ids nothing tells a row that was moved from one that was deleted")
        ids = lambda v: self._dataset.checkout_version(v).to_table(["_rowid"])["_rowid"]  # noqa: E731
        gone = sorted(set(ids(self._begin).to_pylist()) - set(ids(self._end).to_pylist()))
        table = pa.table({"_rowid": pa.array(gone, pa.uint64())})
        return table.to_reader()


__all__ = ["DatasetDelta", "SqlQuery", "SqlQueryBuilder"]
