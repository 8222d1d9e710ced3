"""Rows into Lance tables, by pylance's names.

    >>> ds = pilum.write_dataset(rows, "flights.lance", mode="append", commit_message="of today")

A call that returns was committed, and is on disk: data files, transaction, manifest and their folders are synced (``sync=False``
leaves that to the system).
"""

from contextlib import ExitStack, contextmanager, nullcontext
from typing import Any, Dict, Iterable, Optional

import pyarrow as pa

from . import _pilum
from .blob_values import write_options
from .errors import ConflictError, NotFound, UnsupportedError
from .file import _storage

_MODES = ("create", "append", "overwrite")
_VERSIONS = {None: "", "stable": "2.2", "next": "2.3", "legacy": "0.1"}
LANCE_COMMIT_MESSAGE_KEY = _MESSAGE = "__lance_commit_message"

# Settings of pylance's that change how, never what.
_TUNING = {"max_rows_per_group", "data_cache_bytes", "session"}
_PLACES = ("initial_bases", "target_bases", "target_all_bases")
_BLOBS = ("external_blob_mode", "allow_external_blob_outside_bases", "blob_pack_file_size_threshold")


def _refuse(given: Dict[str, Any]) -> None:
    for name, value in given.items():
        if name not in _TUNING and value is not None:
            raise UnsupportedError(f"{name} is not supported by Pilum yet; leave it out")


def locked(commit_lock, dataset, path: str, storage_options):
    """The context that a commit happens in: ``commit_lock`` of the number that the version will have, if it is given."""
    if commit_lock is None:
        return nullcontext()
    if not callable(commit_lock):
        raise TypeError(f"commit_lock must be a function, got {type(commit_lock)}")
    from .dataset import LanceDataset

    try:
        at = LanceDataset(path, storage_options=storage_options) if dataset is None else dataset
        number = at.latest_version + 1
    except NotFound:
        number = 1
    return _entered(commit_lock, number)


@contextmanager
def _entered(commit_lock, number: int):
    with ExitStack() as stack:
        try:
            stack.enter_context(commit_lock(number))
        except ConflictError as first:
            if str(first):
                raise
            raise type(first)(f"CommitConflictError: the commit lock did not give version {number}") from first
        yield


def refuse_unknown(given: Dict[str, Any], tuning) -> None:
    _refuse({name: value for name, value in given.items() if name not in tuning})


def data_version(name: Optional[str]) -> str:
    """"2.1" of pylance's names of versions; none: the table's own."""
    return _VERSIONS.get(name, name)


def properties(message: Optional[str], given: Optional[Dict[str, str]]) -> Dict[str, str]:
    """What is kept with a transaction."""
    out = dict(given or {})
    if message is not None:
        out[_MESSAGE] = message
    for key, value in out.items():
        if not isinstance(key, str) or not isinstance(value, str):
            raise TypeError(f"transaction properties are texts by name: {key!r}: {value!r}")
    return out


def _frame(data, schema: Optional[pa.Schema]) -> pa.Table:
    table = pa.Table.from_pandas(data, schema=schema)
    return table.replace_schema_metadata(None)  # pandas' own facts are not the table's


def as_reader(data, schema: Optional[pa.Schema] = None):
    """(schema, pyarrow.Table) or (schema, iterator of batches), of all that pylance writes."""
    if hasattr(data, "scanner") and not isinstance(data, pa.Table):  # a dataset, pyarrow's, pylance's or ours
        data = data.scanner()
    if hasattr(data, "to_reader") and not isinstance(data, pa.Table):
        data = data.to_reader()
    if isinstance(data, dict):
        data = pa.Table.from_pydict(data, schema=schema)
    elif isinstance(data, list) and data and isinstance(data[0], dict):
        data = pa.Table.from_pylist(data, schema=schema)
    elif type(data).__module__.startswith("pandas") and hasattr(data, "columns"):
        data = _frame(data, schema)
    if isinstance(data, pa.RecordBatch):
        data = pa.Table.from_batches([data])
    if isinstance(data, pa.Table):
        return data.schema, data
    if isinstance(data, pa.RecordBatchReader):
        return data.schema, iter(data)
    if hasattr(data, "__arrow_c_stream__"):
        reader = pa.RecordBatchReader.from_stream(data)
        return reader.schema, iter(reader)
    if isinstance(data, Iterable):
        if schema is None:
            raise ValueError("Must provide schema to write dataset from RecordBatch iterable")
        return schema, (_cast(batch, schema) for batch in data)
    raise TypeError(
        f"Unknown data type {type(data)}. Please check that it is a pyarrow Table, RecordBatch, RecordBatchReader or "
        "dataset, a pandas DataFrame, or has __arrow_c_stream__"
    )


