"""What a table has besides its rows: versions, tags, branches, transactions, statistics; and the times they are given in."""

from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Any, Dict, List, Optional, Tuple

from .dataset_clone import BranchWrites
from .dataset_write import TagWrites
from .errors import NotFound, UnsupportedError, UsageError


def local_time(ns: int) -> datetime:
    """As pylance gives times: local, without a zone, and through a float that may be a microsecond off."""
    return datetime.fromtimestamp(ns // 1e9) + timedelta(microseconds=(ns % 1e9) // 1e3)


def instant(text: str) -> Optional[datetime]:
    """RFC 3339 with up to nine digits of a second."""
    if not text:
        return None
    whole, _, rest = text.rstrip("Z").partition(".")
    return datetime.fromisoformat(whole + ("." + rest[:6].ljust(6, "0") if rest else "")).replace(tzinfo=timezone.utc)


def nanoseconds(moment) -> int:
    if isinstance(moment, str):
        moment = datetime.fromisoformat(moment)
    if hasattr(moment, "to_pydatetime"):
        moment = moment.to_pydatetime()
    if not isinstance(moment, datetime):
        raise TypeError(f"a time is a datetime or an ISO string, not a {type(moment).__name__}")
    moment = moment.astimezone(timezone.utc)  # without a zone: local time, as pylance takes it
    return (int(moment.replace(microsecond=0).timestamp()) * 10**6 + moment.microsecond) * 1000


def described(version: int, timestamp_ns: int, totals: Dict[str, int]) -> Dict[str, Any]:
    """One version as pylance's ``versions()`` tells it."""
    numbers = {
        "total_data_file_rows": totals["physical_rows"],
        "total_data_files": totals["data_files"],
        "total_deletion_file_rows": totals["deleted_rows"],
        "total_deletion_files": totals["deletion_files"],
        "total_files_size": totals["data_bytes"],
        "total_fragments": totals["fragments"],
        "total_rows": totals["rows"],
    }
    metadata = {name: str(n) for name, n in numbers.items()}
    return {"version": version, "timestamp": local_time(timestamp_ns), "metadata": metadata}


@dataclass(frozen=True)
class DatasetBasePath:
    """A folder that files of a table lie in. ``is_dataset_root``: it is itself a table's, with data in ``data``."""

    path: str
    name: Optional[str] = None
    is_dataset_root: bool = False
    id: Optional[int] = None


@dataclass(frozen=True)
class IOStats:
    """What reads fetched. Nothing is written."""

    read_iops: int
    read_bytes: int
    write_iops: int = 0
    written_bytes: int = 0


def refuse_writes(cls, *names: str):
    """Names of pylance's that change a table: refused in words, so that nobody looks for a typing error."""

    def refusal(name):
        def refused(self, *args, **how):
            raise UnsupportedError(f"{cls.__name__}.{name} changes the table, which Pilum does not do yet")

        refused.__name__ = name
        refused.__doc__ = "Refused: it changes the table, which Pilum does not do yet."
        return refused

    for name in names:
        setattr(cls, name, refusal(name))


class Tags(TagWrites):
    """Names for versions."""

    def __init__(self, dataset):
        self._dataset, self._table = dataset, dataset._table

    def list(self) -> Dict[str, Dict[str, Any]]:
        return {
            name: {**tag, "created_at": instant(tag["created_at"]), "updated_at": instant(tag["updated_at"])}
            for name, tag in self._table.tags().items()
        }

    def list_ordered(self, order: Optional[str] = None) -> List[Tuple[str, Dict[str, Any]]]:
        if order not in (None, "asc", "desc"):
            raise UsageError(f"order is 'asc' or 'desc', not {order!r}")
        return sorted(self.list().items(), key=lambda item: item[1]["version"], reverse=order != "asc")

    def get_version(self, tag: str) -> int:
        found = self._table.tags().get(tag)
        if found is None:
            raise NotFound(f"there is no tag '{tag}'")
        return found["version"]


class Branches(BranchWrites):
    """Histories beside the main one."""

    def __init__(self, dataset):
        self._dataset, self._table = dataset, dataset._table

    def list(self) -> Dict[str, Dict[str, Any]]:
        return self._table.branches()

    def list_ordered(self, order: Optional[str] = None) -> List[Tuple[str, Dict[str, Any]]]:
        """By the version that they begin at, the newest first unless ``order`` is "asc"."""
        if order not in (None, "asc", "desc"):
            raise UsageError(f"order is 'asc' or 'desc', not {order!r}")
        return sorted(self.list().items(), key=lambda item: item[1]["parent_version"], reverse=order != "asc")


@dataclass(frozen=True)
class FieldStatistics:
    """Of one field, by id: the bytes of its pages in all data files of the version."""

    id: int
    bytes_on_disk: int


@dataclass(frozen=True)
class DataStatistics:
    fields: List[FieldStatistics]


class LanceStats:
    def __init__(self, dataset):
        self._dataset = dataset

    def data_stats(self) -> DataStatistics:
        """The bytes of every field; opens every data file. Of legacy files nothing is known."""
        sizes = {f["id"]: 0 for f in self._dataset._table.fields()}
        for fragment in self._dataset._metadata():
            for file in fragment.files:
                for field_id, size in zip(file.fields, self._dataset._column_bytes(file)):
                    if field_id in sizes:
                        sizes[field_id] += size
        return DataStatistics([FieldStatistics(*item) for item in sizes.items()])

    def index_stats(self, index_name: str) -> Dict[str, Any]:
        """See :meth:`LanceDataset.index_statistics`."""
        return self._dataset.index_statistics(index_name)

    def dataset_stats(self, max_rows_per_group: int = 1024) -> Dict[str, int]:
        fragments = self._dataset._metadata()
        return {
            "num_deleted_rows": sum(f.num_deletions for f in fragments),
            "num_fragments": len(fragments),
            "num_small_files": sum(f.num_rows < max_rows_per_group for f in fragments),
        }
