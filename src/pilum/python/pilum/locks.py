"""Datasets that were opened with a ``commit_lock``: what changes them happens under it."""

from contextlib import contextmanager
from functools import wraps


@contextmanager
def held(dataset):
    """The context that a change of ``dataset`` happens in."""
    from .write import locked

    lock = dataset._commit_lock
    if lock is None:
        yield
        return
    with locked(lock, dataset, dataset._uri, dataset._storage_options):
        dataset._commit_lock = None  # what the change itself calls is under it already
        try:
            yield
        finally:
            dataset._commit_lock = lock


def under_lock(cls, *names: str) -> None:
    """These methods of datasets hold it."""

    def holding(method):
        @wraps(method)
        def run(self, *args, **how):
            with held(self):
                return method(self, *args, **how)

        return run

    for name in names:
        setattr(cls, name, holding(getattr(cls, name)))


__all__ = ["held", "under_lock"]
