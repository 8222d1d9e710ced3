"""What code imports from ``lance.lance``, pylance's native module."""

from .optimize import Compaction, CompactionMetrics, CompactionPlan, CompactionTask, RewriteResult

__all__ = ["Compaction", "CompactionMetrics", "CompactionPlan", "CompactionTask", "RewriteResult"]
