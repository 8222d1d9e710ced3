"""What code imports from ``lance.lance``, pylance's native module."""

from .optimize import Compaction, CompactionMetrics, CompactionPlan, CompactionTask, RewriteResult


def manifest_needs_migration(dataset) -> bool:
    """Was the version made by a writer so old that its manifest lacks what is said today: who wrote it, how many rows a
    fragment has, which fragments an index covers? (Pilum reads it all the same; the next commit says it.)"""
    unknown = any(f.files and not f.physical_rows for f in dataset._metadata())
    return not dataset._table.manifest()["writer"] or unknown

__all__ = ["manifest_needs_migration", "Compaction", "CompactionMetrics", "CompactionPlan", "CompactionTask", "RewriteResult"]
