"""``lance.dataset``'s names, each loaded when it is first asked for: ``pyarrow.dataset`` takes half as long to import as all of
pyarrow, and files, stores and sketches do without."""

import importlib

_HOMES = {
    "commits": ("write_fragments",),
    "fragment": ("LanceFragment",),
    "fragment_metadata": ("DataFile", "DeletionFile", "FragmentMetadata"),
    "operations": ("Index", "IndexFile", "LanceOperation", "Transaction"),
    "scanner": ("ColumnOrdering", "LanceScanner"),
    "table": ("LanceDataset",),
    "upkeep": ("AutoCleanupConfig",),
    "write": ("LANCE_COMMIT_MESSAGE_KEY",),
    "versions": ("Branches", "DataStatistics", "DatasetBasePath", "FieldStatistics", "LanceStats", "Tags"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = sorted(_HOME_OF)


def __getattr__(name: str):
    if name not in _HOME_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f".{_HOME_OF[name]}", __package__), name)
    globals()[name] = value
    return value
