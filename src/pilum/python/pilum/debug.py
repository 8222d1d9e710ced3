"""What a version consists of, as text, by pylance's names and in its manner of writing. (``pilum table`` on the command line says
more: ``log``, ``manifest``, ``space``, ``check``.)"""

from dataclasses import fields, is_dataclass
from typing import Any, Dict, List

from .fragment_metadata import DataFile, FragmentMetadata, _Sequence
from .schema import LanceSchema


class _Named:
    """A name and what is in its braces, or, with ``wraps``, in its parentheses."""

    def __init__(self, name: str, parts: Dict[str, Any], wraps: bool = False):
        self.name, self.parts, self.wraps = name, parts, wraps


def _some(value):
    return None if value is None else _Named("Some", {"0": value}, True)


def _text(value: Any, depth: int = 0) -> str:
    pad, end = "    " * (depth + 1), "    " * depth
    if isinstance(value, _Named):
        named = (f"{'' if value.wraps else key + ': '}{_text(part, depth + 1)}" for key, part in value.parts.items())
        opened, closed = ("(", ")") if value.wraps else (" {", "}")
        return f"{value.name}{opened}\n" + "".join(f"{pad}{part},\n" for part in named) + end + closed
    if isinstance(value, dict):
        if not value:
            return "{}"
        return "{\n" + "".join(f"{pad}{_text(k)}: {_text(v, depth + 1)},\n" for k, v in value.items()) + end + "}"
    if isinstance(value, (list, tuple, range)):
        return "[\n" + "".join(f"{pad}{_text(v, depth + 1)},\n" for v in value) + end + "]" if len(value) else "[]"
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
    if isinstance(value, bool):
        return str(value).lower()
    return str(value)


def _schema(dataset, only=None) -> _Named:
    """``only``: ids of leaves; with the fields above them."""
    described = dataset._table.fields()
    metadata = {f._id: f.metadata for f in _all(dataset.lance_schema)}
    if only is not None:
        parent = {f["id"]: f["parent_id"] for f in described}
        kept = set()
        for field_id in only:
            while field_id in parent:
                kept.add(field_id)
                field_id = parent[field_id]
        described = [f for f in described if f["id"] in kept]

    def made(field) -> _Named:
        return _Named(
            "Field",
            {
                "name": field["name"],
                "id": field["id"],
                "parent_id": field["parent_id"],
                "logical_type": _Named("LogicalType", {"0": field["logical_type"]}, True),
                "metadata": metadata.get(field["id"], {}),
                "nullable": field["nullable"],
                "children": [made(f) for f in described if f["parent_id"] == field["id"]],
            },
        )

    own = dataset.schema_metadata if only is None else {}
    return _Named("Schema", {"fields": [made(f) for f in described if f["parent_id"] == -1], "metadata": own})


def _all(schema: LanceSchema):
    rest = list(schema.fields())
    while rest:
        field = rest.pop()
        rest += field.children()
        yield field


def _fragment(fragment: FragmentMetadata) -> _Named:
    return _Named(
        "Fragment",
        {
            "id": fragment.id,
            "files": [_value(f) for f in fragment.files],
            "overlays": [],
            "deletion_file": _some(_value(fragment.deletion_file)),
            "row_id_meta": _some(_value(fragment.row_id_meta)),
            "physical_rows": _some(fragment.physical_rows),
            "last_updated_at_version_meta": _some(_value(fragment.last_updated_at_version_meta)),
            "created_at_version_meta": _some(_value(fragment.created_at_version_meta)),
        },
    )


def _value(value: Any) -> Any:
    """Of parts of transactions."""
    if isinstance(value, FragmentMetadata):
        return _fragment(value)
    if isinstance(value, DataFile):
        return _Named("DataFile", {f.name: getattr(value, f.name) for f in fields(value)})
    if isinstance(value, _Sequence):
        return repr(value)
    if isinstance(value, LanceSchema):
        return _Named("Schema", {"fields": [_value(f) for f in value.fields()]})
    if hasattr(value, "to_arrow"):
        arrow = value.to_arrow()
        parts = {"name": arrow.name, "id": value.id(), "type": str(arrow.type), "nullable": arrow.nullable}
        return _Named("Field", {**parts, "children": [_value(f) for f in value.children()]})
    if is_dataclass(value) and not isinstance(value, type):
        return _Named(type(value).__name__, {f.name: _value(getattr(value, f.name)) for f in fields(value)})
    if isinstance(value, dict):
        return {str(k): _value(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_value(v) for v in value]
    return value


def format_schema(dataset) -> str:
    """The fields with their ids."""
    return _text(_schema(dataset))


def format_manifest(dataset) -> str:
    """All that the version's manifest says."""
    said = dataset._table.manifest()
    library, _, version = said["writer"].partition(" ")
    writer = _some(_Named("WriterVersion", {"library": library, "version": version})) if library else None
    first = {
        "schema": _schema(dataset),
        "version": said["version"],
        "branch": _some(dataset._table.branch or None),
        "writer_version": writer,
        "fragments": [_fragment(f) for f in dataset._metadata()],
    }
    rest = {k: v for k, v in said.items() if k not in ("version", "writer", "base_paths")}
    bases = {str(i): _value(base) for i, base in dataset.base_paths().items()}
    return _text(_Named("Manifest", {**first, **rest, "base_paths": bases}))


def format_fragment(fragment: FragmentMetadata, dataset) -> str:
    """A fragment's files, each with its part of the dataset's schema."""
    files = [
        _Named(
            "PrettyPrintableDataFile",
            {
                "path": f.path,
                "fields": f.fields,
                "column_indices": f.column_indices,
                "schema": _schema(dataset, f.fields),
                "major_version": f.file_major_version,
                "minor_version": f.file_minor_version,
            },
        )
        for f in fragment.files
    ]
    parts = {"id": fragment.id, "files": files, "deletion_file": _some(_value(fragment.deletion_file))}
    return _text(_Named("PrettyPrintableFragment", {**parts, "physical_rows": _some(fragment.physical_rows)}))


def list_transactions(dataset, max_transactions: int = 10) -> List[str]:
    """Those of the newest versions, newest first."""
    out = []
    for made in dataset.get_transactions(max_transactions):
        if made is not None:
            out.append(_text(_value(made)))
    return out


__all__ = ["format_fragment", "format_manifest", "format_schema", "list_transactions"]
