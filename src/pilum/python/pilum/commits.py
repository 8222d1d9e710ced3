"""Writing in two steps, by pylance's names: rows into files (:func:`write_fragments`), perhaps by many processes, and then one
commit (:meth:`LanceDataset.commit`) that puts them into the table."""

import os
from typing import Any, Dict, List, Optional, Sequence, Union

import pyarrow as pa

from . import _pilum
from .errors import UsageError
from .file import _storage
from .fragment_metadata import FragmentMetadata, from_native
from .operations import LanceOperation, Transaction, from_wire, is_known, to_wire
from .store import _params
from .write import as_reader, locked, properties, refuse_unknown, staging_options, watching

_DETACHED = 1 << 63


def _target(base, storage_options: Optional[Dict[str, str]]):
    """(dataset or None, its native table or None, path, its storage options)"""
    from .table import LanceDataset, _absolute

    if isinstance(base, LanceDataset):
        return base, base._table, base._uri, base._storage_options if storage_options is None else storage_options
    if not isinstance(base, (str, os.PathLike)):
        raise TypeError(f"base_uri must be str, Path, or LanceDataset, got {type(base)}")
    return None, None, _absolute(base), storage_options


def _opened(base, path: str, version: int, storage_options):
    from .table import LanceDataset

    if base is not None:
        return base._copy((base._table.branch or None, version))
    return LanceDataset(path, version, storage_options=storage_options)


def _options(enable_v2_manifest_paths, detached, max_retries, enable_stable_row_ids, sync, check_files, skip_auto_cleanup) -> Dict[str, Any]:
    return {
        "v1_names": enable_v2_manifest_paths is False,
        "detached": bool(detached),
        "max_retries": max_retries,
        "stable_row_ids": enable_stable_row_ids,
        "sync": sync,
        "check_files": check_files,
        "skip_auto_cleanup": skip_auto_cleanup,
    }


class Commits:
    """Mixed into LanceDataset."""

    @staticmethod
    def commit(
        base_uri,
        operation: Union[LanceOperation.BaseOperation, Transaction],
        read_version: Optional[int] = None,
        commit_lock=None,
        storage_options: Optional[Dict[str, str]] = None,
        enable_v2_manifest_paths: Optional[bool] = None,
        detached: Optional[bool] = False,
        max_retries: int = 20,
        *,
        commit_message: Optional[str] = None,
        enable_stable_row_ids: Optional[bool] = None,
        check_files: bool = True,
        sync: bool = True,
        skip_auto_cleanup: bool = False,
        **others,
    ):
        """Makes a version of an operation whose files are there, and gives it.

        Parameters
        ----------
        base_uri:
            The table's folder, or a :class:`pilum.LanceDataset`, whose branch is committed to.
        operation, read_version:
            What was done, and the version that it was done on (not needed to overwrite or restore). Or a
            :class:`pilum.Transaction`, which says both. What others committed since is looked at: ``RetryableConflictError`` and
            ``ConflictError`` as docs/formats/table.md, "Conflicts", has them.
        detached:
            The version is beside the history: no listing names it, only its number (``.version``) opens it, and what follows on
            it is detached too. Clean-up by Pilum spares it; by pylance and LanceDB it keeps its manifest and loses the files that
            it alone names, unless :meth:`guard_detached` was called.
        commit_lock:
            A function that is given the number that the version will have and gives a context manager: the commit happens in it.
        check_files:
            Files that the operation brings must be there, of the size that it says.
        enable_v2_manifest_paths, enable_stable_row_ids:
            Of a new table.
        skip_auto_cleanup:
            The commit does not clean up, whatever the table's config asks for.
        """
        refuse_unknown(others, {"commit_timeout", "namespace_client_managed_versioning"})
        base, table, path, storage = _target(base_uri, storage_options)
        if isinstance(operation, Transaction):
            if commit_message is not None:
                raise ValueError(
                    "commit_message is not supported when calling commit with a Transaction.  Set the message on the transaction "
                    "properties instead."
                )
            transaction = operation
        elif isinstance(operation, LanceOperation.BaseOperation):
            free = isinstance(operation, (LanceOperation.Overwrite, LanceOperation.Restore))
            if read_version is None and not free:
                raise ValueError("read_version is required for all operations except Overwrite and Restore")
            transaction = Transaction(read_version or 0, operation, transaction_properties=properties(commit_message, None))
        else:
            raise TypeError(f"operation must be a LanceOperation.BaseOperation or Transaction, got {type(operation)}")
        if not is_known(transaction.operation):
            raise ValueError(f"Unsupported operation: {transaction.kind}")
        options = _options(enable_v2_manifest_paths, detached, max_retries, enable_stable_row_ids, sync, check_files, skip_auto_cleanup)
        with locked(commit_lock or getattr(base, "_commit_lock", None), base, path, storage):
            version = _pilum.table_commit(table, path, to_wire(transaction), options, _storage(path, storage))
        return _opened(base, path, version, storage)

    @staticmethod
    def commit_batch(
        dest,
        transactions: Sequence[Transaction],
        commit_lock=None,
        storage_options: Optional[Dict[str, str]] = None,
        enable_v2_manifest_paths: Optional[bool] = None,
        detached: Optional[bool] = False,
        max_retries: int = 20,
        *,
        check_files: bool = True,
        sync: bool = True,
        skip_auto_cleanup: bool = False,
        **others,
    ) -> Dict[str, Any]:
        """Many appends as one version: ``{"dataset": …, "merged": Transaction}``."""
        refuse_unknown(others, {"commit_timeout"})
        base, table, path, storage = _target(dest, storage_options)
        options = _options(enable_v2_manifest_paths, detached, max_retries, None, sync, check_files, skip_auto_cleanup)
        native = [to_wire(t) for t in transactions]
        with locked(commit_lock or getattr(base, "_commit_lock", None), base, path, storage):
            version, merged = _pilum.table_commit_batch(table, path, native, options, _storage(path, storage))
        dataset = _opened(base, path, version, storage)
        made = dataset.read_transaction(version)
        return {"dataset": dataset, "merged": made or from_wire(merged)}


