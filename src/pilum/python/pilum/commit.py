"""What commits of others do to one's own, by pylance's names."""

from contextlib import AbstractContextManager
from typing import Callable

from .errors import ConflictError as CommitConflictError

# Given the number that a version will have; the commit happens within what it gives.
CommitLock = Callable[[int], AbstractContextManager]

__all__ = ["CommitConflictError", "CommitLock"]
