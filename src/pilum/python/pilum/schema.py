"""Schemas with the ids that a table knows its fields by, by pylance's names."""

from typing import Any, Dict, List, Optional, Sequence

import pyarrow as pa

from .errors import UnsupportedError


def _children(t: pa.DataType) -> List[pa.Field]:
    """The fields below a type that have ids of their own."""
    if isinstance(t, pa.BaseExtensionType):
        t = t.storage_type
    if pa.types.is_struct(t):
        return [t.field(i) for i in range(t.num_fields)]
    if pa.types.is_map(t):
        entries = pa.struct([t.key_field, t.item_field])
        return [pa.field("entries", entries, nullable=False)]
    if pa.types.is_list(t) or pa.types.is_large_list(t):
        return [t.value_field]
    if pa.types.is_fixed_size_list(t):
        inner = t.value_type
        nested = pa.types.is_nested(inner) and not (pa.types.is_fixed_size_list(inner) and not _children(inner))
        return [t.value_field] if nested else []
    return []


class LanceField:
    """One field: ``name()``, ``id()``, ``children()``, ``to_arrow()``, ``metadata``."""

    def __init__(self, field: pa.Field, field_id: int, children: Sequence["LanceField"]):
        self._field, self._id, self._children = field, field_id, list(children)

    def name(self) -> str:
        return self._field.name

    def id(self) -> int:
        return self._id

    def children(self) -> List["LanceField"]:
        return list(self._children)

    def to_arrow(self) -> pa.Field:
        return self._field

    @property
    def metadata(self) -> Dict[str, str]:
        return {k.decode(): v.decode(errors="replace") for k, v in (self._field.metadata or {}).items()}

    def _ids(self) -> List[int]:
        return [self._id, *(i for child in self._children for i in child._ids())]

    def __eq__(self, other) -> bool:
        return isinstance(other, LanceField) and self._field == other._field and self._ids() == other._ids()

    def __repr__(self) -> str:
        below = ", ".join(map(repr, self._children))
        kind = f"type: {self._field.type}" if not below else f"children: [{below}]"
        return f"Field {{ id: {self._id}, name: {self.name()!r}, nullable: {str(self._field.nullable).lower()}, {kind} }}"


class LanceSchema:
    """A schema whose fields, nested ones too, have ids. Equal if fields and ids are."""

    def __init__(self, schema: pa.Schema, ids: Sequence[int]):
        """``ids``: of all fields depth first, parents before children; of a field that has fewer, -1s are made up."""
        self._schema = schema
        left = iter(ids)
        self._fields = [self._made(f, left) for f in schema]

    @staticmethod
    def _made(field: pa.Field, ids) -> LanceField:
        own = next(ids, -1)
        return LanceField(field, own, [LanceSchema._made(f, ids) for f in _children(field.type)])

    @staticmethod
    def from_pyarrow(schema: pa.Schema) -> "LanceSchema":
        """With the ids that a new table would give: 0, 1, … depth first."""
        count = lambda f: 1 + sum(map(count, _children(f.type)))  # noqa: E731
        return LanceSchema(schema, range(sum(map(count, schema))))

    @staticmethod
    def _of_table(schema: pa.Schema, fields: Sequence[Dict[str, Any]]) -> "LanceSchema":
        below: Dict[int, List[int]] = {}
        for f in fields:
            below.setdefault(f["parent_id"], []).append(f["id"])
        ordered: List[int] = []

        def walk(field: pa.Field, field_id: int) -> None:
            ordered.append(field_id)
            ids = below.get(field_id, []) if field_id >= 0 else []
            children = _children(field.type)
            for child, child_id in zip(children, [*ids, *[-1] * len(children)]):
                walk(child, child_id)

        for field, field_id in zip(schema, below.get(-1, [])):
            walk(field, field_id)
        return LanceSchema(schema, ordered)

    def fields(self) -> List[LanceField]:
        return list(self._fields)

    def field(self, path: str) -> Optional[LanceField]:
        """The field at ``"a.b"``; None if there is none."""
        found: Optional[LanceField] = None
        among = self._fields
        for step in path.split("."):
            found = next((f for f in among if f.name() == step), None)
            if found is None:
                return None
            among = found.children()
        return found

    def field_case_insensitive(self, path: str) -> Optional[LanceField]:
        exact = self.field(path)
        names = [f for f in self._fields if f.name().lower() == path.lower()]
        return exact or (names[0] if len(names) == 1 else None)

    def to_pyarrow(self) -> pa.Schema:
        return self._schema

    def __eq__(self, other) -> bool:
        return isinstance(other, LanceSchema) and self._fields == other._fields

    def __reduce__(self):
        return LanceSchema, (self._schema, [i for f in self._fields for i in f._ids()])

    def __repr__(self) -> str:
        return f"Schema {{ fields: [{', '.join(map(repr, self._fields))}] }}"


