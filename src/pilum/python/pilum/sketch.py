"""Sketches: small summaries of columns that merge, with answers that say how far off they may be.

    a = HLL(p=12).update(column)         # a pyarrow Array or ChunkedArray, or what pyarrow.array takes
    (a | b).count()                      # Estimate(value, low, high, confidence)
    HLL.from_bytes(bytes(a)) == a        # canonical bytes; sketches pickle, too

All sketches take any type that has values (numbers, text, binary, times, dictionaries of them; TDigest and KLL numbers
and times only). Nulls are no values; NaN is one value and the greatest number; -0.0 is 0.0; 1 is the same value in every
integer type and in a dictionary. ``update`` returns the sketch itself. ``|`` gives a new sketch and ``|=`` merges in
place; unlike parameters raise ``Incompatible`` and name both. Equal means equal bytes. Sketches may be used from any
thread. The bytes, the bounds and the measured errors are in docs/formats/sketches.md.
"""

from typing import Any, List, NamedTuple, Optional

import pyarrow as pa

from . import _pilum
from .errors import CorruptError, UsageError


class Incompatible(UsageError):
    """Sketches of unlike kinds or parameters were merged or compared; the message names both."""


class Estimate(NamedTuple):
    """An answer, and the interval that holds the truth with the given confidence (0 to 1)."""

    value: float
    low: float
    high: float
    confidence: float


class TopValue(NamedTuple):
    """A frequent value. Its true count is in ``low`` to ``high``; ``truncated``: the value was longer than this."""

    value: Any
    low: int
    high: int
    truncated: bool


def _arrays(values) -> List[pa.Array]:
    if isinstance(values, pa.Array):
        return [values]
    if isinstance(values, pa.ChunkedArray):
        return values.chunks
    if hasattr(values, "__arrow_c_stream__"):
        return pa.chunked_array(values).chunks
    made = pa.array(values)
    return made.chunks if isinstance(made, pa.ChunkedArray) else [made]


class _Sketch:
    _native_class: Any = None
    __slots__ = ("_native",)
    __hash__ = None  # they change

    def update(self, values):
        """Adds an array's values; returns this sketch."""
        for array in _arrays(values):
            self._native.update(array)
        return self

    def merge(self, other):
        """Adds all that ``other`` has seen; returns this sketch. ``other`` stays as it is."""
        if type(other) is not type(self) or other.params != self.params:
            raise Incompatible(f"incompatible sketches: {self._title()} and {getattr(other, '_title', lambda: other)()}")
        self._native.merge(other._native)
        return self

    def copy(self):
        """A sketch of the same state that changes on its own."""
        return self._wrap(self._native.copy())

    def to_bytes(self) -> bytes:
        """The canonical bytes."""
        return self._native.to_bytes()

    @classmethod
    def from_bytes(cls, data):
        """The sketch of these bytes. ``CorruptError`` or ``UnsupportedError`` if they are not a sketch of this class."""
        return cls._wrap(cls._native_class.from_bytes(bytes(data)))

    @property
    def params(self) -> str:
        """All that touches the bits, as text: "p=12 seed=0"."""
        return self._native.params()

    @classmethod
    def _wrap(cls, native):
        out = cls.__new__(cls)
        out._native = native
        return out

    def _title(self) -> str:
        return f"{type(self).__name__}({self.params})"

    def _says(self) -> str:
        raise NotImplementedError

    def __repr__(self):
        return f"{self._title()}: {self._says()}"

    def __or__(self, other):
        if not isinstance(other, _Sketch):
            return NotImplemented
        return self.copy().merge(other)

    def __ior__(self, other):
        return self.merge(other)

    def __eq__(self, other):
        return type(other) is type(self) and other.to_bytes() == self.to_bytes()

    __bytes__ = to_bytes

    def __copy__(self):
        return self.copy()

    def __deepcopy__(self, memo):
        return self.copy()

    def __reduce__(self):
        return (type(self).from_bytes, (self.to_bytes(),))


def _about(e: Estimate) -> str:
    return f"{e.value:.6g} ({e.low:.6g} to {e.high:.6g}, {e.confidence * 100:g} %)"


class HLL(_Sketch):
    """HyperLogLog: how many distinct values. 2**p registers, p 4 to 18; at most 0.75 * 2**p bytes.

    Standard error 1.04 / sqrt(2**p) (p=12: 1.6 %), and near none while few values were seen.
    """

    _native_class = _pilum.Hll
    __slots__ = ()

    def __init__(self, p: int = 12, seed: int = 0):
        self._native = _pilum.Hll.make(p, seed)

    def count(self) -> Estimate:
        """Distinct values, with a 95 % interval."""
        return Estimate(*self._native.count())

    @property
    def standard_error(self) -> float:
        """Relative, of the count as it is now."""
        return self._native.standard_error()

    def _says(self):
        return f"{_about(self.count())} distinct, standard error {self.standard_error * 100:.2g} %"


