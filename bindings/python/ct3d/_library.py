# SPDX-License-Identifier: MIT
"""Finds and loads libct3d.so and declares its functions.

`CT3D_LIBRARY` names another file to load. Without it, the library in the wheel is taken, and where the package lies
without one, the system's.
"""

from __future__ import annotations

import ctypes
import os
from ctypes import POINTER, c_char_p, c_int32, c_int64, c_size_t, c_uint64, c_void_p
from pathlib import Path
from typing import Any, TypeVar

from ._errors import BY_STATUS, InternalError
from ._structs import CBackendInfo, CBuffers, CDeviceInfo, CPlanOptions, CProblem

Struct = TypeVar("Struct", bound=ctypes.Structure)

_STATUS_FUNCTIONS: dict[str, list[Any]] = {
    "ct3d_output_shape": [POINTER(CProblem), POINTER(c_int64)],
    "ct3d_create_plan": [POINTER(c_void_p), POINTER(CProblem), POINTER(CPlanOptions)],
    "ct3d_plan_workspace_size": [c_void_p, POINTER(c_uint64)],
    "ct3d_execute": [c_void_p, POINTER(CBuffers)],
    "ct3d_get_backend_info": [c_int32, POINTER(CBackendInfo)],
    "ct3d_get_device_info": [c_int32, c_int32, POINTER(CDeviceInfo)],
    "ct3d_alloc": [c_int32, c_int32, c_uint64, POINTER(c_void_p)],
    "ct3d_free": [c_int32, c_int32, c_void_p],
    "ct3d_copy": [c_int32, c_int32, c_void_p, c_void_p, c_uint64],
    "ct3d_synchronize": [c_int32, c_int32],
}
_INIT_FUNCTIONS: dict[type[ctypes.Structure], str] = {
    CProblem: "ct3d_problem_init",
    CPlanOptions: "ct3d_plan_options_init",
    CBuffers: "ct3d_buffers_init",
    CBackendInfo: "ct3d_backend_info_init",
    CDeviceInfo: "ct3d_device_info_init",
}


def _path() -> str:
    chosen = os.environ.get("CT3D_LIBRARY")
    if chosen:
        return chosen
    bundled = sorted((Path(__file__).parents[1] / ".ct3d.mesonpy.libs").glob("libct3d.so*"))
    return str(bundled[0]) if bundled else "libct3d.so.0"


def _load() -> ctypes.CDLL:
    path = _path()
    try:
        library = ctypes.CDLL(path)
    except OSError as error:
        raise ImportError(f"ct3d's library {path} cannot be loaded: {error}") from error
    for name, argtypes in _STATUS_FUNCTIONS.items():
        function = getattr(library, name)
        function.argtypes, function.restype = argtypes, c_int32
    for struct, name in _INIT_FUNCTIONS.items():
        function = getattr(library, name)
        function.argtypes, function.restype = [POINTER(struct), c_size_t], None
    library.ct3d_destroy_plan.argtypes, library.ct3d_destroy_plan.restype = [POINTER(c_void_p)], None
    for name in ("ct3d_version_string", "ct3d_last_error"):
        getattr(library, name).restype = c_char_p
    return library


lib = _load()


def version() -> str:
    """The version of the library, "major.minor.patch"."""
    text: bytes = lib.ct3d_version_string()
    return text.decode()


def check(status: int) -> None:
    """Raises the exception of a status that is not CT3D_SUCCESS; for use right after the call that returned it."""
    if status:
        raise BY_STATUS.get(status, InternalError)(lib.ct3d_last_error().decode(errors="replace"))


def initialised(struct: type[Struct]) -> Struct:
    """A struct with the library's defaults."""
    value = struct()
    getattr(lib, _INIT_FUNCTIONS[struct])(ctypes.byref(value), ctypes.sizeof(value))
    return value