class FragmentDeletes:
    """Mixed into LanceFragment, which holds the dataset as ``_dataset``."""

    def delete(self, predicate) -> Optional[FragmentMetadata]:
        """Writes a deletion file and commits nothing: gives the fragment with it, for ``updated_fragments`` of a
        ``LanceOperation.Delete``. None: no row would be left, and its id belongs into ``deleted_fragment_ids``."""
        from .expressions import where  # which takes time to load

        text, params = where(predicate)
        return _fragment_or_none(_pilum.fragment_delete(self._dataset._table, self.fragment_id, text, _params(params)))

    def delete_rows(self, offsets) -> Optional[FragmentMetadata]:
        """The same of rows by their places in the fragment, deleted ones counted."""
        return _fragment_or_none(_pilum.fragment_delete_rows(self._dataset._table, self.fragment_id, list(offsets)))


def _fragment_or_none(found) -> Optional[FragmentMetadata]:
    return None if found is None else from_native(found)


def write_fragments(
    data,
    dataset_uri,
    schema: Optional[pa.Schema] = None,
    *,
    return_transaction: bool = False,
    mode: str = "append",
    storage_options: Optional[Dict[str, str]] = None,
    progress=None,
    _fragment_id: int = 0,
    **how,
) -> Union[List[FragmentMetadata], Transaction]:
    """Writes rows into data files, and commits nothing: gives their fragments, or with ``return_transaction`` the transaction that
    would. They are on disk when it returns. ``progress`` and ``how``: as of :func:`pilum.write_dataset`.

    ``mode`` "append" holds them against the table's schema, and numbers fields as the table does; "create" and "overwrite" number
    them anew."""
    base, table, path, storage = _target(dataset_uri, storage_options)
    options = {**staging_options(mode, how), **watching(progress, _fragment_id)}
    reader_schema, batches = as_reader(data, schema)
    staged = from_wire(_pilum.table_stage(table, path, reader_schema, batches, options, _storage(path, storage)))
    return staged if return_transaction else staged.operation.fragments


def create_fragment(dataset_uri, data, fragment_id: Optional[int] = None, schema=None, **how) -> FragmentMetadata:
    """All rows as one fragment."""
    how = {**how, "max_rows_per_file": 2**62, "max_bytes_per_file": 2**62}
    fragments = write_fragments(data, dataset_uri, schema, _fragment_id=fragment_id or 0, **how)
    if not fragments:
        raise UsageError("there are no rows, and so no fragment")
    fragments[0].id = fragment_id or 0
    return fragments[0]


__all__ = ["Commits", "FragmentDeletes", "create_fragment", "write_fragments"]