class _Filter(_Sketch):
    __slots__ = ()

    def contains(self, values) -> pa.ChunkedArray:
        """For each value: False, it was certainly not seen; True, it may have been; null for null."""
        return pa.chunked_array([self._native.contains(a) for a in _arrays(values)], pa.bool_())


class Bloom(_Filter):
    """A split-block Bloom filter: was a value seen? Sized for ``items`` distinct values at 1 % wrong yes.

    Give ``blocks`` (of 32 bytes) instead to fix the size itself. Filters of the same blocks merge.
    """

    _native_class = _pilum.Bloom
    __slots__ = ()

    def __init__(self, items: Optional[int] = None, *, blocks: Optional[int] = None):
        if blocks is None:
            blocks = _pilum.Bloom.blocks_for(1024 if items is None else items)
        elif items is not None:
            raise UsageError("give items or blocks, not both")
        self._native = _pilum.Bloom.make(blocks)

    def _says(self):
        return f"{len(self.to_bytes())} bytes"


class Cuckoo(_Filter):
    """A cuckoo filter of 16-bit fingerprints: was a value seen? Wrong yes at most 0.011 %. A set: no deletion.

    Holds at most ``items`` distinct values; one more raises ``UsageError`` (some of the values are in then).
    """

    _native_class = _pilum.Cuckoo
    __slots__ = ()

    def __init__(self, items: int):
        self._native = _pilum.Cuckoo.make(items)

    def __len__(self):
        return self._native.size()

    def _says(self):
        return f"{len(self)} values, wrong yes {self._native.rate() * 100:.2g} %"


class Fuse(_Filter):
    """A binary fuse filter: was a value seen? 9 bits a value and wrong yes 1/256, or bits=16: twice, and 1/65536.

    Open, it keeps the sorted hashes (8 bytes a value), updates and merges. ``seal()`` makes the filter, which only
    answers: a sealed one refuses update and merge.
    """

    _native_class = _pilum.Fuse
    __slots__ = ()

    def __init__(self, bits: int = 8):
        self._native = _pilum.Fuse.make(bits)

    def seal(self):
        """Solves the filter and drops the hashes; returns this sketch. The same set gives the same bytes."""
        self._native.seal()
        return self

    @property
    def sealed(self) -> bool:
        return self._native.sealed()

    def __len__(self):
        return self._native.size()

    def _says(self):
        state = f"sealed, wrong yes {self._native.rate() * 100:.2g} %" if self.sealed else "open"
        return f"{len(self)} values, {state}"


class CountMin(_Sketch):
    """How often each value came: never too low; too high by more than e / width of all rows for one value in e**depth.

    ``conservative`` is nearer while one sketch is built, but its bytes depend on the order of the rows, and a merge is an
    upper bound only. The plain rule merges exactly.
    """

    _native_class = _pilum.CountMin
    __slots__ = ()

    def __init__(self, width: int = 2048, depth: int = 5, conservative: bool = False, seed: int = 0):
        self._native = _pilum.CountMin.make(width, depth, conservative, seed)

    @property
    def total(self) -> int:
        """Rows counted."""
        return self._native.total()

    def counts(self, values) -> pa.ChunkedArray:
        """For each value an upper bound of its rows (int64); null for null."""
        return pa.chunked_array([self._native.counts(a) for a in _arrays(values)], pa.int64())

    def _says(self):
        return f"{self.total} rows"


class HeavyHitters(_Sketch):
    """The most frequent values (Misra-Gries). Up to ``capacity`` distinct values are counted exactly.

    After that a count may be too low by ``error``, at most total / (capacity / 2 + 1).
    """

    _native_class = _pilum.HeavyHitters
    __slots__ = ()

    def __init__(self, capacity: int = 256, seed: int = 0):
        self._native = _pilum.HeavyHitters.make(capacity, seed)

    @property
    def total(self) -> int:
        """Rows counted."""
        return self._native.total()

    @property
    def error(self) -> int:
        """The most rows by which a count may be too low; every value of more rows than this is in ``top()``."""
        return self._native.error()

    def top(self, n: int = 10) -> List[TopValue]:
        """The n most frequent, the largest first. Times are integers in the column's unit."""
        return [TopValue(*item) for item in self._native.top(n)]

    def _says(self):
        shown = ", ".join(f"{t.value!r} x {t.low}" for t in self.top(3))
        return f"{self.total} rows, counts too low by at most {self.error}: {shown}"


class MinHash(_Sketch):
    """How alike two sets are: the k smallest hashes. Jaccard's standard error is sqrt(J (1 - J) / k)."""

    _native_class = _pilum.MinHash
    __slots__ = ()

    def __init__(self, k: int = 256, seed: int = 0):
        self._native = _pilum.MinHash.make(k, seed)

    def jaccard(self, other: "MinHash") -> Estimate:
        """Values in both / values in either, 0 to 1, with a 95 % interval."""
        if type(other) is not MinHash or other.params != self.params:
            raise Incompatible(f"incompatible sketches: {self._title()} and {getattr(other, '_title', lambda: other)()}")
        return Estimate(*self._native.jaccard(other._native))

    def count(self) -> Estimate:
        """Distinct values, exact below k, with a 95 % interval."""
        return Estimate(*self._native.count())

    def _says(self):
        return f"{_about(self.count())} distinct"


