# SPDX-License-Identifier: MIT
"""The library's statuses as exceptions."""

from __future__ import annotations


class Error(Exception):
    """A call of the library that failed; the message names the field and the value."""

    status: int


class InvalidArgument(Error, ValueError):
    """An argument breaks a rule of the operation."""

    status = 1


class Unsupported(Error, NotImplementedError):
    """Legal, but this backend, device or kernel cannot do it."""

    status = 2


class OutOfMemory(Error, MemoryError):
    """Host or device memory ran out."""

    status = 3


class DeviceError(Error, RuntimeError):
    """The device or its driver failed, perhaps in earlier work."""

    status = 4


class InternalError(Error, RuntimeError):
    """A fault of the library."""

    status = 5


BY_STATUS: dict[int, type[Error]] = {
    kind.status: kind for kind in (InvalidArgument, Unsupported, OutOfMemory, DeviceError, InternalError)
}
