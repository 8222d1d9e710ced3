"""Blobs of a Lance table as files, by pylance's names: ``ds.take_blobs("video", indices=[7])[0].read(1000)``.

A blob lies beside its column: scans give a description of where, and its bytes are read when they are asked for.
"""

import io
from typing import Iterator, List, Optional, Sequence, Tuple

import pyarrow as pa

from . import _pilum
from .errors import UsageError

DEFAULT_BLOB_BUFFER_SIZE = 512 * 1024  # bytes read ahead of sequential reads

_SELECTORS = {
    "ids": _pilum.RowSelector.IDS,
    "indices": _pilum.RowSelector.INDICES,
    "addresses": _pilum.RowSelector.ADDRESSES,
}


class BlobType(pa.ExtensionType):
    """``lance.blob.v2``: a column of blobs, as a table's schema names it. Reads give descriptions or bytes."""

    def __init__(self, storage: Optional[pa.DataType] = None) -> None:
        parts = [("data", pa.large_binary()), ("uri", pa.utf8()), ("position", pa.uint64()), ("size", pa.uint64())]
        super().__init__(storage or pa.struct(parts), "lance.blob.v2")

    def __arrow_ext_serialize__(self) -> bytes:
        return b""

    @classmethod
    def __arrow_ext_deserialize__(cls, storage_type: pa.DataType, serialized: bytes) -> "BlobType":
        return cls(storage_type)

    def __arrow_ext_class__(self):
        from .blob_values import BlobArray

        return BlobArray

    def __reduce__(self):
        return type(self), (self.storage_type,)


try:
    pa.register_extension_type(BlobType())
except pa.ArrowKeyError:
    pass  # pylance was here before


class BlobColumn:
    """A binary column in memory, as one file a row; None for NULL."""

    def __init__(self, blob_column) -> None:
        if not isinstance(blob_column, (pa.Array, pa.ChunkedArray)):
            raise ValueError(f"Expected a pyarrow.Array or pyarrow.ChunkedArray, got {type(blob_column)}")
        if not (pa.types.is_binary(blob_column.type) or pa.types.is_large_binary(blob_column.type)):
            raise ValueError(f"Expected a binary array, got {blob_column.type}")
        self.blob_column = blob_column

    def __iter__(self) -> Iterator[Optional[io.BytesIO]]:
        values = (value.as_py() for value in self.blob_column)
        return (None if value is None else io.BytesIO(value) for value in values)


class BlobFile(io.BufferedIOBase):
    """One blob, to read from like a file: only what is read, and up to ``buffer_size`` bytes ahead of it, is fetched."""

    def __init__(self, blob: "_pilum.Blob", buffer_size: int = DEFAULT_BLOB_BUFFER_SIZE):
        super().__init__()
        self._blob, self._ahead = blob, buffer_size
        self._at = 0
        self._held, self._held_at = b"", 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def size(self) -> int:
        """Bytes in all; of a closed one too."""
        return self._blob.size

    def tell(self) -> int:
        self._open()
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._open()
        if whence not in (io.SEEK_SET, io.SEEK_CUR, io.SEEK_END):
            raise ValueError(f"Invalid whence: {whence}")
        at = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self.size()}[whence]
        if at < 0:
            raise ValueError(f"negative seek value {at}")
        self._at = at
        return at

    def read(self, size: Optional[int] = -1) -> bytes:
        self._open()
        left = max(0, self.size() - self._at)
        size = left if size is None or size < 0 else min(size, left)
        if size == 0:
            return b""
        begin = self._at - self._held_at
        if not 0 <= begin <= len(self._held) - size:
            fetched = min(left, max(size, self._ahead))
            data = self._blob.read(self._at, fetched)
            if size == fetched:  # all that is left, or more than is read ahead: nothing to keep
                self._at += size
                return data
            self._held, self._held_at, begin = data, self._at, 0
        self._at += size
        return self._held[begin : begin + size]

    def read1(self, size: int = -1) -> bytes:
        return self.read(io.DEFAULT_BUFFER_SIZE if size is None or size < 0 else size)

    def readall(self) -> bytes:
        return self.read()

    def readinto(self, b) -> int:
        view = memoryview(b).cast("B")
        if view.readonly:
            raise TypeError(f"readinto() argument must be read-write bytes-like object, not {type(b).__name__}")
        data = self.read(len(view))
        view[: len(data)] = data
        return len(data)

    readinto1 = readinto

    def read_range(self, offset: int, length: int) -> bytes:
        """Bytes of the blob wherever the cursor is, which stays there."""
        return self.read_ranges([(offset, length)])[0]

    def read_ranges(self, ranges: Sequence[Tuple[int, int]]) -> List[bytes]:
        """Several ``(offset, length)`` in few requests, in the order given."""
        self._open()
        return self._blob.read_many([_range(*r) for r in ranges])

    def _open(self) -> None:
        if self.closed:
            raise ValueError("I/O operation on a closed blob")

    def __repr__(self) -> str:
        return f"<BlobFile size={self.size()}>"


