"""Tables and files at ``memory://NAME``: in this process, and gone with it. What a name leads to stays until the process ends, until
it is dropped (``LanceDataset.drop``), or until ``write_dataset`` makes a new table by the same name (mode "create", which never
fails there, as in pylance); datasets that are open keep the table that they have. ``memory://`` without a name is a new place each
time, which its datasets alone hold."""

import os
from typing import Tuple

from . import _pilum

_SCHEME = "memory://"


def is_memory(uri) -> bool:
    return os.fspath(uri).startswith(_SCHEME)


def own_uri(uri: str) -> str:
    """The URI that leads to what ``uri`` leads to now, whoever gets the name afterwards."""
    return _pilum.memory_place(uri, False).uri if is_memory(uri) else uri


def place_for(uri, mode: str) -> Tuple[str, "_pilum.MemoryPlace"]:
    """Where ``write_dataset`` writes to, and what to hold until that is opened."""
    place = _pilum.memory_place(os.fspath(uri), mode == "create")
    return place.uri, place


def shown(uri: str) -> str:
    """As users call it."""
    if not is_memory(uri):
        return uri
    return "/".join(step.split("#")[0] for step in uri.split("/"))