class _Quantiles(_Sketch):
    __slots__ = ()

    @property
    def count(self) -> int:
        """Values seen."""
        return self._native.count()

    def _interval(self, q, side):
        value = self._native.quantile(q)
        return Estimate(value, self._native.quantile(max(0.0, q - side)), self._native.quantile(min(1.0, q + side)), 0.99)

    def _says(self):
        if self.count == 0:
            return "no values"
        return f"{self.count} values, median {_about(self.quantile(0.5))}"


class TDigest(_Quantiles):
    """Quantiles of numbers, finest at the ends; about ``delta`` centroids of 16 bytes. Exact up to delta values."""

    _native_class = _pilum.TDigest
    __slots__ = ()

    def __init__(self, delta: int = 200):
        self._native = _pilum.TDigest.make(delta)

    def rank_error(self, q: float) -> float:
        """Share of the rows by which the answer at q may miss, 99 %."""
        return self._native.rank_error(q)

    def quantile(self, q: float) -> Estimate:
        """The value at share q of the rows (0 the least, 1 the greatest), with a 99 % interval."""
        return self._interval(q, self.rank_error(q))

    def rank(self, value: float) -> float:
        """The share of the rows that are at most ``value``, 0 to 1."""
        return self._native.rank_of(float(value))


class KLL(_Quantiles):
    """Quantiles with the same rank error everywhere (k=200: 0.85 %, 99 %). Exact up to k values.

    ``kind`` "float" takes all numbers and times; "int" whole numbers and times only, exactly past 2**53, too.
    """

    _native_class = _pilum.Kll
    __slots__ = ()

    def __init__(self, k: int = 200, kind: str = "float", seed: int = 0):
        if kind not in ("float", "int"):
            raise UsageError(f'kind must be "float" or "int", not {kind!r}')
        self._native = _pilum.Kll.make(k, kind == "int", seed)

    @property
    def rank_error(self) -> float:
        """Share of the rows by which an answer may miss, 99 %."""
        return self._native.rank_error()

    def quantile(self, q: float) -> Estimate:
        """The value at share q of the rows (0 the least, 1 the greatest), with a 99 % interval; ints for kind "int"."""
        return self._interval(q, self.rank_error)

    def rank(self, value) -> float:
        """The share of the rows that are at most ``value``, 0 to 1."""
        if "kind=int" in self.params:
            return self._native.rank_of_int(int(value))
        return self._native.rank_of_float(float(value))


class Moments(_Sketch):
    """Count, nulls, min, max and sum, all exact: sums of integers never wrap, of floats are rounded once.

    ``type``: the column's Arrow type. Times are integers in the column's unit. Text and binary have no sum.
    """

    _native_class = _pilum.Moments
    __slots__ = ()

    def __init__(self, type: pa.DataType):
        self._native = _pilum.Moments.make_for(type)

    @property
    def count(self) -> int:
        """Values that are not null."""
        return self._native.facts()["count"]

    @property
    def nulls(self) -> int:
        return self._native.facts()["nulls"]

    @property
    def min(self):
        """None: no values."""
        return self._native.facts()["min"]

    @property
    def max(self):
        """None: no values. NaN is the greatest float."""
        return self._native.facts()["max"]

    @property
    def sum(self):
        """None: no values, or text or binary."""
        return self._native.facts()["sum"]

    @property
    def mean(self) -> Optional[float]:
        """None: no values, or text or binary."""
        return self._native.facts()["mean"]

    def _says(self):
        f = self._native.facts()
        return f"{f['count']} values, {f['nulls']} nulls, {f['min']!r} to {f['max']!r}, sum {f['sum']!r}"


_BY_MAGIC = {
    b"PLMHLLOG": HLL, b"PLMBLOOM": Bloom, b"PLMCUCKO": Cuckoo, b"PLMBFUSE": Fuse, b"PLMCOUNT": CountMin,
    b"PLMHEAVY": HeavyHitters, b"PLMMINHA": MinHash, b"PLMTDIGE": TDigest, b"PLMKLLSK": KLL, b"PLMMOMEN": Moments,
}  # fmt: skip


def from_bytes(data) -> _Sketch:
    """The sketch of these bytes, whichever it is."""
    data = bytes(data)
    cls = _BY_MAGIC.get(data[:8])
    if cls is None:
        raise CorruptError(f"no sketch: the bytes begin with {data[:8]!r}")
    return cls.from_bytes(data)


__all__ = [
    "Bloom", "CountMin", "Cuckoo", "Estimate", "Fuse", "HLL", "HeavyHitters", "Incompatible", "KLL", "MinHash", "Moments",
    "TDigest", "TopValue", "from_bytes",
]  # fmt: skip
