"""Compaction of tables, by the names of ``lance.optimize``.

    >>> ds.optimize.compact_files(target_rows_per_fragment=100_000)
    >>> plan = Compaction.plan(ds, {})  # which fragments, and why; the tasks may be sent elsewhere
    >>> Compaction.commit(ds, [task.execute(ds) for task in plan.tasks])

Small fragments that lie beside each other are written anew as one, and fragments with many deleted rows without those. Rows
that an index covers leave it, unless the table has stable row ids and the index holds those: ``CompactionTask.uncovered`` says
which, and ``leave_indexed=True`` lets such fragments be.
"""

import json
from dataclasses import asdict, dataclass, field
from typing import Any, Dict, List, Optional

from . import _pilum
from .errors import UnsupportedError, UsageError
from .fragment_metadata import FragmentMetadata, from_native, to_native
from .write import data_version

_NUMBERS = {
    "target_rows_per_fragment", "max_bytes_per_file", "batch_size", "num_threads", "max_source_fragments", "max_source_rows",
    "max_source_bytes",
}  # fmt: skip
_OTHERS = {
    "materialize_deletions", "materialize_deletions_threshold", "excluded_fragment_ids", "leave_indexed", "max_redo", "sync",
}  # fmt: skip
_TUNING = {"max_rows_per_group", "io_buffer_size", "binary_copy_read_batch_bytes"}


def _options(given: Optional[Dict[str, Any]]) -> Dict[str, Any]:
    out = {}
    for name, value in dict(given or {}).items():
        if value is None or name in _TUNING:
            continue
        if name == "data_storage_version":
            out["data_version"] = data_version(value)
        elif name == "compaction_mode":
            if value not in ("reencode", "try_binary_copy", "force_binary_copy"):
                raise UsageError(f"compaction_mode is reencode, try_binary_copy or force_binary_copy, not {value!r}")
            if value == "force_binary_copy":  # those who only try take what comes
                raise UnsupportedError("compaction_mode='force_binary_copy' is not supported by Pilum yet; leave it out")
        elif name == "defer_index_remap":
            if value:
                raise UnsupportedError("defer_index_remap (a fragment-reuse index) is not supported by Pilum yet; leave it out")
        elif name in _NUMBERS:
            if isinstance(value, bool) or not isinstance(value, int) or value < 0:
                raise UsageError(f"{name} is a number of at least 0, not {value!r}")
            out[name] = value
        elif name in _OTHERS:
            out[name] = value
        else:
            raise UsageError(f"compaction has no option {name!r}")
    return out


@dataclass
class CompactionMetrics:
    """What a compaction did. ``files_removed`` counts deletion files too. (Files stay on disk as long as older versions have
    them.)"""

    fragments_removed: int = 0
    fragments_added: int = 0
    files_removed: int = 0
    files_added: int = 0


@dataclass
class RewriteResult:
    """Fragments that were written anew and are not in the table yet."""

    read_version: int
    new_fragments: List[FragmentMetadata]
    old_fragments: List[FragmentMetadata]
    metrics: CompactionMetrics = field(repr=False)

    @property
    def original_fragments(self) -> List[FragmentMetadata]:
        return self.old_fragments

    def json(self) -> str:
        """As pylance writes it."""
        return json.dumps(
            {
                "metrics": asdict(self.metrics),
                "new_fragments": [f.to_json() for f in self.new_fragments],
                "read_version": self.read_version,
                "original_fragments": [f.to_json() for f in self.old_fragments],
                "row_addrs": None,
            }
        )

    @staticmethod
    def from_json(text: str) -> "RewriteResult":
        """Of pylance's too."""
        got = json.loads(text)
        return RewriteResult(
            got["read_version"],
            _fragments(got["new_fragments"]),
            _fragments(got["original_fragments"]),
            CompactionMetrics(**got["metrics"]),
        )


def _fragments(items: List[Dict[str, Any]]) -> List[FragmentMetadata]:
    return [FragmentMetadata.from_json(json.dumps(item)) for item in items]


@dataclass
class CompactionTask:
    """Fragments that are better one. ``reason``: why; ``uncovered``: indices that cover these rows and will not any more."""

    read_version: int
    fragments: List[FragmentMetadata]
    reason: str = field(default="", repr=False)
    uncovered: List[str] = field(default_factory=list, repr=False)
    _options: Dict[str, Any] = field(default_factory=dict, repr=False)

    def execute(self, dataset) -> RewriteResult:
        """Writes them anew, of the version that was planned for. Nothing is in the table before ``Compaction.commit``."""
        if dataset.version != self.read_version:
            dataset = dataset.checkout_version((dataset._table.branch or None, self.read_version))
        known = {f.id: f for f in dataset._metadata()}
        for f in self.fragments:
            if known.get(f.id) != f:
                raise UsageError(f"{dataset.uri}: version {self.read_version} has no fragment {f.id} as the task names it")
        done = _pilum.table_compaction_execute(dataset._table, [f.id for f in self.fragments], self._options)
        new = [from_native(f) for f in done["fragments"]]
        return RewriteResult(self.read_version, new, self.fragments, CompactionMetrics(**done["metrics"]))

    def json(self) -> str:
        return json.dumps(
            {
                "task": {"fragments": [f.to_json() for f in self.fragments]},
                "read_version": self.read_version,
                "options": self._options,
                "reason": self.reason,
                "uncovered": self.uncovered,
            }
        )

    @staticmethod
    def from_json(text: str) -> "CompactionTask":
        got = json.loads(text)
        return CompactionTask(
            got["read_version"],
            _fragments(got["task"]["fragments"]),
            got.get("reason", ""),
            got.get("uncovered", []),
            got["options"],
        )


