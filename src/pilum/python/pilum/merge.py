"""Rows merged into a table by their keys: ``merge_insert`` of :class:`pilum.LanceDataset`, by pylance's names.

    >>> ds.merge_insert("id").when_matched_update_all().when_not_matched_insert_all().execute(rows)
    {'num_inserted_rows': 3, 'num_updated_rows': 7, 'num_deleted_rows': 0}
"""

import time
from datetime import timedelta
from typing import Any, Dict, Iterable, List, Optional, Union

import pyarrow as pa

from . import _pilum
from .locks import held
from .store import _params
from .write import data_version, places

_COUNTS = ("num_inserted_rows", "num_updated_rows", "num_deleted_rows")
_KEY, _KEY_PLACE = b"lance-schema:unenforced-primary-key", b"lance-schema:unenforced-primary-key:position"


class MergeInsertBuilder:
    """What is done with rows that match, with those that are new, and with the table's others. Each method gives the
    builder again; ``execute`` does it. Nothing is done before."""

    def __init__(self, dataset, on: List[str]):
        self._dataset = dataset
        self._options: Dict[str, Any] = {"on": on}
        self._params = None

    def _set(self, **options) -> "MergeInsertBuilder":
        self._options.update(options)
        return self

    def when_matched_update_all(self, condition: Optional[str] = None) -> "MergeInsertBuilder":
        """The table's row gets the values of the new one in all columns that the new rows have; with ``condition``, SQL over
        ``source.x`` and ``target.x``, only where it is true."""
        return self._set(matched="update", update_if=condition)

    def when_matched_delete(self) -> "MergeInsertBuilder":
        """The table's row is deleted."""
        return self._set(matched="delete", update_if=None)

    def when_matched_fail(self) -> "MergeInsertBuilder":
        """Where any row matches, nothing is done: an error."""
        return self._set(matched="fail", update_if=None)

    def when_not_matched_insert_all(self) -> "MergeInsertBuilder":
        """Rows that match none of the table's are inserted; columns that they lack are NULL."""
        return self._set(insert=True)

    def when_not_matched_by_source_delete(self, expr: Optional[str] = None) -> "MergeInsertBuilder":
        """The table's rows that match none of the new ones are deleted; with ``expr``, only those for which it is true."""
        from .expressions import where  # which takes time to load

        text, self._params = where(expr)
        return self._set(delete_others=True, delete_if=text)

    def conflict_retries(self, max_retries: int) -> "MergeInsertBuilder":
        """How often it is done again because others were first; 10 when not said."""
        return self._set(max_redo=max_retries)

    def retry_timeout(self, timeout: timedelta) -> "MergeInsertBuilder":
        """It is not begun again after so long; 30 s when not said."""
        return self._set(redo_seconds=timeout.total_seconds())

    def use_index(self, use_index: bool) -> "MergeInsertBuilder":
        """Accepted: the key columns are read, no index is."""
        return self

    def skip_auto_cleanup(self, skip: bool = True) -> "MergeInsertBuilder":
        """The commit does not clean up, whatever the table's config asks for."""
        return self._set(skip_auto_cleanup=skip)

    def data_storage_version(self, version: str) -> "MergeInsertBuilder":
        """Of the new files: "2.0", "2.1" or "2.2"; the table's own when not said."""
        return self._set(data_version=data_version(version))

    def write_mode(self, mode: str) -> "MergeInsertBuilder":
        """"auto" and "rewrite_rows" are the same: updated rows move to new fragments, whole. "rewrite_columns": they stay where they
        are, and the columns that the new rows have are written anew for all rows of their fragments; for updates of few columns
        of wide rows, without inserts and deletions."""
        if mode not in ("auto", "rewrite_rows", "rewrite_columns"):
            raise ValueError(f"write_mode is 'auto', 'rewrite_rows' or 'rewrite_columns', not {mode!r}")
        return self._set(rewrite_columns=mode == "rewrite_columns")

    def target_bases(self, bases: List[str]) -> "MergeInsertBuilder":
        """New data files go to these base paths of the table, by name or path, one to each in turn."""
        return self._set(**places(target_bases=bases))

    def target_all_bases(self, include_primary: bool = True) -> "MergeInsertBuilder":
        """They go to all base paths in turn, and to the table's own folder unless ``include_primary`` is False."""
        return self._set(**places(target_all_bases=include_primary))

    def explain_plan(self, schema: Optional[pa.Schema] = None, verbose: bool = False) -> str:
        """What would be done with rows of ``schema`` (the table's), in pylance's words, then step by step as Pilum does it."""
        return f"{self._summary()}\n" + "".join(f"  {step}\n" for step in self._steps(self._names(schema)))

    def analyze_plan(self, data_obj, *, schema: Optional[pa.Schema] = None) -> str:
        """The same after it was done with these rows, with counts, times and bytes. Files are written, and no version is made:
        what was written is for clean-up to take."""
        from .operations import from_wire
        from .write import as_reader

        before, begun = self._dataset.io_stats_snapshot(), time.perf_counter()
        rows_schema, batches = as_reader(data_obj, schema)
        staged, *counts = self._stage(_pilum.table_stage_merge, rows_schema, batches, True)
        elapsed, after = time.perf_counter() - begun, self._dataset.io_stats_snapshot()
        made = from_wire(staged).operation
        old = {file.path for fragment in self._dataset._metadata() for file in fragment.files}
        fragments = [*getattr(made, "new_fragments", []), *getattr(made, "updated_fragments", []), *getattr(made, "fragments", [])]
        files = [file for fragment in fragments for file in fragment.files if file.path not in old]
        metrics = {
            "bytes_written": sum(file.file_size_bytes or 0 for file in files), "num_files_written": len(files),
            **dict(zip(_COUNTS, counts)), "bytes_read": after.read_bytes - before.read_bytes,
            "requests": after.read_iops - before.read_iops,
        }  # fmt: skip
        told = ", ".join(f"{name}={n}" for name, n in metrics.items())
        steps = "".join(f"  {step}\n" for step in self._steps(rows_schema.names))
        return f"{self._summary()}, elapsed={elapsed * 1000:.3f}ms, metrics=[{told}]\n{steps}"

    def _names(self, schema: Optional[pa.Schema]) -> List[str]:
        return list((schema or self._dataset.schema).names)

    def _summary(self) -> str:
        given = self._options
        matched = {None: "DoNothing", "update": "UpdateAll", "delete": "Delete", "fail": "Fail"}[given.get("matched")]
        if given.get("update_if"):
            matched = f"UpdateIf({given['update_if']})"
        others = "Keep" if not given.get("delete_others") else f"DeleteIf({given['delete_if']})" if given.get("delete_if") else "Delete"
        insert = "InsertAll" if given.get("insert") else "DoNothing"
        keys = ", ".join(given["on"]) or "the declared primary key"
        return f"MergeInsert: on=[{keys}], when_matched={matched}, when_not_matched={insert}, when_not_matched_by_source={others}"

    def _steps(self, names: List[str]) -> List[str]:
        given, table = self._options, self._dataset.schema.names
        steps = ["the new rows are read once; their keys are held, the rows in memory or, where they are many, in data files"]
        read = f"the key columns of {len(self._dataset.fragment_ids())} fragments are read and looked up among the keys of the new rows"
        steps.append(read)
        if given.get("update_if"):
            steps.append("the columns of the condition are read of the rows that match")
        if given.get("matched") == "update":
            lacking = [name for name in table if name not in names]
            if lacking and not given.get("rewrite_columns"):
                steps.append(f"the columns that the new rows lack are read of the rows that match: {', '.join(lacking)}")
            if given.get("rewrite_columns"):
                steps.append("the columns that the new rows have are written anew for all rows of the fragments that have some that match")
            else:
                steps.append("rows that match are deleted where they are, and written to new fragments with their new values")
        if given.get("matched") == "delete":
            steps.append("rows that match are deleted where they are")
        if given.get("insert"):
            steps.append("rows that match none are written to new fragments")
        if given.get("delete_others"):
            steps.append("rows of the table that match none of the new ones are deleted where they are")
        return [*steps, "one version is committed; where others were first it is done again on theirs"]

    def execute(self, data_obj, *, schema: Optional[pa.Schema] = None, sync: bool = True) -> Dict[str, int]:
        """Does it with rows of any kind that :func:`pilum.write_dataset` takes; a stream is read once. The dataset becomes the
        new version. Two merges that insert the same new key at once never both do: the second does with it what it does with
        rows that match."""
        with held(self._dataset):
            version, *counts = self._run(_pilum.table_merge, data_obj, schema, sync)
        self._dataset._move(version)
        return dict(zip(_COUNTS, counts))

    def execute_uncommitted(self, data_obj, *, schema: Optional[pa.Schema] = None, sync: bool = True):
        """``(transaction, counts)``: files are written and no version is made; ``LanceDataset.commit`` makes one of the
        transaction. What others do meanwhile is not looked at before that, and it is not done again."""
        from .operations import from_wire

        transaction, *counts = self._run(_pilum.table_stage_merge, data_obj, schema, sync)
        return from_wire(transaction), dict(zip(_COUNTS, counts))

    def _run(self, native, data_obj, schema, sync: bool):
        from .write import as_reader  # which needs LanceDataset

        return self._stage(native, *as_reader(data_obj, schema), sync)

    def _stage(self, native, rows_schema, batches, sync: bool):
        options = {**self._options, "sync": sync, "rows_in_memory": isinstance(batches, pa.Table)}
        return native(self._dataset._table, rows_schema, batches, options, _params(self._params))


class Merges:
    """Mixed into LanceDataset."""

    def merge_insert(self, on: Optional[Union[str, Iterable[str]]] = None) -> MergeInsertBuilder:
        """A merge of rows by these key columns (without: the primary key that the schema declares), to be said in full by
        the builder's methods and done by its ``execute``."""
        names = [on] if isinstance(on, str) else list(on or [])
        known = {name.lower() for name in self.schema.names}
        for name in names:
            if name.lower() not in known:
                raise ValueError(f"Merge insert key column '{name}' does not exist in schema; the table has {', '.join(self.schema.names)}")
        if not names and not any(_KEY in (field.metadata or {}) or _KEY_PLACE in (field.metadata or {}) for field in self.schema):
            raise ValueError(
                "A merge insert operation requires join keys: specify `on` columns explicitly or configure a primary key "
                "in the dataset schema"
            )
        return MergeInsertBuilder(self, names)


__all__ = ["MergeInsertBuilder"]
