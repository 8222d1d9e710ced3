"""Tables from versions of tables, by pylance's names: branches, which live inside the table, and clones, which stand elsewhere."""

import os
import shutil
from typing import Dict, Optional

from . import _pilum
from .errors import NotFound
from .file import _storage


class Clones:
    """Mixed into LanceDataset."""

    def _at(self, reference):
        """The native table of a version: a number (of this branch), a tag, ``(branch, number or None)``; None: this one."""
        if reference is None:
            return self._table
        if isinstance(reference, int):
            reference = (self._table.branch or None, reference)
        return self._opened(reference)

    def create_branch(self, branch: str, reference=None, storage_options: Optional[Dict[str, str]] = None, *, sync: bool = True):
        """A history of its own that begins with a version of this table, and shares its files; gives its first version. Its later
        versions are made by the methods of what is given, or of ``checkout_version((branch, None))``.

        ``reference``: a version of this branch, a tag, ``(branch, version or None)``; this version when left out.
        Names are letters, digits, ``.``, ``-``, ``_`` and ``/``."""
        version = _pilum.branch_create(self._at(reference), branch, sync)
        return self._copy((branch, version))

    def shallow_clone(self, target_path, reference=None, storage_options: Optional[Dict[str, str]] = None, *, sync: bool = True, **how):
        """A table at ``target_path`` whose first version is one of this table, and reads its files where they are: moving this
        table, or cleaning that version up, breaks it. ``reference``: as of :meth:`create_branch`; ``how``: how it is opened."""
        return self._cloned(target_path, reference, storage_options, True, sync, how)

    def deep_clone(self, target_path, reference=None, storage_options: Optional[Dict[str, str]] = None, *, sync: bool = True, **how):
        """The same with its own copies of all files, streamed."""
        return self._cloned(target_path, reference, storage_options, False, sync, how)

    def _cloned(self, target, reference, storage_options, shallow: bool, sync: bool, how):
        from .table import LanceDataset, _absolute

        target = _absolute(os.fspath(target))
        storage = self._storage_options if storage_options is None else storage_options
        _pilum.table_clone(self._at(reference), target, shallow, _storage(target, storage), sync)
        return LanceDataset(target, storage_options=storage, **how)

    @staticmethod
    def drop(base_uri, storage_options: Optional[Dict[str, str]] = None, ignore_not_found: Optional[bool] = None) -> None:
        """Removes the table at ``base_uri``: every version, tag and branch, and whatever else lies in the folder. ``NotFound``, or with
        ``ignore_not_found`` nothing, where there is nothing; ``UsageError``, and nothing is removed, where no table opens."""
        from .table import _absolute

        uri = _absolute(base_uri)
        try:
            _pilum.table_drop(uri, _storage(uri, storage_options))
        except NotFound:
            if not ignore_not_found:
                raise
        else:
            if "://" not in uri:
                shutil.rmtree(uri, ignore_errors=True)  # the empty folders

    def guard_detached(self, *, sync: bool = True) -> None:
        """For tables with detached versions, where pylance or LanceDB clean up: makes the branch ``detached-guard``, which nobody can
        open. Their clean-up then fails and removes nothing (measured with pylance 14); all else goes on as before. Pilum's own
        clean-up spares detached versions by itself; where it meets the guard, and to end it: ``branches.delete("detached-guard")``."""
        _pilum.branch_guard(self._table, sync)

    def migrate_manifest_paths_v2(self) -> None:
        """Manifests of this branch get the names that pylance gives since 1. Nobody should commit meanwhile: until it is done the
        newest version opens nowhere. If it was interrupted, :func:`pilum.dataset_clone.migrate_manifest_paths_v2` ends it."""
        migrate_manifest_paths_v2(self._branch_uri(), self._storage_options)
        self._use(self._opened((self._table.branch or None, self.version)))


def migrate_manifest_paths_v2(uri, storage_options: Optional[Dict[str, str]] = None) -> int:
    """The same of a table, or of a branch's folder, that need not open. How many manifests were renamed."""
    uri = os.fspath(uri)
    return _pilum.migrate_manifest_names(uri, _storage(uri, storage_options))


class BranchWrites:
    """Mixed into Branches, which holds the dataset as ``_dataset``."""

    def create(self, branch: str, reference=None):
        """As :meth:`LanceDataset.create_branch`."""
        return self._dataset.create_branch(branch, reference)

    def delete(self, branch: str) -> None:
        """With all its versions. Not while branches that began on it, or tags of its versions, are there."""
        _pilum.branch_delete(self._dataset._table, branch)

    def replace_metadata(self, branch: str, metadata: Dict[str, str]) -> None:
        _pilum.branch_metadata(self._dataset._table, branch, dict(metadata))
