"""Functions that compute new columns of a table, a batch at a time, by pylance's names.

    >>> @pilum.batch_udf(output_schema=pa.schema({"double": pa.int64()}))
    ... def double(batch):
    ...     return pa.record_batch([pc.multiply(batch["a"], 2)], ["double"])
    >>> ds.add_columns(double, read_columns=["a"])
"""

import os
import sqlite3
from contextlib import closing
from typing import Any, Callable, Iterator, List, NamedTuple, Optional, Union

import pyarrow as pa

from .errors import UsageError


class BatchUDF:
    """A function of a batch that gives a batch (or a pandas DataFrame) of as many rows, with the columns to add."""

    def __init__(
        self,
        func: Callable[[pa.RecordBatch], Any],
        output_schema: Optional[pa.Schema] = None,
        checkpoint_file: Optional[Union[str, "os.PathLike[str]"]] = None,
    ) -> None:
        self.func = func
        self.output_schema = output_schema
        self.cache = None if checkpoint_file is None else BatchUDFCheckpoint(checkpoint_file)

    def __call__(self, batch: pa.RecordBatch) -> Any:
        return self.func(batch)

    def _call(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        if self.output_schema is None:
            raise ValueError("output_schema must be provided when using a function that returns a RecordBatch")
        result = _as_batch(self.func(batch))
        if result.schema != self.output_schema:
            raise ValueError(
                "Output schema of function does not match the expected schema. "
                f"Expected:\n{self.output_schema}\nGot:\n{result.schema}"
            )
        if result.num_rows != batch.num_rows:
            raise UsageError(f"the function gave {result.num_rows} rows for a batch of {batch.num_rows}")
        return result


def batch_udf(
    output_schema: Optional[pa.Schema] = None,
    checkpoint_file: Optional[Union[str, "os.PathLike[str]"]] = None,
) -> Callable[[Callable[[pa.RecordBatch], Any]], BatchUDF]:
    """Makes a :class:`BatchUDF` of a function.

    ``output_schema``: of what it gives; learnt from a first call with one row where it is left out. ``checkpoint_file``:
    what is computed goes there too, all of it until the columns are committed: the same call after a failure, with the same
    ``batch_size``, does not compute it again. Removed once the columns are there."""

    def wrap(func: Callable[[pa.RecordBatch], Any]) -> BatchUDF:
        return BatchUDF(func, output_schema, checkpoint_file)

    return wrap


class BatchUDFCheckpoint:
    """Computed batches in an SQLite file, by fragment and number."""

    class BatchInfo(NamedTuple):
        fragment_id: int
        batch_index: int

    def __init__(self, path):
        self.path = path
        self._do("CREATE TABLE IF NOT EXISTS batches (fragment_id INT, batch_index INT, result BLOB)")

    def _do(self, sql: str, *values):
        with closing(sqlite3.connect(self.path)) as connection:  # anew each time: calls come from several threads
            row = connection.execute(sql, values).fetchone()
            connection.commit()
            return row

    def cleanup(self) -> None:
        os.remove(self.path)

    def get_batch(self, info: BatchInfo) -> Optional[pa.RecordBatch]:
        row = self._do("SELECT result FROM batches WHERE fragment_id = ? AND batch_index = ?", *info)
        return pa.ipc.open_stream(row[0]).read_next_batch() if row else None

    def insert_batch(self, info: BatchInfo, batch: pa.RecordBatch) -> None:
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, batch.schema) as writer:
            writer.write_batch(batch)
        self._do("INSERT INTO batches VALUES (?, ?, ?)", *info, sink.getvalue().to_pybytes())


def _as_batch(result) -> pa.RecordBatch:
    if type(result).__module__.startswith("pandas"):
        result = pa.RecordBatch.from_pandas(result)
        return result.replace_schema_metadata(None)  # pandas' own facts are not the table's
    if not isinstance(result, pa.RecordBatch):
        raise TypeError(f"the function must give a pyarrow.RecordBatch or a pandas DataFrame, not {type(result)}")
    return result


class Computed:
    """A function over the rows of a dataset: what ``table_add_computed_columns`` calls."""

    def __init__(self, udf: BatchUDF, columns: Optional[List[str]], batch_size: Optional[int]):
        self.udf, self._batch_size = udf, batch_size
        names = None if columns is None else [c for c in columns if c not in ("_rowid", "_rowaddr")]
        self._how = {
            "columns": names,
            "with_row_id": columns is not None and "_rowid" in columns,
            "with_row_address": columns is not None and "_rowaddr" in columns,
        }
        if names == [] and not self._how["with_row_id"]:
            self._how["with_row_address"] = True  # it has to see how many rows there are

    def learn_schema(self, source) -> pa.Schema:
        """Of what the function gives, asked with one row of ``source`` if it does not say."""
        if self.udf.output_schema is None:
            batch = next(iter(source.to_batches(limit=1, **self._how)), None)
            if batch is None:
                raise UsageError("the table has no rows to learn the function's columns from: give it an output_schema")
            self.udf.output_schema = _as_batch(self.udf(batch)).schema
        return self.udf.output_schema

    def batches(self, dataset, fragments: List[int]) -> Iterator[pa.RecordBatch]:
        for fragment in fragments:
            rows = dataset.get_fragment(fragment).to_batches(batch_size=self._batch_size, **self._how)
            for number, batch in enumerate(rows):
                yield self._one(BatchUDFCheckpoint.BatchInfo(fragment, number), batch)

    def _one(self, info, batch: pa.RecordBatch) -> pa.RecordBatch:
        cache = self.udf.cache
        known = cache.get_batch(info) if cache else None
        if known is not None and known.num_rows == batch.num_rows and known.schema == self.udf.output_schema:
            return known
        result = self.udf._call(batch)
        if cache:
            cache.insert_batch(info, result)
        return result


__all__ = ["BatchUDF", "BatchUDFCheckpoint", "batch_udf"]
