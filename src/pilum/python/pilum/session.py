"""``Session``, by pylance's name. pylance keeps its caches in it; Pilum's open datasets keep their own open files, and share none."""

from typing import Optional


class Session:
    """Accepted wherever pylance takes one."""

    def __init__(self, index_cache_size_bytes: Optional[int] = None, metadata_cache_size_bytes: Optional[int] = None, **tuning):
        pass

    def size_bytes(self) -> int:
        """Bytes of caches that it holds: none."""
        return 0

    index_cache_size_bytes = size_bytes

    def is_same_as(self, other: "Session") -> bool:
        return self is other

    def __repr__(self) -> str:
        return "Session()"


__all__ = ["Session"]
