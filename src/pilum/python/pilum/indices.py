"""The indices of a table as its manifest lists them, by pylance's names. They are described; reads do not use them yet."""

from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any, Dict, List, Optional

from .schema import LanceField


@dataclass(frozen=True)
class IndexSegmentDescription:
    """One segment: the fragments that it covers, the version that it was built from, the bytes of its files."""

    uuid: str
    fragment_ids: List[int]
    dataset_version_at_last_update: int
    index_version: Optional[int]
    created_at: Optional[datetime]
    base_id: Optional[int]
    size_bytes: Optional[int]
    covering_fields: List[int] = field(default_factory=list)


@dataclass(frozen=True)
class IndexDescription:
    """An index: its segments, the fields that it is of, by id and by path, and how many rows they cover."""

    name: str
    index_type: str
    type_url: str
    fields: List[int]
    field_names: List[str]
    num_rows_indexed: int
    details: Optional[Dict[str, Any]]
    segments: List[IndexSegmentDescription]

    @property
    def total_size_bytes(self) -> Optional[int]:
        sizes = [s.size_bytes for s in self.segments]
        return None if None in sizes else sum(sizes)


def _paths(fields: List[LanceField], above: str = "") -> Dict[int, str]:
    out = {}
    for f in fields:
        path = above + f.name()
        out[f.id()] = path
        out.update(_paths(f.children(), path + "."))
    return out


class IndexLists:
    """The calls of a dataset that tell of indices. ``_table``, ``lance_schema`` and ``_metadata`` are the dataset's."""

    def _indices(self) -> List[Dict[str, Any]]:
        return [i for i in self._table.indices() if not i["is_system"]]

    def list_indices(self) -> List[Dict[str, Any]]:
        """One entry a segment: name, type, uuid, fields, the version that it was built from, fragment_ids."""
        paths = _paths(self.lance_schema.fields())
        return [
            {
                "name": i["name"],
                "type": i["type"],
                "uuid": i["uuid"],
                "fields": [paths.get(f, str(f)) for f in i["fields"]],
                "version": i["dataset_version"],
                "fragment_ids": set(i["stored_fragment_ids"] or ()),
                "base_id": i["base_id"],
            }
            for i in self._indices()
        ]

    def describe_indices(self) -> List[IndexDescription]:
        """One entry an index, whatever its segments."""
        paths, rows = _paths(self.lance_schema.fields()), {f.id: f.num_rows for f in self._metadata()}
        by_name: Dict[str, List[Dict[str, Any]]] = {}
        for i in self._indices():
            by_name.setdefault(i["name"], []).append(i)
        out = []
        for name, segments in by_name.items():
            covered = {f for s in segments for f in s["fragment_ids"] or ()}
            first = segments[0]
            out.append(
                IndexDescription(
                    name, first["type"], first["type_url"], first["fields"], [paths.get(f, str(f)) for f in first["fields"]],
                    sum(rows.get(f, 0) for f in covered), first["details"], [_segment(s) for s in segments],
                )  # fmt: skip
            )
        return out

    @property
    def has_index(self) -> bool:
        return bool(self._indices())

    def index_statistics(self, index_name: str) -> Dict[str, Any]:
        """What the manifest tells of it: the rows and fragments that it covers and does not. ``KeyError`` if there is none."""
        found = next((i for i in self.describe_indices() if i.name == index_name), None)
        if found is None:
            raise KeyError(f"{self.uri}: there is no index '{index_name}'")
        covered = {f for i in self._indices() if i["name"] == index_name for f in i["fragment_ids"] or ()}
        fragments = self._metadata()
        indexed = [f for f in fragments if f.id in covered]
        return {
            "index_type": found.index_type,
            "name": index_name,
            "num_indices": len(found.segments),
            "num_indexed_fragments": len(indexed),
            "num_unindexed_fragments": len(fragments) - len(indexed),
            "num_indexed_rows": sum(f.num_rows for f in indexed),
            "num_unindexed_rows": sum(f.num_rows for f in fragments if f.id not in covered),
        }


def _segment(i: Dict[str, Any]) -> IndexSegmentDescription:
    created = i["created_at_ms"]
    return IndexSegmentDescription(
        uuid=i["uuid"],
        fragment_ids=list(i["stored_fragment_ids"] or ()),
        dataset_version_at_last_update=i["dataset_version"],
        index_version=i["index_version"],
        created_at=None if created is None else datetime.fromtimestamp(created / 1000, timezone.utc),
        base_id=i["base_id"],
        size_bytes=i["size_bytes"],
    )


__all__ = ["IndexDescription", "IndexSegmentDescription"]
