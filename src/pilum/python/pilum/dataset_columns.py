"""Columns of a table: the methods of :class:`pilum.LanceDataset` that add, alter and drop them, by pylance's names. Each commits
one version, and the dataset it was called on becomes that version."""

from typing import Any, Dict, List, Optional

import pyarrow as pa

from . import _pilum
from .errors import UsageError
from .udf import BatchUDF, Computed
from .write import as_reader

_KINDS = "transforms must be a BatchUDF, dict, map function, or ReaderLike value"


def as_transform(given, columns: Optional[List[str]], reader_schema: Optional[pa.Schema], source, batch_size: Optional[int]):
    """A list of (name, SQL), a schema for NULLs, a :class:`Computed`, or (schema, batches)."""
    if isinstance(given, pa.Field):
        given = [given]
    if isinstance(given, list) and given and all(isinstance(f, pa.Field) for f in given):
        given = pa.schema(given)
    if isinstance(given, pa.Schema):
        return given
    if isinstance(given, dict):
        for name, sql in given.items():
            if not isinstance(name, str):
                raise TypeError(f"Column names must be a string. Got {type(name)}")
            if not isinstance(sql, str):
                raise TypeError(f"Column expressions must be a string. Got {type(sql)}")
        return list(given.items())
    if isinstance(given, BatchUDF):
        computed = Computed(given, columns, batch_size)
        computed.learn_schema(source)
        return computed
    if callable(given):
        computed = Computed(BatchUDF(given), columns, batch_size)
        try:
            computed.learn_schema(source)
        except Exception as failed:
            raise TypeError(
                f"{_KINDS}.  Received {type(given)}, which is callable, but gave an error when called with a batch of data: "
                f"{failed}"
            ) from failed
        return computed
    try:
        return as_reader(given, reader_schema)
    except TypeError as failed:
        raise TypeError(f"{_KINDS}.  Received {type(given)}.  Could not coerce to a reader: {failed}") from failed


class ColumnWrites:
    """Mixed into LanceDataset."""

    def add_columns(
        self,
        transforms,
        read_columns: Optional[List[str]] = None,
        reader_schema: Optional[pa.Schema] = None,
        batch_size: Optional[int] = None,
    ) -> None:
        """Columns with values for the rows that are there. Their data files are put beside the old ones, which stay.

        Parameters
        ----------
        transforms:
            A dict of names and SQL expressions over the columns; a :func:`pilum.batch_udf` or plain function that takes a
            RecordBatch and gives one of as many rows; a reader, table or iterable of batches with as many rows as the table
            has, in its order; or a field, fields or a schema, for NULLs (no file is written then). A struct column of a name
            that is there adds its fields to it (data files of 2.2 and newer).
        read_columns:
            What a function is given, all columns when left out; ``_rowid`` and ``_rowaddr`` too.
        reader_schema:
            Of an iterable of batches.
        batch_size:
            Rows that are read and computed at a time.

        Where others changed rows meanwhile, expressions and functions are asked for what is new; a reader cannot be read again
        and gives ``RetryableConflictError``.
        """
        what = as_transform(transforms, read_columns, reader_schema, self, batch_size)
        if isinstance(what, pa.Schema):
            version = _pilum.table_add_null_columns(self._table, what)
        elif isinstance(what, list):
            version = _pilum.table_add_sql_columns(self._table, what, batch_size)
        elif isinstance(what, Computed):
            version = self._add_computed(what)
        else:
            version = _pilum.table_add_read_columns(self._table, *what)
        self._move(version)

    def _add_computed(self, computed: Computed) -> int:
        def begin(version: int, fragments: List[int]):
            at = self if version == self.version else self._copy((self._table.branch or None, version))
            return computed.batches(at, fragments)

        version = _pilum.table_add_computed_columns(self._table, computed.udf.output_schema, begin)
        if computed.udf.cache:
            computed.udf.cache.cleanup()
        return version

    def merge(self, data_obj, left_on: str, right_on: Optional[str] = None, schema: Optional[pa.Schema] = None) -> None:
        """Adds the columns that ``data_obj`` has beside its key ``right_on``: each row gets those of the row with its key (the last of
        several), or NULLs. ``data_obj`` is held in memory. ``left_on``: a column, ``_rowid`` or ``_rowaddr``."""
        reader = as_reader(data_obj, schema)
        self._move(_pilum.table_join_columns(self._table, *reader, left_on, left_on if right_on is None else right_on))

    def drop_columns(self, columns: List[str]) -> None:
        """``"a.b"`` drops a field of a struct. No file is rewritten; those that hold nothing else leave the fragments."""
        self._move(_pilum.table_drop_columns(self._table, list(columns)))

    def alter_columns(self, *alterations: Dict[str, Any]) -> None:
        """``{"path": "a.b", "name": …, "nullable": …, "data_type": …}``: another name; NULLs allowed, or forbidden where there are
        none; another type of the same kind (whole numbers, floats, times, texts, bytes, decimals, lists of them). Only a column
        that gets another type is rewritten; one with an index is refused, and a value that the type does not hold."""
        wanted = []
        for alteration in alterations:
            unknown = set(alteration) - {"path", "name", "nullable", "data_type"}
            if unknown or "path" not in alteration:
                raise UsageError(f"an alteration has a path, and name, nullable or data_type: {alteration!r}")
            if all(alteration.get(what) is None for what in ("name", "nullable", "data_type")):
                raise UsageError("At least one of name, nullable, or data_type must be specified")
            data_type = alteration.get("data_type")
            schema = None if data_type is None else pa.schema([pa.field("", data_type)])
            wanted.append((alteration["path"], alteration.get("name"), alteration.get("nullable"), schema))
        self._move(_pilum.table_alter_columns(self._table, wanted))
