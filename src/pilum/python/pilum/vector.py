"""Vectors as tables, by pylance's names."""

from typing import List, Optional, Sequence, Union

import pyarrow as pa


def _dimensions(vectors, ndim: Optional[int]) -> Optional[int]:
    for v in vectors:
        if ndim is not None and len(v) != ndim:
            raise ValueError(f"Expected {ndim} dimensions but got {len(v)} for {v}")
        ndim = len(v)
    return ndim


def vec_to_table(
    data,
    names: Union[None, str, Sequence[str]] = None,
    ndim: Optional[int] = None,
    check_ndim: bool = True,
) -> pa.Table:
    """Vectors as a column of fixed-size lists of float32: of a dict with its keys beside them (columns ``id`` and ``vector``, or the
    two ``names``), or of a list or a numpy array with a vector a row (column ``vector``). ``ndim``: what all must have."""
    import numpy as np

    keyed = isinstance(data, dict)
    if not keyed and not isinstance(data, (list, np.ndarray)):
        raise NotImplementedError(f"data must be a dict, a list or a numpy array, not {type(data).__name__}")
    wanted = 2 if keyed else 1
    columns: List[str] = ["id", "vector"][-wanted:] if names is None else [names] if isinstance(names, str) else list(names)
    if len(columns) != wanted:
        raise ValueError(f"names must be {wanted} here, not {len(columns)}")
    vectors = list(data.values()) if keyed else data
    if check_ndim or ndim is None:
        ndim = _dimensions(vectors if check_ndim else vectors[:1], ndim)
    if ndim is None:
        raise ValueError("there are no vectors; their dimension is not known")
    values = np.asarray(vectors, dtype="float32").ravel()
    arrays = [pa.FixedSizeListArray.from_arrays(values, ndim)]
    return pa.Table.from_arrays([pa.array(list(data))] * keyed + arrays, names=columns)


__all__ = ["vec_to_table"]
