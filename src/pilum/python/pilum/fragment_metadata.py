"""What a manifest or a transaction says of a fragment, by pylance's names: plain values, which go to JSON, to pickle and back, so
that one process writes files and another commits them."""

import json
import warnings
from dataclasses import asdict, dataclass, field
from typing import Any, Dict, Iterable, List, Optional, Tuple, Union

import pyarrow as pa

from . import _pilum
from .errors import UnsupportedError, UsageError


class _Path(str):
    """pylance's ``path`` was a method once, and may still be called."""

    def __call__(self) -> str:
        _deprecated("DataFile.path() is deprecated, use DataFile.path instead")
        return str(self)

    def __reduce__(self):
        return _Path, (str(self),)


def _deprecated(words: str) -> None:
    warnings.warn(words, DeprecationWarning, stacklevel=3)


@dataclass
class DataFile:
    """One data file of a fragment: which fields it holds, by id, and in which of its columns."""

    path: str
    fields: List[int]
    column_indices: List[int] = field(default_factory=list)
    file_major_version: int = 0
    file_minor_version: int = 0
    file_size_bytes: Optional[int] = None
    base_id: Optional[int] = None

    def __post_init__(self):
        self.path = _Path(self.path)
        self.column_indices = list(self.column_indices or [])

    def field_ids(self) -> List[int]:
        _deprecated("DataFile.field_ids is deprecated, use DataFile.fields instead")
        return self.fields

    @classmethod
    def create(cls, dataset, path: str, *, base_id: Optional[int] = None) -> "DataFile":
        """Of a Lance file that lies in the dataset's ``data`` folder (or below a base): its columns are the table's by name."""
        return DataFile(**dataset._describe_file(path, base_id))


@dataclass
class DeletionFile:
    """``file_type``: "array" or "bitmap"."""

    read_version: int
    id: int
    file_type: str
    num_deleted_rows: int
    base_id: Optional[int] = None

    def path(self, fragment_id: int, base_uri: Optional[str] = None) -> str:
        suffix = "bin" if self.file_type == "bitmap" else "arrow"
        below = f"_deletions/{fragment_id}-{self.read_version}-{self.id}.{suffix}"
        return f"{base_uri.rstrip('/')}/{below}" if base_uri else below

    def asdict(self) -> Dict[str, Any]:
        return asdict(self)

    def json(self) -> str:
        return json.dumps(self.asdict())

    @staticmethod
    def from_json(text: str) -> "DeletionFile":
        return DeletionFile(**_known(DeletionFile, json.loads(text)))


class _Sequence:
    """One value a row: its bytes, or (path, offset, size) of where they lie. pylance's JSON of it is a list of numbers."""

    _inline = _external = ""

    def __init__(self, where: Union[bytes, Tuple[str, int, int]]):
        self._where = where

    def asdict(self) -> Dict[str, Any]:
        if isinstance(self._where, bytes):
            return {self._inline: list(self._where)}
        return {self._external: dict(zip(("path", "offset", "size"), self._where))}

    def json(self) -> str:
        return json.dumps(self.asdict())

    @classmethod
    def from_dict(cls, given: Dict[str, Any]):
        if cls._inline in given:
            return cls(bytes(given[cls._inline]))
        if cls._external not in given:
            raise UsageError(f"{cls.__name__} is of the form {cls._inline} or {cls._external}, not {list(given)}")
        at = given[cls._external]
        return cls((at["path"], at["offset"], at["size"]))

    @classmethod
    def from_json(cls, text: str):
        return cls.from_dict(json.loads(text))

    def __eq__(self, other) -> bool:
        return type(other) is type(self) and other._where == self._where

    __hash__ = None

    def __reduce__(self):
        return type(self), (self._where,)

    def __repr__(self) -> str:
        kind = f"{len(self._where)} bytes" if isinstance(self._where, bytes) else f"in {self._where[0]!r}"
        return f"{type(self).__name__}({kind})"


class RowIdMeta(_Sequence):
    """The stable ids of a fragment's rows."""

    _inline, _external = "Inline", "External"


class RowDatasetVersionMeta(_Sequence):
    """The version that each row was made, or last changed, in."""

    _inline, _external = "inline", "external"


