"""What changes a table: the writing methods of :class:`pilum.LanceDataset` and of its tags, by pylance's names. Each commits one
version, and the dataset it was called on becomes that version."""

from datetime import timedelta
from typing import Dict, List, Optional

from . import _pilum
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

    def add_bases(self, new_bases, transaction_properties: Optional[Dict[str, str]] = None):
        """Registers folders elsewhere, :class:`pilum.DatasetBasePath`, for ``target_bases`` of later writes; gives the dataset.
        ``UsageError`` where a name or a path is one already."""
        from .write import _base, properties

        if new_bases:
            options = {"properties": properties(None, transaction_properties)}
            self._move(_pilum.table_add_bases(self._table, [_base(base) for base in new_bases], options))
        return self

    def restore(self) -> None:
        """Makes this version the newest again: a new version with its rows, schema and settings."""
        self._move(_pilum.table_restore(self._table))

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


def _on(reference, branch: Optional[str]):
    if branch is None:
        return reference
    if reference is not None and (isinstance(reference, bool) or not isinstance(reference, int)):
        raise TypeError(f"with a branch, the version is a number or None, not {reference!r}")
    return branch, reference


class TagWrites:
    """Mixed into Tags, which holds the dataset as ``_dataset``."""

    def create(self, tag: str, reference=None, branch: Optional[str] = None) -> None:
        """Names a version: a number, another tag, ``(branch, number or None)``; this one when left out. ``create(tag, 3, "branch")``
        is the older form of ``create(tag, ("branch", 3))``."""
        _pilum.table_tag(self._dataset._at(_on(reference, branch)), "create", tag)

    def update(self, tag: str, reference=None, branch: Optional[str] = None) -> None:
        """The tag names another version now."""
        _pilum.table_tag(self._dataset._at(_on(reference, branch)), "update", tag)

    def delete(self, tag: str) -> None:
        _pilum.table_tag(self._dataset._table, "delete", tag)

    def replace_metadata(self, tag: str, metadata: Dict[str, str]) -> None:
        _pilum.table_tag(self._dataset._table, "metadata", tag, dict(metadata))
