"""Equality of tables as the tests mean it: same names, types, and values, where NaN equals NaN."""

import numpy as np
import pyarrow as pa


def plain(value):
    """A value without the traces of how it was stored: for comparing what casts cannot bring together."""
    if isinstance(value, dict):
        return {k: plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    return value


def readable(t):
    """`t` with times as integers, so that Python values lose no nanoseconds."""
    if pa.types.is_timestamp(t) or pa.types.is_duration(t) or pa.types.is_time64(t) or pa.types.is_date64(t):
        return pa.int64()
    if pa.types.is_time32(t):
        return pa.int32()
    if pa.types.is_struct(t):
        return pa.struct([pa.field(f.name, readable(f.type)) for f in t])
    if pa.types.is_map(t):
        return pa.map_(readable(t.key_type), readable(t.item_type))
    if pa.types.is_large_list(t):
        return pa.large_list(readable(t.value_type))
    if pa.types.is_fixed_size_list(t):
        return pa.list_(readable(t.value_type), t.list_size)
    if pa.types.is_list(t):
        return pa.list_(readable(t.value_type))
    return t


def values(*columns):
    """Columns as Python values, comparable by repr."""
    try:
        columns = [c.cast(readable(c.type)) for c in columns]
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError):
        pass
    return [[plain(v) for v in c.to_pylist()] for c in columns]


def keys_out_of_range(array, visible):
    """Has a dictionary, at any depth, a key that names none of its items? Not where a null is, or something around it."""
    t = array.type
    if isinstance(array, pa.ExtensionArray):
        return keys_out_of_range(array.storage, visible)
    visible = visible & np.asarray(array.is_valid())
    if pa.types.is_dictionary(t):
        keys = array.indices.fill_null(0).to_numpy(zero_copy_only=False)[visible].astype(np.int64)
        return bool(len(keys)) and bool(keys.min() < 0 or keys.max() >= len(array.dictionary))
    if pa.types.is_struct(t):
        return any(keys_out_of_range(array.field(i), visible) for i in range(t.num_fields))
    if pa.types.is_list(t) or pa.types.is_large_list(t) or pa.types.is_map(t):
        ends = np.asarray(array.offsets).astype(np.int64)
        items = array.values if not pa.types.is_map(t) else pa.StructArray.from_arrays([array.keys, array.items], ["k", "v"])
        inside = np.zeros(len(items) + 1, np.int64)  # visible lists that begin here less those that end
        np.add.at(inside, ends[:-1][visible], 1)
        np.add.at(inside, ends[1:][visible], -1)
        return keys_out_of_range(items, np.cumsum(inside)[:-1] > 0)
    if pa.types.is_fixed_size_list(t):
        items = array.values.slice(array.offset * t.list_size, len(array) * t.list_size)
        return keys_out_of_range(items, np.repeat(visible, t.list_size))
    return False


def difference(got, want, types=True):
    """None when equal, else what differs first."""
    if got.schema.names != want.schema.names:
        return f"names {got.schema.names} != {want.schema.names}"
    if got.num_rows != want.num_rows:
        return f"{got.num_rows} rows != {want.num_rows}"
    for i, name in enumerate(want.schema.names):
        g, w = got.column(i), want.column(i)
        if types and g.type != w.type:
            return f"{name}: type {g.type} != {w.type}"
        if types and got.schema.field(i).nullable != want.schema.field(i).nullable:
            return f"{name}: nullability"
        if g.type == w.type and g.equals(w):
            continue
        if any(keys_out_of_range(c, np.ones(len(c), bool)) for c in g.chunks):  # to_pylist would end the process
            return f"{name} ({w.type}): a dictionary key is out of range"
        gl, wl = values(g, w)
        for row, (x, y) in enumerate(zip(gl, wl)):
            if repr(x) != repr(y):
                return f"{name} ({w.type}): row {row}: {repr(x)[:200]} != {repr(y)[:200]}"
    return None


def check(got, want, what, validate=True, **kwargs):
    if validate:
        got.validate(full=True)
    why = difference(got, want, **kwargs)
    assert why is None, f"{what}: {why}"