class RowIdSequence:
    """Stable ids of rows, in their order, for a fragment whose rows had ids before (:class:`FragmentMetadata`, ``row_id_meta``). It
    may be shorter than the fragment: rows behind it are new and get new ids at the commit. Ids must be of rows that the same
    transaction takes away; nobody looks."""

    def __init__(self, row_ids: Union[range, pa.Array, pa.ChunkedArray, Iterable[int]]):
        if isinstance(row_ids, range) and row_ids.step == 1:
            if row_ids.start < 0:
                raise ValueError("row ids are not negative")
            self._bytes = _pilum.pack_row_id_range(row_ids.start, max(row_ids.start, row_ids.stop))
            return
        if isinstance(row_ids, (pa.Array, pa.ChunkedArray)):
            if row_ids.null_count:
                raise ValueError("row ids are not NULL")
            row_ids = row_ids.to_pylist()
        ids = list(row_ids)
        if any(not isinstance(i, int) or isinstance(i, bool) for i in ids):
            raise TypeError("row ids are integers")
        if any(i < 0 or i >= 2**64 for i in ids):
            raise ValueError("row ids have 64 bits and are not negative")
        if len(set(ids)) != len(ids):
            raise ValueError("duplicate row ids in one sequence")
        self._bytes = _pilum.pack_row_ids(ids)

    @staticmethod
    def from_inline_metadata(metadata: RowIdMeta) -> "RowIdSequence":
        if not isinstance(metadata._where, bytes):
            raise ValueError("these row ids lie in a file, which is not read here")
        out = RowIdSequence.__new__(RowIdSequence)
        out._bytes = metadata._where
        return out

    def to_inline_metadata(self) -> RowIdMeta:
        return RowIdMeta(self._bytes)

    def to_pyarrow(self) -> pa.Array:
        return pa.array(_pilum.unpack_row_ids(self._bytes), pa.uint64())

    def __len__(self) -> int:
        return len(_pilum.unpack_row_ids(self._bytes))

    def __eq__(self, other) -> bool:
        return isinstance(other, RowIdSequence) and self.to_pyarrow().equals(other.to_pyarrow())

    __hash__ = None

    def __repr__(self) -> str:
        return f"RowIdSequence({len(self)} ids)"


@dataclass
class FragmentMetadata:
    """A fragment as a manifest or a transaction has it. Id 0 in a transaction: none yet, the commit gives one."""

    id: int
    files: List[DataFile]
    physical_rows: int
    deletion_file: Optional[DeletionFile] = None
    row_id_meta: Optional[RowIdMeta] = None
    created_at_version_meta: Optional[RowDatasetVersionMeta] = None
    last_updated_at_version_meta: Optional[RowDatasetVersionMeta] = None
    overlays: List[Any] = field(default_factory=list)  # never any here

    @property
    def num_deletions(self) -> int:
        return self.deletion_file.num_deleted_rows if self.deletion_file else 0

    @property
    def num_rows(self) -> int:
        return self.physical_rows - self.num_deletions

    def data_files(self) -> List[DataFile]:
        _deprecated("FragmentMetadata.data_files is deprecated. Use .files instead.")
        return self.files

    def to_json(self) -> Dict[str, Any]:
        """Plain values for ``json.dumps``; pylance reads them too."""
        return {
            "id": self.id,
            "files": [asdict(f) for f in self.files],
            "overlays": [],
            "physical_rows": self.physical_rows,
            "deletion_file": self.deletion_file.asdict() if self.deletion_file else None,
            **{name: meta.asdict() if meta else None for name, meta in self._sequences().items()},
        }

    def _sequences(self) -> Dict[str, Optional[_Sequence]]:
        return {name: getattr(self, name) for name in _SEQUENCES}

    @staticmethod
    def from_json(text: str) -> "FragmentMetadata":
        """Of ``json.dumps`` of :meth:`to_json`, or of what pylance writes; keys that are not known here are left out."""
        got = json.loads(text)
        if got.get("overlays"):
            raise UnsupportedError(f"fragment {got['id']} has data overlays, which are not supported by Pilum yet")
        deleted = got.get("deletion_file")
        return FragmentMetadata(
            got["id"],
            [DataFile(**_known(DataFile, file)) for file in got["files"]],
            got["physical_rows"],
            DeletionFile(**_known(DeletionFile, deleted)) if deleted else None,
            **{name: cls.from_dict(got[name]) for name, cls in _SEQUENCES.items() if got.get(name)},
        )


_SEQUENCES = {
    "row_id_meta": RowIdMeta,
    "created_at_version_meta": RowDatasetVersionMeta,
    "last_updated_at_version_meta": RowDatasetVersionMeta,
}


def _known(cls, given: Dict[str, Any]) -> Dict[str, Any]:
    return {k: v for k, v in given.items() if k in cls.__dataclass_fields__}


def from_native(f: Dict[str, Any]) -> FragmentMetadata:
    """Of what ``_pilum`` gives."""
    deleted = f["deletion_file"]
    return FragmentMetadata(
        f["id"],
        [DataFile(**file) for file in f["files"]],
        f["physical_rows"],
        DeletionFile(**deleted) if deleted else None,
        **{name: cls(f[name]) for name, cls in _SEQUENCES.items() if f[name] is not None},
    )


def to_native(f: FragmentMetadata) -> Dict[str, Any]:
    if f.overlays:
        raise UnsupportedError(f"fragment {f.id} has data overlays, which are not supported by Pilum yet")
    return {
        "id": f.id,
        "files": [file_to_native(file) for file in f.files],
        "physical_rows": f.physical_rows,
        "deletion_file": f.deletion_file.asdict() if f.deletion_file else None,
        **{name: meta._where if meta else None for name, meta in f._sequences().items()},
    }


def file_to_native(f: DataFile) -> Dict[str, Any]:
    return {name: getattr(f, name) for name in DataFile.__dataclass_fields__}


__all__ = ["DataFile", "DeletionFile", "FragmentMetadata", "RowDatasetVersionMeta", "RowIdMeta", "RowIdSequence"]
