"""Many small appends as few versions.

    >>> with ds.batch() as b:
    ...     for event in events:
    ...         b.append([event])  # one version, when the block ends
    >>> b = ds.batch()
    >>> b.append([event], commit=True)  # of several threads: comes back once it is on disk, with what others brought meanwhile
"""

from typing import Dict, Optional

from . import _pilum
from .write import as_reader, properties


class Batch:
    """Rows that are put aside and committed together. Rows are in no version, and may be lost, before ``commit`` (or the end of the
    ``with`` block, or ``append(..., commit=True)``) came back; then they are on disk. A block that ends in an exception leaves
    nothing. An append that does not fit the table is refused alone. A commit that fails leaves nothing of its rows, tells everybody
    who waits for it, and where nobody does, every further call fails until ``abandon``. Thread-safe."""

    def __init__(self, dataset, native):
        self._dataset, self._native = dataset, native

    def append(self, data, schema=None, *, commit: bool = False) -> Optional[int]:
        """``data`` as in ``write_dataset``. With ``commit`` gives the version that has the rows, once it is on disk."""
        if not commit:
            self._native.put(*as_reader(data, schema))
            return None
        return self._native.append(*as_reader(data, schema))[0]

    def commit(self) -> int:
        """All that is put aside is one version more, whose number this is; without any rows no version is made."""
        return self._native.commit()[0]

    def abandon(self) -> None:
        """Forgets what is put aside."""
        self._native.abandon()

    def __enter__(self) -> "Batch":
        return self

    def __exit__(self, kind, *_) -> None:
        if kind is not None:
            self.abandon()
            return
        version = self.commit()
        if version != self._dataset.version:
            self._dataset._move(version)


class Batches:
    """Mixed into LanceDataset."""

    def batch(
        self,
        *,
        max_bytes: int = 64 << 20,
        commit_message: Optional[str] = None,
        transaction_properties: Optional[Dict[str, str]] = None,
        sync: bool = True,
        **how,
    ) -> Batch:
        """Appends that become one version: see :class:`pilum.batch.Batch`. Of rows beyond ``max_bytes`` files are written before the
        commit. ``max_rows_per_file`` and ``max_bytes_per_file`` as in ``write_dataset``."""
        options = {"mode": "append", "properties": properties(commit_message, transaction_properties), "sync": sync}
        for name in how:
            if name not in ("max_rows_per_file", "max_bytes_per_file"):
                raise TypeError(f"batch() got an unexpected keyword argument {name!r}")
        return Batch(self, _pilum.table_batch(self._table, {**options, **how}, max_bytes))


__all__ = ["Batch"]