def _cast(batch, schema: pa.Schema):
    """A batch of an iterator whose schema was given, as that: columns by name, cast where nothing is lost."""
    if not isinstance(batch, pa.RecordBatch) or batch.schema.equals(schema):
        return batch
    if set(batch.schema.names) != set(schema.names) or len(batch.schema.names) != len(schema.names):
        return batch  # the write says what does not fit
    if all(batch.schema.field(f.name).type.equals(f.type) for f in schema):
        return batch
    return batch.select(schema.names).cast(schema)


def _base(base) -> Dict[str, Any]:
    from .table import _absolute

    return {"path": _absolute(base.path), "name": base.name, "is_dataset_root": bool(base.is_dataset_root), "id": base.id}


def places(initial_bases=None, target_bases=None, target_all_bases=None) -> Dict[str, Any]:
    """Options that say where data files go."""
    out: Dict[str, Any] = {}
    if initial_bases:
        out["initial_bases"] = [_base(base) for base in initial_bases]
    if target_bases:
        out["target_bases"] = [str(name) for name in target_bases]
    if target_all_bases is not None:
        out.update(target_all_bases=True, target_own=bool(target_all_bases))
    return out


def watching(progress, fragment_id: int = 0) -> Dict[str, Any]:
    """Options that tell ``progress``, a :class:`pilum.progress.FragmentWriteProgress`."""
    if progress is None:
        return {}
    from .fragment_metadata import FragmentMetadata, from_native

    def watch(fragment) -> None:
        if fragment is None:
            progress.begin(FragmentMetadata(fragment_id, [], None))
        else:
            whole = from_native(fragment)
            whole.id = fragment_id
            progress.complete(whole)

    return {"watch": watch}


def _config(options) -> Dict[str, str]:
    """Config keys that pylance makes of auto_cleanup_options."""
    if options is None:
        return {}
    given = options if isinstance(options, dict) else vars(options)
    out = {}
    if given.get("interval") is not None:
        out["lance.auto_cleanup.interval"] = str(given["interval"])
    if given.get("older_than_seconds") is not None:
        out["lance.auto_cleanup.older_than"] = f"{given['older_than_seconds']}s"
    return out


def _native_options(
    mode="append", max_rows_per_file=1024 * 1024, max_bytes_per_file=90 * 1024**3, max_page_bytes=None,
    data_storage_version=None, enable_v2_manifest_paths=True, enable_stable_row_ids=False, auto_cleanup_options=None,
    kept=None, sync=True, skip_auto_cleanup=False,
) -> Dict[str, Any]:  # fmt: skip
    return {
        "mode": mode,
        "max_rows_per_file": max_rows_per_file,
        "max_bytes_per_file": max_bytes_per_file,
        "page_bytes": max_page_bytes,
        "data_version": data_version(data_storage_version),
        "v1_names": not enable_v2_manifest_paths,
        "stable_row_ids": enable_stable_row_ids,
        "config": _config(auto_cleanup_options),
        "properties": kept,
        "sync": sync,
        "skip_auto_cleanup": skip_auto_cleanup,
    }


def staging_options(mode: str, how: Dict[str, Any]) -> Dict[str, Any]:
    """``how``: arguments of :func:`write_dataset` that say how files are written."""
    names = {"max_rows_per_file", "max_bytes_per_file", "max_page_bytes", "data_storage_version", "sync"}
    how = dict(how)
    if how.get("use_legacy_format") is not None:
        how["data_storage_version"] = "legacy" if how["use_legacy_format"] else "stable"
    refuse_unknown(how, {*names, *_PLACES, *_BLOBS, "use_legacy_format", "enable_stable_row_ids"})
    if mode not in _MODES:
        raise ValueError(f"Invalid mode {mode}")
    named = {name: how[name] for name in names if name in how}
    blobs = write_options(**{name: how[name] for name in _BLOBS if name in how})
    return {**_native_options(mode, **named), **places(**{name: how.get(name) for name in _PLACES}), **blobs}


