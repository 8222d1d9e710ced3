"""Who is told of fragments as they are written, by pylance's names: ``write_dataset(…, progress=FileSystemFragmentWriteProgress("/shared/here"))``."""

import json
import os
from abc import ABC, abstractmethod
from typing import Dict, Optional

from .fragment_metadata import FragmentMetadata


class FragmentWriteProgress(ABC):
    """Make a class of your own of it. The calls come from the writing thread, between two batches; what they raise ends the write,
    and nothing is committed."""

    @abstractmethod
    def begin(self, fragment: FragmentMetadata, **kwargs) -> None:
        """A fragment's data file was begun: it has no files and no rows yet, and id 0 (the commit gives ids)."""

    @abstractmethod
    def complete(self, fragment: FragmentMetadata, **kwargs) -> None:
        """The file is whole. The table does not have it before all are and the commit was made."""


class NoopFragmentWriteProgress(FragmentWriteProgress):
    """Nobody is told."""

    def begin(self, fragment: FragmentMetadata, **kwargs) -> None:
        pass

    def complete(self, fragment: FragmentMetadata, **kwargs) -> None:
        pass


class FileSystemFragmentWriteProgress(FragmentWriteProgress):
    """Files in a folder: ``fragment_N.json`` of each fragment that was begun, and ``fragment_N.in_progress`` until it is whole,
    with ``metadata`` in it. The folder is anything that ``pyarrow.fs`` takes."""

    PROGRESS_EXT = ".in_progress"

    def __init__(self, base_uri: str, metadata: Optional[Dict[str, str]] = None):
        from pyarrow.fs import FileSystem

        base_uri = os.fspath(base_uri)
        self._files, self._folder = FileSystem.from_uri(base_uri if "://" in base_uri else os.path.abspath(base_uri))
        self._metadata = dict(metadata or {})

    def _path(self, fragment: FragmentMetadata, suffix: str) -> str:
        return f"{self._folder.rstrip('/')}/fragment_{fragment.id}{suffix}"

    def _put(self, path: str, value) -> None:
        with self._files.open_output_stream(path) as out:
            out.write(json.dumps(value).encode())

    def begin(self, fragment: FragmentMetadata, **kwargs) -> None:
        self._files.create_dir(self._folder, recursive=True)
        self._put(self._path(fragment, self.PROGRESS_EXT), {"fragment_id": fragment.id, "metadata": self._metadata})
        self._put(self._path(fragment, ".json"), fragment.to_json())

    def complete(self, fragment: FragmentMetadata, **kwargs) -> None:
        self._files.delete_file(self._path(fragment, self.PROGRESS_EXT))


__all__ = ["FileSystemFragmentWriteProgress", "FragmentWriteProgress", "NoopFragmentWriteProgress"]
