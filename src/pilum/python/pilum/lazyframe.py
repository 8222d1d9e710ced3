"""Tables, part stores and files as polars LazyFrames, which read no more than a plan needs."""

import datetime
import json
import os
from typing import Any, Dict, Iterator, List, Optional, Tuple, Union

import pyarrow as pa

from . import _pilum
from .errors import NotFound, UsageError
from .expressions import quoted
from .rows import Rows, SnapshotRows
from .store import Store

_COMPARE = {"Eq": "=", "NotEq": "<>", "Lt": "<", "LtEq": "<=", "Gt": ">", "GtEq": ">="}
_CLOSED = {"Both": (">=", "<="), "Left": (">=", "<"), "Right": (">", "<="), "None": (">", "<")}
_TEXT = {"StartsWith": "starts_with", "EndsWith": "ends_with"}


def scan(
    source: Union[str, "os.PathLike[str]", Rows, Store],
    version=None,
    asof=None,
    *,
    storage_options: Optional[Dict[str, str]] = None,
    with_row_id: bool = False,
):
    """A ``polars.LazyFrame`` over a table (one version of it, as in :func:`pilum.dataset`), a part store or a Lance file.

    The columns that a plan needs, its first rows (``head``) and what of its filters Pilum's SQL can say are asked of the
    source; ``explain()`` shows them. polars applies the filters again, so an answer never depends on it.
    """
    import polars as pl
    from polars.io.plugins import register_io_source

    rows = _opened(source, version, asof, storage_options)
    schema = rows.scanner(with_row_id=with_row_id).projected_schema
    names = schema.names

    def batches(with_columns, predicate, n_rows, batch_size) -> Iterator[pl.DataFrame]:
        wanted = names if with_columns is None else with_columns
        needed = wanted
        how: Dict[str, Any] = {"limit": n_rows}
        if predicate is not None:
            roots = set(predicate.meta.root_names()).union(wanted)
            needed = [n for n in names if n in roots]
            if n_rows is None:  # else the predicate is of those rows only
                how["filter"] = pushed_filter(predicate, schema)
        for batch in rows.to_batches(needed, batch_size=batch_size and min(batch_size, 1 << 20), **how):
            frame = pl.from_arrow(batch)
            frame = frame if predicate is None else frame.filter(predicate)
            yield frame if needed == wanted else frame.select(wanted)

    frame_schema = pl.from_arrow(schema.empty_table()).schema
    return register_io_source(batches, schema=frame_schema, is_pure=True, explain_name="PILUM", explain_detail=repr(rows))


def _opened(source, version, asof, storage_options) -> Rows:
    if isinstance(source, Rows):
        return source
    if isinstance(source, Store):
        return source.dataset()
    from .table import LanceDataset

    path = os.fspath(source)
    local = "://" not in path
    if not local or not os.path.exists(path) or os.path.isdir(os.path.join(path, "_versions")):
        try:
            return LanceDataset(path, version, asof=asof, storage_options=storage_options)
        except NotFound:
            if local:
                raise
    if version is not None or asof is not None:
        raise UsageError(f"{path}: only tables have versions")
    if os.path.isdir(path) if local else not path.endswith(".lance"):
        return Store(path, storage_options).dataset()
    return SnapshotRows(_pilum.open_file_snapshot(path, storage_options=storage_options or {}), path)


# What polars' predicates say, as far as it is certain that Pilum's SQL says the same or less. Its own form of them as JSON may
# change with any version: what is not recognised is left to polars.


def pushed_filter(predicate, schema: pa.Schema):
    """SQL text and parameters that hold for every row for which ``predicate`` does; None where nothing is known."""
    try:
        tree = json.loads(predicate.meta.serialize(format="json"))
    except Exception:  # functions of the user's have no such form
        return None
    params: Dict[str, Any] = {}
    text = _Weaker(schema, params).text(tree)
    return (text, params) if text else None


