"""Blobs to be written, by pylance's names: ``pa.table({"b": blob_array([b"...", "s3://x/y"])}, pa.schema([blob_field("b")]))``.

A value is given as bytes, or as the URI of where it is, whole or a range of it.
"""

from dataclasses import dataclass
from typing import Any, Dict, List, Optional, Union

import pyarrow as pa

from .blob import BlobType

_MOST = 2**64 - 1


@dataclass(frozen=True)
class Blob:
    """One value: ``data``, or ``uri``, where ``position`` and ``size`` may name a part of what is there.

    None in the place of a Blob is NULL; :meth:`empty` is a value of no bytes.
    """

    data: Optional[bytes] = None
    uri: Optional[str] = None
    position: Optional[int] = None
    size: Optional[int] = None

    def __post_init__(self) -> None:
        if self.data is not None and self.uri is not None:
            raise ValueError("Blob cannot have both data and uri")
        if self.uri == "":
            raise ValueError("Blob uri cannot be empty")
        if self.uri is None and (self.position is not None or self.size is not None):
            raise ValueError("a Blob with position and size must have a uri")
        if (self.position is None) != (self.size is None):
            raise ValueError("External blob must set both position and size, or neither")
        if self.data is None and self.uri is None:
            raise ValueError("Blob must set `data` or `uri`; use None for a null blob")
        if self.size == 0:
            raise ValueError("External blob range size must be greater than zero")

    @staticmethod
    def from_bytes(data: Union[bytes, bytearray, memoryview]) -> "Blob":
        return Blob(data=bytes(data))

    @staticmethod
    def from_uri(uri: str, position: Optional[int] = None, size: Optional[int] = None) -> "Blob":
        if uri == "":
            raise ValueError("Blob uri cannot be empty")
        if (position is not None and position < 0) or (size is not None and size < 0):
            raise ValueError("External blob position and size must be non-negative")
        return Blob(uri=uri, position=position, size=size)

    @staticmethod
    def empty() -> "Blob":
        return Blob(data=b"")


def _type() -> pa.DataType:
    """The type that pyarrow has for the name: pylance's, if that was imported first."""
    return pa.ipc.read_schema(pa.schema([pa.field("b", BlobType())]).serialize()).field(0).type


def _blob(value: Any) -> Optional[Blob]:
    if value is None or isinstance(value, Blob):
        return value
    if isinstance(value, str):
        return Blob.from_uri(value)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return Blob(data=value)  # type: ignore[arg-type]  taken into the array as it is
    if all(hasattr(value, name) for name in ("data", "uri", "position", "size")):  # pylance's
        return Blob(value.data, value.uri, value.position, value.size)
    raise TypeError(f"BlobArray values must be bytes-like, str (URI), Blob, or None; got {type(value)}")


class BlobArray(pa.ExtensionArray):
    """An array of ``lance.blob.v2``."""

    @classmethod
    def from_pylist(cls, values: List[Any]) -> pa.ExtensionArray:
        blobs = [_blob(value) for value in values]

        def member(name: str, type_: pa.DataType) -> pa.Array:
            return pa.array([None if b is None else getattr(b, name) for b in blobs], type_)

        storage = pa.StructArray.from_arrays(
            [member("data", pa.large_binary()), member("uri", pa.utf8()), member("position", pa.uint64()),
             member("size", pa.uint64())],
            names=["data", "uri", "position", "size"],
            mask=pa.array([b is None for b in blobs], pa.bool_()),
        )  # fmt: skip
        return pa.ExtensionArray.from_storage(_type(), storage)


def blob_array(values: List[Any]) -> pa.ExtensionArray:
    """Values, each bytes-like, a text (a URI), a :class:`Blob`, or None for NULL, as an array to be written."""
    return BlobArray.from_pylist(values)


def _threshold(name: str, value: Optional[int], least: int) -> Dict[bytes, bytes]:
    if value is None:
        return {}
    what = f"{name}_size_threshold".replace("-", "_")
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{what} must be an int, got {type(value).__name__}")
    if value < least:
        raise ValueError(f"{what} must be {'positive' if least else 'non-negative'}")
    if value > _MOST:
        raise OverflowError(f"{what} must fit in 64 bits")
    return {f"lance-encoding:blob-{name}-size-threshold".encode(): str(value).encode()}


def blob_field(
    name: str,
    *,
    nullable: bool = True,
    inline_size_threshold: Optional[int] = None,
    dedicated_size_threshold: Optional[int] = None,
    pack_file_size_threshold: Optional[int] = None,
) -> pa.Field:
    """A field of blobs. A value of more bytes than ``dedicated_size_threshold`` (4 MiB) gets a file of its own, else one of
    more than ``inline_size_threshold`` (64 KiB) a place in a file of up to ``pack_file_size_threshold`` (1 GiB) with others,
    and all smaller ones lie in the data file."""
    metadata = {
        **_threshold("inline", inline_size_threshold, 0),
        **_threshold("dedicated", dedicated_size_threshold, 1),
        **_threshold("pack-file", pack_file_size_threshold, 1),
    }
    return pa.field(name, _type(), nullable=nullable, metadata=metadata or None)


def write_options(
    external_blob_mode: str = "reference",
    allow_external_blob_outside_bases: bool = False,
    blob_pack_file_size_threshold: Optional[int] = None,
) -> Dict[str, Any]:
    """Options that say how blobs are written."""
    if external_blob_mode not in ("reference", "ingest"):
        raise ValueError(f"external_blob_mode is 'reference' or 'ingest', not {external_blob_mode!r}")
    _threshold("pack-file", blob_pack_file_size_threshold, 1)
    return {
        "blob_pack_bytes": blob_pack_file_size_threshold,
        "blob_ingest": external_blob_mode == "ingest",
        "blob_outside": bool(allow_external_blob_outside_bases),
    }


__all__ = ["Blob", "BlobArray", "blob_array", "blob_field"]
