# SPDX-License-Identifier: MIT
"""Memory of a backend that the package allocates itself: workspaces, and copies of host arrays."""

from __future__ import annotations

import ctypes
from ctypes import c_void_p

from ._library import check, lib
from ._structs import Backend


class Memory:
    """Bytes on a device, freed with their owner."""

    def __init__(self, backend: Backend, device: int, size: int) -> None:
        self._free = lib.ct3d_free  # also there when the interpreter shuts down
        self._place = backend, device
        self._size = size
        self._address = c_void_p()
        check(lib.ct3d_alloc(backend, device, size, ctypes.byref(self._address)))

    @property
    def pointer(self) -> int:
        return self._address.value or 0

    def copy_from(self, host_pointer: int) -> None:
        check(lib.ct3d_copy(*self._place, self._address, host_pointer, self._size))

    def copy_to(self, host_pointer: int) -> None:
        check(lib.ct3d_copy(*self._place, host_pointer, self._address, self._size))

    def __del__(self) -> None:
        if hasattr(self, "_address"):
            self._free(*self._place, self._address)