def _range(offset: int, length: int) -> Tuple[int, int]:
    if offset < 0 or length < 0 or offset + length >= 2**64:
        raise UsageError(f"a range of a blob is an offset and a length, not {offset} and {length}")
    return offset, length


def _numbers(rows) -> Sequence[int]:
    return rows.to_pylist() if isinstance(rows, (pa.Array, pa.ChunkedArray)) else rows


class BlobReads:
    """The calls of a dataset that read blobs. ``_table`` is the dataset's."""

    def _blobs(self, column: str, ids, addresses, indices) -> List[Tuple[int, Optional["_pilum.Blob"]]]:
        given = {"ids": ids, "addresses": addresses, "indices": indices}
        given = {name: rows for name, rows in given.items() if rows is not None}
        if len(given) != 1:
            raise UsageError("Exactly one of ids, indices, or addresses must be specified")
        ((name, rows),) = given.items()
        return self._table.take_blobs(column, _SELECTORS[name], _numbers(rows))

    def take_blobs(
        self, blob_column: str, ids=None, addresses=None, indices=None, *, buffer_size: int = DEFAULT_BLOB_BUFFER_SIZE
    ) -> List[Optional[BlobFile]]:
        """Blobs as files, one a row, None for NULL. Rows by exactly one of ``ids``, ``addresses`` and ``indices``."""
        if isinstance(buffer_size, bool) or not isinstance(buffer_size, int):
            raise TypeError(f"buffer_size must be an int, got {type(buffer_size).__name__}")
        if buffer_size < 0:
            raise UsageError("buffer_size must be non-negative")
        found = self._blobs(blob_column, ids, addresses, indices)
        return [None if blob is None else BlobFile(blob, buffer_size) for _, blob in found]

    def read_blobs(
        self, blob_column: str, ids=None, addresses=None, indices=None, *, io_buffer_size=None, preserve_order=None
    ) -> List[Tuple[int, Optional[bytes]]]:
        """``(row address, bytes or None)`` of each row, in the order given."""
        found = self._blobs(blob_column, ids, addresses, indices)
        return [(address, None if blob is None else blob.read(0, blob.size)) for address, blob in found]

    def read_blob_ranges(
        self,
        blob_column: str,
        requests: Sequence[Tuple[int, int, int]],
        *,
        selector: str,
        io_buffer_size=None,
        preserve_order=None,
    ) -> List[Tuple[int, int, Optional[bytes]]]:
        """``(number of the request, row address, bytes)`` for requests of ``(row, offset, length)``."""
        if selector not in _SELECTORS:
            raise UsageError(f"selector is 'ids', 'addresses' or 'indices', not {selector!r}")
        requests = list(requests)
        found = self._blobs(blob_column, **{**dict.fromkeys(_SELECTORS), selector: [row for row, _, _ in requests]})
        out = []
        for i, ((address, blob), (_, offset, length)) in enumerate(zip(found, requests)):
            out.append((i, address, None if blob is None else blob.read(*_range(offset, length))))
        return out


__all__ = ["BlobColumn", "BlobFile", "BlobType"]