class _Weaker:
    def __init__(self, schema: pa.Schema, params: Dict[str, Any]):
        self._schema, self._params = schema, params

    def text(self, e) -> Optional[str]:
        try:
            kind, body = self._one(e)
            if kind == "BinaryExpr":
                return self._binary(body)
            if kind == "Function":
                return self._function(body)
            if kind == "Column" and self._schema.field(body).type == pa.bool_():
                return quoted(body)
        except (KeyError, TypeError, ValueError, IndexError, AttributeError):
            pass  # of a form that is not known here
        return None

    @staticmethod
    def _one(e) -> Tuple[str, Any]:
        ((kind, body),) = e.items()
        return kind, body

    def _binary(self, body) -> Optional[str]:
        op = body["op"]
        if op in ("And", "LogicalAnd", "Or", "LogicalOr"):
            sides = [self.text(body["left"]), self.text(body["right"])]
            if "And" in op:
                return " AND ".join(f"({s})" for s in sides if s) or None
            return f"({sides[0]}) OR ({sides[1]})" if all(sides) else None
        path, field = self._column(body["left"])
        return f"{path} {_COMPARE[op]} {self._value(body['right'], field)}"

    def _function(self, body) -> Optional[str]:
        kind, what = next(iter(body["function"].items()))
        inputs = body["input"]
        path, field = self._column(inputs[0])
        if kind == "StringExpr" and what in _TEXT:
            return f"{_TEXT[what]}({path}, {self._value(inputs[1], field)})"
        if kind != "Boolean":
            return None
        if what in ("IsNull", "IsNotNull"):
            return f"{path} IS {'NOT ' if what == 'IsNotNull' else ''}NULL"
        name, how = self._one(what)
        if name == "IsBetween":
            above, below = _CLOSED[how["closed"]]
            low, high = (self._value(i, field) for i in inputs[1:])
            return f"{path} {above} {low} AND {path} {below} {high}"
        if name == "IsIn" and not how["nulls_equal"]:
            values = self._constant(inputs[1])
            values = values.to_list() if hasattr(values, "to_list") else values
            return f"{path} IN ({', '.join(self._param(v, field) for v in values if v is not None)})"
        return None

    def _column(self, e) -> Tuple[str, pa.DataType]:
        kind, body = self._one(e)
        if kind == "Column":
            return quoted(body), self._schema.field(body).type
        if kind == "Function":
            _, what = self._one(body["function"])
            path, outer = self._column(body["input"][0])
            name = what["FieldByName"]
            return f"{path}.{quoted(name)}", outer.field(name).type
        raise ValueError(f"{kind} is no column")

    @staticmethod
    def _constant(e):
        """What an expression over no column is, as polars computes it."""
        import io

        import polars as pl

        if '"Column"' in json.dumps(e):
            raise ValueError("it depends on the row")
        return pl.select(pl.Expr.deserialize(io.StringIO(json.dumps(e)), format="json")).item()

    def _value(self, e, field: pa.DataType) -> str:
        return self._param(self._constant(e), field)

    def _param(self, value, field: pa.DataType) -> str:
        """A parameter, if the comparison of a column of this type with it means the same to both."""
        kind = type(value)
        if pa.types.is_integer(field) and kind is int:
            scalar = pa.scalar(value, field)  # out of its range: an error, and so left to polars
        elif pa.types.is_float64(field) and kind in (int, float):
            scalar = pa.scalar(float(value)) if kind is float or abs(value) < 1 << 53 else None
        elif pa.types.is_string(field) or pa.types.is_large_string(field):
            scalar = pa.scalar(value) if kind is str else None
        elif pa.types.is_date32(field):
            scalar = pa.scalar(value) if kind is datetime.date else None
        elif pa.types.is_timestamp(field) and field.tz is None and field.unit in ("ms", "us"):
            scalar = pa.scalar(value, pa.timestamp("us")) if kind is datetime.datetime and not value.tzinfo else None
        else:
            scalar = None
        if scalar is None:
            raise ValueError(f"{value!r} is not of {field}")
        name = f"value_{len(self._params)}"
        self._params[name] = scalar
        return ":" + name


__all__: List[str] = ["pushed_filter", "scan"]
