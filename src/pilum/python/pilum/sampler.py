"""Rows of a table for training, by pylance's names: random samples, and shares for each of several processes."""

import math
import random
import warnings
from typing import Any, Iterator, List, Optional, Union

import pyarrow as pa

from .rows import Rows
from .scanner import Columns, rebatched


def maybe_sample(
    dataset: Union[str, Rows],
    n: int,
    columns: Union[str, Columns],
    batch_size: int = 10240,
    max_takes: int = 2048,
    filt: Optional[str] = None,
) -> Iterator[pa.RecordBatch]:
    """``n`` random rows, or all where there are no more, ``batch_size`` a batch. At most ``max_takes`` runs of neighbouring rows
    are read. With ``filt``: of the rows for which it holds, chosen among blocks of rows in random order."""
    if not isinstance(dataset, Rows):
        from .table import LanceDataset

        dataset = LanceDataset(dataset)
    columns = [columns] if isinstance(columns, str) else columns
    total = dataset.count_rows()
    if n >= total:
        return dataset.to_batches(columns, filt, batch_size=batch_size)
    tables = _blocks(dataset, n, columns, filt, total) if filt else _runs(dataset, n, columns, max_takes, total)
    return rebatched((b for t in tables for b in t.combine_chunks().to_batches()), batch_size)


def _runs(dataset: Rows, n: int, columns: Columns, max_takes: int, total: int) -> Iterator[pa.Table]:
    """Of every stretch of the table its share, from a random place in it."""
    takes = min(n, max_takes)
    if takes == n:
        yield dataset.take(random.sample(range(total), n), columns)
        return
    for i in range(takes):
        begin, end = total * i // takes, total * (i + 1) // takes
        rows = n * (i + 1) // takes - n * i // takes
        first = random.randint(begin, end - rows)
        yield dataset.take(range(first, first + rows), columns)


def _blocks(dataset: Rows, n: int, columns: Columns, filt: str, total: int) -> Iterator[pa.Table]:
    # Which rows match is known after a scan of the filter's columns alone.
    numbers, seen = [], 0
    for fragment in dataset.get_fragments():
        matching = fragment.to_table([], filt, with_row_address=True)["_rowaddr"].to_pylist()
        if matching:
            have = {row: i for i, row in enumerate(fragment.to_table([], with_row_address=True)["_rowaddr"].to_pylist())}
            numbers += [seen + have[row] for row in matching]
        seen += fragment.count_rows()
    yield dataset.take(random.sample(numbers, min(n, len(numbers))), columns)


class Sampler:
    """Gives batches of a table when it is called with one."""

    def __call__(self, ds: Rows, *args, **how) -> Iterator[pa.RecordBatch]:
        raise NotImplementedError(f"{type(self).__name__} does not say which batches it gives")


class FragmentSampler(Sampler):
    """Whole fragments; which, and in what order, ``iter_fragments`` says."""

    def __call__(
        self,
        dataset: Rows,
        *args,
        batch_size: int = 128,
        columns: Columns = None,
        filter: Optional[str] = None,  # noqa: A002
        batch_readahead: int = 16,
        with_row_id: bool = False,
        **how,
    ) -> Iterator[pa.RecordBatch]:
        fragments = list(self.iter_fragments(dataset, *args, **how))
        yield from dataset.to_batches(columns, filter, batch_size=batch_size, with_row_id=with_row_id, fragments=fragments)

    def iter_fragments(self, ds: Rows, *args, **how) -> Iterator[Any]:
        raise NotImplementedError(f"{type(self).__name__} does not say which fragments it gives")


class FullScanSampler(FragmentSampler):
    """All fragments in order."""

    def iter_fragments(self, ds: Rows, *args, **how) -> Iterator[Any]:
        return iter(ds.get_fragments())


class _Sharded:
    def __init__(self, rank: int, world_size: int, randomize: bool = False, seed: int = 0):
        self._rank, self._world_size, self._randomize, self._seed, self._epoch = rank, world_size, randomize, seed, 0

    def set_epoch(self, epoch: int) -> None:
        """The next pass: another order where the order is random."""
        self._epoch = epoch

    def _shuffled(self, items: List[Any]) -> List[Any]:
        if self._randomize:
            random.Random(self._seed + self._epoch).shuffle(items)
        return items

    @classmethod
    def from_torch(cls, *args, **how):
        """``rank`` and ``world_size`` as torch.distributed has them."""
        import torch

        return cls(torch.distributed.get_rank(), torch.distributed.get_world_size(), *args, **how)


