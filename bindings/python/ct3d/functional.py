# SPDX-License-Identifier: MIT
"""The operation on arrays of any library."""

from __future__ import annotations

import os
from typing import Any, SupportsIndex

from ._arrays import Array, empty_like, view
from ._library import check, initialised, lib
from ._memory import Memory
from ._plans import Plan, plan
from ._problem import IntOr3, Padding, Problem, choice, integer, padding_pairs, triple
from ._structs import LAYOUT, MATH, Backend, CBuffers

_HOST_BACKENDS = {"": Backend.CPU, **{backend.name.lower(): backend for backend in Backend}}


def conv_transpose3d(
    x: Any,
    w: Any,
    bias: Any = None,
    stride: IntOr3 = 1,
    padding: Padding = 0,
    output_padding: IntOr3 = 0,
    groups: SupportsIndex = 1,
    dilation: IntOr3 = 1,
    *,
    layout: str = "ncdhw",
    math: str = "fp32",
    out: Any = None,
) -> Any:
    """The transposed convolution (deconvolution) of x with w, in PyTorch's and ONNX's convention.

    Arrays are NumPy's, or have ``__dlpack__`` or ``__cuda_array_interface__`` (PyTorch, CuPy, JAX, Numba), in float32,
    float16, bfloat16 or float64, all of one type, dense, and on one device. On a GPU the result is complete on return.
    Gradients are those of `ct3d.torch`.

    Args:
        x: (N, Cin, D, H, W), or (N, D, H, W, Cin) where layout is "ndhwc".
        w: (Cin, Cout/groups, kD, kH, kW), in either layout.
        bias: (Cout,), or None.
        stride, output_padding, dilation: an integer, or three for depth, height and width.
        padding: an integer, three, or three pairs (begin, end): what is cut off the output on either side.
        groups: the number of groups, which divides Cin and Cout.
        layout: "ncdhw" or "ndhwc", the order of x and of the result.
        math: "fp32", or "tf32" to permit operands of float32 to be rounded to 11 bits.
        out: where to write the result, or None for a new array of x's library.

    Returns:
        out, or the new array: (N, Cout, oD, oH, oW) or (N, oD, oH, oW, Cout), where on each axis
        o = (i-1)*stride - begin - end + dilation*(k-1) + output_padding + 1.

    Raises:
        TypeError: something is no array or no integer, or the types differ.
        ValueError: a shape, stride, device or number breaks a rule; the message names it and its value.
        ct3d.Unsupported, ct3d.OutOfMemory, ct3d.DeviceError: as the library says.
    """
    arrays = {"x": view("x", x), "w": view("w", w)}
    if bias is not None:
        arrays["bias"] = view("bias", bias)
    problem = _problem(arrays, stride, padding, output_padding, groups, dilation, layout, math)
    shape = problem.output_shape()
    if problem.layout == LAYOUT["ndhwc"]:
        shape = (shape[0], *shape[2:], shape[1])
    if out is None:
        out = empty_like(x, shape)
    arrays["y"] = view("out", out, writable=True)
    _require_shape("out", arrays["y"], shape)
    _require_same("out", arrays["y"], arrays["x"])
    _run(problem, arrays)
    return out


def _problem(
    arrays: dict[str, Array],
    stride: IntOr3,
    padding: Padding,
    output_padding: IntOr3,
    groups: SupportsIndex,
    dilation: IntOr3,
    layout: str,
    math: str,
) -> Problem:
    x, w, bias = arrays["x"], arrays["w"], arrays.get("bias")
    for name, array in (("x", x), ("w", w)):
        if len(array.shape) != 5:
            raise ValueError(f"{name}.shape is {array.shape}, must have 5 axes")
    layout_value = choice("layout", layout, LAYOUT)
    batch, *inner = x.shape
    in_channels = inner.pop(-1 if layout_value else 0)
    if w.shape[0] != in_channels:
        raise ValueError(f"w.shape[0] is {w.shape[0]}, must be the {in_channels} channels of x")
    groups = integer("groups", groups)
    if groups < 1:
        raise ValueError(f"groups is {groups}, must be at least 1")
    _require_same("w", w, x)
    if bias is not None:
        _require_same("bias", bias, x)
        _require_shape("bias", bias, (w.shape[1] * groups,))
    begin, end = padding_pairs(padding)
    return Problem(
        dtype=x.dtype,
        batch=batch,
        in_channels=in_channels,
        out_channels=w.shape[1] * groups,
        groups=groups,
        in_=(inner[0], inner[1], inner[2]),
        kernel=(w.shape[2], w.shape[3], w.shape[4]),
        stride=triple("stride", stride),
        dilation=triple("dilation", dilation),
        pad_begin=begin,
        pad_end=end,
        output_padding=triple("output_padding", output_padding),
        has_bias=bias is not None,
        math=choice("math", math, MATH),
        layout=layout_value,
    )


def _require_shape(name: str, array: Array, shape: tuple[int, ...]) -> None:
    if array.shape != shape:
        raise ValueError(f"{name}.shape is {array.shape}, must be {shape}")


def _require_same(name: str, array: Array, x: Array) -> None:
    if array.dtype != x.dtype:
        raise TypeError(f"{name}.dtype is {array.dtype.name.lower()}, must be that of x, {x.dtype.name.lower()}")
    if (array.backend, array.device) != (x.backend, x.device):
        raise ValueError(
            f"{name} is on device {array.device} of {array.backend.name.lower()}, "
            f"must be where x is, on device {x.device} of {x.backend.name.lower()}"
        )


def _run(problem: Problem, arrays: dict[str, Array]) -> None:
    x = arrays["x"]
    backend, device = x.backend, x.device
    if backend == Backend.CPU:
        backend = Backend(choice("CT3D_BACKEND", os.environ.get("CT3D_BACKEND", ""), _HOST_BACKENDS))
    made = plan(problem, backend, device)
    if backend == x.backend:
        _execute(made, backend, device, {name: array.pointer for name, array in arrays.items()})
        return
    copies = {name: Memory(backend, device, array.size) for name, array in arrays.items()}
    for name in arrays.keys() - {"y"}:
        copies[name].copy_from(arrays[name].pointer)
    _execute(made, backend, device, {name: copy.pointer for name, copy in copies.items()})
    copies["y"].copy_to(arrays["y"].pointer)


def _execute(made: Plan, backend: Backend, device: int, pointers: dict[str, int]) -> None:
    buffers = initialised(CBuffers)
    for name, pointer in pointers.items():
        setattr(buffers, name, pointer)
    workspace = Memory(backend, device, made.workspace_size)
    buffers.workspace, buffers.workspace_size = workspace.pointer, made.workspace_size
    made.execute(buffers)
    if backend != Backend.CPU:
        check(lib.ct3d_synchronize(backend, device))
