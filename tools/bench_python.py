#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Times what a call of ct3d.torch costs over the C API, beside PyTorch's own, on a problem with next to no work.

The C API is called through ctypes with everything prepared; the least mean of many short series is printed, in
microseconds.
"""

from __future__ import annotations

import argparse
import ctypes
import time
from collections.abc import Callable

import torch

import ct3d
import ct3d.torch
from ct3d._library import lib
from ct3d._structs import CBuffers
from ct3d.torch import _kernels, _plans
from ct3d.torch._geometry import Geometry


def microseconds(work: Callable[[], object], device: str) -> float:
    series, calls, least = 1000, 20, float("inf")
    for _ in range(series + 3):
        started = time.perf_counter()
        for _ in range(calls):
            work()
        least = min(least, (time.perf_counter() - started) / calls)
        if device == "cuda":
            torch.cuda.synchronize()
    return 1e6 * least


def c_call(x: torch.Tensor, w: torch.Tensor) -> Callable[[], object]:
    """ct3d_execute on prepared buffers, which live in the closure."""
    geometry = Geometry((1, 1, 1), (0, 0, 0), (0, 0, 0), 1, (1, 1, 1), False)
    prepared = _plans.forward(_kernels.key(x), _kernels.key(w), None, geometry, _kernels.threads(x))
    y, size = torch.empty(prepared.shape, device=x.device), prepared.plan.workspace_size
    memory = torch.empty(size + 255, dtype=torch.uint8, device=x.device)
    stream = torch.cuda.current_stream().cuda_stream if x.device.type == "cuda" else None
    buffers = CBuffers(ctypes.sizeof(CBuffers), x.data_ptr(), w.data_ptr(), None, y.data_ptr(), None, None, None, None,
                       (memory.data_ptr() + 255) & -256, size, stream)
    handle, reference = prepared.plan.handle, ctypes.byref(buffers)
    tensors = (y, memory)
    return lambda: (lib.ct3d_execute(handle, reference), tensors)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    device = parser.parse_args().device
    x, w = torch.rand(1, 1, 2, 2, 2, device=device), torch.rand(1, 1, 1, 1, 1, device=device)
    base = microseconds(c_call(x, w), device)
    print(f"ct3d {ct3d.version()}, torch {torch.__version__}, {device}; C API {base:.1f} us a call")
    sides = {"ct3d": ct3d.torch.conv_transpose3d, "torch": torch.nn.functional.conv_transpose3d}
    for name, function in sides.items():
        with torch.inference_mode():
            inference = microseconds(lambda: function(x, w), device)
        leaf = w.clone().requires_grad_()
        recorded = microseconds(lambda: function(x, leaf), device)
        print(f"{name:5} inference mode {inference:5.1f} (over the C API {inference - base:5.1f}), "
              f"recording gradients {recorded:5.1f} ({recorded - base:5.1f})")


if __name__ == "__main__":
    main()