_PLAIN = {
    pa.null(): "null", pa.bool_(): "bool", pa.float16(): "halffloat", pa.float32(): "float", pa.float64(): "double",
    pa.string(): "string", pa.large_string(): "large_string", pa.binary(): "binary", pa.large_binary(): "large_binary",
    **{t: str(t) for t in (pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64())},
    pa.date32(): "date32:day", pa.date64(): "date64:ms",
    **{pa.time32(u): f"time32:{u}" for u in ("s", "ms")}, **{pa.time64(u): f"time64:{u}" for u in ("us", "ns")},
    **{pa.duration(u): f"duration:{u}" for u in ("s", "ms", "us", "ns")},
}  # fmt: skip
_NAMED = {name: t for t, name in _PLAIN.items()}


def _type_to_json(t: pa.DataType) -> Dict[str, Any]:
    if t in _PLAIN:
        return {"type": _PLAIN[t]}
    if pa.types.is_struct(t):
        return {"type": "struct", "fields": [_field_to_json(f) for f in _children(t)]}
    for is_one, name in ((pa.types.is_list, "list"), (pa.types.is_large_list, "large_list")):
        if is_one(t):
            return {"type": name, "fields": [_field_to_json(t.value_field)]}
    if pa.types.is_fixed_size_list(t):
        return {"type": "fixed_size_list", "fields": [_field_to_json(t.value_field)], "length": t.list_size}
    if pa.types.is_fixed_size_binary(t):
        return {"type": "fixed_size_binary", "length": t.byte_width}
    if pa.types.is_timestamp(t):
        return {"type": f"timestamp:{t.unit}:{t.tz or '-'}"}
    if pa.types.is_decimal(t):
        return {"type": f"decimal:{t.bit_width}:{t.precision}:{t.scale}"}
    if pa.types.is_dictionary(t) and t.value_type in _PLAIN:
        return {"type": f"dict:{_PLAIN[t.value_type]}:{_PLAIN[t.index_type]}:{str(t.ordered).lower()}"}
    raise UnsupportedError(f"no JSON name for the type {t}")


def _field_to_json(f: pa.Field) -> Dict[str, Any]:
    out = {"name": f.name, "type": _type_to_json(f.type), "nullable": f.nullable}
    if f.metadata:
        out["metadata"] = {k.decode(): v.decode() for k, v in f.metadata.items()}
    return out


def _field_from_json(f: Dict[str, Any]) -> pa.Field:
    return pa.field(f["name"], _type_from_json(f["type"]), f.get("nullable", True), f.get("metadata") or None)


def _type_from_json(t: Dict[str, Any]) -> pa.DataType:
    name = t["type"]
    if name in _NAMED:
        return _NAMED[name]
    fields = [_field_from_json(f) for f in t.get("fields", [])]
    if name == "struct":
        return pa.struct(fields)
    if name == "list":
        return pa.list_(fields[0])
    if name == "large_list":
        return pa.large_list(fields[0])
    if name == "fixed_size_list":
        return pa.list_(fields[0], t["length"])
    if name == "fixed_size_binary":
        return pa.binary(t["length"])
    kind, *rest = name.split(":", 2 if name.startswith("timestamp:") else -1)
    if kind == "timestamp":
        return pa.timestamp(rest[0], None if rest[1] == "-" else rest[1])
    if kind == "decimal":
        return (pa.decimal256 if rest[0] == "256" else pa.decimal128)(int(rest[1]), int(rest[2]))
    if kind == "dict":
        *value, index, ordered = rest
        return pa.dictionary(_NAMED[index], _NAMED[":".join(value)], ordered == "true")
    raise UnsupportedError(f"no type of the name {name!r}")


def schema_to_json(schema: pa.Schema) -> Dict[str, Any]:
    """A schema as plain JSON values, as pylance (and LanceDB's servers) write it."""
    out: Dict[str, Any] = {"fields": [_field_to_json(f) for f in schema]}
    if schema.metadata:
        out["metadata"] = {k.decode(): v.decode() for k, v in schema.metadata.items()}
    return out


def json_to_schema(schema_json: Dict[str, Any]) -> pa.Schema:
    """What :func:`schema_to_json` gave, as a schema again."""
    return pa.schema([_field_from_json(f) for f in schema_json["fields"]], schema_json.get("metadata") or None)


__all__ = ["LanceField", "LanceSchema", "json_to_schema", "schema_to_json"]
