"""Filters and expressions of others as Pilum's SQL."""

from typing import Any, Dict, Optional, Tuple

import pyarrow as pa
import pyarrow.compute as pc

from . import _pilum
from .errors import UnsupportedError


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def where(filter) -> Tuple[str, Optional[Dict[str, Any]]]:  # noqa: A002
    """A filter as text and its parameters. Text stays as it is, as do pairs of text and parameters; of a list, all hold;
    nothing gives ""."""
    if filter is None or isinstance(filter, str):
        return filter or "", None
    if isinstance(filter, tuple):
        return filter
    if isinstance(filter, pc.Expression):
        return translated(filter)
    if not isinstance(filter, list):
        raise UnsupportedError(f"a filter is SQL text or a pyarrow expression, not a {type(filter).__name__}")
    parts, params = [], {}
    for one in filter:
        text, values = translated(one, len(params)) if isinstance(one, pc.Expression) else where(one)
        parts.append(f"({text})")
        params.update(values or {})
    return " AND ".join(parts), params or None


def translated(expression: pc.Expression, first: int = 0) -> Tuple[str, Dict[str, Any]]:
    """The same in SQL, and its literals as parameters, named with numbers from ``first``."""
    # Arrow's own form of an expression, which pickle uses, has all of it; Substrait lacks most functions.
    try:
        _, (serialized,) = expression.__reduce__()
    except pa.ArrowNotImplementedError as e:
        raise UnsupportedError(f"this pyarrow expression cannot be translated to SQL: {e}; name fields, not numbers") from None
    return _pilum.expression_sql(serialized.to_pybytes(), first)
