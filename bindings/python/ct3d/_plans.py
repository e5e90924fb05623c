# SPDX-License-Identifier: MIT
"""Plans, and a bounded cache of them."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from ctypes import c_uint64, c_void_p
from typing import Any

from ._library import check, initialised, lib
from ._problem import Problem
from ._structs import Backend, CBuffers, CPlanOptions

CACHED_PLANS = 256


class Plan:
    """A ct3d_plan, destroyed with its owner. It may be executed by several threads at once."""

    def __init__(self, problem: Problem, backend: Backend, device: int, threads: int) -> None:
        self._destroy: Callable[[Any], None] = lib.ct3d_destroy_plan  # also there when the interpreter shuts down
        self.handle = c_void_p()
        options = initialised(CPlanOptions)
        options.backend, options.device, options.threads = backend, device, threads
        check(lib.ct3d_create_plan(ctypes.byref(self.handle), problem.struct(), options))
        size = c_uint64()
        check(lib.ct3d_plan_workspace_size(self.handle, ctypes.byref(size)))
        self.workspace_size = size.value

    def __del__(self) -> None:
        if hasattr(self, "handle"):
            self._destroy(ctypes.byref(self.handle))

    def execute(self, buffers: CBuffers) -> None:
        check(lib.ct3d_execute(self.handle, buffers))


@functools.lru_cache(maxsize=CACHED_PLANS)
def plan(problem: Problem, backend: Backend, device: int, threads: int = 0) -> Plan:
    """The plan of a problem on a device, made once while it is among the last ones used.

    `threads` are the CPU's, at most; 0 leaves them to OpenMP. Raises Unsupported where no kernel takes the problem.
    """
    return Plan(problem, backend, device, threads)