class ShardedFragmentSampler(_Sharded, FragmentSampler):
    """To each of ``world_size`` processes every so many-th fragment."""

    def iter_fragments(self, ds: Rows, *args, **how) -> Iterator[Any]:
        yield from self._shuffled(ds.get_fragments())[self._rank :: self._world_size]


class ShardedBatchSampler(_Sharded, Sampler):
    """To each of ``world_size`` processes every so many-th batch; with a filter, every so many-th row that matches."""

    def __call__(
        self,
        dataset: Rows,
        *args,
        batch_size: int = 128,
        columns: Columns = None,
        filter: Optional[str] = None,  # noqa: A002
        batch_readahead: int = 16,
        with_row_id: Optional[bool] = None,
        **how,
    ) -> Iterator[pa.RecordBatch]:
        if filter is not None:
            return self._matching(dataset, batch_size, columns, filter)
        return self._ranges(dataset, batch_size, columns)

    def _ranges(self, dataset: Rows, batch_size: int, columns: Columns) -> Iterator[pa.RecordBatch]:
        total = dataset.count_rows()
        starts = list(range(self._rank * batch_size, total, self._world_size * batch_size))
        for start in self._shuffled(starts):
            table = dataset.slice(start, min(start + batch_size, total), columns)
            yield from rebatched(table.to_batches(), batch_size)

    def _matching(self, dataset: Rows, batch_size: int, columns: Columns, filter: str):  # noqa: A002
        def own():
            skip = self._rank
            for batch in dataset.to_batches(columns, filter):
                yield batch.take(pa.array(range(skip, batch.num_rows, self._world_size), pa.int64()))
                skip = (skip - batch.num_rows) % self._world_size

        batches = rebatched(own(), batch_size)
        if not self._randomize:
            yield from batches
            return
        # Shuffled within a window: a reader's memory is not the whole table's.
        rng, window = random.Random(self._seed + self._epoch), []
        for batch in batches:
            window.append(batch)
            if len(window) > 256:
                yield window.pop(rng.randrange(len(window)))
        rng.shuffle(window)
        yield from window


class ShardedFixedBatchSampler(ShardedBatchSampler):
    """To each process a range of rows of its own, as lists of row numbers: for PyTorch's ``batch_sampler``."""

    def __init__(
        self,
        rank: int,
        world_size: int,
        randomize: bool = False,
        seed: int = 0,
        batch_size: int = 0,
        total_num_rows: int = 0,
    ):
        super().__init__(rank, world_size, randomize, seed)
        share = math.ceil(total_num_rows / world_size)
        self._rows = range(min(rank * share, total_num_rows), min((rank + 1) * share, total_num_rows))
        self._batch_size = batch_size

    def __len__(self) -> int:
        return math.ceil(len(self._rows) / self._batch_size) if self._batch_size else 0

    def __iter__(self) -> Iterator[List[int]]:
        starts = range(0, len(self._rows), self._batch_size) if self._batch_size else []
        yield from self._shuffled([list(self._rows[i : i + self._batch_size]) for i in starts])


class ShardedBatchIterator:
    """The older way: batches of every ``world_size``-th fragment, or, with ``granularity`` "batch", every so many-th batch. pylance
    warns that it is deprecated in favour of the samplers; so does this."""

    def __init__(
        self,
        data,
        rank: int,
        world_size: int,
        *,
        columns: Columns = None,
        batch_size: int = 10240,
        granularity: str = "fragment",
        batch_readahead: int = 8,
        with_row_id: bool = False,
    ):
        from .table import LanceDataset

        warnings.warn("ShardedBatchIterator is deprecated, use a Sampler instead", stacklevel=2)
        if granularity not in ("fragment", "batch"):
            raise ValueError(f"granularity is 'fragment' or 'batch', not {granularity!r}")
        if granularity == "batch" and with_row_id:
            raise NotImplementedError("with_row_id is not supported for batch sharding yet")
        self._dataset = data if isinstance(data, Rows) else LanceDataset(data)
        kind = ShardedFragmentSampler if granularity == "fragment" else ShardedBatchSampler
        self._sampler = kind(rank, world_size)
        self._how = {"columns": columns, "batch_size": batch_size, "with_row_id": with_row_id}

    @staticmethod
    def from_torch(data, **how) -> "ShardedBatchIterator":
        import torch

        return ShardedBatchIterator(data, torch.distributed.get_rank(), torch.distributed.get_world_size(), **how)

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        return iter(self._sampler(self._dataset, **self._how))


__all__ = [
    "FragmentSampler", "FullScanSampler", "Sampler", "ShardedBatchIterator", "ShardedBatchSampler", "ShardedFixedBatchSampler",
    "ShardedFragmentSampler", "maybe_sample",
]  # fmt: skip
