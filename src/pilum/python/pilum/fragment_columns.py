"""Columns of a fragment that one process writes and another commits, by pylance's names. Nothing
here makes a version; files that no commit names are for clean-up to take."""

from typing import List, Optional, Tuple, Union

import pyarrow as pa

from . import _pilum
from .dataset_columns import as_transform
from .errors import UnsupportedError
from .fragment_metadata import DataFile, FragmentMetadata, from_native
from .operations import from_wire
from .schema import LanceSchema
from .udf import Computed
from .write import as_reader


class FragmentWrites:
    """Mixed into LanceFragment."""

    def _added(self, merge) -> Tuple[FragmentMetadata, LanceSchema]:
        operation = from_wire(merge).operation
        return operation.fragments[0], operation.schema

    def merge_columns(
        self,
        value_func,
        columns: Optional[List[str]] = None,
        batch_size: Optional[int] = None,
        reader_schema: Optional[pa.Schema] = None,
    ) -> Tuple[FragmentMetadata, LanceSchema]:
        """The fragment with columns added as :meth:`LanceDataset.add_columns` would, and the schema of the table then: for
        ``LanceOperation.Merge``, with those of all fragments."""
        what = as_transform(value_func, columns, reader_schema, self, batch_size)
        table, number = self._dataset._table, self.fragment_id
        if isinstance(what, pa.Schema):
            raise UnsupportedError("columns of NULLs need no file: add them to the dataset")
        if isinstance(what, list):
            return self._added(_pilum.table_fragment_add_sql(table, number, what, batch_size))
        if isinstance(what, Computed):
            if what.udf.cache is not None:
                raise ValueError(
                    "A checkpoint file cannot be used when applying a UDF with LanceFragment.merge_columns.  You must apply your "
                    "own checkpointing for fragment-level operations."
                )
            return self._added(
                _pilum.table_fragment_add_read(table, number, what.learn_schema(self), what.batches(self._dataset, [number]))
            )
        return self._added(_pilum.table_fragment_add_read(table, number, *what))

    add_columns = merge_columns

    def merge(self, data_obj, left_on: str, right_on: Optional[str] = None, schema=None) -> Tuple[FragmentMetadata, LanceSchema]:
        """The fragment with the columns of ``data_obj`` added where keys meet, as :meth:`LanceDataset.merge` would."""
        right_on = left_on if right_on is None else right_on
        reader = as_reader(data_obj, schema)
        return self._added(_pilum.table_fragment_join(self._dataset._table, self.fragment_id, *reader, left_on, right_on))

    def update_columns(
        self, data_obj, left_on: str = "_rowid", right_on: Optional[str] = None, schema=None, *, with_offsets: bool = False
    ) -> Union[Tuple[FragmentMetadata, List[int]], Tuple[FragmentMetadata, List[int], bytes]]:
        """The fragment with other values in the columns that ``data_obj`` has beside its key, where keys meet, and the ids of
        the fields: for ``LanceOperation.Update``. ``with_offsets``: also which rows these are, as a Roaring bitmap."""
        right_on = left_on if right_on is None else right_on
        reader = as_reader(data_obj, schema)
        fragment, fields, offsets = _pilum.table_fragment_update(
            self._dataset._table, self.fragment_id, *reader, left_on, right_on
        )
        return (from_native(fragment), fields, offsets) if with_offsets else (from_native(fragment), fields)

    @staticmethod
    def create_from_file(filename: str, dataset, fragment_id: int) -> FragmentMetadata:
        """A fragment of a Lance file that lies in the dataset's ``data`` folder."""
        file = DataFile.create(dataset, filename)
        return FragmentMetadata(fragment_id, [file], dataset._reader(file.path, file.base_id).num_rows)
