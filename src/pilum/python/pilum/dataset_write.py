"""What changes a table: the writing methods of :class:`pilum.LanceDataset` and of its tags, by pylance's names. Each commits one
version, and the dataset it was called on becomes that version."""

from datetime import timedelta
from typing import Any, Dict, Iterable, List, Optional, Union

import pyarrow as pa

from . import _pilum
from .errors import UnsupportedError, UsageError
from .store import _params

Values = Dict[str, Optional[str]]


class Writes:
    """Mixed into LanceDataset."""

    def _move(self, version: int) -> None:
        self._use(self._opened((self._table.branch or None, version)))

    def delete(
        self,
        predicate,
        *,
        conflict_retries: int = 10,
        retry_timeout: timedelta = timedelta(seconds=30),
        sync: bool = True,
    ) -> Dict[str, int]:
        """Deletes the rows for which ``predicate``, SQL text or a pyarrow expression, is true; where others changed some of them first, does it again on
        their version. The rows stay in the files, for older versions. Gives ``{"num_deleted_rows": n}``."""
        from .expressions import where  # which takes time to load

        text, params = where(predicate)
        options = {"max_redo": conflict_retries, "sync": sync}
        version, rows = _pilum.table_delete(self._table, text, options, _params(params))
        self._move(version)
        return {"num_deleted_rows": rows}

    def truncate_table(self) -> None:
        """Deletes all rows."""
        self.delete("true")

    def insert(self, data, *, mode: str = "append", **how) -> None:
        """``write_dataset`` into this table."""
        from .write import write_dataset

        self._move(write_dataset(data, self, mode=mode, **how).version)

    def restore(self) -> None:
        """Makes this version the newest again: a new version with its rows, schema and settings."""
        self._move(_pilum.table_restore(self._table))

    def drop_columns(self, columns: List[str]) -> None:
        """``"a.b"`` drops a field of a struct. No file is rewritten; those that hold nothing else leave the fragments."""
        self._move(_pilum.table_drop_columns(self._table, list(columns)))

    def alter_columns(self, *alterations: Dict[str, Any]) -> None:
        """``{"path": "a.b", "name": …, "nullable": True}``: another name, or NULLs allowed. No file is rewritten."""
        wanted = []
        for alteration in alterations:
            unknown = set(alteration) - {"path", "name", "nullable", "data_type"}
            if unknown or "path" not in alteration:
                raise UsageError(f"an alteration has a path, and name, nullable or data_type: {alteration!r}")
            if alteration.get("data_type") is not None:
                raise UnsupportedError("another data_type of a column is not supported by Pilum yet")
            wanted.append((alteration["path"], alteration.get("name"), alteration.get("nullable")))
        self._move(_pilum.table_alter_columns(self._table, wanted))

    def add_columns(self, transforms: Union[pa.Field, Iterable[pa.Field], pa.Schema], **how) -> None:
        """Columns of NULLs, by a field, fields or a schema. No file is written."""
        if isinstance(transforms, pa.Field):
            transforms = [transforms]
        if not isinstance(transforms, pa.Schema):
            fields = list(transforms) if isinstance(transforms, (list, tuple)) else []
            if not fields or not all(isinstance(f, pa.Field) for f in fields):
                raise UnsupportedError("columns are added as fields or a schema, for NULLs; values are not supported by Pilum yet")
            transforms = pa.schema(fields)
        self._move(_pilum.table_add_null_columns(self._table, transforms))

    def _settings(self, what: str, values: Values, replace: bool) -> None:
        self._move(_pilum.table_settings(self._table, what, {}, dict(values), replace))

    def update_config(self, values: Values, *, replace: bool = False) -> Dict[str, str]:
        """Sets keys of the table's config; None removes one. ``replace``: all others go."""
        self._settings("config", values, replace)
        return self.config()

    def delete_config_keys(self, keys: List[str]) -> None:
        self._settings("config", {key: None for key in keys}, False)

    def update_metadata(self, values: Values, *, replace: bool = False) -> Dict[str, str]:
        """The same of the table's metadata."""
        self._settings("metadata", values, replace)
        return self.metadata

    def update_schema_metadata(self, values: Values, *, replace: bool = False) -> Dict[str, str]:
        """The same of its schema's."""
        self._settings("schema", values, replace)
        return self.schema_metadata

    def replace_schema_metadata(self, new_metadata: Dict[str, str]) -> None:
        self.update_schema_metadata(new_metadata, replace=True)

    def update_field_metadata(self, field_updates: Dict[str, Values], *, replace: bool = False) -> None:
        """The same of columns, by name or path."""
        fields = {path: dict(values) for path, values in field_updates.items()}
        self._move(_pilum.table_settings(self._table, "fields", fields, {}, replace))

    def replace_field_metadata(self, field_name: str, new_metadata: Dict[str, str]) -> None:
        self.update_field_metadata({field_name: new_metadata}, replace=True)


class TagWrites:
    """Mixed into Tags, which holds the dataset as ``_dataset``."""

    def create(self, tag: str, reference=None) -> None:
        """Names a version: a number, another tag, ``(branch, number or None)``; this one when left out."""
        _pilum.table_tag(self._dataset._at(reference), "create", tag)

    def update(self, tag: str, reference=None) -> None:
        """The tag names another version now."""
        _pilum.table_tag(self._dataset._at(reference), "update", tag)

    def delete(self, tag: str) -> None:
        _pilum.table_tag(self._dataset._table, "delete", tag)

    def replace_metadata(self, tag: str, metadata: Dict[str, str]) -> None:
        _pilum.table_tag(self._dataset._table, "metadata", tag, dict(metadata))
