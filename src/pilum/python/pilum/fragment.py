"""Fragments of a table, by pylance's names: some rows, and the data files that they are in."""

from typing import List, Optional

import pyarrow as pa
import pyarrow.dataset

from .commits import FragmentDeletes, create_fragment, write_fragments
from .errors import UnsupportedError, UsageError
from .fragment_columns import FragmentWrites
from .fragment_metadata import DataFile, DeletionFile, FragmentMetadata, RowDatasetVersionMeta, RowIdMeta, RowIdSequence
from .rows import Reads
from .scanner import Columns, Filter, LanceScanner


class LanceFragment(FragmentWrites, FragmentDeletes, Reads, pyarrow.dataset.Fragment):
    """Some rows of a version, and the files that they are in."""

    def __init__(self, dataset, fragment_id: Optional[int] = None, *, fragment: Optional[FragmentMetadata] = None):
        if fragment is None:
            fragment = next((f for f in dataset._metadata() if f.id == fragment_id), None)
        if fragment is None:
            raise UsageError(f"{dataset.uri}: version {dataset.version} has no fragment {fragment_id}")
        self._dataset = dataset
        self.metadata = fragment

    create = staticmethod(create_fragment)

    def __reduce__(self):
        return LanceFragment, (self._dataset, self.fragment_id)

    @property
    def fragment_id(self) -> int:
        return self.metadata.id

    @property
    def schema(self) -> pa.Schema:
        return self._dataset._table.schema

    physical_schema = schema

    @property
    def partition_expression(self):
        raise UnsupportedError("tables have no partitions: there is no partition_expression")

    @property
    def physical_rows(self) -> int:
        return self.metadata.physical_rows

    @property
    def num_deletions(self) -> int:
        return self.metadata.num_deletions

    def data_files(self) -> List[DataFile]:
        return self.metadata.files

    def deletion_file(self) -> Optional[str]:
        deleted = self.metadata.deletion_file
        return deleted.path(self.fragment_id) if deleted else None

    def count_rows(self, filter: Filter = None) -> int:  # noqa: A002
        if filter is None and not self._dataset._only:
            return self.metadata.num_rows
        return self.scanner(filter=filter).count_rows()

    def scanner(self, columns: Columns = None, filter: Filter = None, **how) -> LanceScanner:  # noqa: A002
        """As :meth:`LanceDataset.scanner`, of the rows of this fragment."""
        return self._dataset.scanner(columns, filter, fragments=[self], **how)

    def take(self, indices, columns: Columns = None) -> pa.Table:
        """Rows by number in the fragment, deleted ones not counted."""
        return self._dataset._take(indices, columns, [self.fragment_id])

    def validate(self) -> None:
        """Its files are there, open, and have the rows that the manifest says; raises what is wrong."""
        self._dataset._snapshot([self.fragment_id]).scan(self.schema.names, "", 1, 0).stream.read_table()

    def open_session(self, columns: Columns = None, with_row_address: bool = False) -> "FragmentSession":
        """For many takes of the same columns: the files stay open."""
        return FragmentSession(self, columns, bool(with_row_address))

    def __repr__(self) -> str:
        return f"LanceFragment(id={self.fragment_id}, data_files={[f.path for f in self.metadata.files]!r})"


class FragmentSession:
    """Takes of the same columns of one fragment, whose files stay open."""

    def __init__(self, fragment: LanceFragment, columns: Columns, with_row_address: bool):
        names = fragment.schema.names if columns is None else columns
        if with_row_address and not isinstance(names, dict):
            names = [*names, "_rowaddr"]
        elif with_row_address:
            names = {**names, "_rowaddr": "_rowaddr"}
        self._dataset, self._columns = fragment._dataset, names
        self._rows = fragment._dataset._snapshot([fragment.fragment_id])

    def take(self, indices) -> pa.Table:
        return self._dataset._take_from(self._rows, indices, self._columns)




__all__ = [
    "DataFile", "DeletionFile", "FragmentMetadata", "FragmentSession", "LanceFragment", "RowDatasetVersionMeta", "RowIdMeta",
    "RowIdSequence", "write_fragments",
]  # fmt: skip
