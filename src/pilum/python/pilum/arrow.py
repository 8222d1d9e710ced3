"""bfloat16 as an Arrow extension type, by pylance's names."""

import struct
from typing import Iterable, Optional

import pyarrow as pa


class BFloat16:
    """One value: the upper half of a float32."""

    __slots__ = ("_bits",)

    def __init__(self, value: float):
        self._bits = _bits(value)

    @classmethod
    def from_bytes(cls, data: bytes) -> "BFloat16":
        if len(data) != 2:
            raise ValueError(f"a bfloat16 has 2 bytes, not {len(data)}")
        out = cls.__new__(cls)
        out._bits = int.from_bytes(data, "little")
        return out

    def as_float(self) -> float:
        return struct.unpack("<f", struct.pack("<I", self._bits << 16))[0]

    __float__ = as_float

    def __eq__(self, other) -> bool:
        return float(self) == float(other) if isinstance(other, (BFloat16, float, int)) else NotImplemented

    def __lt__(self, other) -> bool:
        return float(self) < float(other) if isinstance(other, (BFloat16, float, int)) else NotImplemented

    def __hash__(self) -> int:
        return hash(float(self))

    def __repr__(self) -> str:
        return f"BFloat16({float(self)})"

    def __str__(self) -> str:
        return f"{float(self):g}"


def _bits(value: float) -> int:
    """To the nearest, ties to even."""
    (bits,) = struct.unpack("<I", struct.pack("<f", value))
    if value != value:
        return bits >> 16 | 0x40
    return (bits + 0x7FFF + (bits >> 16 & 1)) >> 16


class BFloat16Array(pa.ExtensionArray):
    def to_numpy(self, zero_copy_only: bool = False):
        """As ``ml_dtypes.bfloat16``, which must be installed; none may be NULL."""
        if self.null_count > 0:
            raise ValueError("Cannot convert null values to numpy")
        import numpy as np
        from ml_dtypes import bfloat16

        return np.frombuffer(self.storage.buffers()[1], bfloat16, len(self), self.storage.offset * 2)

    @classmethod
    def from_numpy(cls, array) -> "BFloat16Array":
        from ml_dtypes import bfloat16

        if array.dtype != bfloat16:
            raise ValueError("Cannot convert non-bfloat16 values to BFloat16Array")
        if array.ndim != 1:
            raise ValueError("Cannot convert multi-dimensional array to BFloat16Array")
        return pa.Array.from_buffers(BFloat16Type(), len(array), [None, pa.py_buffer(array.tobytes())])


class BFloat16Scalar(pa.ExtensionScalar):
    def as_py(self, **how) -> Optional[BFloat16]:
        return None if self.value is None else BFloat16.from_bytes(self.value.as_py(**how))


class BFloat16Type(pa.ExtensionType):
    def __init__(self):
        super().__init__(pa.binary(2), "lance.bfloat16")

    def __arrow_ext_serialize__(self) -> bytes:
        return b""

    @classmethod
    def __arrow_ext_deserialize__(cls, storage_type: pa.DataType, serialized: bytes) -> "BFloat16Type":
        return cls()

    def __arrow_ext_class__(self):
        return BFloat16Array

    def __arrow_ext_scalar_class__(self):
        return BFloat16Scalar

    def __reduce__(self):
        return type(self), ()


try:
    pa.register_extension_type(BFloat16Type())
except pa.ArrowKeyError:
    pass  # pylance was here before


def bfloat16_array(values: Iterable[Optional[float]]) -> pa.ExtensionArray:
    """Numbers and None, each rounded to the nearest bfloat16."""
    packed = [None if v is None else _bits(float(v)).to_bytes(2, "little") for v in values]
    return pa.ExtensionArray.from_storage(BFloat16Type(), pa.array(packed, pa.binary(2)))


__all__ = ["BFloat16", "BFloat16Array", "BFloat16Scalar", "BFloat16Type", "bfloat16_array"]
