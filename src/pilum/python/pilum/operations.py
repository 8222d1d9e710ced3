"""Transactions, by pylance's names: what a commit does to a table, as plain values that may travel between processes.

    >>> operation = pilum.LanceOperation.Append(fragments)
    >>> ds = pilum.LanceDataset.commit("flights.lance", operation, read_version=7)
"""

import uuid as uuids
import warnings
from dataclasses import dataclass, field, fields
from datetime import datetime, timezone
from typing import Any, Dict, Iterable, List, Optional, Tuple, Union

import pyarrow as pa

from .fragment_metadata import DataFile, FragmentMetadata, file_to_native, from_native, to_native
from .schema import LanceSchema
from .versions import DatasetBasePath
from .write import properties


@dataclass
class IndexFile:
    path: str
    size_bytes: int


@dataclass
class Index:
    """One segment of an index, as a transaction names it."""

    uuid: str
    name: str
    fields: List[int]
    dataset_version: int
    fragment_ids: Iterable[int]
    index_version: int
    created_at: Optional[datetime] = None
    base_id: Optional[int] = None
    files: Optional[List[IndexFile]] = None
    index_details: Optional[Tuple[str, bytes]] = None
    covering_fields: List[int] = field(default_factory=list)


Schema = Union[LanceSchema, pa.Schema]


class LanceOperation:
    """The kinds of operations. Fragments that are new have id 0; those that change are given whole, as
    ``LanceFragment.metadata`` says they are."""

    class BaseOperation:
        @property
        def kind(self) -> str:
            """The operation's name: "Append"."""
            return type(self).__name__

    @dataclass
    class Overwrite(BaseOperation):
        """A new table, or all rows and the schema of one anew."""

        new_schema: Schema
        fragments: List[FragmentMetadata]
        initial_bases: Optional[List[DatasetBasePath]] = None
        config_upsert_values: Dict[str, str] = field(default_factory=dict)

        def __post_init__(self):
            _check_fragments(self.fragments)

    @dataclass
    class Append(BaseOperation):
        fragments: List[FragmentMetadata]

        def __post_init__(self):
            _check_fragments(self.fragments)

    @dataclass
    class Delete(BaseOperation):
        """``updated_fragments``: with their new deletion files. ``predicate``: what it was, for people."""

        updated_fragments: List[FragmentMetadata]
        deleted_fragment_ids: Iterable[int]
        predicate: str

        def __post_init__(self):
            _check_fragments(self.updated_fragments)

    @dataclass
    class Update(BaseOperation):
        """Rows that moved to ``new_fragments`` (``update_mode`` "rewrite_rows"), or columns to new files ("rewrite_columns")."""

        removed_fragment_ids: List[int] = field(default_factory=list)
        updated_fragments: List[FragmentMetadata] = field(default_factory=list)
        new_fragments: List[FragmentMetadata] = field(default_factory=list)
        fields_modified: List[int] = field(default_factory=list)
        fields_for_preserving_frag_bitmap: List[int] = field(default_factory=list)
        update_mode: str = ""
        updated_fragment_offsets: Optional[Dict[int, bytes]] = None

        def __post_init__(self):
            _check_fragments(self.updated_fragments)
            _check_fragments(self.new_fragments)

    @dataclass
    class Merge(BaseOperation):
        """Columns added: all fragments, with their new files."""

        fragments: List[FragmentMetadata]
        schema: Schema
        preserves_nullability: bool = False

        def __post_init__(self):
            if isinstance(self.schema, pa.Schema):
                words = "a pyarrow schema does not say the ids of fields: give LanceOperation.Merge a LanceSchema"
                warnings.warn(words, DeprecationWarning, stacklevel=3)
            _check_fragments(self.fragments)

    @dataclass
    class Restore(BaseOperation):
        version: int

    @dataclass
    class Clone(BaseOperation):
        """What begins a clone or a branch. Read, not committed: use ``shallow_clone``, ``deep_clone``, ``create_branch``."""

        is_shallow: bool
        ref_name: Optional[str]
        ref_version: int
        ref_path: str
        branch_name: Optional[str]

    @dataclass
    class RewriteGroup:
        old_fragments: List[FragmentMetadata]
        new_fragments: List[FragmentMetadata]

    @dataclass
    class RewrittenIndex:
        old_id: str
        new_id: str
        new_details_type_url: str = ""
        new_details_value: bytes = b""
        new_index_version: int = 0

    @dataclass
    class Rewrite(BaseOperation):
        """Rows in other fragments, none of them changed: compaction."""

        groups: List["LanceOperation.RewriteGroup"]
        rewritten_indices: List["LanceOperation.RewrittenIndex"] = field(default_factory=list)

        def __post_init__(self):
            _check_fragments([f for g in self.groups for f in (*g.old_fragments, *g.new_fragments)])

    @dataclass
    class CreateIndex(BaseOperation):
        """Segments that come and go; a dropped index has only those that go."""

        new_indices: List[Index]
        removed_indices: List[Index]

    @dataclass
    class DataReplacementGroup:
        fragment_id: int
        new_file: DataFile

    @dataclass
    class DataReplacement(BaseOperation):
        replacements: List["LanceOperation.DataReplacementGroup"]

    @dataclass
    class Project(BaseOperation):
        """Columns dropped or renamed: the schema, with the ids of its fields."""

        schema: Schema
        preserves_nullability: bool = False

    @dataclass
    class UpdateMap:
        """Key -> value, None: the key goes. ``replace``: all others go too."""

        updates: Dict[str, Optional[str]]
        replace: bool = False

    @dataclass
    class UpdateConfig(BaseOperation):
        config_updates: Optional["LanceOperation.UpdateMap"] = None
        table_metadata_updates: Optional["LanceOperation.UpdateMap"] = None
        schema_metadata_updates: Optional["LanceOperation.UpdateMap"] = None
        field_metadata_updates: Optional[Dict[int, "LanceOperation.UpdateMap"]] = None

    @dataclass
    class ReserveFragments(BaseOperation):
        """Ids of fragments for a later rewrite."""

        num_fragments: int

    @dataclass
    class UpdateBases(BaseOperation):
        new_bases: List[DatasetBasePath]

    @dataclass
    class Other(BaseOperation):
        """Of a kind that Pilum does not commit; ``name`` says which."""

        name: str

        @property
        def kind(self) -> str:
            return self.name


