"""Rows of a table changed in place: ``update`` of :class:`pilum.LanceDataset`, by pylance's names."""

from datetime import timedelta
from typing import Dict, Optional

from . import _pilum
from .store import _params
from .write import data_version


def _retries(conflict_retries: int, retry_timeout: timedelta) -> Dict[str, float]:
    return {"max_redo": conflict_retries, "redo_seconds": retry_timeout.total_seconds()}


class Updates:
    """Mixed into LanceDataset."""

    def update(
        self,
        updates: Dict[str, str],
        where=None,
        conflict_retries: int = 10,
        retry_timeout: timedelta = timedelta(seconds=30),
        data_storage_version: Optional[str] = None,
        *,
        sync: bool = True,
    ) -> Dict[str, int]:
        """Sets columns of the rows for which ``where``, SQL text or a pyarrow expression, is true (all rows without it) to
        the values of SQL expressions over the row as it was, each cast to its column's type: ``ds.update({"a": "a + 1"},
        where="b = 'x'")``. The rows move to the end of the table, with their ids where the table's are stable; where
        others changed some of them first, it is done again on their version. Gives ``{"num_rows_updated": n}``."""
        from .expressions import where as as_text  # which takes time to load

        for column, sql in updates.items():
            if not isinstance(sql, str):
                raise TypeError(f"the value of column '{column}' is SQL text, not a {type(sql).__name__}")
        text, params = as_text(where)
        options = {
            **_retries(conflict_retries, retry_timeout),
            "data_version": data_version(data_storage_version),
            "sync": sync,
        }
        version, rows = _pilum.table_update(self._table, list(updates.items()), text, options, _params(params))
        self._move(version)
        return {"num_rows_updated": rows}