def write_dataset(
    data_obj,
    uri=None,
    schema: Optional[pa.Schema] = None,
    mode: str = "create",
    *,
    max_rows_per_file: int = 1024 * 1024,
    max_bytes_per_file: int = 90 * 1024**3,
    max_page_bytes: Optional[int] = None,
    storage_options: Optional[Dict[str, str]] = None,
    data_storage_version: Optional[str] = None,
    use_legacy_format: Optional[bool] = None,
    enable_v2_manifest_paths: bool = True,
    enable_stable_row_ids: bool = False,
    auto_cleanup_options=None,
    commit_message: Optional[str] = None,
    transaction_properties: Optional[Dict[str, str]] = None,
    sync: bool = True,
    commit_lock=None,
    progress=None,
    initial_bases=None,
    target_bases=None,
    target_all_bases: Optional[bool] = None,
    external_blob_mode: str = "reference",
    allow_external_blob_outside_bases: bool = False,
    blob_pack_file_size_threshold: Optional[int] = None,
    skip_auto_cleanup: bool = False,
    **others,
):
    """Writes rows and gives the new version, as a :class:`pilum.LanceDataset`.

    Parameters
    ----------
    data_obj:
        A pyarrow Table, RecordBatch, reader or dataset, a pandas DataFrame, a list or dict of values, an iterable of
        batches with ``schema``, or anything with ``__arrow_c_stream__``. Streams are written as they come.
    uri:
        The table's folder or URI, or a :class:`pilum.LanceDataset` whose branch is written to. ``memory://``: :mod:`pilum.memory`.
    mode:
        "create" (an error where there is a table), "append", or "overwrite"; the last two make a table where there is none.
    max_rows_per_file, max_bytes_per_file:
        Where a data file ends and the next fragment begins; bytes are looked at after each batch.
    data_storage_version:
        "2.0", "2.1" or "2.2" (the default of new tables; others go on with theirs).
    enable_v2_manifest_paths, enable_stable_row_ids, auto_cleanup_options:
        Of new tables, as in pylance.
    commit_message, transaction_properties:
        Kept with what made the version: ``read_transaction``.
    commit_lock:
        A function that is given the number that the version will have and gives a context manager: the write happens in it.
    progress:
        A :class:`pilum.progress.FragmentWriteProgress`, told as each fragment's file is begun and whole.
    initial_bases:
        Of a new table: a list of :class:`pilum.DatasetBasePath`, folders elsewhere that data files may lie in.
    target_bases, target_all_bases:
        Which of them, by name or path, the new data files go to, one to each in turn; or to all, True: and to the table's own
        folder, False: without it. The table's own folder when left out. Deletions and manifests stay with the table.
    external_blob_mode:
        Blobs that are given by URI (:func:`pilum.blob_array`) stay where they are ("reference"), or are read and written as if
        their bytes were given ("ingest").
    allow_external_blob_outside_bases:
        URIs may lie below no base path of the table: they are stored whole.
    blob_pack_file_size_threshold:
        Most bytes of a file that several blobs share, whatever their columns say.
    skip_auto_cleanup:
        The commit does not clean up, whatever the table's config asks for.
    sync:
        On disk before the call returns. Without it a power cut may take what was acknowledged.

    Raises ``UsageError`` where columns do not fit the table, ``RetryableConflictError`` or ``ConflictError`` where others
    committed first what this cannot follow on.
    """
    from .dataset import LanceDataset
    from .memory import is_memory, place_for
    from .table import _absolute

    _refuse(others)
    if mode not in _MODES:
        raise ValueError(f"Invalid mode {mode}")
    if uri is None:
        raise ValueError("Must specify 'uri': the table's folder, or a LanceDataset")
    if use_legacy_format is not None:
        data_storage_version = "legacy" if use_legacy_format else "stable"
    table = None
    if isinstance(uri, LanceDataset):
        base, table = uri, uri._table
        commit_lock = commit_lock or base._commit_lock
        path, storage_options = base._uri, storage_options
    elif is_memory(uri):
        path, place = place_for(uri, mode)  # held to the end of the call
    else:
        path = _absolute(uri)
    options = _native_options(
        mode, max_rows_per_file, max_bytes_per_file, max_page_bytes, data_storage_version, enable_v2_manifest_paths,
        enable_stable_row_ids, auto_cleanup_options, properties(commit_message, transaction_properties), sync,
        skip_auto_cleanup,
    )  # fmt: skip
    reader_schema, batches = as_reader(data_obj, schema)
    options.update(places(initial_bases, target_bases, target_all_bases), **watching(progress))
    options.update(write_options(external_blob_mode, allow_external_blob_outside_bases, blob_pack_file_size_threshold))
    with locked(commit_lock, base if table is not None else None, path, storage_options):
        version, _ = _pilum.table_write(
            table, path, reader_schema, batches, options, _storage(path, storage_options)
        )
    if table is not None:
        return base.checkout_version(version)
    return LanceDataset(path, version, storage_options=storage_options)


__all__ = ["write_dataset"]