@dataclass
class CompactionPlan:
    read_version: int
    tasks: List[CompactionTask]
    _options: Dict[str, Any] = field(default_factory=dict)

    def num_tasks(self) -> int:
        return len(self.tasks)

    def json(self) -> str:
        tasks = [json.loads(t.json()) for t in self.tasks]
        return json.dumps({"read_version": self.read_version, "tasks": tasks, "options": self._options})

    @staticmethod
    def from_json(text: str) -> "CompactionPlan":
        got = json.loads(text)
        tasks = [CompactionTask.from_json(json.dumps(t)) for t in got["tasks"]]
        return CompactionPlan(got["read_version"], tasks, got["options"])

    def __repr__(self) -> str:
        return f"CompactionPlan(read_version={self.read_version}, tasks=<{len(self.tasks)} compaction tasks>)"


class Compaction:
    """The steps of a compaction. Options: those of ``compact_files``."""

    @staticmethod
    def plan(dataset, options: Optional[Dict[str, Any]] = None) -> CompactionPlan:
        how = _options(options)
        known = {f.id: f for f in dataset._metadata()}
        tasks = [
            CompactionTask(dataset.version, [known[i] for i in t["fragments"]], t["reason"], t["uncovered"], how)
            for t in _pilum.table_compaction_plan(dataset._table, how)
        ]
        return CompactionPlan(dataset.version, tasks, how)

    @staticmethod
    def execute(dataset, options: Optional[Dict[str, Any]] = None) -> CompactionMetrics:
        version, metrics = _pilum.table_compact(dataset._table, _options(options))
        if version != dataset.version:
            dataset._move(version)
        return CompactionMetrics(**metrics)

    @staticmethod
    def commit(
        dataset, rewrites: List[RewriteResult], options: Optional[Dict[str, Any]] = None
    ) -> CompactionMetrics:
        """Those tasks that are done, all or some; the others later. Raises ``RetryableConflictError`` where one of the
        fragments was changed since: plan again."""
        results = [
            {
                "read_version": r.read_version,
                "old_fragments": [f.id for f in r.old_fragments],
                "fragments": [to_native(f) for f in r.new_fragments],
                "metrics": asdict(r.metrics),
            }
            for r in rewrites
        ]
        if not results:
            return CompactionMetrics()
        version, metrics = _pilum.table_compaction_commit(dataset._table, results, _options(options))
        dataset._move(version)
        return CompactionMetrics(**metrics)


class DatasetOptimizer:
    """``dataset.optimize``."""

    def __init__(self, dataset):
        self._dataset = dataset

    def compact_files(self, **options) -> CompactionMetrics:
        """Writes small fragments that lie beside each other anew as larger ones, and those with many deleted rows without them,
        in the table's order. Where nothing is worth it no version is made. What others change meanwhile is planned again.

        Parameters
        ----------
        target_rows_per_fragment: 1048576
            Fragments with fewer rows are small; new ones have so many.
        max_bytes_per_file: 90 GiB
            A new file ends once it is larger, looked at after each batch.
        materialize_deletions, materialize_deletions_threshold: True, 0.1
            Whether a fragment of whose rows a larger share is deleted is written anew though it is large, or alone.
        num_threads, batch_size:
            Tasks at once; rows that are read at once.
        max_source_fragments, max_source_rows, max_source_bytes:
            No more than so much is written anew, the first fragments first.
        excluded_fragment_ids:
            Fragments that stay as they are.
        leave_indexed: False
            Fragments that an index would not cover any more stay as they are.
        data_storage_version:
            Of new files; the table's where left out.
        compaction_mode:
            "reencode"; "try_binary_copy" does the same here.

        Those that are left out are as the table's config has them, under ``lance.compaction.``.
        """
        return Compaction.execute(self._dataset, options)

    def optimize_indices(self, **kwargs) -> None:
        """Without an index there is nothing to do."""
        names = sorted({i["name"] for i in self._dataset._indices() if not i["name"].startswith("__lance_")})
        if names:
            raise UnsupportedError(f"optimize_indices: index {names[0]!r} cannot be written by Pilum yet")

    def enable_auto_cleanup(self, auto_cleanup_config, **kwargs) -> None:
        """Sets the table's config keys that pylance cleans up by."""
        self._dataset.update_config(
            {
                "lance.auto_cleanup.interval": str(auto_cleanup_config["interval"]),
                "lance.auto_cleanup.older_than": f"{auto_cleanup_config['older_than_seconds']}s",
            }
        )

    def disable_auto_cleanup(self, **kwargs) -> None:
        self._dataset.delete_config_keys(["lance.auto_cleanup.interval", "lance.auto_cleanup.older_than"])


class Optimizes:
    """Mixed into LanceDataset."""

    @property
    def optimize(self) -> DatasetOptimizer:
        return DatasetOptimizer(self)


__all__ = ["Compaction", "CompactionMetrics", "CompactionPlan", "CompactionTask", "DatasetOptimizer", "RewriteResult"]
