"""Keeping a table small: what takes away old versions and what nothing needs, by pylance's names."""

import warnings
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Dict, List, Optional, Tuple, TypedDict, Union

from . import _pilum
from .errors import UsageError

_FORTNIGHT = timedelta(days=14)


class AutoCleanupConfig(TypedDict):
    """For ``write_dataset(auto_cleanup_options=…)``: every so many versions, those older than that go."""

    interval: int
    older_than_seconds: int


@dataclass
class CleanupStats:
    """What a clean-up removed."""

    bytes_removed: int = 0
    old_versions: int = 0
    data_files_removed: int = 0
    transaction_files_removed: int = 0
    index_files_removed: int = 0
    deletion_files_removed: int = 0
    temporary_files_removed: int = 0
    failed_deletes: int = 0


@dataclass
class CleanupCandidateFile:
    """A file that would go: its path below the table's root, and why. ``unverified``: no version ever named it."""

    path: str
    kind: str
    unverified: bool
    size_bytes: int
    reason: str


@dataclass
class CleanupReferencedBranch:
    name: str
    referenced_version: int
    cleanup_candidate: bool = False


@dataclass
class CleanupExplanation:
    """What a clean-up would do. ``versions`` go; ``remaining_files``: nothing needs them, but they are too young."""

    read_version: int
    stats: CleanupStats
    versions: List[int] = field(default_factory=list)
    tags: List[str] = field(default_factory=list)
    candidate_files: List[CleanupCandidateFile] = field(default_factory=list)
    candidate_files_truncated: bool = False
    candidate_file_limit: int = 0
    remaining_files: List[CleanupCandidateFile] = field(default_factory=list)
    referenced_branches: List[CleanupReferencedBranch] = field(default_factory=list)
    warnings: List[str] = field(default_factory=list)


@dataclass
class Maintenance:
    """What :meth:`LanceDataset.maintain` did. ``uncovered``: indices, and how many fragments each does not cover."""

    version: int
    fragments_removed: int
    fragments_added: int
    stats: CleanupStats
    uncovered: Dict[str, int]


@dataclass
class MaintenancePlan:
    """What it would do: ``tasks`` are (fragments that are put together, their rows, why)."""

    tasks: List[Tuple[List[int], int, str]]
    cleanup: CleanupExplanation
    uncovered: Dict[str, int]


def _micros(age: Optional[Union[timedelta, float]]) -> Optional[int]:
    if age is None:
        return None
    return (age if isinstance(age, timedelta) else timedelta(seconds=age)) // timedelta(microseconds=1)


def _stats(said: Dict[str, Any]) -> CleanupStats:
    first = said.pop("first_failure")
    out = CleanupStats(**said)
    if out.failed_deletes:
        warnings.warn(f"{out.failed_deletes} files could not be removed, the first because {first}; clean up again", stacklevel=3)
    return out


def _policy(
    older_than, retain_versions, versions, roots, clones, in_flight, *, delete_unverified, detached, error_if_tagged, rate_limit=None
) -> Dict[str, Any]:
    if retain_versions is not None and retain_versions <= 0:
        raise UsageError(f"retain_versions must be greater than 0, got {retain_versions}")
    if versions is not None and not versions:
        raise UsageError("versions must not be empty when specified")
    if older_than is None and retain_versions is None and versions is None:
        older_than = _FORTNIGHT
    return {
        "older_than": _micros(older_than), "retain": retain_versions, "versions": versions, "roots": list(roots or []),
        "clones": list(clones or []), "in_flight": _micros(in_flight), "delete_unverified": delete_unverified,
        "detached_too": detached, "error_if_tagged": error_if_tagged, "rate_limit": rate_limit,
    }  # fmt: skip