@dataclass
class Transaction:
    """What made a version, or shall make one. ``facts``: what it did as names and values for people, where it was read."""

    read_version: int
    operation: LanceOperation.BaseOperation
    uuid: str = field(default_factory=lambda: str(uuids.uuid4()))
    transaction_properties: Optional[Dict[str, str]] = field(default_factory=dict)
    facts: List[Tuple[str, str]] = field(default_factory=list, compare=False, repr=False)

    @property
    def kind(self) -> str:
        """The name of the operation: "Append"."""
        return self.operation.kind


def _check_fragments(fragments) -> None:
    if not isinstance(fragments, list):
        raise TypeError(f"fragments must be list[FragmentMetadata], got {type(fragments)}")
    for f in fragments:
        if not isinstance(f, FragmentMetadata):
            raise TypeError(f"fragments must be list[FragmentMetadata], got {type(f)}")


def _fragments(given) -> List[Dict[str, Any]]:
    return [to_native(f) for f in given]


def _schema(schema: Schema):
    if isinstance(schema, LanceSchema):
        return (schema.to_pyarrow(), [i for f in schema.fields() for i in f._ids()])
    return (schema, None)


def _map(given):
    return None if given is None else (dict(given.updates), given.replace)


def _maps(given):
    return {k: _map(v) for k, v in given.items()} if given else None


def _bases(given):
    names = ("id", "name", "path", "is_dataset_root")
    return None if given is None else [{n: getattr(b, n) for n in names} for b in given]


def _index(i: Index) -> Dict[str, Any]:
    out = {f.name: getattr(i, f.name) for f in fields(Index) if f.name != "covering_fields"}
    created = i.created_at
    return {
        **out,
        "fragment_ids": sorted(i.fragment_ids or []),
        "created_at": int(created.timestamp() * 1000) if isinstance(created, datetime) else created,
        "files": None if i.files is None else [(f.path, f.size_bytes) for f in i.files],
    }


