# SPDX-License-Identifier: MIT
"""Arrays of other libraries as pointers with shape, type and device: NumPy, DLPack, __cuda_array_interface__."""

from __future__ import annotations

import ctypes
import sys
from typing import Any, NamedTuple

import numpy as np

from . import _dlpack
from ._library import check, lib
from ._structs import Backend, DType

_NUMPY_DTYPES = {"float32": DType.F32, "float16": DType.F16, "bfloat16": DType.BF16, "float64": DType.F64}
_SIZES = {DType.F32: 4, DType.F16: 2, DType.BF16: 2, DType.F64: 8}
_DTYPE_NAMES = "float32, float16, bfloat16 or float64"


class Array(NamedTuple):
    """A dense array in the order of its shape. `owner` keeps the memory alive."""

    pointer: int
    shape: tuple[int, ...]
    dtype: DType
    backend: Backend
    device: int
    owner: Any

    @property
    def size(self) -> int:
        """In bytes."""
        return int(np.prod(self.shape, dtype=np.int64)) * _SIZES[self.dtype]


def view(name: str, array: Any, writable: bool = False) -> Array:
    """Looks into an array.

    Raises TypeError for what is no array or has a type that ct3d does not compute in, ValueError for one that is not
    dense or is read-only where it is to be written; the message begins with `name`.
    """
    if isinstance(array, np.ndarray):
        return _from_numpy(name, array, writable)
    if hasattr(array, "__dlpack__"):
        return _from_dlpack(name, array)
    if hasattr(array, "__cuda_array_interface__"):
        return _from_cuda(name, array.__cuda_array_interface__, writable)
    raise TypeError(
        f"{name} is a {type(array).__name__}, must be a NumPy array or have __dlpack__ or __cuda_array_interface__"
    )


def empty_like(array: Any, shape: tuple[int, ...]) -> Any:
    """A new array of the same library, type and device."""
    if isinstance(array, np.ndarray):
        return np.empty(shape, array.dtype)
    if type(array).__module__.split(".")[0] == "torch":
        return sys.modules["torch"].empty(shape, dtype=array.dtype, device=array.device)
    if hasattr(array, "__array_namespace__"):
        return array.__array_namespace__().empty_like(array, shape=shape)
    raise TypeError(f"out is None, must be given where x is a {type(array).__name__}")


def _require_dense(name: str, shape: tuple[int, ...], strides: tuple[int, ...] | None) -> None:
    """`strides` in elements."""
    if strides is None or 0 in shape:
        return
    dense = 1
    for extent, stride in zip(reversed(shape), reversed(strides)):
        if extent != 1 and stride != dense:
            raise ValueError(f"{name}.strides is {strides} (in elements) for the shape {shape}, must be dense")
        dense *= extent


def _require_writable(name: str, read_only: bool) -> None:
    if read_only:
        raise ValueError(f"{name} is read-only, must be writable")


def _numpy_dtype(name: str, dtype: np.dtype[Any]) -> DType:
    found = _NUMPY_DTYPES.get(dtype.name) if dtype.isnative else None
    if found is None:
        raise TypeError(f"{name}.dtype is {dtype}, must be {_DTYPE_NAMES} in native byte order")
    return found


def _from_numpy(name: str, array: np.ndarray[Any, Any], writable: bool) -> Array:
    dtype = _numpy_dtype(name, array.dtype)
    _require_writable(name, writable and not array.flags.writeable)
    if not array.flags.c_contiguous:
        _require_dense(name, array.shape, tuple(stride // array.itemsize for stride in array.strides))
    return Array(array.ctypes.data, array.shape, dtype, Backend.CPU, 0, array)


def _from_dlpack(name: str, array: Any) -> Array:
    kind, device = array.__dlpack_device__()
    backend = _dlpack.BACKENDS.get(int(kind))
    if backend is None:
        raise TypeError(f"{name} is on DLPack device type {int(kind)}, must be on a CPU, CUDA or ROCm device")
    stream = _dlpack.DEFAULT_STREAM[backend]
    capsule = array.__dlpack__() if stream is None else array.__dlpack__(stream=stream)
    tensor = _dlpack.tensor_of(capsule)
    if tensor.dtype is None:
        raise TypeError(f"{name}.dtype is {tensor.dtype_name}, must be {_DTYPE_NAMES}")
    shape = tuple(tensor.shape[: tensor.ndim])
    _require_dense(name, shape, tuple(tensor.strides[: tensor.ndim]) if tensor.strides else None)
    return Array(tensor.pointer, shape, tensor.dtype, backend, int(device) if backend != Backend.CPU else 0, capsule)


def _from_cuda(name: str, interface: dict[str, Any], writable: bool) -> Array:
    dtype = np.dtype(interface["typestr"])
    known = _numpy_dtype(name, dtype)
    pointer, read_only = interface["data"]
    _require_writable(name, writable and read_only)
    strides = interface.get("strides")
    shape = tuple(interface["shape"])
    _require_dense(name, shape, None if strides is None else tuple(stride // dtype.itemsize for stride in strides))
    device = _cuda_device(name, pointer) if pointer else 0
    # The interface names a stream that may still fill the array, and none to wait on it with.
    check(lib.ct3d_synchronize(Backend.CUDA, device))
    return Array(pointer, shape, known, Backend.CUDA, device, interface)


def _cuda_device(name: str, pointer: int) -> int:
    ordinal, device_ordinal_attribute = ctypes.c_int(), 9
    status = ctypes.CDLL("libcuda.so.1").cuPointerGetAttribute(
        ctypes.byref(ordinal), device_ordinal_attribute, ctypes.c_uint64(pointer)
    )
    if status:
        raise ValueError(f"{name}.__cuda_array_interface__ has the address {pointer:#x}, which is on no CUDA device")
    return ordinal.value