class Upkeep:
    """Mixed into LanceDataset."""

    def cleanup_old_versions(
        self,
        older_than: Optional[timedelta] = None,
        retain_versions: Optional[int] = None,
        *,
        delete_unverified: bool = False,
        error_if_tagged_old_versions: bool = True,
        delete_rate_limit: Optional[int] = None,
        versions: Optional[List[int]] = None,
        delete_concurrency: Optional[int] = None,
        roots: Optional[List[int]] = None,
        detached: bool = False,
        clones: Optional[List[str]] = None,
        in_flight: timedelta = timedelta(days=7),
        dry_run: bool = False,
    ) -> Union[CleanupStats, CleanupExplanation]:
        """Removes versions of this branch, and the files that no version needs any more.

        Parameters
        ----------
        older_than, retain_versions, versions:
            Which versions go: those of that age, all but the newest so many, those; all that are given must hold. Without any, those
            older than two weeks. This version and all newer ones stay.
        delete_unverified:
            Also files that no version ever named, at any age: only where nobody is writing. Else they go when they are
            as old as ``in_flight``, because a write may be under way.
        error_if_tagged_old_versions:
            Where a version that would go has a tag, the call fails and nothing goes. False: tagged ones stay, the rest goes.
        delete_rate_limit:
            Files a second, at most.
        roots:
            Versions that stay whatever the rest says.
        detached:
            Detached versions go by the same rules, unless ``roots`` names them. Else they stay, but for those that ``versions`` names.
        clones:
            Shallow clones of this table, by their folders or URIs: what they need stays. Nothing else tells of them.
        dry_run:
            Removes nothing, and gives a :class:`CleanupExplanation`.

        Versions that a branch needs stay whole, whatever its parent's clean-up says; and where a version cannot be read, nothing goes.
        """
        policy = _policy(
            older_than, retain_versions, versions, roots, clones, in_flight, delete_unverified=delete_unverified, detached=detached,
            error_if_tagged=error_if_tagged_old_versions, rate_limit=delete_rate_limit,
        )  # fmt: skip
        if dry_run:
            return self._foreseen(policy, 10**9)
        return _stats(_pilum.table_cleanup(self._table, policy)["stats"])

    def explain_cleanup_old_versions(
        self,
        older_than: Optional[timedelta] = None,
        retain_versions: Optional[int] = None,
        *,
        delete_unverified: bool = False,
        error_if_tagged_old_versions: bool = True,
        delete_rate_limit: Optional[int] = None,
        versions: Optional[List[int]] = None,
        include_files: bool = False,
        max_files: int = 1000,
        roots: Optional[List[int]] = None,
        detached: bool = False,
        clones: Optional[List[str]] = None,
        in_flight: timedelta = timedelta(days=7),
    ) -> CleanupExplanation:
        """What :meth:`cleanup_old_versions` would remove, without removing it. ``include_files``: up to ``max_files`` of the files by name."""
        policy = _policy(
            older_than, retain_versions, versions, roots, clones, in_flight, delete_unverified=delete_unverified, detached=detached,
            error_if_tagged=error_if_tagged_old_versions,
        )  # fmt: skip
        return self._foreseen(policy, max_files if include_files else 0)

    def maintain(
        self,
        *,
        older_than: timedelta = _FORTNIGHT,
        in_flight: timedelta = timedelta(days=7),
        target_rows_per_fragment: Optional[int] = None,
        compact: bool = True,
        cleanup: bool = True,
        indexed_too: bool = False,
        clones: Optional[List[str]] = None,
        dry_run: bool = False,
    ) -> Union[Maintenance, MaintenancePlan]:
        """Upkeep to leave running: compacts, then removes versions ``older_than`` that and what failed commits left. Nothing younger
        than ``in_flight`` goes. Fragments that an index would no longer cover are left as they are, unless ``indexed_too``.
        ``dry_run``: does nothing, and gives a :class:`MaintenancePlan`, each file with its reason."""
        policy = {
            "older_than": _micros(older_than), "in_flight": _micros(in_flight), "target_rows": target_rows_per_fragment,
            "compact": compact, "cleanup": cleanup, "indexed_too": indexed_too, "clones": list(clones or []),
        }  # fmt: skip
        said = _pilum.table_maintain(self._table, policy, dry_run)
        uncovered = dict(said["uncovered"])
        if dry_run:
            return MaintenancePlan(said["tasks"], self._explained(said["cleanup"], 10**9), uncovered)
        if said["version"] != self.version:
            self._move(said["version"])
        return Maintenance(said["version"], said["fragments_removed"], said["fragments_added"], _stats(said["stats"]), uncovered)

    def _foreseen(self, policy: Dict[str, Any], most: int) -> CleanupExplanation:
        return self._explained(_pilum.table_cleanup(self._table, policy, dry_run=True), most)

    def _explained(self, said: Dict[str, Any], most: int) -> CleanupExplanation:
        files = [
            (f["goes"], CleanupCandidateFile(f["path"], f["kind"], not f["named"], f["bytes"], f["reason"])) for f in said["files"]
        ]
        goes = [f for go, f in files if go]
        said["stats"].pop("first_failure")
        return CleanupExplanation(
            read_version=self.version,
            stats=CleanupStats(**said["stats"]),
            versions=said["versions"],
            tags=said["tags"],
            candidate_files=goes[:most],
            candidate_files_truncated=most > 0 and len(goes) > most,
            candidate_file_limit=most,
            remaining_files=[f for go, f in files if not go][:most],
            referenced_branches=[CleanupReferencedBranch(name, at) for name, at in said["branches"]],
        )


__all__ = [
    "AutoCleanupConfig",
    "CleanupCandidateFile",
    "CleanupExplanation",
    "CleanupReferencedBranch",
    "CleanupStats",
    "Maintenance",
    "MaintenancePlan",
]
