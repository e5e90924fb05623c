# SPDX-License-Identifier: MIT
"""What a DLPack capsule says of an array. The capsule is borrowed, not consumed: it stays its own owner."""

from __future__ import annotations

import ctypes
from ctypes import POINTER, c_int32, c_int64, c_uint8, c_uint16, c_uint64, c_void_p
from typing import Any

from ._structs import Backend, DType

# kDLCPU, kDLCUDA, kDLCUDAHost, kDLROCM, kDLROCMHost, kDLCUDAManaged
BACKENDS = {1: Backend.CPU, 2: Backend.CUDA, 3: Backend.CPU, 10: Backend.HIP, 11: Backend.CPU, 13: Backend.CUDA}
# The default stream, as DLPack spells it for each.
DEFAULT_STREAM = {Backend.CPU: None, Backend.CUDA: 1, Backend.HIP: 0}
# (code, bits): kDLFloat is 2, kDLBfloat is 4.
DTYPES = {(2, 32): DType.F32, (2, 16): DType.F16, (4, 16): DType.BF16, (2, 64): DType.F64}


class DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", c_void_p),
        ("device_type", c_int32),
        ("device_id", c_int32),
        ("ndim", c_int32),
        ("code", c_uint8),
        ("bits", c_uint8),
        ("lanes", c_uint16),
        ("shape", POINTER(c_int64)),
        ("strides", POINTER(c_int64)),
        ("byte_offset", c_uint64),
    ]

    @property
    def pointer(self) -> int:
        return int((self.data or 0) + self.byte_offset)

    @property
    def dtype(self) -> DType | None:
        """None for a type that ct3d does not know."""
        return DTYPES.get((self.code, self.bits)) if self.lanes == 1 else None

    @property
    def dtype_name(self) -> str:
        """For messages."""
        kinds = {0: "int", 1: "uint", 2: "float", 4: "bfloat", 5: "complex", 6: "bool"}
        kind = kinds.get(self.code, f"code {self.code}, ")
        return f"{kind}{self.bits}" + (f" in {self.lanes} lanes" if self.lanes != 1 else "")


_get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_get_pointer.argtypes, _get_pointer.restype = [ctypes.py_object, ctypes.c_char_p], c_void_p


def tensor_of(capsule: Any) -> DLTensor:
    """The tensor of a capsule, valid while the capsule lives."""
    return DLTensor.from_address(_get_pointer(capsule, b"dltensor"))
