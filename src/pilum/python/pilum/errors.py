"""What Pilum raises. Each class is an ``Error`` and also the built-in exception that fits, so both can be caught.

A message names the file or dataset, the place in it, what is wrong and what to do. ``KeyboardInterrupt`` and exceptions
of your own input iterators pass through as they are.
"""


class Error(Exception):
    """Base of all; raised itself only where no other class fits."""


class CorruptError(Error, ValueError):
    """Bytes of a file break its format. The message says which file, where, and what is wrong."""


class UnsupportedError(Error, NotImplementedError):
    """A file version, type or feature that this Pilum does not handle; the message names it."""


class QueryError(Error, ValueError):
    """The query text, a parameter or a column's type is wrong; "at N:" gives the position in the text."""


class UsageError(Error, ValueError, OSError):
    """An argument is wrong, such as a row number past the end, or rows do not fit a table. (Also an OSError, as pylance's
    are where rows do not fit.)"""

    def __str__(self):
        return str(self.args[0]) if self.args else ""


class NotFound(Error, FileNotFoundError, ValueError):
    """A file, dataset or column is not there. (Also a ValueError, as pylance's is.)"""

    def __str__(self):
        return str(self.args[0]) if self.args else ""


class StorageError(Error, OSError):
    """The operating system or the store failed to read or write."""


class DeadlineError(Error, TimeoutError):
    """``timeout`` passed before the work was done."""


class CancelledError(Error):
    """The work was stopped from another thread."""


class MemoryLimitError(Error, MemoryError):
    """Memory ran out, or over the limit that was set."""


class ConflictError(Error, OSError):
    """What somebody else committed to the table meanwhile leaves no sense in this change; nothing was committed."""

    retryable = False


class RetryableConflictError(ConflictError):
    """Somebody else committed first; nothing was committed. The same call on the newest version may succeed."""

    retryable = True


__all__ = [
    "CancelledError",
    "ConflictError",
    "CorruptError",
    "DeadlineError",
    "Error",
    "MemoryLimitError",
    "NotFound",
    "QueryError",
    "RetryableConflictError",
    "StorageError",
    "UnsupportedError",
    "UsageError",
]