def _groups(given) -> List[Dict[str, Any]]:
    return [{"old_fragments": _fragments(g.old_fragments), "new_fragments": _fragments(g.new_fragments)} for g in given]


_TO_NATIVE = {
    "fragments": _fragments, "updated_fragments": _fragments, "new_fragments": _fragments, "groups": _groups,
    "schema": _schema, "new_schema": _schema, "initial_bases": _bases, "new_bases": _bases,
    "config_updates": _map, "table_metadata_updates": _map, "schema_metadata_updates": _map, "field_metadata_updates": _maps,
    "new_indices": lambda given: [_index(i) for i in given], "removed_indices": lambda given: [_index(i) for i in given],
    "rewritten_indices": lambda given: [vars(i) for i in given],
    "replacements": lambda given: [(r.fragment_id, file_to_native(r.new_file)) for r in given],
}  # fmt: skip


def to_wire(t: Transaction) -> Dict[str, Any]:
    """What ``_pilum`` takes."""
    op = t.operation
    operation = {f.name: _TO_NATIVE.get(f.name, _same)(getattr(op, f.name)) for f in fields(op)} if is_known(op) else {}
    return {
        "read_version": t.read_version or 0,
        "uuid": str(t.uuid),
        "properties": properties(None, t.transaction_properties),
        "kind": op.kind,
        "operation": operation,
    }


def is_known(operation) -> bool:
    return type(operation) is getattr(LanceOperation, type(operation).__name__, None) and type(operation) is not LanceOperation.BaseOperation


def _same(value):
    return value


def _as_fragments(given) -> List[FragmentMetadata]:
    return [from_native(f) for f in given]


def _as_schema(given) -> LanceSchema:
    return LanceSchema._of_table(*given)


def _as_map(given):
    return None if given is None else LanceOperation.UpdateMap(*given)


def _as_maps(given):
    return None if given is None else {k: _as_map(v) for k, v in given.items()}


def _as_bases(given):
    return None if given is None else [DatasetBasePath(**b) for b in given]


def _as_index(i: Dict[str, Any]) -> Index:
    created = i["created_at"]
    return Index(**{
        **i,
        "fragment_ids": set(i["fragment_ids"]),
        "created_at": None if created is None else datetime.fromtimestamp(created / 1000, timezone.utc),
        "files": None if i["files"] is None else [IndexFile(*f) for f in i["files"]],
    })  # fmt: skip


def _as_group(g: Dict[str, Any]):
    return LanceOperation.RewriteGroup(_as_fragments(g["old_fragments"]), _as_fragments(g["new_fragments"]))


_FROM_NATIVE = {
    "fragments": _as_fragments, "updated_fragments": _as_fragments, "new_fragments": _as_fragments,
    "groups": lambda given: [_as_group(g) for g in given],
    "schema": _as_schema, "new_schema": _as_schema, "initial_bases": _as_bases, "new_bases": _as_bases,
    "config_updates": _as_map, "table_metadata_updates": _as_map, "schema_metadata_updates": _as_map,
    "field_metadata_updates": _as_maps,
    "new_indices": lambda given: [_as_index(i) for i in given], "removed_indices": lambda given: [_as_index(i) for i in given],
    "rewritten_indices": lambda given: [LanceOperation.RewrittenIndex(**i) for i in given],
    "replacements": lambda given: [LanceOperation.DataReplacementGroup(n, DataFile(**f)) for n, f in given],
}  # fmt: skip


def from_wire(t: Optional[Dict[str, Any]], facts: Iterable[Tuple[str, str]] = ()) -> Optional[Transaction]:
    """Of what ``_pilum`` gives."""
    if t is None:
        return None
    cls = getattr(LanceOperation, t["kind"], None)
    if cls is None:
        operation = LanceOperation.Other(t["kind"])
    else:
        operation = cls(**{name: _FROM_NATIVE.get(name, _same)(value) for name, value in t["operation"].items()})
    return Transaction(t["read_version"], operation, t["uuid"], t["properties"], list(facts))


__all__ = ["Index", "IndexFile", "LanceOperation", "Transaction"]
